/*
  Phases of the rows of complex matrices (turn.h) for vectors in device memory.
*/
#pragma once

#include <petscsys.h>

/* turn[n] of this rank's rows: builds with CUDA */
typedef struct _n_BCRTurnDevice *BCRTurnDevice;
PETSC_INTERN PetscErrorCode BCRTurnDeviceCreate(PetscInt n, const PetscScalar turn[], void *stream,
                                                BCRTurnDevice *device);
/* u_i = turn_i f_i; u may be f */
PETSC_INTERN PetscErrorCode BCRTurnDeviceApply(BCRTurnDevice device, void *stream, const PetscScalar f[],
                                               PetscScalar u[]);
PETSC_INTERN PetscErrorCode BCRTurnDeviceDestroy(BCRTurnDevice *device);
