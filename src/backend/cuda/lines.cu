/*
  Tridiagonal lines of any kind, a thread each, eliminated as they are solved: pivots P = up + num
  with num a sum of what the rows have in excess of their couplings (docs/method.md, section 5), in
  double whatever the type of the data.
*/
#include "common.cuh"
#include "lines.h"

/* Neither number was timed apart from the others */
enum {
  AHEAD = 8,        /* rows that are loaded before the first of them is needed: these loads wait together */
  LINE_THREADS = 64 /* of a block, a line each: half of BCR_THREADS, so that few lines still give many blocks */
};

template <typename T>
__global__ void line_solve(BCRCudaLineRows r, BCRCudaLines lines, T *u, BCRCudaLines worklines, T *work)
{
  const long line = (long)blockIdx.x * blockDim.x + threadIdx.x;

  if (line >= (long)lines.na * lines.nb) return;
  /* rows of the open line */
  const int a = (int)(line % lines.na), b = (int)(line / lines.na), n = r.periodic ? r.n - 1 : r.n;
  const ptrdiff_t stride = lines.s, workstride = worklines.s;
  T *g = u + a * lines.sa + b * lines.sb, *c = work + a * worklines.sa + b * worklines.sb;
  const double sigma = r.shift + (r.shifta ? r.shifta[a] : 0) + (r.shiftb ? r.shiftb[b] : 0);
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
  if (r.periodic) { /* the last unknown, from the first and the last entry of (open line)^-1 g */
    double zf = 0, zb = 0, zw = 0;

    for (int i = 0; i < n; i++) {
      const double low = i ? r.coupling : 0;
      double inv;

      num = r.excess[i] + sigma + (i ? r.low[i] * num / P : 0);
      P = r.up[i] + num;
      inv = P > 0 ? 1 / P : 0;
      zf = ((double)g[i * stride] - mean + low * zf) * inv;
      zb = ((double)g[(n - 1 - i) * stride] - mean + low * zb) * inv;
      zw = (sigma + low * zw) * inv;
    }
    if (n) {
      const double den = sigma + 2 * r.coupling * zw;

      last = pin || !(den > 0) ? 0 : ((double)g[n * stride] - mean + r.coupling * (zf + zb)) / den;
    } else last = sigma > 0 ? ((double)g[0] - mean) / sigma : 0;
  }
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

        if (r.periodic && i == 0) t += r.coupling * last;
        if (r.periodic && i == n - 1) t += r.coupling * last;
        num = r.excess[i] + sigma + (i ? low * num / P : 0);
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

int BCRCudaLineSolve(BCRStream stream, const BCRCudaLineRows *rows, int single, const BCRCudaLines *lines, void *u,
                     const BCRCudaLines *worklines, void *work)
{
  const ptrdiff_t n = (ptrdiff_t)lines->na * lines->nb;

  if (n < 1) return 0;
  BCR_CUDA_TYPE(single,
                line_solve<<<(unsigned)((n + LINE_THREADS - 1) / LINE_THREADS), LINE_THREADS, 0, bcr_stream(stream)>>>(
                  *rows, *lines, (T *)u, *worklines, (T *)work));
  return bcr_done();
}
