/* The batched trigonometric transforms of dtt.h: VL lines in the lanes, one vector for each position. */
#include "dttfft_kernels.h"

#include "dttio_kernels.h"

#include "dttsine_kernels.h"

#include "dttreal_kernels.h"

/* pairs of lines x = a + i b to y; z, Z: room for N */
static void BCRN(DttSym)(BCRDtt d, int direction, const cvec *x, cvec *y, cvec *w)
{
  const int n = d->n, N = d->sym->n, *a = direction ? d->pos : d->perm, *b = direction ? d->perm : d->pos;
  const real *s = (const real *)(direction ? d->rot : d->in), *t = (const real *)(direction ? d->in : d->rot);
  cvec *z = w, *Z = w + (N + 1) / 2;

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
  const int n = d->n, *p = d->perm, *pos = d->pos;
  const real *s = (const real *)d->in, *t = (const real *)d->rot;
  cvec *z = w, *Z = w + n;

  if (!transpose) {
    for (int k = 0; k < n; k++) z[k] = cscale(x[p[k]], s[k]);
    BCRN(FftRun)(d->fft, z, 1, Z, w + 2 * (ptrdiff_t)n);
    y[pos[0]] = cscale(Z[0], t[0]);
    for (int k = 1; 2 * k < n; k++) {
      const cvec C = cadd(Z[k], Z[n - k]), D = csub(Z[k], Z[n - k]), S = {vset1(0) - D.i, D.r};

      y[pos[2 * k]] = cadd(cscale(C, t[4 * k]), cscale(S, t[4 * k + 1]));
      y[pos[2 * k + 1]] = cadd(cscale(C, t[4 * k + 2]), cscale(S, t[4 * k + 3]));
    }
    if (n % 2 == 0) y[pos[n]] = cscale(Z[n / 2], t[2 * n]);
  } else {
    z[0] = cscale(x[pos[0]], t[0]);
    for (int k = 1; 2 * k < n; k++) {
      const cvec a = x[pos[2 * k]], b = x[pos[2 * k + 1]];
      const cvec P = cadd(cscale(a, t[4 * k]), cscale(b, t[4 * k + 2])),
                 Q = cadd(cscale(a, t[4 * k + 1]), cscale(b, t[4 * k + 3]));

      z[k] = caddi(P, Q);
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

/* a, b: what c_q is made of, from the line f with elements fs apart */
BCR_INLINE void dtt3load(const real *f, ptrdiff_t fs, ptrdiff_t M, ptrdiff_t q, vec *a, vec *b, const int mode)
{
  *b = vset1(0);
  if (mode == DTT_SIN3) *a = vload(f + (M - 1 - q) * fs);
  else if (mode == DTT_COS3) *a = vload(f + q * fs);
  else if (mode == DTT_SIN1) {
    *a = vload(f + (M - q - 1) * fs);
    if (q) *b = vload(f + (M + q - 1) * fs);
  } else {
    *a = vload(f + q * fs);
    *b = vload(f + (2 * M - q) * fs);
  }
}

/* c_q; the inputs of the half-length type I go to x, which may be f */
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

/* z_k and z_{H-k} from what dtt3load() gave for k, M - k, H - k and H + k */
BCR_INLINE void dtt3step(const ptrdiff_t M, const ptrdiff_t k, const vec *a, const vec *b, const real *t, vec *x,
                         cvec *z, const int mode)
{
  const ptrdiff_t H = M / 2;
  const real h = (real)0.70710678118654752440;
  const vec c = dtt3in(x, M, k, a[0], b[0], mode), d = dtt3in(x, M, M - k, a[1], b[1], mode);
  const vec u = dtt3in(x, M, H - k, a[2], b[2], mode), v = dtt3in(x, M, H + k, a[3], b[3], mode);
  const vec p = u + v, q = v - u;
  const cvec P = cmul((cvec){c + p * h, q * h - d}, t[0], t[1]),
             R = cmul((cvec){c - p * h, vset1(0) - (q * h + d)}, t[2], t[3]);

  z[k] = (cvec){P.i + R.r, P.r - R.i};
  z[H - k] = (cvec){R.r - P.i, P.r + R.i};
}

/* what the steps leave out: a, b for 0, H, H/2, M - H/2 */
BCR_INLINE void dtt3ends(const ptrdiff_t M, const vec *a, const vec *b, vec *x, cvec *z, const int mode)
{
  const ptrdiff_t H = M / 2;
  const vec c = dtt3in(x, M, 0, a[0], b[0], mode), d = dtt3in(x, M, H, a[1], b[1], mode) * (real)0.70710678118654752440;

  z[0] = (cvec){c - d, c + d};
  if (H % 2 == 0) {
    const vec u = dtt3in(x, M, H / 2, a[2], b[2], mode), v = dtt3in(x, M, M - H / 2, a[3], b[3], mode);

    z[H / 2] = cswap(cmul((cvec){u, v}, (real)0.92387953251128675613, (real)-0.38268343236508977173));
  }
}

/*
  z, real and imaginary part swapped so that a forward FFT does the inverse one: with V_k = e^{i pi
  k/(2M)} (c_k - i c_{M-k})/2, W_k = P + Q, W_{H-k} = conj(P - Q), P = V_k + conj V_{H-k}, Q = i
  e^{2 pi i k/M} (V_k - conj V_{H-k}).
*/
BCR_INLINE void dtt3pre(const BCRDttSplit *s, const real *f, ptrdiff_t fs, vec *x, cvec *z, const int mode)
{
  const ptrdiff_t M = s->M, H = M / 2;
  const real *t = (const real *)s->tw;
  vec a[4], b[4], e[4], g[4];

  dtt3load(f, fs, M, 0, &e[0], &g[0], mode);
  dtt3load(f, fs, M, H, &e[1], &g[1], mode);
  if (H % 2 == 0) {
    dtt3load(f, fs, M, H / 2, &e[2], &g[2], mode);
    dtt3load(f, fs, M, M - H / 2, &e[3], &g[3], mode);
  }
  if (mode == DTT_COS1) x[M] = vload(f + M * fs);
  dtt3ends(M, e, g, x, z, mode);
  for (ptrdiff_t k = 1; 2 * k < H; k++, t += 4) {
    /* all loads before the stores, which may be a multiple of 4096 bytes away */
    dtt3load(f, fs, M, k, &a[0], &b[0], mode);
    dtt3load(f, fs, M, M - k, &a[1], &b[1], mode);
    dtt3load(f, fs, M, H - k, &a[2], &b[2], mode);
    dtt3load(f, fs, M, H + k, &a[3], &b[3], mode);
    dtt3step(M, k, a, b, t, x, z, mode);
  }
}

/* element i of nv <= VL rows */
BCR_INLINE vec dttcolumn(const void *f, ptrdiff_t l, int nv, ptrdiff_t ld, ptrdiff_t i, const int io)
{
  real t[VL] __attribute__((aligned(64)));

  (void)io;
  for (int k = 0; k < VL; k++) {
    const ptrdiff_t j = (l + PetscMin(k, nv - 1)) * ld + i;

#if defined(BCR_REAL_SINGLE)
    t[k] = io ? (real)((const double *)f)[j] : ((const real *)f)[j];
#else
    t[k] = ((const real *)f)[j];
#endif
  }
  return vload(t);
}

/* VL neighbouring elements of nv <= VL rows */
BCR_INLINE void dttblock(const void *f, ptrdiff_t l, int nv, ptrdiff_t ld, ptrdiff_t i, vec *r, const int io)
{
  vec b[BCR_VECTOR_BYTES / sizeof(real)];

  _Pragma("GCC unroll 16") for (int k = 0; k < VL; k++) b[k] = dttload(f, (l + PetscMin(k, nv - 1)) * ld + i, io);
  dtttranspose(b);
  _Pragma("GCC unroll 16") for (int k = 0; k < VL; k++) r[k] = b[k];
}

/* the first step of a type I on rows, M >= 4 VL: they go through a few blocks in the first level
   cache, instead of lane by lane as a whole */
BCR_INLINE void dtt3rows(BCRDtt d, int direction, const void *f, ptrdiff_t l, int nv, ptrdiff_t ld, vec *x, cvec *z,
                         const int mode, const int io)
{
  const ptrdiff_t M = d->split[0].M, H = M / 2, o = mode == DTT_SIN1; /* sines have no element 0 */
  const real *t = (const real *)d->split[0].tw;
  vec a[4], b[4], r[8][VL];

  a[0] = dttcolumn(f, l, nv, ld, mode == DTT_SIN1 ? M - o : 0, io);
  b[0] = mode == DTT_SIN1 ? vset1(0) : dttcolumn(f, l, nv, ld, 2 * M, io);
  if (!direction && mode == DTT_COS1) {
    if (d->half[0]) a[0] *= (real)0.5;
    if (d->half[1]) b[0] *= (real)0.5;
  }
  if (mode == DTT_COS1) x[M] = dttcolumn(f, l, nv, ld, M, io);
  for (int k = 1; k < 4; k++) {
    const ptrdiff_t q = k == 1 ? H : (k == 2 ? H / 2 : M - H / 2);

    a[k] = dttcolumn(f, l, nv, ld, mode == DTT_SIN1 ? M - q - o : q, io);
    b[k] = dttcolumn(f, l, nv, ld, mode == DTT_SIN1 ? M + q - o : 2 * M - q, io);
  }
  dtt3ends(M, a, b, x, z, mode);
  for (ptrdiff_t k0 = 1; 2 * k0 < H; k0 += VL) {
    for (int j = 0; j < 4; j++) {
      dttblock(f, l, nv, ld, j * H + k0 - o, r[2 * j], io);
      dttblock(f, l, nv, ld, (j + 1) * H - k0 - (VL - 1) - o, r[2 * j + 1], io);
    }
    for (ptrdiff_t k = k0; k < k0 + VL && 2 * k < H; k++, t += 4) {
      const ptrdiff_t i = k - k0, c = VL - 1 - i;

      if (mode == DTT_SIN1) { /* M - q and M + q for q = k, M - k, H - k, H + k */
        a[0] = r[3][c], b[0] = r[4][i];
        a[1] = r[0][i], b[1] = r[7][c];
        a[2] = r[2][i], b[2] = r[5][c];
        a[3] = r[1][c], b[3] = r[6][i];
      } else { /* q and 2M - q */
        a[0] = r[0][i], b[0] = r[7][c];
        a[1] = r[3][c], b[1] = r[4][i];
        a[2] = r[1][c], b[2] = r[6][i];
        a[3] = r[2][i], b[3] = r[5][c];
      }
      dtt3step(M, k, a, b, t, x, z, mode);
    }
  }
}
static __attribute__((noinline)) void BCRN(Dtt3PreSin1)(const BCRDttSplit *s, const real *f, ptrdiff_t fs, vec *x,
                                                        cvec *z)
{
  dtt3pre(s, f, fs, x, z, DTT_SIN1);
}
static __attribute__((noinline)) void BCRN(Dtt3PreCos1)(const BCRDttSplit *s, const real *f, ptrdiff_t fs, vec *x,
                                                        cvec *z)
{
  dtt3pre(s, f, fs, x, z, DTT_COS1);
}

static __attribute__((noinline)) void BCRN(Dtt3PreSin3)(const BCRDttSplit *s, const real *f, ptrdiff_t fs, cvec *z)
{
  dtt3pre(s, f, fs, NULL, z, DTT_SIN3);
}
static __attribute__((noinline)) void BCRN(Dtt3PreCos3)(const BCRDttSplit *s, const real *f, ptrdiff_t fs, cvec *z)
{
  dtt3pre(s, f, fs, NULL, z, DTT_COS3);
}

/* type III of odd length M inside type I, two lines: V_k = P + i Q, V_{-k} = P - i Q; forward FFT,
   so V_{-k} goes to z_k */
BCR_INLINE void dtt3odd(const BCRDttSplit *s, const real *f0, const real *f1, ptrdiff_t fs, vec *x0, vec *x1, cvec *w,
                        real *y0, real *y1, ptrdiff_t ys, const int odd)
{
  const ptrdiff_t M = s->M;
  const int mode = odd ? DTT_SIN1 : DTT_COS1;
  const real *t = (const real *)s->tw;
  cvec *z = w, *Z = w + M;
  vec a, b;

  if (!odd) {
    x0[M] = vload(f0 + M * fs);
    x1[M] = vload(f1 + M * fs);
  }
  for (ptrdiff_t k = 0; 2 * k < M; k++) {
    cvec c, d, P, Q;

    dtt3load(f0, fs, M, k, &a, &b, mode);
    c.r = dtt3in(x0, M, k, a, b, mode);
    dtt3load(f1, fs, M, k, &a, &b, mode);
    c.i = dtt3in(x1, M, k, a, b, mode);
    if (!k) {
      z[0] = c;
      continue;
    }
    dtt3load(f0, fs, M, M - k, &a, &b, mode);
    d.r = dtt3in(x0, M, M - k, a, b, mode);
    dtt3load(f1, fs, M, M - k, &a, &b, mode);
    d.i = dtt3in(x1, M, M - k, a, b, mode);
    P = cadd(cscale(c, t[2 * k]), cscale(d, t[2 * k + 1]));
    Q = csub(cscale(c, t[2 * k + 1]), cscale(d, t[2 * k]));
    z[k] = csubi(P, Q);
    z[M - k] = caddi(P, Q);
  }
  BCRN(FftRun)(s->fft, z, 1, Z, w + 2 * M);
  for (ptrdiff_t k = 0; k < M; k++) {
    fft3put(y0, ys, M, k, Z[k].r, odd, 2 * k >= M);
    fft3put(y1, ys, M, k, Z[k].i, odd, 2 * k >= M);
  }
}

/* type I of odd length L, one line: its even and its odd outputs are both sums over the period L of
   a sequence of the same symmetry */
BCR_INLINE void dtt1odd(BCRSym v, const real *f, ptrdiff_t fs, cvec *w, real *y, ptrdiff_t ys, const int odd)
{
  const ptrdiff_t L = v->n;
  cvec *z = w, *Z = w + (L + 1) / 2;
  const real h = (real)0.5;

  if (v->a) {
    const BCRN(SymEnds) e = {.f = odd ? f - fs : f, .y = y, .fs = fs, .ys = ys, .L = L};

    (odd ? BCRN(SymPairSin1) : BCRN(SymPairCos1))(v, &e, w);
    return;
  }
  if (!odd) z[0] = (cvec){vload(f) + vload(f + L * fs), vload(f) - vload(f + L * fs)};
  for (ptrdiff_t p = 1; 2 * p < L; p++) {
    const vec a = vload(f + (odd ? p - 1 : p) * fs), b = vload(f + (odd ? L - p - 1 : L - p) * fs);

    if (odd) z[p] = (cvec){(a - b) * h, (a + b) * (p % 2 ? -h : h)};
    else z[p] = (cvec){(a + b) * h, (a - b) * (p % 2 ? -h : h)};
  }
  BCRN(SymRun)(v, odd, z, Z, Z + (L + 1) / 2);
  if (!odd) {
    vstore(y, Z[0].r);
    vstore(y + L * ys, Z[0].i);
  }
  for (ptrdiff_t q = 1; 2 * q < L; q++) { /* sines: y is one step before the first output */
    if (odd) {
      vstore(y + 2 * q * ys, vset1(0) - Z[q].i);
      vstore(y + (L - 2 * q) * ys, vset1(0) - Z[q].r);
    } else {
      vstore(y + 2 * q * ys, Z[q].r);
      vstore(y + (L - 2 * q) * ys, Z[q].i);
    }
  }
}

/* type I of length 8; sines: y is one step before the first output */
BCR_INLINE void dtt1eight(const real *f, ptrdiff_t fs, real *y, ptrdiff_t ys, const int odd)
{
  vec x[9], c[9];

  _Pragma("GCC unroll 9") for (int p = odd; p < 9 - odd; p++) x[p] = vload(f + (p - odd) * fs);
  if (odd) {
    sine7(x + 1);
    _Pragma("GCC unroll 9") for (int p = 1; p < 8; p++) vstore(y + p * ys, x[p]);
  } else {
    cosine9(x, c);
    _Pragma("GCC unroll 9") for (int p = 0; p < 9; p++) vstore(y + p * ys, c[p]);
  }
}

/* begun: dtt3rows() has done the first step. Type I, nl lines fo (uo) apart from f to u; x: n
   vectors for each line; u may be f: it is written after all of f is read */
static void BCRN(DttOne)(BCRDtt d, int nl, int begun, const real *f, ptrdiff_t fs, ptrdiff_t fo, real *u, ptrdiff_t us,
                         ptrdiff_t uo, vec *x, cvec *w)
{
  const int n = d->n;
  ptrdiff_t ys = 1;

  for (int l = 0; l < d->nsplit; l++, ys *= 2) {
    const BCRDttSplit *s = &d->split[l];
    real *y = u + (d->odd ? ys - 1 : ys) * us;
    const ptrdiff_t step = 2 * ys * us;

    for (int k = 0; k < nl && s->M % 2 == 0; k++) {
      if (d->odd) {
        if (l || !begun) BCRN(Dtt3PreSin1)(s, f + k * fo, fs, x + (ptrdiff_t)k * n, w);
        BCRN(Fft3Sin)(s->fft, w, w + s->M / 2, w + s->M, y + k * uo, step);
      } else {
        if (l || !begun) BCRN(Dtt3PreCos1)(s, f + k * fo, fs, x + (ptrdiff_t)k * n, w);
        BCRN(Fft3Cos)(s->fft, w, w + s->M / 2, w + s->M, y + k * uo, step);
      }
    }
    if (s->M % 2) {
      if (d->odd) dtt3odd(s, f, f + fo, fs, x, x + n, w, y, y + uo, step, 1);
      else dtt3odd(s, f, f + fo, fs, x, x + n, w, y, y + uo, step, 0);
    }
    f = (const real *)x; /* a shorter type I is left there */
    fs = VL;
    fo = (ptrdiff_t)n * VL;
  }
  us *= ys;
  if (d->odd) u -= us / ys; /* where the output 0 would be */
  for (int k = 0; k < nl; k++, f += fo, u += uo) {
    if (d->base == 8) {
      if (d->odd) dtt1eight(f, fs, u, us, 1);
      else dtt1eight(f, fs, u, us, 0);
    } else if (d->sine) {
      BCRN(DttSine)(d, f, fs, u + us, us, VL, &(const BCRN(DttAhead)){NULL, NULL}, (vec *)w);
    } else if (d->odd && d->base == 4) {
      const vec a = vload(f), b = vload(f + fs), c = vload(f + 2 * fs), h = (a + c) * (real)0.70710678118654752440;

      vstore(u + us, h + b);
      vstore(u + 2 * us, a - c);
      vstore(u + 3 * us, h - b);
    } else if (d->base > 2) {
      if (d->odd) dtt1odd(d->sym, f, fs, w, u, us, 1);
      else dtt1odd(d->sym, f, fs, w, u, us, 0);
    } else if (d->odd) {
      if (d->base == 2) vstore(u + us, vload(f));
    } else if (d->base == 1) {
      const vec a = vload(f), b = vload(f + fs);

      vstore(u, a + b);
      vstore(u + us, a - b);
    } else {
      const vec a = vload(f), b = vload(f + fs), c = vload(f + 2 * fs);

      vstore(u + us, a - c);
      vstore(u, a + c + b);
      vstore(u + 2 * us, a + c - b);
    }
  }
}

/* type II of even length M, one line: the transpose of type III; y may be f */
BCR_INLINE void dtt2(const BCRDttSplit *s, const real *f, ptrdiff_t fs, real *y, ptrdiff_t ys, cvec *w, const int odd)
{
  const ptrdiff_t M = s->M, H = M / 2;
  const real h = (real)0.70710678118654752440, *t = (const real *)s->tw;
  cvec *z = w, *W = w + H;

  for (ptrdiff_t k = 0; k < H; k++) {
    const vec a = vload(f + (2 * k < H ? 4 * k : 2 * M - 1 - 4 * k) * fs),
              b = vload(f + (2 * k + 1 < H ? 4 * k + 2 : 2 * M - 3 - 4 * k) * fs);

    z[k] = (cvec){a, b};
    if (odd && 2 * k >= H) z[k].r = vset1(0) - a;
    if (odd && 2 * k + 1 >= H) z[k].i = vset1(0) - b;
  }
  BCRN(FftRun)(s->fft, z, 1, W, w + M);
#define DTT2_PUT(q, v) vstore(y + (odd ? M - 1 - (q) : (q)) * ys, v)
  DTT2_PUT(0, W[0].r + W[0].i);
  DTT2_PUT(H, (W[0].r - W[0].i) * h);
  for (ptrdiff_t k = 1; 2 * k < H; k++, t += 4) {
    const cvec a = W[k], b = W[H - k];
    const cvec A = cmul((cvec){a.r + b.r, a.i - b.i}, t[0], -t[1]), B = cmul((cvec){a.i + b.i, b.r - a.r}, t[2], -t[3]);
    const cvec p = cadd(A, B), q = csub(A, B);

    DTT2_PUT(k, p.r);
    DTT2_PUT(M - k, vset1(0) - p.i);
    DTT2_PUT(H - k, (q.r - q.i) * h);
    DTT2_PUT(H + k, (q.r + q.i) * h);
  }
  if (H % 2 == 0) {
    const cvec p =
      cmul((cvec){W[H / 2].r, vset1(0) - W[H / 2].i}, (real)0.92387953251128675613, (real)-0.38268343236508977173);

    DTT2_PUT(H / 2, p.r);
    DTT2_PUT(M - H / 2, vset1(0) - p.i);
  }
#undef DTT2_PUT
}
static __attribute__((noinline)) void BCRN(Dtt2Sin)(const BCRDttSplit *s, const real *f, ptrdiff_t fs, real *y,
                                                    ptrdiff_t ys, cvec *w)
{
  dtt2(s, f, fs, y, ys, w, 1);
}
static __attribute__((noinline)) void BCRN(Dtt2Cos)(const BCRDttSplit *s, const real *f, ptrdiff_t fs, real *y,
                                                    ptrdiff_t ys, cvec *w)
{
  dtt2(s, f, fs, y, ys, w, 0);
}

/* type IV of even length: (x_{2k} + i x_{n-1-2k}) twisted, FFT of length n/2, twisted; sines: the
   reversed line, odd outputs with a minus */
BCR_INLINE void dtt4(BCRDtt d, const real *f, ptrdiff_t fs, real *y, ptrdiff_t ys, cvec *w, const int odd)
{
  const ptrdiff_t n = d->n, H = n / 2;
  const real *t = (const real *)d->in;
  cvec *z = w, *W = w + H;

  for (ptrdiff_t k = 0; k < H; k++) {
    const vec a = vload(f + 2 * k * fs), b = vload(f + (n - 1 - 2 * k) * fs);

    z[k] = cmul(odd ? (cvec){b, a} : (cvec){a, b}, t[2 * k], t[2 * k + 1]);
  }
  BCRN(FftRun)(d->fft, z, 1, W, w + n);
  for (ptrdiff_t k = 0; k < H; k++) {
    const cvec c = cmul(W[k], t[2 * k], t[2 * k + 1]);

    vstore(y + 2 * k * ys, c.r);
    if (odd) vstore(y + (n - 1 - 2 * k) * ys, c.i);
    else vstore(y + (n - 1 - 2 * k) * ys, vset1(0) - c.i);
  }
}
static __attribute__((noinline)) void BCRN(Dtt4Sin)(BCRDtt d, const real *f, ptrdiff_t fs, real *y, ptrdiff_t ys,
                                                    cvec *w)
{
  dtt4(d, f, fs, y, ys, w, 1);
}
static __attribute__((noinline)) void BCRN(Dtt4Cos)(BCRDtt d, const real *f, ptrdiff_t fs, real *y, ptrdiff_t ys,
                                                    cvec *w)
{
  dtt4(d, f, fs, y, ys, w, 0);
}

/*
  Periodic of even length n = 2H, one line: modes 1, c_1, s_1, ... The sequence z_m = x_{2m} + i
  x_{2m+1} has the DFT Z, and with E = (Z_k + conj Z_{H-k})/2, i O = (Z_k - conj Z_{H-k})/2 that of
  x is X_k = E + e^{-2 pi i k/n} O = c_k - i s_k, X_{H-k} = conj(E - e^{-2 pi i k/n} O).
*/
static __attribute__((noinline)) void BCRN(DttRealAnalysis)(BCRDtt d, const real *f, ptrdiff_t fs, real *y,
                                                            ptrdiff_t ys, cvec *w)
{
  const ptrdiff_t n = d->n, H = n / 2;
  const real *t = (const real *)d->in, h = (real)0.5;
  cvec *z = w, *Z = w + H;

  for (ptrdiff_t m = 0; m < H; m++) z[m] = (cvec){vload(f + 2 * m * fs), vload(f + (2 * m + 1) * fs)};
  BCRN(FftRun)(d->fft, z, 1, Z, w + n);
  vstore(y, Z[0].r + Z[0].i);
  vstore(y + (n - 1) * ys, Z[0].r - Z[0].i);
  for (ptrdiff_t k = 1; 2 * k < H; k++) {
    const cvec a = Z[k], b = Z[H - k], E = {(a.r + b.r) * h, (a.i - b.i) * h},
               R = cmul((cvec){a.i + b.i, b.r - a.r}, t[2 * k], -t[2 * k + 1]);

    vstore(y + (2 * k - 1) * ys, E.r + R.r);
    vstore(y + 2 * k * ys, vset1(0) - E.i - R.i);
    vstore(y + (n - 2 * k - 1) * ys, E.r - R.r);
    vstore(y + (n - 2 * k) * ys, E.i - R.i);
  }
  if (H % 2 == 0) {
    vstore(y + (H - 1) * ys, Z[H / 2].r);
    vstore(y + H * ys, Z[H / 2].i);
  }
}

/* x_i = Re sum V_k e^{2 pi i ik/n}, V_k = c_k - i s_k: z as above is the inverse DFT of P + i e^{2 pi i k/n} Q, P, Q =
   (V_k +- conj V_{H-k})/2, here as a forward one with real and imaginary part swapped */
static __attribute__((noinline)) void BCRN(DttRealSynthesis)(BCRDtt d, const real *f, ptrdiff_t fs, real *y,
                                                             ptrdiff_t ys, cvec *w)
{
  const ptrdiff_t n = d->n, H = n / 2;
  const real *t = (const real *)d->in, h = (real)0.5;
  cvec *z = w, *Z = w + H;
  const vec first = vload(f), last = vload(f + (n - 1) * fs);

  z[0] = (cvec){first - last, first + last};
  for (ptrdiff_t k = 1; 2 * k < H; k++) {
    const cvec V = {vload(f + (2 * k - 1) * fs), vload(f + 2 * k * fs)},
               U = {vload(f + (n - 2 * k - 1) * fs), vload(f + (n - 2 * k) * fs)};
    const cvec P = {(V.r + U.r) * h, (U.i - V.i) * h},
               R = cmul((cvec){V.r - U.r, vset1(0) - V.i - U.i}, t[2 * k], t[2 * k + 1]);

    z[k] = (cvec){P.i + R.r, P.r - R.i};
    z[H - k] = (cvec){R.r - P.i, P.r + R.i};
  }
  if (H % 2 == 0) z[H / 2] = (cvec){vload(f + H * fs), vload(f + (H - 1) * fs)};
  BCRN(FftRun)(d->fft, z, 1, Z, w + n);
  for (ptrdiff_t m = 0; m < H; m++) {
    vstore(y + 2 * m * ys, Z[m].i);
    vstore(y + (2 * m + 1) * ys, Z[m].r);
  }
}

/* One group of VL lines straight from f to u (which may be f), or d->lines of them from and to x, n
   vectors each (complex vectors for SYM and PAIR). x: d->lines n vectors */
static void BCRN(DttLines)(BCRDtt d, int direction, const real *f, ptrdiff_t fs, real *u, ptrdiff_t us, vec *x, cvec *w)
{
  const BCRDttSplit *s = &d->split[0];

  switch (d->kind) {
  case BCR_DTT_SCALE:
    vstore(u, vload(f) * ((const real *)d->in)[0]);
    break;
  case BCR_DTT_ONE:
    BCRN(DttOne)(d, d->lines, 0, f, fs, (ptrdiff_t)d->n * VL, u, us, (ptrdiff_t)d->n * VL, x, w);
    break;
  case BCR_DTT_TWO:
    if (direction == d->flip) {
      if (d->odd) BCRN(Dtt2Sin)(s, f, fs, u, us, w);
      else BCRN(Dtt2Cos)(s, f, fs, u, us, w);
    } else if (d->odd) {
      BCRN(Dtt3PreSin3)(s, f, fs, w);
      BCRN(Fft3Sin)(s->fft, w, w + s->M / 2, w + s->M, u, us);
    } else {
      BCRN(Dtt3PreCos3)(s, f, fs, w);
      BCRN(Fft3Cos)(s->fft, w, w + s->M / 2, w + s->M, u, us);
    }
    break;
  case BCR_DTT_FOUR:
    if (d->odd) BCRN(Dtt4Sin)(d, f, fs, u, us, w);
    else BCRN(Dtt4Cos)(d, f, fs, u, us, w);
    break;
  case BCR_DTT_REAL:
    if (d->base) BCRN(DttReal)(d, direction, f, fs, u, us, (vec *)w);
    else (direction ? BCRN(DttRealSynthesis) : BCRN(DttRealAnalysis))(d, f, fs, u, us, w);
    break;
  case BCR_DTT_SYM:
    BCRN(DttSym)(d, direction, (const cvec *)f, (cvec *)u, w);
    break;
  case BCR_DTT_PAIR:
    BCRN(DttPair)(d, direction != d->flip, (const cvec *)f, (cvec *)u, w);
    break;
  }
}

/* Lines l .. l + m - 1 into the second level cache while the ones before are worked on: hardware
   does not foresee long strides */
BCR_INLINE void dttprefetch(int n, const int cols, const int io, const void *f, ptrdiff_t l, ptrdiff_t m, ptrdiff_t ld)
{
  const ptrdiff_t size = io ? (ptrdiff_t)sizeof(double) : (ptrdiff_t)sizeof(real);
  const char *p = (const char *)f + l * (cols ? 1 : ld) * size;

  if (cols) {
    if (ld < 4 * VL) return;
    for (int i = 0; i < n; i++)
      for (ptrdiff_t k = 0; k < m * size; k += 64) __builtin_prefetch(p + i * ld * size + k, 1, 2);
  } else {
    for (ptrdiff_t i = 0; i < m; i++)
      for (ptrdiff_t k = 0; k < n * size; k += 64) __builtin_prefetch(p + i * ld * size + k, 1, 2);
  }
}

static __attribute__((noinline)) void BCRN(Dtt3RowsSin)(BCRDtt d, int direction, int io, const void *f, ptrdiff_t l,
                                                        int nv, ptrdiff_t ld, vec *x, cvec *z)
{
#if defined(BCR_REAL_SINGLE)
  if (io) {
    dtt3rows(d, direction, f, l, nv, ld, x, z, DTT_SIN1, 1);
    return;
  }
#else
  (void)io;
#endif
  dtt3rows(d, direction, f, l, nv, ld, x, z, DTT_SIN1, 0);
}

static __attribute__((noinline)) void BCRN(Dtt3RowsCos)(BCRDtt d, int direction, int io, const void *f, ptrdiff_t l,
                                                        int nv, ptrdiff_t ld, vec *x, cvec *z)
{
#if defined(BCR_REAL_SINGLE)
  if (io) {
    dtt3rows(d, direction, f, l, nv, ld, x, z, DTT_COS1, 1);
    return;
  }
#else
  (void)io;
#endif
  dtt3rows(d, direction, f, l, nv, ld, x, z, DTT_COS1, 0);
}

/* cols, io and xs are constants of the callers; xs = 2: two groups as complex vectors */
BCR_INLINE void dttruntype(BCRDtt d, int direction, const int cols, const int io, const ptrdiff_t xs, ptrdiff_t count,
                           const void *f, ptrdiff_t ldf, void *u, ptrdiff_t ldu, void *work)
{
  const int n = d->n, nl = d->lines, direct = cols && !io && nl == 1 && (direction || !(d->half[0] || d->half[1]));
  const int blocks = !cols && d->kind == BCR_DTT_ONE && nl == 1 && d->split[0].M >= 4 * VL;
  const ptrdiff_t x1 = xs == 2 ? 1 : n; /* from one group to the next */
  vec *y = (vec *)work, *x = y + (ptrdiff_t)nl * n;
  cvec *w = (cvec *)(x + (ptrdiff_t)nl * n);

  for (ptrdiff_t l = 0; l < count; l += nl * VL) {
    if (count > l + nl * VL) dttprefetch(n, cols, io, f, l + nl * VL, PetscMin(count - l - nl * VL, nl * VL), ldf);
    if (direct && l + VL <= count) {
      BCRN(DttLines)(d, direction, (const real *)f + l, ldf, (real *)u + l, ldu, x, w);
      continue;
    }
    if (direct && d->sine && d->nsplit == 0) {
      BCRN(DttSine)
      (d, (const real *)f + l, ldf, (real *)u + l, ldu, (int)(count - l), &(const BCRN(DttAhead)){NULL, NULL},
       (vec *)w);
      continue;
    }
    if (blocks) {
      const int nv = (int)PetscMin(count - l, VL);

      if (d->odd) BCRN(Dtt3RowsSin)(d, direction, io, f, l, nv, ldf, x, w);
      else BCRN(Dtt3RowsCos)(d, direction, io, f, l, nv, ldf, x, w);
      BCRN(DttOne)(d, 1, 1, NULL, 0, 0, (real *)y, VL, 0, x, w);
      dttwriterows(n, u, l, nv, ldu, y, xs, io);
      continue;
    }
    for (int k = 0; k < nl; k++) {
      const ptrdiff_t lk = l + k * VL < count ? l + k * VL : l; /* a second group that is not there: the first again */
      const int nv = (int)PetscMin(count - lk, VL);
      vec *yk = y + k * x1;

      if (cols) dttreadcols(n, f, lk, nv, ldf, yk, xs, io);
      else dttreadrows(n, f, lk, nv, ldf, yk, xs, io);
      if (direction) continue;
      if (d->half[0]) yk[0] *= (real)0.5;
      if (d->half[1]) yk[(n - 1) * xs] *= (real)0.5;
    }
    BCRN(DttLines)(d, direction, (const real *)y, VL, (real *)y, VL, x, w);
    for (int k = 0; k < nl && l + k * VL < count; k++) {
      const ptrdiff_t lk = l + k * VL;
      const int nv = (int)PetscMin(count - lk, VL);

      if (cols) dttwritecols(n, u, lk, nv, ldu, y + k * x1, xs, io);
      else dttwriterows(n, u, lk, nv, ldu, y + k * x1, xs, io);
    }
  }
}

BCR_INLINE void dttrun(BCRDtt d, int direction, const int cols, const int io, ptrdiff_t count, const void *f,
                       ptrdiff_t ldf, void *u, ptrdiff_t ldu, void *work)
{
  if (d->kind == BCR_DTT_SYM || d->kind == BCR_DTT_PAIR)
    dttruntype(d, direction, cols, io, 2, count, f, ldf, u, ldu, work);
  else dttruntype(d, direction, cols, io, 1, count, f, ldf, u, ldu, work);
}

static void BCRN(BCRDttRows)(BCRDtt d, int direction, int io, ptrdiff_t count, const void *f, ptrdiff_t ldf, void *u,
                             ptrdiff_t ldu, void *work)
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

static void BCRN(BCRDttCols)(BCRDtt d, int direction, int io, ptrdiff_t count, const void *f, ptrdiff_t ldf, void *u,
                             ptrdiff_t ldu, void *work)
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

static void BCRN(BCRDttLayer)(BCRDtt d, int direction, int io, ptrdiff_t count, const void *f, ptrdiff_t ldf, void *u,
                              ptrdiff_t ldu, const BCRDttAhead *ahead, void *work)
{
  const ptrdiff_t step = (ptrdiff_t)d->lines * VL, size = io ? (ptrdiff_t)sizeof(double) : (ptrdiff_t)sizeof(real);
  BCRN(DttAhead) a = {(const char *)ahead->next, NULL};

  for (ptrdiff_t l = 0; l < count; l += step, a.next = a.end) {
    const ptrdiff_t some = PetscMin(step, count - l);
    const char *fl = (const char *)f + l * size;
    char *ul = (char *)u + l * size;

    a.end = (const char *)ahead->next + ahead->bytes * (l + some) / count;
    if (d->sine && d->nsplit == 0 && !io)
      BCRN(DttSine)(d, (const real *)fl, ldf, (real *)ul, ldu, (int)some, &a, (vec *)work);
    else {
      (void)dttahead(&a, a.next, ahead->bytes);
      BCRN(BCRDttCols)(d, direction, io, some, fl, ldf, ul, ldu, work);
    }
  }
}
