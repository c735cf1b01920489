/*
  Periodic transforms of length n = 8 M = 64, 128 or 256 (BCR_DTT_REAL in dttimpl.h) in two steps that stay in registers,
  by the small transforms of dttsine_kernels.h. With the interleaved sequences x_{8 m + r}, r = 0..7:

    analysis   C_r(k) + i S_r(k) = sum_m x_{8 m + r} e^{2 pi i m k/M}, k = 0..M/2
               c_K + i s_K = sum_r e^{2 pi i r q/8} (e^{2 pi i r k/n} (C_r(k) + i S_r(k))), K = k + M q; s_{n-K} = -s_K
    synthesis  the transposes of both, the second first
*/

/* y_j = sum_p x_p cos(j p pi/4), p, j = 0..4 */
BCR_INLINE void cosine5(const vec *x, vec *y)
{
  const vec a = x[0] + x[4], b = x[0] - x[4], c = x[1] + x[3], d = (x[1] - x[3]) * (real)0.70710678118654752440,
            e = a + x[2];

  y[0] = e + c;
  y[4] = e - c;
  y[2] = a - x[2];
  y[1] = b + d;
  y[3] = b - d;
}

/* y_j = sum_p x_p cos(j (2p+1) pi/8), p, j = 0..3 */
BCR_INLINE void cosine2four(const vec *x, vec *y)
{
  const real s1 = (real)0.38268343236508977173, s2 = (real)0.70710678118654752440, s3 = (real)0.92387953251128675613;
  const vec a = x[0] + x[3], b = x[1] + x[2], d = x[0] - x[3], e = x[1] - x[2];

  y[0] = a + b;
  y[2] = (a - b) * s2;
  y[1] = d * s3 + e * s1;
  y[3] = d * s1 - e * s3;
}

/* sums of cosines of length N of x[0..N], of sines of o[0..N-2] in place; N = 4, 8 or 16 */
BCR_INLINE void dttrealsums(const int N, const vec *x, vec *y, vec *o)
{
  if (N == 4) {
    cosine5(x, y);
    sine3(o);
  } else if (N == 8) {
    cosine9(x, y);
    sine7(o);
  } else {
    cosine17(x, y);
    sine15(o);
  }
}

enum {
  DTT_REAL_STEP = 17 /* of T, which has sums of cosines and of sines of 8 sequences for each k */
};

/* T: (M/2 + 1) DTT_REAL_STEP vectors; tw: for k = 1..M/2-1, r = 1..7: cos, sin of 2 pi rk/n */
BCR_INLINE void dttrealanalysis(const int M, const real *tw, const real *f, ptrdiff_t fs, real *u, ptrdiff_t us, vec *T)
{
  const int N = M / 2;
  const vec *t = T;

  for (int r = 0; r < 8; r++) {
    vec e[17], o[16], y[17];

    e[0] = vload(f + r * fs);
    e[N] = vload(f + (8 * N + r) * fs);
#pragma GCC unroll 16
    for (int m = 1; m < N; m++) {
      const vec p = vload(f + (8 * m + r) * fs), q = vload(f + (8 * (M - m) + r) * fs);

      e[m] = p + q;
      o[m - 1] = p - q;
    }
    dttrealsums(N, e, y, o);
#pragma GCC unroll 17
    for (int k = 0; k <= N; k++) T[k * DTT_REAL_STEP + 2 * r] = y[k];
#pragma GCC unroll 16
    for (int k = 1; k < N; k++) T[k * DTT_REAL_STEP + 2 * r + 1] = o[k - 1];
  }
  { /* k = 0 */
    const vec e[5] = {t[0], t[2] + t[14], t[4] + t[12], t[6] + t[10], t[8]};
    vec o[3] = {t[2] - t[14], t[4] - t[12], t[6] - t[10]}, y[5];

    cosine5(e, y);
    sine3(o);
    vstore(u, y[0]);
    vstore(u + (8 * M - 1) * us, y[4]);
#pragma GCC unroll 3
    for (int q = 1; q < 4; q++) {
      vstore(u + (2 * M * q - 1) * us, y[q]);
      vstore(u + 2 * M * q * us, o[q - 1]);
    }
  }
  for (int k = 1; k < N; k++, tw += 14) {
    cvec z[8]; /* real and imaginary part swapped, for the other sign in the exponent */

    t += DTT_REAL_STEP;
    z[0] = (cvec){t[1], t[0]};
#pragma GCC unroll 8
    for (int r = 1; r < 8; r++) z[r] = cswap(cmul((cvec){t[2 * r], t[2 * r + 1]}, tw[2 * r - 2], tw[2 * r - 1]));
    fft8(z);
#pragma GCC unroll 4
    for (int q = 0; q < 4; q++) {
      real *y = u + 2 * (k + M * q) * us;

      vstore(y - us, z[q].i);
      vstore(y, z[q].r);
      y = u + 2 * (M - k + M * q) * us;
      vstore(y - us, z[7 - q].i);
      vstore(y, vset1(0) - z[7 - q].r);
    }
  }
  { /* k = M/2 */
    vec c[4], s[4];

    t += DTT_REAL_STEP;
    cosine3four((const vec[4]){t[0], t[2] - t[14], t[4] - t[12], t[6] - t[10]}, c);
    sine3four((const vec[4]){t[2] + t[14], t[4] + t[12], t[6] + t[10], t[8]}, s);
#pragma GCC unroll 4
    for (int q = 0; q < 4; q++) {
      vstore(u + (2 * (N + M * q) - 1) * us, c[q]);
      vstore(u + 2 * (N + M * q) * us, s[q]);
    }
  }
}

BCR_INLINE void dttrealsynthesis(const int M, const real *tw, const real *f, ptrdiff_t fs, real *u, ptrdiff_t us,
                                 vec *T)
{
  const int N = M / 2;
  vec *t = T;

  { /* k = 0 */
    vec e[5], o[3], y[5];

    e[0] = vload(f);
    e[4] = vload(f + (8 * M - 1) * fs);
#pragma GCC unroll 3
    for (int q = 1; q < 4; q++) {
      e[q] = vload(f + (2 * M * q - 1) * fs);
      o[q - 1] = vload(f + 2 * M * q * fs);
    }
    cosine5(e, y);
    sine3(o);
    t[0] = y[0];
    t[8] = y[4];
#pragma GCC unroll 3
    for (int r = 1; r < 4; r++) {
      t[2 * r] = y[r] + o[r - 1];
      t[16 - 2 * r] = y[r] - o[r - 1];
    }
  }
  for (int k = 1; k < N; k++, tw += 14) {
    cvec z[8];

    t += DTT_REAL_STEP;
#pragma GCC unroll 4
    for (int q = 0; q < 4; q++) {
      const real *x = f + 2 * (k + M * q) * fs;

      z[q] = (cvec){vload(x - fs), vload(x)};
      x = f + 2 * (M - k + M * q) * fs;
      z[7 - q] = (cvec){vload(x - fs), vset1(0) - vload(x)};
    }
    fft8(z);
    t[0] = z[0].r;
    t[1] = z[0].i;
#pragma GCC unroll 8
    for (int r = 1; r < 8; r++) {
      const cvec v = cmul(z[r], tw[2 * r - 2], -tw[2 * r - 1]);

      t[2 * r] = v.r;
      t[2 * r + 1] = v.i;
    }
  }
  { /* k = M/2 */
    vec c[4], s[4], g[4], h[4];

    t += DTT_REAL_STEP;
#pragma GCC unroll 4
    for (int q = 0; q < 4; q++) {
      c[q] = vload(f + (2 * (N + M * q) - 1) * fs);
      s[q] = vload(f + 2 * (N + M * q) * fs);
    }
    cosine2four(c, g);
    sine2four(s, h);
    t[0] = g[0];
    t[8] = h[3];
#pragma GCC unroll 3
    for (int r = 1; r < 4; r++) {
      t[2 * r] = h[r - 1] + g[r];
      t[16 - 2 * r] = h[r - 1] - g[r];
    }
  }
  for (int r = 0; r < 8; r++) {
    vec e[17], o[16], y[17];

#pragma GCC unroll 17
    for (int k = 0; k <= N; k++) e[k] = T[k * DTT_REAL_STEP + 2 * r];
#pragma GCC unroll 16
    for (int k = 1; k < N; k++) o[k - 1] = T[k * DTT_REAL_STEP + 2 * r + 1];
    dttrealsums(N, e, y, o);
    vstore(u + r * us, y[0]);
    vstore(u + (8 * N + r) * us, y[N]);
#pragma GCC unroll 16
    for (int m = 1; m < N; m++) {
      vstore(u + (8 * m + r) * us, y[m] + o[m - 1]);
      vstore(u + (8 * (M - m) + r) * us, y[m] - o[m - 1]);
    }
  }
}

#define DTT_REAL(n) \
  static __attribute__((noinline)) void BCRN(DttRealAnalysis##n)(const real *tw, const real *f, ptrdiff_t fs, real *u, \
                                                                 ptrdiff_t us, vec *T) \
  { \
    dttrealanalysis(n / 8, tw, f, fs, u, us, T); \
  } \
  static __attribute__((noinline)) void BCRN(DttRealSynthesis##n)(const real *tw, const real *f, ptrdiff_t fs, \
                                                                  real *u, ptrdiff_t us, vec *T) \
  { \
    dttrealsynthesis(n / 8, tw, f, fs, u, us, T); \
  }
DTT_REAL(64)
DTT_REAL(128)
DTT_REAL(256)
#undef DTT_REAL

/* d->base is 64, 128 or 256 */
static void BCRN(DttReal)(BCRDtt d, int direction, const real *f, ptrdiff_t fs, real *u, ptrdiff_t us, vec *T)
{
  const real *tw = (const real *)d->in;

  if (d->base == 64) (direction ? BCRN(DttRealSynthesis64) : BCRN(DttRealAnalysis64))(tw, f, fs, u, us, T);
  else if (d->base == 128) (direction ? BCRN(DttRealSynthesis128) : BCRN(DttRealAnalysis128))(tw, f, fs, u, us, T);
  else (direction ? BCRN(DttRealSynthesis256) : BCRN(DttRealAnalysis256))(tw, f, fs, u, us, T);
}
