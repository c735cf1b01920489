/*
  A matrix whose rows do not lie as its grid has them: its rows in the order of the grid, and vectors from one order to
  the other.

  Rows with a diagonal alone that have no node (src/operator/find.h) are solved by themselves. With g for the rows of the
  grid and s for those single ones, A = [A_gg A_gs; 0 D], and

      u_s = D^-1 f_s,  A_gg u_g = f_g - A_gs u_s;     transposed:  A_gg^T u_g = f_g,  u_s = D^-1 (f_s - A_gs^T u_g).
*/
#pragma once

#include "aij.h"
#include "find.h"
#include "grid.h"

typedef struct {
  Mat mat;         /* A_gg in the order of the grid; NULL where the matrix has no rows to read */
  Vec f, u;        /* of the grid, in its order */
  IS rows;         /* for each row of this rank in the order of the grid its number in the matrix */
  VecScatter grid; /* from vectors of the matrix to f and u */
  /* What the rows of this rank of the matrix, and the columns of others that they refer to, are: numbers of rows of the grid,
     or BCR_SINGLE() of a number of a single row */
  PetscInt *row, *ghost;
  PetscInt singles;  /* on all ranks together; where there are none the following is NULL */
  IS single;         /* their numbers in the matrix, each on the rank that has it */
  VecScatter alone;  /* from vectors of the matrix to us */
  Vec us, inverse;   /* u_s; diagonal of D^-1, 0 for rows that are empty */
  Mat P;             /* the matrix, referenced: its products have A_gs in them */
  Vec part, product; /* of the matrix: a vector that is zero but for u_s or u_g, and P times that */
} BCROrder;
#define BCR_SINGLE(number) (-1 - (number)) /* and back */

/* Collective. P: the matrix; mat: P, or a copy of it of type AIJ, or NULL; grid: boxes in natural order of what was found */
PETSC_INTERN PetscErrorCode BCROrderCreate(Mat P, Mat mat, const BCRFound *found, const BCRGrid *grid, BCROrder *order);
/* Collective. New values on the same pattern */
PETSC_INTERN PetscErrorCode BCROrderUpdate(Mat mat, BCROrder *order);
PETSC_INTERN PetscErrorCode BCROrderDestroy(BCROrder *order);
/* Collective. Around a solve of A_gg u_g = f_g: x, right-hand side, to f; u to y, solution */
PETSC_INTERN PetscErrorCode BCROrderTake(BCROrder *order, PetscBool transpose, Vec x, Vec y);
PETSC_INTERN PetscErrorCode BCROrderGive(BCROrder *order, PetscBool transpose, Vec x, Vec y);

/* What an IS with the numbers of its rows in the user's matrix is called on such a copy */
#define BCR_ROW_NUMBERS "BCRRowNumbers"
