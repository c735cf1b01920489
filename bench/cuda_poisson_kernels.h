/*
  Poisson on a box by cuFFT, as a peer: what one would write today without this library. Transforms of planes and lines
  along z, or transforms along all axes and a division. Both precisions; arrays are packed.
*/
#pragma once

#if defined(__cplusplus)
extern "C" {
#endif

typedef struct _n_Peer *Peer;

enum {
  PEER_LINES,    /* lines along z, between transforms of planes */
  PEER_DIVISION, /* transforms along all axes, a division */
  PEER_FORMS
};

/* ends: a letter for each axis, as in cuda_poisson: all d, all n, or p or c both along x and y, and any along z, where a
   division wants p or, with c, all c. 0; -1: no cuFFT here; 1: no such form for these ends; 2: no room; 3: cuFFT makes
   no plan */
int PeerCreate(int dim, const int n[3], const char ends[], int single, int form, Peer *peer);
/* a right-hand side that has no solution loses its mean, and the solution is one of many */
int PeerSolve(Peer peer, void *stream, const void *f, void *u);
void PeerDestroy(Peer *peer);

#if defined(__cplusplus)
}
#endif
