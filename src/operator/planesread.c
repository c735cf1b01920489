/*
  Planes of identity-like rows at the ends of the axes: guessed from a row each, then looked at row by row.
*/
#include "readdevice.h"
#include <stdlib.h>

#define BCR_PLANE_SAMPLE 64 /* rows of a side that are asked whether it may be a plane */

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

PetscBool BCRPlanesRowFits(const BCROperator *op, const int side[3], const double st[7])
{
  const int planes = abs(side[0]) + abs(side[1]) + abs(side[2]);
  const double tol = BCR_PLANE_TOL * PetscAbs(st[BCR_CENTRE]);

  for (int k = 0; k < 6; k++) {
    const PetscInt d = k / 2, s = side[d] > 0;
    double slope = PetscAbs(st[k]) > tol ? -st[k] / st[BCR_CENTRE] : 0, want = 0;

    if (side[d] && k % 2 != s)
      want = planes == 1 ? op->axis[d].plane[s].slope : op->corner[BCRCornerPlace(side)][d]; /* inward */
    if ((slope == 0) != (want == 0) || PetscAbs(slope - want) > BCR_SAME_TOL * PetscMax(1.0, PetscAbs(slope)))
      return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/* Looks at one row in the middle of the plane. Rows with a coupling inward make a plane only where
   the rows beside them are coupled along the plane; else they are an ordinary end of their lines.
   */
static PetscErrorCode BCRPlaneGuess(const BCRRows *A, PetscInt c, PetscInt d, PetscInt s, BCRPlane *pl)
{
  PetscInt ix[3], t;
  double st[7], slope;
  int kind, k;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(pl, sizeof(*pl)));
  if (A->N[d] < 2) PetscFunctionReturn(PETSC_SUCCESS);
  for (t = 0; t < 3; t++) ix[t] = A->N[t] / 2;
  ix[d] = s ? A->N[d] - 1 : 0;
  PetscCall(BCRRowAsk(A, c, ix, PETSC_TRUE, st));
  kind = BCRPlaneRow(st, d, s, &slope);
  if (kind == 0) PetscFunctionReturn(PETSC_SUCCESS);
  pl->inv0 = BCRPlaneInverse(st);
  pl->slope = (PetscReal)slope;
  if (kind == 1) pl->present = PETSC_TRUE;
  else if (A->N[d] > 2) {
    ix[d] += s ? -1 : 1;
    PetscCall(BCRRowAsk(A, c, ix, PETSC_TRUE, st));
    for (k = 0; k < 6; k++)
      if (k / 2 != d && PetscAbs(st[k]) > BCR_PLANE_TOL * PetscAbs(st[BCR_CENTRE])) pl->present = PETSC_TRUE;
    /* the row beside it lies in a plane of another axis */
    if (BCRPlaneRow(st, d, s, &slope) == 1) pl->present = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The node in the middle of those of these sides; PETSC_FALSE: there is none, or it is in one plane at most */
static PetscBool BCRCornerNode(const BCRRows *A, const BCROperator *op, const int side[3], PetscInt ix[3])
{
  int planes = 0;

  for (PetscInt d = 0; d < 3; d++) {
    const BCRPlane *pl = op->axis[d].plane;
    const PetscInt b = pl[0].present ? 1 : 0, n = A->N[d] - b - (pl[1].present ? 1 : 0);

    if (side[d] ? !pl[side[d] > 0].present : n == 0) return PETSC_FALSE;
    ix[d] = side[d] < 0 ? 0 : (side[d] ? A->N[d] - 1 : b + n / 2);
    planes += side[d] != 0;
  }
  return (PetscBool)(planes > 1);
}

/* What rows have where planes meet. Collective */
static PetscErrorCode BCRCornersGuess(const BCRRows *A, PetscInt c, BCROperator *op)
{
  BCRFault fault = {PETSC_SUCCESS, ""};
  double st[27][7];
  PetscBool any = PETSC_FALSE;
  PetscInt ix[3];

  PetscFunctionBegin;
  PetscCall(PetscMemzero(op->corner, sizeof(op->corner)));
  PetscCall(PetscMemzero(st, sizeof(st)));
  for (int place = 0; place < 27; place++) {
    const int side[3] = {place % 3 - 1, place / 3 % 3 - 1, place / 9 - 1};

    if (!BCRCornerNode(A, op, side, ix)) continue;
    any = PETSC_TRUE;
    if (BCRGridHas(&A->grid, ix)) PetscCall(BCRRowCheck(A, c, ix, PETSC_TRUE, st[place], &fault));
  }
  if (!any) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRFaultAgree(A->comm, &fault));
  if (A->grid.size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, st, 27 * 7, MPI_DOUBLE, MPI_SUM, A->comm));
  for (int place = 0; place < 27; place++) {
    const int side[3] = {place % 3 - 1, place / 3 % 3 - 1, place / 9 - 1};

    if (!BCRCornerNode(A, op, side, ix)) continue;
    for (PetscInt d = 0; d < 3; d++) {
      const BCRPlane *pl = &op->axis[d].plane[side[d] > 0];
      const double in = st[place][2 * d + (side[d] < 0)], centre = st[place][BCR_CENTRE], slope = -in / centre;
      const PetscInt planes = (op->axis[d].plane[0].present ? 1 : 0) + (op->axis[d].plane[1].present ? 1 : 0);

      if (!side[d] || planes == A->N[d] || PetscAbs(in) <= BCR_PLANE_TOL * PetscAbs(centre)) continue;
      op->corner[place][d] = /* the side's rule to the last digit */
        PetscAbs(slope - (double)pl->slope) <= BCR_SAME_TOL * PetscMax(1.0, PetscAbs(slope)) ? pl->slope
                                                                                             : (PetscReal)slope;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPlanesGuess(const BCRRows *A, PetscInt c, BCROperator *op)
{
  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++) {
    BCRPlane *pl = op->axis[d].plane;

    for (PetscInt s = 0; s < 2; s++) PetscCall(BCRPlaneGuess(A, c, d, s, &pl[s]));
    if (A->N[d] == 2 && pl[0].present && pl[1].present && pl[0].inv0 == 0 && pl[1].inv0 == 0)
      pl[0].present = pl[1].present = PETSC_FALSE; /* there is nothing but empty rows */
  }
  PetscCall(BCRCornersGuess(A, c, op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of this rank in the plane at end s of axis d, to the first that is wrong. *wrong: a row that is not as the
   planes through its node say, 1; a row that is no good, 2: what is wrong with it is in fault */
static PetscErrorCode BCRPlanesSearchFace(const BCRRows *A, PetscInt c, const BCROperator *op, PetscInt d, PetscInt s,
                                          int *wrong, BCRFault *fault)
{
  const PetscInt u = d == 0 ? 1 : 0, v = d == 2 ? 1 : 2;
  PetscInt ix[3];

  PetscFunctionBegin;
  ix[d] = s ? A->N[d] - 1 : 0;
  if (ix[d] < A->lo[d] || ix[d] >= A->lo[d] + A->n[d]) PetscFunctionReturn(PETSC_SUCCESS);
  for (ix[v] = A->lo[v]; ix[v] < A->lo[v] + A->n[v] && !*wrong; ix[v]++) {
    for (ix[u] = A->lo[u]; ix[u] < A->lo[u] + A->n[u] && !*wrong; ix[u]++) {
      double st[7];
      int side[3];

      PetscCall(BCRRowCheck(A, c, ix, PETSC_TRUE, st, fault));
      (void)BCRPlanesOf(A, op, ix, side);
      if (fault->code) *wrong = 2;
      else if (!BCRPlanesRowFits(op, side, st)) *wrong = 1;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Looks at all planes, to the first that is wrong, which is dropped from the guess: *dropped. Collective */
static PetscErrorCode BCRPlanesSearchOnce(const BCRRows *A, PetscInt c, BCROperator *op, PetscBool *dropped)
{
  BCRFault fault = {PETSC_SUCCESS, ""};
  PetscBool there;
  int wrong[6] = {0};

  PetscFunctionBegin;
  *dropped = PETSC_FALSE;
  PetscCall(BCRCornersGuess(A, c, op));
  PetscCall(BCRFacesSearch(A, c, op, &there, wrong));
  if (!there) PetscCall(BCRSampleTakeFaces(A, op));
  for (PetscInt k = 0; k < 2 * A->dim && !*dropped; k++) {
    BCRPlane *plane = &op->axis[k / 2].plane[k % 2];

    if (!plane->present) continue;
    if (!there) PetscCall(BCRPlanesSearchFace(A, c, op, k / 2, k % 2, &wrong[k], &fault));
    if (A->grid.size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &wrong[k], 1, MPI_INT, MPI_MAX, A->comm));
    if (wrong[k] == 2) PetscCall(BCRFaultAgree(A->comm, &fault));
    if (!wrong[k]) continue;
    PetscCall(PetscMemzero(plane, sizeof(*plane)));
    *dropped = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPlanesSearch(const BCRRows *A, PetscInt c, BCROperator *op)
{
  PetscBool dropped = PETSC_TRUE;

  PetscFunctionBegin;
  while (dropped) PetscCall(BCRPlanesSearchOnce(A, c, op, &dropped));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void BCRSpreadNode(const PetscInt from[3], const PetscInt to[3], PetscInt k, PetscBool all, PetscInt ix[3])
{
  static const double step[3] = {0.8191725133961645, 0.6710436067037893, 0.5497004779019703};

  for (PetscInt d = 0; d < 3; d++) {
    const PetscInt n = to[d] - from[d];
    const double x = ((double)k + 0.5) * step[d];

    ix[d] = from[d] + (all ? k % n : PetscMin((PetscInt)((x - floor(x)) * (double)n), n - 1));
    k = all ? k / n : k;
  }
}

/* Rows of a side, but for those where it meets others */
typedef struct {
  PetscInt d, s;
  PetscBool counting; /* else a vote is held on: */
  double slope, inv;  /* of the plane that most of them are of */
  double lead;        /* of the vote; counting: rows of that plane, less others with more than a diagonal */
  double lone;        /* rows with nothing but a diagonal */
} BCRPlaneVote;

static void BCRPlaneVoteRow(BCRPlaneVote *vote, const double st[7])
{
  double slope = 0;
  const int kind = BCRPlaneRow(st, vote->d, vote->s, &slope);

  if (kind == 0) slope = 0;
  if (vote->lead == 0 && !vote->counting) {
    vote->slope = slope;
    vote->inv = 1 / st[BCR_CENTRE];
  }
  if (kind == 1) vote->lone++;
  else if (vote->lead == 0 && !vote->counting) vote->lead = 1;
  else vote->lead += PetscAbs(slope - vote->slope) <= BCR_SAME_TOL * PetscAbs(vote->slope) ? 1 : -1;
}

/* The rows of this rank */
static void BCRPlaneCount(const BCRRows *A, PetscInt c, BCRPlaneVote *vote)
{
  const PetscInt d = vote->d, u = d == 0 ? 1 : 0, v = d == 2 ? 1 : 2;
  PetscInt ix[3], col;

  vote->lead = vote->lone = 0;
  ix[d] = vote->s ? A->N[d] - 1 : 0;
  if (ix[d] < A->lo[d] || ix[d] >= A->lo[d] + A->n[d]) return;
  for (ix[v] = A->lo[v]; ix[v] < A->lo[v] + A->n[v]; ix[v]++) {
    for (ix[u] = A->lo[u]; ix[u] < A->lo[u] + A->n[u]; ix[u]++) {
      double st[7], rest;
      PetscBool edge = PETSC_FALSE;

      for (PetscInt t = 0; t < 3; t++)
        edge = (PetscBool)(edge || (t != d && A->N[t] > 2 && (ix[t] == 0 || ix[t] == A->N[t] - 1)));
      if (!edge && BCRRowGet(A, c, ix, st, &rest, &col) == BCR_ROW_GOOD) BCRPlaneVoteRow(vote, st);
    }
  }
}

/* Whether most rows of a side may be those of a plane, by some of them: sides[6]. Collective */
static PetscErrorCode BCRPlanesMay(const BCRRows *A, PetscInt c, PetscBool sides[6])
{
  double count[6][2] = {{0}}; /* rows of a plane with a slope, or with nothing but a diagonal; others */

  PetscFunctionBegin;
  for (PetscInt k = 0; k < 2 * A->dim; k++) {
    const PetscInt d = k / 2, s = k % 2, at = s ? A->N[d] - 1 : 0;
    PetscInt from[3], to[3], ix[3], col;

    if (at < A->lo[d] || at >= A->lo[d] + A->n[d] || A->nodes == 0) continue;
    for (PetscInt t = 0; t < 3; t++) {
      from[t] = t == d ? at : A->lo[t];
      to[t] = t == d ? at + 1 : A->lo[t] + A->n[t];
    }
    for (PetscInt i = 0; i < BCR_PLANE_SAMPLE; i++) {
      double st[7], rest, slope;

      BCRSpreadNode(from, to, i, PETSC_FALSE, ix);
      if (BCRRowGet(A, c, ix, st, &rest, &col) == BCR_ROW_GOOD) count[k][BCRPlaneRow(st, d, s, &slope) == 0]++;
    }
  }
  if (A->grid.size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, count, 12, MPI_DOUBLE, MPI_SUM, A->comm));
  for (int k = 0; k < 6; k++) sides[k] = (PetscBool)(4 * count[k][0] > count[k][1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPlanesMost(const BCRRows *A, PetscInt c, BCROperator *op)
{
  PetscBool may[6];

  PetscFunctionBegin;
  PetscCall(BCRRowsFetch(A));
  PetscCall(BCRPlanesMay(A, c, may));
  for (PetscInt k = 0; k < 2 * A->dim && A->dim > 1; k++) {
    BCRPlane *pl = &op->axis[k / 2].plane[k % 2];
    BCRPlaneVote vote = {k / 2, k % 2, PETSC_FALSE, 0, 0, 0, 0};
    double count[3];

    if (pl->present || A->N[k / 2] < 3 || !may[k]) continue;
    BCRPlaneCount(A, c, &vote);
    /* a rank with a candidate; where there are none, one with rows */
    PetscCall(BCRTakeFrom(A->comm, vote.lead > 0 ? 1 + vote.lead : (vote.lone > 0), &vote, sizeof(vote), NULL));
    vote.counting = PETSC_TRUE;
    BCRPlaneCount(A, c, &vote);
    count[0] = vote.lead;
    count[1] = vote.lone;
    count[2] = vote.lead != 0;
    if (A->grid.size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, count, 3, MPI_DOUBLE, MPI_SUM, A->comm));
    if (!(vote.slope != 0 ? count[0] > 0 : count[1] > 0 && count[2] == 0)) continue;
    PetscCall(PetscMemzero(pl, sizeof(*pl)));
    pl->present = PETSC_TRUE;
    pl->slope = (PetscReal)vote.slope;
    pl->inv0 = (PetscReal)vote.inv;
  }
  PetscCall(BCRCornersGuess(A, c, op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPlanesEmpty(const BCRRows *A, PetscInt c, BCROperator *op)
{
  BCRFault fault = {PETSC_SUCCESS, ""};
  PetscInt ix[3], empty = 0;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < 6; k++) {
    const PetscInt d = k / 2, s = k % 2, u = d == 0 ? 1 : 0, v = d == 2 ? 1 : 2;
    const BCRPlane *pl = &op->axis[d].plane[s];

    ix[d] = s ? A->N[d] - 1 : 0;
    if (!pl->present || ix[d] < A->lo[d] || ix[d] >= A->lo[d] + A->n[d] || (!pl->inv && pl->inv0 != 0)) continue;
    for (ix[v] = A->lo[v]; ix[v] < A->lo[v] + A->n[v]; ix[v]++) {
      for (ix[u] = A->lo[u]; ix[u] < A->lo[u] + A->n[u]; ix[u]++) {
        const PetscInt q = BCRPlaneNode(A, d, ix);
        int side[3];
        const int planes = BCRPlanesOf(A, op, ix, side);

        if ((pl->inv ? pl->inv[q] : pl->inv0) != 0 || (d > 0 && side[0]) || (d > 1 && side[1])) continue;
        empty++;
        if (planes == 1 && pl->couplings && pl->couplings[q] != 0)
          PetscCall(BCRRowFault(A, BCR_ROW_EMPTY, c, ix, c + A->dof * BCRGridNatural(&A->grid, ix), &fault));
      }
    }
  }
  PetscCall(BCRFaultAgree(A->comm, &fault));
  op->empty = empty;
  if (A->grid.size > 1) PetscCallMPI(MPI_Allreduce(&empty, &op->empty, 1, MPIU_INT, MPI_SUM, A->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}
