/* Pinned memory, and NCCL where it was found when the library was built: see transport.h */
#include "common.cuh"
#include "transport.h"
#include <cstring>
#if defined(PETSCBCR_HAVE_NCCL)
  #include <nccl.h>
  #include <dlfcn.h>
  #include <cstdio>
#endif

int BCRCudaHostMalloc(size_t bytes, void *p)
{
  const cudaError_t e = cudaMallocHost((void **)p, bytes ? bytes : 16);

  if (e != cudaSuccess) {
    *(void **)p = NULL;
    (void)cudaGetLastError();
  }
  return (int)e;
}

int BCRCudaHostFree(void *p)
{
  return p ? (int)cudaFreeHost(p) : 0;
}

int BCRCudaPutBegin(void *device, const void *host, size_t bytes, BCRStream stream)
{
  return (int)cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, bcr_stream(stream));
}

int BCRCudaGetBegin(void *host, const void *device, size_t bytes, BCRStream stream)
{
  return (int)cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, bcr_stream(stream));
}

int BCRCudaEventRecord(void **event, BCRStream stream)
{
  cudaError_t e = *event ? cudaSuccess : cudaEventCreateWithFlags((cudaEvent_t *)event, cudaEventDisableTiming);

  return (int)(e == cudaSuccess ? cudaEventRecord((cudaEvent_t)*event, bcr_stream(stream)) : e);
}

int BCRCudaEventWait(void *event)
{
  return event ? (int)cudaEventSynchronize((cudaEvent_t)event) : 0;
}

int BCRCudaEventDestroy(void *event)
{
  return event ? (int)cudaEventDestroy((cudaEvent_t)event) : 0;
}

int BCRCudaMark(void **event, BCRStream stream)
{
  cudaError_t e = *event ? cudaSuccess : cudaEventCreate((cudaEvent_t *)event);

  return (int)(e == cudaSuccess ? cudaEventRecord((cudaEvent_t)*event, bcr_stream(stream)) : e);
}

int BCRCudaMarkTime(void *from, void *to, double *seconds)
{
  float       ms = 0;
  cudaError_t e  = cudaEventSynchronize((cudaEvent_t)to);

  if (e == cudaSuccess) e = cudaEventElapsedTime(&ms, (cudaEvent_t)from, (cudaEvent_t)to);
  *seconds = 1e-3 * ms;
  return (int)e;
}

int BCRCudaMarkForget(void *event)
{
  return event ? (int)cudaEventDestroy((cudaEvent_t)event) : 0;
}

int BCRCudaDeviceId(unsigned char id[16])
{
  int            device = 0;
  cudaDeviceProp p;
  cudaError_t    e = cudaGetDevice(&device);

  memset(id, 0, 16);
  if (e == cudaSuccess) e = cudaGetDeviceProperties(&p, device);
  if (e == cudaSuccess) memcpy(id, p.uuid.bytes, 16);
  return (int)e;
}

#if defined(PETSCBCR_HAVE_NCCL)

struct _n_BCRNccl {
  ncclComm_t comm;
  void      *tried; /* room for the messages of BCRNcclTry() */
};

static struct {
  void *library;
  char  why[256];
  ncclResult_t (*getuniqueid)(ncclUniqueId *);
  ncclResult_t (*init)(ncclComm_t *, int, ncclUniqueId, int);
  ncclResult_t (*destroy)(ncclComm_t);
  ncclResult_t (*abort)(ncclComm_t);
  ncclResult_t (*asyncerror)(ncclComm_t, ncclResult_t *);
  ncclResult_t (*start)(void);
  ncclResult_t (*end)(void);
  ncclResult_t (*send)(const void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
  ncclResult_t (*recv)(void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
  const char *(*error)(ncclResult_t);
} lib;

template <typename F> static bool find(F *f, const char *name)
{
  *(void **)f = dlsym(lib.library, name);
  return *f != NULL;
}

const char *BCRNcclPossible(void)
{
  if (lib.library) return NULL;
  if (lib.why[0]) return lib.why;
  void *library = dlopen(PETSCBCR_NCCL_LIBRARY, RTLD_NOW | RTLD_LOCAL);

  if (!library) library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    snprintf(lib.why, sizeof(lib.why), "%s", dlerror());
    return lib.why;
  }
  lib.library = library;
  if (find(&lib.getuniqueid, "ncclGetUniqueId") && find(&lib.init, "ncclCommInitRank") && find(&lib.destroy, "ncclCommDestroy") && find(&lib.abort, "ncclCommAbort") && find(&lib.asyncerror, "ncclCommGetAsyncError") && find(&lib.start, "ncclGroupStart") &&
      find(&lib.end, "ncclGroupEnd") && find(&lib.send, "ncclSend") && find(&lib.recv, "ncclRecv") && find(&lib.error, "ncclGetErrorString"))
    return NULL;
  lib.library = NULL;
  snprintf(lib.why, sizeof(lib.why), "libnccl.so.2 is too old: it has no point-to-point messages");
  return lib.why;
}

static const char *result(ncclResult_t r)
{
  return r == ncclSuccess || r == ncclInProgress ? NULL : lib.error(r);
}

const char *BCRNcclMakeId(void *id)
{
  static_assert(sizeof(ncclUniqueId) == BCR_NCCL_ID, "size of an id of NCCL");
  const char *why = BCRNcclPossible();

  return why ? why : result(lib.getuniqueid((ncclUniqueId *)id));
}

const char *BCRNcclCreate(const void *id, int size, int rank, BCRNccl *nccl)
{
  ncclUniqueId unique;
  BCRNccl      n = new _n_BCRNccl;
  const char  *why;

  memcpy(&unique, id, sizeof(unique));
  n->comm  = NULL;
  n->tried = NULL;
  why      = result(lib.init(&n->comm, size, unique, rank));
  *nccl    = n;
  return why;
}

const char *BCRNcclBegin(BCRNccl nccl)
{
  ncclResult_t r   = ncclSuccess;
  const char  *why = result(lib.asyncerror(nccl->comm, &r));

  if (!why) why = result(r); /* of an exchange before this one */
  return why ? why : result(lib.start());
}

const char *BCRNcclSend(BCRNccl nccl, const void *p, size_t bytes, int rank, BCRStream stream)
{
  return result(lib.send(p, bytes, ncclChar, rank, nccl->comm, bcr_stream(stream)));
}

const char *BCRNcclReceive(BCRNccl nccl, void *p, size_t bytes, int rank, BCRStream stream)
{
  return result(lib.recv(p, bytes, ncclChar, rank, nccl->comm, bcr_stream(stream)));
}

const char *BCRNcclEnd(BCRNccl nccl)
{
  (void)nccl;
  return result(lib.end());
}

const char *BCRNcclWait(BCRNccl nccl)
{
  const cudaError_t e   = cudaDeviceSynchronize();
  ncclResult_t      r   = ncclSuccess;
  const char       *why = e == cudaSuccess ? result(lib.asyncerror(nccl->comm, &r)) : cudaGetErrorString(e);

  return why ? why : result(r);
}

const char *BCRNcclTry(BCRNccl nccl, int size, int rank)
{
  const size_t      bytes = 256;
  const cudaError_t e     = cudaMalloc(&nccl->tried, 2 * bytes * (size_t)size);
  const char       *why, *end;

  if (e != cudaSuccess) {
    (void)cudaGetLastError();
    return cudaGetErrorString(e);
  }
  why = result(lib.start());
  if (why) return why;
  for (int q = 0; q < size && !why; q++) {
    char *p = (char *)nccl->tried + 2 * bytes * (size_t)q;

    if (q == rank || (size > 8 && (q - rank + size + 1) % size > 2)) continue; /* all of few, else the neighbours */
    why = result(lib.send(p, bytes, ncclChar, q, nccl->comm, NULL));
    if (!why) why = result(lib.recv(p + bytes, bytes, ncclChar, q, nccl->comm, NULL));
  }
  end = result(lib.end());
  return why ? why : end;
}

void BCRNcclAbort(BCRNccl nccl)
{
  if (!nccl || !nccl->comm) return;
  (void)lib.abort(nccl->comm);
  nccl->comm = NULL;
}

void BCRNcclDestroy(BCRNccl *nccl)
{
  if (!*nccl) return;
  (void)cudaFree((*nccl)->tried);
  if ((*nccl)->comm) (void)lib.destroy((*nccl)->comm);
  delete *nccl;
  *nccl = NULL;
}

#else

static const char absent[] = "petscbcr was built without it: CMake found no nccl.h";

const char *BCRNcclPossible(void)
{
  return absent;
}
const char *BCRNcclMakeId(void *)
{
  return absent;
}
const char *BCRNcclCreate(const void *, int, int, BCRNccl *nccl)
{
  *nccl = NULL;
  return absent;
}
const char *BCRNcclBegin(BCRNccl)
{
  return absent;
}
const char *BCRNcclSend(BCRNccl, const void *, size_t, int, BCRStream)
{
  return absent;
}
const char *BCRNcclReceive(BCRNccl, void *, size_t, int, BCRStream)
{
  return absent;
}
const char *BCRNcclEnd(BCRNccl)
{
  return absent;
}
const char *BCRNcclWait(BCRNccl)
{
  return absent;
}
const char *BCRNcclTry(BCRNccl, int, int)
{
  return absent;
}
void BCRNcclAbort(BCRNccl) {}
void BCRNcclDestroy(BCRNccl *) {}

#endif
