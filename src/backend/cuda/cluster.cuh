/* Blocks of a cluster: their barrier, and reads of another one's shared memory */
#pragma once

#include "fft.cuh"

static __device__ __forceinline__ void cluster_arrive()
{
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
}
static __device__ __forceinline__ void cluster_wait()
{
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}
/* *p of block rank of the cluster, p in this block's shared memory */
template <typename T>
static __device__ __forceinline__ T cluster_read(const T *p, int rank)
{
  T v = 0;

#if __CUDA_ARCH__ >= 900
  unsigned a = (unsigned)__cvta_generic_to_shared(p), b;

  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(b) : "r"(a), "r"(rank));
  if constexpr (sizeof(T) == 8) asm volatile("ld.shared::cluster.f64 %0, [%1];" : "=d"(v) : "r"(b) : "memory");
  else asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(b) : "memory");
#else
  (void)p, (void)rank;
#endif
  return v;
}
/* two numbers at once */
template <typename T>
static __device__ __forceinline__ Cplx<T> cluster_read(const Cplx<T> *p, int rank)
{
  Cplx<T> v = {0, 0};

#if __CUDA_ARCH__ >= 900
  unsigned a = (unsigned)__cvta_generic_to_shared(p), b;

  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(b) : "r"(a), "r"(rank));
  if constexpr (sizeof(T) == 8)
    asm volatile("ld.shared::cluster.v2.f64 {%0, %1}, [%2];" : "=d"(v.x), "=d"(v.y) : "r"(b) : "memory");
  else asm volatile("ld.shared::cluster.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(b) : "memory");
#else
  (void)p, (void)rank;
#endif
  return v;
}
