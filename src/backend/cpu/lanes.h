/*
  Bundles of lanes for the level-0 kernels: BL lanes that hold the modes of one group of radix 8
  (lanes 0..6, or 0..7 in an end group), or of two groups side by side where a vector has 16 lanes.
  In the row domain the same bundle holds BL neighbouring columns. tr() goes between the two; fold()
  sums weighted lanes of one group, odd and even modes apart.
*/
#if BCR_ISA == 2 && defined(BCR_REAL_SINGLE)
  #define BCR_BL 16
#else
  #define BCR_BL 8
#endif
#define BL BCR_BL
#define BG (BL / 8) /* groups side by side */

#if BCR_ISA == 2 || (BCR_ISA == 1 && defined(BCR_REAL_SINGLE))
typedef vec bun;
BCR_INLINE bun badd(bun a, bun b)
{
  return a + b;
}
BCR_INLINE bun bsub(bun a, bun b)
{
  return a - b;
}
BCR_INLINE bun bmul(bun a, bun b)
{
  return a * b;
}
BCR_INLINE bun bfma(bun a, bun b, bun c)
{
  return a * b + c;
}
BCR_INLINE bun bfms(bun a, bun b, bun c)
{
  return a * b - c;
}
BCR_INLINE bun bfnma(bun a, bun b, bun c)
{
  return c - a * b;
}
BCR_INLINE bun bset1(real x)
{
  return vset1(x);
}
BCR_INLINE bun bload(const real *p)
{
  return vload(p);
}
BCR_INLINE void bstore(real *p, bun v)
{
  vstore(p, v);
}
#elif (BCR_ISA == 1) || defined(BCR_REAL_SINGLE)
typedef struct {
  vec a, b;
} bun;
  #define BB(ea, eb) ((bun){(ea), (eb)})
BCR_INLINE bun badd(bun x, bun y)
{
  return BB(x.a + y.a, x.b + y.b);
}
BCR_INLINE bun bsub(bun x, bun y)
{
  return BB(x.a - y.a, x.b - y.b);
}
BCR_INLINE bun bmul(bun x, bun y)
{
  return BB(x.a * y.a, x.b * y.b);
}
BCR_INLINE bun bfma(bun x, bun y, bun z)
{
  return BB(x.a * y.a + z.a, x.b * y.b + z.b);
}
BCR_INLINE bun bfms(bun x, bun y, bun z)
{
  return BB(x.a * y.a - z.a, x.b * y.b - z.b);
}
BCR_INLINE bun bfnma(bun x, bun y, bun z)
{
  return BB(z.a - x.a * y.a, z.b - x.b * y.b);
}
BCR_INLINE bun bset1(real x)
{
  return BB(vset1(x), vset1(x));
}
BCR_INLINE bun bload(const real *p)
{
  return BB(vload(p), vload(p + VL));
}
BCR_INLINE void bstore(real *p, bun v)
{
  vstore(p, v.a);
  vstore(p + VL, v.b);
}
#else
typedef struct {
  vec a, b, c, d;
} bun;
  #define BB(ea, eb, ec, ed) ((bun){(ea), (eb), (ec), (ed)})
BCR_INLINE bun badd(bun x, bun y)
{
  return BB(x.a + y.a, x.b + y.b, x.c + y.c, x.d + y.d);
}
BCR_INLINE bun bsub(bun x, bun y)
{
  return BB(x.a - y.a, x.b - y.b, x.c - y.c, x.d - y.d);
}
BCR_INLINE bun bmul(bun x, bun y)
{
  return BB(x.a * y.a, x.b * y.b, x.c * y.c, x.d * y.d);
}
BCR_INLINE bun bfma(bun x, bun y, bun z)
{
  return BB(x.a * y.a + z.a, x.b * y.b + z.b, x.c * y.c + z.c, x.d * y.d + z.d);
}
BCR_INLINE bun bfms(bun x, bun y, bun z)
{
  return BB(x.a * y.a - z.a, x.b * y.b - z.b, x.c * y.c - z.c, x.d * y.d - z.d);
}
BCR_INLINE bun bfnma(bun x, bun y, bun z)
{
  return BB(z.a - x.a * y.a, z.b - x.b * y.b, z.c - x.c * y.c, z.d - x.d * y.d);
}
BCR_INLINE bun bset1(real x)
{
  return BB(vset1(x), vset1(x), vset1(x), vset1(x));
}
BCR_INLINE bun bload(const real *p)
{
  return BB(vload(p), vload(p + VL), vload(p + 2 * VL), vload(p + 3 * VL));
}
BCR_INLINE void bstore(real *p, bun v)
{
  vstore(p, v.a);
  vstore(p + VL, v.b);
  vstore(p + 2 * VL, v.c);
  vstore(p + 3 * VL, v.d);
}
#endif
BCR_INLINE bun bnull(void)
{
  return bset1(0);
}

/* BL elements of a row in memory of type io (0: real, 1: double) */
BCR_INLINE bun bloadio(const void *p, ptrdiff_t i, const int io)
{
#if defined(BCR_REAL_SINGLE)
  if (io) {
    const double *q = (const double *)p + i;
  #if BCR_ISA == 2
    return (bun)_mm512_castpd_ps(
      _mm512_insertf64x4(_mm512_castps_pd(_mm512_castps256_ps512(_mm512_cvtpd_ps(_mm512_loadu_pd(q)))),
                         _mm256_castps_pd(_mm512_cvtpd_ps(_mm512_loadu_pd(q + 8))), 1));
  #elif BCR_ISA == 1
    return (bun)_mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(_mm256_loadu_pd(q))),
                                     _mm256_cvtpd_ps(_mm256_loadu_pd(q + 4)), 1);
  #else
    return BB(dttload(q, 0, 1), dttload(q, VL, 1));
  #endif
  }
#else
  (void)io;
#endif
  return bload((const real *)p + i);
}

BCR_INLINE void bstoreio(void *p, ptrdiff_t i, bun v, const int io)
{
#if defined(BCR_REAL_SINGLE)
  if (io) {
    double *q = (double *)p + i;
  #if BCR_ISA == 2
    _mm512_storeu_pd(q, _mm512_cvtps_pd(_mm512_castps512_ps256((__m512)v)));
    _mm512_storeu_pd(q + 8, _mm512_cvtps_pd(_mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd((__m512)v), 1))));
  #elif BCR_ISA == 1
    _mm256_storeu_pd(q, _mm256_cvtps_pd(_mm256_castps256_ps128((__m256)v)));
    _mm256_storeu_pd(q + 4, _mm256_cvtps_pd(_mm256_extractf128_ps((__m256)v, 1)));
  #else
    dttstore(q, 0, v.a, 1);
    dttstore(q, VL, v.b, 1);
  #endif
    return;
  }
#else
  (void)io;
#endif
  bstore((real *)p + i, v);
}

/* the first nv < BL elements; masks, because vectors put together from scalars in memory wait for the stores */
#if BCR_ISA == 2 || (BCR_ISA == 1 && defined(BCR_REAL_SINGLE))
BCR_INLINE bun bloadpart(const void *p, ptrdiff_t i, int nv, const int io)
{
  return dttloadpart(p, i, nv, io);
}
BCR_INLINE void bstorepart(void *p, ptrdiff_t i, bun v, int nv, const int io)
{
  dttstorepart(p, i, v, nv, io);
}
#elif BCR_ISA == 1
BCR_INLINE bun bloadpart(const void *p, ptrdiff_t i, int nv, const int io)
{
  return BB(dttloadpart(p, i, nv < 4 ? nv : 4, io), dttloadpart(p, i + 4, nv < 4 ? 0 : nv - 4, io));
}
BCR_INLINE void bstorepart(void *p, ptrdiff_t i, bun v, int nv, const int io)
{
  dttstorepart(p, i, v.a, nv < 4 ? nv : 4, io);
  dttstorepart(p, i + 4, v.b, nv < 4 ? 0 : nv - 4, io);
}
#else
BCR_INLINE bun bloadpart(const void *p, ptrdiff_t i, int nv, const int io)
{
  real t[BL] __attribute__((aligned(64))) = {0};

  #if defined(BCR_REAL_SINGLE)
  if (io)
    for (int k = 0; k < nv; k++) t[k] = (real)((const double *)p)[i + k];
  else
  #else
  (void)io;
  #endif
    for (int k = 0; k < nv; k++) t[k] = ((const real *)p)[i + k];
  return bload(t);
}

BCR_INLINE void bstorepart(void *p, ptrdiff_t i, bun v, int nv, const int io)
{
  real t[BL] __attribute__((aligned(64)));

  bstore(t, v);
  #if defined(BCR_REAL_SINGLE)
  if (io)
    for (int k = 0; k < nv; k++) ((double *)p)[i + k] = t[k];
  else
  #else
  (void)io;
  #endif
    for (int k = 0; k < nv; k++) ((real *)p)[i + k] = t[k];
}
#endif

/* BL x BL transpose */
#if BCR_ISA == 2 && !defined(BCR_REAL_SINGLE)
BCR_INLINE void btr(bun *r)
{
  __m512d p[8], q[8];

  #pragma GCC unroll 8
  for (int i = 0; i < 8; i += 2) { /* 2 x 2 blocks inside 128 bits */
    p[i] = _mm512_unpacklo_pd((__m512d)r[i], (__m512d)r[i + 1]);
    p[i + 1] = _mm512_unpackhi_pd((__m512d)r[i], (__m512d)r[i + 1]);
  }
  #pragma GCC unroll 2
  for (int i = 0; i < 2; i++) { /* 128-bit pieces: columns 0,4 | 2,6 of rows 0..3 and of rows 4..7 */
    q[i] = _mm512_shuffle_f64x2(p[i], p[i + 2], 0x88);
    q[i + 2] = _mm512_shuffle_f64x2(p[i], p[i + 2], 0xdd);
    q[i + 4] = _mm512_shuffle_f64x2(p[i + 4], p[i + 6], 0x88);
    q[i + 6] = _mm512_shuffle_f64x2(p[i + 4], p[i + 6], 0xdd);
  }
  #pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    r[i] = (bun)_mm512_shuffle_f64x2(q[i], q[i + 4], 0x88);
    r[i + 4] = (bun)_mm512_shuffle_f64x2(q[i], q[i + 4], 0xdd);
  }
}
#elif BCR_ISA == 2
BCR_INLINE void btr(bun *r)
{
  __m512 p[16], q[16];

  #pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    p[i] = _mm512_unpacklo_ps((__m512)r[i], (__m512)r[i + 1]);
    p[i + 1] = _mm512_unpackhi_ps((__m512)r[i], (__m512)r[i + 1]);
  }
  #pragma GCC unroll 4
  /* q[4a + c]: rows 4a..4a+3 of columns c, 4 + c, 8 + c, 12 + c, a 128-bit piece each */
  for (int i = 0; i < 16; i += 4) {
    q[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(p[i]), _mm512_castps_pd(p[i + 2])));
    q[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(p[i]), _mm512_castps_pd(p[i + 2])));
    q[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(p[i + 1]), _mm512_castps_pd(p[i + 3])));
    q[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(p[i + 1]), _mm512_castps_pd(p[i + 3])));
  }
  #pragma GCC unroll 4
  for (int c = 0; c < 4; c++) {
    const __m512 e0 = _mm512_shuffle_f32x4(q[c], q[4 + c], 0x88), o0 = _mm512_shuffle_f32x4(q[c], q[4 + c], 0xdd);
    const __m512 e1 = _mm512_shuffle_f32x4(q[8 + c], q[12 + c], 0x88),
                 o1 = _mm512_shuffle_f32x4(q[8 + c], q[12 + c], 0xdd);

    r[c] = (bun)_mm512_shuffle_f32x4(e0, e1, 0x88);
    r[8 + c] = (bun)_mm512_shuffle_f32x4(e0, e1, 0xdd);
    r[4 + c] = (bun)_mm512_shuffle_f32x4(o0, o1, 0x88);
    r[12 + c] = (bun)_mm512_shuffle_f32x4(o0, o1, 0xdd);
  }
}
#elif BCR_ISA == 1 && defined(BCR_REAL_SINGLE)
BCR_INLINE void btr(bun *r)
{
  __m256 p[8], q[8];

  #pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    p[i] = _mm256_unpacklo_ps((__m256)r[i], (__m256)r[i + 1]);
    p[i + 1] = _mm256_unpackhi_ps((__m256)r[i], (__m256)r[i + 1]);
  }
  #pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {
    q[i] = _mm256_castpd_ps(_mm256_unpacklo_pd(_mm256_castps_pd(p[i]), _mm256_castps_pd(p[i + 2])));
    q[i + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(_mm256_castps_pd(p[i]), _mm256_castps_pd(p[i + 2])));
    q[i + 2] = _mm256_castpd_ps(_mm256_unpacklo_pd(_mm256_castps_pd(p[i + 1]), _mm256_castps_pd(p[i + 3])));
    q[i + 3] = _mm256_castpd_ps(_mm256_unpackhi_pd(_mm256_castps_pd(p[i + 1]), _mm256_castps_pd(p[i + 3])));
  }
  #pragma GCC unroll 4
  for (int c = 0; c < 4; c++) {
    r[c] = (bun)_mm256_permute2f128_ps(q[c], q[4 + c], 0x20);
    r[4 + c] = (bun)_mm256_permute2f128_ps(q[c], q[4 + c], 0x31);
  }
}
#elif BCR_ISA == 1
BCR_INLINE void btr4(vec *r0, vec *r1, vec *r2, vec *r3)
{
  const __m256d p0 = _mm256_unpacklo_pd((__m256d)*r0, (__m256d)*r1),
                p1 = _mm256_unpackhi_pd((__m256d)*r0, (__m256d)*r1);
  const __m256d p2 = _mm256_unpacklo_pd((__m256d)*r2, (__m256d)*r3),
                p3 = _mm256_unpackhi_pd((__m256d)*r2, (__m256d)*r3);

  *r0 = (vec)_mm256_permute2f128_pd(p0, p2, 0x20);
  *r1 = (vec)_mm256_permute2f128_pd(p1, p3, 0x20);
  *r2 = (vec)_mm256_permute2f128_pd(p0, p2, 0x31);
  *r3 = (vec)_mm256_permute2f128_pd(p1, p3, 0x31);
}
BCR_INLINE void btr(bun *r)
{
  vec t;

  btr4(&r[0].a, &r[1].a, &r[2].a, &r[3].a);
  btr4(&r[4].b, &r[5].b, &r[6].b, &r[7].b);
  btr4(&r[0].b, &r[1].b, &r[2].b, &r[3].b);
  btr4(&r[4].a, &r[5].a, &r[6].a, &r[7].a);
  #pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    t = r[i].b;
    r[i].b = r[i + 4].a;
    r[i + 4].a = t;
  }
}
#else
/* blocks of VL x VL: each is transposed, and those beside the diagonal change places */
BCR_INLINE void btr(bun *r)
{
  enum {
    NB = BL / VL
  };
  vec *m = (vec *)r, p[VL], q[VL];

  #pragma GCC unroll 4
  for (int i = 0; i < NB; i++)
  #pragma GCC unroll 4
    for (int j = i; j < NB; j++) {
  #pragma GCC unroll 4
      for (int k = 0; k < VL; k++) {
        p[k] = m[NB * (VL * i + k) + j];
        q[k] = m[NB * (VL * j + k) + i];
      }
      dtttranspose(p);
      dtttranspose(q);
  #pragma GCC unroll 4
      for (int k = 0; k < VL; k++) {
        m[NB * (VL * j + k) + i] = p[k];
        m[NB * (VL * i + k) + j] = q[k];
      }
    }
}
#endif

/* For columns i = 0..VL-1 with modes in lanes: E[g] (lanes: columns) the sum of w * t over the
   lanes 0,2,4,6 of group g, O[g] over 1,3,5,7 */
#if BCR_ISA == 2 && !defined(BCR_REAL_SINGLE)
BCR_INLINE void bfold(const bun *t, bun w, vec *E, vec *O)
{
  const __m512i ix = _mm512_setr_epi64(2, 3, 8, 9, 6, 7, 12, 13);
  const __m512d ws = _mm512_shuffle_f64x2((__m512d)w, (__m512d)w, 0x4e);
  __m512d h[4], p[2];

  #pragma GCC unroll 4
  for (int i = 0; i < 4; i++)
    h[i] = _mm512_fmadd_pd((__m512d)w, _mm512_mask_blend_pd(0xf0, (__m512d)t[i], (__m512d)t[i + 4]),
                           _mm512_mul_pd(ws, _mm512_shuffle_f64x2((__m512d)t[i], (__m512d)t[i + 4], 0x4e)));
  #pragma GCC unroll 2
  for (int i = 0; i < 2; i++)
    p[i] = _mm512_add_pd(_mm512_mask_blend_pd(0xcc, h[i], h[i + 2]), _mm512_permutex2var_pd(h[i], ix, h[i + 2]));
  E[0] = (bun)_mm512_unpacklo_pd(p[0], p[1]);
  O[0] = (bun)_mm512_unpackhi_pd(p[0], p[1]);
}
#elif BCR_ISA == 2
/* columns 0..7 of both groups: lanes 0..7 group 0, 8..15 group 1 */
BCR_INLINE void bfold8(const bun *t, bun w, __m512 *E, __m512 *O)
{
  __m512 h[4], p[2], lo, hi;

  #pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    const __m512 a = (__m512)(t[i] * w), b = (__m512)(t[i + 4] * w), x = _mm512_mask_blend_ps(0x0f0f, a, b);

    h[i] = _mm512_add_ps(_mm512_mask_blend_ps(0xf0f0, a, b), _mm512_shuffle_f32x4(x, x, 0xb1));
  }
  #pragma GCC unroll 2
  for (int i = 0; i < 2; i++)
    p[i] = _mm512_add_ps(_mm512_mask_blend_ps(0xcccc, h[i], h[i + 2]), _mm512_shuffle_ps(h[i], h[i + 2], 0x4e));
  lo = _mm512_unpacklo_ps(p[0], p[1]);
  hi = _mm512_unpackhi_ps(p[0], p[1]);
  *E = _mm512_shuffle_ps(lo, hi, 0x44);
  *O = _mm512_shuffle_ps(lo, hi, 0xee);
}
BCR_INLINE void bfold(const bun *t, bun w, vec *E, vec *O)
{
  __m512 e0, o0, e1, o1;

  bfold8(t, w, &e0, &o0);
  bfold8(t + 8, w, &e1, &o1);
  E[0] = (bun)_mm512_shuffle_f32x4(e0, e1, 0x44);
  E[1] = (bun)_mm512_shuffle_f32x4(e0, e1, 0xee);
  O[0] = (bun)_mm512_shuffle_f32x4(o0, o1, 0x44);
  O[1] = (bun)_mm512_shuffle_f32x4(o0, o1, 0xee);
}
#elif BCR_ISA == 1 && defined(BCR_REAL_SINGLE)
BCR_INLINE void bfold(const bun *t, bun w, vec *E, vec *O)
{
  __m256 h[4], p[2], lo, hi;

  #pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    const __m256 a = (__m256)(t[i] * w), b = (__m256)(t[i + 4] * w);

    h[i] = _mm256_add_ps(_mm256_blend_ps(a, b, 0xf0), _mm256_permute2f128_ps(a, b, 0x21));
  }
  #pragma GCC unroll 2
  for (int i = 0; i < 2; i++)
    p[i] = _mm256_add_ps(_mm256_blend_ps(h[i], h[i + 2], 0xcc), _mm256_shuffle_ps(h[i], h[i + 2], 0x4e));
  lo = _mm256_unpacklo_ps(p[0], p[1]);
  hi = _mm256_unpackhi_ps(p[0], p[1]);
  E[0] = (bun)_mm256_shuffle_ps(lo, hi, 0x44);
  O[0] = (bun)_mm256_shuffle_ps(lo, hi, 0xee);
}
#elif BCR_ISA == 1
BCR_INLINE void bfold(const bun *t, bun w, vec *E, vec *O)
{
  __m256d h[4], p[2];

  #pragma GCC unroll 4
  for (int i = 0; i < 4; i++) h[i] = (__m256d)(t[i].a * w.a + t[i].b * w.b);
  #pragma GCC unroll 2
  for (int i = 0; i < 2; i++)
    p[i] = _mm256_add_pd(_mm256_blend_pd(h[i], h[i + 2], 0xc), _mm256_permute2f128_pd(h[i], h[i + 2], 0x21));
  E[0] = (vec)_mm256_unpacklo_pd(p[0], p[1]);
  O[0] = (vec)_mm256_unpackhi_pd(p[0], p[1]);
}
#elif defined(BCR_REAL_SINGLE)
BCR_INLINE void bfold(const bun *t, bun w, vec *E, vec *O)
{
  vec h[4];

  for (int i = 0; i < 4; i++) h[i] = t[i].a * w.a + t[i].b * w.b;
  dtttranspose(h);
  E[0] = h[0] + h[2];
  O[0] = h[1] + h[3];
}
#else
BCR_INLINE void bfold(const bun *t, bun w, vec *E, vec *O)
{
  vec h[2];

  for (int i = 0; i < 2; i++) h[i] = (t[i].a * w.a + t[i].b * w.b) + (t[i].c * w.c + t[i].d * w.d);
  dtttranspose(h);
  E[0] = h[0];
  O[0] = h[1];
}
#endif
