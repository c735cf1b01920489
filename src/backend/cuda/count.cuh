/* Counters by which blocks of one kernel wait for one another: those that are waited for have to begin first */
#pragma once

/* Each warp waits by itself until the counter has come to `value` */
static __device__ __forceinline__ void bcr_await(const int *counter, int value)
{
  if (threadIdx.x % 32 == 0) {
    int v;

    for (;;) {
      asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(counter) : "memory");
      if (v >= value) break;
#if __CUDA_ARCH__ >= 700
      __nanosleep(20);
#endif
    }
  }
  __syncwarp();
}
/* What the block has stored can be read: one more is counted */
static __device__ __forceinline__ void bcr_stored(int *counter)
{
  __syncthreads();
  if (threadIdx.x == 0) asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(counter) : "memory");
}
