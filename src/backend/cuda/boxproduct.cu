/*
  box_slabs() of box.cuh with transforms of any end types and lengths up to 256 as products
  (product.cuh): planes of three dimensions stay on chip, transformed along one axis, a line along x
  for each mode, and transformed back. A cluster of blocks has a plane, each of them W columns. In
  double, for single precision too.
*/
#include "boxlaunch.cuh"
#include "product.cuh"
#include "sum.cuh"
#include "window.cuh"

enum {
  BOX_W = 32,      /* columns of a block; half as many where there are PRODUCT_NARROW modes at most */
  BOX_MODES = 256, /* at most: a thread each */
  BOX_ROWS = 32,   /* results of a column that a warp has */
  /* most modes for which this takes less time than level 0 does, in seven kernels of which two read
     less: double, single precision */
  BOX_DOUBLE = 160,
  BOX_SINGLE = 128
};

/* A line loses its mean, of all blocks of the cluster; right: of right-hand sides, whose ends may count half. The warp whose
   lane has the line's mode has a column with each lane (own: this is that warp), x of this one. sum: shared */
template <int W>
static __device__ void box_mean(const BCRCudaBoxPlanes &p, const BCRCudaBoxMean &mean, int rank, bool own, bool right,
                                double *sum, double *x)
{
  const int lane = threadIdx.x % BCR_WARP, row = rank * W + lane;
  const bool here = own && lane < W && row < p.n;

  __syncwarp();
  if (own) {
    double s = here ? (right && ((row == 0 && p.half[0]) || (row == p.n - 1 && p.half[1])) ? 0.5 : 1) * *x : 0;

    s = bcr_warp_sum(s);
    if (lane == 0) *sum = s;
  }
  __syncwarp();
  cluster_arrive();
  cluster_wait();
  if (own) {
    double s = 0;

    for (int q = 0; q < (int)gridDim.x; q++) s += cluster_read(sum, q);
    s /= p.n - (right ? 0.5 * (p.half[0] + p.half[1]) : 0);
    if (right && rank == 0 && lane == 0) *mean.removed = s * mean.removedfactor;
    if (here) *x -= s;
  }
  __syncwarp();
}

/* Where ends are nodes other modes than the constant one have sums, and the solution of the whole box has to lose their mean,
   too. What the lines of a block add to the sum, before they are transformed back: each warp's, of this thread's line, of
   `rows` numbers, goes to warps, in shared memory */
template <typename Line>
static __device__ __forceinline__ void box_lines_sum(const BCRCudaBoxMean &mean, int k, int n, int rows, Line line,
                                                     double *warps)
{
  const double weight = k < n ? mean.modes[k] : 0;
  double s = 0;

  if (weight != 0) {
#pragma unroll 8
    for (int i = 0; i < rows; i++) s += line(i);
  }
  s = bcr_warp_sum(s * weight);
  if (k % BCR_WARP == 0) warps[k / BCR_WARP] = s;
}
/* One thread: the block's sum is there for the plane of the constant mode to take */
static __device__ __forceinline__ void box_tell(const BCRCudaBoxMean &mean, int plane, const double *warps)
{
  double s = 0;

  for (int w = 0; w < (int)blockDim.x / BCR_WARP; w++) s += warps[w];
  window_store(mean.sums + plane * gridDim.x + blockIdx.x, s * mean.weights[plane]);
}
/* That plane: the mean that these sums make, added up in the same order in each of its blocks. All other planes have begun
   before it and wait for none */
static __device__ double box_constant(const BCRCudaBoxMean &mean, double *warps)
{
  constexpr int BATCH = 4; /* on their way at a time */
  const int parts = gridDim.x * gridDim.y;
  double s = 0;

  for (int q0 = threadIdx.x; q0 < parts; q0 += BATCH * blockDim.x) {
    double v[BATCH];

#pragma unroll
    for (int q = 0; q < BATCH; q++) v[q] = window_load(mean.sums + min(q0 + q * (int)blockDim.x, parts - 1));
#pragma unroll
    for (int q = 0; q < BATCH; q++) {
      if (q0 + q * (int)blockDim.x >= parts) break;
      while (!window_there(v[q])) v[q] = window_load(mean.sums + q0 + q * blockDim.x);
      s += v[q];
    }
  }
  s = bcr_warp_sum(s);
  if (threadIdx.x % BCR_WARP == 0) warps[threadIdx.x / BCR_WARP] = s;
  __syncthreads();
  s = 0;
  for (int w = 0; w < (int)blockDim.x / BCR_WARP; w++) s += warps[w];
  return s * mean.factor;
}

template <typename T, int KIND, int W>
__global__ void __launch_bounds__(BOX_MODES, 2)
  box_products(BCRCudaBoxPlanes p, const __grid_constant__ BCRCudaProducts m, BCRCudaBoxMean mean, T *u)
{
  constexpr int G = ProductKind<KIND>::GROUPS, MT = BOX_ROWS / 16 / G;
  extern __shared__ __align__(16) char sm[];
  __shared__ double sums[2], warps[BOX_MODES / BCR_WARP];
  double *lines = (double *)sm, *E = lines + 4 * m.steps * G * W;
  const int rank = blockIdx.x, k = threadIdx.x, n = m.n, last = 8 * m.steps - 1, first = (threadIdx.x >> 5) * MT;
  /* the plane of the constant mode is the last to begin where it waits for others */
  const int plane = mean.weights ? (blockIdx.y + mean.plane + 1) % gridDim.y : blockIdx.y;
  const bool here = (int)threadIdx.x % W < p.n - rank * W,
             pinned = mean.pin >= 0 && plane == mean.plane; /* the whole cluster */

  bcr_wait_before();
  u += plane * p.plane + rank * W + threadIdx.x % W;
  product_load<T, KIND, W>(m, 0, here, u, p.ld, lines);
#pragma unroll 1
  for (int synthesis = 0; synthesis < 2; synthesis++) {
    double c[G][MT][W / 8][4];

    __syncthreads();
    if (synthesis && mean.weights && k == 0) box_tell(mean, plane, warps);
    product_multiply<KIND, MT, W>(m, m.table[synthesis], first, lines, c);
    __syncthreads();
    product_keep<KIND, MT, W>(m, synthesis, first, c, lines);
    __syncthreads();
    if (synthesis) break;
    const int row = product_row<KIND>(m, 1, min(k, n - 1));
    const auto line = [&](int i) -> double & { return lines[product_at<W>(row, i)]; };
    const bool own = pinned && k / BCR_WARP == mean.pin / BCR_WARP;
    double *x = own ? lines + product_at<W>(product_row<KIND>(m, 1, mean.pin), k % W) : NULL;

    if (pinned) box_mean<W>(p, mean, rank, own, true, sums, x);
    cluster_lines<double, W, BOX_MODES, 1>(p, n, rank, gridDim.x, p.tab + (ptrdiff_t)plane * BCR_CUDA_SEP_TAB * n, E,
                                           [&](int, int i) -> double & { return line(i); });
    if (mean.weights) box_lines_sum(mean, k, n, min(W, p.n - rank * W), line, warps);
    else if (pinned) {
      cluster_wait();
      box_mean<W>(p, mean, rank, own, false, sums + 1, x);
      cluster_arrive();
    }
    if (KIND == BCR_CUDA_PRODUCT_ONE) { /* the way back is the same transform */
      __syncthreads();
      for (int e = threadIdx.x; 2 * (e / W) < n; e += blockDim.x) {
        const int i = e / W, l = e % W, at = product_at<W>(i, l), mirror = product_at<W>(last - i, l);
        double a = lines[at], b = lines[mirror];

        product_terms<KIND>(0, i, &a, &b);
        lines[at] = a;
        lines[mirror] = b;
      }
    }
  }
  if (pinned && mean.weights) {
    const double constant = box_constant(mean, warps);

    for (int j = k / W; j < n; j += blockDim.x / W) lines[product_at<W>(product_row<KIND>(m, 0, j), k % W)] -= constant;
    cluster_wait();
    cluster_arrive(); /* all of the cluster have taken the sums */
  }
  product_store<T, KIND, W>(m, 1, here, lines, u, p.ld);
  bcr_go_after();
  cluster_wait();
  if (pinned && mean.weights && rank == 0)
    for (int q = k; q < (int)(gridDim.x * gridDim.y); q += blockDim.x) window_clear(mean.sums + q);
}

static int box_blocks(const BCRCudaBoxPlanes *p, int W)
{
  return (p->n + W - 1) / W;
}
/* columns of a block */
static int box_width(const BCRCudaBoxPlanes *p, const BCRCudaProducts *m)
{
  return m->n <= PRODUCT_NARROW && p->n <= RANKS * BOX_W / 2 ? BOX_W / 2 : BOX_W;
}

template <typename T, int KIND, int W>
static int launch(const BCRCudaBoxPlanes *p, const BCRCudaProducts *m, const BCRCudaBoxMean &mean, void *u,
                  cudaStream_t stream, int *fits)
{
  const size_t bytes = ((size_t)4 * m->steps * ProductKind<KIND>::GROUPS * W + 2 * BOX_MODES) * sizeof(double);
  const int ranks = box_blocks(p, W), threads = 32 * ((m->n + BOX_ROWS - 1) / BOX_ROWS);
  const auto kernel = box_products<T, KIND, W>;
  cudaError_t e;

  if (fits) return cluster_launch(kernel, ranks, p->planes, threads, bytes, stream, fits, *p, *m, mean, (T *)u);
  e = cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
  if (e != cudaSuccess) return (int)e;
  return bcr_launch_clusters(1, ranks, kernel, dim3((unsigned)ranks, (unsigned)p->planes), threads, bytes, stream, *p,
                             *m, mean, (T *)u);
}
template <typename T, int KIND>
static int launch(const BCRCudaBoxPlanes *p, const BCRCudaProducts *m, const BCRCudaBoxMean &mean, void *u,
                  cudaStream_t stream, int *fits)
{
  return box_width(p, m) == BOX_W ? launch<T, KIND, BOX_W>(p, m, mean, u, stream, fits)
                                  : launch<T, KIND, BOX_W / 2>(p, m, mean, u, stream, fits);
}
template <typename T>
static int launch_any(const BCRCudaBoxPlanes *p, const BCRCudaProducts *m, const BCRCudaBoxMean &mean, void *u,
                      cudaStream_t stream, int *fits)
{
  if (m->kind == BCR_CUDA_PRODUCT_WHOLE) return launch<T, BCR_CUDA_PRODUCT_WHOLE>(p, m, mean, u, stream, fits);
  return m->kind == BCR_CUDA_PRODUCT_ONE ? launch<T, BCR_CUDA_PRODUCT_ONE>(p, m, mean, u, stream, fits)
                                         : launch<T, BCR_CUDA_PRODUCT_PARITIES>(p, m, mean, u, stream, fits);
}

int BCRCudaBoxProductFits(const BCRCudaBoxPlanes *p, const BCRCudaProducts *m, int single)
{
  int fits = 0;

  if (m->n <= (single ? BOX_SINGLE : BOX_DOUBLE))
    BCR_CUDA_TYPE(single, (void)launch_any<T>(p, m, {}, NULL, NULL, &fits));
  return fits;
}

int BCRCudaBoxProductBlocks(const BCRCudaBoxPlanes *p, const BCRCudaProducts *m)
{
  return box_blocks(p, box_width(p, m));
}

int BCRCudaBoxProduct(BCRStream stream, const BCRCudaBoxPlanes *p, const BCRCudaProducts *m, const BCRCudaBoxMean *mean,
                      int single, void *u)
{
  int error = 0;

  if (p->planes < 1) return 0;
  BCR_CUDA_TYPE(single, error = launch_any<T>(p, m, *mean, u, bcr_stream(stream), NULL));
  return error;
}
