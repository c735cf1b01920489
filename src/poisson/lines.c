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

/* Entries of a table, in its precision, in room that grows */
typedef struct {
  PetscBool single;
  char *values;
  ptrdiff_t used, room; /* numbers */
} Entries;

static void entries_put(void *values, PetscBool single, ptrdiff_t i, const double *v, PetscInt n)
{
  if (single)
    for (PetscInt k = 0; k < n; k++) ((float *)values)[i + k] = (float)v[k];
  else
    for (PetscInt k = 0; k < n; k++) ((double *)values)[i + k] = v[k];
}

static size_t entries_bytes(const Entries *a, ptrdiff_t n)
{
  return (size_t)n * (a->single ? sizeof(float) : sizeof(double));
}

static PetscErrorCode entries_add(Entries *a, const double *v, PetscInt n)
{
  PetscFunctionBegin;
  if (a->used + n > a->room) {
    const ptrdiff_t room = 2 * a->room + n;
    char *more;

    PetscCall(PetscMalloc1(entries_bytes(a, room), &more));
    PetscCall(PetscMemcpy(more, a->values, entries_bytes(a, a->used)));
    PetscCall(PetscFree(a->values));
    a->values = more;
    a->room = room;
  }
  entries_put(a->values, a->single, a->used, v, n);
  a->used += n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool indefinite(PetscInt n, const double delta[])
{
  for (PetscInt k = 0; k < n; k++)
    if (delta[k] < 0) return PETSC_TRUE;
  return PETSC_FALSE;
}

/* A strip of modes, and what the eliminated rows between and beyond those of the line leave of each */
typedef struct {
  PetscInt width; /* modes */
  double delta[MAXSTRIP], norm[MAXSTRIP];
  PetscBool turned[MAXSTRIP];                       /* signs of the rows alternate */
  double t[MAXSTRIP], share[MAXSTRIP];              /* coupling of two rows, the share of either */
  double extra[2][MAXSTRIP], endshare[2][MAXSTRIP]; /* the same at the ends; of a ring: beside its last row */
} Strip;

/* Strip q of nk modes */
static PetscErrorCode strip_set(const BCRLineRows *rows, PetscInt q, PetscInt nk, const double *delta,
                                const double *norm, const PetscBool *alternates, Strip *w)
{
  const PetscInt n = w->width;
  const double *d = w->delta;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) {
    const PetscInt kk = PetscMin(q * n + k, nk - 1);

    w->delta[k] = delta[kk];
    w->norm[k] = norm[kk];
    w->turned[k] = alternates ? alternates[kk] : PETSC_FALSE;
  }
  gaps_end(n, rows->gap, BCREndAtSeparator(), d, w->t, w->share);
  for (int e = 0; e < 2; e++) {
    if (BCREndIsPeriodic(rows->end[0])) {
      gaps_end(n, e ? rows->gaplast : rows->gapend[0], BCREndAtSeparator(), d, w->extra[e], w->endshare[e]);
    } else if (BCREndIsGeneral(rows->end[e])) {
      gaps_row(n, rows->gapend[e], rows->inward[e], rows->excess[e], d, w->extra[e], w->endshare[e]);
    } else if (rows->gapend[e] == rows->gap && BCREndIsZero(rows->end[e])) { /* as between two rows */
      PetscCall(PetscArraycpy(w->extra[e], w->t, n));
      PetscCall(PetscArraycpy(w->endshare[e], w->share, n));
    } else gaps_alternate(n, rows->gapend[e], rows->end[e], w->turned, d, w->extra[e], w->endshare[e]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lines with modes that are not definite are factored in each solve: no sums of positive terms, nor pivots that converge */
static PetscErrorCode strip_diagonals(const Strip *w, Entries *tab)
{
  const PetscInt n = w->width;
  double first[MAXSTRIP], inner[MAXSTRIP], last[MAXSTRIP];
  const double *const part[5] = {first, inner, last, w->t, w->norm};

  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) {
    const double d = w->delta[k], t = w->t[k], s = w->share[k];

    first[k] = d * (1 + w->endshare[0][k] + s) + w->extra[0][k] + t;
    inner[k] = d * (1 + s + s) + t + t;
    last[k] = d * (1 + s + w->endshare[1][k]) + t + w->extra[1][k];
  }
  for (int i = 0; i < 5; i++) PetscCall(entries_add(tab, part[i], n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a ring keeps of its open line: w = (open line)^-1 eps0 before and b of the way back, for each row and mode, and for
   each mode the product of the b's */
typedef struct {
  double *y, *b, corner[MAXSTRIP];
} Ring;

/* The pivots P = up + num of n rows, num = eps + low num/P of the row before; tabled until they have converged to tol,
   rows of them, and the last one: norm/P and up/P of a row, of the last low/P of the row before and norm/P. ring: or NULL */
static PetscErrorCode strip_pivots(const BCRLineRows *rows, PetscInt n, const Strip *w, double tol, Ring *ring,
                                   Entries *tab, ptrdiff_t *tabled)
{
  const PetscInt width = w->width;
  double num[MAXSTRIP] = {0}, r[MAXSTRIP] = {0}, l[MAXSTRIP], p[MAXSTRIP], b[MAXSTRIP], y[MAXSTRIP] = {0},
         limit[MAXSTRIP], before = 1;
  PetscBool done = PETSC_FALSE;

  PetscFunctionBegin;
  *tabled = 0;
  for (PetscInt k = 0; k < width; k++) { /* num's fixed point, num = eps + t num/(t + num) */
    const double e = w->delta[k] * (1 + 2 * w->share[k]);

    limit[k] = 0.5 * (e + sqrt(e) * sqrt(e + 4 * w->t[k]));
  }
  for (PetscInt k = 0; k < width && ring; k++) ring->corner[k] = 1;
  for (PetscInt s = 0; s < n; s++) {
    const PetscBool first = s == 0 ? PETSC_TRUE : PETSC_FALSE, last = s == n - 1 ? PETSC_TRUE : PETSC_FALSE;
    const double upend = first ? end_coupling(rows, 0) : 1, lowend = last ? end_coupling(rows, 1) : 1;
    double eps0[MAXSTRIP], away[MAXSTRIP], change = 0;

    if (done && !last && !ring) { /* nothing changes up to the last row */
      s = n - 2;
      continue;
    }
    for (PetscInt k = 0; k < width; k++)
      eps0[k] =
        w->delta[k] * (1 + (first ? w->endshare[0][k] : w->share[k]) + (last ? w->endshare[1][k] : w->share[k]));
    for (PetscInt k = 0; k < width; k++) {
      const double eps = eps0[k] + ((first ? w->extra[0][k] : 0) + (last ? w->extra[1][k] : 0)),
                   up = last ? 0 : upend * w->t[k], low = first ? 0 : lowend * w->t[k];
      double P;

      l[k] = low * r[k];
      num[k] = eps + l[k] * num[k];
      P = up + num[k];
      r[k] = 1 / (P > 0 ? P : HUGE_VAL); /* the last row of a singular line */
      b[k] = up * r[k];
      p[k] = r[k] * w->norm[k];
      away[k] = fabs(num[k] - limit[k]) * r[k];
    }
    for (PetscInt k = 0; k < width; k++) change = PetscMax(change, away[k]);
    for (PetscInt k = 0; k < width && ring; k++) {
      y[k] = eps0[k] + l[k] * y[k];
      ring->y[(size_t)s * width + k] = y[k] * r[k];
      ring->b[(size_t)s * width + k] = b[k];
      ring->corner[k] *= last ? r[k] : b[k];
    }
    if (last) {
      PetscCall(entries_add(tab, l, width));
      PetscCall(entries_add(tab, p, width));
    } else if (!done) {
      PetscCall(entries_add(tab, p, width));
      PetscCall(entries_add(tab, b, width));
      (*tabled)++;
      if (s >= 1 && change <= tol && before <= tol) done = PETSC_TRUE; /* l comes from the pivot before */
      before = change;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The last row of a ring of n rows and that one: what of its diagonal is left when the open line is eliminated, again without
   cancellation, as norm/pivot in q, and its couplings to the first and the last row of the line over norm in z */
static void strip_close(const BCRLineRows *rows, PetscInt n, const Strip *w, const Ring *ring, double z[2][MAXSTRIP],
                        double q[])
{
  const PetscInt width = w->width;
  double w0[MAXSTRIP], w1[MAXSTRIP];

  for (PetscInt k = 0; k < width; k++) w1[k] = n ? ring->y[((size_t)n - 1) * width + k] : 0;
  for (PetscInt k = 0; k < width; k++) w0[k] = w1[k];
  for (PetscInt s = n - 2; s >= 0; s--)
    for (PetscInt k = 0; k < width; k++)
      w0[k] = ring->y[(size_t)s * width + k] + ring->b[(size_t)s * width + k] * w0[k];
  for (PetscInt k = 0; k < width; k++) {
    const double ta = w->extra[0][k], tb = w->extra[1][k], d = w->delta[k];
    const PetscBool oddfirst = w->turned[k] && rows->gapend[0] % 2 == 0 ? PETSC_TRUE : PETSC_FALSE,
                    oddlast = w->turned[k] && rows->gaplast % 2 == 0 ? PETSC_TRUE : PETSC_FALSE;
    double den = n ? d * (1 + w->endshare[0][k] + w->endshare[1][k]) + ta * w0[k] + tb * w1[k] : d;

    /* signs that alternate do not close on an odd ring: the couplings of the two ends to the last row differ in theirs */
    if (n && oddfirst != oddlast) den += 4 * ta * tb * ring->corner[k];
    q[k] = den > 0 ? w->norm[k] / den : 0;
    z[0][k] = (oddfirst ? -ta : ta) / w->norm[k];
    z[1][k] = (oddlast ? -tb : tb) / w->norm[k];
  }
}

/* All strips; entries and ring are the caller's to free, whatever happens */
static PetscErrorCode tab_fill(const BCRLineRows *rows, PetscInt nk, const double *delta, const double *norm,
                               const PetscBool *alternates, PetscInt strip, BCRArena *arena, Entries *entries,
                               Ring *ring, BCRLinesTab *tab)
{
  const PetscInt nq = (nk + strip - 1) / strip;
  const PetscInt n = rows->n - (tab->periodic ? 1 : 0); /* rows of the open line */
  const double tol = entries->single ? 1e-8 : 8e-16;    /* of pivots that have converged: a few roundings */
  ptrdiff_t *off, *nt;
  void *z[2] = {NULL, NULL}, *q = NULL, *keep;
  Strip w = {.width = strip};

  PetscFunctionBegin;
  PetscCall(BCRArenaGet(arena, nq * sizeof(ptrdiff_t), &off));
  PetscCall(BCRArenaGet(arena, nq * sizeof(ptrdiff_t), &nt));
  if (tab->periodic) {
    for (int e = 0; e < 2; e++) PetscCall(BCRArenaGet(arena, entries_bytes(entries, nq * strip), &z[e]));
    PetscCall(BCRArenaGet(arena, entries_bytes(entries, nq * strip), &q));
    PetscCall(PetscMalloc2(((size_t)n + 1) * strip, &ring->y, ((size_t)n + 1) * strip, &ring->b));
  }
  entries->room = (ptrdiff_t)strip * (2 * PetscMin(n, 64) + 2) * nq;
  PetscCall(PetscMalloc1(entries_bytes(entries, entries->room), &entries->values));
  for (PetscInt i = 0; i < nq; i++) {
    PetscCall(strip_set(rows, i, nk, delta, norm, alternates, &w));
    off[i] = entries->used;
    if (indefinite(strip, w.delta)) {
      PetscCall(strip_diagonals(&w, entries));
      nt[i] = -1;
      continue;
    }
    PetscCall(strip_pivots(rows, n, &w, tol, tab->periodic ? ring : NULL, entries, &nt[i]));
    if (tab->periodic) {
      double zs[2][MAXSTRIP], qs[MAXSTRIP];

      strip_close(rows, n, &w, ring, zs, qs);
      for (int e = 0; e < 2; e++) entries_put(z[e], entries->single, i * strip, zs[e], strip);
      entries_put(q, entries->single, i * strip, qs, strip);
    }
  }
  PetscCall(BCRArenaGet(arena, entries_bytes(entries, entries->used), &keep));
  PetscCall(PetscMemcpy(keep, entries->values, entries_bytes(entries, entries->used)));
  tab->off = off;
  tab->nt = nt;
  tab->tab = keep;
  tab->zA = z[0];
  tab->zB = z[1];
  tab->q = q;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRLinesTabCreate(const BCRLineRows *rows, PetscInt nk, const double *delta, const double *norm,
                                 const PetscBool *alternates, PetscBool single, PetscInt strip, BCRArena *arena,
                                 BCRLinesTab *tab)
{
  Entries entries = {.single = single};
  Ring ring = {0};

  PetscFunctionBegin;
  tab->n = rows->n;
  tab->nk = nk;
  tab->periodic = BCREndIsPeriodic(rows->end[0]) ? PETSC_TRUE : PETSC_FALSE;
  tab->first = 1 / end_coupling(rows, 0);
  PetscCheck(!indefinite(nk, delta) ||
               (!tab->periodic && !single && end_coupling(rows, 0) == 1 && end_coupling(rows, 1) == 1),
             PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "Lines that are not definite are a ring, in single precision or have mirrored rows");
  PetscCheck(strip <= MAXSTRIP, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Strip of %" PetscInt_FMT " modes", strip);
  PetscCheck(end_coupling(rows, 0) == 1 || rows->gap == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "A mirrored row beside eliminated ones");
  BCRCallElse(tab_fill(rows, nk, delta, norm, alternates, strip, arena, &entries, &ring, tab),
              (void)PetscFree(entries.values), (void)PetscFree2(ring.y, ring.b));
  PetscCall(PetscFree(entries.values));
  PetscCall(PetscFree2(ring.y, ring.b));
  PetscFunctionReturn(PETSC_SUCCESS);
}
