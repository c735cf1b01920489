/* Bulk copies between global and shared memory, 16 bytes aligned */
#pragma once

#if __CUDA_ARCH__ >= 900
static __device__ inline unsigned bulk_shared(const void *p)
{
  return (unsigned)__cvta_generic_to_shared(p);
}
static __device__ inline void bulk_init(unsigned long long *barrier, int arrivals = 1)
{
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bulk_shared(barrier)), "r"(arrivals) : "memory");
}
static __device__ inline void bulk_init_done()
{
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
/* so many bytes will come, by one or more copies */
static __device__ inline void bulk_expect(unsigned bytes, unsigned long long *barrier)
{
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bulk_shared(barrier)), "r"(bytes)
               : "memory");
}
static __device__ inline void bulk_copy(void *to, const void *from, unsigned bytes, unsigned long long *barrier)
{
  asm volatile(
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(bulk_shared(to)),
    "l"(from), "r"(bytes), "r"(bulk_shared(barrier))
    : "memory");
}
static __device__ inline void bulk_wait(unsigned long long *barrier, unsigned parity)
{
  asm volatile("{\n\t"
               ".reg .pred done;\n\t"
               "again:\n\t"
               "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"
               "@!done bra again;\n\t"
               "}" ::"r"(bulk_shared(barrier)),
               "r"(parity)
               : "memory");
}
static __device__ inline void bulk_arrive(unsigned long long *barrier)
{
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bulk_shared(barrier)) : "memory");
}
static __device__ inline void bulk_written() /* by a thread, before a bulk copy of or to it begins */
{
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
/* from shared memory, for the second-level cache as hint says; then, of those of this thread: all
   have read it; all have arrived */
static __device__ inline void bulk_store(void *to, const void *from, unsigned bytes, unsigned long long hint)
{
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], %2, %3;" ::"l"(to),
               "r"(bulk_shared(from)), "r"(bytes), "l"(hint)
               : "memory");
}
static __device__ inline void bulk_store_read()
{
  asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group.read 0;" ::: "memory");
}
static __device__ inline void bulk_store_wait()
{
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
#else
static __device__ inline void bulk_init(unsigned long long *, int = 1)
{
}
static __device__ inline void bulk_init_done()
{
}
static __device__ inline void bulk_expect(unsigned, unsigned long long *)
{
}
static __device__ inline void bulk_copy(void *, const void *, unsigned, unsigned long long *)
{
}
static __device__ inline void bulk_wait(unsigned long long *, unsigned)
{
}
static __device__ inline void bulk_arrive(unsigned long long *)
{
}
static __device__ inline void bulk_written()
{
}
static __device__ inline void bulk_store(void *, const void *, unsigned, unsigned long long)
{
}
static __device__ inline void bulk_store_read()
{
}
static __device__ inline void bulk_store_wait()
{
}
#endif
static __device__ inline void bulk_load(void *to, const void *from, unsigned bytes, unsigned long long *barrier)
{
  bulk_expect(bytes, barrier);
  bulk_copy(to, from, bytes, barrier);
}
