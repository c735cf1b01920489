/* What the kernels of lines by two constant recurrences share (triscan.cu, tripieces.cu) */
#pragma once

#include "tri.cuh"
#include "tri.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
namespace cg /* no clusters there: scan_plan() makes none */
{
struct cluster_group {
  __device__ void barrier_arrive() const {}
  __device__ void barrier_wait() const {}
  __device__ void sync() const {}
  __device__ unsigned block_rank() const { return 0; }
  template <typename T>
  __device__ T *map_shared_rank(T *p, int) const
  {
    return p;
  }
};
static __device__ inline cluster_group this_cluster()
{
  return cluster_group();
}
} // namespace cg
#else
namespace cg = cooperative_groups;
#endif

/* Where the lines are */
struct ScanShape {
  ptrdiff_t inner, n, columns; /* columns: lines of reals */
  int rep, parts;              /* parts of a chunk in a block: warps of a line, or threads of a column */
  int lines, cluster;          /* lines of a block; blocks of a line */
  int tx;                      /* across: columns of a block */
  /* the block so many after this one finds in the cache of the device what it loads; 0: no */
  int ahead;
  ptrdiff_t chunks, pad;
};

/* A line's numbers, BCR_CUDA_SCAN_TAB of them: alpha, beta, gamma; a, b, p (struct Segment) of 2^i
   threads, i = 0..5, and of a chunk; of the rows after the slot alpha^m, beta^m: in its thread, in
   its warp, in its chunk */
enum {
  TAB_LEVEL = 3,
  TAB_CHUNK = 21,
  TAB_THREAD = 24,
  TAB_WARP = 26,
  TAB_REST = 28
};

struct Part {
  double a, b, p;
};

/* The numbers of a line: where all lines have the same they are parameters of the kernel, else they
   are brought to shared memory */
template <int PER>
struct Numbers {
  const double *v;
  int stride;

  __device__ double operator[](int e) const { return PER ? v[e * stride] : v[e]; }
};

/* What one carried into a thread of K rows from the left makes of its row k, sum over j >= k of
   alpha^(j+1) beta^(j-k), at k; one from the right, beta^(K-k), at K + k; where all lines have the
   same numbers. Row k is then what it is with nothing carried in and these times the carries, with
   no recurrence left */
template <typename W>
static __device__ inline const W *scan_thread(const BCRCudaScan &p)
{
  return (const W *)p.thread;
}

/* scan_weights() (WarpRows::weights()) from p.tab, where all lines have the same numbers, of part i of n in a chunk:
   which 0 in the chunk that has the slot, 1 in others; 2: of chunk i of the line */
static __device__ inline void scan_place(const BCRCudaScan &p, int which, int i, int n, double &va, double &vr,
                                         double &vb)
{
  const double *t = p.tab + BCR_CUDA_SCAN_NUMBERS(p.h + p.t) + 3 * n * which + i * (which == 2 ? 3 : 1);
  const int e = which == 2 ? 1 : n;

  va = t[0];
  vr = t[e];
  vb = t[2 * e];
}

/* unknown k of the ends: row k of G times what they have, fe the right-hand sides there */
template <int PER, typename F>
static __device__ inline double ends(const Numbers<PER> &t, const F *fe, int stride, int N, int k, double s,
                                     double last)
{
  const int g = BCR_CUDA_SCAN_TAB + k * (N + 2);
  double x = t[g + N] * s + t[g + N + 1] * last;

#pragma unroll 1
  for (int m = 0; m < N; m++) x += t[g + m] * (double)fe[m * stride];
  return x;
}

/* the two that the rows between the ends need: d and e */
template <int PER, typename F>
static __device__ inline void ends_inner(const Numbers<PER> &t, const F *fe, int stride, int N, int h, double s,
                                         double last, double &d, double &e)
{
  const int gd = BCR_CUDA_SCAN_TAB + (h - 1) * (N + 2), ge = gd + N + 2;

  d = t[gd + N] * s + t[gd + N + 1] * last;
  e = t[ge + N] * s + t[ge + N + 1] * last;
#pragma unroll 1
  for (int m = 0; m < N; m++) {
    const double f = (double)fe[m * stride];

    d += t[gd + m] * f;
    e += t[ge + m] * f;
  }
}

/* what so much more on the right-hand sides of the first and of the last row adds to unknown k of the ends */
template <int PER>
static __device__ inline double ends_add(const Numbers<PER> &t, int N, int k, const double2 &add)
{
  const int g = BCR_CUDA_SCAN_TAB + k * (N + 2);

  return fma(t[g], add.x, t[g + N - 1] * add.y);
}

/* Of one put into the slot, which leaves first at the end of its part: what comes into part q of
   nq, va, and what is to its right, vr; of one to the right of the last part the latter, vb */
static __device__ inline void scan_weights(int q, int nq, int slot, double first, const Part &s, double &va, double &vr,
                                           double &vb)
{
  const int after = nq - 1 - q, before = q - slot - 1;
  Part power = s, rest = {1, 1, 0}; /* the parts after q */

  va = q > slot ? first : 0;
#pragma unroll
  for (int i = 0; i < 6; i++) {
    if (1 << i >= nq) break;
    if (after >> i & 1) {
      rest.p = fma(rest.a * rest.b, power.p, rest.p);
      rest.a *= power.a;
      rest.b *= power.b;
    }
    if (before >> i & 1) va *= power.a;
    power.p = fma(power.a * power.b, power.p, power.p);
    power.a *= power.a;
    power.b *= power.b;
  }
  vr = rest.p * (q == slot ? first : va * s.a);
  vb = rest.b;
}

/* Carries into part w of the nq parts in ex (E, B), from `in` on the left (slot >= 0: put into the
   slot in part `slot`, which leaves dE of it at its end) and `right` on the right; end: what leaves
   the last part. w = -1: rw is what leaves the first part backwards */
static __device__ inline void scan_chain(const double2 *ex, int nq, int slot, int w, const Part &s, double in,
                                         double dE, double right, double &cw, double &rw, double &end)
{
  double c = in, r = 0, pw = 1;

  cw = 0;
#pragma unroll 2
  for (int q = slot > 0 ? slot : 0; q < nq; q++) {
    const double2 v = ex[q];

    if (q == w) cw = c;
    if (q > w) {
      r += pw * (v.y + (q == slot ? 0 : s.p * c));
      pw *= s.b;
    }
    c = v.x + (q == slot ? dE : s.a) * c;
  }
  end = c;
  rw = r + pw * right;
}

/* v and a times that of the lane BY before, after this one, where there is one */
template <int BY>
static __device__ inline double scan_before(double a, double v)
{
  asm volatile("{ .reg .pred p; .reg .b32 l, h; .reg .f64 x;\n"
               "mov.b64 {l, h}, %0; shfl.sync.up.b32 l|p, l, %2, 0, -1; shfl.sync.up.b32 h, h, %2, 0, -1;\n"
               "mov.b64 x, {l, h}; @p fma.rn.f64 %0, %1, x, %0; }"
               : "+d"(v)
               : "d"(a), "n"(BY));
  return v;
}
template <int BY>
static __device__ inline double scan_after(double a, double v)
{
  asm volatile("{ .reg .pred p; .reg .b32 l, h; .reg .f64 x;\n"
               "mov.b64 {l, h}, %0; shfl.sync.down.b32 l|p, l, %2, 31, -1; shfl.sync.down.b32 h, h, %2, 31, -1;\n"
               "mov.b64 x, {l, h}; @p fma.rn.f64 %0, %1, x, %0; }"
               : "+d"(v)
               : "d"(a), "n"(BY));
  return v;
}

/* Contiguous lines: a warp has 32 K rows in shared memory, a thread K of them at `mine`. In thread
   lp (-1: none) the slot of d is row ip */
template <typename W, int K>
struct WarpRows {
  W al, be, ga;
  int lane, lp, ip;

  /* with nothing carried in: what leaves the warp forwards, E, and (the rows after the slot)
     backwards, B; what comes into this thread, c, r. y, b: what leaves it */
  template <int PER>
  __device__ inline void leave(const Numbers<PER> &t, W y, W b, double &E, double &B, double &c, double &r) const
  {
    E = scan_before<1>(t[TAB_LEVEL], (double)y);
    E = scan_before<2>(t[TAB_LEVEL + 3], E);
    E = scan_before<4>(t[TAB_LEVEL + 6], E);
    E = scan_before<8>(t[TAB_LEVEL + 9], E);
    E = scan_before<16>(t[TAB_LEVEL + 12], E);
    c = __shfl_up_sync(0xffffffffu, E, 1);
    if (lane == 0) c = 0;
    B = fma(t[TAB_LEVEL + 2], c, (double)b);
    B = scan_after<1>(t[TAB_LEVEL + 1], B);
    B = scan_after<2>(t[TAB_LEVEL + 4], B);
    B = scan_after<4>(t[TAB_LEVEL + 7], B);
    B = scan_after<8>(t[TAB_LEVEL + 10], B);
    B = scan_after<16>(t[TAB_LEVEL + 13], B);
    r = __shfl_down_sync(0xffffffffu, B, 1);
    if (lane == 31) r = 0;
    if (lane == lp) B = fma(t[TAB_THREAD + 1], r, (double)b);
    E = __shfl_sync(0xffffffffu, E, 31);
    B = __shfl_sync(0xffffffffu, B, lp < 0 ? 0 : lp);
  }

  /* the same, from the rows */
  template <int PER, typename IO>
  __device__ inline void leave(const Numbers<PER> &t, const IO *mine, double &E, double &B, double &c, double &r) const
  {
    W y = 0, b = 0, pw = 1;

#pragma unroll
    for (int i = 0; i < K; i++) {
      y = fma(al, y, ga * (W)mine[i]);
      if (lane != lp || i > ip) {
        b = fma(pw, y, b);
        pw *= be;
      }
    }
    leave(t, y, b, E, B, c, r);
  }

  /* what is left of one carried into the warp, or put into the slot: at the start of this thread,
     va, at its backward end, vr; of one from the right, vb */
  template <int PER>
  __device__ inline void weights(const Numbers<PER> &t, double &va, double &vr, double &vb) const
  {
    Part rest = {1, 1, 0}; /* the threads after this one */

    va = lp < 0 ? 1 : (lane > lp ? t[TAB_THREAD] : 0);
#pragma unroll
    for (int i = 0; i < 5; i++) {
      const double ai = t[TAB_LEVEL + 3 * i];

      if ((31 - lane) >> i & 1) {
        rest.p = fma(rest.a * rest.b, t[TAB_LEVEL + 3 * i + 2], rest.p);
        rest.a *= ai;
        rest.b *= t[TAB_LEVEL + 3 * i + 1];
      }
      if ((lp < 0 ? lane : lane - lp - 1) >> i & 1) va *= ai;
    }
    vr = rest.p * (lane != lp ? va * t[TAB_LEVEL] : t[TAB_THREAD]);
    vb = rest.b;
  }

  /* the rows, in place, from y on the left, b on the right and d in the slot */
  template <typename IO>
  __device__ inline void solve(IO *mine, W y, W b, W d) const
  {
#pragma unroll
    for (int i = 0; i < K; i++) {
      y = fma(al, y, ga * (W)mine[i]);
      if (lane == lp && i == ip) y = d;
      mine[i] = (IO)y;
    }
#pragma unroll
    for (int i = K - 1; i >= 0; i--) {
      b = fma(be, b, (W)mine[i]);
      mine[i] = (IO)b;
    }
    __syncwarp();
  }

  /* from shared memory, place: at row `lane` of the warp, to rows from `first`, of which those
     before `least` are others' */
  template <typename IO>
  __device__ inline void store(const IO *place, IO *u, ptrdiff_t first, ptrdiff_t least) const
  {
    constexpr int STEP = 32 + 32 / K; /* a thread's rows are K + 1 apart in shared memory */

    if (first > least) {
      IO *to = u + first + lane;

#pragma unroll
      for (int j = 0; j < K; j++) to[j * 32] = place[j * STEP];
    } else {
#pragma unroll 1
      for (int j = 0; j < K; j++) {
        const int e = j * 32 + lane;

        if (first + e >= least) u[first + e] = place[j * STEP];
      }
    }
  }

  /* from memory, the rows from `first` of which those before `least` are zeros */
  template <typename IO>
  __device__ inline void fetch(IO *place, const IO *f, ptrdiff_t first, ptrdiff_t least) const
  {
    constexpr int STEP = 32 + 32 / K;

    if (first >= least) {
      const IO *from = f + first + lane;

#pragma unroll
      for (int j = 0; j < K; j++) __pipeline_memcpy_async(place + j * STEP, from + j * 32, sizeof(IO));
    } else {
#pragma unroll 1
      for (int j = 0; j < K; j++) {
        const int e = j * 32 + lane;
        const bool need = first + e >= least;

        __pipeline_memcpy_async(place + j * STEP, f + (need ? first + e : 0), sizeof(IO), need ? 0 : sizeof(IO));
      }
    }
  }
};

/* Numbers that blocks tell each other (tripieces.cu, triline.cu): +0 is not there, each half for itself */
static __device__ inline void scan_send(double2 *to, double e, double b)
{
  if (__double_as_longlong(e) == 0) e = -0.0;
  if (__double_as_longlong(b) == 0) b = -0.0;
  asm volatile("st.relaxed.gpu.global.v2.f64 [%0], {%1, %2};" ::"l"(to), "d"(e), "d"(b) : "memory");
}
static __device__ inline double2 scan_receive(const double2 *from)
{
  double2 v;

  asm volatile("ld.relaxed.gpu.global.v2.f64 {%0, %1}, [%2];" : "=d"(v.x), "=d"(v.y) : "l"(from) : "memory");
  return v;
}
static __device__ inline bool scan_there(const double2 &v)
{
  return __double_as_longlong(v.x) != 0 && __double_as_longlong(v.y) != 0;
}

static __device__ inline void scan_prefetch(const void *from)
{
  asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
}

/* How long lines are cut into ranges (triline.cu) */
struct ScanLine {
  ptrdiff_t ranges; /* of a line; 0: not that way */
  /* pieces of the first range; ranges of a lane in the scan over ranges, right-aligned after `off`
     empty ones; lane of range 0 */
  int local, first, per, off, begin;
};

/* How a batch is cut */
struct ScanPlan {
  ScanShape s;
  int K, along, whole, threads;
  int pieces;          /* tripieces.cu: of a line; 0: not that way */
  int vector;          /* contiguous lines whose rows are in step with 16 bytes, if the array is */
  ptrdiff_t L, groups; /* rows of a chunk; blocks beside each other */
  ptrdiff_t blocks;    /* tripieces.cu: of all, or that go from group to group */
  size_t shared;
  ScanLine line;
};

/* triscan.cu: struct Segment of m rows, stride apart */
void bcr_scan_segment(long double alpha, long double beta, ptrdiff_t m, double *t, ptrdiff_t stride);

/* triscan.cu: what scan_thread() has */
void bcr_scan_thread(BCRCudaScan *p, int K, int single, long double alpha, long double beta);

/* trirows.cu: shared memory, and whether rows may be loaded by 16 bytes; its launch */
void bcr_scan_rows_plan(const BCRCudaScan *p, size_t size, ScanPlan *q);
int bcr_scan_rows(BCRStream stream, const BCRCudaScan *p, const ScanPlan *q, int single, int io, const void *f,
                  void *u);
int bcr_scan_rows_ranks(BCRStream stream, const BCRCudaScan *p, const ScanPlan *q, const BCRCudaScanRanks *ranks,
                        int single, const void *f, void *u);

/* tripieces.cu: whether a batch can be cut so, and then how; bytes of its workspace; its launch */
int bcr_scan_pieces_plan(const BCRCudaScan *p, int single, int io, ScanPlan *q);
size_t bcr_scan_pieces_space(const ScanPlan *q);
int bcr_scan_pieces_waits(const ScanPlan *q); /* whether these lines may go on on other ranks */
int bcr_scan_pieces(BCRStream stream, const BCRCudaScan *p, const ScanPlan *q, int single, int io, const void *f,
                    void *u, void *ws);
int bcr_scan_pieces_ranks(BCRStream stream, const BCRCudaScan *p, const ScanPlan *q, const BCRCudaScanRanks *ranks,
                          int single, const void *f, void *u, void *ws);

/* triline.cu: the same, for long contiguous lines that have the same numbers; the blocks that are
   resident, which the plan needs; what BCRCudaScan has of it */
int bcr_scan_line_plan(const BCRCudaScan *p, int single, int io, ScanPlan *q);
void bcr_scan_line_resident(BCRCudaScan *p, int single, int io);
void bcr_scan_line_tables(BCRCudaScan *p, const ScanPlan *q, double alpha, double beta);
size_t bcr_scan_line_space(const ScanPlan *q);
int bcr_scan_line(BCRStream stream, const BCRCudaScan *p, const ScanPlan *q, int single, int io, const void *f, void *u,
                  void *ws);
