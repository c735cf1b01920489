/*
  Products of a transform's matrix with lines that are neighbours in memory on the tensor cores, as product.cu has them, for
  many unknowns: more lines of a block, so that the matrix comes more seldom from the second-level cache, periodic lines
  folded, too (unknown i is mirrored at n - i; cosines are the even modes, sines the odd ones), and single precision without
  double: each number as the sum of two of 11 bits (TF32), A X = (A1 + A2) (X1 + X2) without A2 X2, in 24 bits. Sums of eight
  terms are added up outside of the tensor cores then, which round towards zero.

  Terms of all lines of a block are in shared memory (sums and differences of mirrored unknowns: product.cuh); a warp has 16
  rows of the matrices of even and odd modes, or 32 of the whole one, for all of them.
*/
#include "product.cuh"

enum {
  ACROSS_TERMS = 8 /* of a step */
};

/* Lines of a block; its warps, at most; blocks of a multiprocessor */
template <typename T_, int W_, int WARPS_, int BLOCKS_>
struct AcrossShape {
  typedef T_ T;
  static constexpr int W = W_, WARPS = WARPS_, BLOCKS = BLOCKS_;
};

struct AcrossArgs {
  BCRCudaProducts m;
  int synthesis;
  long nlines;
  BCRCudaLines f, u;
};

/* Number i of a group is there: of both groups the first, and the second (odd modes, mirrored unknowns) */
template <int KIND>
static __device__ __forceinline__ bool across_one(int n, int i)
{
  return (KIND == BCR_CUDA_PRODUCT_WHOLE ? i : 2 * i) < n + (KIND == BCR_CUDA_PRODUCT_RING);
}
template <int KIND>
static __device__ __forceinline__ bool across_two(int n, int i)
{
  constexpr int RING = KIND == BCR_CUDA_PRODUCT_RING;

  return KIND != BCR_CUDA_PRODUCT_WHOLE && i >= RING && 2 * i < n - 1 + RING;
}
/* Which mode or unknown that is */
template <int KIND>
static __device__ __forceinline__ int across_first(int n, int modes, int i)
{
  if (KIND == BCR_CUDA_PRODUCT_WHOLE || !modes) return i;
  if (KIND == BCR_CUDA_PRODUCT_ONE) return n - 2 - 2 * i;
  return KIND == BCR_CUDA_PRODUCT_RING && i ? 2 * i - 1 : 2 * i;
}
template <int KIND>
static __device__ __forceinline__ int across_second(int n, int modes, int i)
{
  constexpr int RING = KIND == BCR_CUDA_PRODUCT_RING;

  return modes ? 2 * i + 1 - RING : n - 1 + RING - i;
}
/* Element l of row r of the lines in shared memory: neither rows nor columns meet in banks */
template <typename T, int W>
static __device__ __forceinline__ int across_at(int r, int l)
{
  return r * W + (l ^ (sizeof(T) == sizeof(double) ? product_swizzle(r) : (r & 3) << 3 | (r >> 2 & 1)));
}

/* The upper 11 bits of x, rounded; x - that is exact, of which the tensor cores take as many */
static __host__ __device__ __forceinline__ unsigned tf32_bits(float x)
{
  union {
    float x;
    unsigned bits;
  } v = {x};

  return (v.bits + 0x1000u) & 0xffffe000u;
}
static __host__ __device__ __forceinline__ float tf32_float(unsigned bits)
{
  union {
    unsigned bits;
    float x;
  } v = {bits};

  return v.x;
}

/* c += a b, 16 x 8 times 8 x 8; a, as tables have it: rows `group`, eight later, and again four terms later */
static __device__ __forceinline__ void across_16x8x8(float (&c)[4], const uint4 &a, unsigned b0, unsigned b1)
{
#if __CUDA_ARCH__ >= 800
  asm(
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
    : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
#else
  (void)c, (void)a, (void)b0, (void)b1;
#endif
}
/* The same for both tiles of the warp and two times eight lines, of terms x[][0] and four later x[][1] */
template <int MATRICES, int G>
static __device__ __forceinline__ void across_add(double (*c0)[4], double (*c1)[4], const uint4 (&a)[MATRICES][2],
                                                  const double (&x)[2][G][2])
{
#pragma unroll
  for (int h = 0; h < 2; h++) {
#pragma unroll
    for (int q = 0; q < 2; q++) {
#pragma unroll
      for (int i = 0; i < 2; i++) {
        const uint4 v = a[i % MATRICES][h];

        product_16x8x4(i ? c1[q] : c0[q], {__hiloint2double((int)v.y, (int)v.x), __hiloint2double((int)v.w, (int)v.z)},
                       x[q][i % G][h]);
      }
    }
  }
}
/* in both parts: what waits for one another is apart */
template <int MATRICES, int G>
static __device__ __forceinline__ void across_add(float (*c0)[4], float (*c1)[4], const uint4 (&a)[MATRICES][2],
                                                  const float (&x)[2][G][2])
{
  float d[2][2][4] = {};
  unsigned b[2][G][2];

#pragma unroll
  for (int q = 0; q < 2; q++) {
#pragma unroll
    for (int i = 0; i < G; i++) b[q][i][0] = tf32_bits(x[q][i][0]), b[q][i][1] = tf32_bits(x[q][i][1]);
  }
#pragma unroll
  for (int part = 0; part < 3; part++) {
#pragma unroll
    for (int q = 0; q < 2; q++) {
#pragma unroll
      for (int i = 0; i < 2; i++) {
        const int g = i % G;

        if (part == 1)
          across_16x8x8(d[q][i], a[i % MATRICES][0], __float_as_uint(x[q][g][0] - tf32_float(b[q][g][0])),
                        __float_as_uint(x[q][g][1] - tf32_float(b[q][g][1])));
        else across_16x8x8(d[q][i], a[i % MATRICES][part ? 0 : 1], b[q][g][0], b[q][g][1]);
      }
    }
  }
#pragma unroll
  for (int q = 0; q < 2; q++) {
#pragma unroll
    for (int e = 0; e < 4; e++) {
      c0[q][e] += d[q][0][e];
      c1[q][e] += d[q][1][e];
    }
  }
}

template <class S, int KIND>
__global__ void __launch_bounds__(32 * S::WARPS, S::BLOCKS)
  product_across(const __grid_constant__ AcrossArgs p, const typename S::T *f, typename S::T *u)
{
  typedef typename S::T T;
  constexpr int W = S::W, BATCH = 8, G = ProductKind<KIND>::GROUPS,
                MATRICES = KIND == BCR_CUDA_PRODUCT_ONE ? 1 : 2; /* or tiles of 16 rows, one after the other */
  extern __shared__ __align__(16) char sm[];
  T *lines = (T *)sm, c[2][W / 8][4] = {};
  const int n = p.m.n, steps = p.m.steps, rows = ACROSS_TERMS * steps, warp = threadIdx.x / 32, lane = threadIdx.x % 32,
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
    A[i] = (const uint4 *)p.m.table[p.synthesis] + (size_t)(G == 2 ? i * p.m.tiles + warp : 2 * warp + i) * steps * 64 +
           lane;
  fetch(0);
  bcr_wait_before();
  f += la * p.f.sa + lb * p.f.sb;
  {
    /* numbers of a thread are equally far apart, but for mode 0 of periodic lines */
    const int i0 = threadIdx.x / W, modes = p.synthesis;
    const T *from = f + across_first<KIND>(n, modes, i0 + 1) * p.f.s,
            *other = f + across_second<KIND>(n, modes, i0) * p.f.s;
    const ptrdiff_t first = (across_first<KIND>(n, modes, 2) - across_first<KIND>(n, modes, 1)) * p.f.s,
                    second = (across_second<KIND>(n, modes, 2) - across_second<KIND>(n, modes, 1)) * p.f.s;

    from -= first;
    if (i0 == 0) from = f;
    for (int i = i0; i < rows; i += BATCH * apart) {
      T x[BATCH], y[BATCH];

#pragma unroll
      for (int q = 0; q < BATCH; q++) {
        const int j = i + q * apart;

        x[q] = y[q] = 0;
        if (here && across_one<KIND>(n, j)) x[q] = *from;
        if (here && across_two<KIND>(n, j)) y[q] = *other;
        from = KIND == BCR_CUDA_PRODUCT_RING && modes && j == 0 ? f + (2 * apart - 1) * p.f.s : from + apart * first;
        other += apart * second;
      }
#pragma unroll
      for (int q = 0; q < BATCH; q++) {
        const int j = i + q * apart;
        T a = x[q], b = y[q];

        if (j >= rows) continue;
        if (G == 2 && !p.synthesis) { /* of an unknown that is its own mirror there is no difference */
          a = KIND == BCR_CUDA_PRODUCT_ONE && (j & 1) ? -(x[q] + y[q]) : x[q] + y[q];
          b = across_two<KIND>(n, j) ? x[q] - y[q] : 0;
        }
        lines[across_at<T, W>(j, l)] = a;
        if (G == 2) lines[across_at<T, W>(rows + j, l)] = b;
      }
    }
  }
  __syncthreads();
#pragma unroll 1
  for (int k = 0; k < steps; k++) {
    uint4 a[MATRICES][2];

#pragma unroll
    for (int i = 0; i < MATRICES; i++) {
#pragma unroll
      for (int part = 0; part < 2; part++) a[i][part] = next[i][part];
    }
    if (k + 1 < steps) fetch(k + 1);
#pragma unroll
    for (int q = 0; q < W / 8; q += 2) {
      T x[2][G][2];

#pragma unroll
      for (int o = 0; o < 2; o++) {
#pragma unroll
        for (int i = 0; i < G; i++) {
#pragma unroll
          for (int h = 0; h < 2; h++)
            x[o][i][h] = lines[across_at<T, W>(i * rows + ACROSS_TERMS * k + 4 * h + t, 8 * (q + o) + group)];
        }
      }
      across_add<MATRICES, G>(c[0] + q, c[1] + q, a, x);
    }
  }
  __syncthreads();
#pragma unroll
  for (int e = 0; e < 4; e++) {
    const int r = 16 * (G == 2 ? warp : 2 * warp) + 8 * (e / 2) + group, modes = !p.synthesis,
              j = across_first<KIND>(n, modes, r), k = G == 2 ? across_second<KIND>(n, modes, r) : r + 16;
    const bool one = across_one<KIND>(n, r), two = G == 2 ? across_two<KIND>(n, r) : k < n;

#pragma unroll
    for (int q = 0; q < W / 8; q++) {
      const T v = c[0][q][e], w = c[1][q][e];
      const int m = 8 * q + 2 * t + e % 2;

      if (one) lines[across_at<T, W>(j, m)] = G == 2 && p.synthesis ? v + w : v;
      if (two) lines[across_at<T, W>(k, m)] = G == 2 && p.synthesis ? v - w : w;
    }
  }
  __syncthreads();
  u += la * p.u.sa + lb * p.u.sb;
#pragma unroll 8
  for (int i = threadIdx.x / W; i < n; i += apart)
    if (here) u[i * p.u.s] = lines[across_at<T, W>(i, l)];
  bcr_go_after();
}

/* Calls CALL with the shape S of kernels of so many warps. Accumulators of 64 lines are 128 registers of a thread in double
   precision */
#define ACROSS_SHAPE(single, warps, ...) \
  do { \
    if ((single) && (warps) <= 8) { \
      typedef AcrossShape<float, 64, 8, 2> S; \
      __VA_ARGS__; \
    } else if (single) { \
      typedef AcrossShape<float, 64, 16, 1> S; \
      __VA_ARGS__; \
    } else if ((warps) <= 8) { \
      typedef AcrossShape<double, 64, 8, 1> S; \
      __VA_ARGS__; \
    } else if ((warps) <= 12) { \
      typedef AcrossShape<double, 48, 12, 1> S; \
      __VA_ARGS__; \
    } else { \
      typedef AcrossShape<double, 32, 16, 1> S; \
      __VA_ARGS__; \
    } \
  } while (0)

static int across_groups(const BCRCudaProducts *m)
{
  return m->kind == BCR_CUDA_PRODUCT_WHOLE ? 1 : 2;
}
static size_t across_bytes(const BCRCudaProducts *m)
{
  const int terms = ACROSS_TERMS * m->steps * across_groups(m);

  return (size_t)(terms > m->n ? terms : m->n) * m->width * (m->across == 2 ? sizeof(float) : sizeof(double));
}
static int across_warps(const BCRCudaProducts *m)
{
  return m->tiles * across_groups(m) / 2;
}

int BCRCudaProductsAcross(const BCRCudaModes *modes, int single, int shared, BCRCudaProducts *m)
{
  BCRCudaProducts p = *m;
  int terms = (p.n + 1) / 2, most = 0, each = 4;

  if (modes->periodic) {
    p.kind = BCR_CUDA_PRODUCT_RING;
    terms = p.n / 2 + 1;
  } else if (p.kind == BCR_CUDA_PRODUCT_WHOLE) {
    terms = p.n;
    each = 8;
  }
  p.steps = (terms + ACROSS_TERMS - 1) / ACROSS_TERMS;
  p.tiles =
    (terms + 16 * each - 1) / (16 * each) * each; /* so that warps are a multiple of four, and threads of lines */
  p.across = single ? 2 : 1;
  ACROSS_SHAPE(single, across_warps(&p), p.width = S::W, most = S::WARPS);
  if (across_warps(&p) > most || across_bytes(&p) > (size_t)shared) return 0;
  *m = p;
  return 1;
}

/* A thread four entries (rows `group` and eight later, terms t and four later; single: in both parts): of a step, a tile, a
   matrix */
template <int KIND>
static __global__ void across_table(BCRCudaModes s, BCRCudaProducts m, int synthesis, double2 *table)
{
  const int lane = threadIdx.x, parity = KIND == BCR_CUDA_PRODUCT_ONE ? 1 : (int)blockIdx.z;
  double v[4];
  float x[2][4];

  for (int e = 0; e < 4; e++) {
    const int row = 16 * (int)blockIdx.y + 8 * (e % 2) + lane / 4, term = 8 * (int)blockIdx.x + 4 * (e / 2) + lane % 4,
              mode = synthesis ? term : row, i = synthesis ? row : term,
              j = parity ? 2 * mode + 1 - (KIND == BCR_CUDA_PRODUCT_RING) : across_first<KIND>(s.n, 1, mode);
    const bool here = across_one<KIND>(s.n, i) && (parity ? across_two<KIND>(s.n, mode) : across_one<KIND>(s.n, mode));

    v[e] = here ? product_entry(s, synthesis, i, j) : 0;
    x[0][e] = tf32_float(tf32_bits((float)v[e]));
    x[1][e] = tf32_float(tf32_bits((float)(v[e] - x[0][e])));
  }
  table += ((size_t)(blockIdx.z * m.tiles + blockIdx.y) * m.steps + blockIdx.x) * 64 + lane;
  for (int part = 0; part < 2; part++) {
    if (m.across == 1) table[32 * part] = make_double2(v[2 * part], v[2 * part + 1]);
    else ((float4 *)table)[32 * part] = make_float4(x[part][0], x[part][1], x[part][2], x[part][3]);
  }
}

#define ACROSS_KIND(KIND, ...) \
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

int product_across_table(BCRStream stream, const BCRCudaModes *modes, const BCRCudaProducts *m, int synthesis,
                         void *table)
{
  const dim3 grid((unsigned)m->steps, (unsigned)m->tiles,
                  m->kind == BCR_CUDA_PRODUCT_WHOLE || m->kind == BCR_CUDA_PRODUCT_ONE ? 1u : 2u);

  ACROSS_KIND(m->kind,
              across_table<K><<<grid, BCR_WARP, 0, bcr_stream(stream)>>>(*modes, *m, synthesis, (double2 *)table));
  return bcr_done();
}

template <class S, int KIND>
static int launch(const AcrossArgs &p, const void *f, void *u, cudaStream_t stream)
{
  const auto kernel = product_across<S, KIND>;
  const size_t bytes = across_bytes(&p.m);
  cudaError_t e = cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);

  if (e != cudaSuccess) return (int)e;
  return bcr_launch(1, kernel, dim3((unsigned)((p.nlines + S::W - 1) / S::W)), BCR_WARP * across_warps(&p.m), bytes,
                    stream, p, (const typename S::T *)f, (typename S::T *)u);
}

int product_across_apply(BCRStream stream, const BCRCudaProducts *m, int synthesis, const BCRCudaLines *fl,
                         const void *f, const BCRCudaLines *ul, void *u)
{
  const AcrossArgs p = {*m, synthesis, (long)fl->na * fl->nb, *fl, *ul};
  int error = 0;

  ACROSS_KIND(m->kind,
              ACROSS_SHAPE(m->across == 2, across_warps(m), error = launch<S, K>(p, f, u, bcr_stream(stream))));
  return error;
}
