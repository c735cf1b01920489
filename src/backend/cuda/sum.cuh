/* Sums over the lanes of a warp */
#pragma once

#include "common.cuh"

/* In all lanes the same, to the last bit */
static __device__ __forceinline__ double bcr_warp_sum(double v)
{
#pragma unroll
  for (int s = BCR_WARP / 2; s > 0; s /= 2) v += __shfl_xor_sync(0xffffffffu, v, s);
  return v;
}
