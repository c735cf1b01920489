/*
  What the ends of the axes of a fit are, from sums over the layers of nodes there.
*/
#include "fithost.h"
#include <math.h>

/* The sums of all ranks. Summed once and told to all, for the same last digits everywhere */
static PetscErrorCode BCRFitSumsAgree(const BCRFitData *F, BCRFitSums *sums)
{
  const MPI_Comm comm = F->A->comm;

  PetscFunctionBegin;
  if (F->A->grid.size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(
    MPI_Reduce(F->A->grid.rank ? (void *)sums : MPI_IN_PLACE, sums, BCR_FIT_SUMS, MPI_DOUBLE, MPI_SUM, 0, comm));
  PetscCallMPI(MPI_Bcast(sums, BCR_FIT_SUMS, MPI_DOUBLE, 0, comm));
  PetscCall(BCRFitRangeAgree(comm, 1, &sums->left));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Periodic or not; ratio, extra, half of each end */
static void BCRFitEndsMeasure(BCRFitData *F, const BCRFitSums *q)
{
  for (PetscInt d = 0; d < F->dim; d++) {
    PetscInt lines = 1; /* along the axis */

    for (PetscInt t = 0; t < 3; t++) lines *= t == d ? 1 : F->n[t];
    F->wrap[d] = (PetscBool)(F->n[d] > 2 && q->wraps[d] > 0);
    for (PetscInt s = 0; s < 2; s++) {
      const double *l = q->link[d][s], *side = q->side[d][s], beyond = BCRFitBeyond(l[1], l[2]);
      const double inside = q->left.count > 0 && F->n[d] > 2 ? q->count[d][s] * BCRFitRangeMean(&q->left) : 0;

      F->ratio[d][s] = l[1] > 0 ? l[0] / l[1] : 1;
      if (q->count[d][s] != 0 && beyond > 0)
        F->extra[d][s] = (q->sum[d][s] - inside) / beyond * (double)lines / q->count[d][s];
      /* half rows: couplings along the end are half of what those across it lead one to expect, at most 0.68 of it */
      F->half[d][s] = 1;
      if (F->n[d] > 3 && !F->wrap[d] && !F->op->axis[d].plane[s].present && F->ratio[d][s] < 1.5 &&
          PetscAbs(F->extra[d][s]) < 0.25 && side[1] > 0 && l[1] > 0 && l[2] > 0 &&
          (side[0] / l[1]) / (side[1] / l[2]) < 0.68)
        F->half[d][s] = 0.5;
    }
  }
}

/* The end type nearest to what the matrix has: excess 0 (Neumann), 1 or 2 couplings, halfway between them a little in
   favour of ends that hold the solution; the link of a node-centred Neumann end has entries 2a and a */
static BCREnd BCRFitEndsName(const BCRFitData *F, PetscInt d, PetscInt s)
{
  const BCRPlane *plane = &F->op->axis[d].plane[s];

  if (F->n[d] < 2 || d >= F->dim) return BCREndOfOne();
  if (F->wrap[d]) return BCR_END_PERIODIC;
  if (plane->present) {
    if (!plane->couple || PetscAbsReal(plane->slope) < 0.5) return BCR_END_DIRICHLET;
    return plane->slope > 0 ? BCR_END_CELL_NEUMANN : BCR_END_CELL_DIRICHLET;
  }
  if ((F->ratio[d][s] > 1.5 && F->ratio[d][s] < 2.7) || F->half[d][s] < 1) return BCR_END_NEUMANN;
  if (F->extra[d][s] > 1.5) return BCR_END_CELL_DIRICHLET;
  if (F->extra[d][s] > 0.25) return BCR_END_DIRICHLET;
  return BCR_END_CELL_NEUMANN;
}

void BCRFitEndsAgain(BCRFitData *F, const BCRFitRange *left)
{
  F->sums.left = *left;
  BCRFitEndsMeasure(F, &F->sums);
  for (PetscInt d = 0; d < 6; d++) F->op->axis[d / 2].end[d % 2] = BCRFitEndsName(F, d / 2, d % 2);
}

PetscErrorCode BCRFitEnds(BCRFitData *F, BCRFitRange *left, BCRFitRange *near)
{
  BCRFitSums *sums = &F->sums;

  PetscFunctionBegin;
  PetscCall(F->passes->extract(F, sums));
  *near = sums->left;
  PetscCall(BCRFitSumsAgree(F, sums));
  *left = sums->left;
  PetscCheck(sums->total != 0, F->A->comm, PETSC_ERR_SUP,
             "The preconditioning matrix is a diagonal that varies over the grid: nothing in it is a Poisson operator. "
             "Use -pc_type jacobi");
  for (PetscInt d = 0; d < 6; d++) F->op->axis[d / 2].plane[d % 2].couple = (PetscBool)(sums->couple[d / 2][d % 2] > 0);
  BCRFitEndsMeasure(F, sums);
  for (PetscInt d = 0; d < 3; d++) {
    for (PetscInt s = 0; s < 2; s++) {
      const PetscInt at = (s ? F->n[d] - 2 : 0) - F->begin[d];

      F->op->axis[d].end[s] = BCRFitEndsName(F, d, s);
      /* with an unsymmetric Neumann end the link was the mean of a and 2a */
      if (BCREndGetRule(F->op->axis[d].end[s]).inward != 1 && F->half[d][s] == 1 && at >= 0 && at < F->size[d])
        PetscCall(F->passes->divide(F, d, at, sqrt(2.0)));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
