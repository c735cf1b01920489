static char help[] =
  "What rows of explicit zeros cost the readers: a matrix on a DMDA of box stencils, width 1 and 2, with the values of a star,\n\
against the same values in the pattern of the star and one pass over the indices and values of the wide matrix.\n\
  -n2 <513>     grid points along an axis in two dimensions\n\
  -n3 <49>      and in three\n\
  -kind <name>  this kind of matrix alone: constant, boundary, scaled, variable\n\
  -dim <2>      this many dimensions alone\n\
  -reps <9>     repetitions, at least 5\n\
  -cpu          times of the processor, for a machine with other work\n\
  -csv <file>   adds the results to this file\n\
On any number of ranks; times are those of the slowest, from a barrier on, and of these the least.\n\n";

#include "bench.h"
#include "src/operator/read.h"
#include "src/operator/lines.h"
#include <math.h>

#define MAX_REPS 200

static PetscInt repetitions = 9;
static PetscMPIInt rank, size;
static FILE *csv;
static PetscBool cpu = PETSC_FALSE;

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

/* Times: to read the operator, then again the same pattern; to read lines of the strongest axis; of a pass */
enum {
  READ,
  AGAIN,
  LINES,
  PASS
};
typedef struct {
  double median[4], least[4];
} Times;

static PetscErrorCode Measure(PetscInt dim, PetscInt n, DMDAStencilType stencil, PetscInt width, Kind kind,
                              Times *times)
{
  double *t[4], start = 0, sum = 0;
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

    PetscCall(BenchTimerStart(cpu, &start));
    PetscCall(BCROperatorReadUpdate(&grid, A, BCR_FIT_AUTO, &pattern, &dof, &ops, NULL));
    PetscCall(BenchTimerRead(cpu, start, &t[0][r]));
    PetscCall(BenchTimerStart(cpu, &start));
    PetscCall(BCROperatorReadUpdate(&grid, A, BCR_FIT_AUTO, &pattern, &dof, &ops, NULL));
    PetscCall(BenchTimerRead(cpu, start, &t[1][r]));
    PetscCall(BCROperatorDestroy(dof, &ops));
    PetscCall(BenchTimerStart(cpu, &start));
    PetscCall(BCRLinesRead(&grid, A, BCR_LINES_ANY_AXIS, &lines));
    PetscCall(BenchTimerRead(cpu, start, &t[2][r]));
    PetscCall(BCRLinesDestroy(&lines));
    PetscCall(BenchTimerStart(cpu, &start));
    PetscCall(Pass(A, &sum));
    PetscCall(BenchTimerRead(cpu, start, &t[3][r]));
  }
  if (sum == 0.125) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%g\n", sum));
  for (int k = READ; k <= PASS; k++) BenchStatistics(repetitions, t[k], &times->median[k], &times->least[k]);
  PetscCall(BCRGridDestroy(&grid));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFree4(t[0], t[1], t[2], t[3]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* copy_ms: the same values in the pattern of the star, and a pass over the wide matrix */
static void Write(PetscInt dim, PetscInt n, Kind kind, const char pattern[], const Times *star, const Times *wide)
{
  static const char *const what[] = {"read", "again", "lines"};

  for (int k = READ; k <= LINES; k++) {
    const BenchRow row = {
      .program = "wide",
      .name = kinds[kind],
      .precision = sizeof(PetscReal) == 8 ? "double" : "single",
      .solver = what[k],
      .axis = pattern,
      .ranks = size,
      .dim = dim,
      .n = {n, n, dim == 3 ? n : 1},
      .time = wide->median[k],
      .copy = star->median[k] + wide->median[PASS],
      .setup = NAN,
      .residual = NAN,
      .mintime = wide->least[k],
      .mincopy = star->least[k] + wide->least[PASS],
      .first = NAN
    };

    BenchWriteRow(csv, &row);
  }
}

int main(int argc, char **argv)
{
  PetscInt n[2] = {513, 49}, dim = 0, only = KINDS;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscBCRInitializePackage());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-reps", &repetitions, NULL));
  repetitions = PetscMin(PetscMax(repetitions, 5), MAX_REPS);
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n2", &n[0], NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n3", &n[1], NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dim", &dim, NULL));
  PetscCall(PetscOptionsGetEList(NULL, NULL, "-kind", kinds, KINDS, &only, NULL));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-cpu", &cpu));
  if (!rank)
    PetscCall(BenchOpen(cpu ? "reading; copy: the star and one pass; times of the processor"
                            : "reading; copy: the star and one pass",
                        &csv));
  if (!rank)
    printf("%-7s %-10s %-6s %36s   %s\n", "", "", "", "read / again / lines / pass, ms",
           "over star and pass: read, again, lines");
  for (PetscInt d = 0; d < 2; d++) {
    for (int kind = 0; kind < KINDS; kind++) {
      Times star, wide;

      if ((dim && dim != d + 2) || (only < KINDS && only != kind)) continue;
      for (PetscInt width = 0; width < 3; width++) {
        const char *const pattern = width == 0 ? "star" : (width == 1 ? "box 1" : "box 2");
        Times *t = width ? &wide : &star;

        PetscCall(
          Measure(d + 2, n[d], width ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR, PetscMax(width, 1), (Kind)kind, t));
        if (rank) continue;
        printf("%3d^%d   %-10s %-6s", (int)n[d], (int)d + 2, kinds[kind], pattern);
        for (int k = READ; k <= PASS; k++) printf(" %8.3f", 1e3 * t->least[k]);
        for (int k = READ; k <= LINES && width; k++) printf(" %6.2f", t->least[k] / (star.least[k] + t->least[PASS]));
        printf("\n");
        fflush(stdout);
        if (width) Write(d + 2, n[d], (Kind)kind, pattern, &star, t);
      }
    }
  }
  if (csv) fclose(csv);
  PetscCall(PetscFinalize());
  return 0;
}
