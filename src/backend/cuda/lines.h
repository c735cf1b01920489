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

   The solution is multiplied by norma[a] normb[b] factor. With numbers t along the lines (times) one of the two shifts,
   that of b if timed, is multiplied by t[i]. In a periodic line rows i < n - 1 are those of an open line, low[0] = up[n - 2]
   = 0, and ring has what couples rows 0 and n - 2 to the last one (which is not in excess), and that to them */
typedef struct {
  int n, periodic;
  const double *low, *excess, *up; /* [n] */
  const double *times;             /* [n], NULL: 1 */
  int timed;
  struct {
    double first, last; /* in rows 0 and n - 2 */
    double up, low;     /* in row n - 1: to row 0, to row n - 2 */
  } ring;
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
