/* Launches of the kernels of box.cuh for one type */
#pragma once

#include "box.cuh"

template <typename T, int N, int W, int MINB> static int columns_launch(const BCRCudaBoxPass *p, const void *f, void *u, cudaStream_t st)
{
  const int   bytes = 9 * Sine<N>::L * W * 2 * (int)sizeof(T);
  const dim3  grid((unsigned)((p->nx + 2 * W - 1) / (2 * W)), (unsigned)p->nb);
  cudaError_t e = cudaFuncSetAttribute((const void *)box_columns<T, N, W, MINB>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);

  if (e != cudaSuccess) return (int)e;
  box_columns<T, N, W, MINB><<<grid, W * Sine<N>::TASKS, bytes, st>>>(*p, (const T *)f, (T *)u);
  return bcr_done();
}

template <typename T, int N, int PAIRS, int MINB> static int cluster_launch(const BCRCudaBoxPlanes *p, void *u, cudaStream_t st)
{
  const int           bytes = (int)(Rows<T, N, PAIRS>::BYTES + 2 * N * sizeof(double)), ranks = (p->n + 2 * PAIRS - 1) / (2 * PAIRS);
  cudaLaunchConfig_t  config = {};
  cudaLaunchAttribute attribute[1];
  cudaError_t         e = cudaFuncSetAttribute((const void *)box_cluster<T, N, PAIRS, MINB>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);

  if (e != cudaSuccess) return (int)e;
  config.gridDim                = dim3((unsigned)ranks, (unsigned)p->planes);
  config.blockDim               = dim3(PAIRS * Sine<N>::TASKS);
  config.dynamicSmemBytes       = (size_t)bytes;
  config.stream                 = st;
  attribute[0].id               = cudaLaunchAttributeClusterDimension;
  attribute[0].val.clusterDim.x = (unsigned)ranks;
  attribute[0].val.clusterDim.y = 1;
  attribute[0].val.clusterDim.z = 1;
  config.attrs                  = attribute;
  config.numAttrs               = 1;
  e                             = cudaLaunchKernelEx(&config, box_cluster<T, N, PAIRS, MINB>, *p, (T *)u);
  return (int)(e == cudaSuccess ? cudaGetLastError() : e);
}

template <typename T, int N, int PAIRS, int MINB> static int march_launch(const BCRCudaBoxPlanes *p, void *u, cudaStream_t st)
{
  const int   bytes = (int)(Rows<T, N, PAIRS>::BYTES + 3 * N * sizeof(double));
  cudaError_t e     = cudaFuncSetAttribute((const void *)box_down<T, N, PAIRS, MINB>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);

  if (e == cudaSuccess) e = cudaFuncSetAttribute((const void *)box_up<T, N, PAIRS, MINB>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (e != cudaSuccess) return (int)e;
  box_down<T, N, PAIRS, MINB><<<(unsigned)p->planes, PAIRS * Sine<N>::TASKS, bytes, st>>>(*p, (T *)u);
  box_up<T, N, PAIRS, MINB><<<(unsigned)p->planes, PAIRS * Sine<N>::TASKS, bytes, st>>>(*p, (T *)u);
  return bcr_done();
}
