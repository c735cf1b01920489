/*
  First-order recurrences on arrays against the plain loop in long double: sizes from 0 up, primes,
  2^20; numbers of parts; the plain and the rearranged array; constant and varying coefficients,
  some that grow, overflow or cancel; in place and not; every instruction set.

  Asserted: the residual w_i - s_i w_{i-1} - t_i of each row relative to the terms of some hundred
  rows before it and, where |s| = 1, the value at the start of its part (w_i is s^k times it plus a
  sum that may nearly cancel it), the distance from the loop where it is well conditioned, and that
  infinities and NaN are where the loop has them.

  quick: 1
*/
#include "../../src/recurrence/pscheme.h"
#include "../../src/backend/cpu/cpu.h"
#include "tests/petsc/testing.h"
#include <math.h>
#include <complex.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(PETSC_USE_COMPLEX)
typedef long double _Complex wide;
  #define wide_abs cabsl
#else
typedef long double wide;
  #define wide_abs fabsl
#endif

static PetscReal rnd(void)
{
  return (PetscReal)(2 * TestUniform() - 1);
}

static PetscScalar rnds(void)
{
#if defined(PETSC_USE_COMPLEX)
  return PetscCMPLX(rnd(), rnd()) / PetscSqrtReal(2);
#else
  return rnd();
#endif
}

typedef enum {
  SHRINK,  /* |s| <= 0.9 */
  UNIT,    /* |s| = 1 */
  MIXED,   /* up to 1.4, shrinking on average */
  GROWING, /* s = 2 and t such that w stays one */
  UNDER,   /* products underflow at once */
  NKINDS
} Kind;
static const char *const kinds[] = {"shrink", "unit", "mixed", "growing", "underflow"};

static PetscScalar coefficient(Kind kind)
{
  PetscScalar s = rnds();

  if (kind == SHRINK) return (PetscReal)0.9 * s;
  if (kind == UNIT) return s / PetscAbsScalar(s);
  if (kind == MIXED) return (PetscReal)1.4 * s;
  if (kind == GROWING) return 2;
  return PETSC_MACHINE_EPSILON * PETSC_MACHINE_EPSILON * s;
}

static PetscErrorCode one(PetscInt n, Kind kind, PetscBool constant, PetscInt parts, PetscBool plain, int isa,
                          PetscBool inplace)
{
  BCRRecurrence r = {n, NULL, coefficient(kind), parts, plain, isa, NULL};
  BCRRecurrenceCarry carry;
  PetscScalar *s, *t, *w, *t0, start = rnds();
  const int lanes = BCRCpuGetTable(isa, sizeof(PetscReal) == sizeof(float))->recur->lanes;
  const PetscInt m = n / (parts > 0 ? parts : BCRRecurrenceParts(n, lanes)); /* rows of a part */
  PetscReal size = 1;
  double worst = 0;
  long double distance = 0;
  wide exact;

  PetscFunctionBegin;
  PetscCall(PetscMalloc4(n, &s, n, &t, n, &t0, n, &w));
  if (constant && kind == MIXED) r.scale = (PetscReal)1.0001;
  if (kind == GROWING) start = 1;
  for (PetscInt i = 0; i < n; i++) {
    s[i] = constant ? r.scale : coefficient(kind);
    t[i] = kind == GROWING ? -1 : rnds();
    t0[i] = t[i];
  }
  if (!constant) r.s = s;
  PetscCall(BCRRecurrenceReduce(&r, t, &carry));
  PetscCall(BCRRecurrenceSolve(&r, t, start, inplace ? t : w));
  if (inplace) PetscCall(PetscArraycpy(w, t, n));
  exact = start;
  for (PetscInt i = 0; i < n; i++) {
    const PetscScalar before = i ? w[i - 1] : start;
    const wide res = (wide)w[i] - (wide)s[i] * (wide)before - (wide)t0[i];

    exact = (wide)s[i] * exact + (wide)t0[i];
    size = PetscMax(size * (PetscReal)0.99, PetscAbsScalar(w[i]));
    size = PetscMax(size, PetscAbsScalar(s[i] * before));
    size = PetscMax(size, PetscAbsScalar(t0[i]));
    if (constant && m && kind == UNIT) size = PetscMax(size, PetscAbsScalar(i >= m ? w[i / m * m - 1] : start));
    TestLargest(&worst, (double)(wide_abs(res) / size));
    if (wide_abs((wide)w[i] - exact) > distance) distance = wide_abs((wide)w[i] - exact);
  }
  Check(worst <= (kind == MIXED ? 200 : (PetscDefined(USE_COMPLEX) ? 16 : 12)) * PETSC_MACHINE_EPSILON,
        "n %d %s constant %d parts %d plain %d isa %d in place %d: residual %g", (int)n, kinds[kind], constant,
        (int)parts, plain, isa, inplace, (double)worst);
  if (kind == SHRINK || kind == UNDER || kind == GROWING)
    Check(distance <= 60 * PETSC_MACHINE_EPSILON, "n %d %s constant %d parts %d plain %d isa %d: off by %Lg", (int)n,
          kinds[kind], constant, (int)parts, plain, isa, distance);
  if (n && carry.growth <= BCR_RECUR_GROWTH) {
    const PetscReal off = PetscAbsScalar(carry.S * start + carry.T - w[n - 1]);

    Check(off <= (100 + (PetscReal)n) * PETSC_MACHINE_EPSILON * (1 + PetscAbsScalar(w[n - 1]) + carry.growth),
          "n %d %s constant %d parts %d plain %d: S w + T is off by %g", (int)n, kinds[kind], constant, (int)parts,
          plain, (double)off);
  }
  if (!n) Check(carry.S == (PetscScalar)1 && carry.T == (PetscScalar)0, "carry of no elements");
  if (kind == GROWING && n > 10) Check(carry.growth > BCR_RECUR_GROWTH, "growth %g not seen", (double)carry.growth);
  PetscCall(PetscFree4(s, t, t0, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* not finite: the same entries as the plain loop has, NaN or infinite */
static PetscErrorCode special(PetscInt n, int what, PetscBool constant, int isa)
{
  BCRRecurrence r = {n, NULL, (PetscReal)0.5, 0, PETSC_FALSE, isa, NULL};
  PetscScalar *s, *t, *w, x = 1;
  PetscInt at = n / 3, differ = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(n, &s, n, &t, n, &w));
  for (PetscInt i = 0; i < n; i++) {
    s[i] = constant ? r.scale : (PetscReal)0.9 * rnds();
    t[i] = rnds();
  }
  if (!constant) r.s = s;
  if (what == 0) t[at] = PETSC_MACHINE_EPSILON / 0.; /* infinity */
  if (what == 1) t[at] = PetscSqrtReal(-(PetscReal)at - 1);
  if (what == 2) s[at] = PetscSqrtReal(-(PetscReal)at - 1);
  if (what == 3) x = PetscSqrtReal(-(PetscReal)at - 1);
  if (what == 4) t[at] = PETSC_MAX_REAL, t[at + 1] = PETSC_MAX_REAL; /* near overflow, but not over */
  PetscCall(BCRRecurrenceSolve(&r, t, x, w));
  for (PetscInt i = 0; i < n; i++) {
    x = s[i] * x + t[i];
    if (what == 2 && constant) x = w[i]; /* NaN in an array that is not used */
    if (PetscIsNanScalar(x) != PetscIsNanScalar(w[i]) || PetscIsInfOrNanScalar(x) != PetscIsInfOrNanScalar(w[i]))
      differ++;
  }
  Check(!differ, "n %d special %d constant %d isa %d: %d entries are not as in the loop", (int)n, what, constant, isa,
        (int)differ);
  PetscCall(PetscFree3(s, t, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const PetscInt sizes[] = {0,  1,  2,  3,  4,   5,   7,   8,   9,   15,  16,   17,   31,   32,   33,
                                   63, 64, 65, 97, 127, 128, 131, 255, 257, 509, 1000, 1021, 2048, 4099, 20011};
  static const PetscInt parts[] = {0, 1, 2, 3, 7, 16, 17, 31, 64, 100};

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(TestSeed());
  for (int isa = 0; isa <= BCRCpuBestISA(); isa++) {
    for (size_t a = 0; a < PETSC_STATIC_ARRAY_LENGTH(sizes); a++) {
      for (int kind = 0; kind < NKINDS; kind++) {
        for (int c = 0; c < 2; c++) {
          const PetscInt p = parts[lrand48() % 10];

          PetscCall(one(sizes[a], (Kind)kind, (PetscBool)c, 0, PETSC_FALSE, isa, (PetscBool)(lrand48() % 2)));
          PetscCall(one(sizes[a], (Kind)kind, (PetscBool)c, p, PETSC_FALSE, isa, (PetscBool)(lrand48() % 2)));
          PetscCall(one(sizes[a], (Kind)kind, (PetscBool)c, p, PETSC_TRUE, isa, (PetscBool)(lrand48() % 2)));
        }
      }
    }
    for (int what = 0; what < 5; what++) {
      for (int c = 0; c < 2; c++) {
        PetscCall(special(1000, what, (PetscBool)c, isa));
        PetscCall(special(37, what, (PetscBool)c, isa));
      }
    }
    for (int c = 0; c < 2; c++) PetscCall(one(1 << 20, SHRINK, (PetscBool)c, 0, PETSC_FALSE, isa, PETSC_TRUE));
  }
  PetscCall(one(1 << 20, UNIT, PETSC_FALSE, 0, PETSC_FALSE, -1, PETSC_FALSE));
  PetscCall(one(1 << 20, UNIT, PETSC_TRUE, 0, PETSC_FALSE, -1, PETSC_FALSE));
  PetscCall(one(1 << 20, GROWING, PETSC_FALSE, 0, PETSC_FALSE, -1, PETSC_FALSE));
  PetscCall(one(1 << 20, MIXED, PETSC_FALSE, 0, PETSC_TRUE, -1, PETSC_TRUE));
  /* near sqrt(n/2) */
  Check(BCRRecurrenceParts(1 << 20, 1) == 724 && BCRRecurrenceParts(1 << 18, 1) == 362 &&
          BCRRecurrenceParts(0, 16) == 1 && BCRRecurrenceParts(1 << 20, 16) == 720,
        "number of parts");
  PetscCall(PetscFinalize());
  return TestEnd();
}
