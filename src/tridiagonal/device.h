/*
  One rank's batch of lines on a CUDA device: what BCRTriLocal is for the host. The same
  description, the same numbers from the same set-up; f and u are device arrays of PetscReal. A
  solve is launched on the stream that is given; it neither allocates, copies to or from the host,
  nor waits.
*/
#pragma once

#include "triimpl.h"
#include "../base/device.h"
#include "../backend/cuda/tri.h"

typedef struct _n_BCRTriDevice *BCRTriDevice;
/* options->stream: of set-up */
PETSC_INTERN PetscErrorCode BCRTriDeviceCreate(const BCRTriSpec *spec, const BCRTriOptions *options,
                                               BCRTriDevice *device);
/* u may be f */
PETSC_INTERN PetscErrorCode BCRTriDeviceSolve(BCRTriDevice device, BCRStream stream, const PetscReal *f, PetscReal *u);
/* lines that go on on other ranks; if it can */
PETSC_INTERN PetscBool BCRTriDeviceWaits(BCRTriDevice device);
PETSC_INTERN PetscErrorCode BCRTriDeviceSolveRanks(BCRTriDevice device, const BCRCudaScanRanks *ranks, BCRStream stream,
                                                   const PetscReal *f, PetscReal *u);
/* host arrays, by copies; waits */
PETSC_INTERN PetscErrorCode BCRTriDeviceSolveHost(BCRTriDevice device, const PetscReal *f, PetscReal *u);
PETSC_INTERN PetscErrorCode BCRTriDeviceGetInfo(BCRTriDevice device, BCRTriInfo *info);
PETSC_INTERN PetscErrorCode BCRTriDeviceDestroy(BCRTriDevice *device);
