/* General cyclic reduction, what paper 002 compares near-Toeplitz cyclic reduction with: cuda_lines_kernels.cu */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
/* Lines (inner, n, outer) with coefficients a, b, c in arrays as f is; global: level by level in
   global memory, with scratch for three arrays, else a block has its lines in shared memory.
   Nonzero: a CUDA error, or -1 where a line does not fit */
int GeneralCR(void *stream, ptrdiff_t inner, ptrdiff_t n, ptrdiff_t outer, const double *a, const double *b,
              const double *c, double *scratch, const double *f, double *u, int global);
#ifdef __cplusplus
}
#endif
