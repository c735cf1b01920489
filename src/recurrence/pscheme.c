#include "pscheme.h"
#include "../backend/cpu/cpu.h"
#include <float.h>
#include <math.h>

/* normal number */
#define SMALLEST (sizeof(PetscReal) == sizeof(float) ? (PetscReal)FLT_MIN : (PetscReal)DBL_MIN)

#if defined(PETSC_USE_COMPLEX)
  #define W 2 /* reals in a scalar */
#else
  #define W 1
#endif

typedef struct {
  const BCRRecurTable *table;
  PetscInt parts, m; /* full parts and their length; what is left of the array is done in order */
  BCRRecurrenceWork own;
  PetscReal *powers; /* of a constant coefficient: in the caller's work, or in own */
  PetscInt k;
  PetscReal growth; /* of a constant coefficient over a part */
} Cut;

PetscInt BCRRecurrenceParts(PetscInt n, PetscInt lanes)
{
  PetscInt parts = (PetscInt)(PetscSqrtReal((PetscReal)0.5 * (PetscReal)n) + (PetscReal)0.5);

  if (parts > lanes) parts = (parts + lanes / 2) / lanes * lanes;
  return PetscMax(parts, 1);
}

/* One after another in long double, so that each power has the rounding of its last multiplication
   only, however long the part */
PetscErrorCode BCRRecurrencePowers(PetscScalar x, PetscInt n, PetscReal p[], PetscInt *k)
{
  long double re = 1, im = 0;

  PetscFunctionBegin;
  *k = n;
  for (PetscInt i = 0; i < n; i++) {
    const long double a = (long double)PetscRealPart(x), b = (long double)PetscImaginaryPart(x), r = re * a - im * b;

    im = re * b + im * a;
    re = r;
    p[W * i] = (PetscReal)re;
#if defined(PETSC_USE_COMPLEX)
    p[W * i + 1] = (PetscReal)im;
#endif
    if (fabsl(re) < SMALLEST && fabsl(im) < SMALLEST) {
      *k = i;
      break;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the plain loop over count elements from first on; w may be NULL */
static PetscScalar Sequential(const BCRRecurrence *r, const PetscScalar *t, PetscInt first, PetscInt count,
                              PetscScalar start, PetscScalar *w)
{
  PetscScalar x = start;

  for (PetscInt i = first; i < first + count; i++) {
    x = (r->s ? r->s[i] : r->scale) * x + t[i];
    if (w) w[i] = x;
  }
  return x;
}

static PetscErrorCode CutCreate(const BCRRecurrence *r, Cut *cut)
{
  PetscFunctionBegin;
  cut->table = BCRCpuGetTable(r->isa, sizeof(PetscReal) == sizeof(float))->recur;
  cut->parts = r->parts > 0 ? PetscMin(r->parts, PetscMax(r->n, 1)) : BCRRecurrenceParts(r->n, cut->table->lanes);
  cut->m = r->n / cut->parts;
  cut->powers = NULL;
  cut->own.powers = NULL;
  cut->own.room = 0;
  cut->k = 0;
  cut->growth = 1;
  if (!r->s && cut->parts > 1) {
    const size_t need = (size_t)W * (size_t)cut->m;

    BCRRecurrenceWork *work = r->work ? r->work : &cut->own;

    if (need > work->room) {
      work->room = 0;
      PetscCall(PetscFree(work->powers));
      PetscCall(PetscMalloc1(need, &work->powers));
      work->room = need;
    }
    cut->powers = work->powers;
    PetscCall(BCRRecurrencePowers(r->scale, cut->m, cut->powers, &cut->k));
    if (PetscAbsScalar(r->scale) > 1) cut->growth = PetscAbsScalar(((PetscScalar *)cut->powers)[cut->m - 1]);
    if (PetscIsNanScalar(r->scale)) cut->growth = PETSC_INFINITY;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CutDestroy(Cut *cut)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(cut->own.powers));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool IsFinite(PetscScalar x)
{
  return PetscIsInfOrNanScalar(x) ? PETSC_FALSE : PETSC_TRUE;
}

/*
  Walks through the bundles: pre-computation, propagation and (with w) determination of one before
  the next, so that its elements are still in the cache. carry is of all parts so far; carry->T the
  value at the end for the given start.
*/
static PetscErrorCode Walk(const BCRRecurrence *r, const Cut *cut, const PetscScalar *t, PetscScalar start,
                           PetscScalar *w, BCRRecurrenceCarry *carry)
{
  const int lanes = cut->table->lanes;
  PetscReal T[W * BCR_RECUR_MAX_LANES] __attribute__((aligned(64))),
    S[W * BCR_RECUR_MAX_LANES] __attribute__((aligned(64))), growth[BCR_RECUR_MAX_LANES] __attribute__((aligned(64)));
  PetscReal from[W * BCR_RECUR_MAX_LANES] __attribute__((aligned(64)));
  PetscScalar x = start, product = 1;
  PetscReal most = 1;
  BCRRecurBundle b;
  PetscInt done = 0;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&b, sizeof(b)));
  PetscCall(PetscMemzero(from, sizeof(from)));
  b.plain = r->plain;
  b.width = W;
  b.cplx = W == 2;
  b.step = W;
  b.m = cut->m;
  b.mode = r->s ? BCR_RECUR_MEMORY : BCR_RECUR_CONST;
  b.s = r->s ? (const void *)r->s : (const void *)&r->scale;
  b.S = cut->powers;
  b.k = cut->k;
  for (PetscInt p = 0; cut->parts > 1 && p < cut->parts && cut->growth <= BCR_RECUR_GROWTH; p += lanes) {
    const PetscScalar before = x;
    PetscBool sound = PETSC_TRUE;

    b.lanes = (int)PetscMin(lanes, cut->parts - p);
    for (int l = 0; l < b.lanes; l++) b.at[l] = (ptrdiff_t)W * (p + l) * cut->m;
    cut->table->reduce(&b, t, T, S, growth);
    for (int l = 0; l < b.lanes; l++) {
      PetscScalar Sl, Tl;
      PetscReal grown;

#if defined(PETSC_USE_COMPLEX)
      Tl = PetscCMPLX(T[l], T[lanes + l]);
      Sl = r->s ? PetscCMPLX(S[l], S[lanes + l]) : (cut->k == cut->m ? ((PetscScalar *)cut->powers)[cut->m - 1] : 0);
      from[l] = PetscRealPart(x);
      from[lanes + l] = PetscImaginaryPart(x);
#else
      Tl = T[l];
      Sl = r->s ? S[l] : (cut->k == cut->m ? cut->powers[cut->m - 1] : 0);
      from[l] = x;
#endif
      grown = r->s ? PetscSqrtReal(growth[l]) : cut->growth;
      most = PetscMax(most, PetscAbsScalar(product) * grown);
      if (PetscIsInfOrNanReal(grown) || PetscIsInfOrNanScalar(Sl)) most = PETSC_INFINITY;
      product *= Sl;
      if (!(grown <= BCR_RECUR_GROWTH) || !IsFinite(x)) sound = PETSC_FALSE;
      x = Sl * x + Tl;
    }
    if (!sound || !IsFinite(x)) x = Sequential(r, t, p * cut->m, b.lanes * cut->m, before, w);
    else if (w) cut->table->apply(&b, t, from, w);
    done = (p + b.lanes) * cut->m;
  }
  if (done < r->n) {
    x = Sequential(r, t, done, r->n - done, x, w);
    if (carry) {
      for (PetscInt i = done; i < r->n; i++) {
        product *= r->s ? r->s[i] : r->scale;
        if (!(PetscAbsScalar(product) <= most))
          most = PetscIsInfOrNanScalar(product) ? PETSC_INFINITY : PetscAbsScalar(product);
      }
    }
  }
  if (carry) {
    carry->S = product;
    carry->T = x;
    carry->growth = most;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRecurrenceReduce(const BCRRecurrence *r, const PetscScalar *t, BCRRecurrenceCarry *carry)
{
  Cut cut;

  PetscFunctionBegin;
  PetscCall(CutCreate(r, &cut));
  PetscCall(Walk(r, &cut, t, 0, NULL, carry));
  PetscCall(CutDestroy(&cut));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRecurrenceSolve(const BCRRecurrence *r, const PetscScalar *t, PetscScalar start, PetscScalar *w)
{
  Cut cut;

  PetscFunctionBegin;
  PetscCall(CutCreate(r, &cut));
  PetscCall(Walk(r, &cut, t, start, w, NULL));
  PetscCall(CutDestroy(&cut));
  PetscFunctionReturn(PETSC_SUCCESS);
}
