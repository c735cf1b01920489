/*
  Lines by stored factors (src/tridiagonal/thomas.c): a thread for each line, y in place of the
  solution until the way back. Lines beside each other in memory are read and written as they are,
  contiguous ones by tiles of 32 lines x 16 rows through shared memory, so that both are coalesced.
  The factors of neighbouring lines are neighbours in memory (interleaved).
*/
#include "tri.cuh"
#include "tri.h"

/* None of these was measured apart */
enum {
  ROWS = 16,          /* rows of a tile: half a warp moves those of a line, and as many loads are under way */
  ALONG_THREADS = 64, /* of a block of factors_along(): two warps, a tile of 32 lines each */
  /* of a block of factors_across(), a line each: BCR_THREADS where these give each multiprocessor of an H200 a block,
     else a warp */
  ACROSS_FEW = BCR_WARP,
  MULTIPROCESSORS = 132
};

/* Where the factors of row j are, in each table of one set */
struct Factor {
  const BCRCudaFactors &t;
  const ptrdiff_t set;

  __device__ ptrdiff_t at(ptrdiff_t j) const
  {
    return (j < t.nt ? j : (j < t.n - t.nlast ? t.nt - 1 : t.nt + j - (t.n - t.nlast))) * t.sets + set;
  }
};

template <typename W>
static __device__ inline W entry(const void *table, ptrdiff_t at)
{
  return ((const W *)table)[at];
}

template <typename IO, typename W>
__global__ void __launch_bounds__(BCR_THREADS) factors_across(BCRCudaFactors t, const IO *f, IO *u)
{
  const ptrdiff_t column = (ptrdiff_t)blockIdx.x * blockDim.x + threadIdx.x, n = t.n, stride = t.inner;

  if (column >= t.inner * t.outer) return;
  const ptrdiff_t i = column % t.inner, o = column / t.inner;
  const Factor F = {t, t.perline ? i / t.rep + t.inner / t.rep * o : 0};
  W y = 0, sum = 0;

  f += i + stride * n * o;
  u += i + stride * n * o;
  for (ptrdiff_t j0 = 0; j0 < n; j0 += ROWS) {
    W x[ROWS], lower[ROWS], lastrow[ROWS];

#pragma unroll
    for (int k = 0; k < ROWS; k++) {
      const bool in = j0 + k < n;
      const ptrdiff_t at = in ? F.at(j0 + k) : 0;

      x[k] = in ? (W)f[stride * (j0 + k)] : (W)0;
      lower[k] = in ? entry<W>(t.lower, at) : (W)0;
      lastrow[k] = in && t.periodic ? entry<W>(t.lastrow, at) : (W)0;
    }
#pragma unroll
    for (int k = 0; k < ROWS; k++) {
      if (j0 + k < n) {
        y = x[k] - lower[k] * y;
        if (t.periodic) {
          if (j0 + k == n - 1) y = x[k] - sum;
          sum += lastrow[k] * y;
        }
        u[stride * (j0 + k)] = (IO)y;
      }
    }
  }
  W v = 0, last = 0;

  for (ptrdiff_t j0 = (n - 1) / ROWS * ROWS; j0 >= 0; j0 -= ROWS) {
    W x[ROWS], pivotinverse[ROWS], upper[ROWS], lastcolumn[ROWS];

#pragma unroll
    for (int k = 0; k < ROWS; k++) {
      const bool in = j0 + k < n;
      const ptrdiff_t at = in ? F.at(j0 + k) : 0;

      x[k] = in ? (W)u[stride * (j0 + k)] : (W)0;
      pivotinverse[k] = in ? entry<W>(t.pivotinverse, at) : (W)0;
      upper[k] = in ? entry<W>(t.upper, at) : (W)0;
      lastcolumn[k] = in && t.periodic ? entry<W>(t.lastcolumn, at) : (W)0;
    }
#pragma unroll
    for (int k = ROWS - 1; k >= 0; k--) {
      if (j0 + k < n) {
        v = pivotinverse[k] * x[k] - (j0 + k < n - 1 ? upper[k] * v : (W)0);
        if (t.periodic) {
          if (j0 + k == n - 1) last = v;
          else v -= lastcolumn[k] * last;
        }
        u[stride * (j0 + k)] = (IO)v;
      }
    }
  }
}

/* A warp has 32 lines; a lane is a line, except where tiles are moved: there it is a row of two lines in turn */
template <typename IO, typename W>
__global__ void __launch_bounds__(ALONG_THREADS) factors_along(BCRCudaFactors t, const IO *f, IO *u)
{
  __shared__ W tiles[ALONG_THREADS / BCR_WARP][BCR_WARP * (ROWS + 1)];

  const int lane = threadIdx.x & 31, row = lane % ROWS, half = lane / ROWS;
  const ptrdiff_t first = ((ptrdiff_t)blockIdx.x * (ALONG_THREADS / BCR_WARP) + (threadIdx.x >> 5)) * BCR_WARP, n = t.n,
                  line = first + lane < t.outer ? first + lane : t.outer - 1;
  const Factor F = {t, t.perline ? line / t.rep : 0};
  W *tile = tiles[threadIdx.x >> 5], *mine = tile + lane * (ROWS + 1);
  W y = 0, sum = 0, move[ROWS];

  for (ptrdiff_t j0 = 0; j0 < n; j0 += ROWS) {
#pragma unroll
    for (int k = 0; k < ROWS; k++)
      move[k] = first + 2 * k + half < t.outer && j0 + row < n ? (W)f[(first + 2 * k + half) * n + j0 + row] : (W)0;
    __syncwarp();
#pragma unroll
    for (int k = 0; k < ROWS; k++) tile[(2 * k + half) * (ROWS + 1) + row] = move[k];
    __syncwarp();
#pragma unroll
    for (int k = 0; k < ROWS; k++) {
      if (j0 + k < n) {
        const ptrdiff_t at = F.at(j0 + k);
        const W x = mine[k];

        y = x - entry<W>(t.lower, at) * y;
        if (t.periodic) {
          if (j0 + k == n - 1) y = x - sum;
          sum += entry<W>(t.lastrow, at) * y;
        }
        mine[k] = y;
      }
    }
    __syncwarp();
#pragma unroll
    for (int k = 0; k < ROWS; k++)
      if (first + 2 * k + half < t.outer && j0 + row < n)
        u[(first + 2 * k + half) * n + j0 + row] = (IO)tile[(2 * k + half) * (ROWS + 1) + row];
  }
  W v = 0, last = 0;

  for (ptrdiff_t j0 = (n - 1) / ROWS * ROWS; j0 >= 0; j0 -= ROWS) {
#pragma unroll
    for (int k = 0; k < ROWS; k++)
      move[k] = first + 2 * k + half < t.outer && j0 + row < n ? (W)u[(first + 2 * k + half) * n + j0 + row] : (W)0;
    __syncwarp();
#pragma unroll
    for (int k = 0; k < ROWS; k++) tile[(2 * k + half) * (ROWS + 1) + row] = move[k];
    __syncwarp();
#pragma unroll
    for (int k = ROWS - 1; k >= 0; k--) {
      if (j0 + k < n) {
        const ptrdiff_t at = F.at(j0 + k);

        v = entry<W>(t.pivotinverse, at) * mine[k] - (j0 + k < n - 1 ? entry<W>(t.upper, at) * v : (W)0);
        if (t.periodic) {
          if (j0 + k == n - 1) last = v;
          else v -= entry<W>(t.lastcolumn, at) * last;
        }
        mine[k] = v;
      }
    }
    __syncwarp();
#pragma unroll
    for (int k = 0; k < ROWS; k++)
      if (first + 2 * k + half < t.outer && j0 + row < n)
        u[(first + 2 * k + half) * n + j0 + row] = (IO)tile[(2 * k + half) * (ROWS + 1) + row];
  }
}

int BCRCudaFactorsSolve(BCRStream stream, const BCRCudaFactors *t, int single, int io, const void *f, void *u)
{
  const ptrdiff_t columns = t->inner * t->outer;
  int e = (int)cudaErrorInvalidValue;

  if (t->inner == 1 && t->outer > 1)
    BCR_TRI_TYPES(single, io,
                  e = bcr_launch_cluster(factors_along<IO, W>,
                                         dim3((unsigned)((columns + ALONG_THREADS - 1) / ALONG_THREADS)),
                                         dim3(ALONG_THREADS), 0, 1, stream, *t, (const IO *)f, (IO *)u));
  else {
    const unsigned threads = columns >= BCR_THREADS * MULTIPROCESSORS ? (unsigned)BCR_THREADS : (unsigned)ACROSS_FEW;

    BCR_TRI_TYPES(single, io,
                  e = bcr_launch_cluster(factors_across<IO, W>, dim3((unsigned)((columns + threads - 1) / threads)),
                                         dim3(threads), 0, 1, stream, *t, (const IO *)f, (IO *)u));
  }
  return e ? e : bcr_done();
}
