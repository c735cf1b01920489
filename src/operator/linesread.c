/*
  Reads the lines of one axis out of an assembled matrix on a DMDA. Every rank looks at its own
  rows; what the columns of other ranks are on the grid follows from the sizes of the boxes.
*/
#include "linesimpl.h"
#include "run_kernels.h"

/* Rows of this rank: the columns it owns and, on several ranks, the others */
typedef struct {
  BCRLines lines; /* layout */
  Mat aij, own, other;
  PetscBool converted;
  const PetscInt *ai, *aj, *bi, *bj, *column; /* column: of the grid, for the columns of b */
  const PetscScalar *aa, *ba;
  PetscInt first; /* global number of this rank's first row */
  PetscInt stride[3];
  PetscInt *place; /* x, y, z, component of each column of b */
} BCRDistRows;

/* One row, by the neighbours of its grid point: slot 2 d + s along axis d, s = 0 below, 1 above; 6 the diagonal */
#define BCR_LINES_DIAGONAL 6
typedef struct {
  double star[7];
  double wrap[3]; /* what of star goes around the ends of the axis, absolute */
  /* largest: on the line of axis d but no neighbour; off all lines; other components; imaginary */
  double far[3], outside, couple, imag;
  PetscInt farcol[3], couplecol, imagcol, nancol; /* where; nancol -1: all finite */
} BCRGridRow;

static PetscErrorCode BCRDistRowsClose(BCRDistRows *A)
{
  PetscInt n;
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
  PetscInt procs[3], n, *edge[3] = {NULL, NULL, NULL};
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A->other, NULL, &n));
  PetscCall(
    DMDAGetInfo(da, NULL, NULL, NULL, NULL, &procs[0], &procs[1], &procs[2], NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetOwnershipRanges(da, &width[0], &width[1], &width[2]));
  PetscCall(MatGetOwnershipRangesColumn(A->aij, &begin));
  PetscCallMPI(MPI_Comm_size(A->lines->comm, &size));
  PetscCall(PetscMalloc1(4 * (size_t)n, &A->place));
  PetscCall(PetscMalloc3(procs[0] + 1, &edge[0], procs[1] + 1, &edge[1], procs[2] + 1, &edge[2]));
  for (PetscInt d = 0; d < 3; ++d) {
    edge[d][0] = 0;
    for (PetscInt p = 0; p < procs[d]; ++p) edge[d][p + 1] = edge[d][p] + (d < A->lines->dim ? width[d][p] : 1);
  }
  for (PetscInt k = 0; k < n; ++k) {
    PetscInt r = 0, end = size, at, p[3];

    while (end - r > 1) { /* the rank that owns the column */
      const PetscInt m = (r + end) / 2;

      if (begin[m] <= A->column[k]) r = m;
      else end = m;
    }
    p[0] = r % procs[0];
    p[1] = r / procs[0] % procs[1];
    p[2] = r / (procs[0] * procs[1]);
    at = A->column[k] - begin[r];
    A->place[4 * (size_t)k + 3] = at % A->lines->dof;
    at /= A->lines->dof;
    for (PetscInt d = 0; d < 3; ++d) {
      const PetscInt w = edge[d][p[d] + 1] - edge[d][p[d]];

      A->place[4 * (size_t)k + (size_t)d] = edge[d][p[d]] + at % w;
      at /= w;
    }
  }
  PetscCall(PetscFree3(edge[0], edge[1], edge[2]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRDistRowsOpen(DM da, Mat P, BCRLines lines, BCRDistRows *A)
{
  PetscBool flg, sequential;
  PetscInt m, n, rows, columns, local = lines->dof, all = lines->dof;
  MatType type;
  PetscMPIInt same, ranks[2], size, wrong, any;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(A, sizeof(*A)));
  A->lines = lines;
  PetscCallMPI(MPI_Comm_compare(PetscObjectComm((PetscObject)P), lines->comm, &same));
  PetscCallMPI(MPI_Comm_size(lines->comm, &ranks[0]));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)P), &ranks[1]));
  PetscCheck(same == MPI_IDENT || same == MPI_CONGRUENT, PetscObjectComm((PetscObject)P), PETSC_ERR_ARG_NOTSAMECOMM,
             "The matrix is distributed over %d ranks, the DMDA over %d%s: create the matrix with DMCreateMatrix()",
             (int)ranks[1], (int)ranks[0], ranks[0] == ranks[1] ? " in another order" : "");
  for (PetscInt d = 0; d < 3; ++d) {
    A->stride[d] = local;
    local *= lines->size[d];
    all *= lines->N[d];
  }
  PetscCall(MatGetSize(P, &rows, &columns));
  PetscCall(MatGetLocalSize(P, &m, &n));
  PetscCheck(rows == all && columns == all, lines->comm, PETSC_ERR_ARG_SIZ,
             "The preconditioning matrix is %" PetscInt_FMT " x %" PetscInt_FMT ", the DMDA has %" PetscInt_FMT
             " unknowns: it must be a matrix on the whole DMDA",
             rows, columns, all);
  wrong = m != local || n != local;
  PetscCallMPI(MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_MAX, lines->comm));
  PetscCheck(!any, lines->comm, PETSC_ERR_ARG_SIZ,
             "The rows of the preconditioning matrix are not distributed as the DMDA is: create the matrix with "
             "DMCreateMatrix(), or give it the local sizes of DMCreateGlobalVector()");
  PetscCall(MatAssembled(P, &flg));
  PetscCheck(flg, lines->comm, PETSC_ERR_ARG_WRONGSTATE,
             "The preconditioning matrix is not assembled: call MatAssemblyBegin() and MatAssemblyEnd()");
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
               "A matrix of type %s has no rows to read lines from: give an assembled preconditioning matrix (second "
               "matrix of KSPSetOperators()), or solve with PetscBCRLinesCreate() and PetscBCRLinesSolve()",
               type);
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

/* The row of component c at point at of this rank's box; ix is that point on the grid */
static void BCRGridRowGet(const BCRDistRows *A, const PetscInt at[3], const PetscInt ix[3], PetscInt c, BCRGridRow *row)
{
  const BCRLines lines = A->lines;
  const PetscInt me = c + at[0] * A->stride[0] + at[1] * A->stride[1] + at[2] * A->stride[2];

  PetscCallVoid(PetscMemzero(row, sizeof(*row)));
  row->nancol = -1;
  for (PetscInt p = A->ai[me]; p < A->ai[me + 1]; ++p) {
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
  for (PetscInt p = A->bi[me]; p < A->bi[me + 1]; ++p) {
    const PetscInt *place = A->place + 4 * (size_t)A->bj[p];

    BCRGridRowAdd(A, ix, c, place, place[3], A->column[A->bj[p]], A->ba[p], row);
  }
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

  if (A->bi && A->bi[me + 1] > A->bi[me]) return PETSC_FALSE;
  v[0] = v[1] = v[2] = v[3] = 0;
  for (PetscInt p = A->ai[me]; p < A->ai[me + 1]; ++p) {
    const PetscInt by = aj[p] - me;
    const double value = (double)PetscRealPart(aa[p]);
    PetscInt d = 0;

    if (PetscImaginaryPart(aa[p]) != 0) return PETSC_FALSE;
    if (by == 0) v[1] += value;
    else if (by == low) v[0] += value;
    else if (by == up) v[2] += value;
    else if (value != 0) {
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

#define BCR_LINES_ENTRIES 27 /* of a row in a run, at most */

/* Rows of one pattern, in the order of the matrix: what the entries of each are */
typedef struct {
  PetscInt entries, star[7]; /* places in a row of what BCRGridRow.star has, -1: not there */
  PetscInt rest, none[BCR_LINES_ENTRIES];
} BCRLinesRun;

/* The points but the first and the last of a line along x of this rank's box, of which at is the
   first: rows of the same pattern, without columns of other ranks. Returns how many entries each
   has, 0: they are not such rows. *known keeps the answer for as long as the pattern of the matrix
   is the same. */
static PetscInt BCRDistRowsRun(const BCRDistRows *A, PetscInt first, unsigned char *known)
{
  const PetscInt n = A->lines->size[0], count = n - 2;
  const PetscInt *ai = A->ai + first + 1;
  PetscInt entries, uneven = 0;

  if (*known && (*known > BCR_LINES_ENTRIES || ai[count] - ai[0] == (PetscInt64)count * *known))
    return *known > BCR_LINES_ENTRIES ? 0 : *known;
  *known = BCR_LINES_ENTRIES + 1;
  if (PetscDefined(USE_COMPLEX) || A->lines->dof > 1 || count < 2) return 0;
  entries = ai[1] - ai[0];
  if (entries < 1 || entries > BCR_LINES_ENTRIES || (A->bi && A->bi[first + n - 1] != A->bi[first + 1])) return 0;
  for (PetscInt i = 0; i < count; ++i) uneven |= (ai[i + 1] - ai[i]) ^ entries;
  if (uneven || !BCRRunColumns(A->aj + ai[0], (size_t)count * (size_t)entries, (size_t)entries, 1)) return 0;
  *known = (unsigned char)entries;
  return entries;
}

#if !defined(PETSC_USE_COMPLEX)
/* What the entries of the rows of a run are; its second point, at[0] = 1, has neighbours on either side */
static void BCRDistRowsRunOpen(const BCRDistRows *A, const PetscInt at[3], PetscInt first, PetscInt entries,
                               BCRLinesRun *run)
{
  const BCRLines lines = A->lines;
  const PetscInt *aj = A->aj + A->ai[first + 1];

  run->entries = entries;
  run->rest = 0;
  for (PetscInt k = 0; k < 7; ++k) run->star[k] = -1;
  for (PetscInt e = 0; e < entries; ++e) {
    const PetscInt by = aj[e] - (first + 1);
    PetscInt slot = by ? -1 : BCR_LINES_DIAGONAL;

    for (PetscInt d = 0; d < lines->dim && slot < 0; ++d) {
      if (by == A->stride[d] && (!d || at[d] + 1 < lines->size[d])) slot = 2 * d + 1;
      if (by == -A->stride[d] && (!d || at[d] > 0)) slot = 2 * d;
    }
    if (slot < 0 || run->star[slot] >= 0) run->none[run->rest++] = e;
    else run->star[slot] = e;
  }
}

/* low, diag and up of n rows, and the largest sum of the other |entries| over |diag|. PETSC_FALSE:
   some row is not finite, all zero or has something where nothing should be. Compiled for the
   numbers of entries of stars. */
static inline PetscBool BCRLinesTakeRun(const PetscReal *v, PetscInt n, PetscInt entries, PetscInt l, PetscInt d,
                                        PetscInt u, PetscInt across, const PetscInt c[], PetscInt rest,
                                        const PetscInt none[], PetscReal *low, PetscReal *diag, PetscReal *up,
                                        double *dropped)
{
  double most = *dropped;
  int bad = 0;

  for (PetscInt i = 0; i < n; ++i, v += entries) {
    const PetscReal a = l < 0 ? 0 : v[l], b = d < 0 ? 0 : v[d], e = u < 0 ? 0 : v[u];
    double s = 0, sum;

    for (PetscInt k = 0; k < across; ++k) s += (double)PetscAbsReal(v[c[k]]);
    for (PetscInt k = 0; k < rest; ++k) bad |= v[none[k]] != 0;
    sum = (double)PetscAbsReal(a) + (double)PetscAbsReal(b) + (double)PetscAbsReal(e) + s;
    bad |= !(sum > 0 && sum <= (double)PETSC_MAX_REAL);
    if (s > most * (double)PetscAbsReal(b)) most = b != 0 ? s / (double)PetscAbsReal(b) : (double)PETSC_MAX_REAL;
    low[i] = a;
    diag[i] = b;
    up[i] = e;
  }
  *dropped = most;
  return (PetscBool)!bad;
}

static PetscBool BCRLinesTake(const BCRLinesRun *r, const PetscReal *v, PetscInt n, PetscInt axis, PetscReal *low,
                              PetscReal *diag, PetscReal *up, double *dropped)
{
  const PetscInt l = r->star[2 * axis], d = r->star[BCR_LINES_DIAGONAL], u = r->star[2 * axis + 1];
  PetscInt c[6], across = 0;

  for (PetscInt k = 0; k < 6; ++k) {
    if (k / 2 != axis && r->star[k] >= 0) c[across++] = r->star[k];
  }
  if (!r->rest && l >= 0 && d >= 0 && u >= 0) {
    if (r->entries == 3 && across == 0) return BCRLinesTakeRun(v, n, 3, l, d, u, 0, c, 0, NULL, low, diag, up, dropped);
    if (r->entries == 5 && across == 2) return BCRLinesTakeRun(v, n, 5, l, d, u, 2, c, 0, NULL, low, diag, up, dropped);
    if (r->entries == 7 && across == 4) return BCRLinesTakeRun(v, n, 7, l, d, u, 4, c, 0, NULL, low, diag, up, dropped);
  }
  return BCRLinesTakeRun(v, n, r->entries, l, d, u, across, c, r->rest, r->none, low, diag, up, dropped);
}
#endif

/* What makes a row unfit: the error code, and the message with its row and column */
static PetscErrorCode BCRGridRowCheck(const BCRDistRows *A, const PetscInt at[3], const PetscInt ix[3], PetscInt c,
                                      PetscInt axis, const BCRGridRow *row, size_t length, char message[])
{
  const BCRLines lines = A->lines;
  const PetscInt me = A->first + c + at[0] * A->stride[0] + at[1] * A->stride[1] + at[2] * A->stride[2];
  double size = 0;
  char where[128];

  for (PetscInt k = 0; k < 7; ++k) size = PetscMax(size, PetscAbs(row->star[k]));
  if (row->nancol < 0 && row->imag <= BCR_LINES_NOTHING * size && row->couple <= BCR_LINES_NOTHING * size &&
      row->far[axis] <= BCR_LINES_NOTHING * size && size > 0)
    return PETSC_SUCCESS;
  (void)PetscSNPrintf(where, sizeof(where),
                      "row %" PetscInt_FMT " (grid point %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT "%s)", me,
                      ix[0], ix[1], ix[2], lines->dof > 1 ? " of a component" : "");
  if (row->nancol >= 0) {
    (void)PetscSNPrintf(message, length,
                        "The preconditioning matrix holds NaN or Inf in %s, column %" PetscInt_FMT
                        ": check the coefficients it is assembled from",
                        where, row->nancol);
    return PETSC_ERR_FP;
  }
  if (size == 0) {
    (void)PetscSNPrintf(message, length,
                        "The preconditioning matrix has nothing but zeros in %s: assemble every row, or put 1 on the "
                        "diagonal of rows that are not in use",
                        where);
    return PETSC_ERR_ARG_WRONG;
  }
  if (row->imag > BCR_LINES_NOTHING * size) {
    (void)PetscSNPrintf(
      message, length,
      "The preconditioning matrix holds an imaginary part of %g in %s, column %" PetscInt_FMT
      ": this solver needs real coefficients. Give a real preconditioning matrix (second matrix of KSPSetOperators())",
      row->imag, where, row->imagcol);
    return PETSC_ERR_SUP;
  }
  if (row->couple > BCR_LINES_NOTHING * size) {
    (void)PetscSNPrintf(message, length,
                        "The preconditioning matrix couples component %" PetscInt_FMT " to component %" PetscInt_FMT
                        ": %g in %s, column %" PetscInt_FMT
                        ". Lines are solved one component at a time: give a preconditioning matrix without that "
                        "coupling, or use PCFIELDSPLIT with this solver for the blocks",
                        c, row->couplecol % lines->dof, row->couple, where, row->couplecol);
    return PETSC_ERR_SUP;
  }
  (void)PetscSNPrintf(message, length,
                      "The preconditioning matrix is not tridiagonal along %c: %g in %s, column %" PetscInt_FMT
                      ", is no neighbour on its line. Give a preconditioning matrix with the %d-point star%s",
                      (char)('x' + axis), row->far[axis], where, row->farcol[axis], (int)(2 * lines->dim + 1),
                      lines->dim > 1 ? ", or another axis" : "");
  return PETSC_ERR_SUP;
}

/* What a read finds apart from the rows. What is wrong is in code and message, on the ranks that see it. */
typedef struct {
  double dropped;
  PetscBool wraps; /* there are couplings around the ends of the axis */
  PetscErrorCode code;
  char message[BCR_MESSAGE_LENGTH];
} BCRLinesFound;

/* The row of component c at point at of the box, which is unknown k */
static void BCRDistRowsGetRow(const BCRDistRows *A, const PetscInt at[3], const PetscInt ix[3], PetscInt k, PetscInt c,
                              PetscInt axis, PetscReal *low, PetscReal *diag, PetscReal *up, BCRLinesFound *found)
{
  double out, v[4];
  BCRGridRow row;

  if (BCRGridRowPlain(A, at, k, axis, v)) {
    *low = (PetscReal)v[0];
    *diag = (PetscReal)v[1];
    *up = (PetscReal)v[2];
    if (v[3] > 0) found->dropped = PetscMax(found->dropped, v[1] != 0 ? v[3] / PetscAbs(v[1]) : (double)PETSC_MAX_REAL);
    return;
  }
  BCRGridRowGet(A, at, ix, c, &row);
  if (!found->code) found->code = BCRGridRowCheck(A, at, ix, c, axis, &row, sizeof(found->message), found->message);
  *low = (PetscReal)row.star[2 * axis];
  *diag = (PetscReal)row.star[BCR_LINES_DIAGONAL];
  *up = (PetscReal)row.star[2 * axis + 1];
  if (row.wrap[axis] > 0) found->wraps = PETSC_TRUE;
  out = row.outside;
  for (PetscInt d = 0; d < A->lines->dim; ++d)
    out += d == axis ? 0 : PetscAbs(row.star[2 * d]) + PetscAbs(row.star[2 * d + 1]);
  if (out > 0)
    found->dropped =
      PetscMax(found->dropped, row.star[BCR_LINES_DIAGONAL] != 0 ? out / PetscAbs(row.star[BCR_LINES_DIAGONAL])
                                                                 : (double)PETSC_MAX_REAL);
}

#define BCRForBoxLines(lines, at, ix) \
  for (at[2] = 0, ix[2] = (lines)->start[2]; at[2] < (lines)->size[2]; ++at[2], ++ix[2]) \
    for (at[1] = 0, ix[1] = (lines)->start[1]; at[1] < (lines)->size[1]; ++at[1], ++ix[1])

/* The rows of the line along x of the box through at[1], at[2], in the order of the vector's array */
static void BCRDistRowsGetLine(const BCRDistRows *A, PetscInt at[3], PetscInt ix[3], PetscInt axis, PetscReal *low,
                               PetscReal *diag, PetscReal *up, BCRLinesFound *found)
{
  const BCRLines lines = A->lines;
  const PetscInt n = lines->size[0], dof = lines->dof, first = at[1] * A->stride[1] + at[2] * A->stride[2];
  PetscInt entries = BCRDistRowsRun(A, first, &lines->runs[at[1] + lines->size[1] * at[2]]);

#if !defined(PETSC_USE_COMPLEX)
  if (entries) {
    BCRLinesRun run;
    double dropped = found->dropped;

    BCRDistRowsRunOpen(A, at, first, entries, &run);
    if (BCRLinesTake(&run, A->aa + A->ai[first + 1], n - 2, axis, low + 1, diag + 1, up + 1, &dropped))
      found->dropped = dropped;
    else entries = 0;
  }
#endif
  for (PetscInt i = 0; i < n; i += entries ? n - 1 : 1) {
    at[0] = i;
    ix[0] = lines->start[0] + i;
    for (PetscInt c = 0; c < dof; ++c)
      BCRDistRowsGetRow(A, at, ix, first + i * dof + c, c, axis, low + i * dof + c, diag + i * dof + c,
                        up + i * dof + c, found);
  }
}

#if !defined(PETSC_USE_COMPLEX)
/* sum[e] += |entry e| of n rows */
static inline void BCRLinesSumRun(const PetscReal *v, PetscInt n, PetscInt entries, double sum[])
{
  for (PetscInt i = 0; i < n; ++i, v += entries) {
    for (PetscInt e = 0; e < entries; ++e) sum[e] += (double)PetscAbsReal(v[e]);
  }
}
#endif

/* The axis with the largest sum of couplings. An axis of one grid point has none. */
static PetscErrorCode BCRDistRowsAxis(const BCRDistRows *A, PetscInt *axis, PetscReal strength[3])
{
  const BCRLines lines = A->lines;
  double sum[4] = {0, 0, 0, 0}, all[4];
  PetscInt at[3], ix[3], best = 0;
  BCRGridRow row;

  PetscFunctionBegin;
  BCRForBoxLines(lines, at, ix)
  {
    const PetscInt first = at[1] * A->stride[1] + at[2] * A->stride[2];
    PetscInt entries = BCRDistRowsRun(A, first, &lines->runs[at[1] + lines->size[1] * at[2]]);

#if !defined(PETSC_USE_COMPLEX)
    if (entries) {
      const PetscReal *v = A->aa + A->ai[first + 1];
      const PetscInt n = lines->size[0] - 2;
      double of[BCR_LINES_ENTRIES] = {0};
      BCRLinesRun run;

      BCRDistRowsRunOpen(A, at, first, entries, &run);
      if (entries == 5) BCRLinesSumRun(v, n, 5, of);
      else if (entries == 7) BCRLinesSumRun(v, n, 7, of);
      else BCRLinesSumRun(v, n, entries, of);
      for (PetscInt k = 0; k < run.rest; ++k) {
        if (of[run.none[k]] != 0) entries = 0; /* something that is no neighbour within the box, as around the ends */
      }
      for (PetscInt k = 0; k < 7 && entries; ++k) {
        if (run.star[k] >= 0)
          sum[k == BCR_LINES_DIAGONAL ? 3 : k / 2] += (k == BCR_LINES_DIAGONAL ? 2 : 1) * of[run.star[k]];
      }
    }
#endif
    for (PetscInt i = 0; i < lines->size[0]; i += entries ? lines->size[0] - 1 : 1) {
      at[0] = i;
      ix[0] = lines->start[0] + i;
      for (PetscInt c = 0; c < lines->dof; ++c) {
        BCRGridRowGet(A, at, ix, c, &row);
        for (PetscInt d = 0; d < lines->dim; ++d) sum[d] += PetscAbs(row.star[2 * d]) + PetscAbs(row.star[2 * d + 1]);
        sum[3] += 2 * PetscAbs(row.star[BCR_LINES_DIAGONAL]);
      }
    }
  }
  PetscCallMPI(MPI_Allreduce(sum, all, 4, MPI_DOUBLE, MPI_SUM, lines->comm));
  for (PetscInt d = 0; d < 3; ++d) strength[d] = all[3] > 0 ? (PetscReal)(all[d] / all[3]) : 0;
  for (PetscInt d = 1; d < lines->dim; ++d) {
    /* a tie goes to the earlier axis, whose lines lie closer in memory */
    if (all[d] > (1 + 1e-3) * all[best]) best = d;
  }
  *axis = best;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Keeps row g of line l if it is one of the first or last few */
static inline void BCRLinesEdge(const BCRLines lines, PetscInt l, PetscInt g, PetscReal low, PetscReal diag,
                                PetscReal up, PetscReal *first, PetscReal *last)
{
  const PetscInt back = g - (lines->N[lines->axis] - BCR_TRI_EDGE);
  const PetscReal row[3] = {low, diag, up};

  for (PetscInt d = 0; d < 3; ++d) {
    if (g < BCR_TRI_EDGE) first[3 * (BCR_TRI_EDGE * l + g) + d] = row[d];
    if (back >= 0) last[3 * (BCR_TRI_EDGE * l + back) + d] = row[d];
  }
}

/* |low - l| <= tol and so on for n rows: one row l, d, u, or (each) one for every row */
static inline PetscBool BCRLinesSame(PetscInt n, const PetscReal *low, const PetscReal *diag, const PetscReal *up,
                                     const PetscReal *l, const PetscReal *d, const PetscReal *u, const PetscReal *tol,
                                     const PetscInt each)
{
  int bad = 0;

  for (PetscInt i = 0; i < n; ++i) {
    const PetscInt k = each ? i : 0;

    bad |= !(PetscAbsReal(low[i] - l[k]) <= tol[k]) | !(PetscAbsReal(diag[i] - d[k]) <= tol[k]) |
           !(PetscAbsReal(up[i] - u[k]) <= tol[k]);
  }
  return (PetscBool)!bad;
}

/* Lines whose rows are all as the one in the middle, but for a few at the ends: looks at each row
   when it is read and keeps those few.
   *near = PETSC_FALSE: they are not, or there is something wrong; the other way finds out. Collective. The arrays: work space */
static PetscErrorCode BCRDistRowsNearWith(const BCRDistRows *A, PetscReal *row, PetscReal *first, PetscReal *last,
                                          PetscReal *ref[4], PetscReal *low, PetscReal *diag, PetscReal *up,
                                          BCRLinesFound *found, PetscBool *near)
{
  const BCRLines lines = A->lines;
  BCRTriSpec *s = &lines->spec;
  const PetscInt axis = lines->axis, N = lines->N[axis], begin = lines->start[axis], n = s->n, nlines = lines->nlines,
                 dof = lines->dof, length = dof * lines->size[0];
  PetscInt at[3], ix[3];
  PetscBool same = PETSC_TRUE;
  double mine[3], all[3];

  PetscFunctionBegin;
  if (N / 2 >= begin && N / 2 < begin + n) {
    PetscInt from[3] = {0, 0, 0}, to[3] = {lines->size[0], lines->size[1], lines->size[2]}, l = 0;

    from[axis] = N / 2 - begin;
    to[axis] = from[axis] + 1;
    for (at[2] = from[2]; at[2] < to[2]; ++at[2]) {
      for (at[1] = from[1]; at[1] < to[1]; ++at[1]) {
        for (at[0] = from[0]; at[0] < to[0]; ++at[0]) {
          for (PetscInt d = 0; d < 3; ++d) ix[d] = lines->start[d] + at[d];
          for (PetscInt c = 0; c < dof; ++c, ++l)
            BCRDistRowsGetRow(A, at, ix, at[0] * A->stride[0] + at[1] * A->stride[1] + at[2] * A->stride[2] + c, c,
                              axis, &row[3 * l], &row[3 * l + 1], &row[3 * l + 2], found);
        }
      }
    }
  }
  PetscCall(BCRLinesMiddle(lines, row));
  for (PetscInt l = 0; l < nlines; ++l) {
    for (PetscInt d = 0; d < 3; ++d) ref[d][l] = row[3 * l + d];
    ref[3][l] = (PetscReal)BCR_LINES_SAME * PetscMax(PetscAbsReal(row[3 * l]), PetscMax(PetscAbsReal(row[3 * l + 1]),
                                                                                        PetscAbsReal(row[3 * l + 2])));
  }
  BCRForBoxLines(lines, at, ix)
  {
    if (!same) continue;
    BCRDistRowsGetLine(A, at, ix, axis, low, diag, up, found);
    if (axis == 0) {
      const PetscInt l = dof * (at[1] + lines->size[1] * at[2]), from = PetscMin(PetscMax(BCR_TRI_EDGE - begin, 0), n),
                     to = PetscMax(PetscMin(N - BCR_TRI_EDGE - begin, n), from);

      if (dof == 1)
        same = BCRLinesSame(to - from, low + from, diag + from, up + from, &ref[0][l], &ref[1][l], &ref[2][l],
                            &ref[3][l], 0);
      for (PetscInt k = dof * from; k < dof * to && dof > 1 && same; ++k)
        same = BCRLinesSame(1, low + k, diag + k, up + k, &ref[0][l + k % dof], &ref[1][l + k % dof],
                            &ref[2][l + k % dof], &ref[3][l + k % dof], 0);
      for (PetscInt i = from ? 0 : to; i < n; i = i + 1 == from ? to : i + 1) {
        for (PetscInt c = 0; c < dof; ++c)
          BCRLinesEdge(lines, l + c, begin + i, low[i * dof + c], diag[i * dof + c], up[i * dof + c], first, last);
      }
    } else {
      const PetscInt l = length * (axis == 1 ? at[2] : at[1]), g = ix[axis];

      if (g >= BCR_TRI_EDGE && g < N - BCR_TRI_EDGE)
        same = BCRLinesSame(length, low, diag, up, &ref[0][l], &ref[1][l], &ref[2][l], &ref[3][l], 1);
      else
        for (PetscInt k = 0; k < length; ++k) BCRLinesEdge(lines, l + k, g, low[k], diag[k], up[k], first, last);
    }
  }
  mine[0] = !same || found->code;
  mine[1] = found->wraps;
  mine[2] = found->dropped;
  PetscCallMPI(MPI_Allreduce(mine, all, 3, MPI_DOUBLE, MPI_MAX, lines->comm));
  if (all[0] == 0) {
    *near = PETSC_TRUE;
    s->periodic = (PetscBool)(all[1] != 0);
    lines->dropped = (PetscReal)all[2];
    PetscCall(BCRLinesKeepRows(lines, row, first, last));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRDistRowsNear(const BCRDistRows *A, PetscBool *near)
{
  const PetscInt nlines = A->lines->nlines, length = A->lines->dof * A->lines->size[0];
  PetscReal *row = NULL, *first = NULL, *last = NULL, *ref[4] = {NULL, NULL, NULL, NULL}, *low = NULL, *diag = NULL,
            *up = NULL;
  BCRLinesFound *found = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *near = PETSC_FALSE;
  if (A->lines->N[A->lines->axis] < 2 * BCR_TRI_EDGE + 1) PetscFunctionReturn(PETSC_SUCCESS);
  ierr = PetscNew(&found);
  if (!ierr) ierr = PetscMalloc3(3 * nlines, &row, 3 * BCR_TRI_EDGE * nlines, &first, 3 * BCR_TRI_EDGE * nlines, &last);
  if (!ierr)
    ierr = PetscMalloc7(nlines, &ref[0], nlines, &ref[1], nlines, &ref[2], nlines, &ref[3], length, &low, length, &diag,
                        length, &up);
  ierr = BCRFaultShare(A->lines->comm, ierr, BCR_NO_MEMORY);
  if (!ierr) ierr = BCRDistRowsNearWith(A, row, first, last, ref, low, diag, up, found, near);
  PetscCall(PetscFree3(row, first, last));
  PetscCall(PetscFree7(ref[0], ref[1], ref[2], ref[3], low, diag, up));
  PetscCall(PetscFree(found));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fills spec from the rows along lines->axis */
static PetscErrorCode BCRDistRowsRead(const BCRDistRows *A)
{
  BCRLines lines = A->lines;
  BCRTriSpec *s = &lines->spec;
  const PetscInt axis = lines->axis, N = lines->N[axis];
  const size_t total = (size_t)lines->nlines * (size_t)s->n;
  PetscInt at[3], ix[3];
  double mine[2], all[2];
  PetscReal *low = NULL, *diag = NULL, *up = NULL;
  BCRLinesFound found = {0, PETSC_FALSE, PETSC_SUCCESS, ""};
  PetscBool near;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(BCRDistRowsNear(A, &near));
  if (near) PetscFunctionReturn(PETSC_SUCCESS);
  ierr = PetscMalloc1(total, &low);
  if (!ierr) ierr = PetscMalloc1(total, &diag);
  if (!ierr) ierr = PetscMalloc1(total, &up);
  BCRCallElse(BCRFaultShare(lines->comm, ierr, BCR_NO_MEMORY), (void)PetscFree(low), (void)PetscFree(diag),
              (void)PetscFree(up));
  BCRForBoxLines(lines, at, ix)
  {
    const size_t k = (size_t)(at[1] * A->stride[1]) + (size_t)(at[2] * A->stride[2]);

    BCRDistRowsGetLine(A, at, ix, axis, low + k, diag + k, up + k, &found);
  }
  mine[0] = found.wraps;
  mine[1] = found.dropped;
  PetscCallMPI(MPI_Allreduce(mine, all, 2, MPI_DOUBLE, MPI_MAX, lines->comm));
  s->periodic = (PetscBool)(all[0] != 0 && N > 2);
  lines->dropped = (PetscReal)all[1];
  BCRCallElse(BCRErrorAgree(lines->comm, found.code, found.message), (void)PetscFree(low), (void)PetscFree(diag),
              (void)PetscFree(up));
  PetscCall(BCRLinesRecognise(lines, low, diag, up));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which lines along x of the box are runs (BCRDistRowsRun()): what was found last time, if the
   pattern of the matrix is the same, or nothing */
static PetscErrorCode BCRLinesRuns(BCRLines lines, Mat P, PetscBool converted, BCRLines old)
{
  PetscFunctionBegin;
  if (!converted) { /* the pattern of one that was made from it is another */
    PetscCall(PetscObjectGetId((PetscObject)P, &lines->mat));
    PetscCall(MatGetNonzeroState(P, &lines->pattern));
  }
  if (old && old->runs && !converted && old->mat == lines->mat && old->pattern == lines->pattern &&
      old->id == lines->id) {
    lines->runs = old->runs;
    old->runs = NULL;
  } else PetscCall(PetscCalloc1(lines->size[1] * lines->size[2], &lines->runs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRLinesRead(DM da, Mat P, PetscInt axis, BCRLines *out)
{
  BCRLines lines, old = *out;
  BCRDistRows A;
  PetscErrorCode ierr;
  PetscReal strength[3];
  PetscInt dim;
  PetscBool chosen = (PetscBool)(axis == BCR_LINES_ANY_AXIS);

  PetscFunctionBegin;
  *out = NULL;
  if (chosen) axis = 0;
  BCRCallElse(BCRLinesLayout(da, axis, &lines), (void)BCRLinesDestroy(&old));
  dim = lines->dim;
  ierr = BCRDistRowsOpen(da, P, lines, &A);
  if (!ierr) ierr = BCRLinesRuns(lines, P, A.converted, old);
  ierr = BCRFaultShare(lines->comm, ierr, BCR_NO_MEMORY);
  if (!ierr && chosen && dim > 1) {
    ierr = BCRDistRowsAxis(&A, &axis, strength);
    if (!ierr) {
      BCRLines first = lines, found;

      ierr = BCRLinesLayout(da, axis, &found);
      if (!ierr) {
        ierr = BCRFaultShare(found->comm, BCRLinesRuns(found, P, A.converted, first), BCR_NO_MEMORY);
        A.lines = lines = found;
        PetscCall(BCRLinesDestroy(&first));
        for (PetscInt d = 0; d < 3; ++d) lines->strength[d] = strength[d];
      }
    }
  }
  lines->chosen = chosen;
  if (!ierr) ierr = BCRLinesConnect(lines, old);
  if (!ierr) ierr = BCRFaultShare(lines->comm, BCRDistRowsRead(&A), BCR_NO_MEMORY);
  PetscCall(BCRDistRowsClose(&A));
  PetscCall(BCRLinesDestroy(&old));
  if (ierr) PetscCall(BCRLinesDestroy(&lines));
  PetscCall(ierr);
  *out = lines;
  PetscFunctionReturn(PETSC_SUCCESS);
}
