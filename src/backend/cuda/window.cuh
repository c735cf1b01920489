/* Numbers in the memory of other parts: BCRCudaWindow of border.h. Each of them is its own flag, so
   that nothing waits but who needs it */
#pragma once

#include "common.cuh"
#include "border.h"

enum {
  /* A thread that waits asks after so many looks whether nothing will come any more; a power of two. Not measured */
  WINDOW_LOOKS = 64
};
/* Bits of a number that has not come, BCR_CUDA_NOTHING in each byte, and of another NaN, which is sent in its place */
static constexpr long long WINDOW_NOTHING = -1, WINDOW_OTHER = 0x7ff8000000000000;

/* Does part p send what it has for its own row (left 0), or for the row before (1), of this mode to part q? */
static __device__ __forceinline__ bool window_goes(const BCRCudaWindow &w, int p, int q, int left, int mode)
{
  const int next = p + 1 < w.parts ? p + 1 : 0, before = p ? p - 1 : w.parts - 1;

  if (p == q || !(w.periodic || (left ? p > 0 : p + 1 < w.parts))) return false;
  return mode < w.coupled || q == (left ? before : next);
}

/* Where that number is among those of a slot, [parts][2 n]: those for the row before after one another, those for the
   own row backwards before them, so that the first modes of both are side by side */
static __device__ __forceinline__ ptrdiff_t window_at(const BCRCudaWindow &w, int p, int left, int mode)
{
  return (2 * (ptrdiff_t)p + 1) * w.n + (left ? mode : -1 - mode);
}

/* Where the slot begins whose turn it is */
static __device__ __forceinline__ ptrdiff_t window_slot(const BCRCudaWindow &w)
{
  return (*(volatile unsigned *)w.turn & 1) * w.slot;
}

static __device__ __forceinline__ void window_store(double *p, double v)
{
  long long bits = __double_as_longlong(v);

  if (bits == WINDOW_NOTHING) bits = WINDOW_OTHER;
  asm volatile("st.relaxed.sys.global.b64 [%0], %1;" ::"l"(p), "l"(bits) : "memory");
}

static __device__ __forceinline__ double window_load(const double *p)
{
  long long bits;

  asm volatile("ld.relaxed.sys.global.b64 %0, [%1];" : "=l"(bits) : "l"(p) : "memory");
  return __longlong_as_double(bits);
}

static __device__ __forceinline__ bool window_there(double v)
{
  return __double_as_longlong(v) != WINDOW_NOTHING;
}

static __device__ __forceinline__ void window_clear(double *p)
{
  asm volatile("st.relaxed.sys.global.b64 [%0], %1;" ::"l"(p), "l"(WINDOW_NOTHING) : "memory");
}

/* The number that comes there, which stays; 0 if turn[2] says that nothing will come any more */
static __device__ __forceinline__ double window_look(const double *p, const unsigned *turn)
{
  double v = window_load(p);

  for (unsigned looks = 1; !window_there(v); looks++) {
    v = window_load(p);
    if (looks % WINDOW_LOOKS == 0 && *(const volatile unsigned *)(turn + 2)) return 0;
  }
  return v;
}

/* The same, which is taken */
static __device__ __forceinline__ double window_wait(double *p, const unsigned *turn)
{
  const double v = window_look(p, turn);

  window_clear(p);
  return v;
}

/* The number that was asked for before it is needed: taken if it was there, else waited for */
static __device__ __forceinline__ double window_take(double *p, double asked, const unsigned *turn)
{
  if (!window_there(asked)) return window_wait(p, turn);
  window_clear(p);
  return asked;
}

/* Lines that go on on other ranks, up to four rows: the ranks before, `begin` of them, the first
   and the last row here, those behind. Which of a line's four numbers row i has: 0 from the rank
   before and 1 from the one behind, the nearer row; 2 and 3 the own ones, or, where these are at
   hand, the further rows of both */
static __device__ __forceinline__ int window_row(int i, int begin)
{
  const int row = i - begin;

  return row < 0 ? (row == -1 ? 0 : 2) : (row < 2 ? 2 + row : (row == 2 ? 1 : 3));
}

/* These rows, as chains_solve() of rankchains.cu; of rows that are not there factors and right-hand sides are 0 */
static __device__ __forceinline__ void window_chain(double x[4], const double lower[4], const double pivotinverse[4],
                                                    const double upper[4])
{
  double y = 0;

#pragma unroll
  for (int i = 0; i < 4; i++) x[i] = y = x[i] - lower[i] * y;
  y = 0;
#pragma unroll
  for (int i = 3; i >= 0; i--) x[i] = y = x[i] * pivotinverse[i] - upper[i] * y;
}

/* One number to all parts that want it */
static __device__ __forceinline__ void window_put(const BCRCudaWindow &w, ptrdiff_t slot, int left, int mode, double v)
{
  for (int q = 0; q < w.parts; q++) {
    if (window_goes(w, w.mine, q, left, mode)) window_store(w.to[q] + slot + window_at(w, w.mine, left, mode), v);
  }
}

/* One thread: the sum of a number of each part, added in the order of the parts; again only after something has come that
   all others sent behind it */
static __device__ __forceinline__ double window_sum_parts(const BCRCudaWindow &w, double own)
{
  const ptrdiff_t at = 2 * w.slot + (*(volatile unsigned *)w.turn & 1) * w.parts;
  double sum = 0;

  for (int q = 0; q < w.parts; q++)
    if (q != w.mine) window_store(w.to[q] + at + w.mine, own);
  for (int q = 0; q < w.parts; q++) sum += q == w.mine ? own : window_wait(w.to[w.mine] + at + q, w.turn);
  __threadfence_system();
  return sum;
}

/* All threads of a block, which have taken all that they take: the last block of all passes the turn */
static __device__ __forceinline__ void window_done(unsigned *turn)
{
  const unsigned blocks = gridDim.x * gridDim.y * gridDim.z;

  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0 && atomicAdd(turn + 1, 1u) == blocks - 1) {
    turn[1] = 0;
    turn[0] ^= 1;
  }
}
