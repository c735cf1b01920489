/*
  One rank's batch of lines from the inside: what a method of BCRTriLocal fills, and what it can use.

  A method is a table of operations. create() reads local->spec (the arrays are the caller's: valid
  in create() only) and keeps tables in local->arena and a structure of its own in local->data;
  solve() takes fields of PetscReal. Kernels work in float where local->single, on fields of io
  (tri.h); tables are written with BCRTriPut().
*/
#pragma once

#include "tridiagonal.h"
#include "../base/arena.h"
#include "../base/modes.h"
#include "../backend/cpu/cpu.h"
#include <float.h>
#include <math.h>

typedef struct {
  PetscErrorCode (*create)(BCRTriLocal);
  PetscErrorCode (*solve)(BCRTriLocal, const PetscReal *f, PetscReal *u);
  PetscErrorCode (*destroy)(BCRTriLocal); /* data; NULL: nothing but the arena */
} BCRTriOps;

PETSC_INTERN const BCRTriOps BCRTriScanOps;
PETSC_INTERN const BCRTriOps BCRTriCROps;
PETSC_INTERN const BCRTriOps BCRTriThomas;
PETSC_INTERN const BCRTriOps BCRTriPScheme; /* src/recurrence */
PETSC_INTERN const BCRTriOps BCRTriDC;

/* spec.c: are sizes possible and coefficients finite? */
PETSC_INTERN PetscErrorCode BCRTriCheck(const BCRTriSpec *spec);
/* Are the lines near-Toeplitz with dominant rows? If they are not for the sake of one line, which one */
PETSC_INTERN PetscBool BCRTriIsDominant(const BCRTriSpec *spec, PetscInt *line);
/* The error of a method that needs such lines */
PETSC_INTERN PetscErrorCode BCRTriNeedDominant(const BCRTriSpec *spec, const char method[]);
/* The method that is used where `wanted` is asked for */
PETSC_INTERN BCRTriMethod BCRTriChoose(const BCRTriSpec *spec, BCRTriMethod wanted);
/* The error of a pivot that is not usable; line, row: where. Always an error */
PETSC_INTERN PetscErrorCode BCRTriPivotError(const BCRTriSpec *spec, PetscInt line, PetscInt row, double pivot);

/* The numbers of scan for one line with h and t rows at its ends, tri.h; those that are not open to
   rounding by the kernels are as they have them */
typedef struct {
  double alpha, beta, gamma, uh[2], G[2 * BCR_TRI_EDGE * (2 * BCR_TRI_EDGE + 2)];
  double unit[2 * BCR_TRI_EDGE + 2]; /* of the columns of G, BCRTriPutRatio() */
} BCRTriScanLine;
PETSC_INTERN PetscErrorCode BCRTriScanSetLine(const BCRTriSpec *spec, int single, PetscInt line, PetscInt h, PetscInt t,
                                              BCRTriScanLine *numbers);
PETSC_INTERN double BCRTriScanDecay(double x, int single); /* rows after which powers of x no longer count */
/* The stored factors of thomas: how many rows have some of their own, and all; entry e of set k at
   e sets + k. The last two only of periodic lines */
PETSC_INTERN PetscErrorCode BCRTriThomasRows(const BCRTriSpec *spec, int single, ptrdiff_t *nt, ptrdiff_t *nlast);
PETSC_INTERN PetscErrorCode BCRTriThomasTables(const BCRTriSpec *spec, int single, ptrdiff_t nt, ptrdiff_t nlast,
                                               PetscInt sets, double *const tables[5]);
/* The coefficients of cr, in double: number q of entry e of set k at (5 e + q) sets + k; border and
   z only of periodic lines. Freed with PetscFree3(table, border, z) */
typedef struct {
  PetscInt levels, entries, level[64][4]; /* rows, first, last, offset */
  double *table, *border, *z;
} BCRTriCRTables;
PETSC_INTERN PetscErrorCode BCRTriCRMake(const BCRTriSpec *spec, PetscInt sets, BCRTriCRTables *tables);
struct _n_BCRTriLocal {
  const BCRTriOps *ops;
  BCRTriSpec spec;       /* after create without the arrays */
  BCRTriOptions options; /* method: the one used */
  BCRTriInfo info;
  PetscInt lines;         /* inner/rep * outer */
  const BCRCpuTable *cpu; /* of the work type */
  int single, io;
  BCRTriShape shape;
  BCRArena arena;
  void *data; /* the method's */
  void *work; /* a tile's scratch */

  /* mixed precision: a batch in single precision, and the operator in double */
  BCRTriLocal inner;
  PetscInt corrections;
  BCRTriRows *rows;
  PetscReal *low, *diag, *up, *res, *cor, *copy;
};

/* Row j of a line as it acts: couplings beyond the ends of a line that is not periodic are zero */
static inline void BCRTriGetRow(const BCRTriSpec *s, PetscInt line, PetscInt j, double row[3])
{
  if (s->rows) {
    const BCRTriRows *r = s->rows + (s->perline ? line : 0);
    const PetscReal *c = j < s->nfirst ? r->first[j] : (j >= s->n - s->nlast ? r->last[j - (s->n - s->nlast)] : r->row);

    for (int k = 0; k < 3; k++) row[k] = c[k];
  } else {
    const PetscInt across = s->inner / s->rep,
                   i = s->perline ? line % across + across * (j + s->n * (line / across)) : j;

    row[0] = s->low[i];
    row[1] = s->diag[i];
    row[2] = s->up[i];
  }
  if (!s->periodic) {
    if (j == 0) row[0] = 0;
    if (j == s->n - 1) row[2] = 0;
  }
}

/* Sets of coefficients: one for all lines, or one for each */
static inline PetscInt BCRTriSets(const BCRTriSpec *s)
{
  return s->perline ? s->inner / s->rep * s->outer : 1;
}

/* Roundings of the terms of a pivot that it has to exceed; fewer would let a singular line through whose pivot is what
   rounding has left, and no line that elimination solves to a digit has one so small */
#define BCR_TRI_PIVOT_ROUNDINGS 32
/* size: sum of the moduli of the terms that were added up in the pivot; eps: of the numbers they were added in */
static inline PetscBool BCRTriPivotUsable(double pivot, double size, double eps)
{
  return (PetscBool)(fabs(pivot) > BCR_TRI_PIVOT_ROUNDINGS * eps * size);
}

/* The line of element (i, o) of the field */
static inline PetscInt BCRTriLineOf(const BCRTriSpec *s, PetscInt i, PetscInt o)
{
  return i / s->rep + s->inner / s->rep * o;
}

/* whether to write u past the caches */
static inline int BCRTriStream(const BCRTriLocal t)
{
  return (double)t->spec.inner * t->spec.n * t->spec.outer * sizeof(PetscReal) > (12 << 20);
}

static inline void BCRTriPut(int single, void *table, size_t i, double value)
{
  if (single) ((float *)table)[i] = (float)value;
  else ((double *)table)[i] = value;
}

static inline double BCRTriGet(int single, const void *table, size_t i)
{
  return single ? (double)((const float *)table)[i] : ((const double *)table)[i];
}

/* Numbers of tables. The smallest one that no product with a unit roundoff makes subnormal, which would be slow */
static inline double BCRTriTiny(int single)
{
  return single ? (double)FLT_MIN / (double)FLT_EPSILON : DBL_MIN / DBL_EPSILON;
}

/* x, as the work type has it: 0 where it is below that and, times unit, negligible. Units make it a
   ratio of numbers of its line, which is what can be judged; HUGE_VAL: x has none, and is never 0.
   An error if the work type does not reach x; line: -1 if it is not known there. */
PETSC_INTERN PetscErrorCode BCRTriRange(const BCRTriSpec *spec, int single, PetscInt line, PetscInt row, double unit,
                                        double *x);
static inline PetscErrorCode BCRTriPutRatio(const BCRTriSpec *spec, int single, void *table, size_t i, PetscInt line,
                                            PetscInt row, double unit, double x)
{
  PetscFunctionBegin;
  if (!(fabs(x) >= BCRTriTiny(single) && fabs(x) <= (single ? (double)FLT_MAX : DBL_MAX)))
    PetscCall(BCRTriRange(spec, single, line, row, unit, &x));
  BCRTriPut(single, table, i, x);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest entry of a row */
static inline double BCRTriRowSize(const double row[3])
{
  return PetscMax(fabs(row[1]), PetscMax(fabs(row[0]), fabs(row[2])));
}

/* Line of a lane of a tile, -1: none. LINE: tile after tile is line after line (rep and all), v and lane are 0 */
static inline PetscInt BCRTriTileLine(const BCRTriLocal local, PetscInt tile, PetscInt v, PetscInt lane)
{
  const BCRTriShape *s = &local->shape;
  const PetscInt bl = local->cpu->bundle;

  if (s->kind == BCR_TRI_ACROSS) {
    const PetscInt i = (PetscInt)(tile % s->across) * s->nv * bl + v * bl + lane;

    return i < local->spec.inner ? BCRTriLineOf(&local->spec, i, (PetscInt)(tile / s->across)) : -1;
  }
  if (s->kind == BCR_TRI_ALONG)
    return tile * bl + lane < local->spec.outer ? BCRTriLineOf(&local->spec, v, tile * bl + lane) : -1;
  return BCRTriLineOf(&local->spec, tile % local->spec.inner, tile / local->spec.inner);
}
