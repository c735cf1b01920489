/*
  Few rows of a field and blocks of vectors (capacitance.h). Vectors have as many numbers as rows differ, some hundreds to some
  hundred thousand, blocks as many vectors as directions are kept, some tens as a rule: sums are over pieces of vectors, several
  vectors at a time, in a fixed order.
*/
#include "capacitance.cuh"

namespace {

enum {
  PIECE = 4096, /* numbers of a vector that a block sums, at least: some for each thread */
  PIECES = 64,
  SLICES = 8, /* of a block's vectors, each another warp's, in a combination */
  MIXED = 8,  /* vectors that are made at a time */
  TILE = 4    /* vectors of both sides of a product that a block has */
};

struct Factor {
  double x, y;
};

static Factor factor_of(const double a[2])
{
  return {a[0], a[1]};
}

template <typename S>
__global__ void sparse_product(BCRCudaSparse A, double alpha, BCRCudaSpread x, BCRCudaSpread y, int add, double beta,
                               const typename Number<S>::R *d, const S *z, typename Number<S>::R *magnitude)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  S sum = Number<S>::make(0, 0), *to;
  double size = 0;

  if (i >= A.rows) return;
  if (alpha != 0) sum = sparse_row<S>(A, i, x, &size);
  to = at<S>(y, A.to ? A.to[i] : i);
  sum = times(alpha, sum);
  if (add) sum = *to + sum;
  if (d) {
    sum = sum + times(beta * (double)d[i], z[i]);
    size = fmax(size, (double)d[i] * size_of(z[i]));
  }
  *to = sum;
  if (magnitude) magnitude[i] = (typename Number<S>::R)size;
}

/* Product j of the blocks: its two vectors. The blocks are few */
template <typename S>
static __device__ __forceinline__ void product_of(const BCRCudaBlocks &blocks, ptrdiff_t n, int j, const S **x,
                                                  const S **y)
{
  int l = 0;

  while (j >= blocks.k[l] * blocks.m[l]) {
    j -= blocks.k[l] * blocks.m[l];
    l++;
  }
  *x = (const S *)blocks.X[l] + n * (j % blocks.k[l]);
  *y = (const S *)blocks.y[l] + n * (j / blocks.k[l]);
}

/* block (j, piece): of product j */
template <typename S>
__global__ void dots(ptrdiff_t n, BCRCudaBlocks blocks, Sum<S> *parts, S *sums)
{
  const ptrdiff_t piece = (n + gridDim.y - 1) / gridDim.y, first = piece * blockIdx.y,
                  end = first + piece < n ? first + piece : n;
  const S *a, *b;
  Sum<S> sum = zero<S>();

  product_of<S>(blocks, n, blockIdx.x, &a, &b);
  for (ptrdiff_t i = first + threadIdx.x; i < end; i += blockDim.x)
    sum = sum + conj_of(Number<S>::wide(a[i])) * Number<S>::wide(b[i]);
  sum = block_sum<S>(sum);
  if (threadIdx.x > 0) return;
  if (gridDim.y == 1) sums[blockIdx.x] = Number<S>::narrow(sum);
  else parts[(ptrdiff_t)gridDim.y * blockIdx.x + blockIdx.y] = sum;
}

/* block (l, j, piece): of products X_a^H y_b, TILE of each, from l and j TILE on */
template <typename S>
__global__ void dots_tile(ptrdiff_t n, int k, const S *X, int m, const S *y, Sum<S> *parts, S *sums)
{
  const ptrdiff_t piece = (n + gridDim.z - 1) / gridDim.z, first = piece * blockIdx.z,
                  end = first + piece < n ? first + piece : n;
  const int l = TILE * blockIdx.x, j = TILE * blockIdx.y;
  Sum<S> sum[TILE][TILE];

#pragma unroll
  for (int t = 0; t < TILE * TILE; t++) sum[t / TILE][t % TILE] = zero<S>();
  for (ptrdiff_t i = first + threadIdx.x; i < end; i += blockDim.x) {
    Sum<S> a[TILE], b[TILE];

#pragma unroll
    for (int t = 0; t < TILE; t++) {
      a[t] = l + t < k ? conj_of(Number<S>::wide(X[n * (l + t) + i])) : zero<S>();
      b[t] = j + t < m ? Number<S>::wide(y[n * (j + t) + i]) : zero<S>();
    }
#pragma unroll
    for (int t = 0; t < TILE * TILE; t++) sum[t / TILE][t % TILE] = sum[t / TILE][t % TILE] + a[t / TILE] * b[t % TILE];
  }
#pragma unroll
  for (int t = 0; t < TILE * TILE; t++) {
    const Sum<S> one = block_sum<S>(sum[t / TILE][t % TILE]);
    const int x = l + t / TILE, at = (j + t % TILE) * k + x;

    if (threadIdx.x > 0 || x >= k || j + t % TILE >= m) continue;
    if (gridDim.z == 1) sums[at] = Number<S>::narrow(one);
    else parts[(ptrdiff_t)gridDim.z * at + blockIdx.z] = one;
  }
}

template <typename S>
__global__ void add_parts(int pieces, const Sum<S> *parts, S *sums)
{
  const Sum<S> *mine = parts + (ptrdiff_t)pieces * blockIdx.x;
  Sum<S> sum = zero<S>();

  for (int i = threadIdx.x; i < pieces; i += blockDim.x) sum = sum + mine[i];
  for (int s = BCR_WARP / 2; s > 0; s >>= 1) sum = sum + Number<S>::shuffle(sum, s);
  if (threadIdx.x == 0) sums[blockIdx.x] = Number<S>::narrow(sum);
}

/* The combination of the blocks' vectors for number i of the warps' first one; the SLICES warps of a block have a part of the
   vectors each */
template <typename S>
static __device__ __forceinline__ S combination(ptrdiff_t n, ptrdiff_t i, const BCRCudaBlocks &blocks, const double *s)
{
  __shared__ S part[SLICES][BCR_WARP];
  S sum = Number<S>::make(0, 0);
  int first = 0;

  for (int l = 0; l < blocks.blocks; l++) {
    const S *X = (const S *)blocks.X[l];

    for (int j = threadIdx.y; j < blocks.k[l] && i < n; j += SLICES)
      sum = sum + coefficient(s, first + j, (S *)NULL) * X[n * j + i];
    first += blocks.k[l];
  }
  part[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  for (int t = 1; t < SLICES && threadIdx.y == 0; t++) sum = sum + part[t][threadIdx.x];
  return sum;
}

template <typename S>
__global__ void combine(ptrdiff_t n, BCRCudaBlocks blocks, BCRCudaCoefficients s, double alpha, S *y)
{
  const ptrdiff_t i = (ptrdiff_t)blockIdx.x * BCR_WARP + threadIdx.x;
  const S sum = combination<S>(n, i, blocks, s.there ? s.there : s.v);

  if (threadIdx.y == 0 && i < n) y[i] = y[i] + times(alpha, sum);
}

/* MIXED of the new vectors at a time, the last ones first, as the others need only those before them; the warps of a block have a
   part of the vectors each */
template <typename S>
__global__ void mix(ptrdiff_t n, int k, const S *X, int m, const double *s, S *Y)
{
  __shared__ S part[SLICES][MIXED][BCR_WARP];
  const ptrdiff_t i = (ptrdiff_t)blockIdx.x * BCR_WARP + threadIdx.x;

  for (int first = (m - 1) / MIXED * MIXED; first >= 0; first -= MIXED) {
    S sum[MIXED];

    for (int t = 0; t < MIXED; t++) sum[t] = Number<S>::make(0, 0);
    for (int l = threadIdx.y; l < k + first + MIXED && l < k + m && i < n; l += SLICES) {
      const S x = l < k ? X[n * l + i] : Y[n * (l - k) + i];

#pragma unroll
      for (int t = 0; t < MIXED; t++)
        if (first + t < m) sum[t] = sum[t] + coefficient(s, (first + t) * (k + m) + l, (S *)NULL) * x;
    }
    for (int t = 0; t < MIXED; t++) part[threadIdx.y][t][threadIdx.x] = sum[t];
    __syncthreads();
    for (int t = threadIdx.y; t < MIXED && first + t < m && i < n; t += SLICES) {
      S all = part[0][t][threadIdx.x];

      for (int w = 1; w < SLICES; w++) all = all + part[w][t][threadIdx.x];
      Y[n * (first + t) + i] = all;
    }
    __syncthreads();
  }
}

template <typename S>
__global__ void step(ptrdiff_t n, BCRCudaBlocks blocks, BCRCudaCoefficients s, BCRCudaStepEnd end)
{
  const ptrdiff_t i = (ptrdiff_t)blockIdx.x * BCR_WARP + threadIdx.x;
  const S sum = combination<S>(n, i, blocks, s.there ? s.there : s.v);
  S q, b, *z = (S *)end.z;

  if (threadIdx.y > 0 || i >= n) return;
  q = times(end.unit, ((S *)end.q)[i] + times(-1, sum));
  b = ((S *)end.b)[i] + Number<S>::make(-end.y[0], -end.y[1]) * q;
  ((S *)end.q1)[i] = q;
  ((S *)end.z1)[i] = z[i];
  ((S *)end.b)[i] = b;
  if (end.next != 0) z[i] = times(end.next, b);
}

/* Elements of a vector, each thread's in turn */
#define BCR_EACH(i, n) \
  for (ptrdiff_t i = (ptrdiff_t)blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += (ptrdiff_t)gridDim.x * blockDim.x)

template <typename S>
__global__ void set(ptrdiff_t n, Factor a, S *x)
{
  BCR_EACH(i, n) x[i] = Number<S>::make(a.x, a.y);
}

template <typename S>
__global__ void scale(ptrdiff_t n, double factor, double over, const S *x, S *y)
{
  BCR_EACH(i, n)
  {
    const Sum<S> v = times(factor, Number<S>::wide(x[i]));

    y[i] = Number<S>::narrow(over_of(v, over));
  }
}

template <typename S>
__global__ void add(ptrdiff_t n, Factor a, const S *x, S *y)
{
  BCR_EACH(i, n) y[i] = y[i] + Number<S>::make(a.x, a.y) * x[i];
}

static __device__ __forceinline__ double value_of(float a)
{
  return (double)a;
}
static __device__ __forceinline__ double value_of(double a)
{
  return a;
}
template <typename R>
static __device__ __forceinline__ double value_of(Complex<R> a)
{
  return size_of(a);
}

/* of numbers >= 0, or the sizes of others */
template <typename T>
static __device__ void largest_of(ptrdiff_t n, const T *v, double *parts)
{
  __shared__ double whole[BCR_SUM_THREADS];
  double most = 0, sum = 0;

  BCR_EACH(i, n) most = fmax(most, fabs(value_of(v[i])));
  whole[threadIdx.x] = most;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if ((int)threadIdx.x < s) whole[threadIdx.x] = fmax(whole[threadIdx.x], whole[threadIdx.x + s]);
    __syncthreads();
  }
  most = whole[0];
  BCR_EACH(i, n)
  {
    const double a = fabs(value_of(v[i])) / (most > 0 ? most : 1);

    sum += a * a;
  }
  sum = block_sum<double>(sum);
  if (threadIdx.x > 0) return;
  parts[2 * blockIdx.x] = most;
  parts[2 * blockIdx.x + 1] = sum;
}

/* block (i, 0): of v; (i, 1): of x */
template <typename S>
__global__ void largest(ptrdiff_t n, const typename Number<S>::R *v, const S *x, double *parts)
{
  if (blockIdx.y == 0) largest_of(v ? n : 0, v, parts);
  else largest_of(x ? n : 0, x, parts + 2 * gridDim.x);
}

template <typename S>
__global__ void nodes_sum(ptrdiff_t n, int dof, const typename Number<S>::R *l, const S *x, Sum<S> *parts)
{
  Sum<S> sum = zero<S>();

  BCR_EACH(i, n) sum = sum + times(l ? (double)l[i] : 1, Number<S>::wide(x[dof * i]));
  sum = block_sum<S>(sum);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

template <typename S>
__global__ void nodes_add(ptrdiff_t n, int dof, Factor alpha, const typename Number<S>::R *r, S *x)
{
  const S f = Number<S>::make(alpha.x, alpha.y);

  BCR_EACH(i, n) x[dof * i] = x[dof * i] + times(r ? (double)r[i] : 1, f);
}

} // namespace

static inline unsigned each_blocks(ptrdiff_t n)
{
  return bcr_blocks(n, BCR_THREADS, BCR_GRID_ROWS);
}

int BCRCudaSparseProduct(BCRStream stream, int type, const BCRCudaSparse *A, double alpha, const BCRCudaSpread *x,
                         const BCRCudaSpread *y, int add, double beta, const void *d, const void *z, void *magnitude)
{
  if (A->rows == 0) return 0;
  BCR_CUDA_NUMBERS(type, sparse_product<S>
                   <<<(unsigned)((A->rows + BCR_THREADS - 1) / BCR_THREADS), BCR_THREADS, 0, bcr_stream(stream)>>>(
                     *A, alpha, *x, *y, add, beta, (const R *)d, (const S *)z, (R *)magnitude));
  return bcr_done();
}

int BCRCudaDots(BCRStream stream, int type, ptrdiff_t n, const BCRCudaBlocks *blocks, void *work, void *sums)
{
  unsigned all = 0, pieces, most = PIECES;

  for (int l = 0; l < blocks->blocks; l++) all += (unsigned)(blocks->k[l] * blocks->m[l]);
  if (!all) return 0;
  if (most > BCR_CUDA_DOTS / all) most = BCR_CUDA_DOTS / all;
  pieces = bcr_blocks(n, PIECE, most > 1 ? most : 1);
  if (blocks->blocks == 1 && blocks->m[0] > 1) {
    const int k = blocks->k[0], m = blocks->m[0];
    const dim3 grid((unsigned)((k + TILE - 1) / TILE), (unsigned)((m + TILE - 1) / TILE), pieces);

    BCR_CUDA_NUMBERS(type, {
      dots_tile<S><<<grid, BCR_SUM_THREADS, 0, bcr_stream(stream)>>>(
        n, k, (const S *)blocks->X[0], m, (const S *)blocks->y[0], (Sum<S> *)work, (S *)sums);
      if (pieces > 1)
        add_parts<S><<<all, BCR_WARP, 0, bcr_stream(stream)>>>((int)pieces, (const Sum<S> *)work, (S *)sums);
    });
    return bcr_done();
  }
  BCR_CUDA_NUMBERS(type, {
    dots<S><<<dim3(all, pieces), BCR_SUM_THREADS, 0, bcr_stream(stream)>>>(n, *blocks, (Sum<S> *)work, (S *)sums);
    if (pieces > 1)
      add_parts<S><<<all, BCR_WARP, 0, bcr_stream(stream)>>>((int)pieces, (const Sum<S> *)work, (S *)sums);
  });
  return bcr_done();
}

static inline unsigned warps(ptrdiff_t n)
{
  return (unsigned)((n + BCR_WARP - 1) / BCR_WARP);
}

int BCRCudaCombine(BCRStream stream, int type, ptrdiff_t n, const BCRCudaBlocks *blocks, const BCRCudaCoefficients *s,
                   double alpha, void *y)
{
  if (n == 0) return 0;
  BCR_CUDA_NUMBERS(type, combine<S>
                   <<<warps(n), dim3(BCR_WARP, SLICES), 0, bcr_stream(stream)>>>(n, *blocks, *s, alpha, (S *)y));
  return bcr_done();
}

int BCRCudaMix(BCRStream stream, int type, ptrdiff_t n, int k, const void *X, int m, const double *s, void *Y)
{
  if (n == 0) return 0;
  BCR_CUDA_NUMBERS(type, mix<S>
                   <<<warps(n), dim3(BCR_WARP, SLICES), 0, bcr_stream(stream)>>>(n, k, (const S *)X, m, s, (S *)Y));
  return bcr_done();
}

int BCRCudaStep(BCRStream stream, int type, ptrdiff_t n, const BCRCudaBlocks *blocks, const BCRCudaCoefficients *s,
                const BCRCudaStepEnd *end)
{
  if (n == 0) return 0;
  BCR_CUDA_NUMBERS(type, step<S><<<warps(n), dim3(BCR_WARP, SLICES), 0, bcr_stream(stream)>>>(n, *blocks, *s, *end));
  return bcr_done();
}

int BCRCudaSet(BCRStream stream, int type, ptrdiff_t n, const double alpha[2], void *x)
{
  if (n == 0) return 0;
  BCR_CUDA_NUMBERS(type, set<S><<<each_blocks(n), BCR_THREADS, 0, bcr_stream(stream)>>>(n, factor_of(alpha), (S *)x));
  return bcr_done();
}

int BCRCudaTimes(BCRStream stream, int type, ptrdiff_t n, double times, double over, const void *x, void *y)
{
  if (n == 0) return 0;
  BCR_CUDA_NUMBERS(type, scale<S>
                   <<<each_blocks(n), BCR_THREADS, 0, bcr_stream(stream)>>>(n, times, over, (const S *)x, (S *)y));
  return bcr_done();
}

int BCRCudaAdd(BCRStream stream, int type, ptrdiff_t n, const double alpha[2], const void *x, void *y)
{
  if (n == 0) return 0;
  BCR_CUDA_NUMBERS(type, add<S>
                   <<<each_blocks(n), BCR_THREADS, 0, bcr_stream(stream)>>>(n, factor_of(alpha), (const S *)x, (S *)y));
  return bcr_done();
}

int BCRCudaLargest(BCRStream stream, int type, ptrdiff_t n, const void *v, const void *x, double *parts)
{
  BCR_CUDA_NUMBERS(type, largest<S><<<dim3(BCR_CUDA_LARGEST, 2), BCR_SUM_THREADS, 0, bcr_stream(stream)>>>(
                           n, (const R *)v, (const S *)x, parts));
  return bcr_done();
}

int BCRCudaNodesSum(BCRStream stream, int type, ptrdiff_t nodes, int dof, const void *l, const void *x, void *work,
                    void *sum)
{
  const unsigned blocks = bcr_blocks(nodes, PIECE, 1024);

  BCR_CUDA_NUMBERS(type, {
    nodes_sum<S>
      <<<blocks, BCR_SUM_THREADS, 0, bcr_stream(stream)>>>(nodes, dof, (const R *)l, (const S *)x, (Sum<S> *)work);
    add_parts<S><<<1, BCR_WARP, 0, bcr_stream(stream)>>>((int)blocks, (const Sum<S> *)work, (S *)sum);
  });
  return bcr_done();
}

int BCRCudaNodesAdd(BCRStream stream, int type, ptrdiff_t nodes, int dof, const double alpha[2], const void *r, void *x)
{
  if (nodes == 0) return 0;
  BCR_CUDA_NUMBERS(type, nodes_add<S><<<each_blocks(nodes), BCR_THREADS, 0, bcr_stream(stream)>>>(
                           nodes, dof, factor_of(alpha), (const R *)r, (S *)x));
  return bcr_done();
}
