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

/* cond V = sqrt(max h/min h) of the eigenvectors V = h^-1/2 Q of an axis, h_(i+1) lower_(i+1) = h_i upper_i; infinite
   where two rows are coupled one way only, which nothing makes symmetric */
static double BCRAxisCondition(const BCRAxis *axis)
{
  double h = 0, low = 0, high = 0; /* logarithms */

  for (PetscInt i = 0; axis->lower && i + 1 < axis->n; i++) {
    const double up = (double)axis->upper[i], lo = (double)axis->lower[i + 1];

    if ((up > 0) != (lo > 0)) return (double)PETSC_INFINITY;
    if (up > 0) h += log(up / lo);
    low = PetscMin(low, h);
    high = PetscMax(high, h);
  }
  return exp(0.5 * (high - low));
}

PetscInt BCRAxesLine(PetscInt dim, const BCRAxis axis[], double *rest)
{
  double cond[3], least = 0;
  PetscInt line = -1;

  *rest = 1;
  for (PetscInt d = 0; d < dim; d++) cond[d] = axis[d].lower && axis[d].n > 1 ? BCRAxisCondition(&axis[d]) : 0;
  for (PetscInt d = 0; d < dim; d++) {
    double product = 1, work = 0;

    if (cond[d] == 0) continue;
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
  PetscInt general = 0;

  (void)BCRAxesLine(dim, axis, &rest);
  for (PetscInt d = 0; d < dim; d++) {
    if (!axis[d].lower || axis[d].n == 1) continue;
    general++;
    all *= axis[d].n > BCR_EIGEN_MOST ? (double)PETSC_INFINITY : BCRAxisCondition(&axis[d]);
  }
  return ranks && general > 1 ? all : rest;
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
                   weight = x->weight ? (double)x->weight[i] : 1;

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
      if (!i || ax->diag[i] - r < a) a = ax->diag[i] - r;
      if (!i || ax->diag[i] < b) b = ax->diag[i];
      sum = PetscMin(sum, (double)ax->diag[i] - (double)ax->lower[i] - (double)ax->upper[i]);
    }
    for (it = 0; it < 120 && b - a > 1e-15 * PetscMax(PetscAbs(a), PetscAbs(b)); it++) {
      const double x = 0.5 * (a + b);

      if (BCRAxisCount(ax, x) > 0) b = x;
      else a = x;
    }
    *lo = (PetscReal)PetscMax(a, sum);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCROperatorLowestEigenvalue(const BCROperator *op, PetscReal *lo)
{
  PetscInt d;
  PetscReal x;

  PetscFunctionBegin;
  *lo = op->shift;
  for (d = 0; d < 3; d++) {
    if (op->axis[d].n == 0) {
      *lo = 1.0;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(BCRAxisLowest(&op->axis[d], &x));
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

/* And not what is made to be near it */
static PetscBool BCROperatorIsMatrix(const BCROperator *op)
{
  return (PetscBool)(!op->differ && (!strcmp(op->fit, "exact") || !strcmp(op->fit, "user")));
}

PetscErrorCode BCROperatorCheckDefinite(BCROperator *op)
{
  static const char xyz[] = "xyz";
  const PetscReal size = BCROperatorSize(op);
  PetscInt d, i;
  PetscReal lo;

  PetscFunctionBegin;
  op->singular = op->waves = PETSC_FALSE;
  for (d = 0; d < 3; d++)
    if (op->axis[d].n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (op->tau != 0) {
    op->waves = PETSC_TRUE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (BCROperatorNeutral(op)) {
    for (d = 0; d < op->dim; d++) {
      const BCRAxis *ax = &op->axis[d];

      if (ax->n > 1 && ax->a == 0 && !ax->lower) { /* every plane across it has a null vector of its own */
        PetscCheck(
          BCROperatorIsMatrix(op), PETSC_COMM_SELF, PETSC_ERR_SUP,
          "The operator is singular and does not couple the grid lines along %c, and is not the matrix. Give a "
          "preconditioning matrix with a positive shift, or solve the planes one by one",
          xyz[d]);
        op->waves = PETSC_TRUE;
        PetscFunctionReturn(PETSC_SUCCESS);
      }
      /* The null vector of the transpose, h with h_i upper_i = h_(i+1) lower_(i+1), is positive
         where rows are coupled both ways. Without such a pair the planes on either side have null
         vectors of their own, or the transpose's vanishes on one side. */
      for (i = 0; i + 1 < ax->n && ax->lower; i++)
        PetscCheck(ax->upper[i] > 0 && ax->lower[i + 1] > 0, PETSC_COMM_SELF, PETSC_ERR_SUP,
                   "The operator is singular, and rows %" PetscInt_FMT " and %" PetscInt_FMT
                   " of axis %c are not coupled both ways (%g, %g): the constant is not all of its null space, or not "
                   "that of its transpose. Give a preconditioning matrix with a positive shift, or use another PC",
                   i, i + 1, xyz[d], (double)ax->upper[i], (double)ax->lower[i + 1]);
    }
    op->singular = PETSC_TRUE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BCROperatorLowestEigenvalue(op, &lo));
  /* a negative shift is what remains of a subtraction, good to rounding of the diagonal */
  if (lo > (op->shift < 0 ? BCR_SUM_TOL * size : 0)) PetscFunctionReturn(PETSC_SUCCESS);
  if (BCROperatorIsMatrix(op)) {
    op->waves = PETSC_TRUE;
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

PetscErrorCode BCROperatorCreateUser(PetscInt dim, const PetscInt n[], const PetscReal coupling[], const BCREnd end[],
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
  BCRCallElse(BCROperatorCheckDefinite(o), (void)PetscFree(o));
  *op = o;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCROperatorUserSetAxis(BCROperator *op, PetscInt d, const PetscReal lower[], const PetscReal diag[],
                                      const PetscReal upper[], const PetscReal weight[])
{
  BCRAxis *ax = &op->axis[d];
  PetscInt i;

  PetscFunctionBegin;
  PetscCheck(d >= 0 && d < op->dim, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "Axis %" PetscInt_FMT " of an operator in %" PetscInt_FMT " dimensions", d, op->dim);
  for (i = 0; i < ax->n; i++) {
    PetscCheck(
      (i == 0 || lower[i] >= 0) && (i == ax->n - 1 || upper[i] >= 0) && !PetscIsInfOrNanReal(diag[i]), PETSC_COMM_SELF,
      PETSC_ERR_ARG_OUTOFRANGE,
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
  ax->lower[0] = ax->upper[ax->n - 1] = 0;
  ax->a = 0;
  ax->end[0] = ax->end[1] = BCR_END_GENERAL;
  if (weight) {
    PetscCall(PetscMalloc1(ax->n, &ax->weight));
    PetscCall(PetscArraycpy(ax->weight, weight, ax->n));
  }
  PetscCall(BCROperatorCheckDefinite(op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCROperatorView(const BCROperator *op, PetscViewer viewer)
{
  static const char xyz[] = "xyz";
  PetscInt d, s, i;
  PetscBool ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  for (d = 0; d < op->dim; d++) {
    const BCRAxis *ax = &op->axis[d];

    PetscCall(PetscViewerASCIIPrintf(viewer, "axis %c: %" PetscInt_FMT " unknowns", xyz[d], ax->n));
    PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
    if (ax->lower) {
      PetscReal lo = PETSC_MAX_REAL, hi = 0;

      for (i = 0; i < ax->n; i++) {
        if (i) lo = PetscMin(lo, ax->lower[i]), hi = PetscMax(hi, ax->lower[i]);
        if (i < ax->n - 1) lo = PetscMin(lo, ax->upper[i]), hi = PetscMax(hi, ax->upper[i]);
      }
      PetscCall(PetscViewerASCIIPrintf(viewer, ", coefficients vary along it, coupling %g to %g",
                                       (double)(ax->n > 1 ? lo : 0), (double)hi));
    } else if (ax->n > 1)
      PetscCall(PetscViewerASCIIPrintf(viewer, ", ends %s and %s, coupling %g", BCREndGetRule(ax->end[0]).name,
                                       BCREndGetRule(ax->end[1]).name, (double)ax->a));
    if (ax->weight) PetscCall(PetscViewerASCIIPrintf(viewer, ", row weights"));
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
  if (op->empty) PetscCall(PetscViewerASCIIPrintf(viewer, "empty rows: %" PetscInt_FMT " (u = 0 there)\n", op->empty));
  PetscCall(PetscViewerASCIIPrintf(viewer, "shift %g", (double)op->shift));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
  if (op->tau != 0) PetscCall(PetscViewerASCIIPrintf(viewer, " %+g i", (double)op->tau));
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
    PetscCall(PetscCalloc4(m[d].N, &m[d].lo, m[d].N, &m[d].up, m[d].N, &m[d].dg, m[d].N, &m[d].w));
    if (ax->n == 0) continue;
    for (i = 0; i < ax->n; i++) {
      const PetscInt f = m[d].b + i;

      m[d].w[f] = ax->weight ? ax->weight[i] : 1.0;
      BCRAxisGetRow(ax, i, &m[d].lo[f], &m[d].dg[f], &m[d].up[f]);
    }
    for (s = 0; s < 2; s++) {
      const BCRPlane *pl = &ax->plane[s];
      const PetscInt f = m[d].b + (s ? ax->n - 1 : 0);
      double *out = s ? m[d].up : m[d].lo, *in = s ? m[d].lo : m[d].up;
      const PetscBool wrap = (PetscBool)(BCREndIsPeriodic(ax->end[s]) && ax->n > 1);

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
  for (d = 0; d < 3; d++) PetscCall(PetscFree4(m[d].lo, m[d].up, m[d].dg, m[d].w));
  PetscFunctionReturn(PETSC_SUCCESS);
}
