/*
  Transforms of any end types and lengths up to a thousand as products with the matrix of
  eigenvectors (product.cuh), which up to a few hundred unknowns cost about as much as memory does.
  Everything in double, for single precision too.
*/
#include "product.cuh"

enum {
  /* unknowns at most where a block has 32 lines and a warp 32 results of each, for the registers of a block; else 16
     lines and 64 results. On an H200 this was no faster than smaller ones, with less code (commit 557b947) */
  PRODUCT_WIDE = 640,
  /* and where two such blocks are on a multiprocessor, with 128 registers of a thread: 251 unknowns on each axis take 0.84 to
     0.91 of the time (h200_convolutions.csv) */
  PRODUCT_TWO = 256,
  PRODUCT_MOST = 1024, /* unknowns: 16 warps of 64 results. Not measured apart */
  PRODUCT_TILES = 1024 /* results of a warp; half of them where there are PRODUCT_NARROW unknowns at most */
};

struct ProductArgs {
  BCRCudaProducts m;
  int synthesis;
  long nlines;
  BCRCudaLines f, u;
  const int *extraof;
  ptrdiff_t extrald, extrab;
};

template <typename T, int KIND, int W, int TILES, int BLOCKS>
__global__ void __launch_bounds__((W == 32 ? (BLOCKS == 2 ? PRODUCT_TWO : PRODUCT_WIDE) : PRODUCT_MOST) * W / 32,
                                  BLOCKS)
  product_lines(const __grid_constant__ ProductArgs p, const T *f, T *u, const T *extra)
{
  constexpr int MT = TILES / W / 16 / ProductKind<KIND>::GROUPS, G = ProductKind<KIND>::GROUPS, BATCH = 4;
  extern __shared__ __align__(16) char sm[];
  __shared__ ptrdiff_t foff[W], uoff[W], eoff[W];
  double *lines = (double *)sm;
  const int first = (threadIdx.x >> 5) * MT, padded = 4 * p.m.steps, n = p.m.n, apart = blockDim.x / 32;
  const long line0 = (long)blockIdx.x * W;
  const bool here = line0 + threadIdx.x % W < p.nlines;

  for (int l = threadIdx.x; l < W; l += blockDim.x) {
    const long line = min(line0 + l, p.nlines - 1); /* lines beyond the last one repeat it */
    const int a = (int)(line % p.f.na), b = (int)(line / p.f.na), row = extra ? p.extraof[a] : -1;

    foff[l] = a * p.f.sa + b * p.f.sb;
    uoff[l] = a * p.u.sa + b * p.u.sb;
    eoff[l] = row >= 0 ? row * p.extrald + b * p.extrab : -1;
  }
  bcr_wait_before();
  __syncthreads();
  if (p.f.s != 1) product_load<T, KIND, W>(p.m, p.synthesis, here, f + foff[threadIdx.x % W], p.f.s, lines);
  else {
    /* a warp some lines, parts of them on their way at a time */
    for (int l0 = threadIdx.x / 32; l0 < W; l0 += BATCH * apart) {
      for (int i = threadIdx.x % 32; i < padded; i += 32) {
        const int j = product_first<KIND>(p.synthesis, i), k = product_second<KIND>(p.m, p.synthesis, i);
        const bool one = product_one<KIND>(p.m, i), two = product_two<KIND>(p.m, i);
        T v[BATCH], w[BATCH];

#pragma unroll
        for (int q = 0; q < BATCH; q++) {
          const int l = min(l0 + q * apart, W - 1);
          const T *x = f + foff[l];

          v[q] = one ? x[j] : (T)0;
          w[q] = two ? x[k] : (T)0;
        }
#pragma unroll
        for (int q = 0; q < BATCH; q++) {
          const int l = l0 + q * apart;
          double a = (double)v[q], b = (double)w[q];

          if (l >= W) continue;
          if (extra && eoff[l] >= 0) {
            a += one ? (double)extra[eoff[l] + j] : 0;
            b += two ? (double)extra[eoff[l] + k] : 0;
          }
          product_terms<KIND>(p.synthesis, i, &a, &b);
          if (G == 2 && 2 * i + 1 == n) b = 0;
          lines[product_at<W>(i, l)] = a;
          if (G == 2) lines[product_at<W>(2 * padded - 1 - i, l)] = b;
        }
      }
    }
  }
  __syncthreads();
  {
    double c[G][MT][W / 8][4];

    product_multiply<KIND, MT, W>(p.m, p.m.table[p.synthesis], first, lines, c);
    __syncthreads();
    product_keep<KIND, MT, W>(p.m, p.synthesis, first, c, lines);
  }
  __syncthreads();
  if (p.u.s != 1) product_store<T, KIND, W>(p.m, p.synthesis, here, lines, u + uoff[threadIdx.x % W], p.u.s);
  else {
    for (int l = threadIdx.x / 32; l < W && line0 + l < p.nlines; l += apart) {
      T *y = u + uoff[l];

#pragma unroll 4
      for (int j = threadIdx.x % 32; j < n; j += 32)
        y[j] = (T)lines[product_at<W>(product_row<KIND>(p.m, !p.synthesis, j), l)];
    }
  }
  bcr_go_after();
}

static size_t product_bytes(const BCRCudaProducts *m, int W)
{
  return (size_t)4 * m->steps * (m->kind == BCR_CUDA_PRODUCT_WHOLE ? 1 : 2) * W * sizeof(double);
}
static int product_width(const BCRCudaProducts *m, int shared)
{
  return m->n <= PRODUCT_WIDE && product_bytes(m, 32) + BCR_CUDA_SHARED_RESERVED <= (size_t)shared
           ? 32
           : (product_bytes(m, 16) + BCR_CUDA_SHARED_RESERVED <= (size_t)shared ? 16 : 0);
}

int BCRCudaProductsPlan(const BCRCudaModes *modes, int shared, BCRCudaProducts *m)
{
  const int alike = !modes->periodic && modes->ja == 1, n = modes->n, terms = alike ? (n + 1) / 2 : n;
  int device = 0, major = 0;

  m->n = n;
  m->across = 0;
  /* ib 2: Dirichlet ends */
  m->kind =
    !alike ? BCR_CUDA_PRODUCT_WHOLE : (modes->ib == 2 && n % 2 == 0 ? BCR_CUDA_PRODUCT_ONE : BCR_CUDA_PRODUCT_PARITIES);
  m->steps = (terms + 3) / 4;
  m->tiles = (terms + 63) / 64 * 4;
  m->width = n <= PRODUCT_NARROW ? 16 : product_width(m, shared);
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess)
    return 0;
  return major >= 8 && n <= PRODUCT_MOST && m->width > 0;
}

size_t BCRCudaProductsCount(const BCRCudaProducts *m)
{
  const int matrices = m->kind == BCR_CUDA_PRODUCT_PARITIES || m->kind == BCR_CUDA_PRODUCT_RING ? 2 : 1;

  return (size_t)matrices * m->tiles * m->steps * (m->across ? 128 : 64);
}

/* A thread a pair of entries, eight rows apart, of lane (row % 8, term % 4) */
static __global__ void product_table(BCRCudaModes s, BCRCudaProducts m, int synthesis, double *table)
{
  const int lane = threadIdx.x & 31, term = 4 * blockIdx.x + (lane & 3), matrix = blockIdx.z,
            folded = m.kind != BCR_CUDA_PRODUCT_WHOLE, parity = m.kind == BCR_CUDA_PRODUCT_ONE ? 1 : matrix;

  table += 2 * ((((size_t)matrix * m.tiles + blockIdx.y) * m.steps + blockIdx.x) * 32 + lane);
  for (int h = 0; h < 2; h++) {
    const int row = 16 * blockIdx.y + 8 * h + (lane >> 2), mode = synthesis ? term : row, i = synthesis ? row : term,
              j = folded ? 2 * mode + parity : mode;
    table[h] = j < s.n && (folded ? 2 * i : i) < s.n ? product_entry(s, synthesis, i, j) : 0;
  }
}

int BCRCudaProductsTable(BCRStream stream, const BCRCudaModes *modes, const BCRCudaProducts *m, int synthesis,
                         double *table)
{
  if (m->across) return product_across_table(stream, modes, m, synthesis, table);
  product_table<<<dim3((unsigned)m->steps, (unsigned)m->tiles, m->kind == BCR_CUDA_PRODUCT_PARITIES ? 2u : 1u),
                  BCR_WARP, 0, bcr_stream(stream)>>>(*modes, *m, synthesis, table);
  return bcr_done();
}

template <typename T, int KIND, int W, int TILES, int BLOCKS>
static int launch(const ProductArgs *p, const T *f, T *u, const T *extra, cudaStream_t stream)
{
  const int rows = TILES / W, warps = (p->m.n + rows - 1) / rows;
  const size_t bytes = product_bytes(&p->m, W);
  cudaError_t e = cudaFuncSetAttribute((const void *)product_lines<T, KIND, W, TILES, BLOCKS>,
                                       cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);

  if (e != cudaSuccess) return (int)e;
  return bcr_launch(1, product_lines<T, KIND, W, TILES, BLOCKS>, dim3((unsigned)((p->nlines + W - 1) / W)),
                    BCR_WARP * warps, bytes, stream, *p, f, u, extra);
}
template <typename T, int KIND>
static int launch_kind(const ProductArgs *p, const T *f, T *u, const T *extra, cudaStream_t stream)
{
  if (p->m.n <= PRODUCT_NARROW) return launch<T, KIND, 16, PRODUCT_TILES / 2, 1>(p, f, u, extra, stream);
  if (p->m.width != 32) return launch<T, KIND, 16, PRODUCT_TILES, 1>(p, f, u, extra, stream);
  return p->m.n <= PRODUCT_TWO ? launch<T, KIND, 32, PRODUCT_TILES, 2>(p, f, u, extra, stream)
                               : launch<T, KIND, 32, PRODUCT_TILES, 1>(p, f, u, extra, stream);
}
template <typename T>
static int launch_any(const ProductArgs *p, const T *f, T *u, const T *extra, cudaStream_t stream)
{
  if (p->m.kind == BCR_CUDA_PRODUCT_WHOLE) return launch_kind<T, BCR_CUDA_PRODUCT_WHOLE>(p, f, u, extra, stream);
  return p->m.kind == BCR_CUDA_PRODUCT_ONE ? launch_kind<T, BCR_CUDA_PRODUCT_ONE>(p, f, u, extra, stream)
                                           : launch_kind<T, BCR_CUDA_PRODUCT_PARITIES>(p, f, u, extra, stream);
}

int BCRCudaProductsApply(BCRStream stream, const BCRCudaProducts *m, int synthesis, int single, const BCRCudaLines *fl,
                         const void *f, const BCRCudaLines *ul, void *u, const void *extra, const int *extraof,
                         ptrdiff_t extrald, ptrdiff_t extrab)
{
  ProductArgs p;
  int error = 0;

  p.m = *m;
  p.synthesis = synthesis != 0;
  p.nlines = (long)fl->na * fl->nb;
  p.f = *fl;
  p.u = *ul;
  p.extraof = extraof;
  p.extrald = extrald;
  p.extrab = extrab;
  if (p.nlines < 1) return 0;
  if (m->across) return product_across_apply(stream, m, p.synthesis, fl, f, ul, u);
  BCR_CUDA_TYPE(single, error = launch_any<T>(&p, (const T *)f, (T *)u, (const T *)extra, bcr_stream(stream)));
  return error;
}
