/* Mixed precision: residuals in double of a solution that is corrected with solves in single
   (src/poisson/refine.c) */
#include "face.cuh"
#include "refine.h"

struct Rows {
  int n[3];
  const double *low[3], *diag[3], *up[3];
};

static __device__ double atomic_max_abs(double *p, double v)
{
  /* bits of positive doubles are in the order of the doubles */
  return __longlong_as_double(
    (long long)atomicMax((unsigned long long *)p, (unsigned long long)__double_as_longlong(v)));
}

/* the right-hand side in a node of the box */
template <typename R>
static __device__ __forceinline__ double rhs_at(const BCRCudaRefineRhs &g, int i, int j, int k)
{
  double v = (double)((const R *)g.f)[i * g.box.stride[0] + j * g.box.stride[1] + k * g.box.stride[2]];

  if (g.w[0]) v *= g.w[1][j] * g.w[2][k] * g.w[0][i];
  if (g.all) v *= g.all[i + (ptrdiff_t)g.box.n[0] * (j + (ptrdiff_t)g.box.n[1] * k)];
  for (int q = 0; q < g.nface; q++) {
    const BCRCudaFaceTerm &t = g.face[q];

    if (t.axis == 0 && i == t.end) v += bcr_face_term(t, g.nodestride, (const R *)g.u, j, k);
    if (t.axis == 1 && j == t.end) v += bcr_face_term(t, g.nodestride, (const R *)g.u, i, k);
    if (t.axis == 2 && k == t.end) v += bcr_face_term(t, g.nodestride, (const R *)g.u, i, j);
  }
  return v;
}

template <typename R>
__global__ void largest(BCRCudaRefineRhs g, double *value)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  double v = 0;

  if (i < g.box.n[0]) {
    for (int k = blockIdx.z; k < g.box.n[2]; k += gridDim.z)
      for (int j = blockIdx.y; j < g.box.n[1]; j += gridDim.y) {
        const double x = fabs(rhs_at<R>(g, i, j, k));

        if (x > v && isfinite(x)) v = x;
      }
  }
  for (int s = BCR_WARP / 2; s > 0; s >>= 1) v = fmax(v, __shfl_down_sync(0xffffffffu, v, s));
  if ((threadIdx.x & 31) == 0 && v > 0) (void)atomic_max_abs(value, v);
}

/* scalars: 0 rs, a power of two that takes the right-hand side near one; 1 sum of the means that
   were removed; 2 largest entry */
static __global__ void begin_scalars(double *s)
{
  const double v = s[2];

  s[0] = v > 0 ? ldexp(1., -max(ilogb(v), -1020)) : 1;
  s[1] = 0;
}

template <typename R>
__global__ void begin(BCRCudaRefineRhs g, float *r, ptrdiff_t r1, ptrdiff_t r2, const double *s)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const double rs = s[0];

  if (i >= g.box.n[0]) return;
  for (int k = blockIdx.z; k < g.box.n[2]; k += gridDim.z)
    for (int j = blockIdx.y; j < g.box.n[1]; j += gridDim.y)
      r[i + j * r1 + k * r2] = (float)(rs * rhs_at<R>(g, i, j, k));
}

int BCRCudaRefineBegin(BCRStream stream, const BCRCudaRefineRhs *g, float *r, const ptrdiff_t rs[3], double *scalars)
{
  cudaStream_t cudastream = bcr_stream(stream);
  const dim3 gr = bcr_grid3(g->box.n);
  int e = (int)cudaMemsetAsync(scalars, 0, 3 * sizeof(double), cudastream);

  if (e) return e;
  BCR_CUDA_TYPE(g->single, largest<T><<<gr, BCR_THREADS, 0, cudastream>>>(*g, scalars + 2));
  begin_scalars<<<1, 1, 0, cudastream>>>(scalars);
  BCR_CUDA_TYPE(g->single, begin<T><<<gr, BCR_THREADS, 0, cudastream>>>(*g, r, rs[1], rs[2], scalars));
  return bcr_done();
}

static __global__ void add_removed(double *s, const double *removed)
{
  s[1] += *removed / s[0];
}

__global__ void correct(BCRCudaBox b, const float *e, ptrdiff_t e1, ptrdiff_t e2, double *v, double inverse,
                        const double *s, int keep)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const double c = inverse / s[0];

  if (i >= b.n[0]) return;
  for (int k = blockIdx.z; k < b.n[2]; k += gridDim.z)
    for (int j = blockIdx.y; j < b.n[1]; j += gridDim.y) {
      const ptrdiff_t o = i * b.stride[0] + j * b.stride[1] + k * b.stride[2];
      const double d = c * (double)e[i + j * e1 + k * e2];

      v[o] = keep ? v[o] + d : d;
    }
}

int BCRCudaRefineCorrect(BCRStream stream, const BCRCudaBox *v_box, const float *e, const ptrdiff_t estride[3],
                         double *v, double inverse, int keep, const double *removed, double *scalars)
{
  cudaStream_t cudastream = bcr_stream(stream);

  correct<<<bcr_grid3(v_box->n), BCR_THREADS, 0, cudastream>>>(*v_box, e, estride[1], estride[2], v, inverse, scalars,
                                                               keep);
  if (removed) add_removed<<<1, 1, 0, cudastream>>>(scalars, removed);
  return bcr_done();
}

template <typename R>
__global__ void residual(BCRCudaRefineRhs g, BCRCudaBox vb, const double *__restrict__ v, float *r, ptrdiff_t r1,
                         ptrdiff_t r2, Rows t, double shift, const double *s)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x, nx = vb.n[0], ny = vb.n[1], nz = vb.n[2];
  const double rs = s[0], mean = s[1];

  if (i >= nx) return;
  for (int k = blockIdx.z; k < nz; k += gridDim.z)
    for (int j = blockIdx.y; j < ny; j += gridDim.y) {
      const double *p = v + j * vb.stride[1] + k * vb.stride[2];
      double x = (t.diag[0][i] + t.diag[1][j] + t.diag[2][k] + shift) * p[i * vb.stride[0]];

      x -=
        t.low[0][i] * p[(i ? i - 1 : nx - 1) * vb.stride[0]] + t.up[0][i] * p[(i + 1 < nx ? i + 1 : 0) * vb.stride[0]];
      p = v + i * vb.stride[0] + k * vb.stride[2];
      x -=
        t.low[1][j] * p[(j ? j - 1 : ny - 1) * vb.stride[1]] + t.up[1][j] * p[(j + 1 < ny ? j + 1 : 0) * vb.stride[1]];
      p = v + i * vb.stride[0] + j * vb.stride[1];
      x -=
        t.low[2][k] * p[(k ? k - 1 : nz - 1) * vb.stride[2]] + t.up[2][k] * p[(k + 1 < nz ? k + 1 : 0) * vb.stride[2]];
      r[i + j * r1 + k * r2] = (float)(rs * (rhs_at<R>(g, i, j, k) - mean - x));
    }
}

int BCRCudaResidual(BCRStream stream, const BCRCudaRefineRhs *g, const BCRCudaBox *v_box, const double *v, float *r,
                    const ptrdiff_t rs[3], const double *const low[3], const double *const diag[3],
                    const double *const up[3], double shift, const double *scalars)
{
  Rows t;

  for (int d = 0; d < 3; d++) {
    t.n[d] = v_box->n[d];
    t.low[d] = low[d];
    t.diag[d] = diag[d];
    t.up[d] = up[d];
  }
  BCR_CUDA_TYPE(g->single, residual<T><<<bcr_grid3(v_box->n), BCR_THREADS, 0, bcr_stream(stream)>>>(
                             *g, *v_box, v, r, rs[1], rs[2], t, shift, scalars));
  return bcr_done();
}

/* ones with some noise: what set-up tries mixed precision on */
static __global__ void trial(long n, double size, double *g)
{
  for (long i = (long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (long)gridDim.x * blockDim.x) {
    unsigned long long x = (unsigned long long)i * 0x9e3779b97f4a7c15ull + 0x2545f4914f6cdd1dull;

    x ^= x >> 31;
    x *= 0xbf58476d1ce4e5b9ull;
    x ^= x >> 29;
    g[i] = size * (1 + ((double)(x >> 11) / 9007199254740992. - 0.5));
  }
}

enum {
  TRIAL_BLOCKS = 256 /* of set-up, once: enough for a device, whatever n */
};

int BCRCudaTrial(BCRStream stream, long n, double size, double *g)
{
  trial<<<TRIAL_BLOCKS, BCR_SUM_THREADS, 0, bcr_stream(stream)>>>(n, size, g);
  return bcr_done();
}

template <typename R>
__global__ void sum_squares(BCRCudaBox b, const R *u, double *partial)
{
  __shared__ double part[BCR_SUM_THREADS];
  const ptrdiff_t rows = (ptrdiff_t)b.n[1] * b.n[2];
  double sum = 0;

  for (ptrdiff_t q = blockIdx.x; q < rows; q += gridDim.x) {
    const R *p = u + (q % b.n[1]) * b.stride[1] + (q / b.n[1]) * b.stride[2];

    for (int i = threadIdx.x; i < b.n[0]; i += blockDim.x)
      sum += (double)p[i * b.stride[0]] * (double)p[i * b.stride[0]];
  }
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int s = BCR_SUM_THREADS / 2; s > 0; s >>= 1) {
    if ((int)threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) partial[blockIdx.x] = part[0];
}

int BCRCudaSumSquares(BCRStream stream, const BCRCudaBox *box, int single, const void *u, int nparts, double *parts)
{
  BCR_CUDA_TYPE(single, sum_squares<<<nparts, BCR_SUM_THREADS, 0, bcr_stream(stream)>>>(*box, (const T *)u, parts));
  return bcr_done();
}
