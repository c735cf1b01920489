/*
  Lines across which memory is contiguous (along y and z) by two constant recurrences, in one pass
  over memory; triscan.cu has the notation.

  A line is cut into pieces of K NT rows. A block has one piece of TX lines beside each other, K
  rows of a line in the registers of a thread: f is read once and u written once. The blocks of a
  line tell each other what leaves their pieces with nothing carried in, forwards E and backwards B,
  through global memory, and each then finds what comes into its own (the decoupled scan of one
  pass, in both directions). Where powers of alpha and beta fall below rounding within a piece it
  needs its neighbours' numbers only, and the pieces at both ends each other's. No block waits for
  more than the 127 others of its lines, which have numbers next to its own and are resident with
  it.

  While a block waits, what a later one will load comes to the cache of the device, and what depends
  on the numbers of the lines alone is found. Where a piece is a whole line, as many blocks as are
  resident go from group of lines to group of lines instead: what comes next is then on its way to
  shared memory while a block works and stores (a thread finds there what it has asked for itself,
  and asks for more as soon as its rows are in registers).

  A number that is not there yet is +0 (a true zero is sent as -0). There are two arrays of them:
  one solve uses one and clears the other, so that no solve begins with a clearing; which one, the
  count of pieces that have ended says. So the workspace has to be zero before the first solve.
*/
#include "scanranks.cuh"
#include <type_traits>

/* row k of an array whose rows are `step` bytes apart */
template <typename IO>
static __device__ inline IO *scan_row(IO *row0, unsigned step, int k)
{
  return (IO *)((const char *)row0 + (size_t)step * (unsigned)k);
}

/* Blocks that a multiprocessor should have room for: by the bytes of K rows, which are in registers, it has 512, 768 or
   1024 threads. Not measured apart from the cuts */
static constexpr int pieces_blocks(int size, int K, int threads)
{
  return (K * size > 128 ? 512 : (K * size > 64 && threads < 512 ? 768 : 1024)) / threads;
}

/* s.chunks pieces of a line; RANKS: ScanAlone, or ScanCut */
template <typename IO, typename W, int K, int NT, int TX, int PER, typename RANKS>
__global__ void __launch_bounds__(TX *NT, pieces_blocks(sizeof(W), K, TX *NT))
  scan_pieces(const __grid_constant__ BCRCudaScan p, const __grid_constant__ ScanShape s, const IO *f, IO *u,
              double2 *ws, const __grid_constant__ RANKS ranks)
{
  constexpr int R = K * NT, T = TX * NT;
  constexpr bool CUT = !std::is_empty<RANKS>::value;
  extern __shared__ double2 shared[];

  const int tx = threadIdx.x % TX, ty = threadIdx.x / TX, N = p.h + p.t, nt = PER ? BCR_CUDA_SCAN_TAB + N * (N + 2) : 0;
  const int P = (int)s.chunks, piece = (int)(blockIdx.x % P), pad = piece ? 0 : (int)s.pad, slot = piece ? -1 : pad / K,
            ip = ty == slot ? pad % K : -1;
  const unsigned columns = (unsigned)s.columns, inner = (unsigned)s.inner, groups = (columns + TX - 1) / TX,
                 by = gridDim.x / P;
  const bool local = P > 4 && p.reach <= R;
  /* pieces whose numbers this one needs */
  const int needs = local ? (piece <= 1 || piece == P - 1 ? 6 : 2) : P;
  const bool edges = !local || needs > 2; /* and the ends */
  /* each thread puts them together: else those of the first part, for all */
  const bool each = local || P == 1;
  /* row of this thread's first position */
  const ptrdiff_t first = (ptrdiff_t)R * piece + K * ty - s.pad + p.h - 1;
  /* rows of this thread that are zeros */
  const int none = piece ? 0 : (int)(p.h - first);
  /* bytes from row to row */
  const unsigned step = inner * (unsigned)sizeof(IO);
  /* of the parts; of the pieces; what other ranks add at the ends */
  double2 *ex = shared + tx, *xs = ex + T, *adds = xs + (local ? 6 : P) * TX;
  /* numbers of the lines, and those to come; so the right-hand sides at their ends; rows to come */
  double *own = (double *)(shared + T + ((local ? 6 : P) + (CUT ? 1 : 0)) * TX) + tx;
  const int halves = P == 1 ? 2 : 1;
  IO *fe = (IO *)(own - tx + halves * nt * TX) + tx, *tile = fe - tx + halves * N * TX + threadIdx.x;

  const auto column_of = [&](unsigned group) { return group * TX + tx < columns ? group * TX + tx : columns - 1; };
  const auto row0 = [&](unsigned column) { return column % inner + s.inner * s.n * (column / inner); };

  /* what this thread alone uses; what the block uses */
  const auto fetch = [&](unsigned group) {
    const IO *from = f + row0(column_of(group)), *mine = from + s.inner * first;

    if (piece) {
#pragma unroll
      for (int k = 0; k < K; k++) __pipeline_memcpy_async(tile + k * T, scan_row(mine, step, k), sizeof(IO));
    } else {
#pragma unroll
      for (int k = 0; k < K; k++)
        __pipeline_memcpy_async(tile + k * T, k < none ? from : scan_row(mine, step, k), sizeof(IO),
                                k < none ? sizeof(IO) : 0);
    }
    __pipeline_commit();
  };

  const auto fetch_numbers = [&](unsigned group, int half) {
    const unsigned column = column_of(group);

    if (edges)
      for (int e = ty; e < N; e += NT)
        __pipeline_memcpy_async(fe + (half * N + e) * TX, f + row0(column) + s.inner * (e < p.h ? e : s.n - N + e),
                                sizeof(IO));
    if (PER) {
      const ptrdiff_t set = column % inner / (unsigned)s.rep + s.inner / s.rep * (column / inner);

      for (int e = ty; e < nt; e += NT)
        __pipeline_memcpy_async(own + (half * nt + e) * TX, p.tab + e * p.sets + set, sizeof(double));
    }
    __pipeline_commit();
  };
  unsigned group = blockIdx.x / P;
  W x[K];

  bcr_go_after();
  bcr_wait_before();
  {
    const IO *mine = f + row0(column_of(group)) + s.inner * first;

    if (piece) {
#pragma unroll
      for (int k = 0; k < K; k++) x[k] = (W)*scan_row(mine, step, k);
    } else {
#pragma unroll
      for (int k = 0; k < K; k++) x[k] = k >= none ? (W)*scan_row(mine, step, k) : (W)0;
    }
  }
  fetch_numbers(group, 0);
  const unsigned long long ended = *(volatile unsigned long long *)ws;
  const unsigned all = groups * TX;
  std::conditional_t<CUT, ScanSlots, ScanAlone> slots;

  if constexpr (CUT) slots = scan_slots(ranks);
  const int turn = (int)(ended / ((unsigned long long)groups * P)) & 1, begin = slot < 0 ? 0 : slot;

#pragma unroll 1
  for (int half = 0; group < groups; group += by, half ^= 1) {
    const unsigned at = group * TX + tx, column = column_of(group);
    const bool active = at < columns, more = group + by < groups;
    const IO *fh = fe + half * N * TX;
    W y = 0, b = 0;

    if constexpr (CUT) {
      if (!ranks.late && (piece == 0 || piece == P - 1)) {
        __shared__ double sums[NT][TX];

        for (int later = group < (unsigned)ranks.lead ? 0 : 1; later < 2; later++) { /* these lines, and later ones */
          const unsigned line = at + (unsigned)(later * ranks.lead) * TX;
          const bool have = line < columns;

          sums[ty][tx] = have ? scan_end<NT>(ranks, f + row0(line), s.inner, s.n, piece ? 1 : 0, ty) : 0;
          __syncthreads();
          if (ty == 0 && have) {
            double sum = 0;

#pragma unroll
            for (int q = 0; q < NT; q++) sum += sums[q][tx];
            scan_tell(ranks, slots, line, piece ? 1 : 0, sum);
          }
          __syncthreads();
        }
      }
    }
    __pipeline_wait_prior(0);
    if (PER) __syncthreads();
    if (group >= by) {
#pragma unroll
      for (int k = 0; k < K; k++) x[k] = (W)tile[k * T];
    }
    if (more) fetch(group + by);
    const Numbers<PER> t = {PER ? own + half * nt * TX : p.numbers, TX};
    const W al = (W)t[0], be = (W)t[1], ga = (W)t[2];
    /* of a part, of a piece */
    const Part sk = {t[TAB_CHUNK], t[TAB_CHUNK + 1], t[TAB_CHUNK + 2]},
               s1 = {t[TAB_LEVEL], t[TAB_LEVEL + 1], t[TAB_LEVEL + 2]};
    /* of the first part, from the slot on where that is */
    const double qa = slot < 0 ? sk.a : t[TAB_THREAD], qb = slot < 0 ? sk.b : t[TAB_THREAD + 1];

#pragma unroll
    for (int k = 0; k < K; k++) {
      y = fma(al, y, ga * x[k]);
      x[k] = y;
    }
    if (PER || piece == 0) {
#pragma unroll
      for (int k = K - 1; k >= 0; k--)
        if (k > ip) b = fma(be, b, x[k]);
    } else {
#pragma unroll
      for (int k = K - 1; k >= 0; k--) {
        b = fma(be, b, x[k]);
        x[k] = b;
      }
    }
    ex[ty * TX] = make_double2(y, b);
    __syncthreads();
    if (more) fetch_numbers(group + by, half ^ 1);

    /* with nothing carried into the piece: what comes into this part, c, and what is to its right,
       r; of the piece, forwards, end */
    double2 *post = ws + 1 + (ptrdiff_t)turn * all * P + (ptrdiff_t)group * TX * P + tx;
    double end = 0, c = 0, r = 0, pw = 1;

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
      const IO *from = f + (next / P * TX % inner + s.inner * s.n * (next / P * TX / inner));
      const ptrdiff_t row = (ptrdiff_t)R * (next % P) + p.h - 1 - s.pad;

      for (int i = threadIdx.x; i < R; i += T)
        if (row + i >= 0)
          for (int k = 0; k < TX * (int)sizeof(IO); k += 128)
            scan_prefetch((const char *)(from + s.inner * (row + i)) + k);
    }
    double va, vr, vb, wa, wr, wb, C = 0, Z = 0, s0 = 0, last = 0, d = 0, e = 0;
    const double ra = t[TAB_REST], rb = t[TAB_REST + 1];

    /* what is left of one carried into the piece (or put into the slot) and of one to its right, in
       this part; of d and e, in the piece */
    if (PER) scan_weights(ty, NT, slot, slot < 0 ? 1 : qa, sk, va, vr, vb);
    else scan_place(p, piece > 0, ty, NT, va, vr, vb);
    if (local) {
      wa = piece == 1 ? ra : 0;
      wr = piece == 0 ? ra * s1.p : 0;
      wb = piece == P - 1 ? 1 : 0;
    } else if (PER) {
      if (each || ty == 0) scan_weights(piece, P, 0, ra, s1, wa, wr, wb);
    } else scan_place(p, 2, piece, NT, wa, wr, wb);
    for (int j = ty; j < needs && P > 1; j += NT) {
      const int q = !local ? j : (j < 2 ? piece - 1 + 2 * j : (j < 4 ? j - 2 : P - 6 + j));
      double2 v = make_double2(0, 0);

      if (q >= 0 && q < P) {
        do v = scan_receive(post + q * TX);
        while (!scan_there(v));
      }
      xs[j * TX] = v;
    }
    if constexpr (CUT) {
      if (!ranks.late && edges && ty == NT - 1) adds[0] = scan_beyond(ranks, slots, column, piece == 0 && active, 0, 0);
    }
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd((unsigned long long *)ws, 1ULL);
    if (local) {
      C = xs[0].x;
      if (piece < P - 1) Z = fma(s1.p, end, xs[TX].y);
      if (needs > 2) {
        s0 = fma(rb, fma(s1.p, xs[2 * TX].x, xs[3 * TX].y), xs[2 * TX].y);
        last = fma(s1.a, xs[4 * TX].x, xs[5 * TX].x);
      }
    } else if (each || ty == 0) {
      double p0 = 1, pz = 1;

      last = xs[0].x;
#pragma unroll 4
      /* s0 and last to the last bit as the other pieces have them: where rows on other ranks reach
         all others, solutions hang on these digits */
      for (int q = 1; q < P; q++) {
        const double2 v = xs[q * TX];
        const double x = fma(s1.p, last, v.y);

        s0 = fma(p0, x, s0);
        p0 *= s1.b;
        if (q <= piece) C = last;
        else {
          Z = fma(pz, x, Z);
          pz *= s1.b;
        }
        last = fma(s1.a, last, v.x);
      }
      s0 = fma(rb, s0, xs[0].y);
    }
    if (edges && (each || ty == 0)) {
      ends_inner(t, fh, TX, N, p.h, s0, last, d, e);
      if constexpr (CUT) {
        double2 add = make_double2(0, 0);

        if (ranks.late && ty == 0) { /* from these ends, without the rows beyond, comes what the other ranks need */
          const double2 g =
            scan_ends(ranks, p, ends(t, fh, TX, N, 0, s0, last), e, ends(t, fh, TX, N, N - 1, s0, last), s0);

          if (piece == 0 && active) scan_tell_both(ranks, slots, column, g);
          adds[0] = scan_beyond(ranks, slots, column, piece == 0 && active, g.x, g.y);
        }
        if (ranks.late && each) __syncthreads();
        add = adds[0];
        d += ends_add(t, N, p.h - 1, add);
        e += ends_add(t, N, p.h, add);
      }
      if (active && ty == 0) {
        const double2 add = CUT ? adds[0] : make_double2(0, 0);

        if (piece == 0)
          for (int k = 0; k < p.h - 1; k++)
            u[row0(column) + s.inner * k] = (IO)(ends(t, fh, TX, N, k, s0, last) + ends_add(t, N, k, add));
        if (piece == P - 1)
          for (int k = p.h; k < N; k++)
            u[row0(column) + s.inner * (s.n - N + k)] = (IO)(ends(t, fh, TX, N, k, s0, last) + ends_add(t, N, k, add));
      }
    }
    if (each || ty == 0) {
      C = piece ? fma(wa, d, C) : d;
      Z = fma(wr, d, fma(wb, e, Z));
    }
    if (!each) {
      if (ty == 0) xs[0] = make_double2(C, Z);
      __syncthreads();
      C = xs[0].x;
      Z = xs[0].y;
    }
    c = ty == slot ? C : fma(va, C, c);
    r = fma(vr, C, fma(vb, Z, r));
    y = (W)c;
    b = (W)r;
    if (!active) continue;
    IO *const to = u + row0(column) + s.inner * first;

    if (!PER && piece) {
      const W *thread = scan_thread<W>(p);

#pragma unroll
      for (int k = 0; k < K; k++) *scan_row(to, step, k) = (IO)fma(thread[k], y, fma(thread[K + k], b, x[k]));
    } else {
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
        if (k >= none - 1) *scan_row(to, step, k) = (IO)b;
      }
    }
  }
  if constexpr (CUT) scan_ended(ranks, threadIdx.x == 0);
}

/* The cuts that bcr_scan_pieces_plan() chooses from: rows of a thread (64: of fields in single precision), threads of a
   line in a block, lines of a block. Three more, which no plan chose, are gone (commit f372634) */
#define PIECES_CUTS(X) \
  X(16, 8, 32) \
  X(32, 8, 32) \
  X(32, 16, 16) \
  X(32, 16, 32) \
  X(64, 8, 32)

enum {
  PIECES_NEAR = 256,  /* ends that reach at most so many rows have cuts of their own (commits f5d5add, 570e114) */
  PIECES_SHORT = 512, /* lines of more rows are cut into pieces; a piece is a whole line of as many at most */
  /* and of more rows than so many at least, in double and in float; with fields of float threads have 64 rows from the
     former on. Not measured apart */
  PIECES_WHOLE_DOUBLE = 256,
  PIECES_WHOLE_SINGLE = 128,
  PIECES_FEW = 1024,        /* lines of more rows have 32 rows of a thread, not 16; */
  PIECES_LONG = 8000,       /* of more rows 16 threads, not 8, and in double 16 lines in a block, not 32 */
  PIECES_LONG_MIXED = 4096, /* and in float with fields of double (commits 073f1f3, 7a2cf34) */
  PIECES_WHOLE = 4,         /* blocks of whole lines for each multiprocessor, at least. Not measured apart */
  PIECES_LOCAL = 128,       /* pieces of a line at most, where each waits for its neighbours and the ends (f5d5add), */
  PIECES_ALL = 64,          /* and where each waits for all, and reads their numbers. Not measured apart */
  PIECES_AHEAD = 100 /* per cent, BCR_CUDA_SCAN_AHEAD: cuda_lines -suites tune -ahead on an H200 (commit eb9a8c7) */
};

/* Bytes of shared memory of a block. later: there is room for what comes next */
static size_t pieces_shared(const BCRCudaScan *p, int K, int nt, int tx, ptrdiff_t pieces, int local, size_t size,
                            int later)
{
  const size_t N = (size_t)(p->h + p->t), numbers = p->perline ? BCR_CUDA_SCAN_NUMBERS(N) : 0, halves = later ? 2 : 1;

  return (size_t)tx * ((size_t)(nt + (local ? 6 : pieces) + 1) * sizeof(double2) +
                       halves * (numbers * sizeof(double) + N * size) + (later ? (size_t)nt * (size_t)K * size : 0));
}

/* The cut by the rows m of a line was chosen on an H200 by cuda_lines -suites tune (commits 073f1f3, f5d5add, 570e114,
   7a2cf34); times with it: bench/results/h200_lines.csv */
int bcr_scan_pieces_plan(const BCRCudaScan *p, int single, int io, ScanPlan *q)
{
  const ptrdiff_t m = p->n - p->h - p->t + 1, columns = p->inner * p->outer;
  /* short lines of which there are many: a piece is a line */
  const int near = p->reach <= PIECES_NEAR, whole = m > (single ? PIECES_WHOLE_SINGLE : PIECES_WHOLE_DOUBLE) &&
                                                    m <= PIECES_SHORT && (columns + 31) / 32 >= PIECES_WHOLE * p->sms;
  const size_t size = single && !io ? sizeof(float) : sizeof(double);
  ScanShape *s = &q->s;
  int nt, e = 0, local, blocks;
  ptrdiff_t by;

  q->pieces = 0;
  /* other short lines: triscan.cu */
  if (p->inner == 1 || (p->tune[BCR_CUDA_SCAN_WAY] != 2 &&
                        ((m <= PIECES_SHORT && !whole) || p->tune[BCR_CUDA_SCAN_ROWS] || p->tune[BCR_CUDA_SCAN_PARTS] ||
                         p->tune[BCR_CUDA_SCAN_WAY] || p->tune[BCR_CUDA_SCAN_COLUMNS])))
    return 0;
  if (p->tune[BCR_CUDA_SCAN_WAY]) {
    q->K = p->tune[BCR_CUDA_SCAN_ROWS];
    nt = p->tune[BCR_CUDA_SCAN_PARTS];
    s->tx = p->tune[BCR_CUDA_SCAN_COLUMNS];
  } else if (whole) {
    q->K = single && !io && m > PIECES_WHOLE_DOUBLE ? 64 : 32;
    nt = q->K * 8 >= m ? 8 : 16;
    s->tx = 32;
  } else {
    q->K = m <= PIECES_FEW ? 16 : (single && !io ? 64 : 32);
    nt = near || m <= (single && io ? PIECES_LONG_MIXED : PIECES_LONG) || q->K == 64 ? 8 : 16;
    s->tx = near || single || m <= PIECES_LONG ? 32 : 16;
  }
#define X(K_, NT_, TX_) e |= q->K == K_ && nt == NT_ && s->tx == TX_ && (K_ <= 32 || (single && !io));
  PIECES_CUTS(X)
#undef X
  if (!e) return 0;
  q->L = (ptrdiff_t)q->K * nt;
  by = (m + q->L - 1) / q->L;
  local = by > 4 && p->reach <= q->L;
  q->threads = s->tx * nt;
  q->groups = (s->columns + s->tx - 1) / s->tx;
  q->shared = pieces_shared(p, q->K, nt, s->tx, by, local, size, by == 1);
  blocks = pieces_blocks(single ? sizeof(float) : sizeof(double), q->K, q->threads);
  if ((size_t)blocks > (p->shared + BCR_CUDA_SHARED_RESERVED) / (q->shared + BCR_CUDA_SHARED_RESERVED))
    blocks = (int)((p->shared + BCR_CUDA_SHARED_RESERVED) / (q->shared + BCR_CUDA_SHARED_RESERVED));
  blocks *= p->sms; /* resident, at least */
  if (by == 1 && p->tune[BCR_CUDA_SCAN_AHEAD]) blocks = (blocks * p->tune[BCR_CUDA_SCAN_AHEAD] + 99) / 100;
  if (q->shared > p->shared || by > (local ? PIECES_LOCAL : PIECES_ALL) || by > blocks || s->columns >= 1 << 29)
    return 0;
  q->pieces = (int)by;
  s->parts = nt;
  s->chunks = q->pieces;
  s->pad = q->L * q->pieces - m;
  /* as few as take no more turns */
  if (by == 1 && q->groups > blocks)
    q->blocks = (q->groups + (q->groups + blocks - 1) / blocks - 1) / ((q->groups + blocks - 1) / blocks);
  else {
    q->blocks = q->groups * by;
    if (by > 1 && p->inner >= s->tx && q->blocks > blocks)
      s->ahead = (p->tune[BCR_CUDA_SCAN_AHEAD] ? p->tune[BCR_CUDA_SCAN_AHEAD] : (int)PIECES_AHEAD) * p->sms / 100;
  }
  return 1;
}

size_t bcr_scan_pieces_space(const ScanPlan *q)
{
  return (1 + 2 * (size_t)q->groups * q->s.tx * q->pieces) * sizeof(double2);
}

#define PIECES_RUN(K_, NT_, TX_, PER, R, r) \
  bcr_launch_lines(1, scan_pieces<IO, W, K_, NT_, TX_, PER, R>, dim3((unsigned)q->blocks), dim3((unsigned)q->threads), \
                   q->shared, 1, stream, *p, q->s, f, u, (double2 *)ws, r)

template <typename IO, typename W, int PER>
static int pieces_run(BCRStream stream, const BCRCudaScan *p, const ScanPlan *q, const IO *f, IO *u, void *ws)
{
#define X(K_, NT_, TX_) \
  if constexpr (K_ * sizeof(IO) <= 256) { \
    if (q->K == K_ && q->s.parts == NT_ && q->s.tx == TX_) \
      return PIECES_RUN(K_, NT_, TX_, PER, ScanAlone, ScanAlone()); \
  }
  PIECES_CUTS(X)
#undef X
  return (int)cudaErrorInvalidConfiguration;
}

int bcr_scan_pieces(BCRStream stream, const BCRCudaScan *p, const ScanPlan *q, int single, int io, const void *f,
                    void *u, void *ws)
{
  int e = (int)cudaErrorInvalidValue;

  BCR_TRI_TYPES(single, io,
                e = p->perline ? pieces_run<IO, W, 1>(stream, p, q, (const IO *)f, (IO *)u, ws)
                               : pieces_run<IO, W, 0>(stream, p, q, (const IO *)f, (IO *)u, ws));
  return e;
}

int bcr_scan_pieces_waits(const ScanPlan *q)
{
  return q->blocks >= q->groups * q->pieces; /* no blocks that go on */
}

template <typename W>
static int pieces_ranks(BCRStream stream, const BCRCudaScan *p, const ScanPlan *q, const ScanCut &r, const W *f, W *u,
                        void *ws)
{
  typedef W IO;

#define X(K_, NT_, TX_) \
  if constexpr (K_ * sizeof(IO) <= 256) { \
    if (q->K == K_ && q->s.parts == NT_ && q->s.tx == TX_) return PIECES_RUN(K_, NT_, TX_, 0, ScanCut, r); \
  }
  PIECES_CUTS(X)
#undef X
  return (int)cudaErrorInvalidConfiguration;
}

int bcr_scan_pieces_ranks(BCRStream stream, const BCRCudaScan *p, const ScanPlan *q, const BCRCudaScanRanks *ranks,
                          int single, const void *f, void *u, void *ws)
{
  /* twice as many as are at work */
  const ScanCut r = {*ranks, (int)(q->s.ahead ? (4 * q->s.ahead + q->pieces - 1) / q->pieces : q->groups),
                     (unsigned)q->blocks};
  int e = (int)cudaErrorInvalidValue;

  BCR_CUDA_FIELD(single, e = pieces_ranks<T>(stream, p, q, r, (const T *)f, (T *)u, ws));
  return e;
}
