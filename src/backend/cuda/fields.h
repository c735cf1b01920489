/*
  Operations on fields of unknowns in boxes: fields.cu. Conventions: cuda.h.
*/
#pragma once

#include "cuda.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* to = from * wx[i] wy[j] wz[k] * all[i + n0 (j + n1 k)]; w NULL: none of the three, all NULL:
   none. Types by from_single, to_single. */
BCR_CUDA_API int BCRCudaScaleCopy(BCRStream stream, const int n[3], int from_single, const void *from,
                                  const ptrdiff_t fs[3], int to_single, void *to, const ptrdiff_t ts[3],
                                  const double *const w[3], const double *all);
/* Complex numbers, stride vs between them in elements of v, to boxes of doubles, real parts and, `part` elements behind them,
   imaginary ones; back: from there */
BCR_CUDA_API int BCRCudaScalePairs(BCRStream stream, const int n[3], int back, int single, void *v,
                                   const ptrdiff_t vs[3], double *box, const ptrdiff_t bs[3], ptrdiff_t part,
                                   const double *const w[3], const double *all);
/* *sum = sum of u, weighted by w[0][i] w[1][j] w[2][k] where w is given; partial: BCR_CUDA_PARTIALS
   doubles of scratch */
#define BCR_CUDA_PARTIALS 1024
BCR_CUDA_API int BCRCudaSum(BCRStream stream, const BCRCudaBox *box, int single, const void *u,
                            const double *const w[3], double *partial, double *sum);
/* u = (u_from) + factor * *value, out of place if from != u */
BCR_CUDA_API int BCRCudaAddValue(BCRStream stream, const BCRCudaBox *box, int single, const void *from, void *u,
                                 const double *value, double factor);
/* u += factor * *value * from */
BCR_CUDA_API int BCRCudaAddScaled(BCRStream stream, const BCRCudaBox *box, int single, const void *from,
                                  const ptrdiff_t fs[3], void *u, const double *value, double factor);
/* Complex numbers: u_i = turn_i f_i, i < n; u may be f */
BCR_CUDA_API int BCRCudaTurn(BCRStream stream, long n, int single, const void *turn, const void *f, void *u);
BCR_CUDA_API int BCRCudaScaleValue(BCRStream stream, const double *from, double factor, double *to); /* one number */

#if defined(__cplusplus)
}
#endif
