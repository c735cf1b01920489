/*
  The loops of the fits over one grid line each: arrays of n entries, one for each node. Compiled
  twice on x86, so that machines with wider vectors use them.
*/
#pragma once

#include "readimpl.h"
#include <math.h>

typedef struct {
  double lo, hi, sum, square;
} BCRFitLineRange;

#if defined(__GNUC__)
  #define BCR_FIT_BODY static inline __attribute__((always_inline))
typedef double BCRFitVec __attribute__((vector_size(32), aligned(8), may_alias));
typedef int64_t BCRFitMask __attribute__((vector_size(32), aligned(8), may_alias));
#else
  #define BCR_FIT_BODY static inline
#endif

/* In lanes, spelt out: compilers may not reorder sums */
BCR_FIT_BODY BCRFitLineRange BCRFitRangeLineBody(PetscInt n, const double *x, double ref)
{
  BCRFitLineRange r = {x[0], x[0], 0, 0};
  PetscInt i = 0;

#if defined(__GNUC__)
  #define BCR_FIT_LESS(a, b, m) m = (BCRFitMask)(a < b), b = (BCRFitVec)(((BCRFitMask)a & m) | ((BCRFitMask)b & ~m))
  #define BCR_FIT_MORE(a, b, m) m = (BCRFitMask)(a > b), b = (BCRFitVec)(((BCRFitMask)a & m) | ((BCRFitMask)b & ~m))
  enum {
    LANES = 4
  };
  const BCRFitVec zero = {0};
  BCRFitVec lo0 = zero + x[0], lo1 = lo0, hi0 = lo0, hi1 = lo0, sum0 = zero, sum1 = zero, square0 = zero,
            square1 = zero;

  for (; i + 2 * LANES <= n; i += 2 * LANES) {
    const BCRFitVec v0 = *(const BCRFitVec *)(x + i), v1 = *(const BCRFitVec *)(x + i + LANES), e0 = v0 - ref,
                    e1 = v1 - ref;
    BCRFitMask m;

    BCR_FIT_LESS(v0, lo0, m);
    BCR_FIT_LESS(v1, lo1, m);
    BCR_FIT_MORE(v0, hi0, m);
    BCR_FIT_MORE(v1, hi1, m);
    sum0 += e0;
    sum1 += e1;
    square0 += e0 * e0;
    square1 += e1 * e1;
  }
  for (int l = 0; l < LANES; l++) {
    r.lo = PetscMin(r.lo, PetscMin(lo0[l], lo1[l]));
    r.hi = PetscMax(r.hi, PetscMax(hi0[l], hi1[l]));
    r.sum += sum0[l] + sum1[l];
    r.square += square0[l] + square1[l];
  }
  #undef BCR_FIT_LESS
  #undef BCR_FIT_MORE
#endif
  for (; i < n; i++) {
    const double e = x[i] - ref;

    r.lo = PetscMin(r.lo, x[i]);
    r.hi = PetscMax(r.hi, x[i]);
    r.sum += e;
    r.square += e * e;
  }
  return r;
}

/* g += sqrt of the product of the couplings below and above each node, in units of the axis' mean, none below least */
BCR_FIT_BODY int BCRFitScaleLineBody(PetscInt n, const double *restrict below, const double *restrict above, double f,
                                     const double *restrict iw, double least, double *restrict g)
{
  for (PetscInt i = 0; i < n; i++) {
    const double s = f * iw[i], a = below[i] * s, b = above[i] * s;

    g[i] += sqrt((a > least ? a : least) * (b > least ? b : least));
  }
  return 0;
}

/* q = c f iw / (s t) */
BCR_FIT_BODY int BCRFitQuotientLineBody(PetscInt n, const double *restrict c, double f, const double *restrict iw,
                                        const PetscReal *s, const PetscReal *t, double *restrict q)
{
  for (PetscInt i = 0; i < n; i++) q[i] = c[i] * f * iw[i] / ((double)s[i] * (double)t[i]);
  return 0;
}

/* p = D / (w s^2) - t */
BCR_FIT_BODY int BCRFitRestLineBody(PetscInt n, const double *restrict D, const PetscReal *restrict s,
                                    const double *restrict t, double *restrict p)
{
  for (PetscInt i = 0; i < n; i++) p[i] = D[i] / ((double)s[i] * (double)s[i]) - t[i];
  return 0;
}

/* s = sqrt(g f) */
BCR_FIT_BODY int BCRFitRootLineBody(PetscInt n, const double *restrict g, double f, PetscReal *restrict s)
{
  for (PetscInt i = 0; i < n; i++) s[i] = (PetscReal)sqrt(g[i] * f);
  return 0;
}

/* The diagonal and the links above of up to three axes from rows of E entries each, at given
   places, and the row sums. Returns what is wrong: 1, 2, 4: a link below is not the link above of
   the node there; 8: NaN, or a diagonal that is zero */
BCR_FIT_BODY int BCRFitTakeLineBody(PetscInt n, const PetscScalar *restrict v, PetscInt E, const PetscInt at[7],
                                    int axes, const int axis[3], double sign, double *restrict D, double *const C[3],
                                    const PetscInt back[3], double *restrict left)
{
  double *c0 = C[axis[0]], *c1 = C[axis[axes > 1 ? 1 : 0]], *c2 = C[axis[axes > 2 ? 2 : 0]];
  double *b0 = c0 - back[axis[0]], *b1 = c1 - back[axis[axes > 1 ? 1 : 0]], *b2 = c2 - back[axis[axes > 2 ? 2 : 0]];
  int bad0 = 0, bad1 = 0, bad2 = 0, odd = 0;

  for (PetscInt i = 0; i < n; i++, v += E) {
    const double d = sign * (double)PetscRealPart(v[at[BCR_CENTRE]]);
    double r = d;

    {
      const double lo = -sign * (double)PetscRealPart(v[at[2 * axis[0]]]),
                   up = -sign * (double)PetscRealPart(v[at[2 * axis[0] + 1]]);

      bad0 |= b0[i] != lo;
      c0[i] = up;
      r -= lo + up;
    }
    if (axes > 1) {
      const double lo = -sign * (double)PetscRealPart(v[at[2 * axis[1]]]),
                   up = -sign * (double)PetscRealPart(v[at[2 * axis[1] + 1]]);

      bad1 |= b1[i] != lo;
      c1[i] = up;
      r -= lo + up;
    }
    if (axes > 2) {
      const double lo = -sign * (double)PetscRealPart(v[at[2 * axis[2]]]),
                   up = -sign * (double)PetscRealPart(v[at[2 * axis[2] + 1]]);

      bad2 |= b2[i] != lo;
      c2[i] = up;
      r -= lo + up;
    }
    D[i] = d;
    left[i] = r;
    odd |= !(PetscAbs(r) <= DBL_MAX) | (d == 0); /* a sum with a NaN or Inf in it is no number */
  }
  return (bad0 ? 1 : 0) | (bad1 ? 2 : 0) | (bad2 ? 4 : 0) | (odd ? 8 : 0);
}

BCR_FIT_BODY int BCRFitTake5LineBody(PetscInt n, const PetscScalar *restrict v, double sign, double *restrict D,
                                     double *const C[3], const PetscInt back[3], double *restrict left)
{
  const PetscInt at[7] = {1, 3, 0, 4, 0, 0, 2};
  const int axis[3] = {0, 1, 2};

  return BCRFitTakeLineBody(n, v, 5, at, 2, axis, sign, D, C, back, left);
}

BCR_FIT_BODY int BCRFitTake7LineBody(PetscInt n, const PetscScalar *restrict v, double sign, double *restrict D,
                                     double *const C[3], const PetscInt back[3], double *restrict left)
{
  const PetscInt at[7] = {2, 4, 1, 5, 0, 6, 3};
  const int axis[3] = {0, 1, 2};

  return BCRFitTakeLineBody(n, v, 7, at, 3, axis, sign, D, C, back, left);
}

#if defined(__GNUC__) && defined(__x86_64__)
  #define BCR_FIT_KERNEL(type, name, params, args) \
    static type name##Base params \
    { \
      return name##Body args; \
    } \
    __attribute__((target("avx2"))) static type name##Avx2 params \
    { \
      return name##Body args; \
    } \
    static inline type name params \
    { \
      return __builtin_cpu_supports("avx2") ? name##Avx2 args : name##Base args; \
    }
#else
  #define BCR_FIT_KERNEL(type, name, params, args) \
    static inline type name params \
    { \
      return name##Body args; \
    }
#endif

BCR_FIT_KERNEL(BCRFitLineRange, BCRFitRangeLine, (PetscInt n, const double *x, double ref), (n, x, ref))
BCR_FIT_KERNEL(int, BCRFitScaleLine,
               (PetscInt n, const double *below, const double *above, double f, const double *iw, double least,
                double *g),
               (n, below, above, f, iw, least, g))
BCR_FIT_KERNEL(int, BCRFitQuotientLine,
               (PetscInt n, const double *c, double f, const double *iw, const PetscReal *s, const PetscReal *t,
                double *q),
               (n, c, f, iw, s, t, q))
BCR_FIT_KERNEL(int, BCRFitRestLine, (PetscInt n, const double *D, const PetscReal *s, const double *t, double *p),
               (n, D, s, t, p))
BCR_FIT_KERNEL(int, BCRFitRootLine, (PetscInt n, const double *g, double f, PetscReal *s), (n, g, f, s))
BCR_FIT_KERNEL(int, BCRFitTakeLine,
               (PetscInt n, const PetscScalar *v, PetscInt E, const PetscInt at[7], int axes, const int axis[3],
                double sign, double *D, double *const C[3], const PetscInt back[3], double *left),
               (n, v, E, at, axes, axis, sign, D, C, back, left))
BCR_FIT_KERNEL(int, BCRFitTake5Line,
               (PetscInt n, const PetscScalar *v, double sign, double *D, double *const C[3], const PetscInt back[3],
                double *left),
               (n, v, sign, D, C, back, left))
BCR_FIT_KERNEL(int, BCRFitTake7Line,
               (PetscInt n, const PetscScalar *v, double sign, double *D, double *const C[3], const PetscInt back[3],
                double *left),
               (n, v, sign, D, C, back, left))
