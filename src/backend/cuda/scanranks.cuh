/* Lines by two constant recurrences that go on on other ranks: BCRCudaScanRanks (tri.h) in the
   kernels of tripieces.cu and trirows.cu */
#pragma once

#include "triscan.cuh"
#include "window.cuh"

/* Lines that do not */
struct ScanAlone {};

/*
  Where few rows next to a rank's ends count (tripieces.cu), blocks send what other ranks, and later
  blocks of this one, need of a line some groups of lines before those that solve it (`lead`), the
  first ones that of their own lines, too; so a block waits for what has been on its way for a
  while, and for nothing that its own waiting could hold up. More than one block may want a line's
  numbers: they stay where they are, and the solve after this one clears them, while a third slot is
  in use. Else (late) a block sends when it knows the unknowns at the ends of its lines by
  themselves, and waits for the other ranks' blocks that have the same lines, which send before they
  wait.
*/
struct ScanCut : BCRCudaScanRanks {
  int lead;
  unsigned blocks; /* of the kernel that solves: so many have ended in each solve before this one */
};

/* Where the numbers of this solve begin, and those of the one before: read once by a warp, as all blocks do so */
struct ScanSlots {
  ptrdiff_t now, used;
};

static __device__ __forceinline__ ScanSlots scan_slots(const ScanCut &r)
{
  const unsigned turn = (unsigned)(*(const volatile unsigned long long *)r.turn / r.blocks % 3);

  return {(ptrdiff_t)turn * r.slot, (ptrdiff_t)((turn + 2) % 3) * r.slot};
}

/* Number k of a line: window_row() */
static __device__ __forceinline__ ptrdiff_t scan_number(const ScanCut &r, ptrdiff_t line, int k)
{
  return k * r.columns + line;
}

/* Part i of BY of the number of the first (back 0) or the last row of a line whose row 0 is at f */
template <int BY, typename T>
static __device__ __forceinline__ double scan_end(const ScanCut &r, const T *f, ptrdiff_t inner, ptrdiff_t n, int back,
                                                  int i)
{
  constexpr int ROWS = (BCR_CUDA_SCAN_WEIGHTS + 1) / BY < 4 ? (BCR_CUDA_SCAN_WEIGHTS + 1) / BY : 4; /* at once */
  const int m = back ? r.mlast : r.mfirst;
  const T *v = (const T *)(back ? r.vlast : r.vfirst);
  double sum = 0;

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

static __device__ __forceinline__ void scan_tell(const ScanCut &r, const ScanSlots &slots, ptrdiff_t line, int back,
                                                 double x)
{
  double *to = back ? r.after : r.before;

  if (to) window_store(to + slots.now + scan_number(r, line, back ? 0 : 1), x);
  window_store(r.mine + slots.now + scan_number(r, line, 2 + back), x);
}

/* ranks.late: what the first and the last row become without the rows next to them, from the
   unknowns there of the rank's lines by themselves: their numbers 0, h and N - 1 of the ends, and
   the sum s of the rows between */
static __device__ __forceinline__ double2 scan_ends(const ScanCut &r, const BCRCudaScan &p, double x0, double xh,
                                                    double last, double s)
{
  const double first = fma(p.first[0], x0, fma(p.first[1], xh, p.first[2] * s));

  return make_double2(fma(r.schur[0], first, r.schur[1] * last), fma(r.schur[2], first, r.schur[3] * last));
}

/* These to the ranks before and after: the nearer row is number 1 or 0 there, the other one, where
   it is wanted, 3 or 2 */
static __device__ __forceinline__ void scan_tell_both(const ScanCut &r, const ScanSlots &slots, ptrdiff_t line,
                                                      const double2 &g)
{
  if (r.before) {
    window_store(r.before + slots.now + scan_number(r, line, 1), g.x);
    if (r.give[0] > 1) window_store(r.before + slots.now + scan_number(r, line, 3), g.y);
  }
  if (r.after) {
    window_store(r.after + slots.now + scan_number(r, line, 0), g.y);
    if (r.give[1] > 1) window_store(r.after + slots.now + scan_number(r, line, 2), g.x);
  }
}

/* What the rows of other ranks add to the right-hand sides of the first and the last row; own:
   ranks.late, the own numbers; clear: what the solve before has left */
static __device__ __forceinline__ double2 scan_beyond(const ScanCut &r, const ScanSlots &slots, ptrdiff_t line,
                                                      bool clear, double own0, double own1)
{
  const double *at[4]; /* NULL: it does not come from there */
  double x[4];

#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int row = i - r.begin; /* of this rank: 0, 1 */

    at[i] = i >= r.n || (r.late && (row == 0 || row == 1))
              ? NULL
              : r.mine + slots.now + scan_number(r, line, window_row(i, r.begin));
    x[i] = at[i] ? window_load(at[i]) : 0; /* all at once */
  }
#pragma unroll
  for (int i = 0; i < 4; i++) {
    if (at[i] && !window_there(x[i])) x[i] = window_look(at[i], r.turn);
    if (r.late && i == r.begin) x[i] = own0;
    if (r.late && i == r.begin + 1) x[i] = own1;
  }
  if (clear) {
#pragma unroll
    for (int k = 0; k < 4; k++) window_clear(r.mine + slots.used + scan_number(r, line, k));
  }
  window_chain(x, r.lower, r.pivotinverse, r.upper);
  return make_double2(r.begin ? -r.low * (r.begin > 1 ? x[1] : x[0]) : 0,
                      r.n > r.begin + 2 ? -r.up * (r.begin == 0 ? x[2] : x[3]) : 0);
}

/* One thread of a block, when its lines have their numbers; nothing waits for this addition */
static __device__ __forceinline__ void scan_ended(const ScanCut &r, bool one)
{
  if (one) (void)atomicAdd((unsigned long long *)r.turn, 1ULL);
}
