/*
  Axes, shift and scale of the operator, from the rows of one grid line along each axis. The three lines meet in one
  row of the box, the base row: the middle one, or the first of an axis of two unknowns. Along several general axes
  it is where their couplings are smallest, for what one axis has of a diagonal is that less what the base row has
  along the others.

      samples   the rows of the lines come to all ranks, signs turned so that couplings are positive
      times     along one axis the couplings of the others may not be in proportion: it has the lines
      weigh     what multiplies each row of a line: the couplings along another axis tell it
      divide    by that; and what a dropped plane adds to the end rows comes off
      name      uniform, with its ends, or general
      settle    ends of two unknowns, shift, units
      write     the axes of the operator
*/
#include "readdevice.h"

#define BCR_LINE_ROWS 0x4000000 /* of 7 numbers each, in one message: an MPI count is an int */

/* Ends, coupling and first diagonal of an axis of two unknowns */
typedef struct {
  BCREnd end[2];
  double a, first;
} BCRPair;

/* One axis as its grid line through the base row has it, in units of the matrix, signs turned so that couplings are
   positive. Arrays of n rows */
typedef struct {
  PetscInt axis, n;
  PetscInt base; /* the base row's place */
  double (*star)[7];
  double *weight;          /* what multiplies a row; below: what is left of it divided by that */
  double *times;           /* [n] of the axis S->times: what the axis S->timed has there, of the base row */
  double *low, *up, *diag; /* diag: less that of the base row */
  PetscBool plane[2];      /* the plane at this end is dropped */
  double out[2], slope[2]; /* coupling to it, and its slope */
  PetscBool general, ring; /* ring: general and periodic; neither: uniform: */
  BCREnd end[2];
  double a, first; /* coupling; what this axis has of the diagonal of the base row */
  int npairs;      /* two unknowns: what their ends may be */
  BCRPair pairs[16];
} BCRLine;

/* The lines along all axes */
typedef struct {
  BCRLine line[3];
  PetscInt ngeneral;        /* general axes */
  PetscInt times, timed;    /* axes: along which another is multiplied by numbers, and which; -1: none */
  double sign, star[7];     /* the base row */
  double tol;               /* diagonals that differ by less are the same */
  PetscBool shifted;        /* as that of BCRRows */
  double size, shift, unit; /* the largest diagonal; the shift; the coupling that the axes are in units of */
} BCRSamples;

/* What the diagonal of an end row may differ by from that of an end type, a: the coupling of the
   axis, noise: what diagonals inside the line differ by, tol: BCR_SAME_TOL of the whole diagonal.
   An axis that is coupled weakly beside another one has its ends told apart as long as the diagonal
   has digits for them. */
static double BCREndTolerance(double a, double tol, double noise)
{
  return PetscMin(0.25 * a,
                  PetscMin(tol, PetscMax(BCR_SAME_TOL * a, PetscMax(4 * noise, 4 * BCR_SUM_TOL / BCR_SAME_TOL * tol))));
}

/* Two unknowns: which pairs of ends give [d -q0; -q1 d+delta] up to a multiple of the identity */
static int BCRPairs(double q0, double q1, double delta, double tol, BCRPair list[16])
{
  static const BCREnd ends[16][2] = {
    {BCR_END_DIRICHLET,      BCR_END_DIRICHLET     },
    {BCR_END_CELL_NEUMANN,   BCR_END_CELL_NEUMANN  },
    {BCR_END_CELL_DIRICHLET, BCR_END_CELL_DIRICHLET},
    {BCR_END_DIRICHLET,      BCR_END_CELL_NEUMANN  },
    {BCR_END_CELL_NEUMANN,   BCR_END_DIRICHLET     },
    {BCR_END_DIRICHLET,      BCR_END_CELL_DIRICHLET},
    {BCR_END_CELL_DIRICHLET, BCR_END_DIRICHLET     },
    {BCR_END_CELL_NEUMANN,   BCR_END_CELL_DIRICHLET},
    {BCR_END_CELL_DIRICHLET, BCR_END_CELL_NEUMANN  },
    {BCR_END_NEUMANN,        BCR_END_DIRICHLET     },
    {BCR_END_DIRICHLET,      BCR_END_NEUMANN       },
    {BCR_END_NEUMANN,        BCR_END_CELL_NEUMANN  },
    {BCR_END_CELL_NEUMANN,   BCR_END_NEUMANN       },
    {BCR_END_NEUMANN,        BCR_END_CELL_DIRICHLET},
    {BCR_END_CELL_DIRICHLET, BCR_END_NEUMANN       },
    {BCR_END_NEUMANN,        BCR_END_NEUMANN       }
  };
  int k, s, n = 0;

  for (k = 0; k < 16; k++) {
    double a[2], t[2];

    for (s = 0; s < 2; s++) {
      const BCREndRule rule = BCREndGetRule(ends[k][s]);

      a[s] = (s ? q1 : q0) / rule.inward;
      t[s] = 2 + rule.diagonal;
    }
    if (k == 15 && n) break; /* two Neumann ends are two cell Neumann ends with twice the coupling */
    if (PetscAbs(a[0] - a[1]) > BCR_SAME_TOL * PetscMax(PetscAbs(a[0]), PetscAbs(a[1]))) continue;
    if (PetscAbs((t[1] - t[0]) * a[0] - delta) > (a[0] > 0 ? BCREndTolerance(a[0], tol, 0) : tol)) continue;
    list[n].end[0] = ends[k][0];
    list[n].end[1] = ends[k][1];
    list[n].a = a[0];
    list[n].first = t[0] * a[0];
    n++;
  }
  return n;
}

/* Fills low, up, diag from star and weight: diag less `centre`, which is the base row's if there is one (-1: none) */
static void BCRLineDivide(BCRLine *L, PetscInt base, double centre)
{
  double planes = 0; /* what dropped planes add to the base row */

  for (PetscInt i = 0; i < L->n; i++) {
    L->low[i] = L->star[i][2 * L->axis] / L->weight[i];
    L->up[i] = L->star[i][2 * L->axis + 1] / L->weight[i];
    L->diag[i] = L->star[i][BCR_CENTRE] / L->weight[i] - centre;
  }
  for (PetscInt s = 0; s < 2; s++) {
    const PetscInt e = s ? L->n - 1 : 0;

    L->out[s] = s ? L->up[e] : L->low[e];
    if (L->slope[s] != 0) {
      L->diag[e] -= L->out[s] * L->slope[s];
      if (e == base) planes += L->out[s] * L->slope[s];
    }
  }
  for (PetscInt i = 0; i < L->n; i++) L->diag[i] += planes; /* base row: 0 */
}

/* The sum of a row of a line, without what it has in a dropped plane */
static double BCRLineSum(const BCRLine *L, PetscInt i)
{
  return L->diag[i] - (i || L->ring ? L->low[i] : 0) - (i < L->n - 1 || L->ring ? L->up[i] : 0);
}

/* The least of the row sums of a line, of its inner rows where there are any */
static double BCRLineLeast(const BCRLine *L)
{
  const PetscInt first = L->n > 2 && !L->ring ? 1 : 0;
  double least = PETSC_MAX_REAL;

  for (PetscInt i = first; i < L->n - first; i++) least = PetscMin(least, BCRLineSum(L, i));
  return least;
}

/* The end type with this row: its coupling, and what its diagonal has beside 2 a, to within t; PETSC_FALSE: there is none */
static PetscBool BCRLineEnd(double in, double r, double a, double t, BCREnd *end)
{
  for (int e = 0; e < BCR_ENDS; e++) {
    const BCREndRule rule = BCREndGetRule((BCREnd)e);

    *end = (BCREnd)e;
    if (!BCREndIsPeriodic(*end) && PetscAbs(in - rule.inward * a) <= rule.inward * BCR_SAME_TOL * a &&
        PetscAbs(r - rule.diagonal * a) <= t)
      return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

/* The same, off all diagonals, for one of several general axes: rows whose sums are smaller than the base row's by no
   more than rounding of their diagonals do not count, since the smallest rows would miss the rounding of the largest.
   Sums that are the least to rounding are so exactly afterwards */
static double BCRLineSplit(BCRLine *L)
{
  const PetscInt n = L->n, first = n > 2 && !L->ring ? 1 : 0;
  const double base = BCRLineSum(L, L->base);
  double least = base;

  for (PetscInt i = first; i < n - first; i++) {
    const double sum = BCRLineSum(L, i);

    if (sum < base - BCR_SUM_TOL * PetscAbs(L->star[i][BCR_CENTRE] / L->weight[i])) least = PetscMin(least, sum);
  }
  for (PetscInt i = 0; i < n; i++) {
    const double tol = BCR_SUM_TOL * PetscAbs(L->star[i][BCR_CENTRE] / L->weight[i]), pair = L->low[i] + L->up[i];

    L->diag[i] = PetscAbs(L->diag[i] - least - pair) <= tol ? pair : L->diag[i] - least;
  }
  return least;
}

/* Names the ends of an axis that is uniform; PETSC_FALSE: it is not */
static PetscBool BCRLineUniform(BCRLine *L, double tol)
{
  const PetscInt n = L->n;
  double lo = PETSC_MAX_REAL, hi = -PETSC_MAX_REAL, sum = 0, noise = 0;

  if (n == 2) {
    L->npairs = BCRPairs(L->up[0], L->low[1], L->diag[1] - L->diag[0], tol, L->pairs);
    return (PetscBool)(L->npairs > 0);
  }
  for (PetscInt i = 1; i < n - 1; i++) {
    lo = PetscMin(lo, PetscMin(L->low[i], L->up[i]));
    hi = PetscMax(hi, PetscMax(L->low[i], L->up[i]));
    /* of differences, or rounding adds up on long lines */
    sum += 0.5 * ((L->low[i] - L->up[1]) + (L->up[i] - L->up[1]));
    noise = PetscMax(noise, PetscAbs(L->diag[i]));
  }
  if (!(noise <= tol)) return PETSC_FALSE;
  if (hi - lo > BCR_SAME_TOL * hi) return PETSC_FALSE;
  L->a = hi == lo ? hi : L->up[1] + sum / (double)(n - 2);
  L->first = 2 * L->a;
  if (!L->plane[0] && !L->plane[1] && (L->out[0] != 0 || L->out[1] != 0)) {
    for (PetscInt s = 0; s < 2; s++) {
      const PetscInt e = s ? n - 1 : 0;

      if (PetscAbs(L->out[s] - L->a) > BCR_SAME_TOL * L->a ||
          PetscAbs((s ? L->low[e] : L->up[e]) - L->a) > BCR_SAME_TOL * L->a || PetscAbs(L->diag[e]) > tol)
        return PETSC_FALSE;
      L->end[s] = BCR_END_PERIODIC;
    }
    return PETSC_TRUE;
  }
  for (PetscInt s = 0; s < 2; s++) {
    const PetscInt e = s ? n - 1 : 0;
    const double in = s ? L->low[e] : L->up[e], r = L->diag[e], t = L->a > 0 ? BCREndTolerance(L->a, tol, noise) : tol;

    if (!BCRLineEnd(in, r, L->a, t, &L->end[s])) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/* ---- samples ---- */

static PetscErrorCode BCRAxesClear(BCROperator *op)
{
  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++) {
    BCRAxis *ax = &op->axis[d];

    PetscCall(PetscFree(ax->lower));
    PetscCall(PetscFree(ax->diag));
    PetscCall(PetscFree(ax->upper));
    PetscCall(PetscFree(ax->weight));
    PetscCall(PetscFree(ax->times));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Clears the axes of the operator and sizes the lines. *empty: planes leave no unknown */
static PetscErrorCode BCRSamplesSize(const BCRRows *A, BCROperator *op, BCRSamples *S, PetscBool *empty)
{
  static const char xyz[] = "xyz";

  PetscFunctionBegin;
  PetscCall(PetscMemzero(S, sizeof(*S)));
  *empty = PETSC_FALSE;
  PetscCall(BCRAxesClear(op));
  op->dim = A->dim;
  op->shift = op->scale = 1;
  op->singular = PETSC_FALSE;
  for (PetscInt d = 0; d < 3; d++) {
    BCRAxis *ax = &op->axis[d];
    BCRLine *l = &S->line[d];

    l->axis = d;
    l->n = A->N[d];
    for (PetscInt s = 0; s < 2; s++) {
      l->plane[s] = ax->plane[s].present;
      l->slope[s] = ax->plane[s].slope;
      l->n -= l->plane[s] ? 1 : 0;
      l->end[s] = ax->end[s] = BCREndOfOne();
    }
    l->base = l->n > 2 ? l->n / 2 : 0;
    ax->n = l->n;
    ax->a = 0;
    if (l->n > 0) continue;
    PetscCheck(ax->plane[0].slope == 0 && ax->plane[1].slope == 0, A->comm, PETSC_ERR_SUP,
               "The two grid points along %c hold rows that couple them to each other only: too few points for such "
               "end rows, use at least three",
               xyz[d]);
    *empty = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRSamplesDestroy(BCRSamples *S)
{
  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++) {
    BCRLine *l = &S->line[d];

    PetscCall(PetscFree6(l->star, l->weight, l->times, l->low, l->up, l->diag));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Room for the lines that have their sizes. Collective */
static PetscErrorCode BCRSamplesCreate(MPI_Comm comm, BCRSamples *S)
{
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3 && !ierr; d++) {
    BCRLine *l = &S->line[d];

    if (!l->star)
      ierr =
        PetscMalloc6(l->n, &l->star, l->n, &l->weight, l->n, &l->times, l->n, &l->low, l->n, &l->up, l->n, &l->diag);
  }
  PetscCall(BCRFaultShare(comm, ierr, BCR_NO_MEMORY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of the lines, on all ranks. Collective */
static PetscErrorCode BCRSamplesRead(const BCRRows *A, PetscInt c, BCRSamples *S)
{
  BCRFault fault = {PETSC_SUCCESS, ""};

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++) {
    BCRLine *l = &S->line[d];
    PetscInt ix[3];

    for (PetscInt t = 0; t < 3; t++) ix[t] = (S->line[t].plane[0] ? 1 : 0) + (t == d ? 0 : S->line[t].base);
    PetscCall(PetscMemzero(l->star, sizeof(*l->star) * (size_t)l->n));
    for (PetscInt i = 0; i < l->n && !fault.code; i++, ix[d]++)
      if (BCRGridHas(&A->grid, ix)) PetscCall(BCRRowCheck(A, c, ix, PETSC_FALSE, l->star[i], &fault));
    for (PetscInt i = 0; A->grid.size > 1 && i < l->n; i += BCR_LINE_ROWS) /* one rank has it, the others zero */
      PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, l->star[i], (PetscMPIInt)(7 * PetscMin(BCR_LINE_ROWS, l->n - i)),
                                 MPI_DOUBLE, MPI_SUM, A->comm));
  }
  PetscCall(BCRFaultAgree(A->comm, &fault));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sign: that which makes the couplings of the base row positive together; without any, its diagonal. PETSC_FALSE:
   one of them is negative then (fit.c says what is wrong with it) */
static PetscBool BCRSamplesTurn(BCRSamples *S)
{
  const double *base = S->line[0].star[S->line[0].base];
  double sign = 0;

  for (int k = 0; k < 6; k++) sign -= base[k];
  if (sign == 0) sign = base[BCR_CENTRE];
  S->sign = sign < 0 ? -1 : 1;
  for (PetscInt d = 0; d < 3; d++) {
    BCRLine *l = &S->line[d];

    for (PetscInt i = 0; i < l->n; i++) {
      for (int k = 0; k < 6; k++) l->star[i][k] = l->star[i][k] == 0 ? 0 : -S->sign * l->star[i][k];
      l->star[i][BCR_CENTRE] *= S->sign;
    }
  }
  for (int k = 0; k < 7; k++) S->star[k] = base[k];
  S->tol = BCR_SAME_TOL * PetscAbs(S->star[BCR_CENTRE]);
  for (int k = 0; k < 6; k++)
    if (S->star[k] < 0) return PETSC_FALSE;
  return PETSC_TRUE;
}

/* ---- one axis: weights, uniform or general ---- */

/* What axis d couples in row i of a line, both ways */
static double BCRLinePair(const BCRLine *l, PetscInt i, PetscInt d)
{
  return l->star[i][2 * d] + l->star[i][2 * d + 1];
}

/* Numbers t along a line, if its two foreign axes are not coupled in proportion: t times the last of them, to which the
   coupling of the other one is weight. PETSC_FALSE: they are */
static PetscBool BCRLineTimes(BCRLine *l)
{
  const PetscInt last = BCRAxesTimed(l->axis), other = 3 - l->axis - last;
  double lo = PETSC_MAX_REAL, hi = 0;

  for (PetscInt i = 0; i < l->n; i++) {
    l->times[i] = BCRLinePair(l, i, last) / BCRLinePair(l, i, other) /
                  (BCRLinePair(l, l->base, last) / BCRLinePair(l, l->base, other));
    if (!(l->times[i] > 0) || PetscIsInfOrNanReal((PetscReal)l->times[i])) return PETSC_FALSE;
    lo = PetscMin(lo, l->times[i]);
    hi = PetscMax(hi, l->times[i]);
  }
  return (PetscBool)(hi - lo > BCR_SAME_TOL * hi);
}

/* Which axis has such numbers. PETSC_FALSE: two do, which no operator of this library has */
static PetscBool BCRSamplesTimes(BCRSamples *S, PetscInt c, BCRWhy *why)
{
  S->times = S->timed = -1;
  for (PetscInt d = 0; d < 3; d++)
    if (S->line[d].n == 1) return PETSC_TRUE;
  for (PetscInt d = 0; d < 3; d++) {
    if (!BCRLineTimes(&S->line[d])) continue;
    if (S->times >= 0) {
      why->c = c;
      (void)PetscSNPrintf(
        why->text, sizeof(why->text),
        ". Along %c and along %c the couplings of the two other axes are not in proportion; along one axis "
        "they need not be",
        'x' + (int)S->times, 'x' + (int)d);
      return PETSC_FALSE;
    }
    S->times = d;
    S->timed = BCRAxesTimed(d);
  }
  return PETSC_TRUE;
}

/* Weights of the rows from the strongest coupling of the base row along another axis, *told, that is not multiplied by
   numbers along this one; all 1 where there is none. PETSC_FALSE: a weight is impossible; planes that are not coupled to
   each other may have one of either sign */
static PetscBool BCRLineWeigh(const BCRSamples *S, BCRLine *l, PetscBool *told)
{
  PetscBool apart = PETSC_TRUE;
  int along = -1;

  for (PetscInt i = 0; i < l->n; i++) {
    l->weight[i] = 1;
    apart = (PetscBool)(apart && BCRLinePair(l, i, l->axis) == 0);
  }
  for (int k = 0; k < 6 && l->n > 1; k++)
    if (k / 2 != l->axis && (l->axis != S->times || k / 2 != S->timed) && S->star[k] > 0 &&
        (along < 0 || S->star[k] > S->star[along]))
      along = k;
  *told = (PetscBool)(along >= 0);
  for (PetscInt i = 0; i < l->n && along >= 0; i++) {
    double *w = &l->weight[i];

    *w = l->star[i][along] / S->star[along];
    if (!(*w > 0) && !(apart && *w < 0)) return PETSC_FALSE;
    if (PetscAbs(*w - 1) <= BCR_SAME_TOL) *w = 1;
    if ((i == 0 || i == l->n - 1) && PetscAbs(*w - 0.5) <= BCR_SAME_TOL) *w = 0.5;
  }
  return PETSC_TRUE;
}

/* Half weights at one or both ends, as rows of Neumann ends may have them: PETSC_TRUE where they make the axis uniform */
static PetscBool BCRLineHalves(BCRSamples *S, BCRLine *l)
{
  for (int k = 1; k < 4; k++) {
    l->weight[0] = k & 1 ? 0.5 : 1;
    l->weight[l->n - 1] = k & 2 ? 0.5 : 1;
    BCRLineDivide(l, l->base, l->star[l->base][BCR_CENTRE] / l->weight[l->base]);
    if (!BCRLineUniform(l, S->tol)) continue;
    if (l->n == 2) S->star[BCR_CENTRE] *= 1 / l->weight[0]; /* the base row is the first */
    return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

/* Weights that make all diagonals alike: PETSC_TRUE where they make the axis uniform. They stay where rows are of very
   different size, else weights are 1 again */
static PetscBool BCRLineDiagonals(const BCRSamples *S, BCRLine *l)
{
  const double different = 1000;
  double lo = PETSC_MAX_REAL, hi = 0;

  for (PetscInt i = 0; i < l->n; i++) {
    double *w = &l->weight[i];

    *w = l->star[i][BCR_CENTRE] / l->star[l->base][BCR_CENTRE];
    lo = PetscMin(lo, *w);
    hi = PetscMax(hi, *w);
    if (PetscAbs(*w - 1) <= BCR_SAME_TOL) *w = 1;
  }
  if (lo > 0) {
    BCRLineDivide(l, l->base, S->star[BCR_CENTRE]);
    if (BCRLineUniform(l, S->tol)) return PETSC_TRUE;
  }
  if (S->shifted || !(lo > 0 && hi > different * lo)) {
    for (PetscInt i = 0; i < l->n; i++) l->weight[i] = 1;
    BCRLineDivide(l, l->base, S->star[BCR_CENTRE]);
  }
  return PETSC_FALSE;
}

/* What the axis is; PETSC_FALSE: nothing that an operator of this library has. several: axes may be general; rings: and periodic */
static PetscBool BCRLineName(BCRSamples *S, PetscBool several, PetscBool rings, BCRLine *l)
{
  PetscBool told; /* by what is coupled across the line; else weights are tried */
  PetscBool must; /* be general */

  if (!BCRLineWeigh(S, l, &told)) return PETSC_FALSE;
  BCRLineDivide(l, l->base, S->star[BCR_CENTRE]);
  must = (PetscBool)(l->axis == S->times || (l->axis == S->timed && l->n == 2));
  if (!must && (l->n == 1 || BCRLineUniform(l, S->tol))) return PETSC_TRUE;
  if (!must && !told && (BCRLineHalves(S, l) || BCRLineDiagonals(S, l))) return PETSC_TRUE;
  l->general = PETSC_TRUE;
  if (S->ngeneral++ && !several) return PETSC_FALSE;
  l->ring = (PetscBool)(rings && l->n > 2 && !l->plane[0] && !l->plane[1] && (l->out[0] != 0 || l->out[1] != 0));
  for (PetscInt s = 0; s < 2; s++)
    if (l->out[s] != 0 && !l->plane[s] && !l->ring) return PETSC_FALSE;
  for (PetscInt i = 0; i < l->n; i++)
    if (l->low[i] < 0 || l->up[i] < 0) return PETSC_FALSE;
  return PETSC_TRUE;
}

/* ---- all axes: ends of two unknowns, shift, units ---- */

/* The k-th of four general lines, NULL: none. That with numbers t comes last: of its diagonal is taken off what t less one
   has, of what the axis `timed` has in the base row, *timed */
static BCRLine *BCRSamplesLine(BCRSamples *S, int k, double centre, const double *timed)
{
  BCRLine *l = k < 3 ? &S->line[k] : S->times < 0 ? NULL : &S->line[S->times];

  if (!l || !l->general || (k < 3 && k == S->times)) return NULL;
  BCRLineDivide(l, -1, centre);
  for (PetscInt i = 0; i < l->n && k == 3; i++) l->diag[i] -= (l->times[i] - 1) * *timed;
  return l;
}

/* What is left of the base row's diagonal without what axes of more than two unknowns have: the shift, and the axes of
   two. Sets size */
static double BCRSamplesRest(BCRSamples *S)
{
  const double centre = S->star[BCR_CENTRE];
  double rest = centre, timed = 0;

  for (PetscInt d = 0; d < 3; d++) {
    const BCRLine *l = &S->line[d];

    for (PetscInt s = 0; s < 2 && !l->general; s++)
      if (l->base == (s ? l->n - 1 : 0)) rest -= l->out[s] * l->slope[s];
    if (l->n > 2 && !l->general) rest -= l->first;
  }
  S->size = PetscAbs(centre);
  if (S->timed >= 0) timed = S->line[S->timed].first;
  for (int k = 0; k < 4; k++) { /* what rows of general axes have is not in the base row alone */
    const BCRLine *l = BCRSamplesLine(S, k, 0, &timed);
    double least;

    if (!l) continue;
    least = BCRLineLeast(l);
    rest += least - centre;
    if (k == S->timed) timed = l->diag[l->base] - least;
    for (PetscInt i = 0; i < l->n; i++) S->size = PetscMax(S->size, PetscAbs(l->diag[i]));
  }
  return rest;
}

/* With two unknowns along an axis its ends are known up to what the shift can take: chosen so that the shift vanishes,
   or is positive with plain names. Returns the shift */
static double BCRSamplesPick(BCRSamples *S, double rest)
{
  PetscInt pick[3], best[3] = {0, 0, 0}, most[3];
  double bestscore = PETSC_MAX_REAL;

  for (PetscInt d = 0; d < 3; d++) most[d] = S->line[d].n == 2 && !S->line[d].general ? S->line[d].npairs : 1;
  for (pick[0] = 0; pick[0] < most[0]; pick[0]++) {
    for (pick[1] = 0; pick[1] < most[1]; pick[1]++) {
      for (pick[2] = 0; pick[2] < most[2]; pick[2]++) {
        double score = 0, left = rest;

        for (PetscInt d = 0; d < 3; d++) {
          if (S->line[d].n == 2 && !S->line[d].general) left -= S->line[d].pairs[pick[d]].first;
          score += (double)pick[d];
        }
        if (PetscAbs(left) > BCR_SUM_TOL * S->size) score += left > 0 ? 1000 : 2000;
        if (score < bestscore) {
          bestscore = score;
          for (PetscInt d = 0; d < 3; d++) best[d] = pick[d];
        }
      }
    }
  }
  for (PetscInt d = 0; d < 3; d++) {
    BCRLine *l = &S->line[d];
    const BCRPair *p = &l->pairs[best[d]];

    if (l->n != 2 || l->general) continue;
    l->a = p->a;
    l->first = p->first;
    l->end[0] = p->end[0];
    l->end[1] = p->end[1];
    rest -= p->first;
  }
  return rest;
}

/* General axes have the couplings to dropped planes in their diagonals; the shift is the smallest row sum of the line
   with them. Diagonals are less what the other axes have, not differences to the base row: that one may be so large
   that little is left of others. Of several general axes each has its smallest row sum taken off, which is what the
   others have in the base row, and the shift */
static double BCRSamplesGeneral(BCRSamples *S)
{
  double other = 0, shift = 0, timed = 0; /* timed: what the axis of that name has in the base row */

  for (PetscInt d = 0; d < 3; d++) {
    const BCRLine *o = &S->line[d];

    if (o->general) continue;
    for (PetscInt s = 0; s < 2; s++)
      if (o->base == (s ? o->n - 1 : 0)) other += o->out[s] * o->slope[s];
    if (o->n > 1) other += o->first;
  }
  if (S->timed >= 0) timed = S->line[S->timed].first; /* of a uniform one */
  for (int k = 0; k < 4; k++) {
    BCRLine *l = BCRSamplesLine(S, k, other, &timed);
    double least;

    if (!l) continue;
    least = S->ngeneral > 1 ? BCRLineSplit(l) : BCRLineLeast(l);
    if (!l->ring) l->low[0] = l->up[l->n - 1] = 0; /* T ends with the box */
    if (S->ngeneral == 1 && PetscAbs(least) <= BCR_SUM_TOL * S->size) least = 0;
    for (PetscInt i = 0; i < l->n && S->ngeneral == 1; i++) l->diag[i] -= least;
    if (k == S->timed) timed = l->diag[l->base];
    shift += least;
  }
  shift -= (S->ngeneral - 1) * (S->star[BCR_CENTRE] - other);
  return PetscAbs(shift) <= BCR_SUM_TOL * S->size ? 0 : shift;
}

/* Ends of two unknowns, the shift, and the unit: the largest coupling of uniform axes, else of general ones, else the
   shift */
static void BCRSamplesSettle(BCRSamples *S)
{
  double general = 0; /* their largest coupling */

  S->shift = BCRSamplesPick(S, BCRSamplesRest(S));
  if (S->ngeneral) S->shift = BCRSamplesGeneral(S);
  else if (PetscAbs(S->shift) <= BCR_SUM_TOL * S->size) S->shift = 0;
  for (PetscInt d = 0; d < 3; d++)
    if (!S->line[d].general && S->line[d].n > 1) S->unit = PetscMax(S->unit, S->line[d].a);
  for (PetscInt d = 0; d < 3; d++) {
    const BCRLine *l = &S->line[d];

    for (PetscInt i = 0; i < l->n && l->general; i++) general = PetscMax(general, PetscMax(l->low[i], l->up[i]));
  }
  if (S->unit == 0) S->unit = general;
  if (S->unit == 0) S->unit = PetscAbs(S->shift);
  if (S->unit == 0) S->unit = PetscAbs(S->star[BCR_CENTRE]);
}

/* ---- the operator ---- */

static PetscErrorCode BCRLineWrite(const BCRLine *l, double unit, PetscBool times, BCRAxis *ax)
{
  PetscBool weighted = PETSC_FALSE;

  PetscFunctionBegin;
  ax->end[0] = l->end[0];
  ax->end[1] = l->end[1];
  if (l->n > 1) ax->a = (PetscReal)(l->a / unit);
  for (PetscInt s = 0; s < 2; s++) {
    BCRPlane *pl = &ax->plane[s];
    const PetscBool same =
      (PetscBool)(!l->general && l->n > 1 && PetscAbs(l->out[s] - l->a) <= BCR_SAME_TOL * l->a); /* as inside */

    pl->coupling = pl->present ? (PetscReal)((same ? l->a : l->out[s]) / unit) : 0;
    pl->couple = (PetscBool)(pl->coupling != 0);
    if (l->n == 1 && pl->couple) ax->a = pl->coupling;
  }
  if (l->general) {
    ax->a = 0;
    ax->end[0] = ax->end[1] = l->ring ? BCR_END_PERIODIC : BCR_END_GENERAL;
    PetscCall(PetscMalloc1(l->n, &ax->lower));
    PetscCall(PetscMalloc1(l->n, &ax->diag));
    PetscCall(PetscMalloc1(l->n, &ax->upper));
    for (PetscInt i = 0; i < l->n; i++) {
      ax->lower[i] = (PetscReal)(l->low[i] / unit);
      ax->diag[i] = (PetscReal)(l->diag[i] / unit);
      ax->upper[i] = (PetscReal)(l->up[i] / unit);
    }
  }
  if (times) {
    PetscCall(PetscMalloc1(l->n, &ax->times));
    for (PetscInt i = 0; i < l->n; i++) ax->times[i] = (PetscReal)l->times[i];
    ax->timed = BCRAxesTimed(l->axis);
  }
  for (PetscInt i = 0; i < l->n; i++) weighted = (PetscBool)(weighted || l->weight[i] != 1);
  if (weighted) {
    PetscCall(PetscMalloc1(l->n, &ax->weight));
    for (PetscInt i = 0; i < l->n; i++) ax->weight[i] = (PetscReal)l->weight[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The lines from `row`, NULL: from the matrix, and what each axis is */
static PetscErrorCode BCRSamplesName(const BCRRows *A, PetscInt c, BCRSamples *S, BCRAxesRow row, void *ctx,
                                     PetscBool *good)
{
  PetscFunctionBegin;
  S->ngeneral = 0;
  S->shifted = A->shifted;
  if (row) {
    for (PetscInt d = 0; d < 3; d++)
      for (PetscInt i = 0; i < S->line[d].n; i++) row(ctx, d, i, S->line[d].star[i]);
  } else PetscCall(BCRSamplesRead(A, c, S));
  *good = BCRSamplesTurn(S);
  S->times = S->timed = -1;
  if (*good && A->several && A->rings) *good = BCRSamplesTimes(S, c, A->why);
  for (PetscInt d = 0; d < 3 && *good; d++) {
    S->line[d].general = S->line[d].ring = PETSC_FALSE;
    *good = BCRLineName(S, A->several, (PetscBool)(A->several && A->rings), &S->line[d]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The base row of several general axes to where each has the smallest couplings, and with them what it has of diagonals;
   these themselves tell little of one axis where another has more of them. *moved: it was not there; at: its node */
static void BCRSamplesMove(BCRSamples *S, PetscBool *moved, PetscInt at[3])
{
  *moved = PETSC_FALSE;
  for (PetscInt d = 0; d < 3; d++) {
    BCRLine *l = &S->line[d];
    PetscInt least = l->base;

    for (PetscInt i = 1; i < l->n - 1 && l->general; i++)
      if (l->low[i] + l->up[i] < 0.5 * (l->low[least] + l->up[least])) least = i;
    if (least != l->base) *moved = PETSC_TRUE;
    l->base = least;
    at[d] = least + (l->plane[0] ? 1 : 0);
  }
}

/* Why each of the general axes but one cannot be transformed */
static PetscErrorCode BCRAxesRefuse(const BCRRows *A, PetscInt c, const BCROperator *op)
{
  char *why = A->why->text;
  const size_t size = sizeof(A->why->text);
  size_t at;

  PetscFunctionBegin;
  A->why->c = c;
  PetscCall(PetscSNPrintf(
    why, size, ". Coefficients vary along several axes, and all but that of the lines%s would be transformed:",
    A->grid.size > 1 ? " (on several ranks, all that need not have them)" : ""));
  for (PetscInt d = 0; d < op->dim; d++) {
    const BCRAxis *x = &op->axis[d];
    PetscInt bad = -1;
    double *h;

    if (!x->lower || x->n == 1) continue;
    PetscCall(PetscMalloc1(x->n, &h));
    (void)BCRAxisSymmetriser(x, h, &bad);
    PetscCall(PetscFree(h));
    PetscCall(PetscStrlen(why, &at));
    if (bad >= 0)
      PetscCall(PetscSNPrintf(why + at, size - at,
                              " %c (rows %" PetscInt_FMT " and %" PetscInt_FMT
                              " are coupled one way only, or close a ring with another product of couplings one way "
                              "round than the other)",
                              (int)('x' + d), bad, (bad + 1) % x->n));
    else if (x->n > BCR_EIGEN_MOST)
      PetscCall(PetscSNPrintf(why + at, size - at, " %c (%" PetscInt_FMT " unknowns, more than %d)", (int)('x' + d),
                              x->n, BCR_EIGEN_MOST));
    else
      PetscCall(PetscSNPrintf(why + at, size - at,
                              " %c (eigenvectors of condition %g; the product of all must "
                              "not be above %g)",
                              (int)('x' + d), BCRAxisCondition(x), BCR_CONDITION_MOST));
  }
  PetscCall(PetscInfo(A->P, "%s\n", why + 2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From lines that have their sizes to the operator, if they are those of one */
static PetscErrorCode BCRSamplesMake(const BCRRows *A, PetscInt c, BCRSamples *S, BCRAxesRow row, void *ctx,
                                     BCROperator *op, PetscBool *good)
{
  double condition;
  PetscInt at[3];
  PetscBool moved = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(BCRSamplesName(A, c, S, row, ctx, good));
  if (*good && S->ngeneral > 1 && !row) BCRSamplesMove(S, &moved, at);
  if (moved) { /* to lines that are not among those that were brought from a device */
    PetscCall(BCRSampleTakeLines(A, at));
    PetscCall(BCRSamplesName(A, c, S, row, ctx, good));
  }
  if (!*good) PetscFunctionReturn(PETSC_SUCCESS);
  BCRSamplesSettle(S);
  op->scale = (PetscReal)(S->sign * S->unit);
  op->shift = (PetscReal)(S->shift / S->unit);
  for (PetscInt d = 0; d < 3; d++) {
    PetscCall(BCRLineWrite(&S->line[d], S->unit, (PetscBool)(d == S->times), &op->axis[d]));
  }
  condition = BCRAxesCondition(op->dim, op->axis, (PetscBool)(A->grid.size > 1));
  if (condition <= BCR_CONDITION_MOST) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRAxesRefuse(A, c, op));
  *good = PETSC_FALSE;
  PetscCall(BCRAxesClear(op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* base: where the lines meet, NULL: where they do without being told */
static PetscErrorCode BCRAxes(const BCRRows *A, PetscInt c, const PetscInt base[3], BCRAxesRow row, void *ctx,
                              BCROperator *op, PetscBool *good)
{
  BCRSamples S;
  PetscBool empty;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(BCRSamplesSize(A, op, &S, &empty));
  *good = (PetscBool)(empty && !row);
  if (empty) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 3 && base; d++) S.line[d].base = base[d];
  ierr = BCRSamplesCreate(A->comm, &S);
  if (!ierr) ierr = BCRSamplesMake(A, c, &S, row, ctx, op, good);
  PetscCall(BCRSamplesDestroy(&S));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRAxesRead(const BCRRows *A, PetscInt c, BCROperator *op, PetscBool *good)
{
  PetscFunctionBegin;
  PetscCall(BCRAxes(A, c, NULL, NULL, NULL, op, good));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRAxesFrom(const BCRRows *A, const PetscInt base[3], BCROperator *op, BCRAxesRow row, void *ctx,
                           PetscBool *good)
{
  PetscFunctionBegin;
  PetscCall(BCRFaultShare(A->comm, BCRAxes(A, 0, base, row, ctx, op, good), BCR_NO_MEMORY));
  PetscFunctionReturn(PETSC_SUCCESS);
}
