#include "stream.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "device.h"
#endif
#include <petscdevice.h>
#include <petsc/private/petscimpl.h> /* use_gpu_aware_mpi */

PetscErrorCode BCRGetStream(void **stream)
{
  PetscFunctionBegin;
  *stream = NULL;
#if defined(PETSCBCR_HAVE_CUDA)
  {
    PetscDeviceContext context;
    PetscDeviceType type;
    void *handle = NULL;

    PetscCall(PetscDeviceContextGetCurrentContext(&context));
    PetscCall(PetscDeviceContextGetDeviceType(context, &type));
    if (type == PETSC_DEVICE_CUDA) {
      PetscCall(PetscDeviceContextGetStreamHandle(context, &handle));
      if (handle) *stream = *(void **)handle;
    }
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRStartDevice(void **stream)
{
  PetscFunctionBegin;
#if defined(PETSCBCR_HAVE_CUDA)
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
#endif
  PetscCall(BCRGetStream(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFetch(void *stream, size_t bytes, const void *there, void *here)
{
  PetscFunctionBegin;
#if defined(PETSCBCR_HAVE_CUDA)
  PetscCallBCRCuda(BCRCudaGet(here, there, bytes, stream));
#else
  (void)stream;
  PetscCall(PetscMemcpy(here, there, bytes));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool BCRGpuAwareMPI(void)
{
#if defined(PETSCBCR_HAVE_CUDA)
  return use_gpu_aware_mpi;
#else
  return PETSC_FALSE;
#endif
}

PetscErrorCode BCRTypesOnDevice(VecType a, VecType b, PetscBool *device)
{
  PetscFunctionBegin;
  *device = PETSC_FALSE;
  for (int i = 0; i < 2; ++i) {
    char *at = NULL;

    if (i ? b != NULL : a != NULL) PetscCall(PetscStrstr(i ? b : a, "cuda", &at));
    if (at) *device = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSCBCR_HAVE_CUDA)
BCRVecPlace BCRMemPlace(PetscMemType f, PetscMemType u)
{
  if (PetscMemTypeCUDA(f) && PetscMemTypeCUDA(u)) return BCR_VECS_DEVICE;
  return PetscMemTypeHost(f) && PetscMemTypeHost(u) ? BCR_VECS_HOST : BCR_VECS_MIXED;
}

PetscErrorCode BCRVecsGetArrays(Vec x, Vec y, const PetscScalar **f, PetscScalar **u, BCRVecPlace *place)
{
  PetscMemType mf, mu;

  PetscFunctionBegin;
  if (x == y) {
    PetscCall(VecGetArrayAndMemType(y, u, &mu));
    *f = *u;
    mf = mu;
  } else {
    PetscCall(VecGetArrayReadAndMemType(x, f, &mf));
    PetscCall(VecGetArrayWriteAndMemType(y, u, &mu));
  }
  *place = BCRMemPlace(mf, mu);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRVecsRestoreArrays(Vec x, Vec y, const PetscScalar **f, PetscScalar **u)
{
  PetscFunctionBegin;
  if (x == y) PetscCall(VecRestoreArrayAndMemType(y, u));
  else {
    PetscCall(VecRestoreArrayWriteAndMemType(y, u));
    PetscCall(VecRestoreArrayReadAndMemType(x, f));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
