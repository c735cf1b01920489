/* BCRCudaPlaneMean in the kernels that have solutions of planes */
#pragma once

#include "planemean.h"
#include "sum.cuh"

static __device__ __forceinline__ bool plane_wanted(const BCRCudaPlaneMean &m, int plane)
{
  return m.weight && m.weight[plane] != 0;
}

/* What a block has of its plane, v, and, when all of its threads have nothing else to do, its first warp: the last block's adds
   numbers up, in one order */
static __device__ __forceinline__ void plane_part(const BCRCudaPlaneMean &m, int plane, int at, double v)
{
  m.part[at] = m.weight[plane] * v;
  __threadfence();
}
static __device__ void plane_done(const BCRCudaPlaneMean &m)
{
  int last = 0;
  double v = 0;

  if (threadIdx.x == 0) last = atomicAdd(m.count, 1) == m.all - 1;
  if (!__shfl_sync(0xffffffffu, last, 0)) return;
  __threadfence();
  for (int i = threadIdx.x; i < m.parts; i += BCR_WARP) v += __ldcg(m.part + i);
  v = bcr_warp_sum(v);
  if (threadIdx.x) return;
  *m.mean = m.factor * v;
  *m.count = 0;
}
