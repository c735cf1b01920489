#include "petscbcrimpl.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "device.h"

PetscErrorCode BCRDeviceArenaGet(BCRDeviceArena *arena, size_t bytes, const char what[], void *p)
{
  int error;
  void *q;
  size_t available = 0, total = 0;

  PetscFunctionBegin;
  if (arena->n == arena->max) {
    void **more;

    PetscCall(PetscMalloc1(2 * arena->max + 16, &more));
    PetscCall(PetscArraycpy(more, arena->chunk, arena->n));
    PetscCall(PetscFree(arena->chunk));
    arena->chunk = more;
    arena->max = 2 * arena->max + 16;
  }
  error = BCRCudaMalloc(bytes, &q);
  if (error) {
    (void)BCRCudaMemory(&available, &total);
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM,
            "The CUDA device has no room for %s of %zu bytes (%zu of %zu bytes are free; CUDA says: %s): use a smaller "
            "grid, -pc_bcrpoisson_precision single, or -pc_bcrpoisson_backend cpu",
            what, bytes, available, total, BCRCudaErrorString(error));
  }
  arena->chunk[arena->n++] = q;
  arena->bytes += bytes;
  *(void **)p = q;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceArenaPut(BCRDeviceArena *arena, BCRStream stream, PetscBool single, PetscInt n,
                                 const double v[], const void *p)
{
  void *q;

  PetscFunctionBegin;
  *(void **)p = NULL;
  if (!v) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRDeviceArenaGet(arena, (size_t)n * (single ? sizeof(float) : sizeof(double)), "tables", &q));
  if (single) {
    float *w;

    PetscCall(PetscMalloc1(n, &w));
    for (PetscInt i = 0; i < n; i++) w[i] = (float)v[i];
    PetscCallBCRCuda(BCRCudaPut(q, w, (size_t)n * sizeof(float), stream));
    PetscCall(PetscFree(w));
  } else PetscCallBCRCuda(BCRCudaPut(q, v, (size_t)n * sizeof(double), stream));
  *(void **)p = q;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceArenaFree(BCRDeviceArena *arena)
{
  PetscFunctionBegin;
  for (int i = 0; i < arena->n; i++) PetscCallBCRCuda(BCRCudaFree(arena->chunk[i]));
  PetscCall(PetscFree(arena->chunk));
  arena->n = arena->max = 0;
  arena->bytes = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool BCRDeviceAvailable(const char **why)
{
  int n = 0, error = BCRCudaDevices(&n);

  if (why) *why = error ? BCRCudaErrorString(error) : (n < 1 ? "no CUDA device" : NULL);
  return !error && n > 0 ? PETSC_TRUE : PETSC_FALSE;
}
#endif
