/*
  Reads the lines of one axis out of an assembled matrix on a DMDA. Every rank looks at its own rows; what the columns of other ranks are on
  the grid follows from the sizes of the boxes.
*/
#include "linesimpl.h"

/* Rows of this rank: the columns it owns and, on several ranks, the others */
typedef struct {
  BCRLines           lines; /* layout */
  Mat                aij, own, other;
  PetscBool          converted;
  const PetscInt    *ai, *aj, *bi, *bj, *column; /* column: of the grid, for the columns of b */
  const PetscScalar *aa, *ba;
  PetscInt           first; /* global number of this rank's first row */
  PetscInt           stride[3];
  PetscInt          *place; /* x, y, z, component of each column of b */
} BCRDistRows;

/* One row, by the neighbours of its grid point: slot 2 d + s along axis d, s = 0 below, 1 above; 6 the diagonal */
#define BCR_LINES_DIAGONAL 6
typedef struct {
  double   star[7];
  double   wrap[3];                               /* what of star goes around the ends of the axis, absolute */
  double   far[3], outside, couple, imag;         /* largest: on the line of axis d but no neighbour; off all lines; other components; imaginary */
  PetscInt farcol[3], couplecol, imagcol, nancol; /* where; nancol -1: all finite */
} BCRGridRow;

static PetscErrorCode BCRDistRowsClose(BCRDistRows *A)
{
  PetscInt  n;
  PetscBool flg;

  PetscFunctionBegin;
  if (A->aa) PetscCall(MatSeqAIJRestoreArrayRead(A->own, &A->aa));
  if (A->ai) PetscCall(MatRestoreRowIJ(A->own, 0, PETSC_FALSE, PETSC_FALSE, &n, &A->ai, &A->aj, &flg));
  if (A->ba) PetscCall(MatSeqAIJRestoreArrayRead(A->other, &A->ba));
  if (A->bi) PetscCall(MatRestoreRowIJ(A->other, 0, PETSC_FALSE, PETSC_FALSE, &n, &A->bi, &A->bj, &flg));
  if (A->converted) PetscCall(MatDestroy(&A->aij));
  PetscCall(PetscFree(A->place));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the columns of other ranks are on the grid */
static PetscErrorCode BCRDistRowsPlaces(DM da, BCRDistRows *A)
{
  const PetscInt *width[3], *begin;
  PetscInt        procs[3], n, *edge[3];
  PetscMPIInt     size;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A->other, NULL, &n));
  PetscCall(DMDAGetInfo(da, NULL, NULL, NULL, NULL, &procs[0], &procs[1], &procs[2], NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetOwnershipRanges(da, &width[0], &width[1], &width[2]));
  PetscCall(MatGetOwnershipRangesColumn(A->aij, &begin));
  PetscCallMPI(MPI_Comm_size(A->lines->comm, &size));
  for (PetscInt d = 0; d < 3; ++d) {
    PetscCall(PetscMalloc1(procs[d] + 1, &edge[d]));
    edge[d][0] = 0;
    for (PetscInt p = 0; p < procs[d]; ++p) edge[d][p + 1] = edge[d][p] + (d < A->lines->dim ? width[d][p] : 1);
  }
  PetscCall(PetscMalloc1(4 * n, &A->place));
  for (PetscInt k = 0; k < n; ++k) {
    PetscInt r = 0, end = size, at, p[3];

    while (end - r > 1) { /* the rank that owns the column */
      const PetscInt m = (r + end) / 2;

      if (begin[m] <= A->column[k]) r = m;
      else end = m;
    }
    p[0]                = r % procs[0];
    p[1]                = r / procs[0] % procs[1];
    p[2]                = r / (procs[0] * procs[1]);
    at                  = A->column[k] - begin[r];
    A->place[4 * k + 3] = at % A->lines->dof;
    at /= A->lines->dof;
    for (PetscInt d = 0; d < 3; ++d) {
      const PetscInt w = edge[d][p[d] + 1] - edge[d][p[d]];

      A->place[4 * k + d] = edge[d][p[d]] + at % w;
      at /= w;
    }
  }
  for (PetscInt d = 0; d < 3; ++d) PetscCall(PetscFree(edge[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRDistRowsOpen(DM da, Mat P, BCRLines lines, BCRDistRows *A)
{
  PetscBool   flg, sequential;
  PetscInt    m, n, rows, columns, local = lines->dof, all = lines->dof;
  MatType     type;
  PetscMPIInt same, ranks[2], size, wrong, any;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(A, sizeof(*A)));
  A->lines = lines;
  PetscCallMPI(MPI_Comm_compare(PetscObjectComm((PetscObject)P), lines->comm, &same));
  PetscCallMPI(MPI_Comm_size(lines->comm, &ranks[0]));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)P), &ranks[1]));
  PetscCheck(same == MPI_IDENT || same == MPI_CONGRUENT, PetscObjectComm((PetscObject)P), PETSC_ERR_ARG_NOTSAMECOMM, "The matrix is distributed over %d ranks, the DMDA over %d%s: create the matrix with DMCreateMatrix()", (int)ranks[1], (int)ranks[0],
             ranks[0] == ranks[1] ? " in another order" : "");
  for (PetscInt d = 0; d < 3; ++d) {
    A->stride[d] = local;
    local *= lines->size[d];
    all *= lines->N[d];
  }
  PetscCall(MatGetSize(P, &rows, &columns));
  PetscCall(MatGetLocalSize(P, &m, &n));
  PetscCheck(rows == all && columns == all, lines->comm, PETSC_ERR_ARG_SIZ, "The preconditioning matrix is %" PetscInt_FMT " x %" PetscInt_FMT ", the DMDA has %" PetscInt_FMT " unknowns: it must be a matrix on the whole DMDA", rows, columns, all);
  wrong = m != local || n != local;
  PetscCallMPI(MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_MAX, lines->comm));
  PetscCheck(!any, lines->comm, PETSC_ERR_ARG_SIZ, "The rows of the preconditioning matrix are not distributed as the DMDA is: create the matrix with DMCreateMatrix(), or give it the local sizes of DMCreateGlobalVector()");
  PetscCall(MatAssembled(P, &flg));
  PetscCheck(flg, lines->comm, PETSC_ERR_ARG_WRONGSTATE, "The preconditioning matrix is not assembled: call MatAssemblyBegin() and MatAssemblyEnd()");
  PetscCall(MatGetType(P, &type));
  PetscCallMPI(MPI_Comm_size(lines->comm, &size));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)P, &flg, MATSEQAIJ, MATMPIAIJ, ""));
  A->aij = P;
  if (!flg) {
    PetscBool sbaij, bare;

    PetscCall(PetscObjectTypeCompareAny((PetscObject)P, &bare, MATSHELL, MATMFFD, MATSCATTER, MATPYTHON, ""));
    PetscCall(PetscObjectTypeCompareAny((PetscObject)P, &sbaij, MATSEQSBAIJ, MATMPISBAIJ, MATIS, MATNEST, ""));
    PetscCall(MatHasOperation(P, MATOP_GET_ROW, &flg));
    PetscCheck(!bare && (flg || sbaij), lines->comm, PETSC_ERR_SUP,
               "A matrix of type %s has no rows to read lines from: give an assembled preconditioning matrix (second matrix of KSPSetOperators()), or solve with PetscBCRLinesCreate() and PetscBCRLinesSolve()", type);
    PetscCall(MatConvert(P, size == 1 ? MATSEQAIJ : MATMPIAIJ, MAT_INITIAL_MATRIX, &A->aij));
    A->converted = PETSC_TRUE;
  }
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A->aij, MATSEQAIJ, &sequential));
  if (sequential) A->own = A->aij;
  else PetscCall(MatMPIAIJGetSeqAIJ(A->aij, &A->own, &A->other, &A->column));
  PetscCall(MatGetOwnershipRange(A->aij, &A->first, NULL));
  PetscCall(MatGetRowIJ(A->own, 0, PETSC_FALSE, PETSC_FALSE, &n, &A->ai, &A->aj, &flg));
  PetscCheck(flg, PETSC_COMM_SELF, PETSC_ERR_SUP, "A matrix of type %s gives no access to its rows", type);
  PetscCall(MatSeqAIJGetArrayRead(A->own, &A->aa));
  if (A->other && size > 1) {
    PetscCall(MatGetRowIJ(A->other, 0, PETSC_FALSE, PETSC_FALSE, &n, &A->bi, &A->bj, &flg));
    PetscCheck(flg, PETSC_COMM_SELF, PETSC_ERR_SUP, "A matrix of type %s gives no access to its rows", type);
    PetscCall(MatSeqAIJGetArrayRead(A->other, &A->ba));
    PetscCall(BCRDistRowsPlaces(da, A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An entry in the column of component cc at grid point to, of the row of component c at ix */
static void BCRGridRowAdd(const BCRDistRows *A, const PetscInt ix[3], PetscInt c, const PetscInt to[3], PetscInt cc, PetscInt column, PetscScalar value, BCRGridRow *row)
{
  const double v = (double)PetscRealPart(value), size = PetscAbs(v);
  PetscInt     differ = 0, axis = 0, by, s;

#if defined(PETSC_USE_COMPLEX)
  if (PetscAbs((double)PetscImaginaryPart(value)) > row->imag) {
    row->imag    = PetscAbs((double)PetscImaginaryPart(value));
    row->imagcol = column;
  }
#endif
  if (PetscIsInfOrNanScalar(value)) row->nancol = column;
  if (cc != c) {
    if (size > row->couple) {
      row->couple    = size;
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
    s  = by > 0;
    if (by == 1 || by == -1) row->star[2 * axis + s] += v;
    else if (by == N - 1 || by == 1 - N) {
      row->star[2 * axis + !s] += v;
      row->wrap[axis] += size;
    } else {
      if (size > row->far[axis]) {
        row->far[axis]    = size;
        row->farcol[axis] = column;
      }
      row->outside += size;
    }
  }
}

/* The row of component c at point at of this rank's box; ix is that point on the grid */
static void BCRGridRowGet(const BCRDistRows *A, const PetscInt at[3], const PetscInt ix[3], PetscInt c, BCRGridRow *row)
{
  const BCRLines lines = A->lines;
  const PetscInt me    = c + at[0] * A->stride[0] + at[1] * A->stride[1] + at[2] * A->stride[2];

  PetscCallVoid(PetscMemzero(row, sizeof(*row)));
  row->nancol = -1;
  for (PetscInt p = A->ai[me]; p < A->ai[me + 1]; ++p) {
    const PetscInt    column = A->aj[p], by = column - me;
    const PetscScalar v    = A->aa[p];
    PetscInt          slot = -1;

    if (by == 0) slot = BCR_LINES_DIAGONAL;
    else {
      for (PetscInt d = 0; d < lines->dim; ++d) {
        if (by == A->stride[d] && at[d] + 1 < lines->size[d]) slot = 2 * d + 1;
        else if (by == -A->stride[d] && at[d] > 0) slot = 2 * d;
      }
    }
    if (slot >= 0 && PetscImaginaryPart(v) == 0 && PetscAbsReal(PetscRealPart(v)) <= PETSC_MAX_REAL) row->star[slot] += (double)PetscRealPart(v);
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
  for (PetscInt p = A->bi[me]; p < A->bi[me + 1]; ++p) {
    const PetscInt *place = A->place + 4 * A->bj[p];

    BCRGridRowAdd(A, ix, c, place, place[3], A->column[A->bj[p]], A->ba[p], row);
  }
}

/* The same for rows as most are: finite, real, nothing but neighbours within this rank's box. v: low, diag, up along the axis, and the sum of the
   other |entries|. PETSC_FALSE: this row is not one of them. */
static inline PetscBool BCRGridRowPlain(const BCRDistRows *A, const PetscInt at[3], PetscInt me, PetscInt axis, double v[4])
{
  const BCRLines     lines = A->lines;
  const PetscInt     dim = lines->dim, st = A->stride[axis], low = at[axis] > 0 ? -st : 0, up = at[axis] + 1 < lines->size[axis] ? st : 0;
  const PetscInt    *aj = A->aj;
  const PetscScalar *aa = A->aa;
  double             sum;

  if (A->bi && A->bi[me + 1] > A->bi[me]) return PETSC_FALSE;
  v[0] = v[1] = v[2] = v[3] = 0;
  for (PetscInt p = A->ai[me]; p < A->ai[me + 1]; ++p) {
    const PetscInt by    = aj[p] - me;
    const double   value = (double)PetscRealPart(aa[p]);
    PetscInt       d     = 0;

    if (PetscImaginaryPart(aa[p]) != 0) return PETSC_FALSE;
    if (by == 0) v[1] += value;
    else if (by == low) v[0] += value;
    else if (by == up) v[2] += value;
    else if (value != 0) {
      while (d < dim && !(d != axis && ((by == A->stride[d] && at[d] + 1 < lines->size[d]) || (by == -A->stride[d] && at[d] > 0)))) ++d;
      if (d == dim) return PETSC_FALSE;
      v[3] += PetscAbs(value);
    }
  }
  sum = PetscAbs(v[0]) + PetscAbs(v[1]) + PetscAbs(v[2]) + v[3];
  return (PetscBool)(sum > 0 && sum <= (double)PETSC_MAX_REAL);
}

/* What makes a row unfit: the error code, and the message with its row and column */
static PetscErrorCode BCRGridRowCheck(const BCRDistRows *A, const PetscInt at[3], const PetscInt ix[3], PetscInt c, PetscInt axis, const BCRGridRow *row, size_t length, char message[])
{
  const BCRLines lines = A->lines;
  const PetscInt me    = A->first + c + at[0] * A->stride[0] + at[1] * A->stride[1] + at[2] * A->stride[2];
  double         size  = 0;
  char           where[128];

  for (PetscInt k = 0; k < 7; ++k) size = PetscMax(size, PetscAbs(row->star[k]));
  if (row->nancol < 0 && row->imag <= BCR_LINES_NOTHING * size && row->couple <= BCR_LINES_NOTHING * size && row->far[axis] <= BCR_LINES_NOTHING * size && size > 0) return PETSC_SUCCESS;
  (void)PetscSNPrintf(where, sizeof(where), "row %" PetscInt_FMT " (grid point %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT "%s)", me, ix[0], ix[1], ix[2], lines->dof > 1 ? " of a component" : "");
  if (row->nancol >= 0) {
    (void)PetscSNPrintf(message, length, "The preconditioning matrix holds NaN or Inf in %s, column %" PetscInt_FMT ": check the coefficients it is assembled from", where, row->nancol);
    return PETSC_ERR_FP;
  }
  if (size == 0) {
    (void)PetscSNPrintf(message, length, "The preconditioning matrix has nothing but zeros in %s: assemble every row, or put 1 on the diagonal of rows that are not in use", where);
    return PETSC_ERR_ARG_WRONG;
  }
  if (row->imag > BCR_LINES_NOTHING * size) {
    (void)PetscSNPrintf(message, length, "The preconditioning matrix holds an imaginary part of %g in %s, column %" PetscInt_FMT ": this solver needs real coefficients. Give a real preconditioning matrix (second matrix of KSPSetOperators())",
                        row->imag, where, row->imagcol);
    return PETSC_ERR_SUP;
  }
  if (row->couple > BCR_LINES_NOTHING * size) {
    (void)PetscSNPrintf(message, length,
                        "The preconditioning matrix couples component %" PetscInt_FMT " to component %" PetscInt_FMT ": %g in %s, column %" PetscInt_FMT
                        ". Lines are solved one component at a time: give a preconditioning matrix without that coupling, or use PCFIELDSPLIT with this solver for the blocks",
                        c, row->couplecol % lines->dof, row->couple, where, row->couplecol);
    return PETSC_ERR_SUP;
  }
  (void)PetscSNPrintf(message, length, "The preconditioning matrix is not tridiagonal along %c: %g in %s, column %" PetscInt_FMT ", is no neighbour on its line. Give a preconditioning matrix with the %d-point star%s", (char)('x' + axis),
                      row->far[axis], where, row->farcol[axis], (int)(2 * lines->dim + 1), lines->dim > 1 ? ", or another axis" : "");
  return PETSC_ERR_SUP;
}

#define BCRForBox(lines, at, ix) \
  for (at[2] = 0, ix[2] = (lines)->start[2]; at[2] < (lines)->size[2]; ++at[2], ++ix[2]) \
    for (at[1] = 0, ix[1] = (lines)->start[1]; at[1] < (lines)->size[1]; ++at[1], ++ix[1]) \
      for (at[0] = 0, ix[0] = (lines)->start[0]; at[0] < (lines)->size[0]; ++at[0], ++ix[0])

/* The axis with the largest sum of couplings. An axis of one grid point has none. */
static PetscErrorCode BCRDistRowsAxis(const BCRDistRows *A, PetscInt *axis, PetscReal strength[3])
{
  const BCRLines lines  = A->lines;
  double         sum[4] = {0, 0, 0, 0}, all[4];
  PetscInt       at[3], ix[3], best = 0;
  BCRGridRow     row;

  PetscFunctionBegin;
  BCRForBox(lines, at, ix)
  {
    for (PetscInt c = 0; c < lines->dof; ++c) {
      BCRGridRowGet(A, at, ix, c, &row);
      for (PetscInt d = 0; d < lines->dim; ++d) sum[d] += PetscAbs(row.star[2 * d]) + PetscAbs(row.star[2 * d + 1]);
      sum[3] += 2 * PetscAbs(row.star[BCR_LINES_DIAGONAL]);
    }
  }
  PetscCallMPI(MPI_Allreduce(sum, all, 4, MPI_DOUBLE, MPI_SUM, lines->comm));
  for (PetscInt d = 0; d < 3; ++d) strength[d] = all[3] > 0 ? (PetscReal)(all[d] / all[3]) : 0;
  for (PetscInt d = 1; d < lines->dim; ++d) {
    if (all[d] > (1 + 1e-3) * all[best]) best = d; /* a tie goes to the earlier axis, whose lines lie closer in memory */
  }
  *axis = best;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fills spec from the rows along lines->axis. What is wrong is in code and message, on the ranks that see it. */
static PetscErrorCode BCRDistRowsRead(const BCRDistRows *A, PetscErrorCode *code, size_t length, char message[])
{
  BCRLines       lines = A->lines;
  BCRTriSpec    *s     = &lines->spec;
  const PetscInt axis = lines->axis, N = lines->N[axis];
  const size_t   total = (size_t)lines->nlines * (size_t)s->n;
  PetscInt       at[3], ix[3];
  double         dropped = 0, alldropped;
  PetscMPIInt    wraps   = 0, any;
  PetscReal     *low, *diag, *up;
  BCRGridRow     row;
  size_t         k = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(total, &low));
  PetscCall(PetscMalloc1(total, &diag));
  PetscCall(PetscMalloc1(total, &up));
  BCRForBox(lines, at, ix)
  {
    for (PetscInt c = 0; c < lines->dof; ++c, ++k) { /* the order of the vector's array */
      double out, v[4];

      if (BCRGridRowPlain(A, at, (PetscInt)k, axis, v)) {
        low[k]  = (PetscReal)v[0];
        diag[k] = (PetscReal)v[1];
        up[k]   = (PetscReal)v[2];
        if (v[3] > 0) dropped = PetscMax(dropped, v[1] != 0 ? v[3] / PetscAbs(v[1]) : (double)PETSC_MAX_REAL);
        continue;
      }
      BCRGridRowGet(A, at, ix, c, &row);
      if (!*code) *code = BCRGridRowCheck(A, at, ix, c, axis, &row, length, message);
      low[k]  = (PetscReal)row.star[2 * axis];
      diag[k] = (PetscReal)row.star[BCR_LINES_DIAGONAL];
      up[k]   = (PetscReal)row.star[2 * axis + 1];
      if (row.wrap[axis] > 0) wraps = 1;
      out = row.outside;
      for (PetscInt d = 0; d < lines->dim; ++d) out += d == axis ? 0 : PetscAbs(row.star[2 * d]) + PetscAbs(row.star[2 * d + 1]);
      if (out > 0) dropped = PetscMax(dropped, row.star[BCR_LINES_DIAGONAL] != 0 ? out / PetscAbs(row.star[BCR_LINES_DIAGONAL]) : PETSC_MAX_REAL);
    }
  }
  PetscCallMPI(MPI_Allreduce(&wraps, &any, 1, MPI_INT, MPI_MAX, lines->comm));
  PetscCallMPI(MPI_Allreduce(&dropped, &alldropped, 1, MPI_DOUBLE, MPI_MAX, lines->comm));
  s->periodic    = (PetscBool)(any && N > 2);
  lines->dropped = (PetscReal)alldropped;
  PetscCall(BCRErrorAgree(lines->comm, *code, message));
  PetscCall(BCRLinesRecognise(lines, low, diag, up));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRLinesRead(DM da, Mat P, PetscInt axis, BCRLines *out)
{
  BCRLines       lines, old = *out;
  BCRDistRows    A;
  PetscErrorCode code = PETSC_SUCCESS, ierr;
  PetscReal      strength[3];
  char           message[BCR_MESSAGE_LENGTH] = "";
  PetscInt       dim;
  PetscBool      chosen = (PetscBool)(axis == BCR_LINES_ANY_AXIS);

  PetscFunctionBegin;
  *out = NULL;
  if (chosen) axis = 0;
  ierr = BCRLinesLayout(da, axis, &lines);
  if (ierr) PetscCall(BCRLinesDestroy(&old));
  PetscCall(ierr);
  dim  = lines->dim;
  ierr = BCRDistRowsOpen(da, P, lines, &A);
  if (!ierr && chosen && dim > 1) {
    ierr = BCRDistRowsAxis(&A, &axis, strength);
    if (!ierr) {
      PetscCall(BCRLinesDestroy(&lines));
      PetscCall(BCRLinesLayout(da, axis, &lines));
      A.lines = lines;
      for (PetscInt d = 0; d < 3; ++d) lines->strength[d] = strength[d];
    }
  }
  lines->chosen = chosen;
  if (!ierr) ierr = BCRLinesConnect(lines, old);
  if (!ierr) ierr = BCRDistRowsRead(&A, &code, sizeof(message), message);
  PetscCall(BCRDistRowsClose(&A));
  PetscCall(BCRLinesDestroy(&old));
  if (ierr) PetscCall(BCRLinesDestroy(&lines));
  PetscCall(ierr);
  *out = lines;
  PetscFunctionReturn(PETSC_SUCCESS);
}
