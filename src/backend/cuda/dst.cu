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
  a mode may be known by k > N, with the other sign. The even extension (EVEN) has all these signs
  positive, and Z_k = 2 C_k. Modes are left in the order of classes (BCRCudaDstOrder()), twice too
  large; the way back, the same steps transposed, takes them in this order, again twice too large.

  Lengths P without such a plan are convolutions (Bluestein). With h = (P - 1)/2 an odd P gives

    S_2m     = sum_(j <= h) (x_j - x_(P - j)) sin(2 pi j m/P),
    S_(P-2m) = sum_(j <= h) (-1)^(j + 1) (x_j + x_(P - j)) sin(2 pi j m/P),   0 < m <= h,

  two transforms T of the same kind, of which one row makes a complex sequence w. For an even one T
  = S itself, h = P - 1, of a pair of rows. With the odd sequence v_j = w_j e^(-pi i j^2/Q), -h <= j
  <= h (Q = P, or 2 P where that is even), -2 i T_m = e^(-pi i m^2/Q) (v * q)_m, q_n = e^(pi i
  n^2/Q), a cyclic convolution of length 2 N >= 4 h (the two ends of q coincide). The transform of v
  is the one above, that of q a table; the product is odd again. Cosines are the same with even
  sequences: C_2m from x_j + x_(P - j), C_(P - 2m) from (-1)^j (x_j - x_(P - j)), h = P where P is
  even.

  A periodic row of n unknowns has cosines of x_j + x_(n - j) and sines of x_j - x_(n - j), j <=
  n/2, Q = n: each is such a convolution of a pair of rows, by one of the two blocks of a cluster.
  Between cell-centred ends of a kind the modes are rotations of these two (rowfft.cu); between a
  Dirichlet end and a node-centred Neumann end they are transposed. The same two have the odd modes
  of an even P between ends of a kind, of x_j + x_(P - j) (sines), x_j - x_(P - j) (cosines), Q =
  P/2; the even ones are a convolution of x_j - x_(P - j), x_j + x_(P - j), Q = P: together as long
  as for a periodic row of P unknowns.
*/
#include "dst.cuh"

struct DstArgs {
  int npairs, nrows, na;
  ptrdiff_t fa, fb, ua, ub; /* rows, and planes of na rows */
  const void *table;
  const int *extraof; /* row of extra that is added, or -1 */
  ptrdiff_t extrald, extrab;
  int early;
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

template <class S, int EVEN>
__global__ void __launch_bounds__(S::NT, S::BLOCKS)
  dst_forward(DstArgs p, const typename S::T *f, typename S::T *u, const typename S::T *extra)
{
  typedef typename S::T T;
  typedef Cplx<T> C;
  extern __shared__ __align__(16) char sm[];
  constexpr int L = S::L, A = S::A;
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
      const T *x0 = f + a0 * p.fa + b0 * p.fb - !EVEN, *x1 = f + a1 * p.fa + b1 * p.fb - !EVEN;
      C x[A];

#pragma unroll
      for (int s = 0; s < A; s++) {
        const int j = unknown_of<S>(q, s);

        x[s] = {0, 0};
        if (!EVEN && (s == 0 || s == A / 2) && q == 0) continue; /* both ends */
        x[s].x = x0[j];
        x[s].y = x1[j];
      }
      if (extra) {
#pragma unroll
        for (int h = 0; h < 2; h++) {
          const int row = h ? e1 : e0;

          if (row >= 0) {
            const T *e = extra + row * p.extrald + (h ? b1 : b0) * p.extrab - !EVEN;

#pragma unroll
            for (int s = 0; s < A; s++) {
              if (!EVEN && (s == 0 || s == A / 2) && q == 0) continue;
              (h ? x[s].y : x[s].x) += e[unknown_of<S>(q, s)];
            }
          }
        }
      }
#pragma unroll
      for (int s = 0; s < A; s++) {
        if (!both) x[s].y = 0;
        if (!EVEN && s >= A / 2) x[s] = {-x[s].x, -x[s].y};
      }
      spread<S>(x, q, table, re, im, EVEN ? 1 : -1);
    }
    __syncthreads();
    prefetch_pair<S>(p, f, pair + gridDim.x * S::PAIRS, tid);
    rows_of_extra(2 * (pair + gridDim.x * S::PAIRS));
    forward_passes<S>(load, table, c, t, cre, cim, z);
    if (p.early) bcr_go_after();
    if (valid) {
      constexpr int R = S::R3 > 1 ? S::R3 : (S::R2 > 1 ? S::R2 : S::R1);
      const ClassModes<S, EVEN> modes(c);
      T *y0 = u + a0 * p.ua + b0 * p.ub + modes.base, *y1 = u + a1 * p.ua + b1 * p.ub + modes.base;

#pragma unroll
      for (int m = 0; m < S::E / R; m++) {
#pragma unroll
        for (int r = 0; r < R; r++) {
          const int k = t + S::EACH * m + r * (L / R);

          if (k < modes.size) {
            y0[k] = EVEN ? z[m * R + r].x : -z[m * R + r].y;
            if (both) y1[k] = EVEN ? z[m * R + r].y : z[m * R + r].x;
          }
        }
      }
    }
    __syncthreads();
  }
  if (!p.early) bcr_go_after();
}

template <class S, int EVEN>
__global__ void __launch_bounds__(S::NT, S::BLOCKS) dst_backward(DstArgs p, const typename S::T *f, typename S::T *u)
{
  typedef typename S::T T;
  typedef Cplx<T> C;
  extern __shared__ __align__(16) char sm[];
  constexpr int L = S::L, A = S::A;
  const int sub = threadIdx.x / S::ROW, tid = threadIdx.x % S::ROW, c = class_of<S>(tid), t = tid % S::EACH;
  T *re = (T *)sm + 2 * S::PLANE * sub, *im = re + S::PLANE, *cre = re + c * S::PITCH, *cim = im + c * S::PITCH;
  C *table = (C *)((T *)sm + 2 * S::PLANE * S::PAIRS);
  auto load = [&](int i, int) { return C{cre[at<S>(i)], cim[at<S>(i)]}; };
  const ClassModes<S, EVEN> modes(c);

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
        if (k < modes.size) v = EVEN ? C{x0[k], x1[k]} : C{-x0[k], -x1[k]};
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
      T *y0 = u + a0 * p.ua + b0 * p.ub - !EVEN, *y1 = u + a1 * p.ua + b1 * p.ub - !EVEN;
      C x[A];

      gather<S>(x, q, table, re, im, EVEN ? 1 : -1);
#pragma unroll
      for (int s = 0; s < A; s++) {
        const int j = unknown_of<S>(q, s);

        if (EVEN) {
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

/* Bluestein: a job is a row (split) or a pair of rows */
struct ChirpArgs {
  int njobs, nrows, na, h, P, split, back;
  ptrdiff_t fa, fb, ua, ub;
  const void *table, *chirp, *spectrum; /* 0 .. h: e^(-pi i j^2/Q); A/2 + 1 classes of L */
  const int *extraof;
  ptrdiff_t extrald, extrab;
};

/* Between spread() and gather(): the transform of a class, times that of q (spectrum, from `from`
   on), and transformed again. S has R1 = R3 (or two passes, R1 = R2): the product is formed in
   registers */
template <class S>
static __device__ __forceinline__ void class_convolve(typename S::T *re, typename S::T *im,
                                                      const Cplx<typename S::T> *table, const void *spectrum, int c,
                                                      int t)
{
  typedef typename S::T T;
  typedef Cplx<T> C;
  constexpr int L = S::L, R = S::R1;
  T *cre = re + c * S::PITCH, *cim = im + c * S::PITCH;
  C z[S::E];
  auto load = [&](int i, int) { return C{cre[at<S>(i)], cim[at<S>(i)]}; };
  static_assert(S::R3 == 1 ? S::R1 == S::R2 : S::R1 == S::R3, "");

  if (c >= S::CLASSES) return;
  forward_passes<S>(load, table, c, t, cre, cim, z);
#pragma unroll
  for (int m = 0; m < S::E / R; m++) {
#pragma unroll
    for (int r = 0; r < R; r++)
      z[m * R + r] = z[m * R + r] * pass_root<T>(spectrum, c * L + t + S::EACH * m + r * (L / R));
    asm volatile("" ::: "memory"); /* fewer loads at once: registers */
    Dft<T, R>::run(z + m * R);
  }
  sync_class<S>(c);
  class_store<S, R, 1>(cre, cim, t, z);
  backward_passes<S>(load, table, c, t, cre, cim, z);
}

/* what makes twice the transform of what comes back; scale: 1/(2 N) */
template <typename T>
static __device__ __forceinline__ Cplx<T> chirp_factor(Cplx<T> w, T scale, bool even)
{
  return even ? Cplx<T>{scale * w.x, scale * w.y} : Cplx<T>{scale * w.y, -scale * w.x};
}

template <class S, int EVEN>
__global__ void __launch_bounds__(S::NT, S::MINB)
  dst_chirp(ChirpArgs p, const typename S::T *f, typename S::T *u, const typename S::T *extra)
{
  typedef typename S::T T;
  typedef Cplx<T> C;
  extern __shared__ __align__(16) char sm[];
  constexpr int L = S::L, A = S::A;
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
    const T *e0 = x0 >= 0 ? extra + x0 * p.extrald + b0 * p.extrab - !EVEN : NULL,
            *e1 = x1 >= 0 ? extra + x1 * p.extrald + b1 * p.extrab - !EVEN : NULL;

    if (valid && tid < S::HALF) {
      const int q = tid;
      const int shift = !EVEN && !p.back; /* unknown 1 is at 0, mode 1 at 1 */
      const T *from0 = f + a0 * p.fa + b0 * p.fb - shift, *from1 = f + a1 * p.fa + b1 * p.fb - shift;
      C x[A];

#pragma unroll
      for (int s = 0; s < A; s++) {
        const int j = unknown_of<S>(q, s);

        x[s] = {0, 0};
        if ((EVEN || j > 0) && j <= h) {
          const int o = p.split ? (p.back ? h + EVEN + j : p.P - j) : j;
          const C w = pass_root<T>(p.chirp, j);
          T a = from0[j], b = from1[o];

          if (e0) a += e0[j];
          if (e1) b += e1[o];
          if (p.split && !p.back) {
            const T plus = a + b, minus = a - b;

            a = EVEN ? plus : minus;
            b = EVEN ? minus : plus;
            if ((j & 1) == EVEN) b = -b;
          }
          if (!both) b = 0;
          if (EVEN && j == p.P) { /* its own mirror image */
            a *= (T)0.5;
            b *= (T)0.5;
          }
          x[s] = C{a, b} * (EVEN || s < A / 2 ? w : C{-w.x, -w.y});
        }
      }
      spread<S>(x, q, table, re, im, EVEN ? 1 : -1);
    }
    __syncthreads();
    class_convolve<S>(re, im, table, p.spectrum, c, t);
    __syncthreads();
    if (valid && tid < S::HALF) {
      const int q = again(tid);
      const int o0 = again(r0), o1 = again(r1), shift = !EVEN && p.back;
      T *to0 = u + (o0 % p.na) * p.ua + (o0 / p.na) * p.ub - shift,
        *to1 = u + (o1 % p.na) * p.ua + (o1 / p.na) * p.ub - shift;
      C x[A];

      gather<S>(x, q, table, re, im, EVEN ? 1 : -1);
#pragma unroll
      for (int s = 0; s < A; s++) {
        const int j = unknown_of<S>(q, s);

        if ((EVEN || j > 0) && j <= h && (s < A / 2 || (q > 0 && (L % 2 || q < L / 2)))) {
          const C y = (EVEN || s < A / 2 ? x[s] : C{-x[s].x, -x[s].y}) *
                      chirp_factor(pass_root<T>(p.chirp, j), (T)(0.5 / S::N), EVEN);

          if (p.split && p.back) {
            const T alternate = (j & 1) == EVEN ? -y.y : y.y;

            to0[j] = alternate + y.x;
            to0[p.P - j] = EVEN ? y.x - alternate : alternate - y.x;
          } else {
            to0[j] = y.x;
            if (p.split) to0[h + EVEN + j] = y.y;
            else if (both) to1[j] = y.y;
          }
        }
      }
      if (!EVEN && !p.back && q == 0) { /* no mode */
        to0[0] = 0;
        to1[0] = 0;
      }
    }
    __syncthreads();
  }
  bcr_go_after();
}

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

/* the two places that belong to number j. natural: modes of cells (1: between Neumann, 2: between
   Dirichlet ends) in their natural order */
static __host__ __device__ __forceinline__ void convolve_places(int kind, int natural, int P, int off, int j, int *lo,
                                                                int *hi)
{
  if (natural) {
    *lo = natural == 1 ? j : P - 1 - j;
    *hi = natural == 1 ? P - j : j - 1;
  } else if (kind == CONVOLVE_CELLS) {
    *lo = 2 * j == P ? P - 1 : 2 * j;
    *hi = 2 * j - 1;
  } else {
    *lo = j - off;
    *hi = P - j - off;
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
          int lo, hi;

          convolve_places(p.kind, p.back ? p.natural : 0, p.P, p.off, j, &lo, &hi);
          low[q] = unknown(lo);
          high[q] = unknown(single ? lo : hi);
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
        int lo, hi;

        if ((p.kind == CONVOLVE_SINES && (single || j == 0)) || (role && single)) continue;
        convolve_places(p.kind, p.back ? 0 : p.natural, p.P, p.off, j, &lo, &hi);
        if (ends) lo = 2 * j - p.off;
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
          if (role) lo = hi;
          if (p.odd) lo = 2 * lo + (p.natural == 1);
        }
        to0[lo] = v.x;
        if (r1 > r0) to1[lo] = v.y;
      }
    }
    if (p.roles > 1) asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
    else __syncthreads();
  }
  bcr_go_after();
#endif
}

#define DST_CASE(N, SHAPE, ...) \
  case N: { \
    typedef SHAPE S; \
    __VA_ARGS__; \
  } break;
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
/* those of convolutions */
#define CHIRP_TYPE(T, N, ...) \
  switch (N) { \
    DST_CASE(256, Dst256<T>, __VA_ARGS__) \
    DST_CASE(512, Dst512<T>, __VA_ARGS__) \
    DST_CASE(1024, Dst1024<T>, __VA_ARGS__) \
    DST_CASE(1536, Dst1536<T>, __VA_ARGS__) \
    DST_CASE(2048, Dst2048<T>, __VA_ARGS__) \
    DST_CASE(3072, Dst3072<T>, __VA_ARGS__) \
    DST_CASE(4096, Dst4096<T>, __VA_ARGS__) \
    DST_CASE(6144, Dst6144<T>, __VA_ARGS__) \
    DST_CASE(8192, Dst8192<T>, __VA_ARGS__) \
    DST_CASE(9216, Dst9216<T>, __VA_ARGS__) \
  default: \
    break; \
  }
#define CHIRP_SHAPE(single, N, ...) \
  do { \
    if (single) { \
      CHIRP_TYPE(float, N, __VA_ARGS__) \
    } else { \
      CHIRP_TYPE(double, N, __VA_ARGS__) \
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

template <class S>
static int fill(double *w)
{
  const double turn = 2 * 3.14159265358979323846;

  for (int part = 0; part < 3 && w; part++) {
    const int n = part == 0 ? S::HALF : (part == 1 ? S::R1 : S::R1 * S::R2),
              R = part == 0 ? S::A / 2 + 1 - S::TIGHT : (part == 1 ? S::R2 : S::R3);
    const int at = part == 0 ? 0 : (part == 1 ? S::AT2 : S::AT3), period = part == 0 ? 2 * S::N : n * R;

    for (int r = 1, q = 0; r < R; r = S::FULL ? r + 1 : 2 * r, q++) {
      for (int k = 0; k < n; k++) {
        w[2 * (at + q * n + k)] = cos(turn * k * r / period);
        w[2 * (at + q * n + k) + 1] = -sin(turn * k * r / period);
      }
    }
  }
  return S::TABLE;
}

int BCRCudaDstTable(int N, int single, double *w)
{
  int n = 0;

  DST_SHAPE(single, N, n = fill<S>(w));
  return n;
}

template <class S, int EVEN>
static int launch(DstArgs *args, int back, const void *f, void *u, const void *extra, int sms, cudaStream_t st)
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
    e = cudaFuncSetAttribute(back ? (const void *)dst_backward<S, EVEN> : (const void *)dst_forward<S, EVEN>,
                             cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
  if (e != cudaSuccess) return (int)e;
  if (back) return bcr_launch(1, dst_backward<S, EVEN>, grid, S::NT, bytes, st, *args, (const T *)f, (T *)u);
  return bcr_launch(1, dst_forward<S, EVEN>, grid, S::NT, bytes, st, *args, (const T *)f, (T *)u, (const T *)extra);
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
  if (args.nrows < 1) return 0;
  DST_SHAPE(single, N,
            error = even ? launch<S, 1>(&args, back, f, u, extra, sms, bcr_stream(stream))
                         : launch<S, 0>(&args, back, f, u, extra, sms, bcr_stream(stream)));
  return error;
}

/* the shortest length of a plan for a convolution of numbers up to h with those up to 2 h; 0: none */
static int chirp_length(int h)
{
  static const int lengths[] = {256, 512, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 9216};

  for (int N : lengths)
    if (h > 0 && N >= 2 * h) return N;
  return 0;
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

/* transform of length n of x, s apart, to y; e^(-2 pi i ...), roots[k] of length all */
static void host_fft(int n, const double *x, int s, double *y, const double *roots, int all)
{
  if (n % 2 || n < 2) {
    for (int k = 0; k < n; k++) {
      double a = 0, b = 0;

      for (int j = 0; j < n; j++) {
        const double *w = roots + 2 * ((size_t)j * k % n * (all / n)), *v = x + 2 * (size_t)j * s;

        a += v[0] * w[0] - v[1] * w[1];
        b += v[0] * w[1] + v[1] * w[0];
      }
      y[2 * k] = a;
      y[2 * k + 1] = b;
    }
    return;
  }
  host_fft(n / 2, x, 2 * s, y, roots, all);
  host_fft(n / 2, x + 2 * s, 2 * s, y + n, roots, all);
  for (int k = 0; k < n / 2; k++) {
    const double *w = roots + 2 * (size_t)k * (all / n);
    double *e = y + 2 * k, *o = y + n + 2 * k;
    const double a = o[0] * w[0] - o[1] * w[1], b = o[0] * w[1] + o[1] * w[0];

    o[0] = e[0] - a;
    o[1] = e[1] - b;
    e[0] += a;
    e[1] += b;
  }
}

/* twiddles of the plan, then e^(-pi i j^2/Q), j = 0 .. h, and the transform of e^(pi i j^2/Q), |j|
   <= 2 h. Returned is how many complex numbers these are */
template <class S>
static int chirp_fill(int Q, int h, double *w)
{
  const double pi = 3.14159265358979323846;
  const int M = 2 * S::N, used = fill<S>(w);
  double *chirp, *spectrum, *x, *y, *roots;

  if (!w) return used + h + 1 + S::CLASSES * S::L;
  chirp = w + 2 * used;
  spectrum = chirp + 2 * (h + 1);
  x = (double *)calloc(6 * (size_t)M, sizeof(double));
  if (!x) return 0;
  y = x + 2 * M;
  roots = y + 2 * M;
  for (int k = 0; k < M; k++) {
    roots[2 * k] = cos(2 * pi * k / M);
    roots[2 * k + 1] = -sin(2 * pi * k / M);
  }
  for (int n = 0; n <= 2 * h; n++) {
    const double phi = pi * (double)((long long)n * n % (2 * Q)) / Q;

    x[2 * n] = cos(phi);
    x[2 * n + 1] = sin(phi);
    if (n) {
      x[2 * (M - n)] = x[2 * n];
      x[2 * (M - n) + 1] = x[2 * n + 1];
    }
    if (n <= h) {
      chirp[2 * n] = cos(phi);
      chirp[2 * n + 1] = -sin(phi);
    }
  }
  host_fft(M, x, 1, y, roots, M);
  for (int c = 0; c < S::CLASSES; c++) {
    for (int k = 0; k < S::L; k++) {
      const int K = S::A * k + c;

      spectrum[2 * (c * S::L + k)] = y[2 * K];
      spectrum[2 * (c * S::L + k) + 1] = y[2 * K + 1];
    }
  }
  free(x);
  return used + h + 1 + S::CLASSES * S::L;
}

int BCRCudaDstChirpTable(int P, int even, int single, double *w)
{
  const int h = chirp_half(P, even);
  int n = 0;

  CHIRP_SHAPE(single, chirp_length(h), n = chirp_fill<S>(P % 2 ? P : 2 * P, h, w));
  return n;
}

template <class S>
static const typename S::T *chirp_numbers(const void *table, int n)
{
  return (const typename S::T *)table + 2 * (size_t)n;
}

/* the parts of a table of chirp_fill(); behind them is the rest */
template <class S, typename Args>
static const typename S::T *chirp_parts(Args *args, const void *table)
{
  const int used = fill<S>(NULL);

  args->table = table;
  args->chirp = chirp_numbers<S>(table, used);
  args->spectrum = chirp_numbers<S>(table, used + args->h + 1);
  return chirp_numbers<S>(table, used + args->h + 1 + S::CLASSES * S::L);
}

template <class S, int EVEN>
static int chirp_launch(ChirpArgs *args, const void *table, const void *f, void *u, const void *extra, int sms,
                        cudaStream_t st)
{
  typedef typename S::T T;
  const int blocks = (args->njobs + S::PAIRS - 1) / S::PAIRS;
  cudaError_t e =
    cudaFuncSetAttribute((const void *)dst_chirp<S, EVEN>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)S::BYTES);

  if (e != cudaSuccess) return (int)e;
  (void)chirp_parts<S>(args, table);
  return bcr_launch(1, dst_chirp<S, EVEN>, dim3((unsigned)(blocks < S::MINB * sms ? blocks : S::MINB * sms)), S::NT,
                    S::BYTES, st, *args, (const T *)f, (T *)u, (const T *)extra);
}

int BCRCudaDstChirp(BCRStream stream, int P, int even, int back, int single, const void *table, int sms,
                    const BCRCudaLines *fl, const void *f, const BCRCudaLines *ul, void *u, const void *extra,
                    const int *extraof, ptrdiff_t extrald, ptrdiff_t extrab, int more)
{
  ChirpArgs args;
  int error = (int)cudaErrorInvalidValue;

  args.split = P % 2;
  args.back = back != 0;
  args.P = P;
  args.h = chirp_half(P, even);
  bcr_rows(&args, fl, ul, more, extraof, extrald, extrab);
  args.njobs = P % 2 ? args.nrows : (args.nrows + 1) / 2;
  if (args.nrows < 1) return 0;
  CHIRP_SHAPE(single, chirp_length(args.h),
              error = even ? chirp_launch<S, 1>(&args, table, f, u, extra, sms, bcr_stream(stream))
                           : chirp_launch<S, 0>(&args, table, f, u, extra, sms, bcr_stream(stream)));
  return error;
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
    int lo, hi;

    convolve_places(kind, 0, P, 0, j, &lo, &hi);
    modes[lo] = kind == CONVOLVE_CIRCLE ? (j ? 2 * j - 1 : 0) : (even ? j : n - 1 - j);
    if (j > 0 && 2 * j < P) {
      modes[hi] = kind == CONVOLVE_CIRCLE ? 2 * j : (even ? n - j : j - 1);
      modes[n + hi] = -1;
    }
  }
  return count +
         (kind >= CONVOLVE_SINES ? convolve_fill(CONVOLVE_CELLS, P / 2, single, w ? w + 2 * (size_t)count : NULL) : 0);
}

template <class S>
static int convolve_launch(ConvolveArgs *args, const void *table, const void *f, void *u, const void *extra, int sms,
                           cudaStream_t st)
{
  typedef typename S::T T;
  const int groups = (args->npairs + S::PAIRS - 1) / S::PAIRS, fit = (S::MINB * sms + args->roles - 1) / args->roles;
  cudaError_t e =
    cudaFuncSetAttribute((const void *)dst_convolve<S>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)S::BYTES);

  if (e != cudaSuccess) return (int)e;
  args->turn = chirp_parts<S>(args, table);
  return bcr_launch_clusters(1, args->roles, dst_convolve<S>,
                             dim3((unsigned)(args->roles * (groups < fit ? groups : fit))), S::NT, S::BYTES, st, *args,
                             (const T *)f, (T *)u, (const T *)extra);
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
