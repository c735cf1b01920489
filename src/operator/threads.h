/*
  Several threads of a process that has a CUDA device, for work on the host that one core cannot do
  at the speed of memory. What they run calls nothing of PETSc's. They end before BCRThreadsRun()
  does. Without CUDA there is one.
*/
#pragma once

#include "../base/petscbcrimpl.h"
#include <petscmat.h>

enum {
  BCR_THREADS_MOST = 16
};

/* How many for a matrix with so many bytes of values: -bcr_read_threads; else 1, but for large ones
   of a device's type as many as this process has cores to itself, up to 16, and one for every 5 MB
   */
PETSC_INTERN PetscErrorCode BCRThreadsNumber(Mat mat, size_t bytes, PetscInt *n);
/* A number that several threads look at and set */
#if defined(__GNUC__)
  #define BCRThreadsGet(number)        __atomic_load_n(number, __ATOMIC_RELAXED)
  #define BCRThreadsSet(number, value) __atomic_store_n(number, value, __ATOMIC_RELAXED)
#else /* there is one */
  #define BCRThreadsGet(number)        (*(number))
  #define BCRThreadsSet(number, value) (*(number) = (value))
#endif
/* run(ctx[t]) for t < n; those for which there is no thread, one after the other */
PETSC_INTERN void BCRThreadsRun(PetscInt n, void (*run)(void *), void *ctx[]);
