/*
  Recurrences by parts (paper 003, the P-scheme; paper 004, steps 1A to 2C), for lines and for recurrences themselves:

    forwards   y_j = sf_j y_{j-1} + f_j               j = 0, ..., rows-1
    backwards  u_j = sb_j u_{j+1} + cb_j y_j          j = rows-1, ..., 0

  A line has `parts` parts of m rows, the last one fewer. A: each part from a zero start, a thread
  each, which leaves T. B: the starts, from T and the products S of the coefficients, which are made
  in set-up. C: the parts from their starts. Contiguous lines: the array is rearranged on the way,
  by tiles of 32 parts x 16 rows through shared memory, so that memory is read and written in order
  (plain: it is not).
*/
#include "tri.cuh"
#include "tri.h"

/* None of these was measured apart */
enum {
  ROWS = 16,           /* rows of a tile: half a warp moves those of a part, and as many loads are under way */
  UNIT_THREADS = 64,   /* of a block of parts_rearranged(): two warps, a tile of 32 parts each */
  START_THREADS = 64,  /* of a block of parts_starts(), a line each */
  BLOCK_PARTS = 32,    /* contiguous lines of more parts have a block each for their starts, */
  BLOCK_THREADS = 256, /* of so many threads */
  LINE_THREADS = 64,   /* of a block of ends_numbers(), a line each */
  COLUMN_THREADS = 256 /* of a block of ends_columns(), a row of a line each */
};

/* part p of line l: unit p + parts l of contiguous lines, l + columns p else */
struct Unit {
  ptrdiff_t line, part, set, base, length;
};

static __device__ inline Unit unit_of(const BCRCudaParts &p, ptrdiff_t unit)
{
  const ptrdiff_t columns = p.inner * p.outer;
  Unit q;

  q.line = p.inner == 1 ? unit / p.parts : unit % columns;
  q.part = p.inner == 1 ? unit % p.parts : unit / columns;
  q.set = p.perline ? q.line % p.inner / p.rep + p.inner / p.rep * (q.line / p.inner) : 0;
  q.base = q.line % p.inner + p.inner * (p.n * (q.line / p.inner) + q.part * p.m);
  q.length = p.rows - q.part * p.m < p.m ? p.rows - q.part * p.m : p.m;
  return q;
}

/* coefficient of the i-th row of a part: tables are as threads read them */
template <typename W>
static __device__ inline W coefficient(const BCRCudaParts &p, const void *table, const Unit &q, ptrdiff_t i)
{
  if (p.constant) return ((const W *)table)[q.set];
  return ((const W *)table)[i * p.parts * p.sets + (p.inner == 1 ? q.part + p.parts * q.set : q.set + p.sets * q.part)];
}

static __device__ inline ptrdiff_t carry_at(const BCRCudaParts &p, const Unit &q)
{
  return p.inner == 1 ? q.part + p.parts * q.line : q.line + p.inner * p.outer * q.part;
}

/* carry: APPLY: starts, else ends to be */
template <typename IO, typename W, int BACK, int APPLY>
__global__ void __launch_bounds__(BCR_THREADS) parts_plain(BCRCudaParts p, const IO *f, IO *u, double *carry)
{
  const ptrdiff_t t = (ptrdiff_t)blockIdx.x * blockDim.x + threadIdx.x;

  if (t >= p.inner * p.outer * p.parts) return;
  const Unit q = unit_of(p, t);
  const ptrdiff_t stride = p.inner;
  W y = APPLY ? (W)carry[carry_at(p, q)] : (W)0;

  for (ptrdiff_t k0 = 0; k0 < q.length; k0 += ROWS) {
    W x[ROWS], a[ROWS];

#pragma unroll
    for (int k = 0; k < ROWS; k++) {
      const ptrdiff_t i = BACK ? q.length - 1 - k0 - k : k0 + k;
      const bool in = k0 + k < q.length;

      x[k] = in ? (W)f[q.base + stride * i] : (W)0;
      a[k] = in ? coefficient<W>(p, BACK ? p.sb : p.sf, q, i) : (W)0;
      if (BACK && in) x[k] *= coefficient<W>(p, p.cb, q, i);
    }
#pragma unroll
    for (int k = 0; k < ROWS; k++) {
      if (k0 + k < q.length) {
        y = a[k] * y + x[k];
        if (APPLY) u[q.base + stride * (BACK ? q.length - 1 - k0 - k : k0 + k)] = (IO)y;
      }
    }
  }
  if (!APPLY) carry[carry_at(p, q)] = (double)y;
}

template <typename IO, typename W, int BACK, int APPLY>
__global__ void __launch_bounds__(UNIT_THREADS) parts_rearranged(BCRCudaParts p, const IO *f, IO *u, double *carry)
{
  __shared__ W tiles[UNIT_THREADS / BCR_WARP][BCR_WARP * (ROWS + 1)];

  const int lane = threadIdx.x & 31, row = lane % ROWS, half = lane / ROWS;
  const ptrdiff_t units = p.outer * p.parts,
                  first = ((ptrdiff_t)blockIdx.x * (UNIT_THREADS / BCR_WARP) + (threadIdx.x >> 5)) * BCR_WARP;
  const Unit q = unit_of(p, first + lane < units ? first + lane : units - 1);
  W *tile = tiles[threadIdx.x >> 5], *mine = tile + lane * (ROWS + 1);
  W y = APPLY ? (W)carry[carry_at(p, q)] : (W)0;

  for (ptrdiff_t k0 = 0; k0 < p.m; k0 += ROWS) {
    const ptrdiff_t i0 = BACK ? (p.m - 1) / ROWS * ROWS - k0 : k0; /* first row of the tile */
    ptrdiff_t at[ROWS];
    W move[ROWS];

#pragma unroll
    for (int k = 0; k < ROWS; k++) { /* unit 2 k + half, row i0 + row of it */
      const int src = 2 * k + half;
      const ptrdiff_t base = __shfl_sync(0xffffffffu, q.base, src), length = __shfl_sync(0xffffffffu, q.length, src);

      at[k] = first + src < units && i0 + row < length ? base + i0 + row : -1;
      move[k] = at[k] >= 0 ? (W)f[at[k]] : (W)0;
    }
    __syncwarp();
#pragma unroll
    for (int k = 0; k < ROWS; k++) tile[(2 * k + half) * (ROWS + 1) + row] = move[k];
    __syncwarp();
#pragma unroll
    for (int k = 0; k < ROWS; k++) {
      const int kk = BACK ? ROWS - 1 - k : k;
      const ptrdiff_t i = i0 + kk;

      if (i < q.length) {
        W x = mine[kk];

        if (BACK) x *= coefficient<W>(p, p.cb, q, i);
        y = coefficient<W>(p, BACK ? p.sb : p.sf, q, i) * y + x;
        mine[kk] = y;
      }
    }
    if (APPLY) {
      __syncwarp();
#pragma unroll
      for (int k = 0; k < ROWS; k++)
        if (at[k] >= 0) u[at[k]] = (IO)tile[(2 * k + half) * (ROWS + 1) + row];
    }
  }
  if (!APPLY && first + lane < units) carry[carry_at(p, q)] = (double)y;
}

/* B: ends to starts. S: part p of set s at p sets + s. small: the steps are rounded to float (A2S of paper 004) */
static __device__ inline double step(double S, double x, double T, int small)
{
  return small ? (double)((float)S * (float)x + (float)T) : S * x + T;
}

/* a thread a column */
static __global__ void parts_starts(BCRCudaParts p, int back, int small, double start, double *carry)
{
  const ptrdiff_t column = (ptrdiff_t)blockIdx.x * blockDim.x + threadIdx.x, columns = p.inner * p.outer;

  if (column >= columns) return;
  const double *S =
    (back ? p.Sb : p.Sf) + (p.perline ? column % p.inner / p.rep + p.inner / p.rep * (column / p.inner) : 0);
  double x = start;

  for (ptrdiff_t k = 0; k < p.parts; k++) {
    const ptrdiff_t q = back ? p.parts - 1 - k : k, at = p.inner == 1 ? q + p.parts * column : column + columns * q;
    const double T = carry[at];

    carry[at] = x;
    x = step(S[q * p.sets], x, T, small);
  }
}

/* a block a line: its threads have some parts each */
static __global__ void parts_starts_block(BCRCudaParts p, int back, int small, double start, double *carry)
{
  __shared__ double2 ex[BLOCK_THREADS];

  const ptrdiff_t line = blockIdx.x, per = (p.parts + blockDim.x - 1) / blockDim.x, k0 = threadIdx.x * per,
                  k1 = k0 + per < p.parts ? k0 + per : p.parts;
  const double *S = (back ? p.Sb : p.Sf) + (p.perline ? line / p.rep : 0);
  double x = 0, product = 1;

  carry += p.parts * line;
  for (ptrdiff_t k = k0; k < k1; k++) {
    const ptrdiff_t q = back ? p.parts - 1 - k : k;

    x = step(S[q * p.sets], x, carry[q], small);
    product *= S[q * p.sets];
  }
  ex[threadIdx.x] = make_double2(product, x);
  __syncthreads();
  if (threadIdx.x == 0) {
    x = start;
    for (unsigned t = 0; t < blockDim.x; t++) {
      const double2 v = ex[t];

      ex[t].x = x;
      x = step(v.x, x, v.y, small);
    }
  }
  __syncthreads();
  x = ex[threadIdx.x].x;
  for (ptrdiff_t k = k0; k < k1; k++) {
    const ptrdiff_t q = back ? p.parts - 1 - k : k;
    const double T = carry[q];

    carry[q] = x;
    x = step(S[q * p.sets], x, T, small);
  }
}

template <typename IO, typename W, int BACK, int APPLY>
static int parts_pass(BCRStream stream, const BCRCudaParts *p, const IO *f, IO *u, double *carry)
{
  const ptrdiff_t units = p->inner * p->outer * p->parts;

  if (p->inner == 1 && !p->plain)
    return bcr_launch_cluster(parts_rearranged<IO, W, BACK, APPLY>,
                              dim3((unsigned)((units + UNIT_THREADS - 1) / UNIT_THREADS)), dim3(UNIT_THREADS), 0, 1,
                              stream, *p, f, u, carry);
  return bcr_launch_cluster(parts_plain<IO, W, BACK, APPLY>, dim3((unsigned)((units + BCR_THREADS - 1) / BCR_THREADS)),
                            dim3(BCR_THREADS), 0, 1, stream, *p, f, u, carry);
}

template <typename IO, typename W, int BACK>
static int parts_direction(BCRStream stream, const BCRCudaParts *p, int small, double start, const IO *f, IO *u,
                           double *carry)
{
  const ptrdiff_t columns = p->inner * p->outer;
  int e = parts_pass<IO, W, BACK, 0>(stream, p, f, u, carry);

  if (e) return e;
  if (p->inner == 1 && p->parts > BLOCK_PARTS) {
    e = bcr_launch_cluster(parts_starts_block, dim3((unsigned)columns), dim3(BLOCK_THREADS), 0, 1, stream, *p, BACK,
                           small, start, carry);
  } else {
    e = bcr_launch_cluster(parts_starts, dim3((unsigned)((columns + START_THREADS - 1) / START_THREADS)),
                           dim3(START_THREADS), 0, 1, stream, *p, BACK, small, start, carry);
  }
  return e ? e : parts_pass<IO, W, BACK, 1>(stream, p, f, u, carry);
}

template <typename IO, typename W>
static int parts_solve(BCRStream stream, const BCRCudaParts *p, int small, const IO *f, IO *u, double *carry)
{
  const int e = parts_direction<IO, W, 0>(stream, p, small, 0, f, u, carry);

  return e ? e : parts_direction<IO, W, 1>(stream, p, small, 0, u, u, carry);
}

int BCRCudaPartsSolve(BCRStream stream, const BCRCudaParts *p, int single, int io, int small, const void *f, void *u,
                      double *carry)
{
  int e = (int)cudaErrorInvalidValue;

  if (p->rows < 1) return 0;
  BCR_TRI_TYPES(single, io, e = parts_solve<IO, W>(stream, p, small, (const IO *)f, (IO *)u, carry));
  return e ? e : bcr_done();
}

/* Ends: a thread a line. w: number k of a line at k columns + line */
template <typename IO, typename W>
__global__ void ends_numbers(BCRCudaEnds d, const IO *f, const IO *v, IO *u, double *w)
{
  const ptrdiff_t line = (ptrdiff_t)blockIdx.x * blockDim.x + threadIdx.x, columns = d.inner * d.outer,
                  stride = d.inner;

  if (line >= columns) return;
  const ptrdiff_t set = d.perline ? line % d.inner / d.rep + d.inner / d.rep * (line / d.inner) : 0,
                  base = line % stride + stride * d.n * (line / stride);
  const double *t = d.numbers + set;
  const ptrdiff_t ns = d.sets;
  double z[BCR_CUDA_ENDS], x, first = 0, last = 0;

  for (int r = 0; r < d.count; r++) {
    z[r] = 0;
    for (int i = 0; i < 3; i++) {
      const double c = t[(3 * r + i) * ns];

      if (c != 0) z[r] += c * (double)v[base + stride * (d.row[r] - 1 + i)];
    }
  }
  t += 3 * d.count * ns;
  if (d.periodic && d.rows) {
    first = (double)v[base];
    last = (double)v[base + stride * (d.rows - 1)];
  }
  for (int k = 0; k < d.count; k++) { /* inverse; of column k in the first and the last row: V */
    double wk = 0;

    for (int r = 0; r < d.count; r++) wk += t[(k * d.count + r) * ns] * z[r];
    w[k * columns + line] = wk;
    if (d.periodic) {
      first -= t[(d.count * d.count + k) * ns] * wk;
      last -= t[(d.count * (d.count + 1) + k) * ns] * wk;
    }
  }
  if (!d.periodic) return;
  t += d.count * (d.count + 2) * ns; /* border: count, then low, up, reciprocal pivot */
  x = (double)f[base + stride * d.rows];
  if (d.rows) x -= t[d.count * ns] * last + t[(d.count + 1) * ns] * first;
  x *= t[(d.count + 2) * ns];
  for (int k = 0; k < d.count; k++) w[k * columns + line] += x * t[k * ns];
  w[d.count * columns + line] = x;
  u[base + stride * d.rows] = (IO)x;
}

/* u_j -= V_k w_k for the rows from .. to - 1 of column k */
template <typename IO, typename W>
__global__ void ends_columns(BCRCudaEnds d, int k, IO *u, const double *w)
{
  const ptrdiff_t columns = d.inner * d.outer, t = (ptrdiff_t)blockIdx.x * blockDim.x + threadIdx.x,
                  rows = d.to[k] - d.from[k];
  const ptrdiff_t line = d.inner == 1 ? t / rows : t % columns, j = d.inner == 1 ? t % rows : t / columns;

  if (t >= rows * columns) return;
  const ptrdiff_t set = d.perline ? line % d.inner / d.rep + d.inner / d.rep * (line / d.inner) : 0;
  IO *x = u + line % d.inner + d.inner * (d.n * (line / d.inner) + d.from[k] + j);

  *x = (IO)((W)*x - ((const W *)d.V[k])[j * d.sets + set] * (W)w[k * columns + line]);
}

template <typename IO, typename W>
static int ends_run(BCRStream stream, const BCRCudaEnds *d, const IO *f, IO *u, double *w)
{
  const ptrdiff_t columns = d->inner * d->outer;
  int e = bcr_launch_cluster(ends_numbers<IO, W>, dim3((unsigned)((columns + LINE_THREADS - 1) / LINE_THREADS)),
                             dim3(LINE_THREADS), 0, 1, stream, *d, f, (const IO *)u, u, w);

  for (int k = 0; k < d->columns && !e; k++) {
    const ptrdiff_t rows = d->to[k] - d->from[k];

    if (rows > 0)
      e = bcr_launch_cluster(ends_columns<IO, W>,
                             dim3((unsigned)((rows * columns + COLUMN_THREADS - 1) / COLUMN_THREADS)),
                             dim3(COLUMN_THREADS), 0, 1, stream, *d, k, u, (const double *)w);
  }
  return e;
}

int BCRCudaEndsSolve(BCRStream stream, const BCRCudaEnds *d, int single, int io, const void *f, void *u, double *w)
{
  int e = (int)cudaErrorInvalidValue;

  BCR_TRI_TYPES(single, io, e = ends_run<IO, W>(stream, d, (const IO *)f, (IO *)u, w));
  return e ? e : bcr_done();
}
