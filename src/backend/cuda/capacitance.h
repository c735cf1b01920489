/*
  Sparse products with few rows of a field, and blocks of vectors of few numbers (src/poisson/numbers.h): capacitance.cu.
  Conventions: cuda.h. type chooses the numbers that are named void: BCR_CUDA_SINGLE and BCR_CUDA_COMPLEX, added. Factors that come
  from the host are pairs of real and imaginary part.
*/
#pragma once

#include "cuda.h"

#if defined(__cplusplus)
extern "C" {
#endif

enum {
  BCR_CUDA_SINGLE = 1,
  BCR_CUDA_COMPLEX = 2
};

/* numbers.h: BCRSparse; v, n, ghost: BCRSpread */
typedef struct {
  int rows;
  const ptrdiff_t *to;   /* or NULL */
  const int *start;      /* or NULL */
  const ptrdiff_t *from; /* or NULL */
  const void *value;     /* real, or NULL */
} BCRCudaSparse;
typedef struct {
  void *v, *ghost;
  ptrdiff_t n;
} BCRCudaSpread;

/* y = (y) + alpha A x + beta d z; magnitude[i] = sum of |value| |x|, where it is not NULL. d, magnitude: real */
BCR_CUDA_API int BCRCudaSparseProduct(BCRStream stream, int type, const BCRCudaSparse *A, double alpha,
                                      const BCRCudaSpread *x, const BCRCudaSpread *y, int add, double beta,
                                      const void *d, const void *z, void *magnitude);

/* Blocks of vectors, numbers.h: BCRBlock, X: [k][n], y: [m][n] */
#define BCR_CUDA_BLOCKS 10
typedef struct {
  int blocks;
  int k[BCR_CUDA_BLOCKS], m[BCR_CUDA_BLOCKS];
  const void *X[BCR_CUDA_BLOCKS], *y[BCR_CUDA_BLOCKS];
} BCRCudaBlocks;
/* sums = X_j^H y, [m][k] of each block, one behind another; sums may be pinned memory of the host. work: BCR_CUDA_DOTS numbers
   of the type with the largest numbers */
#define BCR_CUDA_DOTS 65536
BCR_CUDA_API int BCRCudaDots(BCRStream stream, int type, ptrdiff_t n, const BCRCudaBlocks *blocks, void *work,
                             void *sums);
/* Coefficients of the host, real and imaginary parts by turns where numbers are complex: count doubles, v if they are no more
   than BCR_CUDA_COEFFICIENTS, else there, on the device */
#define BCR_CUDA_COEFFICIENTS 400
typedef struct {
  int count;
  double v[BCR_CUDA_COEFFICIENTS];
  const double *there;
} BCRCudaCoefficients;
/* y += alpha sum of s_j X_j */
BCR_CUDA_API int BCRCudaCombine(BCRStream stream, int type, ptrdiff_t n, const BCRCudaBlocks *blocks,
                                const BCRCudaCoefficients *s, double alpha, void *y);
/* numbers.h: BCRStepEnd */
typedef struct {
  double unit, next, y[2];
  void *q, *z, *b, *q1, *z1;
} BCRCudaStepEnd;
BCR_CUDA_API int BCRCudaStep(BCRStream stream, int type, ptrdiff_t n, const BCRCudaBlocks *blocks,
                             const BCRCudaCoefficients *s, const BCRCudaStepEnd *end);
BCR_CUDA_API int BCRCudaSet(BCRStream stream, int type, ptrdiff_t n, const double alpha[2], void *x);
BCR_CUDA_API int BCRCudaTimes(BCRStream stream, int type, ptrdiff_t n, double times, double over, const void *x,
                              void *y);
BCR_CUDA_API int BCRCudaAdd(BCRStream stream, int type, ptrdiff_t n, const double alpha[2], const void *x, void *y);
/* parts[2 i] = the largest of some of n numbers v >= 0, parts[2 i + 1] = the sum of squares of those over it, and behind those
   the same of |x|, i < BCR_CUDA_LARGEST; v, which is real, or x may be NULL. parts may be pinned memory of the host */
#define BCR_CUDA_LARGEST 32
BCR_CUDA_API int BCRCudaLargest(BCRStream stream, int type, ptrdiff_t n, const void *v, const void *x, double *parts);
/* *sum = sum of l x[dof i], which may be pinned memory of the host; x[dof i] += alpha r[i]; l, r: real, NULL: all one. work: as in
   BCRCudaDots() */
BCR_CUDA_API int BCRCudaNodesSum(BCRStream stream, int type, ptrdiff_t nodes, int dof, const void *l, const void *x,
                                 void *work, void *sum);
BCR_CUDA_API int BCRCudaNodesAdd(BCRStream stream, int type, ptrdiff_t nodes, int dof, const double alpha[2],
                                 const void *r, void *x);

#if defined(__cplusplus)
}
#endif
