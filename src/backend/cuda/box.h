/*
  Three dimensions with a plane on chip: box*.cu. Conventions: cuda.h.
*/
#pragma once

#include "cuda.h"
#include "planemean.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* Three dimensions with sine transforms of length N (N - 1 unknowns, each transform times 2) along two axes; even: the
   columns' are cosine transforms, of N + 1 unknowns, first and last one halved before */
typedef struct {
  int N, L, nx, nb, even; /* length of the transform, of that by which it is done; columns, planes of them */
  ptrdiff_t frow, fplane, urow,
    uplane;                  /* elements of f, u from row to row of the transformed axis, from plane to plane */
  const void *roots, *chirp; /* BCRCudaBoxRoots() of L, BCRCudaBoxChirp(), in the work type */
  const double *mean;        /* even, on the device: what the first mode loses, or NULL */
} BCRCudaBoxPass;
/* Planes of n rows, one for each mode of the other transform: transformed along one axis, lines along the other, a ring
   if periodic. Rows are ld apart, planes `plane`. half: the first, last equation is halved (node-centred Neumann). even:
   by cosine transforms, BCR_CUDA_BOX_SLABS alone. How they are done: */
enum {
  BCR_CUDA_BOX_SLABS, /* lines along x, by clusters of blocks */
  BCR_CUDA_BOX_ROWS,  /* transforms along x, by clusters of blocks */
  BCR_CUDA_BOX_MARCH  /* transforms along x, planes of any size */
};
/* pairs of columns of a block, of cosine transforms: 8 blocks have 2^k + 1 */
#define BCR_BOX_EVEN_PAIRS 17
typedef struct {
  int kind, N, n, planes, even, half[2];
  ptrdiff_t ld, plane;
  /* even: a singular operator, whose first mode of the first plane loses the mean of its right-hand side, which times
     removedfactor goes to removed (NULL: it is not singular); mean: by BCRCudaBoxBlocks() blocks of a plane */
  double *removed, removedfactor;
  BCRCudaPlaneMean mean;
  const double *tab; /* as of BCRCudaSepLines, of N - 1 modes, even: N + 1 */
  const void *roots; /* BCRCudaBoxRoots() of N, in the work type */
  double *ends;      /* scratch: 2 (N - 1) planes, for BCR_CUDA_BOX_MARCH */
  /* BCR_CUDA_BOX_MARCH, rows of other ranks beyond an end: n rows of the lines, and one more where
     open[1]. BCRCudaSepLines has border, the rest is in natural order, (N - 1) planes; interface (mode m at
     interface[-m]) and previous, times a: what Down leaves for the row after and for the row before;
     after, before: solutions there, for Up */
  int open[2];
  const double *border, *after, *before;
  double *interface, *previous, a;
} BCRCudaBoxPlanes;
BCR_CUDA_API int BCRCudaBoxPossible(int N);
/* L for BCRCudaBoxColumns(): N where that is possible, else of a convolution where these take less
   time than products do, 0 if there is none */
BCR_CUDA_API int BCRCudaBoxLength(int N, int single);
/* how many complex numbers, and these, as pairs of doubles, if w is given */
BCR_CUDA_API int BCRCudaBoxRoots(int N, double *w);
BCR_CUDA_API int BCRCudaBoxChirp(int N, int L, double *w);              /* none if L is N */
BCR_CUDA_API int BCRCudaBoxFits(const BCRCudaBoxPlanes *p, int single); /* whether the device can do it that way */
BCR_CUDA_API int BCRCudaBoxBlocks(const BCRCudaBoxPlanes *p);           /* even: of a plane */
BCR_CUDA_API int BCRCudaBoxColumns(BCRStream stream, const BCRCudaBoxPass *p, int single, const void *f, void *u);
BCR_CUDA_API int BCRCudaBoxSolve(BCRStream stream, const BCRCudaBoxPlanes *p, int single, void *u);
/* open ends: down, then up */
BCR_CUDA_API int BCRCudaBoxHalf(BCRStream stream, const BCRCudaBoxPlanes *p, int up, int single, void *u);

#if defined(__cplusplus)
}
#endif
