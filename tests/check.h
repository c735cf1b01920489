/* What all tests share: a maximum that keeps a NaN */
#pragma once

#include <math.h>

/* The largest error so far. A NaN is an infinite one: it stays whatever comes next, and in MPI_MAX too, where PetscMax(), fmax() and
   if (!(e <= worst)) worst = e; go on with the next finite number */
static inline void TestLargest(double *worst, double e)
{
  if (!(e <= *worst)) *worst = e == e ? e : HUGE_VAL;
}
