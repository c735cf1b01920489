/* See cuda_ranks_kernels.h. DST-I of f by a real transform of length 2 (n + 1) of its odd extension: -Im/2. */
#include "cuda_ranks_kernels.h"
#include "cuda_fft.h"
#include <cstdlib>
#include <cstring>

struct _n_PeerFft {
  int n, N, size, rank, m, w;
  int *first, *column, *dfirst; /* dfirst: on the device */
  cudaStream_t stream;
  cufftHandle plan[2];
  double *ext, *buffer[2];
  cufftDoubleComplex *spectrum;
};

enum {
  THREADS = 128
};

static __device__ double odd(const double *v, int n, int stride, int i) /* entry i of the odd extension of n numbers */
{
  if (i == 0 || i == n + 1) return 0;
  return i <= n ? v[(ptrdiff_t)(i - 1) * stride] : -v[(ptrdiff_t)(2 * n + 1 - i) * stride];
}

/* rows: lines of n numbers, line apart, stride between elements */
static __global__ void extend(int n, const double *v, ptrdiff_t line, int stride, double *ext)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;

  if (i < 2 * (n + 1)) ext[(ptrdiff_t)blockIdx.y * 2 * (n + 1) + i] = odd(v + blockIdx.y * line, n, stride, i);
}

/* columns, out of blocks of [column][row] by rank */
static __global__ void extend_blocks(int N, int w, int size, const int *first, const double *v, double *ext)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x, c = blockIdx.y;
  double x = 0;

  if (i >= 2 * (N + 1)) return;
  if (i != 0 && i != N + 1) {
    const int R = i <= N ? i - 1 : 2 * N + 1 - i;
    int p = 0;

    while (p < size - 1 && R >= first[p + 1]) p++;
    x = v[(ptrdiff_t)w * first[p] + (ptrdiff_t)c * (first[p + 1] - first[p]) + R - first[p]];
    if (i > N) x = -x;
  }
  ext[(ptrdiff_t)c * 2 * (N + 1) + i] = x;
}

static __global__ void pack_columns(int n, int m, const cufftDoubleComplex *s, double *to)
{
  const int r = blockIdx.x * blockDim.x + threadIdx.x, c = blockIdx.y;

  if (r < m) to[(ptrdiff_t)c * m + r] = -0.5 * s[(ptrdiff_t)r * (n + 2) + c + 1].y;
}

static __global__ void divide(int n, int N, int column, const cufftDoubleComplex *s, double *ext)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x, c = blockIdx.y;
  double x = 0;

  if (i >= 2 * (N + 1)) return;
  if (i != 0 && i != N + 1) {
    const int R = i <= N ? i : 2 * N + 2 - i;
    const double a = sinpi(0.5 * (column + c + 1) / (n + 1)), b = sinpi(0.5 * R / (N + 1));

    x = -0.5 * s[(ptrdiff_t)c * (N + 2) + R].y / (4 * (a * a + b * b)) * (4. / ((double)(n + 1) * (N + 1)));
    if (i > N) x = -x;
  }
  ext[(ptrdiff_t)c * 2 * (N + 1) + i] = x;
}

static __global__ void pack_blocks(int N, int w, int size, const int *first, const cufftDoubleComplex *s, double *to)
{
  const int R = blockIdx.x * blockDim.x + threadIdx.x, c = blockIdx.y;
  int p = 0;

  if (R >= N) return;
  while (p < size - 1 && R >= first[p + 1]) p++;
  to[(ptrdiff_t)w * first[p] + (ptrdiff_t)c * (first[p + 1] - first[p]) + R - first[p]] =
    -0.5 * s[(ptrdiff_t)c * (N + 2) + R + 1].y;
}

static __global__ void result(int n, const cufftDoubleComplex *s, double *u)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;

  if (i < n) u[(ptrdiff_t)blockIdx.y * n + i] = -0.5 * s[(ptrdiff_t)blockIdx.y * (n + 2) + i + 1].y;
}

static dim3 grid(int n, int lines)
{
  return dim3((unsigned)((n + THREADS - 1) / THREADS), (unsigned)lines);
}

int PeerFftCreate(int n, int N, int size, int rank, const int first[], const int column[], void *stream, PeerFft *peer)
{
  PeerFft p;
  const size_t ints = (size_t)(size + 1) * sizeof(int);
  size_t most;
  int error = 0;

  *peer = NULL;
  if (!fft_load()) return -1;
  *peer = p = (PeerFft)calloc(1, sizeof(*p));
  p->n = n;
  p->N = N;
  p->size = size;
  p->rank = rank;
  p->m = first[rank + 1] - first[rank];
  p->w = column[rank + 1] - column[rank];
  p->stream = (cudaStream_t)stream;
  p->first = (int *)malloc(ints);
  p->column = (int *)malloc(ints);
  memcpy(p->first, first, ints);
  memcpy(p->column, column, ints);
  most = (size_t)p->m * (n + 2);
  if ((size_t)p->w * (N + 2) > most) most = (size_t)p->w * (N + 2);
  error = (int)cudaMalloc((void **)&p->dfirst, ints);
  if (!error) error = (int)cudaMemcpy(p->dfirst, first, ints, cudaMemcpyHostToDevice);
  if (!error) error = (int)cudaMalloc((void **)&p->ext, 2 * most * sizeof(double));
  if (!error) error = (int)cudaMalloc((void **)&p->spectrum, most * sizeof(cufftDoubleComplex));
  for (int i = 0; i < 2 && !error; i++) error = (int)cudaMalloc((void **)&p->buffer[i], most * sizeof(double));
  for (int i = 0; i < 2 && !error; i++) {
    int length = 2 * ((i ? N : n) + 1), complex = length / 2 + 1;

    error =
      (int)fft.many(&p->plan[i], 1, &length, &length, 1, length, &complex, 1, complex, CUFFT_D2Z, i ? p->w : p->m);
    if (!error) error = (int)fft.stream(p->plan[i], p->stream);
  }
  return error;
}

int PeerFftBegin(PeerFft p, const double *f)
{
  int error;

  extend<<<grid(2 * (p->n + 1), p->m), THREADS, 0, p->stream>>>(p->n, f, p->n, 1, p->ext);
  error = (int)fft.forward[0](p->plan[0], p->ext, p->spectrum);
  pack_columns<<<grid(p->m, p->n), THREADS, 0, p->stream>>>(p->n, p->m, p->spectrum, p->buffer[0]);
  return error ? error : (int)cudaGetLastError();
}

int PeerFftMiddle(PeerFft p)
{
  int error;

  extend_blocks<<<grid(2 * (p->N + 1), p->w), THREADS, 0, p->stream>>>(p->N, p->w, p->size, p->dfirst, p->buffer[1],
                                                                       p->ext);
  error = (int)fft.forward[0](p->plan[1], p->ext, p->spectrum);
  divide<<<grid(2 * (p->N + 1), p->w), THREADS, 0, p->stream>>>(p->n, p->N, p->column[p->rank], p->spectrum, p->ext);
  if (!error) error = (int)fft.forward[0](p->plan[1], p->ext, p->spectrum);
  pack_blocks<<<grid(p->N, p->w), THREADS, 0, p->stream>>>(p->N, p->w, p->size, p->dfirst, p->spectrum, p->buffer[0]);
  return error ? error : (int)cudaGetLastError();
}

int PeerFftEnd(PeerFft p, double *u)
{
  int error;

  extend<<<grid(2 * (p->n + 1), p->m), THREADS, 0, p->stream>>>(p->n, p->buffer[1], 1, p->m, p->ext);
  error = (int)fft.forward[0](p->plan[0], p->ext, p->spectrum);
  result<<<grid(p->n, p->m), THREADS, 0, p->stream>>>(p->n, p->spectrum, u);
  return error ? error : (int)cudaGetLastError();
}

void PeerFftMessage(PeerFft p, int exchange, int q, double **send, size_t *nsend, double **recv, size_t *nrecv)
{
  const size_t columns[2] = {(size_t)p->column[q], (size_t)(p->column[q + 1] - p->column[q])},
               rows[2] = {(size_t)p->first[q], (size_t)(p->first[q + 1] - p->first[q])};

  *send = p->buffer[0] + (exchange ? (size_t)p->w * rows[0] : columns[0] * (size_t)p->m);
  *nsend = exchange ? (size_t)p->w * rows[1] : columns[1] * (size_t)p->m;
  *recv = p->buffer[1] + (exchange ? columns[0] * (size_t)p->m : (size_t)p->w * rows[0]);
  *nrecv = exchange ? columns[1] * (size_t)p->m : (size_t)p->w * rows[1];
}

void PeerFftDestroy(PeerFft *peer)
{
  PeerFft p = *peer;

  if (!p) return;
  for (int i = 0; i < 2; i++) {
    if (p->plan[i]) (void)fft.destroy(p->plan[i]);
    (void)cudaFree(p->buffer[i]);
  }
  (void)cudaFree(p->ext);
  (void)cudaFree(p->spectrum);
  (void)cudaFree(p->dfirst);
  free(p->first);
  free(p->column);
  free(p);
  *peer = NULL;
}
