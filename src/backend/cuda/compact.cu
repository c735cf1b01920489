/*
  Compact differences in one pass: stencil, forward and backward recurrence (src/tridiagonal/scan.c has these and the ends).

  A thread has K rows of a line in registers. The roots are small (at most 1/2 in size), so that what comes from more than BCR_CUDA_COMPACT_REACH
  rows away is below rounding: a thread takes its carries from the few threads beside it, and a long line is cut into tiles that begin and end so many rows beyond
  what they write. Only tiles with an end of the line solve for the unknowns there. A periodic line that is one tile closes in these, one that is cut goes around.

  Positions are rows from row h on (around: row 0), a tile's first is lo. In it y without what comes from before the tile's first row, or from row h-1; b: the same backwards.
*/
#include "tri.cuh"
#include "compact.h"
#include <cmath>

#define COMPACT_ENDS (2 * BCR_CUDA_COMPACT_ENDS)

struct CompactShape {
  ptrdiff_t columns, m;   /* lines; positions of a line */
  int       nq, tx;       /* threads of a line, lines of a block (across) or of a warp (along) */
  int       tiles, out;   /* of a line; positions that a tile writes */
  int       around, halo; /* positions beyond these */
  int       klast;        /* rows of the last thread of a line, less one */
  double    A, P, pl, Pl; /* root^K, sum of root^(2 k + 1) over k < K; the same of the last thread's rows */
  double    powers[6];    /* of A */
};

/* What a tile has in shared memory of one line: of each thread (end of y, b), right-hand sides of the ends, y in the last position; all `stride` apart */
struct CompactLine {
  double2 *ex;
  double  *fe, *last;
  int      stride;
};

/* A tile's place */
struct CompactTile {
  ptrdiff_t lo, hi, write0, write1;    /* positions: of the tile, those it writes */
  int       qlast, klast, left, right; /* thread and row of it that have the last position; whether there are ends of the line */
};

template <int K> static __device__ inline CompactTile compact_tile(const CompactShape &s, int tile)
{
  CompactTile t;

  t.write0 = (ptrdiff_t)tile * s.out;
  t.write1 = t.write0 + s.out < s.m ? t.write0 + s.out : s.m;
  t.lo     = t.write0 - s.halo;
  t.hi     = t.write0 + s.out + s.halo;
  if (!s.around) {
    if (t.lo < 0 || s.tiles == 1) t.lo = 0;
    if (t.hi > s.m || s.tiles == 1) t.hi = s.m;
  }
  t.left  = !s.around && t.lo == 0;
  t.right = !s.around && t.hi == s.m;
  t.qlast = (int)((t.hi - t.lo - 1) / K);
  t.klast = (int)((t.hi - t.lo - 1) % K);
  return t;
}

/* What is carried forwards into the first row of thread q, but for what comes from the end of the line */
template <int K> static __device__ inline double compact_before(const CompactShape &s, const CompactLine &l, int q)
{
  double c = 0;

#pragma unroll
  for (int i = BCR_CUDA_COMPACT_REACH / K; i >= 1; i--)
    if (q - i >= 0) c = l.ex[(q - i) * l.stride].x + s.A * c;
  return c;
}

static __device__ inline double compact_unknown(const BCRCudaCompact &p, const CompactLine &l, const CompactTile &t, int k, double s0, double yl)
{
  const int     N = p.h + p.t;
  const double *G = p.G + k * (N + 2);
  double        x = 0;

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

/* In a thread near an end of the line: d and e, which are carried in from there. The first and the last thread write the rows of the ends, if they are the tile's
   (write), but that row h-1 lacks what comes backwards */
template <typename T, int K> static __device__ inline void compact_ends(const BCRCudaCompact &p, const CompactShape &s, const CompactLine &l, const CompactTile &t, int q, T *u, ptrdiff_t step, bool write, double *d, double *e)
{
  const double partial = t.right ? s.Pl : s.P;
  double       s0 = 0, yl = 0;

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
  if (t.left && q == 0 && t.write0 == 0)
    for (int k = 0; k < p.h; k++) u[step * k] = (T)(k == p.h - 1 ? *d : compact_unknown(p, l, t, k, s0, yl));
  if (t.right && q == t.qlast && t.write1 == s.m)
    for (int k = 0; k < p.t; k++) u[step * (p.n - p.t + k)] = (T)(k ? compact_unknown(p, l, t, p.h + k, s0, yl) : *e);
}

/* Carries of thread q: c forwards into its first row; r backwards into its last row, which for the last thread of a line is row n-t-1 */
template <typename T, int K> static __device__ inline void compact_carry(const BCRCudaCompact &p, const CompactShape &s, const CompactLine &l, const CompactTile &t, int q, T *u, ptrdiff_t step, bool write, double *c, double *r)
{
  constexpr int M = BCR_CUDA_COMPACT_REACH / K;
  double        d = 0, e = 0, C = compact_before<K>(s, l, q), sum = 0, w = 1;

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
template <typename F> static __device__ inline double compact_end(const BCRCudaCompact &p, const F &f, int e)
{
  const BCRCudaCompactRow &r = e < p.h ? p.first[e] : p.last[e - p.h];
  double                   v[BCR_CUDA_COMPACT_WIDTH], x = 0;

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

/* x: y with zero carry of the positions of a thread, from those in w (H before its first one); returns y in the last of them, yl; b */
template <typename T, int H, int SIGN, int K, typename W> static __device__ __forceinline__ void compact_rows(const BCRCudaCompact &p, const W &w, int klim, T x[K], double2 *ex, double *yl)
{
  const T root = (T)p.root, c0 = (T)(p.gamma * p.c[0]), c1 = (T)(p.gamma * p.c[1]), c2 = (T)(p.gamma * p.c[2]), c3 = (T)(p.gamma * p.c[3]);
  T       y = 0, b = 0, last = 0;

#pragma unroll
  for (int k = 0; k < K; k++) {
    T v = SIGN > 0 ? c0 * w(k + H) : (T)0;

    v += c1 * (SIGN > 0 ? w(k + H + 1) + w(k + H - 1) : w(k + H + 1) - w(k + H - 1));
    if (H > 1) v += c2 * (SIGN > 0 ? w(k + H + 2) + w(k + H - 2) : w(k + H + 2) - w(k + H - 2));
    if (H > 2) v += c3 * (SIGN > 0 ? w(k + H + 3) + w(k + H - 3) : w(k + H + 3) - w(k + H - 3));
    y    = k <= klim ? v + root * y : (T)0;
    x[k] = y;
    if (k == klim) last = y;
  }
#pragma unroll
  for (int k = K - 1; k >= 0; k--) b = x[k] + root * b;
  *ex = make_double2((double)y, (double)b);
  *yl = (double)last;
}

template <typename T, int H, int SIGN, int K> __global__ void __launch_bounds__(512, 1) compact_across(BCRCudaCompact p, CompactShape s, const T *f, T *u)
{
  extern __shared__ double2 shared[];

  const int       tx = threadIdx.x % s.tx, q = threadIdx.x / s.tx, N = s.around ? 0 : p.h + p.t;
  const ptrdiff_t at     = (ptrdiff_t)(blockIdx.x / s.tiles) * s.tx + tx;
  const bool      active = at < s.columns;
  const ptrdiff_t column = active ? at : s.columns - 1, i = column % p.inner, o = column / p.inner, h = s.around ? 0 : p.h;
  CompactLine     l;
  T               x[K];

  l.ex                = shared + tx;
  l.fe                = (double *)(shared + s.tx * s.nq) + tx;
  l.last              = l.fe + s.tx * COMPACT_ENDS;
  l.stride            = s.tx;
  const CompactTile t = compact_tile<K>(s, (int)(blockIdx.x % s.tiles));

  f += i + p.inner * p.n * o;
  u += i + p.inner * p.n * o;
  const ptrdiff_t pos = t.lo + (ptrdiff_t)K * q, row = pos + h; /* of this thread's first */
  const int       klim = q < t.qlast ? K - 1 : (q == t.qlast ? t.klast : -1);
  double2         mine;
  double          yl;

  if (klim == K - 1 && row >= H && row + K + H <= p.n) {
    const T *from = f + p.inner * (row - H);
    T        w[K + 2 * H];

#pragma unroll
    for (int k = 0; k < K + 2 * H; k++) w[k] = from[p.inner * k];
    compact_rows<T, H, SIGN, K>(
      p, [&](int k) { return w[k]; }, K - 1, x, &mine, &yl);
  } else {
    T w[K + 2 * H];

#pragma unroll
    for (int k = 0; k < K + 2 * H; k++) {
      ptrdiff_t j = row - H + k;

      if (s.around) j = j < 0 ? j + p.n : (j >= p.n ? j - p.n : j);
      w[k] = k <= klim + 2 * H && klim >= 0 ? f[p.inner * j] : (T)0;
    }
    compact_rows<T, H, SIGN, K>(
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
  T       y = (T)c, b = (T)r;

#pragma unroll
  for (int k = 0; k < K; k++) {
    y *= root;
    x[k] += y;
  }
  T *to = u + p.inner * row;

  if (klim == K - 1 && pos >= t.write0 && pos + K <= t.write1) {
#pragma unroll
    for (int k = K - 1; k >= 0; k--) {
      b               = x[k] + root * b;
      to[p.inner * k] = b;
    }
  } else {
#pragma unroll
    for (int k = K - 1; k >= 0; k--) {
      if (k <= klim) b = x[k] + root * b;
      if (k <= klim && pos + k >= t.write0 && pos + k < t.write1) to[p.inner * k] = b;
    }
  }
  if (t.left && q == 0 && t.write0 == 0) u[p.inner * (p.h - 1)] += root * b;
}

/* Lines that are contiguous: s.tx lines in a warp, s.nq threads each; a line's rows go by way of shared memory */
template <typename T, int H, int SIGN, int K> __global__ void __launch_bounds__(128, 5) compact_along(BCRCudaCompact p, CompactShape s, const T *f, T *u)
{
  extern __shared__ double2 shared[];

  const int       lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane / s.nq, q = lane % s.nq, N = s.around ? 0 : p.h + p.t;
  const ptrdiff_t group  = (ptrdiff_t)blockIdx.x * (blockDim.x >> 5) + warp;
  const ptrdiff_t at     = group / s.tiles * s.tx + g;
  const bool      active = at < s.columns;
  const ptrdiff_t column = active ? at : s.columns - 1, h = s.around ? 0 : p.h;
  const int       room = s.nq * K + 2 * H, padded = room + room / K + 1; /* of a line */
  CompactLine     l;
  T               x[K], *in;

  l.ex                = shared + warp * 32 + g * s.nq;
  l.fe                = (double *)(shared + blockDim.x) + (warp * s.tx + g) * (COMPACT_ENDS + 1);
  l.last              = l.fe + COMPACT_ENDS;
  l.stride            = 1;
  in                  = (T *)((double *)(shared + blockDim.x) + (blockDim.x >> 5) * s.tx * (COMPACT_ENDS + 1)) + (warp * s.tx + g) * padded;
  const CompactTile t = compact_tile<K>(s, (int)(group % s.tiles));

  f += column * p.n;
  u += column * p.n;
  const ptrdiff_t row0  = t.lo + h - H; /* of the first number in shared memory */
  const int       count = (int)(t.hi - t.lo) + 2 * H;

  if (row0 >= 0 && row0 + count <= p.n) {
#pragma unroll 4
    for (int e = q; e < count; e += s.nq) __pipeline_memcpy_async(in + e + e / K, f + row0 + e, sizeof(T));
  } else {
    for (int e = q; e < count; e += s.nq) {
      ptrdiff_t j = row0 + e;

      if (s.around) j = j < 0 ? j + p.n : (j >= p.n ? j - p.n : j);
      __pipeline_memcpy_async(in + e + e / K, f + j, sizeof(T));
    }
  }
  __pipeline_commit();
  const int klim = q < t.qlast ? K - 1 : (q == t.qlast ? t.klast : -1);
  double2   mine;
  double    yl;

  __pipeline_wait_prior(0);
  __syncwarp();
  for (int e = q; e < N; e += s.nq) /* all their points are in the tile */
    if (e < p.h ? t.left : t.right)
      l.fe[e] = compact_end(
        p, [&](ptrdiff_t j) { return in[j - row0 + (j - row0) / K]; }, e);
  {
    const T *w = in + q * (K + 1);

    compact_rows<T, H, SIGN, K>(
      p, [&](int k) { return w[k + k / K]; }, klim, x, &mine, &yl);
  }
  l.ex[q] = mine;
  if (q == t.qlast) *l.last = yl;
  __syncwarp();

  double c, r;

  compact_carry<T, K>(p, s, l, t, q, u, 1, active, &c, &r);
  const T root = (T)p.root;
  T       y = (T)c, b = (T)r;

#pragma unroll
  for (int k = 0; k < K; k++) {
    y *= root;
    x[k] += y;
  }
#pragma unroll
  for (int k = K - 1; k >= 0; k--) {
    if (k <= klim) b = x[k] + root * b;
    x[k] = b;
  }
  __syncwarp();
#pragma unroll
  for (int k = 0; k < K; k++) in[q * (K + 1) + k] = x[k];
  __syncwarp();
  if (!active) return;
  {
    const int from = (int)(t.write0 - t.lo), to = (int)(t.write1 - t.lo);

#pragma unroll 4
    for (int e = from + q; e < to; e += s.nq) u[t.lo + h + e] = in[e + e / K];
  }
  if (t.left && q == 0 && t.write0 == 0) u[p.h - 1] += root * b;
}

/* Threads of a line, tiles: the whole line where `most` threads have room for it */
static void compact_shape(const BCRCudaCompact *p, int K, int most, CompactShape *s)
{
  s->columns = p->inner * p->outer;
  s->m       = p->n - p->h - p->t;
  s->around  = 0;
  s->halo    = (p->reach + K - 1) / K * K;
  s->tiles   = 1;
  if (s->m > (ptrdiff_t)K * most) {
    const int out = K * most - 2 * s->halo;

    s->around = p->periodic;
    if (s->around) s->m = p->n;
    s->tiles = (int)((s->m + out - 1) / out);
    s->out   = (int)((s->m + s->tiles - 1) / s->tiles + K - 1) / K * K;
    s->tiles = (int)((s->m + s->out - 1) / s->out);
    s->nq    = (s->out + 2 * s->halo) / K;
  } else {
    s->nq  = (int)((s->m + K - 1) / K);
    s->out = (int)s->m;
  }
  s->klast = (int)((s->m - 1) % K);
  s->A     = pow(p->root, K);
  s->pl    = pow(p->root, s->klast + 1);
  s->P = s->Pl = 0;
  for (int k = 0; k < K; k++) s->P = p->root + p->root * p->root * s->P;
  for (int k = 0; k <= s->klast; k++) s->Pl = p->root + p->root * p->root * s->Pl;
  for (int k = 0; k < 6; k++) s->powers[k] = pow(s->A, k);
}

template <typename T, int H, int SIGN> static int compact_run(BCRStream stream, const BCRCudaCompact *p, const void *f, void *u)
{
  CompactShape s;

  if (p->inner == 1) {
    const int warps = 4;
    size_t    room, bytes;

    compact_shape(p, 16, 32, &s);
    for (s.tx = 32; 32 / s.tx < s.nq;) s.tx /= 2;
    s.nq  = 32 / s.tx;
    room  = (size_t)s.nq * 16 + 2 * H;
    bytes = warps * (32 * sizeof(double2) + s.tx * ((COMPACT_ENDS + 1) * sizeof(double) + (room + room / 16 + 1) * sizeof(T)));
    return bcr_launch_cluster(compact_along<T, H, SIGN, 16>, dim3((unsigned)(((s.columns + s.tx - 1) / s.tx * s.tiles + warps - 1) / warps)), dim3(32 * warps), bytes, 1, stream, *p, s, (const T *)f, (T *)u);
  }
  compact_shape(p, 32, 16, &s);
  s.tx = 32;
  while (s.tx > 1 && s.tx / 2 >= s.columns) s.tx /= 2;
  while (s.tx < 128 && s.tx * 2 * s.nq <= 256 && s.tx < s.columns) s.tx *= 2; /* short lines */
  return bcr_launch_cluster(compact_across<T, H, SIGN, 32>, dim3((unsigned)((s.columns + s.tx - 1) / s.tx * s.tiles)), dim3((unsigned)(s.tx * s.nq)), (size_t)s.tx * (s.nq * sizeof(double2) + (COMPACT_ENDS + 1) * sizeof(double)), 1, stream, *p, s,
                            (const T *)f, (T *)u);
}

#define COMPACT_RUN(H) (p->sign > 0 ? compact_run<T, H, 1>(stream, p, f, u) : compact_run<T, H, -1>(stream, p, f, u))

int BCRCudaCompactSolve(BCRStream stream, const BCRCudaCompact *p, const void *f, void *u)
{
  int e = 0;

  if (!p->n || !p->inner || !p->outer) return 0;
  BCR_CUDA_TYPE(p->single, e = p->half == 1 ? COMPACT_RUN(1) : (p->half == 2 ? COMPACT_RUN(2) : COMPACT_RUN(3)));
  return e ? e : bcr_done();
}
