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

/* lineranks.cu: the ends of a rank's rows. Tables are of the fields' type: element j of line l at j, or
   with perline at l % across + across (j + length (l / across)), across = inner/rep */
typedef struct {
  ptrdiff_t inner, n, outer;
  int rep, perline, single;
  ptrdiff_t nfirst, nlast;    /* rows next to each end that the responses reach */
  const void *wfirst, *wlast; /* the responses, in rows 1 + j and n - 1 - nlast + j: [nfirst], [nlast] */
  ptrdiff_t mfirst, mlast;    /* rows next to each end that make its right-hand side */
  const void *vfirst, *vlast; /* their weights: [mfirst], [mlast] */
  const double *schur;        /* [set][4] */
} BCRCudaRanks;
/* rankchains.cu: ns systems of n rows side by side, src/tridiagonal/chains.h, with its tables on the device. Row i of
   all systems is at x + row[i] ns nvec, in it value v of system s at s nvec + v */
typedef struct {
  ptrdiff_t n, ns;
  int nvec, border, same;
  const double *lower, *pivotinverse, *upper, *borderrow, *bordercolumn; /* [n][ns], same: [n] */
  const int *row;                                                        /* [n] */
} BCRCudaChains;
/* The row next to each end is another rank's, and one of at most four of the chain: Gather stores it there
   (window.cuh), Correct waits for it, and for the own two, which are stored here; g is not used. The memory of this
   rank, of the one before and of the one after, or NULL, holds two slots [2][4][lines]: numbers from the rank before,
   from the one after, two own */
typedef struct {
  BCRCudaChains chain; /* rows before, own, after */
  ptrdiff_t slot;      /* numbers of a slot */
  double *mine, *before, *after;
  unsigned *turn; /* as in BCRCudaWindow (border.h) */
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
