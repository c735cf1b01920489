/* A Fourier transform of 32 numbers in registers, for what has 64 registers for them in single precision, 128 in double */
#pragma once

#include "fft.cuh"

template <typename T>
struct Dft<T, 32> {
  static __device__ __forceinline__ void run(Cplx<T> *x)
  {
    Cplx<T> e[16], o[16];

#pragma unroll
    for (int r = 0; r < 16; r++) {
      e[r] = x[2 * r];
      o[r] = x[2 * r + 1];
    }
    Dft<T, 16>::run(e);
    Dft<T, 16>::run(o);
#pragma unroll
    for (int k = 0; k < 16; k++) {
      const Cplx<T> w = k ? o[k] * Cplx<T>{(T)turns<32>.c[k], -(T)turns<32>.s[k]} : o[k];

      x[k] = e[k] + w;
      x[k + 16] = e[k] - w;
    }
  }
};
