/*
  Level 0 and the sine transform of its separators in one kernel each way, for planes so small that
  launches and what waits for memory are what a solve costs: a block has a group of R = 3 or 7 rows
  (radix 4 or 8), whole rows of N - 1 unknowns between two Dirichlet ends, and four columns a
  thread. In the elimination (level0.cuh) the group's two contributions to separators, with the
  separator's own right-hand side, are a pair of rows for the transform (dst.cuh); their modes are
  left in D and extra, which the lines add. In the substitution every block transforms the solutions
  of both its separators back by itself, while its rows of the right-hand side have been on their
  way since before the lines.

  Position 0 of a row is the end before its first unknown, with the right-hand side 0. The row goes
  on oddly there, F_0 = -B_0 or F_(-1) = -B_0/mu (level0_lines()), and at the other end, B_N = -F_N
  = -mu F_(N-1).
*/
#include "dst.cuh"
#include "level0.cuh"
#include <cmath>

template <class S, int R>
struct Small {
  typedef typename S::T T;
  static constexpr int K = 4, NT = S::N / K, NW = NT / 32, CH = 32 * K;
  /* whole warps: threads, and what they have of a plane */
  static constexpr int FFT = (S::ROW + 31) / 32 * 32, PLANE = FFT / S::EACH * S::PITCH;
  /* of a row in shared memory */
  static constexpr int ROWS = S::N + (S::N >> S::SHIFT);
  static constexpr size_t FORWARD = ((R + 3) * ROWS + 2 * S::TABLE) * sizeof(T),
                          BACK = ((R + 2) * ROWS + 2 * PLANE + 2 * S::TABLE) * sizeof(T);
  static_assert(S::EACH <= 32 && FFT <= NT && 2 * PLANE <= (R + 1) * ROWS && ROWS % 2 == 0, "");
};

template <class S, int R>
struct SmallArgs {
  typedef typename S::T T;
  int ng;
  ptrdiff_t ldf, ldu, ldd;
  const void *table; /* of the transform */
  Level0Modes<T, 4, R> modes;
  T odd[R]; /* 1/mu */
  T inverse;
};

/* a warp's part of a row of memory, to where position 0 of it is in shared memory */
template <class S, int R>
static __device__ __forceinline__ void small_load(typename S::T *to, const typename S::T *row, bool have)
{
  const int j = bcr_warp() * Small<S, R>::CH + (threadIdx.x & 31);

#pragma unroll
  for (int q = 0; q < Small<S, R>::K; q++)
    copy_async(to + at<S>(j + 32 * q), j + 32 * q && have ? row + j + 32 * q - 1 : row, have && j + 32 * q);
}

template <class S, int R>
__global__ void __launch_bounds__(Small<S, R>::NT, (R == 3 ? 768 : 512) / Small<S, R>::NT)
  small_forward(const __grid_constant__ SmallArgs<S, R> a, const typename S::T *__restrict__ f,
                typename S::T *__restrict__ D, typename S::T *__restrict__ extra)
{
  typedef typename S::T T;
  typedef Cplx<T> C;
  typedef Small<S, R> M;
  extern __shared__ __align__(16) char sm[];
  __shared__ T reach[R][32];
  __shared__ Level0Ends<T, R> ex[2][M::NW];
  constexpr int L = S::L, A = S::A;
  /* the group's and the separator's; what separators get: the group's own, the one before */
  T *rows = (T *)sm, *to = rows + (R + 1) * M::ROWS;
  T *re = rows, *im = rows + M::PLANE;
  C *table = (C *)(to + 2 * M::ROWS);
  const int tid = threadIdx.x, g = blockIdx.x, base = at<S>(M::K * tid);
  T x[R][M::K];

  bcr_go_after();
#pragma unroll
  for (int r = 0; r <= R; r++)
    small_load<S, R>(rows + r * M::ROWS, f + (ptrdiff_t)((R + 1) * g + (r < R || g < a.ng - 1 ? r : 0)) * a.ldf,
                     r < R || g < a.ng - 1);
  fetch_table<S, M::NT>(table, a.table);
  copy_commit();
  level0_reach<M::NT>(a.modes, reach);
  copy_wait();
  __syncwarp();
#pragma unroll
  for (int r = 0; r < R; r++) {
#pragma unroll
    for (int i = 0; i < M::K; i++) x[r][i] = rows[r * M::ROWS + base + i];
  }
  level0_lines<1, M::NW>(a.modes, x, ex, reach, a.odd);
#pragma unroll
  for (int i = 0; i < M::K; i++) {
    T even = 0, odd = 0; /* modes that are alike, and that differ in sign, at both ends of the group */

#pragma unroll
    for (int j = 0; j < R; j++) (j & 1 ? odd : even) += a.modes.share[j] * x[j][i];
    to[base + i] = rows[R * M::ROWS + base + i] + (even - odd);
    to[M::ROWS + base + i] = even + odd;
  }
  __syncthreads();
  if (tid < S::HALF) {
    const int q = tid;
    C y[A];

#pragma unroll
    for (int s = 0; s < A; s++) {
      const int i = at<S>(unknown_of<S>(q, s));

      y[s] = {0, 0};
      if ((s == 0 || s == A / 2) && q == 0) continue; /* both ends */
      y[s] = {to[i], to[M::ROWS + i]};
      if (s >= A / 2) y[s] = {-y[s].x, -y[s].y};
    }
    spread<S>(y, q, table, re, im, -1);
  }
  __syncthreads();
  if (tid < M::FFT) {
    constexpr int F = S::R3;
    const int c = class_of<S>(tid), t = tid % S::EACH;
    const ClassModes<S> modes(c, 0);
    T *cre = re + c * S::PITCH, *cim = im + c * S::PITCH, *y0 = D + g * a.ldd + modes.base,
      *y1 = extra + g * a.ldd + modes.base;
    C z[S::E];
    auto load = [&](int i, int) { return C{cre[at<S>(i)], cim[at<S>(i)]}; };

    forward_passes<S>(load, table, c, t, cre, cim, z);
#pragma unroll
    for (int m = 0; m < S::E / F; m++) {
#pragma unroll
      for (int r = 0; r < F; r++) {
        const int k = t + S::EACH * m + r * (L / F);

        if (k < modes.size) {
          if (g < a.ng - 1) y0[k] = -z[m * F + r].y;
          if (g) y1[k] = z[m * F + r].x;
        }
      }
    }
  }
}

template <class S, int R>
__global__ void __launch_bounds__(Small<S, R>::NT, (R == 3 ? 768 : 512) / Small<S, R>::NT)
  small_back(const __grid_constant__ SmallArgs<S, R> a, const typename S::T *f, typename S::T *u,
             const typename S::T *__restrict__ D)
{
  typedef typename S::T T;
  typedef Cplx<T> C;
  typedef Small<S, R> M;
  extern __shared__ __align__(16) char sm[];
  __shared__ T reach[R][32];
  __shared__ Level0Ends<T, R> ex[2][M::NW];
  constexpr int L = S::L, A = S::A;
  /* the group's; the separators' before and after it */
  T *rows = (T *)sm, *sep = rows + R * M::ROWS;
  T *re = sep + 2 * M::ROWS, *im = re + M::PLANE;
  C *table = (C *)(im + M::PLANE);
  const int tid = threadIdx.x, lane = tid & 31, warp = bcr_warp(), g = blockIdx.x, base = at<S>(M::K * tid);
  T x[R][M::K];

#pragma unroll
  for (int r = 0; r < R; r++) small_load<S, R>(rows + r * M::ROWS, f + (ptrdiff_t)((R + 1) * g + r) * a.ldf, true);
  fetch_table<S, M::NT>(table, a.table);
  copy_commit();
  level0_reach<M::NT>(a.modes, reach);
  copy_wait();
  __syncthreads();
  bcr_wait_before();
  if (tid < M::FFT) {
    const int c = class_of<S>(tid), t = tid % S::EACH;
    const ClassModes<S> modes(c, 0);
    const T *x0 = D + (g ? g - 1 : 0) * a.ldd + modes.base, *x1 = D + (g < a.ng - 1 ? g : 0) * a.ldd + modes.base;
    T *cre = re + c * S::PITCH, *cim = im + c * S::PITCH;
    C z[S::E];
    auto load = [&](int i, int) { return C{cre[at<S>(i)], cim[at<S>(i)]}; };
    auto mode = [&](int m, int r) {
      const bool mirrored = 2 * r >= S::R1 && modes.edge;
      const int k = mirrored ? modes.mirror - m : m;
      C v = {0, 0};

      if (k < modes.size) {
        if (g) v.x = x0[k];
        if (g < a.ng - 1) v.y = x1[k];
      }
      return mirrored ? C{-v.x, -v.y} : v;
    };

    class_pass<S, S::R1, 1>(mode, table, t, z);
    class_store<S, S::R1, 1>(cre, cim, t, z);
    backward_passes<S>(load, table, c, t, cre, cim, z);
  }
  __syncthreads();
  if (tid < S::HALF) {
    const int q = tid;
    const bool two = q > 0 && q < L / 2;
    C y[A];

    gather<S>(y, q, table, re, im, -1);
#pragma unroll
    for (int s = 0; s < A; s++) {
      const int i = at<S>(unknown_of<S>(q, s));
      const T sign = s < A / 2 ? (T)1 : (T)-1;

      if (s < A / 2 ? s || q : two) {
        sep[i] = -sign * y[s].y;
        sep[M::ROWS + i] = sign * y[s].x;
      }
    }
    if (q == 0) sep[0] = sep[M::ROWS] = 0;
  }
  __syncthreads();
  if (g < a.ng - 1) {
    T *to = u + (ptrdiff_t)((R + 1) * g + R) * a.ldu - 1;

    for (int j = tid; j < S::N; j += M::NT)
      if (j) to[j] = sep[M::ROWS + at<S>(j)];
  }
#pragma unroll
  for (int i = 0; i < M::K; i++) {
#pragma unroll
    for (int r = 0; r < R; r++) x[r][i] = rows[r * M::ROWS + base + i];
    x[0][i] += a.inverse * sep[base + i];
    x[R - 1][i] += a.inverse * sep[M::ROWS + base + i];
  }
  level0_lines<1, M::NW>(a.modes, x, ex, reach, a.odd);
#pragma unroll
  for (int i = 0; i < M::K; i++) {
    T v[R];

#pragma unroll
    for (int j = 0; j < R; j++) v[j] = a.modes.out[j] * x[j][i];
    sine<R>(v);
#pragma unroll
    for (int r = 0; r < R; r++) rows[r * M::ROWS + base + i] = v[r];
  }
  __syncwarp();
#pragma unroll
  for (int r = 0; r < R; r++) {
    T *to = u + (ptrdiff_t)((R + 1) * g + r) * a.ldu - 1;

#pragma unroll
    for (int q = 0; q < M::K; q++) {
      const int j = warp * M::CH + lane + 32 * q;

      if (j) to[j] = rows[r * M::ROWS + at<S>(j)];
    }
  }
}

template <class S, int R>
static int launch(const BCRCudaLevel0 *p, int back, int sms, const void *table, const void *f, void *u, void *D,
                  void *extra, cudaStream_t stream)
{
  typedef typename S::T T;
  const void *kernel = back ? (const void *)small_back<S, R> : (const void *)small_forward<S, R>;
  size_t bytes = back ? Small<S, R>::BACK : Small<S, R>::FORWARD;
  /* they come while there is not room everywhere */
  cudaError_t e = back && p->ng <= sms ? bcr_alone(&bytes) : cudaSuccess;
  SmallArgs<S, R> a;

  if (e == cudaSuccess) e = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
  /* one size for all: blocks of the next kernel come while those of the one before are there */
  if (e == cudaSuccess)
    e = cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared);
  if (e != cudaSuccess) return (int)e;
  a.ng = p->ng;
  a.ldf = p->ldf;
  a.ldu = p->ldu;
  a.ldd = p->ldd;
  a.table = table;
  a.inverse = (T)p->inverse;
  for (int j = 0; j < R; j++) {
    level0_mode(&a.modes, j, p->mu[j], p->share[j], p->out[j]);
    a.odd[j] = (T)(1 / p->mu[j]);
  }
  if (back)
    return bcr_launch(1, small_back<S, R>, dim3((unsigned)p->ng), Small<S, R>::NT, bytes, stream, a, (const T *)f,
                      (T *)u, (const T *)D);
  return bcr_launch(0, small_forward<S, R>, dim3((unsigned)p->ng), Small<S, R>::NT, bytes, stream, a, (const T *)f,
                    (T *)D, (T *)extra);
}

template <typename T>
static int level0_small(const BCRCudaLevel0 *p, int back, int sms, const void *table, const void *f, void *u, void *D,
                        void *extra, cudaStream_t stream)
{
  if (p->nx == 511)
    return p->radix == 4 ? launch<Dst512<T>, 3>(p, back, sms, table, f, u, D, extra, stream)
                         : launch<Dst512<T>, 7>(p, back, sms, table, f, u, D, extra, stream);
  return p->radix == 4 ? launch<Dst1024<T>, 3>(p, back, sms, table, f, u, D, extra, stream)
                       : launch<Dst1024<T>, 7>(p, back, sms, table, f, u, D, extra, stream);
}

int BCRCudaLevel0SmallPossible(const BCRCudaLevel0 *p, int single, int shared)
{
  const int R = p->radix - 1;
  size_t bytes = 0;

  if (p->planes > 1 || p->open[0] || p->open[1] || p->yperiodic || p->g0 || p->g1 < p->ng || p->sepend) return 0;
  for (int e = 0; e < 2; e++)
    if (p->mirror[e].sign != -1 || p->mirror[e].distance != 2) return 0;
  BCR_CUDA_TYPE(single,
                bytes = p->nx == 511 ? Small<Dst512<T>, 7>::BACK : (p->nx == 1023 ? Small<Dst1024<T>, 7>::BACK : 0));
  for (int j = 0; j < R; j++) {
    const int steps = single ? (R == 3 ? doublings<float, 4, 3, 1>(j) : doublings<float, 4, 7, 1>(j))
                             : (R == 3 ? doublings<double, 4, 3, 1>(j) : doublings<double, 4, 7, 1>(j));

    if (pow(p->mu[j], 4 << steps) > (single ? 4e-9 : 1e-17)) return 0;
  }
  return bytes && bytes <= (size_t)shared;
}

int BCRCudaLevel0SmallReduce(BCRStream stream, const BCRCudaLevel0 *p, int single, int sms, const void *table,
                             const void *f, void *D, void *extra)
{
  int error = 0;

  BCR_CUDA_TYPE(single, error = level0_small<T>(p, 0, sms, table, f, NULL, D, extra, bcr_stream(stream)));
  return error;
}

int BCRCudaLevel0SmallBack(BCRStream stream, const BCRCudaLevel0 *p, int single, int sms, const void *table,
                           const void *D, const void *f, void *u)
{
  int error = 0;

  BCR_CUDA_TYPE(single, error = level0_small<T>(p, 1, sms, table, f, u, (void *)D, NULL, bcr_stream(stream)));
  return error;
}
