/*
  Assembled matrices as compressed rows: what is of type AIJ already, or a copy that is, and its blocks.
*/
#pragma once

#include "../base/petscbcrimpl.h"
#include <petscmat.h>

/* Does it have rows that can be read, or be copied to a matrix that has them? */
PETSC_INTERN PetscErrorCode BCRMatHasRows(Mat P, PetscBool *has);
/* Collective. A matrix of type AIJ with the rows of P: P itself, or a copy. way: what the user can do where P has no rows, for
   the error */
PETSC_INTERN PetscErrorCode BCRMatGetAIJ(Mat P, const char way[], Mat *aij);

/* The rows of this rank, or those parts of them that are columns of this rank, or of others */
typedef struct {
  Mat mat; /* sequential, not referenced; NULL: there is no such block */
  PetscInt rows;
  const PetscInt *i, *j;
  const PetscScalar *a; /* NULL while nobody has asked for them */
} BCRBlock;

/* The two blocks of a matrix of type AIJ, and the columns that the other one has, which are global numbers: on one rank there
   is none */
PETSC_INTERN PetscErrorCode BCRMatGetBlocks(Mat aij, Mat *own, Mat *other, const PetscInt **columns);
/* mat NULL: the block is empty */
PETSC_INTERN PetscErrorCode BCRBlockOpen(Mat mat, BCRBlock *block);
/* Brings the values to the host, if they are not there */
PETSC_INTERN PetscErrorCode BCRBlockFetch(const BCRBlock *block);
PETSC_INTERN PetscErrorCode BCRBlockClose(BCRBlock *block);
