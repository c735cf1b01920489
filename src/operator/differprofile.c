/*
  The operator that most rows have where an axis is general, or has two unknowns: along one axis every layer of nodes
  across it has the row that most of its inner nodes have, up to a factor each (the profile); the ends of the other
  axes have what most rows there have beside that. What such lines of rows make of the axes, axesread.c says.
*/
#include "differimpl.h"

#define BCR_PROFILE_LAYERS 16   /* layers that are asked whether there is a profile along an axis, */
#define BCR_PROFILE_ROWS   24   /* and rows of each */
#define BCR_PROFILE_SIDE   64   /* rows of a side */
#define BCR_PROFILE_HALF   1e-3 /* the vote of a row that lacks links: it is beside something */

typedef struct {
  BCRSurvey *S;
  PetscInt axis, n; /* of the profile, and its layers */
  BCRVote *layer;   /* [n] */
  BCRVote side[6];
} BCRProfile;

/* The unknowns of axis d */
static PetscInt BCRProfileSize(const BCRSurvey *S, PetscInt d)
{
  return S->last[d] - S->first[d] + 1;
}

/* Nodes of this rank that are inside along all axes, the first along an axis of two, but for axis d: there at node
   `at` */
static double BCRProfileBox(const BCRSurvey *S, PetscInt d, PetscInt at, PetscInt from[3], PetscInt to[3])
{
  const BCRRows *A = S->A;
  double nodes = 1;

  for (PetscInt t = 0; t < 3; t++) {
    const PetscInt side = BCRProfileSize(S, t) > 2;

    from[t] = t == d ? at : S->first[t] + side;
    to[t] = t == d || !side ? from[t] + 1 : S->last[t];
    from[t] = PetscMax(from[t], A->lo[t]);
    to[t] = PetscMin(to[t], A->lo[t] + A->n[t]);
    nodes *= (double)PetscMax(0, to[t] - from[t]);
  }
  return nodes;
}

/* The row of a node as it would be in the middle layer of the profile. PETSC_FALSE: it is not one of the profile along
   that axis */
static PetscBool BCRProfileMove(const BCRProfile *P, const PetscInt ix[3], double st[7])
{
  const int g = (int)P->axis, low = 2 * g, high = 2 * g + 1;
  const double *here = P->layer[ix[g] - P->S->first[g]].star, *base = P->layer[P->n / 2].star;
  const double f = (st[low] + st[high]) / (here[low] + here[high]);
  double w = 1, most = 0;

  if (!(f > 0 && f < PETSC_INFINITY)) return PETSC_FALSE;
  for (int k = low; k <= high; k++)
    if (!(PetscAbs(st[k] - f * here[k]) <= BCR_SAME_TOL * PetscAbs(st[k]))) return PETSC_FALSE;
  for (int k = 0; k < 6; k++)
    if (k / 2 != g && PetscAbs(base[k]) > most) {
      most = PetscAbs(base[k]);
      w = here[k] / base[k];
    }
  if (!(w > 0)) return PETSC_FALSE;
  for (int k = 0; k < 7; k++) st[k] /= f * w;
  st[BCR_CENTRE] += base[BCR_CENTRE] - here[BCR_CENTRE] / w;
  st[low] = base[low];
  st[high] = base[high];
  return PETSC_TRUE;
}

/* The row of a node at `at` of axis d, inside along the others, has all links that such rows may have */
static PetscBool BCRProfileWhole(const BCRSurvey *S, PetscInt d, PetscInt at, const double st[7])
{
  for (PetscInt t = 0; t < S->A->dim; t++) {
    const PetscInt n = BCRProfileSize(S, t);

    if (n > 2 && (t != d || at != S->first[t]) && st[2 * t] == 0) return PETSC_FALSE;
    if (n > 2 && (t != d || at != S->last[t]) && st[2 * t + 1] == 0) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/* The vote of at most `rows` nodes of this rank at node `at` of axis d; `skip` of those that are spread over them are
   left out */
static void BCRProfileHold(const BCRProfile *P, PetscInt d, PetscInt at, PetscInt rows, PetscInt skip, BCRVote *vote)
{
  const BCRSurvey *S = P->S;
  PetscInt from[3], to[3], ix[3], col;
  const double nodes = BCRProfileBox(S, d, at, from, to);
  const PetscBool all = (PetscBool)(nodes <= (double)rows);
  const PetscInt n = all ? (PetscInt)nodes : rows;

  for (PetscInt k = 0; k < n; k++) {
    double st[7], rest, weight = nodes / (double)n;

    BCRSpreadNode(from, to, k + (all ? 0 : skip), all, ix);
    if (BCRRowGet(S->A, S->c, ix, st, &rest, &col) != BCR_ROW_GOOD || BCRStarSum(st) == 0) continue;
    for (int t = 0; t < 7; t++) st[t] += 0.0; /* no -0 */
    if (!BCRProfileWhole(S, d, at, st)) weight *= BCR_PROFILE_HALF;
    if (d != P->axis && !BCRProfileMove(P, ix, st)) continue;
    BCRVoteFor(vote, st, weight, weight);
    vote->votes += weight;
  }
}

/* Every step-th layer. Collective */
static PetscErrorCode BCRProfileLayers(BCRProfile *P, PetscInt step)
{
  const BCRSurvey *S = P->S;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(P->layer, sizeof(*P->layer) * (size_t)P->n));
  for (PetscInt i = step / 2; i < P->n; i += step)
    BCRProfileHold(P, P->axis, S->first[P->axis] + i, BCR_PROFILE_ROWS, i * BCR_PROFILE_ROWS, &P->layer[i]);
  PetscCall(BCRVotesAgree(S->A->comm, S->A->grid.size, P->n, P->layer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The axis along which most rows of the layers are alike; PETSC_FALSE: there is none. Collective */
static PetscErrorCode BCRProfileAxis(BCRProfile *P, PetscBool *found)
{
  const BCRSurvey *S = P->S;
  double best = 0.5;
  PetscInt axis = -1;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < S->A->dim; d++) {
    double lead = 0, votes = 0;

    P->axis = d;
    P->n = BCRProfileSize(S, d);
    if (P->n < 3) continue;
    PetscCall(BCRProfileLayers(P, PetscMax(1, P->n / BCR_PROFILE_LAYERS)));
    for (PetscInt i = 0; i < P->n; i++) {
      lead += P->layer[i].lead;
      votes += P->layer[i].votes;
    }
    if (!(lead > best * votes)) continue;
    best = lead / votes;
    axis = d;
  }
  P->axis = axis;
  *found = (PetscBool)(axis >= 0);
  if (*found) P->n = BCRProfileSize(S, axis);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Layers that nobody has voted for have the row of the nearest one that has one. PETSC_FALSE: nobody has */
static PetscBool BCRProfileFill(BCRProfile *P)
{
  PetscInt known = -1;

  for (PetscInt i = 0; i < P->n; i++) {
    if (P->layer[i].most == 0) continue;
    for (PetscInt j = known < 0 ? 0 : (known + i + 1) / 2; j < i; j++)
      memcpy(P->layer[j].star, P->layer[i].star, sizeof(P->layer[i].star));
    for (PetscInt j = i + 1; j < P->n && P->layer[j].most == 0; j++)
      memcpy(P->layer[j].star, P->layer[i].star, sizeof(P->layer[i].star));
    known = i;
  }
  return (PetscBool)(known >= 0);
}

/* Row i of the line along axis d */
static void BCRProfileRow(void *ctx, PetscInt d, PetscInt i, double st[7])
{
  const BCRProfile *P = (const BCRProfile *)ctx;
  const PetscInt n = BCRProfileSize(P->S, d);
  const BCRVote *vote = &P->layer[d == P->axis ? i : P->n / 2];
  const int end = i == 0 ? 0 : (i == n - 1 ? 1 : -1);
  PetscBool unknown = (PetscBool)(d == P->axis && vote->most == 0);

  /* the first of two is the row that all lines have */
  if (d != P->axis && end >= 0 && n > 1 && !(n == 2 && end == 0)) {
    unknown = (PetscBool)(P->side[2 * d + end].most == 0);
    if (!unknown) vote = &P->side[2 * d + end];
  }
  memcpy(st, vote->star, sizeof(vote->star));
  if (unknown && end >= 0 && !P->S->op->axis[d].plane[end].present) st[2 * d + end] = 0;
}

static PetscErrorCode BCRProfileTry(BCRProfile *P, PetscBool *good)
{
  BCRSurvey *S = P->S;
  PetscBool unknown[3][2];

  PetscFunctionBegin;
  PetscCall(BCRProfileAxis(P, good));
  if (*good) PetscCall(BCRProfileLayers(P, 1));
  if (*good) *good = BCRProfileFill(P);
  if (!*good) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt k = 0; k < 6; k++) {
    const PetscInt d = k / 2;

    if (d == P->axis || BCRProfileSize(S, d) < 2) continue;
    BCRProfileHold(P, d, k % 2 ? S->last[d] : S->first[d], BCR_PROFILE_SIDE, 0, &P->side[k]);
  }
  PetscCall(BCRVotesAgree(S->A->comm, S->A->grid.size, 6, P->side));
  PetscCall(BCRAxesFrom(S->A, NULL, S->op, BCRProfileRow, P, good));
  if (!*good) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt k = 0; k < 6; k++)
    unknown[k / 2][k % 2] = (PetscBool)(k / 2 != P->axis && BCRProfileSize(S, k / 2) > 2 && P->side[k].most == 0 &&
                                        !S->op->axis[k / 2].lower);
  BCRDifferUnknown(S->op, unknown);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDifferProfile(BCRSurvey *S, PetscBool *good)
{
  BCRProfile P;
  PetscInt most = 1;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *good = PETSC_FALSE;
  if (S->A->dim < 2) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMemzero(&P, sizeof(P)));
  P.S = S;
  for (PetscInt d = 0; d < 3; d++) most = PetscMax(most, BCRProfileSize(S, d));
  ierr = BCRFaultShare(S->A->comm, PetscMalloc1(most, &P.layer), BCR_NO_MEMORY);
  if (!ierr) ierr = BCRProfileTry(&P, good);
  PetscCall(PetscFree(P.layer));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
