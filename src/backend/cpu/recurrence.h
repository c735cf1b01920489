/*
  First-order linear recurrences w_i = s_i w_{i-1} + t_i on bundles of parts, one part in each lane
  of the vectors: the pre-computation and the determination of the P-scheme (paper 003), which are
  also the steps A and C of the divide and conquer of paper 004.

  A part is m elements at equal distances in memory. Where its lanes are far apart (parts of a line
  whose elements are neighbours) blocks of elements are transposed in registers: that is the
  rearrangement of paper 003, made on the fly. With `plain` every step gathers its operands from the
  places of the parts instead. Elements are of `width` 1 or 2 reals; two reals are a complex number,
  or two real sequences with the same coefficients.

  The determination adds S_i w_start, S_i the product of the coefficients from the start of the part
  to i, to the solution with zero start. So the value at the end of a part is the one that the
  propagation found, and no row of the recurrence is violated by more than rounding; running through
  the part from w_start would leave the rounding of a whole part in the row after it.
*/
#pragma once

#include <stddef.h>

/* Bytes of a row of lanes: two cache lines, two to eight vectors, whose chains run side by side. Not measured apart */
#define BCR_RECUR_BYTES     128
#define BCR_RECUR_MAX_LANES 32 /* of float */

typedef enum {
  BCR_RECUR_CONST,  /* s, c: one number */
  BCR_RECUR_SHARED, /* the same in all lanes, by position */
  BCR_RECUR_LANES,  /* by position and lane */
  BCR_RECUR_MEMORY  /* s is an array like t */
} BCRRecurMode;

typedef struct {
  int lanes;                         /* in use, at most lanes of the table */
  int plain, back;                   /* back: from the last position to the first */
  int width, cplx;                   /* cplx: width 2 and complex coefficients */
  int other;                         /* memory holds the other type: double for float work, float for double work */
  int adjacent;                      /* lanes are neighbours in memory */
  int seed;                          /* apply() runs from the starts themselves (k has to be 0) */
  ptrdiff_t at[BCR_RECUR_MAX_LANES]; /* position 0 of each lane, in reals */
  ptrdiff_t step;                    /* from position to position, in reals */
  ptrdiff_t m;                       /* positions */
  BCRRecurMode mode;
  const void *s; /* work type; MEMORY: the type of memory */
  const void *c; /* factor of t, as s; NULL: 1 (always with cplx or MEMORY) */
  /* CONST, SHARED: [k] (cplx: [k][2]), by step, the first step is 0; LANES: not used, the product
     is made in the work type */
  const void *S;
  ptrdiff_t k; /* products of later steps are negligible; not for MEMORY */
} BCRRecurBundle;

typedef struct {
  int lanes;
  /* T[width][lanes]: the value at the end of each part for zero start. MEMORY: S[width][lanes], the
     product over the part, and growth[lanes], the largest square of the modulus of a product from
     the start of the part */
  void (*reduce)(const BCRRecurBundle *b, const void *t, void *T, void *S, void *growth);
  /* w, which may be t, for the given starts w0[width][lanes] */
  void (*apply)(const BCRRecurBundle *b, const void *t, const void *w0, void *w);
  /* one lane, the plain loop; x[width]: its start, then its end; not for cplx or MEMORY */
  void (*sequential)(const BCRRecurBundle *b, int lane, const void *t, double *x, void *w);
} BCRRecurTable;
