/*
  Steps of generalised conjugate residuals that need no host between them (capacitance.h, src/poisson/directions.c): one cluster of
  blocks makes what is left of a product with K, all sums of a step, and its end. Each block has a piece of the vectors; sums of the
  pieces stand in the blocks' shared memory, where all blocks read them, add them in the same order, and decide the same.
*/
#include "capacitance.cuh"
#include "cluster.cuh"
#include "sum.cuh"

namespace {

enum {
  THREADS = 512,
  WARPS = THREADS / BCR_WARP,
  FEW = 8,   /* blocks of a cluster that any device has room for */
  MANY = 16, /* for vectors of more than MOST numbers */
  MOST = 1024,
  PASSES = 3,  /* of q being made orthogonal to the directions */
  AT_ONCE = 4, /* sums, or directions, that a warp, or a thread, has on the way */
  NUMBERS = 4  /* sums beside those with directions: |q|^2, q^H b, |z|^2, |b|^2 */
};

template <typename S>
struct Parts {
  enum {
    COUNT = sizeof(Sum<S>) / sizeof(double),
    /* doubles of all sums */
    MOST_SUMS = (2 * BCR_CUDA_AHEAD_KNOWN + NUMBERS) * COUNT,
    BYTES = (int)((2 * MOST_SUMS + BCR_CUDA_AHEAD_KNOWN * COUNT) * sizeof(double))
  };
};

static __device__ __forceinline__ void put_parts(double *to, double a)
{
  to[0] = a;
}
static __device__ __forceinline__ void put_parts(double *to, Complex<double> a)
{
  to[0] = a.x;
  to[1] = a.y;
}
static __device__ __forceinline__ double get_parts(const double *from, double)
{
  return from[0];
}
static __device__ __forceinline__ Complex<double> get_parts(const double *from, Complex<double>)
{
  return {from[0], from[1]};
}
static __device__ __forceinline__ double square_of(double a)
{
  return a * a;
}
static __device__ __forceinline__ double square_of(Complex<double> a)
{
  return a.x * a.x + a.y * a.y;
}
/* of all lanes, in all lanes the same */
static __device__ __forceinline__ double warp_sum(double a)
{
  return bcr_warp_sum(a);
}
static __device__ __forceinline__ Complex<double> warp_sum(Complex<double> a)
{
  return {warp_sum(a.x), warp_sum(a.y)};
}

/* What a sum of a step is of */
template <typename S>
struct Pair {
  const S *x, *y;
};

template <typename S>
static __device__ __forceinline__ const S *direction_of(const BCRCudaAhead &st, int j)
{
  return (const S *)st.Q + st.n * (j < st.lead ? j : st.old + j - st.lead);
}

/* Sum j of K directions with q, NUMBERS, and of the directions with b */
template <typename S>
static __device__ __forceinline__ Pair<S> pair_of(const BCRCudaAhead &st, int K, int j)
{
  const int l = j - K;
  const S *q = (const S *)st.q, *z = (const S *)st.z, *b = (const S *)st.b;

  if (l < 0) return {direction_of<S>(st, j), q};
  if (l >= NUMBERS) return {direction_of<S>(st, l - NUMBERS), b};
  return {l < 2 ? q : l == 2 ? z : b, l == 0 ? q : l == 2 ? z : b};
}

/* sums of x^H y of the piece of this block, each by one warp, AT_ONCE at a time so that their memory is waited for together */
template <typename S>
static __device__ __forceinline__ void piece_sums(const BCRCudaAhead &st, int K, int count, ptrdiff_t first,
                                                  ptrdiff_t end, double *to)
{
  const int P = Parts<S>::COUNT;

  for (int j = bcr_warp(); j < count; j += AT_ONCE * WARPS) {
    Pair<S> p[AT_ONCE];
    Sum<S> sum[AT_ONCE];

#pragma unroll
    for (int t = 0; t < AT_ONCE; t++) {
      p[t] = pair_of<S>(st, K, j + t * WARPS < count ? j + t * WARPS : j);
      sum[t] = zero<S>();
    }
    for (ptrdiff_t i = first + (threadIdx.x & 31); i < end; i += BCR_WARP) {
      S x[AT_ONCE], y[AT_ONCE];

#pragma unroll
      for (int t = 0; t < AT_ONCE; t++) x[t] = p[t].x[i], y[t] = p[t].y[i];
#pragma unroll
      for (int t = 0; t < AT_ONCE; t++) sum[t] = sum[t] + conj_of(Number<S>::wide(x[t])) * Number<S>::wide(y[t]);
    }
#pragma unroll
    for (int t = 0; t < AT_ONCE; t++) sum[t] = warp_sum(sum[t]);
#pragma unroll
    for (int t = 0; t < AT_ONCE; t++)
      if (j + t * WARPS < count) put_parts(to + (j + t * WARPS) * P, sum[t]);
  }
}

/* What a step decides by; the same in all threads of all blocks */
template <typename S>
struct Found {
  double q, b, norm, size, whole; /* whole: |q|^2 at first */
  Sum<S> y;
  bool again, kept, next;
};

/* sums: of K directions with q, NUMBERS, and where clean of the directions with b. first: of the product itself, else once more, as
   little was left of it */
template <typename S>
static __device__ __forceinline__ void find(const BCRCudaAhead &st, int K, bool clean, bool first, const double *sums,
                                            Found<S> *f)
{
  const int P = Parts<S>::COUNT;
  const Sum<S> none = zero<S>();
  const double *e = sums + (K + NUMBERS) * P, *s = sums + K * P;
  double before = s[0], zz = s[2 * P], bb = s[3 * P], known = 0, cleaned = 0, after, left;
  Sum<S> y = get_parts(s + P, none), both = none;

  for (int j = threadIdx.x & 31; j < K; j += BCR_WARP) {
    const Sum<S> c = get_parts(sums + j * P, none);

    known += square_of(c);
    if (!clean) continue;
    cleaned += square_of(get_parts(e + j * P, none));
    both = both + conj_of(c) * get_parts(e + j * P, none);
  }
  after = before - warp_sum(known);
  if (clean) {
    bb -= warp_sum(cleaned);
    y = y + times(-1, warp_sum(both));
  }
  if (first) {
    f->whole = before;
    f->size = fmax(st.size, before / zz);
  }
  f->again = after <= st.again * st.again * before;
  f->q = sqrt(fmax(after, 0.));
  f->b = sqrt(fmax(bb, 0.));
  f->kept = after > st.again * st.again * before && after > st.part * st.part * f->whole &&
            after > st.zero * st.zero * zz * f->size;
  f->y = over_of(y, f->q);
  left = bb - square_of(f->y);
  f->norm = sqrt(fmax(left, 0.));
  f->next = left > st.part * st.part * bb && square_of(f->y) >= st.part * st.part * bb;
}

/* The sums of all blocks, of width doubles each */
static __device__ __forceinline__ void add_blocks(int width, const double *mine, double *sums)
{
  for (int t = threadIdx.x; t < width; t += THREADS) {
    double sum = 0;

    for (int r = 0; r < (int)gridDim.x; r += FEW) {
      double part[FEW];

#pragma unroll
      for (int l = 0; l < FEW; l++) part[l] = cluster_read(mine + t, r + l);
#pragma unroll
      for (int l = 0; l < FEW; l++) sum += part[l];
    }
    sums[t] = sum;
  }
  __syncthreads();
}

/* Number i of what the directions give with coefficients c, and with e where that is not NULL. Some threads of the block share the
   directions of a number, and the first of them has the sums; there: this one has a number */
template <typename S>
static __device__ __forceinline__ void known_part(const BCRCudaAhead &st, int K, const double *c, const double *e,
                                                  bool there, ptrdiff_t i, int width, S *p, S *r)
{
  __shared__ S share[2][THREADS];
  const int shares = THREADS / width, x = threadIdx.x % width, mine = threadIdx.x / width;

  *p = *r = Number<S>::make(0, 0);
  for (int j = mine; j < K && there; j += AT_ONCE * shares) {
    S a[AT_ONCE];

#pragma unroll
    for (int t = 0; t < AT_ONCE; t++) a[t] = direction_of<S>(st, j + t * shares < K ? j + t * shares : j)[i];
#pragma unroll
    for (int t = 0; t < AT_ONCE; t++) {
      if (j + t * shares >= K) continue;
      *p = *p + coefficient(c, j + t * shares, (S *)NULL) * a[t];
      if (e) *r = *r + coefficient(e, j + t * shares, (S *)NULL) * a[t];
    }
  }
  if (shares == 1) return;
  __syncthreads();
  share[0][threadIdx.x] = *p;
  share[1][threadIdx.x] = *r;
  __syncthreads();
  for (int t = 1; t < shares && mine == 0; t++) {
    *p = *p + share[0][t * width + x];
    *r = *r + share[1][t * width + x];
  }
}

/* Numbers of this block's piece */
struct Piece {
  ptrdiff_t size, first, end;
  int width, shares; /* numbers at a time, threads of each */
};

/* The last coefficients are taken from q, and where it is kept it becomes a direction, with the end of the step, up to the next z */
template <typename S>
static __device__ __forceinline__ void end_piece(const BCRCudaAhead &st, int K, const Found<S> &f, const double *c,
                                                 const double *e, const Piece &piece, const BCRCudaSparse &into,
                                                 S *unit)
{
  const int mine = threadIdx.x / piece.width;
  const typename Number<S>::R *value = (const typename Number<S>::R *)into.value;
  S *q = (S *)st.q, *z = (S *)st.z, *b = (S *)st.b;

  for (ptrdiff_t base = piece.first; base < piece.first + piece.size; base += piece.width) {
    const ptrdiff_t i = base + threadIdx.x % piece.width;
    const bool there = i < piece.end && mine < piece.shares;
    S p, r;

    known_part<S>(st, K, c, e, there, i, piece.width, &p, &r);
    if (!there || mine > 0) continue;
    p = q[i] + times(-1, p);
    if (!f.kept) {
      q[i] = p;
      continue;
    }
    p = times(1 / f.q, p);
    r = b[i] + times(-1, r) + times(-1, Number<S>::narrow(f.y) * p);
    ((S *)st.Q)[st.n * st.k + i] = p;
    ((S *)st.Z)[st.n * st.k + i] = z[i];
    b[i] = r;
    if (!f.next) continue;
    r = times(1 / f.norm, r);
    z[i] = r;
    if (!into.start && !into.from) unit[into.to[i]] = value ? times((double)value[i], r) : r;
  }
}

template <typename S>
static __device__ void record(const BCRCudaAhead &st, int K, bool clean, const Found<S> &f, const double *c,
                              const double *e, BCRCudaAhead *state)
{
  const int P = Parts<S>::COUNT;
  double *to = st.records + (st.k % BCR_CUDA_AHEAD) * BCR_CUDA_AHEAD_RECORD(P), y[2] = {0, 0};

  for (int t = threadIdx.x; t < K * P; t += THREADS) {
    to[BCR_CUDA_RECORD + t] = c[t];
    if (clean) to[BCR_CUDA_RECORD + K * P + t] = e[t];
  }
  if (threadIdx.x > 0) return;
  put_parts(y, f.y);
  to[BCR_CUDA_RECORD_STATE] =
    !f.kept ? BCR_CUDA_AHEAD_DOUBT
            : BCR_CUDA_AHEAD_TAKEN + (f.next ? BCR_CUDA_AHEAD_NEXT : 0) + (clean ? BCR_CUDA_AHEAD_CLEAN : 0);
  to[BCR_CUDA_RECORD_Q] = f.q;
  to[BCR_CUDA_RECORD_B] = f.b;
  to[BCR_CUDA_RECORD_NORM] = f.norm;
  to[BCR_CUDA_RECORD_SIZE] = f.size;
  to[BCR_CUDA_RECORD_Y] = y[0];
  to[BCR_CUDA_RECORD_Y + 1] = y[1];
  state->stop = !f.kept || !f.next || !(f.norm > st.tol);
  if (!f.kept) return;
  state->k = st.k + 1;
  state->size = f.size;
  if (clean) state->cleaned = st.norm;
  state->norm = f.norm;
}

/* grid: the blocks of a cluster */
template <typename S>
__global__ void __launch_bounds__(THREADS, 1) ahead_step(BCRCudaAhead *state, BCRCudaSparse into, BCRCudaSparse from,
                                                         const typename Number<S>::R *d, S *unit, BCRCudaSpread y)
{
  extern __shared__ double shared[];
  const int P = Parts<S>::COUNT;
  double *mine = shared, *sums = shared + Parts<S>::MOST_SUMS, *all = sums + Parts<S>::MOST_SUMS; /* all: of q */

  bcr_wait_before();
  if (state->stop) return;

  const BCRCudaAhead st = *state;
  const int K = st.lead + st.k - st.old;
  const bool clean = st.norm < st.clean * st.cleaned;
  const double *e = sums + (K + NUMBERS) * P;
  S *q = (S *)st.q, *z = (S *)st.z;
  Found<S> f = {};
  Piece piece;

  piece.size = ((st.n + gridDim.x - 1) / gridDim.x + BCR_WARP - 1) / BCR_WARP * BCR_WARP;
  piece.first = piece.size * blockIdx.x;
  piece.end = piece.first + piece.size < st.n ? piece.first + piece.size : st.n;
  piece.width = piece.size < THREADS ? (int)piece.size : THREADS;
  piece.shares = THREADS / piece.width;
  for (ptrdiff_t i = piece.first + threadIdx.x; i < piece.end; i += THREADS) {
    double size;

    q[i] = sparse_row<S>(from, (int)i, y, &size) + times((double)d[i], z[i]);
  }
  for (int pass = 0; pass < PASSES; pass++) {
    __syncthreads();
    piece_sums<S>(st, K, K + NUMBERS + (clean ? K : 0), piece.first, piece.end, mine);
    cluster_arrive();
    cluster_wait();
    add_blocks((K + NUMBERS + (clean ? K : 0)) * P, mine, sums);
    find<S>(st, K, clean, pass == 0, sums, &f);
    for (int t = threadIdx.x; t < K * P; t += THREADS) all[t] = pass ? all[t] + sums[t] : sums[t];
    if (!f.again || pass == PASSES - 1) break;
    end_piece<S>(st, K, f, sums, NULL, piece, into, unit);
    cluster_arrive(); /* nobody reads sums any more */
    cluster_wait();
  }
  if (f.kept) end_piece<S>(st, K, f, sums, clean ? e : NULL, piece, into, unit);
  cluster_arrive(); /* nor now, and z is there */
  cluster_wait();
  if (f.kept && f.next && (into.start || into.from))
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < into.rows; i += gridDim.x * THREADS) {
      double size;

      unit[into.to ? into.to[i] : i] = sparse_row<S>(into, i, {z, NULL, st.n}, &size);
    }
  if (blockIdx.x == 0) record<S>(st, K, clean, f, all, e, state);
}

template <typename S>
__global__ void ahead_begin(BCRCudaAhead first, BCRCudaAhead *state, BCRCudaSparse into, S *unit)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  double size;

  if (i == 0) *state = first;
  if (i < into.rows) unit[into.to ? into.to[i] : i] = sparse_row<S>(into, i, {first.z, NULL, first.n}, &size);
}

template <typename S>
static int step_launch(int blocks, BCRCudaAhead *state, const BCRCudaSparse *into, const BCRCudaSparse *from,
                       const void *d, void *unit, const BCRCudaSpread *y, cudaStream_t stream, int *fits)
{
  const size_t bytes = Parts<S>::BYTES;
  const void *kernel = (const void *)ahead_step<S>;
  cudaError_t e = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);

  if (e == cudaSuccess && blocks > FEW)
    e = cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  if (fits) {
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute[1];

    config.gridDim = dim3((unsigned)blocks);
    config.blockDim = dim3(THREADS);
    config.dynamicSmemBytes = bytes;
    attribute[0].id = cudaLaunchAttributeClusterDimension;
    attribute[0].val.clusterDim.x = (unsigned)blocks;
    attribute[0].val.clusterDim.y = attribute[0].val.clusterDim.z = 1;
    config.attrs = attribute;
    config.numAttrs = 1;
    *fits = 0;
    if (e == cudaSuccess) e = cudaOccupancyMaxActiveClusters(fits, ahead_step<S>, &config);
    if (e != cudaSuccess) *fits = 0;
    (void)cudaGetLastError(); /* a size that the device does not have is no error */
    return 0;
  }
  if (e != cudaSuccess) return (int)e;
  return bcr_launch_clusters(1, blocks, ahead_step<S>, dim3((unsigned)blocks), dim3(THREADS), bytes, stream, state,
                             *into, *from, (const typename Number<S>::R *)d, (S *)unit, *y);
}

} // namespace

int BCRCudaAheadBlocks(int type, ptrdiff_t n, int *blocks)
{
  int fits = 0;

  for (*blocks = n > MOST ? MANY : FEW; *blocks >= FEW; *blocks /= 2) {
    BCR_CUDA_NUMBERS(type, (void)step_launch<S>(*blocks, NULL, NULL, NULL, NULL, NULL, NULL, (cudaStream_t)0, &fits));
    if (fits > 0) return 0;
  }
  *blocks = 0;
  return 0;
}

int BCRCudaAheadBegin(BCRStream stream, int type, const BCRCudaAhead *first, const BCRCudaSparse *into, void *unit,
                      BCRCudaAhead *state)
{
  BCR_CUDA_NUMBERS(type, ahead_begin<S>
                   <<<bcr_blocks(into->rows, BCR_THREADS, 1u << 30), BCR_THREADS, 0, bcr_stream(stream)>>>(
                     *first, state, *into, (S *)unit));
  return bcr_done();
}

int BCRCudaAheadStep(BCRStream stream, int type, int blocks, BCRCudaAhead *state, const BCRCudaSparse *into,
                     const BCRCudaSparse *from, const void *d, void *unit, const BCRCudaSpread *y)
{
  int e = 0;

  BCR_CUDA_NUMBERS(type, e = step_launch<S>(blocks, state, into, from, d, unit, y, bcr_stream(stream), NULL));
  return e ? e : bcr_done();
}
