/* ring.h: which kernels, shapes, tables */
#include "ringalgebra.cuh"
#include "ringlaunch.cuh"
#include <cfloat>
#include <cmath>

/* ---- lengths, on the host ---- */

typedef struct {
  int n, each, half, fourth, pitch, firsts, nodes, kind;
} RingInfo;

static int ring_info(int n, RingInfo *i)
{
  i->n = n;
#define CASE_AS(KIND, N, ...) \
  case N: \
    i->each = RingLength<N, __VA_ARGS__>::E; \
    i->half = RingLength<N, __VA_ARGS__>::HALF; \
    i->fourth = RingLength<N, __VA_ARGS__>::FOURTH; \
    i->pitch = RingLength<N, __VA_ARGS__>::PITCH; \
    i->firsts = RingLength<N, __VA_ARGS__>::FIRSTS; \
    i->nodes = RingLength<N, __VA_ARGS__>::NODES; \
    i->kind = KIND; \
    return 1;
#define SMALL(...)    CASE_AS(RING_SMALL, __VA_ARGS__)
#define BIG(...)      CASE_AS(RING_BIG, __VA_ARGS__)
#define TENS(...)     CASE_AS(RING_TENS, __VA_ARGS__)
#define THIRTIES(...) CASE_AS(RING_THIRTIES, __VA_ARGS__)
  switch (n) {
    RING_LENGTHS(SMALL)
    RING_LENGTHS_BIG(BIG)
    RING_LENGTHS_TENS(TENS)
    RING_LENGTHS_THIRTIES(THIRTIES)
  default:
    return 0;
  }
#undef SMALL
#undef BIG
#undef TENS
#undef THIRTIES
#undef CASE_AS
}

int BCRCudaRingRoots(const BCRCudaRing *ring, int single, int d, double *w)
{
  if (ring->split.N1) return bcr_split_roots(ring, single != 0, d, w);
#define CASE(N, ...) \
  case N: \
    return ring_roots<RingLength<N, __VA_ARGS__>>(w);
  switch (ring->axis[d].len) {
    RING_LENGTHS(CASE)
    RING_LENGTHS_BIG(CASE)
    RING_LENGTHS_TENS(CASE)
    RING_LENGTHS_THIRTIES(CASE)
  default:
    return 0;
  }
#undef CASE
}

/* ---- shapes ---- */

static bool ring_node(const BCRCudaRingAxis *a)
{
  return a->ends == BCR_CUDA_RING_SINES || a->ends == BCR_CUDA_RING_COSINES;
}
/* lines across an axis, of which each is a pair: of n numbers, and one more between COSINES */
static int ring_pairs(const BCRCudaRingAxis *a)
{
  return a->len / 2 + (a->ends == BCR_CUDA_RING_COSINES);
}

typedef struct {
  int kind, ends, tasks[2], warps[2], across; /* of x and y: tasks of a plane, warps of a task; RingArgs */
  RingInfo info[2];
  size_t bytes; /* of shared memory */
} RingShape;

static int ring_shape(const BCRCudaRing *r, int single, RingShape *s)
{
  s->ends = 0;
  s->bytes = 0;
  for (int d = 0; d < 2; d++) {
    const BCRCudaRingAxis *a = &r->axis[d];
    RingInfo *i = &s->info[d];

    if (!ring_info(a->len, i)) return 0;
    const size_t numbers = (size_t)a->lines * (i->pitch + (ring_node(a) ? i->firsts : 0)),
                 bytes = numbers * (single ? sizeof(Cplx<float>) : sizeof(Cplx<double>));

    s->ends |= a->ends != BCR_CUDA_RING_PERIODIC && a->ends != BCR_CUDA_RING_CELL;
    s->warps[d] = (a->lines * (a->len / i->each) + 31) / 32;
    s->tasks[d] = (ring_pairs(&r->axis[1 - d]) + a->lines - 1) / a->lines;
    s->bytes = bytes > s->bytes ? bytes : s->bytes;
  }
  s->across = s->tasks[0] * r->axis[0].lines;
  const int kind = s->info[0].kind, other = s->info[1].kind;

  s->kind = kind > other ? kind : other;
  /* of other kinds, and for any ends, there are no kernels with lengths of two kinds */
  return kind == other ? !s->ends || kind <= RING_BIG : !s->ends && s->kind <= RING_BIG;
}

template <typename T>
static int ring_run(cudaStream_t stream, const BCRCudaRing *r, int back, const void *f, void *w, void *u, int *fits,
                    int (*plain)(const RingArgs<T> &, int, int, int, int, size_t, cudaStream_t, int *),
                    int (*ends)(const RingArgs<T> &, int, int, int, int, size_t, cudaStream_t, int *))
{
  RingArgs<T> a = ring_args<T>(r, f, w, u);
  RingShape s;

  if (!ring_shape(r, sizeof(T) == sizeof(float), &s)) return (int)cudaErrorNotSupported;
  a.planes = ring_divisor(r->planes);
  a.first = ring_divisor(s.tasks[back]);
  a.second = ring_divisor(s.tasks[1 - back]);
  a.both = ring_divisor(s.tasks[0] + s.tasks[1]);
  a.group = ring_divisor(r->axis[1].len / s.info[1].each);
  for (a.xshift = 0; 1 << a.xshift < r->axis[0].lines;) a.xshift++;
  a.ahead = r->ahead;
  a.rows = s.tasks[0];
  a.columns = s.tasks[1];
  a.rowwarps = s.warps[0];
  a.columnwarps = s.warps[1];
  a.pairs = ring_pairs(&r->axis[1]);
  a.across = s.across;
  a.ncolumns = r->columns;
  a.column = r->column;
  a.half = s.info[0].half;
  a.fourth = s.info[0].fourth;
  return (s.ends ? ends : plain)(a, back, s.kind, r->nz * (a.rows + a.columns), r->threads, s.bytes, stream, fits);
}

static int ring_any(cudaStream_t stream, const BCRCudaRing *r, int back, int single, const void *f, void *w, void *u,
                    int *fits)
{
  if (r->split.N1) return bcr_split_transform(r, back, single, f, w, u, stream);
  return single ? ring_run<float>(stream, r, back, f, w, u, fits, bcr_ring_float, bcr_ring_float_ends)
                : ring_run<double>(stream, r, back, f, w, u, fits, bcr_ring_double, bcr_ring_double_ends);
}

double BCRCudaRingFactor(const BCRCudaRingAxis *a)
{
  switch (a->ends) {
  case BCR_CUDA_RING_PERIODIC:
  case BCR_CUDA_RING_CELL:
  case BCR_CUDA_RING_NODE_MIXED:
    return a->len;
  case BCR_CUDA_RING_SINES:
  case BCR_CUDA_RING_COSINES:
    return 0.5 * a->len;
  case BCR_CUDA_RING_CELL_MIXED:
    return 2. * a->len;
  }
  return 0;
}

/* Eight lines of the axis with more threads of a line, 128 threads at least; of the other axis as many lines as have
   room. Numbers of lines divide those of a plane if eight do, but where COSINES have one more. Rows are ahead by 1.3 times
   the planes that the device's blocks work on at a time, and one more, so that few of them wait for stragglers; the ring
   has twice as many planes, for those that columns still read. From 0.8 to 1.5 times that took the same time within 2 % on
   an H200; of TENS 1.5 times that takes 0.93 to 1.02 of the time, 0.6 times that 1.02 to 1.5 (h200_tens.csv) */
int BCRCudaRingShape(const int n[3], int single, int sms, size_t cache, int shared, BCRCudaRing *r)
{
  const int eight = 8, least = 128, most = 32;
  RingShape s;
  int blocks = 0;

  r->threads = 0;
  for (int d = 0; d < 2; d++) {
    BCRCudaRingAxis *a = &r->axis[d];
    RingInfo info;

    a->n = n[d];
    a->len = n[d] + (a->ends == BCR_CUDA_RING_SINES) - (a->ends == BCR_CUDA_RING_COSINES);
    if (!ring_info(a->len, &info) || (ring_node(a) && !info.nodes)) return 0;
    a->each = info.each;
    const int threads = (eight * (a->len / a->each) + 31) / 32 * 32;

    if (threads > r->threads) r->threads = threads;
    if (info.kind <= RING_BIG && r->threads < least) r->threads = least;
    if (threads > ring_threads[single != 0][info.kind]) return 0;
    if (a->len != n[d]) r->apart = 1;
  }
  for (int d = 0; d < 2; d++) {
    const BCRCudaRingAxis *a = &r->axis[d], *other = &r->axis[1 - d];
    int lines = most;

    while (lines * (a->len / a->each) > r->threads || (lines > eight && other->len / 2 % lines)) lines /= 2;
    r->axis[d].lines = lines;
  }
  r->nz = n[2];
  r->columns = ring_pairs(&r->axis[0]);
  r->column = r->axis[1].len + (r->axis[1].ends == BCR_CUDA_RING_COSINES ? 2 : 0); /* columns lie at even places */
  if (r->apart) r->modes = 2 * (ptrdiff_t)r->columns * r->column;
  if (!ring_shape(r, single, &s) || s.bytes > (size_t)shared) return 0;
  if (ring_any(NULL, r, 0, single, NULL, NULL, NULL, &blocks) || blocks < 1) {
    (void)cudaGetLastError();
    return 0;
  }
  r->ahead = (int)((s.kind == RING_TENS ? 2 : 1.3) * blocks * sms / (s.tasks[0] + s.tasks[1])) + 1;
  if (r->ahead > r->nz) r->ahead = r->nz;
  r->planes = 2 * r->ahead < r->nz ? 2 * r->ahead : r->nz;
  return BCRCudaRingBytes(r, single) <= cache;
}

size_t BCRCudaRingBytes(const BCRCudaRing *r, int single)
{
  const int lines = r->axis[0].lines, across = (ring_pairs(&r->axis[1]) + lines - 1) / lines * lines;

  return (size_t)r->planes * (r->axis[0].len + (r->axis[0].ends == BCR_CUDA_RING_COSINES)) * across *
         (single ? sizeof(Cplx<float>) : sizeof(Cplx<double>));
}

int BCRCudaRingCounts(const BCRCudaRing *r)
{
  return 2 + 4 * r->nz;
}

int BCRCudaRingForward(BCRStream stream, const BCRCudaRing *r, int single, const void *f, void *w)
{
  return ring_any(bcr_stream(stream), r, 0, single, f, w, NULL, NULL);
}

int BCRCudaRingBackward(BCRStream stream, const BCRCudaRing *r, int single, const void *w, void *u)
{
  return ring_any(bcr_stream(stream), r, 1, single, NULL, (void *)w, u, NULL);
}

int BCRCudaRingClear(BCRStream stream, const BCRCudaRing *r)
{
  return (int)cudaMemsetAsync(r->count, 0, (size_t)BCRCudaRingCounts(r) * sizeof(int), bcr_stream(stream));
}

/* ---- modes ---- */

/* sigma, mode: or NULL */
__global__ void ring_modes(BCRCudaRingAxis x, BCRCudaRingAxis y, int columns, int column, const double *sx,
                           const double *sy, RingSum sum, double *sigma, int *mode)
{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x), q = i / 2 / column;
  int kx, ky, number;

  if (q >= columns) return;
  ring_waves(x, y, q, i / 2 % column, i % 2, &kx, &ky, &number);
  if (sigma) sigma[i] = sum(sx[ring_mode(x, kx)], sy[ring_mode(y, ky)]);
  if (mode) mode[i] = number;
}

static int ring_numbers(BCRStream stream, const BCRCudaRing *r, const double *x, const double *y, const RingSum &sum,
                        double *sigma, int *mode)
{
  const int n = 2 * r->columns * r->column;

  if (r->split.N1) return bcr_split_modes(r, x, y, sum, sigma, mode, bcr_stream(stream));
  ring_modes<<<(unsigned)((n + BCR_THREADS - 1) / BCR_THREADS), BCR_THREADS, 0, bcr_stream(stream)>>>(
    r->axis[0], r->axis[1], r->columns, r->column, x, y, sum, sigma, mode);
  return bcr_done();
}

int BCRCudaRingModes(BCRStream stream, const BCRCudaRing *r, const double *x, const double *y, const double c[4],
                     double *sigma)
{
  return ring_numbers(stream, r, x, y,
                      {
                        {c[0], c[1], c[2], c[3]}
  },
                      sigma, NULL);
}

int BCRCudaRingNumbers(BCRStream stream, const BCRCudaRing *r, int *mode)
{
  return ring_numbers(stream, r, NULL, NULL, {}, NULL, mode);
}

/* ---- the mean of a singular solution ---- */

static __device__ double ring_block_sum(double v)
{
  __shared__ double sums[BCR_SUM_THREADS];

  __syncthreads();
  sums[threadIdx.x] = v;
  __syncthreads();
  for (int h = BCR_SUM_THREADS / 2; h; h /= 2) {
    if ((int)threadIdx.x < h) sums[threadIdx.x] += sums[threadIdx.x + h];
    __syncthreads();
  }
  return sums[0];
}

/* A block has column blockIdx.x of some planes */
template <typename T>
__global__ void ring_column_sums(BCRCudaRingAxis x, BCRCudaRingAxis y, int nz, int column, ptrdiff_t plane, const T *w,
                                 double *sums)
{
  const int q = (int)blockIdx.x, chunk = (nz + (int)gridDim.y - 1) / (int)gridDim.y, first = (int)blockIdx.y * chunk,
            last = min(first + chunk, nz), places = y.len + (y.ends == BCR_CUDA_RING_COSINES);
  double sum = 0;

  for (int i = (int)threadIdx.x; i < 2 * places; i += BCR_SUM_THREADS) {
    const T *at = w + (ptrdiff_t)q * 2 * column + i;
    const double weight = ring_weights(x, y, q, i / 2, i % 2);
    double line = 0;

    if (weight == 0) continue;
    for (int k = first; k < last; k++) line += (double)at[k * plane];
    sum += weight * line;
  }
  sum = ring_block_sum(sum);
  if (threadIdx.x == 0) sums[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

/* Where mode (0, 0) of a plane is: in `parts` numbers, step apart, each of which has it (split_lines()) */
typedef struct {
  int n, parts, step;
  ptrdiff_t plane;
} RingConstant;

static RingConstant ring_constant(const BCRCudaRing *r)
{
  if (r->split.N1) return {r->nz, r->axis[1].len / r->split.N1, 2 * r->split.columns, r->modes};
  return {r->nz, 1, 0, r->modes};
}

/* number: of sums, or 0: that of the line of mode (0, 0) is taken; scale: the sum times it is what each of that line loses,
   or goes to *all */
template <typename T>
__global__ void ring_mean(RingConstant c, int number, double scale, const double *sums, T *u, double *all)
{
  double sum = 0;

  for (int i = (int)threadIdx.x; i < (number ? number : c.n * c.parts); i += BCR_SUM_THREADS)
    sum += number ? sums[i] : (double)u[i / c.parts * c.plane + i % c.parts * c.step] / c.parts;
  sum = scale * ring_block_sum(sum);
  if (all && threadIdx.x == 0) *all = sum;
  for (int i = (int)threadIdx.x; i < c.n && !all; i += BCR_SUM_THREADS) u[i * c.plane] -= (T)sum;
}

template <typename T>
__global__ void ring_add(RingConstant c, const double *sum, double factor, T *u)
{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

  if (i < c.n * c.parts) u[i / c.parts * c.plane + i % c.parts * c.step] += (T)(factor * *sum);
}

enum {
  RING_CHUNKS = 8 /* of planes, for the sums */
};

int BCRCudaRingSums(const BCRCudaRing *r, int single)
{
  const int blocks = r->split.N1 ? 0 : BCRCudaRingLinesBlocks(r, r->nz, single), chunks = RING_CHUNKS * r->columns;

  return blocks > chunks ? blocks : chunks;
}

static int ring_sum(BCRStream stream, const BCRCudaRing *r, const BCRCudaRingLines *l, int single, double scale,
                    void *w, double *sums, double *all)
{
  const dim3 grid((unsigned)r->columns, RING_CHUNKS);
  int number = 0;

  for (int d = 0; d < 2; d++)
    if (r->axis[d].ends == BCR_CUDA_RING_COSINES)
      number = l && l->sums ? BCRCudaRingLinesBlocks(r, l->n, single) : RING_CHUNKS * r->columns;
  if (number)
    for (int d = 0; d < 2; d++) scale *= (r->axis[d].ends == BCR_CUDA_RING_COSINES ? 2. : 1.) / r->axis[d].n;
  if (number && !(l && l->sums)) {
    BCR_CUDA_TYPE(single, ring_column_sums<<<grid, BCR_SUM_THREADS, 0, bcr_stream(stream)>>>(
                            r->axis[0], r->axis[1], r->nz, r->column, r->modes, (const T *)w, sums));
  }
  BCR_CUDA_TYPE(single, ring_mean<<<1, BCR_SUM_THREADS, 0, bcr_stream(stream)>>>(ring_constant(r), number, scale, sums,
                                                                                 (T *)w, all));
  return bcr_done();
}

int BCRCudaRingMean(BCRStream stream, const BCRCudaRing *r, const BCRCudaRingLines *l, int single, void *w,
                    double *sums)
{
  return ring_sum(stream, r, l, single, 1. / r->nz, w, sums, NULL);
}

int BCRCudaRingSum(BCRStream stream, const BCRCudaRing *r, int single, void *w, double *sums, double *sum)
{
  return ring_sum(stream, r, NULL, single, 1, w, sums, sum);
}

int BCRCudaRingAdd(BCRStream stream, const BCRCudaRing *r, int single, void *w, const double *sum, double factor)
{
  const RingConstant c = ring_constant(r);

  BCR_CUDA_TYPE(
    single,
    ring_add<<<(unsigned)((c.n * c.parts + BCR_THREADS - 1) / BCR_THREADS), BCR_THREADS, 0, bcr_stream(stream)>>>(
      c, sum, factor, (T *)w));
  return bcr_done();
}
