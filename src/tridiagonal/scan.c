/*
  Near-Toeplitz lines by two recurrences with constant coefficients and corrections at the ends
  (docs/method.md, section 14).

  Interior rows a, b, c factor as kappa (1 - alpha L)(1 - beta U), kappa (1 + alpha beta) = b, alpha
  = -a/kappa, beta = -c/kappa. With any numbers d and e, y_{h-1} = d, y_j = f_j/kappa + alpha
  y_{j-1} and u_{n-t} = e, u_j = y_j + beta u_{j+1} satisfy all interior rows h <= j < n - t (also
  u_{h-1}). So d, e and the other unknowns of the ends are all there is to find: the rows of both
  ends, in which u_h and u_{n-t-1} are linear in them, s = sum beta^{j-h} y_j and y_{n-t-1}, the
  last two from d = e = 0. That is one small system for each line, inverted in set-up; a periodic
  line closes there too. d is put in before the backward recurrence (y_j + d alpha^{j-h+1}): y and u
  then are as large as the solution allows, and nothing cancels that rounding has reached. Dominant
  rows (|b| >= |a| + |c|) have |alpha|, |beta| <= 1.
*/
#include "triimpl.h"
#include <math.h>

#define MAXENDS (2 * BCR_TRI_EDGE)
#define Line    BCRTriScanLine
/* Which lines go which way. None of these limits was measured apart (docs/method.md, section 14, says what each does;
   bench/results/cpu_lines.csv has times) */
#define LAG_BLOCKS  24 /* blocks by which the backward recurrence may lag behind: their y has to stay in a near cache */
#define LAG_LINES   4  /* reaches that a line has at least, where it lags */
#define LAG_BUNDLES 8  /* bundles of columns that lines across have at least, where it lags */
#define LAG_PIECES  64 /* reaches that a single line has at least, to be cut into pieces */
#define SHORT_ROWS  64 /* lines of fewer rows with one set of coefficients: tables of factors */
#define LINE_ROWS   16384   /* of one line, to be cut into pieces */
#define INVERSE     64      /* G of larger numbers is for those lines only that are too long for stored factors */
#define STORED_ROWS 1000000 /* of lines that hardly decay: tables of factors up to this length */
/* Sums over the interior may be so many times as large as right-hand sides without losing what the
   solution needs: beyond it three bits of a number would be rounding */
#define GROWTH 8
/* beyond it, u_h that differs by more roundings from what G took it to be has the line corrected (tri.h) */
#define CHECK_ROUNDINGS 4

/* u_i as a combination of x_0..x_{h+t-1}, s and the last y */
static void scan_unknown(const Line *L, PetscInt n, PetscInt h, PetscInt t, PetscInt i, double c[])
{
  const PetscInt N = h + t;

  for (PetscInt k = 0; k < N + 2; k++) c[k] = 0;
  if (i >= n - t) c[h + i - (n - t)] = 1;
  else if (i < h - 1) c[i] = 1;
  else if (i <= h) {
    c[N] = 1;
    c[h - 1] = L->uh[0];
    c[h] = L->uh[1];
    if (i == h - 1) {
      for (PetscInt k = 0; k < N + 2; k++) c[k] *= L->beta;
      c[h - 1] += 1;
    }
  } else {
    c[N + 1] = 1;
    c[h - 1] = pow(L->alpha, (double)(n - h - t));
    c[h] = L->beta;
  }
}

/* Gaussian elimination with pivoting of the (h+t) x (h+t) system; each entry has beside it how
   large the numbers were that it came from */
static PetscErrorCode scan_ends(const BCRTriSpec *spec, PetscInt line, PetscInt h, PetscInt t, double eps, Line *L)
{
  const PetscInt n = spec->n, N = h + t, W = 2 * N + 2;
  double A[MAXENDS][2 * MAXENDS + 2], B[MAXENDS][MAXENDS], row[3], c[MAXENDS + 2];
  int scale, common;

  PetscFunctionBegin;
  BCRTriGetRow(spec, line, PetscMin(h, n - 1), row);
  (void)frexp(BCRTriRowSize(row), &common);
  for (PetscInt r = 0; r < N; r++) {
    const PetscInt j = r < h ? r : n - N + r;

    for (PetscInt k = 0; k < W; k++) A[r][k] = 0;
    for (PetscInt k = 0; k < N; k++) B[r][k] = 0;
    BCRTriGetRow(spec, line, j, row);
    (void)frexp(BCRTriRowSize(row), &scale); /* rows may be of any size: pivots are compared with one another */
    if (abs(scale - common) <= 4) scale = common;
    A[r][N + r] = ldexp(1, -scale);
    L->unit[r] = BCRTriRowSize(row);
    for (PetscInt m = 0; m < 3; m++) {
      if (row[m] == 0) continue;
      row[m] = ldexp(row[m], -scale);
      scan_unknown(L, n, h, t, (j + m - 1 + n) % n, c);
      for (PetscInt k = 0; k < N; k++) {
        A[r][k] += row[m] * c[k];
        B[r][k] += fabs(row[m] * c[k]);
      }
      A[r][W - 2] -= row[m] * c[N];
      A[r][W - 1] -= row[m] * c[N + 1];
    }
  }
  for (PetscInt k = 0; k < N; k++) {
    PetscInt p = k;

    for (PetscInt r = k + 1; r < N; r++)
      if (fabs(A[r][k]) > fabs(A[p][k])) p = r;
    for (PetscInt m = 0; m < W; m++) {
      const double x = A[k][m];

      A[k][m] = A[p][m];
      A[p][m] = x;
    }
    for (PetscInt m = 0; m < N; m++) {
      const double x = B[k][m];

      B[k][m] = B[p][m];
      B[p][m] = x;
    }
    if (!BCRTriPivotUsable(A[k][k], B[k][k], eps))
      PetscCall(BCRTriPivotError(spec, line, k < h ? k : n - N + k, A[k][k]));
    for (PetscInt r = 0; r < N; r++) {
      const double l = A[r][k] / A[k][k];

      if (r == k || l == 0) continue;
      for (PetscInt m = 0; m < W; m++) A[r][m] = m == k ? 0 : A[r][m] - l * A[k][m];
      for (PetscInt m = 0; m < N; m++) B[r][m] += fabs(l) * B[k][m];
    }
  }
  for (PetscInt r = 0; r < N; r++)
    for (PetscInt k = 0; k < N + 2; k++) L->G[(N + 2) * r + k] = A[r][N + k] / A[r][r];
  L->unit[N] = L->unit[N + 1] = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTriScanSetLine(const BCRTriSpec *spec, int single, PetscInt line, PetscInt h, PetscInt t,
                                 BCRTriScanLine *L)
{
  const PetscReal *r = spec->rows[spec->perline ? line : 0].row;
  const double m = (double)(spec->n - h - t);
  long double a, c, disc, root;
  double ab, rest;

  PetscFunctionBegin;
  if (r[1] == 0) PetscCall(BCRTriPivotError(spec, line, PetscMin(h, spec->n - 1), 0));
  a = (long double)r[0] / r[1];
  c = (long double)r[2] / r[1];
  disc = 1 - 4 * a * c;
  root = 0.5L * (1 + sqrtl(disc > 0 ? disc : 0));
  /* as the kernels have them: all else is made from the rounded numbers, so that it fits */
  L->alpha = single ? (float)(-a / root) : (double)(-a / root);
  L->beta = single ? (float)(-c / root) : (double)(-c / root);
  L->gamma = (double)(1 / (root * r[1]));
  ab = L->alpha * L->beta;
  rest = fma(-L->alpha, L->beta, 1); /* 1 - alpha beta */
  /* geometric sum over the interior */
  if (rest <= 0) L->uh[0] = L->alpha * m;
  else if (ab > 0.5) L->uh[0] = -L->alpha * expm1(m * log1p(-rest)) / rest;
  else L->uh[0] = L->alpha * (1 - pow(ab, m)) / rest;
  L->uh[1] = pow(L->beta, m);
  PetscCall(scan_ends(spec, line, h, t, PETSC_MACHINE_EPSILON, L));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* rows after which powers of x no longer count: below exp(-limit) */
static double scan_decay(double x, double limit)
{
  x = fabs(x);
  if (x >= 1) return 1e300;
  return x < 1e-10 ? 3 : 1 - limit / log(x);
}

double BCRTriScanDecay(double x, int single)
{
  return scan_decay(x, single ? 24. : 44.); /* exp(-24) = 4e-11, exp(-44) = 8e-20 */
}
/* exp(-24) = 4e-11, exp(-44) = 8e-20: of numbers that may be larger than the solution */
#define DECAY(single) ((single) ? 24. : 44.)
#define REACH(single) ((single) ? 20. : 40.) /* 2e-9, 4e-18: of unknowns */

typedef struct {
  BCRTriScan scan;
  void *abc, *G, *uh, *weights, *azero, *afirst, *ainside, *bzero, *bfirst, *binside;
  int single, bl, width;
} Tables;

typedef struct { /* where numbers of a line go */
  const BCRTriSpec *spec;
  const Tables *T;
  ptrdiff_t tile;
  PetscInt lane, line;
} Place;

/* entry e of `entries` */
static PetscErrorCode scan_put(const Place *p, void *table, ptrdiff_t entries, ptrdiff_t e, double unit, double x)
{
  const Tables *T = p->T;

  PetscFunctionBegin;
  PetscCall(BCRTriPutRatio(p->spec, T->single, table,
                           (size_t)(T->scan.perline ? (p->tile * entries + e) * T->width + p->lane : e), p->line, 0,
                           unit, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* all tables of one line */
static PetscErrorCode scan_fill(const Place *p, const Line *L)
{
  const Tables *T = p->T;
  const int h = T->scan.h, N = T->scan.h + T->scan.t, bl = T->bl;

  PetscFunctionBegin;
  PetscCall(scan_put(p, T->abc, 3, 0, 1, L->alpha));
  PetscCall(scan_put(p, T->abc, 3, 1, 1, L->beta));
  PetscCall(scan_put(p, T->abc, 3, 2, HUGE_VAL, L->gamma));
  for (int e = 0; e < 2; e++) PetscCall(scan_put(p, T->uh, 2, e, 1, L->uh[e]));
  for (int e = 0; e < N * (N + 2); e++) PetscCall(scan_put(p, T->G, N * (N + 2), e, L->unit[e % (N + 2)], L->G[e]));
  for (int r = 0; r < bl; r++) {
    PetscCall(scan_put(p, T->azero, bl, r, 1, r >= h - 1 ? pow(L->alpha, r - h + 1) : 0));
    PetscCall(scan_put(p, T->ainside, bl, r, 1, pow(L->alpha, r)));
    PetscCall(scan_put(p, T->bzero, bl, r, 1, r >= h ? pow(L->beta, r - h) : 0));
    PetscCall(scan_put(p, T->binside, bl, r, 1, pow(L->beta, r)));
  }
  for (ptrdiff_t b = 0; b < T->scan.a.blocks; b++)
    PetscCall(scan_put(p, T->afirst, T->scan.a.blocks, b, 1, b ? pow(L->alpha, (double)(b * bl - h + 1)) : 1));
  for (ptrdiff_t b = 0; b < T->scan.b.blocks; b++)
    PetscCall(scan_put(p, T->bfirst, T->scan.b.blocks, b, 1, b ? pow(L->beta, (double)(b * bl - h)) : 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lines left to stored factors, and said so */
static PetscErrorCode scan_thomas(BCRTriLocal t)
{
  PetscFunctionBegin;
  t->ops = &BCRTriThomas;
  t->info.method = BCR_TRI_THOMAS;
  PetscCall(t->ops->create(t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What decides how lines are solved: the largest of all sets */
typedef struct {
  double decay[2]; /* rows that corrections from the first and from the last row reach */
  double reach;    /* rows that unknowns reach */
  double growth;   /* 1/(1 - alpha beta): how much larger than right-hand sides sums of them become */
  double inverse;  /* entry of G, in units of rows */
} Extent;

static PetscErrorCode scan_measure(BCRTriLocal t, PetscInt h, PetscInt tl, Line *L, Extent *most)
{
  const PetscInt N = h + tl, sets = BCRTriSets(&t->spec);

  PetscFunctionBegin;
  most->decay[0] = most->decay[1] = most->reach = most->growth = 1;
  most->inverse = 0;
  for (PetscInt l = 0; l < sets; l++) {
    double alpha, beta;

    PetscCall(BCRTriScanSetLine(&t->spec, t->single, l, h, tl, &L[l]));
    alpha = L[l].alpha;
    beta = L[l].beta;
    most->decay[0] = PetscMax(most->decay[0], scan_decay(alpha, DECAY(t->single)));
    most->decay[1] = PetscMax(most->decay[1], scan_decay(beta, DECAY(t->single)));
    most->reach =
      PetscMax(most->reach, PetscMax(scan_decay(alpha, REACH(t->single)), scan_decay(beta, REACH(t->single))));
    for (PetscInt e = 0; e < N * (N + 2); e++)
      most->inverse = PetscMax(most->inverse, fabs(L[l].G[e]) * L[l].unit[e % (N + 2)]);
    most->growth = PetscMax(most->growth, 1 / PetscMax(1 - fabs(alpha * beta), DBL_EPSILON * DBL_EPSILON));
  }
  most->growth = PetscMin(most->growth, (double)t->spec.n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows by which the backward recurrence follows the forward one, while they are in the cache; 0: after it */
static ptrdiff_t scan_reach(const BCRTriLocal t, const Extent *most)
{
  const ptrdiff_t n = t->spec.n, reach = (ptrdiff_t)PetscMin(most->reach, (double)n);

  if (t->spec.perline || most->growth > GROWTH || most->reach > LAG_BLOCKS * BCR_TRI_LAG_ROWS || n < LAG_LINES * reach)
    return 0;
  if (t->shape.kind == BCR_TRI_ACROSS) return t->spec.inner >= LAG_BUNDLES * t->cpu->bundle ? reach : 0;
  if (t->shape.kind == BCR_TRI_ALONG) return t->spec.inner == 1 ? reach : 0;
  return n >= LAG_PIECES * reach ? reach : 0;
}

/* Room for the tables, and where the kernels find them */
static PetscErrorCode scan_room(BCRTriLocal t, Tables *T)
{
  const size_t copies = t->spec.perline ? (size_t)t->shape.tiles * T->width : 1,
               bytes = copies * (t->single ? sizeof(float) : sizeof(double)), N = (size_t)(T->scan.h + T->scan.t);

  PetscFunctionBegin;
  PetscCall(BCRArenaGet(&t->arena, 3 * bytes, &T->abc));
  PetscCall(BCRArenaGet(&t->arena, N * (N + 2) * bytes, &T->G));
  PetscCall(BCRArenaGet(&t->arena, 2 * bytes, &T->uh));
  PetscCall(BCRArenaGet(&t->arena, T->bl * bytes, &T->azero));
  PetscCall(BCRArenaGet(&t->arena, T->bl * bytes, &T->ainside));
  PetscCall(BCRArenaGet(&t->arena, T->scan.a.blocks * bytes, &T->afirst));
  PetscCall(BCRArenaGet(&t->arena, T->bl * bytes, &T->bzero));
  PetscCall(BCRArenaGet(&t->arena, T->bl * bytes, &T->binside));
  PetscCall(BCRArenaGet(&t->arena, T->scan.b.blocks * bytes, &T->bfirst));
  if (T->scan.lag) PetscCall(BCRArenaGet(&t->arena, (BCR_TRI_LAG_ROWS + 1) * bytes, &T->weights));
  T->scan.weights = T->weights;
  T->scan.abc = T->abc;
  T->scan.G = T->G;
  T->scan.uh = T->uh;
  T->scan.a.zero = T->azero;
  T->scan.a.first = T->afirst;
  T->scan.a.inside = T->ainside;
  T->scan.b.zero = T->bzero;
  T->scan.b.first = T->bfirst;
  T->scan.b.inside = T->binside;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The numbers of all lines in them */
static PetscErrorCode scan_numbers(BCRTriLocal t, const Tables *T, const Line *L)
{
  Place place = {&t->spec, T, 0, 0, 0};
  Line none;

  PetscFunctionBegin;
  for (int k = 0; T->scan.lag && k <= BCR_TRI_LAG_ROWS; k++)
    PetscCall(scan_put(&place, T->weights, BCR_TRI_LAG_ROWS + 1, k, 1, pow(L->beta, k)));
  if (!t->spec.perline) {
    PetscCall(scan_fill(&place, L));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscMemzero(&none, sizeof(none)));
  for (place.tile = 0; place.tile < t->shape.tiles; place.tile++)
    for (place.lane = 0; place.lane < T->width; place.lane++) {
      place.line = BCRTriTileLine(t, (PetscInt)place.tile, place.lane / T->bl, place.lane % T->bl);
      PetscCall(scan_fill(&place, place.line < 0 ? &none : &L[place.line]));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* L: room for the numbers of all lines, one set or one for each */
static PetscErrorCode scan_create(BCRTriLocal t, Line *L)
{
  const BCRTriSpec *spec = &t->spec;
  const PetscInt n = spec->n, h = PetscMax(spec->nfirst, 1), tl = PetscMax(spec->nlast, 1), bl = t->cpu->bundle,
                 blocks = (n + bl - 1) / bl;
  ptrdiff_t reach;
  Extent most;
  size_t bytes;
  Tables *T;

  PetscFunctionBegin;
  PetscCall(BCRArenaGet(&t->arena, sizeof(*T), &T));
  PetscCall(PetscMemzero(T, sizeof(*T)));
  PetscCall(scan_measure(t, h, tl, L, &most));
  reach = scan_reach(t, &most);
  /* the ends reach far: rounding in s would have to be corrected, and a table of pivots is short. Or the lines are
     nearly singular: the residual of what an inverse makes is that many roundings */
  if (((most.growth > GROWTH || most.inverse > INVERSE) && n <= STORED_ROWS) ||
      (t->shape.kind == BCR_TRI_LINE && !reach)) {
    PetscCall(scan_thomas(t));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  t->data = T;
  T->single = t->single;
  T->bl = (int)bl;
  T->width = T->bl * t->shape.nv;
  T->scan.shape = t->shape;
  T->scan.stream = BCRTriStream(t);
  T->scan.perline = spec->perline ? 1 : 0;
  T->scan.h = (int)h;
  T->scan.t = (int)tl;
  T->scan.reach = reach;
  T->scan.lag = (reach + BCR_TRI_LAG_ROWS - 1) / BCR_TRI_LAG_ROWS;
  T->scan.check = most.growth > GROWTH ? CHECK_ROUNDINGS * (t->single ? 6e-8 : 2.2e-16) : 0;
  T->scan.a.blocks = (ptrdiff_t)PetscMin((double)blocks, 2 + (most.decay[0] + h) / T->bl);
  T->scan.b.blocks = (ptrdiff_t)PetscMin((double)blocks, 2 + (most.decay[1] + h) / T->bl);
  PetscCall(scan_room(t, T));
  PetscCall(scan_numbers(t, T, L));
  bytes = t->cpu->tri->work(&t->shape);
  if (T->scan.lag) bytes = PetscMax(bytes, t->cpu->tri->scanwork(&T->scan));
  t->info.tables = t->arena.bytes;
  t->info.workspace = bytes * (t->single ? sizeof(float) : sizeof(double));
  PetscCall(BCRArenaGet(&t->arena, t->info.workspace, &t->work));
  t->info.flops = 5. * spec->inner * n * spec->outer;
  PetscCall(PetscSNPrintf(t->info.what, sizeof(t->info.what),
                          "two constant recurrences, ends reach %" PetscInt_FMT " rows",
                          (PetscInt)PetscMin((double)n, PetscMax(most.decay[0], most.decay[1]))));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TriCreate_Scan(BCRTriLocal t)
{
  const BCRTriSpec *spec = &t->spec;
  const PetscInt n = spec->n, N = PetscMax(spec->nfirst, 1) + PetscMax(spec->nlast, 1);
  PetscErrorCode ierr;
  Line *L;

  PetscFunctionBegin;
  PetscCall(BCRTriNeedDominant(spec, "scan"));
  /* nothing but ends, a short line, or one that cannot be cut into pieces: stored factors are as fast or faster */
  if (n < N || (n <= SHORT_ROWS && !spec->perline) ||
      (t->shape.kind == BCR_TRI_LINE && (spec->perline || spec->inner > 1 || n < LINE_ROWS))) {
    PetscCall(scan_thomas(t));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscMalloc1(spec->perline ? t->lines : 1, &L));
  ierr = scan_create(t, L);
  PetscCall(PetscFree(L));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TriSolve_Scan(BCRTriLocal t, const PetscReal *f, PetscReal *u)
{
  PetscFunctionBegin;
  t->cpu->tri->scan(&((const Tables *)t->data)->scan, f, u, t->work);
  PetscFunctionReturn(PETSC_SUCCESS);
}

const BCRTriOps BCRTriScanOps = {TriCreate_Scan, TriSolve_Scan, NULL};
