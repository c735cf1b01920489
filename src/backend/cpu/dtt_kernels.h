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

/*
  Input side of type III. The coefficients c_q, q = 0..M-1, of a sum of cosines come from
    DTT_SIN1, DTT_COS1  the sums (differences) of mirrored inputs of type I of length 2M; the differences (sums), which are the inputs
                        of type I of length M, take the place of the first half
    DTT_SIN3, DTT_COS3  the inputs themselves; sin pi (M-q)(2l+1)/(2M) = (-1)^l cos pi q (2l+1)/(2M)
*/
enum {
  DTT_SIN1,
  DTT_COS1,
  DTT_SIN3,
  DTT_COS3
};

/* a, b: what c_q is made of */
BCR_INLINE void dtt3load(const vec *x, ptrdiff_t M, ptrdiff_t q, vec *a, vec *b, const int mode)
{
  *b = vset1(0);
  if (mode == DTT_SIN3) *a = x[M - 1 - q];
  else if (mode == DTT_COS3) *a = x[q];
  else if (mode == DTT_SIN1) {
    *a = x[M - q - 1];
    if (q) *b = x[M + q - 1];
  } else {
    *a = x[q];
    *b = x[2 * M - q];
  }
}

BCR_INLINE vec dtt3in(vec *x, ptrdiff_t M, ptrdiff_t q, vec a, vec b, const int mode)
{
  if (mode == DTT_SIN1) {
    if (!q) return a;
    x[M - q - 1] = a - b;
    return a + b;
  } else if (mode == DTT_COS1) {
    x[q] = a + b;
    return a - b;
  }
  return a;
}

/*
  z, real and imaginary part swapped so that a forward FFT does the inverse one: with V_k = e^{i pi k/(2M)} (c_k - i c_{M-k})/2,
  W_k = P + Q, W_{H-k} = conj(P - Q), P = V_k + conj V_{H-k}, Q = i e^{2 pi i k/M} (V_k - conj V_{H-k}).
*/
BCR_INLINE void dtt3pre(const BCRDttSplit *s, vec *x, cvec *z, const int mode)
{
  const ptrdiff_t M = s->M, H = M / 2;
  const real      h = (real)0.70710678118654752440, *t = (const real *)s->tw;
  vec             a[4], b[4];

  dtt3load(x, M, 0, &a[0], &b[0], mode);
  dtt3load(x, M, H, &a[1], &b[1], mode);
  a[0] = dtt3in(x, M, 0, a[0], b[0], mode);
  a[1] = dtt3in(x, M, H, a[1], b[1], mode) * h;
  z[0] = (cvec){a[0] - a[1], a[0] + a[1]};
  for (ptrdiff_t k = 1; 2 * k < H; k++, t += 4) {
    vec  c, d, u, v, p, q;
    cvec P, R;

    dtt3load(x, M, k, &a[0], &b[0], mode); /* all loads before the stores, which may be a multiple of 4096 bytes away */
    dtt3load(x, M, M - k, &a[1], &b[1], mode);
    dtt3load(x, M, H - k, &a[2], &b[2], mode);
    dtt3load(x, M, H + k, &a[3], &b[3], mode);
    c        = dtt3in(x, M, k, a[0], b[0], mode);
    d        = dtt3in(x, M, M - k, a[1], b[1], mode);
    u        = dtt3in(x, M, H - k, a[2], b[2], mode);
    v        = dtt3in(x, M, H + k, a[3], b[3], mode);
    p        = u + v;
    q        = v - u;
    P        = cmul((cvec){c + p * h, q * h - d}, t[0], t[1]);
    R        = cmul((cvec){c - p * h, vset1(0) - (q * h + d)}, t[2], t[3]);
    z[k]     = (cvec){P.i + R.r, P.r - R.i};
    z[H - k] = (cvec){R.r - P.i, P.r + R.i};
  }
  if (H % 2 == 0) {
    dtt3load(x, M, H / 2, &a[0], &b[0], mode);
    dtt3load(x, M, M - H / 2, &a[1], &b[1], mode);
    a[0]     = dtt3in(x, M, H / 2, a[0], b[0], mode);
    a[1]     = dtt3in(x, M, M - H / 2, a[1], b[1], mode);
    z[H / 2] = cswap(cmul((cvec){a[0], a[1]}, (real)0.92387953251128675613, (real)-0.38268343236508977173));
  }
}
static __attribute__((noinline)) void BCRN(Dtt3PreSin1)(const BCRDttSplit *s, vec *x, cvec *z) { dtt3pre(s, x, z, DTT_SIN1); }
static __attribute__((noinline)) void BCRN(Dtt3PreCos1)(const BCRDttSplit *s, vec *x, cvec *z) { dtt3pre(s, x, z, DTT_COS1); }

/* type I, one line; x is destroyed */
static void BCRN(DttOne)(BCRDtt d, vec *x, vec *y, cvec *w)
{
  ptrdiff_t ys = 1;

  for (int l = 0; l < d->nsplit; l++, ys *= 2) {
    const BCRDttSplit *s = &d->split[l];
    cvec              *z = w, *b = w + s->M / 2;

    if (d->odd) {
      BCRN(Dtt3PreSin1)(s, x, z);
      BCRN(Fft3Sin)(s->fft, z, b, w + s->M, y + ys - 1, 2 * ys);
    } else {
      BCRN(Dtt3PreCos1)(s, x, z);
      BCRN(Fft3Cos)(s->fft, z, b, w + s->M, y + ys, 2 * ys);
    }
  }
  if (d->odd) y[ys - 1] = x[0];
  else { /* length 2: three points */
    const vec a = x[0] + x[2];

    y[ys]     = x[0] - x[2];
    y[0]      = a + x[1];
    y[2 * ys] = a - x[1];
  }
}

/* one line at a time; cols and io are constants of the callers */
BCR_INLINE void dttrunone(BCRDtt d, int direction, const int cols, const int io, ptrdiff_t count, const void *f, ptrdiff_t ldf, void *u, ptrdiff_t ldu, void *work)
{
  const int n = d->n;
  vec      *x = (vec *)work, *y = x + n;
  cvec     *w = (cvec *)(y + n);

  for (ptrdiff_t l = 0; l < count; l += VL) {
    const int nv = count - l < VL ? (int)(count - l) : VL;

    if (cols) dttreadcols(n, f, l, nv, ldf, x, 1, io);
    else dttreadrows(n, f, l, nv, ldf, x, 1, io);
    if (!d->odd) { /* both ends: the sums of type I have them as they are */
      if (!direction) {
        x[0] *= (real)0.5;
        x[n - 1] *= (real)0.5;
      }
    }
    BCRN(DttOne)(d, x, y, w);
    if (cols) dttwritecols(n, u, l, nv, ldu, y, 1, io);
    else dttwriterows(n, u, l, nv, ldu, y, 1, io);
  }
}

BCR_INLINE void dttruntwo(BCRDtt d, int direction, const int cols, const int io, ptrdiff_t count, const void *f, ptrdiff_t ldf, void *u, ptrdiff_t ldu, void *work)
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

BCR_INLINE void dttrun(BCRDtt d, int direction, const int cols, const int io, ptrdiff_t count, const void *f, ptrdiff_t ldf, void *u, ptrdiff_t ldu, void *work)
{
  if (d->kind == BCR_DTT_ONE) dttrunone(d, direction, cols, io, count, f, ldf, u, ldu, work);
  else dttruntwo(d, direction, cols, io, count, f, ldf, u, ldu, work);
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
