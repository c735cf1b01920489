/*
  Whole contiguous lines by two constant recurrences, a line in a warp, a block or a cluster of
  blocks; triscan.cu has the notation. Each thread has K rows in registers. Powers that depend on
  the place of a thread in its line alone come from a table where all lines have the same numbers.
*/
#include "scanranks.cuh"
#include <cmath>
#include <type_traits>

enum {
  ROWS_THREADS = 256, /* of a block, at most: 8 warps */
  /* Where a device has more threads of these lines than so many for each multiprocessor, what later blocks load comes
     to the cache early. Not measured apart */
  ROWS_RESIDENT = 1024,
  ROWS_AHEAD = 100 /* per cent, BCR_CUDA_SCAN_AHEAD: cuda_lines -suites tune -ahead on an H200 (commit eb9a8c7) */
};

/* threads of a block, and blocks that a multiprocessor should have room for, by bytes of
   a thread's rows in registers */
#define ROWS_BOUNDS(W, K) __launch_bounds__(ROWS_THREADS, (K) * sizeof(W) > 128 ? 2 : ((K) * sizeof(W) > 64 ? 3 : 4))

/* numbers that a line has in shared memory for the right-hand sides at its ends */
#define ROWS_ENDS 8

/* The parts of a line, one a lane, with nothing carried in: what comes into each part, and what is
   to its right; what leaves the last one */
static __device__ inline void scan_warps(double E, double B, int nq, int lane, const Part &s, double &in, double &out,
                                         double &end)
{
  double a = s.a, b = s.b;

#pragma unroll
  for (int i = 1; i < 32; i *= 2) {
    if (i < nq) {
      const double v = __shfl_up_sync(0xffffffffu, E, i);

      if (lane >= i) E = fma(a, v, E);
      a *= a;
    }
  }
  end = __shfl_sync(0xffffffffu, E, nq - 1);
  in = __shfl_up_sync(0xffffffffu, E, 1);
  if (lane == 0) in = 0;
  B = lane < nq ? fma(s.p, in, B) : 0;
#pragma unroll
  for (int i = 1; i < 32; i *= 2) {
    if (i < nq) {
      const double v = __shfl_down_sync(0xffffffffu, B, i);

      if (lane + i < 32) B = fma(b, v, B);
      b *= b;
    }
  }
  out = __shfl_down_sync(0xffffffffu, B, 1);
  if (lane >= nq - 1) out = 0;
}

/* The 32 K rows of a warp in shared memory; in memory they begin at row `first`, of which those
   before `least` are zeros (V > 1: anything) and are not stored. V = 1: a thread's rows are K + 1
   apart from the next one's. V > 1: pieces of 16 bytes as memory has them, so from the second row
   on: those of a thread are beside each other, in an order that differs from thread to thread so
   that eight threads use all banks; the first row comes last */
template <typename IO, typename W, int K, int V>
struct RowsTile {
  static constexpr int SIZE = V > 1 ? 32 * K + V : 32 * (K + 1), CHUNKS = K / V, STEP = K + 1;
  struct alignas(V > 1 ? 16 : sizeof(IO)) Chunk {
    IO x[V];
  };
  IO *tile;
  int lane;

  static __device__ inline int chunk(int thread, int j)
  {
    return thread * CHUNKS + (j ^ (CHUNKS < 8 ? thread / (8 / CHUNKS) & (CHUNKS - 1) : thread & 7));
  }

  /* where position i > 0 is */
  static __device__ inline int place(int i) { return chunk((i - 1) / K, (i - 1) % K / V) * V + (i - 1) % V; }

  __device__ inline void fetch(const IO *f, int first, int least) const
  {
    if constexpr (V == 1) WarpRows<W, K>{0, 0, 0, lane, 0, 0}.fetch(tile + lane + lane / K, f, first, least);
    else {
      if (lane == 0) __pipeline_memcpy_async(tile + 32 * K, f + (first > 0 ? first : 0), sizeof(IO));
      if (first >= -1) {
        const IO *from = f + first + 1 + V * lane;

#pragma unroll
        for (int j = 0; j < CHUNKS; j++)
          __pipeline_memcpy_async((Chunk *)tile + chunk(32 / CHUNKS * j + lane / CHUNKS, lane % CHUNKS),
                                  from + 32 * V * j, 16);
      } else {
#pragma unroll 1
        for (int i = 1 + lane; i <= 32 * K; i += 32)
          __pipeline_memcpy_async(tile + place(i), f + (first + i > 0 ? first + i : 0), sizeof(IO));
      }
    }
  }

  __device__ inline void get(W *v) const
  {
    if constexpr (V == 1) {
#pragma unroll
      for (int k = 0; k < K; k++) v[k] = (W)tile[lane * STEP + k];
    } else {
      v[0] = (W)tile[lane ? place(K * lane) : 32 * K];
#pragma unroll
      for (int j = 0; j < CHUNKS; j++) {
        const Chunk c = ((const Chunk *)tile)[chunk(lane, j)];

#pragma unroll
        for (int i = 0; i < V; i++)
          if (V * j + i + 1 < K) v[V * j + i + 1] = (W)c.x[i];
      }
    }
  }

  __device__ inline void put(const W *v) const
  {
    if constexpr (V == 1) {
#pragma unroll
      for (int k = 0; k < K; k++) tile[lane * STEP + k] = (IO)v[k];
    } else {
      const W next = __shfl_down_sync(0xffffffffu, v[0], 1);

      if (lane == 0) tile[32 * K] = (IO)v[0];
#pragma unroll
      for (int j = 0; j < CHUNKS; j++) {
        Chunk c;

#pragma unroll
        for (int i = 0; i < V; i++) c.x[i] = (IO)(V * j + i + 1 < K ? v[(V * j + i + 1) % K] : next);
        ((Chunk *)tile)[chunk(lane, j)] = c;
      }
    }
    __syncwarp();
  }

  __device__ inline void store(IO *u, int first, int least) const
  {
    if constexpr (V == 1) WarpRows<W, K>{0, 0, 0, lane, 0, 0}.store(tile + lane + lane / K, u, first, least);
    else {
      if (lane == 0 && first >= least) u[first] = tile[32 * K];
      if (first + 1 >= least) {
        IO *to = u + first + 1 + V * lane;

#pragma unroll
        for (int j = 0; j < CHUNKS; j++) {
          const Chunk c = ((const Chunk *)tile)[chunk(32 / CHUNKS * j + lane / CHUNKS, lane % CHUNKS)];

          if (j < CHUNKS - 1 || lane < 31) *(Chunk *)(to + 32 * V * j) = c;
          else
#pragma unroll
            for (int i = 0; i < V - 1; i++) to[32 * V * j + i] = c.x[i]; /* the last one is the next warp's */
        }
      } else {
#pragma unroll 1
        for (int i = 1 + lane; i < 32 * K; i += 32)
          if (first + i >= least) u[first + i] = tile[place(i)];
      }
    }
  }
};

/* threadIdx is lane, part, line; a warp has 32 K rows, the rows of a thread are in registers. V:
   numbers of IO that are loaded and stored at once, 16 bytes or one. Where V > 1, 16 bytes begin
   with the second row of each thread (with one row at the end of a line, as n - t + 1 is a multiple
   of V): a thread finds its first row at the end of the pieces of the one before, and stores that
   of the next one. What depends on the numbers of the lines alone is found while f is on its way.
   RANKS: ScanAlone, or ScanCut, late */
template <typename IO, typename W, int K, int V, int PER, typename RANKS>
__global__ void ROWS_BOUNDS(W, K) scan_rows(const __grid_constant__ BCRCudaScan p, const __grid_constant__ ScanShape s,
                                            const IO *f, IO *u, const __grid_constant__ RANKS ranks)
{
  constexpr int TILE = RowsTile<IO, W, K, V>::SIZE;
  constexpr bool CUT = !std::is_empty<RANKS>::value;
  extern __shared__ double2 shared[];

  const int lane = threadIdx.x, w = threadIdx.y, local = threadIdx.z,
            rank = s.cluster > 1 ? (int)(blockIdx.x % s.cluster) : 0, gw = rank * s.parts + w, nq = s.parts * s.cluster,
            N = p.h + p.t, nt = PER ? BCR_CUDA_SCAN_TAB + N * (N + 2) : 0;
  const unsigned at = (s.cluster > 1 ? blockIdx.x / s.cluster : blockIdx.x) * s.lines + local,
                 line = at < (unsigned)s.columns ? at : (unsigned)s.columns - 1;
  /* row of this warp's first position */
  const int pad = (int)s.pad, slot = pad / (32 * K), lp = gw == slot ? pad % (32 * K) / K : -1, ip = pad % K,
            first = 32 * K * gw - pad + p.h - 1;
  double2 *ex = shared + local * nq;
  double *tables = (double *)(shared + s.lines * nq), *own = tables + local * ((nt + 1) / 2 * 2);
  IO *fe = (IO *)(tables + s.lines * ((nt + 1) / 2 * 2)) + local * ROWS_ENDS,
     *tile = fe + (s.lines - local) * ROWS_ENDS + (local * s.parts + w) * TILE;
  const RowsTile<IO, W, K, V> rows = {tile, lane};
  cg::cluster_group cluster = cg::this_cluster();

  bcr_go_after();
  if (s.cluster > 1) cluster.barrier_arrive();
  bcr_wait_before();
  f += (ptrdiff_t)line * s.n;
  u += (ptrdiff_t)line * s.n;
  if (PER) {
    for (int e = lane + 32 * w; e < nt; e += 32 * s.parts)
      __pipeline_memcpy_async(own + e, p.tab + (ptrdiff_t)line * nt + e, sizeof(double));
    __pipeline_commit();
  }
  rows.fetch(f, first, p.h);
  if (w == 0 && lane < N) __pipeline_memcpy_async(fe + lane, f + (lane < p.h ? lane : (int)s.n - N + lane), sizeof(IO));
  __pipeline_commit();
  if (PER) {
    __pipeline_wait_prior(1);
    __syncthreads();
  }
  std::conditional_t<CUT, ScanSlots, ScanAlone> slots;

  if constexpr (CUT) slots = scan_slots(ranks);
  const Numbers<PER> t = {PER ? own : p.numbers, 1};
  const WarpRows<W, K> warp = {(W)t[0], (W)t[1], (W)t[2], lane, lp, ip};
  const Part sw = {t[TAB_LEVEL + 15], t[TAB_LEVEL + 16], t[TAB_LEVEL + 17]};
  double va, vr, vb, wa = 0, wr = 0, wb = 1, x = 0, E, B, c, r, C = 0, R = 0;
  W v[K], y = 0, b = 0;

  if (PER) {
    warp.weights(t, va, vr, vb);
    if (nq > 1) scan_weights(gw, nq, slot, t[TAB_WARP], sw, wa, wr, wb);
  } else {
    scan_place(p, gw != slot, lane, 32, va, vr, vb);
    scan_place(p, 2, gw, 32, wa, wr, wb);
  }
  __pipeline_wait_prior(0);
  __syncwarp();
  if (s.ahead && at + s.ahead < (unsigned)s.columns) { /* what a later block will load, to the cache of the device */
    constexpr int PIECE = 128 / (int)sizeof(IO), PIECES = 32 * K / PIECE;
    const int row = first + PIECE * lane;
    const IO *later = f + (ptrdiff_t)s.ahead * s.n;

#pragma unroll
    for (int i = 0; i < PIECES; i += 32)
      if (i + 32 <= PIECES || lane + i < PIECES) scan_prefetch(later + (row + i * PIECE > 0 ? row + i * PIECE : 0));
  }
  rows.get(v);
  if (V > 1 && gw <= slot) { /* zeros up to the slot */
#pragma unroll
    for (int k = 0; k < K; k++)
      if (32 * K * gw + K * lane + k <= pad) v[k] = 0;
  }
#pragma unroll
  for (int k = 0; k < K; k++) {
    y = fma(warp.al, y, warp.ga * v[k]);
    v[k] = y;
  }
  if (PER || gw == slot) {
#pragma unroll
    for (int k = K - 1; k >= 0; k--)
      if (lane != lp || k > ip) b = fma(warp.be, b, v[k]);
  } else {
#pragma unroll
    for (int k = K - 1; k >= 0; k--) {
      b = fma(warp.be, b, v[k]);
      v[k] = b;
    }
  }
  warp.leave(t, y, b, E, B, c, r); /* with nothing carried in */
  double s0 = B, end = E;

  if (nq > 1) {
    if (s.cluster > 1) {
      cluster.barrier_wait(); /* all blocks are there */
      if (lane < s.cluster) *cluster.map_shared_rank(ex + gw, lane) = make_double2(E, B);
      cluster.sync();
    } else {
      if (lane == 0) ex[gw] = make_double2(E, B);
      __syncthreads();
    }
    const double2 part = lane < nq ? ex[lane] : make_double2(0, 0);

    scan_warps(part.x, part.y, nq, lane, sw, C, R, end);
    s0 = __shfl_sync(0xffffffffu, fma(t[TAB_WARP + 1], R, part.y), slot);
    C = __shfl_sync(0xffffffffu, C, gw);
    R = __shfl_sync(0xffffffffu, R, gw);
  }
  if (lane < N) x = ends(t, fe, 1, N, lane, s0, end);
  if constexpr (CUT) {
    const double2 g = scan_ends(ranks, p, __shfl_sync(0xffffffffu, x, 0), __shfl_sync(0xffffffffu, x, p.h),
                                __shfl_sync(0xffffffffu, x, N - 1), s0);
    double2 add = make_double2(0, 0);
    const bool one = gw == 0 && at < (unsigned)s.columns; /* of the warps of this line */

    if (lane == 0) {
      if (one) scan_tell_both(ranks, slots, line, g);
      add = scan_beyond(ranks, slots, line, one, g.x, g.y);
    }
    add.x = __shfl_sync(0xffffffffu, add.x, 0);
    add.y = __shfl_sync(0xffffffffu, add.y, 0);
    if (lane < N) x += ends_add(t, N, lane, add);
  }
  const double d = __shfl_sync(0xffffffffu, x, p.h - 1), e = __shfl_sync(0xffffffffu, x, p.h);
  const bool active = at < (unsigned)s.columns;

  if (active && ((gw == slot && lane < p.h - 1) || (gw == nq - 1 && lane >= p.h && lane < N)))
    u[lane < p.h ? lane : s.n - N + lane] = (IO)x;
  C = gw == slot ? d : fma(wa, d, C);
  R = fma(wr, d, fma(wb, e, R));
  y = (W)fma(va, C, c);
  b = (W)fma(vr, C, fma(vb, R, r));
  if (PER || gw == slot) {
#pragma unroll
    for (int k = 0; k < K; k++) {
      y *= warp.al;
      if (lane == lp && k == ip) y = (W)d;
      v[k] += y;
    }
#pragma unroll
    for (int k = K - 1; k >= 0; k--) {
      b = fma(warp.be, b, v[k]);
      v[k] = b;
    }
  } else {
    const W *thread = scan_thread<W>(p);

#pragma unroll
    for (int k = 0; k < K; k++) v[k] = fma(thread[k], y, fma(thread[K + k], b, v[k]));
  }
  __syncwarp();
  rows.put(v);
  if (active) rows.store(u, first, p.h - 1);
  if constexpr (CUT) {
    __syncthreads(); /* all have their numbers */
    scan_ended(ranks, threadIdx.x + threadIdx.y + threadIdx.z == 0);
  }
}

void bcr_scan_rows_plan(const BCRCudaScan *p, size_t size, ScanPlan *q)
{
  const ptrdiff_t numbers = p->perline ? (BCR_CUDA_SCAN_NUMBERS(p->h + p->t) + 1) / 2 * 2 : 0,
                  vector = (ptrdiff_t)(16 / size);
  ScanShape *s = &q->s;

  q->shared =
    (size_t)s->lines * (s->parts * s->cluster * sizeof(double2) + numbers * sizeof(double) + ROWS_ENDS * size) +
    (size_t)q->threads * (q->K + 1) * size;
  q->vector = p->n % vector == 0 && (p->n - p->t + 1) % vector == 0 && p->tune[BCR_CUDA_SCAN_COLUMNS] != 1;
  if (q->groups * s->cluster * q->threads > (ptrdiff_t)p->sms * ROWS_RESIDENT)
    s->ahead = (p->tune[BCR_CUDA_SCAN_AHEAD] ? p->tune[BCR_CUDA_SCAN_AHEAD] : (int)ROWS_AHEAD) * p->sms / 100 /
               s->cluster * s->lines;
}

template <typename IO, typename W, int V, int PER, typename RANKS>
static int rows_run(BCRStream stream, const BCRCudaScan *p, const ScanPlan &q, const IO *f, IO *u, const RANKS &ranks)
{
  const dim3 grid((unsigned)(q.groups * q.s.cluster)), block(32, (unsigned)q.s.parts, (unsigned)q.s.lines);

  return bcr_launch_lines(
    1,
    q.K == 4 ? scan_rows<IO, W, 4, V, PER, RANKS>
             : (q.K == 8 ? scan_rows<IO, W, 8, V, PER, RANKS>
                         : (q.K == 16 ? scan_rows<IO, W, 16, V, PER, RANKS> : scan_rows<IO, W, 32, V, PER, RANKS>)),
    grid, block, q.shared, q.s.cluster, stream, *p, q.s, f, u, ranks);
}

template <typename IO, typename W, int PER, typename RANKS>
static int rows_choose(BCRStream stream, const BCRCudaScan *p, const ScanPlan &q, const IO *f, IO *u,
                       const RANKS &ranks)
{
  return q.vector && ((size_t)f | (size_t)u) % 16 == 0
           ? rows_run<IO, W, 16 / sizeof(IO), PER>(stream, p, q, f, u, ranks)
           : rows_run<IO, W, 1, PER>(stream, p, q, f, u, ranks);
}

int bcr_scan_rows(BCRStream stream, const BCRCudaScan *p, const ScanPlan *q, int single, int io, const void *f, void *u)
{
  const ScanAlone alone = ScanAlone();
  int e = (int)cudaErrorInvalidValue;

  BCR_TRI_TYPES(single, io,
                e = p->perline ? rows_choose<IO, W, 1>(stream, p, *q, (const IO *)f, (IO *)u, alone)
                               : rows_choose<IO, W, 0>(stream, p, *q, (const IO *)f, (IO *)u, alone));
  return e;
}

int bcr_scan_rows_ranks(BCRStream stream, const BCRCudaScan *p, const ScanPlan *q, const BCRCudaScanRanks *ranks,
                        int single, const void *f, void *u)
{
  const ScanCut r = {*ranks, 0, (unsigned)(q->groups * q->s.cluster)};
  int e = (int)cudaErrorInvalidValue;

  BCR_CUDA_FIELD(single, (e = rows_choose<T, T, 0>(stream, p, *q, (const T *)f, (T *)u, r)));
  return e;
}
