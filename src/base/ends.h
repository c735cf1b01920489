/*
  What the first and last rows of an axis can be. Plain C, no PETSc: for kernels of both backends, too.
*/
#pragma once

typedef enum {
  BCR_END_DIRICHLET,      /* node-centred, value beyond the end is zero: row (2a, -a) */
  BCR_END_NEUMANN,        /* node-centred, mirrored: row (2a, -2a) */
  BCR_END_CELL_NEUMANN,   /* cell-centred: row (a, -a) */
  BCR_END_CELL_DIRICHLET, /* cell-centred: row (3a, -a) */
  BCR_END_PERIODIC,       /* both ends of the axis */
  BCR_END_GENERAL         /* any other first row; the axis then carries lower/diag/upper */
} BCREnd;

#if defined(__CUDACC__)
  #define BCR_END_BOTH __host__ __device__
#else
  #define BCR_END_BOTH
#endif

/* Sum of the end row, in couplings of the axis: how strongly the end holds the solution. No default: the compiler names
   who forgot an end type */
BCR_END_BOTH static inline double BCREndExcess(BCREnd end)
{
  switch (end) {
  case BCR_END_DIRICHLET:
    return 1;
  case BCR_END_CELL_DIRICHLET:
    return 2;
  case BCR_END_NEUMANN:
  case BCR_END_CELL_NEUMANN:
  case BCR_END_PERIODIC:
  case BCR_END_GENERAL: /* the axis' own coefficients have it */
    return 0;
  }
  return 0;
}
