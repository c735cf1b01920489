/*
  Transforms along an axis: dense.cu, fft.cu, dst*.cu, rowfft.cu. Conventions: cuda.h.
*/
#pragma once

#include "cuda.h"
#include "../../base/ends.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* dense.cu: transforms along an axis (src/backend/cpu/dtt.h has the eigenvectors), any size, as
   products with a matrix that is never stored. phi_j(i) = sin or cos (pi I J / (2 P)), I = 2 i +
   ib, J = ja j + jb; tab[m] = sin(pi m / (2 P)), m < 4 P, in the work type */
typedef struct {
  int n, ib, ja, jb, P, cosine, periodic, half[2]; /* half: weight 1/2 at that end */
  const void *tab;
  const double *twiddle; /* for the passes of BCRCudaFft(): BCRCudaFftTwiddles() */
} BCRCudaModes;
BCR_CUDA_API int BCRCudaDense(BCRStream stream, const BCRCudaModes *modes, int synthesis, int single,
                              const BCRCudaLines *fl, const void *f, const BCRCudaLines *ul, void *u, const void *extra,
                              const int *extraof, ptrdiff_t extrald, ptrdiff_t extrab); /* extra: see BCRCudaFft() */

/* fft.cu: the same by Fourier transforms of length P in shared memory (shared bytes a block may
   have). In place where f and u have the same strides. Analysis: row extraof[a] of extra (its rows
   extrald, those of the next b extrab apart) is added to line (a, b) where it is not negative. */
BCR_CUDA_API int BCRCudaFftPossible(int P, int single, int shared);
/* how many complex numbers, and these, as pairs of doubles, if w is given */
BCR_CUDA_API int BCRCudaFftTwiddles(int P, double *w);
BCR_CUDA_API int BCRCudaFft(BCRStream stream, const BCRCudaModes *modes, int synthesis, int single, int shared,
                            const BCRCudaLines *fl, const void *f, const BCRCudaLines *ul, void *u, const void *extra,
                            const int *extraof, ptrdiff_t extrald, ptrdiff_t extrab);

/* dst.cu: sine transforms of contiguous rows between two Dirichlet ends, N - 1 unknowns each, for
   some N (even: cosine transforms between two node-centred Neumann ends, N + 1 unknowns; first and
   last unknown or mode are halved by either direction, the modes' norms must make up for that).
   Forward the modes come in an order of their own and twice too large: N of them (N + 1), position
   i has the mode modes[i] or, where that is -1, nothing; what lies there must be 0 on the way back,
   which doubles once more. Returned are counts: of positions, of complex numbers in the table (w,
   pairs of doubles; on the device in the work type) */
BCR_CUDA_API int BCRCudaDstPossible(int N, int single, int shared);
BCR_CUDA_API int BCRCudaDstOrder(int N, int even, int single, int modes[]);
BCR_CUDA_API int BCRCudaDstSigns(int N, int single, int signs[]); /* -1: there is minus the mode (not of cosines) */
BCR_CUDA_API int BCRCudaDstTable(int N, int single, double *w);
BCR_CUDA_API int BCRCudaDst(BCRStream stream, int N, int even, int back, int single, const void *table, int sms,
                            const BCRCudaLines *fl, const void *f, const BCRCudaLines *ul, void *u, const void *extra,
                            const int *extraof, ptrdiff_t extrald, ptrdiff_t extrab,
                            int more); /* more: so many rows of one more plane */

/* dstchirp.cu: the same for other lengths P, by convolutions */
BCR_CUDA_API int BCRCudaDstChirpPossible(int P, int even, int single, int shared);
BCR_CUDA_API int BCRCudaDstChirpOrder(int P, int even, int modes[]);
BCR_CUDA_API int BCRCudaDstChirpTable(int P, int even, int single, double *w);
BCR_CUDA_API int BCRCudaDstChirp(BCRStream stream, int P, int even, int back, int single, const void *table, int sms,
                                 const BCRCudaLines *fl, const void *f, const BCRCudaLines *ul, void *u,
                                 const void *extra, const int *extraof, ptrdiff_t extrald, ptrdiff_t extrab, int more);

/* dstconvolve.cu: the same for n unknowns between ends BCR_END_..., by two or three convolutions each: periodic,
   two cell-centred ends of a kind, one Dirichlet and one node-centred Neumann end; and what is too
   long for the others between two of a kind of these (n odd), not in place. Places have n modes
   (modes: n of them, then their signs), the constant first */
BCR_CUDA_API int BCRCudaDstConvolvePossible(int n, const BCREnd end[2], int single, int shared);
BCR_CUDA_API int BCRCudaDstConvolveTable(int n, const BCREnd end[2], int single, double *w, int *modes);
BCR_CUDA_API int BCRCudaDstConvolve(BCRStream stream, int n, const BCREnd end[2], int back, int single,
                                    const void *table, int sms, const BCRCudaLines *fl, const void *f,
                                    const BCRCudaLines *ul, void *u, const void *extra, const int *extraof,
                                    ptrdiff_t extrald, ptrdiff_t extrab, int more);

/* dstprime.cu: the same for lengths with a prime factor of its own, n modes: passes in shared
   memory, whose tables are w (complex numbers, in the work type) and index. Plan fills w, index and
   modes (n of them, then their signs) if they are given; 0: there is none */
#define BCR_CUDA_DST_PASSES 10
typedef struct {
  int R, s, n, each, w;         /* radix, distance of what it takes (s times `each`); where its factors are, or -1 */
  unsigned pers, pern, pereach; /* pass_reciprocal() of s, n, each */
} BCRCudaDstPass;
typedef struct {
  /* passes over Q, then over h; complex numbers that come and go */
  int P, Q, h, nq, nh, count, alone, pairs, big;
  int threads, shared;
  int even, odd, twist;                                   /* in w; twist: -1 for odd h */
  int in, backin, backout, out, mirror, kind, zero, pair; /* in index */
  int nw, ni;
  unsigned perh, permiddle;
  BCRCudaDstPass pass[BCR_CUDA_DST_PASSES];
  const void *w; /* on the device, to be set */
  const int *index;
} BCRCudaDstPrime;
/* the kernel after transforms of that many rows may begin early: common.cuh */
BCR_CUDA_API int BCRCudaDstPrimeEarly(const BCRCudaDstPrime *plan, int rows, int sms);
BCR_CUDA_API int BCRCudaDstPrimePlan(int P, int single, int shared, BCRCudaDstPrime *plan, double *w, int *index,
                                     int *modes);
BCR_CUDA_API int BCRCudaDstPrimeApply(BCRStream stream, const BCRCudaDstPrime *plan, int back, int single, int sms,
                                      const BCRCudaLines *fl, const void *f, const BCRCudaLines *ul, void *u,
                                      const void *extra, const int *extraof, ptrdiff_t extrald, ptrdiff_t extrab,
                                      int more);

/* rowfft.cu: the same for rows that are periodic, or between two cell-centred ends of the same kind,
   where n has small factors only.
   The constant mode, if there is one, comes first */
typedef struct {
  int n, np, pad, threads, shared;
  int half;        /* in w: half roots, or -1 */
  int in, partner; /* in index */
  int nw, ni;
  BCRCudaDstPass pass[BCR_CUDA_DST_PASSES];
  const void *w;
  const int *index;
} BCRCudaRowFft;
BCR_CUDA_API int BCRCudaRowFftPlan(int n, BCREnd end, int across, int single, int shared, BCRCudaRowFft *plan,
                                   double *w, int *index, int *modes);
BCR_CUDA_API int BCRCudaRowFftApply(BCRStream stream, const BCRCudaRowFft *plan, int back, int single, int sms,
                                    const BCRCudaLines *fl, const void *f, const BCRCudaLines *ul, void *u,
                                    const void *extra, const int *extraof, ptrdiff_t extrald, ptrdiff_t extrab,
                                    int more);
/* plan with `across`: lines of elements fl->s apart, fl->na contiguous columns of each plane; in
   place where f and u have the same strides */
BCR_CUDA_API int BCRCudaRowFftAcross(BCRStream stream, const BCRCudaRowFft *plan, int back, int single,
                                     const BCRCudaLines *fl, const void *f, const BCRCudaLines *ul, void *u);

/* chirpacross.cu: the same across contiguous columns, for any n up to 512 of periodic axes and between two cell-centred ends
   of a kind, 511 between Dirichlet ones */
typedef struct {
  int n, P, M, kind, odd;         /* transform; convolution; odd: mirrored with the other sign */
  int spectrum, chirp, extra, nw; /* in w; extra: half roots, or sines */
  const void *w;
} BCRCudaChirpAcross;
BCR_CUDA_API int BCRCudaChirpAcrossPlan(int n, BCREnd end, int single, int shared, BCRCudaChirpAcross *plan, double *w,
                                        int *modes);
BCR_CUDA_API int BCRCudaChirpAcrossApply(BCRStream stream, const BCRCudaChirpAcross *plan, int back, int single,
                                         const BCRCudaLines *fl, const void *f, const BCRCudaLines *ul, void *u);

#if defined(__cplusplus)
}
#endif
