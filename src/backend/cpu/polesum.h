/*
  Sums over the poles of radix 8, for separators whose modes along the block rows are rows of memory
  (docs/method.md, section 5, "Across"):

      v = sum_s w_s (T + delta_s)^-1 g,   s = 0..7,   T = tridiag(-1, 2, -1) and ends along x

  One mode a row, neighbouring modes in the lanes. In parallel form, with mu_s + 1/mu_s = 2 + delta_s,

      (T + delta_s)^-1 g = kappa_s (y + z - g),   y_i = mu_s y_{i-1} + g_i,   z_i = mu_s z_{i+1} + g_i,   1/kappa_s = 1/mu_s - mu_s

  both recurrences run on g, so that the eight poles of a mode are in registers and g is read once
  for each direction. The ends are images: y_{-1} and z_n are what the line's mirror images (or the
  line itself, if periodic) send in, from

      Z = sum_i mu^{i+1} g_i,   Y = sum_i mu^{n-i} g_i.
*/
#pragma once

#include <stddef.h>

#define BCR_POLES 8 /* the radix of level 0 */

/* rows of a table, each for lanes modes */
enum {
  BCR_SUM_MU,
  BCR_SUM_W,  /* w_s kappa_s */
  BCR_SUM_YZ, /* y_{-1} = YZ Z + YY Y + Y0 g_0 + YN g_{n-1} */
  BCR_SUM_YY,
  BCR_SUM_Y0,
  BCR_SUM_YN,
  BCR_SUM_ZZ, /* z_n = ZZ Z + ZY y_{n-1} + ZN g_{n-1} */
  BCR_SUM_ZY,
  BCR_SUM_ZN,
  BCR_SUM_ROWS
};

typedef struct {
  ptrdiff_t n, nk; /* columns, modes */
  /* for every lanes modes (BCRCpuTable), the last ones padded with weights of zero:
     [pole][BCR_SUM_ROWS][lane] */
  const void *tab;
  /* for every lanes modes, columns that count in Z for pole 0, in Z for the other poles, and the same in Y */
  const ptrdiff_t *near[4];
} BCRPoleSum;

typedef struct {
  size_t (*work)(ptrdiff_t n);                                           /* elements */
  void (*solve)(const BCRPoleSum *t, void *u, ptrdiff_t ld, void *work); /* in place; mode k at u + k*ld */
} BCRPoleSumTable;
