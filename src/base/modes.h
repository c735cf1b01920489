/*
  Numbers of the modes of a uniform axis.
*/
#pragma once

#include <math.h>

/* 1/mu - 1 for the smaller root mu of the row (-1, 2 + delta, -1); no square of delta, which may be of any size */
static inline double BCRRootGap(double delta)
{
  return 0.5 * (delta + sqrt(delta) * sqrt(delta + 4));
}
