/*
  The reduced system over ranks on CUDA devices: the tables and the messages of a BCRReduced, with
  right-hand sides in the memory of the devices, and a BCRTransport in the place of MPI.
*/
#pragma once

#include "reduced.h"
#include "../base/device.h"
#include "../transport/transport.h"
#include "../backend/cuda/lineranks.h"

typedef struct _n_BCRDeviceReduced *BCRDeviceReduced;
/* reduced without BCR_REDUCED_ flags, with the vectors of the solves; transport: of the same ranks.
   Both are used as long as this lives */
PETSC_INTERN PetscErrorCode BCRDeviceReducedCreate(BCRReduced reduced, BCRTransport transport, BCRStream stream,
                                                   BCRDeviceReduced *device);
/* where right-hand sides are put, and solutions found: g of BCRReducedSolveBegin() */
PETSC_INTERN PetscErrorCode BCRDeviceReducedGetArray(BCRDeviceReduced device, double **g);
/* simple: each end has the rows of a neighbour (take) if any, that rank (peer, or -1) gets the
   nearer one or both of here (give), and all systems are chains of these rows, four at most */
PETSC_INTERN PetscErrorCode BCRDeviceReducedNear(BCRDeviceReduced device, PetscBool *simple, BCRCudaChains *chains,
                                                 PetscMPIInt *rank, PetscMPIInt peer[2], PetscInt take[2],
                                                 PetscInt give[2]);
/* collective, before solves */
PETSC_INTERN PetscErrorCode BCRDeviceReducedOpen(BCRDeviceReduced device);
PETSC_INTERN PetscErrorCode BCRDeviceReducedSolve(BCRDeviceReduced device, BCRStream stream); /* collective */
PETSC_INTERN PetscErrorCode BCRDeviceReducedGetInfo(BCRDeviceReduced device, size_t *tables, size_t *workspace);
PETSC_INTERN PetscErrorCode BCRDeviceReducedDestroy(BCRDeviceReduced *device);
