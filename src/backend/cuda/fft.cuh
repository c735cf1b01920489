/* Complex arithmetic and small Fourier transforms in registers; e^(-i ...) throughout */
#pragma once

#include "common.cuh"

template <typename T>
struct Cplx {
  T x, y;
};
template <typename T>
static __device__ __forceinline__ Cplx<T> operator+(Cplx<T> a, Cplx<T> b)
{
  return {a.x + b.x, a.y + b.y};
}
template <typename T>
static __device__ __forceinline__ Cplx<T> operator-(Cplx<T> a, Cplx<T> b)
{
  return {a.x - b.x, a.y - b.y};
}
template <typename T>
static __device__ __forceinline__ Cplx<T> operator*(Cplx<T> a, Cplx<T> b)
{
  return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}
template <typename T>
static __device__ __forceinline__ Cplx<T> minus_i(Cplx<T> a)
{
  return {a.y, -a.x};
}

template <typename T>
static __device__ __forceinline__ void dft4(Cplx<T> &a, Cplx<T> &b, Cplx<T> &c, Cplx<T> &d)
{
  const Cplx<T> s = a + c, t = a - c, u = b + d, v = minus_i(b - d);

  a = s + u;
  b = t + v;
  c = s - u;
  d = t - v;
}

static constexpr double PI = 3.14159265358979323846;
constexpr double series_sin(double x) /* |x| <= pi/2 */
{
  double t = x, s = x;

  for (int k = 1; k < 14; k++) {
    t *= -x * x / ((2 * k) * (2 * k + 1));
    s += t;
  }
  return s;
}
constexpr double turn_sin(int k, int n) /* sin(2 pi k/n) */
{
  k = ((k % n) + n) % n;
  if (2 * k > n) return -turn_sin(n - k, n);
  if (4 * k > n) return series_sin(PI * (n - 2 * k) / n);
  return series_sin(2 * PI * k / n);
}
constexpr double turn_cos(int k, int n)
{
  k = ((k % n) + n) % n;
  if (2 * k > n) k = n - k;
  return series_sin(PI * (n - 4 * k) / (2. * n));
}
template <int R>
struct Turns {
  double c[R], s[R];
  constexpr Turns() : c(), s()
  {
    for (int k = 0; k < R; k++) {
      c[k] = turn_cos(k, R);
      s[k] = turn_sin(k, R);
    }
  }
};
template <int R>
__device__ constexpr Turns<R> turns{};

/* x in natural order in and out; odd primes */
template <typename T, int R>
struct Dft {
  static __device__ __forceinline__ void run(Cplx<T> *x)
  {
    constexpr int h = (R - 1) / 2;
    Cplx<T> s[h], d[h], y0 = x[0];

#pragma unroll
    for (int r = 0; r < h; r++) {
      s[r] = x[r + 1] + x[R - 1 - r];
      d[r] = x[r + 1] - x[R - 1 - r];
      y0 = y0 + s[r];
    }
#pragma unroll
    for (int q = 1; q <= h; q++) {
      Cplx<T> a = x[0], b = {0, 0};

#pragma unroll
      for (int r = 0; r < h; r++) {
        const T c = (T)turns<R>.c[(q * (r + 1)) % R], n = (T)turns<R>.s[(q * (r + 1)) % R];

        a.x += c * s[r].x;
        a.y += c * s[r].y;
        b.x += n * d[r].y;
        b.y -= n * d[r].x;
      }
      x[q] = a + b;
      x[R - q] = a - b;
    }
    x[0] = y0;
  }
};
template <typename T>
struct Dft<T, 2> {
  static __device__ __forceinline__ void run(Cplx<T> *x)
  {
    const Cplx<T> a = x[0];

    x[0] = a + x[1];
    x[1] = a - x[1];
  }
};
template <typename T>
struct Dft<T, 3> {
  static __device__ __forceinline__ void run(Cplx<T> *x)
  {
    const Cplx<T> s = x[1] + x[2], d = x[1] - x[2], a = x[0];
    const T h = (T)0.86602540378443864676;
    const Cplx<T> m = {a.x - (T)0.5 * s.x, a.y - (T)0.5 * s.y}, r = {h * d.y, -h * d.x};

    x[0] = a + s;
    x[1] = m + r;
    x[2] = m - r;
  }
};
template <typename T>
struct Dft<T, 4> {
  static __device__ __forceinline__ void run(Cplx<T> *x) { dft4(x[0], x[1], x[2], x[3]); }
};
template <typename T>
struct Dft<T, 5> {
  static __device__ __forceinline__ void run(Cplx<T> *x)
  {
    const T c1 = (T)0.30901699437494742410, c2 = (T)-0.80901699437494742410, s1 = (T)0.95105651629515357212,
            s2 = (T)0.58778525229247312917;
    const Cplx<T> a = x[0], p = x[1] + x[4], q = x[2] + x[3], u = x[1] - x[4], v = x[2] - x[3];
    const Cplx<T> m1 = {a.x + c1 * p.x + c2 * q.x, a.y + c1 * p.y + c2 * q.y},
                  m2 = {a.x + c2 * p.x + c1 * q.x, a.y + c2 * p.y + c1 * q.y};
    const Cplx<T> r1 = {s1 * u.y + s2 * v.y, -(s1 * u.x + s2 * v.x)},
                  r2 = {s2 * u.y - s1 * v.y, -(s2 * u.x - s1 * v.x)};

    x[0] = a + p + q;
    x[1] = m1 + r1;
    x[4] = m1 - r1;
    x[2] = m2 + r2;
    x[3] = m2 - r2;
  }
};
template <typename T>
struct Dft<T, 8> {
  static __device__ __forceinline__ void run(Cplx<T> *x)
  {
    const T h = (T)0.70710678118654752440;

    dft4(x[0], x[2], x[4], x[6]);
    dft4(x[1], x[3], x[5], x[7]);
    const Cplx<T> a = x[1], b = {h * (x[3].x + x[3].y), h * (x[3].y - x[3].x)}, c = minus_i(x[5]),
                  d = {h * (x[7].y - x[7].x), -h * (x[7].x + x[7].y)};
    const Cplx<T> e0 = x[0], e1 = x[2], e2 = x[4], e3 = x[6];

    x[0] = e0 + a;
    x[4] = e0 - a;
    x[1] = e1 + b;
    x[5] = e1 - b;
    x[2] = e2 + c;
    x[6] = e2 - c;
    x[3] = e3 + d;
    x[7] = e3 - d;
  }
};
template <typename T>
struct Dft<T, 16> {
  static __device__ __forceinline__ void run(Cplx<T> *x)
  {
    const T h = (T)0.70710678118654752440, c = (T)0.92387953251128675613, s = (T)0.38268343236508977173;

#pragma unroll
    for (int r = 0; r < 4; r++) dft4(x[r], x[r + 4], x[r + 8], x[r + 12]);
    /* x[r + 4 q] times e^(-2 pi i r q/16) */
    x[5] = x[5] * Cplx<T>{c, -s};
    x[9] = {h * (x[9].x + x[9].y), h * (x[9].y - x[9].x)};
    x[13] = x[13] * Cplx<T>{s, -c};
    x[6] = {h * (x[6].x + x[6].y), h * (x[6].y - x[6].x)};
    x[10] = minus_i(x[10]);
    x[14] = {h * (x[14].y - x[14].x), -h * (x[14].x + x[14].y)};
    x[7] = x[7] * Cplx<T>{s, -c};
    x[11] = {h * (x[11].y - x[11].x), -h * (x[11].x + x[11].y)};
    x[15] = x[15] * Cplx<T>{-c, s};
#pragma unroll
    for (int q = 0; q < 4; q++) dft4(x[4 * q], x[4 * q + 1], x[4 * q + 2], x[4 * q + 3]);
#pragma unroll
    for (int q = 0; q < 4; q++) { /* mode q + 4 r lies at 4 q + r */
#pragma unroll
      for (int r = q + 1; r < 4; r++) {
        const Cplx<T> t = x[4 * q + r];

        x[4 * q + r] = x[4 * r + q];
        x[4 * r + q] = t;
      }
    }
  }
};
template <typename T>
struct Dft<T, 9> {
  static __device__ __forceinline__ void run(Cplx<T> *x)
  {
    Cplx<T> y[9];

#pragma unroll
    for (int r = 0; r < 3; r++) {
      Cplx<T> z[3] = {x[r], x[r + 3], x[r + 6]};

      Dft<T, 3>::run(z);
#pragma unroll
      for (int q = 0; q < 3; q++)
        y[r + 3 * q] = r && q ? z[q] * Cplx<T>{(T)turns<9>.c[r * q], -(T)turns<9>.s[r * q]} : z[q];
    }
#pragma unroll
    for (int q = 0; q < 3; q++) {
      Dft<T, 3>::run(y + 3 * q);
#pragma unroll
      for (int r = 0; r < 3; r++) x[q + 3 * r] = y[3 * q + r];
    }
  }
};
template <typename T>
struct Dft<T, 18> {
  static __device__ __forceinline__ void run(Cplx<T> *x)
  {
    Cplx<T> e[9], o[9];

#pragma unroll
    for (int r = 0; r < 9; r++) {
      e[r] = x[2 * r];
      o[r] = x[2 * r + 1];
    }
    Dft<T, 9>::run(e);
    Dft<T, 9>::run(o);
#pragma unroll
    for (int k = 0; k < 9; k++) {
      const Cplx<T> w = k ? o[k] * Cplx<T>{(T)turns<18>.c[k], -(T)turns<18>.s[k]} : o[k];

      x[k] = e[k] + w;
      x[k + 9] = e[k] - w;
    }
  }
};
template <typename T, int R1, int R2>
struct DftCoprime { /* R1, R2 coprime */
  static constexpr int R = R1 * R2;
  static constexpr int multiple(int a, int b) /* of a, 1 modulo b */
  {
    int k = a;

    while (k % b != 1) k += a;
    return k;
  }
  static constexpr int M1 = multiple(R2, R1), M2 = multiple(R1, R2);
  static __device__ __forceinline__ void run(Cplx<T> *x)
  {
    Cplx<T> y[R];

#pragma unroll
    for (int m = 0; m < R2; m++) {
      Cplx<T> z[R1];

#pragma unroll
      for (int n = 0; n < R1; n++) z[n] = x[(R2 * n + R1 * m) % R];
      Dft<T, R1>::run(z);
#pragma unroll
      for (int n = 0; n < R1; n++) y[n * R2 + m] = z[n];
    }
#pragma unroll
    for (int n = 0; n < R1; n++) {
      Dft<T, R2>::run(y + n * R2);
#pragma unroll
      for (int m = 0; m < R2; m++) x[(M1 * n + M2 * m) % R] = y[n * R2 + m];
    }
  }
};
template <typename T>
struct Dft<T, 1> {
  static __device__ __forceinline__ void run(Cplx<T> *) {}
};
template <typename T>
struct Dft<T, 6> : DftCoprime<T, 2, 3> {
};
template <typename T>
struct Dft<T, 10> : DftCoprime<T, 2, 5> {
};
template <typename T>
struct Dft<T, 12> : DftCoprime<T, 4, 3> {
};
template <typename T>
struct Dft<T, 15> : DftCoprime<T, 3, 5> {
};
template <typename T>
struct Dft<T, 20> : DftCoprime<T, 4, 5> {
};
template <typename T>
struct Dft<T, 24> : DftCoprime<T, 8, 3> {
};

/* FIXED: by __ldg(). What is read otherwise after a barrier is read anew, and does not stay in
   registers from one transform to the next */
template <int FIXED>
static __device__ __forceinline__ Cplx<double> load_root(const double *w, int m)
{
  const double2 *p = (const double2 *)w + m, v = FIXED ? __ldg(p) : *p;

  return {v.x, v.y};
}
template <int FIXED>
static __device__ __forceinline__ Cplx<float> load_root(const float *w, int m)
{
  const float2 *p = (const float2 *)w + m, v = FIXED ? __ldg(p) : *p;

  return {v.x, v.y};
}
