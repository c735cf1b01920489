/*
  What ranks tell one another when one of them finds something wrong, so that all of them stop, and
  none waits for another.
*/
#pragma once

#include "petscbcrimpl.h"

/* An error that one rank has found and all have to raise: set with BCRFaultSet(), then BCRFaultAgree() on all ranks */
typedef struct {
  PetscErrorCode code; /* 0: none */
  char text[1024];
} BCRFault;

PETSC_INTERN PetscErrorCode BCRFaultSet(BCRFault *fault, PetscErrorCode code, const char format[], ...)
  PETSC_ATTRIBUTE_FORMAT(3, 4);
/* Collective. The same error on every rank, that of the lowest rank which has one, named where there are several */
PETSC_INTERN PetscErrorCode BCRFaultAgree(MPI_Comm comm, const BCRFault *fault);
/* The same where comm is a part of the ranks, for the message: which ("along the lines") */
PETSC_INTERN PetscErrorCode BCRFaultAgreeAmong(MPI_Comm comm, const BCRFault *fault, const char which[]);
/* Between the two an error that is raised is not printed, but kept with its text, the first one. ierr: what
   the calls between have returned, which is kept too where nothing was raised */
PETSC_INTERN PetscErrorCode BCRFaultCatchBegin(BCRFault *fault);
PETSC_INTERN PetscErrorCode BCRFaultCatchEnd(BCRFault *fault, PetscErrorCode ierr);
/* Collective. A call that has returned an error on some ranks: those go on returning it, the others
   raise it and name the lowest of them */
PETSC_INTERN PetscErrorCode BCRFaultShare(MPI_Comm comm, PetscErrorCode mine, const char what[]);
/* what, of a step in which nothing but memory is likely to fail */
#define BCR_NO_MEMORY "could not go on, as its own message says: out of memory?"
/* Collective. Numbers that all ranks have to give alike, n <= 32: an error on every rank if one
   differs, which names it. of: what they are of, before the name */
PETSC_INTERN PetscErrorCode BCRSame(MPI_Comm comm, const char of[], PetscInt n, const char *const names[],
                                    const double mine[]);
/* Collective. Everyone gets the data of the rank with the largest priority, the lowest of those */
PETSC_INTERN PetscErrorCode BCRTakeFrom(MPI_Comm comm, double priority, void *data, size_t bytes, double *largest);
