/* ranks: 1 2 */
/*
  The smallest program: -Laplace u = 1 on the unit square, u = 0 on its boundary, 255 x 255 unknowns.

    mpicc poisson.c `pkg-config --cflags --libs petscbcr` -lm
*/
#include <petscbcr.h>

int main(int argc, char **argv)
{
  DM da;
  Mat A;
  Vec b, u;
  KSP ksp;
  PC pc;
  DMDALocalInfo info;
  PetscReal h = 1. / 256, max;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());

  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 255, 255,
                         PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(DMDAGetLocalInfo(da, &info));
  for (PetscInt j = info.ys; j < info.ys + info.ym; ++j) {
    for (PetscInt i = info.xs; i < info.xs + info.xm; ++i) {
      MatStencil row =
                   {
                     .i = i, .j = j
      },
                 col[5] = {{.i = i, .j = j},
                           {.i = i - 1, .j = j},
                           {.i = i + 1, .j = j},
                           {.i = i, .j = j - 1},
                           {.i = i, .j = j + 1}};
      PetscScalar value[5] = {4 / (h * h), -1 / (h * h), -1 / (h * h), -1 / (h * h), -1 / (h * h)};

      for (PetscInt c = 0; c < 5; ++c) {
        if (col[c].i >= 0 && col[c].i < info.mx && col[c].j >= 0 && col[c].j < info.my)
          PetscCall(MatSetValuesStencil(A, 1, &row, 1, &col[c], &value[c], INSERT_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &u, &b));
  PetscCall(VecSet(b, 1));

  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCBCRPOISSON));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, u));
  PetscCall(KSPConvergedReasonView(ksp, PETSC_VIEWER_STDOUT_WORLD));

  /* the exact solution has its maximum in the middle, 0.0736713... */
  PetscCall(VecMax(u, NULL, &max));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "largest u: %.6f\n", (double)max));
  PetscCheck(PetscAbsReal(max - (PetscReal)0.0736713) < 2e-6, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "wrong solution");

  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&u));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFinalize());
  return 0;
}
