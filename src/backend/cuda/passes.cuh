/*
  Fourier transforms in place in shared memory by passes of small radices, whose number and sizes
  are known at run time: what kernels need, and set-up on the host. A pass of radix R over blocks of
  R s elements takes elements s apart; with decimation in frequency factors follow, transposed they
  come before. Where R and s are coprime there are none (prime factor algorithm; Good 1958), and
  elements lie in another order.
*/
#pragma once

#include "fft.cuh"
#include "transforms.h"
#include <cmath>
#include <cstdlib>
#include <cstring>

/* A step of all threads of a block, which then wait for one another */
#define BCR_PASS_PHASE(CALL) \
  do { \
    CALL; \
    __syncthreads(); \
  } while (0)

/* kernels that are for small radices only do with fewer registers */
#define PASS_RADICES_SMALL(CASE) CASE(2) CASE(3) CASE(4) CASE(5) CASE(7) CASE(8) CASE(9)
#define PASS_RADICES_BIG(CASE)   CASE(10) CASE(11) CASE(13) CASE(15) CASE(16) CASE(17)
#define PASS_MIDDLE              13
static const int pass_radices[] = {2, 3, 4, 5, 7, 8, 9, 10, 11, 13, 15, 16, 17};

static __device__ __forceinline__ int pass_divide(int n, int d, unsigned reciprocal)
{
  return d == 1 ? n : (int)__umulhi((unsigned)n, reciprocal);
}

template <typename T>
static __device__ __forceinline__ Cplx<T> pass_root(const void *w, int i);
template <>
__device__ __forceinline__ Cplx<double> pass_root<double>(const void *w, int i)
{
  const double2 v = __ldg((const double2 *)w + i);

  return {v.x, v.y};
}
template <>
__device__ __forceinline__ Cplx<float> pass_root<float>(const void *w, int i)
{
  const float2 v = __ldg((const float2 *)w + i);

  return {v.x, v.y};
}

/* Complex numbers in shared memory. PAD: distances that are powers of two go to different banks */
template <typename T>
struct PassNumber;
template <>
struct PassNumber<double> {
  typedef double2 type;
};
template <>
struct PassNumber<float> {
  typedef float2 type;
};
template <typename T, int PAD = 0>
struct PassField {
  typename PassNumber<T>::type *z;

  static __host__ __device__ __forceinline__ int at(int i) { return PAD ? i + (i >> 4) + (i >> 8) : i; }
  __device__ __forceinline__ Cplx<T> get(int i) const
  {
    const typename PassNumber<T>::type v = z[at(i)];

    return {v.x, v.y};
  }
  __device__ __forceinline__ void put(int i, Cplx<T> v) const { z[at(i)] = {v.x, v.y}; }
};

/* x, or -x where entry is negative */
static __device__ __forceinline__ double pass_sign(double x, int entry)
{
#if defined(__CUDA_ARCH__)
  return __hiloint2double(__double2hiint(x) ^ (entry & 0x80000000), __double2loint(x));
#else
  return entry < 0 ? -x : x;
#endif
}
static __device__ __forceinline__ float pass_sign(float x, int entry)
{
#if defined(__CUDA_ARCH__)
  return __int_as_float(__float_as_int(x) ^ (entry & 0x80000000));
#else
  return entry < 0 ? -x : x;
#endif
}
enum {
  PASS_AHEAD = 4 /* loads of a thread that are under way at the same time */
};

/* times the factors w[r], 0 < r < R, of element i: in double by powers of two and their products,
   which is faster than to load them; single precision has not the digits */
template <typename T, int R>
static __device__ __forceinline__ void pass_factors(const void *table, int w, int s, int i, Cplx<T> *x)
{
  if constexpr (sizeof(T) == 4 || R < 4) {
#pragma unroll
    for (int r = 1; r < R; r++) x[r] = x[r] * pass_root<T>(table, w + r * s + i);
  } else {
    Cplx<T> f[R];

#pragma unroll
    for (int r = 1; r < R; r *= 2) f[r] = pass_root<T>(table, w + r * s + i);
#pragma unroll
    for (int r = 1; r < R; r++) {
      const int h = r >= 16 ? 16 : (r >= 8 ? 8 : (r >= 4 ? 4 : (r >= 2 ? 2 : 1)));

      if (r != h) f[r] = f[h] * f[r - h];
      x[r] = x[r] * f[r];
    }
  }
}

/* A pass over count elements, back: transposed; then over tail elements behind them, of blocks
   without the factor `each`. The code is run through once by each warp and comes from far: it is
   short rather than fast, and the same for all passes of a radix */
template <typename T, int R, int PAD>
static __device__ __forceinline__ void pass_do(const BCRCudaDstPass &s, const void *table, int count, int tail,
                                               int threads, PassField<T, PAD> z, int back, int tid)
{
  const int main = count / R, items = main + tail / R, w = s.w;

#pragma unroll 1
  for (int e = tid; e < items; e += threads) {
    const bool last = e >= main;
    const int f = last ? e - main : e, n = last ? s.s : s.n, block = pass_divide(f, n, last ? s.pers : s.pern),
              i = f - block * n, at = (last ? count : 0) + block * R * n + i;
    const int k = last ? i : pass_divide(i, s.each, s.pereach);
    Cplx<T> x[R];

#pragma unroll
    for (int r = 0; r < R; r++) x[r] = z.get(at + r * n);
    if (w >= 0 && back) pass_factors<T, R>(table, w, s.s, k, x);
    Dft<T, R>::run(x);
    if (w >= 0 && !back) pass_factors<T, R>(table, w, s.s, k, x);
#pragma unroll
    for (int r = 0; r < R; r++) z.put(at + r * n, x[r]);
  }
}
#define PASS_CASE(R, ...) \
  case R: \
    __VA_ARGS__; \
    break;
template <typename T, int PAD, int BIG>
static __device__ __forceinline__ void pass_any(const BCRCudaDstPass &s, const void *table, int count, int tail,
                                                int threads, PassField<T, PAD> z, int back, int tid)
{
#define CASE(R) PASS_CASE(R, pass_do<T, R, PAD>(s, table, count, tail, threads, z, back, tid))
  switch (s.R) {
    PASS_RADICES_SMALL(CASE)
  default:
    if constexpr (BIG) {
      switch (s.R) {
        PASS_RADICES_BIG(CASE)
      default:
        break;
      }
    }
    break;
  }
#undef CASE
}

/* Set-up, on the host */
static inline unsigned pass_reciprocal(int d)
{
  return d > 1 ? (unsigned)((0x100000000ull + (unsigned)d - 1) / (unsigned)d) : 0;
}
static inline int pass_gcd(int a, int b)
{
  while (b) {
    const int r = a % b;

    a = b;
    b = r;
  }
  return a;
}
static inline long long pass_inverse(long long a, long long m)
{
  long long r = 0, s = m, x = 1, y = a % m;

  if (m == 1) return 0;
  while (y) {
    const long long q = s / y, t = s - q * y, v = r - q * x;

    s = y;
    y = t;
    r = x;
    x = v;
  }
  return ((r % m) + m) % m;
}
static inline long long pass_power(long long a, long long e, long long m)
{
  long long r = 1;

  for (a %= m; e; e >>= 1, a = a * a % m)
    if (e & 1) r = r * a % m;
  return r;
}

/* in[position], out[position] of passes with radices R[0 .. n - 1] over M = their product. */
static inline void pass_positions(int n, const int R[], const int coprime[], int M, int *in, int *out)
{
  const int s = n ? M / R[0] : 1;
  const long long inverse = n && coprime[0] ? pass_inverse(R[0] % s, s) : 0;
  int *si, *so;

  in[0] = out[0] = 0;
  if (!n) return;
  si = (int *)malloc(2 * (size_t)s * sizeof(int));
  so = si + s;
  if (!si) return;
  pass_positions(n - 1, R + 1, coprime + 1, s, si, so);
  for (int r = 0; r < R[0]; r++) {
    for (int i = 0; i < s; i++) {
      in[r * s + i] = coprime[0] ? (int)(((long long)s * r + (long long)R[0] * si[i]) % M) : s * r + si[i];
      if (coprime[0]) out[r * s + i] = r + R[0] * (int)((so[i] + (long long)s * R[0] - r) % s * inverse % s);
      else out[r * s + i] = r + R[0] * so[i];
    }
  }
  free(si);
}

/* operations for an element in a pass, roughly */
static inline double pass_cost(int R)
{
  const double each[18] = {0, 0, 2, 5.3, 4, 8.8, 7.5, 10, 8, 10, 13, 14, 9.5, 16, 12, 14, 11, 20};

  return each[R] + 9;
}

/* and for each of so many elements of a block what it costs that the code comes from far (H200: 4,
   5, 5, 5, 3 are faster than 10, 15, 10) */
static inline double pass_code(int R, int elements)
{
  return 90. / elements * R * pass_cost(R);
}

/* the last pass of PASS_MIDDLE at most takes R neighbours at once: threads meet in banks of shared
   memory where R is even */
static inline double pass_banks(int R)
{
  return R % 4 == 0 ? 3 : (R % 2 == 0 ? 1 : 0);
}

/* the best radices for M by that, n of them chosen so far; single: there is one at least, which may
   be 1 or 6, and the last one is no larger than PASS_MIDDLE */
static inline double pass_choose(int M, int n, int elements, int single, int R[], int *nR, int now[], double sofar,
                                 double best)
{
  if (n > BCR_CUDA_DST_PASSES - 1) return best;
  if (M == 1 && (n || !single)) {
    if (single) sofar += pass_banks(now[n - 1]);
    if (sofar < best && (!single || now[n - 1] <= PASS_MIDDLE)) {
      best = sofar;
      *nR = n;
      for (int i = 0; i < n; i++) R[i] = now[i];
    }
    return best;
  }
  for (int r : pass_radices) {
    int again = 0;

    if (M % r) continue;
    for (int i = 0; i < n; i++) again |= now[i] == r;
    now[n] = r;
    best = pass_choose(M / r, n + 1, elements, single, R, nR, now,
                       sofar + pass_cost(r) + (again ? 0 : pass_code(r, elements)), best);
  }
  if (n == 0 && single && (M == 1 || M == 6)) {
    now[0] = M;
    best = pass_choose(1, 1, elements, single, R, nR, now, sofar + pass_cost(M) + pass_code(M, elements), best);
  }
  return best;
}

static inline int pass_coprime(const int R[], int n, int i)
{
  int s = 1;

  for (int q = i + 1; q < n; q++) s *= R[q];
  return s > 1 && pass_gcd(R[i], s) == 1;
}

/* n passes over M rows of `each` numbers: sizes, which index lies where before and after them,
   factors from w[2 nw] on (w: NULL to count). Returns nw after them */
static inline int pass_tables(int n, const int R[], int M, int each, BCRCudaDstPass *pass, int *in, int *out, double *w,
                              int nw)
{
  const double turn = 2 * 3.14159265358979323846;
  int coprime[BCR_CUDA_DST_PASSES + 1] = {0}, left = M;

  for (int i = 0; i < n; i++) coprime[i] = pass_coprime(R, n, i);
  pass_positions(n, R, coprime, M, in, out);
  for (int i = 0; i < n; i++) {
    const int s = left / R[i];
    int *si = (int *)malloc(2 * (size_t)s * sizeof(int));

    if (!si) return -1;
    pass_positions(n - i - 1, R + i + 1, coprime + i + 1, s, si, si + s);
    pass[i].R = R[i];
    pass[i].s = s;
    pass[i].n = s * each;
    pass[i].each = each;
    pass[i].pers = pass_reciprocal(s);
    pass[i].pern = pass_reciprocal(s * each);
    pass[i].pereach = pass_reciprocal(each);
    pass[i].w = -1;
    if (s > 1 && !coprime[i]) {
      pass[i].w = nw;
      for (int k = 0; k < R[i] && w; k++) {
        for (int q = 0; q < s; q++) {
          w[2 * (nw + k * s + q)] = cos(turn * ((long long)si[q] * k % left) / left);
          w[2 * (nw + k * s + q) + 1] = -sin(turn * ((long long)si[q] * k % left) / left);
        }
      }
      nw += R[i] * s;
    }
    free(si);
    left = s;
  }
  return nw;
}

/* Threads of a block for that many jobs: the most with which they take as few waves as possible.
   bytes: shared memory of a block, shared: the most */
static inline int pass_threads(int jobs, int sms, int registers, int most, size_t bytes, int shared)
{
  int best = 96, least = 1 << 30;

  for (int n = 96; n <= most; n += 32) {
    const int byregs = 65536 / (registers * n),
              bybytes = (int)(((size_t)shared + BCR_CUDA_SHARED_RESERVED) / (bytes + BCR_CUDA_SHARED_RESERVED)),
              fit = (byregs < bybytes ? byregs : bybytes) > 0 ? (byregs < bybytes ? byregs : bybytes) : 1;
    const int waves = (jobs + fit * sms - 1) / (fit * sms);

    if (waves <= least) {
      least = waves;
      best = n;
    }
  }
  return best;
}
