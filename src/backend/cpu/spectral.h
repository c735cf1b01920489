/*
  Modes over the symbol of an operator (docs/method.md, section "products of axes").
*/
#pragma once

#include <stddef.h>

/* u(i, k) *= factor norm[i] rownorm[k] / (shift[i] + slope[i] lambda[k]), i < count neighbours, k < rows a distance of ld apart; 0 where that
   divisor is not above tol in absolute value. io: 0 u has the work type, as all arrays; 1 u is double while that is float */
typedef void (*BCRSpectralDivide)(ptrdiff_t count, ptrdiff_t rows, int io, void *u, ptrdiff_t ld, const void *shift,
                                  const void *slope, const void *norm, const void *lambda, const void *rownorm,
                                  double factor, double tol);
