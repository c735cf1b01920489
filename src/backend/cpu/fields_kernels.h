/* Included by kernels.h, once for each instruction set and precision: see fields.h */
#include "fields.h"

/* DV doubles and as many floats; V: as many of the vectors' own type */
#define DV BCRN(BCRFieldsLanes)
enum {
  DV = BCR_VECTOR_BYTES / 8
};
typedef double BCRN(bcrdv) __attribute__((vector_size(BCR_VECTOR_BYTES), aligned(8), may_alias));
typedef float BCRN(bcrfv) __attribute__((vector_size(BCR_VECTOR_BYTES / 2), aligned(4), may_alias));
typedef real BCRN(bcrrv) __attribute__((vector_size(DV * sizeof(real)), aligned(sizeof(real)), may_alias));
#define dv       BCRN(bcrdv)
#define fv       BCRN(bcrfv)
#define rv       BCRN(bcrrv)
#define LOAD(p)  __builtin_convertvector(*(const rv *)(p), dv)
#define LOADD(p) (*(const dv *)(p))

BCR_INLINE double BCRN(BCRFieldsSum)(const dv *x)
{
  double s = 0;

  for (int l = 0; l < DV; l++) s += (*x)[l];
  return s;
}

BCR_INLINE double BCRN(BCRResidualPoint)(const BCRResidualRow *w, ptrdiff_t i, int dim)
{
  const real *v = (const real *)w->v;
  const double l = (double)v[i > 0 ? i - 1 : w->n - 1], r = (double)v[i + 1 < w->n ? i + 1 : 0];
  double s = w->g[i] - w->c;

  s -= (w->diag[i] + w->centre) * (double)v[i] - w->lower[i] * l - w->upper[i] * r;
  for (int d = 0; d < 2 * (dim - 1); d++) s += w->coef[d] * (double)((const real *)w->side[d])[i];
  return s * w->rs;
}

BCR_INLINE void BCRN(BCRResidualBody)(BCRResidualRow *w, float *r, int dim, int uniform)
{
  const ptrdiff_t n = w->n;
  const real *v = (const real *)w->v;
  const dv rs = w->rs - (dv){0}, vs = w->vs - (dv){0}, c = w->c - (dv){0}, centre = w->centre - (dv){0};
  dv lo = {0}, di = {0}, up = {0}, sumr = {0}, sumv = {0};
  double tr = 0, tv = 0;
  ptrdiff_t i = 0;

  if (uniform && n > 2) {
    lo = w->lower[1] - (dv){0};
    di = w->diag[1] - (dv){0};
    up = w->upper[1] - (dv){0};
  }
  for (int part = 0; part < 2; part++) { /* the first entry; then, behind the vectors, the rest */
    const ptrdiff_t end = part ? n : 1;

    for (; i < end; i++) {
      const double x = BCRN(BCRResidualPoint)(w, i, dim);

      r[i] = (float)x;
      tr += x * x;
      tv += (w->vs * (double)v[i]) * (w->vs * (double)v[i]);
    }
    if (part) break;
    for (; i + DV < n; i += DV) {
      const dv u = LOAD(v + i);
      dv s = LOADD(w->g + i) - c, y;

      if (!uniform) {
        lo = LOADD(w->lower + i);
        di = LOADD(w->diag + i);
        up = LOADD(w->upper + i);
      }
      s -= (di + centre) * u - lo * LOAD(v + i - 1) - up * LOAD(v + i + 1);
      for (int d = 0; d < 2 * (dim - 1); d++) s += w->coef[d] * LOAD((const real *)w->side[d] + i);
      s *= rs;
      *(fv *)(r + i) = __builtin_convertvector(s, fv);
      y = u * vs;
      sumr += s * s;
      sumv += y * y;
    }
  }
  w->sumr += tr + BCRN(BCRFieldsSum)(&sumr);
  w->sumv += tv + BCRN(BCRFieldsSum)(&sumv);
}

static void BCRN(BCRFieldsResidual)(BCRResidualRow *w, float *r)
{
  if (w->uniform) {
    if (w->dim == 3) BCRN(BCRResidualBody)(w, r, 3, 1);
    else if (w->dim == 2) BCRN(BCRResidualBody)(w, r, 2, 1);
    else BCRN(BCRResidualBody)(w, r, 1, 1);
  } else {
    if (w->dim == 3) BCRN(BCRResidualBody)(w, r, 3, 0);
    else if (w->dim == 2) BCRN(BCRResidualBody)(w, r, 2, 0);
    else BCRN(BCRResidualBody)(w, r, 1, 0);
  }
}

static void BCRN(BCRFieldsAdd)(ptrdiff_t n, int keep, double c, const float *e, void *v)
{
  real *u = (real *)v;
  ptrdiff_t i = 0;

  if (keep) {
    for (; i + DV <= n; i += DV)
      *(rv *)(u + i) = __builtin_convertvector(LOAD(u + i) + c * __builtin_convertvector(*(const fv *)(e + i), dv), rv);
    for (; i < n; i++) u[i] = (real)((double)u[i] + c * (double)e[i]);
  } else {
    for (; i + DV <= n; i += DV)
      *(rv *)(u + i) = __builtin_convertvector(c * __builtin_convertvector(*(const fv *)(e + i), dv), rv);
    for (; i < n; i++) u[i] = (real)(c * (double)e[i]);
  }
}

static double BCRN(BCRFieldsBegin)(ptrdiff_t n, double rs, const double *g, float *r)
{
  dv sum = {0};
  double s = 0;
  ptrdiff_t i = 0;

  for (; i + DV <= n; i += DV) {
    const dv x = rs * LOADD(g + i);

    *(fv *)(r + i) = __builtin_convertvector(x, fv);
    sum += x * x;
  }
  for (; i < n; i++) {
    const double x = rs * g[i];

    r[i] = (float)x;
    s += x * x;
  }
  return s + BCRN(BCRFieldsSum)(&sum);
}

BCR_INLINE double BCRN(BCRFieldsSumBody)(ptrdiff_t n, const real *v, const double *w, double *weighted, const int both)
{
  dv s[4] = {{0}}, t[4] = {{0}};
  double sum, wsum;
  ptrdiff_t i = 0;

  for (; i + 4 * DV <= n; i += 4 * DV) {
#pragma GCC unroll 4
    for (int q = 0; q < 4; q++) {
      const dv a = LOAD(v + i + q * DV);

      s[q] += a;
      if (both) t[q] += LOADD(w + i + q * DV) * a;
    }
  }
  s[0] = (s[0] + s[1]) + (s[2] + s[3]);
  t[0] = (t[0] + t[1]) + (t[2] + t[3]);
  sum = BCRN(BCRFieldsSum)(&s[0]);
  wsum = BCRN(BCRFieldsSum)(&t[0]);
  for (; i < n; i++) {
    sum += (double)v[i];
    if (both) wsum += w[i] * (double)v[i];
  }
  if (both) *weighted += wsum;
  return sum;
}
static double BCRN(BCRFieldsRowSum)(ptrdiff_t n, const void *v, const double *w, double *weighted)
{
  return w ? BCRN(BCRFieldsSumBody)(n, (const real *)v, w, weighted, 1)
           : BCRN(BCRFieldsSumBody)(n, (const real *)v, NULL, NULL, 0);
}

/* Loops that a compiler makes vectors of, shuffles and all */
static void BCRN(BCRFieldsPart)(ptrdiff_t n, const double *restrict z, double *restrict re, double *restrict im)
{
  for (ptrdiff_t i = 0; i < n; i++) {
    re[i] = z[2 * i];
    im[i] = z[2 * i + 1];
  }
}

static void BCRN(BCRFieldsJoin)(ptrdiff_t n, const double *restrict re, const double *restrict im, double *restrict z)
{
  for (ptrdiff_t i = 0; i < n; i++) {
    z[2 * i] = re[i];
    z[2 * i + 1] = im[i];
  }
}

static const BCRFieldsTable BCRN(BCRFields) = {BCRN(BCRFieldsResidual), BCRN(BCRFieldsAdd),  BCRN(BCRFieldsBegin),
                                               BCRN(BCRFieldsRowSum),   BCRN(BCRFieldsPart), BCRN(BCRFieldsJoin)};

#undef LOAD
#undef LOADD
#undef dv
#undef fv
#undef rv
#undef DV
