/*
  Products of a transform's matrix with lines of single precision on the tensor cores, as product.cu has them in double: each
  number as the sum of two of 11 bits (TF32), A X = (A1 + A2) (X1 + X2) without A2 X2, in 24 bits. Sums of eight terms are
  added up outside of the tensor cores, which round towards zero.

  A block has 64 lines, whose terms are in shared memory (sums and differences of mirrored unknowns: product.cuh); a warp 16
  rows of the matrices of even and odd modes, or 32 of the whole one, for all of them. Periodic lines, whose modes are
  cosines and sines, mirror unknown i at n - i.
*/
#include "product.cuh"

enum {
  PARTS_LINES = 64,
  PARTS_ROWS = 256, /* of a matrix, at most, half as many where two blocks are on a multiprocessor */
  PARTS_TERMS = 8   /* of a step */
};

struct PartsArgs {
  BCRCudaProducts m;
  int synthesis;
  long nlines;
  BCRCudaLines f, u;
};

/* Which number of a line is the i-th of a group (second: odd modes, mirrored unknowns); -1: none */
template <int KIND>
static __device__ __forceinline__ int parts_number(int n, int modes, int i, int second)
{
  constexpr int RING = KIND == BCR_CUDA_PRODUCT_RING;
  int j = i;

  if (KIND == BCR_CUDA_PRODUCT_WHOLE) return second || i >= n ? -1 : i;
  if (KIND == BCR_CUDA_PRODUCT_ONE && modes) return 2 * i >= n ? -1 : (second ? 2 * i + 1 : n - 2 - 2 * i);
  if (modes) {
    j = 2 * i + second - RING;
    if (RING && i == 0) j = second ? -1 : 0;
    return j < n ? j : -1;
  }
  if (second) j = n - 1 + RING - i;
  return second ? (j > i && j < n ? j : -1) : (2 * i < n + RING ? i : -1);
}
/* Element l of row r of the lines in shared memory: neither rows nor columns meet in banks */
static __device__ __forceinline__ int parts_at(int r, int l)
{
  return r * PARTS_LINES + (l ^ ((r & 3) << 3 | (r >> 2 & 1)));
}

/* The upper 11 bits of x, rounded; x - that is exact, of which the tensor cores take as many */
static __host__ __device__ __forceinline__ unsigned parts_bits(float x)
{
  union {
    float x;
    unsigned bits;
  } v = {x};

  return (v.bits + 0x1000u) & 0xffffe000u;
}
static __host__ __device__ __forceinline__ float parts_float(unsigned bits)
{
  union {
    unsigned bits;
    float x;
  } v = {bits};

  return v.x;
}

/* d = a b + c, 16 x 8 times 8 x 8 */
static __device__ __forceinline__ void parts_16x8x8(float (&d)[4], const uint4 &a, unsigned b0, unsigned b1,
                                                    const float (&c)[4])
{
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, "
      "%13};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
#else
  (void)d, (void)a, (void)b0, (void)b1, (void)c;
#endif
}

template <int KIND, int ROWS, int BLOCKS>
__global__ void __launch_bounds__(2 * ROWS, BLOCKS)
  product_parts(const __grid_constant__ PartsArgs p, const float *f, float *u)
{
  constexpr int W = PARTS_LINES, BATCH = 8, G = ProductKind<KIND>::GROUPS,
                MATRICES = KIND == BCR_CUDA_PRODUCT_ONE ? 1 : 2; /* or tiles of 16 rows, one after the other */
  extern __shared__ __align__(16) char sm[];
  float *lines = (float *)sm, c[2][W / 8][4] = {};
  const int n = p.m.n, steps = p.m.steps, rows = PARTS_TERMS * steps, warp = threadIdx.x / 32, lane = threadIdx.x % 32,
            group = lane / 4, t = lane % 4, l = threadIdx.x % W, apart = blockDim.x / W;
  const long line = (long)blockIdx.x * W + l;
  const bool here = line < p.nlines;
  const int la = (int)((here ? line : 0) % p.f.na), lb = (int)((here ? line : 0) / p.f.na);
  const uint4 *A[2];
  uint4 next[MATRICES][2];

  auto fetch = [&](int k) {
#pragma unroll
    for (int i = 0; i < MATRICES; i++) {
#pragma unroll
      for (int part = 0; part < 2; part++) next[i][part] = __ldg(A[i] + (size_t)(2 * k + part) * 32);
    }
  };

  for (int i = 0; i < MATRICES; i++)
    A[i] = (const uint4 *)p.m.table[p.synthesis] +
           (size_t)(G == 2 ? i * p.m.tiles + warp : 2 * warp + i) * steps * 64 + lane;
  fetch(0);
  bcr_wait_before();
  f += la * p.f.sa + lb * p.f.sb;
  for (int i0 = threadIdx.x / W; i0 < rows; i0 += BATCH * apart) {
    float x[BATCH], y[BATCH];

#pragma unroll
    for (int q = 0; q < BATCH; q++) {
      const int i = i0 + q * apart, j = parts_number<KIND>(n, p.synthesis, i, 0),
                k = parts_number<KIND>(n, p.synthesis, i, 1);

      x[q] = here && j >= 0 ? f[j * p.f.s] : 0;
      y[q] = here && k >= 0 ? f[k * p.f.s] : 0;
    }
#pragma unroll
    for (int q = 0; q < BATCH; q++) {
      const int i = i0 + q * apart;
      float a = x[q], b = y[q];

      if (i >= rows) continue;
      if (G == 2 && !p.synthesis) { /* of an unknown that is its own mirror there is no difference */
        a = KIND == BCR_CUDA_PRODUCT_ONE && (i & 1) ? -(x[q] + y[q]) : x[q] + y[q];
        b = parts_number<KIND>(n, 0, i, 1) >= 0 ? x[q] - y[q] : 0;
      }
      lines[parts_at(i, l)] = a;
      if (G == 2) lines[parts_at(rows + i, l)] = b;
    }
  }
  __syncthreads();
#pragma unroll 1
  for (int k = 0; k < steps; k++) {
    uint4 a[2][2];

#pragma unroll
    for (int i = 0; i < 2; i++) {
#pragma unroll
      for (int part = 0; part < 2; part++) a[i][part] = next[MATRICES == 2 ? i : 0][part];
    }
    if (k + 1 < steps) fetch(k + 1);
#pragma unroll
    for (int q = 0; q < W / 8; q++) {
      unsigned b1[2][2], b2[2][2];

#pragma unroll
      for (int i = 0; i < G; i++) {
#pragma unroll
        for (int h = 0; h < 2; h++) {
          const float x = lines[parts_at(i * rows + PARTS_TERMS * k + 4 * h + t, 8 * q + group)];

          b1[i][h] = parts_bits(x);
          b2[i][h] = __float_as_uint(x - parts_float(b1[i][h]));
        }
      }
#pragma unroll
      for (int i = 0; i < 2; i++) {
        const int g = G == 2 ? i : 0;
        float d[4] = {};

        parts_16x8x8(d, a[i][1], b1[g][0], b1[g][1], d);
        parts_16x8x8(d, a[i][0], b2[g][0], b2[g][1], d);
        parts_16x8x8(d, a[i][0], b1[g][0], b1[g][1], d);
#pragma unroll
        for (int e = 0; e < 4; e++) c[i][q][e] += d[e];
      }
    }
  }
  __syncthreads();
#pragma unroll
  for (int e = 0; e < 4; e++) {
    const int r = 16 * (G == 2 ? warp : 2 * warp) + 8 * (e / 2) + group,
              j = parts_number<KIND>(n, !p.synthesis, r, 0),
              k = G == 2 ? parts_number<KIND>(n, !p.synthesis, r, 1) : parts_number<KIND>(n, 0, r + 16, 0);

#pragma unroll
    for (int q = 0; q < W / 8; q++) {
      const float v = c[0][q][e], w = c[1][q][e];
      const int m = 8 * q + 2 * t + e % 2;

      if (j >= 0) lines[parts_at(j, m)] = G == 2 && p.synthesis ? v + w : v;
      if (k >= 0) lines[parts_at(k, m)] = G == 2 && p.synthesis ? v - w : w;
    }
  }
  __syncthreads();
  u += la * p.u.sa + lb * p.u.sb;
#pragma unroll 8
  for (int i = threadIdx.x / W; i < n; i += apart)
    if (here) u[i * p.u.s] = lines[parts_at(i, l)];
  bcr_go_after();
}

static int parts_groups(const BCRCudaProducts *m)
{
  return m->kind == BCR_CUDA_PRODUCT_WHOLE ? 1 : 2;
}
static size_t parts_bytes(const BCRCudaProducts *m)
{
  const int terms = PARTS_TERMS * m->steps * parts_groups(m);

  return (size_t)(terms > m->n ? terms : m->n) * PARTS_LINES * sizeof(float);
}
static int parts_warps(const BCRCudaProducts *m)
{
  return m->tiles * parts_groups(m) / 2;
}

int BCRCudaProductsParts(const BCRCudaModes *modes, int shared, BCRCudaProducts *m)
{
  BCRCudaProducts p = *m;
  int terms = (p.n + 1) / 2;

  if (modes->periodic) {
    p.kind = BCR_CUDA_PRODUCT_RING;
    terms = p.n / 2 + 1;
  } else if (p.kind == BCR_CUDA_PRODUCT_WHOLE) {
    terms = p.n;
  }
  p.steps = (terms + PARTS_TERMS - 1) / PARTS_TERMS;
  p.tiles = (terms + 63) / 64 * 4;
  p.parts = 1;
  if (16 * parts_warps(&p) > PARTS_ROWS || parts_bytes(&p) > (size_t)shared) return 0;
  *m = p;
  return 1;
}

/* A thread four entries (rows `group` and eight later, terms t and four later) in both parts: of a step, a tile, a matrix */
template <int KIND>
static __global__ void parts_table(BCRCudaModes s, BCRCudaProducts m, int synthesis, float4 *table)
{
  const int lane = threadIdx.x, parity = KIND == BCR_CUDA_PRODUCT_ONE ? 1 : (int)blockIdx.z;
  float v[2][4];

  for (int e = 0; e < 4; e++) {
    const int row = 16 * (int)blockIdx.y + 8 * (e % 2) + lane / 4, term = 8 * (int)blockIdx.x + 4 * (e / 2) + lane % 4,
              mode = synthesis ? term : row, i = parts_number<KIND>(s.n, 0, synthesis ? row : term, 0),
              j = KIND == BCR_CUDA_PRODUCT_ONE ? (2 * mode + 1 < s.n ? 2 * mode + 1 : -1)
                                               : parts_number<KIND>(s.n, 1, mode, parity);
    const double x = i >= 0 && j >= 0 ? product_entry(s, synthesis, i, j) : 0;

    v[0][e] = parts_float(parts_bits((float)x));
    v[1][e] = parts_float(parts_bits((float)(x - v[0][e])));
  }
  table += ((size_t)(blockIdx.z * m.tiles + blockIdx.y) * m.steps + blockIdx.x) * 64 + lane;
  for (int part = 0; part < 2; part++) table[32 * part] = make_float4(v[part][0], v[part][1], v[part][2], v[part][3]);
}

#define PARTS_KIND(KIND, ...) \
  do { \
    switch (KIND) { \
    case BCR_CUDA_PRODUCT_WHOLE: { \
      constexpr int K = BCR_CUDA_PRODUCT_WHOLE; \
      __VA_ARGS__; \
    } break; \
    case BCR_CUDA_PRODUCT_ONE: { \
      constexpr int K = BCR_CUDA_PRODUCT_ONE; \
      __VA_ARGS__; \
    } break; \
    case BCR_CUDA_PRODUCT_RING: { \
      constexpr int K = BCR_CUDA_PRODUCT_RING; \
      __VA_ARGS__; \
    } break; \
    default: { \
      constexpr int K = BCR_CUDA_PRODUCT_PARITIES; \
      __VA_ARGS__; \
    } \
    } \
  } while (0)

int product_parts_table(BCRStream stream, const BCRCudaModes *modes, const BCRCudaProducts *m, int synthesis,
                        void *table)
{
  const dim3 grid((unsigned)m->steps, (unsigned)m->tiles,
                  m->kind == BCR_CUDA_PRODUCT_WHOLE || m->kind == BCR_CUDA_PRODUCT_ONE ? 1u : 2u);

  PARTS_KIND(m->kind, parts_table<K><<<grid, BCR_WARP, 0, bcr_stream(stream)>>>(*modes, *m, synthesis, (float4 *)table));
  return bcr_done();
}

template <int KIND, int ROWS, int BLOCKS>
static int launch(const PartsArgs &p, const float *f, float *u, cudaStream_t stream)
{
  const size_t bytes = parts_bytes(&p.m);
  cudaError_t e = cudaFuncSetAttribute((const void *)product_parts<KIND, ROWS, BLOCKS>,
                                       cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);

  if (e != cudaSuccess) return (int)e;
  return bcr_launch(1, product_parts<KIND, ROWS, BLOCKS>, dim3((unsigned)((p.nlines + PARTS_LINES - 1) / PARTS_LINES)),
                    BCR_WARP * parts_warps(&p.m), bytes, stream, p, f, u);
}

int product_parts_apply(BCRStream stream, const BCRCudaProducts *m, int synthesis, const BCRCudaLines *fl, const void *f,
                        const BCRCudaLines *ul, void *u)
{
  const PartsArgs p = {*m, synthesis, (long)fl->na * fl->nb, *fl, *ul};
  const float *from = (const float *)f;
  float *to = (float *)u;
  int error = 0;

  PARTS_KIND(m->kind, error = 32 * parts_warps(m) <= PARTS_ROWS
                                ? launch<K, PARTS_ROWS / 2, 2>(p, from, to, bcr_stream(stream))
                                : launch<K, PARTS_ROWS, 1>(p, from, to, bcr_stream(stream)));
  return error;
}
