/*
  Poisson across ranks on the device (src/poisson/ranks_cuda.c): rows next to interfaces in and out,
  the interfaces' reduced systems for one share of the modes. See src/poisson/ranks.c for the
  formulas.

  The rows of the axis that is cut, o eliminated by their rank (its interior), I interface rows, which are the last rows
  of the parts:

      part 0             part 1             part 2
      o  o  o  o  o  I | o  o  o  o  o  I | o  o  o  o  o
                     |   `- interior -' |
                 previous           interface      of part 1: in its own row, and in the one before its first

  The last part has no interface row, unless the axis is periodic. A reduced system of each mode couples the rows I.
*/
#pragma once

#include "box.h"
#include "seplines.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* Row (plane) of an array: n0 x n1 elements, s0 and s1 apart, against packed doubles v. get: v = c
   v + a f; set: u = c u + a v */
typedef struct {
  int n0, n1;
  ptrdiff_t s0, s1;
} BCRCudaRow;
BCR_CUDA_API int BCRCudaRowGet(BCRStream stream, const BCRCudaRow *row, int single, const void *f, double c, double a,
                               double *v);
BCR_CUDA_API int BCRCudaRowSet(BCRStream stream, const BCRCudaRow *row, int single, void *u, double c, double a,
                               const double *v);

/* y = M x along one axis of a packed row: n x n, entry (i, j) at i + n j; elements step apart, lines as BCRCudaLines */
BCR_CUDA_API int BCRCudaMatrix(BCRStream stream, int n, const double *M, const BCRCudaLines *lines, const double *x,
                               double *y);

/* What a rank sends: modes k of part q at 2 first[q], its own row's first, then what the row before
   gets, each first[q+1] - first[q] long, times norm (NULL: as they are); mode m of interface at way m.
   nparts 1: all modes, its own row's backwards, as BCRCudaBorderSolve() has them for one part */
BCR_CUDA_API int BCRCudaBorderPack(BCRStream stream, int nparts, int nmodes, const int *first, const double *norm,
                                   const double *interface, int way, const double *previous, double *sent);
/* and what it gets back: from part q at 2 first[q] + q, the solution in its own row, in the row
   before, and a mean that is not 0 in one of them */
BCR_CUDA_API int BCRCudaBorderUnpack(BCRStream stream, int nparts, int nmodes, const int *first, const double *received,
                                     double *x, double *before, double *mean);

enum {
  BCR_CUDA_GATHER = 8 /* parts of which each solves all reduced systems */
};
/* Numbers of the parts in one another's memory, which their kernels store and wait for. to[q]: two
   slots, taken in turn, of 2 n numbers from each part, as BCRCudaBorderSolve() has them of one
   part, in the memory of part q. A number that has not come is BCR_CUDA_NOTHING; who takes it puts
   that back. A slot comes again after the next exchange, in which every part has heard of all that
   send to it that they have taken what was there before. Behind both slots are two of one number
   from each part, of a sum. */
enum {
  BCR_CUDA_NOTHING = 0xff /* each byte of it: a NaN; another one is sent for it */
};
typedef struct {
  int n, parts, mine, periodic; /* n 0: none of this */
  int coupled;                  /* modes, the first ones, that go to all parts; the others to neighbours */
  ptrdiff_t slot;
  double *to[BCR_CUDA_GATHER];
  unsigned *turn; /* which slot; blocks that are done with it; not 0: nothing more will come */
} BCRCudaWindow;
/* All that this part sends, from its part of received; and all that it gets, to received */
BCR_CUDA_API int BCRCudaWindowPut(BCRStream stream, const BCRCudaWindow *w, const double *received);
BCR_CUDA_API int BCRCudaWindowTake(BCRStream stream, const BCRCudaWindow *w, double *received);
/* *sum: the sum of all parts' numbers there, in the order of the parts. Between two exchanges */
BCR_CUDA_API int BCRCudaWindowSum(BCRStream stream, const BCRCudaWindow *w, double *sum);

/* Reduced systems of the modes k0 .. k0 + n - 1. Tables [nrow][n]: low inv c (and q for periodic ones) */
typedef struct {
  int n, k0, nrow, nparts, periodic;
  const double *low, *up, *inv, *q, *den; /* up: divided by the pivot */
  const double *lowlast, *uplast;         /* periodic: of the last row */
  int constant; /* a mode of these that is singular, or -1: its rows of all parts [ninterface] are in constantmode */
  struct {
    const double *low, *up, *ones, *weight;
  } constantmode;
  /* few parts: of the inverse, the rows [2][nrow][n] of a part's own interface and of the one before, or NULL */
  const double *inverse;
} BCRCudaBorderRows;
/* lowp, up, excess: of rows along the axis, in device memory; first[p], interior[p] of each part;
   lambda with the shift */
typedef struct {
  int n, k0, nrow, nparts, periodic, uniform, constant;
  const double *low, *up, *excess, *lambda;
  double shift;
  const int *first, *interior;
  double *t[7]; /* as BCRCudaBorderRows: low, up, inv, q, den, lowlast, uplast */
} BCRCudaBorderTab;
/* BCRCudaBoxHalf(), down also to w, or NULL, up with the reduced systems, of what is in received,
   or comes to w: p->after and p->before are not used */
BCR_CUDA_API int BCRCudaBoxHalfReduced(BCRStream stream, const BCRCudaBoxPlanes *p, int up, int single, void *u,
                                       const BCRCudaBorderRows *rows, const double *received, int part,
                                       const BCRCudaWindow *w);
/* boxranks.cu: planes of a box with open ends that stay on chip, exchange and reduced systems in
   it: as BCRCudaBoxHalf() down and up. Fits: whether the device can */
BCR_CUDA_API int BCRCudaBoxRanksFits(const BCRCudaBoxPlanes *p, int single);
BCR_CUDA_API int BCRCudaBoxRanks(BCRStream stream, const BCRCudaBoxPlanes *p, int single, void *u,
                                 const BCRCudaBorderRows *rows, int part, const BCRCudaWindow *w);
/* BCRCudaSepSolve() between open ends, with the reduced systems of all modes where there are at
   most BCR_CUDA_GATHER parts: what part gets of received, as BCRCudaBorderSolve() has it, not
   singular. p->after and p->before are not used. w, or NULL: BCRCudaSepEnds() as well (with its a),
   and the exchange; received is not used then */
BCR_CUDA_API int BCRCudaSepSolveReduced(BCRStream stream, const BCRCudaSepLines *p, int single, void *g,
                                        const BCRCudaBorderRows *rows, const double *received, int part, double a,
                                        const BCRCudaWindow *w);
BCR_CUDA_API int BCRCudaBorderTables(BCRStream stream, const BCRCudaBorderTab *tab);
/* not of a singular mode */
BCR_CUDA_API int BCRCudaBorderInverse(BCRStream stream, const BCRCudaBorderRows *rows, int part, double *inverse);
/* received: from part p at 2 n p its own row's right-hand sides, then what the row before gets.
   sent: to part p at (2 n + 1) p the solution in its own row, in the row before, the mean. part not
   negative: to that part alone; own rows' right-hand sides are received backwards then, the last
   mode first, so that slow modes of both are beside one another. work: nrow x n */
BCR_CUDA_API int BCRCudaBorderSolve(BCRStream stream, const BCRCudaBorderRows *rows, const double *received,
                                    double *work, int part, double *sent);
BCR_CUDA_API int BCRCudaSumOf(BCRStream stream, int n, const double *v, double *sum);

#if defined(__cplusplus)
}
#endif
