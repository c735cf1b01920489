/*
  The coefficients of lines, by as little as describes them: one near-Toeplitz set of rows, one for each line, or arrays.
*/
#include "linesimpl.h"

PetscErrorCode BCRLinesFreeSpec(BCRLines lines)
{
  BCRTriSpec *s = &lines->spec;

  PetscFunctionBegin;
  PetscCall(PetscFree(*(void **)&s->rows));
  PetscCall(PetscFree(*(void **)&s->low));
  PetscCall(PetscFree(*(void **)&s->diag));
  PetscCall(PetscFree(*(void **)&s->up));
  s->nfirst = s->nlast = 0;
  s->perline = PETSC_FALSE;
  s->periodic = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the same coefficient in two rows whose largest entry is size */
static inline PetscBool BCRSameEntry(PetscReal a, PetscReal b, PetscReal size)
{
  return (PetscBool)(PetscAbsReal(a - b) <= (PetscReal)BCR_LINES_SAME * size);
}

static inline PetscReal BCRRowSize(const PetscReal row[3])
{
  return PetscMax(PetscAbsReal(row[0]), PetscMax(PetscAbsReal(row[1]), PetscAbsReal(row[2])));
}

static inline PetscBool BCRSameRow(const PetscReal a[3], const PetscReal b[3])
{
  const PetscReal size = BCRRowSize(a);

  return (PetscBool)(BCRSameEntry(a[0], b[0], size) && BCRSameEntry(a[1], b[1], size) &&
                     BCRSameEntry(a[2], b[2], size));
}

/* Row j of line l; couplings beyond the ends of a line that is not periodic are whatever other has */
static inline void BCRLinesRow(BCRLines lines, const PetscReal *low, const PetscReal *diag, const PetscReal *up,
                               PetscInt l, PetscInt j, const PetscReal other[3], PetscReal row[3])
{
  const BCRTriSpec *s = &lines->spec;
  const size_t at = BCRLinesAt(s, l, j);
  const PetscInt g = lines->start[lines->axis] + j;

  row[0] = !s->periodic && g == 0 ? (other ? other[0] : 0) : low[at];
  row[1] = diag[at];
  row[2] = !s->periodic && g == lines->N[lines->axis] - 1 ? (other ? other[2] : 0) : up[at];
}

/* Rows of all lines of this rank, row is that of the middle of each line. Returns how many rows
   differ from it at the global ends. */
static void BCRLinesEnds(BCRLines lines, const PetscReal *low, const PetscReal *diag, const PetscReal *up,
                         const PetscReal *row, PetscInt ends[2])
{
  const BCRTriSpec *s = &lines->spec;
  const PetscInt inner = s->inner / s->rep, N = lines->N[lines->axis], first = lines->start[lines->axis];
  PetscReal r[3];

  ends[0] = ends[1] = 0;
  for (PetscInt o = 0; o < s->outer; ++o) {
    for (PetscInt j = 0; j < s->n; ++j) {
      for (PetscInt i = 0; i < inner; ++i) {
        const PetscInt l = i + inner * o;

        BCRLinesRow(lines, low, diag, up, l, j, row + 3 * l, r);
        if (BCRSameRow(row + 3 * l, r)) continue;
        if (first + j < N / 2) ends[0] = PetscMax(ends[0], first + j + 1);
        else ends[1] = PetscMax(ends[1], N - first - j);
      }
    }
  }
}

PetscErrorCode BCRLinesMiddle(BCRLines lines, PetscReal row[])
{
  const PetscInt middle = lines->N[lines->axis] / 2, first = lines->start[lines->axis];
  PetscMPIInt rank, mine, owner;

  PetscFunctionBegin;
  if (lines->ranks == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_rank(lines->along, &rank));
  mine = middle >= first && middle < first + lines->spec.n ? rank : -1;
  PetscCallMPI(MPI_Allreduce(&mine, &owner, 1, MPI_INT, MPI_MAX, lines->along));
  PetscCallMPI(MPI_Bcast(row, (PetscMPIInt)(3 * lines->nlines), MPIU_REAL, owner, lines->along));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Row g of a line, as it acts, from first or last of BCRLinesKeepRows(); couplings beyond the ends
   of a line that is not periodic are those of other, or nothing */
static inline void BCRLinesEdgeRow(BCRLines lines, PetscInt l, PetscInt g, const PetscReal first[],
                                   const PetscReal last[], const PetscReal other[3], PetscReal row[3])
{
  const PetscInt N = lines->N[lines->axis];
  const PetscReal *from =
    g < BCR_TRI_EDGE ? first + 3 * (BCR_TRI_EDGE * l + g) : last + 3 * (BCR_TRI_EDGE * l + g - (N - BCR_TRI_EDGE));

  for (PetscInt d = 0; d < 3; ++d) row[d] = from[d];
  if (!lines->spec.periodic && g == 0) row[0] = other ? other[0] : 0;
  if (!lines->spec.periodic && g == N - 1) row[2] = other ? other[2] : 0;
}

PetscErrorCode BCRLinesKeepRows(BCRLines lines, const PetscReal row[], const PetscReal first[], const PetscReal last[])
{
  BCRTriSpec *s = &lines->spec;
  const PetscInt N = lines->N[lines->axis], begin = lines->start[lines->axis], n = s->n, nlines = lines->nlines;
  PetscBool periodic = s->periodic;
  PetscInt ends[2] = {0, 0}, all[2];
  PetscMPIInt differ = 0, any;
  BCRTriRows *rows = NULL;

  PetscFunctionBegin;
  PetscCall(BCRLinesFreeSpec(lines));
  s->periodic = periodic;
  for (PetscInt g = begin; g < begin + n; ++g) { /* how many rows at the ends are not as the middle one */
    if (g >= BCR_TRI_EDGE && g < N - BCR_TRI_EDGE) g = N - BCR_TRI_EDGE;
    if (g >= begin + n) break;
    for (PetscInt l = 0; l < nlines && g != N / 2; ++l) {
      PetscReal r[3];

      BCRLinesEdgeRow(lines, l, g, first, last, row + 3 * l, r);
      if (BCRSameRow(row + 3 * l, r)) continue;
      if (g < N / 2) ends[0] = PetscMax(ends[0], g + 1);
      else ends[1] = PetscMax(ends[1], N - g);
    }
  }
  PetscCallMPI(MPI_Allreduce(ends, all, 2, MPIU_INT, MPI_MAX, lines->comm));
  s->nfirst = PetscMin(PetscMax(all[0] - begin, 0), n);
  s->nlast = PetscMin(PetscMax(begin + n - (N - all[1]), 0), n);
  BCRCallElse(BCRFaultShare(lines->comm, PetscCalloc1(nlines, &rows), BCR_NO_MEMORY), (void)PetscFree(rows));
  for (PetscInt l = 0; l < nlines; ++l) {
    for (PetscInt d = 0; d < 3; ++d) rows[l].row[d] = row[3 * l + d];
    for (PetscInt e = 0; e < s->nfirst; ++e) BCRLinesEdgeRow(lines, l, begin + e, first, last, NULL, rows[l].first[e]);
    for (PetscInt e = 0; e < s->nlast; ++e)
      BCRLinesEdgeRow(lines, l, begin + n - s->nlast + e, first, last, NULL, rows[l].last[e]);
    if (differ) continue;
    differ = !BCRSameRow(rows[0].row, rows[l].row);
    for (PetscInt e = 0; e < s->nfirst && !differ; ++e) differ = !BCRSameRow(rows[0].first[e], rows[l].first[e]);
    for (PetscInt e = 0; e < s->nlast && !differ; ++e) differ = !BCRSameRow(rows[0].last[e], rows[l].last[e]);
  }
  PetscCallMPI(MPI_Allreduce(&differ, &any, 1, MPI_INT, MPI_MAX, lines->along));
  s->perline = (PetscBool)any;
  if (!s->perline) {
    BCRTriRows *one;

    BCRCallElse(PetscMalloc1(1, &one), (void)PetscFree(rows));
    *one = rows[0];
    PetscCall(PetscFree(rows));
    rows = one;
  }
  s->rows = rows;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRLinesRecognise(BCRLines lines, PetscReal *low, PetscReal *diag, PetscReal *up)
{
  BCRTriSpec *s = &lines->spec;
  const PetscInt N = lines->N[lines->axis], begin = lines->start[lines->axis], n = s->n, nlines = lines->nlines,
                 middle = N / 2;
  PetscBool periodic = s->periodic;
  PetscMPIInt differ = 0, any;
  PetscInt ends[2], all[2];
  PetscReal *row = NULL, *edges = NULL;

  PetscFunctionBegin;
  PetscCall(BCRLinesFreeSpec(lines));
  s->periodic = periodic;
  BCRCallElse(
    BCRFaultShare(lines->comm, PetscMalloc2(3 * nlines, &row, 6 * BCR_TRI_EDGE * nlines, &edges), BCR_NO_MEMORY),
    (void)PetscFree(low), (void)PetscFree(diag), (void)PetscFree(up), (void)PetscFree2(row, edges));
  for (PetscInt l = 0; l < nlines && middle >= begin && middle < begin + n; ++l)
    BCRLinesRow(lines, low, diag, up, l, middle - begin, NULL, row + 3 * l);
  PetscCall(BCRLinesMiddle(lines, row));
  BCRLinesEnds(lines, low, diag, up, row, ends);
  PetscCallMPI(MPI_Allreduce(ends, all, 2, MPIU_INT, MPI_MAX, lines->comm));

  if (all[0] <= BCR_TRI_EDGE && all[1] <= BCR_TRI_EDGE) {
    for (PetscInt l = 0; l < nlines; ++l) {
      for (PetscInt j = 0; j < n; ++j) {
        const PetscInt g = begin + j, back = g - (N - BCR_TRI_EDGE);

        if (g >= BCR_TRI_EDGE && back < 0) continue;
        if (g < BCR_TRI_EDGE) BCRLinesRow(lines, low, diag, up, l, j, NULL, edges + 3 * (BCR_TRI_EDGE * l + g));
        if (back >= 0) BCRLinesRow(lines, low, diag, up, l, j, NULL, edges + 3 * (BCR_TRI_EDGE * (nlines + l) + back));
      }
    }
    PetscCall(PetscFree(low));
    PetscCall(PetscFree(diag));
    PetscCall(PetscFree(up));
    BCRCallElse(BCRLinesKeepRows(lines, row, edges, edges + 3 * BCR_TRI_EDGE * nlines), (void)PetscFree2(row, edges));
    PetscCall(PetscFree2(row, edges));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscFree2(row, edges));
  for (PetscInt l = 1; l < nlines && !differ; ++l) {
    for (PetscInt j = 0; j < n && !differ; ++j) {
      PetscReal a[3], b[3];

      BCRLinesRow(lines, low, diag, up, 0, j, NULL, a);
      BCRLinesRow(lines, low, diag, up, l, j, NULL, b);
      differ = !BCRSameRow(a, b);
    }
  }
  PetscCallMPI(MPI_Allreduce(&differ, &any, 1, MPI_INT, MPI_MAX, lines->along));
  s->perline = (PetscBool)any;
  /* those of line 0 to the front; the place written to is never behind */
  for (PetscInt j = 0; j < n && !s->perline; ++j) {
    const size_t at = BCRLinesAt(s, 0, j);

    low[j] = low[at];
    diag[j] = diag[at];
    up[j] = up[at];
  }
  s->low = low;
  s->diag = diag;
  s->up = up;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRLinesExpand(BCRLines lines, PetscReal **low, PetscReal **diag, PetscReal **up)
{
  const BCRTriSpec *s = &lines->spec;
  const size_t total = (size_t)lines->nlines * (size_t)s->n;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(total, low));
  BCRCallElse(PetscMalloc1(total, diag), (void)PetscFree(*low));
  BCRCallElse(PetscMalloc1(total, up), (void)PetscFree(*low), (void)PetscFree(*diag));
  for (PetscInt l = 0; l < lines->nlines; ++l) {
    for (PetscInt j = 0; j < s->n; ++j) {
      const size_t at = BCRLinesAt(s, l, j);
      PetscReal row[3];

      BCRLinesGetRow(s, l, j, row);
      (*low)[at] = row[0];
      (*diag)[at] = row[1];
      (*up)[at] = row[2];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRLinesSetRows(BCRLines lines, PetscBool periodic, PetscInt nfirst, const PetscReal first[],
                               const PetscReal row[], PetscInt nlast, const PetscReal last[])
{
  BCRTriSpec *s = &lines->spec;
  const PetscInt N = lines->N[lines->axis], start = lines->start[lines->axis], n = s->n;
  BCRTriRows *rows;

  PetscFunctionBegin;
  PetscCheck(nfirst >= 0 && nfirst <= BCR_TRI_EDGE, lines->comm, PETSC_ERR_ARG_OUTOFRANGE,
             "%" PetscInt_FMT " rows at the first end: 0 to %d may differ from the others", nfirst, BCR_TRI_EDGE);
  PetscCheck(nlast >= 0 && nlast <= BCR_TRI_EDGE, lines->comm, PETSC_ERR_ARG_OUTOFRANGE,
             "%" PetscInt_FMT " rows at the last end: 0 to %d may differ from the others", nlast, BCR_TRI_EDGE);
  PetscCheck(nfirst + nlast <= N, lines->comm, PETSC_ERR_ARG_SIZ,
             "%" PetscInt_FMT " rows at the first end and %" PetscInt_FMT
             " at the last one: the lines have only %" PetscInt_FMT " rows",
             nfirst, nlast, N);
  PetscCall(BCRLinesFreeSpec(lines));
  s->periodic = periodic;
  s->nfirst = PetscMin(PetscMax(nfirst - start, 0), n);
  s->nlast = PetscMin(PetscMax(start + n - (N - nlast), 0), n);
  PetscCall(PetscCalloc1(1, &rows));
  for (PetscInt d = 0; d < 3; ++d) {
    rows->row[d] = row[d];
    for (PetscInt e = 0; e < s->nfirst; ++e) rows->first[e][d] = first[3 * (start + e) + d];
    for (PetscInt e = 0; e < s->nlast; ++e) rows->last[e][d] = last[3 * (start + n - s->nlast + e - (N - nlast)) + d];
  }
  s->rows = rows;
  lines->dropped = -1; /* there is no matrix */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRLinesTranspose(BCRLines lines, BCRLines *transposed, PetscBool *symmetric)
{
  BCRTriSpec *s = &lines->spec, *ts;
  const PetscInt nlines = lines->nlines, n = s->n;
  PetscReal *low = NULL, *diag = NULL, *up = NULL, *tlow = NULL, *tup = NULL, *send = NULL, *receive = NULL;
  PetscMPIInt rank, before, after, differ = 0, any;
  BCRLines t = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *transposed = NULL;
  ierr = BCRLinesExpand(lines, &low, &diag, &up);
  if (!ierr) ierr = PetscMalloc2(2 * nlines, &send, 2 * nlines, &receive);
  if (!ierr) ierr = PetscMalloc1((size_t)nlines * (size_t)n, &tlow);
  if (!ierr) ierr = PetscMalloc1((size_t)nlines * (size_t)n, &tup);
  ierr = BCRFaultShare(lines->comm, ierr, BCR_NO_MEMORY);
  if (ierr) PetscCall(PetscFree2(send, receive));
  BCRCallElse(ierr, (void)PetscFree(low), (void)PetscFree(diag), (void)PetscFree(up), (void)PetscFree(tlow),
              (void)PetscFree(tup));
  PetscCallMPI(MPI_Comm_rank(lines->along, &rank));
  before = rank > 0 ? rank - 1 : (s->periodic ? lines->ranks - 1 : MPI_PROC_NULL);
  after = rank < lines->ranks - 1 ? rank + 1 : (s->periodic ? 0 : MPI_PROC_NULL);
  for (PetscInt l = 0; l < nlines; ++l) {
    send[l] = low[BCRLinesAt(s, l, 0)];
    send[nlines + l] = up[BCRLinesAt(s, l, n - 1)];
    receive[l] = 0;          /* up of the row before the first one */
    receive[nlines + l] = 0; /* low of the row after the last one */
  }
  PetscCallMPI(MPI_Sendrecv(send, (PetscMPIInt)nlines, MPIU_REAL, before, 0, receive + nlines, (PetscMPIInt)nlines,
                            MPIU_REAL, after, 0, lines->along, MPI_STATUS_IGNORE));
  PetscCallMPI(MPI_Sendrecv(send + nlines, (PetscMPIInt)nlines, MPIU_REAL, after, 1, receive, (PetscMPIInt)nlines,
                            MPIU_REAL, before, 1, lines->along, MPI_STATUS_IGNORE));
  for (PetscInt l = 0; l < nlines; ++l) {
    for (PetscInt j = 0; j < n; ++j) {
      const size_t at = BCRLinesAt(s, l, j);

      tlow[at] = j ? up[BCRLinesAt(s, l, j - 1)] : receive[l];
      tup[at] = j < n - 1 ? low[BCRLinesAt(s, l, j + 1)] : receive[nlines + l];
      if (!s->periodic && lines->start[lines->axis] + j == 0) low[at] = tlow[at] = 0;
      if (!s->periodic && lines->start[lines->axis] + j == lines->N[lines->axis] - 1) up[at] = tup[at] = 0;
      {
        const PetscReal size = PetscMax(PetscAbsReal(diag[at]), PetscMax(PetscAbsReal(low[at]), PetscAbsReal(up[at])));

        if (!BCRSameEntry(tlow[at], low[at], size) || !BCRSameEntry(tup[at], up[at], size)) differ = 1;
      }
    }
  }
  PetscCall(PetscFree2(send, receive));
  PetscCall(PetscFree(low));
  PetscCall(PetscFree(up));
  PetscCallMPI(MPI_Allreduce(&differ, &any, 1, MPI_INT, MPI_MAX, lines->comm));
  *symmetric = (PetscBool)!any;
  if (!any) {
    PetscCall(PetscFree(tlow));
    PetscCall(PetscFree(diag));
    PetscCall(PetscFree(tup));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  BCRCallElse(BCRFaultShare(lines->comm, PetscNew(&t), BCR_NO_MEMORY), (void)PetscFree(tlow), (void)PetscFree(diag),
              (void)PetscFree(tup), (void)PetscFree(t));
  *t = *lines;
  t->runs = NULL;
  t->transport = NULL; /* that of the lines will do for these, too */
  PetscCallMPI(MPI_Comm_dup(lines->along, &t->along));
  ts = &t->spec;
  ts->rows = NULL;
  ts->low = ts->diag = ts->up = NULL;
  BCRCallElse(BCRFaultShare(lines->comm, BCRLinesRecognise(t, tlow, diag, tup), BCR_NO_MEMORY),
              (void)BCRLinesDestroy(&t));
  *transposed = t;
  PetscFunctionReturn(PETSC_SUCCESS);
}
