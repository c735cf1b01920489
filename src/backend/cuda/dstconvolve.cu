/*
  Transforms of rows between other ends by two or three convolutions (chirp.cuh) each.

  A periodic row of n unknowns has cosines of x_j + x_(n - j) and sines of x_j - x_(n - j), j <=
  n/2, Q = n: each is such a convolution of a pair of rows, by one of the two blocks of a cluster.
  Between cell-centred ends of a kind the modes are rotations of these two (rowfft.cu); between a
  Dirichlet end and a node-centred Neumann end they are transposed. The same two have the odd modes
  of an even P between ends of a kind, of x_j + x_(P - j) (sines), x_j - x_(P - j) (cosines), Q =
  P/2; the even ones are a convolution of x_j - x_(P - j), x_j + x_(P - j), Q = P: together as long
  as for a periodic row of P unknowns.
*/
#include "chirp.cuh"

/* Clusters of blocks, each with a convolution of one pair of rows */
struct ConvolveArgs {
  int kind, P, h, off, roles, back, natural, npairs, nrows, na;
  /* odd modes: unknowns are sums (1) or differences (-1) with their mirror images, 0: not; sign of
     what cells have at their second places */
  int odd, high;
  ptrdiff_t fa, fb, ua, ub;
  const void *table, *chirp, *spectrum, *turn; /* turn: cosine, sine for what two blocks combine */
  const int *extraof;
  ptrdiff_t extrald, extrab;
};
enum {
  CONVOLVE_CIRCLE, /* periodic */
  CONVOLVE_CELLS,
  CONVOLVE_SINES, /* even modes between Dirichlet ends, between node-centred Neumann ends */
  CONVOLVE_COSINES
};

/* The two places in a row that belong to number j of the convolution. natural: modes of cells (1: between Neumann, 2:
   between Dirichlet ends) in their natural order */
static __host__ __device__ __forceinline__ void convolve_places(int kind, int natural, int P, int off, int j,
                                                                int *place, int *twin)
{
  if (natural) {
    *place = natural == 1 ? j : P - 1 - j;
    *twin = natural == 1 ? P - j : j - 1;
  } else if (kind == CONVOLVE_CELLS) {
    *place = 2 * j == P ? P - 1 : 2 * j;
    *twin = 2 * j - 1;
  } else {
    *place = j - off;
    *twin = P - j - off;
  }
}

/* element i of the other block's array */
template <typename T>
static __device__ __forceinline__ T cluster_load(unsigned array, int i)
{
  T v = 0;

#if __CUDA_ARCH__ >= 900
  if constexpr (sizeof(T) == 8)
    asm volatile("ld.shared::cluster.f64 %0, [%1];" : "=d"(v) : "r"(array + 8 * i) : "memory");
  else asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(array + 4 * i) : "memory");
#endif
  return v;
}

template <class S>
__global__ void __launch_bounds__(S::NT, S::MINB)
  dst_convolve(const __grid_constant__ ConvolveArgs p, const typename S::T *f, typename S::T *u,
               const typename S::T *extra)
{
#if __CUDA_ARCH__ >= 900
  typedef typename S::T T;
  typedef Cplx<T> C;
  extern __shared__ __align__(16) char sm[];
  constexpr int L = S::L, A = S::A;
  const int role = blockIdx.x % p.roles, sub = threadIdx.x / S::ROW, tid = threadIdx.x % S::ROW, c = class_of<S>(tid),
            t = tid % S::EACH;
  const bool ends = p.kind >= CONVOLVE_SINES, even = role == 0 && p.kind != CONVOLVE_SINES;
  const T mirror = even ? 1 : -1;
  /* odd: the place of the mirror image of place 0 */
  const int last = 2 * p.P - 2 * (p.natural == 2);
  T *re = (T *)sm + 2 * S::PLANE * sub, *im = re + S::PLANE;
  C *table = (C *)((T *)sm + 2 * S::PLANE * S::PAIRS);

  fetch_table<S>(table, p.table);
  bcr_wait_before();
  wait_table();
  for (int first = blockIdx.x / p.roles * S::PAIRS; first < p.npairs; first += gridDim.x / p.roles * S::PAIRS) {
    const bool valid = (first + sub < p.npairs);

    if (valid) {
      const int r0 = 2 * (first + sub), r1 = min(r0 + 1, p.nrows - 1), a0 = r0 % p.na, b0 = r0 / p.na, a1 = r1 % p.na,
                b1 = r1 / p.na;
      const int x0 = extra ? p.extraof[a0] : -1, x1 = extra ? p.extraof[a1] : -1;
      const T *from0 = f + a0 * p.fa + b0 * p.fb, *from1 = f + a1 * p.fa + b1 * p.fb;
      const T *e0 = x0 >= 0 ? extra + x0 * p.extrald + b0 * p.extrab : NULL,
              *e1 = x1 >= 0 ? extra + x1 * p.extrald + b1 * p.extrab : NULL;
      auto take = [&](int i) {
        C v = {from0[i], from1[i]};

        if (e0) v.x += e0[i];
        if (e1) v.y += e1[i];
        return v;
      };
      auto unknown = [&](int i) {
        C v = take(i);

        if (p.odd) {
          const C m = take(last - i);

          v = {v.x + p.odd * m.x, v.y + p.odd * m.y};
        }
        return v;
      };

      /* loads of a thread are under way at the same time */
      for (int first = tid; first <= p.h; first += PASS_AHEAD * S::ROW) {
        C low[PASS_AHEAD], high[PASS_AHEAD], w[PASS_AHEAD], g[PASS_AHEAD];

  #pragma unroll
        for (int q = 0; q < PASS_AHEAD; q++) {
          const int i = min(first + q * S::ROW, p.h), j = p.kind == CONVOLVE_SINES ? max(i, 1) : i;
          const bool single = 2 * j == p.P || (j == 0 && !ends);
          int place, twin;

          convolve_places(p.kind, p.back ? p.natural : 0, p.P, p.off, j, &place, &twin);
          low[q] = unknown(place);
          high[q] = unknown(single ? place : twin);
          w[q] = pass_root<T>(p.chirp, j);
          g[q] = ends || !p.back ? C{1, 1} : pass_root<T>(p.turn, j);
        }
  #pragma unroll
        for (int q = 0; q < PASS_AHEAD; q++) {
          const int j = first + q * S::ROW;
          const bool single = 2 * j == p.P || (j == 0 && !ends);
          T al = 1, be = p.kind == CONVOLVE_SINES ? -1 : 1;

          if (!ends) { /* to what is even and what is odd */
            al = role ? g[q].y : g[q].x;
            be = role ? -g[q].x : g[q].y;
            if (single) al = role ? (T)0 : (j ? g[q].x : (T)(p.back && p.natural ? 1 : 2));
            be *= p.back ? (p.natural ? -1 : 1) : p.high;
            if (!p.back && single && j) al *= p.high;
          } else if ((single || j == 0) && p.kind == CONVOLVE_SINES) al = be = 0;
          if (single) be = 0;
          C v = {al * low[q].x + be * high[q].x, al * low[q].y + be * high[q].y};

          if (r1 == r0) v.y = 0;
          v = v * w[q];
          if (j <= p.h) {
            re[j] = v.x;
            im[j] = v.y;
          }
        }
      }
    }
    __syncthreads();
    {
      const int q = tid;
      C x[A];

  #pragma unroll
      for (int s = 0; s < A; s++) {
        const int j = unknown_of<S>(q, s);

        x[s] = {0, 0};
        /* h is N/2 at most */
        if (s < A / 2 ? 4 * s > A : 4 * (A - s) - 2 > A) continue;
        /* threads behind these have none: j < 0 */
        if (q < S::HALF && j <= p.h) x[s] = s < A / 2 ? C{re[j], im[j]} : C{mirror * re[j], mirror * im[j]};
      }
      __syncthreads();
      if (valid && q < S::HALF) spread<S>(x, q, table, re, im, mirror);
    }
    __syncthreads();
    class_convolve<S>(re, im, table, p.spectrum, c, t);
    __syncthreads();
    {
      const int q = again(tid);
      C x[A];

      if (valid && q < S::HALF) gather<S>(x, q, table, re, im, mirror);
      __syncthreads();
      if (valid && q < S::HALF) { /* where the other block finds it */
  #pragma unroll
        for (int s = 0; s < A; s++) {
          const int j = unknown_of<S>(q, s);

          if (s < A / 2 ? 4 * s > A : 4 * (A - s) - 2 > A) continue;
          if (j <= p.h && (s < A / 2 || (q > 0 && (L % 2 || q < L / 2)))) {
            const C y = (s < A / 2 ? x[s] : C{mirror * x[s].x, mirror * x[s].y}) *
                        chirp_factor(pass_root<T>(p.chirp, j), (T)(0.5 / S::N), even);

            re[j] = y.x;
            im[j] = y.y;
          }
          if (s % 2) asm volatile("" ::: "memory");
        }
      }
    }
    /* all have read what is now overwritten, too */
    if (p.roles > 1) asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
    else __syncthreads();
    if (valid) {
      const int r0 = 2 * (again(first) + sub), r1 = min(r0 + 1, p.nrows - 1);
      T *to0 = u + (r0 % p.na) * p.ua + (r0 / p.na) * p.ub, *to1 = u + (r1 % p.na) * p.ua + (r1 / p.na) * p.ub;
      unsigned other = 0;

      if (!ends)
        asm("mapa.shared::cluster.u32 %0, %1, %2;"
            : "=r"(other)
            : "r"((unsigned)__cvta_generic_to_shared(re)), "r"(1 - role));
      for (int j = tid; j <= p.h; j += S::ROW) {
        const bool single = 2 * j == p.P || (j == 0 && !ends);
        C v = {re[j], im[j]};
        int place, twin;

        if ((p.kind == CONVOLVE_SINES && (single || j == 0)) || (role && single)) continue;
        convolve_places(p.kind, p.back ? 0 : p.natural, p.P, p.off, j, &place, &twin);
        if (ends) place = 2 * j - p.off;
        else {
          const C g = p.back ? C{1, 1} : pass_root<T>(p.turn, j);
          T al = role ? -g.x : g.x, be = g.y; /* of this block's, of the other one's */

          if (role ? (p.back ? p.high < 0 : p.natural != 0) : p.back && p.high < 0 && single && j) {
            al = -al;
            be = -be;
          }
          v = {al * v.x, al * v.y};
          if (!single) {
            const C b = {cluster_load<T>(other, j), cluster_load<T>(other, S::PLANE + j)};

            v = {v.x + be * b.x, v.y + be * b.y};
          }
          if (role) place = twin;
          if (p.odd) place = 2 * place + (p.natural == 1);
        }
        to0[place] = v.x;
        if (r1 > r0) to1[place] = v.y;
      }
    }
    if (p.roles > 1) asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
    else __syncthreads();
  }
  bcr_go_after();
#endif
}

/* kind and period of the convolutions for n unknowns; 0: none. *natural: transposed */
static int convolve_period(int n, const BCREnd end[2], int *kind, int *natural)
{
  const BCREndMirror left = BCREndGetRule(end[0]).mirror, right = BCREndGetRule(end[1]).mirror;
  const int nodes = left.distance != 1 && right.distance != 1;

  *natural = 0;
  if (BCREndIsGeneral(end[0])) return 0;
  *kind = BCREndIsPeriodic(end[0]) ? CONVOLVE_CIRCLE
                                   : (nodes ? (left.sign < 0 ? CONVOLVE_SINES : CONVOLVE_COSINES) : CONVOLVE_CELLS);
  if (end[0] != end[1]) {
    if (!nodes) return 0;
    *kind = CONVOLVE_CELLS; /* sin(pi i (2 m + 1)/(2 n)), cos: modes of n cells, with unknowns and modes exchanged */
    *natural = left.sign > 0 ? 1 : 2;
  }
  if (*kind < CONVOLVE_SINES) return n > 2 ? n : 0;
  return n > 3 && n % 2 ? (*kind == CONVOLVE_SINES ? n + 1 : n - 1) : 0;
}

int BCRCudaDstConvolvePossible(int n, const BCREnd end[2], int single, int shared)
{
  int possible = 0, device = 0, major = 0, kind, natural;

  /* clusters */
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess || major < 9)
    return 0;
  CHIRP_SHAPE(single, chirp_length(convolve_period(n, end, &kind, &natural) / 2),
              possible = S::BYTES <= (size_t)shared);
  return possible;
}

/* twiddles and so on for period P, then turn */
static int convolve_fill(int kind, int P, int single, double *w)
{
  const int h = P / 2;
  int count = 0;

  CHIRP_SHAPE(single, chirp_length(h), count = chirp_fill<S>(P, h, w));
  for (int j = 0; j <= h && w; j++) {
    const double a = 0.5 * 3.14159265358979323846 * j / P;

    w[2 * (count + j)] = kind == CONVOLVE_CELLS ? cos(a) : 1;
    w[2 * (count + j) + 1] = kind == CONVOLVE_CELLS ? -sin(a) : 0;
  }
  return count + h + 1;
}

int BCRCudaDstConvolveTable(int n, const BCREnd end[2], int single, double *w, int *modes)
{
  int kind, natural;
  const int P = convolve_period(n, end, &kind, &natural), count = convolve_fill(kind, P, single, w),
            even = BCREndGetRule(end[0]).mirror.sign > 0;

  for (int j = 0; j < n && modes; j++) {
    modes[j] = j;
    modes[n + j] = 1;
  }
  for (int j = 0; j <= P / 2 && modes && kind < CONVOLVE_SINES && !natural; j++) {
    int place, twin;

    convolve_places(kind, 0, P, 0, j, &place, &twin);
    modes[place] = kind == CONVOLVE_CIRCLE ? (j ? 2 * j - 1 : 0) : (even ? j : n - 1 - j);
    if (j > 0 && 2 * j < P) {
      modes[twin] = kind == CONVOLVE_CIRCLE ? 2 * j : (even ? n - j : j - 1);
      modes[n + twin] = -1;
    }
  }
  return count +
         (kind >= CONVOLVE_SINES ? convolve_fill(CONVOLVE_CELLS, P / 2, single, w ? w + 2 * (size_t)count : NULL) : 0);
}

template <class S>
static int convolve_launch(ConvolveArgs *args, const void *table, const void *f, void *u, const void *extra, int sms,
                           cudaStream_t stream)
{
  typedef typename S::T T;
  const int groups = (args->npairs + S::PAIRS - 1) / S::PAIRS, fit = (S::MINB * sms + args->roles - 1) / args->roles;
  cudaError_t e =
    cudaFuncSetAttribute((const void *)dst_convolve<S>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)S::BYTES);

  if (e != cudaSuccess) return (int)e;
  args->turn = chirp_parts<S>(args, table);
  return bcr_launch_clusters(1, args->roles, dst_convolve<S>,
                             dim3((unsigned)(args->roles * (groups < fit ? groups : fit))), S::NT, S::BYTES, stream,
                             *args, (const T *)f, (T *)u, (const T *)extra);
}

int BCRCudaDstConvolve(BCRStream stream, int n, const BCREnd end[2], int back, int single, const void *table, int sms,
                       const BCRCudaLines *fl, const void *f, const BCRCudaLines *ul, void *u, const void *extra,
                       const int *extraof, ptrdiff_t extrald, ptrdiff_t extrab, int more)
{
  ConvolveArgs args;
  int error = (int)cudaErrorInvalidValue;

  args.P = convolve_period(n, end, &args.kind, &args.natural);
  args.h = args.P / 2;
  args.off = args.kind == CONVOLVE_SINES;
  args.roles = args.kind >= CONVOLVE_SINES ? 1 : 2;
  args.back = (back != 0) != (args.natural != 0);
  args.odd = 0;
  args.high = args.kind == CONVOLVE_CELLS && BCREndGetRule(end[0]).mirror.sign < 0 ? -1 : 1;
  bcr_rows(&args, fl, ul, more, extraof, extrald, extrab);
  args.npairs = (args.nrows + 1) / 2;
  if (args.nrows < 1) return 0;
  CHIRP_SHAPE(single, chirp_length(args.h),
              error = convolve_launch<S>(&args, table, f, u, extra, sms, bcr_stream(stream)));
  if (error || args.kind < CONVOLVE_SINES) return error;
  /* odd modes are those between two different ends */
  table = (const char *)table +
          convolve_fill(args.kind, args.P, single, NULL) * 2 * (single ? sizeof(float) : sizeof(double));
  args.natural = args.kind == CONVOLVE_SINES ? 2 : 1;
  args.odd = args.kind == CONVOLVE_SINES ? 1 : -1;
  args.high = args.kind == CONVOLVE_SINES ? -1 : 1;
  args.kind = CONVOLVE_CELLS;
  args.P /= 2;
  args.h = args.P / 2;
  args.roles = 2;
  args.back = 1;
  error = (int)cudaErrorInvalidValue;
  CHIRP_SHAPE(single, chirp_length(args.h),
              error = convolve_launch<S>(&args, table, f, u, extra, sms, bcr_stream(stream)));
  return error;
}
