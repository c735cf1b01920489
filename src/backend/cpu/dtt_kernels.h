/* The batched trigonometric transforms of dtt.h: VL lines in the lanes, one vector for each position. */
#include "dttfft_kernels.h"

#include "dttio_kernels.h"

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

/* cols and io are constants of the four callers */
BCR_INLINE void dttrun(BCRDtt d, int direction, const int cols, const int io, ptrdiff_t count, const void *f, ptrdiff_t ldf, void *u, ptrdiff_t ldu, void *work)
{
  const int n = d->n;
  cvec     *x = (cvec *)work, *y = x + n, *w = y + n;

  for (ptrdiff_t l = 0; l < count; l += 2 * VL) {
    const int       nv = count - l < 2 * VL ? (int)(count - l) : 2 * VL, n0 = PetscMin(nv, VL), n1 = nv - n0;
    const ptrdiff_t l1 = n1 ? l + VL : l;

    if (cols) {
      dttreadcols(n, f, l, n0, ldf, &x->r, 2, io);
      dttreadcols(n, f, l1, n1 ? n1 : n0, ldf, &x->i, 2, io);
    } else {
      dttreadrows(n, f, l, n0, ldf, &x->r, 2, io);
      dttreadrows(n, f, l1, n1 ? n1 : n0, ldf, &x->i, 2, io);
    }
    if (d->kind == BCR_DTT_PERIODIC) BCRN(DttPeriodic)(d, direction, x, y, w);
    else BCRN(DttMap)(d, direction, x, y, w);
    if (cols) {
      dttwritecols(n, u, l, n0, ldu, &y->r, 2, io);
      if (n1) dttwritecols(n, u, l1, n1, ldu, &y->i, 2, io);
    } else {
      dttwriterows(n, u, l, n0, ldu, &y->r, 2, io);
      if (n1) dttwriterows(n, u, l1, n1, ldu, &y->i, 2, io);
    }
  }
}

static void BCRN(BCRDttRows)(BCRDtt d, int direction, int io, ptrdiff_t count, const void *f, ptrdiff_t ldf, void *u, ptrdiff_t ldu, void *work)
{
#if defined(BCR_REAL_SINGLE)
  if (io) {
    dttrun(d, direction, 0, 1, count, f, ldf, u, ldu, work);
    return;
  }
#else
  (void)io;
#endif
  dttrun(d, direction, 0, 0, count, f, ldf, u, ldu, work);
}

static void BCRN(BCRDttCols)(BCRDtt d, int direction, int io, ptrdiff_t count, const void *f, ptrdiff_t ldf, void *u, ptrdiff_t ldu, void *work)
{
#if defined(BCR_REAL_SINGLE)
  if (io) {
    dttrun(d, direction, 1, 1, count, f, ldf, u, ldu, work);
    return;
  }
#else
  (void)io;
#endif
  dttrun(d, direction, 1, 0, count, f, ldf, u, ldu, work);
}
