/* Launches of the kernels of ring.cuh for one type */
#pragma once

#include "ring.cuh"

/* fits given: how many blocks of so much shared memory a multiprocessor has room for, and no launch */
template <typename T, int BACK, int BIG, int ENDS>
static int ring_launch(const RingArgs<T> &a, int blocks, int threads, size_t bytes, cudaStream_t stream, int *fits)
{
  const auto kernel = ring_planes<T, BACK, BIG, ENDS>;
  cudaError_t e = cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);

  if (e != cudaSuccess) return (int)e;
  if (fits) return (int)cudaOccupancyMaxActiveBlocksPerMultiprocessor(fits, kernel, threads, bytes);
  return bcr_launch(1, kernel, dim3((unsigned)blocks), threads, bytes, stream, a);
}
template <typename T, int ENDS>
static int ring_launch_any(const RingArgs<T> &a, int back, int big, int blocks, int threads, size_t bytes,
                           cudaStream_t stream, int *fits)
{
  if (big)
    return back ? ring_launch<T, 1, 1, ENDS>(a, blocks, threads, bytes, stream, fits)
                : ring_launch<T, 0, 1, ENDS>(a, blocks, threads, bytes, stream, fits);
  return back ? ring_launch<T, 1, 0, ENDS>(a, blocks, threads, bytes, stream, fits)
              : ring_launch<T, 0, 0, ENDS>(a, blocks, threads, bytes, stream, fits);
}

/* _ends: with ENDS of RingKind */
#define RING_DECLARE(NAME, T) \
  int NAME(const RingArgs<T> &a, int back, int big, int blocks, int threads, size_t bytes, cudaStream_t stream, \
           int *fits)
RING_DECLARE(bcr_ring_double, double);
RING_DECLARE(bcr_ring_double_ends, double);
RING_DECLARE(bcr_ring_float, float);
RING_DECLARE(bcr_ring_float_ends, float);
