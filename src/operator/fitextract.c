/*
  The pass of a fit over the rows of the matrix, on the host.
*/
#include "fithost.h"
#include "fit_kernels.h"
#include "run_kernels.h"

/* The two entries of a link become one */
static inline void BCRFitJoin(double *up, double lo)
{
  if (*up != lo) *up = *up > 0 && lo > 0 ? sqrt(*up) * sqrt(lo) : 0.5 * (*up + lo);
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
  PetscCall(BCRFitRangeAgree(F->A->comm, 1, &q->left));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nodes of the grid whose rows this rank can look at: its own, planes and all, and those of the
   shell that the arrays hold */
void BCRFitRows(const BCRFitData *F, PetscInt begin[3], PetscInt end[3])
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
PetscErrorCode BCRFitExtract(BCRFitData *F, const BCRFitSums *read, BCRFitRange *left, BCRFitRange *near)
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
