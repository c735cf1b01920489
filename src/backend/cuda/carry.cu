/* Parts of boxes from one array to another: see carry.h */
#include "common.cuh"
#include "carry.h"

/* BLOCKS of all parts, LEAST of each: as many as 128 multiprocessors have at a time, so that parts that go to other
   devices are on their way together with those that stay */
enum {
  THREADS = 256,
  EACH = 4, /* words of a row that a thread has on their way at a time */
  CHUNK = EACH * BCR_WARP,
  LINE = 128, /* bytes of a line of memory */
  BLOCKS = 1024,
  LEAST = 64
};

/* Warps have chunks of rows, which begin where lines of memory do on the side that may be another device's; rows of fewer
   words than a warp has threads are counted through, word by word */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
  carry_parts(const BCRCudaPart *__restrict__ parts, int fetch, const T *from, T *to)
{
  const BCRCudaPart p = parts[blockIdx.y];
  const T *f = (p.from ? (const T *)p.from : from) + p.fromat;
  T *t = (p.to ? (T *)p.to : to) + p.toat;
  const unsigned n = (unsigned)p.n[0], rows = (unsigned)p.n[1], planes = (unsigned)p.n[2];

  if (n < BCR_WARP) {
    const unsigned step = gridDim.x * THREADS, all = n * rows * planes;

    for (unsigned i = blockIdx.x * THREADS + threadIdx.x; i < all; i += step) {
      const unsigned row = i / n, x = i % n, j = row % rows, k = row / rows;

      t[x + j * p.tostride[0] + k * p.tostride[1]] = f[x + j * p.fromstride[0] + k * p.fromstride[1]];
    }
    return;
  }
  const unsigned chunks = (n + LINE / (unsigned)sizeof(T) - 1 + CHUNK - 1) / CHUNK, all = chunks * rows * planes,
                 step = gridDim.x * (THREADS / BCR_WARP), lane = threadIdx.x % BCR_WARP;

  for (unsigned i = blockIdx.x * (THREADS / BCR_WARP) + (unsigned)bcr_warp(); i < all; i += step) {
    const unsigned row = i / chunks, j = row % rows, k = row / rows;
    const T *fr = f + j * p.fromstride[0] + k * p.fromstride[1];
    T *tr = t + j * p.tostride[0] + k * p.tostride[1], v[EACH];
    /* below zero, and so too large, before the row's first word */
    const unsigned x = i % chunks * CHUNK + lane - (unsigned)((fetch ? (size_t)fr : (size_t)tr) % LINE / sizeof(T));

#pragma unroll
    for (unsigned e = 0; e < EACH; e++)
      if (x + e * BCR_WARP < n) v[e] = fr[x + e * BCR_WARP];
#pragma unroll
    for (unsigned e = 0; e < EACH; e++)
      if (x + e * BCR_WARP < n) tr[x + e * BCR_WARP] = v[e];
  }
}

int BCRCudaCarry(BCRStream stream, int word, int n, const BCRCudaPart *parts, ptrdiff_t most, int fetch,
                 const void *from, void *to)
{
  if (n < 1) return 0;
  const dim3 grid(bcr_blocks(most, THREADS * EACH, BLOCKS / n > LEAST ? BLOCKS / n : LEAST), (unsigned)n);

  if (word == 8)
    carry_parts<<<grid, THREADS, 0, bcr_stream(stream)>>>(parts, fetch, (const unsigned long long *)from,
                                                          (unsigned long long *)to);
  else carry_parts<<<grid, THREADS, 0, bcr_stream(stream)>>>(parts, fetch, (const unsigned *)from, (unsigned *)to);
  return bcr_done();
}
