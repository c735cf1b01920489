/*
  First-order recurrences in one pass, see recurrence.h. The array is cut into tiles, a block each,
  these into parts, a thread each. Every part gives w_end = S w_start + T; parts are put together in
  a warp, in a block, and tiles with those before them ("decoupled look-back"): a tile says what it
  does to its start as soon as it has been read, and the value at its end once its own start is
  known, which it finds from the nearest tile before it that has said that, and what those in
  between do.

  S and T of several parts, and the values at the ends of tiles, are kept with what their rounding
  left out: with coefficients of modulus 1 the values where parts meet would differ by the rounding
  of all factors and sums else. A tile in which products grow, or whose start or end is not a finite
  number, waits for the end of the one before and is run through in order; nor are tiles put
  together whose product grows.
*/
#include "tri.cuh"
#include "recurrence.h"
#include <cmath>

/* The sizes are those of the kernel that was timed on an H200 (commit 15cb214; h200_compact.csv has recurrences with
   them); others were not */
enum {
  RECUR_K = 16,                              /* elements of a thread: a part */
  RECUR_THREADS = 256,                       /* of a block */
  RECUR_BLOCKS = 3,                          /* to a multiprocessor: bounds the registers of a thread */
  RECUR_TILE = RECUR_K * RECUR_THREADS,      /* elements of a block */
  RECUR_ROOM = RECUR_THREADS * (RECUR_K + 1) /* numbers of a tile in shared memory: a gap after each part */
};

/* w_end = s w_start + t; g: largest modulus of a product from the start on */
struct Recur {
  Power s, t;
  double g;
};

static __device__ inline Recur recur_none()
{
  return {
    {1, 0},
    {0, 0},
    1
  };
}

/* s x + t */
static __device__ inline Power recur_step(const Power &s, const Power &x, const Power &t)
{
  const double p = s.h * x.h, q = p + t.h, b = q - p,
               l = fma(s.h, x.h, -p) + (s.h * x.l + s.l * x.h) + ((p - (q - b)) + (t.h - b)) + t.l, h = q + l;

  return {h, (q - h) + l};
}

/* a, then b */
static __device__ inline Recur recur_join(const Recur &a, const Recur &b)
{
  return {b.s * a.s, recur_step(b.s, a.t, b.t), fmax(a.g, fabs(a.s.h) * b.g)};
}

static __device__ inline Power recur_end(const Recur &a, const Power &x)
{
  return recur_step(a.s, x, a.t);
}

static __device__ inline bool recur_sound(const Recur &a, double growth)
{
  return a.g <= growth && isfinite(a.s.h) && isfinite(a.t.h);
}

static __device__ inline Recur recur_up(const Recur &a, int d)
{
  return {
    {__shfl_up_sync(0xffffffffu, a.s.h, d), __shfl_up_sync(0xffffffffu, a.s.l, d)},
    {__shfl_up_sync(0xffffffffu, a.t.h, d), __shfl_up_sync(0xffffffffu, a.t.l, d)},
    __shfl_up_sync(0xffffffffu, a.g, d)
  };
}

/* What tiles say; said: 0 nothing, 1 tile, 2 end */
struct RecurSaid {
  int *said, *ticket;
  double *tile, *end; /* 5 numbers for each tile; 2 */
};

static __host__ __device__ inline RecurSaid recur_said(void *work, ptrdiff_t tiles)
{
  RecurSaid r;

  r.tile = (double *)work;
  r.end = r.tile + 5 * tiles;
  r.said = (int *)(r.end + 2 * tiles);
  r.ticket = r.said + tiles;
  return r;
}

static __device__ inline int recur_hear(const int *said)
{
  const int v = *(volatile const int *)said;

  __threadfence();
  return v;
}

static __device__ inline Recur recur_tile(const RecurSaid &r, ptrdiff_t tile)
{
  const volatile double *v = r.tile + 5 * tile;

  return {
    {v[0], v[1]},
    {v[2], v[3]},
    v[4]
  };
}

static __device__ inline void recur_put(const Recur &x, volatile double *v)
{
  v[0] = x.s.h;
  v[1] = x.s.l;
  v[2] = x.t.h;
  v[3] = x.t.l;
  v[4] = x.g;
}

/* The value at the end of a tile is known */
static __device__ inline void recur_say(const RecurSaid &r, ptrdiff_t tile, const Power &end)
{
  volatile double *v = r.end + 2 * tile;

  v[0] = end.h;
  v[1] = end.l;
  __threadfence();
  *(volatile int *)(r.said + tile) = 2;
}

/* The start of a tile, by the lanes of a warp: lane i hears tile - 1 - i. sound: only then may what
   tiles do be put together with what this one does */
static __device__ inline Power recur_look_back(const RecurSaid &r, ptrdiff_t tile, bool sound, double growth)
{
  const int lane = threadIdx.x & 31;

  for (;;) {
    Recur after = recur_none(); /* of the tiles that have been passed */
    ptrdiff_t base = tile - 1;

    while (base >= 0) {
      const ptrdiff_t q = base - lane;
      const int said = q >= 0 ? recur_hear(r.said + q) : 2;
      const unsigned ends = __ballot_sync(0xffffffffu, q >= 0 && said == 2),
                     some = __ballot_sync(0xffffffffu, said != 0);
      const int near = ends ? __ffs((int)ends) - 1 : 32;
      Recur mine = recur_none();

      /* one on the way there has not spoken */
      if ((some | (near < 32 ? 0xffffffffu << near : 0)) != 0xffffffffu) break;
      if (near > 0 && !sound) break;
      if (q >= 0 && lane < near) mine = recur_tile(r, q);
      for (int d = 1; d < 32; d *= 2) { /* tiles base - lane .. base */
        const Recur x = recur_up(mine, d);

        if (lane >= d) mine = recur_join(mine, x);
      }
      if (near > 0) { /* all of them */
        const int last = near - 1;
        const Recur all = {
          {__shfl_sync(0xffffffffu, mine.s.h, last), __shfl_sync(0xffffffffu, mine.s.l, last)},
          {__shfl_sync(0xffffffffu, mine.t.h, last), __shfl_sync(0xffffffffu, mine.t.l, last)},
          __shfl_sync(0xffffffffu, mine.g, last)
        };

        after = recur_join(all, after);
      }
      if (!recur_sound(after, growth)) break;
      if (near < 32) {
        const volatile double *v = r.end + 2 * (base - near);
        const Power x = {v[0], v[1]};

        if (base == tile - 1 && near == 0) return x;
        if (isnan(x.h)) return x;
        {
          const Power start = recur_end(after, x);

          if (!isfinite(start.h)) break;
          return start;
        }
      }
      base -= 32;
    }
    __nanosleep(20);
  }
}

/* A tile's numbers to shared memory, in which a thread's RECUR_K neighbours are at recur_mine() */
template <typename IO>
static __device__ inline void recur_load(const IO *from, ptrdiff_t count, double *room)
{
#pragma unroll
  for (int j = 0; j < RECUR_K; j++) {
    const int e = j * RECUR_THREADS + threadIdx.x;

    room[e + e / RECUR_K] = e < count ? (double)from[e] : 0;
  }
}

static __device__ inline int recur_mine()
{
  return threadIdx.x * (RECUR_K + 1);
}

/* What parts, warps and the tile do: exclusive of the thread's part; all */
static __device__ inline void recur_block(const Recur &part, Recur *warps, Recur *before, Recur *all)
{
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  Recur mine = part, e;

#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const Recur x = recur_up(mine, d);

    if (lane >= d) mine = recur_join(x, mine);
  }
  if (lane == 31) warps[warp] = mine;
  e = recur_up(mine, 1);
  if (lane == 0) e = recur_none();
  __syncthreads();
  {
    Recur x = recur_none();

    for (int w = 0; w < RECUR_THREADS / 32; w++) {
      if (w == warp) *before = recur_join(x, e);
      x = recur_join(x, warps[w]);
    }
    *all = x;
  }
}

/* y with zero start, and what the part does; count: numbers of the array from the thread's first on */
template <int CONSTANT>
static __device__ inline Recur recur_part(const double *s, double scale, const double *t, ptrdiff_t count,
                                          double y[RECUR_K])
{
  double P = 1, x = 0, g = 1;

#pragma unroll
  for (int k = 0; k < RECUR_K; k++) {
    const double c = CONSTANT ? scale : s[k];

    if (k < count) {
      x = c * x + t[k];
      P *= c;
      g = P != P ? INFINITY : fmax(g, fabs(P));
    }
    y[k] = x;
  }
  return {
    {P, 0},
    {x, 0},
    g
  };
}

template <typename IO, int CONSTANT>
__global__ void __launch_bounds__(RECUR_THREADS, RECUR_BLOCKS)
  recur_solve(BCRCudaRecurrence r, const IO *t, double start, IO *w, void *work)
{
  extern __shared__ double2 shared[];
  __shared__ Recur warps[RECUR_THREADS / 32];
  __shared__ Power from;
  __shared__ int ticket, inorder;

  const ptrdiff_t tiles = (r.n + RECUR_TILE - 1) / RECUR_TILE;
  const RecurSaid said = recur_said(work, tiles);
  double *room = (double *)shared + recur_mine(), *s = room + RECUR_ROOM, y[RECUR_K];

  /* tiles begin in order, so that those that are waited for are there */
  if (threadIdx.x == 0) ticket = atomicAdd(said.ticket, 1);
  __syncthreads();
  const ptrdiff_t tile = ticket, at = tile * RECUR_TILE, left = r.n - at,
                  count = left - (ptrdiff_t)threadIdx.x * RECUR_K;

  recur_load(t + at, left, (double *)shared);
  if (!CONSTANT) recur_load((const IO *)r.s + at, left, (double *)shared + RECUR_ROOM);
  __syncthreads();
  Recur before, all;

  recur_block(recur_part<CONSTANT>(s, r.scale, room, count, y), warps, &before, &all);
  const bool sound = recur_sound(all, r.growth);

  if (threadIdx.x == 0 && tile && sound) {
    recur_put(all, said.tile + 5 * tile);
    __threadfence();
    *(volatile int *)(said.said + tile) = 1;
  }
  if (threadIdx.x < 32) {
    const Power x = tile ? recur_look_back(said, tile, sound, r.growth) : Power{start, 0}, end = recur_end(all, x);

    if (threadIdx.x == 0) {
      const bool plain = !sound || (!isfinite(end.h) && !isnan(x.h)); /* from a NaN on there is nothing else */

      from = x;
      inorder = plain;
      if (!plain) recur_say(said, tile, isnan(x.h) ? x : end);
    }
  }
  __syncthreads();
  if (!inorder) {
    const double x = isnan(from.h) ? from.h : recur_end(before, from).h;
    double P = 1;

#pragma unroll
    for (int k = 0; k < RECUR_K; k++) {
      P *= CONSTANT ? r.scale : s[k];
      y[k] = fma(P, x, y[k]);
    }
  } else { /* thread after thread */
    for (int q = 0; q < RECUR_THREADS; q++) {
      if ((int)threadIdx.x == q) {
        double x = from.h;

#pragma unroll
        for (int k = 0; k < RECUR_K; k++) {
          if (k < count) x = (CONSTANT ? r.scale : s[k]) * x + room[k];
          y[k] = x;
        }
        from = {x, 0};
      }
      __syncthreads();
    }
    if (threadIdx.x == 0) recur_say(said, tile, from);
  }
#pragma unroll
  for (int k = 0; k < RECUR_K; k++) room[k] = y[k];
  __syncthreads();
#pragma unroll
  for (int j = 0; j < RECUR_K; j++) {
    const int e = j * RECUR_THREADS + threadIdx.x;

    if (e < left) w[at + e] = (IO)((double *)shared)[e + e / RECUR_K];
  }
}

/* What each tile does */
template <typename IO, int CONSTANT>
__global__ void __launch_bounds__(RECUR_THREADS, RECUR_BLOCKS)
  recur_reduce(BCRCudaRecurrence r, const IO *t, void *work)
{
  extern __shared__ double2 shared[];
  __shared__ Recur warps[RECUR_THREADS / 32];

  const ptrdiff_t tile = blockIdx.x, at = tile * RECUR_TILE, left = r.n - at,
                  count = left - (ptrdiff_t)threadIdx.x * RECUR_K;
  double *room = (double *)shared + recur_mine(), y[RECUR_K];
  Recur before, all;

  recur_load(t + at, left, (double *)shared);
  if (!CONSTANT) recur_load((const IO *)r.s + at, left, (double *)shared + RECUR_ROOM);
  __syncthreads();
  recur_block(recur_part<CONSTANT>(room + RECUR_ROOM, r.scale, room, count, y), warps, &before, &all);
  if (threadIdx.x == 0) recur_put(all, (double *)work + 5 * tile);
}

/* and all of them, one block */
static __global__ void __launch_bounds__(RECUR_THREADS) recur_total(ptrdiff_t tiles, const double *work, double *carry)
{
  __shared__ Recur warps[RECUR_THREADS / 32];

  const ptrdiff_t per = (tiles + RECUR_THREADS - 1) / RECUR_THREADS;
  Recur x = recur_none(), before, all;

  for (ptrdiff_t q = threadIdx.x * per; q < (threadIdx.x + 1) * per && q < tiles; q++) {
    const double *v = work + 5 * q;
    const Recur y = {
      {v[0], v[1]},
      {v[2], v[3]},
      v[4]
    };

    x = recur_join(x, y);
  }
  recur_block(x, warps, &before, &all);
  if (threadIdx.x) return;
  carry[0] = all.s.h + all.s.l;
  carry[1] = all.t.h + all.t.l;
  carry[2] = all.g == all.g && all.s.h == all.s.h ? all.g : INFINITY;
}

static ptrdiff_t recur_tiles(const BCRCudaRecurrence *r)
{
  return (r->n + RECUR_TILE - 1) / RECUR_TILE;
}

size_t BCRCudaRecurrenceWorkspace(const BCRCudaRecurrence *r)
{
  return (size_t)recur_tiles(r) * (7 * sizeof(double) + sizeof(int)) + 2 * sizeof(double);
}

#define RECUR_SHARED ((size_t)(r->s ? 2 : 1) * RECUR_ROOM * sizeof(double))
#define RECUR_RUN(IO, CONSTANT) \
  bcr_launch_cluster(recur_solve<IO, CONSTANT>, grid, dim3(RECUR_THREADS), RECUR_SHARED, 1, stream, *r, (const IO *)t, \
                     start, (IO *)w, work)

int BCRCudaRecurrenceSolve(BCRStream stream, const BCRCudaRecurrence *r, const void *t, double start, void *w,
                           void *work)
{
  const ptrdiff_t tiles = recur_tiles(r);
  const dim3 grid((unsigned)tiles);
  int e;

  if (!r->n) return 0;
  e = BCRCudaZero(recur_said(work, tiles).said, (size_t)(tiles + 1) * sizeof(int), stream);
  if (e) return e;
  e = (int)cudaErrorInvalidValue;
  BCR_CUDA_FIELD(r->single, e = r->s ? RECUR_RUN(T, 0) : RECUR_RUN(T, 1));
  return e ? e : bcr_done();
}

#define RECUR_REDUCE(IO, CONSTANT) \
  bcr_launch_cluster(recur_reduce<IO, CONSTANT>, dim3((unsigned)tiles), dim3(RECUR_THREADS), RECUR_SHARED, 1, stream, \
                     *r, (const IO *)t, work)

int BCRCudaRecurrenceReduce(BCRStream stream, const BCRCudaRecurrence *r, const void *t, double carry[3], void *work)
{
  const ptrdiff_t tiles = recur_tiles(r);
  int e = tiles ? (int)cudaErrorInvalidValue : 0;

  if (tiles) BCR_CUDA_FIELD(r->single, e = r->s ? RECUR_REDUCE(T, 0) : RECUR_REDUCE(T, 1));
  if (!e)
    e = bcr_launch_cluster(recur_total, dim3(1), dim3(RECUR_THREADS), 0, 1, stream, tiles, (const double *)work, carry);
  return e ? e : bcr_done();
}
