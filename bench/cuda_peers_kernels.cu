/*
  A Poisson solver by cuFFT, as a peer, in two and three dimensions: sine transforms as real
  transforms of the odd extension (cuFFT has no sine transform) along x, then the other axes (turned
  to the front on the way), division by the eigenvalues, and back. cuFFT is loaded when asked for,
  so that nothing links to it.
*/
#include <cuda_runtime.h>
#include <cufft.h>
#include <dlfcn.h>
#include <cstddef>

struct Peer {
  int dim, n, N; /* N = n + 1 */
  size_t rows;   /* n^(dim - 1) */
  cufftHandle plan;
  double *ext;
  double2 *hat;
  cufftResult (*exec)(cufftHandle, cufftDoubleReal *, cufftDoubleComplex *);
  cufftResult (*destroy)(cufftHandle);
};

static __global__ void extend(int n, size_t rows, const double *f, double *ext)
{
  const int N = n + 1;

  for (size_t j = blockIdx.y; j < rows; j += gridDim.y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i >= N) return;
    const double v = i ? f[j * n + i - 1] : 0;

    ext[j * 2 * N + i] = v;
    if (i) ext[j * 2 * N + 2 * N - i] = -v;
    else ext[j * 2 * N + N] = 0;
  }
}

/* imaginary parts of row (first, j), mode k to row (k, first), place j: of the odd extension, or
   (out) of the solution */
static __global__ void turn(int dim, int n, const double2 *hat, double *to, int out, int divide)
{
  __shared__ double tile[32][33];
  const int N = n + 1, k = blockIdx.x * 32 + threadIdx.x, firsts = dim == 3 ? n : 1, first = blockIdx.z;

  for (int y = threadIdx.y; y < 32; y += 8) {
    const int j = blockIdx.y * 32 + y;

    if (j < n && k < n) tile[y][threadIdx.x] = -0.5 * hat[((size_t)first * n + j) * (N + 1) + k + 1].y;
  }
  __syncthreads();
  for (int y = threadIdx.y; y < 32; y += 8) {
    const int mode = blockIdx.x * 32 + y, j = blockIdx.y * 32 + threadIdx.x;
    const size_t row = (size_t)mode * firsts + first;

    if (mode >= n || j >= n) continue;
    double v = tile[threadIdx.x][y];

    if (divide) {
      const double a = sinpi(0.5 * (mode + 1) / N), b = sinpi(0.5 * (j + 1) / N),
                   c = dim == 3 ? sinpi(0.5 * (first + 1) / N) : 0;

      v *= (dim == 3 ? 8. / N : 4.) / ((double)N * N) / (4 * a * a + 4 * b * b + 4 * c * c);
    }
    if (out) to[row * n + j] = v;
    else {
      to[row * 2 * N + j + 1] = v;
      to[row * 2 * N + 2 * N - j - 1] = -v;
      if (j == 0) to[row * 2 * N] = to[row * 2 * N + N] = 0;
    }
  }
}

extern "C" int PeerCreate(int dim, int n, void **peer)
{
  void *lib = dlopen("libcufft.so.12", RTLD_NOW);
  cufftResult (*many)(cufftHandle *, int, int *, int *, int, int, int *, int, int, cufftType, int);
  Peer *p;
  int N = n + 1, len = 2 * N;

  *peer = NULL;
  if (!lib) lib = dlopen("libcufft.so", RTLD_NOW);
  if (!lib) lib = dlopen("/usr/local/cuda/lib64/libcufft.so", RTLD_NOW);
  if (!lib) return -1;
  p = new Peer();
  p->dim = dim;
  p->n = n;
  p->N = N;
  p->rows = dim == 3 ? (size_t)n * n : (size_t)n;
  *(void **)&many = dlsym(lib, "cufftPlanMany");
  *(void **)&p->exec = dlsym(lib, "cufftExecD2Z");
  *(void **)&p->destroy = dlsym(lib, "cufftDestroy");
  if (!many || !p->exec || !p->destroy) return -1;
  if (cudaMalloc(&p->ext, p->rows * 2 * N * sizeof(double)) != cudaSuccess) return 2;
  if (cudaMalloc(&p->hat, p->rows * (N + 1) * sizeof(double2)) != cudaSuccess) return 2;
  if (many(&p->plan, 1, &len, &len, 1, 2 * N, &len, 1, N + 1, CUFFT_D2Z, (int)p->rows) != CUFFT_SUCCESS) return 3;
  *peer = p;
  return 0;
}

/* on the default stream */
extern "C" int PeerSolve(void *peer, const double *f, double *u)
{
  Peer *p = (Peer *)peer;
  const int last = 2 * p->dim - 1;
  const dim3 tiles((p->n + 31) / 32, (p->n + 31) / 32, p->dim == 3 ? p->n : 1), block(32, 8);

  extend<<<dim3((p->N + 127) / 128, p->rows < 65535 ? (unsigned)p->rows : 65535), 128>>>(p->n, p->rows, f, p->ext);
  for (int pass = 0; pass <= last; pass++) { /* each turns the axes once: forward along all of them, then back */
    if (p->exec(p->plan, p->ext, (cufftDoubleComplex *)p->hat) != CUFFT_SUCCESS) return 3;
    turn<<<tiles, block>>>(p->dim, p->n, p->hat, pass == last ? u : p->ext, pass == last, 2 * pass == last - 1);
  }
  return (int)cudaGetLastError();
}

extern "C" void PeerDestroy(void *peer)
{
  Peer *p = (Peer *)peer;

  if (!p) return;
  (void)p->destroy(p->plan);
  (void)cudaFree(p->ext);
  (void)cudaFree(p->hat);
  delete p;
}
