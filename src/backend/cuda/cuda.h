/*
  The CUDA backend: operations on device memory, each one or a few kernels launched on the caller's
  stream. Plain C interface, no PETSc: every function returns 0 or a CUDA error code
  (BCRCudaErrorString()). None but those of device.cu and graph.cu allocates, copies to or from the
  host, or waits. `single` chooses the type of the arrays named void: float or double. Tables are
  double unless it says otherwise.
*/
#pragma once

#include <stddef.h>
#include "../../base/cuda.h"

/* A box of unknowns; distances in elements */
typedef struct {
  int n[3];
  ptrdiff_t stride[3];
} BCRCudaBox;

/* na x nb lines, sa and sb apart, with elements s apart */
typedef struct {
  int na, nb;
  ptrdiff_t sa, sb, s;
} BCRCudaLines;
