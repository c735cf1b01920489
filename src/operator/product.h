/*
  Products of axes: constant stencils of 9 and 27 points as polynomials of the axes' T, see operator.h and
  docs/method.md, section "products".
*/
#pragma once

#include "operator.h"

#define BCR_SETS 8 /* sets of up to three axes, as bits */

/* What the symbol p(l_x, l_y, l_z) of the box is, scale and row weights apart */
typedef struct {
  double least; /* the smallest eigenvalue, but that of the constant where T 1 = 0 along each axis and the shift is 0 */
  double size;  /* largest sum of the absolute values of its terms: what its rounding is compared with */
  double top;   /* largest absolute value */
} BCRProductRange;

/* Modes with a smaller absolute value than this, of the largest, are left out where the symbol changes its sign */
#define BCR_PRODUCT_LEAST 1e-10
/* Below this, of the sum of the absolute values of its terms, the symbol is rounding */
#define BCR_PRODUCT_ROUNDING 1e-14

static inline double BCRProductSymbol(const double c[BCR_SETS], double x, double y, double z)
{
  return c[0] + x * c[1] + y * (c[2] + x * c[3]) + z * (c[4] + x * c[5] + y * (c[6] + x * c[7]));
}

/* n[d]: modes of each axis, 1 where there is none; lambda[d][n[d]]: their eigenvalues in any order; c: coefficients
   of the sets, the shift that of none. A polynomial that is linear in each variable has its extremes in corners, so
   that no more is looked at */
PETSC_INTERN void BCRProductGetRange(const PetscInt n[3], const double *const lambda[3], const double c[BCR_SETS],
                                     PetscBool constant, BCRProductRange *range);
static inline PetscBool BCRProductDefinite(const BCRProductRange *range)
{
  return range->least > BCR_PRODUCT_ROUNDING * range->size ? PETSC_TRUE : PETSC_FALSE;
}
