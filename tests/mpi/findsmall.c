/*
  Small grids in any order: 1 to 5 nodes along each axis, between ends or around a ring, couplings of stars and 9-
  and 27-point ones, in patterns of stars and of boxes with explicit zeros. A pattern may be that of several grids
  then, a ring of four that of 2 x 2 nodes, say, and the values say which. PCBCRPOISSON, which finds the grid in the
  matrix, against PETSc's LU: all stars are solved; of the others, whose operators are none of ours, the grid is
  found, and the error is the reader's.

  ranks: 1 2
  quick: 1 2
  quick-args: -step 17

      -step N     of all cases each Nth; -verbose: what is refused
*/
#include "tests/petsc/testing.h"
#include "src/operator/find.h"

static PetscMPIInt Rank, Size;
static PetscBool Verbose;

/* The kinds of an axis: nodes, those around a ring as negative numbers */
static const PetscInt Axes[] = {1, 2, 3, 4, 5, -3, -4, -5};
#define AXES ((PetscInt)PETSC_STATIC_ARRAY_LENGTH(Axes))

typedef enum {
  STAR,  /* 3-, 5- and 7-point, in their own pattern */
  ZEROS, /* the same in the pattern of box stencils */
  BOX,   /* 9- and 27-point: the product of (diagonal, coupling) of the axes */
  KINDS
} Kind;
static const char *const Kinds[] = {"star", "star in a box pattern", "box"};

typedef struct {
  Kind kind;
  PetscInt N[3], nodes, rows; /* rows: nodes and others */
  PetscBool ring[3];
  PetscReal c[3], end[3][2], shift; /* couplings; what they are on the diagonal at the ends; zero-order term */
  PetscInt *row;                    /* [rows]: of each node, x fastest, then of the others */
} Problem;

/* A grid of these axes, and its rows and others in random order */
static PetscErrorCode Create(Kind kind, const PetscInt axes[3], PetscInt others, Problem *p)
{
  PetscFunctionBegin;
  p->kind = kind;
  p->nodes = 1;
  for (int d = 0; d < 3; d++) {
    p->N[d] = PetscAbs(axes[d]);
    p->ring[d] = (PetscBool)(axes[d] < 0);
    p->nodes *= p->N[d];
    p->c[d] = (PetscReal)(.25 + TestUniform());
    for (int s = 0; s < 2; s++)
      p->end[d][s] = p->c[d] * (PetscReal)(TestUniform() < .5 ? 1 : 0); /* Dirichlet, Neumann */
  }
  p->shift = (PetscReal)(.1 + TestUniform());
  p->rows = p->nodes + others;
  PetscCall(PetscMalloc1(p->rows, &p->row));
  for (PetscInt r = 0; r < p->rows; r++) {
    const PetscInt s = (PetscInt)(TestUniform() * (double)(r + 1));

    p->row[r] = p->row[s];
    p->row[s] = r;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What lies at node at of the line along axis d, from there a step of t nodes away: the coupling, the diagonal */
static PetscReal AxisEntry(const Problem *p, int d, PetscInt at, PetscInt t)
{
  PetscReal diagonal = 0;

  if (t) return -p->c[d];
  for (int s = 0; s < 2 && p->N[d] > 1; s++)
    diagonal += p->ring[d] || (s ? at < p->N[d] - 1 : at > 0) ? p->c[d] : p->end[d][s];
  return diagonal;
}

/* Row of node x: entry by entry, of which there may be several in one column around a small ring */
static PetscErrorCode AddRow(const Problem *p, const PetscInt x[3], Mat A)
{
  const PetscInt *N = p->N, row = p->row[x[0] + N[0] * (x[1] + N[1] * x[2])];
  PetscInt t[3];

  PetscFunctionBegin;
  for (t[2] = -1; t[2] <= 1; t[2]++)
    for (t[1] = -1; t[1] <= 1; t[1]++)
      for (t[0] = -1; t[0] <= 1; t[0]++) {
        PetscInt y[3], span = 0;
        PetscReal star = 0, box = 1;
        PetscBool in = PETSC_TRUE;

        for (int d = 0; d < 3; d++) {
          y[d] = x[d] + t[d];
          if (p->ring[d]) y[d] = (y[d] + N[d]) % N[d];
          else if (y[d] < 0 || y[d] >= N[d]) in = PETSC_FALSE;
          span += t[d] ? 1 : 0;
        }
        if (!in || (span > 1 && p->kind == STAR)) continue;
        for (int d = 0; d < 3; d++) {
          if (span == 0 || (span == 1 && t[d])) star += AxisEntry(p, d, x[d], t[d]);
          box *= AxisEntry(p, d, x[d], t[d]) + (t[d] ? 0 : p->shift);
        }
        if (span == 0) star += p->shift;
        PetscCall(
          MatSetValue(A, row, p->row[y[0] + N[0] * (y[1] + N[1] * y[2])], p->kind == BOX ? box : star, ADD_VALUES));
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Assemble(const Problem *p, MPI_Comm comm, Mat *A)
{
  PetscInt x[3], first, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, p->rows, p->rows));
  PetscCall(MatSetType(*A, MATAIJ));
  PetscCall(MatSeqAIJSetPreallocation(*A, 27, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 27, NULL, 27, NULL));
  PetscCall(MatGetOwnershipRange(*A, &first, &end));
  for (x[2] = 0; x[2] < p->N[2]; x[2]++)
    for (x[1] = 0; x[1] < p->N[1]; x[1]++)
      for (x[0] = 0; x[0] < p->N[0]; x[0]++) {
        const PetscInt r = p->row[x[0] + p->N[0] * (x[1] + p->N[1] * x[2])];

        if (r >= first && r < end) PetscCall(AddRow(p, x, *A));
      }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solution against that of LU of all rows on each rank, of the same right-hand side */
static PetscErrorCode Compare(const Problem *p, Mat A, Vec b, Vec x, const char name[])
{
  const PetscScalar *mine;
  PetscScalar *all;
  PetscReal error = 0, difference = 0;
  PetscInt first, end;
  Mat whole;
  KSP lu;
  Vec f, u, v;

  PetscFunctionBegin;
  PetscCall(TestBackwardError(A, PETSC_FALSE, b, x, &error));
  PetscCall(Assemble(p, PETSC_COMM_SELF, &whole));
  PetscCall(TestReference(whole, &lu));
  PetscCall(MatCreateVecs(whole, &u, &f));
  PetscCall(VecDuplicate(f, &v));
  PetscCall(VecGetOwnershipRange(b, &first, &end));
  for (int k = 0; k < 2; k++) {
    PetscCall(VecGetArrayRead(k ? x : b, &mine));
    PetscCall(VecZeroEntries(k ? v : f));
    PetscCall(VecGetArray(k ? v : f, &all));
    PetscCall(PetscArraycpy(all + first, mine, end - first));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, all, (PetscMPIInt)p->nodes, MPIU_SCALAR, MPIU_SUM, PETSC_COMM_WORLD));
    PetscCall(VecRestoreArray(k ? v : f, &all));
    PetscCall(VecRestoreArrayRead(k ? x : b, &mine));
  }
  PetscCall(KSPSolve(lu, f, u));
  PetscCall(TestDifference(v, u, &difference));
  Check(error <= TestBackwardBound() && difference <= TestDifferenceBound(),
        "%s: backward error %g, difference from LU %g", name, (double)error, (double)difference);
  PetscCall(TestDestroy(&f, &u, &v, &lu, &whole));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* solved: the PC has done it; else it was refused, with this message */
static PetscErrorCode Solve(const Problem *p, const char name[], PetscBool *solved, TestCaught *caught)
{
  PetscErrorCode ierr;
  KSP ksp;
  PC pc;
  Mat A;
  Vec b, x;

  PetscFunctionBegin;
  PetscCall(Assemble(p, PETSC_COMM_WORLD, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(TestRandom(b));
  PetscCall(TestKSPCreate(A, KSPPREONLY, &ksp, &pc));
  PetscCall(PCBCRPoissonSetFit(pc, PCBCRPOISSON_FIT_EXACT));
  PetscCall(PetscPushErrorHandler(TestCatch, caught));
  ierr = KSPSolve(ksp, b, x); /* without a grid set-up waits for the vectors */
  PetscCall(PetscPopErrorHandler());
  *solved = (PetscBool)!ierr;
  if (*solved) PetscCall(Compare(p, A, b, x, name));
  PetscCall(TestDestroy(&ksp, &x, &b, &A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One grid; in tried and found by its kind */
static PetscErrorCode Try(Kind kind, const PetscInt axes[3], PetscInt tried[], PetscInt found[])
{
  TestCaught caught = {0, ""};
  PetscBool solved = PETSC_FALSE;
  char name[128];
  Problem p;

  PetscFunctionBegin;
  PetscCall(Create(kind, axes, 0, &p));
  PetscCall(PetscSNPrintf(name, sizeof(name), "%s, %d%s x %d%s x %d%s", Kinds[p.kind], (int)p.N[0],
                          p.ring[0] ? "r" : "", (int)p.N[1], p.ring[1] ? "r" : "", (int)p.N[2], p.ring[2] ? "r" : ""));
  PetscCall(Solve(&p, name, &solved, &caught));
  tried[kind]++;
  found[kind] += solved ? 1 : 0;
  Check(solved || (p.kind == BOX && strstr(caught.message, "outside the")), "%s: %s", name, caught.message);
  if (!solved && Verbose) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", name, caught.message));
  PetscCall(PetscFree(p.row));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Beside the grid rows with a diagonal alone, to which nodes refer, and rows with nothing, whose columns hold
   nothing either: they are solved by themselves, with u = 0 there, and counted in the view */
static PetscErrorCode Beside(void)
{
  const PetscInt axes[3] = {7, 6, 1}, alone = 5, empty = 3;
  PetscInt first, end, zeros = 0;
  PetscReal error = 0;
  char *text;
  Problem p;
  Mat A;
  Vec b, x;
  KSP ksp;
  PC pc;

  PetscFunctionBegin;
  PetscCall(Create(STAR, axes, alone + empty, &p));
  PetscCall(Assemble(&p, PETSC_COMM_WORLD, &A));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_TRUE));
  PetscCall(MatGetOwnershipRange(A, &first, &end));
  for (PetscInt k = 0; k < alone; k++) {
    const PetscInt single = p.row[p.nodes + k], node = p.row[8 * k];

    if (single >= first && single < end) PetscCall(MatSetValue(A, single, single, 2 + (PetscScalar)k, INSERT_VALUES));
    if (node >= first && node < end) PetscCall(MatSetValue(A, node, single, -1, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(TestRandom(b));
  for (PetscInt k = 0; k < empty; k++) {
    const PetscInt r = p.row[p.nodes + alone + k];

    if (r >= first && r < end) PetscCall(VecSetValue(b, r, 0, INSERT_VALUES));
  }
  PetscCall(VecAssemblyBegin(b));
  PetscCall(VecAssemblyEnd(b));
  PetscCall(TestKSPCreate(A, KSPPREONLY, &ksp, &pc));
  PetscCall(PCBCRPoissonSetFit(pc, PCBCRPOISSON_FIT_EXACT));
  for (int transpose = 0; transpose < 2; transpose++) {
    PetscCall(VecSet(x, 3));
    PetscCall(transpose ? KSPSolveTranspose(ksp, b, x) : KSPSolve(ksp, b, x));
    PetscCall(TestBackwardError(A, (PetscBool)transpose, b, x, &error));
    Check(error <= TestBackwardBound(), "rows beside a grid%s: backward error %g", transpose ? ", transposed" : "",
          (double)error);
    for (PetscInt k = 0; k < empty; k++) {
      const PetscInt r = p.row[p.nodes + alone + k];
      PetscScalar u = 0;

      if (r >= first && r < end) PetscCall(VecGetValues(x, 1, &r, &u));
      zeros += u == (PetscScalar)0 ? 1 : 0;
    }
  }
  Check(zeros == 2 * empty, "u is 0 in %d of %d empty rows", (int)zeros, (int)(2 * empty));
  PetscCall(TestViewText((PetscObject)ksp, &text));
  if (!Rank) Check(strstr(text, "8 rows with a diagonal alone or with nothing"), "rows beside a grid: %s", text);
  free(text);
  PetscCall(TestDestroy(&ksp, &b, &x, &A));
  PetscCall(PetscFree(p.row));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  /* more rows than are looked at closely */
  static const PetscInt large[][3] = {
    {2,  2500, 1  },
    {-3, -4,   400},
    {2,  40,   60 }
  };
  PetscInt step = 1, tried[KINDS] = {0}, found[KINDS] = {0};

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &Rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &Size));
  PetscCall(TestSeed());
  step = Size > 1 ? 11 : 1;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-step", &step, NULL));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-verbose", &Verbose));
  for (PetscInt k = 0; k < KINDS * AXES * AXES * AXES; k += step) {
    const PetscInt axes[3] = {Axes[k % AXES], Axes[k / AXES % AXES], Axes[k / AXES / AXES % AXES]};

    PetscCall(Try((Kind)(k / (AXES * AXES * AXES)), axes, tried, found));
  }
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(large) && Size == 1; k++)
    for (int kind = STAR; kind < KINDS; kind++) PetscCall(Try((Kind)kind, large[k], tried, found));
  PetscCall(Beside());
  for (int k = 0; k < KINDS; k++)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %d of %d solved\n", Kinds[k], (int)found[k], (int)tried[k]));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &TestFailed, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscFinalize());
  if (!Rank) return TestEnd();
  return TestFailed > 0;
}
