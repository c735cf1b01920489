/*
  Planes and edges of boundary rows beside the box: planes.cu. Conventions: cuda.h.
*/
#pragma once

#include "cuda.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* Nodes of a plane of boundary rows beside the box (src/poisson/planes.c), n[0] x n[1] of them. Vectors have the type
   of `single`, their nodes are nodestride apart */
typedef struct {
  /* in nodes: the first one of the plane in vectors, the next ones along both axes; the same in inv and couplings; the
     neighbour inside the box */
  ptrdiff_t at, stride[2], q, qstride[2], inward;
  int n[2];
  const double *inv, *couplings; /* of each node, or NULL: inv0, and one number of the call */
  double inv0, slope;            /* inv0: one over the diagonal */
} BCRCudaFace;
/* u_b = f_b (times inv if scaled) */
BCR_CUDA_API int BCRCudaFaceBegin(BCRStream stream, const BCRCudaFace *face, int single, ptrdiff_t nodestride,
                                  const void *f, void *u, int scaled);
/* u_b += slope u_1 */
BCR_CUDA_API int BCRCudaFaceSlope(BCRStream stream, const BCRCudaFace *face, int single, ptrdiff_t nodestride, void *u);
/* u_b = inv (u_b + entry u_1), entry = couplings or coupling w0 w1, over all[..] if given (then times scale) */
BCR_CUDA_API int BCRCudaFaceEnd(BCRStream stream, const BCRCudaFace *face, int single, ptrdiff_t nodestride, void *u,
                                int couple, double coupling, double scale, const double *w0, const double *w1,
                                const double *all, ptrdiff_t all0, const ptrdiff_t alls[2]);
/* What a face adds to the box's right-hand side in the nodes beside it: factor [couplings] [w0 w1]
   [all] u_b. They are node `end` along axis; face.n[0], w0 along other[0], face.n[1], w1 along
   other[1]. all: of the box, in packed order */
typedef struct {
  BCRCudaFace face;
  int axis, end, other[2], use_couplings;
  double factor;
  const double *w0, *w1, *all; /* or NULL */
  ptrdiff_t all0, alls[2];
} BCRCudaFaceTerm;
/* t: the box's right-hand side */
BCR_CUDA_API int BCRCudaFaceMove(BCRStream stream, const BCRCudaFaceTerm *term, int single, ptrdiff_t nodestride,
                                 const void *u, int t_single, void *t, const ptrdiff_t ts[3]);

/* nodes that lie in several planes: at, from, inv, slope in arrays on the device */
typedef struct {
  ptrdiff_t at, from;
  double inv, slope;
} BCRCudaEdge;
/* Rows apart (their at and inv): w = inv f at n nodes, and u = w there */
BCR_CUDA_API int BCRCudaApartBegin(BCRStream stream, int n, const BCRCudaEdge *e, int single, ptrdiff_t nodestride,
                                   const void *f, double *w);
BCR_CUDA_API int BCRCudaApartEnd(BCRStream stream, int n, const BCRCudaEdge *e, int single, ptrdiff_t nodestride,
                                 const double *w, void *u);
BCR_CUDA_API int BCRCudaEdgeBegin(BCRStream stream, int n, const BCRCudaEdge *e, int single, ptrdiff_t nodestride,
                                  const void *f, void *u, int scaled);
/* u_at += slope u_from; transposed u_from += slope u_at, edges with the same neighbour one behind another in e */
BCR_CUDA_API int BCRCudaEdgeSlope(BCRStream stream, int n, const BCRCudaEdge *e, int single, ptrdiff_t nodestride,
                                  void *u, int transpose);
BCR_CUDA_API int BCRCudaEdgeScale(BCRStream stream, int n, const BCRCudaEdge *e, int single, ptrdiff_t nodestride,
                                  void *u);

#if defined(__cplusplus)
}
#endif
