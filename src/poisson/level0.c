#include "plan.h"
#include <complex.h>

/* Groups and separators of radix 4 with 15 rows (.) between two ends, on a ring of 14, and on a rank between two
   interfaces, the rows I of which the own one is its last:

      end . . . | . . . | . . . | . . . end          3 separators |, gapend 3 and 3
          . . . | . . . | . . . | . |                4 separators, the last one couples to the first group: gaplast 1
      I   . . . | . . . | . . . | . .  I             3 separators, gapend 3 and 2

   A first group of radix - 1 rows, then as many between separators, a last one of 1 to radix rows. A last group of a
   single row that has a coupling of its own (2 at a node-centred Neumann end) gets one of the first group's. On a ring a
   separator ends every group, the last one of 0 to radix - 1 rows. */
PetscErrorCode BCRLevel0Rows(const BCRAxis *y, PetscInt radix, const PetscBool open[2], BCRLineRows *rows,
                             PetscInt *ngroups)
{
  const PetscInt ng = (y->n + radix - 1) / radix;
  PetscInt first = radix - 1, last = y->n - radix * (ng - 1);
  double a, rest;

  PetscFunctionBegin;
  rows->end[0] = y->end[0];
  rows->end[1] = y->end[1];
  rows->inward[0] = BCREndGetRule(y->end[0]).inward;
  rows->inward[1] = BCREndGetRule(y->end[1]).inward;
  if (y->lower && BCRPlanUniformInside(y, &a, &rest)) (void)BCRPlanEndRows(y, a, rest, rows);
  rows->gap = radix - 1;
  rows->gaplast = radix - 1;
  rows->n = ng - 1;
  if (open[1]) { /* the last row is one to which the rows of another rank lead on */
    last--;
    rows->end[1] = BCREndAtSeparator();
  } else if (BCREndIsPeriodic(y->end[0])) {
    last--;
    rows->n = ng;
    rows->gaplast = last;
  } else if (last == 1 && rows->inward[1] != 1) {
    first--;
    last++;
  }
  if (open[0]) rows->end[0] = BCREndAtSeparator();
  rows->gapend[0] = first;
  rows->gapend[1] = last;
  *ngroups = ng;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Eigenpairs of a group of h rows of tridiag(-1, 2, -1), end on the side of the domain's end, the
   other side a separator. S, [row][mode] of leading dimension ld: phi (modes.h); A, [mode][row]:
   phi times the weight of the row over the sum of squares. high: the end is behind the last row. */
void BCRLevel0GroupModes(PetscInt h, BCREnd end, PetscBool high, PetscInt ld, double lambda[], double A[], double S[])
{
  const double weight = BCREndGetRule(end).weight;
  double s[17] = {0}; /* sin(m pi/(h + 1)) */
  BCRAxisModes modes;

  (void)BCRAxisModesDescribe(h, end, BCREndAtSeparator(), &modes);
  for (PetscInt m = 1; m <= h; m++) s[m] = sin(m * M_PI / (h + 1));
  for (PetscInt j = 0; j < h; j++) {
    const double t = (2 * j + modes.first) * M_PI / (double)modes.length;
    double norm = 0, phi[16];

    lambda[j] = 4 * sin(t / 2) * sin(t / 2);
    for (PetscInt i = 0; i < h; i++) {
      const PetscInt r = high ? h - 1 - i : i; /* row of the group that is i rows from the end */
      const PetscInt m = (i + 1) * (j + 1) % (2 * h + 2);

      if (BCREndIsZero(end)) phi[r] = m <= h ? s[m] : -s[m - h - 1]; /* few values: equal ones are the same */
      else phi[r] = modes.odd ? sin((i + 0.5 * modes.offset) * t) : cos((i + 0.5 * modes.offset) * t);
      norm += (i == 0 ? weight : 1) * phi[r] * phi[r];
    }
    for (PetscInt r = 0; r < h; r++) {
      const PetscInt i = high ? h - 1 - r : r;

      S[ld * r + j] = phi[r];
      A[ld * j + r] = (i == 0 ? weight : 1) * phi[r] / norm;
    }
  }
}

/* Eigenvalues and eigenvectors V (vector j: column j, of leading dimension h) of the symmetric matrix M of a few rows, by
   Jacobi's rotations, which spare small eigenvalues the roundings of large ones */
static void symmetric_modes(PetscInt h, double M[], double lambda[], double V[])
{
  for (PetscInt i = 0; i < h * h; i++) V[i] = i / h == i % h ? 1 : 0;
  for (int sweep = 0; sweep < 32; sweep++) {
    PetscBool same = PETSC_TRUE;

    for (PetscInt p = 0; p < h; p++)
      for (PetscInt q = p + 1; q < h; q++) {
        const double off = M[h * p + q], gap = 0.5 * (M[h * q + q] - M[h * p + p]);
        double t, c, s;

        if (fabs(off) <= 1e-20 * sqrt(fabs(M[h * p + p] * M[h * q + q]))) continue;
        same = PETSC_FALSE;
        t = off / (fabs(gap) + hypot(gap, off));
        if (gap < 0) t = -t;
        c = 1 / sqrt(1 + t * t);
        s = t * c;
        for (PetscInt k = 0; k < h; k++) { /* columns, then rows */
          const double a = M[h * k + p], b = M[h * k + q], v = V[h * k + p], w = V[h * k + q];

          M[h * k + p] = c * a - s * b;
          M[h * k + q] = s * a + c * b;
          V[h * k + p] = c * v - s * w;
          V[h * k + q] = s * v + c * w;
        }
        for (PetscInt k = 0; k < h; k++) {
          const double a = M[h * p + k], b = M[h * q + k];

          M[h * p + k] = c * a - s * b;
          M[h * q + k] = s * a + c * b;
        }
        M[h * p + q] = M[h * q + p] = 0;
      }
    if (same) break;
  }
  for (PetscInt j = 0; j < h; j++) lambda[j] = M[h * j + j];
}

/* BCRLevel0GroupModes() of a group whose end row has any sum and any coupling to the row inside: its weight is one over
   that */
static void general_modes(PetscInt h, double inward, double excess, PetscBool high, PetscInt ld, double lambda[],
                          double A[], double S[])
{
  const double root = sqrt(inward);
  double M[256] = {0}, V[256];

  for (PetscInt i = 0; i < h; i++) {
    const PetscInt r = high ? h - 1 - i : i, next = high ? r - 1 : r + 1;

    M[h * r + r] = i ? 2 : inward + excess;
    if (i < h - 1) M[h * r + next] = M[h * next + r] = i ? -1 : -root;
  }
  symmetric_modes(h, M, lambda, V);
  for (PetscInt r = 0; r < h; r++)
    for (PetscInt j = 0; j < h; j++) {
      const double h2 = r == (high ? h - 1 : 0) ? root : 1;

      S[ld * r + j] = V[h * r + j] * h2;
      A[ld * j + r] = V[h * r + j] / h2;
    }
}

PetscInt BCRLevel0KindModes(const BCRLineRows *rows, PetscInt radix, int kind, PetscInt ld, double lambda[], double A[],
                            double S[])
{
  const PetscInt h = kind == 0 ? radix - 1 : rows->gapend[kind - 1];
  const PetscBool ring = BCREndIsPeriodic(rows->end[0]) ? PETSC_TRUE : PETSC_FALSE,
                  high = kind == 2 ? PETSC_TRUE : PETSC_FALSE;
  const BCREnd end = kind == 0 || ring ? BCREndAtSeparator() : rows->end[kind - 1];

  if (BCREndIsGeneral(end)) general_modes(h, rows->inward[kind - 1], rows->excess[kind - 1], high, ld, lambda, A, S);
  else BCRLevel0GroupModes(h, end, high, ld, lambda, A, S);
  return h;
}

double BCRLevel0OutputScale(const BCRModeLine *line, double unit)
{
  return unit / (line->a * (1 + BCRRootGap(line->delta)));
}

/* Pivots P = up + num along x of the lines of a kind, until they are constant: *inverse [*cols][8], 1/P, for the caller to free;
   *conv: from which column on they are, -1: none. mu [lanes]: what they tend to; far [8]: what the last row has in excess */
static PetscErrorCode kind_pivots(const BCRAxis *x, PetscInt h, const BCRModeLine line[8], const double mu[],
                                  double tol, PetscInt lanes, ptrdiff_t nb, const BCRLevel0Kind *k, double far[8],
                                  double **inverse, PetscInt *cols, PetscInt *conv)
{
  const PetscInt nx = x->n;
  PetscInt max = 64;
  double num[8], near[8], *c;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < h; j++) {
    near[j] = BCREndExcess(line[j].alternates ? BCREndAlternate(x->end[0]) : x->end[0]);
    far[j] = BCREndExcess(line[j].alternates ? BCREndAlternate(x->end[1]) : x->end[1]);
  }
  *conv = -1;
  PetscCall(PetscMalloc1(8 * (size_t)PetscMin(nx, max), &c));
  for (PetscInt i = 0; i < nx; i++) {
    const PetscBool last = i == nx - 1 ? PETSC_TRUE : PETSC_FALSE;
    const double up = last ? 0 : (i == 0 ? k->up : 1), low = last ? k->low : 1;
    PetscBool same = PETSC_TRUE;

    if (i == max) {
      double *more;

      BCRCallElse(PetscMalloc1(8 * (size_t)PetscMin(nx, 2 * max), &more), (void)PetscFree(c));
      PetscCall(PetscMemcpy(more, c, 8 * (size_t)max * sizeof(double)));
      PetscCall(PetscFree(c));
      c = more;
      max = 2 * max;
    }
    for (PetscInt j = 0; j < h; j++) {
      num[j] = line[j].delta + (i == 0 ? near[j] : low * num[j] * c[8 * (ptrdiff_t)(i - 1) + j]) + (last ? far[j] : 0);
      c[8 * (ptrdiff_t)i + j] = 1 / (up + num[j]);
    }
    for (PetscInt j = h; j < 8; j++) c[8 * (ptrdiff_t)i + j] = mu[j];
    for (PetscInt j = 0; j < h && same && !last; j++)
      same = fabs(c[8 * (ptrdiff_t)i + j] - mu[j]) > tol * mu[j] ? PETSC_FALSE : PETSC_TRUE;
    *cols = i + 1;
    if (!same || *conv >= 0 || i < 2 || i >= nx - 1) continue;
    *conv = i;
    if ((*conv + lanes - 1) / lanes <= nb - 1) break;
  }
  *inverse = c;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tables of one kind of group, from the lines of its modes */
static PetscErrorCode kind_create(const BCRAxis *x, double unit, PetscInt h, PetscBool regular, int side,
                                  const BCRModeLine line[8], const double A[64], const double S[64], double scale,
                                  PetscBool single, PetscInt lanes, size_t cache, BCRArena *arena, ptrdiff_t nb,
                                  BCRLevel0Kind *k)
{
  const double eps = single ? 4e-8 : 1e-16, tol = single ? 1e-8 : 5e-16;
  const PetscBool px = BCREndIsPeriodic(x->end[0]) ? PETSC_TRUE : PETSC_FALSE;
  const PetscInt nx = x->n;
  const size_t block = (size_t)lanes * lanes * (single ? sizeof(float) : sizeof(double));
  /* least: -log of the largest mu */
  double mu[16], om[16], Cn[16], Fn[16], fac[16], SS[64], outscale[8], least = HUGE_VAL, sign[16], far[8];
  double *K = NULL, *F = NULL, *c = NULL;
  PetscInt cols = 0, conv, fill;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  k->h = (int)h;
  k->regular = regular;
  k->up = BCREndGetRule(x->end[0]).inward;
  k->low = BCREndGetRule(x->end[1]).inward;
  for (PetscInt l = 0; l < lanes; l++) {
    const PetscInt j = l % 8;

    if (j < h) {
      const double e = BCRRootGap(line[j].delta), decay = log1p(e);

      mu[l] = 1 / (1 + e);
      sign[l] = line[j].alternates ? -1 : 1; /* of mu, which is made positive here */
      fac[l] = 1;                            /* of 1 - mu^n: mu may be 1 to rounding */
      if (px) fac[l] = sign[l] < 0 && nx % 2 ? 1 / (1 + exp(-(double)nx * decay)) : -1 / expm1(-(double)nx * decay);
      least = PetscMin(least, decay);
      /* weight of the row next to the separator: left one for groups inside and at the high end; at
         the low end the right one, whose sum the kernel forms as E - O */
      om[l] = (side < 0 ? S[8 * (h - 1) + j] * (j % 2 ? -1 : 1) : S[j]) * mu[l] * unit / line[j].a;
    } else {
      mu[l] = 0.1;
      sign[l] = 1;
      om[l] = 0;
      fac[l] = px ? 1 / (1 - pow(mu[l], (double)nx)) : 1;
    }
    Cn[l] = mu[l];
    Fn[l] = 1;
  }
  for (PetscInt i = 0; i < 64; i++) SS[i] = 0;
  for (PetscInt r = 0; r < h; r++)
    for (PetscInt j = 0; j < h; j++) SS[8 * r + j] = S[8 * r + j] * mu[j] * unit / line[j].a * scale;
  for (PetscInt j = 0; j < 8; j++)
    outscale[j] = j < h && j < 7 ? 0.25 * mu[j] * unit / line[j].a * scale : 0; /* regular: S = sin/4, A = sin */
  {
    const double need = -log(eps) / least;

    k->halo = need / lanes < nb ? (ptrdiff_t)(need / lanes) + 1 : nb;
    if (k->halo > nb) k->halo = nb;
  }
  k->peel = 0;
  k->tile = (ptrdiff_t)(cache / block) - k->halo;
  k->tile = k->tile < 8 ? 8 : k->tile;
  if (!px) {
    PetscCall(kind_pivots(x, h, line, mu, tol, lanes, nb, k, far, &c, &cols, &conv));
    k->peel = conv < 0 ? nb : (conv + lanes - 1) / lanes;
    if (k->peel > nb - 1) k->peel = nb;
    fill = k->peel * lanes;
    BCRCallElse(PetscMalloc2(((size_t)fill + 2) * lanes, &K, (size_t)fill * lanes, &F), (void)PetscFree(c));
    for (PetscInt i = -1; i <= fill; i++) { /* none beyond the ends of the line */
      const double *here = i >= 0 && i < cols ? c + 8 * (ptrdiff_t)i : mu, inside = i >= 0 && i < nx ? 1 : 0;

      for (PetscInt l = 0; l < lanes; l++) K[lanes * (i + 1) + l] = inside * sign[l] * here[l % 8];
      for (PetscInt l = 0; l < lanes && i >= 0 && i < fill; l++) F[lanes * i + l] = inside * here[l % 8] / mu[l];
    }
    PetscCall(PetscFree(c));
    if (k->peel < nb) { /* the last column, its neighbour's pivot being constant */
      for (PetscInt l = 0; l < lanes; l++) {
        const PetscInt j = l % 8;

        if (j < h) {
          const double e = 1 / mu[l] - 1, w = k->low;

          Cn[l] = w * mu[l];
          Fn[l] = 1 / (line[j].delta + far[j] + w * e * mu[l]) / mu[l];
        }
      }
    }
    if (k->tile < k->peel) k->tile = k->peel;
  }
  if (k->tile < k->halo) k->tile = k->halo; /* long decay: do not warm up too often */
  if (k->tile > nb) k->tile = nb;
  k->slots = PetscMin(k->tile + k->halo, nb);
  for (PetscInt l = 0; l < lanes; l++) {
    mu[l] *= sign[l];
    Cn[l] *= sign[l];
  }
  ierr = BCRArenaReal(arena, single, px ? 0 : ((size_t)k->peel * lanes + 2) * lanes, K, &k->c);
  if (!ierr) ierr = BCRArenaReal(arena, single, px ? 0 : (size_t)k->peel * lanes * lanes, F, &k->F);
  PetscCall(PetscFree2(K, F));
  PetscCall(ierr);
  PetscCall(BCRArenaReal(arena, single, lanes, mu, &k->mu));
  PetscCall(BCRArenaReal(arena, single, lanes, om, &k->om));
  PetscCall(BCRArenaReal(arena, single, lanes, Cn, &k->Cn));
  PetscCall(BCRArenaReal(arena, single, lanes, Fn, &k->Fn));
  PetscCall(BCRArenaReal(arena, single, lanes, fac, &k->fac));
  PetscCall(BCRArenaReal(arena, single, regular ? 0 : 64, A, &k->A));
  PetscCall(BCRArenaReal(arena, single, regular ? 0 : 64, SS, &k->S));
  PetscCall(BCRArenaReal(arena, single, 8, outscale, &k->outscale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tables of one kind of group of pairs (level0.h): kind_create() with lines T + delta[j] of a complex delta and open ends, in
   double precision */
static PetscErrorCode kind_create_pairs(const BCRAxis *x, double unit, PetscInt h, PetscBool regular, int side,
                                        const double complex delta[8], const double A[64], const double S[64],
                                        double scale, PetscInt lanes, size_t cache, BCRArena *arena, ptrdiff_t nb,
                                        BCRLevel0Kind *k)
{
  const double need = -log(1e-16);
  const PetscInt nx = x->n, half = lanes / 2; /* unknowns in a block */
  const double b0 = BCREndExcess(x->end[0]), b1 = BCREndExcess(x->end[1]);
  double complex e[8], mu[8], num[8], *c; /* e: 1/mu - 1 */
  double om[8], SS[64], outscale[8], limit[2][8], end[2][2][8], least = HUGE_VAL, *K, *F;
  PetscInt cols = 0, conv = -1, fill;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  k->h = (int)h;
  k->regular = regular;
  k->pairs = 1;
  k->up = BCREndGetRule(x->end[0]).inward;
  k->low = BCREndGetRule(x->end[1]).inward;
  for (PetscInt j = 0; j < 8; j++) {
    e[j] = j < h ? 0.5 * (delta[j] + csqrt(delta[j]) * csqrt(delta[j] + 4)) : 9;
    mu[j] = 1 / (1 + e[j]);
    om[j] = j < h ? (side < 0 ? S[8 * (h - 1) + j] * (j % 2 ? -1 : 1) : S[j]) * unit / (double)x->a : 0;
    outscale[j] = j < h && j < 7 ? 0.25 * unit / (double)x->a * scale : 0;
    least = PetscMin(least, -log(cabs(mu[j])));
    limit[0][j] = creal(mu[j]);
    limit[1][j] = cimag(mu[j]);
  }
  for (PetscInt i = 0; i < 64; i++) SS[i] = i / 8 < h && i % 8 < h ? S[i] * unit / (double)x->a * scale : 0;
  k->halo = need / least / (double)half < (double)nb ? (ptrdiff_t)(need / least / (double)half) + 1 : nb;
  k->halo = PetscMin(k->halo, nb);
  k->tile = PetscMax((ptrdiff_t)(cache / ((size_t)lanes * lanes * sizeof(double))) - k->halo, 8);
  PetscCall(PetscMalloc1(8 * (size_t)nx, &c)); /* inverse pivots along x until they are constant */
  for (PetscInt i = 0; i < nx; i++) {
    const PetscBool last = i == nx - 1 ? PETSC_TRUE : PETSC_FALSE;
    const double up = last ? 0 : (i == 0 ? k->up : 1), low = last ? k->low : 1;
    PetscBool same = PETSC_TRUE;

    for (PetscInt j = 0; j < 8; j++) {
      double complex *here = c + 8 * (ptrdiff_t)i + j;

      *here = mu[j];
      if (j >= h) continue;
      num[j] = delta[j] + (i == 0 ? b0 : low * num[j] * here[-8]) + (last ? b1 : 0);
      *here = 1 / (up + num[j]);
      if (cabs(*here - mu[j]) > 5e-16 * cabs(mu[j])) same = PETSC_FALSE;
    }
    cols = i + 1;
    if (same && conv < 0 && i > 1 && !last) {
      conv = i;
      if ((conv + half - 1) / half <= nb - 1) break;
    }
  }
  k->peel = conv < 0 ? nb : (conv + half - 1) / half;
  if (k->peel > nb - 1) k->peel = nb;
  fill = (PetscInt)k->peel * half;
  BCRCallElse(PetscMalloc2(2 * ((size_t)fill + 1) * lanes, &K, 2 * (size_t)fill * lanes, &F), (void)PetscFree(c));
  for (PetscInt i = -1; i < fill; i++) { /* none beyond the ends of the line */
    const double inside = i >= 0 && i < nx ? 1 : 0;

    for (PetscInt l = 0; l < lanes; l++) {
      const double complex v = i >= 0 && i < cols ? c[8 * (ptrdiff_t)i + l] : mu[l];

      K[2 * lanes * (i + 1) + l] = inside * creal(v);
      K[2 * lanes * (i + 1) + lanes + l] = inside * cimag(v);
      if (i < 0) continue;
      F[2 * lanes * i + l] = inside * creal(v);
      F[2 * lanes * i + lanes + l] = inside * cimag(v);
    }
  }
  PetscCall(PetscFree(c));
  for (PetscInt j = 0; j < 8; j++) { /* the last column, its neighbour's pivot being constant */
    const double complex Cn = k->low * mu[j],
                         Fn = j < h ? 1 / (delta[j] + b1 + k->low * e[j] * mu[j]) / mu[j] : (double complex)1;

    end[0][0][j] = creal(Cn);
    end[0][1][j] = cimag(Cn);
    end[1][0][j] = creal(Fn);
    end[1][1][j] = cimag(Fn);
  }
  k->tile = PetscMin(PetscMax(PetscMax(k->tile, k->halo), k->peel < nb ? k->peel : nb), nb);
  k->slots = PetscMin(k->tile + k->halo, nb);
  ierr = BCRArenaReal(arena, PETSC_FALSE, 2 * ((size_t)fill + 1) * lanes, K, &k->c);
  if (!ierr) ierr = BCRArenaReal(arena, PETSC_FALSE, 2 * (size_t)fill * lanes, F, &k->F);
  PetscCall(PetscFree2(K, F));
  PetscCall(ierr);
  PetscCall(BCRArenaReal(arena, PETSC_FALSE, 16, &limit[0][0], &k->mu));
  PetscCall(BCRArenaReal(arena, PETSC_FALSE, 16, &end[0][0][0], &k->Cn));
  PetscCall(BCRArenaReal(arena, PETSC_FALSE, 16, &end[1][0][0], &k->Fn));
  PetscCall(BCRArenaReal(arena, PETSC_FALSE, 8, om, &k->om));
  PetscCall(BCRArenaReal(arena, PETSC_FALSE, regular ? 0 : 64, A, &k->A));
  PetscCall(BCRArenaReal(arena, PETSC_FALSE, regular ? 0 : 64, SS, &k->S));
  PetscCall(BCRArenaReal(arena, PETSC_FALSE, 8, outscale, &k->outscale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* nx: numbers in a row */
static PetscErrorCode shape_create(const BCRAxis *x, const BCRAxis *y, const PetscBool open[2], const BCRLineRows *rows,
                                   PetscInt ng, PetscInt nx, PetscInt lanes, BCRArena *arena, BCRLevel0Shape *shape)
{
  const PetscBool periodic = BCREndIsPeriodic(y->end[0]) && !open[0] ? PETSC_TRUE : PETSC_FALSE;
  unsigned char *kind;
  ptrdiff_t *row;

  PetscFunctionBegin;
  shape->nx = nx;
  shape->nb = (nx + lanes - 1) / lanes;
  shape->nv = (int)(nx - (shape->nb - 1) * lanes);
  shape->xperiodic = BCREndIsPeriodic(x->end[0]);
  shape->yperiodic = periodic;
  shape->ng = ng;
  shape->right = periodic || open[1];
  shape->left = periodic ? ng - 1 : (open[0] ? ng - 1 + shape->right : -1);
  shape->far = 0;
  shape->ring = 0;
  shape->coupled = 0;
  PetscCall(BCRArenaGet(arena, ng * sizeof(*kind), &kind));
  PetscCall(BCRArenaGet(arena, ng * sizeof(*row), &row));
  for (PetscInt g = 0, at = 0; g < ng; g++) {
    const PetscInt h = g == ng - 1 ? rows->gapend[1] : (g == 0 ? rows->gapend[0] : 7);

    row[g] = at;
    at += h + 1;
    kind[g] = 0;
    if (g == 0 && !periodic && (h != 7 || !BCREndIsZero(rows->end[0]))) kind[g] = 1;
    if (g == ng - 1 && (h != 7 || (!periodic && !BCREndIsZero(rows->end[1])))) kind[g] = 2;
  }
  shape->kind = kind;
  shape->row = row;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of the groups of kind r, 0: there are none; their modes */
static PetscInt kind_modes(const BCRLevel0Shape *shape, const BCRLineRows *rows, int r, BCRLevel0Modes *modes)
{
  const PetscInt h = r == 0 ? 7 : (r == 1 ? rows->gapend[0] : rows->gapend[1]);
  const PetscBool used =
    r == 0 || (r == 1 && shape->kind[0] == 1) || (r == 2 && shape->kind[shape->ng - 1] == 2) ? PETSC_TRUE : PETSC_FALSE;

  if (!used || h == 0) return 0;
  if (!modes->known) {
    (void)BCRLevel0KindModes(rows, 8, r, 8, modes->lambda, modes->A, modes->S);
    for (PetscInt i = 0; i < 64 && r == 0; i++) modes->S[i] *= 0.25; /* A is the sine matrix itself there */
    modes->known = PETSC_TRUE;
  }
  return h;
}

PetscErrorCode BCRLevel0Create(const BCRAxis *x, const BCRAxis *y, const PetscBool open[2], const BCRLineRows *rows,
                               PetscInt ng, const double c[4], PetscBool coupled, double scale, PetscBool single,
                               PetscInt lanes, size_t cache, BCRArena *arena, BCRLevel0Modes modes[3],
                               BCRLevel0Shape *shape, BCRLevel0Kind kinds[3], PetscBool *possible)
{
  BCRModeLine line[8];

  PetscFunctionBegin;
  *possible = PETSC_TRUE;
  PetscCall(shape_create(x, y, open, rows, ng, x->n, lanes, arena, shape));
  shape->coupled = coupled;
  shape->diag = c[2] + 2 * c[3];
  shape->off = c[3];
  for (int e = 0; e < 2; e++) {
    shape->enddiag[e] = shape->diag + c[3] * BCREndGetRule(x->end[e]).diagonal;
    shape->endoff[e] = c[3] * BCREndGetRule(x->end[e]).inward;
  }
  for (int r = 0; r < 3; r++) {
    const PetscInt h = kind_modes(shape, rows, r, &modes[r]);

    PetscCall(PetscMemzero(&kinds[r], sizeof(kinds[r])));
    for (PetscInt j = 0; j < h; j++) {
      line[j] = BCRModeLineMake(c[0] + c[2] * modes[r].lambda[j], c[1] + c[3] * modes[r].lambda[j]);
      if (!(line[j].delta > 0)) *possible = PETSC_FALSE;
    }
    if (!*possible) PetscFunctionReturn(PETSC_SUCCESS);
    if (!h) continue;
    PetscCall(kind_create(x, coupled ? 1 : c[2], h, r == 0 ? PETSC_TRUE : PETSC_FALSE, r == 1 ? -1 : 1, line,
                          modes[r].A, modes[r].S, scale, single, lanes, cache, arena, shape->nb, &kinds[r]));
    shape->ring = PetscMax(shape->ring, kinds[r].slots);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRLevel0CreatePairs(const BCRAxis *x, const BCRAxis *y, const BCRLineRows *rows, PetscInt ng,
                                    double shift, double tau, double scale, PetscInt lanes, size_t cache,
                                    BCRArena *arena, BCRLevel0Modes modes[3], BCRLevel0Shape *shape,
                                    BCRLevel0Kind kinds[3])
{
  const PetscBool open[2] = {PETSC_FALSE, PETSC_FALSE};
  const double a = (double)y->a;

  PetscFunctionBegin;
  PetscCall(shape_create(x, y, open, rows, ng, 2 * x->n, lanes, arena, shape));
  for (int r = 0; r < 3; r++) {
    const PetscInt h = kind_modes(shape, rows, r, &modes[r]);
    double complex delta[8];

    PetscCall(PetscMemzero(&kinds[r], sizeof(kinds[r])));
    if (!h) continue;
    for (PetscInt j = 0; j < h; j++)
      delta[j] = (shift + a * modes[r].lambda[j]) / (double)x->a + tau / (double)x->a * _Complex_I;
    /* groups are in units of block rows' coupling, and so is what they send to separators */
    PetscCall(kind_create_pairs(x, a, h, r == 0 ? PETSC_TRUE : PETSC_FALSE, r == 1 ? -1 : 1, delta, modes[r].A,
                                modes[r].S, scale, lanes, cache, arena, shape->nb, &kinds[r]));
    shape->ring = PetscMax(shape->ring, kinds[r].slots);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
