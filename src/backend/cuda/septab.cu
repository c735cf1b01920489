/* Tables of the lines over the separators, a thread a mode: src/poisson/lines.c says where the
   numbers come from, BCRCudaSepLines what they are for */
#include "common.cuh"
#include "seplines.h"
#include <float.h>

enum {
  MODE_THREADS = 64 /* of a block, a mode each: not measured apart; set-up alone */
};

/* what h eliminated rows between two rows leave: their coupling t, and the share sigma of a
   right-hand side of ones that each gets */
static __device__ void between(int h, double delta, double *t, double *sigma)
{
  double e = 0, y = 0, prod = 1, P = 1;

  *t = 1;
  *sigma = 0;
  for (int i = 0; i < h; i++) {
    e = i ? delta + e / (1 + e) : 1 + delta;
    y = i ? 1 + y / P : 1;
    P = 1 + e;
    prod /= P;
  }
  if (h) {
    *t = prod;
    *sigma = y / P;
  }
}

/* the same beyond the first or last row; extra: what the row's diagonal keeps besides */
static __device__ void beyond(int h, int end, double delta, double *extra, double *sigma)
{
  const BCREndRule rule = BCREndGetRule((BCREnd)end);
  const double beta = rule.excess;
  double P = 1, num = 0, y = 0, prod = 1;

  for (int i = 0; i < h; i++) {
    const double up = i == 0 ? rule.inward : 1;

    y = i ? 1 + y / P : 1;
    num = i ? delta + num / P : delta + beta;
    P = up + num;
    prod /= P;
  }
  *extra = h ? beta * prod : beta;
  *sigma = h ? y / P : 0;
}

static __global__ void tables(BCRCudaSepRows r, double *tab)
{
  const int k = blockIdx.x * blockDim.x + threadIdx.x, n = r.n;

  if (k >= r.nk) return;
  const double delta = (r.shift[blockIdx.y] + r.ax * r.lambda[k]) / r.ay, norm = r.norm[k] * r.scale[blockIdx.y];
  const bool pin = k == r.pin && (int)blockIdx.y == r.pinplane;
  double t, sg, xl, sl, xr, sr, v[BCR_CUDA_SEP_TAB];

  between(r.gap, delta, &t, &sg);
  if (r.periodic) {
    between(r.gapend[0], delta, &xl, &sl);
    between(r.gaplast, delta, &xr, &sr);
  } else {
    beyond(r.gapend[0], r.end[0], delta, &xl, &sl);
    beyond(r.gapend[1], r.end[1], delta, &xr, &sr);
  }
  /* of a coupling of 1 */
  t = fmax(t, DBL_MIN);
  /* mu and exp(-69): ratios */
  const double eps = delta * (1 + 2 * sg), limit = 0.5 * (eps + sqrt(eps) * sqrt(eps + 4 * t)), P = t + limit,
               mu = fmax(t / P, 1e-30), lg = limit > 0 ? fmin(log1p(limit / t), 69.) : 0;
  if (r.ring) { /* T = (I - mu L)(I - mu U)/mu with cyclic shifts: what goes round is a geometric sum of what arrives */
    const double around = limit > 0 ? -expm1(-n * lg) : 1,
                 p1 = (limit > 0 ? expm1(-2 * n * lg) / expm1(-2 * lg) : n) / P;

    v[0] = mu;
    v[1] = norm / P;
    for (int i = 2; i < BCR_CUDA_SEP_TAB; i++) v[i] = 0;
    v[4] = v[6] = mu / around;
    v[7] = v[6] * p1 / around;
    if (pin) { /* what goes round is such that the last unknown is zero */
      v[3] = -1. / n;
      v[4] = v[6] = v[7] = 0;
    }
    for (int i = 0; i < BCR_CUDA_SEP_TAB; i++) tab[((ptrdiff_t)blockIdx.y * BCR_CUDA_SEP_TAB + i) * r.nk + k] = v[i];
    return;
  }
  /* a separator that is the end row itself has its weight, with its right-hand side */
  const double w0 = r.gapend[0] == 0 ? BCREndGetRule((BCREnd)r.end[0]).weight : 1,
               wn = r.gapend[1] == 0 ? BCREndGetRule((BCREnd)r.end[1]).weight : 1;
  const double ef = n == 1 ? delta * (1 + sl + sr) + xl + xr : w0 * delta * (1 + sl + sg) + xl,
               el = wn * delta * (1 + sg + sr) + xr;
  /* 1 - mu^2n, small where delta is rounding */
  const double mun = exp(-(n - 1) * lg), mu2n = exp(-2 * n * lg), rest = -expm1(-2 * n * lg);
  double a1 = ef - limit, an = el - limit - t * mu, p1 = (limit > 0 ? expm1(-2 * n * lg) / expm1(-2 * lg) : n) / P,
         q1 = mun / P;
  double m11, m12, m21, m22, det = 1, num = 0, Ps = 1;

  /* determinants of the line and of its factors of constant mu, from pivots without cancellation */
  for (int s = 0; s < n; s++) {
    num = (s == 0 ? ef : (s == n - 1 ? el : eps)) + (s ? t * num / Ps : 0);
    Ps = (s == n - 1 ? 0 : t) + num;
    det *= Ps / P;
  }
  /* all of its terms are positive, and they are few; or of those that are not, little is left out, where pivots meet P but for
     a rounding error which the product has n times */
  if (n > 1 && ((a1 > 0.5 * ef && limit > 0) || limit > t)) {
    const double q = -expm1(-2 * lg), A = -expm1(-2 * (n - 1) * lg) / q, B = -expm1(-2 * n * lg) / q,
                 p2 = exp(-2 * (n - 1) * lg);

    det = (el + mu * limit) / P + a1 * (el * A + mu * limit * B + (limit + t * mu) * p2) / (P * P);
  }
  if (n == 1) {
    a1 = ef - P;
    an = 0;
    m11 = m22 = 1 / det;
    m12 = m21 = 0;
  } else {
    m11 = (mu * limit + el) / P / det;
    m12 = -an * q1 / det;
    m21 = -a1 * q1 / det;
    m22 = (limit > 0 ? (limit * (mu + mu2n) + ef * rest) / (limit * (1 + mu)) : 1 + a1 * p1) / det;
  }
  v[0] = mu;
  v[1] = norm / P;
  for (int i = 2; i < BCR_CUDA_SEP_TAB; i++) v[i] = 0;
  /* of unknowns beyond the ends: as a part of the right-hand sides they would be 1/(1 - mu^2) times
     too large in X_1, and be cancelled */
  if (r.border) {
    const double e[BCR_CUDA_SEP_BORDER] = {xl * m11, xl * m12, xr * m21, xr * m22, norm, 1 / P};

    for (int i = 0; i < BCR_CUDA_SEP_BORDER; i++)
      r.border[((ptrdiff_t)blockIdx.y * BCR_CUDA_SEP_BORDER + i) * r.nk + k] = e[i];
  }
  if (!r.periodic && !pin) {
    v[3] = -a1 / P * m11;
    v[4] = -a1 / P * m12;
    v[6] = -an / P * m21;
    v[7] = -an / P * m22;
  } else if (r.periodic) {
    const double z1 = m11 * (xl * p1 + xr * q1) + m12 * (xl * q1 + xr / P),
                 zn = m21 * (xl * p1 + xr * q1) + m22 * (xl * q1 + xr / P), e1 = n == 1 ? 0 : 1;
    double w0 = 0, w1 = 0, den, L[3] = {0, 0, 0};

    /* last and first entry of the open line's solution for what its rows have in excess of their couplings */
    for (int way = 0; way < 2; way++) {
      const double first = way ? sr : sl, last = way ? sl : sr, xf = way ? xr : xl, xe = way ? xl : xr;
      double w = 0;

      num = 0;
      for (int s = 0; s < n; s++) {
        const double e0 = delta * (1 + (s == 0 ? first : sg) + (s == n - 1 ? last : sg)), low = s ? t / Ps : 0;

        w = e0 + low * w;
        num = e0 + (s == 0 ? xf : 0) + (s == n - 1 ? xe : 0) + low * num;
        Ps = (s == n - 1 ? 0 : t) + num;
      }
      if (way) w0 = w / Ps;
      else w1 = w / Ps;
    }
    den = delta * (1 + sl + sr) + xl * w0 + xr * w1;
    if (!pin && den > 0) {
      L[0] = (xl * m11 + xr * m21) / den;
      L[1] = (xl * m12 + xr * m22) / den;
      L[2] = norm / den;
    }
    for (int i = 0; i < 3; i++) {
      const double f1 = (i == 0 ? m11 : (i == 1 ? m12 : 0)) + z1 * L[i],
                   fn = (i == 0 ? m21 : (i == 1 ? m22 : 0)) + zn * L[i];

      v[3 + i] = (-a1 * f1 + xl * L[i] + (n == 1 ? xr * L[i] : 0)) / P;
      v[6 + i] = e1 * (-an * fn + xr * L[i]) / P;
      v[9 + i] = L[i];
    }
  }
  for (int i = 0; i < BCR_CUDA_SEP_TAB; i++) tab[((ptrdiff_t)blockIdx.y * BCR_CUDA_SEP_TAB + i) * r.nk + k] = v[i];
}

int BCRCudaSepTables(BCRStream stream, const BCRCudaSepRows *rows, double *tab)
{
  tables<<<dim3((unsigned)((rows->nk + MODE_THREADS - 1) / MODE_THREADS), (unsigned)rows->planes), MODE_THREADS, 0,
           bcr_stream(stream)>>>(*rows, tab);
  return bcr_done();
}
