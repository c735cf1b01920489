/*
  Near-Toeplitz lines by cyclic reduction with precomputed coefficients (NEATO, paper 002 chapter 2;
  src/tridiagonal/cr.c has the equations and makes the tables). Two forms, as in its section 2.2: a
  block has its lines in shared memory through all levels, or each level is a kernel on global
  memory.
*/
#include "tri.cuh"
#include "tri.h"

#define CR_COEFFICIENTS 5

/* None of these was measured apart. How shared and global memory compare: docs/papers.md, paper 002 */
enum {
  CR_COLUMNS = 16,  /* of a block in shared memory, at most, where lines are side by side: a cache line of doubles */
  CR_THREADS = 512, /* of such a block, at most: two rows each in the first level */
  CR_LEVEL_THREADS = 256 /* of a block of a level in global memory, a row each */
};

static __device__ inline const double *cr_row(const BCRCudaCR &c, int r, ptrdiff_t i, ptrdiff_t set)
{
  const BCRCudaCRLevel &L = c.level[r];
  const ptrdiff_t e = i < L.first ? i : (i >= L.rows - L.last ? L.first + 1 + i - (L.rows - L.last) : L.first);

  return c.table + (L.offset + e) * CR_COEFFICIENTS * c.sets + set;
}

/* (2.2)-(2.4): row i of level r, one that the next level keeps; elements of the line by get and put */
template <typename W, typename Get>
static __device__ inline W cr_reduce(const BCRCudaCR &c, int r, ptrdiff_t i, ptrdiff_t set, Get get)
{
  const double *k = cr_row(c, r, i, set);
  const ptrdiff_t step = (ptrdiff_t)1 << r, j = (i + 1) * step - 1;
  W x = get(j) - (W)k[0] * get(j - step);

  if (i + 1 < c.level[r].rows) x -= (W)k[c.sets] * get(j + step);
  return x;
}

/* (2.5), (2.6): one that is not kept */
template <typename W, typename Get>
static __device__ inline W cr_back(const BCRCudaCR &c, int r, ptrdiff_t i, ptrdiff_t set, Get get)
{
  const double *k = cr_row(c, r, i, set) + 2 * c.sets;
  const ptrdiff_t step = (ptrdiff_t)1 << r, j = (i + 1) * step - 1;
  W x = (W)k[2 * c.sets] * get(j);

  if (i) x -= (W)k[0] * get(j - step);
  if (i + 1 < c.level[r].rows) x -= (W)k[c.sets] * get(j + step);
  return x;
}

static __device__ inline ptrdiff_t cr_set(const BCRCudaCR &c, ptrdiff_t column)
{
  return c.perline ? column % c.inner / c.rep + c.inner / c.rep * (column / c.inner) : 0;
}

/* A block has tx_ columns, blockDim.x / tx_ threads each. A line is spread in shared memory, a gap after 32 rows, so
   that rows a power of two apart are not in the same bank */
template <typename IO, typename W>
__global__ void __launch_bounds__(CR_THREADS) cr_shared(BCRCudaCR c, int tx_, const IO *f, IO *u)
{
  extern __shared__ double2 shared[];

  const int tx = threadIdx.x % tx_, ty = threadIdx.x / tx_, ny = blockDim.x / tx_;
  ptrdiff_t column = (ptrdiff_t)blockIdx.x * tx_ + tx;
  const bool active = column < c.inner * c.outer;
  const ptrdiff_t n = c.n, open = c.periodic ? n - 1 : n;
  W *w = (W *)shared + tx;

  if (!active) column = c.inner * c.outer - 1;
  const ptrdiff_t set = cr_set(c, column), at0 = column % c.inner + c.inner * n * (column / c.inner);
  const auto at = [&](ptrdiff_t j) { return (j + (j >> 5)) * tx_; };
  const auto get = [&](ptrdiff_t j) { return w[at(j)]; };

  for (ptrdiff_t j = ty; j < n; j += ny) w[at(j)] = (W)f[at0 + c.inner * j];
  for (int r = 0; r + 1 < c.levels; r++) {
    __syncthreads();
    for (ptrdiff_t i = 2 * ty + 1; i < c.level[r].rows; i += 2 * ny)
      w[at(((i + 1) << r) - 1)] = cr_reduce<W>(c, r, i, set, get);
  }
  for (int r = c.levels - 1; r >= 0; r--) {
    __syncthreads();
    for (ptrdiff_t i = 2 * ty; i < c.level[r].rows; i += 2 * ny)
      w[at(((i + 1) << r) - 1)] = cr_back<W>(c, r, i, set, get);
  }
  __syncthreads();
  W last = 0;

  if (c.periodic) {
    last = w[at(open)];
    if (n > 1) last -= (W)c.border[set] * w[0] + (W)c.border[c.sets + set] * w[at(n - 2)];
    last *= (W)c.border[2 * c.sets + set];
  }
  if (!active) return;
  for (ptrdiff_t j = ty; j < n; j += ny) {
    W x = w[at(j)];

    if (c.periodic) x = j == open ? last : x - (W)c.z[j * c.sets + set] * last;
    u[at0 + c.inner * j] = (IO)x;
  }
}

template <typename IO, typename W>
__global__ void cr_level(BCRCudaCR c, int r, int back, ptrdiff_t rows, const IO *f, IO *u)
{
  const ptrdiff_t columns = c.inner * c.outer, t = (ptrdiff_t)blockIdx.x * blockDim.x + threadIdx.x;
  /* rows next to each other where the line is contiguous, else columns */
  const ptrdiff_t column = c.inner == 1 ? t / rows : t % columns,
                  i = 2 * (c.inner == 1 ? t % rows : t / columns) + (back ? 0 : 1);

  if (t >= rows * columns) return;
  const ptrdiff_t set = cr_set(c, column), at0 = column % c.inner + c.inner * c.n * (column / c.inner);
  const auto get = [&](ptrdiff_t j) { return (W)(f + at0)[c.inner * j]; };

  u[at0 + c.inner * (((i + 1) << r) - 1)] =
    (IO)(back ? cr_back<W>(c, r, i, set, get) : cr_reduce<W>(c, r, i, set, get));
}

/* periodic: the last unknown, then what it changes in the others */
template <typename IO, typename W>
__global__ void cr_last(BCRCudaCR c, IO *u)
{
  const ptrdiff_t column = (ptrdiff_t)blockIdx.x * blockDim.x + threadIdx.x;

  if (column >= c.inner * c.outer) return;
  const ptrdiff_t set = cr_set(c, column);
  IO *v = u + column % c.inner + c.inner * c.n * (column / c.inner);
  W x = (W)v[c.inner * (c.n - 1)];

  if (c.n > 1) x -= (W)c.border[set] * (W)v[0] + (W)c.border[c.sets + set] * (W)v[c.inner * (c.n - 2)];
  v[c.inner * (c.n - 1)] = (IO)((W)c.border[2 * c.sets + set] * x);
}

template <typename IO, typename W>
__global__ void cr_close(BCRCudaCR c, IO *u)
{
  const ptrdiff_t columns = c.inner * c.outer, t = (ptrdiff_t)blockIdx.x * blockDim.x + threadIdx.x, rows = c.n - 1;
  const ptrdiff_t column = c.inner == 1 ? t / rows : t % columns, j = c.inner == 1 ? t % rows : t / columns;

  if (t >= rows * columns) return;
  IO *v = u + column % c.inner + c.inner * c.n * (column / c.inner);

  v[c.inner * j] = (IO)((W)v[c.inner * j] - (W)c.z[j * c.sets + cr_set(c, column)] * (W)v[c.inner * (c.n - 1)]);
}

/* columns of a block, 0: a line is too long for shared memory */
static int cr_columns(const BCRCudaCR *c, size_t size)
{
  const size_t line = (size_t)(c->n + c->n / 32 + 1) * size;
  int tx = c->inner == 1 ? 1 : (int)CR_COLUMNS;

  while (tx > 1 && (tx * line > (size_t)c->shared / 2 || tx / 2 >= c->inner * c->outer)) tx /= 2;
  if (tx * line > (size_t)c->shared) tx = 0;
  return tx;
}

int BCRCudaCRShared(const BCRCudaCR *c, int single)
{
  return cr_columns(c, single ? sizeof(float) : sizeof(double)) > 0;
}

template <typename IO, typename W>
static int cr_run(BCRStream stream, const BCRCudaCR *c, int global, const IO *f, IO *u)
{
  const ptrdiff_t columns = c->inner * c->outer;
  int e;

  if (!global) {
    const int tx = cr_columns(c, sizeof(W));
    int threads = BCR_WARP;

    while (threads < CR_THREADS && threads < tx * (c->n / 2)) threads *= 2;
    return bcr_launch_cluster(cr_shared<IO, W>, dim3((unsigned)((columns + tx - 1) / tx)), dim3((unsigned)threads),
                              (size_t)tx * (c->n + c->n / 32 + 1) * sizeof(W), 1, stream, *c, tx, f, u);
  }
  if (f != u) {
    e = BCRCudaCopy(u, f, (size_t)columns * c->n * sizeof(IO), stream);
    if (e) return e;
  }
  for (int pass = 0; pass < 2; pass++) {
    for (int k = pass ? c->levels - 1 : 0; pass ? k >= 0 : k + 1 < c->levels; k += pass ? -1 : 1) {
      const ptrdiff_t rows = pass ? (c->level[k].rows + 1) / 2 : c->level[k].rows / 2;

      if (rows < 1) continue;
      e = bcr_launch_cluster(cr_level<IO, W>,
                             dim3((unsigned)((rows * columns + CR_LEVEL_THREADS - 1) / CR_LEVEL_THREADS)),
                             dim3(CR_LEVEL_THREADS), 0, 1, stream, *c, k, pass, rows, (const IO *)u, u);
      if (e) return e;
    }
  }
  if (!c->periodic) return 0;
  e = bcr_launch_cluster(cr_last<IO, W>, dim3((unsigned)((columns + BCR_THREADS - 1) / BCR_THREADS)), dim3(BCR_THREADS),
                         0, 1, stream, *c, u);
  if (e || c->n < 2) return e;
  return bcr_launch_cluster(cr_close<IO, W>,
                            dim3((unsigned)(((c->n - 1) * columns + CR_LEVEL_THREADS - 1) / CR_LEVEL_THREADS)),
                            dim3(CR_LEVEL_THREADS), 0, 1, stream, *c, u);
}

int BCRCudaCRSolve(BCRStream stream, const BCRCudaCR *c, int global, int single, int io, const void *f, void *u)
{
  int e = (int)cudaErrorInvalidValue;

  BCR_TRI_TYPES(single, io, e = cr_run<IO, W>(stream, c, global, (const IO *)f, (IO *)u));
  return e ? e : bcr_done();
}
