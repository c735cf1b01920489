/*
  Tridiagonal lines of any kind: lines.cu. Conventions: cuda.h.
*/
#pragma once

#include "cuda.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* Tridiagonal lines, one for each pair (a, b) of modes. Row i of line (a, b) is

     -low[i] u_(i-1) + (excess[i] + low[i] + up[i] + sigma) u_i - up[i] u_(i+1),   sigma = shift + shifta[a] + shiftb[b]

   The solution is multiplied by norma[a] normb[b] factor. A periodic line has the coefficients of the open line of its
   first n - 1 rows, and `coupling` between those and its last row. */
typedef struct {
  int n, periodic;
  const double *low, *excess, *up; /* [n] */
  double coupling;
  double shift, factor;
  const double *shifta, *shiftb, *norma, *normb; /* [na], [nb], [na], [nb], or NULL: 0 and 1 */
  /* The modes of the singular line, or -1: its right-hand side loses its mean, its last unknown is 0 */
  int pina, pinb;
  const double *weight; /* [n], of that mean; NULL: ones */
  double *removed;      /* gets that mean times removedfactor; NULL: nobody wants it */
  double removedfactor;
} BCRCudaLineRows;
/* In place, the lines of u. work, with its own distances: the pivots' ratios of all rows */
BCR_CUDA_API int BCRCudaLineSolve(BCRStream stream, const BCRCudaLineRows *rows, int single, const BCRCudaLines *lines,
                                  void *u, const BCRCudaLines *worklines, void *work);

#if defined(__cplusplus)
}
#endif
