/*
  Which fit PCBCRPOISSON takes by itself. Estimates of the condition number (src/operator/fit.c) are rough, so fits are
  compared where much may be gained: a few steps of GMRES with each on a right-hand side of random numbers.
*/
#include "bcrpoisson.h"

#define BCR_RIVALS_STEPS  40 /* of each fit, at most */
#define BCR_RIVALS_SOME   12 /* that tell iterations where there are no more than so many: */
#define BCR_RIVALS_MANY   24
#define BCR_RIVALS_FEW    8     /* iterations that nobody tries to better */
#define BCR_RIVALS_LAG    4     /* a residual so many times that of the best fit is of another one */
#define BCR_RIVALS_RTOL   1e-8  /* what iterations are predicted for */
#define BCR_RIVALS_ENOUGH 1e-5  /* what is enough to tell them */
#define BCR_RIVALS_BOUNDS 32    /* a bound so many times that of a fit that takes few iterations is of no rival */
#define BCR_RIVALS_DENSE  512.0 /* unknowns along axes that are transformed by eigenvectors, for twice the time */

/* The residuals of a fit, the first one 1, and of the best one so far; n of them */
typedef struct {
  PetscBool behind; /* it has been given up as it lags */
  PetscInt n, best;
  PetscReal norm[BCR_RIVALS_STEPS + 1], than[BCR_RIVALS_STEPS + 1], first;
} Trial;

/* What the steps are of: D^-1/2 A M D^1/2, M the fit. Norms of residuals are the same for all fits then, and rows of all sizes
   count in them */
typedef struct {
  PC pc;
  Vec root, up, back; /* D^1/2; scratch */
} Scaled;

static PetscErrorCode apply_scaled(Mat A, Vec x, Vec y)
{
  Scaled *s;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &s));
  PetscCall(VecPointwiseMult(s->up, s->root, x));
  PetscCall(PCApply_BCRPoisson(s->pc, s->up, s->back));
  PetscCall(MatMult(s->pc->pmat, s->back, y));
  PetscCall(VecPointwiseDivide(y, y, s->root));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The diagonals that are not zero */
static PetscErrorCode scaled_create(PC pc, Scaled *s)
{
  PetscInt n;
  PetscScalar *a;

  PetscFunctionBegin;
  s->pc = pc;
  PetscCall(MatCreateVecs(pc->pmat, &s->up, &s->back));
  PetscCall(VecDuplicate(s->back, &s->root));
  PetscCall(MatGetDiagonal(pc->pmat, s->root));
  PetscCall(VecGetLocalSize(s->root, &n));
  PetscCall(VecGetArray(s->root, &a));
  for (PetscInt i = 0; i < n; i++) a[i] = a[i] == (PetscScalar)0 ? 1 : PetscSqrtReal(PetscAbsScalar(a[i]));
  PetscCall(VecRestoreArray(s->root, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode scaled_destroy(Scaled *s)
{
  PetscFunctionBegin;
  PetscCall(VecDestroy(&s->root));
  PetscCall(VecDestroy(&s->up));
  PetscCall(VecDestroy(&s->back));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations that the steps promise. First steps promise fewer than later ones, mostly: those of a fit that lags, which has
   only these, are not compared with the leader's */
static double promised(const Trial *t)
{
  const double decay = -log((double)PetscMax(t->norm[t->n], PETSC_SQRT_MACHINE_EPSILON * PETSC_SQRT_MACHINE_EPSILON));

  return decay > 0 ? -log(BCR_RIVALS_RTOL) * (double)t->n / decay : PETSC_MAX_REAL;
}

static PetscErrorCode stop_trial(KSP ksp, PetscInt it, PetscReal norm, KSPConvergedReason *reason, void *ctx)
{
  Trial *t = (Trial *)ctx;

  PetscFunctionBegin;
  (void)ksp;
  if (it == 0) t->first = norm;
  t->norm[it] = t->first > 0 ? norm / t->first : 0;
  t->n = it;
  t->behind = (PetscBool)(it >= 2 && t->norm[it] > BCR_RIVALS_LAG * t->than[PetscMin(it, t->best)]);
  *reason = KSP_CONVERGED_ITERATING;
  if (t->behind || it == BCR_RIVALS_STEPS || !(t->norm[it] > (PetscReal)BCR_RIVALS_ENOUGH) ||
      (it >= BCR_RIVALS_SOME && promised(t) <= BCR_RIVALS_MANY))
    *reason = KSP_CONVERGED_ITS;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers of a unit interval around zero, the same on any ranks */
static PetscErrorCode set_random(PC pc, Vec v)
{
  const PC_BCRPoisson *bcr = (const PC_BCRPoisson *)pc->data;
  const BCRGrid *g = &bcr->place.grid;
  PetscInt first, n;
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(v, &first, &n));
  n -= first;
  PetscCall(VecGetArrayWrite(v, &a));
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt node = i / g->dof;
    uint64_t r = (uint64_t)(first + i);

    if (!bcr->place.ordered)
      r = (uint64_t)(i % g->dof + g->dof * (g->lo[0] + node % g->n[0] +
                                            g->N[0] * (g->lo[1] + node / g->n[0] % g->n[1] +
                                                       g->N[1] * (g->lo[2] + node / g->n[0] / g->n[1]))));
    r = (r + 1) * UINT64_C(0x9E3779B97F4A7C15); /* splitmix64, S. Vigna */
    r = (r ^ (r >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    r = (r ^ (r >> 27)) * UINT64_C(0x94D049BB133111EB);
    a[i] = (PetscScalar)((PetscReal)(r >> 40) / 16777216 - (PetscReal)0.5);
  }
  PetscCall(VecRestoreArrayWrite(v, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A few steps with the fit that there is now. Collective */
static PetscErrorCode try_fit(PC pc, Trial *t)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  const PetscBool followed = bcr->followed;
  PetscBool singular = BCRPoissonSingular(pc), given = PETSC_FALSE;
  PetscInt n;
  PetscOptions unset;
  KSP ksp;
  PC none;
  Mat A;
  Scaled s;
  Vec b, x;

  PetscFunctionBegin;
  PetscCall(BCRPoissonNullSpaceGiven(pc, &given));
  PetscCall(scaled_create(pc, &s));
  PetscCall(MatCreateVecs(pc->pmat, &x, &b));
  PetscCall(VecGetLocalSize(b, &n));
  PetscCall(set_random(pc, b));
  if (singular || given) {
    PetscCall(VecCopy(b, x));
    PetscCall(MatMult(pc->pmat, x, b));
    PetscCall(VecPointwiseDivide(b, b, s.root));
  }
  PetscCall(MatCreateShell(PetscObjectComm((PetscObject)pc), n, n, PETSC_DETERMINE, PETSC_DETERMINE, &s, &A));
  PetscCall(MatShellSetOperation(A, MATOP_MULT, (void (*)(void))apply_scaled));
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)pc), &ksp));
  PetscCall(PetscOptionsCreate(&unset)); /* the user's -ksp_converged_reason is not for this KSP */
  PetscCall(PetscObjectSetOptions((PetscObject)ksp, unset));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPGMRESSetRestart(ksp, BCR_RIVALS_STEPS));
  PetscCall(KSPSetConvergenceTest(ksp, stop_trial, t, NULL));
  PetscCall(KSPSetTolerances(ksp, 0, 0, PETSC_MAX_REAL, BCR_RIVALS_STEPS));
  PetscCall(KSPGetPC(ksp, &none));
  PetscCall(PCSetType(none, PCNONE));
  t->n = 0;
  t->behind = PETSC_FALSE;
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(PetscOptionsDestroy(&unset));
  PetscCall(MatDestroy(&A));
  PetscCall(scaled_destroy(&s));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  bcr->followed = followed;
  bcr->removed = bcr->told = 0;
  pc->failedreason = PC_NOERROR;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same, of fits with dense products how long they take in iterations of others */
static double predict(const PC_BCRPoisson *bcr, const Trial *t)
{
  const double its = promised(t);
  double dense = 0;

  for (PetscInt c = 0; c < bcr->dof; c++) {
    double rest, n = 0;
    const PetscInt line = BCRAxesLine(bcr->ops[c].dim, bcr->ops[c].axis, &rest);

    for (PetscInt d = 0; d < 3; d++)
      if (bcr->ops[c].axis[d].lower && d != line) n += (double)bcr->ops[c].axis[d].n;
    dense = PetscMax(dense, n);
  }
  return its < PETSC_MAX_REAL ? its * (1 + dense / BCR_RIVALS_DENSE) : its;
}

/* Whether auto has taken a fit by its bound alone so far */
static PetscBool is_open(const BCROperator *op)
{
  return (PetscBool)(op->bounds[op->taken] > 0 && !op->prefer);
}

/* What is known of a component before the first trial */
typedef struct {
  PetscBool open;
  int taken;
  PetscReal bounds[8];
} Known;

/* Components that are open take this fit, or, where they do not have it, what they had */
static void prefer(PC_BCRPoisson *bcr, int fit, const Known known[])
{
  for (PetscInt c = 0; c < bcr->dof; c++) {
    if (!known[c].open) continue;
    bcr->ops[c].prefer = known[c].bounds[fit] > 0 ? fit : known[c].taken;
    bcr->ops[c].preferred = 0;
  }
}

/* Whether a fit may be so much better than the one that takes so many iterations: bounds decide where these are few, and of no
   use where there are many (tests/mpi/fits.c) */
static PetscBool is_rival(const PC_BCRPoisson *bcr, int fit, const Known known[], double its)
{
  const double most = PetscMax(BCR_RIVALS_BOUNDS, pow(4, (its - BCR_RIVALS_FEW) / 4));

  for (PetscInt c = 0; c < bcr->dof; c++)
    if (known[c].open && fit != known[c].taken && known[c].bounds[fit] > 0 &&
        (its > 2 * BCR_RIVALS_FEW || (double)known[c].bounds[fit] <= most * (double)known[c].bounds[known[c].taken]))
      return PETSC_TRUE;
  return PETSC_FALSE;
}

/* *many: that which is taken promises many iterations */
static PetscErrorCode compare_fits(PC pc, PetscErrorCode (*plan)(PC), Known known[], PetscBool *many)
{
  static const int fits[] = {BCR_FIT_UNIFORM, BCR_FIT_STRETCHED, BCR_FIT_PROFILE, BCR_FIT_AVERAGE};
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  int best = -1, now = -1; /* -1: what bounds have said */
  double least;
  Trial t, leader;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&t, sizeof(t)));
  for (PetscInt i = 0; i <= BCR_RIVALS_STEPS; i++) t.than[i] = PETSC_MAX_REAL / BCR_RIVALS_LAG;
  t.best = BCR_RIVALS_STEPS;
  PetscCall(try_fit(pc, &t));
  leader = t;
  least = predict(bcr, &t);
  PetscCall(PetscInfo(pc, "Fit %s takes %g iterations, as its first ones promise\n", bcr->ops[0].fit, least));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(fits) && least > BCR_RIVALS_FEW; k++) {
    double its;

    if (!is_rival(bcr, fits[k], known, least)) continue;
    now = fits[k];
    prefer(bcr, now, known);
    PetscCall(plan(pc));
    PetscCall(PetscArraycpy(t.than, leader.norm, BCR_RIVALS_STEPS + 1));
    t.best = leader.n;
    PetscCall(try_fit(pc, &t));
    its = predict(bcr, &t);
    PetscCall(PetscInfo(pc, "Fit %s would take %g%s\n", bcr->ops[0].fit, its, t.behind ? " or more" : ""));
    if (t.behind || !(its < least)) continue;
    least = its;
    leader = t;
    best = now;
  }
  *many = (PetscBool)(least > BCR_RIVALS_MANY);
  if (best == now) PetscFunctionReturn(PETSC_SUCCESS);
  prefer(bcr, PetscMax(best, 0), known);
  PetscCall(plan(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPoissonCompareFits(PC pc, PetscErrorCode (*plan)(PC))
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  PetscBool many = PETSC_FALSE;
  PetscInt open = 0;
  Known *known;

  PetscFunctionBegin;
  if (bcr->fit != PCBCRPOISSON_FIT_AUTO || bcr->turn) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt c = 0; c < bcr->dof; c++) open += is_open(&bcr->ops[c]) ? 1 : 0;
  if (!open) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRFaultShare(bcr->place.grid.comm, PetscCalloc1(bcr->dof, &known), BCR_NO_MEMORY));
  for (PetscInt c = 0; c < bcr->dof; c++) {
    known[c].open = is_open(&bcr->ops[c]);
    known[c].taken = bcr->ops[c].taken;
    PetscCall(PetscArraycpy(known[c].bounds, bcr->ops[c].bounds, PETSC_STATIC_ARRAY_LENGTH(known[c].bounds)));
  }
  BCRCallElse(compare_fits(pc, plan, known, &many), (void)PetscFree(known));
  for (PetscInt c = 0; c < bcr->dof; c++) {
    if (!known[c].open) continue;
    bcr->ops[c].prefer = bcr->ops[c].taken;
    bcr->ops[c].preferred = bcr->ops[c].bound;
    PetscCall(PetscArrayzero(bcr->ops[c].rivals, PETSC_STATIC_ARRAY_LENGTH(known[c].bounds)));
    if (many) PetscCall(PetscArraycpy(bcr->ops[c].rivals, known[c].bounds, PETSC_STATIC_ARRAY_LENGTH(known[c].bounds)));
  }
  PetscCall(PetscFree(known));
  PetscFunctionReturn(PETSC_SUCCESS);
}
