/*
  Tridiagonal systems side by side on one rank, each with factors of its own: element s of row i of
  all systems is at [i*ns + s]. Used by the reduced system over ranks (reduced.c), where the systems
  are short and many, so that loops run over systems.
*/
#pragma once

#include "../base/petscbcrimpl.h"

typedef struct {
  PetscInt n, ns;
  PetscBool border; /* periodic and n > 2: the last unknown is a border of the others */
  PetscBool same;   /* all systems have the same coefficients: one set of factors, [n] */
  /* L and U of the open chain: y_i = g_i - lower_i y_{i-1}, x_i = pivotinverse_i y_i - upper_i x_{i+1}. [n][ns] */
  double *lower, *pivotinverse, *upper;
  /* border: row and column, each over the pivot: y_{n-1} -= borderrow_i y_i, x_i -= bordercolumn_i x_{n-1}. [n][ns] */
  double *borderrow, *bordercolumn;
  size_t bytes;
} BCRChains;

/* rows 0 and n-1 of chains that are not periodic do not use low and up; one and two periodic rows
   meet themselves and each other twice */
PETSC_INTERN void BCRChainsFold(PetscInt n, PetscInt ns, double *low, double *diag, double *up, PetscBool *periodic);
/* after BCRChainsFold(). bad[0], bad[1]: system and row of the first unusable pivot, or -1 */
PETSC_INTERN PetscErrorCode BCRChainsCreate(PetscInt n, PetscInt ns, const double *low, const double *diag,
                                            const double *up, PetscBool periodic, BCRChains *chains, PetscInt bad[2]);
/* row i of the right-hand sides at x + row[i]*ns*nvec, element [s*nvec + v]; overwritten by the solution */
PETSC_INTERN PetscErrorCode BCRChainsSolve(const BCRChains *chains, PetscInt nvec, const PetscInt *row, double *x);
PETSC_INTERN PetscErrorCode BCRChainsDestroy(BCRChains *chains);
/* cut[i*ns + s]: what leaving out both couplings between rows i and i+1 (n-1: and 0) does to the solution, in the
   maximum norm and relative to the two values on either side of the cut, to first order */
PETSC_INTERN PetscErrorCode BCRChainsCuts(PetscInt n, PetscInt ns, const double *low, const double *diag,
                                          const double *up, PetscBool periodic, double *cut);
