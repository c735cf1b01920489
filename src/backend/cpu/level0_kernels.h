/* Level 0 (level0.h). Included by kernels.h. */
#include "level0.h"

/*
  Rows hold VL neighbouring columns in a vector, eight rows for each group side by side; bundles
  hold the modes of one column. A block of BL columns is worked on VL at a time, so that rows and
  columns stay in registers where a bundle takes several.
*/
#define LN (BL / VL) /* pieces of a block */

/* So many blocks ahead f and u are asked for, into the first cache. They share it with a ring that is as large as it
   may be: further ahead they would push each other out (docs/method.md, section 4). Both numbers were varied on an EPYC
   and a Xeon (commit 93cdb2f) */
#define F_AHEAD 16
#define U_AHEAD 5

/* rows to VL columns */
BCR_INLINE void level0_tocols(const vec *r, bun *a)
{
#pragma GCC unroll 4
  for (int s = 0; s < LN; s++) {
    vec t[VL];

#pragma GCC unroll 16
    for (int i = 0; i < VL; i++) t[i] = r[VL * s + i];
    dtttranspose(t);
#pragma GCC unroll 16
    for (int i = 0; i < VL; i++) ((vec *)&a[i])[s] = t[i];
  }
}

/* and back */
BCR_INLINE void level0_torows(const bun *a, vec *r)
{
#pragma GCC unroll 4
  for (int s = 0; s < LN; s++) {
    vec t[VL];

#pragma GCC unroll 16
    for (int i = 0; i < VL; i++) t[i] = ((const vec *)&a[i])[s];
    dtttranspose(t);
#pragma GCC unroll 16
    for (int i = 0; i < VL; i++) r[VL * s + i] = t[i];
  }
}

/* columns of piece q of a block with nv of them */
BCR_INLINE int level0_part(int nv, int q)
{
  return nv >= VL * (q + 1) ? VL : (nv > VL * q ? nv - VL * q : 0);
}

/* sine7() of w_j x_j, the weights folded into the butterflies */
BCR_INLINE void sine7w(vec *x, const real *w)
{
  const real a = (real)0.38268343236508977173, b = (real)0.70710678118654752440, c = (real)0.92387953251128675613;
  const vec p0 = w[0] * x[0], p1 = w[1] * x[1], p2 = w[2] * x[2], w3 = vset1(w[3]), w4 = vset1(w[4]), w5 = vset1(w[5]),
            w6 = vset1(w[6]);
  const vec s1 = w6 * x[6] + p0, d1 = p0 - w6 * x[6], s2 = w5 * x[5] + p1, d2 = p1 - w5 * x[5], s3 = w4 * x[4] + p2,
            d3 = p2 - w4 * x[4];
  const vec t1 = a * s1 + c * s3, t2 = c * s1 - a * s3, bs = b * s2, u1 = w3 * x[3] + bs, u2 = bs - w3 * x[3],
            e = d1 + d3;

  x[0] = t1 + u1;
  x[6] = t1 - u1;
  x[2] = t2 + u2;
  x[4] = t2 - u2;
  x[3] = d1 - d3;
  x[1] = b * e + d2;
  x[5] = b * e - d2;
}

/* x[i] = sum_k M[8 i + k] x[k], i < ni, k < nk; rows beyond are zero */
BCR_INLINE void dense8(vec *x, const real *M, int ni, int nk)
{
  vec t[8];

  for (int i = 0; i < 8; i++) {
    vec s = vset1(0);

    if (i < ni)
      for (int k = 0; k < nk; k++) s = M[8 * i + k] * x[k] + s;
    t[i] = s;
  }
  for (int i = 0; i < 8; i++) x[i] = t[i];
}

/* sum_k mu^k y_k over nh blocks of the ring from slot on: the backward recurrence at a tile's right end */
BCR_INLINE bun level0_warm(const real *ring, ptrdiff_t nslot, ptrdiff_t slot, ptrdiff_t nh, bun mu)
{
  const bun mu2 = bmul(mu, mu), mu4 = bmul(mu2, mu2), mu8 = bmul(mu4, mu4);
  bun t = bnull();

  slot += nh - 1;
  slot %= nslot;
  for (ptrdiff_t h = nh - 1; h >= 0; h--) {
    for (int k = BL - 8; k >= 0; k -= 8) {
      const real *q = ring + BL * (BL * slot + k);
      const bun p0 = bfma(mu, bload(q + BL), bload(q)), p1 = bfma(mu, bload(q + 3 * BL), bload(q + 2 * BL)),
                p2 = bfma(mu, bload(q + 5 * BL), bload(q + 4 * BL)),
                p3 = bfma(mu, bload(q + 7 * BL), bload(q + 6 * BL));

      t = bfma(mu8, t, bfma(mu4, bfma(mu2, p3, p2), bfma(mu2, p1, p0)));
    }
    slot = slot ? slot - 1 : nslot - 1;
  }
  return t;
}

/* Pairs (BCRLevel0Kind): columns are the real and the imaginary part of an unknown in turn, and multipliers are complex; a
   table has the real parts of all modes, then the imaginary ones */
typedef struct {
  bun re, im;
} bpair;

BCR_INLINE bpair pair_load(const real *p)
{
  const bpair a = {bload(p), bload(p + BL)};

  return a;
}

BCR_INLINE void pair_store(real *p, bpair a)
{
  bstore(p, a.re);
  bstore(p + BL, a.im);
}

BCR_INLINE bpair pair_add(bpair a, bpair b)
{
  const bpair s = {badd(a.re, b.re), badd(a.im, b.im)};

  return s;
}

BCR_INLINE bpair pair_mul(bpair a, bpair b)
{
  const bpair p = {bfnma(a.im, b.im, bmul(a.re, b.re)), bfma(a.im, b.re, bmul(a.re, b.im))};

  return p;
}

BCR_INLINE bpair pair_fma(bpair a, bpair b, bpair c)
{
  const bpair s = {bfma(a.re, b.re, bfnma(a.im, b.im, c.re)), bfma(a.re, b.im, bfma(a.im, b.re, c.im))};

  return s;
}

BCR_INLINE bpair pair_null(void)
{
  const bpair z = {bnull(), bnull()};

  return z;
}

/* mu times level0_warm(), term by term: most lines have one tile */
BCR_INLINE bpair pairs_warm(const real *ring, ptrdiff_t nslot, ptrdiff_t slot, ptrdiff_t nh, bpair mu)
{
  bpair w = pair_null();

  slot += nh - 1;
  slot %= nslot;
  for (ptrdiff_t h = nh - 1; h >= 0; h--) {
    for (int k = BL - 2; k >= 0; k -= 2) w = pair_mul(mu, pair_add(pair_load(ring + BL * (BL * slot + k)), w));
    slot = slot ? slot - 1 : nslot - 1;
  }
  return w;
}

/* What stays the same along a line */
typedef struct {
  const BCRLevel0Shape *s;
  const BCRLevel0Kind *k;
  const char *f[BG]; /* first row of each group in flight */
  char *u[BG];
  ptrdiff_t ldf, ldu;     /* bytes */
  const real *uL[BG + 1]; /* back: separators left of group 0, between, right of the last */
  const char *fs[BG];     /* reduce: f at the separator right of each group */
  real *dst[BG];          /* reduce: where the sum for the separator left of each group goes */
  real *carry;            /* reduce: what the separator to come has so far */
  /* reduce: 9 VL partial sums for each group, of up to 8 rows and of the separator; NULL: not wanted */
  real *sums;
  char *us[BG]; /* back: row of u of the separator right of each group, NULL: none */
  real *ring;
  ptrdiff_t pf;      /* bytes from f to the group to come, which is prefetched; 0: none */
  ptrdiff_t pfd[BG]; /* back: the same of separators, from uL */
  real sub, sepscale;
  real *columns;       /* reduce: of this group; NULL: not wanted */
  const real *sources; /* back: the same */
#if BCR_ISA == 2
  /* Rows of u seldom start on a cache line, and stores that cross one are slow: whole lines are put
     together from the ends of two neighbouring blocks, element i from element i + BL - off of the
     pair. Blocks at a tile's ends are stored as they are. */
  int align;          /* some row is not aligned */
  int off[8 * BG];    /* from a block to the first cache line that begins in it */
  char *line[8 * BG]; /* that of block 0, the separator's row last; NULL: none */
  real *ix;           /* [8 BG][BL] indices of the permutation, as integers */
  real *edge;
#endif
} BCRN(Level0Line);

/* partial sums of row p of group g, from VL elements of it */
BCR_INLINE void level0_sum(const BCRN(Level0Line) * S, const int g, const int p, const vec r)
{
  real *sum = S->sums + VL * (9 * g + p);

  vstore(sum, vload(sum) + r);
}

/* modes of piece q of block b of f (and of the separators): a[i] = column i. Any block, any kind of group */
BCR_INLINE void level0_modes(const BCRN(Level0Line) * S, const ptrdiff_t b, const int q, bun *a, const int BACK,
                             const int REG, const int NG, const int io)
{
  const int h = REG ? 7 : S->k->h, nv = level0_part(b < S->s->nb - 1 ? BL : S->s->nv, q);
  const ptrdiff_t x0 = BL * b + VL * q;
  vec r[8 * BG];

  for (int g = 0; g < BG; g++) {
    vec *rg = r + 8 * g;

    for (int p = 0; p < 8; p++)
      rg[p] = g >= NG || p >= h
                ? vset1(0)
                : (nv == VL ? dttload(S->f[g] + p * S->ldf, x0, io) : dttloadpart(S->f[g] + p * S->ldf, x0, nv, io));
    if (g >= NG) continue;
    if (!BACK && S->sums)
      for (int p = 0; p < h; p++) level0_sum(S, g, p, rg[p]);
    if (BACK) {
      for (int p = 0; p < h; p++) rg[p] -= S->sub;
      rg[0] += nv == VL ? vload(S->uL[g] + x0) : dttloadpart(S->uL[g], x0, nv, 0);
      rg[h - 1] += nv == VL ? vload(S->uL[g + 1] + x0) : dttloadpart(S->uL[g + 1], x0, nv, 0);
    }
    if (nv < VL && S->sub != 0) { /* columns that are not there stay zero */
      for (int p = 0; p < h; p++) {
        real t[VL] __attribute__((aligned(64)));

        vstore(t, rg[p]);
        rg[p] = dttloadpart(t, 0, nv, 0);
      }
    }
    if (REG) {
      sine7(rg);
      rg[7] = vset1(0);
    } else dense8(rg, (const real *)S->k->A, h, h);
  }
  level0_tocols(r, a);
}

/* the same for a whole block of regular groups */
BCR_INLINE void level0_modes_full(const BCRN(Level0Line) * S, const ptrdiff_t b, const int q, bun *a, const int BACK,
                                  const int NG, const int io)
{
  const ptrdiff_t x0 = BL * b + VL * q, sz = io ? (ptrdiff_t)sizeof(double) : (ptrdiff_t)sizeof(real);
  const ptrdiff_t ahead = PetscMin(F_AHEAD, S->s->nb);
  const int inside = b + ahead < S->s->nb; /* in this group, not in the one to come */
  vec r[8 * BG];

#pragma GCC unroll 2
  for (int g = 0; g < BG; g++) {
    if (g < NG) {
      const char *f = S->f[g] + x0 * sz;

      if (q == 0 && S->s->far && (S->pf || inside)) {
        for (ptrdiff_t line = 0; line < BL * sz; line += 64) {
          const char *next = f + (inside ? BL * ahead * sz : S->pf - BL * (S->s->nb - ahead) * sz) + line;

#pragma GCC unroll 8
          for (int p = 0; p < 7; p++) __builtin_prefetch(next + p * S->ldf, 0, 3);
          if (!BACK) __builtin_prefetch(next + 7 * S->ldf, 0, 3);
        }
      }
#pragma GCC unroll 8
      for (int p = 0; p < 7; p++) r[8 * g + p] = dttload(f + p * S->ldf, 0, io);
      if (!BACK && __builtin_expect(S->sums != NULL, 0)) {
#pragma GCC unroll 8
        for (int p = 0; p < 7; p++) level0_sum(S, g, p, r[8 * g + p]);
      }
      if (BACK) {
        if (S->pfd[g] && q == 0) __builtin_prefetch((const char *)(S->uL[g] + x0) + S->pfd[g], 1, 2);
        if (__builtin_expect(S->sub != 0, 0)) {
#pragma GCC unroll 8
          for (int p = 0; p < 7; p++) r[8 * g + p] -= S->sub;
        }
        r[8 * g] += vload(S->uL[g] + x0);
        r[8 * g + 6] += vload(S->uL[g + 1] + x0);
      }
      sine7(r + 8 * g);
      r[8 * g + 7] = vset1(0);
    } else {
#pragma GCC unroll 8
      for (int p = 0; p < 8; p++) r[8 * g + p] = vset1(0);
    }
  }
  level0_tocols(r, a);
}

/* modes of the first and the last column of a line get their sources, piece q of block b */
BCR_INLINE void level0_enter(const BCRN(Level0Line) * S, const ptrdiff_t b, const int q, bun *a)
{
  const ptrdiff_t last = S->s->nx - 1 - (BL * b + VL * q);

#pragma GCC unroll 16
  for (int i = 0; i < VL; i++) {
    if (i == 0 && b == 0 && q == 0) a[i] = badd(a[i], bload(S->sources));
    if (i == last) a[i] = badd(a[i], bload(S->sources + BL));
  }
}

/* what is wanted of the columns from x0 on */
BCR_INLINE void level0_leave(const BCRN(Level0Line) * S, const ptrdiff_t x0, const bun *v)
{
#pragma GCC unroll 16
  for (int i = 0; i < VL; i++) {
    const ptrdiff_t right = x0 + i - (S->s->nx - 2);

    if (x0 + i < 2) bstore(S->columns + BL * (x0 + i), v[i]);
    if (right >= 0 && right < 2) bstore(S->columns + BL * (2 + right), v[i]);
  }
}

/* forward recurrence over a block, y of all its columns to the ring */
BCR_INLINE bun level0_forward(const BCRN(Level0Line) * S, const ptrdiff_t b, real *yb, bun y, const int BACK,
                              const int NG, const int io, const bun mu, const bun mu2)
{
  for (int q = 0; q < LN; q++, yb += BL * VL) {
    bun a[VL];

    level0_modes_full(S, b, q, a, BACK, NG, io);
    if (BACK && __builtin_expect(b == 0 && S->sources != NULL, 0)) level0_enter(S, b, q, a);
    if (__builtin_expect(b >= S->k->peel, 1)) {
#pragma GCC unroll 8
      for (int i = 0; i < VL; i += 2) { /* two steps at a time: half the length of the chain of dependent operations */
        const bun h = bfma(mu, a[i], a[i + 1]);

        bstore(yb + BL * i, bfma(mu, y, a[i]));
        y = bfma(mu2, y, h);
        bstore(yb + BL * (i + 1), y);
      }
    } else {
      const real *C = (const real *)S->k->c + BL * (BL * b + VL * q);

#pragma GCC unroll 16
      for (int i = 0; i < VL; i++) {
        y = bfma(bload(C + BL * i), y, a[i]);
        bstore(yb + BL * i, y);
      }
    }
  }
  return y;
}

/* the same for any block and group; the last block has the line's right end */
BCR_INLINE bun level0_forward_any(const BCRN(Level0Line) * S, const ptrdiff_t b, real *yb, bun y, const int BACK,
                                  const int REG, const int NG, const int io)
{
  const bun mu = bload((const real *)S->k->mu), y0 = y;
  const int nv = S->s->nv;
  bun end = bnull(); /* right-hand side of the last column */

  for (int q = 0; q < LN; q++) {
    bun a[VL];

    level0_modes(S, b, q, a, BACK, REG, NG, io);
    if (BACK && S->sources) level0_enter(S, b, q, a);
    for (int i = 0; i < VL; i++) {
      if (VL * q + i == nv - 1 && b == S->s->nb - 1) {
        end = a[i];
        if (b < S->k->peel) y = bmul(bset1((real)S->k->low), y);
      }
      y = bfma(b >= S->k->peel ? mu : bload((const real *)S->k->c + BL * (BL * b + VL * q + i)), y, a[i]);
      bstore(yb + BL * (VL * q + i), y);
    }
  }
  if (b == S->s->nb - 1) {
    if (S->s->xperiodic) y = bload(yb + BL * (nv - 1));
    else if (b >= S->k->peel)
      bstore(yb + BL * (nv - 1),
             bmul(bload((const real *)S->k->Fn),
                  bfma(bload((const real *)S->k->Cn), nv > 1 ? bload(yb + BL * (nv - 2)) : y0, end)));
    for (int i = nv; i < BL; i++) bstore(yb + BL * i, bnull());
  }
  return y;
}

/* backward recurrence over piece q of a block: v[i] (without the output scale) of its columns; returns t */
BCR_INLINE bun level0_backward(const BCRN(Level0Line) * S, const ptrdiff_t b, const int q, const real *yb, bun t,
                               bun *v, const bun mu, const bun mu2)
{
  yb += BL * VL * q;
  if (__builtin_expect(b >= S->k->peel, 1)) {
#pragma GCC unroll 8
    for (int i = VL - 2; i >= 0; i -= 2) {
      const bun y0 = bload(yb + BL * i), y1 = bload(yb + BL * (i + 1)), h = bfma(mu, y1, y0);

      v[i + 1] = bfma(mu, t, y1);
      t = bfma(mu2, t, h);
      v[i] = t;
    }
  } else {
    const real *B = (const real *)S->k->c + BL * (BL * b + VL * q + 2),
               *F = (const real *)S->k->F + BL * (BL * b + VL * q);

#pragma GCC unroll 16
    for (int i = VL - 1; i > 0; i--) {
      t = bfma(bload(B + BL * i), t, bload(yb + BL * i));
      v[i] = bmul(t, bload(F + BL * i));
    }
    t = bfma(bmul(bset1((real)(b == 0 && q == 0 ? S->k->up : 1)), bload(B)), t, bload(yb));
    v[0] = bmul(t, bload(F));
  }
  return t;
}

/* level0_forward() of pairs */
BCR_INLINE bpair pairs_forward(const BCRN(Level0Line) * S, const ptrdiff_t b, real *yb, bpair y, const int BACK,
                               const int NG, const int io, const bpair mu)
{
  for (int q = 0; q < LN; q++, yb += BL * VL) {
    const real *C = (const real *)S->k->c + BL * (BL * b + VL * q);
    const int tabled = b < S->k->peel;
    bun a[VL];

    level0_modes_full(S, b, q, a, BACK, NG, io);
#pragma GCC unroll 8
    for (int i = 0; i < VL; i += 2) {
      const bpair g = {a[i], a[i + 1]};

      y = pair_fma(__builtin_expect(tabled, 0) ? pair_load(C + BL * i) : mu, y, g);
      pair_store(yb + BL * i, y);
    }
  }
  return y;
}

BCR_INLINE bpair pairs_forward_any(const BCRN(Level0Line) * S, const ptrdiff_t b, real *yb, bpair y, const int BACK,
                                   const int REG, const int NG, const int io, const bpair mu)
{
  const int nv = S->s->nv, tabled = b < S->k->peel;
  const bpair before = y;
  bpair end = pair_null(); /* right-hand side of the last column */

  for (int q = 0; q < LN; q++) {
    bun a[VL];

    level0_modes(S, b, q, a, BACK, REG, NG, io);
    for (int i = 0; i < VL; i += 2) {
      const bpair g = {a[i], a[i + 1]};

      if (VL * q + i == nv - 2 && b == S->s->nb - 1) {
        const bun low = bset1((real)(tabled ? S->k->low : 1));

        end = g;
        y.re = bmul(low, y.re);
        y.im = bmul(low, y.im);
      }
      y = pair_fma(tabled ? pair_load((const real *)S->k->c + BL * (BL * b + VL * q + i)) : mu, y, g);
      pair_store(yb + BL * (VL * q + i), y);
    }
  }
  if (b < S->s->nb - 1) return y;
  if (!tabled)
    pair_store(yb + BL * (nv - 2), pair_mul(pair_load((const real *)S->k->Fn),
                                            pair_fma(pair_load((const real *)S->k->Cn),
                                                     nv > 2 ? pair_load(yb + BL * (nv - 4)) : before, end)));
  for (int i = nv; i < BL; i++) bstore(yb + BL * i, bnull());
  return y;
}

/* level0_backward() of pairs, v with its scale but a real number; w: what the column before gets of this one */
BCR_INLINE bpair pairs_backward(const BCRN(Level0Line) * S, const ptrdiff_t b, const int q, const real *yb, bpair w,
                                bun *v, const bpair mu, const bpair mu2)
{
  yb += BL * VL * q;
  if (__builtin_expect(b < S->k->peel, 0)) {
    const real *B = (const real *)S->k->c + BL * (BL * b + VL * q + 2),
               *F = (const real *)S->k->F + BL * (BL * b + VL * q);

#pragma GCC unroll 8
    for (int i = VL - 2; i >= 0; i -= 2) {
      const bpair t = pair_add(pair_load(yb + BL * i), w), f = pair_mul(pair_load(F + BL * i), t);
      const bun up = bset1((real)(BL * b + VL * q + i == 2 ? S->k->up : 1));

      v[i] = f.re;
      v[i + 1] = f.im;
      w = pair_mul(pair_load(B + BL * i), t);
      w.re = bmul(up, w.re);
      w.im = bmul(up, w.im);
    }
    return w;
  }
#pragma GCC unroll 8
  for (int i = VL - 2; i >= 0; i -= 4) { /* two columns at a time where a vector has them: a shorter chain */
    const bpair t = pair_add(pair_load(yb + BL * i), w), f = pair_mul(mu, t);

    v[i] = f.re;
    v[i + 1] = f.im;
    w = i >= 2 ? pair_fma(mu2, t, pair_mul(mu, pair_load(yb + BL * (i - 2)))) : f;
    if (i >= 2) {
      v[i - 2] = w.re;
      v[i - 1] = w.im;
    }
  }
  return w;
}

/* the backward recurrence over piece q of a block, from where t has come to; Z: of pairs */
BCR_INLINE void level0_columns(const BCRN(Level0Line) * S, const ptrdiff_t b, const int q, const real *yb, bpair *t,
                               bun *v, const bpair mu, const bpair mu2, const int Z)
{
  if (Z) *t = pairs_backward(S, b, q, yb, *t, v, mu, mu2);
  else t->re = level0_backward(S, b, q, yb, t->re, v, mu.re, mu2.re);
}

/* sums for the separators; x0, nv: of the piece */
BCR_INLINE void level0_collect(const BCRN(Level0Line) * S, const ptrdiff_t x0, const int nv, const bun *v, const int NG,
                               const int io, const bun om)
{
  vec E[BG], O[BG], c;

  bfold(v, om, E, O);
  c = vload(S->carry + x0);
#pragma GCC unroll 2
  for (int g = 0; g < NG; g++) {
    const vec r = nv == VL ? dttload(S->fs[g], x0, io) : dttloadpart(S->fs[g], x0, nv, io);

    if (S->sums) level0_sum(S, g, 8, r);
    vstore(S->dst[g] + x0, c + (E[g] + O[g]));
    c = r + (E[g] - O[g]);
  }
  vstore(S->carry + x0, c);
}

/* rows of u from modes, any block and group */
BCR_INLINE void level0_rows_any(const BCRN(Level0Line) * S, const ptrdiff_t x0, const int nv, const bun *v,
                                const int REG, const int NG, const int io)
{
  const int h = REG ? 7 : S->k->h;
  vec r[8 * BG + 1];

  level0_torows(v, r);
  for (int g = 0; g < NG; g++) {
    vec *rg = r + 8 * g, last;

    if (REG) sine7w(rg, (const real *)S->k->outscale);
    else dense8(rg, (const real *)S->k->S, h, h);
    last = S->sepscale * (nv == VL ? vload(S->uL[g + 1] + x0) : dttloadpart(S->uL[g + 1], x0, nv, 0));
    for (int p = 0; p < h + (S->us[g] ? 1 : 0); p++) {
      if (nv == VL) dttstore(S->u[g] + p * S->ldu, x0, p < h ? rg[p] : last, io);
      else dttstorepart(S->u[g] + p * S->ldu, x0, p < h ? rg[p] : last, nv, io);
    }
  }
}

#if BCR_ISA == 2
/* a whole line */
BCR_INLINE void level0_line_store(char *line, vec v, const int io)
{
  if (io) dttstore(line, 0, v, io);
  else *(vec *)line = v;
}
BCR_INLINE bun level0_shift(bun here, bun right, const real *ix)
{
  #if defined(BCR_REAL_SINGLE)
  return (bun)_mm512_permutex2var_ps((__m512)here, _mm512_load_si512((const void *)ix), (__m512)right);
  #else
  return (bun)_mm512_permutex2var_pd((__m512d)here, _mm512_load_si512((const void *)ix), (__m512d)right);
  #endif
}

/* elements from the start of a cache line (io: of two) to p */
BCR_INLINE int level0_offset(const void *p, ptrdiff_t sz)
{
  return (int)((uintptr_t)p / (uintptr_t)sz % BL);
}
/* how the rows of ng groups lie in cache lines */
BCR_INLINE void level0_offsets(BCRN(Level0Line) * S, int ng, ptrdiff_t sz)
{
  S->align = 0;
  for (int q = 0; q < ng; q++) {
    for (int p = 0; p < 8; p++) {
      const int off = level0_offset(S->u[q] + p * S->ldu, sz);

      S->off[8 * q + p] = BL - off;
      if (off) S->align = 1;
      for (int i = 0; i < BL; i++) {
  #if defined(BCR_REAL_SINGLE)
        ((int *)S->ix)[BL * (8 * q + p) + i] = i + BL - off;
  #else
        ((long long *)S->ix)[BL * (8 * q + p) + i] = i + BL - off;
  #endif
      }
    }
  }
}

/* rows of u of one group from the modes, the separator last */
BCR_INLINE void level0_rows(const BCRN(Level0Line) * S, const ptrdiff_t x0, const int g, vec *v)
{
  sine7w(v, (const real *)S->k->outscale);
  v[7] = S->sepscale * vload(S->uL[g + 1] + x0);
}

/* v[r] of a block as it is, over the ends of cache lines */
BCR_INLINE void level0_store_block(const BCRN(Level0Line) * S, const ptrdiff_t b, const vec *v, const int NG,
                                   const int io)
{
  #pragma GCC unroll 2
  for (int g = 0; g < NG; g++) {
  #pragma GCC unroll 8
    for (int r = 0; r < 7; r++) dttstore(S->u[g] + r * S->ldu, BL * b, v[8 * g + r], io);
    if (S->us[g]) dttstore(S->us[g], BL * b, v[8 * g + 7], io);
  }
}

/* Blocks bhi down to blo of a tile, all of them whole and of regular groups, written as whole cache
   lines: line b of a row is the end of block b and the start of block b + 1 (io: two cache lines).
   The tile's last block waits in edge for the next tile. */
BCR_INLINE void level0_back_lines(const BCRN(Level0Line) * S, const ptrdiff_t blo, const ptrdiff_t bhi, ptrdiff_t bslot,
                                  bpair t, const int NG, const int io, const bpair mu, const bpair mu2, const int Z)
{
  bun c[BL];
  vec v[8 * BG], p[8 * BG];
  ptrdiff_t b = bhi;
  const ptrdiff_t sz = io ? (ptrdiff_t)sizeof(double) : (ptrdiff_t)sizeof(real);
  real *edge = S->edge + BL * 8 * BG * (blo / S->k->tile % 2),
       *edgenew = S->edge + BL * 8 * BG * ((blo / S->k->tile + 1) % 2);

  level0_columns(S, b, 0, S->ring + BL * BL * bslot, &t, c, mu, mu2, Z);
  level0_torows(c, p);
  #pragma GCC unroll 2
  for (int g = 0; g < NG; g++) level0_rows(S, BL * b, g, p + 8 * g);
  if (bhi == S->s->nb - 2) level0_store_block(S, bhi, p, NG, io);
  else {
  #pragma GCC unroll 16
    for (int r = 0; r < 8 * NG; r++) vstore(edgenew + BL * r, p[r]);
  }
  for (b--; b >= blo; b--) {
    bslot = bslot ? bslot - 1 : S->k->slots - 1;
    level0_columns(S, b, 0, S->ring + BL * BL * bslot, &t, c, mu, mu2, Z);
    level0_torows(c, v);
  #pragma GCC unroll 2
    for (int g = 0; g < NG; g++) {
      /* of this tile, or where the next one begins */
      const ptrdiff_t left = b - U_AHEAD, right = left + 2 * S->k->tile,
                      next = left >= blo ? left : (right < S->s->nb ? right : S->s->nb - 1);

      for (ptrdiff_t line = 0; line < BL * sz; line += 64) {
        const char *q = S->u[g] + BL * next * sz + line;

  #pragma GCC unroll 8
        for (int r = 0; r < 8; r++) __builtin_prefetch(q + r * S->ldu, 1, 3);
      }
      level0_rows(S, BL * b, g, v + 8 * g);
  #pragma GCC unroll 8
      for (int r = 0; r < 8; r++) {
        const vec line = level0_shift(v[8 * g + r], p[8 * g + r], S->ix + BL * (8 * g + r));

        if (r < 7 || S->line[8 * g + r]) level0_line_store(S->line[8 * g + r] + BL * b * sz, line, io);
      }
    }
  #pragma GCC unroll 16
    for (int r = 0; r < 8 * NG; r++) p[r] = v[r];
  }
  if (blo == 0) level0_store_block(S, 0, p, NG, io);
  else {
  #pragma GCC unroll 16
    for (int r = 0; r < 8 * NG; r++) {
      const vec line = level0_shift(vload(edge + BL * r), p[r], S->ix + BL * r);

      if (r % 8 < 7 || S->line[r]) level0_line_store(S->line[r] + BL * (blo - 1) * sz, line, io);
    }
  }
}
#endif

/* one group, or BG regular ones side by side, over the whole line; Z: of pairs */
BCR_INLINE void level0_line(const BCRN(Level0Line) * given, const int BACK, const int REG, const int NG, const int io,
                            const int Z)
{
  /* nothing that is stored can be part of it: no need to load it again */
  const BCRN(Level0Line) here = *given, *S = &here;
  const BCRLevel0Shape *s = S->s;
  const real *limit = (const real *)S->k->mu;
  const bpair muz = {bload(limit), Z ? bload(limit + BL) : bnull()};
  const bpair mu2 = {Z ? pair_mul(muz, muz).re : bmul(muz.re, muz.re), Z ? pair_mul(muz, muz).im : bnull()};
  const bun mu = muz.re, om = bload((const real *)S->k->om);
  const ptrdiff_t nb = s->nb, tile = S->k->tile, halo = S->k->halo, nslot = S->k->slots,
                  sz = io ? (ptrdiff_t)sizeof(double) : (ptrdiff_t)sizeof(real);
  const int periodic = Z ? 0 : s->xperiodic;
  const ptrdiff_t whole = periodic && s->nv == BL ? nb : nb - 1; /* blocks like all others */
  ptrdiff_t fb = 0, fslot = 0;
  bun acc = bnull(), pw = bset1(1);
  bpair y = pair_null();

  (void)sz;
  if (periodic) { /* the carry that comes round: the line's last columns, once; the last block may hold few */
    for (ptrdiff_t b = nb > halo ? nb - halo - 1 : 0; b < nb; b++)
      y.re = REG && b < whole ? level0_forward(S, b, S->ring, y.re, BACK, NG, io, mu, mu2.re)
                              : level0_forward_any(S, b, S->ring, y.re, BACK, REG, NG, io);
    y.re = bmul(y.re, bload((const real *)S->k->fac));
  }
  if (!BACK && S->sums)
    for (int i = 0; i < 9 * VL * NG; i++) S->sums[i] = 0;
  for (ptrdiff_t b0 = -tile; b0 < nb; b0 += tile) {
    /* this tile backward ... */
    if (b0 >= 0) {
      const ptrdiff_t b1 = b0 + tile < nb ? b0 + tile : nb;
      ptrdiff_t bslot = (b1 - 1) % nslot, b = b1 - 1;
      bpair t = pair_null();

      if (periodic && fb == nb && b1 + halo >= nb) { /* y continues round the corner */
        const bun wrap = bmul(acc, bload((const real *)S->k->fac));

        if (s->nv < BL) {
          bstore(S->ring + BL * (BL * ((nb - 1) % nslot) + s->nv), wrap);
          t.re = b1 < nb ? level0_warm(S->ring, nslot, b1 % nslot, nb - b1, mu) : bnull();
        } else {
          t.re = wrap;
          if (b1 < nb) {
            bun p = bset1(1);

            for (ptrdiff_t i = 0; i < BL * (nb - b1); i++) p = bmul(p, mu);
            t.re = bfma(p, wrap, level0_warm(S->ring, nslot, b1 % nslot, nb - b1, mu));
          }
        }
      } else if (Z) t = pairs_warm(S->ring, nslot, b1 % nslot, fb - b1 < halo ? fb - b1 : halo, muz);
      else t.re = level0_warm(S->ring, nslot, b1 % nslot, fb - b1 < halo ? fb - b1 : halo, mu);
#if BCR_ISA == 2
      if (BACK && REG && S->align) {
        if (b == nb - 1) { /* the line's right end by itself */
          bun w[VL];

          level0_columns(S, b, 0, S->ring + BL * BL * bslot, &t, w, muz, mu2, Z);
          level0_rows_any(S, BL * b, s->nv, w, REG, NG, io);
          b--;
          bslot = bslot ? bslot - 1 : nslot - 1;
        }
        if (b >= b0) level0_back_lines(S, b0, b, bslot, t, NG, io, muz, mu2, Z);
        b = b0 - 1;
      }
#endif
      for (; b >= b0; b--, bslot = bslot ? bslot - 1 : nslot - 1) {
        const real *yb = S->ring + BL * BL * bslot;

        for (int q = LN - 1; q >= 0; q--) {
          const ptrdiff_t x0 = BL * b + VL * q;
          bun v[VL];

          level0_columns(S, b, q, yb, &t, v, muz, mu2, Z);
          if (!BACK && __builtin_expect(S->columns != NULL, 0) && (b == 0 || b >= nb - 2)) level0_leave(S, x0, v);
          if (!REG || __builtin_expect(b >= whole, 0)) {
            const int nv = level0_part(b < nb - 1 ? BL : s->nv, q);

            if (!BACK) level0_collect(S, x0, nv, v, NG, io, om);
            else level0_rows_any(S, x0, nv, v, REG, NG, io);
          } else if (!BACK) level0_collect(S, x0, VL, v, NG, io, om);
          else {
            vec r[8 * BG];

            level0_torows(v, r);
#pragma GCC unroll 2
            for (int g = 0; g < NG; g++) {
              char *w = S->u[g] + x0 * sz;

              if (q == LN - 1) {
                for (ptrdiff_t line = 0; line < BL * sz; line += 64) {
                  const char *next = S->u[g] + (b >= U_AHEAD ? BL * (b - U_AHEAD) * sz : 0) + line;

#pragma GCC unroll 8
                  for (int p = 0; p < 8; p++) __builtin_prefetch(next + p * S->ldu, 1, 3);
                }
              }
              sine7w(r + 8 * g, (const real *)S->k->outscale);
              r[8 * g + 7] = S->sepscale * vload(S->uL[g + 1] + x0);
#pragma GCC unroll 8
              for (int p = 0; p < 7; p++) dttstore(w + p * S->ldu, 0, r[8 * g + p], io);
              if (S->us[g]) dttstore(w + 7 * S->ldu, 0, r[8 * g + 7], io);
            }
          }
        }
      }
    }
    /* ... and the one after it, and its halo, forward */
    {
      const ptrdiff_t stop = b0 + 2 * tile + halo < nb ? b0 + 2 * tile + halo : nb;

      for (; fb < stop; fb++, fslot = fslot + 1 == nslot ? 0 : fslot + 1) {
        real *yf = S->ring + BL * BL * fslot;

        if (Z && (!REG || __builtin_expect(fb >= whole, 0)))
          y = pairs_forward_any(S, fb, yf, y, BACK, REG, NG, io, muz);
        else if (Z) y = pairs_forward(S, fb, yf, y, BACK, NG, io, muz);
        else if (!REG || __builtin_expect(fb >= whole, 0))
          y.re = level0_forward_any(S, fb, yf, y.re, BACK, REG, NG, io);
        else y.re = level0_forward(S, fb, yf, y.re, BACK, NG, io, mu, mu2.re);
        if (__builtin_expect(periodic && fb < halo, 0)) {
          for (int i = 0; i < (fb < nb - 1 ? BL : s->nv); i++) {
            acc = bfma(pw, bload(yf + BL * i), acc);
            pw = bmul(pw, mu);
          }
        }
      }
    }
  }
}

static __attribute__((noinline)) void BCRN(level0_reduce_regular)(const BCRN(Level0Line) * S)
{
  level0_line(S, 0, 1, BG, 0, 0);
}
static __attribute__((noinline)) void BCRN(level0_back_regular)(const BCRN(Level0Line) * S)
{
  level0_line(S, 1, 1, BG, 0, 0);
}
static __attribute__((noinline)) void BCRN(level0_reduce_any)(const BCRN(Level0Line) * S)
{
  level0_line(S, 0, 0, 1, 0, 0);
}
static __attribute__((noinline)) void BCRN(level0_back_any)(const BCRN(Level0Line) * S)
{
  level0_line(S, 1, 0, 1, 0, 0);
}
#if BCR_BL == 16
static __attribute__((noinline)) void BCRN(level0_reduce_one)(const BCRN(Level0Line) * S)
{
  level0_line(S, 0, 1, 1, 0, 0);
}
static __attribute__((noinline)) void BCRN(level0_back_one)(const BCRN(Level0Line) * S)
{
  level0_line(S, 1, 1, 1, 0, 0);
}
#endif
#if !defined(BCR_REAL_SINGLE)
static __attribute__((noinline)) void BCRN(pairs_reduce_regular)(const BCRN(Level0Line) * S)
{
  level0_line(S, 0, 1, 1, 0, 1);
}
static __attribute__((noinline)) void BCRN(pairs_back_regular)(const BCRN(Level0Line) * S)
{
  level0_line(S, 1, 1, 1, 0, 1);
}
static __attribute__((noinline)) void BCRN(pairs_reduce_any)(const BCRN(Level0Line) * S)
{
  level0_line(S, 0, 0, 1, 0, 1);
}
static __attribute__((noinline)) void BCRN(pairs_back_any)(const BCRN(Level0Line) * S)
{
  level0_line(S, 1, 0, 1, 0, 1);
}
#endif
#if defined(BCR_REAL_SINGLE)
static __attribute__((noinline)) void BCRN(level0_reduce_regular_io)(const BCRN(Level0Line) * S)
{
  level0_line(S, 0, 1, BG, 1, 0);
}
static __attribute__((noinline)) void BCRN(level0_back_regular_io)(const BCRN(Level0Line) * S)
{
  level0_line(S, 1, 1, BG, 1, 0);
}
static __attribute__((noinline)) void BCRN(level0_reduce_any_io)(const BCRN(Level0Line) * S)
{
  level0_line(S, 0, 0, 1, 1, 0);
}
static __attribute__((noinline)) void BCRN(level0_back_any_io)(const BCRN(Level0Line) * S)
{
  level0_line(S, 1, 0, 1, 1, 0);
}
  #if BCR_BL == 16
static __attribute__((noinline)) void BCRN(level0_reduce_one_io)(const BCRN(Level0Line) * S)
{
  level0_line(S, 0, 1, 1, 1, 0);
}
static __attribute__((noinline)) void BCRN(level0_back_one_io)(const BCRN(Level0Line) * S)
{
  level0_line(S, 1, 1, 1, 1, 0);
}
  #endif
#endif

/* ng groups of one kind in flight */
static void BCRN(level0_run)(const BCRN(Level0Line) * S, int back, int ng, int io)
{
#if defined(BCR_REAL_SINGLE)
  if (io) {
    if (!S->k->regular) (back ? BCRN(level0_back_any_io) : BCRN(level0_reduce_any_io))(S);
    else if (ng == BG) (back ? BCRN(level0_back_regular_io) : BCRN(level0_reduce_regular_io))(S);
  #if BCR_BL == 16
    else (back ? BCRN(level0_back_one_io) : BCRN(level0_reduce_one_io))(S);
  #endif
    return;
  }
#endif
  (void)io;
#if !defined(BCR_REAL_SINGLE)
  if (S->k->pairs) {
    if (S->k->regular) (back ? BCRN(pairs_back_regular) : BCRN(pairs_reduce_regular))(S);
    else (back ? BCRN(pairs_back_any) : BCRN(pairs_reduce_any))(S);
    return;
  }
#endif
  if (!S->k->regular) (back ? BCRN(level0_back_any) : BCRN(level0_reduce_any))(S);
  else if (ng == BG) (back ? BCRN(level0_back_regular) : BCRN(level0_reduce_regular))(S);
#if BCR_BL == 16
  else (back ? BCRN(level0_back_one) : BCRN(level0_reduce_one))(S);
#endif
}

static int BCRN(level0_lanes)(void)
{
  return BL;
}

/* work: carry line | line of zeros (as doubles) | line nobody reads | ring | edges (back) or sums (reduce) */
static size_t BCRN(level0_keep)(const BCRLevel0Shape *s)
{
  const size_t line = (size_t)s->nb * BL;

  return line + line * sizeof(double) / sizeof(real) + line;
}
static size_t BCRN(level0_work)(const BCRLevel0Shape *s)
{
  return BCRN(level0_keep)(s) + (size_t)s->ring * BL * BL + 16 * BG * BL;
}

static void BCRN(level0_start)(const BCRLevel0Shape *s, void *work)
{
  const size_t line = (size_t)s->nb * BL;
  real *w = (real *)work;

  for (size_t i = 0; i < line * (1 + sizeof(double) / sizeof(real)); i++) w[i] = 0;
}

static void BCRN(level0_reduce)(const BCRLevel0Shape *s, const BCRLevel0Kind *kinds, ptrdiff_t g0, ptrdiff_t g1,
                                const BCRLevel0Args *args, const void *f, ptrdiff_t ldf, void *D, ptrdiff_t ldd,
                                void *work)
{
  const size_t line = (size_t)s->nb * BL;
  const ptrdiff_t sz = args->io ? (ptrdiff_t)sizeof(double) : (ptrdiff_t)sizeof(real);
  BCRN(Level0Line) S;

  S.s = s;
  S.ldf = ldf * sz;
  S.ldu = 0;
  S.carry = (real *)work;
  S.ring = S.carry + BCRN(level0_keep)(s);
  S.sub = S.sepscale = 0;
  S.sources = NULL;
  S.sums = args->rowsum ? S.ring + (size_t)s->ring * BL * BL : NULL;
  for (ptrdiff_t g = g0; g < g1;) {
    int ng = 1;

    S.k = &kinds[s->kind[g]];
    S.columns = args->columns ? (real *)args->columns + 4 * BL * g : NULL;
#if BCR_BL == 16
    if (S.k->regular && g + 1 < g1 && kinds[s->kind[g + 1]].regular) ng = 2;
#endif
    for (int q = 0; q < ng; q++) {
      const ptrdiff_t gq = g + q;

      S.f[q] = (const char *)f + s->row[gq] * S.ldf;
      S.fs[q] = (gq < s->ng - 1 || s->right) && !s->coupled ? S.f[q] + kinds[s->kind[gq]].h * S.ldf
                                                            : (const char *)(S.carry + line);
      S.dst[q] = gq > 0
                   ? (real *)D + (gq - 1) * ldd
                   : (s->left >= 0 ? (real *)D + s->left * ldd : S.carry + line + line * sizeof(double) / sizeof(real));
    }
    S.pf = g + ng < s->ng ? (s->row[g + ng] - s->row[g]) * S.ldf : 0;
    if (S.k->h == 0) { /* two separators side by side */
      for (ptrdiff_t i = 0; i < s->nx; i++) {
        S.dst[0][i] = S.carry[i];
        S.carry[i] = args->io ? (real)((const double *)S.fs[0])[i] : ((const real *)S.fs[0])[i];
      }
      if (args->rowsum && (g < s->ng - 1 || s->right)) {
        args->rowsum[s->row[g]] = 0;
        for (ptrdiff_t i = 0; i < s->nx; i++) args->rowsum[s->row[g]] += (double)S.carry[i];
      }
      g++;
      continue;
    }
    BCRN(level0_run)(&S, 0, ng, args->io);
    for (int q = 0; q < ng && args->rowsum; q++) {
      const int h = S.k->h, sep = g + q < s->ng - 1 || s->right;

      for (int p = 0; p < h + sep; p++) {
        const real *sum = S.sums + VL * (9 * q + (p < h ? p : 8));
        double all = 0;

        for (int i = 0; i < VL; i++) all += (double)sum[i];
        args->rowsum[s->row[g + q] + p] = all;
      }
    }
    g += ng;
  }
  if (g1 == s->ng && s->right) {
    real *d = (real *)D + (s->ng - 1) * ldd;

    for (ptrdiff_t i = 0; i < s->nx; i++) d[i] = (s->left == s->ng - 1 ? d[i] : 0) + S.carry[i];
  }
}

static void BCRN(level0_back)(const BCRLevel0Shape *s, const BCRLevel0Kind *kinds, ptrdiff_t g0, ptrdiff_t g1,
                              BCRLevel0Args *args, const void *f, ptrdiff_t ldf, void *u, ptrdiff_t ldu, const void *D,
                              ptrdiff_t ldd, void *work)
{
  const ptrdiff_t sz = args->io ? (ptrdiff_t)sizeof(double) : (ptrdiff_t)sizeof(real);
  BCRN(Level0Line) S;
  const real *zero;
#if BCR_ISA == 2
  int nset = 0; /* groups that the offsets are of */
  real ix[8 * BG * BL] __attribute__((aligned(64)));
#endif

  S.s = s;
  S.sums = NULL;
  S.columns = NULL;
  S.ldf = ldf * sz;
  S.ldu = ldu * sz;
  S.carry = (real *)work;
  S.ring = S.carry + BCRN(level0_keep)(s);
  zero = S.carry + (size_t)s->nb * BL;
  S.sub = (real)args->sub;
  S.sepscale = (real)args->sepscale;
  for (ptrdiff_t g = g1 - 1; g >= g0; g--) {
    int ng = 1;

    S.k = &kinds[s->kind[g]];
#if BCR_BL == 16
    if (S.k->regular && g > g0 && kinds[s->kind[g - 1]].regular) {
      ng = 2;
      g--;
    }
#endif
    S.sources = args->sources ? (const real *)args->sources + 2 * BL * g : NULL;
    S.uL[0] = g > 0 ? (const real *)D + (g - 1) * ldd : (s->left >= 0 ? (const real *)D + s->left * ldd : zero);
    for (int q = 0; q < ng; q++) {
      const ptrdiff_t gq = g + q;
      const int sep = gq < s->ng - 1 || s->right;

      S.f[q] = (const char *)f + s->row[gq] * S.ldf;
      S.u[q] = (char *)u + s->row[gq] * S.ldu;
      S.pfd[q] = args->ahead > 0 && gq > args->ahead ? -args->ahead * ldd * (ptrdiff_t)sizeof(real) : 0;
      S.uL[q + 1] = sep ? (const real *)D + gq * ldd : zero;
      S.us[q] = sep && !s->coupled ? S.u[q] + kinds[s->kind[gq]].h * S.ldu : NULL;
    }
#if BCR_ISA == 2
    S.edge = S.ring + (size_t)s->ring * BL * BL;
    S.ix = ix;
    /* mostly the same for all groups: eight rows, or sixteen, are whole cache lines */
    if (ng != nset || level0_offset(S.u[0], sz) != BL - S.off[0]) {
      level0_offsets(&S, ng, sz);
      nset = ng;
    }
    for (int q = 0; q < ng; q++)
      for (int p = 0; p < 8; p++)
        S.line[8 * q + p] = p < 7 || S.us[q] ? S.u[q] + p * S.ldu + S.off[8 * q + p] * sz : NULL;
#endif
    S.pf = g > 0 ? (s->row[PetscMax(g - ng, 0)] - s->row[g]) * S.ldf : 0;
    if (S.k->h == 0) {
      for (ptrdiff_t i = 0; i < s->nx && S.us[0]; i++) {
        const real v = S.sepscale * S.uL[1][i];

        if (args->io) ((double *)S.us[0])[i] = v;
        else ((real *)S.us[0])[i] = v;
      }
      continue;
    }
    BCRN(level0_run)(&S, 1, ng, args->io);
  }
}

BCR_INLINE void level0_couple_io(const BCRLevel0Shape *s, const real scale, const void *f, void *u, real *D, real *t,
                                 const int io)
{
  const ptrdiff_t n = s->nx;
  const real off = (real)s->off;
  const vec diag = vset1((real)s->diag);

  for (ptrdiff_t i = 0; i < n; i += VL) {
    const vec v = vload(D + i); /* rows of D and of t are as long as all blocks are */

    vstore(t + i, v);
    if (!u) continue;
    if (i + VL <= n) dttstore(u, i, scale * v, io);
    else dttstorepart(u, i, scale * v, (int)(n - i), io);
  }
  for (ptrdiff_t i = 1; i < n - 1; i += VL) {
    const int nv = n - 1 - i < VL ? (int)(n - 1 - i) : VL;

    vec v;

    if (nv == VL) {
      v = diag * dttload(t, i, 0) - off * (dttload(t, i - 1, 0) + dttload(t, i + 1, 0));
      if (f) v += dttload(f, i, io);
      dttstore(D, i, v, 0);
    } else {
      v = diag * dttloadpart(t, i, nv, 0) - off * (dttloadpart(t, i - 1, nv, 0) + dttloadpart(t, i + 1, nv, 0));
      if (f) v += dttloadpart(f, i, nv, io);
      dttstorepart(D, i, v, nv, 0);
    }
  }
  for (int e = 0; e < 2; e++) {
    const ptrdiff_t i = e ? n - 1 : 0, inward = e ? n - 2 : 1;
    real v = (real)s->enddiag[e] * t[i] - (real)s->endoff[e] * t[inward];

    if (s->xperiodic) v -= off * t[e ? 0 : n - 1];
    if (f) v += io ? (real)((const double *)f)[i] : ((const real *)f)[i];
    D[i] = v;
  }
}

static void BCRN(level0_couple)(const BCRLevel0Shape *s, const BCRLevel0Args *args, const void *f, void *u, void *D,
                                void *work)
{
  const size_t line = (size_t)s->nb * BL;
  real *t = (real *)work + line + line * sizeof(double) / sizeof(real); /* the line that nobody reads */

#if defined(BCR_REAL_SINGLE)
  if (args->io) {
    level0_couple_io(s, (real)args->sepscale, f, u, (real *)D, t, 1);
    return;
  }
#endif
  level0_couple_io(s, (real)args->sepscale, f, u, (real *)D, t, 0);
}

static const BCRLevel0Table BCRN(BCRLevel0) = {BCRN(level0_lanes), BCRN(level0_work),   BCRN(level0_keep),
                                               BCRN(level0_start), BCRN(level0_reduce), BCRN(level0_back),
                                               BCRN(level0_couple)};
