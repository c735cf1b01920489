/* What planes of boundary rows add to the right-hand side of the box beside them */
#pragma once

#include "common.cuh"
#include "planes.h"

/* in node (j, i) of the face, along other[0] and other[1] */
template <typename R>
static __device__ __forceinline__ double bcr_face_term(const BCRCudaFaceTerm &t, ptrdiff_t nodestride, const R *u,
                                                       int j, int i)
{
  double v = t.factor * (double)u[(t.face.at + j * t.face.stride[0] + i * t.face.stride[1]) * nodestride];

  if (t.use_couplings) v *= t.face.couplings[t.face.q + j * t.face.qstride[0] + i * t.face.qstride[1]];
  if (t.w0) v *= t.w0[j] * t.w1[i];
  if (t.all) v *= t.all[t.all0 + j * t.alls[0] + i * t.alls[1]];
  return v;
}
