/*
  Options and arguments that differ between ranks: PCNEATO, KSPNEATO, PetscBCRLines, compact
  derivatives and recurrences raise the same error on every rank, nobody waits for another, and what
  is given alike afterwards works. Matrices and closures that are refused leave nothing behind.

  ranks: 2 3
*/
#include "tests/petsc/testing.h"
#include <petscdmda.h>

static PetscMPIInt Rank;

/* CheckError(), and that all ranks have that error */
#define CheckSame(call, wanted, words) \
  do { \
    PetscErrorCode error_; \
    int code_[2]; \
    TestCaught caught_ = {0, ""}; \
    PetscCall(PetscPushErrorHandler(TestCatch, &caught_)); \
    error_ = (call); \
    PetscCall(PetscPopErrorHandler()); \
    code_[0] = caught_.code; \
    code_[1] = -caught_.code; \
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, code_, 2, MPI_INT, MPI_MAX, PETSC_COMM_WORLD)); \
    Check(error_ &&code_[0] == (int)(wanted) && code_[1] == -(int)(wanted), \
          "errors %d to %d on the ranks, not %d: %s", -code_[1], code_[0], (int)(wanted), caught_.message); \
    Check(strstr(caught_.message, words), "no '%s' in: %s", words, caught_.message); \
  } while (0)

static PetscErrorCode Grid(DM *da, Mat *A, Vec *f, Vec *u)
{
  PetscInt s, m;

  PetscFunctionBegin;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 24, 20, 1,
                         PETSC_DECIDE, 1, 1, NULL, NULL, da));
  PetscCall(DMSetUp(*da));
  PetscCall(DMCreateMatrix(*da, A));
  PetscCall(DMCreateGlobalVector(*da, f));
  PetscCall(VecDuplicate(*f, u));
  PetscCall(DMDAGetCorners(*da, NULL, &s, NULL, NULL, &m, NULL));
  for (PetscInt j = s; j < s + m; ++j) {
    for (PetscInt i = 0; i < 24; ++i) {
      for (PetscInt k = -1; k <= 1; ++k) {
        const MatStencil row = {.j = j, .i = i}, column = {.j = j + k, .i = i};
        const PetscScalar v = (PetscScalar)(k ? -1 : 3);

        if (j + k >= 0 && j + k < 20) PetscCall(MatSetValuesStencil(*A, 1, &row, 1, &column, &v, INSERT_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(VecSetRandom(*f, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solver whose options differ, then not */
static PetscErrorCode Solver(KSPType type, const char option[], const char one[], const char other[])
{
  DM da;
  Mat A;
  Vec f, u;
  KSP ksp;
  PC pc;
  PetscReal error = 0;
  char words[64];

  PetscFunctionBegin;
  PetscCall(Grid(&da, &A, &f, &u));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, type));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCNEATO));
  PetscCall(PetscOptionsSetValue(NULL, option, Rank ? one : other));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(PetscSNPrintf(words, sizeof(words), "-pc_neato_%s (or its setter) differs", strrchr(option, '_') + 1));
  words[strcspn(words, "(") - 1] = 0;
  CheckSame(KSPSolve(ksp, f, u), PETSC_ERR_ARG_NOTSAMETYPE, words);
  CheckSame(KSPSolve(ksp, f, u), PETSC_ERR_ARG_NOTSAMETYPE, words); /* again */
  PetscCall(PetscOptionsSetValue(NULL, option, other));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, f, u));
  PetscCall(TestBackwardError(A, PETSC_FALSE, f, u, &error));
  Check(error <= 1e-5, "%s after %s differed: backward error %g", type, option, (double)error);
  PetscCall(PetscOptionsClearValue(NULL, option));
  /* a setter whose value is new on some ranks only, when all are set up */
  PetscCall(PCNeatoSetAxis(pc, PCNEATO_AXIS_Y));
  PetscCall(PCNeatoSetPrecision(pc, PCNEATO_PRECISION_DOUBLE));
  PetscCall(PCNeatoSetMethod(pc, PCNEATO_METHOD_THOMAS));
  PetscCall(KSPSolve(ksp, f, u));
  if (!PetscDefined(USE_DEBUG)) { /* PETSc finds out by itself there */
    PetscCall(PCNeatoSetMethod(pc, Rank ? PCNEATO_METHOD_THOMAS : PCNEATO_METHOD_PSCHEME));
    CheckSame(KSPSolve(ksp, f, u), PETSC_ERR_ARG_NOTSAMETYPE, "-pc_neato_method (or its setter) differs");
    PetscCall(PCNeatoSetMethod(pc, PCNEATO_METHOD_THOMAS));
    PetscCall(KSPSolve(ksp, f, u));
  }
  /* new values that are refused, then good ones */
  PetscCall(MatScale(A, 0));
  CheckSame(KSPSolve(ksp, f, u), PETSC_ERR_ARG_WRONG, "nothing but zeros");
  CheckSame(KSPSolve(ksp, f, u), PETSC_ERR_ARG_WRONG, "nothing but zeros");
  PetscCall(MatShift(A, 2));
  PetscCall(KSPSolve(ksp, f, u));
  PetscCall(TestBackwardError(A, PETSC_FALSE, f, u, &error));
  Check(error <= TestBackwardBound(), "%s after a matrix that was refused: backward error %g", type, (double)error);
  PetscCall(TestDestroy(&ksp, &f, &u, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Lines(void)
{
  const PetscReal row[3] = {-1, 3, -1}, other[3] = {-1, Rank ? 4 : 3, -1};
  DM da;
  Mat A;
  Vec f, u, wrong;
  PetscBCRLines lines;
  PetscReal error = 0;
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(Grid(&da, &A, &f, &u));
  CheckSame(PetscBCRLinesCreate(da, Rank ? DM_X : DM_Y, 0, NULL, row, 0, NULL, &lines), PETSC_ERR_ARG_NOTSAMETYPE,
            "axis differs");
  CheckSame(PetscBCRLinesCreate(da, DM_Y, Rank ? 1 : 0, row, row, 0, NULL, &lines), PETSC_ERR_ARG_NOTSAMETYPE,
            "number of first rows differs");
  CheckSame(PetscBCRLinesCreate(da, DM_Y, 0, NULL, other, 0, NULL, &lines), PETSC_ERR_ARG_NOTSAMETYPE, "row differs");
  PetscCall(PetscBCRLinesCreate(da, DM_Y, 0, NULL, row, 0, NULL, &lines));
  PetscCall(PetscBCRLinesSetMethod(lines, Rank ? PCNEATO_METHOD_SCAN : PCNEATO_METHOD_THOMAS));
  CheckSame(PetscBCRLinesSolve(lines, f, u), PETSC_ERR_ARG_NOTSAMETYPE, "method differs");
  CheckSame(PetscBCRLinesSolve(lines, f, u), PETSC_ERR_ARG_NOTSAMETYPE, "method differs");
  PetscCall(PetscBCRLinesSetMethod(lines, PCNEATO_METHOD_AUTO));
  PetscCall(VecGetLocalSize(f, &n)); /* the size of the DMDA's, another share of it on two ranks */
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, n + (Rank == 0 ? 1 : (Rank == 1 ? -1 : 0)), PETSC_DETERMINE, &wrong));
  CheckSame(PetscBCRLinesSolve(lines, wrong, u), PETSC_ERR_ARG_SIZ, "right-hand side");
  PetscCall(PetscBCRLinesSolve(lines, f, u));
  PetscCall(TestBackwardError(A, PETSC_FALSE, f, u, &error));
  Check(error <= TestBackwardBound(), "PetscBCRLines after errors: backward error %g", (double)error);
  PetscCall(PetscBCRLinesDestroy(&lines));
  PetscCall(TestDestroy(&wrong, &f, &u, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compact(void)
{
  DM da;
  Mat A, D;
  Vec f, u, v;

  PetscFunctionBegin;
  PetscCall(Grid(&da, &A, &f, &u));
  PetscCall(VecDuplicate(f, &v));
  if (!PetscDefined(USE_DEBUG)) {
    CheckSame(MatCreateCompactDerivative(da, Rank ? DM_X : DM_Y, MAT_COMPACT_LELE6, 1, 1, &D),
              PETSC_ERR_ARG_NOTSAMETYPE, "axis differs");
    CheckSame(MatCreateCompactDerivative(da, DM_Y, Rank ? MAT_COMPACT_LELE6 : MAT_COMPACT_PADE4, 1, 1, &D),
              PETSC_ERR_ARG_NOTSAMETYPE, "scheme differs");
    CheckSame(MatCreateCompactDerivative(da, DM_Y, MAT_COMPACT_LELE6, Rank ? 1 : 2, 1, &D), PETSC_ERR_ARG_NOTSAMETYPE,
              "derivative differs");
    CheckSame(MatCreateCompactDerivative(da, DM_Y, MAT_COMPACT_LELE6, 1, Rank ? 1 : 2, &D), PETSC_ERR_ARG_NOTSAMETYPE,
              "spacing differs");
    CheckSame(MatCreateCompactDerivative(da, Rank ? DM_Y : DM_Z, MAT_COMPACT_LELE6, 1, 1, &D),
              PETSC_ERR_ARG_NOTSAMETYPE, "axis differs");
  }
  PetscCall(MatCreateCompactDerivative(da, DM_Y, MAT_COMPACT_LELE6, 1, 1, &D));
  PetscCall(PetscOptionsSetValue(NULL, "-mat_compact_closure", Rank ? "4" : "3"));
  PetscCall(MatSetFromOptions(D));
  CheckSame(MatMult(D, f, u), PETSC_ERR_ARG_NOTSAMETYPE, "closure differs");
  CheckSame(MatMult(D, f, u), PETSC_ERR_ARG_NOTSAMETYPE, "closure differs");
  PetscCall(PetscOptionsClearValue(NULL, "-mat_compact_closure"));
  PetscCall(MatCompactDerivativeSetClosure(D, 3));
  PetscCall(MatMult(D, f, u));
  /* closures that the scheme does not have */
  CheckSame(MatCompactDerivativeSetClosure(D, 7), PETSC_ERR_ARG_OUTOFRANGE, "closure of order 7");
  PetscCall(MatCompactDerivativeSetClosure(D, 6));
  CheckSame(MatCompactDerivativeSetScheme(D, MAT_COMPACT_PADE4), PETSC_ERR_ARG_OUTOFRANGE, "closures of order 3 to 4");
  PetscCall(PetscOptionsInsertString(NULL, "-mat_compact_scheme pade4 -mat_compact_closure 6"));
  CheckSame(MatSetFromOptions(D), PETSC_ERR_ARG_OUTOFRANGE, "closures of order 3 to 4");
  PetscCall(PetscOptionsInsertString(NULL, "-mat_compact_scheme lele6 -mat_compact_closure 3"));
  PetscCall(MatSetFromOptions(D));
  PetscCall(MatMult(D, f, v));
  PetscCall(VecAXPY(v, -1, u));
  {
    PetscReal norm;

    PetscCall(VecNorm(v, NORM_INFINITY, &norm));
    Check(norm == 0, "the derivative is another one after errors, by %g", (double)norm);
  }
  PetscCall(PetscOptionsClearValue(NULL, "-mat_compact_closure"));
  PetscCall(PetscOptionsClearValue(NULL, "-mat_compact_scheme"));
  PetscCall(TestDestroy(&D, &f, &u, &v, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Recurrence(void)
{
  Vec t, w;

  PetscFunctionBegin;
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, 50, PETSC_DETERMINE, &t));
  PetscCall(VecDuplicate(t, &w));
  PetscCall(VecSet(t, 1));
  if (!PetscDefined(USE_DEBUG)) {
    CheckSame(PetscBCRRecurrenceSolve(NULL, (PetscScalar)(Rank ? 0.5 : 0.25), t, 0, w), PETSC_ERR_ARG_NOTSAMETYPE,
              "differ from those of rank 0");
    CheckSame(PetscBCRRecurrenceSolve(NULL, (PetscScalar)0.5, t, (PetscScalar)Rank, w), PETSC_ERR_ARG_NOTSAMETYPE,
              "differ from those of rank 0");
  }
  PetscCall(PetscBCRRecurrenceSolve(NULL, (PetscScalar)0.5, t, (PetscScalar)2, w)); /* 2 is where it stays */
  PetscCall(VecShift(w, -2));
  {
    PetscReal norm;

    PetscCall(VecNorm(w, NORM_INFINITY, &norm));
    Check(norm <= 8 * PETSC_MACHINE_EPSILON, "a recurrence after errors: off by %g", (double)norm);
  }
  PetscCall(VecDestroy(&t));
  PetscCall(VecDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &Rank));
  PetscCall(Solver(KSPPREONLY, "-pc_neato_axis", "x", "y"));
  PetscCall(Solver(KSPPREONLY, "-pc_neato_method", "thomas", "scan"));
  PetscCall(Solver(KSPNEATO, "-pc_neato_precision", "double", "single"));
  PetscCall(Solver(KSPPREONLY, "-pc_neato_coupling", "reduced", "auto"));
  PetscCall(Solver(KSPNEATO, "-pc_neato_parts", "3", "0"));
  PetscCall(Solver(KSPPREONLY, "-pc_neato_transport", "mpi", "auto"));
  PetscCall(Solver(KSPPREONLY, "-pc_neato_backend", "cpu", "auto"));
  PetscCall(Lines());
  PetscCall(Compact());
  PetscCall(Recurrence());
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &TestFailed, 1, MPIU_INT, MPI_MAX, PETSC_COMM_WORLD));
  if (!Rank || TestFailed) (void)TestEnd();
  PetscCall(PetscFinalize());
  return TestFailed ? 1 : 0;
}
