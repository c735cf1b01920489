/*
  Matrices that are not separable: a separable operator near them (docs/method.md, section "operator").

  average  the mean coupling of each axis, the mean row sum as shift;
  scaled   A ~ S B S after Concus and Golub (SIAM J. Numer. Anal. 10, 1973): with -div(k grad u) and S = sqrt(k) the couplings of
           S^{-1} A S^{-1} are 1 + O(h^2) and a bounded potential is left on the diagonal, whose mean becomes the shift.

  auto takes the fit for which an estimate of the condition number is smaller: the spread of the couplings times one plus what is left
  on the diagonal over the smallest eigenvalue of the fit. Of what is left the root mean square distance from the mean counts: the
  largest would be a bound, but a potential that is large near an end or a corner only does little harm.
*/
#include "readimpl.h"
#include "run.h"
#include "fitrun.h"

typedef struct {
  const BCRRows *A;
  PetscInt       c, dim, n[3], b[3], stride[3], nodes; /* the box */
  BCROperator   *op;
  double         sign;
  double        *D;           /* diagonal, dropped planes with a slope taken in */
  double        *C[3];        /* coupling of each node to the next along the axis (the first, where the axis is periodic) */
  double        *S;           /* row scales */
  double         half[3][2];  /* weight of the first and last row: 1 or 0.5 */
  double         ratio[3][2]; /* of the two entries of the link at this end, seen from the end */
  double         extra[3][2]; /* row sum at this end over the coupling there */
  PetscBool      wrap[3];
  double        *ones, *iwx, *x, *line, *ghost; /* a grid line each: ones; 1 over the weights along x; three for work */
} BCRFitData;

/* A fit and what it is judged by: couplings divided by weights and scales, what is left on the diagonal inside */
typedef struct {
  BCRFitRange link[3], left;
  double      mean[3], spread, a[3], shift, bound;
} BCRFitResult;

static inline double BCRFitWeight(const BCRFitData *F, PetscInt d, PetscInt i)
{
  return i == 0 ? F->half[d][0] * (F->n[d] == 1 ? F->half[d][1] : 1) : (i == F->n[d] - 1 ? F->half[d][1] : 1);
}

/* Nodes of the box that have a neighbour in it on all sides, of axes long enough to have such nodes; skip: an axis that does not count */
static inline PetscBool BCRFitInside(const BCRFitData *F, const PetscInt ix[3], PetscInt skip)
{
  PetscInt d;

  for (d = 0; d < F->dim; d++)
    if (d != skip && F->n[d] > 2 && !F->wrap[d] && (ix[d] == 0 || ix[d] == F->n[d] - 1)) return PETSC_FALSE;
  return PETSC_TRUE;
}

/* What is summed up in the pass over the matrix: the links at the ends (the entry in the end row, that in the row beside it, the next
   link), couplings along the end and one row further in, row sums at the ends and inside */
typedef struct {
  double      link[3][2][3], side[3][2][2], sum[3][2], wraps[3], total;
  PetscInt    count[3][2];
  BCRFitRange left;
} BCRFitSums;

static void BCRFitRangeAdd(BCRFitRange *r, PetscInt n, const double *x, double f, PetscInt row)
{
  BCRFitLineRange l;

  if (n < 1) return;
  if (r->count == 0) {
    r->lo  = PETSC_INFINITY;
    r->hi  = -PETSC_INFINITY;
    r->ref = x[0] * f;
  }
  l = BCRFitRangeLine(n, x, r->ref / f);
  if (l.lo * f < r->lo) {
    r->lo    = l.lo * f;
    r->lorow = row;
  }
  if (l.hi * f > r->hi) {
    r->hi    = l.hi * f;
    r->hirow = row;
  }
  r->sum += l.sum * f;
  r->square += l.square * f * f;
  r->count += (double)n;
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

/* Any row */
static PetscErrorCode BCRFitRow(BCRFitData *F, const PetscInt ix[3], BCRFitSums *q)
{
  const BCRRows *A = F->A;
  double         st[7], rest, left;
  PetscInt       o[3], d, s, k, col, idx;
  PetscBool      plane = PETSC_FALSE;
  BCRRowState    state = BCRRowGet(A, F->c, ix, st, &rest, &col);

  PetscFunctionBegin;
  if (state != BCR_ROW_GOOD) PetscCall(BCRRowError(A, state, F->c, ix, col));
  for (d = 0; d < 3; d++) {
    o[d]  = ix[d] - F->b[d];
    plane = (PetscBool)(plane || o[d] < 0 || o[d] >= F->n[d]);
  }
  if (plane) {
    for (d = 0; d < F->dim; d++) {
      for (s = 0; s < 2; s++) {
        BCRPlane *pl = &F->op->axis[d].plane[s];

        if (pl->present && ix[d] == (s ? A->N[d] - 1 : 0)) pl->inv[BCRPlaneNode(A->N, d, ix)] = (PetscReal)(1.0 / st[BCR_CENTRE]);
      }
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  idx = o[0] + F->stride[1] * o[1] + F->stride[2] * o[2];
  for (k = 0; k < 6; k++) {
    st[k] = st[k] == 0 ? 0 : -F->sign * st[k];
    q->total += PetscAbs(st[k]);
  }
  st[BCR_CENTRE] *= F->sign;
  for (k = 0, left = st[BCR_CENTRE]; k < 6; k++) left -= st[k];
  F->D[idx] = st[BCR_CENTRE];
  if (BCRFitInside(F, o, -1)) BCRFitRangeAdd(&q->left, 1, &left, 1, o[1] + F->n[1] * o[2]);
  for (d = 0; d < F->dim; d++) {
    const PetscInt n = F->n[d];

    for (s = 0; s < 2; s++) {
      BCRPlane *pl = &F->op->axis[d].plane[s];

      if (o[d] != (s ? n - 1 : 0)) continue;
      if (pl->present) {
        PetscInt at[3];

        for (k = 0; k < 3; k++) at[k] = ix[k];
        at[d] = s ? A->N[d] - 1 : 0;

        pl->couplings[BCRPlaneNode(A->N, d, at)] = (PetscReal)st[2 * d + s];
        if (st[2 * d + s] != 0) pl->couple = PETSC_TRUE;
        F->D[idx] -= st[2 * d + s] * (double)pl->slope;
      } else {
        q->wraps[d] += st[2 * d + s];
        if (BCRFitInside(F, o, d)) {
          q->sum[d][s] += left;
          q->count[d][s]++;
        }
      }
    }
    if (n < 2) continue;
    if (o[d] < n - 1) F->C[d][idx] = st[2 * d + 1];
    else if (!F->op->axis[d].plane[1].present) BCRFitJoin(&F->C[d][idx], st[2 * d + 1]); /* around, if anything: the other entry is there */
    if (o[d] == 0 && !F->op->axis[d].plane[0].present) F->C[d][idx + (n - 1) * F->stride[d]] = st[2 * d];
    if (o[d] > 0) {
      double      *up = &F->C[d][idx - F->stride[d]];
      const double lo = st[2 * d];

      if (o[d] == 1) {
        q->link[d][0][0] += *up;
        q->link[d][0][1] += lo;
      }
      if (o[d] == 2) q->link[d][0][2] += lo;
      if (o[d] == n - 2) q->link[d][1][2] += *up;
      if (o[d] == n - 1) {
        q->link[d][1][0] += lo;
        q->link[d][1][1] += *up;
      }
      BCRFitJoin(up, lo);
    }
    for (k = 0; k < 6; k++) {
      if (k / 2 == d) continue;
      if (o[d] == 0) q->side[d][0][0] += st[k];
      if (o[d] == 1) q->side[d][0][1] += st[k];
      if (o[d] == n - 1) q->side[d][1][0] += st[k];
      if (o[d] == n - 2) q->side[d][1][1] += st[k];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of a grid line that are three or more from all ends: a regular pattern, nothing but D and C to fill. *done: how many it could
   do, from ix on: all or none. A line that is odd in any way is left to BCRFitRow(). */
static PetscErrorCode BCRFitLine(BCRFitData *F, const PetscInt ix[3], PetscInt count, BCRFitSums *q, PetscInt *done)
{
  enum {
    MOST = 256
  };
  const BCRRows     *A   = F->A;
  const PetscInt     dof = A->dof, node = ix[0] + A->stride[1] * ix[1] + A->stride[2] * ix[2], row = F->c + dof * node, first = A->ai[row], R = A->ai[row + 1] - first, E = A->ai[row + dof] - first;
  const PetscScalar *v = A->aa + first;
  const PetscInt     o = ix[1] - F->b[1] + F->n[1] * (ix[2] - F->b[2]), box = ix[0] - F->b[0] + F->n[0] * o;
  double            *C[3]  = {NULL, NULL, NULL};
  PetscInt           at[7] = {-1, -1, -1, -1, -1, -1, -1}, none[MOST], nnone = 0, p, i, d;
  int                axis[3] = {0, 0, 0}, axes = 0, wrong, odd = 0;

  PetscFunctionBegin;
  *done = 0;
  if (R > MOST || A->ai[row + dof * count] - first != E * count) PetscFunctionReturn(PETSC_SUCCESS);
  if (!BCRRunColumns(A->ai + dof * node, (size_t)(dof * count + 1), (size_t)dof, E) || !BCRRunColumns(A->aj + A->ai[dof * node], (size_t)(E * count), (size_t)E, dof)) PetscFunctionReturn(PETSC_SUCCESS);
  for (p = 0; p < R; p++) {
    const PetscInt j = A->aj[first + p];
    const int      k = dof == 1 ? BCRSlot(A, ix, j - node) : (j % dof == F->c ? BCRSlot(A, ix, j / dof - node) : -1);

    if (k >= 0 && at[k] < 0) at[k] = p;
    else none[nnone++] = p;
  }
  for (d = 0; d < F->dim; d++) {
    if (F->n[d] < 2) continue;
    if (at[2 * d] < 0 || at[2 * d + 1] < 0) PetscFunctionReturn(PETSC_SUCCESS);
    C[d]         = F->C[d] + box;
    axis[axes++] = (int)d;
  }
  if (at[BCR_CENTRE] < 0 || axes == 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (i = 0; i < count && nnone > 0; i++) {
    for (p = 0; p < nnone; p++) odd |= PetscRealPart(v[none[p] + E * i]) != 0;
  }
#if defined(PETSC_USE_COMPLEX)
  for (i = 0; i < count; i++) {
    for (p = 0; p < R; p++) odd |= PetscImaginaryPart(v[p + E * i]) != 0;
  }
#endif
  if (odd) PetscFunctionReturn(PETSC_SUCCESS);
  if (E == 5 && R == 5 && axes == 2 && axis[1] == 1 && at[2] == 0 && at[0] == 1 && at[BCR_CENTRE] == 2 && at[1] == 3) wrong = BCRFitTake5Line(count, v, F->sign, F->D + box, C, F->stride, F->line);
  else if (E == 7 && R == 7 && axes == 3 && at[4] == 0 && at[2] == 1 && at[0] == 2 && at[BCR_CENTRE] == 3 && at[1] == 4 && at[3] == 5) wrong = BCRFitTake7Line(count, v, F->sign, F->D + box, C, F->stride, F->line);
  else wrong = BCRFitTakeLine(count, v, E, at, axes, axis, F->sign, F->D + box, C, F->stride, F->line);
  if (wrong & 8) PetscFunctionReturn(PETSC_SUCCESS);
  for (d = 0; d < axes; d++) {
    double *up = C[axis[d]] - F->stride[axis[d]];

    for (i = 0; i < count && wrong & 1 << d; i++) BCRFitJoin(&up[i], -F->sign * (double)PetscRealPart(v[at[2 * axis[d]] + E * i]));
    for (i = 0; i < count && q->total == 0; i++) q->total += PetscAbs(C[axis[d]][i]);
  }
  BCRFitRangeAdd(&q->left, count, F->line, 1, o);
  *done = count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One pass over the matrix: D, C, the planes' diagonals and couplings, and what tells the ends apart */
static PetscErrorCode BCRFitExtract(BCRFitData *F, BCRFitRange *left)
{
  const BCRRows *A = F->A;
  BCRFitSums     q;
  PetscInt       ix[3], d, s;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&q, sizeof(q)));
  for (ix[2] = 0; ix[2] < A->N[2]; ix[2]++) {
    for (ix[1] = 0; ix[1] < A->N[1]; ix[1]++) {
      PetscBool inside = (PetscBool)(F->n[0] > 20);

      for (d = 1; d < F->dim; d++) inside = (PetscBool)(inside && ix[d] - F->b[d] > 2 && ix[d] - F->b[d] < F->n[d] - 3);
      for (ix[0] = 0; ix[0] < A->N[0]; ix[0]++) {
        const PetscInt o = ix[0] - F->b[0], count = F->n[0] - 3 - o;

        if (inside && o > 2 && count > 8) {
          PetscInt done;

          PetscCall(BCRFitLine(F, ix, count, &q, &done));
          ix[0] += done;
          if (done < count) inside = PETSC_FALSE;
        }
        PetscCall(BCRFitRow(F, ix, &q));
      }
    }
  }
  PetscCheck(q.total != 0, PETSC_COMM_SELF, PETSC_ERR_SUP, "The preconditioning matrix is a diagonal that varies over the grid: nothing in it is a Poisson operator. Use -pc_type jacobi");
  for (d = 0; d < F->dim; d++) {
    F->wrap[d] = (PetscBool)(F->n[d] > 2 && q.wraps[d] > 0);
    for (s = 0; s < 2; s++) {
      const double *l = q.link[d][s], beyond = l[2] > 0 ? l[1] * PetscMin(4.0, PetscMax(0.25, l[1] / l[2])) : l[1]; /* the coupling beyond the end, in proportion */
      PetscInt      t, rows                  = 1;

      for (t = 0; t < 3; t++) rows *= t == d ? 1 : F->n[t];
      F->ratio[d][s] = l[1] > 0 ? l[0] / l[1] : 1;
      if (q.count[d][s] && beyond > 0) F->extra[d][s] = (q.sum[d][s] - (q.left.count > 0 && F->n[d] > 2 ? (double)q.count[d][s] * BCRFitRangeMean(&q.left) : 0)) / beyond * (double)rows / (double)q.count[d][s];
      /* half rows: couplings along the end are half of what those across it lead one to expect */
      F->half[d][s] = 1;
      if (F->n[d] > 3 && !F->wrap[d] && !F->op->axis[d].plane[s].present && F->ratio[d][s] < 1.5 && PetscAbs(F->extra[d][s]) < 0.25 && q.side[d][s][1] > 0 && l[1] > 0 && l[2] > 0 && (q.side[d][s][0] / l[1]) / (q.side[d][s][1] / l[2]) < 0.68)
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
      else if (ax->plane[s].present && ax->plane[s].couple) ax->end[s] = PetscAbsReal(ax->plane[s].slope) < 0.5 ? BCR_END_DIRICHLET : (ax->plane[s].slope > 0 ? BCR_END_CELL_NEUMANN : BCR_END_CELL_DIRICHLET);
      else if (ax->plane[s].present) ax->end[s] = BCR_END_DIRICHLET;
      else if ((F->ratio[d][s] > 1.5 && F->ratio[d][s] < 2.7) || F->half[d][s] < 1) ax->end[s] = BCR_END_NEUMANN;
      else if (F->extra[d][s] > 1.5) ax->end[s] = BCR_END_CELL_DIRICHLET;
      else if (F->extra[d][s] > 0.25) ax->end[s] = BCR_END_DIRICHLET;
    }
  }
}

/* With an unsymmetric Neumann end the link was the mean of a and 2a */
static void BCRFitEndLinks(BCRFitData *F)
{
  PetscInt d, s, i, j, u, v;

  for (d = 0; d < F->dim; d++) {
    u = d == 0 ? 1 : 0;
    v = d == 2 ? 1 : 2;
    for (s = 0; s < 2; s++) {
      if (F->op->axis[d].end[s] != BCR_END_NEUMANN || F->half[d][s] < 1 || F->n[d] < 2) continue;
      for (j = 0; j < F->n[v]; j++)
        for (i = 0; i < F->n[u]; i++) F->C[d][(s ? F->n[d] - 2 : 0) * F->stride[d] + i * F->stride[u] + j * F->stride[v]] /= sqrt(2.0);
    }
  }
}

/* Diagonal of T at node i of axis d without the shift */
static inline double BCRFitDiagonal(const BCRFitData *F, PetscInt d, PetscInt i, const double a[3])
{
  const BCRAxis *ax = &F->op->axis[d];
  double         t  = 2 * a[d];
  PetscInt       s;

  if (ax->n < 2) return 0;
  for (s = 0; s < 2; s++) {
    if (i != (s ? ax->n - 1 : 0)) continue;
    if (ax->end[s] == BCR_END_CELL_NEUMANN) t -= a[d];
    if (ax->end[s] == BCR_END_CELL_DIRICHLET) t += a[d];
  }
  return t;
}

/* Couplings below and above each node of a grid line along axis d. Those beyond the ends: around them if the axis is periodic, the only
   one there is of two nodes, else in proportion to the next two */
static void BCRFitBeside(const BCRFitData *F, const PetscInt o[3], PetscInt d, const double **below, const double **above)
{
  const PetscInt n = F->n[d], st = F->stride[d], row = F->stride[1] * o[1] + F->stride[2] * o[2];
  const double  *C = F->C[d] + row;
  PetscInt       i, s;

  if (d == 0) {
    for (i = 0; i + 1 < n; i++) F->x[i + 1] = C[i];
    for (s = 0; s < 2; s++) {
      const double c = C[s ? n - 2 : 0], next = n > 2 ? C[s ? n - 3 : 1] : c;

      if (n == 2) F->x[s ? n : 0] = c;
      else if (F->wrap[d]) F->x[s ? n : 0] = C[n - 1];
      else F->x[s ? n : 0] = c * PetscMin(4.0, PetscMax(0.25, next > 0 ? c / next : 1.0));
    }
    *below = F->x;
    *above = F->x + 1;
    return;
  }
  *below = C - (o[d] ? st : 0);
  *above = C;
  if (n == 2) {
    *below = *above = C - o[d] * st;
    return;
  }
  for (s = 0; s < 2; s++) {
    if (o[d] != (s ? n - 1 : 0)) continue;
    if (F->wrap[d]) {
      if (!s) *below = C + (n - 1) * st;
    } else {
      const double *c = s ? C - st : C, *next = s ? C - 2 * st : C + st;

      for (i = 0; i < F->n[0]; i++) F->ghost[i] = c[i] * PetscMin(4.0, PetscMax(0.25, next[i] > 0 ? c[i] / next[i] : 1.0));
      if (s) *above = F->ghost;
      else *below = F->ghost;
    }
  }
}

/* s^2: along each axis the geometric mean of the two couplings beside the node over the mean of the axis; then the mean over the axes */
static void BCRFitScales(const BCRFitData *F, const PetscInt o[3], const double mean[3], PetscReal *S, BCRFitRange *range)
{
  const double smallest = 1e-4;
  PetscInt     d, i, axes = 0;

  for (i = 0; i < F->n[0]; i++) F->line[i] = 0;
  for (d = 0; d < F->dim; d++) {
    const PetscInt u = d == 0 ? 1 : 0, v = d == 2 ? 1 : 2;
    const double  *below, *above;

    if (F->n[d] < 2 || mean[d] <= 0) continue;
    axes++;
    BCRFitBeside(F, o, d, &below, &above);
    BCRFitScaleLine(F->n[0], below, above, 1 / (mean[d] * (u ? BCRFitWeight(F, u, o[u]) : 1) * BCRFitWeight(F, v, o[v])), u ? F->ones : F->iwx, smallest, F->line);
  }
  for (i = 0; i < F->n[0] && axes == 0; i++) F->line[i] = 1;
  axes = PetscMax(axes, 1);
  BCRFitRangeAdd(range, F->n[0], F->line, 1.0 / (double)axes, 0);
  BCRFitRootLine(F->n[0], F->line, 1.0 / (double)axes, S);
}

/* Couplings that end at the nodes of a grid line as the fit sees them, c / (s s w), into q: those along axis d from below, or (around) from
   the last nodes of a periodic axis to the first. Returns how many */
static PetscInt BCRFitLinks(const BCRFitData *F, const PetscInt o[3], PetscInt d, PetscBool around, double *q)
{
  const PetscInt u = d == 0 ? 1 : 0, v = d == 2 ? 1 : 2, n = F->n[d], st = F->stride[d], row = F->stride[1] * o[1] + F->stride[2] * o[2];
  const PetscInt count = d ? F->n[0] : (around ? 1 : n - 1), from = around ? row + (n - 1) * (d ? 0 : st) : (d ? row - st : row), to = around ? from - (n - 1) * st : from + st;
  const double   f  = 1 / ((u ? BCRFitWeight(F, u, o[u]) : 1) * BCRFitWeight(F, v, o[v]));
  const double  *iw = u ? F->ones : F->iwx;
  PetscInt       i;

  if (n < 2 || (around ? !F->wrap[d] || (d && o[d] < n - 1) : d && o[d] == 0)) return 0;
  if (F->S) BCRFitQuotientLine(count, F->C[d] + from, f, iw, F->S + from, F->S + to, q);
  else
    for (i = 0; i < count; i++) q[i] = F->C[d][from + i] * f * iw[i];
  return count;
}

/* What is left on the diagonals of a grid line in the end, D / (s^2 w) - T */
static void BCRFitRest(const BCRFitData *F, const PetscInt o[3], const double a[3], double *t, double *p)
{
  const PetscInt row = F->stride[1] * o[1] + F->stride[2] * o[2];
  const double   tyz = BCRFitDiagonal(F, 1, o[1], a) + BCRFitDiagonal(F, 2, o[2], a), w = BCRFitWeight(F, 1, o[1]) * BCRFitWeight(F, 2, o[2]);
  PetscInt       i;

  for (i = 0; i < F->n[0]; i++) t[i] = BCRFitDiagonal(F, 0, i, a) + tyz;
  if (F->S && w == 1 && F->iwx[0] == 1 && F->iwx[F->n[0] - 1] == 1) BCRFitRestLine(F->n[0], F->D + row, F->S + row, t, p);
  else
    for (i = 0; i < F->n[0]; i++) p[i] = F->D[row + i] * F->iwx[i] / (w * (F->S ? (double)F->S[row + i] * (double)F->S[row + i] : 1)) - t[i];
}

/* Row scales (with mean), then the couplings: mean along each axis, and the largest quotient over all links after division by that mean */
static void BCRFitMeans(BCRFitData *F, const double mean[3], BCRFitRange *scales, BCRFitResult *r)
{
  PetscInt o[3] = {0, 0, 0}, d;
  double   l = PETSC_MAX_REAL, h = 0;

  for (o[2] = 0; o[2] < F->n[2]; o[2]++) {
    for (o[1] = 0; o[1] < F->n[1]; o[1]++) {
      const PetscInt row = o[1] + F->n[1] * o[2];

      if (F->S) BCRFitScales(F, o, mean, F->S + F->n[0] * row, scales);
      for (d = 0; d < F->dim; d++) {
        const PetscBool plain = (PetscBool)(!F->S && d == 0);

        if (plain && F->n[0] > 1) BCRFitRangeAdd(&r->link[d], F->n[0] - 1, F->C[d] + F->n[0] * row, 1 / (BCRFitWeight(F, 1, o[1]) * BCRFitWeight(F, 2, o[2])), row);
        else if (!plain) BCRFitRangeAdd(&r->link[d], BCRFitLinks(F, o, d, PETSC_FALSE, F->line), F->line, 1, row);
        if (F->wrap[d]) BCRFitRangeAdd(&r->link[d], BCRFitLinks(F, o, d, PETSC_TRUE, F->line), F->line, 1, row);
      }
    }
  }
  r->spread = 1;
  for (d = 0; d < 3; d++) {
    r->mean[d] = BCRFitRangeMean(&r->link[d]);
    if (d >= F->dim || F->n[d] < 2 || r->mean[d] == 0) continue;
    l = PetscMin(l, r->link[d].lo / r->mean[d]);
    h = PetscMax(h, r->link[d].hi / r->mean[d]);
  }
  if (h > 0) r->spread = l > 0 ? h / l : PETSC_INFINITY;
}

/* What is left over the inside of the box, where all weights are one: D / s^2 - T, or without scales the row sum */
static void BCRFitLeft(BCRFitData *F, BCRFitResult *r)
{
  PetscInt       o[3] = {0, 0, 0}, d, i;
  const PetscInt cut  = F->n[0] > 2 && !F->wrap[0] ? 1 : 0;

  memset(&r->left, 0, sizeof(r->left));
  for (o[2] = 0; o[2] < F->n[2]; o[2]++) {
    for (o[1] = 0; o[1] < F->n[1]; o[1]++) {
      if (!BCRFitInside(F, o, 0)) continue;
      BCRFitRest(F, o, r->a, F->x, F->line);
      for (d = 0; d < F->dim && !F->S; d++) { /* the two couplings of each axis in place of T's; of two nodes, the one there is */
        const double *below, *above, two = F->n[d] > 2 ? 1 : 0;

        if (F->n[d] < 2) continue;
        BCRFitBeside(F, o, d, &below, &above);
        for (i = 0; i < F->n[0]; i++) F->line[i] += r->a[d] - below[i] + two * (r->a[d] - above[i]);
      }
      BCRFitRangeAdd(&r->left, F->n[0] - 2 * cut, F->line + cut, 1, o[1] + F->n[1] * o[2]);
    }
  }
}

/* The largest relative deviation of the matrix from the fit, and where: the extremes that have been met, and the diagonals at the ends */
static void BCRFitDeviation(BCRFitData *F, const BCRFitResult *r)
{
  const BCRRows *A    = F->A;
  BCROperator   *op   = F->op;
  PetscInt       o[3] = {0, 0, 0}, d, i, k, m, two = 0;
  const PetscInt cut   = F->n[0] > 2 && !F->wrap[0] ? 1 : 0;
  double         worst = 0;
  BCRFitRange    left  = r->left;

#define NODE(i) ((i) + F->b[0] + A->stride[1] * (o[1] + F->b[1]) + A->stride[2] * (o[2] + F->b[2]))
  op->devrow = op->devcol = 0;
  for (d = 0; d < F->dim; d++) {
    if (F->n[d] == 2) two = 1;
    if (F->n[d] < 2 || r->a[d] == 0) continue;
    for (k = 0; k < 2; k++) {
      const PetscInt row = k ? r->link[d].hirow : r->link[d].lorow;

      if (PetscAbs((k ? r->link[d].hi : r->link[d].lo) / r->a[d] - 1) <= worst) continue;
      o[1] = row % F->n[1];
      o[2] = row / F->n[1];
      for (m = 0; m < 2; m++) {
        const PetscInt n = BCRFitLinks(F, o, d, (PetscBool)(m == 1), F->line), last = (F->n[d] - 1) * A->stride[d];

        for (i = 0; i < n; i++) {
          const double dev = PetscAbs(F->line[i] / r->a[d] - 1);

          if (dev <= worst) continue;
          worst      = dev;
          op->devrow = NODE(d == 0 && m ? F->n[0] - 1 : i) - (d && !m ? A->stride[d] : 0);
          op->devcol = op->devrow + (m ? -last : A->stride[d]);
        }
      }
    }
  }
  if (!F->S) { /* without scales that was row sums */
    memset(&left, 0, sizeof(left));
    for (o[2] = 0; o[2] < F->n[2]; o[2]++)
      for (o[1] = 0; o[1] < F->n[1]; o[1]++)
        if (BCRFitInside(F, o, 0)) BCRFitRangeAdd(&left, F->n[0] - 2 * cut, F->D + cut + F->n[0] * (o[1] + F->n[1] * o[2]), 1, o[1] + F->n[1] * o[2]);
  }
  for (o[2] = 0; o[2] < F->n[2]; o[2]++) {
    for (o[1] = 0; o[1] < F->n[1]; o[1]++) {
      const PetscInt  row = o[1] + F->n[1] * o[2];
      const PetscBool all = (PetscBool)(two || row == left.lorow || row == left.hirow || !BCRFitInside(F, o, 0));

      if (!all && (F->n[0] < 2 || F->wrap[0])) continue;
      if (all) BCRFitRest(F, o, r->a, F->x, F->line);
      for (i = 0; i < F->n[0]; i += all ? 1 : F->n[0] - 1) {
        double dev, t;

        if (!all) { /* one node only */
          const PetscInt at = F->n[0] * row + i;

          F->x[i]    = BCRFitDiagonal(F, 0, i, r->a) + BCRFitDiagonal(F, 1, o[1], r->a) + BCRFitDiagonal(F, 2, o[2], r->a);
          F->line[i] = F->D[at] * F->iwx[i] / (F->S ? (double)F->S[at] * (double)F->S[at] : 1) - F->x[i];
        }
        t   = PetscAbs(F->x[i] + r->shift);
        dev = PetscAbs(F->line[i] - r->shift) / t;
        if (dev <= worst) continue;
        worst      = dev;
        op->devrow = op->devcol = NODE(i);
      }
    }
  }
#undef NODE
  op->deviation = (PetscReal)worst;
}

/* The axes and the shift of a fit from its means, in units of the matrix, and an estimate of the condition number. known: what is left on
   the diagonal has been found already */
static PetscErrorCode BCRFitTry(BCRFitData *F, PetscBool known, BCRFitResult *r)
{
  static const char xyz[] = "xyz";
  BCROperator      *op    = F->op;
  double            left, far, size, largest, low;
  PetscInt          d;
  PetscReal         lo;

  PetscFunctionBegin;
  for (d = 0; d < 3; d++) {
    r->a[d]       = d < F->dim && F->n[d] > 1 ? r->mean[d] : 0;
    op->axis[d].n = F->n[d];
    op->axis[d].a = (PetscReal)r->a[d];
    PetscCheck(
      op->axis[d].a >= 0, PETSC_COMM_SELF, PETSC_ERR_SUP,
      "The preconditioning matrix has off-diagonal entries of opposite signs along different axes (mean coupling along %c %g): it is indefinite or no Poisson operator. Give another preconditioning matrix (second matrix of KSPSetOperators()), for example the Laplacian alone",
      xyz[d], -r->mean[d] * F->sign);
  }
  if (!known) BCRFitLeft(F, r);
  left    = BCRFitRangeMean(&r->left);
  far     = PetscMax(r->left.hi - left, left - r->left.lo);
  largest = PetscMax(PetscAbs(r->left.hi), PetscAbs(r->left.lo));
  size    = left + 2 * (r->a[0] + r->a[1] + r->a[2]);
  PetscCheck(size > 0, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "The preconditioning matrix has off-diagonal entries of the same sign as its diagonal: it is indefinite, or no Poisson operator. Give another preconditioning matrix (second matrix of KSPSetOperators()), for example the Laplacian alone");
  op->shift = 0;
  PetscCall(BCROperatorLowestEigenvalue(op, &lo));
  if (PetscAbs(left) <= 4 * BCR_SUM_TOL * size) left = 0;
  if ((double)lo > 1e-12 * size) left = PetscMax(left, -0.9 * (double)lo); /* definite, whatever the matrix is */
  else if (left < 0 || (left == 0 && largest > 64 * BCR_SUM_TOL * size)) left = PetscMax(far, -left);
  op->shift = (PetscReal)left;
  r->shift  = left;
  /* what A itself is bounded from below by, in the scales of the fit: T and the least of what is left on the diagonal. Where T is
     singular, its next eigenvalue counts. */
  low = (double)lo;
  if (!(low > 1e-12 * size)) {
    low = PETSC_MAX_REAL;
    for (d = 0; d < F->dim; d++)
      if (F->n[d] > 1) {
        const double x = sin((double)PETSC_PI / (F->wrap[d] ? 1 : 2) / (double)F->n[d]);
        low            = PetscMin(low, 4 * x * x * r->a[d]);
      }
  }
  if (r->left.lo > 0) low += r->left.lo;
  r->bound = r->spread * (1 + BCRFitRangeDistance(&r->left, BCRFitRangeMean(&r->left)) / PetscMax(low, 1e-300));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All of the fit but the planes to drop, the box and the sign, which F has */
static PetscErrorCode BCRFitCompute(BCRFitData *F, BCRFit fit)
{
  const BCRRows *A  = F->A;
  BCROperator   *op = F->op;
  BCRFitResult   average, scaled, *take = &average;
  PetscInt       d, s, i;
  double         unit = 0;
  PetscBool      two  = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&average, sizeof(average)));
  PetscCall(PetscMemzero(&scaled, sizeof(scaled)));
  PetscCall(PetscMalloc5(F->n[0], &F->ones, F->n[0], &F->iwx, F->n[0] + 1, &F->x, F->n[0], &F->line, F->n[0], &F->ghost));
  PetscCall(PetscMalloc1(F->nodes, &F->D));
  for (d = 0; d < F->dim; d++) {
    const PetscInt slice = F->n[d] > 1 ? F->nodes / F->n[d] : 0;

    if (F->n[d] == 2) two = PETSC_TRUE;
    if (F->n[d] < 2) continue;
    PetscCall(PetscMalloc1(F->nodes, &F->C[d]));
    /* beyond the last nodes, where nothing may be written */
    for (i = 0; i < slice; i++) F->C[d][(F->n[d] - 1) * F->stride[d] + i % F->stride[d] + i / F->stride[d] * F->stride[d] * F->n[d]] = 0;
  }
  PetscCall(BCRFitExtract(F, &average.left));
  BCRFitEnds(F);
  BCRFitEndLinks(F);
  op->scale = 1;
  for (i = 0; i < F->n[0]; i++) {
    F->ones[i] = 1;
    F->iwx[i]  = 1 / BCRFitWeight(F, 0, i);
  }

  BCRFitMeans(F, NULL, NULL, &average);
  if (fit != BCR_FIT_SCALED) PetscCall(BCRFitTry(F, (PetscBool)!two, &average));
  if (fit == BCR_FIT_SCALED || (fit == BCR_FIT_AUTO && average.spread < PETSC_INFINITY)) {
    BCRFitRange scales;

    PetscCall(PetscMemzero(&scales, sizeof(scales)));
    PetscCall(PetscMalloc1(F->nodes, &F->S));
    BCRFitMeans(F, average.mean, &scales, &scaled);
    take = &scaled;
    if (PetscMax(PetscAbs(sqrt(scales.lo) - 1), PetscAbs(sqrt(scales.hi) - 1)) <= BCR_SAME_TOL) take = &average;
    else PetscCall(BCRFitTry(F, PETSC_FALSE, &scaled));
    if (take == &average || (fit == BCR_FIT_AUTO && scaled.bound >= average.bound)) {
      take = &average;
      PetscCall(PetscFree(F->S));
      PetscCall(BCRFitTry(F, (PetscBool)(!two || fit != BCR_FIT_SCALED), &average));
    }
  }
  BCRFitDeviation(F, take);

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
        for (i = 0; i < A->nodes / A->N[d]; i++) pl->couplings[i] /= (PetscReal)unit;
      pl->coupling = pl->couple ? ax->a : 0;
      for (i = 1; i < A->nodes / A->N[d] && pl->inv[i] == pl->inv[0]; i++) {}
      if (i == A->nodes / A->N[d]) {
        pl->inv0 = pl->inv[0];
        PetscCall(PetscFree(pl->inv));
      }
    }
  }
  PetscCall(PetscStrncpy(op->fit, F->S ? "scaled" : "average", sizeof(op->fit)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFitRead(const BCRRows *A, PetscInt c, BCRFit fit, BCROperator *op)
{
  BCRFitData     F;
  PetscInt       d, s, i, ix[3], col;
  double         st[7], rest;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&F, sizeof(F)));
  F.A     = A;
  F.c     = c;
  F.op    = op;
  F.dim   = A->dim;
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

      pl->couple   = PETSC_FALSE;
      pl->coupling = 0;
      if (!pl->present) continue;
      PetscCall(PetscFree(pl->inv));
      PetscCall(PetscFree(pl->couplings));
      PetscCall(PetscMalloc1(A->nodes / A->N[d], &pl->inv));
      PetscCall(PetscCalloc1(A->nodes / A->N[d], &pl->couplings));
    }
    F.b[d]      = ax->plane[0].present ? 1 : 0;
    F.n[d]      = A->N[d] - F.b[d] - (ax->plane[1].present ? 1 : 0);
    F.stride[d] = F.nodes;
    F.nodes *= F.n[d];
    F.half[d][0] = F.half[d][1] = F.ratio[d][0] = F.ratio[d][1] = 1;
    ax->n                                                       = F.n[d];
  }
  if (F.nodes == 0) { /* only planes, whose corners disagree */
    PetscCheck(fit != BCR_FIT_EXACT, PETSC_COMM_SELF, PETSC_ERR_SUP, "The preconditioning matrix holds end rows only, which differ at the corners of the grid: use -pc_bcrpoisson_fit auto or a finer grid");
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_SUP, "The preconditioning matrix holds end rows only, which differ at the corners of the grid: use a finer grid, or another PC");
  }
  for (d = 0; d < 3; d++) ix[d] = F.b[d] + F.n[d] / 2;
  (void)BCRRowGet(A, c, ix, st, &rest, &col);
  for (i = 0, rest = 0; i < 6; i++) rest -= st[i];
  if (rest == 0) rest = st[BCR_CENTRE];
  F.sign = rest < 0 ? -1 : 1;
  ierr   = BCRFitCompute(&F, fit);
  PetscCall(PetscFree5(F.ones, F.iwx, F.x, F.line, F.ghost));
  PetscCall(PetscFree(F.D));
  for (d = 0; d < 3; d++) PetscCall(PetscFree(F.C[d]));
  op->rowscale = F.S;
  PetscCall(ierr);
  if (fit == BCR_FIT_EXACT) {
    const PetscInt r = op->devrow, q = op->devcol;

    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_SUP,
            "The preconditioning matrix is not separable: row %" PetscInt_FMT " (grid point %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT "), column %" PetscInt_FMT
            " is off by %g, relatively, from the mean of the coefficients. Let the operator be approximated with -pc_bcrpoisson_fit auto, scaled or average, or give a separable preconditioning matrix (second matrix of KSPSetOperators())",
            c + A->dof * r, r % A->N[0], (r / A->N[0]) % A->N[1], r / (A->N[0] * A->N[1]), c + A->dof * q, (double)op->deviation);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
