/*
  Kernels of compact differences. The suffix of a table (d or f) is the precision of the fields.
*/
#pragma once

#include <stddef.h>

typedef struct {
  /* u_t = c_0 f_t + sum_k c_k (f_{t+k s} + sign f_{t-k s}), 0 <= t < n, k = 1 .. half <= 3; sign -1: c_0 is not used */
  void (*stencil)(ptrdiff_t n, ptrdiff_t s, int half, int sign, const double c[4], const void *f, void *u);
} BCRCompactTable;
