/*
  Shared by the programs in bench/ that time kernels of one device.
*/
#pragma once

#include "src/poisson/device.h"
#include <stdlib.h>

static inline int BenchDeviceCompare(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

/* Median in milliseconds of reps runs, an event pair each, after warm runs that do not count */
static inline PetscErrorCode BenchDeviceMedian(BCRStream stream, int (*run)(void *), void *context, PetscInt warm, PetscInt reps, double *ms)
{
  double t[101];

  PetscFunctionBeginUser;
  reps = PetscMin(reps, 101);
  for (PetscInt i = 0; i < warm; i++) PetscCallBCRCuda(BCRCudaTime(stream, run, context, 1, &t[0]));
  for (PetscInt i = 0; i < reps; i++) PetscCallBCRCuda(BCRCudaTime(stream, run, context, 1, &t[i]));
  qsort(t, (size_t)reps, sizeof(double), BenchDeviceCompare);
  *ms = 1e3 * t[reps / 2];
  PetscFunctionReturn(PETSC_SUCCESS);
}
