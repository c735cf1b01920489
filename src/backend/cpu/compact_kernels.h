/* Included by kernels.h, once for each instruction set and precision: see compact.h */
#include "compact.h"

BCR_INLINE void BCRN(BCRCompactBody)(ptrdiff_t n, ptrdiff_t s, int half, int sign, const double c[4],
                                     const real *restrict f, real *restrict u)
{
  const real c0 = (real)c[0], c1 = (real)c[1], c2 = (real)c[2], c3 = (real)c[3];

  for (ptrdiff_t t = 0; t < n; t++) {
    real v = sign > 0 ? c0 * f[t] : 0;

    if (half > 0) v += c1 * (sign > 0 ? f[t + s] + f[t - s] : f[t + s] - f[t - s]);
    if (half > 1) v += c2 * (sign > 0 ? f[t + 2 * s] + f[t - 2 * s] : f[t + 2 * s] - f[t - 2 * s]);
    if (half > 2) v += c3 * (sign > 0 ? f[t + 3 * s] + f[t - 3 * s] : f[t + 3 * s] - f[t - 3 * s]);
    u[t] = v;
  }
}

static void BCRN(BCRCompactStencil)(ptrdiff_t n, ptrdiff_t s, int half, int sign, const double c[4], const void *vf,
                                    void *vu)
{
  const real *f = (const real *)vf;
  real *u = (real *)vu;

  if (sign < 0) {
    if (half == 1) BCRN(BCRCompactBody)(n, s, 1, -1, c, f, u);
    else if (half == 2) BCRN(BCRCompactBody)(n, s, 2, -1, c, f, u);
    else BCRN(BCRCompactBody)(n, s, 3, -1, c, f, u);
  } else {
    if (half == 1) BCRN(BCRCompactBody)(n, s, 1, 1, c, f, u);
    else if (half == 2) BCRN(BCRCompactBody)(n, s, 2, 1, c, f, u);
    else BCRN(BCRCompactBody)(n, s, 3, 1, c, f, u);
  }
}

static const BCRCompactTable BCRN(BCRCompact) = {BCRN(BCRCompactStencil)};
