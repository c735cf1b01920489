/* What the kernels of lines by two constant recurrences share (triscan.cu, tripieces.cu) */
#pragma once

#include "tri.cuh"

/* Where the lines are */
struct ScanShape {
  ptrdiff_t inner, n, columns; /* columns: lines of reals */
  int       rep, parts;        /* parts of a chunk in a block: warps of a line, or threads of a column */
  int       lines, cluster;    /* lines of a block; blocks of a line */
  int       tx;                /* across: columns of a block */
  ptrdiff_t chunks, pad;
};

/* A line's numbers, BCR_CUDA_SCAN_TAB of them: alpha, beta, gamma; a, b, p (struct Segment) of 2^i threads, i = 0..5, and of a chunk; of the
   rows after the slot alpha^m, beta^m: in its thread, in its warp, in its chunk */
enum {
  TAB_LEVEL  = 3,
  TAB_CHUNK  = 21,
  TAB_THREAD = 24,
  TAB_WARP   = 26,
  TAB_REST   = 28
};

struct Part {
  double a, b, p;
};

/* The numbers of a line: where all lines have the same they are parameters of the kernel, else they are brought to shared memory */
template <int PER> struct Numbers {
  const double *v;
  int           stride;

  __device__ double operator[](int e) const
  {
    return PER ? v[e * stride] : v[e];
  }
};

/* unknown k of the ends: row k of G times what they have, fe the right-hand sides there */
template <int PER> static __device__ inline double ends(const Numbers<PER> &t, const double *fe, int stride, int N, int k, double s, double last)
{
  const int g = BCR_CUDA_SCAN_TAB + k * (N + 2);
  double    x = t[g + N] * s + t[g + N + 1] * last;

#pragma unroll 1
  for (int m = 0; m < N; m++) x += t[g + m] * fe[m * stride];
  return x;
}

/* Carries into part w of the nq parts in ex (E, B), from `in` on the left (slot >= 0: put into the slot in part `slot`, which leaves dE of it
   at its end) and `right` on the right; end: what leaves the last part. w = -1: rw is what leaves the first part backwards */
static __device__ inline void scan_chain(const double2 *ex, int nq, int slot, int w, const Part &s, double in, double dE, double right, double &cw, double &rw, double &end)
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
  rw  = r + pw * right;
}

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

/* How long lines are cut into ranges (triline.cu) */
struct ScanLine {
  ptrdiff_t ranges;                        /* of a line; 0: not that way */
  int       local, first, per, off, begin; /* pieces of the first range; ranges of a lane in the scan over ranges, right-aligned after `off` empty ones; lane of range 0 */
};

/* How a batch is cut */
struct ScanPlan {
  ScanShape s;
  int       K, along, whole, threads;
  int       pieces;    /* tripieces.cu: of a line; 0: not that way */
  ptrdiff_t L, groups; /* rows of a chunk; blocks beside each other */
  size_t    shared;
  ScanLine  line;
};

/* tripieces.cu: whether a batch can be cut so, and then how; bytes of its workspace; its launch */
int    bcr_scan_pieces_plan(const BCRCudaScan *p, int single, int io, ScanPlan *q);
size_t bcr_scan_pieces_space(const ScanPlan *q);
int    bcr_scan_pieces(BCRStream stream, const BCRCudaScan *p, const ScanPlan *q, int single, int io, const void *f, void *u, void *ws);

/* triline.cu: the same, for long contiguous lines that have the same numbers; the blocks that are resident, which the plan needs; what BCRCudaScan has of it */
int    bcr_scan_line_plan(const BCRCudaScan *p, int single, int io, ScanPlan *q);
void   bcr_scan_line_resident(BCRCudaScan *p, int single, int io);
void   bcr_scan_line_tables(BCRCudaScan *p, const ScanPlan *q, double alpha, double beta);
size_t bcr_scan_line_space(const ScanPlan *q);
int    bcr_scan_line(BCRStream stream, const BCRCudaScan *p, const ScanPlan *q, int single, int io, const void *f, void *u, void *ws);
