/* Lines in memory to lanes and back: x[0], x[xs], ... hold the positions of VL lines. */

#if defined(BCR_REAL_SINGLE)
typedef double dttwide __attribute__((vector_size(2 * BCR_VECTOR_BYTES), aligned(8), may_alias));
#endif

/* VL neighbours in memory of type io */
BCR_INLINE vec dttload(const void *p, ptrdiff_t i, const int io)
{
#if defined(BCR_REAL_SINGLE)
  if (io) {
  #if BCR_ISA == 2
    const double *q = (const double *)p + i;

    return (vec)_mm512_castpd_ps(
      _mm512_insertf64x4(_mm512_castps_pd(_mm512_castps256_ps512(_mm512_cvtpd_ps(_mm512_loadu_pd(q)))),
                         _mm256_castps_pd(_mm512_cvtpd_ps(_mm512_loadu_pd(q + 8))), 1));
  #elif BCR_ISA == 1
    const double *q = (const double *)p + i;

    return (vec)_mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(_mm256_loadu_pd(q))),
                                     _mm256_cvtpd_ps(_mm256_loadu_pd(q + 4)), 1);
  #else
    return __builtin_convertvector(*(const dttwide *)((const double *)p + i), vec);
  #endif
  }
#else
  (void)io;
#endif
  return vload((const real *)p + i);
}

BCR_INLINE void dttstore(void *p, ptrdiff_t i, vec v, const int io)
{
#if defined(BCR_REAL_SINGLE)
  if (io) {
  #if BCR_ISA == 2
    double *q = (double *)p + i;

    _mm512_storeu_pd(q, _mm512_cvtps_pd(_mm512_castps512_ps256((__m512)v)));
    _mm512_storeu_pd(q + 8, _mm512_cvtps_pd(_mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd((__m512)v), 1))));
  #elif BCR_ISA == 1
    double *q = (double *)p + i;

    _mm256_storeu_pd(q, _mm256_cvtps_pd(_mm256_castps256_ps128((__m256)v)));
    _mm256_storeu_pd(q + 4, _mm256_cvtps_pd(_mm256_extractf128_ps((__m256)v, 1)));
  #else
    *(dttwide *)((double *)p + i) = __builtin_convertvector(v, dttwide);
  #endif
    return;
  }
#else
  (void)io;
#endif
  vstore((real *)p + i, v);
}

/* the first nv of VL neighbours; masks, because a vector put together from scalars in memory waits for their stores */
BCR_INLINE vec dttloadpart(const void *p, ptrdiff_t i, int nv, const int io)
{
#if BCR_ISA == 2 && !defined(BCR_REAL_SINGLE)
  (void)io;
  return (vec)_mm512_maskz_loadu_pd((__mmask8)((1u << nv) - 1), (const double *)p + i);
#elif BCR_ISA == 2
  const unsigned m = (1u << nv) - 1;

  if (io) {
    const double *q = (const double *)p + i;
    const __m256 lo = _mm512_cvtpd_ps(_mm512_maskz_loadu_pd((__mmask8)m, q)),
                 hi = _mm512_cvtpd_ps(_mm512_maskz_loadu_pd((__mmask8)(m >> 8), q + 8));

    return (vec)_mm512_castpd_ps(
      _mm512_insertf64x4(_mm512_castps_pd(_mm512_castps256_ps512(lo)), _mm256_castps_pd(hi), 1));
  }
  return (vec)_mm512_maskz_loadu_ps((__mmask16)m, (const float *)p + i);
#else
  real t[VL] __attribute__((aligned(64))) = {0};

  #if BCR_ISA == 1 && defined(BCR_REAL_SINGLE)
  if (!io)
    return (vec)_mm256_maskload_ps(
      (const float *)p + i, _mm256_cmpgt_epi32(_mm256_set1_epi32(nv), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)));
  #elif BCR_ISA == 1
  if (!io)
    return (vec)_mm256_maskload_pd((const double *)p + i,
                                   _mm256_cmpgt_epi64(_mm256_set1_epi64x(nv), _mm256_setr_epi64x(0, 1, 2, 3)));
  #endif
  for (int k = 0; k < nv; k++) t[k] = io ? (real)((const double *)p)[i + k] : ((const real *)p)[i + k];
  return vload(t);
#endif
}

BCR_INLINE void dttstorepart(void *p, ptrdiff_t i, vec v, int nv, const int io)
{
#if BCR_ISA == 2 && !defined(BCR_REAL_SINGLE)
  (void)io;
  _mm512_mask_storeu_pd((double *)p + i, (__mmask8)((1u << nv) - 1), (__m512d)v);
#elif BCR_ISA == 2
  const unsigned m = (1u << nv) - 1;

  if (io) {
    double *q = (double *)p + i;

    _mm512_mask_storeu_pd(q, (__mmask8)m, _mm512_cvtps_pd(_mm512_castps512_ps256((__m512)v)));
    _mm512_mask_storeu_pd(q + 8, (__mmask8)(m >> 8),
                          _mm512_cvtps_pd(_mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd((__m512)v), 1))));
  } else _mm512_mask_storeu_ps((float *)p + i, (__mmask16)m, (__m512)v);
#else
  real t[VL] __attribute__((aligned(64)));

  #if BCR_ISA == 1 && defined(BCR_REAL_SINGLE)
  if (!io) {
    _mm256_maskstore_ps(
      (float *)p + i, _mm256_cmpgt_epi32(_mm256_set1_epi32(nv), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)), (__m256)v);
    return;
  }
  #elif BCR_ISA == 1
  if (!io) {
    _mm256_maskstore_pd((double *)p + i, _mm256_cmpgt_epi64(_mm256_set1_epi64x(nv), _mm256_setr_epi64x(0, 1, 2, 3)),
                        (__m256d)v);
    return;
  }
  #endif
  vstore(t, v);
  for (int k = 0; k < nv; k++) {
    if (io) ((double *)p)[i + k] = t[k];
    else ((real *)p)[i + k] = t[k];
  }
#endif
}

/* VL x VL transpose */
#if BCR_ISA == 2 && !defined(BCR_REAL_SINGLE)
BCR_INLINE void dtttranspose(vec *r)
{
  __m512d p[8], q[8];

  _Pragma("GCC unroll 8") for (int i = 0; i < 8; i += 2)
  {
    p[i] = _mm512_unpacklo_pd((__m512d)r[i], (__m512d)r[i + 1]);
    p[i + 1] = _mm512_unpackhi_pd((__m512d)r[i], (__m512d)r[i + 1]);
  }
  _Pragma("GCC unroll 2") for (int i = 0; i < 2; i++)
  { /* pairs of rows: columns i, i + 4 and i + 2, i + 6 */
    q[i] = _mm512_shuffle_f64x2(p[i], p[i + 2], 0x88);
    q[i + 2] = _mm512_shuffle_f64x2(p[i], p[i + 2], 0xdd);
    q[i + 4] = _mm512_shuffle_f64x2(p[i + 4], p[i + 6], 0x88);
    q[i + 6] = _mm512_shuffle_f64x2(p[i + 4], p[i + 6], 0xdd);
  }
  _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++)
  {
    r[i] = (vec)_mm512_shuffle_f64x2(q[i], q[i + 4], 0x88);
    r[i + 4] = (vec)_mm512_shuffle_f64x2(q[i], q[i + 4], 0xdd);
  }
}
#elif BCR_ISA == 2
BCR_INLINE void dtttranspose(vec *r)
{
  __m512 p[16], q[16];

  _Pragma("GCC unroll 8") for (int i = 0; i < 16; i += 2)
  {
    p[i] = _mm512_unpacklo_ps((__m512)r[i], (__m512)r[i + 1]);
    p[i + 1] = _mm512_unpackhi_ps((__m512)r[i], (__m512)r[i + 1]);
  }
  _Pragma("GCC unroll 4") for (int i = 0; i < 16; i += 4)
  { /* q[i + c]: four rows of columns c, 4 + c, 8 + c, 12 + c */
    q[i] = (__m512)_mm512_unpacklo_pd((__m512d)p[i], (__m512d)p[i + 2]);
    q[i + 1] = (__m512)_mm512_unpackhi_pd((__m512d)p[i], (__m512d)p[i + 2]);
    q[i + 2] = (__m512)_mm512_unpacklo_pd((__m512d)p[i + 1], (__m512d)p[i + 3]);
    q[i + 3] = (__m512)_mm512_unpackhi_pd((__m512d)p[i + 1], (__m512d)p[i + 3]);
  }
  _Pragma("GCC unroll 4") for (int c = 0; c < 4; c++)
  {
    const __m512 e0 = _mm512_shuffle_f32x4(q[c], q[4 + c], 0x88), o0 = _mm512_shuffle_f32x4(q[c], q[4 + c], 0xdd);
    const __m512 e1 = _mm512_shuffle_f32x4(q[8 + c], q[12 + c], 0x88),
                 o1 = _mm512_shuffle_f32x4(q[8 + c], q[12 + c], 0xdd);

    r[c] = (vec)_mm512_shuffle_f32x4(e0, e1, 0x88);
    r[8 + c] = (vec)_mm512_shuffle_f32x4(e0, e1, 0xdd);
    r[4 + c] = (vec)_mm512_shuffle_f32x4(o0, o1, 0x88);
    r[12 + c] = (vec)_mm512_shuffle_f32x4(o0, o1, 0xdd);
  }
}
#elif BCR_ISA == 1 && defined(BCR_REAL_SINGLE)
BCR_INLINE void dtttranspose(vec *r)
{
  __m256 p[8], q[8];

  _Pragma("GCC unroll 4") for (int i = 0; i < 8; i += 2)
  {
    p[i] = _mm256_unpacklo_ps((__m256)r[i], (__m256)r[i + 1]);
    p[i + 1] = _mm256_unpackhi_ps((__m256)r[i], (__m256)r[i + 1]);
  }
  _Pragma("GCC unroll 2") for (int i = 0; i < 8; i += 4)
  {
    q[i] = (__m256)_mm256_unpacklo_pd((__m256d)p[i], (__m256d)p[i + 2]);
    q[i + 1] = (__m256)_mm256_unpackhi_pd((__m256d)p[i], (__m256d)p[i + 2]);
    q[i + 2] = (__m256)_mm256_unpacklo_pd((__m256d)p[i + 1], (__m256d)p[i + 3]);
    q[i + 3] = (__m256)_mm256_unpackhi_pd((__m256d)p[i + 1], (__m256d)p[i + 3]);
  }
  _Pragma("GCC unroll 4") for (int c = 0; c < 4; c++)
  {
    r[c] = (vec)_mm256_permute2f128_ps(q[c], q[4 + c], 0x20);
    r[4 + c] = (vec)_mm256_permute2f128_ps(q[c], q[4 + c], 0x31);
  }
}
#elif BCR_ISA == 1
BCR_INLINE void dtttranspose(vec *r)
{
  const __m256d p0 = _mm256_unpacklo_pd((__m256d)r[0], (__m256d)r[1]),
                p1 = _mm256_unpackhi_pd((__m256d)r[0], (__m256d)r[1]);
  const __m256d p2 = _mm256_unpacklo_pd((__m256d)r[2], (__m256d)r[3]),
                p3 = _mm256_unpackhi_pd((__m256d)r[2], (__m256d)r[3]);

  r[0] = (vec)_mm256_permute2f128_pd(p0, p2, 0x20);
  r[1] = (vec)_mm256_permute2f128_pd(p1, p3, 0x20);
  r[2] = (vec)_mm256_permute2f128_pd(p0, p2, 0x31);
  r[3] = (vec)_mm256_permute2f128_pd(p1, p3, 0x31);
}
#elif defined(BCR_REAL_SINGLE)
  #if defined(__clang__)
    #define BCR_SHUFFLE(x, y, i, j, k, l) __builtin_shufflevector(x, y, i, j, k, l)
  #else
    #define BCR_SHUFFLE(x, y, i, j, k, l) __builtin_shuffle(x, y, (int __attribute__((vector_size(16)))){i, j, k, l})
  #endif
BCR_INLINE void dtttranspose(vec *r)
{
  const vec p = BCR_SHUFFLE(r[0], r[1], 0, 4, 1, 5), q = BCR_SHUFFLE(r[0], r[1], 2, 6, 3, 7);
  const vec s = BCR_SHUFFLE(r[2], r[3], 0, 4, 1, 5), t = BCR_SHUFFLE(r[2], r[3], 2, 6, 3, 7);

  r[0] = BCR_SHUFFLE(p, s, 0, 1, 4, 5);
  r[1] = BCR_SHUFFLE(p, s, 2, 3, 6, 7);
  r[2] = BCR_SHUFFLE(q, t, 0, 1, 4, 5);
  r[3] = BCR_SHUFFLE(q, t, 2, 3, 6, 7);
}
  #undef BCR_SHUFFLE
#else
BCR_INLINE void dtttranspose(vec *r)
{
  const vec a = r[0], b = r[1];

  r[0] = (vec){a[0], b[0]};
  r[1] = (vec){a[1], b[1]};
}
#endif

/* nv <= VL rows from line l on */
BCR_INLINE void dttreadrows(int n, const void *f, ptrdiff_t l, int nv, ptrdiff_t ld, vec *x, const ptrdiff_t xs,
                            const int io)
{
  vec r[BCR_VECTOR_BYTES / sizeof(real)];

  if (n >= VL) {
    for (int i = 0; i < n; i += VL) {
      const int b = PetscMin(i, n - VL); /* the last block overlaps the one before */

      _Pragma("GCC unroll 16") for (int k = 0; k < VL; k++) r[k] = dttload(f, (l + PetscMin(k, nv - 1)) * ld + b, io);
      dtttranspose(r);
      _Pragma("GCC unroll 16") for (int k = 0; k < VL; k++) x[(b + k) * xs] = r[k];
    }
  } else {
    for (int k = 0; k < VL; k++) r[k] = dttloadpart(f, (l + PetscMin(k, nv - 1)) * ld, n, io);
    dtttranspose(r);
    for (int k = 0; k < n; k++) x[k * xs] = r[k];
  }
}

BCR_INLINE void dttwriterows(int n, void *u, ptrdiff_t l, int nv, ptrdiff_t ld, const vec *x, const ptrdiff_t xs,
                             const int io)
{
  vec r[BCR_VECTOR_BYTES / sizeof(real)];

  for (int i = 0; i < n; i += VL) {
    const int b = n >= VL ? PetscMin(i, n - VL) : 0;

    for (int k = 0; k < VL; k++) r[k] = x[PetscMin(b + k, n - 1) * xs];
    dtttranspose(r);
    if (n < VL) {
      for (int k = 0; k < nv; k++) dttstorepart(u, (l + k) * ld, r[k], n, io);
    } else if (nv == VL) {
      _Pragma("GCC unroll 16") for (int k = 0; k < VL; k++) dttstore(u, (l + k) * ld + b, r[k], io);
    } else {
      for (int k = 0; k < nv; k++) dttstore(u, (l + k) * ld + b, r[k], io);
    }
  }
}

BCR_INLINE void dttreadcols(int n, const void *f, ptrdiff_t l, int nv, ptrdiff_t ld, vec *x, const ptrdiff_t xs,
                            const int io)
{
  if (nv == VL)
    for (int i = 0; i < n; i++) x[i * xs] = dttload(f, l + i * ld, io);
  else
    for (int i = 0; i < n; i++) x[i * xs] = dttloadpart(f, l + i * ld, nv, io);
}

BCR_INLINE void dttwritecols(int n, void *u, ptrdiff_t l, int nv, ptrdiff_t ld, const vec *x, const ptrdiff_t xs,
                             const int io)
{
  if (nv == VL)
    for (int i = 0; i < n; i++) dttstore(u, l + i * ld, x[i * xs], io);
  else
    for (int i = 0; i < n; i++) dttstorepart(u, l + i * ld, x[i * xs], nv, io);
}
