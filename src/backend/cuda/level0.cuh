/*
  Level 0 of the default plan on the device (docs/method.md, section 4): groups of seven (radix 8),
  three (radix 4) or fifteen (radix 16) block rows between separators are eliminated (BACK = 0) or
  substituted back (BACK = 1; 2: from separators that are not in u, to which something is added) in
  physical space. A block has a tile of columns, with a halo on
  either side after which the recurrences along the row have forgotten what was before, and goes
  through a strip of groups, the next one on its way to shared memory while one is in registers:
  upwards in the elimination, downwards in the substitution, which so finds in the cache what the
  elimination read last. Ends along the row are reflections. Ends along the blocks have other
  eigenvectors: groups there are not regular, have as many rows as the radix at most, and a block of
  their own in the same launch (level0end.cuh).
*/
#pragma once

#include "level0.h"
#include "sum.cuh"
#include <type_traits>

#define BCR_FULL 0xffffffffu

/* Decays of the modes of a regular group, mu^(K 2^q), 1/(1 - mu^2), and weights as in BCR_CUDA_LEVEL0_TAB */
template <typename T, int K, int R>
struct Level0Modes {
  T mu[R], step[R][5], scale[R], share[R], out[R];
};
/* Those of a single plane are arguments, so that they are operands from constant memory */
template <typename T, int K, int R>
struct Level0Args {
  BCRCudaLevel0 p;
  int width; /* columns of a tile, without its halos */
  Level0Modes<T, K, R> modes;
};

/* in double precision where the host does it */
template <typename V, typename T, int K, int R>
static __host__ __device__ __forceinline__ void level0_mode(Level0Modes<T, K, R> *m, int j, V mu, V share, V out)
{
  V v = mu;

  m->mu[j] = (T)mu;
  m->scale[j] = (T)(1 / (1 - mu * mu));
  m->share[j] = (T)share;
  m->out[j] = (T)out;
  for (int i = 1; i < K; i++) v *= mu;
  for (int q = 0; q < 5; q++) {
    m->step[j][q] = (T)v;
    v *= v;
  }
}

/* A number of each mode, in shared memory, 16 bytes at a time */
template <typename T, int R>
struct Level0Ends {
  typedef typename std::conditional<sizeof(T) == 8, double2, float4>::type Wide;
  static constexpr int EACH = sizeof(Wide) / sizeof(T), N = (R + EACH - 1) / EACH;
  Wide v[N];

  __device__ __forceinline__ void put(const T *from)
  {
    T t[N * EACH];

#pragma unroll
    for (int j = 0; j < N * EACH; j++) t[j] = from[j < R ? j : R - 1];
#pragma unroll
    for (int i = 0; i < N; i++) {
      if constexpr (sizeof(T) == 8) v[i] = {t[2 * i], t[2 * i + 1]};
      else v[i] = {t[4 * i], t[4 * i + 1], t[4 * i + 2], t[4 * i + 3]};
    }
  }
  __device__ __forceinline__ void get(T *to) const
  {
#pragma unroll
    for (int i = 0; i < N; i++) {
      const Wide w = v[i];
      T t[4] = {};

      if constexpr (sizeof(T) == 8) {
        t[0] = w.x;
        t[1] = w.y;
      } else {
        t[0] = w.x;
        t[1] = w.y;
        t[2] = w.z;
        t[3] = w.w;
      }
#pragma unroll
      for (int j = 0; j < EACH; j++)
        if (i * EACH + j < R) to[i * EACH + j] = t[j];
    }
  }
};

template <int R>
static constexpr int Level0Rows = R + 3; /* of a warp in shared memory */
/* Single precision moves 16 bytes at a time: a row in shared memory begins as many elements after a
   multiple of that as in memory, and has room for it */
template <typename T>
static constexpr int Level0Wide = sizeof(T) == 4 ? 4 : 0;

template <typename T>
static __device__ __forceinline__ void copy_async(T *shared, const T *global, bool valid)
{
  const unsigned s = (unsigned)__cvta_generic_to_shared(shared);

  if (sizeof(T) == 8)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(s), "l"(global), "r"(valid ? 8 : 0) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(s), "l"(global), "r"(valid ? 4 : 0) : "memory");
}
static __device__ __forceinline__ void copy_wide(float *shared, const float *global, bool valid)
{
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((unsigned)__cvta_generic_to_shared(shared)),
               "l"(global), "r"(valid ? 16 : 0)
               : "memory");
}
static __device__ __forceinline__ void copy_commit()
{
  asm volatile("cp.async.commit_group;" ::: "memory");
}
static __device__ __forceinline__ void copy_wait()
{
  asm volatile("cp.async.wait_group 0;" ::: "memory");
}

/* The four modes of a sine transform of eight that are even about its middle: sin((p + 1)(j + 1)
   pi/8), j = 0, 2, 4, 6, over rows 0, 1, 2 folded, a1, a2, a3, and the one in the middle, c */
template <typename T>
static __device__ __forceinline__ void sine_even(T a1, T a2, T a3, T c, T *x0, T *x2, T *x4, T *x6)
{
  const T s1 = (T)0.38268343236508977173, s2 = (T)0.70710678118654752440, s3 = (T)0.92387953251128675613;
  const T d = s2 * a2, p = c + d, m = c - d;

  *x0 = s1 * a1 + (s3 * a3 + p);
  *x2 = s3 * a1 - (s1 * a3 + m);
  *x4 = s3 * a1 + (m - s1 * a3);
  *x6 = s1 * a1 + (s3 * a3 - p);
}

/* sum over p of sin((p + 1)(j + 1) pi/(R + 1)) x_p, in place */
template <int R, typename T>
static __device__ __forceinline__ void sine(T *x)
{
  const T s2 = (T)0.70710678118654752440;

  if constexpr (R == 3) {
    const T a = s2 * (x[0] + x[2]), b = x[0] - x[2], c = x[1];

    x[0] = a + c;
    x[1] = b;
    x[2] = a - c;
  } else if constexpr (R == 7) {
    const T b1 = x[0] - x[6], b2 = x[1] - x[5], b3 = x[2] - x[4], e = b1 + b3;

    sine_even(x[0] + x[6], x[1] + x[5], x[2] + x[4], x[3], &x[0], &x[2], &x[4], &x[6]);
    x[1] = s2 * e + b2;
    x[3] = b1 - b3;
    x[5] = s2 * e - b2;
  } else { /* modes that are odd about the middle: the transform of half the length. Even ones: rows with an even and with an odd p + 1, modes k and 7 - k of them at once */
    static_assert(R == 15, "");
    /* sin((2 k + 1) pi/16) */
    const T w[4] = {(T)0.19509032201612826785, (T)0.55557023301960222474, (T)0.83146961230254523708,
                    (T)0.98078528040323044913};
    T a[7], b[7], e[4];

#pragma unroll
    for (int p = 0; p < 7; p++) {
      a[p] = x[p] + x[14 - p];
      b[p] = x[p] - x[14 - p];
    }
    sine<7>(b);
    sine_even(a[1], a[3], a[5], x[7], &e[0], &e[1], &e[2], &e[3]);
#pragma unroll
    for (int k = 0; k < 4; k++) {
      T o = 0;

#pragma unroll
      for (int q = 0; q < 4; q++) { /* sin((2 q + 1)(2 k + 1) pi/16) */
        const int m = (2 * q + 1) * (2 * k + 1) % 32, r = m % 16, i = (r < 8 ? r : 16 - r) / 2;

        o += (m < 16 ? w[i] : -w[i]) * a[2 * q];
      }
      x[2 * k] = o + e[k];
      x[14 - 2 * k] = o - e[k];
    }
#pragma unroll
    for (int k = 0; k < 7; k++) x[2 * k + 1] = b[k];
  }
}

/* where column col of the line that goes on beyond its ends lies; 0 where it is zero, else its sign */
static __device__ __forceinline__ int reflect(int *col, int n, BCREndMirror left, BCREndMirror right)
{
  const int low = -left.distance,
            high = 2 * n - 2 + right.distance; /* a column and its image in an end have that sum */
  int c = *col, sign = 1;

  if (left.sign == 0) {
    c %= n;
    if (c < 0) c += n;
  } else if (c > -n && c < 2 * n - 1) { /* once at most */
    if (c < 0) c = low - c, sign = left.sign;
    else if (c >= n) c = high - c, sign = right.sign;
    if (c < 0 || c >= n) c = sign = 0; /* the zero itself */
  } else {
    while (c < 0 || c >= n) {
      const int sum = c < 0 ? low : high;

      if (2 * c == sum) { /* the zero itself */
        *col = 0;
        return 0;
      }
      sign *= c < 0 ? left.sign : right.sign;
      c = sum - c;
    }
  }
  *col = c;
  return sign;
}

/* Doublings after which mu^(K 2^q) is below rounding, for mode j. USUAL: the decay of a plane with
   equal couplings along both axes or a faster one */
template <typename T, int K, int R, int USUAL>
__host__ __device__ constexpr int doublings(int j)
{
  static_assert(R != 15 || K == 5, "the numbers below");
  if (!USUAL) return 5;
  if (R == 15) return j == 0 ? 5 : (j == 1 ? 4 : (j < 5 ? 3 : 2)); /* single precision, K = 5 */
  if (K < 5) return (sizeof(T) == 8 ? 3 : 2) + (j == 0) + (R == 7 && j < 3);
  if (R == 3) return sizeof(T) == 8 ? (j == 0 ? 4 : 3) : (j == 0 ? 3 : 2);
  if (K < 7) return sizeof(T) == 8 ? (j == 0 ? 5 : (j == 1 ? 4 : 3)) : (j == 0 ? 4 : (j < 4 ? 3 : 2));
  return sizeof(T) == 8 ? (j == 0 ? 4 : (j < 4 ? 3 : 2)) : (j == 0 ? 3 : (j < 4 ? 2 : 1));
}

/* mu^(K lane), for each lane; in shared memory */
template <int NT, typename T, int K, int R>
static __device__ __forceinline__ void level0_reach(const Level0Modes<T, K, R> &m, T (*reach)[32])
{
  for (int i = threadIdx.x; i < 32 * R; i += NT) {
    const int j = i / 32, l = i % 32;
    T v = 1;

#pragma unroll
    for (int q = 0; q < 5; q++)
      if (l >> q & 1) v *= m.step[j][q];
    reach[j][l] = v;
  }
}

/* Of a thread's columns, from c on, bits: those in the tile; of these the ones that are nodes and mirrors, with half of the
   weight of others */
template <int K>
static __device__ __forceinline__ void level0_own(const BCRCudaLevel0 &p, int c, int begin, int end, unsigned *mine,
                                                  unsigned *half)
{
  const int low = p.mirror[0].sign > 0 && p.mirror[0].distance == 0 ? 0 : -1,
            high = p.mirror[1].sign > 0 && p.mirror[1].distance == 0 ? p.nx - 1 : -1;

  *mine = *half = 0;
#pragma unroll
  for (int i = 0; i < K; i++, c++) {
    const unsigned own = c >= begin && c < end;

    *mine |= own << i;
    *half |= (own && (c == low || c == high) ? 1u : 0u) << i;
  }
}

/* The number of this warp in p.sums */
static __device__ __forceinline__ void level0_sum(const BCRCudaLevel0 &p, double v, int warps)
{
  v = bcr_warp_sum(v);
  if ((threadIdx.x & 31) == 0) p.sums[(blockIdx.y * gridDim.x + blockIdx.x) * warps + (threadIdx.x >> 5)] = v;
}

/* Substitution: the separator before the first group, of R rows if it is a regular one. ADD: separators are in D */
template <int R, int ADD, typename T>
static __device__ __forceinline__ const T *level0_before(const BCRCudaLevel0 &p, const T *u, const T *D)
{
  if (ADD) return D + (ptrdiff_t)(p.ng - 1 + p.open[1]) * p.ldd;
  if (p.open[0]) return (const T *)p.before;
  return u + (p.ng > 1 ? (R + 1) * (p.ng - 1) - p.short0 + p.hlast : R - p.short0) * p.ldu;
}

/* What p.add adds to the solution, the same number in all blocks to the last bit: part [NW] of the warps, and, by all threads
   when it is needed, the whole */
static __device__ __forceinline__ void level0_add_begin(const BCRCudaLevel0 &p, int threads, double *part)
{
  double v = 0;

  for (int q = threadIdx.x; q < p.nadd; q += threads) v += __ldcg(p.add + q);
  v = bcr_warp_sum(v);
  if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = v;
}
template <int NW>
static __device__ __forceinline__ double level0_add_end(const BCRCudaLevel0 &p, const double *part)
{
  double sum = 0;

  __syncthreads();
#pragma unroll
  for (int w = 0; w < NW; w++) sum += part[w];
  return p.addfactor * sum;
}

/* Rows to modes, and the line of each mode, x_i to z_i = (F_i + mu B_(i+1))/(1 - mu^2) with F_i =
   x_i + mu F_(i-1) and B_i = x_i + mu B_(i+1). K columns a thread; neither recurrence needs the
   other: both go over the lanes of a warp together and, through shared memory (ex, other memory the
   next time), to the neighbouring warps. The last column of a thread has z from both, the others
   z_i = F_i + mu z_(i+1). odd, or NULL: 1/mu; NW warps have a whole row, which goes on oddly at its
   first column, where F = -B, and behind its last one */
template <int USUAL, int NW, typename T, int K, int R>
static __device__ __forceinline__ void level0_lines(const Level0Modes<T, K, R> &m, T (*x)[K],
                                                    Level0Ends<T, R> (*ex)[NW], const T (*reach)[32], const T *odd)
{
  /* warps that a recurrence remembers: mu^(halo) is below rounding, and halo < 32 NEAR K */
  constexpr int NEAR = USUAL ? 1 : 2;
  const int lane = threadIdx.x & 31, warp = bcr_warp();
  T F[R], B[R];

#pragma unroll
  for (int i = 0; i < K; i++) {
    T v[R];

#pragma unroll
    for (int r = 0; r < R; r++) v[r] = x[r][i];
    sine<R>(v);
#pragma unroll
    for (int r = 0; r < R; r++) x[r][i] = v[r];
  }
#pragma unroll
  for (int j = 0; j < R; j++) {
    F[j] = x[j][0];
    B[j] = x[j][K - 1];
  }
#pragma unroll
  for (int i = 1; i < K; i++) {
#pragma unroll
    for (int j = 0; j < R; j++) {
      F[j] = x[j][i] + m.mu[j] * F[j];
      B[j] = x[j][K - 1 - i] + m.mu[j] * B[j];
    }
  }
#pragma unroll
  for (int q = 0; q < 5; q++) {
#pragma unroll
    for (int j = 0; j < R; j++) {
      if (q < doublings<T, K, R, USUAL>(j)) {
        const T t = __shfl_up_sync(BCR_FULL, F[j], 1 << q), v = __shfl_down_sync(BCR_FULL, B[j], 1 << q);

        if (lane >= 1 << q) F[j] += m.step[j][q] * t;
        if (lane + (1 << q) < 32) B[j] += m.step[j][q] * v;
      }
    }
  }
  if (lane == 31) ex[0][warp].put(F);
  if (lane == 0) ex[1][warp].put(B);
#pragma unroll
  for (int j = 0; j < R; j++) {
    F[j] = __shfl_up_sync(BCR_FULL, F[j], 1);
    B[j] = __shfl_down_sync(BCR_FULL, B[j], 1);
    if (lane == 0) F[j] = 0;
    if (lane == 31) B[j] = 0;
  }
  __syncthreads();
#pragma unroll
  for (int w = NEAR; w > 0; w--) {
    T e[R];

    auto across = [&](int j) { return w > 1 ? m.step[j][4] * m.step[j][4] : (T)1; }; /* the warp in between */

    if (warp >= w) {
      ex[0][warp - w].get(e);
#pragma unroll
      for (int j = 0; j < R; j++) F[j] += across(j) * e[j] * reach[j][lane];
    }
    if (warp + w < NW) {
      ex[1][warp + w].get(e);
#pragma unroll
      for (int j = 0; j < R; j++) B[j] += across(j) * e[j] * reach[j][31 - lane];
    }
  }
  if (odd) {
    T e[R];

    if (warp == 0) {
      ex[1][0].get(e);
#pragma unroll
      for (int j = 0; j < R; j++) F[j] -= odd[j] * e[j] * reach[j][lane];
    }
    if (warp == NW - 1) {
      ex[0][NW - 1].get(e);
#pragma unroll
      for (int j = 0; j < R; j++) B[j] -= m.mu[j] * e[j] * reach[j][31 - lane];
    }
  }
#pragma unroll
  for (int i = 0; i < K; i++) {
#pragma unroll
    for (int j = 0; j < R; j++) {
      F[j] = x[j][i] + m.mu[j] * F[j];
      x[j][i] = F[j];
    }
  }
#pragma unroll
  for (int j = 0; j < R; j++) x[j][K - 1] = m.scale[j] * (F[j] + m.mu[j] * B[j]);
#pragma unroll
  for (int i = K - 1; i > 0; i--) {
#pragma unroll
    for (int j = 0; j < R; j++) x[j][i - 1] += m.mu[j] * x[j][i];
  }
}

/* Regular groups first .. last - 1 of R = 7, 3 or 15 rows. K columns a thread, NT threads. ARGS:
   tables are arguments. Each warp has ROWS rows of 32 K columns in shared memory: the group's, the
   separator's, two for results. */
template <typename T, int K, int NT, int R, int BACK, int USUAL, int ARGS>
static __device__ __forceinline__ void level0_groups(const Level0Args<T, K, R> &a, const T *__restrict__ f, T *u,
                                                     T *__restrict__ D, T *__restrict__ extra, int first, int last)
{
  constexpr int NW = NT / 32, CH = 32 * K, Q = R + 1, ROWS = Level0Rows<R>, ADD = BACK == 2;
  constexpr int M = BCR_CUDA_LEVEL0_MOST(Q), WIDE = Level0Wide<T>, PITCH = CH + WIDE,
                CHUNKS = WIDE ? (PITCH / 4 + 31) / 32 : 0;
  extern __shared__ __align__(16) char sm[];
  __shared__ T reach[R][32];
  __shared__ Level0Ends<T, R> ex[2][2][NW];
  __shared__ double part[NW];
  __shared__ Level0Modes<T, K, R> tables;
  const Level0Modes<T, K, R> &m = ARGS ? a.modes : tables;
  const BCRCudaLevel0 &p = a.p;
  const int lane = threadIdx.x & 31, warp = bcr_warp();
  const int H = p.halo, columnbegin = blockIdx.x * a.width, columnend = min(p.nx, columnbegin + a.width),
            c0 = columnbegin - H + warp * CH;
  const T *tab = (const T *)p.tab + (ptrdiff_t)blockIdx.z * 3 * BCR_CUDA_LEVEL0_TAB(M);
  T *buf = (T *)sm + warp * (PITCH * ROWS), *out = buf + (R + 1) * PITCH;
  /* at the ends of the row: 2 (where the column lies) + (its sign < 0), -1: zero */
  int *cols = (int *)(sm + sizeof(T) * NW * PITCH * ROWS) + warp * CH;
  const bool inner = WIDE ? c0 >= WIDE && c0 + PITCH <= p.nx : c0 >= 0 && c0 + CH <= p.nx,
             outside = c0 >= columnend + H;
  const T inverse = !BACK ? (T)1 : (ARGS ? (T)p.inverse : tab[BCR_CUDA_LEVEL0_INVERSE(M)]);
  unsigned minus = 0; /* columns with the other sign */
  const bool sums = p.sums && (int)blockIdx.z == p.subplane;
  unsigned mine = 0, half = 0;
  double green = 0; /* of the tile's columns */
  T x[R][K], carry[K] = {}, sub = 0;
  double add = 0;

  if (!ARGS) {
    for (int i = threadIdx.x; i < R; i += NT)
      level0_mode(&tables, i, tab[i], tab[BCR_CUDA_LEVEL0_SHARE(M) + i], tab[BCR_CUDA_LEVEL0_OUT(M) + i]);
    __syncthreads();
  }
  if (!inner) {
    for (int q = lane; q < CH; q += 32) {
      int c = c0 + q;
      const int sign = outside ? 0 : reflect(&c, p.nx, p.mirror[0], p.mirror[1]);

      cols[q] = sign ? 2 * c + (sign < 0) : -1;
    }
    __syncwarp();
  }

  if (!BACK && R == 7) level0_own<K>(p, c0 + lane * K, columnbegin, columnend, &mine, &half);

  /* from, to: the first row of the group that is next or in registers, in f from where loads of
     this warp begin (at the ends of a row: from column 0 on), in u from column c0 + lane on. The
     separators of a regular group are the rows before and after it, or rows of D, but for what comes round or
     from another rank (before0()) */
  const ptrdiff_t ldf = p.ldf, ldu = p.ldu, start = Q * (BACK ? last - 1 : first) - p.short0, in = inner ? c0 : 0,
                  shift = in - c0 - lane;
  const unsigned apart = WIDE && inner ? 15 : 0;
  const T *from = f + start * ldf + in;
  T *to = u + start * ldu + c0 + lane;
  /* separators before the first group, after the last one */
  const bool begin = p.yperiodic || p.open[0], end = p.yperiodic || p.open[1] || p.sepend;
  auto after = [&](int g) { return end || g < p.ng - 1; };
  /* where its first column is in shared memory */
  auto loaded = [&](const T *at, const T *row) {
    return (const T *)((const char *)at + ((unsigned)(size_t)row & apart));
  };
  auto before0 = [&]() { return level0_before<R, ADD>(p, u, (const T *)D) + in; };
  /* of group g, whose rows of u begin at `rows` */
  auto behind = [&](int g, const T *rows) { return ADD ? D + (ptrdiff_t)g * p.ldd + in : rows + R * ldu; };
  auto ahead = [&](int g, const T *rows) { return ADD ? D + (ptrdiff_t)(g - 1) * p.ldd + in : rows - ldu; };
  auto load = [&](T *row, const T *source,
                  bool have) { /* or zeros */
                               if (inner && WIDE) {
                                 if constexpr (WIDE > 0) {
                                   const T *wide = (const T *)((size_t)source & ~(size_t)15) + 4 * lane;

#pragma unroll
                                   for (int q = 0; q < CHUNKS; q++)
                                     if (lane + 32 * q < PITCH / 4)
                                       copy_wide(row + 4 * (lane + 32 * q), wide + 128 * q, have);
                                 }
                               } else {
#pragma unroll
                                 for (int q = 0; q < K; q++) {
                                   const int c = inner ? 2 * (q * 32 + lane) : cols[q * 32 + lane];

                                   copy_async(row + q * 32 + lane, source + (c < 0 ? 0 : c >> 1), have && c >= 0);
                                 }
                               }
  };
  /* Rows of a group, in the elimination also the separator's right-hand side. Column by column, so
     that few loads in a row want the same line of the cache */
  auto load_rows = [&](const T *rows, bool have) {
    const T *separator = have ? rows + R * ldf : f; /* what is not there is not read */

    if (inner && WIDE) {
#pragma unroll
      for (int r = 0; r < R; r++) {
        load(buf + r * PITCH, rows, true);
        rows += ldf;
      }
      if (!BACK) load(buf + R * PITCH, separator, have);
    } else if (inner) {
      rows += lane;
      separator += lane;
#pragma unroll
      for (int q = 0; q < K; q++) {
#pragma unroll
        for (int r = 0; r < R; r++) copy_async(buf + r * PITCH + q * 32 + lane, rows + r * ldf + q * 32, true);
        if (!BACK) copy_async(buf + R * PITCH + q * 32 + lane, separator + q * 32, have);
      }
    } else {
#pragma unroll
      for (int q = 0; q < K; q++) {
        const int c = cols[q * 32 + lane], at = c < 0 ? 0 : c >> 1;
        const bool there = c >= 0;

#pragma unroll
        for (int r = 0; r < R; r++) copy_async(buf + r * PITCH + q * 32 + lane, rows + r * ldf + at, there);
        if (!BACK) copy_async(buf + R * PITCH + q * 32 + lane, separator + at, there && have);
      }
    }
  };
  auto store = [&](T *row, const T *values) { /* row: from column c0 + lane on */
#pragma unroll
                                              for (int q = 0; q < K; q++) {
                                                const int c = c0 + q * 32 + lane;

                                                if (c >= columnbegin && c < columnend)
                                                  row[q * 32] = values[q * 32 + lane];
                                              }
  };

  for (int it = first - 1; it < last; it++) { /* the first time round only loads: their code is there once */
    const int g = BACK ? first + last - 1 - it : it, next = BACK ? g - 1 : g + 1;
    T sep[K];

    if (it >= first) {
      const T *row = from, *separator = BACK ? (g > 0 ? ahead(g, to + shift) : before0()) : from + R * ldf;

      copy_wait();
      __syncwarp();
      if (BACK && it == first) {
        const T *at = loaded(out + lane * K, behind(g, to + shift));

        if (ADD) add = level0_add_end<NW>(p, part);
#pragma unroll
        for (int i = 0; i < K; i++) carry[i] = ADD ? (T)(add + at[i]) : at[i];
        if (ADD) __syncwarp();
      }
      if (ADD && after(g)) {
#pragma unroll
        for (int i = 0; i < K; i++) out[lane * K + i] = carry[i];
        __syncwarp();
        store(to + R * ldu, out);
      }
#pragma unroll
      for (int r = 0; r < R; r++) {
        const T *at = loaded(buf + r * PITCH + lane * K, row);

#pragma unroll
        for (int i = 0; i < K; i++) x[r][i] = at[i];
        row += ldf;
      }
      {
        const T *at = loaded(buf + R * PITCH + lane * K, separator);

#pragma unroll
        for (int i = 0; i < K; i++) sep[i] = ADD ? (T)(add + at[i]) : at[i];
      }
      if (BACK) {
        if (p.sub) {
#pragma unroll
          for (int i = 0; i < K; i++) {
#pragma unroll
            for (int r = 0; r < R; r++) x[r][i] -= sub;
          }
        }
#pragma unroll
        for (int i = 0; i < K; i++) {
          x[R - 1][i] += inverse * carry[i];
          x[0][i] += inverse * sep[i];
          carry[i] = sep[i];
        }
      }
      __syncwarp();
      from += (BACK ? -Q : Q) * ldf;
    }
    if (it + 1 < last) {
      load_rows(from, after(next));
      if (BACK) {
        const T *rows = to + shift - (it < first ? 0 : Q * ldu); /* of solutions */

        if (it < first) {
          bcr_wait_before(); /* for separators */
          if (p.sub && (int)blockIdx.z == p.subplane) sub = (T)(p.subfactor * *p.sub);
          load(out, after(next) ? behind(next, rows) : f, after(next));
        }
        load(buf + R * PITCH, next > 0 ? ahead(next, rows) : (begin ? before0() : f), next > 0 || begin);
      }
      copy_commit();
      if (ADD && it < first) level0_add_begin(p, NT, part);
    }
    if (it < first) {
      level0_reach<NT>(m, reach);
      if (!inner) {
#pragma unroll
        for (int i = 0; i < K; i++) minus |= (cols[lane * K + i] < 0 ? 0u : cols[lane * K + i] & 1u) << i;
      }
      continue;
    }
    if (minus) {
#pragma unroll
      for (int i = 0; i < K; i++) {
#pragma unroll
        for (int r = 0; r < R; r++) x[r][i] = minus >> i & 1 ? -x[r][i] : x[r][i];
      }
    }
    if (!BACK && R == 7 && sums) { /* with other radices no operator is singular */
      T v = 0;

#pragma unroll
      for (int i = 0; i < K; i++) {
        T s = (T)(0.125 * Q * Q) * x[R / 2][i];

#pragma unroll
        for (int r = 0; r < R / 2; r++) s += (T)(0.5 * (r + 1) * (R - r)) * (x[r][i] + x[R - 1 - r][i]);
        if (!inner && half >> i & 1) s *= (T)0.5;
        v += mine >> i & 1 ? s : (T)0;
      }
      green += v;
    }
    if (!BACK && p.early && it + 1 == last) bcr_go_after();
    level0_lines<USUAL, NW>(m, x, ex[(it - first) & 1], reach, (const T *)NULL);
    if (!BACK && R == 7 && sums && !inner) {
      /* 1/(4 sin^2((j + 1) pi/16)) */
      const double w[4] = {6.568535592272046, 0.8099572022108876, 0.36161567304292236, 0.25989153247414504};

#pragma unroll
      for (int i = 0; i < K; i++) {
        if (half >> i & 1)
          green += m.share[0] * w[0] * x[0][i] + m.share[2] * w[1] * x[2][i] + m.share[4] * w[2] * x[4][i] +
                   m.share[6] * w[3] * x[6][i];
      }
    }
    if (!BACK) {
#pragma unroll
      for (int i = 0; i < K; i++) {
        T even = 0, odd = 0; /* modes that are alike, and that differ in sign, at both ends of the group */

#pragma unroll
        for (int j = 0; j < R; j++) {
          if (j & 1) odd += m.share[j] * x[j][i];
          else even += m.share[j] * x[j][i];
        }
        out[lane * K + i] = carry[i] + even + odd;
        carry[i] = sep[i] + even - odd;
      }
      __syncwarp();
      /* the strip's first one goes where the transform adds it */
      if (g > 0 || begin)
        store((g > first ? D + (ptrdiff_t)(g - 1) * p.ldd
                         : (g == 0 && p.open[0] ? D + (ptrdiff_t)(p.ng - 1 + p.open[1]) * p.ldd : extra)) +
                c0 + lane,
              out);
    } else {
#pragma unroll
      for (int i = 0; i < K; i++) {
        T v[R];

#pragma unroll
        for (int j = 0; j < R; j++) v[j] = m.out[j] * x[j][i];
        sine<R>(v);
#pragma unroll
        for (int r = 0; r < R; r++) x[r][i] = v[r];
      }
#pragma unroll
      for (int r = 0; r < R; r++) {
        T *row = out + (r & 1 ? PITCH : 0);

#pragma unroll
        for (int i = 0; i < K; i++) row[lane * K + i] = x[r][i];
        __syncwarp();
        store(to + r * ldu, row);
      }
      __syncwarp();
      to -= Q * ldu;
    }
  }
  if (!BACK && last > first && after(last - 1)) { /* the right end of the strip */
    __syncwarp();
#pragma unroll
    for (int i = 0; i < K; i++) out[lane * K + i] = carry[i];
    __syncwarp();
    store(D + (ptrdiff_t)(last - 1) * p.ldd + c0 + lane, out);
  }
  if (!BACK && R == 7 && sums) level0_sum(p, green, NW);
}

#include "level0end.cuh"

/* Blocks of y: strips of regular groups of R rows, then (ENDS) the first and the last group where
   they are not regular (radix 4 and 16: the last one) */
template <typename T, int K, int NT, int R, int BACK, int MINB, int USUAL, int ARGS, int ENDS>
__global__ void __launch_bounds__(NT, MINB)
  level0(const __grid_constant__ Level0Args<T, K, R> a, const T *__restrict__ f, T *u, T *__restrict__ D,
         T *__restrict__ extra)
{
  const BCRCudaLevel0 &p = a.p;
  const int strip = blockIdx.y;

  f += blockIdx.z * p.fplane;
  u += blockIdx.z * p.uplane;
  D += blockIdx.z * p.dplane;
  extra += blockIdx.z * p.eplane + min(strip, p.strips) * p.ldd;
  if (!ENDS || strip < p.strips) {
    const int first = p.g0 + strip * p.per;

    level0_groups<T, K, NT, R, BACK, USUAL, ARGS>(a, f, u, D, extra, first, min(first + p.per, p.g1));
  } else if constexpr (ENDS) {
    const int end = p.g0 && strip == p.strips ? 0 : 1, g = end ? p.ng - 1 : 0;

    level0_end<T, K, NT, R + 1, BACK>(a, f, u, D, extra, g, 1 + end, end ? p.hlast : R - p.short0);
  }
  if (!BACK && !p.early) bcr_go_after();
}

template <typename T, int K, int NT, int R, int BACK, int MINB, int USUAL, int ARGS, int ENDS>
static int level0_run(const BCRCudaLevel0 *p, const void *f, void *u, void *D, void *extra, cudaStream_t stream)
{
  const size_t bytes =
    (size_t)(Level0Rows<R> * sizeof(T) + sizeof(int)) * K * NT + Level0Rows<R> * sizeof(T) * Level0Wide<T> * (NT / 32);
  const int most = K * NT - 2 * p->halo, tiles = (p->nx + most - 1) / most;
  const dim3 grid((unsigned)tiles, (unsigned)(p->strips + (p->g0 > 0) + (p->g1 < p->ng)), (unsigned)p->planes);
  cudaError_t e = cudaFuncSetAttribute((const void *)level0<T, K, NT, R, BACK, MINB, USUAL, ARGS, ENDS>,
                                       cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
  Level0Args<T, K, R> a;

  if (e != cudaSuccess) return (int)e;
  a.p = *p;
  a.width = (p->nx + tiles - 1) / tiles;
  for (int j = 0; j < R; j++) level0_mode(&a.modes, j, p->mu[j], p->share[j], p->out[j]);
  return bcr_launch(BACK != 0, level0<T, K, NT, R, BACK, MINB, USUAL, ARGS, ENDS>, grid, NT, bytes, stream, a,
                    (const T *)f, (T *)u, (T *)D, (T *)extra);
}

/* the decay, where the tables are, and whether all groups are regular, decide which */
template <typename T, int K, int NT, int BACK, int MINB>
static int level0_launch(const BCRCudaLevel0 *p, const void *f, void *u, void *D, void *extra, cudaStream_t stream)
{
  bool usual = p->halo <= 32 * K;

  for (int j = 0; j < 7; j++) usual = usual && p->steps[j] <= doublings<T, K, 7, 1>(j);
  if (!usual) return level0_run<T, K, NT, 7, BACK, MINB, 0, 0, 1>(p, f, u, D, extra, stream);
  if constexpr (NT < 256 && BACK != 2) { /* else planes == 1 */
    if (p->planes > 1) return level0_run<T, K, NT, 7, BACK, MINB, 1, 0, 1>(p, f, u, D, extra, stream);
  }
  if (p->g0 == 0 && p->g1 == p->ng) return level0_run<T, K, NT, 7, BACK, MINB, 1, 1, 0>(p, f, u, D, extra, stream);
  return level0_run<T, K, NT, 7, BACK, MINB, 1, 1, 1>(p, f, u, D, extra, stream);
}

/* radix 8, back */
template <typename T, int K, int NT, int MINB>
static int level0_back(const BCRCudaLevel0 *p, const void *f, void *u, void *D, cudaStream_t stream)
{
  return p->add ? level0_launch<T, K, NT, 2, MINB>(p, f, u, D, NULL, stream)
                : level0_launch<T, K, NT, 1, MINB>(p, f, u, NULL, NULL, stream);
}

/* radix 4 and 16, R + 1: a single plane, the usual decay or a faster one */
template <typename T, int K, int NT, int R, int BACK, int MINB>
static int level0_plane(const BCRCudaLevel0 *p, const void *f, void *u, void *D, void *extra, cudaStream_t stream)
{
  if (p->g1 == p->ng) return level0_run<T, K, NT, R, BACK, MINB, 1, 1, 0>(p, f, u, D, extra, stream);
  return level0_run<T, K, NT, R, BACK, MINB, 1, 1, 1>(p, f, u, D, extra, stream);
}
