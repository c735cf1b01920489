/*
  First-order recurrences on arrays of a CUDA device: what BCRRecurrenceSolve() and
  BCRRecurrenceReduce() are for the host. Real scalars. The host waits for what it is told.
*/
#pragma once

#include "pscheme.h"

/* Workspace on the device, which the vectors of a communicator share */
typedef struct _n_BCRDeviceRecurrence *BCRDeviceRecurrence;
PETSC_INTERN PetscErrorCode BCRDeviceRecurrenceGet(MPI_Comm comm, BCRDeviceRecurrence *work);
/* r->s, t, w on the device; w may be t or s. end: the last value, or NULL: not asked for, and nothing is waited for */
PETSC_INTERN PetscErrorCode BCRDeviceRecurrenceSolve(BCRDeviceRecurrence work, const BCRRecurrence *r, void *stream,
                                                     const PetscScalar *t, PetscScalar start, PetscScalar *w,
                                                     PetscScalar *end);
PETSC_INTERN PetscErrorCode BCRDeviceRecurrenceReduce(BCRDeviceRecurrence work, const BCRRecurrence *r, void *stream,
                                                      const PetscScalar *t, BCRRecurrenceCarry *carry);
