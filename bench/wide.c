static char help[] =
  "What rows of explicit zeros cost the readers: a matrix on a DMDA of box stencils, width 1 and 2, with the values of a star,\n\
against the same values in the pattern of the star and one pass over the indices and values of the wide matrix.\n\
  -n2 <513>     grid points along an axis in two dimensions\n\
  -n3 <49>      and in three\n\
  -kind <name>  this kind of matrix alone: constant, boundary, scaled, variable\n\
  -dim <2>      this many dimensions alone\n\
  -reps <9>     repetitions, at least 5\n\
On any number of ranks; times are those of the slowest, from a barrier on, and of these the least.\n\n";

#include "bench.h"
#include "src/operator/read.h"
#include "src/operator/lines.h"
#include <math.h>

#define MAX_REPS 200

static PetscInt repetitions = 9;
static PetscMPIInt rank;

typedef enum {
  CONSTANT, /* the Laplacian between Dirichlet ends */
  BOUNDARY, /* boundary rows hold a diagonal only */
  SCALED,   /* every row has a factor of its own */
  VARIABLE, /* coefficients vary: a fit */
  KINDS
} Kind;
static const char *const kinds[] = {"constant", "boundary", "scaled", "variable"};

static PetscErrorCode Assemble(DM da, Kind kind, Mat *A)
{
  DMDALocalInfo info;
  PetscRandom random;

  PetscFunctionBegin;
  PetscCall(DMCreateMatrix(da, A));
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++) {
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
        const PetscInt x[3] = {i, j, k}, N[3] = {info.mx, info.my, info.mz};
        MatStencil row = {.i = i, .j = j, .k = k}, columns[7];
        PetscScalar values[7];
        PetscReal factor = 1, r;
        PetscInt count = 0;
        PetscBool edge = PETSC_FALSE;

        if (kind == SCALED) PetscCall(PetscRandomGetValueReal(random, &r));
        if (kind == SCALED) factor += r;
        for (PetscInt d = 0; d < info.dim; d++) edge = (PetscBool)(edge || x[d] == 0 || x[d] == N[d] - 1);
        edge = (PetscBool)(edge && kind == BOUNDARY);
        columns[count] = row;
        values[count++] = edge ? 1 : 2 * info.dim * factor;
        for (PetscInt d = 0; d < info.dim; d++) {
          for (PetscInt s = -1; s <= 1; s += 2) {
            if (x[d] + s < 0 || x[d] + s >= N[d]) continue;
            columns[count] = row;
            *(d == 0 ? &columns[count].i : (d == 1 ? &columns[count].j : &columns[count].k)) += s;
            values[count++] =
              edge ? 0
                   : -factor *
                       (kind == VARIABLE ? 1 + 0.3 * sin(0.01 * (2 * i + s * (d == 0) + 2 * j + s * (d == 1))) : 1);
          }
        }
        PetscCall(MatSetValuesStencil(*A, 1, &row, count, columns, values, INSERT_VALUES));
      }
    }
  }
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One pass over all indices and values of this rank's rows: sums, which come back so that they are made */
static PetscErrorCode Pass(Mat A, double *sum)
{
  Mat part[2] = {A, NULL};
  PetscBool parallel;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATMPIAIJ, &parallel));
  if (parallel) PetscCall(MatMPIAIJGetSeqAIJ(A, &part[0], &part[1], NULL));
  for (int p = 0; p < 2 && part[p]; p++) {
    const PetscInt *i, *j;
    const PetscScalar *a;
    PetscInt n, indices[8] = {0};
    PetscReal values[8] = {0};
    PetscBool done;

    PetscCall(MatGetRowIJ(part[p], 0, PETSC_FALSE, PETSC_FALSE, &n, &i, &j, &done));
    PetscCall(MatSeqAIJGetArrayRead(part[p], &a));
    for (PetscInt e = 0; e + 8 <= i[n]; e += 8) {
      for (int l = 0; l < 8; l++) {
        indices[l] ^= j[e + l];
        values[l] += a[e + l];
      }
    }
    for (int l = 0; l < 8; l++) *sum += values[l] + (double)indices[l];
    PetscCall(MatSeqAIJRestoreArrayRead(part[p], &a));
    PetscCall(MatRestoreRowIJ(part[p], 0, PETSC_FALSE, PETSC_FALSE, &n, &i, &j, &done));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Least times: to read the operator, then again the same pattern; to read lines of the strongest axis; of a pass */
typedef struct {
  double read, again, lines, pass;
} Times;

static PetscErrorCode Measure(PetscInt dim, PetscInt n, DMDAStencilType stencil, PetscInt width, Kind kind,
                              Times *times)
{
  double *t[4], start = 0, median, sum = 0;
  DM da;
  Mat A;
  BCRGrid grid;

  PetscFunctionBegin;
  PetscCall(PetscMalloc4(repetitions, &t[0], repetitions, &t[1], repetitions, &t[2], repetitions, &t[3]));
  if (dim == 2)
    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, stencil, n, n, PETSC_DECIDE,
                           PETSC_DECIDE, 1, width, NULL, NULL, &da));
  else
    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, stencil, n, n, n,
                           PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, width, NULL, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(Assemble(da, kind, &A));
  PetscCall(BCRGridCreate(da, PETSC_COMM_WORLD, &grid));
  for (PetscInt r = 0; r < repetitions; r++) {
    BCRPattern pattern = {0};
    BCROperator *ops = NULL;
    BCRLines lines = NULL;
    PetscInt dof = 0;

    PetscCall(BenchClockStart(&start));
    PetscCall(BCROperatorReadUpdate(&grid, A, BCR_FIT_AUTO, &pattern, &dof, &ops, NULL));
    PetscCall(BenchClockRead(start, &t[0][r]));
    PetscCall(BenchClockStart(&start));
    PetscCall(BCROperatorReadUpdate(&grid, A, BCR_FIT_AUTO, &pattern, &dof, &ops, NULL));
    PetscCall(BenchClockRead(start, &t[1][r]));
    PetscCall(BCROperatorDestroy(dof, &ops));
    PetscCall(BenchClockStart(&start));
    PetscCall(BCRLinesRead(&grid, A, BCR_LINES_ANY_AXIS, &lines));
    PetscCall(BenchClockRead(start, &t[2][r]));
    PetscCall(BCRLinesDestroy(&lines));
    PetscCall(BenchClockStart(&start));
    PetscCall(Pass(A, &sum));
    PetscCall(BenchClockRead(start, &t[3][r]));
  }
  if (sum == 0.125) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%g\n", sum));
  BenchStatistics(repetitions, t[0], &median, &times->read);
  BenchStatistics(repetitions, t[1], &median, &times->again);
  BenchStatistics(repetitions, t[2], &median, &times->lines);
  BenchStatistics(repetitions, t[3], &median, &times->pass);
  PetscCall(BCRGridDestroy(&grid));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFree4(t[0], t[1], t[2], t[3]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt n[2] = {513, 49}, dim = 0, only = KINDS;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscBCRInitializePackage());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-reps", &repetitions, NULL));
  repetitions = PetscMin(PetscMax(repetitions, 5), MAX_REPS);
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n2", &n[0], NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n3", &n[1], NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dim", &dim, NULL));
  PetscCall(PetscOptionsGetEList(NULL, NULL, "-kind", kinds, KINDS, &only, NULL));
  if (!rank)
    printf("%-7s %-10s %-6s %36s   %s\n", "", "", "", "read / again / lines / pass, ms",
           "over star and pass: read, again, lines");
  for (PetscInt d = 0; d < 2; d++) {
    for (int kind = 0; kind < KINDS; kind++) {
      Times star, wide;

      if ((dim && dim != d + 2) || (only < KINDS && only != kind)) continue;
      for (PetscInt width = 0; width < 3; width++) {
        Times *t = width ? &wide : &star;

        PetscCall(
          Measure(d + 2, n[d], width ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR, PetscMax(width, 1), (Kind)kind, t));
        if (rank) continue;
        printf("%3d^%d   %-10s %-6s %8.3f %8.3f %8.3f %8.3f", (int)n[d], (int)d + 2, kinds[kind],
               width ? (width == 1 ? "box 1" : "box 2") : "star", 1e3 * t->read, 1e3 * t->again, 1e3 * t->lines,
               1e3 * t->pass);
        if (width)
          printf("   %6.2f %6.2f %6.2f", t->read / (star.read + t->pass), t->again / (star.again + t->pass),
                 t->lines / (star.lines + t->pass));
        printf("\n");
        fflush(stdout);
      }
    }
  }
  PetscCall(PetscFinalize());
  return 0;
}
