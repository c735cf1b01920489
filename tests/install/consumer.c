/*
  A program outside the library: registers it by a call and solves a one-dimensional Poisson problem whose discrete
  solution is a parabola, so that every value is known.
*/
#include <petscbcr.h>

int main(int argc, char **argv)
{
  const PetscInt n = 37;
  DM da;
  Mat A;
  Vec b, x;
  KSP ksp;
  PC pc;
  PetscReal worst = 0.0;
  PetscInt i;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(DMDACreate1d(PETSC_COMM_SELF, DM_BOUNDARY_NONE, n, 1, 1, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  for (i = 0; i < n; i++) {
    PetscCall(MatSetValue(A, i, i, 2.0, INSERT_VALUES));
    if (i > 0) PetscCall(MatSetValue(A, i, i - 1, -1.0, INSERT_VALUES));
    if (i < n - 1) PetscCall(MatSetValue(A, i, i + 1, -1.0, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 2.0)); /* u_i = (i + 1)(n - i) */
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCBCRPOISSON));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  for (i = 0; i < n; i++) {
    PetscScalar u;

    PetscCall(VecGetValues(x, 1, &i, &u));
    worst = PetscMax(worst, PetscAbsScalar(u - (PetscScalar)((i + 1) * (n - i))) / (PetscReal)(n * n / 4));
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "largest error %g\n", (double)worst));
  PetscCheck(worst < 100 * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB, "wrong solution: error %g",
             (double)worst);
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFinalize());
  return 0;
}
