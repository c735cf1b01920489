/* Modes of the planes of ring.h, and lines of ringlines.cu, split.cuh: of a complex number either part is one of its own */
#pragma once

#include "reduced.cuh"
#include "ring.cuh"

/* ---- modes ---- */

/* Of both axes' numbers of a mode */
struct RingSum {
  double c[4];

  __device__ __forceinline__ double operator()(double x, double y) const
  {
    return c[0] + c[1] * x + (c[2] + c[3] * x) * y;
  }
};

/* The wave of place k of an axis */
static __device__ inline int ring_wave(const BCRCudaRingAxis &a, int k)
{
  const int G = a.len / a.each;

  switch (a.ends) {
  case BCR_CUDA_RING_PERIODIC:
    return 2 * k <= a.n ? k : a.n - k;
  case BCR_CUDA_RING_CELL:
  case BCR_CUDA_RING_CELL_MIXED:
    return k;
  case BCR_CUDA_RING_NODE_MIXED:
    return 2 * k > a.len || !k ? 2 * (k ? a.len - k : 0) : 2 * k - 1;
  case BCR_CUDA_RING_SINES:
  case BCR_CUDA_RING_COSINES:
    return k >= a.len ? a.len : k % G * a.each + k / G;
  }
  return k;
}

/* Waves of numbers 2 (q column + k) and 2 (q column + k) + 1 of a plane of modes, as ring_columns() leaves them, two: the
   column is two real lines, else a complex one. There is no mode 0 of sines: what is there is zero, and its line may be any
   other's. number, if given, becomes that of the mode, or -1 */
static __device__ inline void ring_waves(const BCRCudaRingAxis &x, const BCRCudaRingAxis &y, int q, int k, int second,
                                         int *kx, int *ky, int *number = NULL)
{
  const bool two = x.ends != BCR_CUDA_RING_PERIODIC || q == 0;
  int line = second;

  if (y.ends == BCR_CUDA_RING_PERIODIC && k != 0 && 2 * k != y.n) line = 2 * k > y.n;
  if (y.ends == BCR_CUDA_RING_CELL_MIXED) line = k % 2;
  if (x.ends == BCR_CUDA_RING_CELL_MIXED) *kx = line ? x.len - 1 - 2 * q : 2 * q;
  else {
    const int middle = x.ends == BCR_CUDA_RING_COSINES ? x.len : x.len / 2;

    *kx = ring_wave(x, !(two && line) ? q : (q ? x.len - q : middle));
  }
  if (y.ends == BCR_CUDA_RING_CELL_MIXED) *ky = second ? y.len - 1 - k / 2 * 2 : k / 2 * 2;
  else *ky = ring_wave(y, k);
  if (!number) return;
  /* of two waves of a periodic axis: complex columns have them in places k and n - k, else real and imaginary parts are two */
  const int xsecond = y.ends == BCR_CUDA_RING_CELL_MIXED ? k % 2 : second, ysecond = two ? second : 2 * k > y.n;

  *number = ring_number(x, *kx, xsecond) + x.n * ring_number(y, *ky, ysecond);
  if ((x.ends == BCR_CUDA_RING_SINES && *kx == 0) || (y.ends == BCR_CUDA_RING_SINES && *ky == 0)) *number = -1;
  if (x.ends == BCR_CUDA_RING_COSINES && 2 * q == x.len && line) *number = -1; /* one line */
  if (y.ends == BCR_CUDA_RING_COSINES && k > y.len) *number = -1;
}

/* Sum of wave k over the nodes, as it is in the solution: half of waves 0 and n of COSINES */
static __device__ inline double ring_weight(const BCRCudaRingAxis &a, int k)
{
  if (a.ends != BCR_CUDA_RING_COSINES) return k ? 0 : a.n;
  if (k == 0) return 0.5 * a.n;
  return k % 2 ? 0 : (k == a.len ? 0.5 : 1);
}
/* Sum of the modes' number 2 (q column + k) + second of a plane over its nodes */
static __device__ inline double ring_weights(const BCRCudaRingAxis &x, const BCRCudaRingAxis &y, int q, int k,
                                             int second)
{
  int kx, ky;

  if (2 * q == x.len && second) return 0; /* the middle column of COSINES has one line */
  ring_waves(x, y, q, k, second, &kx, &ky);
  return ring_weight(x, kx) * ring_weight(y, ky);
}

/* ---- lines ---- */

/* component by component: real and imaginary part are lines of their own */
template <typename T>
static __device__ __forceinline__ Cplx<T> times(Cplx<T> a, Cplx<T> b)
{
  return {a.x * b.x, a.y * b.y};
}
template <typename T>
static __device__ __forceinline__ Cplx<T> times_add(Cplx<T> a, Cplx<T> b, Cplx<T> c)
{
  return {a.x * b.x + c.x, a.y * b.y + c.y};
}

static __host__ __device__ constexpr int ring_top(int n) /* the largest power of two up to n */
{
  return n < 2 ? 1 : 2 * ring_top(n / 2);
}
/* mL = mu^L, and S = mu sum mu^(2 i) over i < L: a carry Y into L rows is S Y of their B */
template <typename T, int L>
static __device__ __forceinline__ void ring_powers(Cplx<T> mu, Cplx<T> *mL, Cplx<T> *S)
{
  Cplx<T> q = times(mu, mu);

  *mL = *S = mu;
#pragma unroll
  for (int bit = ring_top(L) / 2; bit; bit /= 2) { /* from 1 row to L by its binary digits */
    *S = times(*S, {1 + q.x, 1 + q.y});
    q = times(q, q);
    *mL = times(*mL, *mL);
    if (L & bit) {
      *S = times_add(times(mu, mu), *S, mu);
      *mL = times(*mL, mu);
      q = times(q, times(mu, mu));
    }
  }
}

/* ---- lines that go on on other ranks ---- */

enum {
  RING_WHOLE,  /* they do not */
  RING_ENDS,   /* what they leave for the interfaces is wanted */
  RING_GIVEN,  /* solutions in the interface rows are given */
  RING_REDUCED /* the lines solve the reduced systems */
};
struct RingBorder {
  int way;
  bool open[2];
  const int *mode;
  double gain, back;
  double *interface, *previous;        /* ENDS */
  const double *after, *before, *mean; /* GIVEN */
  BCRReduced reduced;                  /* REDUCED */
};

/* Weights of the rows of a line on all ranks, and how many there are; half: of this rank's rows */
static inline void ring_line_weights(const BCRCudaRingLines *l, const RingBorder &b, const bool half[2], double *weight,
                                     double *rows)
{
  const BCRCudaBorderRows &all = b.reduced.rows;

  *rows = b.way == RING_REDUCED ? all.constantmode.rows : l->n;
  *weight = b.way == RING_REDUCED ? all.constantmode.total : l->n - 0.5 * (half[0] + half[1]);
}

/* With the carries Y_0 and V = v_(n+1) that a line has where both interface rows are zero, Y and V, right-hand sides of the
   interfaces are their negatives: so much is missing for these rows to be zero. In steps, for COUNT lines of a thread (modes
   below 0 are none): ask, which reads of memory what is known; give, which stores the right-hand sides or sends them
   to other ranks; wait for theirs; take, which finds the solutions in the own interface row and in the one before */
static __device__ __forceinline__ ptrdiff_t ring_border_slot(const RingBorder &b)
{
  return b.way == RING_REDUCED && b.reduced.window.n ? window_slot(b.reduced.window) : 0;
}
static __device__ __forceinline__ void ring_border_ask(const RingBorder &b, int mode, BCRReducedMode *m)
{
  m->missing = 0;
  m->mode = mode;
  if (mode >= 0 && b.way == RING_REDUCED) reduced_ask(b.reduced, m);
}
static __device__ __forceinline__ void ring_border_give(const RingBorder &b, ptrdiff_t slot, double Y, double V,
                                                        BCRReducedMode *m)
{
  if (m->mode < 0) return;
  m->interface = b.open[1] ? -b.gain * V : 0;
  m->previous = b.open[0] ? -b.gain * Y : 0;
  if (b.way == RING_ENDS) {
    b.interface[-(ptrdiff_t)m->mode] = m->interface;
    b.previous[m->mode] = m->previous;
  } else if (b.way == RING_REDUCED) reduced_give(b.reduced, slot, m);
}
template <int COUNT>
static __device__ __forceinline__ void ring_border_wait(const RingBorder &b, ptrdiff_t slot, BCRReducedMode *m)
{
  const unsigned *const turn = b.reduced.window.turn;

  for (unsigned looks = 1;; looks++) {
    unsigned missing = 0;

#pragma unroll
    for (int r = 0; r < COUNT; r++) {
      if (m[r].missing) reduced_look(b.reduced, slot, m + r);
      missing |= m[r].missing;
    }
    if (!missing || (looks % WINDOW_LOOKS == 0 && *(const volatile unsigned *)(turn + 2))) return;
  }
}
static __device__ __forceinline__ void ring_border_take(const RingBorder &b, ptrdiff_t slot, const BCRReducedMode &m,
                                                        double *after, double *before)
{
  *after = *before = 0;
  if (m.mode < 0) return;
  if (b.way == RING_REDUCED) reduced_take(b.reduced, slot, m, after, before);
  if (b.way == RING_GIVEN) {
    *after = b.after[m.mode];
    *before = b.before[m.mode];
  }
  *after *= b.back;
  *before *= b.back;
}
