/*
  Lines across ranks (src/tridiagonal/tridiagonal.c has the method): what is done on a device beside
  the solution of a rank's own rows. Plain C interface as in cuda.h. Fields are those of
  src/tridiagonal/tridiagonal.h, of float where single is set, else of double; g: a number for each
  line, row after row.
*/
#pragma once

#include "cuda.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* lineranks.cu: the ends of a rank's rows. Tables of the fields' type: element j of line l at j, or
   with perline at l % across + across (j + length (l / across)), across = inner/rep */
typedef struct {
  ptrdiff_t inner, n, outer;
  int rep, perline, single;
  ptrdiff_t nfirst, nlast;    /* rows next to each end that the responses reach */
  const void *wfirst, *wlast; /* in rows 1 + j and n - 1 - nlast + j */
  ptrdiff_t mfirst, mlast;    /* rows next to each end that make its right-hand side */
  const void *vfirst, *vlast;
  const double *schur; /* entry e of set l at 4 l + e */
} BCRCudaRanks;
/* rankchains.cu: systems side by side, src/tridiagonal/chains.h, with its tables on the device; row
   i at x + row[i] ns nvec, element s nvec + v */
typedef struct {
  ptrdiff_t n, ns;
  int nvec, border, same;
  const double *f, *r, *h, *w, *k;
  const int *row;
} BCRCudaChains;
/* The row next to each end is another rank's, and one of at most four of the chain: Gather stores
   it there (window.cuh), Correct waits for it, and for the own two, which are stored here. Two
   slots of four rows of numbers, from the rank before, from the one after, own, in the memory of
   this rank and of these two, or NULL; g is not used */
typedef struct {
  BCRCudaChains chain; /* rows before, own, after */
  ptrdiff_t slot;
  double *mine, *before, *after;
  unsigned *turn;
} BCRCudaRanksWindow;
/* g of the first and last row from the right-hand sides f; n = 1: g = f. w: or NULL */
BCR_CUDA_API int BCRCudaRanksGather(BCRStream stream, const BCRCudaRanks *p, const void *f, double *g,
                                    const BCRCudaRanksWindow *w);
/* the same from the solution u without couplings out of the rank */
BCR_CUDA_API int BCRCudaRanksEnds(BCRStream stream, const BCRCudaRanks *p, const void *u, double *g);
/* u with the true values g in its first and last row, g is overwritten; n = 1: u = g */
BCR_CUDA_API int BCRCudaRanksCorrect(BCRStream stream, const BCRCudaRanks *p, double *g, void *u,
                                     const BCRCudaRanksWindow *w);
BCR_CUDA_API int BCRCudaRanksWaits(const BCRCudaRanks *p); /* whether Correct can take a window */

BCR_CUDA_API int BCRCudaChainsSolve(BCRStream stream, const BCRCudaChains *c, double *x);
/* Between x, row r of system s at (r nsys + index[s]) nvec (index NULL: s), and y, there at
   (base[s] + r step[s]) nvec (base NULL: s, ns); s < ns */
BCR_CUDA_API int BCRCudaSystemsMove(BCRStream stream, ptrdiff_t rows, ptrdiff_t ns, ptrdiff_t nsys, int nvec,
                                    const int *index, const int *base, const int *step, int back, double *x, double *y);

#if defined(__cplusplus)
}
#endif
