/* What the kernels of the CUDA backend share */
#pragma once

#include <cuda_runtime.h>
#include "cuda.h"

static inline cudaStream_t bcr_stream(BCRStream s)
{
  return (cudaStream_t)s;
}
static inline int bcr_done()
{
  return (int)cudaGetLastError();
}
static inline unsigned bcr_blocks(ptrdiff_t n, int per, unsigned most)
{
  const ptrdiff_t b = (n + per - 1) / per;

  return (unsigned)(b < 1 ? 1 : (b > (ptrdiff_t)most ? (ptrdiff_t)most : b));
}

/* calls CALL with T the type that `single` means */
#define BCR_CUDA_TYPE(single, ...) \
  do { \
    if (single) { \
      typedef float T; \
      __VA_ARGS__; \
    } else { \
      typedef double T; \
      __VA_ARGS__; \
    } \
  } while (0)
