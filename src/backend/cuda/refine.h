/*
  Refinement of mixed precision: refine.cu. Conventions: cuda.h.
*/
#pragma once

#include "cuda.h"
#include "planes.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* The right-hand side is f [w[0] w[1] w[2]] [all] and what the faces
   add to it, made where it is read; f and u, which has the faces' values, float or double */
typedef struct {
  BCRCudaBox box;
  int single, nface;
  const void *f, *u;
  ptrdiff_t nodestride;     /* of the faces' nodes in u */
  const double *w[3], *all; /* or NULL */
  BCRCudaFaceTerm face[6];
} BCRCudaRefineRhs;
/* scalars: 3 doubles (a power of two rs, the mean removed so far, scratch); r: residuals times rs,
   rows rs[1], planes rs[2] apart */
BCR_CUDA_API int BCRCudaRefineBegin(BCRStream stream, const BCRCudaRefineRhs *g, float *r, const ptrdiff_t rs[3],
                                    double *scalars);
/* v = (keep ? v : 0) + inverse/rs e; the mean grows by *removed/rs */
BCR_CUDA_API int BCRCudaRefineCorrect(BCRStream stream, const BCRCudaBox *v_box, const float *e,
                                      const ptrdiff_t estride[3], double *v, double inverse, int keep,
                                      const double *removed, double *scalars);
/* r = rs (g - mean - K v), K of rows -low diag -up along each axis, the first and last low and up
   for periodic neighbours */
BCR_CUDA_API int BCRCudaResidual(BCRStream stream, const BCRCudaRefineRhs *g, const BCRCudaBox *v_box, const double *v,
                                 float *r, const ptrdiff_t rs[3], const double *const low[3],
                                 const double *const diag[3], const double *const up[3], double shift,
                                 const double *scalars);
BCR_CUDA_API int BCRCudaTrial(BCRStream stream, long n, double size, double *g);
BCR_CUDA_API int BCRCudaSumSquares(BCRStream stream, const BCRCudaBox *box, int single, const void *u, int nparts,
                                   double *parts);

#if defined(__cplusplus)
}
#endif
