/*
  PCBCRPOISSON and PCNEATO without a DMDA: random problems whose rows are numbered in natural order and cut anywhere over
  the ranks, as a DMDA on any process grid numbers them, or at random. What counts is the true residual, of systems and
  transposed ones, of one right-hand side and of several, of new values.
  ranks: 1 2 3 4

      -cases N    how many cases; -long: 20 times as many
      -first K    the number of the first one
      -seed S     other cases
      -orders N   1: natural order only, 2: not at random
      -verbose    each case
*/
#include "distribute.h"

static PetscMPIInt Rank, Size;
static PetscBool Verbose;
static PetscInt Norders = 3;

typedef enum {
  NATURAL,
  BOXES,
  RANDOM,
  ORDERS
} Order;
static const char *const Orders[] = {"natural", "boxes", "random"};

typedef struct {
  TestProblem p;
  char ends[7], what[160];
  Order order;
  PetscInt rows, *number; /* of each unknown in natural order */
  PetscInt mine, first;   /* rows of this rank */
  PetscInt parts[3];      /* BOXES */
} Numbered;

static PetscInt Pick(PetscInt n) /* 0 .. n - 1, the same on all ranks */
{
  return PetscMin((PetscInt)(TestUniform() * (double)n), n - 1);
}

/* Rows cut anywhere, with ranks that have none */
static void CutRows(Numbered *z)
{
  PetscInt begin = 0;

  for (PetscMPIInt q = 0; q < Size; ++q) {
    const PetscInt left = z->rows / z->p.dof - begin;
    PetscInt n = Pick(4) ? left / (Size - q) + Pick(3) - 1 : Pick(2 * left / (Size - q) + 1);

    n = q == Size - 1 ? left : PetscMax(0, PetscMin(n, left));
    if (q == Rank) {
      z->first = begin * z->p.dof;
      z->mine = n * z->p.dof;
    }
    begin += n;
  }
}

static PetscErrorCode NumberBoxes(Numbered *z)
{
  DM da;
  PetscInt n, *natural, *all, *l[3] = {NULL, NULL, NULL};

  PetscFunctionBegin;
  for (PetscInt d = 0; d < z->p.dim; ++d) { /* parts of any size */
    PetscInt left = z->p.n[d];

    PetscCall(PetscMalloc1(z->parts[d], &l[d]));
    for (PetscInt p = 0; p < z->parts[d]; ++p) {
      const PetscInt more = z->parts[d] - 1 - p; /* parts that need a node each */

      l[d][p] = more ? 1 + Pick(PetscMin(left - more, 2 * (left / (more + 1)))) : left;
      left -= l[d][p];
    }
  }
  PetscCall(TestCutDMDA(PETSC_COMM_WORLD, &z->p, z->parts, (const PetscInt *const *)l, &da));
  for (PetscInt d = 0; d < 3; ++d) PetscCall(PetscFree(l[d]));
  PetscCall(TestNatural(da, &n, &natural));
  PetscCallMPI(MPI_Scan(&n, &z->first, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  z->first -= n;
  z->mine = n;
  PetscCall(PetscCalloc1(z->rows, &all));
  for (PetscInt k = 0; k < n; ++k) all[natural[k]] = z->first + k;
  PetscCallMPI(MPI_Allreduce(all, z->number, (PetscMPIInt)z->rows, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscFree(all));
  PetscCall(PetscFree(natural));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Four nodes around a ring are 2 x 2 nodes as well. No pattern tells which of the two they are where that matters: for lines,
   of four nodes in all, and with a ring of four and another axis of two */
static PetscBool Ambiguous(const Numbered *z, PetscBool lines)
{
  PetscInt nodes = 1, all = 1, twos = 0;
  PetscBool ring = PETSC_FALSE;

  for (PetscInt d = 0; d < z->p.dim; ++d) {
    const PetscInt n = z->p.n[d] - (z->ends[2 * d] == 'r') - (z->ends[2 * d + 1] == 'r'); /* but kept rows */

    nodes *= n;
    all *= z->p.n[d];
    twos += n == 2;
    if (z->ends[2 * d] == 'p' && n == 4) ring = PETSC_TRUE;
  }
  return (PetscBool)(nodes == 4 || all == 4 || (ring && (lines || twos)));
}

static PetscErrorCode Draw(PetscBool lines, Numbered *z)
{
  static const char *const uniform = "dncDr";
  static const PetscInt sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17};

  PetscFunctionBegin;
  PetscCall(PetscMemzero(z, sizeof(*z)));
  z->p.dim = lines ? 1 : 1 + Pick(3);
  z->p.dof = Pick(4) ? 1 : 2 + Pick(2);
  z->p.shift = (PetscReal)(Pick(2) ? 0.5 : 0.01);
  z->p.scale = (PetscReal)(Pick(2) ? 1 : -250);
  z->p.row = (PetscReal)(Pick(2) ? 1 : 37);
  z->p.contrast = 1;
  z->p.ends = z->ends;
  z->rows = z->p.dof;
  for (PetscInt d = 0; d < z->p.dim; ++d) {
    z->p.n[d] = sizes[Pick(z->p.dim == 3 ? 8 : 11)];
    z->p.a[d] = (PetscReal)(0.5 + TestUniform());
    z->rows *= z->p.n[d];
    for (PetscInt s = 0; s < 2; ++s) z->ends[2 * d + s] = uniform[Pick(z->p.n[d] > 3 && !lines ? 5 : 4)];
    if (Pick(4) == 0 && z->p.n[d] > 2) z->ends[2 * d] = z->ends[2 * d + 1] = 'p';
  }
  PetscCall(PetscMalloc1(z->rows, &z->number));
  for (PetscInt i = 0; i < z->rows; ++i) z->number[i] = i;
  z->order = (Order)Pick(Norders);
  if (z->order == BOXES) {
    PetscInt ways = 0, way;

    PetscCall(PetscMemzero(z->parts, sizeof(z->parts)));
    while (TestNextCut(&z->p, Size, z->parts)) ways++;
    if (!ways) z->order = NATURAL;
    else {
      way = Pick(ways);
      PetscCall(PetscMemzero(z->parts, sizeof(z->parts)));
      for (ways = 0; ways <= way; ++ways) (void)TestNextCut(&z->p, Size, z->parts);
      PetscCall(NumberBoxes(z));
    }
  }
  if (z->order == RANDOM && Ambiguous(z, lines)) z->order = NATURAL;
  if (z->order == RANDOM)
    for (PetscInt i = z->rows - 1; i > 0; --i) {
      const PetscInt j = Pick(i + 1), k = z->number[i];

      z->number[i] = z->number[j];
      z->number[j] = k;
    }
  if (z->order != BOXES) CutRows(z);
  PetscCall(PetscSNPrintf(z->what, sizeof(z->what),
                          "%d x %d x %d, ends %s, %d components, %s order, parts %d x %d x %d", (int)z->p.n[0],
                          z->p.dim > 1 ? (int)z->p.n[1] : 1, z->p.dim > 2 ? (int)z->p.n[2] : 1, z->ends, (int)z->p.dof,
                          Orders[z->order], (int)z->parts[0], (int)z->parts[1], (int)z->parts[2]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of this rank, of a matrix that all ranks have whole in natural order. *A: NULL, or one with the same pattern */
static PetscErrorCode Deal(const Numbered *z, Mat *A)
{
  DM da;
  Mat whole;

  PetscFunctionBegin;
  PetscCall(TestMatrix(&z->p, &da, &whole));
  if (!*A) {
    PetscCall(MatCreate(PETSC_COMM_WORLD, A));
    PetscCall(MatSetSizes(*A, z->mine, z->mine, z->rows, z->rows));
    PetscCall(MatSetType(*A, MATAIJ));
    PetscCall(MatSetFromOptions(*A)); /* -mat_type aijcusparse: scripts/check-gpu */
    PetscCall(MatSeqAIJSetPreallocation(*A, 9, NULL));
    PetscCall(MatMPIAIJSetPreallocation(*A, 9, NULL, 9, NULL));
  } else PetscCall(MatZeroEntries(*A));
  for (PetscInt i = 0; i < z->rows; ++i) {
    const PetscInt *columns, row = z->number[i];
    const PetscScalar *values;
    PetscInt n;

    if (row < z->first || row >= z->first + z->mine) continue;
    PetscCall(MatGetRow(whole, i, &n, &columns, &values));
    for (PetscInt k = 0; k < n; ++k) /* DMCreateMatrix() leaves zeros where the stencil ends */
      if (values[k] != 0 || columns[k] == i)
        PetscCall(MatSetValue(*A, row, z->number[columns[k]], values[k], INSERT_VALUES));
    PetscCall(MatRestoreRow(whole, i, &n, &columns, &values));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatDestroy(&whole));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Residual(const Numbered *z, Mat A, PetscBool transpose, Vec b, Vec x, const char how[])
{
  PetscReal error = 0;

  PetscFunctionBegin;
  PetscCall(TestBackwardError(A, transpose, b, x, &error));
  if (Rank == 0) Check(error <= TestBackwardBound(), "%s, %s: backward error %g", z->what, how, (double)error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One way to solve after another, with the same PC */
static PetscErrorCode Solve(const Numbered *z, PC pc, Mat A, const char how[])
{
  Vec b, x;
  Mat B, X;
  PetscRandom random;
  char text[64];

  PetscFunctionBegin;
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  PetscCall(MatCreateVecs(A, &x, &b));
  for (int transpose = 0; transpose < 2; ++transpose) {
    PetscCall(VecSetRandom(b, random));
    PetscCall(transpose ? PCApplyTranspose(pc, b, x) : PCApply(pc, b, x));
    PetscCall(PetscSNPrintf(text, sizeof(text), "%s%s", how, transpose ? ", transposed" : ""));
    PetscCall(Residual(z, A, (PetscBool)transpose, b, x, text));
  }
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, z->mine, PETSC_DECIDE, z->rows, 3, NULL, &B));
  PetscCall(MatSetRandom(B, random));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
  PetscCall(PCMatApply(pc, B, X));
  for (PetscInt c = 0; c < 3; ++c) {
    Vec from;

    PetscCall(MatDenseGetColumnVecRead(B, c, &from));
    PetscCall(VecCopy(from, b));
    PetscCall(MatDenseRestoreColumnVecRead(B, c, &from));
    PetscCall(MatDenseGetColumnVecRead(X, c, &from));
    PetscCall(VecCopy(from, x));
    PetscCall(MatDenseRestoreColumnVecRead(X, c, &from));
    PetscCall(PetscSNPrintf(text, sizeof(text), "%s, column %d", how, (int)c));
    PetscCall(Residual(z, A, PETSC_FALSE, b, x, text));
  }
  PetscCall(TestDestroy(&B, &X, &b, &x, &random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One case after another on one PC: its grids are found anew */
static PetscErrorCode Cases(PetscBool lines, PetscInt first, PetscInt cases)
{
  PC pc;
  Mat A = NULL;

  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, lines ? PCNEATO : PCBCRPOISSON));
  for (PetscInt k = 0; k < first + cases; ++k) {
    Numbered z;

    PetscCall(Draw(lines, &z));
    if (k >= first) {
      if (Verbose)
        PetscCall(PetscPrintf(PETSC_COMM_WORLD, "case %d, %s: %s\n", (int)k, lines ? "lines" : "box", z.what));
      PetscCall(MatDestroy(&A));
      PetscCall(Deal(&z, &A));
      PetscCall(PCReset(pc)); /* PETSc wants that for another size */
      PetscCall(PCSetOperators(pc, A, A));
      if (lines && z.rows < Size) {
        CheckError(PCSetUp(pc), PETSC_ERR_SUP, "use fewer ranks");
        PetscCall(PetscFree(z.number));
        continue;
      }
      if (lines && z.rows / z.p.dof < Size) { /* but components may be seen as nodes that are not coupled */
        PetscErrorCode ierr;

        PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
        ierr = PCSetUp(pc);
        PetscCall(PetscPopErrorHandler());
        if (ierr) PetscCall(PetscFree(z.number));
        if (ierr) continue;
      }
      PetscCall(PCSetUp(pc));
      if (Verbose) PetscCall(PCView(pc, PETSC_VIEWER_STDOUT_WORLD));
      PetscCall(Solve(&z, pc, A, "first"));
      z.p.a[0] *= 2;
      z.p.shift += 1;
      PetscCall(Deal(&z, &A));
      PetscCall(PCSetOperators(pc, A, A));
      PetscCall(Solve(&z, pc, A, "new values"));
    }
    PetscCall(PetscFree(z.number));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -pc_bcrpoisson_grid and its setters: right, and wrong in every way */
static PetscErrorCode Options(PetscBool lines)
{
  const PetscInt n[3] = {7, 6, 5}, wrong[3] = {7, 6, 4}, four[4] = {1, 1, 1, 1}, zero[2] = {7, 0};
  PetscErrorCode (*const setgrid)(PC, PetscInt, const PetscInt[]) = lines ? PCNeatoSetGrid : PCBCRPoissonSetGrid;
  PetscErrorCode (*const getgrid)(PC, PetscInt *, const PetscInt *[]) = lines ? PCNeatoGetGrid : PCBCRPoissonGetGrid;
  PetscErrorCode (*const setparts)(PC, PetscInt, const PetscInt[]) =
    lines ? PCNeatoSetGridProcessors : PCBCRPoissonSetGridProcessors;
  PetscErrorCode (*const getparts)(PC, PetscInt *, const PetscInt *[]) =
    lines ? PCNeatoGetGridProcessors : PCBCRPoissonGetGridProcessors;
  PetscInt parts[3] = {1, 1, 1}, dim;
  const PetscInt *got;
  char text[64];
  Numbered z;
  Mat A = NULL;
  PC pc;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&z, sizeof(z)));
  z.p = (TestProblem){.dim = 3, .dof = 1, .shift = 1, .scale = 1, .ends = "dcDcnd"};
  for (PetscInt d = 0; d < 3; ++d) {
    z.p.n[d] = n[d];
    z.p.a[d] = lines && d != 1 ? 0 : (PetscReal)(1 + d); /* lines along y alone are the whole matrix */
  }
  z.rows = n[0] * n[1] * n[2];
  PetscCall(PetscMalloc1(z.rows, &z.number));
  for (PetscInt i = 0; i < z.rows; ++i) z.number[i] = i;
  CutRows(&z);
  PetscCall(PetscStrncpy(z.what, "-pc_..._grid 7,6,5", sizeof(z.what)));
  PetscCall(Deal(&z, &A));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, lines ? PCNEATO : PCBCRPOISSON));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(getgrid(pc, &dim, &got));
  Check(dim == 0, "a grid of %d axes that nobody gave", (int)dim);
  PetscCall(setgrid(pc, 3, n));
  PetscCall(getgrid(pc, &dim, &got));
  Check(dim == 3 && got[0] == 7 && got[1] == 6 && got[2] == 5, "the grid that was given is not there");
  PetscCall(Solve(&z, pc, A, "grid by setter"));
  PetscCall(setgrid(pc, 3, wrong));
  CheckError(PCSetUp(pc), PETSC_ERR_ARG_SIZ, "210 rows");
  CheckError(PCSetUp(pc), PETSC_ERR_ARG_SIZ, lines ? "-pc_neato_grid 7,6,4" : "-pc_bcrpoisson_grid 7,6,4");
  CheckError(setgrid(pc, 4, four), PETSC_ERR_ARG_OUTOFRANGE, "1 to 3 axes");
  CheckError(setgrid(pc, 2, zero), PETSC_ERR_ARG_OUTOFRANGE, "along y");
  PetscCall(TestOptions(lines ? "-pc_neato_grid 7,x" : "-pc_bcrpoisson_grid 7,x", PETSC_TRUE));
  CheckError(PCSetFromOptions(pc), PETSC_ERR_ARG_OUTOFRANGE, "one to three numbers");
  PetscCall(TestOptions(lines ? "-pc_neato_grid 7,6,5" : "-pc_bcrpoisson_grid 7,6,5", PETSC_TRUE));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(Solve(&z, pc, A, "grid by option"));
  if (Size > 1) { /* ranks that want different grids */
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    (void)setgrid(pc, 3, Rank ? n : wrong); /* in debug builds PETSc says it at once */
    PetscCall(PetscPopErrorHandler());
    CheckError(PCSetUp(pc), -1, "grid");
  }
  PetscCall(setgrid(pc, 3, n));
  /* numbers of a DMDA that these are not, of other ranks, of other axes */
  parts[0] = Size;
  PetscCall(setparts(pc, 3, parts));
  PetscCall(getparts(pc, &dim, &got));
  Check(dim == 3 && got[0] == Size, "the processors that were given are not there");
  if (Size > 1) CheckError(PCSetUp(pc), -1, "rows"); /* the layout or the stencil */
  parts[0] = Size + 1;
  PetscCall(setparts(pc, 3, parts));
  PetscCall(PetscSNPrintf(text, sizeof(text), "are %d ranks", (int)Size + 1));
  CheckError(PCSetUp(pc), PETSC_ERR_ARG_SIZ, text);
  parts[0] = 1;
  PetscCall(setparts(pc, 2, parts));
  CheckError(PCSetUp(pc), PETSC_ERR_ARG_SIZ, "give as many");
  PetscCall(setparts(pc, 0, NULL));
  PetscCall(setgrid(pc, 0, NULL));
  if (!lines) PetscCall(Solve(&z, pc, A, "found after all"));
  PetscCall(TestOptions(lines ? "-pc_neato_grid 7,6,5" : "-pc_bcrpoisson_grid 7,6,5", PETSC_FALSE));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(z.number));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The user's operator, and the grid by option: no matrix has to be there */
static PetscErrorCode Shell(void)
{
  const PetscInt n[2] = {9, 8};
  const PetscReal spacing[2] = {1, (PetscReal)0.5};
  PetscInt mine;
  Mat S, A = NULL;
  Numbered z;
  PC pc;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&z, sizeof(z)));
  z.p = (TestProblem){
    .dim = 2, .dof = 1, .n = {9, 8, 1},
            .a = {1, 4, 0},
            .shift = 2, .scale = 1, .ends = "dddd"
  };
  z.rows = 72;
  PetscCall(PetscMalloc1(z.rows, &z.number));
  for (PetscInt i = 0; i < z.rows; ++i) z.number[i] = i;
  CutRows(&z);
  PetscCall(PetscStrncpy(z.what, "no matrix", sizeof(z.what)));
  PetscCall(Deal(&z, &A));
  mine = z.mine;
  PetscCall(MatCreateShell(PETSC_COMM_WORLD, mine, mine, z.rows, z.rows, NULL, &S));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCBCRPOISSON));
  PetscCall(PCSetOperators(pc, S, S));
  PetscCall(PCBCRPoissonSetOperator(pc, 2, spacing, NULL, 2, 1));
  PetscCall(PCBCRPoissonSetGrid(pc, 2, n));
  PetscCall(Solve(&z, pc, A, "the user's operator"));
  PetscCall(TestDestroy(&pc, &S, &A));
  PetscCall(PetscFree(z.number));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt cases = 60, first = 0;
  PetscBool longer = PETSC_FALSE;
  int status;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &Rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &Size));
  PetscCall(TestSeed());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cases", &cases, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-first", &first, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-orders", &Norders, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-long", &longer, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-verbose", &Verbose, NULL));
  if (longer) cases *= 20;
  PetscCall(Cases(PETSC_FALSE, first, cases));
  PetscCall(Cases(PETSC_TRUE, first, cases));
  PetscCall(Options(PETSC_FALSE));
  PetscCall(Options(PETSC_TRUE));
  PetscCall(Shell());
  status = TestEndAll(PETSC_COMM_WORLD);
  PetscCall(PetscFinalize());
  return status;
}
