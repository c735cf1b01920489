/*
  Near-Toeplitz lines by cyclic reduction with precomputed coefficients (NEATO, paper 002 chapter
  2): every reduced system is near-Toeplitz again, so a level keeps the numbers of one inner row and
  of the few rows at both ends that differ. Any n: row i of a level keeps its neighbours i - 1 and i
  + 1 where there are any; the last row that is kept has no right neighbour where the number of rows
  is even, and is then one that differs. Periodic lines are bordered by their last unknown.
*/
#include "triimpl.h"
#include <math.h>

#define CR_COEFFICIENTS 5 /* k1, k2 of (2.2); a/b, c/b, 1/b of (2.5) */
#define CR_LEVELS       64

typedef struct {
  PetscInt rows, first, last; /* rows that differ at both ends */
  PetscInt offset;            /* of its first row's coefficients: first rows, inner row, last rows */
} CRLevel;

typedef struct {
  PetscInt levels, entries;
  CRLevel level[CR_LEVELS];
  /* of a set of coefficients: entries * CR_COEFFICIENTS, 3, n - 1 numbers, each for as many lanes as a set has */
  void *table, *border, *z;
} CR;

#if defined(__GNUC__)
  #define CR_INLINE static inline __attribute__((always_inline))
#else
  #define CR_INLINE static inline
#endif
#define CRReal    double
#define CRName(x) x##_double
#include "crwork.h"
#define CRReal    float
#define CRName(x) x##_single
#include "crwork.h"

/* rows of a level of one line: first ones, inner, last ones; a, b, c, and how large the numbers
   were that b came from */
typedef struct {
  double first[BCR_TRI_EDGE + 1][4], inner[4], last[BCR_TRI_EDGE + 1][4];
} Rows;

static double *cr_get(const CRLevel *L, Rows *R, PetscInt i)
{
  return i < L->first ? R->first[i] : (i >= L->rows - L->last ? R->last[i - (L->rows - L->last)] : R->inner);
}

/* how many rows differ, level by level. One more at both ends has k1 or k2 of its own, for the sake of its neighbour */
static void cr_levels(PetscInt m, PetscInt first, PetscInt last, CR *cr)
{
  cr->levels = cr->entries = 0;
  while (m > 0) {
    CRLevel *L = &cr->level[cr->levels++];

    first = PetscMin(first, m);
    last = PetscMin(last, m - first);
    L->rows = m;
    L->first = PetscMin(first + 1, m);
    L->last = PetscMin(last + 1, m - L->first);
    L->offset = cr->entries;
    cr->entries += L->first + 1 + L->last;
    /* row 2 i + 1 is kept: it differs where it or a neighbour does, or where it lacks the right one */
    first = (first + 1) / 2;
    last = m / 2 - PetscMax(m - last - 1, 0) / 2;
    m /= 2;
  }
}

/* Where coefficients go: lane k of the `lanes` of a set; and of which line they are, -1: of the identity */
typedef struct {
  PetscInt set, lanes, k, line;
} Lane;

/* Entry e; row: of the line, where c came from */
static PetscErrorCode cr_put(BCRTriLocal t, const CR *cr, const Lane *lane, PetscInt e, PetscInt row,
                             const double c[CR_COEFFICIENTS], const double unit[2])
{
  PetscFunctionBegin;
  for (PetscInt q = 0; q < CR_COEFFICIENTS; q++) {
    const size_t at =
      (((size_t)lane->set * cr->entries + e) * CR_COEFFICIENTS + q) * (size_t)lane->lanes + (size_t)lane->k;

    PetscCall(BCRTriPutRatio(&t->spec, t->single, cr->table, at, PetscMax(lane->line, 0), row,
                             q < 2 ? unit[q] : (q < 4 ? 1 : HUGE_VAL), c[q]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Row i of the level below `fine`, of which `rows` are: (1.7)-(1.12) */
static void cr_reduce(const CRLevel *fine, Rows *rows, PetscInt i, double row[4])
{
  const double *a = cr_get(fine, rows, 2 * i), *b = cr_get(fine, rows, 2 * i + 1),
               *c = 2 * i + 2 < fine->rows ? cr_get(fine, rows, 2 * i + 2) : NULL;
  const double k1 = b[0] / a[1], k2 = c ? b[2] / c[1] : 0;

  row[0] = -a[0] * k1;
  row[1] = b[1] - a[2] * k1 - (c ? c[0] * k2 : 0);
  row[2] = c ? -c[2] * k2 : 0;
  row[3] = fabs(b[1]) + fabs(a[2] * k1) + (c ? fabs(c[0] * k2) : 0);
}

/* Entry e of a level, in the order of its coefficients: first rows, inner row, last rows */
static double *cr_entry(const CRLevel *L, Rows *R, PetscInt e)
{
  return e < L->first ? R->first[e] : (e == L->first ? R->inner : R->last[e - L->first - 1]);
}

/* and which row of the level that is */
static PetscInt cr_entry_row(const CRLevel *L, PetscInt e)
{
  return e <= L->first ? e : L->rows - L->last + e - L->first - 1;
}

/* The row of the line that is row i of level r */
static PetscInt cr_line_row(PetscInt i, PetscInt r)
{
  return (i + 1) * ((PetscInt)1 << r) - 1;
}

/* Coefficients of all levels of one line */
static PetscErrorCode cr_line(BCRTriLocal t, const CR *cr, const Lane *lane)
{
  const PetscInt line = lane->line;
  Rows now, next;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&now, sizeof(now)));
  PetscCall(PetscMemzero(&next, sizeof(next)));
  for (PetscInt r = 0; r < cr->levels; r++) {
    const CRLevel *L = &cr->level[r];
    const PetscInt entries = L->first + 1 + L->last;

    if (line < 0) {
      const double none[CR_COEFFICIENTS] = {0, 0, 0, 0, 1}, one[2] = {1, 1};

      for (PetscInt e = 0; e < entries; e++) PetscCall(cr_put(t, cr, lane, L->offset + e, 0, none, one));
      continue;
    }
    for (PetscInt e = 0; e < entries; e++) {
      const PetscInt i = cr_entry_row(L, e);
      double *row = cr_entry(L, &now, e);

      if (e == L->first && L->first + L->last == L->rows) { /* no inner row */
        for (PetscInt q = 0; q < 4; q++) row[q] = q == 1;
        continue;
      }
      if (r == 0) {
        BCRTriGetRow(&t->spec, line, i, row);
        row[3] = fabs(row[1]);
      } else cr_reduce(L - 1, &next, i, row);
      if (!BCRTriPivotUsable(row[1], row[3], PETSC_MACHINE_EPSILON))
        PetscCall(BCRTriPivotError(&t->spec, line, cr_line_row(i, r), row[1]));
    }
    for (PetscInt e = 0; e < entries; e++) {
      const PetscInt i = cr_entry_row(L, e);
      const double *row = cr_entry(L, &now, e), *before = i > 0 && i < L->rows ? cr_get(L, &now, i - 1) : NULL,
                   *after = i + 1 < L->rows ? cr_get(L, &now, i + 1) : NULL;
      double c[CR_COEFFICIENTS], unit[2];

      c[0] = before ? row[0] / before[1] : 0;
      c[1] = after ? row[2] / after[1] : 0;
      c[2] = row[0] / row[1];
      c[3] = row[2] / row[1];
      c[4] = 1 / row[1];
      unit[0] = before ? fabs(before[1] / row[1]) : 1;
      unit[1] = after ? fabs(after[1] / row[1]) : 1;
      PetscCall(cr_put(t, cr, lane, L->offset + e, cr_line_row(i, r), c, unit));
    }
    next = now;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Periodic: the column of the last unknown in the rows of the open line, into lane k; line
   < 0: none. z: [n - 1][lanes] */
static void cr_column(const BCRTriSpec *spec, int single, PetscInt line, void *z, PetscInt lanes, PetscInt k)
{
  double row[3] = {0, 1, 0};

  for (PetscInt j = 0; j < spec->n - 1; j++) {
    if (line >= 0) BCRTriGetRow(spec, line, j, row);
    BCRTriPut(single, z, (size_t)j * lanes + k, (j == 0 ? row[0] : 0) + (j == spec->n - 2 ? row[2] : 0));
  }
}

/* Periodic: up and low of the last row, and its reciprocal pivot, into lane k of border: [3][lanes]. z: the open line's
   solution for that column */
static PetscErrorCode cr_border(const BCRTriSpec *spec, int single, PetscInt line, const void *z, void *border,
                                PetscInt lanes, PetscInt k)
{
  const PetscInt n = spec->n;
  double row[3] = {0, 1, 0}, z0 = -1, z1 = -1, pivot, about, unit;

  PetscFunctionBegin;
  if (line >= 0) BCRTriGetRow(spec, line, n - 1, row);
  if (n > 1) {
    z0 = BCRTriGet(single, z, (size_t)k);
    z1 = BCRTriGet(single, z, (size_t)(n - 2) * lanes + k);
  }
  pivot = row[1] - row[2] * z0 - row[0] * z1;
  about = fabs(row[1]) + fabs(row[2] * z0) + fabs(row[0] * z1);
  if (!BCRTriPivotUsable(pivot, about, single ? (double)FLT_EPSILON : DBL_EPSILON))
    PetscCall(BCRTriPivotError(spec, line, n - 1, pivot));
  unit = 1 / BCRTriRowSize(row);
  line = PetscMax(line, 0);
  PetscCall(BCRTriPutRatio(spec, single, border, (size_t)k, line, n - 1, unit, row[2]));
  PetscCall(BCRTriPutRatio(spec, single, border, (size_t)lanes + k, line, n - 1, unit, row[0]));
  PetscCall(BCRTriPutRatio(spec, single, border, 2 * (size_t)lanes + k, line, n - 1, HUGE_VAL, 1 / pivot));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* rows of the open line, and the levels of its reduction */
static void cr_plan(const BCRTriSpec *spec, CR *cr)
{
  const PetscInt open = spec->periodic ? spec->n - 1 : spec->n;

  cr_levels(open, PetscMin(spec->nfirst, open), spec->periodic ? PetscMax(spec->nlast - 1, 0) : spec->nlast, cr);
}

PetscErrorCode BCRTriCRMake(const BCRTriSpec *spec, PetscInt sets, BCRTriCRTables *out)
{
  const PetscInt open = spec->periodic ? spec->n - 1 : spec->n;
  struct _n_BCRTriLocal t;
  CR cr;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&t, sizeof(t)));
  PetscCall(PetscMemzero(&cr, sizeof(cr)));
  t.spec = *spec;
  cr_plan(spec, &cr);
  out->levels = cr.levels;
  out->entries = cr.entries;
  for (PetscInt r = 0; r < cr.levels; r++) {
    const PetscInt numbers[4] = {cr.level[r].rows, cr.level[r].first, cr.level[r].last, cr.level[r].offset};

    for (int k = 0; k < 4; k++) out->level[r][k] = numbers[k];
  }
  PetscCall(PetscMalloc3((size_t)cr.entries * CR_COEFFICIENTS * sets + 1, &out->table, 3 * (size_t)sets, &out->border,
                         (size_t)PetscMax(open, 1) * sets, &out->z));
  cr.table = out->table;
  for (PetscInt l = 0; l < sets; l++) {
    const Lane lane = {0, sets, l, l};

    PetscCall(cr_line(&t, &cr, &lane));
  }
  if (!spec->periodic) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt l = 0; l < sets; l++) cr_column(spec, 0, l, out->z, sets, l);
  cr_tile_double(&cr, out->table, 1, out->z, sets);
  for (PetscInt l = 0; l < sets; l++) PetscCall(cr_border(spec, 0, l, out->z, out->border, sets, l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lanes of a set of coefficients: those of a tile, or one for all lines */
static PetscInt cr_lanes(const BCRTriLocal t)
{
  return t->spec.perline && t->shape.kind != BCR_TRI_LINE ? t->cpu->bundle * t->shape.nv : 1;
}

/* The line of lane k of a set, -1: none */
static PetscInt cr_lane_line(const BCRTriLocal t, PetscInt set, PetscInt k)
{
  const PetscInt bundle = t->shape.kind == BCR_TRI_LINE ? 1 : t->cpu->bundle;

  return t->spec.perline ? BCRTriTileLine(t, set, k / bundle, k % bundle) : 0;
}

/* What a set of periodic lines has besides the coefficients of the open line */
static PetscErrorCode cr_close_set(BCRTriLocal t, CR *cr, PetscInt set)
{
  const PetscInt lanes = cr_lanes(t);
  const size_t size = t->single ? sizeof(float) : sizeof(double), at = (size_t)set * lanes * size;
  char *z = (char *)cr->z + at * (t->spec.n - 1), *border = (char *)cr->border + 3 * at;
  const char *table = (const char *)cr->table + at * cr->entries * CR_COEFFICIENTS;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < lanes; k++) cr_column(&t->spec, t->single, cr_lane_line(t, set, k), z, lanes, k);
  if (t->single) cr_tile_single(cr, table, 1, (float *)z, lanes);
  else cr_tile_double(cr, table, 1, (double *)z, lanes);
  for (PetscInt k = 0; k < lanes; k++)
    PetscCall(cr_border(&t->spec, t->single, cr_lane_line(t, set, k), z, border, lanes, k));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TriCreate_CR(BCRTriLocal t)
{
  const BCRTriSpec *spec = &t->spec;
  const PetscInt n = spec->n, sets = spec->perline ? t->shape.tiles : 1, lanes = cr_lanes(t);
  const size_t size = t->single ? sizeof(float) : sizeof(double), all = (size_t)sets * lanes * size;
  CR *cr;

  PetscFunctionBegin;
  PetscCall(BCRTriNeedDominant(spec, "cr"));
  PetscCall(BCRArenaGet(&t->arena, sizeof(*cr), &cr));
  t->data = cr;
  cr_plan(spec, cr);
  PetscCall(BCRArenaGet(&t->arena, all * cr->entries * CR_COEFFICIENTS, &cr->table));
  for (PetscInt set = 0; set < sets; set++)
    for (PetscInt k = 0; k < lanes; k++) {
      const Lane lane = {set, lanes, k, cr_lane_line(t, set, k)};

      PetscCall(cr_line(t, cr, &lane));
    }
  if (spec->periodic) {
    PetscCall(BCRArenaGet(&t->arena, 3 * all, &cr->border));
    PetscCall(BCRArenaGet(&t->arena, all * PetscMax(n - 1, 1), &cr->z));
    for (PetscInt set = 0; set < sets; set++) PetscCall(cr_close_set(t, cr, set));
  }
  if (t->shape.kind == BCR_TRI_LINE) {
    t->info.tables = t->arena.bytes;
    t->info.workspace = (size_t)n * size;
    PetscCall(BCRArenaGet(&t->arena, t->info.workspace, &t->work));
  }
  t->info.flops = (spec->periodic ? 11. : 9.) * spec->inner * n * spec->outer;
  PetscCall(PetscSNPrintf(t->info.what, sizeof(t->info.what),
                          "cyclic reduction, %" PetscInt_FMT " levels, %" PetscInt_FMT " numbers tabled", cr->levels,
                          (PetscInt)(cr->entries * CR_COEFFICIENTS)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void cr_solve(const CR *cr, const BCRTriLocal t, PetscInt set, void *w, PetscInt width)
{
  const PetscInt per = t->spec.perline ? 1 : 0, lanes = per ? width : 1, n = t->spec.n,
                 open = t->spec.periodic ? n - 1 : n;
  const size_t table = (size_t)(per ? set : 0) * cr->entries * CR_COEFFICIENTS * lanes,
               border = (size_t)(per ? set : 0) * 3 * lanes, z = (size_t)(per ? set : 0) * open * lanes;

  if (t->single) {
    cr_tile_single(cr, (const float *)cr->table + table, per, (float *)w, width);
    if (t->spec.periodic)
      cr_close_single(n, (const float *)cr->border + border, (const float *)cr->z + z, per, (float *)w, width);
  } else {
    cr_tile_double(cr, (const double *)cr->table + table, per, (double *)w, width);
    if (t->spec.periodic)
      cr_close_double(n, (const double *)cr->border + border, (const double *)cr->z + z, per, (double *)w, width);
  }
}

static PetscErrorCode TriSolve_CR(BCRTriLocal t, const PetscReal *f, PetscReal *u)
{
  const CR *cr = (const CR *)t->data;
  const BCRTriShape *shape = &t->shape;
  const size_t size = t->single ? sizeof(float) : sizeof(double);

  PetscFunctionBegin;
  if (shape->kind == BCR_TRI_LINE) {
    for (ptrdiff_t line = 0; line < shape->tiles; line++) {
      const size_t base = (size_t)(line % shape->inner + shape->inner * shape->n * (line / shape->inner));

      for (ptrdiff_t j = 0; j < shape->n; j++) BCRTriPut(t->single, t->work, j, f[base + (size_t)shape->inner * j]);
      cr_solve(cr, t, (PetscInt)line, t->work, 1);
      for (ptrdiff_t j = 0; j < shape->n; j++)
        u[base + (size_t)shape->inner * j] = (PetscReal)BCRTriGet(t->single, t->work, (size_t)j);
    }
  } else {
    char *w = (char *)t->work + size * t->cpu->bundle * (shape->nv + 2 * t->cpu->bundle);

    for (ptrdiff_t tile = 0; tile < shape->tiles; tile++) {
      t->cpu->tri->pack(shape, tile, f, w);
      cr_solve(cr, t, (PetscInt)tile, w, t->cpu->bundle * shape->nv);
      t->cpu->tri->unpack(shape, tile, w, u);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

const BCRTriOps BCRTriCROps = {TriCreate_CR, TriSolve_CR, NULL};
