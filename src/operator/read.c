/*
  Reads the separable operator out of a matrix: planes to drop are guessed from a few rows, the
  coefficients of each axis from the rows of one grid line along it, and then every row of the
  matrix is compared with what was read, at the speed of memory. Only when that fails are planes
  searched row by row; then A = S B with B such an operator and S any positive diagonal is tried,
  each row's s being that of its diagonal; and what is still not separable goes to fit.c.
*/
#include "compare.h"
#include "readdevice.h"

/* Takes the old value of everything that is the same to rounding, so that later stages see at once
   that T has not changed */
static PetscErrorCode BCROperatorKeep(const BCROperator *old, BCROperator *op, PetscBool *same)
{
  const double tol = 16 * BCR_EPS;
  /* the diagonal of a row of the matrix less that of a general axis, which is what is left of it
     and no better known */
  double rest = PetscAbsReal(old->shift);
  PetscInt d, s, i;

  PetscFunctionBegin;
  *same = PETSC_FALSE;
  for (d = 0; d < 3; d++) rest += 2 * (double)old->axis[d].a;
  if (old->dim != op->dim || old->singular != op->singular || BCROperatorScaled(old) != BCROperatorScaled(op) ||
      old->left != op->left)
    PetscFunctionReturn(PETSC_SUCCESS);
  for (d = 0; d < 3; d++) {
    const BCRAxis *o = &old->axis[d], *n = &op->axis[d];

    if (o->n != n->n || o->end[0] != n->end[0] || o->end[1] != n->end[1] || !o->lower != !n->lower ||
        !o->weight != !n->weight)
      PetscFunctionReturn(PETSC_SUCCESS);
    for (s = 0; s < 2; s++)
      if (o->plane[s].present != n->plane[s].present || o->plane[s].couple != n->plane[s].couple ||
          PetscAbsReal(o->plane[s].slope - n->plane[s].slope) > tol * PetscMax(1, PetscAbsReal(o->plane[s].slope)))
        PetscFunctionReturn(PETSC_SUCCESS);
    if (PetscAbsReal(o->a - n->a) > tol * PetscAbsReal(o->a)) PetscFunctionReturn(PETSC_SUCCESS);
    for (i = 0; i < n->n; i++) {
      if (n->lower && (PetscAbsReal(n->lower[i] - o->lower[i]) > tol * o->lower[i] ||
                       PetscAbsReal(n->upper[i] - o->upper[i]) > tol * o->upper[i] ||
                       PetscAbsReal(n->diag[i] - o->diag[i]) > tol * (PetscAbsReal(o->diag[i]) + rest)))
        PetscFunctionReturn(PETSC_SUCCESS);
      if (n->weight && PetscAbsReal(n->weight[i] - o->weight[i]) > tol * o->weight[i])
        PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  for (d = 0; d < 3; d++) {
    const BCRAxis *o = &old->axis[d];
    BCRAxis *n = &op->axis[d];

    for (s = 0; s < 2; s++) n->plane[s].slope = o->plane[s].slope;
    for (s = 0; s < 2; s++)
      if (PetscAbsReal(n->plane[s].coupling - o->plane[s].coupling) <= tol * o->plane[s].coupling)
        n->plane[s].coupling = o->plane[s].coupling;
    n->a = o->a;
    if (n->lower) {
      PetscCall(PetscArraycpy(n->lower, o->lower, n->n));
      PetscCall(PetscArraycpy(n->diag, o->diag, n->n));
      PetscCall(PetscArraycpy(n->upper, o->upper, n->n));
    }
    if (n->weight) PetscCall(PetscArraycpy(n->weight, o->weight, n->n));
  }
  *same = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

enum {
  BCR_GUESSED,  /* planes from a row each */
  BCR_SEARCHED, /* planes looked at row by row */
  BCR_LEFT,     /* rows scaled */
  BCR_FITTED
};

static PetscErrorCode BCRStageFit(BCROperator *op, PetscInt *stage)
{
  PetscFunctionBegin;
  *stage = BCR_FITTED;
  op->left = PETSC_FALSE;
  for (PetscInt d = 0; d < 6; d++) PetscCall(PetscFree(op->axis[d / 2].plane[d % 2].inv));
  PetscCall(PetscFree(op->rowscale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What to try after a comparison has failed; *lines: op holds what the grid lines have */
static PetscErrorCode BCRStageNext(const BCRRows *A, PetscInt c, BCROperator *op, PetscInt *stage, PetscBool *lines)
{
  PetscInt d;

  PetscFunctionBegin;
  for (d = 0; d < 6; d++) PetscCall(PetscFree(op->axis[d / 2].plane[d % 2].inv));
  if (*stage == BCR_GUESSED) {
    PetscBool before[6], changed = PETSC_FALSE;

    *stage = BCR_SEARCHED;
    for (d = 0; d < 6; d++) before[d] = op->axis[d / 2].plane[d % 2].present;
    PetscCall(BCRPlanesSearch(A, c, op));
    for (d = 0; d < 3; d++) changed = (PetscBool)(changed || op->owner[d] != d);
    for (d = 0; d < 6; d++) changed = (PetscBool)(changed || before[d] != op->axis[d / 2].plane[d % 2].present);
    if (changed) {
      PetscCall(BCRAxesRead(A, c, op, lines));
      if (*lines) PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  if (*stage == BCR_SEARCHED && *lines) {
    PetscInt box, first, b[3];

    for (d = 0, box = 1; d < 3; d++) {
      b[d] = op->axis[d].plane[0].present ? 1 : 0;
      box *= BCRInside(A, d, b[d], op->axis[d].n, &first);
    }
    if (op->axis[0].n > 0 && op->axis[1].n > 0 && op->axis[2].n > 0) {
      *stage = BCR_LEFT;
      op->left = PETSC_TRUE;
      for (d = 0; d < 3; d++) PetscCall(PetscFree(op->axis[d].weight)); /* they go into the row scales */
      PetscCall(PetscMalloc1(PetscMax(box, 1), &op->rowscale));         /* there on all ranks, or on none */
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  PetscCall(BCRStageFit(op, stage));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *boxes: what the columns are known to be right for; on return what they have been found right for; 0: nothing */
static PetscErrorCode BCRReadAll(BCRRows *A, BCRFit fit, BCROperator ops[], PetscInt stage[], BCRModelAxis (*m)[3],
                                 PetscBool skip[], PetscBool lines[], uint64_t *boxes)
{
  PetscInt c, d, s, dof = A->dof;
  PetscBool there = PETSC_FALSE; /* compared where it is, and the same */
#if defined(PETSCBCR_HAVE_CUDA)
  PetscBool first = PETSC_TRUE;
#endif
  BCRCheck ck;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&ck, sizeof(ck)));
  ck.A = A;
  ck.dof = dof;
  ck.ops = ops;
  ck.m = m;
  ck.skip = skip;
  for (c = 0; c < dof; c++) {
    for (d = 0; d < 3; d++) {
      ops[c].owner[d] = d;
      for (s = 0; s < 2; s++) PetscCall(BCRPlaneGuess(A, c, d, s, &ops[c].axis[d].plane[s]));
    }
    PetscCall(BCRFaultShare(A->comm, BCRAxesRead(A, c, &ops[c], &lines[c]), BCR_NO_MEMORY));
    /* searching the planes may help */
    if (!lines[c]) PetscCall(BCRFaultShare(A->comm, BCRStageNext(A, c, &ops[c], &stage[c], &lines[c]), BCR_NO_MEMORY));
  }
  for (;;) {
    PetscBool compare = PETSC_FALSE, wrong = PETSC_FALSE;

    for (c = 0; c < dof; c++) {
      skip[c] = (PetscBool)(stage[c] == BCR_FITTED);
      compare = (PetscBool)(compare || !skip[c]);
    }
    if (!compare) break;
    for (c = 0; c < dof && !ck.error; c++)
      if (!skip[c]) ck.error = BCRModelCreate(&ops[c], m[c]);
    PetscCall(BCRFaultShare(A->comm, ck.error, BCR_NO_MEMORY));
#if defined(PETSCBCR_HAVE_CUDA)
    if (A->device && first) {
      PetscCall(PetscMemzero(&ck.v, sizeof(ck.v)));
      PetscCall(BCRSampleCompare(A, ops, m, skip, &there, &ck.v.dev, &ck.v.comp, &ck.v.row, &ck.v.col));
      first = PETSC_FALSE;
    }
    if (!there && A->device && !A->aa) PetscCall(BCRCheckSample(&ck, &wrong));
    if (!there && !wrong) PetscCall(BCRRowsFetch(A));
#endif
    if (!there && !wrong) ck.error = BCRCheckAll(&ck, *boxes);
    for (c = 0; c < dof; c++)
      if (!skip[c]) PetscCall(BCRModelDestroy(m[c]));
    if (!there && !wrong) PetscCall(BCRCheckAgree(&ck));
    if (there || (!wrong && !ck.v.wrongplane && ck.v.dev <= BCR_SAME_TOL)) {
      PetscBool again = PETSC_FALSE;

      /* what differs from a singular operator, though by less than a coefficient may, must not lift the singularity */
      for (c = 0; c < dof && 8 * ck.v.dev > BCR_NULL_TOL; c++) {
        PetscBool null = PETSC_FALSE;

        if (skip[c] || !BCROperatorNeutral(&ops[c])) continue;
        PetscCall(BCRRowsNull(A, c, &ops[c], PETSC_FALSE, &null));
        if (null) continue;
        again = PETSC_TRUE;
        PetscCall(BCRStageFit(&ops[c], &stage[c]));
      }
      if (again) {
        there = PETSC_FALSE;
        continue;
      }
      if (!there) *boxes = ck.regular ? ck.boxes : 0;
      break;
    }
    PetscCall(BCRFaultShare(A->comm, BCRStageNext(A, ck.v.comp, &ops[ck.v.comp], &stage[ck.v.comp], &lines[ck.v.comp]),
                            BCR_NO_MEMORY));
  }
  for (c = 0; c < dof; c++) {
    if (stage[c] == BCR_FITTED) PetscCall(BCRFaultShare(A->comm, BCRFitRead(A, c, fit, &ops[c]), BCR_NO_MEMORY));
    else {
      PetscCall(PetscStrncpy(ops[c].fit, "exact", sizeof(ops[c].fit)));
      ops[c].deviation = c == ck.v.comp ? (PetscReal)ck.v.dev : 0;
      ops[c].devrow = c == ck.v.comp ? ck.v.row : 0;
      ops[c].devcol = c == ck.v.comp ? ck.v.col : 0;
    }
    PetscCall(BCRFaultShare(A->comm, BCROperatorCheckDefinite(&ops[c]), BCR_NO_MEMORY));
  }
  for (c = 0; c < dof; c++) {
    int varies[6];

    for (d = 0; d < 6; d++) varies[d] = ops[c].axis[d / 2].plane[d % 2].inv != NULL;
    if (A->grid.size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, varies, 6, MPI_INT, MPI_MAX, A->comm));
    for (d = 0; d < 6; d++) ops[c].axis[d / 2].plane[d % 2].varies = (PetscBool)varies[d];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCROperatorReadUpdate(DM da, Mat P, BCRFit fit, BCRPattern *pattern, PetscInt *dof, BCROperator **ops,
                                     PetscBool *same)
{
  BCRRows A;
  BCROperator *fresh = NULL;
  PetscObjectId id;
  PetscObjectState state;
  uint64_t boxes = 0;
  PetscBool keep, all, *skip, *lines, again;
  PetscInt c, *stage;
  BCRModelAxis(*m)[3] = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetId((PetscObject)P, &id));
  PetscCall(MatGetNonzeroState(P, &state));
  again = (PetscBool)(pattern && pattern->known && pattern->id == id && pattern->state == state);
  if (again) boxes = pattern->boxes;
  ierr = BCRRowsOpen(da, P, (PetscBool)(again && pattern->full), (PetscBool)(again && pattern->fitted), &A);
  if (!ierr) ierr = PetscCalloc1(A.dof, &fresh);
  if (!ierr) ierr = PetscCalloc4(A.dof, &stage, A.dof, &m, A.dof, &skip, A.dof, &lines);
  ierr = BCRFaultShare(PetscObjectComm((PetscObject)P), ierr, BCR_NO_MEMORY);
  if (!ierr) ierr = BCRReadAll(&A, fit, fresh, stage, m, skip, lines, &boxes);
  if (m) {
    for (c = 0; c < A.dof; c++) PetscCall(BCRModelDestroy(m[c]));
    PetscCall(PetscFree4(stage, m, skip, lines));
  }
#if defined(PETSCBCR_HAVE_CUDA)
  if (pattern && !again && !ierr) {
    const PetscInt rows = A.dof * A.nodes;

    for (c = 0; c < rows && A.ai[c + 1] > A.ai[c]; c++) {}
    pattern->full = (PetscBool)(c == rows);
  }
#endif
  PetscCall(BCRRowsClose(&A));
  if (ierr) PetscCall(BCROperatorDestroy(A.dof, &fresh));
  PetscCall(ierr);
  if (pattern) {
    pattern->known = PETSC_TRUE;
    pattern->id = id;
    pattern->state = state;
    pattern->boxes = boxes;
    for (c = 0, pattern->fitted = PETSC_FALSE; c < A.dof; c++)
      pattern->fitted = (PetscBool)(pattern->fitted || strcmp(fresh[c].fit, "exact"));
  }
  all = (PetscBool)(*ops && *dof == A.dof);
  if (all)
    for (c = 0; c < A.dof; c++) {
      PetscCall(BCROperatorKeep(&(*ops)[c], &fresh[c], &keep));
      all = (PetscBool)(all && keep);
    }
  if (*ops) PetscCall(BCROperatorDestroy(*dof, ops));
  *dof = A.dof;
  *ops = fresh;
  if (same) *same = all;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCROperatorRead(DM da, Mat P, BCRFit fit, PetscInt *dof, BCROperator **ops)
{
  PetscFunctionBegin;
  *ops = NULL;
  *dof = 0;
  PetscCall(BCROperatorReadUpdate(da, P, fit, NULL, dof, ops, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}
