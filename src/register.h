/*
  What registration sets up once per PetscInitialize() and the objects use.
*/
#pragma once

#include "petscbcrimpl.h"
#include <petscksp.h>

PETSC_INTERN PetscLogEvent BCR_Read;  /* operator out of the matrix */
PETSC_INTERN PetscLogEvent BCR_SetUp; /* plan and tables */
PETSC_INTERN PetscLogEvent BCR_Solve;
PETSC_INTERN PetscLogEvent BCR_Recurrence;

/* names the papers behind the Poisson solver in -citations, once per run */
PETSC_INTERN PetscErrorCode PetscBCRCitePoisson(void);
PETSC_INTERN PetscErrorCode PetscBCRCiteRecurrence(void);

/* the same of the line solver */
PETSC_INTERN PetscErrorCode PetscBCRCiteNeato(void);

PETSC_EXTERN PetscErrorCode PCCreate_BCRPoisson(PC);
PETSC_EXTERN PetscErrorCode KSPCreate_BCRPoisson(KSP);
PETSC_EXTERN PetscErrorCode PCCreate_Neato(PC);
PETSC_EXTERN PetscErrorCode KSPCreate_Neato(KSP);
