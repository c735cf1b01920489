/*
  Matrices that have lost the DMDA of what they were made of, and vectors that have it: products, transposes, sums,
  conversions, and matrices that know their grid by a local-to-global mapping alone. PCBCRPOISSON takes the grid of
  the vectors, on any cuts of the DMDA; the view says where it came from. Against LU of all unknowns on each rank,
  and by true residuals.

  ranks: 1 3
  quick: 1
*/
#include "distribute.h"

static PetscMPIInt Rank, Size;

typedef enum {
  PRODUCT,
  TRANSPOSE,
  CONVERTED,
  SUM,
  MAPPED,
  WAYS
} Way;
static const char *const Ways[] = {"a product", "a transpose", "another type and back", "a sum", "a mapping"};

/* The same rows in a matrix that knows the DMDA by its mapping alone */
static PetscErrorCode Mapped(DM da, Mat A, Mat *B)
{
  ISLocalToGlobalMapping map;
  PetscInt n, first, end;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, n, n, PETSC_DETERMINE, PETSC_DETERMINE, 7, NULL, 7, NULL, B));
  PetscCall(DMGetLocalToGlobalMapping(da, &map));
  PetscCall(MatSetLocalToGlobalMapping(*B, map, map));
  PetscCall(MatGetOwnershipRange(A, &first, &end));
  for (PetscInt r = first; r < end; r++) {
    const PetscInt *columns;
    const PetscScalar *values;
    PetscInt entries;

    PetscCall(MatGetRow(A, r, &entries, &columns, &values));
    PetscCall(MatSetValues(*B, 1, &r, entries, columns, values, INSERT_VALUES));
    PetscCall(MatRestoreRow(A, r, &entries, &columns, &values));
  }
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Make(Way way, DM da, Mat A, Mat *B)
{
  Mat C;

  PetscFunctionBegin;
  switch (way) {
  case PRODUCT: /* with a diagonal, as by a mobility */
    PetscCall(DMCreateMatrix(da, &C));
    PetscCall(MatShift(C, 2));
    PetscCall(MatMatMult(A, C, MAT_INITIAL_MATRIX, PETSC_DEFAULT, B));
    PetscCall(MatDestroy(&C));
    break;
  case TRANSPOSE:
    PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, B));
    break;
  case CONVERTED:
    PetscCall(MatConvert(A, MATBAIJ, MAT_INITIAL_MATRIX, &C));
    PetscCall(MatConvert(C, MATAIJ, MAT_INITIAL_MATRIX, B));
    PetscCall(MatDestroy(&C));
    break;
  case SUM:
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, B));
    PetscCall(MatAXPY(*B, (PetscScalar).5, A, SAME_NONZERO_PATTERN));
    break;
  case MAPPED:
  case WAYS:
    PetscCall(Mapped(da, A, B));
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* b and x have the grid, and B has not, most often */
static PetscErrorCode Solve(DM da, Mat B, const char what[])
{
  PetscReal error = 0, difference = 0;
  char *text;
  KSP ksp, lu;
  PC pc;
  Vec b, x, y;
  DM has;

  PetscFunctionBegin;
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &y));
  PetscCall(TestRandom(b));
  PetscCall(TestKSPCreate(B, KSPPREONLY, &ksp, &pc));
  PetscCall(PCBCRPoissonSetFit(pc, PCBCRPOISSON_FIT_EXACT));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(TestBackwardError(B, PETSC_FALSE, b, x, &error));
  PetscCall(TestReference(B, &lu));
  PetscCall(KSPSolve(lu, b, y));
  PetscCall(TestDifference(x, y, &difference));
  PetscCall(MatGetDM(B, &has));
  PetscCall(TestViewText((PetscObject)ksp, &text));
  Check(error <= TestBackwardBound() && difference <= TestDifferenceBound(), "%s: backward error %g, from LU %g", what,
        (double)error, (double)difference);
  if (!Rank)
    Check(strstr(text, has ? "from the DM of the matrix" : "from the DM of the vectors"), "%s: in the view: %s", what,
          text);
  free(text);
  PetscCall(TestDestroy(&lu, &ksp, &b, &x, &y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors of another grid, with as many nodes on each rank: an error on all of them */
static PetscErrorCode Wrong(Mat B, PetscInt nodes)
{
  KSP ksp;
  PC pc;
  DM line;
  Vec b, x;

  PetscFunctionBegin;
  PetscCall(DMDACreate1d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, nodes, 1, 1, NULL, &line));
  PetscCall(DMSetUp(line));
  PetscCall(DMCreateGlobalVector(line, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(TestKSPCreate(B, KSPPREONLY, &ksp, &pc));
  CheckError(KSPSolve(ksp, b, x), -1, "");
  PetscCall(TestDestroy(&ksp, &b, &x, &line));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const TestProblem problems[] = {
    {.dim = 2, .n = {9, 12},   .dof = 1, .ends = "dcnn",   .a = {1, 2},    .shift = .5, .scale = 1, .row = 2},
    {.dim = 3, .n = {6, 7, 9}, .dof = 1, .ends = "ddppcc", .a = {1, 2, 3}, .shift = .5, .scale = 1, .row = 2}
  };
  int bad;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &Rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &Size));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(problems); k++) {
    const PetscInt parts[3] = {Size, 1, 1}; /* along x: not natural order */
    DM da, whole;
    Mat A, all;

    PetscCall(TestMatrix(&problems[k], &whole, &all));
    PetscCall(TestCutDMDA(PETSC_COMM_WORLD, &problems[k], parts, NULL, &da));
    PetscCall(TestDeal(da, all, PETSC_FALSE, &A));
    PetscCall(MatDestroy(&all));
    PetscCall(DMDestroy(&whole));
    for (int way = 0; way < WAYS; way++) {
      char what[80];
      Mat B;

      if (way == TRANSPOSE && k == 0) continue; /* a mirrored end is none of a transposed matrix */
      PetscCall(PetscSNPrintf(what, sizeof(what), "%d-D, %s", (int)problems[k].dim, Ways[way]));
      PetscCall(Make((Way)way, da, A, &B));
      PetscCall(Solve(da, B, what));
      if (way == PRODUCT && k == 0) PetscCall(Wrong(B, problems[k].n[0] * problems[k].n[1]));
      PetscCall(MatDestroy(&B));
    }
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
  }
  bad = TestEndAll(PETSC_COMM_WORLD);
  PetscCall(PetscFinalize());
  return bad;
}
