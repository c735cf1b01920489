/*
  What objects of the same communicator share: made for the first of them, gone with the communicator. It takes the
  place of static variables, as PETSc's own attributes of communicators do.
*/
#pragma once

#include "petscbcrimpl.h"

/* *data: the bytes, zeros at first, that `destroy` is for; it is called with them, and is not to free them. Not
   collective. comm: of a PETSc object; they go with the last object that has it. Or PETSC_COMM_SELF, for what the whole
   process shares: it goes in PetscFinalize() */
PETSC_INTERN PetscErrorCode BCRCommGetShared(MPI_Comm comm, size_t bytes, PetscErrorCode (*destroy)(void *),
                                             void *data);
