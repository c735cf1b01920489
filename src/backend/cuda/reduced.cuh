/* Reduced systems of interfaces between few parts: what kernels need of them */
#pragma once

#include "window.cuh"

struct BCRReduced {
  BCRCudaBorderRows rows;
  const double *received; /* NULL: the reduced systems have been solved */
  int part;
  double a; /* coupling between rows, where the kernel of the lines exchanges */
  BCRCudaWindow window;
};

/* Solutions of a mode in the row of this part and in the one before: two rows of the inverse, which
   are positive, times the right-hand sides of all interfaces. What other parts send is in received,
   or has to come to the window; interface, previous: this part's, in its own row and in the one before */
static __device__ __forceinline__ void reduced(const BCRReduced &r, int mode, double interface, double previous,
                                               double *after, double *before)
{
  const BCRCudaBorderRows &b = r.rows;
  const double *inverse = b.inverse + mode; /* [2][nrow], n apart */
  const BCRCudaWindow &w = r.window;
  double *at = w.n ? w.to[r.part] + window_slot(w) : NULL, sumafter = 0, sumbefore = 0;

  /* the rows of the inverse are on their way while others send */
  for (int q = 0; q < 2 * b.nrow && w.n; q++)
    asm volatile("prefetch.global.L1 [%0];" ::"l"(inverse + (ptrdiff_t)q * b.n));
#pragma unroll 1
  for (int i = 0; i < 2 * b.nrow; i++) {
    /* whose number: of row i/2 its own part's, then the one behind it */
    const int p = (i + 1) / 2 < b.nparts ? (i + 1) / 2 : 0;
    double v = 0;

    if (p == r.part) v = i % 2 ? previous : interface;
    else if (!w.n) v = r.received[(2 * (ptrdiff_t)p + 1) * b.n + (i % 2 ? mode : -1 - mode)];
    else if (window_goes(w, p, r.part, i % 2, mode)) v = window_wait(at + window_at(w, p, i % 2, mode), w.turn);
    sumafter += inverse[(ptrdiff_t)(i / 2) * b.n] * v;
    sumbefore += inverse[(ptrdiff_t)(b.nrow + i / 2) * b.n] * v;
  }
  *after = sumafter;
  *before = sumbefore;
}

/* the same, with this part's in received, too */
static __device__ __forceinline__ void reduced(const BCRReduced &r, int mode, double *after, double *before)
{
  const double *mine = r.received + (2 * (ptrdiff_t)r.part + 1) * r.rows.n;

  reduced(r, mode, mine[-1 - mode], mine[mode], after, before);
}
