/* Launches of the kernels of ring.cuh for one type */
#pragma once

#include "ring.cuh"
#include <cmath>
#include <cstring>

/* e^(-2 pi i m/n) */
static inline void ring_root(long long m, long long n, double *w)
{
  const double pi = 3.14159265358979323846;
  long long e; /* eighths, and what is left of one: as BCRUnit() */
  double x, y, t;

  m = m % n * 8;
  e = m / n;
  m -= e * n;
  if (e & 1) m = n - m;
  t = pi * (double)m / (4. * (double)n);
  x = cos(t);
  y = sin(t);
  if (((e + 1) & 3) >= 2) {
    t = x;
    x = y;
    y = t;
  }
  w[0] = e >= 2 && e < 6 ? -x : x;
  w[1] = e >= 4 ? y : -y;
}

/* The roots of a length: how many, and these if w is given */
template <class P>
static inline int ring_roots(double *w)
{
  int n = 0;

  if (!w) return P::ROOTS;
  for (int p = 1; p < P::PASSES; p++)
    for (int r = 0; r < P::radix(p); r++)
      for (int j = 0; j < P::before(p); j++, n++) ring_root((long long)r * j, P::before(p + 1), w + 2 * n);
  for (int k = 0; k < P::N; k++, n++) ring_root(k, 4LL * P::N, w + 2 * n);
  for (int k = 0; k < P::N; k++, n++) ring_root(k, 2LL * P::N, w + 2 * n);
  for (int r = 0; r < 4 * P::G; r++, n++) ring_root(r, 4LL * P::G, w + 2 * n);
  for (int k = 0; k < P::N; k++, n++) ring_root(4 * k + (k % 2 ? -1 : 1), 16LL * P::N, w + 2 * n);
  return n;
}

static inline RingDivisor ring_divisor(int d)
{
  return {d, d > 1 ? 0xffffffffu / (unsigned)d + 1 : 0};
}
/* Arrays and sizes, but nothing of tasks */
template <typename T>
static RingArgs<T> ring_args(const BCRCudaRing *r, const void *f, void *w, void *u)
{
  RingArgs<T> a;

  memset(&a, 0, sizeof(a));
  a.f = (const T *)f;
  a.u = (T *)u;
  a.w = (T *)w;
  a.ring = (Cplx<T> *)r->ring;
  a.count = r->count;
  a.x = r->axis[0];
  a.y = r->axis[1];
  a.nz = r->nz;
  a.frow = r->frow;
  a.urow = r->urow;
  a.fplane = r->fplane;
  a.uplane = r->uplane;
  a.wplane = r->modes;
  a.fpairs = (size_t)f % sizeof(Cplx<T>) == 0 && r->fplane % 2 == 0 && r->frow % 2 == 0;
  a.upairs = (size_t)u % sizeof(Cplx<T>) == 0 && r->uplane % 2 == 0 && r->urow % 2 == 0;
  a.wpairs = (size_t)w % sizeof(Cplx<T>) == 0 && r->modes % 2 == 0;
  a.scale = (T)r->scale;
  return a;
}

/* fits given: how many blocks of so much shared memory a multiprocessor has room for, and no launch */
template <typename T, int BACK, int KIND, int ENDS>
static int ring_launch(const RingArgs<T> &a, int blocks, int threads, size_t bytes, cudaStream_t stream, int *fits)
{
  const auto kernel = ring_planes<T, BACK, KIND, ENDS>;
  cudaError_t e = cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);

  if (e != cudaSuccess) return (int)e;
  if (fits) return (int)cudaOccupancyMaxActiveBlocksPerMultiprocessor(fits, kernel, threads, bytes);
  return bcr_launch(1, kernel, dim3((unsigned)blocks), threads, bytes, stream, a);
}
template <typename T, int ENDS>
static int ring_launch_any(const RingArgs<T> &a, int back, int kind, int blocks, int threads, size_t bytes,
                           cudaStream_t stream, int *fits)
{
#define KIND(K) \
  if (kind == K) \
    return back ? ring_launch<T, 1, K, ENDS>(a, blocks, threads, bytes, stream, fits) \
                : ring_launch<T, 0, K, ENDS>(a, blocks, threads, bytes, stream, fits);
  KIND(RING_SMALL)
  KIND(RING_BIG)
  if constexpr (!ENDS) {
    KIND(RING_TENS)
    KIND(RING_THIRTIES)
  }
#undef KIND
  return (int)cudaErrorNotSupported;
}

/* Of the divided transform (split.cu): roots of axis d; planes; lines; which modes its numbers are */
int bcr_split_roots(const BCRCudaRing *r, int single, int d, double *w);
int bcr_split_transform(const BCRCudaRing *r, int back, int single, const void *f, void *w, void *u,
                        cudaStream_t stream);
struct RingBorder;
struct RingSum;
int bcr_split_solve(const BCRCudaRing *r, const BCRCudaRingLines *l, int single, const RingBorder &border, void *w,
                    cudaStream_t stream);
int bcr_split_modes(const BCRCudaRing *r, const double *x, const double *y, const RingSum &sum, double *sigma,
                    int *mode, cudaStream_t stream);

/* _ends: with ENDS of RingKind */
#define RING_DECLARE(NAME, T) \
  int NAME(const RingArgs<T> &a, int back, int kind, int blocks, int threads, size_t bytes, cudaStream_t stream, \
           int *fits)
RING_DECLARE(bcr_ring_double, double);
RING_DECLARE(bcr_ring_double_ends, double);
RING_DECLARE(bcr_ring_float, float);
RING_DECLARE(bcr_ring_float_ends, float);
