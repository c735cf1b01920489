/* Right-hand sides of compact differences by themselves, see compact.h and src/compact/stencil.h: a
   thread for each number */
#include "tri.cuh"
#include "compact.h"

template <typename T, int H, int SIGN>
__global__ void stencil_inner(BCRCudaStencil s, const T *f, T *u)
{
  const ptrdiff_t rows = (s.to - s.from) * s.inner, e = (ptrdiff_t)blockIdx.x * blockDim.x + threadIdx.x;

  if (e >= rows) return;
  const T c0 = (T)s.c[0], c1 = (T)s.c[1], c2 = (T)s.c[2], c3 = (T)s.c[3];

  for (ptrdiff_t o = blockIdx.y; o < s.outer; o += gridDim.y) {
    const ptrdiff_t at = o * s.n * s.inner + s.from * s.inner + e;
    const T *p = f + at;
    T v = SIGN > 0 ? c0 * p[0] : (T)0;

    v += c1 * (SIGN > 0 ? p[s.inner] + p[-s.inner] : p[s.inner] - p[-s.inner]);
    if (H > 1) v += c2 * (SIGN > 0 ? p[2 * s.inner] + p[-2 * s.inner] : p[2 * s.inner] - p[-2 * s.inner]);
    if (H > 2) v += c3 * (SIGN > 0 ? p[3 * s.inner] + p[-3 * s.inner] : p[3 * s.inner] - p[-3 * s.inner]);
    u[at] = v;
  }
}

template <typename T>
__global__ void stencil_edges(BCRCudaStencil s, const T *f, const T *ghost, T *u)
{
  const ptrdiff_t plane = s.inner * s.outer, e = (ptrdiff_t)blockIdx.x * blockDim.x + threadIdx.x;
  const int edge = blockIdx.y;
  const ptrdiff_t row = edge < s.from ? edge : edge - s.from + s.to;
  T sum = 0;

  if (e >= plane) return;
  const ptrdiff_t i = e % s.inner, o = e / s.inner, first = s.start[edge];

  for (int k = 0; k < s.points[edge]; k++) {
    const ptrdiff_t j = first + k;
    const T v =
      j >= 0 && j < s.n ? f[i + s.inner * (j + s.n * o)] : ghost[(j < 0 ? s.below + j : s.below + j - s.n) * plane + e];

    sum += (T)s.weights[edge * s.width + k] * v;
  }
  u[i + s.inner * (row + s.n * o)] = sum;
}

template <typename T>
__global__ void stencil_pack(BCRCudaStencil s, const T *f, ptrdiff_t first, T *to)
{
  const ptrdiff_t plane = s.inner * s.outer, e = (ptrdiff_t)blockIdx.x * blockDim.x + threadIdx.x;

  if (e < plane) to[blockIdx.y * plane + e] = f[e % s.inner + s.inner * (first + blockIdx.y + s.n * (e / s.inner))];
}

static unsigned stencil_blocks(ptrdiff_t n)
{
  return (unsigned)((n + BCR_THREADS - 1) / BCR_THREADS);
}

#define STENCIL_RUN(H, SIGN) \
  bcr_launch_cluster(stencil_inner<T, H, SIGN>, grid, dim3(BCR_THREADS), 0, 1, stream, *s, (const T *)f, (T *)u)

template <typename T>
static int stencil_run(BCRStream stream, const BCRCudaStencil *s, const void *f, void *u)
{
  const dim3 grid(stencil_blocks((s->to - s->from) * s->inner),
                  (unsigned)(s->outer < (ptrdiff_t)BCR_GRID_YZ ? s->outer : (ptrdiff_t)BCR_GRID_YZ));

  if (s->sign > 0) return s->half == 1 ? STENCIL_RUN(1, 1) : (s->half == 2 ? STENCIL_RUN(2, 1) : STENCIL_RUN(3, 1));
  return s->half == 1 ? STENCIL_RUN(1, -1) : (s->half == 2 ? STENCIL_RUN(2, -1) : STENCIL_RUN(3, -1));
}

int BCRCudaStencilInner(BCRStream stream, const BCRCudaStencil *s, const void *f, void *u)
{
  int e = (int)cudaErrorInvalidValue;

  if (s->to <= s->from || !s->inner || !s->outer) return 0;
  BCR_CUDA_FIELD(s->single, e = stencil_run<T>(stream, s, f, u));
  return e ? e : bcr_done();
}

int BCRCudaStencilEdges(BCRStream stream, const BCRCudaStencil *s, const void *f, const void *ghost, void *u)
{
  int e = (int)cudaErrorInvalidValue;

  if (!s->edges || !s->inner || !s->outer) return 0;
  BCR_CUDA_FIELD(s->single,
                 e = bcr_launch_cluster(stencil_edges<T>, dim3(stencil_blocks(s->inner * s->outer), (unsigned)s->edges),
                                        dim3(BCR_THREADS), 0, 1, stream, *s, (const T *)f, (const T *)ghost, (T *)u));
  return e ? e : bcr_done();
}

int BCRCudaStencilPack(BCRStream stream, const BCRCudaStencil *s, const void *f, ptrdiff_t first, ptrdiff_t planes,
                       void *to)
{
  int e = (int)cudaErrorInvalidValue;

  if (!planes || !s->inner || !s->outer) return 0;
  BCR_CUDA_FIELD(s->single,
                 e = bcr_launch_cluster(stencil_pack<T>, dim3(stencil_blocks(s->inner * s->outer), (unsigned)planes),
                                        dim3(BCR_THREADS), 0, 1, stream, *s, (const T *)f, first, (T *)to));
  return e ? e : bcr_done();
}
