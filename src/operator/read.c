/*
  Reads the separable operator out of a matrix: planes to drop are guessed from a few rows, the
  coefficients of each axis from the rows of one grid line along it, and then every row of the
  matrix is compared with what was read, at the speed of memory. Only when that fails are planes
  searched row by row; then A = S B with B such an operator and S any positive diagonal is tried,
  each row's s being that of its diagonal; and what is still not separable goes to fit.c.
*/
#include "compare.h"
#include "readdevice.h"
#include "turn.h"

typedef enum {
  BCR_GUESSED,  /* planes from a row each */
  BCR_SEARCHED, /* planes looked at row by row */
  BCR_LEFT,     /* rows scaled */
  BCR_DIFFERS,  /* most rows */
  BCR_PRODUCT,  /* products of axes */
  BCR_FITTED
} BCRStage;

/* Arrays are of dof components */
typedef struct {
  BCRRows rows;
  BCRWhy why;
  BCROperator *ops;
  BCRModelAxis (*models)[3];
  PetscBool *skip;  /* components that are not compared: they are fitted, or have rows that differ */
  PetscBool differ; /* those are looked for */
  PetscBool star;   /* products of axes are not */
  BCRStage *stage;
  PetscBool *lines; /* the operator holds what the grid lines have */
  BCRTurn turn;
  BCRCheck check;
  uint64_t boxes;         /* rows whose columns are known to be right; 0: none */
  PetscBool asked, there; /* all rows have been compared where they are, on the device; and are the operators' */
} BCRReader;

static PetscErrorCode BCRStageFit(BCROperator *op, BCRStage *stage)
{
  PetscFunctionBegin;
  *stage = BCR_FITTED;
  op->left = PETSC_FALSE;
  for (PetscInt d = 0; d < 6; d++) PetscCall(PetscFree(op->axis[d / 2].plane[d % 2].inv));
  PetscCall(PetscFree(op->rowscale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Looks at planes row by row, and reads the axes again if that changes them */
static PetscErrorCode BCRStageSearch(const BCRRows *A, PetscInt c, BCROperator *op, PetscBool *changed,
                                     PetscBool *lines)
{
  PetscBool before[6];

  PetscFunctionBegin;
  *changed = PETSC_FALSE;
  for (PetscInt d = 0; d < 6; d++) before[d] = op->axis[d / 2].plane[d % 2].present;
  PetscCall(BCRPlanesSearch(A, c, op));
  for (PetscInt d = 0; d < 6; d++)
    *changed = (PetscBool)(*changed || before[d] != op->axis[d / 2].plane[d % 2].present);
  if (*changed) PetscCall(BCRAxesRead(A, c, op, lines));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows may each be multiplied with a factor: weights go into those */
static PetscErrorCode BCRStageLeft(const BCRRows *A, BCROperator *op)
{
  PetscInt first, box = 1;

  PetscFunctionBegin;
  op->left = PETSC_TRUE;
  for (PetscInt d = 0; d < 3; d++) {
    box *= BCRInside(A, d, op->axis[d].plane[0].present ? 1 : 0, op->axis[d].n, &first);
    PetscCall(PetscFree(op->axis[d].weight));
  }
  PetscCall(PetscMalloc1(PetscMax(box, 1), &op->rowscale)); /* there on all ranks, or on none */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* No operator is the matrix: one that most of its rows have, or a fit. Collective */
static PetscErrorCode BCRStageLast(BCRReader *R, PetscInt c)
{
  PetscBool good = PETSC_FALSE;

  PetscFunctionBegin;
  if (R->differ) PetscCall(BCRDifferRead(&R->rows, c, &R->ops[c], &good));
  if (good) R->stage[c] = BCR_DIFFERS;
  else PetscCall(BCRStageFit(&R->ops[c], &R->stage[c]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Couplings to dropped planes that vary on these (BCRReadTimed()) do not go with factors of rows, which may be other ranks' */
static PetscBool BCRStageNoLeft(const BCROperator *op)
{
  const PetscInt line = BCRAxesTimes(op->dim, op->axis);

  return (PetscBool)(line >= 0 && (op->axis[op->axis[line].timed].plane[0].couple ||
                                   op->axis[op->axis[line].timed].plane[1].couple));
}

/* Where the operator of the grid lines is not the matrix, for those who want no other */
static PetscErrorCode BCRStageWhy(BCRReader *R, PetscInt c)
{
  const BCRRows *A = &R->rows;
  const BCRVerdict *v = &R->check.v;

  PetscFunctionBegin;
  if ((R->why.text[0] && R->why.c == c) || v->comp != c || v->wrongplane || !(v->dev > 0 && v->dev < PETSC_MAX_REAL))
    PetscFunctionReturn(PETSC_SUCCESS);
  R->why.c = c;
  PetscCall(PetscSNPrintf(R->why.text, sizeof(R->why.text),
                          ". From the coefficients of the grid lines through one point row %" PetscInt_FMT
                          " (grid point %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT "), column %" PetscInt_FMT
                          " is off by %g",
                          c + A->dof * v->row, v->row % A->N[0], (v->row / A->N[0]) % A->N[1],
                          v->row / (A->N[0] * A->N[1]), c + A->dof * v->col, v->dev));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What to try after a comparison of component c has failed: at a row that is no multiple of the operator's, factors of
   rows are of no use. Collective */
static PetscErrorCode BCRStageNext(BCRReader *R, PetscInt c)
{
  BCROperator *op = &R->ops[c];
  BCRStage *stage = &R->stage[c];

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 6; d++) PetscCall(PetscFree(op->axis[d / 2].plane[d % 2].inv));
  if (R->lines[c]) PetscCall(BCRStageWhy(R, c));
  if (*stage == BCR_GUESSED) {
    PetscBool changed;

    *stage = BCR_SEARCHED;
    PetscCall(BCRStageSearch(&R->rows, c, op, &changed, &R->lines[c]));
    if (changed && R->lines[c]) PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (*stage == BCR_SEARCHED && R->lines[c] && !(R->check.v.other && R->check.v.comp == c) && op->axis[0].n > 0 &&
      op->axis[1].n > 0 && op->axis[2].n > 0 && !BCRStageNoLeft(op)) {
    *stage = BCR_LEFT;
    PetscCall(BCRStageLeft(&R->rows, op));
  } else PetscCall(BCRStageLast(R, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRReadGuess(BCRReader *R, PetscInt c)
{
  BCRRows *A = &R->rows;
  BCROperator *op = &R->ops[c];
  PetscBool product = PETSC_FALSE, differ = PETSC_FALSE;

  PetscFunctionBegin;
  A->box.wanted = A->box.tried = PETSC_FALSE;
  if (!R->star) PetscCall(BCRProductRead(A, c, op, &product));
  if (!product && R->differ && !R->turn.real) PetscCall(BCRDifferProduct(A, c, op, &differ));
  if (product || differ) {
    R->stage[c] = differ ? BCR_DIFFERS : BCR_PRODUCT;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BCRPlanesGuess(A, c, op));
  PetscCall(BCRFaultShare(A->comm, BCRAxesRead(A, c, op, &R->lines[c]), BCR_NO_MEMORY));
  /* searching the planes may help */
  if (!R->lines[c]) PetscCall(BCRFaultShare(A->comm, BCRStageNext(R, c), BCR_NO_MEMORY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Compares the matrix with the operators of all components that are not fitted. *same: they are the matrix; else
   check.v.comp is one whose operator is not */
static PetscErrorCode BCRReadCompare(BCRReader *R, PetscBool *same)
{
  BCRCheck *ck = &R->check;
  const BCRRows *A = &R->rows;
  PetscBool wrong = PETSC_FALSE;

  PetscFunctionBegin;
  for (PetscInt c = 0; c < A->dof && !ck->error; c++)
    if (!R->skip[c]) ck->error = BCRModelCreate(&R->ops[c], R->models[c]);
  PetscCall(BCRFaultShare(A->comm, ck->error, BCR_NO_MEMORY));
  R->there = PETSC_FALSE;
  if (A->device && !R->asked) {
    R->asked = PETSC_TRUE;
    PetscCall(BCRSampleCompare(ck, &R->there));
  }
  if (!R->there && A->device && !A->aa) PetscCall(BCRCheckSample(ck, &wrong));
  if (!R->there && !wrong) {
    PetscBool other = PETSC_FALSE;

    PetscCall(BCRRowsFetch(A));
    if (R->differ) ck->error = BCRCheckSpread(ck, &other);
    if (!ck->error && !other) ck->error = BCRCheckAll(ck, R->boxes);
  }
  for (PetscInt c = 0; c < A->dof; c++)
    if (!R->skip[c]) PetscCall(BCRModelDestroy(R->models[c]));
  if (!R->there && !wrong) PetscCall(BCRCheckAgree(ck));
  *same = (PetscBool)(R->there || (!wrong && !ck->v.wrongplane && ck->v.dev <= BCR_SAME_TOL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What differs from a singular operator, though by less than a coefficient may, must not lift the singularity. *good: it
   does not; else operators are left to be fitted */
static PetscErrorCode BCRReadSingular(BCRReader *R, PetscBool *good)
{
  const BCRRows *A = &R->rows;

  PetscFunctionBegin;
  *good = PETSC_TRUE;
  for (PetscInt c = 0; c < A->dof && 8 * R->check.v.dev > BCR_NULL_TOL; c++) {
    PetscBool null = PETSC_FALSE;

    if (R->skip[c] || R->turn.real || !BCROperatorNeutral(&R->ops[c])) continue;
    PetscCall(BCRRowsNull(A, c, &R->ops[c], PETSC_FALSE, &null));
    if (null) continue;
    *good = PETSC_FALSE;
    PetscCall(BCRStageFit(&R->ops[c], &R->stage[c]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Couplings to dropped planes of an axis that is multiplied by numbers along another are those of each node */
static PetscErrorCode BCRReadTimed(const BCRRows *A, BCROperator *op)
{
  const PetscInt line = BCRAxesTimes(op->dim, op->axis), timed = line < 0 ? 0 : op->axis[line].timed;

  PetscFunctionBegin;
  for (PetscInt s = 0; s < 2 && line >= 0; s++) {
    const BCRAxis *t = &op->axis[timed];
    BCRPlane *pl = &op->axis[timed].plane[s];
    const PetscInt n = BCRPlaneNodes(A, timed, s);
    PetscInt ix[3];

    if (!pl->present || !pl->couple) continue;
    PetscCall(PetscCalloc1(PetscMax(n, 1), &pl->couplings)); /* there on all ranks, or on none */
    for (ix[2] = A->lo[2]; ix[2] < A->lo[2] + A->n[2] && n; ix[2]++)
      for (ix[1] = A->lo[1]; ix[1] < A->lo[1] + A->n[1]; ix[1]++)
        for (ix[0] = A->lo[0]; ix[0] < A->lo[0] + A->n[0]; ix[0]++) {
          PetscReal value = pl->coupling * (t->weight ? t->weight[s ? t->n - 1 : 0] : 1);
          PetscBool inside = (PetscBool)(ix[timed] == (s ? A->N[timed] - 1 : 0));

          for (PetscInt d = 0; d < 3 && inside; d++) {
            const BCRAxis *x = &op->axis[d];
            const PetscInt i = ix[d] - (x->plane[0].present ? 1 : 0);

            if (d == timed) continue;
            inside = (PetscBool)(i >= 0 && i < x->n);
            if (inside) value *= (x->weight ? x->weight[i] : 1) * (x->times ? x->times[i] : 1);
          }
          if (inside) pl->couplings[BCRPlaneNode(A, timed, ix)] = value;
        }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operator of component c as it is to be returned */
static PetscErrorCode BCRReadFinish(BCRReader *R, PetscInt c, BCRFit fit)
{
  BCRRows *A = &R->rows;
  BCROperator *op = &R->ops[c];
  const BCRVerdict *v = &R->check.v;
  int varies[6];

  PetscFunctionBegin;
  if (R->stage[c] == BCR_FITTED) PetscCall(BCRFaultShare(A->comm, BCRFitRead(A, c, fit, op), BCR_NO_MEMORY));
  else if (R->stage[c] < BCR_DIFFERS) {
    PetscCall(BCRFaultShare(A->comm, BCRReadTimed(A, op), BCR_NO_MEMORY));
    PetscCall(PetscStrncpy(op->fit, "exact", sizeof(op->fit)));
    op->deviation = c == v->comp ? (PetscReal)v->dev : 0;
    op->devrow = c == v->comp ? v->row : 0;
    op->devcol = c == v->comp ? v->col : 0;
  }
  PetscCall(BCRPlanesEmpty(A, c, op));
  PetscCall(BCRTurnShift(&R->turn, A, c, op));
  PetscCall(BCRFaultShare(A->comm, BCROperatorCheckDefinite(op), BCR_NO_MEMORY));
  for (PetscInt d = 0; d < 6; d++) varies[d] = op->axis[d / 2].plane[d % 2].inv != NULL;
  if (A->grid.size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, varies, 6, MPI_INT, MPI_MAX, A->comm));
  for (PetscInt d = 0; d < 6; d++) op->axis[d / 2].plane[d % 2].varies = (PetscBool)varies[d];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRReadAll(BCRReader *R, BCRFit fit)
{
  const PetscInt dof = R->rows.dof;
  PetscBool done = PETSC_FALSE;

  PetscFunctionBegin;
  R->check.A = &R->rows;
  R->check.dof = dof;
  R->check.ops = R->ops;
  R->check.m = R->models;
  R->check.skip = R->skip;
  for (PetscInt c = 0; c < dof; c++) PetscCall(BCRReadGuess(R, c));
  while (!done) {
    PetscBool same = PETSC_FALSE;
    PetscInt left = 0;

    for (PetscInt c = 0; c < dof; c++) {
      R->skip[c] = (PetscBool)(R->stage[c] >= BCR_DIFFERS);
      left += R->skip[c] ? 0 : 1;
    }
    if (left == 0) break;
    PetscCall(BCRReadCompare(R, &same));
    if (same) PetscCall(BCRReadSingular(R, &done));
    else PetscCall(BCRFaultShare(R->rows.comm, BCRStageNext(R, R->check.v.comp), BCR_NO_MEMORY));
    if (done && !R->there) R->boxes = R->check.regular ? R->check.boxes : 0;
  }
  for (PetscInt c = 0; c < dof; c++) PetscCall(BCRReadFinish(R, c, fit));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operators of all components. pattern: what is known of the matrix, or NULL; on return what it is now. old: those
   that were read last time, nold of them */
static PetscErrorCode BCRReadMatrix(const BCRGrid *grid, Mat P, BCRFit fit, BCRPattern *pattern, PetscInt nold,
                                    const BCROperator old[], PetscInt *dof, BCROperator **ops)
{
  BCRReader R;
  PetscObjectId id;
  PetscObjectState state;
  PetscBool again;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&R, sizeof(R)));
  PetscCall(PetscObjectGetId((PetscObject)P, &id));
  PetscCall(MatGetNonzeroState(P, &state));
  again = (PetscBool)(pattern && pattern->known && pattern->id == id && pattern->state == state);
  if (again) R.boxes = pattern->boxes;
  R.differ = (PetscBool)(pattern && pattern->differ);
  R.star = (PetscBool)(pattern && pattern->star);
  BCRCallElse(BCRTurnCreate(P, &R.turn), (void)BCRTurnDestroy(&R.turn));
  if (R.turn.real) again = PETSC_FALSE;
  ierr = BCRRowsOpen(grid, R.turn.real ? R.turn.real : P, (PetscBool)(again && pattern->full),
                     (PetscBool)(again && pattern->fitted), &R.rows);
  R.rows.why = &R.why;
  /* a fit that was chosen by its name is what is wanted */
  R.rows.one = (PetscBool)(pattern && pattern->one);
  R.rows.several = (PetscBool)(!R.rows.one && (fit == BCR_FIT_AUTO || fit == BCR_FIT_EXACT));
  R.rows.rings = (PetscBool)(!R.rows.one && !(pattern && pattern->device && grid->size > 1));
  *dof = R.rows.dof;
  if (!ierr) ierr = PetscCalloc1(*dof, &R.ops);
  for (PetscInt c = 0; c < nold && nold == *dof && again && !ierr; c++) {
    R.ops[c].looked = old[c].looked;
    R.ops[c].lookedfit = old[c].lookedfit;
    R.ops[c].prefer = old[c].prefer;
    R.ops[c].preferred = old[c].preferred;
  }
  if (!ierr) ierr = PetscCalloc4(*dof, &R.stage, *dof, &R.models, *dof, &R.skip, *dof, &R.lines);
  ierr = BCRFaultShare(PetscObjectComm((PetscObject)P), ierr, BCR_NO_MEMORY);
  if (!ierr) ierr = BCRReadAll(&R, fit);
  for (PetscInt c = 0; R.models && c < *dof; c++) PetscCall(BCRModelDestroy(R.models[c]));
  PetscCall(PetscFree4(R.stage, R.models, R.skip, R.lines));
  if (pattern && !ierr) pattern->full = R.rows.full;
  PetscCall(BCRRowsClose(&R.rows));
  PetscCall(BCRTurnDestroy(&R.turn));
  if (ierr) PetscCall(BCROperatorDestroy(*dof, &R.ops));
  PetscCall(ierr);
  *ops = R.ops;
  if (pattern) {
    pattern->known = PETSC_TRUE;
    pattern->id = id;
    pattern->state = state;
    pattern->boxes = R.boxes;
    pattern->fitted = PETSC_FALSE;
    for (PetscInt c = 0; c < *dof; c++) pattern->fitted = (PetscBool)(pattern->fitted || strcmp(R.ops[c].fit, "exact"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCROperatorReadUpdate(const BCRGrid *grid, Mat P, BCRFit fit, BCRPattern *pattern, PetscInt *dof,
                                     BCROperator **ops, PetscBool *same)
{
  BCROperator *fresh = NULL;
  PetscInt components;
  PetscBool keep, all;

  PetscFunctionBegin;
  PetscCall(BCRReadMatrix(grid, P, fit, pattern, *ops ? *dof : 0, *ops, &components, &fresh));
  all = (PetscBool)(*ops && *dof == components);
  for (PetscInt c = 0; c < components && *ops && *dof == components; c++) {
    PetscCall(BCROperatorKeep(&(*ops)[c], &fresh[c], &keep));
    all = (PetscBool)(all && keep);
  }
  if (*ops) PetscCall(BCROperatorDestroy(*dof, ops));
  *dof = components;
  *ops = fresh;
  if (same) *same = all;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCROperatorRead(DM da, Mat P, BCRFit fit, PetscInt *dof, BCROperator **ops)
{
  BCRGrid grid;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *ops = NULL;
  *dof = 0;
  PetscCall(BCRGridCreate(da, PetscObjectComm((PetscObject)P), &grid));
  ierr = BCROperatorReadUpdate(&grid, P, fit, NULL, dof, ops, NULL);
  PetscCall(BCRGridDestroy(&grid));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
