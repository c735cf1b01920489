/*
  Reads the lines of one axis out of an assembled matrix on a DMDA.
*/
#include "linerows.h"

#if !defined(PETSC_USE_COMPLEX)
/* sum[e] += |entry e| of n rows */
static inline void BCRLinesSumRun(const PetscReal *v, PetscInt n, PetscInt entries, double sum[])
{
  for (PetscInt i = 0; i < n; ++i, v += entries) {
    for (PetscInt e = 0; e < entries; ++e) sum[e] += (double)PetscAbsReal(v[e]);
  }
}

/* The same for the entries that are in the star alone */
static void BCRLinesSumStar(const BCRLinesRun *run, const PetscReal *v, PetscInt n, double sum[])
{
  for (PetscInt i = 0; i < n; ++i, v += run->entries) {
    for (PetscInt k = 0; k < 7; ++k)
      if (run->star[k] >= 0) sum[run->star[k]] += (double)PetscAbsReal(v[run->star[k]]);
  }
}

/* Keeps the star of n rows of a run, whose places it has then */
static void BCRLinesKeepRun(BCRLinesRun *run, const PetscReal *v, PetscInt n, PetscReal star[])
{
  for (PetscInt i = 0; i < n; ++i, v += run->entries) {
    for (PetscInt k = 0; k < 7; ++k) star[7 * i + k] = run->star[k] < 0 ? 0 : v[run->star[k]];
  }
  for (PetscInt k = 0; k < 7; ++k) run->star[k] = k;
}
#endif

/* The axis with the largest sum of couplings; A->star is filled in, if it is there. An axis of one grid point has none. */
static PetscErrorCode BCRDistRowsAxis(BCRDistRows *A, PetscInt *axis, PetscReal strength[3])
{
  const BCRLines lines = A->lines;
  const PetscInt margin = A->margin;
  double sum[4] = {0, 0, 0, 0}, all[4];
  PetscInt at[3], ix[3], best = 0;
  BCRGridRow row;

  PetscFunctionBegin;
  A->clean = PETSC_TRUE;
  BCRForBoxLines(lines, at, ix)
  {
    const PetscInt first = at[1] * A->stride[1] + at[2] * A->stride[2];
    PetscInt entries = BCRDistRowsRun(A, first, &lines->runs[at[1] + lines->size[1] * at[2]]);

#if !defined(PETSC_USE_COMPLEX)
    if (entries) {
      const PetscReal *v = A->aa + A->ai[first + margin];
      const PetscInt n = lines->size[0] - 2 * margin;
      double of[BCR_LINES_ENTRIES] = {0};
      BCRLinesRun run;

      BCRDistRowsRunOpen(A, at, first, entries, &run);
      if (!BCRLinesNothing(&run, v, n)) { /* something that is no neighbour within the box, as around the ends */
        A->clean = PETSC_FALSE;
        entries = 0;
      }
      if (entries && A->star) {
        BCRLinesKeepRun(&run, v, n, A->star + 7 * (size_t)(first + margin));
        BCRLinesSumRun(A->star + 7 * (size_t)(first + margin), n, 7, of);
      } else if (entries && run.rest) BCRLinesSumStar(&run, v, n, of);
      else if (entries == 5) BCRLinesSumRun(v, n, 5, of);
      else if (entries == 7) BCRLinesSumRun(v, n, 7, of);
      else BCRLinesSumRun(v, n, entries, of);
      for (PetscInt k = 0; k < 7 && entries; ++k) {
        if (run.star[k] >= 0)
          sum[k == BCR_LINES_DIAGONAL ? 3 : k / 2] += (k == BCR_LINES_DIAGONAL ? 2 : 1) * of[run.star[k]];
      }
    }
#endif
    for (PetscInt i = 0; i < lines->size[0]; i += entries && i == margin - 1 ? lines->size[0] - 2 * margin + 1 : 1) {
      at[0] = i;
      ix[0] = lines->start[0] + i;
      for (PetscInt c = 0; c < lines->dof; ++c) {
        BCRGridRowGet(A, at, ix, c, &row);
        if (A->star) BCRGridRowKeep(&row, A->star + 7 * (size_t)(first + i * lines->dof + c));
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

/* ---- lines whose rows are all as the one in the middle, but for a few at the ends ---- */

typedef struct {
  PetscReal *middle;       /* [3 l]: the row in the middle of line l */
  PetscReal *first, *last; /* [3 (BCR_TRI_EDGE l + e)]: the first and the last few */
  BCRLinesArrays like;     /* of each line: what the middle row has, */
  PetscReal *tol;          /* and what others may differ from it by */
  BCRLinesArrays rows;     /* of a line of the box along x */
} BCRLinesNear;

/* Keeps row g of line l, which is number k of the rows, if it is one of the first or last few */
static inline void BCRNearKeep(const BCRLines lines, BCRLinesNear *near, PetscInt l, PetscInt g, PetscInt k)
{
  const PetscInt back = g - (lines->N[lines->axis] - BCR_TRI_EDGE);
  const PetscReal row[3] = {near->rows.low[k], near->rows.diag[k], near->rows.up[k]};

  for (PetscInt d = 0; d < 3; ++d) {
    if (g < BCR_TRI_EDGE) near->first[3 * (BCR_TRI_EDGE * l + g) + d] = row[d];
    if (back >= 0) near->last[3 * (BCR_TRI_EDGE * l + back) + d] = row[d];
  }
}

/* Rows k .. k + n - 1 are like those of line l, or (each) of lines l .. l + n - 1 */
static inline PetscBool BCRNearSame(const BCRLinesNear *near, PetscInt k, PetscInt n, PetscInt l, const PetscInt each)
{
  const BCRLinesArrays rows = BCRLinesArraysFrom(near->rows, (size_t)k);
  const BCRLinesArrays like = BCRLinesArraysFrom(near->like, (size_t)l);
  const PetscReal *tol = near->tol + l;
  int bad = 0;

  for (PetscInt i = 0; i < n; ++i) {
    const PetscInt j = each ? i : 0;

    bad |= !(PetscAbsReal(rows.low[i] - like.low[j]) <= tol[j]) |
           !(PetscAbsReal(rows.diag[i] - like.diag[j]) <= tol[j]) | !(PetscAbsReal(rows.up[i] - like.up[j]) <= tol[j]);
  }
  return (PetscBool)!bad;
}

/* The rows in the middle of the lines, on all ranks of along. Collective */
static PetscErrorCode BCRNearMiddle(const BCRDistRows *A, BCRLinesNear *near, BCRLinesFound *found)
{
  const BCRLines lines = A->lines;
  const PetscInt axis = lines->axis, middle = lines->N[axis] / 2 - lines->start[axis], *size = lines->size;
  PetscInt at[3], l = 0;

  PetscFunctionBegin;
  if (middle >= 0 && middle < size[axis]) {
    PetscInt from[3] = {0, 0, 0}, to[3] = {size[0], size[1], size[2]};

    from[axis] = middle;
    to[axis] = middle + 1;
    for (at[2] = from[2]; at[2] < to[2]; ++at[2]) {
      for (at[1] = from[1]; at[1] < to[1]; ++at[1]) {
        for (at[0] = from[0]; at[0] < to[0]; ++at[0]) {
          const PetscInt ix[3] = {lines->start[0] + at[0], lines->start[1] + at[1], lines->start[2] + at[2]};
          const PetscInt k = at[0] * A->stride[0] + at[1] * A->stride[1] + at[2] * A->stride[2];

          for (PetscInt c = 0; c < lines->dof; ++c, ++l) {
            PetscReal *row = near->middle + 3 * l;

            BCRDistRowsGetRow(A, at, ix, k + c, c, axis, (BCRLinesArrays){&row[0], &row[1], &row[2]}, found);
          }
        }
      }
    }
  }
  PetscCall(BCRLinesMiddle(lines, near->middle));
  for (l = 0; l < lines->nlines; ++l) {
    const PetscReal *row = near->middle + 3 * l;

    near->like.low[l] = row[0];
    near->like.diag[l] = row[1];
    near->like.up[l] = row[2];
    near->tol[l] =
      (PetscReal)BCR_LINES_SAME * PetscMax(PetscAbsReal(row[0]), PetscMax(PetscAbsReal(row[1]), PetscAbsReal(row[2])));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of a line of the box along x: PETSC_FALSE: one that is none of the few is not as it should be */
static PetscBool BCRNearLine(const BCRLines lines, const PetscInt at[3], const PetscInt ix[3], BCRLinesNear *near)
{
  const PetscInt axis = lines->axis, N = lines->N[axis], begin = lines->start[axis], n = lines->size[axis],
                 dof = lines->dof, length = dof * lines->size[0];
  PetscBool same = PETSC_TRUE;

  if (axis == 0) {
    const PetscInt l = dof * (at[1] + lines->size[1] * at[2]), from = PetscMin(PetscMax(BCR_TRI_EDGE - begin, 0), n),
                   to = PetscMax(PetscMin(N - BCR_TRI_EDGE - begin, n), from);

    if (dof == 1) same = BCRNearSame(near, from, to - from, l, 0);
    for (PetscInt k = dof * from; k < dof * to && dof > 1 && same; ++k) same = BCRNearSame(near, k, 1, l + k % dof, 0);
    for (PetscInt i = from ? 0 : to; i < n; i = i + 1 == from ? to : i + 1) {
      for (PetscInt c = 0; c < dof; ++c) BCRNearKeep(lines, near, l + c, begin + i, i * dof + c);
    }
  } else {
    const PetscInt l = length * (axis == 1 ? at[2] : at[1]), g = ix[axis];

    if (g >= BCR_TRI_EDGE && g < N - BCR_TRI_EDGE) same = BCRNearSame(near, 0, length, l, 1);
    else
      for (PetscInt k = 0; k < length; ++k) BCRNearKeep(lines, near, l + k, g, k);
  }
  return same;
}

/* Looks at each row when it is read, and keeps the few. *good = PETSC_FALSE: lines are not so, or there is something
   wrong; the other way finds out. Collective */
static PetscErrorCode BCRNearRead(const BCRDistRows *A, BCRLinesNear *near, BCRLinesFound *found, PetscBool *good)
{
  const BCRLines lines = A->lines;
  PetscInt at[3], ix[3];
  PetscBool same = PETSC_TRUE;
  double mine[3], all[3];

  PetscFunctionBegin;
  PetscCall(BCRNearMiddle(A, near, found));
  BCRForBoxLines(lines, at, ix)
  {
    if (!same) continue;
    BCRDistRowsGetLine(A, at, ix, lines->axis, near->rows, found);
    same = BCRNearLine(lines, at, ix, near);
  }
  mine[0] = !same || found->fault.code;
  mine[1] = found->wraps;
  mine[2] = found->dropped;
  PetscCallMPI(MPI_Allreduce(mine, all, 3, MPI_DOUBLE, MPI_MAX, lines->comm));
  *good = (PetscBool)(all[0] == 0);
  if (!*good) PetscFunctionReturn(PETSC_SUCCESS);
  lines->spec.periodic = (PetscBool)(all[1] != 0);
  lines->dropped = (PetscReal)all[2];
  PetscCall(BCRLinesKeepRows(lines, near->middle, near->first, near->last));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRLinesNearRead(const BCRDistRows *A, PetscBool *good)
{
  const PetscInt nlines = A->lines->nlines, few = 3 * BCR_TRI_EDGE * nlines, length = A->lines->dof * A->lines->size[0];
  BCRLinesNear near;
  BCRLinesFound *found = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *good = PETSC_FALSE;
  if (A->lines->N[A->lines->axis] < 2 * BCR_TRI_EDGE + 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMemzero(&near, sizeof(near)));
  ierr = PetscNew(&found);
  if (!ierr) ierr = PetscMalloc3(3 * nlines, &near.middle, few, &near.first, few, &near.last);
  if (!ierr)
    ierr = PetscMalloc4(nlines, &near.like.low, nlines, &near.like.diag, nlines, &near.like.up, nlines, &near.tol);
  if (!ierr) ierr = PetscMalloc3(length, &near.rows.low, length, &near.rows.diag, length, &near.rows.up);
  ierr = BCRFaultShare(A->lines->comm, ierr, BCR_NO_MEMORY);
  if (!ierr) ierr = BCRNearRead(A, &near, found, good);
  PetscCall(PetscFree3(near.middle, near.first, near.last));
  PetscCall(PetscFree4(near.like.low, near.like.diag, near.like.up, near.tol));
  PetscCall(PetscFree3(near.rows.low, near.rows.diag, near.rows.up));
  PetscCall(PetscFree(found));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- any lines ---- */

/* Fills spec from the rows along lines->axis */
static PetscErrorCode BCRDistRowsRead(const BCRDistRows *A)
{
  BCRLines lines = A->lines;
  const size_t total = (size_t)lines->nlines * (size_t)lines->spec.n;
  PetscInt at[3], ix[3];
  double mine[2], all[2];
  BCRLinesArrays rows = {NULL, NULL, NULL};
  BCRLinesFound found = {
    0, PETSC_FALSE, {PETSC_SUCCESS, ""}
  };
  PetscBool near;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(BCRLinesNearRead(A, &near));
  if (near) PetscFunctionReturn(PETSC_SUCCESS);
  ierr = PetscMalloc1(total, &rows.low);
  if (!ierr) ierr = PetscMalloc1(total, &rows.diag);
  if (!ierr) ierr = PetscMalloc1(total, &rows.up);
  ierr = BCRFaultShare(lines->comm, ierr, BCR_NO_MEMORY);
  if (!ierr) {
    BCRForBoxLines(lines, at, ix)
    {
      const size_t k = (size_t)(at[1] * A->stride[1]) + (size_t)(at[2] * A->stride[2]);

      BCRDistRowsGetLine(A, at, ix, lines->axis, BCRLinesArraysFrom(rows, k), &found);
    }
    mine[0] = found.wraps;
    mine[1] = found.dropped;
    PetscCallMPI(MPI_Allreduce(mine, all, 2, MPI_DOUBLE, MPI_MAX, lines->comm));
    lines->spec.periodic = (PetscBool)(all[0] != 0 && lines->N[lines->axis] > 2);
    lines->dropped = (PetscReal)all[1];
    ierr = BCRFaultAgree(lines->comm, &found.fault);
  }
  BCRCallElse(ierr, (void)PetscFree(rows.low), (void)PetscFree(rows.diag), (void)PetscFree(rows.up));
  PetscCall(BCRLinesRecognise(lines, rows.low, rows.diag, rows.up));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the whole ---- */

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

/* Lines along the axis of the strongest coupling, in place of those along x whose rows A has */
static PetscErrorCode BCRLinesChoose(const BCRGrid *grid, Mat P, BCRDistRows *A)
{
  BCRLines first = A->lines, found;
  PetscReal strength[3];
  PetscInt axis = 0;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(BCRFaultShare(first->comm, BCRDistRowsStarCreate(A), BCR_NO_MEMORY));
  PetscCall(BCRDistRowsAxis(A, &axis, strength));
  PetscCall(BCRLinesLayout(grid, axis, &found));
  A->lines = found;
  for (PetscInt d = 0; d < 3; ++d) found->strength[d] = strength[d];
  ierr = BCRFaultShare(found->comm, BCRLinesRuns(found, P, A->converted, first), BCR_NO_MEMORY);
  PetscCall(BCRLinesDestroy(&first));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRLinesRead(const BCRGrid *grid, Mat P, PetscInt axis, BCRLines *out)
{
  BCRLines lines, old = *out;
  BCRDistRows A;
  PetscErrorCode ierr;
  const PetscBool chosen = (PetscBool)(axis == BCR_LINES_ANY_AXIS);

  PetscFunctionBegin;
  *out = NULL;
  BCRCallElse(BCRLinesLayout(grid, chosen ? 0 : axis, &lines), (void)BCRLinesDestroy(&old));
  ierr = BCRDistRowsOpen(grid, P, lines, &A);
  if (!ierr) ierr = BCRLinesRuns(lines, P, A.converted, old);
  ierr = BCRFaultShare(lines->comm, ierr, BCR_NO_MEMORY);
  if (!ierr && chosen && lines->dim > 1) ierr = BCRLinesChoose(grid, P, &A);
  lines = A.lines;
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
