/*
  Sine transforms S_k = 2 sum_j z_j sin(pi j k/N), 0 < j, k < N, N = 128, 256 or 512, of pairs of lines z = a + i b.

  The line goes on as an odd one of period 2 N. With L = 2 N/A, A = 16 or 32, a transform of length
  A over t of z_(p + t L) and the factors e^(-i pi p r/N) give classes y_r(p), each of which has
  modes k = r + A m, by a Fourier transform over its L points. Everything acts on a and b alike up
  to the factor -2 i at the end, so that nothing has to be untangled. As the line is odd, class A -
  r mirrors class r, and the points L - p of all classes come from the transform of the points p:
  (L/2 + 1) transforms of length A, then A/2 + 1 classes. A class of L = A SPLIT points is shared by
  SPLIT threads, of which each folds it for modes r + A (s + SPLIT m), m < A: again length A. A = 32
  has fewer numbers to read from shared memory, and twice as many in registers: for single
  precision.

  Cosine transforms C_k = 2 sum_j z_j cos(pi j k/N), 0 <= j, k <= N, first and last term halved (EVEN), are the same of
  lines that go on evenly: points and classes are mirrored with the same sign, and what comes has its modes as its parts.
*/
#pragma once

#include "fft.cuh"

template <int N, int A = 16>
struct Sine {
  /* threads for a pair of lines */
  static constexpr int L = 2 * N / A, SPLIT = L / A, CLASSES = A / 2 + 1, FIRST = L / 2 + 1, SECOND = CLASSES * SPLIT,
                       TASKS = FIRST > SECOND ? FIRST : SECOND;
  static_assert(SPLIT == 1 || (A == 16 && (SPLIT == 2 || SPLIT == 4)), "sine_second()");
};

/* in place; mode m is x[SINE_AT(m)] afterwards */
#define SINE_AT(m) (4 * ((m) % 4) + (m) / 4)
template <typename T>
static __device__ __forceinline__ void dft16(Cplx<T> *x)
{
  const T h = (T)0.70710678118654752440, c = (T)0.92387953251128675613, s = (T)0.38268343236508977173;

#pragma unroll
  for (int i = 0; i < 4; i++) dft4(x[i], x[i + 4], x[i + 8], x[i + 12]);
  x[5] = x[5] * Cplx<T>{c, -s};
  x[6] = {h * (x[6].x + x[6].y), h * (x[6].y - x[6].x)};
  x[7] = x[7] * Cplx<T>{s, -c};
  x[9] = {h * (x[9].x + x[9].y), h * (x[9].y - x[9].x)};
  x[10] = minus_i(x[10]);
  x[11] = {h * (x[11].y - x[11].x), -h * (x[11].x + x[11].y)};
  x[13] = x[13] * Cplx<T>{s, -c};
  x[14] = {h * (x[14].y - x[14].x), -h * (x[14].x + x[14].y)};
  x[15] = x[15] * Cplx<T>{-c, s};
#pragma unroll
  for (int i = 0; i < 4; i++) dft4(x[4 * i], x[4 * i + 1], x[4 * i + 2], x[4 * i + 3]);
}

/* x[sine_at<A>(m)] is mode m of a transform of length A */
template <int A>
static __device__ __forceinline__ constexpr int sine_at(int m)
{
  return A == 16 ? SINE_AT(m) : 16 * (m % 2) + SINE_AT(m / 2);
}
template <typename T, int A>
static __device__ __forceinline__ void sine_dft(Cplx<T> *x)
{
  if constexpr (A == 32) {
#pragma unroll
    for (int i = 0; i < 16; i++) {
      const Cplx<T> a = x[i], d = a - x[i + 16];

      x[i] = a + x[i + 16];
      x[i + 16] = i == 0 ? d : (i == 8 ? minus_i(d) : d * Cplx<T>{(T)turns<32>.c[i], (T)-turns<32>.s[i]});
    }
    dft16(x + 16);
  }
  dft16(x);
}

/* points p + t L and their mirror images; load(j), 0 < j < N, EVEN: 0 <= j <= N. HALF: those beyond N/2 are zero */
template <typename T, int N, int A, int HALF, int EVEN, typename Load>
static __device__ __forceinline__ void sine_load(int p, Load load, Cplx<T> *x)
{
  constexpr int L = Sine<N, A>::L;

#pragma unroll
  for (int t = 0; t < A / 2; t++) {
    x[t] = {0, 0};
    if (HALF && t > A / 4) continue;
    if (EVEN || t > 0 || p > 0) x[t] = load(p + t * L);
  }
#pragma unroll
  for (int t = A / 2; t < A; t++) {
    x[t] = {0, 0};
    if (HALF && t < 3 * A / 4) continue;
    if (EVEN || t > A / 2 || p > 0) {
      const Cplx<T> v = load((A - t) * L - p);

      x[t] = EVEN ? v : Cplx<T>{-v.x, -v.y};
    }
  }
}

/* store(r, p, y): class r, point p. roots: e^(-i pi m/N), m < 2 N; then, where TABLE is set, in the
   order in which they are taken, for r and p, and for s and q: fewer addresses, which take
   registers where the compiler keeps them for a second transform */
template <typename T, int N, int A, int TABLE, int FIXED, int EVEN, typename Store>
static __device__ __forceinline__ void sine_first(int p, Cplx<T> *x, const T *roots, Store store)
{
  constexpr int L = Sine<N, A>::L;
  constexpr T mirror = EVEN ? 1 : -1;
  const bool two = p > 0 && p < L / 2;

  sine_dft<T, A>(x);
#pragma unroll
  for (int r = 0; r <= A / 2; r++) {
    const Cplx<T> a = x[sine_at<A>(r)], b = x[sine_at<A>((A - r) % A)],
                  w = r ? load_root<FIXED>(roots, TABLE ? 2 * N + (r - 1) * Sine<N, A>::FIRST + p : p * r)
                        : Cplx<T>{1, 0};

    store(r, p, r ? a * w : a);
    if (two)
      store(r, L - p,
            r ? Cplx<T>{mirror * (b.x * w.x + b.y * w.y), mirror * (b.y * w.x - b.x * w.y)}
              : Cplx<T>{mirror * b.x, mirror * b.y});
  }
}

/* load(r, p): what sine_first() stored */
template <typename T, int N, int A, int TABLE, int FIXED, typename Load>
static __device__ __forceinline__ void sine_second(int r, int s, const T *roots, Load load, Cplx<T> *x)
{
  constexpr int SPLIT = Sine<N, A>::SPLIT;

#pragma unroll
  for (int q = 0; q < A; q++) {
    if (SPLIT == 1) x[q] = load(r, q);
    else if (SPLIT == 2) {
      const Cplx<T> a = load(r, q), b = load(r, q + 16);
      const T g = s ? (T)-1 : (T)1;

      x[q] = {a.x + g * b.x, a.y + g * b.y};
    } else {
      const Cplx<T> y0 = load(r, q), y1 = load(r, q + 16), y2 = load(r, q + 32), y3 = load(r, q + 48);
      /* (-i)^s = al - i be */
      const T g = s & 1 ? (T)-1 : (T)1, al = s == 0 ? (T)1 : (s == 2 ? (T)-1 : (T)0),
              be = s == 1 ? (T)1 : (s == 3 ? (T)-1 : (T)0);
      const Cplx<T> a = {y0.x + g * y2.x, y0.y + g * y2.y}, b = {y1.x + g * y3.x, y1.y + g * y3.y};

      x[q] = {a.x + al * b.x + be * b.y, a.y + al * b.y - be * b.x};
    }
  }
  if (SPLIT > 1 && s) {
#pragma unroll
    for (int q = 1; q < 16; q++)
      x[q] = x[q] * load_root<FIXED>(roots, TABLE ? 2 * N + 8 * Sine<N, A>::FIRST + 16 * s + q : 16 * q * s);
  }
  sine_dft<T, A>(x);
}

/* store(k, a, b): mode k of the two lines. HALF: not all beyond N/2 */
template <typename T, int N, int A, int HALF, int EVEN, typename Store>
static __device__ __forceinline__ void sine_store(int r, int s, const Cplx<T> *x, Store store)
{
  constexpr int SPLIT = Sine<N, A>::SPLIT;

#pragma unroll
  for (int m = 0; m < A; m++) {
    const Cplx<T> v = x[sine_at<A>(m)];
    const int k = r + A * (s + SPLIT * m);

    if (HALF && m > A / 4 && m < 3 * A / 4) continue;
    if (m < A / 2) {
      if (EVEN) store(k, v.x, v.y);
      else if (k) store(k, -v.y, v.x);
    } else if ((r != 0 && r != A / 2) || (EVEN && m == A / 2 && r == 0 && s == 0)) {
      if (EVEN) store(2 * N - k, v.x, v.y);
      else store(2 * N - k, v.y, -v.x);
    }
  }
}
