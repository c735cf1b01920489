/*
  Set-up of PCBCRPOISSON: from the options, the DMDA and the matrix to operators in slabs, and to a
  solver of them.
*/
#include "bcrpoisson.h"

/* All that was made for one grid and one source of operators */
static PetscErrorCode forget(PC_BCRPoisson *bcr)
{
  PetscFunctionBegin;
  PetscCall(BCRCapacitanceDestroy(&bcr->cap));
  PetscCall(BCRSolverDestroy(&bcr->solver));
  PetscCall(BCROperatorDestroy(bcr->dof, &bcr->ops));
  PetscCall(BCRMovesDestroy(&bcr->moves));
  for (int k = 0; k < 2; ++k) PetscCall(VecDestroy(&bcr->graded[k]));
  PetscCall(BCRPondsDestroy(&bcr->ponds));
  PetscCall(BCRSidesDestroy(&bcr->sides));
  PetscCall(PetscFree(bcr->factor));
  PetscCall(PetscFree(bcr->turn));
  if (BCR_HAVE_CUDA) PetscCall(BCRTurnDeviceDestroy(&bcr->turndevice));
  PetscCall(PetscMemzero(&bcr->pattern, sizeof(bcr->pattern)));
  bcr->dof = 0;
  bcr->n = 0;
  bcr->switched = bcr->stagnated = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCReset_BCRPoisson(PC pc)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;

  PetscFunctionBegin;
  PetscCall(forget(bcr));
  PetscCall(BCRPlaceDestroy(&bcr->place));
  PetscCall(PCDestroy(&bcr->otherwise.pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The grid of the rows; all that was known about another one is forgotten */
static PetscErrorCode set_grid(PC pc, Vec b, Vec x)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  const BCRGrid *grid = &bcr->place.grid;
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(BCRPlaceFind(pc, &bcr->placing, (PetscBool)(bcr->source == PCBCRPOISSON_OPERATOR_MATRIX), PETSC_FALSE, b, x,
                         &bcr->place, &same));
  if (!same || !bcr->ops || bcr->source != bcr->opssource || bcr->place.none) PetscCall(forget(bcr));
  bcr->opssource = bcr->source;
  if (bcr->place.none) PetscFunctionReturn(PETSC_SUCCESS);
  bcr->dof = grid->dof;
  bcr->n = grid->dof * grid->n[0] * grid->n[1] * grid->n[2];
  for (PetscInt d = 0; d < 3; ++d) bcr->size[d] = grid->N[d];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscInt BCRPoissonGeneralAxis(PC pc, PetscBool *forced)
{
  const PC_BCRPoisson *bcr = (const PC_BCRPoisson *)pc->data;
  const PetscInt *parts = bcr->place.grid.parts;
  PetscInt general = -1;

  *forced = PETSC_FALSE;
  for (PetscInt c = 0; c < bcr->dof; ++c) {
    const PetscInt line = BCRAxesForced(bcr->ops[c].dim, bcr->ops[c].axis);

    if (line >= 0) {
      *forced = PETSC_TRUE;
      return line;
    }
    for (PetscInt d = 0; d < 3; ++d) {
      if (!bcr->ops[c].axis[d].lower) continue;
      if (general < 0 || ((parts[d] > 1) == (parts[general] > 1) ? bcr->size[d] > bcr->size[general] : parts[d] > 1))
        general = d;
    }
  }
  return general;
}

/* Why ranks cannot share a slab on this one's account, NULL: they can. On the host a slab of which nothing is left to do but
   transforms and lines: no factors of rows, lines with coefficients of their own, or weights */
static const char *no_team(const PC_BCRPoisson *bcr, PetscInt axis, PetscBool inplace)
{
  const BCROperator *op = bcr->ops;

  if (axis == 0) return "slabs along x are no planes of rows";
  if (bcr->dof != 1 || PetscDefined(USE_COMPLEX))
    return "components, and real and imaginary parts, are solved for in a box of their rank, one after the other";
  if (bcr->precision != PCBCRPOISSON_PRECISION_DOUBLE || sizeof(PetscReal) != sizeof(double))
    return "it is done in double precision alone";
  if (bcr->pattern.device || bcr->device) return "vectors are on a device";
  if (bcr->tune || bcr->tunefile || bcr->nlevels || bcr->radix != PCBCRPOISSON_RADIX_AUTO)
    return "a radix, a schedule or tuning was asked for";
  if (bcr->factor || op->rowscale || op->devscale) return "rows have factors";
  if (op->apart || op->differ) return "rows differ";
  if (op->product || op->waves || op->tau != 0) return "the operator is no definite sum of axes";
  for (PetscInt d = 0; d < 3; ++d) {
    const BCRAxis *x = &op->axis[d];

    if (inplace && (x->plane[0].present || x->plane[1].present))
      return "boundary rows are kept beside the box, and each rank has its own";
    if (x->lower || x->times) return "coefficients vary along an axis";
    if (x->weight || BCRAxisGetEndWeight(x, 0) != 1 || BCRAxisGetEndWeight(x, x->n - 1) != 1)
      return "rows at an end have weights of their own";
    if (x->n <= 2 || !(x->a > 0)) return "the box has fewer than three rows along an axis, or no coupling there";
  }
  return NULL;
}

/* How many ranks are to share a slab */
static PetscErrorCode slab_team(PC pc, PetscInt axis, PetscBool inplace, PetscMPIInt *team)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  const BCRGrid *g = &bcr->place.grid;
  PetscMPIInt can;

  PetscFunctionBegin;
  *team = 1;
  bcr->noteam = g->size > 1 && g->dim == 3 ? no_team(bcr, axis, inplace) : NULL;
  if (g->size == 1 || g->dim != 3 || axis == 0 || bcr->dof != 1 || PetscDefined(USE_COMPLEX) ||
      sizeof(PetscReal) != sizeof(double))
    PetscFunctionReturn(PETSC_SUCCESS); /* as all ranks know */
  can = bcr->noteam ? 0 : 1;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &can, 1, MPI_INT, MPI_MIN, g->comm));
  if (can) *team = BCRMovesTeam(g, axis, inplace, bcr->slabranks);
  else if (!bcr->noteam) bcr->noteam = "another rank cannot";
  if (bcr->ops->singular && *team < g->size) {
    if (*team > 1) bcr->noteam = "of singular operators all ranks have to";
    *team = 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The slabs that the solver works on, and what the operators say about nodes brought there */
static PetscErrorCode set_slabs(PC pc)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  PetscInt axis, general;
  PetscMPIInt team;
  PetscBool device, inplace, forced, twice = PETSC_TRUE,
                                     known = bcr->moves.nodes || bcr->moves.carry ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(BCRVecsOnDevice(pc, bcr->place.dm, &device));
  general = BCRPoissonGeneralAxis(pc, &forced);
  for (PetscInt c = 0; c < bcr->dof; ++c)
    if (bcr->ops[c].product || bcr->ops[c].waves) twice = PETSC_FALSE; /* these travel themselves */
  PetscCall(BCRMovesChoose(&bcr->place.grid, general, forced, device, twice, &axis, &inplace));
  PetscCall(slab_team(pc, axis, inplace, &team));
  if (known && (axis != bcr->moves.axis || inplace != bcr->moves.inplace || team != bcr->moves.wanted)) {
    PetscCall(BCRSolverDestroy(&bcr->solver));
    PetscCall(BCRMovesDestroy(&bcr->moves));
    known = PETSC_FALSE;
  }
  if (!known) PetscCall(BCRMovesCreate(&bcr->place.grid, axis, inplace, team, &bcr->moves));
  if (bcr->moves.team && bcr->moves.team->size < bcr->place.grid.size && BCRPoissonSingular(pc)) { /* several nodes */
    PetscCall(BCRSolverDestroy(&bcr->solver));
    PetscCall(BCRMovesDestroy(&bcr->moves));
    PetscCall(BCRMovesCreate(&bcr->place.grid, axis, inplace, 1, &bcr->moves));
    bcr->moves.wanted = team;
  }
  for (PetscInt c = 0; c < bcr->dof && !bcr->moves.inplace; ++c)
    PetscCall(BCRMovesTakeOperator(&bcr->place.grid, &bcr->moves, &bcr->ops[c]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const char *BCRPoissonHostOnly(const PC_BCRPoisson *bcr)
{
  const PetscBool ranks = bcr->place.grid.size > 1 ? PETSC_TRUE : PETSC_FALSE;
  PetscBool rings = PETSC_FALSE, planes = PETSC_FALSE;
  double condition = 1; /* of eigenvectors along all axes of operators that have no lines there */
  double scales = 1;    /* the largest plane of those that are not coupled over the smallest */

  for (PetscInt c = 0; c < bcr->dof; ++c) {
    for (int d = 0; d < 3; d++) {
      const BCRAxis *axis = &bcr->ops[c].axis[d];

      rings = (PetscBool)(rings || axis->times || (axis->lower && axis->n > 1 && BCRAxisIsPeriodic(axis)));
      planes = (PetscBool)(planes || axis->imag);
    }
    if (!bcr->ops[c].waves) continue;
    condition = PetscMax(condition, BCRAxesConditionAll(bcr->ops[c].dim, bcr->ops[c].axis));
    scales = PetscMax(scales, BCRAxesPlaneScales(bcr->ops[c].dim, bcr->ops[c].axis, (double)bcr->ops[c].shift));
  }
  if (planes) return "no way for a device to solve with an imaginary shift for each plane";
  if (bcr->waves && rings)
    return "no way for a device to solve indefinite operators, or singular planes that are not coupled, with periodic "
           "axes whose coefficients vary, or with numbers along an axis that multiply another";
  if (scales > 100) /* what is left out there is measured by the largest */
    return "no way for a device to solve indefinite or singular planes that are not coupled and differ much in size";
  if (ranks && rings)
    return "no way for devices of several ranks to solve with periodic axes whose coefficients vary, or with numbers "
           "along an axis that multiply another";
  return condition > BCR_CONDITION_MOST
           ? "no eigenvectors along all axes, which an indefinite operator needs on a device"
           : NULL;
}

/* Where to work: as asked, else where the vectors of the matrix and of the DM live */
static PetscErrorCode choose_backend(PC pc)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  const char *why = NULL;
  PetscBool cuda = PETSC_FALSE;
  PetscMPIInt mine, all;

  PetscFunctionBegin;
  bcr->nodevice = NULL;
  bcr->device = bcr->followed = PETSC_FALSE;
  mine = all = BCRSolverHaveDevice(&why) ? 1 : 0;
  if (bcr->place.grid.size > 1)
    PetscCallMPI(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)pc)));
  bcr->possible = all ? PETSC_TRUE : PETSC_FALSE;
  if (bcr->backend == PCBCRPOISSON_BACKEND_CUDA) {
    BCRFault fault = {PETSC_SUCCESS, ""};

    if (!mine)
      PetscCall(BCRFaultSet(
        &fault, PETSC_ERR_SUP,
        "-pc_bcrpoisson_backend cuda cannot be used here (%s): use -pc_bcrpoisson_backend cpu or auto", why));
    PetscCall(BCRFaultAgree(PetscObjectComm((PetscObject)pc), &fault));
    why = BCRPoissonHostOnly(bcr);
    PetscCheck(!why, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
               "-%spc_bcrpoisson_backend cuda cannot be used here (%s): use -%spc_bcrpoisson_backend cpu or auto",
               BCRPrefix(pc), why, BCRPrefix(pc));
    bcr->device = PETSC_TRUE;
  } else if (bcr->backend == PCBCRPOISSON_BACKEND_AUTO) {
    PetscCall(BCRVecsOnDevice(pc, bcr->place.dm, &cuda));
    if (cuda) bcr->device = bcr->possible;
    if (cuda && !bcr->device) bcr->nodevice = "no device on every rank";
    if (bcr->device) bcr->nodevice = BCRPoissonHostOnly(bcr);
    if (bcr->nodevice) bcr->device = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The phases of the rows of complex matrices, of all components. No rank waits for another */
static PetscErrorCode set_turn(PC_BCRPoisson *bcr)
{
  PetscBool some = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscFree(bcr->turn));
  for (PetscInt c = 0; c < bcr->dof; ++c) some = (PetscBool)(some || bcr->ops[c].turn);
  if (!some) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(PetscMax(bcr->n, 1), &bcr->turn));
  for (PetscInt i = 0; i < bcr->n; ++i) {
    const PetscScalar *turn = bcr->ops[i % bcr->dof].turn;

    bcr->turn[i] = turn ? PetscConj(turn[i / bcr->dof]) : 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is for definite operators only, and was asked for */
static PetscErrorCode check_waves(PC pc)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  const char *option = NULL;

  PetscFunctionBegin;
  bcr->waves = PETSC_FALSE;
  bcr->told = 0;
  for (PetscInt c = 0; c < bcr->dof; ++c) bcr->waves = (PetscBool)(bcr->waves || bcr->ops[c].waves);
  if (bcr->nlevels && bcr->waves) option = "schedule";
  else if (bcr->radix != PCBCRPOISSON_RADIX_AUTO && bcr->waves) option = "radix";
  PetscCheck(!option, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
             "The operator is indefinite or complex, and -%spc_bcrpoisson_%s is for definite ones: leave the option "
             "out, or use a preconditioning matrix (second matrix of KSPSetOperators()) that is definite",
             BCRPrefix(pc), option);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Modes of products of axes that are left out: nobody would see that a right-hand side has a part in them */
static PetscErrorCode check_product(PC pc)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  PetscBool given = PETSC_FALSE;

  PetscFunctionBegin;
  if (!bcr->product || bcr->info.core.left_out == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRPoissonNullSpaceGiven(pc, &given));
  PetscCheck(given, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
             "The operator of box stencils is numerically singular: %" PetscInt64_FMT
             " of its modes have an eigenvalue below 1e-10 of the largest, beside the constant: attach the null space "
             "to the matrix (MatSetNullSpace()), or change the shift",
             bcr->info.core.left_out);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows that differ in a box with modes that are left out, which the matrix has: it is no box to solve the matrix with. *resonant:
   it is to be read again. Collective */
static PetscErrorCode check_resonance(PC pc, PetscBool *resonant)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  PetscMPIInt left = bcr->info.left > 0 || (bcr->product && bcr->info.core.left_out > 0) ? 1 : 0;

  PetscFunctionBegin;
  *resonant = PETSC_FALSE;
  if (!bcr->cap || !(bcr->waves || bcr->product)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &left, 1, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)pc)));
  if (!left) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(pc, "Rows differ from an operator that is numerically singular: they are not solved with it\n"));
  bcr->stagnated = *resonant = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode solver_options(const PC_BCRPoisson *bcr, BCRSolverOptions *options)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(options, sizeof(*options)));
  options->core.radix = bcr->radix == PCBCRPOISSON_RADIX_AUTO ? 0 : bcr->radix;
  options->core.nlevels = bcr->nlevels;
  for (PetscInt l = 0; l < bcr->nlevels; ++l) options->core.schedule[l] = bcr->schedule[l];
  options->core.precision = (BCRPrecision)bcr->precision;
  options->core.isa = (int)bcr->isa - 1;
  options->core.recursive = bcr->recursive;
  for (int i = 0; i < BCR_LAUNCH; ++i) options->core.launch[i] = (int)bcr->launch[i];
  options->device = bcr->device;
  options->plainlaunch = bcr->graph ? PETSC_FALSE : PETSC_TRUE;
  options->core.team = bcr->moves.team;
  options->inplace = bcr->moves.slab && !bcr->device ? PETSC_TRUE : PETSC_FALSE;
  options->transport = (int)bcr->transport;
  options->gpuaware = BCRGpuAwareMPI();
  if (bcr->device) PetscCall(BCRStartDevice(&options->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solver on the device, else on the host: a device without room for it is none. On one rank */
static PetscErrorCode create_anywhere(PC pc, BCRSolverOptions *options)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = BCRSolverCreate(bcr->dof, bcr->ops, options, NULL, &bcr->solver);
  PetscCall(PetscPopErrorHandler());
  if (!ierr) PetscFunctionReturn(PETSC_SUCCESS);
  if (ierr == PETSC_ERR_MEM) {
    PetscCall(PetscInfo(pc, "The device has no room for the solver, which works on the host instead\n"));
    bcr->device = PETSC_FALSE;
    bcr->nodevice = "no room on the device";
    bcr->switched = PETSC_TRUE;
    options->device = PETSC_FALSE;
  }
  /* any other error comes again, with its message */
  PetscCall(BCRSolverCreate(bcr->dof, bcr->ops, options, NULL, &bcr->solver));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With -pc_bcrpoisson_capacitance extension rows may differ by a mask only */
static PetscErrorCode check_mask(PC pc, const BCRGrid *layout)
{
  const PC_BCRPoisson *bcr = (const PC_BCRPoisson *)pc->data;
  const PetscInt *n = layout->n, *lo = layout->lo;
  BCRFault fault = {PETSC_SUCCESS, ""};
  PetscInt row = -1;

  PetscFunctionBegin;
  if (bcr->capacitance != PCBCRPOISSON_CAPACITANCE_EXTENSION) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(!bcr->waves, layout->comm, PETSC_ERR_SUP,
             "-%spc_bcrpoisson_capacitance extension is for definite operators, and this one is not: use auto",
             BCRPrefix(pc));
  for (PetscInt c = 0; c < bcr->dof; ++c)
    PetscCheck(bcr->ops[c].differ || !strcmp(bcr->ops[c].fit, "exact"), layout->comm, PETSC_ERR_SUP,
               "-%spc_bcrpoisson_capacitance extension is for a box with a mask in it, rows with nothing but their "
               "diagonal, and rows beside them; this matrix is fitted (%s): use auto or off",
               BCRPrefix(pc), bcr->ops[c].fit);
  if (bcr->cap) PetscCall(BCRCapacitanceBeyondMask(bcr->cap, &row));
  if (row >= 0) {
    const PetscInt node = row / bcr->dof;

    PetscCall(BCRFaultSet(&fault, PETSC_ERR_SUP,
                          "-%spc_bcrpoisson_capacitance extension is for rows that differ by a mask; the row of grid "
                          "point %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT
                          " differs otherwise (another material, a well, a link that is missing): use auto or off",
                          BCRPrefix(pc), lo[0] + node % n[0], lo[1] + node / n[0] % n[1], lo[2] + node / n[0] / n[1]));
  }
  PetscCall(BCRFaultAgree(layout->comm, &fault));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The system of rows that differ, where there are any, of vectors in this layout */
static PetscErrorCode make_capacitance(PC pc, const BCRGrid *layout)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  /* of solves in single; of corrected ones, which stop a little above rounding; of others */
  const PetscReal eps = bcr->precision == PCBCRPOISSON_PRECISION_SINGLE  ? (PetscReal)1.2e-7
                        : bcr->precision == PCBCRPOISSON_PRECISION_MIXED ? 16 * PETSC_MACHINE_EPSILON
                                                                         : PETSC_MACHINE_EPSILON;

  PetscFunctionBegin;
  PetscCall(BCRCapacitanceCreate(layout, bcr->dof, bcr->ops, bcr->solver, bcr->factor,
                                 bcr->capacitance == PCBCRPOISSON_CAPACITANCE_EXTENSION ? 0 : bcr->directions, eps,
                                 &bcr->cap));
  PetscCall(check_mask(pc, layout));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same from the solver's slabs */
static PetscErrorCode set_capacitance(PC pc)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  const BCRGrid *grid = &bcr->place.grid;
  PetscInt parts[3] = {1, 1, 1}, *len = NULL;
  const PetscInt *widths[3] = {NULL, NULL, NULL};
  PetscErrorCode ierr;
  BCRGrid slabs;

  PetscFunctionBegin;
  PetscCall(BCRCapacitanceDestroy(&bcr->cap));
  if (bcr->moves.team) PetscFunctionReturn(PETSC_SUCCESS); /* no rows differ */
  if (!bcr->moves.slab) {
    PetscCall(make_capacitance(pc, grid));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BCRFaultShare(grid->comm, PetscMalloc1(grid->size, &len), BCR_NO_MEMORY));
  PetscCallMPI(MPI_Allgather(&bcr->moves.len, 1, MPIU_INT, len, 1, MPIU_INT, grid->comm));
  parts[bcr->moves.axis] = grid->size;
  widths[bcr->moves.axis] = len;
  ierr = BCRGridCreateBoxes(grid->comm, grid->id, grid->dim, grid->dof, grid->N, grid->periodic, parts, widths, &slabs);
  PetscCall(PetscFree(len));
  PetscCall(ierr);
  ierr = make_capacitance(pc, &slabs);
  PetscCall(BCRGridDestroy(&slabs));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors are moved where the solver is */
static PetscErrorCode place_moves(PC_BCRPoisson *bcr, void *stream)
{
  BCRCarry carry = bcr->moves.carry;

  PetscFunctionBegin;
  if (BCR_HAVE_CUDA && carry) PetscCall(BCRCarryDeviceDestroy(carry));
  if (BCR_HAVE_CUDA && carry && bcr->device) {
    void *transport = NULL;

    PetscCall(BCRSolverTransport(bcr->solver, &transport));
    PetscCall(BCRCarryDeviceCreate(carry, bcr->moves.unit, stream, transport,
                                   bcr->transport == PCBCRPOISSON_TRANSPORT_AUTO ? PETSC_TRUE : PETSC_FALSE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Phases of rows, where the solver is */
static PetscErrorCode place_turn(PC_BCRPoisson *bcr)
{
  void *stream;

  PetscFunctionBegin;
  if (!BCR_HAVE_CUDA) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRTurnDeviceDestroy(&bcr->turndevice));
  if (!bcr->turn || !bcr->device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRStartDevice(&stream));
  PetscCall(BCRTurnDeviceCreate(bcr->n, bcr->turn, stream, &bcr->turndevice));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPoissonPlan(PC pc)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  BCRSolverOptions options;
  BCRSlab part, *slab = bcr->place.grid.size > 1 ? &part : NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(BCRCapacitanceDestroy(&bcr->cap));
  PetscCall(BCRSolverDestroy(&bcr->solver));
  if (bcr->moves.team && bcr->device) { /* vectors came from there after all */
    const PetscInt axis = bcr->moves.axis;
    const PetscBool inplace = bcr->moves.inplace;

    PetscCall(BCRMovesDestroy(&bcr->moves));
    PetscCall(BCRMovesCreate(&bcr->place.grid, axis, inplace, 1, &bcr->moves));
  }
  part.comm = bcr->moves.team ? bcr->moves.across : PetscObjectComm((PetscObject)pc);
  part.axis = bcr->moves.axis;
  part.start = bcr->moves.start;
  part.len = bcr->moves.len;
  PetscCall(solver_options(bcr, &options));
  PetscCall(PetscMemzero(&bcr->tuned, sizeof(bcr->tuned)));
  if ((bcr->tune || bcr->tunefile) && !bcr->waves)
    PetscCall(BCRSolverTune(PetscObjectComm((PetscObject)pc), bcr->dof, bcr->ops, bcr->size, &options, slab,
                            bcr->tunefile, bcr->tune, &bcr->solver, &bcr->tuned));
  else if (bcr->device && bcr->backend == PCBCRPOISSON_BACKEND_AUTO && !slab) PetscCall(create_anywhere(pc, &options));
  else {
    ierr = BCRSolverCreate(bcr->dof, bcr->ops, &options, slab, &bcr->solver);
    if (bcr->moves.team) ierr = BCRFaultShare(PetscObjectComm((PetscObject)pc), ierr, BCR_NO_MEMORY);
    PetscCall(ierr);
  }
  bcr->replan = PETSC_FALSE;
  PetscCall(place_moves(bcr, options.stream));
  PetscCall(BCRFaultShare(bcr->place.grid.comm, place_turn(bcr), BCR_NO_MEMORY));
  PetscCall(set_capacitance(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscInt BCRPoissonUnchosenFit(PC pc)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;

  for (PetscInt c = 0; c < bcr->dof && bcr->ops && bcr->fit == PCBCRPOISSON_FIT_AUTO; ++c)
    if (!strcmp(bcr->ops[c].fit, "scaled") || !strcmp(bcr->ops[c].fit, "average") ||
        !strcmp(bcr->ops[c].fit, "profile"))
      return c;
  return -1;
}

/* Room for refinement, where rows of the matrix are graded */
static PetscErrorCode set_grading(PC pc)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  const PetscBool ranks = bcr->place.grid.size > 1 ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  bcr->grading = bcr->skewness = 1;
  bcr->condition = 1;
  bcr->product = PETSC_FALSE;
  for (PetscInt c = 0; c < bcr->dof; ++c) {
    const BCRAxis *axis = bcr->ops[c].axis;

    bcr->product = (PetscBool)(bcr->product || bcr->ops[c].product);
    if (bcr->source == PCBCRPOISSON_OPERATOR_USER) continue; /* no matrix to refine with */
    if (strcmp(bcr->ops[c].fit, "exact") != 0) continue;     /* nor is a fit what would be refined */
    if (bcr->ops[c].waves && bcr->pattern.device)
      bcr->condition = PetscMax(bcr->condition, BCRAxesConditionAll(bcr->ops[c].dim, axis));
    else bcr->condition = PetscMax(bcr->condition, BCRAxesCondition(bcr->ops[c].dim, axis, ranks));
    bcr->condition = PetscMax(bcr->condition, BCRAxesMixing(bcr->ops[c].dim, axis, ranks));
    if (bcr->ops[c].singular) continue;
    bcr->grading = PetscMax(bcr->grading, BCROperatorGrading(&bcr->ops[c]));
    bcr->skewness = PetscMax(bcr->skewness, BCROperatorSkewness(&bcr->ops[c]));
  }
  for (int k = 0; k < 2; ++k) {
    if (bcr->grading <= BCR_GRADED && bcr->condition <= BCR_CONDITION_REFINE) PetscCall(VecDestroy(&bcr->graded[k]));
    else if (!bcr->graded[k]) PetscCall(MatCreateVecs(pc->pmat, NULL, &bcr->graded[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -pc_bcrpoisson_view_plan, as its KSP has it, too: what the first rank does */
static PetscErrorCode view_plan(PC pc)
{
  static const char *const names[] = {"-pc_bcrpoisson_view_plan", "-ksp_bcrpoisson_view_plan"};
  const MPI_Comm comm = PetscObjectComm((PetscObject)pc);
  const PC_BCRPoisson *bcr = (const PC_BCRPoisson *)pc->data;

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) {
    PetscViewer viewer = NULL, own;
    PetscViewerFormat format;
    PetscBool given, ascii = PETSC_FALSE;
    PetscMPIInt rank;

    PetscCall(PetscOptionsCreateViewer(comm, ((PetscObject)pc)->options, ((PetscObject)pc)->prefix, names[i], &viewer,
                                       &format, &given));
    if (!given) continue;
    if (viewer) PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
    PetscCheck(ascii, comm, PETSC_ERR_SUP, "%s is for ASCII viewers: give no value, or ascii:file", names[i]);
    PetscCallMPI(MPI_Comm_rank(comm, &rank));
    PetscCall(PetscViewerGetSubViewer(viewer, PETSC_COMM_SELF, &own));
    if (rank == 0 && bcr->moves.carry) {
      PetscBool forced;
      const PetscInt general = BCRPoissonGeneralAxis(pc, &forced);
      char why[256], how[256];

      PetscCall(BCRMovesDescribe(&bcr->place.grid, &bcr->moves, general, sizeof(why), why, how));
      PetscCall(PetscViewerASCIIPrintf(own, "moves: %s%s%s\n", why, how[0] ? "; " : "", how));
    }
    if (rank == 0) PetscCall(BCRSolverViewPlan(bcr->solver, own));
    PetscCall(PetscViewerRestoreSubViewer(viewer, PETSC_COMM_SELF, &own));
    PetscCall(PetscViewerFlush(viewer));
    PetscCall(PetscViewerDestroy(&viewer));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operators on the grid that is there, and a solver for them */
static PetscErrorCode read_and_plan(PC pc)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  PetscBool same = PETSC_FALSE, done = PETSC_FALSE, resonant, device;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(BCR_Read, pc, pc->pmat, 0, 0));
  /* a fit that was chosen by name is what is wanted */
  bcr->pattern.differ = (PetscBool)(bcr->capacitance != PCBCRPOISSON_CAPACITANCE_OFF && !bcr->stagnated &&
                                    (bcr->fit == PCBCRPOISSON_FIT_AUTO || bcr->fit == PCBCRPOISSON_FIT_EXACT));
  /* block cyclic reduction of a given radix has no plan for more */
  bcr->pattern.one = bcr->pattern.star = (PetscBool)(bcr->radix != PCBCRPOISSON_RADIX_AUTO || bcr->nlevels);
  PetscCall(BCRVecsOnDevice(pc, bcr->place.dm, &device));
  bcr->pattern.device = (PetscBool)(bcr->backend == PCBCRPOISSON_BACKEND_CUDA ||
                                    (bcr->backend == PCBCRPOISSON_BACKEND_AUTO && (device || bcr->device)));
  if (bcr->source == PCBCRPOISSON_OPERATOR_USER) PetscCall(BCRPoissonUserOperator(pc));
  else
    PetscCall(BCROperatorReadUpdate(&bcr->place.grid, bcr->place.mat, (BCRFit)bcr->fit, &bcr->pattern, &bcr->dof,
                                    &bcr->ops, &same));
  PetscCall(PetscLogEventEnd(BCR_Read, pc, pc->pmat, 0, 0));

  PetscCall(PetscLogEventBegin(BCR_SetUp, pc, 0, 0, 0));
  PetscCall(BCRFaultShare(bcr->place.grid.comm, set_turn(bcr), BCR_NO_MEMORY));
  PetscCall(check_waves(pc));
  PetscCall(set_grading(pc));
  PetscCall(BCRFactorsTake(pc));
  PetscCall(BCRSidesSetUp(pc));
  PetscCall(set_slabs(pc));
  PetscCall(BCRFactorsMove(pc));
  if (bcr->solver && !bcr->replan) {
    PetscErrorCode ierr = BCRSolverUpdate(bcr->solver, bcr->ops, &done);

    if (bcr->moves.team) ierr = BCRFaultShare(PetscObjectComm((PetscObject)pc), ierr, BCR_NO_MEMORY);
    PetscCall(ierr);
  }
  if (!done) {
    PetscCall(choose_backend(pc));
    PetscCall(BCRPoissonPlan(pc));
  } else {
    PetscCall(BCRFaultShare(bcr->place.grid.comm, place_turn(bcr), BCR_NO_MEMORY));
    PetscCall(set_capacitance(pc));
  }
  bcr->removed = 0;
  pc->failedreason = PC_NOERROR;
  PetscCall(BCRPondsDestroy(&bcr->ponds)); /* the values may be others */
  PetscCall(BCRSolverGetInfo(bcr->solver, &bcr->info));
  PetscCall(check_resonance(pc, &resonant));
  if (resonant) {
    PetscCall(PetscLogEventEnd(BCR_SetUp, pc, 0, 0, 0));
    PetscCall(read_and_plan(pc));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(check_product(pc));
  PetscCall(PetscLogEventEnd(BCR_SetUp, pc, 0, 0, 0));
  PetscCall(PetscInfo(pc, "%s: grid %s, fit %s, largest deviation %g%s, plan %s\n",
                      done ? "New values, same plan" : "New plan", bcr->place.text, bcr->ops[0].fit,
                      (double)bcr->ops[0].deviation, BCRPoissonUnchosenFit(pc) >= 0 ? ", preconditioner only" : "",
                      bcr->info.core.plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes what is there of a grid and makes a solver for it. vecs: there is nothing to wait for any more; b, x: vectors that are at
   hand, or NULL */
static PetscErrorCode set_up(PC pc, PetscBool vecs, Vec b, Vec x)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;

  PetscFunctionBegin;
  PetscCall(PetscBCRCitePoisson());
  PetscCall(BCROptionsCheckSame(pc));
  PetscCall(set_grid(pc, b, x));
  if (bcr->place.none && !vecs) PetscFunctionReturn(PETSC_SUCCESS); /* the first vectors may have one */
  if (bcr->place.none) PetscCall(BCRPlaceRefuse(pc, &bcr->place));
  PetscCall(read_and_plan(pc));
  PetscCall(BCRPoissonCompareFits(pc, read_and_plan));
  PetscCall(view_plan(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode set_up_or_stand_in(PC pc, PetscBool vecs, Vec b, Vec x)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;

  PetscFunctionBegin;
  PetscCall(BCROtherwiseSetUp(pc, &bcr->otherwise, vecs, b, x, set_up, PCReset_BCRPoisson));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After an error nothing is left of what an earlier set-up made, and the next application sets up
   anew: PCSetUp() has noted the state of the matrix already, and would find nothing to do if it
   were not told that there has been no set-up. It says itself when there has */
PetscErrorCode PCSetUp_BCRPoisson(PC pc)
{
  PetscFunctionBegin;
  BCROptionsChanged(pc, PETSC_FALSE);
  BCRCallElse(set_up_or_stand_in(pc, PETSC_FALSE, NULL, NULL), (void)PCReset_BCRPoisson(pc), BCRPreSolveEnds(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPoissonSetUpWith(PC pc, Vec b, Vec x)
{
  PetscBool anew;

  PetscFunctionBegin;
  PetscCall(BCRPlaceLook(&((PC_BCRPoisson *)pc->data)->place, b, x, &anew));
  if (!anew) PetscFunctionReturn(PETSC_SUCCESS);
  BCRCallElse(set_up_or_stand_in(pc, PETSC_TRUE, b, x), BCROptionsChanged(pc, PETSC_FALSE),
              (void)PCReset_BCRPoisson(pc), BCRPreSolveEnds(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}
