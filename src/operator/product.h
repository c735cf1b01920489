/*
  Products of axes: constant stencils of 9 and 27 points as polynomials of the axes' T, see operator.h and
  docs/method.md, section "products"; signs and sizes of eigenvalues, of operators of either sign, too.
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

/* Modes with a smaller absolute value than this, of the largest (of operators of either sign: of the largest row sum of
   absolute values), are left out where eigenvalues have both signs */
#define BCR_MODES_LEAST 1e-10
/* Below this, of the sum of the absolute values of its terms, the symbol is rounding */
#define BCR_PRODUCT_ROUNDING 1e-14

static inline double BCRProductSymbol(const double c[BCR_SETS], double x, double y, double z)
{
  return c[0] + x * c[1] + y * (c[2] + x * c[3]) + z * (c[4] + x * c[5] + y * (c[6] + x * c[7]));
}

/* A bound on its absolute value but for the shift: eigenvalues of an axis are 4 at most */
static inline double BCRProductBound(const PetscReal mixed[BCR_SETS])
{
  double sum = 0;

  for (int set = 1; set < BCR_SETS; set++) {
    double top = fabs((double)mixed[set]);

    for (int d = 0; d < 3; d++) top *= set >> d & 1 ? 4 : 1;
    sum += top;
  }
  return sum;
}

/* The factor of the eigenvalue of that axis, where l[] are those of the other axes: by the sets with this axis alone, or
   what is large would hide what is small */
static inline double BCRProductSlope(const double c[BCR_SETS], int axis, const double l[3])
{
  double slope = 0;

  for (int set = 0; set < BCR_SETS; set++) {
    double product = set >> axis & 1 ? c[set] : 0;

    for (int d = 0; d < 3; d++) product *= d != axis && set >> d & 1 ? l[d] : 1;
    slope += product;
  }
  return slope;
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

/* What the eigenvalues of lines are, of one after the other: zeros and a large `least` before */
typedef struct {
  double negative; /* with a negative real part, but those that are left out */
  double left;     /* not above a threshold in absolute value */
  double least;    /* smallest absolute value */
} BCRModesSurvey;
/* Those of one more line, shift + slope lambda_j + i tau, lambda[n] ascending; tol: the threshold */
PETSC_INTERN void BCRModesSurveyLine(PetscInt n, const double lambda[], double shift, double slope, double tau,
                                     double tol, BCRModesSurvey *survey);
PETSC_INTERN void BCRModesSort(PetscInt n, double lambda[]);
