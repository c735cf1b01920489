/* box_rows() of box.cuh where the lines go on on other ranks: what the planes leave for the
   interfaces is sent, and what comes back is waited for, while they stay on chip. Planes go in the
   same order everywhere, so that those that wait are those that others are at. Blocks begin in
   their order, as all kernels with a look back need it */
#include "boxlaunch.cuh"
#include "reduced.cuh"

/* cluster_lines() with open ends. X: 2 N more numbers in shared memory */
template <typename T, int K, int N, typename At>
static __device__ __forceinline__ void cluster_open(const BCRCudaBoxPlanes &p, const BCRReduced &red, bool active,
                                                    int k, int plane, int rank, int nrank, const double *t, T *E,
                                                    double *X, At at)
{
  constexpr int stride = N - 1;
  const int rows = max(0, min(K, p.n - rank * K)), tail = p.n - (nrank - 1) * K;
  const bool half0 = p.half[0] && rank == 0, half1 = p.half[1] && rank * K + rows == p.n, last = rank == nrank - 1;
  const double mu = t[0], hs = t[stride];
  const T m = (T)mu, h = (T)hs;
  double interface = 0, previous = 0;
  ClusterChain c;

  cluster_chain<T, K, N, 1>(&c, stride, rank, nrank, rows, tail, half0, half1, &mu, &hs, E,
                            [&](int, int i) { return at(i); });

  if (active) {
    if (last) { /* for the others, as soon as can be */
      const double *e6 = p.border + (ptrdiff_t)plane * BCR_CUDA_SEP_BORDER * stride + k;

      if (p.open[1])
        interface = 4 * p.a * (e6[4 * stride] * (double)at(rows) + e6[2 * stride] * c.X1 + e6[3 * stride] * c.C);
      if (p.open[0]) previous = 4 * p.a * (e6[0] * c.X1 + e6[stride] * c.C);
      window_put(red.window, window_slot(red.window), 0, plane * stride + k, interface);
      window_put(red.window, window_slot(red.window), 1, plane * stride + k, previous);
    }
    const double A = (t[3 * stride] * c.X1 + t[4 * stride] * c.C) / mu,
                 Bn = (t[6 * stride] * c.X1 + t[7 * stride] * c.C) / mu;

    T in = (T)(c.in + A * c.pwin);

    c.R += A * c.RA + c.pr * Bn;
#pragma unroll 8
    for (int i = 0; i < rows; i++) { /* meanwhile */
      in = cluster_right(h, half0, half1, rows, i, at) + m * in;
      at(i) = in;
    }
    if (last) {
      const double *e6 = p.border + (ptrdiff_t)plane * BCR_CUDA_SEP_BORDER * stride + k, f = e6[5 * stride] / mu;
      double after, before;

      reduced(red, plane * stride + k, interface, previous, &after, &before);
      before *= 0.25;
      after *= 0.25;
      X[k] = f * (e6[0] * before + e6[2 * stride] * after);
      X[N + k] = f * (e6[stride] * before + e6[3 * stride] * after);
      if (p.open[1]) at(rows) = (T)after;
    }
  }
  cluster_arrive(); /* nobody reads E any more; X is there */
  cluster_wait();
  if (active) {
    const double before = cluster_read(X + k, nrank - 1);
    T R = (T)(c.R + before * c.RA + c.pr * cluster_read(X + N + k, nrank - 1)), d = (T)(before * c.pwin);

    if (__any_sync(__activemask(), c.pwin > 1e-30)) { /* what the rank before adds reaches these rows */
#pragma unroll 8
      for (int i = 0; i < rows; i++) {
        d *= m;
        at(i) += d;
      }
    }
#pragma unroll 8
    for (int i = rows - 1; i >= 0; i--) {
      R = at(i) + m * R;
      at(i) = R;
    }
  }
  cluster_arrive();
}

template <typename T, int N, int PAIRS, int MINB>
__global__ void __launch_bounds__(PAIRS *Sine<N>::TASKS, MINB) box_ranks(BCRCudaBoxPlanes p, BCRReduced red, T *u)
{
  extern __shared__ __align__(16) char sm[];
  constexpr int K = 2 * PAIRS, PITCH = Rows<T, N, PAIRS>::PITCH;
  static_assert(PAIRS * Sine<N>::TASKS >= N - 1, "a thread for each mode");
  T *M = (T *)sm;
  double *X = (double *)(sm + Rows<T, N, PAIRS>::BYTES);
  const int rank = blockIdx.x, k = threadIdx.x, rows = min(K, p.n + p.open[1] - rank * K);
  const bool active = k < N - 1;

  u += (ptrdiff_t)blockIdx.y * p.plane + (ptrdiff_t)rank * K * p.ld - 1;
  Rows<T, N, PAIRS>::transform([&](int i, int j) { return i < rows ? u[i * p.ld + j] : (T)0; }, sm, (const T *)p.roots);
  cluster_open<T, K, N>(p, red, active, k, blockIdx.y, rank, gridDim.x,
                        p.tab + (ptrdiff_t)blockIdx.y * BCR_CUDA_SEP_TAB * (N - 1) + (active ? k : 0), (T *)(X + 2 * N),
                        X, [&](int i) -> T & { return M[i * PITCH + k + 1]; });
  __syncthreads();
  Rows<T, N, PAIRS>::transform([&](int i, int j) { return M[i * PITCH + j]; }, sm, (const T *)p.roots);
  Rows<T, N, PAIRS>::store(rows, u, p.ld, sm);
  cluster_wait();
  window_done(red.window.turn);
}

template <typename T, int N, int PAIRS, int MINB>
static int launch(const BCRCudaBoxPlanes *p, const BCRReduced &red, void *u, cudaStream_t stream, int *fits)
{
  return cluster_launch(box_ranks<T, N, PAIRS, MINB>, (p->n + p->open[1] + 2 * PAIRS - 1) / (2 * PAIRS), p->planes,
                        PAIRS * Sine<N>::TASKS, Rows<T, N, PAIRS>::BYTES + 2 * N * (sizeof(double) + sizeof(T)), stream,
                        fits, *p, red, (T *)u);
}

static int box_ranks_any(const BCRCudaBoxPlanes *p, int single, const BCRReduced &red, void *u, cudaStream_t stream,
                         int *fits)
{
  if (p->N == 128)
    return single ? launch<float, 128, 16, 4>(p, red, u, stream, fits)
                  : launch<double, 128, 16, 4>(p, red, u, stream, fits);
  if (p->N == 256)
    return single ? launch<float, 256, 16, 2>(p, red, u, stream, fits)
                  : launch<double, 256, 16, 2>(p, red, u, stream, fits);
  return single ? launch<float, 512, 16, 1>(p, red, u, stream, fits)
                : launch<double, 512, 16, 1>(p, red, u, stream, fits);
}

int BCRCudaBoxRanksFits(const BCRCudaBoxPlanes *p, int single)
{
  const BCRReduced red = {};
  int fits = 0;

  (void)box_ranks_any(p, single, red, NULL, NULL, &fits);
  return fits;
}

int BCRCudaBoxRanks(BCRStream stream, const BCRCudaBoxPlanes *p, int single, void *u, const BCRCudaBorderRows *rows,
                    int part, const BCRCudaWindow *w)
{
  const BCRReduced red = {*rows, NULL, part, 0, *w};

  if (p->planes < 1) return 0;
  return box_ranks_any(p, single, red, u, bcr_stream(stream), NULL);
}
