/* ring.h: the transform along y divided (split.cuh): which kernels, shapes, modes */
#include "ringlaunch.cuh"
#include "splitlaunch.cuh"
#include <vector>

enum {
  SPLIT_CLUSTER = 16,  /* blocks at most */
  SPLIT_ONCE = 1 << 28 /* bytes of modes of which less than a fifth has room in the second-level cache */
};

/* of x */
static int split_roots_rows(int n, int N1, int single, double *w)
{
#define CASE(BYTES, N, N1_, BLOCKS, ...) \
  if (n == N && N1 == N1_ && single == (BYTES == sizeof(float))) return ring_roots<RingLength<N, __VA_ARGS__>>(w);
  SPLIT_LENGTHS(CASE)
#undef CASE
  return 0;
}

/* of y: [y0][k1], what split_planes() multiplies by: e^(-2 pi i y0 k1/n), between cell-centred ends with the part of w_k
   that depends on k1, where modes of columns are not pairs; SplitLinesArgs::middle */
int bcr_split_roots(const BCRCudaRing *r, int single, int d, double *w)
{
  const int n = r->axis[d].len, N1 = r->split.N1;

  if (d == 0) return split_roots_rows(n, N1, single, w);
  for (int i = 0; w && i < n; i++) {
    const int k1 = i % N1, more = r->axis[d].ends == BCR_CUDA_RING_CELL && 2 * k1 != N1;

    ring_root((4LL * (i / N1) + more) * k1, 4LL * n, w + 2 * i);
  }
  if (w) ring_root(N1 / 2, 4LL * n, w + 2 * n);
  return n + 1;
}

template <typename T>
static int split_lines_run(const BCRCudaRing *r, const BCRCudaRingLines *l, const RingBorder *border, void *w,
                           cudaStream_t stream, int *clusters)
{
  const int n = r->axis[1].len, N2 = n / r->split.N1;
  SplitLinesArgs<T> a;

  memset((void *)&a, 0, sizeof(a));
  a.w = (Cplx<T> *)w;
  a.middle = (const Cplx<T> *)r->axis[1].roots + n;
  a.rows = r->nz / (r->split.cluster * r->split.segments);
  a.more = r->nz % (r->split.cluster * r->split.segments);
  a.N1 = r->split.N1;
  a.columns = r->axis[0].len / 2 / r->split.columns;
  a.items = a.N1 * a.columns;
  a.cluster = r->split.cluster;
  a.owned = (N2 * r->split.columns + a.cluster - 1) / a.cluster;
  a.plane = r->modes / 2;
  a.once = (size_t)r->modes * r->nz * sizeof(T) > SPLIT_ONCE;
  a.xcell = r->axis[0].ends == BCR_CUDA_RING_CELL;
  a.ycell = r->axis[1].ends == BCR_CUDA_RING_CELL;
  if (l) {
    a.tab = (const Cplx<T> *)l->tab;
    for (int e = 0; e < 2; e++) a.weighs[e] = BCREndGetRule((BCREnd)l->end[e]).weight < 1;
    a.pin = l->pin != 0;
    a.over = l->over != 0;
    a.removedfactor = l->removedfactor;
    a.removed = l->removed;
    a.border = *border;
    ring_line_weights(l, *border, a.weighs, &a.weight, &a.all);
  }
  return bcr_split_lines(a, N2, r->split.columns, r->split.segments, r->split.clusters, stream, clusters);
}

int bcr_split_solve(const BCRCudaRing *r, const BCRCudaRingLines *l, int single, const RingBorder &border, void *w,
                    cudaStream_t stream)
{
  return single ? split_lines_run<float>(r, l, &border, w, stream, NULL)
                : split_lines_run<double>(r, l, &border, w, stream, NULL);
}

int bcr_split_transform(const BCRCudaRing *r, int back, int single, const void *f, void *w, void *u,
                        cudaStream_t stream)
{
  int shift = 0;

  while (1 << shift < r->split.columns) shift++;
  return single ? bcr_split_planes(ring_args<float>(r, f, w, u), r->split.N1, back, shift, stream)
                : bcr_split_planes(ring_args<double>(r, f, w, u), r->split.N1, back, shift, stream);
}

/* N1, and a row of SPLIT_SHAPES for one type */
struct SplitChoice {
  int N1, N2, columns, segments, blocks, cluster = 0, clusters = 0;
  double cost = 0;

  SplitChoice(int N1_, int N2_, int columns_, int segments_, int blocks_)
      : N1(N1_), N2(N2_), columns(columns_), segments(segments_), blocks(blocks_)
  {
  }
  void use(BCRCudaRing *r) const
  {
    r->split.N1 = N1;
    r->split.columns = columns;
    r->split.segments = segments;
    r->split.cluster = cluster;
    r->split.clusters = clusters;
  }
};

static std::vector<SplitChoice> split_choices(const int n[3], int single)
{
  std::vector<SplitChoice> list;
  const auto shapes = [&](int N1) {
    int blocks;

#define CASE(N2, COLUMNS, SEGMENTS, CHAINS, DBLOCKS, FBLOCKS) \
  blocks = single ? FBLOCKS : DBLOCKS; \
  if (n[1] == N1 * N2 && blocks) list.push_back(SplitChoice(N1, N2, COLUMNS, SEGMENTS, blocks));
    SPLIT_SHAPES(CASE)
#undef CASE
  };

#define CASE(BYTES, N, N1, ...) \
  if (n[0] == N && (BYTES == sizeof(float)) == (single != 0)) shapes(N1);
  SPLIT_LENGTHS(CASE)
#undef CASE
  return list;
}

/* Of the shapes that have room for the lines the first one that keeps the device busy for no more
   than a quarter longer than the best does (single precision: no longer), in tiles that a
   multiprocessor has one after another: wide pieces of planes come first. As many clusters as the
   device has room for at a time, and no more than give all of them as many items, but for one.
   One block alone cannot send to itself */
int BCRCudaSplitShape(const int n[3], int single, BCRCudaRing *r)
{
  std::vector<SplitChoice> choices = split_choices(n, single);
  double best = 0;

  for (int d = 0; d < 2; d++) {
    if (r->axis[d].ends != BCR_CUDA_RING_PERIODIC && r->axis[d].ends != BCR_CUDA_RING_CELL) return 0;
    r->axis[d].n = r->axis[d].len = n[d];
  }
  r->nz = n[2];
  r->apart = 1;
  r->columns = n[0] / 2;
  r->column = n[1];
  r->modes = (ptrdiff_t)n[0] * n[1];
  for (SplitChoice &s : choices) {
    const int items = n[0] / 2 / s.columns * s.N1;
    int clusters = 0, rounds;

    s.cluster = (n[2] + s.N2 * s.segments - 1) / (s.N2 * s.segments);
    if (s.cluster < 2 || s.cluster > SPLIT_CLUSTER) continue;
    if (n[2] / (s.cluster * s.segments) < s.N2 - s.N2 / 4) continue; /* SplitShape */
    s.use(r);
    if ((single ? split_lines_run<float>(r, NULL, NULL, NULL, NULL, &clusters)
                : split_lines_run<double>(r, NULL, NULL, NULL, NULL, &clusters)) ||
        clusters < 1) {
      (void)cudaGetLastError();
      continue;
    }
    rounds = (items + clusters - 1) / clusters;
    s.clusters = (items + rounds - 1) / rounds;
    s.cost = (double)rounds * s.blocks * s.columns * s.segments * s.N2 * s.N2;
    if (best == 0 || s.cost < best) best = s.cost;
  }
  for (const SplitChoice &s : choices)
    if (s.cost > 0 && s.cost <= (single ? 1 : 1.25) * best) {
      s.use(r);
      return 1;
    }
  r->split.N1 = r->apart = 0;
  return 0;
}

/* ---- modes ---- */

/* Number i of a plane of modes, as split_lines() has them; ring_modes() has sigma and mode */
__global__ void split_modes_sums(BCRCudaRingAxis x, BCRCudaRingAxis y, int N1, int columns, const double *sx,
                                 const double *sy, RingSum sum, double *sigma, int *mode)
{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x), c = i % 2, n = y.n, N2 = n / N1, H = N1 / 2,
            slot = i / 2 % (N2 * columns), item = i / 2 / (N2 * columns), k2 = slot / columns,
            q = item % (x.n / 2 / columns) * columns + slot % columns, k1 = item / (x.n / 2 / columns);
  const bool waves = y.ends == BCR_CUDA_RING_PERIODIC, two = x.ends != BCR_CUDA_RING_PERIODIC || q == 0;
  int second = 0, k = k1 + N1 * k2; /* second: of the two real columns */

  if (i >= x.n * n) return;
  if (k1 == 0 || k1 == H) {
    if (!waves || k == 0 || 2 * k == n) second = c;
    else second = two && 2 * k > n;
  } else if (two || !waves) {
    second = k1 > H;
    if (second) k = N1 - k1 + N1 * k2;
    if (!waves && c) k = n - k;
  }
  const int kx = !(two && second) ? q : (q ? x.n - q : x.n / 2), ky = waves && 2 * k > n ? n - k : k;

  /* waves come in pairs, of which this is one: those of complex columns in real and imaginary parts (of two columns between
     cell-centred ends of y) */
  if (sigma) sigma[i] = sum(sx[ring_mode(x, kx)], sy[ring_mode(y, ky)]);
  if (mode)
    mode[i] =
      ring_number(x, kx, !waves && k1 != 0 && k1 != H ? second : c) + x.n * ring_number(y, ky, two ? c : 2 * k > n);
}

int bcr_split_modes(const BCRCudaRing *r, const double *x, const double *y, const RingSum &sum, double *sigma,
                    int *mode, cudaStream_t stream)
{
  const int n = r->axis[0].n * r->axis[1].n;

  split_modes_sums<<<(unsigned)((n + BCR_THREADS - 1) / BCR_THREADS), BCR_THREADS, 0, stream>>>(
    r->axis[0], r->axis[1], r->split.N1, r->split.columns, x, y, sum, sigma, mode);
  return bcr_done();
}
