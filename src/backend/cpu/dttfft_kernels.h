/* Complex FFT of vectors: the lanes are independent transforms. See BCRFft in dttimpl.h. */
#include "dttimpl.h"

typedef struct {
  vec r, i;
} cvec;

BCR_INLINE cvec cadd(cvec a, cvec b)
{
  return (cvec){a.r + b.r, a.i + b.i};
}
BCR_INLINE cvec csub(cvec a, cvec b)
{
  return (cvec){a.r - b.r, a.i - b.i};
}
BCR_INLINE cvec cscale(cvec a, real s)
{
  return (cvec){a.r * s, a.i * s};
}
BCR_INLINE cvec cmul(cvec a, real c, real s)
{
  return (cvec){a.r * c - a.i * s, a.r * s + a.i * c};
} /* a (c + i s) */
BCR_INLINE cvec caddi(cvec a, cvec b)
{
  return (cvec){a.r - b.i, a.i + b.r};
} /* a + i b */
BCR_INLINE cvec csubi(cvec a, cvec b)
{
  return (cvec){a.r + b.i, a.i - b.r};
} /* a - i b */
BCR_INLINE cvec cswap(cvec a)
{
  return (cvec){a.i, a.r};
}

BCR_INLINE void fft2(cvec *z)
{
  const cvec a = z[0], b = z[1];

  z[0] = cadd(a, b);
  z[1] = csub(a, b);
}

BCR_INLINE void fft3(cvec *z)
{
  const cvec s = cadd(z[1], z[2]), d = cscale(csub(z[1], z[2]), (real)0.86602540378443864676),
             m = {z[0].r - s.r * (real)0.5, z[0].i - s.i * (real)0.5};

  z[0] = cadd(z[0], s);
  z[1] = csubi(m, d);
  z[2] = caddi(m, d);
}

BCR_INLINE void fft4(cvec *z)
{
  const cvec p = cadd(z[0], z[2]), q = csub(z[0], z[2]), r = cadd(z[1], z[3]), s = csub(z[1], z[3]);

  z[0] = cadd(p, r);
  z[1] = csubi(q, s);
  z[2] = csub(p, r);
  z[3] = caddi(q, s);
}

BCR_INLINE void fft5(cvec *z)
{
  const real c1 = (real)0.30901699437494742410, c2 = (real)-0.80901699437494742410, s1 = (real)0.95105651629515357212,
             s2 = (real)0.58778525229247312917;
  const cvec a = cadd(z[1], z[4]), b = cadd(z[2], z[3]), d = csub(z[1], z[4]), e = csub(z[2], z[3]);
  const cvec m1 = {z[0].r + a.r * c1 + b.r * c2, z[0].i + a.i * c1 + b.i * c2},
             m2 = {z[0].r + a.r * c2 + b.r * c1, z[0].i + a.i * c2 + b.i * c1};
  const cvec n1 = {d.r * s1 + e.r * s2, d.i * s1 + e.i * s2}, n2 = {d.r * s2 - e.r * s1, d.i * s2 - e.i * s1};

  z[0] = cadd(z[0], cadd(a, b));
  z[1] = csubi(m1, n1);
  z[2] = csubi(m2, n2);
  z[3] = caddi(m2, n2);
  z[4] = caddi(m1, n1);
}

BCR_INLINE void fft8(cvec *z)
{
  const real h = (real)0.70710678118654752440;
  cvec e[4] = {z[0], z[2], z[4], z[6]}, o[4] = {z[1], z[3], z[5], z[7]}, t;

  fft4(e);
  fft4(o);
  z[0] = cadd(e[0], o[0]);
  z[4] = csub(e[0], o[0]);
  t = (cvec){(o[1].r + o[1].i) * h, (o[1].i - o[1].r) * h};
  z[1] = cadd(e[1], t);
  z[5] = csub(e[1], t);
  z[2] = csubi(e[2], o[2]);
  z[6] = caddi(e[2], o[2]);
  t = (cvec){(o[3].i - o[3].r) * h, (o[3].r + o[3].i) * -h};
  z[3] = cadd(e[3], t);
  z[7] = csub(e[3], t);
}

/* odd prime p, in place: sums and differences of mirrored inputs, (p-1)/2 x (p-1)/2 products; p is
   a constant, all in registers or nearly */
BCR_INLINE void fftprime(const int p, const real *root, cvec *z)
{
  const int h = (p - 1) / 2;
  cvec s[8], d[8], sum = z[0];

  _Pragma("GCC unroll 8") for (int j = 1; j <= h; j++)
  {
    s[j] = cadd(z[j], z[p - j]);
    d[j] = csub(z[j], z[p - j]);
    sum = cadd(sum, s[j]);
  }
  _Pragma("GCC unroll 8") for (int k = 1; k <= h; k++)
  {
    cvec c = z[0], e = cscale(d[1], root[2 * k + 1]);

    c.r += s[1].r * root[2 * k];
    c.i += s[1].i * root[2 * k];
    _Pragma("GCC unroll 8") for (int j = 2; j <= h; j++)
    {
      const int q = j * k % p;

      c.r += s[j].r * root[2 * q];
      c.i += s[j].i * root[2 * q];
      e.r += d[j].r * root[2 * q + 1];
      e.i += d[j].i * root[2 * q + 1];
    }
    z[k] = csubi(c, e);
    z[p - k] = caddi(c, e);
  }
  z[0] = sum;
}

/* the same for any p, z (overwritten) to y, four outputs and their mirrors at a time */
static __attribute__((noinline)) void BCRN(FftPrime)(int p, const real *root, cvec *z, cvec *y)
{
  const int h = (p - 1) / 2;
  cvec sum = z[0];

  for (int j = 1; j <= h; j++) {
    const cvec a = z[j], b = z[p - j];

    z[j] = cadd(a, b);
    z[p - j] = csub(a, b);
    sum = cadd(sum, z[j]);
  }
  y[0] = sum;
  for (int k = 1; k <= h; k += 3) {
    const int k1 = PetscMin(k + 1, h), k2 = PetscMin(k + 2, h);
    cvec c0 = z[0], c1 = z[0], c2 = z[0], s0 = {vset1(0), vset1(0)}, s1 = s0, s2 = s0;

    for (int j = 1, q0 = 0, q1 = 0, q2 = 0; j <= h; j++) {
      const cvec a = z[j], b = z[p - j];

      q0 += k;
      if (q0 >= p) q0 -= p;
      q1 += k1;
      if (q1 >= p) q1 -= p;
      q2 += k2;
      if (q2 >= p) q2 -= p;
      c0.r += a.r * root[2 * q0];
      c0.i += a.i * root[2 * q0];
      s0.r += b.r * root[2 * q0 + 1];
      s0.i += b.i * root[2 * q0 + 1];
      c1.r += a.r * root[2 * q1];
      c1.i += a.i * root[2 * q1];
      s1.r += b.r * root[2 * q1 + 1];
      s1.i += b.i * root[2 * q1 + 1];
      c2.r += a.r * root[2 * q2];
      c2.i += a.i * root[2 * q2];
      s2.r += b.r * root[2 * q2 + 1];
      s2.i += b.i * root[2 * q2 + 1];
    }
    y[k] = csubi(c0, s0);
    y[p - k] = caddi(c0, s0);
    y[k1] = csubi(c1, s1);
    y[p - k1] = caddi(c1, s1);
    y[k2] = csubi(c2, s2);
    y[p - k2] = caddi(c2, s2);
  }
}

static void BCRN(FftRun)(BCRFft f, const cvec *x, ptrdiff_t xs, cvec *y, cvec *w);

/* Rader: over the powers of a generator the DFT of prime length is a cyclic convolution. z to y; w:
   two of its length and more */
static void BCRN(FftRader)(const BCRFftLevel *v, const cvec *z, cvec *y, cvec *w)
{
  const int p = v->radix, m = p - 1, S = v->conv->n;
  const real *b = (const real *)v->kernel;
  cvec *a = w, *A = w + S;

  for (int k = 0; k < m; k++) a[k] = z[v->perm[k]];
  for (int k = m; k < S; k++) a[k] = (cvec){vset1(0), vset1(0)};
  BCRN(FftRun)(v->conv, a, 1, A, w + 2 * (ptrdiff_t)S);
  y[0] = cadd(z[0], A[0]);
  for (int k = 0; k < S; k++) A[k] = cswap(cmul(A[k], b[2 * k], b[2 * k + 1]));
  A[0] = cadd(A[0], cswap(z[0]));
  BCRN(FftRun)(v->conv, A, 1, a, w + 2 * (ptrdiff_t)S);
  for (int k = 0; k < m; k++) y[v->perm[m + k]] = cswap(a[k]);
}

#ifndef BCR_FFT_2 /* root: of the level */
  #define BCR_FFT_2(z)  fft2(z)
  #define BCR_FFT_3(z)  fft3(z)
  #define BCR_FFT_4(z)  fft4(z)
  #define BCR_FFT_5(z)  fft5(z)
  #define BCR_FFT_8(z)  fft8(z)
  #define BCR_FFT_7(z)  fftprime(7, (const real *)v->root, z)
  #define BCR_FFT_11(z) fftprime(11, (const real *)v->root, z)
  #define BCR_FFT_13(z) fftprime(13, (const real *)v->root, z)
#endif

#define BCR_FFT_BUTTERFLY(R) \
  for (int k = 0; k < m; k++, t += 2 * (R - 1)) { \
    cvec z[R]; \
\
    z[0] = y[k]; \
    _Pragma("GCC unroll 16") for (int j = 1; j < R; j++) z[j] = \
      cmul(y[k + (ptrdiff_t)j * m], t[2 * j - 2], t[2 * j - 1]); \
    BCR_FFT_##R(z); \
    _Pragma("GCC unroll 16") for (int j = 0; j < R; j++) y[k + (ptrdiff_t)j * m] = z[j]; \
  }

#define BCR_FFT_LEAF(R) \
  { \
    cvec z[R]; \
\
    _Pragma("GCC unroll 16") for (int j = 0; j < R; j++) z[j] = x[j * xs]; \
    BCR_FFT_##R(z); \
    _Pragma("GCC unroll 16") for (int j = 0; j < R; j++) y[j] = z[j]; \
  }

static void BCRN(FftLevel)(BCRFft f, int l, const cvec *x, ptrdiff_t xs, cvec *y, cvec *w)
{
  const BCRFftLevel *v = &f->level[l];
  const int r = v->radix, m = v->m;
  const real *t = (const real *)v->tw;

  if (m == 1) {
    switch (r) {
    case 1:
      y[0] = x[0];
      break;
    case 2:
      BCR_FFT_LEAF(2) break;
    case 3:
      BCR_FFT_LEAF(3) break;
    case 4:
      BCR_FFT_LEAF(4) break;
    case 5:
      BCR_FFT_LEAF(5) break;
    case 8:
      BCR_FFT_LEAF(8) break;
    case 7:
      BCR_FFT_LEAF(7) break;
    case 11:
      BCR_FFT_LEAF(11) break;
    case 13:
      BCR_FFT_LEAF(13) break;
    default:
      for (int j = 0; j < r; j++) w[j] = x[j * xs];
      if (v->conv) BCRN(FftRader)(v, w, y, w + r);
      else BCRN(FftPrime)(r, (const real *)v->root, w, y);
    }
    return;
  }
  for (int j = 0; j < r; j++) BCRN(FftLevel)(f, l + 1, x + j * xs, r * xs, y + (ptrdiff_t)j * m, w);
  switch (r) {
  case 2:
    BCR_FFT_BUTTERFLY(2) break;
  case 3:
    BCR_FFT_BUTTERFLY(3) break;
  case 4:
    BCR_FFT_BUTTERFLY(4) break;
  case 5:
    BCR_FFT_BUTTERFLY(5) break;
  case 8:
    BCR_FFT_BUTTERFLY(8) break;
  case 7:
    BCR_FFT_BUTTERFLY(7) break;
  case 11:
    BCR_FFT_BUTTERFLY(11) break;
  case 13:
    BCR_FFT_BUTTERFLY(13) break;
  default:
    for (int k = 0; k < m; k++, t += 2 * (r - 1)) {
      w[0] = y[k];
      for (int j = 1; j < r; j++) w[j] = cmul(y[k + (ptrdiff_t)j * m], t[2 * j - 2], t[2 * j - 1]);
      if (v->conv) BCRN(FftRader)(v, w, w + r, w + 2 * r);
      else BCRN(FftPrime)(r, (const real *)v->root, w, w + r);
      for (int j = 0; j < r; j++) y[k + (ptrdiff_t)j * m] = w[r + j];
    }
  }
}

/* x (stride xs) to y (contiguous), not in place; w: f->scratch vectors */
static void BCRN(FftRun)(BCRFft f, const cvec *x, ptrdiff_t xs, cvec *y, cvec *w)
{
  BCRN(FftLevel)(f, 0, x, xs, y, w);
}

/*
  The last pass of a cosine or sine transform of type III of even length M = 2 m0 (dtt_kernels.h):
  the complex result n holds, with real and imaginary part swapped, the entries 2n and 2n + 1 of the
  reordered sequence v, v_j = C_{2j} in its first half and v_{M-1-j} = C_{2j+1} in its second; sine:
  odd entries change sign.
*/
BCR_INLINE void fft3put(real *y, ptrdiff_t ys, ptrdiff_t M, ptrdiff_t j, vec v, const int odd, const int second)
{
  if (second && odd) vstore(y + (2 * (M - 1 - j) + 1) * ys, vset1(0) - v);
  else if (second) vstore(y + (2 * (M - 1 - j) + 1) * ys, v);
  else vstore(y + 2 * j * ys, v);
}

#define BCR_FFT3_PASS(R) \
  for (int k = 0; k < m; k++, t += 2 * (R - 1)) { \
    cvec z[R]; \
\
    z[0] = m > 1 ? b[k] : x[0]; \
    if (m > 1) { \
      _Pragma("GCC unroll 8") for (int j = 1; j < R; j++) z[j] = \
        cmul(b[k + (ptrdiff_t)j * m], t[2 * j - 2], t[2 * j - 1]); \
    } else { \
      _Pragma("GCC unroll 8") for (int j = 1; j < R; j++) z[j] = x[j]; \
    } \
    fft##R(z); \
    _Pragma("GCC unroll 8") for (int j = 0; j < R; j++) \
    { \
      const ptrdiff_t q = 2 * (k + (ptrdiff_t)j * m); \
\
      fft3put(y, ys, M, q, z[j].i, odd, R % 2 ? q >= f->n : j >= R / 2); \
      fft3put(y, ys, M, q + 1, z[j].r, odd, R % 2 ? q + 1 >= f->n : j >= R / 2); \
    } \
  }

/* b: room for the complex result, w: f->scratch */
BCR_INLINE void fft3run(BCRFft f, const cvec *x, cvec *b, cvec *w, real *y, ptrdiff_t ys, const int odd)
{
  const BCRFftLevel *v = &f->level[0];
  const int r = v->radix, m = v->m;
  const ptrdiff_t M = 2 * (ptrdiff_t)f->n;
  const real *t = (const real *)v->tw;

  if (r == 2 || r == 4 || r == 8) {
    if (m > 1)
      for (int j = 0; j < r; j++) BCRN(FftLevel)(f, 1, x + j, r, b + (ptrdiff_t)j * m, w);
    if (r == 8) {
      BCR_FFT3_PASS(8)
    } else if (r == 4) {
      BCR_FFT3_PASS(4)
    } else {
      BCR_FFT3_PASS(2)
    }
  } else {
    BCRN(FftRun)(f, x, 1, b, w);
    for (int k = 0; k < f->n; k++) {
      fft3put(y, ys, M, 2 * (ptrdiff_t)k, b[k].i, odd, 2 * k >= f->n);
      fft3put(y, ys, M, 2 * (ptrdiff_t)k + 1, b[k].r, odd, 2 * k + 1 >= f->n);
    }
  }
}
static __attribute__((noinline)) void BCRN(Fft3Sin)(BCRFft f, const cvec *x, cvec *b, cvec *w, real *y, ptrdiff_t ys)
{
  fft3run(f, x, b, w, y, ys, 1);
}
static __attribute__((noinline)) void BCRN(Fft3Cos)(BCRFft f, const cvec *x, cvec *b, cvec *w, real *y, ptrdiff_t ys)
{
  fft3run(f, x, b, w, y, ys, 0);
}

/* z to Z, indices 0..(n-1)/2; odd: Z_k = -2i sum_{p>0} z_p sin, even: z_0 + 2 sum_{p>0} z_p cos of 2 pi pk/n */
static void BCRN(SymPrime)(BCRSym v, const int odd, const cvec *z, cvec *Z, cvec *w)
{
  const int n = v->n, h = (n - 1) / 2, *p = v->perm;
  const real *a = (const real *)v->in, *b = (const real *)v->kernel, *c = (const real *)v->out,
             *root = (const real *)v->root;
  const int S = root ? 0 : v->fft->n;
  cvec sum = odd ? (cvec){vset1(0), vset1(0)} : z[0], *A = w, *B = w + S;

  if (!odd)
    for (int k = 1; k <= h; k++) sum = cadd(sum, cscale(z[k], 2));
  if (root) {
    for (int k = 1; k <= h; k++) {
      cvec s = {vset1(0), vset1(0)};

      for (int j = 1, q = k; j <= h; j++) {
        const real t = root[2 * q + odd];

        s.r += z[j].r * t;
        s.i += z[j].i * t;
        q += k;
        if (q >= n) q -= n;
      }
      Z[k] = odd ? (cvec){s.i * 2, s.r * -2} : (cvec){z[0].r + s.r * 2, z[0].i + s.i * 2};
    }
  } else {
    for (int k = 0; k < h; k++) A[k] = cmul(z[p[k]], a[2 * k], a[2 * k + 1]);
    for (int k = h; k < S; k++) A[k] = (cvec){vset1(0), vset1(0)};
    BCRN(FftRun)(v->fft, A, 1, B, w + 2 * (ptrdiff_t)S);
    for (int k = 0; k < S; k++) B[k] = cswap(cmul(B[k], b[2 * k], b[2 * k + 1]));
    BCRN(FftRun)(v->fft, B, 1, A, w + 2 * (ptrdiff_t)S);
    for (int k = 0; k < h; k++) {
      const cvec s = cmul(cswap(A[k]), c[2 * k], c[2 * k + 1]);

      Z[p[h + k]] = odd ? (cvec){s.i, vset1(0) - s.r} : cadd(z[0], s);
    }
  }
  Z[0] = sum;
}

/* y_i = sum_j M_ij x_j of two columns (complex vectors), or of one: rows i < ni, columns j < nj */
BCR_INLINE void symproduct(const real *M, int ni, int nj, const int two, const cvec *x, ptrdiff_t xj, ptrdiff_t xc,
                           cvec *y, ptrdiff_t yi, ptrdiff_t yc)
{
  for (int i = 0; i < ni; i += BCR_SYM_ROWS, M += (ptrdiff_t)BCR_SYM_ROWS * nj) {
    const real *m = M;
    const cvec *p = x;
    cvec s[BCR_SYM_ROWS], t[BCR_SYM_ROWS];

#pragma GCC unroll 8
    for (int r = 0; r < BCR_SYM_ROWS; r++) s[r] = t[r] = (cvec){vset1(0), vset1(0)};
    for (int j = 0; j < nj; j++, m += BCR_SYM_ROWS, p += xj) {
      const cvec a = p[0], b = two ? p[xc] : a;

#pragma GCC unroll 8
      for (int r = 0; r < BCR_SYM_ROWS; r++) {
        s[r].r += a.r * m[r];
        s[r].i += a.i * m[r];
        if (two) {
          t[r].r += b.r * m[r];
          t[r].i += b.i * m[r];
        }
      }
    }
    for (int r = 0; r < BCR_SYM_ROWS && i + r < ni; r++) {
      y[(i + r) * yi] = s[r];
      if (two) y[(i + r) * yi + yc] = t[r];
    }
  }
}
static __attribute__((noinline)) void BCRN(SymProduct)(const void *M, int ni, int nj, const cvec *x, ptrdiff_t xj,
                                                       ptrdiff_t xc, cvec *y, ptrdiff_t yi, ptrdiff_t yc, int columns)
{
#if BCR_ISA == 2
  if (columns == 2) symproduct((const real *)M, ni, nj, 1, x, xj, xc, y, yi, yc);
  else symproduct((const real *)M, ni, nj, 0, x, xj, xc, y, yi, yc);
#else /* two columns take more registers than there are */
  for (int c = 0; c < columns; c++) symproduct((const real *)M, ni, nj, 0, x + c * xc, xj, 0, y + c * yc, yi, 0);
#endif
}

/* sums and differences of the parts of x (BCRSymMatrix) in their place, or back */
BCR_INLINE void symparts(const int ways, const int back, int m, cvec *x, ptrdiff_t xj, ptrdiff_t xc, int columns)
{
  for (int j = 0; j < m; j++)
    for (int c = 0; c < columns; c++) {
      cvec *p = x + j * xj + c * xc, *q = p + m * xj, *r = q + m * xj;
      const cvec a = *p, b = *q;

      if (ways == 2) {
        *p = cadd(a, b);
        *q = csub(a, b);
      } else if (!back) {
        const cvec d = *r;

        *p = cadd(cadd(a, b), d);
        *q = csub(a, d);
        *r = csub(b, d);
      } else {
        const cvec d = *r;

        *p = cadd(a, b);
        *q = cadd(a, d);
        *r = csub(csub(a, b), d);
      }
    }
}

/* y = M x for two columns or one; x is overwritten where M has parts */
static __attribute__((noinline)) void BCRN(SymMatrix)(const BCRSymMatrix *M, cvec *x, ptrdiff_t xj, ptrdiff_t xc,
                                                      cvec *y, ptrdiff_t yi, ptrdiff_t yc, int columns)
{
  const int z = M->zero, m = M->h / M->ways, N = m + z, rest = M->h - m;

  if (M->ways == 2) symparts(2, 0, m, x + z * xj, xj, xc, columns);
  else if (M->ways == 3) symparts(3, 0, m, x + z * xj, xj, xc, columns);
  BCRN(SymProduct)(M->sum, N, N, x, xj, xc, y, yi, yc, columns);
  if (M->ways == 1) return;
  BCRN(SymProduct)(M->rest, rest, rest, x + N * xj, xj, xc, y + N * yi, yi, yc, columns);
  if (M->ways == 2) symparts(2, 1, m, y + z * yi, yi, yc, columns);
  else symparts(3, 1, m, y + z * yi, yi, yc, columns);
}

/* Where sympair() takes its sequence from and brings its sums to: complex vectors z, indices
   0..(n-1)/2; or, of one line of type I of length L = n, its even and its odd outputs as real and
   imaginary part, each of which is sums over the period L of a sequence of the same symmetry.
   Sines: one step before the first element */
typedef struct {
  const cvec *z;
  cvec *Z;
  const real *f; /* NULL: z */
  real *y;
  ptrdiff_t fs, ys, L;
} BCRN(SymEnds);

/* place: -1 - index for a minus */
BCR_INLINE cvec symget(const BCRN(SymEnds) * e, int place, const int line, const int odd)
{
  const ptrdiff_t p = place >= 0 ? place : -1 - place;
  const real h = (real)(place >= 0 ? 1 : -1) * (line && p ? (real)0.5 : (real)1), k = p % 2 ? -h : h;

  if (!line) return cscale(e->z[p], h);
  {
    const vec a = vload(e->f + p * e->fs), b = vload(e->f + (e->L - p) * e->fs);

    return odd ? (cvec){(a - b) * h, (a + b) * k} : (cvec){(a + b) * h, (a - b) * k};
  }
}
BCR_INLINE void symput(const BCRN(SymEnds) * e, int place, cvec s, const int line, const int odd)
{
  const ptrdiff_t q = place >= 0 ? place : -1 - place;
  const real h = (real)(place >= 0 ? 1 : -1);

  if (line) {
    if (odd && !q) return;
    vstore(e->y + 2 * q * e->ys, s.r * h);
    vstore(e->y + (e->L - 2 * q) * e->ys, s.i * (odd ? -h : h));
  } else e->Z[q] = odd ? (cvec){s.i * h, s.r * -h} : s;
}

/*
  n = a b in two dimensions. E, O: sums and differences of p2 and -p2; in p1 one of them has the
  sequence's symmetry, the other one the opposite. With CE, SO their sums of cosines, of sines along
  p2, for p1 = 0..(a-1)/2,

    odd:  S(k1, k2) = U + V, S(k1, -k2) = U - V,   U = 2 sum_{p1 > 0} sin CE,               V = SO_0 + 2 sum_{p1 > 0} cos SO
    even: S(k1, k2) = U - V, S(k1, -k2) = U + V,   U = CE_0 + 2 sum_{p1 > 0} cos CE,        V = 2 sum_{p1 > 0} sin SO
*/
BCR_INLINE void sympair(BCRSym v, const int odd, const int line, const BCRN(SymEnds) * e, cvec *w)
{
  const int A = (v->a + 1) / 2, B = (v->b + 1) / 2;
  const ptrdiff_t size = (ptrdiff_t)A * B;
  const cvec zero = {vset1(0), vset1(0)};
  cvec *CE = w, *SO = CE + size, *E = SO + size, *O = E + 2 * PetscMax(A, B);
  const int *from = v->from, *to = v->to;

  for (int p = 0; p < A; p += 2) {
    const int columns = PetscMin(2, A - p), skipE = odd && p == 0, skipO = !odd && p == 0; /* of p1 = 0 one is zero */

    for (int c = 0; c < columns; c++, from += 2 * B) {
      E[c] = p + c || !odd ? symget(e, from[0], line, odd) : zero;
      O[c] = zero;
      for (int q = 1; q < B; q++) {
        const cvec x = symget(e, from[2 * q], line, odd), y = symget(e, from[2 * q + 1], line, odd);

        E[2 * q + c] = cadd(x, y);
        O[2 * q + c] = csub(x, y);
      }
    }
    BCRN(SymMatrix)(&v->cb, E + skipE, 2, 1, CE + (p + skipE) * B, 1, B, columns - skipE);
    BCRN(SymMatrix)(&v->sb, O + 2 + skipO, 2, 1, SO + (p + skipO) * B + 1, 1, B, columns - skipO);
    for (int c = 0; c < columns; c++) SO[(p + c) * B] = zero;
  }
  for (int k = 0; k < B; k += 2) {
    const int columns = PetscMin(2, B - k);

    E[0] = E[1] = O[0] = O[1] = zero;
    BCRN(SymMatrix)(&v->ca, (odd ? SO : CE) + k, B, 1, odd ? O : E, 2, 1, columns);
    BCRN(SymMatrix)(&v->sa, (odd ? CE : SO) + B + k, B, 1, (odd ? E : O) + 2, 2, 1, columns);
    for (int c = 0; c < columns; c++, to += 2 * A)
      for (int q = 0; q < A; q++) {
        const cvec U = E[2 * q + c], V = O[2 * q + c];

        symput(e, to[2 * q], odd ? cadd(U, V) : csub(U, V), line, odd);
        if (q && k + c) symput(e, to[2 * q + 1], odd ? csub(U, V) : cadd(U, V), line, odd);
      }
  }
}
static __attribute__((noinline)) void BCRN(SymPairSin)(BCRSym v, const BCRN(SymEnds) * e, cvec *w)
{
  sympair(v, 1, 0, e, w);
}
static __attribute__((noinline)) void BCRN(SymPairCos)(BCRSym v, const BCRN(SymEnds) * e, cvec *w)
{
  sympair(v, 0, 0, e, w);
}
static __attribute__((noinline)) void BCRN(SymPairSin1)(BCRSym v, const BCRN(SymEnds) * e, cvec *w)
{
  sympair(v, 1, 1, e, w);
}
static __attribute__((noinline)) void BCRN(SymPairCos1)(BCRSym v, const BCRN(SymEnds) * e, cvec *w)
{
  sympair(v, 0, 1, e, w);
}

static void BCRN(SymRun)(BCRSym v, const int odd, const cvec *z, cvec *Z, cvec *w)
{
  const int n = v->n, r = v->radix, m = v->m, h = (m + 1) / 2;
  const real *t = (const real *)v->tw;
  const cvec zero = {vset1(0), vset1(0)};
  cvec *Y0 = w, *Y = Y0 + h, *x = Y + (ptrdiff_t)(r - 1) / 2 * m, *u = x + m, *V = u + r, *rest = V + r;

  if (n == 1) {
    Z[0] = odd ? zero : z[0];
    return;
  }
  if (v->a) {
    const BCRN(SymEnds) e = {.z = z, .Z = Z};

    (odd ? BCRN(SymPairSin) : BCRN(SymPairCos))(v, &e, w);
    return;
  }
  if (m == 1) {
    BCRN(SymPrime)(v, odd, z, Z, w);
    return;
  }
  for (int s = 0; s < h; s++) x[s] = z[r * s];
  BCRN(SymRun)(v->sub, odd, x, Y0, rest);
  for (int j = 1; 2 * j < r; j++) {
    for (int s = 0, p = j; s < m; s++, p += r) {
      if (2 * p < n) x[s] = z[p];
      else x[s] = odd ? csub(zero, z[n - p]) : z[n - p];
    }
    BCRN(FftRun)(v->fft, x, 1, Y + (ptrdiff_t)(j - 1) * m, rest);
  }
  for (int k = 0; k < h; k++, t += r - 1) {
    u[0] = Y0[k];
    for (int j = 1; 2 * j < r; j++) {
      const cvec a = Y[(ptrdiff_t)(j - 1) * m + k], b = Y[(ptrdiff_t)(j - 1) * m + (k ? m - k : 0)];
      const cvec c = cmul(b, t[2 * j - 2], -t[2 * j - 1]);

      u[j] = cmul(a, t[2 * j - 2], t[2 * j - 1]);
      u[r - j] = odd ? csub(zero, c) : c;
    }
    if (v->big) BCRN(FftRun)(v->big, u, 1, V, rest);
    else BCRN(FftPrime)(r, (const real *)v->root, u, V);
    for (int q = 0; q < r; q++) {
      const int K = k + m * q;

      if (2 * K < n) Z[K] = V[q];
      else if (k) Z[n - K] = odd ? csub(zero, V[q]) : V[q];
    }
  }
}
