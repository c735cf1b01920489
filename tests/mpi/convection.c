/*
  ranks: 1 2 3
  quick: 2

  Obstacles where the two couplings of an axis differ: upwind convection, Stommel's equation for currents of an ocean (beta term).
  Rows that most have are those of a separable operator, the others are solved with it directly. Solutions and those of transposed
  systems against the equations of the matrix, row by row, and on one rank against PETSc's LU.
*/
#include "distribute.h"
#include "../rows.h"
#include <petscksp.h>

typedef enum {
  LAND,  /* identity rows, whose columns stay */
  HELD,  /* the same without their columns */
  NOFLUX /* links are gone, and what they add to the diagonal */
} Kind;

typedef struct {
  const char *name;
  PetscInt dim, n[3];
  double drift[3]; /* the lower coupling is 1 + drift where the upper one is 1, or turned around where it is negative */
  double grow;     /* the drift along x grows by so much from one end to the other */
  Kind kind;
  PetscBool coast; /* land along the low end of x, too */
  PetscInt most;   /* solves of the box for the first right-hand side, at most; 0: it may be a fit */
} Problem;

static PetscBool Land(const Problem *c, const PetscInt ix[3])
{
  double r2 = 0;

  for (PetscInt d = 0; d < c->dim; d++) {
    const double x = ((double)ix[d] + 1) / (double)(c->n[d] + 1) - (d == 1 ? .45 : .52);

    r2 += x * x;
  }
  if (c->coast && (double)ix[0] < .06 * (double)c->n[0] + 1.5 * sin(0.4 * (double)ix[1])) return PETSC_TRUE;
  return r2 < .15 * .15 ? PETSC_TRUE : PETSC_FALSE;
}

static double Coupling(const Problem *c, const PetscInt ix[3], PetscInt d, PetscInt side)
{
  const double more = d ? 0 : c->grow * (double)ix[0] / (double)c->n[0], drift = c->drift[d] + more;

  return (1 + 0.3 * (double)d) * (1 + (side < 0 ? PetscMax(drift, 0) : PetscMax(-drift, 0)));
}

static void Row(const void *ctx, const PetscInt N[3], const PetscInt ix[3], MatStencil cols[7], PetscScalar v[7],
                PetscInt *m)
{
  const Problem *c = (const Problem *)ctx;
  const PetscBool land = Land(c, ix);
  double diag = land ? 1 : 0;

  (void)N;
  memset(cols, 0, 7 * sizeof(MatStencil));
  *m = 1;
  cols[0].i = ix[0];
  cols[0].j = ix[1];
  cols[0].k = ix[2];
  for (PetscInt d = 0; d < c->dim && !land; d++)
    for (PetscInt s = -1; s <= 1; s += 2) {
      const double a = Coupling(c, ix, d, s);
      PetscInt jx[3] = {ix[0], ix[1], ix[2]};

      jx[d] += s;
      if (jx[d] >= 0 && jx[d] < c->n[d] && Land(c, jx)) {
        if (c->kind == NOFLUX) continue;
        if (c->kind == HELD) diag += a;
        if (c->kind == HELD) continue;
      }
      diag += a;
      if (jx[d] < 0 || jx[d] >= c->n[d]) continue;
      cols[*m].i = jx[0];
      cols[*m].j = jx[1];
      cols[*m].k = jx[2];
      v[(*m)++] = -a;
    }
  v[0] = diag;
}

static PetscErrorCode Run(const Problem *c, PetscBool print)
{
  const double bound = sizeof(PetscReal) == 4 ? 1e-5 : 2e-13;
  PetscInt rows, solves, its;
  PetscRandom random;
  PetscMPIInt size;
  Vec x, b;
  KSP ksp;
  PC pc;
  DM da;
  Mat A;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(TestRowsCreate(c->dim, c->n, 1, PETSC_FALSE, Row, c, &da, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  PetscCall(TestKSPCreate(A, c->most ? KSPPREONLY : KSPGMRES, &ksp, &pc));
  PetscCall(KSPSetTolerances(ksp, bound, PETSC_DEFAULT, PETSC_DEFAULT, 400));
  for (int k = 0; k < 3; k++) {
    const PetscBool transpose = (PetscBool)(k == 1);
    PetscReal error = 0;

    PetscCall(VecSetRandom(b, random));
    PetscCall(transpose ? KSPSolveTranspose(ksp, b, x) : KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(PCBCRPoissonGetCapacitanceSolves(pc, &rows, &solves));
    PetscCall(TestBackwardError(A, transpose, b, x, &error));
    Check(error <= bound, "%s%s: backward error %g", c->name, transpose ? ", transposed" : "", (double)error);
    Check(!c->most || (rows > 0 && solves > 0), "%s: %d rows differ", c->name, (int)rows);
    Check(!c->most || k > 0 || solves <= c->most, "%s: %d solves", c->name, (int)solves);
    if (size == 1) {
      PetscReal off;

      PetscCall(TestAgainstReference(A, transpose, b, x, &off));
      Check(off <= (sizeof(PetscReal) == 4 ? 1e-2 : 1e-10), "%s: %g from LU's solution", c->name, (double)off);
    }
    if (print)
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s%s: %d rows, %d solves, %d iterations, %g\n", c->name,
                            transpose ? ", transposed" : "", (int)rows, (int)solves, (int)its, (double)error));
  }
  PetscCall(TestDestroy(&random, &x, &b, &ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  /* clang-format off */
  const Problem cases[] = {
    {"wind along x, land", 2, {63, 48, 1}, {.3, 0, 0}, 0, LAND, PETSC_FALSE, 26},
    {"wind along x, land without its columns", 2, {63, 48, 1}, {.3, 0, 0}, 0, HELD, PETSC_FALSE, 26},
    {"wind along y, no flux through the disc", 2, {48, 63, 1}, {0, -.2, 0}, 0, NOFLUX, PETSC_FALSE, 26},
    {"strong wind along y, land", 2, {60, 63, 1}, {0, 3, 0}, 0, LAND, PETSC_FALSE, 26},
    {"Stommel's ocean", 2, {80, 64, 1}, {-.15, 0, 0}, 0, LAND, PETSC_TRUE, 28},
    {"wind along x that grows", 2, {63, 48, 1}, {.1, 0, 0}, .4, LAND, PETSC_FALSE, 26},
    {"wind along z, ball", 3, {18, 19, 20}, {0, 0, .25}, 0, LAND, PETSC_FALSE, 26},
    {"wind along x, ball without flux", 3, {20, 19, 18}, {-.25, 0, 0}, 0, NOFLUX, PETSC_FALSE, 26},
    {"wind across", 2, {63, 48, 1}, {.1, -.05, 0}, 0, LAND, PETSC_FALSE, 0}
  };
  /* clang-format on */
  PetscBool print = PETSC_FALSE;
  PetscMPIInt rank;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-print", &print, NULL));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases); i++) PetscCall(Run(&cases[i], print));
  PetscCall(PetscFinalize());
  return TestStatus(rank == 0, TestPassed, TestFailed);
}
