/*
  Tridiagonal lines of any kind, eliminated as they are solved: pivots P = up + num with num a sum of
  what the rows have in excess of their couplings (docs/method.md, section 5), in double whatever the
  type of the data. A thread has a line; where lines are few, one of its parts:

      . . . . o . . . . o . . . . o      the last row (o) of each part is left when the rows before it (.) are eliminated,
      part 0    part 1    part 2         from the left and from the right; these form a line, which one thread solves; with
                                         the solutions there each part is a line of its own

  Eliminating a row gives its neighbours what it has in excess, in proportion: row sums are never differences.
*/
#include "common.cuh"
#include "lines.h"

/* Neither number was timed apart from the others */
enum {
  AHEAD = 8,            /* rows that are loaded before the first of them is needed: these loads wait together */
  LINE_THREADS = 64,    /* of a block, a line each: half of BCR_THREADS, so that few lines still give many blocks */
  PART_THREADS = 512,   /* of a block, a part each */
  PART_LINES = 16,      /* lines of such a block, which are neighbours in memory, at most, */
  PART_LINES_LEAST = 4, /* and where there are more multiprocessors than blocks: what memory gives at once */
  PARTS_LEAST = 4,      /* parts of a line; fewer are no faster than a thread for each line */
  PARTS_BUSY = 512 /* threads of a multiprocessor that hide each other's waits: more parts than that gain nothing */
};

/* What a line has besides the rows' own: the same in all of them, and t times that */
struct Sigma {
  double all, timed;

  __device__ __forceinline__ double at(const BCRCudaLineRows &r, int i) const
  {
    return r.times ? all + timed * __ldg(r.times + i) : all;
  }
};

static __device__ __forceinline__ Sigma line_sigma(const BCRCudaLineRows &r, int a, int b)
{
  const double sa = r.shifta ? r.shifta[a] : 0, sb = r.shiftb ? r.shiftb[b] : 0;

  if (!r.times) return {r.shift + sa + sb, 0};
  return r.timed ? Sigma{r.shift + sa, sb} : Sigma{r.shift + sb, sa};
}

/* The last unknown of a periodic line. With O the open line of the rows before, b and c what couples them to the last
   row and that to them, and e the excess of all rows, O 1 = e + b, so that the last row is left with the sum

     (e_last + c O^-1 e) u_last = f_last + c O^-1 g

   in which nothing cancels. The last entry of O^-1 is known behind an elimination downwards, the first behind one upwards */
template <typename T>
static __device__ double ring_last(const BCRCudaLineRows &r, const Sigma &s, const T *g, ptrdiff_t stride, double mean)
{
  const int n = r.n - 1;
  const double rest = r.excess[n] + s.at(r, n);
  double z[2] = {0, 0}, w[2] = {0, 0}, den; /* downwards, upwards: of g, of e */

  for (int up = 0; up < 2; up++) {
    double num = 0, P = 1;

    for (int k = 0; k < n; k++) {
      const int i = up ? n - 1 - k : k;
      const double e = r.excess[i] + s.at(r, i), from = k ? (up ? r.up[i] : r.low[i]) : 0;
      double inv;

      num = e + (i == 0 ? r.ring.first : 0) + (i == n - 1 ? r.ring.last : 0) + from * num / P;
      P = (up ? r.low[i] : r.up[i]) + num;
      inv = P > 0 ? 1 / P : 0;
      z[up] = ((double)g[i * stride] - mean + from * z[up]) * inv;
      w[up] = (e + from * w[up]) * inv;
    }
  }
  den = rest + r.ring.low * w[0] + r.ring.up * w[1];
  return den > 0 ? ((double)g[n * stride] - mean + r.ring.low * z[0] + r.ring.up * z[1]) / den : 0;
}

template <typename T>
__global__ void line_solve(BCRCudaLineRows r, BCRCudaLines lines, T *u, BCRCudaLines worklines, T *work)
{
  const long line = (long)blockIdx.x * blockDim.x + threadIdx.x;

  if (line >= (long)lines.na * lines.nb) return;
  /* rows of the open line */
  const int a = (int)(line % lines.na), b = (int)(line / lines.na), n = r.periodic ? r.n - 1 : r.n;
  const ptrdiff_t stride = lines.s, workstride = worklines.s;
  T *g = u + a * lines.sa + b * lines.sb, *c = work + a * worklines.sa + b * worklines.sb;
  const Sigma sigma = line_sigma(r, a, b);
  const double norm = r.factor * (r.norma ? r.norma[a] : 1) * (r.normb ? r.normb[b] : 1);
  const bool pin = a == r.pina && b == r.pinb;
  double mean = 0, last = 0, P = 1, num = 0, y = 0, up = 0, v = 0;

  if (pin) {
    double sum = 0, total = 0;

    for (int i = 0; i < r.n; i++) {
      const double w = r.weight ? r.weight[i] : 1;

      sum += w * (double)g[i * stride];
      total += w;
    }
    mean = sum / total;
    if (r.removed) *r.removed = mean * r.removedfactor;
  }
  if (r.periodic && !pin) last = ring_last(r, sigma, g, stride, mean);
  for (int i0 = 0; i0 < n; i0 += AHEAD) {
    double x[AHEAD];

#pragma unroll
    for (int q = 0; q < AHEAD; q++) x[q] = i0 + q < n ? (double)g[(i0 + q) * stride] : 0;
#pragma unroll
    for (int q = 0; q < AHEAD; q++) {
      const int i = i0 + q;

      if (i < n) {
        const double low = r.low[i];
        double t = x[q] - mean, inv;

        num = r.excess[i] + sigma.at(r, i) + (i ? low * num / P : 0);
        if (r.periodic && i == 0) {
          t += r.ring.first * last;
          num += r.ring.first;
        }
        if (r.periodic && i == n - 1) {
          t += r.ring.last * last;
          num += r.ring.last;
        }
        up = r.up[i];
        P = up + num;
        inv = P != 0 ? 1 / P : 0;
        if (pin && i == n - 1 && !r.periodic) inv = 0;
        y = (t + (i ? low * y : 0)) * inv;
        g[i * stride] = (T)y;
        c[i * workstride] = (T)(up * inv);
      }
    }
  }
  for (int i0 = (n - 1) / AHEAD * AHEAD; i0 >= 0 && n > 0; i0 -= AHEAD) {
    double x[AHEAD], cc[AHEAD];

#pragma unroll
    for (int q = 0; q < AHEAD; q++) {
      x[q] = i0 + q < n ? (double)g[(i0 + q) * stride] : 0;
      cc[q] = i0 + q < n ? (double)c[(i0 + q) * workstride] : 0;
    }
#pragma unroll
    for (int q = AHEAD - 1; q >= 0; q--) {
      if (i0 + q < n) {
        v = x[q] + (i0 + q < n - 1 ? cc[q] * v : 0);
        g[(i0 + q) * stride] = (T)(norm * v);
      }
    }
  }
  if (r.periodic) g[n * stride] = (T)(norm * last);
}

/* What the threads of a block tell each other. Of the last row of each part: couplings, excess and right-hand side, after
   the rows before it and behind it are eliminated; of its first row: what goes on to the row before it */
struct Parts {
  double low[PART_THREADS], excess[PART_THREADS], up[PART_THREADS], rhs[PART_THREADS];
  double onup[PART_THREADS], onexcess[PART_THREADS], onrhs[PART_THREADS];
};

/* The rows of a part as a thread sees them */
template <typename T>
struct PartRows {
  const BCRCudaLineRows &r;
  const T *g;
  ptrdiff_t stride;
  Sigma sigma;
  double mean;

  __device__ __forceinline__ double low(int i) const { return i ? __ldg(r.low + i) : 0; }
  __device__ __forceinline__ double up(int i) const { return __ldg(r.up + i); }
  __device__ __forceinline__ double excess(int i) const { return __ldg(r.excess + i) + sigma.at(r, i); }
  __device__ __forceinline__ double rhs(int i) const { return (double)g[i * stride] - mean; }
};

/* The line of the parts' last rows: its solutions in rhs. L: from one part's thread to the next */
static __device__ void parts_line(Parts *p, int t, int L, int Q, bool pin)
{
  double num = 0, P = 1, y = 0, v = 0;

  for (int k = 0; k < Q; k++, t += L) {
    const double low = k ? p->low[t] : 0;
    double inv;

    num = p->excess[t] + low * num / P;
    P = p->up[t] + num;
    inv = P != 0 && !(pin && k == Q - 1) ? 1 / P : 0;
    y = (p->rhs[t] + low * y) * inv;
    p->rhs[t] = y;
    p->up[t] *= inv;
  }
  for (int k = Q - 1; k >= 0; k--) {
    t -= L;
    v = p->rhs[t] + p->up[t] * v;
    p->rhs[t] = v;
  }
}

/* Rows first .. last - 1 of a part, whose last row is eliminated from the left and whose first one from the right */
template <typename T>
static __device__ void part_eliminate(const PartRows<T> &x, Parts *p, int t, int first, int last)
{
  double near = x.low(first), excess = x.excess(first), y = x.rhs(first), P = near + excess + x.up(first);

#pragma unroll 4
  for (int i = first + 1; i < last; i++) {
    const double m = x.low(i) / P;

    near *= m;
    excess = x.excess(i) + m * excess;
    y = x.rhs(i) + m * y;
    P = near + excess + x.up(i);
  }
  p->low[t] = near;
  p->excess[t] = excess;
  p->rhs[t] = y;
  near = x.up(last - 2);
  excess = x.excess(last - 2);
  y = x.rhs(last - 2);
  P = x.low(last - 2) + excess + near;
#pragma unroll 4
  for (int i = last - 3; i >= first; i--) {
    const double m = x.up(i) / P;

    near *= m;
    excess = x.excess(i) + m * excess;
    y = x.rhs(i) + m * y;
    P = x.low(i) + excess + near;
  }
  p->onup[t] = near / P;
  p->onexcess[t] = excess / P;
  p->onrhs[t] = y / P;
}

/* Q parts of L lines in a block, a part with two rows at least */
template <typename T>
__global__ void __launch_bounds__(PART_THREADS)
  line_parts(BCRCudaLineRows r, BCRCudaLines lines, T *u, BCRCudaLines worklines, T *work, int L, int Q)
{
  __shared__ Parts p;
  const int t = threadIdx.x, q = t / L, n = r.n, first = (int)((long)n * q / Q), last = (int)((long)n * (q + 1) / Q);
  const long line = (long)blockIdx.x * L + t % L, all = (long)lines.na * lines.nb,
             pinned = r.pina < 0 || r.pinb < 0 ? -1 : r.pina + (long)lines.na * r.pinb;
  const bool valid = line < all, pin = valid && line == pinned;
  const int a = valid ? (int)(line % lines.na) : 0, b = valid ? (int)(line / lines.na) : 0;
  const ptrdiff_t stride = lines.s, workstride = worklines.s;
  T *g = u + a * lines.sa + b * lines.sb, *c = work + a * worklines.sa + b * worklines.sb;
  const double norm = r.factor * (r.norma ? r.norma[a] : 1) * (r.normb ? r.normb[b] : 1);
  PartRows<T> x = {r, g, stride, line_sigma(r, a, b), 0};
  double left, right, num, P, y = 0, v;

  if (pinned >= 0 && pinned / L == blockIdx.x) {
    double sum = 0, total = 0;

    for (int i = first; i < last; i++) {
      const double w = r.weight ? r.weight[i] : 1;

      sum += w * (double)g[i * stride];
      total += w;
    }
    p.low[t] = sum;
    p.up[t] = total;
    __syncthreads();
    if (pin) {
      sum = total = 0;
      for (int k = 0; k < Q; k++) {
        sum += p.low[t % L + k * L];
        total += p.up[t % L + k * L];
      }
      x.mean = sum / total;
      if (r.removed && q == 0) *r.removed = x.mean * r.removedfactor;
    }
    __syncthreads();
  }
  part_eliminate(x, &p, t, first, last);
  __syncthreads();
  num = q < Q - 1 ? x.up(last - 1) : 0;
  if (q < Q - 1) {
    p.excess[t] += num * p.onexcess[t + L];
    p.rhs[t] += num * p.onrhs[t + L];
    num *= p.onup[t + L];
  }
  p.up[t] = num;
  __syncthreads();
  if (q == 0) parts_line(&p, t, L, Q, pin);
  __syncthreads();
  if (!valid) return;
  left = q ? p.rhs[t - L] : 0;
  right = p.rhs[t];
  num = x.low(first); /* the row before is known */
  P = 1;
  for (int i0 = first; i0 < last - 1; i0 += AHEAD) {
    double z[AHEAD];

#pragma unroll
    for (int k = 0; k < AHEAD; k++) z[k] = i0 + k < last - 1 ? x.rhs(i0 + k) : 0;
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
      const int i = i0 + k;

      if (i < last - 1) {
        const double low = x.low(i), up = x.up(i);
        double inv;

        num = x.excess(i) + (i == first ? low : low * num / P);
        P = up + num;
        inv = P != 0 ? 1 / P : 0;
        y = (z[k] + low * (i == first ? left : y) + (i == last - 2 ? up * right : 0)) * inv;
        g[i * stride] = (T)y;
        c[i * workstride] = (T)(up * inv);
      }
    }
  }
  v = 0;
  for (int i0 = first + (last - 2 - first) / AHEAD * AHEAD; i0 >= first; i0 -= AHEAD) {
    double z[AHEAD], cc[AHEAD];

#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
      z[k] = i0 + k < last - 1 ? (double)g[(i0 + k) * stride] : 0;
      cc[k] = i0 + k < last - 2 ? (double)c[(i0 + k) * workstride] : 0;
    }
#pragma unroll
    for (int k = AHEAD - 1; k >= 0; k--) {
      if (i0 + k < last - 1) {
        v = z[k] + cc[k] * v;
        g[(i0 + k) * stride] = (T)(norm * v);
      }
    }
  }
  g[(last - 1) * stride] = (T)(norm * right);
}

/* Parts of each line, 1: a thread has all of it; lines of a block. The rows of a part are passed one after the other,
   four times, and the parts twice: 2 n is the square of the best number */
static void parts_shape(int n, long lines, int *Q, int *L)
{
  int device = 0, sms = 0;

  *Q = 1;
  *L = PART_LINES;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
    return;
  while (2 * *Q <= PART_THREADS && 4L * *Q * *Q <= 2L * n && 2 * *Q * lines <= (long)PARTS_BUSY * sms) *Q *= 2;
  if (*Q < PARTS_LEAST || n < 2 * *Q) *Q = 1;
  while (*L * *Q > PART_THREADS || (*L > PART_LINES_LEAST && lines < (long)*L * sms) || (*L > 1 && *L / 2 >= lines))
    *L /= 2;
}

int BCRCudaLineSolve(BCRStream stream, const BCRCudaLineRows *rows, int single, const BCRCudaLines *lines, void *u,
                     const BCRCudaLines *worklines, void *work)
{
  const long n = (long)lines->na * lines->nb;
  int Q, L;

  if (n < 1) return 0;
  parts_shape(rows->n, n, &Q, &L);
  if (Q == 1 || rows->periodic) {
    BCR_CUDA_TYPE(
      single, line_solve<<<(unsigned)((n + LINE_THREADS - 1) / LINE_THREADS), LINE_THREADS, 0, bcr_stream(stream)>>>(
                *rows, *lines, (T *)u, *worklines, (T *)work));
    return bcr_done();
  }
  BCR_CUDA_TYPE(single, line_parts<<<(unsigned)((n + L - 1) / L), L * Q, 0, bcr_stream(stream)>>>(
                          *rows, *lines, (T *)u, *worklines, (T *)work, L, Q));
  return bcr_done();
}
