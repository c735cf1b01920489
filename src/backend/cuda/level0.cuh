/*
  Level 0 of the default plan on the device (docs/method.md, section 4): groups of seven block rows between separators are eliminated
  (BACK = 0) or substituted back (BACK = 1) in physical space. A block has a tile of columns, with a halo on either side after which the
  recurrences along the row have forgotten what was before, and goes through a strip of groups, the next one on its way to shared memory
  while one is in registers. Ends along the row are reflections, ends along the blocks other eigenvectors: those groups are not regular,
  have R = 8 rows at most, and a launch of their own.
*/
#pragma once

#include "common.cuh"

#define BCR_FULL 0xffffffffu

template <typename T>
static __device__ __forceinline__ void copy_async(T *shared, const T *global, bool valid)
{
  const unsigned s = (unsigned)__cvta_generic_to_shared(shared);

  if (sizeof(T) == 8) asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(s), "l"(global), "r"(valid ? 8 : 0) : "memory");
  else asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(s), "l"(global), "r"(valid ? 4 : 0) : "memory");
}
static __device__ __forceinline__ void copy_commit()
{
  asm volatile("cp.async.commit_group;" ::: "memory");
}
static __device__ __forceinline__ void copy_wait()
{
  asm volatile("cp.async.wait_group 0;" ::: "memory");
}

/* sum over p of sin((p + 1)(j + 1) pi/8) x_p, in place */
template <typename T>
static __device__ __forceinline__ void sine7(T *x)
{
  const T s1 = (T)0.38268343236508977173, s2 = (T)0.70710678118654752440, s3 = (T)0.92387953251128675613;
  const T a1 = x[0] + x[6], a2 = x[1] + x[5], a3 = x[2] + x[4], b1 = x[0] - x[6], b2 = x[1] - x[5], b3 = x[2] - x[4], c = x[3];
  const T d = s2 * (a2), e = b1 + b3;

  x[0] = s1 * a1 + d + s3 * a3 + c;
  x[2] = s3 * a1 + d - s1 * a3 - c;
  x[4] = s3 * a1 - d - s1 * a3 + c;
  x[6] = s1 * a1 - d + s3 * a3 - c;
  x[1] = s2 * e + b2;
  x[3] = b1 - b3;
  x[5] = s2 * e - b2;
}

/* where column col of the line that goes on beyond its ends lies; 0 where it is zero, else its sign */
static __device__ __forceinline__ int reflect(int *col, int n, int e0, int e1)
{
  int c = *col, sign = 1;

  if (e0 == BCR_CUDA_PERIODIC) {
    c %= n;
    if (c < 0) c += n;
  } else {
    while (c < 0 || c >= n) {
      if (c < 0) {
        if (e0 == BCR_CUDA_DIRICHLET && c == -1) {
          *col = 0;
          return 0;
        }
        c = e0 == BCR_CUDA_DIRICHLET ? -2 - c : (e0 == BCR_CUDA_NEUMANN ? -c : -1 - c);
        if (e0 == BCR_CUDA_DIRICHLET || e0 == BCR_CUDA_CELL_DIRICHLET) sign = -sign;
      } else {
        if (e1 == BCR_CUDA_DIRICHLET && c == n) {
          *col = 0;
          return 0;
        }
        c = e1 == BCR_CUDA_DIRICHLET ? 2 * n - c : (e1 == BCR_CUDA_NEUMANN ? 2 * n - 2 - c : 2 * n - 1 - c);
        if (e1 == BCR_CUDA_DIRICHLET || e1 == BCR_CUDA_CELL_DIRICHLET) sign = -sign;
      }
    }
  }
  *col = c;
  return sign;
}

/* K columns a thread, NT threads; R rows in a group: 7 regular, 8 not. Shared memory: (R + 2) rows of 32 K columns for each warp. */
template <typename T, int K, int NT, int R, int BACK, int MINB>
__global__ void __launch_bounds__(NT, MINB) level0(BCRCudaLevel0 p, const T *__restrict__ f, T *__restrict__ u, T *__restrict__ D, T *__restrict__ extra, int g0, int g1, int per, int slot0)
{
  constexpr int NW = NT / 32, CH = 32 * K, NEAR = CH >= 200 ? 2 : (NW < 5 ? NW - 1 : 4); /* mu^(halo) is below rounding, and 2 halo < NW CH */
  extern __shared__ __align__(16) char sm[];
  __shared__ T  ex[2][R][NW], mus[6][R], power[R][32];
  __shared__ T  dense[R == 7 ? 1 : 2 * 64];
  const int     lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int     first = g0 + blockIdx.y * per, last = min(first + per, g1);
  const int     H = p.halo, U = CH * NW - 2 * H, lo = blockIdx.x * U, hi = min(p.nx, lo + U), c0 = lo - H + warp * CH, kind = R == 7 ? 0 : p.kind;
  const T      *tab = (const T *)p.tab + ((ptrdiff_t)blockIdx.z * 3 + kind) * BCR_CUDA_LEVEL0_TAB;
  T            *buf = (T *)sm + warp * (CH * (R + 2)), *stg = buf + (R + 1) * CH;
  const bool    inner = c0 >= 0 && c0 + CH <= p.nx, outside = c0 >= hi + H;
  const int     h     = R == 7 ? 7 : p.h;
  T             mu[R], mk[R];
  T             x[R][K], carry[K];
  T             sub = 0;
  const T       inverse = BACK ? tab[176] : (T)1;
  int          *cols = (int *)(sm + sizeof(T) * NW * CH * (R + 2)) + warp * CH; /* of tiles at the ends: where each column lies, 2 col + (sign < 0), -1: zero */

  f += blockIdx.z * p.fplane;
  u += blockIdx.z * p.uplane;
  D += blockIdx.z * p.dplane;
  extra += blockIdx.z * p.eplane;
  for (int i = threadIdx.x; i < 6 * R; i += NT) mus[i / R][i % R] = tab[(i / R) * 8 + i % R]; /* mu, mu^K, mu^(32 K), weights, scales, - */
  if (R != 7)
    for (int i = threadIdx.x; i < 128; i += NT) dense[i] = tab[48 + i];
  for (int i = threadIdx.x; i < 32 * R; i += NT) { /* mu^(K lane) */
    T v = 1, b = tab[8 + i / 32];

    for (int q = i % 32; q; q >>= 1) {
      if (q & 1) v *= b;
      b *= b;
    }
    power[i / 32][i % 32] = v;
  }
  if (!inner) {
    for (int q = lane; q < CH; q += 32) {
      int       c    = c0 + q;
      const int sign = outside ? 0 : reflect(&c, p.nx, p.end[0], p.end[1]);

      cols[q] = sign ? 2 * c + (sign < 0) : -1;
    }
  }
  __syncthreads();
#pragma unroll
  for (int j = 0; j < R; j++) {
    mu[j] = mus[0][j];
    mk[j] = mus[1][j];
  }
  if (BACK && p.sub && (int)blockIdx.z == p.subplane) sub = (T)(p.subfactor * *p.sub);

  auto row_of = [&](int g) { return g ? 8 * g - p.short0 : 0; };
  auto load   = [&](T *to, const T *from, bool have) { /* a row of the tile */
    if (inner) {
      const T *s = from + c0 + lane;

#pragma unroll
      for (int q = 0; q < K; q++) copy_async(to + q * 32 + lane, s + q * 32, have);
    } else {
#pragma unroll
      for (int q = 0; q < K; q++) {
        const int c = cols[q * 32 + lane];

        copy_async(to + q * 32 + lane, from + (c < 0 ? 0 : c >> 1), have && c >= 0);
      }
    }
  };
  auto sep_row = [&](int s) { return row_of(s) + (s == 0 ? 7 - p.short0 : (s == p.ng - 1 ? p.hlast : 7)); }; /* row of u that separator s is */
  auto has_sep = [&](int g) { return g < p.ng - 1 || p.yperiodic; };
  auto load_group = [&](int g) {
    const T *s = f + (ptrdiff_t)row_of(g) * p.ldf;

#pragma unroll
    for (int r = 0; r < R; r++)
      if (R == 7 || r < h) load(buf + r * CH, s + (ptrdiff_t)r * p.ldf, true);
    if (!BACK) load(buf + R * CH, has_sep(g) ? s + (ptrdiff_t)h * p.ldf : f, has_sep(g));
    else load(buf + R * CH, has_sep(g) ? u + (ptrdiff_t)sep_row(g) * p.ldu : u, has_sep(g));
  };

  if (BACK) {
    const bool have = first > 0 || p.yperiodic;

    load(stg, have ? u + (ptrdiff_t)sep_row(first > 0 ? first - 1 : p.ng - 1) * p.ldu : u, have);
  }
  load_group(first);
  copy_commit();
  for (int g = first; g < last; g++) {
    T sep[K];

    copy_wait();
    __syncwarp();
    if (BACK && g == first) {
#pragma unroll
      for (int i = 0; i < K; i++) carry[i] = inverse * stg[lane * K + i];
    }
#pragma unroll
    for (int i = 0; i < K; i++) {
#pragma unroll
      for (int r = 0; r < R; r++) {
        x[r][i] = R == 7 || r < h ? buf[r * CH + lane * K + i] : (T)0;
        if (BACK && (R == 7 || r < h)) x[r][i] -= sub;
      }
      sep[i] = buf[R * CH + lane * K + i];
      if (BACK) {
        sep[i] *= inverse;
        x[0][i] += carry[i];
        if (R == 7) x[R - 1][i] += sep[i];
        else {
#pragma unroll
          for (int r = 0; r < R; r++)
            if (r == h - 1) x[r][i] += sep[i];
        }
        carry[i] = sep[i];
      }
    }
    __syncwarp();
    if (g + 1 < last) {
      load_group(g + 1);
      copy_commit();
    }
    if (!inner && !outside) {
#pragma unroll
      for (int i = 0; i < K; i++) {
        if (cols[lane * K + i] & 1) { /* zeros have a minus sign too */
#pragma unroll
          for (int r = 0; r < R; r++) x[r][i] = -x[r][i];
        }
      }
    }
    /* modes */
#pragma unroll
    for (int i = 0; i < K; i++) {
      T v[R];

      if (R == 7) {
#pragma unroll
        for (int r = 0; r < R; r++) v[r] = x[r][i];
        sine7(v);
      } else {
#pragma unroll
        for (int j = 0; j < R; j++) {
          T sum = 0;

#pragma unroll
          for (int r = 0; r < R; r++) sum += dense[8 * j + r] * x[r][i];
          v[j] = sum;
        }
      }
#pragma unroll
      for (int r = 0; r < R; r++) x[r][i] = v[r];
    }
    /* forward and backward along the row: in the thread, over the lanes, over the warps */
#pragma unroll
    for (int dir = 0; dir < 2; dir++) {
      T cc[R];

#pragma unroll
      for (int j = 0; j < R; j++) {
        T pk = mk[j];

        if (dir == 0) {
#pragma unroll
          for (int i = 1; i < K; i++) x[j][i] += mu[j] * x[j][i - 1];
          cc[j] = x[j][K - 1];
        } else {
#pragma unroll
          for (int i = K - 2; i >= 0; i--) x[j][i] += mu[j] * x[j][i + 1];
          cc[j] = x[j][0];
        }
#pragma unroll
        for (int q = 0; q < 5; q++) {
          const int s = 1 << q;

          if (R != 7 || q < p.steps[j]) { /* else mu^(K s) is below rounding */
            const T t = dir == 0 ? __shfl_up_sync(BCR_FULL, cc[j], s) : __shfl_down_sync(BCR_FULL, cc[j], s);

            if (dir == 0 ? lane >= s : lane + s < 32) cc[j] += pk * t;
            pk *= pk;
          }
        }
        if (lane == (dir == 0 ? 31 : 0)) ex[dir][j][warp] = cc[j];
        cc[j] = dir == 0 ? __shfl_up_sync(BCR_FULL, cc[j], 1) : __shfl_down_sync(BCR_FULL, cc[j], 1);
        if (lane == (dir == 0 ? 0 : 31)) cc[j] = 0;
      }
      __syncthreads();
#pragma unroll
      for (int j = 0; j < R; j++) {
        T C = 0;

#pragma unroll
        for (int w = NEAR; w > 0; w--) { /* what warps further away have is forgotten here */
          const int  o    = dir == 0 ? warp - w : warp + w;
          const bool have = dir == 0 ? o >= 0 : o < NW;

          C = (w < NEAR ? C * mus[2][j] : (T)0) + (have ? ex[dir][j][have ? o : 0] : (T)0);
        }
        C = cc[j] + C * power[j][dir == 0 ? lane : 31 - lane];
        if (dir == 0) {
#pragma unroll
          for (int i = 0; i < K; i++) {
            C *= mu[j];
            x[j][i] += C;
          }
        } else {
#pragma unroll
          for (int i = K - 1; i >= 0; i--) {
            C *= mu[j];
            x[j][i] += C;
          }
        }
      }
    }
    if (!BACK) {
      const bool left = g > 0 || p.yperiodic;

#pragma unroll
      for (int i = 0; i < K; i++) {
        T even = 0, odd = 0; /* modes that are alike, and that differ in sign, at both ends of the group */

#pragma unroll
        for (int j = 0; j < R; j++) {
          if (R == 7) {
            if (j & 1) odd += mus[3][j] * x[j][i];
            else even += mus[3][j] * x[j][i];
          } else { /* weights of either end */
            even += mus[3][j] * x[j][i];
            odd += mus[4][j] * x[j][i];
          }
        }
        stg[lane * K + i] = (g > first ? carry[i] : (T)0) + (R == 7 ? even + odd : even);
        carry[i]          = sep[i] + (R == 7 ? even - odd : odd);
      }
      __syncwarp();
      if (left) { /* the strip's first one goes where the transform adds it */
        T *to = g > first ? D + (ptrdiff_t)(g - 1) * p.ldd : extra + (ptrdiff_t)(slot0 + blockIdx.y) * p.ldd;

#pragma unroll
        for (int q = 0; q < K; q++) {
          const int c = c0 + q * 32 + lane;

          if (c >= lo && c < hi) to[c] = stg[q * 32 + lane];
        }
      }
      __syncwarp();
    } else {
#pragma unroll
      for (int i = 0; i < K; i++) {
        T v[R];

        if (R == 7) {
#pragma unroll
          for (int r = 0; r < R; r++) v[r] = mus[5][r] * x[r][i];
          sine7(v);
        } else {
#pragma unroll
          for (int r = 0; r < R; r++) {
            T sum = 0;

#pragma unroll
            for (int j = 0; j < R; j++) sum += dense[64 + 8 * r + j] * x[j][i];
            v[r] = sum;
          }
        }
#pragma unroll
        for (int r = 0; r < R; r++) x[r][i] = v[r];
      }
      T *to = u + (ptrdiff_t)row_of(g) * p.ldu;

#pragma unroll
      for (int r = 0; r < R; r++) {
        if (R == 7 || r < h) {
#pragma unroll
          for (int i = 0; i < K; i++) stg[lane * K + i] = x[r][i];
          __syncwarp();
#pragma unroll
          for (int q = 0; q < K; q++) {
            const int c = c0 + q * 32 + lane;

            if (c >= lo && c < hi) to[(ptrdiff_t)r * p.ldu + c] = stg[q * 32 + lane];
          }
          __syncwarp();
        }
      }
    }
  }
  if (!BACK && last > first && has_sep(last - 1)) { /* the right end of the strip */
#pragma unroll
    for (int i = 0; i < K; i++) stg[lane * K + i] = carry[i];
    __syncwarp();
#pragma unroll
    for (int q = 0; q < K; q++) {
      const int c = c0 + q * 32 + lane;

      if (c >= lo && c < hi) D[(ptrdiff_t)(last - 1) * p.ldd + c] = stg[q * 32 + lane];
    }
  }
}

template <typename T, int K, int NT, int R, int BACK, int MINB>
static int level0_launch(const BCRCudaLevel0 *p, int g0, int g1, int per, int slot0, const void *f, void *u, void *D, void *extra, cudaStream_t st)
{
  const size_t bytes = ((size_t)(R + 2) * sizeof(T) + sizeof(int)) * K * NT;
  const int    U = K * NT - 2 * p->halo;
  const dim3   grid((unsigned)((p->nx + U - 1) / U), (unsigned)((g1 - g0 + per - 1) / per), (unsigned)p->planes);
  cudaError_t  e = cudaFuncSetAttribute((const void *)level0<T, K, NT, R, BACK, MINB>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);

  if (e != cudaSuccess) return (int)e;
  level0<T, K, NT, R, BACK, MINB><<<grid, NT, bytes, st>>>(*p, (const T *)f, (T *)u, (T *)D, (T *)extra, g0, g1, per, slot0);
  return (int)cudaGetLastError();
}
