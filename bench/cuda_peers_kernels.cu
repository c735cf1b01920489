/*
  A Poisson solver by cuFFT, as a peer: sine transforms as real transforms of the odd extension (cuFFT has no sine transform), rows, then columns
  (transposed on the way), division by the eigenvalues, and back. cuFFT is loaded when asked for, so that nothing links to it.
*/
#include <cuda_runtime.h>
#include <cufft.h>
#include <dlfcn.h>
#include <cstddef>

struct Peer {
  int           n, N; /* N = n + 1 */
  cufftHandle   plan;
  double       *ext;
  double2      *hat;
  cufftResult (*exec)(cufftHandle, cufftDoubleReal *, cufftDoubleComplex *);
  cufftResult (*destroy)(cufftHandle);
};

static __global__ void extend(int n, const double *f, double *ext)
{
  const int N = n + 1;

  for (int j = blockIdx.y; j < n; j += gridDim.y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i >= N) return;
    const double v = i ? f[(size_t)j * n + i - 1] : 0;

    ext[(size_t)j * 2 * N + i] = v;
    if (i) ext[(size_t)j * 2 * N + 2 * N - i] = -v;
    else ext[(size_t)j * 2 * N + N] = 0;
  }
}

/* imaginary parts of row j, mode k to row k, place j: of the odd extension, or (out) of the solution */
static __global__ void turn(int n, const double2 *hat, double *to, int out, int divide)
{
  __shared__ double tile[32][33];
  const int         N = n + 1, k = blockIdx.x * 32 + threadIdx.x;

  for (int y = threadIdx.y; y < 32; y += 8) {
    const int j = blockIdx.y * 32 + y;

    if (j < n && k < n) {
      double v = -0.5 * hat[(size_t)j * (N + 1) + k + 1].y;

      tile[y][threadIdx.x] = v;
    }
  }
  __syncthreads();
  for (int y = threadIdx.y; y < 32; y += 8) {
    const int row = blockIdx.x * 32 + y, j = blockIdx.y * 32 + threadIdx.x;

    if (row >= n || j >= n) continue;
    double v = tile[threadIdx.x][y];

    if (divide) {
      const double a = sinpi(0.5 * (row + 1) / N), b = sinpi(0.5 * (j + 1) / N);

      v *= 4. / ((double)N * N) / (4 * a * a + 4 * b * b);
    }
    if (out) to[(size_t)row * n + j] = v;
    else {
      to[(size_t)row * 2 * N + j + 1]         = v;
      to[(size_t)row * 2 * N + 2 * N - j - 1] = -v;
      if (j == 0) to[(size_t)row * 2 * N] = to[(size_t)row * 2 * N + N] = 0;
    }
  }
}

extern "C" int PeerCreate(int n, void **peer)
{
  void *lib = dlopen("libcufft.so.12", RTLD_NOW);
  cufftResult (*many)(cufftHandle *, int, int *, int *, int, int, int *, int, int, cufftType, int);
  Peer *p;
  int   N = n + 1, len = 2 * N;

  *peer = NULL;
  if (!lib) lib = dlopen("libcufft.so", RTLD_NOW);
  if (!lib) lib = dlopen("/usr/local/cuda/lib64/libcufft.so", RTLD_NOW);
  if (!lib) return -1;
  p    = new Peer();
  p->n = n;
  p->N = N;
  *(void **)&many       = dlsym(lib, "cufftPlanMany");
  *(void **)&p->exec    = dlsym(lib, "cufftExecD2Z");
  *(void **)&p->destroy = dlsym(lib, "cufftDestroy");
  if (!many || !p->exec || !p->destroy) return -1;
  if (cudaMalloc(&p->ext, (size_t)n * 2 * N * sizeof(double)) != cudaSuccess) return 2;
  if (cudaMalloc(&p->hat, (size_t)n * (N + 1) * sizeof(double2)) != cudaSuccess) return 2;
  if (many(&p->plan, 1, &len, &len, 1, 2 * N, &len, 1, N + 1, CUFFT_D2Z, n) != CUFFT_SUCCESS) return 3;
  *peer = p;
  return 0;
}

/* on the default stream */
extern "C" int PeerSolve(void *peer, const double *f, double *u)
{
  Peer      *p = (Peer *)peer;
  const dim3 tiles((p->n + 31) / 32, (p->n + 31) / 32), block(32, 8);

  extend<<<dim3((p->N + 127) / 128, p->n < 65535 ? p->n : 65535), 128>>>(p->n, f, p->ext);
  for (int pass = 0; pass < 4; pass++) { /* x, y, then (columns are rows here, and back) y, x */
    if (p->exec(p->plan, p->ext, (cufftDoubleComplex *)p->hat) != CUFFT_SUCCESS) return 3;
    if (pass == 0) turn<<<tiles, block>>>(p->n, p->hat, p->ext, 0, 0);
    else if (pass == 1) turn<<<tiles, block>>>(p->n, p->hat, p->ext, 0, 1);
    else turn<<<tiles, block>>>(p->n, p->hat, pass == 3 ? u : p->ext, pass == 3, 0);
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
