/* Lines of ringlines.cu, split.cuh: of a complex number either part is one of its own */
#pragma once

#include "ring.cuh"

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
