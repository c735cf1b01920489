static char help[] =
  "What reading lines out of an assembled matrix costs: PCSetUp() of PCNEATO, first and again, against MatMult().\n\
  -n2 <513,1025,2049>   sizes of n x n grids\n\
  -n3 <65,129>          sizes of n x n x n grids\n\
  -reps <9>             repetitions, at least 5\n\
  -csv <file>           adds the results to this file\n\
On any number of ranks; times are those of the slowest, from a barrier on.\n\n";

#include "bench.h"
#include <math.h>

#define MAX_REPS 200

static PetscInt repetitions = 9;
static PetscMPIInt rank, size;
static FILE *csv;

typedef enum {
  CONSTANT,  /* the Laplacian; boundary rows hold a diagonal only */
  STRETCHED, /* coefficients depend on the place along each axis */
  RANDOM     /* and on everything */
} Kind;
static const char *const kinds[] = {"constant", "stretched", "random"};

static PetscErrorCode Assemble(PetscInt dim, PetscInt n, Kind kind, DM da, Mat *A)
{
  DMDALocalInfo info;
  PetscRandom random;

  PetscFunctionBegin;
  PetscCall(DMCreateMatrix(da, A));
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  for (PetscInt k = info.zs; k < info.zs + info.zm; ++k) {
    for (PetscInt j = info.ys; j < info.ys + info.ym; ++j) {
      for (PetscInt i = info.xs; i < info.xs + info.xm; ++i) {
        const PetscInt x[3] = {i, j, k};
        MatStencil row = {.i = i, .j = j, .k = k}, columns[7];
        PetscScalar values[7], sum = 0;
        PetscInt count = 0;
        PetscBool edge = PETSC_FALSE;

        for (PetscInt d = 0; d < dim; ++d) edge = (PetscBool)(edge || x[d] == 0 || x[d] == n - 1);
        for (PetscInt d = 0; d < dim; ++d) {
          for (PetscInt s = -1; s <= 1; s += 2) {
            PetscReal r = 0;

            if (x[d] + s < 0 || x[d] + s >= n) continue;
            columns[count] = row;
            if (d == 0) columns[count].i += s;
            if (d == 1) columns[count].j += s;
            if (d == 2) columns[count].k += s;
            if (kind == STRETCHED) r = (PetscReal)x[d] / (PetscReal)n;
            if (kind == RANDOM) PetscCall(PetscRandomGetValueReal(random, &r));
            values[count] = edge ? 0 : -(1 + r);
            sum -= values[count++];
          }
        }
        columns[count] = row;
        values[count++] = edge ? 1 : sum;
        PetscCall(MatSetValuesStencil(*A, 1, &row, count, columns, values, INSERT_VALUES));
      }
    }
  }
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* copy_ms: MatMult() */
static PetscErrorCode Run(PetscInt dim, PetscInt n, Kind kind, PCNeatoAxis axis)
{
  double *t[3], start = 0;
  const char *const solvers[] = {"first", "again"};
  char name[32];
  DM da;
  Mat A;
  Vec f, u;
  PC pc;
  const char letter[2] = {axis == PCNEATO_AXIS_AUTO ? '-' : (char)('w' + (int)axis), 0};

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(repetitions, &t[0], repetitions, &t[1], repetitions, &t[2]));
  if (dim == 2)
    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n, PETSC_DECIDE,
                           PETSC_DECIDE, 1, 1, NULL, NULL, &da));
  else
    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n,
                           n, n, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(Assemble(dim, n, kind, da, &A));
  PetscCall(DMCreateGlobalVector(da, &f));
  PetscCall(VecDuplicate(f, &u));
  PetscCall(VecSet(f, 1));
  PetscCall(MatMult(A, f, u));
  for (PetscInt r = 0; r < repetitions; ++r) {
    PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
    PetscCall(PCSetType(pc, PCNEATO));
    PetscCall(PCSetDM(pc, da));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCNeatoSetAxis(pc, axis));
    PetscCall(MatMult(A, f, u));
    PetscCall(BenchClockStart(&start));
    PetscCall(MatMult(A, f, u));
    PetscCall(BenchClockRead(start, &t[2][r]));
    PetscCall(BenchClockStart(&start));
    PetscCall(PCSetUp(pc));
    PetscCall(BenchClockRead(start, &t[0][r]));
    PetscCall(MatScale(A, r % 2 ? 2 : (PetscScalar)0.5)); /* other values, the same pattern */
    PetscCall(BenchClockStart(&start));
    PetscCall(PCSetUp(pc));
    PetscCall(BenchClockRead(start, &t[1][r]));
    PetscCall(PCDestroy(&pc));
  }
  for (int k = 0; k < 2; ++k) {
    BenchRow row = {
      .program = "neatosetup",
      .name = kinds[kind],
      .precision = sizeof(PetscReal) == 8 ? "double" : "single",
      .solver = solvers[k],
      .axis = letter,
      .ranks = size,
      .dim = dim,
      .n = {n, n, dim == 3 ? n : 1},
      .setup = NAN,
      .residual = NAN,
      .first = NAN
    };

    BenchStatistics(repetitions, t[k], &row.time, &row.mintime);
    BenchStatistics(repetitions, t[2], &row.copy, &row.mincopy);
    PetscCall(PetscSNPrintf(name, sizeof(name), "%d^%d", (int)n, (int)dim));
    if (!rank) {
      printf("%-8s %-10s axis %s  %-6s %9.3f ms  %6.2f MatMult (minima %6.2f)\n", name, row.name, row.axis, row.solver,
             1e3 * row.time, row.time / row.copy, row.mintime / row.mincopy);
      fflush(stdout);
      BenchWriteRow(csv, &row);
    }
  }
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&f));
  PetscCall(VecDestroy(&u));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFree3(t[0], t[1], t[2]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt sizes[2][16] =
    {
      {513, 1025, 2049},
      {65,   129     }
  },
           count[2] = {3, 2}, given;
  PetscBool found;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscBCRInitializePackage());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-reps", &repetitions, NULL));
  repetitions = PetscMin(PetscMax(repetitions, 5), MAX_REPS);
  for (int d = 0; d < 2; ++d) {
    given = 16;
    PetscCall(PetscOptionsGetIntArray(NULL, NULL, d ? "-n3" : "-n2", sizes[d], &given, &found));
    if (found) count[d] = given;
  }
  if (!rank)
    PetscCall(
      BenchOpen("PCSetUp() of PCNEATO: first, and again with other values in the same pattern; copy: MatMult()", &csv));
  for (int d = 0; d < 2; ++d) {
    for (PetscInt k = 0; k < count[d]; ++k) {
      for (PetscInt axis = PCNEATO_AXIS_X; axis < PCNEATO_AXIS_X + d + 2; ++axis)
        PetscCall(Run(d + 2, sizes[d][k], CONSTANT, (PCNeatoAxis)axis));
      PetscCall(Run(d + 2, sizes[d][k], CONSTANT, PCNEATO_AXIS_AUTO));
      PetscCall(Run(d + 2, sizes[d][k], STRETCHED, PCNEATO_AXIS_Y));
      PetscCall(Run(d + 2, sizes[d][k], RANDOM, PCNEATO_AXIS_Y));
    }
  }
  if (csv) fclose(csv);
  PetscCall(PetscFinalize());
  return 0;
}
