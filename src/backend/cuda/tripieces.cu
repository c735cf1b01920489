/*
  Lines across which memory is contiguous (along y and z) by two constant recurrences, in one pass over memory; triscan.cu has the notation.

  A line is cut into pieces of K NT rows. A block has one piece of TX lines beside each other, K rows of a line in the registers of a thread: f is read once
  and u written once. The blocks of a line tell each other what leaves their pieces with nothing carried in, forwards E and backwards B, through global memory, and each then
  finds what comes into its own (the decoupled scan of one pass, in both directions). Where powers of alpha and beta fall below rounding within a piece it needs its
  neighbours' numbers only, and the pieces at both ends each other's. No block waits for more than the 63 others of its lines, which have numbers next to its own and are resident
  with it. While it waits, what a later block will load comes to the cache of the device, and what depends on the numbers of the lines alone is found.

  A number that is not there yet is +0 (a true zero is sent as -0). There are two arrays of them: one solve uses one and clears the other, so that no solve
  begins with a clearing; which one, the count of blocks that have ended says. So the workspace has to be zero before the first solve.
*/
#include "scanranks.cuh"
#include <type_traits>

/* row k of an array whose rows are `step` bytes apart */
template <typename IO>
static __device__ inline IO *scan_row(IO *row0, unsigned step, int k)
{
  return (IO *)((const char *)row0 + (size_t)step * (unsigned)k);
}

/* s.chunks pieces of a line; RANKS: ScanAlone, or ScanCut */
template <typename IO, typename W, int K, int NT, int TX, int PER, typename RANKS>
__global__ void __launch_bounds__(TX *NT, (K * sizeof(W) > 128 ? 512 : (K * sizeof(W) > 64 && TX * NT < 512 ? 768 : 1024)) / (TX * NT))
  scan_pieces(const __grid_constant__ BCRCudaScan p, const __grid_constant__ ScanShape s, const IO *f, IO *u, double2 *ws, const __grid_constant__ RANKS ranks)
{
  constexpr int             R   = K * NT;
  constexpr bool            CUT = !std::is_empty<RANKS>::value;
  extern __shared__ double2 shared[];

  const int       tx = threadIdx.x % TX, ty = threadIdx.x / TX, N = p.h + p.t, nt = BCR_CUDA_SCAN_TAB + N * (N + 2);
  const int       P = (int)s.chunks, piece = (int)(blockIdx.x % P), pad = piece ? 0 : (int)s.pad, slot = piece ? -1 : pad / K, ip = ty == slot ? pad % K : -1;
  const unsigned  group = blockIdx.x / P, at = group * TX + tx, columns = (unsigned)s.columns, column = at < columns ? at : columns - 1, inner = (unsigned)s.inner;
  const bool      active = at<columns, local = P> 4 && p.reach <= R;
  const int       needs  = local ? (piece <= 1 || piece == P - 1 ? 6 : 2) : P; /* pieces whose numbers this one needs */
  const ptrdiff_t base = column % inner + s.inner * s.n * (column / inner), first = (ptrdiff_t)R * piece + K * ty - s.pad + p.h - 1;
  double2        *ex = shared + tx, *xs = ex + NT * TX;                                           /* of the parts; of the pieces */
  double         *fe = (double *)(shared + (NT + (local ? 6 : P)) * TX) + tx, *own = fe + N * TX; /* right-hand sides at the ends; numbers of the lines */
  const unsigned  step = (unsigned)s.inner * (unsigned)sizeof(IO);                                /* bytes from row to row */
  const IO *const edge = f + base;                                                                /* row 0 of the line */
  W               x[K], y = 0, b = 0;

  f += base + s.inner * first; /* of this thread */
  u += base;
  if (PER) {
    const unsigned  i = column % inner, o = column / inner;
    const ptrdiff_t set = i / (unsigned)s.rep + s.inner / s.rep * o;

    for (int e = ty; e < nt; e += NT) __pipeline_memcpy_async(own + e * TX, p.tab + e * p.sets + set, sizeof(double));
    __pipeline_commit();
  }
  if (piece) {
#pragma unroll
    for (int k = 0; k < K; k++) x[k] = (W)*scan_row(f, step, k);
  } else {
    const int none = (int)(p.h - first); /* rows of this thread that are zeros */

#pragma unroll
    for (int k = 0; k < K; k++) x[k] = k >= none ? (W)*scan_row(f, step, k) : (W)0;
  }
  if constexpr (CUT) {
    if (piece == 0 || piece == P - 1) {
      __shared__ double sums[NT][TX];

      for (int later = group < (unsigned)ranks.lead ? 0 : 1; later < 2; later++) { /* these lines, and later ones */
        const ptrdiff_t line = (ptrdiff_t)at + later * (ptrdiff_t)ranks.lead * TX;
        const bool      more = line < s.columns;

        sums[ty][tx] = more ? scan_end<NT>(ranks, edge - base + line % inner + s.inner * s.n * (line / inner), s.inner, s.n, piece ? 1 : 0, ty) : 0;
        __syncthreads();
        if (ty == 0 && more) {
          double x = 0;

#pragma unroll
          for (int q = 0; q < NT; q++) x += sums[q][tx];
          scan_tell(ranks, line, piece ? 1 : 0, x);
        }
        __syncthreads();
      }
    }
  }
  for (int e = ty; e < N; e += NT) fe[e * TX] = (double)edge[s.inner * (e < p.h ? e : s.n - N + e)];
  const unsigned long long ended = *(volatile unsigned long long *)ws;

  if (PER) {
    __pipeline_wait_prior(0);
    __syncthreads();
  }
  const Numbers<PER> t  = {PER ? own : p.numbers, TX};
  const W            al = (W)t[0], be = (W)t[1], ga = (W)t[2];
  const Part         sk = {t[TAB_CHUNK], t[TAB_CHUNK + 1], t[TAB_CHUNK + 2]}, s1 = {t[TAB_LEVEL], t[TAB_LEVEL + 1], t[TAB_LEVEL + 2]}; /* of a part, of a piece */
  const double       qa = slot < 0 ? sk.a : t[TAB_THREAD], qb = slot < 0 ? sk.b : t[TAB_THREAD + 1];                                   /* of the first part, from the slot on where that is */

#pragma unroll
  for (int k = 0; k < K; k++) {
    y    = fma(al, y, ga * x[k]);
    x[k] = y;
  }
  if (PER || piece == 0) {
#pragma unroll
    for (int k = K - 1; k >= 0; k--)
      if (k > ip) b = fma(be, b, x[k]);
  } else {
#pragma unroll
    for (int k = K - 1; k >= 0; k--) {
      b    = fma(be, b, x[k]);
      x[k] = b;
    }
  }
  ex[ty * TX] = make_double2(y, b);
  __syncthreads();

  /* with nothing carried into the piece: what comes into this part, c, and what is to its right, r; of the piece, forwards, end */
  const unsigned all  = columns + TX - 1 - (columns - 1) % TX; /* whole groups of lines */
  const int      turn = (int)(ended / ((unsigned long long)(all / TX) * P)) & 1, begin = slot < 0 ? 0 : slot;
  double2       *post = ws + 1 + (ptrdiff_t)turn * all * P + (ptrdiff_t)group * TX * P + tx;
  double         end = 0, c = 0, r = 0, pw = 1;

#pragma unroll
  for (int q = 0; q < NT; q++) {
    const double2 v = ex[q * TX];

    if (q == ty) c = end;
    else if (q > ty) {
      r = fma(pw, fma(sk.p, end, v.y), r);
      pw *= sk.b;
    }
    end = fma(sk.a, end, v.x);
  }
  if (ty == begin) {
    const double B = fma(qb, r, (double)b);

    if (P > 1) {
      scan_send(post + piece * TX, end, B);
      post[piece * TX + (turn ? -1 : 1) * (ptrdiff_t)all * P] = make_double2(0, 0);
    } else xs[0] = make_double2(end, B);
  }
  const unsigned next = blockIdx.x + s.ahead;

  if (s.ahead && next < gridDim.x) { /* what a block after this one will load, to the cache of the device */
    const unsigned  line = next / P * TX;
    const IO       *from = edge - base + line % inner + s.inner * s.n * (line / inner);
    const ptrdiff_t row  = (ptrdiff_t)R * (next % P) + p.h - 1 - s.pad;

    for (int i = threadIdx.x; i < R; i += TX * NT)
      if (row + i >= 0)
        for (int k = 0; k < TX * (int)sizeof(IO); k += 128) scan_prefetch((const char *)(from + s.inner * (row + i)) + k);
  }
  double       va, vr, vb, wa, wr, wb, C = 0, Z = 0, s0 = 0, last = 0, d = 0, e = 0;
  const double ra = t[TAB_REST], rb = t[TAB_REST + 1];

  /* what is left of one carried into the piece (or put into the slot) and of one to its right, in this part; of d and e, in the piece */
  if (PER) scan_weights(ty, NT, slot, slot < 0 ? 1 : qa, sk, va, vr, vb);
  else scan_place(p, piece > 0, ty, NT, va, vr, vb);
  if (local) {
    wa = piece == 1 ? ra : 0;
    wr = piece == 0 ? ra * s1.p : 0;
    wb = piece == P - 1 ? 1 : 0;
  } else if (PER) scan_weights(piece, P, 0, ra, s1, wa, wr, wb);
  else scan_place(p, 2, piece, NT, wa, wr, wb);
  for (int j = ty; j < needs && P > 1; j += NT) {
    const int q = !local ? j : (j < 2 ? piece - 1 + 2 * j : (j < 4 ? j - 2 : P - 6 + j));
    double2   v = make_double2(0, 0);

    if (q >= 0 && q < P) {
      do v = scan_receive(post + q * TX);
      while (!scan_there(v));
    }
    xs[j * TX] = v;
  }
  if constexpr (CUT) {
    if (ty == NT - 1 && (needs != 2 || !local)) { /* the ends are wanted */
      double add[2];

      scan_beyond(ranks, column, piece == 0 && active, &add[0], &add[1]);
      fe[0] += add[0];
      fe[(N - 1) * TX] += add[1];
    }
  }
  __syncthreads();
  if constexpr (CUT) scan_turn(ranks.turn);
  if (threadIdx.x == 0) atomicAdd((unsigned long long *)ws, 1ULL);
  if (local) {
    C = xs[0].x;
    if (piece < P - 1) Z = fma(s1.p, end, xs[TX].y);
    if (needs > 2) {
      s0   = fma(rb, fma(s1.p, xs[2 * TX].x, xs[3 * TX].y), xs[2 * TX].y);
      last = fma(s1.a, xs[4 * TX].x, xs[5 * TX].x);
    }
  } else {
    double p0 = 1, pz = 1;

    last = xs[0].x;
#pragma unroll 4
    for (int q = 1; q <= piece; q++) {
      const double2 v = xs[q * TX];

      C  = last;
      s0 = fma(p0, fma(s1.p, last, v.y), s0);
      p0 *= s1.b;
      last = fma(s1.a, last, v.x);
    }
#pragma unroll 4
    for (int q = piece + 1; q < P; q++) {
      const double2 v = xs[q * TX];

      Z = fma(pz, fma(s1.p, last, v.y), Z);
      pz *= s1.b;
      last = fma(s1.a, last, v.x);
    }
    s0 = fma(rb, fma(p0, Z, s0), xs[0].y);
  }
  if (needs != 2 || !local) {
    ends_inner(t, fe, TX, N, p.h, s0, last, d, e);
    if (active && piece == 0 && ty == begin)
      for (int k = 0; k < p.h - 1; k++) u[s.inner * k] = (IO)ends(t, fe, TX, N, k, s0, last);
    if (active && piece == P - 1 && ty == NT - 1)
      for (int k = 0; k < p.t; k++) u[s.inner * (s.n - p.t + k)] = (IO)(k ? ends(t, fe, TX, N, p.h + k, s0, last) : e);
  }
  C = piece ? fma(wa, d, C) : d;
  Z = fma(wr, d, fma(wb, e, Z));
  c = ty == slot ? C : fma(va, C, c);
  r = fma(vr, C, fma(vb, Z, r));
  y = (W)c;
  b = (W)r;
  if (!active) return;
  IO *const to = u + s.inner * first;

  if (!PER && piece) {
    const W *thread = scan_thread<W>(p);

#pragma unroll
    for (int k = 0; k < K; k++) *scan_row(to, step, k) = (IO)fma(thread[k], y, fma(thread[K + k], b, x[k]));
  } else {
    const int none = piece ? 0 : (int)(p.h - 1 - first); /* rows of this thread that are not there */

    if (ip >= 0) y = 0;
#pragma unroll
    for (int k = 0; k < K; k++) {
      y *= al;
      if (k == ip) y = (W)c;
      x[k] += y;
    }
#pragma unroll
    for (int k = K - 1; k >= 0; k--) {
      b = fma(be, b, x[k]);
      if (k >= none) *scan_row(to, step, k) = (IO)b;
    }
  }
}

/* the cuts that there are: rows of a thread (64: in single precision), threads and lines of a block */
#define PIECES_CUTS(X) \
  X(8, 8, 32) \
  X(8, 16, 32) \
  X(16, 8, 32) \
  X(16, 16, 32) \
  X(32, 8, 32) \
  X(32, 16, 32) \
  X(32, 16, 16) \
  X(64, 8, 32)

int bcr_scan_pieces_plan(const BCRCudaScan *p, int single, ScanPlan *q)
{
  const ptrdiff_t m = p->n - p->h - p->t + 1;
  const int       N = p->h + p->t, near = p->reach <= 256;
  ScanShape      *s = &q->s;
  int             nt, e = 0, local, sms, resident;

  q->pieces = 0;
  if (p->inner == 1 || (p->tune[2] != 2 && (m <= 512 || p->tune[0] || p->tune[1] || p->tune[2] || p->tune[3]))) return 0; /* short lines: a block has them whole */
  q->K  = p->tune[2] ? p->tune[0] : (m <= 1024 ? 16 : 32);
  nt    = p->tune[2] ? p->tune[1] : (near || m <= (single ? 4096 : 8192) ? 8 : 16);
  s->tx = p->tune[2] ? p->tune[3] : (near || single || m <= 8192 ? 32 : 16);
#define X(K_, NT_, TX_) e |= q->K == K_ && nt == NT_ && s->tx == TX_ && (K_ <= 32 || single);
  PIECES_CUTS(X)
#undef X
  q->L     = (ptrdiff_t)q->K * nt;
  local    = (m + q->L - 1) / q->L > 4 && p->reach <= q->L;
  sms      = p->sms;
  resident = sms * (512 / (s->tx * nt)); /* blocks, at least */
  if (!e || (m + q->L - 1) / q->L > (local ? 128 : (resident < 64 ? resident : 64)) || s->columns >= 1 << 29) return 0;
  q->pieces  = (int)((m + q->L - 1) / q->L);
  s->parts   = nt;
  s->chunks  = q->pieces;
  s->pad     = q->L * q->pieces - m;
  q->groups  = (s->columns + s->tx - 1) / s->tx;
  q->threads = s->tx * nt;
  s->ahead   = p->inner >= s->tx && q->groups * q->pieces > resident ? (p->tune[4] ? p->tune[4] : 100) * sms / 100 : 0;
  q->shared  = (size_t)s->tx * ((nt + (local ? 6 : q->pieces)) * sizeof(double2) + (N + (p->perline ? BCR_CUDA_SCAN_NUMBERS(N) : 0)) * sizeof(double));
  return 1;
}

size_t bcr_scan_pieces_space(const ScanPlan *q)
{
  return (1 + 2 * (size_t)q->groups * q->s.tx * q->pieces) * sizeof(double2);
}

#define PIECES_RUN(K_, NT_, TX_, PER, R, r) bcr_launch_cluster(scan_pieces<IO, W, K_, NT_, TX_, PER, R>, dim3((unsigned)(q->groups * q->pieces)), dim3((unsigned)q->threads), q->shared, 1, stream, *p, q->s, f, u, (double2 *)ws, r)

template <typename IO, typename W, int PER>
static int pieces_run(BCRStream stream, const BCRCudaScan *p, const ScanPlan *q, const IO *f, IO *u, void *ws)
{
#define X(K_, NT_, TX_) \
  if constexpr (K_ * sizeof(W) <= 256) { \
    if (q->K == K_ && q->s.parts == NT_ && q->s.tx == TX_) return PIECES_RUN(K_, NT_, TX_, PER, ScanAlone, ScanAlone()); \
  }
  PIECES_CUTS(X)
#undef X
  return (int)cudaErrorInvalidConfiguration;
}

int bcr_scan_pieces(BCRStream stream, const BCRCudaScan *p, const ScanPlan *q, int single, int io, const void *f, void *u, void *ws)
{
  int e = 0;

  BCR_TRI_TYPES(single, io, e = p->perline ? pieces_run<IO, W, 1>(stream, p, q, (const IO *)f, (IO *)u, ws) : pieces_run<IO, W, 0>(stream, p, q, (const IO *)f, (IO *)u, ws));
  return e;
}

/* those of responses that reach few rows */
int bcr_scan_pieces_waits(const ScanPlan *q)
{
  return (q->K == 16 || q->K == 32) && q->s.parts == 8 && q->s.tx == 32;
}

template <typename W>
static int pieces_ranks(BCRStream stream, const BCRCudaScan *p, const ScanPlan *q, const ScanCut &r, const W *f, W *u, void *ws)
{
  typedef W IO;

  return q->K == 16 ? PIECES_RUN(16, 8, 32, 0, ScanCut, r) : PIECES_RUN(32, 8, 32, 0, ScanCut, r);
}

int bcr_scan_pieces_ranks(BCRStream stream, const BCRCudaScan *p, const ScanPlan *q, const BCRCudaScanRanks *ranks, int single, const void *f, void *u, void *ws)
{
  const ScanCut r = {*ranks, (int)(q->s.ahead ? (q->s.ahead + q->pieces - 1) / q->pieces : q->groups)};
  int           e = 0;

  BCR_CUDA_TYPE(single, e = pieces_ranks<T>(stream, p, q, r, (const T *)f, (T *)u, ws));
  return e;
}
