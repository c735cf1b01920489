/* Pinned memory, and NCCL where it was found when the library was built: see transport.h */
#include "common.cuh"
#include "transport.h"
#include "window.cuh"
#include <cstring>
/* None of these was measured apart */
enum {
  EXCHANGE_BLOCKS = 64, /* of a piece of an exchange, at most: they run beside the kernels of the rank's own rows */
  TRY_BYTES = 256,      /* of a message of BCRNcclTry(): any size connects two ranks */
  TRY_ALL = 8,          /* ranks of which each tries all others, as up to BCR_CUDA_GATHER parts exchange with all */
  GRAIN = 2097152,      /* bytes, of which others can map multiples: sizes that are alike fit one another */
  IDLE = 8              /* windows that wait with a communicator for the next solver, at most */
};

#if defined(PETSCBCR_HAVE_NCCL)
  #include <nccl.h>
  #include <dlfcn.h>
  #include <cstdio>
  #include <vector>
  #if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0) && __has_include(<nccl_device.h>)
    #pragma GCC diagnostic push
    #pragma GCC diagnostic ignored "-Wunused-parameter"
    #include <nccl_device.h>
    #pragma GCC diagnostic pop
    #define HAVE_WINDOWS 1
  #endif
#endif

int BCRCudaHostMalloc(size_t bytes, void *p)
{
  const cudaError_t e = cudaMallocHost((void **)p, bytes ? bytes : (size_t)BCR_LEAST_BYTES);

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

int BCRCudaSideCreate(BCRCudaSide *side)
{
  int least = 0, greatest = 0;
  cudaError_t e = cudaDeviceGetStreamPriorityRange(&least, &greatest);

  return (int)(e == cudaSuccess
                 ? cudaStreamCreateWithPriority((cudaStream_t *)&side->stream, cudaStreamNonBlocking, greatest)
                 : e);
}

int BCRCudaSideBegin(BCRCudaSide *side, BCRStream stream)
{
  const int e = BCRCudaEventRecord(&side->begun, stream);

  return e ? e : (int)cudaStreamWaitEvent(bcr_stream(side->stream), (cudaEvent_t)side->begun, 0);
}

int BCRCudaSideEnd(BCRCudaSide *side, BCRStream stream)
{
  const int e = BCRCudaEventRecord(&side->ended, side->stream);

  return e ? e : (int)cudaStreamWaitEvent(bcr_stream(stream), (cudaEvent_t)side->ended, 0);
}

int BCRCudaSideDestroy(BCRCudaSide *side)
{
  const BCRCudaSide s = *side;
  int e = BCRCudaEventDestroy(s.begun), f = BCRCudaEventDestroy(s.ended),
      g = s.stream ? (int)cudaStreamDestroy(bcr_stream(s.stream)) : 0;

  side->stream = NULL;
  side->begun = side->ended = NULL;
  return e ? e : (f ? f : g);
}

int BCRCudaMark(void **event, BCRStream stream)
{
  cudaError_t e = *event ? cudaSuccess : cudaEventCreate((cudaEvent_t *)event);

  return (int)(e == cudaSuccess ? cudaEventRecord((cudaEvent_t)*event, bcr_stream(stream)) : e);
}

int BCRCudaMarkTime(void *from, void *to, double *seconds)
{
  float ms = 0;
  cudaError_t e = cudaEventSynchronize((cudaEvent_t)to);

  if (e == cudaSuccess) e = cudaEventElapsedTime(&ms, (cudaEvent_t)from, (cudaEvent_t)to);
  *seconds = 1e-3 * ms;
  return (int)e;
}

int BCRCudaMarkForget(void *event)
{
  return event ? (int)cudaEventDestroy((cudaEvent_t)event) : 0;
}

static_assert(sizeof(cudaIpcMemHandle_t) == BCR_CUDA_HANDLE && sizeof(cudaIpcEventHandle_t) == BCR_CUDA_HANDLE,
              "size of a handle of CUDA");

/* What others map is a whole block of cudaMalloc(), so that nothing else should be in it */
int BCRCudaShare(size_t bytes, void *p, unsigned char handle[BCR_CUDA_HANDLE])
{
  const size_t grain = GRAIN;
  cudaError_t e = cudaMalloc((void **)p, ((bytes ? bytes : 1) + grain - 1) / grain * grain);

  if (e == cudaSuccess) e = cudaIpcGetMemHandle((cudaIpcMemHandle_t *)handle, *(void **)p);
  else *(void **)p = NULL;
  if (e != cudaSuccess) (void)cudaGetLastError();
  return (int)e;
}

int BCRCudaShareOpen(const unsigned char handle[BCR_CUDA_HANDLE], void *p)
{
  cudaIpcMemHandle_t h;
  cudaError_t e;

  memcpy(&h, handle, sizeof(h));
  e = cudaIpcOpenMemHandle((void **)p, h, cudaIpcMemLazyEnablePeerAccess);
  if (e != cudaSuccess) {
    *(void **)p = NULL;
    (void)cudaGetLastError();
  }
  return (int)e;
}

int BCRCudaShareClose(void *p)
{
  return p ? (int)cudaIpcCloseMemHandle(p) : 0;
}

int BCRCudaShareEvent(void **event, unsigned char handle[BCR_CUDA_HANDLE])
{
  cudaError_t e = cudaEventCreateWithFlags((cudaEvent_t *)event, cudaEventDisableTiming | cudaEventInterprocess);

  if (e == cudaSuccess) e = cudaIpcGetEventHandle((cudaIpcEventHandle_t *)handle, (cudaEvent_t)*event);
  else *event = NULL;
  if (e != cudaSuccess) (void)cudaGetLastError();
  return (int)e;
}

int BCRCudaShareEventOpen(const unsigned char handle[BCR_CUDA_HANDLE], void **event)
{
  cudaIpcEventHandle_t h;
  cudaError_t e;

  memcpy(&h, handle, sizeof(h));
  e = cudaIpcOpenEventHandle((cudaEvent_t *)event, h);
  if (e != cudaSuccess) {
    *event = NULL;
    (void)cudaGetLastError();
  }
  return (int)e;
}

int BCRCudaStreamWait(BCRStream stream, void *event)
{
  return (int)cudaStreamWaitEvent(bcr_stream(stream), (cudaEvent_t)event, 0);
}

int BCRCudaDeviceId(unsigned char id[BCR_CUDA_DEVICE_ID])
{
  int device = 0;
  cudaDeviceProp p;
  cudaError_t e = cudaGetDevice(&device);

  static_assert(sizeof(p.uuid.bytes) == BCR_CUDA_DEVICE_ID, "size of a uuid of CUDA");
  memset(id, 0, BCR_CUDA_DEVICE_ID);
  if (e == cudaSuccess) e = cudaGetDeviceProperties(&p, device);
  if (e == cudaSuccess) memcpy(id, p.uuid.bytes, BCR_CUDA_DEVICE_ID);
  return (int)e;
}

/* Blocks begin in their order: all that is sent goes before any wait */
static __global__ void window_exchange(int nsend, const BCRCudaPiece *__restrict__ pieces, ptrdiff_t slot,
                                       unsigned *turn)
{
  const BCRCudaPiece p = pieces[blockIdx.y];
  const ptrdiff_t at = (*(volatile unsigned *)turn & 1) * slot, step = (ptrdiff_t)gridDim.x * blockDim.x;

  for (ptrdiff_t i = (ptrdiff_t)blockIdx.x * blockDim.x + threadIdx.x; i < p.n; i += step) {
    if ((int)blockIdx.y < nsend) window_store(p.to + at + i, p.from ? p.from[i] : 0);
    else {
      const double v = window_wait(p.from + at + i, turn);

      if (p.to) p.to[i] = v;
    }
  }
  window_done(turn);
}

int BCRCudaWindowExchange(BCRStream stream, int nsend, int nrecv, const BCRCudaPiece *pieces, ptrdiff_t most,
                          ptrdiff_t slot, unsigned *turn)
{
  if (nsend + nrecv < 1) return 0;
  window_exchange<<<dim3(bcr_blocks(most, BCR_THREADS, EXCHANGE_BLOCKS), (unsigned)(nsend + nrecv)), BCR_THREADS, 0,
                    bcr_stream(stream)>>>(nsend, pieces, slot, turn);
  return (int)cudaGetLastError();
}

#if defined(PETSCBCR_HAVE_NCCL)

struct _n_BCRNccl {
  ncclComm_t comm;
  void *tried; /* room for the messages of BCRNcclTry() */
  int windows; /* so many were made */
  std::vector<BCRNcclWindow> idle;
};

static struct {
  void *library;
  char why[256];
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
  #if defined(HAVE_WINDOWS)
  int windows; /* these are there, of the version that this was compiled with */
  ncclResult_t (*version)(int *);
  ncclResult_t (*memalloc)(void **, size_t);
  ncclResult_t (*memfree)(void *);
  ncclResult_t (*windowregister)(ncclComm_t, void *, size_t, ncclWindow_t *, int);
  ncclResult_t (*windowderegister)(ncclComm_t, ncclWindow_t);
  ncclTeam_t (*teamlsa)(ncclComm_t);
  #endif
} lib;

template <typename F>
static bool find(F *f, const char *name)
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
  if (find(&lib.getuniqueid, "ncclGetUniqueId") && find(&lib.init, "ncclCommInitRank") &&
      find(&lib.destroy, "ncclCommDestroy") && find(&lib.abort, "ncclCommAbort") &&
      find(&lib.asyncerror, "ncclCommGetAsyncError") && find(&lib.start, "ncclGroupStart") &&
      find(&lib.end, "ncclGroupEnd") && find(&lib.send, "ncclSend") && find(&lib.recv, "ncclRecv") &&
      find(&lib.error, "ncclGetErrorString")) {
  #if defined(HAVE_WINDOWS)
    int version = 0;

    lib.windows = find(&lib.version, "ncclGetVersion") && find(&lib.memalloc, "ncclMemAlloc") &&
                  find(&lib.memfree, "ncclMemFree") && find(&lib.windowregister, "ncclCommWindowRegister") &&
                  find(&lib.windowderegister, "ncclCommWindowDeregister") && find(&lib.teamlsa, "ncclTeamLsa") &&
                  lib.version(&version) == ncclSuccess && version / 100 == NCCL_VERSION_CODE / 100;
  #endif
    return NULL;
  }
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
  BCRNccl n = new _n_BCRNccl;
  const char *why;

  memcpy(&unique, id, sizeof(unique));
  n->comm = NULL;
  n->tried = NULL;
  n->windows = 0;
  why = result(lib.init(&n->comm, size, unique, rank));
  *nccl = n;
  return why;
}

const char *BCRNcclError(BCRNccl nccl)
{
  ncclResult_t r = ncclSuccess;
  const char *why = result(lib.asyncerror(nccl->comm, &r));

  return why ? why : result(r);
}

const char *BCRNcclBegin(BCRNccl nccl)
{
  const char *why = BCRNcclError(nccl); /* of an exchange before this one */

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
  const cudaError_t e = cudaDeviceSynchronize();
  ncclResult_t r = ncclSuccess;
  const char *why = e == cudaSuccess ? result(lib.asyncerror(nccl->comm, &r)) : cudaGetErrorString(e);

  return why ? why : result(r);
}

const char *BCRNcclTry(BCRNccl nccl, int size, int rank)
{
  const size_t bytes = TRY_BYTES;
  const cudaError_t e = cudaMalloc(&nccl->tried, 2 * bytes * (size_t)size);
  const char *why, *end;

  if (e != cudaSuccess) {
    (void)cudaGetLastError();
    return cudaGetErrorString(e);
  }
  why = result(lib.start());
  if (why) return why;
  for (int q = 0; q < size && !why; q++) {
    char *p = (char *)nccl->tried + 2 * bytes * (size_t)q;

    if (q == rank || (size > TRY_ALL && (q - rank + size + 1) % size > 2))
      continue; /* all of few, else the neighbours */
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
  for (BCRNcclWindow w : (*nccl)->idle) BCRNcclWindowDestroy(&w);
  (void)cudaFree((*nccl)->tried);
  if ((*nccl)->comm) (void)lib.destroy((*nccl)->comm);
  delete *nccl;
  *nccl = NULL;
}

  #if defined(HAVE_WINDOWS)

struct _n_BCRNcclWindow {
  BCRNccl nccl;
  int serial;
  size_t bytes;
  void *p;
  ncclWindow_t window;
  std::vector<void *> base;
};

int BCRNcclWindowPossible(BCRNccl nccl, int size)
{
  return lib.windows && lib.teamlsa(nccl->comm).nRanks == size;
}

const char *BCRNcclWindowAlloc(BCRNccl nccl, size_t bytes, BCRNcclWindow *window)
{
  BCRNcclWindow w = new _n_BCRNcclWindow;
  const char *why;

  w->nccl = nccl;
  w->serial = ++nccl->windows;
  w->bytes = (bytes + GRAIN - 1) / GRAIN * GRAIN;
  w->p = NULL;
  w->window = NULL;
  *window = w;
  why = result(lib.memalloc(&w->p, w->bytes));
  if (why) (void)cudaGetLastError();
  return why;
}

static __global__ void window_pointers(ncclWindow_t w, int n, void **p)
{
  for (int q = threadIdx.x; q < n; q += blockDim.x) p[q] = ncclGetPeerPointer(w, 0, q);
}

const char *BCRNcclWindowOpen(BCRNcclWindow w, int size, int rank, void *base[])
{
  void **p = NULL;
  cudaError_t e;
  const char *why = result(lib.windowregister(w->nccl->comm, w->p, w->bytes, &w->window, NCCL_WIN_COLL_SYMMETRIC));

  if (why) return why;
  if (!w->window) return "these ranks have no windows";
  e = cudaMalloc((void **)&p, (size_t)size * sizeof(*p));
  if (e == cudaSuccess) {
    window_pointers<<<1, BCR_WARP>>>(w->window, size, p);
    e = cudaMemcpy(base, p, (size_t)size * sizeof(*p), cudaMemcpyDeviceToHost);
  }
  (void)cudaFree(p);
  /* these are the same memory */
  if (e == cudaSuccess) e = cudaMemcpy(base[rank], &base[rank], sizeof(base[rank]), cudaMemcpyHostToDevice);
  if (e == cudaSuccess) {
    void *seen = NULL;

    e = cudaMemcpy(&seen, w->p, sizeof(seen), cudaMemcpyDeviceToHost);
    if (e == cudaSuccess && seen != base[rank]) why = "its window is not where it should be";
  }
  if (e == cudaSuccess) {
    w->base.assign(base, base + size);
    return why;
  }
  (void)cudaGetLastError();
  return cudaGetErrorString(e);
}

int BCRNcclWindowIdle(BCRNccl nccl, size_t bytes)
{
  int serial = 0;
  size_t least = 2 * bytes + 2 * GRAIN; /* not one that is much too large */

  for (BCRNcclWindow w : nccl->idle) {
    if (w->bytes < bytes || w->bytes >= least) continue;
    serial = w->serial;
    least = w->bytes;
  }
  return serial;
}

void BCRNcclWindowTake(BCRNccl nccl, int serial, BCRNcclWindow *window, void *base[])
{
  for (size_t i = 0; i < nccl->idle.size(); i++) {
    if (nccl->idle[i]->serial != serial) continue;
    *window = nccl->idle[i];
    nccl->idle.erase(nccl->idle.begin() + (ptrdiff_t)i);
    for (size_t q = 0; q < (*window)->base.size(); q++) base[q] = (*window)->base[q];
    return;
  }
}

void BCRNcclWindowGive(BCRNcclWindow *window)
{
  std::vector<BCRNcclWindow> &idle = (*window)->nccl->idle;

  if (idle.size() == IDLE) {
    BCRNcclWindowDestroy(&idle[0]);
    idle.erase(idle.begin());
  }
  idle.push_back(*window);
  *window = NULL;
}

int BCRNcclWindowFill(BCRNcclWindow w, size_t bytes, int byte)
{
  cudaError_t e = cudaMemset(w->p, byte, bytes);

  if (e == cudaSuccess) e = cudaMemset((char *)w->p + bytes, 0, w->bytes - bytes);
  return (int)(e == cudaSuccess ? cudaDeviceSynchronize() : e);
}

int BCRNcclWindowPut(BCRNcclWindow w, size_t at, unsigned value)
{
  cudaStream_t stream = NULL;
  cudaError_t e = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);

  if (e != cudaSuccess) return (int)e;
  /* not a kernel: there may be no room for one */
  e = cudaMemcpyAsync((char *)w->p + at, &value, sizeof(value), cudaMemcpyHostToDevice, stream);
  if (e == cudaSuccess) e = cudaStreamSynchronize(stream);
  (void)cudaStreamDestroy(stream);
  return (int)e;
}

void BCRNcclWindowDestroy(BCRNcclWindow *window)
{
  BCRNcclWindow w = *window;

  if (!w) return;
  if (w->window && w->nccl->comm) (void)lib.windowderegister(w->nccl->comm, w->window);
  if (w->p) (void)lib.memfree(w->p);
  delete w;
  *window = NULL;
}

  #endif
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
const char *BCRNcclError(BCRNccl)
{
  return absent;
}
const char *BCRNcclTry(BCRNccl, int, int)
{
  return absent;
}
void BCRNcclAbort(BCRNccl)
{
}
void BCRNcclDestroy(BCRNccl *)
{
}

#endif

#if !defined(HAVE_WINDOWS)
int BCRNcclWindowPossible(BCRNccl, int)
{
  return 0;
}
const char *BCRNcclWindowAlloc(BCRNccl, size_t, BCRNcclWindow *window)
{
  *window = NULL;
  return "petscbcr was built without NCCL's windows";
}
const char *BCRNcclWindowOpen(BCRNcclWindow, int, int, void *[])
{
  return "petscbcr was built without NCCL's windows";
}
int BCRNcclWindowFill(BCRNcclWindow, size_t, int)
{
  return 0;
}
int BCRNcclWindowPut(BCRNcclWindow, size_t, unsigned)
{
  return 0;
}
int BCRNcclWindowIdle(BCRNccl, size_t)
{
  return 0;
}
void BCRNcclWindowTake(BCRNccl, int, BCRNcclWindow *, void *[])
{
}
void BCRNcclWindowGive(BCRNcclWindow *)
{
}
void BCRNcclWindowDestroy(BCRNcclWindow *)
{
}
#endif
