/*
  Sine and cosine transforms of rows of any length between two ends of a kind as convolutions (chirp.cuh).
*/
#include "chirp.cuh"

/* Bluestein: a job is a row (split) or a pair of rows */
struct ChirpArgs {
  int njobs, nrows, na, h, P, split, back, even;
  ptrdiff_t fa, fb, ua, ub;
  const void *table, *chirp, *spectrum; /* 0 .. h: e^(-pi i j^2/Q); A/2 + 1 classes of L */
  const int *extraof;
  ptrdiff_t extrald, extrab;
};

template <class S, int EVEN>
__global__ void __launch_bounds__(S::NT, S::MINB)
  dst_chirp(ChirpArgs p, const typename S::T *f, typename S::T *u, const typename S::T *extra)
{
  typedef typename S::T T;
  typedef Cplx<T> C;
  extern __shared__ __align__(16) char sm[];
  constexpr int L = S::L, A = S::A;
  const int even = EVEN < 0 ? p.even : EVEN;
  const int sub = threadIdx.x / S::ROW, tid = threadIdx.x % S::ROW, c = class_of<S>(tid), t = tid % S::EACH, h = p.h;
  T *re = (T *)sm + 2 * S::PLANE * sub, *im = re + S::PLANE;
  C *table = (C *)((T *)sm + 2 * S::PLANE * S::PAIRS);

  fetch_table<S>(table, p.table);
  bcr_wait_before();
  wait_table();
  for (int first = blockIdx.x * S::PAIRS; first < p.njobs; first += gridDim.x * S::PAIRS) {
    const int job = first + sub, r0 = min(p.split ? job : 2 * job, p.nrows - 1),
              r1 = min(p.split ? r0 : r0 + 1, p.nrows - 1), a0 = r0 % p.na, b0 = r0 / p.na, a1 = r1 % p.na,
              b1 = r1 / p.na;
    const bool valid = (job < p.njobs), both = p.split || r1 > r0;
    const int x0 = extra ? p.extraof[a0] : -1, x1 = extra ? p.extraof[a1] : -1;
    const T *e0 = x0 >= 0 ? extra + x0 * p.extrald + b0 * p.extrab - !even : NULL,
            *e1 = x1 >= 0 ? extra + x1 * p.extrald + b1 * p.extrab - !even : NULL;

    if (valid && tid < S::HALF) {
      const int q = tid;
      const int shift = !even && !p.back; /* unknown 1 is at 0, mode 1 at 1 */
      const T *from0 = f + a0 * p.fa + b0 * p.fb - shift, *from1 = f + a1 * p.fa + b1 * p.fb - shift;
      C x[A];

#pragma unroll
      for (int s = 0; s < A; s++) {
        const int j = unknown_of<S>(q, s);

        x[s] = {0, 0};
        if ((even || j > 0) && j <= h) {
          const int o = p.split ? (p.back ? h + even + j : p.P - j) : j;
          const C w = pass_root<T>(p.chirp, j);
          T a = from0[j], b = from1[o];

          if (e0) a += e0[j];
          if (e1) b += e1[o];
          if (p.split && !p.back) {
            const T plus = a + b, minus = a - b;

            a = even ? plus : minus;
            b = even ? minus : plus;
            if ((j & 1) == even) b = -b;
          }
          if (!both) b = 0;
          if (even && j == p.P) { /* its own mirror image */
            a *= (T)0.5;
            b *= (T)0.5;
          }
          x[s] = C{a, b} * (even || s < A / 2 ? w : C{-w.x, -w.y});
        }
      }
      spread<S>(x, q, table, re, im, even ? 1 : -1);
    }
    __syncthreads();
    class_convolve<S>(re, im, table, p.spectrum, c, t);
    __syncthreads();
    if (valid && tid < S::HALF) {
      const int q = again(tid);
      const int o0 = again(r0), o1 = again(r1), shift = !even && p.back;
      T *to0 = u + (o0 % p.na) * p.ua + (o0 / p.na) * p.ub - shift,
        *to1 = u + (o1 % p.na) * p.ua + (o1 / p.na) * p.ub - shift;
      C x[A];

      gather<S>(x, q, table, re, im, even ? 1 : -1);
#pragma unroll
      for (int s = 0; s < A; s++) {
        const int j = unknown_of<S>(q, s);

        if ((even || j > 0) && j <= h && (s < A / 2 || (q > 0 && (L % 2 || q < L / 2)))) {
          const C y = (even || s < A / 2 ? x[s] : C{-x[s].x, -x[s].y}) *
                      chirp_factor(pass_root<T>(p.chirp, j), (T)(0.5 / S::N), even);

          if (p.split && p.back) {
            const T alternate = (j & 1) == even ? -y.y : y.y;

            to0[j] = alternate + y.x;
            to0[p.P - j] = even ? y.x - alternate : alternate - y.x;
          } else {
            to0[j] = y.x;
            if (p.split) to0[h + even + j] = y.y;
            else if (both) to1[j] = y.y;
          }
        }
      }
      if (!even && !p.back && q == 0) { /* no mode */
        to0[0] = 0;
        to1[0] = 0;
      }
    }
    __syncthreads();
  }
  bcr_go_after();
}

/* of BCRCudaDstChirp() */
static int chirp_half(int P, int even)
{
  return P % 2 ? (P - 1) / 2 : P - !even;
}

int BCRCudaDstChirpPossible(int P, int even, int single, int shared)
{
  int possible = 0;

  CHIRP_SHAPE(single, chirp_length(chirp_half(P, even)), possible = S::BYTES <= (size_t)shared);
  return possible;
}

int BCRCudaDstChirpOrder(int P, int even, int modes[])
{
  const int h = chirp_half(P, even);

  if (!even) modes[0] = -1;
  for (int m = !even; m <= h; m++) {
    modes[m] = (P % 2 ? 2 * m : m) - !even;
    if (P % 2) modes[h + even + m] = P - 2 * m - !even;
  }
  return P + even;
}

int BCRCudaDstChirpTable(int P, int even, int single, double *w)
{
  const int h = chirp_half(P, even);
  int n = 0;

  CHIRP_SHAPE(single, chirp_length(h), n = chirp_fill<S>(P % 2 ? P : 2 * P, h, w));
  return n;
}

template <class S, int EVEN>
static int chirp_launch(ChirpArgs *args, const void *table, const void *f, void *u, const void *extra, int sms,
                        cudaStream_t stream)
{
  typedef typename S::T T;
  const int blocks = (args->njobs + S::PAIRS - 1) / S::PAIRS;
  cudaError_t e =
    cudaFuncSetAttribute((const void *)dst_chirp<S, EVEN>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)S::BYTES);

  if (e != cudaSuccess) return (int)e;
  (void)chirp_parts<S>(args, table);
  return bcr_launch(1, dst_chirp<S, EVEN>, dim3((unsigned)(blocks < S::MINB * sms ? blocks : S::MINB * sms)), S::NT,
                    S::BYTES, stream, *args, (const T *)f, (T *)u, (const T *)extra);
}

/* EVEN: -1: not a number of the template, which in double precision takes 2 to 5 % longer, in single precision none, and
   half of the code (bench/results/h200_extensions.csv) */
template <class S>
static int chirp_choose(ChirpArgs *args, const void *table, const void *f, void *u, const void *extra, int sms,
                        cudaStream_t stream)
{
  if constexpr (sizeof(typename S::T) == sizeof(float))
    return chirp_launch<S, -1>(args, table, f, u, extra, sms, stream);
  else
    return args->even ? chirp_launch<S, 1>(args, table, f, u, extra, sms, stream)
                      : chirp_launch<S, 0>(args, table, f, u, extra, sms, stream);
}

int BCRCudaDstChirp(BCRStream stream, int P, int even, int back, int single, const void *table, int sms,
                    const BCRCudaLines *fl, const void *f, const BCRCudaLines *ul, void *u, const void *extra,
                    const int *extraof, ptrdiff_t extrald, ptrdiff_t extrab, int more)
{
  ChirpArgs args;
  int error = (int)cudaErrorInvalidValue;

  args.split = P % 2;
  args.back = back != 0;
  args.even = even;
  args.P = P;
  args.h = chirp_half(P, even);
  bcr_rows(&args, fl, ul, more, extraof, extrald, extrab);
  args.njobs = P % 2 ? args.nrows : (args.nrows + 1) / 2;
  if (args.nrows < 1) return 0;
  CHIRP_SHAPE(single, chirp_length(args.h),
              error = chirp_choose<S>(&args, table, f, u, extra, sms, bcr_stream(stream)));
  return error;
}
