/* ring.h: which kernels, shapes, tables */
#include "ringlaunch.cuh"
#include <cfloat>
#include <cmath>

/* ---- lengths, on the host ---- */

typedef struct {
  int n, each, half, pitch, big;
} RingInfo;

static int ring_info(int n, RingInfo *i)
{
  i->n = n;
#define CASE_AS(BIG, N, ...) \
  case N: \
    i->each = RingLength<N, __VA_ARGS__>::E; \
    i->half = RingLength<N, __VA_ARGS__>::HALF; \
    i->pitch = RingLength<N, __VA_ARGS__>::PITCH; \
    i->big = BIG; \
    return 1;
#define CASE(...)     CASE_AS(0, __VA_ARGS__)
#define CASE_BIG(...) CASE_AS(1, __VA_ARGS__)
  switch (n) {
    RING_LENGTHS(CASE)
    RING_LENGTHS_BIG(CASE_BIG)
  default:
    return 0;
  }
#undef CASE
#undef CASE_BIG
#undef CASE_AS
}

int BCRCudaRingRoots(const BCRCudaRing *ring, int single, int n, double *w)
{
  if (ring->split.N1) return bcr_split_roots(n, single != 0, w);
#define CASE(N, ...) \
  case N: \
    return ring_roots<RingLength<N, __VA_ARGS__>>(w);
  switch (n) {
    RING_LENGTHS(CASE)
    RING_LENGTHS_BIG(CASE)
  default:
    return 0;
  }
#undef CASE
}

/* ---- shapes ---- */

typedef struct {
  int big, tasks[2], warps[2], half; /* of x and y: tasks of a plane, warps of a task */
  size_t bytes;                      /* of shared memory */
} RingShape;

static int ring_shape(const BCRCudaRing *r, int single, RingShape *s)
{
  RingInfo info[2];

  s->big = 0;
  s->bytes = 0;
  for (int d = 0; d < 2; d++) {
    const BCRCudaRingAxis *a = &r->axis[d];

    if (!ring_info(a->len, &info[d])) return 0;
    const size_t bytes = (size_t)a->lines * info[d].pitch * (single ? sizeof(Cplx<float>) : sizeof(Cplx<double>));

    s->big |= info[d].big;
    s->warps[d] = a->lines * (a->len / info[d].each) / 32;
    s->tasks[d] = r->axis[1 - d].len / 2 / a->lines;
    s->bytes = bytes > s->bytes ? bytes : s->bytes;
  }
  s->half = info[0].half;
  return 1;
}

template <typename T>
static int ring_run(cudaStream_t stream, const BCRCudaRing *r, int back, const void *f, void *w, void *u, int *fits,
                    int (*launch)(const RingArgs<T> &, int, int, int, int, size_t, cudaStream_t, int *))
{
  RingArgs<T> a = ring_args<T>(r, f, w, u);
  RingShape s;

  if (!ring_shape(r, sizeof(T) == sizeof(float), &s)) return (int)cudaErrorNotSupported;
  a.planes = ring_divisor(r->planes);
  a.first = ring_divisor(s.tasks[back]);
  a.second = ring_divisor(s.tasks[1 - back]);
  a.both = ring_divisor(s.tasks[0] + s.tasks[1]);
  for (a.xshift = 0; 1 << a.xshift < r->axis[0].lines;) a.xshift++;
  a.ahead = r->ahead;
  a.rows = s.tasks[0];
  a.columns = s.tasks[1];
  a.rowwarps = s.warps[0];
  a.columnwarps = s.warps[1];
  a.half = s.half;
  return launch(a, back, s.big, r->nz * (a.rows + a.columns), r->threads, s.bytes, stream, fits);
}

static int ring_any(cudaStream_t stream, const BCRCudaRing *r, int back, int single, const void *f, void *w, void *u,
                    int *fits)
{
  if (r->split.N1) return bcr_split_transform(r, back, single, f, w, u, stream);
  return single ? ring_run<float>(stream, r, back, f, w, u, fits, bcr_ring_float)
                : ring_run<double>(stream, r, back, f, w, u, fits, bcr_ring_double);
}

/* Eight lines of the axis with more threads of a line, 128 threads at least; of the other axis as many lines as have
   room. Both numbers of lines divide those of a plane, so that no block has fewer. Rows are ahead by 1.3 times the planes
   that the device's blocks work on at a time, and one more, so that few of them wait for stragglers; the ring has twice as
   many planes, for those that columns still read. From 0.8 to 1.5 times that took the same time within 2 % on an H200 */
int BCRCudaRingShape(const int n[3], int single, int sms, size_t cache, int shared, BCRCudaRing *r)
{
  const int eight = 8, least = 128, most = 32;
  int len[2];
  RingInfo info[2];
  RingShape s;
  int blocks = 0;

  r->threads = least;
  for (int d = 0; d < 2; d++) {
    len[d] = n[d] + (r->axis[d].ends == BCR_CUDA_RING_NODE);
    if (!ring_info(len[d], &info[d])) return 0;
    if (eight * (len[d] / info[d].each) > r->threads) r->threads = eight * (len[d] / info[d].each);
    r->axis[d].n = n[d];
    r->axis[d].len = len[d];
    if (len[d] > n[d]) r->apart = 1;
  }
  if (r->threads > RING_THREADS) return 0;
  for (int d = 0; d < 2; d++) {
    int *lines = &r->axis[d].lines;

    for (*lines = most; *lines * (len[d] / info[d].each) > r->threads || len[1 - d] / 2 % *lines;) *lines /= 2;
    if (*lines * (len[d] / info[d].each) % 32) return 0;
  }
  r->nz = n[2];
  if (r->apart) r->modes = (ptrdiff_t)len[0] * len[1];
  if (!ring_shape(r, single, &s) || s.bytes > (size_t)shared) return 0;
  if (ring_any(NULL, r, 0, single, NULL, NULL, NULL, &blocks) || blocks < 1) {
    (void)cudaGetLastError();
    return 0;
  }
  r->ahead = (int)(1.3 * blocks * sms / (s.tasks[0] + s.tasks[1])) + 1;
  if (r->ahead > r->nz) r->ahead = r->nz;
  r->planes = 2 * r->ahead < r->nz ? 2 * r->ahead : r->nz;
  return BCRCudaRingBytes(r, single) <= cache;
}

size_t BCRCudaRingBytes(const BCRCudaRing *r, int single)
{
  return (size_t)r->planes * r->axis[0].len * r->axis[1].len * (single ? sizeof(float) : sizeof(double));
}

int BCRCudaRingCounts(const BCRCudaRing *r)
{
  return 2 + 4 * r->nz;
}

int BCRCudaRingForward(BCRStream stream, const BCRCudaRing *r, int single, const void *f, void *w)
{
  return ring_any(bcr_stream(stream), r, 0, single, f, w, NULL, NULL);
}

int BCRCudaRingBackward(BCRStream stream, const BCRCudaRing *r, int single, const void *w, void *u)
{
  return ring_any(bcr_stream(stream), r, 1, single, NULL, (void *)w, u, NULL);
}

int BCRCudaRingClear(BCRStream stream, const BCRCudaRing *r)
{
  return (int)cudaMemsetAsync(r->count, 0, (size_t)BCRCudaRingCounts(r) * sizeof(int), bcr_stream(stream));
}

/* ---- modes ---- */

/* Numbers 2 (q Ny + k) and 2 (q Ny + k) + 1 of a plane of modes, as ring_columns() leaves them. There is no mode 0 of
   sines: what is there is zero, and its line may be any other's */
__global__ void ring_modes(BCRCudaRingAxis x, BCRCudaRingAxis y, const double *sx, const double *sy, double *sigma)
{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x), slot = i / 2, c = i % 2, q = slot / y.len,
            k = slot % y.len;
  const bool two = x.ends != BCR_CUDA_RING_PERIODIC || q == 0; /* columns: this one, and x.len - q or x.len/2 */
  const bool waves = y.ends == BCR_CUDA_RING_PERIODIC;
  int second = c;

  if (q >= x.len / 2) return;
  if (waves && k != 0 && 2 * k != y.n) second = 2 * k > y.n;
  const int kx = !(two && second) ? q : (q ? x.len - q : x.len / 2), ky = !waves || 2 * k <= y.n ? k : y.n - k;

  sigma[i] = sx[ring_mode(x, kx)] + sy[ring_mode(y, ky)];
}

int BCRCudaRingModes(BCRStream stream, const BCRCudaRing *r, const double *x, const double *y, double *sigma)
{
  const int n = r->axis[0].len * r->axis[1].len;

  if (r->split.N1) return bcr_split_modes(r, x, y, sigma, bcr_stream(stream));
  ring_modes<<<(unsigned)((n + BCR_THREADS - 1) / BCR_THREADS), BCR_THREADS, 0, bcr_stream(stream)>>>(
    r->axis[0], r->axis[1], x, y, sigma);
  return bcr_done();
}
