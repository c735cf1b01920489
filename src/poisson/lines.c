#include "tables.h"

#define MAXSTRIP 64 /* modes of a strip, at most: BCR_STRIP bytes of float */

/* What h eliminated rows beyond the first or last row leave, with an end, for n modes: extra, what
   the row's diagonal keeps beyond delta (1 + sigmas), and sigma, the share of a right-hand side of
   ones that it gets. From the pivots P = up + num of tridiag(-1, 2 + delta, -1), num the excess of
   the row sum + low num/P of the row before, a sum of positive terms. inward, beta: the end row's coupling and its sum */
static void gaps_row(PetscInt n, PetscInt h, double inward, double beta, const double delta[], double extra[],
                     double sigma[])
{
  double r[MAXSTRIP], num[MAXSTRIP], y[MAXSTRIP];

  for (PetscInt k = 0; k < n; k++) {
    extra[k] = beta;
    sigma[k] = y[k] = r[k] = 0;
    num[k] = beta;
  }
  for (PetscInt i = 0; i < h; i++) {
    const double up = i == 0 ? inward : 1, low = i ? 1 : 0, first = i ? 0 : beta;

    for (PetscInt k = 0; k < n; k++) {
      y[k] = 1 + y[k] * r[k];
      num[k] = delta[k] + (first + low * num[k] * r[k]);
      r[k] = 1 / (up + num[k]);
      extra[k] *= r[k];
      sigma[k] = y[k] * r[k];
    }
  }
}

static void gaps_end(PetscInt n, PetscInt h, BCREnd end, const double delta[], double extra[], double sigma[])
{
  gaps_row(n, h, BCREndGetRule(end).inward, BCREndExcess(end), delta, extra, sigma);
}

/* The same where the signs of the rows of some modes alternate */
static void gaps_alternate(PetscInt n, PetscInt h, BCREnd end, const PetscBool alternates[], const double delta[],
                           double extra[], double sigma[])
{
  const BCREnd other = BCREndAlternate(end);
  double e[MAXSTRIP], s[MAXSTRIP];

  gaps_end(n, h, end, delta, extra, sigma);
  if (other == end) return;
  gaps_end(n, h, other, delta, e, s);
  for (PetscInt k = 0; k < n; k++) {
    if (!alternates[k]) continue;
    extra[k] = e[k];
    sigma[k] = s[k];
  }
}

static void gap_end(PetscInt h, BCREnd end, double delta, double *extra, double *sigma)
{
  gaps_end(1, h, end, &delta, extra, sigma);
}

/* The same for rows between two rows of the line: t, the coupling of the two, and the share of either */
static void gap_between(PetscInt h, double delta, double *t, double *sigma)
{
  gaps_end(1, h, BCREndAtSeparator(), &delta, t, sigma);
}

double BCRLineRowsOnes(const BCRLineRows *rows, PetscInt s)
{
  double t, sl, sr, x;

  if (BCREndIsPeriodic(rows->end[0])) {
    gap_between(s == 0 ? rows->gapend[0] : (s == rows->n - 1 ? rows->gaplast : rows->gap), 0, &t, &sl);
    gap_between(s == rows->n - 1 ? rows->gapend[0] : (s == rows->n - 2 ? rows->gaplast : rows->gap), 0, &t, &sr);
  } else {
    if (s == 0) gap_end(rows->gapend[0], rows->end[0], 0, &x, &sl);
    else gap_between(rows->gap, 0, &t, &sl);
    if (s == rows->n - 1) gap_end(rows->gapend[1], rows->end[1], 0, &x, &sr);
    else gap_between(rows->gap, 0, &t, &sr);
  }
  return 1 + sl + sr;
}

double BCRLineRowsReach(const BCRLineRows *rows, int end, double delta)
{
  double t, sigma;

  gap_between(rows->gapend[end], delta, &t, &sigma);
  return t;
}

/* By what the coupling of the first or last row of the line to the next one is more than that between
   others: where it is the end row itself, not one with eliminated rows beyond it */
static double end_coupling(const BCRLineRows *rows, int end)
{
  if (rows->gapend[end]) return 1;
  return BCREndIsGeneral(rows->end[end]) ? rows->inward[end] : BCREndGetRule(rows->end[end]).inward;
}

void BCRLineRowsSolve(const BCRLineRows *rows, double g[], double b[])
{
  const PetscInt n = rows->n;
  double num = 0, P = 1, t, sigma, xl, xr;

  gap_between(rows->gap, 0, &t, &sigma);
  gap_end(rows->gapend[0], rows->end[0], 0, &xl, &sigma);
  gap_end(rows->gapend[1], rows->end[1], 0, &xr, &sigma);
  for (PetscInt s = 0; s < n; s++) {
    const double up = s == n - 1 ? 0 : (s == 0 ? end_coupling(rows, 0) : 1) * t;
    const double low = s == 0 ? 0 : (s == n - 1 ? end_coupling(rows, 1) : 1) * t;

    g[s] = (g[s] + (s ? low * g[s - 1] : 0));
    num = (s ? low * num / P : xl) + (s == n - 1 ? xr : 0);
    P = up + num;
    g[s] /= P;
    b[s] = up / P;
  }
  for (PetscInt s = n - 2; s >= 0; s--) g[s] += b[s] * g[s + 1];
}

static void tab_put(void *tab, PetscBool single, ptrdiff_t i, const double *v, PetscInt n)
{
  if (single)
    for (PetscInt k = 0; k < n; k++) ((float *)tab)[i + k] = (float)v[k];
  else
    for (PetscInt k = 0; k < n; k++) ((double *)tab)[i + k] = v[k];
}

/* Room for so many numbers */
static PetscErrorCode tab_grow(ptrdiff_t need, ptrdiff_t used, size_t size, char **buf, ptrdiff_t *room)
{
  const ptrdiff_t want = *room + need;
  char *more;

  PetscFunctionBegin;
  if (need <= *room) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(want * size, &more));
  PetscCall(PetscMemcpy(more, *buf, used * size));
  PetscCall(PetscFree(*buf));
  *buf = more;
  *room = want;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool indefinite(PetscInt n, const double delta[])
{
  for (PetscInt k = 0; k < n; k++)
    if (delta[k] < 0) return PETSC_TRUE;
  return PETSC_FALSE;
}

PetscErrorCode BCRLinesTabCreate(const BCRLineRows *rows, PetscInt nk, const double *delta, const double *norm,
                                 const PetscBool *alternates, PetscBool single, PetscInt strip, BCRArena *arena,
                                 BCRLinesTab *tab)
{
  const PetscInt nq = (nk + strip - 1) / strip;
  const PetscBool periodic = BCREndIsPeriodic(rows->end[0]) ? PETSC_TRUE : PETSC_FALSE;
  /* rows of the open line */
  const PetscInt n = rows->n - (periodic ? 1 : 0);
  const size_t sz = single ? sizeof(float) : sizeof(double);
  /* of the pivots, once they have converged: a few roundings, or some never do */
  const double tol = single ? 1e-8 : 8e-16;
  ptrdiff_t *off, *nt, used = 0, room;
  char *buf;
  double low[MAXSTRIP], up[MAXSTRIP], eps[MAXSTRIP], eps0[MAXSTRIP], P[MAXSTRIP], num[MAXSTRIP], l[MAXSTRIP],
    p[MAXSTRIP], b[MAXSTRIP], y[MAXSTRIP], w0[MAXSTRIP], w1[MAXSTRIP], r[MAXSTRIP], away[MAXSTRIP];
  double *wy = NULL, *wb = NULL;
  void *zA = NULL, *zB = NULL, *q = NULL;

  PetscFunctionBegin;
  PetscCheck(!indefinite(nk, delta) ||
               (!periodic && !single && end_coupling(rows, 0) == 1 && end_coupling(rows, 1) == 1),
             PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "Lines that are not definite are a ring, in single precision or have mirrored rows");
  PetscCheck(strip <= MAXSTRIP, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Strip of %" PetscInt_FMT " modes", strip);
  PetscCheck(end_coupling(rows, 0) == 1 || rows->gap == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "A mirrored row beside eliminated ones");
  PetscCall(BCRArenaGet(arena, nq * sizeof(ptrdiff_t), &off));
  PetscCall(BCRArenaGet(arena, nq * sizeof(ptrdiff_t), &nt));
  tab->n = rows->n;
  tab->nk = nk;
  tab->periodic = periodic;
  tab->first = 1 / end_coupling(rows, 0);
  tab->off = off;
  tab->nt = nt;
  if (periodic) {
    PetscCall(BCRArenaGet(arena, nq * strip * sz, &zA));
    PetscCall(BCRArenaGet(arena, nq * strip * sz, &zB));
    PetscCall(BCRArenaGet(arena, nq * strip * sz, &q));
    PetscCall(PetscMalloc2(((size_t)n + 1) * strip, &wy, ((size_t)n + 1) * strip, &wb));
  }
  room = (ptrdiff_t)strip * (2 * PetscMin(n, 64) + 2) * nq;
  BCRCallElse(PetscMalloc1(room * sz, &buf), (void)PetscFree2(wy, wb));
  for (PetscInt iq = 0; iq < nq; iq++) {
    double t[MAXSTRIP], sg[MAXSTRIP], sl[MAXSTRIP], xl[MAXSTRIP], sr[MAXSTRIP], xr[MAXSTRIP], d[MAXSTRIP],
      nrm[MAXSTRIP], ta[MAXSTRIP], tb[MAXSTRIP], limit[MAXSTRIP], corner[MAXSTRIP];
    PetscBool turned[MAXSTRIP];
    ptrdiff_t rowstab = 0;
    PetscBool done = PETSC_FALSE;
    double before = 1;

    for (PetscInt k = 0; k < strip; k++) {
      const PetscInt kk = PetscMin(iq * strip + k, nk - 1);

      d[k] = delta[kk];
      nrm[k] = norm[kk];
      turned[k] = alternates ? alternates[kk] : PETSC_FALSE;
      num[k] = P[k] = r[k] = 0;
      corner[k] = 1;
    }
    gaps_end(strip, rows->gap, BCREndAtSeparator(), d, t, sg);
    if (periodic) {
      gaps_end(strip, rows->gapend[0], BCREndAtSeparator(), d, ta, sl);
      gaps_end(strip, rows->gaplast, BCREndAtSeparator(), d, tb, sr);
      PetscCall(PetscArraycpy(xl, ta, strip));
      PetscCall(PetscArraycpy(xr, tb, strip));
    } else {
      for (int e = 0; e < 2; e++) {
        double *extra = e ? xr : xl, *sigma = e ? sr : sl;

        if (BCREndIsGeneral(rows->end[e]))
          gaps_row(strip, rows->gapend[e], rows->inward[e], rows->excess[e], d, extra, sigma);
        else if (rows->gapend[e] == rows->gap && BCREndIsZero(rows->end[e])) { /* as between two rows */
          PetscCall(PetscArraycpy(extra, t, strip));
          PetscCall(PetscArraycpy(sigma, sg, strip));
        } else gaps_alternate(strip, rows->gapend[e], rows->end[e], turned, d, extra, sigma);
      }
    }
    for (PetscInt k = 0; k < strip; k++) { /* fixed point of num = eps + t num/(t + num) */
      const double e = d[k] * (1 + 2 * sg[k]);

      limit[k] = 0.5 * (e + sqrt(e) * sqrt(e + 4 * t[k]));
    }
    off[iq] = used;
    if (indefinite(strip, d)) { /* no sums of positive terms, nor pivots that converge */
      const double *const part[5] = {p, b, l, t, nrm};

      BCRCallElse(tab_grow(used + 5 * strip, used, sz, &buf, &room), (void)PetscFree(buf), (void)PetscFree2(wy, wb));
      for (PetscInt k = 0; k < strip; k++) {
        p[k] = d[k] * (1 + sl[k] + sg[k]) + xl[k] + t[k];
        b[k] = d[k] * (1 + sg[k] + sg[k]) + t[k] + t[k];
        l[k] = d[k] * (1 + sg[k] + sr[k]) + t[k] + xr[k];
      }
      for (int i = 0; i < 5; i++) tab_put(buf, single, used + i * strip, part[i], strip);
      used += 5 * strip;
      nt[iq] = -1;
      continue;
    }
    for (PetscInt s = 0; s < n; s++) {
      const PetscBool first = s == 0 ? PETSC_TRUE : PETSC_FALSE, last = s == n - 1 ? PETSC_TRUE : PETSC_FALSE;
      const double upend = first ? end_coupling(rows, 0) : 1, lowend = last ? end_coupling(rows, 1) : 1;
      double change = 0;

      if (done && !last && !periodic) { /* nothing changes up to the last row */
        s = n - 2;
        continue;
      }
      for (PetscInt k = 0; k < strip; k++) {
        low[k] = first ? 0 : lowend * t[k];
        up[k] = last ? 0 : upend * t[k];
        eps0[k] = d[k] * (1 + (first ? sl[k] : sg[k]) + (last ? sr[k] : sg[k]));
        eps[k] = eps0[k] + ((first ? xl[k] : 0) + (last ? xr[k] : 0));
      }
      for (PetscInt k = 0; k < strip; k++) {
        l[k] = low[k] * r[k];
        num[k] = eps[k] + l[k] * num[k];
        P[k] = up[k] + num[k];
        r[k] = 1 / (P[k] > 0 ? P[k] : HUGE_VAL); /* the last row of a singular line */
        b[k] = up[k] * r[k];
        p[k] = r[k] * nrm[k];
        away[k] = fabs(num[k] - limit[k]) * r[k];
      }
      for (PetscInt k = 0; k < strip; k++) change = PetscMax(change, away[k]);
      /* w = (open line)^-1 eps0, for the pivot of the last unknown */
      for (PetscInt k = 0; k < strip && periodic; k++) {
        y[k] = eps0[k] + (first ? 0 : l[k] * y[k]);
        wy[(size_t)s * strip + k] = y[k] * r[k];
        wb[(size_t)s * strip + k] = b[k];
        corner[k] *= last ? r[k] : b[k];
      }
      if (done && !last) continue;
      BCRCallElse(tab_grow(used + 4 * strip, used, sz, &buf, &room), (void)PetscFree(buf), (void)PetscFree2(wy, wb));
      if (!last) {
        tab_put(buf, single, used, p, strip);
        tab_put(buf, single, used + strip, b, strip);
        used += 2 * strip;
        rowstab++;
        if (s >= 1 && change <= tol && before <= tol) done = PETSC_TRUE; /* l comes from the pivot before */
        before = change;
      } else {
        tab_put(buf, single, used, l, strip);
        tab_put(buf, single, used + strip, p, strip);
        used += 2 * strip;
      }
    }
    nt[iq] = rowstab;
    if (periodic) {
      double v[MAXSTRIP], a[MAXSTRIP], c[MAXSTRIP];

      for (PetscInt k = 0; k < strip; k++) w1[k] = n ? wy[((size_t)n - 1) * strip + k] : 0;
      for (PetscInt k = 0; k < strip; k++) w0[k] = w1[k];
      for (PetscInt s = n - 2; s >= 0; s--)
        for (PetscInt k = 0; k < strip; k++) w0[k] = wy[(size_t)s * strip + k] + wb[(size_t)s * strip + k] * w0[k];
      for (PetscInt k = 0; k < strip; k++) {
        /* the last row: what of its diagonal is left when the open line is eliminated, again without cancellation */
        const PetscBool oddfirst = turned[k] && rows->gapend[0] % 2 == 0 ? PETSC_TRUE : PETSC_FALSE,
                        oddlast = turned[k] && rows->gaplast % 2 == 0 ? PETSC_TRUE : PETSC_FALSE;
        double den = n ? d[k] * (1 + sl[k] + sr[k]) + ta[k] * w0[k] + tb[k] * w1[k] : d[k];

        /* signs that alternate do not close on an odd ring: the couplings of the two ends to the last row differ in theirs */
        if (n && oddfirst != oddlast) den += 4 * ta[k] * tb[k] * corner[k];
        v[k] = den > 0 ? nrm[k] / den : 0;
        a[k] = (oddfirst ? -ta[k] : ta[k]) / nrm[k];
        c[k] = (oddlast ? -tb[k] : tb[k]) / nrm[k];
      }
      tab_put(zA, single, iq * strip, a, strip);
      tab_put(zB, single, iq * strip, c, strip);
      tab_put(q, single, iq * strip, v, strip);
    }
  }
  {
    void *keep;

    BCRCallElse(BCRArenaGet(arena, used * sz, &keep), (void)PetscFree(buf), (void)PetscFree2(wy, wb));
    PetscCall(PetscMemcpy(keep, buf, used * sz));
    tab->tab = keep;
  }
  tab->zA = zA;
  tab->zB = zB;
  tab->q = q;
  PetscCall(PetscFree(buf));
  PetscCall(PetscFree2(wy, wb));
  PetscFunctionReturn(PETSC_SUCCESS);
}
