/*
  Chains of the reduced systems over ranks: what leaving out a coupling changes (BCRChainsCuts()),
  against the inverse of the matrix without it from LAPACK, for rows that are not dominant too.

  quick: 1
*/
#include "../petsc/testing.h"
#include "src/tridiagonal/chains.h"
#include <petscblaslapack.h>

#define MOST 14

/* rows of a chain as a dense matrix, column by column, without the coupling between rows cut and cut + 1 */
static void Dense(PetscInt n, const double *low, const double *diag, const double *up, PetscInt cut, PetscScalar *A)
{
  for (PetscInt k = 0; k < n * n; ++k) A[k] = 0;
  for (PetscInt i = 0; i < n; ++i) {
    A[i + n * i] = (PetscScalar)diag[i];
    if (i && i != cut + 1) A[i + n * (i - 1)] = (PetscScalar)low[i];
    if (i < n - 1 && i != cut) A[i + n * (i + 1)] = (PetscScalar)up[i];
  }
}

static PetscErrorCode Solve(PetscInt n, PetscScalar *A, PetscInt columns, PetscScalar *b)
{
  PetscBLASInt N = (PetscBLASInt)n, nrhs = (PetscBLASInt)columns, pivot[MOST], info;

  PetscFunctionBegin;
  PetscCallBLAS("LAPACKgesv", LAPACKgesv_(&N, &nrhs, A, &N, pivot, b, &N, &info));
  PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "gesv: %d", (int)info);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Cuts(PetscInt n, PetscInt ns, PetscBool dominant)
{
  const double tolerance = sizeof(PetscReal) < sizeof(double) ? 1e-2 : 1e-9;
  double low[3 * MOST], diag[3 * MOST], up[3 * MOST], cut[3 * MOST], worst = 0;
  PetscScalar A[MOST * MOST], inverse[MOST * MOST];

  PetscFunctionBegin;
  for (PetscInt k = 0; k < n * ns; ++k) {
    low[k] = k < ns ? 0 : 2 * TestUniform() - 1;
    up[k] = k >= (n - 1) * ns ? 0 : 2 * TestUniform() - 1;
    diag[k] = (dominant ? 2 : 0.3) + TestUniform();
  }
  PetscCall(BCRChainsCuts(n, ns, low, diag, up, PETSC_FALSE, cut));
  for (PetscInt s = 0; s < ns; ++s) {
    double l[MOST], d[MOST], u[MOST];

    for (PetscInt i = 0; i < n; ++i) {
      l[i] = low[i * ns + s];
      d[i] = diag[i * ns + s];
      u[i] = up[i * ns + s];
    }
    for (PetscInt i = 0; i + 1 < n; ++i) {
      double effect = 0;

      for (PetscInt k = 0; k < n * n; ++k) inverse[k] = k % n == k / n ? 1 : 0;
      Dense(n, l, d, u, i, A);
      PetscCall(Solve(n, A, n, inverse));
      for (PetscInt k = 0; k < n; ++k) {
        TestLargest(&effect, fabs(u[i]) * (double)PetscAbsScalar(inverse[k + n * i]));
        TestLargest(&effect, fabs(l[i + 1]) * (double)PetscAbsScalar(inverse[k + n * (i + 1)]));
      }
      TestLargest(&worst, fabs(cut[i * ns + s] / effect - 1));
    }
  }
  Check(worst <= tolerance, "chains of %d rows%s: what a cut changes is off by %g", (int)n,
        dominant ? ", dominant" : "", worst);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(TestSeed());
  for (PetscInt n = 2; n <= MOST; ++n) {
    for (PetscInt ns = 1; ns <= 3; ++ns) {
      PetscCall(Cuts(n, ns, PETSC_TRUE));
      PetscCall(Cuts(n, ns, PETSC_FALSE));
    }
  }
  PetscCall(PetscFinalize());
  return TestEnd();
}
