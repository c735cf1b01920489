/* Lines by two constant recurrences that go on on other ranks: BCRCudaScanRanks (cuda.h) in the kernel of tripieces.cu */
#pragma once

#include "triscan.cuh"
#include "window.cuh"

/* Lines that do not */
struct ScanAlone {};

/*
  Blocks send what other ranks (and later blocks of this one) need of a line some blocks before those that solve it (`lead`), the first ones that of their own lines, too; so a block waits for what has been on
  its way for a while, and for nothing that its own waiting could hold up. More than one block may want a line's numbers: they stay where they are, and the solve after this one clears them, while a third
  slot is in use.
*/
struct ScanCut : BCRCudaScanRanks {
  int lead;
};

static __device__ __forceinline__ ptrdiff_t scan_slot(const ScanCut &r, int later)
{
  return (ptrdiff_t)((*(const volatile unsigned *)r.turn + later) % 3) * r.slot;
}

/* Number k of a line: 0 from the rank before, 1 from the one after, 2 and 3 the own ones of the first and the last row */
static __device__ __forceinline__ ptrdiff_t scan_number(const ScanCut &r, ptrdiff_t line, int k)
{
  return k * r.columns + line;
}

/* Part i of BY of the number of the first (back 0) or the last row of a line whose row 0 is at f */
template <int BY, typename T>
static __device__ __forceinline__ double scan_end(const ScanCut &r, const T *f, ptrdiff_t inner, ptrdiff_t n, int back, int i)
{
  constexpr int ROWS = (BCR_CUDA_SCAN_WEIGHTS + 1) / BY < 4 ? (BCR_CUDA_SCAN_WEIGHTS + 1) / BY : 4; /* at once */
  const int     m    = back ? r.mlast : r.mfirst;
  const T      *v    = (const T *)(back ? r.vlast : r.vfirst);
  double        sum  = 0;

#pragma unroll 1
  for (int j0 = i; j0 <= m; j0 += BY * ROWS) {
    T x[ROWS], w[ROWS];

#pragma unroll
    for (int k = 0; k < ROWS; k++) {
      const int j = j0 + BY * k;

      x[k] = j <= m ? f[inner * (back ? n - 1 - j : j)] : (T)0;
      w[k] = j && j <= m ? -v[back ? m - j : j - 1] : (T)(j ? 0 : 1);
    }
#pragma unroll
    for (int k = 0; k < ROWS; k++) sum += (double)w[k] * (double)x[k];
  }
  return sum;
}

static __device__ __forceinline__ void scan_tell(const ScanCut &r, ptrdiff_t line, int back, double x)
{
  const ptrdiff_t slot = scan_slot(r, 0);
  double         *to   = back ? r.after : r.before;

  if (to) window_store(to + slot + scan_number(r, line, back ? 0 : 1), x);
  window_store(r.mine + slot + scan_number(r, line, 2 + back), x);
}

/* What the rows of other ranks add to the right-hand sides of the first and the last row; clear: what the solve before has left */
static __device__ __forceinline__ void scan_beyond(const ScanCut &r, ptrdiff_t line, bool clear, double *first, double *last)
{
  const ptrdiff_t slot = scan_slot(r, 0), used = scan_slot(r, 2);
  const double   *at[4];
  double          x[4];

#pragma unroll
  for (int i = 0; i < 4; i++) {
    at[i] = r.mine + slot + scan_number(r, line, window_row(i, r.begin));
    x[i]  = i < r.n ? window_load(at[i]) : 0; /* all at once */
  }
#pragma unroll
  for (int i = 0; i < 4; i++) {
    if (i < r.n && !window_there(x[i])) x[i] = window_look(at[i], r.turn);
  }
  if (clear) {
#pragma unroll
    for (int k = 0; k < 4; k++) window_clear(r.mine + used + scan_number(r, line, k));
  }
  window_chain(x, r.f, r.r, r.h);
  *first = r.begin ? -r.low * x[0] : 0;
  *last  = r.n > r.begin + 2 ? -r.up * (r.begin ? x[3] : x[2]) : 0;
}

/* All threads of a block, when its lines have their numbers: the last block of all passes the turn */
static __device__ __forceinline__ void scan_turn(unsigned *turn)
{
  if (threadIdx.x + threadIdx.y + threadIdx.z == 0 && atomicAdd(turn + 1, 1u) == gridDim.x - 1) {
    turn[1] = 0;
    turn[0] = (turn[0] + 1) % 3;
  }
}
