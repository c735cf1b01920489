/* BCRCudaPlaneMean in the kernels that have solutions of planes */
#pragma once

#include "common.cuh"
#include "planemean.h"

static __device__ __forceinline__ bool plane_wanted(const BCRCudaPlaneMean &m, int plane)
{
  return m.weight && m.weight[plane] != 0;
}

/* All threads of a block; v of the first one: the plain sum of what the block has of its plane. Numbers are added up in one
   order */
static __device__ void plane_part(const BCRCudaPlaneMean &m, int plane, int at, double v)
{
  __shared__ double sum[BCR_WARP];
  __shared__ int last;
  const int warps = blockDim.x / BCR_WARP;

  if (threadIdx.x == 0) {
    m.part[at] = m.weight[plane] * v;
    __threadfence();
    last = atomicAdd(m.count, 1) == m.all - 1;
    __threadfence();
  }
  __syncthreads();
  if (!last) return;
  v = 0;
  if ((int)threadIdx.x < warps * BCR_WARP) {
    for (int i = threadIdx.x; i < m.parts; i += warps * BCR_WARP) v += __ldcg(m.part + i);
#pragma unroll
    for (int q = BCR_WARP / 2; q; q /= 2) v += __shfl_xor_sync(0xffffffffu, v, q);
    if (threadIdx.x % BCR_WARP == 0) sum[threadIdx.x / BCR_WARP] = v;
  }
  __syncthreads();
  if (threadIdx.x) return;
  v = 0;
  for (int q = 0; q < warps; q++) v += sum[q];
  *m.mean = m.factor * v;
  *m.count = 0;
}
