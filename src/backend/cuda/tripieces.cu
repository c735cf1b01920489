/*
  Lines across which memory is contiguous (along y and z) by two constant recurrences, in one pass over memory; triscan.cu has the notation.

  A line is cut into at most 32 pieces of K NT rows. A block has one piece of TX lines beside each other, K rows of a line in the registers of a thread: f is read once
  and u written once. The blocks of a line tell each other what leaves their pieces with nothing carried in, forwards E and backwards B, through global memory, and each then
  finds what comes into its own (the decoupled scan of one pass, in both directions). Where powers of alpha and beta fall below rounding within a piece it needs its
  neighbours' numbers only, and the pieces at both ends each other's. No block waits for more than the 31 others of its lines, which have numbers next to its own and are resident
  with it.

  A number that is not there yet is +0 (a true zero is sent as -0). There are two arrays of them: one solve uses one and clears the other, so that no solve
  begins with a clearing; which one, the count of blocks that have ended says. So the workspace has to be zero before the first solve.
*/
#include "triscan.cuh"

/* s.chunks pieces of a line */
template <typename IO, typename W, int K, int NT, int TX, int PER>
__global__ void __launch_bounds__(TX *NT, K * sizeof(W) > 128 ? 512 / (TX * NT) : (K * sizeof(W) > 64 ? 768 / (TX * NT) : 1024 / (TX * NT)))
  scan_pieces(const __grid_constant__ BCRCudaScan p, const __grid_constant__ ScanShape s, const IO *f, IO *u, double2 *ws)
{
  constexpr int             R = K * NT;
  extern __shared__ double2 shared[];

  const int       tx = threadIdx.x % TX, ty = threadIdx.x / TX, N = p.h + p.t, nt = BCR_CUDA_SCAN_TAB + N * (N + 2);
  const int       P = (int)s.chunks, piece = (int)(blockIdx.x % P), pad = piece ? 0 : (int)s.pad, slot = piece ? -1 : pad / K, ip = ty == slot ? pad % K : -1;
  const unsigned  group = blockIdx.x / P, at = group * TX + tx, columns = (unsigned)s.columns, column = at < columns ? at : columns - 1, inner = (unsigned)s.inner;
  const bool      active = at<columns, local = P> 4 && p.reach <= R;
  const ptrdiff_t base = column % inner + s.inner * s.n * (column / inner), first = (ptrdiff_t)R * piece + K * ty - s.pad + p.h - 1;
  double2        *ex = shared + tx, *xs = ex + NT * TX;                                                     /* of the parts; of the pieces, where all are needed */
  double         *fe = (double *)(shared + (NT + (local || P == 1 ? 0 : P)) * TX) + tx, *own = fe + N * TX; /* right-hand sides at the ends; numbers of the lines */
  W               x[K], y = 0, b = 0;

  f += base;
  u += base;
  if (first >= p.h) {
    const IO *from = f + s.inner * first;

#pragma unroll
    for (int k = 0; k < K; k++) x[k] = (W)from[s.inner * k];
  } else {
#pragma unroll
    for (int k = 0; k < K; k++) x[k] = first + k >= p.h ? (W)f[s.inner * (first + k)] : (W)0;
  }
  if (PER) {
    const unsigned  i = column % inner, o = column / inner;
    const ptrdiff_t set = i / (unsigned)s.rep + s.inner / s.rep * o;

    for (int e = ty; e < nt; e += NT) __pipeline_memcpy_async(own + e * TX, p.tab + e * p.sets + set, sizeof(double));
    __pipeline_commit();
  }
  for (int e = ty; e < N; e += NT) fe[e * TX] = (double)f[s.inner * (e < p.h ? e : s.n - N + e)];
  const unsigned long long ended = *(volatile unsigned long long *)ws;

  if (PER) {
    __pipeline_wait_prior(0);
    __syncthreads();
  }
  const Numbers<PER> t  = {PER ? own : p.numbers, TX};
  const W            al = (W)t[0], be = (W)t[1], ga = (W)t[2];

#pragma unroll
  for (int k = 0; k < K; k++) {
    y    = fma(al, y, ga * x[k]);
    x[k] = y;
  }
#pragma unroll
  for (int k = K - 1; k >= 0; k--)
    if (k > ip) b = fma(be, b, x[k]);
  ex[ty * TX] = make_double2(y, b);
  __syncthreads();

  /* a thread for each line */
  const unsigned all  = columns + TX - 1 - (columns - 1) % TX; /* whole groups of lines */
  const int      turn = (int)(ended / ((unsigned long long)(all / TX) * P)) & 1;
  double2       *post = ws + 1 + (ptrdiff_t)turn * all * P + (ptrdiff_t)group * TX * P + tx;
  const Part     sk   = {t[TAB_CHUNK], t[TAB_CHUNK + 1], t[TAB_CHUNK + 2]};
  double         qa = 1, qb = 1, c = 0, r = 0;

  if (ty == 0) {
    double pw = 1, here = 0;

    if (slot >= 0) {
      qa = t[TAB_THREAD];
      qb = t[TAB_THREAD + 1];
    }
#pragma unroll
    for (int q = 0; q < NT; q++) { /* the piece, with nothing carried in */
      const double2 v = ex[q * TX];

      if (q == slot) here = v.y;
      else if (q > slot) {
        r = fma(pw, fma(sk.p, c, v.y), r);
        pw *= sk.b;
      }
      c = fma(sk.a, c, v.x);
    }
    if (slot >= 0) r = fma(qb, r, here);
    if (P > 1) {
      scan_send(post + piece * TX, c, r);
      post[piece * TX + (turn ? -1 : 1) * (ptrdiff_t)all * P] = make_double2(0, 0);
    }
  }
  if (P > 1 && !local) {
    for (int q = ty; q < P; q += NT) {
      double2 v;

      do v = scan_receive(post + q * TX);
      while (!scan_there(v));
      xs[q * TX] = v;
    }
    __syncthreads();
  }
  if (ty == 0) {
    const Part   s1 = {t[TAB_LEVEL], t[TAB_LEVEL + 1], t[TAB_LEVEL + 2]};
    const double ra = t[TAB_REST], rb = t[TAB_REST + 1];
    double       d = 0, e = 0, s0 = r, last = c, C = 0, right = 0, va = 0, vr = 0, ve = 0; /* into this piece: C + va d; to its right: right + vr d + ve e */
    const bool   edge = !local || piece <= 1 || piece == P - 1;

    if (local) {
      double2 v[4];

      if (piece) {
        do v[0] = scan_receive(post + (piece - 1) * TX);
        while (!scan_there(v[0]));
        C = v[0].x;
      }
      if (piece < P - 1) {
        do v[0] = scan_receive(post + (piece + 1) * TX);
        while (!scan_there(v[0]));
        right = fma(s1.p, c, v[0].y);
      }
      if (edge) {
#pragma unroll
        for (int q = 0; q < 4; q++) {
          const int k = q < 2 ? q : P - 4 + q;

          do v[q] = k == piece ? make_double2(c, r) : scan_receive(post + k * TX);
          while (k != piece && !scan_there(v[q]));
        }
        s0   = fma(rb, fma(s1.p, v[0].x, v[1].y), v[0].y);
        last = fma(s1.a, v[2].x, v[3].x);
        va   = piece == 1 ? ra : 0;
        vr   = piece == 0 ? ra * s1.p : 0;
        ve   = piece == P - 1 ? 1 : 0;
      }
    } else if (P > 1) {
      double r0 = 0, p0 = 1, cd = ra;

      last = 0;
      ve   = 1;
#pragma unroll 4
      for (int q = 0; q < P; q++) {
        const double2 v = xs[q * TX];

        if (q == piece) {
          C  = last;
          va = cd;
        }
        if (q) {
          r0 = fma(p0, fma(s1.p, last, v.y), r0);
          p0 *= s1.b;
          if (q > piece) {
            right = fma(ve, fma(s1.p, last, v.y), right);
            vr    = fma(ve * s1.p, cd, vr);
            ve *= s1.b;
          }
          cd *= s1.a;
        }
        last = fma(s1.a, last, v.x);
      }
      s0 = fma(rb, r0, xs[0].y);
    } else ve = 1;
    if (edge) {
      d = ends(t, fe, TX, N, p.h - 1, s0, last);
      e = ends(t, fe, TX, N, p.h, s0, last);
      if (active && piece == 0)
        for (int k = 0; k < p.h - 1; k++) u[s.inner * k] = (IO)ends(t, fe, TX, N, k, s0, last);
      if (active && piece == P - 1)
        for (int k = 0; k < p.t; k++) u[s.inner * (s.n - p.t + k)] = (IO)(k ? ends(t, fe, TX, N, p.h + k, s0, last) : e);
    }
    /* into each part, with d where the slot is, and to its right */
    c = piece ? fma(va, d, C) : d;
    r = fma(ve, e, fma(vr, d, right));
#pragma unroll
    for (int q = 0; q < NT; q++) {
      const double2 v = ex[q * TX];

      if (q >= slot) {
        ex[q * TX] = make_double2(c, q == slot ? v.y : fma(sk.p, c, v.y));
        c          = fma(q == slot ? qa : sk.a, c, v.x);
      }
    }
#pragma unroll
    for (int q = NT - 1; q >= 0; q--) {
      const double v = ex[q * TX].y;

      ex[q * TX].y = r;
      r            = fma(sk.b, r, v);
    }
    if (tx == 0) atomicAdd((unsigned long long *)ws, 1ULL);
  }
  __syncthreads();
  const double2 carry = ex[ty * TX];

  y = ip >= 0 ? (W)0 : (W)carry.x;
  b = (W)carry.y;
#pragma unroll
  for (int k = 0; k < K; k++) {
    y *= al;
    if (k == ip) y = (W)carry.x;
    x[k] += y;
  }
  if (!active) return;
  if (first >= p.h) {
    IO *to = u + s.inner * first;

#pragma unroll
    for (int k = K - 1; k >= 0; k--) {
      b               = fma(be, b, x[k]);
      to[s.inner * k] = (IO)b;
    }
  } else {
#pragma unroll
    for (int k = K - 1; k >= 0; k--) {
      b = fma(be, b, x[k]);
      if (first + k >= p.h - 1) u[s.inner * (first + k)] = (IO)b;
    }
  }
}

/* the cuts that there are: rows of a thread, threads and lines of a block */
#define PIECES_CUTS(X) \
  X(8, 8, 32) \
  X(8, 16, 32) \
  X(16, 8, 32) \
  X(16, 16, 32) \
  X(32, 8, 32) \
  X(32, 16, 32) \
  X(32, 16, 16)

int bcr_scan_pieces_plan(const BCRCudaScan *p, int single, int io, ScanPlan *q)
{
  const ptrdiff_t m = p->n - p->h - p->t + 1;
  ScanShape      *s = &q->s;
  int             nt, e = 0;

  (void)single;
  (void)io;
  q->pieces = 0;
  if (p->inner == 1 || (p->tune[2] != 2 && (m <= 512 || p->tune[0] || p->tune[1] || p->tune[2] || p->tune[3]))) return 0; /* short lines: a block has them whole */
  q->K  = p->tune[2] ? p->tune[0] : (m <= 1024 ? 16 : 32);
  nt    = p->tune[2] ? p->tune[1] : (m <= 8192 ? 8 : 16);
  s->tx = p->tune[2] ? p->tune[3] : 32;
#define X(K_, NT_, TX_) e |= q->K == K_ && nt == NT_ && s->tx == TX_;
  PIECES_CUTS(X)
#undef X
  q->L = (ptrdiff_t)q->K * nt;
  if (!e || (m + q->L - 1) / q->L > 32 || s->columns > 1 << 30) return 0;
  q->pieces  = (int)((m + q->L - 1) / q->L);
  s->parts   = nt;
  s->chunks  = q->pieces;
  s->pad     = q->L * q->pieces - m;
  q->groups  = (s->columns + s->tx - 1) / s->tx;
  q->threads = s->tx * nt;
  q->shared  = (size_t)s->tx * ((nt + (q->pieces > 1 ? q->pieces : 0)) * sizeof(double2) + (p->h + p->t + (p->perline ? BCR_CUDA_SCAN_NUMBERS(p->h + p->t) : 0)) * sizeof(double));
  return 1;
}

size_t bcr_scan_pieces_space(const ScanPlan *q)
{
  return (1 + 2 * (size_t)q->groups * q->s.tx * q->pieces) * sizeof(double2);
}

template <typename IO, typename W, int PER> static int pieces_run(BCRStream stream, const BCRCudaScan *p, const ScanPlan *q, const IO *f, IO *u, void *ws)
{
#define X(K_, NT_, TX_) \
  if (q->K == K_ && q->s.parts == NT_ && q->s.tx == TX_) return bcr_launch_cluster(scan_pieces<IO, W, K_, NT_, TX_, PER>, dim3((unsigned)(q->groups * q->pieces)), dim3((unsigned)q->threads), q->shared, 1, stream, *p, q->s, f, u, (double2 *)ws);
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
