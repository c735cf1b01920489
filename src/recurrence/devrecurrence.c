#include "devrecurrence.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "../base/device.h"
  #include "../base/shared.h"
  #include "../backend/cuda/recurrence.h"

struct _n_BCRDeviceRecurrence {
  BCRDeviceArena arena;
  void *room; /* bytes of it: workspace of the kernels, and last the carry */
  size_t bytes;
  BCRStream stream; /* of the last call: calls are one after another for the host, on any stream */
};

static PetscErrorCode recurrence_destroy(void *data)
{
  PetscFunctionBegin;
  PetscCall(BCRDeviceArenaFree(&((BCRDeviceRecurrence)data)->arena));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceRecurrenceGet(MPI_Comm comm, BCRDeviceRecurrence *work)
{
  PetscFunctionBegin;
  PetscCall(BCRCommGetShared(comm, sizeof(**work), recurrence_destroy, work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RecurrenceWork(BCRDeviceRecurrence work, const BCRCudaRecurrence *p, BCRStream stream)
{
  const size_t bytes = (BCRCudaRecurrenceWorkspace(p) + 15) / 16 * 16 + 3 * sizeof(double); /* and the carry */

  PetscFunctionBegin;
  if (work->room && work->stream != stream)
    PetscCallBCRCuda(BCRCudaSynchronize(work->stream)); /* may be in use there */
  work->stream = stream;
  if (work->room && bytes <= work->bytes) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallBCRCuda(BCRCudaSynchronize(stream));
  PetscCall(BCRDeviceArenaFree(&work->arena));
  work->room = NULL;
  PetscCall(BCRDeviceArenaGet(&work->arena, bytes, "the parts of a recurrence", &work->room));
  work->bytes = bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void RecurrenceDescribe(const BCRRecurrence *r, BCRCudaRecurrence *p)
{
  p->n = r->n;
  p->single = sizeof(PetscReal) == sizeof(float) ? 1 : 0;
  p->s = r->s;
  p->scale = (double)PetscRealPart(r->scale);
  p->growth = (double)BCR_RECUR_GROWTH;
}

PetscErrorCode BCRDeviceRecurrenceSolve(BCRDeviceRecurrence work, const BCRRecurrence *r, void *stream,
                                        const PetscScalar *t, PetscScalar start, PetscScalar *w, PetscScalar *end)
{
  BCRCudaRecurrence p;

  PetscFunctionBegin;
  if (end) *end = start;
  if (!r->n) PetscFunctionReturn(PETSC_SUCCESS);
  RecurrenceDescribe(r, &p);
  PetscCall(RecurrenceWork(work, &p, stream));
  PetscCallBCRCuda(BCRCudaRecurrenceSolve(stream, &p, t, (double)PetscRealPart(start), w, work->room));
  if (end) PetscCallBCRCuda(BCRCudaGet(end, w + r->n - 1, sizeof(*end), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceRecurrenceReduce(BCRDeviceRecurrence work, const BCRRecurrence *r, void *stream,
                                         const PetscScalar *t, BCRRecurrenceCarry *carry)
{
  BCRCudaRecurrence p;
  double numbers[3], *on;

  PetscFunctionBegin;
  RecurrenceDescribe(r, &p);
  PetscCall(RecurrenceWork(work, &p, stream));
  on = (double *)((char *)work->room + work->bytes - sizeof(numbers));
  PetscCallBCRCuda(BCRCudaRecurrenceReduce(stream, &p, t, on, work->room));
  PetscCallBCRCuda(BCRCudaGet(numbers, on, sizeof(numbers), stream));
  carry->S = (PetscScalar)numbers[0];
  carry->T = (PetscScalar)numbers[1];
  carry->growth = (PetscReal)numbers[2];
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
