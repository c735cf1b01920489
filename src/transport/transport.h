/*
  Messages between ranks whose data is in the memory of CUDA devices, ordered on a stream. Numerics
  without PETSc objects: a communicator, pointers, bytes. Three ways:

    nccl   NCCL's messages: launched on the stream, the host never waits. One GPU for each rank.
    mpi    MPI with device pointers: the host waits for the stream, then for the messages. For an MPI that is aware of GPUs.
    host   through pinned memory of the host: the same, and a copy at either end. Always possible; ranks may share a GPU.
*/
#pragma once

#include "../base/petscbcrimpl.h"

typedef enum {
  BCR_TRANSPORT_AUTO, /* nccl where it is possible, else mpi, else host */
  BCR_TRANSPORT_MPI,
  BCR_TRANSPORT_NCCL,
  BCR_TRANSPORT_HOST
} BCRTransportKind;

typedef struct _n_BCRTransport *BCRTransport;

typedef struct {
  PetscMPIInt rank; /* to or from */
  void *p;          /* on the device */
  size_t bytes;
} BCRMessage;

typedef struct {
  BCRTransportKind kind;
  char why[320];               /* auto: why it is not a faster one; else empty */
  size_t bytes_sent, messages; /* by this rank to others, since the last BCRTransportCount() */
  size_t workspace;            /* pinned bytes */
  double start; /* seconds that NCCL's communicator took to make, for all transports between these ranks */
} BCRTransportInfo;

/* Collective. option: its name as the user gives it, for messages of errors; aware: MPI takes device pointers
   (-use_gpu_aware_mpi). A way that cannot be gone is PETSC_ERR_SUP on every rank. */
PETSC_INTERN PetscErrorCode BCRTransportCreate(MPI_Comm comm, const char option[], BCRTransportKind kind,
                                               PetscBool aware, BCRTransport *transport);
/* Room for exchanges of up to so many bytes of this rank in all; else the first of that size makes it */
PETSC_INTERN PetscErrorCode BCRTransportReserve(BCRTransport transport, size_t sent, size_t received);
/* Begun when the stream is there, and done when the stream goes on. Each message that is sent is
   received with the same bytes; two from one rank to another arrive in their order. One to the rank
   itself is copied. Not collective beyond the ranks that are in it. */
PETSC_INTERN PetscErrorCode BCRTransportExchange(BCRTransport transport, void *stream, int nsend,
                                                 const BCRMessage send[], int nrecv, const BCRMessage recv[]);
/* Collective, after exchanges of which each rank has `mine`, its error or none. With NCCL a rank
   that has failed to send would leave the others waiting on their devices for good: if one has, the
   messages of all are given up, each rank returns its own error or one that names that rank, and
   the transport is good for nothing more. Hosts tell one another, the devices go on. Other
   transports: returns `mine` */
PETSC_INTERN PetscErrorCode BCRTransportAgree(BCRTransport transport, PetscErrorCode mine);
/* For tests: NCCL refuses this process's exchange of that number from now on (1: the next; 0: none) */
PETSC_INTERN PetscErrorCode BCRTransportFault(int exchange);
/* Memory of each rank that kernels of all ranks reach (NCCL's windows), each byte set to this;
   (*base)[q] is that of rank q. *window NULL: a rank does not want one, or there are none, as
   between hosts. *control: three numbers of this rank's kernels, zeros; the third one is set where
   BCRTransportAgree() finds that a rank has failed: they are not to wait any longer. Collective,
   the same bytes everywhere where all want it */
typedef struct _n_BCRTransportWindow *BCRTransportWindow;
PETSC_INTERN PetscErrorCode BCRTransportWindowCreate(BCRTransport transport, PetscBool wanted, size_t bytes, int byte,
                                                     BCRTransportWindow *window, void ***base, unsigned **control);
/* before kernels that send so much there, in so many parts: an exchange, without them */
PETSC_INTERN PetscErrorCode BCRTransportWindowBegin(BCRTransport transport, size_t bytes, size_t messages);
PETSC_INTERN PetscErrorCode BCRTransportWindowDestroy(BCRTransportWindow *window);
/* An exchange of doubles between the same places again and again: as BCRTransportExchange(), or in
   a window, where there is one. Collective to make */
typedef struct _n_BCRTransportPlan *BCRTransportPlan;
PETSC_INTERN PetscErrorCode BCRTransportPlanCreate(BCRTransport transport, int nsend, const BCRMessage send[],
                                                   int nrecv, const BCRMessage recv[], BCRTransportPlan *plan);
PETSC_INTERN PetscErrorCode BCRTransportPlanExchange(BCRTransportPlan plan, void *stream);
PETSC_INTERN PetscErrorCode BCRTransportPlanDestroy(BCRTransportPlan *plan);
PETSC_INTERN PetscErrorCode BCRTransportGetInfo(BCRTransport transport, BCRTransportInfo *info);
PETSC_INTERN PetscErrorCode BCRTransportCount(BCRTransport transport);     /* counts from here */
PETSC_INTERN PetscErrorCode BCRTransportReference(BCRTransport transport); /* one more Destroy is needed */
PETSC_INTERN PetscErrorCode BCRTransportDestroy(BCRTransport *transport);
/* NCCL is there; else why not */
PETSC_INTERN PetscBool BCRTransportHaveNccl(const char **why);
PETSC_INTERN const char *BCRTransportName(BCRTransportKind kind);
/* The kind in words, why it is not a faster one, and how long it took to start, for PCView() */
PETSC_INTERN PetscErrorCode BCRTransportDescribe(BCRTransport transport, size_t length, char text[]);
