/*
  Inverses of row scales in device memory (operator.h), shared by the operators that refer to them.
*/
#pragma once

#include "operator.h"

/* Nothing is done with NULL */
PETSC_INTERN PetscErrorCode BCRDeviceScaleDestroy(BCRDeviceScale *scale);
PETSC_INTERN PetscErrorCode BCRDeviceScaleShare(BCRDeviceScale scale, BCRDeviceScale *other);
PETSC_INTERN PetscErrorCode BCRDeviceScaleGet(BCRDeviceScale scale, PetscReal inverse[]); /* to the host */
#if defined(PETSCBCR_HAVE_CUDA)
/* Room for n numbers; *scale == NULL on return: the device has none */
PETSC_INTERN PetscErrorCode BCRDeviceScaleCreate(PetscInt n, BCRDeviceScale *scale, double **inverse);
PETSC_INTERN const double *BCRDeviceScaleArray(BCRDeviceScale scale);
PETSC_INTERN size_t BCRDeviceScaleBytes(BCRDeviceScale scale);
#endif
