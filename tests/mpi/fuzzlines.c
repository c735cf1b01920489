/*
  Random lines for PCNEATO, KSPNEATO and PetscBCRLines: rows of every kind, size and scale, grids
  and their parts, methods, precisions, types of matrices, new values for the same objects, matrices
  that are refused. Every rank has the whole system in arrays of its own, applies each row to the
  solution, and compares it with LAPACK's LU (MATSEQDENSE). What is said to be solved has to be.

  ranks: 1 2 3 4

  Options: -cases 300 (60 on three ranks and more), -seed 1, -first 0 (a failure names its case:
  -seed S -first K -cases 1 repeats it alone), -long (10 times as many), -say (each case)
*/
#include "tests/petsc/testing.h"
#include "tests/check.h"
#include <petscdmda.h>

#define SINGLE_REAL (sizeof(PetscReal) < sizeof(double))

enum {
  TOEPLITZ, /* the same rows but for three at each end; diagonally dominant */
  DOMINANT, /* rows of their own */
  ONEWAY,   /* some couplings go one way */
  BROKEN,   /* some rows are not coupled */
  BIG,      /* big numbers on some diagonals, as Patankar's 1e30 */
  WEAK,     /* couplings of 1e-35 of the diagonal, or none at all */
  COLUMNS,  /* columns of other sizes: not dominant, may be refused */
  LOOSE,    /* not dominant, may be refused */
  KINDS,
  NEUMANN = KINDS, /* singular: has to be refused */
  ZEROROW,         /* a row of zeros */
  NOTFINITE        /* a NaN */
};
static const char *const Kinds[] = {"toeplitz", "dominant", "oneway",  "broken",  "big",      "weak",
                                    "columns",  "loose",    "neumann", "zerorow", "notfinite"};

typedef struct {
  unsigned long long state; /* of the random numbers: the same on all ranks */
  PetscInt number, dim, n[3], procs[3], dof, axis, kind, size;
  /* the same rows on all lines; couplings across; rows of very different scales; the axis is given
     */
  PetscBool periodic, same, across, tall, known;
  double scale;
  PetscInt method, precision, coupling, parts, type, ksp;
  double *a, *u, *f; /* [7*size]: low, up along x, y, z, diagonal; solution; right-hand side */
  double *row;       /* [size]: size of rows, powers of two */
} Fuzz;
static const char *const MatTypes[] = {"aij", "baij", "sell"};
static const char *const KSPTypes[] = {KSPPREONLY, KSPNEATO, KSPGMRES, KSPCG};

static unsigned long long Next(Fuzz *z)
{
  unsigned long long x = (z->state += 0x9e3779b97f4a7c15ULL);

  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

static PetscInt Pick(Fuzz *z, PetscInt n)
{
  return (PetscInt)(Next(z) % (unsigned long long)n);
}

static double Uniform(Fuzz *z, double a, double b)
{
  return a + (b - a) * (double)(Next(z) >> 11) / 9007199254740992.;
}

static PetscBool Chance(Fuzz *z, double p)
{
  return (PetscBool)(Uniform(z, 0, 1) < p);
}

static void Say(const Fuzz *z)
{
  (void)printf("case %d: dim %d n %d %d %d ranks %d %d %d dof %d axis %d%s %s%s%s%s%s scale %g method %s precision %s "
               "coupling %s parts %d type %s ksp %s\n",
               (int)z->number, (int)z->dim, (int)z->n[0], (int)z->n[1], (int)z->n[2], (int)z->procs[0],
               (int)z->procs[1], (int)z->procs[2], (int)z->dof, (int)z->axis, z->known ? "" : " (auto)", Kinds[z->kind],
               z->periodic ? " periodic" : "", z->same ? " same" : "", z->across ? " across" : "",
               z->tall ? " rows of all sizes" : "", z->scale, PCNeatoMethods[z->method],
               PCNeatoPrecisions[z->precision], PCNeatoCouplings[z->coupling], (int)z->parts, MatTypes[z->type],
               KSPTypes[z->ksp]);
  (void)fflush(stdout);
}

#define FuzzCheck(z, condition, ...) \
  do { \
    if (!(condition)) Say(z); \
    Check(condition, __VA_ARGS__); \
  } while (0)

/* Number of unknown c at x; -1 beyond the ends */
static PetscInt Unknown(const Fuzz *z, const PetscInt x[3], PetscInt c)
{
  for (PetscInt d = 0; d < 3; ++d) {
    if (x[d] < 0 || x[d] >= z->n[d]) return -1;
  }
  return c + z->dof * (x[0] + z->n[0] * (x[1] + z->n[1] * x[2]));
}

static void Place(const Fuzz *z, PetscInt i, PetscInt x[3], PetscInt *c)
{
  *c = i % z->dof;
  i /= z->dof;
  for (PetscInt d = 0; d < 3; ++d) {
    x[d] = i % z->n[d];
    i /= z->n[d];
  }
}

/* The unknown beside i in slot k, 2 d + s; -1: none */
static PetscInt Beside(const Fuzz *z, PetscInt i, PetscInt k)
{
  PetscInt x[3], c;

  Place(z, i, x, &c);
  x[k / 2] += k % 2 ? 1 : -1;
  if (k / 2 == z->axis && z->periodic) x[k / 2] = (x[k / 2] + z->n[k / 2]) % z->n[k / 2];
  return Unknown(z, x, c);
}

/* The rows, a solution and its right-hand side */
static void Fill(Fuzz *z, PetscInt kind)
{
  const PetscInt n = z->n[z->axis], edge = Pick(z, PetscMin(n / 2, 3) + 1), size = z->size;
  const double gap[] = {0, 1e-3, 0.1, 1}, more = gap[Pick(z, 4)], weak = Chance(z, 0.5) ? 1e-35 : 0;
  double common[3], ends[6][3];

  z->kind = kind;
  for (PetscInt d = 0; d < 3; ++d) common[d] = Uniform(z, 0.2, 1);
  for (PetscInt e = 0; e < 6; ++e)
    for (PetscInt d = 0; d < 3; ++d) ends[e][d] = Uniform(z, 0.2, 1);
  for (PetscInt i = 0; i < size; ++i) {
    double *a = z->a + 7 * i, low, up, diag = 0, sum = 0, columns = 1;
    PetscInt x[3], c, at;
    PetscBool apart = PETSC_FALSE;

    Place(z, i, x, &c);
    at = x[z->axis];
    x[z->axis] = 0;
    for (PetscInt k = 0; k < 7; ++k) a[k] = 0;
    low = -Uniform(z, 0.2, 1);
    up = -Uniform(z, 0.2, 1);
    if (kind == TOEPLITZ || kind == NEUMANN) {
      const PetscInt e = at < edge ? at : (at >= n - edge ? 3 + n - 1 - at : -1);
      const double *r = e < 0 || z->periodic ? common : ends[e];
      const double l = z->same ? 1 : 1 + 0.01 * (double)(Unknown(z, x, c) % 5);

      low = -r[0] * (kind == NEUMANN ? 1 : l);
      up = -r[1] * (kind == NEUMANN ? 1 : l);
      if (kind == NEUMANN) low = up = -common[0];
      diag = (e < 0 || z->periodic) ? more : r[2];
    } else diag = more + Uniform(z, 0, 0.3);
    if (kind == ONEWAY && Chance(z, 0.4)) {
      if (Chance(z, 0.5)) low = 0;
      else up = 0;
    }
    if (kind == BROKEN && Chance(z, 0.3)) {
      low = up = 0;
      diag = 1;
    }
    if (kind == WEAK) {
      low *= weak;
      up *= weak;
      diag = 1;
    }
    if (kind == BIG && Chance(z, 0.2)) apart = PETSC_TRUE;
    a[2 * z->axis] = low;
    a[2 * z->axis + 1] = up;
    for (PetscInt d = 0; z->across && d < z->dim; ++d) {
      if (d == z->axis) continue;
      a[2 * d] = -Uniform(z, 0.01, 0.1);
      a[2 * d + 1] = -Uniform(z, 0.01, 0.1);
      diag += 0.02;
    }
    if (z->ksp == 3) /* symmetric: constant along each axis */
      for (PetscInt d = 0; d < 3; ++d)
        a[2 * d] = a[2 * d + 1] = a[2 * d] == 0 && d != z->axis ? 0 : (d == z->axis ? -common[0] : -0.05);
    for (PetscInt k = 0; k < 6; ++k) {
      const PetscInt j = Beside(z, i, k);

      sum += fabs(a[k]);
      /* both neighbours are one point */
      if (k / 2 == z->axis && z->periodic && (n == 1 || (n == 2 && (at ? k % 2 : !(k % 2))))) a[k] = 0;
      if (j < 0) {
        if (kind == NEUMANN) sum -= fabs(a[k]);
        a[k] = 0;
      } else if (kind == NEUMANN && a[k] == 0) sum -= k / 2 == z->axis ? common[0] : 0;
    }
    a[6] = sum * (1 + (kind == NEUMANN ? 0 : diag)) + (kind == WEAK || sum == 0 ? 1 : 0);
    if (kind == TOEPLITZ && more == 0 && (z->periodic || n > 20 || edge)) a[6] += 1e-2 * sum; /* not singular */
    if (kind == LOOSE) a[6] *= Uniform(z, 0.2, 0.9) * (Chance(z, 0.3) ? -1 : 1);
    if (apart) a[6] *= 1e30 > (double)PETSC_MAX_REAL / 1e10 ? 1e10 : 1e30;
    if (kind == COLUMNS) {
      for (PetscInt k = 0; k < 7; ++k) {
        const PetscInt j = k < 6 ? Beside(z, i, k) : i;

        if (j >= 0) {
          columns = 1 + 99 * fabs(sin(1 + 7 * (double)j));
          a[k] *= columns;
        }
      }
    }
    if (kind == ZEROROW && i == size / 2)
      for (PetscInt k = 0; k < 7; ++k) a[k] = 0;
    z->row[i] = ldexp(1, (int)(log2(z->scale) + (z->tall ? Uniform(z, -1, 1) * (SINGLE_REAL ? 20 : 330) : 0)));
    for (PetscInt k = 0; k < 7; ++k) a[k] = (double)(PetscReal)(a[k] * z->row[i]);
    if (kind == NOTFINITE && i == size / 2) a[6] = NAN;
  }
  for (PetscInt i = 0; i < size; ++i) z->u[i] = (double)(PetscReal)Uniform(z, -1, 1);
  for (PetscInt i = 0; i < size; ++i) {
    long double sum = (long double)z->a[7 * i + 6] * (long double)z->u[i];

    for (PetscInt k = 0; k < 6; ++k) {
      const PetscInt j = Beside(z, i, k);

      if (j >= 0) sum += (long double)z->a[7 * i + k] * (long double)z->u[j];
    }
    z->f[i] = (double)(PetscReal)sum;
  }
}

static PetscErrorCode Assemble(const Fuzz *z, DM da, Mat A)
{
  PetscInt s[3], m[3], x[3];

  PetscFunctionBegin;
  PetscCall(MatZeroEntries(A));
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], &s[2], &m[0], &m[1], &m[2]));
  for (x[2] = s[2]; x[2] < s[2] + m[2]; ++x[2]) {
    for (x[1] = s[1]; x[1] < s[1] + m[1]; ++x[1]) {
      for (x[0] = s[0]; x[0] < s[0] + m[0]; ++x[0]) {
        for (PetscInt c = 0; c < z->dof; ++c) {
          const MatStencil row = {.k = x[2], .j = x[1], .i = x[0], .c = c};
          const PetscInt i = Unknown(z, x, c);

          for (PetscInt k = 0; k < 7; ++k) {
            MatStencil to = row;
            const PetscInt by = k == 6 ? 0 : (k % 2 ? 1 : -1), d = k / 2;
            const PetscScalar v = (PetscScalar)z->a[7 * i + k];

            if (z->a[7 * i + k] == 0) continue;
            if (d == 0) to.i += by;
            if (d == 1) to.j += by;
            if (d == 2) to.k += by;
            PetscCall(MatSetValuesStencil(A, 1, &row, 1, &to, &v, ADD_VALUES));
          }
        }
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* z->f to a vector of the DMDA */
static PetscErrorCode ToVec(const Fuzz *z, DM da, const double w[], Vec v)
{
  PetscInt s[3], m[3], x[3];
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], &s[2], &m[0], &m[1], &m[2]));
  PetscCall(VecGetArray(v, &a));
  for (x[2] = s[2]; x[2] < s[2] + m[2]; ++x[2])
    for (x[1] = s[1]; x[1] < s[1] + m[1]; ++x[1])
      for (x[0] = s[0]; x[0] < s[0] + m[0]; ++x[0])
        for (PetscInt c = 0; c < z->dof; ++c)
          a[c + z->dof * (x[0] - s[0] + m[0] * (x[1] - s[1] + m[1] * (x[2] - s[2])))] =
            (PetscScalar)w[Unknown(z, x, c)];
  PetscCall(VecRestoreArray(v, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All of a vector on every rank */
static PetscErrorCode FromVec(DM da, Vec v, double w[])
{
  PetscScalar *a;
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(TestGather(da, v, &a, &n));
  for (PetscInt i = 0; i < n; ++i) w[i] = (double)PetscRealPart(a[i]);
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solution by LAPACK, rows brought to one size before; PETSC_FALSE: it finds none */
static PetscErrorCode Reference(const Fuzz *z, double u[], PetscBool *there)
{
  Mat A;
  Vec x, y;
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, z->size, z->size, NULL, &A));
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, z->size, &x));
  PetscCall(VecDuplicate(x, &y));
  for (PetscInt i = 0; i < z->size; ++i) {
    double big = 0;

    for (PetscInt k = 0; k < 7; ++k) big = PetscMax(big, fabs(z->a[7 * i + k]));
    for (PetscInt k = 0; k < 7; ++k) {
      const PetscInt j = k < 6 ? Beside(z, i, k) : i;

      if (j >= 0) PetscCall(MatSetValue(A, i, j, (PetscScalar)(z->a[7 * i + k] / big), ADD_VALUES));
    }
    PetscCall(VecSetValue(y, i, (PetscScalar)(z->f[i] / big), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatLUFactor(A, NULL, NULL, NULL));
  PetscCall(MatSolve(A, y, x));
  PetscCall(VecGetArray(x, &a));
  *there = PETSC_TRUE;
  for (PetscInt i = 0; i < z->size; ++i) {
    u[i] = (double)PetscRealPart(a[i]);
    if (!(fabs(u[i]) <= (double)PETSC_MAX_REAL)) *there = PETSC_FALSE;
  }
  PetscCall(VecRestoreArray(x, &a));
  PetscCall(TestDestroy(&x, &y, &A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Largest |f - A u| of a row over |row| times the largest |u| of its line (of all, with couplings across), plus |f| */
static double Backward(const Fuzz *z, const double u[])
{
  double *most, worst = 0, all = 0;

  most = (double *)calloc((size_t)z->size, sizeof(double)); /* by the unknown with place 0 on the line */
  for (PetscInt i = 0; i < z->size; ++i) {
    PetscInt x[3], c;

    Place(z, i, x, &c);
    x[z->axis] = 0;
    TestLargest(&most[Unknown(z, x, c)], fabs(u[i]));
    TestLargest(&all, fabs(u[i]));
  }
  for (PetscInt i = 0; i < z->size; ++i) {
    PetscInt x[3], c;
    long double r = (long double)z->f[i] - (long double)z->a[7 * i + 6] * (long double)u[i];
    double size = fabs(z->a[7 * i + 6]);

    Place(z, i, x, &c);
    x[z->axis] = 0;
    for (PetscInt k = 0; k < 6; ++k) {
      const PetscInt j = Beside(z, i, k);

      if (j < 0) continue;
      r -= (long double)z->a[7 * i + k] * (long double)u[j];
      size += fabs(z->a[7 * i + k]);
    }
    TestLargest(&worst,
                (double)(fabsl(r) / ((long double)size * (long double)(z->across ? all : most[Unknown(z, x, c)]) +
                                     fabsl((long double)z->f[i]))));
  }
  free(most);
  return worst;
}

/* A call whose error is the same on all ranks */
static PetscErrorCode Same(const Fuzz *z, PetscErrorCode ierr, const TestCaught *caught)
{
  int code[2] = {(int)ierr, -(int)ierr};

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, code, 2, MPI_INT, MPI_MAX, PETSC_COMM_WORLD));
  FuzzCheck(z, code[0] == -code[1], "ranks have errors %d and %d; here: %d, %s", code[0], -code[1], (int)ierr,
            caught->message);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* dc has a mixed precision of its own, that of the paper */
static PetscBool IsSingle(const Fuzz *z)
{
  return (PetscBool)(SINGLE_REAL || z->precision == PCNEATO_PRECISION_SINGLE ||
                     (z->precision == PCNEATO_PRECISION_MIXED && z->method == PCNEATO_METHOD_DC));
}

/* Whether the work type reaches the numbers of the lines */
static PetscBool InRange(const Fuzz *z)
{
  if (!IsSingle(z)) return PETSC_TRUE;
  return (PetscBool)(!z->tall && z->kind != WEAK && fabs(log10(z->scale)) < (z->kind == BIG ? 6 : 31));
}

/* What must not be refused: dominant lines within the range of the work type, by a method for them */
static PetscBool Due(const Fuzz *z)
{
  if (z->kind >= COLUMNS || !InRange(z)) return PETSC_FALSE;
  if (z->coupling == PCNEATO_COUPLING_NEIGHBOUR && z->procs[z->axis] > 1) return PETSC_FALSE;
  if (z->method == PCNEATO_METHOD_AUTO || z->method == PCNEATO_METHOD_THOMAS || z->method == PCNEATO_METHOD_PSCHEME)
    return PETSC_TRUE;
  return (PetscBool)(z->kind == TOEPLITZ && !z->tall);
}

static PetscErrorCode Solved(const Fuzz *z, DM da, Vec u, const char what[])
{
  const double eps = IsSingle(z) && z->ksp == 0 ? 1.2e-7 : (SINGLE_REAL ? 1.2e-7 : 2.3e-16);
  /* 4096 is where lines are refused */
  const double bound = z->ksp >= 2 ? (SINGLE_REAL ? 1e-4 : (IsSingle(z) ? 1e-6 : 1e-9))
                                   : (z->ksp == 1 && !SINGLE_REAL ? 1e-10 : (z->kind >= COLUMNS ? 40960 : 100) * eps);
  double *w, *v, e, most = 0, worst = 0;
  PetscBool there = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(z->size, &w, z->size, &v));
  PetscCall(FromVec(da, u, w));
  e = Backward(z, w);
  if (!(e <= bound) && getenv("FUZZ_ROWS"))
    for (PetscInt i = 0; i < z->size; ++i) {
      long double r = (long double)z->f[i] - (long double)z->a[7 * i + 6] * (long double)w[i];
      for (PetscInt k = 0; k < 6; ++k)
        if (Beside(z, i, k) >= 0) r -= (long double)z->a[7 * i + k] * (long double)w[Beside(z, i, k)];
      printf("%d: %g %g %g  f %g u %.16g (%.16g) r %Lg\n", (int)i, z->a[7 * i + 2 * z->axis], z->a[7 * i + 6],
             z->a[7 * i + 2 * z->axis + 1], z->f[i], w[i], z->u[i], r);
    }
  FuzzCheck(z, e <= bound, "%s: backward error %g of %g", what, e, bound);
  if (z->kind < COLUMNS) {
    PetscCall(Reference(z, v, &there));
    for (PetscInt i = 0; i < z->size; ++i) {
      TestLargest(&most, fabs(v[i]));
      TestLargest(&worst, fabs(w[i] - v[i]));
    }
    FuzzCheck(z, there && worst <= 1e5 * bound * most, "%s: off LU by %g of %g", what, worst, most);
  }
  PetscCall(PetscFree2(w, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Grid(Fuzz *z, DM *da)
{
  static const PetscInt sizes[] = {1,  2,  3,  4,  5,  7,  8,  9,  11, 13,  15,  16,  17,
                                   23, 31, 32, 33, 47, 63, 64, 65, 97, 127, 128, 129, 251};
  DMBoundaryType b[3] = {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE};
  PetscInt *width[3];
  PetscMPIInt ranks, rest;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  z->dim = 1 + Pick(z, 3);
  z->dof = Chance(z, 0.25) ? 2 + Pick(z, 2) : 1;
  do {
    for (PetscInt d = 0; d < 3; ++d) {
      z->n[d] = d < z->dim ? sizes[Pick(z, z->dim == 1 ? 26 : (z->dim == 2 ? 21 : 12))] : 1;
      z->procs[d] = 1;
    }
    rest = ranks;
    for (PetscMPIInt p = 2; rest > 1; ++p)
      while (rest % p == 0) {
        z->procs[Pick(z, z->dim)] *= p;
        rest /= p;
      }
    for (PetscInt d = 0; d < z->dim; ++d) z->n[d] = PetscMax(z->n[d], z->procs[d]);
    z->size = z->dof * z->n[0] * z->n[1] * z->n[2];
  } while (z->size > 400);
  z->axis = Pick(z, z->dim);
  z->periodic = Chance(z, 0.3);
  if (z->periodic) b[z->axis] = DM_BOUNDARY_PERIODIC;
  for (PetscInt d = 0; d < 3; ++d) { /* at least one row each, the others anywhere */
    PetscCall(PetscMalloc1(z->procs[d], &width[d]));
    for (PetscInt p = 0; p < z->procs[d]; ++p) width[d][p] = 1;
    for (PetscInt k = z->procs[d]; k < z->n[d]; ++k)
      ++width[d][Chance(z, 0.5) ? Pick(z, z->procs[d]) : k * z->procs[d] / z->n[d]];
  }
  if (z->dim == 1) PetscCall(DMDACreate1d(PETSC_COMM_WORLD, b[0], z->n[0], z->dof, 1, width[0], da));
  else if (z->dim == 2)
    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, b[0], b[1], DMDA_STENCIL_STAR, z->n[0], z->n[1], z->procs[0], z->procs[1],
                           z->dof, 1, width[0], width[1], da));
  else
    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, b[0], b[1], b[2], DMDA_STENCIL_STAR, z->n[0], z->n[1], z->n[2],
                           z->procs[0], z->procs[1], z->procs[2], z->dof, 1, width[0], width[1], width[2], da));
  PetscCall(DMSetFromOptions(*da));
  PetscCall(DMSetUp(*da));
  for (PetscInt d = 0; d < 3; ++d) PetscCall(PetscFree(width[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One set of objects; several matrices */
static PetscErrorCode Matrices(Fuzz *z, DM da)
{
  const PetscInt rounds = 1 + Pick(z, 3);
  Mat A;
  Vec f, u;
  KSP ksp;
  PC pc;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(DMCreateGlobalVector(da, &f));
  PetscCall(VecDuplicate(f, &u));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, KSPTypes[z->ksp]));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCNEATO));
  PetscCall(PCSetDM(pc, da));
  if (z->known) PetscCall(PCNeatoSetAxis(pc, (PCNeatoAxis)(z->axis + 1)));
  PetscCall(PCNeatoSetMethod(pc, (PCNeatoMethod)z->method));
  PetscCall(PCNeatoSetPrecision(pc, (PCNeatoPrecision)z->precision));
  PetscCall(PCNeatoSetCoupling(pc, (PCNeatoCoupling)z->coupling));
  PetscCall(PCNeatoSetParts(pc, z->parts));
  PetscCall(KSPSetTolerances(ksp, SINGLE_REAL ? (PetscReal)1e-5 : (PetscReal)1e-12, PETSC_DEFAULT, PETSC_DEFAULT, 300));
  PetscCall(KSPSetFromOptions(ksp));
  for (PetscInt round = 0; round < rounds; ++round) {
    Mat B = NULL;
    PetscBool bad = (PetscBool)(z->kind >= KINDS);

    if (round)
      Fill(z, bad || z->across || z->ksp == 3
                ? (z->across || z->ksp == 3 ? DOMINANT : Pick(z, COLUMNS))
                : (Chance(z, 0.3) ? NEUMANN + Pick(z, 3) : (Chance(z, 0.5) ? z->kind : Pick(z, KINDS))));
    if (z->kind == ZEROROW && z->size < 3) z->kind = DOMINANT, Fill(z, DOMINANT);
    PetscCall(Assemble(z, da, A));
    if (z->type) PetscCall(MatConvert(A, z->type == 1 ? MATBAIJ : MATSELL, MAT_INITIAL_MATRIX, &B));
    PetscCall(KSPSetOperators(ksp, B ? B : A, B ? B : A));
    PetscCall(MatDestroy(&B));
    PetscCall(ToVec(z, da, z->f, f));
    for (PetscInt again = 0; again < 2; ++again) { /* twice: after an error, too */
      PetscErrorCode ierr;
      TestCaught caught = {0, ""};

      PetscCall(VecSet(u, 0));
      PetscCall(PetscPushErrorHandler(TestCatch, &caught));
      ierr = KSPSolve(ksp, f, u);
      PetscCall(PetscPopErrorHandler());
      PetscCall(Same(z, ierr, &caught));
      if (ierr) {
        FuzzCheck(z, !Due(z), "round %d.%d: refused, %s", (int)round, (int)again, caught.message);
        FuzzCheck(z,
                  caught.code == PETSC_ERR_MAT_LU_ZRPVT || caught.code == PETSC_ERR_SUP ||
                    caught.code == PETSC_ERR_FP || caught.code == PETSC_ERR_ARG_OUTOFRANGE ||
                    (z->kind == ZEROROW && caught.code == PETSC_ERR_ARG_WRONG),
                  "round %d.%d: error %d, %s", (int)round, (int)again, caught.code, caught.message);
        continue;
      }
      PetscCall(KSPGetConvergedReason(ksp, &reason));
      FuzzCheck(z, z->kind < NEUMANN || (z->kind == NEUMANN && z->n[z->axis] == 1) || reason < 0,
                "round %d.%d: a matrix that cannot be solved, %s", (int)round, (int)again, KSPConvergedReasons[reason]);
      if (z->kind >= NEUMANN) continue;
      if (z->kind < COLUMNS)
        FuzzCheck(z, reason > 0, "round %d.%d: %s", (int)round, (int)again, KSPConvergedReasons[reason]);
      if (reason > 0) PetscCall(Solved(z, da, u, again ? "solved again" : (round ? "new values" : "first solve")));
    }
  }
  PetscCall(TestDestroy(&ksp, &f, &u, &A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same rows on all lines, without a matrix */
static PetscErrorCode Rows(Fuzz *z, DM da)
{
  const PetscInt n = z->n[z->axis], ends = z->periodic ? 0 : PetscMin(n / 2, 3);
  PetscReal first[9], last[9], row[3];
  PetscBCRLines lines;
  Vec f, u;

  PetscFunctionBegin;
  PetscCall(DMCreateGlobalVector(da, &f));
  PetscCall(VecDuplicate(f, &u));
  for (PetscInt k = 0; k < 9; ++k) { /* along the line through the origin */
    PetscInt x[3] = {0, 0, 0}, i;

    x[z->axis] = k / 3;
    i = Unknown(z, x, 0);
    first[k] = i < 0 ? 0 : (PetscReal)z->a[7 * i + (k % 3 == 1 ? 6 : 2 * z->axis + k % 3 / 2)];
    x[z->axis] = n - ends + k / 3;
    i = Unknown(z, x, 0);
    last[k] = i < 0 ? 0 : (PetscReal)z->a[7 * i + (k % 3 == 1 ? 6 : 2 * z->axis + k % 3 / 2)];
    x[z->axis] = n / 2;
    i = Unknown(z, x, 0);
    if (k < 3) row[k] = (PetscReal)z->a[7 * i + (k == 1 ? 6 : 2 * z->axis + k / 2)];
  }
  PetscCall(ToVec(z, da, z->f, f));
  PetscCall(PetscBCRLinesCreate(da, (DMDirection)z->axis, ends, first, row, ends, last, &lines));
  PetscCall(PetscBCRLinesSetPrecision(lines, (PCNeatoPrecision)z->precision));
  PetscCall(PetscBCRLinesSetCoupling(lines, (PCNeatoCoupling)z->coupling));
  for (PetscInt again = 0; again < 3; ++again) {
    PetscErrorCode ierr;
    TestCaught caught = {0, ""};

    if (again < 2) PetscCall(PetscBCRLinesSetMethod(lines, (PCNeatoMethod)z->method));
    PetscCall(VecSet(u, 0));
    PetscCall(PetscPushErrorHandler(TestCatch, &caught));
    ierr = PetscBCRLinesSolve(lines, f, u);
    PetscCall(PetscPopErrorHandler());
    PetscCall(Same(z, ierr, &caught));
    if (ierr) FuzzCheck(z, !Due(z), "PetscBCRLines, %d: refused, %s", (int)again, caught.message);
    else PetscCall(Solved(z, da, u, "PetscBCRLines"));
    if (again == 0) z->method = Pick(z, 6);
  }
  PetscCall(PetscBCRLinesDestroy(&lines));
  PetscCall(VecDestroy(&f));
  PetscCall(VecDestroy(&u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode One(PetscInt seed, PetscInt number, PetscBool say)
{
  static const double scales[] = {1, 1, 1, 1e-30, 1e30, 1e-100, 1e100, 1e-200, 1e200};
  Fuzz z = {.state = (unsigned long long)seed * 1000003ULL + (unsigned long long)number, .number = number};
  DM da;
  PetscMPIInt rank, ranks;
  PetscBool plain;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  (void)Next(&z);
  PetscCall(Grid(&z, &da));
  PetscCall(PetscMalloc4(7 * z.size, &z.a, z.size, &z.u, z.size, &z.f, z.size, &z.row));
  plain = Chance(&z, 0.2);
  z.across = (PetscBool)(!plain && z.dim > 1 && Chance(&z, 0.25));
  z.same = (PetscBool)(plain || Chance(&z, 0.4));
  z.kind = plain ? TOEPLITZ : (z.across ? DOMINANT : Pick(&z, KINDS + 1));
  z.scale = SINGLE_REAL ? pow(10, (double)Pick(&z, 5) * 5 - 10) : scales[Pick(&z, 9)];
  z.tall = (PetscBool)(!plain && !z.across && fabs(log10(z.scale)) < 150 && Chance(&z, 0.2));
  z.known = (PetscBool)(z.across || z.tall || z.kind == BIG || z.n[z.axis] == 1 || Chance(&z, 0.5));
  z.method = Pick(&z, 6);
  z.precision = Chance(&z, 0.6) ? PCNEATO_PRECISION_DOUBLE : 1 + Pick(&z, 2);
  z.coupling = Chance(&z, 0.7) ? PCNEATO_COUPLING_AUTO : 1 + Pick(&z, 2);
  z.parts = Chance(&z, 0.5) ? 0 : 1 + Pick(&z, 6);
  z.type = Chance(&z, 0.7) ? 0 : 1 + (ranks == 1 ? Pick(&z, 2) : 0); /* MPISELL does not let its rows be read */
  z.ksp = z.across ? 2 : Pick(&z, 2);
  if (z.ksp == 1 && (z.tall || z.kind == BIG)) z.ksp = 0; /* norms of rows of all sizes say little */
  if (z.across) z.scale = 1;
  if (z.across && Chance(&z, 0.4)) z.ksp = 3;
  if (z.ksp) {
    z.scale = fabs(log10(z.scale)) > 50 ? 1 : z.scale; /* squares of norms */
    if (z.precision == PCNEATO_PRECISION_SINGLE && fabs(log10(z.scale)) > 10) z.scale = 1;
  }
  Fill(&z, z.kind);
  if (say && !rank) Say(&z);
  if (plain && !(z.periodic && z.n[z.axis] <= 2)) {
    z.ksp = 0;
    PetscCall(Rows(&z, da));
  } else PetscCall(Matrices(&z, da));
  PetscCall(PetscFree4(z.a, z.u, z.f, z.row));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt cases = 300, seed = 1, first = 0;
  PetscBool full = PETSC_FALSE, say = PETSC_FALSE;
  PetscMPIInt rank, size;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-seed", &seed, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-first", &first, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-long", &full, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-say", &say, NULL));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size > 2) cases /= 5; /* ranks that share cores wait for one another */
  if (full) cases *= 10;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cases", &cases, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "-seed %d -first %d -cases %d\n", (int)seed, (int)first, (int)cases));
  for (PetscInt k = first; k < first + cases; ++k) {
    const PetscInt before = TestFailed;

    PetscCall(One(seed, k, say));
    if (TestFailed > before)
      (void)printf("rank %d failed: -seed %d -first %d -cases 1\n", (int)rank, (int)seed, (int)k);
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &TestFailed, 1, MPIU_INT, MPI_MAX, PETSC_COMM_WORLD));
  if (!rank || TestFailed) (void)TestEnd();
  PetscCall(PetscFinalize());
  return TestFailed ? 1 : 0;
}
