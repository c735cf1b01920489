/*
  Products of a transform's matrix with lines that are neighbours in memory on the tensor cores, as product.cu has them, for
  many unknowns: a block has more lines, so that the matrix comes more seldom from the second-level cache, and periodic lines
  are folded, too (unknown i is mirrored at n - i; cosines are the even modes, sines the odd ones). In double precision.

  Terms of all lines of a block are in shared memory (sums and differences of mirrored unknowns: product.cuh); a warp has 16
  rows of the matrices of even and odd modes for all of them.
*/
#include "product.cuh"

enum {
  ACROSS_TERMS = 8 /* of a step */
};

struct AcrossArgs {
  BCRCudaProducts m;
  int synthesis;
  long nlines;
  BCRCudaLines f, u;
};

/* Number i of a group is there: of both groups the first, and the second (odd modes, mirrored unknowns) */
template <int RING>
static __device__ __forceinline__ bool across_one(int n, int i)
{
  return 2 * i < n + RING;
}
template <int RING>
static __device__ __forceinline__ bool across_two(int n, int i)
{
  return i >= RING && 2 * i < n - 1 + RING;
}
/* Which mode or unknown that is */
template <int RING>
static __device__ __forceinline__ int across_first(int modes, int i)
{
  return modes ? 2 * i - (RING && i) : i;
}
template <int RING>
static __device__ __forceinline__ int across_second(int n, int modes, int i)
{
  return modes ? 2 * i + 1 - RING : n - 1 + RING - i;
}

/* W: lines of a block. Their accumulators are 2 W registers of a thread */
template <int RING, int W, int WARPS>
__global__ void __launch_bounds__(32 * WARPS, 1)
  product_across(const __grid_constant__ AcrossArgs p, const double *f, double *u)
{
  constexpr int BATCH = 8;
  extern __shared__ __align__(16) char sm[];
  double *lines = (double *)sm, c[2][W / 8][4] = {};
  const int n = p.m.n, steps = p.m.steps, rows = ACROSS_TERMS * steps, warp = threadIdx.x / 32, lane = threadIdx.x % 32,
            group = lane / 4, t = lane % 4, l = threadIdx.x % W, i0 = threadIdx.x / W, apart = blockDim.x / W,
            modes = p.synthesis;
  const long line = (long)blockIdx.x * W + l;
  const bool here = line < p.nlines;
  const int la = (int)((here ? line : 0) % p.f.na), lb = (int)((here ? line : 0) / p.f.na);
  const double2 *A = (const double2 *)p.m.table[p.synthesis] + (size_t)warp * steps * 64 + lane;
  double2 next[2][2];
  auto fetch = [&](int k) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
#pragma unroll
      for (int h = 0; h < 2; h++) next[i][h] = __ldg(A + ((size_t)i * p.m.tiles * steps + k) * 64 + h * 32);
    }
  };

  fetch(0);
  bcr_wait_before();
  f += la * p.f.sa + lb * p.f.sb;
  {
    /* numbers of a thread are equally far apart, but for mode 0 of periodic lines */
    const ptrdiff_t first = (modes ? 2 : 1) * p.f.s, second = (modes ? 2 : -1) * p.f.s;
    const double *x = f + across_first<RING>(modes, i0) * p.f.s, *y = f + across_second<RING>(n, modes, i0) * p.f.s;

    for (int i = i0; i < rows; i += BATCH * apart) {
      double v[BATCH], w[BATCH];

#pragma unroll
      for (int q = 0; q < BATCH; q++) {
        const int j = i + q * apart;

        v[q] = w[q] = 0;
        if (here && across_one<RING>(n, j)) v[q] = *x;
        if (here && across_two<RING>(n, j)) w[q] = *y;
        x += apart * first - (RING && modes && j == 0 ? p.f.s : 0);
        y += apart * second;
      }
#pragma unroll
      for (int q = 0; q < BATCH; q++) {
        const int j = i + q * apart;
        const bool two = across_two<RING>(n, j);

        if (j >= rows) continue;
        lines[product_at<W>(j, l)] = modes ? v[q] : v[q] + w[q];
        lines[product_at<W>(rows + j, l)] = modes ? w[q] : (two ? v[q] - w[q] : 0);
      }
    }
  }
  __syncthreads();
#pragma unroll 1
  for (int k = 0; k < steps; k++) {
    double2 a[2][2];

#pragma unroll
    for (int i = 0; i < 2; i++) {
#pragma unroll
      for (int h = 0; h < 2; h++) a[i][h] = next[i][h];
    }
    if (k + 1 < steps) fetch(k + 1);
#pragma unroll
    for (int q = 0; q < W / 8; q++) {
      double x[2][2];

#pragma unroll
      for (int i = 0; i < 2; i++) {
#pragma unroll
        for (int h = 0; h < 2; h++)
          x[i][h] = lines[product_at<W>(i * rows + ACROSS_TERMS * k + 4 * h + t, 8 * q + group)];
      }
#pragma unroll
      for (int i = 0; i < 2; i++) {
#pragma unroll
        for (int h = 0; h < 2; h++) product_16x8x4(c[i][q], a[i][h], x[i][h]);
      }
    }
  }
  __syncthreads();
#pragma unroll
  for (int e = 0; e < 4; e++) {
    const int r = 16 * warp + 8 * (e / 2) + group, j = across_first<RING>(!modes, r),
              k = across_second<RING>(n, !modes, r);
    const bool one = across_one<RING>(n, r), two = across_two<RING>(n, r);

#pragma unroll
    for (int q = 0; q < W / 8; q++) {
      const double v = c[0][q][e], w = c[1][q][e];
      const int m = 8 * q + 2 * t + e % 2;

      if (one) lines[product_at<W>(j, m)] = modes ? v + w : v;
      if (two) lines[product_at<W>(k, m)] = modes ? v - w : w;
    }
  }
  __syncthreads();
  u += la * p.u.sa + lb * p.u.sb;
#pragma unroll 8
  for (int i = i0; i < n; i += apart)
    if (here) u[i * p.u.s] = lines[product_at<W>(i, l)];
  bcr_go_after();
}

int BCRCudaProductsAcross(const BCRCudaModes *modes, int shared, BCRCudaProducts *m)
{
  BCRCudaProducts p = *m;
  int terms = (p.n + 1) / 2;

  if (modes->periodic) {
    p.kind = BCR_CUDA_PRODUCT_RING;
    terms = p.n / 2 + 1;
  }
  if (p.kind != BCR_CUDA_PRODUCT_RING && p.kind != BCR_CUDA_PRODUCT_PARITIES) return 0;
  p.steps = (terms + ACROSS_TERMS - 1) / ACROSS_TERMS;
  p.tiles = (terms + 63) / 64 * 4; /* each a warp: threads are a multiple of lines */
  p.width = p.tiles <= 8 ? 64 : (p.tiles <= 12 ? 48 : 32);
  p.across = 1;
  if (p.tiles > 16 || 2 * sizeof(double) * ACROSS_TERMS * p.steps * p.width > (size_t)shared) return 0;
  *m = p;
  return 1;
}

/* A thread four entries (rows `group` and eight later, terms t and four later) of a step, a tile, a matrix */
template <int RING>
static __global__ void across_table(BCRCudaModes s, BCRCudaProducts m, int synthesis, double *table)
{
  table += 2 * (((size_t)(blockIdx.z * m.tiles + blockIdx.y) * m.steps + blockIdx.x) * 64 + threadIdx.x);
  for (int e = 0; e < 4; e++) {
    const int row = 16 * (int)blockIdx.y + 8 * (e % 2) + (int)threadIdx.x / 4,
              term = ACROSS_TERMS * (int)blockIdx.x + 4 * (e / 2) + (int)threadIdx.x % 4, mode = synthesis ? term : row,
              i = synthesis ? row : term, odd = (int)blockIdx.z;
    const bool here = across_one<RING>(s.n, i) && (odd ? across_two<RING>(s.n, mode) : across_one<RING>(s.n, mode));

    table[64 * (e / 2) + e % 2] =
      here ? product_entry(s, synthesis, i, odd ? across_second<RING>(s.n, 1, mode) : across_first<RING>(1, mode)) : 0;
  }
}

int product_across_table(BCRStream stream, const BCRCudaModes *modes, const BCRCudaProducts *m, int synthesis,
                         double *table)
{
  const dim3 grid((unsigned)m->steps, (unsigned)m->tiles, 2);

  if (m->kind == BCR_CUDA_PRODUCT_RING)
    across_table<1><<<grid, BCR_WARP, 0, bcr_stream(stream)>>>(*modes, *m, synthesis, table);
  else across_table<0><<<grid, BCR_WARP, 0, bcr_stream(stream)>>>(*modes, *m, synthesis, table);
  return bcr_done();
}

template <int RING, int W, int WARPS>
static int launch(const AcrossArgs &p, const double *f, double *u, cudaStream_t stream)
{
  const size_t bytes = 2 * sizeof(double) * ACROSS_TERMS * (size_t)p.m.steps * W;
  cudaError_t e = cudaFuncSetAttribute((const void *)product_across<RING, W, WARPS>,
                                       cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);

  if (e != cudaSuccess) return (int)e;
  return bcr_launch(1, product_across<RING, W, WARPS>, dim3((unsigned)((p.nlines + W - 1) / W)), BCR_WARP * p.m.tiles,
                    bytes, stream, p, f, u);
}
template <int RING>
static int launch_width(const AcrossArgs &p, const double *f, double *u, cudaStream_t stream)
{
  if (p.m.width == 64) return launch<RING, 64, 8>(p, f, u, stream);
  return p.m.width == 48 ? launch<RING, 48, 12>(p, f, u, stream) : launch<RING, 32, 16>(p, f, u, stream);
}

int product_across_apply(BCRStream stream, const BCRCudaProducts *m, int synthesis, const BCRCudaLines *fl,
                         const void *f, const BCRCudaLines *ul, void *u)
{
  const AcrossArgs p = {*m, synthesis, (long)fl->na * fl->nb, *fl, *ul};

  return m->kind == BCR_CUDA_PRODUCT_RING ? launch_width<1>(p, (const double *)f, (double *)u, bcr_stream(stream))
                                          : launch_width<0>(p, (const double *)f, (double *)u, bcr_stream(stream));
}
