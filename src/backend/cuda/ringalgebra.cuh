/* Modes of the planes of ring.h, and lines of ringlines.cu, split.cuh: of a complex number either part is one of its own */
#pragma once

#include "ring.cuh"

/* ---- modes ---- */

/* The wave of place k of an axis */
static __device__ inline int ring_wave(const BCRCudaRingAxis &a, int k)
{
  const int G = a.len / a.each;

  switch (a.ends) {
  case BCR_CUDA_RING_PERIODIC:
    return 2 * k <= a.n ? k : a.n - k;
  case BCR_CUDA_RING_CELL:
  case BCR_CUDA_RING_CELL_MIXED:
    return k;
  case BCR_CUDA_RING_NODE_MIXED:
    return 2 * k > a.len || !k ? 2 * (k ? a.len - k : 0) : 2 * k - 1;
  case BCR_CUDA_RING_SINES:
  case BCR_CUDA_RING_COSINES:
    return k >= a.len ? a.len : k % G * a.each + k / G;
  }
  return k;
}

/* Waves of numbers 2 (q column + k) and 2 (q column + k) + 1 of a plane of modes, as ring_columns() leaves them, two: the
   column is two real lines, else a complex one. There is no mode 0 of sines: what is there is zero, and its line may be any
   other's */
static __device__ inline void ring_waves(const BCRCudaRingAxis &x, const BCRCudaRingAxis &y, int q, int k, int second,
                                         int *kx, int *ky)
{
  const bool two = x.ends != BCR_CUDA_RING_PERIODIC || q == 0;
  int line = second;

  if (y.ends == BCR_CUDA_RING_PERIODIC && k != 0 && 2 * k != y.n) line = 2 * k > y.n;
  if (y.ends == BCR_CUDA_RING_CELL_MIXED) line = k % 2;
  if (x.ends == BCR_CUDA_RING_CELL_MIXED) *kx = line ? x.len - 1 - 2 * q : 2 * q;
  else {
    const int middle = x.ends == BCR_CUDA_RING_COSINES ? x.len : x.len / 2;

    *kx = ring_wave(x, !(two && line) ? q : (q ? x.len - q : middle));
  }
  if (y.ends == BCR_CUDA_RING_CELL_MIXED) *ky = second ? y.len - 1 - k / 2 * 2 : k / 2 * 2;
  else *ky = ring_wave(y, k);
}

/* Sum of wave k over the nodes, as it is in the solution: half of waves 0 and n of COSINES */
static __device__ inline double ring_weight(const BCRCudaRingAxis &a, int k)
{
  if (a.ends != BCR_CUDA_RING_COSINES) return k ? 0 : a.n;
  if (k == 0) return 0.5 * a.n;
  return k % 2 ? 0 : (k == a.len ? 0.5 : 1);
}
/* Sum of the modes' number 2 (q column + k) + second of a plane over its nodes */
static __device__ inline double ring_weights(const BCRCudaRingAxis &x, const BCRCudaRingAxis &y, int q, int k,
                                             int second)
{
  int kx, ky;

  if (2 * q == x.len && second) return 0; /* the middle column of COSINES has one line */
  ring_waves(x, y, q, k, second, &kx, &ky);
  return ring_weight(x, kx) * ring_weight(y, ky);
}

/* ---- lines ---- */

/* component by component: real and imaginary part are lines of their own */
template <typename T>
static __device__ __forceinline__ Cplx<T> times(Cplx<T> a, Cplx<T> b)
{
  return {a.x * b.x, a.y * b.y};
}
template <typename T>
static __device__ __forceinline__ Cplx<T> times_add(Cplx<T> a, Cplx<T> b, Cplx<T> c)
{
  return {a.x * b.x + c.x, a.y * b.y + c.y};
}

static __host__ __device__ constexpr int ring_top(int n) /* the largest power of two up to n */
{
  return n < 2 ? 1 : 2 * ring_top(n / 2);
}
/* mL = mu^L, and S = mu sum mu^(2 i) over i < L: a carry Y into L rows is S Y of their B */
template <typename T, int L>
static __device__ __forceinline__ void ring_powers(Cplx<T> mu, Cplx<T> *mL, Cplx<T> *S)
{
  Cplx<T> q = times(mu, mu);

  *mL = *S = mu;
#pragma unroll
  for (int bit = ring_top(L) / 2; bit; bit /= 2) { /* from 1 row to L by its binary digits */
    *S = times(*S, {1 + q.x, 1 + q.y});
    q = times(q, q);
    *mL = times(*mL, *mL);
    if (L & bit) {
      *S = times_add(times(mu, mu), *S, mu);
      *mL = times(*mL, mu);
      q = times(q, times(mu, mu));
    }
  }
}
