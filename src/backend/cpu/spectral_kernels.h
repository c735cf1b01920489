/* Included by kernels.h, once for each instruction set and precision: see spectral.h */
#include "spectral.h"

/* One number: nothing is divided by what is left out, which traps of floating point exceptions would see */
BCR_INLINE real BCRN(BCRSpectralOne)(real shift, real slope, real norm, real lambda, real scale, real tol)
{
  const real d = shift + slope * lambda;

  return d > tol || d < -tol ? norm * scale / d : 0;
}

static void BCRN(BCRSpectralDivide)(ptrdiff_t count, ptrdiff_t rows, int io, void *u, ptrdiff_t ld, const void *shift,
                                    const void *slope, const void *norm, const void *lambda, const void *rownorm,
                                    double factor, double tol)
{
  const real *s = (const real *)shift, *a = (const real *)slope, *w = (const real *)norm, *l = (const real *)lambda,
             *r = (const real *)rownorm, t = (real)tol;

  for (ptrdiff_t k = 0; k < rows; k++) {
    const real scale = (real)(factor * (double)r[k]);
    const vec lv = vset1(l[k]), sv = vset1(scale), tv = vset1(t), one = vset1(1);
    ptrdiff_t i = 0;

    if (io) {
      double *v = (double *)u + k * ld;

      for (; i < count; i++) v[i] *= (double)BCRN(BCRSpectralOne)(s[i], a[i], w[i], l[k], scale, t);
      continue;
    }
    for (real *v = (real *)u + k * ld; i + VL <= count; i += VL) {
      const vec d = vload(s + i) + vload(a + i) * lv;
      const __typeof__(d < d) keep = (d > tv) | (d < -tv),
                              safe = ((__typeof__(keep))d & keep) | ((__typeof__(keep))one & ~keep);
      const vec q = vload(w + i) * sv / (vec)safe;

      vstore(v + i, vload(v + i) * (vec)((__typeof__(keep))q & keep));
    }
    for (real *v = (real *)u + k * ld; i < count; i++) v[i] *= BCRN(BCRSpectralOne)(s[i], a[i], w[i], l[k], scale, t);
  }
}
