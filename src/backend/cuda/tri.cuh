/* What the kernels of lines share (tri*.cu) */
#pragma once

#include "common.cuh"
#include <cooperative_groups.h>
#include <cuda_pipeline.h>

/* A power with what its rounding left out: squared k times a number loses k bits otherwise */
struct Power {
  double h, l;
};

static __device__ inline Power operator*(const Power &x, const Power &y)
{
  const double p = x.h * y.h, l = fma(x.h, y.h, -p) + (x.h * y.l + x.l * y.h), h = p + l;

  return {h, (p - h) + l};
}

/* m rows of y_i = alpha y_(i-1) + .., u_i = y_i + beta u_(i+1) as one: a = alpha^m, b = beta^m; a
   value carried in forwards leaves p = sum alpha^(i+1) beta^i of itself at the backward end. By
   doubling: exact for alpha = beta = 1 */
struct Segment {
  Power a, b;
  double p;
};

static __device__ inline Segment seg_row(double alpha, double beta)
{
  return {
    {alpha, 0},
    {beta,  0},
    alpha
  };
}

static __device__ inline Segment seg_join(const Segment &l, const Segment &r)
{
  return {l.a * r.a, l.b * r.b, l.p + l.a.h * l.b.h * r.p};
}

/* m of them, one after the other */
static __device__ inline Segment seg_repeat(Segment s, ptrdiff_t m)
{
  Segment x = {
    {1, 0},
    {1, 0},
    0
  };

  for (; m > 0; m >>= 1) {
    if (m & 1) x = seg_join(x, s);
    s = seg_join(s, s);
  }
  return x;
}

enum {
  TRI_SHARED_FREE = 48000, /* bytes of shared memory that no kernel has to ask for: CUDA's 48 KB, less what is static */
  TRI_CLUSTER_FREE = 8     /* blocks of a cluster that no kernel has to ask for: CUDA's portable size */
};
/* Launches with a cluster of blocks along x (1: none) and any amount of shared memory; dependent:
   the kernel may begin before the one before it has ended (bcr_wait_before()) */
template <typename... P, typename... A>
static int bcr_launch_lines(int dependent, void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, int cluster,
                            BCRStream stream, A... args)
{
  cudaError_t e = cudaSuccess;

  if (shared > TRI_SHARED_FREE)
    e = cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
  if (e == cudaSuccess && cluster > TRI_CLUSTER_FREE)
    e = cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  return e == cudaSuccess
           ? bcr_launch_clusters(dependent, cluster, kernel, grid, block, shared, bcr_stream(stream), args...)
           : (int)e;
}
template <typename... P, typename... A>
static int bcr_launch_cluster(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, int cluster, BCRStream stream,
                              A... args)
{
  return bcr_launch_lines(0, kernel, grid, block, shared, cluster, stream, args...);
}

/* Element types of fields and of work: io 0 the same, 1: fields of double, work in float. As BCR_CUDA_FIELD() */
#define BCR_TRI_TYPES(single, io, ...) \
  do { \
    if (!(single)) { \
      BCR_CUDA_DOUBLE_FIELD(typedef double IO; typedef double W; __VA_ARGS__;) \
    } else if (io) { \
      BCR_CUDA_DOUBLE_FIELD(typedef double IO; typedef float W; __VA_ARGS__;) \
    } else { \
      BCR_CUDA_FLOAT_FIELD(typedef float IO; typedef float W; __VA_ARGS__;) \
    } \
  } while (0)
