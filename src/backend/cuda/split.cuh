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

  A cluster of blocks has all z of an item, a block some segments of at most L = N2 planes. Its parts
  come to shared memory and leave it by bulk copies, which a warp of its own starts. Each slot of an
  item, a mode or a pair of them, is owned by one block. E and B (ringlines.cu) of a block's planes
  are sent to the slot's owner, where a warp has a lane for each block of the cluster, and the carries
  into each block are sent back (st.async; all of a block wait for bytes, nobody for the cluster).
  Meanwhile other warps transform the next item and send its E and B, before they finish this one.
*/
#pragma once

#include "bulk.cuh"
#include "cluster.cuh"
#include "dft32.cuh"
#include "ringalgebra.cuh"

template <typename T>
struct Dft<T, 14> : DftCoprime<T, 2, 7> {
};
template <typename T>
struct Dft<T, 28> : DftCoprime<T, 4, 7> {
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

/* Bytes of a number, number of unknowns along x, N1 of those along y, blocks for which a
   multiprocessor should have registers, and the transform along x (RingLength). Of those with the
   same x the first ones are preferred */
#define SPLIT_LENGTHS(CASE) \
  CASE(8, 128, 16, 8, 16, 16, 8) \
  CASE(8, 128, 8, 16, 16, 16, 8) \
  CASE(8, 160, 10, 8, 20, 20, 4, 2) \
  CASE(8, 192, 12, 5, 12, 12, 4, 4) \
  CASE(8, 256, 16, 3, 16, 16, 16) \
  CASE(8, 288, 18, 3, 24, 24, 12) \
  CASE(8, 320, 20, 3, 20, 20, 4, 4) \
  CASE(8, 384, 24, 2, 24, 24, 4, 4) \
  CASE(8, 400, 20, 2, 20, 20, 20) \
  CASE(8, 448, 28, 1, 28, 28, 4, 4) \
  CASE(8, 512, 16, 2, 16, 16, 8, 4) \
  CASE(8, 192, 16, 3, 12, 12, 4, 4) \
  CASE(8, 256, 8, 6, 16, 16, 16) \
  CASE(8, 256, 12, 4, 16, 16, 16) \
  CASE(8, 384, 16, 3, 24, 24, 4, 4) \
  CASE(8, 512, 8, 4, 16, 16, 8, 4) \
  CASE(8, 512, 12, 2, 16, 16, 8, 4) \
  CASE(4, 128, 16, 8, 16, 16, 8) \
  CASE(4, 128, 8, 16, 16, 16, 8) \
  CASE(4, 160, 10, 10, 20, 20, 4, 2) \
  CASE(4, 192, 12, 8, 12, 12, 4, 4) \
  CASE(4, 256, 16, 8, 16, 16, 16) \
  CASE(4, 288, 18, 6, 24, 24, 12) \
  CASE(4, 320, 20, 4, 20, 20, 4, 4) \
  CASE(4, 384, 24, 3, 24, 24, 4, 4) \
  CASE(4, 400, 20, 3, 20, 20, 20) \
  CASE(4, 448, 28, 2, 28, 28, 4, 4) \
  CASE(4, 512, 16, 4, 32, 32, 16) \
  CASE(4, 192, 16, 6, 12, 12, 4, 4) \
  CASE(4, 256, 8, 16, 16, 16, 16) \
  CASE(4, 256, 12, 10, 16, 16, 16) \
  CASE(4, 384, 16, 4, 24, 24, 4, 4) \
  CASE(4, 512, 8, 8, 32, 32, 16) \
  CASE(4, 512, 12, 5, 32, 32, 16)

/* shift: 2^shift columns of an item */
template <typename T, class X, int N1, int BLOCKS, int BACK>
__global__ void __launch_bounds__(N1 / 2 * X::G, BLOCKS) split_planes(RingArgs<T> a, int shift)
{
  constexpr int H = N1 / 2, Q = X::N / 2;
  extern __shared__ __align__(128) char split_shared[];
  Cplx<T> *sm = (Cplx<T> *)split_shared, *z, last = {0, 0}; /* last: of ends that this has not */
  const int row = (int)threadIdx.x / X::G, t = (int)threadIdx.x % X::G, N2 = (int)gridDim.x, y0 = (int)blockIdx.x,
            plane = (int)blockIdx.y, pair = y0 + N2 * row, columns = 1 << shift;
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
      const Cplx<T> e = load_root<1>(yroots, y0 * N1 + (two && i > H ? N1 - i : i));

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
  const Cplx<T> *middle;         /* e^(-i pi N1/(4 n)), n of y */
  int rows, more;                /* of a segment, and how many of the first segments have one more */
  int N1, items, cluster, owned; /* items; blocks of a cluster; slots that a block owns at most */
  int columns;                   /* items of a k1 */
  ptrdiff_t plane;               /* complex numbers of a plane */
  bool xcell, ycell, weighs[2], pin, over;
  bool once;          /* what is stored need not stay in the cache */
  double weight, all; /* of the lines on all ranks: weights of their rows, and how many */
  double removedfactor, *removed;
  RingBorder border;
};

/* N2 numbers over y0, COLUMNS columns, SEGMENTS of at most N2 planes in a block, warps for CHAINS */
template <typename T, int N2_, int COLUMNS_, int SEGMENTS_, int CHAINS_, int BLOCKS_>
struct SplitShape {
  static constexpr int N2 = N2_, COLUMNS = COLUMNS_, SEGMENTS = SEGMENTS_, CHAINS = CHAINS_, BLOCKS = BLOCKS_, L = N2,
                       LEAST = L - L / 4, /* rows of a segment */
    SLOTS = N2 * COLUMNS, PLANES = SEGMENTS * L, WORKERS = SLOTS * SEGMENTS, THREADS = WORKERS + 32 * (1 + CHAINS),
                       WIDTH = 32 / SEGMENTS; /* slots of a warp */
  static constexpr int BANKS = 128 / (int)sizeof(Cplx<T>), PITCH = SLOTS + (COLUMNS < BANKS ? COLUMNS : 0);
  static constexpr int TILES = 3, TILE = PLANES * PITCH;

  static size_t bytes(const SplitLinesArgs<T> &a) /* of shared memory */
  {
    return (size_t)(TILES * TILE + 4 * (a.cluster * a.owned + SLOTS)) * sizeof(Cplx<T>);
  }
};

/* Segments of all blocks of a cluster: rows, and the first one's plane */
template <typename T>
static __device__ __forceinline__ int split_rows(const SplitLinesArgs<T> &a, int segment)
{
  return a.rows + (segment < a.more);
}
template <typename T>
static __device__ __forceinline__ int split_plane(const SplitLinesArgs<T> &a, int segment)
{
  return segment * a.rows + min(segment, a.more);
}

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
  const Cplx<T> middle = *a.middle, w1 = {k1 ? middle.x : (T)1, !k1 ? (T)0 : BACK ? -middle.y : middle.y};
  /* back: their conjugates */
  const auto part = [&](int k2) { return Cplx<T>{(T)turns<4 * N>.c[k2], (T)(BACK ? 1 : -1) * (T)turns<4 * N>.s[k2]}; };
  const auto root = [&](int k2) { return k2 ? w1 * part(k2) : w1; }; /* of k1 + N1 k2 */
  const auto cosine =
    [&](int k2, Cplx<T> p,
        Cplx<T>
          q) { /* from a + i b at k and at n - k to c_a + i c_b, and back */
               const Cplx<T> w = root(k2);
               const T h = (T)0.5;

               if (BACK) return w * (k1 || k2 ? Cplx<T>{p.x + q.y, p.y - q.x} : p);
               return Cplx<T>{h * (w.x * (p.x + q.x) - w.y * (p.y - q.y)), h * (w.x * (p.y + q.y) - w.y * (q.x - p.x))};
    };
  const auto both = [&](int i, int j) {
    const Cplx<T> p = v[i], q = v[j];

    v[i] = cosine(i, p, q);
    v[j] = cosine(j, q, p);
  };

  if (!whole) {
#pragma unroll
    for (int k = 1; k < N; k++) v[k] = v[k] * part(k);
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
  Cplx<T> *tiles, *in, *out;                      /* shared memory: [2][E, B][slot owned][block], [2][Y, V][slot] */
  unsigned long long *full, *done, *came, *carry; /* barriers: of tiles, and of in, out */
  double *sums;
  int rank, first, step, count;
  bool singular; /* the right-hand side of the first item loses a mean */
  bool pinned;   /* the first item has the singular line, as the real part of slot 0, of which means are found here */
};

/* m = mu^n, G = mu sum mu^(2 i) over i < n, as ring_powers(), for n that is known late; of COUNT lines side by side */
template <int COUNT, typename T>
static __device__ __forceinline__ void split_powers(const Cplx<T> *mu, int n, Cplx<T> *m, Cplx<T> *G)
{
#pragma unroll
  for (int r = 0; r < COUNT; r++) {
    m[r] = {1, 1};
    G[r] = {0, 0};
  }
  for (int bit = 1 << (31 - __clz(n)); bit; bit /= 2) {
#pragma unroll
    for (int r = 0; r < COUNT; r++) {
      G[r] = times_add(times(m[r], m[r]), G[r], G[r]);
      m[r] = times(m[r], m[r]);
      if (n & bit) {
        G[r] = times_add(times(mu[r], mu[r]), G[r], mu[r]);
        m[r] = times(m[r], mu[r]);
      }
    }
  }
}

/* What split_sum() takes, in warps that do not sum: a meeting, with other ranks two */
template <typename T>
static __device__ __forceinline__ void split_meet(const SplitLinesArgs<T> &a)
{
  for (int i = 0; i < (a.border.way == RING_REDUCED ? 2 : 1); i++) {
    cluster_arrive();
    cluster_wait();
  }
}

/* Sum over all blocks' workers, and all ranks, which is in those of the first warp; v: not 0 in that warp alone. mine: two
   numbers */
template <typename T>
static __device__ __forceinline__ double split_sum(const SplitLinesArgs<T> &a, const SplitBlock<T> &k, double v,
                                                   double *mine)
{
  double sum = 0;

  __syncwarp();
  if (threadIdx.x < 32) {
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
    if (threadIdx.x == 0) *mine = v;
    __syncwarp();
  }
  cluster_arrive();
  cluster_wait();
  if (threadIdx.x < 32)
    for (int r = 0; r < a.cluster; r++) sum += cluster_read(mine, r);
  if (a.border.way == RING_REDUCED) {
    if (k.rank == 0 && threadIdx.x == 0) mine[1] = window_sum_parts(a.border.reduced.window, sum);
    __syncwarp();
    cluster_arrive();
    cluster_wait();
    if (threadIdx.x < 32) sum = cluster_read(mine + 1, 0);
  }
  return sum;
}

template <int THREADS>
static __device__ __forceinline__ void split_sync() /* workers */
{
  __syncwarp();
  asm volatile("bar.sync 1, %0;" ::"n"(THREADS) : "memory");
}

/* A worker: column q of the tile's plane z for transforms, slot s and segment r for lines */
template <typename T, class S>
struct SplitWorker {
  const SplitLinesArgs<T> &a;
  const SplitBlock<T> &k;
  int lane, q, z, s, r, segment, rows;
  bool first, last; /* the segment has an end of weight 1/2 */
  Cplx<T> mu, E, B; /* of the segment, from down() to up() */

  __device__ __forceinline__ SplitWorker(const SplitLinesArgs<T> &a_, const SplitBlock<T> &k_) : a(a_), k(k_)
  {
    const int t = (int)threadIdx.x;

    lane = t % 32;
    q = t % S::COLUMNS;
    z = t / S::COLUMNS;
    s = t / 32 * S::WIDTH + lane % S::WIDTH;
    r = lane / S::WIDTH;
    segment = k.rank * S::SEGMENTS + r;
    rows = split_rows(a, segment);
    first = a.weighs[0] && segment == 0;
    last = a.weighs[1] && segment == a.cluster * S::SEGMENTS - 1;
  }
  __device__ __forceinline__ bool row(int j) const { return j < S::LEAST || j < rows; } /* is there */
  __device__ __forceinline__ Cplx<T> *line(int tile) const
  {
    return k.tiles + tile * S::TILE + r * S::L * S::PITCH + s;
  }
  __device__ __forceinline__ Cplx<T> *column(int tile) const { return k.tiles + tile * S::TILE + z * S::PITCH + q; }
  /* m and G of the block's segments */
  __device__ __forceinline__ void powers(Cplx<T> *m, Cplx<T> *G) const
  {
    const Cplx<T> one = mu;
    Cplx<T> p, g;

    split_powers<1>(&one, a.rows, &p, &g);
#pragma unroll
    for (int c = 0; c < S::SEGMENTS; c++) {
      const bool more = k.rank * S::SEGMENTS + c < a.more;

      m[c] = more ? times(mu, p) : p;
      G[c] = more ? times_add(times(mu, mu), g, mu) : g;
    }
  }

  /* Numbers over y0 to modes, and what lines have from these rows alone, which goes to the slot's owner */
  __device__ __forceinline__ void down(int i)
  {
    constexpr int L = S::L, SEGMENTS = S::SEGMENTS;
    const int item = k.first + i * k.step, tile = i % S::TILES, c = a.cluster;
    Cplx<T> *const l = line(tile), *const p = column(tile), v[L];

    mu = a.tab[(ptrdiff_t)item * S::SLOTS + s];
    bulk_wait(k.full + tile, (unsigned)(i / S::TILES & 1));
#pragma unroll
    for (int j = 0; j < L; j++) v[j] = p[j * S::COLUMNS];
    split_dft<T, L, 0>(v);
    split_modes<T, S, 0>(a, item / a.columns, item % a.columns * S::COLUMNS + q, v);
#pragma unroll
    for (int j = 0; j < L; j++) p[j * S::COLUMNS] = v[j];
    split_sync<S::WORKERS>();
    const Cplx<T> half = {(T)0.5, (T)0.5}, zero = {0, 0};
    if (first) l[0] = times(half, l[0]);
    if (last) l[(rows - 1) * S::PITCH] = times(half, l[(rows - 1) * S::PITCH]);
#pragma unroll
    for (int j = 0; j < L; j++) v[j] = row(j) ? l[j * S::PITCH] : zero;
    if (k.singular && i == 0) {
      double mean = 0;

      if (k.pinned) {
#pragma unroll
        for (int j = 0; j < L; j++) mean += (double)v[j].x;
        mean = split_sum(a, k, s == 0 ? mean : 0, k.sums) / a.weight;
        if (k.rank == 0 && threadIdx.x == 0) *a.removed = mean * a.removedfactor;
      } else mean = *a.border.mean / a.removedfactor;
      if (s == 0) {
#pragma unroll
        for (int j = 0; j < L; j++) {
          if (row(j)) v[j].x -= (T)(mean * ((first && j == 0) || (last && j == rows - 1) ? 0.5 : 1));
          l[j * S::PITCH] = v[j];
        }
      }
    }
    E = v[0];
#pragma unroll
    for (int j = 1; j < L; j++)
      if (row(j)) v[j] = E = times_add(mu, E, v[j]);
    B = zero;
#pragma unroll
    for (int j = L - 1; j >= 0; j--)
      if (row(j)) B = times_add(mu, B, v[j]);

    Cplx<T> e = E, b = B; /* of the block */
    if (SEGMENTS > 1) {
      Cplx<T> m[SEGMENTS], G[SEGMENTS], f = {1, 1};

      powers(m, G);
      e = b = zero;
#pragma unroll
      for (int g = 0; g < SEGMENTS; g++) {
        const Cplx<T> eg = split_shuffle(E, g * S::WIDTH + lane % S::WIDTH),
                      bg = split_shuffle(B, g * S::WIDTH + lane % S::WIDTH);

        b = times_add(f, times_add(G[g], e, bg), b);
        e = times_add(m[g], e, eg);
        f = times(f, m[g]);
      }
    }
    if (threadIdx.x == 0) {
      bulk_expect((unsigned)(((S::SLOTS - k.rank + c - 1) / c) * c * 2 * sizeof(Cplx<T>)), k.came + (i & 1));
      bulk_expect((unsigned)(S::SLOTS * 2 * sizeof(Cplx<T>)), k.carry + (i & 1));
    }
    if (r == 0) {
      Cplx<T> *const to = k.in + ((i & 1) * 2 * a.owned + s / c) * c + k.rank;

      cluster_send(e, to, k.came + (i & 1), s % c);
      cluster_send(b, to + a.owned * c, k.came + (i & 1), s % c);
    }
    __syncwarp();
  }

  /* Carries have come: lines, and back to numbers over y0 */
  __device__ __forceinline__ void up(int i) const
  {
    constexpr int L = S::L, SEGMENTS = S::SEGMENTS;
    const int item = k.first + i * k.step, tile = i % S::TILES;
    const Cplx<T> *const carry = k.out + (i & 1) * 2 * S::SLOTS + s;
    Cplx<T> *const l = line(tile), *const p = column(tile), v[L];

#pragma unroll
    for (int j = 0; j < L; j++) v[j] = l[j * S::PITCH];
    cluster_bulk_wait(k.carry + (i & 1), (unsigned)(i / 2 & 1));
    Cplx<T> Y = carry[0], V = carry[S::SLOTS];

    if (SEGMENTS > 1) {
      Cplx<T> m[SEGMENTS], G[SEGMENTS], y[SEGMENTS];

      powers(m, G);
      y[0] = Y;
#pragma unroll
      for (int g = 1; g < SEGMENTS; g++) {
        y[g] = times_add(m[g - 1], y[g - 1], split_shuffle(E, (g - 1) * S::WIDTH + lane % S::WIDTH));
        if (g == r) Y = y[g];
      }
#pragma unroll
      for (int g = SEGMENTS - 1; g > 0; g--) {
        const Cplx<T> b = split_shuffle(B, g * S::WIDTH + lane % S::WIDTH);

        if (g > r) V = times_add(m[g], V, times(mu, times_add(G[g], y[g], b)));
      }
    }
#pragma unroll
    for (int j = 0; j < L; j++)
      if (row(j)) {
        Y = times_add(mu, Y, v[j]);
        v[j] = times(mu, Y);
      }
#pragma unroll
    for (int j = L - 1; j >= 0; j--)
      if (row(j)) v[j] = V = times_add(mu, V, v[j]);
    if (k.pinned && i == 0) {
      double mean = 0;

#pragma unroll
      for (int j = 0; j < L; j++)
        if (row(j)) mean += (double)v[j].x;
      mean = split_sum(a, k, s == 0 ? mean : 0, k.sums + 2) / a.all;
      if (s == 0) {
#pragma unroll
        for (int j = 0; j < L; j++) v[j].x -= (T)mean;
      }
    }
    if (a.over) {
      const Cplx<T> over = a.tab[5 * a.plane + (ptrdiff_t)item * S::SLOTS + s];

#pragma unroll
      for (int j = 0; j < L; j++) v[j] = times(over, v[j]);
    }
#pragma unroll
    for (int j = 0; j < L; j++) l[j * S::PITCH] = v[j];
    split_sync<S::WORKERS>();
#pragma unroll
    for (int j = 0; j < L; j++) v[j] = p[j * S::COLUMNS];
    split_modes<T, S, 1>(a, item / a.columns, item % a.columns * S::COLUMNS + q, v);
    split_dft<T, L, 1>(v);
#pragma unroll
    for (int j = 0; j < L; j++) p[j * S::COLUMNS] = v[j];
    bulk_written();
    __syncwarp();
    if (lane == 0) bulk_arrive(k.done + tile);
  }
};

/* What a lane of split_chains() knows of a slot before E and B have come: its table, and its mode of the interfaces */
template <typename T>
struct SplitAsk {
  Cplx<T> table[5];
  int slot, number;
  bool own;
};
/* What it has then: carries into its block, Y and V, and by how much they grow with those of the line, y and v: Y by P y, V by
   g v + h y */
template <typename T>
struct SplitChain {
  Cplx<T> Y, V, P, g, h;
};

/* Inclusive scans over blocks give E up to a block, and B from it on as it is (R), with what a carry into the line adds to that
   (H); of ROUNDS slots side by side, as each step waits for the one before. m, G: split_powers() of the
   block's rows; in: of each slot, E, and B owned C further; y, v: what is carried into the line */
template <typename T, int ROUNDS>
static __device__ __forceinline__ void split_scan(const SplitAsk<T> *ask, const Cplx<T> *m, const Cplx<T> *G,
                                                  const Cplx<T> *const *in, int owned, int C, int c, int lane,
                                                  SplitChain<T> *s, Cplx<T> *y, Cplx<T> *v)
{
  const Cplx<T> zero = {0, 0}, one = {1, 1};
  const int base = lane - c;
  Cplx<T> M[ROUNDS], E[ROUNDS], B[ROUNDS], end[ROUNDS], R[ROUNDS], H[ROUNDS];

#pragma unroll
  for (int r = 0; r < ROUNDS; r++) {
    M[r] = m[r];
    E[r] = in[r][0];
    B[r] = in[r][owned * C];
  }
  for (int d = 1; d < C; d *= 2) {
#pragma unroll
    for (int r = 0; r < ROUNDS; r++) {
      const Cplx<T> e = split_shuffle(E[r], lane - d), p = split_shuffle(M[r], lane - d);

      if (c >= d) {
        E[r] = times_add(M[r], e, E[r]);
        M[r] = times(M[r], p);
      }
    }
  }
#pragma unroll
  for (int r = 0; r < ROUNDS; r++) {
    const Cplx<T> before = split_shuffle(E[r], lane - 1), p = split_shuffle(M[r], lane - 1);

    end[r] = split_shuffle(E[r], base + C - 1);
    s[r].Y = c ? before : zero;
    s[r].P = c ? p : one;
    R[r] = times_add(G[r], s[r].Y, B[r]);
    H[r] = times(G[r], s[r].P);
    M[r] = m[r];
  }
  for (int d = 1; d < C; d *= 2) {
#pragma unroll
    for (int r = 0; r < ROUNDS; r++) {
      const Cplx<T> f = split_shuffle(R[r], lane + d), h = split_shuffle(H[r], lane + d),
                    g = split_shuffle(M[r], lane + d);

      if (c + d < C) {
        R[r] = times_add(M[r], f, R[r]);
        H[r] = times_add(M[r], h, H[r]);
        M[r] = times(M[r], g);
      }
    }
  }
#pragma unroll
  for (int r = 0; r < ROUNDS; r++) {
    const Cplx<T> mu = ask[r].table[0], ye = ask[r].table[1], yb = ask[r].table[2], ve = ask[r].table[3],
                  vb = ask[r].table[4], total = split_shuffle(R[r], base), f = split_shuffle(R[r], lane + 1),
                  h = split_shuffle(H[r], lane + 1), g = split_shuffle(M[r], lane + 1);

    y[r] = times_add(yb, total, times(ye, end[r]));
    v[r] = times_add(vb, total, times(ve, end[r]));
    s[r].g = c < C - 1 ? g : one;
    s[r].h = c < C - 1 ? times(mu, h) : zero;
    s[r].Y = times_add(s[r].P, y[r], s[r].Y);
    s[r].V = c < C - 1 ? times_add(s[r].g, v[r], times_add(s[r].h, y[r], times(mu, f))) : v[r];
  }
}

/* Warps for what is carried into every block, of the slots that this block owns: a lane for each of
   these and each block, of ROUNDS slots at a time. Where the lines go on on other ranks (BORDER) a lane has, for each slot, one of
   its two modes if it is one of the first two, all of its slots wait together, and what the next ones need of memory comes into
   the caches meanwhile (registers, which then have no room, took longer, h200_ranks_ends.csv) */
template <typename T, class S, int ROUNDS, int BORDER>
static __device__ __forceinline__ void split_chains(const SplitLinesArgs<T> &a, const SplitBlock<T> &k)
{
  const int C = a.cluster, t = (int)threadIdx.x - S::WORKERS - 32, lane = t % 32, each = 32 / C, c = lane % C,
            base = lane - c, rows = split_plane(a, (c + 1) * S::SEGMENTS) - split_plane(a, c * S::SEGMENTS),
            begin = t / 32 * each, step = ROUNDS * S::CHAINS * each;
  const ptrdiff_t turn = BORDER ? ring_border_slot(a.border) : 0;
  SplitAsk<T> ask[ROUNDS];
  BCRReducedMode mode[ROUNDS];
  const auto place = [&](int i) { return (ptrdiff_t)(k.first + i * k.step) * S::SLOTS; };
  /* slots, and numbers of modes, of item i from j on */
  const auto slots = [&](int i, int j0) {
#pragma unroll
    for (int r = 0; r < ROUNDS; r++) {
      const int j = j0 + r * S::CHAINS * each + lane / C;

      ask[r].own = i < k.count && lane < each * C && j < a.owned && j * C + k.rank < S::SLOTS;
      ask[r].slot = ask[r].own ? j * C + k.rank : k.rank;
      ask[r].number = BORDER && ask[r].own && c < 2 ? a.border.mode[2 * (place(i) + ask[r].slot) + c] : -1;
    }
  };
  const auto tables = [&](int i) {
    const Cplx<T> *const tab = a.tab + place(i < k.count ? i : 0);

#pragma unroll
    for (int r = 0; r < ROUNDS; r++) {
#pragma unroll
      for (int e = 0; e < 5; e++) ask[r].table[e] = tab[e * a.plane + ask[r].slot];
      if (BORDER) ring_border_ask(a.border, ask[r].number, &mode[r]);
    }
  };

  /* these into the caches */
  const auto ahead = [&](int i) {
    const Cplx<T> *const tab = a.tab + place(i < k.count ? i : 0);
    const BCRCudaBorderRows &b = a.border.reduced.rows;

#pragma unroll
    for (int r = 0; r < ROUNDS; r++) {
      for (int e = 0; e < 9; e++)
        if (e % C == c) asm volatile("prefetch.global.L1 [%0];" ::"l"(tab + e * a.plane + ask[r].slot));
      for (int q = 0; q < 2 * b.nrow && ask[r].number >= 0; q++)
        asm volatile("prefetch.global.L1 [%0];" ::"l"(b.inverse + ask[r].number + (ptrdiff_t)q * b.n));
    }
  };

  if (k.pinned) split_meet(a);
  if (begin >= a.owned) { /* none */
    if (k.pinned) split_meet(a);
    return;
  }
  slots(0, begin);
  tables(0);
  for (int i = 0; i < k.count; i++) {
    if (k.pinned && i == 1) split_meet(a);
    for (int first = begin; first < a.owned; first += step) {
      const bool more = first + step < a.owned;
      const Cplx<T> *in[ROUNDS];
      SplitChain<T> s[ROUNDS];
      Cplx<T> mu[ROUNDS], m[ROUNDS], G[ROUNDS], y[ROUNDS], v[ROUNDS];
      BCRReducedMode now[ROUNDS];
      int slot[ROUNDS];

#pragma unroll
      for (int r = 0; r < ROUNDS; r++) mu[r] = ask[r].table[0];
      split_powers<ROUNDS>(mu, rows, m, G);
      if (first == begin) cluster_bulk_wait(k.came + (i & 1), (unsigned)(i / 2 & 1));
#pragma unroll
      for (int r = 0; r < ROUNDS; r++) {
        slot[r] = ask[r].own ? ask[r].slot : -1;
        in[r] = k.in + ((i & 1) * 2 * a.owned + ask[r].slot / C) * C + c;
      }
      split_scan<T, ROUNDS>(ask, m, G, in, a.owned, C, c, lane, s, y, v);
      if (BORDER) {
#pragma unroll
        for (int r = 0; r < ROUNDS; r++) {
          ring_border_give(a.border, turn, (double)(c ? y[r].y : y[r].x), (double)(c ? v[r].y : v[r].x), &mode[r]);
          now[r] = mode[r];
        }
        slots(more ? i : i + 1, more ? first + step : begin);
        ahead(more ? i : i + 1);
        ring_border_wait<ROUNDS>(a.border, turn, now);
        __syncwarp();
#pragma unroll
        for (int r = 0; r < ROUNDS; r++) {
          /* table from its sixth number on; after, before: solutions in rows of other ranks, of the slot's two modes in its first
             two lanes */
          const Cplx<T> *const open = a.tab + 5 * a.plane + place(i) + (slot[r] < 0 ? 0 : slot[r]);
          double after, before;

          ring_border_take(a.border, turn, now[r], &after, &before);
          __syncwarp();
          const Cplx<T> x = {(T)__shfl_sync(0xffffffffu, after, base), (T)__shfl_sync(0xffffffffu, after, base + 1)},
                        z = {(T)__shfl_sync(0xffffffffu, before, base), (T)__shfl_sync(0xffffffffu, before, base + 1)},
                        dy = times_add(open[0], x, times(open[a.plane], z)),
                        dv = times_add(open[2 * a.plane], x, times(open[3 * a.plane], z));

          s[r].Y = times_add(s[r].P, dy, s[r].Y);
          s[r].V = times_add(s[r].g, dv, times_add(s[r].h, dy, s[r].V));
        }
      }
#pragma unroll
      for (int r = 0; r < ROUNDS; r++) {
        Cplx<T> *const to = k.out + (i & 1) * 2 * S::SLOTS + slot[r];

        if (slot[r] < 0) continue;
        cluster_send(s[r].Y, to, k.carry + (i & 1), c);
        cluster_send(s[r].V, to + S::SLOTS, k.carry + (i & 1), c);
      }
      __syncwarp();
      if (!BORDER) slots(more ? i : i + 1, more ? first + step : begin);
      tables(more ? i : i + 1);
    }
  }
  if (k.pinned && k.count == 1) split_meet(a);
}

/* The warp that copies tiles, by planes */
template <typename T, class S>
static __device__ __forceinline__ void split_copies(const SplitLinesArgs<T> &a, const SplitBlock<T> &k)
{
  const int lane = (int)threadIdx.x % 32, segment = k.rank * S::SEGMENTS,
            planes = split_plane(a, segment + S::SEGMENTS) - split_plane(a, segment);
  /* of the planes: where it is in memory and in the tile */
  const auto each = [&](int i, auto f) {
    for (int p = lane; p < S::PLANES; p += 32) {
      const int g = segment + p / S::L, j = p % S::L;

      if (j < split_rows(a, g))
        f(a.w + (split_plane(a, g) + j) * a.plane + (ptrdiff_t)(k.first + i * k.step) * S::SLOTS,
          k.tiles + i % S::TILES * S::TILE + p * S::PITCH);
    }
    __syncwarp();
  };
  unsigned long long hint;
  const auto fetch = [&](int i) {
    unsigned long long *const full = k.full + i % S::TILES;

    if (i >= k.count) return;
    if (lane == 0) bulk_expect((unsigned)(planes * S::SLOTS * sizeof(Cplx<T>)), full);
    __syncwarp();
    each(i, [&](Cplx<T> *w, Cplx<T> *tile) { bulk_copy(tile, w, (unsigned)(S::SLOTS * sizeof(Cplx<T>)), full); });
  };

  if (a.once) hint = ring_passes();
  else asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(hint));
  for (int i = 0; i < S::TILES; i++) fetch(i);
  for (int sum = 0; k.pinned && sum < 2; sum++) split_meet(a);
  for (int i = 0; i < k.count; i++) {
    bulk_wait(k.done + i % S::TILES, (unsigned)(i / S::TILES & 1));
    if (a.border.way != RING_ENDS)
      each(i, [&](Cplx<T> *w, Cplx<T> *tile) { bulk_store(w, tile, (unsigned)(S::SLOTS * sizeof(Cplx<T>)), hint); });
    bulk_store_read();
    fetch(i + S::TILES);
  }
  bulk_store_wait();
}

/* A cluster takes every so many items, one after another. Nobody waits but for what is needed: E and
   B of item i + 2 are sent after all have the carries of item i, so that two buffers do */
template <typename T, class S, int BORDER>
__global__ void __launch_bounds__(S::THREADS, S::BLOCKS) split_lines(SplitLinesArgs<T> a)
{
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) char split_shared[];
  __shared__ unsigned long long barriers[2 * S::TILES + 4];
  __shared__ double sums[4];
  const int warp = bcr_warp();
  SplitBlock<T> k;

  k.tiles = (Cplx<T> *)split_shared;
  k.in = k.tiles + S::TILES * S::TILE;
  k.out = k.in + 4 * a.cluster * a.owned;
  k.full = barriers;
  k.done = k.full + S::TILES;
  k.came = k.done + S::TILES;
  k.carry = k.came + 2;
  k.sums = sums;
  k.rank = (int)blockIdx.x % a.cluster;
  k.first = (int)blockIdx.x / a.cluster;
  k.step = (int)gridDim.x / a.cluster;
  k.count = (a.items - k.first + k.step - 1) / k.step;
  k.singular = a.pin && k.first == 0 && a.border.way != RING_ENDS;
  k.pinned = k.singular && a.border.way != RING_GIVEN;

  if (threadIdx.x == 0) {
    for (int i = 0; i < 2 * S::TILES + 4; i++) bulk_init(barriers + i, i / S::TILES == 1 ? S::WORKERS / 32 : 1);
    bulk_init_done();
  }
  __syncwarp();
  cluster_arrive();
  cluster_wait();
  bcr_wait_before();
  if (warp < S::WORKERS / 32) {
    SplitWorker<T, S> w(a, k);

    for (int i = 0; i <= k.count; i++) {
      const SplitWorker<T, S> before = w;

      if (i < k.count) w.down(i);
      if (i > 0) before.up(i - 1);
    }
  } else if (warp == S::WORKERS / 32) split_copies<T, S>(a, k);
  else split_chains<T, S, BORDER ? 2 : 1, BORDER>(a, k);
  __syncwarp();
  cluster_arrive(); /* others may go on reading until all blocks are here */
  cluster_wait();
  if (a.border.reduced.window.n) window_done(a.border.reduced.window.turn);
#else
  (void)a;
#endif
}
