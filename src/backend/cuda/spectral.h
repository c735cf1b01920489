/*
  Division of modes by a symbol: spectral.cu, fft.cu. Conventions: cuda.h.
*/
#pragma once

#include "transforms.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* The symbol is the polynomial of the eigenvalues x, y, z of a mode

     c[0] + c[1] x + c[2] y + c[3] x y + c[4] z + c[5] x z + c[6] y z + c[7] x y z,

   and what lies at place (i, j, k) is multiplied by factor norm[0][i] norm[1][j] norm[2][k] over it, and zero where the
   symbol is not above tol in absolute value, and where that product is zero. Complex numbers: over it and i tau */
typedef struct {
  double c[8];
  const double *lambda[3], *norm[3]; /* of the places of each axis; NULL: 0 and 1 */
  double factor, tau, tol;
  int pin[3];      /* place of the constant of a singular operator, or -1: */
  double *removed; /* gets what lies there times removedfactor */
  double removedfactor;
} BCRCudaSymbol;
/* v: imaginary parts, as u; NULL: numbers are real */
BCR_CUDA_API int BCRCudaDivide(BCRStream stream, const BCRCudaBox *box, const BCRCudaSymbol *symbol, int single,
                               void *u, void *v);
/* Before a division, what it leaves out of all that is there, as three sums of squares. partial: BCR_CUDA_PARTIALS numbers
   (fields.h) three times */
BCR_CUDA_API int BCRCudaLeftSums(BCRStream stream, const BCRCudaBox *box, const BCRCudaSymbol *symbol, int single,
                                 const void *u, const void *v, double *partial, double sum[3]);
/* Of n such sums together: result[0] becomes the largest of itself and of the size of that part, relative to all of it;
   result[1] of itself and of that part as a backward error, for an operator of that size */
BCR_CUDA_API int BCRCudaLeftLargest(BCRStream stream, int n, const double *sums, double size, double result[2]);
/* fft.cu: BCRCudaFft() of lines along axis d, a division, and back (again: by another analysis), in one pass. The lines
   are those of all places, that of the lower of the other axes first; in place where f and u have the same strides */
BCR_CUDA_API int BCRCudaFftDivide(BCRStream stream, const BCRCudaModes *modes, int again, const BCRCudaSymbol *symbol,
                                  int d, int single, int shared, const BCRCudaLines *fl, const void *f,
                                  const BCRCudaLines *ul, void *u);

#if defined(__cplusplus)
}
#endif
