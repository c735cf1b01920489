/* The peer of bench/cuda_ranks.c: Poisson by sine transforms of cuFFT (odd extension), on several
   ranks with two transposes. cuda_ranks_kernels.cu */
#pragma once

#include <stddef.h>

#if defined(__cplusplus)
extern "C" {
#endif

typedef struct _n_PeerFft *PeerFft;

/* n x N unknowns, all ends Dirichlet, coupling 1; rows first[q] .. first[q+1] - 1 and, transposed,
   columns column[q] .. column[q+1] - 1 on rank q. 0, an error of CUDA or cuFFT, or -1: no cuFFT
   here */
int PeerFftCreate(int n, int N, int size, int rank, const int first[], const int column[], void *stream, PeerFft *peer);
/* a solve is these three with the exchanges 0 and 1 between them: from rank q the elements [0,
   1][rank][q], and so on */
int PeerFftBegin(PeerFft peer, const double *f);
int PeerFftMiddle(PeerFft peer);
int PeerFftEnd(PeerFft peer, double *u);
/* exchange 0 or 1: what goes to and comes from rank q */
void PeerFftMessage(PeerFft peer, int exchange, int q, double **send, size_t *nsend, double **recv, size_t *nrecv);
void PeerFftDestroy(PeerFft *peer);

#if defined(__cplusplus)
}
#endif
