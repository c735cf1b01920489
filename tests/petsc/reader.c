/*
  The operator reader: matrices of every form that it must recognise are assembled on a DMDA, read,
  multiplied out again from what was read by code that shares nothing with the reader, and compared
  with products of its rows and random vectors; then solved with, as they are and transposed, by the
  preconditioner. Then the fits of matrices that are not separable, against dense eigenvalues, and
  the errors.

  quick: 1
*/
#include <petscdmda.h>
#include <petscbcr.h>
#include <petscdmshell.h>
#include "../../src/operator/read.h"
#include "../../src/operator/devscale.h"
#include "tests/check.h"

static int passed = 0, failed = 0;
static PetscInt every = 1, share; /* -part n (or -turns n) -share i: assembled problems i, i + n, ... */

#if defined(PETSC_USE_REAL_SINGLE)
  #define TOL    1e-5
  #define SAME   1e-5 /* what counts as the same coefficient */
  #define SOLVED 1e-5
#else
  #define TOL    1e-12
  #define SAME   1e-10
  #define SOLVED 1e-14
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

/* an error handler that keeps the message of the place where the error was found */
static char message[2048];

static PetscErrorCode Keep(MPI_Comm comm, int line, const char *func, const char *file, PetscErrorCode n,
                           PetscErrorType p, const char *mess, void *ctx)
{
  (void)comm;
  (void)line;
  (void)func;
  (void)file;
  (void)ctx;
  if (p == PETSC_ERROR_INITIAL) snprintf(message, sizeof(message), "%s", mess ? mess : "");
  return n;
}

/* ---- random numbers ---- */

static int Pick(int n)
{
  return (int)(TestUniform() * n);
}

/* ---- building matrices ---- */

typedef enum {
  DIRICHLET,
  NEUMANN,      /* doubled coupling */
  NEUMANN_HALF, /* the same with the row halved: symmetric */
  CELL_NEUMANN,
  CELL_DIRICHLET,
  IDENTITY,       /* diagonal only, interior rows keep their coupling */
  IDENTITY_APART, /* the same without that coupling */
  SLOPE,          /* (d, -e) */
  ROBIN,
  PERIODIC
} End;
static const char *const names[] = {"dirichlet", "neumann", "half",  "cellneumann", "celldirichlet",
                                    "identity",  "apart",   "slope", "robin",       "periodic"};

typedef struct {
  PetscInt N;
  End end[2];
  double a, d[2], e[2], robin[2]; /* plane rows: d (and e) */
  PetscBool vary[2];              /* the planes' diagonal varies */
  /* 0 uniform; 1 finite differences on a stretched axis; 2 finite volumes: symmetric, with weights;
     3 random coefficients, unsymmetric */
  int stretch;
  double *l, *u, *c, *w; /* the axis in full */
} Axis;

typedef struct {
  PetscInt dim, dof;
  Axis axis[3];
  int order[3]; /* whose rows the corners have */
  double shift, scale;
} Problem;

static PetscBool IsPlane(End e)
{
  return (PetscBool)(e == IDENTITY || e == IDENTITY_APART || e == SLOPE);
}

/* rows of the axis over its full extent, planes' rows left out */
static void AxisBuild(Axis *x)
{
  const PetscInt n = x->N, b = IsPlane(x->end[0]) ? 1 : 0, t = n - 1 - (IsPlane(x->end[1]) ? 1 : 0);
  PetscInt i;
  int s;
  double *h;

  PetscCallAbort(PETSC_COMM_SELF, PetscMalloc4(n, &x->l, n, &x->u, n, &x->c, n, &x->w));
  PetscCallAbort(PETSC_COMM_SELF, PetscMalloc1(n + 1, &h));
  for (i = 0; i <= n; i++) h[i] = 0.3 + TestUniform();
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
      x->l[i] = x->a * (0.2 + TestUniform());
      x->u[i] = x->a * (0.2 + TestUniform());
    }
    x->c[i] = x->l[i] + x->u[i] + (x->stretch == 3 ? 0.3 * x->a * TestUniform() : 0);
  }
  for (s = 0; s < 2 && b <= t; s++) {
    const PetscInt e = s ? t : b;
    double *out = s ? &x->u[e] : &x->l[e], *in = s ? &x->l[e] : &x->u[e];

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

static PetscErrorCode Grid(PetscInt dim, const PetscInt N[], PetscInt dof, const PetscBool periodic[],
                           DMDAStencilType stencil, DM *da)
{
  DMBoundaryType b[3];
  PetscInt d;

  PetscFunctionBegin;
  for (d = 0; d < 3; d++) b[d] = periodic[d] ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE;
  if (dim == 1) PetscCall(DMDACreate1d(PETSC_COMM_SELF, b[0], N[0], dof, 1, NULL, da));
  else if (dim == 2)
    PetscCall(DMDACreate2d(PETSC_COMM_SELF, b[0], b[1], stencil, N[0], N[1], 1, 1, dof, 1, NULL, NULL, da));
  else
    PetscCall(DMDACreate3d(PETSC_COMM_SELF, b[0], b[1], b[2], stencil, N[0], N[1], N[2], 1, 1, 1, dof, 1, NULL, NULL,
                           NULL, da));
  PetscCall(DMSetFromOptions(*da)); /* -dm_vec_type cuda -dm_mat_type aijcusparse: scripts/check-gpu */
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
        const PetscInt st[3] = {1, p->axis[0].N, p->axis[0].N * p->axis[1].N},
                       node = ix[0] * st[0] + ix[1] * st[1] + ix[2] * st[2], row = c + dof * node;
        double w = p->scale, diagonal = p->shift;
        PetscBool plane = PETSC_FALSE;

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
              if (x->end[s] == SLOPE)
                PetscCall(
                  MatSetValue(A, row, row + (s ? -1 : 1) * dof * st[d], (PetscScalar)(-x->e[s] * vary), ADD_VALUES));
            }
          }
        }
        if (plane) continue;
        for (d = 0; d < 3; d++) w *= p->axis[d].w[ix[d]];
        for (d = 0; d < p->dim; d++) {
          const Axis *x = &p->axis[d];
          const PetscInt i = ix[d], lo = i ? node - st[d] : node + (x->N - 1) * st[d],
                         hi = i < x->N - 1 ? node + st[d] : node - (x->N - 1) * st[d];

          diagonal += x->c[i];
          if (x->l[i] != 0 && (i || x->end[0] == PERIODIC))
            PetscCall(MatSetValue(A, row, c + dof * lo, (PetscScalar)(-w * x->l[i]), ADD_VALUES));
          if (x->u[i] != 0 && (i < x->N - 1 || x->end[0] == PERIODIC))
            PetscCall(MatSetValue(A, row, c + dof * hi, (PetscScalar)(-w * x->u[i]), ADD_VALUES));
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
  PetscInt k, d, s, o[3], box = 0, size = 1;
  int side[3], planes = 0, place = 0;
  double w = 1, y, add = 0, S = 1;

  for (d = 2, k = -1; d >= 0; d--) {
    const BCRPlane *pl = op->axis[d].plane;

    side[d] = pl[0].present && ix[d] == 0 ? -1 : (pl[1].present && ix[d] == N[d] - 1 ? 1 : 0);
    planes += side[d] != 0;
    place = 3 * place + side[d] + 1;
    k = side[d] ? d : k;
  }
  if (planes) {
    const BCRPlane *pl = &op->axis[k].plane[side[k] > 0];
    const PetscInt q = k == 0 ? ix[1] + N[1] * ix[2] : (k == 1 ? ix[0] + N[0] * ix[2] : ix[0] + N[0] * ix[1]);
    const double inv = pl->inv ? pl->inv[q] : pl->inv0;

    y = x[node];
    for (d = 0; d < 3; d++) {
      const double slope = !side[d] ? 0 : (planes == 1 ? op->axis[d].plane[side[d] > 0].slope : op->corner[place][d]);

      if (slope != 0) y -= slope * x[node - side[d] * st[d]];
    }
    return inv != 0 ? y / inv : 0;
  }
  for (d = 0; d < 3; d++) {
    o[d] = ix[d] - (op->axis[d].plane[0].present ? 1 : 0);
    if (op->axis[d].weight) w *= op->axis[d].weight[o[d]];
    box += o[d] * size;
    size *= op->axis[d].n;
  }
  if (op->rowscale && op->left) w *= op->rowscale[box];
  else if (op->rowscale) S = op->rowscale[box];
  y = op->shift * x[node] * S;
  for (d = 0, size = 1; d < 3; d++) {
    const BCRAxis *ax = &op->axis[d];
    const PetscInt n = ax->n, i = o[d], step = size;
    const double u = x[node];
    double T = 0;

    size *= n;
#define AT(j) (x[node + ((j)-i) * st[d]] * (op->rowscale && !op->left ? (double)op->rowscale[box + ((j)-i) * step] : 1))
    if (ax->lower) {
      T = ax->diag[i] * u * S;
      if (i > 0) T -= ax->lower[i] * AT(i - 1);
      if (i < n - 1) T -= ax->upper[i] * AT(i + 1);
    } else if (n > 1) {
      const double lo =
        i > 0 ? AT(i - 1)
              : (ax->end[0] == BCR_END_PERIODIC
                   ? AT(n - 1)
                   : (ax->end[0] == BCR_END_NEUMANN
                        ? AT(1)
                        : (ax->end[0] == BCR_END_CELL_NEUMANN ? S * u
                                                              : (ax->end[0] == BCR_END_CELL_DIRICHLET ? -S * u : 0))));
      const double hi =
        i < n - 1 ? AT(i + 1)
                  : (ax->end[1] == BCR_END_PERIODIC
                       ? AT(0)
                       : (ax->end[1] == BCR_END_NEUMANN ? AT(n - 2)
                                                        : (ax->end[1] == BCR_END_CELL_NEUMANN
                                                             ? S * u
                                                             : (ax->end[1] == BCR_END_CELL_DIRICHLET ? -S * u : 0))));

      T = ax->a * (2 * S * u - lo - hi);
    }
    for (s = 0; s < 2; s++) {
      const BCRPlane *pl = &ax->plane[s];

      if (pl->present && pl->couple && i == (s ? n - 1 : 0)) {
        PetscInt at[3] = {ix[0], ix[1], ix[2]};
        const double ub = x[node + (s ? 1 : -1) * st[d]];

        at[d] = s ? N[d] - 1 : 0;
        if (pl->couplings)
          add -=
            pl->couplings[d == 0 ? at[1] + N[1] * at[2] : (d == 1 ? at[0] + N[0] * at[2] : at[0] + N[0] * at[1])] * ub;
        else T += pl->coupling * (pl->slope * u - ub);
      }
    }
    y += T;
  }
  return op->scale * (w * S * y + add);
}

/*
  y = A x, row by row on the host. MatMult() of MATSEQAIJCUSPARSE is no reference: on an H200 it
  left out the last of 32 rows in two of some 60000 products. In cuSPARSE 12.6 (CUDA 13.0, CSR_ALG1;
  CSR_ALG2 looks the same) a block of threads that has 32 rows writes where each begins to shared
  memory, 32 words, and takes the end of the last one from a 33rd that nobody has written. Where an
  earlier kernel has left a number there that is one of an entry of that row but the first, or
  shortly behind, the row is not stored: the kernel's PTX, run on the host with such numbers, gives
  0 there, and with 30, 31, 33 and 34 rows never.
*/
static PetscErrorCode Product(Mat A, Vec x, Vec y)
{
  const PetscScalar *xx;
  PetscScalar *yy;
  PetscInt rows;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &rows, NULL));
  PetscCall(VecGetArrayRead(x, &xx));
  PetscCall(VecGetArrayWrite(y, &yy));
  for (PetscInt i = 0; i < rows; i++) {
    PetscInt entries;
    const PetscInt *j;
    const PetscScalar *a;

    PetscCall(MatGetRow(A, i, &entries, &j, &a));
    yy[i] = 0;
    for (PetscInt k = 0; k < entries; k++) yy[i] += a[k] * xx[j[k]];
    PetscCall(MatRestoreRow(A, i, &entries, &j, &a));
  }
  PetscCall(VecRestoreArrayWrite(y, &yy));
  PetscCall(VecRestoreArrayRead(x, &xx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where Difference() found the largest: one row of a product off by all of it is not what a wrong reading looks like */
static char where[256];

/* ||A x - model x|| / (||A|| ||x||), infinity norms, one random x */
static PetscErrorCode Difference(DM da, Mat A, PetscInt dof, const BCROperator ops[], double *diff)
{
  PetscInt N[3], dim, n, i, c, ix[3];
  Vec x, y;
  PetscReal norm, xnorm;
  double *v;
  const PetscScalar *yy;
  PetscScalar *xx;

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(da, &dim, &N[0], &N[1], &N[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  if (dim < 2) N[1] = 1;
  if (dim < 3) N[2] = 1;
  n = N[0] * N[1] * N[2];
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecGetArray(x, &xx));
  for (i = 0; i < n * dof; i++) xx[i] = 2 * TestUniform() - 1;
  PetscCall(VecRestoreArray(x, &xx));
  PetscCall(Product(A, x, y));
  PetscCall(MatNorm(A, NORM_INFINITY, &norm));
  PetscCall(VecNorm(x, NORM_INFINITY, &xnorm));
  PetscCall(PetscMalloc1(n, &v));
  *diff = 0;
  where[0] = 0;
  PetscCall(VecGetArrayRead(x, (const PetscScalar **)&xx));
  PetscCall(VecGetArrayRead(y, &yy));
  for (c = 0; c < dof; c++) {
    for (i = 0; i < n; i++) v[i] = (double)PetscRealPart(xx[c + dof * i]);
    for (i = 0, ix[2] = 0; ix[2] < N[2]; ix[2]++)
      for (ix[1] = 0; ix[1] < N[1]; ix[1]++)
        for (ix[0] = 0; ix[0] < N[0]; ix[0]++, i++) {
          const double model = Row(&ops[c], N, ix, v), product = (double)PetscRealPart(yy[c + dof * i]),
                       off = fabs(model - product);

          if (off <= *diff) continue;
          TestLargest(diff, off);
          if (*diff > TOL * (double)(norm * xnorm))
            snprintf(where, sizeof(where), " (row %d of %d: operator %.17g, product %.17g, x %.17g)",
                     (int)(c + dof * i), (int)(dof * n), model, product, v[i]);
        }
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
  int k = 0, d;

  for (d = 0; d < p->dim; d++)
    k += snprintf(text + k, sizeof(text) - (size_t)k, "[%d %s %s a=%g stretch=%d] ", (int)p->axis[d].N,
                  names[p->axis[d].end[0]], names[p->axis[d].end[1]], p->axis[d].a, p->axis[d].stretch);
  snprintf(text + k, sizeof(text) - (size_t)k, "shift=%g scale=%g order=%d%d%d", p->shift, p->scale, p->order[0],
           p->order[1], p->order[2]);
  return text;
}

static void AxisDefault(Axis *x, PetscInt N)
{
  memset(x, 0, sizeof(*x));
  x->N = N;
  x->a = 1;
  x->end[0] = x->end[1] = DIRICHLET;
  x->d[0] = 4;
  x->d[1] = 4;
}

static void ProblemDefault(Problem *p, PetscInt dim, PetscInt nx, PetscInt ny, PetscInt nz)
{
  memset(p, 0, sizeof(*p));
  p->dim = dim;
  p->scale = 1;
  AxisDefault(&p->axis[0], nx);
  AxisDefault(&p->axis[1], dim > 1 ? ny : 1);
  AxisDefault(&p->axis[2], dim > 2 ? nz : 1);
  for (int d = 0; d < 3; d++) p->order[d] = d;
}

static PetscBool Neutral(const Axis *x)
{
  return (PetscBool)((x->N == 1 && (x->end[0] == PERIODIC || x->end[0] == NEUMANN)) ||
                     ((x->end[0] == NEUMANN || x->end[0] == NEUMANN_HALF || x->end[0] == CELL_NEUMANN ||
                       x->end[0] == PERIODIC) &&
                      (x->end[1] == NEUMANN || x->end[1] == NEUMANN_HALF || x->end[1] == CELL_NEUMANN ||
                       x->end[1] == PERIODIC)));
}

static PetscErrorCode Build(Problem *p, DMDAStencilType stencil, DM *da, Mat *A)
{
  PetscInt N[3], d;
  PetscBool periodic[3];

  PetscFunctionBegin;
  for (d = 0; d < 3; d++) {
    N[d] = p->axis[d].N;
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

/* every row of component c times a factor of its own, which no product of factors along the axes
   gives: from 1/spread to spread */
static PetscErrorCode ScaleRows(Mat A, PetscInt c, PetscInt dof, double spread)
{
  Vec s;
  PetscInt i, n;
  PetscScalar *v;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, NULL, &s));
  PetscCall(VecGetLocalSize(s, &n));
  PetscCall(VecGetArray(s, &v));
  for (i = 0; i < n; i++) v[i] = (PetscScalar)(i % dof == c ? pow(spread, 2 * TestUniform() - 1) : 1);
  PetscCall(VecRestoreArray(s, &v));
  PetscCall(MatDiagonalScale(A, s, NULL));
  PetscCall(VecDestroy(&s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The values of a matrix of a device are there alone after this; nothing happens to others */
static PetscErrorCode Away(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatScale(A, 2));
  PetscCall(MatScale(A, (PetscScalar)0.5));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool Near(PetscReal a, PetscReal b)
{
  return (PetscBool)(PetscAbsReal(a - b) <= 64 * PETSC_MACHINE_EPSILON * PetscMax(PetscAbsReal(a), PetscAbsReal(b)));
}

static PetscBool NearArrays(PetscInt n, const PetscReal *a, const PetscReal *b)
{
  if (!a != !b) return PETSC_FALSE;
  for (PetscInt i = 0; i < n && a; i++)
    if (!Near(a[i], b[i])) return PETSC_FALSE;
  return PETSC_TRUE;
}

static PetscInt onDevice; /* operators whose row scales the reader left on the device */

/* Whether two readings say the same, to rounding. Where a fit is off by most may be one of several places */
static PetscBool SameReading(PetscInt dof, const BCROperator a[], const BCROperator b[])
{
  for (PetscInt c = 0; c < dof; c++) {
    PetscInt N[3];

    if (strcmp(a[c].fit, b[c].fit) || a[c].singular != b[c].singular || a[c].left != b[c].left ||
        !Near(a[c].scale, b[c].scale))
      return PETSC_FALSE;
    if (PetscAbsReal(a[c].shift - b[c].shift) > 64 * PETSC_MACHINE_EPSILON * (1 + PetscAbsReal(b[c].shift)))
      return PETSC_FALSE;
    if (PetscAbsReal(a[c].deviation - b[c].deviation) > 64 * PETSC_MACHINE_EPSILON * (1 + b[c].deviation))
      return PETSC_FALSE;
    if (!strcmp(b[c].fit, "exact") && b[c].deviation > 200 * PETSC_MACHINE_EPSILON &&
        (a[c].devrow != b[c].devrow || a[c].devcol != b[c].devcol))
      return PETSC_FALSE;
    for (int d = 0; d < 3; d++)
      N[d] = b[c].axis[d].n + (b[c].axis[d].plane[0].present ? 1 : 0) + (b[c].axis[d].plane[1].present ? 1 : 0);
    if (!NearArrays(b[c].axis[0].n * b[c].axis[1].n * b[c].axis[2].n, a[c].rowscale, b[c].rowscale)) return PETSC_FALSE;
    for (int d = 0; d < 3; d++) {
      const BCRAxis *x = &a[c].axis[d], *y = &b[c].axis[d];

      if (x->n != y->n || !Near(x->a, y->a) || x->end[0] != y->end[0] || x->end[1] != y->end[1]) return PETSC_FALSE;
      for (PetscInt place = 0; place < 27; place++)
        if (!Near(a[c].corner[place][d], b[c].corner[place][d])) return PETSC_FALSE;
      if (!NearArrays(x->n, x->lower, y->lower) || !NearArrays(x->n, x->diag, y->diag) ||
          !NearArrays(x->n, x->upper, y->upper) || !NearArrays(x->n, x->weight, y->weight))
        return PETSC_FALSE;
      for (int t = 0; t < 2; t++) {
        const BCRPlane *q = &x->plane[t], *r = &y->plane[t];
        const PetscInt n = N[d ? 0 : 1] * N[d == 2 ? 1 : 2];

        if (q->present != r->present || q->couple != r->couple || !Near(q->slope, r->slope) ||
            !Near(q->coupling, r->coupling) || !Near(q->inv0, r->inv0) || !NearArrays(n, q->inv, r->inv) ||
            !NearArrays(n, q->couplings, r->couplings))
          return PETSC_FALSE;
      }
    }
  }
  return PETSC_TRUE;
}

/* Copies from the device that PETSc has made; where there is none, 0 */
static double FromDevice(void)
{
#if defined(PETSC_HAVE_CUDA)
  return (double)petsc_gtoc_ct;
#else
  return 0;
#endif
}

/* Row scales that were left on the device come to the host, where the tests look at them */
static PetscErrorCode BringScales(PetscInt dof, BCROperator *ops)
{
  PetscFunctionBegin;
  for (PetscInt c = 0; c < dof; c++) {
    BCROperator *op = &ops[c];

    if (!op->devscale) continue;
    PetscCheck(!op->rowscale, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Row scales twice");
    PetscCall(PetscMalloc1(op->axis[0].n * op->axis[1].n * op->axis[2].n, &op->rowscale));
    PetscCall(BCRDeviceScaleGet(op->devscale, op->rowscale));
    for (PetscInt i = 0; i < op->axis[0].n * op->axis[1].n * op->axis[2].n; i++) op->rowscale[i] = 1 / op->rowscale[i];
    PetscCall(BCRDeviceScaleDestroy(&op->devscale));
    onDevice++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Read(DM da, Mat A, BCRFit fit, PetscInt *dof, BCROperator **ops)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = BCROperatorRead(da, A, fit, dof, ops);
  if (ierr) PetscFunctionReturn(ierr); /* which some tests want */
  PetscCall(BringScales(*dof, *ops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadUpdate(DM da, Mat A, BCRFit fit, BCRPattern *pattern, PetscInt *dof, BCROperator **ops,
                                 PetscBool *same)
{
  BCRGrid grid;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(BCRGridCreate(da, PetscObjectComm((PetscObject)A), &grid));
  ierr = BCROperatorReadUpdate(&grid, A, fit, pattern, dof, ops, same);
  PetscCall(BCRGridDestroy(&grid));
  PetscCall(ierr);
  PetscCall(BringScales(*dof, *ops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reads a matrix again after its values have gone to the device, and after one of them has changed,
   by little, by much, to NaN: what comes of it is what a reading that remembers nothing says, and a
   matrix that is the operator is not copied to the host */
static PetscErrorCode CheckAway(DM da, Mat A, const char *what, const char *described)
{
  static const double off[] = {0, 0, 0.02 * SAME, 30 * SAME, 1, 0};
  const uint64_t kept = TestState;
  BCROperator *ops = NULL, *fresh = NULL;
  PetscInt dof = 0, got = 0, rows;
  PetscBool same;
  BCRPattern pattern;
  Mat B;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&pattern, sizeof(pattern)));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(MatGetSize(B, &rows, NULL));
  /* as it is; moved; one entry off by less than counts, by more, a diagonal by a factor, NaN */
  for (int k = 0; k < 6; k++) {
    char said[sizeof(message)];
    double copies, diff = 0;
    PetscInt row = (PetscInt)(TestUniform() * (double)rows), n, at;
    PetscScalar value, old;
    const PetscInt *cols;
    const PetscScalar *v;
    PetscErrorCode ierr, expected;

    PetscCall(MatGetRow(B, row, &n, &cols, &v));
    at = Pick((int)n);
    for (PetscInt q = 0; q < n && k == 4; q++)
      if (cols[q] == row) at = q;
    old = v[at];
    value = k == 5 ? (PetscScalar)NAN : old * (PetscScalar)(1 + off[k]);
    at = cols[at];
    PetscCall(MatRestoreRow(B, row, &n, &cols, &v));
    if (k > 1) {
      PetscCall(MatSetValues(B, 1, &row, 1, &at, &value, INSERT_VALUES));
      PetscCall(Assemble(B));
    }
    if (k) PetscCall(Away(B));
    copies = FromDevice();
    message[0] = 0;
    PetscCall(PetscPushErrorHandler(Keep, NULL));
    ierr = ReadUpdate(da, B, BCR_FIT_AUTO, &pattern, &dof, &ops, &same);
    PetscCall(PetscPopErrorHandler());
    copies = FromDevice() - copies;
    PetscCall(PetscStrncpy(said, message, sizeof(said)));
    message[0] = 0;
    PetscCall(PetscPushErrorHandler(Keep, NULL));
    expected = Read(da, B, BCR_FIT_AUTO, &got, &fresh);
    PetscCall(PetscPopErrorHandler());
    Report((PetscBool)(ierr == expected && !strcmp(said, message)), "%s, away %d: '%s', not '%s': %s", what, k, said,
           message, described);
    if (!ierr && !expected) {
      Report(SameReading(dof, ops, fresh),
             "%s, away %d: read again fit %s, deviation %g in row %d, column %d; afresh %s, %g, row %d, column %d: %s",
             what, k, ops[0].fit, (double)ops[0].deviation, (int)ops[0].devrow, (int)ops[0].devcol, fresh[0].fit,
             (double)fresh[0].deviation, (int)fresh[0].devrow, (int)fresh[0].devcol, described);
      if (k == 1) {
        PetscBool plain = pattern.full;

        for (PetscInt c = 0; c < dof; c++) {
          plain = (PetscBool)(plain && !ops[c].left && !strcmp(ops[c].fit, "exact"));
          for (int d = 0; d < 6; d++)
            plain = (PetscBool)(plain && !ops[c].axis[d / 2].plane[d % 2].inv && ops[c].axis[d / 2].n > 0);
        }
        Report((PetscBool)(!plain || copies == 0), "%s: %g copies of the matrix to read it again: %s", what, copies,
               described);
        PetscCall(Difference(da, B, dof, ops, &diff));
        Report((PetscBool)(strcmp(ops[0].fit, "exact") != 0 || diff < TOL),
               "%s, away: read operator differs by %g%s: %s", what, diff, where, described);
      }
    }
    if (!expected) PetscCall(BCROperatorDestroy(got, &fresh));
    if (k > 1) {
      PetscCall(MatSetValues(B, 1, &row, 1, &at, &old, INSERT_VALUES));
      PetscCall(Assemble(B));
    }
  }
  if (ops) PetscCall(BCROperatorDestroy(dof, &ops));
  PetscCall(MatDestroy(&B));
  TestState = kept; /* the problems that follow stay what they are */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void ReportReadings(PetscInt dof, const BCROperator a[], const BCROperator b[], const char *what,
                           const char *how)
{
  Report(SameReading(dof, a, b),
         "%s, read %s: fit %s, scale %.17g, shift %.17g, couplings %.17g %.17g %.17g, deviation %.17g in row %d, "
         "column %d; on the host %s, %.17g, %.17g, %.17g %.17g %.17g, %.17g, row %d, column %d",
         what, how, a->fit, (double)a->scale, (double)a->shift, (double)a->axis[0].a, (double)a->axis[1].a,
         (double)a->axis[2].a, (double)a->deviation, (int)a->devrow, (int)a->devcol, b->fit, (double)b->scale,
         (double)b->shift, (double)b->axis[0].a, (double)b->axis[1].a, (double)b->axis[2].a, (double)b->deviation,
         (int)b->devrow, (int)b->devcol);
}

/* Reads a matrix that is no separable operator again after its values have gone to the device,
   which is where it is fitted then: *ops. What the host says of it is the same, and what comes of
   values that have been changed on the host. stays: values are not copied to the host for that */
static PetscErrorCode ReadFitAway(DM da, Mat A, BCRFit fit, PetscBool stays, const char *what, PetscInt *dof,
                                  BCROperator **ops)
{
  BCROperator *host = NULL, *back = NULL;
  PetscInt got = 0, n, j, there, scaled = 0;
  const PetscInt row = 0, *cols;
  const PetscScalar *v;
  PetscScalar value;
  BCRPattern pattern;
  PetscBool same, cusparse;
  double copies;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&pattern, sizeof(pattern)));
  PetscCall(ReadUpdate(da, A, fit, &pattern, &got, &host, &same));
  PetscCall(BCROperatorDestroy(got, &host));
  PetscCall(Away(A));
  copies = FromDevice();
  there = onDevice;
  *ops = NULL;
  PetscCall(ReadUpdate(da, A, fit, &pattern, dof, ops, &same));
  copies = FromDevice() - copies;
  there = onDevice - there;
  PetscCall(Read(da, A, fit, &got, &host));
  PetscCheck(got == *dof, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Components");
  ReportReadings(got, *ops, host, what, "on the device");
  /* from a bound of 4 on, which is `bound` over the root of a spread of more than 2, axes that are stretched are looked at on
     the host (src/operator/fit.c) */
  stays = (PetscBool)(stays && host[0].bound < 5.6);
  Report((PetscBool)(!stays || copies == 0), "%s: %g copies of the matrix to fit it again", what, copies);
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQAIJCUSPARSE, &cusparse));
  for (PetscInt c = 0; c < got; c++) scaled += !strcmp(host[c].fit, "scaled");
  Report((PetscBool)(!stays || there == (cusparse ? scaled : 0)),
         "%s: %d of %d operators have their row scales on the device", what, (int)there, (int)scaled);
  PetscCall(MatGetRow(A, row, &n, &cols, &v));
  j = cols[n - 1];
  value = v[n - 1];
  PetscCall(MatRestoreRow(A, row, &n, &cols, &v));
  PetscCall(MatSetValues(A, 1, &row, 1, &j, &value, INSERT_VALUES));
  PetscCall(Assemble(A));
  PetscCall(ReadUpdate(da, A, fit, &pattern, &got, &back, &same));
  ReportReadings(got, back, host, what, "with values from the host");
  PetscCall(BCROperatorDestroy(got, &back));
  PetscCall(BCROperatorDestroy(got, &host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The matrix through PETSc's objects, as it is and transposed: the residual of every row by itself,
  |b - A x|_i / (|A|_i max|x| + |b_i|), with the matrix as it was assembled. Rows with factors of
  their own (scaled) make columns of the transpose that have them: there |A|_i max|x| is with
  columns divided, and unknowns multiplied, by the columns' largest entries. The right-hand side is
  a product with the matrix, so that singular systems have a solution; to the rounding of its
  largest entry only, which all rows share as the constant that is removed.
*/
static PetscErrorCode CheckSolve(Mat A, PetscBool singular, PetscBool scaled, const char *what, const char *described)
{
  PC pc;
  Mat T;
  PetscReal *unit;
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(PetscMalloc1(n, &unit));
  PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &T));
  PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
  PetscCall(PCSetType(pc, PCBCRPOISSON));
  PetscCall(PCBCRPoissonSetFit(pc, PCBCRPOISSON_FIT_EXACT));
  PetscCall(PCSetOperators(pc, A, A));
  for (int t = 0; t < 2; t++) {
    const Mat B = t ? T : A;
    Vec x, b, y, r;
    PetscReal xnorm = 0, bnorm;
    double worst = 0;
    const PetscScalar *bb, *rr;
    PetscScalar *xx;

    PetscCall(MatCreateVecs(B, &x, &b));
    PetscCall(VecDuplicate(x, &y));
    PetscCall(VecDuplicate(b, &r));
    for (PetscInt j = 0; j < n; j++) { /* column j of the transpose is row j of the matrix */
      PetscInt entries;
      const PetscScalar *a;

      unit[j] = t && scaled ? 0 : 1;
      if (unit[j] > 0) continue;
      PetscCall(MatGetRow(A, j, &entries, NULL, &a));
      for (PetscInt k = 0; k < entries; k++) unit[j] = PetscMax(unit[j], PetscAbsScalar(a[k]));
      PetscCall(MatRestoreRow(A, j, &entries, NULL, &a));
    }
    PetscCall(VecGetArray(x, &xx));
    for (PetscInt i = 0; i < n; i++) xx[i] = (2 * TestUniform() - 1) / unit[i];
    PetscCall(VecRestoreArray(x, &xx));
    PetscCall(Product(B, x, b));
    if (t) PetscCall(PCApplyTranspose(pc, b, y));
    else PetscCall(PCApply(pc, b, y));
    PetscCall(Product(B, y, r));
    PetscCall(VecGetArray(y, &xx));
    for (PetscInt i = 0; i < n; i++) xnorm = PetscMax(xnorm, unit[i] * PetscAbsScalar(xx[i]));
    PetscCall(VecRestoreArray(y, &xx));
    PetscCall(VecNorm(b, NORM_INFINITY, &bnorm));
    PetscCall(VecGetArrayRead(b, &bb));
    PetscCall(VecGetArrayRead(r, &rr));
    for (PetscInt i = 0; i < n; i++) {
      PetscInt entries;
      const PetscInt *j;
      const PetscScalar *a;
      PetscReal sum = 0, error;

      PetscCall(MatGetRow(B, i, &entries, &j, &a));
      for (PetscInt k = 0; k < entries; k++) sum += PetscAbsScalar(a[k]) / unit[j[k]];
      PetscCall(MatRestoreRow(B, i, &entries, &j, &a));
      error = PetscAbsScalar(bb[i] - rr[i]) / (sum * xnorm + (singular ? bnorm : PetscAbsScalar(bb[i])));
      TestLargest(&worst, (double)error);
    }
    PetscCall(VecRestoreArrayRead(r, &rr));
    PetscCall(VecRestoreArrayRead(b, &bb));
    Report((PetscBool)(worst <= SOLVED), "%s: solved%s: a row's backward error is %g: %s", what, t ? " transposed" : "",
           (double)worst, described);
    PetscCall(TestDestroy(&x, &b, &y, &r));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&T));
  PetscCall(PetscFree(unit));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckProblemScaled(Problem *p, DMDAStencilType stencil, double spread, const char *what)
{
  static int turn = 0, problem = 0;
  DM da;
  Mat A;
  PetscInt dof, d;
  BCROperator *ops;
  double diff = 0;
  PetscBool neutral = PETSC_TRUE;
  PetscReal lo;

  PetscFunctionBegin;
  if (problem++ % every != share) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Build(p, stencil, &da, &A));
  if (spread > 1) PetscCall(ScaleRows(A, 0, 1, spread));
  {
    PetscErrorCode ierr;

    PetscCall(PetscPushErrorHandler(Keep, NULL));
    ierr = Read(da, A, BCR_FIT_EXACT, &dof, &ops);
    PetscCall(PetscPopErrorHandler());
    Report((PetscBool)(ierr == 0), "%s: %s: %s", what, message, Describe(p));
    if (ierr) {
      PetscCall(MatDestroy(&A));
      PetscCall(DMDestroy(&da));
      ProblemDestroy(p);
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  PetscCall(Difference(da, A, dof, ops, &diff));
  Report((PetscBool)(diff < TOL), "%s: read operator differs by %g%s: %s", what, diff, where, Describe(p));
  Report((PetscBool)!strcmp(ops[0].fit, "exact"), "%s: fit %s: %s", what, ops[0].fit, Describe(p));
  for (d = 0; d < p->dim; d++) neutral = (PetscBool)(neutral && Neutral(&p->axis[d]) && p->axis[d].stretch != 3);
  if (neutral)
    Report((PetscBool)(ops[0].singular == (p->shift == 0)), "%s: singular %d: %s", what, (int)ops[0].singular,
           Describe(p));
  PetscCall(BCROperatorLowestEigenvalue(&ops[0], &lo));
  Report((PetscBool)(ops[0].singular || lo > 0), "%s: smallest eigenvalue %g: %s", what, (double)lo, Describe(p));
  PetscCall(CheckSolve(A, ops[0].singular, (PetscBool)(spread > 1), what, Describe(p)));
  PetscCall(BCROperatorDestroy(dof, &ops));
  if (turn++ % 12 == 0) PetscCall(CheckAway(da, A, what, Describe(p)));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  ProblemDestroy(p);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckProblem(Problem *p, DMDAStencilType stencil, const char *what)
{
  PetscFunctionBegin;
  PetscCall(CheckProblemScaled(p, stencil, 1, what));
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
    x->d[s] = (Pick(2) ? 1 : -1) * (0.1 + 10 * TestUniform());
    x->e[s] = x->d[s] * (Pick(3) || !robin ? 1.0 : 0.3); /* a slope that is not 1 makes the axis a general one */
    x->vary[s] = (PetscBool)(Pick(4) == 0);
    x->robin[s] = 0.1 + 0.7 * TestUniform();
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
    {1, 2, 3, 4, 5, 6, 7, 8, 9,  17, 37,  50 },
    {1, 2, 3, 4, 5, 5, 6, 7, 8,  9,  11,  23 }
  };
  static const double scales[] = {1, -1, 1e-12, 1e12, -3.7e5, 0.1};
  int trial;

  PetscFunctionBegin;
  for (trial = 0; trial < 1500; trial++) {
    Problem p;
    PetscInt dim = 1 + trial % 3, d, special = Pick(2 * (int)dim);

    memset(&p, 0, sizeof(p));
    p.dim = dim;
    p.scale = scales[Pick(6)];
    p.shift = Pick(2) ? 0 : (Pick(2) ? 0.37 : 5e-4);
    for (d = 0; d < 3; d++) {
      Axis *x = &p.axis[d];

      AxisDefault(x, d < dim ? sizes[dim - 1][Pick(12)] : 1);
      x->a = Pick(3) ? 1 : (Pick(2) ? 0.731 : 1e-3 + 100 * TestUniform());
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
      PetscInt t;
      PetscBool along = PETSC_FALSE, zero = PETSC_TRUE;

      for (t = 0; t < dim; t++) {
        along = (PetscBool)(along || (t != d && p.axis[t].N > 4));
        zero = (PetscBool)(zero && p.axis[t].N == 1);
      }
      for (t = 0; t < dim; t++)
        if (p.axis[t].N == 2 && IsPlane(p.axis[t].end[0])) along = PETSC_FALSE; /* end rows only */
      if (!along)
        for (int s = 0; s < 2; s++)
          if (p.axis[d].end[s] == SLOPE) p.axis[d].end[s] = IDENTITY;
      if (zero && p.shift == 0) p.shift = 1;
    }
    if (trial < 900) PetscCall(CheckProblem(&p, Pick(4) ? DMDA_STENCIL_STAR : DMDA_STENCIL_BOX, "random"));
    else
      PetscCall(
        CheckProblemScaled(&p, Pick(4) ? DMDA_STENCIL_STAR : DMDA_STENCIL_BOX, trial % 2 ? 3 : 1e4, "rows scaled"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* every pair of ends on every axis, three sizes, alone and with ordinary other axes */
static PetscErrorCode AllPairs(void)
{
  static const PetscInt sizes[] = {2, 3, 4, 5, 9, 40};
  int dim, d, e0, e1, k;

  PetscFunctionBegin;
  for (dim = 1; dim <= 3; dim++)
    for (d = 0; d < dim; d++)
      for (e0 = 0; e0 < 10; e0++)
        for (e1 = 0; e1 < 10; e1++)
          for (k = 0; k < 6; k++) {
            Problem p;
            const PetscInt planes = (IsPlane((End)e0) ? 1 : 0) + (IsPlane((End)e1) ? 1 : 0);

            if ((e0 == PERIODIC) != (e1 == PERIODIC)) continue;
            if ((e0 == SLOPE || e1 == SLOPE) && (dim == 1 || sizes[k] < 5)) continue;
            if (sizes[k] < planes || (sizes[k] - planes < 2 && planes != 2)) continue;
            ProblemDefault(&p, dim, 6, 5, 4);
            p.axis[d].N = sizes[k];
            p.axis[d].end[0] = (End)e0;
            p.axis[d].end[1] = (End)e1;
            p.axis[d].e[0] = p.axis[d].e[1] = 4;
            p.axis[d].robin[0] = 0.5;
            p.axis[d].robin[1] = 0.25;
            if (dim > 1) p.axis[(d + 1) % dim].end[1] = CELL_NEUMANN;
            PetscCall(CheckProblem(&p, DMDA_STENCIL_STAR, "pair"));
          }
  PetscFunctionReturn(PETSC_SUCCESS);
}


/* ---- several components, other matrix types, reading again ---- */

static PetscErrorCode Components(void)
{
  int trial;

  PetscFunctionBegin;
  for (trial = 0; trial < 90; trial++) {
    const PetscInt dim = 1 + trial % 3, dof = 2 + trial % 2;
    Problem p[3];
    PetscInt N[3] = {1, 1, 1}, c, d, got;
    PetscBool periodic[3] = {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE};
    DM da;
    Mat A;
    BCROperator *ops;
    double diff = 0;

    for (d = 0; d < dim; d++) {
      N[d] = 4 + Pick(dim == 1 ? 90 : (dim == 2 ? 40 : 22));
      periodic[d] = (PetscBool)(Pick(5) == 0);
    }
    for (c = 0; c < dof; c++) {
      ProblemDefault(&p[c], dim, N[0], N[1], N[2]);
      p[c].scale = c ? -0.01 : 3;
      p[c].shift = c == 1 ? 0.2 : 0;
      for (d = 0; d < dim; d++) {
        Axis *x = &p[c].axis[d];

        RandomEnds(x, PETSC_FALSE, PETSC_FALSE);
        if (periodic[d]) x->end[0] = x->end[1] = PERIODIC;
        else if (x->end[0] == PERIODIC) x->end[0] = x->end[1] = CELL_DIRICHLET;
        if (d == c && !periodic[d]) x->stretch = 1 + Pick(3);
      }
      for (d = 0; d < 3; d++) {
        if (d < dim) AxisBuild(&p[c].axis[d]);
        else {
          PetscCall(PetscMalloc4(1, &p[c].axis[d].l, 1, &p[c].axis[d].u, 1, &p[c].axis[d].c, 1, &p[c].axis[d].w));
          p[c].axis[d].w[0] = 1;
        }
      }
    }
    PetscCall(Grid(dim, N, dof, periodic, Pick(2) ? DMDA_STENCIL_STAR : DMDA_STENCIL_BOX, &da));
    PetscCall(DMCreateMatrix(da, &A));
    for (c = 0; c < dof; c++) PetscCall(Fill(&p[c], c, dof, A));
    PetscCall(Assemble(A));
    if (trial >= 60) PetscCall(ScaleRows(A, dof - 1, dof, 10));
    PetscCall(Read(da, A, BCR_FIT_EXACT, &got, &ops));
    PetscCall(Difference(da, A, dof, ops, &diff));
    Report((PetscBool)(dim == 1 || trial < 60 || ops[dof - 1].left), "rows scaled, %d components: not read as such",
           (int)dof);
    Report((PetscBool)(got == dof && diff < TOL), "component operators differ by %g, component 0: %s", diff,
           Describe(&p[0]));
    PetscCall(BCROperatorDestroy(got, &ops));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
    for (c = 0; c < dof; c++) ProblemDestroy(&p[c]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatrixTypes(void)
{
  static const char *const types[] = {MATSEQAIJ,  MATMPIAIJ,  MATSEQSBAIJ,   MATMPISBAIJ,
                                      MATSEQBAIJ, MATMPIBAIJ, MATSEQAIJPERM, MATSEQDENSE};
  size_t t;

  PetscFunctionBegin;
  for (t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
    Problem p;
    DM da;
    Mat A, B;
    PetscInt dof;
    BCROperator *ops;
    double diff = 1;

    ProblemDefault(&p, 2, 23, 6, 1);
    p.axis[0].end[0] = NEUMANN_HALF; /* symmetric, as sbaij must be */
    p.axis[1].stretch = 2;
    PetscCall(Build(&p, DMDA_STENCIL_STAR, &da, &A));
    PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
    PetscCall(MatConvert(A, types[t], MAT_INITIAL_MATRIX, &B));
    PetscCall(Read(da, B, BCR_FIT_EXACT, &dof, &ops));
    PetscCall(Difference(da, A, dof, ops, &diff));
    Report((PetscBool)(diff < TOL), "matrix type %s: operator differs by %g", types[t], diff);
    PetscCall(BCROperatorDestroy(dof, &ops));
    PetscCall(TestDestroy(&B, &A, &da));
    ProblemDestroy(&p);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a DMDA with mirrored ends, and the stencil written without looking at the ends */
static PetscErrorCode Mirror(void)
{
  DM da;
  Mat A;
  PetscInt i, j, dof;
  BCROperator *ops;
  double diff = 1;

  PetscFunctionBegin;
  PetscCall(DMDACreate2d(PETSC_COMM_SELF, DM_BOUNDARY_MIRROR, DM_BOUNDARY_MIRROR, DMDA_STENCIL_STAR, 21, 8, 1, 1, 1, 1,
                         NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da)); /* -dm_vec_type cuda -dm_mat_type aijcusparse: scripts/check-gpu */
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  for (j = 0; j < 8; j++) {
    for (i = 0; i < 21; i++) {
      MatStencil row, col[5];
      const PetscScalar v[5] = {6, -1, -1, -2, -2};
      int k;

      memset(&row, 0, sizeof(row));
      row.i = i;
      row.j = j;
      for (k = 0; k < 5; k++) col[k] = row;
      col[1].i--;
      col[2].i++;
      col[3].j--;
      col[4].j++;
      PetscCall(MatSetValuesStencil(A, 1, &row, 5, col, v, ADD_VALUES));
    }
  }
  PetscCall(Assemble(A));
  PetscCall(Read(da, A, BCR_FIT_EXACT, &dof, &ops));
  PetscCall(Difference(da, A, dof, ops, &diff));
  Report((PetscBool)(diff < TOL && ops[0].singular && ops[0].axis[0].end[0] == BCR_END_NEUMANN &&
                     ops[0].axis[1].end[1] == BCR_END_NEUMANN),
         "mirrored DMDA: differs by %g, singular %d", diff, (int)ops[0].singular);
  PetscCall(BCROperatorDestroy(dof, &ops));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ends with a slope along two axes: the corners belong to one or the other */
static PetscErrorCode Corners(void)
{
  int k;

  PetscFunctionBegin;
  for (k = 0; k < 6; k++) {
    static const int order[6][3] = {
      {0, 1, 2},
      {0, 2, 1},
      {1, 0, 2},
      {1, 2, 0},
      {2, 0, 1},
      {2, 1, 0}
    };
    Problem p;
    int d;

    ProblemDefault(&p, 3, 7, 6, 8);
    for (d = 0; d < 3; d++) {
      p.order[d] = order[k][d];
      p.axis[d].end[0] = SLOPE;
      p.axis[d].end[1] = d == 1 ? IDENTITY : SLOPE;
      p.axis[d].e[0] = p.axis[d].e[1] = 4;
    }
    PetscCall(CheckProblem(&p, DMDA_STENCIL_STAR, "corners"));
    ProblemDefault(&p, 2, 31, 9, 1);
    p.order[0] = k % 2;
    p.order[1] = 1 - k % 2;
    p.axis[0].end[0] = p.axis[0].end[1] = SLOPE;
    p.axis[1].end[0] = p.axis[1].end[1] = k < 3 ? SLOPE : IDENTITY;
    for (d = 0; d < 2; d++) p.axis[d].e[0] = p.axis[d].e[1] = 4;
    PetscCall(CheckProblem(&p, DMDA_STENCIL_STAR, "corners"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What ends and planes are called where that is unambiguous */
static PetscErrorCode Names(void)
{
  static const End e[] = {DIRICHLET, NEUMANN,        NEUMANN_HALF, CELL_NEUMANN, CELL_DIRICHLET,
                          IDENTITY,  IDENTITY_APART, SLOPE,        ROBIN};
  static const BCREnd want[] = {BCR_END_DIRICHLET,    BCR_END_NEUMANN,        BCR_END_NEUMANN,
                                BCR_END_CELL_NEUMANN, BCR_END_CELL_DIRICHLET, BCR_END_DIRICHLET,
                                BCR_END_DIRICHLET,    BCR_END_CELL_NEUMANN,   BCR_END_GENERAL};
  int k, s;

  PetscFunctionBegin;
  for (k = 0; k < 9; k++) {
    for (s = 0; s < 2; s++) {
      Problem p;
      DM da;
      Mat A;
      PetscInt dof;
      BCROperator *ops;

      ProblemDefault(&p, 2, 19, 12, 1);
      p.axis[0].end[s] = e[k];
      p.axis[0].e[s] = 4;
      p.axis[0].robin[s] = 0.5;
      PetscCall(Build(&p, DMDA_STENCIL_STAR, &da, &A));
      PetscCall(Read(da, A, BCR_FIT_EXACT, &dof, &ops));
      Report((PetscBool)(ops[0].axis[0].end[s] == want[k] && ops[0].axis[0].plane[s].present == IsPlane(e[k]) &&
                         ops[0].axis[0].plane[s].couple == (PetscBool)(e[k] == IDENTITY || e[k] == SLOPE) &&
                         (!ops[0].axis[0].weight) == (e[k] != NEUMANN_HALF) &&
                         ops[0].axis[1].end[0] == BCR_END_DIRICHLET && ops[0].axis[1].end[1] == BCR_END_DIRICHLET &&
                         (e[k] == ROBIN || ops[0].shift == 0)),
             "end %s was read as type %d, plane %d coupled %d", names[e[k]], (int)ops[0].axis[0].end[s],
             (int)ops[0].axis[0].plane[s].present, (int)ops[0].axis[0].plane[s].couple);
      PetscCall(BCROperatorDestroy(dof, &ops));
      PetscCall(MatDestroy(&A));
      PetscCall(DMDestroy(&da));
      ProblemDestroy(&p);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A line whose rows are of sizes that differ, but not so much that they are divided by them: none
   is read less well than another */
static PetscErrorCode Uneven(void)
{
  const uint64_t kept = TestState;

  PetscFunctionBegin;
  for (int k = 0; k < 60; k++) {
    Problem p;

    ProblemDefault(&p, 1, 3 + k, 1, 1);
    p.axis[0].a = 0.731;
    p.axis[0].stretch = 1 + k % 2;
    p.axis[0].end[0] = k % 3 ? CELL_DIRICHLET : DIRICHLET;
    p.axis[0].end[1] = k % 4 ? IDENTITY : CELL_NEUMANN;
    p.shift = k % 5 ? 0.0005 : 0.1;
    PetscCall(CheckProblemScaled(&p, DMDA_STENCIL_STAR, 30, "rows of uneven size"));
  }
  TestState = kept; /* the problems that follow stay what they are */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Again(void)
{
  int k, j;

  PetscFunctionBegin;
  for (k = 0; k < 4; k++) {
    Problem p;
    DM da;
    Mat A;
    PetscInt dof = 0, row;
    BCROperator *ops = NULL;
    BCRPattern pattern;
    PetscBool same;
    PetscReal a;
    PetscScalar v;
    double diff = 1;

    memset(&pattern, 0, sizeof(pattern));
    ProblemDefault(&p, 2, 60, 33, 1);
    p.shift = 0.1;
    p.axis[0].a = 0.3;
    if (k == 1) p.axis[0].end[0] = p.axis[1].end[1] = IDENTITY;
    if (k == 2) p.axis[0].stretch = 2;
    if (k == 3) p.axis[1].stretch = 1;
    PetscCall(Build(&p, DMDA_STENCIL_STAR, &da, &A));
    PetscCall(ReadUpdate(da, A, BCR_FIT_AUTO, &pattern, &dof, &ops, &same));
    Report((PetscBool)(!same && pattern.known && pattern.boxes), "first reading %d: same %d, pattern known %d", k,
           (int)same, (int)pattern.known);
    a = ops[0].axis[0].a;
    for (j = 0; j < 25; j++) { /* each rounds in another way */
      const double factor = j % 2 ? -1.7312377 - 0.1 * j : 0.31415926 + 0.01 * j;
      const uint64_t kept = TestState;

      PetscCall(MatScale(A, (PetscScalar)factor));
      PetscCall(ReadUpdate(da, A, BCR_FIT_AUTO, &pattern, &dof, &ops, &same));
      PetscCall(Difference(da, A, dof, ops, &diff));
      if (j) TestState = kept; /* the problems that follow stay what they are */
      Report(
        (PetscBool)(same && ((ops[0].scale < 0) == (j % 4 == 1 || j % 4 == 2)) && a == ops[0].axis[0].a && diff < TOL),
        "scaled matrix %d, factor %d: same %d, differs by %g", k, j, (int)same, diff);
    }
    PetscCall(MatShift(A, (PetscScalar)-0.25));
    PetscCall(ReadUpdate(da, A, BCR_FIT_AUTO, &pattern, &dof, &ops, &same));
    PetscCall(Difference(da, A, dof, ops, &diff));
    /* k = 2: a shift that is not weighted is a change of the general axis */
    Report((PetscBool)((same || k == 2) && diff < 10 * TOL), "shifted matrix %d: same %d, differs by %g", k, (int)same,
           diff);
    row = 60 * 17 + 31;
    v = (PetscScalar)0.01;
    PetscCall(MatSetValues(A, 1, &row, 1, &row, &v, ADD_VALUES));
    PetscCall(Assemble(A));
    PetscCall(ReadUpdate(da, A, BCR_FIT_AUTO, &pattern, &dof, &ops, &same));
    Report((PetscBool)(strcmp(ops[0].fit, "exact") != 0 && (k > 1 || (ops[0].devrow == row && ops[0].devcol == row))),
           "changed entry %d: fit %s, deviation in row %d", k, ops[0].fit, (int)ops[0].devrow);
    PetscCall(BCROperatorDestroy(dof, &ops));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
    ProblemDestroy(&p);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadWith(DM da, Mat A, BCRFit fit, PetscErrorCode *code)
{
  PetscInt dof;
  BCROperator *ops = NULL;

  PetscFunctionBegin;
  message[0] = 0;
  PetscCall(PetscPushErrorHandler(Keep, NULL));
  *code = Read(da, A, fit, &dof, &ops);
  PetscCall(PetscPopErrorHandler());
  if (!*code) PetscCall(BCROperatorDestroy(dof, &ops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Read exactly, and definite or not */
static PetscErrorCode ExpectWaves(DM da, Mat A, BCRFit fit, PetscBool waves)
{
  PetscInt dof;
  BCROperator *ops = NULL;

  PetscFunctionBegin;
  PetscCall(Read(da, A, fit, &dof, &ops));
  Report((PetscBool)(ops[0].waves == waves && !strcmp(ops[0].fit, "exact")), "%s, where %s was due, fit %s",
         ops[0].waves ? "indefinite" : "definite", waves ? "indefinite" : "definite", ops[0].fit);
  PetscCall(BCROperatorDestroy(dof, &ops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A = R B: what is read, its update with another R, one entry that is wrong; and that a matrix
   without the factors has none */
static PetscErrorCode Left(void)
{
  int k;

  PetscFunctionBegin;
  for (k = 0; k < 10; k++) {
    const PetscInt nx = k == 8 ? 3001 : 60;
    Problem p;
    DM da;
    Mat A;
    PetscInt dof = 0, row, col;
    BCROperator *ops = NULL;
    BCRPattern pattern;
    PetscBool same;
    PetscScalar v;
    double diff = 1;

    memset(&pattern, 0, sizeof(pattern));
    ProblemDefault(&p, 2 + k % 2, nx, 13, 7);
    p.axis[1].a = 0.3;
    if (k / 2 == 1) {
      for (int d = 0; d < p.dim; d++) p.axis[d].end[0] = p.axis[d].end[1] = IDENTITY;
    }
    if (k / 2 == 2) p.axis[0].stretch = 2;
    if (k / 2 == 3) p.axis[1].stretch = 3;
    if (k / 2 == 4) { /* singular */
      p.axis[0].end[0] = p.axis[0].end[1] = p.axis[1].end[0] = p.axis[2].end[1] = CELL_NEUMANN;
      p.axis[1].end[1] = p.axis[2].end[0] = NEUMANN;
      if (k % 2) p.axis[2].end[0] = p.axis[2].end[1] = PERIODIC;
    }
    PetscCall(Build(&p, DMDA_STENCIL_STAR, &da, &A));
    PetscCall(ReadUpdate(da, A, BCR_FIT_AUTO, &pattern, &dof, &ops, &same));
    Report((PetscBool)(!ops[0].left && !ops[0].rowscale), "%s: has row factors", Describe(&p));
    PetscCall(ScaleRows(A, 0, 1, 100));
    PetscCall(ReadUpdate(da, A, (BCRFit)(k % 4), &pattern, &dof, &ops, &same));
    PetscCall(Difference(da, A, dof, ops, &diff));
    Report((PetscBool)(ops[0].left && ops[0].rowscale && diff < TOL && !strcmp(ops[0].fit, "exact") &&
                       ops[0].deviation < 100 * PETSC_MACHINE_EPSILON && !ops[0].axis[0].weight),
           "rows scaled: left %d, fit %s, deviation %g, differs by %g: %s", (int)ops[0].left, ops[0].fit,
           (double)ops[0].deviation, diff, Describe(&p));
    Report((PetscBool)(ops[0].singular == (k / 2 == 4)), "rows scaled: singular %d: %s", (int)ops[0].singular,
           Describe(&p));
    PetscCall(ScaleRows(A, 0, 1, 3));
    PetscCall(ReadUpdate(da, A, BCR_FIT_EXACT, &pattern, &dof, &ops, &same));
    PetscCall(Difference(da, A, dof, ops, &diff));
    Report((PetscBool)(ops[0].left && (same || k / 2 == 2 || k / 2 == 3) && diff < TOL),
           "rows scaled anew: left %d, same %d, differs by %g: %s", (int)ops[0].left, (int)same, diff, Describe(&p));
    row = nx / 2 + nx * (6 + (k % 2 ? 13 * 5 : 0));
    col = row + (k % 3 == 0 ? nx : (k % 3 == 1 ? -1 : 0));
    PetscCall(MatGetValues(A, 1, &row, 1, &col, &v));
    v *= (PetscScalar)(1 + 100 * (sizeof(PetscReal) == 4 ? 1e-5 : 1e-10));
    PetscCall(MatSetValues(A, 1, &row, 1, &col, &v, INSERT_VALUES));
    PetscCall(Assemble(A));
    PetscCall(ReadUpdate(da, A, BCR_FIT_AUTO, &pattern, &dof, &ops, &same));
    Report((PetscBool)(!ops[0].left && strcmp(ops[0].fit, "exact") != 0),
           "rows scaled, one entry wrong: left %d, fit %s: row %d, column %d, %s", (int)ops[0].left, ops[0].fit,
           (int)row, (int)col, Describe(&p));
    PetscCall(BCROperatorDestroy(dof, &ops));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
    ProblemDestroy(&p);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries that are not stored are zero: lines of the grid that lack the couplings across them, with
   the others' diagonal; rows scaled too */
static PetscErrorCode Missing(void)
{
  int k;

  PetscFunctionBegin;
  for (k = 0; k < 4; k++) {
    const PetscInt nx = 40, ny = 12, nz = 5;
    const PetscBool periodic[3] = {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE};
    const PetscInt N[3] = {nx, ny, nz};
    PetscInt i, j, l, s;
    PetscErrorCode code;
    DM da;
    Mat A;

    PetscCall(Grid(3, N, 1, periodic, DMDA_STENCIL_STAR, &da));
    PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, nx * ny * nz, nx * ny * nz, 7, NULL, &A));
    for (l = 0; l < nz; l++) {
      for (j = 0; j < ny; j++) {
        for (i = 0; i < nx; i++) {
          const PetscInt row = i + nx * (j + ny * l);

          PetscCall(MatSetValue(A, row, row, 6, INSERT_VALUES));
          for (s = -1; s <= 1; s += 2) {
            if (i + s >= 0 && i + s < nx) PetscCall(MatSetValue(A, row, row + s, -1, INSERT_VALUES));
            if (j + s >= 0 && j + s < ny && (k > 1 || j != 9 || l != 3))
              PetscCall(MatSetValue(A, row, row + s * nx, -1, INSERT_VALUES));
            if (l + s >= 0 && l + s < nz && (k < 2 || j != 9 || l != 3))
              PetscCall(MatSetValue(A, row, row + s * nx * ny, -1, INSERT_VALUES));
          }
        }
      }
    }
    PetscCall(Assemble(A));
    if (k % 2) PetscCall(ScaleRows(A, 0, 1, 2));
    PetscCall(ReadWith(da, A, BCR_FIT_EXACT, &code));
    Report((PetscBool)(code == PETSC_ERR_SUP && strstr(message, "not separable")), "couplings missing: code %d, %s",
           (int)code, message);
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- one entry that is wrong ---- */

/* T of general axes whose diagonals add up to zero at one node, where the matrix has something else: its row is no multiple
   of the operator's. Two unknowns along an axis are general without anything that says so */
static PetscErrorCode NoDiagonal(void)
{
  PetscFunctionBegin;
  for (int trial = 0; trial < 40; trial++) {
    const PetscInt nx = 2 + trial % 4, ny = 2 + trial / 4 % 2, x0 = Pick((int)nx), y0 = Pick((int)ny);
    PetscInt dof, x[5], y[3];
    double diff = 0, factor = 1;
    DM da;
    Mat A;
    BCROperator *ops;

    PetscCall(DMDACreate2d(PETSC_COMM_SELF, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, nx, ny, 1, 1, 1, 1,
                           NULL, NULL, &da));
    PetscCall(DMSetUp(da));
    PetscCall(DMCreateMatrix(da, &A));
    for (PetscInt i = 0; i < nx; i++) x[i] = i == x0 ? -3 : 4 + Pick(4);
    for (PetscInt j = 0; j < ny; j++) y[j] = j == y0 ? 3 : 8 + Pick(4);
    for (PetscInt j = 0; j < ny; j++)
      for (PetscInt i = 0; i < nx; i++) {
        const PetscInt row = i + nx * j;

        PetscCall(MatSetValue(A, row, row, i == x0 && j == y0 ? 5 : (PetscScalar)(x[i] + y[j]), INSERT_VALUES));
        if (i > 0) PetscCall(MatSetValue(A, row, row - 1, -1, INSERT_VALUES));
        if (i < nx - 1) PetscCall(MatSetValue(A, row, row + 1, -1, INSERT_VALUES));
        if (j > 0) PetscCall(MatSetValue(A, row, row - nx, -1, INSERT_VALUES));
        if (j < ny - 1) PetscCall(MatSetValue(A, row, row + nx, -1, INSERT_VALUES));
      }
    PetscCall(Assemble(A));
    PetscCall(Read(da, A, BCR_FIT_AUTO, &dof, &ops));
    for (PetscInt i = 0; i < ops[0].axis[0].n * ops[0].axis[1].n && ops[0].rowscale; i++)
      if (!(ops[0].rowscale[i] > 0 && ops[0].rowscale[i] < PETSC_MAX_REAL)) factor = (double)ops[0].rowscale[i];
    if (!strcmp(ops[0].fit, "exact")) PetscCall(Difference(da, A, dof, ops, &diff));
    Report((PetscBool)(factor == 1 && diff < TOL),
           "%d x %d, no diagonal at %d, %d: fit %s, row factor %g, differs by %g", (int)nx, (int)ny, (int)x0, (int)y0,
           ops[0].fit, factor, diff);
    PetscCall(BCROperatorDestroy(dof, &ops));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OneEntry(void)
{
  int trial;

  PetscFunctionBegin;
  for (trial = 0; trial < 150; trial++) {
    Problem p;
    DM da;
    Mat A;
    PetscInt row, n, k, col;
    const PetscInt *cols;
    const PetscScalar *vals;
    PetscErrorCode code;
    PetscScalar v;
    char want[32];

    ProblemDefault(&p, 2 + trial % 2, 43, 9, 6);
    if (trial % 5 == 1) p.axis[1].stretch = 2;
    if (trial % 5 == 2) p.axis[0].stretch = 2;
    if (trial % 5 == 3) p.axis[0].end[0] = p.axis[0].end[1] = p.axis[1].end[0] = IDENTITY;
    if (trial % 5 == 4) p.axis[0].end[0] = p.axis[0].end[1] = PERIODIC;
    PetscCall(Build(&p, DMDA_STENCIL_STAR, &da, &A));
    PetscCall(MatGetSize(A, &n, NULL));
    row = Pick((int)n);
    PetscCall(MatGetRow(A, row, &n, &cols, &vals));
    k = Pick((int)n);
    col = cols[k];
    v = vals[k];
    PetscCall(MatRestoreRow(A, row, &n, &cols, &vals));
    if (trial % 5 != 3 || (row % 43 > 0 && row % 43 < 42 && (row / 43) % 9 > 0)) {
      PetscScalar slight = v * (PetscScalar)(1 + 10 * PETSC_MACHINE_EPSILON),
                  wrong = v * (PetscScalar)(1 + 100 * (sizeof(PetscReal) == 4 ? 1e-5 : 1e-10));

      if (v == (PetscScalar)0) wrong = (PetscScalar)-1e-3;
      PetscCall(MatSetValues(A, 1, &row, 1, &col, &slight, INSERT_VALUES));
      PetscCall(Assemble(A));
      PetscCall(ReadWith(da, A, BCR_FIT_EXACT, &code));
      Report((PetscBool)(code == 0), "row %d column %d off by rounding: %s", (int)row, (int)col, message);
      PetscCall(MatSetValues(A, 1, &row, 1, &col, &wrong, INSERT_VALUES));
      PetscCall(Assemble(A));
      PetscCall(ReadWith(da, A, BCR_FIT_EXACT, &code));
      snprintf(want, sizeof(want), "row %d ", (int)row);
      Report((PetscBool)(code == PETSC_ERR_SUP &&
                         (trial % 5 == 1 || trial % 5 == 2 || strstr(message, want) || strstr(message, "column"))),
             "row %d column %d of %s is wrong: code %d, %s", (int)row, (int)col, Describe(&p), (int)code, message);
    }
    v = (PetscScalar)(trial % 3 ? NAN : INFINITY);
    PetscCall(MatSetValues(A, 1, &row, 1, &col, &v, INSERT_VALUES));
    PetscCall(Assemble(A));
    PetscCall(ReadWith(da, A, (BCRFit)(trial % 4), &code));
    snprintf(want, sizeof(want), "row %d (", (int)row);
    Report((PetscBool)(code == PETSC_ERR_FP && strstr(message, want) && strstr(message, "NaN")),
           "NaN in row %d column %d: code %d, %s", (int)row, (int)col, (int)code, message);
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
    ProblemDestroy(&p);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One entry that is in another column, in a row with as many entries as its neighbours have:
   refused, unless it is zero */
static PetscErrorCode OneColumn(void)
{
  const uint64_t kept = TestState;

  PetscFunctionBegin;
  for (int trial = 0; trial < 150; trial++) {
    Problem p;
    DM da;
    Mat A;
    PetscInt n, row;
    const PetscInt *ia, *ja;
    PetscBool done;
    PetscScalar *a, v;
    PetscErrorCode code;
    char want[32];

    ProblemDefault(&p, 2 + trial % 2, 43, trial % 4 > 1 ? 40 : 9, 6);
    if (trial % 5 == 1) p.axis[1].stretch = 2;
    if (trial % 5 == 2) p.axis[0].stretch = 2;
    if (trial % 5 == 3) p.axis[0].end[0] = p.axis[1].end[1] = IDENTITY;
    if (trial % 5 == 4) p.axis[1].end[0] = p.axis[1].end[1] = PERIODIC;
    PetscCall(Build(&p, DMDA_STENCIL_STAR, &da, &A));
    PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &ia, &ja, &done));
    for (row = Pick((int)n); ja[ia[row + 1] - 1] <= row || ja[ia[row + 1] - 1] + 1 >= n;) row = Pick((int)n);
    PetscCall(ReadWith(da, A, BCR_FIT_EXACT, &code));
    Report((PetscBool)(code == 0), "all columns of %s in their places: %s", Describe(&p), message);
    PetscCall(MatSeqAIJGetArray(A, &a));
    v = a[ia[row + 1] - 1];
    PetscCall(MatSeqAIJRestoreArray(A, &a));
    /* the matrix is not told: readers that have seen it before would not look again */
    ((PetscInt *)ja)[ia[row + 1] - 1]++;
    PetscCall(ReadWith(da, A, (BCRFit)(trial % 4), &code));
    snprintf(want, sizeof(want), "row %d (", (int)row);
    Report(v == (PetscScalar)0 ? (PetscBool)(code == 0) : (PetscBool)(code == PETSC_ERR_SUP && strstr(message, want)),
           "the last column of row %d of %s is wrong: code %d, %s", (int)row, Describe(&p), (int)code, message);
    ((PetscInt *)ja)[ia[row + 1] - 1]--;
    PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &ia, &ja, &done));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
    ProblemDestroy(&p);
  }
  TestState = kept; /* the problems that follow stay what they are */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- matrices that no fit helps ---- */

static PetscErrorCode Expect(DM da, Mat A, BCRFit fit, PetscErrorCode want, const char *word, const char *word2)
{
  PetscErrorCode code = 0;

  PetscFunctionBegin;
  PetscCall(ReadWith(da, A, fit, &code));
  Report((PetscBool)(code == want && strstr(message, word) && strstr(message, word2)),
         "expected error %d with \"%s\" and \"%s\", got %d: %s", (int)want, word, word2, (int)code, message);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetOne(Mat A, PetscInt row, PetscInt col, PetscScalar v)
{
  PetscFunctionBegin;
  PetscCall(MatSetValues(A, 1, &row, 1, &col, &v, INSERT_VALUES));
  PetscCall(Assemble(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Errors(void)
{
  Problem p;
  DM da, other;
  Mat A, shell;
  int fit;
  PetscInt n, lower[3] = {0, 0, 0};
  PetscErrorCode code;
  const PetscReal one[3] = {1, 1, 1};

  (void)lower;
  PetscFunctionBegin;
  for (fit = 0; fit < 4; fit++) {
    const BCRFit f = (BCRFit)fit;

    /* stencils */
    ProblemDefault(&p, 2, 30, 7, 1);
    PetscCall(Build(&p, DMDA_STENCIL_BOX, &da, &A));
    PetscCall(SetOne(A, 30 * 3 + 20, 30 * 4 + 21, (PetscScalar)-0.5));
    PetscCall(Expect(da, A, f, PETSC_ERR_SUP, "row 110 (grid point 20,3,0), column 141", "5-point"));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
    ProblemDestroy(&p);
    ProblemDefault(&p, 1, 30, 1, 1);
    PetscCall(Build(&p, DMDA_STENCIL_BOX, &da, &A));
    PetscCall(SetOne(A, 12, 14, (PetscScalar)0.1));
    PetscCall(Expect(da, A, f, PETSC_ERR_SUP, "row 12 (grid point 12,0,0), column 14", "3-point"));
    PetscCall(SetOne(A, 12, 14, (PetscScalar)0));
    /* diagonal */
    PetscCall(SetOne(A, 29, 29, (PetscScalar)0));
    PetscCall(Expect(da, A, f, PETSC_ERR_ARG_WRONG, "row 29 (", "diagonal"));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
    ProblemDestroy(&p);
    /* components */
    {
      const PetscInt N[3] = {25, 6, 1};
      const PetscBool periodic[3] = {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE};

      ProblemDefault(&p, 2, 25, 6, 1);
      for (int d = 0; d < 3; d++) AxisBuild(&p.axis[d]);
      PetscCall(Grid(2, N, 2, periodic, DMDA_STENCIL_STAR, &da));
      PetscCall(DMCreateMatrix(da, &A));
      p.axis[2].c[0] = 0;
      PetscCall(Fill(&p, 0, 2, A));
      PetscCall(Fill(&p, 1, 2, A));
      PetscCall(Assemble(A));
      PetscCall(ReadWith(da, A, f, &code));
      Report((PetscBool)(code == 0), "two components that are not coupled: %s", message);
      PetscCall(SetOne(A, 2 * 60 + 1, 2 * 60, (PetscScalar)0.25));
      PetscCall(Expect(da, A, f, PETSC_ERR_SUP, "row 121 (", "column 120"));
      PetscCall(Expect(da, A, f, PETSC_ERR_SUP, "component 1", "PCFIELDSPLIT"));
      PetscCall(MatDestroy(&A));
      PetscCall(DMDestroy(&da));
      ProblemDestroy(&p);
    }
    /* not definite */
    ProblemDefault(&p, 2, 30, 20, 1);
    p.shift = -0.5;
    PetscCall(Build(&p, DMDA_STENCIL_STAR, &da, &A));
    PetscCall(ExpectWaves(da, A, f, PETSC_TRUE));
    PetscCall(MatScale(A, (PetscScalar)-2));
    PetscCall(ExpectWaves(da, A, f, PETSC_TRUE));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
    ProblemDestroy(&p);
    ProblemDefault(&p, 2, 30, 20, 1);
    p.shift = -0.02; /* Dirichlet: the smallest eigenvalue is 0.0326 */
    PetscCall(Build(&p, DMDA_STENCIL_STAR, &da, &A));
    PetscCall(ExpectWaves(da, A, f, PETSC_FALSE));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
    ProblemDestroy(&p);
    ProblemDefault(&p, 2, 30, 20, 1);
    p.axis[1].a = -1;
    PetscCall(Build(&p, DMDA_STENCIL_STAR, &da, &A));
    PetscCall(MatShift(A, (PetscScalar)7));
    PetscCall(Expect(da, A, f, PETSC_ERR_SUP, "opposite signs", "y"));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
    ProblemDestroy(&p);
    ProblemDefault(&p, 2, 30, 20, 1);
    p.axis[0].a = p.axis[1].a = -1;
    PetscCall(Build(&p, DMDA_STENCIL_STAR, &da, &A));
    PetscCall(MatShift(A, (PetscScalar)9));
    PetscCall(ExpectWaves(da, A, f, PETSC_TRUE));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
    ProblemDestroy(&p);
    /* decoupled planes, each singular */
    ProblemDefault(&p, 2, 30, 20, 1);
    p.axis[1].a = 0;
    p.axis[0].end[0] = p.axis[0].end[1] = CELL_NEUMANN;
    PetscCall(Build(&p, DMDA_STENCIL_STAR, &da, &A));
    PetscCall(ExpectWaves(da, A, f, PETSC_TRUE));
    PetscCall(MatShift(A, (PetscScalar)1));
    PetscCall(ReadWith(da, A, f, &code));
    Report((PetscBool)(code == 0), "uncoupled lines, definite: %s", message);
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
    ProblemDestroy(&p);
  }
  /* not separable */
  ProblemDefault(&p, 2, 30, 20, 1);
  PetscCall(Build(&p, DMDA_STENCIL_STAR, &da, &A));
  PetscCall(SetOne(A, 30 * 8 + 19, 30 * 9 + 19, (PetscScalar)-1.5));
  PetscCall(
    Expect(da, A, BCR_FIT_EXACT, PETSC_ERR_SUP, "row 259 (grid point 19,8,0), column 289", "-pc_bcrpoisson_fit"));
#if defined(PETSC_USE_COMPLEX)
  PetscCall(SetOne(A, 30 * 8 + 19, 30 * 9 + 19, PetscCMPLX(-1, 0)));
  PetscCall(SetOne(A, 77, 78, PetscCMPLX(-1, 1e-3)));
  PetscCall(Expect(da, A, BCR_FIT_AUTO, PETSC_ERR_SUP, "is complex", "in row 77"));
#endif
  /* matrices and DMs of the wrong kind */
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatCreateShell(PETSC_COMM_SELF, n, n, n, n, NULL, &shell));
  PetscCall(MatSetUp(shell));
  PetscCall(Assemble(shell));
  PetscCall(Expect(da, shell, BCR_FIT_AUTO, PETSC_ERR_SUP, "PCBCRPoissonSetOperator()", "shell"));
  PetscCall(MatDestroy(&shell));
  PetscCall(DMShellCreate(PETSC_COMM_SELF, &other));
  PetscCall(Expect(other, A, BCR_FIT_AUTO, PETSC_ERR_ARG_WRONG, "not a DMDA", "structured"));
  PetscCall(DMDestroy(&other));
  PetscCall(DMDACreate2d(PETSC_COMM_SELF, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 30, 21, 1, 1, 1, 1,
                         NULL, NULL, &other));
  PetscCall(DMSetFromOptions(other)); /* -dm_vec_type cuda -dm_mat_type aijcusparse: scripts/check-gpu */
  PetscCall(DMSetUp(other));
  PetscCall(Expect(other, A, BCR_FIT_AUTO, PETSC_ERR_ARG_SIZ, "600 x 600", "630"));
  PetscCall(DMDestroy(&other));
  PetscCall(MatDestroy(&A));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(MatSetValue(A, 0, 0, (PetscScalar)1, INSERT_VALUES));
  PetscCall(Expect(da, A, BCR_FIT_AUTO, PETSC_ERR_ARG_WRONGSTATE, "not assembled", "MatAssembly"));
  PetscCall(Assemble(A));
  PetscCall(Expect(da, A, BCR_FIT_AUTO, PETSC_ERR_ARG_WRONG, "diagonal", "row "));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  ProblemDestroy(&p);
  /* by coefficients */
  {
    const PetscInt size[3] = {4, 0, 3}, good[3] = {4, 5, 3};
    BCREnd end[6] = {BCR_END_DIRICHLET, BCR_END_DIRICHLET, BCR_END_DIRICHLET,
                     BCR_END_PERIODIC,  BCR_END_DIRICHLET, BCR_END_GENERAL};
    BCROperator *op = NULL;
    PetscErrorCode e[5];

    PetscCall(PetscPushErrorHandler(Keep, NULL));
    e[0] = BCROperatorCreateUser(2, size, one, end, 0, 1, &op);
    e[1] = BCROperatorCreateUser(2, good, one, end, 0, 1, &op);
    e[2] = BCROperatorCreateUser(1, good, one, end, 0, 0, &op);
    e[3] = BCROperatorCreateUser(1, good, one, end + 4, 0, 1, &op);
    e[4] = BCROperatorCreateUser(4, good, one, end, 0, 1, &op);
    PetscCall(PetscPopErrorHandler());
    Report((PetscBool)(e[0] == PETSC_ERR_ARG_OUTOFRANGE && e[1] == PETSC_ERR_ARG_INCOMP &&
                       e[2] == PETSC_ERR_ARG_OUTOFRANGE && e[3] == PETSC_ERR_ARG_OUTOFRANGE &&
                       e[4] == PETSC_ERR_ARG_OUTOFRANGE),
           "wrong coefficients: codes %d %d %d %d %d", (int)e[0], (int)e[1], (int)e[2], (int)e[3], (int)e[4]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- eigenvalues ---- */

/* eigenvalues w[] of the symmetric-definite pencil A - lambda B, or of A alone: Cholesky,
   Householder, bisection; A and B are lost */
static PetscErrorCode Eigenvalues(PetscInt n, double *a, double *b, double *w)
{
  PetscInt i, j, k;
  double *d, *e, *v, *p, lo = 0, hi = 0;

  PetscFunctionBegin;
#define M(x, r, c) (x)[(r) + n * (c)]
  if (b) { /* A becomes L^{-1} A L^{-T} */
    for (j = 0; j < n; j++) {
      for (k = 0; k < j; k++)
        for (i = j; i < n; i++) M(b, i, j) -= M(b, i, k) * M(b, j, k);
      Report((PetscBool)(M(b, j, j) > 0), "a fit is not definite: pivot %g", M(b, j, j));
      M(b, j, j) = sqrt(fabs(M(b, j, j)) + 1e-300);
      for (i = j + 1; i < n; i++) M(b, i, j) /= M(b, j, j);
    }
    for (j = 0; j < n; j++)
      for (k = 0; k < n; k++) {
        M(a, k, j) /= M(b, k, k);
        for (i = k + 1; i < n; i++) M(a, i, j) -= M(b, i, k) * M(a, k, j);
      }
    for (k = 0; k < n; k++) {
      for (i = 0; i < n; i++) M(a, i, k) /= M(b, k, k);
      for (j = k + 1; j < n; j++)
        for (i = 0; i < n; i++) M(a, i, j) -= M(a, i, k) * M(b, j, k);
    }
  }
  PetscCall(PetscCalloc4(n, &d, n, &e, n, &v, n, &p));
  for (k = 0; k < n - 2; k++) { /* v v^T reflects column k below the diagonal onto its first entry */
    double norm = 0, vp = 0;

    for (i = k + 1; i < n; i++) norm += M(a, i, k) * M(a, i, k);
    norm = sqrt(norm);
    e[k + 1] = M(a, k + 1, k) > 0 ? -norm : norm;
    if (norm == 0) continue;
    for (i = k + 1; i < n; i++) v[i] = M(a, i, k);
    v[k + 1] -= e[k + 1];
    for (i = k + 1, vp = 0; i < n; i++) vp += v[i] * v[i];
    vp = sqrt(2 / vp);
    for (i = k + 1; i < n; i++) v[i] *= vp;
    for (i = k + 1; i < n; i++) p[i] = 0;
    for (j = k + 1; j < n; j++)
      for (i = k + 1; i < n; i++) p[i] += M(a, i, j) * v[j];
    for (i = k + 1, vp = 0; i < n; i++) vp += v[i] * p[i];
    for (i = k + 1; i < n; i++) p[i] -= 0.5 * vp * v[i];
    for (j = k + 1; j < n; j++)
      for (i = k + 1; i < n; i++) M(a, i, j) -= v[i] * p[j] + p[i] * v[j];
  }
  if (n > 1) e[n - 1] = M(a, n - 1, n - 2);
  for (i = 0; i < n; i++) {
    const double r = fabs(e[i]) + (i < n - 1 ? fabs(e[i + 1]) : 0);

    d[i] = M(a, i, i);
    lo = i ? PetscMin(lo, d[i] - r) : d[i] - r;
    hi = i ? PetscMax(hi, d[i] + r) : d[i] + r;
  }
  for (k = 0; k < n; k++) {
    double x0 = lo, x1 = hi;
    int it;

    if (k > 1 && k < n - 1) continue; /* nobody asks for these */
    for (it = 0; it < 200; it++) {
      const double x = 0.5 * (x0 + x1);
      PetscInt count = 0;
      double q = 1;

      for (i = 0; i < n; i++) {
        q = d[i] - x - (i ? e[i] * e[i] / q : 0);
        if (q == 0) q = 1e-300;
        if (q < 0) count++;
      }
      if (count > k) x1 = x;
      else x0 = x;
    }
    w[k] = 0.5 * (x0 + x1);
  }
#undef M
  PetscCall(PetscFree4(d, e, v, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the smallest eigenvalue of one axis for every pair of ends and of general axes, against dense eigenvalues */
static PetscErrorCode AxisEigenvalues(void)
{
  PetscInt n, i;
  int e0, e1;

  PetscFunctionBegin;
  for (n = 1; n <= 12; n++) {
    for (e0 = 0; e0 <= BCR_END_GENERAL; e0++) {
      for (e1 = 0; e1 <= BCR_END_GENERAL; e1++) {
        const PetscReal a = 2.5, shift = 0.125;
        const BCREnd end[2] = {(BCREnd)e0, (BCREnd)e1};
        double m[144], w[12];
        PetscReal lo = 0, l[12], u[12], c[12];
        BCROperator *op = NULL;

        const PetscBool ring = (PetscBool)(e0 == BCR_END_PERIODIC && n > 2 && n % 2 == 0); /* of any coefficients */

        if ((e0 == BCR_END_PERIODIC) != (e1 == BCR_END_PERIODIC) || (e0 == BCR_END_GENERAL) != (e1 == BCR_END_GENERAL))
          continue;
        memset(m, 0, sizeof(m));
        for (i = 0; i < n; i++) {
          l[i] = u[i] = a;
          c[i] = 2 * a;
        }
        if (e0 == BCR_END_GENERAL) {
          const BCREnd plain[2] = {BCR_END_DIRICHLET, BCR_END_DIRICHLET};

          for (i = 0; i < n; i++) {
            l[i] = (PetscReal)(0.1 + TestUniform());
            u[i] = (PetscReal)(0.1 + TestUniform());
            c[i] = l[i] + u[i] + (PetscReal)(TestUniform());
          }
          PetscCall(BCROperatorCreateUser(1, &n, &a, plain, shift, 1, &op));
          op->shift = shift;
          PetscCall(BCROperatorUserSetAxis(op, 0, l, c, u, NULL));
        } else PetscCall(BCROperatorCreateUser(1, &n, &a, end, shift, -3, &op));
        if (ring) { /* low_(i+1)/up_i = h_i/h_(i+1) */
          double h[12];

          for (i = 0; i < n; i++) h[i] = exp(3 * TestUniform());
          for (i = 0; i < n; i++) {
            u[i] = (PetscReal)(0.1 + TestUniform());
            l[(i + 1) % n] = (PetscReal)((double)u[i] * h[i] / h[(i + 1) % n]);
          }
          for (i = 0; i < n; i++) c[i] = l[i] + u[i] + (PetscReal)(0.1 * TestUniform());
          PetscCall(BCROperatorUserSetAxis(op, 0, l, c, u, NULL));
        }
        PetscCall(BCROperatorLowestEigenvalue(op, &lo));
        if (e0 == BCR_END_PERIODIC && n <= 2) {
          c[0] = c[n - 1] = n == 1 ? 0 : 2 * a;
          if (n == 2) l[1] = u[0] = 2 * a;
        } else if (e0 != BCR_END_GENERAL && n == 1) { /* half a cell less for a Neumann end, more for a Dirichlet end */
          static const double half[4] = {1, 0, 0.5, 0.5};
          const double cells = half[e0] + half[e1];
          const int fixed = (e0 == BCR_END_DIRICHLET || e0 == BCR_END_CELL_DIRICHLET) +
                            (e1 == BCR_END_DIRICHLET || e1 == BCR_END_CELL_DIRICHLET);

          c[0] = (PetscReal)(fixed == 0 ? 0 : a * (2 - 2 * cos((fixed == 2 ? PETSC_PI : PETSC_PI / 2) / cells)));
        } else if (e0 != BCR_END_GENERAL) {
          if (e0 == BCR_END_NEUMANN) u[0] = 2 * a;
          if (e1 == BCR_END_NEUMANN) l[n - 1] = 2 * a;
          c[0] += e0 == BCR_END_CELL_NEUMANN ? -a : (e0 == BCR_END_CELL_DIRICHLET ? a : 0);
          c[n - 1] += e1 == BCR_END_CELL_NEUMANN ? -a : (e1 == BCR_END_CELL_DIRICHLET ? a : 0);
        }
        for (i = 0; i < n; i++) {
          m[i + n * i] = c[i] + shift;
          if (i) m[i + n * (i - 1)] = m[i - 1 + n * i] = -sqrt((double)l[i] * (double)u[i - 1]);
        }
        if (e0 == BCR_END_PERIODIC && n > 2) m[n - 1] = m[n * (n - 1)] = -sqrt((double)l[0] * (double)u[n - 1]);
        PetscCall(Eigenvalues(n, m, NULL, w));
        Report((PetscBool)(fabs(w[0] - (double)lo) < 100 * TOL * a),
               "n = %d, ends %d %d: smallest eigenvalue %.15g, should be %.15g", (int)n, e0, e1, (double)lo, w[0]);
        PetscCall(BCROperatorDestroy(1, &op));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- fits ---- */

typedef double (*Coefficient)(double x, double y, double z);

static double Smooth(double x, double y, double z)
{
  return exp(2 * sin(2 * PETSC_PI * x) * sin(2 * PETSC_PI * y) * (z > 0 ? sin(PETSC_PI * z) : 1));
}
static double Flat(double x, double y, double z) /* constant on the planes through the middle */
{
  return exp(2 * sin(2 * PETSC_PI * x) * sin(2 * PETSC_PI * y) * (z > 0 ? sin(2 * PETSC_PI * z) : 1));
}
static double Bilinear(double x, double y, double z)
{
  (void)z;
  return 1 + 100 * x * y;
}
static double Exponential(double x, double y, double z)
{
  (void)z;
  return exp(4 * x + 3 * y);
}
static double Jump(double x, double y, double z)
{
  (void)z;
  return x > 0.313 && x < 0.687 && y > 0.313 && y < 0.687 ? 1000 : 1;
}
static double Constant(double x, double y, double z)
{
  (void)x;
  (void)y;
  (void)z;
  return 1;
}

/* -div k grad u + V u on n^dim points, one of the end types of End on all sides; sign */
static PetscErrorCode Variable(PetscInt dim, PetscInt n, End end, Coefficient k, double V, double scale, DM *da, Mat *A)
{
  const PetscInt N[3] = {n, dim > 1 ? n : 1, dim > 2 ? n : 1}, st[3] = {1, n, n * n};
  const PetscBool periodic[3] = {(PetscBool)(end == PERIODIC), (PetscBool)(end == PERIODIC),
                                 (PetscBool)(end == PERIODIC)};
  PetscInt ix[3], d, s;
  double h = end == CELL_NEUMANN || end == CELL_DIRICHLET ? 1.0 / (double)n
                                                          : 1.0 / (double)(n + (end == DIRICHLET ? 1 : -1)),
         x0 = end == DIRICHLET ? h : (end == CELL_NEUMANN || end == CELL_DIRICHLET ? h / 2 : 0);

  PetscFunctionBegin;
  PetscCall(Grid(dim, N, 1, periodic, DMDA_STENCIL_STAR, da));
  PetscCall(DMCreateMatrix(*da, A));
  for (ix[2] = 0; ix[2] < N[2]; ix[2]++) {
    for (ix[1] = 0; ix[1] < N[1]; ix[1]++) {
      for (ix[0] = 0; ix[0] < N[0]; ix[0]++) {
        const PetscInt row = ix[0] + st[1] * ix[1] * (dim > 1) + st[2] * ix[2] * (dim > 2);
        double w = 1, diagonal, x[3];
        PetscBool plane = PETSC_FALSE;

        for (d = 0; d < 3; d++) {
          x[d] = d < dim ? x0 + h * (double)ix[d] : 0;
          if (d < dim && (ix[d] == 0 || ix[d] == n - 1)) {
            if (end == NEUMANN_HALF) w *= 0.5;
            plane = (PetscBool)(plane || end == IDENTITY);
          }
        }
        if (plane) {
          PetscCall(
            MatSetValue(*A, row, row, (PetscScalar)(scale * 2 * (double)dim * k(x[0], x[1], x[2])), ADD_VALUES));
          continue;
        }
        diagonal = w * V * h * h * (1 + 0.5 * sin(9 * x[0]) * cos(7 * x[1]));
        for (d = 0; d < dim; d++) {
          for (s = -1; s <= 1; s += 2) {
            double m[3] = {x[0], x[1], x[2]}, c;
            PetscBool out = (PetscBool)(s < 0 ? ix[d] == 0 : ix[d] == n - 1);
            const PetscInt to = row + s * st[d] + (out ? -s * n * st[d] : 0);
            double wt = 1;

            for (PetscInt t = 0; t < dim; t++)
              if (t != d && end == NEUMANN_HALF && (ix[t] == 0 || ix[t] == n - 1)) wt *= 0.5;
            m[d] += 0.5 * s * h;
            if (end == PERIODIC) m[d] -= floor(m[d] / (h * (double)n)) * h * (double)n;
            c = wt * k(m[0], m[1], m[2]);
            if (out && (end == CELL_NEUMANN || end == NEUMANN_HALF)) continue;
            if (out && end == CELL_DIRICHLET) c *= 2;
            diagonal += c;
            if (!out || end == PERIODIC) PetscCall(MatSetValue(*A, row, to, (PetscScalar)(-scale * c), ADD_VALUES));
          }
        }
        PetscCall(MatSetValue(*A, row, row, (PetscScalar)(scale * diagonal), ADD_VALUES));
      }
    }
  }
  PetscCall(Assemble(*A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the spread of the eigenvalues of B^{-1} A on the box, the constant left out where A is singular;
   *asym: ||B - B^T|| / ||B|| */
static PetscErrorCode Condition(DM da, Mat A, const BCROperator *op, double *condition, double *smallest, double *asym)
{
  PetscInt N[3] = {1, 1, 1}, dim, i, j, k, n = 1, ix[3], *node;
  double *a, *b, *w, *x, top = 0;
  PetscBool singular;
  Vec e, y;
  const PetscScalar *yy;

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(da, &dim, &N[0], &N[1], &N[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  for (i = dim; i < 3; i++) N[i] = 1;
  for (i = 0; i < 3; i++) n *= op->axis[i].n;
  PetscCall(PetscCalloc5(n * n, &a, n * n, &b, n, &w, N[0] * N[1] * N[2], &x, n, &node));
  for (k = 0, ix[2] = 0; ix[2] < op->axis[2].n; ix[2]++)
    for (ix[1] = 0; ix[1] < op->axis[1].n; ix[1]++)
      for (ix[0] = 0; ix[0] < op->axis[0].n; ix[0]++)
        node[k++] = ix[0] + op->axis[0].plane[0].present +
                    N[0] * (ix[1] + op->axis[1].plane[0].present + N[1] * (ix[2] + op->axis[2].plane[0].present));
  PetscCall(MatCreateVecs(A, &e, &y));
  for (j = 0; j < n; j++) {
    PetscCall(VecSet(e, 0));
    PetscCall(VecSetValue(e, node[j], 1, INSERT_VALUES));
    PetscCall(VecAssemblyBegin(e));
    PetscCall(VecAssemblyEnd(e));
    PetscCall(Product(A, e, y));
    PetscCall(VecGetArrayRead(y, &yy));
    x[node[j]] = 1;
    for (i = 0; i < n; i++) {
      const PetscInt at[3] = {node[i] % N[0], (node[i] / N[0]) % N[1], node[i] / (N[0] * N[1])};

      a[i + n * j] = (double)PetscRealPart(yy[node[i]]);
      b[i + n * j] = Row(op, N, at, x);
    }
    x[node[j]] = 0;
    PetscCall(VecRestoreArrayRead(y, &yy));
  }
  PetscCall(VecDestroy(&e));
  PetscCall(VecDestroy(&y));
  for (i = 0, *asym = 0; i < n; i++)
    for (j = 0; j < n; j++) {
      TestLargest(asym, fabs(b[i + n * j] - b[j + n * i]));
      top = PetscMax(top, fabs(b[i + n * j]));
    }
  *asym /= top;
  if (op->scale < 0)
    for (i = 0; i < n * n; i++) {
      a[i] = -a[i];
      b[i] = -b[i];
    }
  singular = PETSC_TRUE;
  for (i = 0; i < n; i++) {
    double sum = 0;
    for (j = 0; j < n; j++) sum += a[i + n * j];
    if (fabs(sum) > (sizeof(PetscReal) == 4 ? 1e-5 : 1e-9) * fabs(a[i + n * i])) singular = PETSC_FALSE;
  }
  if (op->singular)
    for (i = 0; i < n * n; i++) { /* the constant: both become definite on it */
      b[i] += top / (double)n;
      a[i] += top / (double)n;
    }
  PetscCall(Eigenvalues(n, a, b, w));
  *smallest = w[0];
  *condition = w[n - 1] / w[singular && !op->singular ? 1 : 0];
  PetscCall(PetscFree5(a, b, w, x, node));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Fits(void)
{
  static const End ends[] = {DIRICHLET, NEUMANN_HALF, CELL_NEUMANN, CELL_DIRICHLET, IDENTITY, PERIODIC};
  static const struct {
    Coefficient k;
    const char *name, *pick;
    double scaled, average; /* condition numbers not to be exceeded; twice as much where the matrix is singular */
  } cases[] = {
    {Smooth,      "smooth",      "scaled", 12,  60  },
    {Bilinear,    "bilinear",    "scaled", 12,  110 },
    {Exponential, "exponential", "exact",  4,   1200}, /* separable: coefficients that vary along both axes */
    {Jump,        "jump",        NULL,     1e9, 1010}  /* few eigenvalues count there: petsc/precond has iterations */
  };
  int c, e, fit, n;

  PetscFunctionBegin;
  for (c = 0; c < 4; c++) {
    for (e = 0; e < 6; e++) {
      if (ends[e] == PERIODIC && c != 0 && c != 3) continue;
      for (n = 10; n <= 18; n += 8) {
        double best = 1e99, condition = 0, smallest = 0, asym = 0, limit;

        for (fit = 2; fit >= 0; fit--) { /* auto last */
          DM da;
          Mat A;
          PetscInt dof;
          BCROperator *ops;
          PetscBool scaled;

          PetscCall(Variable(2, n, ends[e], cases[c].k, 0, c % 2 ? -0.01 : 50, &da, &A));
          PetscCall(ReadFitAway(da, A, (BCRFit)fit, PETSC_FALSE, cases[c].name, &dof, &ops));
          PetscCall(Condition(da, A, &ops[0], &condition, &smallest, &asym));
          scaled = (PetscBool)!strcmp(ops[0].fit, "scaled");
          limit = (scaled ? cases[c].scaled : cases[c].average) *
                  (ends[e] == CELL_NEUMANN || ends[e] == NEUMANN_HALF || ends[e] == PERIODIC ? 2 : 1);
          if (fit == BCR_FIT_AUTO)
            Report((PetscBool)(!cases[c].pick || (!strcmp(ops[0].fit, cases[c].pick) && condition < 2 * best)),
                   "%s, ends %s, n = %d: auto chose %s, condition number %g, could be %g", cases[c].name,
                   names[ends[e]], n, ops[0].fit, condition, best);
          else
            Report((PetscBool)(scaled == (PetscBool)(fit == BCR_FIT_SCALED)), "%s: fit %d is called %s", cases[c].name,
                   fit, ops[0].fit);
          best = PetscMin(best, condition);
          Report((PetscBool)(smallest > (sizeof(PetscReal) == 4 ? -1e-5 : -1e-9) && condition < limit &&
                             asym < 1e-12 + (sizeof(PetscReal) == 4 ? 1e-6 : 0)),
                 "%s, ends %s, n = %d, fit %s: condition number %g, smallest %g, asymmetry %g, read as ends %d %d, "
                 "shift %g, singular %d",
                 cases[c].name, names[ends[e]], n, ops[0].fit, condition, smallest, asym, (int)ops[0].axis[0].end[0],
                 (int)ops[0].axis[0].end[1], (double)ops[0].shift, (int)ops[0].singular);
          Report((PetscBool)(ops[0].deviation > 0), "%s: deviation %g", cases[c].name, (double)ops[0].deviation);
          PetscCall(BCROperatorDestroy(dof, &ops));
          PetscCall(MatDestroy(&A));
          PetscCall(DMDestroy(&da));
        }
      }
    }
  }
  /* lines through the middle that are those of a separable operator: on a device the rows beside
     them tell, and the others are not brought to the host */
  for (c = 0; c < 4; c++) {
    DM da;
    Mat A;
    PetscInt dof;
    BCROperator *ops;

    PetscCall(Variable(2 + c % 2, 15, c / 2 ? IDENTITY : DIRICHLET, Flat, 0, 1, &da, &A));
    PetscCall(ReadFitAway(da, A, BCR_FIT_AUTO, PETSC_TRUE, "flat in the middle", &dof, &ops));
    Report((PetscBool)!strcmp(ops[0].fit, "scaled"), "flat in the middle: fit %s", ops[0].fit);
    PetscCall(BCROperatorDestroy(dof, &ops));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
  }
  /* a potential: positive, and negative as in the Bratu problem, down to nearly singular and
     beyond; three dimensions; one */
  for (c = 0; c < 6; c++) {
    static const double V[] = {30, -15, -60, 30, 5, 20};
    const PetscInt dim = c == 3 ? 3 : (c == 4 ? 1 : 2);
    DM da;
    Mat A;
    PetscInt dof;
    BCROperator *ops;
    double condition = 0, smallest = 0, asym;
    PetscReal lo = 0;

    PetscCall(Variable(dim, dim == 3 ? 7 : 15, c == 5 ? CELL_NEUMANN : DIRICHLET, c == 3 ? Smooth : Constant, V[c], 1,
                       &da, &A));
    PetscCall(ReadFitAway(da, A, BCR_FIT_AUTO, PETSC_FALSE, "potential", &dof, &ops));
    PetscCall(BCROperatorLowestEigenvalue(&ops[0], &lo));
    if (c != 4) Report((PetscBool) !!strcmp(ops[0].fit, "exact"), "potential %g: fit %s", V[c], ops[0].fit);
    Report((PetscBool)(lo > 0), "potential %g: fit with smallest eigenvalue %g", V[c], (double)lo);
    PetscCall(Condition(da, A, &ops[0], &condition, &smallest, &asym));
    Report((PetscBool)(c == 2 || (smallest > 0 && condition < 12)), "potential %g: condition number %g", V[c],
           condition);
    PetscCall(BCROperatorDestroy(dof, &ops));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a fit consists of, found again from the entries of the matrix one by one: long lines,
   several components, box stencils, links that are not symmetric, axes of one and two points and
   around, dropped planes */
static PetscErrorCode FitNumbers(void)
{
  static const struct {
    PetscInt N[3], dof;
    PetscBool periodic[3], unsym, planes;
    DMDAStencilType stencil;
  } cases[] = {
    {{45, 31, 1}, 1, {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE}, PETSC_FALSE, PETSC_FALSE, DMDA_STENCIL_STAR},
    {{45, 31, 1}, 1, {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE}, PETSC_TRUE,  PETSC_FALSE, DMDA_STENCIL_STAR},
    {{45, 16, 1}, 1, {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE}, PETSC_TRUE,  PETSC_TRUE,  DMDA_STENCIL_STAR},
    {{40, 16, 1}, 1, {PETSC_TRUE, PETSC_TRUE, PETSC_FALSE},   PETSC_FALSE, PETSC_FALSE, DMDA_STENCIL_STAR},
    {{40, 16, 1}, 2, {PETSC_FALSE, PETSC_TRUE, PETSC_FALSE},  PETSC_FALSE, PETSC_FALSE, DMDA_STENCIL_BOX },
    {{38, 11, 9}, 1, {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE}, PETSC_FALSE, PETSC_TRUE,  DMDA_STENCIL_STAR},
    {{38, 11, 9}, 1, {PETSC_FALSE, PETSC_FALSE, PETSC_TRUE},  PETSC_TRUE,  PETSC_FALSE, DMDA_STENCIL_STAR},
    {{37, 10, 8}, 2, {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE}, PETSC_TRUE,  PETSC_FALSE, DMDA_STENCIL_STAR},
    {{37, 2, 8},  1, {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE}, PETSC_FALSE, PETSC_FALSE, DMDA_STENCIL_BOX },
    {{37, 8, 1},  3, {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE}, PETSC_FALSE, PETSC_FALSE, DMDA_STENCIL_STAR},
    {{2, 33, 1},  1, {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE}, PETSC_FALSE, PETSC_FALSE, DMDA_STENCIL_STAR},
    {{1, 33, 12}, 1, {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE}, PETSC_TRUE,  PETSC_FALSE, DMDA_STENCIL_STAR},
    {{3, 4, 3},   1, {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE}, PETSC_FALSE, PETSC_FALSE, DMDA_STENCIL_STAR},
 /* these for several threads */
    {{30, 5, 26}, 1, {PETSC_FALSE, PETSC_FALSE, PETSC_TRUE},  PETSC_TRUE,  PETSC_FALSE, DMDA_STENCIL_STAR},
    {{30, 6, 25}, 2, {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE}, PETSC_FALSE, PETSC_FALSE, DMDA_STENCIL_STAR},
    {{30, 44, 1}, 1, {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE}, PETSC_FALSE, PETSC_TRUE,  DMDA_STENCIL_STAR}
  };
  const double tol = sizeof(PetscReal) == 4 ? 1e-4 : 1e-10;

  PetscFunctionBegin;
  for (size_t c = 0; c < 2 * sizeof(cases) / sizeof(cases[0]); c++) {
    const PetscInt *N = cases[c / 2].N, dof = cases[c / 2].dof, dim = N[2] > 1 ? 3 : 2, nodes = N[0] * N[1] * N[2],
                   st[3] = {1, N[0], N[0] * N[1]}, comp = dof - 1;
    const PetscBool planes = cases[c / 2].planes, *wrap = cases[c / 2].periodic;
    const PetscBool scaled = (PetscBool)(c % 2);
    PetscInt ix[3], d, s, got, n[3], counts[3] = {0, 0, 0}, ninside = 0;
    double *D, *C[3], *S, *x, mean[3] = {0, 0, 0}, a[3] = {0, 0, 0}, rest = 0, worst = 0, at = 0, wrongS = 0;
    BCROperator *ops, *op;
    PetscBool two = PETSC_FALSE, neutral = PETSC_TRUE;
    DM da;
    Mat A;

    PetscCall(Grid(dim, N, dof, wrap, cases[c / 2].stencil, &da));
    PetscCall(DMCreateMatrix(da, &A));
    PetscCall(PetscCalloc6(nodes, &D, nodes, &C[0], nodes, &C[1], nodes, &C[2], nodes, &S, nodes, &x));
    for (d = 0; d < 3; d++) {
      n[d] = N[d] - (planes && d == 1 ? 2 : 0);
      if (n[d] == 2) two = PETSC_TRUE;
    }
#define FORALL \
  for (ix[2] = 0; ix[2] < N[2]; ix[2]++) \
    for (ix[1] = 0; ix[1] < N[1]; ix[1]++) \
      for (ix[0] = 0; ix[0] < N[0]; ix[0]++)
#define NODE     (ix[0] + st[1] * ix[1] + st[2] * ix[2])
#define LOW(d)   (planes && (d) == 1 ? 1 : 0)
#define ISPLANE  (planes && (ix[1] == 0 || ix[1] == N[1] - 1))
#define FIRST(d) (ix[d] == LOW(d))
#define LAST(d)  (ix[d] == LOW(d) + n[d] - 1)
#define NEXT(d)  (LAST(d) ? NODE - (n[d] - 1) * st[d] : NODE + st[d])
#define PREV(d)  (FIRST(d) ? NODE + (n[d] - 1) * st[d] : NODE - st[d])
    FORALL /* the matrix: couplings of random size about 1, a potential */
    {
      const PetscInt row = comp + dof * NODE;

      for (PetscInt q = 0; q < dof; q++)
        PetscCall(MatSetValue(A, q + dof * NODE, q + dof * NODE,
                              q == comp ? (PetscScalar)(ISPLANE ? 5 : 0.3 + TestUniform()) : 3, ADD_VALUES));
      if (ISPLANE) continue;
      for (d = 0; d < dim; d++) {
        const double k = 1 + TestUniform(), f = cases[c / 2].unsym ? 1 + 0.3 * TestUniform() : 1;

        if (FIRST(d) && !wrap[d] && (N[d] > 1)) {
          PetscCall(MatSetValue(A, row, row, 1.3, ADD_VALUES));
          if (planes && d == 1) PetscCall(MatSetValue(A, row, row - dof * st[d], -1.3, ADD_VALUES));
        }
        if (LAST(d) && !wrap[d]) {
          if (N[d] > 1) PetscCall(MatSetValue(A, row, row, 1.2, ADD_VALUES));
          if (planes && d == 1) PetscCall(MatSetValue(A, row, row + dof * st[d], -1.2, ADD_VALUES));
          continue;
        }
        PetscCall(MatSetValue(A, row, row, (PetscScalar)k, ADD_VALUES));
        PetscCall(MatSetValue(A, comp + dof * NEXT(d), comp + dof * NEXT(d), (PetscScalar)k, ADD_VALUES));
        PetscCall(MatSetValue(A, row, comp + dof * NEXT(d), (PetscScalar)(-k * f), ADD_VALUES));
        PetscCall(MatSetValue(A, comp + dof * NEXT(d), row, (PetscScalar)(-k / f), ADD_VALUES));
      }
    }
    PetscCall(Assemble(A));
    PetscCall(MatScale(A, -2));
    {
      /* lines of few points may be those of a separable operator, and then every row is looked at
         */
      PetscBool stays = (PetscBool)(dof == 1);
      char what[32];

      for (d = 0; d < dim; d++) stays = (PetscBool)(stays && N[d] > 4);
      snprintf(what, sizeof(what), "fit numbers %d", (int)c);
      PetscCall(ReadFitAway(da, A, scaled ? BCR_FIT_SCALED : BCR_FIT_AVERAGE, stays, what, &got, &ops));
    }
    op = &ops[comp];
#define ENTRY(i, j, v) \
  do { \
    const PetscInt i_ = comp + dof * (i), j_ = comp + dof * (j); \
    PetscScalar v_ = 0; \
    PetscCall(MatGetValues(A, 1, &i_, 1, &j_, &v_)); \
    (v) = (double)PetscRealPart(v_); \
  } while (0)
    FORALL
    {
      if (ISPLANE) continue;
      ENTRY(NODE, NODE, D[NODE]);
      for (d = 0; d < dim; d++) {
        double u, l;

        if (n[d] < 2 || (LAST(d) && !wrap[d])) continue;
        ENTRY(NODE, NEXT(d), u);
        ENTRY(NEXT(d), NODE, l);
        C[d][NODE] = -sqrt(u * l);
        mean[d] += -C[d][NODE];
        counts[d]++;
      }
      D[NODE] = -D[NODE];
    }
    for (d = 0; d < 3; d++) mean[d] /= PetscMax(1, counts[d]);
    FORALL
    {
      S[NODE] = 1;
      if (ISPLANE || !scaled) continue;
      S[NODE] = 0;
      for (d = 0, s = 0; d < dim; d++) {
        double below = 0, above = 0, q;

        if (n[d] < 2) continue;
        if (!LAST(d) || wrap[d]) above = -C[d][NODE];
        if (!FIRST(d) || wrap[d]) below = -C[d][PREV(d)];
        if (FIRST(d) && !wrap[d]) {
          q = n[d] > 2 ? above / -C[d][NEXT(d)] : 1;
          below = above * PetscMin(4, PetscMax(0.25, q));
        }
        if (LAST(d) && !wrap[d]) {
          q = n[d] > 2 ? below / -C[d][NODE - 2 * st[d]] : 1;
          above = below * PetscMin(4, PetscMax(0.25, q));
        }
        S[NODE] += sqrt(below * above) / mean[d];
        s++;
      }
      S[NODE] = sqrt(S[NODE] / (double)s);
      {
        const PetscInt box = ix[0] + n[0] * (ix[1] - LOW(1) + n[1] * ix[2]);

        TestLargest(&wrongS, fabs(S[NODE] - (op->rowscale ? (double)op->rowscale[box] : 0)));
      }
    }
    FORALL
    {
      for (d = 0; d < dim; d++)
        if (!ISPLANE && n[d] > 1 && (!LAST(d) || wrap[d]))
          a[d] += -C[d][NODE] / (S[NODE] * S[NEXT(d)]) / (double)counts[d];
    }
    for (d = 0; d < dim; d++) neutral = (PetscBool)(neutral && wrap[d]);
    /* where no end holds the solution fixed the shift is what the matrix has on the constant, all
       rows together */
    FORALL
    {
      PetscBool inside = (PetscBool)!ISPLANE;
      double left = D[NODE] / (S[NODE] * S[NODE]);

      for (d = 0; d < dim; d++)
        if (n[d] > 2 && (!wrap[d] || !scaled) && !neutral && (FIRST(d) || LAST(d))) inside = PETSC_FALSE;
      if (!inside) continue;
      for (d = 0; d < dim; d++) {
        double u, l;

        if (n[d] < 2) continue;
        ENTRY(NODE, NEXT(d), u);
        ENTRY(NODE, PREV(d), l);
        left -= scaled || neutral ? 2 * a[d] : u + l;
      }
      rest += left;
      ninside++;
    }
    rest /= (double)ninside;
    for (d = 0; d < dim; d++)
      Report((PetscBool)(n[d] < 2 || fabs((double)(op->axis[d].a * PetscAbsReal(op->scale)) - a[d]) < tol),
             "fit numbers %d: coupling %d is %g, not %g", (int)c, (int)d,
             (double)(op->axis[d].a * PetscAbsReal(op->scale)), a[d]);
    Report((PetscBool)(two || fabs((double)(op->shift * PetscAbsReal(op->scale)) - rest) < 10 * tol),
           "fit numbers %d: shift %g, not %g", (int)c, (double)(op->shift * PetscAbsReal(op->scale)), rest);
    Report((PetscBool)(wrongS < tol && scaled == (PetscBool)(op->rowscale != NULL) && !op->left && op->scale < 0),
           "fit numbers %d: row scales differ by %g", (int)c, wrongS);
    FORALL /* the deviation, from what the operator's rows are */
    {
      if (ISPLANE) continue;
      for (d = -1; d < dim; d++) {
        double m[2] = {0, 0}, dev, to;
        const PetscInt j = d < 0 ? NODE : NEXT(d);

        if (d >= 0 && (n[d] < 2 || (LAST(d) && !wrap[d]))) continue;
        x[j] = 1;
        m[0] = Row(op, N, ix, x);
        x[j] = 0;
        to = d < 0 ? D[NODE] : C[d][NODE];
        dev = fabs(-m[0] - to) / fabs(m[0]);
        TestLargest(&worst, dev);
        if (op->devrow == NODE && op->devcol == j) at = dev;
      }
    }
    Report((PetscBool)(fabs(worst - (double)op->deviation) < tol * (1 + worst) && fabs(at - worst) < tol * (1 + worst)),
           "fit numbers %d: deviation %g in row %d, column %d, where it is %g; the largest is %g", (int)c,
           (double)op->deviation, (int)op->devrow, (int)op->devcol, at, worst);
#undef FORALL
#undef NODE
#undef LOW
#undef ISPLANE
#undef FIRST
#undef LAST
#undef NEXT
#undef PREV
#undef ENTRY
    PetscCall(PetscFree6(D, C[0], C[1], C[2], S, x));
    PetscCall(BCROperatorDestroy(got, &ops));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* auto on finer grids, where eigenvalues are too much work: which it chooses, when conjugate
   gradients tell which is better by far */
static double Layer(double x, double y, double z)
{
  (void)z;
  return 5.5 + 4.5 * tanh((x + y - 1) / 0.05);
}

static PetscErrorCode Choices(void)
{
  static const struct {
    Coefficient k;
    const char *name, *pick;
  } cases[] = {
    {Smooth,      "smooth",      "scaled" },
    {Bilinear,    "bilinear",    "scaled" },
    {Exponential, "exponential", "exact"  }, /* separable */
    {Layer,       "layer",       "scaled" },
    {Jump,        "jump",        "average"}
  };
  static const End ends[] = {DIRICHLET, CELL_NEUMANN, IDENTITY};

  PetscFunctionBegin;
  for (int c = 0; c < 5; c++) {
    for (int e = 0; e < 3; e++) {
      for (PetscInt n = 40; n <= 640; n *= 4) {
        DM da;
        Mat A;
        PetscInt dof;
        BCROperator *ops;

        if (n > 200 && e) continue;
        PetscCall(Variable(2, n, ends[e], cases[c].k, 0, 1, &da, &A));
        PetscCall(ReadFitAway(da, A, BCR_FIT_AUTO, PETSC_FALSE, cases[c].name, &dof, &ops));
        Report((PetscBool)!strcmp(ops[0].fit, cases[c].pick), "%s, ends %s, n = %d: auto chose %s", cases[c].name,
               names[ends[e]], (int)n, ops[0].fit);
        PetscCall(BCROperatorDestroy(dof, &ops));
        PetscCall(MatDestroy(&A));
        PetscCall(DMDestroy(&da));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix on a device whose layers are no better a fit is brought to the host once, to find that out: not again for new
   values, until what they promise is another */
static PetscErrorCode FitLayers(void)
{
  DM da;
  Mat A;
  PetscInt dof = 0;
  BCROperator *ops = NULL;
  BCRPattern pattern;
  PetscBool same, cusparse;
  PetscReal looked;
  double copies;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&pattern, sizeof(pattern)));
  PetscCall(Variable(2, 40, DIRICHLET, Jump, 0, 1, &da, &A));
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQAIJCUSPARSE, &cusparse));
  PetscCall(ReadUpdate(da, A, BCR_FIT_AUTO, &pattern, &dof, &ops, &same));
  looked = ops[0].looked;
  Report((PetscBool)(looked > 4 && ops[0].lookedfit == BCR_FIT_AUTO), "layers: fit %s, looked at with bound %g",
         ops[0].fit, (double)looked);
  for (int again = 0; again < 2; again++) {
    PetscCall(MatScale(A, 2)); /* on the device, if it is there */
    copies = FromDevice();
    PetscCall(ReadUpdate(da, A, BCR_FIT_AUTO, &pattern, &dof, &ops, &same));
    copies = FromDevice() - copies;
    Report((PetscBool)(copies == 0 && Near(ops[0].looked, looked) && !strcmp(ops[0].fit, "average")),
           "layers: %g copies for new values, fit %s, bound %g", copies, ops[0].fit, (double)ops[0].looked);
  }
  /* as if it had been another bound */
  ops[0].looked *= 4;
  PetscCall(MatScale(A, 2));
  copies = FromDevice();
  PetscCall(ReadUpdate(da, A, BCR_FIT_AUTO, &pattern, &dof, &ops, &same));
  copies = FromDevice() - copies;
  Report((PetscBool)((!cusparse || copies > 0) && Near(ops[0].looked, looked)),
         "layers: %g copies for another bound, %g, before %g", copies, (double)ops[0].looked, (double)looked);
  PetscCall(BCROperatorDestroy(dof, &ops));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the planes of a matrix that is not separable: rows and couplings are those of the matrix, exactly */
static PetscErrorCode FitPlanes(void)
{
  DM da;
  Mat A;
  PetscInt dof, i, n = 14;
  BCROperator *ops;
  double worst = 0;
  int fit;

  PetscFunctionBegin;
  for (fit = 0; fit < 3; fit++) {
    const PetscInt N[3] = {14, 14, 1};
    double *x;
    PetscScalar *z;
    Vec v, y;

    PetscCall(Variable(2, n, IDENTITY, Bilinear, 3, -4, &da, &A));
    PetscCall(ReadFitAway(da, A, (BCRFit)fit, PETSC_FALSE, "planes", &dof, &ops));
    PetscCall(MatCreateVecs(A, &v, &y));
    PetscCall(PetscCalloc1(n * n, &x));
    for (i = 0; i < n * n; i++)
      if (i % n == 0 || i % n == n - 1 || i / n == 0 || i / n == n - 1) x[i] = 2 * TestUniform() - 1;
    PetscCall(VecGetArray(v, &z));
    for (i = 0; i < n * n; i++) z[i] = (PetscScalar)x[i];
    PetscCall(VecRestoreArray(v, &z));
    PetscCall(Product(A, v, y));
    PetscCall(VecGetArray(y, &z));
    for (i = 0; i < n * n; i++) {
      const PetscInt ix[3] = {i % n, i / n, 0};

      TestLargest(&worst, fabs(Row(&ops[0], N, ix, x) - (double)PetscRealPart(z[i])) / 400);
    }
    PetscCall(VecRestoreArray(y, &z));
    Report((PetscBool)(worst < TOL), "planes of fit %s differ by %g", ops[0].fit, worst);
    PetscCall(PetscFree(x));
    PetscCall(VecDestroy(&v));
    PetscCall(VecDestroy(&y));
    PetscCall(BCROperatorDestroy(dof, &ops));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A row that no fit can do anything with, away from all that a first look takes in: the same error
   wherever the values are */
static PetscErrorCode FitFaults(void)
{
  static const double bad[] = {NAN, INFINITY, 0};
  const PetscInt n = 30, row = 4 + 6 * n;

  PetscFunctionBegin;
  for (int k = 0; k < 3; k++) {
    DM da;
    Mat A;
    PetscInt dof = 0;
    BCROperator *ops = NULL;
    BCRPattern pattern;
    PetscBool same;
    PetscErrorCode ierr[2];
    char said[sizeof(message)];

    PetscCall(PetscMemzero(&pattern, sizeof(pattern)));
    PetscCall(Variable(2, n, DIRICHLET, Bilinear, 0, 1, &da, &A));
    PetscCall(ReadUpdate(da, A, BCR_FIT_AUTO, &pattern, &dof, &ops, &same));
    PetscCall(MatSetValue(A, row, row, (PetscScalar)bad[k], INSERT_VALUES));
    PetscCall(Assemble(A));
    PetscCall(Away(A));
    PetscCall(PetscPushErrorHandler(Keep, NULL));
    message[0] = 0;
    ierr[0] = ReadUpdate(da, A, BCR_FIT_AUTO, &pattern, &dof, &ops, &same);
    PetscCall(PetscStrncpy(said, message, sizeof(said)));
    message[0] = 0;
    PetscCall(BCROperatorDestroy(dof, &ops));
    ierr[1] = Read(da, A, BCR_FIT_AUTO, &dof, &ops);
    PetscCall(PetscPopErrorHandler());
    Report((PetscBool)(ierr[0] && ierr[0] == ierr[1] && !strcmp(said, message)),
           "diagonal %g: error %d, '%s'; read afresh %d, '%s'", bad[k], (int)ierr[0], said, (int)ierr[1], message);
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* spacing computed from coordinates: couplings agree to 1e-13 only, row sums vanish */
static PetscErrorCode Rounded(void)
{
  DM da;
  Mat A;
  PetscInt i, j, dof;
  const PetscInt n = 200;
  BCROperator *ops;

  PetscFunctionBegin;
  PetscCall(DMDACreate2d(PETSC_COMM_SELF, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n, 1, 1, 1, 1, NULL,
                         NULL, &da));
  PetscCall(DMSetFromOptions(da)); /* -dm_vec_type cuda -dm_mat_type aijcusparse: scripts/check-gpu */
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  for (j = 0; j < n; j++) {
    for (i = 0; i < n; i++) {
      const PetscReal h = 1 / (PetscReal)n;
      PetscReal diagonal = 0;
      int k;

      for (k = 0; k < 4; k++) {
        const PetscInt c = k < 2 ? i : j, to = i + n * j + (k < 2 ? 1 : n) * (k % 2 ? 1 : -1);
        const PetscReal x0 = (PetscReal)c * h, x1 = (PetscReal)(c + (k % 2 ? 1 : -1)) * h,
                        v = 1 / ((x1 - x0) * (x1 - x0));

        if (k % 2 ? c == n - 1 : c == 0) continue;
        diagonal += v;
        PetscCall(MatSetValue(A, i + n * j, to, (PetscScalar)-v, INSERT_VALUES));
      }
      PetscCall(MatSetValue(A, i + n * j, i + n * j, (PetscScalar)diagonal, INSERT_VALUES));
    }
  }
  PetscCall(Assemble(A));
  PetscCall(Read(da, A, BCR_FIT_AUTO, &dof, &ops));
  if (sizeof(PetscReal) > 4)
    Report((PetscBool)(!strcmp(ops[0].fit, "exact") && ops[0].singular && ops[0].shift == 0 &&
                       ops[0].deviation < (sizeof(PetscReal) == 4 ? 1e-4 : 1e-11)),
           "spacing from coordinates: fit %s, singular %d, shift %g, deviation %g", ops[0].fit, (int)ops[0].singular,
           (double)ops[0].shift, (double)ops[0].deviation);
  else Report(ops[0].singular, "spacing from coordinates: fit %s, singular %d", ops[0].fit, (int)ops[0].singular);
  PetscCall(BCROperatorDestroy(dof, &ops));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* very flat, and spacings a million apart */
static PetscErrorCode Extremes(void)
{
  static const PetscInt size[][3] = {
    {1000, 1,   1  },
    {1,    700, 1  },
    {600,  2,   3  },
    {3,    500, 2  },
    {1,    1,   300},
    {2,    2,   2  },
    {1,    1,   1  }
  };
  size_t k;
  int m;

  PetscFunctionBegin;
  for (k = 0; k < sizeof(size) / sizeof(size[0]); k++) {
    for (m = 0; m < 3; m++) {
      Problem p;
      int d;

      ProblemDefault(&p, 3, size[k][0], size[k][1], size[k][2]);
      for (d = 0; d < 3; d++) {
        p.axis[d].a = d == m ? 1e6 : 1;
        if (p.axis[d].N == 1) p.axis[d].end[0] = p.axis[d].end[1] = CELL_NEUMANN;
      }
      if (k == 6) p.shift = 2;
      PetscCall(CheckProblem(&p, DMDA_STENCIL_STAR, "extreme"));
      for (d = 0; d < 2; d++) {
        ProblemDefault(&p, 2, size[k][0] + 2, size[k][1] + 2, 1); /* boxes down to one unknown or none */
        p.axis[0].a = m == 1 ? 1e6 : 1;
        p.axis[0].end[0] = p.axis[0].end[1] = p.axis[1].end[0] = p.axis[1].end[1] = m == 2 ? IDENTITY_APART : IDENTITY;
        p.axis[0].vary[0] = (PetscBool)d;
        PetscCall(CheckProblem(&p, DMDA_STENCIL_STAR, "flat box"));
      }
    }
  }
  for (m = 0; m < 4; m++) {
    static const PetscInt small[4][2] = {
      {2, 2},
      {2, 7},
      {3, 3},
      {4, 2}
    };
    Problem p;

    ProblemDefault(&p, 2, small[m][0], small[m][1], 1);
    p.axis[0].end[0] = p.axis[0].end[1] = p.axis[1].end[0] = p.axis[1].end[1] = IDENTITY;
    PetscCall(CheckProblem(&p, DMDA_STENCIL_STAR, "few points"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is told apart, and what is rounding: an operator whose smallest eigenvalue is a billionth of
   itself below or above zero, a shift of a few hundred roundings of the diagonal, rows of a plane
   that couple to the row beside them by as much */
static PetscErrorCode Tolerances(void)
{
  const double eps = PETSC_MACHINE_EPSILON;
  Problem p;
  DM da;
  Mat A;
  PetscInt dof;
  BCROperator *ops;
  double lowest = 0;

  PetscFunctionBegin;
  for (int sign = -1; sign <= 1; sign += 2) {
    ProblemDefault(&p, 2, 20, 16, 1);
    for (int d = 0; d < 2; d++) p.axis[d].a = 1;
    lowest = 4 * (pow(sin(PETSC_PI / 42), 2) + pow(sin(PETSC_PI / 34), 2));
    p.shift = -lowest * (1 - sign * 4e6 * eps);
    PetscCall(Build(&p, DMDA_STENCIL_STAR, &da, &A));
    PetscCall(ExpectWaves(da, A, BCR_FIT_EXACT, (PetscBool)(sign < 0)));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
    ProblemDestroy(&p);
  }
  for (int k = 0; k < 2; k++) { /* 400 roundings of the diagonal, none */
    ProblemDefault(&p, 2, 20, 16, 1);
    for (int d = 0; d < 2; d++) {
      p.axis[d].a = 1;
      p.axis[d].end[0] = p.axis[d].end[1] = d && k ? PERIODIC : CELL_NEUMANN;
    }
    p.shift = 1600 * eps;
    PetscCall(Build(&p, DMDA_STENCIL_STAR, &da, &A));
    PetscCall(Read(da, A, BCR_FIT_EXACT, &dof, &ops));
    Report((PetscBool)(!ops[0].singular && fabs((double)(ops[0].shift * ops[0].scale) / p.shift - 1) < 0.1),
           "a shift of 400 roundings: singular %d, %g of it", (int)ops[0].singular,
           (double)(ops[0].shift * ops[0].scale) / p.shift);
    PetscCall(BCROperatorDestroy(dof, &ops));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
    ProblemDestroy(&p);
  }
  /* a fit, since one coupling is another: the diagonal of a corner is 2000 roundings larger, of
     which the mean has nothing */
  {
    const PetscInt at[] = {20 * 5 + 8, 20 * 5 + 9};

    ProblemDefault(&p, 2, 20, 16, 1);
    for (int d = 0; d < 2; d++) {
      p.axis[d].a = 1;
      p.axis[d].end[0] = p.axis[d].end[1] = CELL_NEUMANN;
    }
    PetscCall(Build(&p, DMDA_STENCIL_STAR, &da, &A));
    for (int r = 0; r < 2; r++) {
      PetscCall(MatSetValue(A, at[r], at[1 - r], (PetscScalar)-0.25, ADD_VALUES));
      PetscCall(MatSetValue(A, at[r], at[r], (PetscScalar)0.25, ADD_VALUES));
    }
    PetscCall(MatSetValue(A, 0, 0, (PetscScalar)(4000 * eps), ADD_VALUES));
    PetscCall(Assemble(A));
    PetscCall(Read(da, A, BCR_FIT_AUTO, &dof, &ops));
    Report((PetscBool)(strcmp(ops[0].fit, "exact") && !ops[0].singular),
           "a corner 2000 roundings larger, one coupling another: fit %s, singular %d", ops[0].fit,
           (int)ops[0].singular);
    PetscCall(BCROperatorDestroy(dof, &ops));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
    ProblemDestroy(&p);
  }
  for (int s = 0; s < 2; s++) {
    const PetscInt nx = 20, ny = 16;

    ProblemDefault(&p, 2, nx, ny, 1);
    p.axis[0].end[s] = IDENTITY;
    PetscCall(Build(&p, DMDA_STENCIL_STAR, &da, &A));
    for (PetscInt j = 0; j < ny; j++)
      PetscCall(MatSetValue(A, (s ? nx - 1 : 0) + nx * j, (s ? nx - 2 : 1) + nx * j,
                            (PetscScalar)(-1000 * eps * p.axis[0].d[s]), INSERT_VALUES));
    PetscCall(Assemble(A));
    PetscCall(Read(da, A, BCR_FIT_EXACT, &dof, &ops));
    Report((PetscBool)(ops[0].axis[0].plane[s].present &&
                       fabs((double)ops[0].axis[0].plane[s].slope / (1000 * eps) - 1) < 0.01),
           "rows of a plane coupled by 1000 roundings: present %d, slope %g", (int)ops[0].axis[0].plane[s].present,
           (double)ops[0].axis[0].plane[s].slope);
    PetscCall(BCROperatorDestroy(dof, &ops));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
    ProblemDestroy(&p);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode View(void)
{
  Problem p;
  DM da;
  Mat A;
  PetscInt dof;
  BCROperator *ops;
  PetscViewer viewer;
  char text[4096];

  PetscFunctionBegin;
  ProblemDefault(&p, 2, 12, 9, 1);
  p.axis[0].end[0] = IDENTITY;
  p.axis[0].end[1] = CELL_NEUMANN;
  p.axis[1].stretch = 2;
  p.shift = 0.5;
  PetscCall(Build(&p, DMDA_STENCIL_STAR, &da, &A));
  PetscCall(Read(da, A, BCR_FIT_AUTO, &dof, &ops));
  memset(text, 0, sizeof(text));
  PetscCall(PetscViewerStringOpen(PETSC_COMM_SELF, text, sizeof(text), &viewer));
  PetscCall(BCROperatorView(&ops[0], viewer)); /* not ASCII: nothing */
  Report((PetscBool)(text[0] == 0), "a string viewer got %s", text);
  PetscCall(PetscViewerDestroy(&viewer));
  {
    FILE *file = tmpfile();
    size_t len;

    PetscCheck(file, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "No temporary file");
    PetscCall(PetscViewerASCIIOpenWithFILE(PETSC_COMM_SELF, file, &viewer));
    PetscCall(BCROperatorView(&ops[0], viewer));
    PetscCall(PetscViewerFlush(viewer));
    PetscCall(PetscViewerDestroy(&viewer));
    rewind(file);
    len = fread(text, 1, sizeof(text) - 1, file);
    text[len] = 0;
    fclose(file);
  }
  Report((PetscBool)(strstr(text, "axis x: 11 unknowns, ends Dirichlet and cell Neumann") &&
                     strstr(text, "low plane eliminated (diagonal 4") &&
                     strstr(text, "axis y: 9 unknowns, coefficients vary") && strstr(text, "row weights") &&
                     strstr(text, "fit exact")),
         "view: %s", text);
  PetscCall(BCROperatorDestroy(dof, &ops));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  ProblemDestroy(&p);
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  const char *name;
  PetscErrorCode (*run)(void);
} Part;

#define PART(f) \
  { \
    #f, f \
  }
static const Part parts[] = {PART(AllPairs),        PART(MatrixTypes), PART(Mirror),   PART(Corners),    PART(Names),
                             PART(AxisEigenvalues), PART(Rounded),     PART(Extremes), PART(Tolerances), PART(View)};
/* That compare and fit, for which threads are an option */
static const Part threaded[] = {PART(RandomProblems), PART(Components), PART(Uneven),     PART(Again),
                                PART(Left),           PART(Missing),    PART(NoDiagonal), PART(OneEntry),
                                PART(OneColumn),      PART(Errors),     PART(Fits),       PART(FitNumbers),
                                PART(Choices),        PART(FitPlanes),  PART(FitLayers),  PART(FitFaults)};

/* -only NAME: one part alone */
static PetscErrorCode Run(const Part *part, const char *only)
{
  PetscFunctionBegin;
  if (!*only || !strcmp(only, part->name)) PetscCall(part->run());
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char only[32] = "";

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(TestSeed());
  PetscCall(PetscBCRInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-turns", &every, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-part", &every, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-share", &share, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-only", only, sizeof(only), NULL));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(parts); i++) PetscCall(Run(&parts[i], only));
  for (int threads = 1; threads < 4; threads += 2) { /* which compare and fit: several where there is CUDA only */
#if defined(PETSCBCR_HAVE_CUDA)
    PetscCall(PetscOptionsSetValue(NULL, "-bcr_read_threads", threads > 1 ? "3" : "1"));
#else
    if (threads > 1) break;
#endif
    for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(threaded); i++) PetscCall(Run(&threaded[i], only));
  }
  PetscCall(PetscFinalize());
  return TestStatus(1, (int)passed, (int)failed);
}
