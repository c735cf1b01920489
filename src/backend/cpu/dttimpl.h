/* Tables of the batched trigonometric transforms; dtt.c fills them, dtt_kernels.h reads them. */
#pragma once

#include "dtt.h"

#define BCR_FFT_LEVELS  32 /* a size is below 2^31 */
#define BCR_FFT_DIRECT  31 /* largest prime whose butterfly is a plain (p-1)/2 x (p-1)/2 product */
#define BCR_FFT_SCRATCH 8  /* spare vectors between pieces of the scratch */

/*
  Complex FFT of length n, exp(-2 pi i jk/n), out of place, decimation in time: level l splits
  size[l] into radix[l] interleaved transforms of size[l+1], the last level reads the input with a
  stride. Depth first, so that all small pieces stay in cache.
*/
typedef struct _n_BCRFft *BCRFft;
typedef struct {
  int radix, m; /* size = radix * m; last level: m = 1 */
  void *tw;     /* for k = 0..m-1, j = 1..radix-1: cos, -sin of 2 pi jk/size */
  void *root;   /* direct odd primes: cos, sin of 2 pi q/radix, q = 0..radix-1 */
  BCRFft conv;  /* primes by Rader's convolution: the FFT of length radix - 1 */
  int *perm;    /* Rader: powers of the generator, g^0..g^(radix-2), then of its inverse */
  void *kernel; /* Rader: FFT of the kernel / (radix - 1) */
} BCRFftLevel;

struct _n_BCRFft {
  int n, nlevels;
  BCRFftLevel level[BCR_FFT_LEVELS];
  size_t scratch; /* complex vectors */
  double flops;   /* of one transform */
};

/*
  DFT of a sequence of odd length n = radix m that is odd (or even), from and to the indices
  0..(n-1)/2. Of the radix interleaved sequences the first has the same symmetry, and the others
  mirror each other: half of them is enough, and half of the columns. Prime length: a plain product,
  or Rader's convolution, of length (n-1)/2 for the powers of the generator up to g^((n-1)/2) = -1:
  cyclic for sums of cosines, negacyclic for sums of sines, the latter made cyclic by a twist.

  Or n = a b without a common factor, where that is cheaper: with p = b p1 + a p2 and k by its
  remainders k1 mod a, k2 mod b, pk/n = p1 k1/a + p2 k2/b are two dimensions without twiddle
  factors. Either is folded, so that products with four matrices of cosines and sines are left
  (BCRSymMatrix).
*/
/* of a matrix that a product takes at a time: [rows in fives][column][row of the five], the last
   ones padded with zeros */
#define BCR_SYM_ROWS 5
/* such products do so many times as many operations in the same time as the transforms in their
   place (an EPYC: 1.9 to 2.3) */
#define BCR_SYM_FASTER 2.0
typedef struct _n_BCRSym *BCRSym;

/*
  cos 2 pi ij/p, i, j = 0..h, or sin, i, j = 1..h = (p-1)/2. If p is prime the indices 1..h are, but
  for signs, powers of a generator, and the matrix is f(i + j) with a period of h in cosines, -h in
  sines. In w = 2 or 3 parts of m = h/w indices with M_r = f(i + j + r m), (-1)^r for sines where w
  = 3, and r taken modulo w,

    y_c = sum_a M_{a+c} x_a:    w = 2: y_0 +- y_1 = (M_0 +- M_1) (x_0 +- x_1)
                                w = 3: y_c = P + R_c, P = M (x_0 + x_1 + x_2), 3 M = M_0 + M_1 +
                                M_2, R_0 + R_1 + R_2 = 0,
                                       R_0 = (M_0 - M) (x_0 - x_2) + (M_1 - M) (x_1 - x_2), R_1 =
                                       (M_1 - M) (x_0 - x_2) + (M_2 - M) (x_1 - x_2)
*/
typedef struct {
  int h, zero, ways; /* zero: 1 for cosines, which have an index 0 */
  void *sum, *rest;  /* for the sum of the parts, with index 0; for their differences, NULL where ways = 1 */
} BCRSymMatrix;

struct _n_BCRSym {
  int n, radix, m;
  int a, b; /* two dimensions; a = 0: not */
  /* then: places of (p1, p2) and (p1, -p2), of (k1, k2) and (k1, -k2), two for each sign: place, or
     -1 - place with a minus */
  int *from, *to;
  BCRSymMatrix ca, sa, cb, sb; /* then: 2 in all columns of ca but the first, and in sa */
  BCRFft fft;                  /* length m; primes: the convolution's */
  BCRSym sub;                  /* length m */
  void *tw;                    /* for k = 0..(m-1)/2, j = 1..(radix-1)/2: cos, -sin of 2 pi jk/n */
  void *root;                  /* butterflies and direct primes: cos, sin of 2 pi q/radix */
  BCRFft big;                  /* a radix that is too large for a plain butterfly */
  int *perm;                   /* convolution: g^a, g^-a mod n folded to 1..(n-1)/2 */
  /* convolution: factors of the inputs, FFT of the kernel, factors of the outputs; all complex */
  void *in, *kernel, *out;
  size_t scratch;
  double flops;
};

typedef enum {
  BCR_DTT_SCALE, /* one row */
  BCR_DTT_ONE,   /* node-centred ends: type I, halved while even, see BCRDttSplit */
  BCR_DTT_TWO,   /* types II and III of even length, see BCRDttSplit */
  BCR_DTT_FOUR,  /* type IV of even length n: a complex FFT of length n/2 between two twists */
  /* odd period N = 2n + 1, 2n - 1: two lines as real and imaginary part of a symmetric sequence of length N */
  BCR_DTT_SYM,
  /* periodic of even length n: a complex FFT of length n/2 of the even and odd elements as real and imaginary part; of
     length 64, 128 or 256 in two steps, see dttreal_kernels.h */
  BCR_DTT_REAL,
  /* two lines as real and imaginary part of a sequence of length n: periodic and types II to IV of odd length */
  BCR_DTT_PAIR
} BCRDttKind;

/*
  Type III of even length M = 2H (J. Makhoul, IEEE Trans. ASSP 28, 1980: a real FFT of the reordered sequence, here by a
  complex one of length H). tw: for k = 1..(H-1)/2 half of cos, sin of pi k/(2M) and of 5 pi k/(2M).
  In type I of length L = 2M the odd outputs are one of type III of length M, the even ones type I of length M again.
*/
typedef struct {
  int M;
  void *tw;
  BCRFft fft;
} BCRDttSplit;

/*
  PAIR: z_k = in_k x[perm_k], Z its DFT, C_k = Z_k + Z_{-k}, S_k = i (Z_k - Z_{-k}) (sums of cosines and sines), and
  for k = 1..(n-1)/2 two outputs each: y[pos_2k] = rot_4k C_k + rot_{4k+1} S_k, y[pos_{2k+1}] =
  rot_{4k+2} C_k + rot_{4k+3} S_k; one for k = 0, n/2. The other direction is the transpose of these
  steps, as the DFT is symmetric. SYM: phi_j(i) = sgn_i sgn_j trig(2 pi a_i b_j/N), 0 <= a_i, b_j <=
  (N-1)/2.
*/
struct _n_BCRDtt {
  int n;
  PetscBool single;
  BCRDttKind kind;
  double *lambda, *norm;
  size_t bytes;
  int lines;        /* groups of VL lines at a time: 1 or 2 */
  int odd;          /* sums of sines; SYM: of the reduced form */
  int half[2];      /* the analysis halves the first, last input */
  int flip;         /* TWO, PAIR: the analysis is type III, the transpose */
  int nsplit, base; /* ONE: base is the length that is left; REAL: 64, 128, 256, or 0: by the FFT */
  BCRDttSplit split[BCR_FFT_LEVELS];
  int *perm, *pos; /* PAIR; SYM: a_i, b_j */
  /* PAIR; SYM: sgn_i, sgn_j; FOUR: in holds the twists; REAL: half of cos, sin of 2 pi k/n, or cos and sin of
     2 pi rk/n; SCALE: phi_0(0) */
  void *in, *rot;
  /* ONE: base 64, 128 or 256 in two steps, cos and sin of 2 pi rk/(2 base), see dttsine_kernels.h */
  void *sine;
  BCRFft fft;
  BCRSym sym;
  size_t scratch; /* complex vectors beyond the lines themselves */
  double flops;
};
