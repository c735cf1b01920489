/*
  Lines at the ends of the range: one of 2^20 + 3 and one of 2^26 rows, and a million of 1 to 32
  rows, by every method, along x and across: d = 4, where nothing reaches far, and d = 2, where
  everything reaches everywhere. Against LAPACK's xGTSV, and its own backward error beside it; needs
  4 GB. Asserted is a backward error of at most 1e-15 times the growth.

  long: yes
  turns: 9
*/
#include "tests/petsc/testing.h"
#include "../../src/tridiagonal/tridiagonal.h"
#include <math.h>
#include <petscblaslapack.h>

static const char *const names[] = {"auto", "scan", "cr", "pscheme", "dc", "thomas"};

#if defined(PETSC_USE_REAL_SINGLE)
  #define gtsv_ sgtsv_
#else
  #define gtsv_ dgtsv_
#endif
extern void gtsv_(const PetscBLASInt *, const PetscBLASInt *, PetscReal *, PetscReal *, PetscReal *, PetscReal *,
                  const PetscBLASInt *, PetscBLASInt *);

/* max|f - A u| / (|A| max|u| + max|f|) of the worst line, sums in long double. grown: over the
   growth of divide and conquer for d = 2, the largest number of its recurrences y_j = f_j +
   y_{j-1}, v_j = y_j + v_{j+1} over that of the solution */
static double Backward(const BCRTriSpec *s, double d, const PetscReal *f, const PetscReal *u, PetscBool grown)
{
  double worst = 0;

  for (PetscInt o = 0; o < s->outer; ++o) {
    for (PetscInt i = 0; i < s->inner; ++i) {
      double nr = 0, nu = 0, nf = 0;

      for (PetscInt j = 0; j < s->n; ++j) {
        const size_t at = (size_t)i + (size_t)s->inner * ((size_t)j + (size_t)s->n * (size_t)o);
        const long double r = (long double)f[at] - ((long double)d * u[at] - (j ? u[at - (size_t)s->inner] : 0) -
                                                    (j < s->n - 1 ? u[at + (size_t)s->inner] : 0));

        TestLargest(&nr, (double)fabsl(r));
        nu = PetscMax(nu, fabs((double)u[at]));
        nf = PetscMax(nf, fabs((double)f[at]));
      }
      nr /= (d + 2) * nu + nf;
      if (grown) {
        double y = 0, v = 0, largest = nu;

        for (PetscInt j = 0; j < s->n; ++j)
          y += f[(size_t)i + (size_t)s->inner * ((size_t)j + (size_t)s->n * (size_t)o)];
        for (PetscInt j = s->n - 1; j >= 0; --j) {
          v += y;
          largest = PetscMax(largest, PetscMax(fabs(y), fabs(v)));
          y -= f[(size_t)i + (size_t)s->inner * ((size_t)j + (size_t)s->n * (size_t)o)];
        }
        nr *= nu / largest;
      }
      TestLargest(&worst, nr);
    }
  }
  return worst;
}

/* LAPACK's solution of the lines, one after the other */
static PetscErrorCode Lapack(const BCRTriSpec *s, double d, const PetscReal *f, PetscReal *u)
{
  PetscReal *low, *diag, *up, *x;
  PetscBLASInt n, one = 1, info;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(s->n, &n));
  PetscCall(PetscMalloc4(s->n, &low, s->n, &diag, s->n, &up, s->n, &x));
  for (PetscInt o = 0; o < s->outer; ++o) {
    for (PetscInt i = 0; i < s->inner; ++i) {
      const size_t at = (size_t)i + (size_t)s->inner * (size_t)s->n * (size_t)o;

      for (PetscInt j = 0; j < s->n; ++j) {
        low[j] = up[j] = -1;
        diag[j] = (PetscReal)d;
        x[j] = f[at + (size_t)s->inner * (size_t)j];
      }
      gtsv_(&n, &one, low, diag, up, x, &n, &info);
      for (PetscInt j = 0; j < s->n; ++j) u[at + (size_t)s->inner * (size_t)j] = x[j];
    }
  }
  PetscCall(PetscFree4(low, diag, up, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Lines(PetscInt inner, PetscInt n, PetscInt outer, double d)
{
  const size_t size = (size_t)inner * (size_t)n * (size_t)outer;
  const double bound = sizeof(PetscReal) < sizeof(double) ? 5e-7 : 1e-15;
  BCRTriRows rows = {
    .row = {-1, (PetscReal)d, -1}
  };
  BCRTriSpec spec = {.inner = inner, .n = n, .outer = outer, .rep = 1, .rows = &rows};
  PetscReal *f, *u, *v;
  double reference, largest = 0;

  PetscFunctionBegin;
  if (!TestTurn()) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc3(size, &f, size, &u, size, &v));
  {
    TestState = TEST_STATE + (uint64_t)n;
    for (size_t k = 0; k < size; ++k) f[k] = (PetscReal)(2 * TestUniform() - 1);
  }
  PetscCall(Lapack(&spec, d, f, v));
  reference = Backward(&spec, d, f, v, PETSC_FALSE);
  for (size_t k = 0; k < size; ++k) largest = PetscMax(largest, fabs((double)v[k]));
  for (int m = BCR_TRI_SCAN; m <= BCR_TRI_THOMAS; ++m) {
    BCRTriOptions options = {.method = (BCRTriMethod)m, .isa = -1};
    BCRTriLocal local;
    double error, differ = 0;

    PetscCall(BCRTriLocalCreate(&spec, &options, &local));
    PetscCall(BCRTriLocalSolve(local, f, u));
    PetscCall(BCRTriLocalDestroy(&local));
    error = Backward(&spec, d, f, u, (PetscBool)(m == BCR_TRI_DC && d == 2));
    Check(error <= bound, "%s, inner %d n %d outer %d d %g: backward error %g, LAPACK's %g", names[m], (int)inner,
          (int)n, (int)outer, d, error, reference);
    if (d < 3) continue; /* the condition is n^2 */
    for (size_t k = 0; k < size; ++k) TestLargest(&differ, fabs((double)(u[k] - v[k])));
    Check(differ <= 10 * bound * largest, "%s, inner %d n %d outer %d d %g: off LAPACK by %g", names[m], (int)inner,
          (int)n, (int)outer, d, differ / largest);
  }
  PetscCall(PetscFree3(f, u, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt lengths[] = {1, 2, 3, 8, 17, 32}, million = 1000000;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  for (int k = 0; k < 2; ++k) {
    const double d = k ? 2 : 4;

    PetscCall(Lines(1, 1 << 26, 1, d)); /* half of the time: not among the turns of one rank */
    PetscCall(Lines(1, (1 << 20) + 3, 1, d));
    for (size_t l = 0; l < PETSC_STATIC_ARRAY_LENGTH(lengths); ++l) {
      PetscCall(Lines(1, lengths[l], million, d));
      PetscCall(Lines(million, lengths[l], 1, d));
    }
  }
  PetscCall(PetscFinalize());
  return TestEnd();
}
