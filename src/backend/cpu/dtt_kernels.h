/* The batched trigonometric transforms of dtt.h: VL lines in the lanes, one vector for each position. */
#include "dttfft_kernels.h"

#include "dttio_kernels.h"

/* pairs of lines x = a + i b to y; z, Z: room for N */
static void BCRN(DttSym)(BCRDtt d, int direction, const cvec *x, cvec *y, cvec *w)
{
  const int   n = d->n, N = d->sym->n, *a = direction ? d->pos : d->perm, *b = direction ? d->perm : d->pos;
  const real *s = (const real *)(direction ? d->rot : d->in), *t = (const real *)(direction ? d->in : d->rot);
  cvec       *z = w, *Z = w + (N + 1) / 2;

  if (d->odd) {
    for (int i = 0; i < n; i++) z[a[i]] = cscale(x[i], s[i]);
    BCRN(SymRun)(d->sym, 1, z, Z, Z + (N + 1) / 2);
    for (int j = 0; j < n; j++) {
      const real h = t[j] * (real)0.5;

      y[j] = (cvec){Z[b[j]].i * -h, Z[b[j]].r * h};
    }
  } else { /* each sum of cosines has z_0 once, the others twice */
    for (int i = 0; i < n; i++) z[a[i]] = cscale(x[i], a[i] ? s[i] * (real)0.5 : s[i]);
    BCRN(SymRun)(d->sym, 0, z, Z, Z + (N + 1) / 2);
    for (int j = 0; j < n; j++) y[j] = cscale(Z[b[j]], t[j]);
  }
}

static void BCRN(DttPair)(BCRDtt d, int transpose, const cvec *x, cvec *y, cvec *w)
{
  const int   n = d->n, *p = d->perm, *pos = d->pos;
  const real *s = (const real *)d->in, *t = (const real *)d->rot;
  cvec       *z = w, *Z = w + n;

  if (!transpose) {
    for (int k = 0; k < n; k++) z[k] = cscale(x[p[k]], s[k]);
    BCRN(FftRun)(d->fft, z, 1, Z, w + 2 * (ptrdiff_t)n);
    y[pos[0]] = cscale(Z[0], t[0]);
    for (int k = 1; 2 * k < n; k++) {
      const cvec C = cadd(Z[k], Z[n - k]), D = csub(Z[k], Z[n - k]), S = {vset1(0) - D.i, D.r};

      y[pos[2 * k]]     = cadd(cscale(C, t[4 * k]), cscale(S, t[4 * k + 1]));
      y[pos[2 * k + 1]] = cadd(cscale(C, t[4 * k + 2]), cscale(S, t[4 * k + 3]));
    }
    if (n % 2 == 0) y[pos[n]] = cscale(Z[n / 2], t[2 * n]);
  } else {
    z[0] = cscale(x[pos[0]], t[0]);
    for (int k = 1; 2 * k < n; k++) {
      const cvec a = x[pos[2 * k]], b = x[pos[2 * k + 1]];
      const cvec P = cadd(cscale(a, t[4 * k]), cscale(b, t[4 * k + 2])), Q = cadd(cscale(a, t[4 * k + 1]), cscale(b, t[4 * k + 3]));

      z[k]     = caddi(P, Q);
      z[n - k] = csubi(P, Q);
    }
    if (n % 2 == 0) z[n / 2] = cscale(x[pos[n]], t[2 * n]);
    BCRN(FftRun)(d->fft, z, 1, Z, w + 2 * (ptrdiff_t)n);
    for (int k = 0; k < n; k++) y[p[k]] = cscale(Z[k], s[k]);
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

static __attribute__((noinline)) void BCRN(Dtt3PreSin3)(const BCRDttSplit *s, vec *x, cvec *z) { dtt3pre(s, x, z, DTT_SIN3); }
static __attribute__((noinline)) void BCRN(Dtt3PreCos3)(const BCRDttSplit *s, vec *x, cvec *z) { dtt3pre(s, x, z, DTT_COS3); }

/* type III of odd length M inside type I, two lines: V_k = P + i Q, V_{-k} = P - i Q; forward FFT, so V_{-k} goes to z_k */
BCR_INLINE void dtt3odd(const BCRDttSplit *s, vec *x0, vec *x1, cvec *w, vec *y0, vec *y1, ptrdiff_t ys, const int odd)
{
  const ptrdiff_t M    = s->M;
  const int       mode = odd ? DTT_SIN1 : DTT_COS1;
  const real     *t    = (const real *)s->tw;
  cvec           *z = w, *Z = w + M;
  vec             a, b;

  for (ptrdiff_t k = 0; 2 * k < M; k++) {
    cvec c, d, P, Q;

    dtt3load(x0, M, k, &a, &b, mode);
    c.r = dtt3in(x0, M, k, a, b, mode);
    dtt3load(x1, M, k, &a, &b, mode);
    c.i = dtt3in(x1, M, k, a, b, mode);
    if (!k) {
      z[0] = c;
      continue;
    }
    dtt3load(x0, M, M - k, &a, &b, mode);
    d.r = dtt3in(x0, M, M - k, a, b, mode);
    dtt3load(x1, M, M - k, &a, &b, mode);
    d.i      = dtt3in(x1, M, M - k, a, b, mode);
    P        = cadd(cscale(c, t[2 * k]), cscale(d, t[2 * k + 1]));
    Q        = csub(cscale(c, t[2 * k + 1]), cscale(d, t[2 * k]));
    z[k]     = csubi(P, Q);
    z[M - k] = caddi(P, Q);
  }
  BCRN(FftRun)(s->fft, z, 1, Z, w + 2 * M);
  for (ptrdiff_t k = 0; k < M; k++) {
    fft3put(y0, ys, M, k, Z[k].r, odd, 2 * k >= M);
    fft3put(y1, ys, M, k, Z[k].i, odd, 2 * k >= M);
  }
}

/* type I of odd length L, one line: its even and its odd outputs are both sums over the period L of a sequence of the same symmetry */
BCR_INLINE void dtt1odd(BCRSym f, const vec *x, cvec *w, vec *y, ptrdiff_t ys, const int odd)
{
  const ptrdiff_t L = f->n;
  cvec           *z = w, *Z = w + (L + 1) / 2;
  const real      h = (real)0.5;

  if (!odd) z[0] = (cvec){x[0] + x[L], x[0] - x[L]};
  for (ptrdiff_t p = 1; 2 * p < L; p++) {
    const vec a = x[odd ? p - 1 : p], b = x[odd ? L - p - 1 : L - p];

    if (odd) z[p] = (cvec){(a - b) * h, (a + b) * (p % 2 ? -h : h)};
    else z[p] = (cvec){(a + b) * h, (a - b) * (p % 2 ? -h : h)};
  }
  BCRN(SymRun)(f, odd, z, Z, Z + (L + 1) / 2);
  if (!odd) {
    y[0]      = Z[0].r;
    y[L * ys] = Z[0].i;
  }
  for (ptrdiff_t q = 1; 2 * q < L; q++) {
    if (odd) {
      y[2 * q * ys]       = vset1(0) - Z[q].i;
      y[(L - 2 * q) * ys] = vset1(0) - Z[q].r;
    } else {
      y[2 * q * ys]       = Z[q].r;
      y[(L - 2 * q) * ys] = Z[q].i;
    }
  }
}

/* type I, nl lines, the second ones n vectors after the first; x is destroyed */
static void BCRN(DttOne)(BCRDtt d, int nl, vec *x, vec *y, cvec *w)
{
  const int n  = d->n;
  ptrdiff_t ys = 1;

  for (int l = 0; l < d->nsplit; l++, ys *= 2) {
    const BCRDttSplit *s = &d->split[l];
    cvec              *z = w, *b = w + s->M / 2;

    for (int k = 0; k < nl && s->M % 2 == 0; k++) {
      if (d->odd) {
        BCRN(Dtt3PreSin1)(s, x + (ptrdiff_t)k * n, z);
        BCRN(Fft3Sin)(s->fft, z, b, w + s->M, y + (ptrdiff_t)k * n + ys - 1, 2 * ys);
      } else {
        BCRN(Dtt3PreCos1)(s, x + (ptrdiff_t)k * n, z);
        BCRN(Fft3Cos)(s->fft, z, b, w + s->M, y + (ptrdiff_t)k * n + ys, 2 * ys);
      }
    }
    if (s->M % 2) {
      if (d->odd) dtt3odd(s, x, x + n, w, y + ys - 1, y + n + ys - 1, 2 * ys, 1);
      else dtt3odd(s, x, x + n, w, y + ys, y + n + ys, 2 * ys, 0);
    }
  }
  for (int k = 0; k < nl; k++, x += n, y += n) {
    if (d->odd) {
      if (d->base == 2) y[ys - 1] = x[0];
      else if (d->base > 2) dtt1odd(d->sym, x, w, y - 1, ys, 1);
    } else if (d->base == 1) {
      const vec a = x[0], b = x[1];

      y[0]  = a + b;
      y[ys] = a - b;
    } else if (d->base == 2) {
      const vec a = x[0] + x[2];

      y[ys]     = x[0] - x[2];
      y[0]      = a + x[1];
      y[2 * ys] = a - x[1];
    } else dtt1odd(d->sym, x, w, y, ys, 0);
  }
}

/* type II of even length M, one line: the transpose of type III */
BCR_INLINE void dtt2(const BCRDttSplit *s, const vec *x, vec *y, cvec *w, const int odd)
{
  const ptrdiff_t M = s->M, H = M / 2;
  const real      h = (real)0.70710678118654752440, *t = (const real *)s->tw;
  cvec           *z = w, *W = w + H;

  for (ptrdiff_t k = 0; k < H; k++) {
    const vec a = 2 * k < H ? x[4 * k] : x[2 * M - 1 - 4 * k], b = 2 * k + 1 < H ? x[4 * k + 2] : x[2 * M - 3 - 4 * k];

    z[k] = (cvec){a, b};
    if (odd && 2 * k >= H) z[k].r = vset1(0) - a;
    if (odd && 2 * k + 1 >= H) z[k].i = vset1(0) - b;
  }
  BCRN(FftRun)(s->fft, z, 1, W, w + M);
  y[odd ? M - 1 : 0]     = W[0].r + W[0].i;
  y[odd ? M - 1 - H : H] = (W[0].r - W[0].i) * h;
  for (ptrdiff_t k = 1; 2 * k < H; k++, t += 4) {
    const cvec a = W[k], b = W[H - k];
    const cvec A = cmul((cvec){a.r + b.r, a.i - b.i}, t[0], -t[1]), B = cmul((cvec){a.i + b.i, b.r - a.r}, t[2], -t[3]);
    const cvec p = cadd(A, B), q = csub(A, B);

    y[odd ? M - 1 - k : k]             = p.r;
    y[odd ? k - 1 : M - k]             = vset1(0) - p.i;
    y[odd ? M - 1 - (H - k) : H - k]   = (q.r - q.i) * h;
    y[odd ? M - 1 - (H + k) : H + k]   = (q.r + q.i) * h;
  }
  if (H % 2 == 0) {
    const cvec p = cmul((cvec){W[H / 2].r, vset1(0) - W[H / 2].i}, (real)0.92387953251128675613, (real)-0.38268343236508977173);

    y[odd ? M - 1 - H / 2 : H / 2] = p.r;
    y[odd ? H / 2 - 1 : M - H / 2] = vset1(0) - p.i;
  }
}
static __attribute__((noinline)) void BCRN(Dtt2Sin)(const BCRDttSplit *s, const vec *x, vec *y, cvec *w) { dtt2(s, x, y, w, 1); }
static __attribute__((noinline)) void BCRN(Dtt2Cos)(const BCRDttSplit *s, const vec *x, vec *y, cvec *w) { dtt2(s, x, y, w, 0); }

/* type IV of even length: (x_{2k} + i x_{n-1-2k}) twisted, FFT of length n/2, twisted; sines: the reversed line, odd outputs with a minus */
BCR_INLINE void dtt4(BCRDtt d, const vec *x, vec *y, cvec *w, const int odd)
{
  const ptrdiff_t n = d->n, H = n / 2;
  const real     *t = (const real *)d->in;
  cvec           *z = w, *W = w + H;

  for (ptrdiff_t k = 0; k < H; k++) z[k] = cmul(odd ? (cvec){x[n - 1 - 2 * k], x[2 * k]} : (cvec){x[2 * k], x[n - 1 - 2 * k]}, t[2 * k], t[2 * k + 1]);
  BCRN(FftRun)(d->fft, z, 1, W, w + n);
  for (ptrdiff_t k = 0; k < H; k++) {
    const cvec c = cmul(W[k], t[2 * k], t[2 * k + 1]);

    y[2 * k] = c.r;
    if (odd) y[n - 1 - 2 * k] = c.i;
    else y[n - 1 - 2 * k] = vset1(0) - c.i;
  }
}
static __attribute__((noinline)) void BCRN(Dtt4Sin)(BCRDtt d, const vec *x, vec *y, cvec *w) { dtt4(d, x, y, w, 1); }
static __attribute__((noinline)) void BCRN(Dtt4Cos)(BCRDtt d, const vec *x, vec *y, cvec *w) { dtt4(d, x, y, w, 0); }

/* nl groups of VL lines, x to y: n vectors each, or n complex ones for two groups together */
static void BCRN(DttLines)(BCRDtt d, int direction, int nl, vec *x, vec *y, cvec *w)
{
  const BCRDttSplit *s = &d->split[0];

  switch (d->kind) {
  case BCR_DTT_SCALE: y[0] = x[0] * ((const real *)d->in)[0]; break;
  case BCR_DTT_ONE: BCRN(DttOne)(d, nl, x, y, w); break;
  case BCR_DTT_TWO:
    if (direction == d->flip) {
      if (d->odd) BCRN(Dtt2Sin)(s, x, y, w);
      else BCRN(Dtt2Cos)(s, x, y, w);
    } else if (d->odd) {
      BCRN(Dtt3PreSin3)(s, x, w);
      BCRN(Fft3Sin)(s->fft, w, w + s->M / 2, w + s->M, y, 1);
    } else {
      BCRN(Dtt3PreCos3)(s, x, w);
      BCRN(Fft3Cos)(s->fft, w, w + s->M / 2, w + s->M, y, 1);
    }
    break;
  case BCR_DTT_FOUR:
    if (d->odd) BCRN(Dtt4Sin)(d, x, y, w);
    else BCRN(Dtt4Cos)(d, x, y, w);
    break;
  case BCR_DTT_SYM: BCRN(DttSym)(d, direction, (const cvec *)x, (cvec *)y, w); break;
  case BCR_DTT_PAIR: BCRN(DttPair)(d, direction != d->flip, (const cvec *)x, (cvec *)y, w); break;
  }
}

/* cols and io are constants of the callers */
BCR_INLINE void dttrun(BCRDtt d, int direction, const int cols, const int io, ptrdiff_t count, const void *f, ptrdiff_t ldf, void *u, ptrdiff_t ldu, void *work)
{
  const int       n = d->n, nl = d->lines;
  const ptrdiff_t xs = d->kind == BCR_DTT_SYM || d->kind == BCR_DTT_PAIR ? 2 : 1, x1 = xs == 2 ? 1 : n; /* complex, or one after the other */
  vec            *x = (vec *)work, *y = x + (ptrdiff_t)nl * n;

  for (ptrdiff_t l = 0; l < count; l += nl * VL) {
    for (int k = 0; k < nl; k++) {
      const ptrdiff_t lk = l + k * VL < count ? l + k * VL : l; /* a second group that is not there: the first again */
      const int       nv = (int)PetscMin(count - lk, VL);
      vec            *xk = x + k * x1;

      if (xs == 1) {
        if (cols) dttreadcols(n, f, lk, nv, ldf, xk, 1, io);
        else dttreadrows(n, f, lk, nv, ldf, xk, 1, io);
      } else {
        if (cols) dttreadcols(n, f, lk, nv, ldf, xk, 2, io);
        else dttreadrows(n, f, lk, nv, ldf, xk, 2, io);
      }
      if (!direction) {
        if (d->half[0]) xk[0] *= (real)0.5;
        if (d->half[1]) xk[(n - 1) * xs] *= (real)0.5;
      }
    }
    BCRN(DttLines)(d, direction, nl, x, y, (cvec *)(y + (ptrdiff_t)nl * n));
    for (int k = 0; k < nl && l + k * VL < count; k++) {
      const ptrdiff_t lk = l + k * VL;
      const int       nv = (int)PetscMin(count - lk, VL);
      const vec      *yk = y + k * x1;

      if (xs == 1) {
        if (cols) dttwritecols(n, u, lk, nv, ldu, yk, 1, io);
        else dttwriterows(n, u, lk, nv, ldu, yk, 1, io);
      } else {
        if (cols) dttwritecols(n, u, lk, nv, ldu, yk, 2, io);
        else dttwriterows(n, u, lk, nv, ldu, yk, 2, io);
      }
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
