/*
  Matrices that are not separable: a separable operator near them (docs/method.md, section "operator").

  average  the mean coupling of each axis, the mean row sum as shift;
  scaled   A ~ S B S after Concus and Golub (SIAM J. Numer. Anal. 10, 1973): with -div(k grad u) and S = sqrt(k) the couplings of
           S^{-1} A S^{-1} are 1 + O(h^2) and a bounded potential is left on the diagonal, whose mean becomes the shift.
           Axes may be stretched (fitstretched.c), where that is better;
  profile  the means of the layers across one axis (fitprofile.c).

  The fit of a matrix that is regular is regular. Where no end of the fit holds the solution fixed,
  its shift is the Rayleigh quotient of the matrix, in the scales of the fit, for the constant, over
  all rows: end rows count (a pinned cell, a wall that conducts heat). It is zero only where the
  sums of all rows vanish.

  Rows apart (rows with nothing but a diagonal where some links are gone, of any size; penalties: the couplings are at
  most an eighth of the diagonal, which is more than eight times, or less than an eighth of, what the fit has) take no
  part in means, and are solved by themselves (Jacobi), beside the fit.

  auto takes the fit for which an estimate of the condition number is smaller: the spread of the
  couplings times one plus what is left on the diagonal over the smallest eigenvalue of the fit. Of
  what is left the root mean square distance from the mean counts: the largest would be a bound, but
  a potential that is large near an end or a corner only does little harm.
*/
#include "fitimpl.h"
#include <math.h>

#define BCR_FIT_LAYERS_LEAST  1.2 /* below such a bound layers are not looked at: no profile, no stretched axes */
#define BCR_FIT_LAYERS_DEVICE 4   /* the same of a matrix on a device, which would be brought to the host */
#define BCR_FIT_LAYERS_SPREAD 2   /* nor stretched axes where scales leave no more of the couplings' spread */
#define BCR_FIT_SAME          1.25 /* bounds that differ by no more than this factor are those of nearly the same values */

/* T is singular where its smallest eigenvalue is below this of its diagonal */
#define BCR_FIT_SINGULAR 1e-12

#define FIT_NONE \
  "No separable operator near the preconditioning matrix is definite: it has off-diagonal entries of the sign of " \
  "its diagonal (it is indefinite, or no Poisson operator), or its rows differ too much for this fit. Use " \
  "-pc_bcrpoisson_fit auto, or give another preconditioning matrix (second matrix of KSPSetOperators()), for example " \
  "the Laplacian alone"

/* ---- what passes amount to, over all ranks ---- */

/* Row scales (F->scaled: with the mean couplings), then the couplings: mean along each axis, and the largest quotient
   over all links after division by that mean */
static PetscErrorCode BCRFitMeans(BCRFitData *F, const double mean[3], BCRFitRange *scales, BCRFitResult *r)
{
  double lo = PETSC_MAX_REAL, hi = 0;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(r->link, sizeof(r->link)));
  PetscCall(F->passes->means(F, mean, scales, r->link));
  PetscCall(PetscArraycpy(r->near, r->link, 3));
  PetscCall(BCRFitRangeAgree(F->A->comm, 3, r->link));
  if (scales) PetscCall(BCRFitRangeAgree(F->A->comm, 1, scales));
  r->spread = 1;
  for (PetscInt d = 0; d < 3; d++) {
    r->mean[d] = BCRFitRangeMean(&r->link[d]);
    r->a[d] = d < F->dim && F->n[d] > 1 ? r->mean[d] : 0;
    if (d >= F->dim || F->n[d] < 2 || r->mean[d] == 0) continue;
    lo = PetscMin(lo, r->link[d].lo / r->mean[d]);
    hi = PetscMax(hi, r->link[d].hi / r->mean[d]);
  }
  if (hi > 0) r->spread = lo > 0 ? hi / lo : PETSC_INFINITY;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is left inside the box */
static PetscErrorCode BCRFitLeft(BCRFitData *F, BCRFitResult *r)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(&r->left, sizeof(r->left)));
  PetscCall(F->passes->left(F, r->a, &r->left));
  r->nearleft = r->left;
  PetscCall(BCRFitRangeAgree(F->A->comm, 1, &r->left));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRFitTotals(BCRFitData *F, BCRFitResult *r)
{
  const PetscMPIInt size = F->A->grid.size;
  BCRFitTotal *all, mine = {0, 0, PETSC_INFINITY, -PETSC_INFINITY, 0};

  PetscFunctionBegin;
  r->total = mine;
  PetscCall(F->passes->total(F, r->a, &mine));
  PetscCall(BCRFaultShare(F->A->comm, PetscMalloc1(size, &all), BCR_NO_MEMORY));
  PetscCallMPI(MPI_Allgather(&mine, sizeof(mine), MPI_BYTE, all, sizeof(mine), MPI_BYTE, F->A->comm));
  for (PetscInt p = 0; p < (PetscInt)size; p++) BCRFitTotalJoin(&r->total, &all[p]); /* in this order on every rank */
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- one fit ---- */

/* What may be solved exactly by other options than those given, for an error of a fit */
static const char *fit_elsewhere(const BCRRows *A)
{
  if (A->rings) return "";
  return A->several ? ". Periodic axes with coefficients that vary, and axes that are multiplied by numbers along "
                      "another, are for -pc_bcrpoisson_backend cpu"
                    : ". Coefficients that vary along more than one axis, or a periodic one, are for plans without a "
                      "radix or schedule";
}

/* Its axes, from the means. Their diagonal: 2 a for each */
static PetscErrorCode BCRFitAxes(BCRFitData *F, const BCRFitResult *r, double *diagonal)
{
  static const char xyz[] = "xyz";

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++) {
    BCRAxis *ax = &F->op->axis[d];

    ax->a = (PetscReal)r->a[d];
    PetscCheck(ax->a >= 0, F->A->comm, PETSC_ERR_SUP,
               "The preconditioning matrix has off-diagonal entries of opposite signs along different axes (mean "
               "coupling along %c %g): it is indefinite or no Poisson operator. Give another preconditioning matrix "
               "(second matrix of KSPSetOperators()), for example the Laplacian alone%s",
               xyz[d], -r->mean[d] * F->sign, fit_elsewhere(F->A));
  }
  *diagonal = 2 * (r->a[0] + r->a[1] + r->a[2]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Its shift; lowest: eigenvalue of T without one, size: of the diagonal */
static PetscErrorCode BCRFitShift(BCRFitData *F, BCRFitResult *r, double lowest, double size)
{
  const double rounding = 4 * BCR_SUM_TOL * size;
  const double mean = BCRFitRangeMean(&r->left), far = PetscMax(r->left.hi - mean, mean - r->left.lo);

  PetscFunctionBegin;
  if (lowest > BCR_FIT_SINGULAR * size) {
    r->shift = PetscAbs(mean) <= rounding ? 0 : mean;
    /* definite, whatever the matrix is, and by more than BCROperatorCheckDefinite() takes for rounding */
    r->shift = PetscMax(r->shift, -PetscMax(0, PetscMin(0.9 * lowest, lowest - rounding)));
  } else {
    /* no end holds the solution fixed: what the matrix has on the constant, all rows taken together */
    r->shift = r->total.excess / r->total.weight;
    if (PetscAbs(r->shift) <= rounding) {
      PetscBool null = PETSC_FALSE;

      if (!F->scaled && !F->apart) PetscCall(F->passes->null(F, r, &null));
      r->shift = null ? 0 : PetscMax(far, 16 * rounding);
      r->null = null;
    } else if (r->shift < 0) r->shift = PetscMax(far, -r->shift);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An estimate of the condition number. What A itself is bounded from below by, in the scales of the fit: T and the least
   of what is left on the diagonal. Where T is singular, its next eigenvalue counts. */
static double BCRFitBound(const BCRFitData *F, const BCRFitResult *r, double lowest, double size)
{
  double low = lowest;

  if (!(low > BCR_FIT_SINGULAR * size)) {
    low = PETSC_MAX_REAL;
    for (PetscInt d = 0; d < F->dim; d++) {
      const double x = sin((double)PETSC_PI / (F->wrap[d] ? 1 : 2) / (double)F->n[d]);

      if (F->n[d] > 1) low = PetscMin(low, 4 * x * x * r->a[d]);
    }
  }
  if (r->left.lo > 0) low += r->left.lo;
  if (low == 0) return PETSC_INFINITY;
  return r->spread * (1 + BCRFitRangeDistance(&r->left, BCRFitRangeMean(&r->left)) / low);
}

/* The axes and the shift of a fit from its means, in units of the matrix, and its bound. There is none (r->there) if the mean
   diagonal is not positive: of rows that are not symmetric and differ much, too, as one of a link's two entries is far
   above their geometric mean there, the other far below. known: what is left on the diagonal has been found already */
static PetscErrorCode BCRFitTry(BCRFitData *F, PetscBool known, BCRFitResult *r)
{
  BCROperator *op = F->op;
  double size;
  PetscReal lowest;

  PetscFunctionBegin;
  r->null = r->there = PETSC_FALSE;
  r->bound = r->own = PETSC_INFINITY;
  PetscCall(BCRFitAxes(F, r, &size));
  if (!known) PetscCall(BCRFitLeft(F, r));
  if (r->total.count == 0) PetscCall(BCRFitTotals(F, r)); /* else they are known of these means already */
  size = BCRFitRangeMean(&r->left) + size;
  if (!(size > 0)) PetscFunctionReturn(PETSC_SUCCESS);
  op->shift = 0;
  PetscCall(BCROperatorLowestEigenvalue(op, &lowest));
  PetscCall(BCRFitShift(F, r, (double)lowest, size));
  op->shift = (PetscReal)r->shift;
  r->bound = r->own = BCRFitBound(F, r, (double)lowest, size);
  r->there = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- which fit ---- */

/* Ends and mean couplings. *known is unset if what is left on the diagonals inside is not what the pass over the matrix
   has summed up.
   F->host is set if this has to begin again on the host: odd matrices are none of a device's */
static PetscErrorCode BCRFitAverage(BCRFitData *F, BCRFitResult *r, PetscBool *known)
{
  PetscBool apart;

  PetscFunctionBegin;
  PetscCall(BCRFitEnds(F, &r->left, &r->nearleft));
  for (PetscInt i = 0; i < F->size[0]; i++) {
    F->ones[i] = 1;
    F->iwx[i] = 1 / BCRFitWeight(F, 0, F->begin[0] + i);
  }
  for (PetscInt d = 0; d < F->dim; d++)
    if (F->n[d] == 2) *known = PETSC_FALSE;
  PetscCall(BCRFitMeans(F, NULL, NULL, r));
  PetscCall(BCRFitTotals(F, r));
  if (!BCRFitMayBeApart(F, r)) PetscFunctionReturn(PETSC_SUCCESS);
  if (F->device) {
    F->host = PETSC_TRUE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BCRFitApart(F, r->a, &apart));
  if (!apart) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMemzero(&r->total, sizeof(r->total)));
  PetscCall(BCRFitMeans(F, NULL, NULL, r));
  PetscCall(BCRFitLeft(F, r));
  BCRFitEndsAgain(F, &r->left);
  *known = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The scaled fit, if it is wanted: F->scaled says whether it has been taken, *scaled what it is, and the operator is that
   of the fit taken */
static PetscErrorCode BCRFitChoose(BCRFitData *F, BCRFit fit, PetscBool known, BCRFitResult *average,
                                   BCRFitResult *scaled)
{
  const PetscBool named = (PetscBool)(fit == BCR_FIT_SCALED || fit == BCR_FIT_UNIFORM || fit == BCR_FIT_STRETCHED);
  BCRFitRange scales;
  PetscBool better;

  PetscFunctionBegin;
  if (!named) PetscCall(BCRFitTry(F, known, average));
  if (!named && !(fit == BCR_FIT_AUTO && average->spread < PETSC_INFINITY)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMemzero(&scales, sizeof(scales)));
  F->scaled = PETSC_TRUE;
  /* there on all ranks, or on none */
  if (!F->device) PetscCall(BCRFaultShare(F->A->comm, PetscMalloc1(PetscMax(F->nodes, 1), &F->S), BCR_NO_MEMORY));
  PetscCall(BCRFitMeans(F, average->mean, &scales, scaled));
  better =
    (PetscBool)(PetscMax(PetscAbs(sqrt(scales.lo) - 1), PetscAbs(sqrt(scales.hi) - 1)) > BCR_SAME_TOL); /* not all 1 */
  if (better) {
    PetscCall(BCRFitTry(F, PETSC_FALSE, scaled));
    /* Of the spread of couplings half counts (on a logarithmic scale) for what differs from place
       to place, which the scales take away, half for what differs between the axes at one place,
       which they do not. What is left on few diagonals, as along a jump, takes fewer iterations
       than its condition number: hence the 2 (tests/petsc/precond.c, Auto(): stretched axes and
       jumps) */
    average->bound *= PetscSqrtReal(PetscMax(1, (PetscReal)(scales.hi / scales.lo)) / (PetscReal)average->spread);
    scaled->bound /= PetscSqrtReal((PetscReal)scaled->spread);
    better = (PetscBool)(named || scaled->bound < 2 * average->bound);
  }
  if (better) PetscFunctionReturn(PETSC_SUCCESS);
  F->scaled = PETSC_FALSE;
  PetscCall(PetscFree(F->S));
  PetscCall(BCRFitTry(F, (PetscBool)(known || !named), average));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is made of layers of nodes, in place of the fit taken so far, if it is asked for or better: the profile, else
   profile->axis is -1, or the scaled fit with stretched axes, stretch->there. average, scaled: what has been tried. F->host
   is set if this has to begin again on the host */
static PetscErrorCode BCRFitChooseLayers(BCRFitData *F, BCRFit fit, const BCRFitResult *average,
                                         const BCRFitResult *scaled, BCRFitProfile *profile, BCRFitStretch *stretch)
{
  const BCRFitResult *taken = F->scaled ? scaled : average;
  const PetscBool look = (PetscBool)(taken->bound >= (F->A->device ? BCR_FIT_LAYERS_DEVICE : BCR_FIT_LAYERS_LEAST));
  PetscBool along = (PetscBool)(fit == BCR_FIT_PROFILE || (fit == BCR_FIT_AUTO && look)), /* a profile */
    across = (PetscBool)(fit == BCR_FIT_STRETCHED || (look && (fit == BCR_FIT_AUTO || fit == BCR_FIT_SCALED) &&
                                                      scaled->spread > BCR_FIT_LAYERS_SPREAD));

  PetscFunctionBegin;
  PetscCheck(taken->there || along || across, F->A->comm, PETSC_ERR_SUP, "%s", FIT_NONE);
  F->op->taken = F->scaled ? BCR_FIT_UNIFORM : BCR_FIT_AVERAGE;
  F->op->bound = (PetscReal)taken->own;
  PetscCall(PetscArrayzero(F->op->bounds, PETSC_STATIC_ARRAY_LENGTH(F->op->bounds)));
  if (fit == BCR_FIT_AUTO && average->there) F->op->bounds[BCR_FIT_AVERAGE] = (PetscReal)(2 * average->bound);
  if (fit == BCR_FIT_AUTO && scaled->there) F->op->bounds[BCR_FIT_UNIFORM] = (PetscReal)scaled->bound;
  if (!along && !across) PetscFunctionReturn(PETSC_SUCCESS);
  /* new values of a matrix whose layers were of no use, with nearly the same bound, stay on the device */
  if (F->device && fit != BCR_FIT_PROFILE && fit != BCR_FIT_STRETCHED && F->op->lookedfit == (int)fit &&
      (double)F->op->looked < 2 * taken->bound && taken->bound < 2 * (double)F->op->looked)
    PetscFunctionReturn(PETSC_SUCCESS);
  if (F->device) {
    F->host = PETSC_TRUE;
    F->scaled = PETSC_FALSE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (along) PetscCall(BCRFitProfileTry(F, average->null, profile));
  PetscCheck(profile->axis >= 0 || fit != BCR_FIT_PROFILE || F->op->prefer, F->A->comm, PETSC_ERR_SUP,
             "-pc_bcrpoisson_fit profile: no axis of the preconditioning matrix has layers whose means are a definite "
             "operator (three nodes or more along every axis, not periodic, couplings of one sign; x with a radix or "
             "schedule): use auto, scaled or average");
  if (across) PetscCall(BCRFitStretchTry(F, stretch));
  if (fit == BCR_FIT_AUTO && profile->axis >= 0) F->op->bounds[BCR_FIT_PROFILE] = (PetscReal)(2 * profile->bound);
  if (fit == BCR_FIT_AUTO && stretch->there) F->op->bounds[BCR_FIT_STRETCHED] = (PetscReal)(2 * stretch->bound);
  /* A bound cannot say that there is none: PETSC_INFINITY is a number, below half of a bound that has overflowed */
  along = (PetscBool)(profile->axis >= 0 && (fit == BCR_FIT_PROFILE || profile->bound < 0.5 * taken->bound));
  across = (PetscBool)(stretch->there && (fit == BCR_FIT_STRETCHED || stretch->bound < 0.5 * taken->bound));
  PetscCheck(taken->there || along || across, F->A->comm, PETSC_ERR_SUP, "%s", FIT_NONE);
  if (along && across) {
    along = (PetscBool)(profile->bound <= stretch->bound);
    across = (PetscBool)!along;
  }
  if (!along) PetscCall(BCRFitProfileDestroy(profile));
  if (!along) profile->axis = -1;
  if (!across) PetscCall(BCRFitStretchDestroy(stretch));
  stretch->there = across;
  F->op->looked = along || across ? 0 : (PetscReal)taken->bound;
  F->op->lookedfit = (int)fit;
  if (across) {
    F->op->taken = BCR_FIT_STRETCHED;
    F->op->bound = (PetscReal)stretch->bound;
    PetscCall(BCRFitStretchTake(F, stretch));
  }
  if (!along) PetscFunctionReturn(PETSC_SUCCESS);
  F->op->taken = BCR_FIT_PROFILE;
  F->op->bound = (PetscReal)profile->bound;
  F->scaled = PETSC_FALSE;
  PetscCall(PetscFree(F->S));
  PetscCall(BCRFitProfileTake(F, profile));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operator in units of its largest coupling; weights; planes */
static PetscErrorCode BCRFitWrite(BCRFitData *F, const BCRFitProfile *profile)
{
  BCROperator *op = F->op;
  double unit = 0, general = 0;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++) unit = PetscMax(unit, (double)op->axis[d].a);
  for (PetscInt d = 0; d < 3; d++) {
    const BCRAxis *ax = &op->axis[d];

    for (PetscInt i = 0; i < ax->n && ax->lower; i++) general = PetscMax(general, (double)ax->upper[i]);
  }
  if (unit == 0) unit = general;
  if (unit == 0) unit = (double)op->shift;
  op->scale = (PetscReal)(F->sign * unit);
  op->shift /= (PetscReal)unit;
  for (PetscInt d = 0; d < 3; d++) {
    BCRAxis *ax = &op->axis[d];

    ax->a /= (PetscReal)unit;
    for (PetscInt i = 0; i < ax->n && ax->lower; i++) {
      ax->lower[i] /= (PetscReal)unit;
      ax->diag[i] /= (PetscReal)unit;
      ax->upper[i] /= (PetscReal)unit;
    }
    if (!ax->weight && !ax->lower && (F->half[d][0] < 1 || F->half[d][1] < 1)) {
      PetscCall(PetscMalloc1(ax->n, &ax->weight));
      for (PetscInt i = 0; i < ax->n; i++) ax->weight[i] = (PetscReal)BCRFitWeight(F, d, i);
    }
    for (PetscInt s = 0; s < 2; s++) {
      BCRPlane *pl = &ax->plane[s];
      const PetscInt nodes = BCRPlaneNodes(F->A, d, s);
      PetscInt same = 0;

      if (!pl->present) continue;
      if (!pl->couple) PetscCall(PetscFree(pl->couplings));
      else
        for (PetscInt i = 0; i < nodes; i++) pl->couplings[i] /= (PetscReal)unit;
      pl->coupling = pl->couple ? ax->a : 0;
      while (same < nodes && pl->inv[same] == pl->inv0) same++;
      if (same == nodes) PetscCall(PetscFree(pl->inv));
    }
  }
  PetscCall(F->passes->scales(F));
  PetscCall(
    PetscStrncpy(op->fit, profile->axis >= 0 ? "profile" : (F->scaled ? "scaled" : "average"), sizeof(op->fit)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the whole ---- */

static PetscErrorCode BCRFitOpen(BCRFitData *F)
{
  PetscFunctionBegin;
  F->passes = NULL;
  PetscCall(PetscMalloc2(F->size[0], &F->ones, F->size[0], &F->iwx));
  if (F->A->device && !F->host) PetscCall(BCRFitDeviceOpen(F));
  if (!F->passes) PetscCall(BCRFitHostOpen(F));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRFitClose(BCRFitData *F)
{
  PetscFunctionBegin;
  if (F->passes) PetscCall(F->passes->close(F));
  PetscCall(PetscFree2(F->ones, F->iwx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool BCRFitSame(double a, double b)
{
  return (PetscBool)(a <= BCR_FIT_SAME * b && b <= BCR_FIT_SAME * a);
}

/* Whether the fit that auto prefers is what it was chosen for */
static PetscBool BCRFitPreferred(const BCROperator *op)
{
  return (PetscBool)(op->taken == op->prefer &&
                     (op->preferred == 0 || BCRFitSame((double)op->bound, (double)op->preferred)));
}

/* Whether the fits that there are have the bounds that they had then, in units of that of the one that is preferred */
static PetscBool BCRFitRivalsSame(const BCROperator *op)
{
  const double now = (double)op->bounds[op->prefer], then = (double)op->rivals[op->prefer];

  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(op->bounds); k++)
    if (!BCRFitSame((double)op->bounds[k] * then, (double)op->rivals[k] * now)) return PETSC_FALSE;
  return PETSC_TRUE;
}

/* All of the fit but the planes to drop, the box and the sign, which F has. *again: it has to be done again, on the host
   (F->host), by what is preferred (F->compared), or as that is not preferred any more (op->prefer is unset) */
static PetscErrorCode BCRFitCompute(BCRFitData *F, BCRFit fit, PetscBool *again)
{
  const PetscBool compare = (PetscBool)(fit == BCR_FIT_AUTO && !F->compared && !F->A->device && F->op->preferred > 0 &&
                                        F->op->rivals[F->op->prefer] > 0);
  const BCRFit what = fit == BCR_FIT_AUTO && F->op->prefer && !compare ? (BCRFit)F->op->prefer : fit;
  const PetscBool host = F->host;
  BCRFitResult average, scaled;
  BCRFitProfile profile = {.axis = -1};
  BCRFitStretch stretch;
  BCRFitWorst worst = {0, 0, 0};
  PetscBool known = PETSC_TRUE;

  PetscFunctionBegin;
  *again = PETSC_TRUE;
  PetscCall(PetscMemzero(&average, sizeof(average)));
  PetscCall(PetscMemzero(&scaled, sizeof(scaled)));
  PetscCall(PetscMemzero(&stretch, sizeof(stretch)));
  PetscCall(BCRFaultShare(F->A->comm, BCRFitOpen(F), BCR_NO_MEMORY));
  F->op->scale = 1;
  for (PetscInt d = 0; d < 3;
       d++) { /* what the pass over the rows does not know, when it is done again on the host either */
    F->wrap[d] = PETSC_FALSE;
    F->half[d][0] = F->half[d][1] = F->ratio[d][0] = F->ratio[d][1] = 1;
  }
  PetscCall(BCRFitAverage(F, &average, &known));
  if (F->host != host) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRFitChoose(F, what, known, &average, &scaled));
  PetscCall(BCRFitChooseLayers(F, what, &average, &scaled, &profile, &stretch));
  if (F->host != host) PetscFunctionReturn(PETSC_SUCCESS);
  if (compare) F->compared = BCRFitRivalsSame(F->op);
  if ((compare && !F->compared) || (what != fit && !BCRFitPreferred(F->op))) F->op->prefer = 0;
  if (compare ? F->compared : (PetscBool)(what != fit && !F->op->prefer)) {
    F->scaled = PETSC_FALSE;
    PetscCall(BCRFitProfileDestroy(&profile));
    PetscCall(BCRFitStretchDestroy(&stretch));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  *again = PETSC_FALSE;
  if (profile.axis >= 0) worst = profile.worst;
  else if (stretch.there) worst = stretch.worst;
  else PetscCall(F->passes->deviation(F, F->scaled ? &scaled : &average, &worst));
  PetscCall(BCRTakeFrom(F->A->comm, worst.worst, &worst, sizeof(worst), NULL));
  F->op->deviation = (PetscReal)worst.worst;
  F->op->devrow = worst.row;
  F->op->devcol = worst.col;
  if (F->apart) PetscCall(BCRFitSetApart(F));
  PetscCall(BCRFitWrite(F, &profile));
  PetscCall(BCRFitProfileDestroy(&profile));
  PetscCall(BCRFitStretchDestroy(&stretch));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sign that makes the couplings of most rows positive; where nothing is coupled, most
   diagonals. Rows are taken here and there over the grid, up to some thousand on a rank; of a
   matrix on a device those that have been brought to the host */
static PetscErrorCode BCRFitSign(BCRFitData *F)
{
  const BCRRows *A = F->A;
  const BCRSample *S = A->device && !A->aa && A->sample.n > 0 ? &A->sample : NULL;
  const PetscInt *own = F->own, from[3] = {F->lo[0] + F->b[0], F->lo[1] + F->b[1], F->lo[2] + F->b[2]},
                 step = PetscMax(1, own[0] * own[1] * own[2] / 1009);
  int vote[2] = {0, 0};

  PetscFunctionBegin;
  if (!S) PetscCall(BCRRowsFetch(A));
  for (PetscInt b = 0; b < (S ? S->n : 1); b++) {
    const PetscInt *n = S ? S->count[b] : own, *first = S ? S->first[b] : from;

    for (PetscInt q = 0; q < n[0] * n[1] * n[2]; q += S ? 1 : step) {
      const PetscInt ix[3] = {first[0] + q % n[0], first[1] + q / n[0] % n[1], first[2] + q / n[0] / n[1]};
      double st[7], rest, off = 0;
      PetscInt col;
      int side[3];

      if (BCRPlanesOf(A, F->op, ix, side) || BCRRowGet(A, F->c, ix, st, &rest, &col) == BCR_ROW_NAN) continue;
      for (int k = 0; k < 6; k++) off -= st[k];
      vote[0] += off > 0 ? 1 : (off < 0 ? -1 : 0);
      vote[1] += st[BCR_CENTRE] > 0 ? 1 : -1;
    }
  }
  if (A->grid.size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, vote, 2, MPI_INT, MPI_SUM, A->comm));
  F->sign = (vote[0] ? vote[0] : vote[1]) < 0 ? -1 : 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The box along axis d: what of it this rank has, and what the arrays hold */
static void BCRFitBox(BCRFitData *F, PetscInt d)
{
  const BCRRows *A = F->A;
  const PetscBool low = F->op->axis[d].plane[0].present, high = F->op->axis[d].plane[1].present;

  F->b[d] = low ? 1 : 0;
  F->n[d] = A->N[d] - F->b[d] - (high ? 1 : 0);
  F->lo[d] = PetscMax(A->lo[d] - F->b[d], 0);
  F->own[d] = PetscMax(0, PetscMin(A->lo[d] + A->n[d] - F->b[d], F->n[d]) - F->lo[d]);
  F->begin[d] = 0;
  F->size[d] = F->n[d];
  if (A->grid.parts[d] > 1) {
    PetscInt end = A->lo[d] + A->n[d] - F->b[d] + BCR_FIT_BESIDE;

    F->image[d] = (PetscBool)(!low && !high);
    F->begin[d] = A->lo[d] - F->b[d] - BCR_FIT_BESIDE;
    if (!F->image[d]) {
      F->begin[d] = PetscMax(F->begin[d], 0);
      end = PetscMin(end, F->n[d]);
    }
    F->size[d] = PetscMax(0, end - F->begin[d]);
  }
  if (A->nodes == 0) F->size[d] = F->own[d] = 0;
  F->stride[d] = F->nodes;
  F->nodes *= F->size[d];
  F->op->axis[d].n = F->n[d];
}

/* Clears axis d of the operator but for the planes to drop, which get room for a number for each node */
static PetscErrorCode BCRFitClear(const BCRRows *A, PetscInt d, BCRAxis *ax)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(ax->lower));
  PetscCall(PetscFree(ax->diag));
  PetscCall(PetscFree(ax->upper));
  PetscCall(PetscFree(ax->weight));
  PetscCall(PetscFree(ax->times));
  for (PetscInt s = 0; s < 2; s++) {
    BCRPlane *pl = &ax->plane[s];

    pl->couple = PETSC_FALSE;
    pl->coupling = 0;
    if (!pl->present) continue;
    PetscCall(PetscFree(pl->inv));
    PetscCall(PetscFree(pl->couplings));
    PetscCall(PetscMalloc1(BCRPlaneNodes(A, d, s), &pl->inv));
    PetscCall(PetscCalloc1(PetscMax(BCRPlaneNodes(A, d, s), 1), &pl->couplings)); /* there on all ranks, or on none */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFitRead(BCRRows *A, PetscInt c, BCRFit fit, BCROperator *op)
{
  BCRFitData F;
  PetscBool again;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&F, sizeof(F)));
  F.A = A;
  F.c = c;
  F.op = op;
  F.dim = op->dim = A->dim;
  F.nodes = 1;
  for (PetscInt d = 0; d < 3; d++) {
    if (!ierr) ierr = BCRFitClear(A, d, &op->axis[d]);
    BCRFitBox(&F, d);
  }
  for (PetscInt d = 0; d < 3; d++) /* of a rank with nothing but planes to drop no loop has lines without nodes */
    if (F.own[d] == 0) F.own[0] = F.own[1] = F.own[2] = 0;
  PetscCall(BCRFaultShare(A->comm, ierr, BCR_NO_MEMORY));
  if (F.n[0] == 0 || F.n[1] == 0 || F.n[2] == 0) /* only planes, whose corners disagree */
    SETERRQ(A->comm, PETSC_ERR_SUP,
            "The preconditioning matrix holds end rows only, which differ at the corners of the grid: use %sa finer "
            "grid%s",
            fit == BCR_FIT_EXACT ? "-pc_bcrpoisson_fit auto or " : "", fit == BCR_FIT_EXACT ? "" : ", or another PC");
  PetscCall(BCRFitSign(&F));
  PetscCall(BCRShellOpen(A, BCR_FIT_BESIDE));
  do {
    ierr = BCRFitCompute(&F, fit, &again);
    PetscCall(BCRFitClose(&F));
    again = (PetscBool)(again && !ierr);
    for (PetscInt d = 0; d < 3 && again; d++)
      if (!ierr) ierr = BCRFitClear(A, d, &op->axis[d]);
    ierr = again ? BCRFaultShare(A->comm, ierr, BCR_NO_MEMORY) : ierr;
  } while (again && !ierr);
  PetscCall(ierr);
  if (fit == BCR_FIT_EXACT) {
    const PetscInt r = op->devrow, q = op->devcol;

    SETERRQ(A->comm, PETSC_ERR_SUP,
            "The preconditioning matrix is not separable: row %" PetscInt_FMT " (grid point %" PetscInt_FMT
            ",%" PetscInt_FMT ",%" PetscInt_FMT "), column %" PetscInt_FMT
            " is off by %g, relatively, from the mean of the coefficients. Let the operator be approximated with "
            "-pc_bcrpoisson_fit auto, scaled or average, or give a separable preconditioning matrix (second matrix of "
            "KSPSetOperators())%s%s",
            c + A->dof * r, r % A->N[0], (r / A->N[0]) % A->N[1], r / (A->N[0] * A->N[1]), c + A->dof * q,
            (double)op->deviation, A->why->c == c ? A->why->text : "", fit_elsewhere(A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
