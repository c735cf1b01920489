/*
  The pass of a fit over the rows of the matrix, on the host.
*/
#include "fithost.h"
#include "fit_kernels.h"
#include "run_kernels.h"
#include "wide.h"

/* The two entries of a link become one */
static inline void BCRFitJoin(double *up, double lo)
{
  if (*up != lo) *up = *up > 0 && lo > 0 ? sqrt(*up) * sqrt(lo) : 0.5 * (*up + lo);
}

/* The row of a node in a dropped plane: 1 over its diagonal, inv */
static void BCRFitRowPlane(BCRFitData *F, const PetscInt ix[3], PetscReal inv)
{
  const BCRRows *A = F->A;

  for (PetscInt d = 0; d < F->dim; d++) {
    for (PetscInt s = 0; s < 2; s++) {
      BCRPlane *pl = &F->op->axis[d].plane[s];

      if (pl->present && ix[d] == (s ? A->N[d] - 1 : 0)) pl->inv[BCRPlaneNode(A, d, ix)] = inv;
    }
  }
}

/* A row at end s of axis d: what couples it to a dropped plane there, or what tells the end type. left: its row sum */
static void BCRFitRowEnd(BCRFitData *F, const PetscInt o[3], PetscInt d, PetscInt s, const double st[7], double left,
                         BCRFitSums *q)
{
  const BCRRows *A = F->A;
  const double beyond = st[2 * d + s];
  BCRPlane *pl = &F->op->axis[d].plane[s];
  PetscInt at[3] = {o[0] + F->b[0], o[1] + F->b[1], o[2] + F->b[2]};
  const PetscBool mine = BCRGridHas(&A->grid, at);

  if (pl->present) {
    at[d] = s ? A->N[d] - 1 : 0;
    if (BCRGridHas(&A->grid, at)) { /* the plane may be on another rank than the row beside it */
      pl->couplings[BCRPlaneNode(A, d, at)] = (PetscReal)beyond;
      if (beyond != 0) q->couple[d][s] = 1;
    }
    F->D[BCRFitAt(F, o[0], o)] -= beyond * (double)pl->slope;
  } else if (mine) {
    /* around the end is the other end's first row, or the plane there, which holds the solution */
    if (F->op->axis[d].plane[1 - s].present) left += beyond;
    else q->wraps[d] += beyond;
    if (BCRFitInside(F, o, d)) { /* a row apart is not what its end is like */
      q->sum[d][s] += PetscMin(left, BCR_FIT_APART * st[2 * d + 1 - s]);
      q->count[d][s]++;
    }
  }
}

/* The links of a row along axis d to the nodes above and below: one number each, in which the entries of both rows are
   joined. mine: the row counts in q */
static void BCRFitRowLinks(BCRFitData *F, const PetscInt o[3], PetscInt d, PetscBool mine, const double st[7],
                           BCRFitSums *q)
{
  const PetscInt n = F->n[d], idx = BCRFitAt(F, o[0], o);
  const double lo = st[2 * d], up = st[2 * d + 1];
  double *C = F->C[d] + idx;

  if (o[d] < n - 1 || F->image[d]) *C = up;
  else if (F->around && d == F->split) F->around[idx % F->stride[d]] = up;
  /* around, if anything: the other entry is there */
  else if (!F->op->axis[d].plane[1].present) BCRFitJoin(C, up);
  if (o[d] == 0 && F->size[d] == n && !F->image[d] && !F->op->axis[d].plane[0].present) C[(n - 1) * F->stride[d]] = lo;
  if (F->below && d == F->split && o[d] == F->lo[d]) F->below[idx % F->stride[d]] = lo;
  else if (o[d] > F->begin[d]) {
    double *below = C - F->stride[d];

    if (o[d] == 1 && mine) {
      q->link[d][0][0] += *below;
      q->link[d][0][1] += lo;
    }
    if (o[d] == 2 && mine) q->link[d][0][2] += lo;
    if (o[d] == n - 2 && mine) q->link[d][1][2] += *below;
    if (o[d] == n - 1 && mine) {
      q->link[d][1][0] += lo;
      q->link[d][1][1] += *below;
    }
    BCRFitJoin(below, lo);
  }
  for (PetscInt k = 0; k < 6 && mine; k++) {
    if (k / 2 == d) continue;
    if (o[d] == 0) q->side[d][0][0] += st[k];
    if (o[d] == 1) q->side[d][0][1] += st[k];
    if (o[d] == n - 1) q->side[d][1][0] += st[k];
    if (o[d] == n - 2) q->side[d][1][1] += st[k];
  }
}

/* Any row of the box or the shell. Rows of the shell fill the arrays and do not count, and what is
   wrong with them their own ranks say. *col: the column at fault in a row that is not good */
static BCRRowState BCRFitRow(BCRFitData *F, const PetscInt ix[3], BCRFitSums *q, PetscInt *col)
{
  double st[7], rest, left;
  PetscInt o[3], d, k;
  PetscBool plane = PETSC_FALSE;
  const PetscBool mine = BCRGridHas(&F->A->grid, ix);
  BCRRowState state = BCRRowGet(F->A, F->c, ix, st, &rest, col);

  for (d = 0; d < 3; d++) {
    o[d] = ix[d] - F->b[d];
    plane = (PetscBool)(plane || o[d] < F->begin[d] || o[d] >= F->begin[d] + F->size[d]);
  }
  if (state != BCR_ROW_GOOD && !(plane && state == BCR_ROW_EMPTY)) return mine ? state : BCR_ROW_GOOD;
  if (plane) {
    if (mine) BCRFitRowPlane(F, ix, BCRPlaneInverse(st));
    return BCR_ROW_GOOD;
  }
  for (k = 0; k < 6; k++) {
    st[k] = st[k] == 0 ? 0 : -F->sign * st[k];
    if (mine) q->total += PetscAbs(st[k]);
  }
  st[BCR_CENTRE] *= F->sign;
  for (k = 0, left = st[BCR_CENTRE]; k < 6; k++) left -= st[k];
  F->D[BCRFitAt(F, o[0], o)] = st[BCR_CENTRE];
  if (mine && BCRFitInside(F, o, -1)) BCRFitRangeAdd(&q->left, 1, &left, 1, o[1] + F->n[1] * o[2]);
  for (d = 0; d < F->dim; d++) {
    for (PetscInt s = 0; s < 2; s++)
      if (o[d] == (s ? F->n[d] - 1 : 0)) BCRFitRowEnd(F, o, d, s, st, left, q);
    if (F->n[d] > 1) BCRFitRowLinks(F, o, d, mine, st, q);
  }
  return BCR_ROW_GOOD;
}

/* The rows of a grid line that are three or more from all ends: a regular pattern, nothing but D
   and C to fill. Returns how many it could do, from ix on: all or none. A line that is odd in any
   way is left to BCRFitRow(). */
static PetscInt BCRFitLine(BCRFitData *F, const PetscInt ix[3], PetscInt count, BCRFitSums *q)
{
  enum {
    MOST = 512
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

  if (A->far.mat &&
      BCRSkipZeros(A->far.a, A->far.i[dof * node], A->far.i[dof * (node + count)]) < A->far.i[dof * (node + count)])
    return 0;
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
#if !defined(PETSC_USE_COMPLEX)
  odd = !BCRNothingAt(v, (size_t)E * (size_t)(count - 1) + (size_t)R, E, nnone, none);
#else
  for (i = 0; i < count && nnone > 0; i++) {
    for (p = 0; p < nnone; p++) odd |= PetscRealPart(v[none[p] + (size_t)E * (size_t)i]) != 0;
  }
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

void BCRFitRows(const BCRFitData *F, PetscInt begin[3], PetscInt end[3])
{
  const BCRRows *A = F->A;

  for (PetscInt d = 0; d < 3; d++) {
    begin[d] = A->lo[d];
    end[d] = A->nodes ? A->lo[d] + A->n[d] : A->lo[d];
    if (F->size[d] == 0 || A->grid.parts[d] == 1) continue;
    begin[d] = PetscMin(begin[d], F->begin[d] + F->b[d]);
    end[d] = PetscMax(end[d], F->begin[d] + F->size[d] + F->b[d]);
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

PetscErrorCode BCRFitHostExtract(BCRFitData *F, BCRFitSums *sums)
{
  const PetscInt plane = F->stride[F->split]; /* nodes between parts */
  double *C = F->C[F->split];
  BCRFault fault = {PETSC_SUCCESS, ""};

  PetscFunctionBegin;
  PetscCall(PetscMemzero(sums, sizeof(*sums)));
  BCRFitRun(F, BCRFitExtractPart);
  for (PetscInt t = 0; t < F->parts; t++) {
    const BCRFitPart *p = &F->part[t];

    if (p->state != BCR_ROW_GOOD) {
      PetscCall(BCRRowFault(F->A, p->state, F->c, p->ix, p->col, &fault));
      break;
    }
    for (PetscInt i = 0; i < plane && p->below; i++) BCRFitJoin(&C[(p->first - 1) * plane + i], p->below[i]);
    for (PetscInt i = 0; i < plane && p->around && !F->op->axis[F->split].plane[1].present; i++)
      BCRFitJoin(&C[(p->last - 1) * plane + i], p->around[i]);
    for (int k = 0; k < BCR_FIT_SUMS; k++) ((double *)sums)[k] += ((const double *)&p->sums)[k];
    BCRFitRangeJoin(&sums->left, &p->sums.left);
  }
  PetscCall(BCRFaultAgree(F->A->comm, &fault));
  PetscFunctionReturn(PETSC_SUCCESS);
}
