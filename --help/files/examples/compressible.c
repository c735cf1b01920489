/* ranks: 1 2 */
static char help[] =
  "Compressible flow by compact finite differences and TS: a vortex that a uniform wind carries along, without changing it, in a periodic box.\n\
Prints the largest error of the density against the exact solution and writes a picture of the density.\n\
  -n <64>                        points along either axis\n\
  -picture <compressible.ppm>    the picture; an empty name: none\n\
  -mat_compact_scheme <spectral>, -ts_type rk, -ts_monitor, ...\n\n";

/*
    mpicc compressible.c `pkg-config --cflags --libs petscbcr` -lm
    mpiexec -n 4 ./a.out -ts_monitor

  Euler equations, q = (rho, rho u, rho v, E):  q_t = -d/dx F(q) - d/dy G(q),  p = (gamma - 1)(E - rho (u^2 + v^2)/2).
*/
#include <petscbcr.h>
#include <petscts.h>
#include <stdio.h>

#define GAMMA  ((PetscReal)1.4)
#define LENGTH 12 /* of the box */
#define WIND_X 1
#define WIND_Y ((PetscReal)0.5)

typedef struct {
  DM da;
  Mat D[2]; /* d/dx and d/dy of all four components */
  Vec flux[2], derivative;
} Flow;

/* the isentropic vortex around the point that the wind has come to at time t */
static void Exact(PetscReal x, PetscReal y, PetscReal t, PetscScalar q[4])
{
  const PetscReal strength = 5 / (2 * PETSC_PI);
  PetscReal dx = x - (LENGTH / 2 + WIND_X * t), dy = y - (LENGTH / 2 + WIND_Y * t), r2, rho, p, u, v;

  dx -= LENGTH * PetscFloorReal(dx / LENGTH + (PetscReal)0.5); /* the nearest image */
  dy -= LENGTH * PetscFloorReal(dy / LENGTH + (PetscReal)0.5);
  r2 = dx * dx + dy * dy;
  u = WIND_X - strength * PetscExpReal((1 - r2) / 2) * dy;
  v = WIND_Y + strength * PetscExpReal((1 - r2) / 2) * dx;
  rho = PetscPowReal(1 - (GAMMA - 1) / (2 * GAMMA) * strength * strength * PetscExpReal(1 - r2), 1 / (GAMMA - 1));
  p = PetscPowReal(rho, GAMMA);
  q[0] = rho;
  q[1] = rho * u;
  q[2] = rho * v;
  q[3] = p / (GAMMA - 1) + rho * (u * u + v * v) / 2;
}

static PetscErrorCode RightHandSide(TS ts, PetscReal t, Vec q, Vec r, void *ctx)
{
  Flow *flow = (Flow *)ctx;
  const PetscScalar *a;
  PetscScalar *f, *g;
  PetscInt n;

  PetscFunctionBeginUser;
  (void)ts;
  (void)t;
  PetscCall(VecGetLocalSize(q, &n));
  PetscCall(VecGetArrayRead(q, &a));
  PetscCall(VecGetArrayWrite(flow->flux[0], &f));
  PetscCall(VecGetArrayWrite(flow->flux[1], &g));
  for (PetscInt i = 0; i < n; i += 4) {
    const PetscScalar u = a[i + 1] / a[i], v = a[i + 2] / a[i],
                      p = (GAMMA - 1) * (a[i + 3] - a[i] * (u * u + v * v) / (PetscReal)2);

    f[i] = -a[i + 1];
    f[i + 1] = -(a[i + 1] * u + p);
    f[i + 2] = -a[i + 2] * u;
    f[i + 3] = -(a[i + 3] + p) * u;
    g[i] = -a[i + 2];
    g[i + 1] = -a[i + 1] * v;
    g[i + 2] = -(a[i + 2] * v + p);
    g[i + 3] = -(a[i + 3] + p) * v;
  }
  PetscCall(VecRestoreArrayRead(q, &a));
  PetscCall(VecRestoreArrayWrite(flow->flux[0], &f));
  PetscCall(VecRestoreArrayWrite(flow->flux[1], &g));
  PetscCall(MatMult(flow->D[0], flow->flux[0], r));
  PetscCall(MatMult(flow->D[1], flow->flux[1], flow->derivative));
  PetscCall(VecAXPY(r, 1, flow->derivative));
  PetscFunctionReturn(0);
}

/* The density as a PPM: blue where it is lowest, white, red where it is highest */
static PetscErrorCode Picture(DM da, Vec q, const char name[])
{
  PetscInt n[2];
  Vec natural, all;
  VecScatter scatter;
  const PetscScalar *a;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetInfo(da, NULL, &n[0], &n[1], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDACreateNaturalVector(da, &natural));
  PetscCall(DMDAGlobalToNaturalBegin(da, q, INSERT_VALUES, natural));
  PetscCall(DMDAGlobalToNaturalEnd(da, q, INSERT_VALUES, natural));
  PetscCall(VecScatterCreateToZero(natural, &scatter, &all));
  PetscCall(VecScatterBegin(scatter, natural, all, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(scatter, natural, all, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecGetArrayRead(all, &a));
  {
    PetscInt size;

    PetscCall(VecGetLocalSize(all, &size));
    if (size) { /* the first rank */
      PetscReal low = PETSC_MAX_REAL, high = PETSC_MIN_REAL;
      FILE *file = fopen(name, "wb");

      PetscCheck(file, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "-picture %s: this file cannot be written", name);
      for (PetscInt i = 0; i < size; i += 4) {
        low = PetscMin(low, PetscRealPart(a[i]));
        high = PetscMax(high, PetscRealPart(a[i]));
      }
      fprintf(file, "P6\n%d %d\n255\n", (int)n[0], (int)n[1]);
      for (PetscInt j = n[1] - 1; j >= 0; --j) { /* y upwards */
        for (PetscInt i = 0; i < n[0]; ++i) {
          const PetscReal s = 2 * (PetscRealPart(a[4 * (i + n[0] * j)]) - low) / (high - low) - 1;

          fputc((int)(255 * (s < 0 ? 1 + s : 1)), file);
          fputc((int)(255 * (1 - PetscAbsReal(s))), file);
          fputc((int)(255 * (s > 0 ? 1 - s : 1)), file);
        }
      }
      PetscCheck(!fclose(file), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "-picture %s: this file could not be written",
                 name);
    }
  }
  PetscCall(VecRestoreArrayRead(all, &a));
  PetscCall(VecScatterDestroy(&scatter));
  PetscCall(VecDestroy(&all));
  PetscCall(VecDestroy(&natural));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  PetscInt n = 64;
  PetscReal h, t, error = 0, mass[2], time = 4;
  char picture[PETSC_MAX_PATH_LEN] = "compressible.ppm";
  Flow flow;
  TS ts;
  Vec q;
  DMDALocalInfo info;
  PetscScalar ***a, exact[4], sum[4];
  MatCompactScheme scheme;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-picture", picture, sizeof(picture), NULL));
  h = LENGTH / (PetscReal)n;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_PERIODIC, DMDA_STENCIL_STAR, n, n,
                         PETSC_DECIDE, PETSC_DECIDE, 4, 1, NULL, NULL, &flow.da));
  PetscCall(DMSetFromOptions(flow.da));
  PetscCall(DMSetUp(flow.da));
  PetscCall(DMCreateGlobalVector(flow.da, &q));
  PetscCall(VecDuplicate(q, &flow.derivative));
  for (PetscInt axis = 0; axis < 2; ++axis) {
    PetscCall(MatCreateCompactDerivative(flow.da, (DMDirection)axis, MAT_COMPACT_SPECTRAL, 1, h, &flow.D[axis]));
    PetscCall(MatSetFromOptions(flow.D[axis]));
    PetscCall(VecDuplicate(q, &flow.flux[axis]));
  }

  PetscCall(DMDAGetLocalInfo(flow.da, &info));
  PetscCall(DMDAVecGetArrayDOF(flow.da, q, &a));
  for (PetscInt j = info.ys; j < info.ys + info.ym; ++j) {
    for (PetscInt i = info.xs; i < info.xs + info.xm; ++i) Exact((PetscReal)i * h, (PetscReal)j * h, 0, a[j][i]);
  }
  PetscCall(DMDAVecRestoreArrayDOF(flow.da, q, &a));
  PetscCall(VecSetBlockSize(q, 4));
  PetscCall(VecStrideSumAll(q, sum));
  mass[0] = h * h * PetscRealPart(sum[0]);

  PetscCall(TSCreate(PETSC_COMM_WORLD, &ts));
  PetscCall(TSSetProblemType(ts, TS_NONLINEAR));
  PetscCall(TSSetRHSFunction(ts, NULL, RightHandSide, &flow));
  PetscCall(TSSetType(ts, TSRK));
  PetscCall(TSRKSetType(ts, TSRK4));
  PetscCall(TSSetTimeStep(ts, h / 8)); /* sound and wind together reach 0.4 h */
  PetscCall(TSSetMaxTime(ts, time));
  PetscCall(TSSetExactFinalTime(ts, TS_EXACTFINALTIME_MATCHSTEP));
  PetscCall(TSSetFromOptions(ts));
  PetscCall(TSSolve(ts, q));
  PetscCall(TSGetSolveTime(ts, &t));

  PetscCall(DMDAVecGetArrayDOF(flow.da, q, &a));
  for (PetscInt j = info.ys; j < info.ys + info.ym; ++j) {
    for (PetscInt i = info.xs; i < info.xs + info.xm; ++i) {
      Exact((PetscReal)i * h, (PetscReal)j * h, t, exact);
      error = PetscMax(error, PetscAbsScalar(a[j][i][0] - exact[0]));
    }
  }
  PetscCall(DMDAVecRestoreArrayDOF(flow.da, q, &a));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &error, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  PetscCall(VecStrideSumAll(q, sum));
  mass[1] = h * h * PetscRealPart(sum[0]);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "time %g: largest error of the density %.2e, mass changed by %.1e of %.4f\n",
                        (double)t, (double)error, (double)PetscAbsReal(mass[1] - mass[0]), (double)mass[0]));
  if (picture[0]) PetscCall(Picture(flow.da, q, picture));
  PetscCall(MatCompactDerivativeGetScheme(flow.D[0], &scheme));
  if (scheme == MAT_COMPACT_SPECTRAL)
    PetscCheck(error < (sizeof(PetscReal) < sizeof(double) ? 2e-3 : 3e-5) * PetscPowReal(64 / (PetscReal)n, 6),
               PETSC_COMM_WORLD, PETSC_ERR_PLIB, "The vortex is not where it should be");
  PetscCheck(PetscAbsReal(mass[1] - mass[0]) < 1e4 * PETSC_MACHINE_EPSILON * mass[0], PETSC_COMM_WORLD, PETSC_ERR_PLIB,
             "Mass is not conserved");

  PetscCall(TSDestroy(&ts));
  PetscCall(VecDestroy(&q));
  PetscCall(VecDestroy(&flow.derivative));
  for (PetscInt axis = 0; axis < 2; ++axis) {
    PetscCall(VecDestroy(&flow.flux[axis]));
    PetscCall(MatDestroy(&flow.D[axis]));
  }
  PetscCall(DMDestroy(&flow.da));
  PetscCall(PetscFinalize());
  return 0;
}
