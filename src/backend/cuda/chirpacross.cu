/*
  Transforms of any length along an axis across contiguous columns, as one convolution each (Bluestein), a pair of columns
  as the parts of complex numbers z_j: periodic lines, between two cell-centred ends of a kind, and between Dirichlet ends.

  With j k = (j^2 + k^2 - (k - j)^2)/2 the transform of length P is

    Z_k = c_k sum_j (c_j z_j) q_(k - j),   c_j = e^(-pi i j^2/P),   q_m = e^(pi i m^2/P),

  a cyclic convolution of length M >= 2 P - 1, M = 512 or 1024: a Fourier transform, times that of q, and transformed
  again. Both have two passes, of radix M/32 and 32, in 32 numbers that a thread has in registers; the first half of them
  is all that comes (numbers j >= M/2 are zero), and all that is asked for. The same matrix leads forth and back.

  Periodic and cell-centred lines become modes as in rowfft.cu, whose orders of numbers these are, but that place k is wave
  k. Between Dirichlet ends, P = n + 1, y_j = sin(pi j/P) (x_j + x_(P-j)) + (x_j - x_(P-j))/2 has a transform whose odd
  part is the sums with sines S_(2 k), and whose even part is S_(2 k + 1) - S_(2 k - 1): odd ones are running sums. These
  begin at both ends, S_1 and S_(P-1) or S_(P-2), so that their rounding errors come from a quarter of P at most.
*/
#include "dft32.cuh"
#include "transforms.h"
#include <cmath>
#include <cstdlib>
#include <cstring>

enum {
  WAVES,
  CELLS,
  SINES
};

/* y = transform of R numbers, of which x has the first half and the others are zero */
template <typename T, int R>
static __device__ __forceinline__ void dft_of_half(const Cplx<T> *x, Cplx<T> *y)
{
  Cplx<T> e[R / 2], o[R / 2];

#pragma unroll
  for (int r = 0; r < R / 2; r++) {
    e[r] = x[r];
    o[r] = r ? x[r] * Cplx<T>{(T)turns<R>.c[r], -(T)turns<R>.s[r]} : x[r];
  }
  Dft<T, R / 2>::run(e);
  Dft<T, R / 2>::run(o);
#pragma unroll
  for (int r = 0; r < R / 2; r++) {
    y[2 * r] = e[r];
    y[2 * r + 1] = o[r];
  }
}
/* the first half of the transform of x */
template <typename T, int R>
static __device__ __forceinline__ void dft_to_half(const Cplx<T> *x, Cplx<T> *y)
{
  Cplx<T> e[R / 2], o[R / 2];

#pragma unroll
  for (int r = 0; r < R / 2; r++) {
    e[r] = x[2 * r];
    o[r] = x[2 * r + 1];
  }
  Dft<T, R / 2>::run(e);
  Dft<T, R / 2>::run(o);
#pragma unroll
  for (int r = 0; r < R / 2; r++) y[r] = r ? e[r] + o[r] * Cplx<T>{(T)turns<R>.c[r], -(T)turns<R>.s[r]} : e[r] + o[r];
}

/* M: length of the convolution. A block has some teams of threads, which share its tables and nothing else, not even
   barriers; a team W pairs of columns at a time, G threads each */
template <typename T_, int M_>
struct ChirpAcross {
  typedef T_ T;
  static constexpr int M = M_, G = M / 32, W = (sizeof(T) == sizeof(double) ? 4096 : 8192) / M, THREADS = W * G,
                       BUTTERFLIES = 32 / G, HALF = G / 2; /* of radix G a thread; numbers of each */
  /* powers 1, 2, 4, ... of roots: of G places and radix 32, of 32 places and radix G */
  static constexpr int FIRST = 5 * G, SECOND = (G == 32 ? 5 : 4) * 32;
  /* running sums have G runs, half of them from either end; every fourth begins with a sum of its own, ANCHORS of an end */
  static constexpr int ANCHORS = G / 8 - 1;
  /* complex numbers of a team in shared memory: what is exchanged, first sums, columns that come */
  static constexpr int FIELD = (M + 32) * W, KEPT = 2 * ANCHORS * W, NEXT = M / 2 * W, TEAM = FIELD + KEPT + NEXT;

  static size_t bytes(const BCRCudaChirpAcross &p, int teams)
  {
    return ((size_t)teams * TEAM + p.nw) * sizeof(Cplx<T>);
  }
  static __device__ __forceinline__ void wait(int team) /* of all its threads */
  {
    asm volatile("bar.sync %0, %1;" ::"r"(team + 1), "n"(THREADS) : "memory");
  }
};
enum {
  ACROSS_TEAMS = 2 /* with the registers of a multiprocessor */
};

struct ChirpAcrossArgs {
  BCRCudaChirpAcross p;
  int nx, back, teams;
  int across;               /* tiles of columns of a plane */
  long tiles;               /* and of all planes */
  ptrdiff_t fs, fb, us, ub; /* along the lines, from plane to plane */
};

template <typename T>
static __device__ __forceinline__ Cplx<T> across_i(Cplx<T> a)
{
  return {-a.y, a.x};
}
template <typename T>
static __device__ __forceinline__ Cplx<T> across_conjugate(Cplx<T> a)
{
  return {a.x, -a.y};
}

/* x[r], r < R, times the r-th power of a root: from those of 1, 2, 4, ..., `apart` apart */
template <typename T, int R>
static __device__ __forceinline__ void across_turn(Cplx<T> *x, const Cplx<T> *roots, int apart)
{
  Cplx<T> w[R];

#pragma unroll
  for (int r = 1; r < R; r++) {
    const int q = r >= 16 ? 4 : r >= 8 ? 3 : r >= 4 ? 2 : r >= 2 ? 1 : 0, h = 1 << q;

    w[r] = r == h ? roots[q * apart] : w[h] * w[r - h];
    x[r] = x[r] * w[r];
  }
}

/* Numbers t + p G + 32 r of thread t at v[p HALF + r] become those of the conjugate of the convolution. s: no thread of the
   team uses it any more */
template <class S>
static __device__ __forceinline__ void across_convolve(Cplx<typename S::T> *v, Cplx<typename S::T> *s,
                                                       const Cplx<typename S::T> *roots,
                                                       const Cplx<typename S::T> *spectrum, int team, int t)
{
  typedef typename S::T T;
  constexpr int G = S::G, W = S::W;
  Cplx<T> x[32];

#pragma unroll
  for (int p = 0; p < S::BUTTERFLIES; p++) dft_of_half<T, G>(v + p * S::HALF, x + p * G);
#pragma unroll
  for (int p = 0; p < S::BUTTERFLIES; p++) {
#pragma unroll
    for (int r = 0; r < G; r++) s[((t + p * G) * (G + 1) + r) * W] = x[p * G + r];
  }
  S::wait(team);
#pragma unroll
  for (int r = 0; r < 32; r++) x[r] = s[(t + r * (G + 1)) * W];
  across_turn<T, 32>(x, roots + t, G);
  Dft<T, 32>::run(x);
#pragma unroll
  for (int r = 0; r < 32; r++) x[r] = across_conjugate(x[r] * spectrum[r < 16 ? t + r * G : S::M - t - r * G]);
  Dft<T, 32>::run(x);
  S::wait(team);
#pragma unroll
  for (int r = 0; r < 32; r++) s[(t * 33 + r) * W] = x[r];
  S::wait(team);
#pragma unroll
  for (int p = 0; p < S::BUTTERFLIES; p++) {
    const int j = t + p * G;

#pragma unroll
    for (int r = 0; r < G; r++) x[r] = s[(j + r * 33) * W];
    across_turn<T, G>(x, roots + S::FIRST + j, 32);
    dft_to_half<T, G>(x, v + p * S::HALF);
  }
}

/* Number of a running sum from either end, m, is that with sines of this wave */
static __device__ __forceinline__ int across_wave(int P, int top, int m)
{
  return 2 * (top ? P / 2 - 1 - m : m) + 1;
}
static __device__ __forceinline__ int across_each(int P, int top, int runs)
{
  return ((top ? P / 2 - P / 4 : P / 4) + runs - 1) / runs;
}

/* Twice the sums that runs begin with (kept[a W]), from sums x_i + x_(P - i): those that thread t has come as add(m, x) */
template <class S>
struct AcrossAnchors {
  typedef typename S::T T;
  static constexpr int A = 2 * S::ANCHORS;
  int at[A], step[A], P;
  Cplx<T> sum[A];

  __device__ __forceinline__ int wave(int a) const
  {
    const int top = a / S::ANCHORS;

    return across_wave(P, top, 4 * (a % S::ANCHORS + 1) * across_each(P, top, S::G / 2) - 1);
  }
  __device__ __forceinline__ AcrossAnchors(int P_) : P(P_)
  {
#pragma unroll
    for (int a = 0; a < A; a++) {
      sum[a] = {0, 0};
      at[a] = 0;
      step[a] = 32 * wave(a) % (2 * P);
    }
  }
  __device__ __forceinline__ void begin(int i) /* the next number is i, then those 32 apart */
  {
#pragma unroll
    for (int a = 0; a < A; a++) at[a] = i * wave(a) % (2 * P);
  }
  __device__ __forceinline__ void add(int i, Cplx<T> x, const Cplx<T> *sines)
  {
    const T w = 2 * i == P ? (T)1 : (T)2;

#pragma unroll
    for (int a = 0; a < A; a++) {
      const T sine = sines[at[a] < P ? at[a] : at[a] - P].x, c = at[a] < P ? w * sine : -w * sine;

      sum[a].x += c * x.x;
      sum[a].y += c * x.y;
      at[a] += step[a];
      if (at[a] >= 2 * P) at[a] -= 2 * P;
    }
  }
  /* of all threads */
  __device__ __forceinline__ void keep(Cplx<T> *s, Cplx<T> *kept, int team, int t) const
  {
#pragma unroll
    for (int a = 0; a < A; a++) s[(t * A + a) * S::W] = sum[a];
    S::wait(team);
    if (t >= A) return;
    double x = 0, y = 0;

    for (int q = 0; q < S::G; q++) {
      x += s[(q * A + t) * S::W].x;
      y += s[(q * A + t) * S::W].y;
    }
    kept[t * S::W] = {(T)x, (T)y};
  }
};

/* Sums with sines of odd waves, twice each, from F_k = Z_k + Z_(P - k) at s[k W]: runs of each of G threads, half of them
   from either end */
template <class S, typename Put>
static __device__ __forceinline__ void across_runs(int P, Cplx<typename S::T> *s, const Cplx<typename S::T> *kept,
                                                   int team, int t, Put put)
{
  typedef typename S::T T;
  constexpr int R = S::G / 2, W = S::W;
  const int K = P / 2, top = t / R, run = t % R, n = top ? K - K / 2 : K / 2, each = across_each(P, top, R),
            end = min((run + 1) * each, n);
  Cplx<T> *totals = s + (P / 2 + 1) * W;
  double a = 0, b = 0;
  auto add = [&](int m) {
    const Cplx<T> f = s[(top ? K - m : m) * W];
    const double w = m ? (top ? -1 : 1) : (top ? (P % 2 ? -1 : -0.5) : 0.5);

    a += w * f.x;
    b += w * f.y;
  };

  for (int m = run * each; m < end; m++) add(m);
  totals[t * W] = {(T)a, (T)b};
  S::wait(team);
  a = b = 0;
  if (run / 4) {
    const Cplx<T> begin = kept[(top * S::ANCHORS + run / 4 - 1) * W];

    a = begin.x;
    b = begin.y;
  }
  for (int q = top * R + run / 4 * 4; q < t; q++) {
    a += totals[q * W].x;
    b += totals[q * W].y;
  }
  for (int m = run * each; m < end; m++) {
    add(m);
    put(2 * (top ? K - 1 - m : m), Cplx<T>{(T)a, (T)b});
  }
}

/* A number of a column on its way, or 0 */
template <typename T>
static __device__ __forceinline__ void across_fetch(T *to, const T *from, bool here)
{
  const unsigned s = (unsigned)__cvta_generic_to_shared(to);

  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(s), "l"(from), "n"((int)sizeof(T)),
               "r"(here ? (int)sizeof(T) : 0)
               : "memory");
}

template <class S>
__global__ void __launch_bounds__(ACROSS_TEAMS *S::THREADS, 1)
  chirp_across(const __grid_constant__ ChirpAcrossArgs g, const typename S::T *from, typename S::T *to)
{
  typedef typename S::T T;
  typedef Cplx<T> C;
  constexpr int W = S::W, G = S::G, E = S::BUTTERFLIES * S::HALF;
  extern __shared__ __align__(16) char sm[];
  const BCRCudaChirpAcross &p = g.p;
  const int team = threadIdx.x / S::THREADS, tid = threadIdx.x % S::THREADS, pair = tid % W, t = tid / W, n = p.n,
            P = p.P, kind = p.kind;
  C *table = (C *)sm + g.teams * S::TEAM, *s = (C *)sm + team * S::TEAM + pair, *kept = s + S::FIELD,
    *next = kept + S::KEPT, v[E];
  const C *chirp = table + p.chirp, *extra = table + p.extra;
  const long step = (long)gridDim.x * g.teams;
  T *u = NULL;
  bool here = false, two = false;
  /* columns of the pair are parts of complex numbers, those between cell-centred ends in the order of places */
  auto fetch = [&](long tile) {
    const int column = tid % (2 * W), x = 2 * W * (int)(tile % g.across) + column;
    const T *f = from + tile / g.across * g.fb + min(x, g.nx - 1);
    T *columns = (T *)(next - pair + column % W) + column / W;

    for (int i = tid / (2 * W); i < n; i += S::THREADS / (2 * W)) {
      const int at = kind != CELLS || g.back ? i : (i % 2 ? n - 1 - i / 2 : i / 2);

      across_fetch(columns + 2 * W * at, f + i * g.fs, x < g.nx);
    }
  };
  auto put = [&](int i, C c) {
    T *a = u + i * g.us;

    if (here) a[0] = c.x;
    if (two) a[W] = c.y;
  };
  auto sign = [&](int i, C c) { return kind == CELLS && p.odd && 2 * i >= n ? C{-c.x, -c.y} : c; };
  auto place = [&](int m) { return t + m / S::HALF * G + m % S::HALF * 32; };
  long tile = (long)blockIdx.x * g.teams + team;

  for (int i = threadIdx.x; i < p.nw; i += g.teams * S::THREADS) table[i] = load_root<1>((const T *)p.w, i);
  __syncthreads();
  bcr_wait_before();
  if (tile < g.tiles) fetch(tile);
  for (; tile < g.tiles; tile += step) {
    const int x0 = 2 * W * (int)(tile % g.across) + pair;

    here = x0 < g.nx;
    two = x0 + W < g.nx;
    u = to + tile / g.across * g.ub + x0;
    asm volatile("cp.async.wait_all;" ::: "memory");
    S::wait(team);
    if (kind == SINES) {
      AcrossAnchors<S> anchors(P);

#pragma unroll
      for (int m = 0; m < E; m++) {
        const int i = place(m), j = min(i, P - 1);
        const C a = next[max(j - 1, 0) * W], b = next[min(P - 1 - j, n - 1) * W], sum = a + b;
        const T sine = extra[j].x;

        if (m % S::HALF == 0) anchors.begin(i);
        if (2 * i <= P) anchors.add(i, i ? sum : C{0, 0}, extra);
        v[m] = C{sine * sum.x + (T)0.5 * (a.x - b.x), sine * sum.y + (T)0.5 * (a.y - b.y)} * chirp[j];
        if (i == 0 || i >= P) v[m] = {0, 0};
      }
      anchors.keep(s, kept, team, t);
    } else {
#pragma unroll
      for (int m = 0; m < E; m++) {
        const int i = place(m), j = min(i, P - 1);
        const C a = next[j * W], b = next[min(n - j, n - 1) * W];

        if (!g.back) v[m] = sign(i, a);
        else if (i == 0 || (kind == WAVES && 2 * i == n)) v[m] = a + a;
        else if (kind == CELLS) v[m] = extra[j] * (a + across_i(b));
        else v[m] = 2 * i > n ? b - across_i(a) : a + across_i(b);
        v[m] = i < P ? v[m] * chirp[j] : C{0, 0};
      }
    }
    S::wait(team);
    if (tile + step < g.tiles) fetch(tile + step);
    across_convolve<S>(v, s, table, table + p.spectrum, team, t);
#pragma unroll
    for (int m = 0; m < E; m++) v[m] = across_conjugate(v[m]) * chirp[min(place(m), P - 1)];
    if (kind != SINES && g.back) {
#pragma unroll
      for (int m = 0; m < E; m++) {
        const int i = place(m);

        if (i < P) put(kind != CELLS ? i : (2 * i < n ? 2 * i : 2 * (n - 1 - i) + 1), sign(i, v[m]));
      }
    } else {
      S::wait(team);
#pragma unroll
      for (int m = 0; m < E; m++)
        if (place(m) < P) s[place(m) * W] = v[m];
      S::wait(team);
#pragma unroll
      for (int m = 0; m < E; m++) {
        const int i = place(m);

        if (i >= P) continue;
        const C b = s[(i ? P - i : 0) * W];

        if (kind == SINES) {
          if (i && 2 * i < P) put(2 * i - 1, across_i(v[m] - b));
          v[m] = v[m] + b;
        } else if (kind == CELLS) {
          put(i, extra[i] * v[m] + across_conjugate(extra[i]) * b);
        } else {
          put(i, 2 * i > n ? across_i(b - v[m]) : v[m] + b);
        }
      }
      if (kind == SINES) {
        S::wait(team);
#pragma unroll
        for (int m = 0; m < E; m++)
          if (2 * place(m) <= P) s[place(m) * W] = v[m];
        S::wait(team);
        across_runs<S>(P, s, kept, team, t, put);
      }
    }
  }
  bcr_go_after();
}

#define ACROSS_TYPE(T, M, ...) \
  do { \
    if ((M) == 512) { \
      typedef ChirpAcross<T, 512> S; \
      __VA_ARGS__; \
    } else { \
      typedef ChirpAcross<T, 1024> S; \
      __VA_ARGS__; \
    } \
  } while (0)

/* e^(-pi i m/P) */
static void across_root(long long m, int P, double *w)
{
  const double a = 3.14159265358979323846 * (double)(m % (2 * P)) / P;

  w[0] = cos(a);
  w[1] = -sin(a);
}

int BCRCudaChirpAcrossPlan(int n, BCREnd end, int single, int shared, BCRCudaChirpAcross *plan, double *w, int *modes)
{
  const int periodic = BCREndIsPeriodic(end);
  const BCREndMirror mirror = BCREndGetRule(end).mirror;
  BCRCudaChirpAcross p;
  double *q;

  memset(&p, 0, sizeof(p));
  if (!periodic && mirror.distance != 1 && mirror.sign > 0) return 0;
  p.kind = periodic ? WAVES : (mirror.distance == 1 ? CELLS : SINES);
  p.odd = mirror.sign < 0;
  p.n = n;
  p.P = n + (p.kind == SINES);
  p.M = p.P <= 256 ? 512 : 1024;
  if (n < 2 || 2 * p.P > p.M) return 0;
  p.spectrum = 5 * (p.M / 32) + (p.M == 1024 ? 5 : 4) * 32; /* powers of roots are first */
  p.chirp = p.spectrum + p.M / 2 + 1;                       /* number M - k is number k */
  p.extra = p.chirp + p.P;
  p.nw = p.extra + p.P;
  BCR_CUDA_TYPE(single, ACROSS_TYPE(T, p.M, if (S::bytes(p, 1) > (size_t)shared) return 0));
  *plan = p;
  for (int k = 0; k < n && modes; k++) {
    if (periodic) modes[k] = 2 * k > n ? 2 * (n - k) : (k ? 2 * k - 1 : 0);
    else modes[k] = p.kind == CELLS && p.odd ? n - 1 - k : k;
    modes[n + k] = 1;
  }
  if (!w) return 1;
  for (int q = 0; q < 5; q++) {
    for (int k = 0; k < p.M / 32; k++) across_root(2 * (k << q), p.M, w + 2 * (q * (p.M / 32) + k));
    for (int k = 0; k < 32 && (q < 4 || p.M == 1024); k++)
      across_root(2 * (k << q), p.M, w + 2 * (5 * (p.M / 32) + q * 32 + k));
  }
  q = (double *)malloc(2 * ((size_t)p.P + p.M) * sizeof(double));
  if (!q) return 0;
  for (int m = 0; m < p.M; m++) across_root(2 * m, p.M, q + 2 * (p.P + m));
  for (int j = 0; j < p.P; j++) {
    across_root((long long)j * j, p.P, w + 2 * (p.chirp + j));
    q[2 * j] = w[2 * (p.chirp + j)];
    q[2 * j + 1] = -w[2 * (p.chirp + j) + 1];
    if (p.kind == SINES) {
      double e[2];

      across_root(j, p.P, e);
      w[2 * (p.extra + j)] = -e[1];
      w[2 * (p.extra + j) + 1] = 0;
    } else {
      const double a = 3.14159265358979323846 * j / (2. * n);

      w[2 * (p.extra + j)] = cos(a);
      w[2 * (p.extra + j) + 1] = -sin(a);
    }
  }
  for (int k = 0; k <= p.M / 2; k++) { /* q is even; what transforms there and back multiply by */
    double x = q[0], y = q[1];

    for (int j = 1; j < p.P; j++) {
      const double c = 2 * q[2 * (p.P + (j * k & (p.M - 1)))];

      x += c * q[2 * j];
      y += c * q[2 * j + 1];
    }
    w[2 * (p.spectrum + k)] = x / p.M;
    w[2 * (p.spectrum + k) + 1] = y / p.M;
  }
  free(q);
  return 1;
}

template <class S>
static int across_launch(ChirpAcrossArgs *g, int nb, const void *f, void *u, cudaStream_t stream)
{
  typedef typename S::T T;
  int device, sms, shared;
  size_t bytes;
  long blocks;
  cudaError_t e = cudaGetDevice(&device);

  if (e == cudaSuccess) e = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
  if (e == cudaSuccess) e = cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (e != cudaSuccess) return (int)e;
  g->teams = ACROSS_TEAMS;
  while (g->teams > 1 && S::bytes(g->p, g->teams) > (size_t)shared) g->teams--;
  bytes = S::bytes(g->p, g->teams);
  e = cudaFuncSetAttribute((const void *)chirp_across<S>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
  if (e != cudaSuccess) return (int)e;
  g->across = (g->nx + 2 * S::W - 1) / (2 * S::W);
  g->tiles = (long)g->across * nb;
  blocks = (g->tiles + g->teams - 1) / g->teams;
  return bcr_launch(1, chirp_across<S>, dim3((unsigned)(blocks < sms ? blocks : sms)), g->teams * S::THREADS, bytes,
                    stream, *g, (const T *)f, (T *)u);
}

int BCRCudaChirpAcrossApply(BCRStream stream, const BCRCudaChirpAcross *plan, int back, int single,
                            const BCRCudaLines *fl, const void *f, const BCRCudaLines *ul, void *u)
{
  ChirpAcrossArgs g;
  int error = 0;

  g.p = *plan;
  g.nx = fl->na;
  g.back = back != 0;
  g.fs = fl->s;
  g.fb = fl->sb;
  g.us = ul->s;
  g.ub = ul->sb;
  if (fl->na < 1 || fl->nb < 1) return 0;
  BCR_CUDA_TYPE(single, ACROSS_TYPE(T, g.p.M, error = across_launch<S>(&g, fl->nb, f, u, bcr_stream(stream))));
  return error;
}
