/*
  A group of level 0 that is not regular (level0.cuh): the first or the last one, of h <= Q rows,
  with eigenvectors of its own. A block does one such group beside others that have many regular
  ones, and only must not be the last to end: code that is run once takes five cycles or more for an
  instruction to come, so there are few of them. Modes are taken one after another, from rows in
  shared memory to sums or solutions in registers.
*/
#pragma once

template <typename T, int K, int NT, int Q, int BACK>
static __device__ __noinline__ void level0_end(const Level0Args<T, K, Q - 1> &a, const T *f, T *u, T *D, T *extra,
                                               int g, int kind, int h)
{
  constexpr int M = BCR_CUDA_LEVEL0_MOST(Q), NW = NT / 32, CH = 32 * K, ADD = BACK == 2;
  extern __shared__ __align__(16) char sm[];
  __shared__ T ex[2][2][NW];
  __shared__ double part[NW];
  const BCRCudaLevel0 &p = a.p;
  const int lane = threadIdx.x & 31, warp = bcr_warp(), columnbegin = blockIdx.x * a.width,
            columnend = min(p.nx, columnbegin + a.width), c0 = columnbegin - p.halo + warp * CH;
  /* separators */
  const bool after = g < p.ng - 1 || p.yperiodic || p.open[1] || p.sepend, before = g > 0 || p.yperiodic || p.open[0];
  const ptrdiff_t row = g ? Q * g - p.short0 : 0;
  const T *tab = (const T *)p.tab + ((ptrdiff_t)blockIdx.z * 3 + kind) * BCR_CUDA_LEVEL0_TAB(M);
  /* rows, then the separators after and before */
  T *buf = (T *)sm + warp * (CH * (Q + 2)), *own = buf + lane * K;
  /* as in level0_groups() */
  int *cols = (int *)((T *)sm + NT * K * (Q + 2)) + warp * CH;
  /* solution, or what both separators get */
  T y[BACK ? Q : 2][K] = {};

  auto load = [&](int r, const T *from, bool have) {
#pragma unroll
    for (int q = 0; q < K; q++) {
      const int c = cols[q * 32 + lane];

      copy_async(buf + r * CH + q * 32 + lane, have && c >= 0 ? from + (c >> 1) : f, have && c >= 0);
    }
  };
  auto store = [&](T *to, const T *from) {
#pragma unroll
    for (int q = 0; q < K; q++) {
      const int c = c0 + q * 32 + lane;

      if (c >= columnbegin && c < columnend) to[c] = from[q * 32 + lane];
    }
  };

#pragma unroll 1
  for (int q = lane; q < CH; q += 32) {
    int c = c0 + q;
    const int sign = c0 >= columnend + p.halo ? 0 : reflect(&c, p.nx, p.mirror[0], p.mirror[1]);

    cols[q] = sign ? 2 * c + (sign < 0) : -1;
  }
  __syncwarp();
#pragma unroll 1
  for (int r = 0; r < Q; r++) load(r, f + (row + r) * p.ldf, r < h);
  if (BACK) {
    bcr_wait_before();
    load(Q, ADD ? D + (ptrdiff_t)g * p.ldd : u + (row + h) * p.ldu, after);
    load(Q + 1,
         g == 0 ? level0_before<Q - 1, ADD>(p, (const T *)u, (const T *)D)
                : (ADD ? D + (ptrdiff_t)(g - 1) * p.ldd : u + (row - 1) * p.ldu),
         before);
  } else load(Q, f + (row + h) * p.ldf, after);
  copy_commit();
  if (ADD) level0_add_begin(p, NT, part);
  const double add = ADD ? level0_add_end<NW>(p, part) : 0;

  copy_wait();
  __syncwarp();
  if (!BACK && p.early) bcr_go_after();
  const T inverse = tab[BCR_CUDA_LEVEL0_INVERSE(M)],
          sub = BACK && p.sub && (int)blockIdx.z == p.subplane ? (T)(p.subfactor * *p.sub) : (T)0;

  const bool sums = !BACK && p.sums && (int)blockIdx.z == p.subplane;
  unsigned mine = 0, half = 0;
  double green = 0; /* of the tile's columns */

#pragma unroll 1
  for (int i = 0; i < K; i++) { /* right-hand side, continued beyond the ends of the row */
    const int c = cols[lane * K + i];
    const T sign = c >= 0 && (c & 1) ? (T)-1 : (T)1;

    if (ADD && after) own[Q * CH + i] = (T)(add + own[Q * CH + i]);
    if (ADD && before) own[(Q + 1) * CH + i] = (T)(add + own[(Q + 1) * CH + i]);
#pragma unroll 1
    for (int r = 0; r < h; r++) {
      T v = own[r * CH + i] - sub;

      if (BACK && r == 0) v += inverse * own[(Q + 1) * CH + i];
      if (BACK && r == h - 1) v += inverse * own[Q * CH + i];
      own[r * CH + i] = sign * v;
    }
  }
  if (!BACK && sums) {
    level0_own<K>(p, c0 + lane * K, columnbegin, columnend, &mine, &half);
#pragma unroll 1
    for (int r = 0; r < h; r++) {
      T s = 0;

#pragma unroll
      for (int i = 0; i < K; i++) s += mine >> i & 1 ? (half >> i & 1 ? (T)0.5 : (T)1) * own[r * CH + i] : (T)0;
      green += tab[BCR_CUDA_LEVEL0_GREEN(M) + r] * s;
    }
  }
#pragma unroll 1
  for (int j = 0; j < h; j++) {
    const T mu = tab[j];
    T v[K], power = mu;

#pragma unroll
    for (int i = 0; i < K; i++) v[i] = 0;
#pragma unroll
    for (int r = 0; r < Q; r++) {
      const T w = tab[BCR_CUDA_LEVEL0_A(M) + M * j + r];

#pragma unroll
      for (int i = 0; i < K; i++) v[i] += w * own[r * CH + i];
    }
#pragma unroll
    for (int i = 1; i < K; i++) power *= mu;
#pragma unroll 1
    for (int dir = 0; dir < 2; dir++) { /* along the row and, backwards, back */
      const int at = dir ? 31 - lane : lane, w = dir ? NW - 1 - warp : warp;
      T c, s = power, reach = 1;

#pragma unroll
      for (int i = 1; i < K; i++) v[i] += mu * v[i - 1];
      c = v[K - 1];
#pragma unroll 1
      for (int q = 1; q < 32; q *= 2) {
        const T t = __shfl_sync(BCR_FULL, c, dir ? lane + q : lane - q);

        if (at >= q) c += s * t;
        if (at & q) reach *= s;
        s *= s;
      }
      if (at == 31) ex[dir][j & 1][w] = c;
      c = __shfl_sync(BCR_FULL, c, dir ? lane + 1 : lane - 1);
      if (at == 0) c = 0;
      __syncthreads();
      if (w > 0) c += ex[dir][j & 1][w - 1] * reach;
      if (w > 1) c += ex[dir][j & 1][w - 2] * s * reach; /* what warps further away have is forgotten */
#pragma unroll
      for (int i = 0; i < K; i++) {
        c *= mu;
        v[i] += c;
      }
#pragma unroll
      for (int i = 0; i < K / 2; i++) {
        const T t = v[i];

        v[i] = v[K - 1 - i];
        v[K - 1 - i] = t;
      }
    }
    if (!BACK && sums && half) {
#pragma unroll
      for (int i = 0; i < K; i++)
        if (half >> i & 1) green += tab[BCR_CUDA_LEVEL0_ENDS(M) + j] * v[i];
    }
#pragma unroll
    for (int r = 0; r < (BACK ? Q : 2); r++) {
      const T w = tab[(BACK ? BCR_CUDA_LEVEL0_S(M) : BCR_CUDA_LEVEL0_SHARE(M)) + M * r + j];

#pragma unroll
      for (int i = 0; i < K; i++) y[r][i] += w * v[i];
    }
  }
  if (!BACK && sums) level0_sum(p, green, NW);
#pragma unroll
  for (int r = 0; r < (BACK ? Q : 2); r++) {
#pragma unroll
    for (int i = 0; i < K; i++) own[r * CH + i] = y[r][i] + (!BACK && r == 1 ? own[Q * CH + i] : (T)0);
  }
  __syncwarp();
  if (BACK) {
#pragma unroll 1
    for (int r = 0; r < h; r++) store(u + (row + r) * p.ldu, buf + r * CH);
    if (ADD && after) store(u + (row + h) * p.ldu, buf + Q * CH);
  } else {
    if (before) store(g == 0 && p.open[0] ? D + (ptrdiff_t)(p.ng - 1 + p.open[1]) * p.ldd : extra, buf);
    if (after) store(D + (ptrdiff_t)g * p.ldd, buf + CH);
  }
}
