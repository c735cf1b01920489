#include "devscale.h"

#if defined(PETSCBCR_HAVE_CUDA)
  #include "../base/device.h"

struct _n_BCRDeviceScale {
  double *inverse;
  PetscInt n, users;
};

PetscErrorCode BCRDeviceScaleCreate(PetscInt n, BCRDeviceScale *scale, double **inverse)
{
  PetscFunctionBegin;
  PetscCall(PetscNew(scale));
  if (BCRCudaMalloc((size_t)n * sizeof(double), inverse)) {
    PetscCall(PetscFree(*scale));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  (*scale)->inverse = *inverse;
  (*scale)->n = n;
  (*scale)->users = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceScaleDestroy(BCRDeviceScale *scale)
{
  BCRDeviceScale s = *scale;

  PetscFunctionBegin;
  *scale = NULL;
  if (!s || --s->users) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallBCRCuda(BCRCudaFree(s->inverse));
  PetscCall(PetscFree(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceScaleShare(BCRDeviceScale scale, BCRDeviceScale *other)
{
  PetscFunctionBegin;
  if (scale) scale->users++;
  *other = scale;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceScaleGet(BCRDeviceScale scale, PetscReal inverse[])
{
  double *v = (double *)(void *)inverse;

  PetscFunctionBegin;
  if (sizeof(PetscReal) != sizeof(double)) PetscCall(PetscMalloc1(scale->n, &v));
  PetscCallBCRCuda(BCRCudaGet(v, scale->inverse, (size_t)scale->n * sizeof(double), NULL));
  if (sizeof(PetscReal) != sizeof(double)) {
    for (PetscInt i = 0; i < scale->n; i++) inverse[i] = (PetscReal)v[i];
    PetscCall(PetscFree(v));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

const double *BCRDeviceScaleArray(BCRDeviceScale scale)
{
  return scale->inverse;
}

size_t BCRDeviceScaleBytes(BCRDeviceScale scale)
{
  return scale ? (size_t)scale->n * sizeof(double) : 0;
}
#else
PetscErrorCode BCRDeviceScaleDestroy(BCRDeviceScale *scale)
{
  PetscFunctionBegin;
  *scale = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceScaleShare(BCRDeviceScale scale, BCRDeviceScale *other)
{
  PetscFunctionBegin;
  *other = scale;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceScaleGet(BCRDeviceScale scale, PetscReal inverse[])
{
  (void)scale, (void)inverse;
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_PLIB, "This petscbcr was built without a CUDA backend");
}
#endif
