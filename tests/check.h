#pragma once

#include <math.h>

static inline void TestLargest(double *worst, double e)
{
  if (!(e <= *worst)) *worst = e == e ? e : HUGE_VAL;
}
