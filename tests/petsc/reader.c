/*
  The operator reader: matrices of every form that it must recognise are assembled on a DMDA, read, multiplied out again from what was
  read by code that shares nothing with the reader, and compared with MatMult on random vectors. Then the fits of matrices that are
  not separable, against dense eigenvalues, and the errors.
*/
#include <petscdmda.h>
#include <petscblaslapack.h>
#include "../../src/operator/read.h"

static int passed = 0, failed = 0;

#if defined(PETSC_USE_REAL_SINGLE)
  #define TOL 1e-5
#else
  #define TOL 1e-12
#endif

static void Report(PetscBool ok, const char *fmt, ...)
{
  if (ok) passed++;
  else {
    va_list args;

    failed++;
    va_start(args, fmt);
    printf("FAILED ");
    vprintf(fmt, args);
    printf("\n");
    va_end(args);
  }
}

/* ---- random numbers ---- */

static uint64_t seed = 12345;

static double Uniform(void)
{
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (double)(seed >> 11) / 9007199254740992.0;
}

static int Pick(int n) { return (int)(Uniform() * n) % n; }

/* ---- building matrices ---- */

typedef enum {
  DIRICHLET,
  NEUMANN,        /* doubled coupling */
  NEUMANN_HALF,   /* the same with the row halved: symmetric */
  CELL_NEUMANN,
  CELL_DIRICHLET,
  IDENTITY,       /* diagonal only, interior rows keep their coupling */
  IDENTITY_APART, /* the same without that coupling */
  SLOPE,          /* (d, -e) */
  ROBIN,
  PERIODIC
} End;
static const char *const names[] = {"dirichlet", "neumann", "half", "cellneumann", "celldirichlet", "identity", "apart", "slope", "robin", "periodic"};

typedef struct {
  PetscInt N;
  End      end[2];
  double   a, d[2], e[2], robin[2]; /* plane rows: d (and e) */
  PetscBool vary[2];                /* the planes' diagonal varies */
  int      stretch;                 /* 0 uniform; 1 finite differences on a stretched axis; 2 finite volumes: symmetric, with weights; 3 random coefficients, unsymmetric */
  double  *l, *u, *c, *w;           /* the axis in full */
} Axis;

typedef struct {
  PetscInt dim, dof;
  Axis     axis[3];
  int      order[3]; /* whose rows the corners have */
  double   shift, scale;
} Problem;

static PetscBool IsPlane(End e) { return (PetscBool)(e == IDENTITY || e == IDENTITY_APART || e == SLOPE); }

/* rows of the axis over its full extent, planes' rows left out */
static void AxisBuild(Axis *x)
{
  const PetscInt n = x->N, b = IsPlane(x->end[0]) ? 1 : 0, t = n - 1 - (IsPlane(x->end[1]) ? 1 : 0);
  PetscInt       i;
  int            s;
  double        *h;

  PetscCallAbort(PETSC_COMM_SELF, PetscMalloc4(n, &x->l, n, &x->u, n, &x->c, n, &x->w));
  PetscCallAbort(PETSC_COMM_SELF, PetscMalloc1(n + 1, &h));
  for (i = 0; i <= n; i++) h[i] = 0.3 + Uniform();
  for (i = 0; i < n; i++) {
    x->w[i] = 1;
    x->l[i] = x->u[i] = x->a;
    if (x->stretch == 1) {
      x->l[i] = 2 * x->a / (h[i] * (h[i] + h[i + 1]));
      x->u[i] = 2 * x->a / (h[i + 1] * (h[i] + h[i + 1]));
    }
    if (x->stretch == 2) {
      x->w[i] = (h[i] + h[i + 1]) / 2;
      x->l[i] = x->a / h[i] / x->w[i];
      x->u[i] = x->a / h[i + 1] / x->w[i];
    }
    if (x->stretch == 3) {
      x->l[i] = x->a * (0.2 + Uniform());
      x->u[i] = x->a * (0.2 + Uniform());
    }
    x->c[i] = x->l[i] + x->u[i] + (x->stretch == 3 ? 0.3 * x->a * Uniform() : 0);
  }
  for (s = 0; s < 2 && b <= t; s++) {
    const PetscInt e   = s ? t : b;
    double        *out = s ? &x->u[e] : &x->l[e], *in = s ? &x->l[e] : &x->u[e];

    switch (x->end[s]) {
    case DIRICHLET:
    case IDENTITY_APART:
      *out = 0;
      break;
    case NEUMANN_HALF:
      x->w[e] *= 0.5; /* fall through */
    case NEUMANN:
      *in += *out;
      *out = 0;
      break;
    case CELL_NEUMANN:
      x->c[e] -= *out;
      *out = 0;
      break;
    case CELL_DIRICHLET:
      x->c[e] += *out;
      *out = 0;
      break;
    case ROBIN:
      x->c[e] += x->robin[s] * *out;
      *out = 0;
      break;
    case IDENTITY:
    case SLOPE:
    case PERIODIC:
      break;
    }
  }
  PetscCallAbort(PETSC_COMM_SELF, PetscFree(h));
}

static void ProblemDestroy(Problem *p)
{
  PetscInt d;

  for (d = 0; d < 3; d++) {
    Axis *x = &p->axis[d];
    if (x->l) PetscCallAbort(PETSC_COMM_SELF, PetscFree4(x->l, x->u, x->c, x->w));
  }
}

static PetscErrorCode Grid(PetscInt dim, const PetscInt N[], PetscInt dof, const PetscBool periodic[], DMDAStencilType stencil, DM *da)
{
  DMBoundaryType b[3];
  PetscInt       d;

  PetscFunctionBegin;
  for (d = 0; d < 3; d++) b[d] = periodic[d] ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE;
  if (dim == 1) PetscCall(DMDACreate1d(PETSC_COMM_SELF, b[0], N[0], dof, 1, NULL, da));
  else if (dim == 2) PetscCall(DMDACreate2d(PETSC_COMM_SELF, b[0], b[1], stencil, N[0], N[1], 1, 1, dof, 1, NULL, NULL, da));
  else PetscCall(DMDACreate3d(PETSC_COMM_SELF, b[0], b[1], b[2], stencil, N[0], N[1], N[2], 1, 1, 1, dof, 1, NULL, NULL, NULL, da));
  PetscCall(DMSetUp(*da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* adds component c of the problem to a matrix in which every entry is added */
static PetscErrorCode Fill(const Problem *p, PetscInt c, PetscInt dof, Mat A)
{
  PetscInt ix[3], d, s, k;

  PetscFunctionBegin;
  for (ix[2] = 0; ix[2] < p->axis[2].N; ix[2]++) {
    for (ix[1] = 0; ix[1] < p->axis[1].N; ix[1]++) {
      for (ix[0] = 0; ix[0] < p->axis[0].N; ix[0]++) {
        const PetscInt st[3] = {1, p->axis[0].N, p->axis[0].N * p->axis[1].N}, node = ix[0] * st[0] + ix[1] * st[1] + ix[2] * st[2], row = c + dof * node;
        double         w = p->scale, diagonal = p->shift;
        PetscBool      plane = PETSC_FALSE;

        for (k = 0; k < 3 && !plane; k++) {
          const Axis *x;

          d = p->order[k];
          x = &p->axis[d];
          for (s = 0; s < 2 && !plane; s++) {
            if (!IsPlane(x->end[s]) || ix[d] != (s ? x->N - 1 : 0)) continue;
            plane = PETSC_TRUE;
            {
              const double vary = x->vary[s] ? 1 + 0.5 * sin(1.0 + (double)node) : 1;
              PetscCall(MatSetValue(A, row, row, (PetscScalar)(x->d[s] * vary), ADD_VALUES));
              if (x->end[s] == SLOPE) PetscCall(MatSetValue(A, row, row + (s ? -1 : 1) * dof * st[d], (PetscScalar)(-x->e[s] * vary), ADD_VALUES));
            }
          }
        }
        if (plane) continue;
        for (d = 0; d < 3; d++) w *= p->axis[d].w[ix[d]];
        for (d = 0; d < p->dim; d++) {
          const Axis    *x = &p->axis[d];
          const PetscInt i = ix[d], lo = i ? node - st[d] : node + (x->N - 1) * st[d], hi = i < x->N - 1 ? node + st[d] : node - (x->N - 1) * st[d];

          diagonal += x->c[i];
          if (x->l[i] != 0 && (i || x->end[0] == PERIODIC)) PetscCall(MatSetValue(A, row, c + dof * lo, (PetscScalar)(-w * x->l[i]), ADD_VALUES));
          if (x->u[i] != 0 && (i < x->N - 1 || x->end[0] == PERIODIC)) PetscCall(MatSetValue(A, row, c + dof * hi, (PetscScalar)(-w * x->u[i]), ADD_VALUES));
        }
        PetscCall(MatSetValue(A, row, row, (PetscScalar)(w * diagonal), ADD_VALUES));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Assemble(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- multiplying with what was read ---- */

static double Row(const BCROperator *op, const PetscInt N[3], const PetscInt ix[3], const double *x)
{
  const PetscInt st[3] = {1, N[0], N[0] * N[1]}, node = ix[0] + st[1] * ix[1] + st[2] * ix[2];
  PetscInt       k, d, s, o[3], box = 0, size = 1;
  double         w = 1, y, add = 0, S = 1;

  for (k = 0; k < 3; k++) {
    d = op->owner[k];
    for (s = 0; s < 2; s++) {
      const BCRPlane *pl = &op->axis[d].plane[s];

      if (pl->present && ix[d] == (s ? N[d] - 1 : 0)) {
        const PetscInt q   = d == 0 ? ix[1] + N[1] * ix[2] : (d == 1 ? ix[0] + N[0] * ix[2] : ix[0] + N[0] * ix[1]);
        const double   inv = pl->inv ? pl->inv[q] : pl->inv0;

        return (x[node] - (pl->slope != 0 ? (double)pl->slope * x[node + (s ? -1 : 1) * st[d]] : 0)) / inv;
      }
    }
  }
  for (d = 0; d < 3; d++) {
    o[d] = ix[d] - (op->axis[d].plane[0].present ? 1 : 0);
    if (op->axis[d].weight) w *= op->axis[d].weight[o[d]];
    box += o[d] * size;
    size *= op->axis[d].n;
  }
  if (op->rowscale) S = op->rowscale[box];
  y = op->shift * x[node] * S;
  for (d = 0, size = 1; d < 3; d++) {
    const BCRAxis *ax = &op->axis[d];
    const PetscInt n = ax->n, i = o[d], step = size;
    const double   u = x[node];
    double         T = 0;

    size *= n;
#define AT(j) (x[node + ((j) - i) * st[d]] * (op->rowscale ? (double)op->rowscale[box + ((j) - i) * step] : 1))
    if (ax->lower) {
      T = ax->diag[i] * u * S;
      if (i > 0) T -= ax->lower[i] * AT(i - 1);
      if (i < n - 1) T -= ax->upper[i] * AT(i + 1);
    } else if (n > 1) {
      const double lo = i > 0 ? AT(i - 1) : (ax->end[0] == BCR_END_PERIODIC ? AT(n - 1) : (ax->end[0] == BCR_END_NEUMANN ? AT(1) : (ax->end[0] == BCR_END_CELL_NEUMANN ? S * u : (ax->end[0] == BCR_END_CELL_DIRICHLET ? -S * u : 0))));
      const double hi = i < n - 1 ? AT(i + 1) : (ax->end[1] == BCR_END_PERIODIC ? AT(0) : (ax->end[1] == BCR_END_NEUMANN ? AT(n - 2) : (ax->end[1] == BCR_END_CELL_NEUMANN ? S * u : (ax->end[1] == BCR_END_CELL_DIRICHLET ? -S * u : 0))));

      T = ax->a * (2 * S * u - lo - hi);
    }
    for (s = 0; s < 2; s++) {
      const BCRPlane *pl = &ax->plane[s];

      if (pl->present && pl->couple && i == (s ? n - 1 : 0)) {
        PetscInt     at[3] = {ix[0], ix[1], ix[2]};
        const double ub    = x[node + (s ? 1 : -1) * st[d]];

        at[d] = s ? N[d] - 1 : 0;
        if (pl->couplings) add -= pl->couplings[d == 0 ? at[1] + N[1] * at[2] : (d == 1 ? at[0] + N[0] * at[2] : at[0] + N[0] * at[1])] * ub;
        else T += pl->coupling * (pl->slope * u - ub);
      }
    }
    y += T;
  }
  return op->scale * (w * S * y + add);
}

/* ||A x - model x|| / (||A|| ||x||), infinity norms, one random x */
static PetscErrorCode Difference(DM da, Mat A, PetscInt dof, const BCROperator ops[], double *diff)
{
  PetscInt           N[3], dim, n, i, c, ix[3];
  Vec                x, y;
  PetscReal          norm, xnorm;
  double            *v;
  const PetscScalar *yy;
  PetscScalar       *xx;

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(da, &dim, &N[0], &N[1], &N[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  if (dim < 2) N[1] = 1;
  if (dim < 3) N[2] = 1;
  n = N[0] * N[1] * N[2];
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecGetArray(x, &xx));
  for (i = 0; i < n * dof; i++) xx[i] = 2 * Uniform() - 1;
  PetscCall(VecRestoreArray(x, &xx));
  PetscCall(MatMult(A, x, y));
  PetscCall(MatNorm(A, NORM_INFINITY, &norm));
  PetscCall(VecNorm(x, NORM_INFINITY, &xnorm));
  PetscCall(PetscMalloc1(n, &v));
  *diff = 0;
  PetscCall(VecGetArrayRead(x, (const PetscScalar **)&xx));
  PetscCall(VecGetArrayRead(y, &yy));
  for (c = 0; c < dof; c++) {
    for (i = 0; i < n; i++) v[i] = (double)PetscRealPart(xx[c + dof * i]);
    for (i = 0, ix[2] = 0; ix[2] < N[2]; ix[2]++)
      for (ix[1] = 0; ix[1] < N[1]; ix[1]++)
        for (ix[0] = 0; ix[0] < N[0]; ix[0]++, i++) *diff = PetscMax(*diff, fabs(Row(&ops[c], N, ix, v) - (double)PetscRealPart(yy[c + dof * i])));
  }
  *diff /= (double)(norm * xnorm);
  PetscCall(VecRestoreArrayRead(x, (const PetscScalar **)&xx));
  PetscCall(VecRestoreArrayRead(y, &yy));
  PetscCall(PetscFree(v));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char *Describe(const Problem *p)
{
  static char text[512];
  int         k = 0, d;

  for (d = 0; d < p->dim; d++) k += snprintf(text + k, sizeof(text) - (size_t)k, "[%d %s %s a=%g stretch=%d] ", (int)p->axis[d].N, names[p->axis[d].end[0]], names[p->axis[d].end[1]], p->axis[d].a, p->axis[d].stretch);
  snprintf(text + k, sizeof(text) - (size_t)k, "shift=%g scale=%g order=%d%d%d", p->shift, p->scale, p->order[0], p->order[1], p->order[2]);
  return text;
}

static void AxisDefault(Axis *x, PetscInt N)
{
  memset(x, 0, sizeof(*x));
  x->N      = N;
  x->a      = 1;
  x->end[0] = x->end[1] = DIRICHLET;
  x->d[0]               = 4;
  x->d[1]               = 4;
}

static void ProblemDefault(Problem *p, PetscInt dim, PetscInt nx, PetscInt ny, PetscInt nz)
{
  memset(p, 0, sizeof(*p));
  p->dim   = dim;
  p->scale = 1;
  AxisDefault(&p->axis[0], nx);
  AxisDefault(&p->axis[1], dim > 1 ? ny : 1);
  AxisDefault(&p->axis[2], dim > 2 ? nz : 1);
  for (int d = 0; d < 3; d++) p->order[d] = d;
}

static PetscBool Neutral(const Axis *x)
{
  return (PetscBool)((x->N == 1 && (x->end[0] == PERIODIC || x->end[0] == NEUMANN)) || ((x->end[0] == NEUMANN || x->end[0] == NEUMANN_HALF || x->end[0] == CELL_NEUMANN || x->end[0] == PERIODIC) && (x->end[1] == NEUMANN || x->end[1] == NEUMANN_HALF || x->end[1] == CELL_NEUMANN || x->end[1] == PERIODIC)));
}

static PetscErrorCode Build(Problem *p, DMDAStencilType stencil, DM *da, Mat *A)
{
  PetscInt  N[3], d;
  PetscBool periodic[3];

  PetscFunctionBegin;
  for (d = 0; d < 3; d++) {
    N[d]        = p->axis[d].N;
    periodic[d] = (PetscBool)(p->axis[d].end[0] == PERIODIC);
    if (d < p->dim) AxisBuild(&p->axis[d]);
    else {
      PetscCall(PetscMalloc4(1, &p->axis[d].l, 1, &p->axis[d].u, 1, &p->axis[d].c, 1, &p->axis[d].w));
      p->axis[d].w[0] = 1;
    }
  }
  PetscCall(Grid(p->dim, N, 1, periodic, stencil, da));
  PetscCall(DMCreateMatrix(*da, A));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(Fill(p, 0, 1, *A));
  PetscCall(Assemble(*A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckProblem(Problem *p, DMDAStencilType stencil, const char *what)
{
  DM           da;
  Mat          A;
  PetscInt     dof, d;
  BCROperator *ops;
  double       diff = 0;
  PetscBool    neutral = PETSC_TRUE;
  PetscReal    lo;

  PetscFunctionBegin;
  PetscCall(Build(p, stencil, &da, &A));
  PetscCall(BCROperatorRead(da, A, BCR_FIT_EXACT, &dof, &ops));
  PetscCall(Difference(da, A, dof, ops, &diff));
  Report((PetscBool)(diff < TOL), "%s: read operator differs by %g: %s", what, diff, Describe(p));
  Report((PetscBool)!strcmp(ops[0].fit, "exact"), "%s: fit %s: %s", what, ops[0].fit, Describe(p));
  for (d = 0; d < p->dim; d++) neutral = (PetscBool)(neutral && Neutral(&p->axis[d]) && p->axis[d].stretch != 3);
  if (neutral) Report((PetscBool)(ops[0].singular == (p->shift == 0)), "%s: singular %d: %s", what, (int)ops[0].singular, Describe(p));
  PetscCall(BCROperatorLowestEigenvalue(&ops[0], &lo));
  Report((PetscBool)(ops[0].singular || lo > 0), "%s: smallest eigenvalue %g: %s", what, (double)lo, Describe(p));
  PetscCall(BCROperatorDestroy(dof, &ops));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  ProblemDestroy(p);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void RandomEnds(Axis *x, PetscBool robin, PetscBool slope)
{
  int s;

  if (Pick(6) == 0) {
    x->end[0] = x->end[1] = PERIODIC;
    return;
  }
  for (s = 0; s < 2; s++) {
    x->end[s] = (End)Pick(robin ? 9 : (slope ? 8 : 7));
    if (x->end[s] == ROBIN || x->end[s] == SLOPE) {
      if ((x->end[s] == ROBIN && !robin) || (x->end[s] == SLOPE && !slope)) x->end[s] = CELL_NEUMANN;
    }
    x->d[s]     = (Pick(2) ? 1 : -1) * (0.1 + 10 * Uniform());
    x->e[s]     = x->d[s] * (Pick(3) ? 1.0 : 0.3);
    x->vary[s]  = (PetscBool)(Pick(4) == 0);
    x->robin[s] = 0.1 + 0.7 * Uniform();
  }
}

/* an axis of so few points cannot have such ends */
static void Repair(Axis *x)
{
  const PetscInt least = (IsPlane(x->end[0]) ? 1 : 0) + (IsPlane(x->end[1]) ? 1 : 0);

  if (x->end[0] == SLOPE || x->end[1] == SLOPE) {
    if (x->N < 5) x->end[0] = x->end[1] = IDENTITY;
  }
  if (x->N == 1) {
    if (x->end[0] != PERIODIC) x->end[0] = x->end[1] = CELL_NEUMANN;
    x->stretch = 0;
  } else if (x->N < least + 3 && x->stretch) x->stretch = 0;
  if (x->N - least < 2)
    for (int s = 0; s < 2; s++)
      if (!IsPlane(x->end[s]) && x->end[s] != PERIODIC) x->end[s] = DIRICHLET;
  if (x->N - least < 2 && IsPlane(x->end[0]) != IsPlane(x->end[1])) x->end[0] = x->end[1] = DIRICHLET;
  if (x->end[0] == PERIODIC) x->stretch = 0;
}

static PetscErrorCode RandomProblems(void)
{
  static const PetscInt sizes[3][12] = {
    {1, 2, 3, 4, 5, 7, 8, 9, 31, 64, 101, 257},
    {1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 37, 50 },
    {1, 2, 3, 4, 5, 5, 6, 7, 8, 9, 11, 23  }
  };
  static const double scales[] = {1, -1, 1e-12, 1e12, -3.7e5, 0.1};
  int                 trial;

  PetscFunctionBegin;
  for (trial = 0; trial < 900; trial++) {
    Problem  p;
    PetscInt dim = 1 + trial % 3, d, special = Pick(2 * (int)dim);

    memset(&p, 0, sizeof(p));
    p.dim   = dim;
    p.scale = scales[Pick(6)];
    p.shift = Pick(2) ? 0 : (Pick(2) ? 0.37 : 5e-4);
    for (d = 0; d < 3; d++) {
      Axis *x = &p.axis[d];

      AxisDefault(x, d < dim ? sizes[dim - 1][Pick(12)] : 1);
      x->a = Pick(3) ? 1 : (Pick(2) ? 0.731 : 1e-3 + 100 * Uniform());
      if (d >= dim) continue;
      if (special == d) x->stretch = 1 + Pick(3);
      RandomEnds(x, (PetscBool)(special == d), (PetscBool)(dim > 1));
      Repair(x);
      p.order[d] = (int)d;
    }
    p.order[2] = 2;
    p.order[1] = 1;
    /* an operator that is zero, or end rows that need their neighbours coupled along them */
    for (d = 0; d < dim; d++) {
      PetscInt  t;
      PetscBool along = PETSC_FALSE, zero = PETSC_TRUE;

      for (t = 0; t < dim; t++) {
        along = (PetscBool)(along || (t != d && p.axis[t].N > 4));
        zero  = (PetscBool)(zero && p.axis[t].N == 1);
      }
      if (!along)
        for (int s = 0; s < 2; s++)
          if (p.axis[d].end[s] == SLOPE) p.axis[d].end[s] = IDENTITY;
      if (zero && p.shift == 0) p.shift = 1;
    }
    PetscCall(CheckProblem(&p, Pick(4) ? DMDA_STENCIL_STAR : DMDA_STENCIL_BOX, "random"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* every pair of ends on every axis, three sizes, alone and with ordinary other axes */
static PetscErrorCode AllPairs(void)
{
  static const PetscInt sizes[] = {2, 3, 4, 5, 9, 40};
  int                   dim, d, e0, e1, k;

  PetscFunctionBegin;
  for (dim = 1; dim <= 3; dim++)
    for (d = 0; d < dim; d++)
      for (e0 = 0; e0 < 10; e0++)
        for (e1 = 0; e1 < 10; e1++)
          for (k = 0; k < 6; k++) {
            Problem        p;
            const PetscInt planes = (IsPlane((End)e0) ? 1 : 0) + (IsPlane((End)e1) ? 1 : 0);

            if ((e0 == PERIODIC) != (e1 == PERIODIC)) continue;
            if ((e0 == SLOPE || e1 == SLOPE) && (dim == 1 || sizes[k] < 5)) continue;
            if (sizes[k] < planes || (sizes[k] - planes < 2 && planes != 2)) continue;
            ProblemDefault(&p, dim, 6, 5, 4);
            p.axis[d].N      = sizes[k];
            p.axis[d].end[0] = (End)e0;
            p.axis[d].end[1] = (End)e1;
            p.axis[d].e[0] = p.axis[d].e[1] = 4;
            p.axis[d].robin[0]              = 0.5;
            p.axis[d].robin[1]              = 0.25;
            if (dim > 1) p.axis[(d + 1) % dim].end[1] = CELL_NEUMANN;
            PetscCall(CheckProblem(&p, DMDA_STENCIL_STAR, "pair"));
          }
  PetscFunctionReturn(PETSC_SUCCESS);
}

