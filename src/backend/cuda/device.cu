/* Devices, memory, copies */
#include "common.cuh"
#include "gemm.h"
#include <cstdio>
#include <nvtx3/nvToolsExt.h>

int BCRCudaDevices(int *n)
{
  *n = 0;
  return (int)cudaGetDeviceCount(n);
}

const char *BCRCudaErrorString(int error)
{
  const char *gemm = BCRCudaGemmErrorString(error);

  return gemm ? gemm : cudaGetErrorString((cudaError_t)error);
}

int BCRCudaDeviceName(char *name, size_t len, int *major, int *minor, int *sms, int *shared)
{
  int device = 0;
  cudaError_t e = cudaGetDevice(&device);

  *major = *minor = *sms = *shared = 0;
  if (e == cudaSuccess && name) {
    cudaDeviceProp p;

    e = cudaGetDeviceProperties(&p, device);
    if (e == cudaSuccess) snprintf(name, len, "%s", p.name);
  }
  if (e == cudaSuccess) e = cudaDeviceGetAttribute(major, cudaDevAttrComputeCapabilityMajor, device);
  if (e == cudaSuccess) e = cudaDeviceGetAttribute(minor, cudaDevAttrComputeCapabilityMinor, device);
  if (e == cudaSuccess) e = cudaDeviceGetAttribute(sms, cudaDevAttrMultiProcessorCount, device);
  if (e == cudaSuccess) e = cudaDeviceGetAttribute(shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  return (int)e;
}

int BCRCudaDeviceCache(size_t *bytes)
{
  int device = 0, n = 0;
  cudaError_t e = cudaGetDevice(&device);

  if (e == cudaSuccess) e = cudaDeviceGetAttribute(&n, cudaDevAttrL2CacheSize, device);
  *bytes = (size_t)n;
  return (int)e;
}

int BCRCudaMemory(size_t *available, size_t *total)
{
  return (int)cudaMemGetInfo(available, total);
}

int BCRCudaMalloc(size_t bytes, void *p)
{
  const cudaError_t e = cudaMalloc((void **)p, bytes ? bytes : (size_t)BCR_LEAST_BYTES);

  if (e != cudaSuccess) {
    *(void **)p = NULL;
    (void)cudaGetLastError(); /* it is not one that stays */
  }
  return (int)e;
}

int BCRCudaFree(void *p)
{
  return p ? (int)cudaFree(p) : 0;
}

int BCRCudaPut(void *device, const void *host, size_t bytes, BCRStream stream)
{
  cudaError_t e = cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, bcr_stream(stream));

  return (int)(e == cudaSuccess ? cudaStreamSynchronize(bcr_stream(stream)) : e);
}

int BCRCudaGet(void *host, const void *device, size_t bytes, BCRStream stream)
{
  cudaError_t e = cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, bcr_stream(stream));

  return (int)(e == cudaSuccess ? cudaStreamSynchronize(bcr_stream(stream)) : e);
}

int BCRCudaCopy(void *to, const void *from, size_t bytes, BCRStream stream)
{
  return (int)cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, bcr_stream(stream));
}

int BCRCudaZero(void *p, size_t bytes, BCRStream stream)
{
  return (int)cudaMemsetAsync(p, 0, bytes, bcr_stream(stream));
}

int BCRCudaSynchronize(BCRStream stream)
{
  return (int)cudaStreamSynchronize(bcr_stream(stream));
}

int BCRCudaTime(BCRStream stream, int (*run)(void *), void *context, int repeat, double *seconds)
{
  cudaEvent_t a, b;
  cudaError_t e = cudaEventCreate(&a);
  int r = 0;

  *seconds = 1e30;
  if (e != cudaSuccess) return (int)e;
  e = cudaEventCreate(&b);
  for (int i = 0; i < repeat && e == cudaSuccess && !r; i++) {
    float ms = 0;

    e = cudaEventRecord(a, bcr_stream(stream));
    r = run(context);
    if (e == cudaSuccess) e = cudaEventRecord(b, bcr_stream(stream));
    if (e == cudaSuccess) e = cudaEventSynchronize(b);
    if (e == cudaSuccess) e = cudaEventElapsedTime(&ms, a, b);
    if (1e-3 * ms < *seconds) *seconds = 1e-3 * ms;
  }
  (void)cudaEventDestroy(a);
  (void)cudaEventDestroy(b);
  return r ? r : (int)e;
}

void BCRCudaRangeBegin(const char *name)
{
  (void)nvtxRangePushA(name);
}

void BCRCudaRangeEnd(void)
{
  (void)nvtxRangePop();
}
