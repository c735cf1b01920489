/*
  Parts of boxes from one array to another, as src/operator/carrydevice.c brings vectors to slabs and back: where they lie
  in either, in packed messages, in memory of other ranks. Plain C interface as in cuda.h.
*/
#pragma once

#include "cuda.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* n[0] x n[1] x n[2] words, those of a row side by side */
typedef struct {
  const void *from; /* NULL: the array that the call is given */
  void *to;
  ptrdiff_t fromat, toat, fromstride[2], tostride[2]; /* in words */
  int n[3];
} BCRCudaPart;

/* n parts that have nothing in common, a list on the device; word: bytes, 4 or 8; most: words of the largest part; fetch:
   from, and not to, may be the memory of other devices */
BCR_CUDA_API int BCRCudaCarry(BCRStream stream, int word, int n, const BCRCudaPart *parts, ptrdiff_t most, int fetch,
                              const void *from, void *to);

#if defined(__cplusplus)
}
#endif
