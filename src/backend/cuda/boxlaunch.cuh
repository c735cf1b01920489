/* Launches of the kernels of box.cuh for one type */
#pragma once

#include "box.cuh"

template <typename T, int N, int W, int MINB> static int columns_launch(const BCRCudaBoxPass *p, const void *f, void *u, cudaStream_t st)
{
  const int   bytes = Columns<T, N, W>::BYTES;
  const dim3  grid((unsigned)((p->nx + 2 * W - 1) / (2 * W)), (unsigned)p->nb);
  cudaError_t e = cudaFuncSetAttribute((const void *)box_columns<T, N, W, MINB>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);

  if (e != cudaSuccess) return (int)e;
  box_columns<T, N, W, MINB><<<grid, W * Sine<N>::TASKS, bytes, st>>>(*p, (const T *)f, (T *)u);
  return bcr_done();
}

/* u NULL: *fits says whether the device has room for a cluster */
template <typename T> static int cluster_launch(void (*kernel)(BCRCudaBoxPlanes, T *), int K, int threads, size_t bytes, const BCRCudaBoxPlanes *p, void *u, cudaStream_t st, int *fits)
{
  const int           ranks  = (p->n + K - 1) / K;
  cudaLaunchConfig_t  config = {};
  cudaLaunchAttribute attribute[1];
  cudaError_t         e = cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);

  if (ranks > RANKS) e = cudaErrorNotSupported;
  config.gridDim                = dim3((unsigned)ranks, (unsigned)p->planes);
  config.blockDim               = dim3((unsigned)threads);
  config.dynamicSmemBytes       = bytes;
  config.stream                 = st;
  attribute[0].id               = cudaLaunchAttributeClusterDimension;
  attribute[0].val.clusterDim.x = (unsigned)ranks;
  attribute[0].val.clusterDim.y = 1;
  attribute[0].val.clusterDim.z = 1;
  config.attrs                  = attribute;
  config.numAttrs               = 1;
  if (fits) {
    int n = 0;

    if (e == cudaSuccess) e = cudaOccupancyMaxActiveClusters(&n, kernel, &config);
    *fits = e == cudaSuccess && n > 0;
    (void)cudaGetLastError(); /* a size that the device does not have is no error */
    return 0;
  }
  if (e == cudaSuccess) e = cudaLaunchKernelEx(&config, kernel, *p, (T *)u);
  return (int)(e == cudaSuccess ? cudaGetLastError() : e);
}
template <typename T, int N, int W, int MINB> static int slabs_launch(const BCRCudaBoxPlanes *p, void *u, cudaStream_t st, int *fits)
{
  return cluster_launch<T>(box_slabs<T, N, W, MINB>, 2 * W, W * Sine<N>::TASKS, Columns<T, N, W>::BYTES + 2 * N * sizeof(double), p, u, st, fits);
}
template <typename T, int N, int PAIRS, int MINB> static int rows_launch(const BCRCudaBoxPlanes *p, void *u, cudaStream_t st, int *fits)
{
  return cluster_launch<T>(box_rows<T, N, PAIRS, MINB>, 2 * PAIRS, PAIRS * Sine<N>::TASKS, Rows<T, N, PAIRS>::BYTES + 2 * N * sizeof(double), p, u, st, fits);
}

template <typename T, int N, int PAIRS, int MINB> static int march_launch(const BCRCudaBoxPlanes *p, void *u, cudaStream_t st, int *fits)
{
  const int   bytes = (int)(Rows<T, N, PAIRS>::BYTES + 3 * N * sizeof(double));
  cudaError_t e     = cudaFuncSetAttribute((const void *)box_down<T, N, PAIRS, MINB, 0>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);

  if (e == cudaSuccess) e = cudaFuncSetAttribute((const void *)box_up<T, N, PAIRS, MINB, 0>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (fits) {
    *fits = e == cudaSuccess;
    (void)cudaGetLastError();
    return 0;
  }
  if (e != cudaSuccess) return (int)e;
  box_down<T, N, PAIRS, MINB, 0><<<(unsigned)p->planes, PAIRS * Sine<N>::TASKS, bytes, st>>>(*p, BCRReduced(), (T *)u);
  box_up<T, N, PAIRS, MINB, 0><<<(unsigned)p->planes, PAIRS * Sine<N>::TASKS, bytes, st>>>(*p, BCRReduced(), (T *)u);
  return bcr_done();
}

/* With open ends, one way. There are as many planes as lines, often fewer than a device has room for: blocks are larger than where these two are what is left */
template <typename T, int N, int PAIRS, int MINB> static int half_launch(const BCRCudaBoxPlanes *p, int up, void *u, const BCRReduced &red, cudaStream_t st)
{
  const int   bytes  = (int)(Rows<T, N, PAIRS>::BYTES + 3 * N * sizeof(double));
  const auto  kernel = up ? box_up<T, N, PAIRS, MINB, 1> : box_down<T, N, PAIRS, MINB, 1>;
  cudaError_t e      = cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);

  if (e != cudaSuccess) return (int)e;
  kernel<<<(unsigned)p->planes, PAIRS * Sine<N>::TASKS, bytes, st>>>(*p, red, (T *)u);
  return bcr_done();
}
