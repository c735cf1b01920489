/* Poisson across ranks: see border.h. A thread has a mode (or an element of a row); every order of
   summation is fixed. */
#include "common.cuh"
#include "reduced.cuh"

/* Not measured apart: these kernels are small beside those of a part's own rows */
enum {
  SYSTEM_THREADS = 32, /* of a block, each of which has a whole reduced system, row after row: a warp */
  PART_THREADS = 64    /* of a block, each of which has the rows of the inverse of one part */
};

template <typename T>
__global__ void row_get(BCRCudaRow r, const T *f, double c, double a, double *v)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;

  if (i >= r.n0) return;
  double *p = v + i + (ptrdiff_t)r.n0 * j;

  *p = (c != 0 ? c * *p : 0) + a * (double)f[i * r.stride0 + j * r.stride1];
}

template <typename T>
__global__ void row_set(BCRCudaRow r, T *u, double c, double a, const double *v)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;

  if (i >= r.n0) return;
  T *p = u + i * r.stride0 + j * r.stride1;

  *p = (T)((c != 0 ? c * (double)*p : 0) + a * v[i + (ptrdiff_t)r.n0 * j]);
}

static dim3 row_grid(const BCRCudaRow *r)
{
  return dim3((unsigned)((r->n0 + BCR_THREADS - 1) / BCR_THREADS), (unsigned)r->n1);
}

int BCRCudaRowGet(BCRStream stream, const BCRCudaRow *row, int single, const void *f, double c, double a, double *v)
{
  BCR_CUDA_TYPE(single, row_get<<<row_grid(row), BCR_THREADS, 0, bcr_stream(stream)>>>(*row, (const T *)f, c, a, v));
  return bcr_done();
}

int BCRCudaRowSet(BCRStream stream, const BCRCudaRow *row, int single, void *u, double c, double a, const double *v)
{
  BCR_CUDA_TYPE(single, row_set<<<row_grid(row), BCR_THREADS, 0, bcr_stream(stream)>>>(*row, (T *)u, c, a, v));
  return bcr_done();
}

static __global__ void matrix(int n, const double *__restrict__ M, BCRCudaLines lines, const double *__restrict__ x,
                              double *__restrict__ y)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const ptrdiff_t line = blockIdx.y * lines.sa + blockIdx.z * lines.sb;
  double sum = 0;

  if (i >= n) return;
  for (int j = 0; j < n; j++) sum += M[i + (ptrdiff_t)n * j] * x[line + j * lines.s];
  y[line + i * lines.s] = sum;
}

int BCRCudaMatrix(BCRStream stream, int n, const double *M, const BCRCudaLines *lines, const double *x, double *y)
{
  matrix<<<dim3((unsigned)((n + BCR_THREADS - 1) / BCR_THREADS), (unsigned)lines->na, (unsigned)lines->nb), BCR_THREADS,
           0, bcr_stream(stream)>>>(n, M, *lines, x, y);
  return bcr_done();
}

static __device__ int part_of(int nparts, const int *first, int k)
{
  int q = 0;

  while (q < nparts - 1 && k >= first[q + 1]) q++;
  return q;
}

static __global__ void pack(int nparts, int nmodes, const int *first, const double *norm, const double *interface,
                            int way, const double *previous, double *sent)
{
  const int k = blockIdx.x * blockDim.x + threadIdx.x;

  if (k >= nmodes) return;
  const int q = nparts > 1 ? part_of(nparts, first, k) : 0, n = nparts > 1 ? first[q + 1] - first[q] : nmodes,
            own = nparts > 1 ? first[q] : 0;
  const ptrdiff_t at = 2 * (ptrdiff_t)own + k - own;
  const double f = norm ? norm[k] : 1;

  sent[nparts > 1 ? at : n - 1 - k] = f * interface[(ptrdiff_t)way * k];
  sent[at + n] = f * previous[k];
}

int BCRCudaBorderPack(BCRStream stream, int nparts, int nmodes, const int *first, const double *norm,
                      const double *interface, int way, const double *previous, double *sent)
{
  pack<<<(unsigned)((nmodes + BCR_THREADS - 1) / BCR_THREADS), BCR_THREADS, 0, bcr_stream(stream)>>>(
    nparts, nmodes, first, norm, interface, way, previous, sent);
  return bcr_done();
}

static __global__ void unpack(int nparts, int nmodes, const int *first, const double *received, double *x,
                              double *before, double *mean)
{
  const int k = blockIdx.x * blockDim.x + threadIdx.x;

  if (k >= nmodes) return;
  const int q = part_of(nparts, first, k), n = first[q + 1] - first[q];
  const ptrdiff_t at = 2 * (ptrdiff_t)first[q] + q + k - first[q];

  x[k] = received[at];
  before[k] = received[at + n];
  if (k == 0) {
    double m = 0;

    for (int p = 0; p < nparts; p++) m += received[2 * (ptrdiff_t)first[p + 1] + p];
    *mean = m;
  }
}

int BCRCudaBorderUnpack(BCRStream stream, int nparts, int nmodes, const int *first, const double *received, double *x,
                        double *before, double *mean)
{
  unpack<<<(unsigned)((nmodes + BCR_THREADS - 1) / BCR_THREADS), BCR_THREADS, 0, bcr_stream(stream)>>>(
    nparts, nmodes, first, received, x, before, mean);
  return bcr_done();
}

/* block_corner() of src/poisson/slabrows.c: the corner entry of a block's inverse and the last
   entry of its inverse times (e + lambda) */
static __device__ void corner(const BCRCudaBorderTab &b, int first, int m, int dir, double lambda, double *t, double *w)
{
  const double *low = dir > 0 ? b.low : b.up, *up = dir > 0 ? b.up : b.low;
  double num = 0, P = 1, y = 0, prod = 1;

  for (int k = 0; k < m; k++) {
    const int i = dir > 0 ? first + k : first + m - 1 - k;
    const double e = b.excess[i] + lambda, ratio = k ? low[i] / P : 0, num0 = num, y0 = y;

    num = k ? e + ratio * num : e + low[i];
    y = k ? e + ratio * y : e;
    prod *= k ? ratio : low[i];
    P = up[i] + num;
    /* nothing changes up to the last row */
    if (b.uniform && k > 1 && k + 2 < m && fabs(num - num0) <= 1e-16 * fabs(num) && fabs(y - y0) <= 1e-16 * fabs(y)) {
      const int skip = m - 2 - k;

      prod *= pow(low[i] / P, (double)skip);
      k += skip;
    }
  }
  *t = m ? prod / P : 1;
  if (fabs(*t) < 1e-200) *t = 0;
  *w = m ? y / P : 0;
}

static __global__ void border_tables(BCRCudaBorderTab b)
{
  const int j = blockIdx.x * blockDim.x + threadIdx.x, n = b.n, open = b.periodic ? b.nrow - 1 : b.nrow;

  if (j >= n) return;
  const double lambda = b.shift + b.lambda[b.firstmode + j];
  double num = 0, P = 1, w = 0, wfirst = 0, elast = 0;

  if (b.firstmode + j == b.constant) return;
  for (int p = 0; p < b.nrow; p++) { /* rows: their excess goes where the pivots will be */
    const int after = (p + 1) % b.nparts, i = b.first[p] + b.interior[p];
    const ptrdiff_t at = (ptrdiff_t)p * n + j;
    double t0, w0, t1, w1;

    corner(b, b.first[p], b.interior[p], 1, lambda, &t0, &w0);
    corner(b, b.first[after], b.interior[after], -1, lambda, &t1, &w1);
    b.table[BCR_BORDER_LOW][at] = b.low[i] * t0;
    b.table[BCR_BORDER_UP][at] = b.up[i] * t1;
    b.table[BCR_BORDER_PIVOT][at] = b.excess[i] + lambda + b.low[i] * w0 + b.up[i] * w1;
  }
  if (b.periodic) {
    const ptrdiff_t at = (ptrdiff_t)open * n + j;

    elast = b.table[BCR_BORDER_PIVOT][at];
    b.table[BCR_BORDER_LOWLAST][j] = b.table[BCR_BORDER_LOW][at];
    b.table[BCR_BORDER_UPLAST][j] = b.table[BCR_BORDER_UP][at];
    for (int p = open - 1; p >= 0; p--) { /* the first entry of (open rows)^-1 e: from the end */
      const ptrdiff_t a = (ptrdiff_t)p * n + j;
      const double e = b.table[BCR_BORDER_PIVOT][a], up = b.table[BCR_BORDER_UP][a];

      num = p == open - 1 ? e + up : e + up * num / P;
      wfirst = p == open - 1 ? e : e + up * wfirst / P;
      P = b.table[BCR_BORDER_LOW][a] + num;
    }
    if (open) wfirst /= P;
  }
  num = 0;
  P = 1;
  for (int p = 0; p < open; p++) {
    const ptrdiff_t a = (ptrdiff_t)p * n + j;
    const double e = b.table[BCR_BORDER_PIVOT][a], low = b.table[BCR_BORDER_LOW][a], up = b.table[BCR_BORDER_UP][a];

    num = p ? e + low * num / P : e + low;
    w = p ? e + low * w / P : e;
    P = up + num;
    b.table[BCR_BORDER_PIVOT][a] = 1 / P;
    b.table[BCR_BORDER_UP][a] = up / P;
    if (b.periodic) b.table[BCR_BORDER_FROMLAST][a] = w / P; /* forward part of (open rows)^-1 e */
  }
  if (b.periodic) {
    const double wlast = open ? b.table[BCR_BORDER_FROMLAST][(ptrdiff_t)(open - 1) * n + j] : 0;
    double v = 0;

    /* and its backward part: 1 - (open rows)^-1 e is what a last unknown of 1 adds */
    for (int p = open - 1; p >= 0; p--) {
      const ptrdiff_t a = (ptrdiff_t)p * n + j;

      v = b.table[BCR_BORDER_FROMLAST][a] + (p < open - 1 ? b.table[BCR_BORDER_UP][a] * v : 0);
      b.table[BCR_BORDER_FROMLAST][a] = 1 - v;
    }
    b.table[BCR_BORDER_LAST][j] =
      1 / (elast + (open ? b.table[BCR_BORDER_LOWLAST][j] * wlast + b.table[BCR_BORDER_UPLAST][j] * wfirst : 0));
  }
}

int BCRCudaBorderTables(BCRStream stream, const BCRCudaBorderTab *tab)
{
  if (tab->n < 1) return 0;
  border_tables<<<(unsigned)((tab->n + SYSTEM_THREADS - 1) / SYSTEM_THREADS), SYSTEM_THREADS, 0, bcr_stream(stream)>>>(
    *tab);
  return bcr_done();
}

/* constant_mode() of src/poisson/ranks.c */
static __device__ double constant_mode(const BCRCudaBorderRows &b, int j, double *work)
{
  const int n = b.nrow;
  double sum = 0, ones = 0, d = 0, rate = 0, total = 0, mean;
  double *x = work + j;

  for (int p = 0; p < n; p++) {
    sum += b.constantmode.weight[p] * x[(ptrdiff_t)p * b.n];
    ones += b.constantmode.weight[p] * b.constantmode.ones[p];
  }
  mean = sum / ones;
  /* used for periodic axes alone, where all of them are positive */
  for (int p = 0; p < n; p++) rate += 1 / b.constantmode.up[p];
  /* round a periodic axis the steps add up to zero: what d before the first row does that */
  for (int pass = b.periodic ? 0 : 1; pass < 2; pass++) {
    double v = 0, f = pass && b.periodic ? -total / rate : 0;

    for (int p = 0; p < n; p++) {
      const double g = x[(ptrdiff_t)p * b.n];

      if (pass == 1) x[(ptrdiff_t)p * b.n] = v;
      d = (p ? b.constantmode.low[p] * d : f) - (g - mean * b.constantmode.ones[p]);
      d = p + 1 < n || b.periodic ? d / b.constantmode.up[p] : 0;
      v += d;
    }
    total = v;
  }
  return mean;
}

static __global__ void border_solve(BCRCudaBorderRows b, const double *received, double *work, int part, double *sent)
{
  const int j = blockIdx.x * blockDim.x + threadIdx.x, n = b.n, open = b.periodic ? b.nrow - 1 : b.nrow;
  double y = 0, mean = 0;

  if (j >= n) return;
  for (int p = 0; p < b.nrow; p++) {
    const int after = (p + 1) % b.nparts;

    work[(ptrdiff_t)p * n + j] =
      received[2 * (ptrdiff_t)n * p + (part < 0 ? j : n - 1 - j)] + received[2 * (ptrdiff_t)n * after + n + j];
  }
  if (b.firstmode + j == b.constant) mean = constant_mode(b, j, work);
  else {
    for (int p = 0; p < open; p++) {
      const ptrdiff_t a = (ptrdiff_t)p * n + j;

      y = (work[a] + (p ? b.low[a] * y : 0)) * b.pivotinverse[a];
      work[a] = y;
    }
    for (int p = open - 2; p >= 0; p--) {
      const ptrdiff_t a = (ptrdiff_t)p * n + j;

      y = work[a] + b.up[a] * y;
      work[a] = y;
    }
    if (b.periodic) {
      const ptrdiff_t a = (ptrdiff_t)open * n + j;
      const double last =
        (work[a] + (open ? b.lowlast[j] * work[a - n] + b.uplast[j] * work[j] : 0)) * b.lastinverse[j];

      work[a] = last;
      for (int p = 0; p < open; p++) work[(ptrdiff_t)p * n + j] += b.fromlast[(ptrdiff_t)p * n + j] * last;
    }
  }
  for (int p = max(part, 0); p < (part < 0 ? b.nparts : part + 1); p++) {
    double *to = sent + (2 * (ptrdiff_t)n + 1) * (part < 0 ? p : 0);
    const int before = p ? p - 1 : (b.periodic ? b.nparts - 1 : -1);

    to[j] = p < b.nrow ? work[(ptrdiff_t)p * n + j] : 0;
    to[n + j] = before >= 0 ? work[(ptrdiff_t)before * n + j] : 0;
    if (b.constant < b.firstmode || b.constant >= b.firstmode + n) {
      if (j == 0) to[2 * n] = 0;
    } else if (b.firstmode + j == b.constant) to[2 * n] = mean;
  }
}

/* Few parts, not singular: the solution of one of them. One thread has a mode */
static __global__ void part_solve(BCRReduced r, double *__restrict__ sent)
{
  const int j = blockIdx.x * blockDim.x + threadIdx.x;
  double after, before;

  if (j >= r.rows.n) return;
  reduced(r, j, &after, &before);
  sent[j] = after;
  sent[r.rows.n + j] = before;
  if (j == 0) sent[2 * (ptrdiff_t)r.rows.n] = 0;
}

/* The rows of the inverse of one part, a column at a time, as border_solve() finds it. One thread has a mode */
static __global__ void border_inverse(BCRCudaBorderRows b, int part, double *inverse)
{
  const int j = blockIdx.x * blockDim.x + threadIdx.x, n = b.n, open = b.periodic ? b.nrow - 1 : b.nrow,
            before = part ? part - 1 : (b.periodic ? b.nparts - 1 : -1);

  if (j >= n) return;
  for (int row = 0; row < b.nrow; row++) {
    double x[BCR_CUDA_GATHER], y = 0, last = 0;

    if (b.firstmode + j == b.constant) {
      b.n = 1;
      for (int p = 0; p < b.nrow; p++) x[p] = p == row;
      (void)constant_mode(b, 0, x);
      b.n = n;
      inverse[(ptrdiff_t)row * n + j] = part < b.nrow ? x[part] : 0;
      inverse[(ptrdiff_t)(b.nrow + row) * n + j] = before >= 0 ? x[before] : 0;
      continue;
    }

    for (int p = 0; p < open; p++) {
      const ptrdiff_t a = (ptrdiff_t)p * n + j;

      x[p] = y = ((p == row) + (p ? b.low[a] * y : 0)) * b.pivotinverse[a];
    }
    for (int p = open - 2; p >= 0; p--) x[p] = y = x[p] + b.up[(ptrdiff_t)p * n + j] * y;
    if (b.periodic) {
      last = ((row == open) + (open ? b.lowlast[j] * x[open - 1] + b.uplast[j] * x[0] : 0)) * b.lastinverse[j];
      x[open] = last;
      for (int p = 0; p < open; p++) x[p] += b.fromlast[(ptrdiff_t)p * n + j] * last;
    }
    inverse[(ptrdiff_t)row * n + j] = part < b.nrow ? x[part] : 0;
    inverse[(ptrdiff_t)(b.nrow + row) * n + j] = before >= 0 ? x[before] : 0;
  }
}

int BCRCudaBorderInverse(BCRStream stream, const BCRCudaBorderRows *rows, int part, double *inverse)
{
  if (rows->n < 1 || rows->nrow > BCR_CUDA_GATHER) return 0;
  border_inverse<<<(unsigned)((rows->n + PART_THREADS - 1) / PART_THREADS), PART_THREADS, 0, bcr_stream(stream)>>>(
    *rows, part, inverse);
  return bcr_done();
}

int BCRCudaBorderSolve(BCRStream stream, const BCRCudaBorderRows *rows, const double *received, double *work, int part,
                       double *sent)
{
  if (rows->n < 1) return 0;
  if (part >= 0 && rows->inverse) {
    const BCRReduced r = {*rows, received, part, 0, {}};

    part_solve<<<(unsigned)((rows->n + PART_THREADS - 1) / PART_THREADS), PART_THREADS, 0, bcr_stream(stream)>>>(r,
                                                                                                                 sent);
    return bcr_done();
  }
  border_solve<<<(unsigned)((rows->n + SYSTEM_THREADS - 1) / SYSTEM_THREADS), SYSTEM_THREADS, 0, bcr_stream(stream)>>>(
    *rows, received, work, part, sent);
  return bcr_done();
}

static __global__ void window_put_all(BCRCudaWindow w, const double *__restrict__ received)
{
  const ptrdiff_t slot = window_slot(w);
  const int k = blockIdx.x * blockDim.x + threadIdx.x, left = blockIdx.y;

  if (k < w.n) window_put(w, slot, left, k, received[window_at(w, w.mine, left, k)]);
}

int BCRCudaWindowPut(BCRStream stream, const BCRCudaWindow *w, const double *received)
{
  window_put_all<<<dim3((unsigned)((w->n + BCR_THREADS - 1) / BCR_THREADS), 2), BCR_THREADS, 0, bcr_stream(stream)>>>(
    *w, received);
  return bcr_done();
}

static __global__ void window_take_all(BCRCudaWindow w, double *received)
{
  const int k = blockIdx.x * blockDim.x + threadIdx.x, left = blockIdx.y & 1, p = blockIdx.y >> 1;

  if (k < w.n && window_goes(w, p, w.mine, left, k)) {
    const ptrdiff_t at = window_at(w, p, left, k);

    received[at] = window_wait(w.to[w.mine] + window_slot(w) + at, w.turn);
  }
  window_done(w.turn);
}

int BCRCudaWindowTake(BCRStream stream, const BCRCudaWindow *w, double *received)
{
  window_take_all<<<dim3((unsigned)((w->n + BCR_THREADS - 1) / BCR_THREADS), (unsigned)(2 * w->parts)), BCR_THREADS, 0,
                    bcr_stream(stream)>>>(*w, received);
  return bcr_done();
}

/* A thread for each part, of one warp */
static __global__ void window_sum(BCRCudaWindow w, double *sum)
{
  const int q = threadIdx.x;
  const ptrdiff_t at = 2 * w.slot + (*(volatile unsigned *)w.turn & 1) * w.parts;
  const double own = *sum;
  double v = own, total = 0;

  if (q < w.parts && q != w.mine) {
    window_store(w.to[q] + at + w.mine, own);
    v = window_wait(w.to[w.mine] + at + q, w.turn);
  }
  __syncwarp();
  for (int p = 0; p < w.parts; p++) total += __shfl_sync(0xffffffffu, v, p);
  if (q == 0) *sum = total;
}

int BCRCudaWindowSum(BCRStream stream, const BCRCudaWindow *w, double *sum)
{
  static_assert((int)BCR_CUDA_GATHER <= (int)BCR_WARP, "a warp");
  window_sum<<<1, BCR_WARP, 0, bcr_stream(stream)>>>(*w, sum);
  return bcr_done();
}

static __global__ void sum_of(int n, const double *v, double *sum)
{
  double s = 0;

  for (int i = 0; i < n; i++) s += v[i];
  *sum = s;
}

int BCRCudaSumOf(BCRStream stream, int n, const double *v, double *sum)
{
  sum_of<<<1, 1, 0, bcr_stream(stream)>>>(n, v, sum);
  return bcr_done();
}
