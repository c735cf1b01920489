/* The batched trigonometric transforms of dtt.h: VL lines in the lanes, one vector for each position. */
#include "dttfft_kernels.h"

/* element i of a line in memory of type io */
BCR_INLINE real dttget(const void *p, ptrdiff_t i, const int io)
{
#if defined(BCR_REAL_SINGLE)
  if (io) return (real)((const double *)p)[i];
#else
  (void)io;
#endif
  return ((const real *)p)[i];
}

BCR_INLINE void dttput(void *p, ptrdiff_t i, real v, const int io)
{
#if defined(BCR_REAL_SINGLE)
  if (io) {
    ((double *)p)[i] = v;
    return;
  }
#else
  (void)io;
#endif
  ((real *)p)[i] = v;
}

/* nv <= VL lines, from line l on, to x[0], x[xs], ... and back: lines ls apart, elements es apart */
BCR_INLINE void dttread(int n, const void *f, ptrdiff_t l, int nv, ptrdiff_t ls, ptrdiff_t es, vec *x, ptrdiff_t xs, const int io)
{
  for (int i = 0; i < n; i++) {
    real t[VL] __attribute__((aligned(64)));

    for (int k = 0; k < VL; k++) t[k] = dttget(f, (l + (k < nv ? k : nv - 1)) * ls + i * es, io);
    x[i * xs] = vload(t);
  }
}

BCR_INLINE void dttwrite(int n, void *u, ptrdiff_t l, int nv, ptrdiff_t ls, ptrdiff_t es, const vec *x, ptrdiff_t xs, const int io)
{
  for (int i = 0; i < n; i++) {
    real t[VL] __attribute__((aligned(64)));

    vstore(t, x[i * xs]);
    for (int k = 0; k < nv; k++) dttput(u, (l + k) * ls + i * es, t[k], io);
  }
}

/* pairs of lines x = a + i b to y, both n complex vectors; w: the scratch */
static void BCRN(DttMap)(BCRDtt d, int direction, const cvec *x, cvec *y, cvec *w)
{
  const int   n = d->n, F = d->F, *in = d->place[direction], *out = d->place[!direction];
  const real *q = (const real *)d->weight[direction];
  const cvec  zero = {vset1(0), vset1(0)};
  cvec       *z = w, *Z = w + F;

  for (int k = 0; k < F; k++) z[k] = zero;
  for (int i = 0; i < n; i++) {
    const cvec v = cscale(x[i], q[i]);

    z[in[i]]               = v;
    z[in[i] ? F - in[i] : 0] = d->odd ? csub(zero, v) : v;
  }
  BCRN(FftRun)(d->fft, z, 1, Z, w + 2 * (ptrdiff_t)F);
  for (int j = 0; j < n; j++) {
    const cvec v = Z[out[j]];

    y[j] = d->odd ? (cvec){vset1(0) - v.i, v.r} : v;
  }
}

static void BCRN(DttPeriodic)(BCRDtt d, int direction, const cvec *x, cvec *y, cvec *w)
{
  const int  n = d->n;
  cvec      *z = w;
  const real h = (real)0.5;

  if (!direction) {
    BCRN(FftRun)(d->fft, x, 1, z, w + n);
    y[0] = z[0];
    for (int m = 1; 2 * m < n; m++) {
      const cvec a = cscale(cadd(z[m], z[n - m]), h), b = cscale(csub(z[m], z[n - m]), h);

      y[2 * m - 1] = a;
      y[2 * m]     = (cvec){vset1(0) - b.i, b.r};
    }
    if (n % 2 == 0) y[n - 1] = z[n / 2];
  } else {
    z[0] = x[0];
    for (int m = 1; 2 * m < n; m++) {
      const cvec c = cscale(x[2 * m - 1], h), s = cscale(x[2 * m], h);

      z[m]     = caddi(c, s);
      z[n - m] = csubi(c, s);
    }
    if (n % 2 == 0) z[n / 2] = x[n - 1];
    BCRN(FftRun)(d->fft, z, 1, y, w + n);
  }
}

static void BCRN(DttRun)(BCRDtt d, int direction, const int io, ptrdiff_t count, const void *f, ptrdiff_t fl, ptrdiff_t fe, void *u, ptrdiff_t ul, ptrdiff_t ue, void *work)
{
  const int n = d->n;
  cvec     *x = (cvec *)work, *y = x + n, *w = y + n;

  for (ptrdiff_t l = 0; l < count; l += 2 * VL) {
    const int nv = count - l < 2 * VL ? (int)(count - l) : 2 * VL, n0 = nv < VL ? nv : VL, n1 = nv - n0;

    dttread(n, f, l, n0, fl, fe, &x->r, 2, io);
    dttread(n, f, n1 ? l + VL : l, n1 ? n1 : n0, fl, fe, &x->i, 2, io);
    if (d->kind == BCR_DTT_PERIODIC) BCRN(DttPeriodic)(d, direction, x, y, w);
    else BCRN(DttMap)(d, direction, x, y, w);
    dttwrite(n, u, l, n0, ul, ue, &y->r, 2, io);
    if (n1) dttwrite(n, u, l + VL, n1, ul, ue, &y->i, 2, io);
  }
}

static void BCRN(BCRDttRows)(BCRDtt d, int direction, int io, ptrdiff_t count, const void *f, ptrdiff_t ldf, void *u, ptrdiff_t ldu, void *work)
{
  BCRN(DttRun)(d, direction, io, count, f, ldf, 1, u, ldu, 1, work);
}

static void BCRN(BCRDttCols)(BCRDtt d, int direction, int io, ptrdiff_t count, const void *f, ptrdiff_t ldf, void *u, ptrdiff_t ldu, void *work)
{
  BCRN(DttRun)(d, direction, io, count, f, 1, ldf, u, 1, ldu, work);
}
