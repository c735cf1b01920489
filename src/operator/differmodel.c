/*
  The operator that most rows have, up to a factor each: the star that most rows of the inside have, and for each side
  that which most rows there have. A majority is found by Boyer and Moore's vote, which needs one candidate and one
  number and can be merged over ranks; whether it is one the comparison with all rows tells. Some hundred rows are
  asked, spread over the grid; all of them where those do not make it clear.
*/
#include "differimpl.h"

#define BCR_VOTES 7 /* inside; side s of axis d: 1 + 2 d + s */

/* Rows that are asked for the inside and for a side; and the lead, of all votes, that makes it clear which most rows
   have, or that there are none */
#define BCR_VOTE_INSIDE 256
#define BCR_VOTE_SIDE   64
#define BCR_VOTE_CLEAR  0.5
#define BCR_VOTE_NONE   0.05

/* One row is a multiple of the other, by a positive number */
static PetscBool BCRStarsAlike(const double a[7], const double b[7])
{
  const double r = BCRStarSum(b) / BCRStarSum(a);

  if (!(r > 0 && r < PETSC_INFINITY)) return PETSC_FALSE;
  for (int k = 0; k < 7; k++)
    if (!(PetscAbs(b[k] - r * a[k]) <= BCR_SAME_TOL * PetscAbs(b[k]))) return PETSC_FALSE;
  return PETSC_TRUE;
}

void BCRVoteFor(BCRVote *v, const double st[7], double rows, double most)
{
  PetscBool take = PETSC_FALSE;

  if (most == 0 || BCRStarSum(st) == 0) return; /* nobody, or a row that has no factor */
  if (v->lead == 0) {
    take = PETSC_TRUE;
    v->lead = rows;
  } else if (BCRStarsAlike(v->star, st)) {
    take = (PetscBool)(most > v->most);
    v->lead += rows;
  } else if (rows > v->lead) {
    take = PETSC_TRUE;
    v->lead = rows - v->lead;
  } else v->lead -= rows;
  if (!take) return;
  for (int k = 0; k < 7; k++) v->star[k] = st[k];
  v->most = most;
}

/* The nodes of this rank that have vote k, and how many these are */
static double BCRVoteBox(const BCRSurvey *S, int k, PetscInt from[3], PetscInt to[3])
{
  const BCRRows *A = S->A;
  double nodes = 1;

  for (PetscInt d = 0; d < 3; d++) {
    const PetscInt low = S->first[d], high = S->last[d] + 1,
                   side = high - low > 1; /* an axis of one unknown has no sides */

    from[d] = low + side;
    to[d] = high - side;
    if (k == 1 + 2 * d || k == 2 + 2 * d) {
      if (!side) return 0;
      from[d] = k == 1 + 2 * d ? low : high - 1;
      to[d] = from[d] + 1;
    }
    from[d] = PetscMax(from[d], A->lo[d]);
    to[d] = PetscMin(to[d], A->lo[d] + A->n[d]);
    nodes *= (double)PetscMax(0, to[d] - from[d]);
  }
  return nodes;
}

/* Vote k of this rank: of at most `most` rows. count: of each star, [BCR_STARS], zero */
static void BCRVoteHold(BCRSurvey *S, int k, PetscInt most, BCRVote *vote, PetscInt count[])
{
  PetscInt from[3], to[3], ix[3], col;
  const double nodes = BCRVoteBox(S, k, from, to);
  const PetscBool all = (PetscBool)(nodes <= (double)most);
  const PetscInt rows = all ? (PetscInt)nodes : most;
  const double weight = rows ? nodes / (double)rows : 0;

  for (PetscInt i = 0; i < rows; i++) {
    double st[7], rest;
    int code;

    BCRSpreadNode(from, to, i, all, ix);
    if (BCRRowGet(S->A, S->c, ix, st, &rest, &col) != BCR_ROW_GOOD || BCRStarSum(st) == 0) continue;
    for (int t = 0; t < 7; t++) st[t] += 0.0; /* no -0 */
    code = BCRSurveyCode(S, st);
    if (code == BCR_STARS) BCRVoteFor(vote, st, weight, weight);
    else count[code]++;
    vote->votes += weight;
  }
  for (PetscInt i = 1; i < S->stars; i++)
    if (count[i]) BCRVoteFor(vote, S->star[i], weight * (double)count[i], weight * (double)count[i]);
}

PetscErrorCode BCRVotesAgree(MPI_Comm comm, PetscMPIInt size, PetscInt n, BCRVote vote[])
{
  const PetscMPIInt width = (PetscMPIInt)n * (PetscMPIInt)(sizeof(BCRVote) / sizeof(double));
  BCRVote *all = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  ierr = PetscMalloc1((size_t)size * (size_t)n, &all);
  BCRCallElse(BCRFaultShare(comm, ierr, BCR_NO_MEMORY), (void)PetscFree(all));
  PetscCallMPI(MPI_Allgather(vote, width, MPI_DOUBLE, all, width, MPI_DOUBLE, comm));
  PetscCall(PetscMemzero(vote, (size_t)n * sizeof(*vote)));
  for (PetscMPIInt p = 0; p < size; p++)
    for (PetscInt k = 0; k < n; k++) {
      const BCRVote *v = &all[p * n + k];

      BCRVoteFor(&vote[k], v->star, v->lead, v->most);
      vote[k].votes += v->votes;
    }
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What most rows of a side have, in couplings of the matrix, signs turned, row factor taken out */
typedef struct {
  PetscBool known;
  double in, out, first; /* coupling inward, outward; what the axis has of the diagonal */
} BCRSide;

/* model: the star of the inside, signs turned as sign says */
static BCRSide BCRSideRead(const BCRVote *v, const double model[7], double sign, int d, int s)
{
  BCRSide side = {PETSC_FALSE, 0, 0, 0};
  double mine = 0, across = 0, f;

  if (v->most == 0) return side;
  for (int k = 0; k < 6; k++) {
    if (k / 2 == d) continue;
    mine += -sign * v->star[k];
    across += model[k];
  }
  f = across > 0 ? mine / across : 1;
  if (!(f > 0)) return side;
  side.known = PETSC_TRUE;
  side.in = -sign * v->star[2 * d + 1 - s] / f;
  side.out = -sign * v->star[2 * d + s] / f;
  side.first = sign * v->star[BCR_CENTRE] / f - (model[BCR_CENTRE] - 2 * model[2 * d]);
  return side;
}

/* The end type whose row is the nearest: first is without what a dropped plane adds */
static BCREnd BCRSideEnd(const BCRSide *side, double first, double a)
{
  BCREnd best = BCR_END_DIRICHLET;
  double least = PETSC_INFINITY;

  for (int e = 0; e < BCR_ENDS && side->known; e++) {
    const BCREndRule rule = BCREndGetRule((BCREnd)e);
    const double off = PetscAbs(side->in - rule.inward * a) + PetscAbs(first - (2 + rule.diagonal) * a);

    if (BCREndIsPeriodic(e) || !(off < least)) continue;
    least = off;
    best = (BCREnd)e;
  }
  return best;
}

static void BCRDifferAxis(BCRAxis *ax, const BCRSide side[2], double a, double unit)
{
  const PetscBool around = (PetscBool)(!ax->plane[0].present && !ax->plane[1].present && side[0].known &&
                                       side[1].known && side[0].out != 0 && side[1].out != 0);

  ax->a = (PetscReal)(a / unit);
  for (int s = 0; s < 2; s++) {
    BCRPlane *pl = &ax->plane[s];
    const double out = pl->present && side[s].known ? PetscMax(side[s].out, 0) : 0;

    pl->coupling = (PetscReal)((PetscAbs(out - a) <= BCR_SAME_TOL * a ? a : out) / unit);
    pl->couple = (PetscBool)(pl->coupling != 0);
    ax->end[s] = around ? BCR_END_PERIODIC : BCRSideEnd(&side[s], side[s].first - out * (double)pl->slope, a);
  }
}

/* No axes, no factors */
static PetscErrorCode BCRDifferClear(const BCRSurvey *S)
{
  BCROperator *op = S->op;

  PetscFunctionBegin;
  op->dim = S->A->dim;
  op->singular = op->left = PETSC_FALSE;
  PetscCall(PetscFree(op->rowscale));
  for (PetscInt d = 0; d < 3; d++) {
    BCRAxis *ax = &op->axis[d];

    PetscCall(PetscFree(ax->lower));
    PetscCall(PetscFree(ax->diag));
    PetscCall(PetscFree(ax->upper));
    PetscCall(PetscFree(ax->weight));
    PetscCall(PetscFree(ax->times));
    ax->n = S->last[d] - S->first[d] + 1;
    ax->a = 0;
    ax->end[0] = ax->end[1] = BCREndOfOne();
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

void BCRDifferUnknown(BCROperator *op, PetscBool unknown[3][2])
{
  for (int pass = 0; pass < 2; pass++) {
    for (int d = 0; d < 3; d++)
      for (int s = 0; s < 2; s++)
        if (unknown[d][s]) op->axis[d].end[s] = pass ? BCR_END_DIRICHLET : BCR_END_CELL_NEUMANN;
    if (BCROperatorNeutral(op)) return;
  }
}

/* From the votes of all ranks. PETSC_FALSE: most rows are those of no uniform axes */
static PetscBool BCRDifferTake(const BCRSurvey *S, const BCRVote vote[])
{
  BCROperator *op = S->op;
  const double sign = BCRStarSum(vote[0].star) < 0 ? -1 : 1;
  PetscBool unknown[3][2] = {
    {PETSC_FALSE, PETSC_FALSE},
    {PETSC_FALSE, PETSC_FALSE},
    {PETSC_FALSE, PETSC_FALSE}
  };
  double model[7], unit = 0, shift;

  if (vote[0].most == 0) return PETSC_FALSE;
  for (int k = 0; k < 6; k++) model[k] = vote[0].star[k] == 0 ? 0 : -sign * vote[0].star[k];
  shift = model[BCR_CENTRE] = sign * vote[0].star[BCR_CENTRE];
  for (int d = 0; d < 3; d++) {
    const double a = model[2 * d];
    const PetscBool one = (PetscBool)(S->first[d] == S->last[d]);

    if (one ? a != 0 || model[2 * d + 1] != 0 : !(a > 0 && PetscAbs(model[2 * d + 1] - a) <= BCR_SAME_TOL * a))
      return PETSC_FALSE;
    unit = PetscMax(unit, a);
    shift -= 2 * a;
  }
  if (!(unit > 0)) return PETSC_FALSE;
  if (PetscAbs(shift) <= BCR_SUM_TOL * PetscAbs(model[BCR_CENTRE])) shift = 0;
  op->scale = (PetscReal)(sign * unit);
  op->shift = (PetscReal)(shift / unit);
  for (int d = 0; d < 3; d++) {
    BCRSide side[2];

    if (S->first[d] == S->last[d]) continue;
    for (int s = 0; s < 2; s++) side[s] = BCRSideRead(&vote[1 + 2 * d + s], model, sign, d, s);
    BCRDifferAxis(&op->axis[d], side, model[2 * d], unit);
    for (int s = 0; s < 2; s++) unknown[d][s] = (PetscBool)!side[s].known;
  }
  BCRDifferUnknown(op, unknown);
  return PETSC_TRUE;
}

/* Collective. most: rows to ask for the inside, and for each side */
static PetscErrorCode BCRVotesHold(BCRSurvey *S, PetscInt inside, PetscInt side, BCRVote vote[])
{
  PetscInt(*count)[BCR_STARS] = NULL;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(vote, BCR_VOTES * sizeof(*vote)));
  BCRCallElse(BCRFaultShare(S->A->comm, PetscCalloc1(BCR_VOTES, &count), BCR_NO_MEMORY), (void)PetscFree(count));
  for (int k = 0; k < BCR_VOTES; k++) BCRVoteHold(S, k, k ? side : inside, &vote[k], count[k]);
  PetscCall(PetscFree(count));
  PetscCall(BCRVotesAgree(S->A->comm, S->A->grid.size, BCR_VOTES, vote));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Uniform axes. Collective */
static PetscErrorCode BCRDifferUniform(BCRSurvey *S, PetscBool *good)
{
  BCRVote vote[BCR_VOTES];

  PetscFunctionBegin;
  *good = PETSC_FALSE;
  PetscCall(BCRVotesHold(S, BCR_VOTE_INSIDE, BCR_VOTE_SIDE, vote));
  if (vote[0].votes > BCR_VOTE_INSIDE && vote[0].lead < BCR_VOTE_CLEAR * vote[0].votes) {
    if (vote[0].lead <= BCR_VOTE_NONE * vote[0].votes) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(BCRVotesHold(S, PETSC_MAX_INT, PETSC_MAX_INT, vote));
  }
  PetscCall(BCRDifferClear(S));
  *good = BCRDifferTake(S, vote);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDifferModel(BCRSurvey *S, PetscBool *good)
{
  BCROperator *op = S->op;
  PetscReal lowest;

  PetscFunctionBegin;
  PetscCall(BCRDifferUniform(S, good));
  if (!*good) {
    PetscCall(BCRDifferClear(S));
    PetscCall(BCRDifferProfile(S, good));
  }
  if (!*good) {
    PetscCall(BCRDifferClear(S));
    PetscCall(BCRDifferCross(S, good));
  }
  if (!*good) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt d = 0; d < 3; d++) S->weighted = (PetscBool)(S->weighted || op->axis[d].weight);
  S->neutral = BCROperatorNeutral(op);
  PetscCall(BCROperatorLowestEigenvalue(op, &lowest));
  if (!S->neutral && !(lowest > 0) && !BCROperatorCanWave(op) && BCRAxesApart(op->dim, op->axis) < 0)
    *good = PETSC_FALSE; /* no box solve */
  PetscFunctionReturn(PETSC_SUCCESS);
}
