/*
  What sequences of numbers amount to, for the passes of fits on the host and on a device.
*/
#pragma once

#include "../base/petscbcrimpl.h"

/* What a sequence of numbers amounts to; sums are those of x - ref and of its square */
typedef struct {
  double lo, hi, ref, sum, square, count;
  PetscInt lorow, hirow; /* grid lines where the smallest and the largest were met */
} BCRFitRange;

/* What all rows have, those at the ends too: how much the diagonals D / (w s^2), weighted as the
   null vector of the transpose of T is, exceed those of T; those weights; the smallest and the
   largest diagonal of `count` rows among which all are whose couplings are an eighth of it or less
   */
typedef struct {
  double excess, weight, lo, hi, count;
} BCRFitTotal;

/* r: and those of f x[0] .. f x[n - 1], met in grid line row */
PETSC_INTERN void BCRFitRangeAdd(BCRFitRange *r, PetscInt n, const double *x, double f, PetscInt row);
/* sum: and those of q */
PETSC_INTERN void BCRFitRangeJoin(BCRFitRange *sum, const BCRFitRange *q);
PETSC_INTERN double BCRFitRangeMean(const BCRFitRange *r);
/* Root mean square distance from c */
PETSC_INTERN double BCRFitRangeDistance(const BCRFitRange *r, double c);
/* Collective. Those of all ranks. lorow and hirow stay those of this rank */
PETSC_INTERN PetscErrorCode BCRFitRangeAgree(MPI_Comm comm, PetscInt n, BCRFitRange r[]);
PETSC_INTERN void BCRFitTotalJoin(BCRFitTotal *sum, const BCRFitTotal *q);
