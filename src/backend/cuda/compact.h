/*
  Compact differences on a device (src/compact): right-hand side and lines in one pass over the
  field where a rank has whole lines, and the right-hand side by itself. Plain C interface as in
  cuda.h; fields as there, of float where single is set, else of double. f and u are different
  arrays.
*/
#pragma once

#include "cuda.h"

#if defined(__cplusplus)
extern "C" {
#endif

#define BCR_CUDA_COMPACT_ENDS  3 /* rows of their own at either end, at most */
#define BCR_CUDA_COMPACT_WIDTH 8 /* their points */
/* rows after which powers of the roots have to be below rounding */
#define BCR_CUDA_COMPACT_REACH 64

typedef struct {
  int start, points; /* so many points, from row start of the field on; below 0 and beyond n: around a periodic line */
  double c[BCR_CUDA_COMPACT_WIDTH];
} BCRCudaCompactRow;

/* alpha d_{j-1} + d_j + alpha d_{j+1} = c_0 f_j + sum_k c_k (f_{j+k} + sign f_{j-k}), k = 1 .. half
   <= 3, but for h and t rows at the ends; factored as in src/tridiagonal/scan.c: root, gamma, G of
   these ends. cut: the line goes on there, on another rank, and h or t is 0. What comes from there:
   `ghost`, half planes of f (a plane has inner outer numbers) and one of what is carried in, y of
   the row before or u of the row behind, but for what these owe to this rank's rows: `owed` times
   those at that end, and `back` times y of the last row */
typedef struct {
  ptrdiff_t inner, n, outer;
  int single, half, sign, periodic, h, t, reach, cut[2];
  const void *ghost[2]; /* [half + 1][outer][inner] */
  double owed[2][3], back;
  double c[4], root, gamma;
  BCRCudaCompactRow first[BCR_CUDA_COMPACT_ENDS], last[BCR_CUDA_COMPACT_ENDS];
  double G[2 * BCR_CUDA_COMPACT_ENDS * (2 * BCR_CUDA_COMPACT_ENDS + 2)];
} BCRCudaCompact;
/* The same without messages, in memory that other ranks reach (window.cuh): the kernel stores there
   what they want, `rows` rows from an end on with these weights, on the device, in what is carried
   out there (scale: and that for the rank before), and waits for theirs. Two slots of 8 numbers a
   line; of this rank, and to: of the ranks before and behind, or NULL */
typedef struct {
  ptrdiff_t slot;
  double *mine, *to[2], scale;
  int rows;
  const double *weights;
  unsigned *turn;
} BCRCudaCompactWindow;
/* w: or NULL */
BCR_CUDA_API int BCRCudaCompactSolve(BCRStream stream, const BCRCudaCompact *p, const void *f, void *u,
                                     const BCRCudaCompactWindow *w);
/* whether it can take a window */
BCR_CUDA_API int BCRCudaCompactWaits(const BCRCudaCompact *p, int *waits);
/* The ghost of the rank before, to[0], and of the one behind; weights, on the device: `rows` of them, of the rows from
   an end on in what is carried out there (and to[0]: times sign / (1 - root^2)) */
BCR_CUDA_API int BCRCudaCompactEnds(BCRStream stream, const BCRCudaCompact *p, int rows, const double *weights,
                                    const void *f, void *const to[2]);

/* stencil.cu. Rows from .. to - 1 are by the inner stencil, the others, `edges` of them, by rows of their own: edge e
   has points[e] points, from row start[e] on. Points beyond this rank's rows are in ghost, plane after plane (a plane
   has inner outer numbers): point -below is plane 0, point n is plane `below` */
typedef struct {
  ptrdiff_t inner, n, outer, from, to;
  int single, half, sign, edges, width, below;
  double c[4];
  const int *start, *points; /* [edges] */
  const double *weights;     /* [edges][width] */
} BCRCudaStencil;
BCR_CUDA_API int BCRCudaStencilInner(BCRStream stream, const BCRCudaStencil *s, const void *f, void *u);
BCR_CUDA_API int BCRCudaStencilEdges(BCRStream stream, const BCRCudaStencil *s, const void *f, const void *ghost,
                                     void *u);
/* planes of f, one after the other */
BCR_CUDA_API int BCRCudaStencilPack(BCRStream stream, const BCRCudaStencil *s, const void *f, ptrdiff_t first,
                                    ptrdiff_t planes, void *to);

#if defined(__cplusplus)
}
#endif
