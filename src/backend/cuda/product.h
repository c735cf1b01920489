/*
  Transforms along an axis (BCRCudaModes, transforms.h) as products with the matrix of eigenvectors on the
  tensor cores, any end types and lengths up to about a thousand (product.cu); the same in planes
  that stay on chip (boxproduct.cu).
*/
#pragma once

#include "box.h"
#include "transforms.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* kind: product.cuh. Plan fills in all but the tables, of so many doubles each; 0: it cannot be done */
enum {
  BCR_CUDA_PRODUCT_WHOLE,    /* the whole matrix */
  BCR_CUDA_PRODUCT_PARITIES, /* one for even modes, one for odd ones */
  BCR_CUDA_PRODUCT_ONE,      /* one for both, analysis and synthesis */
  BCR_CUDA_PRODUCT_RING      /* cosines, and sines, of periodic lines: productacross.cu */
};
typedef struct {
  /* lines of a block; four terms each, of a sum; 16 rows each, of a matrix */
  int n, kind, width, steps, tiles;
  int across;             /* productacross.cu, whose steps have eight terms, not product.cu */
  const double *table[2]; /* analysis, synthesis */
} BCRCudaProducts;
BCR_CUDA_API int BCRCudaProductsPlan(const BCRCudaModes *modes, int shared, BCRCudaProducts *m);
/* the same for lines that are neighbours in memory, in double precision; 0: it cannot be done, and m is as it was */
BCR_CUDA_API int BCRCudaProductsAcross(const BCRCudaModes *modes, int shared, BCRCudaProducts *m);
BCR_CUDA_API size_t BCRCudaProductsCount(const BCRCudaProducts *m);
BCR_CUDA_API int BCRCudaProductsTable(BCRStream stream, const BCRCudaModes *modes, const BCRCudaProducts *m,
                                      int synthesis, double *table);
/* as BCRCudaFft(); in place where f and u have the same strides */
BCR_CUDA_API int BCRCudaProductsApply(BCRStream stream, const BCRCudaProducts *m, int synthesis, int single,
                                      const BCRCudaLines *fl, const void *f, const BCRCudaLines *ul, void *u,
                                      const void *extra, const int *extraof, ptrdiff_t extrald, ptrdiff_t extrab);

/* boxproduct.cu: planes of a box, in place, between transforms across them: a product along one
   axis, of m (its width aside), a line of p->n unknowns along x for each mode, and back; p as for
   BCRCudaBoxSolve(): n, planes, half, ld, plane, tab (m->n modes) */
/* A singular operator's line, of mode pin of that plane (pin -1: not singular): its right-hand side loses its mean, which
   times removedfactor goes to removed, and so does its solution. weights: NULL, or, where ends are nodes and other modes
   have sums, too, [planes] the sum over all planes of the box of what each of these modes is there, and modes: [m->n] the
   same along the axis of the product. Then each block of a plane leaves what it adds to the sum of the solution in sums,
   [planes][blocks of a plane], BCR_CUDA_NOTHING before and after, and the plane of the constant mode, which is the last to
   begin, takes from what it stores the mean, these sums times factor */
typedef struct {
  int pin, plane;
  double removedfactor, *removed, factor, *sums;
  const double *weights, *modes;
} BCRCudaBoxMean;
/* planes that the device has room for at a time */
BCR_CUDA_API int BCRCudaBoxProductFits(const BCRCudaBoxPlanes *p, const BCRCudaProducts *m, int single);
/* blocks of a plane */
BCR_CUDA_API int BCRCudaBoxProductBlocks(const BCRCudaBoxPlanes *p, const BCRCudaProducts *m);
BCR_CUDA_API int BCRCudaBoxProduct(BCRStream stream, const BCRCudaBoxPlanes *p, const BCRCudaProducts *m,
                                   const BCRCudaBoxMean *mean, int single, void *u);

#if defined(__cplusplus)
}
#endif
