static char help[] =
  "Coefficients of the compact schemes: exact on polynomials up to the order and not beyond, known values, modified wavenumbers,\n\
derivatives by dense LAPACK, and the spectrum of an advection operator.\n\n";

/* ranks: 1 */
/* quick: 1 */

#include "../petsc/testing.h"
#include "src/compact/scheme.h"
#include <petscblaslapack.h>

/* Both sides of a row for x^degree around the row, spacing 1; size: of the terms */
static double RowDefect(const BCRCompactRow *r, PetscInt m, PetscInt degree, PetscInt row, double *size)
{
  double sum = 0;

  *size = 0;
  for (PetscInt s = -1; s <= 1; ++s) {
    double a = s < 0 ? r->low : (s > 0 ? r->up : 1), d = degree >= m ? 1 : 0;

    for (PetscInt i = 0; i < m; ++i) d *= (double)(degree - i);
    if (degree >= m) d *= pow((double)s, (double)(degree - m));
    sum += a * d;
    *size += fabs(a * d);
  }
  for (PetscInt k = 0; k < r->points; ++k) {
    double t = r->c[k] * pow((double)(r->start + k - row), (double)degree);

    sum -= t;
    *size += fabs(t);
  }
  return sum;
}

/* A row of order p is exact up to degree p + m - 1 and not for the next degree */
static void CheckRow(const char *what, const BCRCompactRow *r, PetscInt m, PetscInt row)
{
  double size, defect;

  for (PetscInt degree = 0; degree < r->order + m; ++degree) {
    defect = RowDefect(r, m, degree, row, &size);
    Check(fabs(defect) <= 2e-15 * size, "%s, row %d: degree %d is off by %g of %g", what, (int)row, (int)degree, defect,
          size);
  }
  defect = RowDefect(r, m, r->order + m, row, &size);
  Check(fabs(defect) > 1e-4, "%s, row %d: of higher order than %d", what, (int)row, (int)r->order);
}

static PetscErrorCode TestOrders(void)
{
  PetscFunctionBegin;
  for (PetscInt scheme = 0; scheme <= MAT_COMPACT_SPECTRAL; ++scheme) {
    for (PetscInt m = 1; m <= 2; ++m) {
      for (PetscInt closure = 3; closure <= (scheme == MAT_COMPACT_PADE4 ? 4 : 6); ++closure) {
        const PetscInt n = 23;
        BCRCompactScheme s;
        char what[64];

        PetscCall(BCRCompactGetScheme((MatCompactScheme)scheme, m, closure, PETSC_FALSE, &s));
        (void)snprintf(what, sizeof(what), "%s, derivative %d, closure %d", MatCompactSchemes[scheme], (int)m,
                       (int)closure);
        Check(s.closed == s.half && s.inner.order == (scheme == MAT_COMPACT_PADE4 ? 4 : 6),
              "%s: order of the inner rows %d", what, (int)s.inner.order);
        for (PetscInt row = 0; row < n; ++row) {
          BCRCompactRow r;

          PetscCall(BCRCompactGetRow(&s, n, row, &r));
          Check(r.start >= 0 && r.start + r.points <= n && r.order >= closure, "%s, row %d: points %d to %d, order %d",
                what, (int)row, (int)r.start, (int)(r.start + r.points), (int)r.order);
          CheckRow(what, &r, m, row);
        }
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void CheckValues(const char *what, const BCRCompactRow *r, PetscInt n, const double c[])
{
  Check(r->points == n, "%s: %d points", what, (int)r->points);
  for (PetscInt k = 0; k < n; ++k)
    Check(fabs(r->c[k] - c[k]) < 1e-15 * (1 + fabs(c[k])), "%s: coefficient %d is %.17g, not %.17g", what, (int)k,
          r->c[k], c[k]);
}

/* What the papers print (Lele's tables; (1.3) of paper 002 with 2 dx) */
static PetscErrorCode TestValues(void)
{
  const double pade1[] = {-3. / 4, 0, 3. / 4}, lele1[] = {-1. / 36, -14. / 18, 0, 14. / 18, 1. / 36};
  const double pade2[] = {6. / 5, -12. / 5, 6. / 5},
               lele2[] = {3. / 44, 12. / 11, -6. / 44 - 24. / 11, 12. / 11, 3. / 44};
  const double end13[] = {-5. / 2, 2, 1. / 2}, end4[] = {-17. / 6, 3. / 2, 3. / 2, -1. / 6}, end2[] = {13, -27, 15, -1};
  BCRCompactScheme s;

  PetscFunctionBegin;
  PetscCall(BCRCompactGetScheme(MAT_COMPACT_PADE4, 1, PETSC_DECIDE, PETSC_FALSE, &s));
  CheckValues("pade4, first derivative", &s.inner, 3, pade1);
  CheckValues("closure of paper 002 (1.3)", &s.first[0], 3, end13);
  Check(s.first[0].up == 2, "closure of paper 002 (1.3): %g", s.first[0].up);
  PetscCall(BCRCompactGetScheme(MAT_COMPACT_LELE6, 1, 4, PETSC_FALSE, &s));
  CheckValues("lele6, first derivative", &s.inner, 5, lele1);
  CheckValues("closure of order 4", &s.first[0], 4, end4);
  PetscCall(BCRCompactGetScheme(MAT_COMPACT_PADE4, 2, 3, PETSC_FALSE, &s));
  CheckValues("pade4, second derivative", &s.inner, 3, pade2);
  CheckValues("closure of the second derivative", &s.first[0], 4, end2);
  PetscCall(BCRCompactGetScheme(MAT_COMPACT_LELE6, 2, PETSC_DECIDE, PETSC_FALSE, &s));
  CheckValues("lele6, second derivative", &s.inner, 5, lele2);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How far waves are met to 1e-3, in units of pi/h */
static PetscErrorCode TestWaves(void)
{
  const double resolution[3][2] = {
    {0.205, 0.222},
    {0.352, 0.383},
    {0.588, 0.647}
  };

  PetscFunctionBegin;
  for (PetscInt scheme = 0; scheme <= MAT_COMPACT_SPECTRAL; ++scheme) {
    for (PetscInt m = 1; m <= 2; ++m) {
      BCRCompactScheme s;
      double reached = 0;

      PetscCall(BCRCompactGetScheme((MatCompactScheme)scheme, m, PETSC_DECIDE, PETSC_TRUE, &s));
      for (PetscInt i = 1; i < 20000; ++i) {
        const double w = PETSC_PI * (double)i / 20000;
        double q = 0;

        for (PetscInt k = 0; k < s.inner.points; ++k)
          q += s.inner.c[k] * (m == 1 ? sin((double)(s.inner.start + k) * w) : -cos((double)(s.inner.start + k) * w));
        q /= (1 + 2 * s.inner.up * cos(w)) * (m == 1 ? w : w * w);
        if (fabs(q - 1) > 1e-3) break;
        reached = w / PETSC_PI;
      }
      Check(fabs(reached - resolution[scheme][m - 1]) < 6e-4, "%s, derivative %d: waves up to %.4f pi/h, not %.3f",
            MatCompactSchemes[scheme], (int)m, reached, resolution[scheme][m - 1]);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Largest real part of the eigenvalues of -d/dx with u given at the first point, of d2/dx2 with u
   given at both ends; spacing 1 */
static PetscErrorCode Abscissa(const BCRCompactScheme *s, PetscInt n, PetscReal *largest)
{
  const PetscInt k = s->derivative == 1 ? n - 1 : n - 2;
  PetscScalar *A, *B, *work, none;
  PetscReal *re, *im;
  PetscBLASInt N, K, *pivots, info, one = 1, lwork;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(n, &N));
  PetscCall(PetscBLASIntCast(k, &K));
  lwork = 10 * N;
  PetscCall(PetscCalloc6(n * n, &A, n * n, &B, n, &pivots, n, &re, 2 * n, &im, lwork, &work));
  for (PetscInt i = 0; i < n; ++i) {
    BCRCompactRow r;

    PetscCall(BCRCompactGetRow(s, n, i, &r));
    A[i + i * n] = 1;
    if (i > 0) A[i + (i - 1) * n] = (PetscReal)r.low;
    if (i < n - 1) A[i + (i + 1) * n] = (PetscReal)r.up;
    for (PetscInt j = 0; j < r.points; ++j) B[i + (r.start + j) * n] = (PetscReal)r.c[j];
  }
  PetscCallBLAS("LAPACKgesv", LAPACKgesv_(&N, &N, A, &N, pivots, B, &N, &info));
  PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "gesv %d", (int)info);
  for (PetscInt i = 0; i < k; ++i) {
    for (PetscInt j = 0; j < k; ++j) A[i + j * k] = (s->derivative == 1 ? -1 : 1) * B[i + 1 + (j + 1) * n];
  }
#if defined(PETSC_USE_COMPLEX)
  {
    PetscScalar *w = B;

    PetscCallBLAS("LAPACKgeev", LAPACKgeev_("N", "N", &K, A, &K, w, &none, &one, &none, &one, work, &lwork, im, &info));
    for (PetscInt i = 0; i < k; ++i) re[i] = PetscRealPart(w[i]);
  }
#else
  PetscCallBLAS("LAPACKgeev", LAPACKgeev_("N", "N", &K, A, &K, re, im, &none, &one, &none, &one, work, &lwork, &info));
#endif
  PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "geev %d", (int)info);
  *largest = PETSC_MIN_REAL;
  for (PetscInt i = 0; i < k; ++i) *largest = PetscMax(*largest, re[i]);
  PetscCall(PetscFree6(A, B, pivots, re, im, work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the man page of MatCompactDerivativeSetClosure() says of time steps */
static PetscErrorCode TestStability(void)
{
  const PetscReal eps = 1000 * PETSC_MACHINE_EPSILON;

  PetscFunctionBegin;
  for (PetscInt scheme = 0; scheme <= MAT_COMPACT_SPECTRAL; ++scheme) {
    for (PetscInt m = 1; m <= 2; ++m) {
      for (PetscInt closure = 3; closure <= (scheme == MAT_COMPACT_PADE4 ? 4 : 6); ++closure) {
        for (PetscInt n = 20; n <= 60; n += 20) {
          BCRCompactScheme s;
          PetscReal largest = 0;

          PetscCall(BCRCompactGetScheme((MatCompactScheme)scheme, m, closure, PETSC_FALSE, &s));
          PetscCall(Abscissa(&s, n, &largest));
          Check(largest < (m == 2 || closure == 3 ? eps : (PetscReal)0.21),
                "%s, derivative %d, closure %d, n %d: an eigenvalue of real part %g", MatCompactSchemes[scheme], (int)m,
                (int)closure, (int)n, (double)largest);
        }
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(TestOrders());
  PetscCall(TestValues());
  PetscCall(TestWaves());
  PetscCall(TestStability());
  PetscCall(PetscFinalize());
  return TestEnd();
}
