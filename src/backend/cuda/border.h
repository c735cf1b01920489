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

/* A row (in three dimensions a plane) of an array: n0 x n1 elements, stride0 and stride1 apart. Beside it stand packed
   doubles v [n1][n0]. Get: v = c v + a f. Set: u = c u + a v */
typedef struct {
  int n0, n1;
  ptrdiff_t stride0, stride1;
} BCRCudaRow;
BCR_CUDA_API int BCRCudaRowGet(BCRStream stream, const BCRCudaRow *row, int single, const void *f, double c, double a,
                               double *v);
BCR_CUDA_API int BCRCudaRowSet(BCRStream stream, const BCRCudaRow *row, int single, void *u, double c, double a,
                               const double *v);

/* y = M x along one axis of a packed row. M is n x n, its entry (i, j) at i + n j; x and y lie as `lines` says */
BCR_CUDA_API int BCRCudaMatrix(BCRStream stream, int n, const double *M, const BCRCudaLines *lines, const double *x,
                               double *y);

/* What a rank sends. Part q gets the modes first[q] .. first[q+1] - 1, at 2 first[q]: those of the sender's own row,
   then what the row before gets. They are multiplied by norm [nmodes] (NULL: they are sent as they are). Mode m of
   `interface` is at way m. nparts 1: all modes go to one part, the own row's backwards, as BCRCudaBorderSolve() has
   them for one part */
BCR_CUDA_API int BCRCudaBorderPack(BCRStream stream, int nparts, int nmodes, const int *first, const double *norm,
                                   const double *interface, int way, const double *previous, double *sent);
/* What it gets back: from part q at 2 first[q] + q the solution in the rank's own row and in the row before, each
   first[q+1] - first[q] long, then a mean, not 0 from one part at most. x, before: [nmodes]; mean: one number */
BCR_CUDA_API int BCRCudaBorderUnpack(BCRStream stream, int nparts, int nmodes, const int *first, const double *received,
                                     double *x, double *before, double *mean);

enum {
  /* At most so many parts solve all reduced systems each: the GPUs of one host, which reach one another's memory. More
     parts share the modes out. The limit was not measured */
  BCR_CUDA_GATHER = 8
};
/* Numbers of the parts in one another's memory, which their kernels store and wait for. to[q] is in the memory of part
   q: two slots [2][parts][2 n], taken in turn, of 2 n numbers from each part, as BCRCudaBorderSolve() has them of one
   part. A number that has not come is BCR_CUDA_NOTHING; who takes it puts that back. A slot comes again after the next
   exchange, in which every part has heard of all that send to it that they have taken what was there before. Behind
   both slots are two of one number from each part, [2][parts], of a sum. */
enum {
  BCR_CUDA_NOTHING = 0xff /* each byte of it: a NaN; another one is sent for it */
};
typedef struct {
  int n, parts, mine, periodic; /* modes; parts, and this one's number. n 0: there is no window */
  int coupled;                  /* so many of the modes, the first ones, go to all parts; the others go to neighbours */
  ptrdiff_t slot;               /* numbers of a slot */
  double *to[BCR_CUDA_GATHER];
  unsigned *turn; /* [3]: which slot; blocks that are done with it; not 0: nothing more will come */
} BCRCudaWindow;
/* Put: all that this part sends, from its part of received. Take: all that it gets, to received [parts][2 n] */
BCR_CUDA_API int BCRCudaWindowPut(BCRStream stream, const BCRCudaWindow *w, const double *received);
BCR_CUDA_API int BCRCudaWindowTake(BCRStream stream, const BCRCudaWindow *w, double *received);
/* *sum becomes the sum of all parts' *sum, added in the order of the parts. Called between two exchanges */
BCR_CUDA_API int BCRCudaWindowSum(BCRStream stream, const BCRCudaWindow *w, double *sum);

/* Reduced systems of the modes firstmode .. firstmode + n - 1: nrow interface rows, eliminated from the first to the
   last. Where the axis is periodic, the last row, coupled to the first one as well, is the last unknown of each system,
   and those before it are the open rows. */
typedef struct {
  int n, firstmode, nrow, nparts, periodic;
  const double *low, *up, *pivotinverse; /* [nrow][n]; up: divided by the pivot */
  const double *fromlast;                /* periodic: [nrow][n], what a last unknown of 1 adds to the open rows */
  const double *lastinverse;             /* periodic: [n], one over the pivot of the last row */
  const double *lowlast, *uplast;        /* periodic: [n], couplings of the last row */
  int constant; /* a mode of these that is singular, or -1: its rows of all parts are in constantmode */
  struct {
    const double *low, *up, *ones, *weight; /* [nrow] */
    double total, rows;                     /* of all rows along the axis: their weights, and how many */
  } constantmode;
  /* few parts: of the inverse, the rows [2][nrow][n] of a part's own interface and of the one before, or NULL */
  const double *inverse;
} BCRCudaBorderRows;
/* Tables of BCRCudaBorderRows that are made on the device: [nrow][n] each, from BCR_BORDER_LAST on [n] */
enum {
  BCR_BORDER_LOW,
  BCR_BORDER_UP,
  BCR_BORDER_PIVOT, /* pivotinverse */
  BCR_BORDER_FROMLAST,
  BCR_BORDER_LAST, /* lastinverse */
  BCR_BORDER_LOWLAST,
  BCR_BORDER_UPLAST,
  BCR_BORDER_TABLES
};
/* What they are made from: couplings and excess of all rows along the axis, [rows], where each part begins and how many
   rows are its interior, [nparts], eigenvalues of all modes. All of these are in device memory */
typedef struct {
  int n, firstmode, nrow, nparts, periodic, uniform, constant;
  const double *low, *up, *excess, *lambda;
  double shift; /* comes to each eigenvalue */
  const int *first, *interior;
  double *table[BCR_BORDER_TABLES];
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
/* of the singular mode for right-hand sides without a mean */
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
