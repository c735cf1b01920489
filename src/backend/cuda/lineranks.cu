/*
  The ends of a rank's rows of lines across ranks, see lineranks.h. Lines of a field with few
  neighbours in memory (inner < 32, a warp) have neighbouring threads for their rows, others threads that
  are neighbours as their lines are.
*/
#include "tri.cuh"
#include "lineranks.h"
#include "window.cuh"

enum {
  /* Responses of at most so many rows are added by the threads that have the ends (ranks_correct()): 16 rows of each of
     the 32 threads of a line. Not measured apart */
  RANKS_SHORT = 512,
  /* Threads of each line that gather: neighbours in a warp (NEAR), else in as many warps, whose neighbours are lines.
     They make blocks few and large, which leave the rank's own rows, solved beside them, more of the device; other
     numbers were not timed */
  RANKS_LANES = 8
};

/* Element j of the table of line l */
template <typename T>
static __device__ inline double entry(const BCRCudaRanks &p, const void *table, ptrdiff_t i, ptrdiff_t o, ptrdiff_t j,
                                      ptrdiff_t length)
{
  const ptrdiff_t across = p.inner / p.rep;

  return (double)((const T *)table)[p.perline ? i / p.rep + across * (j + length * o) : j];
}

template <typename T, int NEAR>
__global__ void __launch_bounds__(BCR_WARP *RANKS_LANES)
  ranks_gather(BCRCudaRanks p, const T *f, double *g, BCRCudaRanksWindow w)
{
  __shared__ double part[RANKS_LANES][BCR_WARP];
  const ptrdiff_t columns = p.inner * p.outer,
                  line = blockIdx.x * (ptrdiff_t)BCR_WARP + (NEAR ? threadIdx.x / RANKS_LANES : threadIdx.x % BCR_WARP),
                  e = line < columns ? line : columns - 1;
  const int lane = NEAR ? threadIdx.x % RANKS_LANES : threadIdx.x / BCR_WARP, back = blockIdx.y;
  const ptrdiff_t i = e % p.inner, o = e / p.inner, m = back ? p.mlast : p.mfirst;
  const void *v = back ? p.vlast : p.vfirst;
  const T *from = f + i + p.inner * (p.n * o + (back ? p.n - 1 - m : 1));
  double sum = lane ? 0 : (double)f[i + p.inner * (p.n * o + (back ? p.n - 1 : 0))];

#pragma unroll 4
  for (ptrdiff_t j = lane; j < m; j += RANKS_LANES) sum -= entry<T>(p, v, i, o, j, m) * (double)from[p.inner * j];
  if (NEAR) {
#pragma unroll
    for (int k = RANKS_LANES / 2; k > 0; k >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, k);
  } else {
    part[lane][threadIdx.x % BCR_WARP] = sum;
    __syncthreads();
#pragma unroll
    for (int q = 1; q < RANKS_LANES; q++) sum += part[q][threadIdx.x % BCR_WARP];
  }
  if (lane == 0 && line < columns) {
    double *to = back ? w.after : w.before;

    if (w.mine) {
      const ptrdiff_t slot = (*(volatile unsigned *)w.turn & 1) * w.slot + e;

      if (to) window_store(to + slot + (back ? 0 : columns), sum);
      window_store(w.mine + slot + (2 + back) * columns, sum);
    } else g[back * columns + e] = sum;
  }
}

template <typename T>
__global__ void ranks_ends(BCRCudaRanks p, const T *u, double *g)
{
  const ptrdiff_t columns = p.inner * p.outer, e = (ptrdiff_t)blockIdx.x * blockDim.x + threadIdx.x;

  if (e >= columns) return;
  const ptrdiff_t i = e % p.inner, o = e / p.inner;
  const double *S = p.schur + (p.perline ? 4 * (i / p.rep + p.inner / p.rep * o) : 0);
  const double first = (double)u[i + p.inner * p.n * o], last = (double)u[i + p.inner * (p.n * o + p.n - 1)];

  g[e] = S[0] * first + S[1] * last;
  g[columns + e] = S[2] * first + S[3] * last;
}

/* One row: g is the solution. More, DELTA: the first and last row, g becomes what they change by */
template <typename T>
__global__ void ranks_set(BCRCudaRanks p, double *g, T *u)
{
  const ptrdiff_t columns = p.inner * p.outer, e = (ptrdiff_t)blockIdx.x * blockDim.x + threadIdx.x;

  if (e >= columns) return;
  const ptrdiff_t i = e % p.inner, o = e / p.inner;
  T *first = u + i + p.inner * p.n * o, *last = first + p.inner * (p.n - 1);

  if (p.n == 1) {
    *first = (T)g[e];
    return;
  }
  const double x = g[e], y = g[columns + e];

  g[e] = x - (double)*first;
  g[columns + e] = y - (double)*last;
  *first = (T)x;
  *last = (T)y;
}

/* The rows that responses reach, and of row j that of the first and that of the last row */
struct Reached {
  bool all; /* the responses meet */
  ptrdiff_t from, rows;
};

static __device__ inline Reached ranks_reached(const BCRCudaRanks &p)
{
  const ptrdiff_t from = p.n - 1 - p.nlast;
  const bool all = from <= p.nfirst + 1;

  return {all, from, all ? p.n - 2 : p.nfirst + p.nlast};
}

/* Row k of them; and what it gets */
static __device__ inline ptrdiff_t ranks_row(const BCRCudaRanks &p, const Reached &r, ptrdiff_t k)
{
  return r.all || k < p.nfirst ? 1 + k : r.from + k - p.nfirst;
}

template <typename T>
static __device__ inline double2 ranks_weights(const BCRCudaRanks &p, const Reached &r, ptrdiff_t j, ptrdiff_t i,
                                               ptrdiff_t o)
{
  return {j <= p.nfirst ? entry<T>(p, p.wfirst, i, o, j - 1, p.nfirst) : 0,
          j >= r.from ? entry<T>(p, p.wlast, i, o, j - r.from, p.nlast) : 0};
}

/* After that the other rows: blockIdx.y and y within the block */
template <typename T>
__global__ void ranks_add(BCRCudaRanks p, const double *g, T *u)
{
  const ptrdiff_t columns = p.inner * p.outer, e = (ptrdiff_t)blockIdx.x * blockDim.x + threadIdx.x,
                  by = (ptrdiff_t)gridDim.y * blockDim.y;

  if (e >= columns) return;
  const ptrdiff_t i = e % p.inner, o = e / p.inner;
  const double a = g[e], b = g[columns + e];
  const Reached r = ranks_reached(p);
  T *to = u + i + p.inner * p.n * o;

#pragma unroll 4
  for (ptrdiff_t k = (ptrdiff_t)blockIdx.y * blockDim.y + threadIdx.y; k < r.rows; k += by) {
    const ptrdiff_t j = ranks_row(p, r, k);

    const double2 w = ranks_weights<T>(p, r, j, i, o);

    to[p.inner * j] += (T)(a * w.x + b * w.y);
  }
}

/* The chain of a line: first and last row of this rank */
static __device__ __forceinline__ void ranks_chain(const BCRCudaRanksWindow &w, ptrdiff_t columns, ptrdiff_t e,
                                                   double *first, double *last)
{
  const BCRCudaChains &c = w.chain;
  const ptrdiff_t s = c.same ? 0 : e / c.nvec, table = c.same ? 1 : c.ns;
  double *from = w.mine + (*(volatile unsigned *)w.turn & 1) * w.slot + e, x[4], lower[4], pivotinverse[4], upper[4],
         *at[4];
  const int begin = w.before ? 1 : 0;

#pragma unroll
  for (int i = 0; i < 4; i++) { /* on their way while others send */
    lower[i] = i && i < c.n ? c.lower[i * table + s] : 0;
    pivotinverse[i] = i < c.n ? c.pivotinverse[i * table + s] : 0;
    upper[i] = i < c.n - 1 ? c.upper[i * table + s] : 0;
  }
#pragma unroll
  for (int i = 0; i < 4; i++) {
    at[i] = from + window_row(i, begin) * columns;
    x[i] = i < c.n ? window_load(at[i]) : 0; /* at once, where they are there */
  }
#pragma unroll
  for (int i = 0; i < 4; i++) {
    if (i < c.n) x[i] = window_take(at[i], x[i], w.turn);
  }
  window_chain(x, lower, pivotinverse, upper);
  *first = begin ? x[1] : x[0];
  *last = begin ? x[2] : x[1];
}

enum {
  /* ranks_correct(): lines along x of a block, a warp each; other lines have warps by the rows that responses reach.
     Not measured apart */
  CORRECT_LINES = 4,
  CORRECT_FEW = 16,   /* responses of fewer rows than this: so many warps, */
  CORRECT_WARPS = 32, /* else as many as a block can have */
};

/* Both at once where the responses are short: a warp for each line (WARP), or some with 32 lines.
   WAITS: for the right-hand sides, those of this rank, too; that does not need the local solution,
   and comes before it is there */
template <typename T, int WARP, int WAITS>
__global__ void __launch_bounds__(BCR_WARP *CORRECT_WARPS)
  ranks_correct(BCRCudaRanks p, const double *g, T *u, BCRCudaRanksWindow w)
{
  __shared__ double solved[2][BCR_WARP];
  const int lane = threadIdx.x % BCR_WARP, warp = threadIdx.x / BCR_WARP, nw = blockDim.x / BCR_WARP;
  /* which of so many threads of a line, which line of the block's */
  const int mine = WARP ? lane : warp, by = WARP ? (int)BCR_WARP : nw, at = WARP ? warp : lane;
  const ptrdiff_t columns = p.inner * p.outer, line = (ptrdiff_t)blockIdx.x * (WARP ? nw : (int)BCR_WARP) + at;
  const bool active = line < columns;
  const ptrdiff_t e = active ? line : columns - 1;
  const ptrdiff_t i = e % p.inner, o = e / p.inner, last = p.inner * (p.n - 1);
  T *to = u + i + p.inner * p.n * o;
  const Reached r = ranks_reached(p);
  ptrdiff_t j[2];
  T v[2];
  double2 weight[2];
  double x, y;

#pragma unroll
  for (int k = 0; k < 2; k++) {
    j[k] = mine + k * by < r.rows ? ranks_row(p, r, mine + k * by) : 0;
    weight[k] = j[k] ? ranks_weights<T>(p, r, j[k], i, o) : double2{0, 0};
  }
  if (WAITS && mine == 0 && active) ranks_chain(w, columns, e, &solved[0][at], &solved[1][at]);
  bcr_wait_before();
#pragma unroll
  for (int k = 0; k < 2; k++) v[k] = to[p.inner * j[k]];
  const double was[2] = {(double)to[0], (double)to[last]};

  if (WAITS) {
    window_done(w.turn);
    x = solved[0][at];
    y = solved[1][at];
  } else {
    x = g[e];
    y = g[columns + e];
    __syncthreads(); /* all have read both ends */
  }
  if (!active) return;
  const double a = x - was[0], b = y - was[1];

  if (mine == 0) {
    to[0] = (T)x;
    to[last] = (T)y;
  }
#pragma unroll
  for (int k = 0; k < 2; k++)
    if (j[k]) to[p.inner * j[k]] = v[k] + (T)(a * weight[k].x + b * weight[k].y);
#pragma unroll 2
  for (ptrdiff_t k = mine + 2 * by; k < r.rows; k += by) {
    const ptrdiff_t row = ranks_row(p, r, k);
    const double2 weights = ranks_weights<T>(p, r, row, i, o);

    to[p.inner * row] += (T)(a * weights.x + b * weights.y);
  }
}

static unsigned ranks_blocks(ptrdiff_t n, int per)
{
  return (unsigned)((n + per - 1) / per);
}

template <typename T>
static int ranks_gather_run(BCRStream stream, const BCRCudaRanks *p, const void *f, double *g,
                            const BCRCudaRanksWindow &w)
{
  const ptrdiff_t columns = p->inner * p->outer;
  const dim3 grid(ranks_blocks(columns, BCR_WARP), p->n > 1 ? 2 : 1), block(BCR_WARP * RANKS_LANES);
  BCRCudaRanks q = *p;

  if (p->n == 1) q.mfirst = q.mlast = 0;
  return p->inner < BCR_WARP ? bcr_launch_cluster(ranks_gather<T, 1>, grid, block, 0, 1, stream, q, (const T *)f, g, w)
                             : bcr_launch_cluster(ranks_gather<T, 0>, grid, block, 0, 1, stream, q, (const T *)f, g, w);
}

int BCRCudaRanksGather(BCRStream stream, const BCRCudaRanks *p, const void *f, double *g, const BCRCudaRanksWindow *w)
{
  int e = (int)cudaErrorInvalidValue;

  if (!p->n || !p->inner || !p->outer) return 0;
  BCR_CUDA_FIELD(p->single, e = ranks_gather_run<T>(stream, p, f, g, w ? *w : BCRCudaRanksWindow()));
  return e ? e : bcr_done();
}

int BCRCudaRanksEnds(BCRStream stream, const BCRCudaRanks *p, const void *u, double *g)
{
  int e = (int)cudaErrorInvalidValue;

  if (p->n < 2 || !p->inner || !p->outer) return 0;
  BCR_CUDA_FIELD(p->single, e = bcr_launch_cluster(ranks_ends<T>, dim3(ranks_blocks(p->inner * p->outer, BCR_THREADS)),
                                                   dim3(BCR_THREADS), 0, 1, stream, *p, (const T *)u, g));
  return e ? e : bcr_done();
}

int BCRCudaRanksWaits(const BCRCudaRanks *p)
{
  return p->n > 1 && (p->nfirst > p->nlast ? p->nfirst : p->nlast) <= RANKS_SHORT;
}

template <typename T, int WAITS>
static int ranks_correct_short(BCRStream stream, const BCRCudaRanks *p, double *g, void *u, const BCRCudaRanksWindow &w)
{
  const ptrdiff_t columns = p->inner * p->outer, most = p->nfirst > p->nlast ? p->nfirst : p->nlast;

  if (p->inner < BCR_WARP)
    return bcr_launch(1, ranks_correct<T, 1, WAITS>, dim3(ranks_blocks(columns, CORRECT_LINES)),
                      BCR_WARP * CORRECT_LINES, 0, bcr_stream(stream), *p, (const double *)g, (T *)u, w);
  return bcr_launch(1, ranks_correct<T, 0, WAITS>, dim3(ranks_blocks(columns, BCR_WARP)),
                    BCR_WARP * (most < CORRECT_FEW ? CORRECT_FEW : CORRECT_WARPS), 0, bcr_stream(stream), *p,
                    (const double *)g, (T *)u, w);
}

enum { /* ranks_add(): of a block. Not measured apart */
  ADD_THREADS = 256,
  ADD_COLUMNS = 64, /* neighbouring columns, at most: two cache lines and more of a row */
  ADD_ROWS = 8,     /* of a thread */
  ADD_MOST = 4096   /* blocks along the rows, at most */
};

template <typename T>
static int ranks_correct_run(BCRStream stream, const BCRCudaRanks *p, double *g, void *u, const BCRCudaRanksWindow *w)
{
  const ptrdiff_t columns = p->inner * p->outer, most = p->nfirst > p->nlast ? p->nfirst : p->nlast;
  int e;

  if (p->n == 1 || most > RANKS_SHORT) {
    const ptrdiff_t side = columns < (ptrdiff_t)ADD_COLUMNS ? columns : (ptrdiff_t)ADD_COLUMNS;
    unsigned tx = 1, z;

    e = bcr_launch_cluster(ranks_set<T>, dim3(ranks_blocks(columns, BCR_THREADS)), dim3(BCR_THREADS), 0, 1, stream, *p,
                           g, (T *)u);
    if (e || p->n < 3 || !most) return e;
    if (p->inner == 1) { /* neighbouring rows to neighbouring threads */
      z = bcr_blocks(2 * most, ADD_ROWS * ADD_THREADS, ADD_MOST);
      return bcr_launch_cluster(ranks_add<T>, dim3((unsigned)columns, z), dim3(1, ADD_THREADS), 0, 1, stream, *p,
                                (const double *)g, (T *)u);
    }
    while ((ptrdiff_t)tx < side) tx *= 2;
    z = bcr_blocks(2 * most, ADD_ROWS * (ADD_THREADS / (int)tx), ADD_MOST);
    return bcr_launch_cluster(ranks_add<T>, dim3(ranks_blocks(columns, (int)tx), z), dim3(tx, ADD_THREADS / tx), 0, 1,
                              stream, *p, (const double *)g, (T *)u);
  }
  return w ? ranks_correct_short<T, 1>(stream, p, g, u, *w)
           : ranks_correct_short<T, 0>(stream, p, g, u, BCRCudaRanksWindow());
}

int BCRCudaRanksCorrect(BCRStream stream, const BCRCudaRanks *p, double *g, void *u, const BCRCudaRanksWindow *w)
{
  int e = (int)cudaErrorInvalidValue;

  if (!p->n || !p->inner || !p->outer) return 0;
  BCR_CUDA_FIELD(p->single, e = ranks_correct_run<T>(stream, p, g, u, w));
  return e ? e : bcr_done();
}
