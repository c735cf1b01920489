/*
  Shared by the programs in bench/ that time kernels of one device, or of the devices of several ranks.
*/
#pragma once

#include "bench.h"
#include "src/poisson/device.h"

typedef struct {
  int (*run)(void *);
  void *context;
  PetscInt n;
} BenchBatch;

static inline int BenchBatchRun(void *context)
{
  const BenchBatch *b = (const BenchBatch *)context;
  int e = 0;

  for (PetscInt i = 0; i < b->n && !e; i++) e = b->run(b->context);
  return e;
}

/* Median in milliseconds a run of reps batches of runs, an event pair each, after warm ones that do not count */
static inline PetscErrorCode BenchDeviceBatches(BCRStream stream, int (*run)(void *), void *context, PetscInt warm,
                                                PetscInt reps, PetscInt batch, double *ms)
{
  BenchBatch all = {run, context, batch};
  double t[101], least;

  PetscFunctionBeginUser;
  reps = PetscMin(reps, 101);
  for (PetscInt i = 0; i < warm; i++) PetscCallBCRCuda(BCRCudaTime(stream, BenchBatchRun, &all, 1, &t[0]));
  for (PetscInt i = 0; i < reps; i++) PetscCallBCRCuda(BCRCudaTime(stream, BenchBatchRun, &all, 1, &t[i]));
  BenchStatistics(reps, t, ms, &least);
  *ms *= 1e3 / (double)batch;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same of runs one by one */
static inline PetscErrorCode BenchDeviceMedian(BCRStream stream, int (*run)(void *), void *context, PetscInt warm,
                                               PetscInt reps, double *ms)
{
  return BenchDeviceBatches(stream, run, context, warm, reps, 1, ms);
}

/* Median and least of reps batches of runs on the devices of all ranks, in seconds a run of the
   slowest rank; two batches before do not count */
static inline PetscErrorCode BenchRanksMedian(BCRStream stream, PetscErrorCode (*run)(void *), void *context,
                                              PetscInt reps, PetscInt batch, double *median, double *least)
{
  double t[101];

  PetscFunctionBeginUser;
  reps = PetscMin(reps, 101);
  for (PetscInt i = -2; i < reps; i++) {
    double start, time;

    PetscCallBCRCuda(BCRCudaSynchronize(stream));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    start = BenchTime();
    for (PetscInt b = 0; b < batch; b++) PetscCall(run(context));
    PetscCallBCRCuda(BCRCudaSynchronize(stream));
    time = (BenchTime() - start) / (double)batch;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &time, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
    if (i >= 0) t[i] = time;
  }
  BenchStatistics(reps, t, median, least);
  PetscFunctionReturn(PETSC_SUCCESS);
}
