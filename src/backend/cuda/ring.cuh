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
  first S it takes from x. Number and mode 0 are 0. The same steps lead back.
*/
#pragma once

#include "fft.cuh"
#include "ring.h"
#include <type_traits>

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
  /* TURNS: e^(-i pi r/(2 G)), WHOLE: e^(-2 pi i k/N) */
  static constexpr int HALF = table(PASSES), TURNS = HALF + N, WHOLE = TURNS + 4 * G, ROOTS = WHOLE + N;
  /* places of a line in shared memory, so that distances of the first radix go to different banks */
  static constexpr int PAD = radix(0), PITCH = (N + N / PAD) | 1;
  static_assert(before(PASSES) == N && N % E == 0, "radices of a length");
};

/* Lengths, by the number of registers that they take: kernels are compiled for either kind */
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
enum {
  RING_THREADS = 256 /* of a block, at most */
};
/* So many threads have room in a multiprocessor, as `value` blocks: 128 or 168 registers of each in double, 80 or 96 in
   single precision */
template <typename T, int BIG>
struct RingBlocks {
  static constexpr int value = sizeof(T) == 8 ? (BIG ? 1 : 2) : (BIG ? 2 : 3),
                       threads = BIG ? (sizeof(T) == 8 ? 384 : 320) : RING_THREADS;
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
  int rows, columns, rowwarps, columnwarps; /* tasks of a plane; warps of each */
  int half;                                 /* where half roots are among those of x */
  ptrdiff_t fplane, uplane, wplane;
  bool fpairs, upairs, wpairs; /* addresses are such that two numbers can be read and written together */
  T scale;
};

/* which of an axis' modes is number k of its transform */
static __device__ inline int ring_mode(const BCRCudaRingAxis &a, int k)
{
  if (a.ends == BCR_CUDA_RING_NODE) return max(k - 1, 0);
  return a.odd ? a.n - 1 - k : k;
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

/* A node-centred line as the sines want it (y_j above), from the threads of (line, t) to those of (line1, t1), of other
   warps if MOVE, and first[]: S_(r E/2 + 1) for r = 2 t1 and 2 t1 + 1.

   These are sums of (x_j + x_(n-j)) sin(pi j/n + pi j r/(2 G)) over half of the line, j = i + m G with i <= G/2 (half of it
   for i = 0 and G/2, which are their own mirrors), where the angle's second part is pi i r/(2 G) + m r pi/2. So thread i
   has sums with sines s and cosines c of pi j/n for m = 0, 1, 2, 3 modulo 4, which it adds up as the quarter turns m r want
   it: P and Q for each r modulo 4. Then the first S are sums over i of P cos(pi i r/(2 G)) + Q sin(pi i r/(2 G)) */
template <typename T, class P, int MOVE>
static __device__ __forceinline__ void ring_fold(Cplx<T> *v, Cplx<T> *sm, const T *roots, int line, int t, int line1,
                                                 int t1, Cplx<T> first[2])
{
  Cplx<T> *z = sm + line1 * P::PITCH,
          s[4] =
            {
              {0, 0},
              {0, 0},
              {0, 0},
              {0, 0}
  },
          c[4] = {{0, 0}, {0, 0}, {0, 0}, {0, 0}};

  if (MOVE) __syncthreads();
  else ring_sync<P>();
#pragma unroll
  for (int m = 0; m < P::E; m++) sm[line * P::PITCH + t + m * P::G] = v[m];
  if (MOVE) __syncthreads();
  else ring_sync<P>();
#pragma unroll
  for (int m = 0; m < P::E; m++) {
    const int k = t1 + m * P::G;
    const Cplx<T> w = load_root<1>(roots, P::HALF + k), a = k ? z[k] : Cplx<T>{0, 0}, b = k ? z[P::N - k] : a;
    const T sine = -2 * w.x * w.y, cosine = (w.x + w.y) * (w.x - w.y), h = (T)0.5; /* of pi k/n */
    const Cplx<T> ab = a + b, as = {sine * ab.x, sine * ab.y}, ac = {cosine * ab.x, cosine * ab.y};

    v[m] = {as.x + h * (a.x - b.x), as.y + h * (a.y - b.y)};
    s[m % 4] = s[m % 4] + as;
    c[m % 4] = c[m % 4] + ac;
  }
  ring_sync<P>();
  if (2 * t1 <= P::G) {
    const T h = t1 == 0 || 2 * t1 == P::G ? (T)0.5 : (T)1;
    const Cplx<T> pq[8] = {s[0] + s[2] + (s[1] + s[3]), c[0] + c[2] + (c[1] + c[3]), s[0] - s[2] + (c[1] - c[3]),
                           c[0] - c[2] - (s[1] - s[3]), s[0] + s[2] - (s[1] + s[3]), c[0] + c[2] - (c[1] + c[3]),
                           s[0] - s[2] - (c[1] - c[3]), c[0] - c[2] + (s[1] - s[3])};

#pragma unroll
    for (int i = 0; i < 8; i++) z[8 * t1 + i] = {h * pq[i].x, h * pq[i].y};
  }
  ring_sync<P>();
#pragma unroll
  for (int e = 0; e < 2; e++) {
    const int r = 2 * t1 + e;

    first[e] = {0, 0};
    for (int i = 0, turn = 0; 2 * i <= P::G; i++) {
      const Cplx<T> w = load_root<1>(roots, P::TURNS + turn), p = z[8 * i + r % 4 * 2], q = z[8 * i + r % 4 * 2 + 1];

      first[e] = {first[e].x + w.x * p.x - w.y * q.x, first[e].y + w.x * p.y - w.y * q.y};
      turn += r;
      if (turn >= 4 * P::G) turn -= 4 * P::G;
    }
  }
  ring_sync<P>();
}
/* The sums with sines from the transform (BACK: the one with the other sign) of what ring_fold() made, modes t1 + m G of
   line1. Between the two exchanges a thread has E/2 neighbours and their partners; first: ring_fold()'s */
template <typename T, class P, int MOVE, int BACK>
static __device__ __forceinline__ void ring_sines(Cplx<T> *v, Cplx<T> *sm, const Cplx<T> first[2], int line, int t,
                                                  int line1, int t1)
{
  constexpr int H = P::E / 2;
  Cplx<T> *z = sm + line * P::PITCH;
  const T h = (T)0.5, he = BACK ? -h : h;

  ring_sync<P>();
#pragma unroll
  for (int m = 0; m < P::E; m++) {
    const int k = t + m * P::G;

    z[k + k / P::PAD] = v[m];
  }
  ring_sync<P>();
#pragma unroll
  for (int i = 0; i < H; i++) {
    const int k = t * H + i, l = k ? P::N - k : 0;
    const Cplx<T> a = z[k + k / P::PAD], b = z[l + l / P::PAD];

    v[2 * i] = {he * (b.y - a.y), he * (a.x - b.x)};
    if (i == 0 || 2 * i == H) v[2 * i + 1] = first[i ? 1 : 0];
    else v[2 * i + 1] = v[2 * i - 1] + Cplx<T>{h * (a.x + b.x), h * (a.y + b.y)};
  }
  ring_sync<P>();
#pragma unroll
  for (int i = 0; i < P::E; i++) {
    const int k = t * P::E + i;

    z[k + k / P::PAD] = v[i];
  }
  if (MOVE) __syncthreads();
  else ring_sync<P>();
#pragma unroll
  for (int m = 0; m < P::E; m++) {
    const int k = t1 + m * P::G;

    v[m] = sm[line1 * P::PITCH + k + k / P::PAD];
  }
  if (MOVE) __syncthreads();
  else ring_sync<P>();
}

/* ---- tasks ---- */

/* Numbers of the pair of rows, a + i b, in the order of the transform; single: row a is not there, r0 is row b. sm:
   between two cell-centred ends neighbours in
   memory are numbers i and n - 1 - i of that order, of which the second goes to the thread that has it */
template <typename T, class X>
static __device__ __forceinline__ void rows_get(const RingArgs<T> &a, const T *r0, const T *r1, bool single,
                                                Cplx<T> *sm, int t, Cplx<T> *v)
{
  constexpr int H = X::E / 2;
  const unsigned long long once = ring_passes();
  const T sb = a.y.odd ? (T)-1 : (T)1, so = a.x.odd ? (T)-1 : (T)1; /* of row b, of numbers 1, 3, 5, ... */

  if (a.x.ends != BCR_CUDA_RING_CELL) {
    const int i = t - (a.x.ends == BCR_CUDA_RING_NODE); /* in memory */

#pragma unroll
    for (int m = 0; m < X::E; m++) {
      v[m] = {0, 0};
      if (m == 0 && i < 0) continue;
      v[m].x = ring_get(r0 + i + m * X::G, once);
      v[m].y = sb * ring_get(r1 + i + m * X::G, once);
    }
  } else {
    ring_get_pairs<H>((const Cplx<T> *)r0 + t, X::G, a.fpairs, once, v);
    ring_get_pairs<H>((const Cplx<T> *)r1 + t, X::G, a.fpairs, once, v + H);
#pragma unroll
    for (int m = 0; m < H; m++) {
      sm[X::N / 2 - 1 - t - m * X::G] = {so * v[m].y, so * sb * v[m + H].y};
      v[m].y = sb * v[m + H].x;
    }
    ring_sync<X>();
#pragma unroll
    for (int m = 0; m < H; m++) v[m + H] = sm[t + m * X::G];
    ring_sync<X>();
  }
  if (single) {
#pragma unroll
    for (int m = 0; m < X::E; m++) v[m].x = 0;
  }
}
/* a single row b is stored last */
template <typename T, class X>
static __device__ __forceinline__ void rows_put(const RingArgs<T> &a, T *r0, T *r1, Cplx<T> *sm, int t, Cplx<T> *v)
{
  constexpr int H = X::E / 2;
  const unsigned long long once = ring_passes();
  const T sb = a.y.odd ? (T)-1 : (T)1, so = a.x.odd ? (T)-1 : (T)1;

  if (a.x.ends != BCR_CUDA_RING_CELL) {
    const int i = t - (a.x.ends == BCR_CUDA_RING_NODE);

#pragma unroll
    for (int m = 0; m < X::E; m++) {
      if (m == 0 && i < 0) continue;
      ring_put(r0 + i + m * X::G, v[m].x, once);
      ring_put(r1 + i + m * X::G, sb * v[m].y, once);
    }
  } else {
    ring_sync<X>();
#pragma unroll
    for (int m = 0; m < H; m++) sm[t + m * X::G] = v[m + H];
    ring_sync<X>();
#pragma unroll
    for (int m = 0; m < H; m++) {
      const Cplx<T> w = sm[X::N / 2 - 1 - t - m * X::G];

      v[m + H] = {sb * v[m].y, so * sb * w.y};
      v[m].y = so * w.x;
    }
    ring_put_pairs<H>((Cplx<T> *)r0 + t, X::G, a.upairs, once, v);
    ring_put_pairs<H>((Cplx<T> *)r1 + t, X::G, a.upairs, once, v + H);
  }
}
/* The two rows of a pair; row 0 between node-centred ends is not there, so that the first pair is a single row */
template <typename T>
static __device__ __forceinline__ ptrdiff_t ring_row(const RingArgs<T> &a, int pair, int second)
{
  if (a.y.ends == BCR_CUDA_RING_CELL) return (ptrdiff_t)a.x.n * (second ? a.y.n - 1 - 2 * pair : 2 * pair);
  if (a.y.ends == BCR_CUDA_RING_NODE)
    return (ptrdiff_t)a.x.n * (second || pair == 0 ? pair + a.y.len / 2 - 1 : pair - 1);
  return (ptrdiff_t)a.x.n * (second ? pair + a.y.n / 2 : pair);
}
template <typename T>
static __device__ __forceinline__ Cplx<T> *ring_plane(const RingArgs<T> &a, int plane)
{
  return a.ring + (ptrdiff_t)(plane % a.planes) * a.x.len * (a.y.len / 2);
}
/* counters of a direction: stored, then read */
template <typename T, int BACK>
static __device__ __forceinline__ int *ring_counts(const RingArgs<T> &a, int read)
{
  return a.count + 2 + (2 * BACK + read) * a.nz;
}

template <typename T, class X, int BACK>
static __device__ __forceinline__ void ring_rows(const RingArgs<T> &a, int plane, int task, Cplx<T> *sm)
{
  const int tid = (int)threadIdx.x, lines = a.x.lines, half = a.y.len / 2;
  const int row = tid / X::G, t = tid % X::G, across = tid & (lines - 1), ta = tid >> a.xshift; /* along rows; across */
  const bool node = a.x.ends == BCR_CUDA_RING_NODE, single = a.y.ends == BCR_CUDA_RING_NODE && task == 0 && row == 0;
  const unsigned long long stays = ring_stays();
  Cplx<T> *s = ring_plane(a, plane) + task * lines + across, v[X::E], first[2];
  int *stored = ring_counts<T, BACK>(a, 0) + plane, *read = ring_counts<T, BACK>(a, 1) + plane;

  if (tid >= lines * X::G) return;
  if (!BACK) {
    const T *f = a.f + plane * a.fplane;

    rows_get<T, X>(a, f + ring_row(a, task * lines + row, 0), f + ring_row(a, task * lines + row, 1), single,
                   sm + row * X::PITCH, t, v);
    if (node) ring_fold<T, X, 0>(v, sm, (const T *)a.x.roots, row, t, row, t, first);
    ring_transform<T, X, X::PASSES - 1, 0>(v, sm, (const T *)a.x.roots, row, t, node ? row : across, node ? t : ta);
    if (node) ring_sines<T, X, 1, 0>(v, sm, first, row, t, across, ta);
    if (plane >= a.planes.d) ring_wait(read - a.planes.d, a.columns * a.columnwarps);
#pragma unroll
    for (int m = 0; m < X::E; m++) ring_put(s + (ptrdiff_t)(ta + m * X::G) * half, v[m], stays);
    ring_stored(stored);
  } else {
    T *u = a.u + plane * a.uplane;

    ring_wait(stored, a.columns);
#pragma unroll
    for (int m = 0; m < X::E; m++) v[m] = ring_get(s + (ptrdiff_t)(ta + m * X::G) * half, stays);
    if (node) ring_fold<T, X, 1>(v, sm, (const T *)a.x.roots, across, ta, row, t, first);
    ring_transform<T, X, 1, 1>(v, sm, (const T *)a.x.roots, node ? row : across, node ? t : ta, row, t);
    if (node) ring_sines<T, X, 0, 1>(v, sm, first, row, t, row, t);
    ring_read(read);
    rows_put<T, X>(a, u + ring_row(a, task * lines + row, 0), u + ring_row(a, task * lines + row, 1),
                   sm + row * X::PITCH, t, v);
  }
}

/* Column q of the ring's transforms along x: sums of rows up to ny/2 as numbers up to ny/2 of the column, of the others
   behind */
template <typename T, class Y, int BACK>
static __device__ __forceinline__ void ring_columns(const RingArgs<T> &a, int plane, int task, Cplx<T> *sm)
{
  constexpr int H = Y::E / 2, N = Y::N / 2;
  const int tid = (int)threadIdx.x, line = tid / Y::G, t = tid % Y::G, q = task * a.y.lines + line, nx = a.x.len;
  const bool cell = a.x.ends == BCR_CUDA_RING_CELL, node = a.x.ends == BCR_CUDA_RING_NODE;
  const bool tangled = q && !node; /* columns q and nx - q are not those of modes */
  const bool sines = a.y.ends == BCR_CUDA_RING_NODE;
  const unsigned long long stays = ring_stays(), once = ring_passes();
  Cplx<T> *s = ring_plane(a, plane) + t, *s0 = s + (ptrdiff_t)q * N, *s1 = s + (ptrdiff_t)(q ? nx - q : nx / 2) * N;
  Cplx<T> *w = (Cplx<T> *)(a.w + plane * a.wplane) + (ptrdiff_t)q * Y::N + t, v[Y::E], turn = {1, 0}, first[2];
  const T root2 = cell && !q ? (T)1.41421356237309504880 : (T)1; /* of mode nx/2 */
  const T *roots = (const T *)a.y.roots;
  int *stored = ring_counts<T, BACK>(a, 0) + plane, *read = ring_counts<T, BACK>(a, 1) + plane;

  if (tid >= a.y.lines * Y::G) return;
  if (cell && q) turn = load_root<1>((const T *)a.x.roots, a.half + q);
  if (!BACK) {
    const T h = (tangled ? (T)0.5 : (T)1) * a.scale, h1 = h / root2;

    ring_wait(stored, a.rows);
#pragma unroll
    for (int m = 0; m < H; m++) {
      const Cplx<T> z = ring_get(s0 + m * Y::G, stays), z1 = ring_get(s1 + m * Y::G, stays);

      if (tangled) {
        v[m] = Cplx<T>{h * (z.x + z1.x), h * (z.y - z1.y)} * turn;
        v[m + H] = Cplx<T>{h * (z.y + z1.y), h * (z1.x - z.x)} * turn;
      } else {
        v[m] = {h * z.x, h1 * z1.x};
        v[m + H] = {h * z.y, h1 * z1.y};
      }
    }
    if (sines) ring_fold<T, Y, 0>(v, sm, roots, line, t, line, t, first);
    ring_transform<T, Y, 0, 0>(v, sm, roots, line, t, line, t);
    ring_read(read);
    if (sines) ring_sines<T, Y, 0, 0>(v, sm, first, line, t, line, t);
  } else {
    ring_get_pairs<Y::E>(w, Y::G, a.wpairs, once, v);
  }
  if (a.y.ends == BCR_CUDA_RING_CELL) ring_cosines<T, Y, BACK>(v, sm, roots, line, t);
  else if (a.y.ends == BCR_CUDA_RING_PERIODIC && (a.x.ends != BCR_CUDA_RING_PERIODIC || task == 0))
    ring_untangle<T, Y, BACK>(v, sm, line, t, a.x.ends != BCR_CUDA_RING_PERIODIC || q == 0);
  if (!BACK) {
    ring_put_pairs<Y::E>(w, Y::G, a.wpairs, once, v);
  } else {
    if (sines) ring_fold<T, Y, 0>(v, sm, roots, line, t, line, t, first);
    ring_transform<T, Y, 0, 1>(v, sm, roots, line, t, line, t);
    if (sines) ring_sines<T, Y, 0, 1>(v, sm, first, line, t, line, t);
    if (plane >= a.planes.d) ring_wait(read - a.planes.d, a.rows * a.rowwarps);
    turn = conjugate(turn);
#pragma unroll
    for (int m = 0; m < H; m++) {
      const Cplx<T> x = v[m] * turn, y = v[m + H] * turn;

      ring_put(s0 + m * Y::G, tangled ? Cplx<T>{x.x - y.y, x.y + y.x} : Cplx<T>{x.x, y.x}, stays);
      ring_put(s1 + m * Y::G, tangled ? Cplx<T>{x.x + y.y, y.x - x.y} : Cplx<T>{root2 * x.y, root2 * y.y}, stays);
    }
    ring_stored(stored);
  }
}

/* A block has a task. BIG: lengths of more registers among them */
template <typename T, int BACK, int BIG>
__global__ void __launch_bounds__(RingBlocks<T, BIG>::threads, RingBlocks<T, BIG>::value) ring_planes(RingArgs<T> a)
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
    if (rows) ring_rows<T, RingLength<N, __VA_ARGS__>, BACK>(a, task.plane, task.number, sm); \
    else ring_columns<T, RingLength<N, __VA_ARGS__>, BACK>(a, task.plane, task.number, sm); \
    break;
  switch (rows ? a.x.len : a.y.len) {
    RING_LENGTHS(CASE)
  default:
    if constexpr (BIG) {
      switch (rows ? a.x.len : a.y.len) {
        RING_LENGTHS_BIG(CASE)
      default:
        break;
      }
    }
    break;
  }
#undef CASE
}
