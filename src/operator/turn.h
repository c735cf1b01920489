/*
  Matrices with complex entries: A = diag(t) (B + i diag(s)), |t| = 1, with B real. The couplings of all rows have one phase,
  which is t of their rows; a row with nothing but a diagonal has that of its diagonal. The reader reads B, which is a copy,
  and s is compared with a multiple of the weights that it finds. Nothing of this in builds with real scalars.
*/
#pragma once

#include "readimpl.h"

typedef struct {
  Mat
    real; /* B; NULL: the matrix itself is real. Couplings of another phase are left as they are, for the reader to refuse */
  PetscReal *imag;   /* s, [rows of this rank] */
  PetscScalar *turn; /* t */
  PetscBool turned;  /* some t is not one, on some rank */
  PetscBool shifted; /* some row has an imaginary part left, on some rank */
} BCRTurn;

/* Collective */
PETSC_INTERN PetscErrorCode BCRTurnCreate(Mat P, BCRTurn *turn);
/* op has been read from it, and is exact: its tau, and its turn. Collective */
PETSC_INTERN PetscErrorCode BCRTurnShift(const BCRTurn *turn, const BCRRows *A, PetscInt c, BCROperator *op);
PETSC_INTERN PetscErrorCode BCRTurnDestroy(BCRTurn *turn);
