/*
  What KSPBCRPOISSON and KSPNEATO are: solve with the direct solver that is the PC, then refine, x
  <- x + M^{-1} (b - A x), until the convergence test of the KSP is content.
*/
#include <petscbcr.h>
#include <petsc/private/kspimpl.h> /*I "petscbcr.h" I*/
#include "refine.h"
#include "../../src/base/agree.h"

#define BCR_WHY 640

/* steps without a smaller residual after which refinement gives up: it moves about at the level of
   rounding, or diverges */
#define BCR_STAGNATION 5

typedef struct {
  const BCRRefineKind *kind;
  PetscInt solves;   /* applications of the solver in the last KSPSolve(), per right-hand side */
  Mat R, Z;          /* KSPMatSolve(): residuals and corrections */
  char why[BCR_WHY]; /* the last solve did not converge, or nothing */
} KSP_Refine;

/* -pc_type is the user's word, and has to be the right one */
static PetscErrorCode check_pc_type(KSP ksp)
{
  const BCRRefineKind *kind = ((KSP_Refine *)ksp->data)->kind;
  PC pc;
  PetscBool given, same;
  const char *prefix;
  char type[64] = "";
  BCRFault fault = {PETSC_SUCCESS, ""};

  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCGetOptionsPrefix(pc, &prefix));
  PetscCall(PetscOptionsGetString(((PetscObject)pc)->options, prefix, "-pc_type", type, sizeof(type), &given));
  PetscCall(PetscStrcmp(type, kind->pc, &same));
  if (given && !same)
    PetscCall(BCRFaultSet(&fault, PETSC_ERR_ARG_INCOMP,
                          "%s solves with %s, but -%spc_type is %s: leave the option out, or take another -%sksp_type",
                          kind->name, kind->pcname, prefix ? prefix : "", type, prefix ? prefix : ""));
  PetscCall(BCRFaultAgree(PetscObjectComm((PetscObject)ksp), &fault)); /* ranks may have options of their own */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solver inside is the PC of the KSP. KSPSetFromOptions() may have given it some default type
   before it comes to the type of the KSP, which cannot be told from a type that the program set:
   either is replaced. */
static PetscErrorCode set_pc_type(KSP ksp, PetscBool *changed)
{
  const BCRRefineKind *kind = ((KSP_Refine *)ksp->data)->kind;
  PC pc;
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, kind->pc, &same));
  *changed = (PetscBool)!same;
  if (same) PetscFunctionReturn(PETSC_SUCCESS);
  if (((PetscObject)pc)->type_name)
    PetscCall(PetscInfo(ksp, "%s replaces the preconditioner type %s by %s\n", kind->name, ((PetscObject)pc)->type_name,
                        kind->pc));
  PetscCall(PCSetType(pc, kind->pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPSetUp_Refine(KSP ksp)
{
  PetscBool changed = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(set_pc_type(ksp, &changed));
  if (changed && ksp->setfromoptionscalled) PetscCall(PCSetFromOptions(ksp->pc));
  PetscCall(KSPSetWorkVecs(ksp, 2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPSetFromOptions_Refine(KSP ksp, BCROptionItems PetscOptionsObject)
{
  const BCRRefineKind *kind = ((KSP_Refine *)ksp->data)->kind;
  PetscErrorCode (*options)(PC, const char[], BCROptionItems) = NULL;
  PC pc;
  PetscBool changed = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(check_pc_type(ksp));
  PetscCall(set_pc_type(ksp, &changed));
  PetscCall(KSPGetPC(ksp, &pc));
  if (changed) PetscCall(PCSetFromOptions(pc));
  PetscOptionsHeadBegin(PetscOptionsObject, kind->head);
  PetscCall(PetscObjectQueryFunction((PetscObject)pc, kind->options, &options));
  if (options) PetscCall((*options)(pc, kind->stem, PetscOptionsObject));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* r = b - A x */
static PetscErrorCode residual_of(KSP ksp, Mat A, Vec b, Vec x, Vec r)
{
  PetscFunctionBegin;
  PetscCall(KSP_MatMult(ksp, A, x, r));
  PetscCall(VecAYPX(r, -1, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Why the residual norm came down to best and no further, for KSPView(), -info and
   KSPSetErrorIfNotConverged(): what the solver inside knows (BCRExplain()), else what can be seen
   from here. Like PETSc's own solvers an inner KSP that has used up its iterations raises nothing.
   */
static PetscErrorCode explain(KSP ksp, PetscReal best)
{
  KSP_Refine *refine = (KSP_Refine *)ksp->data;
  char text[BCR_WHY - 128] = "";
  PetscErrorCode (*reason)(PC, PetscReal, size_t, char[]) = NULL;
  Mat A, P;

  PetscFunctionBegin;
  if (ksp->reason > 0 || ksp->reason == KSP_DIVERGED_NANORINF) PetscFunctionReturn(PETSC_SUCCESS);
  best = PetscMin(best, ksp->rnorm);
  PetscCall(PCGetOperators(ksp->pc, &A, &P));
  PetscCall(PetscObjectQueryFunction((PetscObject)ksp->pc, "BCRExplain_C", &reason));
  if (reason) PetscCall((*reason)(ksp->pc, best, sizeof(text), text));
  if (!text[0] && A != P)
    PetscCall(PetscSNPrintf(
      text, sizeof(text),
      "the solver is of the preconditioning matrix, which is not the operator: use KSPCG or KSPGMRES with %s",
      refine->kind->pcname));
  if (!text[0])
    PetscCall(PetscSNPrintf(text, sizeof(text),
                            "the tolerance is below rounding, or %s does not solve with all of the matrix (see its "
                            "view): ask for less, or use KSPCG or KSPGMRES with it",
                            refine->kind->pcname));
  PetscCall(PetscSNPrintf(refine->why, sizeof(refine->why),
                          "%s, smallest residual norm %g after %" PetscInt_FMT " solves: %s",
                          KSPConvergedReasons[ksp->reason], (double)best, refine->solves, text));
  PetscCall(PetscInfo(ksp, "%s\n", refine->why));
  PetscCheck(!ksp->errorifnotconverged || ksp->reason == KSP_DIVERGED_ITS, PetscObjectComm((PetscObject)ksp),
             PETSC_ERR_NOT_CONVERGED, "%s", refine->why);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void start(KSP ksp)
{
  KSP_Refine *refine = (KSP_Refine *)ksp->data;

  ksp->its = 0;
  ksp->reason = KSP_CONVERGED_ITERATING;
  refine->solves = 0;
  refine->why[0] = 0;
}

typedef struct {
  PetscReal best;    /* smallest residual norm so far */
  PetscInt stagnant; /* steps since then */
} Progress;

/* Of a residual that is not small enough yet: sets the reason where no further step is to be made */
static void judge(KSP ksp, Progress *progress, PetscReal norm)
{
  progress->stagnant = norm < progress->best ? 0 : progress->stagnant + 1;
  progress->best = PetscMin(progress->best, norm);
  if (ksp->its >= ksp->max_it) ksp->reason = KSP_DIVERGED_ITS;
  else if (progress->stagnant >= BCR_STAGNATION) ksp->reason = KSP_DIVERGED_BREAKDOWN;
}

static PetscErrorCode KSPSolve_Refine(KSP ksp)
{
  KSP_Refine *refine = (KSP_Refine *)ksp->data;
  Progress progress = {PETSC_MAX_REAL, 0};
  Mat A;
  Vec b = ksp->vec_rhs, x = ksp->vec_sol, r = ksp->work[0], z = ksp->work[1], residual = b;
  PetscReal norm;
  PetscBool zero = ksp->guess_zero; /* x counts as zero and is not read */

  PetscFunctionBegin;
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  start(ksp);
  if (!zero) {
    PetscCall(residual_of(ksp, A, b, x, r));
    residual = r;
  }
  if (ksp->normtype == KSP_NORM_NONE) {
    /* nothing is measured, so nothing can be refined: one solve, whatever the maximum of iterations */
    PetscCall(KSP_PCApply(ksp, residual, zero ? x : z));
    if (!zero) PetscCall(VecAXPY(x, 1, z));
    refine->solves = ksp->its = 1;
    ksp->reason = KSP_CONVERGED_ITS;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  while (PETSC_TRUE) {
    PetscBool solved = PETSC_FALSE;

    if (ksp->normtype == KSP_NORM_PRECONDITIONED) {
      PetscCall(KSP_PCApply(ksp, residual, z));
      ++refine->solves;
      solved = PETSC_TRUE;
      PetscCall(VecNorm(z, NORM_2, &norm));
    } else PetscCall(VecNorm(residual, NORM_2, &norm));
    if (zero && PetscIsInfOrNanReal(norm)) PetscCall(VecSet(x, 0));
    KSPCheckNorm(ksp, norm);
    ksp->rnorm = norm;
    PetscCall(KSPLogResidualHistory(ksp, norm));
    PetscCall(KSPMonitor(ksp, ksp->its, norm));
    PetscCall((*ksp->converged)(ksp, ksp->its, norm, &ksp->reason, ksp->cnvP));
    /* a guess that is good enough is solved for all the same, as this is what one asks a direct solver for */
    if (ksp->reason > 0 && !ksp->its && norm > 0 && ksp->max_it > 0) ksp->reason = KSP_CONVERGED_ITERATING;
    if (ksp->reason) break;
    judge(ksp, &progress, norm);
    if (ksp->reason) break;
    if (zero && !solved) PetscCall(KSP_PCApply(ksp, residual, x));
    else if (!solved) PetscCall(KSP_PCApply(ksp, residual, z));
    if (!solved) ++refine->solves;
    if (zero && solved) PetscCall(VecCopy(z, x));
    else if (!zero) PetscCall(VecAXPY(x, 1, z));
    zero = PETSC_FALSE;
    ++ksp->its;
    PetscCall(residual_of(ksp, A, b, x, r));
    residual = r;
  }
  if (zero) PetscCall(VecSet(x, 0));
  PetscCall(explain(ksp, progress.best));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Several right-hand sides: columns of dense matrices */

/* Z = M^{-1} R, the null space removed as KSP_PCApply() does */
static PetscErrorCode mat_apply(KSP ksp, Mat R, Mat Z)
{
  Mat A;
  MatNullSpace nullspace;
  Vec column;
#if PETSC_VERSION_LT(3, 24, 0)
  Vec r, z;
#endif
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(R, NULL, &n));
  if (!ksp->transpose_solve) {
    PetscErrorCode (*refined)(PC, PetscBool) = NULL, ierr;

    /* PCBCRPOISSON lets its fits be applied to several vectors only where their residuals are looked at */
    PetscCall(PetscObjectQueryFunction((PetscObject)ksp->pc, "PCBCRPoissonSetRefined_C", &refined));
    if (refined) PetscCall((*refined)(ksp->pc, (PetscBool)(ksp->normtype != KSP_NORM_NONE)));
    ierr = PCMatApply(ksp->pc, R, Z);
    if (refined) PetscCall((*refined)(ksp->pc, PETSC_FALSE));
    PetscCall(ierr);
  } else {
#if PETSC_VERSION_GE(3, 24, 0)
    PetscCall(PCMatApplyTranspose(ksp->pc, R, Z));
#else
    for (PetscInt c = 0; c < n; ++c) {
      PetscErrorCode ierr;

      PetscCall(MatDenseGetColumnVecRead(R, c, &r));
      PetscCall(MatDenseGetColumnVecWrite(Z, c, &z));
      ierr = PCApplyTranspose(ksp->pc, r, z);
      PetscCall(MatDenseRestoreColumnVecWrite(Z, c, &z));
      PetscCall(MatDenseRestoreColumnVecRead(R, c, &r));
      PetscCall(ierr);
    }
#endif
  }
  if (ksp->pc_side != PC_LEFT) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  if (ksp->transpose_solve) PetscCall(MatGetTransposeNullSpace(A, &nullspace));
  else PetscCall(MatGetNullSpace(A, &nullspace));
  for (PetscInt c = 0; c < n && nullspace; ++c) {
    PetscCall(MatDenseGetColumnVec(Z, c, &column));
    PetscCall(MatNullSpaceRemove(nullspace, column));
    PetscCall(MatDenseRestoreColumnVec(Z, c, &column));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* to = from, vectors that may live in different memory */
static PetscErrorCode copy_between(Vec from, Vec to)
{
  const PetscScalar *f;
  PetscScalar *t;
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(from, &n));
  PetscCall(VecGetArrayRead(from, &f));
  PetscCall(VecGetArrayWrite(to, &t));
  PetscCall(PetscArraycpy(t, f, n));
  PetscCall(VecRestoreArrayWrite(to, &t));
  PetscCall(VecRestoreArrayRead(from, &f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* norms[]: of the columns */
static PetscErrorCode mat_norms(Mat B, PetscReal norms[])
{
  PetscInt n;
  Vec b;

  PetscFunctionBegin;
  PetscCall(MatGetSize(B, NULL, &n));
  for (PetscInt c = 0; c < n; ++c) {
    PetscCall(MatDenseGetColumnVecRead(B, c, &b));
    PetscCall(VecNorm(b, NORM_2, &norms[c]));
    PetscCall(MatDenseRestoreColumnVecRead(B, c, &b));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One column of the following. A matrix of the device takes host vectors for ones whose entries it
   has there already, columns of a dense matrix however are one vector with ever another array: the
   product is taken with the KSP's own vectors where their type differs. */
static PetscErrorCode column_residual(KSP ksp, Mat A, Vec b, Vec x, Vec r, PetscReal *norm)
{
  VecType type[2];
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(VecGetType(x, &type[0]));
  PetscCall(VecGetType(ksp->work[0], &type[1]));
  PetscCall(PetscStrcmp(type[0], type[1], &same));
  if (same) PetscCall(residual_of(ksp, A, b, x, r));
  else {
    PetscCall(copy_between(x, ksp->work[0]));
    PetscCall(KSP_MatMult(ksp, A, ksp->work[0], ksp->work[1]));
    PetscCall(copy_between(ksp->work[1], r));
    PetscCall(VecAYPX(r, -1, b));
  }
  PetscCall(VecNorm(r, NORM_2, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* R = B - A X column by column (a MATSHELL multiplies vectors only), norms: of the columns of R. A
   product that fails leaves dense matrices from which no column is taken out: PETSc would not
   destroy others. */
static PetscErrorCode mat_residual(KSP ksp, Mat B, Mat X, Mat R, PetscReal norms[])
{
  Mat A;
  Vec b, x, r;
  PetscInt n;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  PetscCall(MatGetSize(B, NULL, &n));
  for (PetscInt c = 0; c < n; ++c) {
    PetscCall(MatDenseGetColumnVecRead(B, c, &b));
    PetscCall(MatDenseGetColumnVecRead(X, c, &x));
    PetscCall(MatDenseGetColumnVecWrite(R, c, &r));
    ierr = column_residual(ksp, A, b, x, r, &norms[c]);
    PetscCall(MatDenseRestoreColumnVecWrite(R, c, &r));
    PetscCall(MatDenseRestoreColumnVecRead(X, c, &x));
    PetscCall(MatDenseRestoreColumnVecRead(B, c, &b));
    PetscCall(ierr);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A dense matrix like B that stays until another block comes or the KSP is reset: memory that is
   new each time costs more than a solve */
static PetscErrorCode mat_work(Mat B, Mat *work)
{
  PetscBool same = PETSC_FALSE, rows, columns;
  MatType type;
  PetscLayout to[2], of[2];

  PetscFunctionBegin;
  if (*work) {
    PetscCall(MatGetType(B, &type));
    PetscCall(PetscObjectTypeCompare((PetscObject)*work, type, &same));
    PetscCall(MatGetLayouts(B, &to[0], &to[1]));
    PetscCall(MatGetLayouts(*work, &of[0], &of[1]));
    PetscCall(PetscLayoutCompare(to[0], of[0], &rows));
    PetscCall(PetscLayoutCompare(to[1], of[1], &columns));
    if (!rows || !columns) same = PETSC_FALSE;
  }
  if (same) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDestroy(work));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest norm, a NaN where there is one; *reason to stop, if each column is below its target */
static PetscReal judge_columns(KSP ksp, PetscInt n, const PetscReal norms[], const PetscReal target[],
                               KSPConvergedReason *reason)
{
  PetscReal norm = 0;
  PetscBool done = PETSC_TRUE;

  for (PetscInt c = 0; c < n && !PetscIsInfOrNanReal(norm); ++c) {
    if (!(norms[c] <= norm)) norm = norms[c]; /* written so that a NaN stays */
    if (!(norms[c] <= target[c])) done = PETSC_FALSE;
  }
  *reason = KSP_CONVERGED_ITERATING;
  if (PetscIsInfOrNanReal(norm)) *reason = KSP_DIVERGED_NANORINF;
  else if (ksp->normtype == KSP_NORM_NONE && ksp->its) *reason = KSP_CONVERGED_ITS;
  else if (done && (ksp->its || norm == 0)) *reason = norm <= ksp->abstol ? KSP_CONVERGED_ATOL : KSP_CONVERGED_RTOL;
  return norm;
}

/* All columns are refined until each has its residual below max(rtol ||b||, atol). Monitors and
   history get the largest norm. The guess that counts as zero is not read: the first solve goes
   from B to X. */
static PetscErrorCode KSPMatSolve_Refine(KSP ksp, Mat B, Mat X)
{
  KSP_Refine *refine = (KSP_Refine *)ksp->data;
  Progress progress = {PETSC_MAX_REAL, 0};
  PetscReal *norms, *target; /* [n] */
  PetscInt n;
  PetscBool zero = ksp->guess_zero;

  PetscFunctionBegin;
#if PETSC_VERSION_LT(3, 19, 0)
  /* KSPMatSolve() has no transpose there, and leaves what KSPSolveTranspose() has set last */
  ksp->transpose_solve = PETSC_FALSE;
#endif
  start(ksp);
  PetscCall(MatGetSize(B, NULL, &n));
  if (ksp->normtype == KSP_NORM_NONE && zero) {
    PetscCall(mat_apply(ksp, B, X));
    refine->solves = ksp->its = 1;
    ksp->reason = KSP_CONVERGED_ITS;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(mat_work(B, &refine->R));
  PetscCall(PetscMalloc2(n, &norms, n, &target));
  PetscCall(mat_norms(B, target));
  if (zero) PetscCall(PetscArraycpy(norms, target, n));
  else PetscCall(mat_residual(ksp, B, X, refine->R, norms));
  for (PetscInt c = 0; c < n; ++c) target[c] = PetscMax(ksp->rtol * target[c], ksp->abstol);
  while (PETSC_TRUE) {
    KSPConvergedReason reason;

    ksp->rnorm = judge_columns(ksp, n, norms, target, &reason);
    PetscCall(KSPLogResidualHistory(ksp, ksp->rnorm));
    PetscCall(KSPMonitor(ksp, ksp->its, ksp->rnorm));
    ksp->reason = reason;
    if (ksp->reason) break;
    judge(ksp, &progress, ksp->rnorm);
    if (ksp->reason) break;
    if (zero) PetscCall(mat_apply(ksp, B, X));
    else {
      PetscCall(mat_work(B, &refine->Z));
      PetscCall(mat_apply(ksp, refine->R, refine->Z));
      PetscCall(MatAXPY(X, 1, refine->Z, SAME_NONZERO_PATTERN));
    }
    zero = PETSC_FALSE;
    ++refine->solves;
    ++ksp->its;
    PetscCall(mat_residual(ksp, B, X, refine->R, norms));
  }
  if (zero) PetscCall(MatZeroEntries(X));
  PetscCall(PetscFree2(norms, target));
  PetscCall(explain(ksp, progress.best));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPReset_Refine(KSP ksp)
{
  KSP_Refine *refine = (KSP_Refine *)ksp->data;

  PetscFunctionBegin;
  PetscCall(MatDestroy(&refine->R));
  PetscCall(MatDestroy(&refine->Z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPDestroy_Refine(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPReset_Refine(ksp));
  PetscCall(KSPDestroyDefault(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPView_Refine(KSP ksp, PetscViewer viewer)
{
  KSP_Refine *refine = (KSP_Refine *)ksp->data;
  PetscBool ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  if (ksp->normtype == KSP_NORM_NONE)
    PetscCall(PetscViewerASCIIPrintf(viewer, "one direct solve, no refinement as no norm is computed\n"));
  else PetscCall(PetscViewerASCIIPrintf(viewer, "direct solve, then refinement until the convergence test\n"));
  if (refine->solves)
    PetscCall(
      PetscViewerASCIIPrintf(viewer, "direct solves of the last right-hand side: %" PetscInt_FMT "\n", refine->solves));
  if (refine->why[0]) PetscCall(PetscViewerASCIIPrintf(viewer, "not converged: %s\n", refine->why));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRefineCreate(KSP ksp, const BCRRefineKind *kind)
{
  KSP_Refine *refine;
  PC pc;

  PetscFunctionBegin;
  PetscCall(PetscNew(&refine));
  refine->kind = kind;
  ksp->data = refine;
  /* at once, so that the program can call the setters of the preconditioner */
  PetscCall(KSPGetPC(ksp, &pc));
  if (!((PetscObject)pc)->type_name) PetscCall(PCSetType(pc, kind->pc));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, PC_LEFT, 3));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_PRECONDITIONED, PC_LEFT, 2));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, PC_RIGHT, 2));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_NONE, PC_LEFT, 1));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_NONE, PC_RIGHT, 1));
#if PETSC_VERSION_GE(3, 26, 0)
  ksp->guess_not_read = PETSC_TRUE; /* a guess that counts as zero need not be zero: KSPSolve() leaves it alone */
#endif
  ksp->ops->setup = KSPSetUp_Refine;
  ksp->ops->solve = KSPSolve_Refine;
  ksp->ops->matsolve = KSPMatSolve_Refine;
  ksp->ops->setfromoptions = KSPSetFromOptions_Refine;
  ksp->ops->view = KSPView_Refine;
  ksp->ops->reset = KSPReset_Refine;
  ksp->ops->destroy = KSPDestroy_Refine;
  ksp->ops->buildsolution = KSPBuildSolutionDefault;
  ksp->ops->buildresidual = KSPBuildResidualDefault;
  PetscFunctionReturn(PETSC_SUCCESS);
}
