/*
  Products of a transform's matrix with lines in shared memory on the tensor cores, in double
  precision. A block has W whole lines, so that it works in place; a warp has some rows of the
  matrix for all of them, whose entries come from a table in the order in which its lanes take them.

  Where both ends are alike, mode j is (-1)^j times itself mirrored: sums and differences of
  mirrored unknowns, h = (n + 1)/2 of each, go with the even and the odd modes, half the work of the
  whole matrix, and for a synthesis the even and the odd modes give sums and differences. Between
  Dirichlet ends and for even n, sin(pi i (n + 1 - k)/(n + 1)) = -(-1)^i sin(pi i k/(n + 1)) makes
  the matrix of the even modes that of the odd ones up to signs and the order of its rows: one
  matrix serves both, and the way back.
*/
#pragma once

#include "common.cuh"
#include "product.h"

enum {
  /* unknowns at most where lines are few: blocks of half as many columns, two to a multiprocessor, in one of which a
     warp waits while one of the other multiplies. On an H200 this takes 0.66 to 0.96 times as long for 48 to 96 unknowns
     a side, and longer from 112 on (bench/results/h200_small.csv) */
  PRODUCT_NARROW = 96
};

template <int KIND>
struct ProductKind {
  /* of columns; of tables */
  static constexpr int GROUPS = KIND == BCR_CUDA_PRODUCT_WHOLE ? 1 : 2,
                       MATRICES = KIND == BCR_CUDA_PRODUCT_PARITIES ? 2 : 1;
};

/* Element l of row r of the lines in shared memory: neither rows nor columns meet in banks */
static __device__ __forceinline__ int product_swizzle(int r)
{
  return (r & 3) << 2 | (r >> 2 & 3);
}
template <int W>
static __device__ __forceinline__ int product_at(int r, int l)
{
  return r * W + (l ^ product_swizzle(r));
}
/* The row of unknown or mode j. Mirrored unknowns (and modes, where one matrix does for both ways)
   become their sum and difference in place: the second half ends with the last row, rows between
   are zero. Odd modes go backwards from there */
template <int KIND>
static __device__ __forceinline__ int product_row(const BCRCudaProducts &m, int modes, int j)
{
  const int rows = 8 * m.steps;

  if (KIND == BCR_CUDA_PRODUCT_WHOLE) return j;
  if (KIND == BCR_CUDA_PRODUCT_PARITIES && modes) return j & 1 ? rows - 1 - (j >> 1) : j >> 1;
  return 2 * j < m.n ? j : j + rows - m.n;
}

/* Terms of both groups are sums and differences of mirrored numbers; otherwise (whole matrix, and
   synthesis by parities) they are what is read */
template <int KIND>
static __device__ __forceinline__ bool product_folds(int synthesis)
{
  return KIND == BCR_CUDA_PRODUCT_ONE || (KIND == BCR_CUDA_PRODUCT_PARITIES && !synthesis);
}
/* Term i: made of numbers i and n - 1 - i, or 2 i and 2 i + 1, or i alone */
template <int KIND>
static __device__ __forceinline__ int product_first(int synthesis, int i)
{
  return ProductKind<KIND>::GROUPS == 1 || product_folds<KIND>(synthesis) ? i : 2 * i;
}
template <int KIND>
static __device__ __forceinline__ int product_second(const BCRCudaProducts &m, int synthesis, int i)
{
  return product_folds<KIND>(synthesis) ? m.n - 1 - i : 2 * i + 1;
}
template <int KIND>
static __device__ __forceinline__ void product_terms(int synthesis, int i, double *a, double *b)
{
  const double v = *a, w = *b;

  if (!product_folds<KIND>(synthesis)) return;
  *a = KIND == BCR_CUDA_PRODUCT_ONE && (i & 1) ? -(v + w) : v + w;
  *b = v - w;
}
/* Number i of those is there; is made of two */
template <int KIND>
static __device__ __forceinline__ bool product_one(const BCRCudaProducts &m, int i)
{
  return (ProductKind<KIND>::GROUPS == 1 ? i : 2 * i) < m.n;
}
template <int KIND>
static __device__ __forceinline__ bool product_two(const BCRCudaProducts &m, int i)
{
  return ProductKind<KIND>::GROUPS == 2 && 2 * i + 1 < m.n;
}

/* Lines that are apart in memory while neighbours are together: this thread's, from f on (here:
   there is one), its numbers s apart, as terms to the shared memory */
template <typename T, int KIND, int W>
static __device__ __forceinline__ void product_load(const BCRCudaProducts &m, int synthesis, bool here, const T *f,
                                                    ptrdiff_t s, double *lines)
{
  constexpr int BATCH = 8; /* on their way at a time */
  const int l = threadIdx.x % W, apart = blockDim.x / W, padded = 4 * m.steps;
  int i = threadIdx.x / W;
  const ptrdiff_t step = s * (product_first<KIND>(synthesis, apart) - product_first<KIND>(synthesis, 0)),
                  other = s * (product_second<KIND>(m, synthesis, apart) - product_second<KIND>(m, synthesis, 0));
  const T *x = f + s * product_first<KIND>(synthesis, i), *y = f + s * product_second<KIND>(m, synthesis, i);

  while (i < padded) {
    T v[BATCH], w[BATCH];

#pragma unroll
    for (int q = 0; q < BATCH; q++) {
      v[q] = w[q] = 0;
      if (here && product_one<KIND>(m, i + q * apart)) v[q] = *x;
      if (here && product_two<KIND>(m, i + q * apart)) w[q] = *y;
      x += step;
      y += other;
    }
#pragma unroll
    for (int q = 0; q < BATCH; q++, i += apart) {
      double a = (double)v[q], b = (double)w[q];

      if (i >= padded) continue;
      product_terms<KIND>(synthesis, i, &a, &b);
      if (ProductKind<KIND>::GROUPS == 2 && 2 * i + 1 == m.n) b = 0;
      lines[product_at<W>(i, l)] = a;
      if (ProductKind<KIND>::GROUPS == 2) lines[product_at<W>(8 * m.steps - 1 - i, l)] = b;
    }
  }
}
/* and results to u */
template <typename T, int KIND, int W>
static __device__ __forceinline__ void product_store(const BCRCudaProducts &m, int synthesis, bool here,
                                                     const double *lines, T *u, ptrdiff_t s)
{
  const int l = threadIdx.x % W, apart = blockDim.x / W;
  const ptrdiff_t step = s * apart;

  u += s * (threadIdx.x / W);
#pragma unroll 8
  for (int j = threadIdx.x / W; j < m.n; j += apart, u += step)
    if (here) *u = (T)lines[product_at<W>(product_row<KIND>(m, !synthesis, j), l)];
}

/* and the results of row r of the matrices: j and k have the sum and the difference, or one each */
template <int KIND, typename Put>
static __device__ __forceinline__ void product_results(const BCRCudaProducts &m, int synthesis, int r, double v,
                                                       double w, Put put)
{
  if (KIND == BCR_CUDA_PRODUCT_WHOLE) {
    if (r < m.n) put(r, v);
  } else if (KIND == BCR_CUDA_PRODUCT_ONE) {
    if (2 * r < m.n) {
      put(m.n - 2 - 2 * r, v);
      put(2 * r + 1, w);
    }
  } else if (synthesis) {
    if (2 * r < m.n) put(r, v + w);
    if (2 * r + 1 < m.n) put(m.n - 1 - r, v - w);
  } else {
    if (2 * r < m.n) put(2 * r, v);
    if (2 * r + 1 < m.n) put(2 * r + 1, w);
  }
}

/* c += a b, 16 x 4 times 4 x 8 */
static __device__ __forceinline__ void product_16x8x4(double *c, double2 a, double b)
{
#if __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a.x), "d"(a.y), "d"(b));
#elif __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(c[0]), "+d"(c[1])
      : "d"(a.x), "d"(b));
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(c[2]), "+d"(c[3])
      : "d"(a.y), "d"(b));
#else
  (void)c, (void)a, (void)b;
#endif
}

/* The warp's MT tiles of 16 rows, from tile `first` on, times all lines: lane's results are in
   c[][m][q][2 h + e], row 16 (first + m) + 8 h + lane/4, line 8 q + 2 (lane % 4) + e */
template <int KIND, int MT, int W>
static __device__ __forceinline__ void product_multiply(const BCRCudaProducts &p, const double *table, int first,
                                                        const double *lines,
                                                        double (&c)[ProductKind<KIND>::GROUPS][MT][W / 8][4])
{
  constexpr int NT = W / 8, G = ProductKind<KIND>::GROUPS, M = ProductKind<KIND>::MATRICES;
  const int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3, last = 8 * p.steps - 1;
  const double2 *A = (const double2 *)table + (size_t)first * p.steps * 32 + lane;
  double2 next[M][MT];

  auto fetch = [&](int k) {
#pragma unroll
    for (int i = 0; i < M; i++) {
#pragma unroll
      for (int m = 0; m < MT; m++) next[i][m] = __ldg(A + ((size_t)(i * p.tiles + m) * p.steps + k) * 32);
    }
  };
#pragma unroll
  for (int i = 0; i < G; i++) {
#pragma unroll
    for (int m = 0; m < MT; m++) {
#pragma unroll
      for (int q = 0; q < NT; q++) c[i][m][q][0] = c[i][m][q][1] = c[i][m][q][2] = c[i][m][q][3] = 0;
    }
  }
  fetch(0);
#pragma unroll 2
  for (int k = 0; k < p.steps; k++) {
    double2 a[M][MT];
    double b[G][NT];

#pragma unroll
    for (int i = 0; i < M; i++) {
#pragma unroll
      for (int m = 0; m < MT; m++) a[i][m] = next[i][m];
    }
    if (k + 1 < p.steps) fetch(k + 1);
#pragma unroll
    for (int i = 0; i < G; i++) {
      const int row = i ? last - 4 * k - t : 4 * k + t, swizzle = product_swizzle(row);

#pragma unroll
      for (int q = 0; q < NT; q++) b[i][q] = lines[row * W + ((8 * q + g) ^ swizzle)];
    }
#pragma unroll
    for (int i = 0; i < G; i++) {
#pragma unroll
      for (int m = 0; m < MT; m++) {
#pragma unroll
        for (int q = 0; q < NT; q++) product_16x8x4(c[i][m][q], a[M == 2 ? i : 0][m], b[i][q]);
      }
    }
  }
}

/* these results to the shared memory, which no warp reads any more */
template <int KIND, int MT, int W>
static __device__ __forceinline__ void product_keep(const BCRCudaProducts &p, int synthesis, int first,
                                                    const double (&c)[ProductKind<KIND>::GROUPS][MT][W / 8][4],
                                                    double *lines)
{
  constexpr int NT = W / 8, G = ProductKind<KIND>::GROUPS;
  const int lane = threadIdx.x & 31;

#pragma unroll
  for (int m = 0; m < MT; m++) {
#pragma unroll
    for (int h = 0; h < 2; h++) {
#pragma unroll
      for (int q = 0; q < NT; q++) {
#pragma unroll
        for (int e = 0; e < 2; e++)
          product_results<KIND>(
            p, synthesis, 16 * (first + m) + 8 * h + (lane >> 2), c[0][m][q][2 * h + e], c[G - 1][m][q][2 * h + e],
            [&](int j, double v) {
              lines[product_at<W>(product_row<KIND>(p, !synthesis, j), 8 * q + 2 * (lane & 3) + e)] = v;
            });
      }
    }
  }
}

/* Mode j at unknown i, as tables have it: an analysis counts halved ends half */
static __device__ __forceinline__ double product_entry(const BCRCudaModes &s, int synthesis, int i, int j)
{
  const unsigned I = 2u * i + s.ib, J = s.periodic ? 2u * ((j + 1) / 2) : (unsigned)(s.ja * j + s.jb),
                 P = (unsigned)s.P;
  const int cosine = s.periodic ? (j == 0 || (j & 1)) : s.cosine;
  const unsigned r = (I * J + (cosine ? P : 0)) % (4 * P), q = r / P;
  const double a = (double)(r % P) / (2. * P), v = q & 1 ? cospi(a) : sinpi(a);

  return (q >= 2 ? -v : v) * (!synthesis && ((i == 0 && s.half[0]) || (i == s.n - 1 && s.half[1])) ? 0.5 : 1);
}

/* productacross.cu */
int product_across_table(BCRStream stream, const BCRCudaModes *modes, const BCRCudaProducts *m, int synthesis,
                         double *table);
int product_across_apply(BCRStream stream, const BCRCudaProducts *m, int synthesis, const BCRCudaLines *fl,
                         const void *f, const BCRCudaLines *ul, void *u);
