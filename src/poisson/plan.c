/*
  How a box is solved: plan.h. What both backends decide in the same way, the list of stages, text, flops and bytes. What
  a CUDA device can do besides is in plancuda.c.
*/
#include "plan.h"
#include "plancuda.h"
#include "reduction.h"
#include "../base/modes.h"
#include <petscviewer.h>
#include <string.h>

const char *const BCRPlanKinds[] = {"none",        "point",        "line",      "recursive",   "reduction",
                                    "box",         "split",        "ring",      "box-product", "level0-small",
                                    "level0-rows", "level0-poles", "level0",    "box-passes",  "fourier",
                                    "spectral",    "BCRPlanKind",  "BCR_PLAN_", NULL};
const char *const BCRTransformKinds[] = {"none",           "host",  "sine",     "rows",         "product",
                                         "prime",          "chirp", "convolve", "fft",          "columns",
                                         "across",         "long",  "dense",    "eigenvectors", "BCRTransformKind",
                                         "BCR_TRANSFORM_", NULL};

/* ---- the box ---- */

/* A plan's own axis: that of the operator with copies of its general coefficients and, if singular, its left null vector
   as weights */
static PetscErrorCode axis_create(const BCRAxis *axis, PetscBool singular, BCRAxis *a)
{
  const PetscInt n = axis->n;

  PetscFunctionBegin;
  *a = *axis;
  a->lower = a->diag = a->upper = a->weight = a->times = NULL;
  if (!axis->lower) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc3(n, &a->lower, n, &a->diag, n, &a->upper));
  PetscCall(PetscArraycpy(a->lower, axis->lower, n));
  PetscCall(PetscArraycpy(a->diag, axis->diag, n));
  PetscCall(PetscArraycpy(a->upper, axis->upper, n));
  if (axis->times) {
    PetscCall(PetscMalloc1(n, &a->times));
    PetscCall(PetscArraycpy(a->times, axis->times, n));
  }
  if (singular) {
    double *left;

    /* sums of rows vanish to rounding of the whole operator, which may be large beside the
       couplings of this axis: exactly, then */
    for (PetscInt k = 0; k < n; k++) a->diag[k] = a->lower[k] + a->upper[k];
    PetscCall(PetscMalloc1(n, &a->weight));
    PetscCall(PetscMalloc1(n, &left));
    BCRCallElse(BCRAxisLeftNull(a, left), (void)PetscFree(left));
    for (PetscInt k = 0; k < n; k++) a->weight[k] = (PetscReal)left[k];
    PetscCall(PetscFree(left));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode axis_destroy(BCRAxis *a)
{
  PetscFunctionBegin;
  PetscCall(PetscFree3(a->lower, a->diag, a->upper));
  PetscCall(PetscFree(a->weight));
  PetscCall(PetscFree(a->times));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same set in terms of the plan's axes, of which axis i of the spec is the next; those of one unknown have no coefficients */
static int plan_set(BCRPlan p, const BCRPlanSpec *spec, int set, PetscInt i)
{
  int mine = 1 << p->dim;

  for (PetscInt e = i - 1, d = p->dim - 1; e >= 0; e--)
    if (spec->axis[e].n > 1) mine |= (set >> e & 1) << d--;
  return mine;
}

/* An axis of one unknown whose row is t times this axis */
static void axis_times(BCRAxis *a, PetscReal t)
{
  a->a *= t;
  for (PetscInt k = 0; k < a->n && a->lower; k++) {
    a->lower[k] *= t;
    a->diag[k] *= t;
    a->upper[k] *= t;
  }
}

PetscBool BCRPlanUniformInside(const BCRAxis *x, double *a, double *rest)
{
  const PetscInt n = x->n, m = n / 2;
  double d, tol;

  if (!x->lower || n < 4 || BCRAxisIsPeriodic(x)) return PETSC_FALSE;
  *a = (double)x->lower[m];
  d = (double)x->diag[m];
  tol = 16 * (double)PETSC_MACHINE_EPSILON * *a;
  *rest = fabs(d - 2 * *a) <= tol ? 0 : d - 2 * *a;
  for (PetscInt i = 1; i < n - 1; i++)
    if (fabs((double)x->lower[i] - *a) > tol || fabs((double)x->upper[i] - *a) > tol ||
        fabs((double)x->diag[i] - d) > tol)
      return PETSC_FALSE;
  return PETSC_TRUE;
}

PetscBool BCRPlanEndRows(const BCRAxis *x, double a, double rest, BCRLineRows *rows)
{
  for (int e = 0; e < 2; e++) {
    const PetscInt i = e ? x->n - 1 : 0;

    rows->end[e] = BCR_END_GENERAL;
    rows->inward[e] = (double)(e ? x->lower[i] : x->upper[i]) / a;
    rows->excess[e] = ((double)x->diag[i] - rest) / a - rows->inward[e];
    if (!(rows->inward[e] > 0 && rows->excess[e] >= 0)) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/* The end whose row is nearest to that one, in couplings of the axis */
static BCREnd end_nearest(double diagonal, double inward)
{
  static const BCREnd ends[] = {BCR_END_DIRICHLET, BCR_END_NEUMANN, BCR_END_CELL_NEUMANN, BCR_END_CELL_DIRICHLET};
  double least = HUGE_VAL;
  BCREnd nearest = BCR_END_DIRICHLET;

  for (size_t e = 0; e < PETSC_STATIC_ARRAY_LENGTH(ends); e++) {
    const BCREndRule rule = BCREndGetRule(ends[e]);
    const double away = fabs(log(diagonal / (2 + rule.diagonal))) + fabs(log(inward / rule.inward));

    if (!(away < least)) continue;
    least = away;
    nearest = ends[e];
  }
  return nearest;
}

/* What the axes, the shift and so much more have as smallest eigenvalue, over their size */
static PetscErrorCode axes_lowest(BCRPlan p, const BCRAxis axis[], double more, double *lowest)
{
  double sum = p->shift + p->fixed + more;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < p->dim; d++) {
    PetscReal one;

    PetscCall(BCRAxisLowest(&axis[d], &one));
    sum += (double)one;
  }
  *lowest = sum / BCRAxesSize(p->dim, axis, p->shift + p->fixed + more, 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the unknown at this end of a uniform axis with sigma on its diagonal is for a one in its row */
static double end_response(const BCRAxis *x, int end, double sigma)
{
  const BCREndRule near = BCREndGetRule(x->end[end]), far = BCREndGetRule(x->end[!end]);
  const double a = (double)x->a;
  double pivot = (2 + far.diagonal) * a + sigma; /* rows from the other end on, eliminated */

  for (PetscInt i = 1; i < x->n; i++) {
    const PetscBool first = i == 1 ? PETSC_TRUE : PETSC_FALSE, last = i == x->n - 1 ? PETSC_TRUE : PETSC_FALSE;

    pivot = (2 + (last ? near.diagonal : 0)) * a + sigma -
            (last ? near.inward : 1) * (first ? far.inward : 1) * a * a / pivot;
  }
  return 1 / pivot;
}

/* The host transforms rows whose ends are no mirrors as if they were, and lines along another general axis take what that
   leaves out twice, with their eigenvectors for the two columns at the ends: less work than eigenvectors for all. The
   rounding of a solution with the ends in their place comes back in the rows of the ends times what these leave out and
   their response (coreends.c: g and K of the smoothest mode of the lines). Where that is much, Dirichlet ends take their
   place, whose response is at most one over the coupling */
#define ENDS_MOST 4

static PetscErrorCode plan_ends(BCRPlan p)
{
  const BCRCoreOptions *o = &p->options;
  BCRAxis axis[3], *x = &axis[0];
  const PetscInt n = p->dim > 1 ? p->axis[0].n : 0;
  double rest, condition, lowest = -1, grown = 0, a;
  double sigma = p->shift + p->fixed;
  PetscInt line, others = 0;

  PetscFunctionBegin;
  for (PetscInt d = 1; d < p->dim; d++) others += p->axis[d].lower ? 1 : 0;
  if (p->limits.cuda || p->single || p->singular || p->product || p->along >= 0 || o->radix || o->nlevels || o->team ||
      !others || BCRAxesTimes(p->dim, p->axis) >= 0 || !BCRPlanUniformInside(&p->axis[0], &a, &rest))
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscArraycpy(axis, p->axis, 3));
  x->lower = x->diag = x->upper = x->weight = NULL;
  x->a = (PetscReal)a;
  line = BCRAxesLine(p->dim, axis, &condition);
  if (line < 0 || axis[line].n > BCR_EIGEN_MOST || !(BCRAxisCondition(&axis[line]) <= BCR_CONDITION_REFINE) ||
      16. * (double)axis[line].n / (double)n + 64 > 4. * (double)PetscMin(n, axis[line].n))
    PetscFunctionReturn(PETSC_SUCCESS);
  sigma += rest;
  for (PetscInt d = 1; d < p->dim; d++) {
    PetscReal one;

    PetscCall(BCRAxisLowest(&p->axis[d], &one));
    sigma += (double)one;
  }
  for (int base = 0; base < 2 && !(lowest > BCR_MODES_LEAST && grown <= ENDS_MOST); base++) {
    double most = 0;

    for (int e = 0; e < 2; e++) {
      const double diagonal = (double)p->axis[0].diag[e ? n - 1 : 0] - rest,
                   inward = (double)(e ? p->axis[0].lower[n - 1] : p->axis[0].upper[0]);
      BCREndRule rule;

      if (!(diagonal > 0 && inward > 0)) PetscFunctionReturn(PETSC_SUCCESS);
      x->end[e] = base ? BCR_END_DIRICHLET : end_nearest(diagonal / a, inward / a);
      rule = BCREndGetRule(x->end[e]);
      p->ends.row[e][0] = diagonal - (2 + rule.diagonal) * a;
      p->ends.row[e][1] = -(inward - rule.inward * a);
    }
    for (int e = 0; e < 2; e++)
      most = PetscMax(most, (fabs(p->ends.row[e][0]) + fabs(p->ends.row[e][1])) * end_response(x, e, sigma));
    grown = most * BCRAxesSize(p->dim, axis, p->shift + p->fixed + rest, 0) /
            BCRAxesSize(p->dim, p->axis, p->shift + p->fixed, 0);
    PetscCall(axes_lowest(p, axis, rest, &lowest));
  }
  if (!(lowest > BCR_MODES_LEAST)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(axis_destroy(&p->axis[0]));
  p->axis[0] = *x;
  p->fixed += rest;
  for (int e = 0; e < 2; e++) /* between the interfaces of ranks both may be mirrors */
    if (p->ends.row[e][0] != 0 || p->ends.row[e][1] != 0) p->ends.there = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of several general axes one has the lines; all are transformed where there are none */
static PetscErrorCode plan_line(BCRPlan p)
{
  double rest;

  PetscFunctionBegin;
  p->line = BCRAxesLine(p->dim, p->axis, &rest);
  if (p->product) {
    p->line = -1;
    rest = BCRAxesConditionAll(p->dim, p->axis);
  }
  PetscCheck(rest <= BCR_CONDITION_MOST, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "Of several axes with general coefficients all but one are transformed (of an indefinite operator on a "
             "device all): they are too long, or their eigenvectors too ill-conditioned");
  for (PetscInt d = 0; d < p->dim; d++) {
    if (p->axis[d].lower && d != p->line) p->axis[d].a = 1; /* of its eigenvalues */
    if (p->waves) p->mixed[1 << d] = (double)p->axis[d].a;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The axes of more than one unknown; one of a single unknown adds its diagonal at most */
static PetscErrorCode plan_axes(BCRPlan p, const BCRPlanSpec *spec)
{
  PetscInt times;

  PetscFunctionBegin;
  p->along = -1;
  p->waves = spec->waves;
  p->tau = spec->tau;
  p->indefinite = spec->indefinite;
  p->product = spec->mixed || spec->waves ? PETSC_TRUE : PETSC_FALSE;
  for (PetscInt i = 0; i < spec->dim; i++) {
    BCRAxis *a = &p->axis[p->dim];
    const PetscInt n = spec->axis[i].n;

    PetscCheck(n > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Empty axis %" PetscInt_FMT, i);
    if (n == 1) {
      if (spec->axis[i].lower) p->fixed += spec->axis[i].diag[0];
      continue;
    }
    PetscCall(axis_create(&spec->axis[i], spec->singular, a));
    PetscCheck(!(a->lower && BCRAxisIsPeriodic(a)) || (!p->options.nlevels && !p->options.radix), PETSC_COMM_SELF,
               PETSC_ERR_SUP,
               "A periodic axis with coefficients that vary: block cyclic reduction does not solve with one directly");
    if (!a->lower)
      PetscCheck(!BCREndIsGeneral(a->end[0]) && !BCREndIsGeneral(a->end[1]), PETSC_COMM_SELF, PETSC_ERR_PLIB,
                 "General end without coefficients on axis %" PetscInt_FMT, i);
    if (i == spec->along) p->along = p->dim;
    for (int set = 0; set < BCR_SETS && spec->mixed; set++) /* of axes that are there, this one the last */
      if (set >> i == 1) p->mixed[plan_set(p, spec, set, i)] += (double)spec->mixed[set];
    p->label[p->dim] = "xyz"[i];
    p->n[p->dim] = n;
    p->stride[p->dim++] = spec->stride[i];
  }
  times = BCRAxesTimes(spec->dim, spec->axis);
  for (PetscInt d = 0; d < p->dim && times >= 0 && spec->axis[times].n == 1; d++)
    if (p->label[d] == "xyz"[spec->axis[times].timed]) axis_times(&p->axis[d], spec->axis[times].times[0]);
  PetscCall(plan_ends(p));
  PetscCall(plan_line(p));
  for (PetscInt d = p->dim; d < 3; d++) p->n[d] = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPlanModes(PetscInt n, const BCREnd end[2], double lambda[], double norm[])
{
  BCRAxisModes modes;

  PetscFunctionBegin;
  PetscCheck(BCRAxisModesDescribe(n, end[0], end[1], &modes), PETSC_COMM_SELF, PETSC_ERR_SUP,
             "No transform for an axis with ends %s and %s", BCREndGetRule(end[0]).name, BCREndGetRule(end[1]).name);
  BCRAxisModesGetValues(&modes, lambda, norm);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode plan_modes(BCRPlan p)
{
  PetscBLASInt ld; /* what products take for strides */

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++) {
    p->constant[d] = -1;
    if (d >= p->dim || d == p->line) continue;
    PetscCall(PetscMalloc2(p->n[d], &p->lambda[d], p->n[d], &p->norm[d]));
    if (p->axis[d].lower) {
      for (PetscInt e = 0; e < p->dim; e++) PetscCall(PetscBLASIntCast((PetscInt)p->stride[e], &ld));
      PetscCall(BCREigenCreate(&p->axis[d], p->singular, p->single, &p->eigen[d]));
      PetscCall(BCREigenGetModes(p->eigen[d], p->lambda[d], &p->constant[d]));
      for (PetscInt k = 0; k < p->n[d]; k++) p->norm[d][k] = 1;
      continue;
    }
    PetscCall(BCRPlanModes(p->n[d], p->axis[d].end, p->lambda[d], p->norm[d]));
    if (p->singular) p->constant[d] = BCRAxisModesFindConstant(p->n[d], p->lambda[d]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which axis has which part. The transform across planes is along y where it can be: neighbours along y are nearer to
   each other in memory than those along z, and the planes (x, z) have whole rows of memory for their rows. General
   lines are in the planes */
static void plan_parts(BCRPlan p)
{
  const PetscBool recursive =
    p->options.recursive && (p->options.nlevels || p->options.radix) ? PETSC_TRUE : PETSC_FALSE;
  PetscBool swap = p->dim == 3 && p->line != 1 && !recursive ? PETSC_TRUE : PETSC_FALSE;

  if (BCRAxesTimes(p->dim, p->axis) >= 0) swap = p->line == 2 ? PETSC_TRUE : PETSC_FALSE; /* across what is timed */
  if (p->along >= 0) swap = p->dim == 3 && p->along == 2 ? PETSC_TRUE : PETSC_FALSE;
  p->blocks = p->dim > 1 ? (swap ? 2 : 1) : -1;
  p->across = p->dim > 2 ? 3 - p->blocks : -1;
  if (p->line < 0) p->line = p->dim > 1 ? p->blocks : 0;
  p->nplanes = p->dim > 2 ? p->n[p->across] : 1;
  if (p->dim > 1 && !p->limits.cuda && !p->singular && !p->product && p->along < 0 && !p->options.team &&
      BCRAxesTimes(p->dim, p->axis) < 0 && BCRPlanUniformInside(&p->axis[p->blocks], &p->inside.a, &p->inside.rest)) {
    BCRLineRows rows;

    p->inside.there = BCRPlanEndRows(&p->axis[p->blocks], p->inside.a, p->inside.rest, &rows);
  }
}

/* Radices of all levels, as given or from one radix */
static PetscErrorCode plan_schedule(BCRPlan p)
{
  const BCRCoreOptions *o = &p->options;
  const PetscBool recursive = p->dim == 3 && o->recursive ? PETSC_TRUE : PETSC_FALSE;
  const PetscInt blocks = recursive ? 2 : p->blocks, inner = recursive ? 1 : -1;

  PetscFunctionBegin;
  if (p->dim < 2 || (!o->nlevels && !o->radix)) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt d = 1; d < p->dim; d++)
    PetscCheck(
      !p->axis[d].lower, PETSC_COMM_SELF, PETSC_ERR_SUP,
      "Block cyclic reduction needs constant coefficients along axis %c. Leave radix and schedule at auto: the "
      "automatic schedule handles it",
      p->label[d]);
  p->nlevels = o->nlevels;
  PetscCall(PetscArraycpy(p->schedule, o->schedule, p->nlevels));
  if (!p->nlevels) PetscCall(BCRScheduleFromRadix(o->radix, p->n[blocks], &p->nlevels, p->schedule));
  p->ninner = p->nlevels;
  PetscCall(PetscArraycpy(p->inner, p->schedule, p->ninner));
  if (inner >= 0 && !o->nlevels) PetscCall(BCRScheduleFromRadix(o->radix, p->n[inner], &p->ninner, p->inner));
  p->line = 0; /* sub-problems are lines along the rows */
  PetscFunctionReturn(PETSC_SUCCESS);
}

BCRReductionSpec BCRPlanReductionSpec(BCRPlan p, const BCRAxis axis[])
{
  const BCRReductionSpec spec = {.dim = p->kind == BCR_PLAN_RECURSIVE ? 3 : 2,
                                 .axis = axis,
                                 .nlevels = p->nlevels,
                                 .schedule = p->schedule,
                                 .ninner = p->ninner,
                                 .inner = p->inner,
                                 .single = p->single};

  return spec;
}

double BCRPlanPlaneTimed(BCRPlan p, PetscInt k)
{
  return p->axis[p->across].a * p->lambda[p->across][k];
}

double BCRPlanPlaneShift(BCRPlan p, PetscInt k)
{
  const double shift = p->singular ? 0 : p->shift + p->fixed;

  return p->across < 0 || p->axis[p->line].times ? shift : shift + p->axis[p->across].a * p->lambda[p->across][k];
}

void BCRPlanPlaneSymbol(BCRPlan p, PetscInt k, double c[4])
{
  const int set[4] = {0, 1, 1 << p->blocks, 1 | 1 << p->blocks};

  c[0] = BCRPlanPlaneShift(p, k);
  c[1] = (double)p->axis[0].a;
  c[2] = (double)p->axis[p->blocks].a;
  c[3] = 0;
  if (p->inside.there) {
    c[0] += p->inside.rest;
    c[2] = p->inside.a;
  }
  for (int i = 0; i < 4 && p->product; i++) {
    c[i] = i ? p->mixed[set[i]] : (p->singular ? 0 : p->shift + p->fixed);
    if (p->across >= 0) c[i] += p->lambda[p->across][k] * p->mixed[set[i] | 1 << p->across];
  }
}

double BCRPlanPlaneNorm(BCRPlan p, PetscInt k)
{
  return p->across < 0 ? 1 : p->norm[p->across][k];
}

/* ---- why not ---- */

const char *BCRPlanWhyNotPoint(BCRPlan p)
{
  if (p->tau != 0) return "the shift is complex";
  return p->dim ? "there is more than one unknown" : NULL;
}

const char *BCRPlanWhyNotLine(BCRPlan p)
{
  if (p->indefinite) return "a line that is not definite needs pivots";
  return p->dim != 1 ? "there is more than one line" : NULL;
}

const char *BCRPlanWhyNotRecursive(BCRPlan p)
{
  if (!p->nlevels) return "neither a radix nor a schedule is given";
  if (p->dim < 3) return "it is for three dimensions";
  return p->options.recursive ? NULL : "the recursion is not asked for";
}

const char *BCRPlanWhyNotReduction(BCRPlan p)
{
  return p->nlevels ? NULL : "neither a radix nor a schedule is given";
}

const char *BCRPlanWhyNotSpectral(BCRPlan p)
{
  if (p->product && !p->dim && p->tau == 0) return "there is one unknown";
  return p->product ? NULL : "there are no products of axes, and lines are faster than a second pair of transforms";
}

const char *BCRPlanWhyNotFourier(BCRPlan p)
{
  const BCRAxis *y = &p->axis[p->line];

  p->general = p->line == 0 || y->lower || !(y->a > 0) ? PETSC_TRUE : PETSC_FALSE;
  if (p->indefinite && (p->general || BCRAxisIsPeriodic(y) || BCREndGetRule(y->end[0]).inward != 1 ||
                        BCREndGetRule(y->end[1]).inward != 1))
    return "lines with pivoting are not between mirrored rows, nor rings";
  /* lines that are not definite need pivots of their own */
  if (!p->general && BCRPlanWhyNotLevel0Lines(p)) p->general = PETSC_TRUE;
  return NULL;
}

const char *BCRPlanWhyNotLevel0Sizes(BCRPlan p)
{
  const BCRPlanLimits *l = &p->limits;
  const PetscBool open = p->open[0] || p->open[1] ? PETSC_TRUE : PETSC_FALSE;

  if (p->options.plain) return "transforms and lines alone are asked for";
  if (p->dim < 2) return "there is one line";
  for (PetscInt d = 0; d < p->dim; d++)
    if (p->axis[d].lower && !(p->inside.there && (d == p->blocks || d == p->across)))
      return "an axis has coefficients that vary";
  if (!(p->axis[0].a > 0)) return "rows have no coupling";
  if (!((p->inside.there ? p->inside.a : (double)p->axis[p->blocks].a) > 0)) return "there is no coupling between rows";
  if (p->n[0] < l->row) return "rows are too short";
  if (p->n[p->blocks] < (open ? l->openrows : l->rows)) return "there are too few rows";
  return NULL;
}

/* Of operators of either sign, what a shift leaves of the smallest eigenvalue of a group at least: its inverse is what
   roundings in the group may grow by. That is l + c0 >= part l, or l + c0 >= -part/(1 - part) c0 */
#define INDEFINITE_LEAST 0.25

/* Level 0 eliminates rows of a group by their modes, each a line along the row: they have to be definite on their own */
const char *BCRPlanWhyNotLevel0Groups(BCRPlan p)
{
  p->decay = 0;
  for (int kind = 0; kind < 3; kind++) { /* groups inside, the first and the last one */
    double lambda[16], A[256], S[256];
    const PetscInt h = BCRLevel0KindModes(&p->separators, p->radix, kind, 16, lambda, A, S);

    for (PetscInt k = 0; k < p->nplanes; k++) {
      double c[4];

      BCRPlanPlaneSymbol(p, k, c);
      for (PetscInt j = 0; j < h; j++) {
        const BCRModeLine line = BCRModeLineMake(c[0] + c[2] * lambda[j], c[1] + c[3] * lambda[j]);

        if (!(line.delta > 0)) return "the shift leaves a group of rows that is not definite on its own";
        if (p->indefinite && line.delta * line.a < INDEFINITE_LEAST / (INDEFINITE_LEAST - 1) * c[0])
          return "the shift leaves a group of rows that is hardly definite on its own";
        p->decay = PetscMax(p->decay, 1 / (1 + BCRRootGap(line.delta)));
      }
    }
  }
  return NULL;
}

/* Lines over the separators, one for each mode along the rows */
const char *BCRPlanWhyNotLevel0Lines(BCRPlan p)
{
  double c[4];

  for (PetscInt k = 0; k < p->nplanes && p->product && !p->indefinite; k++) {
    BCRPlanPlaneSymbol(p, k, c);
    for (PetscInt i = 0; i < p->n[0]; i++)
      if (!(BCRModeLineMake(c[0] + c[1] * p->lambda[0][i], c[2] + c[3] * p->lambda[0][i]).delta >= 0))
        return "a mode along the rows is not definite but for the ends of block rows";
  }
  if (p->product && !p->indefinite) return NULL;
  if (p->indefinite)
    return BCRAxisIsPeriodic(&p->axis[p->blocks]) ? "lines over the separators are rings, and not definite" : NULL;
  for (PetscInt k = 0; k < p->nplanes; k++) { /* the smallest eigenvalue is the first */
    BCRPlanPlaneSymbol(p, k, c);
    if (c[0] + c[1] * p->lambda[0][0] < 0) return "the shift leaves a mode along the rows that is not definite";
  }
  return NULL;
}

/* ---- the host ---- */

/* Radix of level 0 of the host's kernels: eight rows are what registers hold */
#define HOST_RADIX 8

/* Level 0 of products of axes */
static const char *host_product(BCRPlan p)
{
  if (!p->product) return NULL;
  if (p->waves || p->along >= 0) return "products of axes have it where the box is on one rank";
  p->indefinite = p->tol > 0 ? PETSC_TRUE : PETSC_FALSE;
  if (p->left_out) return "the symbol vanishes in some modes, which are left out";
  return p->indefinite && (p->single || p->singular)
           ? "the symbol changes its sign, in single precision or beside a zero"
           : NULL;
}

static const char *host_level0(BCRPlan p)
{
  const char *why = BCRPlanWhyNotLevel0Sizes(p);

  if (why) return why;
  why = host_product(p);
  if (why) return why;
  p->radix = HOST_RADIX;
  p->rowsby = BCR_TRANSFORM_HOST;
  BCRLevel0Rows(&p->axis[p->blocks], p->radix, p->open, &p->separators, &p->ngroups);
  why = BCRPlanWhyNotLevel0Groups(p);
  return why ? why : BCRPlanWhyNotLevel0Lines(p);
}

/* Separators are transformed across for whole planes alone: those of a box, and the rows between two interfaces,
   are few and transformed while they are in the cache. One mode costs what as many as there are lanes do, so that
   half as many have to be there */
static const char *host_poles(BCRPlan p)
{
  const char *why = BCRPlanWhyNotLevel0Sizes(p);
  double c[4];
  PetscInt modes;

  if (why) return why;
  if (p->dim != 2 || p->along >= 0) return "it is for whole planes";
  why = host_product(p);
  if (why) return why;
  if (p->indefinite) return "the poles' lines would be waves along the rows";
  if (p->inside.there) return "the first and the last row are no mirrors";
  if (p->options.separators == 1) return "separators along x are asked for";
  BCRPlanPlaneSymbol(p, 0, c);
  if (!BCRAcrossRows(&p->axis[0], &p->axis[1], c, &p->poles))
    return "the separators are no coarser axis, or lines along rows decay too slowly";
  modes = p->poles.rows.n;
  p->poleslanes = 2 * modes > p->limits.lanes ? p->limits.lanes : p->limits.narrow;
  if (p->options.separators != 2 && 2 * modes < p->poleslanes) return "there are too few modes for the vectors";
  p->radix = HOST_RADIX;
  p->separators = p->poles.rows;
  p->ngroups = p->poles.ng;
  p->rowsby = BCR_TRANSFORM_HOST;
  return BCRPlanWhyNotLevel0Groups(p);
}

static const char *host_spectral(BCRPlan p)
{
  const char *why = BCRPlanWhyNotSpectral(p);

  return why || (host_poles(p) && host_level0(p)) ? why : "level 0 transforms fewer rows";
}

/* In order of speed; POLES before LEVEL0: bench/results/cpu_poisson.csv */
static const BCRPlanWay host_ways[] = {
  {BCR_PLAN_SPECTRAL,  host_spectral         },
  {BCR_PLAN_POINT,     BCRPlanWhyNotPoint    },
  {BCR_PLAN_LINE,      BCRPlanWhyNotLine     },
  {BCR_PLAN_RECURSIVE, BCRPlanWhyNotRecursive},
  {BCR_PLAN_REDUCTION, BCRPlanWhyNotReduction},
  {BCR_PLAN_POLES,     host_poles            },
  {BCR_PLAN_LEVEL0,    host_level0           },
  {BCR_PLAN_FOURIER,   BCRPlanWhyNotFourier  }
};

const BCRCpuTable *BCRPlanNarrowHost(int isa, PetscBool single)
{
  const BCRCpuTable *cpu = BCRCpuGetTable(isa, single), *narrow = cpu;

  for (int i = 1; i >= 0 && 2 * narrow->lanes > cpu->lanes; i--) narrow = BCRCpuGetTable(i, single);
  return narrow;
}

void BCRPlanLimitsHost(int isa, PetscBool single, BCRPlanLimits *l)
{
  memset(l, 0, sizeof(*l));
  l->name = "cpu";
  l->nways = PETSC_STATIC_ARRAY_LENGTH(host_ways);
  l->way = host_ways;
  /* below, groups at the ends are most of the plane, and a transform of all rows is as fast */
  l->row = 16;
  l->rows = l->openrows = 12;
  l->lanes = BCRCpuGetTable(isa, single)->lanes;
  l->narrow = BCRPlanNarrowHost(isa, single)->lanes;
}

/* ---- stages ---- */

/* One line of n unknowns along axis d, one direction: 5/2 n log2 n as is usual for real transforms, 2 n^2
   for a product with a matrix, half of that for two of half the size (which devices do not have) */
static double transform_flops(BCRPlan p, BCRTransformKind kind, PetscInt d)
{
  const double n = (double)p->n[d];

  if (kind == BCR_TRANSFORM_EIGEN && !p->limits.cuda && BCREigenFolds(p->eigen[d])) return n * n;
  return kind == BCR_TRANSFORM_PRODUCT || kind == BCR_TRANSFORM_DENSE || kind == BCR_TRANSFORM_EIGEN
           ? 2 * n * n
           : 2.5 * n * log2(n);
}

static void stage_add(BCRPlan p, BCRStageKind kind, PetscInt axis, PetscBool back, double elements, double flops)
{
  BCRStage *s = &p->stage[p->nstages++];

  s->kind = kind;
  s->axis = axis;
  s->back = back;
  s->bytes = elements * (p->single ? sizeof(float) : sizeof(double));
  s->flops = flops;
}

PetscBool BCRPlanDividesWithin(BCRPlan p)
{
  if (p->kind != BCR_PLAN_SPECTRAL || !p->limits.cuda || !p->dim || p->tau != 0) return PETSC_FALSE;
  return p->transform[BCRPlanSpectralLast(p)] == BCR_TRANSFORM_FFT && !(p->waves && p->left_out) ? PETSC_TRUE
                                                                                                 : PETSC_FALSE;
}

/* A pass for each transform, and the last axis with the division where there is a kernel for that */
static void stages_spectral_cuda(BCRPlan p, double N)
{
  const PetscInt last = BCRPlanSpectralLast(p);
  const PetscBool within = BCRPlanDividesWithin(p), ranks = p->along >= 0 ? PETSC_TRUE : PETSC_FALSE;
  PetscInt order[3], n = 0;

  if (!p->dim) stage_add(p, BCR_STAGE_DIVIDE, -1, PETSC_FALSE, 2 * N, 5 * N); /* one complex unknown */
  for (PetscInt d = 0; d < p->dim; d++)
    if (d != last) order[n++] = d;
  order[n] = last;
  for (PetscInt i = 0; i < 2 * p->dim; i++) {
    const PetscInt d = order[i < p->dim ? i : 2 * p->dim - 1 - i];
    const PetscBool back = i < p->dim ? PETSC_FALSE : PETSC_TRUE;
    const double flops = N / (double)p->n[d] * transform_flops(p, p->transform[d], d);

    if (d == last && ranks && !back) stage_add(p, BCR_STAGE_EXCHANGE, last, back, 2 * N, 0);
    if (i == p->dim) stage_add(p, BCR_STAGE_DIVIDE, last, PETSC_FALSE, 2 * N, 5 * N + (within ? 2 * flops : 0));
    if (d != last || !within) stage_add(p, BCR_STAGE_TRANSFORM, d, back, 2 * N, flops);
    if (d == last && ranks && back) stage_add(p, BCR_STAGE_EXCHANGE, last, back, 2 * N, 0);
  }
}

/* The last axis is transformed, divided and transformed back in one pass, the others in another, each way */
static void stages_spectral(BCRPlan p, double N)
{
  const PetscInt last = BCRPlanSpectralLast(p);

  for (int back = 0; back < 2; back++) {
    const PetscBool b = back ? PETSC_TRUE : PETSC_FALSE;
    double moved = 2 * N; /* of the first stage of a pass */

    if (back)
      stage_add(p, BCR_STAGE_TRANSFORM, last, b, 0,
                N / (double)p->n[last] * transform_flops(p, p->transform[last], last));
    if (back && p->along >= 0) stage_add(p, BCR_STAGE_EXCHANGE, last, b, 2 * N, 0);
    for (PetscInt i = 0; i < p->dim; i++) {
      const PetscInt d = back ? p->dim - 1 - i : i;

      if (d == last) continue;
      stage_add(p, BCR_STAGE_TRANSFORM, d, b, moved, N / (double)p->n[d] * transform_flops(p, p->transform[d], d));
      moved = 0;
    }
    if (back) continue;
    if (p->along >= 0) stage_add(p, BCR_STAGE_EXCHANGE, last, b, 2 * N, 0);
    stage_add(p, BCR_STAGE_TRANSFORM, last, b, 2 * N,
              N / (double)p->n[last] * transform_flops(p, p->transform[last], last));
    stage_add(p, BCR_STAGE_DIVIDE, -1, b, 0, 5 * N);
  }
}

PetscBool BCRPlanMeanInLines(BCRPlan p)
{
  if (!p->singular || !p->limits.cuda || p->open[0] || p->open[1]) return PETSC_FALSE;
  if (p->kind == BCR_PLAN_BOX_PRODUCT || BCRPlanIsRing(p->kind)) return PETSC_TRUE;
  return p->kind == BCR_PLAN_LEVEL0 && p->dim == 2 ? PETSC_TRUE : PETSC_FALSE;
}

PetscBool BCRPlanMeanOfRanks(BCRPlan p)
{
  if (!p->singular || !p->limits.cuda || !(p->open[0] || p->open[1])) return PETSC_FALSE;
  if (BCRPlanIsRing(p->kind)) return PETSC_TRUE;
  return p->kind == BCR_PLAN_LEVEL0 && p->dim == 2 && p->separators.n >= 1 ? PETSC_TRUE : PETSC_FALSE;
}

/* Modes of an axis of mirrors in nodes add up to one if they are even, else to zero */
PetscBool BCRPlanMeanOfPlanes(BCRPlan p)
{
  const BCRAxis *y = p->across >= 0 ? &p->axis[p->across] : NULL;

  if (p->singular && p->limits.cuda && p->kind == BCR_PLAN_BOX) return PETSC_TRUE;
  return p->singular && p->limits.cuda && !p->open[0] && !p->open[1] && p->kind == BCR_PLAN_LEVEL0_ROWS && !y->lower &&
             BCREndGetRule(y->end[0]).weight < 1 && BCREndGetRule(y->end[1]).weight < 1
           ? PETSC_TRUE
           : PETSC_FALSE;
}

/* N: unknowns. Elements: what a stage reads and writes once */
static void plan_stages(BCRPlan p)
{
  /* a device takes the mean from the plane of the constant mode, where all others add up to zero, or from planes of even
     modes; hosts sum in level 0 */
  const PetscBool planes_mean = BCRPlanMeanOfPlanes(p),
                  mean = planes_mean || (p->limits.cuda && p->singular && p->across >= 0 && BCRPlanIsLevel0(p->kind) &&
                                         BCRPlanAddsUp(&p->axis[p->across]))
                           ? PETSC_TRUE
                           : PETSC_FALSE;
  const double planes = p->kind == BCR_PLAN_REDUCTION ? (double)p->nplanes : 1,
               line = 5; /* line: flops of an unknown */
  PetscBool constant = p->limits.cuda && p->singular && p->dim > 1 && p->kind == BCR_PLAN_FOURIER
                         ? PETSC_TRUE
                         : PETSC_FALSE; /* from the line of the constant modes, as all others add up to zero */
  double N = 1, sep = 0;

  for (PetscInt d = 0; d < p->dim; d++)
    if (d != p->line && !BCRPlanAddsUp(&p->axis[d])) constant = PETSC_FALSE;
  p->nstages = 0;
  for (PetscInt d = 0; d < p->dim; d++) N *= (double)p->n[d];
  if (BCRPlanIsLevel0(p->kind)) sep = (double)p->separators.n * (double)p->n[0] * (double)p->nplanes;
  for (int back = 0; back < 2; back++) {
    const PetscBool b = back ? PETSC_TRUE : PETSC_FALSE;

    switch (p->kind) {
    case BCR_PLAN_NONE:
    case BCR_PLAN_SPECTRAL:
    case BCR_PLAN_KINDS:
      break;
    case BCR_PLAN_POINT:
    case BCR_PLAN_LINE:
      if (!back) stage_add(p, BCR_STAGE_LINES, p->dim ? 0 : -1, b, 2 * N, p->dim ? line * N : 1);
      break;
    case BCR_PLAN_RECURSIVE:
    case BCR_PLAN_REDUCTION:
      if (p->kind == BCR_PLAN_REDUCTION && p->across >= 0)
        stage_add(p, BCR_STAGE_ACROSS, p->across, b, 2 * N,
                  N / (double)p->n[p->across] * transform_flops(p, p->acrossby, p->across));
      if (!back)
        stage_add(p, BCR_STAGE_REDUCTION, p->kind == BCR_PLAN_RECURSIVE ? 2 : p->blocks, b, planes * p->reduction.moved,
                  planes * p->reduction.flops);
      break;
    case BCR_PLAN_BOX:
    case BCR_PLAN_BOX_PASSES:
    case BCR_PLAN_BOX_PRODUCT: {
      const PetscInt across = p->kind == BCR_PLAN_BOX_PRODUCT ? p->across : p->box.across,
                     in = p->kind == BCR_PLAN_BOX_PRODUCT ? p->blocks : p->box.in;
      const BCRTransformKind by = p->kind == BCR_PLAN_BOX_PRODUCT ? BCR_TRANSFORM_PRODUCT : BCR_TRANSFORM_SINE;

      if (back && planes_mean)
        stage_add(p, BCR_STAGE_MEAN, across, PETSC_FALSE, 2 * N / (double)p->n[across], N / (double)p->n[across]);
      stage_add(p, BCR_STAGE_ACROSS, across, b, 2 * N,
                N / (double)p->n[across] *
                  transform_flops(p, p->kind == BCR_PLAN_BOX_PRODUCT ? p->acrossby : by, across));
      if (!back)
        stage_add(p, BCR_STAGE_PLANES, in, b, (p->kind == BCR_PLAN_BOX_PASSES ? 4 : 2) * N,
                  line * N + 2 * N / (double)p->n[in] * transform_flops(p, by, in));
      break;
    }
    case BCR_PLAN_SPLIT:
    case BCR_PLAN_RING: {
      double flops = 0;

      for (int e = 0; e < 2; e++) {
        const PetscInt d = p->ring.axis[e];

        flops += N / (double)p->n[d] * transform_flops(p, p->transform[d], d);
      }
      stage_add(p, BCR_STAGE_RING, -1, b, 2 * N, flops);
      if (!back) stage_add(p, BCR_STAGE_LINES, p->ring.axis[2], b, 2 * N, (p->general ? 9 : line) * N);
      break;
    }
    case BCR_PLAN_POLES:
    case BCR_PLAN_LEVEL0:
    case BCR_PLAN_LEVEL0_SMALL:
    case BCR_PLAN_LEVEL0_ROWS: {
      const PetscInt t = p->kind == BCR_PLAN_POLES ? p->blocks : 0;
      const double nt = p->kind == BCR_PLAN_POLES ? (double)p->separators.n : (double)p->n[0],
                   rows = sep / nt *
                          (p->kind == BCR_PLAN_POLES ? 2.5 * nt * log2(nt + 1) : transform_flops(p, p->rowsby, 0));

      if (!back && p->across >= 0)
        stage_add(p, BCR_STAGE_ACROSS, p->across, b, 2 * N,
                  N / (double)p->n[p->across] * transform_flops(p, p->acrossby, p->across));
      /* level 0 of radix 8 down 20 + 7*4 + 14 and up 24 + 7*5 + 9 for each 8 unknowns of a column */
      if (!back) {
        stage_add(p, BCR_STAGE_REDUCE, p->blocks, b, N + sep, N / 8 * 62);
        stage_add(p, BCR_STAGE_TRANSFORM, t, b, p->kind == BCR_PLAN_LEVEL0_SMALL ? 0 : 2 * sep, rows);
        if (p->kind == BCR_PLAN_POLES) stage_add(p, BCR_STAGE_POLES, 0, b, 2 * sep, (8. * BCR_POLES + 2) * sep);
        else if (p->ends.there) stage_add(p, BCR_STAGE_LINES, p->blocks, b, 6 * sep, (2 * line + 68) * sep);
        else stage_add(p, BCR_STAGE_LINES, p->blocks, b, 2 * sep, line * sep);
      } else {
        stage_add(p, BCR_STAGE_TRANSFORM, t, b, p->kind == BCR_PLAN_LEVEL0_SMALL ? 0 : 2 * sep, rows);
        stage_add(p, BCR_STAGE_BACK, p->blocks, b, 2 * N + sep, N / 8 * 68);
        if (mean)
          stage_add(p, BCR_STAGE_MEAN, p->across, PETSC_FALSE, (planes_mean ? 2 : 3) * N / (double)p->nplanes,
                    (planes_mean ? 1 : 2) * N / (double)p->nplanes);
        if (p->across >= 0)
          stage_add(p, BCR_STAGE_ACROSS, p->across, b, 2 * N,
                    N / (double)p->n[p->across] * transform_flops(p, p->acrossby, p->across));
      }
      break;
    }
    case BCR_PLAN_FOURIER:
      for (PetscInt i = 0; i < p->dim; i++) {
        /* the host goes through planes; a device through axes in the order of memory */
        const PetscInt parts[3] = {p->across >= 0 ? p->across : 0, p->across >= 0 ? 0 : 1, p->blocks},
                       j = back ? p->dim - 1 - i : i, d = p->limits.cuda ? j : parts[j];

        if (d != p->line)
          stage_add(p, d == p->across && !p->limits.cuda ? BCR_STAGE_ACROSS : BCR_STAGE_TRANSFORM, d, b, 2 * N,
                    N / (double)p->n[d] * transform_flops(p, p->transform[d], d));
      }
      if (!back && p->ends.there) stage_add(p, BCR_STAGE_LINES, p->line, b, 3 * N, 26 * N);
      else if (!back) stage_add(p, BCR_STAGE_LINES, p->line, b, 2 * N, (p->general ? 9 : line) * N);
      if (!back && constant)
        stage_add(p, BCR_STAGE_MEAN, p->line, PETSC_FALSE, 3 * (double)p->n[p->line], 2 * (double)p->n[p->line]);
      break;
    }
  }
  if (p->kind == BCR_PLAN_SPECTRAL && p->limits.cuda) stages_spectral_cuda(p, N);
  else if (p->kind == BCR_PLAN_SPECTRAL) stages_spectral(p, N);
  if (p->singular && p->dim && !mean && !constant && !BCRPlanMeanInLines(p) && !BCRPlanMeanOfRanks(p))
    stage_add(p, BCR_STAGE_MEAN, -1, PETSC_FALSE, 3 * N, 2 * N);
}

/* Which modes are divided by. Where the symbol changes its sign all modes are looked at, as lines along axis 0 */
static PetscErrorCode plan_symbol(BCRPlan p)
{
  const double *const lambda[3] = {p->lambda[0], p->lambda[1], p->lambda[2]};
  BCRModesSurvey survey = {0, 0, PETSC_MAX_REAL};
  BCRProductRange range;
  double c[BCR_SETS], *line;

  PetscFunctionBegin;
  for (int set = 0; set < BCR_SETS; set++) c[set] = p->mixed[set];
  c[0] = p->singular ? 0 : p->shift + p->fixed;
  BCRProductGetRange(p->n, lambda, c, p->singular, &range);
  p->symbol_min = range.least;
  p->symbol_size = p->waves ? BCRAxesSize(p->dim, p->axis, c[0], p->tau) : hypot(range.top, p->tau);
  p->negative = p->left_out = 0;
  p->tol = 0;
  if (!p->waves && p->tau == 0 && BCRProductDefinite(&range)) PetscFunctionReturn(PETSC_SUCCESS);
  p->tol = BCR_MODES_LEAST * p->symbol_size;
  PetscCall(PetscMalloc1(p->n[0], &line));
  PetscCall(PetscArraycpy(line, p->lambda[0], p->n[0]));
  BCRModesSort(p->n[0], line);
  for (PetscInt k = 0; k < p->n[2]; k++)
    for (PetscInt j = 0; j < p->n[1]; j++) {
      const double l[3] = {0, p->dim > 1 ? p->lambda[1][j] : 0, p->dim > 2 ? p->lambda[2][k] : 0};
      const PetscInt constant =
        p->singular && (p->dim < 2 || j == p->constant[1]) && (p->dim < 3 || k == p->constant[2])
          ? 1
          : 0; /* the first of the line */

      BCRModesSurveyLine(p->n[0] - constant, line + constant, BCRProductSymbol(c, 0, l[1], l[2]),
                         BCRProductSlope(c, 0, l), p->tau, p->tol, &survey);
    }
  PetscCall(PetscFree(line));
  p->symbol_min = survey.least;
  p->negative = (PetscInt64)survey.negative;
  p->left_out = (PetscInt64)survey.left;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode plan_choose(BCRPlan p)
{
  PetscFunctionBegin;
  memset(p->refused, 0, sizeof(p->refused));
  p->kind = BCR_PLAN_NONE;
  if (p->product && (p->dim || p->tau != 0)) PetscCall(plan_symbol(p));
  for (PetscInt w = 0; w < p->limits.nways && p->kind == BCR_PLAN_NONE; w++) {
    const BCRPlanWay *way = &p->limits.way[w];

    p->refused[way->kind] = p->excluded[way->kind] ? "other ranks cannot have it" : way->whynot(p);
    if (!p->refused[way->kind]) p->kind = way->kind;
  }
  plan_stages(p);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPlanCreate(const BCRPlanSpec *spec, const BCRPlanLimits *limits, BCRPlan *plan)
{
  BCRPlan p;

  PetscFunctionBegin;
  PetscCall(PetscNew(plan));
  p = *plan;
  p->limits = *limits;
  p->options = *spec->options;
  p->single = spec->options->precision == BCR_DOUBLE ? PETSC_FALSE : PETSC_TRUE;
  p->shift = spec->shift;
  p->singular = spec->singular;
  for (int e = 0; e < 2; e++) p->open[e] = spec->open[e];
  PetscCall(plan_axes(p, spec));
  PetscCall(plan_modes(p));
  plan_parts(p);
  PetscCall(plan_schedule(p));
  for (PetscInt d = 0; d < p->dim; d++)
    p->transform[d] = p->eigen[d] ? BCR_TRANSFORM_EIGEN : p->axis[d].lower ? BCR_TRANSFORM_NONE : BCR_TRANSFORM_HOST;
  if (limits->cuda) BCRPlanCudaTransforms(p);
  else if (p->across >= 0) p->acrossby = p->transform[p->across];
  PetscCall(plan_choose(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPlanSetShift(BCRPlan p, PetscReal shift)
{
  PetscFunctionBegin;
  p->shift = shift;
  PetscCall(plan_choose(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPlanExclude(BCRPlan p, BCRPlanKind kind)
{
  PetscFunctionBegin;
  p->excluded[kind] = PETSC_TRUE;
  PetscCall(plan_choose(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPlanDestroy(BCRPlan *plan)
{
  BCRPlan p = *plan;

  PetscFunctionBegin;
  if (!p) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt d = 0; d < 3; d++) {
    PetscCall(axis_destroy(&p->axis[d]));
    PetscCall(BCREigenDestroy(&p->eigen[d]));
    PetscCall(PetscFree2(p->lambda[d], p->norm[d]));
  }
  PetscCall(PetscFree(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- in words ---- */

static PetscErrorCode plan_schedule_text(BCRPlan p, char text[], size_t size)
{
  PetscFunctionBegin;
  text[0] = 0;
  for (PetscInt i = 0; i < p->nlevels; i++) {
    char one[16];

    PetscCall(PetscSNPrintf(one, sizeof(one), "%s%" PetscInt_FMT, i ? "," : "", p->schedule[i]));
    PetscCall(PetscStrlcat(text, one, size));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char *by(BCRPlan p, PetscInt d)
{
  if (p->ends.there && d == 0) return " (ends apart, by lines twice)";
  if (!p->eigen[d]) return "";
  return BCREigenFolds(p->eigen[d]) ? " (eigenvectors, even and odd)" : " (eigenvectors)";
}

static PetscErrorCode plan_text(BCRPlan p, char text[], size_t size)
{
  const PetscInt a = p->line == 0 ? 1 : 0, b = p->line == 2 ? 1 : 2; /* FOURIER: the other axes */
  char pre[64] = "", schedule[128];

  PetscFunctionBegin;
  if (p->across >= 0)
    PetscCall(PetscSNPrintf(pre, sizeof(pre), "transform along %c, planes with ", p->label[p->across]));
  switch (p->kind) {
  case BCR_PLAN_NONE:
  case BCR_PLAN_KINDS:
    PetscCall(PetscStrncpy(text, "none", size));
    break;
  case BCR_PLAN_SPECTRAL:
    PetscCall(PetscSNPrintf(text, size, "transforms along all axes, a division by the symbol"));
    break;
  case BCR_PLAN_POINT:
    PetscCall(PetscStrncpy(text, "one unknown", size));
    break;
  case BCR_PLAN_LINE:
    PetscCall(PetscStrncpy(text, "one tridiagonal line", size));
    break;
  case BCR_PLAN_RECURSIVE:
  case BCR_PLAN_REDUCTION:
    PetscCall(plan_schedule_text(p, schedule, sizeof(schedule)));
    PetscCall(PetscSNPrintf(
      text, size, "%sblock cyclic reduction along %c, schedule %s%s", p->kind == BCR_PLAN_REDUCTION ? pre : "",
      p->label[p->kind == BCR_PLAN_RECURSIVE ? 2 : p->blocks], schedule,
      p->kind == BCR_PLAN_RECURSIVE ? ", its sub-problems by reduction along the axis before" : ""));
    break;
  case BCR_PLAN_BOX:
  case BCR_PLAN_BOX_PASSES:
    PetscCall(PetscSNPrintf(
      text, size,
      "%ssine transform along %c, planes of its modes %s: %ssine transform along %c, a line along %c for each mode",
      BCREndIsZero(p->axis[p->box.across].end[0]) ? "" : "co", p->label[p->box.across],
      p->kind == BCR_PLAN_BOX || p->box.stays ? "on chip" : "in two passes",
      BCREndIsZero(p->axis[p->box.in].end[0]) ? "" : "co", p->label[p->box.in], p->label[p->box.line]));
    break;
  case BCR_PLAN_SPLIT:
    PetscCall(PetscSNPrintf(
      text, size, "transforms along %c and %c of planes, the latter in part with lines along %c for each mode",
      p->label[0], p->label[1], p->label[p->line]));
    break;
  case BCR_PLAN_RING:
    PetscCall(PetscSNPrintf(
      text, size,
      "transforms along %c and %c of planes through the second-level cache, %slines along %c for each mode%s",
      p->label[0], p->label[p->ring.axis[1]], p->general ? "general " : "", p->label[p->ring.axis[2]],
      p->ring.waves ? ", those of either sign by eigenvectors" : ""));
    break;
  case BCR_PLAN_BOX_PRODUCT:
    PetscCall(
      PetscSNPrintf(text, size,
                    "transform along %c, planes of its modes on chip: transform along %c (as a matrix product), "
                    "a line along %c for each mode",
                    p->label[p->across], p->label[p->blocks], p->label[0]));
    break;
  case BCR_PLAN_LEVEL0_SMALL:
  case BCR_PLAN_LEVEL0_ROWS:
  case BCR_PLAN_POLES:
  case BCR_PLAN_LEVEL0:
    PetscCall(PetscSNPrintf(
      text, size,
      "%sblock rows along %c: radix %" PetscInt_FMT " in physical space, then %" PetscInt_FMT
      " separators transformed along %c%s, %s%s for each mode",
      pre, p->label[p->blocks], p->radix, p->separators.n, p->label[p->kind == BCR_PLAN_POLES ? p->blocks : 0],
      p->rowsby == BCR_TRANSFORM_PRODUCT || p->rowsby == BCR_TRANSFORM_DENSE ? " (as a matrix product)"
      : p->kind == BCR_PLAN_LEVEL0                                           ? by(p, 0)
                                                                             : "",
      p->kind == BCR_PLAN_POLES ? "the poles' lines" : "a line",
      p->indefinite ? ", with pivoting where it is not definite," : ""));
    break;
  case BCR_PLAN_FOURIER:
    if (p->dim == 2)
      PetscCall(PetscSNPrintf(text, size, "transform along %c%s, %stridiagonal lines along %c%s", p->label[a], by(p, a),
                              p->general ? "general " : "", p->label[p->line],
                              p->indefinite ? ", with pivoting where they are not definite" : ""));
    else
      PetscCall(PetscSNPrintf(text, size, "transforms along %c%s and %c%s, %stridiagonal lines along %c%s", p->label[a],
                              by(p, a), p->label[b], by(p, b), p->general ? "general " : "", p->label[p->line],
                              p->indefinite ? ", with pivoting where they are not definite" : ""));
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPlanDescribe(BCRPlan p, BCRCoreInfo *info)
{
  PetscFunctionBegin;
  info->kind = p->kind;
  info->symbol_min = p->symbol_min;
  info->symbol_size = p->symbol_size;
  info->negative = p->negative;
  info->left_out = p->left_out;
  info->nlevels = 0;
  info->subproblems = 0;
  if (BCRPlanIsReduction(p->kind)) {
    info->nlevels = p->nlevels;
    PetscCall(PetscArraycpy(info->schedule, p->schedule, p->nlevels));
    info->subproblems = (PetscInt)p->reduction.subproblems;
  } else if (BCRPlanIsLevel0(p->kind)) {
    info->nlevels = 2;
    info->schedule[0] = p->radix;
    info->schedule[1] = p->separators.n + 1;
  }
  plan_stages(p); /* sub-problems are known by now */
  info->flops = info->bytes = 0;
  for (PetscInt i = 0; i < p->nstages; i++) {
    info->flops += p->stage[i].flops;
    info->bytes += p->stage[i].bytes;
  }
  PetscCall(plan_text(p, info->plan, sizeof(info->plan)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char *const stage_names[] = {"transform across planes",
                                          "level 0, down",
                                          "transform",
                                          "lines",
                                          "poles",
                                          "planes on chip",
                                          "transforms of planes",
                                          "level 0, up",
                                          "block cyclic reduction",
                                          "mean",
                                          "division by the symbol",
                                          "exchange of rows and modes"};

const char *BCRPlanStageName(BCRStageKind kind)
{
  return stage_names[kind];
}

PetscErrorCode BCRPlanView(BCRPlan p, PetscViewer viewer)
{
  char text[256];

  PetscFunctionBegin;
  PetscCall(plan_text(p, text, sizeof(text)));
  PetscCall(PetscViewerASCIIPrintf(viewer, "plan (%s, %s): %s: %s\n", p->limits.name, p->single ? "single" : "double",
                                   BCRPlanKinds[p->kind], text));
  PetscCall(PetscViewerASCIIPushTab(viewer));
  for (PetscInt d = 0; d < p->dim; d++) {
    const BCRAxis *a = &p->axis[d];

    PetscCall(PetscViewerASCIIPrintf(
      viewer, "axis %c: %" PetscInt_FMT " unknowns, %s%s to %s%s, coupling %g, stride %" PetscInt_FMT ", %s\n",
      p->label[d], p->n[d], BCREndGetRule(a->end[0]).name, d == p->along && p->open[0] ? " (goes on)" : "",
      BCREndGetRule(a->end[1]).name, d == p->along && p->open[1] ? " (goes on)" : "", (double)a->a,
      (PetscInt)p->stride[d],
      d == p->across   ? "transformed across planes"
      : d == p->blocks ? "of the block rows"
                       : "of the rows"));
    if (p->lambda[d])
      PetscCall(PetscViewerASCIIPrintf(viewer, "  modes by %s, eigenvalues %g to %g%s\n",
                                       BCRTransformKinds[p->transform[d]], (double)a->a * p->lambda[d][0],
                                       (double)a->a * p->lambda[d][p->n[d] - 1],
                                       p->constant[d] >= 0 ? ", the constant among them" : ""));
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "shift %g%s\n", p->singular ? 0 : p->shift + p->fixed,
                                   p->singular ? ", singular" : ""));
  if (BCRPlanIsLevel0(p->kind))
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "groups: %" PetscInt_FMT " of radix %" PetscInt_FMT ", the first of %" PetscInt_FMT
                                     " rows, the last of %" PetscInt_FMT
                                     "; rows of a group decay by %g and less from one column to the next\n",
                                     p->ngroups, p->radix, p->separators.gapend[0], p->separators.gapend[1], p->decay));
  for (PetscInt i = 0; i < p->nstages; i++) {
    const BCRStage *s = &p->stage[i];

    PetscCall(PetscViewerASCIIPrintf(viewer, "stage %" PetscInt_FMT ": %s%s%c%s: %g MB, %g Mflop\n", i,
                                     BCRPlanStageName(s->kind), s->axis >= 0 ? " along " : "",
                                     s->axis >= 0 ? p->label[s->axis] : ' ', s->back ? ", back" : "", 1e-6 * s->bytes,
                                     1e-6 * s->flops));
  }
  for (PetscInt w = 0; w < p->limits.nways; w++) {
    const BCRPlanKind kind = p->limits.way[w].kind;

    if (p->refused[kind])
      PetscCall(PetscViewerASCIIPrintf(viewer, "not %s: %s\n", BCRPlanKinds[kind], p->refused[kind]));
  }
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}
