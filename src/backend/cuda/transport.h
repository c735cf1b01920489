/*
  What src/transport needs of CUDA and of NCCL. Plain C interface as in cuda.h. NCCL is loaded when
  it is first asked for, so that the library starts on machines without it; functions of NCCL return
  NULL, or what went wrong.
*/
#pragma once

#include "cuda.h"

#if defined(__cplusplus)
extern "C" {
#endif

BCR_CUDA_API int BCRCudaHostMalloc(size_t bytes, void *p); /* pinned memory of the host */
BCR_CUDA_API int BCRCudaHostFree(void *p);
/* pinned memory; do not wait */
BCR_CUDA_API int BCRCudaPutBegin(void *device, const void *host, size_t bytes, BCRStream stream);
BCR_CUDA_API int BCRCudaGetBegin(void *host, const void *device, size_t bytes, BCRStream stream);
BCR_CUDA_API int BCRCudaEventRecord(void **event, BCRStream stream); /* makes it if *event is NULL */
BCR_CUDA_API int BCRCudaEventWait(void *event);                      /* the host waits; not for NULL */
BCR_CUDA_API int BCRCudaEventDestroy(void *event);
/* a point of the stream, whose time can be taken; makes the event if it is NULL */
BCR_CUDA_API int BCRCudaMark(void **event, BCRStream stream);
BCR_CUDA_API int BCRCudaMarkTime(void *from, void *to, double *seconds); /* between two; the host waits */
BCR_CUDA_API int BCRCudaMarkForget(void *event);

/* A stream beside others, whose blocks go before theirs. Begin: what is launched on it from here on
   begins after what has been launched on `stream` so far; End: the other way round */
typedef struct {
  BCRStream stream;
  void *begun, *ended; /* the last of either */
} BCRCudaSide;
BCR_CUDA_API int BCRCudaSideCreate(BCRCudaSide *side); /* of zeros */
BCR_CUDA_API int BCRCudaSideBegin(BCRCudaSide *side, BCRStream stream);
BCR_CUDA_API int BCRCudaSideEnd(BCRCudaSide *side, BCRStream stream);
BCR_CUDA_API int BCRCudaSideDestroy(BCRCudaSide *side); /* zeros are fine */

/* Memory and events of a device that other processes of the host map by these handles (CUDA IPC): each process those of the
   others, not its own. Closed before the process that has them frees or destroys them */
enum {
  BCR_CUDA_HANDLE = 64 /* bytes of a handle of CUDA: asserted in transport.cu */
};
BCR_CUDA_API int BCRCudaShare(size_t bytes, void *p, unsigned char handle[BCR_CUDA_HANDLE]); /* BCRCudaFree() */
BCR_CUDA_API int BCRCudaShareOpen(const unsigned char handle[BCR_CUDA_HANDLE], void *p);
BCR_CUDA_API int BCRCudaShareClose(void *p);
BCR_CUDA_API int BCRCudaShareEvent(void **event, unsigned char handle[BCR_CUDA_HANDLE]); /* BCRCudaEventDestroy() */
BCR_CUDA_API int BCRCudaShareEventOpen(const unsigned char handle[BCR_CUDA_HANDLE], void **event); /* that, too */
BCR_CUDA_API int BCRCudaStreamWait(BCRStream stream, void *event); /* as it was last recorded; the host does not wait */

enum {
  BCR_CUDA_DEVICE_ID = 16 /* bytes of what CUDA calls a uuid */
};
/* of the current device, as no other has it */
BCR_CUDA_API int BCRCudaDeviceId(unsigned char id[BCR_CUDA_DEVICE_ID]);

typedef struct _n_BCRNccl *BCRNccl;
enum {
  BCR_NCCL_ID = 128 /* bytes of NCCL's ncclUniqueId: asserted in transport.cu */
};
BCR_CUDA_API const char *BCRNcclPossible(void); /* was it there when the library was built, and is it now? */
BCR_CUDA_API const char *BCRNcclMakeId(void *id);
BCR_CUDA_API const char *BCRNcclCreate(const void *id, int size, int rank, BCRNccl *nccl); /* all ranks */
BCR_CUDA_API const char *BCRNcclBegin(BCRNccl nccl);
BCR_CUDA_API const char *BCRNcclSend(BCRNccl nccl, const void *p, size_t bytes, int rank, BCRStream stream);
BCR_CUDA_API const char *BCRNcclReceive(BCRNccl nccl, void *p, size_t bytes, int rank, BCRStream stream);
BCR_CUDA_API const char *BCRNcclEnd(BCRNccl nccl);
/* until all that it was given is done, and says what went wrong */
BCR_CUDA_API const char *BCRNcclWait(BCRNccl nccl);
BCR_CUDA_API const char *BCRNcclError(BCRNccl nccl); /* of what it was given before */
/* begins messages from and to others, as NCCL connects ranks with the first of them. Then BCRNcclWait() */
BCR_CUDA_API const char *BCRNcclTry(BCRNccl nccl, int size, int rank);
/* whatever it does, also waits for ranks that do nothing; it is good for nothing more than to be destroyed */
BCR_CUDA_API void BCRNcclAbort(BCRNccl nccl);
BCR_CUDA_API void BCRNcclDestroy(BCRNccl *nccl);

/* Memory of this rank that kernels of all others reach, where all ranks are on one host and NCCL
   has windows: Alloc by each rank, then Open by all, which tells where those of all ranks are for
   kernels of this one */
typedef struct _n_BCRNcclWindow *BCRNcclWindow;
BCR_CUDA_API int BCRNcclWindowPossible(BCRNccl nccl, int size);
BCR_CUDA_API const char *BCRNcclWindowAlloc(BCRNccl nccl, size_t bytes, BCRNcclWindow *window);
BCR_CUDA_API const char *BCRNcclWindowOpen(BCRNcclWindow window, int size, int rank, void *base[]);
/* so much of the own one, and zeros to its end; waits */
BCR_CUDA_API int BCRNcclWindowFill(BCRNcclWindow window, size_t bytes, int byte);
/* there, while kernels wait for it */
BCR_CUDA_API int BCRNcclWindowPut(BCRNcclWindow window, size_t at, unsigned value);
/* An exchange in windows (window.cuh). A piece is n numbers from one place to another. Addresses in windows are those
   in the first of two slots, which take turns; `slot` is what the second is behind it. First come the nsend pieces that
   go to other ranks (from NULL: zeros go), then the nrecv that come (to NULL: nobody wants them). Ranks between which
   any go have some in both ways, so that a rank hears of all that it sends to before a slot comes again. most: numbers
   of the largest piece. turn: as BCRTransportWindowCreate() gives it */
typedef struct {
  double *from, *to;
  ptrdiff_t n;
} BCRCudaPiece;
BCR_CUDA_API int BCRCudaWindowExchange(BCRStream stream, int nsend, int nrecv, const BCRCudaPiece *pieces,
                                       ptrdiff_t most, ptrdiff_t slot, unsigned *turn);
/* It takes long to make one: those that nobody uses wait with the communicator. Idle: the number of
   one for so many bytes, or 0 */
BCR_CUDA_API int BCRNcclWindowIdle(BCRNccl nccl, size_t bytes);
BCR_CUDA_API void BCRNcclWindowTake(BCRNccl nccl, int serial, BCRNcclWindow *window, void *base[]);
BCR_CUDA_API void BCRNcclWindowGive(BCRNcclWindow *window);
BCR_CUDA_API void BCRNcclWindowDestroy(BCRNcclWindow *window);

#if defined(__cplusplus)
}
#endif
