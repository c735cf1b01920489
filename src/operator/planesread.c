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

/* Drops from the guess every plane with a row that fits neither it nor another plane through the
   same node, and finds out which axis owns such nodes */
PetscErrorCode BCRPlanesSearch(const BCRRows *A, PetscInt c, BCROperator *op)
{
  static const PetscInt order[6][3] = {
    {0, 1, 2},
    {0, 2, 1},
    {1, 0, 2},
    {1, 2, 0},
    {2, 0, 1},
    {2, 1, 0}
  };
  int seen[8][8], wrongs[6];
  PetscBool again, sloped = PETSC_FALSE, there = PETSC_FALSE;
  PetscInt d, s, t, k, o;
  BCRFault fault = {PETSC_SUCCESS, ""};

  PetscFunctionBegin;
  for (again = PETSC_TRUE; again;) {
    again = PETSC_FALSE;
    PetscCall(PetscMemzero(seen, sizeof(seen)));
    PetscCall(PetscMemzero(wrongs, sizeof(wrongs)));
    PetscCall(BCRFacesSearch(A, c, op, &there, wrongs, seen));
    if (!there) PetscCall(BCRSampleTakeFaces(A, op));
    for (d = 0; d < A->dim && !again; d++) {
      for (s = 0; s < 2 && !again; s++) {
        BCRPlane *pl = &op->axis[d].plane[s];
        PetscInt ix[3], u = d == 0 ? 1 : 0, v = d == 2 ? 1 : 2;
        PetscBool here;
        int wrong = wrongs[2 * d + s];

        if (!pl->present) continue;
        if (pl->slope != 0) sloped = PETSC_TRUE;
        ix[d] = s ? A->N[d] - 1 : 0;
        here = (PetscBool)(!there && ix[d] >= A->lo[d] && ix[d] < A->lo[d] + A->n[d]);
        for (ix[v] = A->lo[v]; ix[v] < A->lo[v] + A->n[v] && here && !wrong; ix[v]++) {
          for (ix[u] = A->lo[u]; ix[u] < A->lo[u] + A->n[u] && !wrong; ix[u]++) {
            double st[7];
            int in = 0, fits = 0;

            PetscCall(BCRRowCheck(A, c, ix, st, &fault));
            if (fault.code) wrong = 2;
            for (t = 0; t < A->dim; t++) {
              for (k = 0; k < 2; k++) {
                const BCRPlane *other = &op->axis[t].plane[k];

                if (!other->present || ix[t] != (k ? A->N[t] - 1 : 0)) continue;
                in |= 1 << t;
                if (BCRPlaneRowFits(st, t, k, other)) fits |= 1 << t;
              }
            }
            if (!fits) wrong = PetscMax(wrong, 1);
            else seen[in][fits] = 1;
          }
        }
        if (A->grid.size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, A->comm));
        if (wrong == 2) PetscCall(BCRFaultAgree(A->comm, &fault));
        if (wrong) {
          PetscCall(PetscMemzero(pl, sizeof(*pl)));
          again = PETSC_TRUE;
        }
      }
    }
  }
  if (A->grid.size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, seen, 64, MPI_INT, MPI_MAX, A->comm));
  for (o = 0; o < (sloped ? 6 : 1); o++) {
    PetscBool good = PETSC_TRUE;
    PetscInt in, fits;

    for (in = 1; in < 8; in++) {
      for (t = 0; t < 2 && !(in & (1 << order[o][t])); t++) {}
      for (fits = 1; fits < 8; fits++)
        if (seen[in][fits] && !(fits & (1 << order[o][t]))) good = PETSC_FALSE;
    }
    if (good) {
      for (t = 0; t < 3; t++) op->owner[t] = order[o][t];
      break;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
