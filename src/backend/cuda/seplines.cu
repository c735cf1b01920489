/*
  Lines over the separators of level 0 (seplines.h: BCRCudaSepLines), a constant mu for each mode: y_i =
  g_i + mu y_(i-1), x_i = y_i + mu x_(i+1). A block has 8 modes (4 or 2 of long lines) and up to 16
  warps, a warp four (8, 16) chunks of K rows of each mode, a thread one chunk in registers. Each
  chunk's recurrences begin with nothing carried in; what is carried between chunks goes over the
  lanes, then every thread follows the chain of the warps by itself: first for x_1 and x_n, from
  which what the ends take follows, then with that. Rows are counted from the end: the first chunks
  may be empty and the one after them short, so that all others have the same powers of mu. Within a
  chunk numbers are those of the vectors, what is carried is in double precision.
*/
#include "common.cuh"
#include "seplines.h"
#include <float.h>
#include "reduced.cuh"

enum {
  WARPS = 16,      /* of a block, at most: 512 threads of 32 rows each have all registers of a multiprocessor */
  LONG_MODES = 32, /* of a block of sep_long(), a thread each: a warp. Not measured apart */
  SUMS_AHEAD = 5,  /* of a thread: 264 blocks of level 0 have four warps each. Not measured apart */
  MANY_PLANES = 8  /* with more planes there are enough blocks for long chunks. Not measured apart */
};

/* Tables of what goes on on other ranks for position k of this block's plane */
static __device__ __forceinline__ const double *border_of(const BCRCudaSepLines &p, int k)
{
  return p.border + (ptrdiff_t)blockIdx.y * BCR_CUDA_SEP_BORDER * p.nk + k;
}
static __device__ __forceinline__ int mode_of(const BCRCudaSepLines &p, int k)
{
  return p.of[(ptrdiff_t)blockIdx.y * p.nk + k];
}
static __device__ __forceinline__ double factor_of(const BCRCudaSepLines &p, int k)
{
  return p.factor[(ptrdiff_t)blockIdx.y * p.nk + k];
}

/* What solutions at the ends, in the rows of other ranks (if open), add to the first (0) and to the
   last row of mode k; they go behind the rows of g */
template <typename T>
static __device__ __forceinline__ void beyond(const BCRCudaSepLines &p, int k, double after, double before, T *g,
                                              double add[2])
{
  const double *b = border_of(p, k), other = 1 / factor_of(p, k);

  before *= other;
  after *= other;
  for (int i = 0; i < 2; i++) add[i] = (b[i * p.nk] * before + b[(2 + i) * p.nk] * after) * b[5 * p.nk];
  if (p.open[1]) g[p.n * p.ld] = (T)after;
  if (p.open[0]) g[(p.n + p.open[1]) * p.ld] = (T)before;
}

/* OPEN: rows of other ranks beyond the ends */
static __device__ __forceinline__ void solutions(const BCRCudaSepLines &p, const BCRReduced &r, int k, double *after,
                                                 double *before)
{
  const int mode = mode_of(p, k);

  *after = *before = 0;
  if (mode < 0) return;
  if (r.received) reduced(r, mode, after, before);
  else {
    if (p.open[1]) *after = p.after[mode];
    if (p.open[0]) *before = p.before[mode];
  }
}

/* What the lines leave for the rows beyond their ends, where right-hand sides are mine (the row
   after) and other (the row before), goes to other ranks; what comes from these gives the solutions
   there. X1, Xn: first and last unknown of the recurrences alone */
template <typename T>
static __device__ __forceinline__ void exchange(const BCRCudaSepLines &p, const BCRReduced &r, int k, int mode,
                                                double X1, double Xn, double mine, double other, T *g, double add[2])
{
  const double *e = border_of(p, k), f = r.a * factor_of(p, k);
  const ptrdiff_t slot = window_slot(r.window);
  double after, before;

  mine = p.open[1] ? f * (e[4 * p.nk] * mine + e[2 * p.nk] * X1 + e[3 * p.nk] * Xn) : 0;
  other = p.open[0] ? f * (e[4 * p.nk] * other + e[0] * X1 + e[p.nk] * Xn) : 0;
  window_put(r.window, slot, 0, mode, mine);
  window_put(r.window, slot, 1, mode, other);
  reduced(r, mode, mine, other, &after, &before);
  beyond(p, k, after, before, g, add);
}

/* Of the numbers of a mode in the lanes of a warp */
template <int MODES>
static __device__ __forceinline__ double over_chunks(double v)
{
#pragma unroll
  for (int s = MODES; s < 32; s *= 2) v += __shfl_xor_sync(0xffffffffu, v, s);
  return v;
}

/* This thread's share of the sums that level 0 has left: the first ones, which are loaded before they are needed, and all */
static __device__ __forceinline__ void sep_sums_begin(const BCRCudaSepLines &p, double v[SUMS_AHEAD])
{
#pragma unroll
  for (int i = 0; i < SUMS_AHEAD; i++) {
    const int q = threadIdx.x + i * blockDim.x;

    v[i] = q < p.nsums ? p.sums[q] : 0;
  }
}
static __device__ __forceinline__ double sep_sums_end(const BCRCudaSepLines &p, const double v[SUMS_AHEAD])
{
  double sum = 0;

#pragma unroll
  for (int i = 0; i < SUMS_AHEAD; i++) sum += v[i];
  for (int q = threadIdx.x + SUMS_AHEAD * blockDim.x; q < p.nsums; q += blockDim.x) sum += p.sums[q];
  return p.sumfactor * sum;
}

/* A number of row i by its kind */
static __device__ __forceinline__ double sep_kind(const BCRCudaSepLines &p, const double v[BCR_CUDA_SEP_KINDS], int i)
{
  if (i >= p.n) return v[i == p.n && (p.periodic || p.open[1]) ? 3 : 4];
  return v[i == 0 ? 0 : (i == p.n - 1 ? 2 : 1)];
}

/* What it has of the constant that all right-hand sides lose */
static __device__ __forceinline__ double sep_lost(const BCRCudaSepLines &p, double constant)
{
  return p.sumfactor * p.sumones * constant;
}

/* The numbers of p.parts that warp w of this block leaves, of MODES modes a block: with all of its lanes' v */
static __device__ __forceinline__ void sep_part(const BCRCudaSepLines &p, bool pinned, int w, int warps, double v)
{
  const int blocks = p.ends ? (int)gridDim.x : 0;

  v = over_chunks<1>(v);
  if ((threadIdx.x & 31) != 0) return;
  if (pinned) p.parts[2 * blocks + w] = v;
  else if (w == 0) p.parts[blockIdx.x] = v;
  else if (w == warps - 1) p.parts[blocks + blockIdx.x] = v;
}

/* All threads of a block: the last block to come here adds all parts up, and those of all ranks; the number behind them is
   what the mean of the solution lacks. Passes the turn as window_done() */
static __device__ __forceinline__ void sep_total(const BCRCudaSepLines &p, const BCRReduced &red, int parts)
{
  __shared__ double part[WARPS];
  __shared__ int last;
  unsigned *const turn = red.window.turn;
  double sum = 0;

  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(turn + 1, 1u) == gridDim.x * gridDim.y - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  for (int q = threadIdx.x; q < parts; q += blockDim.x) sum += __ldcg(p.parts + q);
  sum = over_chunks<1>(sum);
  if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = sum;
  __syncthreads();
  if (threadIdx.x) return;
  for (int q = 1; q < (int)blockDim.x >> 5; q++) sum += part[q];
  p.parts[parts] = -window_sum_parts(red.window, sum) / red.rows.constantmode.rows;
  turn[1] = 0;
  turn[0] ^= 1;
}

/* PLAIN: 0 periodic, 1 not, 2: and p.more is added, 3: singular, either; OPEN: open ends, 2: of a singular
   operator, whose mean is known unless there is a window */
template <typename T, int K, int MODES, int PLAIN, int OPEN>
__global__ void __launch_bounds__(K == 32 ? 512 : 256, K == 32 ? 1 : (K == 16 ? (sizeof(T) == 4 ? 4 : 2) : 3))
  sep_lines(BCRCudaSepLines p, T *g, BCRReduced red)
{
  constexpr bool RING = PLAIN == 0 || PLAIN == 3, SINGULAR = PLAIN == 3, SUMS = SINGULAR || OPEN == 2;
  constexpr int PARTS = 32 / MODES; /* chunks of a warp */
  __shared__ double2 ends[WARPS][MODES];
  __shared__ double part[WARPS], ofends[4][MODES], added[2][MODES], ended[WARPS];
  const int lane = threadIdx.x & 31, m = lane % MODES, ci = lane / MODES, w = threadIdx.x >> 5, nw = blockDim.x >> 5,
            ch = w * PARTS + ci, k = blockIdx.x * MODES + m, kk = min(k, p.nk - 1);
  /* first chunk that is not empty; rows of this one that are none; rows of chunk f */
  const int pad = nw * PARTS * K - p.n, f = pad / K, skip = max(0, min(K, pad - ch * K)), row = ch * K - pad,
            left0 = K - pad % K;
  const double *t = p.tab + (ptrdiff_t)blockIdx.y * BCR_CUDA_SEP_TAB * p.nk + kk;
  const double mu = t[0], hs = t[p.nk];
  const T mt = (T)mu, ht = (T)hs;
  T x[K], first = 0, last = 0; /* of a chunk with nothing carried in: its first solution, its last y */
  double gl = 0, mK = mu, PK = 1, m0 = 1, P0 = 0;

  if (p.early) bcr_go_after();
  g += blockIdx.y * p.plane + kk + row * p.ld;
  if (w == 0 && ci < 4) ofends[ci][m] = t[(ci < 2 ? 3 + ci : 4 + ci) * p.nk]; /* needed late */
  /* the whole block knows; wanted: in the sum of the solution, of which this thread has `sum` */
  const bool pinned = SUMS && p.pinplane == (int)blockIdx.y && (int)blockIdx.x == p.pin / MODES,
             wanted = SUMS && p.parts && p.pinplane == (int)blockIdx.y && (p.ends || pinned);
  double sum = 0, sums[SUMS_AHEAD], inends[3] = {0, 0, 0};

  if (wanted && p.ends && k < p.nk) {
    inends[0] = p.ends[k];
    if (ch == f) inends[1] = p.ends[p.nk + k];
    if (ch == nw * PARTS - 1) inends[2] = p.ends[2 * p.nk + k];
  }
  bcr_wait_before();
  const bool window = OPEN && red.window.n,
             asks = window && w == 0 && ci == PARTS - 1 && k < p.nk; /* other ranks, for its mode */
  double mine = 0, other = 0, beside = 0; /* beside: right-hand sides behind the line's, in its sum */
  int mode = -1;

  if (asks) {
    mode = mode_of(p, k);
    if (p.open[1]) mine = (double)g[(p.n - row) * p.ld];
    if (p.open[0]) other = (double)g[(p.n + p.open[1] - row) * p.ld];
    beside = mine + other;
  }
  if (OPEN && !window && w == nw - 1 && ci == PARTS - 1) {
    double add[2] = {0, 0}, after, before;

    if (k < p.nk) {
      for (int i = 0; i < p.open[0] + p.open[1] && OPEN == 2 && p.ends; i++)
        beside += (double)g[(p.n + i - row) * p.ld];
      solutions(p, red, k, &after, &before);
      beyond(p, k, after, before, g - row * p.ld, add);
      for (int i = 0; i < p.open[0] + p.open[1] && wanted && pinned && m == p.pin % MODES; i++)
        sum += sep_kind(p, p.weights, p.n + i) * (double)g[(p.n + i - row) * p.ld];
    }
    added[0][m] = add[0];
    added[1][m] = add[1];
  }
  const T *at = g;

#pragma unroll
  for (int i = 0; i < K; i++) {
    x[i] = i >= skip ? *at : (T)0;
    at += p.ld;
    asm volatile("" : "+l"(at)); /* addresses one after another, by additions */
  }
  if (PLAIN == 2) {
    const T *more = (const T *)p.more + (kk + row * p.ld);

#pragma unroll
    for (int i = 0; i < K; i++)
      if (i >= skip) x[i] += more[i * p.ld];
  }
  if (RING && p.periodic) gl = (double)g[(p.n - row) * p.ld];
  if (wanted && pinned) sep_sums_begin(p, sums);
  if (wanted && p.ends) {
    double rhs = beside;

#pragma unroll
    for (int i = 0; i < K; i++) rhs += x[i];
    if (RING && p.periodic && ch == 0) rhs += gl;
    rhs = over_chunks<1>(inends[0] * rhs);
    if (lane == 0) ended[w] = rhs;
  }
  if (SINGULAR && pinned) {
    double total = 0;

#pragma unroll
    for (int i = 0; i < K; i++) total += x[i];
    total = over_chunks<MODES>(total);
    if (lane == p.pin % MODES) part[w] = total;
    __syncthreads();
    total = p.periodic ? gl : 0;
    for (int q = 0; q < nw; q++) total += part[q];
    if (m == p.pin % MODES) {
      const double mean = total / p.total;

#pragma unroll
      for (int i = 0; i < K; i++)
        if (i >= skip) x[i] -= (T)(mean * sep_kind(p, p.ones, row + i));
      if (p.periodic) gl -= mean * p.ones[3];
      if (ch == 0) {
        p.removed[0] = mean * p.removedfactor;
        p.removed[1] = mean * p.subfactor;
        sum -= sep_lost(p, (T)(mean * p.subfactor));
      }
    }
  }
  if (OPEN == 2 && pinned) {
    double mean;

    if (window) { /* of all ranks */
      double total = beside;

#pragma unroll
      for (int i = 0; i < K; i++) total += x[i];
      total = over_chunks<MODES>(total);
      if (lane == p.pin % MODES) part[w] = total;
      __syncthreads();
      if (threadIdx.x == 0) {
        total = 0;
        for (int q = 0; q < nw; q++) total += part[q];
        part[0] = window_sum_parts(red.window, total) / red.rows.constantmode.total;
        p.removed[0] = part[0] * p.removedfactor;
      }
      __syncthreads();
      mean = part[0];
    } else mean = p.removed[0] / p.removedfactor;
    if (m == p.pin % MODES) {
#pragma unroll
      for (int i = 0; i < K; i++)
        if (i >= skip) x[i] -= (T)(mean * sep_kind(p, p.ones, row + i));
      if (ch == 0) sum -= sep_lost(p, (T)(mean * p.subfactor));
      if (asks && p.open[1]) mine -= mean * p.weights[3];
      if (asks && p.open[0]) other -= mean * p.weights[4];
    }
  }
  /* mu^K, and mu^1 + mu^3 + ... + mu^(2 K - 1): what a carried y makes of x at the begin of the
     chunk; m0, P0: of the short one */
#pragma unroll
  for (int q = 1; q <= K; q *= 2) {
    if (left0 & q) {
      P0 += m0 * m0 * PK;
      m0 *= mK;
    }
    if (q < K) {
      PK *= 1 + mK * mK;
      mK *= mK;
    }
  }
  PK *= mu;
  P0 *= mu;
  const double inverse = 1 / mu;

#pragma unroll
  for (int i = 0; i < K; i++) {
    last = ht * x[i] + mt * last;
    x[i] = last;
  }
#pragma unroll
  for (int i = K - 1; i >= 0; i--) {
    const T v = x[i] + mt * first;

    first = i >= skip ? v : first;
  }
  asm volatile("" : "+l"(g));        /* do not keep the rows' addresses */
  double PW = PK, mW = mK, mW0 = m0; /* of a warp; from the first row to the second warp */

#pragma unroll
  for (int q = 1; q < PARTS; q *= 2) {
    PW *= 1 + mW * mW;
    mW *= mW;
  }

#pragma unroll
  for (int q = 1; q < PARTS; q++) mW0 *= q > f ? mK : 1;
  const bool shorter = w == 0 && ci == f;
  const double mi = shorter ? m0 : mK, Pi = shorter ? P0 : PK;
  double E = last, b = first, cx, A, V, next, pw = mK;

#pragma unroll
  for (int s = MODES; s < 32; s *= 2) {
    const double v = __shfl_up_sync(0xffffffffu, E, s);

    if (lane >= s) E += pw * v;
    pw *= pw;
  }
  cx = __shfl_up_sync(0xffffffffu, E, MODES);
  if (ci == 0) cx = 0;
  A = V = b + Pi * cx;
  pw = mK;
#pragma unroll
  for (int s = MODES; s < 32; s *= 2) {
    const double v = __shfl_down_sync(0xffffffffu, V, s);

    if (lane + s < 32) V += pw * v;
    pw *= pw;
  }
  next = __shfl_down_sync(0xffffffffu, V, MODES);
  if (ci == PARTS - 1) {
    next = 0;
    ends[w][m].x = E;
  }
  if (ci == (w == 0 ? f : 0)) ends[w][m].y = A + mi * next;
  __syncthreads();
  /* Chain of the warps with nothing carried in: x_1, the last y, what comes to this warp from
     either side; M: what the first y is multiplied by there, RM: what a unit of it makes of what
     comes from the right */
  double y = 0, X1 = 0, C = 0, M = 1, R = 0, RM = 0, pr = 0;

  pw = 1;
#pragma unroll 4
  for (int q = 0; q < nw; q++) {
    const double2 v = ends[q][m];
    const double x1 = v.y + y * PW;

    X1 += pw * x1;
    R += pr * x1;
    RM += pr * pw * PW;
    pr *= mW;
    if (q == w) {
      C = y;
      M = pw;
      pr = 1;
    }
    y = v.x + mW * y;
    pw *= q ? mW : mW0;
  }
  T round = 0; /* the last unknown of a periodic line */
  double left = ofends[0][m] * X1 + ofends[1][m] * y, right = ofends[2][m] * X1 + ofends[3][m] * y;

  /* blocks begin in their order everywhere, so that those that wait are those that others are at */
  if (window) {
    if (asks) {
      double add[2] = {0, 0};

      if (mode >= 0) exchange(p, red, k, mode, X1, y, mine, other, g - row * p.ld, add);
      for (int i = 0; i < p.open[0] + p.open[1] && wanted && pinned && m == p.pin % MODES; i++)
        sum += sep_kind(p, p.weights, p.n + i) * (double)g[(p.n + i - row) * p.ld];
      added[0][m] = add[0];
      added[1][m] = add[1];
    }
    __syncthreads();
  }
  if (OPEN) {
    left += added[0][m];
    right += added[1][m];
  }
  if (RING && p.periodic) {
    left += t[5 * p.nk] * gl;
    right += t[8 * p.nk] * gl;
    if (ch == 0 && k < p.nk) {
      round = (T)(t[9 * p.nk] * X1 + t[10 * p.nk] * y + t[11 * p.nk] * gl);
      g[(p.n - row) * p.ld] = round;
    }
  }
  left *= inverse;
  C += left * M;
  R += left * RM + pr * (right * inverse);
  if (w == 0 && ci < f) C = 0;
#pragma unroll
  for (int q = 0; q < PARTS - 1; q++) {
    if (q < ci && (w || q >= f)) C *= w == 0 && q == f ? m0 : mK;
    if (q < PARTS - 1 - ci) R *= mK;
  }
  C += cx;
  V = b + Pi * C;
  pw = mK;
#pragma unroll
  for (int s = MODES; s < 32; s *= 2) {
    const double v = __shfl_down_sync(0xffffffffu, V, s);

    if (lane + s < 32) V += pw * v;
    pw *= pw;
  }
  next = __shfl_down_sync(0xffffffffu, V, MODES);
  if (ci < PARTS - 1) R += next;
  T carried = (T)C, solution = (T)R, *to = g + (K - 1) * p.ld;

#pragma unroll
  for (int i = 0; i < K; i++) {
    if (i >= skip) carried *= mt;
    x[i] += carried;
  }
#pragma unroll
  for (int i = K - 1; i >= 0; i--) {
    solution = x[i] + mt * solution;
    if (i >= skip && k < p.nk) *to = solution;
    if (SUMS) x[i] = i >= skip ? solution : x[i + (i + 1 < K)]; /* so that x[0] is the first one */
    to -= p.ld;
    asm volatile("" : "+l"(to));
  }
  if (wanted) {
    if (p.ends && w == 0 && lane < nw) sum += ended[lane];
    if (k < p.nk) sum += inends[1] * x[0] + inends[2] * x[K - 1];
    if (pinned) sum += sep_sums_end(p, sums);
    if (pinned && m == p.pin % MODES) {
#pragma unroll
      for (int i = 0; i < K; i++)
        if (i >= skip) sum += sep_kind(p, p.weights, row + i) * x[i];
      if (RING && p.periodic && ch == 0) sum += p.weights[3] * round;
    }
    if (SINGULAR && p.rows) {
      sum = over_chunks<1>(sum);
      if (lane == 0) part[w] = sum;
      __syncthreads();
      sum = 0;
      for (int q = 0; q < nw; q++) sum += part[q];
      sum /= p.rows;
      to = g;
#pragma unroll
      for (int i = 0; i < K; i++) {
        if (i >= skip && m == p.pin % MODES) *to = (T)(x[i] - sum);
        to += p.ld;
      }
      if (RING && p.periodic && ch == 0 && m == p.pin % MODES) g[(p.n - row) * p.ld] = (T)(round - sum);
    } else sep_part(p, pinned, w, nw, sum);
  }
  if (OPEN == 2 && window) sep_total(p, red, (p.ends ? 2 * (int)gridDim.x : 0) + nw);
  else if (window) window_done(red.window.turn);
  if (!p.early) bcr_go_after();
}

/* any length: a thread a mode. Returns what it has in the sum of the solution */
template <typename T>
static __device__ __forceinline__ double sep_long_line(const BCRCudaSepLines &p, T *g, const BCRReduced &red, int k)
{
  const double *t = p.tab + (ptrdiff_t)blockIdx.y * BCR_CUDA_SEP_TAB * p.nk + k;
  const double mu = t[0], hs = t[p.nk];
  double y = 0, X1 = 0, pw = 1, gl = 0, mean = 0, sum = 0;
  const bool pinned = k == p.pin && (int)blockIdx.y == p.pinplane;
  const int beyondrows = p.periodic + p.open[0] + p.open[1];

  g += blockIdx.y * p.plane + k;
  if (pinned && p.border && !red.window.n) mean = p.removed[0] / p.removedfactor;
  else if (pinned) {
    double total = 0;

    for (int i = 0; i < p.n + beyondrows; i++) total += (double)g[i * p.ld];
    mean = red.window.n ? window_sum_parts(red.window, total) / red.rows.constantmode.total : total / p.total;
    p.removed[0] = mean * p.removedfactor;
    p.removed[1] = mean * p.subfactor;
  }
  for (int i = 0; i < p.n + beyondrows && p.ends; i++) sum += p.ends[k] * (double)g[i * p.ld];
  if (p.periodic) gl = (double)g[p.n * p.ld] - (mean != 0 ? mean * p.ones[3] : 0);
  for (int i = 0; i < p.n; i++) {
    y = hs * ((double)g[i * p.ld] - (mean != 0 ? mean * sep_kind(p, p.ones, i) : 0)) + mu * y;
    X1 += pw * y;
    pw *= mu;
    g[i * p.ld] = (T)y;
  }
  double in = (t[3 * p.nk] * X1 + t[4 * p.nk] * y + t[5 * p.nk] * gl);
  double R = (t[6 * p.nk] * X1 + t[7 * p.nk] * y + t[8 * p.nk] * gl) / mu;
  const double xl = t[9 * p.nk] * X1 + t[10 * p.nk] * y + t[11 * p.nk] * gl;

  if (p.border) {
    double add[2] = {0, 0}, after, before;

    if (red.window.n) {
      const int mode = mode_of(p, k);

      if (mode >= 0)
        exchange(p, red, k, mode, X1, y, p.open[1] ? (double)g[p.n * p.ld] - (mean != 0 ? mean * p.weights[3] : 0) : 0,
                 p.open[0] ? (double)g[(p.n + p.open[1]) * p.ld] - (mean != 0 ? mean * p.weights[4] : 0) : 0, g, add);
    } else {
      solutions(p, red, k, &after, &before);
      beyond(p, k, after, before, g, add);
    }
    in += add[0];
    R += add[1] / mu;
  }
  const double least = DBL_EPSILON * DBL_EPSILON * fabs(in); /* adds nothing beside what comes in */

  for (int i = 0; i < p.n && in != 0; i++) {
    g[i * p.ld] = (T)((double)g[i * p.ld] + in);
    in *= mu;
    if (fabs(in) < least) in = 0;
  }
  for (int i = p.n - 1; i >= 0; i--) {
    R = (double)g[i * p.ld] + mu * R;
    g[i * p.ld] = (T)R;
  }
  if (p.periodic) g[p.n * p.ld] = (T)xl;
  if (p.ends && p.n) sum += p.ends[p.nk + k] * (double)g[0] + p.ends[2 * p.nk + k] * (double)g[(p.n - 1) * p.ld];
  if (pinned && p.parts) {
    for (int i = 0; i < p.n + beyondrows; i++) sum += sep_kind(p, p.weights, i) * (double)g[i * p.ld];
    sum -= sep_lost(p, (T)(mean * p.subfactor));
  }
  return sum;
}

template <typename T>
__global__ void sep_long(BCRCudaSepLines p, T *g, BCRReduced red)
{
  const int k = blockIdx.x * LONG_MODES + threadIdx.x;
  const bool pinned = (int)blockIdx.x == p.pin / LONG_MODES;
  double sum = 0;

  if (k < p.nk) sum = sep_long_line(p, g, red, k);
  if (p.parts && p.pinplane == (int)blockIdx.y && (p.ends || pinned)) {
    if (pinned) {
      double sums[SUMS_AHEAD];

      sep_sums_begin(p, sums);
      sum += sep_sums_end(p, sums);
    }
    if (p.rows) {
      sum = over_chunks<1>(sum) / p.rows;
      for (int i = threadIdx.x; i < p.n + p.periodic; i += LONG_MODES) {
        T *at = g + blockIdx.y * p.plane + p.pin + i * p.ld;

        *at = (T)(*at - sum);
      }
    } else sep_part(p, pinned, 0, 1, sum);
  }
  if (red.window.n && p.pin >= 0) sep_total(p, red, (p.ends ? 2 * (int)gridDim.x : 0) + 1);
  else if (red.window.n) window_done(red.window.turn);
}

static int sep_blocks(const BCRCudaSepLines *p, int modes)
{
  return (p->nk + modes - 1) / modes;
}
static int sep_warps(const BCRCudaSepLines *p, int K, int modes)
{
  const int rows = 32 / modes * K;

  return K ? (p->n + rows - 1) / rows : 1;
}

template <typename T, int K, int MODES>
static int launch(const BCRCudaSepLines *p, T *g, const BCRReduced &red, cudaStream_t stream)
{
  const dim3 grid((unsigned)sep_blocks(p, MODES), (unsigned)p->planes);
  const int threads = 32 * sep_warps(p, K, MODES);

  if (p->border && p->pin >= 0)
    return bcr_launch(1, sep_lines<T, K, MODES, 1, 2>, grid, threads, 0, stream, *p, g, red);
  if (p->border) return bcr_launch(1, sep_lines<T, K, MODES, 1, 1>, grid, threads, 0, stream, *p, g, red);
  if (p->more) {
    /* as level0small.cu's */
    const cudaError_t e =
      cudaFuncSetAttribute((const void *)sep_lines<T, K, MODES, 2, 0>, cudaFuncAttributePreferredSharedMemoryCarveout,
                           cudaSharedmemCarveoutMaxShared);

    return e == cudaSuccess ? bcr_launch(1, sep_lines<T, K, MODES, 2, 0>, grid, threads, 0, stream, *p, g, red)
                            : (int)e;
  }
  if (p->pin >= 0) return bcr_launch(1, sep_lines<T, K, MODES, 3, 0>, grid, threads, 0, stream, *p, g, red);
  if (p->periodic) return bcr_launch(1, sep_lines<T, K, MODES, 0, 0>, grid, threads, 0, stream, *p, g, red);
  return bcr_launch(1, sep_lines<T, K, MODES, 1, 0>, grid, threads, 0, stream, *p, g, red);
}

/* Rows of a thread and modes of a block by the rows of a line; 0 rows: of any length, a thread a mode. Longer chunks have
   less to carry, shorter ones give more blocks. The limits were not measured apart (h200_poisson.csv has solves with them);
   4 and 2 modes are for lines of which a block cannot have 8 (commit d3b90e8) */
static void sep_shape(const BCRCudaSepLines *p, int *K, int *modes)
{
  const int n = p->n;

  *modes = n <= 128 * WARPS ? 8 : (n <= 256 * WARPS ? 4 : 2);
  if (n > 512 * WARPS || n < 1) {
    *K = 0;
    *modes = LONG_MODES;
  } else if (p->planes > MANY_PLANES && n <= 256)
    *K = n <= 32 ? 8 : 16; /* enough lines for long chunks: less is carried */
  else *K = n <= 128 ? 4 : (n <= 256 ? 8 : (n <= 512 ? 16 : 32));
}
int BCRCudaSepParts(const BCRCudaSepLines *p)
{
  int K, modes;

  sep_shape(p, &K, &modes);
  return (p->ends ? 2 * sep_blocks(p, modes) : 0) + sep_warps(p, K, modes);
}

template <typename T>
static int sep_solve(cudaStream_t stream, const BCRCudaSepLines *p, T *g, const BCRReduced &red)
{
  int K, modes;

  sep_shape(p, &K, &modes);
  if (!K) {
    sep_long<<<dim3((unsigned)sep_blocks(p, modes), (unsigned)p->planes), LONG_MODES, 0, stream>>>(*p, g, red);
    return bcr_done();
  }
  if (modes == 4) return launch<T, 32, 4>(p, g, red, stream);
  if (modes == 2) return launch<T, 32, 2>(p, g, red, stream);
  if (K == 4) return launch<T, 4, 8>(p, g, red, stream);
  if (K == 8) return launch<T, 8, 8>(p, g, red, stream);
  return K == 16 ? launch<T, 16, 8>(p, g, red, stream) : launch<T, 32, 8>(p, g, red, stream);
}

int BCRCudaSepSolve(BCRStream stream, const BCRCudaSepLines *p, int single, void *g)
{
  BCRReduced red = {};
  int error = 0;

  BCR_CUDA_TYPE(single, error = sep_solve(bcr_stream(stream), p, (T *)g, red));
  return error;
}

int BCRCudaSepSolveReduced(BCRStream stream, const BCRCudaSepLines *p, int single, void *g,
                           const BCRCudaBorderRows *rows, const double *received, int part, double a,
                           const BCRCudaWindow *w)
{
  BCRReduced red = {*rows, received, part, a, {}};
  int error = 0;

  if (w) red.window = *w;
  BCR_CUDA_TYPE(single, error = sep_solve(bcr_stream(stream), p, (T *)g, red));
  return error;
}

enum {
  ENDS = 32,     /* chunks of a line, a warp each: as many as a block can have */
  ENDS_AHEAD = 8 /* rows that are loaded before the first is needed. Neither was measured apart */
};

/* What open lines give the rows beyond their ends. A block has 32 modes, a warp a chunk of the
   rows; chunks from which nothing reaches an end are not read */
template <typename T>
__global__ void __launch_bounds__(32 * ENDS) sep_ends(BCRCudaSepLines p, const T *__restrict__ g, double a,
                                                      double *__restrict__ interface, double *__restrict__ previous)
{
  __shared__ double part[4][ENDS][32];
  const int lane = threadIdx.x & 31, w = threadIdx.x >> 5, k = blockIdx.x * 32 + lane, kk = min(k, p.nk - 1);
  const int rows = (p.n + ENDS - 1) / ENDS, first = min(p.n, w * rows), last = min(p.n, first + rows);
  const double *t = p.tab + (ptrdiff_t)blockIdx.y * BCR_CUDA_SEP_TAB * p.nk + kk;
  const double mu = t[0], hs = t[p.nk];
  const float decay = __log2f((float)mu);
  const bool far = decay * first < -64 && decay * (p.n - last) < -64; /* mu^rows is below 2^-64, no digit of a double */
  double c = 0, b = 0, pw = 1, P = 0;

  g += blockIdx.y * p.plane + kk;
  bcr_wait_before();
  if (!__all_sync(0xffffffffu, far)) {
    for (int i = first; i < last; i += ENDS_AHEAD) {
      double x[ENDS_AHEAD];

#pragma unroll
      for (int q = 0; q < ENDS_AHEAD; q++) x[q] = i + q < last ? (double)g[(i + q) * p.ld] : 0;
#pragma unroll
      for (int q = 0; q < ENDS_AHEAD; q++) {
        if (i + q < last) {
          c = x[q] + mu * c;
          b += pw * c;
          P += pw * pw * mu;
          pw *= mu;
        }
      }
    }
  } else pw = 0; /* it does not matter how small */
  part[0][w][lane] = c;
  part[1][w][lane] = b;
  part[2][w][lane] = pw;
  part[3][w][lane] = P;
  __syncthreads();
  const int mode = w == 0 && k < p.nk ? mode_of(p, k) : -1;

  if (mode >= 0) {
    double C = 0, X1 = 0, q1 = 1;

#pragma unroll 8
    for (int q = 0; q < ENDS; q++) {
      X1 += q1 * (part[1][q][lane] + part[3][q][lane] * C);
      q1 *= part[2][q][lane];
      C = part[0][q][lane] + part[2][q][lane] * C;
    }
    const double *e = border_of(p, k), f = a * factor_of(p, k);

    X1 *= hs;
    C *= hs;
    interface[-mode] = p.open[1] ? f * (e[4 * p.nk] * (double)g[p.n * p.ld] + e[2 * p.nk] * X1 + e[3 * p.nk] * C) : 0;
    previous[mode] = p.open[0] ? f * (e[4 * p.nk] * (double)g[(p.n + p.open[1]) * p.ld] + e[0] * X1 + e[p.nk] * C) : 0;
  }
}

int BCRCudaSepEnds(BCRStream stream, const BCRCudaSepLines *p, int single, const void *g, double a, double *interface,
                   double *previous)
{
  const dim3 grid((unsigned)((p->nk + 31) / 32), (unsigned)p->planes);
  int error = 0;

  BCR_CUDA_TYPE(single, error = bcr_launch(1, sep_ends<T>, grid, 32 * ENDS, 0, bcr_stream(stream), *p, (const T *)g, a,
                                           interface, previous));
  return error;
}

enum {
  SUM_THREADS = 512 /* the one block of sep_sum(). Not measured apart */
};

__global__ void __launch_bounds__(SUM_THREADS) sep_sum(int n, const double *parts, double *sum)
{
  __shared__ double part[SUM_THREADS / 32];
  double v = 0;

  for (int q = threadIdx.x; q < n; q += SUM_THREADS) v += parts[q];
  v = over_chunks<1>(v);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x) return;
  v = 0;
  for (int q = 0; q < SUM_THREADS / 32; q++) v += part[q];
  *sum = v;
}

int BCRCudaSepSum(BCRStream stream, const BCRCudaSepLines *p, double *sum)
{
  sep_sum<<<1, SUM_THREADS, 0, bcr_stream(stream)>>>(BCRCudaSepParts(p), p->parts, sum);
  return bcr_done();
}
