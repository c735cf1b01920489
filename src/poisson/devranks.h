/*
  The box of a core whose block rows are spread over ranks with a CUDA device each (or one for
  several): ranks.h on the device. What goes between ranks goes by a BCRTransport; the reduced
  systems are shared out by modes and solved on the devices.
*/
#pragma once

#include "ranks.h"
#include "device.h"
#include "../transport/transport.h"

typedef struct _n_BCRDeviceRanks *BCRDeviceRanks;

/* As BCRRanksCreate() and BCRDeviceCoreCreate(); comm MPI_COMM_NULL: no ranks, just a core.
   transport: of that comm, used as long as this lives */
PETSC_INTERN PetscErrorCode BCRDeviceRanksCreate(MPI_Comm comm, BCRTransport transport, PetscInt axis, PetscInt first,
                                                 PetscInt m, PetscInt dim, const BCRAxis axes[], PetscReal shift,
                                                 PetscBool singular, const PetscInt stride[],
                                                 const BCRCoreOptions *options, BCRStream stream,
                                                 BCRDeviceRanks *ranks);
PETSC_INTERN PetscErrorCode BCRDeviceRanksSetUp(BCRDeviceRanks ranks);
/* as BCRDeviceCoreReserveInput() and BCRDeviceCoreGetInput(); none on several ranks */
PETSC_INTERN PetscErrorCode BCRDeviceRanksReserveInput(BCRDeviceRanks ranks);
PETSC_INTERN PetscErrorCode BCRDeviceRanksGetInput(BCRDeviceRanks ranks, void **f);
/* Collective; f and u of the work type, u may be f */
PETSC_INTERN PetscErrorCode BCRDeviceRanksSolve(BCRDeviceRanks ranks, BCRStream stream, const void *f, void *u);
/* The same, and how long its stages took on several ranks, each by itself: until the exchange, the
   exchange (with more than a few parts, of both, and the reduced systems between them), the reduced
   systems, the rest. Where the lines or planes between the interfaces solve these systems they are
   the third, with the exchange where they have it in them, too, which then comes once more by
   itself. Waits */
enum {
  BCR_RANK_STAGES = 4
};
PETSC_INTERN PetscErrorCode BCRDeviceRanksStages(BCRDeviceRanks ranks, BCRStream stream, const void *f, void *u,
                                                 double seconds[]);
/* window: what is sent at first goes by a window; kernels: a solve is kernels alone, and may be a graph */
PETSC_INTERN PetscErrorCode BCRDeviceRanksKernels(BCRDeviceRanks ranks, PetscBool *window, PetscBool *kernels);
PETSC_INTERN PetscErrorCode BCRDeviceRanksGetRemoved(BCRDeviceRanks ranks, const double **removed);
PETSC_INTERN PetscErrorCode BCRDeviceRanksSetShift(BCRDeviceRanks ranks, PetscReal shift);
PETSC_INTERN PetscErrorCode BCRDeviceRanksSetFactor(BCRDeviceRanks ranks, PetscReal factor);
PETSC_INTERN PetscErrorCode BCRDeviceRanksGetInfo(BCRDeviceRanks ranks, BCRRanksInfo *info);
PETSC_INTERN PetscErrorCode BCRDeviceRanksGetPlan(BCRDeviceRanks ranks, BCRPlan *plan);
PETSC_INTERN PetscErrorCode BCRDeviceRanksDestroy(BCRDeviceRanks *ranks);
