/*
  Launches of the kernels of box.cuh for one type. Numbers of templates: N or L, length of a transform; A, numbers
  that a thread has in registers in a transform; W or PAIRS, pairs of columns or of rows of a block; MINB, blocks
  that a multiprocessor should have room for, which bounds the registers of a thread. Those that boxd.cu, boxf.cu and
  boxranks.cu take are the ones with which the kernels were timed on an H200 (bench/results/h200_poisson.csv, 3-D).
  Apart from others were measured only 32 numbers in registers for 511 unknowns in single precision: 511^3 1.575 to
  1.555 ms, in double 1 % slower (commit ae50e47).
*/
#pragma once

#include "box.cuh"

template <typename T, int N, int A, int W, int MINB, int EVEN = 0, int HALVES = 0>
static int columns_launch(const BCRCudaBoxPass *p, const void *f, void *u, cudaStream_t stream)
{
  const auto kernel = box_columns<T, N, A, W, MINB, EVEN, HALVES>;
  const int bytes = Columns<T, N, A, W>::BYTES;
  const dim3 grid((unsigned)((p->nx + 2 * W - 1) / (2 * W)), (unsigned)p->nb);
  cudaError_t e = cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);

  if (e != cudaSuccess) return (int)e;
  kernel<<<grid, Columns<T, N, A, W>::NT, bytes, stream>>>(*p, (const T *)f, (T *)u);
  return bcr_done();
}

template <typename T, int L, int A, int W, int MINB>
static int chirp_launch(const BCRCudaBoxPass *p, const void *f, void *u, cudaStream_t stream)
{
  const int bytes = Columns<T, L, A, W>::BYTES;
  const dim3 grid((unsigned)((p->nx + W - 1) / W), (unsigned)p->nb);
  cudaError_t e =
    cudaFuncSetAttribute((const void *)box_chirp<T, L, A, W, MINB>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);

  if (e != cudaSuccess) return (int)e;
  box_chirp<T, L, A, W, MINB><<<grid, Columns<T, L, A, W>::NT, bytes, stream>>>(*p, (const T *)f, (T *)u);
  return bcr_done();
}

/* A cluster of ranks blocks for each of the planes. fits given: how many clusters the device has
   room for at a time, and no launch */
template <typename... A>
static int cluster_launch(void (*kernel)(A...), int ranks, int planes, int threads, size_t bytes, cudaStream_t stream,
                          int *fits, A... args)
{
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute attribute[1];
  cudaError_t e =
    ranks > RANKS ? cudaErrorNotSupported
                  : cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);


  config.gridDim = dim3((unsigned)ranks, (unsigned)planes);
  config.blockDim = dim3((unsigned)threads);
  config.dynamicSmemBytes = bytes;
  config.stream = stream;
  attribute[0].id = cudaLaunchAttributeClusterDimension;
  attribute[0].val.clusterDim.x = (unsigned)ranks;
  attribute[0].val.clusterDim.y = 1;
  attribute[0].val.clusterDim.z = 1;
  config.attrs = attribute;
  config.numAttrs = 1;
  if (fits) {
    *fits = 0;
    if (e == cudaSuccess) e = cudaOccupancyMaxActiveClusters(fits, kernel, &config);
    if (e != cudaSuccess) *fits = 0;
    (void)cudaGetLastError(); /* a size that the device does not have is no error */
    return 0;
  }
  if (e == cudaSuccess) e = cudaLaunchKernelEx(&config, kernel, args...);
  return (int)(e == cudaSuccess ? cudaGetLastError() : e);
}
template <typename T, int N, int A, int W, int MINB, int EVEN = 0>
static int slabs_launch(const BCRCudaBoxPlanes *p, void *u, cudaStream_t stream, int *fits)
{
  return cluster_launch(box_slabs<T, N, A, W, MINB, EVEN>, (p->n + 2 * W - 1) / (2 * W), p->planes,
                        Columns<T, N, A, W>::NT, Columns<T, N, A, W>::BYTES + 2 * (N + EVEN) * sizeof(T), stream, fits,
                        *p, (T *)u);
}
template <typename T, int N, int PAIRS, int A, int MINB>
static int rows_launch(const BCRCudaBoxPlanes *p, void *u, cudaStream_t stream, int *fits)
{
  typedef Rows<T, N, PAIRS, A> R;

  return cluster_launch(box_rows<T, N, PAIRS, A, MINB>, (p->n + 2 * PAIRS - 1) / (2 * PAIRS), p->planes, R::NT,
                        R::BYTES + 2 * N * sizeof(T), stream, fits, *p, (T *)u);
}

template <typename T, int N, int PAIRS, int MINB>
static int march_launch(const BCRCudaBoxPlanes *p, void *u, cudaStream_t stream, int *fits)
{
  const int bytes = (int)(Rows<T, N, PAIRS>::BYTES + 3 * N * sizeof(double));
  cudaError_t e = cudaFuncSetAttribute((const void *)box_down<T, N, PAIRS, MINB, 0>,
                                       cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);

  if (e == cudaSuccess)
    e = cudaFuncSetAttribute((const void *)box_up<T, N, PAIRS, MINB, 0>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             bytes);
  if (fits) {
    *fits = e == cudaSuccess;
    (void)cudaGetLastError();
    return 0;
  }
  if (e != cudaSuccess) return (int)e;
  box_down<T, N, PAIRS, MINB, 0>
    <<<(unsigned)p->planes, PAIRS * Sine<N>::TASKS, bytes, stream>>>(*p, BCRReduced(), (T *)u);
  box_up<T, N, PAIRS, MINB, 0>
    <<<(unsigned)p->planes, PAIRS * Sine<N>::TASKS, bytes, stream>>>(*p, BCRReduced(), (T *)u);
  return bcr_done();
}

/* With open ends, one way. There are as many planes as lines, often fewer than a device has room
   for: blocks are larger than where these two are what is left */
template <typename T, int N, int PAIRS, int MINB>
static int half_launch(const BCRCudaBoxPlanes *p, int up, void *u, const BCRReduced &red, cudaStream_t stream)
{
  const int bytes = (int)(Rows<T, N, PAIRS>::BYTES + 3 * N * sizeof(double));
  const auto kernel = up ? box_up<T, N, PAIRS, MINB, 1> : box_down<T, N, PAIRS, MINB, 1>;
  cudaError_t e = cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);

  if (e != cudaSuccess) return (int)e;
  kernel<<<(unsigned)p->planes, PAIRS * Sine<N>::TASKS, bytes, stream>>>(*p, red, (T *)u);
  return bcr_done();
}
