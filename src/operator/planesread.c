/*
  Planes of identity-like rows at the ends of the axes: guessed from a row each, then looked at row by row.
*/
#include "readdevice.h"

/* 1: nothing but a diagonal; 2: a diagonal and a coupling inward from end s of axis d; 0: neither */
static int BCRPlaneRow(const double st[7], PetscInt d, PetscInt s, double *slope)
{
  const int inward = (int)(2 * d + 1 - s);
  const double tol = BCR_PLANE_TOL * PetscAbs(st[BCR_CENTRE]);
  int k;

  for (k = 0; k < 6; k++)
    if (k != inward && PetscAbs(st[k]) > tol) return 0;
  *slope = 0;
  if (PetscAbs(st[inward]) <= tol) return 1;
  *slope = -st[inward] / st[BCR_CENTRE];
  return 2;
}

PetscBool BCRPlaneRowFits(const double st[7], PetscInt d, PetscInt s, const BCRPlane *pl)
{
  double slope;
  const int kind = BCRPlaneRow(st, d, s, &slope);

  if (kind == 0) return PETSC_FALSE;
  if (pl->slope == 0) return (PetscBool)(kind == 1);
  return (PetscBool)(kind == 2 && PetscAbs(slope - (double)pl->slope) <= BCR_SAME_TOL * PetscMax(1.0, PetscAbs(slope)));
}

/* Looks at one row in the middle of the plane. Rows with a coupling inward make a plane only where
   the rows beside them are coupled along the plane; else they are an ordinary end of their lines.
   */
PetscErrorCode BCRPlaneGuess(const BCRRows *A, PetscInt c, PetscInt d, PetscInt s, BCRPlane *pl)
{
  PetscInt ix[3], t;
  double st[7], slope;
  int kind, k;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(pl, sizeof(*pl)));
  if (A->N[d] < 2) PetscFunctionReturn(PETSC_SUCCESS);
  for (t = 0; t < 3; t++) ix[t] = A->N[t] / 2;
  ix[d] = s ? A->N[d] - 1 : 0;
  PetscCall(BCRRowAsk(A, c, ix, st));
  kind = BCRPlaneRow(st, d, s, &slope);
  if (kind == 0) PetscFunctionReturn(PETSC_SUCCESS);
  pl->inv0 = (PetscReal)(1.0 / st[BCR_CENTRE]);
  pl->slope = (PetscReal)slope;
  if (kind == 1) pl->present = PETSC_TRUE;
  else if (A->N[d] > 2) {
    ix[d] += s ? -1 : 1;
    PetscCall(BCRRowAsk(A, c, ix, st));
    for (k = 0; k < 6; k++)
      if (k / 2 != d && PetscAbs(st[k]) > BCR_PLANE_TOL * PetscAbs(st[BCR_CENTRE])) pl->present = PETSC_TRUE;
    /* the row beside it lies in a plane of another axis */
    if (BCRPlaneRow(st, d, s, &slope) == 1) pl->present = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a search has met, over nodes in planes that are present */
typedef struct {
  int wrong[6]; /* plane 2 d + s has a row that fits neither it nor another plane there: 1; a row that is no good: 2 */
  int seen[8][8]; /* [in][fits]: nodes in the planes across axes `in` (a bit each) whose rows fit those of `fits` */
  BCRFault fault; /* what is wrong with the row that is no good */
} BCRPlanesMet;

/* A row in a plane, or in several */
static PetscErrorCode BCRPlanesSearchRow(const BCRRows *A, PetscInt c, const BCROperator *op, const PetscInt ix[3],
                                         int *wrong, BCRPlanesMet *met)
{
  double st[7];
  int in = 0, fits = 0;

  PetscFunctionBegin;
  PetscCall(BCRRowCheck(A, c, ix, st, &met->fault));
  if (met->fault.code) *wrong = 2;
  for (PetscInt d = 0; d < A->dim; d++) {
    for (PetscInt s = 0; s < 2; s++) {
      const BCRPlane *plane = &op->axis[d].plane[s];

      if (!plane->present || ix[d] != (s ? A->N[d] - 1 : 0)) continue;
      in |= 1 << d;
      if (BCRPlaneRowFits(st, d, s, plane)) fits |= 1 << d;
    }
  }
  if (!fits) *wrong = PetscMax(*wrong, 1);
  else met->seen[in][fits] = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of this rank in the plane at end s of axis d, to the first that is wrong */
static PetscErrorCode BCRPlanesSearchFace(const BCRRows *A, PetscInt c, const BCROperator *op, PetscInt d, PetscInt s,
                                          BCRPlanesMet *met)
{
  const PetscInt u = d == 0 ? 1 : 0, v = d == 2 ? 1 : 2;
  int *wrong = &met->wrong[2 * d + s];
  PetscInt ix[3];

  PetscFunctionBegin;
  ix[d] = s ? A->N[d] - 1 : 0;
  if (ix[d] < A->lo[d] || ix[d] >= A->lo[d] + A->n[d]) PetscFunctionReturn(PETSC_SUCCESS);
  for (ix[v] = A->lo[v]; ix[v] < A->lo[v] + A->n[v] && !*wrong; ix[v]++)
    for (ix[u] = A->lo[u]; ix[u] < A->lo[u] + A->n[u] && !*wrong; ix[u]++)
      PetscCall(BCRPlanesSearchRow(A, c, op, ix, wrong, met));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Looks at all planes, to the first that is wrong, which is dropped from the guess: *dropped. Collective */
static PetscErrorCode BCRPlanesSearchOnce(const BCRRows *A, PetscInt c, BCROperator *op, BCRPlanesMet *met,
                                          PetscBool *dropped)
{
  PetscBool there;

  PetscFunctionBegin;
  *dropped = PETSC_FALSE;
  PetscCall(PetscMemzero(met, sizeof(*met)));
  PetscCall(BCRFacesSearch(A, c, op, &there, met->wrong, met->seen));
  if (!there) PetscCall(BCRSampleTakeFaces(A, op));
  for (PetscInt k = 0; k < 2 * A->dim && !*dropped; k++) {
    BCRPlane *plane = &op->axis[k / 2].plane[k % 2];
    int wrong;

    if (!plane->present) continue;
    if (!there) PetscCall(BCRPlanesSearchFace(A, c, op, k / 2, k % 2, met));
    wrong = met->wrong[k];
    if (A->grid.size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, A->comm));
    if (wrong == 2) PetscCall(BCRFaultAgree(A->comm, &met->fault));
    if (!wrong) continue;
    PetscCall(PetscMemzero(plane, sizeof(*plane)));
    *dropped = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The order of axes in which each node's row fits the plane of the first axis that has one there. It matters where slopes
   are not 0; none: op has what was guessed */
static void BCRPlanesOwner(int seen[8][8], PetscBool sloped, BCROperator *op)
{
  static const PetscInt order[6][3] = {
    {0, 1, 2},
    {0, 2, 1},
    {1, 0, 2},
    {1, 2, 0},
    {2, 0, 1},
    {2, 1, 0}
  };

  for (PetscInt o = 0; o < (sloped ? 6 : 1); o++) {
    PetscBool good = PETSC_TRUE;

    for (PetscInt in = 1; in < 8; in++) {
      PetscInt t = 0;

      while (t < 2 && !(in & (1 << order[o][t]))) t++;
      for (PetscInt fits = 1; fits < 8; fits++)
        if (seen[in][fits] && !(fits & (1 << order[o][t]))) good = PETSC_FALSE;
    }
    if (!good) continue;
    for (PetscInt t = 0; t < 3; t++) op->owner[t] = order[o][t];
    return;
  }
}

PetscErrorCode BCRPlanesSearch(const BCRRows *A, PetscInt c, BCROperator *op)
{
  BCRPlanesMet met;
  PetscBool dropped = PETSC_TRUE, sloped = PETSC_FALSE;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < 2 * A->dim; k++) {
    const BCRPlane *plane = &op->axis[k / 2].plane[k % 2];

    sloped = (PetscBool)(sloped || (plane->present && plane->slope != 0));
  }
  while (dropped) PetscCall(BCRPlanesSearchOnce(A, c, op, &met, &dropped));
  if (A->grid.size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, met.seen, 64, MPI_INT, MPI_MAX, A->comm));
  BCRPlanesOwner(met.seen, sloped, op);
  PetscFunctionReturn(PETSC_SUCCESS);
}
