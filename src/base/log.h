/*
  Events of -log_view, and the papers that -citations names; registered and defined in src/register.c.
*/
#pragma once

#include "petscbcrimpl.h"

PETSC_INTERN PetscLogEvent BCR_Find;  /* the grid in a matrix without a DM */
PETSC_INTERN PetscLogEvent BCR_Read;  /* operator out of the matrix */
PETSC_INTERN PetscLogEvent BCR_SetUp; /* plan and tables */
PETSC_INTERN PetscLogEvent BCR_Solve;
PETSC_INTERN PetscLogEvent BCR_Recurrence;

/* names the papers behind the Poisson solver in -citations, once per run */
PETSC_INTERN PetscErrorCode PetscBCRCitePoisson(void);
PETSC_INTERN PetscErrorCode PetscBCRCiteRecurrence(void);

/* the same of the line solver */
PETSC_INTERN PetscErrorCode PetscBCRCiteNeato(void);
