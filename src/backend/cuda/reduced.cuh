/* Reduced systems of interfaces between few parts */
#pragma once

#include "common.cuh"
#include "border.h"

/* Reduced system of a mode: the solution in the row of a part and in the one before. What border_solve() in border.cu does, for few parts, from registers */
static __device__ __forceinline__ void reduced(const BCRCudaBorderRows &b, const double *__restrict__ received, int part, int mode, double *after, double *before)
{
  const int open = b.periodic ? b.nrow - 1 : b.nrow, last = part ? part - 1 : b.nparts - 1; /* of a periodic axis */
  double    x[BCR_CUDA_GATHER], low[BCR_CUDA_GATHER], up[BCR_CUDA_GATHER], inv[BCR_CUDA_GATHER], y = 0, end = 0;

  *after = *before = 0;
#pragma unroll
  for (int p = 0; p < BCR_CUDA_GATHER; p++) {
    x[p] = low[p] = up[p] = inv[p] = 0;
    if (p < b.nrow) x[p] = received[(2 * (ptrdiff_t)p + 1) * b.n - 1 - mode] + received[(2 * (ptrdiff_t)(p + 1 < b.nparts ? p + 1 : 0) + 1) * b.n + mode];
    if (p < open) {
      low[p] = b.low[(ptrdiff_t)p * b.n + mode];
      up[p]  = b.up[(ptrdiff_t)p * b.n + mode];
      inv[p] = b.inv[(ptrdiff_t)p * b.n + mode];
    }
    if (p == open) end = x[p];
  }
#pragma unroll
  for (int p = 0; p < BCR_CUDA_GATHER; p++) {
    if (p < open) x[p] = y = (x[p] + (p ? low[p] * y : 0)) * inv[p];
  }
  y = 0;
#pragma unroll
  for (int p = BCR_CUDA_GATHER - 1; p >= 0; p--) {
    if (p < open) {
      x[p] = y = x[p] + up[p] * y;
      if (p == open - 1) end += b.periodic ? b.lowlast[mode] * y : 0;
    }
  }
  if (b.periodic) {
    end = (end + (open ? b.uplast[mode] * x[0] : 0)) * b.den[mode];
#pragma unroll
    for (int p = 0; p < BCR_CUDA_GATHER; p++) {
      if (p < open) x[p] += b.q[(ptrdiff_t)p * b.n + mode] * end;
      if (p == open) x[p] = end;
    }
  }
#pragma unroll
  for (int p = 0; p < BCR_CUDA_GATHER; p++) {
    if (p < b.nrow && p == part) *after = x[p];
    if (p < b.nrow && p == last && (part || b.periodic)) *before = x[p];
  }
}
