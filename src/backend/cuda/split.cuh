/*
  Planes of ring.h whose transform along y is divided: n = N1 N2 rows y = y0 + N2 y1, modes k = k1 + N1 k2.

  A block of split_planes() has the N1 rows of one y0 of a plane. It transforms them along x, as ring.cuh does with pairs of
  rows, then the columns over y1 with N1 numbers in registers, and times e^(-2 pi i y0 k1/n). split_lines() does the rest,
  N2 numbers over y0 of each k1, then a line along z for each mode, and the same steps back. Nothing goes from rows to
  columns through memory.

  Modes in memory: [z][k1][q / columns][y0][q % columns], so that a plane's part of an item (k1, some columns q) is one
  piece. Column q holds two real ones as a + i b where q = 0, or an axis is between cell-centred ends. Those are separated
  by the thread of split_planes() that has all k1: place k1 < N1/2 has a's number k1, place N1 - k1 has b's, since those of
  real columns at k1 and N1 - k1 are conjugates. Only k1 = 0 and N1/2 hold a + i b; there a mode and its partner n - k are in
  one thread of split_lines(). Between cell-centred ends of y the real and imaginary parts of w_k A_k are two modes
  (ring.cuh), elsewhere of one kind.

  A cluster of blocks has all z of an item, a block some segments of L = N2 planes. Its parts come to shared memory by bulk
  copies, two items ahead. E and B (ringlines.cu) of a block's planes are read by all blocks of the cluster: while they go
  there, the item before is finished.
*/
#pragma once

#include "bulk.cuh"
#include "cluster.cuh"
#include "ringalgebra.cuh"

template <typename T>
struct Dft<T, 32> {
  static __device__ __forceinline__ void run(Cplx<T> *x)
  {
    Cplx<T> e[16], o[16];

#pragma unroll
    for (int r = 0; r < 16; r++) {
      e[r] = x[2 * r];
      o[r] = x[2 * r + 1];
    }
    Dft<T, 16>::run(e);
    Dft<T, 16>::run(o);
#pragma unroll
    for (int k = 0; k < 16; k++) {
      const Cplx<T> w = k ? o[k] * Cplx<T>{(T)turns<32>.c[k], -(T)turns<32>.s[k]} : o[k];

      x[k] = e[k] + w;
      x[k + 16] = e[k] - w;
    }
  }
};

/* e^(-i ...), back e^(+i ...), in registers */
template <typename T, int N, int BACK>
static __device__ __forceinline__ void split_dft(Cplx<T> *v)
{
  if (BACK) {
#pragma unroll
    for (int i = 0; i < N; i++) v[i] = {v[i].y, v[i].x};
  }
  Dft<T, N>::run(v);
  if (BACK) {
#pragma unroll
    for (int i = 0; i < N; i++) v[i] = {v[i].y, v[i].x};
  }
}

/* a + i b of two columns whose transforms at k are a, b: at k (lo) and at its partner (hi); and back */
template <typename T, int BACK>
static __device__ __forceinline__ void split_pair(Cplx<T> &lo, Cplx<T> &hi)
{
  const Cplx<T> a = lo, b = hi;
  const T h = (T)0.5;

  lo = BACK ? Cplx<T>{a.x - b.y, a.y + b.x} : Cplx<T>{h * (a.x + b.x), h * (a.y - b.y)};
  hi = BACK ? Cplx<T>{a.x + b.y, b.x - a.y} : Cplx<T>{h * (a.y + b.y), h * (b.x - a.x)};
}

/* ---- planes ---- */

/* Number n, N1, N2, blocks for which a multiprocessor should have registers in double and in single precision, and the
   transform along x (RingLength) */
#if SPLIT_VARIANT == 1
#define SPLIT_LENGTHS(CASE) \
  CASE(128, 8, 16, 12, 16, 16, 16, 8) \
  CASE(192, 12, 16, 4, 6, 12, 12, 4, 4) \
  CASE(256, 16, 16, 3, 6, 16, 16, 16) \
  CASE(320, 20, 16, 2, 3, 20, 20, 4, 4) \
  CASE(384, 24, 16, 1, 2, 24, 24, 4, 4) \
  CASE(512, 16, 32, 2, 2, RING_512)
#elif SPLIT_VARIANT == 3
#define SPLIT_LENGTHS(CASE) \
  CASE(128, 8, 16, 16, 16, 16, 16, 8) \
  CASE(192, 12, 16, 5, 8, 12, 12, 4, 4) \
  CASE(256, 16, 16, 4, 8, 16, 16, 16) \
  CASE(320, 20, 16, 3, 4, 20, 20, 4, 4) \
  CASE(384, 24, 16, 2, 3, 24, 24, 4, 4) \
  CASE(512, 16, 32, 2, 4, RING_512)
#else
#define SPLIT_LENGTHS(CASE) \
  CASE(128, 8, 16, 16, 16, 16, 16, 8) \
  CASE(192, 12, 16, 5, 8, 12, 12, 4, 4) \
  CASE(256, 16, 16, 4, 8, 16, 16, 16) \
  CASE(320, 20, 16, 3, 4, 20, 20, 4, 4) \
  CASE(384, 24, 16, 2, 3, 24, 24, 4, 4) \
  CASE(512, 16, 32, 2, 3, RING_512)
#endif

/* shift: 2^shift columns of an item */
template <typename T, class X, int N1, int BLOCKS, int BACK>
__global__ void __launch_bounds__(N1 / 2 * X::G, BLOCKS) split_planes(RingArgs<T> a, int shift)
{
  constexpr int H = N1 / 2, N2 = X::N / N1, Q = X::N / 2;
  extern __shared__ __align__(128) char split_shared[];
  Cplx<T> *sm = (Cplx<T> *)split_shared, *z;
  const int row = (int)threadIdx.x / X::G, t = (int)threadIdx.x % X::G, y0 = (int)blockIdx.x % N2,
            plane = (int)blockIdx.x / N2, pair = y0 + N2 * row, columns = 1 << shift;
  const bool cell = a.x.ends == BCR_CUDA_RING_CELL, real = cell || a.y.ends == BCR_CUDA_RING_CELL;
  const unsigned long long once = ring_passes();
  const T *xroots = (const T *)a.x.roots, *yroots = (const T *)a.y.roots;
  Cplx<T> *const w = (Cplx<T> *)(a.w + plane * a.wplane) + y0 * columns;

  z = sm + row * X::PITCH;
  bcr_wait_before();
  if (BACK) bcr_go_after(); /* not before the lines: their clusters want whole multiprocessors */
  if (!BACK) {
    const T *f = a.f + plane * a.fplane;
    Cplx<T> v[X::E];

    rows_get<T, X>(a, f + ring_row(a, pair, 0), f + ring_row(a, pair, 1), false, z, t, v);
    ring_transform<T, X, 0, 0>(v, sm, xroots, row, t, row, t);
    ring_sync<X>();
#pragma unroll
    for (int m = 0; m < X::E; m++) z[t + m * X::G] = v[m];
    __syncthreads();
  }
  for (int q = (int)threadIdx.x; q < Q; q += H * X::G) {
    const bool tangled = q > 0, two = real || q == 0;
    const T root2 = cell && q == 0 ? (T)1.41421356237309504880 : (T)1, h = (tangled ? (T)0.5 : (T)1) * a.scale,
            h1 = h / root2;
    Cplx<T> *const wq = w + (ptrdiff_t)(q >> shift) * (N2 * columns) + (q & (columns - 1)), turn = {1, 0}, v[N1];
    Cplx<T> *const s0 = sm + q, *const s1 = sm + (q ? X::N - q : Q);

    if (cell && q) turn = load_root<1>(xroots, X::HALF + q);
    if (!BACK) {
#pragma unroll
      for (int j = 0; j < H; j++) {
        const Cplx<T> c = s0[j * X::PITCH], d = s1[j * X::PITCH];

        if (tangled) {
          v[j] = Cplx<T>{h * (c.x + d.x), h * (c.y - d.y)} * turn;
          v[j + H] = Cplx<T>{h * (c.y + d.y), h * (d.x - c.x)} * turn;
        } else {
          v[j] = {h * c.x, h1 * d.x};
          v[j + H] = {h * c.y, h1 * d.y};
        }
      }
      split_dft<T, N1, 0>(v);
    } else {
#pragma unroll
      for (int i = 0; i < N1; i++) v[i] = ring_get(wq + (ptrdiff_t)i * (Q * N2), once);
    }
    if (!BACK && two) {
#pragma unroll
      for (int i = 1; i < H; i++) split_pair<T, 0>(v[i], v[N1 - i]);
    }
#pragma unroll
    for (int i = 1; i < N1; i++) {
      const Cplx<T> e = load_root<1>(yroots, X::WHOLE + y0 * (two && i > H ? N1 - i : i));

      v[i] = v[i] * (BACK ? conjugate(e) : e);
    }
    if (!BACK) {
#pragma unroll
      for (int i = 0; i < N1; i++) ring_put(wq + (ptrdiff_t)i * (Q * N2), v[i], once);
    } else {
      if (two) {
#pragma unroll
        for (int i = 1; i < H; i++) split_pair<T, 1>(v[i], v[N1 - i]);
      }
      split_dft<T, N1, 1>(v);
      turn = conjugate(turn);
#pragma unroll
      for (int j = 0; j < H; j++) {
        const Cplx<T> c = v[j] * turn, d = v[j + H] * turn;

        s0[j * X::PITCH] = tangled ? Cplx<T>{c.x - d.y, c.y + d.x} : Cplx<T>{c.x, d.x};
        s1[j * X::PITCH] = tangled ? Cplx<T>{c.x + d.y, d.x - c.y} : Cplx<T>{root2 * c.y, root2 * d.y};
      }
    }
  }
  if (BACK) {
    T *u = a.u + plane * a.uplane;
    Cplx<T> v[X::E];

    __syncthreads();
#pragma unroll
    for (int m = 0; m < X::E; m++) v[m] = z[t + m * X::G];
    ring_sync<X>();
    ring_transform<T, X, 0, 1>(v, sm, xroots, row, t, row, t);
    rows_put<T, X>(a, u + ring_row(a, pair, 0), u + ring_row(a, pair, 1), z, t, v);
  }
}

/* ---- lines ---- */

template <typename T>
struct SplitLinesArgs {
  Cplx<T> *w;
  const Cplx<T> *tab;
  const T *roots;            /* of y */
  int half;                  /* where half roots are among those */
  int n, N1, items, cluster; /* rows of a line; items; blocks of a cluster */
  int columns;               /* items of a k1 */
  ptrdiff_t plane;           /* complex numbers of a plane */
  bool xcell, ycell, weighs[2], pin;
  double removedfactor, *removed;
};

/* N2 numbers over y0, COLUMNS columns, SEGMENTS of N2 planes in a block */
template <typename T, int N2_, int COLUMNS_, int SEGMENTS_, int BLOCKS_>
struct SplitShape {
  static constexpr int N2 = N2_, COLUMNS = COLUMNS_, SEGMENTS = SEGMENTS_, BLOCKS = BLOCKS_, L = N2,
                       SLOTS = N2 * COLUMNS, PLANES = SEGMENTS * L, THREADS = SLOTS * SEGMENTS,
                       WIDTH = 32 / SEGMENTS; /* slots of a warp */
  static constexpr int BANKS = 128 / (int)sizeof(Cplx<T>), PITCH = SLOTS + (COLUMNS < BANKS ? COLUMNS : 0);
  static constexpr int TILES = 3, TILE = PLANES * PITCH;
  static constexpr size_t BYTES = (size_t)(TILES * (TILE + 2 * SLOTS)) * sizeof(Cplx<T>);
};

/* The numbers of modes k1 + N1 k2 of a column from its transform, and back */
template <typename T, class S, int BACK>
static __device__ __forceinline__ void split_modes(const SplitLinesArgs<T> &a, int k1, int q, Cplx<T> *v)
{
  constexpr int N = S::N2;
  const int H = a.N1 / 2;
  const bool whole = k1 == 0 || k1 == H;

  if (!a.ycell) {
    if (!whole || !(a.xcell || q == 0)) return;
    if (k1 == 0) {
#pragma unroll
      for (int k = 1; k < N / 2; k++) split_pair<T, BACK>(v[k], v[N - k]);
    } else {
#pragma unroll
      for (int k = 0; k < N / 2; k++) split_pair<T, BACK>(v[k], v[N - 1 - k]);
    }
    return;
  }
  const int first = k1 > H ? a.N1 - k1 : k1;
  const auto root = [&](int k2) { return load_root<1>(a.roots, a.half + first + a.N1 * k2); };
  const auto cosine = [&](int k2, Cplx<T> p, Cplx<T> q) { /* from a + i b at k and at n - k to c_a + i c_b, and back */
    const Cplx<T> w = root(k2);
    const T h = (T)0.5;

    if (BACK) return conjugate(w) * (first || k2 ? Cplx<T>{p.x + q.y, p.y - q.x} : p);
    return Cplx<T>{h * (w.x * (p.x + q.x) - w.y * (p.y - q.y)), h * (w.x * (p.y + q.y) - w.y * (q.x - p.x))};
  };
  const auto both = [&](int i, int j) {
    const Cplx<T> p = v[i], q = v[j];

    v[i] = cosine(i, p, q);
    v[j] = cosine(j, q, p);
  };

  if (!whole) {
#pragma unroll
    for (int k = 0; k < N; k++) v[k] = v[k] * (BACK ? conjugate(root(k)) : root(k));
  } else if (k1 == 0) {
    v[0] = cosine(0, v[0], v[0]);
    v[N / 2] = cosine(N / 2, v[N / 2], v[N / 2]);
#pragma unroll
    for (int k = 1; k < N / 2; k++) both(k, N - k);
  } else {
#pragma unroll
    for (int k = 0; k < N / 2; k++) both(k, N - 1 - k);
  }
}

template <typename T>
static __device__ __forceinline__ Cplx<T> split_shuffle(Cplx<T> v, int lane)
{
  return {__shfl_sync(0xffffffffu, v.x, lane), __shfl_sync(0xffffffffu, v.y, lane)};
}

/* Sum of v over the rows of the line of slot 0: of its threads, which are in warp 0, `width` lanes apart, in all blocks.
   Called by all threads of the cluster */
static __device__ __forceinline__ double split_pin_sum(double v, int width, int blocks, double *sum)
{
  double s = 0;

  for (int d = width; d < 32; d *= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
  if (threadIdx.x == 0) *sum = v;
  __syncwarp();
  cluster_arrive();
  cluster_wait();
  for (int r = 0; r < blocks; r++) s += cluster_read(sum, r);
  return s;
}

/* What is carried into block `rank` of a slot's line: Y from before, V from behind. m, G: mu^PLANES, and of B for a carry
   (ring_powers()); totals: E, then B `slots` numbers behind, of this block */
template <typename T>
static __device__ __forceinline__ void split_carries(const SplitLinesArgs<T> &a, const Cplx<T> *tab, Cplx<T> mu,
                                                     Cplx<T> m, Cplx<T> G, int rank, const Cplx<T> *totals, int slots,
                                                     Cplx<T> *Y, Cplx<T> *V)
{
  const Cplx<T> ye = tab[a.plane], yb = tab[2 * a.plane], ve = tab[3 * a.plane], vb = tab[4 * a.plane];
  const Cplx<T> zero = {0, 0}, one = {1, 1};
  Cplx<T> E = zero, B = zero, g = zero, p = one, E0 = zero, B0 = zero, p0 = one, own = zero; /* 0: up to this block */

  for (int r = 0; r < a.cluster; r++) {
    #if SPLIT_VARIANT == 2
    const Cplx<T> e = totals[0], b = totals[slots];
#else
    const Cplx<T> e = cluster_read(totals, r), b = cluster_read(totals + slots, r);
#endif

    if (r == rank) *Y = E, p0 = p, own = e;
    B = times_add(p, times_add(G, E, b), B);
    g = times_add(times(p, p), G, g);
    E = times_add(m, E, e);
    p = times(p, m);
    if (r == rank) {
      E0 = E;
      B0 = B;
      E = B = g = zero;
      p = one;
    }
  }
  const Cplx<T> total = times_add(times(p0, m), times_add(g, E0, B), B0), end = times_add(p, E0, E);

  *Y = times_add(p0, times_add(yb, total, times(ye, end)), *Y);
  *V = times_add(p, times_add(vb, total, times(ve, end)), times(mu, times_add(g, times_add(m, *Y, own), B)));
}

/* A cluster takes every so many items, one after another. Its thread has column q and plane z for transforms, slot s and
   segment r for lines */
template <typename T, class S>
__global__ void __launch_bounds__(S::THREADS, S::BLOCKS) split_lines(SplitLinesArgs<T> a)
{
#if __CUDA_ARCH__ >= 900
  constexpr int L = S::L, W = S::WIDTH, SLOTS = S::SLOTS, COLUMNS = S::COLUMNS;
  extern __shared__ __align__(128) char split_shared[];
  __shared__ unsigned long long full[S::TILES];
  __shared__ double sums[2];
  Cplx<T> *const tiles = (Cplx<T> *)split_shared, *const totals = tiles + S::TILES * S::TILE;
  const int tid = (int)threadIdx.x, lane = tid % 32, rank = (int)blockIdx.x % a.cluster,
            step = (int)gridDim.x / a.cluster;
  const int q = tid % COLUMNS, z = tid / COLUMNS, s = tid / 32 * W + lane % W, r = lane / W;
  const Cplx<T> zero = {0, 0};
  Cplx<T> *const part = a.w + (ptrdiff_t)rank * S::PLANES * a.plane;
  int now = -1, next = (int)blockIdx.x / a.cluster;
  Cplx<T> E = zero, B = zero; /* of the segment, of the item before */

  const auto fetch = [&](int item, int tile) { /* by a warp */
    if (item >= a.items) return;
    if (lane == 0) bulk_expect((unsigned)(S::PLANES * SLOTS * sizeof(Cplx<T>)), full + tile);
    __syncwarp();
    for (int p = lane; p < S::PLANES; p += 32)
      bulk_copy(tiles + tile * S::TILE + p * S::PITCH, part + p * a.plane + (ptrdiff_t)item * SLOTS,
                (unsigned)(SLOTS * sizeof(Cplx<T>)), full + tile);
  };

  if (tid == 0) {
    for (int i = 0; i < S::TILES; i++) bulk_init(full + i);
    bulk_init_done();
  }
  __syncthreads();
  bcr_wait_before();
  if (tid < 32) {
    for (int i = 0; i < S::TILES; i++) fetch(next + i * step, i);
  }
  for (int i = 0;; i++) {
    const bool more = next < a.items;
    Cplx<T> v[L], Enext = zero, Bnext = zero;

    if (more) {
      const int tile = i % S::TILES;
      Cplx<T> *const at = tiles + tile * S::TILE, *const line = at + r * L * S::PITCH + s,
                     *const column = at + z * S::PITCH + q;
      const Cplx<T> mu = a.tab[(ptrdiff_t)next * SLOTS + s];

      bulk_wait(full + tile, (unsigned)(i / S::TILES & 1));
#pragma unroll
      for (int k = 0; k < L; k++) v[k] = column[k * COLUMNS];
#if SPLIT_VARIANT != 3
      split_dft<T, L, 0>(v);
#endif
      split_modes<T, S, 0>(a, next / a.columns, next % a.columns * COLUMNS + q, v);
#pragma unroll
      for (int k = 0; k < L; k++) column[k * COLUMNS] = v[k];
      bulk_written();
      __syncthreads();
#if SPLIT_VARIANT != 1
      if (tid < 32 && i >= S::TILES - 1) fetch(next + step, (i + 1) % S::TILES); /* where item i - 2 has been */
#endif

      const bool first = a.weighs[0] && rank == 0 && r == 0,
                 last = a.weighs[1] && rank == a.cluster - 1 && r == S::SEGMENTS - 1;
      const Cplx<T> half = {(T)0.5, (T)0.5};
      if (first) line[0] = times(half, line[0]);
      if (last) line[(L - 1) * S::PITCH] = times(half, line[(L - 1) * S::PITCH]);
#pragma unroll
      for (int k = 0; k < L; k++) v[k] = line[k * S::PITCH];
      if (a.pin && next == 0) {
        double mean = 0;

#pragma unroll
        for (int k = 0; k < L; k++) mean += (double)v[k].x;
        mean = split_pin_sum(s == 0 ? mean : 0, W, a.cluster, sums) / (a.n - 0.5 * (a.weighs[0] + a.weighs[1]));
        if (rank == 0 && tid == 0) *a.removed = mean * a.removedfactor;
        if (s == 0) {
#pragma unroll
          for (int k = 0; k < L; k++) {
            v[k].x -= (T)(mean * ((first && k == 0) || (last && k == L - 1) ? 0.5 : 1));
            line[k * S::PITCH] = v[k];
          }
        }
      }
      Enext = v[0];
#pragma unroll
      for (int k = 1; k < L; k++) v[k] = Enext = times_add(mu, Enext, v[k]);
      Bnext = Enext;
#pragma unroll
      for (int k = L - 2; k >= 0; k--) Bnext = times_add(mu, Bnext, v[k]);

      Cplx<T> e = Enext, b = Bnext; /* of the block */
      if (S::SEGMENTS > 1) {
        Cplx<T> m, G, p = {1, 1};

        ring_powers<T, L>(mu, &m, &G);
        e = b = zero;
#pragma unroll
        for (int c = 0; c < S::SEGMENTS; c++) {
          const Cplx<T> ec = split_shuffle(Enext, c * W + lane % W), bc = split_shuffle(Bnext, c * W + lane % W);

          b = times_add(p, times_add(G, e, bc), b);
          e = times_add(m, e, ec);
          p = times(p, m);
        }
      }
      if (r == 0) {
        totals[tile * 2 * SLOTS + s] = e;
        totals[tile * 2 * SLOTS + SLOTS + s] = b;
      }
      __syncwarp();
    }
#if SPLIT_VARIANT != 2
    cluster_arrive();
#endif
    if (now >= 0) {
      const int tile = (i - 1) % S::TILES;
      Cplx<T> *const at = tiles + tile * S::TILE, *const line = at + r * L * S::PITCH + s,
                     *const column = at + z * S::PITCH + q;
      const Cplx<T> *tab = a.tab + (ptrdiff_t)now * SLOTS + s, mu = *tab;
      const bool pinned = a.pin && now == 0;
      Cplx<T> m, G, Y = zero, V = zero;

#if SPLIT_VARIANT != 2
      if (pinned) cluster_wait();
#endif
 /* for another barrier of the cluster comes */
      ring_powers<T, L>(mu, &m, &G);
      if (r == 0) {
        Cplx<T> M = m, F = G;

#pragma unroll
        for (int c = 1; c < S::SEGMENTS; c *= 2) {
          F = times_add(times(M, M), F, F);
          M = times(M, M);
        }
        split_carries(a, tab, mu, M, F, rank, totals + tile * 2 * SLOTS + s, SLOTS, &Y, &V);
      }
      __syncwarp();
      if (S::SEGMENTS > 1) {
        Cplx<T> y[S::SEGMENTS];

        y[0] = split_shuffle(Y, lane % W);
        V = split_shuffle(V, lane % W);
        Y = y[0];
#pragma unroll
        for (int c = 1; c < S::SEGMENTS; c++) {
          y[c] = times_add(m, y[c - 1], split_shuffle(E, (c - 1) * W + lane % W));
          if (c == r) Y = y[c];
        }
#pragma unroll
        for (int c = S::SEGMENTS - 1; c > 0; c--) {
          const Cplx<T> b = split_shuffle(B, c * W + lane % W);

          if (c > r) V = times_add(m, V, times(mu, times_add(G, y[c], b)));
        }
      }
#pragma unroll
      for (int k = 0; k < L; k++) v[k] = Y = times_add(mu, Y, line[k * S::PITCH]);
#pragma unroll
      for (int k = L - 1; k >= 0; k--) v[k] = V = times(mu, v[k] + V);
      if (pinned) {
        double mean = 0;

#pragma unroll
        for (int k = 0; k < L; k++) mean += (double)v[k].x;
        mean = split_pin_sum(s == 0 ? mean : 0, W, a.cluster, sums + 1) / a.n;
        if (s == 0) {
#pragma unroll
          for (int k = 0; k < L; k++) v[k].x -= (T)mean;
        }
      }
#pragma unroll
      for (int k = 0; k < L; k++) line[k * S::PITCH] = v[k];
      __syncthreads();
#pragma unroll
      for (int k = 0; k < L; k++) v[k] = column[k * COLUMNS];
#if SPLIT_VARIANT == 1
      bulk_written();
      __syncthreads();
      if (tid < 32) fetch(now + S::TILES * step, tile);
#endif
      split_modes<T, S, 1>(a, now / a.columns, now % a.columns * COLUMNS + q, v);
#if SPLIT_VARIANT != 3
      split_dft<T, L, 1>(v);
#endif

      Cplx<T> *const to = part + z * a.plane + (ptrdiff_t)now * SLOTS + q;
      const unsigned long long once = ring_passes();
#pragma unroll
      for (int k = 0; k < L; k++) ring_put(to + k * COLUMNS, v[k], once);
#if SPLIT_VARIANT != 2
      if (!pinned) cluster_wait();
    } else cluster_wait();
#else
    }
#endif
    if (!more) break;
    now = next;
    next += step;
    E = Enext;
    B = Bnext;
  }
  cluster_arrive(); /* others may go on reading until all blocks are here */
  cluster_wait();
#else
  (void)a;
#endif
}
