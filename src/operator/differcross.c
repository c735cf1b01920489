/*
  The operator that most rows have where several axes are general: that of a cross of grid lines. Some crosses, spread
  over the grid, are read as if no row differed (axesread.c), and asked of some hundred rows; that with most of them is
  taken. Rows that have factors of their own are multiples of its rows where axes have no weights. Where a line of the
  cross goes through a mask, rows are those of the same layer on another line:

      o . . i   the row at o is that of b and what the one at i has more than that at j, in units of weights that the
      |     |   couplings tell
      b - - j
*/
#include "differimpl.h"

#define BCR_CROSSES    24
#define BCR_CROSS_ROWS 512
/* The part of the rows with couplings that the operator of a cross has. That of the first ones with the largest is it; one that
   has nearly all, at once; more crosses than these, where they have too few, but none where there is no such operator at all: in
   obstacles end few */
#define BCR_CROSS_FIRST  6
#define BCR_CROSS_ALL    0.98
#define BCR_CROSS_ENOUGH 0.75
#define BCR_CROSS_PART   0.05
#define BCR_CROSS_LINES  12 /* that are looked at instead of one */

typedef struct {
  BCRSurvey *S;
  PetscInt n[3], base[3];
  double (*line[3])[7]; /* [n] rows along each axis, through base */
  double (*other)[7];   /* the same of another line */
  PetscBool *known;     /* [n] */
} BCRCross;

/* Where the lines of a cross meet, spread evenly over the box by the powers of the root of t^4 = t + 1; the first one is in its
   middle */
static void BCRCrossBase(const BCRSurvey *S, int cross, PetscInt base[3])
{
  static const double step[3] = {0.8191725134, 0.6710436067, 0.5497004779};

  for (PetscInt d = 0; d < 3; d++) {
    const PetscInt n = S->last[d] - S->first[d] + 1;
    const double at = 0.5 + cross * step[d];

    base[d] = n > 2 ? PetscMin(PetscMax((PetscInt)((at - floor(at)) * (double)n), 1), n - 2) : 0;
  }
}

/* A row at place i along axis d has all links that it may have */
static PetscBool BCRCrossWhole(const BCRCross *X, PetscInt d, PetscInt i, const double st[7])
{
  for (PetscInt t = 0; t < 3; t++) {
    const PetscInt at = t == d ? i : X->base[t];

    if (X->n[t] < 3) continue;
    if ((at > 0 && st[2 * t] == 0) || (at < X->n[t] - 1 && st[2 * t + 1] == 0)) return PETSC_FALSE;
  }
  return (PetscBool)(st[BCR_CENTRE] != 0);
}

/* The rows along axis d through `base`, on all ranks; 0: one that no operator has. Collective */
static PetscErrorCode BCRCrossRead(const BCRCross *X, PetscInt d, const PetscInt base[3], double line[][7])
{
  const BCRSurvey *S = X->S;
  const BCRRows *A = S->A;
  PetscInt ix[3], col;
  double rest;

  PetscFunctionBegin;
  for (PetscInt t = 0; t < 3; t++) ix[t] = S->first[t] + (t == d ? 0 : base[t]);
  PetscCall(PetscMemzero(line, sizeof(*line) * (size_t)X->n[d]));
  for (PetscInt i = 0; i < X->n[d]; i++, ix[d]++) {
    if (BCRGridHas(&A->grid, ix) && BCRRowGet(A, S->c, ix, line[i], &rest, &col) != BCR_ROW_GOOD)
      PetscCall(PetscArrayzero(line[i], 7));
  }
  if (A->grid.size > 1)
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, line, (PetscMPIInt)(7 * X->n[d]), MPI_DOUBLE, MPI_SUM, A->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest coupling of a row along axis d, or along the others: its slot */
static int BCRCrossLargest(const double st[7], PetscInt d, PetscBool along)
{
  int slot = along ? (int)(2 * d) : (d == 0 ? 2 : 0);

  for (int k = 0; k < 6; k++)
    if ((k / 2 == d) == along && PetscAbs(st[k]) > PetscAbs(st[slot])) slot = k;
  return slot;
}

/* o of the head of this file. PETSC_FALSE: no weights are those of these rows */
static PetscBool BCRCrossMove(PetscInt d, const double b[7], const double j[7], const double i[7], double o[7])
{
  const int k = BCRCrossLargest(j, d, PETSC_FALSE), l = BCRCrossLargest(j, d, PETSC_TRUE);
  const double along = i[k] / j[k], across = b[l] / j[l];

  if (!(along > 0 && along < PETSC_INFINITY && across > 0 && across < PETSC_INFINITY)) return PETSC_FALSE;
  for (int t = 0; t < 6; t++) o[t] = t / 2 == d ? across * i[t] : along * b[t];
  o[BCR_CENTRE] = along * b[BCR_CENTRE] + across * (i[BCR_CENTRE] - along * j[BCR_CENTRE]);
  return PETSC_TRUE;
}

/* Rows of layers that no line has a row of are those of the nearest layer; at an end
   they keep the constant as that does, and hear of no plane */
static void BCRCrossFill(BCRCross *X, PetscInt d)
{
  const PetscInt n = X->n[d];
  double(*line)[7] = X->line[d];

  for (PetscInt i = 0; i < n; i++) {
    PetscInt off = 1;

    if (X->known[i]) continue;
    while (!(i - off >= 0 && X->known[i - off]) && !(i + off < n && X->known[i + off])) off++;
    memcpy(line[i], line[i - off >= 0 && X->known[i - off] ? i - off : i + off], sizeof(line[i]));
    for (int s = 0; s < 2; s++) {
      if (i != (s ? n - 1 : 0)) continue;
      line[i][BCR_CENTRE] += line[i][2 * d + s];
      line[i][2 * d + s] = 0;
    }
  }
}

/* The lines through the base row; *good = PETSC_FALSE: that row is none of the operator's. Collective */
static PetscErrorCode BCRCrossLines(BCRCross *X, int cross, PetscBool *good)
{
  PetscFunctionBegin;
  *good = PETSC_TRUE;
  for (PetscInt d = 0; d < 3 && *good; d++) {
    const PetscInt n = X->n[d], at = X->base[d];
    double(*line)[7] = X->line[d];
    PetscInt left = 0;

    PetscCall(BCRCrossRead(X, d, X->base, line));
    *good = BCRCrossWhole(X, d, at, line[at]);
    for (PetscInt i = 0; i < n; i++) left += !(X->known[i] = BCRCrossWhole(X, d, i, line[i]));
    for (int more = 1; more <= BCR_CROSS_LINES && *good && left; more++) {
      PetscInt base[3];

      BCRCrossBase(X->S, cross + more, base);
      PetscCall(BCRCrossRead(X, d, base, X->other));
      if (!BCRCrossWhole(X, d, at, X->other[at])) continue;
      for (PetscInt i = 0; i < n; i++) {
        if (X->known[i] || !BCRCrossWhole(X, d, i, X->other[i])) continue;
        X->known[i] = BCRCrossMove(d, line[at], X->other[at], X->other[i], line[i]);
        left -= X->known[i];
      }
    }
    if (*good && left) BCRCrossFill(X, d);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void BCRCrossRow(void *ctx, PetscInt d, PetscInt i, double st[7])
{
  memcpy(st, ((const BCRCross *)ctx)->line[d][i], 7 * sizeof(*st));
}

/* Row st is that of the model, or a multiple of it */
static PetscBool BCRCrossAlike(const double st[7], const double in[7], PetscBool factor)
{
  const double f = factor ? BCRStarSum(st) / BCRStarSum(in) : 1;

  if (!(f > 0 && f < PETSC_INFINITY)) return PETSC_FALSE;
  for (int k = 0; k < 7; k++)
    if (!(PetscAbs(st[k] - f * in[k]) <=
          BCR_SAME_TOL * PetscAbs(k < BCR_CENTRE && in[k] != 0 ? f * in[k] : st[BCR_CENTRE])))
      return PETSC_FALSE;
  return PETSC_TRUE;
}

/* The part of some rows with couplings that the operator has. Collective */
static PetscErrorCode BCRCrossAsk(BCRSurvey *S, PetscBool factor, double *part)
{
  const BCRRows *A = S->A;
  PetscInt from[3], to[3], ix[3], col, nodes = 1;
  double count[2] = {0, 0}; /* the operator's, all */

  PetscFunctionBegin;
  PetscCall(BCRFaultShare(A->comm, BCRModelCreate(S->op, S->m), BCR_NO_MEMORY));
  for (PetscInt d = 0; d < 3; d++) {
    from[d] = PetscMax(S->first[d], A->lo[d]);
    to[d] = PetscMin(S->last[d] + 1, A->lo[d] + A->n[d]);
    nodes *= PetscMax(0, to[d] - from[d]);
  }
  for (PetscInt i = 0; i < PetscMin(nodes, BCR_CROSS_ROWS); i++) {
    double st[7], in[7], rest;

    BCRSpreadNode(from, to, i, (PetscBool)(nodes <= BCR_CROSS_ROWS), ix);
    if (BCRRowGet(A, S->c, ix, st, &rest, &col) != BCR_ROW_GOOD || BCRStarSum(st) == 0) continue;
    BCRModelRow(S->op, S->m, ix, in);
    count[0] += BCRCrossAlike(st, in, factor);
    count[1]++;
  }
  PetscCall(BCRModelDestroy(S->m));
  if (A->grid.size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, count, 2, MPI_DOUBLE, MPI_SUM, A->comm));
  *part = count[1] > 0 ? count[0] / count[1] : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operator of a cross; its axes have no weights where more rows are multiples of its rows without (two materials, rows with
   factors). *part: of the rows that are asked, those that it has. Collective */
static PetscErrorCode BCRCrossTry(BCRCross *X, int cross, double *part)
{
  BCRSurvey *S = X->S;
  BCROperator *op = S->op;
  PetscReal *weight[3];
  PetscErrorCode ierr;
  PetscBool good;
  double parts[2] = {0, 0};

  PetscFunctionBegin;
  *part = 0;
  BCRCrossBase(S, cross, X->base);
  PetscCall(BCRCrossLines(X, cross, &good));
  if (good) PetscCall(BCRAxesFrom(S->A, X->base, op, BCRCrossRow, X, &good));
  if (!good) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRCrossAsk(S, PETSC_FALSE, &parts[0]));
  for (PetscInt d = 0; d < 3; d++) {
    weight[d] = op->axis[d].weight;
    op->axis[d].weight = NULL;
  }
  ierr = BCRCrossAsk(S, PETSC_TRUE, &parts[1]);
  for (PetscInt d = 0; d < 3; d++) {
    if (parts[1] > parts[0]) PetscCall(PetscFree(weight[d]));
    else op->axis[d].weight = weight[d];
  }
  PetscCall(ierr);
  *part = PetscMax(parts[0], parts[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDifferCross(BCRSurvey *S, PetscBool *good)
{
  PetscInt most = 0;
  BCRCross X;
  double part = 0, best = 0;
  PetscErrorCode ierr = PETSC_SUCCESS;
  int which = 0, cross = 0;

  PetscFunctionBegin;
  *good = PETSC_FALSE;
  if (S->A->dim < 2 || !S->A->several) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMemzero(&X, sizeof(X)));
  X.S = S;
  for (PetscInt d = 0; d < 3; d++) {
    X.n[d] = S->last[d] - S->first[d] + 1;
    most = PetscMax(most, X.n[d]);
    if (!ierr) ierr = PetscMalloc1(X.n[d], &X.line[d]);
  }
  if (!ierr) ierr = PetscMalloc2(most, &X.other, most, &X.known);
  ierr = BCRFaultShare(S->A->comm, ierr, BCR_NO_MEMORY);
  while (!ierr && best <= BCR_CROSS_ALL &&
         cross < (best > BCR_CROSS_ENOUGH || best <= BCR_CROSS_PART ? BCR_CROSS_FIRST : BCR_CROSSES)) {
    ierr = BCRCrossTry(&X, cross, &part);
    if (part > best) {
      best = part;
      which = cross;
    }
    cross++;
  }
  *good = (PetscBool)(best > BCR_CROSS_ENOUGH);
  if (!ierr && *good && which != cross - 1) ierr = BCRCrossTry(&X, which, &part);
  for (PetscInt d = 0; d < 3; d++) PetscCall(PetscFree(X.line[d]));
  PetscCall(PetscFree2(X.other, X.known));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
