/*
  See cuda_poisson_kernels.h. N is n between periodic and cell-centred (c) ends, n + 1 and n - 1 between Dirichlet (d)
  and node-centred Neumann (n) ones: each is a real transform of N points, never of an extension.

  c: v_j = f_2j, v_{n-1-j} = f_{2j+1}, V = DFT v along all such axes at once, and of each, with w = exp(-i pi/2n), modes
     C_k = w^k V_k + w^-k V_{n-k}, C_{n-k} = i (w^k V_k - w^-k V_{n-k}); along x, of which R2C stores half, w^k V_k has
     both modes as its parts.
  d: y_j = sin(pi j/N) (f_j + f_{N-j}) + (f_j - f_{N-j})/2, Y = DFT y: S_2k = -Im Y_k, S_{2k+1} = S_{2k-1} + Re Y_k,
     S_1 = Re Y_0/2.
  n: y_j = (f_j + f_{N-j})/2 - sin(pi j/N) (f_j - f_{N-j}): C_2k = Re Y_k, C_{2k+1} = C_{2k-1} - Im Y_k, and the sum of
     all odd ones (half of C_N) is N/4 (f_0 - f_N).
  d and n are their own inverses times 2/N. Their rows have places 0 to N - 1 for y; place N of n has f_0 - f_N.

  Lines along z: 2 + s = mu + 1/mu, and (1 - mu S) y = f, (1 - mu S') u = mu y, by tables of mu for each mode of a
  plane: no factors of rows are read. y before the first row is a sum of powers of mu over the extension of f beyond that end,
  as long as they count; u behind the last one follows from the end there.
*/
#include "cuda_poisson_kernels.h"
#include "cuda_fft.h"
#include <cmath>
#include <cstddef>
#include <vector>

enum {
  THREADS = 128,
  ROWS = 512 /* threads of a block that has whole rows */
};

template <typename T>
struct alignas(2 * sizeof(T)) Complex {
  T x, y;
};
template <typename T>
static __device__ Complex<T> times(Complex<T> a, Complex<T> b)
{
  return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}
template <typename T>
static __device__ Complex<T> conj(Complex<T> a)
{
  return {a.x, -a.y};
}
/* C_k and C_{n-k} in place of V_k and V_{n-k}, and back, w = w^k */
template <typename T>
static __device__ void modes(Complex<T> w, Complex<T> &a, Complex<T> &b)
{
  a = times(w, a);
  b = times(conj(w), b);
  const Complex<T> c = {a.x + b.x, a.y + b.y};

  b = {b.y - a.y, a.x - b.x};
  a = c;
}
template <typename T>
static __device__ void modes_back(Complex<T> w, Complex<T> &a, Complex<T> &b)
{
  const Complex<T> c = {(a.x + b.y) / 2, (a.y - b.x) / 2}, d = {(a.x - b.y) / 2, (a.y + b.x) / 2};

  a = times(conj(w), c);
  b = times(w, d);
}

/* Of one axis: n unknowns in N, eigenvalues of modes, and w^k (c) or sin(pi k/N) in its .x (d, n) */
template <typename T>
struct Axis {
  int n, N, low; /* d: places 1 to N - 1 of 0 to N, else from 0 */
  char end;
  T *lambda;
  Complex<T> *w;
};

/* c: even places ahead, odd ones behind in reverse, along axes that are c; out: and back */
template <typename T>
static __device__ int cell(const Axis<T> &x, int j)
{
  return x.end != 'c' ? j : j % 2 ? x.n - 1 - j / 2 : j / 2;
}
template <typename T>
static __global__ void permute(Axis<T> x, Axis<T> y, Axis<T> z, bool out, const T *from, T *to)
{
  const int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);

  if (i >= x.n) return;
  for (size_t row = blockIdx.y; row < (size_t)y.n * z.n; row += gridDim.y) {
    const size_t plain = row * x.n, there = ((size_t)cell(z, (int)(row / y.n)) * y.n + cell(y, (int)(row % y.n))) * x.n;

    for (int j = i; j < min(i + 2, x.n); j++) {
      if (out) to[plain + j] = from[there + cell(x, j)];
      else to[there + cell(x, j)] = from[plain + j];
    }
  }
}

/* modes of periodic or cell-centred axes divided by their eigenvalues */
template <typename T>
static __global__ void divide(Axis<T> x, Axis<T> y, Axis<T> z, T scale, Complex<T> *V)
{
  const int half = x.n / 2 + 1, kx = blockIdx.x * blockDim.x + threadIdx.x, ky = blockIdx.y, kz = blockIdx.z;
  const int my = (y.n - ky) % y.n, mz = (z.n - kz) % z.n, ny = y.end == 'c' ? 2 : 1, nz = z.end == 'c' ? 2 : 1;
  Complex<T> v[2][2];

  if (kx >= half) return;
  for (int b = 0; b < nz; b++)
    for (int a = 0; a < ny; a++) v[b][a] = V[((size_t)(b ? mz : kz) * y.n + (a ? my : ky)) * half + kx];
  for (int b = 0; b < nz && ny == 2; b++) modes(y.w[ky], v[b][0], v[b][1]);
  for (int a = 0; a < ny && nz == 2; a++) modes(z.w[kz], v[0][a], v[1][a]);
  for (int b = 0; b < nz; b++)
    for (int a = 0; a < ny; a++) {
      const T s = y.lambda[a ? my : ky] + z.lambda[b ? mz : kz];
      const T d[2] = {x.lambda[kx] + s, x.lambda[x.end == 'c' ? (x.n - kx) % x.n : kx] + s};
      Complex<T> c = x.end == 'c' ? times(x.w[kx], v[b][a]) : v[b][a];

      c = {d[0] > 0 ? scale * c.x / d[0] : 0, d[1] > 0 ? scale * c.y / d[1] : 0};
      v[b][a] = x.end == 'c' ? times(conj(x.w[kx]), c) : c;
    }
  for (int a = 0; a < ny && nz == 2; a++) modes_back(z.w[kz], v[0][a], v[1][a]);
  for (int b = 0; b < nz && ny == 2; b++) modes_back(y.w[ky], v[b][0], v[b][1]);
  for (int b = 0; b < nz; b++)
    for (int a = 0; a < ny; a++) V[((size_t)(b ? mz : kz) * y.n + (a ? my : ky)) * half + kx] = v[b][a];
}

/* y_j and y_{N-j} of f_j and f_{N-j}, s = sin(pi j/N) */
template <typename T>
static __device__ void fold(char end, T s, T &a, T &b)
{
  const T sum = a + b, difference = a - b;

  a = end == 'd' ? s * sum + difference / 2 : sum / 2 - s * difference;
  b = end == 'd' ? s * sum - difference / 2 : sum / 2 + s * difference;
}

/* The same into a row; place 0 of d is zero, and N of n has f_0 - f_N */
template <typename T>
static __device__ void fold_store(const Axis<T> &x, int j, T a, T b, T *to)
{
  const T difference = a - b;

  fold(x.end, x.w[j].x, a, b);
  to[j] = a;
  to[x.N - j] = j ? b : difference;
  if (j == 1 && x.end == 'd') to[0] = 0;
}

template <typename T>
static __global__ void fold_rows(Axis<T> x, size_t rows, int length, const T *f, T *to)
{
  const int j = x.low + blockIdx.x * blockDim.x + threadIdx.x;

  if (2 * j > x.N) return;
  for (size_t row = blockIdx.y; row < rows; row += gridDim.y) {
    const T *r = f + row * x.n - x.low;

    fold_store(x, j, r[j], r[x.N - j], to + row * length);
  }
}

enum Then {
  OUT,    /* modes, or the solution, in rows of n */
  AGAIN,  /* divided by eigenvalues and folded for the transform back */
  ACROSS, /* folded for the transform of the other axis of the plane, in rows along it */
};

/* Modes of rows along x, in shared memory, and what follows. Rows are those along y of planes z, with ACROSS pairs j
   and N - j of them. A warp sums up a part of a row */
template <typename T, Then THEN>
static __global__ void __launch_bounds__(ROWS)
  unfold(Axis<T> x, Axis<T> y, int r, int in, const T *before, int out, T scale, const Complex<T> *V, T *to)
{
  extern __shared__ double shared[];
  __shared__ T carries[ROWS / 32], totals[ROWS / 32];
  T *tile = (T *)shared;
  const int pitch = (x.N + 1) | 1, half = x.N / 2 + 1, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int rows = THEN == ACROSS ? 2 * r : r, parts = ROWS / 32 / rows, length = (half + parts - 1) / parts;
  const int first = (THEN == ACROSS ? y.low : 0) + blockIdx.x * r;
  const int last = THEN == ACROSS ? y.N / 2 : y.n - 1; /* of rows that are first of a pair */
  const int t = warp / parts, k0 = warp % parts * length, k1 = min(half, k0 + length), pair = first + t % r;
  const int j = THEN == ACROSS ? (t < r ? pair : y.N - pair) - y.low : pair;
  const bool mine = t < rows && pair <= last;
  const size_t at = (size_t)blockIdx.y * y.n + j;
  T *row = tile + (size_t)t * pitch, carry = 0, total = 0;

  for (int k = k0 + lane; mine && k - lane < k1; k += 4 * 32) {
    Complex<T> v[4];

#pragma unroll
    for (int q = 0; q < 4; q++) v[q] = k + 32 * q < k1 ? V[at * half + k + 32 * q] : Complex<T>{0, 0};
#pragma unroll
    for (int q = 0; q < 4; q++) {
      const int m = 2 * (k + 32 * q);
      T odd = x.end == 'd' ? (m ? v[q].x : v[q].x / 2) : -v[q].y;

      for (int d = 1; d < 32; d *= 2) {
        const T other = __shfl_up_sync(0xffffffff, odd, d);

        if (lane >= d) odd += other;
      }
      odd += carry;
      carry = __shfl_sync(0xffffffff, odd, 31);
      if (k + 32 * q >= k1) continue;
      row[m] = x.end == 'd' ? -v[q].y : v[q].x;
      if (m + 1 > x.N) continue;
      row[m + 1] = odd;
      total += m + 1 == x.N ? odd / 2 : odd;
    }
  }
  for (int d = 16; d > 0; d /= 2) total += __shfl_xor_sync(0xffffffff, total, d);
  if (lane == 0) {
    carries[warp] = carry;
    totals[warp] = total;
  }
  __syncthreads();
  if (mine && (parts > 1 || x.end == 'n')) {
    T sum = 0, all = 0, add = 0;

    for (int p = 0; p < parts; p++) { /* what came before parts, which all of their odd modes have, half of mode N */
      const int from = p * length, end = min(half, from + length);
      const T odd = end <= from          ? 0
                    : 2 * end - 1 > x.N  ? (T)(end - from - 1)
                    : 2 * end - 1 == x.N ? (T)(end - from) - (T)0.5
                                         : (T)(end - from);

      if (p == warp % parts) add = sum;
      all += totals[t * parts + p] + sum * odd;
      sum += carries[t * parts + p];
    }
    if (x.end == 'n') add += before[at * in + x.N] / 2 - 2 * all / x.N;
    for (int k = k0 + lane; k < k1 && 2 * k + 1 <= x.N; k += 32) row[2 * k + 1] += add;
  }
  __syncthreads();
  if (THEN == ACROSS) {
    const int n = min(r, last + 1 - first);

    for (int i = threadIdx.x; i < n * x.n; i += ROWS) {
      const int q = i % n, k = x.low + i / n;

      fold_store(y, first + q, scale * tile[(size_t)q * pitch + k], scale * tile[(size_t)(q + r) * pitch + k],
                 to + ((size_t)blockIdx.y * x.n + k - x.low) * out);
    }
  } else
    for (int q = 0; q < r && first + q <= last; q++) {
      const T *line = tile + (size_t)q * pitch;
      T *there = to + ((size_t)blockIdx.y * y.n + first + q) * out;

      if (THEN == OUT)
        for (int k = threadIdx.x; k < x.n; k += ROWS) there[k] = scale * line[k + x.low];
      else
        for (int k = x.low + threadIdx.x; 2 * k <= x.N; k += ROWS) {
          const T s = y.lambda[first + q + y.low], a = s + x.lambda[k], b = s + x.lambda[x.N - k];

          fold_store(x, k, a > 0 ? scale * line[k] / a : 0, b > 0 ? scale * line[x.N - k] / b : 0, there);
        }
    }
}

/* Of each mode of planes: mu, 1/(1 - mu^period), mu/(1 - mu) (c) or mu/(1 - mu^2) (n); the last two 0 where mu is 1 */
template <typename T>
struct Tables {
  T *mu, *period, *end;
};
template <typename T>
static __global__ void tables(int n, const double *fast, const double *slow, char end, int period, Tables<T> t)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;

  if (i >= n) return;
  const double s = fast[i] + slow[blockIdx.y], over = s / 2 + sqrt(s + s * s / 4), log = -log1p(over);
  const size_t at = (size_t)blockIdx.y * n + i;

  t.mu[at] = (T)(1 / (1 + over));
  t.period[at] = s > 0 ? (T)(-1 / expm1(log * period)) : 0;
  t.end[at] = s > 0 ? (T)(end == 'n' ? exp(log) / -expm1(2 * log) : 1 / over) : 0;
}

/* What a thread has of each plane: M numbers, of which load() gives modes, put() and get() keep what the recurrences
   leave between, and store() takes the modes of the solution; U planes are asked for at a time */
template <typename T>
struct Plain { /* R2C, p: a part of a complex number */
  static const int M = 1, U = 16;
  int half, n;
  size_t plane; /* numbers of one */
  T scale, *V;
  size_t at = 0;
  __device__ bool begin()
  {
    at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    return at < plane;
  }
  __device__ size_t mode(int) const { return at / (2 * half) * n + at % (2 * half) / 2; }
  __device__ bool constant() const { return at == 0; }
  __device__ void load(int i, T v[]) const { v[0] = V[i * plane + at]; }
  __device__ void get(int i, T v[]) const { load(i, v); }
  __device__ void put(int i, const T v[]) const { V[i * plane + at] = v[0]; }
  __device__ void store(int i, const T v[]) const { V[i * plane + at] = scale * v[0]; }
};

template <typename T>
struct Cells { /* R2C, c: (kx, ky) and (kx, ny - ky), of which each has two modes along x */
  static const int M = 4, U = 8;
  Axis<T> x, y;
  T scale;
  Complex<T> *V;
  int half = 0, kx = 0, ky = 0;
  size_t a = 0, b = 0;
  __device__ bool begin()
  {
    half = x.n / 2 + 1;
    kx = blockIdx.x * blockDim.x + threadIdx.x;
    ky = blockIdx.y;
    a = (size_t)ky * half + kx;
    b = (size_t)((y.n - ky) % y.n) * half + kx;
    return kx < half;
  }
  __device__ size_t mode(int q) const
  {
    return (size_t)(q / 2 ? (y.n - ky) % y.n : ky) * x.n + (q % 2 ? (x.n - kx) % x.n : kx);
  }
  __device__ bool constant() const { return kx == 0 && ky == 0; }
  __device__ Complex<T> *plane(int i) const { return V + (size_t)i * y.n * half; }
  __device__ void load(int i, T v[]) const
  {
    Complex<T> c = plane(i)[a], d = plane(i)[b];

    modes(y.w[ky], c, d);
    c = times(x.w[kx], c);
    d = times(x.w[kx], d);
    v[0] = c.x;
    v[1] = c.y;
    v[2] = d.x;
    v[3] = d.y;
  }
  __device__ void get(int i, T v[]) const
  {
    const Complex<T> c = plane(i)[a], d = ky ? plane(i)[b] : Complex<T>{0, 0};

    v[0] = c.x;
    v[1] = c.y;
    v[2] = d.x;
    v[3] = d.y;
  }
  __device__ void put(int i, const T v[]) const
  {
    plane(i)[a] = {v[0], v[1]};
    if (a != b) plane(i)[b] = {v[2], v[3]};
  }
  __device__ void store(int i, const T v[]) const
  {
    Complex<T> c = times(conj(x.w[kx]), Complex<T>{scale * v[0], scale * v[1]}),
               d = times(conj(x.w[kx]), Complex<T>{scale * v[2], scale * v[3]});

    modes_back(y.w[ky], c, d);
    plane(i)[a] = c;
    if (a != b) plane(i)[b] = d;
  }
};

template <typename T>
struct Nodes { /* d, n: (ky, kx) and (ny - ky, kx) of rows along y, which are folded for the transform back */
  static const int M = 2, U = 16;
  Axis<T> x, y;
  int out;
  T *V, *to;
  int kx = 0, ky = 0;
  __device__ bool begin()
  {
    ky = y.low + blockIdx.x * blockDim.x + threadIdx.x;
    kx = blockIdx.y;
    return 2 * ky <= y.N;
  }
  __device__ size_t mode(int q) const { return (size_t)kx * y.n + (q ? y.N - ky : ky) - y.low; }
  __device__ bool constant() const { return y.end == 'n' && kx == 0 && ky == 0; }
  __device__ T *plane(int i) const { return V + (size_t)i * x.n * y.n; }
  __device__ void load(int i, T v[]) const
  {
    v[0] = plane(i)[mode(0)];
    v[1] = plane(i)[mode(1)];
  }
  __device__ void get(int i, T v[]) const { load(i, v); }
  __device__ void put(int i, const T v[]) const
  {
    plane(i)[mode(0)] = v[0];
    plane(i)[mode(1)] = v[1];
  }
  __device__ void store(int i, const T v[]) const { fold_store(y, ky, v[0], v[1], to + ((size_t)i * x.n + kx) * out); }
};

/* Row i of a right-hand side is in y before the first row with power + far: mu^i and mu^(2n-1-i) (c), -mu^(i+1) and
   mu^(2n+1-i) (d), mu^(i-1), but for the first row, and mu^(2N-1-i), but for the last one (n); p: mu^(n-1-i) */
template <typename T, char END, class A>
static __global__ void __launch_bounds__(THREADS) lines(A a, int n, Tables<T> t)
{
  const T small = sizeof(T) == 8 ? (T)1e-18 : (T)1e-9;
  const int M = A::M, U = A::U;
  T mu[M], over[M], power[M], far[M], y[M], before[M], behind[M], v[U][M], mean = 0, total = 0, moment = 0, f0 = 0;

  if (!a.begin()) return;
#pragma unroll
  for (int q = 0; q < M; q++) {
    mu[q] = t.mu[a.mode(q)];
    over[q] = 1 / mu[q];
    power[q] = END == 'd' ? mu[q] : END == 'n' ? over[q] : 1;
    far[q] = END == 'p' ? 0 : pow(mu[q], (T)(END == 'c' ? 2 * n - 1 : END == 'd' ? 2 * n + 1 : 2 * n - 3));
    y[q] = behind[q] = before[q] = 0;
  }
  for (int i0 = 0, more = 1; i0 < n && more; i0 += U) {
#pragma unroll
    for (int u = 0; u < U; u++)
      if (i0 + u < n) a.load(END == 'p' ? n - 1 - i0 - u : i0 + u, v[u]);
    more = 0;
#pragma unroll
    for (int u = 0; u < U; u++)
      if (i0 + u < n) {
        const int i = i0 + u;

#pragma unroll
        for (int q = 0; q < M; q++) {
          T w = END == 'd' ? far[q] - power[q] : far[q] + power[q];

          if (END == 'n' && i == 0) w = far[q];
          if (END == 'n' && i == n - 1) w = power[q];
          y[q] += w * v[u][q];
          power[q] *= mu[q];
          far[q] *= over[q];
          if (power[q] > small) more = 1;
        }
        f0 = i ? f0 : v[u][0];
        total += END == 'n' && (i == 0 || i == n - 1) ? v[u][0] / 2 : v[u][0];
        moment += (T)(END == 'p' ? i + 1 : n - i) * v[u][0];
      }
  }
#pragma unroll
  for (int q = 0; q < M; q++) {
    y[q] *= t.period[a.mode(q)];
    power[q] = mu[q];
  }
  if (a.constant()) { /* mu is 1: the mean of the line is removed, but between d, and y begins so that it closes */
    mean = END == 'd' ? 0 : total / (T)(END == 'n' ? n - 1 : n);
    y[0] = END == 'p'   ? mean * (T)(n + 1) / 2 - moment / (T)n
           : END == 'n' ? (mean - f0) / 2
           : END == 'd' ? -moment / (T)(n + 1)
                        : 0;
  }
  for (int i0 = 0; i0 < n; i0 += U) {
#pragma unroll
    for (int u = 0; u < U; u++)
      if (i0 + u < n) a.load(i0 + u, v[u]);
#pragma unroll
    for (int u = 0; u < U; u++)
      if (i0 + u < n) {
#pragma unroll
        for (int q = 0; q < M; q++) {
          before[q] = y[q];
          y[q] = v[u][q] - (q ? 0 : mean) + mu[q] * y[q];
          behind[q] += power[q] * y[q];
          power[q] *= mu[q];
        }
        a.put(i0 + u, y);
      }
  }
  mean = END == 'p' && a.constant() ? behind[0] / (T)n : 0; /* what rounding has left of the sum of y on a ring */
#pragma unroll
  for (int q = 0; q < M; q++) { /* u behind the last row */
    const T e = t.end[a.mode(q)];

    behind[q] = END == 'p'   ? t.period[a.mode(q)] * behind[q]
                : END == 'c' ? e * y[q]
                : END == 'd' ? 0
                             : mu[q] * (before[q] + e * (y[q] + mu[q] * before[q]));
  }
  for (int i0 = n - 1; i0 >= 0; i0 -= U) {
#pragma unroll
    for (int u = 0; u < U; u++)
      if (i0 - u >= 0) a.get(i0 - u, v[u]);
#pragma unroll
    for (int u = 0; u < U; u++)
      if (i0 - u >= 0) {
#pragma unroll
        for (int q = 0; q < M; q++) behind[q] = mu[q] * (v[u][q] - (q ? 0 : mean) + behind[q]);
        a.store(i0 - u, behind);
      }
  }
}

struct _n_Peer {
  int dim, single, form;
  int n[3];
  bool cells, nodes; /* ends c, d or n */
  char ends[4];
  cufftHandle plan[2]; /* R2C and C2R; d, n: rows along x, and along y */
  int plans;
  std::vector<void *> memory;
  void *lambda[3], *w[3], *mu[3], *V, *P[2];
  double *lambdas[3];
};

static bool get(Peer p, size_t bytes, void **array)
{
  if (cudaMalloc(array, bytes) != cudaSuccess) return false;
  p->memory.push_back(*array);
  return true;
}

static char end_of(const Peer p, int d)
{
  return d < p->dim ? p->ends[d] : 'p';
}
static int points(const Peer p, int d) /* of a transform */
{
  return p->n[d] + (end_of(p, d) == 'd') - (end_of(p, d) == 'n');
}
static int row_length(const Peer p, int d)
{
  return points(p, d) + 2 * (end_of(p, d) == 'n'); /* a multiple of two, for two numbers at a time */
}

template <typename T>
static Axis<T> axis(const Peer p, int d)
{
  const char end = end_of(p, d);

  return {p->n[d], points(p, d), end == 'd', end, (T *)p->lambda[d], (Complex<T> *)p->w[d]};
}

template <typename T>
static bool axis_tables(Peer p, int d)
{
  const int N = points(p, d), places = N + 1;
  const char end = end_of(p, d);
  std::vector<T> lambda(places);
  std::vector<double> lambdas(places);
  std::vector<Complex<T>> w(places);

  for (int k = 0; k < places; k++) {
    const double half = M_PI * k / (2. * N), s = sin(end == 'p' ? 2 * half : half);

    lambdas[k] = d < p->dim ? 4 * s * s : 0;
    lambda[k] = (T)lambdas[k];
    w[k] =
      end == 'c' ? Complex<T>{(T)cos(half), (T)-sin(half)} : Complex<T>{(T)sin(M_PI * (2 * k > N ? N - k : k) / N), 0};
  }
  if (!get(p, places * sizeof(T), &p->lambda[d]) || !get(p, places * sizeof(double), (void **)&p->lambdas[d]) ||
      !get(p, places * sizeof(Complex<T>), &p->w[d]))
    return false;
  return cudaMemcpy(p->lambda[d], lambda.data(), places * sizeof(T), cudaMemcpyHostToDevice) == cudaSuccess &&
         cudaMemcpy(p->lambdas[d], lambdas.data(), places * sizeof(double), cudaMemcpyHostToDevice) == cudaSuccess &&
         cudaMemcpy(p->w[d], w.data(), places * sizeof(Complex<T>), cudaMemcpyHostToDevice) == cudaSuccess;
}

static unsigned blocks(size_t n, int threads)
{
  return (unsigned)((n + threads - 1) / threads);
}
static unsigned many_rows(size_t n)
{
  return n < 65535 ? (unsigned)n : 65535;
}

template <typename T>
static int create(Peer p)
{
  const int *n = p->n, fast = p->nodes ? 1 : 0, slow = 1 - fast;
  const size_t all = (size_t)n[0] * n[1] * n[2];
  const int x = points(p, 0), y = points(p, 1), lx = row_length(p, 0), ly = row_length(p, 1);
  size_t complex = (size_t)(n[0] / 2 + 1) * n[1] * n[2];

  for (int d = 0; d < 3; d++)
    if (!axis_tables<T>(p, d)) return 2;
  if (p->form == PEER_LINES) {
    const size_t bytes = (size_t)n[0] * n[1] * sizeof(T);
    const char end = p->ends[2];
    const int period = end == 'p' ? n[2] : 2 * points(p, 2);

    for (int i = 0; i < 3; i++)
      if (!get(p, bytes, &p->mu[i])) return 2;
    tables<T><<<dim3(blocks(n[fast], THREADS), n[slow]), THREADS>>>(
      n[fast], p->lambdas[fast] + (p->ends[fast] == 'd'), p->lambdas[slow] + (p->ends[slow] == 'd'), end, period,
      Tables<T>{(T *)p->mu[0], (T *)p->mu[1], (T *)p->mu[2]});
  }
  if (p->nodes) {
    const size_t rows = (size_t)n[1] * n[2], columns = (size_t)n[0] * n[2];
    const size_t places = rows * lx > columns * ly ? rows * lx : columns * ly;
    int half[2] = {x / 2 + 1, y / 2 + 1};

    complex = rows * half[0] > columns * half[1] ? rows * half[0] : columns * half[1];
    for (int i = 0; i < 2; i++)
      if (!get(p, places * sizeof(T), &p->P[i])) return 2;
    if (!get(p, complex * sizeof(Complex<T>), &p->V)) return 2;
    for (int i = 0; i < 2; i++) {
      int N = i ? y : x;

      if (fft.many(&p->plan[i], 1, &N, &N, 1, i ? ly : lx, &half[i], 1, half[i], p->single ? CUFFT_R2C : CUFFT_D2Z,
                   (int)(i ? columns : rows)) != CUFFT_SUCCESS)
        return 3;
      p->plans++;
    }
  } else {
    const int rank = p->form == PEER_LINES ? 2 : p->dim, batch = p->form == PEER_LINES ? n[2] : 1;
    int size[3], half[3];

    for (int d = 0; d < rank; d++) size[rank - 1 - d] = half[rank - 1 - d] = n[d];
    half[rank - 1] = n[0] / 2 + 1;
    if (!get(p, complex * sizeof(Complex<T>), &p->V) || (p->cells && !get(p, all * sizeof(T), &p->P[0]))) return 2;
    for (int i = 0; i < 2; i++) {
      const int reals = (int)(all / batch), complexes = (int)(complex / batch);

      if (fft.many(&p->plan[i], rank, size, i ? half : size, 1, i ? complexes : reals, i ? size : half, 1,
                   i ? reals : complexes, p->single ? (i ? CUFFT_C2R : CUFFT_R2C) : (i ? CUFFT_Z2D : CUFFT_D2Z),
                   batch) != CUFFT_SUCCESS)
        return 3;
      p->plans++;
    }
  }
  return (int)cudaDeviceSynchronize();
}

template <typename T, class A>
static void run_lines(const Peer p, cudaStream_t stream, dim3 grid, A a)
{
  const Tables<T> t = {(T *)p->mu[0], (T *)p->mu[1], (T *)p->mu[2]};
  const int n = p->n[2];

  switch (p->ends[2]) {
  case 'p':
    lines<T, 'p'><<<grid, THREADS, 0, stream>>>(a, n, t);
    break;
  case 'c':
    lines<T, 'c'><<<grid, THREADS, 0, stream>>>(a, n, t);
    break;
  case 'n':
    lines<T, 'n'><<<grid, THREADS, 0, stream>>>(a, n, t);
    break;
  default:
    lines<T, 'd'><<<grid, THREADS, 0, stream>>>(a, n, t);
  }
}

/* rows along axis d of planes: R2C of P[from], and what follows in `to` */
template <typename T, Then THEN>
static int transform(const Peer p, cudaStream_t stream, int d, int from, T scale, T *to)
{
  const Axis<T> x = axis<T>(p, d), y = axis<T>(p, 1 - d);
  const size_t row = (size_t)((x.N + 1) | 1) * sizeof(T), times = THEN == ACROSS ? 2 : 1;
  const int out = THEN == OUT ? x.n : row_length(p, THEN == ACROSS ? 1 - d : d);
  int r = THEN == ACROSS ? (int)(64 / sizeof(T)) : 8, lines = THEN == ACROSS ? y.N / 2 + 1 - y.low : y.n;

  if (THEN == ACROSS) /* pieces of 64 bytes, of 32 where that leaves two blocks to a multiprocessor */
    while (r > (int)(32 / sizeof(T)) && times * r * row > 100 << 10) r /= 2;
  while (r > 1 && (times * r * row > 200 << 10 || times * r > ROWS / 32)) r /= 2;
  if (fft.forward[p->single](p->plan[d], p->P[from], p->V) != CUFFT_SUCCESS) return 3;
  if (cudaFuncSetAttribute(unfold<T, THEN>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)(times * r * row)) !=
      cudaSuccess)
    return 4;
  unfold<T, THEN><<<dim3(blocks(lines, r), p->n[2]), ROWS, times * r * row, stream>>>(
    x, y, r, row_length(p, d), (const T *)p->P[from], out, scale, (const Complex<T> *)p->V, to);
  return 0;
}

template <typename T>
static int solve(const Peer p, cudaStream_t stream, const T *f, T *u)
{
  const Axis<T> x = axis<T>(p, 0), y = axis<T>(p, 1);
  Axis<T> z = axis<T>(p, 2);
  const size_t rows = (size_t)y.n * z.n;
  const int half = x.n / 2 + 1;
  const T none = 1, scale = (T)(1. / ((double)x.n * y.n * (p->form == PEER_DIVISION ? z.n : 1)));
  T *P[2] = {(T *)p->P[0], (T *)p->P[1]}, *v = p->cells ? P[0] : u;
  Complex<T> *V = (Complex<T> *)p->V;
  int e = 0;

  if (p->form == PEER_LINES) z.end = 'p'; /* no transform along it */
  for (int i = 0; i < 2; i++)
    if (fft.stream(p->plan[i], stream) != CUFFT_SUCCESS) return 3;
  if (p->nodes) {
    fold_rows<<<dim3(blocks(x.N / 2 + 1, THREADS), many_rows(rows)), THREADS, 0, stream>>>(x, rows, row_length(p, 0), f,
                                                                                           P[0]);
    e = transform<T, ACROSS>(p, stream, 0, 0, none, P[1]);
    if (p->form == PEER_DIVISION) {
      if (!e) e = transform<T, AGAIN>(p, stream, 1, 1, none, P[0]);
    } else {
      if (!e) e = transform<T, OUT>(p, stream, 1, 1, none, u);
      run_lines<T>(p, stream, dim3(blocks(y.N / 2 + 1, THREADS), x.n), Nodes<T>{x, y, row_length(p, 1), u, P[0]});
    }
    if (!e) e = transform<T, ACROSS>(p, stream, 1, 0, none, P[1]);
    if (!e) e = transform<T, OUT>(p, stream, 0, 1, (T)(4. / ((double)x.N * y.N)), u);
    return e ? e : (int)cudaGetLastError();
  }
  const dim3 grid(blocks((x.n + 1) / 2, THREADS), many_rows(rows));

  if (p->cells) permute<<<grid, THREADS, 0, stream>>>(x, y, z, false, f, v);
  if (fft.forward[p->single](p->plan[0], p->cells ? (void *)v : (void *)f, V) != CUFFT_SUCCESS) return 3;
  if (p->form == PEER_DIVISION)
    divide<<<dim3(blocks(half, THREADS), y.end == 'c' ? y.n / 2 + 1 : y.n, z.end == 'c' ? z.n / 2 + 1 : z.n), THREADS,
             0, stream>>>(x, y, z, scale, V);
  else if (p->cells) run_lines<T>(p, stream, dim3(blocks(half, THREADS), y.n / 2 + 1), Cells<T>{x, y, scale, V});
  else {
    const size_t plane = (size_t)2 * half * y.n;

    run_lines<T>(p, stream, dim3(blocks(plane, THREADS)), Plain<T>{half, x.n, plane, scale, (T *)V});
  }
  if (fft.back[p->single](p->plan[1], V, v) != CUFFT_SUCCESS) return 3;
  if (p->cells) permute<<<grid, THREADS, 0, stream>>>(x, y, z, true, v, u);
  return (int)cudaGetLastError();
}

int PeerCreate(int dim, const int n[3], const char ends[], int single, int form, Peer *peer)
{
  Peer p;
  bool same = true, transforms = true; /* by a division */
  int e;

  *peer = NULL;
  if (!fft_load()) return -1;
  for (int d = 1; d < dim; d++) same = same && ends[d] == ends[0];
  for (int d = 0; d < dim; d++) transforms = transforms && (ends[d] == 'c' || (ends[d] == 'p' && ends[0] == 'p'));
  if (dim < 2 || !ends[0] || ends[0] != ends[1]) return 1;
  if (ends[0] == 'd' || ends[0] == 'n') {
    if (!same || form != (dim == 3 ? PEER_LINES : PEER_DIVISION)) return 1;
  } else if (form == PEER_LINES ? dim == 2 : !transforms) return 1;
  for (int d = 0; d < dim; d++)
    if (n[d] < 3) return 1;
  p = *peer = new _n_Peer();
  p->dim = dim;
  p->single = single;
  p->form = form;
  p->nodes = ends[0] == 'd' || ends[0] == 'n';
  for (int d = 0; d < 3; d++) {
    p->n[d] = d < dim ? n[d] : 1;
    if (d < dim) p->ends[d] = ends[d];
    if (end_of(p, d) == 'c' && (d < 2 || form == PEER_DIVISION)) p->cells = true;
  }
  e = single ? create<float>(p) : create<double>(p);
  if (e) PeerDestroy(peer);
  return e;
}

int PeerSolve(Peer p, void *stream, const void *f, void *u)
{
  return p->single ? solve(p, (cudaStream_t)stream, (const float *)f, (float *)u)
                   : solve(p, (cudaStream_t)stream, (const double *)f, (double *)u);
}

void PeerDestroy(Peer *peer)
{
  Peer p = *peer;

  if (!p) return;
  for (int i = 0; i < p->plans; i++) (void)fft.destroy(p->plan[i]);
  for (void *m : p->memory) (void)cudaFree(m);
  delete p;
  *peer = NULL;
}
