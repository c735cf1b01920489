/*
  What a batch of lines was given as, for all methods, on the host and on devices: whether it makes
  sense, which methods it is for, and errors that name a line and a row of it.
*/
#include "triimpl.h"
#include <math.h>

PetscErrorCode BCRTriCheck(const BCRTriSpec *s)
{
  PetscInt sets;

  PetscFunctionBegin;
  PetscCheck(s->inner >= 0 && s->n >= 0 && s->outer >= 0 && s->rep >= 1, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "Lines: inner %" PetscInt_FMT ", n %" PetscInt_FMT ", outer %" PetscInt_FMT ", rep %" PetscInt_FMT,
             s->inner, s->n, s->outer, s->rep);
  PetscCheck(s->inner % s->rep == 0, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "Lines: inner %" PetscInt_FMT " is not a multiple of rep %" PetscInt_FMT, s->inner, s->rep);
  if (!s->inner || !s->n || !s->outer) PetscFunctionReturn(PETSC_SUCCESS);
  sets = BCRTriSets(s);
  if (s->rows) {
    PetscCheck(s->nfirst >= 0 && s->nfirst <= BCR_TRI_EDGE && s->nlast >= 0 && s->nlast <= BCR_TRI_EDGE &&
                 s->nfirst + s->nlast <= s->n,
               PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "Lines of %" PetscInt_FMT " rows: %" PetscInt_FMT " first and %" PetscInt_FMT " last rows of their own",
               s->n, s->nfirst, s->nlast);
  } else PetscCheck(s->low && s->diag && s->up, PETSC_COMM_SELF, PETSC_ERR_ARG_NULL, "Lines without coefficients");
  /* in the order that they are stored in; line by line only if there is something to be named */
  if (!s->rows && s->perline) {
    const size_t size = (size_t)sets * (size_t)s->n;
    PetscReal sum = 0;

    /* NaN if any is NaN or Inf */
    for (size_t i = 0; i < size; i++) sum += 0 * s->low[i] + 0 * s->diag[i] + 0 * s->up[i];
    if (sum == 0) PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt l = 0; l < sets; l++)
    for (PetscInt j = 0; j < s->n; j++) {
      double row[3];

      if (s->rows && j > s->nfirst && j < s->n - s->nlast - 1) { /* all the same */
        j = s->n - s->nlast - 2;
        continue;
      }
      BCRTriGetRow(s, l, j, row);
      PetscCheck(isfinite(row[0]) && isfinite(row[1]) && isfinite(row[2]), PETSC_COMM_SELF, PETSC_ERR_FP,
                 "Line %" PetscInt_FMT ", row %" PetscInt_FMT ": a coefficient is not a finite number (%g, %g, %g)", l,
                 j, row[0], row[1], row[2]);
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool BCRTriIsDominant(const BCRTriSpec *spec, PetscInt *line)
{
  const PetscInt sets = BCRTriSets(spec);

  if (!spec->rows) return PETSC_FALSE;
  for (*line = 0; *line < sets; (*line)++) {
    const PetscReal *r = spec->rows[*line].row;

    if (!(fabs((double)r[1]) >= (fabs((double)r[0]) + fabs((double)r[2])) * (1 - 8 * PETSC_MACHINE_EPSILON)))
      return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

PetscErrorCode BCRTriNeedDominant(const BCRTriSpec *spec, const char method[])
{
  PetscInt bad = 0;

  PetscFunctionBegin;
  PetscCheck(
    spec->rows, PETSC_COMM_SELF, PETSC_ERR_SUP,
    "Method %s needs lines with the same numbers in all rows but a few at the ends: use method thomas for these",
    method);
  PetscCheck(BCRTriIsDominant(spec, &bad), PETSC_COMM_SELF, PETSC_ERR_SUP,
             "Method %s needs diagonally dominant rows, but line %" PetscInt_FMT " has %g, %g, %g: use method thomas",
             method, bad, (double)spec->rows[bad].row[0], (double)spec->rows[bad].row[1],
             (double)spec->rows[bad].row[2]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

BCRTriMethod BCRTriChoose(const BCRTriSpec *spec, BCRTriMethod wanted)
{
  PetscInt line;

  if (wanted != BCR_TRI_AUTO) return wanted;
  return BCRTriIsDominant(spec, &line) ? BCR_TRI_SCAN : BCR_TRI_THOMAS;
}

PetscErrorCode BCRTriPivotError(const BCRTriSpec *spec, PetscInt line, PetscInt row, double pivot)
{
  const PetscInt across = spec->inner / spec->rep;

  PetscFunctionBegin;
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MAT_LU_ZRPVT,
          "Line %" PetscInt_FMT " (%" PetscInt_FMT " across, %" PetscInt_FMT
          " beyond) has no usable pivot in row %" PetscInt_FMT
          ": %g. The line is singular, or needs an order of its rows other than the given one",
          line, line % across, line / across, row, pivot);
}

PetscErrorCode BCRTriRange(const BCRTriSpec *spec, int single, PetscInt line, PetscInt row, double unit, double *x)
{
  const double size = fabs(*x), least = single ? (double)FLT_MIN : DBL_MIN, most = single ? (double)FLT_MAX : DBL_MAX,
               eps = single ? (double)FLT_EPSILON : DBL_EPSILON;
  char where[128] = "Lines";

  PetscFunctionBegin;
  if (size == 0 ||
      (size < BCRTriTiny(single) && unit < HUGE_VAL && size * unit <= (size < least ? eps / 16 : eps * eps))) {
    *x = 0;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (size >= least && size <= most) PetscFunctionReturn(PETSC_SUCCESS);
  if (line >= 0)
    PetscCall(PetscSNPrintf(where, sizeof(where),
                            "Line %" PetscInt_FMT " (%" PetscInt_FMT " across, %" PetscInt_FMT
                            " beyond), row %" PetscInt_FMT,
                            line, line % (spec->inner / spec->rep), line / (spec->inner / spec->rep), row));
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_FP,
          "%s: elimination comes to %g, which is beyond the range of %s precision, %g to %g. %scale the matrix and the "
          "right-hand side",
          where, *x, single ? "single" : "double", least, most,
          single && sizeof(PetscReal) > sizeof(float) ? "Use precision double, or s" : "S");
}
