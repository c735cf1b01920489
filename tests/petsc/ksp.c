/*
  KSPBCRPOISSON: a solve, then refinement; what every KSP has to do.

  quick: 1
*/
#include "testing.h"
#include <stdio.h>
#include <stdlib.h>

/* a tolerance that one solve does not reach in single precision inside, and that refinement reaches */
static PetscReal Tight(void)
{
  return sizeof(PetscReal) < sizeof(double) ? (PetscReal)2e-5 : (PetscReal)1e-11;
}

static PetscErrorCode NewKSP(const TestProblem *p, DM *da, Mat *A, KSP *ksp, Vec *b, Vec *x)
{
  PetscFunctionBegin;
  PetscCall(TestMatrix(p, da, A));
  PetscCall(KSPCreate(PETSC_COMM_SELF, ksp));
  PetscCall(KSPSetOperators(*ksp, *A, *A));
  PetscCall(KSPSetType(*ksp, KSPBCRPOISSON));
  PetscCall(MatCreateVecs(*A, x, b));
  PetscCall(TestRandom(*b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ||b - A x|| / ||b||, computed apart from the KSP */
static PetscErrorCode Residual(Mat A, PetscBool transpose, Vec b, Vec x, PetscReal *residual)
{
  Vec r;
  PetscReal rn, bn;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(b, &r));
  if (transpose) PetscCall(MatMultTranspose(A, x, r));
  else PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1, b));
  PetscCall(VecNorm(r, NORM_2, &rn));
  PetscCall(VecNorm(b, NORM_2, &bn));
  *residual = bn > 0 ? rn / bn : rn;
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const TestProblem problem = {
  .dim = 2, .n = {21, 14},
       .dof = 1, .ends = "ndrd", .a = {3,  1 },
       .shift = 0.5, .scale = -2, .row = 3
};

static PetscErrorCode TakesItsPreconditioner(void)
{
  DM da;
  Mat A;
  KSP ksp;
  PC pc;
  Vec b, x;
  PetscBool is;
  PetscInt radix;

  PetscFunctionBegin;
  /* set in the program: at once */
  PetscCall(NewKSP(&problem, &da, &A, &ksp, &b, &x));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCBCRPOISSON, &is));
  Check(is, "KSPSetType() does not set the type of the PC");
  PetscCall(PCBCRPoissonSetRadix(pc, 4));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(PCBCRPoissonGetRadix(pc, &radix));
  Check(radix == 4, "KSPSetFromOptions() loses the radix");
  /* a type set by the program is replaced */
  PetscCall(PCSetType(pc, PCJACOBI));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCBCRPOISSON, &is));
  Check(is, "solved with another PC");
  PetscCall(TestDestroy(&b, &x, &ksp, &A, &da));
  /* by options, with both spellings */
  PetscCall(PetscOptionsInsertString(NULL, "-o_ksp_type bcrpoisson -o_ksp_bcrpoisson_radix 8 -o_pc_bcrpoisson_fit "
                                           "exact -o_ksp_bcrpoisson_precision mixed -o_ksp_bcrpoisson_schedule 4,4"));
  PetscCall(TestMatrix(&problem, &da, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, "o_"));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCBCRPOISSON, &is));
  Check(is, "-ksp_type bcrpoisson does not set the type of the PC");
  if (is) {
    PCBCRPoissonFit fit;
    PCBCRPoissonPrecision precision;
    PetscInt n;

    PetscCall(PCBCRPoissonGetRadix(pc, &radix));
    PetscCall(PCBCRPoissonGetFit(pc, &fit));
    PetscCall(PCBCRPoissonGetPrecision(pc, &precision));
    PetscCall(PCBCRPoissonGetSchedule(pc, &n, NULL));
    Check(radix == 8 && n == 2 && fit == PCBCRPOISSON_FIT_EXACT && precision == PCBCRPOISSON_PRECISION_MIXED,
          "-ksp_bcrpoisson_ options: radix %d, %d levels, fit %d, precision %d", (int)radix, (int)n, (int)fit,
          (int)precision);
  }
  PetscCall(TestRandom(b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(TestDestroy(&b, &x, &ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  PetscInt calls, last;
  PetscReal norm[64];
} Seen;

static PetscErrorCode Monitor(KSP ksp, PetscInt it, PetscReal norm, void *ctx)
{
  Seen *seen = (Seen *)ctx;

  PetscFunctionBegin;
  (void)ksp;
  if (seen->calls < 64) seen->norm[seen->calls] = norm;
  ++seen->calls;
  seen->last = it;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Default tolerances: one solve. Single precision inside: more, to the same tolerance. Both norms,
   each precision; monitors and history agree */
static PetscErrorCode Refines(void)
{
  PetscFunctionBegin;
  for (PetscInt precision = 0; precision < 3; ++precision) {
    for (PetscInt form = 0; form < 4; ++form) {
      const KSPNormType norms[] = {KSP_NORM_UNPRECONDITIONED, KSP_NORM_PRECONDITIONED, KSP_NORM_UNPRECONDITIONED,
                                   KSP_NORM_UNPRECONDITIONED};
      DM da;
      Mat A;
      KSP ksp;
      PC pc;
      Vec b, x;
      PetscInt its, nhistory;
      PetscReal residual, bnorm, norm, history[64];
      KSPConvergedReason reason;
      Seen seen = {0, 0, {0}};

      PetscCall(NewKSP(&problem, &da, &A, &ksp, &b, &x));
      PetscCall(KSPGetPC(ksp, &pc));
      PetscCall(PCBCRPoissonSetPrecision(pc, (PCBCRPoissonPrecision)precision));
      PetscCall(KSPSetNormType(ksp, norms[form]));
      if (form == 2) PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
      if (form == 3) {
        PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
        PetscCall(TestRandom(x));
        PetscCall(VecScale(x, 100));
      }
      PetscCall(KSPSetTolerances(ksp, Tight(), 0, 1e5, 20));
      PetscCall(KSPMonitorSet(ksp, Monitor, &seen, NULL));
      PetscCall(KSPSetResidualHistory(ksp, history, 64, PETSC_TRUE));
      PetscCall(KSPSolve(ksp, b, x));
      PetscCall(KSPGetConvergedReason(ksp, &reason));
      PetscCall(KSPGetIterationNumber(ksp, &its));
      PetscCall(KSPGetResidualNorm(ksp, &norm));
      PetscCall(Residual(A, PETSC_FALSE, b, x, &residual));
      PetscCall(VecNorm(b, NORM_2, &bnorm));
      Check(reason == KSP_CONVERGED_RTOL, "precision %d, form %d: %s", (int)precision, (int)form,
            KSPConvergedReasons[reason]);
      Check(its >= 1 && its <= (form == 1 ? 4 : 3), "precision %d, form %d: %d iterations", (int)precision, (int)form,
            (int)its);
      if (precision == PCBCRPOISSON_PRECISION_SINGLE && sizeof(PetscReal) == sizeof(double))
        Check(its >= 2, "form %d: one iteration to %g in single precision", (int)form, (double)Tight());
      Check(residual <= Tight() * (form == 1 ? 100 : 1), "precision %d, form %d: residual %g", (int)precision,
            (int)form, (double)residual);
      if (form != 1)
        Check(PetscAbsReal(norm - residual * bnorm) <= Tight() * bnorm,
              "precision %d, form %d: KSPGetResidualNorm() is %g, the residual %g", (int)precision, (int)form,
              (double)norm, (double)(residual * bnorm));
      PetscCall(KSPGetResidualHistory(ksp, NULL, &nhistory));
      Check(seen.calls == its + 1 && seen.last == its && nhistory == its + 1,
            "precision %d, form %d: %d iterations, %d monitor calls, %d in the history", (int)precision, (int)form,
            (int)its, (int)seen.calls, (int)nhistory);
      for (PetscInt i = 0; i < PetscMin(nhistory, seen.calls); ++i)
        Check(history[i] == seen.norm[i], "history %d", (int)i);
      if (form == 0)
        Check(PetscAbsReal(history[0] - bnorm) <= 1e-5 * bnorm, "the first norm is %g, not that of b, %g",
              (double)history[0], (double)bnorm);
      /* again: the same object, as many steps */
      PetscCall(TestRandom(b));
      PetscCall(KSPSolve(ksp, b, x));
      PetscCall(KSPGetConvergedReason(ksp, &reason));
      Check(reason > 0, "precision %d, form %d, second solve: %s", (int)precision, (int)form,
            KSPConvergedReasons[reason]);
      PetscCall(TestDestroy(&b, &x, &ksp, &A, &da));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode StopAtOnce(KSP ksp, PetscInt it, PetscReal norm, KSPConvergedReason *reason, void *ctx)
{
  PetscFunctionBegin;
  (void)ksp;
  (void)norm;
  *reason = it >= *(PetscInt *)ctx ? KSP_CONVERGED_ITS : KSP_CONVERGED_ITERATING;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* When it stops, and what it says */
static PetscErrorCode Stops(void)
{
  DM da;
  Mat A;
  KSP ksp;
  PC pc;
  Vec b, x, ref;
  PetscInt its, three = 3;
  PetscReal residual, norm;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  /* no norm: one solve */
  PetscCall(NewKSP(&problem, &da, &A, &ksp, &b, &x));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(Residual(A, PETSC_FALSE, b, x, &residual));
  Check(reason == KSP_CONVERGED_ITS && its == 1 && residual <= Tight() * 10, "no norm: %s, %d iterations, residual %g",
        KSPConvergedReasons[reason], (int)its, (double)residual);
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(Residual(A, PETSC_FALSE, b, x, &residual));
  Check(residual <= Tight(), "no norm, from a guess: residual %g", (double)residual);
  PetscCall(TestDestroy(&b, &x, &ksp, &A, &da));

  /* a zero right-hand side; no iterations allowed; a test of the user; a guess that is good already */
  PetscCall(NewKSP(&problem, &da, &A, &ksp, &b, &x));
  PetscCall(VecDuplicate(x, &ref));
  PetscCall(VecSet(b, 0));
  PetscCall(TestRandom(x));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(VecNorm(x, NORM_INFINITY, &norm));
  Check(reason == KSP_CONVERGED_ATOL && norm == 0, "b = 0: %s, solution of norm %g", KSPConvergedReasons[reason],
        (double)norm);
  PetscCall(TestRandom(b));
  PetscCall(KSPSetTolerances(ksp, 1e-5, 0, 1e5, 0));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(VecNorm(x, NORM_INFINITY, &norm));
  Check(reason == KSP_DIVERGED_ITS && norm == 0, "no iterations allowed: %s, norm %g", KSPConvergedReasons[reason],
        (double)norm);
  PetscCall(KSPSetTolerances(ksp, 1e-5, 0, 1e5, 100));
  PetscCall(KSPSolve(ksp, b, ref));
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
  PetscCall(VecCopy(ref, x));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  Check(its == 1 && reason > 0, "a good guess: %d iterations, %s", (int)its, KSPConvergedReasons[reason]);
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_FALSE));
  PetscCall(KSPSetConvergenceTest(ksp, StopAtOnce, &three, NULL));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  Check(its == 3, "a test of the user that wants 3 iterations got %d", (int)its);
  PetscCall(VecDestroy(&ref));
  PetscCall(TestDestroy(&b, &x, &ksp, &A, &da));

  /* a tolerance below rounding: gives up soon, and says so */
  PetscCall(NewKSP(&problem, &da, &A, &ksp, &b, &x));
  PetscCall(KSPSetTolerances(ksp, 1e-30, 0, 1e5, 10000));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(Residual(A, PETSC_FALSE, b, x, &residual));
  Check(reason == KSP_DIVERGED_BREAKDOWN && its < 100 && residual <= Tight(),
        "tolerance 1e-30: %s after %d iterations, residual %g", KSPConvergedReasons[reason], (int)its,
        (double)residual);
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(TestDestroy(&b, &x, &ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Transposed(void)
{
  DM da;
  Mat A;
  KSP ksp, lu;
  Vec b, x, ref;
  PetscReal residual = 0, difference = 0;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(NewKSP(&problem, &da, &A, &ksp, &b, &x));
  PetscCall(VecDuplicate(x, &ref));
  PetscCall(KSPSetTolerances(ksp, Tight(), 0, 1e5, 10));
  PetscCall(KSPSolveTranspose(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(Residual(A, PETSC_TRUE, b, x, &residual));
  PetscCall(TestReference(A, &lu));
  PetscCall(KSPSolveTranspose(lu, b, ref));
  PetscCall(TestDifference(x, ref, &difference));
  Check(reason > 0 && residual <= Tight() && difference <= TestDifferenceBound(),
        "transpose: %s, residual %g, differs by %g from LU", KSPConvergedReasons[reason], (double)residual,
        (double)difference);
  PetscCall(VecDestroy(&ref));
  PetscCall(KSPDestroy(&lu));
  PetscCall(TestDestroy(&b, &x, &ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* VecCopy() between vectors that may live in different memory (scripts/check-gpu) */
static PetscErrorCode CopyEntries(Vec from, Vec to)
{
  const PetscScalar *f;
  PetscScalar *t;
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(from, &n));
  PetscCall(VecGetArrayRead(from, &f));
  PetscCall(VecGetArray(to, &t));
  PetscCall(PetscArraycpy(t, f, n));
  PetscCall(VecRestoreArray(to, &t));
  PetscCall(VecRestoreArrayRead(from, &f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All columns at once */
static PetscErrorCode ManyRightHandSides(void)
{
  PetscFunctionBegin;
  for (PetscInt form = 0; form < 4; ++form) { /* plain, from a guess, no norm, single precision inside */
    DM da;
    Mat A, B, X;
    KSP ksp;
    PC pc;
    Vec b, x, bc, xc;
    PetscInt n, its, columns = 5;
    PetscReal residual;
    KSPConvergedReason reason;
    Seen seen = {0, 0, {0}};

    PetscCall(NewKSP(&problem, &da, &A, &ksp, &b, &x));
    PetscCall(VecGetSize(b, &n));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, n, columns, NULL, &B));
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, n, columns, NULL, &X));
    PetscCall(MatZeroEntries(X));
    for (PetscInt c = 0; c < columns; ++c) {
      PetscCall(TestRandom(b));
      PetscCall(VecScale(b, (PetscScalar)PetscPowInt(10, c) * (PetscReal)(c != 3))); /* one of them zero */
      PetscCall(MatDenseGetColumnVecWrite(B, c, &bc));
      PetscCall(CopyEntries(b, bc));
      PetscCall(MatDenseRestoreColumnVecWrite(B, c, &bc));
      if (form == 1) {
        PetscCall(TestRandom(x));
        PetscCall(MatDenseGetColumnVecWrite(X, c, &xc));
        PetscCall(CopyEntries(x, xc));
        PetscCall(MatDenseRestoreColumnVecWrite(X, c, &xc));
      }
    }
    PetscCall(KSPSetTolerances(ksp, Tight(), form == 1 ? Tight() : 0, 1e5, 20));
    if (form == 1) PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
    if (form == 2) PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
    if (form == 3) PetscCall(PCBCRPoissonSetPrecision(pc, PCBCRPOISSON_PRECISION_SINGLE));
    PetscCall(KSPMonitorSet(ksp, Monitor, &seen, NULL));
    PetscCall(KSPMatSolve(ksp, B, X));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    Check(reason > 0 && its >= 1 && its <= 4, "many, form %d: %s, %d iterations", (int)form,
          KSPConvergedReasons[reason], (int)its);
    if (form != 2)
      Check(seen.calls == its + 1, "many, form %d: %d iterations, %d monitor calls", (int)form, (int)its,
            (int)seen.calls);
    for (PetscInt c = 0; c < columns; ++c) {
      PetscCall(MatDenseGetColumnVecRead(B, c, &bc));
      PetscCall(MatDenseGetColumnVecRead(X, c, &xc));
      /* vectors of the type of A: it does not see that a column is another array than the last one
         */
      PetscCall(CopyEntries(bc, b));
      PetscCall(CopyEntries(xc, x));
      PetscCall(Residual(A, PETSC_FALSE, b, x, &residual));
      Check(residual <= Tight() * (form == 2 ? 10 : 1), "many, form %d, column %d: residual %g", (int)form, (int)c,
            (double)residual);
      PetscCall(MatDenseRestoreColumnVecRead(X, c, &xc));
      PetscCall(MatDenseRestoreColumnVecRead(B, c, &bc));
    }
    /* blocks of other widths by the same KSP, the last one of zeros into a block that is not zero */
    for (PetscInt width = 2; width <= 3 && form != 1; ++width) {
      Mat C, Y;
      PetscReal norm;

      PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, n, width, NULL, &C));
      PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, n, width, NULL, &Y));
      for (PetscInt c = 0; c < width; ++c) {
        PetscCall(TestRandom(b));
        PetscCall(VecScale(b, width == 2 ? 1 : 0));
        PetscCall(TestRandom(x));
        PetscCall(MatDenseGetColumnVecWrite(C, c, &bc));
        PetscCall(CopyEntries(b, bc));
        PetscCall(MatDenseRestoreColumnVecWrite(C, c, &bc));
        PetscCall(MatDenseGetColumnVecWrite(Y, c, &xc));
        PetscCall(CopyEntries(x, xc));
        PetscCall(MatDenseRestoreColumnVecWrite(Y, c, &xc));
      }
      PetscCall(KSPMatSolve(ksp, C, Y));
      PetscCall(KSPGetConvergedReason(ksp, &reason));
      Check(reason > 0, "many, form %d, width %d: %s", (int)form, (int)width, KSPConvergedReasons[reason]);
      for (PetscInt c = 0; c < width; ++c) {
        PetscCall(MatDenseGetColumnVecRead(C, c, &bc));
        PetscCall(MatDenseGetColumnVecRead(Y, c, &xc));
        PetscCall(CopyEntries(bc, b));
        PetscCall(CopyEntries(xc, x));
        if (width == 2) PetscCall(Residual(A, PETSC_FALSE, b, x, &residual));
        else PetscCall(VecNorm(x, NORM_INFINITY, &norm));
        if (width == 2)
          Check(residual <= Tight() * (form == 2 ? 10 : 1), "many, form %d, width %d, column %d: residual %g",
                (int)form, (int)width, (int)c, (double)residual);
        else Check(norm == 0, "many, form %d: %g from a right-hand side of zero", (int)form, (double)norm);
        PetscCall(MatDenseRestoreColumnVecRead(Y, c, &xc));
        PetscCall(MatDenseRestoreColumnVecRead(C, c, &bc));
      }
      PetscCall(MatDestroy(&C));
      PetscCall(MatDestroy(&Y));
    }
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&X));
    PetscCall(TestDestroy(&b, &x, &ksp, &A, &da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With the null space on the matrix a singular system is solved to the tolerance; an inconsistent
   one without it is refused in the end */
static PetscErrorCode Singular(void)
{
  TestProblem p = {
    .dim = 2, .n = {12, 9},
         .dof = 1, .ends = "cccc", .a = {1,  3},
         .scale = 1
  };
  DM da;
  Mat A;
  KSP ksp;
  Vec b, x;
  MatNullSpace nullspace;
  KSPConvergedReason reason;
  PetscInt its, n;
  PetscScalar sum;
  PetscReal residual;

  PetscFunctionBegin;
  PetscCall(NewKSP(&p, &da, &A, &ksp, &b, &x));
  PetscCall(VecGetSize(b, &n));
  PetscCall(VecShift(b, 3));
  PetscCall(KSPSetTolerances(ksp, Tight(), 0, 1e5, 1000));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  Check(reason == KSP_DIVERGED_BREAKDOWN && its < 50, "inconsistent: %s after %d iterations",
        KSPConvergedReasons[reason], (int)its);
  PetscCall(MatNullSpaceCreate(PETSC_COMM_SELF, PETSC_TRUE, 0, NULL, &nullspace));
  PetscCall(MatSetNullSpace(A, nullspace));
  PetscCall(MatSetTransposeNullSpace(A, nullspace));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(VecSum(x, &sum));
  PetscCall(VecSum(b, &sum));
  PetscCall(VecShift(b, -sum / (PetscReal)n));
  PetscCall(Residual(A, PETSC_FALSE, b, x, &residual));
  PetscCall(VecSum(x, &sum));
  Check(reason > 0 && its <= 3 && residual <= Tight() * 10 && PetscAbsScalar(sum) <= Tight() * n * 100,
        "with the null space: %s, %d iterations, residual %g, sum %g", KSPConvergedReasons[reason], (int)its,
        (double)residual, (double)PetscAbsScalar(sum));
  PetscCall(MatNullSpaceDestroy(&nullspace));
  PetscCall(TestDestroy(&b, &x, &ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix of the residual and the one that the solver is read from differ: refinement converges to the former */
static PetscErrorCode TwoMatrices(void)
{
  TestProblem p = problem, q = problem;
  DM da, da2;
  Mat A, P;
  KSP ksp;
  Vec b, x;
  KSPConvergedReason reason;
  PetscInt its;
  PetscReal residual;

  PetscFunctionBegin;
  q.a[0] *= 1.1;
  PetscCall(NewKSP(&p, &da, &A, &ksp, &b, &x));
  PetscCall(TestMatrix(&q, &da2, &P));
  PetscCall(KSPSetOperators(ksp, A, P));
  PetscCall(KSPSetTolerances(ksp, Tight(), 0, 1e5, 100));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(Residual(A, PETSC_FALSE, b, x, &residual));
  Check(reason == KSP_CONVERGED_RTOL && its > 2 && its < 20 && residual <= Tight(),
        "two matrices: %s, %d iterations, residual %g", KSPConvergedReasons[reason], (int)its, (double)residual);
  PetscCall(MatDestroy(&P));
  PetscCall(DMDestroy(&da2));
  PetscCall(TestDestroy(&b, &x, &ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* View, reset, new values */
static PetscErrorCode Lives(void)
{
  TestProblem p = problem;
  DM da;
  Mat A;
  KSP ksp;
  Vec b, x;
  KSPConvergedReason reason;
  PetscReal residual;
  char *text = NULL;

  PetscFunctionBegin;
  PetscCall(NewKSP(&p, &da, &A, &ksp, &b, &x));
  for (PetscInt i = 0; i < 4; ++i) {
    if (i == 1) p.shift = 3;
    if (i == 2) p.ends = "dddd";
    if (i) PetscCall(TestFill(&p, A));
    if (i == 3) {
      PetscCall(KSPReset(ksp));
      PetscCall(KSPSetOperators(ksp, A, A));
    }
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(Residual(A, PETSC_FALSE, b, x, &residual));
    Check(reason > 0 && residual <= Tight() * 10, "values %d: %s, residual %g", (int)i, KSPConvergedReasons[reason],
          (double)residual);
  }
  PetscCall(TestViewText((PetscObject)ksp, &text));
  Check(strstr(text, "type: bcrpoisson") && strstr(text, "refinement") &&
          strstr(text, "direct solves of the last right-hand side: 1") && strstr(text, "plan: "),
        "KSPView():\n%s", text);
  free(text);
  PetscCall(TestDestroy(&b, &x, &ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(TakesItsPreconditioner());
  PetscCall(Refines());
  PetscCall(Stops());
  PetscCall(Transposed());
  PetscCall(ManyRightHandSides());
  PetscCall(Singular());
  PetscCall(TwoMatrices());
  PetscCall(Lives());
  PetscCall(PetscFinalize());
  return TestEnd();
}
