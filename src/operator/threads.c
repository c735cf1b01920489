#define _GNU_SOURCE /* sched_getaffinity() */
#include "threads.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include <petsc/private/matimpl.h>
  #include <pthread.h>
  #include <sched.h>

PetscErrorCode BCRThreadsNumber(Mat mat, size_t bytes, PetscInt *n)
{
  PetscBool set, cusparse;

  PetscFunctionBegin;
  *n = 1;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-bcr_read_threads", n, &set));
  if (set) {
    PetscCheck(*n >= 1, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "-bcr_read_threads %" PetscInt_FMT ": give a number from 1 on", *n);
    *n = PetscMin(*n, BCR_THREADS_MOST);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscObjectTypeCompare((PetscObject)mat, MATSEQAIJCUSPARSE, &cusparse));
  #if defined(__linux__)
  if (cusparse && !mat->boundtocpu && bytes > 10000000) {
    PetscMPIInt size;
    cpu_set_t cores;

    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size)); /* as if all were on this machine */
    if (!sched_getaffinity(0, sizeof(cores), &cores))
      *n = PetscMax(1, PetscMin(CPU_COUNT(&cores) / size, (PetscMPIInt)PetscMin(bytes / 5000000, BCR_THREADS_MOST)));
  }
  #endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  void (*run)(void *);
  void *ctx;
} Work;

static void *Begin(void *work)
{
  ((Work *)work)->run(((Work *)work)->ctx);
  return NULL;
}

void BCRThreadsRun(PetscInt n, void (*run)(void *), void *ctx[])
{
  Work work[BCR_THREADS_MOST];
  pthread_t thread[BCR_THREADS_MOST];
  int there[BCR_THREADS_MOST] = {0};

  for (PetscInt t = 1; t < n && t < BCR_THREADS_MOST; t++) {
    work[t].run = run;
    work[t].ctx = ctx[t];
    there[t] = !pthread_create(&thread[t], NULL, Begin, &work[t]);
  }
  run(ctx[0]);
  for (PetscInt t = 1; t < n; t++) {
    if (t < BCR_THREADS_MOST && there[t]) (void)pthread_join(thread[t], NULL);
    else run(ctx[t]);
  }
}

#else

PetscErrorCode BCRThreadsNumber(Mat mat, size_t bytes, PetscInt *n)
{
  PetscFunctionBegin;
  (void)mat;
  (void)bytes;
  *n = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void BCRThreadsRun(PetscInt n, void (*run)(void *), void *ctx[])
{
  for (PetscInt t = 0; t < n; t++) run(ctx[t]);
}
#endif
