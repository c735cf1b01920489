/*
  Transforms of any end types and lengths up to a thousand as products with the matrix of eigenvectors, of which only one period of the sine is
  kept: double-precision products of the tensor cores, which up to a few hundred unknowns cost about as much as memory does. A block has W whole
  lines in shared memory, so that it works in place. Where both ends are alike, modes are even or odd, and sums and differences of mirrored unknowns
  halve an analysis. Everything in double, for single precision too.
*/
#include "common.cuh"

enum {
  PRODUCT_MT   = 2, /* tiles of 16 rows of the matrix that a warp has at a time */
  PRODUCT_MOST = 8  /* warps */
};

struct ProductArgs {
  BCRCudaModes m;
  int          synthesis, fold, terms, rows, padded, tiles; /* terms of a sum, rows of the matrix (of one parity); terms, up to a multiple of the products' length; tiles of one parity */
  long         nlines;
  BCRCudaLines f, u;
  const int   *extraof;
  ptrdiff_t    extrald, extrab;
};

/* c += a b, 16 x 4 times 4 x 8 */
static __device__ __forceinline__ void product_16x8x4(double *c, double a0, double a1, double b)
{
#if __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};" : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3]) : "d"(a0), "d"(a1), "d"(b));
#elif __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};" : "+d"(c[0]), "+d"(c[1]) : "d"(a0), "d"(b));
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};" : "+d"(c[2]), "+d"(c[3]) : "d"(a1), "d"(b));
#else
  (void)c, (void)a0, (void)a1, (void)b;
#endif
}

/* Entries of the matrix are f(pi I J/(2 P)), f a sine or cosine. Where all I or all J are even a table of every second value, or every fourth, is taken:
   neighbouring entries then lie in different banks of the shared memory. Shared memory has tables for both parities of J, then the lines. */
static __host__ __device__ constexpr int product_even(const BCRCudaModes &m)
{
  return !m.periodic && m.ib % 2 == 0 ? 2 : 1;
}
static __host__ __device__ constexpr int product_tables(const BCRCudaModes &m)
{
  return (6 * m.P / product_even(m) + 1) / 2 * 2;
}

template <typename T, int W>
__global__ void __launch_bounds__(32 * PRODUCT_MOST, W == 32 ? 2 : 1) product_lines(const __grid_constant__ ProductArgs p, const T *f, T *u, const T *extra)
{
  constexpr int     MT = PRODUCT_MT, NT = W / 8, PITCH = W + 4 /* no bank conflicts */, BATCH = 8;
  extern __shared__ __align__(16) char sm[];
  __shared__ ptrdiff_t                 foff[W], uoff[W], eoff[W];
  double                              *tab = (double *)sm, *B = tab + product_tables(p.m);
  const int                            lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane >> 2, t = lane & 3, n = p.m.n, even = product_even(p.m), whole = 4 * p.m.P / even;
  const long                           l0      = (long)blockIdx.x * W;
  const bool                           weights = !p.synthesis && (p.m.half[0] || p.m.half[1]);

  for (int l = threadIdx.x; l < W; l += blockDim.x) {
    const long line = min(l0 + l, p.nlines - 1); /* lines beyond the last one repeat it */
    const int  a = (int)(line % p.f.na), b = (int)(line / p.f.na), row = extra ? p.extraof[a] : -1;

    foff[l] = a * p.f.sa + b * p.f.sb;
    uoff[l] = a * p.u.sa + b * p.u.sb;
    eoff[l] = row >= 0 ? row * p.extrald + b * p.extrab : -1;
  }
  for (int i = threadIdx.x; i < whole + (p.fold ? whole / 2 : 0); i += blockDim.x) {
    int m = (i < whole ? i * even : (i - whole) * 2 * even) + (p.m.cosine && !p.m.periodic ? p.m.P : 0);

    if (m >= 4 * p.m.P) m -= 4 * p.m.P;
    tab[i] = (double)((const T *)p.m.tab)[m];
  }
  bcr_wait_before();
  __syncthreads();
  for (int e0 = threadIdx.x; e0 < p.padded * W; e0 += BATCH * blockDim.x) { /* neighbours in memory to neighbouring threads, many on their way at a time */
    T v[BATCH], w[BATCH];

#pragma unroll
    for (int q = 0; q < BATCH; q++) {
      const int e = e0 + q * (int)blockDim.x, i = p.f.s == 1 ? e % p.padded : e / W, l = p.f.s == 1 ? e / p.padded : e % W;

      v[q] = w[q] = 0;
      if (e < p.padded * W && i < p.terms) {
        const T *x = f + foff[l];

        v[q] = x[i * p.f.s];
        if (p.fold && n - 1 - i > i) w[q] = x[(n - 1 - i) * p.f.s];
      }
    }
#pragma unroll
    for (int q = 0; q < BATCH; q++) {
      const int e = e0 + q * (int)blockDim.x, i = p.f.s == 1 ? e % p.padded : e / W, l = p.f.s == 1 ? e / p.padded : e % W;
      double    a = (double)v[q], b = (double)w[q];

      if (e >= p.padded * W) continue;
      if (extra && eoff[l] >= 0 && i < p.terms) {
        a += (double)extra[eoff[l] + i];
        if (p.fold && n - 1 - i > i) b += (double)extra[eoff[l] + n - 1 - i];
      }
      if (weights) {
        if (i == 0) a *= p.m.half[0] ? 0.5 : 1, b *= p.m.half[1] ? 0.5 : 1;
        if (i == n - 1 && i > 0 && p.m.half[1]) a *= 0.5;
      }
      B[i * PITCH + l] = p.fold ? a + b : a;
      if (p.fold) B[(p.padded + i) * PITCH + l] = n - 1 - i > i ? a - b : 0.;
    }
  }
  __syncthreads();
  for (int tile = warp; tile < p.tiles * (p.fold ? 2 : 1); tile += blockDim.x >> 5) {
    const int     odd = tile >= p.tiles ? 1 : 0, first = (tile - odd * p.tiles) * 16 * MT, half = p.fold && (odd + p.m.jb) % 2 == 0 ? 2 : 1, period = whole / half;
    const double *b = B + (odd * p.padded + t) * PITCH + g, *values = half == 2 ? tab + whole : tab;
    double        c[MT][NT][4] = {}, x[MT][2], y[NT];
    int           at[MT][2], step[MT][2];

#pragma unroll
    for (int m = 0; m < MT; m++) {
#pragma unroll
      for (int h = 0; h < 2; h++) { /* lane's entry of the first product: row, term t; from one product to the next four terms on */
        const int      r = min(first + 16 * m + 8 * h + g, p.rows - 1), row = p.fold ? min(2 * r + odd, n - (n + odd + 1) % 2 - 1) : r, j = p.synthesis ? t : row, i = p.synthesis ? row : t;
        const unsigned I = (2u * i + p.m.ib) / even, J = (p.m.periodic ? 2u * ((j + 1) / 2) : (unsigned)(p.m.ja * j + p.m.jb)) / half;
        const int      cosine = p.m.periodic && (j == 0 || (j & 1));

        at[m][h]   = (int)((I * J + (cosine ? p.m.P : 0)) % period);
        step[m][h] = (int)((p.synthesis ? (p.m.periodic ? 4u : 4u * p.m.ja) * I : 8u / even * J) % period);
      }
    }
    auto fetch = [&](int k) {
#pragma unroll
      for (int m = 0; m < MT; m++) {
#pragma unroll
        for (int h = 0; h < 2; h++) {
          x[m][h] = values[at[m][h]];
          at[m][h] += step[m][h];
          if (at[m][h] >= period) at[m][h] -= period;
          if (p.synthesis && p.m.periodic && k == 0 && t == 0) at[m][h] = step[m][h]; /* after the constant this lane has sines: term 4 */
        }
      }
#pragma unroll
      for (int q = 0; q < NT; q++) y[q] = b[k * PITCH + q * 8];
    };
    fetch(0);
#pragma unroll 2
    for (int k = 0; k < p.padded; k += 4) {
      double a[MT][2], v[NT];

#pragma unroll
      for (int m = 0; m < MT; m++) {
        a[m][0] = x[m][0];
        a[m][1] = x[m][1];
      }
#pragma unroll
      for (int q = 0; q < NT; q++) v[q] = y[q];
      if (k + 4 < p.padded) fetch(k + 4);
#pragma unroll
      for (int q = 0; q < NT; q++) {
#pragma unroll
        for (int m = 0; m < MT; m++) product_16x8x4(c[m][q], a[m][0], a[m][1], v[q]);
      }
    }
#pragma unroll
    for (int m = 0; m < MT; m++) {
#pragma unroll
      for (int h = 0; h < 2; h++) {
        const int r = first + 16 * m + 8 * h + g, row = p.fold ? 2 * r + odd : r;

        if (r < p.rows && row < n) {
#pragma unroll
          for (int q = 0; q < NT; q++) {
#pragma unroll
            for (int e = 0; e < 2; e++) {
              const int l = 8 * q + 2 * t + e;

              if (l0 + l < p.nlines) u[uoff[l] + row * p.u.s] = (T)c[m][q][2 * h + e];
            }
          }
        }
      }
    }
  }
  bcr_go_after();
}

static int width(const BCRCudaModes *m, int shared)
{
  const int n = m->n + 8; /* both halves up to a multiple of four */

  for (int w = 32; w >= 16; w /= 2)
    if (((size_t)n * (w + 4) + (size_t)product_tables(*m)) * sizeof(double) + 2048 <= (size_t)shared) return w;
  return 0;
}

int BCRCudaProductPossible(const BCRCudaModes *modes, int shared)
{
  int device = 0, major = 0;

  if (cudaGetDevice(&device) != cudaSuccess || cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess) return 0;
  return major >= 8 && width(modes, shared) > 0;
}

template <typename T, int W>
static int launch(const ProductArgs *p, const T *f, T *u, const T *extra, cudaStream_t st)
{
  const int    tiles = p->tiles * (p->fold ? 2 : 1), rounds = (tiles + PRODUCT_MOST - 1) / PRODUCT_MOST, warps = (tiles + rounds - 1) / rounds;
  const size_t bytes = ((size_t)p->padded * (p->fold ? 2 : 1) * (W + 4) + (size_t)product_tables(p->m)) * sizeof(double);
  cudaError_t  e     = cudaFuncSetAttribute((const void *)product_lines<T, W>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);

  if (e != cudaSuccess) return (int)e;
  product_lines<T, W><<<(unsigned)((p->nlines + W - 1) / W), 32 * warps, bytes, st>>>(*p, f, u, extra);
  return bcr_done();
}

int BCRCudaProduct(BCRStream stream, const BCRCudaModes *modes, int synthesis, int single, int shared, const BCRCudaLines *fl, const void *f, const BCRCudaLines *ul, void *u, const void *extra, const int *extraof, ptrdiff_t extrald, ptrdiff_t extrab)
{
  const int   n = modes->n, W = width(modes, shared);
  ProductArgs p;
  int         error = (int)cudaErrorInvalidValue;

  p.m         = *modes;
  p.synthesis = synthesis;
  if (synthesis && !modes->periodic && modes->ja == 1 && modes->ib % 2 == 0) p.synthesis = p.m.half[0] = p.m.half[1] = 0; /* nodes, both ends alike: the matrix is symmetric, but for weights */
  /* mode j is (-1)^j times itself mirrored */
  p.fold    = !p.synthesis && !modes->periodic && modes->ja == 1;
  p.terms   = p.fold ? (n + 1) / 2 : n;
  p.rows    = p.terms;
  p.padded  = (p.terms + 3) / 4 * 4;
  p.tiles   = (p.rows + 16 * PRODUCT_MT - 1) / (16 * PRODUCT_MT);
  p.nlines  = (long)fl->na * fl->nb;
  p.f       = *fl;
  p.u       = *ul;
  p.extraof = extraof;
  p.extrald = extrald;
  p.extrab  = extrab;
  if (p.nlines < 1) return 0;
  if (W == 32) BCR_CUDA_TYPE(single, error = launch<T, 32>(&p, (const T *)f, (T *)u, (const T *)extra, bcr_stream(stream)));
  else if (W == 16) BCR_CUDA_TYPE(single, error = launch<T, 16>(&p, (const T *)f, (T *)u, (const T *)extra, bcr_stream(stream)));
  return error;
}
