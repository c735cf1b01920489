/*
  Tridiagonal lines of any kind: lines.cu. Conventions: cuda.h.
*/
#pragma once

#include "cuda.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* Tridiagonal lines, one for each pair of modes. Rows of -low u_(i-1) + (exc
   + low + up + sigma) u_i - up u_(i+1), sigma = shift + sa[a] + sb[b]; solution times na[a] nb[b]
   factor. A periodic line has the open line's coefficients and its coupling. */
typedef struct {
  int n, periodic;
  const double *low, *exc, *up;
  double coupling;
  double shift, factor;
  const double *siga, *sigb, *norma, *normb; /* or NULL: 0, 1 */
  /* singular line, or -1: its right-hand side loses its mean in the weights w (NULL: ones), its last unknown is 0 */
  int pina, pinb;
  const double *w;
  double *removed; /* gets that mean times removedfactor */
  double removedfactor;
} BCRCudaLineRows;
BCR_CUDA_API int BCRCudaLineSolve(BCRStream stream, const BCRCudaLineRows *rows, int single, const BCRCudaLines *lines,
                                  void *u, const BCRCudaLines *worklines, void *work);

#if defined(__cplusplus)
}
#endif
