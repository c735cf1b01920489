/*
  Row kernels of iterative refinement (src/poisson/refine.c): single-precision corrections,
  residuals in double; sums of rows (src/poisson/core.c). The suffix of a table (d or f) is the
  precision of the vectors v; corrections and residuals are float, arithmetic is double.
*/
#pragma once

#include "../../base/petscbcrimpl.h"
#include <stddef.h>

/* One row of  r = rs (g - c - K v),  K a 3-, 5- or 7-point operator of constant coefficients along
   the row but in x, where it has arrays */
typedef struct {
  ptrdiff_t n;
  int dim;     /* 1: no neighbouring rows, 2: south and north, 3: all four */
  int uniform; /* entries 1 .. n-2 of lower, diag and upper are alike */
  const double *g;
  const void *v, *side[4];            /* the row and its neighbours: south, north, below, above */
  const double *lower, *diag, *upper; /* lower[0] and upper[n-1] belong to the periodic neighbours */
  double coef[4];                     /* of the neighbouring rows, as they are subtracted */
  double centre;                      /* what the other axes and the shift add to the diagonal */
  double c, rs, vs;
  double sumr, sumv; /* the sums of (rs r)^2 and (vs v)^2 are added to these */
} BCRResidualRow;

typedef struct {
  void (*residual)(BCRResidualRow *row, float *r);
  /* v = (keep ? v : 0) + c e */
  void (*add)(ptrdiff_t n, int keep, double c, const float *e, void *v);
  /* r = rs g, returns the sum of squares of it */
  double (*begin)(ptrdiff_t n, double rs, const double *g, float *r);
  /* returns the sum of v; w: adds that of w v to *weighted; NULL: none */
  double (*sum)(ptrdiff_t n, const void *v, const double *w, double *weighted);
  /* n complex numbers by their parts, and together again */
  void (*part)(ptrdiff_t n, const double *z, double *re, double *im);
  void (*join)(ptrdiff_t n, const double *re, const double *im, double *z);
} BCRFieldsTable;

/* isa: -1 the best this machine has, else 0, 1, 2; single: v is float */
PETSC_INTERN const BCRFieldsTable *BCRCpuFields(int isa, int single);
