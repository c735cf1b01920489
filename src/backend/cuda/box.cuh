/*
  Three dimensions with sine transforms along two axes (docs/method.md, section 7): kernels. One axis across x is transformed a plane of
  lines at a time (box_columns). For each of its modes the plane of x and the line axis is then transformed along x, solved by a line over its
  rows for each mode, and transformed back without leaving the chip: by a cluster of blocks with ROWS rows each (box_cluster), whose lines
  are coupled through two numbers a block, or, where it does not fit, by one block that goes over the rows twice (box_down, box_up).
  Lines are those of BCRCudaSepLines with no rows eliminated.
*/
#pragma once

#include "sines.cuh"

/* two lines, W columns apart, for TASKS threads */
template <typename T, int N, int W, int MINB> __global__ void __launch_bounds__(W *Sine<N>::TASKS, MINB) box_columns(BCRCudaBoxPass p, const T *f, T *u)
{
  extern __shared__ __align__(16) char sm[];
  constexpr int                        L    = Sine<N>::L;
  Cplx<T>                             *y    = (Cplx<T> *)sm + threadIdx.x % W;
  const int                            task = threadIdx.x / W, a = blockIdx.x * 2 * W + threadIdx.x % W, b = a + W;
  const bool                           va = a < p.nx, vb = b < p.nx;
  const T                             *roots = (const T *)p.roots;
  Cplx<T>                              x[16];

  f += blockIdx.y * p.fb + a;
  u += blockIdx.y * p.ub + a;
  if (task < Sine<N>::FIRST) {
    sine_load<T, N>(
      task,
      [&](int j) {
        return Cplx<T>{va ? f[(j - 1) * p.fs] : (T)0, vb ? f[(j - 1) * p.fs + W] : (T)0};
      },
      x);
    sine_first<T, N>(task, x, roots, [&](int r, int q, Cplx<T> v) { y[(r * L + q) * W] = v; });
  }
  __syncthreads();
  if (task < Sine<N>::SECOND) {
    const int r = task % 9, s = task / 9;

    sine_second<T, N>(
      r, s, roots, [&](int c, int q) { return y[(c * L + q) * W]; }, x);
    sine_store<T, N>(r, s, x, [&](int k, T v, T w) {
      if (va) u[(k - 1) * p.us] = v;
      if (vb) u[(k - 1) * p.us + W] = w;
    });
  }
}

#if !defined(BCR_FORGET)
  #define BCR_FORGET(p) asm volatile("" : "+l"(p)) /* the compiler does not know what is there */
#endif

/* Rows in shared memory: PAIRS pairs of rows, as classes (complex) or as modes or points (row i at i N, column j at j) */
template <typename T, int N, int PAIRS> struct Rows {
  static constexpr int    L = Sine<N>::L, PITCH = 9 * (L + 1), NT = PAIRS * Sine<N>::TASKS;
  static constexpr size_t BYTES = (size_t)PAIRS * PITCH * 2 * sizeof(T);

  /* Rows from wherever load(i, j) takes them, transformed, to the shared memory, which may be overwritten when all threads have loaded.
     Rows i and i + PAIRS are a pair. */
  template <typename Load> static __device__ __forceinline__ void transform(Load load, char *sm, const T *roots)
  {
    BCR_FORGET(roots); /* else they stay in registers from one call to the next */
    {
      const int task = threadIdx.x / Sine<N>::FIRST, i = min(task, PAIRS - 1); /* idle threads do what others do */
      Cplx<T>  *y = (Cplx<T> *)sm + i * PITCH;
      Cplx<T>   x[16];

      sine_load<T, N>(
        threadIdx.x % Sine<N>::FIRST,
        [&](int j) {
          return Cplx<T>{load(i, j), load(i + PAIRS, j)};
        },
        x);
      __syncthreads();
      if (task < PAIRS) sine_first<T, N>(threadIdx.x % Sine<N>::FIRST, x, roots, [&](int r, int q, Cplx<T> v) { y[r * (L + 1) + q] = v; });
    }
    __syncthreads();
    {
      const int      task = threadIdx.x / Sine<N>::SECOND, i = min(task, PAIRS - 1), r = threadIdx.x % Sine<N>::SECOND % 9, s = threadIdx.x % Sine<N>::SECOND / 9;
      const Cplx<T> *y = (const Cplx<T> *)sm + i * PITCH;
      T             *m = (T *)sm + i * N;
      Cplx<T>        x[16];

      sine_second<T, N>(
        r, s, roots, [&](int q, int t) { return y[q * (L + 1) + t]; }, x);
      __syncthreads();
      if (task < PAIRS)
        sine_store<T, N>(r, s, x, [&](int k, T v, T w) {
          m[k]             = v;
          m[PAIRS * N + k] = w;
        });
    }
    __syncthreads();
  }
  /* column j to u[j], 0 < j < N */
  static __device__ __forceinline__ void store(int rows, T *u, ptrdiff_t ld, const char *sm)
  {
    const T *m = (const T *)sm;

    for (int i = threadIdx.x; i < rows * N; i += NT)
      if (i % N < N - 1) u[(i / N) * ld + i % N + 1] = m[i + 1];
  }
};

#if !defined(BCR_EMULATE)
static __device__ __forceinline__ void cluster_arrive()
{
  #if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  #endif
}
static __device__ __forceinline__ void cluster_wait()
{
  #if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  #endif
}
/* *p of block rank of the cluster, p in this block's shared memory */
static __device__ __forceinline__ double cluster_read(const double *p, int rank)
{
  double v = 0;

  #if __CUDA_ARCH__ >= 900
  unsigned a = (unsigned)__cvta_generic_to_shared(p), b;

  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(b) : "r"(a), "r"(rank));
  asm volatile("ld.shared::cluster.f64 %0, [%1];" : "=d"(v) : "r"(b) : "memory");
  #else
  (void)p, (void)rank;
  #endif
  return v;
}
#endif

/* Block (rank, plane): rows rank * 2 PAIRS .. of the plane. u: in place */
template <typename T, int N, int PAIRS, int MINB> __global__ void __launch_bounds__(PAIRS *Sine<N>::TASKS, MINB) box_cluster(BCRCudaBoxPlanes p, T *u)
{
  extern __shared__ __align__(16) char sm[];
  constexpr int                        K = 2 * PAIRS, NT = PAIRS * Sine<N>::TASKS;
  static_assert(NT >= N - 1, "a thread for each mode");
  double   *E = (double *)(sm + Rows<T, N, PAIRS>::BYTES), *B = E + N; /* of this block's rows: end of the forward, start of the backward recurrence */
  T        *M    = (T *)sm;
  const int rank = blockIdx.x, nrank = gridDim.x, k = threadIdx.x, rows = min(K, p.n - rank * K), tail = p.n - (nrank - 1) * K;
  const T  *roots = (const T *)p.roots;

  u += (ptrdiff_t)blockIdx.y * p.plane + (ptrdiff_t)rank * K * p.ld - 1;
  Rows<T, N, PAIRS>::transform([&](int i, int j) { return i < rows ? u[i * p.ld + j] : (T)0; }, sm, roots);
  {
    const bool    active = k < N - 1;
    const double *t      = p.tab + (ptrdiff_t)blockIdx.y * BCR_CUDA_SEP_TAB * (N - 1) + (active ? k : 0);
    const double  mu = t[0], hs = t[N - 1];
    double        g[K], c = 0, b = 0, power = mu, sum = mu, mK = 0, PK = 0, mT = 1, PT = 0; /* mu^K, sum over m < K of mu^(2 m + 1), the same of the last block's rows */

    if (active) {
#pragma unroll
      for (int i = 0; i < K; i++) g[i] = (double)M[i * N + k + 1];
      if (p.half[0] && rank == 0) g[0] *= 0.5;
#pragma unroll
      for (int i = 0; i < K; i++) {
        if (i < rows) {
          if (p.half[1] && i == rows - 1 && rank == nrank - 1) g[i] *= 0.5;
          c    = hs * g[i] + mu * c;
          g[i] = c;
        }
      }
#pragma unroll
      for (int i = K - 1; i >= 0; i--)
        if (i < rows) b = g[i] + mu * b;
      E[k] = c;
      B[k] = b;
    }
    cluster_arrive();
#pragma unroll
    for (int i = 0; i < 6; i++) { /* mu^(2^i), sum of as many */
      if (1 << i == K) {
        mK = power;
        PK = sum;
      }
      if (1 << i <= K && (tail >> i & 1)) {
        PT += mT * mT * sum;
        mT *= power;
      }
      power *= power;
      sum += sum * power;
    }
    cluster_wait();
    if (active) {
      double C = 0, X1 = 0, pw = 1, pr = 1, in = 0, pwin = 1, R = 0, RA = 0, A, Bn;

#pragma unroll 1
      for (int q = 0; q < nrank; q++) { /* the chain of all blocks' rows */
        const bool   last = q == nrank - 1;
        const double e = cluster_read(E + k, q), m = last ? mT : mK, s = last ? PT : PK, h = cluster_read(B + k, q) + C * s;

        X1 += pw * h;
        if (q == rank) {
          in   = C;
          pwin = pw;
        } else if (q > rank) {
          R += pr * h;
          RA += pr * pw * s;
          pr *= m;
        }
        pw *= m;
        C = e + C * m;
      }
      A  = (t[3 * (N - 1)] * X1 + t[4 * (N - 1)] * C) / mu;
      Bn = (t[6 * (N - 1)] * X1 + t[7 * (N - 1)] * C) / mu;
      in += A * pwin;
      R += A * RA + pr * Bn;
#pragma unroll
      for (int i = 0; i < K; i++) {
        in *= mu;
        g[i] += in;
      }
#pragma unroll
      for (int i = K - 1; i >= 0; i--) {
        if (i < rows) {
          R                = g[i] + mu * R;
          M[i * N + k + 1] = (T)R;
        }
      }
    }
    cluster_arrive(); /* others may go on reading E and B until all blocks are here */
  }
  __syncthreads();
  Rows<T, N, PAIRS>::transform([&](int i, int j) { return M[i * N + j]; }, sm, roots);
  Rows<T, N, PAIRS>::store(rows, u, p.ld, sm);
  cluster_wait();
}

/* Down the rows of plane blockIdx.x: transforms along x, forward recurrences. ends: what follows for both ends, for box_up() */
template <typename T, int N, int PAIRS, int MINB> __global__ void __launch_bounds__(PAIRS *Sine<N>::TASKS, MINB) box_down(BCRCudaBoxPlanes p, T *u)
{
  extern __shared__ __align__(16) char sm[];
  constexpr int                        K = 2 * PAIRS, NT = PAIRS * Sine<N>::TASKS;
  const T                             *M     = (const T *)sm;
  double                              *state = (double *)(sm + Rows<T, N, PAIRS>::BYTES); /* of each mode: the recurrence, what it adds to the first unknown, power of mu */
  const double                        *t     = p.tab + (ptrdiff_t)blockIdx.x * BCR_CUDA_SEP_TAB * (N - 1);
  double                              *ends  = p.ends + (ptrdiff_t)blockIdx.x * 2 * (N - 1);

  u += (ptrdiff_t)blockIdx.x * p.plane - 1;
  for (int k = threadIdx.x; k < N - 1; k += NT) {
    state[k] = state[N + k] = 0;
    state[2 * N + k]        = 1;
  }
  for (int row = 0; row < p.n; row += K) {
    T *v = u + row * p.ld;

    Rows<T, N, PAIRS>::transform([&](int i, int j) { return row + i < p.n ? v[i * p.ld + j] : (T)0; }, sm, (const T *)p.roots);
    for (int k = threadIdx.x; k < N - 1; k += NT) {
      const double mu = __ldg(t + k), hs = __ldg(t + N - 1 + k);
      double       c = state[k], X1 = state[N + k], pw = state[2 * N + k];

#pragma unroll
      for (int i = 0; i < K; i++) {
        double g = (double)M[i * N + k + 1];

        if (row + i < p.n) {
          if ((p.half[0] && row + i == 0) || (p.half[1] && row + i == p.n - 1)) g *= 0.5;
          c = hs * g + mu * c;
          X1 += pw * c;
          pw *= mu;
          v[i * p.ld + k + 1] = (T)c;
        }
      }
      state[k]         = c;
      state[N + k]     = X1;
      state[2 * N + k] = pw;
    }
  }
  for (int k = threadIdx.x; k < N - 1; k += NT) {
    const double mu = t[k], X1 = state[N + k], Xn = state[k];

    ends[k]         = (t[3 * (N - 1) + k] * X1 + t[4 * (N - 1) + k] * Xn) / mu;
    ends[k + N - 1] = (t[6 * (N - 1) + k] * X1 + t[7 * (N - 1) + k] * Xn) / mu;
  }
}

/* Up again: backward recurrences, transforms along x */
template <typename T, int N, int PAIRS, int MINB> __global__ void __launch_bounds__(PAIRS *Sine<N>::TASKS, MINB) box_up(BCRCudaBoxPlanes p, T *u)
{
  extern __shared__ __align__(16) char sm[];
  constexpr int                        K = 2 * PAIRS, NT = PAIRS * Sine<N>::TASKS;
  static_assert((K & (K - 1)) == 0, "powers");
  T            *M     = (T *)sm;
  double       *state = (double *)(sm + Rows<T, N, PAIRS>::BYTES); /* the recurrence of each mode */
  const double *t     = p.tab + (ptrdiff_t)blockIdx.x * BCR_CUDA_SEP_TAB * (N - 1);
  const double *ends  = p.ends + (ptrdiff_t)blockIdx.x * 2 * (N - 1);

  u += (ptrdiff_t)blockIdx.x * p.plane - 1;
  for (int k = threadIdx.x; k < N - 1; k += NT) state[k] = ends[N - 1 + k];
  for (int row = (p.n - 1) / K * K; row >= 0; row -= K) {
    T *v = u + row * p.ld;

    __syncthreads(); /* the rows before have been stored */
    for (int k = threadIdx.x; k < N - 1; k += NT) {
      const double mu = __ldg(t + k);
      double       g[K], in = __ldg(ends + k), b = mu, R = state[k];

#pragma unroll
      for (int i = 0; i < K; i++) g[i] = row + i < p.n ? (double)v[i * p.ld + k + 1] : 0;
#pragma unroll
      for (int q = 1; q < K; q *= 2) b *= b;
      for (int q = row / K; q && in != 0; q >>= 1) { /* times mu^row */
        if (q & 1) in *= b;
        b *= b;
      }
#pragma unroll
      for (int i = 0; i < K; i++) {
        in *= mu;
        if (row + i < p.n) g[i] += in;
      }
#pragma unroll
      for (int i = K - 1; i >= 0; i--) {
        if (row + i < p.n) g[i] = R = g[i] + mu * R;
        M[i * N + k + 1] = (T)g[i];
      }
      state[k] = R;
    }
    __syncthreads();
    Rows<T, N, PAIRS>::transform([&](int i, int j) { return M[i * N + j]; }, sm, (const T *)p.roots);
    Rows<T, N, PAIRS>::store(min(K, p.n - row), v, p.ld, sm);
  }
}
