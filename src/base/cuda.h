/*
  A CUDA device as all modules use it: streams, memory, graphs. Plain C, no PETSc: every function returns 0 or a CUDA
  error code (BCRCudaErrorString()). The operations on such memory are in src/backend/cuda.
*/
#pragma once

#include <stddef.h>

#if defined(__cplusplus)
extern "C" {
#endif

#if !defined(BCR_CUDA_API)
  #define BCR_CUDA_API __attribute__((visibility("hidden")))
#endif

typedef void *BCRStream; /* a cudaStream_t */

/* src/backend/cuda/device.cu */
BCR_CUDA_API int BCRCudaDevices(int *n);
BCR_CUDA_API const char *BCRCudaErrorString(int error);
/* of what a block may have, bytes that the runtime keeps for itself (CUDA C++ Programming Guide, "Shared Memory", compute
   capability 8 and later) */
#define BCR_CUDA_SHARED_RESERVED 1024
/* of the current device; shared: bytes of shared memory a block may have */
BCR_CUDA_API int BCRCudaDeviceName(char *name, size_t len, int *major, int *minor, int *sms, int *shared);
BCR_CUDA_API int BCRCudaDeviceCache(size_t *bytes); /* of the second level */
BCR_CUDA_API int BCRCudaMemory(size_t *available, size_t *total);
BCR_CUDA_API int BCRCudaMalloc(size_t bytes, void *p);
BCR_CUDA_API int BCRCudaFree(void *p);
BCR_CUDA_API int BCRCudaPut(void *device, const void *host, size_t bytes, BCRStream stream); /* waits */
BCR_CUDA_API int BCRCudaGet(void *host, const void *device, size_t bytes, BCRStream stream); /* waits */
BCR_CUDA_API int BCRCudaCopy(void *to, const void *from, size_t bytes, BCRStream stream);    /* on the device */
BCR_CUDA_API int BCRCudaZero(void *p, size_t bytes, BCRStream stream);
BCR_CUDA_API int BCRCudaSynchronize(BCRStream stream);
/* least of repeat runs; waits */
BCR_CUDA_API int BCRCudaTime(BCRStream stream, int (*run)(void *), void *context, int repeat, double *seconds);

/* a range of launches under a name, for profilers (NVTX); ranges nest */
BCR_CUDA_API void BCRCudaRangeBegin(const char *name);
BCR_CUDA_API void BCRCudaRangeEnd(void);

/* src/backend/cuda/graph.cu: what is launched between CaptureBegin and CaptureEnd becomes a graph; Make makes it
   ready to launch, giving *exec the new parameters where it has one */
BCR_CUDA_API int BCRCudaStreamCreate(BCRStream *stream); /* one that does not wait for the default stream */
BCR_CUDA_API int BCRCudaStreamDestroy(BCRStream stream);
BCR_CUDA_API int BCRCudaIsCapturing(BCRStream stream, int *capturing);
BCR_CUDA_API int BCRCudaCaptureBegin(BCRStream stream);
BCR_CUDA_API int BCRCudaCaptureEnd(BCRStream stream, void **graph);
/* kernels, memory set, copies on the device, anything else */
BCR_CUDA_API int BCRCudaGraphParts(void *graph, int parts[4]);
BCR_CUDA_API int BCRCudaGraphMake(void *graph, void **exec);
BCR_CUDA_API int BCRCudaGraphLaunch(void *exec, BCRStream stream);
BCR_CUDA_API int BCRCudaGraphForget(void *graph);
BCR_CUDA_API int BCRCudaGraphDestroy(void *exec);

#if defined(__cplusplus)
}
#endif
