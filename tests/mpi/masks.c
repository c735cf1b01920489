/*
  ranks: 1 2 3
  quick: 2

  Rows that differ, solved: on stretched axes, with and without weights, and on axes of two unknowns; a wall half
  Dirichlet, half Neumann; masks that leave a few nodes, one, or none; more rows than are taken; NaN in a row that
  differs. Solutions against the equations of the matrix, row by row, and on one rank against PETSc's LU.
*/
#include "distribute.h"
#include "../rows.h"
#include <petscksp.h>

typedef enum {
  PLAIN,
  IDENTITY, /* identity rows in the obstacle, its columns stay */
  NOFLUX,   /* links to it are gone */
  WELL,     /* more on some diagonals */
  HALF,     /* half of the low end of y is a Dirichlet end, all others Neumann */
  REST,     /* identity rows everywhere but in the obstacle */
  RANDOM    /* another strength of every link */
} Kind;

typedef struct {
  const char *name;
  PetscInt dim, n[3];
  PetscInt stretched; /* axis, -1: none */
  PetscBool weights;  /* rows are integrals over cells, else divided by their volume */
  PetscBool closed;   /* no wall holds the solution */
  Kind kind;
  double radius; /* of the obstacle */
  PetscInt most; /* solves of the box for the first right-hand side, at most; 0: a fit */
} Grid;

static PetscBool In(const Grid *g, const PetscInt ix[3])
{
  double r2 = 0;

  for (PetscInt d = 0; d < 2; d++) {
    const double x = ((double)ix[d] + .5) / (double)g->n[d] - (d ? .55 : .45);

    r2 += x * x;
  }
  return r2 < g->radius * g->radius ? PETSC_TRUE : PETSC_FALSE;
}

/* Where the face between nodes i and i + 1 of an axis is */
static double Face(const Grid *g, PetscInt d, PetscInt i)
{
  const double x = (double)(i + 1) / (double)g->n[d];

  return d == g->stretched ? (exp(1.5 * x) - 1) / 1.5 : x;
}

static double Centre(const Grid *g, PetscInt d, PetscInt i)
{
  return (Face(g, d, i) + Face(g, d, i - 1)) / 2;
}

static double Width(const Grid *g, PetscInt d, PetscInt i)
{
  return Face(g, d, i) - Face(g, d, i - 1);
}

/* Links over cell volumes, or not; walls are faces */
static void Row(const void *ctx, const PetscInt N[3], const PetscInt ix[3], MatStencil cols[7], PetscScalar v[7],
                PetscInt *m)
{
  const Grid *g = (const Grid *)ctx;
  const PetscBool mask =
    (PetscBool)((g->kind == IDENTITY || g->kind == NOFLUX) && In(g, ix)) || (g->kind == REST && !In(g, ix));
  double diag = 0, volume = 1;

  (void)N;
  memset(cols, 0, 7 * sizeof(MatStencil));
  *m = 1;
  cols[0].i = ix[0];
  cols[0].j = ix[1];
  cols[0].k = ix[2];
  for (PetscInt d = 0; d < g->dim; d++) volume *= Width(g, d, ix[d]);
  for (PetscInt d = 0; d < g->dim && !mask; d++)
    for (int s = -1; s <= 1; s += 2) {
      const double far = Centre(g, d, ix[d]) - Centre(g, d, ix[d] + s);
      double link = volume / Width(g, d, ix[d]) / fabs(far);
      PetscInt jx[3] = {ix[0], ix[1], ix[2]};

      jx[d] += s;
      if (g->kind == RANDOM) link *= exp(3 * sin(1e4 * (double)(ix[0] + jx[0] + 100 * (ix[1] + jx[1]))));
      if (jx[d] < 0 || jx[d] >= g->n[d]) {
        const PetscBool half = (PetscBool)(g->kind == HALF && d == 1 && s < 0 && 2 * ix[0] < g->n[0]);

        diag += !g->closed || half ? volume / Width(g, d, ix[d]) / (Width(g, d, ix[d]) / 2) : 0;
        continue;
      }
      if (g->kind == NOFLUX && In(g, jx)) continue;
      diag += link;
      cols[*m].i = jx[0];
      cols[*m].j = jx[1];
      cols[*m].k = jx[2];
      v[(*m)++] = -link;
    }
  if (g->kind == WELL && (ix[0] * 7 + ix[1] * 3) % 37 == 5 && ix[0] % 5 == 2) diag *= 2;
  v[0] = mask ? 1 : diag;
  for (PetscInt k = 0; k < *m && !mask && !g->weights; k++) v[k] /= volume;
}

static PetscErrorCode Run(const Grid *g, PetscBool print)
{
  const PetscBool singular = (PetscBool)(g->closed && (g->kind == NOFLUX || g->kind == PLAIN));
  const double bound = sizeof(PetscReal) == 4 ? 1e-5 : 1e-13;
  PetscInt rows, solves;
  PetscReal error = 0;
  PetscRandom random;
  PetscMPIInt size;
  Vec x, b;
  KSP ksp;
  PC pc;
  DM da;
  Mat A;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(TestRowsCreate(g->dim, g->n, 1, PETSC_FALSE, Row, g, &da, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  PetscCall(TestKSPCreate(A, g->most ? KSPPREONLY : KSPGMRES, &ksp, &pc));
  PetscCall(KSPSetFromOptions(ksp));
  for (int k = 0; k < 3; k++) {
    PetscCall(VecSetRandom(singular ? x : b, random));
    if (singular) PetscCall(MatMult(A, x, b));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(PCBCRPoissonGetCapacitanceSolves(pc, &rows, &solves));
    PetscCall(TestBackwardError(A, PETSC_FALSE, b, x, &error));
    Check(error <= (g->most ? bound : 1e-4), "%s: backward error %g", g->name, (double)error);
    Check(g->most ? rows > 0 && solves > 0 : rows == 0, "%s: %d rows differ", g->name, (int)rows);
    Check(k > 0 || solves <= g->most, "%s: %d solves", g->name, (int)solves);
    if (print)
      PetscCall(
        PetscPrintf(PETSC_COMM_WORLD, "%s: %d rows, %d solves, %g\n", g->name, (int)rows, (int)solves, (double)error));
  }
  if (size == 1 && !singular && g->most) {
    PetscCall(TestAgainstReference(A, PETSC_FALSE, b, x, &error));
    Check(error <= (sizeof(PetscReal) == 4 ? 1e-2 : 1e-10), "%s: %g from LU's solution", g->name, (double)error);
  }
  PetscCall(TestDestroy(&random, &x, &b, &ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Set-up has to fail. value: of the diagonal of a row that differs, beside the obstacle, 0: as it is */
static PetscErrorCode Refused(const Grid *g, PetscScalar value, PetscErrorCode code, const char *words)
{
  const PetscInt ix[3] = {(PetscInt)((.45 + 1.02 * g->radius) * (double)g->n[0]), (PetscInt)(.55 * (double)g->n[1]), 0};
  MatStencil at = {.i = ix[0], .j = ix[1]};
  PetscInt lo[3], n[3];
  DM da;
  Mat A;
  PC pc;

  PetscFunctionBegin;
  PetscCall(TestRowsCreate(g->dim, g->n, 1, PETSC_FALSE, Row, g, &da, &A));
  PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], &lo[2], &n[0], &n[1], &n[2]));
  if (value != 0 && ix[0] >= lo[0] && ix[0] < lo[0] + n[0] && ix[1] >= lo[1] && ix[1] < lo[1] + n[1])
    PetscCall(MatSetValuesStencil(A, 1, &at, 1, &at, &value, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCBCRPOISSON));
  PetscCall(PCSetOperators(pc, A, A));
  CheckError(PCSetUp(pc), code, words);
  PetscCall(TestDestroy(&pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  /* clang-format off */
  const Grid grids[] = {
    {"stretched x, weights, Dirichlet disc", 2, {63, 48, 1}, 0, PETSC_TRUE, PETSC_TRUE, IDENTITY, .2, 28},
    {"stretched x, Dirichlet disc", 2, {63, 48, 1}, 0, PETSC_FALSE, PETSC_FALSE, IDENTITY, .2, 28},
    {"stretched x, disc without flux", 2, {63, 48, 1}, 0, PETSC_FALSE, PETSC_TRUE, NOFLUX, .2, 28},
    {"stretched y, weights, disc without flux", 2, {63, 48, 1}, 1, PETSC_TRUE, PETSC_TRUE, NOFLUX, .2, 28},
    {"stretched y, wells", 2, {63, 48, 1}, 1, PETSC_FALSE, PETSC_FALSE, WELL, 0, 40},
    {"stretched y, half a wall", 2, {63, 48, 1}, 1, PETSC_FALSE, PETSC_TRUE, HALF, 0, 60},
    {"stretched z, pillar", 3, {20, 18, 12}, 2, PETSC_TRUE, PETSC_TRUE, IDENTITY, .2, 36},
    {"two layers, pillar", 3, {30, 28, 2}, -1, PETSC_TRUE, PETSC_TRUE, IDENTITY, .2, 36},
    {"two lines, wells", 2, {80, 2, 1}, -1, PETSC_TRUE, PETSC_FALSE, WELL, 0, 20},
    {"half a wall", 2, {63, 48, 1}, -1, PETSC_TRUE, PETSC_TRUE, HALF, 0, 60},
    {"a few nodes are left", 2, {40, 36, 1}, -1, PETSC_TRUE, PETSC_FALSE, REST, .08, 30},
    {"four nodes are left", 2, {20, 20, 1}, -1, PETSC_TRUE, PETSC_FALSE, REST, .04, 30},
    {"nothing is left", 2, {20, 20, 1}, -1, PETSC_TRUE, PETSC_FALSE, REST, .03, 0},
    {"no two rows alike", 2, {30, 28, 1}, -1, PETSC_TRUE, PETSC_FALSE, RANDOM, 0, 0}
  };
  /* clang-format on */
  const Grid disc = {
    "disc", 2, {30, 28, 1},
      -1, PETSC_TRUE, PETSC_FALSE, NOFLUX, .2, 1
  };
  PetscBool print = PETSC_FALSE;
  PetscInt only = -1;
  PetscMPIInt rank;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-print", &print, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-only", &only, NULL));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(grids); i++)
    if (only < 0 || only == (PetscInt)i) PetscCall(Run(&grids[i], print));
  PetscCall(Refused(&disc, (PetscScalar)NAN, PETSC_ERR_FP, "NaN"));
  PetscCall(PetscFinalize());
  return TestStatus(rank == 0, TestPassed, TestFailed);
}
