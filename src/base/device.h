/*
  CUDA devices under PETSc's errors: calls that are checked, allocations that die together.
*/
#pragma once

#include "petscbcrimpl.h"
#include "cuda.h"

/* of a call of the backend */
#define PetscCallBCRCuda(...) \
  do { \
    const int cuda_error_ = (__VA_ARGS__); \
    PetscCheck(!cuda_error_, PETSC_COMM_SELF, PETSC_ERR_GPU, \
               "CUDA error %d: %s. If the device is out of order run again, else work on the host " \
               "(-pc_bcrpoisson_backend cpu, -pc_neato_backend cpu)", \
               cuda_error_, BCRCudaErrorString(cuda_error_)); \
  } while (0)

/* Device allocations that die together */
typedef struct {
  void **chunk;
  int n, max;
  size_t bytes;
} BCRDeviceArena;
PETSC_INTERN PetscErrorCode BCRDeviceArenaGet(BCRDeviceArena *arena, size_t bytes, const char what[], void *p);
/* n numbers of v, NULL: none; as doubles, or as floats where single is set */
PETSC_INTERN PetscErrorCode BCRDeviceArenaPut(BCRDeviceArena *arena, BCRStream stream, PetscBool single, PetscInt n,
                                              const double v[], const void *p);
PETSC_INTERN PetscErrorCode BCRDeviceArenaFree(BCRDeviceArena *arena);

/* Is there a device to run on? *why: what CUDA says if not */
PETSC_INTERN PetscBool BCRDeviceAvailable(const char **why);
