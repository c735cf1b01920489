/*
  Transforms of contiguous rows that are periodic, or lie between two cell-centred ends of the same
  kind, for lengths n with small factors: two rows a, b as one complex sequence z = a + i b, whose
  Fourier transform Z is formed in place in shared memory (passes.cuh).

  Both rows' sums with cosines are (Z_k + Z_(-k))/2, those with sines i (Z_k - Z_(-k))/2, real part
  a, imaginary part b: nothing has to be untangled. Between cell-centred Neumann ends sum_j x_j
  cos(pi (2 j + 1) k/(2 n)) = (w_k V_k + conj(w_k) V_(-k))/2, w_k = e^(-i pi k/(2 n)), where v has
  the even x_j, then the odd ones backwards (Makhoul 1980); between Dirichlet ends mode n - k is the
  same of (-1)^j x_j. Results stay where Z_k lies, which defines the order of the modes, twice too
  large; the way back, the same steps transposed, makes them twice too large again. Lines across
  contiguous columns are transformed in the same way, a block has some neighbours.
*/
#include "passes.cuh"

struct RowArgs {
  BCRCudaRowFft p;
  int nrows, na, back;
  ptrdiff_t fa, fb, ua, ub; /* rows, and planes of na rows */
  const int *extraof;       /* row of extra that is added, or -1 */
  ptrdiff_t extrald, extrab;
};

template <typename T>
static __device__ __forceinline__ Cplx<T> times_i(Cplx<T> a)
{
  return {-a.y, a.x};
}

/* Two modes from Z_k = v at position i and Z_(-k) = w; and transposed. h: half root of i, half: of
   ends that have these */
template <typename T>
static __device__ __forceinline__ Cplx<T> row_pair(bool half, Cplx<T> h, int entry, Cplx<T> v, Cplx<T> w)
{
  if (half) return h * v + Cplx<T>{h.x, -h.y} * w;
  return entry < 0 ? times_i(w - v) : v + w;
}
template <typename T>
static __device__ __forceinline__ Cplx<T> row_pair_back(bool half, Cplx<T> h, int i, int entry, Cplx<T> v, Cplx<T> w)
{
  if (half ? i == 0 : (entry & 0x7fffffff) == i) return v + v;
  if (half) return h * (v + times_i(w));
  return entry < 0 ? w - times_i(v) : v + times_i(w);
}

template <typename T, int PAD>
static __device__ __forceinline__ void row_in(const RowArgs &g, PassField<T, PAD> z, const T *f, const T *extra,
                                              int job, int tid)
{
  const BCRCudaRowFft &p = g.p;
  const int r0 = 2 * job, r1 = min(r0 + 1, g.nrows - 1), a0 = r0 % g.na, b0 = r0 / g.na, a1 = r1 % g.na, b1 = r1 / g.na;
  const T *from0 = f + a0 * g.fa + b0 * g.fb, *from1 = f + a1 * g.fa + b1 * g.fb;

  if (!g.back) {
    const int x0 = extra ? g.extraof[a0] : -1, x1 = extra ? g.extraof[a1] : -1;
    const T *e0 = x0 >= 0 ? extra + x0 * g.extrald + b0 * g.extrab : NULL,
            *e1 = x1 >= 0 ? extra + x1 * g.extrald + b1 * g.extrab : NULL;

    for (int first = tid; first < p.n; first += PASS_AHEAD * p.threads) {
      int entry[PASS_AHEAD];
      T a[PASS_AHEAD], b[PASS_AHEAD];

#pragma unroll
      for (int q = 0; q < PASS_AHEAD; q++) {
        const int j = first + q * p.threads, i = j < p.n ? j : first;

        entry[q] = __ldg(p.index + p.in + i);
        a[q] = from0[i];
        b[q] = from1[i];
      }
      if (e0 || e1) {
#pragma unroll
        for (int q = 0; q < PASS_AHEAD; q++) {
          const int j = first + q * p.threads, i = j < p.n ? j : first;

          if (e0) a[q] += e0[i];
          if (e1) b[q] += e1[i];
        }
      }
#pragma unroll
      for (int q = 0; q < PASS_AHEAD; q++)
        if (first + q * p.threads < p.n)
          z.put(entry[q] & 0x7fffffff, {pass_sign(a[q], entry[q]), pass_sign(b[q], entry[q])});
    }
  } else {
    for (int first = tid; first < p.n; first += PASS_AHEAD * p.threads) {
      int entry[PASS_AHEAD];
      Cplx<T> v[PASS_AHEAD], w[PASS_AHEAD], h[PASS_AHEAD];

#pragma unroll
      for (int q = 0; q < PASS_AHEAD; q++) {
        const int j = first + q * p.threads, i = j < p.n ? j : first;

        entry[q] = __ldg(p.index + p.partner + i);
        v[q] = {from0[i], from1[i]};
        h[q] = {1, 0};
        if (p.half >= 0) h[q] = pass_root<T>(p.w, p.half + i);
      }
#pragma unroll
      for (int q = 0; q < PASS_AHEAD; q++) w[q] = {from0[entry[q] & 0x7fffffff], from1[entry[q] & 0x7fffffff]};
#pragma unroll
      for (int q = 0; q < PASS_AHEAD; q++) {
        const int i = first + q * p.threads;

        if (i < p.n) z.put(i, row_pair_back(p.half >= 0, h[q], i, entry[q], v[q], w[q]));
      }
    }
  }
}

template <typename T, int PAD>
static __device__ __forceinline__ void row_out(const RowArgs &g, PassField<T, PAD> z, T *u, int job, int tid)
{
  const BCRCudaRowFft &p = g.p;
  const int r0 = 2 * job, r1 = min(r0 + 1, g.nrows - 1);
  T *to0 = u + (r0 % g.na) * g.ua + (r0 / g.na) * g.ub, *to1 = u + (r1 % g.na) * g.ua + (r1 / g.na) * g.ub;

  for (int first = tid; first < p.n; first += PASS_AHEAD * p.threads) {
    int entry[PASS_AHEAD];
    Cplx<T> h[PASS_AHEAD];

#pragma unroll
    for (int q = 0; q < PASS_AHEAD; q++) {
      const int j = first + q * p.threads, i = j < p.n ? j : first;

      entry[q] = __ldg(p.index + (g.back ? p.in : p.partner) + i);
      if (!g.back && p.half >= 0) h[q] = pass_root<T>(p.w, p.half + i);
    }
#pragma unroll
    for (int q = 0; q < PASS_AHEAD; q++) {
      const int i = first + q * p.threads;
      Cplx<T> y = z.get(entry[q] & 0x7fffffff);

      if (i >= p.n) continue;
      if (g.back) y = {pass_sign(y.x, entry[q]), pass_sign(y.y, entry[q])};
      else y = row_pair(p.half >= 0, h[q], entry[q], z.get(i), y);
      to0[i] = y.x;
      if (r1 > r0) to1[i] = y.y;
    }
  }
}

template <typename T, int PAD>
static __device__ __forceinline__ void row_job(const RowArgs &g, void *shared, const T *f, T *u, const T *extra,
                                               int job, int tid)
{
  const BCRCudaRowFft &p = g.p;
  const PassField<T, PAD> z = {(typename PassNumber<T>::type *)shared};

  BCR_PASS_PHASE((row_in<T, PAD>(g, z, f, extra, job, tid)));
  for (int i = 0; i < p.np; i++)
    BCR_PASS_PHASE((pass_any<T, PAD, 1>(p.pass[g.back ? p.np - 1 - i : i], p.w, p.n, 0, p.threads, z, g.back, tid)));
  BCR_PASS_PHASE((row_out<T, PAD>(g, z, u, job, tid)));
}

template <typename T, int PAD>
__global__ void __launch_bounds__(512, 1) row_fft(const __grid_constant__ RowArgs g, const T *f, T *u, const T *extra)
{
  extern __shared__ __align__(16) char sm[];

  bcr_wait_before();
  row_job<T, PAD>(g, sm, f, u, extra, blockIdx.x, threadIdx.x);
  bcr_go_after();
}

/* Lines across contiguous columns: a block has 2 COLUMNS of them, neighbours as a complex number */
enum {
  COLUMNS = 8,          /* so that a row of a block is 128 bytes of doubles: a cache line */
  COLUMN_THREADS = 256, /* of a block; neither was measured apart */
  ROW_THREADS = 512,    /* of a block that has a pair of rows, at most, and */
  ROW_REGISTERS = 128   /* what that leaves to each: pass_threads() chooses */
};
struct ColumnArgs {
  BCRCudaRowFft p;
  int nx, back;
  ptrdiff_t fs, fb, us, ub; /* along the lines, from plane to plane */
};

template <typename T>
__global__ void __launch_bounds__(COLUMN_THREADS, 2) row_columns(const __grid_constant__ ColumnArgs g, const T *f, T *u)
{
  extern __shared__ __align__(16) char sm[];
  const BCRCudaRowFft &p = g.p;
  const PassField<T> z = {(typename PassNumber<T>::type *)sm};
  /* a thread stays in its columns */
  const int tid = threadIdx.x, count = p.n * COLUMNS, x = 2 * (COLUMNS * blockIdx.x + tid % COLUMNS);
  const bool here = x < g.nx, two = x + 1 < g.nx;
  auto take = [&](int i) {
    const T *from = f + i * g.fs;
    Cplx<T> v = {0, 0};

    if (here) v.x = from[0];
    if (two) v.y = from[1];
    return v;
  };

  f += blockIdx.y * g.fb + x;
  u += blockIdx.y * g.ub + x;
  bcr_wait_before();
  for (int first = tid; first < count; first += PASS_AHEAD * COLUMN_THREADS) {
    int entry[PASS_AHEAD];
    Cplx<T> v[PASS_AHEAD], w[PASS_AHEAD];

#pragma unroll
    for (int q = 0; q < PASS_AHEAD; q++) {
      const int i = min(first + q * COLUMN_THREADS, count - 1) / COLUMNS;

      entry[q] = __ldg(p.index + (g.back ? p.partner : p.in) + i);
      v[q] = take(i);
    }
    if (g.back) {
#pragma unroll
      for (int q = 0; q < PASS_AHEAD; q++) w[q] = take(entry[q] & 0x7fffffff);
    }
#pragma unroll
    for (int q = 0; q < PASS_AHEAD; q++) {
      const int e = first + q * COLUMN_THREADS, i = e / COLUMNS;

      if (e >= count) continue;
      if (g.back)
        z.put(e, row_pair_back(p.half >= 0, p.half >= 0 ? pass_root<T>(p.w, p.half + i) : Cplx<T>{1, 0}, i, entry[q],
                               v[q], w[q]));
      else
        z.put((entry[q] & 0x7fffffff) * COLUMNS + e % COLUMNS,
              {pass_sign(v[q].x, entry[q]), pass_sign(v[q].y, entry[q])});
    }
  }
  __syncthreads();
  for (int i = 0; i < p.np; i++)
    BCR_PASS_PHASE(
      (pass_any<T, 0, 1>(p.pass[g.back ? p.np - 1 - i : i], p.w, count, 0, COLUMN_THREADS, z, g.back, tid)));
  for (int e = tid; e < count; e += COLUMN_THREADS) {
    const int i = e / COLUMNS, entry = __ldg(p.index + (g.back ? p.in : p.partner) + i);
    Cplx<T> y = z.get((entry & 0x7fffffff) * COLUMNS + e % COLUMNS);
    T *to = u + i * g.us;

    if (g.back) y = {pass_sign(y.x, entry), pass_sign(y.y, entry)};
    else y = row_pair(p.half >= 0, p.half >= 0 ? pass_root<T>(p.w, p.half + i) : Cplx<T>{1, 0}, entry, z.get(e), y);
    if (here) to[0] = y.x;
    if (two) to[1] = y.y;
  }
  bcr_go_after();
}

static size_t row_bytes(int n, int pad, int single)
{
  return 2 * (size_t)((pad ? PassField<double, 1>::at(n) : n) + 1) * (single ? sizeof(float) : sizeof(double));
}

int BCRCudaRowFftPlan(int n, BCREnd end, int across, int single, int shared, BCRCudaRowFft *plan, double *w, int *index,
                      int *modes)
{
  const int each = across ? COLUMNS : 1, periodic = BCREndIsPeriodic(end);
  const BCREndMirror mirror = BCREndGetRule(end).mirror;
  int R[BCR_CUDA_DST_PASSES + 1], now[BCR_CUDA_DST_PASSES + 1], *in, *out, *where;
  BCRCudaRowFft t;

  memset(&t, 0, sizeof(t));
  if (n < 2 || (!periodic && mirror.distance != 1) || pass_choose(n, 0, n * each, 0, R, &t.np, now, 0, 1e30) > 1e29)
    return 0;
  t.n = n;
  t.pad = !across && n % 32 == 0;
  if (each * row_bytes(n, t.pad, single) > (size_t)shared) return 0;
  in = (int *)malloc(3 * (size_t)n * sizeof(int));
  if (!in) return 0;
  out = in + n;
  where = out + n;
  t.nw = pass_tables(t.np, R, n, each, t.pass, in, out, w, 0);
  t.half = periodic ? -1 : t.nw;
  t.in = 0;
  t.partner = n;
  t.ni = 2 * n;
  for (int p = 0; p < n && w && !periodic; p++) {
    const double a = 3.14159265358979323846 * out[p] / (2. * n);

    w[2 * (t.half + p)] = cos(a);
    w[2 * (t.half + p) + 1] = -sin(a);
  }
  if (!periodic) t.nw += n;
  for (int i = 0; i < n && index; i++) where[in[i]] = i;
  for (int i = 0; i < n && index; i++)
    index[t.in + i] =
      periodic
        ? where[i]
        : (i % 2 == 0 ? where[i / 2] : (int)((unsigned)where[n - 1 - i / 2] | (mirror.sign < 0 ? 0x80000000u : 0u)));
  for (int p = 0; p < n && index; p++) where[out[p]] = p;
  for (int p = 0; p < n && index; p++) {
    const int k = out[p];

    index[t.partner + p] = (int)((unsigned)where[(n - k) % n] | (periodic && 2 * k > n ? 0x80000000u : 0u));
    if (periodic) modes[p] = 2 * k > n ? 2 * (n - k) : (k ? 2 * k - 1 : 0);
    else modes[p] = mirror.sign > 0 ? k : n - 1 - k;
    modes[n + p] = 1;
  }
  free(in);
  t.shared = shared;
  *plan = t;
  return 1;
}

template <typename T, int PAD>
static int row_launch(const RowArgs &g, const T *f, T *u, const T *extra, cudaStream_t stream)
{
  const size_t bytes = row_bytes(g.p.n, PAD, sizeof(T) == sizeof(float));
  cudaError_t e =
    cudaFuncSetAttribute((const void *)row_fft<T, PAD>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);

  if (e != cudaSuccess) return (int)e;
  return bcr_launch(1, row_fft<T, PAD>, dim3((unsigned)((g.nrows + 1) / 2)), g.p.threads, bytes, stream, g, f, u,
                    extra);
}

int BCRCudaRowFftApply(BCRStream stream, const BCRCudaRowFft *plan, int back, int single, int sms,
                       const BCRCudaLines *fl, const void *f, const BCRCudaLines *ul, void *u, const void *extra,
                       const int *extraof, ptrdiff_t extrald, ptrdiff_t extrab, int more)
{
  RowArgs g;
  int error = 0;

  g.p = *plan;
  g.back = back != 0;
  bcr_rows(&g, fl, ul, more, extraof, extrald, extrab);
  if (g.nrows < 1) return 0;
  g.p.threads = pass_threads((g.nrows + 1) / 2, sms, ROW_REGISTERS, ROW_THREADS, row_bytes(plan->n, plan->pad, single),
                             plan->shared);
  BCR_CUDA_TYPE(single, error = plan->pad
                                  ? row_launch<T, 1>(g, (const T *)f, (T *)u, (const T *)extra, bcr_stream(stream))
                                  : row_launch<T, 0>(g, (const T *)f, (T *)u, (const T *)extra, bcr_stream(stream)));
  return error;
}

template <typename T>
static int columns_launch(const ColumnArgs &g, int nb, const T *f, T *u, cudaStream_t stream)
{
  const size_t bytes = 2 * sizeof(T) * COLUMNS * (size_t)g.p.n;
  cudaError_t e =
    cudaFuncSetAttribute((const void *)row_columns<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);

  if (e != cudaSuccess) return (int)e;
  return bcr_launch(1, row_columns<T>, dim3((unsigned)((g.nx + 2 * COLUMNS - 1) / (2 * COLUMNS)), (unsigned)nb),
                    COLUMN_THREADS, bytes, stream, g, f, u);
}

int BCRCudaRowFftAcross(BCRStream stream, const BCRCudaRowFft *plan, int back, int single, const BCRCudaLines *fl,
                        const void *f, const BCRCudaLines *ul, void *u)
{
  ColumnArgs g;
  int error = 0;

  g.p = *plan;
  g.nx = fl->na;
  g.back = back != 0;
  g.fs = fl->s;
  g.fb = fl->sb;
  g.us = ul->s;
  g.ub = ul->sb;
  if (fl->na < 1 || fl->nb < 1) return 0;
  BCR_CUDA_TYPE(single, error = columns_launch<T>(g, fl->nb, (const T *)f, (T *)u, bcr_stream(stream)));
  return error;
}
