/* Numbers of a capacitance system in kernels: types, sums (capacitance.h) */
#pragma once

#include "capacitance.h"
#include "common.cuh"

template <typename R>
struct Complex {
  R x, y;
};

static __device__ __forceinline__ double conj_of(double a)
{
  return a;
}
template <typename R>
static __device__ __forceinline__ Complex<R> conj_of(Complex<R> a)
{
  return {a.x, -a.y};
}
template <typename R>
static __device__ __forceinline__ Complex<R> operator*(Complex<R> a, Complex<R> b)
{
  return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}
template <typename R>
static __device__ __forceinline__ Complex<R> operator+(Complex<R> a, Complex<R> b)
{
  return {a.x + b.x, a.y + b.y};
}
static __device__ __forceinline__ float times(double a, float b)
{
  return (float)a * b;
}
static __device__ __forceinline__ double times(double a, double b)
{
  return a * b;
}
template <typename R>
static __device__ __forceinline__ Complex<R> times(double a, Complex<R> b)
{
  return {(R)a * b.x, (R)a * b.y};
}
static __device__ __forceinline__ double size_of(float a)
{
  return fabs((double)a);
}
static __device__ __forceinline__ double size_of(double a)
{
  return fabs(a);
}
template <typename R>
static __device__ __forceinline__ double size_of(Complex<R> a)
{
  return hypot((double)a.x, (double)a.y);
}

static __device__ __forceinline__ double over_of(double a, double over)
{
  return a / over;
}
static __device__ __forceinline__ Complex<double> over_of(Complex<double> a, double over)
{
  return {a.x / over, a.y / over};
}

/* A number of the type from two of the host; what is summed: in double whatever the type */
template <typename S>
struct Number;
template <>
struct Number<float> {
  typedef float R;
  typedef double Sum;
  static __device__ __forceinline__ float make(double x, double) { return (float)x; }
  static __device__ __forceinline__ double shuffle(double a, int s) { return __shfl_down_sync(0xffffffffu, a, s); }
  static __device__ __forceinline__ double wide(float a) { return (double)a; }
  static __device__ __forceinline__ float narrow(double a) { return (float)a; }
};
template <>
struct Number<double> {
  typedef double R;
  typedef double Sum;
  static __device__ __forceinline__ double make(double x, double) { return x; }
  static __device__ __forceinline__ double shuffle(double a, int s) { return __shfl_down_sync(0xffffffffu, a, s); }
  static __device__ __forceinline__ double wide(double a) { return a; }
  static __device__ __forceinline__ double narrow(double a) { return a; }
};
template <typename T>
struct Number<Complex<T>> {
  typedef T R;
  typedef Complex<double> Sum;
  static __device__ __forceinline__ Complex<T> make(double x, double y) { return {(T)x, (T)y}; }
  static __device__ __forceinline__ Complex<double> shuffle(Complex<double> a, int s)
  {
    return {__shfl_down_sync(0xffffffffu, a.x, s), __shfl_down_sync(0xffffffffu, a.y, s)};
  }
  static __device__ __forceinline__ Complex<double> wide(Complex<T> a) { return {(double)a.x, (double)a.y}; }
  static __device__ __forceinline__ Complex<T> narrow(Complex<double> a) { return {(T)a.x, (T)a.y}; }
};

template <typename S>
using Sum = typename Number<S>::Sum;

template <typename S>
static __device__ __forceinline__ Sum<S> zero()
{
  return Number<Sum<S>>::make(0, 0);
}

/* of all threads, in a fixed order; the first one has it */
template <typename S>
static __device__ Sum<S> block_sum(Sum<S> v)
{
  __shared__ Sum<S> part[BCR_WARP];

  __syncthreads();
  for (int s = BCR_WARP / 2; s > 0; s >>= 1) v = v + Number<S>::shuffle(v, s);
  if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = v;
  __syncthreads();
  if (threadIdx.x < BCR_WARP) {
    v = threadIdx.x < (blockDim.x >> 5) ? part[threadIdx.x] : zero<S>();
    for (int s = BCR_WARP / 2; s > 0; s >>= 1) v = v + Number<S>::shuffle(v, s);
  }
  return v;
}

template <typename S>
static __device__ __forceinline__ S *at(const BCRCudaSpread &x, ptrdiff_t k)
{
  return k < x.n ? (S *)x.v + k : (S *)x.ghost + (k - x.n);
}

/* Row i of A x, and the sum of the sizes of its terms */
template <typename S>
static __device__ __forceinline__ S sparse_row(const BCRCudaSparse &A, int i, const BCRCudaSpread &x, double *size)
{
  const typename Number<S>::R *value = (const typename Number<S>::R *)A.value;
  S sum = Number<S>::make(0, 0);

  *size = 0;
  for (int k = A.start ? A.start[i] : i; k < (A.start ? A.start[i + 1] : i + 1); k++) {
    const S term = times(value ? (double)value[k] : 1, *at<S>(x, A.from ? A.from[k] : k));

    sum = sum + term;
    *size += size_of(term);
  }
  return sum;
}

template <typename R>
static __device__ __forceinline__ R coefficient(const double *s, int j, R *)
{
  return (R)s[j];
}
template <typename R>
static __device__ __forceinline__ Complex<R> coefficient(const double *s, int j, Complex<R> *)
{
  return {(R)s[2 * j], (R)s[2 * j + 1]};
}

/* calls CALL with S the type of the numbers and R that of real ones */
#define BCR_CUDA_NUMBERS(type, ...) \
  do { \
    if ((type) == (BCR_CUDA_SINGLE | BCR_CUDA_COMPLEX)) { \
      typedef Complex<float> S; \
      typedef float R; \
      __VA_ARGS__; \
      (void)(R *)NULL; \
    } else if ((type) == BCR_CUDA_COMPLEX) { \
      typedef Complex<double> S; \
      typedef double R; \
      __VA_ARGS__; \
      (void)(R *)NULL; \
    } else if ((type) == BCR_CUDA_SINGLE) { \
      typedef float S; \
      typedef float R; \
      __VA_ARGS__; \
      (void)(R *)NULL; \
    } else { \
      typedef double S; \
      typedef double R; \
      __VA_ARGS__; \
      (void)(R *)NULL; \
    } \
  } while (0)
