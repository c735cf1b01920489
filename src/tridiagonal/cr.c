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
  /* of a set of coefficients: entries * CR_COEFFICIENTS, 3, n - 1 numbers, each for as many lanes
     as a set has */
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

/* line and row: what c is of, where it came from */
static PetscErrorCode cr_put(BCRTriLocal t, const CR *cr, const double *c, const double unit[2], PetscInt line,
                             PetscInt row, PetscInt set, PetscInt lanes, PetscInt k, PetscInt e)
{
  PetscFunctionBegin;
  for (PetscInt q = 0; q < CR_COEFFICIENTS; q++) {
    const size_t at = (((size_t)set * cr->entries + e) * CR_COEFFICIENTS + q) * lanes + k;

    PetscCall(
      BCRTriPutRatio(&t->spec, t->single, cr->table, at, line, row, q < 2 ? unit[q] : (q < 4 ? 1 : HUGE_VAL), c[q]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* coefficients of all levels of one line into lane k of a set; line < 0: none */
static PetscErrorCode cr_line(BCRTriLocal t, const CR *cr, PetscInt line, PetscInt set, PetscInt lanes, PetscInt k)
{
  const BCRTriSpec *spec = &t->spec;
  Rows now, next;

  PetscFunctionBegin;
  for (PetscInt r = 0; r < cr->levels; r++) {
    const CRLevel *L = &cr->level[r];

    if (line < 0) {
      const double none[CR_COEFFICIENTS] = {0, 0, 0, 0, 1}, one[2] = {1, 1};

      for (PetscInt e = 0; e < L->first + 1 + L->last; e++)
        PetscCall(cr_put(t, cr, none, one, 0, 0, set, lanes, k, L->offset + e));
      continue;
    }
    for (PetscInt e = 0; e < L->first + 1 + L->last; e++) {
      const PetscInt i = e <= L->first ? e : L->rows - L->last + e - L->first - 1;
      double *row = e < L->first ? now.first[e] : (e == L->first ? now.inner : now.last[e - L->first - 1]);

      if (e == L->first && L->first + L->last == L->rows) { /* no inner row */
        for (PetscInt q = 0; q < 4; q++) row[q] = q == 1;
        continue;
      }
      if (r == 0) {
        BCRTriGetRow(spec, line, i, row);
        row[3] = fabs(row[1]);
      } else {
        const double *b = cr_get(L - 1, &next, 2 * i + 1), *a = cr_get(L - 1, &next, 2 * i),
                     *c = 2 * i + 2 < L[-1].rows ? cr_get(L - 1, &next, 2 * i + 2) : NULL;
        const double k1 = b[0] / a[1], k2 = c ? b[2] / c[1] : 0;

        row[0] = -a[0] * k1; /* (1.7)-(1.12) */
        row[1] = b[1] - a[2] * k1 - (c ? c[0] * k2 : 0);
        row[2] = c ? -c[2] * k2 : 0;
        row[3] = fabs(b[1]) + fabs(a[2] * k1) + (c ? fabs(c[0] * k2) : 0);
      }
      if (!(fabs(row[1]) > 32 * PETSC_MACHINE_EPSILON * row[3]))
        PetscCall(BCRTriPivotError(spec, line, (i + 1) * ((PetscInt)1 << r) - 1, row[1]));
    }
    for (PetscInt e = 0; e < L->first + 1 + L->last; e++) {
      const PetscInt i = e <= L->first ? e : L->rows - L->last + e - L->first - 1;
      double *row = e < L->first ? now.first[e] : (e == L->first ? now.inner : now.last[e - L->first - 1]);
      const double *before = i > 0 && i < L->rows ? cr_get(L, &now, i - 1) : NULL,
                   *after = i + 1 < L->rows ? cr_get(L, &now, i + 1) : NULL;
      double c[CR_COEFFICIENTS], unit[2];

      c[0] = before ? row[0] / before[1] : 0;
      c[1] = after ? row[2] / after[1] : 0;
      c[2] = row[0] / row[1];
      c[3] = row[2] / row[1];
      c[4] = 1 / row[1];
      unit[0] = before ? fabs(before[1] / row[1]) : 1;
      unit[1] = after ? fabs(after[1] / row[1]) : 1;
      PetscCall(cr_put(t, cr, c, unit, line, (i + 1) * ((PetscInt)1 << r) - 1, set, lanes, k, L->offset + e));
    }
    next = now;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTriCRMake(const BCRTriSpec *spec, PetscInt sets, BCRTriCRTables *out)
{
  const PetscInt n = spec->n, open = spec->periodic ? n - 1 : n;
  struct _n_BCRTriLocal t;
  CR cr;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&t, sizeof(t)));
  PetscCall(PetscMemzero(&cr, sizeof(cr)));
  t.spec = *spec;
  cr_levels(open, PetscMin(spec->nfirst, open), spec->periodic ? PetscMax(spec->nlast - 1, 0) : spec->nlast, &cr);
  out->levels = cr.levels;
  out->entries = cr.entries;
  for (PetscInt r = 0; r < cr.levels; r++) {
    const PetscInt numbers[4] = {cr.level[r].rows, cr.level[r].first, cr.level[r].last, cr.level[r].offset};

    for (int k = 0; k < 4; k++) out->level[r][k] = numbers[k];
  }
  PetscCall(PetscMalloc3((size_t)cr.entries * CR_COEFFICIENTS * sets + 1, &out->table, 3 * (size_t)sets, &out->border,
                         (size_t)PetscMax(open, 1) * sets, &out->z));
  cr.table = out->table;
  for (PetscInt l = 0; l < sets; l++) PetscCall(cr_line(&t, &cr, l, 0, sets, l));
  if (!spec->periodic) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt l = 0; l < sets; l++) {
    double row[3];

    for (PetscInt j = 0; j < open; j++) {
      BCRTriGetRow(spec, l, j, row);
      out->z[(size_t)j * sets + l] = (j == 0 ? row[0] : 0) + (j == n - 2 ? row[2] : 0);
    }
  }
  cr_tile_double(&cr, out->table, 1, out->z, sets);
  for (PetscInt l = 0; l < sets; l++) {
    double row[3], z0 = -1, z1 = -1, pivot, about;

    BCRTriGetRow(spec, l, n - 1, row);
    if (n > 1) {
      z0 = out->z[l];
      z1 = out->z[(size_t)(n - 2) * sets + l];
    }
    pivot = row[1] - row[2] * z0 - row[0] * z1;
    about = fabs(row[1]) + fabs(row[2] * z0) + fabs(row[0] * z1);
    if (!(fabs(pivot) > 32 * 2.2e-16 * about)) PetscCall(BCRTriPivotError(spec, l, n - 1, pivot));
    out->border[l] = row[2];
    out->border[sets + l] = row[0];
    out->border[2 * sets + l] = 1 / pivot;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTriCRPossible(const BCRTriSpec *spec)
{
  PetscInt bad;

  PetscFunctionBegin;
  PetscCheck(
    spec->rows, PETSC_COMM_SELF, PETSC_ERR_SUP,
    "Method cr needs lines with the same numbers in all rows but a few at the ends: use method thomas for these");
  PetscCheck(BCRTriScanPossible(spec, &bad), PETSC_COMM_SELF, PETSC_ERR_SUP,
             "Method cr needs diagonally dominant rows, but line %" PetscInt_FMT " has %g, %g, %g: use method thomas",
             bad, (double)spec->rows[bad].row[0], (double)spec->rows[bad].row[1], (double)spec->rows[bad].row[2]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TriCreate_CR(BCRTriLocal t)
{
  const BCRTriSpec *spec = &t->spec;
  const PetscInt n = spec->n, open = spec->periodic ? n - 1 : n;
  const size_t size = t->single ? sizeof(float) : sizeof(double);
  const PetscInt line = t->shape.kind == BCR_TRI_LINE, width = line ? 1 : t->cpu->bundle * t->shape.nv;
  const PetscInt sets = spec->perline ? t->shape.tiles : 1, lanes = spec->perline ? width : 1;
  CR *cr;

  PetscFunctionBegin;
  PetscCall(BCRTriCRPossible(spec));
  PetscCall(BCRArenaGet(&t->arena, sizeof(*cr), &cr));
  t->data = cr;
  cr_levels(open, PetscMin(spec->nfirst, open), spec->periodic ? PetscMax(spec->nlast - 1, 0) : spec->nlast, cr);
  PetscCall(BCRArenaGet(&t->arena, (size_t)sets * cr->entries * CR_COEFFICIENTS * lanes * size, &cr->table));
  for (PetscInt set = 0; set < sets; set++)
    for (PetscInt k = 0; k < lanes; k++)
      PetscCall(cr_line(
        t, cr, spec->perline ? BCRTriTileLine(t, set, line ? 0 : k / t->cpu->bundle, line ? 0 : k % t->cpu->bundle) : 0,
        set, lanes, k));
  if (spec->periodic) {
    PetscCall(BCRArenaGet(&t->arena, (size_t)sets * 3 * lanes * size, &cr->border));
    PetscCall(BCRArenaGet(&t->arena, (size_t)sets * PetscMax(open, 1) * lanes * size, &cr->z));
    for (PetscInt set = 0; set < sets; set++) {
      char *z = (char *)cr->z + (size_t)set * open * lanes * size;

      for (PetscInt k = 0; k < lanes; k++) {
        const PetscInt l =
          spec->perline ? BCRTriTileLine(t, set, line ? 0 : k / t->cpu->bundle, line ? 0 : k % t->cpu->bundle) : 0;
        double row[3];

        for (PetscInt j = 0; j < open; j++) {
          if (l >= 0) BCRTriGetRow(spec, l, j, row);
          BCRTriPut(t->single, z, (size_t)j * lanes + k, l < 0 ? 0 : (j == 0 ? row[0] : 0) + (j == n - 2 ? row[2] : 0));
        }
      }
      if (t->single)
        cr_tile_single(cr, (float *)cr->table + (size_t)set * cr->entries * CR_COEFFICIENTS * lanes, 1, (float *)z,
                       lanes);
      else
        cr_tile_double(cr, (double *)cr->table + (size_t)set * cr->entries * CR_COEFFICIENTS * lanes, 1, (double *)z,
                       lanes);
      for (PetscInt k = 0; k < lanes; k++) {
        const PetscInt l =
          spec->perline ? BCRTriTileLine(t, set, line ? 0 : k / t->cpu->bundle, line ? 0 : k % t->cpu->bundle) : 0;
        double row[3] = {0, 1, 0}, z0 = -1, z1 = -1, pivot, about;

        if (l >= 0) BCRTriGetRow(spec, l, n - 1, row);
        if (n > 1) {
          z0 = t->single ? ((float *)z)[k] : ((double *)z)[k];
          z1 = t->single ? ((float *)z)[(size_t)(n - 2) * lanes + k] : ((double *)z)[(size_t)(n - 2) * lanes + k];
        }
        pivot = row[1] - row[2] * z0 - row[0] * z1;
        about = fabs(row[1]) + fabs(row[2] * z0) + fabs(row[0] * z1);
        if (!(fabs(pivot) > (t->single ? 32 * 1.2e-7 : 32 * 2.2e-16) * about))
          PetscCall(BCRTriPivotError(spec, l, n - 1, pivot));
        for (int q = 0; q < 3; q++)
          PetscCall(BCRTriPutRatio(spec, t->single, cr->border, ((size_t)set * 3 + q) * lanes + k, PetscMax(l, 0),
                                   n - 1, q == 2 ? HUGE_VAL : 1 / BCRTriRowSize(row),
                                   q == 2 ? 1 / pivot : row[2 - 2 * q]));
      }
    }
  }
  if (line) {
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
        u[base + (size_t)shape->inner * j] = (PetscReal)(t->single ? ((float *)t->work)[j] : ((double *)t->work)[j]);
    }
  } else {
    char *w = (char *)t->work + size * t->cpu->bundle * (shape->nv + 2 * t->cpu->bundle);

    for (ptrdiff_t tile = 0; tile < shape->tiles; tile++) {
      t->cpu->tri->pack(shape, t->io, tile, f, w);
      cr_solve(cr, t, (PetscInt)tile, w, t->cpu->bundle * shape->nv);
      t->cpu->tri->unpack(shape, t->io, tile, w, u);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

const BCRTriOps BCRTriCROps = {"cr", TriCreate_CR, TriSolve_CR, NULL};
