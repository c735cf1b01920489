/*
  First-order recurrences on arrays of a CUDA device: what BCRRecurrenceSolve() and
  BCRRecurrenceReduce() are for the host. Real scalars. The host waits for what it is told.
*/
#pragma once

#include "pscheme.h"
#if defined(PETSCBCR_HAVE_CUDA)
/* r->s, t, w on the device; w may be t or s. end: the last value, or NULL: not asked for, and nothing is waited for */
PETSC_INTERN PetscErrorCode BCRDeviceRecurrenceSolve(const BCRRecurrence *r, void *stream, const PetscScalar *t,
                                                     PetscScalar start, PetscScalar *w, PetscScalar *end);
PETSC_INTERN PetscErrorCode BCRDeviceRecurrenceReduce(const BCRRecurrence *r, void *stream, const PetscScalar *t,
                                                      BCRRecurrenceCarry *carry);
#endif
