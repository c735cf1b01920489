/*
  Batches of tridiagonal lines of either sign, or with a complex shift, one line a mode, neighbouring modes in the lanes:

      -lower_i u_(i-1) + (diag_i + sigma + i tau) u_i - upper_i u_(i+1) = scale f_i,      sigma, tau, scale of each mode

  Elimination with partial pivoting, as LAPACK's gtsv, whose swaps are selections of lanes; without it where every line
  of a batch is definite. Each batch is factored as it is solved.
*/
#pragma once

#include <stddef.h>

/* Modes in a batch: two cache lines of each row */
#define BCR_WAVES_BATCH 16

typedef struct {
  ptrdiff_t n;
  const double *lower, *diag, *upper; /* [n]; lower[0] and upper[n-1] are not looked at */
} BCRWavesLine;

/* Complex ones: sigma + i tau of the first row, of those inside and of the last one (n = 1: first + last - inside), and the
   factor of right-hand sides, real and imaginary parts; on 64 bytes */
typedef struct {
  double re[3][BCR_WAVES_BATCH], im[3][BCR_WAVES_BATCH], scale[2][BCR_WAVES_BATCH];
} BCRWavesModes;

/* u, re, im: row i of the batch at i ld, the right-hand side, then the solution; sigma, scale: [BCR_WAVES_BATCH]; work: so
   many doubles as work(n) says. sigma, scale and work on 64 bytes. pivot = 0: no rows are swapped. What lies behind a row
   is asked for: it may be the next batch's. pair: right-hand sides are re + i im */
typedef struct {
  size_t (*work)(ptrdiff_t n);
  void (*plain)(const BCRWavesLine *line, int pivot, const double *sigma, const double *scale, double *u, ptrdiff_t ld,
                double *work);
  void (*pair)(const BCRWavesLine *line, int pivot, const BCRWavesModes *modes, double *re, double *im, ptrdiff_t ld,
               double *work);
} BCRWavesTable;
