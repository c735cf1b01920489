/*
  Matrices that are not separable: a separable operator near them (docs/method.md, section "operator").

  average  the mean coupling of each axis, the mean row sum as shift;
  scaled   A ~ S B S after Concus and Golub (SIAM J. Numer. Anal. 10, 1973): with -div(k grad u) and S = sqrt(k) the couplings of
           S^{-1} A S^{-1} are 1 + O(h^2) and a bounded potential is left on the diagonal, whose mean becomes the shift.

  The fit of a matrix that is regular is regular. Where no end of the fit holds the solution fixed,
  its shift is the Rayleigh quotient of the matrix, in the scales of the fit, for the constant, over
  all rows: end rows count (a pinned cell, a wall that conducts heat). It is zero only where the
  sums of all rows vanish.

  Rows apart (identity rows among others of another size, penalties: the couplings are at most an
  eighth of the diagonal, which is more than eight times, or less than an eighth of, what the fit
  has) take no part in means, and are solved by themselves (Jacobi), beside the fit.

  auto takes the fit for which an estimate of the condition number is smaller: the spread of the
  couplings times one plus what is left on the diagonal over the smallest eigenvalue of the fit. Of
  what is left the root mean square distance from the mean counts: the largest would be a bound, but
  a potential that is large near an end or a corner only does little harm.
*/
#include "fitimpl.h"
#include "fitrun.h"
#include "readdevice.h"
#include "run.h"
#include "threads.h"

static inline double BCRFitWeight(const BCRFitData *F, PetscInt d, PetscInt i)
{
  if (i < 0 || i >= F->n[d]) i += i < 0 ? F->n[d] : -F->n[d];
  return i == 0 ? F->half[d][0] * (F->n[d] == 1 ? F->half[d][1] : 1) : (i == F->n[d] - 1 ? F->half[d][1] : 1);
}

/* Where the arrays have node o */
static inline PetscInt BCRFitAt(const BCRFitData *F, PetscInt i, const PetscInt o[3])
{
  return i - F->so[0] + F->stride[1] * (o[1] - F->so[1]) + F->stride[2] * (o[2] - F->so[2]);
}

/* Node i of axis d, beyond its ends too, as the arrays have it if the axis is periodic */
static inline PetscInt BCRFitAround(const BCRFitData *F, PetscInt d, PetscInt i)
{
  return i < F->so[d] ? i + F->n[d] : (i >= F->so[d] + F->sn[d] ? i - F->n[d] : i);
}

static inline PetscBool BCRFitOwns(const BCRFitData *F, const PetscInt o[3])
{
  PetscInt d;

  for (d = 0; d < 3; d++)
    if (o[d] < F->lo[d] || o[d] >= F->lo[d] + F->own[d]) return PETSC_FALSE;
  return PETSC_TRUE;
}

/* Nodes of the box that have a neighbour in it on all sides, of axes long enough to have such
   nodes; skip: an axis that does not count */
static inline PetscBool BCRFitInside(const BCRFitData *F, const PetscInt ix[3], PetscInt skip)
{
  PetscInt d;

  for (d = 0; d < F->dim; d++)
    if (d != skip && F->n[d] > 2 && !F->wrap[d] && (ix[d] == 0 || ix[d] == F->n[d] - 1)) return PETSC_FALSE;
  return PETSC_TRUE;
}

/* What a thread does of the work: F with its part of this rank's nodes, and what comes of it. Parts
   write to nodes of their own alone: what two of them have between them is kept apart (below,
   around) until all are done */
struct BCRFitPart {
  BCRFitData F;
  PetscInt first, last; /* along F.split */
  double *x, *line, *ghost, *below, *around;
  const double *mean; /* of the axes, if scales are wanted */
  const double *a;    /* couplings of the fit */
  BCRFitSums sums;
  BCRFitRange scales, link[3], left;
  BCRFitTotal total;
  BCRRowState state; /* of a row that is no good, if any: its node and the column at fault */
  PetscInt ix[3], col;
};

static void BCRFitRangeAdd(BCRFitRange *r, PetscInt n, const double *x, double f, PetscInt row)
{
  BCRFitLineRange l;

  if (n < 1) return;
  if (r->count == 0) {
    r->lo = PETSC_INFINITY;
    r->hi = -PETSC_INFINITY;
    r->ref = x[0] * f;
  }
  l = BCRFitRangeLine(n, x, r->ref / f);
  if (l.lo * f < r->lo) {
    r->lo = l.lo * f;
    r->lorow = row;
  }
  if (l.hi * f > r->hi) {
    r->hi = l.hi * f;
    r->hirow = row;
  }
  r->sum += l.sum * f;
  r->square += l.square * f * f;
  r->count += (double)n;
}

/* sum: and those of q */
void BCRFitRangeJoin(BCRFitRange *sum, const BCRFitRange *q)
{
  double e;

  if (q->count == 0) return;
  if (sum->count == 0) {
    *sum = *q;
    return;
  }
  if (q->lo < sum->lo) {
    sum->lo = q->lo;
    sum->lorow = q->lorow;
  }
  if (q->hi > sum->hi) {
    sum->hi = q->hi;
    sum->hirow = q->hirow;
  }
  e = q->ref - sum->ref;
  sum->sum += q->sum + q->count * e;
  sum->square += q->square + e * (2 * q->sum + q->count * e);
  sum->count += q->count;
}

/* Over all ranks. lorow and hirow stay those of this rank */
static PetscErrorCode BCRFitRangeAgree(const BCRFitData *F, PetscInt n, BCRFitRange r[])
{
  const PetscMPIInt size = F->A->grid.size;
  BCRFitRange *all;
  PetscInt i;

  PetscFunctionBegin;
  if (size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRFaultShare(F->A->comm, PetscMalloc1(n * (PetscInt)size, &all), BCR_NO_MEMORY));
  PetscCallMPI(MPI_Allgather(r, (PetscMPIInt)(n * (PetscInt)sizeof(*r)), MPI_BYTE, all,
                             (PetscMPIInt)(n * (PetscInt)sizeof(*r)), MPI_BYTE, F->A->comm));
  for (i = 0; i < n; i++) {
    BCRFitRange sum = {0, 0, 0, 0, 0, 0, 0, 0};

    /* in this order on every rank, so that all get the same numbers */
    for (PetscInt p = 0; p < (PetscInt)size; p++) BCRFitRangeJoin(&sum, &all[i + n * p]);
    sum.lorow = r[i].lorow;
    sum.hirow = r[i].hirow;
    r[i] = sum;
  }
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double BCRFitRangeMean(const BCRFitRange *r)
{
  return r->lo == r->hi || r->count == 0 ? r->lo : r->ref + r->sum / r->count;
}

/* Root mean square distance from c */
static double BCRFitRangeDistance(const BCRFitRange *r, double c)
{
  const double m = r->sum / r->count, e = r->ref - c;

  return r->lo == r->hi ? PetscAbs(r->lo - c) : sqrt(PetscMax(0.0, r->square / r->count + e * (2 * m + e)));
}

/* The two entries of a link become one */
static inline void BCRFitJoin(double *up, double lo)
{
  if (*up != lo) *up = *up > 0 && lo > 0 ? sqrt(*up) * sqrt(lo) : 0.5 * (*up + lo);
}

/* Runs the parts, each with F as it is now, by threads if there are several */
static void BCRFitRun(BCRFitData *F, void (*run)(void *))
{
  void *ctx[BCR_THREADS_MOST];

  for (PetscInt t = 0; t < F->parts; t++) {
    BCRFitPart *p = &F->part[t];

    p->F = *F;
    if (F->parts > 1) {
      p->F.lo[F->split] = p->first;
      p->F.own[F->split] = p->last - p->first;
    }
    p->F.x = p->x;
    p->F.line = p->line;
    p->F.ghost = p->ghost;
    p->F.below = p->below;
    p->F.around = p->around;
    ctx[t] = p;
  }
  BCRThreadsRun(F->parts, run, ctx);
}

/* Any row of the box or the shell. Rows of the shell fill the arrays and do not count, and what is
   wrong with them their own ranks say. *col: the column at fault in a row that is not good */
static BCRRowState BCRFitRow(BCRFitData *F, const PetscInt ix[3], BCRFitSums *q, PetscInt *col)
{
  const BCRRows *A = F->A;
  double st[7], rest, left;
  PetscInt o[3], d, s, k, idx;
  PetscBool plane = PETSC_FALSE;
  const PetscBool mine = BCRGridHas(&A->grid, ix);
  BCRRowState state = BCRRowGet(A, F->c, ix, st, &rest, col);

  if (state != BCR_ROW_GOOD) return mine ? state : BCR_ROW_GOOD;
  for (d = 0; d < 3; d++) {
    o[d] = ix[d] - F->b[d];
    plane = (PetscBool)(plane || o[d] < F->so[d] || o[d] >= F->so[d] + F->sn[d]);
  }
  if (plane) {
    for (d = 0; d < F->dim && mine; d++) {
      for (s = 0; s < 2; s++) {
        BCRPlane *pl = &F->op->axis[d].plane[s];

        if (pl->present && ix[d] == (s ? A->N[d] - 1 : 0))
          pl->inv[BCRPlaneNode(A, d, ix)] = (PetscReal)(1.0 / st[BCR_CENTRE]);
      }
    }
    return BCR_ROW_GOOD;
  }
  idx = BCRFitAt(F, o[0], o);
  for (k = 0; k < 6; k++) {
    st[k] = st[k] == 0 ? 0 : -F->sign * st[k];
    if (mine) q->total += PetscAbs(st[k]);
  }
  st[BCR_CENTRE] *= F->sign;
  for (k = 0, left = st[BCR_CENTRE]; k < 6; k++) left -= st[k];
  F->D[idx] = st[BCR_CENTRE];
  if (mine && BCRFitInside(F, o, -1)) BCRFitRangeAdd(&q->left, 1, &left, 1, o[1] + F->n[1] * o[2]);
  for (d = 0; d < F->dim; d++) {
    const PetscInt n = F->n[d];

    for (s = 0; s < 2; s++) {
      BCRPlane *pl = &F->op->axis[d].plane[s];

      if (o[d] != (s ? n - 1 : 0)) continue;
      if (pl->present) {
        PetscInt at[3];

        for (k = 0; k < 3; k++) at[k] = ix[k];
        at[d] = s ? A->N[d] - 1 : 0;
        if (BCRGridHas(&A->grid, at)) { /* the plane may be on another rank than the row beside it */
          pl->couplings[BCRPlaneNode(A, d, at)] = (PetscReal)st[2 * d + s];
          if (st[2 * d + s] != 0) q->couple[d][s] = PETSC_TRUE;
        }
        F->D[idx] -= st[2 * d + s] * (double)pl->slope;
      } else if (mine) {
        q->wraps[d] += st[2 * d + s];
        if (BCRFitInside(F, o, d)) { /* a row apart is not what its end is like */
          q->sum[d][s] += PetscMin(left, 8 * st[2 * d + 1 - s]);
          q->count[d][s]++;
        }
      }
    }
    if (n < 2) continue;
    if (o[d] < n - 1 || F->image[d]) F->C[d][idx] = st[2 * d + 1];
    else if (F->around && d == F->split) F->around[idx % F->stride[d]] = st[2 * d + 1];
    /* around, if anything: the other entry is there */
    else if (!F->op->axis[d].plane[1].present) BCRFitJoin(&F->C[d][idx], st[2 * d + 1]);
    if (o[d] == 0 && F->sn[d] == n && !F->image[d] && !F->op->axis[d].plane[0].present)
      F->C[d][idx + (n - 1) * F->stride[d]] = st[2 * d];
    if (F->below && d == F->split && o[d] == F->lo[d]) F->below[idx % F->stride[d]] = st[2 * d];
    else if (o[d] > F->so[d]) {
      double *up = &F->C[d][idx - F->stride[d]];
      const double lo = st[2 * d];

      if (o[d] == 1 && mine) {
        q->link[d][0][0] += *up;
        q->link[d][0][1] += lo;
      }
      if (o[d] == 2 && mine) q->link[d][0][2] += lo;
      if (o[d] == n - 2 && mine) q->link[d][1][2] += *up;
      if (o[d] == n - 1 && mine) {
        q->link[d][1][0] += lo;
        q->link[d][1][1] += *up;
      }
      BCRFitJoin(up, lo);
    }
    for (k = 0; k < 6 && mine; k++) {
      if (k / 2 == d) continue;
      if (o[d] == 0) q->side[d][0][0] += st[k];
      if (o[d] == 1) q->side[d][0][1] += st[k];
      if (o[d] == n - 1) q->side[d][1][0] += st[k];
      if (o[d] == n - 2) q->side[d][1][1] += st[k];
    }
  }
  return BCR_ROW_GOOD;
}

/* The rows of a grid line that are three or more from all ends: a regular pattern, nothing but D
   and C to fill. Returns how many it could do, from ix on: all or none. A line that is odd in any
   way is left to BCRFitRow(). */
static PetscInt BCRFitLine(BCRFitData *F, const PetscInt ix[3], PetscInt count, BCRFitSums *q)
{
  enum {
    MOST = 256
  };
  const BCRRows *A = F->A;
  const PetscInt dof = A->dof, node = BCRNode(A, ix), row = F->c + dof * node, first = A->ai[row],
                 R = A->ai[row + 1] - first, E = A->ai[row + dof] - first;
  const PetscScalar *v = A->aa + first;
  const PetscInt ox[3] = {ix[0] - F->b[0], ix[1] - F->b[1], ix[2] - F->b[2]}, o = ox[1] + F->n[1] * ox[2],
                 box = BCRFitAt(F, ox[0], ox);
  double *C[3] = {NULL, NULL, NULL};
  PetscInt at[7] = {-1, -1, -1, -1, -1, -1, -1}, none[MOST], nnone = 0, p, i, d;
  int axis[3] = {0, 0, 0}, axes = 0, wrong, odd = 0;

  if (A->far.mat && A->far.i[dof * node] != A->far.i[dof * (node + count)]) return 0;
  if (R > MOST || A->ai[row + dof * count] - first != (PetscInt64)E * count) return 0;
  if (!BCRRunColumns(A->ai + dof * node, (size_t)(dof * count + 1), (size_t)dof, E) ||
      !BCRRunColumns(A->aj + A->ai[dof * node], (size_t)E * (size_t)count, (size_t)E, dof))
    return 0;
  for (p = 0; p < R; p++) {
    const PetscInt j = A->aj[first + p];
    const int k = dof == 1 ? BCRSlot(A, ix, j - node) : (j % dof == F->c ? BCRSlot(A, ix, j / dof - node) : -1);

    if (k >= 0 && at[k] < 0) at[k] = p;
    else none[nnone++] = p;
  }
  for (d = 0; d < F->dim; d++) {
    if (F->n[d] < 2) continue;
    if (at[2 * d] < 0 || at[2 * d + 1] < 0) return 0;
    C[d] = F->C[d] + box;
    axis[axes++] = (int)d;
  }
  if (at[BCR_CENTRE] < 0 || axes == 0) return 0;
  for (i = 0; i < count && nnone > 0; i++) {
    for (p = 0; p < nnone; p++) odd |= PetscRealPart(v[none[p] + (size_t)E * (size_t)i]) != 0;
  }
#if defined(PETSC_USE_COMPLEX)
  for (i = 0; i < count; i++) {
    for (p = 0; p < R; p++) odd |= PetscImaginaryPart(v[p + (size_t)E * (size_t)i]) != 0;
  }
#endif
  if (odd) return 0;
  if (E == 5 && R == 5 && axes == 2 && axis[1] == 1 && at[2] == 0 && at[0] == 1 && at[BCR_CENTRE] == 2 && at[1] == 3)
    wrong = BCRFitTake5Line(count, v, F->sign, F->D + box, C, F->stride, F->line);
  else if (E == 7 && R == 7 && axes == 3 && at[4] == 0 && at[2] == 1 && at[0] == 2 && at[BCR_CENTRE] == 3 &&
           at[1] == 4 && at[3] == 5)
    wrong = BCRFitTake7Line(count, v, F->sign, F->D + box, C, F->stride, F->line);
  else wrong = BCRFitTakeLine(count, v, E, at, axes, axis, F->sign, F->D + box, C, F->stride, F->line);
  if (wrong & 8) return 0;
  for (d = 0; d < axes; d++) {
    double *up = C[axis[d]] - F->stride[axis[d]];

    for (i = 0; i < count && wrong & 1 << d; i++)
      BCRFitJoin(&up[i], -F->sign * (double)PetscRealPart(v[at[2 * axis[d]] + (size_t)E * (size_t)i]));
    for (i = 0; i < count && q->total == 0; i++) q->total += PetscAbs(C[axis[d]][i]);
  }
  BCRFitRangeAdd(&q->left, count, F->line, 1, o);
  return count;
}

/* What BCRFitExtract() has summed up, over all ranks */
static PetscErrorCode BCRFitSumsAgree(BCRFitData *F, BCRFitSums *q)
{
  double all[3 * 2 * 3 + 3 * 2 * 2 + 3 * 2 + 3 + 1 + 3 * 2 + 3 * 2];
  PetscInt d, s, k, n = 0, pass;

  PetscFunctionBegin;
  if (F->A->grid.size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  for (pass = 0; pass < 2; pass++) {
#define SUM(x) \
  do { \
    if (pass) x = all[n++]; \
    else all[n++] = x; \
  } while (0)
    n = 0;
    for (d = 0; d < 3; d++) {
      SUM(q->wraps[d]);
      for (s = 0; s < 2; s++) {
        double count = (double)q->count[d][s], couple = q->couple[d][s] ? 1 : 0;

        for (k = 0; k < 3; k++) SUM(q->link[d][s][k]);
        for (k = 0; k < 2; k++) SUM(q->side[d][s][k]);
        SUM(q->sum[d][s]);
        SUM(count);
        SUM(couple);
        q->count[d][s] = (PetscInt)count;
        q->couple[d][s] = (PetscBool)(couple > 0);
      }
    }
    SUM(q->total);
#undef SUM
    if (pass) break;
    /* summed once and told to all, for the same last digits everywhere */
    PetscCallMPI(
      MPI_Reduce(F->A->grid.rank ? all : MPI_IN_PLACE, all, (PetscMPIInt)n, MPI_DOUBLE, MPI_SUM, 0, F->A->comm));
    PetscCallMPI(MPI_Bcast(all, (PetscMPIInt)n, MPI_DOUBLE, 0, F->A->comm));
  }
  PetscCall(BCRFitRangeAgree(F, 1, &q->left));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nodes of the grid whose rows this rank can look at: its own, planes and all, and those of the
   shell that the arrays hold */
static void BCRFitRows(const BCRFitData *F, PetscInt begin[3], PetscInt end[3])
{
  const BCRRows *A = F->A;

  for (PetscInt d = 0; d < 3; d++) {
    begin[d] = A->lo[d];
    end[d] = A->nodes ? A->lo[d] + A->n[d] : A->lo[d];
    if (F->sn[d] == 0 || A->grid.parts[d] == 1) continue;
    begin[d] = PetscMin(begin[d], F->so[d] + F->b[d]);
    end[d] = PetscMax(end[d], F->so[d] + F->sn[d] + F->b[d]);
  }
}

/* A part of the pass over the matrix, to the first row that is no good */
static void BCRFitExtractPart(void *ctx)
{
  BCRFitPart *p = (BCRFitPart *)ctx;
  BCRFitData *F = &p->F;
  const BCRRows *A = F->A;
  PetscInt *ix = p->ix, begin[3], end[3], d;

  memset(&p->sums, 0, sizeof(p->sums));
  p->state = BCR_ROW_GOOD;
  BCRFitRows(F, begin, end);
  d = F->split;
  if (F->parts > 1 && p != F->part) begin[d] = p->first + F->b[d];
  if (F->parts > 1 && p != F->part + F->parts - 1) end[d] = p->last + F->b[d];
  for (ix[2] = begin[2]; ix[2] < end[2]; ix[2]++) {
    for (ix[1] = begin[1]; ix[1] < end[1]; ix[1]++) {
      PetscBool inside = (PetscBool)(F->n[0] > 20 && !(F->below && ix[F->split] - F->b[F->split] == p->first));

      for (d = 1; d < F->dim; d++)
        inside = (PetscBool)(inside && ix[d] - F->b[d] > 2 && ix[d] - F->b[d] < F->n[d] - 3 && ix[d] >= A->lo[d] &&
                             ix[d] < A->lo[d] + A->n[d]);
      for (ix[0] = begin[0]; ix[0] < end[0]; ix[0]++) {
        const PetscInt o = ix[0] - F->b[0], mine = A->lo[0] + A->n[0] - ix[0] - (A->grid.parts[0] > 1 ? 1 : 0),
                       count = PetscMin(F->n[0] - 3 - o, mine);

        if (inside && o > 2 && count > 8 && ix[0] > A->lo[0]) {
          const PetscInt done = BCRFitLine(F, ix, count, &p->sums);

          ix[0] += done;
          if (done < count) inside = PETSC_FALSE;
        }
        p->state = BCRFitRow(F, ix, &p->sums, &p->col);
        if (p->state != BCR_ROW_GOOD) return;
      }
    }
  }
}

/* One pass over the matrix: D, C, the planes' diagonals and couplings, and what tells the ends
   apart. left: over all ranks, its extremes' places are this rank's. read: what the device has
   summed up, if it has done it */
static PetscErrorCode BCRFitExtract(BCRFitData *F, const BCRFitSums *read, BCRFitRange *left, BCRFitRange *near)
{
  const BCRRows *A = F->A;
  BCRFitSums q;
  PetscInt d, s, k;
  BCRFault fault = {PETSC_SUCCESS, ""};

  PetscFunctionBegin;
  if (F->device) q = *read;
  else {
    BCRFitRun(F, BCRFitExtractPart);
    q = F->part[0].sums;
  }
  for (PetscInt t = 0; t < F->parts; t++) {
    const BCRFitPart *p = &F->part[t];
    const PetscInt st = F->stride[F->split];
    double *C = F->C[F->split];

    if (p->state != BCR_ROW_GOOD) {
      PetscCall(BCRRowFault(A, p->state, F->c, p->ix, p->col, &fault));
      break;
    }
    for (PetscInt i = 0; i < st && p->below; i++) BCRFitJoin(&C[(p->first - 1) * st + i], p->below[i]);
    for (PetscInt i = 0; i < st && p->around && !F->op->axis[F->split].plane[1].present; i++)
      BCRFitJoin(&C[(p->last - 1) * st + i], p->around[i]);
    if (t == 0) continue;
    for (d = 0; d < 3; d++) {
      q.wraps[d] += p->sums.wraps[d];
      for (s = 0; s < 2; s++) {
        for (k = 0; k < 3; k++) q.link[d][s][k] += p->sums.link[d][s][k];
        for (k = 0; k < 2; k++) q.side[d][s][k] += p->sums.side[d][s][k];
        q.sum[d][s] += p->sums.sum[d][s];
        q.count[d][s] += p->sums.count[d][s];
        q.couple[d][s] = (PetscBool)(q.couple[d][s] || p->sums.couple[d][s]);
      }
    }
    q.total += p->sums.total;
    BCRFitRangeJoin(&q.left, &p->sums.left);
  }
  PetscCall(BCRFaultAgree(A->comm, &fault));
  *near = q.left;
  PetscCall(BCRFitSumsAgree(F, &q));
  for (d = 0; d < 6; d++) F->op->axis[d / 2].plane[d % 2].couple = q.couple[d / 2][d % 2];
  PetscCheck(q.total != 0, A->comm, PETSC_ERR_SUP,
             "The preconditioning matrix is a diagonal that varies over the grid: nothing in it is a Poisson operator. "
             "Use -pc_type jacobi");
  for (d = 0; d < F->dim; d++) {
    F->wrap[d] = (PetscBool)(F->n[d] > 2 && q.wraps[d] > 0);
    for (s = 0; s < 2; s++) {
      /* the coupling beyond the end, in proportion */
      const double *l = q.link[d][s], beyond = l[2] > 0 ? l[1] * PetscMin(4.0, PetscMax(0.25, l[1] / l[2])) : l[1];
      PetscInt t, rows = 1;

      for (t = 0; t < 3; t++) rows *= t == d ? 1 : F->n[t];
      F->ratio[d][s] = l[1] > 0 ? l[0] / l[1] : 1;
      if (q.count[d][s] && beyond > 0)
        F->extra[d][s] =
          (q.sum[d][s] - (q.left.count > 0 && F->n[d] > 2 ? (double)q.count[d][s] * BCRFitRangeMean(&q.left) : 0)) /
          beyond * (double)rows / (double)q.count[d][s];
      /* half rows: couplings along the end are half of what those across it lead one to expect */
      F->half[d][s] = 1;
      if (F->n[d] > 3 && !F->wrap[d] && !F->op->axis[d].plane[s].present && F->ratio[d][s] < 1.5 &&
          PetscAbs(F->extra[d][s]) < 0.25 && q.side[d][s][1] > 0 && l[1] > 0 && l[2] > 0 &&
          (q.side[d][s][0] / l[1]) / (q.side[d][s][1] / l[2]) < 0.68)
        F->half[d][s] = 0.5;
    }
  }
  *left = q.left;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The end types nearest to what the matrix has */
static void BCRFitEnds(BCRFitData *F)
{
  PetscInt d, s;

  for (d = 0; d < 3; d++) {
    BCRAxis *ax = &F->op->axis[d];

    for (s = 0; s < 2; s++) {
      ax->end[s] = BCR_END_CELL_NEUMANN;
      if (F->n[d] < 2 || d >= F->dim) continue;
      if (F->wrap[d]) ax->end[s] = BCR_END_PERIODIC;
      else if (ax->plane[s].present && ax->plane[s].couple)
        ax->end[s] = PetscAbsReal(ax->plane[s].slope) < 0.5
                       ? BCR_END_DIRICHLET
                       : (ax->plane[s].slope > 0 ? BCR_END_CELL_NEUMANN : BCR_END_CELL_DIRICHLET);
      else if (ax->plane[s].present) ax->end[s] = BCR_END_DIRICHLET;
      else if ((F->ratio[d][s] > 1.5 && F->ratio[d][s] < 2.7) || F->half[d][s] < 1) ax->end[s] = BCR_END_NEUMANN;
      else if (F->extra[d][s] > 1.5) ax->end[s] = BCR_END_CELL_DIRICHLET;
      else if (F->extra[d][s] > 0.25) ax->end[s] = BCR_END_DIRICHLET;
    }
  }
}

/* With an unsymmetric Neumann end the link was the mean of a and 2a */
static PetscErrorCode BCRFitEndLinks(BCRFitData *F)
{
  PetscInt d, s, i, j, u, v;

  PetscFunctionBegin;
  for (d = 0; d < F->dim; d++) {
    u = d == 0 ? 1 : 0;
    v = d == 2 ? 1 : 2;
    for (s = 0; s < 2; s++) {
      const PetscInt at = (s ? F->n[d] - 2 : 0) - F->so[d];

      if (BCREndGetRule(F->op->axis[d].end[s]).inward == 1 || F->half[d][s] < 1 || F->n[d] < 2 || at < 0 ||
          at >= F->sn[d])
        continue;
#if defined(PETSCBCR_HAVE_CUDA)
      if (F->device) {
        PetscCall(BCRFitDeviceDivide(F, d, at, sqrt(2.0)));
        continue;
      }
#endif
      for (j = 0; j < F->sn[v]; j++)
        for (i = 0; i < F->sn[u]; i++) F->C[d][at * F->stride[d] + i * F->stride[u] + j * F->stride[v]] /= sqrt(2.0);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The null vector of the transpose of T, in the row of node i of axis d */
static inline double BCRFitNullWeight(const BCRFitData *F, PetscInt d, PetscInt i)
{
  const BCRAxis *ax = &F->op->axis[d];

  return ax->n > 1 ? BCRAxisGetEndWeight(ax, i) : 1;
}

static void BCRFitTotalJoin(BCRFitTotal *sum, const BCRFitTotal *q)
{
  sum->lo = PetscMin(sum->lo, q->lo);
  sum->hi = PetscMax(sum->hi, q->hi);
  sum->excess += q->excess;
  sum->weight += q->weight;
  sum->count += q->count;
}

/* Diagonal of T at node i of axis d without the shift */
static inline double BCRFitDiagonal(const BCRFitData *F, PetscInt d, PetscInt i, const double a[3])
{
  const BCRAxis *ax = &F->op->axis[d];
  double t = 2 * a[d];
  PetscInt s;

  if (ax->n < 2) return 0;
  for (s = 0; s < 2; s++) {
    if (i != (s ? ax->n - 1 : 0)) continue;
    t += BCREndGetRule(ax->end[s]).diagonal * a[d];
  }
  return t;
}

static inline double BCRFitModelDiagonal(const BCRFitData *F, const PetscInt o[3], const double a[3])
{
  return BCRFitDiagonal(F, 0, o[0], a) + BCRFitDiagonal(F, 1, o[1], a) + BCRFitDiagonal(F, 2, o[2], a);
}

static inline double BCRFitRowWeight(const BCRFitData *F, const PetscInt o[3])
{
  return BCRFitWeight(F, 0, o[0]) * BCRFitWeight(F, 1, o[1]) * BCRFitWeight(F, 2, o[2]);
}

/* Couplings below and above the nodes first .. first + count of a grid line along x, for axis d.
   Those beyond the ends of the axis: around them if it is periodic, the only one there is of two
   nodes, else in proportion to the next two */
static void BCRFitBeside(const BCRFitData *F, const PetscInt o[3], PetscInt first, PetscInt count, PetscInt d,
                         const double **below, const double **above)
{
  const PetscInt n = F->n[d], st = F->stride[d];
  const double *C = F->C[d] + BCRFitAt(F, 0, o); /* node i of the line at i */
  PetscInt i, s;

  if (d == 0) {
    for (i = 0; i <= count; i++) {
      const PetscInt at = first + i - 1; /* the link from here on */

      if (at >= 0 && at < n - 1) F->x[i] = C[at];
      else if (F->wrap[d]) F->x[i] = C[BCRFitAround(F, d, at)];
      else {
        const double c = C[at < 0 ? 0 : n - 2], next = n > 2 ? C[at < 0 ? 1 : n - 3] : c;

        F->x[i] = n == 2 ? c : c * PetscMin(4.0, PetscMax(0.25, next > 0 ? c / next : 1.0));
      }
    }
    *below = F->x;
    *above = F->x + 1;
    return;
  }
  C += first;
  *below = C - (o[d] ? st : 0);
  *above = C;
  if (n == 2) {
    *below = *above = C - o[d] * st;
    return;
  }
  for (s = 0; s < 2; s++) {
    if (o[d] != (s ? n - 1 : 0)) continue;
    if (F->wrap[d]) {
      if (!s) *below = C + (BCRFitAround(F, d, -1) - o[d]) * st;
    } else {
      const double *c = s ? C - st : C, *next = s ? C - 2 * st : C + st;

      for (i = 0; i < count; i++)
        F->ghost[i] = c[i] * PetscMin(4.0, PetscMax(0.25, next[i] > 0 ? c[i] / next[i] : 1.0));
      if (s) *above = F->ghost;
      else *below = F->ghost;
    }
  }
}

/* s^2 of the nodes first .. first + count: along each axis the geometric mean of the two couplings
   beside the node over the mean of the axis; then the mean over the axes */
static void BCRFitScales(const BCRFitData *F, const PetscInt o[3], PetscInt first, PetscInt count, const double mean[3],
                         PetscReal *S, BCRFitRange *range)
{
  const double smallest = 1e-4;
  PetscInt d, i, axes = 0;

  for (i = 0; i < count; i++) F->line[i] = 0;
  for (d = 0; d < F->dim; d++) {
    const PetscInt u = d == 0 ? 1 : 0, v = d == 2 ? 1 : 2;
    const double *below, *above;

    if (F->n[d] < 2 || mean[d] <= 0) continue;
    axes++;
    BCRFitBeside(F, o, first, count, d, &below, &above);
    BCRFitScaleLine(count, below, above, 1 / (mean[d] * (u ? BCRFitWeight(F, u, o[u]) : 1) * BCRFitWeight(F, v, o[v])),
                    u ? F->ones : F->iwx + first - F->so[0], smallest, F->line);
  }
  for (i = 0; i < count && axes == 0; i++) F->line[i] = 1;
  axes = PetscMax(axes, 1);
  BCRFitRangeAdd(range, count, F->line, 1.0 / (double)axes, 0);
  BCRFitRootLine(count, F->line, 1.0 / (double)axes, S);
}

/* From a node to the one that its link along axis d, or around, ends at */
static inline PetscInt BCRFitLinkStep(const BCRFitData *F, PetscInt d, PetscBool around)
{
  return around ? (BCRFitAround(F, d, F->n[d]) - (F->n[d] - 1)) * F->stride[d] : F->stride[d];
}

/* Couplings that end at this rank's nodes of a grid line as the fit sees them, c / (s s w), into q:
   those along axis d from below, or (around) from the last nodes of a periodic axis to the first.
   Returns how many; *node: where the first of them comes from along x */
static PetscInt BCRFitLinks(const BCRFitData *F, const PetscInt o[3], PetscInt d, PetscBool around, double *q,
                            PetscInt *node)
{
  const PetscInt u = d == 0 ? 1 : 0, v = d == 2 ? 1 : 2, n = F->n[d], st = F->stride[d], last = F->lo[0] + F->own[0];
  const PetscInt begin = d ? F->lo[0] : (around ? n - 1 : PetscMax(F->lo[0], 1) - 1),
                 count = d ? F->own[0] : (around ? (last == n && F->own[0] ? 1 : 0) : last - 1 - begin);
  PetscInt from, to, i;
  double f;
  const double *iw = u ? F->ones : F->iwx + F->lo[0] - F->so[0];

  *node = begin;
  if (n < 2 || count < 1 || (around ? !F->wrap[d] || (d && o[d] < n - 1) : d && o[d] == 0)) return 0;
  from = BCRFitAt(F, begin, o) - (d && !around ? st : 0);
  to = from + BCRFitLinkStep(F, d, around);
  f = 1 / ((u ? BCRFitWeight(F, u, o[u]) : 1) * BCRFitWeight(F, v, o[v]));
  if (F->S) BCRFitQuotientLine(count, F->C[d] + from, f, iw, F->S + from, F->S + to, q);
  else
    for (i = 0; i < count; i++) q[i] = F->C[d][from + i] * f * iw[i];
  return count;
}

/* Of `count` numbers x of a line those of nodes that are not apart, and whose neighbours `step` on
   are not, go to the front. Returns how many */
static PetscInt BCRFitCompress(const BCRFitData *F, PetscInt at, PetscInt step, PetscInt count, double *x)
{
  PetscInt i, n = 0;

  if (!F->apart) return count;
  for (i = 0; i < count; i++)
    if (!F->apart[at + i] && !F->apart[at + i + step]) x[n++] = x[i];
  return n;
}

/* What is left on the diagonals of this rank's nodes of a grid line in the end, D / (s^2 w) - T */
static void BCRFitRest(const BCRFitData *F, const PetscInt o[3], const double a[3], double *t, double *p)
{
  const PetscInt row = BCRFitAt(F, F->lo[0], o), n = F->own[0];
  const double tyz = BCRFitDiagonal(F, 1, o[1], a) + BCRFitDiagonal(F, 2, o[2], a),
               w = BCRFitWeight(F, 1, o[1]) * BCRFitWeight(F, 2, o[2]);
  const double *iwx = F->iwx + F->lo[0] - F->so[0];
  PetscInt i;

  for (i = 0; i < n; i++) t[i] = BCRFitDiagonal(F, 0, F->lo[0] + i, a) + tyz;
  if (F->S && w == 1 && F->half[0][0] == 1 && F->half[0][1] == 1) BCRFitRestLine(n, F->D + row, F->S + row, t, p);
  else
    for (i = 0; i < n; i++)
      p[i] = F->D[row + i] * iwx[i] / (w * (F->S ? (double)F->S[row + i] * (double)F->S[row + i] : 1)) - t[i];
}

/* The scales of the nodes that this rank's links have at an end: its own, and those one away along axes that are cut */
static void BCRFitScaled(const BCRFitData *F, PetscInt d, PetscInt *begin, PetscInt *end)
{
  const PetscInt more = F->A->grid.parts[d] > 1 ? 1 : 0, low = F->wrap[d] && F->image[d] ? -1 : 0, high = F->n[d] - low;

  *begin = PetscMax(F->lo[d] - more, low);
  *end = PetscMin(F->lo[d] + F->own[d] + more, high);
}

/* Row scales of the nodes that the links of this part have at an end, if those of others are among them */
static void BCRFitScalesPart(void *ctx)
{
  BCRFitPart *p = (BCRFitPart *)ctx;
  const BCRFitData *F = &p->F;
  PetscInt o[3] = {0, 0, 0}, begin[3], end[3], d;

  memset(&p->scales, 0, sizeof(p->scales));
  for (d = 0; d < 3; d++) BCRFitScaled(F, d, &begin[d], &end[d]);
  if (F->own[0] < 1 || F->own[1] < 1 || F->own[2] < 1) return;
  for (o[2] = begin[2]; o[2] < end[2]; o[2]++)
    for (o[1] = begin[1]; o[1] < end[1]; o[1]++)
      BCRFitScales(F, o, begin[0], end[0] - begin[0], p->mean, F->S + BCRFitAt(F, begin[0], o), &p->scales);
}

/* Row scales, if this part has all that its links need, and the couplings */
static void BCRFitMeansPart(void *ctx)
{
  BCRFitPart *p = (BCRFitPart *)ctx;
  const BCRFitData *F = &p->F;
  PetscInt o[3] = {0, 0, 0}, d, k, node;
  const PetscBool alone = (PetscBool)(F->A->grid.size == 1 && F->parts == 1);

  memset(p->link, 0, sizeof(p->link));
  if (alone) memset(&p->scales, 0, sizeof(p->scales));
  if (F->own[0] < 1) return;
  for (o[2] = F->lo[2]; o[2] < F->lo[2] + F->own[2]; o[2]++) {
    for (o[1] = F->lo[1]; o[1] < F->lo[1] + F->own[1]; o[1]++) {
      const PetscInt row = o[1] + F->n[1] * o[2];

      if (F->S && alone) BCRFitScales(F, o, 0, F->n[0], p->mean, F->S + BCRFitAt(F, 0, o), &p->scales);
      for (d = 0; d < F->dim; d++) {
        const PetscBool plain = (PetscBool)(!F->S && !F->apart && d == 0);

        if (plain && F->n[0] > 1) {
          const PetscInt first = PetscMax(F->lo[0], 1);

          BCRFitRangeAdd(&p->link[d], F->lo[0] + F->own[0] - first, F->C[d] + BCRFitAt(F, first - 1, o),
                         1 / (BCRFitWeight(F, 1, o[1]) * BCRFitWeight(F, 2, o[2])), row);
        }
        for (PetscInt around = plain ? 1 : 0; around < (F->wrap[d] ? 2 : 1); around++) {
          k = BCRFitLinks(F, o, d, (PetscBool)around, F->line, &node);
          k = BCRFitCompress(F, BCRFitAt(F, node, o) - (d && !around ? F->stride[d] : 0),
                             BCRFitLinkStep(F, d, (PetscBool)around), k, F->line);
          BCRFitRangeAdd(&p->link[d], k, F->line, 1, row);
        }
      }
    }
  }
}

/* Row scales (with mean), then the couplings: mean along each axis, and the largest quotient over
   all links after division by that mean */
static PetscErrorCode BCRFitMeans(BCRFitData *F, const double mean[3], BCRFitRange *scales, BCRFitResult *r)
{
  PetscInt d, t;
  double l = PETSC_MAX_REAL, h = 0;

  PetscFunctionBegin;
#if defined(PETSCBCR_HAVE_CUDA)
  if (F->device) PetscCall(BCRFitDeviceMeans(F, mean, scales, r->link));
#endif
  for (t = 0; t < F->parts; t++) F->part[t].mean = mean;
  if (F->S && (F->A->grid.size > 1 || F->parts > 1)) BCRFitRun(F, BCRFitScalesPart);
  if (!F->device) BCRFitRun(F, BCRFitMeansPart);
  for (t = 0; t < F->parts; t++) {
    for (d = 0; d < 3; d++) BCRFitRangeJoin(&r->link[d], &F->part[t].link[d]);
    if (scales) BCRFitRangeJoin(scales, &F->part[t].scales);
  }
  for (d = 0; d < 3; d++) r->near[d] = r->link[d];
  PetscCall(BCRFitRangeAgree(F, 3, r->link));
  if (scales) PetscCall(BCRFitRangeAgree(F, 1, scales));
  r->spread = 1;
  for (d = 0; d < 3; d++) {
    r->mean[d] = BCRFitRangeMean(&r->link[d]);
    if (d >= F->dim || F->n[d] < 2 || r->mean[d] == 0) continue;
    l = PetscMin(l, r->link[d].lo / r->mean[d]);
    h = PetscMax(h, r->link[d].hi / r->mean[d]);
  }
  if (h > 0) r->spread = l > 0 ? h / l : PETSC_INFINITY;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* This rank's nodes along x that are inside the box */
static PetscInt BCRFitInsideLine(const BCRFitData *F, PetscInt *first)
{
  const PetscInt cut = F->n[0] > 2 && !F->wrap[0] ? 1 : 0;

  *first = PetscMax(F->lo[0], cut);
  return PetscMin(F->lo[0] + F->own[0], F->n[0] - cut) - *first;
}

static void BCRFitLeftPart(void *ctx)
{
  BCRFitPart *p = (BCRFitPart *)ctx;
  const BCRFitData *F = &p->F;
  PetscInt o[3] = {0, 0, 0}, d, i, first;
  const PetscInt count = BCRFitInsideLine(F, &first);

  memset(&p->left, 0, sizeof(p->left));
  for (o[2] = F->lo[2]; o[2] < F->lo[2] + F->own[2]; o[2]++) {
    for (o[1] = F->lo[1]; o[1] < F->lo[1] + F->own[1]; o[1]++) {
      if (!BCRFitInside(F, o, 0)) continue;
      BCRFitRest(F, o, p->a, F->x, F->line);
      /* the two couplings of each axis in place of T's; of two nodes, the one there is */
      for (d = 0; d < F->dim && !F->S; d++) {
        const double *below, *above, two = F->n[d] > 2 ? 1 : 0;

        if (F->n[d] < 2) continue;
        BCRFitBeside(F, o, F->lo[0], F->own[0], d, &below, &above);
        for (i = 0; i < F->own[0]; i++) F->line[i] += p->a[d] - below[i] + two * (p->a[d] - above[i]);
      }
      BCRFitRangeAdd(&p->left, BCRFitCompress(F, BCRFitAt(F, first, o), 0, count, F->line + first - F->lo[0]),
                     F->line + first - F->lo[0], 1, o[1] + F->n[1] * o[2]);
    }
  }
}

/* Of the couplings along an axis the mean is that of T, and they add nothing, but where the null
   vector of the transpose is not one: at the sides of other axes */
static void BCRFitTotalLinks(const BCRFitData *F, const PetscInt o[3], const double a[3], BCRFitTotal *q)
{
  const PetscBool ends =
    (PetscBool)(BCREndGetRule(F->op->axis[0].end[0]).weight != 1 || BCREndGetRule(F->op->axis[0].end[1]).weight != 1);

  for (PetscInt d = 0; d < F->dim; d++) {
    const double h = (d == 1 ? 1 : BCRFitNullWeight(F, 1, o[1])) * (d == 2 ? 1 : BCRFitNullWeight(F, 2, o[2]));

    if (h == 1 && !(d && ends)) continue;
    for (PetscInt around = 0; around < (F->wrap[d] ? 2 : 1); around++) {
      PetscInt node;
      const PetscInt n = BCRFitLinks(F, o, d, (PetscBool)around, F->line, &node);
      const PetscInt at = BCRFitAt(F, node, o) - (d && !around ? F->stride[d] : 0),
                     step = BCRFitLinkStep(F, d, (PetscBool)around);

      for (PetscInt i = 0; i < n; i++) {
        if (F->apart && (F->apart[at + i] || F->apart[at + i + step])) continue;
        q->excess -= 2 * (h * (d ? BCRFitNullWeight(F, 0, node + i) : 1) - 1) * (F->line[i] - a[d]);
      }
    }
  }
}

/* BCRFitTotal of this part's rows: the weights are 1/2 in the rows of node-centred Neumann ends. A
   row apart, as if it had the diagonal of T and no couplings, adds that, and once more what its
   neighbours lose. */
static void BCRFitTotalPart(void *ctx)
{
  BCRFitPart *p = (BCRFitPart *)ctx;
  const BCRFitData *F = &p->F;
  const double size = 2 * (p->a[0] + p->a[1] + p->a[2]);
  BCRFitTotal *q = &p->total;
  PetscInt o[3] = {0, 0, 0}, i;

  memset(q, 0, sizeof(*q));
  q->lo = PETSC_INFINITY;
  q->hi = -PETSC_INFINITY;
  if (F->own[0] < 1) return;
  for (o[2] = F->lo[2]; o[2] < F->lo[2] + F->own[2]; o[2]++) {
    for (o[1] = F->lo[1]; o[1] < F->lo[1] + F->own[1]; o[1]++) {
      const double h = BCRFitNullWeight(F, 1, o[1]) * BCRFitNullWeight(F, 2, o[2]);
      const PetscInt at = BCRFitAt(F, F->lo[0], o);
      double excess = 0, weight = 0;
      BCRFitLineRange l;

      BCRFitRest(F, o, p->a, F->x, F->line);
      for (i = 0; i < F->own[0] && F->apart; i++)
        if (F->apart[at + i]) F->line[i] = 2 * F->x[i];
      for (i = 0; i < F->own[0]; i++) F->line[i] += F->x[i];
      l = BCRFitRangeLine(F->own[0], F->line, size);
      for (i = 0; i < F->own[0]; i++) excess += size - F->x[i];
      excess += l.sum;
      weight = (double)F->own[0];
      for (i = 0; i < F->own[0]; i += PetscMax(F->own[0] - 1, 1)) {
        const double less = 1 - BCRFitNullWeight(F, 0, F->lo[0] + i);

        excess -= less * (F->line[i] - F->x[i]);
        weight -= less;
      }
      q->excess += h * excess;
      q->weight += h * weight;
      BCRFitTotalLinks(F, o, p->a, q);
      q->lo = PetscMin(q->lo, l.lo);
      q->hi = PetscMax(q->hi, l.hi);
      q->count += (double)F->own[0];
    }
  }
}

static PetscErrorCode BCRFitTotals(BCRFitData *F, BCRFitResult *r)
{
  const PetscMPIInt size = F->A->grid.size;
  BCRFitTotal *all, mine = {0, 0, PETSC_INFINITY, -PETSC_INFINITY, 0}, sum = mine;

  PetscFunctionBegin;
#if defined(PETSCBCR_HAVE_CUDA)
  if (F->device) PetscCall(BCRFitDeviceTotal(F, r->a, &mine));
#endif
  for (PetscInt t = 0; t < F->parts; t++) F->part[t].a = r->a;
  if (!F->device) BCRFitRun(F, BCRFitTotalPart);
  PetscCall(BCRFaultShare(F->A->comm, PetscMalloc1(size, &all), BCR_NO_MEMORY));
  for (PetscInt t = 0; t < F->parts; t++) BCRFitTotalJoin(&mine, &F->part[t].total);
  PetscCallMPI(MPI_Allgather(&mine, sizeof(mine), MPI_BYTE, all, sizeof(mine), MPI_BYTE, F->A->comm));
  for (PetscInt p = 0; p < (PetscInt)size; p++) BCRFitTotalJoin(&sum, &all[p]); /* in this order on every rank */
  PetscCall(PetscFree(all));
  r->total = sum;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is left over the inside of the box, where all weights are one: D / s^2 - T, or without scales the row sum */
static PetscErrorCode BCRFitLeft(BCRFitData *F, BCRFitResult *r)
{
  PetscFunctionBegin;
  memset(&r->left, 0, sizeof(r->left));
#if defined(PETSCBCR_HAVE_CUDA)
  if (F->device) PetscCall(BCRFitDeviceLeft(F, r->a, &r->left));
#endif
  for (PetscInt t = 0; t < F->parts; t++) F->part[t].a = r->a;
  if (!F->device) BCRFitRun(F, BCRFitLeftPart);
  for (PetscInt t = 0; t < F->parts; t++) BCRFitRangeJoin(&r->left, &F->part[t].left);
  r->nearleft = r->left;
  PetscCall(BCRFitRangeAgree(F, 1, &r->left));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest relative deviation of the matrix from the fit, and where: the extremes that have been
   met, and the diagonals at the ends */
static PetscErrorCode BCRFitDeviation(BCRFitData *F, const BCRFitResult *r)
{
  const BCRRows *A = F->A;
  BCROperator *op = F->op;
  PetscInt o[3] = {0, 0, 0}, d, i, k, m, two = 0, node, first;
  const PetscInt n0 = F->own[0], count = BCRFitInsideLine(F, &first);
  double worst = 0;
  BCRFitRange left = r->nearleft;
  struct {
    double worst;
    PetscInt row, col;
  } found = {0, 0, 0};

  PetscFunctionBegin;
#if defined(PETSCBCR_HAVE_CUDA)
  if (F->device) {
    PetscCall(BCRFitDeviceDeviation(F, r->a, r->shift, &worst, &op->devrow, &op->devcol));
    op->deviation = (PetscReal)worst;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
#define NODE(i) ((i) + F->b[0] + A->N[0] * (o[1] + F->b[1] + A->N[1] * (o[2] + F->b[2])))
  for (d = 0; d < F->dim; d++) {
    const PetscInt step = d == 0 ? 1 : (d == 1 ? A->N[0] : A->N[0] * A->N[1]);

    if (F->n[d] == 2) two = 1;
    if (F->n[d] < 2 || r->a[d] == 0 || r->near[d].count == 0) continue;
    for (k = 0; k < 2; k++) {
      const PetscInt row = k ? r->near[d].hirow : r->near[d].lorow;

      if (PetscAbs((k ? r->near[d].hi : r->near[d].lo) / r->a[d] - 1) <= worst) continue;
      o[1] = row % F->n[1];
      o[2] = row / F->n[1];
      for (m = 0; m < 2; m++) {
        const PetscInt n = BCRFitLinks(F, o, d, (PetscBool)(m == 1), F->line, &node), last = (F->n[d] - 1) * step;

        for (i = 0; i < n; i++) {
          const double dev = PetscAbs(F->line[i] / r->a[d] - 1);

          if (dev <= worst) continue;
          worst = dev;
          found.row = NODE(node + i) - (d && !m ? step : 0);
          found.col = found.row + (m ? -last : step);
        }
      }
    }
  }
  if (!F->S) { /* without scales that was row sums */
    memset(&left, 0, sizeof(left));
    for (o[2] = F->lo[2]; o[2] < F->lo[2] + F->own[2]; o[2]++)
      for (o[1] = F->lo[1]; o[1] < F->lo[1] + F->own[1]; o[1]++)
        if (BCRFitInside(F, o, 0)) BCRFitRangeAdd(&left, count, F->D + BCRFitAt(F, first, o), 1, o[1] + F->n[1] * o[2]);
  }
  for (o[2] = F->lo[2]; o[2] < F->lo[2] + F->own[2]; o[2]++) {
    for (o[1] = F->lo[1]; o[1] < F->lo[1] + F->own[1] && n0 > 0; o[1]++) {
      const PetscInt row = o[1] + F->n[1] * o[2];
      const PetscBool all = (PetscBool)(two || row == left.lorow || row == left.hirow || !BCRFitInside(F, o, 0));

      if (!all && (F->n[0] < 2 || F->wrap[0])) continue;
      if (all) BCRFitRest(F, o, r->a, F->x, F->line);
      for (i = 0; i < n0; i += all ? 1 : PetscMax(n0 - 1, 1)) {
        double dev, t;

        if (!all) { /* one node only, at an end */
          const PetscInt at = BCRFitAt(F, F->lo[0] + i, o);

          if (F->lo[0] + i > 0 && F->lo[0] + i < F->n[0] - 1) continue;
          F->x[i] = BCRFitDiagonal(F, 0, F->lo[0] + i, r->a) + BCRFitDiagonal(F, 1, o[1], r->a) +
                    BCRFitDiagonal(F, 2, o[2], r->a);
          F->line[i] =
            F->D[at] * F->iwx[F->lo[0] + i - F->so[0]] / (F->S ? (double)F->S[at] * (double)F->S[at] : 1) - F->x[i];
        }
        t = PetscAbs(F->x[i] + r->shift);
        dev = PetscAbs(F->line[i] - r->shift) / t;
        if (dev <= worst) continue;
        worst = dev;
        found.row = found.col = NODE(F->lo[0] + i);
      }
    }
  }
#undef NODE
  found.worst = worst;
  PetscCall(BCRTakeFrom(A->comm, worst, &found, sizeof(found), NULL));
  op->deviation = (PetscReal)found.worst;
  op->devrow = found.row;
  op->devcol = found.col;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix, in average, is a fit whose shift is zero: does it have that null vector? Inside the
   box row sums are known from the pass over the matrix */
static PetscErrorCode BCRFitNull(BCRFitData *F, const BCRFitResult *r, PetscBool *null)
{
  const double inside = PetscMax(PetscAbs(r->left.lo), PetscAbs(r->left.hi));

  PetscFunctionBegin;
#if defined(PETSCBCR_HAVE_CUDA)
  if (F->device) {
    double largest;

    PetscCall(BCRFitDeviceNull(F, &largest));
    *null = (PetscBool)(largest <= BCR_NULL_TOL);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  PetscCall(
    BCRRowsNull(F->A, F->c, F->op, (PetscBool)(r->left.count > 0 && inside <= BCR_NULL_TOL * r->total.lo), null));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether there may be rows apart */
static PetscBool BCRFitMayBeApart(const BCRFitData *F, const BCRFitResult *r)
{
  const double size = 2 * (r->a[0] + r->a[1] + r->a[2]);

  if (r->total.count == 0 || (r->total.count >= (double)F->n[0] * (double)F->n[1] * (double)F->n[2] &&
                              r->total.lo > 0 && r->total.hi <= 8 * r->total.lo))
    return PETSC_FALSE;
  return (PetscBool)(r->total.lo < size / 8 || r->total.hi > 8 * size);
}

/* The couplings of a row are an eighth of its diagonal or less */
static PetscBool BCRFitDecoupled(const BCRFitData *F, const PetscInt ix[3], double D)
{
  double st[7], rest, own = 0;
  PetscInt col;

  if (BCRRowGet(F->A, F->c, ix, st, &rest, &col) != BCR_ROW_GOOD) return PETSC_FALSE;
  for (int k = 0; k < 6; k++) own += PetscAbs(st[k]);
  return (PetscBool)(own <= 0.125 * PetscAbs(D));
}

/* The diagonal that most rows have, D / w less that of T: the median of some rows of all ranks, of
   those that are coupled if there are any */
static PetscErrorCode BCRFitTypical(BCRFitData *F, const double a[3], double *left)
{
  enum {
    MOST = 255
  };
  const PetscInt own = F->own[0] * F->own[1] * F->own[2], take = PetscMin(own, 4 * MOST);
  const PetscMPIInt size = F->A->grid.size;
  PetscReal *all, mine[2][MOST]; /* of coupled rows, of others */
  PetscInt count[2] = {0, 0};

  PetscFunctionBegin;
  for (int k = 0; k < 2 * MOST; k++) mine[k / MOST][k % MOST] = PETSC_MAX_REAL;
  for (PetscInt k = 0; k < take; k++) {
    const PetscInt at = (PetscInt)((PetscInt64)own * k / take + (PetscInt64)own / take / 2);
    const PetscInt o[3] = {F->lo[0] + at % F->own[0], F->lo[1] + at / F->own[0] % F->own[1],
                           F->lo[2] + at / F->own[0] / F->own[1]};
    const PetscInt ix[3] = {o[0] + F->b[0], o[1] + F->b[1], o[2] + F->b[2]};
    const double D = F->D[BCRFitAt(F, o[0], o)];
    const int kind = BCRFitDecoupled(F, ix, D) ? 1 : 0;

    if (count[kind] < MOST)
      mine[kind][count[kind]++] = (PetscReal)(D / BCRFitRowWeight(F, o) - BCRFitModelDiagonal(F, o, a));
  }
  PetscCall(BCRFaultShare(F->A->comm, PetscMalloc1(MOST * (PetscInt)size, &all), BCR_NO_MEMORY));
  *left = 0;
  for (int kind = 0; kind < 2; kind++) {
    PetscInt n = 0;

    PetscCallMPI(MPI_Allgather(mine[kind], MOST, MPIU_REAL, all, MOST, MPIU_REAL, F->A->comm));
    PetscCall(PetscSortReal(MOST * (PetscInt)size, all));
    while (n < MOST * (PetscInt)size && all[n] < PETSC_MAX_REAL) n++;
    if (n) *left = (double)all[n / 2];
    if (n) break;
  }
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* D / w over the diagonal that most rows have is outside 1/8 .. 8 in a row apart; its couplings are
   an eighth of its diagonal or less, of either sign. *any: there are some, and other rows along
   each axis, too */
static PetscErrorCode BCRFitApart(BCRFitData *F, const double a[3], PetscBool *any)
{
  const BCRRows *A = F->A;
  double typical = 0, least = 0;
  PetscInt ix[3], begin[3], end[3], d;
  int found = 0;

  PetscFunctionBegin;
  PetscCall(BCRFitTypical(F, a, &typical));
  for (d = 0; d < 3; d++) least += 2 * a[d];
  least = 0.25 * PetscMax(least + typical, 0);
  PetscCall(BCRFaultShare(A->comm, PetscCalloc1(PetscMax(F->nodes, 1), &F->apart), BCR_NO_MEMORY));
  BCRFitRows(F, begin, end);
  for (ix[2] = begin[2]; ix[2] < end[2]; ix[2]++) {
    for (ix[1] = begin[1]; ix[1] < end[1]; ix[1]++) {
      for (ix[0] = begin[0]; ix[0] < end[0]; ix[0]++) {
        double ratio;
        PetscInt o[3], q[3], at;
        PetscBool plane = PETSC_FALSE;

        for (d = 0; d < 3; d++) {
          o[d] = ix[d] - F->b[d];
          q[d] = o[d] < 0 ? o[d] + F->n[d] : (o[d] >= F->n[d] ? o[d] - F->n[d] : o[d]);
          plane = (PetscBool)(plane || o[d] < F->so[d] || o[d] >= F->so[d] + F->sn[d]);
        }
        if (plane) continue;
        at = BCRFitAt(F, o[0], o);
        ratio = F->D[at] / BCRFitRowWeight(F, q) / PetscMax(BCRFitModelDiagonal(F, q, a) + typical, least);
        if ((ratio >= 0.125 && ratio <= 8) || !BCRFitDecoupled(F, ix, F->D[at])) continue;
        F->apart[at] = 1;
        found = 1;
      }
    }
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &found, 1, MPI_INT, MPI_MAX, A->comm));
  *any = (PetscBool)found;
  if (!found) PetscCall(PetscFree(F->apart));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows apart are solved by themselves: they are no part of what the box is given, nor of what it returns */
static PetscErrorCode BCRFitSetApart(BCRFitData *F)
{
  const PetscInt *own = F->own;
  PetscInt o[3];

  PetscFunctionBegin;
  if (!F->S) {
    PetscCall(PetscMalloc1(PetscMax(F->nodes, 1), &F->S));
    for (PetscInt i = 0; i < F->nodes; i++) F->S[i] = 1;
  }
  PetscCall(PetscCalloc1(PetscMax(own[0] * own[1] * own[2], 1), &F->op->apart)); /* there on all ranks, or on none */
  for (o[2] = 0; o[2] < own[2]; o[2]++) {
    for (o[1] = 0; o[1] < own[1]; o[1]++) {
      for (o[0] = 0; o[0] < own[0]; o[0]++) {
        const PetscInt q[3] = {F->lo[0] + o[0], F->lo[1] + o[1], F->lo[2] + o[2]}, at = BCRFitAt(F, q[0], q);

        if (!F->apart[at]) continue;
        F->S[at] = PETSC_INFINITY;
        F->op->apart[o[0] + own[0] * (o[1] + own[1] * o[2])] = (PetscReal)(F->sign / F->D[at]);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The axes and the shift of a fit from its means, in units of the matrix, and an estimate of the
   condition number. known: what is left on the diagonal has been found already */
static PetscErrorCode BCRFitTry(BCRFitData *F, PetscBool known, BCRFitResult *r)
{
  static const char xyz[] = "xyz";
  BCROperator *op = F->op;
  double left, far, size, low;
  PetscInt d;
  PetscReal lo;

  PetscFunctionBegin;
  for (d = 0; d < 3; d++) {
    r->a[d] = d < F->dim && F->n[d] > 1 ? r->mean[d] : 0;
    op->axis[d].n = F->n[d];
    op->axis[d].a = (PetscReal)r->a[d];
    PetscCheck(op->axis[d].a >= 0, F->A->comm, PETSC_ERR_SUP,
               "The preconditioning matrix has off-diagonal entries of opposite signs along different axes (mean "
               "coupling along %c %g): it is indefinite or no Poisson operator. Give another preconditioning matrix "
               "(second matrix of KSPSetOperators()), for example the Laplacian alone",
               xyz[d], -r->mean[d] * F->sign);
  }
  if (!known) PetscCall(BCRFitLeft(F, r));
  if (r->total.count == 0) PetscCall(BCRFitTotals(F, r)); /* else they are known of these means already */
  left = BCRFitRangeMean(&r->left);
  far = PetscMax(r->left.hi - left, left - r->left.lo);
  size = left + 2 * (r->a[0] + r->a[1] + r->a[2]);
  PetscCheck(size > 0, F->A->comm, PETSC_ERR_SUP,
             "The preconditioning matrix has off-diagonal entries of the same sign as its diagonal: it is indefinite, "
             "or no Poisson operator. Give another preconditioning matrix (second matrix of KSPSetOperators()), for "
             "example the Laplacian alone");
  op->shift = 0;
  PetscCall(BCROperatorLowestEigenvalue(op, &lo));
  if ((double)lo > 1e-12 * size) {
    if (PetscAbs(left) <= 4 * BCR_SUM_TOL * size) left = 0;
    /* definite, whatever the matrix is, and by more than BCROperatorCheckDefinite() takes for rounding */
    left = PetscMax(left, -PetscMax(0, PetscMin(0.9 * (double)lo, (double)lo - 4 * BCR_SUM_TOL * size)));
  } else {
    /* no end holds the solution fixed: what the matrix has on the constant, all rows taken together */
    left = r->total.excess / r->total.weight;
    if (PetscAbs(left) <= 4 * BCR_SUM_TOL * size) {
      PetscBool null = PETSC_FALSE;

      if (!F->scaled && !F->apart) PetscCall(BCRFitNull(F, r, &null));
      left = null ? 0 : PetscMax(far, 64 * BCR_SUM_TOL * size);
    } else if (left < 0) left = PetscMax(far, -left);
  }
  op->shift = (PetscReal)left;
  r->shift = left;
  /* what A itself is bounded from below by, in the scales of the fit: T and the least of what is
     left on the diagonal. Where T is singular, its next eigenvalue counts. */
  low = (double)lo;
  if (!(low > 1e-12 * size)) {
    low = PETSC_MAX_REAL;
    for (d = 0; d < F->dim; d++)
      if (F->n[d] > 1) {
        const double x = sin((double)PETSC_PI / (F->wrap[d] ? 1 : 2) / (double)F->n[d]);
        low = PetscMin(low, 4 * x * x * r->a[d]);
      }
  }
  if (r->left.lo > 0) low += r->left.lo;
  r->bound = r->spread * (1 + BCRFitRangeDistance(&r->left, BCRFitRangeMean(&r->left)) / low);
  if (low == 0) r->bound = PETSC_INFINITY;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Parts of this rank's nodes, each a thread's: of the slowest axis, where one rank has all and the matrix is large */
static PetscErrorCode BCRFitSplit(BCRFitData *F)
{
  const PetscInt least = 8; /* no part but the first and last has rows that BCRFitRow() counts apart */
  const BCRRows *A = F->A;

  PetscFunctionBegin;
  F->split = F->dim - 1;
  F->parts = 1;
  if (A->grid.size == 1 && F->dim > 1) {
    PetscCall(BCRThreadsNumber(A->near.mat, (size_t)A->ai[A->dof * A->nodes] * sizeof(PetscScalar), &F->parts));
    F->parts = PetscMax(1, PetscMin(F->parts, F->n[F->split] / least));
  }
  PetscCall(PetscCalloc1(F->parts, &F->part));
  for (PetscInt t = 0; t < F->parts; t++) {
    BCRFitPart *p = &F->part[t];

    p->first = (PetscInt)((PetscInt64)F->n[F->split] * t / F->parts);
    p->last = (PetscInt)((PetscInt64)F->n[F->split] * (t + 1) / F->parts);
    PetscCall(PetscMalloc3(F->sn[0] + 1, &p->x, F->sn[0], &p->line, F->sn[0], &p->ghost));
    if (t > 0) PetscCall(PetscMalloc1(F->stride[F->split], &p->below));
    if (t > 0 && t == F->parts - 1) PetscCall(PetscMalloc1(F->stride[F->split], &p->around));
  }
  F->x = F->part[0].x; /* what is not split works with those of the first */
  F->line = F->part[0].line;
  F->ghost = F->part[0].ghost;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the fit works with, on a device with the sums of its first pass */
static PetscErrorCode BCRFitMemory(BCRFitData *F, BCRFitSums *sums)
{
  PetscFunctionBegin;
  (void)sums;
  PetscCall(PetscMalloc2(F->sn[0], &F->ones, F->sn[0], &F->iwx));
#if defined(PETSCBCR_HAVE_CUDA)
  if (F->A->device && !F->host) PetscCall(BCRFitDeviceOpen(F, sums));
#endif
  if (!F->device) {
    PetscCall(BCRRowsFetch(F->A));
    PetscCall(BCRFitSplit(F));
    PetscCall(PetscMalloc1(F->nodes, &F->D));
  }
  for (PetscInt d = 0; d < F->dim; d++) {
    const PetscInt slice = F->n[d] > 1 && F->nodes ? F->nodes / F->sn[d] : 0;

    if (F->n[d] < 2 || F->device) continue;
    PetscCall(PetscMalloc1(F->nodes, &F->C[d]));
    /* beyond the last nodes, where nothing may be written */
    for (PetscInt i = 0; i < slice; i++)
      F->C[d][(F->sn[d] - 1) * F->stride[d] + i % F->stride[d] + i / F->stride[d] * F->stride[d] * F->sn[d]] = 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All of the fit but the planes to drop, the box and the sign, which F has */
static PetscErrorCode BCRFitCompute(BCRFitData *F, BCRFit fit)
{
  const BCRRows *A = F->A;
  BCROperator *op = F->op;
  BCRFitResult average, scaled, *take = &average;
  BCRFitSums sums;
  PetscInt d, s, i;
  double unit = 0;
  PetscBool known = PETSC_TRUE; /* what is left on the diagonals is what the pass over the matrix has summed up */

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&average, sizeof(average)));
  PetscCall(PetscMemzero(&scaled, sizeof(scaled)));
  PetscCall(PetscMemzero(&sums, sizeof(sums)));
  PetscCall(BCRFaultShare(A->comm, BCRFitMemory(F, &sums), BCR_NO_MEMORY));
  for (d = 0; d < F->dim; d++)
    if (F->n[d] == 2) known = PETSC_FALSE;
  PetscCall(BCRFitExtract(F, &sums, &average.left, &average.nearleft));
  BCRFitEnds(F);
  PetscCall(BCRFitEndLinks(F));
  op->scale = 1;
  for (i = 0; i < F->sn[0]; i++) {
    F->ones[i] = 1;
    F->iwx[i] = 1 / BCRFitWeight(F, 0, F->so[0] + i);
  }

  PetscCall(BCRFitMeans(F, NULL, NULL, &average));
  for (d = 0; d < 3; d++) {
    average.a[d] = d < F->dim && F->n[d] > 1 ? average.mean[d] : 0;
    op->axis[d].n = F->n[d];
  }
  PetscCall(BCRFitTotals(F, &average));
  if (BCRFitMayBeApart(F, &average)) {
    PetscBool apart;

    if (F->device) { /* odd matrices are the host's */
      F->host = PETSC_TRUE;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(BCRFitApart(F, average.a, &apart));
    if (apart) {
      PetscCall(PetscMemzero(average.link, sizeof(average.link)));
      PetscCall(PetscMemzero(&average.total, sizeof(average.total)));
      PetscCall(BCRFitMeans(F, NULL, NULL, &average));
      known = PETSC_FALSE;
    }
  }
  if (fit != BCR_FIT_SCALED) PetscCall(BCRFitTry(F, known, &average));
  if (fit == BCR_FIT_SCALED || (fit == BCR_FIT_AUTO && average.spread < PETSC_INFINITY)) {
    BCRFitRange scales;

    PetscCall(PetscMemzero(&scales, sizeof(scales)));
    F->scaled = PETSC_TRUE;
    /* there on all ranks, or on none */
    if (!F->device) PetscCall(BCRFaultShare(A->comm, PetscMalloc1(PetscMax(F->nodes, 1), &F->S), BCR_NO_MEMORY));
    PetscCall(BCRFitMeans(F, average.mean, &scales, &scaled));
    take = &scaled;
    if (PetscMax(PetscAbs(sqrt(scales.lo) - 1), PetscAbs(sqrt(scales.hi) - 1)) <= BCR_SAME_TOL) take = &average;
    else PetscCall(BCRFitTry(F, PETSC_FALSE, &scaled));
    /* Of the spread of couplings half counts (on a logarithmic scale) for what differs from place
       to place, which the scales take away, half for what differs between the axes at one place,
       which they do not. What is left on few diagonals, as along a jump, takes fewer iterations
       than its condition number: hence the 2 (tests/petsc/precond.c, Auto(): stretched axes and
       jumps) */
    average.bound *= PetscSqrtReal(PetscMax(1, (PetscReal)(scales.hi / scales.lo)) / (PetscReal)average.spread);
    scaled.bound /= PetscSqrtReal((PetscReal)scaled.spread);
    if (take == &average || (fit == BCR_FIT_AUTO && !(scaled.bound < 2 * average.bound))) {
      take = &average;
      F->scaled = PETSC_FALSE;
      PetscCall(PetscFree(F->S));
      PetscCall(BCRFitTry(F, (PetscBool)(known || fit != BCR_FIT_SCALED), &average));
    }
  }
  PetscCall(BCRFitDeviation(F, take));
  if (F->apart) PetscCall(BCRFitSetApart(F));

  /* units of the largest coupling; weights; planes */
  for (d = 0; d < 3; d++) unit = PetscMax(unit, (double)op->axis[d].a);
  if (unit == 0) unit = (double)op->shift;
  op->scale = (PetscReal)(F->sign * unit);
  op->shift /= (PetscReal)unit;
  for (d = 0; d < 3; d++) {
    BCRAxis *ax = &op->axis[d];

    ax->a /= (PetscReal)unit;
    if (F->half[d][0] < 1 || F->half[d][1] < 1) {
      PetscCall(PetscMalloc1(ax->n, &ax->weight));
      for (i = 0; i < ax->n; i++) ax->weight[i] = (PetscReal)BCRFitWeight(F, d, i);
    }
    for (s = 0; s < 2; s++) {
      BCRPlane *pl = &ax->plane[s];

      if (!pl->present) continue;
      if (!pl->couple) PetscCall(PetscFree(pl->couplings));
      else
        for (i = 0; i < BCRPlaneNodes(A, d, s); i++) pl->couplings[i] /= (PetscReal)unit;
      pl->coupling = pl->couple ? ax->a : 0;
      for (i = 0; i < BCRPlaneNodes(A, d, s) && pl->inv[i] == pl->inv0; i++) {}
      if (i == BCRPlaneNodes(A, d, s)) PetscCall(PetscFree(pl->inv));
    }
  }
#if defined(PETSCBCR_HAVE_CUDA)
  if (F->device && F->scaled) PetscCall(BCRFitDeviceScales(F));
#endif
  PetscCall(PetscStrncpy(op->fit, F->scaled ? "scaled" : "average", sizeof(op->fit)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sign that makes the couplings of most rows positive; where nothing is coupled, most
   diagonals. Rows are taken here and there over the grid, up to some thousand on a rank; of a
   matrix on a device those that have been brought to the host */
static PetscErrorCode BCRFitSign(BCRFitData *F)
{
  const BCRRows *A = F->A;
  const BCRSample *S = A->device && !A->aa && A->sample.n > 0 ? &A->sample : NULL;
  const PetscInt step = PetscMax(1, A->nodes / 1009);
  int vote[2] = {0, 0};

  PetscFunctionBegin;
  for (PetscInt b = 0; b < (S ? S->n : 1); b++) {
    const PetscInt *n = S ? S->count[b] : A->n, *first = S ? S->first[b] : A->lo;

    for (PetscInt q = 0; q < n[0] * n[1] * n[2]; q += S ? 1 : step) {
      const PetscInt ix[3] = {first[0] + q % n[0], first[1] + q / n[0] % n[1], first[2] + q / n[0] / n[1]};
      double st[7], rest, off = 0;
      PetscInt col;

      if (BCRRowGet(A, F->c, ix, st, &rest, &col) == BCR_ROW_NAN) continue;
      for (int k = 0; k < 6; k++) off -= st[k];
      vote[0] += off > 0 ? 1 : (off < 0 ? -1 : 0);
      vote[1] += st[BCR_CENTRE] > 0 ? 1 : -1;
    }
  }
  if (A->grid.size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, vote, 2, MPI_INT, MPI_SUM, A->comm));
  F->sign = (vote[0] ? vote[0] : vote[1]) < 0 ? -1 : 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFitRead(BCRRows *A, PetscInt c, BCRFit fit, BCROperator *op)
{
  BCRFitData F;
  PetscInt d, s, o[3], box = 1;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&F, sizeof(F)));
  F.A = A;
  F.c = c;
  F.op = op;
  F.dim = A->dim;
  F.nodes = 1;
  op->dim = A->dim;
  for (d = 0; d < 3; d++) {
    BCRAxis *ax = &op->axis[d];

    PetscCall(PetscFree(ax->lower));
    PetscCall(PetscFree(ax->diag));
    PetscCall(PetscFree(ax->upper));
    PetscCall(PetscFree(ax->weight));
    for (s = 0; s < 2; s++) {
      BCRPlane *pl = &ax->plane[s];

      pl->couple = PETSC_FALSE;
      pl->coupling = 0;
      if (!pl->present) continue;
      PetscCall(PetscFree(pl->inv));
      PetscCall(PetscFree(pl->couplings));
      if (!ierr) ierr = PetscMalloc1(BCRPlaneNodes(A, d, s), &pl->inv);
      /* there on all ranks, or on none */
      if (!ierr) ierr = PetscCalloc1(PetscMax(BCRPlaneNodes(A, d, s), 1), &pl->couplings);
    }
    F.b[d] = ax->plane[0].present ? 1 : 0;
    F.n[d] = A->N[d] - F.b[d] - (ax->plane[1].present ? 1 : 0);
    box *= F.n[d];
    /* of the rank's nodes those that are unknowns; then what is stored */
    F.lo[d] = PetscMax(A->lo[d] - F.b[d], 0);
    F.own[d] = PetscMax(0, PetscMin(A->lo[d] + A->n[d] - F.b[d], F.n[d]) - F.lo[d]);
    F.so[d] = 0;
    F.sn[d] = F.n[d];
    if (A->grid.parts[d] > 1) {
      const PetscInt more = 2;
      PetscInt end = A->lo[d] + A->n[d] - F.b[d] + more;

      F.image[d] = (PetscBool)(!ax->plane[0].present && !ax->plane[1].present);
      F.so[d] = A->lo[d] - F.b[d] - more;
      if (!F.image[d]) {
        F.so[d] = PetscMax(F.so[d], 0);
        end = PetscMin(end, F.n[d]);
      }
      F.sn[d] = PetscMax(0, end - F.so[d]);
    }
    if (A->nodes == 0) F.sn[d] = F.own[d] = 0;
    F.stride[d] = F.nodes;
    F.nodes *= F.sn[d];
    F.half[d][0] = F.half[d][1] = F.ratio[d][0] = F.ratio[d][1] = 1;
    ax->n = F.n[d];
  }
  PetscCall(BCRFaultShare(A->comm, ierr, BCR_NO_MEMORY));
  if (box == 0) { /* only planes, whose corners disagree */
    PetscCheck(fit != BCR_FIT_EXACT, A->comm, PETSC_ERR_SUP,
               "The preconditioning matrix holds end rows only, which differ at the corners of the grid: use "
               "-pc_bcrpoisson_fit auto or a finer grid");
    SETERRQ(A->comm, PETSC_ERR_SUP,
            "The preconditioning matrix holds end rows only, which differ at the corners of the grid: use a finer "
            "grid, or another PC");
  }
  PetscCall(BCRFitSign(&F));
  PetscCall(BCRShellOpen(A, 2));
  for (;;) {
    const PetscBool host = F.host;

    ierr = BCRFitCompute(&F, fit);
    for (PetscInt t = 0; t < F.parts && F.part; t++) {
      PetscCall(PetscFree3(F.part[t].x, F.part[t].line, F.part[t].ghost));
      PetscCall(PetscFree(F.part[t].below));
      PetscCall(PetscFree(F.part[t].around));
    }
    PetscCall(PetscFree(F.part));
#if defined(PETSCBCR_HAVE_CUDA)
    if (F.device) PetscCall(BCRFitDeviceClose(&F));
#endif
    PetscCall(PetscFree2(F.ones, F.iwx));
    PetscCall(PetscFree(F.D));
    PetscCall(PetscFree(F.apart));
    for (d = 0; d < 3; d++) PetscCall(PetscFree(F.C[d]));
    if (ierr || F.host == host) break; /* else again, on the host */
  }
  if (F.S && A->grid.size > 1 && !ierr) { /* the scales of this rank's unknowns */
    BCRCallElse(PetscMalloc1(PetscMax(F.own[0] * F.own[1] * F.own[2], 1), &op->rowscale), (void)PetscFree(F.S));
    for (o[2] = 0; o[2] < F.own[2]; o[2]++) {
      for (o[1] = 0; o[1] < F.own[1] && F.own[0] > 0; o[1]++) {
        const PetscInt at[3] = {0, F.lo[1] + o[1], F.lo[2] + o[2]};

        PetscCall(
          PetscArraycpy(op->rowscale + F.own[0] * (o[1] + F.own[1] * o[2]), F.S + BCRFitAt(&F, F.lo[0], at), F.own[0]));
      }
    }
    PetscCall(PetscFree(F.S));
  } else op->rowscale = F.S;
  PetscCall(ierr);
  if (fit == BCR_FIT_EXACT) {
    const PetscInt r = op->devrow, q = op->devcol;

    SETERRQ(A->comm, PETSC_ERR_SUP,
            "The preconditioning matrix is not separable: row %" PetscInt_FMT " (grid point %" PetscInt_FMT
            ",%" PetscInt_FMT ",%" PetscInt_FMT "), column %" PetscInt_FMT
            " is off by %g, relatively, from the mean of the coefficients. Let the operator be approximated with "
            "-pc_bcrpoisson_fit auto, scaled or average, or give a separable preconditioning matrix (second matrix of "
            "KSPSetOperators())",
            c + A->dof * r, r % A->N[0], (r / A->N[0]) % A->N[1], r / (A->N[0] * A->N[1]), c + A->dof * q,
            (double)op->deviation);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
