/*
  Near-Toeplitz lines by two constant recurrences (src/tridiagonal/scan.c has the method and makes
  the numbers; docs/method.md, section 14).

  The rows h-1, h, ..., n-t-1 of a line are positions 0, 1, ...; what is missing to a whole number
  of chunks comes before them, as zeros. So position `pad` is the slot of d, and the last position
  always is row n-t-1, to whose right e is. Each thread has K rows in registers. With nothing
  carried in it finds what it carries out, forwards E and backwards B; these are put together in a
  warp, in a block, in a cluster of blocks, or, where the line is longer than that, in a kernel of
  their own (WHOLE, or SUMMARY, INTERFACE and FINAL). Then y_{h-1} = d and u_{n-t} = e are known,
  hence all carries.

  Where powers of alpha and beta fall below rounding within a part of a chunk (p.reach rows), a
  summary reads that part only.
*/
#include "triscan.cuh"
#include <cmath>

enum {
  WHOLE,
  SUMMARY,
  FINAL
};

/* Limits of the cuts below. They follow from the registers that K rows take, and from what a device has; none was
   measured apart. Times with the default cuts: bench/results/h200_lines.csv */
enum {
  ALONG_WARPS = 8,        /* warps of a block that has contiguous lines: 256 threads, 4 blocks to a multiprocessor */
  WARP_PARTS = 32,        /* parts of a line that one warp puts together, a lane each */
  CLUSTER_ALONG = 8,      /* blocks of a cluster along x: what every device of compute capability 9 has */
  CLUSTER_ACROSS = 16,    /* and across: the most that an H200 has (tri.cuh asks for it) */
  CLUSTER_NONE = 64,      /* more than either: a line that no cluster takes */
  LONGEST_DOUBLE = 16384, /* rows of a line in the registers of a cluster, */
  LONGEST_SINGLE = 32768, /* and in float */
  CHUNK_ROWS = 16,        /* rows of a thread of lines in chunks along x */
  CHUNK_LINE = 1 << 20,   /* shorter lines have chunks of */
  CHUNK_WARPS_SHORT = 4,  /* so many warps, longer ones of */
  CHUNK_WARPS_LONG = 8,   /* so many */
  INTERFACE_MOST = 512,   /* threads of a line in scan_interface() at most, for */
  INTERFACE_CHUNKS = 8,   /* so many chunks each, and */
  INTERFACE_THREADS = 256 /* threads of its block, which has more lines where these are short */
};

/* threads of a block, and blocks that a multiprocessor should have room for */
#define SCAN_BOUNDS(K) __launch_bounds__((K) == 32 ? 512 : 256, (K) == 32 ? 1 : ((K) == 16 ? 3 : 4))

/* doubles that a line has in shared memory */
#define SCAN_LINE(per, N) ((N) + ((per) ? BCR_CUDA_SCAN_TAB + (N) * ((N) + 2) : 0))

/* Lines that are contiguous, in chunks: a warp has 32 K rows, a block s.parts warps */
template <typename IO, typename W, int K, int MODE, int PER>
__global__ void __launch_bounds__(BCR_WARP *ALONG_WARPS, 4)
  scan_along(const __grid_constant__ BCRCudaScan p, const __grid_constant__ ScanShape s, const IO *f, IO *u, double *ws)
{
  constexpr int STEP = 32 + 32 / K; /* a thread's rows are K + 1 apart in shared memory */
  extern __shared__ double2 shared[];

  const int lane = threadIdx.x & 31, w = threadIdx.x >> 5, nq = s.parts, N = p.h + p.t,
            nt = BCR_CUDA_SCAN_TAB + N * (N + 2);
  const ptrdiff_t chunk = (ptrdiff_t)blockIdx.x % s.chunks, line = (ptrdiff_t)blockIdx.x / s.chunks,
                  L = (ptrdiff_t)32 * K * nq, slotat = chunk == 0 ? s.pad : -1;
  /* part, and place in it */
  const int slot = slotat >= 0 ? (int)(slotat / (32 * K)) : -1, inwarp = slotat >= 0 ? (int)(slotat % (32 * K)) : 0;
  double2 *ex = shared;
  double *own = (double *)(shared + nq); /* numbers of the line */
  IO *in = (IO *)(own + (PER ? nt : 0)) + w * 32 * (K + 1), *mine = in + lane * (K + 1), *place = in + lane + lane / K;
  /* row of this warp's first position */
  const ptrdiff_t first = (ptrdiff_t)32 * K * (chunk * s.parts + w) - s.pad + p.h - 1;
  WarpRows<W, K> rows;

  f += line * s.n;
  u += line * s.n;
  rows.lane = lane;
  rows.lp = w == slot ? inwarp / K : -1;
  rows.ip = inwarp % K;
  if (PER) {
    for (int e = threadIdx.x; e < nt; e += 32 * s.parts)
      __pipeline_memcpy_async(own + e, p.tab + line * nt + e, sizeof(double));
    __pipeline_commit();
  }
  if (MODE != SUMMARY || p.reach >= L) rows.fetch(place, f, first, p.h);
  else {
#pragma unroll 1
    for (int j = 0; j < K; j++) {
      const int e = j * 32 + lane;
      const ptrdiff_t r = first + e, at = (ptrdiff_t)32 * K * w + e;
      const bool need = r >= p.h && (at < (slotat >= 0 ? slotat : 0) + p.reach || at >= L - p.reach);

      __pipeline_memcpy_async(place + j * STEP, f + (need ? r : 0), sizeof(IO), need ? 0 : sizeof(IO));
    }
  }
  __pipeline_commit();
  if (PER) {
    __pipeline_wait_prior(1);
    __syncthreads();
  }

  const Numbers<PER> t = {PER ? own : p.numbers, 1};
  const Part sw = {t[TAB_LEVEL + 15], t[TAB_LEVEL + 16], t[TAB_LEVEL + 17]};
  const double dE = t[TAB_WARP], bE = t[TAB_WARP + 1];
  double E, B, c, r, va, vr, vb, C, R, end;

  rows.al = (W)t[0];
  rows.be = (W)t[1];
  rows.ga = (W)t[2];
  if (MODE == FINAL) rows.weights(t, va, vr, vb);
  __pipeline_wait_prior(0);
  __syncwarp();
  rows.leave(t, mine, E, B, c, r); /* with nothing carried in */
  if (lane == 0) ex[w] = make_double2(E, B);
  __syncthreads();
  if (MODE == SUMMARY) {
    scan_chain(ex, nq, slot, slot, sw, 0, dE, 0, C, R, end);
    if (slot >= 0) R = ex[slot].y + bE * R;
    if (threadIdx.x == 0) {
      ws[2 * chunk * s.columns + line] = end;
      ws[(2 * chunk + 1) * s.columns + line] = R;
    }
  } else {
    const double d = ws[2 * chunk * s.columns + line], e = ws[(2 * chunk + 1) * s.columns + line];

    if (w == slot && lane < p.h - 1) u[lane] = (IO)ws[(2 * s.chunks + lane) * s.columns + line];
    if (chunk == s.chunks - 1 && w == nq - 1 && lane < p.t)
      u[s.n - p.t + lane] = (IO)ws[(2 * s.chunks + p.h + lane) * s.columns + line];
    scan_chain(ex, nq, slot, w, sw, d, dE, e, C, R, end);
    rows.solve(mine, (W)fma(va, C, c), (W)fma(vr, C, fma(vb, R, r)), (W)d);
    rows.store(place, u, first, p.h - 1);
  }
}

/* Lines across which memory is contiguous: a thread has K rows of a column, a block s.tx columns */
template <typename IO, typename W, int K, int MODE, int PER>
__global__ void SCAN_BOUNDS(K) scan_across(BCRCudaScan p, ScanShape s, const IO *f, IO *u, double *ws)
{
  extern __shared__ double2 shared[];

  cg::cluster_group cluster = cg::this_cluster();
  const int tx = threadIdx.x % s.tx, ty = threadIdx.x / s.tx, rank = MODE == WHOLE ? (int)(blockIdx.x % s.cluster) : 0;
  const int nq = s.parts, N = p.h + p.t, nt = BCR_CUDA_SCAN_TAB + N * (N + 2);
  const ptrdiff_t chunk = MODE == WHOLE ? rank : (ptrdiff_t)blockIdx.x % s.chunks, L = (ptrdiff_t)K * nq;
  ptrdiff_t column =
    (MODE == WHOLE ? (ptrdiff_t)(blockIdx.x / s.cluster) : (ptrdiff_t)blockIdx.x / s.chunks) * s.tx + tx;
  const bool active = column < s.columns;
  const int slot = chunk == 0 ? (int)(s.pad / K) : -1, ip = ty == slot ? (int)(s.pad % K) : -1;
  double2 *ex = shared + tx; /* of this column, tx apart; then of the blocks */
  double2 *blocks = shared + s.tx * nq + tx;
  double *fe = (double *)(shared + s.tx * (nq + s.cluster)) + tx, *own = fe + N * s.tx;

  if (!active) column = s.columns - 1;
  if (MODE == WHOLE && s.cluster > 1) cluster.barrier_arrive();
  const ptrdiff_t i = column % s.inner, o = column / s.inner, set = p.perline ? i / s.rep + s.inner / s.rep * o : 0;

  f += i + s.inner * s.n * o;
  u += i + s.inner * s.n * o;
  const ptrdiff_t first = (ptrdiff_t)K * (chunk * nq + ty) - s.pad + p.h - 1;
  W x[K], y = 0, b = 0;

  const bool inside = first >= p.h; /* all rows of this thread */

  if (inside && (MODE != SUMMARY || p.reach >= L)) {
    const IO *from = f + s.inner * first;

#pragma unroll
    for (int k = 0; k < K; k++) x[k] = (W)from[s.inner * k];
  } else {
#pragma unroll
    for (int k = 0; k < K; k++) {
      bool need = first + k >= p.h;

      if (MODE == SUMMARY) need = need && (K * ty + k < (slot >= 0 ? s.pad : 0) + p.reach || K * ty + k >= L - p.reach);
      x[k] = need ? (W)f[s.inner * (first + k)] : (W)0;
    }
  }
  if (MODE == WHOLE)
    for (int e = ty; e < N; e += nq) fe[e * s.tx] = (double)f[s.inner * (e < p.h ? e : s.n - N + e)];
  if (PER) {
    for (int e = ty; e < nt; e += nq) own[e * s.tx] = p.tab[e * p.sets + set];
    __syncthreads();
  }
  const Numbers<PER> t = {PER ? own : p.numbers, s.tx};
  const W al = (W)t[0], be = (W)t[1], ga = (W)t[2];

#pragma unroll
  for (int k = 0; k < K; k++) {
    y = fma(al, y, ga * x[k]);
    x[k] = y;
  }
#pragma unroll
  for (int k = K - 1; k >= 0; k--)
    if (k > ip) b = x[k] + be * b;
  ex[ty * s.tx] = make_double2(y, b);
  __syncthreads();

  /* one thread for each column */
  double end = 0, R = 0, d = 0, e = 0, qa = 1, qb = 1, last = 0, s0 = 0;

  if (ty == 0) {
    const Part sk = {t[TAB_LEVEL], t[TAB_LEVEL + 1], t[TAB_LEVEL + 2]};

    if (slot >= 0) {
      qa = t[TAB_THREAD];
      qb = t[TAB_THREAD + 1];
    }
    if (MODE != FINAL) { /* the chunk, with nothing carried in */
      double pw = 1, c = 0, at = 0;

      for (int q0 = slot > 0 ? slot : 0; q0 < nq; q0 += 4) {
        double2 v[4];

#pragma unroll
        for (int q = 0; q < 4; q++) v[q] = q0 + q < nq ? ex[(q0 + q) * s.tx] : make_double2(0, 0);
#pragma unroll
        for (int q = 0; q < 4; q++) {
          if (q0 + q == slot) at = v[q].y;
          else if (q0 + q < nq) {
            R += pw * (v[q].y + sk.p * c);
            pw *= sk.b;
          }
          if (q0 + q < nq) c = v[q].x + sk.a * c;
        }
      }
      end = c;
      if (slot >= 0) R = at + qb * R;
    }
    if (MODE == SUMMARY && active) {
      ws[2 * chunk * s.columns + column] = end;
      ws[(2 * chunk + 1) * s.columns + column] = R;
    }
    if (MODE == FINAL) {
      d = ws[2 * chunk * s.columns + column];
      e = ws[(2 * chunk + 1) * s.columns + column];
    }
    s0 = R;
    last = end;
  }
  if (MODE == SUMMARY) return;
  if (MODE == WHOLE && s.cluster > 1) {
    cluster.barrier_wait();
    if (ty == 0)
      for (int q = 0; q < s.cluster; q++) *cluster.map_shared_rank(blocks + rank * s.tx, q) = make_double2(end, R);
    cluster.sync();
  }
  if (ty == 0) {
    const Part sk = {t[TAB_LEVEL], t[TAB_LEVEL + 1], t[TAB_LEVEL + 2]};
    double c, r, dE;
    int q0 = slot > 0 ? slot : 0;

    if (MODE == WHOLE) {
      const Part sb = {t[TAB_CHUNK], t[TAB_CHUNK + 1], t[TAB_CHUNK + 2]};
      const double sa = t[TAB_REST], sr = t[TAB_REST + 1];

      if (s.cluster > 1) {
        double pw = 1, e1 = blocks[0].x;

        r = 0;
        for (int q = 1; q < s.cluster; q++) {
          const double2 v = blocks[q * s.tx];

          r += pw * (v.y + sb.p * e1);
          pw *= sb.b;
          e1 = v.x + sb.a * e1;
        }
        s0 = blocks[0].y + sr * r;
        last = e1;
      }
      d = ends(t, fe, s.tx, N, p.h - 1, s0, last);
      e = ends(t, fe, s.tx, N, p.h, s0, last);
      if (active && slot >= 0)
        for (int k = 0; k < p.h - 1; k++) u[s.inner * k] = (IO)ends(t, fe, s.tx, N, k, s0, last);
      if (active && rank == s.cluster - 1)
        for (int k = 0; k < p.t; k++)
          u[s.inner * (s.n - p.t + k)] = (IO)(k ? ends(t, fe, s.tx, N, p.h + k, s0, last) : e);
      if (s.cluster > 1) { /* carries into this block */
        double pw = 1, in = d;

        dE = sa;
        r = 0;
        c = d;
        for (int q = 0; q < s.cluster; q++) {
          const double2 v = blocks[q * s.tx];

          if (q == rank) in = c;
          if (q > rank) {
            r += pw * (v.y + sb.p * c);
            pw *= sb.b;
          }
          c = v.x + (q == 0 ? dE : sb.a) * c;
        }
        d = in;
        e = r + pw * e;
      }
    } else {
      if (active && slot >= 0)
        for (int k = 0; k < p.h - 1; k++) u[s.inner * k] = (IO)ws[(2 * s.chunks + k) * s.columns + column];
      if (active && chunk == s.chunks - 1)
        for (int k = 0; k < p.t; k++)
          u[s.inner * (s.n - p.t + k)] = (IO)ws[(2 * s.chunks + p.h + k) * s.columns + column];
    }
    c = d;
    for (; q0 < nq; q0 += 4) {
      double2 v[4];

#pragma unroll
      for (int q = 0; q < 4; q++) v[q] = q0 + q < nq ? ex[(q0 + q) * s.tx] : make_double2(0, 0);
#pragma unroll
      for (int q = 0; q < 4; q++) {
        if (q0 + q < nq) {
          ex[(q0 + q) * s.tx] = make_double2(c, v[q].y + sk.p * c); /* of the slot's part nothing is needed */
          c = v[q].x + (q0 + q == slot ? qa : sk.a) * c;
        }
      }
    }
    r = e;
    for (q0 = (nq - 1) / 4 * 4; q0 >= 0; q0 -= 4) {
      double v[4];

#pragma unroll
      for (int q = 0; q < 4; q++) v[q] = q0 + q < nq ? ex[(q0 + q) * s.tx].y : 0;
#pragma unroll
      for (int q = 3; q >= 0; q--) {
        if (q0 + q < nq) {
          ex[(q0 + q) * s.tx].y = r;
          r = v[q] + sk.b * r;
        }
      }
    }
  }
  __syncthreads();
  const double2 carry = ex[ty * s.tx];

  y = ip >= 0 ? (W)0 : (W)carry.x;
  b = (W)carry.y;
#pragma unroll
  for (int k = 0; k < K; k++) {
    y *= al;
    if (k == ip) y = (W)carry.x;
    x[k] += y;
  }
  if (inside && active) {
    IO *to = u + s.inner * first;

#pragma unroll
    for (int k = K - 1; k >= 0; k--) {
      b = x[k] + be * b;
      to[s.inner * k] = (IO)b;
    }
  } else if (active) {
#pragma unroll
    for (int k = K - 1; k >= 0; k--) {
      b = x[k] + be * b;
      if (first + k >= p.h - 1) u[s.inner * (first + k)] = (IO)b;
    }
  }
}

/* Between SUMMARY and FINAL: ws gets the carries into each chunk (d into the first one) and the
   unknowns of the ends. Threads: s.tx columns, s.parts for each, with some chunks each. These
   groups are put together by the first of the threads. L: rows of a chunk */
template <typename IO>
__global__ void __launch_bounds__(INTERFACE_MOST)
  scan_interface(BCRCudaScan p, ScanShape s, ptrdiff_t L, const IO *f, double *ws)
{
  extern __shared__ double2 shared[];

  const int tx = threadIdx.x % s.tx, ty = threadIdx.x / s.tx, nq = s.parts, N = p.h + p.t;
  const ptrdiff_t per = (s.chunks + nq - 1) / nq, q0 = ty * per, q1 = q0 + per < s.chunks ? q0 + per : s.chunks;
  ptrdiff_t column = (ptrdiff_t)blockIdx.x * s.tx + tx;
  const bool active = column < s.columns;
  double2 *ex = shared + tx;

  if (!active) column = s.columns - 1;
  const ptrdiff_t i = column % s.inner, o = column / s.inner, set = p.perline ? i / s.rep + s.inner / s.rep * o : 0;
  const ptrdiff_t ts = s.inner == 1 ? 1 : p.sets; /* BCRCudaScanTables() */
  const double *t = p.perline ? p.tab + (s.inner == 1 ? set * BCR_CUDA_SCAN_NUMBERS(N) : set) : p.numbers;
  /* sr: what follows the slot in its chunk */
  const Segment s1 = seg_row(t[0], t[ts]), sl = seg_repeat(s1, L), sp = seg_repeat(sl, per),
                sr = seg_repeat(s1, L - 1 - s.pad);
  double c = 0, r = 0, pw = 1;
  double *E = ws + column, *B = E + s.columns;
  const ptrdiff_t at = 2 * s.columns;

  f += i + s.inner * s.n * o;
  for (ptrdiff_t q = q0; q < q1; q++) {
    if (q) { /* B of the first chunk is at its slot */
      r += pw * (B[at * q] + sl.p * c);
      pw *= sl.b.h;
    }
    c = E[at * q] + sl.a.h * c;
  }
  ex[ty * s.tx] = make_double2(c, r);
  __syncthreads();
  if (ty == 0) {
    /* groups that have chunks, and how many the first and the last one has */
    const int used = (int)((s.chunks + per - 1) / per);
    const ptrdiff_t n0 = per < s.chunks ? per : s.chunks, nl = s.chunks - (used - 1) * per;
    const Segment tail = seg_repeat(sl, nl), head = seg_join(sr, seg_repeat(sl, n0 - 1));
    double s0, x[2 * 3 + 2];

    c = ex[0].x;
    r = ex[0].y;
    pw = seg_repeat(sl, n0 - 1).b.h;
    for (int q = 1; q < used; q++) {
      const double2 v = ex[q * s.tx];

      r += pw * (v.y + (q < used - 1 ? sp.p : tail.p) * c);
      pw *= sp.b.h;
      c = v.x + (q < used - 1 ? sp.a : tail.a).h * c;
    }
    s0 = B[0] + sr.b.h * r;
    for (int k = 0; k < N; k++) {
      const double *G = t + (BCR_CUDA_SCAN_TAB + k * (N + 2)) * ts;

      x[k] = G[N * ts] * s0 + G[(N + 1) * ts] * c;
      for (int m = 0; m < N; m++) x[k] += G[m * ts] * (double)f[s.inner * (m < p.h ? m : s.n - N + m)];
      if (active) ws[(2 * s.chunks + k) * s.columns + column] = x[k];
    }
    c = x[p.h - 1];
    r = x[p.h];
    for (int q = 0; q < used; q++) {
      const double2 v = ex[q * s.tx];
      const Segment g = q == 0 ? head : (q < used - 1 ? sp : tail);

      ex[q * s.tx] = make_double2(c, v.y + g.p * c);
      c = v.x + g.a.h * c;
    }
    for (int q = used - 1; q >= 0; q--) {
      const double v = ex[q * s.tx].y;

      ex[q * s.tx].y = r;
      r = v + (q < used - 1 ? sp.b : tail.b).h * r;
    }
  }
  __syncthreads();
  c = ex[ty * s.tx].x;
  r = ex[ty * s.tx].y;
  if (!active) return;
  for (ptrdiff_t q = q0; q < q1; q++) {
    const double e = E[at * q];

    E[at * q] = c;
    if (q) B[at * q] += sl.p * c;
    c = e + (q ? sl.a : sr.a).h * c;
  }
  for (ptrdiff_t q = q1 - 1; q >= q0; q--) {
    const double b = B[at * q];

    B[at * q] = r;
    r = b + sl.b.h * r;
  }
}

static int scan_attribute(cudaDeviceAttr what)
{
  int device = 0, value = 0;

  return cudaGetDevice(&device) == cudaSuccess && cudaDeviceGetAttribute(&value, what, device) == cudaSuccess ? value
                                                                                                              : 0;
}

/* Rows of a thread, by the rows that a line has at most. Those along x were chosen on an H200 by cuda_lines -suites tune
   (commits 073f1f3 and eb9a8c7); those of short lines across were not measured apart, nor was the number of
   lines of a block across, which is less for longer ones */
struct ScanRows {
  ptrdiff_t most[3];
  int rows[4]; /* the last ones of longer lines */
};
static const ScanRows rows_along =
                        {
                          {128, 256, 2048},
                          { 4,  8,  16,   32}
},
                      rows_across = {{32, 64, 128}, {4, 8, 16, 32}};
enum {
  ACROSS_LINES = 32,
  ACROSS_LINES_LONG = 16, /* of more rows than */
  ACROSS_LONG = 8192
};

static int rows_of_thread(const ScanRows &cut, ptrdiff_t m)
{
  return m <= cut.most[0] ? cut.rows[0]
                          : (m <= cut.most[1] ? cut.rows[1] : (m <= cut.most[2] ? cut.rows[2] : cut.rows[3]));
}

/* How a batch is cut */
static ScanPlan scan_plan(const BCRCudaScan *p, int single, int io)
{
  const ptrdiff_t m = p->n - p->h - p->t + 1; /* the slot among them */
  ScanPlan q;
  ScanShape *s = &q.s;

  q.along = p->inner == 1;
  s->inner = p->inner;
  s->n = p->n;
  s->columns = p->inner * p->outer;
  s->rep = p->rep;
  s->lines = s->cluster = s->tx = 1;
  s->chunks = 1;
  s->ahead = 0;
  q.whole = 1;
  q.vector = 0;
  q.pieces = 0;
  q.line.ranges = 0;
  if (bcr_scan_pieces_plan(p, single, io, &q)) return q;
  if (q.along) {
    const int longest = single && !io ? LONGEST_SINGLE : LONGEST_DOUBLE;
    const size_t size = single && !io ? sizeof(float) : sizeof(double);

    q.K = p->tune[BCR_CUDA_SCAN_ROWS] ? p->tune[BCR_CUDA_SCAN_ROWS] : rows_of_thread(rows_along, m);
    if (p->tune[BCR_CUDA_SCAN_PARTS]) s->parts = p->tune[BCR_CUDA_SCAN_PARTS];
    else s->parts = (int)(m <= 32 * ALONG_WARPS * q.K ? (m + 32 * q.K - 1) / (32 * q.K) : (ptrdiff_t)ALONG_WARPS);
    q.L = (ptrdiff_t)32 * q.K * s->parts;
    s->cluster = (int)((m + q.L - 1) / q.L < CLUSTER_NONE ? (m + q.L - 1) / q.L : (ptrdiff_t)CLUSTER_NONE);
    if (p->tune[BCR_CUDA_SCAN_WAY] != 1 &&
        (p->tune[BCR_CUDA_SCAN_WAY] == 2 || s->cluster > CLUSTER_ALONG || s->cluster * s->parts > WARP_PARTS ||
         m > longest) &&
        bcr_scan_line_plan(p, single, io, &q))
      return q;
    /* in chunks */
    if (s->cluster > CLUSTER_ALONG || s->cluster * s->parts > WARP_PARTS || m > longest ||
        p->tune[BCR_CUDA_SCAN_WAY] == 1 || (s->cluster > 1 && !p->clusters)) {
      q.K = CHUNK_ROWS;
      s->parts = p->tune[BCR_CUDA_SCAN_PARTS] ? p->tune[BCR_CUDA_SCAN_PARTS]
                                              : (m < CHUNK_LINE ? CHUNK_WARPS_SHORT : CHUNK_WARPS_LONG);
      q.L = (ptrdiff_t)32 * q.K * s->parts;
      q.whole = 0;
      s->cluster = 1;
    } else if (s->cluster == 1 && s->parts < 4) s->lines = 4 / s->parts;
    q.threads = 32 * s->parts * s->lines;
    q.groups = (s->columns + s->lines - 1) / s->lines;
    q.shared = (size_t)s->parts * sizeof(double2) +
               (p->perline ? BCR_CUDA_SCAN_NUMBERS(p->h + p->t) * sizeof(double) : 0) +
               (size_t)q.threads * (q.K + 1) * size;
    if (q.whole) bcr_scan_rows_plan(p, size, &q);
  } else {
    const int N = p->h + p->t;

    s->tx = p->tune[BCR_CUDA_SCAN_COLUMNS] ? p->tune[BCR_CUDA_SCAN_COLUMNS]
                                           : (m <= ACROSS_LONG ? ACROSS_LINES : ACROSS_LINES_LONG);
    while (s->tx > 1 && s->tx / 2 >= s->columns) s->tx /= 2;
    q.K = p->tune[BCR_CUDA_SCAN_ROWS] ? p->tune[BCR_CUDA_SCAN_ROWS] : rows_of_thread(rows_across, m);
    if (p->tune[BCR_CUDA_SCAN_PARTS]) s->parts = p->tune[BCR_CUDA_SCAN_PARTS];
    else {
      const int most = s->tx == 32 ? 16 : 32;

      s->parts = (int)(m <= most * q.K ? (m + q.K - 1) / q.K : most);
    }
    q.L = (ptrdiff_t)q.K * s->parts;
    s->cluster = (int)((m + q.L - 1) / q.L < CLUSTER_NONE ? (m + q.L - 1) / q.L : (ptrdiff_t)CLUSTER_NONE);
    if (s->cluster > (p->clusters ? (int)CLUSTER_ACROSS : 1) || p->tune[BCR_CUDA_SCAN_WAY] == 1) {
      q.K = p->tune[BCR_CUDA_SCAN_ROWS] == 16 ? 16 : 32;
      s->parts = p->tune[BCR_CUDA_SCAN_PARTS] ? p->tune[BCR_CUDA_SCAN_PARTS] : (s->tx < 16 ? 256 / s->tx : 512 / s->tx);
      q.L = (ptrdiff_t)q.K * s->parts;
      q.whole = 0;
      s->cluster = 1;
    }
    q.threads = s->tx * s->parts;
    q.groups = (s->columns + s->tx - 1) / s->tx;
    q.shared = (size_t)s->tx * ((s->parts + s->cluster) * sizeof(double2) + SCAN_LINE(p->perline, N) * sizeof(double));
  }
  if (!q.whole) s->chunks = (m + q.L - 1) / q.L;
  s->pad = q.L * (q.whole ? s->cluster : s->chunks) - m;
  return q;
}

size_t BCRCudaScanTableSize(const BCRCudaScan *p)
{
  return BCR_CUDA_SCAN_NUMBERS(p->h + p->t) * (size_t)p->sets + (p->perline ? 0 : BCR_CUDA_SCAN_PLACES);
}

/* struct Segment of m rows */
void bcr_scan_segment(long double alpha, long double beta, ptrdiff_t m, double *t, ptrdiff_t stride)
{
  long double sum = 0, z = 1, s = alpha; /* of alpha^(i+1) beta^i over m rows, by the binary digits of m */

  t[0] = (double)powl(alpha, m);
  t[stride] = (double)powl(beta, m);
  for (ptrdiff_t k = 1; k <= m; k *= 2) {
    const long double ab = powl(alpha * beta, k);

    if (m & k) {
      sum += z * s;
      z *= ab;
    }
    s *= 1 + ab;
  }
  t[2 * stride] = (double)sum;
}

/* scan_weights() of n parts of m rows, after the slot at row `slot` of them, -1: before the first;
   number e of part i at e te + i ti */
static void scan_places(long double alpha, long double beta, ptrdiff_t m, int n, ptrdiff_t slot, double *t, int te,
                        int ti)
{
  double rest[3];

  for (int i = 0; i < n; i++, t += ti) {
    const ptrdiff_t in = m * i - slot - 1, out = in + m; /* rows to the start and to the end of the part */

    bcr_scan_segment(alpha, beta, m * (n - 1 - i), rest, 1);
    t[0] = in >= 0 ? (double)powl(alpha, in) : 0;
    t[te] = out >= 0 ? (double)powl(alpha, out) * rest[2] : 0;
    t[2 * te] = rest[1];
  }
}

void bcr_scan_thread(BCRCudaScan *p, int K, int single, long double alpha, long double beta)
{
  long double right = 1, left = 0; /* left: over alpha^(k+1) */

  for (int k = K - 1; k >= 0; k--) {
    left = 1 + alpha * beta * left;
    right *= beta;
    for (int e = 0; e < 2; e++) {
      const long double x = e ? right : left * powl(alpha, k + 1);

      if (single) ((float *)p->thread)[e * K + k] = (float)x;
      else p->thread[e * K + k] = (double)x;
    }
  }
}

void BCRCudaScanTables(BCRCudaScan *p, int single, int io, const double *abc, const double *G, double *tab)
{
  p->sms = scan_attribute(cudaDevAttrMultiProcessorCount);
  p->clusters = scan_attribute(cudaDevAttrComputeCapabilityMajor) >= 9;
  p->shared = (size_t)scan_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  bcr_scan_line_resident(p, single, io);
  const ScanPlan q = scan_plan(p, single, io);
  const ptrdiff_t pad = q.s.pad, inwarp = pad % (32 * q.K);
  /* numbers of a contiguous line are beside each other */
  const ptrdiff_t stride = q.along ? 1 : p->sets;
  /* tripieces.cu: the levels are those of pieces, a chunk is a thread */
  const ptrdiff_t level = q.pieces ? q.L : q.K, chunk = q.pieces ? q.K : q.L;

  for (ptrdiff_t l = 0; l < p->sets; l++) {
    const long double a = abc[l], b = abc[p->sets + l];
    double *t = tab + (q.along ? l * BCR_CUDA_SCAN_NUMBERS(p->h + p->t) : l);

    for (int e = 0; e < 3; e++) t[e * stride] = abc[e * p->sets + l];
    for (int i = 0; i < 6; i++) bcr_scan_segment(a, b, level << i, t + (TAB_LEVEL + 3 * i) * stride, stride);
    bcr_scan_segment(a, b, chunk, t + TAB_CHUNK * stride, stride);
    for (int e = 0; e < 2; e++) {
      const long double x = e ? b : a;

      t[(TAB_THREAD + e) * stride] = (double)powl(x, q.K - 1 - pad % q.K);
      t[(TAB_WARP + e) * stride] = (double)powl(x, 32 * q.K - 1 - inwarp);
      t[(TAB_REST + e) * stride] = pad < q.L ? (double)powl(x, q.L - 1 - pad) : 0;
    }
    for (int e = 0; e < (p->h + p->t) * (p->h + p->t + 2); e++)
      t[(BCR_CUDA_SCAN_TAB + e) * stride] = G[e * p->sets + l];
  }
  if (!p->perline) bcr_scan_thread(p, q.K, single, abc[0], abc[1]);
  if (q.line.ranges) bcr_scan_line_tables(p, &q, abc[0], abc[1]);
  if (!p->perline && (q.pieces || (q.along && q.whole && !q.line.ranges))) {
    const int n = q.pieces ? q.s.parts : 32, chunks = q.pieces ? q.pieces : q.s.parts * q.s.cluster;
    const ptrdiff_t m = (ptrdiff_t)q.K * n;
    double *t = tab + BCR_CUDA_SCAN_NUMBERS(p->h + p->t);

    scan_places(abc[0], abc[1], q.K, n, pad % m, t, n, 1);
    scan_places(abc[0], abc[1], q.K, n, -1, t + 3 * n, n, 1);
    if (6 * n + 3 * chunks <= BCR_CUDA_SCAN_PLACES) scan_places(abc[0], abc[1], m, chunks, pad, t + 6 * n, 1, 3);
  }
  if (!p->perline)
    for (int e = 0; e < BCR_CUDA_SCAN_NUMBERS(p->h + p->t); e++) p->numbers[e] = tab[e];
}

size_t BCRCudaScanWorkspace(const BCRCudaScan *p, int single, int io)
{
  const ScanPlan q = scan_plan(p, single, io);

  if (q.pieces) return bcr_scan_pieces_space(&q);
  if (q.line.ranges) return bcr_scan_line_space(&q);
  return q.whole ? 0 : (size_t)(2 * q.s.chunks + p->h + p->t) * q.s.columns * sizeof(double);
}

#define SCAN_K(name, mode, cluster) \
  (q.K == 4    ? bcr_launch_cluster(name<IO, W, 4, mode, PER>, grid, q.threads, q.shared, cluster, stream, *p, q.s, \
                                    (const IO *)f, (IO *)u, (double *)ws) \
   : q.K == 8  ? bcr_launch_cluster(name<IO, W, 8, mode, PER>, grid, q.threads, q.shared, cluster, stream, *p, q.s, \
                                    (const IO *)f, (IO *)u, (double *)ws) \
   : q.K == 16 ? bcr_launch_cluster(name<IO, W, 16, mode, PER>, grid, q.threads, q.shared, cluster, stream, *p, q.s, \
                                    (const IO *)f, (IO *)u, (double *)ws) \
               : bcr_launch_cluster(name<IO, W, 32, mode, PER>, grid, q.threads, q.shared, cluster, stream, *p, q.s, \
                                    (const IO *)f, (IO *)u, (double *)ws))
#define SCAN_CHUNKS(name, mode) \
  (q.K == 16 ? bcr_launch_cluster(name<IO, W, 16, mode, PER>, grid, q.threads, q.shared, 1, stream, *p, q.s, \
                                  (const IO *)f, (IO *)u, (double *)ws) \
             : bcr_launch_cluster(name<IO, W, 32, mode, PER>, grid, q.threads, q.shared, 1, stream, *p, q.s, \
                                  (const IO *)f, (IO *)u, (double *)ws))

template <typename IO, typename W, int PER>
static int scan_run(BCRStream stream, const BCRCudaScan *p, const ScanPlan &q, const void *f, void *u, void *ws)
{
  const dim3 grid((unsigned)(q.groups * (q.whole ? q.s.cluster : q.s.chunks)));
  ScanPlan r = q;
  int e;

  if (q.whole) return SCAN_K(scan_across, WHOLE, q.s.cluster);
  e = q.along ? bcr_launch_cluster(scan_along<IO, W, 16, SUMMARY, PER>, grid, q.threads, q.shared, 1, stream, *p, q.s,
                                   (const IO *)f, (IO *)u, (double *)ws)
              : SCAN_CHUNKS(scan_across, SUMMARY);
  if (e) return e;
  r.s.parts = 1;
  while (r.s.parts < INTERFACE_MOST && INTERFACE_CHUNKS * r.s.parts < q.s.chunks) r.s.parts *= 2;
  r.s.tx = 1;
  while (r.s.tx < BCR_WARP && r.s.tx * r.s.parts < INTERFACE_THREADS && r.s.tx < q.s.columns) r.s.tx *= 2;
  e = bcr_launch_cluster(scan_interface<IO>, dim3((unsigned)((q.s.columns + r.s.tx - 1) / r.s.tx)),
                         dim3((unsigned)(r.s.tx * r.s.parts)), (size_t)r.s.tx * r.s.parts * sizeof(double2), 1, stream,
                         *p, r.s, q.L, (const IO *)f, (double *)ws);
  if (e) return e;
  return q.along ? bcr_launch_cluster(scan_along<IO, W, 16, FINAL, PER>, grid, q.threads, q.shared, 1, stream, *p, q.s,
                                      (const IO *)f, (IO *)u, (double *)ws)
                 : SCAN_CHUNKS(scan_across, FINAL);
}

int BCRCudaScanSolve(BCRStream stream, const BCRCudaScan *p, int single, int io, const void *f, void *u, void *ws)
{
  const ScanPlan q = scan_plan(p, single, io);
  int e = (int)cudaErrorInvalidValue;

  if (q.pieces) e = bcr_scan_pieces(stream, p, &q, single, io, f, u, ws);
  else if (q.line.ranges) e = bcr_scan_line(stream, p, &q, single, io, f, u, ws);
  else if (q.along && q.whole) e = bcr_scan_rows(stream, p, &q, single, io, f, u);
  else
    BCR_TRI_TYPES(single, io,
                  e = p->perline ? scan_run<IO, W, 1>(stream, p, q, f, u, ws)
                                 : scan_run<IO, W, 0>(stream, p, q, f, u, ws));
  return e ? e : bcr_done();
}

int BCRCudaScanWaits(const BCRCudaScan *p, int single, int io)
{
  const ScanPlan q = scan_plan(p, single, io);

  return !p->perline && !io && (q.pieces ? bcr_scan_pieces_waits(&q) : q.along && q.whole && !q.line.ranges);
}

int BCRCudaScanSolveRanks(BCRStream stream, const BCRCudaScan *p, const BCRCudaScanRanks *ranks, int single,
                          const void *f, void *u, void *ws)
{
  const ScanPlan q = scan_plan(p, single, 0);
  const int e = q.pieces ? bcr_scan_pieces_ranks(stream, p, &q, ranks, single, f, u, ws)
                         : bcr_scan_rows_ranks(stream, p, &q, ranks, single, f, u);

  return e ? e : bcr_done();
}
