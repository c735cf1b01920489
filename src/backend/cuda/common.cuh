/* What the kernels of the CUDA backend share */
#pragma once

#include <cuda_runtime.h>
#include "cuda.h"
#include "../../base/ends.h"

static inline cudaStream_t bcr_stream(BCRStream s)
{
  return (cudaStream_t)s;
}
static inline int bcr_done()
{
  return (int)cudaGetLastError();
}
enum {
  /* of a block whose threads have an element or a row each: four warps, so that a box of few rows still gives many
     blocks. Such kernels wait for memory, however large their blocks are; other sizes were not timed */
  BCR_THREADS = 128,
  BCR_SUM_THREADS = 256, /* of a block that sums: a power of two */
  BCR_WARP = 32,
  BCR_LEAST_BYTES = 16, /* are allocated where 0 are asked for, so that the pointer is not NULL */
  /* Blocks of a grid along its axes: CUDA takes 65535 along y and z. Kernels go on with the next element where there
     are more */
  BCR_GRID_YZ = 65535,
  BCR_GRID_ROWS = 32768,
  BCR_GRID_PLANES = 1024
};
static inline unsigned bcr_blocks(ptrdiff_t n, int per, unsigned most)
{
  const ptrdiff_t b = (n + per - 1) / per;

  return (unsigned)(b < 1 ? 1 : (b > (ptrdiff_t)most ? (ptrdiff_t)most : b));
}

/* for the elements of a box, BCR_THREADS of a row to a block */
static inline dim3 bcr_grid3(const int n[3])
{
  return dim3((unsigned)((n[0] + BCR_THREADS - 1) / BCR_THREADS),
              (unsigned)(n[1] < BCR_GRID_ROWS ? n[1] : BCR_GRID_ROWS),
              (unsigned)(n[2] < BCR_GRID_PLANES ? n[2] : BCR_GRID_PLANES));
}

/* Kernels of one solve overlap: one that is launched as dependent may begin before the one before it has ended, and
   waits with bcr_wait_before() before it touches what that one reads or writes; bcr_go_after() lets the next one begin.
   Where that is called before the end (`early`), its launch and first steps cost no time. But its blocks then go where
   there is room first, several to a multiprocessor, which must not happen to transforms (they take so much shared
   memory that it cannot), and they find the first-level cache that the one before left, small after transforms, which
   back substitutions of many groups do not bear: early is for solves whose transforms have a multiprocessor each (those
   by prime factors: two to a multiprocessor at most, no more than it takes). */
static __device__ __forceinline__ void bcr_wait_before()
{
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
static __device__ __forceinline__ void bcr_go_after()
{
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
template <typename... P, typename... A>
static int bcr_launch_clusters(int dependent, int cluster, void (*kernel)(P...), dim3 grid, dim3 block, size_t bytes,
                               cudaStream_t stream, const A &...args)
{
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute attribute[2];
  int device = 0, major = 0;

  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = bytes;
  config.stream = stream;
  config.attrs = attribute;
  if (dependent && cudaGetDevice(&device) == cudaSuccess &&
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess && major >= 9) {
    attribute[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute[config.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
  }
  if (cluster > 1) {
    attribute[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
    attribute[config.numAttrs].val.clusterDim.x = (unsigned)cluster;
    attribute[config.numAttrs].val.clusterDim.y = 1;
    attribute[config.numAttrs].val.clusterDim.z = 1;
    config.numAttrs++;
  }
  return (int)cudaLaunchKernelEx(&config, kernel, P(args)...);
}
template <typename... P, typename... A>
static int bcr_launch(int dependent, void (*kernel)(P...), dim3 grid, int threads, size_t bytes, cudaStream_t stream,
                      const A &...args)
{
  return bcr_launch_clusters(dependent, 1, kernel, grid, threads, bytes, stream, args...);
}

/* The number of this thread's warp, or of what all of a warp have in common: read from the first
   lane, so that the compiler knows that lanes do not differ; code that depends on it then keeps
   descriptors of memory in uniform registers, and there is one copy of what lanes exchange */
static __device__ __forceinline__ int bcr_uniform(int v)
{
  return __shfl_sync(0xffffffffu, v, 0);
}
static __device__ __forceinline__ int bcr_warp()
{
  return bcr_uniform((int)threadIdx.x >> 5);
}

/* calls CALL with T the type that `single` means */
#define BCR_CUDA_TYPE(single, ...) \
  do { \
    if (single) { \
      typedef float T; \
      __VA_ARGS__; \
    } else { \
      typedef double T; \
      __VA_ARGS__; \
    } \
  } while (0)

/* The same for what takes fields of PetscReal and no others: lines, recurrences, compact differences. The library has
   the one type that it can be given, 1: float, 2: double; with the programs in bench/, which time it in float where
   PETSc is in double, it has both. CALL sets e, which is an error before */
#if !defined(PETSCBCR_CUDA_FIELDS)
  #define PETSCBCR_CUDA_FIELDS 3
#endif
#if PETSCBCR_CUDA_FIELDS & 1
  #define BCR_CUDA_FLOAT_FIELD(...) __VA_ARGS__
#else
  #define BCR_CUDA_FLOAT_FIELD(...)
#endif
#if PETSCBCR_CUDA_FIELDS & 2
  #define BCR_CUDA_DOUBLE_FIELD(...) __VA_ARGS__
#else
  #define BCR_CUDA_DOUBLE_FIELD(...)
#endif
#define BCR_CUDA_FIELD(single, ...) \
  do { \
    if (single) { \
      BCR_CUDA_FLOAT_FIELD(typedef float T; __VA_ARGS__;) \
    } else { \
      BCR_CUDA_DOUBLE_FIELD(typedef double T; __VA_ARGS__;) \
    } \
  } while (0)

/* Arguments of a transform along rows that lines fl and ul describe: more rows stand behind them,
   extra is added to those that extraof names */
template <typename A>
static inline void bcr_rows(A *a, const BCRCudaLines *fl, const BCRCudaLines *ul, int more, const int *extraof,
                            ptrdiff_t extrald, ptrdiff_t extrab)
{
  a->nrows = fl->na * fl->nb + more;
  a->na = fl->na;
  a->fa = fl->sa;
  a->fb = fl->sb;
  a->ua = ul->sa;
  a->ub = ul->sb;
  a->extraof = extraof;
  a->extrald = extrald;
  a->extrab = extrab;
}
