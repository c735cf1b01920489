/*
  Matrices that are not separable: a separable operator near them (docs/method.md, section "operator").

  average  the mean coupling of each axis, the mean row sum as shift;
  scaled   A ~ S B S after Concus and Golub (SIAM J. Numer. Anal. 10, 1973): with -div(k grad u) and S = sqrt(k) the couplings of
           S^{-1} A S^{-1} are 1 + O(h^2) and a bounded potential is left on the diagonal, whose mean becomes the shift.

  The condition number of the preconditioned operator is judged by the spread of the couplings times one plus the spread of what is left
  on the diagonal over the smallest eigenvalue; auto takes the fit for which that is smaller.
*/
#include "readimpl.h"
#include "run.h"

typedef struct {
  const BCRRows *A;
  PetscInt       c, dim, n[3], b[3], stride[3], nodes; /* the box */
  BCROperator   *op;
  double         sign;
  double        *D;    /* diagonal, dropped planes with a slope taken in */
  double        *C[3]; /* coupling of each node to the next along the axis (the first, where the axis is periodic) */
  double        *S;    /* row scales */
  double         half[3][2]; /* weight of the first and last row: 1 or 0.5 */
  double         ratio[3][2]; /* of the two entries of the link at this end, seen from the end */
  double         extra[3][2]; /* row sum at this end over the coupling there */
  PetscBool      wrap[3];
} BCRFitData;

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
  double   link[3][2][3], side[3][2][2], sum[3][2], wraps[3], total, inner;
  PetscInt count[3][2], ninner;
} BCRFitSums;

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
    q->total += st[k];
  }
  st[BCR_CENTRE] *= F->sign;
  for (k = 0, left = st[BCR_CENTRE]; k < 6; k++) left -= st[k];
  F->D[idx] = st[BCR_CENTRE];
  if (BCRFitInside(F, o, -1)) {
    q->inner += left;
    q->ninner++;
  }
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
    if (o[d] < n - 1 || !F->op->axis[d].plane[1].present) F->C[d][idx] = st[2 * d + 1]; /* the last wraps around, if anything */
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

/* The rows of a grid line that are three or more from all ends: a regular pattern, nothing but D and C to fill. *done: how many it could do,
   from ix on; a row that is odd in any way is left to BCRFitRow(). */
static PetscErrorCode BCRFitLine(BCRFitData *F, const PetscInt ix[3], PetscInt count, BCRFitSums *q, PetscInt *done)
{
  enum {
    MOST = 64
  };
  const BCRRows  *A     = F->A;
  const PetscInt  node  = ix[0] + A->stride[1] * ix[1] + A->stride[2] * ix[2], first = A->ai[node], E = A->ai[node + 1] - first;
  const PetscReal sign  = (PetscReal)F->sign;
  const PetscInt  box   = ix[0] - F->b[0] + F->stride[1] * (ix[1] - F->b[1]) + F->stride[2] * (ix[2] - F->b[2]);
  double         *D     = F->D + box, *C[3] = {NULL, NULL, NULL};
  double          total = 0, inner = 0;
  PetscInt        at[7] = {-1, -1, -1, -1, -1, -1, -1}, none[MOST], nnone = 0, p, i, d;

  PetscFunctionBegin;
  *done = 0;
  if (E > MOST || A->ai[node + count] - first != E * count) PetscFunctionReturn(PETSC_SUCCESS);
  if (!BCRRunColumns(A->ai + node, (size_t)(count + 1), 1, E) || !BCRRunColumns(A->aj + first, (size_t)(E * count), (size_t)E, 1)) PetscFunctionReturn(PETSC_SUCCESS);
  for (p = 0; p < E; p++) {
    const int k = BCRSlot(A, ix, A->aj[first + p] - node);

    if (k >= 0 && at[k] < 0) at[k] = p;
    else none[nnone++] = p;
  }
  for (d = 0; d < F->dim; d++)
    if (F->n[d] > 1 && (at[2 * d] < 0 || at[2 * d + 1] < 0)) PetscFunctionReturn(PETSC_SUCCESS);
  if (at[BCR_CENTRE] < 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (d = 0; d < F->dim; d++)
    if (F->n[d] > 1) C[d] = F->C[d] + box;
  for (i = 0; i < count; i++) {
    const PetscScalar *v  = A->aa + first + E * i;
    const double       dg = (double)(sign * PetscRealPart(v[at[BCR_CENTRE]]));
    double             lo[3], up[3], sum = 0, size = PetscAbs(dg), odd = 0;

    for (p = 0; p < nnone; p++) odd += PetscAbs((double)PetscRealPart(v[none[p]]));
#if defined(PETSC_USE_COMPLEX)
    for (p = 0; p < E; p++) odd += PetscAbs((double)PetscImaginaryPart(v[p]));
#endif
    for (d = 0; d < F->dim; d++) {
      if (F->n[d] < 2) continue;
      lo[d] = -(double)(sign * PetscRealPart(v[at[2 * d]]));
      up[d] = -(double)(sign * PetscRealPart(v[at[2 * d + 1]]));
      size += PetscAbs(lo[d]) + PetscAbs(up[d]);
      sum += lo[d] + up[d];
    }
    if (odd != 0 || dg == 0 || !(size <= DBL_MAX)) break;
    for (d = 0; d < F->dim; d++) {
      if (F->n[d] < 2) continue;
      BCRFitJoin(&C[d][i - F->stride[d]], lo[d]);
      C[d][i] = up[d];
    }
    D[i] = dg;
    inner += dg - sum;
    total += sum;
  }
  q->total += total;
  q->inner += inner;
  q->ninner += i;
  *done = i;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One pass over the matrix: D, C, the planes' diagonals and couplings, and what tells the ends apart */
static PetscErrorCode BCRFitExtract(BCRFitData *F)
{
  const BCRRows *A = F->A;
  BCRFitSums     q;
  PetscInt       ix[3], d, s;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&q, sizeof(q)));
  for (ix[2] = 0; ix[2] < A->N[2]; ix[2]++) {
    for (ix[1] = 0; ix[1] < A->N[1]; ix[1]++) {
      PetscBool inside = (PetscBool)(A->dof == 1 && F->n[0] > 20);

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
      PetscInt      t, rows = 1;

      for (t = 0; t < 3; t++) rows *= t == d ? 1 : F->n[t];
      F->ratio[d][s] = l[1] > 0 ? l[0] / l[1] : 1;
      if (q.count[d][s] && beyond > 0) F->extra[d][s] = (q.sum[d][s] - (q.ninner && F->n[d] > 2 ? (double)q.count[d][s] * q.inner / (double)q.ninner : 0)) / beyond * (double)rows / (double)q.count[d][s];
      /* half rows: couplings along the end are half of what those across it lead one to expect */
      F->half[d][s] = 1;
      if (F->n[d] > 3 && !F->wrap[d] && !F->op->axis[d].plane[s].present && F->ratio[d][s] < 1.5 && PetscAbs(F->extra[d][s]) < 0.25 && q.side[d][s][1] > 0 && l[1] > 0 && l[2] > 0 && (q.side[d][s][0] / l[1]) / (q.side[d][s][1] / l[2]) < 0.68) F->half[d][s] = 0.5;
    }
  }
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
static inline double BCRFitDiagonal(const BCRFitData *F, PetscInt d, PetscInt i)
{
  const BCRAxis *ax = &F->op->axis[d];
  double         t  = 2 * (double)ax->a;
  PetscInt       s;

  if (ax->n < 2) return 0;
  for (s = 0; s < 2; s++) {
    if (i != (s ? ax->n - 1 : 0)) continue;
    if (ax->end[s] == BCR_END_CELL_NEUMANN) t -= (double)ax->a;
    if (ax->end[s] == BCR_END_CELL_DIRICHLET) t += (double)ax->a;
  }
  return t;
}

/* Couplings as the fit sees them, c / (s s w): mean along each axis, and the largest quotient over all links after division by that mean */
static PetscErrorCode BCRFitMeans(BCRFitData *F, double mean[3], double *spread)
{
  PetscInt o[3], d;
  double   lo[3], hi[3];

  PetscFunctionBegin;
  *spread = 1;
  for (d = 0; d < F->dim; d++) {
    double   sum = 0;
    PetscInt count = 0, u = d == 0 ? 1 : 0, v = d == 2 ? 1 : 2;

    mean[d] = 0;
    lo[d]   = PETSC_MAX_REAL;
    hi[d]   = -PETSC_MAX_REAL;
    if (F->n[d] < 2) continue;
    for (o[2] = 0; o[2] < F->n[2]; o[2]++) {
      for (o[1] = 0; o[1] < F->n[1]; o[1]++) {
        const PetscInt row = F->stride[1] * o[1] + F->stride[2] * o[2];

        for (o[0] = 0; o[0] < F->n[0]; o[0]++) {
          const PetscInt i = o[0] + row, last = o[d] == F->n[d] - 1, next = last ? i - (F->n[d] - 1) * F->stride[d] : i + F->stride[d];
          double         c;

          if (last && !F->wrap[d]) continue;
          c = F->C[d][i] / (BCRFitWeight(F, u, o[u]) * BCRFitWeight(F, v, o[v]));
          if (F->S) c /= F->S[i] * F->S[next];
          sum += c;
          lo[d] = PetscMin(lo[d], c);
          hi[d] = PetscMax(hi[d], c);
          count++;
        }
      }
    }
    mean[d] = lo[d] == hi[d] ? lo[d] : sum / (double)count;
  }
  {
    double l = PETSC_MAX_REAL, h = 0;

    for (d = 0; d < F->dim; d++) {
      if (F->n[d] < 2 || mean[d] == 0) continue;
      l = PetscMin(l, lo[d] / mean[d]);
      h = PetscMax(h, hi[d] / mean[d]);
    }
    if (h > 0) *spread = l > 0 ? h / l : PETSC_INFINITY;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* s^2: along each axis the geometric mean of the two couplings beside the node over the mean of the axis; then the mean over the axes.
   Where the node is at an end, the coupling beyond is taken in proportion to the next two. */
static PetscErrorCode BCRFitScales(BCRFitData *F, const double mean[3])
{
  PetscInt o[3], d, axes = 0;
  double   smallest = 1e-4;

  PetscFunctionBegin;
  for (d = 0; d < F->dim; d++)
    if (F->n[d] > 1 && mean[d] > 0) axes++;
  for (o[2] = 0; o[2] < F->n[2]; o[2]++) {
    for (o[1] = 0; o[1] < F->n[1]; o[1]++) {
      for (o[0] = 0; o[0] < F->n[0]; o[0]++) {
        const PetscInt i = o[0] + F->stride[1] * o[1] + F->stride[2] * o[2];
        double         g = 0;

        for (d = 0; d < F->dim; d++) {
          const PetscInt u = d == 0 ? 1 : 0, v = d == 2 ? 1 : 2, n = F->n[d], st = F->stride[d];
          const double   w = BCRFitWeight(F, u, o[u]) * BCRFitWeight(F, v, o[v]), *C = F->C[d];
          double         c0, c1;

          if (n < 2 || mean[d] <= 0) continue;
          if (n == 2) c0 = c1 = C[o[d] ? i - st : i];
          else if (o[d] == 0) {
            c1 = C[i];
            c0 = F->wrap[d] ? C[i + (n - 1) * st] : c1 * PetscMin(4.0, PetscMax(0.25, C[i + st] > 0 ? c1 / C[i + st] : 1.0));
          } else if (o[d] == n - 1) {
            c0 = C[i - st];
            c1 = F->wrap[d] ? C[i] : c0 * PetscMin(4.0, PetscMax(0.25, C[i - 2 * st] > 0 ? c0 / C[i - 2 * st] : 1.0));
          } else {
            c0 = C[i - st];
            c1 = C[i];
          }
          c0 = PetscMax(c0, smallest * mean[d] * w);
          c1 = PetscMax(c1, smallest * mean[d] * w);
          g += (c0 == c1 ? c0 : sqrt(c0 * c1)) / (mean[d] * w);
        }
        F->S[i] = sqrt(g / axes);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is left on the diagonal: row sums (average) or D/(s^2 w) - T (scaled), over the inside of the box: mean and largest distance from it */
static PetscErrorCode BCRFitLeft(BCRFitData *F, double *mean, double *far, double *least, double *size, double *largest)
{
  PetscInt o[3], d, pass, count = 0;
  double   sum = 0, lo = PETSC_MAX_REAL, hi = -PETSC_MAX_REAL, dsum = 0;
  PetscBool inside = PETSC_TRUE;

  PetscFunctionBegin;
  *largest = 0;
  for (pass = 0; pass < 2 && count == 0; pass++) { /* a box without an inside: over all of it */
    inside = (PetscBool)(pass == 0);
    for (o[2] = 0; o[2] < F->n[2]; o[2]++) {
      for (o[1] = 0; o[1] < F->n[1]; o[1]++) {
        for (o[0] = 0; o[0] < F->n[0]; o[0]++) {
          const PetscInt i = o[0] + F->stride[1] * o[1] + F->stride[2] * o[2];
          double         w = 1, p;

          if (inside && !BCRFitInside(F, o, -1)) continue;
          for (d = 0; d < F->dim; d++) w *= BCRFitWeight(F, d, o[d]);
          p = F->D[i] / w;
          if (F->S) {
            p /= F->S[i] * F->S[i];
            for (d = 0; d < F->dim; d++) p -= BCRFitDiagonal(F, d, o[d]);
          } else {
            for (d = 0; d < F->dim; d++) {
              const PetscInt n = F->n[d], st = F->stride[d];
              PetscInt       s;

              if (n < 2) continue;
              for (s = 0; s < 2; s++) {
                double c;

                if (o[d] == (s ? n - 1 : 0)) c = F->wrap[d] ? F->C[d][s ? i : i + (n - 1) * st] / w : (F->op->axis[d].end[s] == BCR_END_DIRICHLET ? 1.0 : (F->op->axis[d].end[s] == BCR_END_CELL_DIRICHLET ? 2.0 : (F->op->axis[d].end[s] == BCR_END_NEUMANN ? 1.0 : 0.0))) * (double)F->op->axis[d].a;
                else c = F->C[d][s ? i : i - st] / w;
                p -= c;
              }
            }
          }
          dsum += F->D[i] / w / (F->S ? F->S[i] * F->S[i] : 1);
          sum += p;
          lo = PetscMin(lo, p);
          hi = PetscMax(hi, p);
          count++;
        }
      }
    }
  }
  *mean    = sum / (double)count;
  *far     = PetscMax(hi - *mean, *mean - lo);
  *least   = lo;
  *size    = dsum / (double)count;
  *largest = PetscMax(PetscAbs(hi), PetscAbs(lo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest relative deviation of the matrix from the fit, and where */
static PetscErrorCode BCRFitDeviation(BCRFitData *F)
{
  const BCRRows *A  = F->A;
  BCROperator   *op = F->op;
  PetscInt       o[3], d, s;

  PetscFunctionBegin;
  op->deviation = 0;
  for (o[2] = 0; o[2] < F->n[2]; o[2]++) {
    for (o[1] = 0; o[1] < F->n[1]; o[1]++) {
      for (o[0] = 0; o[0] < F->n[0]; o[0]++) {
        const PetscInt i    = o[0] + F->stride[1] * o[1] + F->stride[2] * o[2];
        const PetscInt node = o[0] + F->b[0] + A->stride[1] * (o[1] + F->b[1]) + A->stride[2] * (o[2] + F->b[2]);
        double         w = 1, t = (double)op->shift, model, dev, diagonal;

        for (d = 0; d < F->dim; d++) {
          w *= BCRFitWeight(F, d, o[d]);
          t += BCRFitDiagonal(F, d, o[d]);
        }
        model = t * w * (F->S ? F->S[i] * F->S[i] : 1) * PetscAbsReal(op->scale);
        diagonal = PetscAbs(model);
        dev      = PetscAbs(F->D[i] - model) / diagonal;
        if (dev > (double)op->deviation) {
          op->deviation = (PetscReal)dev;
          op->devrow = op->devcol = node;
        }
        for (d = 0; d < F->dim; d++) {
          const PetscInt u = d == 0 ? 1 : 0, v = d == 2 ? 1 : 2, last = o[d] == F->n[d] - 1;

          if (F->n[d] < 2 || (last && !F->wrap[d])) continue;
          s     = last ? i - (F->n[d] - 1) * F->stride[d] : i + F->stride[d];
          model = BCRFitWeight(F, u, o[u]) * BCRFitWeight(F, v, o[v]) * (double)op->axis[d].a * PetscAbsReal(op->scale) * (F->S ? F->S[i] * F->S[s] : 1);
          dev   = PetscAbs(F->C[d][i] - model) / (model > 0 ? model : diagonal);
          if (dev > (double)op->deviation) {
            op->deviation = (PetscReal)dev;
            op->devrow    = node;
            op->devcol    = last ? node - (F->n[d] - 1) * A->stride[d] : node + A->stride[d];
          }
        }
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One of the two fits with the given row scales (none: average): fills axes and shift, in units of the matrix, and judges the condition
   number. mean and spread are those of BCRFitMeans(). */
static PetscErrorCode BCRFitTry(BCRFitData *F, const double mean[3], double spread, double *bound)
{
  static const char xyz[] = "xyz";
  BCROperator      *op    = F->op;
  double            left, far, least, size, largest, low;
  PetscInt          d;
  PetscReal         lo;

  PetscFunctionBegin;
  for (d = 0; d < 3; d++) {
    op->axis[d].n = F->n[d];
    op->axis[d].a = d < F->dim && F->n[d] > 1 ? (PetscReal)mean[d] : 0;
    PetscCheck(op->axis[d].a >= 0, PETSC_COMM_SELF, PETSC_ERR_SUP, "The preconditioning matrix has off-diagonal entries of opposite signs along different axes (mean coupling along %c %g): it is indefinite or no Poisson operator. Give another preconditioning matrix (second matrix of KSPSetOperators()), for example the Laplacian alone", xyz[d], -mean[d] * F->sign);
  }
  PetscCall(BCRFitLeft(F, &left, &far, &least, &size, &largest));
  PetscCheck(size > 0, PETSC_COMM_SELF, PETSC_ERR_SUP, "The preconditioning matrix has off-diagonal entries of the same sign as its diagonal: it is indefinite, or no Poisson operator. Give another preconditioning matrix (second matrix of KSPSetOperators()), for example the Laplacian alone");
  op->shift = 0;
  PetscCall(BCROperatorLowestEigenvalue(op, &lo));
  if (PetscAbs(left) <= 4 * BCR_SUM_TOL * size) left = 0;
  if ((double)lo > 1e-12 * size) left = PetscMax(left, -0.9 * (double)lo); /* definite, whatever the matrix is */
  else if (left < 0 || (left == 0 && largest > 64 * BCR_SUM_TOL * size)) left = PetscMax(far, -left);
  op->shift = (PetscReal)left;
  /* what A itself is bounded from below by, in the scales of the fit: T and the least of what is left on the diagonal. Where T is
     singular, its next eigenvalue counts. */
  low = (double)lo;
  if (!(low > 1e-12 * size)) {
    low = PETSC_MAX_REAL;
    for (d = 0; d < F->dim; d++)
      if (F->n[d] > 1) {
        const double x = sin((double)PETSC_PI / (F->wrap[d] ? 1 : 2) / (double)F->n[d]);
        low            = PetscMin(low, 4 * x * x * (double)op->axis[d].a);
      }
  }
  if (least > 0) low += least;
  *bound = spread * (1 + far / PetscMax(low, 1e-300));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFitRead(const BCRRows *A, PetscInt c, BCRFit fit, BCROperator *op)
{
  BCRFitData F;
  PetscInt   d, s, i, ix[3];
  double     average = 0, scaled = 0, unit = 0, mean[3], spread, st[7], rest;
  PetscInt   col;
  PetscBool  trivial;

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
    ax->n                                                        = F.n[d];
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
  PetscCall(PetscMalloc1(F.nodes, &F.D));
  for (d = 0; d < F.dim; d++)
    if (F.n[d] > 1) PetscCall(PetscCalloc1(F.nodes, &F.C[d]));
  PetscCall(BCRFitExtract(&F));
  BCRFitEnds(&F);
  BCRFitEndLinks(&F);
  op->scale = 1;

  PetscCall(BCRFitMeans(&F, mean, &spread));
  if (fit != BCR_FIT_SCALED) PetscCall(BCRFitTry(&F, mean, spread, &average));
  if (fit == BCR_FIT_SCALED || (fit == BCR_FIT_AUTO && spread < PETSC_INFINITY)) {
    PetscCall(PetscMalloc1(F.nodes, &F.S));
    PetscCall(BCRFitScales(&F, mean));
    for (i = 0, trivial = PETSC_TRUE; i < F.nodes && trivial; i++) trivial = (PetscBool)(PetscAbs(F.S[i] - 1) <= BCR_SAME_TOL);
    if (!trivial) {
      double smean[3], sspread;

      PetscCall(BCRFitMeans(&F, smean, &sspread));
      PetscCall(BCRFitTry(&F, smean, sspread, &scaled));
    }
    if (trivial || (fit == BCR_FIT_AUTO && scaled >= average)) {
      PetscCall(PetscFree(F.S));
      PetscCall(BCRFitTry(&F, mean, spread, &average));
    }
  }

  /* units of the largest coupling; weights; planes */
  for (d = 0; d < 3; d++) unit = PetscMax(unit, (double)op->axis[d].a);
  if (unit == 0) unit = (double)op->shift;
  op->scale = (PetscReal)(F.sign * unit);
  op->shift /= (PetscReal)unit;
  for (d = 0; d < 3; d++) {
    BCRAxis *ax = &op->axis[d];

    ax->a /= (PetscReal)unit;
    if (F.half[d][0] < 1 || F.half[d][1] < 1) {
      PetscCall(PetscMalloc1(ax->n, &ax->weight));
      for (i = 0; i < ax->n; i++) ax->weight[i] = (PetscReal)BCRFitWeight(&F, d, i);
    }
    for (s = 0; s < 2; s++) {
      BCRPlane *pl = &ax->plane[s];

      if (!pl->present) continue;
      if (!pl->couple) PetscCall(PetscFree(pl->couplings));
      else
        for (i = 0; i < A->nodes / A->N[d]; i++) pl->couplings[i] /= (PetscReal)unit;
      pl->coupling = pl->couple ? ax->a : 0;
      for (i = 1; i < A->nodes / A->N[d] && pl->inv[i] == pl->inv[0]; i++) { }
      if (i == A->nodes / A->N[d]) {
        pl->inv0 = pl->inv[0];
        PetscCall(PetscFree(pl->inv));
      }
    }
  }
  PetscCall(BCRFitDeviation(&F));
  PetscCall(PetscStrncpy(op->fit, F.S ? "scaled" : "average", sizeof(op->fit)));
  if (fit == BCR_FIT_EXACT) {
    const PetscInt r = op->devrow, q = op->devcol;
    PetscReal      dev = op->deviation;

    PetscCall(PetscFree(F.D));
    for (d = 0; d < 3; d++) PetscCall(PetscFree(F.C[d]));
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_SUP, "The preconditioning matrix is not separable: row %" PetscInt_FMT " (grid point %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT "), column %" PetscInt_FMT " is off by %g, relatively, from the mean of the coefficients. Let the operator be approximated with -pc_bcrpoisson_fit auto, scaled or average, or give a separable preconditioning matrix (second matrix of KSPSetOperators())", c + A->dof * r, r % A->N[0], (r / A->N[0]) % A->N[1], r / (A->N[0] * A->N[1]), c + A->dof * q, (double)dev);
  }
  if (F.S) {
    PetscCall(PetscMalloc1(F.nodes, &op->rowscale));
    for (i = 0; i < F.nodes; i++) op->rowscale[i] = (PetscReal)F.S[i];
    PetscCall(PetscFree(F.S));
  }
  PetscCall(PetscFree(F.D));
  for (d = 0; d < 3; d++) PetscCall(PetscFree(F.C[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}
