/*
  Lines by two constant recurrences whose powers do not reach far (tri.h, BCRTriScan.lag): memory is
  read once and written once, whatever the length of the lines. Rows go by in blocks of LAG_ROWS.
  The forward recurrence of block b runs beside the backward one of block b - lag - 1, which begins
  with the unknown below it, sum beta^k y over the lag blocks in between: each has left its own sum.
  So nothing but y of lag + 1 blocks has to wait, in a ring that stays in a near cache. The unknowns
  of the ends come first, from the first and the last rows alone. Included by triscan_kernels.h.
*/
#define LAG_ROWS BCR_TRI_LAG_ROWS
/* None of these was measured apart; commit 48a3fba has what the way as a whole is worth (lines along z of 4096 rows:
   1.62 to 1.06 to 1.18 copies) */
#define LAG_PANEL 64 /* bundles: rows across are read and written in pieces of 4 KiB */
#define LAG_AHEAD 16 /* rows across to prefetch ahead */
#if BCR_ISA == 2
  #define LAG_NV 8 /* bundles in registers, three times */
#else
  #define LAG_NV 4
#endif

/* Across */

typedef struct { /* LAG_NV bundles of columns of a panel */
  ptrdiff_t base, lanes;
  real *y, *sum, *x, *ring;
  TriEdge edge;
} LagSub;

#define LAG_SUB(lag) (BL * LAG_NV * (1 + (lag) + 1 + SCAN_ENDS + LAG_ROWS * ((lag) + 1)))

/* bundles of a panel: fewer where the ring is long */
BCR_INLINE ptrdiff_t lag_panel(const BCRTriScan *t)
{
  const ptrdiff_t width = LAG_PANEL * 4 / (t->lag + 1) / LAG_NV * LAG_NV;

  return PetscMin(PetscMax(width, LAG_NV), LAG_PANEL);
}

BCR_INLINE ptrdiff_t lag_panels(const BCRTriScan *t)
{
  return (t->shape.inner + lag_panel(t) * BL - 1) / (lag_panel(t) * BL);
}

static size_t BCRN(lag_work)(const BCRTriScan *t)
{
  if (t->shape.kind != BCR_TRI_ACROSS)
    return (size_t)BL * LAG_ROWS * (t->lag + 2) + BL * (t->lag + 1) + PetscMax(2 * LAG_ROWS * BL, TRI_SEAM);
  return (size_t)LAG_SUB(t->lag) * (lag_panel(t) / LAG_NV) + tri_edge_work(t->shape.n, lag_panels(t));
}

/* The unknowns of the ends */
static __attribute__((noinline)) void BCRN(lag_ends)(const BCRTriScan *t, const void *f, LagSub *S, const int io)
{
  const ptrdiff_t n = t->shape.n, ld = t->shape.inner, m0 = t->h, m1 = n - t->t;
  const int N = t->h + t->t;
  const real *abc = (const real *)t->abc, *G = (const real *)t->G;
  const bun alpha = bset1(abc[0]), gamma = bset1(abc[2]);
  bun end[SCAN_ENDS + 2][LAG_NV], x[LAG_NV], y[LAG_NV];
  real weight = 1;

  for (int r = 0; r < t->h; r++) tri_load(end[r], f, S->base + ld * r, S->lanes, LAG_NV, io);
  for (int r = 0; r < t->t; r++) tri_load(end[t->h + r], f, S->base + ld * (m1 + r), S->lanes, LAG_NV, io);
  for (int v = 0; v < LAG_NV; v++) y[v] = end[N][v] = bnull();
  for (ptrdiff_t j = m0; j < PetscMin(m1, m0 + t->reach); j++) {
    const bun wj = bset1(weight);

    tri_prefetch(f, S->base + ld * (j + TRI_AHEAD), LAG_NV, io, 0);
    tri_load(x, f, S->base + ld * j, S->lanes, LAG_NV, io);
    for (int v = 0; v < LAG_NV; v++) {
      y[v] = bfma(alpha, y[v], bmul(gamma, x[v]));
      end[N][v] = bfma(wj, y[v], end[N][v]);
    }
    weight *= abc[1];
  }
  for (int v = 0; v < LAG_NV; v++) y[v] = bnull();
  for (ptrdiff_t j = PetscMax(m0, m1 - t->reach); j < m1; j++) {
    tri_prefetch(f, S->base + ld * (j + TRI_AHEAD), LAG_NV, io, 0);
    tri_load(x, f, S->base + ld * j, S->lanes, LAG_NV, io);
    for (int v = 0; v < LAG_NV; v++) y[v] = bfma(alpha, y[v], bmul(gamma, x[v]));
  }
  for (int v = 0; v < LAG_NV; v++) end[N + 1][v] = y[v];
  for (int r = 0; r < N; r++)
    for (int v = 0; v < LAG_NV; v++) {
      bun s = bnull();

      for (int c = 0; c < N + 2; c++) s = bfma(bset1(G[(N + 2) * r + c]), end[c][v], s);
      bstore(S->x + BL * (LAG_NV * r + v), s);
    }
  for (int v = 0; v < LAG_NV; v++) bstore(S->y + BL * v, bload(S->x + BL * (LAG_NV * (t->h - 1) + v))); /* the d's */
}

/* Row r of block b in the ring: what comes takes the place of what goes, and the two run in opposite directions */
BCR_INLINE real *lag_slot(const BCRTriScan *t, const LagSub *S, ptrdiff_t b, ptrdiff_t r)
{
  return S->ring + BL * LAG_NV * (LAG_ROWS * (b % (t->lag + 1)) + (b / (t->lag + 1) % 2 ? r : LAG_ROWS - 1 - r));
}

/* The rows above the first block, when u of its first row is z */
static __attribute__((noinline)) void BCRN(lag_head)(const BCRTriScan *t, void *u, const LagSub *S, const bun *z,
                                                     const int io, const int stream)
{
  const bun beta = bset1(((const real *)t->abc)[1]);
  bun x[LAG_NV];

  for (int r = 0; r < t->h; r++) {
    for (int v = 0; v < LAG_NV; v++) {
      x[v] = bload(S->x + BL * (LAG_NV * r + v));
      if (r == t->h - 1) x[v] = bfma(beta, z[v], x[v]);
    }
    BCRN(tri_out_any)(u, S->base + t->shape.inner * r, x, S->lanes, LAG_NV, io, stream, &S->edge, r);
  }
}

/* FORWARD: block b of so many rows; BACKWARD: block b - lag - 1, of all its rows */
BCR_INLINE void lag_block(const BCRTriScan *t, const void *f, void *u, const LagSub *S, const ptrdiff_t b,
                          const ptrdiff_t rows, const int FORWARD, const int BACKWARD, const int io, const int stream)
{
  /* first row; row after the last */
  const ptrdiff_t ld = t->shape.inner, p = S->base + ld * (t->h + LAG_ROWS * b), q = p - ld * LAG_ROWS * t->lag;
  const real *abc = (const real *)t->abc, *weights = (const real *)t->weights;
  const bun alpha = bset1(abc[0]), beta = bset1(abc[1]), gamma = bset1(abc[2]);
  real *slot = lag_slot(t, S, b, 0);
  const ptrdiff_t step = lag_slot(t, S, b, 1) - slot;
  bun x[LAG_NV], y[LAG_NV], s[LAG_NV], z[LAG_NV];

#pragma GCC unroll 8
  for (int v = 0; v < LAG_NV; v++) {
    y[v] = bload(S->y + BL * v);
    s[v] = z[v] = bnull();
  }
  if (BACKWARD) {
    const bun whole = bset1(weights[LAG_ROWS]);

    for (ptrdiff_t m = b - 1; m >= b - t->lag; m--) {
      const real *sum = S->sum + BL * LAG_NV * (m % (t->lag + 1));

#pragma GCC unroll 8
      for (int v = 0; v < LAG_NV; v++) z[v] = bfma(whole, z[v], bload(sum + BL * v));
    }
  }
  for (ptrdiff_t r = 0; r < rows; r++, slot += step) {
    const bun w = bset1(weights[r]);

    if (FORWARD) {
      tri_prefetch(f, p + ld * (r + LAG_AHEAD), LAG_NV, io, 0);
      tri_load(x, f, p + ld * r, S->lanes, LAG_NV, io);
    }
#pragma GCC unroll 8
    for (int v = 0; v < LAG_NV; v++) {
      if (BACKWARD) z[v] = bfma(beta, z[v], bload(slot + BL * v));
      if (FORWARD) {
        y[v] = bfma(alpha, y[v], bmul(gamma, x[v]));
        bstore(slot + BL * v, y[v]);
        s[v] = bfma(w, y[v], s[v]);
      }
    }
    if (BACKWARD) {
      if (!stream) tri_prefetch(u, q - ld * (r + 1 + TRI_AHEAD), LAG_NV, io, 1);
      tri_out(u, q - ld * (r + 1), z, S->lanes, LAG_NV, io, stream, &S->edge, t->h + LAG_ROWS * (b - t->lag) - r - 1);
    }
  }
  if (FORWARD) {
    real *sum = S->sum + BL * LAG_NV * (b % (t->lag + 1));

#pragma GCC unroll 8
    for (int v = 0; v < LAG_NV; v++) {
      bstore(S->y + BL * v, y[v]);
      bstore(sum + BL * v, s[v]);
    }
  }
  if (BACKWARD && b == t->lag + 1) BCRN(lag_head)(t, u, S, z, io, stream);
}

/* the few blocks without the one or the other */
static __attribute__((noinline)) void BCRN(lag_block_any)(const BCRTriScan *t, const void *f, void *u, const LagSub *S,
                                                          const ptrdiff_t b, const ptrdiff_t rows, const int forward,
                                                          const int io, const int stream)
{
  lag_block(t, f, u, S, b, rows, forward, !forward, io, stream);
}

/* The last blocks, from below; the unknown of the row below is where y was */
static __attribute__((noinline)) void BCRN(lag_flush)(const BCRTriScan *t, void *u, const LagSub *S, const ptrdiff_t b,
                                                      const ptrdiff_t rows, const int io, const int stream)
{
  const ptrdiff_t ld = t->shape.inner, p = S->base + ld * (t->h + LAG_ROWS * b);
  const bun beta = bset1(((const real *)t->abc)[1]);
  bun z[LAG_NV];

  for (int v = 0; v < LAG_NV; v++) z[v] = bload(S->y + BL * v);
  for (ptrdiff_t r = rows - 1; r >= 0; r--) {
    const real *slot = lag_slot(t, S, b, r);

    for (int v = 0; v < LAG_NV; v++) z[v] = bfma(beta, z[v], bload(slot + BL * v));
    BCRN(tri_out_any)(u, p + ld * r, z, S->lanes, LAG_NV, io, stream, &S->edge, t->h + LAG_ROWS * b + r);
  }
  for (int v = 0; v < LAG_NV; v++) bstore(S->y + BL * v, z[v]);
  if (b == 0) BCRN(lag_head)(t, u, S, z, io, stream);
}

/* first, last: panel of its rows */
BCR_INLINE void lag_panel_across(const BCRTriScan *t, const void *f, void *u, real *work, ptrdiff_t base,
                                 ptrdiff_t lanes, int first, int last, const int io, const int stream)
{
  const ptrdiff_t n = t->shape.n, ld = t->shape.inner, rows = n - t->h - t->t,
                  blocks = (rows + LAG_ROWS - 1) / LAG_ROWS, subs = (lanes + LAG_NV * BL - 1) / (LAG_NV * BL);
  LagSub S[LAG_PANEL / LAG_NV];

  for (ptrdiff_t c = 0; c < subs; c++) {
    real *w = work + LAG_SUB(t->lag) * c;

    S[c].base = base + LAG_NV * BL * c;
    S[c].lanes = PetscMin(lanes - LAG_NV * BL * c, LAG_NV * BL);
    S[c].y = w;
    S[c].x = w + BL * LAG_NV;
    S[c].sum = S[c].x + BL * LAG_NV * SCAN_ENDS;
    S[c].ring = S[c].sum + BL * LAG_NV * (t->lag + 1);
    S[c].edge =
      tri_edge(work + LAG_SUB(t->lag) * (lag_panel(t) / LAG_NV), lag_panels(t), first && c == 0, last && c == subs - 1);
    BCRN(lag_ends)(t, f, &S[c], io);
  }
  for (ptrdiff_t b = 0; b < blocks; b++) {
    const ptrdiff_t part = PetscMin(LAG_ROWS, rows - LAG_ROWS * b);

    for (ptrdiff_t c = 0; c < subs; c++) {
      if (b > t->lag && part == LAG_ROWS) lag_block(t, f, u, &S[c], b, LAG_ROWS, 1, 1, io, stream);
      else {
        if (b > t->lag) BCRN(lag_block_any)(t, f, u, &S[c], b, LAG_ROWS, 0, io, stream);
        BCRN(lag_block_any)(t, f, u, &S[c], b, part, 1, io, stream);
      }
    }
  }
  for (int r = t->t - 1; r >= 0; r--)
    for (ptrdiff_t c = 0; c < subs; c++) {
      bun x[LAG_NV];

      for (int v = 0; v < LAG_NV; v++) {
        x[v] = bload(S[c].x + BL * (LAG_NV * (t->h + r) + v));
        if (r == 0) bstore(S[c].y + BL * v, x[v]);
      }
      BCRN(tri_out_any)
      (u, S[c].base + ld * (n - t->t + r), x, S[c].lanes, LAG_NV, io, stream, &S[c].edge, n - t->t + r);
    }
  for (ptrdiff_t b = blocks - 1; b >= PetscMax(blocks - t->lag - 1, 0); b--)
    for (ptrdiff_t c = 0; c < subs; c++)
      BCRN(lag_flush)(t, u, &S[c], b, PetscMin(LAG_ROWS, rows - LAG_ROWS * b), io, stream);
}

BCR_INLINE void lag_across(const BCRTriScan *t, const void *f, void *u, real *work, const int io, const int stream)
{
  const ptrdiff_t panels = lag_panels(t);
  const ptrdiff_t width = ((t->shape.inner + panels - 1) / panels + LAG_NV * BL - 1) / (LAG_NV * BL) * (LAG_NV * BL);

  for (ptrdiff_t o = 0; o < t->shape.outer; o++)
    for (ptrdiff_t i = 0; i < t->shape.inner; i += width)
      lag_panel_across(t, f, u, work, t->shape.inner * t->shape.n * o + i, PetscMin(width, t->shape.inner - i), i == 0,
                       i + width >= t->shape.inner, io, stream);
}

/* Along: BL lines in the lanes (TriAlong) */

typedef struct {
  const BCRTriScan *t;
  TriAlong A;
  ptrdiff_t lo, hi; /* rows lo <= k < hi are the interior */
  real *ring, *sum;
  /* unknowns of the ends; the last y, the last unknown, that of the first row */
  bun x[SCAN_ENDS], y, z, top;
} LagLines;

/* Rows k..k+BL-1 forward; SUM: w, the sum of their block so far and its weights */
BCR_INLINE void lag_forward(LagLines *S, const ptrdiff_t k, real *slot, bun *sum, const real *weights, const int io)
{
  const real *abc = (const real *)S->t->abc;
  const bun alpha = bset1(abc[0]), gamma = bset1(abc[2]);
  bun a[BL], y = S->y, s = *sum;

  tri_along_load(&S->A, k, a, io);
  if (__builtin_expect(k >= S->lo && k + BL <= S->hi, 1)) {
#pragma GCC unroll 16
    for (int r = 0; r < BL; r++) {
      y = bfma(alpha, y, bmul(gamma, a[r]));
      bstore(slot + BL * r, y);
      s = bfma(bset1(weights[r]), y, s);
    }
  } else {
#pragma GCC unroll 1
    for (int r = 0; r < BL; r++) {
      if (k + r < S->lo || k + r >= S->hi) continue;
      y = bfma(alpha, y, bmul(gamma, a[r]));
      bstore(slot + BL * r, y);
      s = bfma(bset1(weights[r]), y, s);
    }
  }
  S->y = y;
  *sum = s;
}

BCR_INLINE void lag_backward(LagLines *S, const ptrdiff_t k, const real *slot, const int io)
{
  const int h = S->t->h;
  const bun beta = bset1(((const real *)S->t->abc)[1]);
  bun a[BL], z = S->z;

  if (__builtin_expect(k >= S->lo && k + BL <= S->hi, 1)) {
#pragma GCC unroll 16
    for (int r = BL - 1; r >= 0; r--) a[r] = z = bfma(beta, z, bload(slot + BL * r));
  } else {
    for (int r = BL - 1; r >= 0; r--) {
      const ptrdiff_t j = k + r;

      if (j >= S->hi) a[r] = j - S->hi < S->t->t ? S->x[h + j - S->hi] : bnull();
      else if (j >= S->lo) a[r] = z = bfma(beta, z, bload(slot + BL * r));
      else if (j >= S->lo - h) a[r] = j == S->lo - 1 ? bfma(beta, z, S->x[h - 1]) : S->x[j - S->lo + h];
      else a[r] = bnull();
    }
  }
  S->z = z;
  tri_along_store(&S->A, k, a, io);
}

static __attribute__((noinline)) void BCRN(lag_backward_any)(LagLines *S, const ptrdiff_t k, const real *slot,
                                                             const int io)
{
  lag_backward(S, k, slot, io);
}

/* All rows, y before the first and the unknown below the last given */
BCR_INLINE void lag_along_blocks(LagLines *S, const bun below, const int io)
{
  const BCRTriScan *t = S->t;
  const ptrdiff_t rows = S->A.shift + S->A.len, blocks = (rows + LAG_ROWS - 1) / LAG_ROWS, regions = t->lag + 2,
                  lead = t->lag + 1;
  const real *weights = (const real *)t->weights;
  const bun whole = bset1(weights[LAG_ROWS]);
  ptrdiff_t done = 0; /* blocks finished */

  for (ptrdiff_t b = 0; b < blocks; b++) {
    const ptrdiff_t q = LAG_ROWS * b <= S->hi ? b - lead : -1; /* sums are those of whole blocks */
    real *ring = S->ring + BL * LAG_ROWS * (b % regions);
    const real *old = S->ring + BL * LAG_ROWS * (q >= 0 ? q % regions : 0);
    bun s = bnull();

    if (q >= 0) {
      S->z = bnull();
      for (ptrdiff_t m = b - 1; m > q; m--) S->z = bfma(whole, S->z, bload(S->sum + BL * (m % lead)));
    }
    for (int i = 0; i < LAG_ROWS / BL; i++) {
      const ptrdiff_t k = LAG_ROWS * b + BL * i;

      if (k < rows) {
        /* of these lines, then of the next */
        tri_ahead(S->A.f, S->A.base + k + 128 + (k + 128 < rows ? 0 : S->A.next), S->A.pitch, io);
        lag_forward(S, k, ring + BL * BL * i, &s, weights + BL * i, io);
      }
      if (q >= 0) lag_backward(S, LAG_ROWS * (q + 1) - BL * (i + 1), old + BL * (LAG_ROWS - BL * (i + 1)), io);
    }
    bstore(S->sum + BL * (b % lead), s);
    if (q == 0) S->top = S->z;
    if (q >= 0) done = q + 1;
  }
  S->z = below;
  for (ptrdiff_t b = blocks - 1; b >= done; b--)
    for (int i = LAG_ROWS / BL - 1; i >= 0; i--)
      if (LAG_ROWS * b + BL * i < rows)
        BCRN(lag_backward_any)(S, LAG_ROWS * b + BL * i, S->ring + BL * LAG_ROWS * (b % regions) + BL * BL * i, io);
  if (done == 0) S->top = S->z;
}

static __attribute__((noinline)) void BCRN(lag_along_run)(LagLines *S, const bun below, const int io)
{
  (void)io;
  lag_along_blocks(S, below, TRI_IO);
}

/* Rows from..to-1 forward, nothing kept but the last y and the sum; rows: f itself is kept, no more */
static __attribute__((noinline)) void BCRN(lag_taste)(const LagLines *S, ptrdiff_t from, ptrdiff_t to, bun *y, bun *sum,
                                                      bun *rows, const int io)
{
  const real *abc = (const real *)S->t->abc;
  const bun alpha = bset1(abc[0]), gamma = bset1(abc[2]);
  real w = 1;

  *sum = bnull();
  for (ptrdiff_t k = from / BL * BL; k < to; k += BL) {
    bun a[BL];

    tri_along_load(&S->A, k, a, io);
    for (int r = 0; r < BL; r++) {
      if (k + r < from || k + r >= to) continue;
      if (rows) {
        rows[k + r - from] = a[r];
        continue;
      }
      *y = bfma(alpha, *y, bmul(gamma, a[r]));
      *sum = bfma(bset1(w), *y, *sum);
      w *= abc[1];
    }
  }
}

static __attribute__((noinline)) void BCRN(lag_along_ends)(LagLines *S, const int io)
{
  const BCRTriScan *t = S->t;
  const ptrdiff_t m0 = S->lo, m1 = S->hi;
  const int N = t->h + t->t;
  const real *G = (const real *)t->G;
  bun end[SCAN_ENDS + 2], none;

  BCRN(lag_taste)(S, m0 - t->h, m0, NULL, &none, end, io);
  BCRN(lag_taste)(S, m1, m1 + t->t, NULL, &none, end + t->h, io);
  end[N] = end[N + 1] = none = bnull();
  BCRN(lag_taste)(S, m0, PetscMin(m1, m0 + t->reach), &none, &end[N], NULL, io);
  BCRN(lag_taste)(S, PetscMax(m0, m1 - t->reach), m1, &end[N + 1], &none, NULL, io);
  for (int r = 0; r < N; r++) {
    S->x[r] = bnull();
    for (int c = 0; c < N + 2; c++) S->x[r] = bfma(bset1(G[(N + 2) * r + c]), end[c], S->x[r]);
  }
}

static void BCRN(lag_along)(const BCRTriScan *t, const void *f, void *u, real *work, const int io)
{
  LagLines S;

  S.y = S.z = S.top = bnull();
  for (int r = 0; r < SCAN_ENDS; r++) S.x[r] = bnull();
  S.t = t;
  S.ring = work;
  S.sum = work + BL * LAG_ROWS * (t->lag + 2);
  tri_along(&S.A, &t->shape, f, u, S.sum + BL * (t->lag + 1), t->stream, 0, io);
  for (ptrdiff_t g = 0; g < S.A.groups; g++) {
    for (ptrdiff_t tile = 0; tile < S.A.period; tile++) {
      if (!tri_along_tile(&S.A, g, tile, io)) break;
      S.lo = S.A.shift + t->h;
      S.hi = S.A.shift + S.A.len - t->t;
      BCRN(lag_along_ends)(&S, io);
      S.y = S.x[t->h - 1];
      BCRN(lag_along_run)(&S, S.x[t->h], io);
    }
    BCRN(tri_along_group)(&S.A, g, io);
  }
}

/* One line: BL pieces of it in the lanes, a few rows before and after them. What goes from piece to
   piece comes from rows near their ends alone */
static __attribute__((noinline)) void BCRN(lag_line)(const BCRTriScan *t, const void *f, void *u, real *work,
                                                     const ptrdiff_t base, const int io)
{
  const ptrdiff_t n = t->shape.n, m0 = t->h, m1 = n - t->t;
  const int N = t->h + t->t;
  const real *abc = (const real *)t->abc, *G = (const real *)t->G;
  const real alpha = abc[0], beta = abc[1], gamma = abc[2];
  real *tail = work + BL * LAG_ROWS * (t->lag + 2) + BL * (t->lag + 1), head[64], c[BL], end[SCAN_ENDS + 2],
       x[SCAN_ENDS], y = 0, w = 1, z;
  ptrdiff_t first = m0, after;
  LagLines S;
  bun sum, none;

  /* pieces begin on cache lines */
  while ((uintptr_t)((char *)u + (base + first) * (io ? sizeof(double) : sizeof(real))) % 64 && first < m0 + 63)
    first++;
  S.y = S.z = S.top = bnull();
  for (int r = 0; r < SCAN_ENDS; r++) S.x[r] = bnull();
  S.t = t;
  S.hi = (m1 - first) / (BL * LAG_ROWS) * LAG_ROWS;
  S.lo = 0;
  S.ring = work;
  S.sum = work + BL * LAG_ROWS * (t->lag + 2);
  S.A = (TriAlong){.f = f,
                   .u = u,
                   .len = S.hi,
                   .pitch = S.hi,
                   .base = base + first,
                   .lanes = BL,
                   .next = (BL - 1) * S.hi,
                   .stream = t->stream};
  after = first + BL * S.hi;
  /* unknowns of the ends of the line */
  for (int r = 0; r < t->h; r++) end[r] = tri_get(f, base + r, io);
  for (int r = 0; r < t->t; r++) end[t->h + r] = tri_get(f, base + m1 + r, io);
  end[N] = 0;
  for (ptrdiff_t j = m0; j < m0 + t->reach; j++) {
    y = alpha * y + gamma * tri_get(f, base + j, io);
    end[N] += w * y;
    w *= beta;
  }
  y = 0;
  for (ptrdiff_t j = m1 - t->reach; j < m1; j++) y = alpha * y + gamma * tri_get(f, base + j, io);
  end[N + 1] = y;
  for (int r = 0; r < N; r++) {
    x[r] = 0;
    for (int k = 0; k < N + 2; k++) x[r] += G[(N + 2) * r + k] * end[k];
  }
  /* y before each piece, from the piece before */
  S.y = bnull();
  BCRN(lag_taste)(&S, S.hi - t->reach, S.hi, &S.y, &none, NULL, io);
  bstore(c, S.y);
  y = c[BL - 1];
  for (ptrdiff_t j = after; j < m1; j++) tail[j - after] = y = alpha * y + gamma * tri_get(f, base + j, io);
  for (int l = BL - 1; l > 0; l--) c[l] = c[l - 1];
  y = x[t->h - 1];
  for (ptrdiff_t j = m0; j < first; j++) head[j - m0] = y = alpha * y + gamma * tri_get(f, base + j, io);
  c[0] = y;
  S.y = none = bload(c);
  /* the unknown below each piece */
  BCRN(lag_taste)(&S, 0, t->reach, &none, &sum, NULL, io);
  bstore(c, sum);
  for (int l = 0; l < BL - 1; l++) c[l] = c[l + 1];
  z = x[t->h];
  for (int r = 0; r < t->t; r++) tri_set(u, base + m1 + r, x[t->h + r], io);
  for (ptrdiff_t j = m1 - 1; j >= after; j--) {
    z = beta * z + tail[j - after];
    tri_set(u, base + j, z, io);
  }
  c[BL - 1] = z;
  BCRN(lag_along_run)(&S, bload(c), io);
  bstore(c, S.top);
  z = c[0];
  for (ptrdiff_t j = first - 1; j >= m0; j--) {
    z = beta * z + head[j - m0];
    tri_set(u, base + j, z, io);
  }
  for (int r = 0; r < t->h; r++) tri_set(u, base + r, r == t->h - 1 ? beta * z + x[r] : x[r], io);
}

BCR_INLINE void lag_lines(const BCRTriScan *t, const void *f, void *u, real *work, const int io)
{
  if (t->shape.kind == BCR_TRI_ALONG) BCRN(lag_along)(t, f, u, work, io);
  else
    for (ptrdiff_t line = 0; line < t->shape.tiles; line++) BCRN(lag_line)(t, f, u, work, line * t->shape.n, io);
}
