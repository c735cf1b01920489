/*
  Lines by stored factors (the Thomas algorithm with everything that depends on the matrix alone
  computed before), any tridiagonal. Periodic lines: the same elimination, in which the last row and
  the last column fill in. Rows of a near-Toeplitz line have factors that converge where the line is
  dominant: they are tabled until then.
*/
#include "triimpl.h"
#include <math.h>

/* Lines of at most so many rows have all factors tabled: a block of STRIP_SHORT rows (tri_kernels.h) then has no row
   from the middle of the table. Commit c808d56 has times of short lines; the limit was not measured apart */
#define FULL_ROWS 128

typedef struct { /* elimination of one line, row after row */
  const BCRTriSpec *spec;
  PetscInt line, n;
  /* of the row before: reciprocal pivot, coupling on, entry of the last column, fill-in of the last row */
  double p, up, col, r, q;
  double last[3], sum, abs, before; /* before: largest entry of the row before */
} Elimination;

typedef struct {
  double lower, pivotinverse, upper, lastrow, lastcolumn; /* in the order of the tables */
  double unit[5];                                         /* of each: BCRTriPutRatio() */
} Factors;

static void elimination_start(const BCRTriSpec *spec, PetscInt line, Elimination *s)
{
  s->spec = spec;
  s->line = line;
  s->n = spec->n;
  s->p = s->up = s->col = s->r = s->q = s->sum = s->abs = s->before = 0;
  BCRTriGetRow(spec, line, spec->n - 1, s->last);
}

/* rows in turn; some may be left out where nothing changes any more */
static PetscErrorCode elimination_row(Elimination *s, PetscInt j, Factors *F)
{
  const PetscBool periodic = s->spec->periodic;
  const PetscInt n = s->n;
  double row[3], pivot, size;

  PetscFunctionBegin;
  BCRTriGetRow(s->spec, s->line, j, row);
  F->lastrow = F->lastcolumn = F->upper = 0;
  if (periodic && j == n - 1) {
    F->lower = 0;
    pivot = row[1] - s->sum + (n == 1 ? row[0] + row[2] : 0);
    size = fabs(row[1]) + s->abs + (n == 1 ? fabs(row[0]) + fabs(row[2]) : 0);
  } else {
    F->lower = j ? row[0] * s->p : 0;
    pivot = row[1] - F->lower * s->up;
    size = fabs(row[1]) + fabs(F->lower * s->up);
  }
  if (!BCRTriPivotUsable(pivot, size, DBL_EPSILON)) PetscCall(BCRTriPivotError(s->spec, s->line, j, pivot));
  F->pivotinverse = 1 / pivot;
  if (periodic && j < n - 1) {
    const double edge = j == n - 2 ? 1 : 0;

    s->col = (j ? -F->lower * s->col : row[0]) + edge * row[2];
    s->r = (j ? -s->r * s->q : s->last[2]) + edge * s->last[0];
    F->lastcolumn = s->col * F->pivotinverse;
    F->lastrow = s->r * F->pivotinverse;
    s->sum += s->r * F->lastcolumn;
    s->abs += fabs(s->r * F->lastcolumn);
    s->up = edge != 0 ? 0 : row[2];
  } else s->up = row[2];
  F->upper = s->q = s->up * F->pivotinverse;
  s->p = F->pivotinverse;
  size = BCRTriRowSize(row);
  F->unit[0] = s->before / size; /* `lower` is added to right-hand sides of its row, times those of the row before */
  F->unit[1] = HUGE_VAL;
  F->unit[2] = F->unit[4] = 1;
  F->unit[3] = size / BCRTriRowSize(s->last);
  s->before = size;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of a table that suffice: the factors of all rows between the first *nt and the last *nlast
   are those of row *nt - 1 */
PetscErrorCode BCRTriThomasRows(const BCRTriSpec *spec, int single, ptrdiff_t *nt, ptrdiff_t *nlast)
{
  const PetscInt n = spec->n;
  const double tol = single ? 2e-8 : 4.5e-16;
  double disc, kappa;
  Elimination s;
  Factors F = {
    0, 1, 0, 0, 0, {1, 1, 1, 1, 1}
  };

  PetscFunctionBegin;
  *nt = n;
  *nlast = 0;
  if (!spec->rows || spec->perline) PetscFunctionReturn(PETSC_SUCCESS);
  disc = 1 - 4 * ((double)spec->rows->row[0] / spec->rows->row[1]) * ((double)spec->rows->row[2] / spec->rows->row[1]);
  kappa = 0.5 * spec->rows->row[1] * (1 + sqrt(PetscMax(disc, 0)));
  if (!(disc > 0)) PetscFunctionReturn(PETSC_SUCCESS);
  elimination_start(spec, 0, &s);
  for (PetscInt j = 0, last = PetscMax(spec->nlast, spec->periodic ? 2 : 1); j < n - last - 2; j++) {
    PetscCall(elimination_row(&s, j, &F));
    if (j > spec->nfirst && fabs(F.pivotinverse * kappa - 1) <= tol && fabs(F.lastcolumn) < 1e-20 &&
        fabs(F.lastrow) * F.unit[3] < 1e-20) {
      *nt = j + 2; /* `lower` has the pivot of the row before */
      *nlast = last;
      break;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTriThomasTables(const BCRTriSpec *spec, int single, ptrdiff_t nt, ptrdiff_t nlast, PetscInt sets,
                                  double *const tables[5])
{
  Elimination s;
  Factors F;

  PetscFunctionBegin;
  for (PetscInt line = 0; line < sets; line++) {
    elimination_start(spec, line, &s);
    for (ptrdiff_t k = 0; k < nt + nlast; k++) {
      const PetscInt j = k < nt ? (PetscInt)k : (PetscInt)(spec->n - nlast + k - nt);

      if (k == nt) s.r = s.col = 0;
      PetscCall(elimination_row(&s, j, &F));
      for (int m = 0; m < (spec->periodic ? 5 : 3); m++) {
        double x = ((double *)&F)[m];

        PetscCall(BCRTriRange(spec, single, line, j, F.unit[m], &x));
        tables[m][k * sets + line] = x;
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TriCreate_Thomas(BCRTriLocal t)
{
  const BCRTriSpec *spec = &t->spec;
  const BCRTriShape *shape = &t->shape;
  const size_t size = t->single ? sizeof(float) : sizeof(double);
  const PetscInt bl = shape->kind == BCR_TRI_LINE ? 1 : t->cpu->bundle, width = bl * shape->nv;
  BCRTriFactors *T;
  void *table[5] = {NULL, NULL, NULL, NULL, NULL};
  const int ntables = spec->periodic ? 5 : 3;
  size_t entries;
  Elimination s;
  Factors F;

  PetscFunctionBegin;
  PetscCall(BCRArenaGet(&t->arena, sizeof(*T), &T));
  t->data = T;
  T->shape = *shape;
  T->stream = BCRTriStream(t);
  T->perline = spec->perline ? 1 : 0;
  T->periodic = spec->periodic ? 1 : 0;
  PetscCall(BCRTriThomasRows(spec, t->single, &T->nt, &T->nlast));
  if (spec->n <= FULL_ROWS && T->nlast) { /* all of a short line: no block of rows that has them half from the table */
    T->nt = spec->n;
    T->nlast = 0;
  }
  entries = spec->perline ? (size_t)shape->tiles * spec->n * width : (size_t)(T->nt + T->nlast);
  for (int k = 0; k < ntables; k++) PetscCall(BCRArenaGet(&t->arena, entries * size, &table[k]));
  if (!spec->perline) {
    elimination_start(spec, 0, &s);
    for (ptrdiff_t k = 0; k < T->nt + T->nlast; k++) {
      const PetscInt j = k < T->nt ? (PetscInt)k : (PetscInt)(spec->n - T->nlast + k - T->nt);

      if (k == T->nt) s.r = s.col = 0;
      PetscCall(elimination_row(&s, j, &F));
      for (int m = 0; m < ntables; m++)
        PetscCall(BCRTriPutRatio(spec, t->single, table[m], (size_t)k, 0, j, F.unit[m], ((double *)&F)[m]));
    }
  } else {
    for (PetscInt tile = 0; tile < shape->tiles; tile++)
      for (PetscInt k = 0; k < width; k++) {
        const PetscInt line = BCRTriTileLine(t, tile, k / bl, k % bl);

        if (line >= 0) elimination_start(spec, line, &s);
        for (PetscInt j = 0; j < spec->n; j++) {
          if (line >= 0) PetscCall(elimination_row(&s, j, &F));
          for (int m = 0; m < ntables; m++) {
            const size_t at = ((size_t)tile * spec->n + j) * width + k;

            if (line >= 0)
              PetscCall(BCRTriPutRatio(spec, t->single, table[m], at, line, j, F.unit[m], ((double *)&F)[m]));
            else BCRTriPut(t->single, table[m], at, m == 1 ? 1 : 0);
          }
        }
      }
  }
  T->lower = table[0];
  T->pivotinverse = table[1];
  T->upper = table[2];
  T->lastrow = table[3];
  T->lastcolumn = table[4];
  t->info.flops = (spec->periodic ? 9. : 5.) * spec->inner * spec->n * spec->outer;
  PetscCall(PetscSNPrintf(t->info.what, sizeof(t->info.what),
                          "stored factors, %" PetscInt_FMT " of %" PetscInt_FMT " rows tabled",
                          (PetscInt)(T->nt + T->nlast), spec->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TriSolve_Thomas(BCRTriLocal t, const PetscReal *f, PetscReal *u)
{
  PetscFunctionBegin;
  t->cpu->tri->factors((const BCRTriFactors *)t->data, f, u, t->work);
  PetscFunctionReturn(PETSC_SUCCESS);
}

const BCRTriOps BCRTriThomas = {TriCreate_Thomas, TriSolve_Thomas, NULL};
