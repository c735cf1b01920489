/*
  The mean of a singular operator's solution before the last transform, across planes: box.cuh, level0rows.cuh.
*/
#pragma once

#include "cuda.h"

/* Modes of an axis between two nodes that are mirrors add up to one if they are even, else to zero, so that the mean is a sum
   over planes: weight [planes] times the plane's plain sum. Blocks leave their part of a plane in part [planes][blocks], zero
   for good where a plane has no weight; the last of `all` blocks that have one leaves in mean what the first plane loses. All
   on the device; NULL: not wanted */
typedef struct {
  const double *weight;
  double *part, *mean, factor; /* factor: one over the unknowns of a plane */
  int *count, all, parts;
} BCRCudaPlaneMean;
