/*
  Three dimensions with sine transforms along two axes (docs/method.md, section 7): kernels. One
  axis across x is transformed a plane of lines at a time (box_columns). For each of its modes the
  plane of the other two axes is then transformed along one of them, solved by a line along the
  other for each mode, and transformed back without leaving the chip: by a cluster of blocks, each
  with a slab of K positions along the lines, which are coupled through two numbers a block. Lines
  along x, transforms along the other axis: box_slabs, which has columns in neighbouring threads as
  box_columns has. Lines along the other axis, transforms along x: box_rows. Planes that do not fit
  a cluster are gone over twice by one block (box_down, box_up), also with transforms along x.
  Lines are those of BCRCudaSepLines with no rows eliminated.
*/
#pragma once

#include "box.h"
#include "cluster.cuh"
#include "planemean.cuh"
#include "seplines.h"
#include "reduced.cuh"
#include "sines.cuh"

#if !defined(BCR_EMULATE)
  #define BCR_GLOBAL(p) __builtin_assume(__isGlobal(p))
#endif

/* Columns in shared memory: W pairs of columns, a and a + W, as classes; task threadIdx.x / W of
   column pair threadIdx.x % W. Loads and stores: load(j) gives the pair at point j, store(k, v, w)
   takes mode k of both */
template <typename T, int N, int A, int W, int EVEN = 0>
struct Columns {
  static constexpr int L = Sine<N, A>::L, CLASSES = Sine<N, A>::CLASSES, NT = W * Sine<N, A>::TASKS,
                       BYTES = CLASSES * L * W * 2 * (int)sizeof(T);

  /* SHARED: what is loaded, or stored, lies where the classes go. IDLE: threads without points do
     what others do, so that no registers are kept for what they had before; for kernels with two
     transforms. HALF: points (1), modes (2) beyond N/2 are not needed */
  template <int LOAD_SHARED, int STORE_SHARED, int IDLE, int HALF, typename Load, typename Store>
  static __device__ __forceinline__ void transform(char *sm, const T *roots, Load load, Store store)
  {
    Cplx<T> *y = (Cplx<T> *)sm + threadIdx.x % W;
    const int task = threadIdx.x / W;

    {
      const int p = IDLE ? min(task, Sine<N, A>::FIRST - 1) : task;
      Cplx<T> x[A];

      if (p < Sine<N, A>::FIRST) sine_load<T, N, A, (HALF & 1), EVEN>(p, load, x);
      if (LOAD_SHARED) __syncthreads();
      if (task < Sine<N, A>::FIRST)
        sine_first<T, N, A, IDLE && A == 16, !IDLE, EVEN>(p, x, roots,
                                                          [&](int r, int q, Cplx<T> v) { y[(r * L + q) * W] = v; });
    }
    __syncthreads();
    {
      const int c = min(task, Sine<N, A>::SECOND - 1), r = c % CLASSES, s = c / CLASSES;
      Cplx<T> x[A];

      sine_second<T, N, A, IDLE && A == 16, !IDLE>(
        r, s, roots, [&](int q, int t) { return y[(q * L + t) * W]; }, x);
      if (STORE_SHARED) __syncthreads();
      if (task < Sine<N, A>::SECOND) sine_store<T, N, A, (HALF & 2), EVEN>(r, s, x, store);
    }
  }
};

/* Results of W = 16 columns a and a + W, of two tasks in the halves of a warp: either half writes
   one of them in the rows of both tasks, after the halves have exchanged what belongs there. A
   row's 2 W columns are then written at once, and half as many sectors of the cache are written in
   part. row: of this half's task, row + next of the first half's is the second half's; first:
   whether there is the first half's; here: whether there is the half's column, where u is row 0 */
template <typename T>
static __device__ __forceinline__ void halves_store(T *u, ptrdiff_t s, int half, int row, int next, bool first,
                                                    bool here, T v, T w)
{
  const T c = __shfl_xor_sync(0xffffffffu, half ? v : w, 16);

  if (here && first) u[(half ? row - next : row) * s] = half ? c : v;
  if (here) u[(half ? row : row + next) * s] = half ? w : c;
}

/* HALVES: out of place, where that is faster (in place, what is written in part has been read before) */
template <typename T, int N, int A, int W, int MINB, int EVEN, int HALVES>
__global__ void __launch_bounds__(Columns<T, N, A, W>::NT, MINB) box_columns(BCRCudaBoxPass p, const T *f, T *u)
{
  extern __shared__ __align__(16) char sm[];
  const int a = blockIdx.x * 2 * W + threadIdx.x % W;
  const bool va = a < p.nx, vb = a + W < p.nx;
  /* columns beyond the last one repeat others: no predicates */
  const T *g = f + blockIdx.y * p.fplane + (va ? a : p.nx - 1) - (EVEN ? 0 : p.frow);
  const int other = vb ? W : 0;

  u += blockIdx.y * p.uplane + a - (EVEN ? 0 : p.urow);
  auto load = [&](int j) {
    Cplx<T> v = {g[j * p.frow], g[j * p.frow + other]};

    if (EVEN && j == 0 && p.mean) {
      v.x = (T)((double)v.x - *p.mean);
      v.y = (T)((double)v.y - *p.mean);
    }
    return v;
  };
  auto store = [&](int k, T v, T w) {
    if (va) u[k * p.urow] = v;
    if (vb) u[k * p.urow + W] = w;
  };

  if constexpr (HALVES) {
    typedef Sine<N, A> S;
    constexpr int L = S::L;
    static_assert(!EVEN && W == 16 && S::SPLIT == 1 && S::FIRST == S::SECOND && S::FIRST % 2 == 1,
                  "tasks are points, then classes, in pairs but for the last one");
    const int task = threadIdx.x / W, half = task & 1;
    const bool pair = task > 1, here = half ? vb : va; /* first task of the two is not class 0, which is shorter */
    Cplx<T> *y = (Cplx<T> *)sm + threadIdx.x % W;
    Cplx<T> x[A];

    sine_load<T, N, A, 0, 0>(task, load, x);
    sine_first<T, N, A, 0, 1, 0>(task, x, (const T *)p.roots, [&](int r, int q, Cplx<T> v) { y[(r * L + q) * W] = v; });
    __syncthreads();
    sine_second<T, N, A, 0, 1>(
      task, 0, (const T *)p.roots, [&](int q, int t) { return y[(q * L + t) * W]; }, x);
    if (task == S::SECOND - 1) { /* half a warp */
      sine_store<T, N, A, 0, 0>(task, 0, x, store);
      return;
    }
    u += half ? W : 0;
#pragma unroll
    for (int m = 0; m < A; m++) { /* as sine_store(): the other class is the next one */
      const Cplx<T> v = x[sine_at<A>(m)];
      const int k = task + A * m;

      if (m < A / 2) halves_store(u, p.urow, half, k, 1, m > 0 || pair, here, -v.y, v.x);
      else halves_store(u, p.urow, half, 2 * N - k, -1, pair, here, v.y, -v.x);
    }
  } else Columns<T, N, A, W, EVEN>::template transform<0, 0, 0, 0>(sm, (const T *)p.roots, load, store);
}

/* Odd lengths N of lines that are convolutions (chirp.cuh), of length L, which is at least N - 1:
   half-lines j <= h = (N - 1)/2, one complex number for each of the W columns. The two halves of
   it, times e^(-i pi j^2/N), are transformed, multiplied by the transform of q, transformed back;
   and are, times the same numbers, modes 2 m and N - 2 m */
template <typename T, int L, int A, int W>
static __device__ __noinline__ void chirp_analysis(const BCRCudaBoxPass &p, const T *f, int h)
{
  extern __shared__ __align__(16) char sm[];
  Cplx<T> *y = (Cplx<T> *)sm + threadIdx.x % W;
  const T *to = f + p.N * p.frow;

  BCR_GLOBAL(f);
  Columns<T, L, A, W>::template transform<0, 1, 1, 1>(
    sm, (const T *)p.roots,
    [&](int j) {
      T a, b;

      if (j > h) return Cplx<T>{0, 0};
      a = f[j * p.frow];
      b = to[-j * p.frow];
      return Cplx<T>{a - b, j & 1 ? a + b : -(a + b)} * load_root<1>((const T *)p.chirp, j);
    },
    [&](int k, T v, T w) {
      y[k * W] = Cplx<T>{v, w} * load_root<1>((const T *)p.chirp, h + 1 + k);
    });
  __syncthreads();
}
template <typename T, int L, int A, int W>
static __device__ __noinline__ void chirp_synthesis(const BCRCudaBoxPass &p, T *u, int h, bool here)
{
  extern __shared__ __align__(16) char sm[];
  const Cplx<T> *y = (const Cplx<T> *)sm + threadIdx.x % W;
  T *to = u + p.N * p.urow;

  BCR_GLOBAL(u);
  Columns<T, L, A, W>::template transform<1, 0, 1, 2>(
    sm, (const T *)p.roots, [&](int k) { return y[k * W]; },
    [&](int m, T v, T w) {
      if (m > h || !here) return;
      const Cplx<T> z = Cplx<T>{v, w} * load_root<1>((const T *)p.chirp, m);

      u[2 * m * p.urow] = z.x;
      to[-2 * m * p.urow] = z.y;
    });
}
template <typename T, int L, int A, int W, int MINB>
__global__ void __launch_bounds__(Columns<T, L, A, W>::NT, MINB)
  box_chirp(const __grid_constant__ BCRCudaBoxPass p, const T *f, T *u)
{
  const int a = blockIdx.x * W + threadIdx.x % W, h = (p.N - 1) / 2;
  const bool here = a < p.nx;

  chirp_analysis<T, L, A, W>(p, f + blockIdx.y * p.fplane + min(a, p.nx - 1) - p.frow, h);
  chirp_synthesis<T, L, A, W>(p, u + blockIdx.y * p.uplane + a - p.urow, h, here);
}

/* Rows in shared memory: PAIRS pairs of rows, as classes (complex) or as modes or points (row i at
   i PITCH, column j at j) */
template <typename T, int N, int PAIRS, int A = 16>
struct Rows {
  typedef Sine<N, A> S;
  static constexpr int L = S::L, CLASSES = S::CLASSES * (L + 1), PITCH = N + 1, NT = PAIRS * S::TASKS;
  static constexpr size_t BYTES = (size_t)PAIRS * CLASSES * 2 * sizeof(T);

  /* Rows i and i + PAIRS are a pair: of the thread's pair the points from wherever load(i, j) takes them */
  template <typename Load>
  static __device__ __forceinline__ void load(Load load, Cplx<T> *x)
  {
    const int i = min((int)threadIdx.x / S::FIRST, PAIRS - 1); /* idle threads do what others do */

    sine_load<T, N, A, 0, 0>(
      threadIdx.x % S::FIRST,
      [&](int j) {
        return Cplx<T>{load(i, j), load(i + PAIRS, j)};
      },
      x);
  }
  /* these transformed, to the shared memory, which is overwritten when all threads are here */
  static __device__ __forceinline__ void transform(Cplx<T> *x, char *sm, const T *roots)
  {
    __syncthreads();
    {
      const int task = threadIdx.x / S::FIRST;
      Cplx<T> *y = (Cplx<T> *)sm + task * CLASSES;

      if (task < PAIRS)
        sine_first<T, N, A, A == 16, 0, 0>(threadIdx.x % S::FIRST, x, roots,
                                           [&](int r, int q, Cplx<T> v) { y[r * (L + 1) + q] = v; });
    }
    __syncthreads();
    {
      const int task = threadIdx.x / S::SECOND, i = min(task, PAIRS - 1), r = threadIdx.x % S::SECOND % S::CLASSES,
                s = threadIdx.x % S::SECOND / S::CLASSES;
      const Cplx<T> *y = (const Cplx<T> *)sm + i * CLASSES;
      T *m = (T *)sm + i * PITCH;
      Cplx<T> z[A];

      sine_second<T, N, A, A == 16, 0>(
        r, s, roots, [&](int q, int t) { return y[q * (L + 1) + t]; }, z);
      __syncthreads();
      if (task < PAIRS)
        sine_store<T, N, A, 0, 0>(r, s, z, [&](int k, T v, T w) {
          m[k] = v;
          m[PAIRS * PITCH + k] = w;
        });
    }
    __syncthreads();
  }
  template <typename Load>
  static __device__ __forceinline__ void transform(Load from, char *sm, const T *roots)
  {
    Cplx<T> x[A];

    load(from, x);
    transform(x, sm, roots);
  }
  /* column j to u[j], 0 < j < N: half a warp a row */
  static __device__ __forceinline__ void store(int rows, T *u, ptrdiff_t ld, const char *sm)
  {
    for (int i = threadIdx.x / 16; i < rows; i += NT / 16) {
      const T *m = (const T *)sm + i * PITCH;
      T *v = u + i * ld;

#pragma unroll 8
      for (int j = threadIdx.x % 16 + 1; j < N; j += 16) v[j] = m[j];
    }
  }
};

enum {
  RANKS = 8 /* blocks of a cluster: more are not portable */
};

/* Right-hand side number i of a block's rows: an equation at an end may be halved */
template <typename T, typename At>
static __device__ __forceinline__ T cluster_right(T hs, bool half0, bool half1, int rows, int i, At at)
{
  const T g = at(i);

  return hs * ((half0 && i == 0) || (half1 && i == rows - 1) ? (T)0.5 * g : g);
}

/* What a block knows of a mode's line when all blocks have gone over their rows once with nothing carried in */
struct ClusterChain {
  /* of all rows: the end of the forward recurrence, and what it gives the first position of the backward one */
  double C, X1;
  double in, pwin; /* what comes in to this block's rows; power of mu at their beginning */
  /* what the rows behind give back, for what comes to the line's first one, and the power of mu over them */
  double R, RA, pr;
};

/* A thread has modes threadIdx.x + m blockDim.x, m < M, of `modes`; at(m, i): the value at position
   i of rows of one; mu, hs: of each. tail: rows of the last block; E: shared, N numbers, then N
   more: of this block's positions the end of the forward recurrence, and what it gives the first
   position of the backward one. Within a block's rows numbers are those of the vectors, T, what is
   carried between blocks is in double precision */
template <typename T, int K, int N, int M, typename At>
static __device__ __forceinline__ void cluster_chain(ClusterChain *a, int modes, int rank, int nrank, int rows,
                                                     int tail, bool half0, bool half1, const double *mu,
                                                     const double *hs, T *E, At at)
{
  const int k = threadIdx.x, each = blockDim.x;

  if (k < modes) {
    T m[M], h[M], c[M], b[M], pw[M];

#pragma unroll
    for (int q = 0; q < M; q++) {
      m[q] = (T)mu[q];
      h[q] = (T)hs[q];
      pw[q] = 1;
      c[q] = b[q] = 0;
    }
#pragma unroll 8
    for (int i = 0; i < rows; i++) {
#pragma unroll
      for (int q = 0; q < M; q++) {
        c[q] = cluster_right(h[q], half0, half1, rows, i, [&](int j) { return at(q, j); }) + m[q] * c[q];
        b[q] += pw[q] * c[q];
        pw[q] *= m[q];
      }
    }
#pragma unroll
    for (int q = 0; q < M; q++) {
      if (k + q * each < modes) {
        E[k + q * each] = c[q];
        E[N + k + q * each] = b[q];
      }
    }
  }
  cluster_arrive();
  double mK[M], PK[M], mT[M], PT[M]; /* mu^K, sum over m < K of mu^(2 m + 1), the same of the last block's rows */

#pragma unroll
  for (int q = 0; q < M; q++) {
    double power = mu[q], sum = mu[q];

    PK[q] = PT[q] = 0;
    mK[q] = mT[q] = 1;
#pragma unroll
    for (int i = 0; i < 6; i++) { /* mu^(2^i), sum of as many */
      if (K >> i & 1) {
        PK[q] += mK[q] * mK[q] * sum;
        mK[q] *= power;
      }
      if (1 << i <= K && (tail >> i & 1)) {
        PT[q] += mT[q] * mT[q] * sum;
        mT[q] *= power;
      }
      power *= power;
      sum += sum * power;
    }
  }
  cluster_wait();
#pragma unroll
  for (int m = 0; m < M; m++) {
    const int at = k + m * each;
    T e[RANKS], h[RANKS];
    double pw = 1;

    a[m] = {0, 0, 0, 1, 0, 0, 1};
    if (at >= modes) continue;
#pragma unroll
    for (int q = 0; q < RANKS; q++) {
      e[q] = q < nrank ? cluster_read(E + at, q) : 0;
      h[q] = q < nrank ? cluster_read(E + N + at, q) : 0;
    }
#pragma unroll
    for (int q = 0; q < RANKS; q++) {
      if (q < nrank) {
        const double s = q == nrank - 1 ? mT[m] : mK[m], t = q == nrank - 1 ? PT[m] : PK[m],
                     x = (double)h[q] + a[m].C * t;

        a[m].X1 += pw * x;
        if (q == rank) {
          a[m].in = a[m].C;
          a[m].pwin = pw;
        } else if (q > rank) {
          a[m].R += a[m].pr * x;
          a[m].RA += a[m].pr * pw * t;
          a[m].pr *= s;
        }
        pw *= s;
        a[m].C = (double)e[q] + a[m].C * s;
      }
    }
  }
}

/* Lines over the slabs of a cluster, K positions each; t: tables, of modes next to each other. Values stay in shared
   memory: registers are short. Whoever calls has to do a cluster_wait() at the end. */
template <typename T, int K, int N, int M, typename At>
static __device__ __forceinline__ void cluster_lines(const BCRCudaBoxPlanes &p, int modes, int rank, int nrank,
                                                     const double *t, T *E, At at)
{
  const int rows = min(K, p.n - rank * K);
  const bool half0 = p.half[0] && rank == 0, half1 = p.half[1] && rank == nrank - 1;
  double mu[M], hs[M];
  ClusterChain c[M];

#pragma unroll
  for (int q = 0; q < M; q++) {
    const int k = min((int)(threadIdx.x + q * blockDim.x), modes - 1);

    mu[q] = t[k];
    hs[q] = t[modes + k];
  }
  cluster_chain<T, K, N, M>(c, modes, rank, nrank, rows, p.n - (nrank - 1) * K, half0, half1, mu, hs, E, at);
  cluster_arrive(); /* others may go on reading until all blocks are here */
  if ((int)threadIdx.x < modes) {
    T m[M], h[M], in[M], R[M];
    bool there[M];

#pragma unroll
    for (int q = 0; q < M; q++) {
      const double *e = t + min((int)(threadIdx.x + q * blockDim.x), modes - 1);
      const double A = (e[3 * modes] * c[q].X1 + e[4 * modes] * c[q].C) / mu[q],
                   B = (e[6 * modes] * c[q].X1 + e[7 * modes] * c[q].C) / mu[q];

      m[q] = (T)mu[q];
      h[q] = (T)hs[q];
      in[q] = (T)(c[q].in + A * c[q].pwin);
      R[q] = (T)(c[q].R + A * c[q].RA + c[q].pr * B);
      there[q] = q == 0 || (int)(threadIdx.x + q * blockDim.x) < modes;
    }
#pragma unroll 8
    for (int i = 0; i < rows; i++) {
#pragma unroll
      for (int q = 0; q < M; q++) {
        in[q] = cluster_right(h[q], half0, half1, rows, i, [&](int j) { return at(q, j); }) + m[q] * in[q];
        if (there[q]) at(q, i) = in[q];
      }
    }
#pragma unroll 8
    for (int i = rows - 1; i >= 0; i--) {
#pragma unroll
      for (int q = 0; q < M; q++) {
        R[q] = at(q, i) + m[q] * R[q];
        if (there[q]) at(q, i) = R[q];
      }
    }
  }
}

/* The two transforms of box_slabs(); not in line, for the registers of one would be kept for the
   other. left: columns from this thread's first one on */
template <typename T, int N, int A, int W, int EVEN>
static __device__ __noinline__ void slab_analysis(const T *roots, const T *u, ptrdiff_t ld, int left)
{
  extern __shared__ __align__(16) char sm[];
  constexpr int PITCH = 2 * W + 1;
  T *m = (T *)sm + threadIdx.x % W;
  const int other = left > W ? W : 0; /* columns beyond the last one repeat others */

  BCR_GLOBAL(u);
  BCR_GLOBAL(roots);
  if (left < 1) u -= 1 - left;
  Columns<T, N, A, W, EVEN>::template transform<0, 1, 1, 0>(
    sm, roots,
    [&](int j) {
      return Cplx<T>{u[j * ld], u[j * ld + other]};
    },
    [&](int k, T v, T w) {
      m[k * PITCH] = v;
      m[k * PITCH + W] = w;
    });
  __syncthreads();
}
template <typename T, int N, int A, int W, int EVEN>
static __device__ __noinline__ void slab_synthesis(const T *roots, T *u, ptrdiff_t ld, int left)
{
  extern __shared__ __align__(16) char sm[];
  constexpr int PITCH = 2 * W + 1;
  const T *m = (const T *)sm + threadIdx.x % W;

  BCR_GLOBAL(u);
  BCR_GLOBAL(roots);
  __syncthreads();
  Columns<T, N, A, W, EVEN>::template transform<1, 0, 1, 0>(
    sm, roots,
    [&](int j) {
      return Cplx<T>{m[j * PITCH], left > W ? m[j * PITCH + W] : (T)0};
    }, /* what was not solved is so much larger that its rounding would be seen */
    [&](int k, T v, T w) {
      if (left > 0) u[k * ld] = v;
      if (left > W) u[k * ld + W] = w;
    });
}

/* The first mode's line loses the mean of its right-hand sides, of all blocks of the cluster; line: the rows of this one */
template <typename T>
static __device__ void slab_mean(const BCRCudaBoxPlanes &p, int first, int rows, double *sum, T *line)
{
  const int lane = threadIdx.x;
  const auto weight = [&](int i) {
    return (p.half[0] && first + i == 0) || (p.half[1] && first + i == p.n - 1) ? 0.5 : 1.;
  };

  if (lane < BCR_WARP) {
    double s = 0;

    for (int i = lane; i < rows; i += BCR_WARP) s += weight(i) * (double)line[i];
    s = bcr_warp_sum(s);
    if (lane == 0) *sum = s;
  }
  __syncwarp();
  cluster_arrive();
  cluster_wait();
  if (lane < BCR_WARP) {
    double s = 0;

    for (int q = 0; q < (int)gridDim.x; q++) s += cluster_read(sum, q);
    s /= p.n - 0.5 * (p.half[0] + p.half[1]);
    if (first == 0 && lane == 0) *p.removed = s * p.removedfactor;
    for (int i = lane; i < rows; i += BCR_WARP) line[i] = (T)((double)line[i] - s);
  }
  __syncthreads();
}

/* A block's part of the plain sum of a plane: between two nodes that are mirrors the first mode adds up to N + 1, other even ones
   to one, of which the transform makes two but of the last one. v: of this thread's mode; part: shared, for each thread */
static __device__ void slab_sum(const BCRCudaBoxPlanes &p, int modes, double v, double *part)
{
  const int k = threadIdx.x;

  part[k] = k >= modes || k % 2 ? 0 : (k == 0 ? modes : (k == modes - 1 ? 1 : 2)) * v;
  __syncthreads();
  v = 0;
  if (k < BCR_WARP) {
    for (int i = k; i < (int)blockDim.x; i += BCR_WARP) v += part[i];
    v = bcr_warp_sum(v);
  }
  if (k == 0) plane_part(p.mean, blockIdx.y, blockIdx.y * gridDim.x + blockIdx.x, v);
}

/* Block (rank, plane): columns rank * 2 W .. of the plane, lines along x. u: in place */
template <typename T, int N, int A, int W, int MINB, int EVEN>
__global__ void __launch_bounds__(Columns<T, N, A, W>::NT, MINB) box_slabs(BCRCudaBoxPlanes p, T *u)
{
  extern __shared__ __align__(16) char sm[];
  constexpr int K = 2 * W, PITCH = K + 1, NT = Columns<T, N, A, W>::NT, MODES = EVEN ? N + 1 : N - 1,
                M = (MODES - 1 + NT) / NT;
  static_assert((EVEN ? N + 1 : N) * PITCH * (int)sizeof(T) <= Columns<T, N, A, W>::BYTES,
                "modes go where classes have been");
  static_assert(!EVEN || M == 1, "a thread for each mode");
  const int rank = blockIdx.x, left = p.n - rank * K - (int)threadIdx.x % W;
  T *line[M];

#pragma unroll
  /* there is no mode 0, or nothing is written there */
  for (int q = 0; q < M; q++)
    line[q] = (T *)sm + ((int)threadIdx.x + q * NT < MODES ? threadIdx.x + q * NT + !EVEN : 0) * PITCH;
  u += blockIdx.y * p.plane + rank * K + threadIdx.x % W - (EVEN ? 0 : p.ld);
  slab_analysis<T, N, A, W, EVEN>((const T *)p.roots, u, p.ld, left);
  if constexpr (EVEN) {
    __shared__ double mean;

    if (p.removed && blockIdx.y == 0) slab_mean(p, rank * K, min(K, p.n - rank * K), &mean, (T *)sm);
  }
  cluster_lines<T, K, N + EVEN, M>(p, MODES, rank, gridDim.x, p.tab + (ptrdiff_t)blockIdx.y * BCR_CUDA_SEP_TAB * MODES,
                                   (T *)(sm + Columns<T, N, A, W>::BYTES),
                                   [&](int q, int i) -> T & { return line[q][i]; });
  if constexpr (EVEN) {
    __shared__ double part[NT];

    if (plane_wanted(p.mean, blockIdx.y)) {
      double v = 0;

      for (int i = 0; (int)threadIdx.x < MODES && i < min(K, p.n - rank * K); i++) v += (double)line[0][i];
      slab_sum(p, MODES, v, part);
    }
  }
  slab_synthesis<T, N, A, W, EVEN>((const T *)p.roots, u, p.ld, left);
  cluster_wait();
  if (EVEN && threadIdx.x < BCR_WARP && plane_wanted(p.mean, blockIdx.y)) plane_done(p.mean);
}

/* Block (rank, plane): rows rank * 2 PAIRS .. of the plane, lines across x. u: in place */
template <typename T, int N, int PAIRS, int A, int MINB>
__global__ void __launch_bounds__(Rows<T, N, PAIRS, A>::NT, MINB) box_rows(BCRCudaBoxPlanes p, T *u)
{
  typedef Rows<T, N, PAIRS, A> R;
  extern __shared__ __align__(16) char sm[];
  constexpr int K = 2 * PAIRS, NT = R::NT, PITCH = R::PITCH, M = (N - 2 + NT) / NT;
  const int rank = blockIdx.x, rows = min(K, p.n - rank * K);
  T *line[M];

#pragma unroll
  /* there is no mode 0 */
  for (int q = 0; q < M; q++) line[q] = (T *)sm + ((int)threadIdx.x + q * NT < N - 1 ? threadIdx.x + q * NT + 1 : 0);
  u += (ptrdiff_t)blockIdx.y * p.plane + (ptrdiff_t)rank * K * p.ld - 1;
  R::transform([&](int i, int j) { return i < rows ? u[i * p.ld + j] : (T)0; }, sm, (const T *)p.roots);
  cluster_lines<T, K, N, M>(p, N - 1, rank, gridDim.x, p.tab + (ptrdiff_t)blockIdx.y * BCR_CUDA_SEP_TAB * (N - 1),
                            (T *)(sm + R::BYTES), [&](int q, int i) -> T & { return line[q][i * PITCH]; });
  __syncthreads();
  R::transform([&](int i, int j) { return ((const T *)sm)[i * PITCH + j]; }, sm, (const T *)p.roots);
  R::store(rows, u, p.ld, sm);
  cluster_wait();
}

/* Down the rows of plane blockIdx.x: transforms along x, forward recurrences. ends: what follows
   for both ends, for box_up(). OPEN: open ends; four transforms, each times two, are 16 times too
   large, so that solutions here are a quarter of those of others */
template <typename T, int N, int PAIRS, int MINB, int OPEN>
__global__ void __launch_bounds__(PAIRS *Sine<N>::TASKS, MINB) box_down(BCRCudaBoxPlanes p, BCRReduced red, T *u)
{
  extern __shared__ __align__(16) char sm[];
  constexpr int K = 2 * PAIRS, NT = PAIRS * Sine<N>::TASKS, PITCH = Rows<T, N, PAIRS>::PITCH;
  const T *M = (const T *)sm;
  /* of each mode: the recurrence, what it adds to the first unknown, power of mu */
  double *state = (double *)(sm + Rows<T, N, PAIRS>::BYTES);
  const double *t = p.tab + (ptrdiff_t)blockIdx.x * BCR_CUDA_SEP_TAB * (N - 1);
  double *ends = p.ends + (ptrdiff_t)blockIdx.x * 2 * (N - 1);

  u += (ptrdiff_t)blockIdx.x * p.plane - 1;
  for (int k = threadIdx.x; k < N - 1; k += NT) {
    state[k] = state[N + k] = 0;
    state[2 * N + k] = 1;
  }
  /* the next rows are on their way during the lines; in double that takes too many registers */
  constexpr bool AHEAD = sizeof(T) == 4;
  const int rows = p.n + (OPEN ? p.open[1] : 0);
  Cplx<T> x[16];

  if (AHEAD) Rows<T, N, PAIRS>::load([&](int i, int j) { return i < rows ? u[i * p.ld + j] : (T)0; }, x);
  for (int row = 0; row < rows; row += K) {
    T *v = u + row * p.ld;

    if (!AHEAD)
      Rows<T, N, PAIRS>::transform([&](int i, int j) { return row + i < rows ? v[i * p.ld + j] : (T)0; }, sm,
                                   (const T *)p.roots);
    else {
      Rows<T, N, PAIRS>::transform(x, sm, (const T *)p.roots);
      if (row + K < rows)
        Rows<T, N, PAIRS>::load([&](int i, int j) { return row + K + i < rows ? v[(K + i) * p.ld + j] : (T)0; }, x);
    }
    for (int k = threadIdx.x; k < N - 1; k += NT) {
      const double mu = __ldg(t + k), hs = __ldg(t + N - 1 + k);
      double c = state[k], X1 = state[N + k], pw = state[2 * N + k];

#pragma unroll
      for (int i = 0; i < K; i++) {
        double g = (double)M[i * PITCH + k + 1];

        if (row + i < p.n) {
          if ((p.half[0] && row + i == 0) || (p.half[1] && row + i == p.n - 1)) g *= 0.5;
          c = hs * g + mu * c;
          X1 += pw * c;
          pw *= mu;
          v[i * p.ld + k + 1] = (T)c;
        } else if (OPEN && row + i < rows)
          p.interface[-(ptrdiff_t)blockIdx.x * (N - 1) - k] = g; /* what is beyond is added below */
      }
      state[k] = c;
      state[N + k] = X1;
      state[2 * N + k] = pw;
    }
  }
  for (int k = threadIdx.x; k < N - 1; k += NT) {
    const double mu = t[k], X1 = state[N + k], Xn = state[k];

    ends[k] = (t[3 * (N - 1) + k] * X1 + t[4 * (N - 1) + k] * Xn) / mu;
    ends[k + N - 1] = (t[6 * (N - 1) + k] * X1 + t[7 * (N - 1) + k] * Xn) / mu;
    if (OPEN) {
      const double *e = p.border + (ptrdiff_t)blockIdx.x * BCR_CUDA_SEP_BORDER * (N - 1) + k;
      const ptrdiff_t o = (ptrdiff_t)blockIdx.x * (N - 1) + k;

      const double interface =
        p.open[1] ? 4 * p.a * (e[4 * (N - 1)] * p.interface[-o] + e[2 * (N - 1)] * X1 + e[3 * (N - 1)] * Xn) : 0;
      const double previous = p.open[0] ? 4 * p.a * (e[0] * X1 + e[N - 1] * Xn) : 0;

      p.interface[-o] = interface;
      p.previous[o] = previous;
      if (red.window.n) { /* on its way while other planes go down */
        const ptrdiff_t slot = window_slot(red.window);

        window_put(red.window, slot, 0, (int)o, interface);
        window_put(red.window, slot, 1, (int)o, previous);
      }
    }
  }
}

/* Up again: backward recurrences, transforms along x */
template <typename T, int N, int PAIRS, int MINB, int OPEN>
__global__ void __launch_bounds__(PAIRS *Sine<N>::TASKS, MINB) box_up(BCRCudaBoxPlanes p, BCRReduced red, T *u)
{
  extern __shared__ __align__(16) char sm[];
  constexpr int K = 2 * PAIRS, NT = PAIRS * Sine<N>::TASKS, PITCH = Rows<T, N, PAIRS>::PITCH;
  static_assert((K & (K - 1)) == 0, "powers");
  T *M = (T *)sm;
  double *state = (double *)(sm + Rows<T, N, PAIRS>::BYTES); /* the recurrence of each mode */
  const double *t = p.tab + (ptrdiff_t)blockIdx.x * BCR_CUDA_SEP_TAB * (N - 1);
  double *ends = p.ends + (ptrdiff_t)blockIdx.x * 2 * (N - 1);
  const int rows = p.n + (OPEN ? p.open[1] : 0);

  u += (ptrdiff_t)blockIdx.x * p.plane - 1;
  for (int k = threadIdx.x; k < N - 1; k += NT) {
    double R = ends[N - 1 + k];

    if (OPEN) { /* each thread comes back to its own modes */
      const double *e = p.border + (ptrdiff_t)blockIdx.x * BCR_CUDA_SEP_BORDER * (N - 1) + k;
      const ptrdiff_t o = (ptrdiff_t)blockIdx.x * (N - 1) + k;
      const double f = e[5 * (N - 1)] / t[k];
      double after, before;

      if (red.received) reduced(red, (int)o, &after, &before);
      else {
        after = p.open[1] ? p.after[o] : 0;
        before = p.open[0] ? p.before[o] : 0;
      }
      after *= 0.25;
      before *= 0.25;
      state[N + k] = after;
      ends[k] += f * (e[0] * before + e[2 * (N - 1)] * after);
      R += f * (e[N - 1] * before + e[3 * (N - 1)] * after);
    }
    state[k] = R;
  }
  for (int row = (rows - 1) / K * K; row >= 0; row -= K) {
    T *v = u + row * p.ld;

    __syncthreads(); /* the rows before have been stored */
    for (int k = threadIdx.x; k < N - 1; k += NT) {
      const double mu = __ldg(t + k);
      double g[K], in = OPEN ? ends[k] : __ldg(ends + k), b = mu, R = state[k];

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
        else if (OPEN && row + i < rows) g[i] = state[N + k];
        M[i * PITCH + k + 1] = (T)g[i];
      }
      state[k] = R;
    }
    __syncthreads();
    Rows<T, N, PAIRS>::transform([&](int i, int j) { return M[i * PITCH + j]; }, sm, (const T *)p.roots);
    Rows<T, N, PAIRS>::store(min(K, rows - row), v, p.ld, sm);
  }
  if (OPEN && red.window.n) window_done(red.window.turn);
}
