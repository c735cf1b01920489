/*
  The scaled fit with axes that are stretched (docs/method.md, section "operator"),

      A ~ S W ( T_x (+) T_y (+) T_z + shift ) S,

  S = diag(s) positive, T_d symmetric tridiagonal along stretched axes, with any coefficients, and uniform along others. Of
  -div(k grad u) on cells h_x h_y h_z finite volumes have S = sqrt(k h_x h_y h_z) and W = 1; rows that were divided by
  their cells have W = 1/(h_x h_y h_z). All is taken from the matrix, in logarithms. With c_d the geometric mean of the
  couplings of a node along axis d,

      log c_d = 2 log s + tau_d(i_d),

  so that tau_d is, up to a constant, the mean over the layer i_d of D/(D - 1) (log c_d - their mean over the D axes), and
  2 log s the mean over the axes of log c_d - tau_d. Couplings of T_d are then the means of c/(s s) in each layer, its
  diagonals the layers' part of what is left of the diagonal of the matrix. A coupling that is not the mean of its layer has
  to be on the diagonal, too, in such a way that the constant has the same: with v = prod v_d(i_d) the product nearest to s,
  its mean in logarithms,

      p = D/(w s^2) - sum over links (c/(s s) - T_pq) v_q/v_p - uniform axes,
      d_d(i_d) = mean of p over the layer - (G - 1)/G mean of p        (G stretched axes; weights v^2).

  (What c/(s s) differs by within a layer is small where cells are, but p is its sum over h^2.) W is what the two entries of
  a link differ by.
*/
#include "fithost.h"
#include <math.h>

/* An axis is stretched if its couplings differ by more than this, beside those of the other axes */
#define BCR_FIT_STRETCH 1.5
/* T has its smallest eigenvalue raised to this part of the distance to the next one, as a singular matrix wants it */
#define BCR_FIT_STRETCH_LEAST 0.05
/* Unknowns of axes that are transformed by their eigenvectors: as many as are worth a bound twice as large */
#define BCR_FIT_STRETCH_DENSE 512

/* Sums over the layers of nodes across each axis, those of axis d from first[d] on, and the range of what is summed; [n]
   each, one behind the other */
typedef struct {
  double *sum, *count, *lo, *hi;
} BCRFitAcross;

static void BCRFitAcrossAdd(BCRFitAcross *L, PetscInt at, double weight, double x)
{
  L->sum[at] += weight * x;
  L->count[at] += weight;
  L->lo[at] = PetscMin(L->lo[at], x);
  L->hi[at] = PetscMax(L->hi[at], x);
}

/* Where the sums have node i along axis d, beyond its ends too if it is periodic */
static PetscInt BCRFitStretchNode(const BCRFitData *F, const BCRFitStretch *P, PetscInt d, PetscInt i)
{
  return P->first[d] + (i < 0 ? i + F->n[d] : i >= F->n[d] ? i - F->n[d] : i);
}

/* Links between layers along axis d; the last one of a periodic axis is that round to the first */
static PetscInt BCRFitStretchCount(const BCRFitData *F, PetscInt d)
{
  return F->n[d] - (F->wrap[d] ? 0 : 1);
}

/* Calls visit() with each of this rank's grid lines along x, and sums up over all ranks: once, and told to all, for the
   same last digits everywhere */
static PetscErrorCode BCRFitAcrossSum(BCRFitData *F, BCRFitStretch *P, BCRFitAcross *L,
                                      void (*visit)(BCRFitData *, BCRFitStretch *, const PetscInt o[3], BCRFitAcross *))
{
  const MPI_Comm comm = F->A->comm;
  const PetscMPIInt n = (PetscMPIInt)P->n;
  PetscInt o[3] = {0, 0, 0};

  PetscFunctionBegin;
  for (PetscInt i = 0; i < P->n; i++) {
    L->sum[i] = L->count[i] = 0;
    L->lo[i] = PETSC_MAX_REAL;
    L->hi[i] = -PETSC_MAX_REAL;
  }
  for (o[2] = F->lo[2]; o[2] < F->lo[2] + F->own[2] && F->own[0] > 0; o[2]++)
    for (o[1] = F->lo[1]; o[1] < F->lo[1] + F->own[1]; o[1]++) visit(F, P, o, L);
  if (F->A->grid.size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(
    MPI_Reduce(F->A->grid.rank ? (void *)L->sum : MPI_IN_PLACE, L->sum, 2 * n, MPI_DOUBLE, MPI_SUM, 0, comm));
  PetscCallMPI(MPI_Bcast(L->sum, 2 * n, MPI_DOUBLE, 0, comm));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, L->lo, n, MPI_DOUBLE, MPI_MIN, comm));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, L->hi, n, MPI_DOUBLE, MPI_MAX, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* log c_d of the nodes first .. first + count of a grid line, weights of half rows divided out, into row d of log, and
   their mean over the axes into row 3; rows of stride numbers. All couplings are positive */
static void BCRFitStretchLogs(const BCRFitData *F, const PetscInt o[3], PetscInt first, PetscInt count,
                              BCRFitStretch *P)
{
  double *mean = P->log + 3 * P->stride;

  for (PetscInt i = 0; i < count; i++) mean[i] = 0;
  for (PetscInt d = 0; d < F->dim; d++) {
    const PetscInt u = d == 0 ? 1 : 0, v = d == 2 ? 1 : 2;
    const double w = (u ? BCRFitWeight(F, u, o[u]) : 1) * BCRFitWeight(F, v, o[v]);
    double *x = P->log + d * P->stride;
    const double *below, *above;

    if (F->n[d] < 2) continue;
    BCRFitBeside(F, o, first, count, d, &below, &above);
    for (PetscInt i = 0; i < count; i++) {
      const double f = u ? w : w / F->iwx[first - F->begin[0] + i];

      x[i] = 0.5 * (log(below[i] / f) + log(above[i] / f));
      mean[i] += x[i] / (double)P->axes;
    }
  }
}

/* tau_d of the layers, times (D - 1)/D */
static void BCRFitStretchTau(BCRFitData *F, BCRFitStretch *P, const PetscInt o[3], BCRFitAcross *L)
{
  BCRFitStretchLogs(F, o, F->lo[0], F->own[0], P);
  for (PetscInt d = 0; d < F->dim; d++)
    for (PetscInt i = 0; i < F->own[0] && F->n[d] > 1; i++)
      BCRFitAcrossAdd(L, P->first[d] + (d ? o[d] : F->lo[0] + i), 1,
                      P->log[d * P->stride + i] - P->log[3 * P->stride + i]);
}

/* s of the nodes that this rank's links have at an end */
static void BCRFitStretchScales(BCRFitData *F, BCRFitStretch *P)
{
  const double part = 1 / (double)P->axes;
  PetscInt o[3] = {0, 0, 0}, begin[3], end[3];

  for (PetscInt d = 0; d < 3; d++) BCRFitScaled(F, d, &begin[d], &end[d]);
  for (o[2] = begin[2]; o[2] < end[2] && F->own[0] > 0; o[2]++) {
    for (o[1] = begin[1]; o[1] < end[1]; o[1]++) {
      PetscReal *S = P->S + BCRFitAt(F, begin[0], o);
      double across = 0;

      BCRFitStretchLogs(F, o, begin[0], end[0] - begin[0], P);
      for (PetscInt d = 1; d < F->dim; d++) across += P->general[d] ? P->tau[BCRFitStretchNode(F, P, d, o[d])] : 0;
      for (PetscInt i = 0; i < end[0] - begin[0]; i++) {
        const double tau = across + (P->general[0] ? P->tau[BCRFitStretchNode(F, P, 0, begin[0] + i)] : 0);

        S[i] = (PetscReal)exp(0.5 * (P->log[3 * P->stride + i] - part * tau));
      }
    }
  }
}

/* Where the sums have a link along axis d to the next layer: those of a uniform axis are all one */
static PetscInt BCRFitStretchLayer(const BCRFitData *F, const BCRFitStretch *P, PetscInt d, PetscInt layer)
{
  return P->general[d] ? BCRFitStretchNode(F, P, d, layer) : P->first[d];
}

/* The layer that link i of BCRFitLinks() is of */
static PetscInt BCRFitStretchLink(const PetscInt o[3], PetscInt d, int around, PetscInt node, PetscInt i)
{
  return d == 0 ? node + i : around ? o[d] : o[d] - 1;
}

/* log of c/(s s w) */
static void BCRFitStretchCouplings(BCRFitData *F, BCRFitStretch *P, const PetscInt o[3], BCRFitAcross *L)
{
  for (PetscInt d = 0; d < F->dim; d++)
    for (int around = 0; around < (F->wrap[d] ? 2 : 1); around++) {
      PetscInt node;
      const PetscInt k = BCRFitLinks(F, o, d, (PetscBool)around, F->line, &node);

      for (PetscInt i = 0; i < k; i++)
        BCRFitAcrossAdd(L, BCRFitStretchLayer(F, P, d, BCRFitStretchLink(o, d, around, node, i)), 1, log(F->line[i]));
    }
}

/* What a coupling along a stretched axis was divided by that has the square root of two at an end (BCRFitEnds()) */
static double BCRFitStretchEnd(const BCRFitData *F, PetscInt d, PetscInt layer)
{
  double f = 1;

  for (PetscInt s = 0; s < 2; s++)
    if (layer == (s ? F->n[d] - 2 : 0) && F->half[d][s] == 1 && BCREndGetRule(F->op->axis[d].end[s]).inward != 1)
      f *= sqrt(2.0);
  return f;
}

/* log of the entry towards the next layer over the mean of both: half of what W differs by */
static void BCRFitStretchSkew(BCRFitData *F, BCRFitStretch *P, const PetscInt o[3], BCRFitAcross *L)
{
  for (PetscInt i = 0; i < F->own[0]; i++) {
    const PetscInt q[3] = {F->lo[0] + i, o[1], o[2]}, ix[3] = {q[0] + F->b[0], q[1] + F->b[1], q[2] + F->b[2]};
    double st[7], rest;
    PetscInt col;

    (void)BCRRowGet(F->A, F->c, ix, st, &rest, &col);
    for (PetscInt d = 0; d < F->dim; d++)
      if (P->general[d] && q[d] < BCRFitStretchCount(F, d))
        BCRFitAcrossAdd(L, P->first[d] + q[d], 1,
                        log(-F->sign * st[2 * d + 1] / (F->C[d][BCRFitAt(F, q[0], q)] * BCRFitStretchEnd(F, d, q[d]))));
  }
}

/* log s of the layers */
static void BCRFitStretchConstant(BCRFitData *F, BCRFitStretch *P, const PetscInt o[3], BCRFitAcross *L)
{
  for (PetscInt i = 0; i < F->own[0]; i++) {
    const double x = log((double)P->S[BCRFitAt(F, F->lo[0] + i, o)]);

    for (PetscInt d = 0; d < F->dim; d++)
      if (P->general[d]) BCRFitAcrossAdd(L, P->first[d] + (d ? o[d] : F->lo[0] + i), 1, x);
  }
}

/* What a coupling of T has in it that BCRFitLinks() has not */
static double BCRFitStretchInside(const BCRFitData *F, PetscInt d, PetscInt layer)
{
  return BCRFitStretchEnd(F, d, layer) / sqrt(BCRFitWeight(F, d, layer) * BCRFitWeight(F, d, layer + 1));
}

/* Takes (c/(s s) - T_pq) v_q/v_p of the links along axis d, on side s, off F->line */
static void BCRFitStretchLump(const BCRFitData *F, const BCRFitStretch *P, const PetscInt o[3], PetscInt d, PetscInt s,
                              const double *C)
{
  const PetscInt u = d == 0 ? 1 : 0, v = d == 2 ? 1 : 2, n = F->n[d];
  const double w = (u ? BCRFitWeight(F, u, o[u]) : 1) * BCRFitWeight(F, v, o[v]);

  for (PetscInt i = 0; i < F->own[0]; i++) {
    const PetscInt x = F->lo[0] + i, here = d ? o[d] : x, there = here + (s ? 1 : -1), layer = s ? here : there,
                   at = BCRFitAt(F, x, o), to = at + (BCRFitAround(F, d, there) - here) * F->stride[d];
    double q, f = 1;

    if ((there < 0 || there >= n) && !F->wrap[d]) continue;
    q = C[i] / (w * (u ? 1 : BCRFitWeight(F, 0, x)) * (double)P->S[at] * (double)P->S[to]);
    if (P->general[d])
      f = BCRFitStretchInside(F, d, layer) * P->v[BCRFitStretchNode(F, P, d, there)] /
          P->v[BCRFitStretchNode(F, P, d, here)];
    F->line[i] -= f * (q - P->link[BCRFitStretchLayer(F, P, d, layer)]);
  }
}

/* p of this rank's nodes of a grid line, in F->line. *first, returned count: those inside along uniform axes */
static PetscInt BCRFitStretchRest(const BCRFitData *F, const BCRFitStretch *P, const PetscInt o[3], PetscInt *first)
{
  const PetscInt at = BCRFitAt(F, F->lo[0], o), n = F->own[0], cut = !P->general[0] && F->n[0] > 2 && !F->wrap[0];
  const PetscInt in[3] = {1, P->general[1] ? 1 : o[1], P->general[2] ? 1 : o[2]};

  *first = PetscMax(F->lo[0], cut);
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt q[3] = {F->lo[0] + i, o[1], o[2]};
    const double s = (double)P->S[at + i];

    F->line[i] = F->D[at + i] / (BCRFitRowWeight(F, q) * s * s);
    for (PetscInt d = 0; d < F->dim; d++) F->line[i] -= P->general[d] ? 0 : BCRFitDiagonal(F, d, q[d], P->a);
  }
  for (PetscInt d = 0; d < F->dim; d++) {
    const double *below, *above;

    if (F->n[d] < 2) continue;
    BCRFitBeside(F, o, F->lo[0], n, d, &below, &above);
    BCRFitStretchLump(F, P, o, d, 0, below);
    BCRFitStretchLump(F, P, o, d, 1, above);
  }
  return BCRFitInside(F, in, 0) ? PetscMin(F->lo[0] + n, F->n[0] - cut) - *first : 0;
}

/* v^2 of node i of a grid line */
static double BCRFitStretchMeasure(const BCRFitData *F, const BCRFitStretch *P, const PetscInt o[3], PetscInt i)
{
  double v = 1;

  for (PetscInt d = 0; d < F->dim; d++) v *= P->general[d] ? P->v[P->first[d] + (d ? o[d] : i)] : 1;
  return v * v;
}

/* The stretched axis at whose end a node is: -1 none, 3 several */
static PetscInt BCRFitStretchSide(const BCRFitData *F, const BCRFitStretch *P, const PetscInt q[3])
{
  PetscInt side = -1;

  for (PetscInt d = 0; d < F->dim; d++)
    if (P->general[d] && !F->wrap[d] && (q[d] == 0 || q[d] == F->n[d] - 1)) side = side < 0 ? d : 3;
  return side;
}

/* Of the layers across each axis the nodes inside along the others: what rows at an end have is large, and its axis' own */
static void BCRFitStretchDiagonals(BCRFitData *F, BCRFitStretch *P, const PetscInt o[3], BCRFitAcross *L)
{
  PetscInt first;
  const PetscInt count = BCRFitStretchRest(F, P, o, &first);

  for (PetscInt i = first; i < first + count; i++) {
    const PetscInt q[3] = {i, o[1], o[2]}, side = BCRFitStretchSide(F, P, q);
    const double v2 = BCRFitStretchMeasure(F, P, o, i);

    for (PetscInt d = 0; d < F->dim; d++)
      if (P->general[d] && (side < 0 || side == d)) BCRFitAcrossAdd(L, P->first[d] + q[d], v2, F->line[i - F->lo[0]]);
  }
}

/* What T has on the diagonal of a node at the end of a stretched axis beside what the constant takes; 0: little */
static double BCRFitStretchExcess(const BCRFitData *F, const BCRFitStretch *P, PetscInt d, PetscInt i)
{
  const PetscInt to = i ? i - 1 : 1, layer = i ? to : 0;
  const double link = P->link[P->first[d] + layer] * BCRFitStretchInside(F, d, layer) * P->v[P->first[d] + to] /
                      P->v[P->first[d] + i],
               excess = P->diag[P->first[d] + i] - link;

  return excess > 0.1 * link ? excess : 0;
}

/* What is left on a diagonal. At an end that holds the solution it is a coupling to what is beyond, as that of the layer is:
   their ratios are in the second place of the sums. At others it is a wall's, which counts as if it were spread over its
   axis: squares in the third place. Squares of what is left inside: in the first */
static void BCRFitStretchLeft(const BCRFitData *F, const BCRFitStretch *P, const PetscInt q[3], double x,
                              BCRFitAcross *L)
{
  const double far = 64, v2 = BCRFitStretchMeasure(F, P, q, q[0]);
  double excess = 0, part = 1;

  for (PetscInt d = 0; d < F->dim; d++) {
    if (!P->general[d] || F->wrap[d] || (q[d] > 0 && q[d] < F->n[d] - 1)) continue;
    excess += BCRFitStretchExcess(F, P, d, q[d]);
    part *= PetscSqr(P->v[P->first[d] + q[d]]) / P->all[d];
  }
  if (excess > 0 && (excess + x) * far > excess && excess + x < far * excess)
    BCRFitAcrossAdd(L, 1, 1, (excess + x) / excess);
  else BCRFitAcrossAdd(L, part < 1 ? 2 : 0, v2 / part, PetscSqr(part * x));
}

/* What diagonals and couplings are off by */
static void BCRFitStretchOff(BCRFitData *F, BCRFitStretch *P, const PetscInt o[3], BCRFitAcross *L)
{
  PetscInt first;
  const PetscInt count = BCRFitStretchRest(F, P, o, &first), *N = F->A->N;

  for (PetscInt i = 0; i < F->own[0]; i++) {
    const PetscInt q[3] = {F->lo[0] + i, o[1], o[2]}, row = BCRFitNatural(F, q[0], o);
    double x = F->line[i], size = P->shift;

    for (PetscInt d = 0; d < F->dim; d++) {
      x -= P->general[d] ? P->diag[P->first[d] + q[d]] : 0;
      size += P->general[d] ? P->diag[P->first[d] + q[d]] : BCRFitDiagonal(F, d, q[d], P->a);
    }
    if (q[0] >= first && q[0] < first + count) BCRFitStretchLeft(F, P, q, x, L);
    if (size > 0) BCRFitWorstOf(&P->worst, PetscAbs(x - P->shift) / size, row, row);
  }
  for (PetscInt d = 0; d < F->dim; d++) {
    const PetscInt step = d == 0 ? 1 : (d == 1 ? N[0] : N[0] * N[1]);

    for (int around = 0; around < (F->wrap[d] ? 2 : 1); around++) {
      PetscInt node;
      const PetscInt k = BCRFitLinks(F, o, d, (PetscBool)around, F->line, &node);

      for (PetscInt i = 0; i < k; i++) {
        const PetscInt row = BCRFitNatural(F, node + i, o) - (d && !around ? step : 0);
        const double t = P->link[BCRFitStretchLayer(F, P, d, BCRFitStretchLink(o, d, around, node, i))];

        BCRFitWorstOf(&P->worst, PetscAbs(F->line[i] / t - 1), row, row + (around ? -(F->n[d] - 1) * step : step));
      }
    }
  }
}

/* ---- the fit ---- */

/* Whether all couplings are positive */
static PetscErrorCode BCRFitStretchPositive(const BCRFitData *F, PetscBool *good)
{
  PetscInt o[3] = {0, 0, 0};
  int odd = 0;

  PetscFunctionBegin;
  for (o[2] = F->lo[2]; o[2] < F->lo[2] + F->own[2]; o[2]++)
    for (o[1] = F->lo[1]; o[1] < F->lo[1] + F->own[1]; o[1]++)
      for (PetscInt d = 0; d < F->dim; d++)
        for (PetscInt i = 0; i < F->own[0] && F->n[d] > 1; i++)
          if ((F->wrap[d] || (d ? o[d] : F->lo[0] + i) < F->n[d] - 1) && !(F->C[d][BCRFitAt(F, F->lo[0] + i, o)] > 0))
            odd = 1;
  if (F->A->grid.size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &odd, 1, MPI_INT, MPI_MAX, F->A->comm));
  *good = (PetscBool)!odd;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* tau_d, and which axes are stretched. *good: some are */
static PetscErrorCode BCRFitStretchAxes(BCRFitData *F, BCRFitStretch *P, BCRFitAcross *L, PetscBool *good)
{
  PetscFunctionBegin;
  *good = PETSC_FALSE;
  PetscCall(BCRFitAcrossSum(F, P, L, BCRFitStretchTau));
  for (PetscInt d = 0; d < F->dim; d++) {
    double lo = PETSC_MAX_REAL, hi = -PETSC_MAX_REAL;

    for (PetscInt i = 0; i < F->n[d] && F->n[d] > 1; i++) {
      double *tau = &P->tau[P->first[d] + i];

      *tau = L->sum[P->first[d] + i] / L->count[P->first[d] + i] * (double)P->axes / (double)(P->axes - 1);
      if (!F->wrap[d] && (i == 0 || i == F->n[d] - 1)) continue; /* there a coupling is a guess */
      lo = PetscMin(lo, *tau);
      hi = PetscMax(hi, *tau);
    }
    if (F->n[d] < 3 || (F->wrap[d] && !F->A->rings) || (F->A->one && d > 0) || !(hi - lo > log(BCR_FIT_STRETCH)))
      continue;
    P->general[d] = *good = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Couplings of T, and W. *good: nothing vanishes */
static PetscErrorCode BCRFitStretchMeans(BCRFitData *F, BCRFitStretch *P, BCRFitAcross *L, PetscBool *good)
{
  double lo = 0, hi = 0, skew = 0;

  PetscFunctionBegin;
  PetscCall(BCRFitAcrossSum(F, P, L, BCRFitStretchCouplings));
  for (PetscInt d = 0; d < F->dim; d++) {
    for (PetscInt i = 0; i < BCRFitStretchCount(F, d); i++) {
      const PetscInt at = BCRFitStretchLayer(F, P, d, i);
      const double mean = L->sum[at] / L->count[at];

      P->link[at] = exp(mean);
      if (!(P->link[at] > 0 && P->link[at] < PETSC_INFINITY)) *good = PETSC_FALSE;
      lo = PetscMin(lo, L->lo[at] - mean);
      hi = PetscMax(hi, L->hi[at] - mean);
    }
    P->a[d] = F->n[d] > 1 && !P->general[d] ? P->link[P->first[d]] : 0;
  }
  if (!*good) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRFitAcrossSum(F, P, L, BCRFitStretchSkew));
  for (PetscInt d = 0; d < F->dim; d++) {
    double *w = P->weight + P->first[d], most = 0, closes = 0;

    P->weighted[d] = PETSC_FALSE;
    for (PetscInt i = 0; i < BCRFitStretchCount(F, d) && P->general[d]; i++) {
      const PetscInt at = P->first[d] + i;

      closes = (i ? w[i] : (w[0] = 0)) - 2 * L->sum[at] / L->count[at];
      if (i + 1 < F->n[d]) w[i + 1] = closes; /* else the first one's */
      most = PetscMax(most, closes);
      if (PetscAbs(L->lo[at]) > BCR_SAME_TOL || PetscAbs(L->hi[at]) > BCR_SAME_TOL) P->weighted[d] = PETSC_TRUE;
      skew = PetscMax(skew, L->hi[at] - L->lo[at]);
    }
    if (F->wrap[d]) skew = PetscMax(skew, PetscAbs(closes));
    for (PetscInt i = 0; i < F->n[d] && P->general[d]; i++) w[i] = P->weighted[d] ? exp(w[i] - most) : 1;
  }
  P->spread = exp(hi - lo + skew);
  *good = (PetscBool)(P->spread < PETSC_MAX_REAL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* v and the diagonals of T */
static PetscErrorCode BCRFitStretchParts(BCRFitData *F, BCRFitStretch *P, BCRFitAcross *L, PetscBool *good)
{
  double all = 0, count = 0;
  PetscInt general = 0;

  PetscFunctionBegin;
  PetscCall(BCRFitAcrossSum(F, P, L, BCRFitStretchConstant));
  for (PetscInt d = 0; d < F->dim; d++)
    for (PetscInt i = 0; i < F->n[d] && P->general[d]; i++) {
      const PetscInt at = P->first[d] + i;

      if (i == 0) P->all[d] = 0;
      P->v[at] = exp(L->sum[at] / L->count[at] - L->sum[P->first[d]] / L->count[P->first[d]]) *
                 sqrt(BCRFitWeight(F, d, i) / P->weight[at]);
      P->all[d] += PetscSqr(P->v[at]);
    }
  PetscCall(BCRFitAcrossSum(F, P, L, BCRFitStretchDiagonals));
  for (PetscInt d = 0; d < F->dim; d++) {
    if (!P->general[d]) continue;
    general++;
    for (PetscInt i = F->wrap[d] ? 0 : 1; i < F->n[d] - (F->wrap[d] ? 0 : 1); i++) {
      all += L->sum[P->first[d] + i];
      count += L->count[P->first[d] + i];
    }
  }
  for (PetscInt d = 0; d < F->dim; d++)
    for (PetscInt i = P->first[d]; i < P->first[d] + F->n[d] && P->general[d]; i++) {
      P->diag[i] = L->sum[i] / L->count[i] - (double)(general - 1) / (double)general * (all / count);
      if (!(PetscAbs(P->diag[i]) < PETSC_INFINITY)) *good = PETSC_FALSE;
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* T_d */
static PetscErrorCode BCRFitStretchAxis(const BCRFitData *F, const BCRFitStretch *P, PetscInt d, BCRAxis *ax)
{
  const PetscInt n = F->n[d];

  PetscFunctionBegin;
  ax->n = n;
  ax->a = 0;
  ax->end[0] = ax->end[1] = F->wrap[d] ? BCR_END_PERIODIC : BCR_END_GENERAL;
  PetscCall(PetscMalloc1(n, &ax->lower));
  PetscCall(PetscMalloc1(n, &ax->diag));
  PetscCall(PetscMalloc1(n, &ax->upper));
  ax->lower[0] = ax->upper[n - 1] = 0;
  for (PetscInt i = 0; i < n; i++) {
    ax->diag[i] = (PetscReal)P->diag[P->first[d] + i];
    if (i == BCRFitStretchCount(F, d)) continue;
    ax->upper[i] = ax->lower[(i + 1) % n] = (PetscReal)(P->link[P->first[d] + i] * BCRFitStretchInside(F, d, i));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRFitStretchAxesFree(BCRAxis axis[3])
{
  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++) {
    if (!axis[d].lower) continue;
    PetscCall(PetscFree(axis[d].lower));
    PetscCall(PetscFree(axis[d].diag));
    PetscCall(PetscFree(axis[d].upper));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The distance from the smallest eigenvalue of an axis to the next */
static double BCRFitStretchGap(const BCRAxis *ax, double low)
{
  double a = low, b = low, x;

  if (!ax->lower) {
    x = sin((double)PETSC_PI / (BCRAxisIsPeriodic(ax) ? 1 : 2) / (double)ax->n);
    return 4 * x * x * (double)ax->a;
  }
  for (PetscInt i = 0; i < ax->n; i++)
    b = PetscMax(b, (double)ax->diag[i] + (double)ax->lower[i] + (double)ax->upper[i]);
  for (int it = 0; it < 100 && b - a > 1e-3 * (b - low); it++) {
    x = 0.5 * (a + b);
    if (BCRAxisCount(ax, x) > 1) b = x;
    else a = x;
  }
  return b - low;
}

/* The smallest eigenvalue of T and its distance to the next; whether T can be solved with, and what of it is dense */
static PetscErrorCode BCRFitStretchLowest(const BCRFitData *F, BCRFitStretch *P, BCRAxis axis[3], double *low,
                                          double *gap, double *size)
{
  double rest;
  PetscInt line;

  PetscFunctionBegin;
  *low = *size = 0;
  *gap = PETSC_MAX_REAL;
  for (PetscInt d = 0; d < F->dim; d++) {
    PetscReal x;

    axis[d] = F->op->axis[d];
    axis[d].a = (PetscReal)P->a[d];
    axis[d].lower = NULL;
    if (P->general[d]) PetscCall(BCRFitStretchAxis(F, P, d, &axis[d]));
    PetscCall(BCRAxisLowest(&axis[d], &x));
    *low += (double)x;
    if (F->n[d] > 1) *gap = PetscMin(*gap, BCRFitStretchGap(&axis[d], (double)x));
  }
  *size = BCRAxesSize(F->dim, axis, 0, 0);
  line = BCRAxesLine(F->dim, axis, &rest);
  P->dense = 0;
  for (PetscInt d = 0; d < F->dim; d++) P->dense += P->general[d] && d != line ? F->n[d] : 0;
  P->solvable = (PetscBool)(BCRAxesCondition(F->dim, axis, (PetscBool)(F->A->grid.size > 1)) <= BCR_CONDITION_MOST);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The shift, and the bound. *good: T is definite, or no further from it than a singular matrix leaves it */
static PetscErrorCode BCRFitStretchBound(BCRFitData *F, BCRFitStretch *P, BCRFitAcross *L, PetscBool *good)
{
  BCRAxis axis[3] = {{0}};
  double low = 0, gap = 0, size = 0, left = 0, least;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = BCRFitStretchLowest(F, P, axis, &low, &gap, &size);
  PetscCall(BCRFitStretchAxesFree(axis));
  PetscCall(BCRFaultShare(F->A->comm, ierr, BCR_NO_MEMORY));
  least = BCR_FIT_STRETCH_LEAST * gap;
  P->shift = PetscMax(0, least - low);
  *good = (PetscBool)(P->solvable && low > -2 * gap && low + P->shift > 4 * BCR_SUM_TOL * size);
  if (!*good) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRFitAcrossSum(F, P, L, BCRFitStretchOff));
  if (L->count[1] > 0) P->spread *= PetscMax(1, L->hi[1]) / PetscMin(1, L->lo[1]);
  for (int k = 0; k < 3; k += 2) left += L->count[k] > 0 ? sqrt(L->sum[k] / L->count[k]) : 0;
  P->bound = P->spread * (1 + (left + P->shift) / (P->shift > 0 ? gap : low));
  P->bound *= 1 + (double)P->dense / BCR_FIT_STRETCH_DENSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRFitStretchAll(BCRFitData *F, BCRFitStretch *P, BCRFitAcross *L, PetscBool *good)
{
  PetscFunctionBegin;
  PetscCall(BCRFitStretchPositive(F, good));
  if (*good) PetscCall(BCRFitStretchAxes(F, P, L, good));
  if (!*good) PetscFunctionReturn(PETSC_SUCCESS);
  BCRFitStretchScales(F, P);
  F->S = P->S; /* what couplings are divided by */
  PetscCall(BCRFitStretchMeans(F, P, L, good));
  if (*good) PetscCall(BCRFitStretchParts(F, P, L, good));
  if (*good) PetscCall(BCRFitStretchBound(F, P, L, good));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFitStretchTry(BCRFitData *F, BCRFitStretch *P)
{
  PetscReal *S = F->S;
  double *sums;
  BCRFitAcross L;
  PetscBool good = PETSC_FALSE;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(P, sizeof(*P)));
  P->bound = PETSC_INFINITY;
  for (PetscInt d = 0; d < 3; d++) {
    P->first[d] = P->n;
    P->n += F->n[d];
    P->axes += F->n[d] > 1 ? 1 : 0;
  }
  if (F->device || P->axes < 2) PetscFunctionReturn(PETSC_SUCCESS);
  P->stride = F->size[0] + 2;
  ierr = PetscMalloc7(P->n, &P->tau, P->n, &P->link, P->n, &P->diag, P->n, &P->weight, P->n, &P->v, 4 * P->stride,
                      &P->log, PetscMax(F->nodes, 1), &P->S);
  if (!ierr) ierr = PetscMalloc1(4 * P->n, &sums);
  PetscCall(BCRFaultShare(F->A->comm, ierr, BCR_NO_MEMORY));
  L = (BCRFitAcross){sums, sums + P->n, sums + 2 * P->n, sums + 3 * P->n};
  BCRCallElse(BCRFitStretchAll(F, P, &L, &good), (F->S = S, (void)PetscFree(sums)));
  F->S = S;
  PetscCall(PetscFree(sums));
  if (!good) P->bound = PETSC_INFINITY;
  P->there = good;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Half rows are in the scales along stretched axes, and there the rest of W is out of them */
PetscErrorCode BCRFitStretchTake(BCRFitData *F, const BCRFitStretch *P)
{
  BCROperator *op = F->op;
  PetscInt o[3];

  PetscFunctionBegin;
  if (!F->S) PetscCall(PetscMalloc1(PetscMax(F->nodes, 1), &F->S)); /* there on all ranks, or on none */
  for (o[2] = F->lo[2]; o[2] < F->lo[2] + F->own[2]; o[2]++)
    for (o[1] = F->lo[1]; o[1] < F->lo[1] + F->own[1]; o[1]++)
      for (o[0] = F->lo[0]; o[0] < F->lo[0] + F->own[0]; o[0]++) {
        const PetscInt at = BCRFitAt(F, o[0], o);
        double w = 1;

        for (PetscInt d = 0; d < F->dim; d++)
          if (P->general[d]) w *= BCRFitWeight(F, d, o[d]) / P->weight[P->first[d] + o[d]];
        F->S[at] = (PetscReal)((double)P->S[at] * sqrt(w));
      }
  F->scaled = PETSC_TRUE;
  PetscCall(PetscFree(F->apart)); /* rows apart are no longer: T has what they have */
  op->shift = (PetscReal)P->shift;
  for (PetscInt d = 0; d < F->dim; d++) {
    BCRAxis *ax = &op->axis[d];

    ax->a = (PetscReal)P->a[d];
    if (!P->general[d]) continue;
    PetscCall(BCRFitStretchAxis(F, P, d, ax));
    if (!P->weighted[d]) continue;
    PetscCall(PetscMalloc1(ax->n, &ax->weight));
    for (PetscInt i = 0; i < ax->n; i++) ax->weight[i] = (PetscReal)P->weight[P->first[d] + i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFitStretchDestroy(BCRFitStretch *P)
{
  PetscFunctionBegin;
  PetscCall(PetscFree7(P->tau, P->link, P->diag, P->weight, P->v, P->log, P->S));
  PetscFunctionReturn(PETSC_SUCCESS);
}
