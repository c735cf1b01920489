/* Level 0 (level0.h). Included by kernels.h. */
#include "level0.h"

/* sine transform of length 8 of the seven rows x[0..6]: x[j-1] = sum_p sin(j p pi/8) x[p-1] */
BCR_INLINE void sine7(bun *x)
{
  const bun a = bset1((real)0.38268343236508977173), b = bset1((real)0.70710678118654752440), c = bset1((real)0.92387953251128675613);
  const bun s1 = badd(x[0], x[6]), d1 = bsub(x[0], x[6]), s2 = badd(x[1], x[5]), d2 = bsub(x[1], x[5]), s3 = badd(x[2], x[4]), d3 = bsub(x[2], x[4]);
  const bun t1 = bfma(a, s1, bmul(c, s3)), t2 = bfms(c, s1, bmul(a, s3)), u1 = bfma(b, s2, x[3]), u2 = bfms(b, s2, x[3]), e = badd(d1, d3);

  x[0] = badd(t1, u1);
  x[6] = bsub(t1, u1);
  x[2] = badd(t2, u2);
  x[4] = bsub(t2, u2);
  x[3] = bsub(d1, d3);
  x[1] = bfma(b, e, d2);
  x[5] = bfms(b, e, d2);
}

/* the same of w_j x_j, the weights folded into the butterflies */
BCR_INLINE void sine7w(bun *x, const real *w)
{
  const bun a = bset1((real)0.38268343236508977173), b = bset1((real)0.70710678118654752440), c = bset1((real)0.92387953251128675613);
  const bun p0 = bmul(bset1(w[0]), x[0]), p1 = bmul(bset1(w[1]), x[1]), p2 = bmul(bset1(w[2]), x[2]);
  const bun w3 = bset1(w[3]), w4 = bset1(w[4]), w5 = bset1(w[5]), w6 = bset1(w[6]);
  const bun s1 = bfma(w6, x[6], p0), d1 = bfnma(w6, x[6], p0), s2 = bfma(w5, x[5], p1), d2 = bfnma(w5, x[5], p1), s3 = bfma(w4, x[4], p2), d3 = bfnma(w4, x[4], p2);
  const bun t1 = bfma(a, s1, bmul(c, s3)), t2 = bfms(c, s1, bmul(a, s3)), bs = bmul(b, s2), u1 = bfma(w3, x[3], bs), u2 = bfnma(w3, x[3], bs), e = badd(d1, d3);

  x[0] = badd(t1, u1);
  x[6] = bsub(t1, u1);
  x[2] = badd(t2, u2);
  x[4] = bsub(t2, u2);
  x[3] = bsub(d1, d3);
  x[1] = bfma(b, e, d2);
  x[5] = bfms(b, e, d2);
}

/* x[i] = sum_k M[8 i + k] x[k], i < ni, k < nk; rows beyond are zero */
BCR_INLINE void dense8(bun *x, const real *M, int ni, int nk)
{
  bun t[8];

  for (int i = 0; i < 8; i++) {
    bun s = bnull();

    if (i < ni)
      for (int k = 0; k < nk; k++) s = bfma(bset1(M[8 * i + k]), x[k], s);
    t[i] = s;
  }
  for (int i = 0; i < 8; i++) x[i] = t[i];
}

/* sum_k mu^k y_k over nh blocks of the ring from slot on: the backward recurrence at a tile's right end */
BCR_INLINE bun level0_warm(const real *ring, ptrdiff_t nslot, ptrdiff_t slot, ptrdiff_t nh, bun mu)
{
  const bun mu2 = bmul(mu, mu), mu4 = bmul(mu2, mu2), mu8 = bmul(mu4, mu4);
  bun       t = bnull();

  slot += nh - 1;
  slot %= nslot;
  for (ptrdiff_t h = nh - 1; h >= 0; h--) {
    for (int k = BL - 8; k >= 0; k -= 8) {
      const real *q  = ring + BL * (BL * slot + k);
      const bun   p0 = bfma(mu, bload(q + BL), bload(q)), p1 = bfma(mu, bload(q + 3 * BL), bload(q + 2 * BL)), p2 = bfma(mu, bload(q + 5 * BL), bload(q + 4 * BL)), p3 = bfma(mu, bload(q + 7 * BL), bload(q + 6 * BL));

      t = bfma(mu8, t, bfma(mu4, bfma(mu2, p3, p2), bfma(mu2, p1, p0)));
    }
    slot = slot ? slot - 1 : nslot - 1;
  }
  return t;
}

typedef struct {
  const BCRLevel0Shape *s;
  const BCRLevel0Kind  *k;
  const char           *f[BG]; /* first row of each group in flight */
  char                 *u[BG];
  ptrdiff_t             ldf, ldu; /* bytes */
  const real           *uL[BG + 1]; /* back: separators left of group 0, between, right of the last */
  const char           *fs[BG]; /* reduce: f at the separator right of each group */
  real                 *dst[BG]; /* reduce: where the sum for the separator left of each group goes; for group > 0 in one step */
  real                 *carry;
  char                 *us[BG]; /* back: row of u of the separator right of each group, NULL: none */
  real                 *ring;
  ptrdiff_t             nslot, fb, fslot, bslot;
  ptrdiff_t             pf; /* bytes ahead to prefetch f; 0: none */
  bun                   y, t, acc, pw;
  real                  sub, sepscale;
  bun                   sum;
} BCRN(Level0State);

/* modes of block b of f (and of the separators), lanes = modes, a[i] = column i */
BCR_INLINE void level0_modes(BCRN(Level0State) *S, const ptrdiff_t b, bun *a, const int BACK, const int REG, const int NG, const int io)
{
  const int       h  = REG ? 7 : S->k->h;
  const ptrdiff_t x0 = BL * b, sz = io ? (ptrdiff_t)sizeof(double) : (ptrdiff_t)sizeof(real);
  const int       nv = b < S->s->nb - 1 ? BL : S->s->nv;

  for (int g = 0; g < BG; g++) {
    bun *ag = a + 8 * g;

    if (g >= NG) {
      for (int p = 0; p < 8; p++) ag[p] = bnull();
      continue;
    }
    if (__builtin_expect(nv == BL, 1)) {
      const char *r = S->f[g] + x0 * sz;

      if (S->pf) {
        const char *q = r + S->pf;

        for (int p = 0; p < (BACK ? 7 : 8); p++) __builtin_prefetch(q + p * S->ldf, 0, 2);
      }
      if (REG) {
        #pragma GCC unroll 8
        for (int p = 0; p < 7; p++) ag[p] = bloadio(r + p * S->ldf, 0, io);
      } else {
        for (int p = 0; p < 8; p++) ag[p] = p < h ? bloadio(r + p * S->ldf, 0, io) : bnull();
      }
      if (BACK) {
        if (__builtin_expect(S->sub != 0, 0))
          for (int p = 0; p < h; p++) ag[p] = bsub(ag[p], bset1(S->sub));
        ag[0]     = badd(ag[0], bload(S->uL[g] + x0));
        ag[h - 1] = badd(ag[h - 1], bload(S->uL[g + 1] + x0));
      }
    } else {
      for (int p = 0; p < 8; p++) ag[p] = p < h ? bloadpart(S->f[g] + p * S->ldf, x0, nv, io) : bnull();
      if (BACK) {
        if (S->sub != 0)
          for (int p = 0; p < h; p++) ag[p] = bsub(ag[p], bset1(S->sub));
        ag[0]     = badd(ag[0], bloadpart(S->uL[g], x0, nv, 0));
        ag[h - 1] = badd(ag[h - 1], bloadpart(S->uL[g + 1], x0, nv, 0));
      }
    }
    if (REG) {
      sine7(ag);
      ag[7] = bnull();
    } else dense8(ag, (const real *)S->k->A, h, h);
  }
  btr(a);
}

/* forward recurrence of the next block, y of all its columns to the ring */
BCR_INLINE void level0_forward(BCRN(Level0State) *S, const int BACK, const int REG, const int NG, const int io, bun mu, bun mu2)
{
  const ptrdiff_t b  = S->fb;
  real           *yb = S->ring + BL * BL * S->fslot;
  bun             a[BL], y = S->y;

  level0_modes(S, b, a, BACK, REG, NG, io);
  if (__builtin_expect(b >= S->k->peel, 1)) {
    #pragma GCC unroll 8
    for (int i = 0; i < BL; i += 2) { /* two steps at a time: half the length of the chain of dependent operations */
      const bun h = bfma(mu, a[i], a[i + 1]);

      bstore(yb + BL * i, bfma(mu, y, a[i]));
      y = bfma(mu2, y, h);
      bstore(yb + BL * (i + 1), y);
    }
  } else {
    const real *C = (const real *)S->k->C + BL * BL * b;

    for (int i = 0; i < BL; i++) {
      y = bfma(bload(C + BL * i), y, a[i]);
      bstore(yb + BL * i, y);
    }
  }
  if (__builtin_expect(b == S->s->nb - 1, 0)) {
    const int nv = S->s->nv;

    if (S->s->xperiodic) y = bload(yb + BL * (nv - 1));
    else if (b >= S->k->peel) {
      const bun yp = nv > 1 ? bload(yb + BL * (nv - 2)) : S->y;

      bstore(yb + BL * (nv - 1), bmul(bload((const real *)S->k->Fn), bfma(bload((const real *)S->k->Cn), yp, a[nv - 1])));
    }
    for (int i = nv; i < BL; i++) bstore(yb + BL * i, bnull());
  }
  if (__builtin_expect(S->s->xperiodic && b < S->k->halo, 0)) {
    const int nv = b < S->s->nb - 1 ? BL : S->s->nv;

    for (int i = 0; i < nv; i++) {
      S->acc = bfma(S->pw, bload(yb + BL * i), S->acc);
      S->pw  = bmul(S->pw, mu);
    }
  }
  S->y = y;
  S->fb++;
  if (++S->fslot == S->nslot) S->fslot = 0;
}

/* backward recurrence of block b and what is made of it */
BCR_INLINE void level0_backward(BCRN(Level0State) *S, const ptrdiff_t b, const int BACK, const int REG, const int NG, const int io, bun mu, bun mu2, bun om)
{
  const BCRLevel0Shape *s  = S->s;
  const real           *yb = S->ring + BL * BL * S->bslot;
  const ptrdiff_t       x0 = BL * b, sz = io ? (ptrdiff_t)sizeof(double) : (ptrdiff_t)sizeof(real);
  const int             nv = b < s->nb - 1 ? BL : s->nv;
  bun                   v[BL], t = S->t;

  if (BACK) { /* the lines that will be written two blocks from now */
    const ptrdiff_t xq = x0 >= 3 * BL ? x0 - 3 * BL : 0;

    for (int g = 0; g < NG; g++)
      for (int p = 0; p < 8; p++) __builtin_prefetch(S->u[g] + xq * sz + p * S->ldu, 1, 3);
  }
  if (__builtin_expect(b >= S->k->peel, 1)) {
    #pragma GCC unroll 8
    for (int i = BL - 2; i >= 0; i -= 2) {
      const bun y0 = bload(yb + BL * i), y1 = bload(yb + BL * (i + 1)), h = bfma(mu, y1, y0);

      v[i + 1] = bfma(mu, t, y1);
      t        = bfma(mu2, t, h);
      v[i]     = t;
    }
  } else {
    const real *B = (const real *)S->k->B + BL * BL * b, *F = (const real *)S->k->F + BL * BL * b;

    for (int i = BL - 1; i >= 0; i--) {
      t    = bfma(bload(B + BL * i), t, bload(yb + BL * i));
      v[i] = bmul(t, bload(F + BL * i));
    }
  }
  S->t = t;
  if (BACK) {
    btr(v);
    for (int g = 0; g < NG; g++) {
      bun  *vg = v + 8 * g;
      char *w  = S->u[g] + x0 * sz;

      if (REG) sine7w(vg, (const real *)S->k->sc);
      else dense8(vg, (const real *)S->k->S, S->k->h, S->k->h);
      if (__builtin_expect(nv == BL, 1)) {
        if (REG) {
          #pragma GCC unroll 8
          for (int p = 0; p < 7; p++) bstoreio(w + p * S->ldu, 0, vg[p], io);
        } else {
          for (int p = 0; p < S->k->h; p++) bstoreio(w + p * S->ldu, 0, vg[p], io);
        }
        if (S->us[g]) bstoreio(S->us[g] + x0 * sz, 0, bmul(bset1(S->sepscale), bload(S->uL[g + 1] + x0)), io);
      } else {
        for (int p = 0; p < S->k->h; p++) bstorepart(w + p * S->ldu, 0, vg[p], nv, io);
        if (S->us[g]) bstorepart(S->us[g] + x0 * sz, 0, bmul(bset1(S->sepscale), bloadpart(S->uL[g + 1], x0, nv, 0)), nv, io);
      }
    }
  } else {
    bun E[BG], O[BG], c, r;

    bfold(v, om, E, O);
    c = bload(S->carry + x0);
    #pragma GCC unroll 2
    for (int g = 0; g < NG; g++) {
      r = nv == BL ? bloadio(S->fs[g] + x0 * sz, 0, io) : bloadpart(S->fs[g] + x0 * sz, 0, nv, io);
      bstore(S->dst[g] + x0, badd(c, badd(E[g], O[g])));
      c = badd(r, bsub(E[g], O[g]));
    }
    bstore(S->carry + x0, c);
  }
  S->bslot = S->bslot ? S->bslot - 1 : S->nslot - 1;
}

/* one group, or BG regular ones side by side, over the whole line */
BCR_INLINE void level0_line(BCRN(Level0State) *S, const int BACK, const int REG, const int NG, const int io)
{
  const BCRLevel0Shape *s  = S->s;
  const bun             mu = bload((const real *)S->k->mu), mu2 = bmul(mu, mu), om = bload((const real *)S->k->om);
  const ptrdiff_t       nb = s->nb, tile = S->k->tile;

  S->nslot = 2 * tile + S->k->halo;
  S->y     = bnull();
  S->acc   = bnull();
  S->pw    = bset1(1);
  S->fb = S->fslot = 0;
  if (s->xperiodic) { /* the carry that comes round: the line's last columns, once */
    S->fb = nb > S->k->halo ? nb - S->k->halo - 1 : 0; /* the last block may hold few columns */
    while (S->fb < nb) level0_forward(S, BACK, REG, NG, io, mu, mu2);
    S->y   = bmul(S->y, bload((const real *)S->k->fac));
    S->acc = bnull();
    S->pw  = bset1(1);
    S->fb = S->fslot = 0;
  }
  while (S->fb < nb && S->fb < tile + S->k->halo) level0_forward(S, BACK, REG, NG, io, mu, mu2);
  for (ptrdiff_t b0 = 0; b0 < nb; b0 += tile) {
    const ptrdiff_t b1 = b0 + tile < nb ? b0 + tile : nb;
    ptrdiff_t       b  = b1 - 1;

    if (s->xperiodic && S->fb == nb && b1 + S->k->halo >= nb) { /* y continues round the corner */
      const bun  wrap = bmul(S->acc, bload((const real *)S->k->fac));
      real      *yl   = S->ring + BL * BL * ((nb - 1) % S->nslot);

      if (s->nv < BL) {
        bstore(yl + BL * s->nv, wrap);
        S->t = b1 < nb ? level0_warm(S->ring, S->nslot, b1 % S->nslot, nb - b1, mu) : bnull();
      } else {
        S->t = wrap;
        if (b1 < nb) {
          bun p = bset1(1);

          for (ptrdiff_t i = 0; i < BL * (nb - b1); i++) p = bmul(p, mu);
          S->t = bfma(p, wrap, level0_warm(S->ring, S->nslot, b1 % S->nslot, nb - b1, mu));
        }
      }
    } else {
      const ptrdiff_t nh = S->fb - b1 < S->k->halo ? S->fb - b1 : S->k->halo;

      S->t = level0_warm(S->ring, S->nslot, b1 % S->nslot, nh, mu);
    }
    S->bslot = (b1 - 1) % S->nslot;
    for (ptrdiff_t q = nb - S->fb < b1 - b0 ? nb - S->fb : b1 - b0; q > 0; q--) { /* the next tile forward, this one backward */
      level0_forward(S, BACK, REG, NG, io, mu, mu2);
      level0_backward(S, b--, BACK, REG, NG, io, mu, mu2, om);
    }
    while (b >= b0) level0_backward(S, b--, BACK, REG, NG, io, mu, mu2, om);
  }
}

static __attribute__((noinline)) void BCRN(level0_red1)(BCRN(Level0State) *T)
{
  BCRN(Level0State) S = *T;
  level0_line(&S, 0, 1, 1, 0);
}
static __attribute__((noinline)) void BCRN(level0_redx)(BCRN(Level0State) *T)
{
  BCRN(Level0State) S = *T;
  level0_line(&S, 0, 0, 1, 0);
}
static __attribute__((noinline)) void BCRN(level0_back1)(BCRN(Level0State) *T)
{
  BCRN(Level0State) S = *T;
  level0_line(&S, 1, 1, 1, 0);
}
static __attribute__((noinline)) void BCRN(level0_backx)(BCRN(Level0State) *T)
{
  BCRN(Level0State) S = *T;
  level0_line(&S, 1, 0, 1, 0);
}
#if BCR_BL == 16
static __attribute__((noinline)) void BCRN(level0_red2)(BCRN(Level0State) *T)
{
  BCRN(Level0State) S = *T;
  level0_line(&S, 0, 1, 2, 0);
}
static __attribute__((noinline)) void BCRN(level0_back2)(BCRN(Level0State) *T)
{
  BCRN(Level0State) S = *T;
  level0_line(&S, 1, 1, 2, 0);
}
#endif
#if defined(BCR_REAL_SINGLE)
static __attribute__((noinline)) void BCRN(level0_red1io)(BCRN(Level0State) *T)
{
  BCRN(Level0State) S = *T;
  level0_line(&S, 0, 1, 1, 1);
}
static __attribute__((noinline)) void BCRN(level0_redxio)(BCRN(Level0State) *T)
{
  BCRN(Level0State) S = *T;
  level0_line(&S, 0, 0, 1, 1);
}
static __attribute__((noinline)) void BCRN(level0_back1io)(BCRN(Level0State) *T)
{
  BCRN(Level0State) S = *T;
  level0_line(&S, 1, 1, 1, 1);
}
static __attribute__((noinline)) void BCRN(level0_backxio)(BCRN(Level0State) *T)
{
  BCRN(Level0State) S = *T;
  level0_line(&S, 1, 0, 1, 1);
}
  #if BCR_BL == 16
static __attribute__((noinline)) void BCRN(level0_red2io)(BCRN(Level0State) *T)
{
  BCRN(Level0State) S = *T;
  level0_line(&S, 0, 1, 2, 1);
}
static __attribute__((noinline)) void BCRN(level0_back2io)(BCRN(Level0State) *T)
{
  BCRN(Level0State) S = *T;
  level0_line(&S, 1, 1, 2, 1);
}
  #endif
#endif

static int BCRN(level0_lanes)(void)
{
  return BL;
}

/* work: ring | carry line | line of zeros (as doubles) | line nobody reads */
static size_t BCRN(level0_ring)(const BCRLevel0Shape *s)
{
  return (size_t)s->ring * BL * BL;
}
static size_t BCRN(level0_work)(const BCRLevel0Shape *s)
{
  const size_t line = (size_t)s->nb * BL;

  return BCRN(level0_ring)(s) + line + line * sizeof(double) / sizeof(real) + line;
}

static void BCRN(level0_start)(const BCRLevel0Shape *s, void *work)
{
  const size_t line = (size_t)s->nb * BL;
  real        *w    = (real *)work + BCRN(level0_ring)(s);

  for (size_t i = 0; i < line * (1 + sizeof(double) / sizeof(real)); i++) w[i] = 0;
}

static void BCRN(level0_reduce)(const BCRLevel0Shape *s, const BCRLevel0Kind *kinds, ptrdiff_t g0, ptrdiff_t g1, const BCRLevel0Args *args, const void *f, ptrdiff_t ldf, void *D, ptrdiff_t ldd, void *work)
{
  const size_t      line = (size_t)s->nb * BL;
  const ptrdiff_t   sz   = args->io ? (ptrdiff_t)sizeof(double) : (ptrdiff_t)sizeof(real);
  BCRN(Level0State) S;

  S.s     = s;
  S.ldf   = ldf * sz;
  S.ldu   = 0;
  S.ring  = (real *)work;
  S.carry = S.ring + BCRN(level0_ring)(s);
  S.sub = S.sepscale = 0;
  for (ptrdiff_t g = g0; g < g1;) {
    int ng = 1;

    S.k = &kinds[s->kind[g]];
#if BCR_BL == 16
    if (S.k->regular && g + 1 < g1 && kinds[s->kind[g + 1]].regular) ng = 2;
#endif
    for (int q = 0; q < ng; q++) {
      const ptrdiff_t gq = g + q;

      S.f[q]   = (const char *)f + s->row[gq] * S.ldf;
      S.fs[q]  = gq < s->ng - 1 || s->yperiodic ? S.f[q] + kinds[s->kind[gq]].h * S.ldf : (const char *)(S.carry + line);
      S.dst[q] = gq > 0 ? (real *)D + (gq - 1) * ldd : (s->yperiodic ? (real *)D + (s->ng - 1) * ldd : S.carry + line + line * sizeof(double) / sizeof(real));
    }
    S.pf = g + ng < s->ng ? (s->row[g + ng] - s->row[g]) * S.ldf : 0;
    if (S.k->h == 0) { /* two separators side by side */
      for (ptrdiff_t i = 0; i < s->nx; i++) {
        S.dst[0][i] = S.carry[i];
        S.carry[i]  = args->io ? (real)((const double *)S.fs[0])[i] : ((const real *)S.fs[0])[i];
      }
      g++;
      continue;
    }
#if defined(BCR_REAL_SINGLE)
    if (args->io) {
  #if BCR_BL == 16
      if (ng == 2) BCRN(level0_red2io)(&S);
      else
  #endif
        if (S.k->regular) BCRN(level0_red1io)(&S);
      else BCRN(level0_redxio)(&S);
    } else
#endif
    {
#if BCR_BL == 16
      if (ng == 2) BCRN(level0_red2)(&S);
      else
#endif
        if (S.k->regular) BCRN(level0_red1)(&S);
      else BCRN(level0_redx)(&S);
    }
    g += ng;
  }
  if (g1 == s->ng && s->yperiodic) {
    real *d = (real *)D + (s->ng - 1) * ldd;

    for (ptrdiff_t i = 0; i < s->nx; i++) d[i] += S.carry[i];
  }
}

static void BCRN(level0_back)(const BCRLevel0Shape *s, const BCRLevel0Kind *kinds, ptrdiff_t g0, ptrdiff_t g1, BCRLevel0Args *args, const void *f, ptrdiff_t ldf, void *u, ptrdiff_t ldu, const void *D, ptrdiff_t ldd, void *work)
{
  const ptrdiff_t   sz = args->io ? (ptrdiff_t)sizeof(double) : (ptrdiff_t)sizeof(real);
  BCRN(Level0State) S;
  const real       *zero;

  S.s        = s;
  S.ldf      = ldf * sz;
  S.ldu      = ldu * sz;
  S.ring     = (real *)work;
  S.carry    = S.ring + BCRN(level0_ring)(s);
  zero       = S.carry + (size_t)s->nb * BL;
  S.sub      = (real)args->sub;
  S.sepscale = (real)args->sepscale;
  for (ptrdiff_t g = g0; g < g1;) {
    int ng = 1;

    S.k = &kinds[s->kind[g]];
#if BCR_BL == 16
    if (S.k->regular && g + 1 < g1 && kinds[s->kind[g + 1]].regular) ng = 2;
#endif
    S.uL[0] = g > 0 ? (const real *)D + (g - 1) * ldd : (s->yperiodic ? (const real *)D + (s->ng - 1) * ldd : zero);
    for (int q = 0; q < ng; q++) {
      const ptrdiff_t gq  = g + q;
      const int       sep = gq < s->ng - 1 || s->yperiodic;

      S.f[q]      = (const char *)f + s->row[gq] * S.ldf;
      S.u[q]      = (char *)u + s->row[gq] * S.ldu;
      S.uL[q + 1] = sep ? (const real *)D + gq * ldd : zero;
      S.us[q]     = sep ? S.u[q] + kinds[s->kind[gq]].h * S.ldu : NULL;
    }
    S.pf = g + ng < s->ng ? (s->row[g + ng] - s->row[g]) * S.ldf : 0;
    if (S.k->h == 0) {
      for (ptrdiff_t i = 0; i < s->nx; i++) {
        const real v = S.sepscale * S.uL[1][i];

        if (args->io) ((double *)S.us[0])[i] = v;
        else ((real *)S.us[0])[i] = v;
      }
      g++;
      continue;
    }
#if defined(BCR_REAL_SINGLE)
    if (args->io) {
  #if BCR_BL == 16
      if (ng == 2) BCRN(level0_back2io)(&S);
      else
  #endif
        if (S.k->regular) BCRN(level0_back1io)(&S);
      else BCRN(level0_backxio)(&S);
    } else
#endif
    {
#if BCR_BL == 16
      if (ng == 2) BCRN(level0_back2)(&S);
      else
#endif
        if (S.k->regular) BCRN(level0_back1)(&S);
      else BCRN(level0_backx)(&S);
    }
    g += ng;
  }
}

static const BCRLevel0Table BCRN(BCRLevel0) = {BCRN(level0_lanes), BCRN(level0_work), BCRN(level0_start), BCRN(level0_reduce), BCRN(level0_back)};
