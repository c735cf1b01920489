#include "poles.h"

static int BCRN(poles_lanes)(void)
{
  return BL;
}

static size_t BCRN(poles_work)(ptrdiff_t n)
{
  return (size_t)(2 * (n + 2 * BL) * BL);
}

#ifndef POLES_SUM
  /* long sums are made of short ones: rounding grows with the root of their number */
  #define POLES_SUM 16
#endif

/* The right-hand side of a bundle at row i. kind 0: one source, 1: two with weights 1 and ws, 2:
   any, 3: in the lanes already */
BCR_INLINE bun BCRN(poles_rhs)(const int kind, int nsrc, const void *const g[], const real *ws, ptrdiff_t i)
{
  bun t;

  if (kind == 3) return bload((const real *)g[0] + i * BL);
  if (kind == 0) return bset1(((const real *)g[0])[i]);
  if (kind == 1) return bfma(bload(ws), bset1(((const real *)g[1])[i]), bset1(((const real *)g[0])[i]));
  t = bnull();
  for (int s0 = 0; s0 < nsrc; s0 += POLES_SUM) {
    bun p = bnull();

    for (int s = s0; s < nsrc && s < s0 + POLES_SUM; s++)
      p = bfma(bload(ws + s * BL), bset1(((const real *)g[s])[i]), p);
    t = badd(t, p);
  }
  return t;
}

/* The last unknown of a singular line has no equation and is zero. What elimination leaves of the
   right-hand side there, the rounding of all rows, would be the residual of that row alone: the
   lane's right-hand side is shifted by a constant so that nothing is left. last: the lanes' last
   inverse pivots, 0 if singular; y: after elimination; left: what is left */
static __attribute__((noinline)) void BCRN(poles_spread)(const BCRPolesLine *L, const real *tab, ptrdiff_t nt,
                                                         const real *last, real *y, bun left)
{
  const ptrdiff_t n = L->n - (L->periodic ? 1 : 0);
  bun h = bnull(), c = bset1(1), t = bset1(1), ones = bnull();
  real m[BL] __attribute__((aligned(64))), o[BL] __attribute__((aligned(64)));

  for (int pass = 0; pass < 2; pass++) {
    for (ptrdiff_t i = 0; i < n; i++) { /* h is y, and t is left of a periodic line, for a right-hand side of ones */
      const real w = L->general ? 1 : (i == 0 ? (real)L->first : (i == n - 1 ? (real)L->last : 1));

      if (i == 0) h = bset1(w);
      else if (L->general) h = bfma(bmul(bload(tab + (i - 1) * BL), bset1(((const real *)L->lower)[i])), h, bset1(w));
      else h = bfma(bload(tab + (i - 1 < nt ? i - 1 : nt) * BL), h, bset1(w));
      if (pass) bstore(y + i * BL, bfma(ones, h, bload(y + i * BL)));
      else if (L->periodic && i < n - 1) {
        c = bmul(c, bload(tab + (i < nt ? i : nt) * BL));
        t = bfma(c, h, t);
      }
    }
    if (pass) break;
    if (L->periodic) t = bfma(bmul(badd(c, bset1(1)), bload(tab + (nt + 1) * BL)), h, t);
    bstore(m, left);
    bstore(o, L->periodic ? t : h);
    for (int l = 0; l < BL; l++) m[l] = last[l] == 0 ? -m[l] / o[l] : 0;
    ones = bload(m);
  }
}

BCR_INLINE int BCRN(poles_singular)(const real *last)
{
  int some = 0;

  for (int l = 0; l < BL; l++) some |= last[l] == 0;
  return some;
}

/* One bundle: v into acc ([row][lane], weighted and added as asked) or, many set, over y */
BCR_INLINE void BCRN(poles_bundle)(const BCRPolesLine *L, const real *tab, ptrdiff_t nt, const int kind, int nsrc,
                                   const void *const g[], const real *ws, const int many, const real *wo, int add,
                                   real *acc, real *y)
{
  const ptrdiff_t n = L->n - (L->periodic ? 1 : 0);
  const real *lo = (const real *)L->lower, *up = (const real *)L->upper;
  const bun w = many ? bnull() : bload(wo);
  bun z, rn;

#define POLES_OUT(i, v) \
  do { \
    if (many) bstore(y + (i)*BL, v); \
    else bstore(acc + (i)*BL, add ? bfma(w, v, bload(acc + (i)*BL)) : bmul(w, v)); \
  } while (0)
  if (L->general) {
    bun x;

    for (ptrdiff_t i = 0; i < n; i++) {
      z = BCRN(poles_rhs)(kind, nsrc, g, ws, i);
      if (i) z = bfma(bmul(bload(tab + (i - 1) * BL), bset1(lo[i])), bload(y + (i - 1) * BL), z);
      bstore(y + i * BL, z);
    }
    if (BCRN(poles_singular)(tab + (n - 1) * BL))
      BCRN(poles_spread)(L, tab, nt, tab + (n - 1) * BL, y, bload(y + (n - 1) * BL));
    x = bnull();
    for (ptrdiff_t i = n - 1; i >= 0; i--) {
      x = bmul(bload(tab + i * BL), bfma(bset1(up[i]), x, bload(y + i * BL)));
      POLES_OUT(i, x);
    }
    return;
  }
  {
    const bun r = bload(tab + nt * BL), rl = bload(tab + (nt + 1) * BL);
    ptrdiff_t i;

    z = bmul(bset1((real)L->first), BCRN(poles_rhs)(kind, nsrc, g, ws, 0));
    bstore(y, z);
    for (i = 1; i < n - 1 && i <= nt; i++) {
      z = bfma(bload(tab + (i - 1) * BL), z, BCRN(poles_rhs)(kind, nsrc, g, ws, i));
      bstore(y + i * BL, z);
    }
    for (; i < n - 1; i++) {
      z = bfma(r, z, BCRN(poles_rhs)(kind, nsrc, g, ws, i));
      bstore(y + i * BL, z);
    }
    if (n > 1) {
      z = bfma(nt == n - 1 ? bload(tab + (n - 2) * BL) : r, z,
               bmul(bset1((real)L->last), BCRN(poles_rhs)(kind, nsrc, g, ws, n - 1)));
      bstore(y + (n - 1) * BL, z);
    }
    if (L->periodic) { /* the last unknown hears from the first row what elimination carries along, c */
      bun t = BCRN(poles_rhs)(kind, nsrc, g, ws, n), c = bset1(1), x;

      for (i = 0; i < n - 1; i++) {
        c = bmul(c, i < nt ? bload(tab + i * BL) : r);
        t = bfma(c, bload(y + i * BL), t);
      }
      t = bfma(bmul(badd(c, bset1(1)), rl), z, t);
      if (BCRN(poles_singular)(tab + (nt + 2) * BL)) {
        BCRN(poles_spread)(L, tab, nt, tab + (nt + 2) * BL, y, t);
        z = bload(y + (n - 1) * BL);
      }
      x = bmul(t, bload(tab + (nt + 2) * BL));
      POLES_OUT(n, x);
      c = bset1(1);
      for (i = 0; i < n - 1; i++) {
        bstore(y + i * BL, bfma(x, c, bload(y + i * BL)));
        c = bmul(c, i < nt ? bload(tab + i * BL) : r);
      }
      z = bfma(x, badd(c, bset1(1)), z);
    } else if (BCRN(poles_singular)(tab + (nt + 1) * BL)) {
      BCRN(poles_spread)(L, tab, nt, tab + (nt + 1) * BL, y, z);
      z = bload(y + (n - 1) * BL);
    }
    rn = rl;
    POLES_OUT(n - 1, bmul(rl, z));
    for (i = n - 2; i >= nt; i--) {
      z = bfma(rn, z, bload(y + i * BL));
      rn = r;
      POLES_OUT(i, bmul(r, z));
    }
    for (; i >= 0; i--) {
      z = bfma(rn, z, bload(y + i * BL));
      rn = bload(tab + i * BL);
      POLES_OUT(i, bmul(rn, z));
    }
  }
#undef POLES_OUT
}

static void BCRN(poles_solve)(const BCRPolesLine *L, const BCRPolesTab *tab, int nsrc, int unit, const void *const g[],
                              const void *ws_, int nout, int add, void *const out[], const void *wo_, void *work)
{
  const real *ws = (const real *)ws_, *wo = (const real *)wo_, *t = (const real *)tab->tab;
  real *y = (real *)work, *acc = y + (L->n + 2 * BL) * BL;
  const int nws = ws ? (unit ? 1 : nsrc) : 0;

  if (!add)
    for (int k = 0; k < nout; k++)
      if (nout > 1)
        for (ptrdiff_t i = 0; i < L->n; i += BL) bstore((real *)out[k] + i, bnull());
  /* the largest eigenvalues first: their solutions are small, sums keep their digits */
  for (ptrdiff_t b = tab->nb - 1; b >= 0; b--) {
    const real *tb = t + tab->off[b], *wsb = ws + b * nws * BL, *wob = wo + b * nout * BL;

    if (nout > 1) {
      BCRN(poles_bundle)(L, tb, tab->nt[b], 2, nsrc, g, wsb, 1, wob, 0, acc, y);
      for (ptrdiff_t i = 0; i < L->n; i += BL) { /* poles out of the lanes, then a small matrix product */
        bun v[BL];

        for (int l = 0; l < BL; l++) v[l] = i + l < L->n ? bload(y + (i + l) * BL) : bnull();
        btr(v);
        for (int k = 0; k < nout; k++) {
          bun o = bmul(bset1(wob[k * BL]), v[0]);

          for (int l = 1; l < BL; l++) o = bfma(bset1(wob[k * BL + l]), v[l], o);
          bstore((real *)out[k] + i, badd(o, bload((real *)out[k] + i)));
        }
      }
    } else if (nws == 0) BCRN(poles_bundle)(L, tb, tab->nt[b], 0, nsrc, g, wsb, 0, wob, b < tab->nb - 1, acc, y);
    else if (unit) BCRN(poles_bundle)(L, tb, tab->nt[b], 1, nsrc, g, wsb, 0, wob, b < tab->nb - 1, acc, y);
    else BCRN(poles_bundle)(L, tb, tab->nt[b], 2, nsrc, g, wsb, 0, wob, b < tab->nb - 1, acc, y);
  }
  if (nout == 1)
    for (ptrdiff_t i = 0; i < L->n; i += BL) {
      bun v[BL];

      for (int l = 0; l < BL; l++) v[l] = i + l < L->n ? bload(acc + (i + l) * BL) : bnull();
      btr(v);
      for (int h = BL / 2; h > 0; h /= 2)
        for (int l = 0; l < h; l++) v[l] = badd(v[l], v[l + h]);
      bstore((real *)out[0] + i, add ? badd(v[0], bload((real *)out[0] + i)) : v[0]);
    }
}

/* Rows that the lanes of one bundle take, segment by segment, into the lanes; ws: added with this
   weight to what is there */
BCR_INLINE void BCRN(poles_tolanes)(ptrdiff_t n, int np, int ns, const void *const row[], const real *ws, real *t)
{
  const real *p[BL];

  for (int l = 0; l < BL; l++) p[l] = (const real *)row[l / np < ns ? l / np : ns - 1];
  for (ptrdiff_t i = 0; i < n; i += BL) {
    bun v[BL];

    for (int l = 0; l < BL; l++) v[l] = bload(p[l] + i);
    btr(v);
    for (int l = 0; l < BL; l++) bstore(t + (i + l) * BL, ws ? bfma(bload(ws), v[l], bload(t + (i + l) * BL)) : v[l]);
  }
}

static void BCRN(poles_segments)(const BCRPolesLine *L, const BCRPolesTab *tab, int np, int nseg, const void *const g[],
                                 const void *const e[], const void *ws_, void *const out[], const void *wo_, void *work)
{
  const int most = BL / np;
  const real *ws = (const real *)ws_, *wo = (const real *)wo_, *t = (const real *)tab->tab;
  real *y = (real *)work, *rhs = y + (L->n + 2 * BL) * BL;

  for (int b = 0, s0 = 0; s0 < nseg; b++, s0 += most) {
    const int ns = nseg - s0 < most ? nseg - s0 : most;
    const void *r = rhs;

    BCRN(poles_tolanes)(L->n, np, ns, g + s0, NULL, rhs);
    if (e) BCRN(poles_tolanes)(L->n, np, ns, e + s0, ws + b * BL, rhs);
    BCRN(poles_bundle)(L, t + tab->off[b], tab->nt[b], 3, 1, &r, NULL, 0, wo + b * BL, 0, rhs, y);
    for (ptrdiff_t i = 0; i < L->n; i += BL) {
      bun v[BL];

      for (int l = 0; l < BL; l++) v[l] = bload(rhs + (i + l) * BL);
      btr(v);
      for (int s = 0; s < ns; s++) {
        bun o = v[s * np];

        for (int l = 1; l < np; l++) o = badd(o, v[s * np + l]);
        if (s0 + s > 0 && out[s0 + s] == out[s0 + s - 1]) o = badd(o, bload((real *)out[s0 + s] + i));
        bstore((real *)out[s0 + s] + i, o);
      }
    }
  }
}

/* Columns i .. i+nv-1 of m outs: chains of multiply-adds that do not wait for each other */
BCR_INLINE void BCRN(poles_rows_block)(ptrdiff_t i, const int nv, int nsrc, const int iosrc, const void *const g[],
                                       const real *W, ptrdiff_t ldw, const int m, const int ioout, int add,
                                       void *const out[])
{
  bun o[4];

  for (int k = 0; k < m; k++)
    o[k] = add ? (nv == BL ? bloadio(out[k], i, ioout) : bloadpart(out[k], i, nv, ioout)) : bnull();
  for (int s1 = nsrc; s1 > 0; s1 -= POLES_SUM) {
    const int s0 = s1 > POLES_SUM ? s1 - POLES_SUM : 0;
    bun p[4];

    for (int k = 0; k < m; k++) p[k] = bnull();
    for (int s = s1 - 1; s >= s0; s--) {
      const bun v = nv == BL ? bloadio(g[s], i, iosrc) : bloadpart(g[s], i, nv, iosrc);

      for (int k = 0; k < m; k++) p[k] = bfma(bset1(W[k * ldw + s]), v, p[k]);
    }
    for (int k = 0; k < m; k++) o[k] = badd(o[k], p[k]);
  }
  for (int k = 0; k < m; k++) {
    if (nv == BL) bstoreio(out[k], i, o[k], ioout);
    else bstorepart(out[k], i, o[k], nv, ioout);
  }
}

BCR_INLINE void BCRN(poles_rows_io)(ptrdiff_t n, int nsrc, const int iosrc, const void *const g[], const real *W,
                                    ptrdiff_t ldw, int nout, const int ioout, int add, void *const out[])
{
  ptrdiff_t i = 0;

  for (; i + BL <= n; i += BL) {
    int k = 0;

    for (; k + 4 <= nout; k += 4)
      BCRN(poles_rows_block)(i, BL, nsrc, iosrc, g, W + k * ldw, ldw, 4, ioout, add, out + k);
    for (; k < nout; k++) BCRN(poles_rows_block)(i, BL, nsrc, iosrc, g, W + k * ldw, ldw, 1, ioout, add, out + k);
  }
  if (i < n)
    for (int k = 0; k < nout; k++)
      BCRN(poles_rows_block)(i, (int)(n - i), nsrc, iosrc, g, W + k * ldw, ldw, 1, ioout, add, out + k);
}

static void BCRN(poles_rows)(ptrdiff_t n, int nsrc, int iosrc, const void *const g[], const void *W, ptrdiff_t ldw,
                             int nout, int ioout, int add, void *const out[])
{
  if (!iosrc && !ioout) BCRN(poles_rows_io)(n, nsrc, 0, g, (const real *)W, ldw, nout, 0, add, out);
  else if (!iosrc) BCRN(poles_rows_io)(n, nsrc, 0, g, (const real *)W, ldw, nout, 1, add, out);
  else if (!ioout) BCRN(poles_rows_io)(n, nsrc, 1, g, (const real *)W, ldw, nout, 0, add, out);
  else BCRN(poles_rows_io)(n, nsrc, 1, g, (const real *)W, ldw, nout, 1, add, out);
}

static const BCRPolesTable BCRN(BCRPoles) = {BCRN(poles_lanes), BCRN(poles_work), BCRN(poles_solve),
                                             BCRN(poles_segments), BCRN(poles_rows)};
