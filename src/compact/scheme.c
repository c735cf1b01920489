/*
  The coefficients of the compact schemes. Only the left-hand sides are written down; a right-hand
  side follows from its points: with L_k the Lagrange polynomials of the points, the row is exact
  for every polynomial through them if

    c_k = low L_k^(m)(x_{j-1}) + L_k^(m)(x_j) + up L_k^(m)(x_{j+1}),       m = 1, 2 the order of the derivative.

  P points give degree P - 1, and left-hand sides are chosen to gain degrees on top of that (by
  symmetry and by cancelling the first term of the error), or resolution of short waves
  ("spectral").
*/
#include "scheme.h"

/* w_k = L_k^(m)(at) for the points start, start + 1, ..., by the recursion of Fornberg (Math. Comp.
   51, 1988) that adds point by point */
static void compact_weights(PetscInt start, PetscInt points, PetscInt m, PetscInt at, long double w[])
{
  long double d[BCR_COMPACT_WIDTH][3] = {{0}}, c1 = 1, c4 = (long double)(start - at);

  d[0][0] = 1;
  for (PetscInt i = 1; i < points; ++i) {
    const PetscInt top = PetscMin(i, 2);
    const long double c5 = c4;
    long double c2 = 1;

    c4 = (long double)(start + i - at);
    for (PetscInt j = 0; j < i; ++j) {
      const long double c3 = (long double)(i - j);

      c2 *= c3;
      if (j == i - 1) {
        for (PetscInt k = top; k > 0; --k) d[i][k] = c1 * ((long double)k * d[i - 1][k - 1] - c5 * d[i - 1][k]) / c2;
        d[i][0] = -c1 * c5 * d[i - 1][0] / c2;
      }
      for (PetscInt k = top; k > 0; --k) d[j][k] = (c4 * d[j][k] - (long double)k * d[j][k - 1]) / c3;
      d[j][0] = c4 * d[j][0] / c3;
    }
    c1 = c2;
  }
  for (PetscInt k = 0; k < points; ++k) w[k] = d[k][m];
}

static void compact_row(PetscInt m, long double low, long double up, PetscInt at, PetscInt start, PetscInt points,
                        PetscInt order, BCRCompactRow *r)
{
  long double w[BCR_COMPACT_WIDTH], c[BCR_COMPACT_WIDTH] = {0};

  r->low = (double)low;
  r->up = (double)up;
  r->start = start;
  r->points = points;
  r->order = order;
  for (PetscInt s = -1; s <= 1; ++s) {
    const long double a = s < 0 ? low : (s > 0 ? up : 1);

    if (a == 0) continue;
    compact_weights(start, points, m, at + s, w);
    for (PetscInt k = 0; k < points; ++k) c[k] += a * w[k];
  }
  for (PetscInt k = 0; k < BCR_COMPACT_WIDTH; ++k) r->c[k] = k < points ? (double)c[k] : 0;
}

/*
  Inner rows. One free number alpha on 2 half + 1 points:

    pade4     3 points, alpha that gives order 4: 1/4, 1/10
    lele6     5 points, alpha that gives order 6: 1/3, 2/11
    spectral  7 points, order 6 whatever alpha is (8 for 3/8, 9/38); alpha a little larger, so that the relative error of the modified
              wavenumber stays below 1e-3 as far as it can: up to 0.588 pi (first derivative) and
              0.647 pi (second), where order 8 has
              0.446 pi and 0.487 pi, lele6 0.352 pi and 0.383 pi
*/
static const struct {
  PetscInt half, order;
  long double alpha[2];
} CompactInner[] = {
  {1, 4, {1 / 4.L, 1 / 10.L}},
  {2, 6, {1 / 3.L, 2 / 11.L}},
  {3, 6, {0.396L, 0.2663L}  },
};

PetscErrorCode BCRCompactGetScheme(MatCompactScheme scheme, PetscInt derivative, PetscInt closure, PetscBool periodic,
                                   BCRCompactScheme *s)
{
  const PetscInt m = derivative;
  PetscInt most;

  PetscFunctionBegin;
  PetscCheck((int)scheme >= 0 && (int)scheme <= (int)MAT_COMPACT_SPECTRAL, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "Compact scheme %d does not exist: pade4, lele6 or spectral", (int)scheme);
  PetscCheck(m == 1 || m == 2, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "Order of the derivative %" PetscInt_FMT
             ": there are the first (1) and the second (2) derivative; a higher one is a product of these",
             m);
  PetscCall(PetscMemzero(s, sizeof(*s)));
  s->derivative = m;
  s->half = CompactInner[scheme].half;
  compact_row(m, CompactInner[scheme].alpha[m - 1], CompactInner[scheme].alpha[m - 1], 0, -s->half, 2 * s->half + 1,
              CompactInner[scheme].order, &s->inner);
  s->minimum = PetscMax(2 * s->half + 1, 3);
  if (periodic) PetscFunctionReturn(PETSC_SUCCESS);

  most = CompactInner[scheme].order;
  if (closure == PETSC_DECIDE || closure == PETSC_DEFAULT) closure = m == 1 ? 3 : 4;
  PetscCheck(closure >= 3 && closure <= most, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "Boundary closure of order %" PetscInt_FMT ": the %s scheme has closures of order 3 to %" PetscInt_FMT,
             closure, MatCompactSchemes[scheme], most);
  s->closure = closure;
  s->closed = s->half;
  if (m == 1) {
    /* row 0: (1, closure - 1) on as many points as the order is, the degrees up to the order being
       exact: (1.3) of paper 002 for 3 */
    compact_row(m, 0, (long double)(closure - 1), 0, 0, closure, closure, &s->first[0]);
    /* row 1: Pade; one-sided rows that gain two degrees for orders 5 and 6 */
    if (closure <= 4) compact_row(m, 1 / 4.L, 1 / 4.L, 1, 0, 3, 4, &s->first[1]);
    else if (closure == 5) compact_row(m, 1 / 6.L, 1 / 2.L, 1, 0, 4, 5, &s->first[1]);
    else compact_row(m, 1 / 8.L, 3 / 4.L, 1, 0, 5, 6, &s->first[1]);
    compact_row(m, 1 / 3.L, 1 / 3.L, 2, 0, 5, 6, &s->first[2]);
  } else {
    /* row 0: (1, 11) on four points is of order 3. The like of higher order, (1, 10) on five
       points, has a zero pivot with the row that follows: points instead of left-hand side */
    if (closure == 3) compact_row(m, 0, 11, 0, 0, 4, 3, &s->first[0]);
    else compact_row(m, 0, 1, 0, 0, closure + 2, closure, &s->first[0]);
    if (closure <= 4) compact_row(m, 1 / 10.L, 1 / 10.L, 1, 0, 3, 4, &s->first[1]);
    else compact_row(m, 1 / 10.L, 1 / 10.L, 1, 0, closure + 2, closure, &s->first[1]);
    compact_row(m, 2 / 11.L, 2 / 11.L, 2, 0, 5, 6, &s->first[2]);
  }
  /* one more than the stencils need: some lines without it are singular */
  for (PetscInt r = 0; r < s->closed; ++r) s->minimum = PetscMax(s->minimum, s->first[r].points + 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCompactGetRow(const BCRCompactScheme *s, PetscInt n, PetscInt row, BCRCompactRow *r)
{
  PetscFunctionBegin;
  if (row < s->closed) *r = s->first[row];
  else if (row >= n - s->closed) {
    const BCRCompactRow *q = &s->first[n - 1 - row];
    const double sign = s->derivative == 1 ? -1 : 1; /* x -> -x */

    *r = *q;
    r->low = q->up;
    r->up = q->low;
    r->start = n - q->start - q->points;
    for (PetscInt k = 0; k < q->points; ++k) r->c[k] = sign * q->c[q->points - 1 - k];
  } else {
    *r = s->inner;
    r->start += row;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
