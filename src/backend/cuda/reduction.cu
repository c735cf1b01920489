/*
  Block cyclic reduction of a given radix, in the structure of paper 000, section 3.2: for each step
  one kernel that forms the right-hand sides of the sub-problems, one that solves them and one that
  sums the solutions (in sub-sums where they are many). The sub-problems are Toeplitz lines but for
  their ends, and solved by the simplified scalar cyclic reduction of (22), (23), a block for each
  line, in the three stages of section 3.4.
*/
#include "common.cuh"
#include "reduction.h"

/* -------- right-hand sides and sums -------- */

/* G[item][p] = sum_s w[p][s] U[src[item][s]], P right-hand sides of an item at a time */
template <typename T, int P>
__global__ void form(BCRCudaStep step, BCRCudaPlanes u, const T *U, T *G, ptrdiff_t g1, ptrdiff_t gline)
{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x), chunks = (step.np + P - 1) / P;
  const long all = (long)step.count * chunks * u.n1;

  if (i >= u.n0) return;
  for (int b = blockIdx.z; b < u.nb; b += gridDim.z)
    for (long k = blockIdx.y; k < all; k += gridDim.y) {
      const int j = (int)(k % u.n1), c = (int)(k / u.n1 % chunks), item = (int)(k / u.n1 / chunks), p0 = c * P;
      const int *src = step.src + (size_t)item * step.nsrc;
      const T *at = U + i * u.stride0 + j * u.stride1 + b * u.boxstride,
              *w = (const T *)step.wsrc + (size_t)p0 * step.nsrc;
      double sum[P];

#pragma unroll
      for (int p = 0; p < P; p++) sum[p] = 0;
      for (int s = 0; s < step.nsrc; s++) {
        const double v = (double)at[src[s] * u.rowstride];

#pragma unroll
        for (int p = 0; p < P; p++) sum[p] += (p0 + p < step.np ? (double)w[(size_t)p * step.nsrc + s] : 0) * v;
      }
#pragma unroll
      for (int p = 0; p < P; p++)
        if (p0 + p < step.np) G[(((size_t)b * step.count + item) * step.np + p0 + p) * gline + i + j * g1] = (T)sum[p];
    }
}

/* U[out[item][o]] (+)= sum_p w[p][o] G[item][p], O rows at a time; or sums of `terms` of them each
   to parts[item][sum][o] */
template <typename T, int O>
__global__ void sums(BCRCudaStep step, BCRCudaPlanes u, const T *G, ptrdiff_t g1, ptrdiff_t gline, int terms, T *parts,
                     T *U)
{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x), chunks = (step.nout + O - 1) / O,
            nsum = (step.np + terms - 1) / terms;
  const long all = (long)step.count * nsum * chunks * u.n1;

  if (i >= u.n0) return;
  for (int b = blockIdx.z; b < u.nb; b += gridDim.z)
    for (long k = blockIdx.y; k < all; k += gridDim.y) {
      const int j = (int)(k % u.n1), c = (int)(k / u.n1 % chunks), sum = (int)(k / u.n1 / chunks % nsum),
                item = (int)(k / u.n1 / chunks / nsum), o0 = c * O;
      const int first = sum * terms, last = min(step.np, first + terms);
      const size_t of = (size_t)b * step.count + item;
      const T *at = G + (of * step.np) * gline + i + j * g1, *w = (const T *)step.wout + o0;
      double v[O];

#pragma unroll
      for (int o = 0; o < O; o++) v[o] = 0;
      for (int p = first; p < last; p++) {
        const double g = (double)at[(size_t)p * gline];

#pragma unroll
        for (int o = 0; o < O; o++) v[o] += (o0 + o < step.nout ? (double)w[(size_t)p * step.nout + o] : 0) * g;
      }
#pragma unroll
      for (int o = 0; o < O; o++) {
        if (o0 + o >= step.nout) continue;
        if (nsum > 1) parts[((of * nsum + sum) * step.nout + o0 + o) * gline + i + j * g1] = (T)v[o];
        else {
          T *to = U + i * u.stride0 + j * u.stride1 + b * u.boxstride +
                  step.out[(size_t)item * step.nout + o0 + o] * u.rowstride;

          *to = (T)(v[o] + (step.add ? (double)*to : 0));
        }
      }
    }
}

/* U[out[item][o]] (+)= sum over the sub-sums */
template <typename T>
__global__ void total(BCRCudaStep step, BCRCudaPlanes u, const T *parts, ptrdiff_t g1, ptrdiff_t gline, int nsum, T *U)
{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  const long all = (long)step.count * step.nout * u.n1;

  if (i >= u.n0) return;
  for (int b = blockIdx.z; b < u.nb; b += gridDim.z)
    for (long k = blockIdx.y; k < all; k += gridDim.y) {
      const int j = (int)(k % u.n1), o = (int)(k / u.n1 % step.nout), item = (int)(k / u.n1 / step.nout);
      const size_t of = (size_t)b * step.count + item;
      T *to =
        U + i * u.stride0 + j * u.stride1 + b * u.boxstride + step.out[(size_t)item * step.nout + o] * u.rowstride;
      double v = step.add ? (double)*to : 0;

      for (int q = 0; q < nsum; q++) v += (double)parts[((of * nsum + q) * step.nout + o) * gline + i + j * g1];
      *to = (T)v;
    }
}

static dim3 step_grid(const BCRCudaPlanes *u, long rows)
{
  return dim3((unsigned)((u->n0 + BCR_THREADS - 1) / BCR_THREADS), bcr_blocks(rows * u->n1, 1, BCR_GRID_YZ),
              bcr_blocks(u->nb, 1, BCR_GRID_YZ));
}

int BCRCudaStepForm(BCRStream stream, const BCRCudaStep *step, const BCRCudaPlanes *u, int single, const void *U,
                    void *G, ptrdiff_t g1, ptrdiff_t gline)
{
  const long np = step->np;
  cudaStream_t s = bcr_stream(stream);

  if (np < 2)
    BCR_CUDA_TYPE(single, form<T, 1>
                  <<<step_grid(u, step->count), BCR_THREADS, 0, s>>>(*step, *u, (const T *)U, (T *)G, g1, gline));
  else if (np < 4)
    BCR_CUDA_TYPE(single, form<T, 2><<<step_grid(u, step->count * ((np + 1) / 2)), BCR_THREADS, 0, s>>>(
                            *step, *u, (const T *)U, (T *)G, g1, gline));
  else
    BCR_CUDA_TYPE(single, form<T, 4><<<step_grid(u, step->count * ((np + 3) / 4)), BCR_THREADS, 0, s>>>(
                            *step, *u, (const T *)U, (T *)G, g1, gline));
  return bcr_done();
}

int BCRCudaStepSum(BCRStream stream, const BCRCudaStep *step, const BCRCudaPlanes *u, int single, const void *G,
                   ptrdiff_t g1, ptrdiff_t gline, int terms, void *parts, void *U)
{
  const long nsum = (step->np + terms - 1) / terms, no = step->nout;
  cudaStream_t s = bcr_stream(stream);

  if (no < 2)
    BCR_CUDA_TYPE(single, sums<T, 1><<<step_grid(u, step->count * nsum), BCR_THREADS, 0, s>>>(
                            *step, *u, (const T *)G, g1, gline, terms, (T *)parts, (T *)U));
  else if (no < 5)
    BCR_CUDA_TYPE(single, sums<T, 4><<<step_grid(u, step->count * nsum), BCR_THREADS, 0, s>>>(
                            *step, *u, (const T *)G, g1, gline, terms, (T *)parts, (T *)U));
  else
    BCR_CUDA_TYPE(single, sums<T, 8><<<step_grid(u, step->count * nsum * ((no + 7) / 8)), BCR_THREADS, 0, s>>>(
                            *step, *u, (const T *)G, g1, gline, terms, (T *)parts, (T *)U));
  if (nsum > 1)
    BCR_CUDA_TYPE(single, total<T><<<step_grid(u, step->count * no), BCR_THREADS, 0, s>>>(
                            *step, *u, (const T *)parts, g1, gline, (int)nsum, (T *)U));
  return bcr_done();
}

/* shift of each plane that a step in three dimensions solves: to[(b count + item) np + p] = shift[b] + a lambda[p] */
static __global__ void plane_shifts(BCRCudaStep step, int nb, const double *shift, double a, double *to)
{
  const long all = (long)nb * step.count * step.np;

  for (long k = (long)blockIdx.x * blockDim.x + threadIdx.x; k < all; k += (long)gridDim.x * blockDim.x)
    to[k] = shift[k / step.np / step.count] + a * step.lambda[k % step.np];
}

enum {
  SHIFT_BLOCKS = 1024 /* at most; a thread goes on where there are more shifts */
};

int BCRCudaStepShifts(BCRStream stream, const BCRCudaStep *step, int nb, const double *shift, double a, double *to)
{
  plane_shifts<<<bcr_blocks((ptrdiff_t)nb * step->count * step->np, BCR_THREADS, SHIFT_BLOCKS), BCR_THREADS, 0,
                 bcr_stream(stream)>>>(*step, nb, shift, a, to);
  return bcr_done();
}

/* -------- lines -------- */

/* two neighbours in memory */
template <typename T>
struct alignas(2 * sizeof(T)) Pair {
  T a, b;
};

enum {
  MAXLEVELS = 32
};

/* What a level of the reduction multiplies with: t/d and 1/d of inner rows, of the first row and of the last one */
struct Factors {
  double q[3][MAXLEVELS], inv[3][MAXLEVELS], t[MAXLEVELS];
};

/* rows of the next level */
static __host__ __device__ inline int halved(int n)
{
  return n / 2;
}

/*
  (22) with ends of any kind. Row sums s = d - t (one end) and delta = d - 2t instead of the
  diagonals, so that nothing cancels where d is close to 2; the couplings are t. Lane 1 goes down
  along the first row, lane 2 along the last one.
*/
static __device__ void line_factors(Factors *f, int n, double delta, int first, int last)
{
  const int e = threadIdx.x;
  double t = 1, dl = delta, s;
  const BCREndRule rule = BCREndGetRule((BCREnd)(e == 2 ? last : first));

  if (e > 2) return;
  s = rule.weight * delta + rule.excess;
  for (int r = 0;; r++, n = halved(n)) {
    const double d = 2 * t + dl, inv = 1 / d, q = t * inv, diag = e ? s + t : d, einv = e ? 1 / diag : inv;
    const double dn = dl * (1 + 2 * q), tn = t * q;

    f->inv[e][r] = einv;
    f->q[e][r] = t * einv;
    if (!e) f->t[r] = t;
    /* the only row is the first and the last one; its diagonal is zero where the line is singular:
       its solution is zero then */
    if (n == 1) {
      const double s1 = __shfl_sync(7u, s, 1), s2 = __shfl_sync(7u, s, 2), only = s1 + s2 - dl;

      if (!e) f->inv[0][r] = only == 0 ? 0 : 1 / only;
      return;
    }
    if (e == 2 && n % 2 == 0) s += q * dl; /* the last row stays, and loses the one before it */
    else s = dn + tn * (2 * s - dl) * einv;
    dl = dn;
    t = tn;
  }
}

/*
  One level for rows in sections of W (a pair of sections at a time, as in Figure 1): section s
  begins at (2^r (s + 1) - 1) W. Odd rows (counted from one) go to the first section of the pair,
  what is left of the even ones to the second one, which are the sections of the next level.
*/
template <typename T>
static __device__ void sections_down(T *g, int r, int n, const Factors &f, int level)
{
  const int W = blockDim.x, w = threadIdx.x, pairs = (n + 2 * W - 1) / (2 * W);

  for (int p = 0; p < pairs; p++) {
    const ptrdiff_t A = (((ptrdiff_t)(2 * p + 1) << r) - 1) * W, B = (((ptrdiff_t)(2 * p + 2) << r) - 1) * W,
                    C = (((ptrdiff_t)(2 * p + 3) << r) - 1) * W;
    const int e = 2 * w, k = 2 * W * p + e; /* the odd row, from 0 */
    Pair<T> x = {0, 0};
    T next = 0;
    double v;

    if (k + 1 < n) x = *(const Pair<T> *)(g + (e < W ? A + e : B + e - W));
    else if (k < n) x.a = g[e < W ? A + e : B + e - W];
    if (k + 2 < n) next = e + 2 < W ? g[A + e + 2] : (e + 2 < 2 * W ? g[B + e + 2 - W] : g[C]);
    v = (double)x.b + f.q[k == 0 ? 1 : 0][level] * (double)x.a;
    if (k + 2 < n) v += f.q[k + 2 == n - 1 ? 2 : 0][level] * (double)next;
    __syncthreads();
    if (k < n && w > 0) g[A + w] = x.a;
    if (k + 1 < n) g[B + w] = (T)v;
  }
  __syncthreads();
}

template <typename T>
static __device__ void sections_up(T *g, int r, int n, const Factors &f, int level)
{
  const int W = blockDim.x, w = threadIdx.x, pairs = (n + 2 * W - 1) / (2 * W);

  for (int p = 0; p < pairs; p++) {
    const ptrdiff_t A = (((ptrdiff_t)(2 * p + 1) << r) - 1) * W, B = (((ptrdiff_t)(2 * p + 2) << r) - 1) * W,
                    Z = ((((ptrdiff_t)2 * p) << r) - 1) * W;
    const int e = 2 * w, k = 2 * W * p + e, end = k == 0 ? 1 : (k == n - 1 ? 2 : 0);
    Pair<T> x = {0, 0};
    double v = 0;

    if (k < n) x.a = g[A + w];
    if (k + 1 < n) x.b = g[B + w], v = (double)x.b;
    if (k > 0 && k < n) v += w ? (double)g[B + w - 1] : (double)g[Z + W - 1];
    x.a = (T)(f.inv[end][level] * (double)x.a + f.q[end][level] * v);
    __syncthreads();
    if (k + 1 < n && w < W - 1) *(Pair<T> *)(g + (e < W ? A + e : B + e - W)) = x;
    else if (k < n) g[e < W ? A + e : B + e - W] = x.a; /* the last row of a pair is where it was */
  }
  __syncthreads();
}

/* Third stage: all rows in one place, from base on, odd ones first, then even ones: width of each, a power of two */
static __host__ __device__ inline int third_width(int n)
{
  int w = 1;

  while (2 * w < n) w *= 2;
  return w;
}

template <typename T>
__global__ void lines_cyclic(BCRCudaStep step, int nb, int n, double scale, double a, const double *shift, int first,
                             int last, T *G, ptrdiff_t ld, int rows)
{
  extern __shared__ __align__(16) char bcr_lines_shared[];
  __shared__ Factors f;
  T *sm = (T *)bcr_lines_shared;
  const int W = blockDim.x, w = threadIdx.x;
  const long lines = (long)nb * step.count * step.np;

  for (long line = blockIdx.x; line < lines; line += gridDim.x) {
    T *g = G + line * ld;
    const int p = (int)(line % step.np), b = (int)(line / step.np / step.count);
    int level = 0, m = n, top, base = 0, r2 = 0;

    line_factors(&f, n, scale * (shift[b] + a * step.lambda[p]), first, last);
    if (w == 0) { /* rows times their weights are symmetric */
      const T w0 = (T)BCREndGetRule((BCREnd)first).weight, wn = (T)BCREndGetRule((BCREnd)last).weight;

      if (w0 != 1) g[0] *= w0;
      if (wn != 1) g[n - 1] *= wn;
    }
    __syncthreads();
    /* first stage, in global memory, for what does not fit the shared memory */
    while (m > rows) {
      sections_down(g, level, m, f, level);
      m = halved(m);
      level++;
    }
    top = level;
    for (int k = w; k < m; k += W) sm[k] = top ? g[(((ptrdiff_t)(k / W + 1) << top) - 1) * W + k % W] : g[k];
    __syncthreads();
    /* second stage */
    while (m > W) {
      sections_down(sm, r2, m, f, level);
      m = halved(m);
      level++;
      r2++;
    }
    base = (int)((1 << r2) - 1) * W;
    /* third stage */
    while (m > 1) {
      const int h = third_width(m), k = 2 * w;
      T x = 0;
      double v = 0;

      if (k < m) x = sm[base + k];
      if (k + 1 < m) v = (double)sm[base + k + 1] + f.q[k == 0 ? 1 : 0][level] * (double)x;
      if (k + 2 < m) v += f.q[k + 2 == m - 1 ? 2 : 0][level] * (double)sm[base + k + 2];
      __syncthreads();
      if (k < m) sm[base + w] = x;
      if (k + 1 < m) sm[base + h + w] = (T)v;
      __syncthreads();
      base += h;
      m = halved(m);
      level++;
    }
    if (w == 0) sm[base] = (T)((double)sm[base] * f.inv[0][level]);
    __syncthreads();
    /* and back; m: rows of each level again */
    while (level > top + r2) {
      int h, k = 2 * w, end;
      T x = 0, y = 0;

      level--;
      m = n;
      for (int q = 0; q < level; q++) m = halved(m);
      h = third_width(m);
      base -= h;
      end = k == 0 ? 1 : (k == m - 1 ? 2 : 0);
      if (k < m) {
        double v = 0;

        if (k + 1 < m) y = sm[base + h + w], v = (double)y;
        if (k > 0) v += (double)sm[base + h + w - 1];
        x = (T)(f.inv[end][level] * (double)sm[base + w] + f.q[end][level] * v);
      }
      __syncthreads();
      if (k < m) sm[base + k] = x;
      if (k + 1 < m) sm[base + k + 1] = y;
      __syncthreads();
    }
    while (level > top) {
      level--;
      m = n;
      for (int q = 0; q < level; q++) m = halved(m);
      sections_up(sm, level - top, m, f, level);
    }
    m = n;
    for (int q = 0; q < top; q++) m = halved(m);
    for (int k = w; k < m; k += W) {
      if (top) g[(((ptrdiff_t)(k / W + 1) << top) - 1) * W + k % W] = sm[k];
      else g[k] = sm[k];
    }
    __syncthreads();
    while (level > 0) {
      level--;
      m = n;
      for (int q = 0; q < level; q++) m = halved(m);
      sections_up(g, level, m, f, level);
    }
  }
}

/* elements that n rows in sections of W take down to at most `rows` (global memory), or down to W
   rows (shared memory) */
static ptrdiff_t sections_extent(int n, int W, int rows)
{
  ptrdiff_t extent = n;

  for (int r = 0; n > rows; r++, n = halved(n)) {
    const ptrdiff_t pairs = ((ptrdiff_t)n + 2 * W - 1) / (2 * W), end = (2 * pairs << r) * W;

    if (end > extent) extent = end;
  }
  return extent;
}

int BCRCudaLinesCyclicShape(int n, int single, int shared, int width, int *rows, ptrdiff_t *ld)
{
  const int size = single ? (int)sizeof(float) : (int)sizeof(double),
            room = (shared - (int)sizeof(Factors) - 64) / size;
  const int W = width;
  int R = *rows;

  if (W > 1024 || W < 32 || (W & (W - 1))) return 1;
  if (R < 1 || R > n) R = n;
  if (R < W) R = W;
  while (R > W && sections_extent(R, W, W) + W > room) R = R / 2;
  if (sections_extent(R, W, W) + W > room || 2 * W > room) return 1;
  *rows = R;
  *ld = (sections_extent(n, W, R) + 3) / 4 * 4; /* pairs of neighbours are read at once */
  return 0;
}

int BCRCudaLinesCyclic(BCRStream stream, const BCRCudaStep *step, int nb, int n, double scale, double a,
                       const double *shift, int first, int last, int single, void *G, ptrdiff_t ld, int width, int rows)
{
  const long lines = (long)nb * step->count * step->np;
  ptrdiff_t most = 2 * width; /* the third stage has up to twice that */
  size_t bytes;
  cudaError_t e = cudaSuccess;

  for (int m = n;; m = halved(m)) { /* what comes to the shared memory depends on the halvings */
    if (m > rows) continue;
    if (sections_extent(m, width, width) + width > most) most = sections_extent(m, width, width) + width;
    break;
  }
  bytes = (size_t)most * (single ? sizeof(float) : sizeof(double));
  if (single) e = cudaFuncSetAttribute(lines_cyclic<float>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
  else e = cudaFuncSetAttribute(lines_cyclic<double>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
  if (e != cudaSuccess) return (int)e;
  BCR_CUDA_TYPE(single, lines_cyclic<T>
                <<<(unsigned)(lines < (1 << 30) ? lines : (1 << 30)), width, bytes, bcr_stream(stream)>>>(
                  *step, nb, n, scale, a, shift, first, last, (T *)G, ld, rows));
  return bcr_done();
}
