/*
  The ends of a rank's rows of lines across ranks, see lineranks.h. Lines of a field with few neighbours in memory (inner < 32) have neighbouring threads for their
  rows, others threads that are neighbours as their lines are.
*/
#include "tri.cuh"
#include "lineranks.h"
#include "window.cuh"

#define RANKS_SHORT 512 /* responses of at most so many rows are added by the threads that have the ends */

/* Element j of the table of line l */
template <typename T>
static __device__ inline double entry(const BCRCudaRanks &p, const void *table, ptrdiff_t i, ptrdiff_t o, ptrdiff_t j, ptrdiff_t length)
{
  const ptrdiff_t across = p.inner / p.rep;

  return (double)((const T *)table)[p.perline ? i / p.rep + across * (j + length * o) : j];
}

/* LANES neighbours in a warp for each line, or one thread. Few and large blocks: they are on the stream beside that of the local solution, whose blocks may want a
   multiprocessor each */
#define RANKS_LANES 8

template <typename T, int LANES>
__global__ void __launch_bounds__(256) ranks_gather(BCRCudaRanks p, const T *f, double *g, BCRCudaRanksWindow w)
{
  const ptrdiff_t columns = p.inner * p.outer, line = ((ptrdiff_t)blockIdx.x * blockDim.x + threadIdx.x) / LANES, e = line < columns ? line : columns - 1;
  const int       lane = threadIdx.x % LANES, back = blockIdx.y;
  double          sum = 0;
  const ptrdiff_t i = e % p.inner, o = e / p.inner, m = back ? p.mlast : p.mfirst;
  const void     *v    = back ? p.vlast : p.vfirst;
  const T        *from = f + i + p.inner * (p.n * o + (back ? p.n - 1 - m : 1));

#pragma unroll 8
  for (ptrdiff_t j = lane; j < m; j += LANES) sum += entry<T>(p, v, i, o, j, m) * (double)from[p.inner * j];
#pragma unroll
  for (int k = LANES / 2; k > 0; k >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, k);
  if (lane == 0 && line < columns) {
    double *to = back ? w.after : w.before;

    sum = (double)f[i + p.inner * (p.n * o + (back ? p.n - 1 : 0))] - sum;
    if (w.mine) {
      const ptrdiff_t slot = (*(volatile unsigned *)w.turn & 1) * w.slot + e;

      window_store(w.mine + slot + (2 + back) * columns, sum);
      if (to) window_store(to + slot + (back ? 0 : columns), sum);
    } else g[back * columns + e] = sum;
  }
}

template <typename T>
__global__ void ranks_ends(BCRCudaRanks p, const T *u, double *g)
{
  const ptrdiff_t columns = p.inner * p.outer, e = (ptrdiff_t)blockIdx.x * blockDim.x + threadIdx.x;

  if (e >= columns) return;
  const ptrdiff_t i = e % p.inner, o = e / p.inner;
  const double   *S     = p.schur + (p.perline ? 4 * (i / p.rep + p.inner / p.rep * o) : 0);
  const double    first = (double)u[i + p.inner * p.n * o], last = (double)u[i + p.inner * (p.n * o + p.n - 1)];

  g[e]           = S[0] * first + S[1] * last;
  g[columns + e] = S[2] * first + S[3] * last;
}

/* One row: g is the solution. More, DELTA: the first and last row, g becomes what they change by */
template <typename T>
__global__ void ranks_set(BCRCudaRanks p, double *g, T *u)
{
  const ptrdiff_t columns = p.inner * p.outer, e = (ptrdiff_t)blockIdx.x * blockDim.x + threadIdx.x;

  if (e >= columns) return;
  const ptrdiff_t i = e % p.inner, o = e / p.inner;
  T              *first = u + i + p.inner * p.n * o, *last = first + p.inner * (p.n - 1);

  if (p.n == 1) {
    *first = (T)g[e];
    return;
  }
  const double x = g[e], y = g[columns + e];

  g[e]           = x - (double)*first;
  g[columns + e] = y - (double)*last;
  *first         = (T)x;
  *last          = (T)y;
}

/* The rows that responses reach, and a times that of the first and b times that of the last row, in row j */
struct Reached {
  bool      all; /* the responses meet */
  ptrdiff_t from, rows;
};

static __device__ inline Reached ranks_reached(const BCRCudaRanks &p)
{
  const ptrdiff_t from = p.n - 1 - p.nlast;
  const bool      all  = from <= p.nfirst + 1;

  return {all, from, all ? p.n - 2 : p.nfirst + p.nlast};
}

/* Row k of them; and what it gets */
static __device__ inline ptrdiff_t ranks_row(const BCRCudaRanks &p, const Reached &r, ptrdiff_t k)
{
  return r.all || k < p.nfirst ? 1 + k : r.from + k - p.nfirst;
}

template <typename T>
static __device__ inline T ranks_gets(const BCRCudaRanks &p, const Reached &r, ptrdiff_t j, ptrdiff_t i, ptrdiff_t o, double a, double b)
{
  double c = 0;

  if (j <= p.nfirst) c += a * entry<T>(p, p.wfirst, i, o, j - 1, p.nfirst);
  if (j >= r.from) c += b * entry<T>(p, p.wlast, i, o, j - r.from, p.nlast);
  return (T)c;
}

/* After that the other rows: blockIdx.y and y within the block */
template <typename T>
__global__ void ranks_add(BCRCudaRanks p, const double *g, T *u)
{
  const ptrdiff_t columns = p.inner * p.outer, e = (ptrdiff_t)blockIdx.x * blockDim.x + threadIdx.x, by = (ptrdiff_t)gridDim.y * blockDim.y;

  if (e >= columns) return;
  const ptrdiff_t i = e % p.inner, o = e / p.inner;
  const double    a = g[e], b = g[columns + e];
  const Reached   r  = ranks_reached(p);
  T              *to = u + i + p.inner * p.n * o;

#pragma unroll 4
  for (ptrdiff_t k = (ptrdiff_t)blockIdx.y * blockDim.y + threadIdx.y; k < r.rows; k += by) {
    const ptrdiff_t j = ranks_row(p, r, k);

    to[p.inner * j] += ranks_gets<T>(p, r, j, i, o, a, b);
  }
}

/* The chain of a line, as chains_solve() of rankchains.cu: first and last row of this rank */
static __device__ __forceinline__ void ranks_chain(const BCRCudaRanksWindow &w, ptrdiff_t columns, ptrdiff_t e, double *first, double *last)
{
  const BCRCudaChains &c = w.chain;
  const ptrdiff_t      s = c.same ? 0 : e / c.nvec, table = c.same ? 1 : c.ns;
  double              *from = w.mine + (*(volatile unsigned *)w.turn & 1) * w.slot + e, y = 0, x[4], f[4], r[4], h[4];
  const int            begin = w.before ? 1 : 0;

#pragma unroll
  for (int i = 0; i < 4; i++) { /* on their way while others send */
    f[i] = i && i < c.n ? c.f[i * table + s] : 0;
    r[i] = i < c.n ? c.r[i * table + s] : 0;
    h[i] = i < c.n - 1 ? c.h[i * table + s] : 0;
  }
#pragma unroll
  for (int i = 0; i < 4; i++) x[i] = i < c.n ? window_wait(from + (i < begin ? 0 : (i < begin + 2 ? 2 + i - begin : 1)) * columns, w.turn) : 0;
#pragma unroll
  for (int i = 0; i < 4; i++) x[i] = y = x[i] - f[i] * y;
  y = 0;
#pragma unroll
  for (int i = 3; i >= 0; i--) x[i] = y = x[i] * r[i] - h[i] * y;
  *first = begin ? x[1] : x[0];
  *last  = begin ? x[2] : x[1];
}

/* Both at once where the responses are short. WAITS: for the right-hand sides, those of this rank, too */
template <typename T, int WARP, int WAITS>
__global__ void __launch_bounds__(1024) ranks_correct(BCRCudaRanks p, const double *g, T *u, BCRCudaRanksWindow w)
{
  __shared__ double solved[2][32];
  const ptrdiff_t   columns = p.inner * p.outer, line = WARP ? (ptrdiff_t)blockIdx.x * blockDim.y + threadIdx.y : (ptrdiff_t)blockIdx.x * blockDim.x + threadIdx.x;
  const bool        active = line < columns;
  const ptrdiff_t   e      = active ? line : columns - 1;
  const int         mine = WARP ? threadIdx.x : threadIdx.y, by = WARP ? blockDim.x : blockDim.y;
  const ptrdiff_t   i = e % p.inner, o = e / p.inner, last = p.inner * (p.n - 1);
  T                *to = u + i + p.inner * p.n * o;
  const Reached     r  = ranks_reached(p);
  ptrdiff_t         j[2];
  T                 v[2];

#pragma unroll
  for (int k = 0; k < 2; k++) { /* on their way while the ends are */
    j[k] = mine + k * by < r.rows ? ranks_row(p, r, mine + k * by) : 0;
    v[k] = to[p.inner * j[k]];
  }
  const double was[2] = {(double)to[0], (double)to[last]};
  double       x, y;

  if (!WAITS) {
    x = g[e];
    y = g[columns + e];
  } else if (mine == 0 && active) {
    const int at = WARP ? threadIdx.y : threadIdx.x;

    ranks_chain(w, columns, e, &x, &y);
    solved[0][at] = x;
    solved[1][at] = y;
  }
  __syncthreads(); /* all have read both ends */
  if (WAITS) {
    const int at = WARP ? threadIdx.y : threadIdx.x;

    x = solved[0][at];
    y = solved[1][at];
    if (threadIdx.x == 0 && threadIdx.y == 0 && atomicAdd(w.turn + 1, 1u) == gridDim.x - 1) {
      w.turn[1] = 0;
      w.turn[0] ^= 1;
    }
  }
  if (!active) return;
  const double a = x - was[0], b = y - was[1];

  if (mine == 0) {
    to[0]    = (T)x;
    to[last] = (T)y;
  }
#pragma unroll
  for (int k = 0; k < 2; k++)
    if (j[k]) to[p.inner * j[k]] = v[k] + ranks_gets<T>(p, r, j[k], i, o, a, b);
#pragma unroll 2
  for (ptrdiff_t k = mine + 2 * by; k < r.rows; k += by) {
    const ptrdiff_t at = ranks_row(p, r, k);

    to[p.inner * at] += ranks_gets<T>(p, r, at, i, o, a, b);
  }
}

static unsigned ranks_blocks(ptrdiff_t n, int per)
{
  return (unsigned)((n + per - 1) / per);
}

template <typename T>
static int ranks_gather_run(BCRStream stream, const BCRCudaRanks *p, const void *f, double *g, const BCRCudaRanksWindow &w)
{
  const ptrdiff_t columns = p->inner * p->outer;
  const unsigned  both    = p->n > 1 ? 2 : 1;
  BCRCudaRanks    q       = *p;

  if (p->n == 1) q.mfirst = q.mlast = 0;
  if (p->inner < 32) return bcr_launch_cluster(ranks_gather<T, RANKS_LANES>, dim3(ranks_blocks(RANKS_LANES * columns, 256), both), dim3(256), 0, 1, stream, q, (const T *)f, g, w);
  return bcr_launch_cluster(ranks_gather<T, 1>, dim3(ranks_blocks(columns, 256), both), dim3(256), 0, 1, stream, q, (const T *)f, g, w);
}

int BCRCudaRanksGather(BCRStream stream, const BCRCudaRanks *p, const void *f, double *g, const BCRCudaRanksWindow *w)
{
  int e = 0;

  if (!p->n || !p->inner || !p->outer) return 0;
  BCR_CUDA_TYPE(p->single, e = ranks_gather_run<T>(stream, p, f, g, w ? *w : BCRCudaRanksWindow()));
  return e ? e : bcr_done();
}

int BCRCudaRanksEnds(BCRStream stream, const BCRCudaRanks *p, const void *u, double *g)
{
  int e = 0;

  if (p->n < 2 || !p->inner || !p->outer) return 0;
  BCR_CUDA_TYPE(p->single, e = bcr_launch_cluster(ranks_ends<T>, dim3(ranks_blocks(p->inner * p->outer, 128)), dim3(128), 0, 1, stream, *p, (const T *)u, g));
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

  if (p->inner < 32) return bcr_launch_cluster(ranks_correct<T, 1, WAITS>, dim3(ranks_blocks(columns, 4)), dim3(32, 4), 0, 1, stream, *p, (const double *)g, (T *)u, w);
  return bcr_launch_cluster(ranks_correct<T, 0, WAITS>, dim3(ranks_blocks(columns, 32)), dim3(32, most < 16 ? 16 : 32), 0, 1, stream, *p, (const double *)g, (T *)u, w);
}

template <typename T>
static int ranks_correct_run(BCRStream stream, const BCRCudaRanks *p, double *g, void *u, const BCRCudaRanksWindow *w)
{
  const ptrdiff_t columns = p->inner * p->outer, most = p->nfirst > p->nlast ? p->nfirst : p->nlast;
  int             e;

  if (p->n == 1 || most > RANKS_SHORT) {
    const ptrdiff_t side = columns < 64 ? columns : 64;
    unsigned        tx   = 1, z;

    e = bcr_launch_cluster(ranks_set<T>, dim3(ranks_blocks(columns, 128)), dim3(128), 0, 1, stream, *p, g, (T *)u);
    if (e || p->n < 3 || !most) return e;
    if (p->inner == 1) { /* neighbouring rows to neighbouring threads */
      z = bcr_blocks(2 * most, 8 * 256, 4096);
      return bcr_launch_cluster(ranks_add<T>, dim3((unsigned)columns, z), dim3(1, 256), 0, 1, stream, *p, (const double *)g, (T *)u);
    }
    while ((ptrdiff_t)tx < side) tx *= 2;
    z = bcr_blocks(2 * most, 8 * (256 / (int)tx), 4096);
    return bcr_launch_cluster(ranks_add<T>, dim3(ranks_blocks(columns, (int)tx), z), dim3(tx, 256 / tx), 0, 1, stream, *p, (const double *)g, (T *)u);
  }
  return w ? ranks_correct_short<T, 1>(stream, p, g, u, *w) : ranks_correct_short<T, 0>(stream, p, g, u, BCRCudaRanksWindow());
}

int BCRCudaRanksCorrect(BCRStream stream, const BCRCudaRanks *p, double *g, void *u, const BCRCudaRanksWindow *w)
{
  int e = 0;

  if (!p->n || !p->inner || !p->outer) return 0;
  BCR_CUDA_TYPE(p->single, e = ranks_correct_run<T>(stream, p, g, u, w));
  return e ? e : bcr_done();
}
