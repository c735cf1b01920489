#include "devrecurrence.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "../base/device.h"
  #include "../backend/cuda/recurrence.h"

static BCRDeviceArena workspace; /* of this process, for calls on any stream: they are one after another for the host */
static void *work;
static size_t room;
static void *last;

static PetscErrorCode RecurrenceFinalize(void)
{
  PetscFunctionBegin;
  PetscCall(BCRDeviceArenaFree(&workspace));
  work = NULL;
  room = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RecurrenceWork(const BCRCudaRecurrence *p, BCRStream stream)
{
  const size_t bytes = (BCRCudaRecurrenceWorkspace(p) + 15) / 16 * 16 + 3 * sizeof(double); /* and the carry */

  PetscFunctionBegin;
  if (work && last != stream) PetscCallBCRCuda(BCRCudaSynchronize(last)); /* it may be in use there */
  last = stream;
  if (work && bytes <= room) PetscFunctionReturn(PETSC_SUCCESS);
  if (!work) PetscCall(PetscRegisterFinalize(RecurrenceFinalize));
  PetscCallBCRCuda(BCRCudaSynchronize(stream));
  PetscCall(BCRDeviceArenaFree(&workspace));
  PetscCall(BCRDeviceArenaGet(&workspace, bytes, "the parts of a recurrence", &work));
  room = bytes;
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

PetscErrorCode BCRDeviceRecurrenceSolve(const BCRRecurrence *r, void *stream, const PetscScalar *t, PetscScalar start,
                                        PetscScalar *w, PetscScalar *end)
{
  BCRCudaRecurrence p;

  PetscFunctionBegin;
  if (end) *end = start;
  if (!r->n) PetscFunctionReturn(PETSC_SUCCESS);
  RecurrenceDescribe(r, &p);
  PetscCall(RecurrenceWork(&p, stream));
  PetscCallBCRCuda(BCRCudaRecurrenceSolve(stream, &p, t, (double)PetscRealPart(start), w, work));
  if (end) PetscCallBCRCuda(BCRCudaGet(end, w + r->n - 1, sizeof(*end), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceRecurrenceReduce(const BCRRecurrence *r, void *stream, const PetscScalar *t,
                                         BCRRecurrenceCarry *carry)
{
  BCRCudaRecurrence p;
  double numbers[3], *on;

  PetscFunctionBegin;
  RecurrenceDescribe(r, &p);
  PetscCall(RecurrenceWork(&p, stream));
  on = (double *)((char *)work + room - sizeof(numbers));
  PetscCallBCRCuda(BCRCudaRecurrenceReduce(stream, &p, t, on, work));
  PetscCallBCRCuda(BCRCudaGet(numbers, on, sizeof(numbers), stream));
  carry->S = (PetscScalar)numbers[0];
  carry->T = (PetscScalar)numbers[1];
  carry->growth = (PetscReal)numbers[2];
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
