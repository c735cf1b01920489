/*
  Planes of ring.h whose transform along y is divided: n = N1 N2 rows y = y0 + N2 y1, modes k = k1
  + N1 k2.

  A block of split_planes() has the N1 rows of one y0 of a plane. It transforms them along x, as
  ring.cuh does with pairs of rows, then the columns over y1 with N1 numbers in registers, and
  times e^(-2 pi i y0 k1/n). split_lines() does the rest, N2 numbers over y0 of each k1, then a
  line along z for each mode, and the same steps back. Nothing goes from rows to columns through
  memory.

  Modes in memory: [z][k1][q / columns][y0][q % columns], so that a plane's part of an item (k1,
  some columns q) is one piece. Column q holds two real ones as a + i b where q = 0, or an axis is
  between cell-centred ends. Those are separated by the thread of split_planes() that has all k1:
  place k1 < N1/2 has a's number k1, place N1 - k1 has b's, since those of real columns at k1 and
  N1 - k1 are conjugates. Only k1 = 0 and N1/2 hold a + i b; there a mode and its partner n - k
  are in one thread of split_lines(). Between cell-centred ends of y the real and imaginary parts
  of w_k A_k are two modes (ring.cuh), elsewhere of one kind.

  A cluster of blocks has all z of an item, a block some segments of L = N2 planes. Its parts come
  to shared memory by bulk copies. E and B (ringlines.cu) of a block's planes are read by all
  blocks of the cluster. One half of a block transforms an item and makes these, while the other
  half finishes the item before.
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

/* Bytes of a number, number n of unknowns of an axis, N1, blocks for which a multiprocessor should
   have registers, and the transform along x (RingLength) */
#define SPLIT_LENGTHS(CASE) \
  CASE(8, 128, 8, 16, 16, 16, 8) \
  CASE(8, 192, 12, 5, 12, 12, 4, 4) \
  CASE(8, 256, 16, 3, 16, 16, 16) \
  CASE(8, 320, 20, 3, 20, 20, 4, 4) \
  CASE(8, 384, 24, 2, 24, 24, 4, 4) \
  CASE(8, 512, 16, 2, 16, 16, 8, 4) \
  CASE(4, 128, 8, 16, 16, 16, 8) \
  CASE(4, 192, 12, 8, 12, 12, 4, 4) \
  CASE(4, 256, 16, 8, 16, 16, 16) \
  CASE(4, 320, 20, 4, 20, 20, 4, 4) \
  CASE(4, 384, 24, 3, 24, 24, 4, 4) \
  CASE(4, 512, 16, 4, 32, 32, 16)

/* shift: 2^shift columns of an item */
template <typename T, class X, int N1, int BLOCKS, int BACK>
__global__ void __launch_bounds__(N1 / 2 * X::G, BLOCKS) split_planes(RingArgs<T> a, int shift)
{
  constexpr int H = N1 / 2, N2 = X::N / N1, Q = X::N / 2;
  extern __shared__ __align__(128) char split_shared[];
  Cplx<T> *sm = (Cplx<T> *)split_shared, *z, last = {0, 0}; /* last: of ends that this has not */
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

    rows_get<T, X, 0>(a, f + ring_row<T, 0>(a, pair, false, false) * a.frow,
                      f + ring_row<T, 0>(a, pair, true, false) * a.frow, false, z, t, v, &last);
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
    rows_put<T, X, 0>(a, u + ring_row<T, 0>(a, pair, false, false) * a.urow,
                      u + ring_row<T, 0>(a, pair, true, false) * a.urow, true, z, t, v, last);
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
                       SLOTS = N2 * COLUMNS, PLANES = SEGMENTS * L, HALF = SLOTS * SEGMENTS, THREADS = 2 * HALF,
                       WIDTH = 32 / SEGMENTS; /* slots of a warp */
  static constexpr int BANKS = 128 / (int)sizeof(Cplx<T>), PITCH = SLOTS + (COLUMNS < BANKS ? COLUMNS : 0);
  static constexpr int TILES = 3, TILE = PLANES * PITCH, TOTALS = 2 * SEGMENTS * SLOTS;
  static constexpr size_t BYTES = (size_t)(TILES * TILE + 2 * TOTALS) * sizeof(Cplx<T>);
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
  const auto cosine =
    [&](int k2, Cplx<T> p,
        Cplx<T>
          q) { /* from a + i b at k and at n - k to c_a + i c_b, and back */
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

/* What a block has of its items: count of them, from the first on by steps */
template <typename T>
struct SplitBlock {
  Cplx<T> *tiles, *totals, *part; /* shared memory; of w: this block's planes */
  unsigned long long *full;
  double *sums;
  int rank, first, step, count;
  bool pinned; /* the first item has the singular line, as the real part of slot 0 */
};

/* *sum: of v over the block's rows of slot 0, whose threads are the first ones of a half, `width`
   lanes apart */
static __device__ __forceinline__ void split_pin_sum(double v, int t, int width, double *sum)
{
  for (int d = width; d < 32; d *= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
  if (t == 0) *sum = v;
  __syncwarp();
}
static __device__ __forceinline__ double split_pin_read(const double *sum, int blocks)
{
  double s = 0;

  for (int r = 0; r < blocks; r++) s += cluster_read(sum, r);
  return s;
}

/* What is carried into block `rank` of a slot's line: Y from before, V from behind. m, G:
   mu^PLANES, and of B for a carry (ring_powers()); totals: E, then B `slots` numbers behind, of
   this block. Reads of several blocks go at a time, for they take long */
template <typename T>
static __device__ __forceinline__ void split_carries(const SplitLinesArgs<T> &a, const Cplx<T> table[5], Cplx<T> m,
                                                     Cplx<T> G, int rank, const Cplx<T> *totals, int slots, Cplx<T> *Y,
                                                     Cplx<T> *V)
{
  constexpr int MANY = 4;
  const Cplx<T> mu = table[0], ye = table[1], yb = table[2], ve = table[3], vb = table[4];
  const Cplx<T> zero = {0, 0}, one = {1, 1};
  Cplx<T> E = zero, B = zero, g = zero, p = one, E0 = zero, B0 = zero, p0 = one, own = zero; /* 0: up to this block */

  for (int first = 0; first < a.cluster; first += MANY) {
    Cplx<T> e[MANY], b[MANY];

#pragma unroll
    for (int r = 0; r < MANY; r++) {
      const int block = min(first + r, a.cluster - 1);

      e[r] = cluster_read(totals, block);
      b[r] = cluster_read(totals + slots, block);
    }
#pragma unroll
    for (int r = 0; r < MANY; r++) {
      if (first + r >= a.cluster) break;
      if (first + r == rank) *Y = E, p0 = p, own = e[r];
      B = times_add(p, times_add(G, E, b[r]), B);
      g = times_add(times(p, p), G, g);
      E = times_add(m, E, e[r]);
      p = times(p, m);
      if (first + r == rank) {
        E0 = E;
        B0 = B;
        E = B = g = zero;
        p = one;
      }
    }
  }
  const Cplx<T> total = times_add(times(p0, m), times_add(g, E0, B), B0), end = times_add(p, E0, E);

  *Y = times_add(p0, times_add(yb, total, times(ye, end)), *Y);
  *V = times_add(p, times_add(vb, total, times(ve, end)), times(mu, times_add(g, times_add(m, *Y, own), B)));
}

template <int BARRIER, int THREADS>
static __device__ __forceinline__ void split_sync() /* half of a block */
{
  asm volatile("bar.sync %0, %1;" ::"n"(BARRIER), "n"(THREADS) : "memory");
}

/* Half of a block: numbers over y0 to modes, and what lines have from these rows alone. Thread t
   has column q of plane z for transforms, slot s and segment r for lines. Phases of the cluster's
   barrier: the sum of the singular line's right-hand side, if it is the cluster's (pinned); E and
   B of item 0 are there; the sum of the singular line's solution; E and B of item 1, ...; the end.
   Between its arrival for an item and what others wait for it transforms the next one */
template <typename T, class S>
static __device__ __forceinline__ void split_down(const SplitLinesArgs<T> &a, const SplitBlock<T> &k)
{
  constexpr int L = S::L, W = S::WIDTH, SLOTS = S::SLOTS, COLUMNS = S::COLUMNS;
  const int t = (int)threadIdx.x, lane = t % 32, q = t % COLUMNS, z = t / COLUMNS, s = t / 32 * W + lane % W,
            r = lane / W;
  const bool first = a.weighs[0] && k.rank == 0 && r == 0,
             last = a.weighs[1] && k.rank == a.cluster - 1 && r == S::SEGMENTS - 1;
  const Cplx<T> half = {(T)0.5, (T)0.5}, zero = {0, 0};

  for (int i = 0; i < k.count; i++) {
    const int item = k.first + i * k.step, tile = i % S::TILES;
    Cplx<T> *const at = k.tiles + tile * S::TILE, *const line = at + r * L * S::PITCH + s,
                   *const column = at + z * S::PITCH + q, v[L], E, B;
    const Cplx<T> mu = a.tab[(ptrdiff_t)item * SLOTS + s];

    bulk_wait(k.full + tile, (unsigned)(i / S::TILES & 1));
#pragma unroll
    for (int j = 0; j < L; j++) v[j] = column[j * COLUMNS];
    split_dft<T, L, 0>(v);
    split_modes<T, S, 0>(a, item / a.columns, item % a.columns * COLUMNS + q, v);
#pragma unroll
    for (int j = 0; j < L; j++) column[j * COLUMNS] = v[j];
    split_sync<1, S::HALF>();
    if (first) line[0] = times(half, line[0]);
    if (last) line[(L - 1) * S::PITCH] = times(half, line[(L - 1) * S::PITCH]);
#pragma unroll
    for (int j = 0; j < L; j++) v[j] = line[j * S::PITCH];
    if (i > 0) cluster_wait();
    if (k.pinned && i < 2) {
      double mean = 0;

      if (i == 0) {
#pragma unroll
        for (int j = 0; j < L; j++) mean += (double)v[j].x;
        split_pin_sum(s == 0 ? mean : 0, t, W, k.sums);
      }
      cluster_arrive();
      cluster_wait();
      if (i == 0) {
        mean = split_pin_read(k.sums, a.cluster) / (a.n - 0.5 * (a.weighs[0] + a.weighs[1]));
        if (k.rank == 0 && t == 0) *a.removed = mean * a.removedfactor;
        if (s == 0) {
#pragma unroll
          for (int j = 0; j < L; j++) {
            v[j].x -= (T)(mean * ((first && j == 0) || (last && j == L - 1) ? 0.5 : 1));
            line[j * S::PITCH] = v[j];
          }
        }
      }
    }
    E = v[0];
#pragma unroll
    for (int j = 1; j < L; j++) v[j] = E = times_add(mu, E, v[j]);
    B = E;
#pragma unroll
    for (int j = L - 2; j >= 0; j--) B = times_add(mu, B, v[j]);

    Cplx<T> *const totals = k.totals + (i & 1) * S::TOTALS + s;
    if (S::SEGMENTS > 1) { /* of the block; segments' own are behind: E of all but the last, B of all but the first */
      Cplx<T> e = zero, b = zero, m, G, p = {1, 1};

      if (r < S::SEGMENTS - 1) totals[(2 + r) * SLOTS] = E;
      if (r > 0) totals[(S::SEGMENTS + r) * SLOTS] = B;
      ring_powers<T, L>(mu, &m, &G);
#pragma unroll
      for (int c = 0; c < S::SEGMENTS; c++) {
        const Cplx<T> ec = split_shuffle(E, c * W + lane % W), bc = split_shuffle(B, c * W + lane % W);

        b = times_add(p, times_add(G, e, bc), b);
        e = times_add(m, e, ec);
        p = times(p, m);
      }
      E = e;
      B = b;
    }
    if (r == 0) {
      totals[0] = E;
      totals[SLOTS] = B;
    }
    __syncwarp();
    cluster_arrive();
  }
  cluster_wait();
  if (k.pinned && k.count == 1) {
    cluster_arrive();
    cluster_wait();
  }
}

/* The other half: carries, lines, back to numbers over y0. It says early that it has read what
   others sent */
template <typename T, class S, class Fetch>
static __device__ __forceinline__ void split_up(const SplitLinesArgs<T> &a, const SplitBlock<T> &k, Fetch fetch)
{
  constexpr int L = S::L, W = S::WIDTH, SLOTS = S::SLOTS, COLUMNS = S::COLUMNS;
  const int t = (int)threadIdx.x - S::HALF, lane = t % 32, q = t % COLUMNS, z = t / COLUMNS, s = t / 32 * W + lane % W,
            r = lane / W;
  const unsigned long long once = ring_passes();

  if (k.pinned) {
    cluster_arrive();
    cluster_wait();
  }
  cluster_arrive();
  for (int i = 0; i < k.count; i++) {
    const int item = k.first + i * k.step, tile = i % S::TILES;
    const bool pinned = k.pinned && i == 0;
    Cplx<T> *const at = k.tiles + tile * S::TILE, *const line = at + r * L * S::PITCH + s,
                   *const column = at + z * S::PITCH + q, v[L];
    const Cplx<T> *const totals = k.totals + (i & 1) * S::TOTALS + s;
    Cplx<T> table[5], m, G, M, F, Y = {0, 0}, V = {0, 0};

#pragma unroll
    for (int j = 0; j < 5; j++) table[j] = a.tab[j * a.plane + (ptrdiff_t)item * SLOTS + s];
    const Cplx<T> mu = table[0];

    ring_powers<T, L>(mu, &m, &G);
    M = m;
    F = G;
#pragma unroll
    for (int c = 1; c < S::SEGMENTS; c *= 2) {
      F = times_add(times(M, M), F, F);
      M = times(M, M);
    }
    cluster_wait();
    if (r == 0) split_carries(a, table, M, F, k.rank, totals, SLOTS, &Y, &V);
    __syncwarp();
    if (S::SEGMENTS > 1) {
      Cplx<T> y[S::SEGMENTS];

      y[0] = split_shuffle(Y, lane % W);
      V = split_shuffle(V, lane % W);
      Y = y[0];
#pragma unroll
      for (int c = 1; c < S::SEGMENTS; c++) {
        y[c] = times_add(m, y[c - 1], totals[(1 + c) * SLOTS]);
        if (c == r) Y = y[c];
      }
#pragma unroll
      for (int c = S::SEGMENTS - 1; c > 0; c--) {
        if (c > r) V = times_add(m, V, times(mu, times_add(G, y[c], totals[(S::SEGMENTS + c) * SLOTS])));
      }
    }
    __syncwarp();
    if (!pinned && i + 1 < k.count) cluster_arrive();
#pragma unroll
    for (int j = 0; j < L; j++) {
      Y = times_add(mu, Y, line[j * S::PITCH]);
      v[j] = times(mu, Y);
    }
#pragma unroll
    for (int j = L - 1; j >= 0; j--) v[j] = V = times_add(mu, V, v[j]);
    if (pinned) {
      double mean = 0;

#pragma unroll
      for (int j = 0; j < L; j++) mean += (double)v[j].x;
      split_pin_sum(s == 0 ? mean : 0, t, W, k.sums + 1);
      cluster_arrive();
      cluster_wait();
      mean = split_pin_read(k.sums + 1, a.cluster) / a.n;
      if (s == 0) {
#pragma unroll
        for (int j = 0; j < L; j++) v[j].x -= (T)mean;
      }
      __syncwarp();
      if (k.count > 1) cluster_arrive();
    }
#pragma unroll
    for (int j = 0; j < L; j++) line[j * S::PITCH] = v[j];
    split_sync<2, S::HALF>();
#pragma unroll
    for (int j = 0; j < L; j++) v[j] = column[j * COLUMNS];
    bulk_written();
    split_sync<2, S::HALF>();
    if (t < 32) fetch(i + S::TILES);
    split_modes<T, S, 1>(a, item / a.columns, item % a.columns * COLUMNS + q, v);
    split_dft<T, L, 1>(v);

    Cplx<T> *const to = k.part + z * a.plane + (ptrdiff_t)item * SLOTS + q;
#pragma unroll
    for (int j = 0; j < L; j++) ring_put(to + j * COLUMNS, v[j], once);
  }
}

/* A cluster takes every so many items, one after another */
template <typename T, class S>
__global__ void __launch_bounds__(S::THREADS, S::BLOCKS) split_lines(SplitLinesArgs<T> a)
{
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) char split_shared[];
  __shared__ unsigned long long full[S::TILES];
  __shared__ double sums[2];
  const int lane = (int)threadIdx.x % 32;
  SplitBlock<T> k;

  k.tiles = (Cplx<T> *)split_shared;
  k.totals = k.tiles + S::TILES * S::TILE;
  k.full = full;
  k.sums = sums;
  k.rank = (int)blockIdx.x % a.cluster;
  k.part = a.w + (ptrdiff_t)k.rank * S::PLANES * a.plane;
  k.first = (int)blockIdx.x / a.cluster;
  k.step = (int)gridDim.x / a.cluster;
  k.count = (a.items - k.first + k.step - 1) / k.step;
  k.pinned = a.pin && k.first == 0;

  const auto fetch = [&](int i) { /* by a warp */
                                  const int tile = i % S::TILES;

                                  if (i >= k.count) return;
                                  if (lane == 0)
                                    bulk_expect((unsigned)(S::PLANES * S::SLOTS * sizeof(Cplx<T>)), full + tile);
                                  __syncwarp();
                                  for (int p = lane; p < S::PLANES; p += 32)
                                    bulk_copy(k.tiles + tile * S::TILE + p * S::PITCH,
                                              k.part + p * a.plane + (ptrdiff_t)(k.first + i * k.step) * S::SLOTS,
                                              (unsigned)(S::SLOTS * sizeof(Cplx<T>)), full + tile);
  };

  if (threadIdx.x == 0) {
    for (int i = 0; i < S::TILES; i++) bulk_init(full + i);
    bulk_init_done();
  }
  __syncthreads();
  bcr_wait_before();
  if (threadIdx.x < 32) {
    for (int i = 0; i < S::TILES; i++) fetch(i);
  }
  if ((int)threadIdx.x < S::HALF) split_down<T, S>(a, k);
  else split_up<T, S>(a, k, fetch);
  cluster_arrive(); /* others may go on reading until all blocks are here */
  cluster_wait();
#else
  (void)a;
#endif
}
