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
/* Y = Y B + X A, of k vectors X and m vectors Y, B upper triangular; s: [m][k + m] coefficients on the device, of A and B */
BCR_CUDA_API int BCRCudaMix(BCRStream stream, int type, ptrdiff_t n, int k, const void *X, int m, const double *s,
                            void *Y);
/* numbers.h: BCRStepEnd */
typedef struct {
  double unit, next, y[2];
  void *q, *z, *b, *q1, *z1;
} BCRCudaStepEnd;
BCR_CUDA_API int BCRCudaStep(BCRStream stream, int type, ptrdiff_t n, const BCRCudaBlocks *blocks,
                             const BCRCudaCoefficients *s, const BCRCudaStepEnd *end);
/*
  Steps that are launched before it is known that those before them go on (ahead.cu; numbers.h: BCRAhead), by one cluster of blocks
  each. What they go by is on the device. Directions are q, z: [k][n], of which the first `lead` ones and those from `old` on are
  looked at. What is a part of something is at least: clean, |b| of `cleaned`, what it was when b was last made orthogonal to the
  directions; again, of a product what is left of it; zero, of |K| what K makes of z; part, of b what is left of it. A step writes
  what it has found to place k % BCR_CUDA_AHEAD of records, which may be pinned memory of the host: BCR_CUDA_RECORD doubles, then
  the coefficients of q and those of b, real and imaginary parts by turns where numbers are complex. One that does not know how to
  go on sets stop, and the next ones do nothing
*/
#define BCR_CUDA_AHEAD       16
#define BCR_CUDA_AHEAD_KNOWN 400
typedef struct {
  ptrdiff_t n;
  int lead, old, k, stop;
  double tol, norm, cleaned, size; /* size: |K|^2 */
  double clean, again, zero, part;
  void *Q, *Z, *z, *q, *b;
  double *records;
} BCRCudaAhead;
enum {
  BCR_CUDA_AHEAD_DOUBT = 1, /* nothing has been changed but q */
  BCR_CUDA_AHEAD_TAKEN = 2, /* a direction has been found */
  BCR_CUDA_AHEAD_NEXT = 4,  /* and the next z */
  BCR_CUDA_AHEAD_CLEAN = 8  /* b was made orthogonal to the directions, too */
};
enum {
  BCR_CUDA_RECORD_STATE,
  BCR_CUDA_RECORD_Q,    /* |q| behind the directions */
  BCR_CUDA_RECORD_B,    /* |b| before the step, */
  BCR_CUDA_RECORD_NORM, /* and after it */
  BCR_CUDA_RECORD_SIZE,
  BCR_CUDA_RECORD_Y, /* q^H b, of q with norm 1 */
  BCR_CUDA_RECORD = BCR_CUDA_RECORD_Y + 2
};
/* Doubles of a record of numbers with so many parts */
#define BCR_CUDA_AHEAD_RECORD(parts) (BCR_CUDA_RECORD + 2 * (parts)*BCR_CUDA_AHEAD_KNOWN)
/* Blocks of a cluster for vectors of n numbers; 0: the device has none */
BCR_CUDA_API int BCRCudaAheadBlocks(int type, ptrdiff_t n, int *blocks);
/* *state = first; unit = into z */
BCR_CUDA_API int BCRCudaAheadBegin(BCRStream stream, int type, const BCRCudaAhead *first, const BCRCudaSparse *into,
                                   void *unit, BCRCudaAhead *state);
/* A step with y = M unit: q = d z + from y, and all the rest, up to the next unit = into z */
BCR_CUDA_API int BCRCudaAheadStep(BCRStream stream, int type, int blocks, BCRCudaAhead *state,
                                  const BCRCudaSparse *into, const BCRCudaSparse *from, const void *d, void *unit,
                                  const BCRCudaSpread *y);
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
