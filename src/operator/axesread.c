/*
  Axes, shift and scale of the operator, from the rows of one grid line along each axis.
*/
#include "readimpl.h"

typedef struct {
  BCREnd end[2];
  double a, first; /* first: diagonal of the first row */
} BCRPair;

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
      const BCREnd e = ends[k][s];

      a[s] = (s ? q1 : q0) / (e == BCR_END_NEUMANN ? 2 : 1);
      t[s] = e == BCR_END_CELL_NEUMANN ? 1 : (e == BCR_END_CELL_DIRICHLET ? 3 : 2);
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

/* One axis as its grid line through the base row has it, in units of the matrix, signs turned so
   that couplings are positive */
typedef struct {
  PetscInt n;
  double (*st)[7]; /* rows of the line */
  /* weight; what is left of the row divided by it; dg: diagonal less that of the base row */
  double *w, *lo, *up, *dg;
  double out[2], slope[2]; /* coupling to the dropped plane, and its slope */
  PetscBool wrap, general;
  BCREnd end[2];
  double a, first; /* uniform: coupling, diagonal of the base row that belongs to this axis */
  int npairs;
  BCRPair pairs[16];
} BCRLine;

/* Fills lo, up, dg from st and w; false: a weight is impossible */
static void BCRLineDivide(BCRLine *L, PetscInt d, PetscInt base, double centre)
{
  PetscInt i, s;
  double cor = 0;

  for (i = 0; i < L->n; i++) {
    L->lo[i] = L->st[i][2 * d] / L->w[i];
    L->up[i] = L->st[i][2 * d + 1] / L->w[i];
    L->dg[i] = L->st[i][BCR_CENTRE] / L->w[i] - centre;
  }
  L->wrap = PETSC_FALSE;
  for (s = 0; s < 2; s++) {
    const PetscInt e = s ? L->n - 1 : 0;

    L->out[s] = s ? L->up[e] : L->lo[e];
    if (L->slope[s] != 0) {
      L->dg[e] -= L->out[s] * L->slope[s];
      if (e == base) cor += L->out[s] * L->slope[s];
    }
  }
  for (i = 0; i < L->n; i++) L->dg[i] += cor; /* base row: 0 */
}

/* The least of the row sums of a line, of its inner rows where there are any */
static double BCRLineLeast(const BCRLine *L)
{
  const PetscInt first = L->n > 2 ? 1 : 0;
  double least = PETSC_MAX_REAL;

  for (PetscInt i = first; i < L->n - first; i++)
    least = PetscMin(least, L->dg[i] - (i ? L->lo[i] : 0) - (i < L->n - 1 ? L->up[i] : 0));
  return least;
}

/* Names the ends of an axis that is uniform, tol for differences of diagonals; PETSC_FALSE: it is not */
static PetscBool BCRLineUniform(BCRLine *L, const PetscBool plane[2], double tol)
{
  const PetscInt n = L->n;
  PetscInt i, s;
  double lo = PETSC_MAX_REAL, hi = -PETSC_MAX_REAL, sum = 0, noise = 0;

  if (n == 2) {
    L->npairs = BCRPairs(L->up[0], L->lo[1], L->dg[1] - L->dg[0], tol, L->pairs);
    return (PetscBool)(L->npairs > 0);
  }
  for (i = 1; i < n - 1; i++) {
    lo = PetscMin(lo, PetscMin(L->lo[i], L->up[i]));
    hi = PetscMax(hi, PetscMax(L->lo[i], L->up[i]));
    /* of differences, or rounding adds up on long lines */
    sum += 0.5 * ((L->lo[i] - L->up[1]) + (L->up[i] - L->up[1]));
    noise = PetscMax(noise, PetscAbs(L->dg[i]));
  }
  if (!(noise <= tol)) return PETSC_FALSE;
  if (hi - lo > BCR_SAME_TOL * hi) return PETSC_FALSE;
  L->a = hi == lo ? hi : L->up[1] + sum / (double)(n - 2);
  L->first = 2 * L->a;
  if (!plane[0] && !plane[1] && (L->out[0] != 0 || L->out[1] != 0)) {
    for (s = 0; s < 2; s++) {
      const PetscInt e = s ? n - 1 : 0;

      if (PetscAbs(L->out[s] - L->a) > BCR_SAME_TOL * L->a ||
          PetscAbs((s ? L->lo[e] : L->up[e]) - L->a) > BCR_SAME_TOL * L->a || PetscAbs(L->dg[e]) > tol)
        return PETSC_FALSE;
      L->end[s] = BCR_END_PERIODIC;
    }
    L->wrap = PETSC_TRUE;
    return PETSC_TRUE;
  }
  for (s = 0; s < 2; s++) {
    const PetscInt e = s ? n - 1 : 0;
    const double in = s ? L->lo[e] : L->up[e], r = L->dg[e], t = L->a > 0 ? BCREndTolerance(L->a, tol, noise) : tol;

    if (PetscAbs(in - L->a) <= BCR_SAME_TOL * L->a) {
      if (PetscAbs(r) <= t) L->end[s] = BCR_END_DIRICHLET;
      else if (PetscAbs(r + L->a) <= t) L->end[s] = BCR_END_CELL_NEUMANN;
      else if (PetscAbs(r - L->a) <= t) L->end[s] = BCR_END_CELL_DIRICHLET;
      else return PETSC_FALSE;
    } else if (PetscAbs(in - 2 * L->a) <= 2 * BCR_SAME_TOL * L->a && PetscAbs(r) <= t) L->end[s] = BCR_END_NEUMANN;
    else return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

static PetscErrorCode BCRLineDestroyAll(BCRLine L[3])
{
  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++) PetscCall(PetscFree5(L[d].st, L[d].w, L[d].lo, L[d].up, L[d].dg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Everything of the operator but the planes, which are given, from one grid line along each axis.
   *good = PETSC_FALSE: these lines are not those of a separable operator of this library */
#define BCR_LINE_ROWS 0x4000000 /* of 7 numbers each, in one message: an MPI count is an int */

PetscErrorCode BCRAxesRead(const BCRRows *A, PetscInt c, BCROperator *op, PetscBool *good)
{
  static const char xyz[] = "xyz";
  BCRLine L[3];
  PetscInt b[3], base[3], ix[3], d, i, s, t, general = -1;
  int k, pick[3] = {0, 0, 0}, best[3] = {0, 0, 0};
  double centre, sign = 0, bestscore = PETSC_MAX_REAL, tol, unit = 0, shift, rest, size;
  double c0[7];
  PetscBool empty = PETSC_FALSE;
  BCRFault fault = {PETSC_SUCCESS, ""};
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *good = PETSC_FALSE;
  op->dim = A->dim;
  PetscCall(PetscMemzero(L, sizeof(L)));
  for (d = 0; d < 3; d++) {
    BCRAxis *ax = &op->axis[d];

    b[d] = ax->plane[0].present ? 1 : 0;
    L[d].n = A->N[d] - b[d] - (ax->plane[1].present ? 1 : 0);
    ax->n = L[d].n;
    ax->a = 0;
    ax->end[0] = ax->end[1] = BCR_END_CELL_NEUMANN;
    PetscCall(PetscFree(ax->lower));
    PetscCall(PetscFree(ax->diag));
    PetscCall(PetscFree(ax->upper));
    PetscCall(PetscFree(ax->weight));
    if (L[d].n == 0) {
      PetscCheck(ax->plane[0].slope == 0 && ax->plane[1].slope == 0, A->comm, PETSC_ERR_SUP,
                 "The two grid points along %c hold rows that couple them to each other only: too few points for such "
                 "end rows, use at least three",
                 xyz[d]);
      empty = PETSC_TRUE;
    }
    base[d] = L[d].n > 2 ? L[d].n / 2 : 0;
  }
  op->shift = op->scale = 1;
  op->singular = PETSC_FALSE;
  if (empty) {
    *good = PETSC_TRUE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (d = 0, ierr = PETSC_SUCCESS; d < 3 && !ierr; d++)
    ierr = PetscMalloc5(L[d].n, &L[d].st, L[d].n, &L[d].w, L[d].n, &L[d].lo, L[d].n, &L[d].up, L[d].n, &L[d].dg);
  BCRCallElse(BCRFaultShare(A->comm, ierr, BCR_NO_MEMORY), (void)BCRLineDestroyAll(L));
  for (d = 0; d < 3; d++) {
    for (t = 0; t < 3; t++) ix[t] = b[t] + base[t];
    PetscCall(PetscMemzero(L[d].st, sizeof(*L[d].st) * (size_t)L[d].n));
    for (i = 0; i < L[d].n && !fault.code; i++) {
      ix[d] = b[d] + i;
      if (BCRGridHas(&A->grid, ix)) PetscCall(BCRRowCheck(A, c, ix, L[d].st[i], &fault));
    }
    for (i = 0; A->grid.size > 1 && i < L[d].n; i += BCR_LINE_ROWS) /* one rank has it, the others zero */
      PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, L[d].st[i], (PetscMPIInt)(7 * PetscMin(BCR_LINE_ROWS, L[d].n - i)),
                                 MPI_DOUBLE, MPI_SUM, A->comm));
    L[d].slope[0] = op->axis[d].plane[0].slope;
    L[d].slope[1] = op->axis[d].plane[1].slope;
  }
  BCRCallElse(BCRFaultAgree(A->comm, &fault), (void)BCRLineDestroyAll(L));
  /* the sign: that which makes couplings positive here; without any, the diagonal positive */
  for (k = 0; k < 7; k++) c0[k] = L[0].st[base[0]][k];
  for (k = 0; k < 6; k++) sign -= c0[k];
  if (sign == 0) sign = c0[BCR_CENTRE];
  sign = sign < 0 ? -1 : 1;
  for (d = 0; d < 3; d++) {
    for (i = 0; i < L[d].n; i++) {
      for (k = 0; k < 6; k++) L[d].st[i][k] = L[d].st[i][k] == 0 ? 0 : -sign * L[d].st[i][k];
      L[d].st[i][BCR_CENTRE] *= sign;
    }
  }
  for (k = 0; k < 6; k++) {
    c0[k] = c0[k] == 0 ? 0 : -sign * c0[k];
    if (c0[k] < 0) goto done; /* fit.c says what is wrong with it */
  }
  centre = c0[BCR_CENTRE] * sign;
  tol = BCR_SAME_TOL * PetscAbs(centre);

  for (d = 0; d < 3; d++) {
    BCRLine *l = &L[d];
    const PetscBool plane[2] = {op->axis[d].plane[0].present, op->axis[d].plane[1].present};
    int tangent = -1;

    for (i = 0; i < l->n; i++) l->w[i] = 1;
    l->end[0] = l->end[1] = BCR_END_CELL_NEUMANN;
    if (l->n > 1) {
      for (k = 0; k < 6; k++)
        if (k / 2 != d && c0[k] > 0 && (tangent < 0 || c0[k] > c0[tangent])) tangent = k;
      for (i = 0; i < l->n && tangent >= 0; i++) {
        l->w[i] = l->st[i][tangent] / c0[tangent];
        if (!(l->w[i] > 0)) goto done;
        if (PetscAbs(l->w[i] - 1) <= BCR_SAME_TOL) l->w[i] = 1;
        if ((i == 0 || i == l->n - 1) && PetscAbs(l->w[i] - 0.5) <= BCR_SAME_TOL) l->w[i] = 0.5;
      }
    }
    BCRLineDivide(l, d, base[d], centre);
    if (l->n == 1) l->first = 0;
    else if (!BCRLineUniform(l, plane, tol)) {
      l->general = PETSC_TRUE;
      /* nothing along the line tells the weights: perhaps half weights at Neumann ends */
      for (k = 1; k < 4 && tangent < 0 && l->general; k++) {
        l->w[0] = k & 1 ? 0.5 : 1;
        l->w[l->n - 1] = k & 2 ? 0.5 : 1;
        BCRLineDivide(l, d, base[d], l->st[base[d]][BCR_CENTRE] / l->w[base[d]]);
        if (BCRLineUniform(l, plane, tol)) l->general = PETSC_FALSE;
        if (l->n == 2 && !l->general) { /* the base row is the first */
          centre *= 1 / l->w[0];
          c0[BCR_CENTRE] *= 1 / l->w[0];
        }
      }
      if (l->general) {
        /* or all diagonals alike, where that makes it uniform or the rows are of very different
           size */
        if (tangent < 0) {
          double lo = PETSC_MAX_REAL, hi = 0;

          for (i = 0; i < l->n; i++) {
            l->w[i] = l->st[i][BCR_CENTRE] / l->st[base[d]][BCR_CENTRE];
            lo = PetscMin(lo, l->w[i]);
            hi = PetscMax(hi, l->w[i]);
            if (PetscAbs(l->w[i] - 1) <= BCR_SAME_TOL) l->w[i] = 1;
          }
          if (lo > 0) {
            BCRLineDivide(l, d, base[d], centre);
            if (BCRLineUniform(l, plane, tol)) l->general = PETSC_FALSE;
          }
          if (l->general && !(lo > 0 && hi > 1000 * lo)) {
            for (i = 0; i < l->n; i++) l->w[i] = 1;
            BCRLineDivide(l, d, base[d], centre);
          }
        }
      }
      if (l->general) {
        if (general >= 0 || ((l->out[0] != 0 && !plane[0]) || (l->out[1] != 0 && !plane[1]))) goto done;
        for (i = 0; i < l->n; i++)
          if (l->lo[i] < 0 || l->up[i] < 0) goto done;
        general = d;
      }
    }
  }

  /* with two unknowns along an axis its ends are known up to what the shift can take: choose so
     that the shift vanishes, or is positive with plain names */
  centre = c0[BCR_CENTRE] * sign;
  for (d = 0, rest = centre; d < 3; d++) {
    for (s = 0; s < 2; s++) {
      const PetscInt e = s ? L[d].n - 1 : 0;

      if (base[d] == e && d != general) rest -= L[d].out[s] * L[d].slope[s];
    }
    if (L[d].n > 2 && !L[d].general) rest -= L[d].first;
    if (L[d].n > 2 || L[d].general || L[d].n == 1) L[d].npairs = 1;
  }
  size = PetscAbs(centre);
  if (general >= 0) { /* what its rows have is not in the base row alone */
    BCRLineDivide(&L[general], general, -1, 0);
    rest += BCRLineLeast(&L[general]) - centre;
    for (i = 0; i < L[general].n; i++) size = PetscMax(size, PetscAbs(L[general].dg[i]));
  }
  for (pick[0] = 0; pick[0] < L[0].npairs; pick[0]++) {
    for (pick[1] = 0; pick[1] < L[1].npairs; pick[1]++) {
      for (pick[2] = 0; pick[2] < L[2].npairs; pick[2]++) {
        double score = 0, left = rest;

        for (d = 0; d < 3; d++) {
          if (L[d].n == 2 && !L[d].general) left -= L[d].pairs[pick[d]].first;
          score += pick[d];
        }
        if (PetscAbs(left) > BCR_SUM_TOL * size) score += left > 0 ? 1000 : 2000;
        if (score < bestscore) {
          bestscore = score;
          for (d = 0; d < 3; d++) best[d] = pick[d];
        }
      }
    }
  }
  shift = rest;
  for (d = 0; d < 3; d++) {
    if (L[d].n == 2 && !L[d].general) {
      const BCRPair *p = &L[d].pairs[best[d]];

      L[d].a = p->a;
      L[d].first = p->first;
      L[d].end[0] = p->end[0];
      L[d].end[1] = p->end[1];
      shift -= p->first;
    }
    if (!L[d].general && L[d].n > 1) unit = PetscMax(unit, L[d].a);
  }
  if (general >= 0) { /* the shift is the smallest row sum of the line, with the couplings to dropped planes */
    BCRLine *l = &L[general];
    double other = 0;

    /* diagonals less what the other axes have, not by differences to the base row: that one may be
       so large that little is left of others */
    for (d = 0; d < 3; d++) {
      for (s = 0; s < 2 && d != general; s++)
        if (base[d] == (s ? L[d].n - 1 : 0)) other += L[d].out[s] * L[d].slope[s];
      if (d != general && L[d].n > 1) other += L[d].first;
    }
    BCRLineDivide(l, general, -1, other); /* no base row */
    shift = BCRLineLeast(l);
    for (s = 0; s < 2; s++) { /* T ends with the box */
      if (s) l->up[l->n - 1] = 0;
      else l->lo[0] = 0;
    }
    if (PetscAbs(shift) <= BCR_SUM_TOL * size) shift = 0;
    for (i = 0; i < l->n; i++) l->dg[i] -= shift;
    if (unit == 0)
      for (i = 0; i < l->n; i++) unit = PetscMax(unit, PetscMax(l->lo[i], l->up[i]));
  } else if (PetscAbs(shift) <= BCR_SUM_TOL * PetscAbs(centre)) shift = 0;
  if (unit == 0) unit = PetscAbs(shift);
  if (unit == 0) unit = PetscAbs(centre);

  op->scale = (PetscReal)(sign * unit);
  op->shift = (PetscReal)(shift / unit);
  for (d = 0; d < 3; d++) {
    BCRAxis *ax = &op->axis[d];
    BCRLine *l = &L[d];
    PetscBool weighted = PETSC_FALSE;

    ax->end[0] = l->end[0];
    ax->end[1] = l->end[1];
    if (l->n > 1) ax->a = (PetscReal)(l->a / unit);
    for (s = 0; s < 2; s++) {
      BCRPlane *pl = &ax->plane[s];

      pl->coupling = 0;
      if (pl->present)
        pl->coupling =
          (PetscReal)(!l->general && l->n > 1 && PetscAbs(l->out[s] - l->a) <= BCR_SAME_TOL * l->a ? l->a / unit
                                                                                                   : l->out[s] / unit);
      pl->couple = (PetscBool)(pl->coupling != 0);
      if (l->n == 1 && pl->couple) ax->a = pl->coupling;
    }
    if (l->general) {
      ax->a = 0;
      ax->end[0] = ax->end[1] = BCR_END_GENERAL;
      BCRCallElse(PetscMalloc1(l->n, &ax->lower), (void)BCRLineDestroyAll(L));
      BCRCallElse(PetscMalloc1(l->n, &ax->diag), (void)BCRLineDestroyAll(L));
      BCRCallElse(PetscMalloc1(l->n, &ax->upper), (void)BCRLineDestroyAll(L));
      for (i = 0; i < l->n; i++) {
        ax->lower[i] = (PetscReal)(l->lo[i] / unit);
        ax->diag[i] = (PetscReal)(l->dg[i] / unit);
        ax->upper[i] = (PetscReal)(l->up[i] / unit);
      }
    }
    for (i = 0; i < l->n; i++) weighted = (PetscBool)(weighted || l->w[i] != 1);
    if (weighted) {
      BCRCallElse(PetscMalloc1(l->n, &ax->weight), (void)BCRLineDestroyAll(L));
      for (i = 0; i < l->n; i++) ax->weight[i] = (PetscReal)l->w[i];
    }
  }
  *good = PETSC_TRUE;

done:
  PetscCall(BCRLineDestroyAll(L));
  PetscFunctionReturn(PETSC_SUCCESS);
}
