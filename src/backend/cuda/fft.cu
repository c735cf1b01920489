/*
  Transforms of any end types along an axis by a complex Fourier transform of length P (transforms.h:
  phi_j(i) = sin or cos (pi I J/(2 P))), each line in the shared memory of a block.

  With M = 2 P and E_k = sum_i x_i e^(-2 pi i k i/M), a real transform of the zero-padded line, an analysis is
  X_j = Re or -Im (e^(-i pi ib J/M) E_J): pairs of neighbours are packed to complex numbers, and
  untangled afterwards. A synthesis is the same backwards: the modes are put into a spectrum with
  the symmetry of a real line. With a division (spectral.h) between them, a line stays in shared memory from the one to the
  other.
*/
#include "fft.cuh"
#include "symbol.cuh"
#include <cmath>

/* None of these was measured apart */
enum {
  MAXPASS = 16,
  PRIME_MOST = 257,         /* largest prime factor, whose pass takes its square of products */
  LINE_THREADS = 512,       /* of a block of fft_lines(), at most */
  LINES_MOST = 16,          /* lines of such a block, at most */
  HELD_LEAST = 1024,        /* lengths of fft_held(), powers of two that are in registers: shorter lines go together */
  HELD_MOST_DOUBLE = 8192,  /* as many as 512 threads of 16 elements have, */
  HELD_MOST_SINGLE = 16384, /* and 1024 */
  HELD_ACROSS = 4096        /* elements of a block whose lines are neighbours in memory */
};

/* What kernels do: an analysis, a synthesis, or both with a division between them */
enum {
  ANALYSIS,
  SYNTHESIS,
  DIVISION
};

struct Plan {
  BCRCudaModes m;
  int npass, radix[MAXPASS], at[MAXPASS], per; /* at: twiddles of the pass; per: lines in a block */
  int pitch;                                   /* elements of a line in shared memory */
  /* lines that are neighbours in memory go to neighbouring threads */
  int ahead;
  BCRCudaLines f, u;
  const int *extraof;        /* analysis: row of extra that is added to a line, or -1 */
  ptrdiff_t extrald, extrab; /* its rows, and what belongs to the next b */
  int again, d;              /* a division: an analysis takes the place of the synthesis; the lines' axis */
  BCRCudaSymbol symbol;
};

static __device__ __forceinline__ int pad(int i)
{
  return i + (i >> 3);
}

/* e^(-i pi m/(2 P)), 0 <= m < 4 P */
template <typename T>
static __device__ __forceinline__ Cplx<T> root(const Plan &p, unsigned m)
{
  const T *tab = (const T *)p.m.tab;
  unsigned c = m + p.m.P;

  if (c >= 4u * p.m.P) c -= 4u * p.m.P;
  return {__ldg(tab + c), -__ldg(tab + m)};
}

/* x_r times w^r, w the k-th twiddle of the pass; powers in double, of which rounding errors would grow */
template <typename T, int R>
static __device__ __forceinline__ void twiddle(const double *tw, int NS, int k, Cplx<T> *x)
{
  if (NS > 1) {
    const double2 v = __ldg((const double2 *)(tw + 2 * k));
    const Cplx<double> w = {v.x, v.y};
    Cplx<double> ww = w;

#pragma unroll
    for (int r = 1; r < R; r++) {
      x[r] = x[r] * Cplx<T>{(T)ww.x, (T)ww.y};
      if (r + 1 < R) ww = ww * w;
    }
  }
}

/* a pass from one buffer (or whatever load is) to another */
template <typename T, int R, typename Load>
static __device__ void pass(const Plan &p, const double *tw, int NS, Load load, Cplx<T> *dst, int t, int step)
{
  const int nb = p.m.P / R;

  for (int id = t; id < nb; id += step) {
    const int q = id / NS, k = id - q * NS;
    Cplx<T> x[R];

#pragma unroll
    for (int r = 0; r < R; r++) x[r] = load(id + r * nb);
    twiddle<T, R>(tw, NS, k, x);
    Dft<T, R>::run(x);
#pragma unroll
    for (int r = 0; r < R; r++) dst[pad(q * NS * R + k + r * NS)] = x[r];
  }
}

/* any radix: an output at a time */
template <typename T, typename Load>
static __device__ void pass_any(const Plan &p, int R, int NS, Load load, Cplx<T> *dst, int t, int step)
{
  const int nb = p.m.P / R, unit = p.m.P / (NS * R);

  for (int o = t; o < p.m.P; o += step) {
    /* rest = k + (output of the butterfly) NS */
    const int q = o / (NS * R), rest = o - q * NS * R, id = q * NS + rest % NS;
    /* many terms: in double, for single too */
    double a = 0, b = 0;
    unsigned m = 0;

    for (int r = 0; r < R; r++) {
      const Cplx<T> v = load(id + r * nb), w = root<T>(p, 4u * m);

      a += (double)v.x * w.x - (double)v.y * w.y;
      b += (double)v.x * w.y + (double)v.y * w.x;
      m += (unsigned)(rest * unit);
      if (m >= (unsigned)p.m.P) m -= p.m.P;
    }
    dst[pad(o)] = {(T)a, (T)b};
  }
}

template <typename T, typename Load>
static __device__ void one_pass(const Plan &p, const double *tw, int R, int NS, Load load, Cplx<T> *dst, int t,
                                int step)
{
  switch (R) {
  case 2:
    pass<T, 2>(p, tw, NS, load, dst, t, step);
    break;
  case 3:
    pass<T, 3>(p, tw, NS, load, dst, t, step);
    break;
  case 4:
    pass<T, 4>(p, tw, NS, load, dst, t, step);
    break;
  case 5:
    pass<T, 5>(p, tw, NS, load, dst, t, step);
    break;
  case 8:
    pass<T, 8>(p, tw, NS, load, dst, t, step);
    break;
  case 7:
    pass<T, 7>(p, tw, NS, load, dst, t, step);
    break;
  case 11:
    pass<T, 11>(p, tw, NS, load, dst, t, step);
    break;
  case 13:
    pass<T, 13>(p, tw, NS, load, dst, t, step);
    break;
  default:
    pass_any<T>(p, R, NS, load, dst, t, step);
  }
}

/* a line of the analysis: two neighbours as a complex number */
template <typename T>
struct LoadPairs {
  const T *f, *extra;
  ptrdiff_t s;
  int n, half0, half1;
  bool valid;

  __device__ __forceinline__ T one(int i) const
  {
    if (i >= n || !valid) return 0;
    T v = f[i * s];

    if (extra) v += extra[i];
    if ((half0 && i == 0) || (half1 && i == n - 1)) v *= (T)0.5;
    return v;
  }
  __device__ __forceinline__ Cplx<T> operator()(int j) const { return {one(2 * j), one(2 * j + 1)}; }
};

/* the spectrum of the synthesis, packed */
template <typename T>
struct LoadModes {
  const Plan &p;
  const T *f;
  ptrdiff_t s;
  bool valid;

  __device__ __forceinline__ Cplx<T> mode(int J) const /* c_J, halved but at the two ends */
  {
    const int P = p.m.P;
    Cplx<T> c = {0, 0};

    if (!valid) return c;
    if (p.m.periodic) {
      const int m = J / 2;

      if (J & 1) return c;
      c.x = f[(m ? 2 * m - 1 : 0) * s];
      if (m && 2 * m < p.m.n) c.y = f[2 * m * s];
      if (J == P) c.y = 0; /* n is even, this is the alternating mode */
    } else {
      const int a = J - p.m.jb, j = p.m.ja == 2 ? a >> 1 : a;
      Cplx<T> w;

      if (a < 0 || j >= p.m.n || (p.m.ja == 2 && (a & 1))) return c;
      const T X = f[j * s];

      w = root<T>(p, (unsigned)(p.m.ib * J)); /* e^(-i pi ib J/M) */
      c = p.m.cosine ? Cplx<T>{X * w.x, X * w.y} : Cplx<T>{-X * w.y, X * w.x};
    }
    if (J != 0 && J != P) {
      c.x *= (T)0.5;
      c.y *= (T)0.5;
    } else c.y = 0;
    return c;
  }
  __device__ __forceinline__ Cplx<T> operator()(int k) const
  {
    const Cplx<T> h = mode(k), g = mode(p.m.P - k), c = {g.x, -g.y}, s1 = h + c,
                  d = root<T>(p, 2u * (unsigned)k) * (h - c);

    return {s1.x - d.y, s1.y + d.x};
  }
};

/* unknown i of a synthesis */
template <typename T>
static __device__ __forceinline__ T unknown(const Cplx<T> *w, int i)
{
  const Cplx<T> z = w[pad(i >> 1)];

  return i & 1 ? z.y : z.x;
}

/* mode j of an analysis */
template <typename T>
static __device__ __forceinline__ T untangled(const Plan &p, const Cplx<T> *w, int j)
{
  const int P = p.m.P, J = p.m.periodic ? 2 * ((j + 1) / 2) : p.m.ja * j + p.m.jb, a = J < P ? J : 0,
            b = J == 0 || J == P ? 0 : P - J;
  const bool cosine = p.m.periodic ? (j == 0 || (j & 1)) : p.m.cosine;
  const Cplx<T> A = w[pad(a)], B = {w[pad(b)].x, -w[pad(b)].y}, s1 = A + B,
                d = minus_i(root<T>(p, 2u * (unsigned)J) * (A - B));
  Cplx<T> E = {(T)0.5 * (s1.x + d.x), (T)0.5 * (s1.y + d.y)};

  if (p.m.ib && !p.m.periodic) E = E * root<T>(p, (unsigned)(p.m.ib * J));
  return cosine ? E.x : -E.y;
}

/* What comes out of the last passes */
template <typename T, int WAY>
static __device__ __forceinline__ void store_line(const Plan &p, const Cplx<T> *w, T *u, int t, int step)
{
  const ptrdiff_t s = p.u.s;

  if (WAY == SYNTHESIS || (WAY == DIVISION && !p.again))
    for (int i = t; i < p.m.n; i += step) u[i * s] = unknown(w, i);
  else
    for (int j = t; j < p.m.n; j += step) u[j * s] = untangled<T>(p, w, j);
}

/* Mode j over the symbol, of line (a, b) */
template <typename T>
static __device__ __forceinline__ T divided(const Plan &p, const SymbolLine &l, int a, int b, const Cplx<T> *w, int j)
{
  const T v = untangled<T>(p, w, j);
  const int *pin = p.symbol.pin;

  if (a == (p.d == 0 ? pin[1] : pin[0]) && b == (p.d == 2 ? pin[1] : pin[2]) &&
      j == (p.d == 0   ? pin[0]
            : p.d == 1 ? pin[1]
                       : pin[2]))
    *p.symbol.removed = (double)v * p.symbol.removedfactor;
  return symbol_divide(p.symbol, l, p.d, j, v);
}

/* All passes: the first from what load is to w0, others between w0 and w1; the last one ends in w0 */
template <typename T, typename Load>
static __device__ __forceinline__ void line_passes(const Plan &p, const Load &first, Cplx<T> *&w0, Cplx<T> *&w1, int t,
                                                   int each)
{
  int NS = p.radix[0];

  one_pass<T>(p, p.m.twiddle, NS, 1, first, w0, t, each);
  __syncthreads();
  for (int q = 1; q < p.npass; q++) {
    const Cplx<T> *src = w0;
    auto load = [src](int i) { return src[pad(i)]; };

    one_pass<T>(p, p.m.twiddle + 2 * p.at[q], p.radix[q], NS, load, w1, t, each);
    w0 = w1;
    w1 = (Cplx<T> *)src;
    NS *= p.radix[q];
    __syncthreads();
  }
}

template <typename T, int WAY>
__global__ void __launch_bounds__(LINE_THREADS) fft_lines(Plan p, const T *f, T *u, const T *extra)
{
  extern __shared__ __align__(16) char sm[];
  const int each = blockDim.x / p.per;
  const int ln = p.ahead ? threadIdx.x % p.per : threadIdx.x / each,
            t = p.ahead ? threadIdx.x / p.per : threadIdx.x % each;
  const long line = (long)blockIdx.x * p.per + ln, all = (long)p.f.na * p.f.nb;
  const bool valid = line < all;
  const int a = (int)(line % p.f.na), b = (int)(line / p.f.na);
  Cplx<T> *w0 = (Cplx<T> *)sm + (size_t)ln * p.pitch, *w1 = w0 + (size_t)p.per * p.pitch;

  f += valid ? a * p.f.sa + b * p.f.sb : 0;
  u += valid ? a * p.u.sa + b * p.u.sb : 0;
  if (WAY == SYNTHESIS) {
    const LoadModes<T> load = {p, f, p.f.s, valid};

    line_passes<T>(p, load, w0, w1, t, each);
  } else {
    const int row = extra && valid && p.extraof ? p.extraof[line % p.f.na] : -1;
    const LoadPairs<T> load = {
      f, row >= 0 ? extra + row * p.extrald + b * p.extrab : NULL, p.f.s, p.m.n, p.m.half[0], p.m.half[1], valid};

    line_passes<T>(p, load, w0, w1, t, each);
  }
  if (WAY == DIVISION) {
    T *x = (T *)w1;

    if (valid) {
      const SymbolLine l = symbol_line(p.symbol, p.d, a, b);

      for (int j = t; j < p.m.n; j += each) x[j] = divided<T>(p, l, a, b, w0, j);
    }
    __syncthreads();
    if (p.again) {
      const LoadPairs<T> load = {x, NULL, 1, p.m.n, p.m.half[0], p.m.half[1], valid};

      line_passes<T>(p, load, w0, w1, t, each);
    } else {
      const LoadModes<T> load = {p, x, 1, valid};

      line_passes<T>(p, load, w0, w1, t, each);
    }
  }
  if (valid) store_line<T, WAY>(p, w0, u, t, each);
}

/* For lines of which two do not fit: each thread keeps B butterflies in registers, so that one buffer is enough */
template <typename T, int R, int B, typename Load>
static __device__ __forceinline__ void pass_held(const Plan &p, const double *tw, int ls, Load load, Cplx<T> *dst,
                                                 int t, int step)
{
  const int nb = p.m.P / R;
  Cplx<T> x[B][R];

#pragma unroll
  for (int b = 0; b < B; b++) {
    const int id = t + b * step;

    if (id < nb) {
#pragma unroll
      for (int r = 0; r < R; r++) x[b][r] = load(id + r * nb);
    }
  }
  __syncthreads();
#pragma unroll
  for (int b = 0; b < B; b++) {
    const int id = t + b * step;

    if (id < nb) {
      const int NS = 1 << ls, k = id & (NS - 1), at = (id - k) * R + k;

      twiddle<T, R>(tw, NS, k, x[b]);
      Dft<T, R>::run(x[b]);
#pragma unroll
      for (int r = 0; r < R; r++) dst[pad(at + (r << ls))] = x[b][r];
    }
    asm volatile("" ::: "memory"); /* one butterfly after the other: fewer registers */
  }
  __syncthreads();
}

template <typename T, int H, typename Load>
static __device__ __forceinline__ void held(const Plan &p, const double *tw, int R, int ls, Load load, Cplx<T> *dst,
                                            int t, int step)
{
  if (R == 8) pass_held<T, 8, H / 8>(p, tw, ls, load, dst, t, step);
  else pass_held<T, 4, H / 4>(p, tw, ls, load, dst, t, step);
}

/* All passes, in w */
template <typename T, int H, typename Load>
static __device__ __forceinline__ void held_passes(const Plan &p, const Load &first, Cplx<T> *w, int t, int step)
{
  int ls = 31 - __clz(p.radix[0]);

  held<T, H>(p, p.m.twiddle, p.radix[0], 0, first, w, t, step);
  for (int q = 1; q < p.npass; q++) {
    auto load = [w](int i) { return w[pad(i)]; };

    held<T, H>(p, p.m.twiddle + 2 * p.at[q], p.radix[q], ls, load, w, t, step);
    ls += 31 - __clz(p.radix[q]);
  }
}

/* H elements a thread. With a division they and the modes take more than 64 registers: an H200 then took 151 us for 127^3, and
   five times the memory traffic */
template <typename T, int WAY, int H, int NT, int MINB>
__global__ void __launch_bounds__(NT, WAY == DIVISION ? 1 : MINB) fft_held(Plan p, const T *f, T *u, const T *extra)
{
  extern __shared__ __align__(16) char sm[];
  const int step = blockDim.x / p.per, ln = p.ahead ? threadIdx.x % p.per : threadIdx.x / step,
            t = p.ahead ? threadIdx.x / p.per : threadIdx.x % step;
  const long line = (long)blockIdx.x * p.per + ln;
  const bool valid = line < (long)p.f.na * p.f.nb;
  const int a = valid ? (int)(line % p.f.na) : 0, b = valid ? (int)(line / p.f.na) : 0;
  Cplx<T> *w = (Cplx<T> *)sm + (size_t)ln * p.pitch;

  f += a * p.f.sa + b * p.f.sb;
  u += a * p.u.sa + b * p.u.sb;
  if (WAY == SYNTHESIS) {
    const LoadModes<T> load = {p, f, p.f.s, valid};

    held_passes<T, H>(p, load, w, t, step);
  } else {
    const int row = extra && p.extraof ? p.extraof[a] : -1;
    const LoadPairs<T> load = {
      f, row >= 0 ? extra + row * p.extrald + b * p.extrab : NULL, p.f.s, p.m.n, p.m.half[0], p.m.half[1], valid};

    held_passes<T, H>(p, load, w, t, step);
  }
  if (WAY == DIVISION) { /* up to 2 P modes, in place of the numbers that they are made of */
    const SymbolLine l = symbol_line(p.symbol, p.d, a, b);
    T x[2 * H], *modes = (T *)w;

#pragma unroll
    for (int q = 0; q < 2 * H; q++)
      if (t + q * step < p.m.n) x[q] = divided<T>(p, l, valid ? a : -2, b, w, t + q * step);
    __syncthreads();
#pragma unroll
    for (int q = 0; q < 2 * H; q++)
      if (t + q * step < p.m.n) modes[t + q * step] = x[q];
    __syncthreads();
    if (p.again) {
      const LoadPairs<T> load = {modes, NULL, 1, p.m.n, p.m.half[0], p.m.half[1], valid};

      held_passes<T, H>(p, load, w, t, step);
    } else {
      const LoadModes<T> load = {p, modes, 1, valid};

      held_passes<T, H>(p, load, w, t, step);
    }
  }
  if (valid) store_line<T, WAY>(p, w, u, t, step);
}

/* radices of n; 0: a prime factor above the limit */
static int factor(int n, int limit, int radix[MAXPASS])
{
  int count = 0;

  while (n % 8 == 0 && n % 32 != 16 && count < MAXPASS) radix[count++] = 8, n /= 8;
  while (n % 5 == 0 && count < MAXPASS) radix[count++] = 5, n /= 5;
  while (n % 4 == 0 && count < MAXPASS) radix[count++] = 4, n /= 4;
  while (n % 3 == 0 && count < MAXPASS) radix[count++] = 3, n /= 3;
  while (n % 2 == 0 && count < MAXPASS) radix[count++] = 2, n /= 2;
  for (int r = 7; r <= limit && n > 1; r += 2)
    while (n % r == 0 && count < MAXPASS) radix[count++] = r, n /= r;
  return n == 1 ? (count ? count : (radix[0] = 1, 1)) : 0;
}

static int passes(Plan *p, int P)
{
  int used = 0, NS = 1;

  p->npass = factor(P, PRIME_MOST, p->radix);
  for (int q = 0; q < p->npass; q++) {
    p->at[q] = used;
    if (q) used += NS;
    NS *= p->radix[q];
  }
  return used;
}

int BCRCudaFftTwiddles(int P, double *w)
{
  Plan p;
  const int n = passes(&p, P);
  int NS = 1;

  for (int q = 0; q < p.npass && w; NS *= p.radix[q++]) {
    for (int k = 0; k < NS && q; k++) {
      w[2 * (p.at[q] + k)] = cos(2 * 3.14159265358979323846 * k / ((double)NS * p.radix[q]));
      w[2 * (p.at[q] + k) + 1] = -sin(2 * 3.14159265358979323846 * k / ((double)NS * p.radix[q]));
    }
  }
  return n > 0 ? n : 1;
}

static size_t plan_bytes(const Plan *p, size_t size)
{
  return 2 * size * (p->npass > 1 || p->d >= 0 ? 2 : 1) * (size_t)p->pitch * p->per;
}

/* one buffer, 8 elements a thread, 16 in single precision */
static int can_hold(int P, int single, int shared)
{
  return (P & (P - 1)) == 0 && P >= HELD_LEAST && P <= (single ? HELD_MOST_SINGLE : HELD_MOST_DOUBLE) &&
         (size_t)(P + P / 8 + 3) * 2 * (single ? sizeof(float) : sizeof(double)) <= (size_t)shared;
}

int BCRCudaFftPossible(int P, int single, int shared)
{
  Plan p;

  if (can_hold(P, single, shared)) return 1;

  p.npass = factor(P, PRIME_MOST, p.radix);
  p.per = 1;
  p.d = -1;
  p.pitch = (P + P / 8 + 2) | 1;
  return p.npass && plan_bytes(&p, single ? sizeof(float) : sizeof(double)) <= (size_t)shared;
}

/* The kernel of whole lines, for lines in registers with so many elements a thread, threads at most and blocks at least */
template <typename T, int H, int NT, int MINB>
static const void *held_kernel(int way)
{
  if (way == DIVISION) return (const void *)fft_held<T, DIVISION, H, NT, MINB>;
  return way == SYNTHESIS ? (const void *)fft_held<T, SYNTHESIS, H, NT, MINB>
                          : (const void *)fft_held<T, ANALYSIS, H, NT, MINB>;
}
template <typename T>
static const void *lines_kernel(int way)
{
  if (way == DIVISION) return (const void *)fft_lines<T, DIVISION>;
  return way == SYNTHESIS ? (const void *)fft_lines<T, SYNTHESIS> : (const void *)fft_lines<T, ANALYSIS>;
}

/* Lines of a block, and its threads and bytes: lines in registers, */
template <typename T>
static const void *shape_held(Plan *p, int way, int *threads, size_t *bytes)
{
  const int H = sizeof(T) == sizeof(float) ? (p->m.P > 8192 ? 16 : 8) : (p->m.P > 4096 ? 16 : 8);
  constexpr int BIG = sizeof(T) == sizeof(float) ? 1024 : 512; /* of 16 elements a thread */
  const void *k = H == 16 ? held_kernel<T, 16, BIG, 1>(way) : held_kernel<T, 8, BIG, 1>(way);

  p->per = 1;
  if (p->ahead && p->m.P <= HELD_LEAST) { /* strided lines, neighbours side by side */
    p->per = HELD_ACROSS / p->m.P;
    k = held_kernel<T, 8, HELD_ACROSS / 8, 2>(way);
  } else if (p->m.P < HELD_LEAST) p->per = HELD_LEAST / p->m.P;
  *threads = p->m.P / H * p->per;
  *bytes = (size_t)p->pitch * p->per * 2 * sizeof(T);
  return k;
}

/* and others */
template <typename T>
static const void *shape_lines(Plan *p, int way, int shared, long lines, int *threads, size_t *bytes)
{
  int each = (p->m.P / 8 + 15) / 16 * 16;

  p->per = 1;
  while (p->per < LINES_MOST && (p->ahead ? 1 : 0) + (p->m.P * p->per < 1024 ? 1 : 0) > 0 && p->per < lines) {
    p->per *= 2;
    if (plan_bytes(p, sizeof(T)) > (size_t)shared / (p->ahead && p->per > 4 ? 2 : 1) ||
        (p->ahead && p->per > 4 && p->m.P * p->per > 16384)) {
      p->per /= 2;
      break;
    }
  }
  if (each < 16) each = 16;
  while (each * p->per > LINE_THREADS) each /= 2;
  if (each < 1) each = 1;
  *threads = each * p->per;
  *threads = *threads < 32 ? 32 : *threads;
  while (*threads % p->per) ++*threads;
  *bytes = plan_bytes(p, sizeof(T));
  return lines_kernel<T>(way);
}

template <typename T>
static int launch(Plan *p, int way, int shared, const T *f, T *u, const T *extra, cudaStream_t stream)
{
  const long lines = (long)p->f.na * p->f.nb;
  const bool held = can_hold(p->m.P, sizeof(T) == sizeof(float), shared) ||
                    (p->m.P >= 64 && p->m.P <= HELD_LEAST && (p->m.P & (p->m.P - 1)) == 0);
  void *args[] = {p, (void *)&f, (void *)&u, (void *)&extra};
  int threads = 0;
  size_t bytes = 0;
  const void *k =
    held ? shape_held<T>(p, way, &threads, &bytes) : shape_lines<T>(p, way, shared, lines, &threads, &bytes);
  cudaError_t e = cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);

  if (e != cudaSuccess) return (int)e;
  (void)cudaLaunchKernel(k, dim3((unsigned)((lines + p->per - 1) / p->per)), dim3((unsigned)threads), args, bytes,
                         stream);
  return bcr_done();
}

static Plan plan_lines(const BCRCudaModes *modes, const BCRCudaLines *fl, const BCRCudaLines *ul)
{
  Plan p = {};

  p.m = *modes;
  (void)passes(&p, modes->P);
  p.f = *fl;
  p.u = *ul;
  p.ahead = fl->s != 1;
  p.pitch = (modes->P + modes->P / 8 + 2) | 1;
  p.d = -1;
  return p;
}

int BCRCudaFft(BCRStream stream, const BCRCudaModes *modes, int synthesis, int single, int shared,
               const BCRCudaLines *fl, const void *f, const BCRCudaLines *ul, void *u, const void *extra,
               const int *extraof, ptrdiff_t extrald, ptrdiff_t extrab)
{
  Plan p = plan_lines(modes, fl, ul);
  int error = 0;

  if ((long)fl->na * fl->nb < 1) return 0;
  p.extraof = extraof;
  p.extrald = extrald;
  p.extrab = extrab;
  BCR_CUDA_TYPE(single, error = launch<T>(&p, synthesis ? SYNTHESIS : ANALYSIS, shared, (const T *)f, (T *)u,
                                          (const T *)extra, bcr_stream(stream)));
  return error;
}

int BCRCudaFftDivide(BCRStream stream, const BCRCudaModes *modes, int again, const BCRCudaSymbol *symbol, int d,
                     int single, int shared, const BCRCudaLines *fl, const void *f, const BCRCudaLines *ul, void *u)
{
  Plan p = plan_lines(modes, fl, ul);
  int error = 0;

  if ((long)fl->na * fl->nb < 1) return 0;
  p.again = again;
  p.d = d;
  p.symbol = *symbol;
  BCR_CUDA_TYPE(single,
                error = launch<T>(&p, DIVISION, shared, (const T *)f, (T *)u, (const T *)NULL, bcr_stream(stream)));
  return error;
}
