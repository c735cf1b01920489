/*
  Counts what a program asks of CUDA: the functions below stand in front of those of the CUDA
  runtime, for the library and for PETSc. For a source that defines _GNU_SOURCE first, in a program
  of its own.
*/
#pragma once

#include <dlfcn.h>

enum {
  ALLOCATIONS,
  WAITS,
  HOST_COPIES,
  KERNELS,
  GRAPHS,
  CAPTURES,
  KINDS
};
static const char *const kinds[] = {"allocations", "waits", "copies with the host", "kernels", "graphs", "captures"};
static int calls[KINDS];
static size_t copied; /* bytes of the largest copy with the host */

static inline int copy_of(size_t bytes)
{
  if (bytes > copied) copied = bytes;
  return HOST_COPIES;
}

typedef struct {
  unsigned x, y, z;
} Three;

/* name, of which none but its number of calls matters, then does what it does; kind -1: not counted */
#define IN_FRONT(kind, name, parameters, ...) \
  __attribute__((visibility("default"))) int name parameters; \
  int name parameters \
  { \
    static int(*next) parameters; \
    const int k = (kind); \
\
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, #name); \
    if (k >= 0) calls[k]++; \
    return next(__VA_ARGS__); \
  }

IN_FRONT(ALLOCATIONS, cudaMalloc, (void **p, size_t n), p, n)
IN_FRONT(ALLOCATIONS, cudaMallocAsync, (void **p, size_t n, void *s), p, n, s)
IN_FRONT(ALLOCATIONS, cudaMallocHost, (void **p, size_t n), p, n)
IN_FRONT(ALLOCATIONS, cudaFree, (void *p), p)
IN_FRONT(ALLOCATIONS, cudaFreeAsync, (void *p, void *s), p, s)
IN_FRONT(ALLOCATIONS, cudaFreeHost, (void *p), p)
IN_FRONT(WAITS, cudaDeviceSynchronize, (void), )
IN_FRONT(WAITS, cudaStreamSynchronize, (void *s), s)
IN_FRONT(WAITS, cudaEventSynchronize, (void *e), e)
/* kind 3: on the device */
IN_FRONT(kind == 3 ? -1 : copy_of(n), cudaMemcpy, (void *to, const void *from, size_t n, int kind), to, from, n, kind)
IN_FRONT(kind == 3 ? -1 : copy_of(n), cudaMemcpyAsync, (void *to, const void *from, size_t n, int kind, void *s), to,
         from, n, kind, s)
IN_FRONT(kind == 3 ? -1 : copy_of(w * h), cudaMemcpy2D,
         (void *to, size_t p, const void *from, size_t q, size_t w, size_t h, int kind), to, p, from, q, w, h, kind)
IN_FRONT(kind == 3 ? -1 : copy_of(w * h), cudaMemcpy2DAsync,
         (void *to, size_t p, const void *from, size_t q, size_t w, size_t h, int kind, void *s), to, p, from, q, w, h,
         kind, s)
IN_FRONT(KERNELS, cudaLaunchKernel, (const void *f, Three g, Three b, void **a, size_t m, void *s), f, g, b, a, m, s)
IN_FRONT(KERNELS, __cudaLaunchKernel, (const void *f, Three g, Three b, void **a, size_t m, void *s), f, g, b, a, m, s)
IN_FRONT(KERNELS, cudaLaunchKernelExC, (const void *c, const void *f, void **a), c, f, a)
IN_FRONT(GRAPHS, cudaGraphLaunch, (void *e, void *s), e, s)
IN_FRONT(CAPTURES, cudaStreamBeginCapture, (void *s, int mode), s, mode)
