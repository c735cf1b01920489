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
  mine[0] = !same || found->fault.code;
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
  BCRLinesFound found = {
    0, PETSC_FALSE, {PETSC_SUCCESS, ""}
  };
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
  BCRCallElse(BCRFaultAgree(lines->comm, &found.fault), (void)PetscFree(low), (void)PetscFree(diag),
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
