/*
  Batches of tridiagonal lines: tri*.cu. Conventions: cuda.h.
*/
#pragma once

#include "cuda.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* Batches of lines as in src/tridiagonal/tridiagonal.h: element (i, j, o) at i + inner (j
   + n o), one set of numbers for all lines or one for each of inner/rep outer; number e of set l at
   e sets + l, double. io: fields of double, work in float. u may be f */

/* triscan.cu: near-Toeplitz lines by two constant recurrences, src/tridiagonal/scan.c. Numbers of a line besides G: see
   TAB_ in triscan.cuh */
#define BCR_CUDA_SCAN_TAB 30
/* of a line with N rows at its ends */
#define BCR_CUDA_SCAN_NUMBERS(N) (BCR_CUDA_SCAN_TAB + (N) * ((N) + 2))
/* Room for the weights of places where all lines have the same numbers: [2][3][parts], at most 32 parts, then
   [chunks][3] if that fits */
#define BCR_CUDA_SCAN_PLACES 288
/* How a batch is cut (tune; 0: automatic) */
enum {
  BCR_CUDA_SCAN_ROWS,    /* rows of a thread */
  BCR_CUDA_SCAN_PARTS,   /* warps of a line along x; threads of a column of lines across */
  BCR_CUDA_SCAN_WAY,     /* 1: in chunks, 2: in pieces */
  BCR_CUDA_SCAN_COLUMNS, /* columns of a block; along x 1: rows are not loaded by 16 bytes */
  /* how far ahead of what a block loads that comes to the cache early, in blocks and per cent of the multiprocessors;
     where each block has whole lines across: blocks, per cent of those that are resident */
  BCR_CUDA_SCAN_AHEAD,
  BCR_CUDA_SCAN_TUNE
};
typedef struct {
  ptrdiff_t inner, n, outer, sets;
  int rep, perline, h, t; /* h, t: rows of the ends */
  ptrdiff_t reach;        /* rows after which powers of alpha and beta are below rounding */
  int tune[BCR_CUDA_SCAN_TUNE];
  /* where all lines have the same numbers: the first unknown from number 0 and number h of the ends
     and the sum of the rows between, with nothing carried in */
  double first[3];
  const double *tab; /* on the device, what BCRCudaScanTables() makes */
  /* the rest is set by BCRCudaScanTables(). Where all lines have the same: theirs */
  double numbers[BCR_CUDA_SCAN_NUMBERS(6)];
  double thread[64]; /* too: scan_thread() of triscan.cuh, in the work type */
  double line[27];   /* too: triline.cu */
  int resident;      /* too: blocks that the device has room for */
  size_t shared;     /* too: of the device, bytes that a block may have */
  int sms, clusters; /* of the device: multiprocessors; are there clusters of blocks? */
} BCRCudaScan;
/* on the host, once the rest is set: from alpha, beta, gamma, and G, (h + t) x (h + t + 2) by rows.
   How many: BCRCudaScanTableSize() */
BCR_CUDA_API size_t BCRCudaScanTableSize(const BCRCudaScan *p);
BCR_CUDA_API void BCRCudaScanTables(BCRCudaScan *p, int single, int io, const double *abc, const double *G,
                                    double *tab);
BCR_CUDA_API size_t BCRCudaScanWorkspace(const BCRCudaScan *p, int single, int io); /* bytes, after tune is set */
BCR_CUDA_API int BCRCudaScanSolve(BCRStream stream, const BCRCudaScan *p, int single, int io, const void *f, void *u,
                                  void *ws);
/* Lines that go on on other ranks, whose devices reach one another's memory (window.cuh). What a
   line's first and last row become without the rows next to them, by weights of these (row j from
   that end has vfirst[j - 1], or vlast[m - j], of the fields' type), goes to the ranks before and
   after and into the own memory; with these numbers, and theirs, the kernel solves the chain of
   rows before, own, after (n <= 4 of them, `begin` before: factors as BCRCudaChains has) and takes
   what the rows beyond add, by the couplings low and up, from the right-hand sides of the ends.
   late: weights that reach far; then from the solution of these lines by themselves, at both ends,
   by the four numbers schur; give: how many of both go to the rank before, and to the one after.
   Three slots of four numbers a line */
#define BCR_CUDA_SCAN_WEIGHTS 63 /* so many at most */
typedef struct {
  int n, begin, mfirst, mlast, late, give[2];
  double lower[4], pivotinverse[4], upper[4], low, up, schur[4];
  const void *vfirst, *vlast;
  ptrdiff_t slot, columns;
  double *mine, *before, *after;
  unsigned *turn;
} BCRCudaScanRanks;
/* whether it can; contiguous lines: late */
BCR_CUDA_API int BCRCudaScanWaits(const BCRCudaScan *p, int single, int io);
BCR_CUDA_API int BCRCudaScanSolveRanks(BCRStream stream, const BCRCudaScan *p, const BCRCudaScanRanks *r, int single,
                                       const void *f, void *u, void *ws);

/* trifactors.cu: any lines by stored factors (src/backend/cpu/tri.h, BCRTriFactors): row j has entry j for j < nt,
   entry nt - 1 while j < n - nlast, then nt + j - (n - nlast); tables of the work type */
typedef struct {
  ptrdiff_t inner, n, outer, sets;
  int rep, perline, periodic;
  ptrdiff_t nt, nlast;
  const void *lower, *pivotinverse, *upper, *lastrow, *lastcolumn; /* [entry][set]; the last two of periodic lines */
} BCRCudaFactors;
BCR_CUDA_API int BCRCudaFactorsSolve(BCRStream stream, const BCRCudaFactors *t, int single, int io, const void *f,
                                     void *u);

/* tricr.cu: near-Toeplitz lines by cyclic reduction, src/tridiagonal/cr.c. Coefficient q of entry e
   of set l at (5 e + q) sets + l */
#define BCR_CUDA_CR_LEVELS 40
typedef struct {
  /* rows of the level, of these first and last with coefficients of their own; its first entry */
  ptrdiff_t rows, first, last, offset;
} BCRCudaCRLevel;
typedef struct {
  ptrdiff_t inner, n, outer, sets;
  int rep, perline, periodic, levels, shared; /* shared: bytes a block may have */
  BCRCudaCRLevel level[BCR_CUDA_CR_LEVELS];
  const double *table, *border, *z; /* periodic: 3 numbers; n - 1 numbers, e sets + l */
} BCRCudaCR;
BCR_CUDA_API int BCRCudaCRShared(const BCRCudaCR *c, int single); /* whether lines fit into shared memory */
BCR_CUDA_API int BCRCudaCRSolve(BCRStream stream, const BCRCudaCR *c, int global, int single, int io, const void *f,
                                void *u);

/* triparts.cu: recurrences by parts, src/recurrence/parts.h. Coefficients of row i of part p of set
   l at i parts sets + (inner == 1 ? p + parts l : l + sets p), one number for each set where
   constant, in the work type. S: product of the coefficients of part p at p sets + l, double.
   carry: a number for each part of a line */
typedef struct {
  ptrdiff_t inner, n, outer, sets;
  int rep, perline, constant, plain;
  ptrdiff_t rows, parts, m; /* rows that take part, of a part; the last one has fewer */
  const void *sf, *sb, *cb;
  const double *Sf, *Sb;
} BCRCudaParts;
BCR_CUDA_API int BCRCudaPartsSolve(BCRStream stream, const BCRCudaParts *p, int single, int io, int small,
                                   const void *f, void *u, double *carry);
/* After that, src/recurrence/tridc.c: u -= V (numbers of the ends). numbers of a set, e sets + l: 3
   for each row of D; the inverse; V in the first and in the last row; border; low, up, reciprocal
   pivot of the last row (the last three only of periodic lines) */
#define BCR_CUDA_ENDS 8
typedef struct {
  ptrdiff_t inner, n, outer, sets, rows;
  /* rows of D; columns of V: as many, or the one of the last unknown (count 0) */
  int rep, perline, periodic, count, columns;
  /* of a column of V: its row of D; the rows from .. to - 1 where it is not 0 */
  ptrdiff_t row[BCR_CUDA_ENDS], from[BCR_CUDA_ENDS], to[BCR_CUDA_ENDS];
  const double *numbers;
  const void *V[BCR_CUDA_ENDS]; /* [to - from][sets], work type */
} BCRCudaEnds;
/* w: count + 1 numbers a line */
BCR_CUDA_API int BCRCudaEndsSolve(BCRStream stream, const BCRCudaEnds *d, int single, int io, const void *f, void *u,
                                  double *w);

#if defined(__cplusplus)
}
#endif
