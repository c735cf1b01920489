/*
  BCRSolver against dense matrices: operators of every kind (ends, weights, dropped planes with and without coupling and slope, scale of
  either sign, a general axis, row scaling, several components, empty boxes), each precision, transposes, several right-hand sides,
  in place, updates. The dense matrix is built from the equations that the operator stands for, not from the operator.
*/
#include <petscsys.h>
#include <petscblaslapack.h>
#include "src/poisson/solver.h"
#include <math.h>
#include <string.h>

static int         npassed, nfailed;
static uint64_t    state        = 88172645463325252ull;
static const char *precisions[] = {"double", "single", "mixed"};

static PetscBool   device; /* -backend cuda: the same cases on a CUDA device, vectors staged */

static PetscErrorCode CreateSolver(PetscInt dof, const BCROperator ops[], const BCRSolverOptions *options, BCRSolver *solver)
{
  BCRSolverOptions with = *options;

  PetscFunctionBeginUser;
  with.device = device;
  PetscCall(BCRSolverCreate(dof, ops, &with, NULL, solver));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double Uniform(void) /* in (0, 1) */
{
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return ((double)(state >> 11) + .5) / 9007199254740992.;
}
static double Random(double low, double high)
{
  return low + (high - low) * Uniform();
}
static int Pick(int n)
{
  return (int)(Uniform() * n);
}

static void Check(int good, const char *name, const char *what, double value, double bound)
{
  if (good) npassed++;
  else {
    nfailed++;
    printf("FAILED %s: %s %g, bound %g\n", name, what, value, bound);
  }
}

#define MOST 1024 /* largest extent of an axis */

/* One axis as equations: rows of the box with entries for what lies beyond either end, planes, weights */
typedef struct {
  PetscInt N, n, low; /* whole extent, box, nodes before the box */
  double   lower[MOST], diag[MOST], upper[MOST], w[MOST], h[MOST];
  int      periodic;
  int      plane[2], couple[2];
  double   slope[2];
} Line;

typedef struct {
  PetscInt    dim, N[3], n[3], nodes;
  Line        line[3];
  int         owner[3];
  double      shift, scale;
  int         singular;
  double     *inv[3][2], *couplings[3][2], *rowscale; /* rowscale over the box */
  BCROperator op;
} Problem;

enum {
  PLANES    = 1,
  WEIGHTS   = 2,
  GENERAL   = 4,
  SLOPES    = 8,
  ROWSCALE  = 16,
  COUPLINGS = 32,
  NEUMANN   = 64,  /* only ends that have the constant in the null space */
  NEGATIVE  = 128, /* a shift below zero, but above minus the smallest eigenvalue */
  LEFT      = 256  /* with ROWSCALE: of the rows alone */
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

/* A random operator on a grid whose box and planes are given */
static void ProblemCreate(Problem *p, PetscInt dim, const PetscInt n[], const int planes[][2], int kind)
{
  const int general  = kind & GENERAL ? Pick((int)dim) : -1;
  double    floor_   = 0; /* the box's T is at least this positive */
  int       definite = 0, box = 1;

  memset(p, 0, sizeof(*p));
  p->dim = p->op.dim = dim;
  p->nodes           = 1;
  for (int d = 0; d < 3; d++) p->owner[d] = d;
  for (int d = 2; d > 0; d--) {
    const int e = Pick(d + 1), t = p->owner[d];

    p->owner[d] = p->owner[e];
    p->owner[e] = t;
  }
  for (int d = 0; d < 3; d++) p->op.owner[d] = p->owner[d];
  for (int d = 0; d < 3; d++) {
    Line    *l = &p->line[d];
    BCRAxis *x = &p->op.axis[d];
    double   a = Real(exp(Random(-2, 2)));
    int      end[2];

    l->n = d < dim ? n[d] : 1;
    for (int s = 0; s < 2; s++) l->plane[s] = d < dim ? planes[d][s] : 0;
    l->low  = l->plane[0];
    l->N    = l->n + l->plane[0] + l->plane[1];
    p->N[d] = l->N;
    p->n[d] = x->n = l->n;
    p->nodes *= l->N;
    box *= (int)l->n;
    l->periodic = d < dim && !l->plane[0] && !l->plane[1] && d != general && !Pick(kind & NEUMANN ? 3 : 5);
    for (PetscInt i = 0; i < l->n; i++) l->w[i] = l->h[i] = 1;
    if (l->n > 1 || d == general) x->a = (PetscReal)a;
    for (int s = 0; s < 2; s++) {
      const BCREnd free_[] = {BCR_END_NEUMANN, BCR_END_CELL_NEUMANN, BCR_END_DIRICHLET, BCR_END_CELL_DIRICHLET};

      end[s] = (int)free_[Pick(kind & NEUMANN ? 2 : 4)];
      if (l->periodic) end[s] = BCR_END_PERIODIC;
      if (l->plane[s]) {
        l->couple[s] = Pick(4) > 0;
        if (kind & SLOPES && d != general) l->slope[s] = Pick(3) - 1;
        if (kind & SLOPES && d == general) l->slope[s] = Real(Random(-1, 1));
        if (kind & NEUMANN) l->slope[s] = 1;
        if (l->n == 0 && (s == 0 || l->slope[0] != 0)) l->slope[s] = 0; /* such rows would refer to each other */
        if (l->n == 0 && !l->plane[1 - s]) l->slope[s] = 0;
      }
    }
    /* rows: inside, then the ends */
    for (PetscInt i = 0; i < l->n; i++) {
      l->lower[i] = l->upper[i] = l->n > 1 ? a : 0;
      l->diag[i]                = 2 * l->lower[i];
    }
    if (d == general) {
      const double spread = .3;

      for (PetscInt i = 0; i < l->n; i++) {
        l->lower[i] = Real(a * exp(Random(-spread, spread)));
        l->upper[i] = Real(a * exp(Random(-spread, spread)));
        l->diag[i]  = Real(l->lower[i] + l->upper[i] + (kind & NEUMANN ? 0 : a * Uniform()));
        x->a        = 0;
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
      const PetscInt i   = s ? PetscMax(l->n - 1, 0) : 0;
      double        *out = s ? &l->upper[i] : &l->lower[i], *in = s ? &l->lower[i] : &l->upper[i];
      BCRPlane      *pl   = &x->plane[s];
      double         c    = 0;
      PetscInt       face = 1;

      if (l->plane[s] && l->n) {
        if (d != general) {
          if (l->n == 1) *out = a;
          if (l->couple[s]) end[s] = BCR_END_DIRICHLET;
          else if (kind & NEUMANN) end[s] = BCR_END_NEUMANN; /* u = u_1 on the plane and no coupling to it */
        }
        c = l->couple[s] ? *out : 0;
      }
      if (l->n > 1 && d != general) {
        if (end[s] == BCR_END_NEUMANN) {
          *in     = 2 * a;
          l->h[i] = .5;
        }
        if (end[s] == BCR_END_CELL_NEUMANN) l->diag[i] -= a;
        if (end[s] == BCR_END_CELL_DIRICHLET) l->diag[i] += a;
      }
      if (l->n && !c && !(l->periodic && l->n > 1)) *out = 0;
      x->end[s] = (BCREnd)end[s];
      if (d != general && l->n > 1 && c) x->end[s] = l->slope[s] == 0 ? BCR_END_DIRICHLET : (l->slope[s] > 0 ? BCR_END_CELL_NEUMANN : BCR_END_CELL_DIRICHLET);
      if (l->n > 1 && (x->end[s] == BCR_END_DIRICHLET || x->end[s] == BCR_END_CELL_DIRICHLET)) {
        definite = 1;
        floor_ += a / (double)(l->n + 1) / (double)(l->n + 1); /* below the smallest eigenvalue even with one such end: (pi/2)^2 times this */
      }
      if (l->n == 1 && d != general) {
        x->a = (PetscReal)c; /* a plane's coupling only */
        l->diag[0] += c * l->slope[s];
      }
      if (l->plane[s]) {
        pl->present  = PETSC_TRUE;
        pl->couple   = l->couple[s] ? PETSC_TRUE : PETSC_FALSE;
        pl->coupling = (PetscReal)c;
        pl->slope    = (PetscReal)l->slope[s];
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
    if (d == general && l->n) {
      double lower[MOST], diag[MOST], upper[MOST];

      for (PetscInt i = 0; i < l->n; i++) {
        lower[i] = i ? l->lower[i] : 0;
        upper[i] = i + 1 < l->n ? l->upper[i] : 0;
        diag[i]  = l->diag[i];
      }
      if (l->plane[0]) diag[0] -= (double)x->plane[0].coupling * l->slope[0];
      if (l->plane[1]) diag[l->n - 1] -= (double)x->plane[1].coupling * l->slope[1];
      x->lower = ToReal(l->n, lower);
      x->diag  = ToReal(l->n, diag);
      x->upper = ToReal(l->n, upper);
      for (PetscInt i = 0; i < l->n; i++) l->diag[i] += (double)x->diag[i] - diag[i];
    }
    if (kind & WEIGHTS && d < dim && l->n) {
      if (Pick(2)) {
        for (PetscInt i = 0; i < l->n; i++) l->w[i] = l->h[i]; /* half weights: a symmetric matrix */
      } else {
        for (PetscInt i = 0; i < l->n; i++) l->w[i] = Real(Random(.3, 2));
      }
      if (d != general || l->w[0] != l->h[0]) x->weight = ToReal(l->n, l->w);
      else
        for (PetscInt i = 0; i < l->n; i++) l->w[i] = 1;
    }
  }
  p->scale = Real((Pick(2) ? 1 : -1) * exp(Random(-5, 5)));
  p->shift = Pick(2) ? 0 : Real(exp(Random(-3, 2)));
  if (kind & NEUMANN) p->shift = 0;
  else if (!definite) p->shift = Real(exp(Random(-2, 1)));
  if (kind & NEGATIVE && !(kind & GENERAL) && definite) p->shift = Real(-floor_ * .9);
  p->singular    = !definite && p->shift == 0 && box > 0;
  p->op.shift    = (PetscReal)p->shift;
  p->op.scale    = (PetscReal)p->scale;
  p->op.singular = p->singular ? PETSC_TRUE : PETSC_FALSE;
  if (kind & ROWSCALE) {
    p->rowscale = malloc(sizeof(double) * (size_t)(box + 1));
    for (int i = 0; i < box; i++) p->rowscale[i] = Real(Random(.5, 2));
    p->op.rowscale = ToReal(box, p->rowscale);
    p->op.left     = kind & LEFT ? PETSC_TRUE : PETSC_FALSE;
  }
}

/* The matrix, at most 7 entries a row */
typedef struct {
  PetscInt *count, *col;
  double   *val;
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
  Matrix   A = {calloc((size_t)p->nodes, sizeof(PetscInt)), calloc((size_t)p->nodes * 7, sizeof(PetscInt)), calloc((size_t)p->nodes * 7, sizeof(double))};

  for (c[2] = 0; c[2] < p->N[2]; c[2]++) {
    for (c[1] = 0; c[1] < p->N[1]; c[1]++) {
      for (c[0] = 0; c[0] < p->N[0]; c[0]++, row++) {
        PetscInt *col   = A.col + 7 * row;
        double   *val   = A.val + 7 * row;
        int       owner = -1, side[3], m = 1;

        for (int d = 0; d < 3; d++) side[d] = c[d] < p->line[d].low ? 0 : (c[d] >= p->line[d].low + p->line[d].n ? 1 : -1);
        for (int d = 2; d >= 0; d--) owner = side[p->owner[d]] >= 0 ? p->owner[d] : owner;
        col[0] = row;
        if (owner >= 0) { /* d u_b - slope d u_1 */
          const Line *l = &p->line[owner];

          val[0] = 1 / p->inv[owner][side[owner]][PlaneNumber(p, owner, c)];
          if (l->slope[side[owner]] != 0) {
            PetscInt at[3] = {c[0], c[1], c[2]};

            at[owner] += side[owner] ? -1 : 1;
            col[m]   = NodeNumber(p, at);
            val[m++] = -l->slope[side[owner]] * val[0];
          }
        } else { /* scale S W (T + shift) S, the last S not where it is left */
          const double s = p->op.left ? 1 : RowScale(p, c);
          double       w = p->scale * RowScale(p, c);

          for (int d = 0; d < 3; d++) w *= p->line[d].w[c[d] - p->line[d].low];
          val[0] = w * s * p->shift;
          for (int d = 0; d < 3; d++) {
            const Line    *l = &p->line[d];
            const PetscInt i = c[d] - l->low;

            val[0] += w * s * l->diag[i];
            for (int e = 0; e < 2; e++) { /* the neighbours before and behind */
              const double entry = e ? l->upper[i] : l->lower[i];
              PetscInt     at[3] = {c[0], c[1], c[2]}, j = i + (e ? 1 : -1);
              const int    beyond = (j < 0 || j >= l->n) && !l->periodic;

              if (entry == 0) continue;
              at[d]  = l->low + (l->periodic ? (j + l->n) % l->n : j);
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
static void MatrixApply(const Problem *p, const Matrix *A, int transpose, double alpha, const double *x, double *y, double *sums)
{
  for (PetscInt i = 0; i < p->nodes; i++) {
    for (PetscInt m = 0; m < A->count[i]; m++) {
      const PetscInt j = A->col[7 * i + m], to = transpose ? j : i, from = transpose ? i : j;

      y[to] += alpha * A->val[7 * i + m] * x[from];
      if (sums) sums[to] += fabs(A->val[7 * i + m]);
    }
  }
}

static double Tolerance(int precision)
{
  if (sizeof(PetscReal) == 4) return 1e-6;
  return precision == BCR_SINGLE ? 1e-6 : 1e-14;
}

/* One component of a solution: every row of f - A u against the sizes in this row, and u against LAPACK's */
static PetscErrorCode Compare(const Problem *p, const Matrix *A, PetscBool transpose, PetscInt dof, const PetscScalar *f, const PetscScalar *u, int precision, double removed, const char *name)
{
  const PetscInt N    = p->nodes;
  double         umax = 0, worst = 0, mean[2] = {0, 0}, weight = 0, *r[2], *x, *target, *sums;

  PetscFunctionBegin;
  for (int c = 0; c < 2; c++) r[c] = calloc((size_t)N, sizeof(double));
  x      = calloc((size_t)N, sizeof(double));
  target = calloc((size_t)N, sizeof(double));
  sums   = calloc((size_t)N, sizeof(double));
  for (int c = 0; c < 2; c++) {
    for (PetscInt i = 0; i < N; i++) {
      umax    = PetscMax(umax, (double)PetscAbsScalar(u[i * dof]));
      r[c][i] = (double)(c ? PetscImaginaryPart(f[i * dof]) : PetscRealPart(f[i * dof]));
      x[i]    = (double)(c ? PetscImaginaryPart(u[i * dof]) : PetscRealPart(u[i * dof]));
    }
    MatrixApply(p, A, transpose, -1, x, r[c], c ? NULL : sums);
  }
  if (p->singular) { /* what is left is a multiple of W (of H for the transpose) over the box, times the row scaling */
    double   sum[2] = {0, 0}, vmax = 0;
    PetscInt boxes = 0;

    for (PetscInt k = 0; k < p->n[2]; k++) {
      for (PetscInt j = 0; j < p->n[1]; j++) {
        for (PetscInt i = 0; i < p->n[0]; i++, boxes++) {
          const PetscInt at = i + p->line[0].low + p->N[0] * (j + p->line[1].low + p->N[1] * (k + p->line[2].low));
          const double   s = p->rowscale && !p->op.left ? p->rowscale[boxes] : 1, t = p->rowscale && !(p->op.left && transpose) ? p->rowscale[boxes] : 1, h = p->line[0].h[i] * p->line[1].h[j] * p->line[2].h[k];

          target[at] = t * (transpose ? h : p->line[0].w[i] * p->line[1].w[j] * p->line[2].w[k]);
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
    if (removed >= 0) Check(fabs(hypot(mean[0], mean[1]) / weight - removed) <= 100 * Tolerance(precision) * (1 + removed), name, "removed constant", removed, hypot(mean[0], mean[1]) / weight);
    if (!transpose) {
      const double average = hypot(sum[0], sum[1]) / (double)boxes;

      Check(average <= 100 * Tolerance(precision) * vmax, name, "mean of the solution", average, 100 * Tolerance(precision) * vmax);
    }
  }
  for (PetscInt i = 0; i < N; i++) {
    const double size = sums[i] * umax + hypot((double)PetscRealPart(f[i * dof]), (double)PetscImaginaryPart(f[i * dof]));

    if (!(hypot(r[0][i], r[1][i]) <= worst * size)) worst = hypot(r[0][i], r[1][i]) / size;
  }
  Check(worst <= Tolerance(precision), name, "residual of a row", worst, Tolerance(precision));
  for (int c = 0; c < 2; c++) free(r[c]);
  free(x);
  free(target);
  free(sums);
  if (!p->singular && N <= 350) {
    PetscBLASInt n, one = 1, info, *pivot;
    PetscScalar *M, *y;
    double       difference = 0, size = 0;

    PetscCall(PetscBLASIntCast(N, &n));
    PetscCall(PetscCalloc3(N * N, &M, N, &y, N, &pivot));
    for (PetscInt i = 0; i < N; i++) {
      y[i] = f[i * dof];
      for (PetscInt m = 0; m < A->count[i]; m++) M[transpose ? A->col[7 * i + m] + i * N : i + A->col[7 * i + m] * N] += (PetscScalar)A->val[7 * i + m];
    }
    PetscCallBLAS("LAPACKgesv", LAPACKgesv_(&n, &one, M, &n, pivot, y, &n, &info));
    PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "gesv: %d", (int)info);
    for (PetscInt i = 0; i < N; i++) {
      difference = PetscMax(difference, (double)PetscAbsScalar(y[i] - u[i * dof]));
      size       = PetscMax(size, (double)PetscAbsScalar(y[i]));
    }
    Check(difference <= 3000 * Tolerance(precision) * size, name, "difference from gesv", difference / size, 3000 * Tolerance(precision));
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

static PetscBool Same(PetscInt n, const PetscScalar *a, const PetscScalar *b)
{
  return memcmp(a, b, sizeof(PetscScalar) * (size_t)n) ? PETSC_FALSE : PETSC_TRUE;
}

/* Solves with dof problems and compares every component */
static PetscErrorCode SolveAndCompare(BCRSolver solver, PetscInt dof, const Problem p[], const Matrix A[], PetscBool transpose, PetscInt nrhs, int precision, const char *name)
{
  const PetscInt n = p[0].nodes * dof, ld = n + 3;
  PetscScalar   *f, *u, *again;
  BCRSolverInfo  info;

  PetscFunctionBegin;
  PetscCall(PetscCalloc3(ld * nrhs, &f, ld * nrhs, &u, ld * nrhs, &again));
  for (PetscInt r = 0; r < nrhs; r++) RandomVector(n, f + r * ld);
  PetscCall(PetscArraycpy(again, f, ld * nrhs));
  PetscCall(BCRSolverSolve(solver, transpose, nrhs, f, ld, u, ld));
  Check(Same(ld * nrhs, f, again), name, "the right-hand side was changed", 1, 0);
  PetscCall(BCRSolverGetInfo(solver, &info));
  for (PetscInt r = 0; r < nrhs; r++) {
    for (PetscInt c = 0; c < dof; c++) PetscCall(Compare(&p[c], &A[c], transpose, dof, f + r * ld + c, u + r * ld + c, precision, nrhs == 1 && dof == 1 ? (double)info.removed : -1, name));
    for (PetscInt i = n; i < ld; i++) {
      if (u[r * ld + i] != (PetscScalar)0) Check(0, name, "written beyond the vector", (double)PetscAbsScalar(u[r * ld + i]), 0);
    }
  }
  /* the same bits again */
  for (PetscInt i = 0; i < ld * nrhs; i++) again[i] = (PetscScalar)NAN;
  PetscCall(BCRSolverSolve(solver, transpose, nrhs, f, ld, again, ld));
  for (PetscInt r = 0; r < nrhs; r++) Check(Same(n, u + r * ld, again + r * ld), name, "a repeated solve differs", 1, 0);
  /* in place */
  PetscCall(PetscArraycpy(again, f, ld * nrhs));
  PetscCall(BCRSolverSolve(solver, transpose, nrhs, again, ld, again, ld));
  for (PetscInt r = 0; r < nrhs; r++) {
    for (PetscInt c = 0; c < dof; c++) PetscCall(Compare(&p[c], &A[c], transpose, dof, f + r * ld + c, again + r * ld + c, precision, -1, name));
  }
  PetscCall(PetscFree3(f, u, again));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunCase(PetscInt dim, const PetscInt n[], const int planes[][2], int kind, PetscInt dof, int equal)
{
  static int  count = 0;
  const int   first = count++;
  Problem     p[3];
  Matrix      A[3];
  BCROperator ops[3];
  char        name[256];
  uint64_t    seed = state;

  PetscFunctionBegin;
  for (PetscInt c = 0; c < dof; c++) {
    const uint64_t keep = state;
    int            k    = kind;

    if (equal && c) state = seed; /* the operator of component 0 again */
    else if (c == 2 && !(k & COUPLINGS)) k |= NEUMANN;
    ProblemCreate(&p[c], dim, n, planes, k);
    if (equal && c) state = keep;
    A[c]   = MatrixCreate(&p[c]);
    ops[c] = p[c].op;
  }
  for (int precision = 0; precision < 3; precision++) {
    BCRSolverOptions options;
    BCRSolver        solver;

    memset(&options, 0, sizeof(options));
    options.core.precision = (BCRPrecision)precision;
    options.core.isa       = first % 4 - 1;
    PetscCall(CreateSolver(dof, ops, &options, &solver));
    for (int t = 0; t < 2; t++) {
      PetscInt nrhs = 1 + (first + t + precision) % 3;

      PetscCall(PetscSNPrintf(name, sizeof(name), "case %d (%" PetscInt_FMT "x%" PetscInt_FMT "x%" PetscInt_FMT " planes %d%d%d%d%d%d kind %d dof %" PetscInt_FMT "%s) %s%s", first, p[0].n[0], p[0].n[1], p[0].n[2], p[0].line[0].plane[0],
                              p[0].line[0].plane[1], p[0].line[1].plane[0], p[0].line[1].plane[1], p[0].line[2].plane[0], p[0].line[2].plane[1], kind, dof, equal ? " equal" : "", precisions[precision], t ? " transpose" : ""));
      PetscCall(SolveAndCompare(solver, dof, p, A, t ? PETSC_TRUE : PETSC_FALSE, nrhs, precision, name));
    }
    PetscCall(BCRSolverDestroy(&solver));
  }
  for (PetscInt c = 0; c < dof; c++) {
    ProblemFree(&p[c]);
    MatrixFree(&A[c]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Random_(int rounds)
{
  static const PetscInt sizes[] = {0, 1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 9, 11, 12, 13, 16, 17, 31, 33};

  PetscFunctionBegin;
  for (int round = 0; round < rounds; round++) {
    PetscInt dim = 1 + Pick(3), n[3] = {1, 1, 1}, nodes = 1, dof = Pick(4) ? 1 : 2 + Pick(2);
    int      planes[3][2] = {{0}}, kind = 0;

    if (Pick(2)) kind |= PLANES;
    if (!Pick(3)) kind |= WEIGHTS;
    if (!Pick(4)) kind |= GENERAL;
    if (!Pick(5)) kind |= NEUMANN;
    if (!Pick(5)) kind |= NEGATIVE;
    if (kind & PLANES && Pick(2)) kind |= SLOPES;
    if (!Pick(6)) {
      kind |= ROWSCALE;
      if (Pick(2)) kind |= LEFT;
      if (kind & PLANES && !(kind & LEFT && Pick(3))) kind = (kind & ~(SLOPES | NEUMANN)) | COUPLINGS;
    }
    for (int d = 0; d < dim; d++) {
      const int most = dim == 1 ? 19 : (dim == 2 ? 16 : 11);

      n[d] = sizes[Pick(most)];
      if (kind & PLANES) {
        planes[d][0] = Pick(3) > 0;
        planes[d][1] = Pick(3) > 0;
      }
      if (n[d] == 0 && !planes[d][0] && !planes[d][1]) n[d] = 1;
      nodes *= n[d] + planes[d][0] + planes[d][1];
    }
    if (nodes > 350) continue;
    PetscCall(RunCase(dim, n, planes, kind, dof, Pick(2)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Larger grids, by the residual */
static PetscErrorCode Larger(void)
{
  static const struct {
    PetscInt dim, n[3];
    int      planes[3][2], kind;
  } cases[] = {
    {1, {1000, 1, 1},  {{1, 0}, {0, 0}, {0, 0}}, PLANES                   },
    {2, {257, 130, 1}, {{0, 0}, {0, 0}, {0, 0}}, 0                        },
    {2, {127, 200, 1}, {{1, 1}, {1, 1}, {0, 0}}, PLANES                   },
    {2, {128, 128, 1}, {{0, 0}, {0, 0}, {0, 0}}, NEUMANN | WEIGHTS        },
    {2, {64, 300, 1},  {{1, 0}, {0, 1}, {0, 0}}, PLANES | SLOPES          },
    {2, {5, 600, 1},   {{0, 0}, {0, 0}, {0, 0}}, ROWSCALE | WEIGHTS       },
    {2, {600, 5, 1},   {{0, 0}, {1, 0}, {0, 0}}, GENERAL | PLANES         },
    {2, {90, 75, 1},   {{1, 1}, {1, 1}, {0, 0}}, ROWSCALE | LEFT | PLANES },
    {3, {33, 20, 41},  {{1, 1}, {1, 1}, {1, 1}}, PLANES                   },
    {3, {31, 32, 17},  {{0, 0}, {0, 0}, {0, 0}}, NEUMANN                  },
    {3, {64, 9, 30},   {{0, 1}, {0, 0}, {1, 0}}, PLANES | SLOPES | WEIGHTS},
    {3, {16, 40, 24},  {{0, 0}, {0, 0}, {0, 0}}, GENERAL | WEIGHTS        },
  };

  PetscFunctionBegin;
  for (size_t m = 0; m < sizeof(cases) / sizeof(cases[0]); m++) PetscCall(RunCase(cases[m].dim, cases[m].n, cases[m].planes, cases[m].kind, m % 4 == 3 ? 2 : 1, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values in the same shape: scale, shift, planes, row scales, weights, all couplings times a constant; then what it has to refuse */
static PetscErrorCode Updates(void)
{
  const int      kinds[] = {0, PLANES, PLANES | SLOPES, PLANES | WEIGHTS, ROWSCALE, ROWSCALE | PLANES | COUPLINGS, GENERAL, GENERAL | PLANES | SLOPES, ROWSCALE | LEFT | PLANES | SLOPES, ROWSCALE | LEFT | WEIGHTS};
  const PetscInt n[]     = {7, 6, 5};
  const int      planes[][2] =
    {
      {1, 0},
      {1, 1},
      {0, 1}
  },
            none[][2] = {{0, 0}, {0, 0}, {0, 0}};

  PetscFunctionBegin;
  for (int round = 0; round < 20; round++) {
    const int kind = kinds[round % 10];

    for (int precision = 0; precision < 3; precision++) {
      const PetscInt   dim = 2 + (round + round / 10) % 2;
      Problem          p[2], other;
      Matrix           A[2];
      BCROperator      ops[2];
      BCRSolverOptions options;
      BCRSolver        solver, second;
      PetscBool        done;
      char             name[128];

      memset(&options, 0, sizeof(options));
      options.core.precision = (BCRPrecision)precision;
      options.core.isa       = -1;
      for (int c = 0; c < 2; c++) {
        ProblemCreate(&p[c], dim, n, kind & PLANES ? planes : none, kind);
        A[c]   = MatrixCreate(&p[c]);
        ops[c] = p[c].op;
      }
      PetscCall(CreateSolver(2, ops, &options, &solver));
      PetscCall(CreateSolver(1, ops, &options, &second));
      PetscCall(SolveAndCompare(solver, 2, p, A, PETSC_FALSE, 1, precision, "before updates"));
      for (int step = 0; step < 6; step++) {
        PetscCall(PetscSNPrintf(name, sizeof(name), "update %d of kind %d, %s", step, kind, precisions[precision]));
        for (int c = 0; c < 2; c++) {
          Problem *q = &p[c];

          if (step == 0 || step == 4) q->op.scale = (PetscReal)(q->scale = Real(-3 * q->scale));
          if (step == 1 || step == 4) q->op.shift = (PetscReal)(q->shift = Real(q->shift + 1 + c));
          for (int d = 0; d < dim && step == 2; d++) {
            for (int s = 0; s < 2; s++) {
              const PetscInt nodes = p->nodes / q->N[d];

              if (!q->line[d].plane[s]) continue;
              for (PetscInt i = 0; i < nodes; i++) q->inv[d][s][i] = Real(Random(.5, 2));
              free(q->op.axis[d].plane[s].inv);
              q->op.axis[d].plane[s].inv = ToReal(nodes, q->inv[d][s]);
              for (PetscInt i = 0; i < nodes && q->couplings[d][s]; i++) q->op.axis[d].plane[s].couplings[i] = (PetscReal)(q->couplings[d][s][i] = Real(Random(-1, 1)));
            }
          }
          if (step == 3) {
            if (kind & ROWSCALE) {
              for (PetscInt i = 0; i < q->n[0] * q->n[1] * q->n[2]; i++) q->op.rowscale[i] = (PetscReal)(q->rowscale[i] = Real(Random(.5, 2)));
            }
            free(q->op.axis[0].weight);
            for (PetscInt i = 0; i < n[0]; i++) q->line[0].w[i] = Real(Random(.5, 2));
            q->op.axis[0].weight = ToReal(n[0], q->line[0].w);
          }
          if (step == 5) { /* another time step: T times 1/7 */
            for (int d = 0; d < 3; d++) {
              Line    *l = &q->line[d];
              BCRAxis *x = &q->op.axis[d];

              for (PetscInt i = 0; i < l->n; i++) {
                l->lower[i] /= 7;
                l->diag[i] /= 7;
                l->upper[i] /= 7;
                if (x->lower) x->lower[i] /= 7, x->diag[i] /= 7, x->upper[i] /= 7;
              }
              x->a /= 7;
              for (int s = 0; s < 2; s++) x->plane[s].coupling /= 7;
            }
          }
          MatrixFree(&A[c]);
          A[c]   = MatrixCreate(q);
          ops[c] = q->op;
        }
        PetscCall(BCRSolverUpdate(solver, ops, &done));
        Check(done, name, "refused", 0, 1);
        if (done) {
          PetscCall(SolveAndCompare(solver, 2, p, A, PETSC_FALSE, 1, precision, name));
          PetscCall(SolveAndCompare(solver, 2, p, A, PETSC_TRUE, 1, precision, name));
        }
      }
      /* other couplings in one axis, another size, other ends, other planes */
      for (int step = 0; step < 4; step++) {
        const PetscInt more[] = {7, 7, 5};

        ops[0] = p[0].op;
        memset(&other, 0, sizeof(other));
        if (step == 0 && ops[0].axis[1].lower) continue;
        if (step == 0) ops[0].axis[1].a *= 2;
        if (step == 1) {
          ProblemCreate(&other, dim, more, kind & PLANES ? planes : none, kind);
          ops[0] = other.op;
        }
        if (step == 2) ops[0].axis[0].end[1] = ops[0].axis[0].end[1] == BCR_END_NEUMANN ? BCR_END_DIRICHLET : BCR_END_NEUMANN;
        if (step == 3) ops[0].axis[1].plane[0].present = kind & PLANES ? PETSC_FALSE : PETSC_TRUE;
        PetscCall(BCRSolverUpdate(solver, ops, &done));
        Check(!done, "updates", "an operator of another shape was taken", step, 0);
        ProblemFree(&other);
      }
      ops[0] = p[0].op;
      PetscCall(SolveAndCompare(solver, 2, p, A, PETSC_FALSE, 1, precision, "after refused updates"));
      PetscCall(BCRSolverUpdate(second, ops, &done)); /* the other solver has been alone since */
      Check(done, "second solver", "refused", 0, 1);
      if (done) PetscCall(SolveAndCompare(second, 1, p, A, PETSC_FALSE, 2, precision, "second solver"));
      PetscCall(BCRSolverDestroy(&second));
      PetscCall(BCRSolverDestroy(&solver));
      for (int c = 0; c < 2; c++) {
        ProblemFree(&p[c]);
        MatrixFree(&A[c]);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solver is linear in f and 1/scale: powers of two change no digit, however far they go; zero gives zero */
static PetscErrorCode Extremes(void)
{
  const PetscInt n[]         = {9, 12, 1};
  const int      planes[][2] = {
         {1, 0},
         {0, 0},
         {0, 0}
  };
  const int far = sizeof(PetscReal) == 4 ? 40 : 900;

  PetscFunctionBegin;
  for (int precision = 0; precision < 3; precision++) {
    for (int kind = 0; kind < 2; kind++) {
      Problem          p;
      BCRSolverOptions options;
      BCRSolver        solver;
      PetscScalar     *f, *u, *v;
      PetscInt         N;

      memset(&options, 0, sizeof(options));
      options.core.precision = (BCRPrecision)precision;
      options.core.isa       = -1;
      ProblemCreate(&p, 2, n, planes, kind ? PLANES | WEIGHTS : PLANES);
      N = p.nodes;
      PetscCall(CreateSolver(1, &p.op, &options, &solver));
      PetscCall(PetscMalloc3(N, &f, N, &u, N, &v));
      for (PetscInt i = 0; i < N; i++) f[i] = 0;
      PetscCall(BCRSolverSolve(solver, PETSC_FALSE, 1, f, N, u, N));
      for (PetscInt i = 0; i < N; i++) {
        if (u[i] != (PetscScalar)0) Check(0, "zero right-hand side", precisions[precision], (double)PetscAbsScalar(u[i]), 0);
      }
      npassed++;
      RandomVector(N, f);
      PetscCall(BCRSolverSolve(solver, PETSC_FALSE, 1, f, N, u, N));
      if (precision != BCR_SINGLE) { /* single has the range of single */
        for (int sign = -1; sign < 2; sign += 2) {
          double largest = 0, difference = 0;

          for (PetscInt i = 0; i < N; i++) v[i] = f[i] * (PetscReal)ldexp(1., sign * far);
          PetscCall(BCRSolverSolve(solver, PETSC_FALSE, 1, v, N, v, N));
          for (PetscInt i = 0; i < N; i++) {
            largest = PetscMax(largest, (double)PetscAbsScalar(u[i]));
            if (!((double)PetscAbsScalar(v[i] * (PetscReal)ldexp(1., -sign * far) - u[i]) <= difference)) difference = (double)PetscAbsScalar(v[i] * (PetscReal)ldexp(1., -sign * far) - u[i]);
          }
          Check(difference <= 100 * Tolerance(precision) * largest, "far scale", precisions[precision], difference, 100 * Tolerance(precision) * largest);
        }
      }
      PetscCall(PetscFree3(f, u, v));
      PetscCall(BCRSolverDestroy(&solver));
      ProblemFree(&p);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Smallest eigenvalue lost in single precision: mixed has to notice and still deliver */
static PetscErrorCode NearlySingular(void)
{
  const PetscInt n[]         = {31, 30, 1};
  const int      planes[][2] = {
         {1, 1},
         {0, 0},
         {0, 0}
  };

  PetscFunctionBegin;
  if (sizeof(PetscReal) == 4) PetscFunctionReturn(PETSC_SUCCESS);
  for (int decade = 2; decade < 13; decade += 2) {
    Problem          p;
    Matrix           A;
    BCRSolverOptions options;
    BCRSolver        solver;
    char             name[64];
    double           smallest = 0;

    ProblemCreate(&p, 2, n, planes, PLANES);
    for (int d = 0; d < 2; d++) { /* Dirichlet ends all round, coupled to the planes of x */
      BCRAxis *x = &p.op.axis[d];
      Line    *l = &p.line[d];

      x->a        = 1;
      l->periodic = 0;
      for (int s = 0; s < 2; s++) {
        x->end[s] = BCR_END_DIRICHLET;
        if (l->plane[s]) {
          x->plane[s].couple   = PETSC_TRUE;
          x->plane[s].coupling = 1;
        }
      }
      for (PetscInt i = 0; i < n[d]; i++) {
        l->diag[i]  = 2;
        l->lower[i] = i || d == 0 ? 1 : 0;
        l->upper[i] = i + 1 < n[d] || d == 0 ? 1 : 0;
      }
      smallest += 2 - 2 * cos(PETSC_PI / (double)(n[d] + 1));
    }
    p.shift       = -smallest * (1 - pow(10, -decade));
    p.op.shift    = (PetscReal)p.shift;
    p.singular    = 0;
    p.op.singular = PETSC_FALSE;
    A             = MatrixCreate(&p);
    for (int precision = 0; precision < 3; precision += 2) {
      memset(&options, 0, sizeof(options));
      options.core.precision = (BCRPrecision)precision;
      options.core.isa       = -1;
      PetscCall(PetscSNPrintf(name, sizeof(name), "nearly singular, 1e-%d, %s", decade, precisions[precision]));
      PetscCall(CreateSolver(1, &p.op, &options, &solver));
      PetscCall(SolveAndCompare(solver, 1, &p, &A, PETSC_FALSE, 1, precision, name));
      PetscCall(BCRSolverDestroy(&solver));
    }
    MatrixFree(&A);
    ProblemFree(&p);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Work space, in vectors of the caller: 1.5 at most, but for the row scaling, itself one vector */
static PetscErrorCode Memory(void)
{
  const PetscInt n[]         = {1023, 1000, 1};
  const int      planes[][2] = {
         {0, 0},
         {0, 0},
         {0, 0}
  };

  PetscFunctionBegin;
  for (int precision = 0; precision < 3; precision++) {
    for (int m = 0; m < 6; m++) {
      const PetscInt   dof = m % 3 + 1;
      Problem          p[3];
      BCROperator      ops[3];
      BCRSolverOptions options;
      BCRSolver        solver;
      BCRSolverInfo    info;
      PetscScalar     *f, *u;
      PetscInt         size = 0;
      double           vectors;
      char             name[64];

      if (sizeof(PetscReal) == 4 && precision == BCR_DOUBLE) continue; /* work in double on vectors in single: twice the size of a component */
      memset(&options, 0, sizeof(options));
      options.core.precision = (BCRPrecision)precision;
      options.core.isa       = -1;
      for (PetscInt c = 0; c < dof; c++) {
        ProblemCreate(&p[c], 2, n, planes, m / 3 ? ROWSCALE : 0);
        ops[c] = p[c].op;
        size += p[c].nodes;
      }
      PetscCall(CreateSolver(dof, ops, &options, &solver));
      PetscCall(PetscMalloc2(size, &f, size, &u));
      RandomVector(size, f);
      PetscCall(BCRSolverSolve(solver, PETSC_FALSE, 1, f, size, u, size));
      PetscCall(BCRSolverGetInfo(solver, &info));
      vectors = (double)info.workspace / ((double)size * (double)sizeof(PetscScalar));
      PetscCall(PetscSNPrintf(name, sizeof(name), "work space, dof %" PetscInt_FMT " %s", dof, precisions[precision]));
      Check(vectors <= (m / 3 ? 2. : 1.5) && info.workspace > 0, name, "vectors", vectors, m / 3 ? 2. : 1.5);
      Check(info.flops > 0, name, "operations", info.flops, 0);
      PetscCall(PetscFree2(f, u));
      PetscCall(BCRSolverDestroy(&solver));
      for (PetscInt c = 0; c < dof; c++) ProblemFree(&p[c]);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char     backend[8] = "cpu";
  PetscInt cases      = 600;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-backend", backend, sizeof(backend), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cases", &cases, NULL));
  PetscCall(PetscStrcmp(backend, "cuda", &device));
  PetscCall(Random_((int)cases));
  PetscCall(Larger());
  PetscCall(Updates());
  PetscCall(Extremes());
  PetscCall(NearlySingular());
  if (!device) PetscCall(Memory());
  printf("%d passed, %d failed\n", npassed, nfailed);
  PetscCall(PetscFinalize());
  return nfailed ? 1 : 0;
}
