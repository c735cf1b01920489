/*
  Lines by the P-scheme (paper 003): with the factors of the line stored, Gauss elimination is two
  first-order linear recurrences, each solved by parts. (The paper also solves the third recurrence,
  that of the pivots, by parts. It depends on the matrix alone, so it is part of the set-up here.)
  Any tridiagonal line. Periodic lines: the last unknown is a border around the rest.
*/
#include "parts.h"
#include "../recurrence/pscheme.h"
#include <math.h>

typedef struct {
  BCRParts parts;
  PetscInt rows;        /* n, or n-1 of a periodic line */
  PetscInt *near, *far; /* periodic: rows of the border's column that matter, from the first and from the last one */
  /* the solution of the open line for the column of the border: near entries, then far entries */
  PetscReal **column;
  double *edge; /* low and up of the last row, reciprocal pivot */
  PetscReal *z; /* inner values of the last unknown */
} PScheme;

typedef struct {
  const BCRTriSpec *spec;
  PetscInt rows;
} Factorisation;

/* Forwards y_j = f_j - l_j y_{j-1}, backwards u_j = (y_j - up_j u_{j+1}) / pivot_j */
static PetscErrorCode Factors(const void *context, PetscInt line, double *sf, double *sb, double *cb)
{
  const Factorisation *F = (const Factorisation *)context;
  double up = 0;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < F->rows; j++) {
    double row[3], pivot, l;

    BCRTriGetRow(F->spec, line, j, row);
    l = j ? row[0] * cb[j - 1] : 0;
    pivot = row[1] - l * up;
    if (!BCRTriPivotUsable(pivot, fabs(row[1]) + fabs(l * up), DBL_EPSILON))
      PetscCall(BCRTriPivotError(F->spec, line, j, pivot));
    up = j < F->rows - 1 ? row[2] : 0;
    sf[j] = -l;
    cb[j] = 1 / pivot;
    sb[j] = -up / pivot;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Periodic: the solution y, [rows], of the open line for the column of the last unknown; edge: low and up of the last
   row, its reciprocal pivot */
static PetscErrorCode solve_border(const BCRTriSpec *s, PetscInt line, const double *sf, const double *sb,
                                   const double *cb, double *y, double edge[3])
{
  const PetscInt rows = s->n - 1;
  double row[3], last[3], pivot, size;

  PetscFunctionBegin;
  BCRTriGetRow(s, line, s->n - 1, last);
  pivot = last[1];
  size = fabs(last[1]);
  if (!rows) {
    pivot += last[0] + last[2];
    size += fabs(last[0]) + fabs(last[2]);
  } else {
    PetscCall(PetscArrayzero(y, rows));
    BCRTriGetRow(s, line, 0, row);
    y[0] = row[0];
    BCRTriGetRow(s, line, rows - 1, row);
    y[rows - 1] += row[2];
    for (PetscInt j = 1; j < rows; j++) y[j] += sf[j] * y[j - 1];
    for (PetscInt j = rows - 1; j >= 0; j--) y[j] = cb[j] * y[j] + (j < rows - 1 ? sb[j] * y[j + 1] : 0);
    pivot -= last[0] * y[rows - 1] + last[2] * y[0];
    size += fabs(last[0] * y[rows - 1]) + fabs(last[2] * y[0]);
  }
  if (!BCRTriPivotUsable(pivot, size, DBL_EPSILON)) PetscCall(BCRTriPivotError(s, line, s->n - 1, pivot));
  edge[0] = last[0];
  edge[1] = last[2];
  edge[2] = 1 / pivot;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a periodic line needs more, for one set of coefficients */
static PetscErrorCode Border(BCRTriLocal t, PScheme *P, PetscInt line, const Factorisation *F, double *sf, double *sb,
                             double *cb, double *y)
{
  const BCRTriSpec *s = &t->spec;
  const PetscInt rows = P->rows;
  const double tiny = t->single ? 1e-15 : 1e-32;
  double largest = 0;
  PetscInt near, far;

  PetscFunctionBegin;
  if (rows) PetscCall(Factors(F, line, sf, sb, cb));
  PetscCall(solve_border(s, line, sf, sb, cb, y, P->edge + 3 * (size_t)line));
  for (PetscInt j = 0; j < rows; j++) largest = PetscMax(largest, fabs(y[j]));
  /* what is negligible in the middle is left out */
  for (near = 0; near < rows && fabs(y[near]) > tiny * largest; near++)
    ;
  for (far = 0; far < rows - near && fabs(y[rows - 1 - far]) > tiny * largest; far++)
    ;
  for (PetscInt j = near; j < rows - far; j++)
    if (fabs(y[j]) > tiny * largest) near = j + 1;
  P->near[line] = near;
  P->far[line] = far;
  PetscCall(BCRArenaGet(&t->arena, sizeof(PetscReal) * (size_t)(near + far + 1), &P->column[line]));
  for (PetscInt j = 0; j < near; j++) P->column[line][j] = (PetscReal)y[j];
  for (PetscInt j = 0; j < far; j++) P->column[line][near + j] = (PetscReal)y[rows - far + j];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode check_variant(PetscInt variant)
{
  PetscFunctionBegin;
  PetscCheck(variant == 0 || variant == 1, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "Method pscheme has variants 0 (rearranged array) and 1 (plain array), not %" PetscInt_FMT, variant);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TriCreate_PScheme(BCRTriLocal t)
{
  const BCRTriSpec *s = &t->spec;
  PScheme *P;
  Factorisation F;
  PetscInt parts, length, growing;
  char note[48] = "";

  PetscFunctionBegin;
  PetscCall(PetscNew(&P));
  t->data = P;
  P->rows = s->periodic ? s->n - 1 : s->n;
  F.spec = s;
  F.rows = P->rows;
  PetscCall(check_variant(t->options.variant));
  PetscCall(BCRPartsCreate(t, P->rows, t->options.parts, (PetscBool)(t->options.variant == 1), PETSC_FALSE, PETSC_FALSE,
                           &P->parts));
  if (P->rows) PetscCall(BCRPartsSetLines(P->parts, Factors, &F));
  if (s->periodic) {
    const PetscInt lines = s->perline ? t->lines : 1;
    double *work[4];
    PetscErrorCode ierr = PETSC_SUCCESS;

    PetscCall(
      PetscMalloc5(lines, &P->near, lines, &P->far, lines, &P->column, 3 * (size_t)lines, &P->edge, s->inner, &P->z));
    PetscCall(PetscMalloc4(P->rows, &work[0], P->rows, &work[1], P->rows, &work[2], P->rows, &work[3]));
    for (PetscInt l = 0; l < lines && !ierr; l++) ierr = Border(t, P, l, &F, work[0], work[1], work[2], work[3]);
    PetscCall(PetscFree4(work[0], work[1], work[2], work[3]));
    PetscCall(ierr);
  }
  PetscCall(BCRPartsGetSizes(P->parts, &parts, &length, &growing));
  t->info.flops = (s->periodic ? 11. : 9.) * s->inner * s->n * s->outer;
  if (growing) PetscCall(PetscSNPrintf(note, sizeof(note), ", %" PetscInt_FMT " bundles in order (growth)", growing));
  PetscCall(PetscSNPrintf(t->info.what, sizeof(t->info.what),
                          "%s array, %" PetscInt_FMT " parts of %" PetscInt_FMT " rows%s",
                          t->options.variant ? "plain" : "rearranged", parts, length, note));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Do products of the coefficients from an end of a part grow? S and T would cancel */
static PetscBool parts_grow(const BCRPartsTables *T, double *const f[3])
{
  for (PetscInt q = 0; q < T->parts; q++) {
    const PetscInt begin = q * T->m, end = PetscMin(begin + T->m, T->rows);
    double product[2] = {1, 1};

    for (PetscInt i = 0; begin + i < end; i++) {
      product[0] *= f[0][begin + i];
      product[1] *= f[1][end - 1 - i];
      if (fabs(product[0]) > (double)BCR_RECUR_GROWTH || fabs(product[1]) > (double)BCR_RECUR_GROWTH) return PETSC_TRUE;
    }
  }
  return PETSC_FALSE;
}

/* Set l from its factors f: sf, sb, cb of all rows */
static PetscErrorCode fill_tables(const BCRTriSpec *s, int single, PetscInt l, double *const f[3], BCRPartsTables *T)
{
  const PetscInt sets = BCRTriSets(s);

  PetscFunctionBegin;
  for (PetscInt q = 0; q < T->parts; q++) {
    T->product[0][q * sets + l] = T->product[1][q * sets + l] = 1;
    for (PetscInt i = 0; i < T->m && q * T->m + i < T->rows; i++) {
      const PetscInt j = q * T->m + i;
      const size_t at = (size_t)i * T->parts * sets + (size_t)(s->inner == 1 ? q + T->parts * l : l + sets * q);
      /* forwards products become ratios by the pivots of their rows */
      const double unit[3] = {j ? fabs(f[2][j] / f[2][j - 1]) : 1, 1, HUGE_VAL};

      for (int k = 0; k < 2; k++) T->product[k][q * sets + l] *= f[k][j];
      for (int k = 0; k < 3; k++) {
        T->table[k][at] = f[k][j];
        PetscCall(BCRTriRange(s, single, l, j, unit[k], &T->table[k][at]));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* work: [rows] each */
static PetscErrorCode make_tables(const BCRTriSpec *s, const BCRTriOptions *options, int single, double *const work[4],
                                  BCRPartsTables *T)
{
  const PetscInt sets = BCRTriSets(s), rows = s->periodic ? s->n - 1 : s->n;
  const Factorisation F = {s, rows};
  double edge[3];

  PetscFunctionBegin;
  PetscCall(BCRPartsTablesCut(s, rows, options->parts, PETSC_FALSE, T));
  for (PetscInt l = 0; l < sets && !T->grows; l++) {
    PetscCall(Factors(&F, l, work[0], work[1], work[2]));
    T->grows = parts_grow(T, work);
  }
  if (T->grows) PetscCall(BCRPartsTablesCut(s, rows, 1, PETSC_FALSE, T));
  if (s->periodic) {
    T->ends = PETSC_TRUE;
    T->nnumbers = 3;
    PetscCall(PetscMalloc1(3 * (size_t)sets, &T->numbers));
    T->columns = rows ? 1 : 0;
    T->to[0] = rows;
    PetscCall(PetscMalloc1((size_t)rows * sets, &T->V[0]));
  }
  for (PetscInt l = 0; l < sets; l++) {
    PetscCall(Factors(&F, l, work[0], work[1], work[2]));
    PetscCall(fill_tables(s, single, l, work, T));
    if (!s->periodic) continue;
    PetscCall(solve_border(s, l, work[0], work[1], work[2], work[3], edge));
    for (PetscInt j = 0; j < rows; j++) T->V[0][(size_t)j * sets + l] = work[3][j];
    for (int k = 0; k < 3; k++) T->numbers[k * sets + l] = edge[k];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTriPSchemeTables(const BCRTriSpec *s, const BCRTriOptions *options, int single, BCRPartsTables *T)
{
  double *work[4];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(check_variant(options->variant));
  PetscCall(PetscMalloc4(s->n, &work[0], s->n, &work[1], s->n, &work[2], s->n, &work[3]));
  ierr = make_tables(s, options, single, work, T);
  PetscCall(PetscFree4(work[0], work[1], work[2], work[3]));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TriSolve_PScheme(BCRTriLocal t, const PetscReal *f, PetscReal *u)
{
  const PScheme *P = (const PScheme *)t->data;
  const BCRTriSpec *s = &t->spec;

  PetscFunctionBegin;
  PetscCall(BCRPartsSolve(P->parts, f, u));
  for (PetscInt o = 0; s->periodic && o < s->outer; o++) {
    PetscReal *uo = u + (size_t)s->inner * s->n * o, *ulast = uo + (size_t)s->inner * P->rows;
    const PetscReal *flast = f + (size_t)s->inner * ((size_t)s->n * o + P->rows);

    for (PetscInt i = 0; i < s->inner; i++) {
      const double *e = P->edge + 3 * (size_t)(s->perline ? BCRTriLineOf(s, i, o) : 0);
      double x = (double)flast[i];

      if (P->rows) x -= e[0] * (double)(ulast - s->inner)[i] + e[1] * (double)uo[i];
      P->z[i] = (PetscReal)(x * e[2]);
    }
    for (PetscInt i = 0; i < s->inner; i++) ulast[i] = P->z[i];
    if (!s->perline) {
      for (PetscInt j = 0; j < P->near[0] + P->far[0]; j++) {
        PetscReal *uj = uo + (size_t)s->inner * (j < P->near[0] ? j : P->rows - P->far[0] + j - P->near[0]);

        for (PetscInt i = 0; i < s->inner; i++) uj[i] -= P->column[0][j] * P->z[i];
      }
    } else {
      for (PetscInt i = 0; i < s->inner; i++) {
        const PetscInt l = BCRTriLineOf(s, i, o), near = P->near[l], far = P->far[l];

        for (PetscInt j = 0; j < near + far; j++)
          uo[i + (size_t)s->inner * (j < near ? j : P->rows - far + j - near)] -= P->column[l][j] * P->z[i];
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TriDestroy_PScheme(BCRTriLocal t)
{
  PScheme *P = (PScheme *)t->data;

  PetscFunctionBegin;
  PetscCall(BCRPartsDestroy(&P->parts));
  PetscCall(PetscFree5(P->near, P->far, P->column, P->edge, P->z));
  PetscCall(PetscFree(P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const BCRTriOps BCRTriPScheme = {TriCreate_PScheme, TriSolve_PScheme, TriDestroy_PScheme};
