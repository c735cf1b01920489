#include "transport.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "../agree.h"
  #include "../backend/cuda/transport.h"
  #include <stdlib.h>
  #include <string.h>

struct _n_BCRTransport {
  MPI_Comm         comm;
  PetscInt         references;
  PetscMPIInt      rank, size, tag;
  char             option[64];
  BCRTransportInfo info;
  BCRNccl          nccl;
  int              serial;    /* of nccl */
  char            *pinned[2]; /* of what is sent, received */
  size_t           room[2];
  void            *copied; /* an event: the last exchange's copies from pinned memory are done */
  MPI_Request     *request;
  int              nrequest;
};

  #define TransportCallCuda(t, ...) \
    do { \
      const int cuda_error_ = (__VA_ARGS__); \
      PetscCheck(!cuda_error_, PETSC_COMM_SELF, PETSC_ERR_GPU, "CUDA error %d: %s. If the device is out of order run again, else use -%s host, or no device", cuda_error_, BCRCudaErrorString(cuda_error_), (t)->option); \
    } while (0)
  #define TransportCallNccl(t, ...) \
    do { \
      const char *nccl_error_ = (__VA_ARGS__); \
      PetscCheck(!nccl_error_, PETSC_COMM_SELF, PETSC_ERR_LIB, "NCCL says: %s (NCCL_DEBUG=INFO says more). Use -%s host", nccl_error_, (t)->option); \
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
  To make a communicator of NCCL takes 50 ms and more. Those that nobody uses any more wait here, as an attribute of the communicator of MPI, for the next
  transport: no two transports have one at the same time. serial counts those made, the same on every rank.
*/
  #define TRANSPORT_IDLE 4
typedef struct {
  int n, serial;
  struct {
    BCRNccl       nccl;
    int           serial;
    unsigned char device[16];
  } idle[TRANSPORT_IDLE];
} TransportPool;

static PetscMPIInt transport_keyval = MPI_KEYVAL_INVALID;

static PetscMPIInt MPIAPI transport_pool_delete(MPI_Comm comm, PetscMPIInt keyval, void *attribute, void *extra)
{
  TransportPool *pool = (TransportPool *)attribute;

  (void)comm;
  (void)keyval;
  (void)extra;
  while (pool->n > 0) BCRNcclDestroy(&pool->idle[--pool->n].nccl);
  free(pool);
  return MPI_SUCCESS;
}

static PetscErrorCode transport_pool(BCRTransport t, TransportPool **pool)
{
  PetscMPIInt there = 0;

  PetscFunctionBegin;
  if (transport_keyval == MPI_KEYVAL_INVALID) PetscCallMPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, transport_pool_delete, &transport_keyval, NULL));
  PetscCallMPI(MPI_Comm_get_attr(t->comm, transport_keyval, pool, &there));
  if (there) PetscFunctionReturn(PETSC_SUCCESS);
  *pool = (TransportPool *)calloc(1, sizeof(**pool)); /* it may outlive PetscFinalize() */
  PetscCheck(*pool, PETSC_COMM_SELF, PETSC_ERR_MEM, "calloc()");
  PetscCallMPI(MPI_Comm_set_attr(t->comm, transport_keyval, *pool));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The one that came last, if that is the same one on every rank, and each has the device still that it had */
static PetscErrorCode transport_pool_take(BCRTransport t, const unsigned char device[16])
{
  TransportPool *pool;
  PetscMPIInt    mine[2], all[2];

  PetscFunctionBegin;
  PetscCall(transport_pool(t, &pool));
  mine[0] = pool->n > 0 && !memcmp(pool->idle[pool->n - 1].device, device, 16) ? pool->idle[pool->n - 1].serial : 0;
  mine[1] = -mine[0];
  PetscCallMPI(MPI_Allreduce(mine, all, 2, MPI_INT, MPI_MIN, t->comm));
  if (all[0] > 0 && all[0] == -all[1]) {
    pool->n--;
    t->nccl   = pool->idle[pool->n].nccl;
    t->serial = pool->idle[pool->n].serial;
  } else t->serial = ++pool->serial;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One in good order waits for the next transport, with nothing to do */
static PetscErrorCode transport_pool_give(BCRTransport t)
{
  TransportPool *pool;
  unsigned char  device[16];

  PetscFunctionBegin;
  if (!t->nccl) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(transport_pool(t, &pool));
  if (pool->n == TRANSPORT_IDLE || BCRCudaDeviceId(device) || BCRNcclWait(t->nccl)) BCRNcclDestroy(&t->nccl);
  else {
    pool->idle[pool->n].nccl   = t->nccl;
    pool->idle[pool->n].serial = t->serial;
    memcpy(pool->idle[pool->n].device, device, 16);
    pool->n++;
    t->nccl = NULL;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A communicator of NCCL, or in *why what is in its way, the same on every rank */
static PetscErrorCode transport_nccl(BCRTransport t, const unsigned char device[16], char why[], size_t len)
{
  struct {
    PetscMPIInt rank;
    char        text[256];
  } told;
  unsigned char id[BCR_NCCL_ID];
  PetscMPIInt   pair[2];
  double        any;
  const char   *text = BCRNcclPossible();

  PetscFunctionBegin;
  why[0] = 0;
  PetscCall(transport_sharing(t, device, pair));
  if (pair[0] >= 0) {
    PetscCall(PetscSNPrintf(why, len, "ranks %d and %d share a GPU, which NCCL refuses", (int)pair[0], (int)pair[1]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(transport_pool_take(t, device));
  if (t->nccl) PetscFunctionReturn(PETSC_SUCCESS);
  memset(id, 0, sizeof(id));
  for (int step = 0; step < 2; step++) { /* all ranks begin to make the communicator, or none */
    if (step == 0 && !text && t->rank == 0) text = BCRNcclMakeId(id);
    if (step == 1) {
      PetscCallMPI(MPI_Bcast(id, BCR_NCCL_ID, MPI_BYTE, 0, t->comm));
      text = BCRNcclCreate(id, t->size, t->rank, &t->nccl);
    }
    memset(&told, 0, sizeof(told));
    told.rank = t->rank;
    if (text) PetscCall(PetscStrncpy(told.text, text, sizeof(told.text)));
    PetscCall(BCRTakeFrom(t->comm, text ? 1 : 0, &told, sizeof(told), &any));
    if (any > 0) {
      PetscCall(PetscSNPrintf(why, len, "NCCL cannot be used on rank %d (%s)", (int)told.rank, told.text));
      BCRNcclDestroy(&t->nccl);
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTransportCreate(MPI_Comm comm, const char option[], BCRTransportKind kind, PetscBool aware, BCRTransport *transport)
{
  BCRTransport  t;
  BCRFault      fault = {PETSC_SUCCESS, ""};
  unsigned char device[16];
  char          why[300] = "";
  int           error;

  PetscFunctionBegin;
  PetscCall(PetscNew(&t));
  *transport    = t;
  t->comm       = MPI_COMM_NULL;
  t->references = 1;
  PetscCall(PetscCommDuplicate(comm, &t->comm, &t->tag));
  PetscCallMPI(MPI_Comm_rank(t->comm, &t->rank));
  PetscCallMPI(MPI_Comm_size(t->comm, &t->size));
  PetscCall(PetscStrncpy(t->option, option, sizeof(t->option)));
  error = BCRCudaDeviceId(device);
  if (error) PetscCall(BCRFaultSet(&fault, PETSC_ERR_GPU, "there is no CUDA device to exchange data of (%s)", BCRCudaErrorString(error)));
  PetscCall(BCRFaultAgree(t->comm, &fault));
  t->info.kind = kind;
  if (t->size == 1) {
    if (kind == BCR_TRANSPORT_AUTO) t->info.kind = BCR_TRANSPORT_HOST;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (kind == BCR_TRANSPORT_NCCL || kind == BCR_TRANSPORT_AUTO) {
    PetscCall(transport_nccl(t, device, why, sizeof(why)));
    if (kind == BCR_TRANSPORT_NCCL && why[0]) {
      PetscCall(BCRFaultSet(&fault, PETSC_ERR_SUP, "-%s nccl: %s: use -%s %s", option, why, option, aware ? "mpi, host or auto" : "host or auto, or a GPU for each rank"));
      PetscCall(BCRFaultAgree(t->comm, &fault));
    }
    if (!why[0]) t->info.kind = BCR_TRANSPORT_NCCL;
    else {
      t->info.kind = aware ? BCR_TRANSPORT_MPI : BCR_TRANSPORT_HOST;
      PetscCall(PetscStrncpy(t->info.why, why, sizeof(t->info.why)));
    }
  }
  if (kind == BCR_TRANSPORT_MPI && !aware) {
    PetscCall(BCRFaultSet(&fault, PETSC_ERR_SUP, "-%s mpi gives MPI pointers to device memory, and -use_gpu_aware_mpi is 0: use -%s nccl, host or auto, or an MPI that is aware of GPUs", option, option));
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
    t->room[i]   = 0;
    TransportCallCuda(t, BCRCudaHostMalloc(bytes[i], &t->pinned[i]));
    t->room[i] = bytes[i];
  }
  t->info.workspace = t->room[0] + t->room[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Messages to others (way 0) and from others between the device and pinned memory, those that lie behind one another copied at once; without run their bytes alone */
static PetscErrorCode transport_copy(BCRTransport t, BCRStream stream, int way, int n, const BCRMessage m[], PetscBool run, size_t *total)
{
  PetscFunctionBegin;
  *total = 0;
  for (int i = 0; i < n;) {
    size_t bytes = m[i].bytes;
    int    next  = i + 1;

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

PetscErrorCode BCRTransportExchange(BCRTransport t, void *stream, int nsend, const BCRMessage send[], int nrecv, const BCRMessage recv[])
{
  const PetscBool host = t->info.kind == BCR_TRANSPORT_HOST ? PETSC_TRUE : PETSC_FALSE;
  size_t          bytes[2], at[2] = {0, 0};
  int             n = 0;

  PetscFunctionBegin;
  for (int i = 0, j = 0; i < nsend; i++) {
    if (send[i].rank != t->rank) {
      t->info.bytes_sent += send[i].bytes;
      t->info.messages += send[i].bytes ? 1 : 0;
      continue;
    }
    while (j < nrecv && recv[j].rank != t->rank) j++;
    PetscCheck(j < nrecv && recv[j].bytes == send[i].bytes, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A message of %zu bytes to the rank itself is not received", send[i].bytes);
    if (send[i].bytes) TransportCallCuda(t, BCRCudaCopy(recv[j].p, send[i].p, send[i].bytes, stream));
    j++;
  }
  if (t->size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  if (t->info.kind == BCR_TRANSPORT_NCCL) {
    TransportCallNccl(t, BCRNcclBegin(t->nccl));
    for (int i = 0; i < nsend; i++) {
      if (send[i].rank != t->rank && send[i].bytes) TransportCallNccl(t, BCRNcclSend(t->nccl, send[i].p, send[i].bytes, send[i].rank, stream));
    }
    for (int i = 0; i < nrecv; i++) {
      if (recv[i].rank != t->rank && recv[i].bytes) TransportCallNccl(t, BCRNcclReceive(t->nccl, recv[i].p, recv[i].bytes, recv[i].rank, stream));
    }
    TransportCallNccl(t, BCRNcclEnd(t->nccl));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (nsend + nrecv > t->nrequest) {
    PetscCall(PetscFree(t->request));
    t->nrequest = nsend + nrecv;
    PetscCall(PetscMalloc1(t->nrequest, &t->request));
  }
  PetscCall(transport_copy(t, stream, 0, nsend, send, PETSC_FALSE, &bytes[0]));
  PetscCall(transport_copy(t, stream, 1, nrecv, recv, PETSC_FALSE, &bytes[1]));
  if (host) {
    PetscCall(BCRTransportReserve(t, bytes[0], bytes[1]));
    TransportCallCuda(t, BCRCudaEventWait(t->copied));
    PetscCall(transport_copy(t, stream, 0, nsend, send, PETSC_TRUE, &bytes[0]));
  }
  TransportCallCuda(t, BCRCudaSynchronize(stream)); /* what is sent is there, and nobody needs what was received before */
  for (int way = 1; way >= 0; way--) {
    for (int i = 0; i < (way ? nrecv : nsend); i++) {
      const BCRMessage *m = way ? &recv[i] : &send[i];
      void             *p = host ? (void *)(t->pinned[way] + at[way]) : m->p;

      if (m->rank == t->rank || !m->bytes) continue;
      PetscCheck(m->bytes <= 2147483647, PETSC_COMM_SELF, PETSC_ERR_SUP, "A message of %zu bytes is too long for MPI: use -%s nccl, or more ranks", m->bytes, t->option);
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

PetscErrorCode BCRTransportGetInfo(BCRTransport t, BCRTransportInfo *info)
{
  PetscFunctionBegin;
  *info = t->info;
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
  PetscCall(transport_pool_give(t));
  for (int i = 0; i < 2; i++) TransportCallCuda(t, BCRCudaHostFree(t->pinned[i]));
  PetscCall(PetscFree(t->request));
  if (t->comm != MPI_COMM_NULL) PetscCall(PetscCommDestroy(&t->comm));
  PetscCall(PetscFree(t));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
