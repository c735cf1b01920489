/* Batches of tridiagonal lines (tri.h): tiles in and out, stored factors. Included by kernels.h. */
#include "tri.h"

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
    for (int v = 0; v < NV; v++) x[v] = lanes >= BL * (v + 1) ? bloadio(f, i + BL * v, io) : (lanes > BL * v ? bloadpart(f, i + BL * v, (int)(lanes - BL * v), io) : bnull());
  }
}

/* a bundle past the caches; p on a cache line */
BCR_INLINE void tri_stream(real *p, bun v)
{
#if BCR_ISA == 2 && defined(BCR_REAL_SINGLE)
  _mm512_stream_ps(p, (__m512)v);
#elif BCR_ISA == 2
  _mm512_stream_pd(p, (__m512d)v);
#else
  bstore(p, v);
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
BCR_INLINE int tri_aligned(const BCRTriShape *s, const void *u)
{
  const ptrdiff_t ld = s->kind == BCR_TRI_ACROSS ? s->inner : s->inner * s->n;

  return (uintptr_t)u % 64 == 0 && ld * (ptrdiff_t)sizeof(real) % 64 == 0;
}

#define TRI_AHEAD 8 /* rows to prefetch ahead: rows across are too far apart for the machine to see the pattern */

BCR_INLINE void tri_prefetch(const void *f, ptrdiff_t i, const int NV, const int io, const int write)
{
  const char *p = (const char *)f + i * (io ? (ptrdiff_t)sizeof(double) : (ptrdiff_t)sizeof(real));

  for (ptrdiff_t k = 0; k < (ptrdiff_t)(NV * BL * (io ? sizeof(double) : sizeof(real))); k += 64) {
    if (write) __builtin_prefetch(p + k, 1, 3);
    else __builtin_prefetch(p + k, 0, 3);
  }
}

BCR_INLINE void tri_store(void *u, ptrdiff_t i, const bun *x, ptrdiff_t lanes, const int NV, const int io, const int stream)
{
  if (__builtin_expect(lanes == NV * BL, 1)) {
    if (!io && stream) {
#pragma GCC unroll 8
      for (int v = 0; v < NV; v++) tri_stream((real *)u + i + BL * v, x[v]);
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

/* BL elements from k on of each of the lines of ALONG, brought to the lanes: a[e] has element k + e. len: of a line */
BCR_INLINE void tri_loadx(bun *a, const void *f, ptrdiff_t base, ptrdiff_t k, ptrdiff_t len, ptrdiff_t lanes, const int io)
{
  if (__builtin_expect(lanes == BL && k + BL <= len, 1)) {
#pragma GCC unroll 16
    for (int p = 0; p < BL; p++) a[p] = bloadio(f, base + p * len + k, io);
  } else {
    for (int p = 0; p < BL; p++) a[p] = p >= lanes || k >= len ? bnull() : (k + BL <= len ? bloadio(f, base + p * len + k, io) : bloadpart(f, base + p * len + k, (int)(len - k), io));
  }
  btr(a);
}

BCR_INLINE void tri_storex(void *u, ptrdiff_t base, ptrdiff_t k, ptrdiff_t len, bun *a, ptrdiff_t lanes, const int io, const int stream)
{
  btr(a);
  if (__builtin_expect(lanes == BL && k + BL <= len, 1)) {
    if (!io && stream) {
#pragma GCC unroll 16
      for (int p = 0; p < BL; p++) tri_stream((real *)u + base + p * len + k, a[p]);
      return;
    }
#pragma GCC unroll 16
    for (int p = 0; p < BL; p++) bstoreio(u, base + p * len + k, a[p], io);
  } else {
    for (int p = 0; p < lanes; p++) {
      if (k + BL <= len) bstoreio(u, base + p * len + k, a[p], io);
      else if (k < len) bstorepart(u, base + p * len + k, a[p], (int)(len - k), io);
    }
  }
}

/* a margin of a row and of a block on either side, zero where methods look beyond the ends */
static size_t BCRN(tri_work)(const BCRTriShape *s)
{
  return s->kind == BCR_TRI_LINE ? 64 : (size_t)(s->n * s->nv + 2 * (s->nv + 2 * BL) + BL * s->nv) * BL;
}

static void BCRN(tri_pack)(const BCRTriShape *s, int io, ptrdiff_t tile, const void *f, void *work)
{
  real           *w = (real *)work;
  ptrdiff_t       lanes;
  const ptrdiff_t base = tri_tile(s, tile, &lanes), len = s->n * s->inner;

  if (s->kind == BCR_TRI_ACROSS) {
    for (ptrdiff_t j = 0; j < s->n; j++) {
      bun x[BCR_TRI_NV];

      if (io) tri_load(x, f, base + s->inner * j, lanes, s->nv, 1);
      else tri_load(x, f, base + s->inner * j, lanes, s->nv, 0);
      for (int v = 0; v < s->nv; v++) bstore(w + BL * (s->nv * j + v), x[v]);
    }
  } else {
    for (ptrdiff_t k = 0; k < len; k += BL) {
      bun a[BL];

      if (io) tri_loadx(a, f, base, k, len, lanes, 1);
      else tri_loadx(a, f, base, k, len, lanes, 0);
      for (int p = 0; p < BL; p++) bstore(w + BL * (k + p), a[p]);
    }
  }
}

static void BCRN(tri_unpack)(const BCRTriShape *s, int io, ptrdiff_t tile, const void *work, void *u)
{
  const real     *w = (const real *)work;
  ptrdiff_t       lanes;
  const ptrdiff_t base = tri_tile(s, tile, &lanes), len = s->n * s->inner;

  if (s->kind == BCR_TRI_ACROSS) {
    for (ptrdiff_t j = 0; j < s->n; j++) {
      bun x[BCR_TRI_NV];

      for (int v = 0; v < s->nv; v++) x[v] = bload(w + BL * (s->nv * j + v));
      if (io) tri_store(u, base + s->inner * j, x, lanes, s->nv, 1, 0);
      else tri_store(u, base + s->inner * j, x, lanes, s->nv, 0, 0);
    }
  } else {
    for (ptrdiff_t k = 0; k < len; k += BL) {
      bun a[BL];

      for (int p = 0; p < BL; p++) a[p] = bload(w + BL * (k + p));
      if (io) tri_storex(u, base, k, len, a, lanes, 1, 0);
      else tri_storex(u, base, k, len, a, lanes, 0, 0);
    }
  }
}

/* Stored factors */

BCR_INLINE ptrdiff_t tri_entry(const BCRTriFactors *t, ptrdiff_t j)
{
  return j < t->nt ? j : (j >= t->shape.n - t->nlast ? t->nt + j - (t->shape.n - t->nlast) : t->nt - 1);
}

/* entry of row j, bundle v */
BCR_INLINE bun tri_coef(const BCRTriFactors *t, const void *table, ptrdiff_t tile, ptrdiff_t j, int v, const int NV, const int perline)
{
  return perline ? bload((const real *)table + BL * (NV * (t->shape.n * tile + j) + v)) : bset1(((const real *)table)[tri_entry(t, j)]);
}

BCR_INLINE void tri_factors_across(const BCRTriFactors *t, const void *f, void *u, real *w, ptrdiff_t tile, const int NV, const int perline, const int io, const int stream)
{
  const ptrdiff_t n = t->shape.n, ld = t->shape.inner;
  ptrdiff_t       lanes;
  const ptrdiff_t base = tri_tile(&t->shape, tile, &lanes);
  bun             x[BCR_TRI_NV], y[BCR_TRI_NV], s[BCR_TRI_NV], z[BCR_TRI_NV];

  for (int v = 0; v < NV; v++) y[v] = s[v] = z[v] = bnull();
  for (ptrdiff_t j = 0; j < n; j++) {
    tri_prefetch(f, base + ld * (j + TRI_AHEAD), NV, io, 0);
    tri_load(x, f, base + ld * j, lanes, NV, io);
    if (t->periodic && j == n - 1) {
      for (int v = 0; v < NV; v++) y[v] = bsub(x[v], s[v]);
    } else {
      for (int v = 0; v < NV; v++) y[v] = bfnma(tri_coef(t, t->l, tile, j, v, NV, perline), y[v], x[v]);
      if (t->periodic)
        for (int v = 0; v < NV; v++) s[v] = bfma(tri_coef(t, t->r, tile, j, v, NV, perline), y[v], s[v]);
    }
    for (int v = 0; v < NV; v++) bstore(w + BL * (NV * j + v), y[v]);
  }
  for (int v = 0; v < NV; v++) y[v] = bnull();
  for (ptrdiff_t j = n - 1; j >= 0; j--) {
    for (int v = 0; v < NV; v++) {
      y[v] = bfnma(tri_coef(t, t->q, tile, j, v, NV, perline), y[v], bmul(tri_coef(t, t->p, tile, j, v, NV, perline), bload(w + BL * (NV * j + v))));
      if (t->periodic && j < n - 1) y[v] = bfnma(tri_coef(t, t->e, tile, j, v, NV, perline), z[v], y[v]);
    }
    if (t->periodic && j == n - 1)
      for (int v = 0; v < NV; v++) z[v] = y[v];
    if (!stream) tri_prefetch(u, base + ld * (j - TRI_AHEAD), NV, io, 1);
    tri_store(u, base + ld * j, y, lanes, NV, io, stream);
  }
}

BCR_INLINE void tri_factors_along(const BCRTriFactors *t, const void *f, void *u, real *w, ptrdiff_t tile, const int NV, const int perline, const int io, const int stream)
{
  const ptrdiff_t n = t->shape.n, len = n * NV;
  ptrdiff_t       lanes;
  const ptrdiff_t base = tri_tile(&t->shape, tile, &lanes);
  bun             s[BCR_TRI_NV], z[BCR_TRI_NV], a[BL];

  for (int v = 0; v < NV; v++) {
    s[v] = z[v] = bnull();
    bstore(w + BL * (v - NV), bnull());
    bstore(w + BL * (len + v), bnull());
  }
  for (ptrdiff_t k = 0, j = 0, v = 0; k < len; k += BL) {
    tri_loadx(a, f, base, k, len, lanes, io);
    if (NV == 1 && !perline && !t->periodic && k && k + BL <= len && (k + BL <= t->nt || (k >= t->nt - 1 && k + BL <= n - t->nlast))) {
      const ptrdiff_t step = k + BL <= t->nt ? 1 : 0;
      const real     *l    = (const real *)t->l + (step ? k : t->nt - 1);
      bun             y    = bload(w + BL * (k - 1));

#pragma GCC unroll 16
      for (int p = 0; p < BL; p++) {
        y = bfnma(bset1(l[step * p]), y, a[p]);
        bstore(w + BL * (k + p), y);
      }
      j += BL;
      continue;
    }
    for (int p = 0; p < BL && k + p < len; p++) {
      real *y = w + BL * (k + p);

      if (t->periodic && j == n - 1) bstore(y, bsub(a[p], s[v]));
      else {
        const bun yp = bfnma(tri_coef(t, t->l, tile, j, (int)v, NV, perline), bload(y - BL * NV), a[p]);

        bstore(y, yp);
        if (t->periodic) s[v] = bfma(tri_coef(t, t->r, tile, j, (int)v, NV, perline), yp, s[v]);
      }
      if (++v == NV) {
        v = 0;
        j++;
      }
    }
  }
  for (int v = 0; v < NV; v++) bstore(w + BL * (len + v), bnull());
  for (ptrdiff_t k = (len - 1) / BL * BL, j = n - 1, v = NV - 1; k >= 0; k -= BL) {
    if (NV == 1 && !perline && !t->periodic && k + BL < len && (k + BL <= t->nt || (k >= t->nt - 1 && k + BL <= n - t->nlast))) {
      const ptrdiff_t step = k + BL <= t->nt ? 1 : 0;
      const real     *P = (const real *)t->p + (step ? k : t->nt - 1), *Q = (const real *)t->q + (step ? k : t->nt - 1);
      bun             y = bload(w + BL * (k + BL));

#pragma GCC unroll 16
      for (int p = BL - 1; p >= 0; p--) a[p] = y = bfnma(bset1(Q[step * p]), y, bmul(bset1(P[step * p]), bload(w + BL * (k + p))));
      bstore(w + BL * k, y);
      j -= BL;
      tri_storex(u, base, k, len, a, lanes, io, stream);
      continue;
    }
    for (int p = BL - 1; p >= 0; p--) {
      real *y = w + BL * (k + p);

      if (k + p >= len) {
        a[p] = bnull();
        continue;
      }
      a[p] = bfnma(tri_coef(t, t->q, tile, j, (int)v, NV, perline), bload(y + BL * NV), bmul(tri_coef(t, t->p, tile, j, (int)v, NV, perline), bload(y)));
      if (t->periodic) {
        if (j == n - 1) z[v] = a[p];
        else a[p] = bfnma(tri_coef(t, t->e, tile, j, (int)v, NV, perline), z[v], a[p]);
      }
      bstore(y, a[p]);
      if (--v < 0) {
        v = NV - 1;
        j--;
      }
    }
    tri_storex(u, base, k, len, a, lanes, io, stream);
  }
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
  const ptrdiff_t n = t->shape.n, ld = t->shape.inner, base = line % ld + ld * n * (line / ld), c = t->perline ? n * line : 0;
  const real     *l = (const real *)t->l + c, *p = (const real *)t->p + c, *q = (const real *)t->q + c, *r = (const real *)t->r + c, *e = (const real *)t->e + c;
  real            y = 0, s = 0, z = 0;

  for (ptrdiff_t j = 0; j < n; j++) {
    const ptrdiff_t k = tri_entry(t, j);
    const real      g = tri_get(f, base + ld * j, io);

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

BCR_INLINE void tri_factors_io(const BCRTriFactors *t, const void *f, void *u, real *work, const int io)
{
  real     *w  = work + BL * (t->shape.nv + 2 * BL);
  const int nv = t->shape.nv, stream = t->stream && tri_aligned(&t->shape, u);

  if (t->shape.kind == BCR_TRI_LINE) {
    for (ptrdiff_t line = 0; line < t->shape.tiles; line++) tri_factors_line(t, f, u, line, io);
    return;
  }
  for (ptrdiff_t tile = 0; tile < t->shape.tiles; tile++) {
    if (t->shape.kind == BCR_TRI_ALONG) {
      if (nv == 1) {
        if (t->perline) tri_factors_along(t, f, u, w, tile, 1, 1, io, stream);
        else tri_factors_along(t, f, u, w, tile, 1, 0, io, stream);
      } else tri_factors_along(t, f, u, w, tile, nv, t->perline, io, stream);
    } else {
      if (t->perline) {
        if (nv == 4) tri_factors_across(t, f, u, w, tile, 4, 1, io, stream);
        else tri_factors_across(t, f, u, w, tile, nv, 1, io, stream);
      } else {
        if (nv == 8) tri_factors_across(t, f, u, w, tile, 8, 0, io, stream);
        else tri_factors_across(t, f, u, w, tile, nv, 0, io, stream);
      }
    }
  }
}

static void BCRN(tri_factors)(const BCRTriFactors *t, int io, const void *f, void *u, void *work)
{
#if defined(BCR_REAL_SINGLE)
  if (io) {
    tri_factors_io(t, f, u, (real *)work, 1);
    return;
  }
#endif
  (void)io;
  tri_factors_io(t, f, u, (real *)work, 0);
  tri_fence(t->stream);
}

#include "triscan_kernels.h"
