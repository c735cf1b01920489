/* Lines by two constant recurrences and corrections at the ends (tri.h, BCRTriScan). Included by tri_kernels.h. */

#define ScanTile  BCRN(ScanTileOf)
#define SCAN_ENDS 6 /* rows of both ends, at most */

/* entry e of a table */
BCR_INLINE bun scan_c(const real *table, ptrdiff_t e, int v, const int NV, const int perline)
{
  return perline ? bload(table + BL * (e * NV + v)) : bset1(table[e]);
}

/* a tile */
typedef struct {
  const BCRTriScan *t;
  const void *f;
  void *u;
  int stream;
  real *w; /* row 0 of the scratch */
  /* in memory: row 0, from row to row (ACROSS) or length of a line (ALONG), lanes with lines */
  ptrdiff_t base, ld, lanes;
  const real *abc, *G, *uh, *a0, *a1, *a2, *b0, *b1, *b2;
  bun end[SCAN_ENDS + 2][BCR_TRI_NV]; /* f of the end rows, s, the last y */
  bun x[SCAN_ENDS][BCR_TRI_NV];
  bun uhead[BCR_TRI_NV], sum[BCR_TRI_NV]; /* u_h; squares of one u of each block */
} ScanTile;

BCR_INLINE void scan_tile(ScanTile *S, ptrdiff_t tile, const int NV)
{
  const BCRTriScan *t = S->t;
  const ptrdiff_t k = t->perline ? tile * NV * BL : 0;
  const int N = t->h + t->t;

  S->base = tri_tile(&t->shape, tile, &S->lanes);
  S->ld = t->shape.kind == BCR_TRI_ACROSS ? t->shape.inner : t->shape.inner * t->shape.n;
  S->abc = (const real *)t->abc + 3 * k;
  S->G = (const real *)t->G + N * (N + 2) * k;
  S->uh = (const real *)t->uh + 2 * k;
  S->a0 = (const real *)t->a.zero + BL * k;
  S->a1 = (const real *)t->a.first + t->a.blocks * k;
  S->a2 = (const real *)t->a.inside + BL * k;
  S->b0 = (const real *)t->b.zero + BL * k;
  S->b1 = (const real *)t->b.first + t->b.blocks * k;
  S->b2 = (const real *)t->b.inside + BL * k;
}

/* A block of ALONG into the scratch */
BCR_INLINE void scan_get(ScanTile *S, const ptrdiff_t b, const int NV, const int io)
{
  for (int i = 0; i < NV; i++) {
    bun a[BL];

    tri_loadx(a, S->f, S->base, BL * (b * NV + i), S->ld, S->lanes, io);
    for (int p = 0; p < BL; p++) bstore(S->w + BL * (BL * (b * NV + i) + p), a[p]);
  }
}

BCR_INLINE void scan_put(ScanTile *S, const ptrdiff_t b, const int NV, const int io)
{
  for (int i = NV - 1; i >= 0; i--) {
    bun a[BL];

    if (BL * (b * NV + i) >= S->ld) continue;
    for (int p = 0; p < BL; p++) a[p] = bload(S->w + BL * (BL * (b * NV + i) + p));
    tri_storex(S->u, S->base, BL * (b * NV + i), S->ld, a, S->lanes, io, S->stream);
  }
}

/* Rows of a block all inside the line and not of the ends. SUM: powers of beta count */
BCR_INLINE void scan_forward_block(ScanTile *S, const ptrdiff_t b, bun *y, const int ALONG, const int NV, const int PER,
                                   const int SUM, const int io)
{
  bun x[BCR_TRI_NV], s[BCR_TRI_NV];

  if (ALONG) scan_get(S, b, NV, io);
  if (SUM)
    for (int v = 0; v < NV; v++) s[v] = bnull();
  for (int r = 0; r < BL; r++) {
    real *w = S->w + BL * NV * (BL * b + r);

    if (!ALONG) {
      tri_prefetch(S->f, S->base + S->ld * (BL * b + r + TRI_AHEAD), NV, io, 0);
      tri_load(x, S->f, S->base + S->ld * (BL * b + r), S->lanes, NV, io);
    }
#pragma GCC unroll 8
    for (int v = 0; v < NV; v++) {
      y[v] = bfma(scan_c(S->abc, 0, v, NV, PER), y[v],
                  bmul(scan_c(S->abc, 2, v, NV, PER), ALONG ? bload(w + BL * v) : x[v]));
      bstore(w + BL * v, y[v]);
      if (SUM) s[v] = bfma(scan_c(S->b2, r, v, NV, PER), y[v], s[v]);
    }
  }
  if (SUM)
    for (int v = 0; v < NV; v++)
      S->end[S->t->h + S->t->t][v] = bfma(scan_c(S->b1, b, v, NV, PER), s[v], S->end[S->t->h + S->t->t][v]);
}

/* the same in registers, where a row is one bundle */
BCR_INLINE void scan_forward_x(ScanTile *S, const ptrdiff_t b, bun *y, const int PER, const int SUM, const int io)
{
  const bun alpha = scan_c(S->abc, 0, 0, 1, PER), gamma = scan_c(S->abc, 2, 0, 1, PER);
  real *w = S->w + BL * BL * b;
  bun a[BL], s = bnull();

  tri_loadx(a, S->f, S->base, BL * b, S->ld, S->lanes, io);
#pragma GCC unroll 16
  for (int r = 0; r < BL; r++) {
    *y = bfma(alpha, *y, bmul(gamma, a[r]));
    bstore(w + BL * r, *y);
    if (SUM) s = bfma(scan_c(S->b2, r, 0, 1, PER), *y, s);
  }
  if (SUM) S->end[S->t->h + S->t->t][0] = bfma(scan_c(S->b1, b, 0, 1, PER), s, S->end[S->t->h + S->t->t][0]);
}

/* any block */
static __attribute__((noinline)) void BCRN(scan_forward_any)(ScanTile *S, const ptrdiff_t b, bun *y, const int io)
{
  const BCRTriScan *t = S->t;
  const int along = t->shape.kind == BCR_TRI_ALONG, nv = t->shape.nv, per = t->perline;
  const ptrdiff_t n = t->shape.n;

  if (along) scan_get(S, b, nv, io);
  for (ptrdiff_t j = BL * b; j < PetscMin(BL * (b + 1), n); j++) {
    real *w = S->w + BL * nv * j;
    bun x[BCR_TRI_NV];

    if (!along) tri_load(x, S->f, S->base + S->ld * j, S->lanes, nv, io);
    for (int v = 0; v < nv; v++) {
      if (along) x[v] = bload(w + BL * v);
      if (j < t->h || j >= n - t->t) {
        S->end[j < t->h ? j : j - (n - t->t) + t->h][v] = x[v];
        bstore(w + BL * v, bnull());
        continue;
      }
      y[v] = bfma(scan_c(S->abc, 0, v, nv, per), y[v], bmul(scan_c(S->abc, 2, v, nv, per), x[v]));
      bstore(w + BL * v, y[v]);
      if (b < t->b.blocks)
        S->end[t->h + t->t][v] =
          bfma(bmul(scan_c(S->b1, b, v, nv, per), scan_c(b ? S->b2 : S->b0, j - BL * b, v, nv, per)), y[v],
               S->end[t->h + t->t][v]);
    }
  }
}

BCR_INLINE void scan_forward(ScanTile *S, const int ALONG, const int NV, const int PER, const int io)
{
  const BCRTriScan *t = S->t;
  const ptrdiff_t nb = (t->shape.n + BL - 1) / BL, fast = PetscMax((t->shape.n - t->t) / BL, 1),
                  sum = PetscMin(t->b.blocks, fast);
  bun y[BCR_TRI_NV];
  ptrdiff_t b;

  for (int v = 0; v < NV; v++) y[v] = S->end[t->h + t->t][v] = bnull();
  BCRN(scan_forward_any)(S, 0, y, io);
  for (b = 1; b < sum; b++) {
    if (ALONG && NV == 1) scan_forward_x(S, b, y, PER, 1, io);
    else scan_forward_block(S, b, y, ALONG, NV, PER, 1, io);
  }
  for (; b < fast; b++) {
    if (ALONG && NV == 1) scan_forward_x(S, b, y, PER, 0, io);
    else scan_forward_block(S, b, y, ALONG, NV, PER, 0, io);
  }
  for (; b < nb; b++) BCRN(scan_forward_any)(S, b, y, io);
  for (int v = 0; v < NV; v++) S->end[t->h + t->t + 1][v] = y[v];
}

/* the unknowns of the ends */
BCR_INLINE void scan_ends(ScanTile *S, const int NV, const int PER)
{
  const int N = S->t->h + S->t->t;

  for (int r = 0; r < N; r++)
    for (int v = 0; v < NV; v++) {
      bun x = bmul(scan_c(S->G, (N + 2) * r, v, NV, PER), S->end[0][v]);

      for (int c = 1; c < N + 2; c++) x = bfma(scan_c(S->G, (N + 2) * r + c, v, NV, PER), S->end[c][v], x);
      S->x[r][v] = x;
    }
}

BCR_INLINE void scan_backward_block(ScanTile *S, const ptrdiff_t b, bun *u, const int ALONG, const int NV,
                                    const int PER, const int COR, const int io)
{
  bun d[BCR_TRI_NV];

  if (COR)
    for (int v = 0; v < NV; v++) d[v] = bmul(scan_c(S->a1, b, v, NV, PER), S->x[S->t->h - 1][v]);
  for (int r = BL - 1; r >= 0; r--) {
    real *w = S->w + BL * NV * (BL * b + r);

#pragma GCC unroll 8
    for (int v = 0; v < NV; v++) {
      bun y = bload(w + BL * v);

      if (COR) y = bfma(scan_c(S->a2, r, v, NV, PER), d[v], y);
      u[v] = bfma(scan_c(S->abc, 1, v, NV, PER), u[v], y);
      if (ALONG) bstore(w + BL * v, u[v]);
    }
    if (!ALONG) {
      if (!S->stream) tri_prefetch(S->u, S->base + S->ld * (BL * b + r - TRI_AHEAD), NV, io, 1);
      tri_store(S->u, S->base + S->ld * (BL * b + r), u, S->lanes, NV, io, S->stream);
    }
  }
  for (int v = 0; v < NV; v++) S->sum[v] = bfma(u[v], u[v], S->sum[v]);
  if (ALONG) scan_put(S, b, NV, io);
}

BCR_INLINE void scan_backward_x(ScanTile *S, const ptrdiff_t b, bun *u, const int PER, const int COR, const int io)
{
  const bun beta = scan_c(S->abc, 1, 0, 1, PER),
            d = COR ? bmul(scan_c(S->a1, b, 0, 1, PER), S->x[S->t->h - 1][0]) : bnull();
  real *w = S->w + BL * BL * b;
  bun a[BL];

#pragma GCC unroll 16
  for (int r = BL - 1; r >= 0; r--) {
    bun y = bload(w + BL * r);

    if (COR) y = bfma(scan_c(S->a2, r, 0, 1, PER), d, y);
    a[r] = *u = bfma(beta, *u, y);
  }
  S->sum[0] = bfma(*u, *u, S->sum[0]);
  tri_storex(S->u, S->base, BL * b, S->ld, a, S->lanes, io, S->stream);
}

static __attribute__((noinline)) void BCRN(scan_backward_any)(ScanTile *S, const ptrdiff_t b, bun *u, const int io)
{
  const BCRTriScan *t = S->t;
  const int along = t->shape.kind == BCR_TRI_ALONG, nv = t->shape.nv, per = t->perline;
  const ptrdiff_t n = t->shape.n;

  for (ptrdiff_t j = PetscMin(BL * (b + 1), n) - 1; j >= BL * b; j--) {
    real *w = S->w + BL * nv * j;
    bun z[BCR_TRI_NV];

    for (int v = 0; v < nv; v++) {
      if (j >= n - t->t) z[v] = S->x[j - (n - t->t) + t->h][v];
      else if (j < t->h - 1) z[v] = S->x[j][v];
      else {
        bun y = bload(w + BL * v);

        if (j == t->h - 1) S->uhead[v] = u[v];
        if (b < t->a.blocks)
          y = bfma(bmul(scan_c(S->a1, b, v, nv, per), scan_c(b ? S->a2 : S->a0, j - BL * b, v, nv, per)),
                   S->x[t->h - 1][v], y);
        z[v] = u[v] = bfma(scan_c(S->abc, 1, v, nv, per), u[v], y);
      }
      if (along) bstore(w + BL * v, z[v]);
    }
    if (!along) tri_store(S->u, S->base + S->ld * j, z, S->lanes, nv, io, 0);
  }
  for (int v = 0; v < nv; v++) S->sum[v] = bfma(u[v], u[v], S->sum[v]);
  if (along) scan_put(S, b, nv, io);
}

BCR_INLINE void scan_backward(ScanTile *S, const int ALONG, const int NV, const int PER, const int io)
{
  const BCRTriScan *t = S->t;
  const ptrdiff_t nb = (t->shape.n + BL - 1) / BL, fast = PetscMax((t->shape.n - t->t) / BL, 1);
  bun u[BCR_TRI_NV];
  ptrdiff_t b = nb - 1;

  for (int v = 0; v < NV; v++) {
    u[v] = S->x[t->h][v];
    S->sum[v] = bnull();
  }
  for (; b >= fast; b--) BCRN(scan_backward_any)(S, b, u, io);
  for (; b >= PetscMax(t->a.blocks, 1); b--) {
    if (ALONG && NV == 1) scan_backward_x(S, b, u, PER, 0, io);
    else scan_backward_block(S, b, u, ALONG, NV, PER, 0, io);
  }
  for (; b >= 1; b--) {
    if (ALONG && NV == 1) scan_backward_x(S, b, u, PER, 1, io);
    else scan_backward_block(S, b, u, ALONG, NV, PER, 1, io);
  }
  BCRN(scan_backward_any)(S, 0, u, io);
}

/* one lane's entry */
BCR_INLINE double scan_1(const real *table, ptrdiff_t e, int v, int lane, int NV, int PER)
{
  return PER ? table[BL * (e * NV + v) + lane] : table[e];
}

/* u_h came out as other than what G took it for: rounding of a sum much larger than the solution.
   As if s had been larger by that much */
static __attribute__((noinline)) void BCRN(scan_correct)(const ScanTile *S, int NV, int PER, int io, int v, int lane,
                                                         double delta)
{
  const BCRTriScan *t = S->t;
  const ptrdiff_t n = t->shape.n, step = t->shape.inner,
                  i0 = S->base + (t->shape.kind == BCR_TRI_ACROSS ? BL * v + lane : S->ld * lane + v);
  const int h = t->h, N = t->h + t->t;
  const double beta = scan_1(S->abc, 1, v, lane, NV, PER);
  double x[SCAN_ENDS] = {0}, z; /* h < N, which compilers cannot see */

  for (int r = 0; r < N; r++) x[r] = delta * scan_1(S->G, (N + 2) * r + N, v, lane, NV, PER);
  z = x[h];
  for (ptrdiff_t j = n - 1; j >= 0; j--) {
    const ptrdiff_t b = j / BL, i = i0 + step * j;
    double c;

    if (j >= n - t->t) c = x[h + j - (n - t->t)];
    else if (j < h - 1) c = x[j];
    else {
      z = beta * z;
      if (b < t->a.blocks)
        z += x[h - 1] * scan_1(b ? S->a2 : S->a0, j % BL, v, lane, NV, PER) * scan_1(S->a1, b, v, lane, NV, PER);
      c = z;
    }
    if (io) ((double *)S->u)[i] += c;
    else ((real *)S->u)[i] += (real)c;
  }
}

BCR_INLINE void scan_check(const ScanTile *S, const int NV, const int PER, const int io)
{
  const BCRTriScan *t = S->t;
  const int N = t->h + t->t;
  const real nb = (real)((t->shape.n + BL - 1) / BL), tol = (real)(t->check * t->check);

  for (int v = 0; v < NV; v++) {
    const bun delta = bsub(S->uhead[v], bfma(scan_c(S->uh, 0, v, NV, PER), S->x[t->h - 1][v],
                                             bfma(scan_c(S->uh, 1, v, NV, PER), S->x[t->h][v], S->end[N][v])));
    real d[BL], s[BL], q[BL];

    bstore(d, delta);
    bstore(s, bmul(bset1(tol), bfma(bset1(nb), bmul(S->uhead[v], S->uhead[v]), S->sum[v])));
    bstore(q, bmul(bset1(nb), bmul(delta, delta)));
    for (int l = 0; l < BL; l++)
      if (q[l] > s[l] && (t->shape.kind == BCR_TRI_ACROSS ? BL * v + l : l) < S->lanes)
        BCRN(scan_correct)(S, NV, PER, io, v, l, d[l]);
  }
}

BCR_INLINE void scan_one(const BCRTriScan *t, const void *f, void *u, real *w, ptrdiff_t tile, const int ALONG,
                         const int NV, const int PER, const int io)
{
  ScanTile S;

  S.t = t;
  S.f = f;
  S.u = u;
  S.w = w;
  S.stream = t->stream && tri_aligned(&t->shape, u, io);
  scan_tile(&S, tile, NV);
  scan_forward(&S, ALONG, NV, PER, io);
  scan_ends(&S, NV, PER);
  scan_backward(&S, ALONG, NV, PER, io);
  if (t->check > 0) scan_check(&S, NV, PER, io);
}

#include "trilag_kernels.h"

BCR_INLINE void scan_tiles(const BCRTriScan *t, const void *f, void *u, real *work, const int ALONG, const int NV,
                           const int PER, const int io)
{
  for (ptrdiff_t tile = 0; tile < t->shape.tiles; tile++)
    scan_one(t, f, u, work + BL * (t->shape.nv + 2 * BL), tile, ALONG, NV, PER, io);
}

/* whether the lag is faster: not where memory ought to be written past the caches and is not */
BCR_INLINE int scan_lag(const BCRTriScan *t, const void *f, void *u)
{
  TriAlong A;

  return t->lag && (t->shape.kind != BCR_TRI_ALONG || tri_along(&A, &t->shape, f, u, NULL, t->stream, 0, TRI_IO));
}

TRI_KERNEL(lag_lines, BCRTriScan, lag_lines(t, f, u, work, TRI_IO))
TRI_KERNEL(lag_across, BCRTriScan, lag_across(t, f, u, work, TRI_IO, 0))
TRI_KERNEL(lag_across_stream, BCRTriScan, lag_across(t, f, u, work, TRI_IO, 1))
TRI_KERNEL(scan_along, BCRTriScan, scan_tiles(t, f, u, work, 1, 1, 0, TRI_IO))
TRI_KERNEL(scan_along_perline, BCRTriScan, scan_tiles(t, f, u, work, 1, 1, 1, TRI_IO))
TRI_KERNEL(scan_along2, BCRTriScan, scan_tiles(t, f, u, work, 1, 2, 0, TRI_IO))
TRI_KERNEL(scan_along_few, BCRTriScan, scan_tiles(t, f, u, work, 1, t->shape.nv, t->perline, TRI_IO))
TRI_KERNEL(scan_across4, BCRTriScan, scan_tiles(t, f, u, work, 0, 4, 0, TRI_IO))
TRI_KERNEL(scan_across8, BCRTriScan, scan_tiles(t, f, u, work, 0, 8, 0, TRI_IO))
TRI_KERNEL(scan_across, BCRTriScan, scan_tiles(t, f, u, work, 0, t->shape.nv, t->perline, TRI_IO))

static void BCRN(tri_scan)(const BCRTriScan *t, const void *f, void *u, void *work)
{
  const int nv = t->shape.nv, along = t->shape.kind == BCR_TRI_ALONG;

  if (scan_lag(t, f, u)) {
    if (t->shape.kind != BCR_TRI_ACROSS) BCRN(lag_lines)(t, f, u, work);
    else if (t->stream) BCRN(lag_across_stream)(t, f, u, work);
    else BCRN(lag_across)(t, f, u, work);
  } else if (along) {
    if (nv == 1 && !t->perline) BCRN(scan_along)(t, f, u, work);
    else if (nv == 1) BCRN(scan_along_perline)(t, f, u, work);
    else if (nv == 2 && !t->perline) BCRN(scan_along2)(t, f, u, work);
    else BCRN(scan_along_few)(t, f, u, work);
  } else {
    if (nv == 8 && !t->perline) BCRN(scan_across8)(t, f, u, work);
    else if (nv == 4 && !t->perline) BCRN(scan_across4)(t, f, u, work);
    else BCRN(scan_across)(t, f, u, work);
  }
  tri_fence(t->stream);
}
