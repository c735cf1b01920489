/*
  What is wrong with lines is a PETSc error that names the row, the line or the
  option, and says what to do.

  quick: 1
*/
#include "testing.h"
#include "../../src/transport/transport.h"
#include "../../src/tridiagonal/tridiagonal.h"
#include <petsc/private/pcimpl.h>

/* Set-up of the problem, with one more entry (row >= 0), has to fail */
static PetscErrorCode BadMatrix(const TestProblem *p, PetscInt row, PetscInt col, PetscScalar value, PCNeatoAxis axis,
                                PetscErrorCode code, const char words[], const char more[])
{
  DM da;
  Mat A;
  PC pc;

  PetscFunctionBegin;
  PetscCall(TestMatrix(p, &da, &A));
  if (row >= 0) {
    PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(MatSetValue(A, row, col, value, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  }
  PetscCall(TestPC(PCNEATO, NULL, A, &pc));
  PetscCall(PCNeatoSetAxis(pc, axis));
  /* scan has no such pivots */
  if (row >= 0 && code == PETSC_ERR_MAT_LU_ZRPVT) PetscCall(PCNeatoSetMethod(pc, PCNEATO_METHOD_THOMAS));
  CheckError(PCSetUp(pc), code, words);
  if (more) CheckError(PCSetUp(pc), code, more);
  PetscCall(TestDestroy(&pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A zero on the diagonal that is no harm to the line: solved with all digits, or refused, but never solved badly */
static PetscErrorCode ZeroPivot(PetscInt at, PCNeatoMethod method)
{
  TestProblem p = {.dim = 1, .n = {40}, .dof = 1, .ends = "dd", .a = {1}, .scale = 1};
  DM da;
  Mat A;
  PC pc;
  Vec b, x;
  PetscReal error = 0;
  PetscErrorCode ierr;
  TestCaught caught = {0, ""};

  PetscFunctionBegin;
  PetscCall(TestMatrix(&p, &da, &A));
  PetscCall(MatSetValue(A, at, at, 0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(TestRandom(b));
  PetscCall(TestPC(PCNEATO, NULL, A, &pc));
  PetscCall(PCNeatoSetMethod(pc, method));
  PetscCall(PetscPushErrorHandler(TestCatch, &caught));
  ierr = PCSetUp(pc);
  PetscCall(PetscPopErrorHandler());
  if (ierr)
    Check(caught.code == (int)PETSC_ERR_MAT_LU_ZRPVT || caught.code == (int)PETSC_ERR_SUP ||
            caught.code == (int)PETSC_ERR_ARG_INCOMP,
          "zero in row %d, %s: error %d, %s", (int)at, PCNeatoMethods[method], caught.code, caught.message);
  else {
    PetscCall(PCApply(pc, b, x));
    PetscCall(TestBackwardError(A, PETSC_FALSE, b, x, &error));
    Check(error <= 100 * TestBackwardBound(), "zero in row %d, %s: backward error %g", (int)at, PCNeatoMethods[method],
          (double)error);
  }
  PetscCall(TestDestroy(&pc, &b, &x, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* d < 2 on the line y = 3: methods that need dominance refuse, name the line and a method that does not */
static PetscErrorCode NotDominant(void)
{
  const PCNeatoMethod methods[] = {PCNEATO_METHOD_SCAN, PCNEATO_METHOD_CR, PCNEATO_METHOD_DC};
  DM da;
  Mat A;
  PC pc;
  Vec b, x;
  PetscReal error = 0;

  PetscFunctionBegin;
  PetscCall(DMDACreate2d(PETSC_COMM_SELF, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 9, 5, 1, 1, 1, 1, NULL,
                         NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  for (PetscInt j = 0; j < 5; ++j) {
    for (PetscInt i = 0; i < 9; ++i) {
      const PetscInt at[3] = {9 * j + i, 9 * j + i - 1, 9 * j + i + 1};
      const PetscScalar row[3] = {j == 3 ? (PetscReal)1.5 : 4, -1, -1};

      PetscCall(MatSetValues(A, 1, at, 1, at, row, INSERT_VALUES));
      if (i > 0) PetscCall(MatSetValues(A, 1, at, 1, at + 1, row + 1, INSERT_VALUES));
      if (i < 8) PetscCall(MatSetValues(A, 1, at, 1, at + 2, row + 2, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(TestPC(PCNEATO, NULL, A, &pc));
  PetscCall(PCNeatoSetAxis(pc, PCNEATO_AXIS_X));
  for (size_t m = 0; m < PETSC_STATIC_ARRAY_LENGTH(methods); ++m) {
    PetscCall(PCNeatoSetMethod(pc, methods[m]));
    CheckError(PCSetUp(pc), PETSC_ERR_SUP, "ine along x through y = 3");
    CheckError(PCSetUp(pc), PETSC_ERR_SUP, "use method thomas");
  }
  PetscCall(PCNeatoSetMethod(pc, PCNEATO_METHOD_THOMAS));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(TestRandom(b));
  PetscCall(PCApply(pc, b, x));
  PetscCall(TestBackwardError(A, PETSC_FALSE, b, x, &error));
  Check(error <= 100 * TestBackwardBound(), "thomas, d = 1.5: backward error %g", (double)error);
  PetscCall(TestDestroy(&pc, &b, &x, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Matrices(void)
{
  TestProblem one = {.dim = 1, .n = {12}, .dof = 1, .ends = "dd", .a = {1}, .scale = 1};
  TestProblem p = {
    .dim = 2, .n = {6, 5},
         .dof = 1, .ends = "dddd", .a = {1, 2},
         .scale = 1
  };
  const PetscReal nan = NAN, inf = INFINITY;
  TestProblem two = p, three = p;
  DM da, shell;
  Mat A, S;
  PC pc;

  PetscFunctionBegin;
  two.dof = 2;
  PetscCall(BadMatrix(&one, 5, 8, 0.5, PCNEATO_AXIS_AUTO, PETSC_ERR_SUP, "not tridiagonal along x",
                      "row 5 (grid point 5,0,0), column 8"));
  PetscCall(BadMatrix(&one, 5, 5, nan, PCNEATO_AXIS_X, PETSC_ERR_FP, "NaN or Inf", "row 5"));
  PetscCall(BadMatrix(&one, 5, 4, inf, PCNEATO_AXIS_X, PETSC_ERR_FP, "NaN or Inf", "column 4"));
  PetscCall(BadMatrix(&one, -1, 0, 0, PCNEATO_AXIS_Y, PETSC_ERR_ARG_OUTOFRANGE, "no lines along y", "dimension 1"));
  PetscCall(BadMatrix(&p, -1, 0, 0, PCNEATO_AXIS_Z, PETSC_ERR_ARG_OUTOFRANGE, "no lines along z", "take x or y"));
  PetscCall(BadMatrix(&p, 8, 10, 0.5, PCNEATO_AXIS_X, PETSC_ERR_SUP, "not tridiagonal along x", "row 8"));
  PetscCall(BadMatrix(&p, 8, 20, 0.5, PCNEATO_AXIS_Y, PETSC_ERR_SUP, "not tridiagonal along y", "another axis"));
  PetscCall(BadMatrix(&two, 16, 17, 0.25, PCNEATO_AXIS_X, PETSC_ERR_SUP, "component 0 to component 1", "PCFIELDSPLIT"));
#if defined(PETSC_USE_COMPLEX)
  PetscCall(BadMatrix(&p, 8, 8, 6 + PETSC_i, PCNEATO_AXIS_X, PETSC_ERR_SUP, "real coefficients", "row 8"));
#endif

  /* singular lines: Neumann and periodic ends without a shift; a row in the
   * middle that makes a pivot zero */
  one.ends = "nn";
  PetscCall(
    BadMatrix(&one, -1, 0, 0, PCNEATO_AXIS_X, PETSC_ERR_MAT_LU_ZRPVT, "line along x is singular", "PCBCRPOISSON"));
  one.ends = "cc";
  PetscCall(BadMatrix(&one, -1, 0, 0, PCNEATO_AXIS_X, PETSC_ERR_MAT_LU_ZRPVT, "line along x is singular", NULL));
  one.ends = "pp";
  PetscCall(BadMatrix(&one, -1, 0, 0, PCNEATO_AXIS_X, PETSC_ERR_MAT_LU_ZRPVT, "Neumann or periodic", NULL));
  three.dim = 3;
  three.n[2] = 7;
  three.ends = "ccddcc";
  three.a[1] = 0; /* nothing across holds the lines */
  three.a[2] = 0;
  PetscCall(
    BadMatrix(&three, -1, 0, 0, PCNEATO_AXIS_X, PETSC_ERR_MAT_LU_ZRPVT, "along x through y = 0, z = 0", "Dirichlet"));
  three.a[2] = 2;
  three.a[0] = 0;
  PetscCall(BadMatrix(&three, -1, 0, 0, PCNEATO_AXIS_Z, PETSC_ERR_MAT_LU_ZRPVT, "along z through x = 0, y = 0", NULL));
  /* the first pivot of line y = 3, and the second of line x = 4 */
  PetscCall(BadMatrix(&p, 6 * 3, 6 * 3, 0, PCNEATO_AXIS_X, PETSC_ERR_MAT_LU_ZRPVT, "along x through y = 3", "row 0"));
  /* there is no float 2/3: digits are lost instead */
  PetscCall(BadMatrix(&p, 4 + 6, 4 + 6, (PetscScalar)(2. / 3.), PCNEATO_AXIS_Y, PETSC_ERR_MAT_LU_ZRPVT,
                      "along y through x = 4", PetscDefined(USE_REAL_SINGLE) ? NULL : "row 1"));

  /* not dominant: fine where elimination without pivoting does (d = 1.2), an
   * error where it loses digits: the pivot 2/3 + 1e-13 in row 1 */
  one.ends = "dd";
  PetscCall(BadMatrix(&one, 1, 1, (PetscScalar)(0.5 + (sizeof(PetscReal) < sizeof(double) ? 6e-8 : 1e-12)),
                      PCNEATO_AXIS_X, PETSC_ERR_MAT_LU_ZRPVT, "line along x is not diagonally dominant", "PCLU"));

  /* no rows to be had; no DM, a DM of another type, of another size */
  PetscCall(TestMatrix(&p, &da, &A));
  PetscCall(MatCreateShell(PETSC_COMM_SELF, 30, 30, 30, 30, NULL, &S));
  PetscCall(TestPC(PCNEATO, da, S, &pc));
  CheckError(PCSetUp(pc), PETSC_ERR_SUP, "PetscBCRLinesCreate()");
  PetscCall(TestDestroy(&pc, &S, &A));
  two.n[0] = 7;
  PetscCall(TestMatrix(&two, &shell, &A));
  PetscCall(TestPC(PCNEATO, da, A, &pc)); /* it is found in the matrix */
  PetscCall(PCSetUp(pc));
  PetscCall(TestDestroy(&pc, &shell, &A, &da));
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, 5, 5, 5, NULL, &A)); /* a star of five: no grid */
  for (PetscInt i = 0; i < 5; ++i) {
    PetscCall(MatSetValue(A, i, i, 5, INSERT_VALUES));
    PetscCall(MatSetValue(A, i, 0, i ? -1 : 5, INSERT_VALUES));
    PetscCall(MatSetValue(A, 0, i, i ? -1 : 5, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(DMShellCreate(PETSC_COMM_SELF, &shell));
  for (int k = 0; k < 2; ++k) {
    Vec b, x;

    PetscCall(TestPC(PCNEATO, k ? shell : NULL, A, &pc));
    PetscCall(PCSetUp(pc)); /* the first vectors might have a DMDA */
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecSet(b, 1));
    CheckError(PCApply(pc, b, x), PETSC_ERR_ARG_WRONG, "PCNEATO found no grid");
    CheckError(PCApply(pc, b, x), PETSC_ERR_ARG_WRONG, "-pc_neato_grid");
    PetscCall(TestDestroy(&x, &b, &pc));
  }
  PetscCall(DMDestroy(&shell));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One option under a prefix of its own, so that nothing is left for the next;
 * when: at set-up, or when options are read */
static PetscErrorCode BadOption(const char option[], const char value[], PetscBool atsetup, PetscErrorCode code,
                                const char words[])
{
  static PetscInt count = 0;
  TestProblem p = {
    .dim = 2, .n = {6, 5},
         .dof = 1, .ends = "dddd", .a = {1, 2},
         .scale = 1
  };
  char prefix[32], name[128], named[128];
  DM da;
  Mat A;
  PC pc;
  KSP ksp;

  PetscFunctionBegin;
  PetscCall(TestMatrix(&p, &da, &A));
  for (PetscInt form = 0; form < 2; ++form) {
    PetscCall(PetscSNPrintf(prefix, sizeof(prefix), "bad%" PetscInt_FMT "_", count++));
    PetscCall(PetscSNPrintf(name, sizeof(name), "-%s%s_neato_%s", prefix, form ? "ksp" : "pc", option));
    PetscCall(PetscSNPrintf(named, sizeof(named), "%s_neato_%s", form && !atsetup ? "ksp" : "pc", option));
    PetscCall(PetscOptionsSetValue(NULL, name, value));
    PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetOptionsPrefix(ksp, prefix));
    if (form) PetscCall(KSPSetType(ksp, KSPNEATO));
    PetscCall(KSPGetPC(ksp, &pc));
    if (!form) PetscCall(PCSetType(pc, PCNEATO));
    if (atsetup) PetscCall(KSPSetFromOptions(ksp));
    for (PetscInt w = 0; w < 2; ++w)
      CheckError(atsetup ? PCSetUp(pc) : KSPSetFromOptions(ksp), code, w ? named : words);
    PetscCall(KSPDestroy(&ksp));
    PetscCall(PetscOptionsClearValue(NULL, name));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Options(void)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(BadOption("axis", "w", PETSC_FALSE, PETSC_ERR_USER, "auto x y z"));
  PetscCall(BadOption("method", "lu", PETSC_FALSE, PETSC_ERR_USER, "auto scan cr pscheme dc thomas"));
  PetscCall(BadOption("variant", "fast", PETSC_FALSE, PETSC_ERR_USER, "auto rearranged plain parallel sequential"));
  PetscCall(BadOption("parts", "-3", PETSC_FALSE, PETSC_ERR_ARG_OUTOFRANGE, "1 or more"));
  PetscCall(BadOption("memory", "texture", PETSC_FALSE, PETSC_ERR_USER, "auto shared global"));
  PetscCall(BadOption("coupling", "none", PETSC_FALSE, PETSC_ERR_USER, "auto neighbour reduced"));
  PetscCall(BadOption("transport", "tcp", PETSC_FALSE, PETSC_ERR_USER, "auto mpi nccl host"));
  PetscCall(BadOption("backend", "hip", PETSC_FALSE, PETSC_ERR_USER, "auto cpu cuda"));
  PetscCall(BadOption("precision", "half", PETSC_FALSE, PETSC_ERR_USER, "double single mixed"));
  {
    BCRTriOptions any = {.method = BCR_TRI_AUTO};

    if (!BCRTriDevicePossible(&any, NULL))
      PetscCall(BadOption("backend", "cuda", PETSC_TRUE, PETSC_ERR_SUP, "cannot be used here"));
  }
#if defined(PETSCBCR_HAVE_CUDA)
  if (!BCRTransportHaveNccl(NULL))
#endif
    PetscCall(BadOption("transport", "nccl", PETSC_TRUE, PETSC_ERR_SUP, "there is no NCCL here"));
  PetscCall(BadOption("variant", "plain", PETSC_TRUE, PETSC_ERR_ARG_INCOMP, "the method is auto"));
  PetscCall(BadOption("variant", "sequential", PETSC_TRUE, PETSC_ERR_ARG_INCOMP, "_method dc"));
  PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
  PetscCall(PCSetType(pc, PCNEATO));
  CheckError(PCNeatoSetAxis(pc, (PCNeatoAxis)4), PETSC_ERR_ARG_OUTOFRANGE, "PCNeatoAxis");
  CheckError(PCNeatoSetMethod(pc, (PCNeatoMethod)-1), PETSC_ERR_ARG_OUTOFRANGE, "PCNeatoMethod");
  CheckError(PCNeatoSetParts(pc, -1), PETSC_ERR_ARG_OUTOFRANGE, "PCNeatoSetParts -1: give 1 or more");
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* NaN on the right-hand side: the reason says so, or the error names the entry;
 * the next right-hand side is solved */
static PetscErrorCode RightHandSides(void)
{
  TestProblem p = {.dim = 1, .n = {20}, .dof = 1, .ends = "dd", .a = {1}, .scale = 1};
  const KSPType types[] = {KSPNEATO, KSPCG, KSPGMRES, KSPPREONLY};
  DM da;
  Mat A;
  Vec b, x;
  KSP ksp;
  PC pc;
  PetscReal error = 0;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(TestMatrix(&p, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); ++t) {
    PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
    PetscCall(KSPSetType(ksp, types[t]));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCNEATO));
    PetscCall(TestRandom(b));
    PetscCall(VecSetValue(b, 11, NAN, INSERT_VALUES));
    PetscCall(VecAssemblyBegin(b));
    PetscCall(VecAssemblyEnd(b));
    if (t < 3) {
      PetscCall(KSPSolve(ksp, b, x));
      PetscCall(KSPGetConvergedReason(ksp, &reason));
      Check(reason == KSP_DIVERGED_NANORINF, "%s with NaN: %s", types[t], KSPConvergedReasons[reason]);
    }
    PetscCall(TestRandom(b));
    PetscCall(VecSet(x, 0));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(TestBackwardError(A, PETSC_FALSE, b, x, &error));
    Check(error <= (t == 1 || t == 2 ? 1e-4 : 0) + TestBackwardBound(), "%s after NaN: backward error %g", types[t],
          (double)error);
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
  PetscCall(PCSetType(pc, PCNEATO));
  PetscCall(PCSetOperators(pc, A, A));
  CheckError(PCApply(pc, b, b), PETSC_ERR_ARG_IDN, "different");
  PetscCall(PCSetErrorIfFailure(pc, PETSC_TRUE));
  PetscCall(PCSetUp(pc));
  PetscCall(VecSetValue(b, 11, NAN, INSERT_VALUES));
  PetscCall(VecAssemblyBegin(b));
  PetscCall(VecAssemblyEnd(b));
  CheckError(PCApply(pc, b, x), PETSC_ERR_FP, "Entry 11 of the right-hand side");
  PetscCall(TestDestroy(&pc, &b, &x, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The public call */
static PetscErrorCode Lines(void)
{
  const PetscReal row[3] = {-1, 2, -1}, singular[3] = {-1, 1, 0}, singularlast[3] = {0, 1, -1}, bad[3] = {-1, NAN, -1};
  PetscReal many[12] = {0};
  PetscBCRLines lines;
  DM da;
  Vec f, u;

  PetscFunctionBegin;
  PetscCall(DMDACreate2d(PETSC_COMM_SELF, DM_BOUNDARY_NONE, DM_BOUNDARY_PERIODIC, DMDA_STENCIL_STAR, 6, 5, 1, 1, 1, 1,
                         NULL, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateGlobalVector(da, &f));
  PetscCall(TestRandom(f));
  CheckError(PetscBCRLinesCreate(da, DM_Z, 0, NULL, row, 0, NULL, &lines), PETSC_ERR_ARG_OUTOFRANGE,
             "no lines along z");
  CheckError(PetscBCRLinesCreate(da, DM_X, 4, many, row, 0, NULL, &lines), PETSC_ERR_ARG_OUTOFRANGE, "0 to 3");
  CheckError(PetscBCRLinesCreate(da, DM_Y, 3, many, row, 3, many, &lines), PETSC_ERR_ARG_SIZ, "only 5 rows");
  CheckError(PetscBCRLinesCreate(da, DM_X, 0, NULL, bad, 0, NULL, &lines), PETSC_ERR_FP, "Coefficient 1 of the row");
  CheckError(PetscBCRLinesCreate(da, DM_X, 1, bad, row, 0, NULL, &lines), PETSC_ERR_FP, "the first rows");
  PetscCall(PetscBCRLinesCreate(da, DM_Y, 0, NULL, row, 0, NULL, &lines)); /* periodic */
  CheckError(PetscBCRLinesSolve(lines, f, f), PETSC_ERR_MAT_LU_ZRPVT, "line along y through x = 0");
  PetscCall(PetscBCRLinesDestroy(&lines));
  many[0] = 0;
  many[1] = 1;
  many[2] = -1;
  PetscCall(PetscBCRLinesCreate(da, DM_X, 1, singularlast, row, 1, singular, &lines)); /* Neumann */
  CheckError(PetscBCRLinesSolve(lines, f, f), PETSC_ERR_MAT_LU_ZRPVT, "line along x through y = 0");
  PetscCall(PetscBCRLinesDestroy(&lines));
  PetscCall(PetscBCRLinesCreate(da, DM_X, 0, NULL, row, 0, NULL, &lines));
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, 31, &u));
  CheckError(PetscBCRLinesSolve(lines, f, u), PETSC_ERR_ARG_SIZ, "the DMDA has 30 of 30");
  PetscCall(VecDestroy(&u));
  CheckError(PetscBCRLinesSetMethod(lines, (PCNeatoMethod)9), PETSC_ERR_ARG_OUTOFRANGE, "PCNeatoMethod");
  PetscCall(PetscBCRLinesSolve(lines, f, f));
  PetscCall(PetscBCRLinesDestroy(&lines));
  PetscCall(VecDestroy(&f));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt rank;
  int status;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(Matrices());
  PetscCall(NotDominant());
  for (PetscInt method = PCNEATO_METHOD_AUTO; method <= PCNEATO_METHOD_THOMAS; ++method) {
    for (PetscInt at = 0; at < 40; at += 13) PetscCall(ZeroPivot(at, (PCNeatoMethod)method));
  }
  PetscCall(Options());
  PetscCall(RightHandSides());
  PetscCall(Lines());
  PetscCall(PetscFinalize());
  status = rank ? (TestFailed ? 1 : 0) : TestEnd();
  return status;
}
