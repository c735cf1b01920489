/* Tables of the batched trigonometric transforms; dtt.c fills them, dtt_kernels.h reads them. */
#pragma once

#include "dtt.h"

#define BCR_FFT_LEVELS  32 /* a size is below 2^31 */
#define BCR_FFT_DIRECT  31 /* largest prime whose butterfly is a plain (p-1)/2 x (p-1)/2 product */
#define BCR_FFT_SCRATCH 8  /* spare vectors between pieces of the scratch */

/*
  Complex FFT of length n, exp(-2 pi i jk/n), out of place, decimation in time: level l splits size[l] into radix[l] interleaved
  transforms of size[l+1], the last level reads the input with a stride. Depth first, so that all small pieces stay in cache.
*/
typedef struct _n_BCRFft *BCRFft;
typedef struct {
  int    radix, m; /* size = radix * m; last level: m = 1 */
  void  *tw;       /* for k = 0..m-1, j = 1..radix-1: cos, -sin of 2 pi jk/size */
  void  *root;     /* direct odd primes: cos, sin of 2 pi q/radix, q = 0..radix-1 */
  BCRFft conv;     /* primes by Rader's convolution: the FFT of length radix - 1 */
  int   *perm;     /* Rader: powers of the generator, g^0..g^(radix-2), then of its inverse */
  void  *kernel;   /* Rader: FFT of the kernel / (radix - 1) */
} BCRFftLevel;

struct _n_BCRFft {
  int         n, nlevels;
  BCRFftLevel level[BCR_FFT_LEVELS];
  size_t      scratch; /* complex vectors */
  double      flops;   /* of one transform */
};

typedef enum {
  BCR_DTT_ONE,     /* type I of even length: halved while even, see BCRDttSplit */
  BCR_DTT_MAP,     /* two lines as real and imaginary part, symmetric extension, complex FFT */
  BCR_DTT_PERIODIC /* two lines as real and imaginary part, complex FFT */
} BCRDttKind;

/*
  Type III of even length M = 2H (J. Makhoul, IEEE Trans. ASSP 28, 1980: a real FFT of the reordered sequence, here by a
  complex one of length H). tw: for k = 1..(H-1)/2 half of cos, sin of pi k/(2M) and of 5 pi k/(2M).
  In type I of length L = 2M the odd outputs are one of type III of length M, the even ones type I of length M again.
*/
typedef struct {
  int    M;
  void  *tw;
  BCRFft fft;
} BCRDttSplit;

struct _n_BCRDtt {
  int        n;
  BCREnd     end[2];
  PetscBool  single;
  BCRDttKind kind;
  double    *lambda, *norm;
  size_t     bytes;
  int         nsplit, base; /* ONE: base is the length that is left */
  BCRDttSplit split[BCR_FFT_LEVELS];
  int        F, odd;  /* MAP: phi_j(i) = sin (odd) or cos of 2 pi place[0][i] place[1][j]/F */
  int       *place[2];
  void      *weight[2]; /* MAP: what each input of the analysis, synthesis is scaled with */
  BCRFft     fft;
  size_t     scratch; /* complex vectors beyond the lines themselves */
  double     flops;
};
