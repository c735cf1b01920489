/* What sine and cosine transforms of rows are made of: dst.cu has how they work; all of this is
   also taken by level0small.cu */
#pragma once

#include "passes.cuh"

/* A classes of length L = R1 R2 R3, E elements a thread, PAIRS pairs of rows a block, MINB blocks at the same time */
template <typename T_, int L_, int A_, int R1_, int R2_, int R3_, int E_, int PAIRS_, int MINB_>
struct DstShape {
  typedef T_ T;
  static constexpr int L = L_, A = A_, R1 = R1_, R2 = R2_, R3 = R3_, E = E_, PAIRS = PAIRS_, MINB = MINB_;
  static constexpr int N = A * L / 2, CLASSES = A / 2 + 1, EACH = L / E, HALF = L / 2 + 1;
  /* threads of a class, of a pair, of a block */
  static constexpr int ROW = CLASSES * EACH >= HALF ? CLASSES * EACH : (HALF + 31) / 32 * 32, NT = ROW * PAIRS;
  static constexpr int SHIFT = sizeof(T) == 8 ? 4 : 5, PITCH = L + (L >> SHIFT) + 1, PLANE = CLASSES * PITCH;
  /* tables have every power of a twiddle; else 1, 2, 4, ... and products of these */
  static constexpr bool FULL = sizeof(T) == 4;
  static constexpr int powers(int R)
  {
    return FULL ? R - 1 : (R <= 1 ? 0 : (R <= 2 ? 1 : (R <= 4 ? 2 : (R <= 8 ? 3 : 4))));
  }
  /* without the last power of the first pass (the square of another) two blocks of a transform have room */
  static constexpr bool TIGHT = FULL && A == 16 && L == 1024;
  static constexpr int BLOCKS = TIGHT ? 2 : MINB;
  static constexpr int FIRST = powers(A / 2 + 1) - TIGHT, AT2 = FIRST * HALF, AT3 = AT2 + powers(R2) * R1,
                       TABLE = AT3 + powers(R3) * R1 * R2;
  static constexpr size_t BYTES = ((size_t)PLANE * PAIRS + TABLE) * 2 * sizeof(T);
  static_assert(R1 * R2 * R3 == L, "");
};

template <typename T>
using Dst128 = DstShape<T, 32, 8, 8, 4, 1, 8, 8, 2>;
template <typename T>
using Dst256 = DstShape<T, 64, 8, 8, 8, 1, 8, 4, 2>;
template <typename T>
using Dst512 = DstShape<T, 128, 8, 4, 8, 4, 8, 2, 2>;
template <typename T>
using Dst1024 = DstShape<T, 256, 8, 8, 4, 8, 8, 1, 3>;
template <typename T>
using Dst2048 = DstShape<T, 256, 16, 8, 4, 8, 8, 1, 2>;
template <typename T>
using Dst4096 = DstShape<T, 512, 16, 8, 8, 8, 16, 1, 2>;
template <typename T>
using Dst8192 = DstShape<T, 1024, 16, 8, 16, 8, 16, 1, 1>;
template <typename T>
using Dst1536 = DstShape<T, 256, 12, 8, 4, 8, 8, 1, 2>;
template <typename T>
using Dst3072 = DstShape<T, 512, 12, 8, 8, 8, 16, 1, 2>;
template <typename T>
using Dst6144 = DstShape<T, 1024, 12, 8, 16, 8, 16, 1, 1>;
template <typename T>
using Dst9216 = DstShape<T, 1024, 18, 8, 16, 8, 16, 1, 1>;

/* so much shared memory that no two blocks are on a multiprocessor */
static inline cudaError_t bcr_alone(size_t *bytes)
{
  int device, shared = 0;
  cudaError_t e = cudaGetDevice(&device);

  if (e == cudaSuccess) e = cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device);
  if (*bytes < (size_t)shared / 2) *bytes = (size_t)shared / 2;
  return e;
}

template <class S>
static __device__ __forceinline__ int at(int i)
{
  return i + (i >> S::SHIFT);
}

/* Unknown (0: the end before the first one) that is element q + s L of the extension, but for its
   sign where s >= A/2 */
template <class S>
static __device__ __forceinline__ int unknown_of(int q, int s)
{
  return s < S::A / 2 ? q + s * S::L : (S::A - s) * S::L - q;
}

/* Modes of class c: so many, from base on; classes 0 and A/2 (edge) have half as many, which the
   others mirror about mirror/2. Threads of a warp behind the last class have none */
template <class S>
struct ClassModes {
  int size, base, mirror;
  bool edge;

  __device__ __forceinline__ ClassModes(int c, int even)
  {
    constexpr int L = S::L, A = S::A;
    const int L0 = even ? L / 2 + 1 : (L + 1) / 2;

    edge = c == 0 || c == A / 2;
    size = c == 0 ? L0 : (c == A / 2 ? L / 2 : (S::CLASSES * S::EACH % 32 && c > A / 2 ? 0 : L));
    base = c == 0 ? 0 : (c == A / 2 ? L0 : c * L + even);
    mirror = c == 0 ? L : L - 1;
  }
};

/* the same number, but what was made of it is forgotten: fewer registers */
static __device__ __forceinline__ int again(int i)
{
  asm volatile("" : "+r"(i));
  return i;
}

/* w[r], r < R, of the k-th of n twiddles */
template <class S, int R>
static __device__ __forceinline__ void twiddles(const Cplx<typename S::T> *table, int n, int k, Cplx<typename S::T> *w)
{
  if constexpr (S::FULL) {
#pragma unroll
    for (int r = 1; r < R; r++)
      w[r] = S::TIGHT && R == S::A / 2 + 1 && r == S::A / 2 ? w[r / 2] * w[r / 2] : table[(r - 1) * n + k];
  } else {
#pragma unroll
    for (int r = 1, q = 0; r < R; r *= 2, q++) w[r] = table[q * n + k];
#pragma unroll
    for (int r = 3; r < R; r++) {
      const int h = r >= 8 ? 8 : (r >= 4 ? 4 : 2);

      if (r != h) w[r] = w[h] * w[r - h];
    }
  }
}

/* the class of a thread of a pair */
template <class S>
static __device__ __forceinline__ int class_of(int tid)
{
  const int c = tid / S::EACH;

  return S::EACH % 32 || S::ROW % 32 ? c : bcr_uniform(c);
}

/* the threads of a class, of a block */
template <class S>
static __device__ __forceinline__ void sync_class(int c)
{
  if constexpr (S::EACH <= 32) __syncwarp();
  else asm volatile("bar.sync %0, %1;" ::"r"(c + 1), "n"(S::EACH) : "memory");
}

/* a pass over a class: E/R butterflies a thread. load(i, r): element i = (butterfly) + r L/R */
template <class S, int R, int NS, typename Load>
static __device__ __forceinline__ void class_pass(Load load, const Cplx<typename S::T> *table, int t,
                                                  Cplx<typename S::T> *z)
{
  typedef Cplx<typename S::T> C;

  t = again(t);
#pragma unroll
  for (int m = 0; m < S::E / R; m++) {
    const int id = t + S::EACH * m;
    C *x = z + m * R;

#pragma unroll
    for (int r = 0; r < R; r++) x[r] = load(id + r * (S::L / R), r);
    if constexpr (NS > 1) {
      C w[R];

      twiddles<S, R>(table, NS, id % NS, w);
#pragma unroll
      for (int r = 1; r < R; r++) x[r] = x[r] * w[r];
    }
    Dft<typename S::T, R>::run(x);
  }
}
template <class S, int R, int NS>
static __device__ __forceinline__ void class_store(typename S::T *re, typename S::T *im, int t,
                                                   const Cplx<typename S::T> *z)
{
  t = again(t);
#pragma unroll
  for (int m = 0; m < S::E / R; m++) {
    const int id = t + S::EACH * m, base = (id / NS) * (NS * R) + id % NS;

#pragma unroll
    for (int r = 0; r < R; r++) {
      const int i = at<S>(base + r * NS);

      re[i] = z[m * R + r].x;
      im[i] = z[m * R + r].y;
    }
  }
}

/* all passes over a class; the last one's results stay in z */
template <class S, typename Load>
static __device__ __forceinline__ void forward_passes(Load load, const Cplx<typename S::T> *table, int c, int t,
                                                      typename S::T *re, typename S::T *im, Cplx<typename S::T> *z)
{
  class_pass<S, S::R1, 1>(load, table, t, z);
  if constexpr (S::R2 > 1) {
    sync_class<S>(c);
    class_store<S, S::R1, 1>(re, im, t, z);
    sync_class<S>(c);
    class_pass<S, S::R2, S::R1>(load, table + S::AT2, t, z);
  }
  if constexpr (S::R3 > 1) {
    sync_class<S>(c);
    class_store<S, S::R2, S::R1>(re, im, t, z);
    sync_class<S>(c);
    class_pass<S, S::R3, S::R1 * S::R2>(load, table + S::AT3, t, z);
  }
}

/* all but the first one, whose results are stored */
template <class S, typename Load>
static __device__ __forceinline__ void backward_passes(Load load, const Cplx<typename S::T> *table, int c, int t,
                                                       typename S::T *re, typename S::T *im, Cplx<typename S::T> *z)
{
  if constexpr (S::R2 > 1) {
    sync_class<S>(c);
    class_pass<S, S::R2, S::R1>(load, table + S::AT2, t, z);
    sync_class<S>(c);
    class_store<S, S::R2, S::R1>(re, im, t, z);
  }
  if constexpr (S::R3 > 1) {
    sync_class<S>(c);
    class_pass<S, S::R3, S::R1 * S::R2>(load, table + S::AT3, t, z);
    sync_class<S>(c);
    class_store<S, S::R3, S::R1 * S::R2>(re, im, t, z);
  }
}

/* on its way; wait_table(), by all threads, before it is used */
template <class S, int NT = S::NT>
static __device__ __forceinline__ void fetch_table(Cplx<typename S::T> *to, const void *from)
{
  constexpr int bytes = 2 * sizeof(typename S::T);

  for (int i = threadIdx.x; i < S::TABLE; i += NT) {
    const unsigned s = (unsigned)__cvta_generic_to_shared(to + i);

    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(s), "l"((const char *)from + (size_t)i * bytes),
                 "n"(bytes)
                 : "memory");
  }
}
static __device__ __forceinline__ void wait_table()
{
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
}

/* first pass: element q of all classes, and element L - q. mirror: 1 for an even extension, -1 for an odd one */
template <class S>
static __device__ __forceinline__ void spread(Cplx<typename S::T> *x, int q, const Cplx<typename S::T> *table,
                                              typename S::T *re, typename S::T *im, typename S::T mirror)
{
  typedef Cplx<typename S::T> C;
  constexpr int A = S::A;
  const bool two = q > 0 && (S::L % 2 || q < S::L / 2);
  C w[A / 2 + 1];

  Dft<typename S::T, A>::run(x);
  twiddles<S, A / 2 + 1>(table, S::HALF, q, w);
#pragma unroll
  for (int k = 0; k <= A / 2; k++) {
    const C v = k ? x[k] * w[k] : x[k];
    const int i = k * S::PITCH + at<S>(q), o = k * S::PITCH + at<S>(S::L - q);

    re[i] = v.x;
    im[i] = v.y;
    if (two) {
      const C y = x[k ? A - k : 0], m = k ? y * C{w[k].x, -w[k].y} : y;

      re[o] = mirror * m.x;
      im[o] = mirror * m.y;
    }
  }
}

/* last pass of the way back */
template <class S>
static __device__ __forceinline__ void gather(Cplx<typename S::T> *x, int q, const Cplx<typename S::T> *table,
                                              const typename S::T *re, const typename S::T *im, typename S::T mirror)
{
  typedef Cplx<typename S::T> C;
  constexpr int A = S::A;
  const int o = q ? S::L - q : 0;
  C w[A / 2 + 1];

  twiddles<S, A / 2 + 1>(table, S::HALF, q, w);
#pragma unroll
  for (int k = 0; k <= A / 2; k++) {
    const C v = {re[k * S::PITCH + at<S>(q)], im[k * S::PITCH + at<S>(q)]};

    x[k] = k ? v * w[k] : v;
    if (k > 0 && k < A / 2) {
      const C y = {mirror * re[k * S::PITCH + at<S>(o)], mirror * im[k * S::PITCH + at<S>(o)]};

      x[A - k] = y * C{w[k].x, -w[k].y};
    }
  }
  Dft<typename S::T, A>::run(x);
}

/* The table of a plan, complex numbers as pairs of doubles, if w is given: how many there are */
template <class S>
static int dst_fill(double *w)
{
  const double turn = 2 * 3.14159265358979323846;

  for (int part = 0; part < 3 && w; part++) {
    const int n = part == 0 ? S::HALF : (part == 1 ? S::R1 : S::R1 * S::R2),
              R = part == 0 ? S::A / 2 + 1 - S::TIGHT : (part == 1 ? S::R2 : S::R3);
    const int at = part == 0 ? 0 : (part == 1 ? S::AT2 : S::AT3), period = part == 0 ? 2 * S::N : n * R;

    for (int r = 1, q = 0; r < R; r = S::FULL ? r + 1 : 2 * r, q++) {
      for (int k = 0; k < n; k++) {
        w[2 * (at + q * n + k)] = cos(turn * k * r / period);
        w[2 * (at + q * n + k) + 1] = -sin(turn * k * r / period);
      }
    }
  }
  return S::TABLE;
}

#define DST_CASE(N, SHAPE, ...) \
  case N: { \
    typedef SHAPE S; \
    __VA_ARGS__; \
  } break;
