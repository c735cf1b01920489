/* Random operators of every kind, for tests of the solver: the equations as a sparse matrix, the
   BCROperator that stands for them, and the comparison of a solution with both the equations and
   LAPACK */
#pragma once

#include <petscsys.h>
#include <petscblaslapack.h>
#include "src/poisson/solver.h"
#include "tests/check.h"
#include <math.h>
#include <string.h>

static int npassed, nfailed;
PETSC_UNUSED static const char *precisions[] = {"double", "single", "mixed"};

static void Check(int good, const char *name, const char *what, double value, double bound)
{
  if (good) npassed++;
  else {
    nfailed++;
    printf("FAILED %s: %s %g, bound %g\n", name, what, value, bound);
  }
}

static double Random(double low, double high)
{
  return low + (high - low) * TestUniform();
}
static int Pick(int n)
{
  return (int)(TestUniform() * n);
}

#define MOST 1024 /* largest extent of an axis */

/* One axis as equations: rows of the box with entries for what lies beyond either end, planes, weights */
typedef struct {
  PetscInt N, n, low; /* whole extent, box, nodes before the box */
  double lower[MOST], diag[MOST], upper[MOST], w[MOST], h[MOST];
  int periodic;
  int plane[2], couple[2];
  double slope[2];
} Line;

typedef struct {
  PetscInt dim, N[3], n[3], nodes;
  Line line[3];
  double corner[27][3]; /* slopes where planes meet, as BCROperator has them */
  double shift, scale;
  int singular;
  double *inv[3][2], *couplings[3][2], *rowscale; /* rowscale over the box */
  BCROperator op;
} Problem;

enum {
  PLANES = 1,
  WEIGHTS = 2,
  GENERAL = 4,
  SLOPES = 8,
  ROWSCALE = 16,
  COUPLINGS = 32,
  NEUMANN = 64,   /* only ends that have the constant in the null space */
  NEGATIVE = 128, /* a shift below zero, but above minus the smallest eigenvalue */
  LEFT = 256,     /* with ROWSCALE: of the rows alone */
  SEVERAL = 512   /* with GENERAL: two axes are general, at least */
};

static PetscReal *ToReal(PetscInt n, const double *x)
{
  PetscReal *y = NULL;

  if (x) {
    y = malloc(sizeof(PetscReal) * (size_t)(n + 1));
    for (PetscInt i = 0; i < n; i++) y[i] = (PetscReal)x[i];
  }
  return y;
}

/* Values that PetscReal has, so that the dense matrix and the operator hold the same */
static double Real(double x)
{
  return (double)(PetscReal)x;
}

static void ProblemFree(Problem *p)
{
  for (int d = 0; d < 3; d++) {
    BCRAxis *x = &p->op.axis[d];

    for (int s = 0; s < 2; s++) {
      free(p->inv[d][s]);
      free(p->couplings[d][s]);
      free(x->plane[s].inv);
      free(x->plane[s].couplings);
    }
    free(x->lower);
    free(x->diag);
    free(x->upper);
    free(x->weight);
  }
  free(p->rowscale);
  free(p->op.rowscale);
  memset(p, 0, sizeof(*p));
}

/* Rows where planes meet: the rule of one of the planes, the same axis everywhere or not, or any slopes */
static void ProblemCorners(Problem *p, int kind)
{
  const int how = kind & NEUMANN ? 0 : Pick(3), same = Pick(6);

  for (int place = 0; place < 27; place++) {
    const int side[3] = {place % 3 - 1, place / 3 % 3 - 1, place / 9 - 1};
    int owner = how == 1 ? Pick(3) : same % 3;

    while (!side[owner] && place != 13) owner = (owner + (same < 3 ? 1 : 2)) % 3;
    for (int d = 0; d < 3; d++) {
      const Line *l = &p->line[d];

      if (!side[d]) continue;
      if (how < 2 && d == owner) p->corner[place][d] = l->slope[side[d] > 0];
      if (how == 2 && l->n && Pick(2)) p->corner[place][d] = Real(Random(-1, 1));
    }
    for (int d = 0; d < 3; d++) p->op.corner[place][d] = (PetscReal)p->corner[place][d];
  }
}

/* A random operator on a grid whose box and planes are given */
static void ProblemCreate(Problem *p, PetscInt dim, const PetscInt n[], const int planes[][2], int kind)
{
  const int first = kind & GENERAL ? Pick((int)dim) : -1, second = kind & SEVERAL ? (first + 1) % (int)dim : first,
            third = kind & SEVERAL && Pick(2) ? (first + 2) % (int)dim : first; /* general axes */
  double floor_ = 0; /* the box's T is at least this positive */
  int definite = 0, box = 1;

  memset(p, 0, sizeof(*p));
  p->dim = p->op.dim = dim;
  p->nodes = 1;
  for (int d = 0; d < 3; d++) {
    const int general = d == first || d == second || d == third;
    Line *l = &p->line[d];
    BCRAxis *x = &p->op.axis[d];
    double a = Real(exp(Random(-2, 2)));
    int end[2];

    l->n = d < dim ? n[d] : 1;
    for (int s = 0; s < 2; s++) l->plane[s] = d < dim ? planes[d][s] : 0;
    l->low = l->plane[0];
    l->N = l->n + l->plane[0] + l->plane[1];
    p->N[d] = l->N;
    p->n[d] = x->n = l->n;
    p->nodes *= l->N;
    box *= (int)l->n;
    l->periodic = d < dim && !l->plane[0] && !l->plane[1] && !general && !Pick(kind & NEUMANN ? 3 : 5);
    for (PetscInt i = 0; i < l->n; i++) l->w[i] = l->h[i] = 1;
    if (l->n > 1 || general) x->a = (PetscReal)a;
    for (int s = 0; s < 2; s++) {
      const BCREnd free_[] = {BCR_END_NEUMANN, BCR_END_CELL_NEUMANN, BCR_END_DIRICHLET, BCR_END_CELL_DIRICHLET};

      end[s] = (int)free_[Pick(kind & NEUMANN ? 2 : 4)];
      if (l->periodic) end[s] = BCR_END_PERIODIC;
      if (l->plane[s]) {
        l->couple[s] = Pick(4) > 0;
        if (kind & SLOPES && !general) l->slope[s] = Pick(3) - 1;
        if (kind & SLOPES && general) l->slope[s] = Real(Random(-1, 1));
        if (kind & NEUMANN) l->slope[s] = 1;
        if (l->n == 0 && (s == 0 || l->slope[0] != 0)) l->slope[s] = 0; /* such rows would refer to each other */
        if (l->n == 0 && !l->plane[1 - s]) l->slope[s] = 0;
      }
    }
    /* rows: inside, then the ends */
    for (PetscInt i = 0; i < l->n; i++) {
      l->lower[i] = l->upper[i] = l->n > 1 ? a : 0;
      l->diag[i] = 2 * l->lower[i];
    }
    if (general) {
      const double spread = .3;

      for (PetscInt i = 0; i < l->n; i++) {
        l->lower[i] = Real(a * exp(Random(-spread, spread)));
        l->upper[i] = Real(a * exp(Random(-spread, spread)));
        l->diag[i] = Real(l->lower[i] + l->upper[i] + (kind & NEUMANN ? 0 : a * TestUniform()));
        x->a = 0;
      }
      for (int s = 0; s < 2; s++) {
        const PetscInt i = s ? PetscMax(l->n - 1, 0) : 0;

        if (l->n && kind & NEUMANN && !l->plane[s]) l->diag[i] -= s ? l->upper[i] : l->lower[i];
        if (l->n && kind & NEUMANN && l->plane[s]) l->couple[s] = 1;
      }
      for (PetscInt i = 0; i + 1 < l->n; i++) l->h[i + 1] = l->h[i] * l->upper[i] / l->lower[i + 1];
      if (!(kind & NEUMANN)) definite = 1;
      end[0] = end[1] = BCR_END_GENERAL;
    }
    for (int s = 0; s < 2; s++) {
      const PetscInt i = s ? PetscMax(l->n - 1, 0) : 0;
      double *out = s ? &l->upper[i] : &l->lower[i], *in = s ? &l->lower[i] : &l->upper[i];
      BCRPlane *pl = &x->plane[s];
      double c = 0;
      PetscInt face = 1;

      if (l->plane[s] && l->n) {
        if (!general) {
          if (l->n == 1) *out = a;
          if (l->couple[s]) end[s] = BCR_END_DIRICHLET;
          else if (kind & NEUMANN) end[s] = BCR_END_NEUMANN; /* u = u_1 on the plane and no coupling to it */
        }
        c = l->couple[s] ? *out : 0;
      }
      if (l->n > 1 && !general) {
        if (end[s] == BCR_END_NEUMANN) {
          *in = 2 * a;
          l->h[i] = .5;
        }
        if (end[s] == BCR_END_CELL_NEUMANN) l->diag[i] -= a;
        if (end[s] == BCR_END_CELL_DIRICHLET) l->diag[i] += a;
      }
      if (l->n && !c && !(l->periodic && l->n > 1)) *out = 0;
      x->end[s] = (BCREnd)end[s];
      if (!general && l->n > 1 && c)
        x->end[s] =
          l->slope[s] == 0 ? BCR_END_DIRICHLET : (l->slope[s] > 0 ? BCR_END_CELL_NEUMANN : BCR_END_CELL_DIRICHLET);
      if (l->n > 1 && (x->end[s] == BCR_END_DIRICHLET || x->end[s] == BCR_END_CELL_DIRICHLET)) {
        definite = 1;
        /* below the smallest eigenvalue even with one such end: (pi/2)^2 times this */
        floor_ += a / (double)(l->n + 1) / (double)(l->n + 1);
      }
      if (l->n == 1 && !general) {
        x->a = (PetscReal)c; /* a plane's coupling only */
        l->diag[0] += c * l->slope[s];
      }
      if (l->plane[s]) {
        pl->present = PETSC_TRUE;
        pl->couple = l->couple[s] ? PETSC_TRUE : PETSC_FALSE;
        pl->coupling = (PetscReal)c;
        pl->slope = (PetscReal)l->slope[s];
        for (int e = 0; e < dim; e++) face *= e == d ? 1 : n[e] + planes[e][0] + planes[e][1];
        p->inv[d][s] = malloc(sizeof(double) * (size_t)face);
        for (PetscInt q = 0; q < face; q++) p->inv[d][s][q] = Real((Pick(2) ? 1 : -1) * exp(Random(-1, 1)));
        if (Pick(3)) pl->inv = ToReal(face, p->inv[d][s]);
        else {
          for (PetscInt q = 1; q < face; q++) p->inv[d][s][q] = p->inv[d][s][0];
          pl->inv0 = (PetscReal)p->inv[d][s][0];
        }
        if (kind & COUPLINGS && l->couple[s]) {
          p->couplings[d][s] = malloc(sizeof(double) * (size_t)face);
          for (PetscInt q = 0; q < face; q++) p->couplings[d][s][q] = Real(Random(-1, 1));
          pl->couplings = ToReal(face, p->couplings[d][s]);
        }
      }
    }
    if (general && l->n) {
      double lower[MOST], diag[MOST], upper[MOST];

      for (PetscInt i = 0; i < l->n; i++) {
        lower[i] = i ? l->lower[i] : 0;
        upper[i] = i + 1 < l->n ? l->upper[i] : 0;
        diag[i] = l->diag[i];
      }
      if (l->plane[0]) diag[0] -= (double)x->plane[0].coupling * l->slope[0];
      if (l->plane[1]) diag[l->n - 1] -= (double)x->plane[1].coupling * l->slope[1];
      x->lower = ToReal(l->n, lower);
      x->diag = ToReal(l->n, diag);
      x->upper = ToReal(l->n, upper);
      for (PetscInt i = 0; i < l->n; i++) l->diag[i] += (double)x->diag[i] - diag[i];
    }
    if (kind & WEIGHTS && d < dim && l->n) {
      if (Pick(2)) {
        for (PetscInt i = 0; i < l->n; i++) l->w[i] = l->h[i]; /* half weights: a symmetric matrix */
      } else {
        for (PetscInt i = 0; i < l->n; i++) l->w[i] = Real(Random(.3, 2));
      }
      if (!general || l->w[0] != l->h[0]) x->weight = ToReal(l->n, l->w);
      else
        for (PetscInt i = 0; i < l->n; i++) l->w[i] = 1;
    }
  }
  p->scale = Real((Pick(2) ? 1 : -1) * exp(Random(-5, 5)));
  p->shift = Pick(2) ? 0 : Real(exp(Random(-3, 2)));
  if (kind & NEUMANN) p->shift = 0;
  else if (!definite) p->shift = Real(exp(Random(-2, 1)));
  ProblemCorners(p, kind);
  if (kind & NEGATIVE && !(kind & GENERAL) && definite) p->shift = Real(-floor_ * .9);
  p->singular = !definite && p->shift == 0 && box > 0;
  p->op.shift = (PetscReal)p->shift;
  p->op.scale = (PetscReal)p->scale;
  p->op.singular = p->singular ? PETSC_TRUE : PETSC_FALSE;
  if (kind & ROWSCALE) {
    p->rowscale = malloc(sizeof(double) * (size_t)(box + 1));
    for (int i = 0; i < box; i++) p->rowscale[i] = Real(Random(.5, 2));
    p->op.rowscale = ToReal(box, p->rowscale);
    p->op.left = kind & LEFT ? PETSC_TRUE : PETSC_FALSE;
  }
}

/* The matrix, at most 7 entries a row */
typedef struct {
  PetscInt *count, *col;
  double *val;
} Matrix;

static void MatrixFree(Matrix *A)
{
  free(A->count);
  free(A->col);
  free(A->val);
}

static PetscInt NodeNumber(const Problem *p, const PetscInt c[])
{
  return c[0] + p->N[0] * (c[1] + p->N[1] * c[2]);
}

/* Number of a node within a plane of axis d */
static PetscInt PlaneNumber(const Problem *p, int d, const PetscInt c[])
{
  PetscInt q = 0;

  for (int e = 2; e >= 0; e--) q = e == d ? q : q * p->N[e] + c[e];
  return q;
}

static double RowScale(const Problem *p, const PetscInt c[])
{
  if (!p->rowscale) return 1;
  return p->rowscale[c[0] - p->line[0].low + p->n[0] * (c[1] - p->line[1].low + p->n[1] * (c[2] - p->line[2].low))];
}

static Matrix MatrixCreate(const Problem *p)
{
  PetscInt c[3], row = 0;
  Matrix A = {calloc((size_t)p->nodes, sizeof(PetscInt)), calloc((size_t)p->nodes * 7, sizeof(PetscInt)),
              calloc((size_t)p->nodes * 7, sizeof(double))};

  for (c[2] = 0; c[2] < p->N[2]; c[2]++) {
    for (c[1] = 0; c[1] < p->N[1]; c[1]++) {
      for (c[0] = 0; c[0] < p->N[0]; c[0]++, row++) {
        PetscInt *col = A.col + 7 * row;
        double *val = A.val + 7 * row;
        int axis = -1, side[3], planes = 0, place = 0, m = 1;

        for (int d = 0; d < 3; d++)
          side[d] = c[d] < p->line[d].low ? -1 : (c[d] >= p->line[d].low + p->line[d].n ? 1 : 0);
        for (int d = 2; d >= 0; d--) {
          axis = side[d] ? d : axis;
          planes += side[d] != 0;
          place = 3 * place + side[d] + 1;
        }
        col[0] = row;
        if (planes) { /* d u_b - sum slope d u_1 */
          val[0] = 1 / p->inv[axis][side[axis] > 0][PlaneNumber(p, axis, c)];
          for (int d = 0; d < 3; d++) {
            const double slope = side[d] && planes == 1 ? p->line[d].slope[side[d] > 0] : p->corner[place][d];
            PetscInt at[3] = {c[0], c[1], c[2]};

            if (!side[d] || slope == 0) continue;
            at[d] -= side[d];
            col[m] = NodeNumber(p, at);
            val[m++] = -slope * val[0];
          }
        } else { /* scale S W (T + shift) S, the last S not where it is left */
          const double s = p->op.left ? 1 : RowScale(p, c);
          double w = p->scale * RowScale(p, c);

          for (int d = 0; d < 3; d++) w *= p->line[d].w[c[d] - p->line[d].low];
          val[0] = w * s * p->shift;
          for (int d = 0; d < 3; d++) {
            const Line *l = &p->line[d];
            const PetscInt i = c[d] - l->low;

            val[0] += w * s * l->diag[i];
            for (int e = 0; e < 2; e++) { /* the neighbours before and behind */
              const double entry = e ? l->upper[i] : l->lower[i];
              PetscInt at[3] = {c[0], c[1], c[2]}, j = i + (e ? 1 : -1);
              const int beyond = (j < 0 || j >= l->n) && !l->periodic;

              if (entry == 0) continue;
              at[d] = l->low + (l->periodic ? (j + l->n) % l->n : j);
              col[m] = NodeNumber(p, at);
              if (!beyond) val[m] = -w * entry * (p->op.left ? 1 : RowScale(p, at));
              else val[m] = p->couplings[d][e] ? -p->scale * p->couplings[d][e][PlaneNumber(p, d, c)] : -w * entry;
              m++;
            }
          }
        }
        A.count[row] = m;
      }
    }
  }
  return A;
}

/* y += alpha op(A) x, and the sums of the rows' absolute values */
static void MatrixApply(const Problem *p, const Matrix *A, int transpose, double alpha, const double *x, double *y,
                        double *sums)
{
  for (PetscInt i = 0; i < p->nodes; i++) {
    for (PetscInt m = 0; m < A->count[i]; m++) {
      const PetscInt j = A->col[7 * i + m], to = transpose ? j : i, from = transpose ? i : j;

      y[to] += alpha * A->val[7 * i + m] * x[from];
      if (sums) sums[to] += fabs(A->val[7 * i + m]);
    }
  }
}

static double slack = 1; /* tests may set it */

static double Tolerance(int precision)
{
  if (sizeof(PetscReal) == 4) return slack * 1e-6;
  return slack * (precision == BCR_SINGLE ? 1.5e-6 : 1e-14); /* 1.2e-6 seen with AVX2, one solve of 40000 */
}

/* One component of a solution: every row of f - A u against the sizes in this row, and u against LAPACK's */
PETSC_UNUSED static PetscErrorCode Compare(const Problem *p, const Matrix *A, PetscBool transpose, PetscInt dof,
                                           const PetscScalar *f, const PetscScalar *u, int precision, double removed,
                                           const char *name)
{
  const PetscInt N = p->nodes;
  double umax = 0, worst = 0, mean[2] = {0, 0}, weight = 0, *r[2], *x, *target, *sums;

  PetscFunctionBegin;
  for (int c = 0; c < 2; c++) r[c] = calloc((size_t)N, sizeof(double));
  x = calloc((size_t)N, sizeof(double));
  target = calloc((size_t)N, sizeof(double));
  sums = calloc((size_t)N, sizeof(double));
  for (int c = 0; c < 2; c++) {
    for (PetscInt i = 0; i < N; i++) {
      umax = PetscMax(umax, (double)PetscAbsScalar(u[i * dof]));
      r[c][i] = (double)(c ? PetscImaginaryPart(f[i * dof]) : PetscRealPart(f[i * dof]));
      x[i] = (double)(c ? PetscImaginaryPart(u[i * dof]) : PetscRealPart(u[i * dof]));
    }
    MatrixApply(p, A, transpose, -1, x, r[c], c ? NULL : sums);
  }
  if (p->singular) { /* what is left is a constant over the box, times the row scaling */
    double sum[2] = {0, 0}, vmax = 0;
    PetscInt boxes = 0;

    for (PetscInt k = 0; k < p->n[2]; k++) {
      for (PetscInt j = 0; j < p->n[1]; j++) {
        for (PetscInt i = 0; i < p->n[0]; i++, boxes++) {
          const PetscInt at = i + p->line[0].low + p->N[0] * (j + p->line[1].low + p->N[1] * (k + p->line[2].low));
          const double s = p->rowscale && !p->op.left ? p->rowscale[boxes] : 1,
                       t = p->rowscale && !(p->op.left && transpose) ? p->rowscale[boxes] : 1;

          target[at] = t;
          weight += target[at] * target[at];
          for (int c = 0; c < 2; c++) {
            const double v = s * (double)(c ? PetscImaginaryPart(u[at * dof]) : PetscRealPart(u[at * dof]));

            mean[c] += r[c][at] * target[at];
            sum[c] += v;
            vmax = PetscMax(vmax, fabs(v));
          }
        }
      }
    }
    for (int c = 0; c < 2; c++) {
      for (PetscInt i = 0; i < N; i++) r[c][i] -= mean[c] / weight * target[i];
    }
    if (removed >= 0)
      Check(fabs(hypot(mean[0], mean[1]) / weight - removed) <= 100 * Tolerance(precision) * (1 + removed), name,
            "removed constant", removed, hypot(mean[0], mean[1]) / weight);
    if (!transpose) {
      const double average = hypot(sum[0], sum[1]) / (double)boxes;

      Check(average <= 100 * Tolerance(precision) * vmax, name, "mean of the solution", average,
            100 * Tolerance(precision) * vmax);
    }
  }
  for (PetscInt i = 0; i < N; i++) {
    const double off = hypot(r[0][i], r[1][i]), size = sums[i] * umax + hypot((double)PetscRealPart(f[i * dof]),
                                                                              (double)PetscImaginaryPart(f[i * dof]));

    TestLargest(&worst, off == 0 ? 0 : off / size);
  }
  Check(worst <= Tolerance(precision), name, "residual of a row", worst, Tolerance(precision));
  for (int c = 0; c < 2; c++) free(r[c]);
  free(x);
  free(target);
  free(sums);
  if (!p->singular && N <= 350) {
    PetscBLASInt n, one = 1, info, *pivot;
    PetscScalar *M, *y;
    double difference = 0, size = 0;

    PetscCall(PetscBLASIntCast(N, &n));
    PetscCall(PetscCalloc3(N * N, &M, N, &y, N, &pivot));
    for (PetscInt i = 0; i < N; i++) {
      y[i] = f[i * dof];
      for (PetscInt m = 0; m < A->count[i]; m++)
        M[transpose ? A->col[7 * i + m] + i * N : i + A->col[7 * i + m] * N] += (PetscScalar)A->val[7 * i + m];
    }
    PetscCallBLAS("LAPACKgesv", LAPACKgesv_(&n, &one, M, &n, pivot, y, &n, &info));
    PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "gesv: %d", (int)info);
    for (PetscInt i = 0; i < N; i++) {
      TestLargest(&difference, (double)PetscAbsScalar(y[i] - u[i * dof]));
      size = PetscMax(size, (double)PetscAbsScalar(y[i]));
    }
    Check(difference <= 3000 * Tolerance(precision) * size, name, "difference from gesv", difference / size,
          3000 * Tolerance(precision));
    PetscCall(PetscFree3(M, y, pivot));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void RandomVector(PetscInt n, PetscScalar *f)
{
  for (PetscInt i = 0; i < n; i++) {
    f[i] = (PetscScalar)Random(-1, 1);
#if defined(PETSC_USE_COMPLEX)
    f[i] += PETSC_i * (PetscReal)Random(-1, 1);
#endif
  }
}

PETSC_UNUSED static PetscBool Same(PetscInt n, const PetscScalar *a, const PetscScalar *b)
{
  return memcmp(a, b, sizeof(PetscScalar) * (size_t)n) ? PETSC_FALSE : PETSC_TRUE;
}
