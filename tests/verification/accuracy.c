/*
  Backward errors at full size, 4097^2 and 257^3 and sizes around, for the default plan, every radix
  and mixed schedules, double, single and mixed precision: at most 1e-14 in double and mixed, 5e-7
  in single, and all double solutions equal to rounding. Then the discretisation error of a smooth
  solution, which falls by four with every halving of the spacing.

  labels: large
  long: yes
*/
#include "../../src/poisson/solver.h"
#include "tests/check.h"
#include <string.h>

static PetscInt passed = 0, failed = 0;

static void check(PetscBool ok, const char *what, const char *plan, double value)
{
  if (ok) passed++;
  else {
    failed++;
    printf("%s, %s: %.2e\n", what, plan, value);
  }
}

/* max |f - A u| / (|A| max |u| + max |f|), A = tridiag(-1, 2, -1) along every axis */
static double backward_error(PetscInt dim, PetscInt n, const PetscScalar *f, const PetscScalar *u)
{
  const PetscInt n2 = dim > 2 ? n : 1, s1 = n, s2 = n * n;
  double r = 0, um = 0, fm = 0;

  for (PetscInt k = 0; k < n2; k++)
    for (PetscInt j = 0; j < n; j++)
      for (PetscInt i = 0; i < n; i++) {
        const size_t q = i + (size_t)s1 * j + (size_t)s2 * k;
        double s = 2 * dim * PetscRealPart(u[q]), e;

        if (i) s -= PetscRealPart(u[q - 1]);
        if (i < n - 1) s -= PetscRealPart(u[q + 1]);
        if (j) s -= PetscRealPart(u[q - s1]);
        if (j < n - 1) s -= PetscRealPart(u[q + s1]);
        if (k) s -= PetscRealPart(u[q - s2]);
        if (k < n2 - 1) s -= PetscRealPart(u[q + s2]);
        e = fabs(PetscRealPart(f[q]) - s);
        TestLargest(&r, e);
        um = PetscMax(um, fabs(PetscRealPart(u[q])));
        fm = PetscMax(fm, fabs(PetscRealPart(f[q])));
      }
  return r / (4 * dim * um + fm);
}

typedef struct {
  const char *name;
  PetscInt radix, nlevels, schedule[8];
  BCRPrecision precision;
} Plan;

static const Plan plans[] = {
  {"auto",                  0,  0, {0},            BCR_DOUBLE},
  {"radix 2",               2,  0, {0},            BCR_DOUBLE},
  {"radix 4",               4,  0, {0},            BCR_DOUBLE},
  {"radix 8",               8,  0, {0},            BCR_DOUBLE},
  {"radix 16",              16, 0, {0},            BCR_DOUBLE},
  {"schedule 8, 32, 20",    0,  3, {8, 32, 20},    BCR_DOUBLE},
  {"schedule 16, 16, 4, 8", 0,  4, {16, 16, 4, 8}, BCR_DOUBLE},
  {"auto, mixed",           0,  0, {0},            BCR_MIXED },
  {"auto, single",          0,  0, {0},            BCR_SINGLE},
  {"radix 4, single",       4,  0, {0},            BCR_SINGLE},
};

static PetscErrorCode operator_poisson(PetscInt dim, PetscInt n, PetscReal a, BCROperator *op)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(op, sizeof(*op)));
  op->dim = dim;
  op->scale = 1;
  for (PetscInt d = 0; d < 3; d++) {
    op->axis[d].n = d < dim ? n : 1;
    op->axis[d].a = d < dim ? a : 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode sizes(PetscInt dim, PetscInt n, size_t turn)
{
  BCROperator op;
  size_t N = 1;
  PetscScalar *f, *u, *u0;
  PetscRandom random;
  PetscReal x;
  char what[64];

  PetscFunctionBegin;
  for (PetscInt d = 0; d < dim; d++) N *= n;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%d-D, n = %d", (int)dim, (int)n));
  PetscCall(PetscMalloc3(N, &f, N, &u, N, &u0));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetFromOptions(random));
  for (size_t i = 0; i < N; i++) {
    PetscCall(PetscRandomGetValueReal(random, &x));
    f[i] = x - (PetscReal)0.5;
  }
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(operator_poisson(dim, n, 1, &op));
  for (size_t p = 0; p < sizeof(plans) / sizeof(plans[0]); p++) {
    BCRSolverOptions options;
    BCRSolver solver;
    const PetscBool single =
      plans[p].precision == BCR_SINGLE || sizeof(PetscReal) == sizeof(float) ? PETSC_TRUE : PETSC_FALSE;
    double error, differ = 0, scale = 0;

    if (p && N > 10000000 && (p + turn) % 2) continue; /* at one of two neighbours among the largest sizes */
    PetscCall(PetscMemzero(&options, sizeof(options)));
    options.core.isa = -1;
    options.core.radix = plans[p].radix;
    options.core.nlevels = plans[p].nlevels;
    options.core.precision = plans[p].precision;
    PetscCall(PetscArraycpy(options.core.schedule, plans[p].schedule, 8));
    PetscCall(BCRSolverCreate(1, &op, &options, NULL, &solver));
    PetscCall(BCRSolverSolve(solver, PETSC_MEMTYPE_HOST, NULL, PETSC_FALSE, 1, f, (PetscInt)N, u, (PetscInt)N));
    error = backward_error(dim, n, f, u);
    check(error <= (single ? 5e-7 : 1e-14) ? PETSC_TRUE : PETSC_FALSE, what, plans[p].name, error);
    if (!p) PetscCall(PetscArraycpy(u0, u, N));
    else if (!single) { /* the condition number, n^2 or so, is in this one */
      for (size_t i = 0; i < N; i++) {
        TestLargest(&differ, (double)PetscAbsScalar(u[i] - u0[i]));
        scale = PetscMax(scale, (double)PetscAbsScalar(u0[i]));
      }
      check(differ <= 1e-15 * n * n * scale ? PETSC_TRUE : PETSC_FALSE, what, plans[p].name, differ / scale);
    }
    PetscCall(BCRSolverDestroy(&solver));
  }
  PetscCall(PetscFree3(f, u, u0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -Laplace u = f on the unit square or cube with u = prod sin(pi x) x, largest error at the nodes */
static PetscErrorCode smooth(PetscInt dim, PetscInt n, double *error)
{
  const double h = 1.0 / (n + 1), pi = acos(-1.0);
  BCROperator op;
  BCRSolverOptions options;
  BCRSolver solver;
  size_t N = 1;
  PetscScalar *f, *u;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < dim; d++) N *= n;
  PetscCall(PetscMalloc2(N, &f, N, &u));
  for (size_t q = 0; q < N; q++) {
    double x[3], g[3], g2[3], s = 0;

    x[0] = h * (double)(q % n + 1);
    x[1] = h * (double)(q / n % n + 1);
    x[2] = h * (double)(q / n / n + 1);
    for (PetscInt d = 0; d < dim; d++) { /* g = x sin pi x, g2 = -g'' */
      g[d] = x[d] * sin(pi * x[d]);
      g2[d] = pi * pi * x[d] * sin(pi * x[d]) - 2 * pi * cos(pi * x[d]);
    }
    for (PetscInt d = 0; d < dim; d++) {
      double p = g2[d];

      for (PetscInt e = 0; e < dim; e++)
        if (e != d) p *= g[e];
      s += p;
    }
    f[q] = (PetscScalar)s;
  }
  PetscCall(operator_poisson(dim, n, (PetscReal)(1 / (h * h)), &op));
  PetscCall(PetscMemzero(&options, sizeof(options)));
  options.core.isa = -1;
  options.core.precision = sizeof(PetscReal) == sizeof(float) ? BCR_SINGLE : BCR_DOUBLE;
  PetscCall(BCRSolverCreate(1, &op, &options, NULL, &solver));
  PetscCall(BCRSolverSolve(solver, PETSC_MEMTYPE_HOST, NULL, PETSC_FALSE, 1, f, (PetscInt)N, u, (PetscInt)N));
  *error = 0;
  for (size_t q = 0; q < N; q++) {
    const double x = h * (double)(q % n + 1), y = h * (double)(q / n % n + 1), z = h * (double)(q / n / n + 1);

    TestLargest(error, fabs(PetscRealPart(u[q]) - x * sin(pi * x) * y * sin(pi * y) * (dim > 2 ? z * sin(pi * z) : 1)));
  }
  PetscCall(BCRSolverDestroy(&solver));
  PetscCall(PetscFree2(f, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const PetscInt n2[] = {511, 1000, 1023, 2048, 4095, 4096, 4097}, n3[] = {63, 100, 127, 256, 257};

  PetscCall(PetscInitialize(&argc, &argv, NULL, "Accuracy at full size"));
  for (size_t i = 0; i < sizeof(n2) / sizeof(n2[0]); i++) PetscCall(sizes(2, n2[i], i));
  for (size_t i = 0; i < sizeof(n3) / sizeof(n3[0]); i++) PetscCall(sizes(3, n3[i], i));
  if (sizeof(PetscReal) == sizeof(double)) {
    for (PetscInt dim = 2; dim <= 3; dim++) {
      double before = 0, error;

      for (PetscInt n = 15; n <= (dim == 2 ? 1023 : 127); n = 2 * n + 1) {
        PetscCall(smooth(dim, n, &error));
        if (before > 0)
          check(before / error > 3.9 && before / error < 4.1 ? PETSC_TRUE : PETSC_FALSE,
                dim == 2 ? "order in 2-D" : "order in 3-D", "auto", before / error);
        before = error;
      }
    }
  }
  PetscCall(PetscFinalize());
  return TestStatus(1, (int)passed, (int)failed);
}
