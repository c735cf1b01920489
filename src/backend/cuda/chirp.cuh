/*
  Sine and cosine transforms of rows as convolutions (Bluestein): what dstchirp.cu and dstconvolve.cu share.

  Lengths P without a plan of their own (dst.cu) are convolutions (Bluestein). With h = (P - 1)/2 an odd P gives

    S_2m     = sum_(j <= h) (x_j - x_(P - j)) sin(2 pi j m/P),
    S_(P-2m) = sum_(j <= h) (-1)^(j + 1) (x_j + x_(P - j)) sin(2 pi j m/P),   0 < m <= h,

  two transforms T of the same kind, of which one row makes a complex sequence w. For an even one T
  = S itself, h = P - 1, of a pair of rows. With the odd sequence v_j = w_j e^(-pi i j^2/Q), -h <= j
  <= h (Q = P, or 2 P where that is even), -2 i T_m = e^(-pi i m^2/Q) (v * q)_m, q_n = e^(pi i
  n^2/Q), a cyclic convolution of length 2 N >= 4 h (the two ends of q coincide). The transform of v
  is that of dst.cu, that of q a table; the product is odd again. Cosines are the same with even
  sequences: C_2m from x_j + x_(P - j), C_(P - 2m) from (-1)^j (x_j - x_(P - j)), h = P where P is
  even.
*/
#pragma once

#include "dst.cuh"

/* Between spread() and gather(): the transform of a class, times that of q (spectrum, from `from` on), and transformed
   again. S has R1 = R3 (or two passes, R1 = R2): the product is formed in registers */
template <class S>
static __device__ __forceinline__ void class_convolve(typename S::T *re, typename S::T *im,
                                                      const Cplx<typename S::T> *table, const void *spectrum, int c,
                                                      int t)
{
  typedef typename S::T T;
  typedef Cplx<T> C;
  constexpr int L = S::L, R = S::R1;
  T *cre = re + c * S::PITCH, *cim = im + c * S::PITCH;
  C z[S::E];
  auto load = [&](int i, int) { return C{cre[at<S>(i)], cim[at<S>(i)]}; };
  static_assert(S::R3 == 1 ? S::R1 == S::R2 : S::R1 == S::R3, "");

  if (c >= S::CLASSES) return;
  forward_passes<S>(load, table, c, t, cre, cim, z);
#pragma unroll
  for (int m = 0; m < S::E / R; m++) {
#pragma unroll
    for (int r = 0; r < R; r++)
      z[m * R + r] = z[m * R + r] * pass_root<T>(spectrum, c * L + t + S::EACH * m + r * (L / R));
    asm volatile("" ::: "memory"); /* fewer loads at once: registers */
    Dft<T, R>::run(z + m * R);
  }
  sync_class<S>(c);
  class_store<S, R, 1>(cre, cim, t, z);
  backward_passes<S>(load, table, c, t, cre, cim, z);
}

/* what makes twice the transform of what comes back; scale: 1/(2 N) */
template <typename T>
static __device__ __forceinline__ Cplx<T> chirp_factor(Cplx<T> w, T scale, bool even)
{
  return even ? Cplx<T>{scale * w.x, scale * w.y} : Cplx<T>{scale * w.y, -scale * w.x};
}

/* DST_SHAPE() for the lengths of convolutions */
#define CHIRP_TYPE(T, N, ...) \
  switch (N) { \
    DST_CASE(256, Dst256<T>, __VA_ARGS__) \
    DST_CASE(512, Dst512<T>, __VA_ARGS__) \
    DST_CASE(1024, Dst1024<T>, __VA_ARGS__) \
    DST_CASE(1536, Dst1536<T>, __VA_ARGS__) \
    DST_CASE(2048, Dst2048<T>, __VA_ARGS__) \
    DST_CASE(3072, Dst3072<T>, __VA_ARGS__) \
    DST_CASE(4096, Dst4096<T>, __VA_ARGS__) \
    DST_CASE(6144, Dst6144<T>, __VA_ARGS__) \
    DST_CASE(8192, Dst8192<T>, __VA_ARGS__) \
    DST_CASE(9216, Dst9216<T>, __VA_ARGS__) \
  default: \
    break; \
  }
#define CHIRP_SHAPE(single, N, ...) \
  do { \
    if (single) { \
      CHIRP_TYPE(float, N, __VA_ARGS__) \
    } else { \
      CHIRP_TYPE(double, N, __VA_ARGS__) \
    } \
  } while (0)

/* the shortest length of a plan for a convolution of numbers up to h with those up to 2 h; 0: none */
static int chirp_length(int h)
{
  static const int lengths[] = {256, 512, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 9216};

  for (int N : lengths)
    if (h > 0 && N >= 2 * h) return N;
  return 0;
}

/* transform of length n of x, s apart, to y; e^(-2 pi i ...), roots[k] of length all */
static void host_fft(int n, const double *x, int s, double *y, const double *roots, int all)
{
  if (n % 2 || n < 2) {
    for (int k = 0; k < n; k++) {
      double a = 0, b = 0;

      for (int j = 0; j < n; j++) {
        const double *w = roots + 2 * ((size_t)j * k % n * (all / n)), *v = x + 2 * (size_t)j * s;

        a += v[0] * w[0] - v[1] * w[1];
        b += v[0] * w[1] + v[1] * w[0];
      }
      y[2 * k] = a;
      y[2 * k + 1] = b;
    }
    return;
  }
  host_fft(n / 2, x, 2 * s, y, roots, all);
  host_fft(n / 2, x + 2 * s, 2 * s, y + n, roots, all);
  for (int k = 0; k < n / 2; k++) {
    const double *w = roots + 2 * (size_t)k * (all / n);
    double *e = y + 2 * k, *o = y + n + 2 * k;
    const double a = o[0] * w[0] - o[1] * w[1], b = o[0] * w[1] + o[1] * w[0];

    o[0] = e[0] - a;
    o[1] = e[1] - b;
    e[0] += a;
    e[1] += b;
  }
}

/* twiddles of the plan, then e^(-pi i j^2/Q), j = 0 .. h, and the transform of e^(pi i j^2/Q), |j|
   <= 2 h. Returned is how many complex numbers these are */
template <class S>
static int chirp_fill(int Q, int h, double *w)
{
  const double pi = 3.14159265358979323846;
  const int M = 2 * S::N, used = dst_fill<S>(w);
  double *chirp, *spectrum, *x, *y, *roots;

  if (!w) return used + h + 1 + S::CLASSES * S::L;
  chirp = w + 2 * used;
  spectrum = chirp + 2 * (h + 1);
  x = (double *)calloc(6 * (size_t)M, sizeof(double));
  if (!x) return 0;
  y = x + 2 * M;
  roots = y + 2 * M;
  for (int k = 0; k < M; k++) {
    roots[2 * k] = cos(2 * pi * k / M);
    roots[2 * k + 1] = -sin(2 * pi * k / M);
  }
  for (int n = 0; n <= 2 * h; n++) {
    const double phi = pi * (double)((long long)n * n % (2 * Q)) / Q;

    x[2 * n] = cos(phi);
    x[2 * n + 1] = sin(phi);
    if (n) {
      x[2 * (M - n)] = x[2 * n];
      x[2 * (M - n) + 1] = x[2 * n + 1];
    }
    if (n <= h) {
      chirp[2 * n] = cos(phi);
      chirp[2 * n + 1] = -sin(phi);
    }
  }
  host_fft(M, x, 1, y, roots, M);
  for (int c = 0; c < S::CLASSES; c++) {
    for (int k = 0; k < S::L; k++) {
      const int K = S::A * k + c;

      spectrum[2 * (c * S::L + k)] = y[2 * K];
      spectrum[2 * (c * S::L + k) + 1] = y[2 * K + 1];
    }
  }
  free(x);
  return used + h + 1 + S::CLASSES * S::L;
}

template <class S>
static const typename S::T *chirp_numbers(const void *table, int n)
{
  return (const typename S::T *)table + 2 * (size_t)n;
}

/* the parts of a table of chirp_fill(); behind them is the rest */
template <class S, typename Args>
static const typename S::T *chirp_parts(Args *args, const void *table)
{
  const int used = dst_fill<S>(NULL);

  args->table = table;
  args->chirp = chirp_numbers<S>(table, used);
  args->spectrum = chirp_numbers<S>(table, used + args->h + 1);
  return chirp_numbers<S>(table, used + args->h + 1 + S::CLASSES * S::L);
}
