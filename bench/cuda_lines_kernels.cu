/*
  General cyclic reduction: the coefficients of each line are in arrays and are reduced along with
  its right-hand side in every solve. Levels, threads and memory are those of near-Toeplitz cyclic
  reduction in src/backend/cuda/tricr.cu, so that what differs is the coefficients. Row i of level r
  is row (i + 1) 2^r - 1 of the line.
*/
#include "cuda_lines_kernels.h"
#include <cuda_runtime.h>

/* row j from its neighbours, `step` away */
template <typename Get, typename Put>
static __device__ inline void reduce(ptrdiff_t j, ptrdiff_t step, bool right, Get get, Put put)
{
  const double k1 = get(0, j) / get(1, j - step), k2 = right ? get(2, j) / get(1, j + step) : 0;
  const double a = -get(0, j - step) * k1, c = right ? -get(2, j + step) * k2 : 0;
  const double b = get(1, j) - get(2, j - step) * k1 - (right ? get(0, j + step) * k2 : 0);
  const double d = get(3, j) - get(3, j - step) * k1 - (right ? get(3, j + step) * k2 : 0);

  put(0, j, a);
  put(1, j, b);
  put(2, j, c);
  put(3, j, d);
}

static __global__ void __launch_bounds__(512)
  general_shared(ptrdiff_t inner, ptrdiff_t n, ptrdiff_t columns, int levels, int columns_, const double *a,
                 const double *b, const double *c, const double *f, double *u)
{
  extern __shared__ double shared[];
  const int tx = threadIdx.x % columns_, ty = threadIdx.x / columns_, ny = blockDim.x / columns_;
  const ptrdiff_t all = (ptrdiff_t)blockIdx.x * columns_ + tx, column = all < columns ? all : columns - 1,
                  at0 = column % inner + inner * n * (column / inner), line = (n + n / 32 + 1) * columns_;
  const auto at = [&](int k, ptrdiff_t j) { return k * line + (j + (j >> 5)) * columns_ + tx; };
  const auto get = [&](int k, ptrdiff_t j) { return shared[at(k, j)]; };
  const auto put = [&](int k, ptrdiff_t j, double x) { shared[at(k, j)] = x; };

  for (ptrdiff_t j = ty; j < n; j += ny) {
    put(0, j, a[at0 + inner * j]);
    put(1, j, b[at0 + inner * j]);
    put(2, j, c[at0 + inner * j]);
    put(3, j, f[at0 + inner * j]);
  }
  for (int r = 0; r + 1 < levels; r++) {
    __syncthreads();
    for (ptrdiff_t i = 2 * ty + 1; i < n >> r; i += 2 * ny)
      reduce(((i + 1) << r) - 1, (ptrdiff_t)1 << r, i + 1 < n >> r, get, put);
  }
  for (int r = levels - 1; r >= 0; r--) {
    __syncthreads();
    for (ptrdiff_t i = 2 * ty; i < n >> r; i += 2 * ny) {
      const ptrdiff_t step = (ptrdiff_t)1 << r, j = ((i + 1) << r) - 1;
      double x = get(3, j);

      if (i) x -= get(0, j) * get(3, j - step);
      if (i + 1 < n >> r) x -= get(2, j) * get(3, j + step);
      put(3, j, x / get(1, j));
    }
  }
  __syncthreads();
  if (all < columns)
    for (ptrdiff_t j = ty; j < n; j += ny) u[at0 + inner * j] = get(3, j);
}

/* One level in global memory. Rows of level 0 that are not kept stay as they are; those that are
   have their numbers in scratch, and in u */
static __global__ void general_level(ptrdiff_t inner, ptrdiff_t n, ptrdiff_t columns, int r, int back, ptrdiff_t rows,
                                     const double *a, const double *b, const double *c, const double *f,
                                     double *scratch, double *u)
{
  const ptrdiff_t t = (ptrdiff_t)blockIdx.x * blockDim.x + threadIdx.x, column = inner == 1 ? t / rows : t % columns,
                  i = 2 * (inner == 1 ? t % rows : t / columns) + (back ? 0 : 1);
  const ptrdiff_t at0 = column % inner + inner * n * (column / inner), all = columns * n, step = (ptrdiff_t)1 << r,
                  j = ((i + 1) << r) - 1, m = n >> r;
  const double *from[4] = {r ? scratch : a, r ? scratch + all : b, r ? scratch + 2 * all : c, r ? u : f};
  double *to[4] = {scratch, scratch + all, scratch + 2 * all, u};

  if (t >= rows * columns) return;
  if (!back) {
    reduce(
      j, step, i + 1 < m, [&](int k, ptrdiff_t x) { return from[k][at0 + inner * x]; },
      [&](int k, ptrdiff_t x, double v) { to[k][at0 + inner * x] = v; });
    return;
  }
  double x = from[3][at0 + inner * j];

  if (i) x -= from[0][at0 + inner * j] * u[at0 + inner * (j - step)];
  if (i + 1 < m) x -= from[2][at0 + inner * j] * u[at0 + inner * (j + step)];
  u[at0 + inner * j] = x / from[1][at0 + inner * j];
}

int GeneralCR(void *stream, ptrdiff_t inner, ptrdiff_t n, ptrdiff_t outer, const double *a, const double *b,
              const double *c, double *scratch, const double *f, double *u, int global)
{
  const ptrdiff_t columns = inner * outer;
  const size_t line = (size_t)(n + n / 32 + 1) * sizeof(double) * 4;
  int levels = 0, room = 0, device = 0, tx = inner == 1 ? 1 : 16, threads = 32;

  while (n >> levels) levels++;
  if (!global) {
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&room, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) != cudaSuccess)
      return (int)cudaGetLastError();
    while (tx > 1 && (tx * line > (size_t)room / 2 || tx / 2 >= columns)) tx /= 2;
    if (tx * line > (size_t)room) return -1;
    while (threads < 512 && threads < tx * (n / 2)) threads *= 2;
    if (cudaFuncSetAttribute((const void *)general_shared, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             (int)(tx * line)) != cudaSuccess)
      return (int)cudaGetLastError();
    general_shared<<<(unsigned)((columns + tx - 1) / tx), threads, tx * line, (cudaStream_t)stream>>>(
      inner, n, columns, levels, tx, a, b, c, f, u);
    return (int)cudaGetLastError();
  }
  for (int back = 0; back < 2; back++)
    for (int k = 0; k < levels; k++) {
      const int r = back ? levels - 1 - k : k;
      const ptrdiff_t rows = back ? ((n >> r) + 1) / 2 : (n >> r) / 2;

      if (rows > 0)
        general_level<<<(unsigned)((rows * columns + 255) / 256), 256, 0, (cudaStream_t)stream>>>(
          inner, n, columns, r, back, rows, a, b, c, f, scratch, u);
    }
  return (int)cudaGetLastError();
}
