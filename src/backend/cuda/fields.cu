/* Copies with factors, sums, planes of boundary rows: whatever is not a solve */
#include "common.cuh"
#include "fields.h"

struct Three {
  const double *w[3];
};
struct Strides {
  int n[3];
  ptrdiff_t f[3], t[3];
};

static Three factors(const double *const w[3])
{
  return {
    {w ? w[0] : NULL, w ? w[1] : NULL, w ? w[2] : NULL}
  };
}
static Strides strides(const int n[3], const ptrdiff_t f[3], const ptrdiff_t t[3])
{
  return {
    {n[0], n[1], n[2]},
    {f[0], f[1], f[2]},
    {t[0], t[1], t[2]}
  };
}

template <typename A, typename B>
__global__ void scale_copy(Strides s, const A *from, B *to, Three w, const double *__restrict__ all)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;

  if (i >= s.n[0]) return;
  for (int k = blockIdx.z; k < s.n[2]; k += gridDim.z) {
    for (int j = blockIdx.y; j < s.n[1]; j += gridDim.y) {
      double v = (double)from[i * s.f[0] + j * s.f[1] + k * s.f[2]];

      if (w.w[0]) v *= w.w[1][j] * w.w[2][k] * w.w[0][i];
      if (all) v *= all[i + (ptrdiff_t)s.n[0] * (j + (ptrdiff_t)s.n[1] * k)];
      to[i * s.t[0] + j * s.t[1] + k * s.t[2]] = (B)v;
    }
  }
}

int BCRCudaScaleCopy(BCRStream stream, const int n[3], int from_single, const void *from, const ptrdiff_t fs[3],
                     int to_single, void *to, const ptrdiff_t ts[3], const double *const w[3], const double *all)
{
  const dim3 grid = bcr_grid3(n);
  const Three three = factors(w);
  const Strides s = strides(n, fs, ts);
  cudaStream_t cudastream = bcr_stream(stream);

  if (from_single && to_single)
    scale_copy<<<grid, BCR_THREADS, 0, cudastream>>>(s, (const float *)from, (float *)to, three, all);
  else if (from_single)
    scale_copy<<<grid, BCR_THREADS, 0, cudastream>>>(s, (const float *)from, (double *)to, three, all);
  else if (to_single)
    scale_copy<<<grid, BCR_THREADS, 0, cudastream>>>(s, (const double *)from, (float *)to, three, all);
  else scale_copy<<<grid, BCR_THREADS, 0, cudastream>>>(s, (const double *)from, (double *)to, three, all);
  return bcr_done();
}

template <typename T, bool BACK>
__global__ void scale_pairs(Strides s, T *v, double *box, ptrdiff_t part, Three w, const double *__restrict__ all)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;

  if (i >= s.n[0]) return;
  for (int k = blockIdx.z; k < s.n[2]; k += gridDim.z) {
    for (int j = blockIdx.y; j < s.n[1]; j += gridDim.y) {
      T *const p = v + i * s.f[0] + j * s.f[1] + k * s.f[2];
      double *const re = box + i * s.t[0] + j * s.t[1] + k * s.t[2], *const im = re + part;
      double factor = 1;

      if (w.w[0]) factor *= w.w[1][j] * w.w[2][k] * w.w[0][i];
      if (all) factor *= all[i + (ptrdiff_t)s.n[0] * (j + (ptrdiff_t)s.n[1] * k)];
      if (BACK) {
        const T x = (T)(factor * *re), y = (T)(factor * *im);

        p[0] = x, p[1] = y;
      } else {
        const T x = p[0], y = p[1];

        *re = factor * (double)x, *im = factor * (double)y;
      }
    }
  }
}

int BCRCudaScalePairs(BCRStream stream, const int n[3], int back, int single, void *v, const ptrdiff_t vs[3],
                      double *box, const ptrdiff_t bs[3], ptrdiff_t part, const double *const w[3], const double *all)
{
  const dim3 grid = bcr_grid3(n);
  const Three three = factors(w);
  const Strides s = strides(n, vs, bs);

  if (back)
    BCR_CUDA_TYPE(single,
                  scale_pairs<T, true><<<grid, BCR_THREADS, 0, bcr_stream(stream)>>>(s, (T *)v, box, part, three, all));
  else
    BCR_CUDA_TYPE(single, scale_pairs<T, false>
                  <<<grid, BCR_THREADS, 0, bcr_stream(stream)>>>(s, (T *)v, box, part, three, all));
  return bcr_done();
}

/* in a fixed order, whatever the schedule of the blocks */
static __device__ double block_sum(double v)
{
  __shared__ double part[BCR_WARP];

  for (int s = BCR_WARP / 2; s > 0; s >>= 1) v += __shfl_down_sync(0xffffffffu, v, s);
  if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = v;
  __syncthreads();
  if (threadIdx.x < BCR_WARP) {
    v = threadIdx.x < (blockDim.x >> 5) ? part[threadIdx.x] : 0;
    for (int s = BCR_WARP / 2; s > 0; s >>= 1) v += __shfl_down_sync(0xffffffffu, v, s);
  }
  return v;
}

template <typename T>
__global__ void sum_rows(BCRCudaBox b, const T *__restrict__ u, Three w, double *partial)
{
  const ptrdiff_t rows = (ptrdiff_t)b.n[1] * b.n[2];
  double sum = 0;

  for (ptrdiff_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const int j = (int)(r % b.n[1]), k = (int)(r / b.n[1]);
    const T *p = u + j * b.stride[1] + k * b.stride[2];
    const double wr = w.w[0] ? w.w[1][j] * w.w[2][k] : 1;
    double v = 0;

    for (int i = threadIdx.x; i < b.n[0]; i += blockDim.x) v += (w.w[0] ? w.w[0][i] : 1) * (double)p[i * b.stride[0]];
    sum += wr * v;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

static __global__ void sum_partials(int n, const double *partial, double *sum)
{
  double v = 0;

  for (int i = threadIdx.x; i < n; i += blockDim.x) v += partial[i];
  v = block_sum(v);
  if (threadIdx.x == 0) *sum = v;
}

int BCRCudaSum(BCRStream stream, const BCRCudaBox *box, int single, const void *u, const double *const w[3],
               double *partial, double *sum)
{
  const unsigned blocks = bcr_blocks((ptrdiff_t)box->n[1] * box->n[2], 1, BCR_CUDA_PARTIALS);
  const Three three = factors(w);

  BCR_CUDA_TYPE(single,
                sum_rows<<<blocks, BCR_SUM_THREADS, 0, bcr_stream(stream)>>>(*box, (const T *)u, three, partial));
  sum_partials<<<1, BCR_SUM_THREADS, 0, bcr_stream(stream)>>>((int)blocks, partial, sum);
  return bcr_done();
}

template <typename T>
__global__ void add_value(BCRCudaBox b, const T *from, T *u, const double *value, double factor)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const double v = factor * *value;

  if (i >= b.n[0]) return;
  for (int k = blockIdx.z; k < b.n[2]; k += gridDim.z) {
    for (int j = blockIdx.y; j < b.n[1]; j += gridDim.y) {
      const ptrdiff_t o = i * b.stride[0] + j * b.stride[1] + k * b.stride[2];

      u[o] = (T)((double)from[o] + v);
    }
  }
}

int BCRCudaAddValue(BCRStream stream, const BCRCudaBox *box, int single, const void *from, void *u, const double *value,
                    double factor)
{
  BCR_CUDA_TYPE(single, add_value<<<bcr_grid3(box->n), BCR_THREADS, 0, bcr_stream(stream)>>>(*box, (const T *)from,
                                                                                             (T *)u, value, factor));
  return bcr_done();
}

template <typename T>
__global__ void add_scaled(BCRCudaBox b, const T *__restrict__ from, ptrdiff_t s0, ptrdiff_t s1, ptrdiff_t s2, T *u,
                           const double *value, double factor)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const double v = factor * *value;

  if (i >= b.n[0]) return;
  for (int k = blockIdx.z; k < b.n[2]; k += gridDim.z) {
    for (int j = blockIdx.y; j < b.n[1]; j += gridDim.y) {
      const ptrdiff_t o = i * b.stride[0] + j * b.stride[1] + k * b.stride[2];

      u[o] = (T)((double)u[o] + v * (double)from[i * s0 + j * s1 + k * s2]);
    }
  }
}

int BCRCudaAddScaled(BCRStream stream, const BCRCudaBox *box, int single, const void *from, const ptrdiff_t fs[3],
                     void *u, const double *value, double factor)
{
  BCR_CUDA_TYPE(single, add_scaled<<<bcr_grid3(box->n), BCR_THREADS, 0, bcr_stream(stream)>>>(
                          *box, (const T *)from, fs[0], fs[1], fs[2], (T *)u, value, factor));
  return bcr_done();
}

template <typename T>
__global__ void turn_rows(long n, const T *turn, const T *f, T *u)
{
  for (long i = blockIdx.x * (long)blockDim.x + threadIdx.x; i < n; i += (long)gridDim.x * blockDim.x) {
    const T c = turn[2 * i], s = turn[2 * i + 1], x = f[2 * i], y = f[2 * i + 1];

    u[2 * i] = c * x - s * y;
    u[2 * i + 1] = c * y + s * x;
  }
}

int BCRCudaTurn(BCRStream stream, long n, int single, const void *turn, const void *f, void *u)
{
  const unsigned blocks = bcr_blocks((ptrdiff_t)n, BCR_THREADS, 65535);

  BCR_CUDA_TYPE(single,
                turn_rows<<<blocks, BCR_THREADS, 0, bcr_stream(stream)>>>(n, (const T *)turn, (const T *)f, (T *)u));
  return bcr_done();
}

static __global__ void scale_value(const double *from, double factor, double *to)
{
  *to = factor * *from;
}

int BCRCudaScaleValue(BCRStream stream, const double *from, double factor, double *to)
{
  scale_value<<<1, 1, 0, bcr_stream(stream)>>>(from, factor, to);
  return bcr_done();
}
