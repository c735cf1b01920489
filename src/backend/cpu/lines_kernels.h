/* Tridiagonal lines (lines.h). Included by kernels.h. */
#include "lines.h"

#define LSW ((int)(BCR_STRIP / sizeof(real))) /* modes in a strip */
#define LNV (LSW / VL)                        /* vectors in a strip */

/* row pieces of a strip with nk <= LSW modes, to and from a vector array; what is beyond nk is
   loaded as zero and not stored */
BCR_INLINE void strip_load(vec *g, const void *u, ptrdiff_t i, int nk, const int io)
{
  if (__builtin_expect(nk == LSW, 1)) {
#pragma GCC unroll 16
    for (int v = 0; v < LNV; v++) g[v] = dttload(u, i + VL * v, io);
  } else {
    for (int v = 0; v < LNV; v++)
      g[v] = nk >= VL * (v + 1) ? dttload(u, i + VL * v, io) : dttloadpart(u, i + VL * v, PetscMax(nk - VL * v, 0), io);
  }
}

BCR_INLINE void strip_store(void *u, ptrdiff_t i, const vec *g, int nk, const int io)
{
  if (__builtin_expect(nk == LSW, 1)) {
#pragma GCC unroll 16
    for (int v = 0; v < LNV; v++) dttstore(u, i + VL * v, g[v], io);
  } else {
    for (int v = 0; v < LNV; v++) {
      if (nk >= VL * (v + 1)) dttstore(u, i + VL * v, g[v], io);
      else dttstorepart(u, i + VL * v, g[v], PetscMax(nk - VL * v, 0), io);
    }
  }
}

static int BCRN(lines_strip)(void)
{
  return LSW;
}

static size_t BCRN(lines_work)(ptrdiff_t n)
{
  return 2 * (size_t)(n + 1) * LSW;
}

/* one strip of an open line; u0: the strip's first mode */
BCR_INLINE void lines_strip_open_io(const ptrdiff_t n, const ptrdiff_t nt, const real *tab, const real first, int nk,
                                    void *u, ptrdiff_t u0, ptrdiff_t ld, const int io)
{
  const real *last = tab + 2 * LSW * nt, *c;
  vec y[LNV], g[LNV];
  ptrdiff_t s = 0;

  if (n > 1) { /* the first row stays; what the second one has of it */
    strip_load(y, u, u0, nk, io);
    for (int v = 0; v < LNV && n > 2; v++) y[v] *= first;
    s = 1;
  } else
    for (int v = 0; v < LNV; v++) y[v] = vset1(0);
  for (; s < n - 1; s++) { /* with b of tabled rows, then of the last of them */
    c = tab + 2 * LSW * (s < nt ? s - 1 : nt - 1) + LSW;
    strip_load(g, u, u0 + s * ld, nk, io);
#pragma GCC unroll 16
    for (int v = 0; v < LNV; v++) y[v] = vload(c + VL * v) * y[v] + g[v];
    strip_store(u, u0 + s * ld, y, nk, io);
  }
  strip_load(g, u, u0 + s * ld, nk, io);
#pragma GCC unroll 16
  for (int v = 0; v < LNV; v++) y[v] = vload(last + LSW + VL * v) * (vload(last + VL * v) * y[v] + g[v]);
  strip_store(u, u0 + s * ld, y, nk, io);
  for (s = n - 2; s >= 0; s--) {
    c = tab + 2 * LSW * (s < nt ? s : nt - 1);
    strip_load(g, u, u0 + s * ld, nk, io);
#pragma GCC unroll 16
    for (int v = 0; v < LNV; v++) y[v] = vload(c + LSW + VL * v) * y[v] + vload(c + VL * v) * g[v];
    strip_store(u, u0 + s * ld, y, nk, io);
  }
}

/* once for each type of memory, whoever calls: what a compiler needs for a function grows faster than its length */
static __attribute__((noinline)) void BCRN(lines_strip_open)(const ptrdiff_t n, const ptrdiff_t nt, const real *tab,
                                                             const real first, int nk, void *u, ptrdiff_t u0,
                                                             ptrdiff_t ld, const int io)
{
#if defined(BCR_REAL_SINGLE)
  if (io) {
    lines_strip_open_io(n, nt, tab, first, nk, u, u0, ld, 1);
    return;
  }
#endif
  (void)io;
  lines_strip_open_io(n, nt, tab, first, nk, u, u0, ld, 0);
}

#if !defined(BCR_REAL_SINGLE)
  #define LPW 16         /* lines that are eliminated at a time: what registers hold */
  #define LPV (LPW / VL) /* vectors of them */

/* nk <= LPW lines that need not be definite, -t u_(s-1) + d_s u_s - t u_(s+1) = norm g_s: elimination with partial
   pivoting as in waves_kernels.h. tab: d of the first row, of those inside, of the last one, t and norm, a strip's width
   each; q, r: [LPW n] */
static __attribute__((noinline)) void BCRN(lines_pivoted)(const ptrdiff_t n, const real *tab, int nk, real *u,
                                                          ptrdiff_t ld, real *q)
{
  real *r = q + LPW * n;
  vec a[LPV], c[LPV], y[LPV];
  int part[LPV];

  for (int v = 0; v < LPV; v++) {
    part[v] = nk >= VL * (v + 1) ? VL : PetscMax(nk - VL * v, 0);
    a[v] = vload(tab + VL * v);
    if (n == 1) a[v] += vload(tab + 2 * LSW + VL * v) - vload(tab + LSW + VL * v);
    c[v] = -vload(tab + 3 * LSW + VL * v);
    y[v] = vload(tab + 4 * LSW + VL * v) * dttloadpart(u, VL * v, part[v], 0);
  }
  for (ptrdiff_t s = 0; s + 1 < n; s++) {
    const real *diag = tab + (s + 2 < n ? LSW : 2 * LSW);

  #pragma GCC unroll 8
    for (int v = 0; v < LPV; v++) {
      real *here = u + s * ld + VL * v;
      const vec t = vload(tab + 3 * LSW + VL * v), d = vload(diag + VL * v), e = s + 2 < n ? -t : vset1(0),
                g = vload(tab + 4 * LSW + VL * v) *
                    (part[v] == VL ? vload(here + ld) : dttloadpart(here + ld, 0, part[v], 0));
      const vmask swap = (vmask)(t > vabs(a[v]));
      const vec inv = 1 / vselect(swap, -t, a[v]), m = vselect(swap, a[v], -t) * inv, kept = vselect(swap, d, c[v]),
                beyond = (vec)((vmask)e & swap), z = vselect(swap, g, y[v]);

      a[v] = vselect(swap, c[v], d) - m * kept;
      c[v] = (e - beyond) - m * beyond;
      y[v] = vselect(swap, y[v], g) - m * z;
      vstore(q + LPW * s + VL * v, kept * inv);
      vstore(r + LPW * s + VL * v, beyond * inv);
      if (part[v] == VL) vstore(here, z * inv);
      else dttstorepart(here, 0, z * inv, part[v], 0);
    }
  }
  for (int v = 0; v < LPV; v++) {
    a[v] = y[v] / a[v]; /* the unknown of the row after, and the one after that */
    c[v] = vset1(0);
    dttstorepart(u + (n - 1) * ld, VL * v, a[v], part[v], 0);
  }
  for (ptrdiff_t s = n - 2; s >= 0; s--) {
  #pragma GCC unroll 8
    for (int v = 0; v < LPV; v++) {
      real *here = u + s * ld + VL * v;
      const vec z = part[v] == VL ? vload(here) : dttloadpart(here, 0, part[v], 0),
                x = z - vload(q + LPW * s + VL * v) * a[v] - vload(r + LPW * s + VL * v) * c[v];

      c[v] = a[v];
      a[v] = x;
      if (part[v] == VL) vstore(here, x);
      else dttstorepart(here, 0, x, part[v], 0);
    }
  }
}
#endif

/* the closing of periodic lines: u_last = q (g_last + zA y_first + zB y_(n-2)), u_s = y_s + u_last
   z_s; z is zero beyond the first and the last near rows */
BCR_INLINE void lines_strip_close(const ptrdiff_t n, const ptrdiff_t near, const real *z, const real *zA,
                                  const real *zB, const real *q, int nk, void *u, ptrdiff_t u0, ptrdiff_t ld,
                                  const int io)
{
  vec x[LNV], y0[LNV], y1[LNV];

  strip_load(x, u, u0 + (n - 1) * ld, nk, io);
  strip_load(y0, u, u0, nk, io);
  strip_load(y1, u, u0 + (n - 2) * ld, nk, io);
  for (int v = 0; v < LNV; v++)
    x[v] = vload(q + VL * v) * (x[v] + vload(zA + VL * v) * y0[v] + vload(zB + VL * v) * y1[v]);
  strip_store(u, u0 + (n - 1) * ld, x, nk, io);
  for (ptrdiff_t s = 0; s < n - 1; s++) {
    if (s == near && n - 1 - near > s) s = n - 1 - near;
    strip_load(y0, u, u0 + s * ld, nk, io);
    for (int v = 0; v < LNV; v++) y0[v] += x[v] * vload(z + LSW * s + VL * v);
    strip_store(u, u0 + s * ld, y0, nk, io);
  }
}

/* z: solution of an open line of n rows with zA in the first and zB in the last row alone, where 2
   near < n and it falls below rounding within near rows */
BCR_INLINE void lines_strip_ends(const ptrdiff_t n, const ptrdiff_t near, const ptrdiff_t nt, const real *tab,
                                 const real *zA, const real *zB, real *z)
{
  const real *last = tab + 2 * LSW * nt;
  vec y[LNV];

  for (int v = 0; v < LNV; v++) y[v] = vload(zA + VL * v);
  for (ptrdiff_t s = 0; s < near; s++) {
    const real *c = tab + 2 * LSW * (s < nt ? PetscMax(s - 1, 0) : nt - 1) + LSW;

    for (int v = 0; v < LNV; v++) {
      if (s) y[v] = vload(c + VL * v) * y[v];
      vstore(z + LSW * s + VL * v, y[v]);
    }
  }
  for (int v = 0; v < LNV; v++) y[v] = vset1(0);
  for (ptrdiff_t s = near - 1; s >= 0; s--) {
    const real *c = tab + 2 * LSW * (s < nt ? s : nt - 1);

    for (int v = 0; v < LNV; v++) {
      y[v] = vload(c + LSW + VL * v) * y[v] + vload(c + VL * v) * vload(z + LSW * s + VL * v);
      vstore(z + LSW * s + VL * v, y[v]);
    }
  }
  for (int v = 0; v < LNV; v++) y[v] = vload(last + LSW + VL * v) * vload(zB + VL * v);
  for (ptrdiff_t s = n - 1; s >= n - near; s--) {
    const real *c = tab + 2 * LSW * (nt - 1);

    for (int v = 0; v < LNV; v++) {
      if (s < n - 1) y[v] = vload(c + LSW + VL * v) * y[v];
      vstore(z + LSW * s + VL * v, y[v]);
    }
  }
}

BCR_INLINE void lines_tabled_io(const BCRLinesTab *t, const int io, void *u, ptrdiff_t ld, real *work)
{
  for (ptrdiff_t q = 0, k = 0; k < t->nk; q++, k += LSW) {
    const int nk = t->nk - k < LSW ? (int)(t->nk - k) : LSW;
    const real *tab = (const real *)t->tab + t->off[q];

#if !defined(BCR_REAL_SINGLE)
    for (int p = 0; p < nk && t->nt[q] < 0; p += LPW)
      BCRN(lines_pivoted)(t->n, tab + p, PetscMin(nk - p, LPW), (real *)u + k + p, ld, work);
    if (t->nt[q] < 0) continue;
#endif
    if (!t->periodic) BCRN(lines_strip_open)(t->n, t->nt[q], tab, (real)t->first, nk, u, k, ld, io);
    else {
      const real *zA = (const real *)t->zA + LSW * q, *zB = (const real *)t->zB + LSW * q;

      if (t->n > 1) {
        /* The pivots approach their limits as the square of what z falls off with */
        const ptrdiff_t open = t->n - 1, near = PetscMin(3 * t->nt[q] + 4, open);

        BCRN(lines_strip_open)(open, t->nt[q], tab, 1, nk, u, k, ld, io);
        if (2 * near < open) lines_strip_ends(open, near, t->nt[q], tab, zA, zB, work);
        else {
          for (ptrdiff_t s = 0; s < open; s++)
            for (int v = 0; v < LSW; v++) work[LSW * s + v] = (s == 0 ? zA[v] : 0) + (s == open - 1 ? zB[v] : 0);
          BCRN(lines_strip_open)(open, t->nt[q], tab, 1, LSW, work, 0, LSW, 0);
        }
        lines_strip_close(t->n, near, work, zA, zB, (const real *)t->q + LSW * q, nk, u, k, ld, io);
      } else {
        vec x[LNV];

        strip_load(x, u, k, nk, io);
        for (int v = 0; v < LNV; v++) x[v] *= vload((const real *)t->q + LSW * q + VL * v);
        strip_store(u, k, x, nk, io);
      }
    }
  }
}

static void BCRN(lines_tabled)(const BCRLinesTab *t, int io, void *u, ptrdiff_t ld, void *work)
{
#if defined(BCR_REAL_SINGLE)
  if (io) {
    lines_tabled_io(t, 1, u, ld, (real *)work);
    return;
  }
#endif
  (void)io;
  lines_tabled_io(t, 0, u, ld, (real *)work);
}

/* Factors as it goes. b: scratch of n rows for the backward multipliers; pin: lane that is singular or -1 */
/* Pivots P = up + num from sums of rows, num_s = exc_s + sigma + low num_(s-1)/P_(s-1), so that
   nothing cancels where a line is nearly singular */
BCR_INLINE void lines_general_open_io(const ptrdiff_t n, const real *lower, const real *exc, const real *upper,
                                      const vec *sigma, const vec *scale, int pin, real *b, int nk, void *u,
                                      ptrdiff_t u0, ptrdiff_t ld, const int io)
{
  vec y[LNV], g[LNV], p[LNV], w[LNV];

  for (int v = 0; v < LNV; v++) {
    y[v] = vset1(0);
    w[v] = vset1(1); /* what is before the first row stays */
  }
  for (ptrdiff_t s = 0; s < n; s++) {
    const vec e = vset1(exc[s] + (s < n - 1 ? 0 : upper[s])), l = vset1(lower[s]), r = vset1(s < n - 1 ? upper[s] : 0);

    strip_load(g, u, u0 + s * ld, nk, io);
    for (int v = 0; v < LNV; v++) {
      const vec num = e + sigma[v] + l * w[v];

      p[v] = vset1(1) / (r + num);
      w[v] = num * p[v];
      if (s == n - 1 && pin >= 0 && pin / VL == v) p[v][pin % VL] = 0;
      y[v] = p[v] * (scale[v] * g[v] + l * y[v]);
      vstore(b + LSW * s + VL * v, p[v] * r);
    }
    strip_store(u, u0 + s * ld, y, nk, io);
  }
  for (ptrdiff_t s = n - 2; s >= 0; s--) {
    strip_load(g, u, u0 + s * ld, nk, io);
    for (int v = 0; v < LNV; v++) y[v] = vload(b + LSW * s + VL * v) * y[v] + g[v];
    strip_store(u, u0 + s * ld, y, nk, io);
  }
}

static __attribute__((noinline)) void BCRN(lines_general_open)(const ptrdiff_t n, const real *lower, const real *exc,
                                                               const real *upper, const vec *sigma, const vec *scale,
                                                               int pin, real *b, int nk, void *u, ptrdiff_t u0,
                                                               ptrdiff_t ld, const int io)
{
#if defined(BCR_REAL_SINGLE)
  if (io) {
    lines_general_open_io(n, lower, exc, upper, sigma, scale, pin, b, nk, u, u0, ld, 1);
    return;
  }
#endif
  (void)io;
  lines_general_open_io(n, lower, exc, upper, sigma, scale, pin, b, nk, u, u0, ld, 0);
}

BCR_INLINE void lines_general_io(const BCRLinesGen *t, const int io, void *u, ptrdiff_t ld, real *work)
{
  const real *lower = (const real *)t->lower, *exc = (const real *)t->exc, *upper = (const real *)t->upper;
  const ptrdiff_t n = t->n;

  for (ptrdiff_t k = 0; k < t->nk; k += LSW) {
    const int nk = t->nk - k < LSW ? (int)(t->nk - k) : LSW;
    const int pin = t->pin >= k && t->pin < k + LSW ? (int)(t->pin - k) : -1;
    vec sigma[LNV], scale[LNV];

    strip_load(sigma, t->sigma, k, nk, 0);
    strip_load(scale, t->scale, k, nk, 0);
    if (nk < LSW) { /* lanes without a mode: anything but a zero pivot */
      real w[LSW] __attribute__((aligned(64)));

      for (int v = 0; v < LNV; v++) vstore(w + VL * v, sigma[v]);
      for (int i = nk; i < LSW; i++) w[i] = w[0];
      for (int v = 0; v < LNV; v++) sigma[v] = vload(w + VL * v);
    }
    if (!t->periodic) BCRN(lines_general_open)(n, lower, exc, upper, sigma, scale, pin, work, nk, u, k, ld, io);
    else {
      real *z = work + LSW * (n + 1);
      real zA[LSW] __attribute__((aligned(64))), zB[LSW] __attribute__((aligned(64))),
        q[LSW] __attribute__((aligned(64)));
      vec one[LNV];

      for (int v = 0; v < LNV; v++) {
        one[v] = vset1(1);
        vstore(zA + VL * v, vset1(n > 1 ? upper[n - 1] : 0));
        vstore(zB + VL * v, vset1(n > 1 ? lower[n - 1] : 0));
      }
      if (n > 1) {
        BCRN(lines_general_open)(n - 1, lower, exc, upper, sigma, scale, -1, work, nk, u, k, ld, io);
        for (ptrdiff_t s = 0; s < n - 1; s++)
          for (int v = 0; v < LSW; v++) z[LSW * s + v] = (s == 0 ? lower[0] : 0) + (s == n - 2 ? upper[n - 2] : 0);
        BCRN(lines_general_open)(n - 1, lower, exc, upper, sigma, one, -1, work, LSW, z, 0, LSW, 0);
      }
      /* the last row: scale g + upper y_0 + lower y_(n-2) over what is left of its diagonal */
      for (int i = 0; i < LSW; i++) {
        const real sg = sigma[i / VL][i % VL], sc = scale[i / VL][i % VL];
        const real den =
          exc[n - 1] + sg + (n > 1 ? upper[n - 1] * (1 - z[i]) + lower[n - 1] * (1 - z[LSW * (n - 2) + i]) : 0);

        q[i] = i == pin ? 0 : sc / den;
        zA[i] /= sc;
        zB[i] /= sc;
      }
      if (n > 1) lines_strip_close(n, n - 1, z, zA, zB, q, nk, u, k, ld, io);
      else {
        vec x[LNV];

        strip_load(x, u, k, nk, io);
        for (int v = 0; v < LNV; v++) x[v] *= vload(q + VL * v);
        strip_store(u, k, x, nk, io);
      }
    }
  }
}

static void BCRN(lines_general)(const BCRLinesGen *t, int io, void *u, ptrdiff_t ld, void *work)
{
#if defined(BCR_REAL_SINGLE)
  if (io) {
    lines_general_io(t, 1, u, ld, (real *)work);
    return;
  }
#endif
  (void)io;
  lines_general_io(t, 0, u, ld, (real *)work);
}

BCR_INLINE void lines_border_io(const BCRLinesTab *t, const BCRLinesGen *gen, const int io, const double *first,
                                const double *last, void *u, ptrdiff_t ld, real *work)
{
  const ptrdiff_t n = t ? t->n : gen->n, nmodes = t ? t->nk : gen->nk;
  real *z = work + LSW * (n + 1);

  for (ptrdiff_t q = 0, k = 0; k < nmodes; q++, k += LSW) {
    const int nk = nmodes - k < LSW ? (int)(nmodes - k) : LSW;
    vec x[LNV], y[LNV];

    for (ptrdiff_t i = 0; i < n * LSW; i++) z[i] = 0;
    for (int i = 0; i < nk; i++) {
      z[i] += (real)first[k + i];
      z[LSW * (n - 1) + i] += (real)last[k + i];
    }
    if (t) {
      BCRN(lines_strip_open)(n, t->nt[q], (const real *)t->tab + t->off[q], (real)t->first, LSW, z, 0, LSW, 0);
    } else {
      vec sigma[LNV], unit[LNV];

      for (int v = 0; v < LNV; v++) unit[v] = vset1(1);
      strip_load(sigma, gen->sigma, k, nk, 0);
      if (nk < LSW) {
        real w[LSW] __attribute__((aligned(64)));

        for (int v = 0; v < LNV; v++) vstore(w + VL * v, sigma[v]);
        for (int i = nk; i < LSW; i++) w[i] = w[0];
        for (int v = 0; v < LNV; v++) sigma[v] = vload(w + VL * v);
      }
      BCRN(lines_general_open)
      (n, (const real *)gen->lower, (const real *)gen->exc, (const real *)gen->upper, sigma, unit, -1, work, LSW, z, 0,
       LSW, 0);
    }
    for (ptrdiff_t s = 0; s < n; s++) {
      strip_load(x, z, LSW * s, LSW, 0);
      strip_load(y, u, k + s * ld, nk, io);
      for (int v = 0; v < LNV; v++) y[v] += x[v];
      strip_store(u, k + s * ld, y, nk, io);
    }
  }
}

static void BCRN(lines_border)(const BCRLinesTab *tab, const BCRLinesGen *gen, int io, const double *first,
                               const double *last, void *u, ptrdiff_t ld, void *work)
{
#if defined(BCR_REAL_SINGLE)
  if (io) {
    lines_border_io(tab, gen, 1, first, last, u, ld, (real *)work);
    return;
  }
#endif
  (void)io;
  lines_border_io(tab, gen, 0, first, last, u, ld, (real *)work);
}

/* Ends of lines at interfaces. Their rows are few, so that loops that a compiler makes vectors of will do; type: of x, y
   and row */
#define LINES_LEAVE(type) \
  do { \
    const type *restrict p = (const type *)x, *restrict q = (const type *)y; \
\
    if (x && t) \
      for (ptrdiff_t i = 0; i < n; i++) out[i] = a * w[i] * (double)p[i] + b * t[i] * (double)q[i]; \
    else if (x) \
      for (ptrdiff_t i = 0; i < n; i++) out[i] = a * w[i] * (double)p[i] + b * (double)q[i]; \
    else \
      for (ptrdiff_t i = 0; i < n; i++) out[i] = b * (double)q[i]; \
  } while (0)

static void BCRN(lines_leave)(ptrdiff_t n, int io, double a, const double *restrict w, const void *x, double b,
                              const double *restrict t, const void *y, double *restrict out)
{
  if (io) LINES_LEAVE(double);
  else LINES_LEAVE(real);
}

static void BCRN(lines_enter)(ptrdiff_t n, int io, double a, const double *restrict t, const double *restrict w,
                              double b, const double *restrict v, double *restrict edge, void *row)
{
  if (t)
    for (ptrdiff_t i = 0; i < n; i++) edge[i] = a * t[i] / w[i] * v[i];
  else if (w)
    for (ptrdiff_t i = 0; i < n; i++) edge[i] = a / w[i] * v[i];
  else
    for (ptrdiff_t i = 0; i < n; i++) edge[i] = a * v[i];
  if (!row) return;
  if (io)
    for (ptrdiff_t i = 0; i < n; i++) ((double *)row)[i] = b * v[i];
  else
    for (ptrdiff_t i = 0; i < n; i++) ((real *)row)[i] = (real)(b * v[i]);
}
#undef LINES_LEAVE

/* Contiguous lines: LSW of them are brought to the lanes, solved and brought back */
static size_t BCRN(lines_workx)(ptrdiff_t n)
{
  return BCRN(lines_work)(n) + (size_t)(n + 2 * BL) * LSW + 2 * LSW;
}

BCR_INLINE void lines_generalx_io(const BCRLinesGen *t, const int io, void *u, ptrdiff_t ld, real *work)
{
  real *w = work + BCRN(lines_work)(t->n), *sg = w + (size_t)(t->n + 2 * BL) * LSW, *sc = sg + LSW;
  const ptrdiff_t n = t->n, sz = io ? (ptrdiff_t)sizeof(double) : (ptrdiff_t)sizeof(real);

  for (ptrdiff_t k = 0; k < t->nk; k += LSW) {
    const int nk = t->nk - k < LSW ? (int)(t->nk - k) : LSW;
    BCRLinesGen g = *t;
    bun a[BL];

    for (int i = 0; i < LSW; i++) {
      sg[i] = ((const real *)t->sigma)[i < nk ? k + i : k];
      sc[i] = ((const real *)t->scale)[i < nk ? k + i : k];
    }
    for (int r = 0; r < LSW; r += BL)
      for (ptrdiff_t i = 0; i < n; i += BL) {
        for (int p = 0; p < BL; p++) {
          const char *row = (const char *)u + (k + r + p) * ld * sz;

          a[p] = r + p >= nk ? bnull() : (i + BL <= n ? bloadio(row, i, io) : bloadpart(row, i, (int)(n - i), io));
        }
        btr(a);
        for (int p = 0; p < BL; p++) bstore(w + LSW * (i + p) + r, a[p]);
      }
    g.nk = LSW;
    g.sigma = sg;
    g.scale = sc;
    g.pin = t->pin >= k && t->pin < k + nk ? t->pin - k : -1;
    lines_general_io(&g, 0, w, LSW, work);
    for (int r = 0; r < nk; r += BL)
      for (ptrdiff_t i = 0; i < n; i += BL) {
        for (int p = 0; p < BL; p++) a[p] = bload(w + LSW * (i + p) + r);
        btr(a);
        for (int p = 0; p < BL && r + p < nk; p++) {
          char *row = (char *)u + (k + r + p) * ld * sz;

          if (i + BL <= n) bstoreio(row, i, a[p], io);
          else bstorepart(row, i, a[p], (int)(n - i), io);
        }
      }
  }
}

static void BCRN(lines_generalx)(const BCRLinesGen *t, int io, void *u, ptrdiff_t ld, void *work)
{
#if defined(BCR_REAL_SINGLE)
  if (io) {
    lines_generalx_io(t, 1, u, ld, (real *)work);
    return;
  }
#endif
  (void)io;
  lines_generalx_io(t, 0, u, ld, (real *)work);
}

static const BCRLinesTable BCRN(BCRLines) = {BCRN(lines_strip),   BCRN(lines_work),   BCRN(lines_tabled),
                                             BCRN(lines_general), BCRN(lines_border), BCRN(lines_leave),
                                             BCRN(lines_enter),   BCRN(lines_workx),  BCRN(lines_generalx)};
