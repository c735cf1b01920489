/* Batches of tridiagonal lines (tri.h): tiles in and out, stored factors. Included by kernels.h. */
#include "tri.h"

/* Fields are of PetscReal: 1 where that is double and work is float. Functions have it as an argument, io */
#if defined(BCR_REAL_SINGLE) && !defined(PETSC_USE_REAL_SINGLE)
  #define TRI_IO 1
#else
  #define TRI_IO 0
#endif

/* first element in memory of a tile's row 0, lanes that hold lines */
BCR_INLINE ptrdiff_t tri_tile(const BCRTriShape *s, ptrdiff_t tile, ptrdiff_t *lanes)
{
  if (s->kind == BCR_TRI_ACROSS) {
    const ptrdiff_t i = tile % s->across * s->nv * BL;

    *lanes = s->inner - i < s->nv * BL ? s->inner - i : s->nv * BL;
    return i + s->inner * s->n * (tile / s->across);
  }
  *lanes = s->outer - tile * BL < BL ? s->outer - tile * BL : BL;
  return tile * BL * s->inner * s->n;
}

/* a row of ACROSS */
BCR_INLINE void tri_load(bun *x, const void *f, ptrdiff_t i, ptrdiff_t lanes, const int NV, const int io)
{
  if (__builtin_expect(lanes == NV * BL, 1)) {
#pragma GCC unroll 8
    for (int v = 0; v < NV; v++) x[v] = bloadio(f, i + BL * v, io);
  } else {
    for (int v = 0; v < NV; v++)
      x[v] = lanes >= BL * (v + 1) ? bloadio(f, i + BL * v, io)
                                   : (lanes > BL * v ? bloadpart(f, i + BL * v, (int)(lanes - BL * v), io) : bnull());
  }
}

/* a bundle past the caches; p on a cache line */
BCR_INLINE void tri_stream(void *u, ptrdiff_t i, bun v, const int io)
{
#if BCR_ISA == 2
  #if defined(BCR_REAL_SINGLE)
  if (io) {
    double *q = (double *)u + i;

    _mm512_stream_pd(q, _mm512_cvtps_pd(_mm512_castps512_ps256((__m512)v)));
    _mm512_stream_pd(q + 8, _mm512_cvtps_pd(_mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd((__m512)v), 1))));
    return;
  }
  _mm512_stream_ps((real *)u + i, (__m512)v);
  #else
  _mm512_stream_pd((real *)u + i, (__m512d)v);
  #endif
#elif BCR_ISA == 1 && defined(BCR_REAL_SINGLE)
  if (io) {
    double *q = (double *)u + i;

    _mm256_stream_pd(q, _mm256_cvtps_pd(_mm256_castps256_ps128((__m256)v)));
    _mm256_stream_pd(q + 4, _mm256_cvtps_pd(_mm256_extractf128_ps((__m256)v, 1)));
    return;
  }
  _mm256_stream_ps((real *)u + i, (__m256)v);
#elif BCR_ISA == 1
  _mm256_stream_pd((real *)u + i, (__m256d)v.a);
  _mm256_stream_pd((real *)u + i + VL, (__m256d)v.b);
#else
  bstoreio(u, i, v, io);
#endif
#if BCR_ISA > 0
  (void)io;
#endif
}

BCR_INLINE void tri_fence(int stream)
{
#if BCR_ISA > 0
  if (stream) _mm_sfence();
#else
  (void)stream;
#endif
}

/* whether all rows of what is written begin on cache lines */
BCR_INLINE int tri_aligned(const BCRTriShape *s, const void *u, const int io)
{
  const ptrdiff_t ld = s->kind == BCR_TRI_ACROSS ? s->inner : s->inner * s->n;

  return (uintptr_t)u % 64 == 0 && ld * (ptrdiff_t)(io ? sizeof(double) : sizeof(real)) % 64 == 0;
}

/* Rows to prefetch ahead: rows across are too far apart for the machine to see the pattern. Not
   measured apart */
#define TRI_AHEAD 8

/* all cache lines of a row of a tile, wherever it begins */
BCR_INLINE void tri_prefetch(const void *f, ptrdiff_t i, const int NV, const int io, const int write)
{
  const ptrdiff_t size = io ? (ptrdiff_t)sizeof(double) : (ptrdiff_t)sizeof(real), bytes = NV * BL * size;
  const char *p = (const char *)f + i * size;

  for (ptrdiff_t k = 0; k <= bytes; k += 64) {
    const char *at = p + (k < bytes ? k : bytes - 1);

    if (write) __builtin_prefetch(at, 1, 3);
    else __builtin_prefetch(at, 0, 3);
  }
}

BCR_INLINE void tri_store(void *u, ptrdiff_t i, const bun *x, ptrdiff_t lanes, const int NV, const int io,
                          const int stream)
{
  if (__builtin_expect(lanes == NV * BL, 1)) {
    if (stream) {
#pragma GCC unroll 8
      for (int v = 0; v < NV; v++) tri_stream(u, i + BL * v, x[v], io);
      return;
    }
#pragma GCC unroll 8
    for (int v = 0; v < NV; v++) bstoreio(u, i + BL * v, x[v], io);
  } else {
    for (int v = 0; v < NV; v++) {
      if (lanes >= BL * (v + 1)) bstoreio(u, i + BL * v, x[v], io);
      else if (lanes > BL * v) bstorepart(u, i + BL * v, x[v], (int)(lanes - BL * v), io);
    }
  }
}

/* Rows across past the caches wherever they begin. AVX-512: cache lines are put together from the
   vectors of neighbouring bundles, whose last words wait here row by row for the tile beside, that
   of the next panel too; what is left of a line at the ends of a row goes past the caches too, for
   a store that waits for its line holds up all those behind it. */
#define TRI_EDGE (64 / (ptrdiff_t)sizeof(real)) /* elements for a row */
/* Rows that wait for the next tile of their panel, at most; a power of two. Not measured apart */
#define TRI_EDGE_ROWS 128
typedef struct {
  real *words;
  ptrdiff_t mask;  /* row j has place j & mask: of all rows, or with one panel of a few */
  int first, last; /* tile of the row */
} TriEdge;

BCR_INLINE TriEdge tri_edge(real *words, ptrdiff_t panels, int first, int last)
{
  return (TriEdge){words, panels > 1 ? -1 : TRI_EDGE_ROWS - 1, first, last};
}

BCR_INLINE size_t tri_edge_work(ptrdiff_t n, ptrdiff_t panels)
{
  return (size_t)(TRI_EDGE * (panels > 1 ? n : TRI_EDGE_ROWS));
}

#if BCR_ISA == 2
/* elements from..to-1 of one vector */
BCR_INLINE void tri_bits(char *p, __m512i z, int from, int to, const int size)
{
  char t[64] __attribute__((aligned(64)));

  _mm512_store_si512(t, z);
  for (int k = from; k < to; k++) {
    if (size == 8) {
      long long x;

      __builtin_memcpy(&x, t + 8 * k, 8);
      _mm_stream_si64((long long *)p + k, x);
    } else {
      int x;

      __builtin_memcpy(&x, t + 4 * k, 4);
      _mm_stream_si32((int *)p + k, x);
    }
  }
}

BCR_INLINE __m512i tri_shift(__m512i a, __m512i b, int o, const int size)
{
  if (size == 8)
    return _mm512_permutex2var_epi64(
      a, _mm512_add_epi64(_mm512_set1_epi64(o), _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7)), b);
  return _mm512_permutex2var_epi32(
    a, _mm512_add_epi32(_mm512_set1_epi32(o), _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)),
    b);
}
#endif

BCR_INLINE void tri_out(void *u, ptrdiff_t i, const bun *x, ptrdiff_t lanes, const int NV, const int io,
                        const int stream, const TriEdge *edge, ptrdiff_t row)
{
#if BCR_ISA == 2
  if (stream) {
    const int size = io ? 8 : (int)sizeof(real), words = 64 / size, vectors = NV * BL / words;
    char *p = (char *)u + i * size;
    const int o = (int)(-(uintptr_t)p % 64) / size;
    __m512i z[2 * BCR_TRI_NV], before;

  #pragma GCC unroll 8
    for (int v = 0; v < NV; v++) {
  #if defined(BCR_REAL_SINGLE)
      if (io) {
        z[2 * v] = _mm512_castpd_si512(_mm512_cvtps_pd(_mm512_castps512_ps256((__m512)x[v])));
        z[2 * v + 1] = _mm512_castpd_si512(
          _mm512_cvtps_pd(_mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd((__m512)x[v]), 1))));
      } else z[v] = _mm512_castps_si512((__m512)x[v]);
  #else
      z[v] = _mm512_castpd_si512((__m512d)x[v]);
  #endif
    }
    before = _mm512_loadu_si512(edge->words + TRI_EDGE * (row & edge->mask));
    _mm512_storeu_si512(edge->words + TRI_EDGE * (row & edge->mask), z[vectors - 1]);
    if (o) {
      if (edge->first) tri_bits(p, z[0], 0, (int)PetscMin(o, lanes), size);
      else if (lanes >= o) _mm512_stream_si512((__m512i *)(p + size * o - 64), tri_shift(before, z[0], o, size));
      else {
        tri_bits(p - 64, before, o, words, size);
        tri_bits(p, z[0], 0, (int)lanes, size);
      }
    }
    if (__builtin_expect(lanes == NV * BL, 1)) {
      if (o == 0) {
  #pragma GCC unroll 16
        for (int v = 0; v < vectors; v++) _mm512_stream_si512((__m512i *)(p + 64 * v), z[v]);
        return;
      }
  #pragma GCC unroll 16
      for (int v = 0; v < vectors - 1; v++)
        _mm512_stream_si512((__m512i *)(p + size * o + 64 * v), tri_shift(z[v], z[v + 1], o, size));
      if (edge->last) tri_bits(p + 64 * (vectors - 1), z[vectors - 1], o, words, size);
    } else {
      for (int v = 0; v < vectors && words * v < lanes; v++) {
        if (lanes >= words * (v + 1) + o)
          _mm512_stream_si512((__m512i *)(p + size * o + 64 * v), o ? tri_shift(z[v], z[v + 1], o, size) : z[v]);
        else {
          tri_bits(p + 64 * v, z[v], o, (int)PetscMin(words, lanes - words * v), size);
          if (o && v + 1 < vectors && lanes > words * (v + 1))
            tri_bits(p + 64 * (v + 1), z[v + 1], 0, (int)PetscMin(o, lanes - words * (v + 1)), size);
        }
      }
    }
    return;
  }
#else
  (void)edge;
  (void)row;
#endif
  tri_store(u, i, x, lanes, NV, io,
            stream &&
              (uintptr_t)((const char *)u + i * (io ? (ptrdiff_t)sizeof(double) : (ptrdiff_t)sizeof(real))) % 64 == 0);
}

static __attribute__((noinline)) void BCRN(tri_out_any)(void *u, ptrdiff_t i, const bun *x, ptrdiff_t lanes,
                                                        const int NV, const int io, const int stream,
                                                        const TriEdge *edge, ptrdiff_t row)
{
  tri_out(u, i, x, lanes, NV, io, stream, edge, row);
}

/* bytes of an element of a field of type io */
BCR_INLINE ptrdiff_t tri_size(const int io)
{
  return io ? (ptrdiff_t)sizeof(double) : (ptrdiff_t)sizeof(real);
}

/* No access to memory moves across this one: a transposed block is stored line by line, each store for itself. For `cr`, 32
   lines along x past the caches, it is worth 2.5 to 1.7 ns for each unknown on an EPYC (2.9 without the prefetch, too),
   and costs 3 to 6 % in the caches. An order of the stores alone, without the barrier, does not help */
#define TRI_IN_ORDER() __asm__ volatile("" ::: "memory")

/* BL elements from k on of each of the lines of ALONG, brought to the lanes: a[e] has element k + e. len: of a line */
BCR_INLINE void tri_loadx(bun *a, const void *f, ptrdiff_t base, ptrdiff_t k, ptrdiff_t len, ptrdiff_t lanes,
                          const int io)
{
  if (__builtin_expect(lanes == BL && k + BL <= len, 1)) {
#pragma GCC unroll 16
    for (int p = 0; p < BL; p++) a[p] = bloadio(f, base + p * len + k, io);
  } else {
    for (int p = 0; p < BL; p++)
      a[p] = p >= lanes || k >= len ? bnull()
                                    : (k + BL <= len ? bloadio(f, base + p * len + k, io)
                                                     : bloadpart(f, base + p * len + k, (int)(len - k), io));
  }
  btr(a);
}

/* f of the lines of ALONG, to come soon */
BCR_INLINE void tri_ahead(const void *f, ptrdiff_t i, ptrdiff_t len, const int io)
{
  const ptrdiff_t size = io ? (ptrdiff_t)sizeof(double) : (ptrdiff_t)sizeof(real);

  for (int p = 0; p < BL; p++)
    for (ptrdiff_t k = 0; k < BL * size; k += 64) __builtin_prefetch((const char *)f + (i + p * len) * size + k, 0, 3);
}

BCR_INLINE void tri_storex(void *u, ptrdiff_t base, ptrdiff_t k, ptrdiff_t len, bun *a, ptrdiff_t lanes, const int io,
                           const int stream)
{
  btr(a);
  if (__builtin_expect(lanes == BL && k + BL <= len, 1)) {
    if (stream) {
#pragma GCC unroll 16
      for (int p = 0; p < BL; p++) tri_stream(u, base + p * len + k, a[p], io);
      return;
    }
#pragma GCC unroll 16
    for (int p = 0; p < BL; p++) {
      bstoreio(u, base + p * len + k, a[p], io);
      TRI_IN_ORDER();
    }
  } else {
    for (int p = 0; p < lanes; p++) {
      if (k + BL <= len) bstoreio(u, base + p * len + k, a[p], io);
      else if (k < len) bstorepart(u, base + p * len + k, a[p], (int)(len - k), io);
    }
  }
}

/*
  ALONG past the caches wherever lines begin. Only whole cache lines are written, for a store that
  waits for its line holds up all those behind it. Short lines: a tile is put together in a near
  cache, where it has the same place in its cache lines as in memory. Long ones: the lanes of a tile
  are lines whose first elements lie alike in their cache lines, `period` lines apart, and rows are
  counted from the beginning of that cache line on: row `shift` is the first of the line. A cache
  line with the end of one line and the beginning of the next waits in `seam` until both are there,
  that is, for the end of a group of BL * period lines. Without stream: period 1, shift 0.
*/
typedef struct {
  const void *f;
  void *u;
  ptrdiff_t len, lines, period, groups; /* of a line; in all */
  /* tile: its first line; element of row 0; from lane to lane; the tile after it, from its last row on */
  ptrdiff_t first, base, pitch, lanes, shift, next;
  int stream;
  char *seam;  /* cache lines in front of each line of the group, and one behind them; or the tile */
  char *image; /* the tile's first element there; NULL: long lines */
} TriAlong;

/* Elements to prefetch ahead, at least, and elements of a short line, at most, whose tile is put together in a near
   cache. Both came with lines along x past the caches (commit c808d56: 2.5 to 1.35 copies for lines of 32); neither was
   measured apart */
#define TRI_SOON  1024
#define TRI_IMAGE 128
/* elements for seams; lines lie alike after TRI_EDGE at most */
#define TRI_SEAM \
  (BL * PetscMax(TRI_EDGE * TRI_EDGE, TRI_IMAGE * (ptrdiff_t)(sizeof(double) / sizeof(real))) + 3 * TRI_EDGE)

/* What tiles are cut out of; one: their lanes have to be neighbours. 0: these lines cannot go past
   the caches, `stream` is not followed */
BCR_INLINE int tri_along(TriAlong *A, const BCRTriShape *s, const void *f, void *u, real *seam, int stream,
                         const int one, const int io)
{
  const ptrdiff_t size = tri_size(io), words = 64 / size;

  A->f = f;
  A->u = u;
  A->len = s->n * s->inner;
  A->lines = s->outer;
  A->period = 1;
  A->seam = (char *)(((uintptr_t)seam + 63) / 64 * 64);
  A->image = stream && A->len <= TRI_IMAGE && BL * A->len * size >= 128 ? A->seam : NULL;
  A->stream = stream && !A->image && (uintptr_t)u % (size_t)size == 0 && A->len >= 2 * words;
  if (A->stream) {
    while (A->period * A->len % words) A->period *= 2;
    if (A->period > 1 && (one || A->lines < BL * A->period)) {
      A->stream = 0;
      A->period = 1;
    }
  }
  A->groups = (A->lines + BL * A->period - 1) / (BL * A->period);
  return !stream || A->stream || A->image;
}

/* tile t of group g; 0: it has no lines */
BCR_INLINE int tri_along_tile(TriAlong *A, ptrdiff_t g, ptrdiff_t t, const int io)
{
  const ptrdiff_t size = tri_size(io), left = A->lines - BL * A->period * g - t;

  if (left <= 0) return 0;
  A->first = BL * A->period * g + t;
  A->pitch = A->period * A->len;
  A->lanes = PetscMin((left + A->period - 1) / A->period, BL);
  A->shift = A->stream ? (ptrdiff_t)((uintptr_t)((char *)A->u + A->first * A->len * size) % 64) / size : 0;
  A->base = A->first * A->len - A->shift;
  A->next = t + 1 < A->period ? 0 : (BL - 1) * A->pitch;
  if (A->image) A->image = A->seam + (uintptr_t)((char *)A->u + A->first * A->len * size) % 64;
  return 1;
}

/* rows k..k+BL-1 of the lines are nothing but rows of lines, and no cache lines that they share */
BCR_INLINE int tri_along_whole(const TriAlong *A, ptrdiff_t k, const int io)
{
  const ptrdiff_t words = 64 / tri_size(io);

  if (!A->stream) return A->lanes == BL && k + BL <= A->len;
  return A->lanes == BL && k >= (A->shift + words - 1) / words * words && k + BL <= (A->shift + A->len) / words * words;
}

/* elements from..to-1 of BL, the others zero and not read */
BCR_INLINE bun bloadclip(const void *p, ptrdiff_t i, ptrdiff_t from, ptrdiff_t to, const int io)
{
#if BCR_ISA == 2
  const unsigned m = (1u << to) - (1u << from);

  #if defined(BCR_REAL_SINGLE)
  if (io) {
    const double *q = (const double *)p + i;
    const __m256 lo = _mm512_cvtpd_ps(_mm512_maskz_loadu_pd((__mmask8)m, q)),
                 hi = _mm512_cvtpd_ps(_mm512_maskz_loadu_pd((__mmask8)(m >> 8), q + 8));

    return (bun)_mm512_castpd_ps(
      _mm512_insertf64x4(_mm512_castps_pd(_mm512_castps256_ps512(lo)), _mm256_castps_pd(hi), 1));
  }
  return (bun)_mm512_maskz_loadu_ps((__mmask16)m, (const float *)p + i);
  #else
  (void)io;
  return (bun)_mm512_maskz_loadu_pd((__mmask8)m, (const double *)p + i);
  #endif
#else
  real t[BL] __attribute__((aligned(64))) = {0};

  for (ptrdiff_t k = from; k < to; k++) t[k] = io ? (real)((const double *)p)[i + k] : ((const real *)p)[i + k];
  return bload(t);
#endif
}

static __attribute__((noinline)) void BCRN(tri_along_load_edge)(const TriAlong *A, ptrdiff_t k, bun *a, const int io)
{
  const ptrdiff_t from = PetscMin(PetscMax(A->shift - k, 0), BL),
                  to = PetscMax(PetscMin(A->shift + A->len - k, BL), from);

  for (ptrdiff_t p = 0; p < BL; p++) {
    if (p >= A->lanes || to == from) a[p] = bnull();
    else if (to - from == BL) a[p] = bloadio(A->f, A->base + A->pitch * p + k, io);
    else a[p] = bloadclip(A->f, A->base + A->pitch * p + k, from, to, io);
  }
  btr(a);
}

/* BL rows from k on, brought to the lanes: a[e] has row k + e, zero beyond the line */
BCR_INLINE void tri_along_load(const TriAlong *A, ptrdiff_t k, bun *a, const int io)
{
  if (__builtin_expect(A->lanes == BL && k >= A->shift && k + BL <= A->shift + A->len, 1)) {
#pragma GCC unroll 16
    for (int p = 0; p < BL; p++) a[p] = bloadio(A->f, A->base + p * A->pitch + k, io);
    btr(a);
  } else BCRN(tri_along_load_edge)(A, k, a, io);
}

/* 64 bytes past the caches */
BCR_INLINE void tri_stream_line(char *to, const char *from)
{
#if BCR_ISA == 2
  _mm512_stream_si512((__m512i *)to, _mm512_loadu_si512(from));
#elif BCR_ISA == 1
  _mm256_stream_si256((__m256i *)to, _mm256_loadu_si256((const __m256i *)from));
  _mm256_stream_si256((__m256i *)(to + 32), _mm256_loadu_si256((const __m256i *)(from + 32)));
#else
  __builtin_memcpy(to, from, 64);
#endif
}

/* a[p]: of lane p */
static __attribute__((noinline)) void BCRN(tri_along_store_edge)(const TriAlong *A, ptrdiff_t k, const bun *a,
                                                                 const int io)
{
  const ptrdiff_t size = tri_size(io), words = 64 / size, end = A->shift + A->len, from = PetscMax(A->shift, k),
                  to = PetscMin(end, k + BL);
  /* all of it is never read where words are short */
  char t[BL * sizeof(double)] __attribute__((aligned(64))) = {0};

  for (ptrdiff_t p = 0; A->image && p < A->lanes; p++) {
    if (k + BL <= A->len) bstoreio(A->image + p * A->len * size, k, a[p], io);
    else bstorepart(A->image + p * A->len * size, k, a[p], (int)(A->len - k), io);
  }
  for (ptrdiff_t p = 0; !A->image && p < A->lanes; p++) {
    const ptrdiff_t l = A->first % (BL * A->period) + A->period * p;
    char *u = (char *)A->u + (A->base + A->pitch * p) * size;

    bstoreio(t, 0, a[p], io);
    for (ptrdiff_t i = from, stop; i < to; i = stop) {
      const ptrdiff_t line = i / words * words;

      stop = PetscMin(line + words, to);
      if (A->stream && (line < A->shift || line + words > end))
        __builtin_memcpy(A->seam + 64 * (line < A->shift ? l : l + 1) + size * (i - line), t + size * (i - k),
                         (size_t)(size * (stop - i)));
      else if (A->stream && stop - i == words) tri_stream_line(u + size * i, t + size * (i - k));
      else __builtin_memcpy(u + size * i, t + size * (i - k), (size_t)(size * (stop - i)));
    }
  }
}

/* the same, from the lanes */
BCR_INLINE void tri_along_store(const TriAlong *A, ptrdiff_t k, bun *a, const int io)
{
  btr(a);
  if (__builtin_expect(tri_along_whole(A, k, io), 1)) {
    if (A->stream) {
#pragma GCC unroll 16
      for (int p = 0; p < BL; p++) tri_stream(A->u, A->base + p * A->pitch + k, a[p], io);
    } else {
      void *u = A->image ? (void *)A->image : A->u;
      const ptrdiff_t i = A->image ? k : A->base + k;

#pragma GCC unroll 16
      for (int p = 0; p < BL; p++) bstoreio(u, i + p * A->pitch, a[p], io);
    }
  } else BCRN(tri_along_store_edge)(A, k, a, io);
}

/* All lines of group g are done: the tile, or the cache lines between them */
static __attribute__((noinline)) void BCRN(tri_along_group)(const TriAlong *A, ptrdiff_t g, const int io)
{
  const ptrdiff_t size = tri_size(io), words = 64 / size, first = BL * A->period * g,
                  count = PetscMin(A->lines - first, BL * A->period);

  if (A->image) {
    char *u = (char *)A->u + first * A->len * size, *seam = A->seam;
    ptrdiff_t i = 0, o = (ptrdiff_t)((uintptr_t)u % 64), end = o + count * A->len * size;

    u -= o;
    if (g == 0 && o) {
      i = PetscMin(64, end);
      __builtin_memcpy(u + o, seam + o, (size_t)(i - o));
    }
    for (; i + 64 <= end; i += 64) tri_stream_line(u + i, seam + i);
    if (i < end) __builtin_memcpy(g + 1 < A->groups ? seam : u + i, seam + i, (size_t)(end - i));
    return;
  }
  if (!A->stream) return;
  for (ptrdiff_t l = 0; l <= count; l++) {
    char *u = (char *)A->u + (first + l) * A->len * size;
    const ptrdiff_t o = (ptrdiff_t)((uintptr_t)u % 64);
    const char *seam = A->seam + 64 * l;

    if (!o) continue;
    if (g == 0 && l == 0) __builtin_memcpy(u, seam + o, (size_t)(size * words - o));
    else if (first + l == A->lines) __builtin_memcpy(u - o, seam, (size_t)o);
    else if (l == count) __builtin_memcpy(A->seam, seam, 64);
    else tri_stream_line(u - o, seam);
  }
}

/* Strips of columns with stored factors: bundles in registers (AVX-512 has twice as many), bundles of a strip, rows of
   a block, of which shorter lines are one. Not measured apart: d = 2 along z 2.5 to 1.7 copies (48a3fba) */
#if BCR_ISA == 2
  #define STRIP_NV 8
#else
  #define STRIP_NV 4
#endif
#define STRIP       16
#define STRIP_ROWS  64
#define STRIP_SHORT 128
BCR_INLINE ptrdiff_t strip_rows(ptrdiff_t n)
{
  return n <= STRIP_SHORT ? n : STRIP_ROWS;
}
BCR_INLINE size_t strip_work(ptrdiff_t n, ptrdiff_t inner)
{
  const ptrdiff_t rows = strip_rows(n), blocks = (n + rows - 1) / rows;

  return (size_t)(BL * (STRIP * (blocks + 2) + STRIP_NV * rows)) + tri_edge_work(n, 1 + (inner - 1) / (BL * STRIP));
}

/* a margin of a row and of a block on either side, zero where methods look beyond the ends */
BCR_INLINE size_t tri_tile_work(const BCRTriShape *s)
{
  return (size_t)(s->n * s->nv + 2 * (s->nv + 2 * BL) + BL * s->nv) * BL;
}

static size_t BCRN(tri_work)(const BCRTriShape *s)
{
  const size_t tile = tri_tile_work(s);

  if (s->kind == BCR_TRI_LINE) return 64;
  return s->kind == BCR_TRI_ACROSS ? PetscMax(tile, strip_work(s->n, s->inner)) : tile + BL * TRI_EDGE + TRI_SEAM;
}

/* The same piece of the next tile, to come soon: of short lines, whose tiles lie one behind the other */
BCR_INLINE void tri_next(const void *f, ptrdiff_t base, ptrdiff_t k, ptrdiff_t len, const int io)
{
  const char *p = (const char *)f + (base + BL * (len + k)) * tri_size(io);

#pragma GCC unroll 32
  for (int c = 0; c < BL * BL * (int)tri_size(io); c += 64) __builtin_prefetch(p + c, 0, 3);
}

static void BCRN(tri_pack)(const BCRTriShape *s, ptrdiff_t tile, const void *f, void *work)
{
  real *w = (real *)work;
  ptrdiff_t lanes;
  const ptrdiff_t base = tri_tile(s, tile, &lanes), len = s->n * s->inner;

  if (s->kind == BCR_TRI_ACROSS) {
    for (ptrdiff_t j = 0; j < s->n; j++) {
      bun x[BCR_TRI_NV];

      tri_load(x, f, base + s->inner * j, lanes, s->nv, TRI_IO);
      for (int v = 0; v < s->nv; v++) bstore(w + BL * (s->nv * j + v), x[v]);
    }
  } else {
    for (ptrdiff_t k = 0; k < len; k += BL) {
      bun a[BL];

      if (len <= TRI_IMAGE && tile + 1 < s->tiles) tri_next(f, base, k, len, TRI_IO);
      tri_loadx(a, f, base, k, len, lanes, TRI_IO);
      for (int p = 0; p < BL; p++) bstore(w + BL * (k + p), a[p]);
    }
  }
}

static void BCRN(tri_unpack)(const BCRTriShape *s, ptrdiff_t tile, const void *work, void *u)
{
  const real *w = (const real *)work;
  ptrdiff_t lanes;
  const ptrdiff_t base = tri_tile(s, tile, &lanes), len = s->n * s->inner;

  if (s->kind == BCR_TRI_ACROSS) {
    for (ptrdiff_t j = 0; j < s->n; j++) {
      bun x[BCR_TRI_NV];

      for (int v = 0; v < s->nv; v++) x[v] = bload(w + BL * (s->nv * j + v));
      tri_store(u, base + s->inner * j, x, lanes, s->nv, TRI_IO, 0);
    }
  } else {
    for (ptrdiff_t k = 0; k < len; k += BL) {
      bun a[BL];

      for (int p = 0; p < BL; p++) a[p] = bload(w + BL * (k + p));
      tri_storex(u, base, k, len, a, lanes, TRI_IO, 0);
    }
  }
}

/* Stored factors */

BCR_INLINE ptrdiff_t tri_entry(const BCRTriFactors *t, ptrdiff_t j)
{
  return j < t->nt ? j : (j >= t->shape.n - t->nlast ? t->nt + j - (t->shape.n - t->nlast) : t->nt - 1);
}

/* entry of row j, bundle v */
BCR_INLINE bun tri_coef(const BCRTriFactors *t, const void *table, ptrdiff_t tile, ptrdiff_t j, int v, const int NV,
                        const int perline)
{
  return perline ? bload((const real *)table + BL * (NV * (t->shape.n * tile + j) + v))
                 : bset1(((const real *)table)[tri_entry(t, j)]);
}

BCR_INLINE void tri_factors_across(const BCRTriFactors *t, const void *f, void *u, real *w, ptrdiff_t tile,
                                   const int NV, const int perline, const int io, const int stream)
{
  const ptrdiff_t n = t->shape.n, ld = t->shape.inner;
  ptrdiff_t lanes;
  const ptrdiff_t base = tri_tile(&t->shape, tile, &lanes);
  bun x[BCR_TRI_NV], y[BCR_TRI_NV], s[BCR_TRI_NV], z[BCR_TRI_NV];

  for (int v = 0; v < NV; v++) y[v] = s[v] = z[v] = bnull();
  for (ptrdiff_t j = 0; j < n; j++) {
    tri_prefetch(f, base + ld * (j + TRI_AHEAD), NV, io, 0);
    tri_load(x, f, base + ld * j, lanes, NV, io);
    if (t->periodic && j == n - 1) {
      for (int v = 0; v < NV; v++) y[v] = bsub(x[v], s[v]);
    } else {
      for (int v = 0; v < NV; v++) y[v] = bfnma(tri_coef(t, t->lower, tile, j, v, NV, perline), y[v], x[v]);
      if (t->periodic)
        for (int v = 0; v < NV; v++) s[v] = bfma(tri_coef(t, t->lastrow, tile, j, v, NV, perline), y[v], s[v]);
    }
    for (int v = 0; v < NV; v++) bstore(w + BL * (NV * j + v), y[v]);
  }
  for (int v = 0; v < NV; v++) y[v] = bnull();
  for (ptrdiff_t j = n - 1; j >= 0; j--) {
    for (int v = 0; v < NV; v++) {
      y[v] = bfnma(tri_coef(t, t->upper, tile, j, v, NV, perline), y[v],
                   bmul(tri_coef(t, t->pivotinverse, tile, j, v, NV, perline), bload(w + BL * (NV * j + v))));
      if (t->periodic && j < n - 1) y[v] = bfnma(tri_coef(t, t->lastcolumn, tile, j, v, NV, perline), z[v], y[v]);
    }
    if (t->periodic && j == n - 1)
      for (int v = 0; v < NV; v++) z[v] = y[v];
    if (!stream) tri_prefetch(u, base + ld * (j - TRI_AHEAD), NV, io, 1);
    tri_store(u, base + ld * j, y, lanes, NV, io, stream);
  }
}

/*
  One set of factors for all columns: nothing of a column is kept but y at the ends of blocks of
  rows. The forward recurrence goes down all blocks but the last for that; then each block, from
  below, has it once more, f being in a cache still, and is finished. The numbers are those of the
  plain order.
*/
typedef struct {
  ptrdiff_t base, lanes;
  /* y before each block, STRIP bundles apart; unknowns below; of a periodic line what the last row
     subtracts, then its unknown */
  real *start, *below, *sum;
  TriEdge edge;
} Strip;

/* Rows j0..j1-1 forward; y: kept, NULL in the first pass */
BCR_INLINE void strip_forward(const BCRTriFactors *t, const void *f, const Strip *S, ptrdiff_t b, ptrdiff_t j0,
                              ptrdiff_t j1, real *y, ptrdiff_t next, const int PERIODIC, const int io)
{
  const ptrdiff_t n = t->shape.n, ld = t->shape.inner;
  const real *l = (const real *)t->lower, *c = (const real *)t->lastrow;
  real *start = S->start + BL * STRIP * b;
  bun x[STRIP_NV], a[STRIP_NV];

#pragma GCC unroll 8
  for (int v = 0; v < STRIP_NV; v++) a[v] = bload(start + BL * v);
  for (ptrdiff_t j = j0; j < j1; j++) {
    const ptrdiff_t e = tri_entry(t, j);
    const bun lj = bset1(l[e]);

    if (y) {
      if (j0) tri_prefetch(f, S->base + ld * (j - (j1 - j0)), STRIP_NV, io, 0);
      if (next >= 0) tri_prefetch(f, S->base + BL * STRIP + ld * (next + j - j0), STRIP_NV, io, 0);
    } else tri_prefetch(f, S->base + ld * (j + 2 * TRI_AHEAD), STRIP_NV, io, 0);
    tri_load(x, f, S->base + ld * j, S->lanes, STRIP_NV, io);
#pragma GCC unroll 8
    for (int v = 0; v < STRIP_NV; v++) {
      if (PERIODIC && j == n - 1) a[v] = bsub(x[v], bload(S->sum + BL * v));
      else a[v] = bfnma(lj, a[v], x[v]);
      if (PERIODIC && j < n - 1 && (!y || j1 == n))
        bstore(S->sum + BL * v, bfma(bset1(c[e]), a[v], bload(S->sum + BL * v)));
      if (y) bstore(y + BL * (STRIP_NV * (j - j0) + v), a[v]);
    }
  }
  if (!y) {
#pragma GCC unroll 8
    for (int v = 0; v < STRIP_NV; v++) bstore(start + BL * (STRIP + v), a[v]);
  }
}

BCR_INLINE void strip_backward(const BCRTriFactors *t, void *u, const Strip *S, ptrdiff_t j0, ptrdiff_t j1,
                               const real *y, const int PERIODIC, const int io, const int stream)
{
  const ptrdiff_t n = t->shape.n, ld = t->shape.inner;
  const real *p = (const real *)t->pivotinverse, *q = (const real *)t->upper, *c = (const real *)t->lastcolumn;
  bun a[STRIP_NV];

#pragma GCC unroll 8
  for (int v = 0; v < STRIP_NV; v++) a[v] = bload(S->below + BL * v);
  for (ptrdiff_t j = j1 - 1; j >= j0; j--) {
    const ptrdiff_t e = tri_entry(t, j);
    const bun pj = bset1(p[e]), qj = bset1(q[e]);

#pragma GCC unroll 8
    for (int v = 0; v < STRIP_NV; v++) {
      a[v] = bfnma(qj, a[v], bmul(pj, bload(y + BL * (STRIP_NV * (j - j0) + v))));
      if (PERIODIC && j < n - 1) a[v] = bfnma(bset1(c[e]), bload(S->sum + BL * v), a[v]);
      if (PERIODIC && j == n - 1) bstore(S->sum + BL * v, a[v]);
    }
    if (!stream) tri_prefetch(u, S->base + ld * (j - TRI_AHEAD), STRIP_NV, io, 1);
    tri_out(u, S->base + ld * j, a, S->lanes, STRIP_NV, io, stream, &S->edge, j);
  }
#pragma GCC unroll 8
  for (int v = 0; v < STRIP_NV; v++) bstore(S->below + BL * v, a[v]);
}

BCR_INLINE void tri_factors_strips(const BCRTriFactors *t, const void *f, void *u, real *work, const int PERIODIC,
                                   const int io, const int stream)
{
  const ptrdiff_t n = t->shape.n, rows = strip_rows(n), blocks = (n + rows - 1) / rows, width = BL * STRIP;
  real *y = work + BL * STRIP * (blocks + 2);

  for (ptrdiff_t o = 0; o < t->shape.outer; o++)
    for (ptrdiff_t i = 0; i < t->shape.inner; i += width) {
      const ptrdiff_t lanes = PetscMin(width, t->shape.inner - i), subs = (lanes + BL * STRIP_NV - 1) / (BL * STRIP_NV);
      Strip S[STRIP / STRIP_NV];

      for (ptrdiff_t c = 0; c < subs; c++) {
        S[c].base = i + t->shape.inner * n * o + BL * STRIP_NV * c;
        S[c].lanes = PetscMin(lanes - BL * STRIP_NV * c, BL * STRIP_NV);
        S[c].start = work + BL * STRIP_NV * c;
        S[c].below = S[c].start + BL * STRIP * blocks;
        S[c].sum = S[c].below + BL * STRIP;
        S[c].edge = tri_edge(y + BL * STRIP_NV * rows, 1 + (t->shape.inner - 1) / width, i == 0 && c == 0,
                             i + width >= t->shape.inner && c == subs - 1);
        for (int v = 0; v < STRIP_NV; v++) {
          bstore(S[c].start + BL * v, bnull());
          bstore(S[c].below + BL * v, bnull());
          bstore(S[c].sum + BL * v, bnull());
        }
      }
      for (ptrdiff_t b = 0; b < blocks - 1; b++)
        for (ptrdiff_t c = 0; c < subs; c++)
          strip_forward(t, f, &S[c], b, rows * b, rows * (b + 1), NULL, -1, PERIODIC, io);
      for (ptrdiff_t b = blocks - 1; b >= 0; b--)
        for (ptrdiff_t c = 0; c < subs; c++) {
          const ptrdiff_t j0 = rows * b, j1 = PetscMin(j0 + rows, n);

          strip_forward(t, f, &S[c], b, j0, j1, y, i + width < t->shape.inner ? rows * (blocks - 1 - b) : -1, PERIODIC,
                        io);
          strip_backward(t, u, &S[c], j0, j1, y, PERIODIC, io, stream);
        }
    }
}

/* A tile of ALONG: element e of the lines is at k = shift + e; w: k = 0 */
BCR_INLINE void tri_factors_along(const BCRTriFactors *t, const TriAlong *A, real *w, const int NV, const int perline,
                                  const int PERIODIC, const int io)
{
  /* perline: tiles of neighbours */
  const ptrdiff_t n = t->shape.n, begin = A->shift, end = begin + n * NV, tile = A->first / BL;
  bun s[BCR_TRI_NV], z[BCR_TRI_NV], a[BL];

  for (int v = 0; v < NV; v++) {
    s[v] = z[v] = bnull();
    bstore(w + BL * (begin + v - NV), bnull());
    bstore(w + BL * (end + v), bnull());
  }
  for (ptrdiff_t k = 0, j = 0, v = 0; k < end; k += BL) {
    tri_along_load(A, k, a, io);
    if (NV == 1 && !perline && !PERIODIC && k >= begin && k + BL <= end &&
        (j + BL <= t->nt || (j >= t->nt - 1 && j + BL <= n - t->nlast))) {
      const ptrdiff_t step = j + BL <= t->nt ? 1 : 0;
      const real *l = (const real *)t->lower + (step ? j : t->nt - 1);
      bun y = bload(w + BL * (k - 1));

#pragma GCC unroll 16
      for (int p = 0; p < BL; p++) {
        y = bfnma(bset1(l[step * p]), y, a[p]);
        bstore(w + BL * (k + p), y);
      }
      j += BL;
      continue;
    }
    for (ptrdiff_t p = PetscMax(begin - k, 0); p < BL && k + p < end; p++) {
      real *y = w + BL * (k + p);

      if (PERIODIC && j == n - 1) bstore(y, bsub(a[p], s[v]));
      else {
        const bun yp = bfnma(tri_coef(t, t->lower, tile, j, (int)v, NV, perline), bload(y - BL * NV), a[p]);

        bstore(y, yp);
        if (PERIODIC) s[v] = bfma(tri_coef(t, t->lastrow, tile, j, (int)v, NV, perline), yp, s[v]);
      }
      if (++v == NV) {
        v = 0;
        j++;
      }
    }
  }
  for (int v = 0; v < NV; v++) bstore(w + BL * (end + v), bnull());
  for (ptrdiff_t k = (end - 1) / BL * BL, j = n - 1, v = NV - 1, ahead = 0; k >= 0; k -= BL, ahead += BL) {
    /* the next tile, from its beginning on; of short lines a later one */
    if (A->first + A->lanes < A->lines)
      tri_ahead(A->f, A->base + PetscMax(A->len + A->next, TRI_SOON) + ahead, A->pitch, io);
    if (NV == 1 && !perline && !PERIODIC && k >= begin && k + BL <= end &&
        (k - begin + BL <= t->nt || (k - begin >= t->nt - 1 && k - begin + BL <= n - t->nlast))) {
      const ptrdiff_t step = k - begin + BL <= t->nt ? 1 : 0;
      const real *P = (const real *)t->pivotinverse + (step ? k - begin : t->nt - 1),
                 *Q = (const real *)t->upper + (step ? k - begin : t->nt - 1);
      bun y = bload(w + BL * (k + BL));

#pragma GCC unroll 16
      for (int p = BL - 1; p >= 0; p--)
        a[p] = y = bfnma(bset1(Q[step * p]), y, bmul(bset1(P[step * p]), bload(w + BL * (k + p))));
      bstore(w + BL * k, y);
      j -= BL;
      tri_along_store(A, k, a, io);
      continue;
    }
    for (int p = BL - 1; p >= 0; p--) {
      real *y = w + BL * (k + p);

      if (k + p >= end || k + p < begin) {
        a[p] = bnull();
        continue;
      }
      a[p] = bfnma(tri_coef(t, t->upper, tile, j, (int)v, NV, perline), bload(y + BL * NV),
                   bmul(tri_coef(t, t->pivotinverse, tile, j, (int)v, NV, perline), bload(y)));
      if (PERIODIC) {
        if (j == n - 1) z[v] = a[p];
        else a[p] = bfnma(tri_coef(t, t->lastcolumn, tile, j, (int)v, NV, perline), z[v], a[p]);
      }
      bstore(y, a[p]);
      if (--v < 0) {
        v = NV - 1;
        j--;
      }
    }
    tri_along_store(A, k, a, io);
  }
}

BCR_INLINE void tri_factors_tiles(const BCRTriFactors *t, const void *f, void *u, real *work, const int NV,
                                  const int perline, const int PERIODIC, const int io)
{
  real *w = work + BL * (t->shape.nv + 2 * BL);
  TriAlong A;

  tri_along(&A, &t->shape, f, u, work + tri_tile_work(&t->shape) + BL * TRI_EDGE, t->stream, perline, io);
  for (ptrdiff_t g = 0; g < A.groups; g++) {
    for (ptrdiff_t tile = 0; tile < A.period && tri_along_tile(&A, g, tile, io); tile++)
      tri_factors_along(t, &A, w, NV, perline, PERIODIC, io);
    BCRN(tri_along_group)(&A, g, io);
  }
}

BCR_INLINE void tri_factors_perline(const BCRTriFactors *t, const void *f, void *u, real *work, const int NV,
                                    const int io)
{
  const int stream = t->stream && tri_aligned(&t->shape, u, io);

  for (ptrdiff_t tile = 0; tile < t->shape.tiles; tile++)
    tri_factors_across(t, f, u, work + BL * (t->shape.nv + 2 * BL), tile, NV, 1, io, stream);
}

BCR_INLINE real tri_get(const void *f, ptrdiff_t i, const int io)
{
#if defined(BCR_REAL_SINGLE)
  if (io) return (real)((const double *)f)[i];
#else
  (void)io;
#endif
  return ((const real *)f)[i];
}

BCR_INLINE void tri_set(void *u, ptrdiff_t i, real x, const int io)
{
#if defined(BCR_REAL_SINGLE)
  if (io) {
    ((double *)u)[i] = x;
    return;
  }
#else
  (void)io;
#endif
  ((real *)u)[i] = x;
}

BCR_INLINE void tri_factors_line(const BCRTriFactors *t, const void *f, void *u, ptrdiff_t line, const int io)
{
  const ptrdiff_t n = t->shape.n, ld = t->shape.inner, base = line % ld + ld * n * (line / ld),
                  c = t->perline ? n * line : 0;
  const real *l = (const real *)t->lower + c, *p = (const real *)t->pivotinverse + c, *q = (const real *)t->upper + c,
             *r = (const real *)t->lastrow + c, *e = (const real *)t->lastcolumn + c;
  real y = 0, s = 0, z = 0;

  for (ptrdiff_t j = 0; j < n; j++) {
    const ptrdiff_t k = tri_entry(t, j);
    const real g = tri_get(f, base + ld * j, io);

    if (t->periodic && j == n - 1) y = g - s;
    else {
      y = g - l[k] * y;
      if (t->periodic) s += r[k] * y;
    }
    tri_set(u, base + ld * j, y, io);
  }
  y = 0;
  for (ptrdiff_t j = n - 1; j >= 0; j--) {
    const ptrdiff_t k = tri_entry(t, j);

    y = p[k] * tri_get(u, base + ld * j, io) - q[k] * y;
    if (t->periodic) {
      if (j == n - 1) z = y;
      else y -= e[k] * z;
    }
    tri_set(u, base + ld * j, y, io);
  }
}

BCR_INLINE void tri_factors_lines(const BCRTriFactors *t, const void *f, void *u, const int io)
{
  for (ptrdiff_t line = 0; line < t->shape.tiles; line++) tri_factors_line(t, f, u, line, io);
}

/* A function of all tiles for each set of a kernel's constant arguments: what a compiler needs for a function grows
   faster than its length (GCC 12 at -O3: tri_f0.c with all of them in two functions 90 s, so 22 s, 12 s of it for
   fields of double, the only ones there are where PETSc is not in single precision) */
#define TRI_KERNEL(name, Type, call) \
  static __attribute__((noinline)) void BCRN(name)(const Type *t, const void *f, void *u, real *work) \
  { \
    call; \
  }
TRI_KERNEL(factors_along, BCRTriFactors, tri_factors_tiles(t, f, u, work, 1, 0, 0, TRI_IO))
TRI_KERNEL(factors_along_periodic, BCRTriFactors, tri_factors_tiles(t, f, u, work, 1, 0, t->periodic, TRI_IO))
TRI_KERNEL(factors_along_perline, BCRTriFactors, tri_factors_tiles(t, f, u, work, 1, 1, t->periodic, TRI_IO))
TRI_KERNEL(factors_along_few, BCRTriFactors,
           tri_factors_tiles(t, f, u, work, t->shape.nv, t->perline, t->periodic, TRI_IO))
TRI_KERNEL(factors_line, BCRTriFactors, (void)work; tri_factors_lines(t, f, u, TRI_IO))
TRI_KERNEL(factors_strips, BCRTriFactors, tri_factors_strips(t, f, u, work, 0, TRI_IO, 0))
TRI_KERNEL(factors_strips_periodic, BCRTriFactors, tri_factors_strips(t, f, u, work, 1, TRI_IO, t->stream))
TRI_KERNEL(factors_strips_stream, BCRTriFactors, tri_factors_strips(t, f, u, work, 0, TRI_IO, 1))
TRI_KERNEL(factors_across4, BCRTriFactors, tri_factors_perline(t, f, u, work, 4, TRI_IO))
TRI_KERNEL(factors_across, BCRTriFactors, tri_factors_perline(t, f, u, work, t->shape.nv, TRI_IO))

static void BCRN(tri_factors)(const BCRTriFactors *t, const void *f, void *u, void *work)
{
  if (t->shape.kind == BCR_TRI_LINE) BCRN(factors_line)(t, f, u, work);
  else if (t->shape.kind == BCR_TRI_ALONG) {
    if (t->shape.nv > 1) BCRN(factors_along_few)(t, f, u, work);
    else if (t->perline) BCRN(factors_along_perline)(t, f, u, work);
    else if (t->periodic) BCRN(factors_along_periodic)(t, f, u, work);
    else BCRN(factors_along)(t, f, u, work);
  } else if (t->perline) {
    if (t->shape.nv == 4) BCRN(factors_across4)(t, f, u, work);
    else BCRN(factors_across)(t, f, u, work);
  } else {
    if (t->periodic) BCRN(factors_strips_periodic)(t, f, u, work);
    else if (t->stream) BCRN(factors_strips_stream)(t, f, u, work);
    else BCRN(factors_strips)(t, f, u, work);
  }
  tri_fence(t->stream);
}

#include "triscan_kernels.h"
