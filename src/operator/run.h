/*
  The two loops of the reader that touch every entry of the matrix; they must run at the speed of memory.

  Same     |v - ref| <= tol for blocks of len entries that repeat ref and tol; len is a multiple of 16. A NaN is not the same as anything.
  Columns  j[i] == j[i - lag] + step for i in [lag, n)
*/
#pragma once

#include <petscsys.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__) && (defined(PETSC_USE_REAL_DOUBLE) || defined(PETSC_USE_REAL_SINGLE))
  #if defined(PETSC_USE_REAL_DOUBLE)
typedef int64_t BCRRunInt;
  #else
typedef int32_t BCRRunInt;
  #endif

  /* Bytes ahead: from one page, and from one of the matrix's arrays, to the next the hardware has no foresight */
  #define BCR_RUN_AHEAD 2048

  /* vectors of a width that the instruction set has: wider ones are taken apart, compares entry by entry */
  #define BCR_RUN_KERNELS(suffix, bytes, attribute) \
    typedef PetscReal BCRRunVec##suffix __attribute__((vector_size(bytes), aligned(sizeof(PetscReal)), may_alias)); \
    typedef BCRRunInt BCRRunMask##suffix __attribute__((vector_size(bytes), aligned(sizeof(PetscReal)), may_alias)); \
    typedef PetscInt  BCRRunIdx##suffix __attribute__((vector_size(bytes), aligned(sizeof(PetscInt)), may_alias)); \
\
    attribute static PetscBool BCRRunSame##suffix(const PetscReal *v, size_t blocks, size_t len, const PetscReal *ref, const PetscReal *tol) \
    { \
      enum { \
        VL = bytes / sizeof(PetscReal) \
      }; \
      const BCRRunMask##suffix sign = (BCRRunMask##suffix)(-(BCRRunVec##suffix){0}); \
      BCRRunMask##suffix       ok0 = ~(BCRRunMask##suffix){0}, ok1 = ok0; \
      size_t                   b, i; \
\
      for (b = 0; b < blocks; b++, v += len) { \
        for (i = 0; i < len; i += 2 * VL) { \
          const BCRRunVec##suffix d0 = *(const BCRRunVec##suffix *)(v + i) - *(const BCRRunVec##suffix *)(ref + i); \
          const BCRRunVec##suffix d1 = *(const BCRRunVec##suffix *)(v + i + VL) - *(const BCRRunVec##suffix *)(ref + i + VL); \
\
          __builtin_prefetch((const char *)(v + i) + BCR_RUN_AHEAD); \
          ok0 &= (BCRRunMask##suffix)((BCRRunVec##suffix)((BCRRunMask##suffix)d0 & ~sign) <= *(const BCRRunVec##suffix *)(tol + i)); \
          ok1 &= (BCRRunMask##suffix)((BCRRunVec##suffix)((BCRRunMask##suffix)d1 & ~sign) <= *(const BCRRunVec##suffix *)(tol + i + VL)); \
        } \
      } \
      ok0 &= ok1; \
      for (i = 0; i < VL; i++) \
        if (!ok0[i]) return PETSC_FALSE; \
      return PETSC_TRUE; \
    } \
\
    attribute static PetscBool BCRRunColumns##suffix(const PetscInt *j, size_t n, size_t lag, PetscInt step) \
    { \
      enum { \
        VL = bytes / sizeof(PetscInt) \
      }; \
      size_t            i   = lag, k; \
      PetscInt          bad = 0; \
      BCRRunIdx##suffix b0 = {0}, b1 = {0}; \
\
      for (; i + 2 * VL <= n; i += 2 * VL) { \
        __builtin_prefetch((const char *)(j + i) + BCR_RUN_AHEAD); \
        b0 |= (*(const BCRRunIdx##suffix *)(j + i) - *(const BCRRunIdx##suffix *)(j + i - lag)) ^ step; \
        b1 |= (*(const BCRRunIdx##suffix *)(j + i + VL) - *(const BCRRunIdx##suffix *)(j + i + VL - lag)) ^ step; \
      } \
      b0 |= b1; \
      for (k = 0; k < VL; k++) bad |= b0[k]; \
      for (; i < n; i++) bad |= (j[i] - j[i - lag]) ^ step; \
      return (PetscBool)(bad == 0); \
    }

BCR_RUN_KERNELS(128, 16, )
  #if defined(__x86_64__)
BCR_RUN_KERNELS(256, 32, __attribute__((target("avx2"))))
  #endif

static inline PetscBool BCRRunSame(const PetscReal *v, size_t blocks, size_t len, const PetscReal *ref, const PetscReal *tol)
{
  #if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return BCRRunSame256(v, blocks, len, ref, tol);
  #endif
  return BCRRunSame128(v, blocks, len, ref, tol);
}

static inline PetscBool BCRRunColumns(const PetscInt *j, size_t n, size_t lag, PetscInt step)
{
  #if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return BCRRunColumns256(j, n, lag, step);
  #endif
  return BCRRunColumns128(j, n, lag, step);
}

#else
static inline PetscBool BCRRunSame(const PetscReal *v, size_t blocks, size_t len, const PetscReal *ref, const PetscReal *tol)
{
  size_t b, i;

  for (b = 0; b < blocks; b++, v += len)
    for (i = 0; i < len; i++)
      if (!(PetscAbsReal(v[i] - ref[i]) <= tol[i])) return PETSC_FALSE;
  return PETSC_TRUE;
}

static inline PetscBool BCRRunColumns(const PetscInt *j, size_t n, size_t lag, PetscInt step)
{
  size_t i;

  for (i = lag; i < n; i++)
    if (j[i] - j[i - lag] != step) return PETSC_FALSE;
  return PETSC_TRUE;
}
#endif
