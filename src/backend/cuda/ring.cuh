/*
  Planes through the second-level cache (ring.h): transforms of a plane along x and y by one kernel each way, with a ring
  of planes between the two.

  A block does one task. Rows come in pairs, as a + i b, j and j + ny/2 of the columns they are of; their transform along x
  is stored across, so that a column of the ring is contiguous. Column q of a plane is untangled from columns q and nx - q
  as they are read, q = 0 has the two real columns 0 and nx/2 as one complex one: nothing is transformed twice. Back, the
  same steps transposed.

  Order: a block takes its task by a ticket, and waits for tasks of smaller tickets alone. Rows are `ahead` planes before
  columns (back: columns before rows). Every plane has two counters: tasks that have stored all that they have to, and
  warps that have read; a place of the ring is used anew when all of its columns have been read. Numbers that are read and
  written once pass through the cache first, those of the ring stay in it.

  Lines in E numbers of each of G = N/E threads: element m of thread t is number t + m G, before and after. Passes of a
  radix that divides E are in registers (Stockham), with an exchange in shared memory between them.

  Cell-centred ends: numbers 0, 2, 4, ..., 5, 3, 1 of the line (Makhoul 1980) have the transform V, and w_k V_k = c_k - i
  c_(n-k) with w_k = e^(-i pi k/(2 n)) and c the sums with cosines; sines are the cosines of numbers with alternating signs,
  in reverse order.

  Node-centred Dirichlet ends: x_j, 0 < j < n, with sums S_k of x_j sin(pi j k/n), becomes y_j = sin(pi j/n) (x_j + x_(n-j))
  + (x_j - x_(n-j))/2, whose transform Y has Im Y_k = -S_(2 k), Re Y_k = S_(2 k + 1) - S_(2 k - 1): the odd ones are
  running sums, whose rounding errors grow with their length near the ends of the line: each thread has two runs, whose
  first S it takes from x. Number and mode 0 are 0. The same steps lead back. Between node-centred Neumann ones x_0 and x_n
  count, too: sums C_k with cosines, half of either end, and y_j = (x_j + x_(n-j))/2 - sin(pi j/n) (x_j - x_(n-j)), where
  Re Y_k = C_(2 k), Im Y_k = C_(2 k - 1) - C_(2 k + 1). C_n is one mode more, and so is x_n one number.
  Modes of such a line stay in the order that the threads have them in: place t + m G is mode (along columns: and number)
  t E + m.

  Cell-centred Neumann and Dirichlet ends: in Makhoul's order places j and j + n/2 are x_(2 j) and x_(n-1-2 j); as c_j =
  (x_(2 j) + i x_(n-1-2 j)) e^(-i pi (8 j + 1)/(8 n)) they have the transform of n/2 numbers that is modes 2 k and -i times
  modes n - 1 - 2 k, times e^(-i pi (8 k + 1)/(8 n)). One transform of n numbers has both lines of a pair, c_j + d_j and c_j
  - d_j with d_j of the other one and the conjugate factor: places 2 k and 2 k + 1. Node-centred Neumann and Dirichlet ends
  go forth as the cosines of cell-centred ones go back: modes come in Makhoul's order, backwards but for the first one.
*/
#pragma once

#include "fft.cuh"
#include "ring.h"
#include <type_traits>

template <typename T>
struct Dft<T, 30> : DftCoprime<T, 2, 15> {
};

template <int N_, int E_, int... R_>
struct RingLength {
  static constexpr int N = N_, E = E_, G = N / E, PASSES = sizeof...(R_);
  static constexpr bool WARP = 32 % G == 0; /* a line lies in one warp */
  static __host__ __device__ constexpr int radix(int p)
  {
    constexpr int r[] = {R_...};

    return r[p];
  }
  static __host__ __device__ constexpr int before(int p) /* product of the radices before pass p */
  {
    int s = 1;

    for (int i = 0; i < p; i++) s *= radix(i);
    return s;
  }
  static __host__ __device__ constexpr int
  table(int p) /* where the factors of pass p are in the table; those of half roots: p = PASSES */
  {
    int s = 0;

    for (int i = 1; i < p; i++) s += before(i + 1);
    return s;
  }
  /* HALF: e^(-i pi k/(2 n)); ANGLES: e^(-i pi k/n); TURNS: e^(-i pi r/(2 G)); FOURTH: e^(-i pi (4 k + 1)/(8 n)), odd k: e^(-i
     pi (4 k - 1)/(8 n)) */
  static constexpr int HALF = table(PASSES), ANGLES = HALF + N, TURNS = ANGLES + N, FOURTH = TURNS + 4 * G,
                       ROOTS = FOURTH + N;
  static constexpr int FIRST = 9,
                       FIRSTS = FIRST * (G / 2 + 1) | 1;  /* ring_fold(): eight, in other banks than the next */
  static constexpr bool NODES = E % 4 == 0 && G % 2 == 0; /* it has lines of SINES and COSINES */
  /* places of a line in shared memory, so that distances of the first radix go to different banks */
  static constexpr int PAD = radix(0), PITCH = (N + N / PAD + 1) | 1;
  static_assert(before(PASSES) == N && N % E == 0 && E % 2 == 0, "radices of a length");
  static __device__ __forceinline__ int padded(int k) { return k + k / PAD; }
};

/* Lengths, by the number of registers that they take: kernels are compiled for either kind. Those of many registers and of
   any ends do without the others, for the sake of the library's size */
#define RING_LENGTHS(CASE) \
  CASE(64, 16, 16, 4) \
  CASE(96, 12, 12, 4, 2) \
  CASE(128, 16, 16, 8) \
  CASE(192, 12, 12, 4, 4) \
  CASE(256, 16, 16, 16) \
  CASE(512, 16, 8, 8, 8)
#define RING_LENGTHS_BIG(CASE) \
  CASE(160, 20, 20, 4, 2) \
  CASE(320, 20, 20, 4, 4) \
  CASE(384, 24, 24, 4, 4) \
  CASE(400, 20, 20, 20)
/* No lengths but those of the same kind go with these, nor other ends than periodic and two cell-centred ones of a kind.
   Their lines are not a power of two of threads, so that blocks are larger, for which registers must be fewer, or smaller */
#define RING_LENGTHS_TENS(CASE) \
  CASE(200, 10, 10, 10, 2) \
  CASE(250, 10, 10, 5, 5) \
  CASE(500, 10, 10, 10, 5)
#define RING_LENGTHS_THIRTIES(CASE) CASE(300, 30, 30, 10)
enum {
  RING_SMALL,
  RING_BIG,
  RING_TENS,
  RING_THIRTIES
};
/* Threads of a block at most, and how many such blocks a multiprocessor should have registers for, by kinds of lengths, in
   double and in single precision: a thread has 128, 168, 72, 168 and 80, 96, 48, 112 of them */
static constexpr int ring_threads[2][4] = {
  {256, 384, 416, 96},
  {256, 320, 416, 96}
};
static constexpr int ring_blocks[2][4] = {
  {2, 1, 2, 4},
  {3, 2, 3, 6}
};
template <typename T, int KIND>
struct RingBlocks {
  static constexpr int threads = ring_threads[sizeof(T) == sizeof(float)][KIND],
                       value = ring_blocks[sizeof(T) == sizeof(float)][KIND];
};

/* A divisor d of numbers n, n d < 2^32 */
struct RingDivisor {
  int d;
  unsigned m; /* 2^32/d, rounded up */
};
static __device__ __forceinline__ int operator/(int n, RingDivisor d)
{
  return d.d == 1 ? n : (int)__umulhi((unsigned)n, d.m);
}
static __device__ __forceinline__ int operator%(int n, RingDivisor d)
{
  return n - n / d * d.d;
}

template <typename T>
struct RingArgs {
  const T *f;
  T *u, *w; /* w: modes */
  Cplx<T> *ring;
  int *count;
  BCRCudaRingAxis x, y;
  int nz, ahead, xshift;                    /* x.lines is 2^xshift */
  RingDivisor planes, first, second, both;  /* of the ring; tasks of a plane, that come first, second, and together */
  RingDivisor group;                        /* threads of a line along y */
  int rows, columns, rowwarps, columnwarps; /* tasks of a plane; warps of each */
  int pairs, across, ncolumns, column; /* of rows; places of them in the ring; columns of modes, and numbers of each */
  int half, fourth;                    /* where half roots are among those of x, and FOURTH */
  ptrdiff_t frow, urow, fplane, uplane, wplane;
  bool fpairs, upairs, wpairs; /* addresses are such that two numbers can be read and written together */
  T scale;
};

/* The number of a wave of an axis among those of BCRCudaRingModes() */
static __device__ inline int ring_mode(const BCRCudaRingAxis &a, int wave)
{
  if (a.ends == BCR_CUDA_RING_SINES) return max(wave - 1, 0);
  return a.ends == BCR_CUDA_RING_CELL && a.odd ? a.n - 1 - wave : wave;
}
/* Number of a mode as BCRAxisModes has them: of two waves of a periodic axis the first or the second one */
static __device__ inline int ring_number(const BCRCudaRingAxis &a, int wave, int second)
{
  if (a.ends != BCR_CUDA_RING_PERIODIC) return ring_mode(a, wave);
  return wave == 0 || 2 * wave == a.n ? min(2 * wave, a.n - 1) : 2 * wave - 1 + second;
}

/* ---- memory ---- */

static __device__ __forceinline__ unsigned long long ring_stays()
{
  unsigned long long p;

  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(p));
  return p;
}
static __device__ __forceinline__ unsigned long long ring_passes()
{
  unsigned long long p;

  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(p));
  return p;
}
/* past the first level, which does not see what other blocks store */
static __device__ __forceinline__ double ring_get(const double *p, unsigned long long hint)
{
  double v;

  asm volatile("ld.global.cg.L2::cache_hint.f64 %0, [%1], %2;" : "=d"(v) : "l"(p), "l"(hint) : "memory");
  return v;
}
static __device__ __forceinline__ float ring_get(const float *p, unsigned long long hint)
{
  float v;

  asm volatile("ld.global.cg.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(v) : "l"(p), "l"(hint) : "memory");
  return v;
}
static __device__ __forceinline__ Cplx<double> ring_get(const Cplx<double> *p, unsigned long long hint)
{
  Cplx<double> v;

  asm volatile("ld.global.cg.L2::cache_hint.v2.f64 {%0, %1}, [%2], %3;"
               : "=d"(v.x), "=d"(v.y)
               : "l"(p), "l"(hint)
               : "memory");
  return v;
}
static __device__ __forceinline__ Cplx<float> ring_get(const Cplx<float> *p, unsigned long long hint)
{
  Cplx<float> v;

  asm volatile("ld.global.cg.L2::cache_hint.v2.f32 {%0, %1}, [%2], %3;"
               : "=f"(v.x), "=f"(v.y)
               : "l"(p), "l"(hint)
               : "memory");
  return v;
}
static __device__ __forceinline__ void ring_put(double *p, double v, unsigned long long hint)
{
  asm volatile("st.global.L2::cache_hint.f64 [%0], %1, %2;" ::"l"(p), "d"(v), "l"(hint) : "memory");
}
static __device__ __forceinline__ void ring_put(float *p, float v, unsigned long long hint)
{
  asm volatile("st.global.L2::cache_hint.f32 [%0], %1, %2;" ::"l"(p), "f"(v), "l"(hint) : "memory");
}
static __device__ __forceinline__ void ring_put(Cplx<double> *p, Cplx<double> v, unsigned long long hint)
{
  asm volatile("st.global.L2::cache_hint.v2.f64 [%0], {%1, %2}, %3;" ::"l"(p), "d"(v.x), "d"(v.y), "l"(hint)
               : "memory");
}
static __device__ __forceinline__ void ring_put(Cplx<float> *p, Cplx<float> v, unsigned long long hint)
{
  asm volatile("st.global.L2::cache_hint.v2.f32 [%0], {%1, %2}, %3;" ::"l"(p), "f"(v.x), "f"(v.y), "l"(hint)
               : "memory");
}
/* M pairs of numbers, step apart, of an array of the caller's: one by one where pairs are not aligned */
template <int M, typename T>
static __device__ __forceinline__ void ring_get_pairs(const Cplx<T> *p, int step, bool pairs, unsigned long long hint,
                                                      Cplx<T> *v)
{
  if (pairs) {
#pragma unroll
    for (int m = 0; m < M; m++) v[m] = ring_get(p + m * step, hint);
  } else {
#pragma unroll
    for (int m = 0; m < M; m++) v[m] = {ring_get(&p[m * step].x, hint), ring_get(&p[m * step].y, hint)};
  }
}
template <int M, typename T>
static __device__ __forceinline__ void ring_put_pairs(Cplx<T> *p, int step, bool pairs, unsigned long long hint,
                                                      const Cplx<T> *v)
{
  if (pairs) {
#pragma unroll
    for (int m = 0; m < M; m++) ring_put(p + m * step, v[m], hint);
  } else {
#pragma unroll
    for (int m = 0; m < M; m++) {
      ring_put(&p[m * step].x, v[m].x, hint);
      ring_put(&p[m * step].y, v[m].y, hint);
    }
  }
}

/* ---- order ---- */

/* each warp by itself, until the counter has come to `value` */
static __device__ __forceinline__ void ring_wait(const int *counter, int value)
{
  if (threadIdx.x % 32 == 0) {
    int v;

    for (;;) {
      asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(counter) : "memory");
      if (v >= value) break;
#if __CUDA_ARCH__ >= 700
      __nanosleep(20);
#endif
    }
  }
  __syncwarp();
}
/* what the block has stored can be read */
static __device__ __forceinline__ void ring_stored(int *counter)
{
  __syncthreads();
  if (threadIdx.x == 0) asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(counter) : "memory");
}
/* What the warp has read can be written anew. It has used all of it (a transform went over it), so that the loads have
   ended: nothing has to be released, which would wait for the stores before it */
static __device__ __forceinline__ void ring_read(int *counter)
{
  __syncwarp();
  if (threadIdx.x % 32 == 0) asm volatile("red.relaxed.gpu.global.add.s32 [%0], 1;" ::"l"(counter) : "memory");
}

/* Tasks by tickets: `first` ones of a plane (f of them), and `ahead` planes later its second ones (s), the two spread
   among one another */
struct RingTask {
  bool first;
  int plane, number;
};
template <typename T>
static __device__ __forceinline__ RingTask ring_task(const RingArgs<T> &a, int ticket)
{
  const int f = a.first.d, rest = a.nz - a.ahead;

  if (ticket < a.ahead * f) return {true, ticket / a.first, ticket % a.first};
  ticket -= a.ahead * f;
  if (ticket < rest * a.both.d) {
    const int plane = ticket / a.both, r = ticket - plane * a.both.d, before = r * f / a.both;

    if ((r + 1) * f / a.both > before) return {true, plane + a.ahead, before};
    return {false, plane, r - before};
  }
  ticket -= rest * a.both.d;
  return {false, rest + ticket / a.second, ticket % a.second};
}
/* ---- transforms ---- */

template <class P>
static __device__ __forceinline__ void ring_sync()
{
  if (P::WARP) __syncwarp();
  else __syncthreads();
}

/* Passes p and on; before pass MOVE the block's threads go to other lines (line1, t1) */
template <typename T, class P, int p, int MOVE>
static __device__ __forceinline__ void ring_pass(Cplx<T> *v, Cplx<T> *sm, const T *roots, int line, int t, int line1,
                                                 int t1)
{
  constexpr int R = P::radix(p), S = P::before(p), B = P::E / R;

#pragma unroll
  for (int q = 0; q < B; q++) {
    Cplx<T> c[R];

#pragma unroll
    for (int r = 0; r < R; r++) {
      c[r] = v[q + r * B];
      if (p > 0 && r > 0) c[r] = c[r] * load_root<1>(roots, P::table(p) + r * S + (t + q * P::G) % S);
    }
    Dft<T, R>::run(c);
#pragma unroll
    for (int r = 0; r < R; r++) v[q + r * B] = c[r];
  }
  if constexpr (p + 1 < P::PASSES) {
    if (p > 0) ring_sync<P>();
#pragma unroll
    for (int q = 0; q < B; q++) {
      const int j = t + q * P::G, o = j / S * S * R + j % S;

#pragma unroll
      for (int r = 0; r < R; r++) {
        const int i = o + r * S;

        sm[line * P::PITCH + i + i / P::PAD] = v[q + r * B];
      }
    }
    if constexpr (p + 1 == MOVE) {
      __syncthreads();
      line = line1;
      t = t1;
    } else ring_sync<P>();
#pragma unroll
    for (int m = 0; m < P::E; m++) {
      const int i = t + m * P::G;

      v[m] = sm[line * P::PITCH + i + i / P::PAD];
    }
    ring_pass<T, P, p + 1, MOVE>(v, sm, roots, line, t, line1, t1);
  }
}
/* e^(-i...), back e^(+i...), which is the same with real and imaginary parts exchanged */
template <typename T, class P, int MOVE, int BACK>
static __device__ __forceinline__ void ring_transform(Cplx<T> *v, Cplx<T> *sm, const T *roots, int line, int t,
                                                      int line1, int t1)
{
  if (BACK) {
#pragma unroll
    for (int m = 0; m < P::E; m++) v[m] = {v[m].y, v[m].x};
  }
  ring_pass<T, P, 0, MOVE>(v, sm, roots, line, t, line1, t1);
  if (BACK) {
#pragma unroll
    for (int m = 0; m < P::E; m++) v[m] = {v[m].y, v[m].x};
  }
}

template <typename T>
static __device__ __forceinline__ Cplx<T> conjugate(Cplx<T> a)
{
  return {a.x, -a.y};
}

/* number k and its partner n - k of every line of the block: change(k, own, partner) */
template <typename T, class P, typename Change>
static __device__ __forceinline__ void ring_partners(Cplx<T> *v, Cplx<T> *sm, int line, int t, Change change)
{
  Cplx<T> *z = sm + line * P::PITCH;

  ring_sync<P>();
#pragma unroll
  for (int m = 0; m < P::E; m++) z[t + m * P::G] = v[m];
  ring_sync<P>();
#pragma unroll
  for (int m = 0; m < P::E; m++) {
    const int k = t + m * P::G;

    v[m] = change(k, v[m], z[k ? P::N - k : 0]);
  }
  ring_sync<P>();
}
/* The transform of two real columns a + i b (not two: it stays), and a's modes up to n/2, behind them b's backwards */
template <typename T, class P, int BACK>
static __device__ __forceinline__ void ring_untangle(Cplx<T> *v, Cplx<T> *sm, int line, int t, bool two)
{
  ring_partners<T, P>(v, sm, line, t, [two](int k, Cplx<T> a, Cplx<T> b) {
    const T h = (T)0.5;

    if (!two || k == 0 || 2 * k == P::N) return a;
    if (BACK) return 2 * k < P::N ? Cplx<T>{a.x - b.y, a.y + b.x} : Cplx<T>{b.x + a.y, a.x - b.y};
    return 2 * k < P::N ? Cplx<T>{h * (a.x + b.x), h * (a.y - b.y)} : Cplx<T>{h * (a.y + b.y), h * (a.x - b.x)};
  });
}
/* and their sums with cosines, as c_a + i c_b */
template <typename T, class P, int BACK>
static __device__ __forceinline__ void ring_cosines(Cplx<T> *v, Cplx<T> *sm, const T *roots, int line, int t)
{
  ring_partners<T, P>(v, sm, line, t, [roots](int k, Cplx<T> a, Cplx<T> b) {
    const Cplx<T> w = load_root<1>(roots, P::HALF + k);
    const T h = (T)0.5;

    if (BACK) return conjugate(w) * (k ? Cplx<T>{a.x + b.y, a.y - b.x} : a);
    return Cplx<T>{h * (w.x * (a.x + b.x) - w.y * (a.y - b.y)), h * (w.x * (a.y + b.y) - w.y * (b.x - a.x))};
  });
}

/* Lines between CELL_MIXED ends, in Makhoul's order, as their transform wants them, or back */
template <typename T, class P>
static __device__ __forceinline__ void ring_fourth(Cplx<T> *v, const T *roots, bool odd, int t)
{
  constexpr int H = P::E / 2;

#pragma unroll
  for (int m = 0; m < H; m++) {
    const Cplx<T> w = load_root<1>(roots, P::FOURTH + 2 * (t + m * P::G)), a = odd ? v[m + H] : v[m],
                  b = odd ? v[m] : v[m + H];
    const Cplx<T> c = Cplx<T>{a.x, b.x} * w, d = Cplx<T>{a.y, b.y} * conjugate(w);

    v[m] = c + d;
    v[m + H] = c - d;
  }
}
template <typename T, class P>
static __device__ __forceinline__ void ring_fourth_back(Cplx<T> *v, const T *roots, bool odd, int t)
{
  constexpr int H = P::E / 2;

#pragma unroll
  for (int m = 0; m < H; m++) {
    const Cplx<T> w = load_root<1>(roots, P::FOURTH + 2 * (t + m * P::G));
    const Cplx<T> c = (v[m] + v[m + H]) * conjugate(w), d = (v[m] - v[m + H]) * w, a = {c.x, d.x}, b = {c.y, d.y};

    v[m] = odd ? b : a;
    v[m + H] = odd ? a : b;
  }
}

/* A node-centred line as its transform wants it (y_j above), from the threads of (line, t) to those of (line1, t1), of
   other warps if MOVE; ORDER: numbers are in the threads' order. last: number n, of thread 0, between COSINES. firsts:
   of line1, what ring_first() takes.

   The first sums of a run are S_(r E/2 + 1), r < 2 G. These are sums of (x_j + x_(n-j)) sin(pi j/n + pi j r/(2 G)) over half
   of the line, j = i + m G with i <= G/2 (half of it for i = 0 and G/2, which are their own mirrors), where the angle's
   second part is pi i r/(2 G) + m r pi/2. So thread i has sums with sines s and cosines c of pi j/n for m = 0, 1, 2, 3
   modulo 4, which it adds up as the quarter turns m r want it: P and Q for each r modulo 4. Then the first S are sums over
   i of P cos(pi i r/(2 G)) + Q sin(pi i r/(2 G)). COSINES: x_j - x_(n-j), c for s and -s for c */
template <typename T, class P, int MOVE, int ORDER>
static __device__ __forceinline__ void ring_fold(Cplx<T> *v, Cplx<T> last, Cplx<T> *sm, Cplx<T> *firsts, const T *roots,
                                                 bool cosines, int line, int t, int line1, int t1)
{
  const T h = (T)0.5, sign = cosines ? (T)-1 : (T)1;
  Cplx<T> *z = sm + line * P::PITCH, s[4] = {}, c[4] = {};

#pragma unroll
  for (int m = 0; m < P::E; m++) z[P::padded(ORDER ? t * P::E + m : t + m * P::G)] = v[m];
  if (t == 0) {
    if (!cosines) z[0] = last = {0, 0};
    z[P::padded(P::N)] = last;
  }
  if (MOVE) __syncthreads();
  else ring_sync<P>();
  z = sm + line1 * P::PITCH;
#pragma unroll
  for (int m = 0; m < P::E; m++) {
    const int k = t1 + m * P::G;
    const Cplx<T> w = load_root<1>(roots, P::ANGLES + k), a = z[P::padded(k)], b = z[P::padded(P::N - k)];
    const T sine = -w.y, cosine = w.x;
    const Cplx<T> p = {a.x + sign * b.x, a.y + sign * b.y}, as = {sine * p.x, sine * p.y};

    v[m] = {sign * as.x + h * (a.x - sign * b.x), sign * as.y + h * (a.y - sign * b.y)};
    s[m % 4] = s[m % 4] + as;
    c[m % 4] = {c[m % 4].x + cosine * p.x, c[m % 4].y + cosine * p.y};
  }
  if (2 * t1 <= P::G) {
    const T half = t1 == 0 || 2 * t1 == P::G ? h : (T)1;
    Cplx<T> *to = firsts + P::FIRST * t1;

#pragma unroll
    for (int i = 0; i < 4; i++) {
      const Cplx<T> si = s[i];

      s[i] = {half * (cosines ? c[i].x : si.x), half * (cosines ? c[i].y : si.y)};
      c[i] = {half * (cosines ? -si.x : c[i].x), half * (cosines ? -si.y : c[i].y)};
    }
    to[0] = s[0] + s[2] + (s[1] + s[3]);
    to[1] = c[0] + c[2] + (c[1] + c[3]);
    to[2] = s[0] - s[2] + (c[1] - c[3]);
    to[3] = c[0] - c[2] - (s[1] - s[3]);
    to[4] = s[0] + s[2] - (s[1] + s[3]);
    to[5] = c[0] + c[2] - (c[1] + c[3]);
    to[6] = s[0] - s[2] - (c[1] - c[3]);
    to[7] = c[0] - c[2] + (s[1] - s[3]);
  }
  ring_sync<P>();
}
/* S_(r E/2 + 1) */
template <typename T, class P>
static __device__ __forceinline__ Cplx<T> ring_first(const Cplx<T> *firsts, const T *roots, int r)
{
  double x = 0, y = 0;

  for (int i = 0, turn = 0; 2 * i <= P::G; i++) {
    const Cplx<T> w = load_root<1>(roots, P::TURNS + turn), p = firsts[P::FIRST * i + r % 4 * 2],
                  q = firsts[P::FIRST * i + r % 4 * 2 + 1];

    x += (double)w.x * (double)p.x - (double)w.y * (double)q.x;
    y += (double)w.x * (double)p.y - (double)w.y * (double)q.y;
    turn += r;
    if (turn >= 4 * P::G) turn -= 4 * P::G;
  }
  return {(T)x, (T)y};
}
/* The sums with sines, or cosines, from the transform (back: the one with the other sign) of what ring_fold() made: v[m]
   is mode t E + m, last (thread 0) mode n between COSINES. A thread has E/2 neighbours and their partners; in single
   precision its run begins anew half-way. FAR: threads of a line are of several warps */
template <typename T, class P, int FAR>
static __device__ __forceinline__ void ring_sums(Cplx<T> *v, Cplx<T> *last, Cplx<T> *sm, const Cplx<T> *firsts,
                                                 const T *roots, bool cosines, bool back, int line, int t)
{
  constexpr int H = P::E / 2, RUNS = sizeof(T) == 4 ? 2 : 1;
  Cplx<T> *z = sm + line * P::PITCH, first[RUNS];
  const T h = (T)0.5, he = back ? -h : h;

  if (FAR) __syncthreads();
  else ring_sync<P>();
#pragma unroll
  for (int m = 0; m < P::E; m++) z[P::padded(t + m * P::G)] = v[m];
#pragma unroll
  for (int r = 0; r < RUNS; r++) first[r] = ring_first<T, P>(firsts, roots, 2 * t + r);
  if (FAR) __syncthreads();
  else ring_sync<P>();
  *last = z[P::padded(P::N / 2)];
  Cplx<double> run = {0, 0};
#pragma unroll
  for (int i = 0; i < H; i++) {
    const int k = t * H + i;
    const Cplx<T> a = z[P::padded(k)], b = z[P::padded(k ? P::N - k : 0)];
    const Cplx<T> p = {he * (b.y - a.y), he * (a.x - b.x)}, q = {h * (a.x + b.x), h * (a.y + b.y)};

    const Cplx<T> more = cosines ? p : q;

    v[2 * i] = cosines ? q : p;
    if (i * RUNS % H == 0) run = {first[i * RUNS / H].x, first[i * RUNS / H].y};
    else run = {run.x + (double)more.x, run.y + (double)more.y};
    v[2 * i + 1] = {(T)run.x, (T)run.y};
  }
}
/* From the threads' order to places t + m G */
template <typename T, class P>
static __device__ __forceinline__ void ring_order(Cplx<T> *v, Cplx<T> *sm, int line, int t)
{
  Cplx<T> *z = sm + line * P::PITCH;

  ring_sync<P>();
#pragma unroll
  for (int m = 0; m < P::E; m++) z[P::padded(t * P::E + m)] = v[m];
  ring_sync<P>();
#pragma unroll
  for (int m = 0; m < P::E; m++) v[m] = z[P::padded(t + m * P::G)];
}

/* ---- tasks ---- */

/* What an axis is. A kernel without ENDS has periodic ones, and two cell-centred ends of a kind alone: others take more
   registers */
template <int ENDS>
struct RingKind {
  bool cell, fourth, node, cosines, sines, mixed; /* node: of COSINES or SINES; mixed: NODE_MIXED */

  __device__ __forceinline__ RingKind(const BCRCudaRingAxis &a)
      : cell(a.ends == BCR_CUDA_RING_CELL), fourth(ENDS && a.ends == BCR_CUDA_RING_CELL_MIXED), node(false),
        cosines(ENDS && a.ends == BCR_CUDA_RING_COSINES), sines(ENDS && a.ends == BCR_CUDA_RING_SINES),
        mixed(ENDS && a.ends == BCR_CUDA_RING_NODE_MIXED)
  {
    node = sines || cosines;
  }
};

/* Rows of a pair: numbers of the column, in the order of memory, of which the second one has the imaginary part. There is
   no number 0 of SINES, so that a pair is a single row, as is the last number of COSINES */
template <typename T, int ENDS>
static __device__ __forceinline__ int ring_row(const RingArgs<T> &a, int pair, bool second, bool single)
{
  const RingKind<ENDS> y(a.y);

  if (y.cell || y.fourth) return second != (y.fourth && a.y.odd) ? a.y.n - 1 - 2 * pair : 2 * pair;
  if (y.node) {
    const int t = pair / a.group, m = pair - t * a.group.d; /* place m + t G is number m E + t */

    if (pair == a.y.len / 2) return a.y.n - 1;
    return m * a.y.each + t + (second || single ? a.y.each / 2 : 0) - (y.sines ? 1 : 0);
  }
  if (y.mixed && a.y.odd) return a.y.n - 1 - pair - (second ? a.y.n / 2 : 0);
  return pair + (second ? a.y.n / 2 : 0);
}

/* Between two cell-centred ends neighbours in memory are places i and n - 1 - i of the order of the transform: w[m] of
   the latter go to the thread that has them, as v[H + ...], or come from there (put) */
template <typename T, class X>
static __device__ __forceinline__ void rows_mirror(Cplx<T> *sm, int t, bool put, Cplx<T> *w, Cplx<T> *v)
{
  constexpr int H = X::E / 2;

  if constexpr (X::WARP) {
#pragma unroll
    for (int m = 0; m < H; m++) {
      const Cplx<T> c = put ? v[X::E - 1 - m] : w[m],
                    d = {__shfl_xor_sync(0xffffffffu, c.x, X::G - 1), __shfl_xor_sync(0xffffffffu, c.y, X::G - 1)};

      *(put ? &w[m] : &v[X::E - 1 - m]) = d;
    }
  } else {
    if (put) ring_sync<X>();
#pragma unroll
    for (int m = 0; m < H; m++) sm[put ? t + m * X::G : X::N / 2 - 1 - t - m * X::G] = put ? v[m + H] : w[m];
    ring_sync<X>();
#pragma unroll
    for (int m = 0; m < H; m++) *(put ? &w[m] : &v[m + H]) = sm[put ? X::N / 2 - 1 - t - m * X::G : t + m * X::G];
    if (!put) ring_sync<X>();
  }
}

/* Numbers of the pair of rows, a + i b, in the order of the transform; single: row a is not there, r0 is row b. last:
   number n of COSINES, of thread 0 */
template <typename T, class X, int ENDS>
static __device__ __forceinline__ void rows_get(const RingArgs<T> &a, const T *r0, const T *r1, bool single,
                                                Cplx<T> *sm, int t, Cplx<T> *v, Cplx<T> *last)
{
  constexpr int H = X::E / 2;
  const RingKind<ENDS> x(a.x), y(a.y);
  const unsigned long long once = ring_passes();
  const T sb = y.cell && a.y.odd ? (T)-1 : (T)1,
          so = x.cell && a.x.odd ? (T)-1 : (T)1; /* row b; numbers 1, 3, 5, ... */

  if (!x.cell && !x.fourth) {
    const bool mirrored = x.mixed && a.x.odd;
    const int i = mirrored ? X::N - 1 - t : t - (x.sines ? 1 : 0), step = mirrored ? -X::G : X::G; /* in memory */

#pragma unroll
    for (int m = 0; m < X::E; m++) {
      v[m] = {0, 0};
      if (ENDS && m == 0 && i < 0) continue;
      v[m].x = ring_get(r0 + i + m * step, once);
      v[m].y = sb * ring_get(r1 + i + m * step, once);
    }
    if (x.cosines && t == 0) *last = {ring_get(r0 + X::N, once), sb * ring_get(r1 + X::N, once)};
  } else {
    ring_get_pairs<H>((const Cplx<T> *)r0 + t, X::G, a.fpairs, once, v);
    ring_get_pairs<H>((const Cplx<T> *)r1 + t, X::G, a.fpairs, once, v + H);
    Cplx<T> w[H];

#pragma unroll
    for (int m = 0; m < H; m++) {
      w[m] = {so * v[m].y, so * sb * v[m + H].y};
      v[m].y = sb * v[m + H].x;
    }
    rows_mirror<T, X>(sm, t, false, w, v);
  }
  if (ENDS && single) {
#pragma unroll
    for (int m = 0; m < X::E; m++) v[m].x = 0;
    last->x = 0;
  }
}
/* a single row b is stored last; not here: rows beyond the last one */
template <typename T, class X, int ENDS>
static __device__ __forceinline__ void rows_put(const RingArgs<T> &a, T *r0, T *r1, bool here, Cplx<T> *sm, int t,
                                                Cplx<T> *v, Cplx<T> last)
{
  constexpr int H = X::E / 2;
  const RingKind<ENDS> x(a.x), y(a.y);
  const unsigned long long once = ring_passes();
  const T sb = y.cell && a.y.odd ? (T)-1 : (T)1, so = x.cell && a.x.odd ? (T)-1 : (T)1;

  if (!x.cell && !x.fourth) {
    const bool mirrored = x.mixed && a.x.odd;
    const int i = mirrored ? X::N - 1 - t : t - (x.sines ? 1 : 0), step = mirrored ? -X::G : X::G;

    if (!here) return;
#pragma unroll
    for (int m = 0; m < X::E; m++) {
      if (ENDS && m == 0 && i < 0) continue;
      ring_put(r0 + i + m * step, v[m].x, once);
      ring_put(r1 + i + m * step, sb * v[m].y, once);
    }
    if (x.cosines && t == 0) {
      ring_put(r0 + X::N, last.x, once);
      ring_put(r1 + X::N, sb * last.y, once);
    }
  } else {
    Cplx<T> w[H];

    rows_mirror<T, X>(sm, t, true, w, v);
    if (!here) return;
#pragma unroll
    for (int m = 0; m < H; m++) {
      v[m + H] = {sb * v[m].y, so * sb * w[m].y};
      v[m].y = so * w[m].x;
    }
    ring_put_pairs<H>((Cplx<T> *)r0 + t, X::G, a.upairs, once, v);
    ring_put_pairs<H>((Cplx<T> *)r1 + t, X::G, a.upairs, once, v + H);
  }
}
template <typename T>
static __device__ __forceinline__ Cplx<T> *ring_plane(const RingArgs<T> &a, int plane)
{
  return a.ring + (ptrdiff_t)(plane % a.planes) * (a.x.len + (a.x.ends == BCR_CUDA_RING_COSINES)) * a.across;
}
/* counters of a direction: stored, then read */
template <typename T, int BACK>
static __device__ __forceinline__ int *ring_counts(const RingArgs<T> &a, int read)
{
  return a.count + 2 + (2 * BACK + read) * a.nz;
}

template <typename T, class X, int BACK, int ENDS>
static __device__ __forceinline__ void ring_rows(const RingArgs<T> &a, int plane, int task, Cplx<T> *sm)
{
  const RingKind<ENDS> x(a.x), y(a.y);
  const int tid = (int)threadIdx.x, lines = a.x.lines, half = a.across;
  const int row = tid / X::G, t = tid % X::G, across = tid & (lines - 1), ta = tid >> a.xshift; /* along rows; across */
  const int pair = min(task * lines + row, a.pairs - 1);
  const bool single = (y.sines && pair == 0) || (y.cosines && pair == a.y.len / 2);
  const unsigned long long stays = ring_stays();
  const T *roots = (const T *)a.x.roots;
  Cplx<T> *s = ring_plane(a, plane) + task * lines + across, *firsts = sm + lines * X::PITCH, v[X::E], last = {0, 0};
  int *stored = ring_counts<T, BACK>(a, 0) + plane, *read = ring_counts<T, BACK>(a, 1) + plane;

  if (tid >= lines * X::G) return;
  if (!BACK) {
    const T *f = a.f + plane * a.fplane;

    rows_get<T, X, ENDS>(a, f + ring_row<T, ENDS>(a, pair, false, single) * a.frow,
                         f + ring_row<T, ENDS>(a, pair, true, single) * a.frow, single, sm + row * X::PITCH, t, v,
                         &last);
    if constexpr (ENDS && X::NODES)
      if (x.node) ring_fold<T, X, 0, 0>(v, last, sm, firsts + row * X::FIRSTS, roots, x.cosines, row, t, row, t);
    if (x.mixed) ring_cosines<T, X, 1>(v, sm, roots, row, t);
    if (x.fourth) ring_fourth<T, X>(v, roots, a.x.odd, t);
    ring_transform<T, X, X::PASSES - 1, 0>(v, sm, roots, row, t, across, ta);
    if constexpr (ENDS && X::NODES)
      if (x.node) ring_sums<T, X, 1>(v, &last, sm, firsts + across * X::FIRSTS, roots, x.cosines, false, across, ta);
    if (plane >= a.planes.d) ring_wait(read - a.planes.d, a.columns * a.columnwarps);
#pragma unroll
    for (int m = 0; m < X::E; m++) ring_put(s + (ptrdiff_t)(ta + m * X::G) * half, v[m], stays);
    if (x.cosines && ta == 0) ring_put(s + (ptrdiff_t)X::N * half, last, stays);
    ring_stored(stored);
  } else {
    const bool here = task * lines + row < a.pairs;
    T *u = a.u + plane * a.uplane;

    ring_wait(stored, a.columns);
#pragma unroll
    for (int m = 0; m < X::E; m++) v[m] = ring_get(s + (ptrdiff_t)(ta + m * X::G) * half, stays);
    if (x.cosines && ta == 0) last = ring_get(s + (ptrdiff_t)X::N * half, stays);
    if constexpr (ENDS && X::NODES)
      if (x.node) ring_fold<T, X, 1, 1>(v, last, sm, firsts + row * X::FIRSTS, roots, x.cosines, across, ta, row, t);
    ring_transform<T, X, 1, 1>(v, sm, roots, x.node ? row : across, x.node ? t : ta, row, t);
    ring_read(read);
    if constexpr (ENDS && X::NODES)
      if (x.node) {
        ring_sums<T, X, 0>(v, &last, sm, firsts + row * X::FIRSTS, roots, x.cosines, true, row, t);
        ring_order<T, X>(v, sm, row, t);
      }
    if (x.mixed) ring_cosines<T, X, 0>(v, sm, roots, row, t);
    if (x.fourth) ring_fourth_back<T, X>(v, roots, a.x.odd, t);
    rows_put<T, X, ENDS>(a, u + ring_row<T, ENDS>(a, pair, false, single) * a.urow,
                         u + ring_row<T, ENDS>(a, pair, true, single) * a.urow, here, sm + row * X::PITCH, t, v, last);
  }
}

/* A column of modes along x is two real lines, or one complex one, of two places of the ring: z and z1, of pairs of rows a
   + i b. */
template <typename T>
struct RingColumn {
  bool tangled, fourth; /* of modes q and n - q, which are not those of one real line each; CELL_MIXED */
  Cplx<T> turn, turn1;
  T h, h1;

  /* half and fourth: RingArgs; q1: CELL_MIXED, the second place */
  __device__ __forceinline__ RingColumn(bool tangled_, bool cell, bool fourth_, const T *roots, int half, int fourths,
                                        int q0, int q1)
      : tangled(tangled_), fourth(fourth_), turn({1, 0}), turn1({1, 0})
  {
    if (cell && q0) turn = load_root<1>(roots, half + q0);
    if (fourth) {
      turn = load_root<1>(roots, fourths + q0);
      turn1 = load_root<1>(roots, fourths + q1);
    }
  }
  /* a and b */
  __device__ __forceinline__ void get(Cplx<T> z, Cplx<T> z1, Cplx<T> &va, Cplx<T> &vb) const
  {
    if (tangled) {
      va = Cplx<T>{h * (z.x + z1.x), h * (z.y - z1.y)} * turn;
      vb = Cplx<T>{h * (z.y + z1.y), h * (z1.x - z.x)} * turn;
    } else if (fourth) {
      va = Cplx<T>{h * z.x, h * z.y} * turn;
      vb = Cplx<T>{h * z1.x, h * z1.y} * turn1;
    } else {
      va = {h * z.x, h1 * z1.x};
      vb = {h * z.y, h1 * z1.y};
    }
  }
  __device__ __forceinline__ void put(Cplx<T> va, Cplx<T> vb, Cplx<T> &z, Cplx<T> &z1) const
  {
    if (tangled) {
      const Cplx<T> x = va * conjugate(turn), y = vb * conjugate(turn);

      z = {x.x - y.y, x.y + y.x};
      z1 = {x.x + y.y, y.x - x.y};
    } else if (fourth) {
      z = va * conjugate(turn);
      z1 = vb * conjugate(turn1);
    } else {
      z = {va.x, vb.x};
      z1 = {h1 * va.y, h1 * vb.y};
    }
  }
};

/* Column q of the ring's transforms along x: sums of rows up to ny/2 as numbers up to ny/2 of the column, of the others
   behind */
template <typename T, class Y, int BACK, int ENDS>
static __device__ __forceinline__ void ring_columns(const RingArgs<T> &a, int plane, int task, Cplx<T> *sm)
{
  constexpr int H = Y::E / 2, N = Y::N / 2;
  const RingKind<ENDS> x(a.x), y(a.y);
  const int tid = (int)threadIdx.x, line = tid / Y::G, t = tid % Y::G, nx = a.x.len;
  const bool here = task * a.y.lines + line < a.ncolumns;
  const int q = here ? task * a.y.lines + line : a.ncolumns - 1;
  const bool alone = x.cosines && 2 * q == nx; /* no second line */
  const bool periodic = a.x.ends == BCR_CUDA_RING_PERIODIC, tangled = q && (periodic || x.cell);
  const int q0 = x.fourth ? 2 * q : q, q1 = x.fourth ? 2 * q + 1 : q ? nx - q : x.cosines ? nx : nx / 2;
  const unsigned long long stays = ring_stays(), once = ring_passes();
  Cplx<T> *s = ring_plane(a, plane) + t, *s0 = s + (ptrdiff_t)q0 * a.across, *s1 = s + (ptrdiff_t)q1 * a.across;
  Cplx<T> *w = (Cplx<T> *)(a.w + plane * a.wplane) + (ptrdiff_t)q * a.column + t, v[Y::E], last = {0, 0};
  Cplx<T> *firsts = sm + a.y.lines * Y::PITCH + line * Y::FIRSTS;
  const T *roots = (const T *)a.y.roots, *rootsx = (const T *)a.x.roots;
  const T root2 = x.cell && !q ? (T)1.41421356237309504880 : (T)1; /* of mode nx/2 */
  int *stored = ring_counts<T, BACK>(a, 0) + plane, *read = ring_counts<T, BACK>(a, 1) + plane;

  if (tid >= a.y.lines * Y::G) return;
  if (!BACK) {
    RingColumn<T> c(tangled, x.cell, x.fourth, rootsx, a.half, a.fourth, q0, q1);

    c.h = (c.tangled ? (T)0.5 : (T)1) * a.scale;
    c.h1 = alone ? (T)0 : c.h / root2;
    ring_wait(stored, a.rows);
#pragma unroll
    for (int m = 0; m < H; m++) c.get(ring_get(s0 + m * Y::G, stays), ring_get(s1 + m * Y::G, stays), v[m], v[m + H]);
    if (y.cosines && t == 0) {
      Cplx<T> none;

      c.get(ring_get(s0 + N, stays), ring_get(s1 + N, stays), none, last);
    }
    if constexpr (ENDS && Y::NODES)
      if (y.node) ring_fold<T, Y, 0, 1>(v, last, sm, firsts, roots, y.cosines, line, t, line, t);
    if (y.mixed) ring_cosines<T, Y, 1>(v, sm, roots, line, t);
    if (y.fourth) ring_fourth<T, Y>(v, roots, false, t);
    ring_transform<T, Y, 0, 0>(v, sm, roots, line, t, line, t);
    ring_read(read);
    if constexpr (ENDS && Y::NODES)
      if (y.node) ring_sums<T, Y, 0>(v, &last, sm, firsts, roots, y.cosines, false, line, t);
  } else {
    ring_get_pairs<Y::E>(w, Y::G, a.wpairs, once, v);
    if (y.cosines && t == 0) ring_get_pairs<1>(w + Y::N, 0, a.wpairs, once, &last);
  }
  if (y.cell) ring_cosines<T, Y, BACK>(v, sm, roots, line, t);
  else if (a.y.ends == BCR_CUDA_RING_PERIODIC && (!periodic || task == 0))
    ring_untangle<T, Y, BACK>(v, sm, line, t, !periodic || q == 0);
  if (y.fourth) {
#pragma unroll
    for (int m = 0; m < Y::E; m++) {
      const Cplx<T> r = load_root<1>(roots, Y::FOURTH + t + m * Y::G);

      v[m] = v[m] * (BACK ? conjugate(r) : r);
    }
  }
  if (!BACK) {
    if (!here) return;
    ring_put_pairs<Y::E>(w, Y::G, a.wpairs, once, v);
    if (y.cosines && t == 0) ring_put_pairs<1>(w + Y::N, 0, a.wpairs, once, &last);
  } else {
    if constexpr (ENDS && Y::NODES)
      if (y.node) ring_fold<T, Y, 0, 1>(v, last, sm, firsts, roots, y.cosines, line, t, line, t);
    ring_transform<T, Y, 0, 1>(v, sm, roots, line, t, line, t);
    if constexpr (ENDS && Y::NODES)
      if (y.node) ring_sums<T, Y, 0>(v, &last, sm, firsts, roots, y.cosines, true, line, t);
    if (y.mixed) ring_cosines<T, Y, 0>(v, sm, roots, line, t);
    if (y.fourth) ring_fourth_back<T, Y>(v, roots, false, t);
    if (plane >= a.planes.d) ring_wait(read - a.planes.d, a.rows * a.rowwarps);
    if (here) {
      RingColumn<T> c(tangled, x.cell, x.fourth, rootsx, a.half, a.fourth, q0, q1);

      c.h1 = root2;
#pragma unroll
      for (int m = 0; m < H; m++) {
        Cplx<T> z, z1;

        c.put(v[m], v[m + H], z, z1);
        ring_put(s0 + m * Y::G, z, stays);
        if (!alone) ring_put(s1 + m * Y::G, z1, stays);
      }
      if (y.cosines && t == 0) {
        Cplx<T> z, z1;

        c.put({0, 0}, last, z, z1);
        ring_put(s0 + N, z, stays);
        if (!alone) ring_put(s1 + N, z1, stays);
      }
    }
    ring_stored(stored);
  }
}

/* A block has a task. KIND: of lengths */
template <typename T, int BACK, int KIND, int ENDS>
__global__ void __launch_bounds__(RingBlocks<T, KIND>::threads, RingBlocks<T, KIND>::value) ring_planes(RingArgs<T> a)
{
  extern __shared__ __align__(16) char ring_shared[];
  __shared__ int ticket;
  Cplx<T> *sm = (Cplx<T> *)ring_shared;

  bcr_wait_before();
  bcr_go_after();
  if (threadIdx.x == 0) ticket = atomicAdd(a.count + BACK, 1);
  __syncthreads();
  const RingTask task = ring_task(a, ticket);
  const bool rows = task.first != (BACK != 0);

#define CASE(N, ...) \
  case N: \
    if (rows) ring_rows<T, RingLength<N, __VA_ARGS__>, BACK, ENDS>(a, task.plane, task.number, sm); \
    else ring_columns<T, RingLength<N, __VA_ARGS__>, BACK, ENDS>(a, task.plane, task.number, sm); \
    break;
#define CASES(LENGTHS) \
  switch (length) { \
    LENGTHS(CASE) \
  default: \
    break; \
  }
  const int length = rows ? a.x.len : a.y.len;

  if constexpr (KIND == RING_SMALL || (KIND == RING_BIG && !ENDS)) CASES(RING_LENGTHS)
  if constexpr (KIND == RING_BIG) CASES(RING_LENGTHS_BIG)
  if constexpr (KIND == RING_TENS) CASES(RING_LENGTHS_TENS)
  if constexpr (KIND == RING_THIRTIES) CASES(RING_LENGTHS_THIRTIES)
#undef CASE
#undef CASES
}
