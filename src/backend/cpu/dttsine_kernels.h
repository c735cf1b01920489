/*
  Type I sums of sines of length L = 64, 128 or 256 in two steps that stay in registers. An odd
  sequence of period P = 2 L = R M falls into R interleaved ones, of which r and R - r mirror each
  other; 0 is odd, R/2 odd about a half:

    first step   C_r(k) + i S_r(k) = sum_m x_{R m + r} e^{2 pi i m k/M}, k = 0..M/2, 0 < r < R/2; S alone for r = 0 and R/2
    second step  y_{k + M q} = S_0(k) + (-1)^q S_{R/2}(k) + sum_r a_r cos(2 pi r q/R) + b_r sin(2 pi r q/R),   y_{P - j} = -y_j
                 a_r = cos t S_r(k) + sin t C_r(k), b_r = cos t C_r(k) - sin t S_r(k), t = 2 pi r k/P

  The small transforms come first; their x and y do not overlap, loops are unrolled and sines folded into constants.
*/

/* sin(pi n/32), n >= 0; the cosine is that of n + 16 */
BCR_INLINE real dttsine32(int n)
{
  static const real s[17] = {0,
                             (real)0.09801714032956060199,
                             (real)0.19509032201612826785,
                             (real)0.29028467725446236764,
                             (real)0.38268343236508977173,
                             (real)0.47139673682599764856,
                             (real)0.55557023301960222474,
                             (real)0.63439328416364549822,
                             (real)0.70710678118654752440,
                             (real)0.77301045336273696081,
                             (real)0.83146961230254523708,
                             (real)0.88192126434835502971,
                             (real)0.92387953251128675613,
                             (real)0.95694033573220886494,
                             (real)0.98078528040323044913,
                             (real)0.99518472667219688624,
                             1};
  const int m = n % 32;

  return n % 64 < 32 ? s[m > 16 ? 32 - m : m] : -s[m > 16 ? 32 - m : m];
}

/* sine transform of length 4 of three rows */
BCR_INLINE void sine3(vec *x)
{
  const vec p = (x[0] + x[2]) * (real)0.70710678118654752440, d = x[0] - x[2], h = x[1];

  x[0] = p + h;
  x[1] = d;
  x[2] = p - h;
}

/* sine transform of length 8 of the seven rows x[0..6]: x[j-1] = sum_p sin(j p pi/8) x[p-1] */
BCR_INLINE void sine7(vec *x)
{
  const real a = (real)0.38268343236508977173, b = (real)0.70710678118654752440, c = (real)0.92387953251128675613;
  const vec s1 = x[0] + x[6], d1 = x[0] - x[6], s2 = x[1] + x[5], d2 = x[1] - x[5], s3 = x[2] + x[4], d3 = x[2] - x[4];
  const vec t1 = a * s1 + c * s3, t2 = c * s1 - a * s3, u1 = b * s2 + x[3], u2 = b * s2 - x[3], e = d1 + d3;

  x[0] = t1 + u1;
  x[6] = t1 - u1;
  x[2] = t2 + u2;
  x[4] = t2 - u2;
  x[3] = d1 - d3;
  x[1] = b * e + d2;
  x[5] = b * e - d2;
}

/* y_j = sum_p x_p cos(j p pi/8), p, j = 0..8 */
BCR_INLINE void cosine9(const vec *x, vec *y)
{
  const real s1 = (real)0.38268343236508977173, s2 = (real)0.70710678118654752440, s3 = (real)0.92387953251128675613;
  const vec a0 = x[0] + x[8], b0 = x[0] - x[8], a1 = x[1] + x[7], b1 = x[1] - x[7], a2 = x[2] + x[6], b2 = x[2] - x[6],
            a3 = x[3] + x[5], b3 = x[3] - x[5];
  const vec p = a1 - a3, o = a1 + a3, q = b1 * s3 + b3 * s1, r = b1 * s1 - b3 * s3, t = b0 + b2 * s2, v = b0 - b2 * s2,
            e = a0 + x[4], d = a0 - x[4], g = e + a2;

  y[0] = g + o;
  y[8] = g - o;
  y[4] = e - a2;
  y[1] = t + q;
  y[7] = t - q;
  y[3] = v + r;
  y[5] = v - r;
  y[2] = d + p * s2;
  y[6] = d - p * s2;
}

/* y_j = sum_p x_p sin((2j+1)(2p+1) pi/(4n)), or of cosines, p, j = 0..n-1, n = 4 or 8 */
BCR_INLINE void dttfour(const vec *x, vec *y, const int n, const int odd)
{
#pragma GCC unroll 8
  for (int j = 0; j < n; j++) {
    vec s = x[0] * dttsine32((2 * j + 1) * 8 / n + (odd ? 0 : 16));

#pragma GCC unroll 8
    for (int p = 1; p < n; p++) s += x[p] * dttsine32((2 * j + 1) * (2 * p + 1) * 8 / n + (odd ? 0 : 16));
    y[j] = s;
  }
}

/* y_j = sum_p x_p cos(p (2j+1) pi/8), p, j = 0..3 */
BCR_INLINE void cosine3four(const vec *x, vec *y)
{
  const real c1 = (real)0.92387953251128675613, c2 = (real)0.70710678118654752440, c3 = (real)0.38268343236508977173;
  const vec a0 = x[0] + x[2] * c2, a1 = x[0] - x[2] * c2, b0 = x[1] * c1 + x[3] * c3, b1 = x[1] * c3 - x[3] * c1;

  y[0] = a0 + b0;
  y[3] = a0 - b0;
  y[1] = a1 + b1;
  y[2] = a1 - b1;
}

/* y_j = sum_p x_p sin(p (2j+1) pi/8), p = 1..4, j = 0..3; x[p - 1] is x_p */
BCR_INLINE void sine3four(const vec *x, vec *y)
{
  const real s1 = (real)0.38268343236508977173, s2 = (real)0.70710678118654752440, s3 = (real)0.92387953251128675613;
  const vec a0 = x[0] * s1 + x[2] * s3, a1 = x[0] * s3 - x[2] * s1, b0 = x[1] * s2 + x[3], b1 = x[1] * s2 - x[3];

  y[0] = a0 + b0;
  y[3] = a0 - b0;
  y[1] = a1 + b1;
  y[2] = a1 - b1;
}

/* the same of length 8: odd p are a type IV of length 4, and mirrored outputs differ in the sign of even p */
BCR_INLINE void sine3eight(const vec *x, vec *y)
{
  const vec o[4] = {x[0], x[2], x[4], x[6]}, e[4] = {x[1], x[3], x[5], x[7]};
  vec a[4], b[4];

  dttfour(o, a, 4, 1);
  sine3four(e, b);
#pragma GCC unroll 4
  for (int j = 0; j < 4; j++) {
    y[j] = a[j] + b[j];
    y[7 - j] = a[j] - b[j];
  }
}

/* y_j = sum_p x_p sin(j (2p+1) pi/8), p = 0..3, j = 1..4; y[j - 1] is y_j */
BCR_INLINE void sine2four(const vec *x, vec *y)
{
  const real s1 = (real)0.38268343236508977173, s2 = (real)0.70710678118654752440, s3 = (real)0.92387953251128675613;
  const vec p = x[0] + x[3], q = x[1] + x[2], d = x[0] - x[3], e = x[1] - x[2];

  y[0] = p * s1 + q * s3;
  y[2] = p * s3 - q * s1;
  y[1] = (d + e) * s2;
  y[3] = d - e;
}

/* the same of length 2n = 8 or 16: odd j are a type IV of the sums of mirrored inputs, even j the
   same of their differences */
BCR_INLINE void sine2twice(const vec *x, vec *y, const int n)
{
  vec s[8], d[8], a[8], b[8];

#pragma GCC unroll 8
  for (int p = 0; p < n; p++) {
    s[p] = x[p] + x[2 * n - 1 - p];
    d[p] = x[p] - x[2 * n - 1 - p];
  }
  dttfour(s, a, n, 1);
  if (n == 4) sine2four(d, b);
  else {
    vec t[4], e[4];

#pragma GCC unroll 4
    for (int p = 0; p < 4; p++) {
      t[p] = d[p] + d[7 - p];
      e[p] = d[p] - d[7 - p];
    }
    dttfour(t, s, 4, 1);
    sine2four(e, t);
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
      b[2 * j] = s[j];
      b[2 * j + 1] = t[j];
    }
  }
#pragma GCC unroll 8
  for (int j = 0; j < n; j++) {
    y[2 * j] = a[j];
    y[2 * j + 1] = b[j];
  }
}

/* sine transform of length 16 of fifteen rows */
BCR_INLINE void sine15(vec *x)
{
  vec s[8], d[7], y[8];

#pragma GCC unroll 8
  for (int p = 0; p < 7; p++) {
    s[p] = x[p] + x[14 - p];
    d[p] = x[p] - x[14 - p];
  }
  s[7] = x[7];
  sine3eight(s, y);
  sine7(d);
#pragma GCC unroll 8
  for (int j = 0; j < 8; j++) {
    x[2 * j] = y[j];
    if (j < 7) x[2 * j + 1] = d[j];
  }
}

/* y_j = sum_p x_p cos(j p pi/16), p, j = 0..16 */
BCR_INLINE void cosine17(const vec *x, vec *y)
{
  vec s[9], e[4], o[4], a[9], b[4];

#pragma GCC unroll 8
  for (int p = 0; p < 8; p++) s[p] = x[p] + x[16 - p];
  s[8] = x[8];
  cosine9(s, a);
#pragma GCC unroll 16
  for (int j = 0; j < 9; j++) y[2 * j] = a[j];
#pragma GCC unroll 4
  for (int p = 0; p < 4; p++) { /* type III of length 8, as sine3eight() */
    e[p] = x[2 * p] - x[16 - 2 * p];
    o[p] = x[2 * p + 1] - x[15 - 2 * p];
  }
  cosine3four(e, a);
  dttfour(o, b, 4, 0);
#pragma GCC unroll 4
  for (int j = 0; j < 4; j++) {
    y[2 * j + 1] = a[j] + b[j];
    y[15 - 2 * j] = a[j] - b[j];
  }
}

/* v_q = E[q] + O[q], v_{q + R/2} = E[q] - O[q] for v_q = s + (-1)^q h + sum_r a[r] cos(2 pi r q/R)
   + b[r] sin(2 pi r q/R), 0 < r < R/2; R = 8 */
BCR_INLINE void dtthalves8(vec s, vec h, const vec *a, const vec *b, vec *E, vec *O)
{
  const real c = (real)0.70710678118654752440;
  const vec p = s + h, m = s - h, d = a[1] - a[3], t = b[1] + b[3];

  E[0] = p + a[2];
  E[2] = p - a[2];
  E[1] = m + b[2];
  E[3] = m - b[2];
  O[0] = a[1] + a[3];
  O[2] = b[1] - b[3];
  O[1] = (t + d) * c;
  O[3] = (t - d) * c;
}

/* R = 16: even r are R = 8, odd r */
BCR_INLINE void dtthalves16(vec s, vec h, const vec *a, const vec *b, vec *E, vec *O)
{
  const real s1 = (real)0.38268343236508977173, s2 = (real)0.70710678118654752440, s3 = (real)0.92387953251128675613;
  const vec ea[4] = {s, a[2], a[4], a[6]}, eb[4] = {s, b[2], b[4], b[6]};
  const vec A1 = a[1] + a[7], A3 = a[3] + a[5], D1 = a[1] - a[7], D3 = a[3] - a[5], B1 = b[1] + b[7], B3 = b[3] + b[5],
            F1 = b[1] - b[7], F3 = b[3] - b[5];
  const vec c1 = D1 * s3 + D3 * s1, c2 = A1 - A3, c3 = D1 * s1 - D3 * s3, g1 = B1 * s1 + B3 * s3, g2 = F1 + F3,
            g3 = B1 * s3 - B3 * s1;
  vec e[4], o[4];

  O[0] = A1 + A3;
  O[4] = F1 - F3;
  O[1] = g1 + c1;
  O[7] = g1 - c1;
  O[2] = (g2 + c2) * s2;
  O[6] = (g2 - c2) * s2;
  O[3] = g3 + c3;
  O[5] = g3 - c3;
  dtthalves8(s, h, ea, eb, e, o);
#pragma GCC unroll 4
  for (int q = 0; q < 4; q++) {
    E[q] = e[q] + o[q];
    E[q + 4] = e[q] - o[q];
  }
}

/* vector or the first nv of its elements, where PART */
BCR_INLINE vec dttsineload(const real *p, int nv, const int PART)
{
  return PART ? dttloadpart(p, 0, nv, 0) : vload(p);
}
BCR_INLINE void dttsinestore(real *p, vec v, int nv, const int PART)
{
  if (PART) dttstorepart(p, 0, v, nv, 0);
  else vstore(p, v);
}

/* A piece of memory that is on its way nearer. By address: by value two stores of pointers were
   followed by a load of both as one vector, which waits until all stores before it are done (13 %
   of a solve at 63^3 on a Xeon, by samples) */
typedef struct {
  const char *next, *end;
} BCRN(DttAhead);

/* its next bytes, from next on; returns what is next then */
BCR_INLINE const char *dttahead(const BCRN(DttAhead) * a, const char *next, ptrdiff_t bytes)
{
  const char *p = next, *end = bytes < a->end - p ? p + bytes : a->end;

  for (; p < end; p += 64) __builtin_prefetch(p, 0, 2);
  return p;
}

/* x_1 at f to y_1 at u; T: (M/2 + 1)(R + 1) vectors; tw: for k = 1..M/2-1, r = 1..R/2-1: cos t, sin t. The memory ahead
   comes nearer, a little in each pass of the two loops: at once it would hold up the loads of f */
BCR_INLINE void dttsine(const int R, const int M, const int PART, const real *tw, const real *f, ptrdiff_t fs, real *u,
                        ptrdiff_t us, int nv, const BCRN(DttAhead) * ahead, vec *T)
{
  const int L = R * M / 2, N = M / 2, H = R / 2, ts = R + 1; /* T[k ts + ...]: S_0, S_R/2, C_1, S_1, C_2, ... */
  const ptrdiff_t each = (((ahead->end - ahead->next) >> 6) / (H + N - 2) + 1) * 64;
  const char *next = ahead->next;

  f -= fs;
  u -= us;
  { /* r = 0 and R/2 */
    vec x[16], y[16];

#pragma GCC unroll 16
    for (int m = 1; m < N; m++) x[m - 1] = dttsineload(f + R * m * fs, nv, PART);
    if (N == 8) sine7(x);
    else sine15(x);
#pragma GCC unroll 16
    for (int k = 1; k < N; k++) T[k * ts] = x[k - 1];
#pragma GCC unroll 16
    for (int m = 0; m < N; m++) x[m] = dttsineload(f + (R * m + H) * fs, nv, PART);
    sine2twice(x, y, N / 2);
#pragma GCC unroll 16
    for (int k = 1; k <= N; k++) T[k * ts + 1] = y[k - 1];
  }
  for (int r = 1; r < H; r++) {
    vec e[17], o[16], y[17];

    next = dttahead(ahead, next, each);
    e[0] = dttsineload(f + r * fs, nv, PART);
    e[N] = -dttsineload(f + (L - r) * fs, nv, PART);
#pragma GCC unroll 16
    for (int m = 1; m < N; m++) {
      const vec p = dttsineload(f + (R * m + r) * fs, nv, PART), q = dttsineload(f + (R * m - r) * fs, nv, PART);

      e[m] = p - q;
      o[m - 1] = p + q;
    }
    if (N == 8) cosine9(e, y);
    else cosine17(e, y);
#pragma GCC unroll 17
    for (int k = 0; k <= N; k++) T[k * ts + 2 * r] = y[k];
    if (N == 8) sine7(o);
    else sine15(o);
#pragma GCC unroll 16
    for (int k = 1; k < N; k++) T[k * ts + 2 * r + 1] = o[k - 1];
  }
  { /* k = 0: sin(2 pi r q/R) C_r; k = M/2: sin(pi r (2q + 1)/R) C_r */
    vec x[8], y[8];

#pragma GCC unroll 8
    for (int r = 1; r < H; r++) x[r - 1] = T[2 * r];
    if (H == 8) sine7(x);
    else sine3(x);
#pragma GCC unroll 8
    for (int q = 1; q < H; q++) dttsinestore(u + M * q * us, x[q - 1], nv, PART);
#pragma GCC unroll 8
    for (int r = 1; r < H; r++) x[r - 1] = T[N * ts + 2 * r];
    x[H - 1] = T[N * ts + 1];
    if (H == 8) sine3eight(x, y);
    else sine3four(x, y);
#pragma GCC unroll 8
    for (int q = 0; q < H; q++) dttsinestore(u + (N + M * q) * us, y[q], nv, PART);
  }
  for (int k = 1; k < N; k++, tw += 2 * (H - 1)) {
    const vec *t = T + k * ts;
    vec a[8], b[8], E[8], O[8];

    next = dttahead(ahead, next, each);
#pragma GCC unroll 8
    for (int r = 1; r < H; r++) {
      const vec C = t[2 * r], S = t[2 * r + 1];
      const real c = tw[2 * r - 2], s = tw[2 * r - 1];

      a[r] = c * S + s * C;
      b[r] = c * C - s * S;
    }
    if (H == 4) dtthalves8(t[0], t[1], a, b, E, O);
    else dtthalves16(t[0], t[1], a, b, E, O);
#pragma GCC unroll 8
    for (int q = 0; q < H; q++) {
      dttsinestore(u + (k + M * q) * us, E[q] + O[q], nv, PART);
      dttsinestore(u + (M - k + M * (H - 1 - q)) * us, O[q] - E[q], nv, PART);
    }
  }
}
/* nv < VL: a part of a vector */
#define DTT_SINE(L, R, M) \
  static __attribute__((noinline)) void BCRN(DttSine##L)(const real *tw, const real *f, ptrdiff_t fs, real *u, \
                                                         ptrdiff_t us, int nv, const BCRN(DttAhead) * ahead, vec * T) \
  { \
    dttsine(R, M, 0, tw, f, fs, u, us, nv, ahead, T); \
  } \
  static __attribute__((noinline)) void BCRN(DttSine##L##Part)( \
    const real *tw, const real *f, ptrdiff_t fs, real *u, ptrdiff_t us, int nv, const BCRN(DttAhead) * ahead, vec * T) \
  { \
    dttsine(R, M, 1, tw, f, fs, u, us, nv, ahead, T); \
  }
DTT_SINE(64, 8, 16)
DTT_SINE(128, 16, 16)
DTT_SINE(256, 16, 32)
#undef DTT_SINE

/* d->base is 64, 128 or 256 and d->sine its table; ahead: memory to bring nearer meanwhile, may be empty */
static void BCRN(DttSine)(BCRDtt d, const real *f, ptrdiff_t fs, real *u, ptrdiff_t us, int nv,
                          const BCRN(DttAhead) * ahead, vec *T)
{
  const real *tw = (const real *)d->sine;

  if (d->base == 64) (nv < VL ? BCRN(DttSine64Part) : BCRN(DttSine64))(tw, f, fs, u, us, nv, ahead, T);
  else if (d->base == 128) (nv < VL ? BCRN(DttSine128Part) : BCRN(DttSine128))(tw, f, fs, u, us, nv, ahead, T);
  else (nv < VL ? BCRN(DttSine256Part) : BCRN(DttSine256))(tw, f, fs, u, us, nv, ahead, T);
}
