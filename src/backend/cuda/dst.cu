/*
  Sine transforms of contiguous rows between two Dirichlet ends, S_k = sum_j x_j sin(pi j k/N), 0 <
  j, k < N, two rows at a time; cosine transforms between two node-centred Neumann ends, C_k = sum_j
  x_j cos(pi j k/N), 0 <= j, k <= N, first and last term halved.

  Two rows a, b are one complex sequence z = a + i b. Its odd extension has the length 2 N = A L,
  and the transform Z_k = -2 i S_k. With j = p + t L and k = A m + c the first pass gives class c =
  k mod A,

    v_c[p] = w^(p c) sum_t z[p + t L] e^(-2 pi i t c/A),   w = e^(-2 pi i/(2 N)),

  a transform of length L over p for each class. As z is odd, v_c[L - p] = -conj(w^(p c)) (the sum
  of class A - c at p): classes 0 .. A/2 for half of the p are all there is, and Z_(2 N - k) = -Z_k:
  a mode may be known by k > N, with the other sign. The even extension (even) has all these signs
  positive, and Z_k = 2 C_k. Modes are left in the order of classes (BCRCudaDstOrder()), twice too
  large; the way back, the same steps transposed, takes them in this order, again twice too large.
*/
#include "dst.cuh"

struct DstArgs {
  int npairs, nrows, na;
  ptrdiff_t fa, fb, ua, ub; /* rows, and planes of na rows */
  const void *table;
  const int *extraof; /* row of extra that is added, or -1 */
  ptrdiff_t extrald, extrab;
  int early, even; /* even: not a number of templates, which took the same time (h200_extensions.csv) */
};

/* what the block takes next is on its way to the second-level cache while this pair is in the first passes */
template <class S>
static __device__ __forceinline__ void prefetch_pair(const DstArgs &p, const typename S::T *f, int pair, int tid)
{
  if (pair < p.npairs) {
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int r = min(2 * pair + h, p.nrows - 1);
      const char *from = (const char *)(f + (r % p.na) * p.fa + (r / p.na) * p.fb);

      for (int i = 128 * tid; i < (int)(S::N * sizeof(typename S::T)); i += 128 * S::ROW)
        asm volatile("prefetch.global.L2 [%0];" ::"l"(from + i));
    }
  }
}

template <class S>
__global__ void __launch_bounds__(S::NT, S::BLOCKS)
  dst_forward(DstArgs p, const typename S::T *f, typename S::T *u, const typename S::T *extra)
{
  typedef typename S::T T;
  typedef Cplx<T> C;
  extern __shared__ __align__(16) char sm[];
  constexpr int L = S::L, A = S::A;
  const int even = p.even;
  const int sub = threadIdx.x / S::ROW, tid = threadIdx.x % S::ROW, c = class_of<S>(tid), t = tid % S::EACH;
  T *re = (T *)sm + 2 * S::PLANE * sub, *im = re + S::PLANE, *cre = re + c * S::PITCH, *cim = im + c * S::PITCH;
  C *table = (C *)((T *)sm + 2 * S::PLANE * S::PAIRS);
  auto load = [&](int i, int) { return C{cre[at<S>(i)], cim[at<S>(i)]}; };

  int e0 = -1, e1 = -1; /* rows of extra */

  auto rows_of_extra = [&](int r0) {
    if (extra) {
      e0 = p.extraof[min(r0, p.nrows - 1) % p.na];
      e1 = p.extraof[min(r0 + 1, p.nrows - 1) % p.na];
    }
  };

  fetch_table<S>(table, p.table);
  rows_of_extra(2 * (blockIdx.x * S::PAIRS + sub));
  bcr_wait_before();
  wait_table();
  for (int first = blockIdx.x * S::PAIRS; first < p.npairs; first += gridDim.x * S::PAIRS) {
    const int pair = first + sub, r0 = min(2 * pair, p.nrows - 1), r1 = min(r0 + 1, p.nrows - 1), a0 = r0 % p.na,
              b0 = r0 / p.na, a1 = r1 % p.na, b1 = r1 / p.na;
    const bool valid = (pair < p.npairs), both = (r1 > r0);
    C z[S::E];

    if (valid && tid < S::HALF) {
      const int q = tid;
      const T *x0 = f + a0 * p.fa + b0 * p.fb - !even, *x1 = f + a1 * p.fa + b1 * p.fb - !even;
      C x[A];

#pragma unroll
      for (int s = 0; s < A; s++) {
        const int j = unknown_of<S>(q, s);

        x[s] = {0, 0};
        if (!even && (s == 0 || s == A / 2) && q == 0) continue; /* both ends */
        x[s].x = x0[j];
        x[s].y = x1[j];
      }
      if (extra) {
#pragma unroll
        for (int h = 0; h < 2; h++) {
          const int row = h ? e1 : e0;

          if (row >= 0) {
            const T *e = extra + row * p.extrald + (h ? b1 : b0) * p.extrab - !even;

#pragma unroll
            for (int s = 0; s < A; s++) {
              if (!even && (s == 0 || s == A / 2) && q == 0) continue;
              (h ? x[s].y : x[s].x) += e[unknown_of<S>(q, s)];
            }
          }
        }
      }
#pragma unroll
      for (int s = 0; s < A; s++) {
        if (!both) x[s].y = 0;
        if (!even && s >= A / 2) x[s] = {-x[s].x, -x[s].y};
      }
      spread<S>(x, q, table, re, im, even ? 1 : -1);
    }
    __syncthreads();
    prefetch_pair<S>(p, f, pair + gridDim.x * S::PAIRS, tid);
    rows_of_extra(2 * (pair + gridDim.x * S::PAIRS));
    forward_passes<S>(load, table, c, t, cre, cim, z);
    if (p.early) bcr_go_after();
    if (valid) {
      constexpr int R = S::R3 > 1 ? S::R3 : (S::R2 > 1 ? S::R2 : S::R1);
      const ClassModes<S> modes(c, even);
      T *y0 = u + a0 * p.ua + b0 * p.ub + modes.base, *y1 = u + a1 * p.ua + b1 * p.ub + modes.base;

#pragma unroll
      for (int m = 0; m < S::E / R; m++) {
#pragma unroll
        for (int r = 0; r < R; r++) {
          const int k = t + S::EACH * m + r * (L / R);

          if (k < modes.size) {
            y0[k] = even ? z[m * R + r].x : -z[m * R + r].y;
            if (both) y1[k] = even ? z[m * R + r].y : z[m * R + r].x;
          }
        }
      }
    }
    __syncthreads();
  }
  if (!p.early) bcr_go_after();
}

template <class S>
__global__ void __launch_bounds__(S::NT, S::BLOCKS) dst_backward(DstArgs p, const typename S::T *f, typename S::T *u)
{
  typedef typename S::T T;
  typedef Cplx<T> C;
  extern __shared__ __align__(16) char sm[];
  constexpr int L = S::L, A = S::A;
  const int even = p.even;
  const int sub = threadIdx.x / S::ROW, tid = threadIdx.x % S::ROW, c = class_of<S>(tid), t = tid % S::EACH;
  T *re = (T *)sm + 2 * S::PLANE * sub, *im = re + S::PLANE, *cre = re + c * S::PITCH, *cim = im + c * S::PITCH;
  C *table = (C *)((T *)sm + 2 * S::PLANE * S::PAIRS);
  auto load = [&](int i, int) { return C{cre[at<S>(i)], cim[at<S>(i)]}; };
  const ClassModes<S> modes(c, even);

  fetch_table<S>(table, p.table);
  bcr_wait_before();
  for (int first = blockIdx.x * S::PAIRS; first < p.npairs; first += gridDim.x * S::PAIRS) {
    const int pair = first + sub, r0 = min(2 * pair, p.nrows - 1), r1 = min(r0 + 1, p.nrows - 1), a0 = r0 % p.na,
              b0 = r0 / p.na, a1 = r1 % p.na, b1 = r1 / p.na;
    const bool valid = pair<p.npairs, both = r1> r0;
    const T *x0 = f + a0 * p.fa + b0 * p.fb + modes.base, *x1 = f + a1 * p.fa + b1 * p.fb + modes.base;
    C z[S::E];
    auto mode = [&](int m, int r) {
      C v;

      if (2 * r < S::R1 || !modes.edge) v = {x0[m], x1[m]};
      else {
        const int k = modes.mirror - m;

        v = {0, 0};
        if (k < modes.size) v = even ? C{x0[k], x1[k]} : C{-x0[k], -x1[k]};
      }
      return v;
    };

    class_pass<S, S::R1, 1>(mode, table, t, z);
    prefetch_pair<S>(p, f, pair + gridDim.x * S::PAIRS, tid);
    class_store<S, S::R1, 1>(cre, cim, t, z);
    if (first == blockIdx.x * S::PAIRS) wait_table();
    backward_passes<S>(load, table, c, t, cre, cim, z);
    if (p.early) bcr_go_after();
    __syncthreads();
    if (valid && tid < S::HALF) {
      const int q = again(tid);
      const bool two = q > 0 && (L % 2 || q < L / 2);
      T *y0 = u + a0 * p.ua + b0 * p.ub - !even, *y1 = u + a1 * p.ua + b1 * p.ub - !even;
      C x[A];

      gather<S>(x, q, table, re, im, even ? 1 : -1);
#pragma unroll
      for (int s = 0; s < A; s++) {
        const int j = unknown_of<S>(q, s);

        if (even) {
          if (s < A / 2 || two || (s == A / 2 && q == 0)) {
            y0[j] = x[s].x;
            if (both) y1[j] = x[s].y;
          }
        } else if (s < A / 2 ? j > 0 : two) {
          const T sign = s < A / 2 ? (T)1 : (T)-1;

          y0[j] = -sign * x[s].y;
          if (both) y1[j] = sign * x[s].x;
        }
      }
    }
    __syncthreads();
  }
  if (!p.early) bcr_go_after();
}

/* calls CALL with S the shape for N, of the type that `single` means */
#define DST_TYPE(T, N, ...) \
  switch (N) { \
    DST_CASE(128, Dst128<T>, __VA_ARGS__) \
    DST_CASE(256, Dst256<T>, __VA_ARGS__) \
    DST_CASE(512, Dst512<T>, __VA_ARGS__) \
    DST_CASE(1024, Dst1024<T>, __VA_ARGS__) \
    DST_CASE(2048, Dst2048<T>, __VA_ARGS__) \
    DST_CASE(4096, Dst4096<T>, __VA_ARGS__) \
    DST_CASE(8192, Dst8192<T>, __VA_ARGS__) \
  default: \
    break; \
  }
#define DST_SHAPE(single, N, ...) \
  do { \
    if (single) { \
      DST_TYPE(float, N, __VA_ARGS__) \
    } else { \
      DST_TYPE(double, N, __VA_ARGS__) \
    } \
  } while (0)

int BCRCudaDstPossible(int N, int single, int shared)
{
  int possible = 0;

  DST_SHAPE(single, N, possible = S::BYTES <= (size_t)shared);
  return possible;
}

template <class S>
static int order(int even, int *modes)
{
  constexpr int L = S::L, A = S::A;
  const int L0 = even ? L / 2 + 1 : (L + 1) / 2;

  for (int i = 0; i < S::N + even; i++) {
    const int q = i - even, c = i < L0 ? 0 : q / L, k = c ? A * (q % L) + c : (i < L0 ? A * i : A * (i - L0) + A / 2);

    modes[i] = (k > S::N ? 2 * S::N - k : k) - !even;
  }
  return S::N + even;
}

template <class S>
static int signs(int *sign)
{
  constexpr int L = S::L, A = S::A;

  for (int i = 0; i < S::N; i++) sign[i] = i / L && A * (i % L) + i / L > S::N ? -1 : 1;
  return S::N;
}

int BCRCudaDstSigns(int N, int single, int sign[])
{
  int n = 0;

  DST_SHAPE(single, N, n = signs<S>(sign));
  return n;
}

int BCRCudaDstOrder(int N, int even, int single, int modes[])
{
  int n = 0;

  DST_SHAPE(single, N, n = order<S>(even, modes));
  return n;
}

int BCRCudaDstTable(int N, int single, double *w)
{
  int n = 0;

  DST_SHAPE(single, N, n = dst_fill<S>(w));
  return n;
}

template <class S>
static int launch(DstArgs *args, int back, const void *f, void *u, const void *extra, int sms, cudaStream_t stream)
{
  typedef typename S::T T;
  /* no kernel here takes more than 96 registers */
  constexpr int FIT = 65536 / (96 * ((S::NT + 31) / 32 * 32)), RESIDENT = FIT > S::BLOCKS ? FIT : S::BLOCKS;
  const int blocks = (args->npairs + S::PAIRS - 1) / S::PAIRS;
  const dim3 grid((unsigned)(blocks < RESIDENT * sms ? blocks : RESIDENT * sms));
  size_t bytes = S::BYTES;
  cudaError_t e = cudaSuccess;

  args->early = args->npairs <= sms;
  if (args->early) e = bcr_alone(&bytes);
  if (e == cudaSuccess)
    e = cudaFuncSetAttribute(back ? (const void *)dst_backward<S> : (const void *)dst_forward<S>,
                             cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
  if (e != cudaSuccess) return (int)e;
  if (back) return bcr_launch(1, dst_backward<S>, grid, S::NT, bytes, stream, *args, (const T *)f, (T *)u);
  return bcr_launch(1, dst_forward<S>, grid, S::NT, bytes, stream, *args, (const T *)f, (T *)u, (const T *)extra);
}

int BCRCudaDst(BCRStream stream, int N, int even, int back, int single, const void *table, int sms,
               const BCRCudaLines *fl, const void *f, const BCRCudaLines *ul, void *u, const void *extra,
               const int *extraof, ptrdiff_t extrald, ptrdiff_t extrab, int more)
{
  DstArgs args;
  int error = (int)cudaErrorInvalidValue;

  bcr_rows(&args, fl, ul, more, extraof, extrald, extrab);
  args.npairs = (args.nrows + 1) / 2;
  args.table = table;
  args.even = even;
  if (args.nrows < 1) return 0;
  DST_SHAPE(single, N, error = launch<S>(&args, back, f, u, extra, sms, bcr_stream(stream)));
  return error;
}
