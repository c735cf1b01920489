/*
  Long contiguous lines by two constant recurrences, in one kernel; triscan.cu has the notation,
  tripieces.cu the way in which blocks tell each other numbers.

  A line is cut into pieces of 32 K s.parts rows, and these into ranges of s.lines pieces next to
  each other, a block each; the first range has fewer. Where powers of alpha and beta fall below
  rounding within a piece, a range is one piece, and a block waits for its neighbours only (and
  those at the ends for each other). Else all blocks of a line are resident together and each waits
  for all: a block first finds what leaves each of its pieces and the range, then what comes in, and
  then does its pieces, the last one first, which it still has in shared memory; of the others f is
  read again, the latest of them from the cache.
*/
#include "triscan.cuh"
#include <cmath>
#include <cstring>

/* BCRCudaScan, line: a, b, p of a piece, a range, `per` ranges and of 2, 4, 8, 16 times that;
   backwards powers: of the rest of the ranges of the first lane; after the slot, of its piece, its
   range; forwards: its range */
enum {
  LINE_PIECE = 0,
  LINE_RANGE = 3,
  LINE_LEVEL = 6,
  LINE_LANE = 21,
  LINE_SLOT = 23, /* a, b to the end of the piece; of the range */
  LINE_REST = 25
};

/* numbers of the ranges of a line, as range `range` needs them: what comes into it (or d), and to
   its right. One warp; fe, u: the ends */
template <typename IO>
static __device__ inline double2 line_carries(const BCRCudaScan &p, const ScanLine &l, const double2 *post, double2 own,
                                              int range, const double *fe, IO *u, ptrdiff_t n)
{
  const int lane = threadIdx.x & 31, N = p.h + p.t, G = (int)l.ranges;
  const Numbers<0> t = {p.numbers, 1};
  const double *L = p.line, a1 = L[LINE_RANGE], b1 = L[LINE_RANGE + 1], p1 = L[LINE_RANGE + 2], ra = L[LINE_REST],
               rb = L[LINE_REST + 1];
  double d = 0, e = 0, x = 0;

  if (l.local) { /* lanes 0 to 6: range - 1, range, range + 1, 0, 1, G - 2, G - 1 */
    const bool edge = range <= 1 || range == G - 1;
    const int q = lane < 3 ? range - 1 + lane : (lane < 5 ? lane - 3 : G - 7 + lane);
    double2 v = make_double2(0, 0);

    if (lane < (edge ? 7 : 3) && q >= 0 && q < G) {
      if (q == range) v = own;
      else do
          v = scan_receive(post + q);
        while (!scan_there(v));
    }
    const double El = __shfl_sync(0xffffffffu, v.x, 0), Br = __shfl_sync(0xffffffffu, v.y, 2);

    if (!edge) return make_double2(El, fma(p1, own.x, Br));
    const double E0 = __shfl_sync(0xffffffffu, v.x, 3), B0 = __shfl_sync(0xffffffffu, v.y, 3),
                 B1 = __shfl_sync(0xffffffffu, v.y, 4), El2 = __shfl_sync(0xffffffffu, v.x, 5),
                 El1 = __shfl_sync(0xffffffffu, v.x, 6);

    if (lane < N) x = ends(t, fe, 1, N, lane, fma(rb, fma(p1, E0, B1), B0), fma(a1, El2, El1));
    d = __shfl_sync(0xffffffffu, x, p.h - 1);
    e = __shfl_sync(0xffffffffu, x, p.h);
    if (range == 0 && lane < p.h - 1) u[lane] = (IO)x;
    if (range == G - 1 && lane >= p.h && lane < N) u[n - N + lane] = (IO)x;
    if (range == 0) return make_double2(d, fma(p1, fma(ra, d, E0), Br));
    if (range == 1) return make_double2(fma(ra, d, E0), fma(p1, own.x, Br));
    return make_double2(El, e);
  }
  const int q1 = (lane + 1) * l.per - l.off, q0 = q1 - l.per > 0 ? q1 - l.per : 0; /* ranges of this lane */
  double E = 0, B = 0, pw = 1, c, r, B0 = 0;

#pragma unroll 4
  for (int q = q0; q < q1; q++) {
    double2 v = own;

    while (q != range && !scan_there(v = scan_receive(post + q))) {}
    if (q == 0) B0 = v.y;
    else {
      B = fma(pw, fma(p1, E, v.y), B);
      pw *= b1;
    }
    E = fma(a1, E, v.x);
  }
  const double Ea = E, Ba = B;

  for (int again = 0; again < 2; again++) { /* with nothing carried in; with d and e */
    E = Ea;
    if (again && lane == l.begin) E = fma(ra * L[LINE_LANE], d, E);
#pragma unroll
    for (int i = 0; i < 5; i++) {
      const double v = __shfl_up_sync(0xffffffffu, E, 1 << i);

      if (lane >= 1 << i) E = fma(L[LINE_LEVEL + 3 * i], v, E);
    }
    c = __shfl_up_sync(0xffffffffu, E, 1);
    if (lane <= l.begin) c = 0;
    B = fma(L[LINE_LEVEL + 2], c, Ba);
    if (lane == 31) B = fma(L[LINE_LEVEL + 1], e, B);
#pragma unroll
    for (int i = 0; i < 5; i++) {
      const double v = __shfl_down_sync(0xffffffffu, B, 1 << i);

      if (lane + (1 << i) < 32) B = fma(L[LINE_LEVEL + 3 * i + 1], v, B);
    }
    r = __shfl_down_sync(0xffffffffu, B, 1);
    if (lane == 31) r = e;
    if (again) break;
    const double s0 = __shfl_sync(0xffffffffu, fma(rb, fma(L[LINE_LANE + 1], r, Ba), B0), l.begin),
                 last = __shfl_sync(0xffffffffu, E, 31);

    if (lane < N) x = ends(t, fe, 1, N, lane, s0, last);
    d = __shfl_sync(0xffffffffu, x, p.h - 1);
    e = __shfl_sync(0xffffffffu, x, p.h);
    if (range == 0 && lane < p.h - 1) u[lane] = (IO)x;
    if (range == G - 1 && lane >= p.h && lane < N) u[n - N + lane] = (IO)x;
  }
  /* within the lane of this range */
  double C = 0, R = 0;

  if (range >= q0 && range < q1) {
    pw = 1;
#pragma unroll 4
    for (int q = q0; q < q1; q++) {
      const double2 v = q == range ? own : scan_receive(post + q);

      if (q == range) C = q ? c : d;
      if (q > range) {
        R = fma(pw, fma(p1, c, v.y), R);
        pw *= b1;
      }
      c = q ? fma(a1, c, v.x) : fma(ra, d, v.x);
    }
    R = fma(pw, r, R);
  }
  const int from = (range + l.off) / l.per;

  return make_double2(__shfl_sync(0xffffffffu, C, from), __shfl_sync(0xffffffffu, R, from));
}

template <typename IO, typename W, int K, int THREADS, int BLOCKS>
__global__ void __launch_bounds__(THREADS, BLOCKS)
  scan_line(const __grid_constant__ BCRCudaScan p, const __grid_constant__ ScanShape s,
            const __grid_constant__ ScanLine l, const IO *f, IO *u, double2 *ws)
{
  extern __shared__ double2 shared[];

  const int lane = threadIdx.x & 31, w = threadIdx.x >> 5, nq = s.parts, N = p.h + p.t,
            range = (int)(blockIdx.x % l.ranges);
  const ptrdiff_t line = blockIdx.x / l.ranges, L = (ptrdiff_t)32 * K * nq;
  const int np = range ? s.lines : l.first; /* pieces of this range */
  const ptrdiff_t start = (range ? l.first + (ptrdiff_t)(range - 1) * s.lines : 0) * L - s.pad + p.h - 1;
  /* of the warps; of the pieces; what comes into the range */
  double2 *ex = shared, *sub = ex + nq, *all = sub + s.lines;
  double *fe = (double *)(all + 1);
  IO *in = (IO *)(fe + (N + 1) / 2 * 2) + w * 32 * (K + 1), *mine = in + lane * (K + 1), *place = in + lane + lane / K;
  const Numbers<0> t = {p.numbers, 1};
  const W al = (W)t[0], be = (W)t[1], ga = (W)t[2];
  const Part sw = {t[TAB_LEVEL + 15], t[TAB_LEVEL + 16], t[TAB_LEVEL + 17]};
  double c = 0, r = 0;
  double2 own = {0, 0};
  double pw = 1;

  f += line * s.n;
  u += line * s.n;
  for (int e = threadIdx.x; e < N; e += blockDim.x) fe[e] = (double)f[e < p.h ? e : s.n - N + e];

  for (int pass = 0, k = 0; pass < 2;) { /* pieces upwards, then downwards */
    const bool held = pass && k == np - 1;
    const int pad = range == 0 && k == 0 ? (int)s.pad : -1, slot = pad < 0 ? -1 : pad / (32 * K),
              inwarp = pad < 0 ? 0 : pad % (32 * K), lp = w == slot ? inwarp / K : -1, ip = inwarp % K;
    const ptrdiff_t first = start + k * L + (ptrdiff_t)32 * K * w;
    const WarpRows<W, K> rows{al, be, ga, lane, lp, ip};

    if (!held) { /* what leaves a piece with nothing carried in */
      double E, B;

      rows.fetch(place, f, first, p.h);
      __pipeline_commit();
      __pipeline_wait_prior(0);
      __syncwarp();
      rows.leave(t, mine, E, B, c, r);
      if (lane == 0) ex[w] = make_double2(E, B);
    }
    __syncthreads();
    if (pass == 0) {
      if (threadIdx.x == 0) {
        double C, R, end;

        scan_chain(ex, nq, slot, slot, sw, 0, t[TAB_WARP], 0, C, R, end);
        if (slot >= 0) R = fma(t[TAB_WARP + 1], R, ex[slot].y);
        if (s.lines > 1) sub[k] = make_double2(end, R);
        own.y = k ? fma(pw, fma(p.line[LINE_PIECE + 2], own.x, R), own.y) : R;
        pw = k ? pw * p.line[LINE_PIECE + 1] : (slot < 0 ? p.line[LINE_PIECE + 1] : p.line[LINE_SLOT + 1]);
        own.x = k ? fma(p.line[LINE_PIECE], own.x, end) : end;
      }
      if (k < np - 1) {
        __syncthreads();
        k++;
        continue;
      }
      if (w == 0) {
        const unsigned long long ended = *(volatile unsigned long long *)ws;
        const ptrdiff_t total = (ptrdiff_t)s.columns * l.ranges;
        const int turn = (int)(ended / (unsigned long long)total) & 1;
        double2 *post = ws + 1 + turn * total + line * l.ranges, *other = ws + 1 + (1 - turn) * total + line * l.ranges;

        if (lane == 0) {
          scan_send(post + range, own.x, own.y);
          other[range] = make_double2(0, 0);
        }
        own.x = __shfl_sync(0xffffffffu, own.x, 0);
        own.y = __shfl_sync(0xffffffffu, own.y, 0);
        own = line_carries(p, l, post, own, range, fe, u, s.n);
        if (lane == 0) {
          if (s.lines > 1) { /* into each piece of the range, from the left and then from the right */
            double x = own.x, z = own.y;

            for (int i = 0; i < np; i++) {
              const double2 v = sub[i];

              sub[i] = make_double2(x, fma(p.line[LINE_PIECE + 2], x, v.y));
              x = range == 0 && i == 0 ? fma(p.line[LINE_SLOT], x, v.x) : fma(p.line[LINE_PIECE], x, v.x);
            }
            for (int i = np - 1; i >= 0; i--) {
              const double v = sub[i].y;

              sub[i].y = z;
              z = fma(p.line[LINE_PIECE + 1], z, v);
            }
          } else sub[0] = own;
          atomicAdd((unsigned long long *)ws, 1ULL);
        }
      }
      pass = 1;
      __syncthreads();
    }
    const double C0 = sub[k].x, R0 = sub[k].y;
    double C, R, end, va, vr, vb;

    rows.weights(t, va, vr, vb);
    scan_chain(ex, nq, slot, w, sw, C0, t[TAB_WARP], R0, C, R, end);
    rows.solve(mine, (W)fma(va, C, c), (W)fma(vr, C, fma(vb, R, r)), (W)C0);
    rows.store(place, u, first, p.h - 1);
    if (k-- == 0) break;
    __syncthreads(); /* the numbers of the warps, and the tile, are free */
  }
}

enum {
  LINE_ROWS = 16, /* of a thread, unless they are given */
  /* Ends that reach at most so many rows: 4 warps to a piece, else 8. On an H200 long lines were fastest with cuts by
     reach (cuda_lines -suites tune, commit 073f1f3) */
  LINE_NEAR = 2048,
  LINE_PIECES = 2000, /* of a range, at most: their numbers are in shared memory */
  LINE_ROOM = 160     /* pieces of a range that the resident blocks have room for. Not measured apart */
};

/* The cuts: rows of a thread, warps of a block, blocks of a multiprocessor. The first two are what bcr_scan_line_plan()
   chooses, the third is for tests and benches */
#define LINE_CUTS(X) \
  X(16, 8, 4) \
  X(16, 4, 8) \
  X(32, 4, 6)

template <typename IO, typename W, int K, int PARTS, int BLOCKS>
static int line_resident(size_t shared)
{
  int device = 0, sms = 0, blocks = 0;

  if (cudaFuncSetAttribute((const void *)scan_line<IO, W, K, 32 * PARTS, BLOCKS>,
                           cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared) != cudaSuccess)
    return 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
    return 0;
  if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scan_line<IO, W, K, 32 * PARTS, BLOCKS>, 32 * PARTS,
                                                    shared) != cudaSuccess)
    return 0;
  return blocks * sms;
}

static size_t line_shared(const BCRCudaScan *p, int K, int parts, int pieces, size_t size)
{
  return (size_t)(parts + pieces + 1) * sizeof(double2) + (size_t)(p->h + p->t + 1) / 2 * 2 * sizeof(double) +
         (size_t)parts * 32 * (K + 1) * size;
}

int bcr_scan_line_plan(const BCRCudaScan *p, int single, int io, ScanPlan *q)
{
  const ptrdiff_t m = p->n - p->h - p->t + 1;
  ScanShape *s = &q->s;
  ScanLine *l = &q->line;
  const size_t size = single && !io ? sizeof(float) : sizeof(double);
  ptrdiff_t pieces, per;
  int e = 0;

  l->ranges = 0;
  if (p->inner != 1 || p->perline || p->resident < 1) return 0;
  q->K = p->tune[BCR_CUDA_SCAN_ROWS] ? p->tune[BCR_CUDA_SCAN_ROWS] : (int)LINE_ROWS;
  s->parts = p->tune[BCR_CUDA_SCAN_PARTS] ? p->tune[BCR_CUDA_SCAN_PARTS] : (p->reach <= LINE_NEAR ? 4 : 8);
#define X(K_, PARTS_, BLOCKS_) e |= q->K == K_ && s->parts == PARTS_;
  LINE_CUTS(X)
#undef X
  q->L = (ptrdiff_t)32 * q->K * s->parts;
  pieces = (m + q->L - 1) / q->L;
  if (!e || pieces * s->columns > 1 << 30) return 0;
  l->local = p->reach <= q->L && pieces > 4;
  per = l->local ? 1 : (pieces + p->resident - 1) / p->resident; /* pieces of a range */
  if (per > LINE_PIECES) return 0;
  l->ranges = (pieces + per - 1) / per;
  l->first = (int)(pieces - (l->ranges - 1) * per);
  l->per = (int)((l->ranges + 31) / 32);
  l->off = (int)(32 * l->per - l->ranges);
  l->begin = l->off / l->per;
  s->lines = (int)per;
  s->pad = q->L * pieces - m;
  q->threads = 32 * s->parts;
  q->shared = line_shared(p, q->K, s->parts, (int)per, size);
  return 1;
}

/* blocks that are resident together, with room for the pieces of a range */
void bcr_scan_line_resident(BCRCudaScan *p, int single, int io)
{
  ScanPlan q;

  memset(&q, 0, sizeof(q));
  q.s.columns = p->inner * p->outer;
  p->resident = 1 << 30; /* for the shape of a block */
  if (!bcr_scan_line_plan(p, single, io, &q)) return;
#define X(K_, PARTS_, BLOCKS_) \
  if (q.K == K_ && q.s.parts == PARTS_) \
    BCR_TRI_TYPES(single, io, \
                  p->resident = \
                    line_resident<IO, W, K_, PARTS_, BLOCKS_>(line_shared(p, K_, PARTS_, LINE_ROOM, sizeof(IO))));
  LINE_CUTS(X)
#undef X
}

size_t bcr_scan_line_space(const ScanPlan *q)
{
  return (1 + 2 * (size_t)q->s.columns * q->line.ranges) * sizeof(double2);
}

void bcr_scan_line_tables(BCRCudaScan *p, const ScanPlan *q, double alpha, double beta)
{
  const ptrdiff_t range = q->s.lines * q->L, rest = q->L - 1 - q->s.pad,
                  lane = q->line.per - (q->line.off % q->line.per) - 1;
  const ptrdiff_t rows[7] = {q->L,
                             range,
                             range * q->line.per,
                             2 * range * q->line.per,
                             4 * range * q->line.per,
                             8 * range * q->line.per,
                             16 * range * q->line.per};

  for (int i = 0; i < 7; i++) bcr_scan_segment(alpha, beta, rows[i], p->line + 3 * i, 1);
  for (int e = 0; e < 2; e++) {
    const long double x = e ? beta : alpha;

    p->line[LINE_LANE + e] = (double)powl(x, lane * range);
    p->line[LINE_SLOT + e] = (double)powl(x, rest);
    p->line[LINE_REST + e] = (double)powl(x, rest + (q->line.first - 1) * q->L);
  }
}

int bcr_scan_line(BCRStream stream, const BCRCudaScan *p, const ScanPlan *q, int single, int io, const void *f, void *u,
                  void *ws)
{
  int e = (int)cudaErrorInvalidConfiguration;

#define X(K_, PARTS_, BLOCKS_) \
  if (q->K == K_ && q->s.parts == PARTS_) \
    BCR_TRI_TYPES(single, io, \
                  e = bcr_launch_cluster(scan_line<IO, W, K_, 32 * PARTS_, BLOCKS_>, \
                                         dim3((unsigned)(q->s.columns * q->line.ranges)), dim3((unsigned)q->threads), \
                                         q->shared, 1, stream, *p, q->s, q->line, (const IO *)f, (IO *)u, \
                                         (double2 *)ws));
  LINE_CUTS(X)
#undef X
  return e;
}
