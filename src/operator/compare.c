/*
  Compares every row of the matrix with the operator: lines that are regular by runs (run.c), other rows entry by entry.
*/
#include "run.h"
#include "readdevice.h"
#include "threads.h"

#define BCR_CHECK_SPREAD 64 /* rows that are compared ahead of all others */

PetscErrorCode BCRPlaneSetDiagonal(const BCRRows *A, BCROperator *op, const PetscInt ix[3], PetscReal inv)
{
  PetscInt d, s, i;

  PetscFunctionBegin;
  for (d = 0; d < A->dim; d++) {
    for (s = 0; s < 2; s++) {
      BCRPlane *pl = &op->axis[d].plane[s];

      if (!pl->present || ix[d] != (s ? A->N[d] - 1 : 0)) continue;
      if (!pl->inv && inv != pl->inv0) {
        const PetscInt n = BCRPlaneNodes(A, d, s);

        PetscCall(PetscMalloc1(n, &pl->inv));
        for (i = 0; i < n; i++) pl->inv[i] = pl->inv0;
      }
      if (pl->inv) pl->inv[BCRPlaneNode(A, d, ix)] = inv;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Notes a deviation if it is the largest so far: of the row of component c at node ix, column col in natural order */
static inline void BCRCheckNote(BCRCheck *ck, double dev, PetscInt c, const PetscInt ix[3], PetscInt col)
{
  ck->v.dev = dev;
  ck->v.comp = c;
  ck->v.row = BCRGridNatural(&ck->A->grid, ix);
  ck->v.col = col;
}

/* A row in planes that have been dropped */
static PetscErrorCode BCRCheckPlane(BCRCheck *ck, PetscInt c, const PetscInt ix[3], const int side[3],
                                    const double st[7], PetscBool *stop)
{
  PetscFunctionBegin;
  if (!BCRPlanesRowFits(&ck->ops[c], side, st)) {
    ck->v.wrongplane = PETSC_TRUE;
    ck->v.comp = c;
    *stop = PETSC_TRUE;
  } else PetscCall(BCRPlaneSetDiagonal(ck->A, &ck->ops[c], ix, BCRPlaneInverse(st)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A star of the matrix with that of the model, rest: the largest entry that the model has no place for, in column col */
static void BCRCheckStar(BCRCheck *ck, PetscInt c, const PetscInt ix[3], const double st[7], const double in[7],
                         double rest, PetscInt col)
{
  const BCRRows *A = ck->A;
  double dev;

  for (int k = 0; k < 7; k++) {
    const double scale = in[k] != 0 ? PetscAbs((double)(PetscReal)in[k]) : PetscAbs(in[BCR_CENTRE]);
    PetscInt jx[3] = {ix[0], ix[1], ix[2]};

    dev = PetscAbs(st[k] - (double)(PetscReal)in[k]) / scale;
    if (!(dev > ck->v.dev)) continue;
    if (k < 6) { /* the neighbour, around the ends of the grid */
      const PetscInt e = k / 2, N = A->N[e];

      jx[e] += k % 2 ? (ix[e] < N - 1 ? 1 : 1 - N) : (ix[e] > 0 ? -1 : N - 1);
    }
    BCRCheckNote(ck, dev, c, ix, BCRGridNatural(&A->grid, jx));
  }
  dev = rest / PetscAbs(in[BCR_CENTRE]);
  if (dev > ck->v.dev) BCRCheckNote(ck, dev, c, ix, (col - col % A->dof) / A->dof);
}

PetscBool BCRCheckEmpty(const BCROperator *op, const int side[3], int planes)
{
  PetscBool couple = PETSC_FALSE;

  for (int d = 0; d < 3; d++) couple = (PetscBool)(couple || (side[d] && op->axis[d].plane[side[d] > 0].couple));
  return (PetscBool)(planes > 1 || (planes == 1 && !couple));
}

/* The row is no multiple of the model's, by a positive number */
static PetscBool BCRCheckOther(const double st[7], const double in[7])
{
  const double s = st[BCR_CENTRE] / in[BCR_CENTRE];

  for (int k = 0; k < 6; k++)
    if (PetscAbs(st[k] - s * in[k]) > BCR_SAME_TOL * PetscAbs(in[k] != 0 ? s * in[k] : st[BCR_CENTRE]))
      return PETSC_TRUE;
  return (PetscBool) !(s > 0);
}

/* One row, entry by entry. *stop: the comparison need not go on */
static PetscErrorCode BCRCheckRow(BCRCheck *ck, PetscInt c, const PetscInt ix[3], PetscBool *stop)
{
  const BCRRows *A = ck->A;
  BCROperator *op = &ck->ops[c];
  const BCRModelAxis *m = ck->m[c];
  double st[7], in[7], rest;
  PetscInt col;
  int side[3];
  const int planes = ck->skip[c] ? 0 : BCRPlanesOf(A, op, ix, side);
  BCRRowState state = op->product ? BCR_ROW_GOOD : BCRRowGet(A, c, ix, st, &rest, &col);

  PetscFunctionBegin;
  if (state != BCR_ROW_GOOD && !(state == BCR_ROW_EMPTY && (ck->skip[c] || BCRCheckEmpty(op, side, planes)))) {
    ck->v.state = state;
    ck->v.comp = c;
    ck->v.col = col;
    PetscCall(PetscArraycpy(ck->v.badix, ix, 3));
    *stop = PETSC_TRUE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (ck->skip[c]) PetscFunctionReturn(PETSC_SUCCESS);
  if (planes) {
    PetscCall(BCRCheckPlane(ck, c, ix, side, st, stop));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  BCRModelRow(op, m, ix, in);
  if (op->left) {
    const PetscReal s = (PetscReal)(st[BCR_CENTRE] / in[BCR_CENTRE]);

    if (!(s > 0 && s <= PETSC_MAX_REAL)) { /* NaN, infinite: the model has no diagonal here */
      ck->v.dev = PETSC_INFINITY;
      ck->v.comp = c;
      *stop = PETSC_TRUE;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    op->rowscale[BCRBoxNode(A, m, ix)] = s;
    for (int k = 0; k < 7; k++) in[k] *= (double)s;
  }
  BCRCheckStar(ck, c, ix, st, in, rest, col);
  if (ck->v.dev > BCR_SAME_TOL) {
    ck->v.other = BCRCheckOther(st, in);
    *stop = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- lines, by several threads ---- */

/* The lines first .. last - 1 of the rank's box, by one of several threads: which of them are the
   model's, with no deviation but rounding. Ends with the first that is not: the matrix is none that
   gains by threads. */
typedef struct {
  BCRCheck ck;
  BCRRun run;
  PetscBool *active, columns;
  PetscInt first, last;
  char *good; /* of all lines: 1 where it is, 2 where what it was compared with is that of the line before, too */
  int *stop;  /* all threads' */
} BCRCheckPart;

static void BCRCheckPartRun(void *ctx)
{
  BCRCheckPart *L = (BCRCheckPart *)ctx;
  const BCRRows *A = L->ck.A;

  for (PetscInt line = L->first; line < L->last && !BCRThreadsGet(L->stop); line++) {
    const PetscInt ix[3] = {0, A->lo[1] + line % A->n[1], A->lo[2] + line / A->n[1]};
    PetscBool some, all, near, fast, same;

    BCRLineActive(&L->ck, &L->run, ix, L->active, &some, &all, &near);
    if (!some || !near) continue;
    BCRRunCompare(&L->ck, &L->run, ix, L->active, L->columns, &fast, &same);
    L->good[line] = (char)(!fast || !same ? 0 : (L->run.kept ? 2 : 1));
    if (!fast || !same) BCRThreadsSet(L->stop, 1);
  }
}

/* Looks through the lines by several threads where the process is the host of a device and the
   matrix is large: one core reads at a fraction of the memory's speed. good[]: lines that need not
   be compared again. */
static PetscErrorCode BCRCheckThreads(const BCRCheck *ck, PetscBool columns, char good[])
{
  const BCRRows *A = ck->A;
  const PetscInt lines = A->n[1] * A->n[2];
  BCRCheckPart *part;
  void **ctx = NULL;
  PetscBool *active = NULL;
  PetscInt threads;
  PetscErrorCode ierr;
  int stop = 0;

  PetscFunctionBegin;
  PetscCall(BCRThreadsNumber(A->near.mat, (size_t)A->ai[A->dof * A->nodes] * sizeof(PetscScalar), &threads));
  threads = PetscMin(threads, lines);
  if (threads < 2) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCalloc1(threads, &part));
  ierr = PetscMalloc2(threads, &ctx, threads * ck->dof, &active);
  for (PetscInt t = 0; t < threads && !ierr; t++) {
    BCRCheckPart *L = &part[t];

    L->ck = *ck;
    ierr = BCRRunCreate(&L->ck, &L->run);
    L->active = active + t * ck->dof;
    L->columns = columns;
    L->first = (PetscInt)((PetscInt64)lines * t / threads);
    L->last = (PetscInt)((PetscInt64)lines * (t + 1) / threads);
    L->good = good;
    L->stop = &stop;
    ctx[t] = L;
  }
  if (!ierr && part[0].run.i1 - part[0].run.i0 + 1 > BCR_RUN_NODES) BCRThreadsRun(threads, BCRCheckPartRun, ctx);
  for (PetscInt t = 0; t < threads; t++) PetscCall(BCRRunDestroy(&part[t].run));
  PetscCall(PetscFree2(ctx, active));
  PetscCall(PetscFree(part));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- all rows ---- */

/* A number for the boxes of all components: the rows that are compared as runs (FNV hash) */
static uint64_t BCRCheckBoxes(const BCRCheck *ck)
{
  uint64_t boxes = 1469598103934665603u;

  for (PetscInt c = 0; c < ck->dof; c++) {
    for (PetscInt d = 0; d < 3; d++) {
      const uint64_t b = ck->skip[c] ? 2 : (uint64_t)ck->m[c][d].b, n = ck->skip[c] ? 0 : (uint64_t)ck->m[c][d].n;

      boxes = (boxes ^ b) * 1099511628211u;
      boxes = (boxes ^ n) * 1099511628211u;
    }
  }
  return boxes;
}

/* The line through ix, and lines behind it that go with it: ix[1] is the last of them on return. columns: to be checked,
   too; good[]: lines that are known to be right. active: work space, of the components */
static PetscErrorCode BCRCheckLine(BCRCheck *ck, BCRRun *run, PetscInt ix[3], PetscBool columns, PetscBool active[],
                                   const char good[], PetscBool *stop)
{
  const BCRRows *A = ck->A;
  const PetscInt i0 = run->i0, i1 = run->i1; /* these go fast */
  const PetscInt line = ix[1] - A->lo[1] + A->n[1] * (ix[2] - A->lo[2]);
  const char known = good[line];
  PetscBool some, all, near, fast = (PetscBool)(known != 0), same = fast, ends;
  PetscInt like;

  PetscFunctionBegin;
  BCRLineActive(ck, run, ix, active, &some, &all, &near);
  if (known) { /* its buffers were those of a thread */
    run->now = -1;
    run->kept = (PetscBool)(known == 2);
  } else if (some && near && i1 - i0 + 1 > BCR_RUN_NODES) BCRRunCompare(ck, run, ix, active, columns, &fast, &same);
  if (!fast && some && near && i1 >= i0) ck->regular = PETSC_FALSE;
  ix[0] = A->lo[0];
  ends = (PetscBool)(same && all && BCRLineInside(ck, ix));
  like = ends && run->kept && run->like >= 0 ? BCRNode(A, ix) - run->like : 0;
  for (ix[0] = A->lo[0]; ix[0] < A->lo[0] + A->n[0] && !*stop; ix[0]++) {
    if (same && ix[0] == i0 && all) {
      ix[0] = i1;
      continue;
    }
    for (PetscInt c = 0; c < ck->dof && !*stop; c++) {
      if (same && active[c] && ix[0] >= i0 && ix[0] <= i1) continue;
      if (like && BCRRowsAlike(A, BCRNode(A, ix), BCRNode(A, ix) - like)) continue;
      PetscCall(BCRCheckRow(ck, c, ix, stop));
    }
  }
  ix[0] = A->lo[0];
  if (ends && !*stop && run->now >= 0 && ix[1] + 1 < A->lo[1] + A->n[1] && !good[line + 1])
    ix[1] += BCRRunBlock(ck, run, ix, columns);
  run->like = ends ? BCRNode(A, ix) : -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* active: of the components, good: of the rank's lines, zero */
static PetscErrorCode BCRCheckLines(BCRCheck *ck, BCRRun *run, uint64_t known, PetscBool active[], char good[])
{
  const BCRRows *A = ck->A;
  PetscInt ix[3];
  PetscBool stop = PETSC_FALSE, columns;

  PetscFunctionBegin;
  ck->boxes = BCRCheckBoxes(ck);
  ck->regular = PETSC_TRUE;
  columns = (PetscBool)(ck->boxes != known);
  PetscCall(BCRCheckThreads(ck, columns, good));
  for (ix[2] = A->lo[2]; ix[2] < A->lo[2] + A->n[2] && !stop; ix[2]++)
    for (ix[1] = A->lo[1]; ix[1] < A->lo[1] + A->n[1] && !stop; ix[1]++)
      PetscCall(BCRCheckLine(ck, run, ix, columns, active, good, &stop));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCheckAll(BCRCheck *ck, uint64_t known)
{
  PetscBool *active = NULL;
  char *good = NULL;
  BCRRun run;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&ck->v, sizeof(ck->v)));
  PetscCall(BCRRunCreate(ck, &run));
  ierr = PetscMalloc1(ck->dof, &active);
  if (!ierr) ierr = PetscCalloc1(PetscMax(ck->A->n[1] * ck->A->n[2], 1), &good);
  if (!ierr) ierr = BCRCheckLines(ck, &run, known, active, good);
  PetscCall(BCRRunDestroy(&run));
  PetscCall(PetscFree(good));
  PetscCall(PetscFree(active));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCheckSpread(BCRCheck *ck, PetscBool *wrong)
{
  const BCRRows *A = ck->A;
  const PetscInt to[3] = {A->lo[0] + A->n[0], A->lo[1] + A->n[1], A->lo[2] + A->n[2]};
  PetscBool stop = PETSC_FALSE;
  PetscInt ix[3];

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&ck->v, sizeof(ck->v)));
  for (PetscInt k = 0; k < BCR_CHECK_SPREAD && !stop && A->nodes; k++) {
    BCRSpreadNode(A->lo, to, k, PETSC_FALSE, ix);
    for (PetscInt c = 0; c < ck->dof && !stop; c++) PetscCall(BCRCheckRow(ck, c, ix, &stop));
  }
  *wrong = stop;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCheckSample(BCRCheck *ck, PetscBool *wrong)
{
  const BCRSample *S = &ck->A->sample;
  PetscBool stop = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&ck->v, sizeof(ck->v)));
  for (PetscInt b = 0; b < S->n && !stop; b++) {
    const PetscInt *n = S->count[b];

    for (PetscInt q = 0; q < n[0] * n[1] * n[2] && !stop; q++) {
      const PetscInt ix[3] = {S->first[b][0] + q % n[0], S->first[b][1] + q / n[0] % n[1],
                              S->first[b][2] + q / n[0] / n[1]};

      for (PetscInt c = 0; c < ck->dof && !stop; c++) PetscCall(BCRCheckRow(ck, c, ix, &stop));
    }
  }
  *wrong = (PetscBool)(stop && ck->v.state == BCR_ROW_GOOD);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCheckAgree(BCRCheck *ck)
{
  const BCRVerdict *v = &ck->v;
  BCRFault fault = {PETSC_SUCCESS, ""};

  PetscFunctionBegin;
  PetscCall(BCRFaultShare(ck->A->comm, ck->error, BCR_NO_MEMORY));
  if (v->state != BCR_ROW_GOOD) PetscCall(BCRRowFault(ck->A, v->state, v->comp, v->badix, v->col, &fault));
  PetscCall(BCRFaultAgree(ck->A->comm, &fault));
  PetscCall(
    BCRTakeFrom(ck->A->comm, v->wrongplane ? PETSC_INFINITY : PetscMin(v->dev, DBL_MAX), &ck->v, sizeof(ck->v), NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}
