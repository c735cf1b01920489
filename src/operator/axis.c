/*
  Operators apart from the matrix they may come from: made from coefficients, shown, bounded, destroyed.
*/
#include "readimpl.h"
#include "../base/modes.h"
#include "devscale.h"
#include "differ.h"
#include <petscviewer.h>
#include <string.h>

/* ---- several general axes ---- */

/* Links of an axis from one unknown to the next, from *first on: of a ring that lacks one, from behind that */
static PetscInt BCRAxisLinks(const BCRAxis *axis, PetscInt *first)
{
  const PetscInt n = axis->n;

  *first = 0;
  if (!BCRAxisIsPeriodic(axis)) return n - 1;
  for (PetscInt i = 0; i < n; i++)
    if (axis->upper[i] == 0 && axis->lower[(i + 1) % n] == 0) *first = (i + 1) % n;
  return n;
}

/* What the ratios of all links of a ring multiply to may differ from one by */
static double BCRRingTolerance(PetscInt n)
{
  return 64 * (double)n * PETSC_MACHINE_EPSILON;
}

PetscBool BCRAxisSymmetriser(const BCRAxis *axis, double h[], PetscInt *bad)
{
  const PetscInt n = axis->n;
  PetscInt first, links = BCRAxisLinks(axis, &first);

  *bad = -1;
  h[first] = 1;
  for (PetscInt k = 0; k < links; k++) {
    const PetscInt i = (first + k) % n, j = (i + 1) % n;
    const double up = (double)axis->upper[i], lo = (double)axis->lower[j];

    if ((up > 0) != (lo > 0)) *bad = i;
    if (k < n - 1) h[j] = up > 0 && lo > 0 && up != lo ? h[i] * (up / lo) : h[i];
    else if (up > 0 && lo > 0) { /* rounding of all links: a share of it in each */
      const double off = h[i] / h[j] * (up / lo) - 1;

      if (!(fabs(off) <= BCRRingTolerance(n))) *bad = i;
      for (PetscInt l = 1; l < n && *bad != i; l++) h[(first + l) % n] *= 1 - off * ((double)l / (double)n);
    }
  }
  return (PetscBool)(*bad < 0);
}

/* Of a ring, the stationary state of a Markov chain with the rates upper and lower: its last place is left out, again
   and again, which adds to the rates between the first place and the one before it, and nothing is subtracted */
static PetscErrorCode BCRRingLeftNull(const BCRAxis *axis, double left[])
{
  const PetscInt n = axis->n;
  double *in, *out,
    on = (double)axis->upper[n - 1]; /* in: rate from the first place; out: all from there; on: to the first */

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(n, &in, n, &out));
  in[n - 1] = (double)axis->lower[0];
  for (PetscInt k = n - 1; k > 0; k--) {
    const double back = (double)axis->lower[k];

    out[k] = back + on;
    if (k == 1) break;
    on = (double)axis->upper[k - 1] * (on / out[k]);
    in[k - 1] = in[k] * (back / out[k]);
  }
  left[0] = 1;
  for (PetscInt k = 1; k < n; k++) left[k] = (left[k - 1] * (double)axis->upper[k - 1] + in[k]) / out[k];
  PetscCall(PetscFree2(in, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRAxisLeftNull(const BCRAxis *axis, double left[])
{
  PetscInt bad;

  PetscFunctionBegin;
  if (!BCRAxisSymmetriser(axis, left, &bad) && BCRAxisIsPeriodic(axis)) PetscCall(BCRRingLeftNull(axis, left));
  PetscFunctionReturn(PETSC_SUCCESS);
}

double BCRAxisCondition(const BCRAxis *axis)
{
  const PetscInt n = axis->n;
  PetscInt first, links = axis->lower ? BCRAxisLinks(axis, &first) : 0;
  double h = 0, low = 0, high = 0; /* logarithms */

  for (PetscInt k = 0; k < links; k++) {
    const PetscInt i = (first + k) % n;
    const double up = (double)axis->upper[i], lo = (double)axis->lower[(i + 1) % n];

    if ((up > 0) != (lo > 0)) return (double)PETSC_INFINITY;
    if (up > 0) h += log(up / lo);
    if (k == n - 1 && up > 0 && !(fabs(h) <= BCRRingTolerance(n))) return (double)PETSC_INFINITY;
    low = PetscMin(low, h);
    high = PetscMax(high, h);
  }
  return exp(0.5 * (high - low));
}

PetscInt BCRAxesTimes(PetscInt dim, const BCRAxis axis[])
{
  for (PetscInt d = 0; d < dim; d++)
    if (axis[d].times) return d;
  return -1;
}

PetscInt BCRAxesApart(PetscInt dim, const BCRAxis axis[])
{
  const PetscInt times = BCRAxesTimes(dim, axis);

  if (times >= 0) return BCRAxisIsApart(&axis[times]) ? times : -1;
  for (PetscInt d = 0; d < dim; d++)
    if (BCRAxisIsApart(&axis[d])) return d;
  return -1;
}

PetscInt BCRAxesForced(PetscInt dim, const BCRAxis axis[])
{
  if (BCRAxesTimes(dim, axis) >= 0) return BCRAxesTimes(dim, axis);
  for (PetscInt d = 0; d < dim; d++)
    if (axis[d].lower && axis[d].n > 1 && !(BCRAxisCondition(&axis[d]) <= BCR_CONDITION_MOST)) return d;
  return -1;
}

PetscInt BCRAxesLine(PetscInt dim, const BCRAxis axis[], double *rest)
{
  const PetscInt times = BCRAxesTimes(dim, axis);
  double cond[3], least = 0;
  PetscInt line = -1;

  *rest = 1;
  for (PetscInt d = 0; d < dim; d++) cond[d] = axis[d].lower && axis[d].n > 1 ? BCRAxisCondition(&axis[d]) : 0;
  for (PetscInt d = 0; d < dim; d++) {
    double product = 1, work = 0;

    if (cond[d] == 0 || (times >= 0 && d != times)) continue;
    for (PetscInt e = 0; e < dim; e++) {
      if (e == d || cond[e] == 0) continue;
      product *= axis[e].n > BCR_EIGEN_MOST ? (double)PETSC_INFINITY : cond[e];
      work += (double)axis[e].n;
    }
    if (product > BCR_CONDITION_MOST) product = (double)PETSC_INFINITY;
    if (product > BCR_CONDITION_REFINE) work *= 2;
    if (line >= 0 &&
        (product != (double)PETSC_INFINITY && *rest != (double)PETSC_INFINITY && work != least ? work > least
                                                                                               : product > *rest))
      continue;
    line = d;
    least = work;
    *rest = product;
  }
  return line;
}

double BCRAxesCondition(PetscInt dim, const BCRAxis axis[], PetscBool ranks)
{
  double rest, all = 1;
  const PetscInt forced = BCRAxesForced(dim, axis);
  PetscInt general = 0;

  (void)BCRAxesLine(dim, axis, &rest);
  for (PetscInt d = 0; d < dim; d++) {
    if (!axis[d].lower || axis[d].n == 1) continue;
    general++;
    if (d != forced) all *= axis[d].n > BCR_EIGEN_MOST ? (double)PETSC_INFINITY : BCRAxisCondition(&axis[d]);
  }
  return ranks && general > 1 ? all : rest;
}

double BCRAxesConditionAll(PetscInt dim, const BCRAxis axis[])
{
  double all = 1;

  for (PetscInt d = 0; d < dim; d++)
    if (axis[d].lower && axis[d].n > 1)
      all *= axis[d].n > BCR_EIGEN_MOST ? (double)PETSC_INFINITY : BCRAxisCondition(&axis[d]);
  return all;
}

double BCRAxesMixing(PetscInt dim, const BCRAxis axis[], PetscBool ranks)
{
  double rest, mixed = 0,
               largest = 0; /* sums of |T| along axes that are transformed; the largest of |W T|, for a weight of one */
  const PetscInt line = BCRAxesLine(dim, axis, &rest);
  PetscInt general = 0;

  for (PetscInt d = 0; d < dim; d++) {
    const BCRAxis *x = &axis[d];
    double t = x->n > 1 && !x->lower ? 4 * (double)x->a : 0, w = 1, wt = t;

    for (PetscInt i = 0; i < x->n && x->n > 1 && (x->lower || x->weight); i++) {
      const double own = x->lower ? fabs((double)x->diag[i]) + (double)x->lower[i] + (double)x->upper[i] : t,
                   weight = x->weight ? fabs((double)x->weight[i]) : 1;

      if (i == 0) w = wt = 0;
      t = PetscMax(t, own);
      w = PetscMax(w, weight);
      wt = PetscMax(wt, weight * own);
    }
    largest = PetscMax(largest, wt / w);
    if (!x->lower || x->n == 1) continue;
    general++;
    if (ranks || d != line) mixed += t;
  }
  return general > 1 && largest > 0 ? mixed / (3 * largest) : 1;
}

/* ---- operators ---- */

static PetscErrorCode BCRPlaneReset(BCRPlane *pl)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(pl->inv));
  PetscCall(PetscFree(pl->couplings));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCROperatorReset(BCROperator *op)
{
  PetscInt d;

  PetscFunctionBegin;
  for (d = 0; d < 3; d++) {
    BCRAxis *ax = &op->axis[d];

    PetscCall(BCRPlaneReset(&ax->plane[0]));
    PetscCall(BCRPlaneReset(&ax->plane[1]));
    PetscCall(PetscFree(ax->lower));
    PetscCall(PetscFree(ax->diag));
    PetscCall(PetscFree(ax->upper));
    PetscCall(PetscFree(ax->weight));
    PetscCall(PetscFree(ax->times));
    PetscCall(PetscFree(ax->imag));
  }
  PetscCall(PetscFree(op->rowscale));
  PetscCall(PetscFree(op->apart));
  PetscCall(PetscFree(op->turn));
  PetscCall(BCRDeviceScaleDestroy(&op->devscale));
  PetscCall(BCRDifferDestroy(&op->differ));
  PetscCall(PetscMemzero(op, sizeof(*op)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCROperatorDestroy(PetscInt dof, BCROperator **ops)
{
  PetscInt c;

  PetscFunctionBegin;
  if (!*ops) PetscFunctionReturn(PETSC_SUCCESS);
  for (c = 0; c < dof; c++) PetscCall(BCROperatorReset(&(*ops)[c]));
  PetscCall(PetscFree(*ops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 4 sin^2(t/2) for the smallest angle t of the modes */
double BCRAxisUniformLowest(PetscInt n, BCREnd low, BCREnd high)
{
  BCRAxisModes modes;
  double t;

  if (n < 1 || !BCRAxisModesDescribe(n, low, high, &modes) || modes.periodic || modes.first == 0) return 0.0;
  t = PETSC_PI / 2 * modes.first / (0.5 * (double)modes.length);
  return 4.0 * sin((double)t / 2) * sin((double)t / 2);
}

/* How many eigenvalues of the symmetrised tridiagonal lie below x: the negative pivots of T - x (Sturm) */
PetscInt BCRAxisCount(const BCRAxis *ax, double x)
{
  PetscInt i, count = 0;
  double q = 1.0;

  for (i = 0; i < ax->n; i++) {
    const double off = i ? (double)ax->lower[i] * (double)ax->upper[i - 1] : 0.0;

    q = (double)ax->diag[i] - x - (i ? off / q : 0.0);
    if (q == 0.0)
      q = -DBL_EPSILON * DBL_EPSILON *
            PetscMax(PetscAbs((double)ax->diag[i]), PetscMax(PetscAbs(x), (double)ax->lower[i])) -
          DBL_MIN;
    if (q < 0.0) count++;
  }
  return count;
}

/* An eigenvalue lies below x: T - x, whose couplings have one sign, has a pivot that is not positive. Of a ring the last
   row has fill-in, left and right: of its row and of its column */
static PetscBool BCRAxisBelow(const BCRAxis *ax, double x)
{
  const PetscInt n = ax->n, open = n - (BCRAxisIsPeriodic(ax) ? 1 : 0);
  double q = 1, left = 0, right = 0, taken = 0;

  for (PetscInt i = 0; i < open; i++) {
    const double low = i ? (double)ax->lower[i] : 0, up = i ? (double)ax->upper[i - 1] : 0;

    if (open < n) {
      left = i ? left * up / q : (double)ax->upper[n - 1];
      right = i ? low * right / q : (double)ax->lower[0];
      if (i == open - 1) {
        left += (double)ax->lower[n - 1];
        right += (double)ax->upper[n - 2];
      }
    }
    q = (double)ax->diag[i] - x - (i ? low * up / q : 0);
    if (!(q > 0)) return PETSC_TRUE;
    taken += left * right / q;
  }
  return (PetscBool)(open < n && !((double)ax->diag[n - 1] - x - taken > 0));
}

double BCRAxesSize(PetscInt dim, const BCRAxis axis[], double shift, double tau)
{
  double size = hypot(shift, tau);

  for (PetscInt d = 0; d < dim; d++) {
    const BCRAxis *x = &axis[d];
    double top = x->n > 1 && !x->lower ? 4 * (double)x->a : 0;

    for (PetscInt i = 0; i < x->n && x->lower; i++)
      top = PetscMax(top, fabs((double)x->diag[i]) + (double)x->lower[i] + (double)x->upper[i]);
    size += top;
  }
  return size;
}

/* By which axis d is multiplied in plane k across the axis apart */
static double BCRPlaneTimes(const BCRAxis *apart, PetscInt k, PetscInt d)
{
  return apart->times && apart->timed == d ? (double)apart->times[k] : 1;
}

double BCRAxesPlaneSize(PetscInt dim, const BCRAxis axis[], PetscInt apart, PetscInt k, double shift, double tau)
{
  const BCRAxis *x = apart < 0 ? NULL : &axis[apart];
  double size = hypot(shift + (x && x->lower ? (double)x->diag[k] : 0), x && x->imag ? (double)x->imag[k] : tau);

  for (PetscInt d = 0; d < dim; d++)
    if (d != apart) size += (x ? BCRPlaneTimes(x, k, d) : 1) * BCRAxesSize(1, &axis[d], 0, 0);
  return size;
}

double BCRAxesPlaneScales(PetscInt dim, const BCRAxis axis[], double shift)
{
  const PetscInt apart = BCRAxesApart(dim, axis);
  double least = 1, most = 1;

  for (PetscInt k = 0; apart >= 0 && k < axis[apart].n; k++) {
    const double size = BCRAxesPlaneSize(dim, axis, apart, k, shift, 0);

    least = k ? PetscMin(least, size) : size;
    most = k ? PetscMax(most, size) : size;
  }
  return most / least;
}

PetscErrorCode BCRAxisLowest(const BCRAxis *ax, PetscReal *lo)
{
  PetscInt i;
  int it;
  double a = 0, b = 0, sum = PETSC_MAX_REAL; /* sum: the least row sum, which no eigenvalue is below */

  PetscFunctionBegin;
  if (ax->n < 1 || (ax->n == 1 && !ax->lower)) *lo = 0.0;
  else if (!ax->lower) *lo = (PetscReal)(ax->a * BCRAxisUniformLowest(ax->n, ax->end[0], ax->end[1]));
  else {
    for (i = 0; i < ax->n; i++) { /* Gershgorin; the smallest diagonal entry is an upper bound */
      double r = 0;

      if (i) r += PetscSqrtReal(PetscAbsReal(ax->lower[i] * ax->upper[i - 1]));
      if (i < ax->n - 1) r += PetscSqrtReal(PetscAbsReal(ax->lower[i + 1] * ax->upper[i]));
      if (BCRAxisIsPeriodic(ax)) r = (double)ax->lower[i] + (double)ax->upper[i];
      if (!i || ax->diag[i] - r < a) a = ax->diag[i] - r;
      if (!i || ax->diag[i] < b) b = ax->diag[i];
      sum = PetscMin(sum, (double)ax->diag[i] - (double)ax->lower[i] - (double)ax->upper[i]);
    }
    for (it = 0; it < 120 && b - a > 1e-15 * PetscMax(PetscAbs(a), PetscAbs(b)); it++) {
      const double x = 0.5 * (a + b);

      if (BCRAxisBelow(ax, x)) b = x;
      else a = x;
    }
    *lo = (PetscReal)PetscMax(a, sum);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCROperatorLowestEigenvalue(const BCROperator *op, PetscReal *lo)
{
  const PetscInt line = BCRAxesTimes(op->dim, op->axis);
  PetscInt d;
  PetscReal x, timed = 0;

  PetscFunctionBegin;
  *lo = op->shift;
  for (d = 0; d < 3; d++) {
    if (op->axis[d].n == 0) {
      *lo = 1.0;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    if (d == line) continue;
    PetscCall(BCRAxisLowest(&op->axis[d], &x));
    if (line >= 0 && d == op->axis[line].timed) timed = x;
    else *lo += x;
  }
  if (line >= 0) { /* of T + t timed */
    BCRAxis ax = op->axis[line];

    PetscCall(PetscMalloc1(ax.n, &ax.diag));
    for (PetscInt i = 0; i < ax.n; i++) ax.diag[i] = op->axis[line].diag[i] + ax.times[i] * timed;
    BCRCallElse(BCRAxisLowest(&ax, &x), (void)PetscFree(ax.diag));
    PetscCall(PetscFree(ax.diag));
    *lo += x;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* No end of this axis holds the solution fixed, T 1 = 0 */
static PetscBool BCRAxisIsNeutral(const BCRAxis *ax, double tol)
{
  PetscInt i, s;

  if (ax->lower) {
    for (i = 0; i < ax->n; i++)
      if (PetscAbsReal(ax->diag[i] - ax->lower[i] - ax->upper[i]) > tol) return PETSC_FALSE;
    return PETSC_TRUE;
  }
  if (ax->n <= 1) return PETSC_TRUE;
  for (s = 0; s < 2; s++)
    if (BCREndExcess(ax->end[s]) != 0) return PETSC_FALSE;
  return PETSC_TRUE;
}

PetscReal BCROperatorSkewness(const BCROperator *op)
{
  double skew = 0; /* its logarithm */

  for (PetscInt d = 0; d < op->dim; d++) {
    const BCRAxis *ax = &op->axis[d];
    double h = 0, low = 0, high = 0;

    for (PetscInt i = 0; i + 1 < ax->n && ax->lower; i++) {
      if (ax->upper[i] > 0 && ax->lower[i + 1] > 0) h += log((double)ax->upper[i] / (double)ax->lower[i + 1]);
      low = PetscMin(low, h);
      high = PetscMax(high, h);
    }
    skew = PetscMax(skew, high - low);
  }
  return (PetscReal)exp(PetscMin(skew, 60));
}

/* What the entries of Tx (+) Ty (+) Tz + shift are compared with; 0: the box is empty */
static PetscReal BCROperatorSize(const BCROperator *op)
{
  PetscReal size = PetscAbsReal(op->shift);

  for (PetscInt d = 0; d < 3; d++) {
    const BCRAxis *ax = &op->axis[d];
    PetscReal top = 4 * ax->a;

    if (ax->n == 0) return 0;
    if (ax->lower) {
      top = 0;
      for (PetscInt i = 0; i < ax->n; i++) top = PetscMax(top, PetscAbsReal(ax->diag[i]) + ax->lower[i] + ax->upper[i]);
    }
    for (PetscInt e = 0; e < op->dim; e++)
      if (op->axis[e].times && op->axis[e].timed == d) {
        PetscReal t = 0;

        for (PetscInt i = 0; i < op->axis[e].n; i++) t = PetscMax(t, op->axis[e].times[i]);
        top *= t;
      }
    size += ax->n > 1 ? top : 0;
  }
  return size;
}

PetscBool BCROperatorNeutral(const BCROperator *op)
{
  const PetscReal size = BCROperatorSize(op);
  PetscBool neutral = (PetscBool)(size > 0 && op->shift == 0);

  for (PetscInt d = 0; d < 3; d++) neutral = (PetscBool)(neutral && BCRAxisIsNeutral(&op->axis[d], BCR_SUM_TOL * size));
  return neutral;
}

PetscReal BCROperatorNearness(const BCROperator *op)
{
  BCROperator without = *op;

  without.shift = 0;
  return BCROperatorNeutral(&without) ? PetscAbsReal(op->shift) / BCROperatorSize(op) : 1;
}

/* And not what is made to be near it */
static PetscBool BCROperatorIsMatrix(const BCROperator *op)
{
  return (PetscBool)(!strcmp(op->fit, "exact") || !strcmp(op->fit, "user") || op->differ);
}

/* Not definite, or complex: waves.c, which has axes that multiply others only if their planes are not coupled, and general
   rings by their eigenvectors */
static PetscErrorCode BCROperatorSetWaves(BCROperator *op)
{
  PetscFunctionBegin;
  for (PetscInt d = 0; d < op->dim; d++) {
    const BCRAxis *ax = &op->axis[d];

    PetscCheck(
      !ax->times || BCRAxisIsApart(ax), PETSC_COMM_SELF, PETSC_ERR_SUP,
      "The operator is not definite, or complex, and another axis varies along axis %c, whose planes are coupled, "
      "which is for definite operators alone. Use a preconditioning matrix (second matrix of "
      "KSPSetOperators()) with a larger diagonal, or another PC",
      'x' + (int)d);
    PetscCheck(
      !(ax->lower && BCRAxisIsPeriodic(ax)) || (ax->n <= BCR_EIGEN_MOST && BCRAxisCondition(ax) <= BCR_CONDITION_MOST),
      PETSC_COMM_SELF, PETSC_ERR_SUP,
      "The operator is not definite, or complex, and axis %c is periodic with coefficients that vary, and has no "
      "eigenvectors that are well-conditioned or more than %d unknowns, which is for definite operators alone. "
      "Use a preconditioning matrix (second matrix of KSPSetOperators()) with a larger diagonal, or another PC",
      'x' + (int)d, BCR_EIGEN_MOST);
  }
  op->waves = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both links between rows i and i + 1 of a general axis are missing */
static PetscBool BCRAxisLacks(const BCRAxis *ax, PetscInt i)
{
  return (PetscBool)(ax->upper[i] == 0 && ax->lower[(i + 1) % ax->n] == 0);
}

/* The operator falls into parts: along some axis no planes are coupled, or some are not */
static PetscBool BCROperatorFallsApart(const BCROperator *op)
{
  if (BCRAxesApart(op->dim, op->axis) >= 0) return PETSC_TRUE;
  for (PetscInt d = 0; d < op->dim; d++)
    for (PetscInt i = 0; i + 1 < op->axis[d].n && op->axis[d].lower; i++)
      if (BCRAxisLacks(&op->axis[d], i)) return PETSC_TRUE;
  return PETSC_FALSE;
}

/* The smallest eigenvalue of the plane across an axis without links where it is least, over that plane's size */
static PetscErrorCode BCROperatorPlanesLowest(const BCROperator *op, PetscInt apart, PetscReal *least)
{
  const BCRAxis *x = &op->axis[apart];
  PetscReal low[3] = {0, 0, 0};

  PetscFunctionBegin;
  for (PetscInt d = 0; d < op->dim; d++)
    if (d != apart) PetscCall(BCRAxisLowest(&op->axis[d], &low[d]));
  *least = PETSC_MAX_REAL;
  for (PetscInt k = 0; k < x->n; k++) {
    const double size = BCRAxesPlaneSize(op->dim, op->axis, apart, k, (double)op->shift, 0);
    double lo = (double)op->shift + (x->lower ? (double)x->diag[k] : 0);

    for (PetscInt d = 0; d < op->dim; d++) lo += BCRPlaneTimes(x, k, d) * (double)low[d];
    *least = PetscMin(*least, (PetscReal)(size > 0 ? lo / size : 0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool BCROperatorCanWave(const BCROperator *op)
{
  for (PetscInt d = 0; d < op->dim; d++)
    if (op->axis[d].times || (op->axis[d].lower && BCRAxisIsPeriodic(&op->axis[d]))) return PETSC_FALSE;
  return (PetscBool)!BCROperatorFallsApart(op);
}

PetscErrorCode BCROperatorCheckDefinite(BCROperator *op)
{
  static const char xyz[] = "xyz";
  const PetscReal size = BCROperatorSize(op);
  const PetscInt apart = BCRAxesApart(op->dim, op->axis);
  PetscInt d, i;
  PetscReal lo, least;

  PetscFunctionBegin;
  op->singular = op->waves = PETSC_FALSE;
  for (d = 0; d < 3; d++)
    if (op->axis[d].n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (op->product) { /* of any sign; modes without a symbol are left out */
    op->waves = op->tau != 0 ? PETSC_TRUE : PETSC_FALSE;
    op->singular = !op->waves && BCROperatorNeutral(op) ? PETSC_TRUE : PETSC_FALSE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (op->tau != 0) {
    PetscCall(BCROperatorSetWaves(op));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (BCROperatorNeutral(op)) {
    for (d = 0; d < op->dim; d++) {
      const BCRAxis *ax = &op->axis[d];
      const PetscBool ring = BCRAxisIsPeriodic(ax);

      /* The null vector of the transpose, h with h_i upper_i = h_(i+1) lower_(i+1), is positive
         where rows are coupled both ways. Where they are one way only, it vanishes on one side. */
      for (i = 0; i + 1 < ax->n + (ring ? 1 : 0) && ax->lower; i++)
        PetscCheck((ax->upper[i] > 0 && ax->lower[(i + 1) % ax->n] > 0) || (!ring && BCRAxisLacks(ax, i)),
                   PETSC_COMM_SELF, PETSC_ERR_SUP,
                   "The operator is singular, and rows %" PetscInt_FMT " and %" PetscInt_FMT
                   " of axis %c are not coupled both ways (%g, %g): the constant is not all of its null space, or not "
                   "that of its transpose. Give a preconditioning matrix with a positive shift, or use another PC",
                   i, (i + 1) % ax->n, xyz[d], (double)ax->upper[i], (double)ax->lower[(i + 1) % ax->n]);
    }
    if (BCROperatorFallsApart(op)) { /* every part has a null vector of its own */
      PetscCheck(BCROperatorIsMatrix(op), PETSC_COMM_SELF, PETSC_ERR_SUP,
                 "The operator is singular and does not couple all grid lines or planes, and is not the matrix. Give a "
                 "preconditioning matrix with a positive shift, or solve its parts one by one");
      PetscCall(BCROperatorSetWaves(op));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    op->singular = PETSC_TRUE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BCROperatorLowestEigenvalue(op, &lo));
  /* a negative shift is what remains of a subtraction, good to rounding of the diagonal */
  least = lo / size;
  if (apart >= 0) PetscCall(BCROperatorPlanesLowest(op, apart, &least));
  if (least > (op->shift < 0 || BCROperatorFallsApart(op) ? BCR_SUM_TOL : 0)) PetscFunctionReturn(PETSC_SUCCESS);
  if (BCROperatorIsMatrix(op)) {
    PetscCall(BCROperatorSetWaves(op));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_SUP,
          "The operator is %s: its smallest eigenvalue is %g with off-diagonal entries negative (largest coupling %g, "
          "constant part of the diagonal %g). This solver needs a definite operator: use a preconditioning matrix "
          "(second matrix of KSPSetOperators()) whose diagonal is larger by more than %g, for example the Laplacian "
          "alone, or another PC",
          lo < -BCR_SUM_TOL * size ? "indefinite" : "numerically singular but not by its end types",
          (double)(lo * PetscAbsReal(op->scale)),
          (double)(PetscMax(op->axis[0].a, PetscMax(op->axis[1].a, op->axis[2].a)) * PetscAbsReal(op->scale)),
          (double)(op->shift * PetscAbsReal(op->scale)), (double)(PetscAbsReal(lo * op->scale)));
}

/* Not yet looked at whether it is definite */
static PetscErrorCode BCRUserCreate(PetscInt dim, const PetscInt n[], const PetscReal coupling[], const BCREnd end[],
                                    PetscReal shift, PetscReal scale, BCROperator **op)
{
  static const char xyz[] = "xyz";
  PetscInt d, s;
  BCROperator *o;

  PetscFunctionBegin;
  PetscCheck(dim >= 1 && dim <= 3, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "Dimension %" PetscInt_FMT " is not 1, 2 or 3", dim);
  PetscCheck(scale != 0 && !PetscIsInfOrNanReal(scale), PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "The overall scale %g of the operator must be finite and not zero", (double)scale);
  PetscCheck(!PetscIsInfOrNanReal(shift), PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "The shift %g of the operator must be finite", (double)shift);
  for (d = 0; d < dim; d++) {
    PetscCheck(n[d] >= 1, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "%" PetscInt_FMT " unknowns along %c: at least one is needed", n[d], xyz[d]);
    PetscCheck(coupling[d] >= 0 && !PetscIsInfOrNanReal(coupling[d]), PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "Coupling %g along %c must be finite and not negative: the overall scale carries the sign",
               (double)coupling[d], xyz[d]);
    PetscCheck(BCREndIsPeriodic(end[2 * d]) == BCREndIsPeriodic(end[2 * d + 1]), PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
               "One end of %c is periodic and the other is not", xyz[d]);
    for (s = 0; s < 2; s++)
      PetscCheck((int)end[2 * d + s] >= 0 && end[2 * d + s] < BCR_ENDS, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
                 "End %d of %c is of no type that coefficients alone describe", (int)s, xyz[d]);
  }
  PetscCall(PetscCalloc1(1, &o));
  o->dim = dim;
  o->shift = shift;
  o->scale = scale;
  for (d = 0; d < 3; d++) {
    BCRAxis *ax = &o->axis[d];

    ax->n = d < dim ? n[d] : 1;
    for (s = 0; s < 2; s++) ax->end[s] = d < dim ? end[2 * d + s] : BCREndOfOne();
    if (ax->n > 1) ax->a = coupling[d];
    else if (d < dim) { /* a single row is a number, and belongs to the shift */
      o->shift += (PetscReal)(coupling[d] * BCRAxisUniformLowest(1, ax->end[0], ax->end[1]));
      ax->end[0] = ax->end[1] = BCREndOfOne();
    }
  }
  PetscCall(PetscStrncpy(o->fit, "user", sizeof(o->fit)));
  *op = o;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCROperatorCreateUser(PetscInt dim, const PetscInt n[], const PetscReal coupling[], const BCREnd end[],
                                     PetscReal shift, PetscReal scale, BCROperator **op)
{
  PetscFunctionBegin;
  PetscCall(BCRUserCreate(dim, n, coupling, end, shift, scale, op));
  BCRCallElse(BCROperatorCheckDefinite(*op), (void)BCROperatorDestroy(1, op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A uniform axis with more on its first and last diagonal */
static PetscErrorCode BCRUserAddExtra(BCROperator *op, PetscInt d, const PetscReal extra[2])
{
  const PetscInt n = op->axis[d].n;
  PetscReal *row;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(3 * (size_t)n, &row));
  for (PetscInt i = 0; i < n; i++) {
    double low, diag, up;

    BCRAxisGetRow(&op->axis[d], i, &low, &diag, &up);
    row[i] = (PetscReal)low;
    row[n + i] = (PetscReal)diag;
    row[2 * n + i] = (PetscReal)up;
  }
  if (n == 2 && BCRAxisIsPeriodic(&op->axis[d])) { /* twice a neighbour */
    row[1] *= 2;
    row[2 * n] *= 2;
  }
  row[n] += extra[0];
  row[2 * n - 1] += extra[1];
  BCRCallElse(BCROperatorUserSetAxis(op, d, row, row + n, row + 2 * n, NULL), (void)PetscFree(row));
  PetscCall(PetscFree(row));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* T_e + t T_of + T_f, t along e. Where t may not be for that axis (BCRAxesTimed()), it is t (T_e/t + T_of + T_f/t) */
static PetscErrorCode BCRUserTimes(BCROperator *op, PetscInt e, const PetscReal t[], PetscInt of)
{
  const PetscReal none[2] = {0, 0};
  const PetscInt f = 3 - e - of, n = op->axis[e].n;
  const PetscBool three = (PetscBool)(op->axis[f].n > 1), direct = (PetscBool)(three && of == BCRAxesTimed(e));
  BCRAxis *ax = &op->axis[e];

  PetscFunctionBegin;
  if (!ax->lower) PetscCall(BCRUserAddExtra(op, e, none));
  if (three) PetscCall(PetscMalloc1(n, &ax->times));
  for (PetscInt i = 0; i < n && three; i++) ax->times[i] = direct ? t[i] : 1 / t[i];
  ax->timed = direct ? of : f;
  if (direct) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(n, &ax->weight));
  for (PetscInt i = 0; i < n; i++) {
    ax->weight[i] = t[i];
    ax->lower[i] /= t[i];
    ax->upper[i] /= t[i];
    ax->diag[i] = (ax->diag[i] + op->shift) / t[i];
  }
  op->shift = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The smallest sum of a row of a general axis goes to the shift, which so is zero where all that makes the operator
   regular is at the ends */
static void BCRUserSettle(BCROperator *op)
{
  const PetscInt line = BCRAxesTimes(op->dim, op->axis);
  const PetscReal given = op->shift;
  PetscReal size = PetscAbsReal(given);

  for (PetscInt d = 0; d < op->dim; d++) {
    BCRAxis *ax = &op->axis[d];
    PetscReal least = PETSC_MAX_REAL, own = 0;

    for (PetscInt i = 0; i < ax->n && ax->lower; i++) {
      least = PetscMin(least, ax->diag[i] - ax->lower[i] - ax->upper[i]);
      own = PetscMax(own, PetscAbsReal(ax->diag[i]) + ax->lower[i] + ax->upper[i]);
    }
    if (!ax->lower || PetscAbsReal(least) <= BCR_SUM_TOL * own) continue;
    if (line >= 0 && op->axis[line].timed == d) continue; /* what is multiplied is no shift */
    for (PetscInt i = 0; i < ax->n; i++) ax->diag[i] -= least;
    op->shift += least;
    size += PetscAbsReal(least);
  }
  if (op->shift != given && PetscAbsReal(op->shift) <= BCR_SUM_TOL * size) op->shift = 0;
}

/* Products of axes: those of an axis of one unknown, whose T is a number, belong to the others or to the shift */
static void BCRUserProducts(BCROperator *op, const PetscReal coupling[], const BCREnd end[], const PetscReal mixed[8])
{
  PetscReal m[8] = {0};

  for (int set = 3; set < 8; set++) {
    if (!(set & (set - 1))) continue; /* one axis */
    m[set] = mixed[set];
    for (PetscInt d = 0; d < op->dim; d++)
      if (set >> d & 1) m[set] *= coupling[d];
  }
  for (PetscInt d = 0; d < op->dim; d++)
    for (int set = 7; set > 0 && op->axis[d].n == 1; set--) {
      if (!(set >> d & 1)) continue;
      m[set & ~(1 << d)] += m[set] * (PetscReal)BCRAxisUniformLowest(1, end[2 * d], end[2 * d + 1]);
      m[set] = 0;
    }
  op->shift += m[0];
  for (PetscInt d = 0; d < op->dim; d++) m[1 << d] += op->axis[d].a;
  op->product = (PetscBool)(m[3] != 0 || m[5] != 0 || m[6] != 0 || m[7] != 0 || m[1] < 0 || m[2] < 0 || m[4] < 0);
  for (int set = 1; set < 8 && op->product; set++) op->mixed[set] = m[set];
  for (PetscInt d = 0; d < op->dim; d++)
    if (op->axis[d].n > 1) op->axis[d].a = op->product ? 1 : m[1 << d];
}

static PetscErrorCode BCRUserFill(BCROperator *op, const PetscReal coupling[], const BCREnd end[],
                                  const BCRUserAxis axis[], const BCRUserTerms *terms)
{
  PetscFunctionBegin;
  op->tau = terms->tau;
  for (PetscInt d = 0; d < op->dim; d++) {
    const BCRUserAxis *x = &axis[d];

    if (op->axis[d].n == 1) op->shift += x->lower ? x->diag[0] : x->extra[0] + x->extra[1];
    else if (x->lower) PetscCall(BCROperatorUserSetAxis(op, d, x->lower, x->diag, x->upper, NULL));
    else if (x->extra[0] != 0 || x->extra[1] != 0) PetscCall(BCRUserAddExtra(op, d, x->extra));
  }
  for (PetscInt d = 0; d < op->dim; d++)
    if (axis[d].times) PetscCall(BCRUserTimes(op, d, axis[d].times, axis[d].timed));
  BCRUserSettle(op);
  BCRUserProducts(op, coupling, end, terms->mixed);
  PetscCall(BCROperatorCheckDefinite(op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCROperatorCreateAxes(PetscInt dim, const PetscInt n[], const PetscReal coupling[], const BCREnd end[],
                                     const BCRUserAxis axis[], const BCRUserTerms *terms, PetscReal shift,
                                     PetscReal scale, BCROperator **op)
{
  PetscFunctionBegin;
  PetscCall(BCRUserCreate(dim, n, coupling, end, shift, scale, op));
  BCRCallElse(BCRUserFill(*op, coupling, end, axis, terms), (void)BCROperatorDestroy(1, op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCROperatorUserSetAxis(BCROperator *op, PetscInt d, const PetscReal lower[], const PetscReal diag[],
                                      const PetscReal upper[], const PetscReal weight[])
{
  BCRAxis *ax = &op->axis[d];
  const PetscBool ring = (PetscBool)(BCRAxisIsPeriodic(ax) && ax->n > 2);
  PetscInt i;

  PetscFunctionBegin;
  PetscCheck(d >= 0 && d < op->dim, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "Axis %" PetscInt_FMT " of an operator in %" PetscInt_FMT " dimensions", d, op->dim);
  for (i = 0; i < ax->n; i++) {
    PetscCheck(
      ((i == 0 && !ring) || lower[i] >= 0) && ((i == ax->n - 1 && !ring) || upper[i] >= 0) &&
        !PetscIsInfOrNanReal(diag[i]),
      PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
      "Row %" PetscInt_FMT " of axis %" PetscInt_FMT ": couplings must not be negative, and the diagonal finite", i, d);
    PetscCheck(!weight || weight[i] > 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "Weight %" PetscInt_FMT " of axis %" PetscInt_FMT " must be positive", i, d);
  }
  PetscCall(PetscFree(ax->lower));
  PetscCall(PetscFree(ax->diag));
  PetscCall(PetscFree(ax->upper));
  PetscCall(PetscFree(ax->weight));
  PetscCall(PetscMalloc1(ax->n, &ax->lower));
  PetscCall(PetscMalloc1(ax->n, &ax->diag));
  PetscCall(PetscMalloc1(ax->n, &ax->upper));
  PetscCall(PetscArraycpy(ax->lower, lower, ax->n));
  PetscCall(PetscArraycpy(ax->diag, diag, ax->n));
  PetscCall(PetscArraycpy(ax->upper, upper, ax->n));
  ax->a = 0;
  if (!ring) {
    ax->lower[0] = ax->upper[ax->n - 1] = 0;
    ax->end[0] = ax->end[1] = BCR_END_GENERAL;
  }
  if (weight) {
    PetscCall(PetscMalloc1(ax->n, &ax->weight));
    PetscCall(PetscArraycpy(ax->weight, weight, ax->n));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The polynomial, set by set */
static PetscErrorCode BCRProductView(const BCROperator *op, PetscViewer viewer)
{
  static const char *const sets[] = {"", "Tx", "Ty", "Tx Ty", "Tz", "Tx Tz", "Ty Tz", "Tx Ty Tz"};

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "box stencil, products of axes:"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
  for (int set = 1; set < 8; set++)
    if (op->mixed[set] != 0) PetscCall(PetscViewerASCIIPrintf(viewer, " %+g %s", (double)op->mixed[set], sets[set]));
  PetscCall(PetscViewerASCIIPrintf(viewer, "%s\n", op->sides ? "; rows refer to the planes that are eliminated" : ""));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which of several general axes has the lines, and why */
static PetscErrorCode BCROperatorViewLines(const BCROperator *op, PetscViewer viewer)
{
  const PetscInt times = BCRAxesTimes(op->dim, op->axis), forced = BCRAxesForced(op->dim, op->axis);
  PetscInt general = 0, line;
  double rest;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < op->dim; d++) general += op->axis[d].lower && op->axis[d].n > 1;
  line = BCRAxesLine(op->dim, op->axis, &rest);
  if (line < 0 || (general < 2 && forced < 0)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerASCIIPrintf(viewer, "lines along %c, %s; cond V of the eigenvectors of others: %g\n",
                                   'x' + (int)line,
                                   times >= 0    ? "along which another axis varies"
                                   : forced >= 0 ? "which has no eigenvectors that are well-conditioned"
                                                 : "which leaves the least work to the others",
                                   rest));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCROperatorView(const BCROperator *op, PetscViewer viewer)
{
  static const char xyz[] = "xyz";
  PetscInt d, s, i;
  PetscBool ascii, planes = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  for (d = 0; d < op->dim; d++) {
    const BCRAxis *ax = &op->axis[d];

    PetscCall(PetscViewerASCIIPrintf(viewer, "axis %c: %" PetscInt_FMT " unknowns", xyz[d], ax->n));
    PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
    if (BCRAxisIsApart(ax)) {
      PetscReal lo = PETSC_MAX_REAL, hi = -PETSC_MAX_REAL;

      for (i = 0; i < ax->n && ax->lower; i++) lo = PetscMin(lo, ax->diag[i]), hi = PetscMax(hi, ax->diag[i]);
      PetscCall(PetscViewerASCIIPrintf(viewer, ", not coupled"));
      if (ax->lower)
        PetscCall(
          PetscViewerASCIIPrintf(viewer, ", each with a shift of its own, %g to %g more", (double)lo, (double)hi));
    } else if (ax->lower) {
      PetscReal lo = PETSC_MAX_REAL, hi = 0;

      for (i = 0; i < ax->n; i++) {
        if (i) lo = PetscMin(lo, ax->lower[i]), hi = PetscMax(hi, ax->lower[i]);
        if (i < ax->n - 1) lo = PetscMin(lo, ax->upper[i]), hi = PetscMax(hi, ax->upper[i]);
      }
      if (BCRAxisIsPeriodic(ax)) lo = PetscMin(lo, PetscMin(ax->lower[0], ax->upper[ax->n - 1]));
      if (BCRAxisIsPeriodic(ax)) hi = PetscMax(hi, PetscMax(ax->lower[0], ax->upper[ax->n - 1]));
      PetscCall(PetscViewerASCIIPrintf(viewer, "%s, coefficients vary along it, coupling %g to %g",
                                       BCRAxisIsPeriodic(ax) ? ", periodic" : "", (double)(ax->n > 1 ? lo : 0),
                                       (double)hi));
    } else if (ax->n > 1)
      PetscCall(PetscViewerASCIIPrintf(viewer, ", ends %s and %s, coupling %g", BCREndGetRule(ax->end[0]).name,
                                       BCREndGetRule(ax->end[1]).name, (double)ax->a));
    if (ax->weight) PetscCall(PetscViewerASCIIPrintf(viewer, ", row weights"));
    if (ax->times) {
      PetscReal lo = PETSC_MAX_REAL, hi = 0;

      for (i = 0; i < ax->n; i++) lo = PetscMin(lo, ax->times[i]), hi = PetscMax(hi, ax->times[i]);
      PetscCall(
        PetscViewerASCIIPrintf(viewer, ", %g to %g times what is along %c", (double)lo, (double)hi, xyz[ax->timed]));
    }
    if (ax->imag) {
      PetscReal lo = PETSC_MAX_REAL, hi = -PETSC_MAX_REAL;

      for (i = 0; i < ax->n; i++) lo = PetscMin(lo, ax->imag[i]), hi = PetscMax(hi, ax->imag[i]);
      PetscCall(PetscViewerASCIIPrintf(viewer, ", imaginary shifts %g to %g", (double)lo, (double)hi));
    }
    for (s = 0; s < 2; s++) {
      const BCRPlane *pl = &ax->plane[s];

      if (!pl->present) continue;
      PetscCall(PetscViewerASCIIPrintf(viewer, "; %s plane eliminated (", s ? "high" : "low"));
      if (pl->slope != 0) PetscCall(PetscViewerASCIIPrintf(viewer, "slope %g, ", (double)pl->slope));
      if (pl->varies) PetscCall(PetscViewerASCIIPrintf(viewer, "diagonal varies"));
      else if (pl->inv0 == 0) PetscCall(PetscViewerASCIIPrintf(viewer, "empty rows"));
      else PetscCall(PetscViewerASCIIPrintf(viewer, "diagonal %g", (double)(1 / pl->inv0)));
      PetscCall(PetscViewerASCIIPrintf(viewer, "%s)", pl->couple ? "" : ", not coupled"));
    }
    PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
    PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  }
  if (op->product) PetscCall(BCRProductView(op, viewer));
  PetscCall(BCROperatorViewLines(op, viewer));
  if (op->empty) PetscCall(PetscViewerASCIIPrintf(viewer, "empty rows: %" PetscInt_FMT " (u = 0 there)\n", op->empty));
  PetscCall(PetscViewerASCIIPrintf(viewer, "shift %g", (double)op->shift));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
  for (d = 0; d < op->dim; d++) planes = (PetscBool)(planes || op->axis[d].imag);
  if (op->tau != 0 && !planes) PetscCall(PetscViewerASCIIPrintf(viewer, " %+g i", (double)op->tau));
  PetscCall(PetscViewerASCIIPrintf(viewer, ", overall scale %g%s%s\n", (double)op->scale,
                                   op->turn ? " times a complex number of size one in each row" : "",
                                   op->singular ? ", singular: the constant is projected out" : ""));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  PetscCall(PetscViewerASCIIPrintf(viewer, "fit %s%s", op->fit,
                                   op->left ? ", every row with a factor of its own"
                                            : (op->apart ? ", rows apart solved by themselves" : "")));
  if (op->differ) PetscCall(PetscViewerASCIIPrintf(viewer, " (%s)", op->differ->what));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
  if (op->deviation > 0)
    PetscCall(PetscViewerASCIIPrintf(
      viewer, ", largest relative deviation %g in row %" PetscInt_FMT ", column %" PetscInt_FMT "%s",
      (double)op->deviation, op->devrow, op->devcol,
      BCROperatorScaled(op) && !op->left ? " (rows and columns scaled)" : ""));
  PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRModelCreate(const BCROperator *op, BCRModelAxis m[3])
{
  PetscInt d, i, s;

  PetscFunctionBegin;
  for (d = 0; d < 3; d++) {
    const BCRAxis *ax = &op->axis[d];
    const double a = ax->a;

    m[d].n = ax->n;
    m[d].b = ax->plane[0].present ? 1 : 0;
    m[d].N = BCRFull(ax);
    m[d].timed = ax->timed;
    m[d].times = NULL;
    PetscCall(PetscCalloc4(m[d].N, &m[d].lo, m[d].N, &m[d].up, m[d].N, &m[d].dg, m[d].N, &m[d].w));
    if (ax->n == 0) continue;
    if (ax->times) PetscCall(PetscCalloc1(m[d].N, &m[d].times));
    for (i = 0; i < ax->n && ax->times; i++) m[d].times[m[d].b + i] = ax->times[i];
    for (i = 0; i < ax->n; i++) {
      const PetscInt f = m[d].b + i;

      m[d].w[f] = ax->weight ? ax->weight[i] : 1.0;
      BCRAxisGetRow(ax, i, &m[d].lo[f], &m[d].dg[f], &m[d].up[f]);
    }
    for (s = 0; s < 2; s++) {
      const BCRPlane *pl = &ax->plane[s];
      const PetscInt f = m[d].b + (s ? ax->n - 1 : 0);
      double *out = s ? m[d].up : m[d].lo, *in = s ? m[d].lo : m[d].up;
      const PetscBool wrap = (PetscBool)(BCRAxisIsPeriodic(ax) && ax->n > 1);

      if (wrap && ax->n == 2) in[f] = 2 * a;
      if (!wrap || ax->n == 2) out[f] = 0;
      if (pl->present && pl->couple) {
        out[f] = pl->coupling;
        m[d].dg[f] += pl->coupling * pl->slope;
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRModelDestroy(BCRModelAxis m[3])
{
  PetscInt d;

  PetscFunctionBegin;
  for (d = 0; d < 3; d++) {
    PetscCall(PetscFree4(m[d].lo, m[d].up, m[d].dg, m[d].w));
    PetscCall(PetscFree(m[d].times));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
