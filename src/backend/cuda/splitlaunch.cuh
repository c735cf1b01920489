/* Launches of the kernels of split.cuh for one type */
#pragma once

#include "split.cuh"

/* N2, columns of an item, segments of a block, its warps for chains, and how many blocks a
   multiprocessor should have registers for in double and in single precision (0: not for that).
   Registers are of quarters of a multiprocessor: 12 warps have 168 each, one more would leave 128.
   The first ones are preferred (BCRCudaSplitShape()) */
#define SPLIT_SHAPES(CASE) \
  CASE(16, 8, 2, 3, 1, 2) \
  CASE(16, 4, 4, 3, 1, 2) \
  CASE(20, 4, 2, 2, 1, 2) \
  CASE(20, 2, 4, 2, 1, 0) \
  CASE(32, 4, 1, 2, 1, 0) \
  CASE(32, 8, 1, 3, 0, 1)

template <typename T, class X, int N1, int BLOCKS, int BACK>
static int split_planes_launch(const RingArgs<T> &a, int shift, cudaStream_t stream)
{
  const auto kernel = split_planes<T, X, N1, BLOCKS, BACK>;
  const size_t bytes = (size_t)(N1 / 2) * X::PITCH * sizeof(Cplx<T>);
  const cudaError_t e =
    cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);

  if (e != cudaSuccess) return (int)e;
  return bcr_launch(1, kernel, dim3((unsigned)(a.y.len / N1), (unsigned)a.nz), N1 / 2 * X::G, bytes, stream, a, shift);
}

/* clusters given: how many of them have room on the device, and no launch */
template <typename T, class S>
static int split_lines_launch(const SplitLinesArgs<T> &a, int grid, cudaStream_t stream, int *clusters)
{
  const auto kernel = a.border.way == RING_WHOLE ? split_lines<T, S, 0> : split_lines<T, S, 1>;
  const size_t bytes = S::bytes(a);
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute attribute[2];
  cudaError_t e = cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);

  if (e == cudaSuccess && a.cluster > 8)
    e = cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  if (e != cudaSuccess) return (int)e;
  config.gridDim = dim3((unsigned)((clusters ? a.items : grid) * a.cluster));
  config.blockDim = dim3(S::THREADS);
  config.dynamicSmemBytes = bytes;
  config.stream = stream;
  config.attrs = attribute;
  config.numAttrs = clusters ? 1 : 2;
  attribute[0].id = cudaLaunchAttributeClusterDimension;
  attribute[0].val.clusterDim.x = (unsigned)a.cluster;
  attribute[0].val.clusterDim.y = attribute[0].val.clusterDim.z = 1;
  attribute[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute[1].val.programmaticStreamSerializationAllowed = 1;
  return (int)(clusters ? cudaOccupancyMaxActiveClusters(clusters, kernel, &config)
                        : cudaLaunchKernelEx(&config, kernel, a));
}

template <typename T>
static int split_planes_any(const RingArgs<T> &a, int N1, int back, int shift, cudaStream_t stream)
{
#define CASE(BYTES, N, N1_, BLOCKS, ...) \
  if constexpr (sizeof(T) == BYTES) \
    if (a.x.len == N && N1 == N1_) \
      return back ? split_planes_launch<T, RingLength<N, __VA_ARGS__>, N1_, BLOCKS, 1>(a, shift, stream) \
                  : split_planes_launch<T, RingLength<N, __VA_ARGS__>, N1_, BLOCKS, 0>(a, shift, stream);
  SPLIT_LENGTHS(CASE)
#undef CASE
  return (int)cudaErrorNotSupported;
}
template <typename T>
static int split_lines_any(const SplitLinesArgs<T> &a, int N2, int columns, int segments, int grid, cudaStream_t stream,
                           int *clusters)
{
#define CASE(N2_, COLUMNS, SEGMENTS, CHAINS, DBLOCKS, FBLOCKS) \
  if (N2 == N2_ && columns == COLUMNS && segments == SEGMENTS) { \
    constexpr int blocks = sizeof(T) == 8 ? DBLOCKS : FBLOCKS; \
    if constexpr (blocks > 0) \
      return split_lines_launch<T, SplitShape<T, N2_, COLUMNS, SEGMENTS, CHAINS, blocks>>(a, grid, stream, clusters); \
  }
  SPLIT_SHAPES(CASE)
#undef CASE
  return (int)cudaErrorNotSupported;
}

int bcr_split_planes(const RingArgs<double> &a, int N1, int back, int shift, cudaStream_t stream);
int bcr_split_planes(const RingArgs<float> &a, int N1, int back, int shift, cudaStream_t stream);
int bcr_split_lines(const SplitLinesArgs<double> &a, int N2, int columns, int segments, int grid, cudaStream_t stream,
                    int *clusters);
int bcr_split_lines(const SplitLinesArgs<float> &a, int N2, int columns, int segments, int grid, cudaStream_t stream,
                    int *clusters);
