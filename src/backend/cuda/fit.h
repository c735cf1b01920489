/*
  fit.cu: the passes of src/operator/fitdevice.c over a matrix that lies on the device (BCRCudaRows)
*/
#pragma once

#include "rows.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* Arrays of the box of unknowns, node i + n[0] (j + n[1] k). Results of a pass are in parts, one
   for each of `blocks` blocks of threads */
typedef struct {
  int dim, n[3], wrap[3], single, blocks; /* single: S is float */
  double half[3][2];                      /* weights of the first and last rows of each axis: 1 or 1/2 */
  double *D, *rest;                       /* diagonals, with what planes add to them; row sums */
  /* couplings to the next node, in whose row they are low until BCRCudaFitJoin() makes one of both */
  double *C[3], *low[3];
  void *S; /* row scales, in the memory of low[0]; NULL: none */
} BCRCudaFit;
/* A component's rows; planes that have been dropped, with their diagonals' inverses and the
   couplings to them (of the matrix' reals, one for each node) */
typedef struct {
  int c, b[3], present[3][2];
  double sign, slope[3][2];
  void *inv[3][2], *couplings[3][2];
} BCRCudaFitRows;
enum {
  BCR_CUDA_FIT_ODD = 1,   /* a row that the host has to look at */
  BCR_CUDA_FIT_ANY = 2,   /* something is coupled */
  BCR_CUDA_FIT_PLANE = 4, /* shifted by 2 d + s: something is coupled to that plane */
  BCR_CUDA_FIT_FLAGS = 8  /* so many bits */
};
/* What a sequence of numbers x amounts to, as BCRFitRange has it: the smallest and the largest, sums of x - ref and of
   its square, how many there are; the rows where the smallest and the largest were met first */
typedef struct {
  double lo, hi, ref, sum, square, count;
  int lorow, hirow;
} BCRCudaFitRange;
enum {
  BCR_CUDA_FIT_SUMS = 15 /* numbers of BCRCudaFitEnds() */
};
/* The largest of some numbers, and where it was met first */
typedef struct {
  double worst;
  long long where;
} BCRCudaFitWorst;
/* flags: a number for each bit, 0 before, 1 where it is set */
BCR_CUDA_API int BCRCudaFitTake(BCRStream stream, const BCRCudaRows *rows, const BCRCudaFitRows *r,
                                const BCRCudaFit *fit, int *flags);
/* Sums over the layers of nodes at the ends of axis d, before BCRCudaFitJoin(): link[2][3],
   side[2][2], sum[2], count[2], wraps of BCRFitSums */
BCR_CUDA_API int BCRCudaFitEnds(BCRStream stream, const BCRCudaFit *fit, const BCRCudaFitRows *r, int d,
                                double (*parts)[BCR_CUDA_FIT_SUMS]);
BCR_CUDA_API int BCRCudaFitJoin(BCRStream stream, const BCRCudaFit *fit, const BCRCudaFitRows *r);
/* couplings from layer `at` of axis d */
BCR_CUDA_API int BCRCudaFitDivide(BCRStream stream, const BCRCudaFit *fit, int d, int at, double by);
/* Row scales, s^2 of the nodes; then the couplings along each axis as the fit sees them */
BCR_CUDA_API int BCRCudaFitScales(BCRStream stream, const BCRCudaFit *fit, const double mean[3],
                                  BCRCudaFitRange *parts);
BCR_CUDA_API int BCRCudaFitInverse(BCRStream stream, const BCRCudaFit *fit, double *v); /* 1 over the row scales */
BCR_CUDA_API int BCRCudaFitLinks(BCRStream stream, const BCRCudaFit *fit, BCRCudaFitRange (*parts)[3]);
/* The fit: diagonals of T are 2 a of all axes and what edge adds in the first and last rows */
typedef struct {
  /* null: the null vector of the transpose of T in the first and last rows, 1 or 1/2 */
  double a[3], edge[3][2], null[3][2], shift;
} BCRCudaFitModel;
/* What is left on the diagonals inside the box, and without row scales what couplings differ from
   those of the fit by; model == NULL: row sums */
BCR_CUDA_API int BCRCudaFitLeft(BCRStream stream, const BCRCudaFit *fit, const BCRCudaFitModel *model,
                                BCRCudaFitRange *parts);
/* BCRFitTotal of src/operator/fitrange.h: sum is excess, square weight; lo and hi are of the count
   rows whose couplings are an eighth of their diagonal or less */
BCR_CUDA_API int BCRCudaFitTotal(BCRStream stream, const BCRCudaFit *fit, const BCRCudaFitModel *model,
                                 BCRCudaFitRange *parts);
/* The largest |row sum| / |diagonal| */
BCR_CUDA_API int BCRCudaFitNull(BCRStream stream, const BCRCudaFit *fit, BCRCudaFitWorst *parts);
/* Relative deviations from the fit: of links along each axis, where = (2 line + around) n[0] + i, i
   that of the node that the link is from, line that of the node that it ends at, or of the last
   node if it goes around to the first; of diagonals, where = node */
BCR_CUDA_API int BCRCudaFitDeviation(BCRStream stream, const BCRCudaFit *fit, const BCRCudaFitModel *model,
                                     BCRCudaFitWorst (*parts)[4]);

#if defined(__cplusplus)
}
#endif
