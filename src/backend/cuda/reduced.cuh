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

/* Whose number i of a mode is: of row i/2 its own part's, then that of the part behind it */
static __device__ __forceinline__ int reduced_whose(const BCRReduced &r, int i)
{
  return (i + 1) / 2 < r.rows.nparts ? (i + 1) / 2 : 0;
}
/* It comes to the window from part p; else it is this part's, or in received */
static __device__ __forceinline__ bool reduced_comes(const BCRReduced &r, int p)
{
  return r.window.n && p != r.part;
}
static __device__ __forceinline__ double reduced_here(const BCRReduced &r, int p, int i, int mode, double interface,
                                                      double previous)
{
  if (p == r.part) return i % 2 ? previous : interface;
  return r.received[(2 * (ptrdiff_t)p + 1) * r.rows.n + (i % 2 ? mode : -1 - mode)];
}

/* Solutions of a mode in the row of this part and in the one before: two rows of the inverse, which
   are positive, times the right-hand sides of all interfaces. What other parts send is in received,
   or has to come to the window; interface, previous: this part's, in its own row and in the one before. From number `first` on,
   added to what is there; at: where the window's slot begins */
static __device__ __forceinline__ void reduced_from(const BCRReduced &r, int first, const double *inverse, double *at,
                                                    int mode, double interface, double previous, double *after,
                                                    double *before)
{
  const BCRCudaBorderRows &b = r.rows;

#pragma unroll 1
  for (int i = first; i < 2 * b.nrow; i++) {
    const int p = reduced_whose(r, i);
    double v = 0;

    if (!reduced_comes(r, p)) v = reduced_here(r, p, i, mode, interface, previous);
    else if (window_goes(r.window, p, r.part, i % 2, mode))
      v = window_wait(at + window_at(r.window, p, i % 2, mode), r.window.turn);
    *after += inverse[(ptrdiff_t)(i / 2) * b.n] * v;
    *before += inverse[(ptrdiff_t)(b.nrow + i / 2) * b.n] * v;
  }
}
static __device__ __forceinline__ void reduced(const BCRReduced &r, int mode, double interface, double previous,
                                               double *after, double *before)
{
  const BCRCudaBorderRows &b = r.rows;
  const double *inverse = b.inverse + mode; /* [2][nrow], n apart */
  const BCRCudaWindow &w = r.window;

  /* the rows of the inverse are on their way while others send */
  for (int q = 0; q < 2 * b.nrow && w.n; q++)
    asm volatile("prefetch.global.L1 [%0];" ::"l"(inverse + (ptrdiff_t)q * b.n));
  *after = *before = 0;
  reduced_from(r, 0, inverse, w.n ? w.to[r.part] + window_slot(w) : NULL, mode, interface, previous, after, before);
}

/* the same, with this part's in received, too */
static __device__ __forceinline__ void reduced(const BCRReduced &r, int mode, double *after, double *before)
{
  const double *mine = r.received + (2 * (ptrdiff_t)r.part + 1) * r.rows.n;

  reduced(r, mode, mine[-1 - mode], mine[mode], after, before);
}

/* The same in steps, so that a thread waits once for several modes, and what it needs of memory is on its way before */
enum {
  REDUCED_ROWS = 2 /* of the inverse, and twice as many numbers, that are asked for ahead */
};
struct BCRReducedMode {
  int mode;         /* -1: none */
  unsigned missing; /* bits: what has to come */
  double inverse[2][REDUCED_ROWS], v[2 * REDUCED_ROWS], interface, previous;
};

static __device__ __forceinline__ void reduced_ask(const BCRReduced &r, BCRReducedMode *m)
{
  const BCRCudaBorderRows &b = r.rows;

#pragma unroll
  for (int i = 0; i < REDUCED_ROWS; i++)
#pragma unroll
    for (int q = 0; q < 2; q++)
      m->inverse[q][i] = i < b.nrow ? b.inverse[m->mode + (ptrdiff_t)(q * b.nrow + i) * b.n] : 0;
}

/* This part's numbers go to others; slot: whose turn it is */
static __device__ __forceinline__ void reduced_give(const BCRReduced &r, ptrdiff_t slot, BCRReducedMode *m)
{
  const BCRCudaWindow &w = r.window;

  if (w.n) {
    window_put(w, slot, 0, m->mode, m->interface);
    window_put(w, slot, 1, m->mode, m->previous);
  }
#pragma unroll
  for (int i = 0; i < 2 * REDUCED_ROWS; i++) {
    const int p = reduced_whose(r, i);

    m->v[i] = 0;
    if (i >= 2 * r.rows.nrow) continue;
    if (!reduced_comes(r, p)) m->v[i] = reduced_here(r, p, i, m->mode, m->interface, m->previous);
    else if (window_goes(w, p, r.part, i % 2, m->mode)) m->missing |= 1u << i;
  }
}

/* Looks once for those that are missing, and takes what has come */
static __device__ __forceinline__ void reduced_look(const BCRReduced &r, ptrdiff_t slot, BCRReducedMode *m)
{
  double *const at = r.window.to[r.part] + slot;

#pragma unroll
  for (int i = 0; i < 2 * REDUCED_ROWS; i++)
    if (m->missing & 1u << i) m->v[i] = window_load(at + window_at(r.window, reduced_whose(r, i), i % 2, m->mode));
#pragma unroll
  for (int i = 0; i < 2 * REDUCED_ROWS; i++)
    if ((m->missing & 1u << i) && window_there(m->v[i])) {
      window_clear(at + window_at(r.window, reduced_whose(r, i), i % 2, m->mode));
      m->missing &= ~(1u << i);
    }
}

static __device__ __forceinline__ void reduced_take(const BCRReduced &r, ptrdiff_t slot, const BCRReducedMode &m,
                                                    double *after, double *before)
{
  *after = *before = 0;
#pragma unroll
  for (int i = 0; i < 2 * REDUCED_ROWS; i++) {
    const double v = m.missing & 1u << i ? 0 : m.v[i]; /* nothing will come any more */

    *after += m.inverse[0][i / 2] * v;
    *before += m.inverse[1][i / 2] * v;
  }
  reduced_from(r, 2 * REDUCED_ROWS, r.rows.inverse + m.mode, r.window.to[r.part] + slot, m.mode, m.interface,
               m.previous, after, before);
}
