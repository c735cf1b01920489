/* ranks: 1 2 */
static char help[] =
  "Heat equation u_t = u_xx + u_yy on the unit square by alternating directions: each half step is implicit along one axis, and all its lines are solved\n\
by one PetscBCRLinesSolve(), in place and without a matrix. Prints the error against the exact solution.\n\
  -n <63>           inner points along each axis\n\
  -steps <20>       time steps\n\
  -dt <0.001>       their length\n\
  -method <auto>    how lines are solved: auto, scan, cr, pscheme, dc, thomas\n\
  -lines_view       prints what the lines are\n\n";

/*
    mpicc adi.c `pkg-config --cflags --libs petscbcr` -lm
    mpiexec -n 4 ./a.out
*/
#include <petscbcr.h>

/* v = u + r (second difference of u along the axis); zero outside */
static PetscErrorCode Explicit(DM da, PetscInt axis, PetscReal r, Vec u, Vec v)
{
  DMDALocalInfo info;
  Vec local;
  PetscScalar **a, **b;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMGetLocalVector(da, &local));
  PetscCall(DMGlobalToLocal(da, u, INSERT_VALUES, local));
  PetscCall(DMDAVecGetArrayRead(da, local, &a));
  PetscCall(DMDAVecGetArrayWrite(da, v, &b));
  for (PetscInt j = info.ys; j < info.ys + info.ym; ++j) {
    for (PetscInt i = info.xs; i < info.xs + info.xm; ++i) {
      const PetscInt di = axis == 0, dj = axis == 1, at = axis ? j : i, n = axis ? info.my : info.mx;
      const PetscScalar below = at > 0 ? a[j - dj][i - di] : (PetscScalar)0,
                        above = at < n - 1 ? a[j + dj][i + di] : (PetscScalar)0;

      b[j][i] = a[j][i] + r * (below - (PetscScalar)2 * a[j][i] + above);
    }
  }
  PetscCall(DMDAVecRestoreArrayRead(da, local, &a));
  PetscCall(DMDAVecRestoreArrayWrite(da, v, &b));
  PetscCall(DMRestoreLocalVector(da, &local));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  DM da;
  Vec u, v;
  PetscBCRLines lines[2];
  DMDALocalInfo info;
  PetscScalar **a;
  PetscInt n = 63, steps = 20;
  PCNeatoMethod method = PCNEATO_METHOD_AUTO;
  PetscReal dt = 0.001, h, r, s, decay, discrete, exact, error[2] = {0, 0}, all[2];
  PetscBool view = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-dt", &dt, NULL));
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-method", PCNeatoMethods, (PetscEnum *)&method, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-lines_view", &view, NULL));
  h = 1 / (PetscReal)(n + 1);
  r = dt / (2 * h * h);

  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n, PETSC_DECIDE,
                         PETSC_DECIDE, 1, 1, NULL, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateGlobalVector(da, &u));
  PetscCall(VecDuplicate(u, &v));
  for (PetscInt axis = 0; axis < 2; ++axis) {
    const PetscReal row[3] = {-r, 1 + 2 * r, -r};

    PetscCall(PetscBCRLinesCreate(da, axis ? DM_Y : DM_X, 0, NULL, row, 0, NULL, &lines[axis]));
    PetscCall(PetscBCRLinesSetMethod(lines[axis], method));
  }

  /* u = sin(pi x) sin(pi y) */
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMDAVecGetArrayWrite(da, u, &a));
  for (PetscInt j = info.ys; j < info.ys + info.ym; ++j) {
    for (PetscInt i = info.xs; i < info.xs + info.xm; ++i)
      a[j][i] = PetscSinReal(PETSC_PI * (PetscReal)(i + 1) * h) * PetscSinReal(PETSC_PI * (PetscReal)(j + 1) * h);
  }
  PetscCall(DMDAVecRestoreArrayWrite(da, u, &a));

  for (PetscInt step = 0; step < steps; ++step) {
    PetscCall(Explicit(da, 1, r, u, v));
    PetscCall(PetscBCRLinesSolve(lines[0], v, v));
    PetscCall(Explicit(da, 0, r, v, u));
    PetscCall(PetscBCRLinesSolve(lines[1], u, u));
  }
  if (view) PetscCall(PetscBCRLinesView(lines[0], NULL));
  if (view) PetscCall(PetscBCRLinesView(lines[1], NULL));

  /* the scheme multiplies this u with the same number in each step, to rounding; exp(-2 pi^2 t) is
     what it approximates */
  s = PetscSinReal(PETSC_PI * h / 2);
  decay = (1 - 4 * r * s * s) / (1 + 4 * r * s * s);
  discrete = PetscPowReal(decay, 2 * (PetscReal)steps);
  exact = PetscExpReal(-2 * PETSC_PI * PETSC_PI * dt * (PetscReal)steps);
  PetscCall(DMDAVecGetArrayRead(da, u, &a));
  for (PetscInt j = info.ys; j < info.ys + info.ym; ++j) {
    for (PetscInt i = info.xs; i < info.xs + info.xm; ++i) {
      const PetscReal mode =
        PetscSinReal(PETSC_PI * (PetscReal)(i + 1) * h) * PetscSinReal(PETSC_PI * (PetscReal)(j + 1) * h);

      error[0] = PetscMax(error[0], PetscAbsScalar(a[j][i] - discrete * mode));
      error[1] = PetscMax(error[1], PetscAbsScalar(a[j][i] - exact * mode));
    }
  }
  PetscCall(DMDAVecRestoreArrayRead(da, u, &a));
  PetscCallMPI(MPI_Allreduce(error, all, 2, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(
    PETSC_COMM_WORLD, "%d steps of %g: u = %.6f sin sin, error %.2e against exp(-2 pi^2 t), %.2e against the scheme\n",
    (int)steps, (double)dt, (double)discrete, (double)all[1], (double)all[0]));
  PetscCheck(all[0] < 1e4 * PETSC_MACHINE_EPSILON, PETSC_COMM_WORLD, PETSC_ERR_PLIB,
             "The lines were not solved to rounding");
  for (PetscInt axis = 0; axis < 2; ++axis) PetscCall(PetscBCRLinesDestroy(&lines[axis]));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&v));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFinalize());
  return 0;
}
