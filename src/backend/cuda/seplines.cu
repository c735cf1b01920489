/*
  Lines over the separators of level 0 (cuda.h: BCRCudaSepLines), a constant mu for each mode: y_i = g_i + mu y_(i-1), x_i = y_i + mu x_(i+1).
  A block has 8 modes; each thread keeps K rows of one in registers, and every thread follows the chain of all chunks by itself: first with
  nothing carried in, for x_1 and x_n, from which what the ends take follows, then with that.
*/
#include "common.cuh"

enum {
  MODES  = 8,
  CHUNKS = 64
};

template <typename T, int K>
__global__ void __launch_bounds__(MODES *CHUNKS) sep_lines(BCRCudaSepLines p, T *g)
{
  __shared__ double E[CHUNKS][MODES], B[CHUNKS][MODES], part[CHUNKS];
  const int     m = threadIdx.x % MODES, ch = threadIdx.x / MODES, nch = blockDim.x / MODES, k = blockIdx.x * MODES + m, kk = min(k, p.nk - 1);
  const int     rows = min(K, p.n - ch * K), tail = p.n - (nch - 1) * K; /* rows of this chunk and of the last one */
  const double *t = p.tab + (ptrdiff_t)blockIdx.y * BCR_CUDA_SEP_TAB * p.nk + kk;
  const double  mu = t[0], hs = t[p.nk];
  const int     pinned = p.pin >= 0 && p.pinplane == (int)blockIdx.y && (int)blockIdx.x == p.pin / MODES; /* the whole block knows */
  double        x[K], c = 0, b = 0, mK = 1, PK = 0, PT = 0, gl = 0;

  g += blockIdx.y * p.plane + (ptrdiff_t)ch * K * p.ld + kk;
#pragma unroll
  for (int i = 0; i < K; i++) x[i] = i < rows ? (double)g[i * p.ld] : 0;
  if (p.periodic) gl = (double)g[(ptrdiff_t)(p.n - ch * K) * p.ld];
  if (pinned) {
    double sum = 0, total = 0;

#pragma unroll
    for (int i = 0; i < K; i++) sum += x[i];
    if (m == p.pin % MODES) part[ch] = sum;
    __syncthreads();
    sum = p.periodic ? gl : 0;
    for (int q = 0; q < nch; q++) sum += part[q];
    for (int i = 0; i < p.n + p.periodic; i++) total += p.ones[i];
    if (m == p.pin % MODES) {
      const double mean = sum / total;

#pragma unroll
      for (int i = 0; i < K; i++)
        if (i < rows) x[i] -= mean * p.ones[ch * K + i];
      if (p.periodic) gl -= mean * p.ones[p.n];
      if (ch == 0) {
        p.removed[0] = mean * p.removedfactor;
        p.removed[1] = mean * p.subfactor;
      }
    }
  }
#pragma unroll
  for (int i = 0; i < K; i++) {
    if (i < rows) {
      c    = hs * x[i] + mu * c;
      x[i] = c;
    }
    if (i < tail) PT += mK * mK * mu;
    PK += mK * mK * mu;
    mK *= mu;
  }
#pragma unroll
  for (int i = K - 1; i >= 0; i--)
    if (i < rows) b = x[i] + mu * b;
  E[ch][m] = c;
  B[ch][m] = b;
  __syncthreads();
  double C = 0, X1 = 0, Xn = 0, pw = 1, mT = 1;

  for (int i = 0; i < tail; i++) mT *= mu;
  for (int q = 0; q < nch; q++) {
    const bool last = q == nch - 1;

    X1 += pw * (B[q][m] + C * (last ? PT : PK));
    pw *= mK;
    C = E[q][m] + C * (last ? mT : mK);
  }
  Xn = C;
  {
    const double A = t[3 * p.nk] * X1 + t[4 * p.nk] * Xn + t[5 * p.nk] * gl, Bn = t[6 * p.nk] * X1 + t[7 * p.nk] * Xn + t[8 * p.nk] * gl;
    const double xl = t[9 * p.nk] * X1 + t[10 * p.nk] * Xn + t[11 * p.nk] * gl;
    double       in = A / mu, R = 0;

    if (p.periodic && ch == 0 && k < p.nk) g[(ptrdiff_t)p.n * p.ld] = (T)xl;
    for (int q = 0; q < ch; q++) in = E[q][m] + mK * in;
    C  = in;
    pw = 1;
    for (int q = ch; q < nch; q++) {
      const bool last = q == nch - 1;

      if (q > ch) {
        R += pw * (B[q][m] + C * (last ? PT : PK));
        pw *= last ? mT : mK;
      }
      C = E[q][m] + C * (last ? mT : mK);
    }
    R += pw * (Bn / mu);
#pragma unroll
    for (int i = 0; i < K; i++) {
      in *= mu;
      x[i] += in;
    }
#pragma unroll
    for (int i = K - 1; i >= 0; i--) {
      if (i < rows) {
        R = x[i] + mu * R;
        if (k < p.nk) g[i * p.ld] = (T)R;
      }
    }
  }
}

/* any length: a thread a mode */
template <typename T>
__global__ void sep_long(BCRCudaSepLines p, T *g)
{
  const int k = blockIdx.x * blockDim.x + threadIdx.x;

  if (k >= p.nk) return;
  const double *t  = p.tab + (ptrdiff_t)blockIdx.y * BCR_CUDA_SEP_TAB * p.nk + k;
  const double  mu = t[0], hs = t[p.nk];
  double        y = 0, X1 = 0, pw = 1, gl = 0, mean = 0;

  g += blockIdx.y * p.plane + k;
  if (k == p.pin && (int)blockIdx.y == p.pinplane) {
    double sum = 0, total = 0;

    for (int i = 0; i < p.n + p.periodic; i++) {
      sum += (double)g[i * p.ld];
      total += p.ones[i];
    }
    mean         = sum / total;
    p.removed[0] = mean * p.removedfactor;
    p.removed[1] = mean * p.subfactor;
  }
  if (p.periodic) gl = (double)g[p.n * p.ld] - (mean != 0 ? mean * p.ones[p.n] : 0);
  for (int i = 0; i < p.n; i++) {
    y = hs * ((double)g[i * p.ld] - (mean != 0 ? mean * p.ones[i] : 0)) + mu * y;
    X1 += pw * y;
    pw *= mu;
    g[i * p.ld] = (T)y;
  }
  double       in = (t[3 * p.nk] * X1 + t[4 * p.nk] * y + t[5 * p.nk] * gl);
  double       R  = (t[6 * p.nk] * X1 + t[7 * p.nk] * y + t[8 * p.nk] * gl) / mu;
  const double xl = t[9 * p.nk] * X1 + t[10 * p.nk] * y + t[11 * p.nk] * gl;

  for (int i = 0; i < p.n && in != 0; i++) {
    g[i * p.ld] = (T)((double)g[i * p.ld] + in);
    in *= mu;
    if (fabs(in) < 1e-300) in = 0;
  }
  for (int i = p.n - 1; i >= 0; i--) {
    R           = (double)g[i * p.ld] + mu * R;
    g[i * p.ld] = (T)R;
  }
  if (p.periodic) g[p.n * p.ld] = (T)xl;
}

int BCRCudaSepSolve(BCRStream stream, const BCRCudaSepLines *p, int single, void *g)
{
  cudaStream_t st = bcr_stream(stream);
  const int    K  = p->n <= 8 * CHUNKS ? 8 : (p->n <= 16 * CHUNKS ? 16 : 32);
  const dim3   grid((unsigned)((p->nk + MODES - 1) / MODES), (unsigned)p->planes);

  if (p->n > 32 * CHUNKS || p->n < 1) {
    const dim3 each((unsigned)((p->nk + 31) / 32), (unsigned)p->planes);

    BCR_CUDA_TYPE(single, sep_long<<<each, 32, 0, st>>>(*p, (T *)g));
    return bcr_done();
  }
  const int threads = MODES * ((p->n + K - 1) / K);

  if (K == 8) BCR_CUDA_TYPE(single, sep_lines<T, 8><<<grid, threads, 0, st>>>(*p, (T *)g));
  else if (K == 16) BCR_CUDA_TYPE(single, sep_lines<T, 16><<<grid, threads, 0, st>>>(*p, (T *)g));
  else BCR_CUDA_TYPE(single, sep_lines<T, 32><<<grid, threads, 0, st>>>(*p, (T *)g));
  return bcr_done();
}
