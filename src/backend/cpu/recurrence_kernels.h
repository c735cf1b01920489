/* First-order recurrences (recurrence.h). Included by kernels.h after lanes.h. */
#include "recurrence.h"
#include <string.h>

#define RL ((int)(BCR_RECUR_BYTES / sizeof(real))) /* lanes */
#define RV (RL / VL)                               /* vectors in a row of lanes */
/* Rows of lanes in a tile, a multiple of BL: 8 KiB, and as much for coefficients, stay in a first-level cache. Not
   measured apart */
#define RTILE 64

#if defined(BCR_REAL_SINGLE)
typedef double rother;
  #define RECUR_IO(b) ((b)->other) /* as in lanes.h: memory of double */
  #define RREALMIN    1.17549435e-38f
#else
typedef float rother;
  #define RECUR_IO(b) 0
  #define RREALMIN    2.2250738585072014e-308
#endif

BCR_INLINE vec rmax(vec a, vec b) /* a where b is NaN */
{
#if BCR_ISA == 2 && defined(BCR_REAL_SINGLE)
  return (vec)_mm512_max_ps((__m512)b, (__m512)a);
#elif BCR_ISA == 2
  return (vec)_mm512_max_pd((__m512d)b, (__m512d)a);
#elif BCR_ISA == 1 && defined(BCR_REAL_SINGLE)
  return (vec)_mm256_max_ps((__m256)b, (__m256)a);
#elif BCR_ISA == 1
  return (vec)_mm256_max_pd((__m256d)b, (__m256d)a);
#else
  vec r = a;

  for (int i = 0; i < VL; i++) r[i] = b[i] > a[i] ? b[i] : a[i];
  return r;
#endif
}

/* nr rows of lanes (a row is one real of each lane) from memory, first row at offset r0 of the elements' reals */
BCR_INLINE void recur_in(const BCRRecurBundle *b, const void *p, ptrdiff_t r0, int nr, real *tile)
{
  const int nl = b->lanes, w = b->width, io = RECUR_IO(b);

  if (b->other && (b->plain || !io || (b->adjacent ? nl < RL : b->step != w))) {
    for (int r = 0; r < nr; r++) {
      const rother *q = (const rother *)p + (r0 + r) / w * b->step + (r0 + r) % w;

      for (int l = 0; l < nl; l++) tile[r * RL + l] = (real)q[b->at[l]];
      for (int l = nl; l < RL; l++) tile[r * RL + l] = 0;
    }
    return;
  }
  if (b->adjacent) {
    for (int r = 0; r < nr; r++) {
      const ptrdiff_t q = b->at[0] + (r0 + r) * b->step;

      if (nl == RL) {
        for (int l = 0; l < RL; l += BL) bstore(tile + r * RL + l, bloadio(p, q + l, io));
      } else {
        memcpy(tile + r * RL, (const real *)p + q, (size_t)nl * sizeof(real));
        for (int l = nl; l < RL; l++) tile[r * RL + l] = 0;
      }
    }
    return;
  }
  if (b->step == w && !b->plain) {
    for (int l = 0; l < RL; l += BL) {
      int r = 0;

      for (; r + BL <= nr; r += BL) {
        bun t[BL];

        for (int i = 0; i < BL; i++) t[i] = bloadio(p, b->at[l + i < nl ? l + i : 0] + r0 + r, io);
        btr(t);
        for (int i = 0; i < BL; i++) bstore(tile + (r + i) * RL + l, t[i]);
      }
      for (; r < nr; r++) {
        for (int i = 0; i < BL; i++) {
          const ptrdiff_t at = b->at[l + i < nl ? l + i : 0] + r0 + r;

          tile[r * RL + l + i] = io ? (real)((const rother *)p)[at] : ((const real *)p)[at];
        }
      }
    }
    return;
  }
  for (int r = 0; r < nr; r++) {
    const real *q = (const real *)p + (r0 + r) / w * b->step + (r0 + r) % w;

    for (int l = 0; l < nl; l++) tile[r * RL + l] = q[b->at[l]];
    for (int l = nl; l < RL; l++) tile[r * RL + l] = 0;
  }
}

BCR_INLINE void recur_out(const BCRRecurBundle *b, void *p, ptrdiff_t r0, int nr, const real *tile)
{
  const int nl = b->lanes, w = b->width, io = RECUR_IO(b);

  if (b->other && (b->plain || !io || (b->adjacent ? nl < RL : b->step != w))) {
    for (int r = 0; r < nr; r++) {
      rother *q = (rother *)p + (r0 + r) / w * b->step + (r0 + r) % w;

      for (int l = 0; l < nl; l++) q[b->at[l]] = (rother)tile[r * RL + l];
    }
    return;
  }
  if (b->adjacent) {
    for (int r = 0; r < nr; r++) {
      const ptrdiff_t q = b->at[0] + (r0 + r) * b->step;

      if (nl == RL) {
        for (int l = 0; l < RL; l += BL) bstoreio(p, q + l, bload(tile + r * RL + l), io);
      } else memcpy((real *)p + q, tile + r * RL, (size_t)nl * sizeof(real));
    }
    return;
  }
  if (b->step == w && !b->plain) {
    for (int l = 0; l < nl; l += BL) {
      int r = 0;

      for (; r + BL <= nr; r += BL) {
        bun t[BL];

        for (int i = 0; i < BL; i++) t[i] = bload(tile + (r + i) * RL + l);
        btr(t);
        for (int i = 0; i < BL && l + i < nl; i++) bstoreio(p, b->at[l + i] + r0 + r, t[i], io);
      }
      for (; r < nr; r++) {
        for (int i = 0; i < BL && l + i < nl; i++) {
          if (io) ((rother *)p)[b->at[l + i] + r0 + r] = (rother)tile[r * RL + l + i];
          else ((real *)p)[b->at[l + i] + r0 + r] = tile[r * RL + l + i];
        }
      }
    }
    return;
  }
  for (int r = 0; r < nr; r++) {
    real *q = (real *)p + (r0 + r) / w * b->step + (r0 + r) % w;

    for (int l = 0; l < nl; l++) q[b->at[l]] = tile[r * RL + l];
  }
}

/*
  The recurrence over the ne elements of a tile that starts at position j0. T: state for zero start,
  kept from tile to tile. REDUCE: nothing else. Otherwise the tile becomes w = T + S_i w0 for the
  steps before k, w = T from there on. P: S_i where it is not tabled.
*/
BCR_INLINE void recur_tile(const BCRRecurBundle *b, real *tile, ptrdiff_t j0, int ne, vec *T, const vec *w0, vec *P,
                           const BCRRecurMode mode, const int W, const int back, const int hasc, const int reduce)
{
  const real *s = (const real *)b->s, *c = (const real *)b->c, *S = (const real *)b->S;
  const vec s0 = vset1(mode == BCR_RECUR_CONST ? s[0] : 0), c0 = vset1(mode == BCR_RECUR_CONST && hasc ? c[0] : 0);
  vec X[2 * RV];

  for (int v = 0; v < W * RV; v++) X[v] = T[v];
  for (int i = 0; i < ne; i++) {
    const int e = back ? ne - 1 - i : i;
    const ptrdiff_t j = j0 + e, step = back ? b->m - 1 - j : j;
    const vec s1 = mode == BCR_RECUR_SHARED ? vset1(s[j]) : s0,
              c1 = mode == BCR_RECUR_SHARED && hasc ? vset1(c[j]) : c0;
    real *row = tile + (size_t)e * W * RL;
    const int near = !reduce && step < b->k;
    const vec S1 = near && mode != BCR_RECUR_LANES ? vset1(S[step]) : s0;

#pragma GCC unroll 16
    for (int v = 0; v < W * RV; v++) {
      vec t = vload(row + VL * v);

      if (hasc) t = t * (mode == BCR_RECUR_LANES ? vload(c + j * RL + VL * (v % RV)) : c1);
      X[v] = (mode == BCR_RECUR_LANES ? vload(s + j * RL + VL * (v % RV)) : s1) * X[v] + t;
      if (!reduce && !near) vstore(row + VL * v, X[v]);
      if (near && mode != BCR_RECUR_LANES) vstore(row + VL * v, S1 * w0[v] + X[v]);
      if (near && mode == BCR_RECUR_LANES) { /* a multiplication is less than another table */
        if (v < RV) P[v] = vload(s + j * RL + VL * v) * P[v];
        vstore(row + VL * v, P[v % RV] * w0[v] + X[v]);
      }
    }
  }
  for (int v = 0; v < W * RV; v++) T[v] = X[v];
}

/* one complex constant, forwards */
BCR_INLINE void recur_tile_complex(const BCRRecurBundle *b, real *tile, ptrdiff_t j0, int ne, vec *T, const vec *w0,
                                   const int reduce)
{
  const real *s = (const real *)b->s, *S = (const real *)b->S;
  const vec sr = vset1(s[0]), si = vset1(s[1]);

  for (int i = 0; i < ne; i++) {
    real *row = tile + (size_t)2 * i * RL;

    for (int v = 0; v < RV; v++) {
      const vec x = T[v], y = T[RV + v];

      T[v] = sr * x - si * y + vload(row + VL * v);
      T[RV + v] = sr * y + si * x + vload(row + RL + VL * v);
      if (reduce) continue;
      if (j0 + i < b->k) {
        const vec Sr = vset1(S[2 * (j0 + i)]), Si = vset1(S[2 * (j0 + i) + 1]);

        vstore(row + VL * v, Sr * w0[v] - Si * w0[RV + v] + T[v]);
        vstore(row + RL + VL * v, Sr * w0[RV + v] + Si * w0[v] + T[RV + v]);
      } else {
        vstore(row + VL * v, T[v]);
        vstore(row + RL + VL * v, T[RV + v]);
      }
    }
  }
}

/* coefficients from memory, forwards; P: the product so far, zero where it has become negligible */
BCR_INLINE void recur_tile_memory(real *tile, const real *stile, int ne, vec *T, vec *P, vec *G, const vec *w0,
                                  const int cplx, const int live, const int reduce)
{
  const int W = cplx ? 2 : 1;

  for (int i = 0; i < ne; i++) {
    real *row = tile + (size_t)i * W * RL;
    const real *s = stile + (size_t)i * W * RL;

#pragma GCC unroll 8
    for (int v = 0; v < RV; v++) {
      const vec sr = vload(s + VL * v);

      if (!cplx) {
        T[v] = sr * T[v] + vload(row + VL * v);
        if (live) {
          P[v] = sr * P[v];
          if (reduce) G[v] = rmax(G[v], P[v] * P[v]);
        }
        if (!reduce) vstore(row + VL * v, live ? (vec)(P[v] * w0[v] + T[v]) : T[v]);
      } else {
        const vec si = vload(s + RL + VL * v), x = T[v], y = T[RV + v];

        T[v] = sr * x - si * y + vload(row + VL * v);
        T[RV + v] = sr * y + si * x + vload(row + RL + VL * v);
        if (live) {
          const vec p = P[v], q = P[RV + v];

          P[v] = sr * p - si * q;
          P[RV + v] = sr * q + si * p;
          if (reduce) G[v] = rmax(G[v], P[v] * P[v] + P[RV + v] * P[RV + v]);
        }
        if (!reduce) {
          vstore(row + VL * v, live ? (vec)(P[v] * w0[v] - P[RV + v] * w0[RV + v] + T[v]) : T[v]);
          vstore(row + RL + VL * v, live ? (vec)(P[v] * w0[RV + v] + P[RV + v] * w0[v] + T[RV + v]) : T[RV + v]);
        }
      }
    }
  }
}

/* products below the smallest normal number become zero: they add nothing, and denormal numbers are
   slow. Returns whether any is left. */
static int BCRN(recur_flush)(int n, vec *P)
{
  int any = 0;

  for (int v = 0; v < n; v++) {
    for (int i = 0; i < VL; i++) {
      if (P[v][i] < (real)RREALMIN && P[v][i] > -(real)RREALMIN) P[v][i] = 0;
      else any = 1;
    }
  }
  return any;
}

#define RECUR_CASE(mode_, W_, back_, hasc_, reduce_) \
  recur_tile(b, tile, j0, ne, X, Y, P, mode_, W_, back_, hasc_, reduce_)
#define RECUR_C(mode_, W_, back_, reduce_) \
  (b->c ? RECUR_CASE(mode_, W_, back_, 1, reduce_) : RECUR_CASE(mode_, W_, back_, 0, reduce_))
#define RECUR_B(mode_, W_, reduce_) (b->back ? RECUR_C(mode_, W_, 1, reduce_) : RECUR_C(mode_, W_, 0, reduce_))
#define RECUR_W(mode_, reduce_)     (b->width == 2 ? RECUR_B(mode_, 2, reduce_) : RECUR_B(mode_, 1, reduce_))

/* both operations: tile after tile in the order of the recurrence */
BCR_INLINE void recur_run(const BCRRecurBundle *b, const void *t, void *w, vec *X, const vec *Y, vec *P, vec *G,
                          const int reduce)
{
  real tile[RTILE * RL] __attribute__((aligned(64))), stile[RTILE * RL] __attribute__((aligned(64)));
  const int height = b->plain ? 1 : RTILE / b->width; /* elements in a tile */
  const ptrdiff_t count = (b->m + height - 1) / height;
  int live = 1;

  for (ptrdiff_t q = 0; q < count; q++) {
    const ptrdiff_t j0 = (b->back ? count - 1 - q : q) * height;
    const int ne = (int)(b->m - j0 < height ? b->m - j0 : height);

    recur_in(b, t, j0 * b->width, ne * b->width, tile);
    if (b->mode == BCR_RECUR_MEMORY) {
      recur_in(b, b->s, j0 * b->width, ne * b->width, stile);
      if (b->cplx) {
        if (live) recur_tile_memory(tile, stile, ne, X, P, G, Y, 1, 1, reduce);
        else recur_tile_memory(tile, stile, ne, X, P, G, Y, 1, 0, reduce);
      } else {
        if (live) recur_tile_memory(tile, stile, ne, X, P, G, Y, 0, 1, reduce);
        else recur_tile_memory(tile, stile, ne, X, P, G, Y, 0, 0, reduce);
      }
      if (live && (!b->plain || q % RTILE == 0)) live = BCRN(recur_flush)(b->width * RV, P);
    } else if (b->cplx) recur_tile_complex(b, tile, j0, ne, X, Y, reduce);
    else if (b->mode == BCR_RECUR_CONST) RECUR_W(BCR_RECUR_CONST, reduce);
    else if (b->mode == BCR_RECUR_SHARED) RECUR_W(BCR_RECUR_SHARED, reduce);
    else RECUR_W(BCR_RECUR_LANES, reduce);
    if (!reduce) recur_out(b, w, j0 * b->width, ne * b->width, tile);
  }
}

static void BCRN(recur_reduce)(const BCRRecurBundle *b, const void *t, void *T, void *S, void *growth)
{
  vec X[2 * RV], P[2 * RV], G[RV];

  for (int v = 0; v < 2 * RV; v++) {
    X[v] = vset1(0);
    P[v] = vset1(v < RV ? 1 : 0);
    if (v < RV) G[v] = vset1(1);
  }
  recur_run(b, t, NULL, X, X, P, G, 1);
  for (int v = 0; v < b->width * RV; v++) {
    vstore((real *)T + VL * v, X[v]);
    if (b->mode == BCR_RECUR_MEMORY) vstore((real *)S + VL * v, P[v]);
  }
  if (b->mode == BCR_RECUR_MEMORY) {
    for (int v = 0; v < RV; v++) vstore((real *)growth + VL * v, G[v]);
  }
}

static void BCRN(recur_apply)(const BCRRecurBundle *b, const void *t, const void *w0, void *w)
{
  vec X[2 * RV], Y[2 * RV], P[2 * RV], G[RV];

  for (int v = 0; v < 2 * RV; v++) {
    Y[v] = v < b->width * RV ? vload((const real *)w0 + VL * v) : vset1(0);
    X[v] = b->seed ? Y[v] : vset1(0);
    P[v] = vset1(v < RV ? 1 : 0);
    if (v < RV) G[v] = vset1(1);
  }
  recur_run(b, t, w, X, Y, P, G, 0);
}

static void BCRN(recur_sequential)(const BCRRecurBundle *b, int lane, const void *t, double *x, void *w)
{
  const real *s = (const real *)b->s, *c = (const real *)b->c;
  const ptrdiff_t sj = b->mode == BCR_RECUR_CONST ? 0 : (b->mode == BCR_RECUR_SHARED ? 1 : RL);
  const ptrdiff_t step = b->back ? -1 : 1;

  if (b->mode == BCR_RECUR_LANES) {
    s += lane;
    if (c) c += lane;
  }
  for (int r = 0; r < b->width; r++) {
    const ptrdiff_t at = b->at[lane] + r;
    real y = (real)x[r];

    for (ptrdiff_t i = 0, j = b->back ? b->m - 1 : 0; i < b->m; i++, j += step) {
      const ptrdiff_t a = at + j * b->step;
      real g = b->other ? (real)((const rother *)t)[a] : ((const real *)t)[a];

      if (c) g *= c[j * sj];
      y = s[j * sj] * y + g;
      if (b->other) ((rother *)w)[a] = (rother)y;
      else ((real *)w)[a] = y;
    }
    x[r] = (double)y;
  }
}

static const BCRRecurTable BCRN(BCRRecur) = {RL, BCRN(recur_reduce), BCRN(recur_apply), BCRN(recur_sequential)};

#undef RECUR_CASE
#undef RECUR_C
#undef RECUR_B
#undef RECUR_W
