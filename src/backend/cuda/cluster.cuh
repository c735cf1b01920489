/* Blocks of a cluster: their barrier, reads of another one's shared memory, and numbers sent there */
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
/* *to of block rank becomes v, and its barrier, by which that block waits, counts the bytes */
template <typename T>
static __device__ __forceinline__ void cluster_send(Cplx<T> v, Cplx<T> *to, unsigned long long *barrier, int rank)
{
#if __CUDA_ARCH__ >= 900
  unsigned a = (unsigned)__cvta_generic_to_shared(to), b = (unsigned)__cvta_generic_to_shared(barrier);

  asm volatile("mapa.shared::cluster.u32 %0, %0, %1;" : "+r"(a) : "r"(rank));
  asm volatile("mapa.shared::cluster.u32 %0, %0, %1;" : "+r"(b) : "r"(rank));
  if constexpr (sizeof(T) == 8)
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f64 [%0], {%1, %2}, [%3];" ::"r"(a),
                 "d"(v.x), "d"(v.y), "r"(b)
                 : "memory");
  else
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];" ::"r"(a),
                 "f"(v.x), "f"(v.y), "r"(b)
                 : "memory");
#else
  (void)v, (void)to, (void)barrier, (void)rank;
#endif
}
/* for what other blocks have sent */
static __device__ __forceinline__ void cluster_bulk_wait(unsigned long long *barrier, unsigned parity)
{
#if __CUDA_ARCH__ >= 900
  asm volatile("{\n\t"
               ".reg .pred done;\n\t"
               "again:\n\t"
               "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n\t"
               "@!done bra again;\n\t"
               "}" ::"r"((unsigned)__cvta_generic_to_shared(barrier)),
               "r"(parity)
               : "memory");
#else
  (void)barrier, (void)parity;
#endif
}
