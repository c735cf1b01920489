/*
  quick: 1
  The rules of end types (src/base/ends.h) and the modes of uniform axes (src/base/modes.h) against
  dense matrices, whose end rows are written down here, for every pair of ends: rows, row sums,
  weights and images; eigenvalues and their order by LAPACK, eigenvectors by multiplication; the same
  of groups of rows beside a separator.
*/
#include "../../src/poisson/tables.h"
#include "../../src/operator/readimpl.h"
#include "tests/check.h"

#define MOST 31
static int passed = 0, failed = 0;
static double worst = 0; /* of all errors, relative to their bounds */

static void check(const char *what, BCREnd left, BCREnd right, PetscInt n, double error, double bound)
{
  if (bound > 0) TestLargest(&worst, error / bound);
  if (error <= bound) {
    passed++;
    return;
  }
  failed++;
  printf("%s, ends %s and %s, n = %d: %g, should be at most %g\n", what, BCREndGetRule(left).name,
         BCREndGetRule(right).name, (int)n, error, bound);
}

/* T, [n][n]: rows 2 u_i - u_(i-1) - u_(i+1), the first and the last one as the ends have them */
static void dense(BCREnd left, BCREnd right, PetscInt n, double T[])
{
  /* diagonal and coupling by end type */
  static const double row[4][2] = {
    {2, -1},
    {2, -2},
    {1, -1},
    {3, -1}
  };
  /* [left][right], one row: both its neighbours are images */
  static const double one[4][4] = {
    {2, 2, 1, 3},
    {2, 0, 0, 4},
    {1, 0, 0, 2},
    {3, 4, 2, 4}
  };

  for (PetscInt i = 0; i < n * n; i++) T[i] = 0;
  if (n == 1) {
    T[0] = left == BCR_END_PERIODIC ? 0 : one[left][right];
    return;
  }
  for (PetscInt i = 0; i < n; i++) {
    T[i * n + i] = 2;
    if (i > 0) T[i * n + i - 1] = -1;
    if (i < n - 1) T[i * n + i + 1] = -1;
  }
  if (left == BCR_END_PERIODIC) {
    T[n - 1] -= 1;
    T[(n - 1) * n] -= 1;
    return;
  }
  T[0] = row[left][0];
  T[1] = row[left][1];
  T[n * n - 1] = row[right][0];
  T[n * n - 2] = row[right][1];
}

/* Rows, row sums and weights as solvers ask for them, and the images beyond both ends */
static void rules(BCREnd left, BCREnd right, PetscInt n, const double T[])
{
  const BCREnd end[2] = {left, right};
  double v[MOST], rows = 0, symmetric = 0, sums = 0, images = 0, a;
  BCRAxis axis;

  memset(&axis, 0, sizeof(axis));
  axis.n = n;
  axis.a = (PetscReal)(0.5 + TestUniform());
  axis.end[0] = left;
  axis.end[1] = right;
  a = (double)axis.a;
  for (PetscInt i = 0; i < n; i++) v[i] = 2 * TestUniform() - 1;
  for (PetscInt i = 0; i < n; i++) {
    const double here = BCRAxisGetEndWeight(&axis, i);
    double low, diag, up, sum = 0;

    BCRAxisGetRow(&axis, i, &low, &diag, &up);
    for (PetscInt j = 0; j < n; j++) {
      sum += a * T[i * n + j] * v[j];
      TestLargest(&symmetric, fabs(here * T[i * n + j] - BCRAxisGetEndWeight(&axis, j) * T[j * n + i]));
    }
    if (left != BCR_END_PERIODIC) TestLargest(&rows, (i == 0 ? fabs(low) : 0) + (i == n - 1 ? fabs(up) : 0));
    TestLargest(&rows, fabs(diag * v[i] - low * v[i ? i - 1 : n - 1] - up * v[i < n - 1 ? i + 1 : 0] - sum));
  }
  for (int s = 0; s < 2; s++) {
    const BCREndRule rule = BCREndGetRule(end[s]);
    const PetscInt i = s ? n - 1 : 0, inside = s ? n - 2 : 1, image = 1 - rule.mirror.distance; /* rows from the end */
    double sum = 0, product = 0, beyond = 0;

    for (PetscInt j = 0; j < n; j++) {
      sum += T[i * n + j];
      product += T[i * n + j] * v[j];
    }
    TestLargest(&sums, fabs(sum - rule.excess));
    if (left == BCR_END_PERIODIC) continue;
    if (image >= 0) beyond = rule.mirror.sign * v[s ? n - 1 - image : image];
    else if (rule.mirror.sign > 0) beyond = HUGE_VAL; /* its own image, but not zero */
    TestLargest(&images, fabs(2 * v[i] - v[inside] - beyond - product));
  }
  check("rows", left, right, n, rows, 1e-15 * 8 * a);
  check("rows times weights are symmetric", left, right, n, symmetric, 0);
  check("row sums", left, right, n, sums, 0);
  check("images", left, right, n, images, 4e-15);
}

/* Eigenpairs of T: n vectors phi, [row][mode] of leading dimension ld, and what takes their parts out
   of a vector, [mode][row] */
static void eigenpairs(const char *what, BCREnd left, BCREnd right, PetscInt n, const double T[], const double lambda[],
                       PetscInt ld, const double to[], const double phi[])
{
  double residual = 0, inverse = 0, size = 4;

  for (PetscInt i = 0; i < n * n; i++) size = PetscMax(size, fabs(T[i]));
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = 0; i < n; i++) {
      double r = -lambda[j] * phi[ld * i + j], one = i == j ? -1 : 0;

      for (PetscInt k = 0; k < n; k++) {
        r += T[i * n + k] * phi[ld * k + j];
        one += to[ld * i + k] * phi[ld * k + j];
      }
      TestLargest(&residual, fabs(r));
      TestLargest(&inverse, fabs(one));
    }
  }
  check(what, left, right, n, residual, (BCREndIsGeneral(left) ? 2 : 1) * 5e-15 * size); /* rotations, or sines */
  check("norms and orthogonality", left, right, n, inverse, 1e-14);
}

static PetscErrorCode modes(BCREnd left, BCREnd right, PetscInt n, const double T[])
{
  extern void dsyev_(const char *, const char *, const PetscBLASInt *, double *, const PetscBLASInt *, double *,
                     double *, const PetscBLASInt *, PetscBLASInt *);
  const double w[2] = {BCREndGetRule(left).weight, BCREndGetRule(right).weight};
  double lambda[MOST], norm[MOST], eigenvalue[MOST], S[MOST * MOST], phi[MOST * MOST], to[MOST * MOST], work[40 * MOST],
    difference = 0;
  PetscBool constant = PETSC_TRUE; /* T 1 = 0 */
  PetscBLASInt N, most = 40 * MOST, info;
  BCRAxisModes m;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(n, &N));
  check("there are modes", left, right, n, BCRAxisModesDescribe(n, left, right, &m) ? 0 : 1, 0.5);
  BCRAxisModesGetValues(&m, lambda, norm);
  for (PetscInt i = 0; i < n; i++) {
    const double wi = (i ? 1 : w[0]) * (i < n - 1 ? 1 : w[1]), here = n == 1 && wi < 0.5 ? 0.5 : wi;
    double sum = 0;

    for (PetscInt j = 0; j < n; j++) {
      const double wj = (j ? 1 : w[0]) * (j < n - 1 ? 1 : w[1]);
      PetscInt64 num, den;
      const PetscBool sine = BCRAxisModesGetPhase(&m, j, i, &num, &den);
      const long double t = 3.14159265358979323846264338327950288L * (long double)(num % (2 * den)) / (long double)den;

      phi[i * n + j] = (double)(sine ? sinl(t) : cosl(t));
      to[j * n + i] = norm[j] * here * phi[i * n + j];
      S[i * n + j] = T[i * n + j] * sqrt(wi / wj);
      sum += T[i * n + j];
    }
    if (sum != 0) constant = PETSC_FALSE;
  }
  eigenpairs("T phi = lambda phi", left, right, n, T, lambda, n, to, phi);
  dsyev_("N", "U", &N, S, &N, eigenvalue, work, &most, &info);
  PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "dsyev: %d", (int)info);
  for (PetscInt j = 0; j < n; j++) TestLargest(&difference, fabs(lambda[j] - eigenvalue[j]));
  check("eigenvalues in order", left, right, n, difference, 1e-14);
  check("the lowest eigenvalue", left, right, n, fabs(BCRAxisUniformLowest(n, left, right) - lambda[0]),
        sizeof(PetscReal) == 4 ? 3e-7 * lambda[0] : 1e-15 * lambda[0]);
  check("the constant mode", left, right, n, fabs((double)BCRAxisModesFindConstant(n, lambda) - (constant ? 0 : -1)),
        0.5);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const PetscInt sizes[] = {1, 2, 3, 7, 8, 9, MOST};
  double T[MOST * MOST];
  BCRAxisModes m;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(TestSeed());
  for (int l = 0; l < BCR_ENDS; l++) {
    for (int r = 0; r <= BCR_ENDS; r++) {
      const BCREnd left = (BCREnd)l, right = (BCREnd)r;

      if (BCREndIsPeriodic(left) != BCREndIsPeriodic(right) || BCREndIsGeneral(right)) {
        check("no modes", left, right, 9, BCRAxisModesDescribe(9, left, right, &m) ? 1 : 0, 0.5);
        check("no modes", right, left, 9, BCRAxisModesDescribe(9, right, left, &m) ? 1 : 0, 0.5);
        continue;
      }
      for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        dense(left, right, sizes[k], T);
        if (sizes[k] > 1) rules(left, right, sizes[k], T);
        PetscCall(modes(left, right, sizes[k], T));
      }
    }
    for (PetscInt h = 1; h < 16 && l != BCR_END_PERIODIC; h++) { /* a group: a separator at one end, or at both */
      for (int high = 0; high < 2; high++) {
        const BCREnd left = high ? BCREndAtSeparator() : (BCREnd)l, right = high ? (BCREnd)l : BCREndAtSeparator();
        double lambda[16], A[256], S[256];

        dense(left, right, h, T);
        BCRLevel0GroupModes(h, (BCREnd)l, high ? PETSC_TRUE : PETSC_FALSE, 16, lambda, A, S);
        eigenpairs("modes of a group", left, right, h, T, lambda, 16, A, S);
      }
    }
  }
  for (PetscInt h = 1; h <= 8; h++) /* and of any sum of that row and any coupling, weak and strong */
    for (int k = 0; k < 32; k++) {
      const int high = k % 2;
      const double inward = pow(10, 2 * TestUniform() - 1), excess = k % 4 < 2 ? 0 : pow(10, 6 * TestUniform() - 3);
      BCRLineRows rows = {
        .end = {BCR_END_GENERAL, BCR_END_GENERAL}
      };
      double lambda[8], A[64], S[64];

      rows.inward[high] = inward;
      rows.excess[high] = excess;
      rows.gapend[high] = h;
      dense(BCREndAtSeparator(), BCREndAtSeparator(), h, T);
      T[high ? h * h - 1 : 0] = inward + excess;
      if (h > 1) T[high ? h * h - 2 : 1] = -inward;
      (void)BCRLevel0KindModes(&rows, 8, 1 + high, 8, lambda, A, S);
      eigenpairs("modes of a group with any end", BCR_END_GENERAL, BCREndAtSeparator(), h, T, lambda, 8, A, S);
    }
  for (int e = -1; e < 2; e += 2) {
    const BCREndMirror mirror = BCREndGetRule(BCREndOfCell(e)).mirror;

    check("the end of a cell", BCREndOfCell(e), BCREndOfCell(e), 0, abs(mirror.sign - e) + abs(mirror.distance - 1), 0);
  }
  printf("largest error relative to its bound %.2g\n", worst);
  PetscCall(PetscFinalize());
  return TestStatus(1, passed, failed);
}
