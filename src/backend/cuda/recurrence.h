/*
  First-order recurrences w_i = s_i w_{i-1} + t_i on arrays of a device (src/recurrence/pscheme.h
  has the method), of float where single is set, else of double. Plain C interface as in cuda.h.
*/
#pragma once

#include "cuda.h"

#if defined(__cplusplus)
extern "C" {
#endif

typedef struct {
  ptrdiff_t n;
  int single;
  const void *s; /* NULL: the same coefficient for all: */
  /* products from the start of a part on that are larger than growth: the part is done in order */
  double scale, growth;
} BCRCudaRecurrence;
BCR_CUDA_API size_t BCRCudaRecurrenceWorkspace(const BCRCudaRecurrence *r); /* bytes */
/* in one pass; w may be t or s */
BCR_CUDA_API int BCRCudaRecurrenceSolve(BCRStream stream, const BCRCudaRecurrence *r, const void *t, double start,
                                        void *w, void *work);
/* carry: S, T of w_end = S w_start + T, largest product from the start on, on the device */
BCR_CUDA_API int BCRCudaRecurrenceReduce(BCRStream stream, const BCRCudaRecurrence *r, const void *t, double carry[3],
                                         void *work);

#if defined(__cplusplus)
}
#endif
