/* Modes over a symbol (spectral.h), where no transform has that in it */
#include "symbol.cuh"
#include "fields.h"

template <typename T>
__global__ void divide(BCRCudaBox b, BCRCudaSymbol s, T *u)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;

  if (i >= b.n[0]) return;
  for (int k = blockIdx.z; k < b.n[2]; k += gridDim.z) {
    for (int j = blockIdx.y; j < b.n[1]; j += gridDim.y) {
      T *v = u + i * b.stride[0] + j * b.stride[1] + k * b.stride[2];
      const SymbolLine l = symbol_line(s, 0, j, k);

      if (i == s.pin[0] && j == s.pin[1] && k == s.pin[2]) *s.removed = (double)*v * s.removedfactor;
      *v = symbol_divide(s, l, 0, i, *v);
    }
  }
}

/* p + i tau as most (re + i im), most its larger part: squares of that might be no numbers */
struct SymbolPair {
  double most, re, im, square; /* square: re^2 + im^2, from 1 to 2 */
};
static __device__ __forceinline__ SymbolPair symbol_pair(const BCRCudaSymbol &s, double p)
{
  const double most = fmax(fabs(p), fabs(s.tau)), re = p / most, im = s.tau / most;

  return {most, re, im, re * re + im * im};
}

/* (x + i y) over the symbol and i tau */
template <typename T>
__global__ void divide_pairs(BCRCudaBox b, BCRCudaSymbol s, T *u, T *v)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;

  if (i >= b.n[0]) return;
  for (int k = blockIdx.z; k < b.n[2]; k += gridDim.z) {
    for (int j = blockIdx.y; j < b.n[1]; j += gridDim.y) {
      const ptrdiff_t at = i * b.stride[0] + j * b.stride[1] + k * b.stride[2];
      const SymbolLine l = symbol_line(s, 0, j, k);
      const SymbolPair p = symbol_pair(s, symbol_value(s, l, 0, i));
      const double norm = symbol_norm(s, l, 0, i), inv = norm / (p.most * p.square), x = (double)u[at],
                   y = (double)v[at];
      const bool left = norm == 0 || !(p.most * sqrt(p.square) > s.tol);

      u[at] = left ? (T)0 : (T)(inv * (p.re * x + p.im * y));
      v[at] = left ? (T)0 : (T)(inv * (p.re * y - p.im * x));
    }
  }
}

int BCRCudaDivide(BCRStream stream, const BCRCudaBox *box, const BCRCudaSymbol *symbol, int single, void *u, void *v)
{
  const dim3 grid = bcr_grid3(box->n);

  if (v)
    BCR_CUDA_TYPE(single, divide_pairs<<<grid, BCR_THREADS, 0, bcr_stream(stream)>>>(*box, *symbol, (T *)u, (T *)v));
  else BCR_CUDA_TYPE(single, divide<<<grid, BCR_THREADS, 0, bcr_stream(stream)>>>(*box, *symbol, (T *)u));
  return bcr_done();
}

/* Sums of three numbers over a block, in a fixed order */
static __device__ void block_sums(double v[3], double *sum)
{
  __shared__ double part[3][BCR_SUM_THREADS];

  for (int q = 0; q < 3; q++) part[q][threadIdx.x] = v[q];
  __syncthreads();
  for (int half = BCR_SUM_THREADS / 2; half > 0; half /= 2) {
    for (int q = 0; q < 3 && (int)threadIdx.x < half; q++) part[q][threadIdx.x] += part[q][threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x < 3) sum[threadIdx.x] = part[threadIdx.x][0];
}

/* Squares of what is left out, of all, and of all over the symbol, in the norm in which eigenvectors are orthogonal.
   v: imaginary parts, or NULL */
template <typename T>
__global__ void __launch_bounds__(BCR_SUM_THREADS)
  left_rows(BCRCudaBox b, BCRCudaSymbol s, const T *u, const T *v, double *partial)
{
  const ptrdiff_t rows = (ptrdiff_t)b.n[1] * b.n[2];
  double sum[3] = {0, 0, 0};

  for (ptrdiff_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const int j = (int)(r % b.n[1]), k = (int)(r / b.n[1]);
    const ptrdiff_t row = j * b.stride[1] + k * b.stride[2];
    const SymbolLine l = symbol_line(s, 0, j, k);

    for (int i = threadIdx.x; i < b.n[0]; i += blockDim.x) {
      const ptrdiff_t at = row + i * b.stride[0];
      const SymbolPair q = symbol_pair(s, symbol_value(s, l, 0, i)); /* tau is zero where numbers are real */
      const double norm = fabs(symbol_norm(s, l, 0, i) / s.factor), p = q.most > 0 ? q.most * sqrt(q.square) : 0,
                   x = (double)u[at], y = v ? (double)v[at] : 0, f = norm != 0 ? norm * (x * x + y * y) : 0;

      sum[1] += f;
      if (p > s.tol) sum[2] += f / (p * p);
      else sum[0] += f;
    }
  }
  block_sums(sum, partial + 3 * blockIdx.x);
}

/* Sums of n sums; result NULL: that is all */
static __global__ void __launch_bounds__(BCR_SUM_THREADS)
  left_sums(int n, const double *partial, double size, double *all, double *result)
{
  __shared__ double total[3];
  double sum[3] = {0, 0, 0};

  for (int i = threadIdx.x; i < n; i += blockDim.x)
    for (int q = 0; q < 3; q++) sum[q] += partial[3 * i + q];
  block_sums(sum, result ? total : all);
  __syncthreads();
  if (threadIdx.x == 0 && result && total[1] > 0) {
    const double part = sqrt(total[0]), whole = sqrt(total[1]);

    result[0] = fmax(result[0], part / whole);
    result[1] = fmax(result[1], part / (size * sqrt(total[2]) + whole));
  }
}

int BCRCudaLeftSums(BCRStream stream, const BCRCudaBox *box, const BCRCudaSymbol *symbol, int single, const void *u,
                    const void *v, double *partial, double sum[3])
{
  const unsigned blocks = bcr_blocks((ptrdiff_t)box->n[1] * box->n[2], 1, BCR_CUDA_PARTIALS);

  BCR_CUDA_TYPE(single, left_rows<<<blocks, BCR_SUM_THREADS, 0, bcr_stream(stream)>>>(*box, *symbol, (const T *)u,
                                                                                      (const T *)v, partial));
  left_sums<<<1, BCR_SUM_THREADS, 0, bcr_stream(stream)>>>((int)blocks, partial, 0, sum, NULL);
  return bcr_done();
}

int BCRCudaLeftLargest(BCRStream stream, int n, const double *sums, double size, double result[2])
{
  left_sums<<<1, BCR_SUM_THREADS, 0, bcr_stream(stream)>>>(n, sums, size, NULL, result);
  return bcr_done();
}
