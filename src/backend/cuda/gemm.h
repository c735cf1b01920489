/*
  Products with a stored matrix along an axis of a box, by cuBLAS: gemm.cu. Conventions: cuda.h.
*/
#pragma once

#include "cuda.h"

#if defined(__cplusplus)
extern "C" {
#endif

typedef void *BCRCudaGemm; /* a cublasHandle_t of the current device */
/* bytes: of the workspace that products are given, so that none has to be allocated while they become part of a graph */
BCR_CUDA_API int BCRCudaGemmCreate(BCRCudaGemm *handle, size_t *bytes);
BCR_CUDA_API int BCRCudaGemmDestroy(BCRCudaGemm handle);
/* u = M f, or M^T f, for each line f of n[d] elements along axis d of a box; M is of n[d] x n[d] numbers of the same type,
   column by column. Not in place; elements along axis 0 are contiguous in both arrays */
BCR_CUDA_API int BCRCudaGemmLines(BCRCudaGemm handle, BCRStream stream, void *workspace, size_t bytes, int single,
                                  const int n[3], int d, int transpose, const void *M, const ptrdiff_t fstride[3],
                                  const void *f, const ptrdiff_t ustride[3], void *u);

/* Errors of cuBLAS are this and its own number; NULL: error is none of them */
#define BCR_CUDA_GEMM_ERROR 20000
BCR_CUDA_API const char *BCRCudaGemmErrorString(int error);

#if defined(__cplusplus)
}
#endif
