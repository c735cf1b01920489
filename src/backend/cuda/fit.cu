/*
  The passes of src/operator/fitdevice.c over a matrix that lies on the device, a thread for each node.
  What single nodes get is rounded as on the host (no multiplication is joined with an addition), so
  that the extremes, and where they are, are the same; sums are in another order.
*/
#include "rows.cuh"
#include "fit.h"

/* A node of the box */
struct Node {
  int index, o[3];
};

static __device__ __forceinline__ Node node_of(const BCRCudaFit &F, int index)
{
  const int line = index / F.n[0];

  return {
    index, {index - line * F.n[0], line % F.n[1], line / F.n[1]}
  };
}

static __device__ __forceinline__ int nodes_of(const BCRCudaFit &F)
{
  return F.n[0] * F.n[1] * F.n[2];
}

static __device__ __forceinline__ int stride_of(const BCRCudaFit &F, int d)
{
  return d == 0 ? 1 : (d == 1 ? F.n[0] : F.n[0] * F.n[1]);
}

/* Which node gives the number that sums are taken relative to: one in the middle, which every range has */
static __device__ __forceinline__ int middle_of(const BCRCudaFit &F)
{
  return F.n[0] / 2 + F.n[0] * (F.n[1] / 2 + F.n[1] * (F.n[2] / 2));
}

static __device__ __forceinline__ double weight_of(const BCRCudaFit &F, int d, int i)
{
  return i == 0 ? F.half[d][0] * (F.n[d] == 1 ? F.half[d][1] : 1) : (i == F.n[d] - 1 ? F.half[d][1] : 1);
}

/* BCRFitInside() */
static __device__ __forceinline__ bool inside(const BCRCudaFit &F, const int o[3], int skip, bool wraps)
{
  bool in = true;

#pragma unroll
  for (int d = 0; d < 3; d++)
    if (d < F.dim && d != skip && F.n[d] > 2 && !(wraps && F.wrap[d]) && (o[d] == 0 || o[d] == F.n[d] - 1)) in = false;
  return in;
}

/* BCRFitJoin() */
static __device__ __forceinline__ double join(double up, double low)
{
  return up == low ? up : (up > 0 && low > 0 ? __dmul_rn(sqrt(up), sqrt(low)) : 0.5 * __dadd_rn(up, low));
}

/* ---- what a pass amounts to ---- */

/* As BCRCudaFitRange: sum and square are of what numbers differ from `ref` by, which no thread keeps */
struct Range {
  double lo, hi, sum, square, count;
  int lorow, hirow;

  __device__ Range() : lo(1. / 0.), hi(-1. / 0.), sum(0), square(0), count(0), lorow(0x7fffffff), hirow(0x7fffffff) {}
  __device__ void add(double x, double ref, int row)
  {
    const double e = x - ref;

    if (x < lo || (x == lo && row < lorow)) lo = x, lorow = row;
    if (x > hi || (x == hi && row < hirow)) hi = x, hirow = row;
    sum += e;
    square += e * e;
    count += 1;
  }
  __device__ void join(const Range &q)
  {
    if (q.lo < lo || (q.lo == lo && q.lorow < lorow)) lo = q.lo, lorow = q.lorow;
    if (q.hi > hi || (q.hi == hi && q.hirow < hirow)) hi = q.hi, hirow = q.hirow;
    sum += q.sum;
    square += q.square;
    count += q.count;
  }
  __device__ Range from(int step) const
  {
    Range q;

    q.lo = __shfl_down_sync(0xffffffffu, lo, step);
    q.hi = __shfl_down_sync(0xffffffffu, hi, step);
    q.sum = __shfl_down_sync(0xffffffffu, sum, step);
    q.square = __shfl_down_sync(0xffffffffu, square, step);
    q.count = __shfl_down_sync(0xffffffffu, count, step);
    q.lorow = __shfl_down_sync(0xffffffffu, lorow, step);
    q.hirow = __shfl_down_sync(0xffffffffu, hirow, step);
    return q;
  }
  __device__ void put(double ref, BCRCudaFitRange *out) const
  {
    out->lo = lo;
    out->hi = hi;
    out->ref = ref;
    out->sum = sum;
    out->square = square;
    out->count = count;
    out->lorow = lorow;
    out->hirow = hirow;
  }
};

struct Worst {
  double worst;
  long long where;

  __device__ Worst() : worst(0), where(0x7fffffffffffffffll) {}
  __device__ void add(double x, long long at)
  {
    if (x > worst || (x == worst && at < where)) worst = x, where = at;
  }
  __device__ void join(const Worst &q) { add(q.worst, q.where); }
  __device__ Worst from(int step) const
  {
    Worst q;

    q.worst = __shfl_down_sync(0xffffffffu, worst, step);
    q.where = __shfl_down_sync(0xffffffffu, where, step);
    return q;
  }
};

struct Sum {
  double s;

  __device__ Sum() : s(0) {}
  __device__ void join(const Sum &q) { s += q.s; }
  __device__ Sum from(int step) const
  {
    Sum q;

    q.s = __shfl_down_sync(0xffffffffu, s, step);
    return q;
  }
};

/* All threads of a block; the first one has the result */
template <typename V>
static __device__ void reduce(V &v)
{
  __shared__ __align__(16) char memory[THREADS / 32 * sizeof(V)];
  V *warp = (V *)memory;

  for (int step = 16; step > 0; step >>= 1) v.join(v.from(step));
  __syncthreads(); /* what was reduced before has been read */
  if ((threadIdx.x & 31) == 0) warp[threadIdx.x >> 5] = v;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int k = 1; k < THREADS / 32; k++) v.join(warp[k]);
}

/* ---- the matrix ---- */

/* BCRFitRow(): one row */
template <typename I, typename R, int parts>
__global__ void __launch_bounds__(THREADS) take(BCRCudaRows m, BCRCudaFitRows r, BCRCudaFit F, int *flags)
{
  const I *ai = (const I *)m.i, *aj = (const I *)m.j;
  const R *aa = (const R *)m.a;
  const unsigned nodes = (unsigned)(m.n[0] * m.n[1] * m.n[2]);
  int found = 0;

  for (unsigned node = blockIdx.x * THREADS + threadIdx.x; node < nodes; node += gridDim.x * THREADS) {
    const unsigned line = node / (unsigned)m.n[0], row = node * (unsigned)m.dof + (unsigned)r.c;
    const int ix[3] = {(int)(node - line * (unsigned)m.n[0]), (int)(line % (unsigned)m.n[1]),
                       (int)(line / (unsigned)m.n[1])};
    const int o[3] = {ix[0] - r.b[0], ix[1] - r.b[1], ix[2] - r.b[2]};
    double stride[7] = {0, 0, 0, 0, 0, 0, 0}, left;
    const I end = ai[row + 1];
    bool plane = false;
    int index;

    for (I p = ai[row]; p < end; p++) {
      const unsigned to = (unsigned)aj[p] / (unsigned)m.dof;
      const double v = (double)aa[parts * p];
      const int k =
        (int)((unsigned)aj[p] - to * (unsigned)m.dof) == r.c ? slot_of(m, ix, (long long)to - (long long)node) : -1;

      if (!(fabs(v) <= 1.7976931348623157e308) || (k < 0 && v != 0)) found |= BCR_CUDA_FIT_ODD;
      if (parts == 2 && aa[parts * p + parts - 1] != 0) found |= BCR_CUDA_FIT_ODD;
#pragma unroll
      for (int q = 0; q < 7; q++)
        if (q == k) stride[q] = __dadd_rn(stride[q], v);
    }
    if (stride[CENTRE] == 0) found |= BCR_CUDA_FIT_ODD;
#pragma unroll
    for (int d = 0; d < 3; d++) plane = plane || o[d] < 0 || o[d] >= F.n[d];
#define PLANE(d) (d == 0 ? ix[1] + m.n[1] * ix[2] : (d == 1 ? ix[0] + m.n[0] * ix[2] : ix[0] + m.n[0] * ix[1]))
    if (plane) {
#pragma unroll
      for (int d = 0; d < 3; d++)
#pragma unroll
        for (int s = 0; s < 2; s++)
          if (r.present[d][s] && ix[d] == (s ? m.n[d] - 1 : 0))
            ((R *)r.inv[d][s])[PLANE(d)] = (R)(1.0 / stride[CENTRE]);
      continue;
    }
    index = o[0] + F.n[0] * (o[1] + F.n[1] * o[2]);
    left = stride[CENTRE] = __dmul_rn(stride[CENTRE], r.sign);
#pragma unroll
    for (int k = 0; k < 6; k++) {
      stride[k] = stride[k] == 0 ? 0 : __dmul_rn(-r.sign, stride[k]);
      if (stride[k] != 0) found |= BCR_CUDA_FIT_ANY;
    }
#pragma unroll
    for (int d = 0; d < 3; d++) left = __dadd_rn(left, -__dadd_rn(stride[2 * d], stride[2 * d + 1]));
    F.rest[index] = left;
#pragma unroll
    for (int d = 0; d < 3; d++) {
      if (d >= F.dim) continue;
#pragma unroll
      for (int s = 0; s < 2; s++) {
        if (!r.present[d][s] || o[d] != (s ? F.n[d] - 1 : 0)) continue;
        ((R *)r.couplings[d][s])[PLANE(d)] = (R)stride[2 * d + s];
        if (stride[2 * d + s] != 0) found |= BCR_CUDA_FIT_PLANE << (2 * d + s);
        stride[CENTRE] = __dadd_rn(stride[CENTRE], -__dmul_rn(stride[2 * d + s], r.slope[d][s]));
      }
      F.low[d][index] = stride[2 * d];
      F.C[d][index] = stride[2 * d + 1];
    }
#undef PLANE
    F.D[index] = stride[CENTRE];
  }
  for (int step = 16; step > 0; step >>= 1) found |= __shfl_down_sync(0xffffffffu, found, step);
  for (int k = 0; k < BCR_CUDA_FIT_FLAGS && (threadIdx.x & 31) == 0; k++)
    if (found >> k & 1) flags[k] = 1;
}

int BCRCudaFitTake(BCRStream stream, const BCRCudaRows *rows, const BCRCudaFitRows *r, const BCRCudaFit *fit,
                   int *flags)
{
  ROWS_LAUNCH(take, bcr_blocks((ptrdiff_t)rows->n[0] * rows->n[1] * rows->n[2], THREADS, 1u << 20), *rows, *r, *fit,
              flags);
  return bcr_done();
}

/* ---- the ends ---- */

/* A thread for each node across axis d; low, high: there is a plane at that end */
static __global__ void __launch_bounds__(THREADS)
  ends(BCRCudaFit F, int d, int low, int high, double (*parts)[BCR_CUDA_FIT_SUMS])
{
  const int u = d == 0 ? 1 : 0, v = d == 2 ? 1 : 2, n = F.n[d], stride = stride_of(F, d);
  double q[BCR_CUDA_FIT_SUMS] = {0}, *const link = q, *const side = q + 6, *const sum = q + 10, *const count = q + 12,
         *const wraps = q + 14;

  for (int k = blockIdx.x * THREADS + threadIdx.x; k < F.n[u] * F.n[v]; k += gridDim.x * THREADS) {
    const int base = k % F.n[u] * stride_of(F, u) + k / F.n[u] * stride_of(F, v);
    int o[3];

    o[d] = 0;
    o[u] = k % F.n[u];
    o[v] = k / F.n[u];
    for (int s = 0; s < 2; s++) {
      const int end = base + (s ? n - 1 : 0) * stride;

      if (s ? high : low) continue;
      const double beyond = s ? F.C[d][end] : F.low[d][end];
      const bool plane =
        s ? low : high; /* around the end is a plane, which holds the solution, or the first row there */

      if (!plane) wraps[0] += beyond;
      if (inside(F, o, d, false)) { /* a row apart is not what its end is like */
        sum[s] += fmin(F.rest[end] + (plane ? beyond : 0), 8 * (s ? F.low[d][end] : F.C[d][end]));
        count[s] += 1;
      }
    }
    if (n < 2) continue;
    link[0] += F.C[d][base];
    link[1] += F.low[d][base + stride];
    link[3] += F.low[d][base + (n - 1) * stride];
    link[4] += F.C[d][base + (n - 2) * stride];
    if (n > 2) {
      link[2] += F.low[d][base + 2 * stride];
      link[5] += F.C[d][base + (n - 3) * stride];
    }
    for (int e = 0; e < F.dim; e++) {
      if (e == d) continue;
      for (int s = 0; s < 4; s++) { /* the first two layers, the last and the one before it */
        const int at = base + (s == 0 ? 0 : (s == 1 ? 1 : (s == 2 ? n - 1 : n - 2))) * stride;

        side[s] += F.low[e][at] + F.C[e][at];
      }
    }
  }
  for (int k = 0; k < BCR_CUDA_FIT_SUMS; k++) {
    Sum s;

    s.s = q[k];
    reduce(s);
    if (threadIdx.x == 0) parts[blockIdx.x][k] = s.s;
  }
}

int BCRCudaFitEnds(BCRStream stream, const BCRCudaFit *fit, const BCRCudaFitRows *r, int d,
                   double (*parts)[BCR_CUDA_FIT_SUMS])
{
  ends<<<(unsigned)fit->blocks, THREADS, 0, bcr_stream(stream)>>>(*fit, d, r->present[d][0], r->present[d][1], parts);
  return bcr_done();
}

/* The two entries of each link become one; that from the last node is the one around the end, if any */
static __global__ void __launch_bounds__(THREADS) joins(BCRCudaFit F, BCRCudaFitRows r)
{
  for (int i = blockIdx.x * THREADS + threadIdx.x; i < nodes_of(F); i += gridDim.x * THREADS) {
    const Node N = node_of(F, i);

#pragma unroll
    for (int d = 0; d < 3; d++) {
      const int stride = stride_of(F, d), n = F.n[d];

      if (d >= F.dim || n < 2) continue;
      if (N.o[d] < n - 1) F.C[d][i] = join(F.C[d][i], F.low[d][i + stride]);
      else {
        const double first = r.present[d][0] ? 0 : F.low[d][i - (n - 1) * stride];

        F.C[d][i] = r.present[d][1] ? first : join(first, F.C[d][i]);
      }
    }
  }
}

int BCRCudaFitJoin(BCRStream stream, const BCRCudaFit *fit, const BCRCudaFitRows *r)
{
  joins<<<(unsigned)fit->blocks, THREADS, 0, bcr_stream(stream)>>>(*fit, *r);
  return bcr_done();
}

static __global__ void __launch_bounds__(THREADS) divide(BCRCudaFit F, int d, int at, double by)
{
  const int u = d == 0 ? 1 : 0, v = d == 2 ? 1 : 2;

  for (int k = blockIdx.x * THREADS + threadIdx.x; k < F.n[u] * F.n[v]; k += gridDim.x * THREADS)
    F.C[d][at * stride_of(F, d) + k % F.n[u] * stride_of(F, u) + k / F.n[u] * stride_of(F, v)] /= by;
}

int BCRCudaFitDivide(BCRStream stream, const BCRCudaFit *fit, int d, int at, double by)
{
  divide<<<(unsigned)fit->blocks, THREADS, 0, bcr_stream(stream)>>>(*fit, d, at, by);
  return bcr_done();
}

/* ---- scales and couplings ---- */

/* BCRFitBeside(): couplings below and above a node; beyond the ends of an axis that does not close,
   in proportion to the next two */
static __device__ __forceinline__ double beyond(double c, double next)
{
  return __dmul_rn(c, fmin(4.0, fmax(0.25, next > 0 ? c / next : 1.0)));
}

static __device__ __forceinline__ void beside(const BCRCudaFit &F, const Node &N, int d, double *below, double *above)
{
  const int stride = stride_of(F, d), n = F.n[d], i = N.o[d];
  const double *C = F.C[d] + N.index;

  if (n == 2) *below = *above = C[-i * stride];
  else {
    *below = i > 0 ? C[-stride] : (F.wrap[d] ? C[(n - 1) * stride] : beyond(C[0], C[stride]));
    *above = i < n - 1 || F.wrap[d] ? C[0] : beyond(C[-stride], C[-2 * stride]);
  }
}

struct Mean {
  double m[3];
};

static __device__ double scale_at(const BCRCudaFit &F, const Mean &mean, const Node &N)
{
  double g = 0;
  int axes = 0;

#pragma unroll
  for (int d = 0; d < 3; d++) {
    const int u = d == 0 ? 1 : 0, v = d == 2 ? 1 : 2;
    double below, above, f;

    if (d >= F.dim || F.n[d] < 2 || mean.m[d] <= 0) continue;
    axes++;
    beside(F, N, d, &below, &above);
    f = 1 / __dmul_rn(__dmul_rn(mean.m[d], u ? weight_of(F, u, N.o[u]) : 1), weight_of(F, v, N.o[v]));
    f = u ? f : __dmul_rn(f, 1 / weight_of(F, 0, N.o[0]));
    below = fmax(__dmul_rn(below, f), 1e-4);
    above = fmax(__dmul_rn(above, f), 1e-4);
    g = __dadd_rn(g, sqrt(__dmul_rn(below, above)));
  }
  return axes ? __dmul_rn(g, 1.0 / axes) : 1;
}

template <typename R>
__global__ void __launch_bounds__(THREADS) scales(BCRCudaFit F, Mean mean, BCRCudaFitRange *parts)
{
  Range q;

  for (int i = blockIdx.x * THREADS + threadIdx.x; i < nodes_of(F); i += gridDim.x * THREADS) {
    const double g = scale_at(F, mean, node_of(F, i));

    ((R *)F.S)[i] = (R)sqrt(g);
    q.add(g, 1, 0);
  }
  reduce(q);
  if (threadIdx.x == 0) q.put(1, &parts[blockIdx.x]);
}

int BCRCudaFitScales(BCRStream stream, const BCRCudaFit *fit, const double mean[3], BCRCudaFitRange *parts)
{
  const Mean m = {
    {mean[0], mean[1], mean[2]}
  };

  BCR_CUDA_TYPE(fit->single, scales<T><<<(unsigned)fit->blocks, THREADS, 0, bcr_stream(stream)>>>(*fit, m, parts));
  return bcr_done();
}

template <typename R>
__global__ void __launch_bounds__(THREADS) inverses(BCRCudaFit F, double *v)
{
  for (int i = blockIdx.x * THREADS + threadIdx.x; i < nodes_of(F); i += gridDim.x * THREADS)
    v[i] = 1 / (double)((const R *)F.S)[i];
}

int BCRCudaFitInverse(BCRStream stream, const BCRCudaFit *fit, double *v)
{
  BCR_CUDA_TYPE(fit->single, inverses<T><<<(unsigned)fit->blocks, THREADS, 0, bcr_stream(stream)>>>(*fit, v));
  return bcr_done();
}

/* BCRFitLinks(): the link along d from the node to the next one, as the fit sees it */
template <typename R>
static __device__ __forceinline__ double link_from(const BCRCudaFit &F, const Node &N, int d)
{
  const int u = d == 0 ? 1 : 0, v = d == 2 ? 1 : 2, stride = stride_of(F, d),
            next = N.index + (N.o[d] < F.n[d] - 1 ? stride : -(F.n[d] - 1) * stride);
  const double f = 1 / __dmul_rn(u ? weight_of(F, u, N.o[u]) : 1, weight_of(F, v, N.o[v]));
  double q = __dmul_rn(F.C[d][N.index], f);

  if (!u) q = __dmul_rn(q, 1 / weight_of(F, 0, N.o[0]));
  return F.S ? q / __dmul_rn((double)((const R *)F.S)[N.index], (double)((const R *)F.S)[next]) : q;
}

/* The node before on the axis */
static __device__ __forceinline__ Node before(const BCRCudaFit &F, Node N, int d)
{
  N.index -= stride_of(F, d);
#pragma unroll
  for (int e = 0; e < 3; e++)
    if (e == d) N.o[e]--;
  return N;
}

template <typename R>
__global__ void __launch_bounds__(THREADS) links(BCRCudaFit F, BCRCudaFitRange (*parts)[3])
{
  const Node middle = node_of(F, middle_of(F));
  double ref[3] = {0, 0, 0};
  Range q[3];

#pragma unroll
  for (int d = 0; d < 3; d++)
    if (d < F.dim && F.n[d] > 1) ref[d] = link_from<R>(F, before(F, middle, d), d);
  for (int i = blockIdx.x * THREADS + threadIdx.x; i < nodes_of(F); i += gridDim.x * THREADS) {
    const Node N = node_of(F, i);
    const int row = N.o[1] + F.n[1] * N.o[2]; /* of the node that the link ends at, or around the end is from */

#pragma unroll
    for (int d = 0; d < 3; d++) {
      if (d >= F.dim || F.n[d] < 2) continue;
      if (N.o[d] > 0) q[d].add(link_from<R>(F, before(F, N, d), d), ref[d], row);
      if (F.wrap[d] && N.o[d] == F.n[d] - 1) q[d].add(link_from<R>(F, N, d), ref[d], row);
    }
  }
#pragma unroll
  for (int d = 0; d < 3; d++) {
    reduce(q[d]);
    if (threadIdx.x == 0) q[d].put(ref[d], &parts[blockIdx.x][d]);
  }
}

int BCRCudaFitLinks(BCRStream stream, const BCRCudaFit *fit, BCRCudaFitRange (*parts)[3])
{
  BCR_CUDA_TYPE(fit->single, links<T><<<(unsigned)fit->blocks, THREADS, 0, bcr_stream(stream)>>>(*fit, parts));
  return bcr_done();
}

/* ---- what is left on the diagonals ---- */

static __device__ __forceinline__ double diagonal(const BCRCudaFit &F, const BCRCudaFitModel &M, const Node &N)
{
  double t[3];

#pragma unroll
  for (int d = 0; d < 3; d++) {
    t[d] = 2 * M.a[d];
    if (N.o[d] == 0) t[d] = __dadd_rn(t[d], M.edge[d][0]);
    if (N.o[d] == F.n[d] - 1) t[d] = __dadd_rn(t[d], M.edge[d][1]);
  }
  return __dadd_rn(t[0], __dadd_rn(t[1], t[2]));
}

/* BCRFitRest(): D / (w s^2) - T */
template <typename R>
static __device__ __forceinline__ double rest_at(const BCRCudaFit &F, const Node &N, double t)
{
  const double w = __dmul_rn(weight_of(F, 1, N.o[1]), weight_of(F, 2, N.o[2])),
               s = F.S ? (double)((const R *)F.S)[N.index] : 1;

  return __dadd_rn(__dmul_rn(F.D[N.index], 1 / weight_of(F, 0, N.o[0])) / __dmul_rn(w, __dmul_rn(s, s)), -t);
}

template <typename R, int sums>
static __device__ double left_at(const BCRCudaFit &F, const BCRCudaFitModel &M, const Node &N)
{
  double p;

  if (sums) return F.rest[N.index];
  p = rest_at<R>(F, N, diagonal(F, M, N));
  if (F.S) return p;
#pragma unroll
  for (int d = 0; d < 3; d++) {
    double below, above;

    if (d >= F.dim || F.n[d] < 2) continue;
    beside(F, N, d, &below, &above);
    below = __dadd_rn(M.a[d], -below);
    above = F.n[d] > 2 ? __dadd_rn(M.a[d], -above) : 0;
    p = __dadd_rn(p, __dadd_rn(below, above));
  }
  return p;
}

template <typename R, int sums>
__global__ void __launch_bounds__(THREADS) lefts(BCRCudaFit F, BCRCudaFitModel M, BCRCudaFitRange *parts)
{
  const double ref = left_at<R, sums>(F, M, node_of(F, middle_of(F)));
  Range q;

  for (int i = blockIdx.x * THREADS + threadIdx.x; i < nodes_of(F); i += gridDim.x * THREADS) {
    const Node N = node_of(F, i);

    if (inside(F, N.o, -1, !sums)) q.add(left_at<R, sums>(F, M, N), ref, N.o[1] + F.n[1] * N.o[2]);
  }
  reduce(q);
  if (threadIdx.x == 0) q.put(ref, &parts[blockIdx.x]);
}

int BCRCudaFitLeft(BCRStream stream, const BCRCudaFit *fit, const BCRCudaFitModel *model, BCRCudaFitRange *parts)
{
  const BCRCudaFitModel none = {
    {0,      0,      0     },
    {{0, 0}, {0, 0}, {0, 0}},
    {{1, 1}, {1, 1}, {1, 1}},
    0
  };

  if (model)
    BCR_CUDA_TYPE(fit->single,
                  lefts<T, 0><<<(unsigned)fit->blocks, THREADS, 0, bcr_stream(stream)>>>(*fit, *model, parts));
  else lefts<double, 1><<<(unsigned)fit->blocks, THREADS, 0, bcr_stream(stream)>>>(*fit, none, parts);
  return bcr_done();
}

static __device__ __forceinline__ double null_of(const BCRCudaFit &F, const BCRCudaFitModel &M, const Node &N, int skip)
{
  double h = 1;

#pragma unroll
  for (int d = 0; d < 3; d++) {
    if (d == skip || d >= F.dim || F.n[d] < 2) continue;
    if (N.o[d] == 0) h *= M.null[d][0];
    if (N.o[d] == F.n[d] - 1) h *= M.null[d][1];
  }
  return h;
}

/* BCRFitTotalPart() */
template <typename R>
__global__ void __launch_bounds__(THREADS) totals(BCRCudaFit F, BCRCudaFitModel M, BCRCudaFitRange *parts)
{
  Range q;

  for (int i = blockIdx.x * THREADS + threadIdx.x; i < nodes_of(F); i += gridDim.x * THREADS) {
    const Node N = node_of(F, i);
    const double t = diagonal(F, M, N), p = rest_at<R>(F, N, t), h = null_of(F, M, N, -1);

    q.sum += h * p;
    q.square += h;
#pragma unroll
    for (int d = 0; d < 3; d++) {
      const double l = null_of(F, M, N, d);

      if (d >= F.dim || F.n[d] < 2 || l == 1 || (N.o[d] == F.n[d] - 1 && !F.wrap[d])) continue;
      q.sum -= 2 * (l - 1) * (link_from<R>(F, N, d) - M.a[d]);
    }
    if (fabs(F.D[i] - F.rest[i]) <= 0.125 * fabs(F.D[i])) {
      q.lo = fmin(q.lo, p + t);
      q.hi = fmax(q.hi, p + t);
      q.count += 1;
    }
  }
  reduce(q);
  if (threadIdx.x == 0) q.put(0, &parts[blockIdx.x]);
}

int BCRCudaFitTotal(BCRStream stream, const BCRCudaFit *fit, const BCRCudaFitModel *model, BCRCudaFitRange *parts)
{
  BCR_CUDA_TYPE(fit->single, totals<T><<<(unsigned)fit->blocks, THREADS, 0, bcr_stream(stream)>>>(*fit, *model, parts));
  return bcr_done();
}

static __global__ void __launch_bounds__(THREADS) nulls(BCRCudaFit F, BCRCudaFitWorst *parts)
{
  Worst q;

  for (int i = blockIdx.x * THREADS + threadIdx.x; i < nodes_of(F); i += gridDim.x * THREADS)
    q.add(fabs(F.rest[i]) / fabs(F.D[i]), i);
  reduce(q);
  if (threadIdx.x == 0) {
    parts[blockIdx.x].worst = q.worst;
    parts[blockIdx.x].where = q.where;
  }
}

int BCRCudaFitNull(BCRStream stream, const BCRCudaFit *fit, BCRCudaFitWorst *parts)
{
  nulls<<<(unsigned)fit->blocks, THREADS, 0, bcr_stream(stream)>>>(*fit, parts);
  return bcr_done();
}

template <typename R>
__global__ void __launch_bounds__(THREADS) deviation(BCRCudaFit F, BCRCudaFitModel M, BCRCudaFitWorst (*parts)[4])
{
  Worst q[4];

  for (int i = blockIdx.x * THREADS + threadIdx.x; i < nodes_of(F); i += gridDim.x * THREADS) {
    const Node N = node_of(F, i);
    const double t = diagonal(F, M, N);

#pragma unroll
    for (int d = 0; d < 3; d++) {
      if (d >= F.dim || F.n[d] < 2 || M.a[d] == 0) continue;
      if (N.o[d] > 0) { /* counted with the line that it ends in, as on the host */
        const Node from = before(F, N, d);

        q[d].add(fabs(__dadd_rn(link_from<R>(F, from, d) / M.a[d], -1)),
                 2ll * F.n[0] * (N.o[1] + F.n[1] * N.o[2]) + from.o[0]);
      }
      if (F.wrap[d] && N.o[d] == F.n[d] - 1)
        q[d].add(fabs(__dadd_rn(link_from<R>(F, N, d) / M.a[d], -1)),
                 2ll * F.n[0] * (N.o[1] + F.n[1] * N.o[2]) + F.n[0] + N.o[0]);
    }
    q[3].add(fabs(__dadd_rn(rest_at<R>(F, N, t), -M.shift)) / fabs(__dadd_rn(t, M.shift)), i);
  }
#pragma unroll
  for (int d = 0; d < 4; d++) {
    reduce(q[d]);
    if (threadIdx.x == 0) {
      parts[blockIdx.x][d].worst = q[d].worst;
      parts[blockIdx.x][d].where = q[d].where;
    }
  }
}

int BCRCudaFitDeviation(BCRStream stream, const BCRCudaFit *fit, const BCRCudaFitModel *model,
                        BCRCudaFitWorst (*parts)[4])
{
  BCR_CUDA_TYPE(fit->single,
                deviation<T><<<(unsigned)fit->blocks, THREADS, 0, bcr_stream(stream)>>>(*fit, *model, parts));
  return bcr_done();
}
