/*
  Level 0 where a block has whole rows (at most 2048 columns): what level0.cuh does for tiles of a
  row, without halos and in place. Planes of three dimensions are solved like that, all at once.

  With F_i = g_i + mu F_(i-1) and B_i = g_i + mu B_(i+1) the line of a mode has the solution (F_i +
  mu B_(i+1))/(1 - mu^2), where an end is a reflection: F_(-1) = e B_0 with e = -mu (Dirichlet), -1
  and 1 (cell-centred Dirichlet, Neumann), or (B_0 - g_0)/mu (node-centred Neumann), B_n from
  F_(n-1) likewise; periodic F_(-1) = F_(n-1), B_n = B_0. Neither recurrence needs the other but for
  these: a thread has four columns, carries go over the lanes of a warp for both, and through shared
  memory to the neighbouring warps, so that a group takes one barrier.
*/
#pragma once

#include "level0.cuh"
#include "planemean.cuh"

enum {
  ROWS_K = 4,            /* columns of a thread */
  ROWS_CH = 32 * ROWS_K, /* most columns of a warp */
  ROWS_WARPS = 16        /* of a block, at most */
};
/* in shared memory: the group's, two separators, two for what is stored */
#define ROWS_OF(R) ((R) + 4)

template <typename T, int NW>
struct RowsShared {
  /* power: mu^(columns of a warp), of the last one; both: mu^n; end: e, or 0 (periodic); inverse:
     1/(1 - e e both^2), 1/(1 - both) */
  T mu[8], power[8], lastpower[8], both[8], inverse[8], end[2][8], share[2][8], out[8], dense[2][64];
  /* mu^(4 2^q); mu^(4 lane); from a lane's end to the end of the row */
  T step[5][8], reach[8][32], tail[8][32];
  /* of groups with even and odd numbers: ends of F, of B, F at the end of the row; less g_0,
     g_(n-1) where the end is a node-centred Neumann one */
  T ex[2][3][8][NW];
  /* a recurrence is felt after a whole warp; doublings for mode 0, modes 1 and 2, others */
  int far, steps[3];
  double sum[NW]; /* of a warp's columns of the solution, of planes that have a part in the mean */
};

template <typename T>
static __device__ __forceinline__ T power_of(T mu, int n)
{
  T v = 1;

  for (; n > 0; n >>= 1) {
    if (n & 1) v *= mu;
    mu *= mu;
  }
  return v;
}

/* where element e of a warp's row lies: four neighbours are read at once without bank conflicts */
template <typename T>
static __device__ __forceinline__ int rows_at(int e)
{
  return sizeof(T) == 8 ? e ^ (e >> 3 & 2) : e;
}
template <typename T>
static __device__ __forceinline__ void rows_get(const T *row, int lane, T *x)
{
  if constexpr (sizeof(T) == 8) {
    const double2 a = *(const double2 *)(row + rows_at<T>(4 * lane)),
                  b = *(const double2 *)(row + rows_at<T>(4 * lane + 2));

    x[0] = a.x;
    x[1] = a.y;
    x[2] = b.x;
    x[3] = b.y;
  } else {
    const float4 a = *(const float4 *)(row + 4 * lane);

    x[0] = a.x;
    x[1] = a.y;
    x[2] = a.z;
    x[3] = a.w;
  }
}
template <typename T>
static __device__ __forceinline__ void rows_put(T *row, int lane, const T *x)
{
  if constexpr (sizeof(T) == 8) {
    *(double2 *)(row + rows_at<T>(4 * lane)) = double2{x[0], x[1]};
    *(double2 *)(row + rows_at<T>(4 * lane + 2)) = double2{x[2], x[3]};
  } else *(float4 *)(row + 4 * lane) = float4{x[0], x[1], x[2], x[3]};
}

/* Groups first .. last - 1, as level0_groups(). S: separators, their right-hand sides (BACK = 0) or solutions */
template <typename T, int NW, int R, int BACK>
static __device__ __forceinline__ void rows_groups(const BCRCudaLevel0 &p, RowsShared<T, NW> &s, const T *f, T *u,
                                                   T *__restrict__ S, T *__restrict__ extra, int first, int last,
                                                   int kind, int h)
{
  constexpr int K = ROWS_K, CH = ROWS_CH;
  extern __shared__ __align__(16) char sm[];
  const int nw = blockDim.x >> 5, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  /* columns of a warp, of this one; last lane with any */
  const int CW = (p.nx + K * nw - 1) / (K * nw) * K, c0 = warp * CW, mine = min(CW, p.nx - c0), end = (CW >> 2) - 1;
  const bool rightmost = warp == nw - 1, periodic = p.mirror[0].sign == 0;
  /* the end row is its own image: it is not in what comes back */
  const bool own[2] = {p.mirror[0].sign != 0 && p.mirror[0].distance == 0,
                       p.mirror[1].sign != 0 && p.mirror[1].distance == 0};
  const T *tab = (const T *)p.tab + ((ptrdiff_t)blockIdx.z * 3 + kind) * BCR_CUDA_LEVEL0_TAB(8);
  const T inverse = BACK ? tab[BCR_CUDA_LEVEL0_INVERSE(8)] : (T)1;
  const bool sums = BACK && plane_wanted(p.mean, blockIdx.z);
  /* carry: what the separator before has from its left, BACK = 0 */
  T *buf = (T *)sm + warp * (CH * ROWS_OF(R)), *seps = buf + R * CH, *out = seps + 2 * CH, *carry = out + CH;

  auto row_of = [&](int g) { return g ? 8 * g - p.short0 : 0; };
  auto has_sep = [&](int g) { return g < p.ng - 1 || p.yperiodic || p.open[1]; };
  /* the row of S that is before the first group, if one is */
  const int prior = p.open[0] ? p.ng - 1 + p.open[1] : p.ng - 1;
  const bool begins = p.yperiodic || p.open[0];
  auto load = [&](T *to, const T *from, bool have) {
    if (mine == CH) {
#pragma unroll
      for (int q = 0; q < K; q++) copy_async(to + rows_at<T>(q * 32 + lane), from + q * 32, have);
    } else {
#pragma unroll
      for (int q = 0; q < K; q++) {
        const bool in = have && q * 32 + lane < mine;

        copy_async(to + rows_at<T>(q * 32 + lane), in ? from + q * 32 : f, in);
      }
    }
  };
  auto load_rows = [&](int g) {
    const T *from = f + (ptrdiff_t)row_of(g) * p.ldf + c0 + lane;

#pragma unroll
    for (int r = 0; r < R; r++) {
      if (R == 7 || r < h) load(buf + r * CH, from, true);
      from += p.ldf;
      asm volatile("" : "+l"(from)); /* addresses of all rows at once would take registers */
    }
  };
  auto load_separator =
    [&](int g) { /* after group g */
                 const int at = g < 0 ? prior : g;
                 const bool have = g < 0 ? begins : has_sep(g);

                 load(seps + (g & 1) * CH,
                      have ? (BACK ? S + (ptrdiff_t)at * p.ldd : f + (ptrdiff_t)(row_of(g) + h) * p.ldf) + c0 + lane
                           : f,
                      have);
    };
  auto store = [&](T *to, const T *row) {
#pragma unroll
    for (int q = 0; q < K; q++)
      if (mine == CH || q * 32 + lane < mine) to[c0 + q * 32 + lane] = row[rows_at<T>(q * 32 + lane)];
  };

  load_rows(first);
  T total = 0; /* of this thread's columns of the solution */
  for (int i = threadIdx.x; i < 8; i += blockDim.x) {
    const T m = i < h ? tab[i] : 0, c = 1 / (1 - m * m);
    T v = m * m;

    v *= v;
    s.mu[i] = m;
#pragma unroll
    for (int q = 0; q < 5; q++) {
      s.step[q][i] = v;
      v *= v;
    }
    s.power[i] = power_of(m, CW);
    s.lastpower[i] = power_of(m, p.nx - (nw - 1) * CW);
    s.both[i] = power_of(m, p.nx);
#pragma unroll
    for (int e = 0; e < 2; e++)
      s.end[e][i] = i >= h || periodic
                      ? (T)0
                      : (T)p.mirror[e].sign * (p.mirror[e].distance == 0 ? 1 / m : (p.mirror[e].distance == 1 ? 1 : m));
    s.inverse[i] = 1 / (1 - (periodic ? s.both[i] : (s.end[0][i] * s.both[i]) * (s.end[1][i] * s.both[i])));
    s.share[0][i] = i < h ? c * tab[BCR_CUDA_LEVEL0_SHARE(8) + i] : 0;
    s.share[1][i] = i < h ? c * tab[BCR_CUDA_LEVEL0_SHARE(8) + 8 + i] : 0;
    s.out[i] = i < h ? c * (R == 7 ? tab[BCR_CUDA_LEVEL0_OUT(8) + i] : (T)1) : 0;
  }
  if (R != 7)
    for (int i = threadIdx.x; i < 128; i += blockDim.x) s.dense[i / 64][i % 64] = tab[BCR_CUDA_LEVEL0_A(8) + i];
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) {
    const int j = i / 32, l = i % 32, left = p.nx - (nw - 1) * CW - 4 * (l + 1);
    T v = 1, w = left & 1 ? s.mu[j] : (T)1;

    if (left & 2) w *= s.mu[j] * s.mu[j];
#pragma unroll
    for (int q = 0; q < 5; q++) {
      const T m = s.step[q][j];

      if (l >> q & 1) v *= m;
      if (left >> (q + 2) & 1) w *= m;
    }
    s.reach[j][l] = v;
    s.tail[j][l] = left < 0 ? (T)0 : w;
  }
  if (threadIdx.x == 0) {
    const T eps = sizeof(T) == 8 ? (T)1e-17 : (T)1e-9;

    for (int k = 0; k < 3; k++) {
      int q = 0;

      for (int j = k == 0 ? 0 : (k == 1 ? 1 : 3); j < (k == 0 ? 1 : (k == 1 ? 3 : 8)); j++)
        while (q < 5 && s.step[q][j] > eps) q++;
      s.steps[k] = q;
    }
    s.far = 0;
    for (int j = 0; j < 8; j++)
      if (s.power[j] > eps || s.lastpower[j] > eps) s.far = 1;
  }
  __syncthreads();
  const int q0 = s.steps[0], q1 = s.steps[1], q2 = s.steps[2];
  const bool far = s.far;

  if (BACK) {
    bcr_wait_before(); /* for separators */
    load_separator(first - 1);
  }
  load_separator(first);
  copy_commit();
  for (int g = first; g < last; g++) {
    T x[R][K], F[R], B[R];

    copy_wait();
    __syncwarp();
#pragma unroll
    for (int r = 0; r < R; r++) {
      if (R == 7 || r < h) rows_get(buf + r * CH, lane, x[r]);
      else {
#pragma unroll
        for (int i = 0; i < K; i++) x[r][i] = 0;
      }
    }
    if (BACK) {
      T left[K], right[K];

      if (p.sub && (int)blockIdx.z == p.subplane) { /* a singular operator: what f loses, in columns that there are */
        const T sub = (T)(p.subfactor * *p.sub);

#pragma unroll
        for (int i = 0; i < K; i++) {
#pragma unroll
          for (int r = 0; r < R; r++)
            if (R == 7 || r < h) x[r][i] -= K * lane + i < mine ? sub : (T)0;
        }
      }

      rows_get(seps + (~g & 1) * CH, lane, left);
      rows_get(seps + (g & 1) * CH, lane, right);
#pragma unroll
      for (int i = 0; i < K; i++) {
        x[0][i] += inverse * left[i];
        if (R == 7) x[R - 1][i] += inverse * right[i];
        else {
#pragma unroll
          for (int r = 0; r < R; r++) x[r][i] += (r == h - 1 ? inverse : (T)0) * right[i];
        }
      }
      if (has_sep(g)) store(u + (ptrdiff_t)(row_of(g) + h) * p.ldu, seps + (g & 1) * CH);
      if (sums && has_sep(g)) {
#pragma unroll
        for (int i = 0; i < K; i++) total += K * lane + i < mine ? right[i] : (T)0;
      }
    }
    __syncwarp();
    if (g + 1 < last) {
      load_rows(g + 1);
      load_separator(g + 1);
      copy_commit();
    }
    /* modes */
#pragma unroll
    for (int i = 0; i < K; i++) {
      T v[R];

#pragma unroll
      for (int r = 0; r < R; r++) v[r] = x[r][i];
      if constexpr (R == 7) sine<7>(v);
      else {
#pragma unroll
        for (int j = 0; j < R; j++) {
          T sum = 0;

#pragma unroll
          for (int r = 0; r < R; r++) sum += s.dense[0][8 * j + r] * x[r][i];
          v[j] = sum;
        }
      }
#pragma unroll
      for (int r = 0; r < R; r++) x[r][i] = v[r];
    }
    /* both recurrences over the lanes */
#pragma unroll
    for (int j = 0; j < R; j++) {
      const T mu = s.mu[j];

      F[j] = x[j][0];
      B[j] = x[j][K - 1];
#pragma unroll
      for (int i = 1; i < K; i++) {
        F[j] = x[j][i] + mu * F[j];
        B[j] = x[j][K - 1 - i] + mu * B[j];
      }
    }
    auto doubling = [&](int j, int q) {
      const T t = __shfl_up_sync(BCR_FULL, F[j], 1 << q), v = __shfl_down_sync(BCR_FULL, B[j], 1 << q),
              w = s.step[q][j];

      F[j] += (lane >= 1 << q ? w : (T)0) * t;
      B[j] += (lane + (1 << q) < 32 ? w : (T)0) * v;
    };
#pragma unroll
    for (int q = 0; q < 5; q++) {
      if (q < q0) doubling(0, q);
      if (q < q1) {
        doubling(1, q);
        doubling(2, q);
      }
      if (q < q2) {
#pragma unroll
        for (int j = 3; j < R; j++) doubling(j, q);
      }
    }
    T(*ex)[8][NW] = s.ex[(g - first) & 1];
#pragma unroll
    for (int j = 0; j < R; j++) {
      if (lane == end) ex[0][j][warp] = F[j];
      if (lane == 0) ex[1][j][warp] = warp == 0 && own[0] ? B[j] - x[j][0] : B[j];
      F[j] = __shfl_up_sync(BCR_FULL, F[j], 1);
      B[j] = __shfl_down_sync(BCR_FULL, B[j], 1);
      if (lane == 0) F[j] = 0;
      if (lane == 31) B[j] = 0;
    }
    if (rightmost && lane == (mine - 1) >> 2) { /* F at the end of the row */
#pragma unroll
      for (int j = 0; j < R; j++) {
        T v = F[j];

#pragma unroll
        for (int i = 0; i < K; i++) {
          const bool minus = K * lane + i == mine - 1 && own[1];

          v = K * lane + i < mine ? (minus ? (T)0 : x[j][i]) + s.mu[j] * v : v;
        }
        ex[2][j][0] = v;
      }
    }
    if (nw > 1) __syncthreads();
    else __syncwarp();
    const T *right = rightmost ? &s.tail[0][lane] : &s.reach[0][max(end - lane, 0)];

#pragma unroll
    for (int j = 0; j < R; j++) {
      const T e0 = s.end[0][j], e1 = s.end[1][j], b0 = ex[1][j][0], fn = ex[2][j][0];
      T l, r; /* F before the warp's first column, B behind its last one */

      if (nw == 1) {
        l = s.inverse[j] * (periodic ? fn : e0 * (b0 + e1 * s.both[j] * fn));
        r = s.inverse[j] * (periodic ? b0 : e1 * (fn + e0 * s.both[j] * b0));
      } else {
        const T before = periodic ? fn : e0 * b0, behind = periodic ? b0 : e1 * fn;

        l = warp ? ex[0][j][warp - 1] : before;
        r = rightmost ? behind : ex[1][j][warp + 1];
        if (far) {
          const T P = s.power[j], Q = s.lastpower[j];

          l += warp ? P * (warp > 1 ? ex[0][j][warp - 2] : before)
                    : (periodic ? Q * ex[0][j][nw - 2] : e0 * P * ex[1][j][1]);
          r += rightmost ? (periodic ? P * ex[1][j][1] : e1 * Q * ex[0][j][warp - 1])
                         : (warp + 2 < nw ? P * ex[1][j][warp + 2] : Q * behind);
        }
      }
      F[j] += l * s.reach[j][lane];
      B[j] += r * right[j * 32];
      if (rightmost) { /* a column beyond the end has what the end takes */
#pragma unroll
        for (int i = 0; i < K; i++) x[j][i] = K * lane + i == mine ? r : x[j][i];
      }
    }
#pragma unroll
    for (int j = 0; j < R; j++) {
      const T mu = s.mu[j];
      T b[K], v = F[j];

      b[K - 1] = B[j];
#pragma unroll
      for (int i = K - 1; i > 0; i--) b[i - 1] = x[j][i] + mu * b[i];
#pragma unroll
      for (int i = 0; i < K; i++) {
        v = x[j][i] + mu * v;
        x[j][i] = v + mu * b[i];
      }
    }
    if (!BACK) {
      T v[K], w[K], sep[K];

      rows_get(seps + (g & 1) * CH, lane, sep);
      rows_get(carry, lane, v);
#pragma unroll
      for (int i = 0; i < K; i++) {
        T even = 0, odd = 0; /* modes that are alike, and that differ in sign, at both ends of the group */

#pragma unroll
        for (int j = 0; j < R; j++) {
          if (R == 7) {
            if (j & 1) odd += s.share[0][j] * x[j][i];
            else even += s.share[0][j] * x[j][i];
          } else { /* weights of either end */
            even += s.share[0][j] * x[j][i];
            odd += s.share[1][j] * x[j][i];
          }
        }
        v[i] = (g > first ? v[i] : (T)0) + (R == 7 ? even + odd : even);
        w[i] = sep[i] + (R == 7 ? even - odd : odd);
      }
      rows_put(carry, lane, w);
      rows_put(out, lane, v);
      __syncwarp();
      /* the strip's first one goes where the transform adds it */
      if (g > 0 || begins)
        store(g > first ? S + (ptrdiff_t)(g - 1) * p.ldd : (g == 0 && p.open[0] ? S + (ptrdiff_t)prior * p.ldd : extra),
              out);
    } else {
#pragma unroll
      for (int i = 0; i < K; i++) {
        T v[R];

#pragma unroll
        for (int j = 0; j < R; j++) v[j] = s.out[j] * x[j][i];
        if constexpr (R == 7) sine<7>(v);
        else {
          T w[R] = {};

#pragma unroll
          for (int r = 0; r < R; r++) {
#pragma unroll
            for (int j = 0; j < R; j++) w[r] += s.dense[1][8 * r + j] * v[j];
          }
#pragma unroll
          for (int r = 0; r < R; r++) v[r] = w[r];
        }
#pragma unroll
        for (int r = 0; r < R; r++) x[r][i] = v[r];
      }
      if (sums) {
#pragma unroll
        for (int i = 0; i < K; i++) {
#pragma unroll
          for (int r = 0; r < R; r++) total += K * lane + i < mine && (R == 7 || r < h) ? x[r][i] : (T)0;
        }
      }
      T *to = u + (ptrdiff_t)row_of(g) * p.ldu;

#pragma unroll
      for (int r = 0; r < R; r++) {
        if (R == 7 || r < h) {
          T *row = out + (r & 1 ? CH : 0);

          if (R != 7) __syncwarp();
          rows_put(row, lane, x[r]);
          __syncwarp();
          store(to, row);
          to += p.ldu;
          asm volatile("" : "+l"(to));
        }
      }
      __syncwarp();
    }
  }
  if (sums) {
    double v = bcr_warp_sum((double)total);

    if (lane == 0) s.sum[warp] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
      v = 0;
      for (int q = 0; q < nw; q++) v += s.sum[q];
      plane_part(p.mean, blockIdx.z, blockIdx.z * gridDim.y + blockIdx.y, v);
    }
    if (threadIdx.x < 32) plane_done(p.mean);
  }
  if (!BACK && last > first && has_sep(last - 1)) { /* the right end of the strip */
    __syncwarp();
    store(S + (ptrdiff_t)(last - 1) * p.ldd, carry);
  }
}

template <typename T, int NW, int BACK>
static __device__ __noinline__ void rows_irregular(const BCRCudaLevel0 &p, RowsShared<T, NW> &s, const T *f, T *u, T *S,
                                                   T *extra, int g, int kind, int h)
{
  rows_groups<T, NW, 8, BACK>(p, s, f, u, S, extra, g, g + 1, kind, h);
}

/* Blocks of y: strips of regular groups, then the first and the last group where they are not regular. u may be f */
template <typename T, int NW, int BACK, int MINB>
__global__ void __launch_bounds__(32 * NW, MINB)
  level0_rows(const __grid_constant__ BCRCudaLevel0 p, const T *f, T *u, T *S, T *extra)
{
  __shared__ RowsShared<T, NW> s;
  const int strip = blockIdx.y;

  f += blockIdx.z * p.fplane;
  u += blockIdx.z * p.uplane;
  S += blockIdx.z * p.dplane;
  extra += blockIdx.z * p.eplane + min(strip, p.strips) * p.ldd;
  if (strip < p.strips) {
    const int first = p.g0 + strip * p.per;

    rows_groups<T, NW, 7, BACK>(p, s, f, u, S, extra, first, min(first + p.per, p.g1), 0, 7);
  } else {
    const int end = p.g0 && strip == p.strips ? 0 : 1, g = end ? p.ng - 1 : 0;

    rows_irregular<T, NW, BACK>(p, s, f, u, S, extra, g, 1 + end, end ? p.hlast : 7 - p.short0);
  }
  if (!BACK) bcr_go_after();
}
