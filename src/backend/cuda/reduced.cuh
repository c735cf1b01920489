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

/* ---- the same in steps, so that a thread can wait for the numbers of several modes at once ---- */

enum {
  REDUCED_ROWS = 2 /* of the inverse, and twice as many numbers, that are asked for ahead */
};
struct BCRReducedMode {
  int mode;         /* -1: none */
  unsigned missing; /* bits: what has to come */
  double inverse[2][REDUCED_ROWS], v[2 * REDUCED_ROWS];
};

static __device__ __forceinline__ void reduced_ask(const BCRReduced &r, int mode, BCRReducedMode *m)
{
  const BCRCudaBorderRows &b = r.rows;

  m->mode = mode;
  m->missing = 0;
#pragma unroll
  for (int i = 0; i < REDUCED_ROWS; i++)
#pragma unroll
    for (int q = 0; q < 2; q++)
      m->inverse[q][i] = mode >= 0 && i < b.nrow ? b.inverse[mode + (ptrdiff_t)(q * b.nrow + i) * b.n] : 0;
}

/* Whose number i is, of a row its own part's, then the one's behind it */
static __device__ __forceinline__ int reduced_whose(const BCRReduced &r, int i)
{
  return (i + 1) / 2 < r.rows.nparts ? (i + 1) / 2 : 0;
}

/* This part's numbers, in its own row and in the one before, which are sent; slot: whose turn it is */
static __device__ __forceinline__ void reduced_give(const BCRReduced &r, ptrdiff_t slot, double interface,
                                                    double previous, BCRReducedMode *m)
{
  const BCRCudaWindow &w = r.window;

  if (m->mode < 0) return;
  if (w.n) {
    window_put(w, slot, 0, m->mode, interface);
    window_put(w, slot, 1, m->mode, previous);
  }
#pragma unroll
  for (int i = 0; i < 2 * REDUCED_ROWS; i++) {
    const int p = reduced_whose(r, i);

    m->v[i] = 0;
    if (i >= 2 * r.rows.nrow) continue;
    if (p == r.part) m->v[i] = i % 2 ? previous : interface;
    else if (!w.n) m->v[i] = r.received[(2 * (ptrdiff_t)p + 1) * r.rows.n + (i % 2 ? m->mode : -1 - m->mode)];
    else if (window_goes(w, p, r.part, i % 2, m->mode)) m->missing |= 1u << i;
  }
}

/* Looks once whether they have come */
static __device__ __forceinline__ void reduced_look(const BCRReduced &r, ptrdiff_t slot, BCRReducedMode *m)
{
  const BCRCudaWindow &w = r.window;
  double *const at = w.to[r.part] + slot;

#pragma unroll
  for (int i = 0; i < 2 * REDUCED_ROWS; i++)
    if (m->missing & 1u << i) m->v[i] = window_load(at + window_at(w, reduced_whose(r, i), i % 2, m->mode));
#pragma unroll
  for (int i = 0; i < 2 * REDUCED_ROWS; i++)
    if ((m->missing & 1u << i) && window_there(m->v[i])) {
      window_clear(at + window_at(w, reduced_whose(r, i), i % 2, m->mode));
      m->missing &= ~(1u << i);
    }
}

/* Solutions, as in reduced(); interface, previous: of more rows than are ahead */
static __device__ __forceinline__ void reduced_end(const BCRReduced &r, ptrdiff_t slot, double interface,
                                                   double previous, const BCRReducedMode &m, double *after,
                                                   double *before)
{
  const BCRCudaBorderRows &b = r.rows;
  const BCRCudaWindow &w = r.window;

  *after = *before = 0;
  if (m.mode < 0) return;
#pragma unroll
  for (int i = 0; i < 2 * REDUCED_ROWS; i++) {
    const double v = m.missing & 1u << i ? 0 : m.v[i]; /* nothing will come any more */

    *after += m.inverse[0][i / 2] * v;
    *before += m.inverse[1][i / 2] * v;
  }
  const double *inverse = b.inverse + m.mode;
#pragma unroll 1
  for (int i = 2 * REDUCED_ROWS; i < 2 * b.nrow; i++) {
    const int p = reduced_whose(r, i);
    double v = 0;

    if (p == r.part) v = i % 2 ? previous : interface;
    else if (!w.n) v = r.received[(2 * (ptrdiff_t)p + 1) * b.n + (i % 2 ? m.mode : -1 - m.mode)];
    else if (window_goes(w, p, r.part, i % 2, m.mode))
      v = window_wait(w.to[r.part] + slot + window_at(w, p, i % 2, m.mode), w.turn);
    *after += inverse[(ptrdiff_t)(i / 2) * b.n] * v;
    *before += inverse[(ptrdiff_t)(b.nrow + i / 2) * b.n] * v;
  }
}
