/*
  Transforms along an axis of any ends and up to about 87000 unknowns by convolutions through memory (longline.cu).
*/
#pragma once

#include "transforms.h"

#if defined(__cplusplus)
extern "C" {
#endif

typedef struct {
  BCRCudaModes m;
  int M, N1, N2, pairs;        /* M = N1 N2 numbers of the convolution; pairs of lines that go at a time */
  double *root, *spectrum, *x; /* on the device, to be set: 2 M doubles, 2 M, 2 M pairs */
} BCRCudaLong;
/* 0: lines are too long, or blocks of the device have too little shared memory */
BCR_CUDA_API int BCRCudaLongPlan(const BCRCudaModes *modes, int shared, BCRCudaLong *plan);
/* root and spectrum */
BCR_CUDA_API int BCRCudaLongTables(BCRStream stream, const BCRCudaLong *plan);
/* as BCRCudaFft(); in place where f and u have the same strides */
BCR_CUDA_API int BCRCudaLongApply(BCRStream stream, const BCRCudaLong *plan, int synthesis, int single,
                                  const BCRCudaLines *fl, const void *f, const BCRCudaLines *ul, void *u,
                                  const void *extra, const int *extraof, ptrdiff_t extrald, ptrdiff_t extrab);

#if defined(__cplusplus)
}
#endif
