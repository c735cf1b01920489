/*
  The numerical core on a CUDA device: what core.h is for the host. f and u are device arrays of the work type (options->precision).
  Everything is launched on the stream that is given; a solve neither allocates, copies to or from the host, nor waits.
*/
#pragma once

#include "core.h"
#include "../backend/cuda/cuda.h"

/* of a call of the backend */
#define PetscCallBCRCuda(...) \
  do { \
    const int cuda_error_ = (__VA_ARGS__); \
    PetscCheck(!cuda_error_, PETSC_COMM_SELF, PETSC_ERR_GPU, "CUDA error %d: %s. If the device is out of order run again, else use -pc_bcrpoisson_backend cpu", cuda_error_, BCRCudaErrorString(cuda_error_)); \
  } while (0)

/* Device allocations that die together */
typedef struct {
  void **chunk;
  int    n, max;
  size_t bytes;
} BCRDeviceArena;
PETSC_INTERN PetscErrorCode BCRDeviceArenaGet(BCRDeviceArena *arena, size_t bytes, const char what[], void *p);
/* n numbers of v, NULL: none; as doubles, or as floats where single is set */
PETSC_INTERN PetscErrorCode BCRDeviceArenaPut(BCRDeviceArena *arena, BCRStream stream, PetscBool single, PetscInt n, const double v[], const void *p);
PETSC_INTERN PetscErrorCode BCRDeviceArenaFree(BCRDeviceArena *arena);

typedef struct _n_BCRDeviceCore *BCRDeviceCore;

PETSC_INTERN PetscErrorCode BCRDeviceCoreCreate(PetscInt dim, const BCRAxis axis[], PetscReal shift, PetscBool singular, const PetscInt stride[], const BCRCoreOptions *options, BCRStream stream, BCRDeviceCore *core);
/* tables and workspace, after creation and after a new shift or factor; else the next solve does it */
PETSC_INTERN PetscErrorCode BCRDeviceCoreSetUp(BCRDeviceCore core);
PETSC_INTERN PetscErrorCode BCRDeviceCoreSolve(BCRDeviceCore core, BCRStream stream, const void *f, void *u);
/* the mean that the last solve removed, a number on the device; NULL where the operator is not singular */
PETSC_INTERN PetscErrorCode BCRDeviceCoreGetRemoved(BCRDeviceCore core, const double **removed);
PETSC_INTERN PetscErrorCode BCRDeviceCoreSetShift(BCRDeviceCore core, PetscReal shift);
PETSC_INTERN PetscErrorCode BCRDeviceCoreSetFactor(BCRDeviceCore core, PetscReal factor);
PETSC_INTERN PetscErrorCode BCRDeviceCoreDestroy(BCRDeviceCore *core);
PETSC_INTERN PetscErrorCode BCRDeviceCoreGetInfo(BCRDeviceCore core, BCRCoreInfo *info);

PETSC_INTERN int BCRDeviceEnd(BCREnd end); /* BCR_CUDA_... */

/* Is there a device to run on? *why: what CUDA says if not */
PETSC_INTERN PetscBool BCRDeviceAvailable(const char **why);
