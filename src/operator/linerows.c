#include "linerows.h"
#include "run_kernels.h"
#include "wide.h"

PetscErrorCode BCRDistRowsClose(BCRDistRows *A)
{
  PetscFunctionBegin;
  PetscCall(BCRBlockClose(&A->own));
  PetscCall(BCRBlockClose(&A->other));
  PetscCall(MatDestroy(&A->aij));
  PetscCall(PetscFree(A->place));
  PetscCall(PetscFree(A->star));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDistRowsStarCreate(BCRDistRows *A)
{
  const PetscInt *size = A->lines->size, rows = A->lines->dof * size[0] * size[1] * size[2];

  PetscFunctionBegin;
  /* a copy is 7 numbers written and 7 read: shorter rows are read again as fast */
  if (rows && A->ai[rows] / rows >= 2 * 7) PetscCall(PetscMalloc1(7 * (size_t)rows, &A->star));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the columns of other ranks are on the grid */
static PetscErrorCode BCRDistRowsPlaces(const BCRGrid *grid, BCRDistRows *A)
{
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A->other.mat, NULL, &n));
  PetscCall(PetscMalloc1(4 * (size_t)n, &A->place));
  for (PetscInt k = 0; k < n; ++k) {
    PetscInt *place = A->place + 4 * (size_t)k;

    BCRGridNode(grid, A->column[k] / grid->dof, place);
    place[3] = A->column[k] % grid->dof;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDistRowsOpen(const BCRGrid *grid, Mat P, BCRLines lines, BCRDistRows *A)
{
  Mat own, other;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(A, sizeof(*A)));
  A->lines = lines;
  for (PetscInt d = 0, stride = grid->dof; d < 3; ++d) {
    A->stride[d] = stride;
    stride *= grid->n[d];
  }
  PetscCall(BCRGridCheckMatrix(grid, P));
  PetscCall(
    BCRMatGetAIJ(P,
                 "lines from: give an assembled preconditioning matrix (second matrix of KSPSetOperators()), or "
                 "solve with PetscBCRLinesCreate() and PetscBCRLinesSolve()",
                 &A->aij));
  A->converted = (PetscBool)(A->aij != P);
  PetscCall(BCRMatGetBlocks(A->aij, &own, &other, &A->column));
  PetscCall(MatGetOwnershipRange(A->aij, &A->first, NULL));
  PetscCall(BCRBlockOpen(own, &A->own));
  PetscCall(BCRBlockFetch(&A->own));
  A->ai = A->own.i;
  A->aj = A->own.j;
  A->aa = A->own.a;
  A->margin = 1;
  if (lines->size[0] * lines->size[1] * lines->size[2] > 0)
    A->margin =
      BCRPatternMargin(A->ai, A->aj, lines->dof,
                       lines->size[0] * (lines->size[1] / 2 + lines->size[1] * (lines->size[2] / 2)), lines->size[0]);
  if (grid->size > 1) {
    PetscCall(BCRBlockOpen(other, &A->other));
    PetscCall(BCRBlockFetch(&A->other));
    A->bi = A->other.i;
    A->bj = A->other.j;
    A->ba = A->other.a;
    PetscCall(BCRDistRowsPlaces(grid, A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An entry in the column of component cc at grid point to, of the row of component c at ix */
static void BCRGridRowAdd(const BCRDistRows *A, const PetscInt ix[3], PetscInt c, const PetscInt to[3], PetscInt cc,
                          PetscInt column, PetscScalar value, BCRGridRow *row)
{
  const double v = (double)PetscRealPart(value), size = PetscAbs(v);
  PetscInt differ = 0, axis = 0, by, s;

#if defined(PETSC_USE_COMPLEX)
  if (PetscAbs((double)PetscImaginaryPart(value)) > row->imag) {
    row->imag = PetscAbs((double)PetscImaginaryPart(value));
    row->imagcol = column;
  }
#endif
  if (PetscIsInfOrNanScalar(value)) row->nancol = column;
  if (cc != c) {
    if (size > row->couple) {
      row->couple = size;
      row->couplecol = column;
    }
    return;
  }
  for (PetscInt d = 0; d < A->lines->dim; ++d) {
    if (to[d] == ix[d]) continue;
    ++differ;
    axis = d;
  }
  if (!differ) row->star[BCR_LINES_DIAGONAL] += v;
  else if (differ > 1) row->outside += size;
  else {
    const PetscInt N = A->lines->N[axis];

    by = to[axis] - ix[axis];
    s = by > 0;
    if (by == 1 || by == -1) row->star[2 * axis + s] += v;
    else if (by == N - 1 || by == 1 - N) {
      row->star[2 * axis + !s] += v;
      row->wrap[axis] += size;
    } else {
      if (size > row->far[axis]) {
        row->far[axis] = size;
        row->farcol[axis] = column;
      }
      row->outside += size;
    }
  }
}

void BCRGridRowGet(const BCRDistRows *A, const PetscInt at[3], const PetscInt ix[3], PetscInt c, BCRGridRow *row)
{
  const BCRLines lines = A->lines;
  const PetscInt me = c + at[0] * A->stride[0] + at[1] * A->stride[1] + at[2] * A->stride[2];

  PetscCallVoid(PetscMemzero(row, sizeof(*row)));
  row->nancol = -1;
  for (PetscInt p = A->ai[me]; (p = BCRSkipZeros(A->aa, p, A->ai[me + 1])) < A->ai[me + 1]; ++p) {
    const PetscInt column = A->aj[p], by = column - me;
    const PetscScalar v = A->aa[p];
    PetscInt slot = -1;

    if (by == 0) slot = BCR_LINES_DIAGONAL;
    else {
      for (PetscInt d = 0; d < lines->dim; ++d) {
        if (by == A->stride[d] && at[d] + 1 < lines->size[d]) slot = 2 * d + 1;
        else if (by == -A->stride[d] && at[d] > 0) slot = 2 * d;
      }
    }
    if (slot >= 0 && PetscImaginaryPart(v) == 0 && PetscAbsReal(PetscRealPart(v)) <= PETSC_MAX_REAL)
      row->star[slot] += (double)PetscRealPart(v);
    else {
      PetscInt to[3], rest = column / lines->dof;

      for (PetscInt d = 0; d < 3; ++d) {
        to[d] = lines->start[d] + rest % lines->size[d];
        rest /= lines->size[d];
      }
      BCRGridRowAdd(A, ix, c, to, column % lines->dof, A->first + column, v, row);
    }
  }
  if (!A->bi) return;
  for (PetscInt p = A->bi[me]; (p = BCRSkipZeros(A->ba, p, A->bi[me + 1])) < A->bi[me + 1]; ++p) {
    const PetscInt *place = A->place + 4 * (size_t)A->bj[p];

    BCRGridRowAdd(A, ix, c, place, place[3], A->column[A->bj[p]], A->ba[p], row);
  }
}

void BCRGridRowKeep(const BCRGridRow *row, PetscReal star[])
{
  double size = 0;

  for (PetscInt k = 0; k < 7; ++k) {
    star[k] = (PetscReal)row->star[k];
    size += PetscAbs(row->star[k]);
  }
  if (!(size > 0 && size <= (double)PETSC_MAX_REAL) || row->nancol >= 0 || row->outside > 0 || row->couple > 0 ||
      row->imag > 0 || row->wrap[0] > 0 || row->wrap[1] > 0 || row->wrap[2] > 0)
    star[BCR_LINES_DIAGONAL] = (PetscReal)NAN;
}

/* The same for rows as most are: finite, real, nothing but neighbours within this rank's box. v:
   low, diag, up along the axis, and the sum of the other |entries|. PETSC_FALSE: this row is not
   one of them. */
static inline PetscBool BCRGridRowPlain(const BCRDistRows *A, const PetscInt at[3], PetscInt me, PetscInt axis,
                                        double v[4])
{
  const BCRLines lines = A->lines;
  const PetscInt dim = lines->dim, st = A->stride[axis], low = at[axis] > 0 ? -st : 0,
                 up = at[axis] + 1 < lines->size[axis] ? st : 0;
  const PetscInt *aj = A->aj;
  const PetscScalar *aa = A->aa;
  double sum;

  if (A->star && !PetscIsNanReal(A->star[7 * (size_t)me + BCR_LINES_DIAGONAL])) {
    const PetscReal *star = A->star + 7 * (size_t)me;

    v[0] = (double)star[2 * axis];
    v[1] = (double)star[BCR_LINES_DIAGONAL];
    v[2] = (double)star[2 * axis + 1];
    v[3] = 0;
    for (PetscInt k = 0; k < 6; ++k) v[3] += k / 2 == axis ? 0 : (double)PetscAbsReal(star[k]);
    return PETSC_TRUE;
  }
  if (A->bi && BCRSkipZeros(A->ba, A->bi[me], A->bi[me + 1]) < A->bi[me + 1]) return PETSC_FALSE;
  v[0] = v[1] = v[2] = v[3] = 0;
  for (PetscInt p = A->ai[me]; (p = BCRSkipZeros(aa, p, A->ai[me + 1])) < A->ai[me + 1]; ++p) {
    const PetscInt by = aj[p] - me;
    const double value = (double)PetscRealPart(aa[p]);
    PetscInt d = 0;

    if (PetscImaginaryPart(aa[p]) != 0) return PETSC_FALSE;
    if (by == 0) v[1] += value;
    else if (by == low) v[0] += value;
    else if (by == up) v[2] += value;
    else {
      while (d < dim &&
             !(d != axis && ((by == A->stride[d] && at[d] + 1 < lines->size[d]) || (by == -A->stride[d] && at[d] > 0))))
        ++d;
      if (d == dim) return PETSC_FALSE;
      v[3] += PetscAbs(value);
    }
  }
  sum = PetscAbs(v[0]) + PetscAbs(v[1]) + PetscAbs(v[2]) + v[3];
  return (PetscBool)(sum > 0 && sum <= (double)PETSC_MAX_REAL);
}

PetscInt BCRDistRowsRun(const BCRDistRows *A, PetscInt first, unsigned char *known)
{
  const PetscInt count = A->lines->size[0] - 2 * A->margin;
  const PetscInt *ai = A->ai + first + A->margin, *bi = A->bi ? A->bi + first + A->margin : NULL;
  PetscInt entries, uneven = 0;

  if (PetscDefined(USE_COMPLEX) || A->lines->dof > 1 || count < 2) return 0;
  if (A->bi && BCRSkipZeros(A->ba, bi[0], bi[count]) < bi[count]) return 0;
  if (*known && (*known > BCR_LINES_ENTRIES || ai[count] - ai[0] == (PetscInt64)count * *known))
    return *known > BCR_LINES_ENTRIES ? 0 : *known;
  *known = BCR_LINES_ENTRIES + 1;
  entries = ai[1] - ai[0];
  if (entries < 1 || entries > BCR_LINES_ENTRIES) return 0;
  for (PetscInt i = 0; i < count; ++i) uneven |= (ai[i + 1] - ai[i]) ^ entries;
  if (uneven || !BCRRunColumns(A->aj + ai[0], (size_t)count * (size_t)entries, (size_t)entries, 1)) return 0;
  *known = (unsigned char)entries;
  return entries;
}

#if !defined(PETSC_USE_COMPLEX)
void BCRDistRowsRunOpen(const BCRDistRows *A, const PetscInt at[3], PetscInt first, PetscInt entries, BCRLinesRun *run)
{
  const BCRLines lines = A->lines;
  const PetscInt row = first + A->margin, *aj = A->aj + A->ai[row];

  run->entries = entries;
  run->rest = 0;
  for (PetscInt k = 0; k < 7; ++k) run->star[k] = -1;
  for (PetscInt e = 0; e < entries; ++e) {
    const PetscInt by = aj[e] - row;
    PetscInt slot = by ? -1 : BCR_LINES_DIAGONAL;

    for (PetscInt d = 0; d < lines->dim && slot < 0; ++d) {
      if (by == A->stride[d] && (!d || at[d] + 1 < lines->size[d])) slot = 2 * d + 1;
      if (by == -A->stride[d] && (!d || at[d] > 0)) slot = 2 * d;
    }
    if (slot < 0 || run->star[slot] >= 0) run->none[run->rest++] = e;
    else run->star[slot] = e;
  }
}

PetscBool BCRLinesNothing(const BCRLinesRun *r, const PetscReal *v, PetscInt n)
{
  return BCRNothingAt(v, (size_t)(n * r->entries), r->entries, r->rest, r->none);
}

#endif

/* Places in a row of a run: of the entries on the line, -1: not there, and of those across it */
typedef struct {
  PetscInt low, diag, up, across[6];
} BCRLinesPlaces;

/* low, diag and up of n rows, and the largest sum of the other |entries| over |diag|. PETSC_FALSE:
   some row is not finite or all zero. Compiled for the numbers of entries of stars: entries of a row, of which so many
   across the line */
static inline PetscBool BCRLinesTakeRun(const BCRLinesPlaces *at, PetscInt entries, PetscInt across, const PetscReal *v,
                                        PetscInt n, BCRLinesArrays to, double *dropped)
{
  const PetscInt l = at->low, d = at->diag, u = at->up;
  double most = *dropped;
  int bad = 0;

  for (PetscInt i = 0; i < n; ++i, v += entries) {
    const PetscReal a = l < 0 ? 0 : v[l], b = d < 0 ? 0 : v[d], e = u < 0 ? 0 : v[u];
    double s = 0, sum;

    for (PetscInt k = 0; k < across; ++k) s += (double)PetscAbsReal(v[at->across[k]]);
    sum = (double)PetscAbsReal(a) + (double)PetscAbsReal(b) + (double)PetscAbsReal(e) + s;
    bad |= !(sum > 0 && sum <= (double)PETSC_MAX_REAL);
    if (s > most * (double)PetscAbsReal(b)) most = b != 0 ? s / (double)PetscAbsReal(b) : (double)PETSC_MAX_REAL;
    to.low[i] = a;
    to.diag[i] = b;
    to.up[i] = e;
  }
  *dropped = most;
  return (PetscBool)!bad;
}

/* A line along x from what has been kept of its rows; PETSC_FALSE also if some row has not been */
static PetscBool BCRLinesTakeKept(const PetscReal *star, PetscInt n, PetscInt axis, BCRLinesArrays to, double *dropped)
{
  BCRLinesPlaces at = {2 * axis, BCR_LINES_DIAGONAL, 2 * axis + 1, {0}};
  PetscInt across = 0;

  for (PetscInt k = 0; k < 6; ++k)
    if (k / 2 != axis) at.across[across++] = k;
  return BCRLinesTakeRun(&at, 7, 4, star, n, to, dropped);
}

#if !defined(PETSC_USE_COMPLEX)
static PetscBool BCRLinesTake(const BCRLinesRun *r, const PetscReal *v, PetscInt n, PetscBool clean, PetscInt axis,
                              BCRLinesArrays to, double *dropped)
{
  /* copied, so that what is written to cannot be among it */
  BCRLinesPlaces at = {r->star[2 * axis], r->star[BCR_LINES_DIAGONAL], r->star[2 * axis + 1], {0}};
  PetscInt across = 0;

  for (PetscInt k = 0; k < 6; ++k) {
    if (k / 2 != axis && r->star[k] >= 0) at.across[across++] = r->star[k];
  }
  if (!r->rest && at.low >= 0 && at.diag >= 0 && at.up >= 0) {
    if (r->entries == 3 && across == 0) return BCRLinesTakeRun(&at, 3, 0, v, n, to, dropped);
    if (r->entries == 5 && across == 2) return BCRLinesTakeRun(&at, 5, 2, v, n, to, dropped);
    if (r->entries == 7 && across == 4) return BCRLinesTakeRun(&at, 7, 4, v, n, to, dropped);
  }
  return (PetscBool)((clean || BCRLinesNothing(r, v, n)) &&
                     BCRLinesTakeRun(&at, r->entries, across, v, n, to, dropped));
}
#endif

/* What makes a row unfit for lines along axis, if anything */
static PetscErrorCode BCRGridRowCheck(const BCRDistRows *A, const PetscInt at[3], const PetscInt ix[3], PetscInt c,
                                      PetscInt axis, const BCRGridRow *row, BCRFault *fault)
{
  const BCRLines lines = A->lines;
  const PetscInt me = A->first + c + at[0] * A->stride[0] + at[1] * A->stride[1] + at[2] * A->stride[2];
  double size = 0, nothing;
  char where[128];

  PetscFunctionBegin;
  for (PetscInt k = 0; k < 7; ++k) size = PetscMax(size, PetscAbs(row->star[k]));
  nothing = BCR_LINES_NOTHING * size;
  if (row->nancol < 0 && row->imag <= nothing && row->couple <= nothing && row->far[axis] <= nothing && size > 0)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSNPrintf(where, sizeof(where),
                          "row %" PetscInt_FMT " (grid point %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT "%s)",
                          me, ix[0], ix[1], ix[2], lines->dof > 1 ? " of a component" : ""));
  if (row->nancol >= 0)
    PetscCall(BCRFaultSet(fault, PETSC_ERR_FP,
                          "The preconditioning matrix holds NaN or Inf in %s, column %" PetscInt_FMT
                          ": check the coefficients it is assembled from",
                          where, row->nancol));
  else if (size == 0)
    PetscCall(BCRFaultSet(fault, PETSC_ERR_ARG_WRONG,
                          "The preconditioning matrix has nothing but zeros in %s: assemble every row, or put 1 on the "
                          "diagonal of rows that are not in use",
                          where));
  else if (row->imag > nothing)
    PetscCall(BCRFaultSet(fault, PETSC_ERR_SUP,
                          "The preconditioning matrix holds an imaginary part of %g in %s, column %" PetscInt_FMT
                          ": this solver needs real coefficients. Give a real preconditioning matrix (second matrix of "
                          "KSPSetOperators())",
                          row->imag, where, row->imagcol));
  else if (row->couple > nothing)
    PetscCall(BCRFaultSet(fault, PETSC_ERR_SUP,
                          "The preconditioning matrix couples component %" PetscInt_FMT " to component %" PetscInt_FMT
                          ": %g in %s, column %" PetscInt_FMT
                          ". Lines are solved one component at a time: give a preconditioning matrix without that "
                          "coupling, or use PCFIELDSPLIT with this solver for the blocks",
                          c, row->couplecol % lines->dof, row->couple, where, row->couplecol));
  else
    PetscCall(BCRFaultSet(fault, PETSC_ERR_SUP,
                          "The preconditioning matrix is not tridiagonal along %c: %g in %s, column %" PetscInt_FMT
                          ", is no neighbour on its line. Give a preconditioning matrix with the %d-point star%s",
                          (char)('x' + axis), row->far[axis], where, row->farcol[axis], (int)(2 * lines->dim + 1),
                          lines->dim > 1 ? ", or another axis" : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Notes what a row has off its line: the sum of |entries|, beside its diagonal */
static inline void BCRLinesDrop(BCRLinesFound *found, double sum, double diagonal)
{
  if (sum > 0)
    found->dropped = PetscMax(found->dropped, diagonal != 0 ? sum / PetscAbs(diagonal) : (double)PETSC_MAX_REAL);
}

void BCRDistRowsGetRow(const BCRDistRows *A, const PetscInt at[3], const PetscInt ix[3], PetscInt k, PetscInt c,
                       PetscInt axis, BCRLinesArrays to, BCRLinesFound *found)
{
  double out, v[4];
  BCRGridRow row;

  if (BCRGridRowPlain(A, at, k, axis, v)) {
    *to.low = (PetscReal)v[0];
    *to.diag = (PetscReal)v[1];
    *to.up = (PetscReal)v[2];
    BCRLinesDrop(found, v[3], v[1]);
    return;
  }
  BCRGridRowGet(A, at, ix, c, &row);
  if (!found->fault.code) PetscCallVoid(BCRGridRowCheck(A, at, ix, c, axis, &row, &found->fault));
  *to.low = (PetscReal)row.star[2 * axis];
  *to.diag = (PetscReal)row.star[BCR_LINES_DIAGONAL];
  *to.up = (PetscReal)row.star[2 * axis + 1];
  if (row.wrap[axis] > 0) found->wraps = PETSC_TRUE;
  out = row.outside;
  for (PetscInt d = 0; d < A->lines->dim; ++d)
    out += d == axis ? 0 : PetscAbs(row.star[2 * d]) + PetscAbs(row.star[2 * d + 1]);
  BCRLinesDrop(found, out, row.star[BCR_LINES_DIAGONAL]);
}

void BCRDistRowsGetLine(const BCRDistRows *A, PetscInt at[3], PetscInt ix[3], PetscInt axis, BCRLinesArrays rows,
                        BCRLinesFound *found)
{
  const BCRLines lines = A->lines;
  const PetscInt n = lines->size[0], dof = lines->dof, margin = A->margin,
                 first = at[1] * A->stride[1] + at[2] * A->stride[2];
  PetscInt entries = A->star ? 0 : BCRDistRowsRun(A, first, &lines->runs[at[1] + lines->size[1] * at[2]]);
  double dropped = found->dropped;

  if (A->star && BCRLinesTakeKept(A->star + 7 * (size_t)first, n * dof, axis, rows, &dropped)) {
    found->dropped = dropped;
    return;
  }
#if !defined(PETSC_USE_COMPLEX)
  if (entries) {
    BCRLinesRun run;

    BCRDistRowsRunOpen(A, at, first, entries, &run);
    if (BCRLinesTake(&run, A->aa + A->ai[first + margin], n - 2 * margin, A->clean, axis,
                     BCRLinesArraysFrom(rows, (size_t)margin), &dropped))
      found->dropped = dropped;
    else entries = 0;
  }
#endif
  for (PetscInt i = 0; i < n; i += entries && i == margin - 1 ? n - 2 * margin + 1 : 1) {
    at[0] = i;
    ix[0] = lines->start[0] + i;
    for (PetscInt c = 0; c < dof; ++c) {
      const PetscInt k = i * dof + c;

      BCRDistRowsGetRow(A, at, ix, first + k, c, axis, BCRLinesArraysFrom(rows, (size_t)k), found);
    }
  }
}
