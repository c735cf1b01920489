#include "transport.h"
#include <petsctime.h>
#if defined(PETSCBCR_HAVE_CUDA)
  #include "../base/agree.h"
  #include "../base/shared.h"
  #include "../backend/cuda/border.h"
  #include "../backend/cuda/transport.h"
  #include <string.h>

struct _n_BCRTransportWindow {
  BCRTransport transport;
  BCRTransportWindow next; /* of this transport */
  BCRNcclWindow window;
  size_t bytes;
  void **base;
};

struct _n_BCRTransport {
  MPI_Comm comm;
  PetscInt references;
  PetscMPIInt rank, size, tag;
  char option[64];
  BCRTransportInfo info;
  BCRNccl nccl; /* of shared */
  struct _n_Shared *shared;
  struct _n_Process *process;
  BCRTransportWindow windows;
  char *pinned[2]; /* of what is sent, received */
  size_t room[2];
  void *copied; /* an event: the last exchange's copies from pinned memory are done */
  MPI_Request *request;
  int nrequest;
};

  #define TransportCallCuda(t, ...) \
    do { \
      const int cuda_error_ = (__VA_ARGS__); \
      PetscCheck(!cuda_error_, PETSC_COMM_SELF, PETSC_ERR_GPU, \
                 "CUDA error %d: %s. If the device is out of order run again, else use -%s host, or no device", \
                 cuda_error_, BCRCudaErrorString(cuda_error_), (t)->option); \
    } while (0)
  #define TransportCallNccl(t, ...) \
    do { \
      const char *nccl_error_ = (__VA_ARGS__); \
      PetscCheck(!nccl_error_, PETSC_COMM_SELF, PETSC_ERR_LIB, \
                 "NCCL says: %s (NCCL_DEBUG=INFO says more). Use -%s host", nccl_error_, (t)->option); \
    } while (0)

const char *BCRTransportName(BCRTransportKind kind)
{
  static const char *const name[] = {"auto", "mpi", "nccl", "host"};

  return name[kind];
}

/* Two ranks with the same GPU, or -1 */
static PetscErrorCode transport_sharing(BCRTransport t, const unsigned char mine[16], PetscMPIInt pair[2])
{
  unsigned char *all;

  PetscFunctionBegin;
  pair[0] = pair[1] = -1;
  PetscCall(PetscMalloc1(16 * (size_t)t->size, &all));
  PetscCallMPI(MPI_Allgather((void *)mine, 16, MPI_BYTE, all, 16, MPI_BYTE, t->comm));
  for (PetscMPIInt b = 1; b < t->size && pair[0] < 0; b++) {
    for (PetscMPIInt a = 0; a < b && pair[0] < 0; a++) {
      if (memcmp(all + 16 * (size_t)a, all + 16 * (size_t)b, 16)) continue;
      pair[0] = a;
      pair[1] = b;
    }
  }
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  To make a communicator of NCCL takes a second and more. All transports between the same ranks have
  the same one, from the first of them until PetscFinalize(): NCCL orders what it is given for a
  communicator, on whatever streams, and objects are called in the same order by all of their ranks.
  All ranks of a communicator add and take away such entries together. They are the process's, since
  ranks are the same in communicators that come and go (those of the lines of a DMDA).
*/
typedef struct _n_Shared *Shared;
struct _n_Shared {
  Shared next;
  BCRNccl nccl; /* without its communicator where that has failed */
  PetscBool failed;
  double start; /* BCRTransportInfo */
  unsigned char device[16];
  PetscMPIInt size, world[]; /* its ranks in MPI_COMM_WORLD */
};

typedef struct _n_Process {
  Shared first; /* the oldest first, on every rank: they go in that order */
  int fault;    /* BCRTransportFault() */
} Process;

static PetscErrorCode process_destroy(void *data)
{
  Process *process = (Process *)data;

  PetscFunctionBegin;
  while (process->first) {
    Shared s = process->first;

    process->first = s->next;
    if (s->failed) BCRNcclAbort(s->nccl); /* not all ranks may have it */
    BCRNcclDestroy(&s->nccl);
    PetscCall(PetscFree(s));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode process_get(Process **process)
{
  PetscFunctionBegin;
  PetscCall(BCRCommGetShared(PETSC_COMM_SELF, sizeof(**process), process_destroy, process));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* NCCL refuses this exchange, for a test */
static PetscBool process_fails(Process *process)
{
  return (PetscBool)(process->fault > 0 && --process->fault == 0);
}

/* That of these ranks and of the device that each has now, or NULL on all of them; what some have
   and others have not is of no use to anybody */
static PetscErrorCode SharedFind(BCRTransport t, const PetscMPIInt world[], const unsigned char device[16],
                                 Shared *found)
{
  PetscMPIInt mine, all;

  PetscFunctionBegin;
  for (*found = t->process->first; *found; *found = (*found)->next) {
    if (!(*found)->failed && (*found)->size == t->size &&
        !memcmp((*found)->world, world, (size_t)t->size * sizeof(*world)))
      break;
  }
  mine = *found && !memcmp((*found)->device, device, 16) ? 1 : 0;
  PetscCallMPI(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, t->comm));
  if (*found && !all) {
    (*found)->failed = PETSC_TRUE;
    *found = NULL;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SharedAdd(BCRTransport t, const PetscMPIInt world[], const unsigned char device[16], BCRNccl nccl,
                                Shared *added)
{
  Shared s, *last;

  PetscFunctionBegin;
  PetscCall(PetscMalloc(sizeof(*s) + (size_t)t->size * sizeof(*world), &s));
  s->next = NULL;
  s->nccl = nccl;
  s->failed = PETSC_FALSE;
  s->size = t->size;
  memcpy(s->device, device, 16);
  memcpy(s->world, world, (size_t)t->size * sizeof(*world));
  for (last = &t->process->first; *last;) last = &(*last)->next;
  *last = s;
  *added = s;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A communicator of NCCL, or in *why what is in its way, the same on every rank; that may be that
   ranks share a device */
static PetscErrorCode transport_nccl(BCRTransport t, const unsigned char device[16], char why[], size_t len,
                                     PetscBool *sharing)
{
  struct {
    PetscMPIInt rank;
    char text[256];
  } told;
  unsigned char id[BCR_NCCL_ID];
  PetscMPIInt pair[2], *mine, *world;
  MPI_Group group, everyone;
  double any;
  const char *text = BCRNcclPossible();
  BCRNccl nccl = NULL;
  PetscLogDouble begin, end;

  PetscFunctionBegin;
  why[0] = 0;
  PetscCall(transport_sharing(t, device, pair));
  *sharing = pair[0] >= 0 ? PETSC_TRUE : PETSC_FALSE;
  if (*sharing) {
    PetscCall(PetscSNPrintf(why, len, "ranks %d and %d share a GPU, which NCCL refuses", (int)pair[0], (int)pair[1]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscMalloc2(t->size, &mine, t->size, &world));
  for (PetscMPIInt q = 0; q < t->size; q++) mine[q] = q;
  PetscCallMPI(MPI_Comm_group(t->comm, &group));
  PetscCallMPI(MPI_Comm_group(MPI_COMM_WORLD, &everyone));
  PetscCallMPI(MPI_Group_translate_ranks(group, t->size, mine, everyone, world));
  PetscCallMPI(MPI_Group_free(&group));
  PetscCallMPI(MPI_Group_free(&everyone));
  PetscCall(SharedFind(t, world, device, &t->shared));
  memset(id, 0, sizeof(id));
  PetscCall(PetscTime(&begin));
  for (int step = 0; step < 4 && !t->shared && !why[0]; step++) { /* all ranks go on, or none */
    if (step == 0 && !text && t->rank == 0) text = BCRNcclMakeId(id);
    if (step == 1) {
      PetscCallMPI(MPI_Bcast(id, BCR_NCCL_ID, MPI_BYTE, 0, t->comm));
      text = BCRNcclCreate(id, t->size, t->rank, &nccl);
    }
    /* what there is no room for is found here, and not in a solve */
    if (step == 2) text = BCRNcclTry(nccl, t->size, t->rank);
    if (step == 3) text = BCRNcclWait(nccl);
    memset(&told, 0, sizeof(told));
    told.rank = t->rank;
    if (text) PetscCall(PetscStrncpy(told.text, text, sizeof(told.text)));
    PetscCall(BCRTakeFrom(t->comm, text ? 1 : 0, &told, sizeof(told), &any));
    if (any > 0) PetscCall(PetscSNPrintf(why, len, "NCCL cannot be used on rank %d (%s)", (int)told.rank, told.text));
  }
  if (why[0]) {
    BCRNcclAbort(nccl);
    BCRNcclDestroy(&nccl);
  } else if (!t->shared) {
    PetscCall(SharedAdd(t, world, device, nccl, &t->shared));
    PetscCall(PetscTime(&end));
    t->shared->start = end - begin;
  }
  if (t->shared) {
    t->nccl = t->shared->nccl;
    t->info.start = t->shared->start;
  }
  PetscCall(PetscFree2(mine, world));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTransportCreate(MPI_Comm comm, const char option[], BCRTransportKind kind, PetscBool aware,
                                  BCRTransport *transport)
{
  BCRTransport t;
  BCRFault fault = {PETSC_SUCCESS, ""};
  unsigned char device[16];
  char why[300] = "";
  int error;

  PetscFunctionBegin;
  PetscCall(PetscNew(&t));
  *transport = t;
  t->comm = MPI_COMM_NULL;
  t->references = 1;
  PetscCall(PetscCommDuplicate(comm, &t->comm, &t->tag));
  PetscCallMPI(MPI_Comm_rank(t->comm, &t->rank));
  PetscCallMPI(MPI_Comm_size(t->comm, &t->size));
  PetscCall(process_get(&t->process));
  PetscCall(PetscStrncpy(t->option, option, sizeof(t->option)));
  error = BCRCudaDeviceId(device);
  if (error)
    PetscCall(BCRFaultSet(&fault, PETSC_ERR_GPU, "there is no CUDA device to exchange data of (%s)",
                          BCRCudaErrorString(error)));
  PetscCall(BCRFaultAgree(t->comm, &fault));
  t->info.kind = kind;
  if (t->size == 1) {
    if (kind == BCR_TRANSPORT_AUTO) t->info.kind = BCR_TRANSPORT_HOST;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (kind == BCR_TRANSPORT_NCCL || kind == BCR_TRANSPORT_AUTO) {
    PetscBool sharing = PETSC_FALSE;

    PetscCall(transport_nccl(t, device, why, sizeof(why), &sharing));
    if (kind == BCR_TRANSPORT_NCCL && why[0]) {
      PetscCall(BCRFaultSet(&fault, PETSC_ERR_SUP, "-%s nccl: %s: use -%s %s", option, why, option,
                            aware ? "mpi, host or auto" : "host or auto, or a GPU for each rank"));
      PetscCall(BCRFaultAgree(t->comm, &fault));
    }
    if (!why[0]) t->info.kind = BCR_TRANSPORT_NCCL;
    else {
      /* within a device the host is the faster way: bench/results/h200_gpu-aware-mpi.csv */
      t->info.kind = aware && !sharing ? BCR_TRANSPORT_MPI : BCR_TRANSPORT_HOST;
      PetscCall(PetscStrncpy(t->info.why, why, sizeof(t->info.why)));
    }
  }
  if (kind == BCR_TRANSPORT_MPI && !aware) {
    PetscCall(BCRFaultSet(&fault, PETSC_ERR_SUP,
                          "-%s mpi gives MPI pointers to device memory, and -use_gpu_aware_mpi is 0: use -%s nccl, "
                          "host or auto, or an MPI that is aware of GPUs",
                          option, option));
    PetscCall(BCRFaultAgree(t->comm, &fault));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTransportReserve(BCRTransport t, size_t sent, size_t received)
{
  const size_t bytes[2] = {sent, received};

  PetscFunctionBegin;
  if (t->info.kind != BCR_TRANSPORT_HOST || t->size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  for (int i = 0; i < 2; i++) {
    if (bytes[i] <= t->room[i]) continue;
    TransportCallCuda(t, BCRCudaEventWait(t->copied));
    TransportCallCuda(t, BCRCudaHostFree(t->pinned[i]));
    t->pinned[i] = NULL;
    t->room[i] = 0;
    TransportCallCuda(t, BCRCudaHostMalloc(bytes[i], &t->pinned[i]));
    t->room[i] = bytes[i];
  }
  t->info.workspace = t->room[0] + t->room[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Messages to others (way 0) and from others between the device and pinned memory, those that lie
   behind one another copied at once; without run their bytes alone */
static PetscErrorCode transport_copy(BCRTransport t, BCRStream stream, int way, int n, const BCRMessage m[],
                                     PetscBool run, size_t *total)
{
  PetscFunctionBegin;
  *total = 0;
  for (int i = 0; i < n;) {
    size_t bytes = m[i].bytes;
    int next = i + 1;

    if (m[i].rank == t->rank) {
      i++;
      continue;
    }
    while (next < n && m[next].rank != t->rank && (char *)m[i].p + bytes == (char *)m[next].p) bytes += m[next++].bytes;
    if (run && bytes && way == 0) TransportCallCuda(t, BCRCudaGetBegin(t->pinned[0] + *total, m[i].p, bytes, stream));
    if (run && bytes && way == 1) TransportCallCuda(t, BCRCudaPutBegin(m[i].p, t->pinned[1] + *total, bytes, stream));
    *total += bytes;
    i = next;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTransportFault(int exchange)
{
  Process *process;

  PetscFunctionBegin;
  PetscCall(process_get(&process));
  process->fault = exchange;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* room for the messages of an exchange */
static PetscErrorCode transport_requests(BCRTransport t, int n)
{
  PetscFunctionBegin;
  if (n <= t->nrequest) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFree(t->request));
  t->nrequest = 0;
  PetscCall(PetscMalloc1(n, &t->request));
  t->nrequest = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTransportExchange(BCRTransport t, void *stream, int nsend, const BCRMessage send[], int nrecv,
                                    const BCRMessage recv[])
{
  const PetscBool host = t->info.kind == BCR_TRANSPORT_HOST ? PETSC_TRUE : PETSC_FALSE;
  size_t bytes[2], at[2] = {0, 0};
  int n = 0;

  PetscFunctionBegin;
  for (int i = 0, j = 0; i < nsend; i++) {
    if (send[i].rank != t->rank) {
      t->info.bytes_sent += send[i].bytes;
      t->info.messages += send[i].bytes ? 1 : 0;
      continue;
    }
    while (j < nrecv && recv[j].rank != t->rank) j++;
    PetscCheck(j < nrecv && recv[j].bytes == send[i].bytes, PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "A message of %zu bytes to the rank itself is not received", send[i].bytes);
    if (send[i].bytes) TransportCallCuda(t, BCRCudaCopy(recv[j].p, send[i].p, send[i].bytes, stream));
    j++;
  }
  if (t->size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  if (t->info.kind == BCR_TRANSPORT_NCCL) {
    const char *why;

    PetscCheck(!t->shared->failed, PETSC_COMM_SELF, PETSC_ERR_LIB,
               "NCCL has failed between these ranks before. Use -%s host", t->option);
    TransportCallNccl(t, BCRNcclBegin(t->nccl));
    why = process_fails(t->process) ? BCRNcclSend(t->nccl, NULL, 1, t->size, stream) : NULL;
    for (int i = 0; i < nsend && !why; i++) {
      if (send[i].rank != t->rank && send[i].bytes)
        why = BCRNcclSend(t->nccl, send[i].p, send[i].bytes, send[i].rank, stream);
    }
    for (int i = 0; i < nrecv && !why; i++) {
      if (recv[i].rank != t->rank && recv[i].bytes)
        why = BCRNcclReceive(t->nccl, recv[i].p, recv[i].bytes, recv[i].rank, stream);
    }
    if (why) (void)BCRNcclEnd(t->nccl); /* what was begun */
    else why = BCRNcclEnd(t->nccl);
    TransportCallNccl(t, why);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(transport_requests(t, nsend + nrecv));
  PetscCall(transport_copy(t, stream, 0, nsend, send, PETSC_FALSE, &bytes[0]));
  PetscCall(transport_copy(t, stream, 1, nrecv, recv, PETSC_FALSE, &bytes[1]));
  if (host) {
    PetscCall(BCRTransportReserve(t, bytes[0], bytes[1]));
    TransportCallCuda(t, BCRCudaEventWait(t->copied));
    PetscCall(transport_copy(t, stream, 0, nsend, send, PETSC_TRUE, &bytes[0]));
  }
  /* what is sent is there, and nobody needs what was received before */
  TransportCallCuda(t, BCRCudaSynchronize(stream));
  for (int way = 1; way >= 0; way--) {
    for (int i = 0; i < (way ? nrecv : nsend); i++) {
      const BCRMessage *m = way ? &recv[i] : &send[i];
      void *p = host ? (void *)(t->pinned[way] + at[way]) : m->p;

      if (m->rank == t->rank || !m->bytes) continue;
      PetscCheck(m->bytes <= 2147483647, PETSC_COMM_SELF, PETSC_ERR_SUP,
                 "A message of %zu bytes is too long for MPI: use -%s nccl, or more ranks", m->bytes, t->option);
      at[way] += m->bytes;
      if (way) PetscCallMPI(MPI_Irecv(p, (PetscMPIInt)m->bytes, MPI_BYTE, m->rank, t->tag, t->comm, &t->request[n++]));
      else PetscCallMPI(MPI_Isend(p, (PetscMPIInt)m->bytes, MPI_BYTE, m->rank, t->tag, t->comm, &t->request[n++]));
    }
  }
  PetscCallMPI(MPI_Waitall(n, t->request, MPI_STATUSES_IGNORE));
  if (host) {
    PetscCall(transport_copy(t, stream, 1, nrecv, recv, PETSC_TRUE, &bytes[1]));
    TransportCallCuda(t, BCRCudaEventRecord(&t->copied, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTransportAgree(BCRTransport t, PetscErrorCode mine)
{
  const PetscBool begun = mine == PETSC_ERR_LIB || mine == PETSC_ERR_GPU ? PETSC_TRUE : PETSC_FALSE;
  PetscMPIInt told[3], all[3];

  PetscFunctionBegin;
  if (!t || t->info.kind != BCR_TRANSPORT_NCCL || t->size == 1) PetscFunctionReturn(mine);
  told[0] = mine ? t->rank : -1;
  told[1] = mine ? 0 : 1;
  told[2] = begun ? 1 : 0;
  PetscCallMPI(MPI_Allreduce(told, all, 3, MPI_INT, MPI_MAX, t->comm));
  if (all[0] < 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (all[1] || all[2]) { /* else all of them have found something wrong before they sent anything */
    t->shared->failed = PETSC_TRUE;
    for (BCRTransportWindow w = t->windows; w; w = w->next)
      (void)BCRNcclWindowPut(w->window, w->bytes + 2 * sizeof(unsigned), 1);
    /* kernels that wait there end within milliseconds; with the communicator these addresses go */
    if (t->windows) PetscCall(PetscSleep(0.2));
    BCRNcclAbort(t->nccl);
  }
  if (mine) PetscFunctionReturn(mine);
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_LIB,
          "Rank %d could not send or receive by NCCL, as its own message says. Use -%s host", (int)all[0], t->option);
}

PetscErrorCode BCRTransportWindowCreate(BCRTransport t, PetscBool wanted, size_t bytes, int byte,
                                        BCRTransportWindow *window, void ***base, unsigned **control)
{
  BCRTransportWindow w;
  const char *why = NULL;
  PetscMPIInt failed = 0, seen = -1, serial[2] = {0, 0};
  const size_t room = bytes + 3 * sizeof(unsigned);

  PetscFunctionBegin;
  *window = NULL;
  *base = NULL;
  *control = NULL;
  if (t->info.kind != BCR_TRANSPORT_NCCL || t->size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(&w));
  PetscCall(PetscMalloc1(t->size, &w->base));
  why = BCRNcclWait(t->nccl); /* who had it before */
  if (wanted && !why) serial[0] = BCRNcclWindowIdle(t->nccl, room);
  serial[1] = -serial[0];
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, serial, 2, MPI_INT, MPI_MIN, t->comm));
  if (serial[0] != -serial[1]) serial[0] = 0;
  if (serial[0]) BCRNcclWindowTake(t->nccl, serial[0], &w->window, w->base);
  for (int step = 0; step < 3 && !failed && !serial[0]; step++) { /* all ranks go on, or none */
    if (step == 0 && !why && !wanted) why = "not wanted";
    else if (step == 0 && !why)
      why = BCRNcclWindowPossible(t->nccl, t->size) ? BCRNcclWindowAlloc(t->nccl, room, &w->window) : "not possible";
    else if (step == 1) {
      why = BCRNcclWindowOpen(w->window, t->size, t->rank, w->base);
      if (!why && BCRCudaPut(w->base[t->rank], &t->rank, sizeof(t->rank), NULL)) why = "its own cannot be written";
    }
    for (PetscMPIInt q = 0; q < t->size && step == 2 && !why; q++) {
      if (BCRCudaGet(&seen, w->base[q], sizeof(seen), NULL) || seen != q) why = "that of another rank cannot be read";
    }
    failed = why ? 1 : 0;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, t->comm));
  }
  if (failed) {
    PetscCall(PetscInfo(NULL, "No windows of NCCL (%s): messages\n", why ? why : "on another rank"));
    BCRNcclWindowDestroy(&w->window);
    PetscCall(PetscFree(w->base));
    PetscCall(PetscFree(w));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  failed = BCRNcclWindowFill(w->window, bytes, byte) ? 1 : 0;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, t->comm)); /* nobody writes before */
  PetscCheck(!failed, PETSC_COMM_SELF, PETSC_ERR_GPU, "A window of NCCL cannot be written on all ranks. Use -%s host",
             t->option);
  w->transport = t;
  w->bytes = bytes;
  w->next = t->windows;
  t->windows = w;
  *window = w;
  *base = w->base;
  *control = (unsigned *)((char *)w->base[t->rank] + bytes);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTransportWindowDestroy(BCRTransportWindow *window)
{
  BCRTransportWindow w = *window;

  PetscFunctionBegin;
  *window = NULL;
  if (!w) PetscFunctionReturn(PETSC_SUCCESS);
  for (BCRTransportWindow *p = &w->transport->windows; *p; p = &(*p)->next) {
    if (*p != w) continue;
    *p = w->next;
    break;
  }
  BCRNcclWindowGive(&w->window);
  PetscCall(PetscFree(w->base));
  PetscCall(PetscFree(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

struct _n_BCRTransportPlan {
  BCRTransport transport;
  int nsend, nrecv, n[2]; /* n: pieces that go, and that come */
  BCRMessage *send, *recv;
  BCRTransportWindow window; /* or NULL */
  BCRCudaPiece *pieces;      /* on the device */
  ptrdiff_t slot, most;
  unsigned *turn;
  size_t sent[2]; /* bytes and messages */
};

/* What comes to this rank lies in its window by ranks, messages of one in their order; told[q]: where that from this
   rank lies in that of rank q. Where numbers go one way only, one goes the other way */
static PetscErrorCode plan_pieces(BCRTransportPlan p, const PetscInt64 told[], const PetscInt64 count[],
                                  const PetscInt64 offset[], void **base)
{
  BCRTransport t = p->transport;
  BCRCudaPiece *pieces;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(p->nsend + p->nrecv + 2 * t->size, &pieces));
  for (int way = 0; way < 2; way++) {
    const BCRMessage *m = way ? p->recv : p->send;

    for (PetscMPIInt q = 0; q < t->size; q++) {
      double *at = (double *)base[way ? t->rank : q] + (way ? offset[q] : told[q]);
      PetscInt left = (PetscInt)count[2 * q + way];

      if (q == t->rank) continue;
      for (int i = 0; i < (way ? p->nrecv : p->nsend); i++) {
        const ptrdiff_t n = (ptrdiff_t)(m[i].bytes / sizeof(double));
        BCRCudaPiece *piece = pieces + p->n[0] + p->n[1];

        if (m[i].rank != q || !n) continue;
        piece->from = way ? at : (double *)m[i].p;
        piece->to = way ? (double *)m[i].p : at;
        piece->n = n;
        p->most = PetscMax(p->most, n);
        p->n[way]++;
        at += n;
        left -= (PetscInt)n;
      }
      if (left) { /* one that nobody wants */
        const BCRCudaPiece none = {way ? at : NULL, way ? NULL : at, 1};

        pieces[p->n[0] + p->n[1]] = none;
        p->most = PetscMax(p->most, 1);
        p->n[way]++;
      }
    }
  }
  if (p->n[0]) { /* and so n[1] */
    const size_t bytes = (size_t)(p->n[0] + p->n[1]) * sizeof(*pieces);

    TransportCallCuda(t, BCRCudaMalloc(bytes, (void **)&p->pieces));
    TransportCallCuda(t, BCRCudaPut(p->pieces, pieces, bytes, NULL));
  }
  PetscCall(PetscFree(pieces));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTransportPlanCreate(BCRTransport t, int nsend, const BCRMessage send[], int nrecv,
                                      const BCRMessage recv[], BCRTransportPlan *plan)
{
  BCRTransportPlan p;
  PetscInt64 *count, *offset, *told, room = 0, all;
  void **base;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  *plan = p;
  p->transport = t;
  p->nsend = nsend;
  p->nrecv = nrecv;
  PetscCall(PetscMalloc2(nsend, &p->send, nrecv, &p->recv));
  PetscCall(PetscArraycpy(p->send, send, nsend));
  PetscCall(PetscArraycpy(p->recv, recv, nrecv));
  PetscCall(transport_requests(t, nsend + nrecv));
  if (t->info.kind != BCR_TRANSPORT_NCCL || t->size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCalloc3(2 * t->size, &count, t->size, &offset, t->size, &told));
  for (int i = 0; i < nsend; i++) count[2 * send[i].rank] += (PetscInt64)(send[i].bytes / sizeof(double));
  for (int i = 0; i < nrecv; i++) count[2 * recv[i].rank + 1] += (PetscInt64)(recv[i].bytes / sizeof(double));
  for (int i = 0; i < nsend; i++) {
    if (send[i].rank == t->rank) continue;
    p->sent[0] += send[i].bytes;
    p->sent[1] += send[i].bytes ? 1 : 0;
  }
  for (PetscMPIInt q = 0; q < t->size; q++) {
    if (q == t->rank || (!count[2 * q] && !count[2 * q + 1])) continue;
    for (int way = 0; way < 2; way++) count[2 * q + way] = PetscMax(count[2 * q + way], 1);
    offset[q] = room;
    room += count[2 * q + 1];
  }
  PetscCallMPI(MPI_Alltoall(offset, 1, MPIU_INT64, told, 1, MPIU_INT64, t->comm));
  PetscCallMPI(MPI_Allreduce(&room, &all, 1, MPIU_INT64, MPI_MAX, t->comm));
  if (all)
    PetscCall(BCRTransportWindowCreate(t, PETSC_TRUE, 2 * (size_t)all * sizeof(double), BCR_CUDA_NOTHING, &p->window,
                                       &base, &p->turn));
  if (p->window) {
    p->slot = (ptrdiff_t)all;
    ierr = plan_pieces(p, told, count, offset, base);
    PetscCall(BCRFaultShare(t->comm, ierr, "has no room for what goes between ranks, as its own message says"));
  }
  PetscCall(PetscFree3(count, offset, told));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTransportPlanExchange(BCRTransportPlan p, void *stream)
{
  BCRTransport t = p->transport;

  PetscFunctionBegin;
  if (!p->window) {
    PetscCall(BCRTransportExchange(t, stream, p->nsend, p->send, p->nrecv, p->recv));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BCRTransportWindowBegin(t, p->sent[0], p->sent[1]));
  for (int i = 0, j = 0; i < p->nsend; i++) {
    if (p->send[i].rank != t->rank || !p->send[i].bytes) continue;
    while (p->recv[j].rank != t->rank || !p->recv[j].bytes) j++;
    TransportCallCuda(t, BCRCudaCopy(p->recv[j++].p, p->send[i].p, p->send[i].bytes, stream));
  }
  TransportCallCuda(t, BCRCudaWindowExchange(stream, p->n[0], p->n[1], p->pieces, p->most, p->slot, p->turn));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTransportPlanDestroy(BCRTransportPlan *plan)
{
  BCRTransportPlan p = *plan;

  PetscFunctionBegin;
  if (!p) PetscFunctionReturn(PETSC_SUCCESS);
  TransportCallCuda(p->transport, BCRCudaFree(p->pieces));
  PetscCall(BCRTransportWindowDestroy(&p->window));
  PetscCall(PetscFree2(p->send, p->recv));
  PetscCall(PetscFree(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTransportGetInfo(BCRTransport t, BCRTransportInfo *info)
{
  PetscFunctionBegin;
  *info = t->info;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTransportDescribe(BCRTransport t, size_t length, char text[])
{
  const BCRTransportInfo *info = &t->info;

  PetscFunctionBegin;
  if (info->kind == BCR_TRANSPORT_NCCL)
    PetscCall(PetscSNPrintf(text, length, "%s, whose communicator took %.2g s to make, once for these ranks",
                            BCRTransportName(info->kind), info->start));
  else
    PetscCall(
      PetscSNPrintf(text, length, "%s%s%s", BCRTransportName(info->kind), info->why[0] ? ", as " : "", info->why));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTransportWindowBegin(BCRTransport t, size_t bytes, size_t messages)
{
  PetscFunctionBegin;
  PetscCheck(!t->shared->failed, PETSC_COMM_SELF, PETSC_ERR_LIB,
             "NCCL has failed between these ranks before. Use -%s host", t->option);
  TransportCallNccl(t, BCRNcclError(t->nccl));
  TransportCallNccl(t, process_fails(t->process) ? BCRNcclSend(t->nccl, NULL, 1, t->size, NULL) : NULL);
  t->info.bytes_sent += bytes;
  t->info.messages += messages;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTransportCount(BCRTransport t)
{
  PetscFunctionBegin;
  t->info.bytes_sent = t->info.messages = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTransportReference(BCRTransport t)
{
  PetscFunctionBegin;
  t->references++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool BCRTransportHaveNccl(const char **why)
{
  const char *text = BCRNcclPossible();

  if (why) *why = text;
  return text ? PETSC_FALSE : PETSC_TRUE;
}

PetscErrorCode BCRTransportDestroy(BCRTransport *transport)
{
  BCRTransport t = *transport;

  PetscFunctionBegin;
  *transport = NULL;
  if (!t || --t->references) PetscFunctionReturn(PETSC_SUCCESS);
  TransportCallCuda(t, BCRCudaEventWait(t->copied));
  TransportCallCuda(t, BCRCudaEventDestroy(t->copied));
  for (int i = 0; i < 2; i++) TransportCallCuda(t, BCRCudaHostFree(t->pinned[i]));
  PetscCall(PetscFree(t->request));
  if (t->comm != MPI_COMM_NULL) PetscCall(PetscCommDestroy(&t->comm));
  PetscCall(PetscFree(t));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
