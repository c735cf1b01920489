/*
  Lines of separators of level 0: seplines.cu, septab.cu. Conventions: cuda.h.
*/
#pragma once

#include "cuda.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* Near-Toeplitz lines, a constant mu for each mode. T = (factors of constant mu) + corrections at the ends, which go
   into the right-hand side: with x the solution for g hs, g_1 and g_n get A x_1 + B x_n + C g_last, where (A, B, C) are
   tab[3..5] and tab[6..8]. The last unknown of a periodic line (row n) is tab[9] x_1 + tab[10] x_n + tab[11] g_last.
   tab[0] is mu, tab[1] hs, tab[2] is not used. Tables: [plane][BCR_CUDA_SEP_TAB][nk] doubles */
#define BCR_CUDA_SEP_TAB 12
/* Numbers 0 to 3: with C the couplings beyond both ends and M as in the corrections, the two rows of C M. 4: the norm
   of right-hand sides. 5: what divides C M in the corrections */
#define BCR_CUDA_SEP_BORDER 6
/* Numbers of a line's rows that are the same but for these: the first one (0), all others (1), the last of the open line
   (2), the one behind it (3), and the one before the first (4) */
#define BCR_CUDA_SEP_KINDS 5
typedef struct {
  int n, nk, planes, periodic; /* n: rows of the open line */
  ptrdiff_t ld, plane;         /* numbers of g from row to row, from plane to plane */
  const double *tab;           /* [plane][BCR_CUDA_SEP_TAB][nk] */
  /* singular mode, or -1: its right-hand side loses its share of a constant, the constant's size
     goes to removed[0], for its mode to removed[1] */
  int pin, pinplane;
  double ones[BCR_CUDA_SEP_KINDS]; /* what a right-hand side of ones is there; total: the sum over all rows */
  double total, removedfactor, subfactor;
  double *removed;
  /* the sum of the solution over all rows of the plane, the eliminated ones too, in the unit of that mode, is that of
     BCRCudaSepParts() numbers, parts, which are zeros before: of the separators with weights, and sumfactor times what is
     left of the nsums numbers (BCRCudaLevel0.sums) less sumones times removed[1]. NULL: it is not wanted. With a window of
     other ranks one number more: what the mean of the solution of all lacks. rows, not 0: this mode's solution loses 1/rows
     of that sum at once (only this mode is in it) */
  double weights[BCR_CUDA_SEP_KINDS], *parts;
  const double *sums;
  int nsums, rows;
  double sumfactor, sumones;
  /* where other modes are in that sum, too: ends [3][nk] times the sum of the right-hand sides, times the solution of the
     first row, of the last one; NULL: they are not. Open ends: the right-hand sides of the rows beyond count, too, of both
     ranks at an interface together */
  const double *ends;
  /* rows of other ranks beyond an end (neither periodic nor singular): solutions in the row after,
     which is row n of g then, and in the row before, the next one of g, for modes in another order:
     position k of a plane has mode of[plane][k] there (or none, -1), factor[plane][k] times as large.
     border: [plane][BCR_CUDA_SEP_BORDER][nk] */
  int open[2];
  const double *border, *factor, *after, *before;
  const int *of;
  int early;        /* as in BCRCudaLevel0 */
  const void *more; /* what is added to g, ld and plane as there, or NULL; between level0small.cu's kernels */
} BCRCudaSepLines;
typedef struct {
  int n, periodic, end[2], gapend[2], gap, gaplast; /* as BCRLineRows, n of the open line */
  /* periodic, no rows eliminated: all n rows go round, (A, B) are such that the constant mu fits */
  int ring;
  int nk, planes, pin, pinplane;
  double ax, ay;
  const double *lambda, *norm, *shift, *scale; /* device: nk, nk, planes, planes (of the solution) */
  double *border;                              /* or NULL */
} BCRCudaSepRows;
BCR_CUDA_API int BCRCudaSepTables(BCRStream stream, const BCRCudaSepRows *rows, double *tab); /* waits for nothing */
BCR_CUDA_API int BCRCudaSepSolve(BCRStream stream, const BCRCudaSepLines *p, int single, void *g);
BCR_CUDA_API int BCRCudaSepParts(const BCRCudaSepLines *p);
/* open ends: right-hand sides of the row after (interface, mode m at interface[-m]) and what the row before gets
   (previous), times a, with what is left of lines that end at these rows */
BCR_CUDA_API int BCRCudaSepEnds(BCRStream stream, const BCRCudaSepLines *p, int single, const void *g, double a,
                                double *interface, double *previous);
/* *sum = that of the parts */
BCR_CUDA_API int BCRCudaSepSum(BCRStream stream, const BCRCudaSepLines *p, double *sum);

#if defined(__cplusplus)
}
#endif
