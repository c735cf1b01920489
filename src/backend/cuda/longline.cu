/*
  Transforms along an axis of more unknowns than any block has room for, of any ends: one convolution for each pair of
  lines (Bluestein), through memory, in double precision.

  With I = 2 i + ib and J = ja j + jb (BCRCudaModes) the sums E_J = sum_i z_i e^(-i pi I J/(2 P)) of complex z, two lines,
  give those with cosines, (E_J + E_(-J))/2, and with sines, i (E_J - E_(-J))/2; -J is that of j' = -j - 2 jb/ja. From

    I J = (ja i^2 + 2 jb i) + (ja j^2 + ib ja j + ib jb) - ja (j - i)^2

  they are a cyclic convolution with e^(i pi ja m^2/(2 P)), of length M >= 3 n + 4. A synthesis has i and j the other way
  round, -I is that of i' = -i - ib. Periodic axes have waves k, 2 k for J, of either sign: an analysis takes both sums from
  E_k and E_(-k), a synthesis both modes to the places k and -k.

  M = N1 N2, number m = m1 N2 + m2: columns (over m1) are transformed and multiplied by e^(-2 pi i k1 m2/M), then rows are
  transformed, multiplied and transformed back, then columns. So many pairs go at a time as the second-level cache has room
  for.
*/
#include "dft32.cuh"
#include "longline.h"
#include <cstring>

typedef Cplx<double> C;

/* Transforms of length R1 R2, E numbers of each of G threads */
template <int R1_, int R2_>
struct LongLength {
  static constexpr int R1 = R1_, R2 = R2_, N = R1 * R2, E = R1 > R2 ? R1 : R2, G = N / E;
  typedef LongLength<R2, R1> Other;
};
typedef LongLength<16, 8> Long128;
typedef LongLength<16, 16> Long256;
typedef LongLength<16, 32> Long512;

enum {
  LONG_THREADS = 128,
  LONG_SHARED = 544 * 8 * (int)sizeof(C), /* bytes of a block, at most */
  LONG_BYTES = 32 << 20                   /* of the pairs that go at a time; other numbers were not measured */
};

struct LongArgs {
  BCRCudaLong p;
  BCRCudaLines f, u;
  const void *from;
  void *to;
  const void *extra;
  const int *extraof;
  ptrdiff_t extrald, extrab;
  int synthesis, single, spectrum; /* spectrum: what is transformed is the convolution's other part */
  long first, nlines;              /* lines */
};

static __device__ __forceinline__ C long_conjugate(C a)
{
  return {a.x, -a.y};
}
static __device__ __forceinline__ double long_get(const void *p, int single, ptrdiff_t i)
{
  return single ? (double)((const float *)p)[i] : ((const double *)p)[i];
}
/* e^(-i pi a/(2 P)) */
static __device__ __forceinline__ C long_turn(long long a, int P)
{
  const long long r = a % (4 * P);
  double s, c;

  sincospi((double)r / (2. * P), &s, &c);
  return {c, -s};
}
/* What goes with index i, or mode j, in I J; both: once in a product */
static __device__ __forceinline__ C long_chirp(const BCRCudaModes &m, int of_mode, int both, long long i)
{
  const long long ja = m.periodic ? 2 : m.ja, jb = m.periodic ? 0 : m.jb, ib = m.ib, once = both ? ib * jb : 0;

  return long_turn(of_mode ? ja * i * i + ib * ja * i + once : ja * i * i + 2 * jb * i + once, m.P);
}

/* Numbers i of both lines of a pair */
static __device__ __forceinline__ C long_take(const LongArgs &g, long pair, int i)
{
  double v[2] = {0, 0};

  for (int e = 0; e < 2; e++) {
    const long line = g.first + 2 * pair + e;
    const int a = (int)(line % g.f.na), b = (int)(line / g.f.na), row = g.extra ? g.extraof[a] : -1;

    if (line >= g.nlines) continue;
    v[e] = long_get(g.from, g.single, a * g.f.sa + b * g.f.sb + i * g.f.s);
    if (row >= 0) v[e] += long_get(g.extra, g.single, row * g.extrald + b * g.extrab + i);
  }
  return {v[0], v[1]};
}

/* Number k of what is convolved. Not inlined: a thread asks for up to 32 of them */
static __device__ __noinline__ C long_number(const LongArgs &g, long pair, int k)
{
  const BCRCudaModes &m = g.p.m;
  const int n = m.n, M = g.p.M;

  if (g.spectrum) {
    const long long q = k < (m.periodic ? M / 2 : n + 2) ? k : k - M;

    return long_conjugate(long_turn((m.periodic ? 2 : m.ja) * q * q, m.P));
  }
  if (m.periodic && g.synthesis) {
    const int wave = 2 * k <= n ? k : k - M, j = wave < 0 ? -wave : wave;
    C c, s = {0, 0};

    if (2 * j > n) return {0, 0};
    c = long_take(g, pair, j ? 2 * j - 1 : 0);
    if (j && 2 * j < n) {
      s = long_take(g, pair, 2 * j);
      c = {0.5 * c.x, 0.5 * c.y};
      s = wave < 0 ? C{0.5 * s.y, -0.5 * s.x} : C{-0.5 * s.y, 0.5 * s.x}; /* times i, -i */
    } else if (wave < 0) return {0, 0};
    return (c + s) * long_chirp(m, 1, 0, wave);
  }
  if (k >= n) return {0, 0};
  const double w = !g.synthesis && ((k == 0 && m.half[0]) || (k == n - 1 && m.half[1])) ? 0.5 : 1;
  const C z = long_take(g, pair, k) * long_chirp(m, g.synthesis, 0, k);

  return {w * z.x, w * z.y};
}

/* v[p R1 + r], element t + p G + r R2 of a line, becomes v[p R2 + r], element t + p G + r R1. at: of an element in shared
   memory */
template <class L, typename At>
static __device__ __forceinline__ void long_transform(C *v, C *s, const double *root, int M, int t, At at)
{
#pragma unroll
  for (int p = 0; p < L::E / L::R1; p++) Dft<double, L::R1>::run(v + p * L::R1);
  __syncthreads();
#pragma unroll
  for (int p = 0; p < L::E / L::R1; p++) {
#pragma unroll
    for (int r = 0; r < L::R1; r++) s[at((t + p * L::G) * L::R1 + r)] = v[p * L::R1 + r];
  }
  __syncthreads();
#pragma unroll
  for (int p = 0; p < L::E / L::R2; p++) {
#pragma unroll
    for (int r = 0; r < L::R2; r++) {
      v[p * L::R2 + r] = s[at(t + p * L::G + r * L::R1)];
      if (r) v[p * L::R2 + r] = v[p * L::R2 + r] * load_root<1>(root, M / L::N * r * (t + p * L::G));
    }
    Dft<double, L::R2>::run(v + p * L::R2);
  }
}

/* Columns: there, from the lines, or back */
template <class L, int BACK>
__global__ void __launch_bounds__(LONG_THREADS) long_columns(const __grid_constant__ LongArgs g)
{
  extern __shared__ __align__(16) char sm[];
  constexpr int W = LONG_THREADS / L::G;
  const int column = threadIdx.x % W, t = threadIdx.x / W, N2 = g.p.N2, m2 = blockIdx.x * W + column;
  C *s = (C *)sm, *x = (C *)g.p.x + (size_t)blockIdx.y * g.p.M + m2, v[L::E];

#pragma unroll
  for (int p = 0; p < L::E / L::R1; p++) {
#pragma unroll
    for (int r = 0; r < L::R1; r++) {
      const int i = t + p * L::G + r * L::R2;

      if (BACK) v[p * L::R1 + r] = x[(size_t)i * N2] * load_root<1>(g.p.root, i * m2);
      else v[p * L::R1 + r] = long_number(g, blockIdx.y, i * N2 + m2);
    }
  }
  long_transform<L>(v, s, g.p.root, g.p.M, t, [&](int i) { return i * W + column; });
#pragma unroll
  for (int p = 0; p < L::E / L::R2; p++) {
#pragma unroll
    for (int r = 0; r < L::R2; r++) {
      const int k = t + p * L::G + r * L::R1;
      const C y = v[p * L::R2 + r];

      x[(size_t)k * N2] = BACK ? y : y * load_root<1>(g.p.root, k * m2);
    }
  }
}

/* Rows, there and back, conjugates; or there alone, to the spectrum */
template <class L, int SPECTRUM>
__global__ void __launch_bounds__(LONG_THREADS) long_rows(const __grid_constant__ LongArgs g)
{
  extern __shared__ __align__(16) char sm[];
  constexpr int W = LONG_THREADS / L::G, PITCH = L::N + L::N / 16;
  const int t = threadIdx.x % L::G, row = threadIdx.x / L::G;
  const ptrdiff_t at = (ptrdiff_t)(blockIdx.x * W + row) * L::N;
  C *s = (C *)sm + row * PITCH, *x = (C *)g.p.x + (size_t)blockIdx.y * g.p.M + at, v[L::E];
  auto padded = [](int i) { return i + i / 16; };

#pragma unroll
  for (int p = 0; p < L::E / L::R1; p++) {
#pragma unroll
    for (int r = 0; r < L::R1; r++) v[p * L::R1 + r] = x[t + p * L::G + r * L::R2];
  }
  long_transform<L>(v, s, g.p.root, g.p.M, t, padded);
#pragma unroll
  for (int p = 0; p < L::E / L::R2; p++) {
#pragma unroll
    for (int r = 0; r < L::R2; r++) {
      const int k = t + p * L::G + r * L::R1;
      C &y = v[p * L::R2 + r];

      if (SPECTRUM) ((C *)g.p.spectrum)[at + k] = {y.x / g.p.M, y.y / g.p.M};
      else y = long_conjugate(y * load_root<0>(g.p.spectrum, (int)at + k));
    }
  }
  if (SPECTRUM) return;
  long_transform<typename L::Other>(v, s, g.p.root, g.p.M, t, padded);
#pragma unroll
  for (int p = 0; p < L::E / L::R1; p++) {
#pragma unroll
    for (int r = 0; r < L::R1; r++) x[t + p * L::G + r * L::R2] = v[p * L::R1 + r];
  }
}

/* Sums of both signs to the lines */
__global__ void __launch_bounds__(LONG_THREADS) long_ends(const __grid_constant__ LongArgs g)
{
  const BCRCudaModes &m = g.p.m;
  const int o = blockIdx.x * LONG_THREADS + threadIdx.x, wave = m.periodic && !g.synthesis ? (o + 1) / 2 : o;
  const C *x = (const C *)g.p.x + (size_t)blockIdx.y * g.p.M;
  const bool cosine = m.periodic ? o == 0 || o % 2 : m.cosine;
  auto sum = [&](int k) { /* E of index or mode k, of either sign */
                          return long_chirp(m, !g.synthesis, 1, k) * long_conjugate(x[k < 0 ? k + g.p.M : k]);
  };

  if (o >= m.n) return;
  C e = sum(wave);

  if (!(m.periodic && g.synthesis)) {
    const C d = sum(m.periodic ? -wave : (g.synthesis ? -o - m.ib : -o - 2 * m.jb / m.ja));

    e = cosine ? C{0.5 * (e.x + d.x), 0.5 * (e.y + d.y)} : C{-0.5 * (e.y - d.y), 0.5 * (e.x - d.x)};
  }
  for (int q = 0; q < 2; q++) {
    const long line = g.first + 2 * blockIdx.y + q;
    const ptrdiff_t at = line % g.u.na * g.u.sa + line / g.u.na * g.u.sb + o * g.u.s;

    if (line >= g.nlines) continue;
    if (g.single) ((float *)g.to)[at] = (float)(q ? e.y : e.x);
    else ((double *)g.to)[at] = q ? e.y : e.x;
  }
}

__global__ void __launch_bounds__(LONG_THREADS) long_roots(int M, double *root)
{
  const int k = blockIdx.x * LONG_THREADS + threadIdx.x;
  double s, c;

  if (k >= M) return;
  sincospi(2. * k / M, &s, &c);
  root[2 * k] = c;
  root[2 * k + 1] = -s;
}

template <class L, int BACK>
static int columns_launch(const LongArgs &g, int pairs, cudaStream_t stream)
{
  constexpr int W = LONG_THREADS / L::G, bytes = L::N * W * (int)sizeof(C);
  const cudaError_t e =
    cudaFuncSetAttribute((const void *)long_columns<L, BACK>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);

  if (e != cudaSuccess) return (int)e;
  return bcr_launch(0, long_columns<L, BACK>, dim3((unsigned)(g.p.N2 / W), (unsigned)pairs), LONG_THREADS, bytes,
                    stream, g);
}
template <int BACK>
static int columns_any(const LongArgs &g, int pairs, cudaStream_t stream)
{
  if (g.p.N1 == 128) return columns_launch<Long128, BACK>(g, pairs, stream);
  if (g.p.N1 == 256) return columns_launch<Long256, BACK>(g, pairs, stream);
  return columns_launch<Long512, BACK>(g, pairs, stream);
}
template <class L, int SPECTRUM>
static int rows_launch(const LongArgs &g, int pairs, cudaStream_t stream)
{
  constexpr int W = LONG_THREADS / L::G, bytes = (L::N + L::N / 16) * W * (int)sizeof(C);
  const cudaError_t e =
    cudaFuncSetAttribute((const void *)long_rows<L, SPECTRUM>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);

  if (e != cudaSuccess) return (int)e;
  return bcr_launch(0, long_rows<L, SPECTRUM>, dim3((unsigned)(g.p.N1 / W), (unsigned)pairs), LONG_THREADS, bytes,
                    stream, g);
}
template <int SPECTRUM>
static int rows_any(const LongArgs &g, int pairs, cudaStream_t stream)
{
  return g.p.N2 == 256 ? rows_launch<Long256, SPECTRUM>(g, pairs, stream)
                       : rows_launch<Long512, SPECTRUM>(g, pairs, stream);
}

int BCRCudaLongPlan(const BCRCudaModes *modes, int shared, BCRCudaLong *plan)
{
  static const int lengths[][2] = {
    {128, 256},
    {256, 256},
    {256, 512},
    {512, 512}
  };

  memset(plan, 0, sizeof(*plan));
  plan->m = *modes;
  for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
    const int M = lengths[i][0] * lengths[i][1];

    if (M < 3 * modes->n + 4 || LONG_SHARED > shared) continue;
    plan->M = M;
    plan->N1 = lengths[i][0];
    plan->N2 = lengths[i][1];
    plan->pairs = LONG_BYTES / (M * (int)sizeof(C));
    return 1;
  }
  return 0;
}

int BCRCudaLongTables(BCRStream stream, const BCRCudaLong *plan)
{
  LongArgs g;
  int e;

  memset(&g, 0, sizeof(g));
  g.p = *plan;
  g.spectrum = 1;
  e = bcr_launch(0, long_roots, dim3((unsigned)(plan->M / LONG_THREADS)), LONG_THREADS, 0, bcr_stream(stream), plan->M,
                 plan->root);
  if (!e) e = columns_any<0>(g, 1, bcr_stream(stream));
  return e ? e : rows_any<1>(g, 1, bcr_stream(stream));
}

int BCRCudaLongApply(BCRStream stream, const BCRCudaLong *plan, int synthesis, int single, const BCRCudaLines *fl,
                     const void *f, const BCRCudaLines *ul, void *u, const void *extra, const int *extraof,
                     ptrdiff_t extrald, ptrdiff_t extrab)
{
  LongArgs g;
  int e = 0;

  memset(&g, 0, sizeof(g));
  g.p = *plan;
  g.f = *fl;
  g.u = *ul;
  g.from = f;
  g.to = u;
  g.extra = extra;
  g.extraof = extraof;
  g.extrald = extrald;
  g.extrab = extrab;
  g.synthesis = synthesis != 0;
  g.single = single != 0;
  g.nlines = (long)fl->na * fl->nb;
  for (; g.first < g.nlines && !e; g.first += 2 * plan->pairs) {
    const long left = (g.nlines - g.first + 1) / 2;
    const int pairs = (int)(left < plan->pairs ? left : plan->pairs);

    e = columns_any<0>(g, pairs, bcr_stream(stream));
    if (!e) e = rows_any<0>(g, pairs, bcr_stream(stream));
    if (!e) e = columns_any<1>(g, pairs, bcr_stream(stream));
    if (!e)
      e = bcr_launch(0, long_ends, dim3((unsigned)((plan->m.n + LONG_THREADS - 1) / LONG_THREADS), (unsigned)pairs),
                     LONG_THREADS, 0, bcr_stream(stream), g);
  }
  return e;
}
