/*
  What registration sets up once per PetscInitialize() and the objects use.
*/
#pragma once

#include "base/log.h"
#include <petscksp.h>

PETSC_EXTERN PetscErrorCode PCCreate_BCRPoisson(PC);
PETSC_EXTERN PetscErrorCode KSPCreate_BCRPoisson(KSP);
PETSC_EXTERN PetscErrorCode PCCreate_Neato(PC);
PETSC_EXTERN PetscErrorCode KSPCreate_Neato(KSP);
