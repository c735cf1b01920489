/*
  Sine transforms of contiguous rows between two Dirichlet ends, as in dst.cu, for lengths with an
  odd prime factor p, of any size, that occurs once.

  What is transformed is an odd complex sequence y of period D: for an odd length P one row, folded
  into the two sequences of chirp.cuh (D = P), else a pair of rows (D = 2 P). With D = Q p and j1 = j
  mod Q, j2 = j mod p the transform Y_k is one over j1 and one over j2 without factors between them
  (prime factor algorithm; Good 1958): with class c = k/p mod Q and k2 = k/Q mod p

    V_c(j2) = sum_j1 y(j1, j2) e^(-2 pi i j1 c/Q),   Y(c, k2) = sum_j2 V_c(j2) e^(-2 pi i j2 k2/p).

  Half of the j2 is enough, as V_c(-j2) = -V_(-c)(j2): those j2 = a^q, q < h = (p - 1)/2, where a
  generates the squares (h odd) or all numbers modulo p (h even). There the second sum is a
  convolution (Rader 1968), which falls apart into those of E = V_c - V_(-c) with cos(2 pi a^q/p),
  cyclic of length h, and of O = V_c + V_(-c) with sin(2 pi a^q/p), cyclic or, as a^h = -1,
  negacyclic: Y(c, +-a^n) = V_c(0) + (E part) -+ i (O part). So nothing is longer than half of what
  dst.cu needs for its convolutions, and the tables are those of one class.

  Everything happens in place in shared memory, by passes of small radices: over Q with decimation
  in frequency, the same over h, product in registers with the pass in the middle, and transposed
  back; E and O are formed with the first pass over h and end with the last one. Where the radix and
  what is left are coprime there are no factors between passes. Columns j2 = 0 lie at the end. Modes
  come in the order in which they lie there; tables say where each unknown, or mode, comes from.
*/
#include "passes.cuh"

/* Threads of a block at most, how many such blocks have the registers that a multiprocessor has;
   loads of a thread that are under way at the same time */
template <typename T, int BIG>
struct PrimeShape {
  static constexpr int SMALL = sizeof(T) == 4 && !BIG, THREADS = SMALL ? 512 : 256, BLOCKS = SMALL || BIG ? 2 : 3,
                       REGISTERS = SMALL ? 64 : (BIG ? 128 : 80);
};
template <typename T>
static constexpr int PRIME_AHEAD = sizeof(T) == 4 ? 8 : 4;

struct PrimeArgs {
  BCRCudaDstPrime p;
  int njobs, nrows, na, back;
  ptrdiff_t fa, fb, ua, ub; /* rows, and planes of na rows */
  const int *extraof;       /* row of extra that is added, or -1 */
  ptrdiff_t extrald, extrab;
  int early;
};

/* What a job reads: two rows, or one, and what is added to them */
template <typename T>
struct PrimeRows {
  const T *from0, *from1, *e0, *e1;
  int both;
};
template <typename T>
static __device__ __forceinline__ PrimeRows<T> prime_rows(const PrimeArgs &g, const T *f, const T *extra, int job)
{
  const bool split = g.p.P % 2;
  const int r0 = split ? job : 2 * job, r1 = split ? r0 : min(r0 + 1, g.nrows - 1), a0 = r0 % g.na, b0 = r0 / g.na,
            a1 = r1 % g.na, b1 = r1 / g.na;
  const int x0 = extra ? g.extraof[a0] : -1, x1 = extra ? g.extraof[a1] : -1;
  PrimeRows<T> r;

  r.from0 = f + a0 * g.fa + b0 * g.fb;
  r.from1 = f + a1 * g.fa + b1 * g.fb;
  r.e0 = x0 >= 0 ? extra + x0 * g.extrald + b0 * g.extrab : NULL;
  r.e1 = x1 >= 0 ? extra + x1 * g.extrald + b1 * g.extrab : NULL;
  r.both = split || r1 > r0;
  return r;
}

/* Sums over classes are the first numbers of E: what they add to all of row's, and what all of
   row's, sum, add to them */
template <typename T>
static __device__ __forceinline__ Cplx<T> prime_sum(const BCRCudaDstPrime &p, PassField<T> z, int row, Cplx<T> sum)
{
  const int to = p.Q * p.h + row;
  const Cplx<T> v = z.get(to);

  z.put(to, v + sum);
  return v;
}

/* The last pass over h, the product, and the first one back */
template <typename T, int R>
static __device__ __forceinline__ void prime_middle(const BCRCudaDstPrime &p, PassField<T> z, int tid)
{
  const int each = p.h / R, items = p.Q * each;

#pragma unroll 1
  for (int e = tid; e < items; e += p.threads) {
    const int row = pass_divide(e, each, p.permiddle), at = (e - row * each) * R,
              even = p.Q > 1 && __ldg(p.index + p.kind + row);
    Cplx<T> x[R];

#pragma unroll
    for (int r = 0; r < R; r++) x[r] = z.get(e * R + r);
#pragma unroll 1
    for (int way = 0; way < 2; way++) {
      Dft<T, R>::run(x);
      if (way == 0) {
        const Cplx<T> sum = x[0];

#pragma unroll
        for (int r = 0; r < R; r++) x[r] = x[r] * pass_root<T>(p.w, (even ? p.even : p.odd) + at + r);
        if (even && at == 0) x[0] = x[0] + prime_sum(p, z, row, sum);
      }
    }
#pragma unroll
    for (int r = 0; r < R; r++) z.put(e * R + r, x[r]);
  }
}
template <typename T, int BIG>
static __device__ __forceinline__ void prime_do_middle(const BCRCudaDstPrime &p, PassField<T> z, int tid)
{
#define CASE(R) PASS_CASE(R, prime_middle<T, R>(p, z, tid))
  switch (p.pass[p.nq + p.nh - 1].R) {
    CASE(1)
    CASE(6)
    PASS_RADICES_SMALL(CASE)
  default:
    if constexpr (BIG) {
      switch (p.pass[p.nq + p.nh - 1].R) { /* to PASS_MIDDLE */
        CASE(10)
        CASE(11)
        CASE(13)
      default:
        break;
      }
    }
    break;
  }
#undef CASE
}

/* Where modes go, which lie in the order in which they come out of the last pass: straight from there */
template <typename T>
struct PrimeOut {
  T *to0, *to1; /* NULL: nowhere */

  __device__ __forceinline__ void put(int i, Cplx<T> v) const
  {
    to0[i] = -v.y;
    if (to1) to1[i] = v.x;
  }
};

/* The first pass over h (back: the last one of the way back; WHOLE: the only one, with the product), where classes in
   pairs +-c become E and O (or back), alone where c = -c, with O = 2 V only. Two lanes have a pair's numbers, one E,
   one O; lanes beyond the last pair read what that one does, which no other warp writes. Where h is even O is twisted
   so that its convolution is cyclic */
template <typename T, int R, int WHOLE>
static __device__ __forceinline__ void prime_parts(const BCRCudaDstPrime &p, const BCRCudaDstPass &s, PassField<T> z,
                                                   int back, PrimeOut<T> out, int tid)
{
  const int lane = tid & 31, odd = tid & 1, items = 2 * (p.pairs + p.alone) * s.s;

#pragma unroll 1
  for (int first = tid - lane; first < items; first += p.threads) {
    const bool valid = first + lane < items;
    const int e = (valid ? first + lane : items - 1) >> 1, c = pass_divide(e, s.s, s.pers), i = e - c * s.s,
              row = __ldg(p.index + p.pair + 2 * c), a = row * p.h + i,
              b = __ldg(p.index + p.pair + 2 * c + 1) * p.h + i, to = odd ? b : a;
    const bool twist = odd && p.twist >= 0;
    Cplx<T> x[R];

    if (WHOLE || !back) {
#pragma unroll
      for (int r = 0; r < R; r++) {
        const Cplx<T> u = z.get(a + r * s.s), v = z.get(b + r * s.s);

        x[r] = odd ? u + v : u - v;
      }
      if (twist) {
#pragma unroll
        for (int r = 0; r < R; r++) x[r] = x[r] * pass_root<T>(p.w, p.twist + i + r * s.s);
      }
    } else {
#pragma unroll
      for (int r = 0; r < R; r++) x[r] = z.get(to + r * s.s);
      if (s.w >= 0) pass_factors<T, R>(p.w, s.w, s.s, i, x);
    }
    __syncwarp();
    Dft<T, R>::run(x);
    if (WHOLE) {
      const Cplx<T> sum = x[0];

#pragma unroll
      for (int r = 0; r < R; r++) x[r] = x[r] * pass_root<T>(p.w, (odd ? p.odd : p.even) + r);
      if (!odd && valid && c < p.pairs) x[0] = x[0] + prime_sum(p, z, row, sum);
      Dft<T, R>::run(x);
    }
    if (WHOLE || back) {
      if (twist) {
#pragma unroll
        for (int r = 0; r < R; r++) x[r] = x[r] * pass_root<T>(p.w, p.twist + i + r * s.s);
      }
#pragma unroll
      for (int r = 0; r < R; r++) {
        const Cplx<T> v = {__shfl_xor_sync(0xffffffffu, x[r].x, 1), __shfl_xor_sync(0xffffffffu, x[r].y, 1)};

        x[r] = odd ? (c < p.pairs ? v - x[r] : x[r]) : x[r] + v;
      }
    } else if (s.w >= 0) pass_factors<T, R>(p.w, s.w, s.s, i, x);
    if (valid && (odd || c < p.pairs)) {
#pragma unroll
      for (int r = 0; r < R; r++) {
        if (!WHOLE && out.to0) out.put(to + r * s.s, x[r]);
        else z.put(to + r * s.s, x[r]);
      }
    }
  }
}
template <typename T, int BIG, int WHOLE>
static __device__ __forceinline__ void prime_do_parts(const BCRCudaDstPrime &p, PassField<T> z, int back,
                                                      PrimeOut<T> out, int tid)
{
  const BCRCudaDstPass &s = p.pass[p.nq];

#define CASE(R) PASS_CASE(R, prime_parts<T, R, WHOLE>(p, s, z, back, out, tid))
  switch (s.R) {
    CASE(1)
    CASE(6)
    PASS_RADICES_SMALL(CASE)
  default:
    if constexpr (BIG) {
      switch (s.R) {
        CASE(10)
        CASE(11)
        CASE(13)
      default:
        if constexpr (!WHOLE) {
          switch (s.R) {
            CASE(15)
            CASE(16)
            CASE(17)
          default:
            break;
          }
        }
        break;
      }
    }
    break;
  }
#undef CASE
}

/* where an entry of a table of positions lies; its sign bit is the sign of what lies there */
static __device__ __forceinline__ int prime_at(int entry)
{
  return entry & 0x7fffffff;
}

template <typename T, int ONE>
static __device__ __forceinline__ void prime_in(const PrimeArgs &g, PassField<T> z, const PrimeRows<T> &rows, int tid)
{
  const BCRCudaDstPrime &p = g.p;
  const bool split = p.P % 2;
  const int main = p.Q * p.h;

  for (int first = tid; first < p.count; first += PRIME_AHEAD<T> * p.threads) {
    int entry[PRIME_AHEAD<T>];
    T a[PRIME_AHEAD<T>], b[PRIME_AHEAD<T>];
    Cplx<T> w[PRIME_AHEAD<T>];

#pragma unroll
    for (int q = 0; q < PRIME_AHEAD<T>; q++) {
      const int j = first + q * p.threads, i = j < p.count ? j : first,
                o = split ? (g.back ? p.count + i : p.P - 2 - i) : i;

      entry[q] = __ldg(p.index + (g.back ? p.backin : p.in) + i);
      a[q] = rows.from0[i];
      b[q] = rows.from1[o];
      if (ONE) w[q] = pass_root<T>(p.w, p.twist + (g.back ? 2 * p.h : 0) + i);
    }
    if (rows.e0 || rows.e1) {
#pragma unroll
      for (int q = 0; q < PRIME_AHEAD<T>; q++) {
        const int j = first + q * p.threads, i = j < p.count ? j : first;

        if (rows.e0) a[q] += rows.e0[i];
        if (rows.e1) b[q] += rows.e1[split ? p.P - 2 - i : i]; /* never on the way back */
      }
    }
#pragma unroll
    for (int q = 0; q < PRIME_AHEAD<T>; q++) {
      const int i = first + q * p.threads, at = prime_at(entry[q]);
      Cplx<T> v = {a[q], b[q]};

      if (i < p.count) {
        if (split && !g.back) v = {a[q] - b[q], pass_sign(a[q] + b[q], i << 31)}; /* unknown i + 1 */
        if (!rows.both) v.y = 0;
        if (ONE) v = v * w[q]; /* prime_parts() */
        else v = {pass_sign(v.x, entry[q]), pass_sign(v.y, entry[q])};
        z.put(at, v);
        if (!ONE && at >= main) z.put(main + __ldg(p.index + p.mirror + at - main), {-v.x, -v.y}); /* j2 = 0 has both */
      }
    }
  }
  if (!ONE && tid < 2 && (tid == 0 || p.Q % 2 == 0)) z.put(main + __ldg(p.index + p.zero + tid), {0, 0});
}
template <typename T, int ONE>
static __device__ __forceinline__ void prime_out(const PrimeArgs &g, PassField<T> z, T *u, int job, int tid)
{
  const BCRCudaDstPrime &p = g.p;
  const bool split = p.P % 2;
  const int r0 = split ? job : 2 * job, r1 = split ? r0 : min(r0 + 1, g.nrows - 1), a0 = r0 % g.na, b0 = r0 / g.na,
            a1 = r1 % g.na, b1 = r1 / g.na, main = p.Q * p.h;
  T *to0 = u + a0 * g.ua + b0 * g.ub, *to1 = u + a1 * g.ua + b1 * g.ub;

  for (int first = tid; first < p.count; first += PRIME_AHEAD<T> * p.threads) { /* i Y */
    int entry[PRIME_AHEAD<T>];
    Cplx<T> w[PRIME_AHEAD<T>];

#pragma unroll
    for (int q = 0; q < PRIME_AHEAD<T>; q++) {
      const int j = first + q * p.threads, i = j < p.count ? j : first;

      if (ONE) w[q] = pass_root<T>(p.w, p.twist + (g.back ? 3 * p.h : p.h) + i);
      entry[q] = !g.back && i < main ? i : __ldg(p.index + (g.back ? p.backout : p.out - main) + i);
    }
#pragma unroll
    for (int q = 0; q < PRIME_AHEAD<T>; q++) {
      const int i = first + q * p.threads;
      const Cplx<T> o = z.get(prime_at(entry[q])),
                    v = ONE ? o * w[q] : Cplx<T>{pass_sign(o.x, entry[q]), pass_sign(o.y, entry[q])};
      const T a = -v.y, b = v.x;

      if (i >= p.count) continue;
      if (!split) {
        to0[i] = a;
        if (r1 > r0) to1[i] = b;
      } else if (g.back) {
        const T odd = pass_sign(b, i << 31);

        to0[i] = odd + a;
        to0[p.P - 2 - i] = odd - a;
      } else {
        to0[i] = a;
        to0[p.count + i] = b;
      }
    }
  }
}

/* where the last pass puts modes, with j2 = 0, which are ready before it */
template <typename T>
static __device__ __forceinline__ PrimeOut<T> prime_last(const PrimeArgs &g, PassField<T> z, T *u, int job, int tid)
{
  const BCRCudaDstPrime &p = g.p;
  const bool split = p.P % 2;
  const int r0 = split ? job : 2 * job, r1 = r0 + 1, main = p.Q * p.h;
  PrimeOut<T> out;

  out.to0 = u + (r0 % g.na) * g.ua + (r0 / g.na) * g.ub;
  out.to1 = split ? out.to0 + p.count : (r1 < g.nrows ? u + (r1 % g.na) * g.ua + (r1 / g.na) * g.ub : NULL);
  for (int i = main + tid; i < p.count; i += p.threads) out.put(i, z.get(__ldg(p.index + p.out - main + i)));
  return out;
}

template <typename T, int BIG>
static __device__ __forceinline__ void prime_job(const PrimeArgs &g, void *shared, const PrimeRows<T> &rows, T *u,
                                                 int job, int tid)
{
  const BCRCudaDstPrime &p = g.p;
  const PassField<T> z = {(typename PassNumber<T>::type *)shared};
  const int parts = p.Q > 1;

  if (p.Q == 1) BCR_PASS_PHASE((prime_in<T, 1>(g, z, rows, tid)));
  else BCR_PASS_PHASE((prime_in<T, 0>(g, z, rows, tid)));
#pragma unroll 1
  /* over Q, over h, over h back: one piece of code for all passes of a radix */
  for (int step = 0; step < p.nq + 2 * p.nh - 1; step++) {
    const int t = step - p.nq;

    if (parts && t == 0 && p.nh == 1)
      BCR_PASS_PHASE((prime_do_parts<T, BIG, 1>(p, z, 0, PrimeOut<T>{NULL, NULL}, tid)));
    else if (t == p.nh - 1) BCR_PASS_PHASE((prime_do_middle<T, BIG>(p, z, tid)));
    else if (parts && (t == 0 || t == 2 * p.nh - 2))
      BCR_PASS_PHASE((prime_do_parts<T, BIG, 0>(
        p, z, t > 0, t > 0 && !g.back ? prime_last<T>(g, z, u, job, tid) : PrimeOut<T>{NULL, NULL}, tid)));
    else {
      const int i = step < p.nq ? step : p.nq + (t < p.nh ? t : 2 * p.nh - 2 - t);

      BCR_PASS_PHASE(
        (pass_any<T, 0, BIG>(p.pass[i], p.w, p.Q * p.h, step < p.nq ? p.Q : 0, p.threads, z, t >= p.nh, tid)));
    }
  }
  if (parts && p.nh > 1 && !g.back) return;
  if (g.early) bcr_go_after();
  if (p.Q == 1) BCR_PASS_PHASE((prime_out<T, 1>(g, z, u, job, tid)));
  else BCR_PASS_PHASE((prime_out<T, 0>(g, z, u, job, tid)));
}

/* tables come to the second-level cache, a part by each block, while the kernel before ends */
static __device__ __forceinline__ void prime_fetch(const void *table, size_t bytes)
{
  for (size_t i = (size_t)128 * (blockIdx.x * blockDim.x + threadIdx.x); i < bytes;
       i += (size_t)128 * gridDim.x * blockDim.x)
    asm volatile("prefetch.global.L2 [%0];" ::"l"((const char *)table + i));
}

template <typename T, int BIG>
__global__ void __launch_bounds__(PrimeShape<T, BIG>::THREADS, PrimeShape<T, BIG>::BLOCKS)
  dst_prime(const __grid_constant__ PrimeArgs g, const T *f, T *u, const T *extra)
{
  extern __shared__ __align__(16) char sm[];

  prime_fetch(g.p.w, (size_t)g.p.nw * 2 * sizeof(T));
  prime_fetch(g.p.index, (size_t)g.p.ni * sizeof(int));
  const PrimeRows<T> rows = prime_rows<T>(g, f, extra, blockIdx.x);

  bcr_wait_before();
  prime_job<T, BIG>(g, sm, rows, u, blockIdx.x, threadIdx.x);
  if (!g.early) bcr_go_after();
}

/* Set-up, on the host: a generator of the numbers modulo p */
static int generator(int p)
{
  for (int g = 2;; g++) {
    int m = p - 1, ok = 1;

    for (int q = 2; q <= m && ok; q++) {
      if (m % q) continue;
      while (m % q == 0) m /= q;
      if (pass_power(g, (p - 1) / q, p) == 1) ok = 0;
    }
    if (ok || g >= p) return g;
  }
}

/* Radices and sizes; 0: none */
static int plan_passes(int P, int single, int shared, BCRCudaDstPrime *p, int RQ[], int RH[])
{
  /* in double large radices cost less than their code, in single precision they take the registers
     of other threads (H200) */
  const int D = P % 2 ? P : 2 * P, elements = (single ? 1 : 3) * (D / 2);
  double best = 1e30;
  int now[BCR_CUDA_DST_PASSES + 1], m = D;

  memset(p, 0, sizeof(*p));
  if (P < 3) return 0;
  for (int f = 3; f <= m; f++) {
    int times = 0, Q, h, nq = 0, nh = 0, rq[BCR_CUDA_DST_PASSES + 1], rh[BCR_CUDA_DST_PASSES + 1];
    double cq, ch;

    if (m % f || f % 2 == 0) continue;
    while (m % f == 0) {
      m /= f;
      times++;
    }
    if (times > 1) continue;
    Q = D / f;
    h = (f - 1) / 2;
    cq = pass_choose(Q, 0, elements, 0, rq, &nq, now, 0, 1e30);
    ch = 2 * pass_choose(h, 0, elements, 1, rh, &nh, now, 0, 1e30);
    if (cq > 1e29 || ch > 1e29 || nq + nh > BCR_CUDA_DST_PASSES ||
        (size_t)Q * (h + 1) * 2 * (single ? sizeof(float) : sizeof(double)) > (size_t)shared ||
        (cq + ch) * (1 + 1. / h) >= best)
      continue;
    best = (cq + ch) * (1 + 1. / h); /* and the column j2 = 0 */
    p->P = P;
    p->Q = Q;
    p->h = h;
    p->nq = nq;
    p->nh = nh;
    memcpy(RQ, rq, sizeof(rq));
    memcpy(RH, rh, sizeof(rh));
  }
  return p->P;
}

/* what multiplies the transform of length h, in its order, so that the product's one is the
   convolution with kappa(d) = cos or sin (2 pi a^d/p) */
static void spectrum(int n, const int R[], const BCRCudaDstPass *pass, const int *in, int h, int p, const int *exponent,
                     int odd, int twist, const double *w, double *c)
{
  const double turn = 2 * 3.14159265358979323846;
  int left = h;

  for (int pos = 0; pos < h; pos++) { /* conj(kappa)/h times the twist: at first the transform with the other sign */
    const int d = in[pos];
    const double a = turn * exponent[d] / p, k = (odd ? sin(a) : cos(a)) / h,
                 t = odd && twist ? -turn * d / (2. * h) : 0;

    c[2 * pos] = k * cos(t);
    c[2 * pos + 1] = k * sin(t);
  }
  for (int i = 0; i < n; i++) {
    const int s = left / R[i], wat = pass[i].w;

    for (int block = 0; block < h / left; block++) {
      for (int q = 0; q < s; q++) {
        double x[2 * 17], *at = c + 2 * ((size_t)block * left + q);

        for (int k = 0; k < R[i]; k++) {
          double re = 0, im = 0;

          for (int r = 0; r < R[i]; r++) {
            const double a = -turn * (k * r % R[i]) / R[i], vr = at[2 * (size_t)r * s], vi = at[2 * (size_t)r * s + 1];

            re += vr * cos(a) - vi * sin(a);
            im += vr * sin(a) + vi * cos(a);
          }
          x[2 * k] = re;
          x[2 * k + 1] = im;
          if (wat >= 0) {
            const double *f = w + 2 * ((size_t)wat + (size_t)k * s + q);

            x[2 * k] = re * f[0] - im * f[1];
            x[2 * k + 1] = re * f[1] + im * f[0];
          }
        }
        for (int k = 0; k < R[i]; k++) {
          at[2 * (size_t)k * s] = x[2 * k];
          at[2 * (size_t)k * s + 1] = x[2 * k + 1];
        }
      }
    }
    left = s;
  }
  for (int pos = 0; pos < h; pos++) {
    const double re = c[2 * pos], im = -c[2 * pos + 1];

    c[2 * pos] = odd ? im : re; /* sin has a factor -i */
    c[2 * pos + 1] = odd ? -re : im;
  }
}

int BCRCudaDstPrimePlan(int P, int single, int shared, BCRCudaDstPrime *plan, double *w, int *index, int *modes)
{
  int RQ[BCR_CUDA_DST_PASSES + 1], RH[BCR_CUDA_DST_PASSES + 1], Q, h, p, D, nw = 0, ni = 0, a, *inq, *outq, *inh, *outh,
                                                                            *rowof, *colof, *exponent, *where, *slot;
  BCRCudaDstPrime t;

  if (!plan_passes(P, single, shared, &t, RQ, RH)) return 0;
  D = P % 2 ? P : 2 * P;
  Q = t.Q;
  h = t.h;
  p = 2 * h + 1;
  inq = (int *)malloc(sizeof(int) * (3 * (size_t)Q + 4 * (size_t)h + 2 * (size_t)p + 2 * (size_t)D));
  if (!inq) return 0;
  outq = inq + Q;
  rowof = outq + Q;
  inh = rowof + Q;
  outh = inh + h;
  colof = outh + h;
  exponent = colof + h;
  where = exponent + h; /* 2 p: column of j2, and its sign */
  slot = where + 2 * p;
  t.count = (D - 1) / 2;
  t.alone = Q % 2 ? 1 : 2;
  t.pairs = (Q - t.alone) / 2;
  t.perh = pass_reciprocal(h);
  t.permiddle = pass_reciprocal(h / RH[t.nh - 1]);
  nw = pass_tables(t.nq, RQ, Q, h, t.pass, inq, outq, w, nw);
  nw = pass_tables(t.nh, RH, h, 1, t.pass + t.nq, inh, outh, w, nw);
  t.even = nw;
  t.odd = nw + h;
  t.twist = h % 2 && Q > 1 ? -1 : nw + 2 * h;
  nw += Q == 1 ? 6 * h : (h % 2 ? 2 * h : 3 * h);
  for (int i = 0; i < h && w && h % 2 == 0 && Q > 1; i++) {
    w[2 * (t.twist + i)] = cos(3.14159265358979323846 * inh[i] / h);
    w[2 * (t.twist + i) + 1] = -sin(3.14159265358979323846 * inh[i] / h);
  }
  t.in = ni;
  t.backin = t.in + t.count;
  t.backout = t.backin + t.count;
  t.out = t.backout + t.count; /* of those with j2 = 0 */
  t.mirror = t.out + t.pairs;
  t.kind = t.mirror + Q;
  t.zero = t.kind + Q;
  t.pair = t.zero + 2;
  ni = t.pair + 2 * (t.pairs + t.alone);
  t.nw = nw;
  t.ni = ni;
  for (int i = 0; i < t.nq + t.nh; i++) t.big |= t.pass[i].R > 9;
  t.shared = shared;
  *plan = t;
  if (w && index && modes) {
    const int main = Q * h;
    const long long pq = pass_inverse(p % Q, Q), qp = pass_inverse(Q % p, p);

    a = generator(p);
    if (h % 2) a = (int)((long long)a * a % p);
    for (int i = 0; i < Q; i++) rowof[inq[i]] = i;
    for (int i = 0; i < h; i++) colof[inh[i]] = i;
    for (int j = 0; j < 2 * p; j++) where[j] = -1;
    for (int q = 0, v = 1; q < h; q++, v = (int)((long long)v * a % p)) {
      exponent[q] = v;
      where[2 * v] = colof[q];
      where[2 * v + 1] = 0;
      where[2 * (p - v)] = colof[q];
      where[2 * (p - v) + 1] = 1;
    }
    spectrum(t.nh, RH, t.pass + t.nq, inh, h, p, exponent, 0, h % 2 == 0, w, w + 2 * (size_t)t.even);
    spectrum(t.nh, RH, t.pass + t.nq, inh, h, p, exponent, 1, h % 2 == 0, w, w + 2 * (size_t)t.odd);
    auto place = [&](int j) { /* where y_j goes */
                              const int j1 = j % Q, j2 = j % p;

                              if (j2 == 0) return main + rowof[j1];
                              if (where[2 * j2 + 1])
                                return (int)((unsigned)(rowof[(Q - j1) % Q] * h + where[2 * j2]) | 0x80000000u);
                              return rowof[j1] * h + where[2 * j2];
    };
    for (int i = 0; i < t.count; i++) index[t.in + i] = place(i + 1);
    for (int i = 0; i < Q; i++) index[t.mirror + i] = rowof[(Q - inq[i]) % Q];
    index[t.zero] = rowof[0];
    index[t.zero + 1] = rowof[Q % 2 ? 0 : Q / 2];
    for (int i = 0, n = 0, m = 0, one = 0; i < Q; i++) {
      const int c = outq[i], d = (Q - c) % Q;

      if (c == d) {
        index[t.pair + 2 * (t.pairs + one)] = i;
        index[t.pair + 2 * (t.pairs + one) + 1] = i;
        one++;
        index[t.kind + i] = 0;
      } else if (c < d) {
        int other = 0;

        while (outq[other] != d) other++;
        index[t.pair + 2 * n] = i;
        index[t.pair + 2 * n + 1] = other;
        n++;
        index[t.kind + i] = 1;
        index[t.kind + other] = 0;
        index[t.out + m++] = main + i;
      }
    }
    for (int s = 0; s < t.count; s++) { /* the mode in each place */
      const int at = s < main ? s : index[t.out + s - main], row = s < main ? s / h : at - main, c = outq[row],
                minus = s < main && c && c > Q - c;
      long long k1, k2, k;

      k1 = (long long)(minus ? Q - c : c) * p % Q;
      k2 = s < main ? (long long)Q * (minus ? p - exponent[inh[s % h]] : exponent[inh[s % h]]) % p : 0;
      k = (k1 * p % D * pq + k2 * Q % D * qp) % D;
      slot[s] = (int)k;
      index[t.backin + s] = place((int)k);
      const int m = (int)(k > D / 2 ? D - k : k);

      index[t.backout + m - 1] = (int)((unsigned)at | (k > D / 2 ? 0x80000000u : 0u));
      modes[P - 1 + s] = k > D / 2 ? -1 : 1;
      if (P % 2) modes[P - 1 + t.count + s] = modes[P - 1 + s];
      if (P % 2) {
        modes[s] = 2 * m - 1;
        modes[t.count + s] = P - 2 * m - 1;
      } else modes[s] = m - 1;
    }
  }
  /* what comes and goes is twisted, in the order in which it does: there, back; with what
     prime_parts() and signs would do */
  if (w && index && Q == 1) {
    for (int table = 0; table < 4; table++) {
      for (int i = 0; i < h; i++) {
        const int entry = table == 1 ? i : index[(table == 0 ? t.in : (table == 2 ? t.backin : t.backout)) + i],
                  q = inh[entry & 0x7fffffff];
        const double a = h % 2 ? 0 : 3.14159265358979323846 * q / h, m = (entry < 0 ? -1 : 1) * (table % 2 ? 1 : 2);

        w[2 * (t.twist + table * h + i)] = m * cos(a);
        w[2 * (t.twist + table * h + i) + 1] = -m * sin(a);
      }
    }
  }
  free(inq);
  return 1;
}

template <typename T, int BIG>
static int prime_launch(PrimeArgs &g, int sms, const T *f, T *u, const T *extra, cudaStream_t stream)
{
  typedef PrimeShape<T, BIG> S;
  size_t bytes = (size_t)g.p.Q * (g.p.h + 1) * 2 * sizeof(T);
  cudaError_t e;

  g.p.threads = pass_threads(g.njobs, sms, S::REGISTERS, S::THREADS, bytes, g.p.shared);
  if (g.early) { /* on each multiprocessor no more than it takes */
    const size_t most = ((size_t)g.p.shared + 2048) / (size_t)((g.njobs + sms - 1) / sms + 1);

    if (bytes < most) bytes = most;
  }
  e = cudaFuncSetAttribute((const void *)dst_prime<T, BIG>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);

  if (e != cudaSuccess) return (int)e;
  return bcr_launch(1, dst_prime<T, BIG>, dim3((unsigned)g.njobs), g.p.threads, bytes, stream, g, f, u, extra);
}

int BCRCudaDstPrimeEarly(const BCRCudaDstPrime *plan, int rows, int sms)
{
  return (plan->P % 2 ? rows : (rows + 1) / 2) <= 2 * sms;
}

int BCRCudaDstPrimeApply(BCRStream stream, const BCRCudaDstPrime *plan, int back, int single, int sms,
                         const BCRCudaLines *fl, const void *f, const BCRCudaLines *ul, void *u, const void *extra,
                         const int *extraof, ptrdiff_t extrald, ptrdiff_t extrab, int more)
{
  PrimeArgs g;
  int error = 0;

  g.p = *plan;
  g.back = back != 0;
  bcr_rows(&g, fl, ul, more, extraof, extrald, extrab);
  g.njobs = plan->P % 2 ? g.nrows : (g.nrows + 1) / 2;
  g.early = BCRCudaDstPrimeEarly(plan, g.nrows, sms);
  if (g.nrows < 1) return 0;
  BCR_CUDA_TYPE(
    single, error = plan->big ? prime_launch<T, 1>(g, sms, (const T *)f, (T *)u, (const T *)extra, bcr_stream(stream))
                              : prime_launch<T, 0>(g, sms, (const T *)f, (T *)u, (const T *)extra, bcr_stream(stream)));
  return error;
}
