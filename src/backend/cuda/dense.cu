/*
  Transforms of any end types and any size as products with the matrix of eigenvectors, of which
  only one period of the sine is stored: entry (i, j) is tab[I J mod 4 P]. Work grows with the
  square of the size: for sizes that no other kernel takes.
*/
#include "common.cuh"
#include "transforms.h"

enum {
  TILE = 64, /* outputs and lines of a block */
  STEP = 16, /* inputs that are in shared memory at a time */
  SIDE = 16, /* threads along outputs, and along lines: 4 x 4 products in the registers of each */
  THREADS = SIDE * SIDE
};

template <typename T>
static __device__ __forceinline__ T mode_value(const BCRCudaModes &m, int i, int j)
{
  const unsigned I = 2u * i + m.ib, J = m.periodic ? 2u * ((j + 1) / 2) : (unsigned)(m.ja * j + m.jb),
                 period = 4u * m.P;
  const int cosine = m.periodic ? (j == 0 || (j & 1)) : m.cosine;
  unsigned r = m.P < 8192 ? (I * J) % period : (unsigned)(((unsigned long long)I * J) % period);

  if (cosine) {
    r += m.P;
    if (r >= period) r -= period;
  }
  return ((const T *)m.tab)[r];
}

/* 64 outputs of 64 lines a block, 4 x 4 a thread */
template <typename T>
__global__ void __launch_bounds__(THREADS)
  dense(BCRCudaModes m, int synthesis, BCRCudaLines fl, const T *__restrict__ f, BCRCudaLines ul, T *__restrict__ u,
        const T *__restrict__ extra, const int *__restrict__ extraof, ptrdiff_t extrald, ptrdiff_t extrab)
{
  __shared__ T A[STEP][TILE + 1], B[STEP][TILE + 1];
  const int tid = threadIdx.x, tx = tid & 15, ty = tid >> 4, i0 = blockIdx.y * TILE;
  const bool along = fl.s == 1; /* lines are contiguous */
  const long nlines = (long)fl.na * fl.nb;

  for (long l0 = (long)blockIdx.x * TILE; l0 < nlines; l0 += (long)gridDim.x * TILE) {
    double acc[4][4] = {}; /* many terms: in double, for single too */

    for (int j0 = 0; j0 < m.n; j0 += STEP) {
      for (int e = tid; e < TILE * STEP; e += THREADS) {
        const int jj = e % STEP, ii = e / STEP, i = i0 + ii, j = j0 + jj;
        T v = 0;

        if (i < m.n && j < m.n) {
          v = synthesis ? mode_value<T>(m, i, j) : mode_value<T>(m, j, i);
          if (!synthesis && ((j == 0 && m.half[0]) || (j == m.n - 1 && m.half[1]))) v *= (T)0.5;
        }
        A[jj][ii] = v;
      }
      for (int e = tid; e < TILE * STEP; e += THREADS) {
        const int jj = along ? e % STEP : e / TILE, ll = along ? e / STEP : e % TILE, j = j0 + jj;
        const long l = l0 + ll;

        T v = 0;

        if (j < m.n && l < nlines) {
          const int a = (int)(l % fl.na), b = (int)(l / fl.na);

          v = f[a * fl.sa + b * fl.sb + j * fl.s];
          if (extra && extraof[a] >= 0) v += extra[extraof[a] * extrald + b * extrab + j];
        }
        B[jj][ll] = v;
      }
      __syncthreads();
      double part[4][4] = {}; /* sums of sums: thousands of terms one after the other would lose sqrt(n) roundings */

#pragma unroll
      for (int jj = 0; jj < STEP; jj++) {
        T a[4], b[4];

#pragma unroll
        for (int q = 0; q < 4; q++) {
          a[q] = A[jj][(along ? tx : ty) + SIDE * q];
          b[q] = B[jj][(along ? ty : tx) + SIDE * q];
        }
#pragma unroll
        for (int p = 0; p < 4; p++)
#pragma unroll
          for (int q = 0; q < 4; q++) part[p][q] += (double)a[p] * (double)b[q];
      }
#pragma unroll
      for (int p = 0; p < 4; p++)
#pragma unroll
        for (int q = 0; q < 4; q++) acc[p][q] += part[p][q];
      __syncthreads();
    }
#pragma unroll
    for (int p = 0; p < 4; p++)
#pragma unroll
      for (int q = 0; q < 4; q++) {
        const int i = i0 + (along ? tx : ty) + SIDE * p;
        const long l = l0 + (along ? ty : tx) + SIDE * q;

        if (i < m.n && l < nlines) u[(l % ul.na) * ul.sa + (l / ul.na) * ul.sb + i * ul.s] = (T)acc[p][q];
      }
  }
}

int BCRCudaDense(BCRStream stream, const BCRCudaModes *modes, int synthesis, int single, const BCRCudaLines *fl,
                 const void *f, const BCRCudaLines *ul, void *u, const void *extra, const int *extraof,
                 ptrdiff_t extrald, ptrdiff_t extrab)
{
  const ptrdiff_t lines = (ptrdiff_t)fl->na * fl->nb;
  const dim3 grid(bcr_blocks(lines, TILE, BCR_GRID_YZ), (unsigned)((modes->n + TILE - 1) / TILE));

  if (lines < 1) return 0;
  BCR_CUDA_TYPE(single,
                dense<<<grid, THREADS, 0, bcr_stream(stream)>>>(*modes, synthesis, *fl, (const T *)f, *ul, (T *)u,
                                                                (const T *)extra, extraof, extrald, extrab));
  return bcr_done();
}
