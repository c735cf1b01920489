/*
  Compact differences in one pass: stencil, forward and backward recurrence (src/tridiagonal/scan.c
  has these and the ends).

  The roots are small (at most 1/2 in size), so that what comes from more than
  BCR_CUDA_COMPACT_REACH rows away is below rounding: a thread with K rows takes its carries from
  the few threads beside it, and a long line is cut into tiles that begin and end so many rows
  beyond what they write. Only tiles with an end of the line solve for the unknowns there.

  The inner rows are c_0 f_j + sum_k c_k (f_(j+k) + sign f_(j-k)): the sign is a number of the kernel's, of
  which a multiply-add makes the same sum or difference, as this costs nothing beside memory and halves
  the kernels.

  A warp has a line in shared memory, of lines that are contiguous (compact_along) and of others
  (compact_columns), whose neighbours come with them. Short lines of the second kind are in the
  registers of a few threads each (compact_across), which begins here. There positions are rows from
  row h on (around: row 0), a tile's first is `begin`. In it y without what comes from before the tile's
  first row, or from row h-1; b: the same backwards.
*/
#include "bulk.cuh"
#include "tri.cuh"
#include "window.cuh"
#include "compact.h"
#include <cmath>
#include <cstdint>
#include <cstring>

#define COMPACT_ENDS (2 * BCR_CUDA_COMPACT_ENDS)

struct CompactShape {
  ptrdiff_t columns, m; /* lines; positions of a line */
  int nq, tx;           /* threads of a line, lines of a block (across) or of a warp (along) */
  int tiles, out;       /* of a line; positions that a tile writes */
  int around, halo;     /* positions beyond these */
  int klast;            /* rows of the last thread of a line, less one */
  double A, P, pl, Pl;  /* root^K, sum of root^(2 k + 1) over k < K; the same of the last thread's rows */
  double powers[6];     /* of A */
};

/* What a tile has in shared memory of one line: of each thread (end of y, b), right-hand sides of
   the ends, y in the last position; all `stride` apart */
struct CompactLine {
  double2 *ex;
  double *fe, *last;
  int stride;
};

/* A tile's place */
struct CompactTile {
  ptrdiff_t begin, end, writebegin, writeend; /* positions: begin .. end - 1 of the tile, and those that it writes */
  /* thread and row of it that have the last position; whether there are ends of the line */
  int qlast, klast, left, right;
};

template <int K>
static __device__ inline CompactTile compact_tile(const CompactShape &s, int tile)
{
  CompactTile t;

  t.writebegin = (ptrdiff_t)tile * s.out;
  t.writeend = t.writebegin + s.out < s.m ? t.writebegin + s.out : s.m;
  t.begin = t.writebegin - s.halo;
  t.end = t.writebegin + s.out + s.halo;
  if (!s.around) {
    if (t.begin < 0 || s.tiles == 1) t.begin = 0;
    if (t.end > s.m || s.tiles == 1) t.end = s.m;
  }
  t.left = !s.around && t.begin == 0;
  t.right = !s.around && t.end == s.m;
  t.qlast = (int)((t.end - t.begin - 1) / K);
  t.klast = (int)((t.end - t.begin - 1) % K);
  return t;
}

/* What is carried forwards into the first row of thread q, but for what comes from the end of the line */
template <int K>
static __device__ inline double compact_before(const CompactShape &s, const CompactLine &l, int q)
{
  double c = 0;

#pragma unroll
  for (int i = BCR_CUDA_COMPACT_REACH / K; i >= 1; i--)
    if (q - i >= 0) c = l.ex[(q - i) * l.stride].x + s.A * c;
  return c;
}

static __device__ inline double compact_unknown(const BCRCudaCompact &p, const CompactLine &l, const CompactTile &t,
                                                int k, double s0, double yl)
{
  const int N = p.h + p.t;
  const double *G = p.G + k * (N + 2);
  double x = 0;

  if (t.left) {
    for (int m = 0; m < p.h; m++) x += G[m] * l.fe[m * l.stride];
    x += G[N] * s0;
  }
  if (t.right) {
    for (int m = p.h; m < N; m++) x += G[m] * l.fe[m * l.stride];
    x += G[N + 1] * yl;
  }
  return x;
}

/* In a thread near an end of the line: d and e, which are carried in from there. The first and the
   last thread write the rows of the ends, if they are the tile's (write), but that row h-1 lacks
   what comes backwards */
template <typename T, int K>
static __device__ inline void compact_ends(const BCRCudaCompact &p, const CompactShape &s, const CompactLine &l,
                                           const CompactTile &t, int q, T *u, ptrdiff_t step, bool write, double *d,
                                           double *e)
{
  const double partial = t.right ? s.Pl : s.P;
  double s0 = 0, yl = 0;

  if (t.left) {
    double C = 0, w = 1;

    for (int m = 0; m <= BCR_CUDA_COMPACT_REACH / K && m <= t.qlast; m++) {
      const double2 v = l.ex[m * l.stride];

      s0 += w * (v.y + (m == t.qlast ? partial : s.P) * C);
      w *= s.A;
      C = v.x + s.A * C;
    }
  }
  if (t.right) yl = *l.last + s.pl * compact_before<K>(s, l, t.qlast);
  *d = t.left ? compact_unknown(p, l, t, p.h - 1, s0, yl) : 0;
  *e = t.right ? compact_unknown(p, l, t, p.h, s0, yl) : 0;
  if (!write) return;
  if (t.left && q == 0 && t.writebegin == 0)
    for (int k = 0; k < p.h; k++) u[step * k] = (T)(k == p.h - 1 ? *d : compact_unknown(p, l, t, k, s0, yl));
  if (t.right && q == t.qlast && t.writeend == s.m)
    for (int k = 0; k < p.t; k++) u[step * (p.n - p.t + k)] = (T)(k ? compact_unknown(p, l, t, p.h + k, s0, yl) : *e);
}

/* Carries of thread q: c forwards into its first row; r backwards into its last row, which for the
   last thread of a line is row n-t-1 */
template <typename T, int K>
static __device__ inline void compact_carry(const BCRCudaCompact &p, const CompactShape &s, const CompactLine &l,
                                            const CompactTile &t, int q, T *u, ptrdiff_t step, bool write, double *c,
                                            double *r)
{
  constexpr int M = BCR_CUDA_COMPACT_REACH / K;
  double d = 0, e = 0, C = compact_before<K>(s, l, q), sum = 0, w = 1;

  if ((t.left && q <= M) || (t.right && q >= t.qlast - M)) compact_ends<T, K>(p, s, l, t, q, u, step, write, &d, &e);
  if (t.left && q <= M) C += d * s.powers[q];
  *c = C;
#pragma unroll
  for (int m = 1; m <= M; m++) {
    if (q + m > t.qlast) break;
    C = l.ex[(q + m - 1) * l.stride].x + s.A * C;
    sum += w * (l.ex[(q + m) * l.stride].y + (q + m == t.qlast && t.right ? s.Pl : s.P) * C);
    w *= s.A;
  }
  if (t.right && q >= t.qlast - M) sum += q == t.qlast ? e : e * s.powers[t.qlast - q - 1] * s.pl;
  *r = sum;
}

/* Right-hand side of an end row; row j is at f(j) */
template <typename F>
static __device__ inline double compact_end(const BCRCudaCompact &p, const F &f, int e)
{
  const BCRCudaCompactRow &r = e < p.h ? p.first[e] : p.last[e - p.h];
  double v[BCR_CUDA_COMPACT_WIDTH], x = 0;

#pragma unroll
  for (int k = 0; k < BCR_CUDA_COMPACT_WIDTH; k++) {
    ptrdiff_t j = r.start + k;

    if (j < 0) j += p.n;
    else if (j >= p.n) j -= p.n;
    v[k] = k < r.points ? (double)f(j) : 0;
  }
#pragma unroll
  for (int k = 0; k < BCR_CUDA_COMPACT_WIDTH; k++) x += r.c[k] * v[k];
  return x;
}

/* x: y with zero carry of the positions of a thread, from those in w (H before its first one);
   returns y in the last of them, yl; b */
template <typename T, int H, int K, typename W>
static __device__ __forceinline__ void compact_rows(const BCRCudaCompact &p, const W &w, int klim, T x[K], double2 *ex,
                                                    double *yl)
{
  const T root = (T)p.root, sign = (T)p.sign, c0 = p.sign > 0 ? (T)(p.gamma * p.c[0]) : (T)0,
          c1 = (T)(p.gamma * p.c[1]), c2 = (T)(p.gamma * p.c[2]), c3 = (T)(p.gamma * p.c[3]);
  T y = 0, b = 0, last = 0;

#pragma unroll
  for (int k = 0; k < K; k++) {
    T v = c0 * w(k + H);

    v += c1 * fma(sign, w(k + H - 1), w(k + H + 1));
    if (H > 1) v += c2 * fma(sign, w(k + H - 2), w(k + H + 2));
    if (H > 2) v += c3 * fma(sign, w(k + H - 3), w(k + H + 3));
    y = k <= klim ? v + root * y : (T)0;
    x[k] = y;
    if (k == klim) last = y;
  }
#pragma unroll
  for (int k = K - 1; k >= 0; k--) b = x[k] + root * b;
  *ex = make_double2((double)y, (double)b);
  *yl = (double)last;
}

enum {
  ACROSS_ROWS = 32,    /* of a thread */
  ACROSS_MOST = 16,    /* threads of a line, at most: longer lines are cut into tiles */
  ACROSS_LINES = 32,   /* of a block: neighbours in memory; of short lines */
  ACROSS_SHORT = 128,  /* as many as this, where a block has */
  ACROSS_THREADS = 256 /* threads at most. None of these was measured apart */
};

template <typename T, int H, int K>
__global__ void __launch_bounds__(ACROSS_LINES *ACROSS_MOST, 1)
  compact_across(BCRCudaCompact p, CompactShape s, const T *f, T *u)
{
  extern __shared__ double2 shared[];

  const int tx = threadIdx.x % s.tx, q = threadIdx.x / s.tx, N = s.around ? 0 : p.h + p.t;
  const ptrdiff_t at = (ptrdiff_t)(blockIdx.x / s.tiles) * s.tx + tx;
  const bool active = at < s.columns;
  const ptrdiff_t column = active ? at : s.columns - 1, i = column % p.inner, o = column / p.inner,
                  h = s.around ? 0 : p.h;
  CompactLine l;
  T x[K];

  l.ex = shared + tx;
  l.fe = (double *)(shared + s.tx * s.nq) + tx;
  l.last = l.fe + s.tx * COMPACT_ENDS;
  l.stride = s.tx;
  const CompactTile t = compact_tile<K>(s, (int)(blockIdx.x % s.tiles));

  f += i + p.inner * p.n * o;
  u += i + p.inner * p.n * o;
  const ptrdiff_t pos = t.begin + (ptrdiff_t)K * q, row = pos + h; /* of this thread's first */
  const int klim = q < t.qlast ? K - 1 : (q == t.qlast ? t.klast : -1);
  double2 mine;
  double yl;

  if (klim == K - 1 && row >= H && row + K + H <= p.n) {
    const T *from = f + p.inner * (row - H);
    T w[K + 2 * H];

#pragma unroll
    for (int k = 0; k < K + 2 * H; k++) w[k] = from[p.inner * k];
    compact_rows<T, H, K>(
      p, [&](int k) { return w[k]; }, K - 1, x, &mine, &yl);
  } else {
    T w[K + 2 * H];

#pragma unroll
    for (int k = 0; k < K + 2 * H; k++) {
      ptrdiff_t j = row - H + k;

      if (s.around) j = j < 0 ? j + p.n : (j >= p.n ? j - p.n : j);
      w[k] = k <= klim + 2 * H && klim >= 0 ? f[p.inner * j] : (T)0;
    }
    compact_rows<T, H, K>(
      p, [&](int k) { return w[k]; }, klim, x, &mine, &yl);
  }
  l.ex[q * s.tx] = mine;
  if (q == t.qlast) *l.last = yl;
  for (int e = q; e < N; e += s.nq)
    if (e < p.h ? t.left : t.right)
      l.fe[e * s.tx] = compact_end(
        p, [&](ptrdiff_t j) { return f[p.inner * j]; }, e);
  __syncthreads();
  if (klim < 0 || !active) return;

  double c, r;

  compact_carry<T, K>(p, s, l, t, q, u, p.inner, true, &c, &r);
  const T root = (T)p.root;
  T y = (T)c, b = (T)r;

#pragma unroll
  for (int k = 0; k < K; k++) {
    y *= root;
    x[k] += y;
  }
  T *to = u + p.inner * row;

  if (klim == K - 1 && pos >= t.writebegin && pos + K <= t.writeend) {
#pragma unroll
    for (int k = K - 1; k >= 0; k--) {
      b = x[k] + root * b;
      to[p.inner * k] = b;
    }
  } else {
#pragma unroll
    for (int k = K - 1; k >= 0; k--) {
      if (k <= klim) b = x[k] + root * b;
      if (k <= klim && pos + k >= t.writebegin && pos + k < t.writeend) to[p.inner * k] = b;
    }
  }
  if (t.left && q == 0 && t.writebegin == 0) u[p.inner * (p.h - 1)] += root * b;
}

/*
  Lines that are contiguous. A warp takes one line (or tile) after the other, with the next ones on
  their way to shared memory: a line comes as one bulk copy, is solved in place there, and nothing
  but its own warp waits. A lane has K rows. K is odd, so that lanes find their rows in different
  banks without padding. The last lane's last row is the last row of the tile: the first rows may be
  missing (k < first), so that the sum at the first row and y in the last one are where both chains
  end. What comes before a lane's rows and after them is scanned over lanes, over as many as
  BCR_CUDA_COMPACT_REACH rows need, of a periodic line that is one tile around the ring of them. A
  lane's rows then are u = b + c Q + r R: one fma for each of the two, no chain.

  The unknowns X of the ends are combinations of the 8 points at either end (C), s and the last y
  (g). Lanes 0..15 have those of the first rows, h-1 first, lanes 16..31 those of the last; each of
  the 16 has a point. Where the line goes on, on another rank, there is what is carried in instead
  of them, with H points of that rank: one lane loads each of these, a line ahead.
*/
#define ALONG_POINTS (2 * BCR_CUDA_COMPACT_WIDTH)

template <typename T, int K>
struct CompactAlong {
  ptrdiff_t n, lines, inner;
  int h, t, tiles, out, halo, ring, periodic, bulk, warps; /* out, halo: rows; warps: that have work */
  double root;
  T alpha, sign, c[4], Q[K], R[K]; /* alpha: root; c[0] is 0 where sign is -1 */
  int cut[2], slots;               /* slots: unknowns of an end, at most */
  const T *ghost[2];
  double C[2][BCR_CUDA_COMPACT_ENDS][ALONG_POINTS], g[2][BCR_CUDA_COMPACT_ENDS][2];
};

static __host__ __device__ inline double compact_power(double x, int n)
{
  double p = 1;

  for (; n > 0; n >>= 1, x *= x)
    if (n & 1) p *= x;
  return p;
}

/* Steps of a scan over 2^steps lanes with K rows each */
static __host__ __device__ constexpr int along_steps(int K)
{
  int steps = K > 32 ? 2 : 0;

  while (K << steps < BCR_CUDA_COMPACT_REACH) steps++;
  return steps;
}

/* The fewest rows in so many lanes of a ring of n rows, one of which may have fewer than K */
static int along_covers(int K, ptrdiff_t n)
{
  const int lanes = (int)((n + K - 1) / K), all = 1 << along_steps(K), rest = all % lanes;

  return all / lanes * (int)n + (rest ? (rest - 1) * K + (int)(n - (ptrdiff_t)(lanes - 1) * K) : 0);
}

/* v of the lanes before (source[]: by 1, 2, 4 ...), each with what it loses on the way */
template <typename T, int STEPS>
static __device__ __forceinline__ T along_scan(T v, const T factor[STEPS], const int source[STEPS])
{
#pragma unroll
  for (int s = 0; s < STEPS; s++) v += factor[s] * __shfl_sync(~0u, v, source[s]);
  return v;
}

template <int STEPS>
static __device__ inline void along_factors(double own, int lane, const int source[STEPS], double factor[STEPS])
{
  factor[0] = own;
#pragma unroll
  for (int s = 1; s < STEPS; s++) factor[s] = factor[s - 1] * __shfl_sync(~0u, factor[s - 1], source[s - 1]);
}

enum {
  ALONG_WARPS = 4 /* of a block of compact_along(), a line each. Not measured apart */
};
#define ALONG_ROOM(K) (32 * (K) + 32) /* of a line in shared memory */

/* Where the numbers of a tile are, what a lane of its warp knows; rows are PITCH numbers apart in shared memory */
template <typename T, int H, int K, bool CUT, int PITCH>
struct AlongLane {
  static constexpr int STEPS = along_steps(K);

  /* rows: writebegin .. writeend - 1 are written; loadbegin is the first in shared memory, which has `count` of them
     from `shift` on */
  ptrdiff_t writebegin, writeend, loadbegin;
  /* mine: this lane's first row there; none: the first lane that has any, kfirst: its first */
  int lane, count, shift, mine, none, kfirst;
  int point, side, number; /* of an end; of another rank's numbers */
  bool left, right, ends, bulk, other;
  int source[STEPS], target[STEPS]; /* what lanes hand on */
  T fore[STEPS], back[STEPS], pc, cs, dc, dr, er, C[BCR_CUDA_COMPACT_ENDS], g[BCR_CUDA_COMPACT_ENDS][2];

  __device__ __forceinline__ void set(const CompactAlong<T, K> &p, int lane_, int tile);
  __device__ __forceinline__ void solve(const CompactAlong<T, K> &p, T *in, T ghost);
};

template <typename T, int H, int K, bool CUT, int PITCH>
__device__ __forceinline__ void AlongLane<T, H, K, CUT, PITCH>::set(const CompactAlong<T, K> &p, int lane_, int tile)
{
  lane = lane_;
  /* rows: to write, to solve, in shared memory */
  writebegin = (ptrdiff_t)tile * p.out;
  writeend = writebegin + p.out < p.n ? writebegin + p.out : p.n;
  left = !p.periodic && writebegin - p.halo <= p.h;
  right = !p.periodic && writeend + p.halo >= p.n - p.t;
  ends = left || right;
  const ptrdiff_t r0 = p.ring ? 0 : (left ? p.h : writebegin - p.halo),
                  r1 = p.ring ? p.n : (right ? p.n - p.t : writeend + p.halo);
  ptrdiff_t l1 = right || p.ring ? p.n : r1 + H;

  loadbegin = left || p.ring ? 0 : r0 - H;
  bulk = p.bulk && loadbegin >= 0 && l1 <= p.n;

  if (bulk) {
    loadbegin = loadbegin / 4 * 4;
    l1 = (l1 + 3) / 4 * 4 < p.n ? (l1 + 3) / 4 * 4 : p.n;
  }
  const int before = H + 32 * K - (int)(r1 - loadbegin), missing = (int)(r0 - r1) + (32 - lane) * K,
            round = (int)((r1 - r0 + K - 1) / K);

  count = (int)(l1 - loadbegin);
  shift = (before < 4 ? 4 : before + 3) / 4 * 4;
  mine = (int)(r1 - loadbegin) - (32 - lane) * K + shift;
  none = 32 - round;
  kfirst = missing < 0 ? 0 : (missing > K ? K : missing);
  point = (int)(r1 - loadbegin) - 1 + shift; /* any that is there */
  dc = dr = er = 0;
  for (int e = 0; e < BCR_CUDA_COMPACT_ENDS; e++) C[e] = g[e][0] = g[e][1] = 0;
  {
    const bool active = lane >= none, start = lane == none && !p.ring;
    const double own = active ? compact_power(p.root, K - kfirst) : 0;
    double F[STEPS], B[STEPS], P = 0, scale = active ? 1 / compact_power(p.root, kfirst) : 0;

#pragma unroll
    for (int s = 0; s < STEPS; s++) {
      source[s] = p.ring ? (active ? none + ((lane - none - (1 << s)) % round + round) % round : lane)
                         : (lane >= 1 << s ? lane - (1 << s) : lane);
      target[s] = p.ring ? (active ? none + (lane - none + (1 << s)) % round : lane)
                         : (lane + (1 << s) < 32 ? lane + (1 << s) : lane);
    }
    along_factors<STEPS>(start ? 0 : own, lane, source, F);
    along_factors<STEPS>(lane == 31 && !p.ring ? 0 : own, lane, target, B);
    for (int k = kfirst; k < K; k++) P = p.root + p.root * p.root * P;
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
      fore[s] = (T)F[s];
      back[s] = (T)B[s];
    }
    pc = (T)(start ? 0 : P);
    cs = (T)(start ? 0 : scale);
    if (ends) { /* what d and e add */
      const double in =
        lane == none ? 1 : (active ? compact_power(p.root, (int)((r1 - r0) - (32 - lane) * (ptrdiff_t)K)) : 0);
      double V = along_scan<double, STEPS>(P * in, B, target);

      V = __shfl_down_sync(~0u, V, 1);
      if (left) {
        dc = (T)(in * scale);
        dr = (T)(lane < 31 ? V : 0);
      }
      if (right) er = (T)(active ? compact_power(p.root, (31 - lane) * K) : 0);
      const int side = lane >> 4, i = lane & 15;
      const bool there = i < BCR_CUDA_COMPACT_WIDTH ? left : right;

      for (int e = 0; e < BCR_CUDA_COMPACT_ENDS; e++) {
        if (side ? !right : !left) continue;
        if (there) C[e] = (T)p.C[side][e][i];
        if (left) g[e][0] = (T)p.g[side][e][0];
        if (right) g[e][1] = (T)p.g[side][e][1];
      }
      if (there) point = (int)((i < BCR_CUDA_COMPACT_WIDTH ? i : p.n - ALONG_POINTS + i) - loadbegin) + shift;
    }
  }
  /* a number of another rank: of its planes, for the side of this lane, and what is carried in, 8 */
  side = lane >> 4;
  number = (lane & 15) < H ? lane & 15 : ((lane & 15) == 8 ? H : H + 1);
  other = CUT && number <= H && p.cut[side] && (side ? right : left);
}

/* All lanes come here with the line in shared memory, and it is solved in there when they have left and met */
template <typename T, int H, int K, bool CUT, int PITCH>
__device__ __forceinline__ void AlongLane<T, H, K, CUT, PITCH>::solve(const CompactAlong<T, K> &p, T *in, T ghost)
{
  T x[K], y = 0, b = 0;

  if (CUT) {
    if (other && number < H) in[PITCH * (shift + (side ? p.n - loadbegin + number : number - H))] = ghost;
    __syncwarp();
  }
  if (p.ring) {
    if (lane < H) {
      in[PITCH * (shift - H + lane)] = in[PITCH * (shift + p.n - H + lane)];
      in[PITCH * (shift + p.n + lane)] = in[PITCH * (shift + lane)];
    }
    __syncwarp();
  }
  {
    const T *w = in + PITCH * mine;

#pragma unroll
    for (int k = 0; k < K; k++) {
      T v = p.c[0] * w[PITCH * k];

      v += p.c[1] * fma(p.sign, w[PITCH * (k - 1)], w[PITCH * (k + 1)]);
      if (H > 1) v += p.c[2] * fma(p.sign, w[PITCH * (k - 2)], w[PITCH * (k + 2)]);
      if (H > 2) v += p.c[3] * fma(p.sign, w[PITCH * (k - 3)], w[PITCH * (k + 3)]);
      if (k >= kfirst) y = v + p.alpha * y;
      x[k] = y;
    }
  }
#pragma unroll
  for (int k = K - 1; k >= 0; k--) {
    if (k >= kfirst) b = x[k] + p.alpha * b;
    x[k] = b;
  }
  T X[BCR_CUDA_COMPACT_ENDS], c, r;

  if (ends) {
    const T at = in[PITCH * point];

#pragma unroll
    for (int e = 0; e < BCR_CUDA_COMPACT_ENDS; e++) X[e] = C[e] * at;
    if (other && number == H) X[0] += ghost;
#pragma unroll
    for (int s = 8; s; s /= 2) {
      X[0] += __shfl_xor_sync(~0u, X[0], s);
      if (p.slots > 1) X[1] += __shfl_xor_sync(~0u, X[1], s);
      if (p.slots > 2) X[2] += __shfl_xor_sync(~0u, X[2], s);
    }
  }
  y = along_scan<T, STEPS>(y, fore, source);
  c = __shfl_sync(~0u, y, source[0]);
  b = along_scan<T, STEPS>(b + pc * c, back, target);
  r = __shfl_sync(~0u, b, target[0]);
  c *= cs;
  if (!p.ring && lane == 31) r = 0;
  if (ends) {
    const T s0 = __shfl_sync(~0u, b, none), yl = __shfl_sync(~0u, y, 31);

#pragma unroll
    for (int e = 0; e < BCR_CUDA_COMPACT_ENDS; e++) X[e] += g[e][0] * s0 + g[e][1] * yl;
    const T d = __shfl_sync(~0u, X[0], 0), e = __shfl_sync(~0u, X[0], 16);

    c += d * dc;
    r += d * dr + e * er;
  }
  __syncwarp(); /* all have read */
  {
    T *w = in + PITCH * mine;

#pragma unroll
    for (int k = 0; k < K; k++) w[PITCH * k] = x[k] + c * p.Q[k] + r * p.R[k];
  }
  __syncwarp();
  if (ends && (lane & 15) == 0) {
    if (lane == 0 && left && p.h) {
      T *w = in + PITCH * (shift + p.h - 1 - loadbegin);

      w[0] = X[0] + p.alpha * w[PITCH];
      if (p.h > 1) w[-PITCH] = X[1];
      if (p.h > 2) w[-2 * PITCH] = X[2];
    }
    if (lane == 16 && right && p.t) {
      T *w = in + PITCH * (shift + (p.n - p.t - loadbegin));

      w[0] = X[0];
      if (p.t > 1) w[PITCH] = X[1];
      if (p.t > 2) w[2 * PITCH] = X[2];
    }
  }
}

/*
  Where ranks reach one another's memory (window.cuh) nothing but this kernel is needed: what other
  ranks want of a line they get from here, ALONG_SENT lines before that line is solved, when its
  ends come to the cache of the device, where the copy of the whole line finds them. So numbers are
  on their way while lines are solved, and those that have not come are waited for when their line
  is. All blocks are there at once (BCRCudaCompactWaits()), and lines go in the same order
  everywhere.
*/
enum {
  ALONG_SENT = 3, /* not measured apart */
  ALONG_ENDS = 3, /* rows of a thread at either end, of 32 threads: 64 + 3 rows at most */
  ALONG_PLACE = 4 /* numbers of a line beside each other */
};

static_assert(BCR_CUDA_COMPACT_REACH + 3 <= 32 * ALONG_ENDS, "rows that other ranks' numbers come from");

/* Number k of a line, from the rank before (side 0) or behind, in a slot */
static __device__ __forceinline__ ptrdiff_t compact_place(ptrdiff_t lines, int side, ptrdiff_t line, int k)
{
  return ALONG_PLACE * (side * lines + line) + k;
}

/* What a lane has of other ranks' numbers (AlongLane's side and number), from their messages or from a window */
template <typename T>
struct CompactGhost {
  const T *from; /* or NULL */
  double *in;    /* or NULL; its slot */
  const unsigned *turn;
  ptrdiff_t step;

  template <typename P, typename M>
  __device__ __forceinline__ void set(const P &p, const BCRCudaCompactWindow &o, const M &m)
  {
    step = o.mine ? ALONG_PLACE : 1;
    from = m.other && !o.mine ? (m.side ? p.ghost[1] : p.ghost[0]) + m.number * p.lines : NULL;
    in = m.other && o.mine
           ? o.mine + (*(const volatile unsigned *)o.turn & 1) * o.slot + compact_place(p.lines, m.side, 0, m.number)
           : NULL;
    turn = o.turn;
  }
  /* that of a line, if it is there; no line: -1 */
  __device__ __forceinline__ double ask(ptrdiff_t line) const
  {
    return line < 0 ? 0 : (in ? window_load(in + step * line) : (from ? (double)from[line] : 0));
  }
  __device__ __forceinline__ T take(ptrdiff_t line, double asked) const
  {
    if (!in) return (T)asked;
    return (T)window_take(in + step * line, asked, turn);
  }
};

/* Rows m = first, first + 32, ... from the ends of a line, of which another rank wants a sum with
   weights, and the first ones themselves */
template <typename T>
struct CompactSends {
  T v[2][ALONG_ENDS];
  double w[ALONG_ENDS], scale; /* of the sum for the rank before */
  double *to[2];               /* the slot in their memory, or NULL */
  int first, rows;

  __device__ __forceinline__ void set(const BCRCudaCompactWindow &o, bool left, bool right, int first_)
  {
    const ptrdiff_t slot = o.mine ? (*(const volatile unsigned *)o.turn & 1) * o.slot : 0;

    first = first_;
    rows = o.rows;
    scale = o.scale;
    to[0] = o.mine && left && o.to[0] ? o.to[0] + slot : NULL;
    to[1] = o.mine && right && o.to[1] ? o.to[1] + slot : NULL;
#pragma unroll
    for (int i = 0; i < ALONG_ENDS; i++) w[i] = o.mine && first + 32 * i < rows ? o.weights[first + 32 * i] : 0;
  }
  /* f: the line's first row */
  __device__ __forceinline__ void load(const T *f, ptrdiff_t n, bool wanted)
  {
#pragma unroll
    for (int side = 0; side < 2; side++)
#pragma unroll
      for (int i = 0; i < ALONG_ENDS; i++) {
        const int m = first + 32 * i;

        v[side][i] = wanted && to[side] && m < rows ? f[side ? n - 1 - m : m] : (T)0;
      }
  }
  /* The sums of the lanes of a warp: for the rank before in the lanes 0 to 15, for the one behind in the others */
  __device__ __forceinline__ double total() const
  {
    const int lane = threadIdx.x & 31;
    double a = 0, b = 0, x;

#pragma unroll
    for (int i = 0; i < ALONG_ENDS; i++) {
      a += w[i] * (double)v[0][i];
      b += w[i] * (double)v[1][i];
    }
    a *= scale;
    x = (lane < 16 ? a : b) + __shfl_xor_sync(~0u, lane < 16 ? b : a, 16);
#pragma unroll
    for (int s = 8; s > 0; s /= 2) x += __shfl_xor_sync(~0u, x, s);
    return x;
  }
  __device__ __forceinline__ void store(ptrdiff_t lines, int behind, ptrdiff_t line, int k, double x) const
  {
    double *t = behind ? to[1] : to[0];

    if (t) window_store(t + compact_place(lines, !behind, line, k), x);
  }
};

template <typename T, int H, int K, int STAGES, int BLOCKS, bool CUT>
__global__ void __launch_bounds__(32 * ALONG_WARPS, BLOCKS)
  compact_along(const __grid_constant__ CompactAlong<T, K> p, const __grid_constant__ BCRCudaCompactWindow o,
                const T *f, T *u)
{
  constexpr int ROOM = ALONG_ROOM(K), AHEAD = STAGES == 2 ? 2 : STAGES - 1;

  extern __shared__ double2 shared[];

  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, group = blockIdx.x * ALONG_WARPS + warp,
            tile = group % p.tiles;
  unsigned long long *barrier =
    (unsigned long long *)(shared + (size_t)ALONG_WARPS * STAGES * ROOM * sizeof(T) / 16) + warp * STAGES;
  T *buffer = (T *)shared + (size_t)warp * STAGES * ROOM;
  const ptrdiff_t first = group < p.warps ? group / p.tiles : p.lines, step = p.warps / p.tiles;

  AlongLane<T, H, K, CUT, 1> m;

  m.set(p, lane, tile);

  const auto load = [&](int stage, ptrdiff_t line) {
    T *to = buffer + stage * ROOM + m.shift;

    if (m.bulk) {
      if (lane == 0 && line < p.lines)
        bulk_load(to, f + line * p.n + m.loadbegin, (unsigned)(m.count * sizeof(T)), barrier + stage);
      return;
    }
    if (line < p.lines) {
      for (int e = lane; e < m.count; e += 32) {
        ptrdiff_t j = m.loadbegin + e;

        if (p.periodic) j = j < 0 ? j + p.n : (j >= p.n ? j - p.n : j);
        __pipeline_memcpy_async(to + e, f + line * p.n + j, sizeof(T));
      }
    }
    __pipeline_commit();
  };

  CompactGhost<T> ghosts;
  CompactSends<T> sends;

  ghosts.set(p, o, m);
  sends.set(o, m.left, m.right, lane);
  const auto send = [&](ptrdiff_t line) { /* what is loaded of it: the lanes of either half to one rank */
                                          const int k = lane & 15, behind = lane >> 4;
                                          const T plane = __shfl_sync(~0u, sends.v[1][0], k);
                                          const double total = sends.total();

                                          if (line < p.lines && k <= H)
                                            sends.store(p.lines, behind, line, behind && k < H ? H - 1 - k : k,
                                                        k < H ? (double)(behind ? plane : sends.v[0][0]) : total);
  };

  if (m.bulk) {
    if (lane == 0) {
      for (int s = 0; s < STAGES; s++) bulk_init(barrier + s);
      bulk_init_done();
    }
    __syncwarp();
  }
#pragma unroll
  for (int s = 0; s < AHEAD; s++) load(s, first + s * step);
  if (CUT && o.mine) {
    for (int s = 0; s < ALONG_SENT; s++) {
      sends.load(f + (first + s * step) * p.n, p.n, first + s * step < p.lines);
      send(first + s * step);
    }
  }
  double next = ghosts.ask(first < p.lines ? first : -1);
  int stage = 0;
  unsigned parity = 0;

  for (ptrdiff_t line = first; line < p.lines; line += step) {
    T *in = buffer + stage * ROOM;
    const ptrdiff_t later = line + ALONG_SENT * step;
    const T ghost = ghosts.take(line, next);

    next = ghosts.ask(line + step < p.lines ? line + step : -1);
    if (CUT && o.mine) sends.load(f + later * p.n, p.n, later < p.lines);
    if (m.bulk) bulk_wait(barrier + stage, parity);
    else {
      __pipeline_wait_prior(AHEAD - 1);
      __syncwarp();
    }
    m.solve(p, in, ghost);
    __syncwarp();
    {
      T *to = u + line * p.n + m.loadbegin;

      if (m.bulk) {
        constexpr int V = 16 / sizeof(T);

        for (int e = (int)(m.writebegin - m.loadbegin) + V * lane; e < (int)(m.writeend - m.loadbegin); e += 32 * V)
          *(double2 *)(to + e) = *(const double2 *)(in + m.shift + e);
        bulk_written();
      } else {
        for (int e = (int)(m.writebegin - m.loadbegin) + lane; e < (int)(m.writeend - m.loadbegin); e += 32)
          to[e] = in[m.shift + e];
      }
    }
    __syncwarp();
    if (CUT && o.mine) send(later);
    load((stage + AHEAD) % STAGES, line + AHEAD * step);
    if (++stage == STAGES) {
      stage = 0;
      parity ^= 1;
    }
  }
  if (CUT && o.mine) window_done(o.turn);
}

/*
  Lines that are not: a block takes 16 columns side by side, a warp each, the next ones on their way
  to shared memory too. There rows are 17 numbers apart, so that the rows of a column that the lanes
  want at once are in different banks.
*/
enum {
  COLUMNS = 16,
  COLUMNS_PITCH = 17
};

template <typename T, int H, int K, bool CUT>
__global__ void __launch_bounds__(32 * COLUMNS, 1)
  compact_columns(const __grid_constant__ CompactAlong<T, K> p, const T *f, T *u)
{
  extern __shared__ double2 shared[];

  const int c = threadIdx.x % COLUMNS, row = threadIdx.x / COLUMNS, warp = threadIdx.x >> 5,
            tile = blockIdx.x % p.tiles;
  const ptrdiff_t groups = (p.lines + COLUMNS - 1) / COLUMNS, first = blockIdx.x / p.tiles, step = gridDim.x / p.tiles;

  AlongLane<T, H, K, CUT, COLUMNS_PITCH> m;

  m.set(p, threadIdx.x & 31, tile);
  const auto at = [&](ptrdiff_t group) { /* of this thread's column in a copy */
                                         const ptrdiff_t column =
                                           group * COLUMNS + c < p.lines ? group * COLUMNS + c : p.lines - 1;

                                         return column % p.inner + p.inner * p.n * (column / p.inner);
  };
  const auto load = [&](int stage, ptrdiff_t group) {
    T *to = (T *)shared + (stage * ALONG_ROOM(K) + m.shift) * COLUMNS_PITCH + c;

    if (group < groups) {
      const T *from = f + at(group);

#pragma unroll 4
      for (int e = row; e < m.count; e += 32) {
        ptrdiff_t j = m.loadbegin + e;

        if (p.periodic) j = j < 0 ? j + p.n : (j >= p.n ? j - p.n : j);
        __pipeline_memcpy_async(to + COLUMNS_PITCH * e, from + p.inner * j, sizeof(T));
      }
    }
    __pipeline_commit();
  };
  const T *from = m.other ? p.ghost[m.side] + m.number * p.lines + warp : NULL;
  const auto carry = [&](ptrdiff_t group) {
    return m.other && group * COLUMNS + warp < p.lines ? from[group * COLUMNS] : (T)0;
  };
  T next = carry(first);

  load(0, first);
  load(1, first + step);
  for (ptrdiff_t group = first, stage = 0; group < groups; group += step, stage ^= 1) {
    T *in = (T *)shared + stage * ALONG_ROOM(K) * COLUMNS_PITCH;
    const T ghost = next;

    next = carry(group + step);
    __pipeline_wait_prior(1);
    __syncthreads();
    m.solve(p, in + warp, ghost);
    __syncthreads();
    if (group * COLUMNS + c < p.lines) {
      T *to = u + at(group) + p.inner * m.loadbegin;

#pragma unroll 4
      for (int e = (int)(m.writebegin - m.loadbegin) + row; e < (int)(m.writeend - m.loadbegin); e += 32)
        to[p.inner * e] = in[COLUMNS_PITCH * (m.shift + e) + c];
    }
    __syncthreads();
    load((int)stage, group + 2 * step);
  }
}

/* Whether blocks may wait for other ranks: the device has them all at once, and each number has one
   tile that takes it */
template <typename T, int K, typename F>
static int along_waits(F *kernel, const CompactAlong<T, K> &p, unsigned grid, size_t shared, int sms, int *waits)
{
  const bool one =
    p.tiles == 1 || ((ptrdiff_t)p.out - p.halo > p.h && (ptrdiff_t)(p.tiles - 1) * p.out + p.halo < p.n - p.t);
  int blocks = 0;
  cudaError_t e = cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);

  if (e == cudaSuccess)
    e = cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                             cudaSharedmemCarveoutMaxShared);
  if (e == cudaSuccess) e = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 32 * ALONG_WARPS, shared);
  *waits = one && (ptrdiff_t)blocks * sms >= (ptrdiff_t)grid;
  return (int)e;
}

template <typename T, int H, int K, int STAGES, int BLOCKS, bool CUT>
static int along_launch(BCRStream stream, const BCRCudaCompact *b, const void *f, void *u,
                        const BCRCudaCompactWindow *w, int *waits)
{
  const BCRCudaCompactWindow o = w ? *w : BCRCudaCompactWindow();
  const int N = b->h + b->t, W = BCR_CUDA_COMPACT_WIDTH;
  const ptrdiff_t n = b->n;
  CompactAlong<T, K> p;
  int device = 0, sms = 0, major = 0, e;

  if ((e = (int)cudaGetDevice(&device)) ||
      (e = (int)cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device)) ||
      (e = (int)cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device)))
    return e;
  memset(&p, 0, sizeof(p));
  p.n = n;
  p.lines = b->outer * b->inner;
  p.inner = b->inner;
  p.periodic = b->periodic;
  p.h = p.periodic ? 0 : b->h;
  p.t = p.periodic ? 0 : b->t;
  p.halo = (b->reach + 3) / 4 * 4;
  p.tiles = 1;
  p.out = (int)n;
  if (n - p.h - p.t > 32 * K || (p.periodic && b->reach > along_covers(K, n))) {
    p.tiles = (int)((n + 32 * K - 2 * p.halo - 4) / (32 * K - 2 * p.halo - 3));
    p.out = (int)(((n + p.tiles - 1) / p.tiles + 3) / 4 * 4);
    p.tiles = (int)((n + p.out - 1) / p.out);
  } else p.ring = p.periodic;
  p.bulk = major >= 9 && n * (ptrdiff_t)sizeof(T) % 16 == 0 && (uintptr_t)f % 16 == 0 && (uintptr_t)u % 16 == 0;
  p.root = b->root;
  p.alpha = (T)b->root;
  p.sign = (T)b->sign;
  for (int k = b->sign > 0 ? 0 : 1; k < 4; k++) p.c[k] = (T)(b->gamma * b->c[k]);
  for (int k = 0; k < K; k++) {
    double q = 0;

    for (int j = K - 1; j >= k; j--) q += compact_power(b->root, j + 1 + j - k);
    p.Q[k] = (T)q;
    p.R[k] = (T)compact_power(b->root, K - k);
  }
  p.slots = p.h > p.t ? p.h : p.t;
  for (int side = 0; side < 2 && !p.periodic; side++) {
    p.cut[side] = b->cut[side];
    p.ghost[side] = (const T *)b->ghost[side];
    if (b->cut[side]) {
      for (int k = 0; k < b->half; k++) p.C[side][0][side ? 2 * W - 1 - k : k] = b->owed[side][k];
      if (side) p.g[1][0][1] = b->back;
    }
    for (int k = 0; k < (side ? b->t : b->h); k++) {
      const double *G = b->G + (side ? b->h + k : b->h - 1 - k) * (N + 2);

      for (int m = 0; m < N; m++) {
        const BCRCudaCompactRow &r = m < b->h ? b->first[m] : b->last[m - b->h];

        for (int i = 0; i < r.points; i++)
          p.C[side][k][r.start + i < W ? r.start + i : r.start + i - n + 2 * W] += G[m] * r.c[i];
      }
      for (int i = 0; i < 2; i++) p.g[side][k][i] = G[N + i];
    }
  }
  if constexpr (K == 9 || K == 17) {
    const ptrdiff_t blocks = ((p.lines + COLUMNS - 1) / COLUMNS) * p.tiles;

    if (b->inner > 1 && waits) return 0; /* its few blocks would wait */
    if (b->inner > 1)
      return bcr_launch_cluster(
        compact_columns<T, H, K, CUT>,
        dim3((unsigned)(blocks < sms ? blocks : (sms < p.tiles ? p.tiles : sms / p.tiles * p.tiles))),
        dim3(32 * COLUMNS), 2 * ALONG_ROOM(K) * COLUMNS_PITCH * sizeof(T), 1, stream, p, (const T *)f, (T *)u);
  }
  const ptrdiff_t resident = (ptrdiff_t)sms * BLOCKS * ALONG_WARPS, tasks = p.lines * p.tiles;
  const size_t bytes = (size_t)ALONG_WARPS * STAGES * (ALONG_ROOM(K) * sizeof(T) + sizeof(double));

  p.warps = (int)(tasks < resident ? tasks : (resident < p.tiles ? p.tiles : resident / p.tiles * p.tiles));

  const unsigned grid = (unsigned)((p.warps + ALONG_WARPS - 1) / ALONG_WARPS);

  if (waits) return along_waits(compact_along<T, H, K, STAGES, BLOCKS, CUT>, p, grid, bytes, sms, waits);
  return bcr_launch_cluster(compact_along<T, H, K, STAGES, BLOCKS, CUT>, dim3(grid), dim3(32 * ALONG_WARPS), bytes, 1,
                            stream, p, o, (const T *)f, (T *)u);
}

/* Threads of a line, tiles: the whole line where `most` threads have room for it */
static void compact_shape(const BCRCudaCompact *p, int K, int most, CompactShape *s)
{
  s->columns = p->inner * p->outer;
  s->m = p->n - p->h - p->t;
  s->around = 0;
  s->halo = (p->reach + K - 1) / K * K;
  s->tiles = 1;
  if (s->m > (ptrdiff_t)K * most) {
    const int out = K * most - 2 * s->halo;

    s->around = p->periodic;
    if (s->around) s->m = p->n;
    s->tiles = (int)((s->m + out - 1) / out);
    s->out = (int)((s->m + s->tiles - 1) / s->tiles + K - 1) / K * K;
    s->tiles = (int)((s->m + s->out - 1) / s->out);
    s->nq = (s->out + 2 * s->halo) / K;
  } else {
    s->nq = (int)((s->m + K - 1) / K);
    s->out = (int)s->m;
  }
  s->klast = (int)((s->m - 1) % K);
  s->A = pow(p->root, K);
  s->pl = pow(p->root, s->klast + 1);
  s->P = s->Pl = 0;
  for (int k = 0; k < K; k++) s->P = p->root + p->root * p->root * s->P;
  for (int k = 0; k <= s->klast; k++) s->Pl = p->root + p->root * p->root * s->Pl;
  for (int k = 0; k < 6; k++) s->powers[k] = pow(s->A, k);
}

enum {
  OUT_LANES = 8,    /* threads of a contiguous line: its rows are beside each other */
  OUT_THREADS = 256 /* of a block. Neither was measured apart */
};

/* What goes to other ranks: LANES neighbours in a warp for a line, or a thread; blockIdx.y: to the
   rank before, or behind */
template <typename T, int LANES>
__global__ void __launch_bounds__(OUT_THREADS)
  compact_out(BCRCudaCompact p, int rows, const double *weights, const T *f, T *before, T *behind)
{
  const ptrdiff_t columns = p.inner * p.outer, line = ((ptrdiff_t)blockIdx.x * blockDim.x + threadIdx.x) / LANES,
                  e = line < columns ? line : columns - 1;
  const int lane = threadIdx.x % LANES, side = blockIdx.y;
  T *to = (side ? behind : before) + e;
  double sum = 0;

  if (!p.cut[side]) return;
  f += e % p.inner + p.inner * p.n * (e / p.inner);
#pragma unroll 8
  for (int m = lane; m < rows; m += LANES) sum += weights[m] * (double)f[p.inner * (side ? p.n - 1 - m : m)];
#pragma unroll
  for (int k = LANES / 2; k > 0; k >>= 1) sum += __shfl_xor_sync(~0u, sum, k);
  if (line >= columns) return;
  if (lane == 0) to[p.half * columns] = (T)(side ? sum : p.sign / (1 - p.root * p.root) * sum);
  for (int k = lane; k < p.half; k += LANES) to[k * columns] = f[p.inner * (side ? p.n - p.half + k : k)];
}

int BCRCudaCompactEnds(BCRStream stream, const BCRCudaCompact *p, int rows, const double *weights, const void *f,
                       void *const to[2])
{
  const ptrdiff_t columns = p->inner * p->outer;
  int e = (int)cudaErrorInvalidValue;

  if (!columns) return 0;
  if (p->inner == 1)
    BCR_CUDA_FIELD(p->single,
                   e = bcr_launch_cluster(compact_out<T, OUT_LANES>,
                                          dim3((unsigned)((OUT_LANES * columns + (OUT_THREADS - 1)) / OUT_THREADS), 2),
                                          dim3(OUT_THREADS), 0, 1, stream, *p, rows, weights, (const T *)f, (T *)to[0],
                                          (T *)to[1]));
  else
    BCR_CUDA_FIELD(p->single, e = bcr_launch_cluster(compact_out<T, 1>,
                                                     dim3((unsigned)((columns + (OUT_THREADS - 1)) / OUT_THREADS), 2),
                                                     dim3(OUT_THREADS), 0, 1, stream, *p, rows, weights, (const T *)f,
                                                     (T *)to[0], (T *)to[1]));
  return e ? e : bcr_done();
}

/* By the rows m of a line: rows of a lane (odd, so that lanes use different banks), lines of a warp on their way to
   shared memory, blocks to a multiprocessor. 17 rows were timed against other kernels on an H200 (commit 250c684; times
   with these: bench/results/h200_compact.csv), the shapes for other lengths were not measured apart */
template <typename T, int H>
static int compact_run(BCRStream stream, const BCRCudaCompact *p, const void *f, void *u, const BCRCudaCompactWindow *w,
                       int *waits)
{
  const ptrdiff_t m = p->periodic ? p->n : p->n - p->h - p->t;
  CompactShape s;

  if (p->cut[0] || p->cut[1]) {
    if (m <= 17 * 32 || p->inner > 1) return along_launch<T, H, 17, 3, 3, true>(stream, p, f, u, w, waits);
    return along_launch<T, H, 33, 3, 2, true>(stream, p, f, u, w, waits);
  }
  if (p->inner == 1) {
    if (m <= 5 * 32) return along_launch<T, H, 5, 4, 5, false>(stream, p, f, u, NULL, NULL);
    if (m <= 9 * 32) return along_launch<T, H, 9, 4, 4, false>(stream, p, f, u, NULL, NULL);
    if (m <= 17 * 32) return along_launch<T, H, 17, 3, 3, false>(stream, p, f, u, NULL, NULL);
    return along_launch<T, H, 33, 3, 2, false>(stream, p, f, u, NULL, NULL);
  }
  if (m > 9 * 32) return along_launch<T, H, 17, 3, 3, false>(stream, p, f, u, NULL, NULL);
  if (m > 5 * 32) return along_launch<T, H, 9, 4, 4, false>(stream, p, f, u, NULL, NULL);
  compact_shape(p, ACROSS_ROWS, ACROSS_MOST, &s);
  s.tx = ACROSS_LINES;
  while (s.tx > 1 && s.tx / 2 >= s.columns) s.tx /= 2;
  while (s.tx < ACROSS_SHORT && s.tx * 2 * s.nq <= ACROSS_THREADS && s.tx < s.columns) s.tx *= 2;
  return bcr_launch_cluster(compact_across<T, H, ACROSS_ROWS>,
                            dim3((unsigned)((s.columns + s.tx - 1) / s.tx * s.tiles)), dim3((unsigned)(s.tx * s.nq)),
                            (size_t)s.tx * (s.nq * sizeof(double2) + (COMPACT_ENDS + 1) * sizeof(double)), 1, stream,
                            *p, s, (const T *)f, (T *)u);
}

static int compact_solve(BCRStream stream, const BCRCudaCompact *p, const void *f, void *u,
                         const BCRCudaCompactWindow *w, int *waits)
{
  int e = (int)cudaErrorInvalidValue;

  if (!p->n || !p->inner || !p->outer) return 0;
  BCR_CUDA_FIELD(p->single, e = p->half == 1   ? compact_run<T, 1>(stream, p, f, u, w, waits)
                                : p->half == 2 ? compact_run<T, 2>(stream, p, f, u, w, waits)
                                               : compact_run<T, 3>(stream, p, f, u, w, waits));
  return e ? e : bcr_done();
}

int BCRCudaCompactSolve(BCRStream stream, const BCRCudaCompact *p, const void *f, void *u,
                        const BCRCudaCompactWindow *w)
{
  return compact_solve(stream, p, f, u, w, NULL);
}

int BCRCudaCompactWaits(const BCRCudaCompact *p, int *waits)
{
  *waits = 0;
  return p->cut[0] || p->cut[1] ? compact_solve(NULL, p, NULL, NULL, NULL, waits) : 0;
}
