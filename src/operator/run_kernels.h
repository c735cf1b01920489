/*
  The two loops of the reader that touch every entry of the matrix; they must run at the speed of memory.

  Same     |v - ref| <= tol for n >= 16 entries. ref and tol are those of len >= 16 entries and repeat: they have BCR_RUN_PAD more, the first ones
           again; or len >= n. A NaN is not the same as anything.
  Columns  j[i] == j[i - lag] + step for i in [lag, n)

  Both go from one cache line's beginning to the next (a vector in two lines takes two of the few
  misses that a core may have at a time); what is before the first such place and behind the last is
  covered by a step of its own, which may look at entries that another one looks at, too.
*/
#pragma once

#include <petscsys.h>
#include <stddef.h>
#include <stdint.h>

#define BCR_RUN_PAD 16
/* entries of a node, all its components together; more than that go row by row. Three components, each with a place for
   all of the 5 x 5 x 5 nodes around */
#define BCR_RUN_MAX 1125

#if defined(__GNUC__) && (defined(PETSC_USE_REAL_DOUBLE) || defined(PETSC_USE_REAL_SINGLE))
  #if defined(PETSC_USE_REAL_DOUBLE)
typedef int64_t BCRRunInt;
  #else
typedef int32_t BCRRunInt;
  #endif

/* Asks for the line that is two pages of 4 KiB further on: the hardware's own foresight ends with a
   page, so that the next ones begin without it */
static inline void BCRRunAhead(const void *p)
{
  __builtin_prefetch((const char *)p + 8192, 0, 2);
}

  /* Entries of a cache line; entries from p to where the next one begins */
  #define BCR_RUN_LINE(p) (64 / sizeof(*(p)))
  #define BCR_RUN_HEAD(p) ((size_t)(-(intptr_t)(p)&63) / sizeof(*(p)))

  /* For vectors of a width that the instruction set has. What is bad about an entry is the sign of
     tol - |v - ref|, as integers, where a NaN is larger than any number. */
  #define BCR_RUN_KERNELS(suffix, bytes, attribute) \
    typedef PetscReal BCRRunVec##suffix __attribute__((vector_size(bytes), aligned(sizeof(PetscReal)), may_alias)); \
    typedef BCRRunInt BCRRunBits##suffix __attribute__((vector_size(bytes), aligned(sizeof(PetscReal)), may_alias)); \
    typedef PetscInt BCRRunIdx##suffix __attribute__((vector_size(bytes), aligned(sizeof(PetscInt)), may_alias)); \
\
    attribute static inline void BCRRunSameLine##suffix(const PetscReal *v, const PetscReal *ref, \
                                                        const PetscReal *tol, BCRRunBits##suffix *bad) \
    { \
      const BCRRunBits##suffix sign = (BCRRunBits##suffix)(-(BCRRunVec##suffix){0}); \
      size_t k; \
\
      for (k = 0; k < BCR_RUN_LINE(v); k += bytes / sizeof(*v)) { \
        const BCRRunVec##suffix d = *(const BCRRunVec##suffix *)(v + k) - *(const BCRRunVec##suffix *)(ref + k); \
\
        *bad |= *(const BCRRunBits##suffix *)(tol + k) - ((BCRRunBits##suffix)d & ~sign); \
      } \
    } \
\
    attribute static PetscBool BCRRunSame##suffix(const PetscReal *v, size_t n, const PetscReal *ref, \
                                                  const PetscReal *tol, size_t len) \
    { \
      const size_t head = BCR_RUN_HEAD(v), step = BCR_RUN_LINE(v), last = n - step; \
      const PetscReal *w = v + head, *end = v + last; \
      BCRRunBits##suffix bad = {0}; \
      size_t k; \
\
      BCRRunSameLine##suffix(v, ref, tol, &bad); \
      BCRRunSameLine##suffix(v + last, ref + last % len, tol + last % len, &bad); \
      for (k = head; w < end; k -= len) { \
        const PetscReal *again = w + (len - k); /* ref from its beginning */ \
\
        for (again = PetscMin(again, end); w < again; w += step, k += step) { \
          BCRRunAhead(w); \
          BCRRunSameLine##suffix(w, ref + k, tol + k, &bad); \
        } \
      } \
      for (k = 0; k < bytes / sizeof(*v); k++) \
        if (bad[k] < 0) return PETSC_FALSE; \
      return PETSC_TRUE; \
    } \
\
    attribute static inline void BCRRunColumnsLine##suffix(const PetscInt *j, size_t lag, PetscInt step, \
                                                           BCRRunIdx##suffix *bad) \
    { \
      size_t k; \
\
      for (k = 0; k < BCR_RUN_LINE(j); k += bytes / sizeof(*j)) \
        *bad |= (*(const BCRRunIdx##suffix *)(j + k) - *(const BCRRunIdx##suffix *)(j + k - lag)) ^ step; \
    } \
\
    attribute static PetscBool BCRRunColumns##suffix(const PetscInt *j, size_t n, size_t lag, PetscInt step) \
    { \
      const PetscInt *end = j + n; \
      PetscInt any = 0; \
      BCRRunIdx##suffix bad = {0}; \
      size_t k; \
\
      j += lag; \
      if (n >= lag + BCR_RUN_LINE(j)) { \
        const PetscInt *last = end - BCR_RUN_LINE(j); \
\
        BCRRunColumnsLine##suffix(j, lag, step, &bad); \
        for (j += BCR_RUN_HEAD(j); j < last; j += BCR_RUN_LINE(j)) { \
          BCRRunAhead(j); \
          BCRRunColumnsLine##suffix(j, lag, step, &bad); \
        } \
        BCRRunColumnsLine##suffix(last, lag, step, &bad); \
        for (k = 0; k < bytes / sizeof(*j); k++) any |= bad[k]; \
      } else \
        for (; j < end; j++) any |= (*j - *(j - lag)) ^ step; \
      return (PetscBool)(any == 0); \
    }

BCR_RUN_KERNELS(128, 16, )
  #if defined(__x86_64__)
BCR_RUN_KERNELS(256, 32, __attribute__((target("avx2"))))
BCR_RUN_KERNELS(512, 64, __attribute__((target("avx512f"))))
  #endif

static inline PetscBool BCRRunSame(const PetscReal *v, size_t n, const PetscReal *ref, const PetscReal *tol, size_t len)
{
  #if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return BCRRunSame512(v, n, ref, tol, len);
  if (__builtin_cpu_supports("avx2")) return BCRRunSame256(v, n, ref, tol, len);
  #endif
  return BCRRunSame128(v, n, ref, tol, len);
}

static inline PetscBool BCRRunColumns(const PetscInt *j, size_t n, size_t lag, PetscInt step)
{
  #if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return BCRRunColumns512(j, n, lag, step);
  if (__builtin_cpu_supports("avx2")) return BCRRunColumns256(j, n, lag, step);
  #endif
  return BCRRunColumns128(j, n, lag, step);
}

#else
static inline PetscBool BCRRunSame(const PetscReal *v, size_t n, const PetscReal *ref, const PetscReal *tol, size_t len)
{
  size_t i;

  for (i = 0; i < n; i++)
    if (!(PetscAbsReal(v[i] - ref[i % len]) <= tol[i % len])) return PETSC_FALSE;
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
