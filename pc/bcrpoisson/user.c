/*
  The operator that PCBCRPoissonSetOperator() and its like or the options describe, for PCBCRPOISSON without a matrix.
*/
#include "bcrpoisson.h"

/* No rank waits for another */
static PetscErrorCode make_operators(PC_BCRPoisson *bcr, PetscInt dim, const PetscReal coupling[], const BCREnd end[],
                                     const BCRUserAxis axis[])
{
  BCRUserTerms terms = {.tau = bcr->tau};

  PetscFunctionBegin;
  terms.mixed[3] = bcr->nmixed > 0 ? bcr->mixed[0] : 0;
  for (PetscInt k = 1; k < bcr->nmixed; ++k) terms.mixed[4 + k] = bcr->mixed[k];
  PetscCall(PetscCalloc1(bcr->dof, &bcr->ops));
  for (PetscInt c = 0; c < bcr->dof; ++c) {
    BCROperator *op;

    PetscCall(BCROperatorCreateAxes(dim, bcr->size, coupling, end, axis, &terms, bcr->shift, bcr->scale, &op));
    bcr->ops[c] = *op;
    PetscCall(PetscFree(op)); /* what it points to lives on */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Do all ranks have the same n numbers? */
static PetscErrorCode check_same(PC pc, PetscInt n, const PetscReal number[], const char what[])
{
  const unsigned char *byte = (const unsigned char *)number;
  unsigned long long h = 14695981039346656037ULL; /* FNV-1a, of which a double holds 52 bits */
  double mine;

  PetscFunctionBegin;
  for (size_t k = 0; k < (size_t)n * sizeof(PetscReal); k++) h = (h ^ byte[k]) * 1099511628211ULL;
  mine = n ? (double)(h >> 12) : 0;
  PetscCall(BCRSame(PetscObjectComm((PetscObject)pc), "", 1, &what, &mine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Do the numbers along an axis fit the grid? */
static PetscErrorCode check_times(PC pc)
{
  const PC_BCRPoisson *bcr = (const PC_BCRPoisson *)pc->data;
  const PetscInt along = (PetscInt)bcr->along, of = (PetscInt)bcr->timed, dim = bcr->place.grid.dim;

  PetscFunctionBegin;
  PetscCall(check_same(pc, bcr->ntimes, bcr->times, "What PCBCRPoissonSetOperatorTimes() was given"));
  if (!bcr->ntimes) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(
    along < dim && of < dim && bcr->size[along] > 1 && bcr->size[of] > 1, PetscObjectComm((PetscObject)pc),
    PETSC_ERR_ARG_INCOMP,
    "PCBCRPoissonSetOperatorTimes() was given numbers along axis %c for axis %c: the grid has dimension %" PetscInt_FMT
    " and must have more than one node along both",
    (char)('x' + along), (char)('x' + of), dim);
  PetscCheck(bcr->ntimes == bcr->size[along], PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_SIZ,
             "PCBCRPoissonSetOperatorTimes() was given %" PetscInt_FMT
             " numbers along axis %c, along which the grid has %" PetscInt_FMT " nodes: give one for each",
             bcr->ntimes, (char)('x' + along), bcr->size[along]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Do all ranks have the same arrays for an axis, and do these fit the grid? */
static PetscErrorCode check_axis(PC pc, PetscInt d)
{
  const PC_BCRPoisson *bcr = (const PC_BCRPoisson *)pc->data;
  const PetscInt n = bcr->naxis[d];
  const char x = (char)('x' + d);
  char what[64];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "What PCBCRPoissonSetOperatorAxis() was given for axis %c", x));
  PetscCall(check_same(pc, 3 * n, bcr->axis[d], what));
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(d < bcr->place.grid.dim, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_INCOMP,
             "PCBCRPoissonSetOperatorAxis() was given axis %c, but the grid has dimension %" PetscInt_FMT, x,
             bcr->place.grid.dim);
  PetscCheck(n == bcr->size[d], PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_SIZ,
             "PCBCRPoissonSetOperatorAxis() was given %" PetscInt_FMT
             " rows of axis %c, along which the grid has %" PetscInt_FMT " nodes: give a row for each",
             n, x, bcr->size[d]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Do products of axes, and a complex shift, go with the axes? */
static PetscErrorCode check_terms(PC pc)
{
  const PC_BCRPoisson *bcr = (const PC_BCRPoisson *)pc->data;
  const PetscInt dim = bcr->place.grid.dim;
  PetscBool mixed = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCheck(!bcr->nmixed || bcr->nmixed == (dim == 2 ? 1 : 4), PetscObjectComm((PetscObject)pc),
             dim == 1 ? PETSC_ERR_ARG_INCOMP : PETSC_ERR_ARG_SIZ,
             "-%spc_bcrpoisson_mixed (or PCBCRPoissonSetOperatorMixed()) has %" PetscInt_FMT
             " factors, the DMDA has dimension %" PetscInt_FMT
             ": give one (xy) in two dimensions, four (xy, xz, yz, xyz) "
             "in three",
             BCRPrefix(pc), bcr->nmixed, dim);
  for (PetscInt k = 0; k < bcr->nmixed; ++k) mixed = (PetscBool)(mixed || bcr->mixed[k] != 0);
  for (PetscInt d = 0; d < dim && mixed; ++d) {
    PetscBool robin = PETSC_FALSE;

    for (PetscInt e = 2 * d; e < 2 * d + 2 && bcr->nrobin; ++e) robin = (PetscBool)(robin || bcr->robin[e] != 0);
    PetscCheck(
      !bcr->naxis[d] && !robin && !bcr->ntimes, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_INCOMP,
      "-%spc_bcrpoisson_mixed (or PCBCRPoissonSetOperatorMixed()): products of axes are for uniform ones, and axis "
      "%c has arrays or Robin values, or is multiplied: give -%spc_bcrpoisson_spacing and ends for it",
      BCRPrefix(pc), (char)('x' + d), BCRPrefix(pc));
  }
  PetscCheck(!mixed || bcr->tau == 0, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_INCOMP,
             "-%spc_bcrpoisson_mixed (or PCBCRPoissonSetOperatorMixed()): products of axes are for real shifts: leave "
             "-%spc_bcrpoisson_shift_imaginary out",
             BCRPrefix(pc), BCRPrefix(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Does what the user gave fit the dimension of the DMDA? */
static PetscErrorCode check_operator(PC pc)
{
  const PC_BCRPoisson *bcr = (const PC_BCRPoisson *)pc->data;
  const PetscInt dim = bcr->place.grid.dim;
  PetscBool arrays = PETSC_TRUE; /* of all axes */

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; ++d) PetscCall(check_axis(pc, d));
  PetscCall(check_times(pc));
  for (PetscInt d = 0; d < dim; ++d) arrays = (PetscBool)(arrays && bcr->naxis[d]);
  PetscCheck(!bcr->dim || bcr->dim == dim, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_INCOMP,
             "PCBCRPoissonSetOperator() was given an operator of dimension %" PetscInt_FMT
             ", the DMDA has dimension %" PetscInt_FMT,
             bcr->dim, dim);
  PetscCheck(bcr->nspacing || arrays, PetscObjectComm((PetscObject)pc), PETSC_ERR_ORDER,
             "No operator to solve with: call PCBCRPoissonSetOperator(), or give -pc_bcrpoisson_spacing hx,hy,hz (and "
             "_ends, _shift, _scale), or call PCBCRPoissonSetOperatorAxis() for each axis");
  PetscCheck(bcr->nspacing <= 1 || bcr->nspacing == dim, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_SIZ,
             "-pc_bcrpoisson_spacing has %" PetscInt_FMT " numbers, the DMDA has dimension %" PetscInt_FMT
             ": give one for all axes or one for each",
             bcr->nspacing, dim);
  PetscCheck(bcr->nends <= 1 || bcr->nends == 2 * dim, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_SIZ,
             "-pc_bcrpoisson_ends has %" PetscInt_FMT " words, the DMDA has dimension %" PetscInt_FMT
             ": give one word for all ends or two (low, high) for each axis",
             bcr->nends, dim);
  PetscCheck(!bcr->nrobin || bcr->nrobin == 2 * dim, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_SIZ,
             "-%spc_bcrpoisson_robin (or PCBCRPoissonSetOperatorRobin()) has %" PetscInt_FMT
             " values, the DMDA has dimension %" PetscInt_FMT ": give two (low, high) for each axis",
             BCRPrefix(pc), bcr->nrobin, dim);
  PetscCall(check_terms(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The ends of axis d, low and high. periodic: the DMDA is so along it. Ends that are not given
   follow the DMDA, one word is for those ends that there are, and nothing may contradict it. */
static PetscErrorCode user_ends(PC pc, PetscInt d, PetscBool periodic, BCREnd end[2])
{
  /* as PCBCRPoissonEnd */
  static const BCREnd ends[] = {BCR_END_DIRICHLET, BCR_END_NEUMANN, BCR_END_CELL_NEUMANN, BCR_END_CELL_DIRICHLET,
                                BCR_END_PERIODIC};
  const PC_BCRPoisson *bcr = (const PC_BCRPoisson *)pc->data;

  PetscFunctionBegin;
  for (int e = 0; e < 2; ++e) {
    end[e] = bcr->nends ? ends[bcr->end[bcr->nends == 1 ? 0 : 2 * d + e]] : BCR_END_DIRICHLET;
    if (bcr->nends <= 1 && periodic) end[e] = BCR_END_PERIODIC;
  }
  PetscCheck(BCREndIsPeriodic(end[0]) == BCREndIsPeriodic(end[1]), PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_INCOMP,
             "Axis %c is periodic at one end only: give `periodic` for both its ends in -pc_bcrpoisson_ends or "
             "PCBCRPoissonSetOperator(), or for none",
             (char)('x' + d));
  PetscCheck(periodic || !BCREndIsPeriodic(end[0]), PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_INCOMP,
             "-%spc_bcrpoisson_ends or PCBCRPoissonSetOperator() makes axis %c periodic, which it is not in the "
             "DMDA: create the DMDA with DM_BOUNDARY_PERIODIC along %c, or give other ends",
             BCRPrefix(pc), (char)('x' + d), (char)('x' + d));
  PetscCheck(!periodic || BCREndIsPeriodic(end[0]), PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_INCOMP,
             "-%spc_bcrpoisson_ends or PCBCRPoissonSetOperator() has %s and %s as ends of axis %c, which is periodic "
             "in the DMDA (DM_BOUNDARY_PERIODIC): give `periodic` for both, or no ends, or create another DMDA",
             BCRPrefix(pc), PCBCRPoissonEnds[bcr->end[2 * d]], PCBCRPoissonEnds[bcr->end[2 * d + 1]], (char)('x' + d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays of axis d with the signs of BCRAxis. Round a ring of two the other node is a neighbour twice, round one of one it
   is the node itself */
static PetscErrorCode user_rows(PC pc, PetscInt d, PetscBool ring, PetscReal row[])
{
  const PC_BCRPoisson *bcr = (const PC_BCRPoisson *)pc->data;
  const PetscInt n = bcr->naxis[d];
  PetscReal *lower = row, *diag = row + n, *upper = row + 2 * (size_t)n;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < 3 * n; ++i) row[i] = i / n == 1 ? bcr->axis[d][i] : 0 - bcr->axis[d][i];
  PetscCheck(
    ring || (lower[0] == 0 && upper[n - 1] == 0), PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_INCOMP,
    "PCBCRPoissonSetOperatorAxis() was given rows of axis %c that go beyond its ends, lower %g in the first and "
    "upper %g in the last, but the axis is not periodic in the DMDA: what they have there must be 0",
    (char)('x' + d), (double)bcr->axis[d][0], (double)bcr->axis[d][3 * (size_t)n - 1]);
  if (n > 2) PetscFunctionReturn(PETSC_SUCCESS);
  if (n == 1) diag[0] -= lower[0] + upper[0];
  else {
    upper[0] += lower[0];
    lower[1] += upper[1];
  }
  lower[0] = upper[n - 1] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Axis d with spacing h as the user has it: arrays (row, or NULL), or Robin values of its Neumann ends */
static PetscErrorCode user_axis(PC pc, PetscInt d, PetscReal h, const BCREnd end[2], const PetscReal row[],
                                BCRUserAxis *axis)
{
  const PC_BCRPoisson *bcr = (const PC_BCRPoisson *)pc->data;
  const PetscInt n = bcr->naxis[d];

  PetscFunctionBegin;
  *axis = (BCRUserAxis){.lower = NULL};
  if (n) *axis = (BCRUserAxis){.lower = row, .diag = row + n, .upper = row + 2 * (size_t)n};
  for (int e = 0; e < 2; ++e) {
    const PetscReal b = bcr->nrobin ? bcr->robin[2 * d + e] : 0;
    const PetscBool cell = (PetscBool)(end[e] == BCR_END_CELL_NEUMANN);

    if (b == 0) continue;
    PetscCheck(
      !n && (cell || end[e] == BCR_END_NEUMANN), PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_INCOMP,
      "-%spc_bcrpoisson_robin (or PCBCRPoissonSetOperatorRobin()) has %g at the %s end of axis %c, which is %s: "
      "give 0 there, or neumann or cell_neumann in -%spc_bcrpoisson_ends",
      BCRPrefix(pc), (double)b, e ? "high" : "low", (char)('x' + d), n ? "in the arrays of that axis" : "not Neumann",
      BCRPrefix(pc));
    PetscCheck(
      !cell || 1 + b * h / 2 > 0, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
      "-%spc_bcrpoisson_robin (or PCBCRPoissonSetOperatorRobin()) has %g at the %s end of axis %c: with cells of "
      "width %g it must be above %g",
      BCRPrefix(pc), (double)b, e ? "high" : "low", (char)('x' + d), (double)h, (double)(-2 / h));
    axis->extra[e] = cell ? b / (h * (1 + b * h / 2)) : 2 * b / h;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The eigenvectors of all general axes but one: can they be used? */
static PetscErrorCode check_condition(PC pc)
{
  const PC_BCRPoisson *bcr = (const PC_BCRPoisson *)pc->data;
  const BCROperator *op = &bcr->ops[0]; /* all components have the same */
  const PetscBool ranks = (PetscBool)(bcr->place.grid.size > 1);

  PetscFunctionBegin;
  PetscCheck(BCRAxesCondition(op->dim, op->axis, ranks) <= BCR_CONDITION_MOST, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_SUP,
             "Coefficients vary along several axes (PCBCRPoissonSetOperatorAxis(), Robin values), and all but that of "
             "the lines%s would be transformed: too long (more than %d unknowns), coupled one way only, or with "
             "eigenvectors of a condition above %g. Give a matrix, for which there are fits",
             ranks ? " (on several ranks, all)" : "", BCR_EIGEN_MOST, BCR_CONDITION_MOST);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Axes as the user has them, and operators of them; row: scratch, 3 numbers for each node of each axis with arrays */
static PetscErrorCode make_axes(PC pc, const PetscReal h[], const BCREnd end[], PetscReal *row)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  PetscReal coupling[3];
  BCRUserAxis axis[3];

  PetscFunctionBegin;
  for (PetscInt d = 0; d < bcr->place.grid.dim; ++d) {
    const PetscInt n = bcr->naxis[d];

    coupling[d] = n ? 0 : 1 / (h[d] * h[d]);
    if (n) PetscCall(user_rows(pc, d, BCREndIsPeriodic(end[2 * d]), row));
    PetscCall(user_axis(pc, d, h[d], &end[2 * d], row, &axis[d]));
    axis[d].times = bcr->ntimes && d == (PetscInt)bcr->along ? bcr->times : NULL;
    axis[d].timed = (PetscInt)bcr->timed;
    row += 3 * (size_t)n;
  }
  PetscCall(BCROperatorDestroy(bcr->dof, &bcr->ops));
  PetscCall(
    BCRFaultShare(bcr->place.grid.comm, make_operators(bcr, bcr->place.grid.dim, coupling, end, axis), BCR_NO_MEMORY));
  PetscCall(check_condition(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPoissonUserOperator(PC pc)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  const PetscInt dim = bcr->place.grid.dim;
  PetscReal h[3], *row;
  BCREnd end[6]; /* low and high of each axis */
  PetscBool open = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(check_operator(pc));
  for (PetscInt d = 0; d < dim; ++d) {
    const PetscInt first = bcr->nends == 1 ? 0 : 2 * d;
    /* nobody but the user knows whether an axis is periodic where there is no DMDA */
    const PetscBool periodic =
      bcr->place.dm ? bcr->place.grid.periodic[d] : (PetscBool)(bcr->nends && bcr->end[first] == PCBCRPOISSON_PERIODIC);

    h[d] = bcr->naxis[d] ? 1 : bcr->spacing[bcr->nspacing == 1 ? 0 : d];
    PetscCall(user_ends(pc, d, periodic, &end[2 * d]));
    if (!periodic) open = PETSC_TRUE;
  }
  PetscCheck(open || bcr->nends != 1 || bcr->end[0] == PCBCRPOISSON_PERIODIC, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_INCOMP,
             "-%spc_bcrpoisson_ends is %s, but axis x and all others are periodic in the DMDA (DM_BOUNDARY_PERIODIC) "
             "and have no ends: leave the option out, or create another DMDA",
             BCRPrefix(pc), PCBCRPoissonEnds[bcr->end[0]]);
  PetscCall(BCRFaultShare(
    bcr->place.grid.comm,
    PetscMalloc1(3 * ((size_t)bcr->naxis[0] + (size_t)bcr->naxis[1] + (size_t)bcr->naxis[2]), &row), BCR_NO_MEMORY));
  BCRCallElse(make_axes(pc, h, end, row), (void)PetscFree(row));
  PetscCall(PetscFree(row));
  PetscFunctionReturn(PETSC_SUCCESS);
}
