/* ranks: 1 4 */
static char help[] =
  "Derivatives of a 3-D field on a distributed grid by compact finite differences, which is what paper 002 (Trikuta Srinath, thesis, 2015) is about.\n\
The box is periodic along x and y and has walls along z. The program prints the largest error of each derivative on two grids, and the order between them.\n\
  -n <32>                                      points along an axis of the coarser grid\n\
  -mat_compact_closure <3..6>, -mat_view, ...  see MatCreateCompactDerivative()\n\n";

/*
    mpicc compact_gradient.c `pkg-config --cflags --libs petscbcr` -lm
    mpiexec -n 8 ./a.out
*/
#include <petscbcr.h>

/* f = sin(x + 2y) exp(z) and what the gradient should be; component 1 is the same field times 2 */
static void Field(PetscReal x, PetscReal y, PetscReal z, PetscReal f[4])
{
  f[0] = PetscSinReal(x + 2 * y) * PetscExpReal(z);
  f[1] = PetscCosReal(x + 2 * y) * PetscExpReal(z);
  f[2] = 2 * f[1];
  f[3] = f[0];
}

static PetscErrorCode Errors(MatCompactScheme scheme, PetscInt n, PetscReal error[3])
{
  const PetscReal h[3] = {2 * PETSC_PI / (PetscReal)n, 2 * PETSC_PI / (PetscReal)n, 1 / (PetscReal)(n - 1)};
  DM da;
  Mat D[3];
  Vec f, d[3];
  DMDALocalInfo info;
  PetscScalar ****a;

  PetscFunctionBeginUser;
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_NONE,
                         DMDA_STENCIL_STAR, n, n, n, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 2, 1, NULL, NULL, NULL,
                         &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateGlobalVector(da, &f));
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMDAVecGetArrayDOF(da, f, &a));
  for (PetscInt k = info.zs; k < info.zs + info.zm; ++k) {
    for (PetscInt j = info.ys; j < info.ys + info.ym; ++j) {
      for (PetscInt i = info.xs; i < info.xs + info.xm; ++i) {
        PetscReal v[4];

        Field((PetscReal)i * h[0], (PetscReal)j * h[1], (PetscReal)k * h[2], v);
        a[k][j][i][0] = v[0];
        a[k][j][i][1] = 2 * v[0];
      }
    }
  }
  PetscCall(DMDAVecRestoreArrayDOF(da, f, &a));

  for (PetscInt axis = 0; axis < 3; ++axis) {
    PetscCall(MatCreateCompactDerivative(da, (DMDirection)axis, scheme, 1, h[axis], &D[axis]));
    PetscCall(MatSetFromOptions(D[axis]));
    PetscCall(VecDuplicate(f, &d[axis]));
  }
  PetscCall(PetscBCRCompactGradient(3, D, f, d));

  for (PetscInt axis = 0; axis < 3; ++axis) {
    error[axis] = 0;
    PetscCall(DMDAVecGetArrayDOF(da, d[axis], &a));
    for (PetscInt k = info.zs; k < info.zs + info.zm; ++k) {
      for (PetscInt j = info.ys; j < info.ys + info.ym; ++j) {
        for (PetscInt i = info.xs; i < info.xs + info.xm; ++i) {
          PetscReal v[4];

          Field((PetscReal)i * h[0], (PetscReal)j * h[1], (PetscReal)k * h[2], v);
          for (PetscInt c = 0; c < 2; ++c)
            error[axis] = PetscMax(error[axis], PetscAbsScalar(a[k][j][i][c] - (PetscReal)(1 + c) * v[1 + axis]));
        }
      }
    }
    PetscCall(DMDAVecRestoreArrayDOF(da, d[axis], &a));
    PetscCall(VecDestroy(&d[axis]));
    PetscCall(MatDestroy(&D[axis]));
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, error, 3, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  PetscCall(VecDestroy(&f));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  /* inside, and at walls, where the closures are of order 3 (-mat_compact_closure) */
  const PetscReal order[3][3] = {
    {4, 4, 3},
    {6, 6, 3},
    {6, 6, 3}
  };
  PetscInt n = 32;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  for (PetscInt scheme = MAT_COMPACT_PADE4; scheme <= MAT_COMPACT_SPECTRAL; ++scheme) {
    PetscReal coarse[3], fine[3];

    PetscCall(Errors((MatCompactScheme)scheme, n, coarse));
    PetscCall(Errors((MatCompactScheme)scheme, 2 * n, fine));
    for (PetscInt axis = 0; axis < 3; ++axis) {
      const PetscReal observed = PetscLog2Real(coarse[axis] / fine[axis]);

      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-9s d/d%c  error %.2e, %.2e  order %.2f\n", MatCompactSchemes[scheme],
                            "xyz"[axis], (double)coarse[axis], (double)fine[axis], (double)observed));
      /* single precision has no room for the higher orders */
      PetscCheck(observed > order[scheme][axis] - (PetscReal)0.3 ||
                   fine[axis] < 1000 * PETSC_MACHINE_EPSILON * (PetscReal)n,
                 PETSC_COMM_WORLD, PETSC_ERR_PLIB, "The order is not %g", (double)order[scheme][axis]);
    }
  }
  PetscCall(PetscFinalize());
  return 0;
}
