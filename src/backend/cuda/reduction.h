/*
  Block cyclic reduction of a given radix: reduction.cu. Conventions: cuda.h.
*/
#pragma once

#include "cuda.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* Block cyclic reduction, a step of `count` items at a time (BCRReductionStep). Each item has np right-hand sides, each
   a sum of nsrc rows of U with the weights wsrc; its solutions, summed with the weights wout, are added to nout rows
   (add), or set */
typedef struct {
  int count, nsrc, np, nout, add;
  const int *src, *out;    /* device: [count][nsrc], [count][nout] */
  const double *lambda;    /* device: [np] */
  const void *wsrc, *wout; /* device, work type: [np][nsrc], [np][nout] */
} BCRCudaStep;
/* nb boxes of rows. A row is n0 unknowns, stride0 apart, or n1 times as many, stride1 apart. Rows are rowstride apart,
   boxes boxstride */
typedef struct {
  int n0, n1, nb;
  ptrdiff_t stride0, stride1, rowstride, boxstride;
} BCRCudaPlanes;
/* G: right-hand sides and solutions of box b, item k, p at ((b count + k) np + p) gline, rows of n0 of each g1 apart */
BCR_CUDA_API int BCRCudaStepForm(BCRStream stream, const BCRCudaStep *step, const BCRCudaPlanes *u, int single,
                                 const void *U, void *G, ptrdiff_t g1, ptrdiff_t gline);
/* by sub-sums of that many terms; parts: room for nb count ceil(np/terms) nout of gline each, where terms < np */
BCR_CUDA_API int BCRCudaStepSum(BCRStream stream, const BCRCudaStep *step, const BCRCudaPlanes *u, int single,
                                const void *G, ptrdiff_t g1, ptrdiff_t gline, int terms, void *parts, void *U);
/* of each solution: shift[b] + a lambda[p] */
BCR_CUDA_API int BCRCudaStepShifts(BCRStream stream, const BCRCudaStep *step, int nb, const double *shift, double a,
                                   double *to);
/* Lines of n rows of scale (T + shift[b] + a lambda[p]), with couplings of one, by scalar cyclic reduction, a block of
   `width` threads each; more than `rows` rows are reduced in global memory first. Shape: sets rows (0: as many as fit)
   and the distance of lines; nonzero: it cannot be done */
BCR_CUDA_API int BCRCudaLinesCyclicShape(int n, int single, int shared, int width, int *rows, ptrdiff_t *ld);
BCR_CUDA_API int BCRCudaLinesCyclic(BCRStream stream, const BCRCudaStep *step, int nb, int n, double scale, double a,
                                    const double *shift, int first, int last, int single, void *G, ptrdiff_t ld,
                                    int width, int rows);

#if defined(__cplusplus)
}
#endif
