/*
  Phases of rows in device memory: turndevice.h.
*/
#include "turndevice.h"

#if defined(PETSCBCR_HAVE_CUDA)
  #include "../base/device.h"
  #include "../backend/cuda/fields.h"

struct _n_BCRTurnDevice {
  BCRDeviceArena arena;
  PetscInt n;
  void *turn; /* [n] complex numbers */
};

PetscErrorCode BCRTurnDeviceCreate(PetscInt n, const PetscScalar turn[], void *stream, BCRTurnDevice *device)
{
  const size_t bytes = (size_t)PetscMax(n, 1) * sizeof(PetscScalar);
  BCRTurnDevice t;

  PetscFunctionBegin;
  PetscCall(PetscNew(device));
  t = *device;
  t->n = n;
  PetscCall(BCRDeviceArenaGet(&t->arena, bytes, "phases of rows", &t->turn));
  if (n) PetscCallBCRCuda(BCRCudaPut(t->turn, turn, bytes, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTurnDeviceApply(BCRTurnDevice t, void *stream, const PetscScalar f[], PetscScalar u[])
{
  PetscFunctionBegin;
  if (t->n) PetscCallBCRCuda(BCRCudaTurn(stream, (long)t->n, sizeof(PetscReal) == sizeof(float), t->turn, f, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTurnDeviceDestroy(BCRTurnDevice *t)
{
  PetscFunctionBegin;
  if (!*t) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRDeviceArenaFree(&(*t)->arena));
  PetscCall(PetscFree(*t));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
