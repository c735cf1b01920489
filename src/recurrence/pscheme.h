/*
  First-order linear recurrences w_i = s_i w_{i-1} + t_i, i = 0, ..., n-1, on arrays, by the
  P-scheme of paper 003. The array is cut into parts of equal length. Pre-computation: each part
  from a zero start, which gives w_end = S w_start + T with the product S of its coefficients.
  Propagation: the starts of all parts, one after another. Determination: the parts with their
  starts.

  Parts whose products grow (by more than BCR_RECUR_GROWTH), or whose start or end is not a finite
  number, are run through in order with the rest of their bundle: S and T would cancel or overflow
  where w does not. So the result is that of the plain loop to rounding, whatever the coefficients.
  Products that underflow are dropped: they carry less than the smallest normal number times
  w_start.
*/
#pragma once

#include "../base/petscbcrimpl.h"

#define BCR_RECUR_GROWTH ((PetscReal)16)

/* Room for the powers of one coefficient, which grows when a call needs more */
typedef struct {
  PetscReal *powers;
  size_t room;
} BCRRecurrenceWork;

typedef struct {
  PetscInt n;
  const PetscScalar *s; /* n coefficients, or NULL: */
  PetscScalar scale;    /* the same one for all */
  PetscInt parts;       /* 0: automatic, near sqrt(n/2) */
  /* steps gather their operands from the places of the parts; else the array is rearranged on the fly */
  PetscBool plain;
  int isa;                 /* -1: the best of this machine */
  BCRRecurrenceWork *work; /* the caller's; NULL: each call makes its own */
} BCRRecurrence;

typedef struct { /* w_end = S w_start + T */
  PetscScalar S, T;
  /* largest modulus of a product from the start; over BCR_RECUR_GROWTH: S and T are not to be used */
  PetscReal growth;
} BCRRecurrenceCarry;

/* number of parts near sqrt(n/2), paper 003 below equation (18); lanes: a multiple of it where
   there are more parts than that */
PETSC_INTERN PetscInt BCRRecurrenceParts(PetscInt n, PetscInt lanes);
/* the whole array as one part: only reads */
PETSC_INTERN PetscErrorCode BCRRecurrenceReduce(const BCRRecurrence *r, const PetscScalar *t,
                                                BCRRecurrenceCarry *carry);
/* w may be t or s */
PETSC_INTERN PetscErrorCode BCRRecurrenceSolve(const BCRRecurrence *r, const PetscScalar *t, PetscScalar start,
                                               PetscScalar *w);
/* p[i] = x^(i+1) for i < n (complex: pairs), rounded once; returns in k how many are normal numbers */
PETSC_INTERN PetscErrorCode BCRRecurrencePowers(PetscScalar x, PetscInt n, PetscReal p[], PetscInt *k);
