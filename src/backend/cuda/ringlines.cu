/*
  Lines along z of ring.h, one for each mode of a plane, in one pass over memory.

  With mu the root of -1, 2 + sigma, -1 and v the solution for g, Y_i = v_i/mu - v_(i+1) has Y_i = mu Y_(i-1) + g_i, and v_i = mu (Y_i + v_(i+1)). A
  thread has some rows of a line in registers, and from E = sum mu^(L-i) g_i and B = sum mu^(i-1) Y_i (for Y_0 = 0) of all
  the line's segments, which go through shared memory, follow the carries Y_0 and V = v_(n+1) of the line, which its ends
  make of the whole line's E and B, and from those what comes into every segment. An end of weight 1/2 has half of its
  right-hand side. With ratios mu known by digits of 1 - mu (ring_line_table()) nothing is cancelled. The solution in an
  interface row, where lines go on on other ranks, comes to these carries (ringalgebra.cuh).
*/
#include "ringalgebra.cuh"
#include "ringlaunch.cuh"
#include <cfloat>

template <typename T>
struct RingLinesArgs {
  T *u;
  const Cplx<T> *tab;
  int *count;
  int ncount, n, slots, segments;
  ptrdiff_t plane, modes; /* complex numbers: of u from plane to plane, of a plane */
  bool half[2], pin, pairs, over;
  double weight, rows; /* of the lines on all ranks: weights of their rows, and how many */
  double removedfactor, *removed, *sums;
  RingBorder border;
  BCRCudaRingAxis x, y;
  int column;
};

static __device__ __forceinline__ Cplx<double> ring_load(const Cplx<double> *p)
{
  const double2 v = __ldcg((const double2 *)p);

  return {v.x, v.y};
}
static __device__ __forceinline__ Cplx<float> ring_load(const Cplx<float> *p)
{
  const float2 v = __ldcg((const float2 *)p);

  return {v.x, v.y};
}
static __device__ __forceinline__ void ring_store(Cplx<double> *p, Cplx<double> v)
{
  __stcg((double2 *)p, make_double2(v.x, v.y));
}
static __device__ __forceinline__ void ring_store(Cplx<float> *p, Cplx<float> v)
{
  __stcg((float2 *)p, make_float2(v.x, v.y));
}

/* Sum over the segments of the block's first slot, in all threads */
static __device__ __forceinline__ double ring_pin_sum(double v, bool mine, int segment, int segments, double *sums)
{
  double sum = 0;

  __syncthreads();
  if (mine) sums[segment] = v;
  __syncthreads();
  for (int r = 0; r < segments; r++) sum += sums[r];
  return sum;
}
/* and over all ranks */
template <int BORDER>
static __device__ __forceinline__ double ring_pin_ranks(const RingBorder &b, double sum, double *sums)
{
  if (!BORDER || b.way != RING_REDUCED) return sum;
  __syncthreads();
  if (threadIdx.x == 0) sums[0] = window_sum_parts(b.reduced.window, sum);
  __syncthreads();
  return sums[0];
}

/* The rows of a thread, len of them where not FULL */
template <typename T, int L, int FULL>
static __device__ __forceinline__ void ring_lines_get(const RingLinesArgs<T> &a, const Cplx<T> *p, int len, Cplx<T> *g)
{
  if (FULL && a.pairs) {
#pragma unroll
    for (int i = 0; i < L; i++) g[i] = ring_load(p + i * a.plane);
  } else {
#pragma unroll
    for (int i = 0; i < L; i++) {
      g[i] = {0, 0};
      if (i < len) g[i] = {__ldcg(&p[i * a.plane].x), __ldcg(&p[i * a.plane].y)};
    }
  }
}
template <typename T, int L, int FULL>
static __device__ __forceinline__ void ring_lines_put(const RingLinesArgs<T> &a, Cplx<T> *p, int len, const Cplx<T> *g)
{
  if (FULL && a.pairs) {
#pragma unroll
    for (int i = 0; i < L; i++) ring_store(p + i * a.plane, g[i]);
  } else {
#pragma unroll
    for (int i = 0; i < L; i++)
      if (i < len) {
        p[i * a.plane].x = g[i].x;
        p[i * a.plane].y = g[i].y;
      }
  }
}

/* The block's first slot, its real part, is the singular line: its right-hand side loses the mean, with which ends of
   weight 1/2 have half of their part. first, last: this segment has that end; mine: of this slot */
template <typename T, int L, int BORDER>
static __device__ __forceinline__ void ring_lines_pin(const RingLinesArgs<T> &a, bool mine, int segment, int len,
                                                      double *sums, Cplx<T> *g)
{
  const bool first = a.half[0] && segment == 0, last = a.half[1] && segment == a.segments - 1;
  double mean = 0;

  if (BORDER && a.border.way == RING_GIVEN) mean = *a.border.mean / a.removedfactor;
  else {
#pragma unroll
    for (int i = 0; i < L; i++) mean += (double)g[i].x;
    mean = ring_pin_ranks<BORDER>(a.border, ring_pin_sum(mean, mine, segment, a.segments, sums), sums) / a.weight;
    if (threadIdx.x == 0) *a.removed = mean * a.removedfactor;
  }
  if (mine) {
#pragma unroll
    for (int i = 0; i < L; i++)
      if (i < len) g[i].x -= (T)(mean * ((first && i == 0) || (last && i == len - 1) ? 0.5 : 1));
  }
  __syncthreads();
}
/* and its solution, too */
template <typename T, int L, int BORDER>
static __device__ __forceinline__ void ring_lines_mean(const RingLinesArgs<T> &a, bool mine, int segment, int len,
                                                       double *sums, Cplx<T> *g)
{
  double mean = 0;

#pragma unroll
  for (int i = 0; i < L; i++)
    if (i < len) mean += (double)g[i].x;
  mean = ring_pin_ranks<BORDER>(a.border, ring_pin_sum(mean, mine, segment, a.segments, sums), sums) / a.rows;
  if (mine) {
#pragma unroll
    for (int i = 0; i < L; i++) g[i].x -= (T)mean;
  }
}

/* The sum over the nodes of what the block has of the solution. here: not the last slot once more */
template <typename T, int L>
static __device__ __forceinline__ void ring_lines_sum(const RingLinesArgs<T> &a, bool here, int slot, int len,
                                                      double *sums, const Cplx<T> *g)
{
  const int q = slot / a.column, k = slot - q * a.column, t = (int)threadIdx.x;
  /* behind the last mode of a column there may be one place more, which has no number */
  const bool mode = here && k <= a.y.len;
  const double wx = mode ? ring_weights(a.x, a.y, q, k, 0) : 0, wy = mode ? ring_weights(a.x, a.y, q, k, 1) : 0;
  double x = 0, y = 0;

#pragma unroll
  for (int i = 0; i < L; i++)
    if (i < len) {
      x += (double)g[i].x;
      y += (double)g[i].y;
    }
  __syncthreads();
  sums[t] = (wx != 0 ? wx * x : 0) + (wy != 0 ? wy * y : 0);
  __syncthreads();
  for (int m = (int)blockDim.x; m > 1;) {
    const int h = (m + 1) / 2;

    if (t < m - h) sums[t] += sums[t + h];
    m = h;
    __syncthreads();
  }
  if (t == 0) a.sums[blockIdx.x] = sums[0];
}

/* L rows of a thread; FULL: all segments have them. BORDER: the lines go on on other ranks. THREADS, BLOCKS: bounds of
   registers */
template <typename T, int L, int FULL, int BORDER, int THREADS, int BLOCKS>
__global__ void __launch_bounds__(THREADS, BLOCKS) ring_lines(RingLinesArgs<T> a)
{
  extern __shared__ __align__(16) char ring_shared[];
  const int W = a.slots, N = a.segments, w = (int)threadIdx.x % W, s = (int)threadIdx.x / W;
  const int len = FULL ? L : min(L, a.n - s * L),
            lenl = FULL ? L : a.n - (N - 1) * L; /* of this segment, of the last */
  Cplx<T> *sE = (Cplx<T> *)ring_shared, *sB = sE + N * W, *sY = sB + N * W, g[L];
  /* threads beyond the last slot read what is there, and write nothing */
  const ptrdiff_t slot = min((ptrdiff_t)blockIdx.x * W + w, a.modes - 1);
  Cplx<T> *p = (Cplx<T> *)a.u + slot + (ptrdiff_t)s * L * a.plane;
  const Cplx<T> one = {1, 1}, zero = {0, 0};
  /* the block's first slot, its real part */
  const bool pin = a.pin && blockIdx.x == 0 && !(BORDER && a.border.way == RING_ENDS);

  BCRReducedMode mode; /* of the line's first two threads */
  const bool there = (ptrdiff_t)blockIdx.x * W + w < a.modes;
  ptrdiff_t turn = 0;

  bcr_wait_before();
  bcr_go_after();
  if (BORDER && s < 2) {
    turn = ring_border_slot(a.border);
    ring_border_ask(a.border, there ? a.border.mode[2 * slot + s] : -1, &mode);
  }
  if (blockIdx.x == 0)
    for (int i = (int)threadIdx.x; i < a.ncount; i += (int)blockDim.x) a.count[i] = 0;
  ring_lines_get<T, L, FULL>(a, p, len, g);
  const Cplx<T> mu = a.tab[slot];
  if (a.half[0] && s == 0) g[0] = times(g[0], {(T)0.5, (T)0.5});
  if (a.half[1] && s == N - 1) {
#pragma unroll
    for (int i = 0; i < L; i++) {
      const T h = i == len - 1 ? (T)0.5 : (T)1;

      g[i] = times(g[i], {h, h});
    }
  }
  if (pin) ring_lines_pin<T, L, BORDER>(a, w == 0, s, len, (double *)ring_shared, g);

  /* E and B; mu^L, and S, by which a carry is in B */
  Cplx<T> y = zero, B = zero, pw = one, mL, S;
#pragma unroll
  for (int i = 0; i < L; i++)
    if (FULL || i < len) {
      y = times_add(mu, y, g[i]);
      B = times_add(pw, y, B);
      pw = times(pw, mu);
    }
  sE[s * W + w] = y;
  sB[s * W + w] = B;
  ring_powers<T, L>(mu, &mL, &S);
  Cplx<T> ml = mL, Sl = S; /* of the last segment */
  if (!FULL) {
    ml = one;
    Sl = zero;
    for (int i = 0; i < lenl; i++) {
      Sl = times_add(times(ml, ml), mu, Sl);
      ml = times(ml, mu);
    }
  }
  const Cplx<T> ye = a.tab[a.modes + slot], yb = a.tab[2 * a.modes + slot], ve = a.tab[3 * a.modes + slot],
                vb = a.tab[4 * a.modes + slot];
  __syncthreads();

  Cplx<T> Y = zero, total = zero, here = zero, far = one;
  pw = one;
  for (int r = 0; r < N; r++) {
    if (r == s) {
      here = Y;
      far = pw;
    }
    total = times_add(pw, times_add(r == N - 1 ? Sl : S, Y, sB[r * W + w]), total);
    Y = times_add(r == N - 1 ? ml : mL, Y, sE[r * W + w]);
    pw = times(pw, mL);
  }
  Cplx<T> V = times_add(vb, total, times(ve, Y));
  Y = times_add(yb, total, times(ye, Y));
  if (BORDER) {
    double *const x = (double *)(sY + N * W) + w; /* after: real parts, imaginary ones; before */

    for (int c = s; c < 2; c += N) {
      double after, before;

      if (c != s) ring_border_ask(a.border, there ? a.border.mode[2 * slot + c] : -1, &mode);
      ring_border_give(a.border, turn, (double)(c ? Y.y : Y.x), (double)(c ? V.y : V.x), &mode);
      ring_border_wait<1>(a.border, turn, &mode);
      ring_border_take(a.border, turn, mode, &after, &before);
      x[c * W] = after;
      x[(2 + c) * W] = before;
    }
    if (a.border.way == RING_ENDS) return;
    __syncthreads();
    const Cplx<T> after = {(T)x[0], (T)x[W]},
                  before = {(T)x[2 * W], (T)x[3 * W]}, *const t = a.tab + 5 * a.modes + slot;

    Y = times_add(t[0], after, times_add(t[a.modes], before, Y));
    V = times_add(t[2 * a.modes], after, times_add(t[3 * a.modes], before, V));
  }
  Y = times_add(far, Y, here);
  sY[s * W + w] = Y;
  __syncthreads();
  for (int r = N - 1; r > s; r--)
    V = times_add(r == N - 1 ? ml : mL, V, times(mu, times_add(r == N - 1 ? Sl : S, sY[r * W + w], sB[r * W + w])));
#pragma unroll
  for (int i = 0; i < L; i++)
    if (FULL || i < len) g[i] = Y = times_add(mu, Y, g[i]);
#pragma unroll
  for (int i = L - 1; i >= 0; i--)
    if (FULL || i < len) g[i] = V = times(mu, {g[i].x + V.x, g[i].y + V.y});
  if (!BORDER && a.over) {
    const Cplx<T> over = a.tab[5 * a.modes + slot];

#pragma unroll
    for (int i = 0; i < L; i++) g[i] = times(over, g[i]);
  }
  if (pin && !(BORDER && a.border.way == RING_GIVEN))
    ring_lines_mean<T, L, BORDER>(a, w == 0, s, len, (double *)ring_shared, g);
  if (there) ring_lines_put<T, L, FULL>(a, p, len, g);
  if (!BORDER && a.sums) ring_lines_sum<T, L>(a, there, (int)slot, len, (double *)ring_shared, g);
  if (BORDER && a.border.reduced.window.n) window_done(a.border.reduced.window.turn);
}

/* ---- shapes ---- */

/* Rows of a thread (FULL: the line is a multiple of them), then for double and for single precision most threads of a
   block, and blocks that a multiprocessor should have room for, which bounds the registers of a thread; 0: not in single
   precision. In the order in which they are taken, as measured on an H200 with 192, 320, 384 and 400 rows */
#define RING_ROWS(CASE) \
  CASE(32, 1, 128, 2, 256, 2) \
  CASE(24, 1, 128, 3, 256, 2) \
  CASE(20, 1, 160, 2, 0, 0) \
  CASE(16, 1, 256, 2, 256, 3) \
  CASE(16, 0, 256, 2, 256, 3)

typedef struct {
  int rows, full, threads, slots;
} RingLinesShape;

/* Of eight segments at least where the line has them for 16 rows, so that few lines give enough blocks. Pieces of memory
   have 32 or 64 bytes at least */
static bool ring_lines_shape(int n, int single, RingLinesShape *s)
{
  const int least = 4, many = 8;

#define CASE(L, FULL, DOUBLE, DBLOCKS, SINGLE, SBLOCKS) \
  if (!FULL || (n % L == 0 && (n >= many * L || L == 16))) { \
    const int segments = (n + L - 1) / L, most = single ? SINGLE : DOUBLE; \
    int slots = 16; \
    while (slots * segments > most && slots >= least) slots /= 2; \
    *s = {L, FULL, slots * segments, slots}; \
    if (slots >= least) return true; \
  }
  RING_ROWS(CASE)
#undef CASE
  return false;
}

int BCRCudaRingLinesPossible(int n, int single)
{
  RingLinesShape s;

  return ring_lines_shape(n, single, &s);
}

static ptrdiff_t ring_lines_modes(const BCRCudaRing *r)
{
  return (ptrdiff_t)r->columns * r->column;
}

int BCRCudaRingLinesBlocks(const BCRCudaRing *r, int n, int single)
{
  RingLinesShape s;

  return ring_lines_shape(n, single, &s) ? (int)((ring_lines_modes(r) + s.slots - 1) / s.slots) : 0;
}

template <typename T>
static int ring_lines_run(cudaStream_t stream, const BCRCudaRing *r, const BCRCudaRingLines *l,
                          const RingBorder &border, void *u)
{
  RingLinesShape s;
  RingLinesArgs<T> a;

  if (r->modes % 2 || !ring_lines_shape(l->n, sizeof(T) == sizeof(float), &s)) return (int)cudaErrorNotSupported;
  a.u = (T *)u;
  a.tab = (const Cplx<T> *)l->tab;
  a.count = r->count;
  a.ncount = BCRCudaRingCounts(r);
  a.n = l->n;
  a.plane = r->modes / 2;
  a.modes = ring_lines_modes(r);
  a.x = r->axis[0];
  a.y = r->axis[1];
  a.column = r->column;
  a.slots = s.slots;
  a.segments = s.threads / s.slots;
  for (int e = 0; e < 2; e++) a.half[e] = BCREndGetRule((BCREnd)l->end[e]).weight < 1;
  a.pin = l->pin != 0;
  a.over = l->over != 0;
  a.pairs = (size_t)u % sizeof(Cplx<T>) == 0;
  a.removedfactor = l->removedfactor;
  a.removed = l->removed;
  a.sums = l->sums;
  a.border = border;
  ring_line_weights(l, border, a.half, &a.weight, &a.rows);
  const dim3 grid((unsigned)BCRCudaRingLinesBlocks(r, l->n, sizeof(T) == sizeof(float)));
  const size_t bytes =
    3 * (size_t)s.threads * sizeof(Cplx<T>) + (border.way == RING_WHOLE ? 0 : 4 * (size_t)s.slots * sizeof(double));

#define CASE(L, FULL, DOUBLE, DBLOCKS, SINGLE, SBLOCKS) \
  if (s.rows == L && s.full == FULL) { \
    constexpr int most = sizeof(T) == 8 ? DOUBLE : SINGLE, blocks = sizeof(T) == 8 ? DBLOCKS : SBLOCKS; \
    if constexpr (most > 0) { \
      if (border.way == RING_WHOLE) \
        return bcr_launch(1, ring_lines<T, L, FULL, 0, most, blocks>, grid, s.threads, bytes, stream, a); \
      return bcr_launch(1, ring_lines<T, L, FULL, 1, most, blocks>, grid, s.threads, bytes, stream, a); \
    } \
  }
  RING_ROWS(CASE)
#undef CASE
  return (int)cudaErrorNotSupported;
}

static int ring_solve(BCRStream stream, const BCRCudaRing *r, const BCRCudaRingLines *l, int single,
                      const RingBorder &border, void *u)
{
  if (r->split.N1) return bcr_split_solve(r, l, single, border, u, bcr_stream(stream));
  return single ? ring_lines_run<float>(bcr_stream(stream), r, l, border, u)
                : ring_lines_run<double>(bcr_stream(stream), r, l, border, u);
}

static RingBorder ring_way(const BCRCudaRingLines *l, int way)
{
  RingBorder b;

  memset((void *)&b, 0, sizeof(b));
  b.way = way;
  for (int e = 0; e < 2; e++) b.open[e] = l->open[e];
  b.mode = l->mode;
  b.gain = l->gain;
  b.back = l->back;
  return b;
}

int BCRCudaRingSolve(BCRStream stream, const BCRCudaRing *r, const BCRCudaRingLines *l, int single, void *u)
{
  return ring_solve(stream, r, l, single, ring_way(l, RING_WHOLE), u);
}

int BCRCudaRingBorderEnds(BCRStream stream, const BCRCudaRing *r, const BCRCudaRingLines *l, int single, void *w,
                          double *interface, double *previous)
{
  RingBorder b = ring_way(l, RING_ENDS);

  b.interface = interface;
  b.previous = previous;
  return ring_solve(stream, r, l, single, b, w);
}

int BCRCudaRingSolveGiven(BCRStream stream, const BCRCudaRing *r, const BCRCudaRingLines *l, int single, void *w,
                          const double *after, const double *before, const double *mean)
{
  RingBorder b = ring_way(l, RING_GIVEN);

  b.after = after;
  b.before = before;
  b.mean = mean;
  return ring_solve(stream, r, l, single, b, w);
}

int BCRCudaRingSolveReduced(BCRStream stream, const BCRCudaRing *r, const BCRCudaRingLines *l, int single, void *w,
                            const BCRCudaBorderRows *rows, const double *received, int part,
                            const BCRCudaWindow *window)
{
  RingBorder b = ring_way(l, RING_REDUCED);

  b.reduced.rows = *rows;
  b.reduced.received = received;
  b.reduced.part = part;
  if (window) b.reduced.window = *window;
  return ring_solve(stream, r, l, single, b, w);
}

/* ---- tables ---- */

/* mu, and Y_0 = YE E + YB B + YA a + YX b, V = VE E + VB B + VA a + VX b (in this order: mu, YE, YB, VE, VB, YA, YX, VA, VX)
   for n rows with mu = e^(-t), a and b the solutions in this rank's interface row and in the one before.

   Ends: v_0 = c v_1, where c = 0 (Dirichlet), 1 and -1 (cell-centred), (mu + 1/mu)/2 (node-centred Neumann, half of the
   equation), so Y_0 = (c/mu - 1) v_1, V = c mu/(1 - c mu) Y_n, v_1 = mu B + S Y_0 + mu^n V and Y_n = mu^n Y_0 + E with S =
   mu^2 + mu^4 + ... + mu^(2 n). Where both ends are even the determinant of these is (1 - mu^m)/(1 + mu) or (1 - mu^m)/2, m
   halves of the mesh width from mirror to mirror; else it has no cancellation as it stands.

   anti: of a ring of which what goes round changes its sign.

   Open ends: v_0 = b, so Y_0 = b/mu - v_1; and v_n = a, so that V = a/mu - Y_n, with Y_0 from the n - 1 rows before that one,
   of which B is mu^(n-1) E less */
static __device__ void ring_line_table(int n, const int end[2], const int open[2], bool pin, double sigma, bool anti,
                                       double v[BCR_CUDA_RING_TABLE])
{
  if (open[1]) n--;
  const double gap = 0.5 * (sigma + sqrt(sigma) * sqrt(sigma + 4)), t = fmin(log1p(gap), 69.), mu = exp(-t),
               e1 = -expm1(-t), e2 = -expm1(-2 * t), en = exp(-n * t), e2n = -expm1(-2. * n * t),
               R = t > 0 ? e2n / e2 : n, S = mu * mu * R;
  BCREndMirror m[2];
  double alpha, P, up, down, det; /* Y_0 = alpha v_1; P = 1 - alpha S; V = up/down Y_n */

  v[0] = mu;
  if (!open[0] && !open[1] && BCREndIsPeriodic((BCREnd)end[0])) {
    const double rest = anti ? 1 + en : -expm1(-n * t);

    v[1] = pin ? 0 : 1 / rest;
    v[2] = pin ? -1. / n : 0;
    v[3] = pin ? 0 : S / (rest * rest);
    v[4] = pin ? 0 : mu / rest;
    return;
  }
  for (int e = 0; e < 2; e++) m[e] = BCREndGetRule(open[e] ? BCREndAtSeparator() : (BCREnd)end[e]).mirror;
  if (m[0].sign < 0) {
    alpha = m[0].distance == 2 ? -1 : -(1 + mu) / mu;
    P = 1 - alpha * S;
  } else {
    alpha = m[0].distance == 1 ? e1 / mu : e2 / (2 * mu * mu);
    P = m[0].distance == 1 ? 1 - mu * e2n / (1 + mu) : 1 - 0.5 * e2n;
  }
  if (m[1].sign < 0) {
    up = m[1].distance == 2 ? 0 : -mu;
    down = m[1].distance == 2 ? 1 : 1 + mu;
  } else {
    up = m[1].distance == 1 ? mu : 1 + mu * mu;
    down = m[1].distance == 1 ? e1 : e2;
  }
  if (m[0].sign > 0 && m[1].sign > 0)
    det = down * -expm1(-(2. * (n - 1) + m[0].distance + m[1].distance) * t) / (m[0].distance == 1 ? 1 + mu : 2);
  else det = down * P - alpha * up * en * en;
  if (pin) {
    v[1] = v[2] = v[3] = v[4] = 0;
    return;
  }
  v[1] = alpha * up * en / det;
  v[2] = alpha * mu * down / det;
  v[3] = up * P / det;
  v[4] = up * alpha * mu * en / det;
  v[5] = v[7] = 0;
  v[6] = open[0] ? down / (mu * det) : 0;
  v[8] = open[0] ? up * en / (mu * det) : 0;
  if (open[1]) {
    v[1] = -en * v[2];
    v[3] = -(1 + en * mu * v[1]);
    v[4] = -en * mu * v[2];
    v[5] = alpha * en / det;
    v[7] = 1 / mu - en * mu * v[5];
    v[8] = -en * mu * v[6];
  }
}

/* sigma + slope T has eigenvalues of either sign, for what T's may be */
static __device__ bool ring_line_waves(double sigma, double slope)
{
  return sigma * slope <= 0 && fabs(sigma) <= 4 * fabs(slope);
}

/* The same for sigma + slope T, and a/slope. With t = sigma/slope < -4 the unknowns times (-1)^i and the right-hand sides times
   -(-1)^i are a line of -4 - t > 0, between cell-centred ends of the other kind (on a ring of odd length, one whose
   ends change the sign): mu becomes -mu, and of Y, V, E, B of that line Y = -(-1)^i Y', V = (-1)^(n+1) V', E = -(-1)^n E', B = B'.
   What T cannot change by a digit is no slope. A line of waves stays as it is: mu (tiny) over mu */
static __device__ void ring_product_table(const BCRCudaRingLines &l, bool pin, double a, double sigma, double slope,
                                          bool waves, double tiny, double v[BCR_CUDA_RING_TABLE])
{
  const double least = tiny * fabs(sigma), s = fabs(slope) < least ? copysign(least, slope) : slope, t = sigma / s;
  const bool flip = t < -2, odd = l.n % 2 != 0;
  int end[2];

  if (waves && !pin && ring_line_waves(sigma, slope)) {
    v[0] = tiny;
    v[1] = v[2] = v[3] = v[4] = 0;
    v[5] = 1 / tiny;
    return;
  }
  for (int e = 0; e < 2; e++) {
    end[e] = l.end[e];
    if (flip && l.end[e] == BCR_END_CELL_NEUMANN) end[e] = BCR_END_CELL_DIRICHLET;
    if (flip && l.end[e] == BCR_END_CELL_DIRICHLET) end[e] = BCR_END_CELL_NEUMANN;
  }
  ring_line_table(l.n, end, l.open, pin, fmax(flip ? -4 - t : t, 0.), flip && odd, v);
  v[5] = a / s;
  if (!flip) return;
  v[0] = -v[0];
  if (BCREndIsPeriodic((BCREnd)l.end[0])) {
    v[4] = -v[4];
    return;
  }
  v[1] = odd ? -v[1] : v[1];
  v[2] = -v[2];
  v[4] = odd ? v[4] : -v[4];
}

/* slope: NULL, or of sigma + slope T */
template <typename T>
__global__ void ring_table(BCRCudaRingLines l, ptrdiff_t modes, double a, const double *sigma, const double *slope,
                           bool waves, T *tab)
{
  const ptrdiff_t i = (ptrdiff_t)blockIdx.x * blockDim.x + threadIdx.x;
  const bool open = l.open[0] || l.open[1], pin = l.pin && !open && i == 0;
  double v[BCR_CUDA_RING_TABLE];

  if (i >= modes) return;
  /* powers of two: what lines of waves become is exact but for what their neighbours add, less than a rounding */
  if (slope)
    ring_product_table(l, pin, a, sigma[i], slope[i], waves, sizeof(T) == sizeof(float) ? 0x1p-30 : 0x1p-60, v);
  else ring_line_table(l.n, l.end, l.open, pin, sigma[i] / a, false, v);
  for (int q = 0; q < (open ? (int)BCR_CUDA_RING_TABLE : (slope ? (int)BCR_CUDA_RING_OVER : 5)); q++)
    tab[q * modes + i] = (T)v[q];
}

int BCRCudaRingTable(BCRStream stream, const BCRCudaRingLines *l, int single, ptrdiff_t modes, double a,
                     const double *sigma, const double *slope, int waves, void *tab)
{
  const unsigned blocks = (unsigned)((modes + BCR_THREADS - 1) / BCR_THREADS);

  BCR_CUDA_TYPE(single, ring_table<<<blocks, BCR_THREADS, 0, bcr_stream(stream)>>>(*l, modes, a, sigma, slope,
                                                                                   waves != 0, (T *)tab));
  return bcr_done();
}

/* ---- waves ---- */

enum {
  RING_LIST = 1024,        /* threads of the one block that makes the list */
  RING_WAVES = 8,          /* lines of a block at a time */
  RING_WAVES_BLOCKS = 1056 /* at most */
};

/* In the order of the modes */
static __global__ void __launch_bounds__(RING_LIST) ring_waves_list(BCRCudaRingWaves w, bool pin, ptrdiff_t modes)
{
  __shared__ int sum[RING_LIST];
  const int t = (int)threadIdx.x;
  const ptrdiff_t each = (modes + RING_LIST - 1) / RING_LIST, first = t * each,
                  last = first + each < modes ? first + each : modes;
  int count = 0, at = 1;

  for (ptrdiff_t i = first; i < last; i++) count += !(pin && i == 0) && ring_line_waves(w.sigma[i], w.slope[i]);
  sum[t] = count;
  __syncthreads();
  for (int s = 0; s < t; s++) at += sum[s];
  if (t == RING_LIST - 1) w.list[0] = at - 1 + count;
  for (ptrdiff_t i = first; i < last; i++)
    if (!(pin && i == 0) && ring_line_waves(w.sigma[i], w.slope[i])) w.list[at++] = (int)i;
}

int BCRCudaRingWavesList(BCRStream stream, const BCRCudaRingLines *l, const BCRCudaRingWaves *waves, ptrdiff_t modes)
{
  ring_waves_list<<<1, RING_LIST, 0, bcr_stream(stream)>>>(*waves, l->pin != 0, modes);
  return bcr_done();
}

/* A thread has a mode of the lines, then a row. plane: numbers from plane to plane. Rows that count half are taken by half
   by ring_lines() */
template <typename T>
__global__ void __launch_bounds__(BCR_CUDA_RING_WAVES_MOST) ring_waves(BCRCudaRingWaves w, ptrdiff_t plane, T *u)
{
  __shared__ double g[BCR_CUDA_RING_WAVES_MOST][RING_WAVES];
  const int t = (int)threadIdx.x, n = w.n;

  bcr_wait_before();
  bcr_go_after();
  const int count = w.list[0];
  const auto product = [&](const double *matrix, double *sum) {
#pragma unroll
    for (int e = 0; e < RING_WAVES; e++) sum[e] = 0;
    for (int j = 0; j < n && t < n; j++) {
      const double v = __ldg(matrix + (ptrdiff_t)j * n + t);

#pragma unroll
      for (int e = 0; e < RING_WAVES; e++) sum[e] += v * g[j][e];
    }
  };

  for (int first = (int)blockIdx.x * RING_WAVES; first < count; first += (int)gridDim.x * RING_WAVES) {
    double sum[RING_WAVES];

    for (int i = t; i < n * RING_WAVES; i += (int)blockDim.x) {
      const int e = i % RING_WAVES, j = i / RING_WAVES;

      g[j][e] = first + e < count ? (double)u[w.list[1 + first + e] + j * plane] : 0;
    }
    __syncthreads();
    product(w.analysis, sum);
    __syncthreads();
    for (int e = 0; e < RING_WAVES && t < n; e++) {
      const int i = w.list[1 + min(first + e, count - 1)];

      g[t][e] = sum[e] * (w.a / (w.sigma[i] + w.slope[i] * w.lambda[t]));
    }
    __syncthreads();
    product(w.synthesis, sum);
    __syncthreads();
    if ((t == 0 && w.half[0]) || (t == n - 1 && w.half[1])) {
      for (int e = 0; e < RING_WAVES; e++) sum[e] *= 2;
    }
    for (int e = 0; e < RING_WAVES && t < n; e++)
      if (first + e < count) u[w.list[1 + first + e] + t * plane] = (T)sum[e];
  }
}

int BCRCudaRingWavesSolve(BCRStream stream, const BCRCudaRing *r, const BCRCudaRingWaves *waves, int single, void *w)
{
  const int blocks = (2 * r->columns * r->column + RING_WAVES - 1) / RING_WAVES, threads = (waves->n + 31) / 32 * 32;
  const dim3 grid((unsigned)(blocks < RING_WAVES_BLOCKS ? blocks : RING_WAVES_BLOCKS));

  BCR_CUDA_TYPE(single,
                return bcr_launch(1, ring_waves<T>, grid, threads, 0, bcr_stream(stream), *waves, r->modes, (T *)w));
  return bcr_done();
}
