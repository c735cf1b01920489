/*
  Vectors of the instruction set a kernel file is compiled for. A kernel source is included once for each
  (instruction set, precision) pair by a small file that first defines

      BCR_ISA      0 baseline (SSE2, NEON), 1 AVX2 + FMA, 2 AVX-512 (F, DQ, BW, VL)
      BCR_REAL_SINGLE   defined for float work

  and gets: real (work type), vec (native vector of VL lanes), BCRN(name) (name with a suffix for the pair).
  Plain C operators work on vec (GCC and Clang vector extensions); a*b+c contracts to an FMA where there is one.
*/
#pragma once

#include <stddef.h>
#include <stdint.h>

#if BCR_ISA > 0
  #include <immintrin.h>
#endif

#if BCR_ISA == 2
  #define BCR_VECTOR_BYTES 64
#elif BCR_ISA == 1
  #define BCR_VECTOR_BYTES 32
#else
  #define BCR_VECTOR_BYTES 16
#endif

#if defined(BCR_REAL_SINGLE)
typedef float real;
  #define BCR_REAL_TAG f
#else
typedef double real;
  #define BCR_REAL_TAG d
#endif
#define VL ((int)(BCR_VECTOR_BYTES / sizeof(real)))

typedef real vec __attribute__((vector_size(BCR_VECTOR_BYTES), aligned(BCR_VECTOR_BYTES), may_alias));
/* unaligned memory */
typedef real vecu __attribute__((vector_size(BCR_VECTOR_BYTES), aligned(sizeof(real)), may_alias));

#define BCR_CAT2(a, b, c) a##_##b##c
#define BCR_CAT(a, b, c)  BCR_CAT2(a, b, c)
#define BCRN(name)        BCR_CAT(name, BCR_REAL_TAG, BCR_ISA) /* e.g. BCRDttRows_d2 */

#define BCR_INLINE static inline __attribute__((always_inline))

BCR_INLINE vec vload(const real *p)
{
  return (vec)(*(const vecu *)p);
}
BCR_INLINE void vstore(real *p, vec v)
{
  *(vecu *)p = (vecu)v;
}
BCR_INLINE vec vset1(real x)
{
  return x - (vec){0};
}

#if !defined(BCR_REAL_SINGLE)
typedef int64_t vmask __attribute__((vector_size(BCR_VECTOR_BYTES)));

/* a where mask is set, else b */
BCR_INLINE vec vselect(vmask mask, vec a, vec b)
{
  return (vec)(((vmask)a & mask) | ((vmask)b & ~mask));
}

BCR_INLINE vec vabs(vec a)
{
  return (vec)((vmask)a & INT64_MAX);
}
#endif
