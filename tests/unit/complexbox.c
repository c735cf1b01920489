/*
  quick: 1
  Complex boxes by level 0 as they lie in memory (src/poisson/pairs.h), in two and three dimensions, all pairs of ends, with
  complex shifts, real shifts of either sign and none: the operator applied row by row, and dense LAPACK (zgesv) where a box
  is small. Instruction sets, tiles, strides, in place, factors. What is refused is what the header says.
*/
#include "src/poisson/pairs.h"
#include "src/base/modes.h"
#include "tests/check.h"
#include <complex.h>
#include <string.h>

#define DENSE 420 /* unknowns, at most, of what LAPACK solves */

typedef double complex number;

typedef struct {
  PetscInt dim, n[3], stride[3], unknowns, size; /* size: numbers of a vector with its gaps */
  BCRAxis axis[3];
  double shift, tau;
} Box;

static int passed = 0, failed = 0;
static int made[4] = {0, 0, 0, 0}, refused = 0,
           dense = 0; /* made: definite, indefinite, complex, of three dimensions */
static double worst = 0, apart = 0;

static number random_number(void)
{
  return TestUniform() - 0.5 + (TestUniform() - 0.5) * _Complex_I;
}

static PetscInt choose(PetscInt n)
{
  return (PetscInt)(TestUniform() * (double)n) % n;
}

static void box_random(Box *b, PetscInt t)
{
  static const PetscInt some[] = {16, 17, 19, 23, 24, 25, 31, 32, 33, 47, 63, 64, 65, 97, 127, 128, 129, 200};
  static const BCREnd ends[4] = {BCR_END_DIRICHLET, BCR_END_NEUMANN, BCR_END_CELL_NEUMANN, BCR_END_CELL_DIRICHLET};
  const PetscInt pair[3] = {t % 16, (t / 16 + 5 * t) % 16, choose(16)};

  memset(b, 0, sizeof(*b));
  b->dim = t % 4 == 3 ? 3 : 2;
  b->unknowns = b->size = 1;
  for (PetscInt d = 0; d < b->dim; d++) {
    BCRAxis *x = &b->axis[d];

    x->n = b->dim == 3 ? (d == 1 ? 2 + choose(9) : some[choose(9)]) : some[choose(t % 3 ? 18 : 4)];
    x->a = (PetscReal)pow(4, 2 * TestUniform() - 1);
    for (int e = 0; e < 2; e++) x->end[e] = ends[e ? pair[d] / 4 : pair[d] % 4];
    if (choose(8) == 0) x->end[0] = x->end[1] = BCR_END_PERIODIC;
    b->n[d] = x->n;
    b->stride[d] = b->size;
    b->size *= x->n + (d == 0 ? choose(3) : 0);
    b->unknowns *= x->n;
  }
  switch (t % 5) {
  case 0: /* definite */
    b->shift = pow(10, -3 * TestUniform());
    break;
  case 1: /* a few waves */
    b->shift = -0.1 * TestUniform() * (double)b->axis[b->dim > 2 ? 2 : 1].a;
    break;
  default:
    b->shift = (TestUniform() - 0.3) * (double)b->axis[0].a;
    b->tau = (choose(2) ? 1 : -1) * pow(10, 4 * TestUniform() - 3);
  }
}

/* f = A v; returns the largest sum of absolute values of a row */
static double box_apply(const Box *b, const number *v, number *f)
{
  PetscInt ix[3];
  double most = 0;

  for (ix[2] = 0; ix[2] < PetscMax(b->n[2], 1); ix[2]++)
    for (ix[1] = 0; ix[1] < b->n[1]; ix[1]++)
      for (ix[0] = 0; ix[0] < b->n[0]; ix[0]++) {
        const PetscInt at = ix[0] + ix[1] * b->stride[1] + (b->dim > 2 ? ix[2] * b->stride[2] : 0);
        number sum = (b->shift + b->tau * _Complex_I) * v[at];
        double size = hypot(b->shift, b->tau);

        for (PetscInt d = 0; d < b->dim; d++) {
          const PetscInt n = b->n[d], before = (ix[d] + n - 1) % n, behind = (ix[d] + 1) % n, here = ix[d];
          double low, diag, up;

          BCRAxisGetRow(&b->axis[d], ix[d], &low, &diag, &up);
          sum +=
            diag * v[at] - low * v[at + (before - here) * b->stride[d]] - up * v[at + (behind - here) * b->stride[d]];
          size += fabs(diag) + fabs(low) + fabs(up);
        }
        f[at] = sum;
        most = PetscMax(most, size);
      }
  return most;
}

static double largest(const Box *b, const number *u, const number *v)
{
  double most = 0;

  for (PetscInt i = 0; i < b->unknowns; i++) {
    const PetscInt at =
      i % b->n[0] + i / b->n[0] % b->n[1] * b->stride[1] + (b->dim > 2 ? i / b->n[0] / b->n[1] * b->stride[2] : 0);

    TestLargest(&most, cabs(u[at] - (v ? v[at] : 0)));
  }
  return most;
}

/* The smallest absolute value of an eigenvalue, and whether a real part of one is negative */
static double box_least(const Box *b, PetscBool *negative)
{
  double lambda[3][200], norm[200], least = HUGE_VAL;

  *negative = PETSC_FALSE;
  for (PetscInt d = 0; d < 3; d++) {
    BCRAxisModes modes;

    lambda[d][0] = 0;
    if (d >= b->dim) continue;
    (void)BCRAxisModesDescribe(b->n[d], b->axis[d].end[0], b->axis[d].end[1], &modes);
    BCRAxisModesGetValues(&modes, lambda[d], norm);
    for (PetscInt i = 0; i < b->n[d]; i++) lambda[d][i] *= (double)b->axis[d].a;
  }
  for (PetscInt i = 0; i < b->unknowns; i++) {
    const double re =
      lambda[0][i % b->n[0]] + lambda[1][i / b->n[0] % b->n[1]] + lambda[2][i / b->n[0] / b->n[1]] + b->shift;

    if (re < 0) *negative = PETSC_TRUE;
    least = PetscMin(least, hypot(re, b->tau));
  }
  return least;
}

/* u = A^-1 f by LAPACK, the rows of A by unit vectors; no gaps between rows */
static PetscErrorCode box_dense(const Box *b, const number *f, number *u)
{
  extern void zgesv_(const PetscBLASInt *, const PetscBLASInt *, number *, const PetscBLASInt *, PetscBLASInt *,
                     number *, const PetscBLASInt *, PetscBLASInt *);
  const PetscBLASInt n = (PetscBLASInt)b->unknowns, one = 1;
  PetscBLASInt *pivot, info;
  number *A, *unit;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(n * n, &A, n, &unit, n, &pivot));
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt j = 0; j < n; j++) unit[j] = i == j ? 1 : 0;
    (void)box_apply(b, unit, A + i * n);
    u[i] = f[i];
  }
  zgesv_(&n, &one, A, &n, pivot, u, &n, &info);
  PetscCheck(info == 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "zgesv: %d", (int)info);
  PetscCall(PetscFree3(A, unit, pivot));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the header leaves out */
static PetscBool box_refused(const Box *b, PetscBool negative)
{
  const PetscInt blocks = b->dim > 2 ? 2 : 1;

  if (BCREndIsPeriodic(b->axis[0].end[0]) || b->n[0] < 16 || b->n[blocks] < 16) return PETSC_TRUE;
  if (BCREndIsPeriodic(b->axis[blocks].end[0]) && (b->tau != 0 || negative)) return PETSC_TRUE;
  return b->shift < 0 ? PETSC_TRUE : PETSC_FALSE; /* maybe */
}

static void check(PetscBool good, const char what[], const Box *b, PetscInt t, double error)
{
  if (good) {
    passed++;
    return;
  }
  failed++;
  printf("case %d, %s: %g. %d x %d x %d, ends %d%d %d%d %d%d, shift %g + %g i\n", (int)t, what, error, (int)b->n[0],
         (int)b->n[1], (int)b->n[2], b->axis[0].end[0], b->axis[0].end[1], b->axis[1].end[0], b->axis[1].end[1],
         b->axis[2].end[0], b->axis[2].end[1], b->shift, b->tau);
}

static PetscErrorCode box_solve(const Box *b, PetscInt t, PetscBool negative, double least, BCRPairs pairs)
{
  const double factor = choose(2) ? 1 : 0.37;
  const PetscBool inplace = choose(2) ? PETSC_TRUE : PETSC_FALSE;
  number *f, *g, *u, *known;
  double size, error;

  PetscFunctionBegin;
  PetscCall(PetscMalloc4(b->size + 16, &f, b->size + 16, &g, b->size + 16, &u, b->size + 16, &known));
  for (PetscInt i = 0; i < b->size; i++) {
    f[i] = random_number();
    u[i] = inplace ? f[i] : 7;
  }
  for (int again = 0; again < 2; again++) { /* another factor makes the tables anew */
    if (again && inplace) PetscCall(PetscArraycpy(u, f, b->size));
    PetscCall(BCRPairsSolve(pairs, again ? 1 : factor, (const double *)(inplace ? u : f), (double *)u));
    for (PetscInt i = 0; i < b->size && !again; i++) u[i] /= factor;
    PetscCall(PetscArraycpy(g, u, b->size));
    size = box_apply(b, u, g);
    error = largest(b, f, g) / (size * largest(b, u, NULL) + largest(b, f, NULL));
    TestLargest(&worst, error);
    check(error < 4e-15 ? PETSC_TRUE : PETSC_FALSE, "backward error", b, t, error);
  }
  if (b->unknowns <= DENSE && b->size == b->unknowns) {
    PetscCall(box_dense(b, f, known));
    error = largest(b, u, known) / largest(b, known, NULL) * least / size;
    TestLargest(&apart, error);
    check(error < 4e-15 ? PETSC_TRUE : PETSC_FALSE, "difference from LAPACK over the condition", b, t, error);
    dense++;
  }
  made[b->tau != 0 ? 2 : (negative ? 1 : 0)]++;
  if (b->dim > 2) made[3]++;
  PetscCall(PetscFree4(f, g, u, known));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt cases = 400;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cases", &cases, NULL));
  for (PetscInt t = 0; t < cases; t++) {
    BCRCoreOptions options = {.isa = t % 7 < 4 ? -1 : (int)(t % 7) - 4, .ring = t % 3 == 2 ? 8192 : 0};
    PetscBool negative;
    BCRPairsInfo info;
    BCRPairs pairs;
    double least;
    Box b;

    box_random(&b, t);
    least = box_least(&b, &negative);
    if (least < 1e-6) continue;
    PetscCall(BCRPairsCreate(b.dim, b.axis, b.shift, b.tau, b.stride, &options, &pairs));
    if (!pairs) {
      check(box_refused(&b, negative), "refused", &b, t, 0);
      refused++;
      continue;
    }
    PetscCall(BCRPairsGetInfo(pairs, &info));
    check(info.flops > 0 && info.tables && info.workspace && strstr(info.plan, "complex numbers") ? PETSC_TRUE
                                                                                                  : PETSC_FALSE,
          "what is told", &b, t, info.flops);
    PetscCall(box_solve(&b, t, negative, least, pairs));
    PetscCall(BCRPairsDestroy(&pairs));
  }
  printf(
    "%d definite, %d indefinite, %d complex boxes, %d of them in three dimensions, %d against LAPACK; %d refused\n",
    made[0], made[1], made[2], made[3], dense, refused);
  printf("largest backward error %.1e, difference from LAPACK over the condition %.1e\n", worst, apart);
  if (cases >= 400 && (!made[0] || !made[1] || !made[2] || !made[3] || !dense)) failed++;
  PetscCall(PetscFinalize());
  return TestStatus(1, passed, failed);
}
