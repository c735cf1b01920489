/*
  Lines across ranks whose rows are on CUDA devices: the method of tridiagonal.c with the tables
  that it makes. Where right-hand sides of the reduced system come from f, the exchange and its
  solution are on a stream of their own while the rank's own rows are solved.
*/
#pragma once

#include "devreduced.h"
#include "device.h"

/* as in _n_BCRTri */
typedef struct {
  PetscInt inner, n, outer, rep, sets, nfirst, nlast, mfirst, mlast;
  const PetscReal *wfirst, *wlast, *vfirst, *vlast;
  const double *schur;
  PetscReal low, up; /* couplings out of the rank, of one set */
  PetscBool early;
} BCRTriRanksTables;

typedef struct _n_BCRTriDeviceRanks *BCRTriDeviceRanks;
/* local: NULL on ranks with fewer than two rows, owned by the caller, as are reduced and transport;
   all three are used as long as this lives. The tables are copied */
PETSC_INTERN PetscErrorCode BCRTriDeviceRanksCreate(const BCRTriRanksTables *tables, BCRTriDevice local,
                                                    BCRReduced reduced, BCRTransport transport, BCRStream stream,
                                                    BCRTriDeviceRanks *ranks);
/* Collective, once all have one: what is sent goes into other ranks' memory where that can be */
PETSC_INTERN PetscErrorCode BCRTriDeviceRanksOpen(BCRTriDeviceRanks ranks);
/* collective; u may be f */
PETSC_INTERN PetscErrorCode BCRTriDeviceRanksSolve(BCRTriDeviceRanks ranks, BCRStream stream, const PetscReal *f,
                                                   PetscReal *u);
/* host arrays, by copies; waits */
PETSC_INTERN PetscErrorCode BCRTriDeviceRanksSolveHost(BCRTriDeviceRanks ranks, const PetscReal *f, PetscReal *u);
PETSC_INTERN PetscErrorCode BCRTriDeviceRanksGetInfo(BCRTriDeviceRanks ranks, size_t *tables, size_t *workspace);
PETSC_INTERN PetscErrorCode BCRTriDeviceRanksDestroy(BCRTriDeviceRanks *ranks);
