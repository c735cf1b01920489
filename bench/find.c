static char help[] = "What it costs to find the grid of a matrix without a DMDA, against MatMult() with it.\n\
  -n2 <1023>    grids of n x n nodes\n\
  -n3 <127>     grids of n x n x n nodes\n\
  -rows <1000000>  rows of the random sparse matrix, 7 entries in each, which is refused\n\
  -kind <name>  this kind of matrix alone: star, box, zeros, periodic, boundary, scattered, line\n\
                (a star of 3 x n nodes), sparse\n\
  -order <name> this order alone: natural, boxes, rcm, random, tiles, spread\n\
  -reps <9>     repetitions, at least 5\n\
  -cpu          times of the processor, for a machine with other work (one rank)\n\
  -csv <file>   adds the results to this file\n\
On any number of ranks; times are those of the slowest, from a barrier on.\n\n";

#include "bench.h"
#include "src/operator/findany.h"
#include <math.h>
#include <time.h>

#define MAX_REPS 200

static PetscInt repetitions = 9, gathered = -1;
static PetscMPIInt rank, size;
static FILE *csv;
static PetscBool cpu = PETSC_FALSE;

static PetscErrorCode Find(Mat A, BCRFound *found)
{
  BCRFindRows R;

  PetscFunctionBegin;
  if (gathered < 0) {
    PetscCall(BCRGridFind(A, found));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscMemzero(found, sizeof(*found)));
  PetscCall(BCRFindRowsOpen(A, &R));
  PetscCall(BCRFindAnyUpTo(gathered, &R, found));
  PetscCall(BCRFindRowsClose(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum {
  STAR,      /* 5- and 7-point */
  BOX,       /* 9- and 27-point */
  ZEROS,     /* 5- and 7-point in the pattern of a DMDA of box stencils of width 2 */
  PERIODIC,  /* star, all axes rings */
  BOUNDARY,  /* star, boundary rows hold a diagonal only and nothing couples to them */
  SCATTERED, /* star, a tenth of the nodes couple to nothing */
  LINE,      /* star on 3 x n nodes */
  SPARSE,    /* random columns, no grid */
  KINDS
} Kind;
static const char *const kinds[] = {"star", "box", "zeros", "periodic", "boundary", "scattered", "line", "sparse"};

typedef enum {
  NATURAL,  /* on several ranks slabs of the last axis */
  BOXES,    /* of a DMDA, several ranks */
  RCM,      /* reverse Cuthill-McKee, one rank */
  SHUFFLED, /* one rank */
  TILES,    /* of 8 x 8 x 8 nodes one after the other, in random order within each; any ranks, stars alone */
  SPREAD,   /* random over all ranks, the same */
  ORDERS
} Order;
static const char *const orders[] = {"natural", "boxes", "rcm", "random", "tiles", "spread"};

/* The node couples to nothing */
static PetscBool Alone(Kind kind, const PetscInt N[3], const MatStencil *x)
{
  const PetscInt at[3] = {x->i, x->j, x->k};
  const uint32_t hash =
    (uint32_t)(x->i + 1) * 2654435761u ^ (uint32_t)(x->j + 7) * 2246822519u ^ (uint32_t)(x->k + 13) * 3266489917u;

  if (kind == SCATTERED) return (PetscBool)((hash >> 7) % 10 == 0);
  for (int d = 0; d < 3 && kind == BOUNDARY; d++)
    if (N[d] > 1 && (at[d] == 0 || at[d] == N[d] - 1)) return PETSC_TRUE;
  return PETSC_FALSE;
}

static PetscErrorCode AssembleRow(Mat A, Kind kind, const PetscInt N[3], MatStencil row)
{
  MatStencil columns[27];
  PetscScalar values[27];
  PetscInt count = 0, d[3];

  PetscFunctionBegin;
  for (d[2] = -1; d[2] <= 1; d[2]++) {
    for (d[1] = -1; d[1] <= 1; d[1]++) {
      for (d[0] = -1; d[0] <= 1; d[0]++) {
        MatStencil to = {.i = row.i + d[0], .j = row.j + d[1], .k = row.k + d[2]};
        const PetscInt span = (d[0] != 0) + (d[1] != 0) + (d[2] != 0), y[3] = {to.i, to.j, to.k};
        PetscBool inside = PETSC_TRUE;

        for (int e = 0; e < 3; e++)
          if (N[e] == 1 ? d[e] != 0 : (kind != PERIODIC && (y[e] < 0 || y[e] >= N[e]))) inside = PETSC_FALSE;
        if (!inside || (span > 1 && kind != BOX)) continue;
        if (span && (Alone(kind, N, &row) || Alone(kind, N, &to))) continue;
        columns[count] = to;
        values[count++] = span ? -1 : 26;
      }
    }
  }
  PetscCall(MatSetValuesStencil(A, 1, &row, count, columns, values, INSERT_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* N[2] == 1: two dimensions */
static PetscErrorCode Assemble(Kind kind, Order order, const PetscInt N[3], Mat *A)
{
  const PetscInt width = kind == ZEROS ? 2 : 1, one = order == NATURAL ? 1 : PETSC_DECIDE;
  const DMBoundaryType b = kind == PERIODIC ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE;
  const DMDAStencilType stencil = kind == BOX || kind == ZEROS ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR;
  PetscInt s[3], m[3];
  DM da;

  PetscFunctionBegin;
  if (N[2] == 1)
    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, b, b, stencil, N[0], N[1], one, PETSC_DECIDE, 1, width, NULL, NULL, &da));
  else
    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, b, b, b, stencil, N[0], N[1], N[2], one, one, PETSC_DECIDE, 1, width, NULL,
                           NULL, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(DMSetMatrixPreallocateOnly(da, (PetscBool)(kind != ZEROS))); /* no explicit zeros otherwise */
  PetscCall(DMCreateMatrix(da, A));
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], &s[2], &m[0], &m[1], &m[2]));
  for (PetscInt k = s[2]; k < s[2] + m[2]; k++) {
    for (PetscInt j = s[1]; j < s[1] + m[1]; j++) {
      for (PetscInt i = s[0]; i < s[0] + m[0]; i++) {
        const MatStencil row = {.i = i, .j = j, .k = k};

        PetscCall(AssembleRow(*A, kind, N, row));
      }
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows in another order, on one rank */
static PetscErrorCode Reorder(Order order, Mat *A)
{
  PetscInt n, *p;
  IS rows, columns;
  Mat B;

  PetscFunctionBegin;
  PetscCall(MatGetSize(*A, &n, NULL));
  if (order == RCM) PetscCall(MatGetOrdering(*A, MATORDERINGRCM, &rows, &columns));
  else {
    PetscCall(PetscMalloc1(n, &p));
    for (PetscInt k = 0; k < n; k++) p[k] = k;
    for (PetscInt k = n - 1; k > 0; k--) {
      const PetscInt l = (PetscInt)(TestUniform() * (double)(k + 1)), t = p[k];

      p[k] = p[l];
      p[l] = t;
    }
    PetscCall(ISCreateGeneral(PETSC_COMM_SELF, n, p, PETSC_OWN_POINTER, &rows));
    PetscCall(ISSetPermutation(rows));
    PetscCall(PetscObjectReference((PetscObject)rows));
    columns = rows;
  }
  PetscCall(MatPermute(*A, rows, columns, &B));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&columns));
  PetscCall(MatDestroy(A));
  *A = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Random numbers 0 .. n - 1, the same on all ranks, and where each of them is */
static PetscErrorCode Shuffle(PetscInt n, PetscInt p[], PetscInt where[])
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) {
    const PetscInt l = (PetscInt)(TestUniform() * (double)(k + 1));

    p[k] = p[l];
    p[l] = k;
  }
  for (PetscInt k = 0; k < n; k++) where[p[k]] = k;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A star of N[d] nodes along each axis, multiples of 8, whose rows lie tile after tile or anywhere */
static PetscErrorCode AssembleTiles(Order order, const PetscInt N[3], Mat *A)
{
  const PetscInt T = 8, n = order == TILES ? T * T * T : N[0] * N[1] * N[2], M[3] = {N[0] / T, N[1] / T, N[2] / T};
  const PetscInt tile[3] = {order == TILES ? T : N[0], order == TILES ? T : N[1], order == TILES ? T : N[2]};
  PetscInt *p, *where, first, end;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(n, &p, n, &where));
  PetscCall(Shuffle(n, p, where));
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, N[0] * N[1] * N[2], N[0] * N[1] * N[2], 7, NULL,
                         6, NULL, A));
  PetscCall(MatGetOwnershipRange(*A, &first, &end));
  for (PetscInt r = first; r < end; r++) {
    const PetscInt t = r / n, in = p[r % n];
    const PetscInt x[3] = {t % M[0] * tile[0] + in % tile[0], t / M[0] % M[1] * tile[1] + in / tile[0] % tile[1],
                           t / M[0] / M[1] * tile[2] + in / tile[0] / tile[1]};
    PetscInt columns[7] = {r}, count = 1;
    const PetscScalar values[7] = {7, -1, -1, -1, -1, -1, -1};

    for (PetscInt s = 0; s < 6; s++) {
      PetscInt y[3] = {x[0], x[1], x[2]};

      y[s / 2] += s % 2 ? 1 : -1;
      if (y[s / 2] < 0 || y[s / 2] >= N[s / 2]) continue;
      columns[count++] = n * (y[0] / tile[0] + M[0] * (y[1] / tile[1] + M[1] * (y[2] / tile[2]))) +
                         where[y[0] % tile[0] + tile[0] * (y[1] % tile[1] + tile[1] * (y[2] % tile[2]))];
    }
    PetscCall(MatSetValues(*A, 1, &r, count, columns, values, INSERT_VALUES));
  }
  PetscCall(PetscFree2(p, where));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Six random columns a row and the diagonal */
static PetscErrorCode AssembleRandom(PetscInt rows, Mat *A)
{
  PetscInt first, end;

  PetscFunctionBegin;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, rows, rows, 7, NULL, 7, NULL, A));
  PetscCall(MatGetOwnershipRange(*A, &first, &end));
  for (PetscInt r = first; r < end; r++) {
    PetscInt columns[7] = {r};
    const PetscScalar values[7] = {7, -1, -1, -1, -1, -1, -1};

    for (int k = 1; k < 7; k++) columns[k] = (PetscInt)(TestUniform() * (double)rows);
    PetscCall(MatSetValues(*A, 1, &r, 7, columns, values, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* copy_ms: MatMult() */
static PetscErrorCode Run(const char kind[], const char order[], const PetscInt N[3], Mat A)
{
  static const char *const answers[] = {"none", "natural", "boxes", "any"};
  double *t[2], start = 0;
  BCRFound found = {.order = BCR_FOUND_NONE};
  Vec f, u;
  BenchRow row = {
    .program = "find",
    .name = kind,
    .precision = sizeof(PetscReal) == 8 ? "double" : "single",
    .axis = order,
    .ranks = size,
    .dim = N[2] > 1 ? 3 : 2,
    .n = {N[0], N[1], N[2]},
    .setup = NAN,
    .residual = NAN,
    .first = NAN
  };

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(repetitions, &t[0], repetitions, &t[1]));
  PetscCall(MatCreateVecs(A, &u, &f));
  PetscCall(VecSet(u, 1));
  for (PetscInt r = 0; r < repetitions; r++) {
    PetscCall(MatMult(A, u, f));
    PetscCall(BenchTimerStart(cpu, &start));
    PetscCall(MatMult(A, u, f));
    PetscCall(BenchTimerRead(cpu, start, &t[1][r]));
    PetscCall(BCRFoundDestroy(&found));
    PetscCall(BenchTimerStart(cpu, &start));
    PetscCall(Find(A, &found));
    PetscCall(BenchTimerRead(cpu, start, &t[0][r]));
  }
  row.solver = answers[found.order];
  BenchStatistics(repetitions, t[0], &row.time, &row.mintime);
  BenchStatistics(repetitions, t[1], &row.copy, &row.mincopy);
  if (!rank) {
    printf("%-9s %-8s %8d x %d x %d  %-8s %9.3f ms  %6.2f MatMult (minima %6.2f)  %s\n", kind, order, (int)N[0],
           (int)N[1], (int)N[2], row.solver, 1e3 * row.time, row.time / row.copy, row.mintime / row.mincopy, found.why);
    fflush(stdout);
    BenchWriteRow(csv, &row);
  }
  PetscCall(BCRFoundDestroy(&found));
  PetscCall(VecDestroy(&f));
  PetscCall(VecDestroy(&u));
  PetscCall(PetscFree2(t[0], t[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunGrid(Kind kind, Order order, PetscInt nx, PetscInt ny, PetscInt nz)
{
  const PetscInt N[3] = {nx, ny, nz};
  Mat A;

  PetscFunctionBegin;
  if (order > BOXES && size > 1) PetscFunctionReturn(PETSC_SUCCESS);
  if (order == BOXES && size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Assemble(kind, order, N, &A));
  if (order > BOXES) PetscCall(Reorder(order, &A));
  PetscCall(Run(kinds[kind], orders[order], N, A));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt n2 = 1023, n3 = 127, N[3] = {1000000, 1, 1}, kind1 = KINDS, order1 = ORDERS;
  Mat A;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscBCRInitializePackage());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-reps", &repetitions, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n2", &n2, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n3", &n3, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-rows", &N[0], NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-gathered", &gathered, NULL));
  repetitions = PetscMin(PetscMax(repetitions, 5), MAX_REPS);
  PetscCall(PetscOptionsHasName(NULL, NULL, "-cpu", &cpu));
  if (!rank)
    PetscCall(BenchOpen(
      cpu ? "BCRGridFind(); copy: MatMult(); times of the processor" : "BCRGridFind(); copy: MatMult()", &csv));
  PetscCall(PetscOptionsGetEList(NULL, NULL, "-kind", kinds, KINDS, &kind1, NULL));
  PetscCall(PetscOptionsGetEList(NULL, NULL, "-order", orders, ORDERS, &order1, NULL));
  for (int order = NATURAL; order <= SHUFFLED; order++) { /* of a DMDA */
    if (order1 < ORDERS && order != order1) continue;
    for (int kind = STAR; kind <= LINE; kind++) {
      if (kind1 < KINDS && kind != kind1) continue;
      if (kind == LINE) {
        PetscCall(RunGrid(STAR, (Order)order, 3, n2 * n2 / 3, 1));
        continue;
      }
      PetscCall(RunGrid((Kind)kind, (Order)order, n2, n2, 1));
      PetscCall(RunGrid((Kind)kind, (Order)order, n3, n3, n3));
    }
  }
  for (int order = TILES; order <= SPREAD; order++) {
    const PetscInt n = n3 / 8 * 8, M[3] = {n, n, n};

    if (order1 < ORDERS ? order != order1 : (n == 0 || (kind1 < KINDS && kind1 != STAR))) continue;
    PetscCall(AssembleTiles((Order)order, M, &A));
    PetscCall(Run("star", orders[order], M, A));
    PetscCall(MatDestroy(&A));
  }
  if (order1 == ORDERS && (kind1 == KINDS || kind1 == SPARSE)) {
    PetscCall(AssembleRandom(N[0], &A));
    PetscCall(Run("sparse", "random", N, A));
    PetscCall(MatDestroy(&A));
  }
  if (csv) fclose(csv);
  PetscCall(PetscFinalize());
  return 0;
}
