/*
  PCBCRPOISSON: what PETSc sees of the Poisson solver. Options, view, DM and Vec handling; the
  operator is read in src/operator, planned and solved in src/poisson.
*/
#include <petscbcr.h>
#include <petscdevice.h>
#include <petscsnes.h>
#include <petsc/private/pcimpl.h> /*I "petscbcr.h" I*/
#include <petsctime.h>
#include "../../src/register.h"
#include "../../src/base/stream.h"
#include "../../src/operator/read.h"
#include "../../src/operator/moves.h"
#include "../../src/poisson/tune.h"
#include <string.h>

const char *const PCBCRPoissonTransports[] = {
  "auto", "mpi", "nccl", "host", "PCBCRPoissonTransport", "PCBCRPOISSON_TRANSPORT_", NULL};
const char *const PCBCRPoissonBackends[] = {"auto", "cpu", "cuda", "PCBCRPoissonBackend", "PCBCRPOISSON_BACKEND_",
                                            NULL};
const char *const PCBCRPoissonPrecisions[] = {
  "double", "single", "mixed", "PCBCRPoissonPrecision", "PCBCRPOISSON_PRECISION_", NULL};
const char *const PCBCRPoissonOperatorSources[] = {"matrix", "user", "PCBCRPoissonOperatorSource",
                                                   "PCBCRPOISSON_OPERATOR_", NULL};
const char *const PCBCRPoissonFits[] = {"auto", "scaled", "average", "exact", "PCBCRPoissonFit", "PCBCRPOISSON_FIT_",
                                        NULL};
const char *const PCBCRPoissonEnds[] = {"dirichlet", "neumann",         "cell_neumann",  "cell_dirichlet",
                                        "periodic",  "PCBCRPoissonEnd", "PCBCRPOISSON_", NULL};

#define BCR_MAX_RADIX 1000000000
/* Transforms mix grid lines, and with them the rounding of their right-hand sides: rows that are so
   much smaller than others of their line (a penalty holds an end) would have no more than ten
   digits. One step of refinement gives them theirs (R. D. Skeel, Math. Comp. 35, 1980). */
#define BCR_GRADED 1e6
/* The right-hand sides of transposed systems are divided by a diagonal that makes the axis
   symmetric: the same for how much it varies */
#define BCR_SKEWED 4

/* of -pc_bcrpoisson_isa, a developer's option: numbered from -1 as in BCRCoreOptions */
static const char *const BCRInstructionSets[] = {"auto", "baseline", "avx2", "avx512"};

typedef struct {
  /* what the user asks for */
  PetscInt radix; /* PCBCRPOISSON_RADIX_AUTO or at least 2 */
  PetscInt nlevels, schedule[BCR_MAX_LEVELS];
  PCBCRPoissonBackend backend;
  PCBCRPoissonTransport transport;
  PCBCRPoissonPrecision precision;
  PCBCRPoissonOperatorSource source;
  PCBCRPoissonFit fit;
  PetscBool tune, graph;
  char *tunefile;              /* or NULL */
  PetscBool recursive;         /* three dimensions, given radix or schedule */
  PetscInt isa;                /* index into BCRInstructionSets */
  PetscInt launch[BCR_LAUNCH]; /* launch parameters of a device, 0: the default (developer) */
  PetscInt dim;                /* of the user's operator; 0: that of the DMDA */
  PetscInt nspacing, nends;    /* how many of the following were given; one stands for all */
  PetscReal spacing[3];
  PCBCRPoissonEnd end[6];
  PetscReal shift, scale;

  /* what set-up made of it */
  PetscBool replan;         /* a choice changed that the plan depends on */
  BCRGrid grid;             /* how the DMDA lies on the ranks */
  BCRMoves moves;           /* from there to the slabs that the solver has */
  PetscInt dof, size[3], n; /* components, nodes of the whole grid, unknowns on this rank */
  PetscScalar *slab;        /* a vector in slabs, where they are not in place */
  char daprefix[64];        /* of the DMDA's options */
  BCROperator *ops;
  BCRPattern pattern; /* what the reader remembers of the matrix */
  PCBCRPoissonOperatorSource opssource;
  BCRSolver solver;
  PetscBool device;     /* the solver works on a CUDA device */
  const char *nodevice; /* why it does not, though the vectors are there */
  PetscBool possible;   /* every rank has a device */
  PetscBool followed;   /* several ranks: the first vectors have been looked at */
  /* auto: the backend was changed for vectors that came from elsewhere than the matrix said */
  PetscBool switched;
  BCRSolverInfo info;
  BCRTuned tuned;
  PetscReal removed;  /* largest constant removed in the last application */
  PetscReal skewness; /* of the diagonal that symmetrises a general axis */
  PetscReal grading;  /* largest over smallest diagonal along the lines of a general axis */
  /* where that is beyond BCR_GRADED: each application is refined once, with these */
  Vec graded[2];
  PetscBool refined; /* the KSP that applies it to several vectors looks at their residuals */
} PC_BCRPoisson;

/* The next PCSetUp() has to run although the matrix is the same. The operator may change without the plan. */
static void PCBCRPoissonOperatorChanged(PC pc)
{
  pc->setupcalled = PETSC_FALSE;
}

static void PCBCRPoissonPlanChanged(PC pc)
{
  ((PC_BCRPoisson *)pc->data)->replan = PETSC_TRUE;
  PCBCRPoissonOperatorChanged(pc);
}

static PetscErrorCode PCReset_BCRPoisson(PC pc)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;

  PetscFunctionBegin;
  PetscCall(BCRSolverDestroy(&bcr->solver));
  PetscCall(BCROperatorDestroy(bcr->dof, &bcr->ops));
  PetscCall(BCRMovesDestroy(&bcr->moves));
  PetscCall(BCRGridDestroy(&bcr->grid));
  PetscCall(PetscFree(bcr->slab));
  for (int k = 0; k < 2; ++k) PetscCall(VecDestroy(&bcr->graded[k]));
  PetscCall(PetscMemzero(&bcr->pattern, sizeof(bcr->pattern)));
  bcr->dof = 0;
  bcr->n = 0;
  bcr->switched = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Set-up */

/* The ranks must want the same, or they would wait for one another in different places */
static PetscErrorCode PCBCRPoissonCheckSame(PC pc)
{
  static const char *const names[] = {"radix",   "backend",   "transport", "precision", "operator",  "fit",
                                      "tune",    "recursive", "isa",       "graph",     "tune_file", "launch",
                                      "spacing", "ends",      "shift",     "scale",     "schedule"};
  static const PetscInt lengths[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, BCR_LAUNCH, 5, 7, 1, 1, 1 + BCR_MAX_LEVELS};
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  double mine[27 + BCR_LAUNCH + BCR_MAX_LEVELS] = {0}, first[27 + BCR_LAUNCH + BCR_MAX_LEVELS];
  PetscInt n = 0, i;
  BCRFault fault = {PETSC_SUCCESS, ""};
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  if (size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  mine[n++] = (double)bcr->radix;
  mine[n++] = (double)bcr->backend;
  mine[n++] = (double)bcr->transport;
  mine[n++] = (double)bcr->precision;
  mine[n++] = (double)bcr->source;
  mine[n++] = (double)bcr->fit;
  mine[n++] = (double)bcr->tune;
  mine[n++] = (double)bcr->recursive;
  mine[n++] = (double)bcr->isa;
  mine[n++] = (double)bcr->graph;
  for (const char *c = bcr->tunefile; c && *c; ++c) mine[n] = fmod(31 * mine[n] + (double)(unsigned char)*c, 1e9 + 7);
  n++;
  for (i = 0; i < BCR_LAUNCH; ++i) mine[n++] = (double)bcr->launch[i];
  mine[n++] = (double)bcr->dim;
  mine[n++] = (double)bcr->nspacing;
  for (i = 0; i < 3; ++i) mine[n++] = i < bcr->nspacing ? (double)bcr->spacing[i] : 0;
  mine[n++] = (double)bcr->nends;
  for (i = 0; i < 6; ++i) mine[n++] = i < bcr->nends ? (double)bcr->end[i] : 0;
  mine[n++] = (double)bcr->shift;
  mine[n++] = (double)bcr->scale;
  mine[n++] = (double)bcr->nlevels;
  for (i = 0; i < bcr->nlevels; ++i) mine[n++] = (double)bcr->schedule[i];
  n = (PetscInt)PETSC_STATIC_ARRAY_LENGTH(mine);
  PetscCall(PetscArraycpy(first, mine, n));
  PetscCallMPI(MPI_Bcast(first, (PetscMPIInt)n, MPI_DOUBLE, 0, PetscObjectComm((PetscObject)pc)));
  n = 0;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(names); ++k) {
    for (i = 0; i < lengths[k]; ++i, ++n)
      if (mine[n] != first[n])
        PetscCall(
          BCRFaultSet(&fault, PETSC_ERR_ARG_NOTSAMETYPE,
                      "-%spc_bcrpoisson_%s (or its setter) differs from that of rank 0: give the same on every rank",
                      ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "", names[k]));
  }
  PetscCall(BCRFaultAgree(PetscObjectComm((PetscObject)pc), &fault));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The DMDA that says what the rows of the matrix are: that of the PC, else that of the matrix */
static PetscErrorCode PCBCRPoissonGetDMDA(PC pc, DM *da)
{
  DM dm[2] = {NULL, NULL};
  const char *found = NULL;
  PetscBool isda = PETSC_FALSE;
  BCRFault fault = {PETSC_SUCCESS, ""};

  PetscFunctionBegin;
  PetscCall(PCGetDM(pc, &dm[0]));
  PetscCall(MatGetDM(pc->pmat, &dm[1]));
  for (PetscInt i = 0; i < 2 && !isda; ++i) {
    if (!dm[i]) continue;
    if (!found) PetscCall(DMGetType(dm[i], &found));
    PetscCall(PetscObjectTypeCompare((PetscObject)dm[i], DMDA, &isda));
    *da = dm[i];
  }
  if (!isda)
    PetscCall(BCRFaultSet(&fault, PETSC_ERR_ARG_WRONG,
                          "PCBCRPOISSON needs a DMDA, but %s%s%s: give it with KSPSetDM() or PCSetDM(), or create the "
                          "matrix with DMCreateMatrix()",
                          found ? "the DM is of type " : "neither the PC nor its matrix has a DM", found ? found : "",
                          found ? "" : " (sub-matrices of a block preconditioner have none)"));
  PetscCall(BCRFaultAgree(PetscObjectComm((PetscObject)pc), &fault));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBCRPoissonCheckGrid(PC pc, const BCRGrid *grid)
{
  const PetscInt *N = grid->N;
  PetscInt rows;

  PetscFunctionBegin;
  PetscCall(MatGetSize(pc->pmat, &rows, NULL));
  PetscCheck(rows == N[0] * N[1] * N[2] * grid->dof, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_SIZ,
             "The matrix has %" PetscInt_FMT " rows, the DMDA %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT
             " nodes with %" PetscInt_FMT " components: the DM of the PC must be the one that the matrix was made for",
             rows, N[0], N[1], N[2], grid->dof);
  PetscCall(BCRGridCheckMatrix(grid, pc->pmat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How the grid lies on the ranks; all that was known about another one is forgotten */
static PetscErrorCode PCBCRPoissonSetGrid(PC pc, DM da)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  const char *prefix;
  PetscBool same = PETSC_TRUE;
  BCRGrid grid;

  PetscFunctionBegin;
  PetscCall(BCRGridCreate(da, PetscObjectComm((PetscObject)pc), &grid));
  BCRCallElse(PCBCRPoissonCheckGrid(pc, &grid), (void)BCRGridDestroy(&grid));
  same = (PetscBool)(bcr->ops && grid.dof == bcr->grid.dof && bcr->source == bcr->opssource);
  for (PetscInt d = 0; d < 3 && same; ++d) {
    same = (PetscBool)(grid.N[d] == bcr->grid.N[d] && grid.parts[d] == bcr->grid.parts[d]);
    for (PetscInt p = 0; p < grid.parts[d] && same; ++p) same = (PetscBool)(grid.first[d][p] == bcr->grid.first[d][p]);
  }
  if (!same) PetscCall(PCReset_BCRPoisson(pc));
  else PetscCall(BCRGridDestroy(&bcr->grid));
  bcr->grid = grid;
  bcr->dof = grid.dof;
  bcr->n = grid.dof * grid.n[0] * grid.n[1] * grid.n[2];
  bcr->opssource = bcr->source;
  for (PetscInt d = 0; d < 3; ++d) bcr->size[d] = grid.N[d];
  PetscCall(DMGetOptionsPrefix(da, &prefix));
  PetscCall(PetscStrncpy(bcr->daprefix, prefix ? prefix : "", sizeof(bcr->daprefix)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Work on the device is asked for, or where the vectors of the matrix and of the DM are */
static PetscErrorCode PCBCRPoissonVecsOnDevice(PC pc, DM da, PetscBool *device)
{
  VecType type[2];

  PetscFunctionBegin;
  PetscCall(MatGetVecType(pc->pmat, &type[0]));
  PetscCall(DMGetVecType(da, &type[1]));
  PetscCall(BCRTypesOnDevice(type[0], type[1], device));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The axis along which coefficients vary, -1: none. Components may have different ones: the longest */
static void PCBCRPoissonGeneralAxis(PC pc, PetscInt *general)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;

  *general = -1;
  for (PetscInt c = 0; c < bcr->dof; ++c) {
    for (PetscInt d = 0; d < 3; ++d)
      if (bcr->ops[c].axis[d].lower && (*general < 0 || bcr->size[d] > bcr->size[*general])) *general = d;
  }
}

/* The slabs that the solver works on, and what the operators say about nodes brought there */
static PetscErrorCode PCBCRPoissonSetSlabs(PC pc, DM da)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  PetscInt general, axis;
  PetscBool device, inplace, known = bcr->moves.nodes || bcr->moves.sf ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  PCBCRPoissonGeneralAxis(pc, &general);
  PetscCall(PCBCRPoissonVecsOnDevice(pc, da, &device));
  BCRMovesChoose(&bcr->grid, general, device, &axis, &inplace);
  if (known && (axis != bcr->moves.axis || inplace != bcr->moves.inplace)) {
    PetscCall(BCRSolverDestroy(&bcr->solver));
    PetscCall(BCRMovesDestroy(&bcr->moves));
    PetscCall(PetscFree(bcr->slab));
    known = PETSC_FALSE;
  }
  if (!known) {
    PetscCall(BCRMovesCreate(&bcr->grid, axis, inplace, &bcr->moves));
    if (!bcr->moves.inplace)
      PetscCall(BCRFaultShare(bcr->grid.comm,
                              PetscMalloc1(PetscMax((size_t)bcr->dof * (size_t)bcr->moves.nodes, 1), &bcr->slab),
                              BCR_NO_MEMORY));
  }
  for (PetscInt c = 0; c < bcr->dof && !bcr->moves.inplace; ++c)
    PetscCall(BCRMovesTakeOperator(&bcr->grid, &bcr->moves, &bcr->ops[c]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* No rank waits for another */
static PetscErrorCode PCBCRPoissonMakeOperators(PC_BCRPoisson *bcr, PetscInt dim, const PetscReal coupling[],
                                                const BCREnd end[])
{
  PetscFunctionBegin;
  PetscCall(PetscCalloc1(bcr->dof, &bcr->ops));
  for (PetscInt c = 0; c < bcr->dof; ++c) {
    BCROperator *op;

    PetscCall(BCROperatorCreateUser(dim, bcr->size, coupling, end, bcr->shift, bcr->scale, &op));
    bcr->ops[c] = *op;
    PetscCall(PetscFree(op)); /* what it points to lives on */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operator that PCBCRPoissonSetOperator() or the options describe, the same for each component.
   Which axes are periodic the DMDA knows: ends that are not given follow it, one word is for those
   ends that there are, and nothing may contradict it. */
static PetscErrorCode PCBCRPoissonUserOperator(PC pc, DM da)
{
  /* as PCBCRPoissonEnd */
  static const BCREnd ends[] = {BCR_END_DIRICHLET, BCR_END_NEUMANN, BCR_END_CELL_NEUMANN, BCR_END_CELL_DIRICHLET,
                                BCR_END_PERIODIC};
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  const PetscInt dim = bcr->grid.dim;
  const char *prefix = ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "";
  PetscReal coupling[3];
  BCREnd end[6];
  DMBoundaryType boundary[3];
  PetscBool open = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(da, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &boundary[0], &boundary[1],
                        &boundary[2], NULL));
  PetscCheck(!bcr->dim || bcr->dim == dim, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_INCOMP,
             "PCBCRPoissonSetOperator() was given an operator of dimension %" PetscInt_FMT
             ", the DMDA has dimension %" PetscInt_FMT,
             bcr->dim, dim);
  PetscCheck(bcr->nspacing, PetscObjectComm((PetscObject)pc), PETSC_ERR_ORDER,
             "No operator to solve with: call PCBCRPoissonSetOperator(), or give -pc_bcrpoisson_spacing hx,hy,hz (and "
             "_ends, _shift, _scale)");
  PetscCheck(bcr->nspacing == 1 || bcr->nspacing == dim, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_SIZ,
             "-pc_bcrpoisson_spacing has %" PetscInt_FMT " numbers, the DMDA has dimension %" PetscInt_FMT
             ": give one for all axes or one for each",
             bcr->nspacing, dim);
  PetscCheck(bcr->nends <= 1 || bcr->nends == 2 * dim, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_SIZ,
             "-pc_bcrpoisson_ends has %" PetscInt_FMT " words, the DMDA has dimension %" PetscInt_FMT
             ": give one word for all ends or two (low, high) for each axis",
             bcr->nends, dim);
  for (PetscInt d = 0; d < dim; ++d) {
    const PetscReal h = bcr->spacing[bcr->nspacing == 1 ? 0 : d];

    coupling[d] = 1 / (h * h);
    for (PetscInt e = 2 * d; e < 2 * d + 2; ++e) {
      end[e] = bcr->nends ? ends[bcr->end[bcr->nends == 1 ? 0 : e]] : BCR_END_DIRICHLET;
      if (bcr->nends <= 1 && boundary[d] == DM_BOUNDARY_PERIODIC) end[e] = BCR_END_PERIODIC;
    }
    PetscCheck(BCREndIsPeriodic(end[2 * d]) == BCREndIsPeriodic(end[2 * d + 1]), PetscObjectComm((PetscObject)pc),
               PETSC_ERR_ARG_INCOMP,
               "Axis %c is periodic at one end only: give `periodic` for both its ends in -pc_bcrpoisson_ends or "
               "PCBCRPoissonSetOperator(), or for none",
               (char)('x' + d));
    PetscCheck(boundary[d] == DM_BOUNDARY_PERIODIC || !BCREndIsPeriodic(end[2 * d]), PetscObjectComm((PetscObject)pc),
               PETSC_ERR_ARG_INCOMP,
               "-%spc_bcrpoisson_ends or PCBCRPoissonSetOperator() makes axis %c periodic, which it is not in the "
               "DMDA: create the DMDA with DM_BOUNDARY_PERIODIC along %c, or give other ends",
               prefix, (char)('x' + d), (char)('x' + d));
    PetscCheck(boundary[d] != DM_BOUNDARY_PERIODIC || BCREndIsPeriodic(end[2 * d]), PetscObjectComm((PetscObject)pc),
               PETSC_ERR_ARG_INCOMP,
               "-%spc_bcrpoisson_ends or PCBCRPoissonSetOperator() has %s and %s as ends of axis %c, which is periodic "
               "in the DMDA (DM_BOUNDARY_PERIODIC): give `periodic` for both, or no ends, or create another DMDA",
               prefix, PCBCRPoissonEnds[bcr->end[2 * d]], PCBCRPoissonEnds[bcr->end[2 * d + 1]], (char)('x' + d));
    if (boundary[d] != DM_BOUNDARY_PERIODIC) open = PETSC_TRUE;
  }
  PetscCheck(open || bcr->nends != 1 || bcr->end[0] == PCBCRPOISSON_PERIODIC, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_INCOMP,
             "-%spc_bcrpoisson_ends is %s, but axis x and all others are periodic in the DMDA (DM_BOUNDARY_PERIODIC) "
             "and have no ends: leave the option out, or create another DMDA",
             prefix, PCBCRPoissonEnds[bcr->end[0]]);
  PetscCall(BCROperatorDestroy(bcr->dof, &bcr->ops));
  PetscCall(BCRFaultShare(bcr->grid.comm, PCBCRPoissonMakeOperators(bcr, dim, coupling, end), BCR_NO_MEMORY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where to work: as asked, else where the vectors of the matrix and of the DM live */
static PetscErrorCode PCBCRPoissonChooseBackend(PC pc, DM da)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  const char *why = NULL;
  PetscBool cuda = PETSC_FALSE;
  PetscMPIInt mine, all;

  PetscFunctionBegin;
  bcr->nodevice = NULL;
  bcr->device = bcr->followed = PETSC_FALSE;
  mine = all = BCRSolverHaveDevice(&why) ? 1 : 0;
#if defined(PETSCBCR_HAVE_CUDA)
  if (bcr->grid.size > 1)
    PetscCallMPI(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)pc)));
#endif
  bcr->possible = all ? PETSC_TRUE : PETSC_FALSE;
  if (bcr->backend == PCBCRPOISSON_BACKEND_CUDA) {
    BCRFault fault = {PETSC_SUCCESS, ""};

    if (!mine)
      PetscCall(BCRFaultSet(
        &fault, PETSC_ERR_SUP,
        "-pc_bcrpoisson_backend cuda cannot be used here (%s): use -pc_bcrpoisson_backend cpu or auto", why));
    PetscCall(BCRFaultAgree(PetscObjectComm((PetscObject)pc), &fault));
    bcr->device = PETSC_TRUE;
  } else if (bcr->backend == PCBCRPOISSON_BACKEND_AUTO) {
    PetscCall(PCBCRPoissonVecsOnDevice(pc, da, &cuda));
    if (cuda) bcr->device = bcr->possible;
    if (cuda && !bcr->device) bcr->nodevice = "no device on every rank";
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBCRPoissonPlan(PC pc)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  BCRSolverOptions options;
  BCRSlab part = {PetscObjectComm((PetscObject)pc), bcr->moves.axis, bcr->moves.start, bcr->moves.len},
          *slab = bcr->grid.size > 1 ? &part : NULL;

  PetscFunctionBegin;
  PetscCall(BCRSolverDestroy(&bcr->solver));
  PetscCall(PetscMemzero(&options, sizeof(options)));
  options.core.radix = bcr->radix == PCBCRPOISSON_RADIX_AUTO ? 0 : bcr->radix;
  options.core.nlevels = bcr->nlevels;
  options.core.precision = (BCRPrecision)bcr->precision;
  options.core.isa = (int)bcr->isa - 1;
  options.core.recursive = bcr->recursive;
  for (int i = 0; i < BCR_LAUNCH; ++i) options.core.launch[i] = (int)bcr->launch[i];
  for (PetscInt l = 0; l < bcr->nlevels; ++l) options.core.schedule[l] = bcr->schedule[l];
  options.device = bcr->device;
  options.plainlaunch = bcr->graph ? PETSC_FALSE : PETSC_TRUE;
  options.inplace = bcr->slab ? PETSC_TRUE : PETSC_FALSE;
  options.transport = (int)bcr->transport;
#if defined(PETSCBCR_HAVE_CUDA)
  options.gpuaware = use_gpu_aware_mpi;
#endif
#if defined(PETSCBCR_HAVE_CUDA)
  /* each rank its device, if there are several, with vectors of the host too */
  if (bcr->device) PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
#endif
  if (bcr->device) PetscCall(BCRGetStream(&options.stream));
  PetscCall(PetscMemzero(&bcr->tuned, sizeof(bcr->tuned)));
  if (bcr->tune || bcr->tunefile)
    PetscCall(BCRSolverTune(PetscObjectComm((PetscObject)pc), bcr->dof, bcr->ops, bcr->size, &options, slab,
                            bcr->tunefile, bcr->tune, &bcr->solver, &bcr->tuned));
  else if (bcr->device && bcr->backend == PCBCRPOISSON_BACKEND_AUTO && !slab) {
    PetscErrorCode ierr;

    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL)); /* a device without room for it is none */
    ierr = BCRSolverCreate(bcr->dof, bcr->ops, &options, slab, &bcr->solver);
    PetscCall(PetscPopErrorHandler());
    if (ierr) {
      if (ierr == PETSC_ERR_MEM) {
        PetscCall(PetscInfo(pc, "The device has no room for the solver, which works on the host instead\n"));
        bcr->device = PETSC_FALSE;
        bcr->nodevice = "no room on the device";
        bcr->switched = PETSC_TRUE;
        options.device = PETSC_FALSE;
      }
      /* any other error comes again, with its message */
      PetscCall(BCRSolverCreate(bcr->dof, bcr->ops, &options, slab, &bcr->solver));
    }
  } else PetscCall(BCRSolverCreate(bcr->dof, bcr->ops, &options, slab, &bcr->solver));
  bcr->replan = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The component whose operator is not its matrix, but a fit that nobody has chosen by name; -1: there is none */
static PetscInt PCBCRPoissonUnchosenFit(PC pc)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;

  for (PetscInt c = 0; c < bcr->dof && bcr->ops && bcr->fit == PCBCRPOISSON_FIT_AUTO; ++c)
    if (!strcmp(bcr->ops[c].fit, "scaled") || !strcmp(bcr->ops[c].fit, "average")) return c;
  return -1;
}

/* Room for refinement, where rows of the matrix are graded */
static PetscErrorCode PCBCRPoissonSetGrading(PC pc)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;

  PetscFunctionBegin;
  bcr->grading = bcr->skewness = 1;
  for (PetscInt c = 0; c < bcr->dof; ++c) {
    if (bcr->ops[c].singular || strcmp(bcr->ops[c].fit, "exact")) continue;
    bcr->grading = PetscMax(bcr->grading, BCROperatorGrading(&bcr->ops[c]));
    bcr->skewness = PetscMax(bcr->skewness, BCROperatorSkewness(&bcr->ops[c]));
  }
  for (int k = 0; k < 2; ++k) {
    if (bcr->grading <= BCR_GRADED) PetscCall(VecDestroy(&bcr->graded[k]));
    else if (!bcr->graded[k]) PetscCall(MatCreateVecs(pc->pmat, NULL, &bcr->graded[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBCRPoissonSetUpSolver(PC pc)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  DM da = NULL;
  PetscBool same = PETSC_FALSE, done = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscBCRCitePoisson());
  PetscCall(PCBCRPoissonCheckSame(pc));
  PetscCall(PCBCRPoissonGetDMDA(pc, &da));
  PetscCall(PCBCRPoissonSetGrid(pc, da));

  PetscCall(PetscLogEventBegin(BCR_Read, pc, pc->pmat, 0, 0));
  if (bcr->source == PCBCRPOISSON_OPERATOR_USER) PetscCall(PCBCRPoissonUserOperator(pc, da));
  else PetscCall(BCROperatorReadUpdate(da, pc->pmat, (BCRFit)bcr->fit, &bcr->pattern, &bcr->dof, &bcr->ops, &same));
  PetscCall(PetscLogEventEnd(BCR_Read, pc, pc->pmat, 0, 0));

  PetscCall(PetscLogEventBegin(BCR_SetUp, pc, 0, 0, 0));
  PetscCall(PCBCRPoissonSetGrading(pc));
  PetscCall(PCBCRPoissonSetSlabs(pc, da));
  if (bcr->solver && !bcr->replan) PetscCall(BCRSolverUpdate(bcr->solver, bcr->ops, &done));
  if (!done) {
    PetscCall(PCBCRPoissonChooseBackend(pc, da));
    PetscCall(PCBCRPoissonPlan(pc));
  }
  bcr->removed = 0;
  PetscCall(BCRSolverGetInfo(bcr->solver, &bcr->info));
  PetscCall(PetscLogEventEnd(BCR_SetUp, pc, 0, 0, 0));
  PetscCall(PetscInfo(pc, "%s: fit %s, largest deviation %g%s, plan %s\n", done ? "New values, same plan" : "New plan",
                      bcr->ops[0].fit, (double)bcr->ops[0].deviation,
                      PCBCRPoissonUnchosenFit(pc) >= 0 ? ", preconditioner only" : "", bcr->info.core.plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After an error nothing is left of what an earlier set-up made, and the next application sets up
   anew: PCSetUp() has noted the state of the matrix already, and would find nothing to do if it
   were not told that there has been no set-up. It says itself when there has */
static PetscErrorCode PCSetUp_BCRPoisson(PC pc)
{
  PetscFunctionBegin;
  PCBCRPoissonOperatorChanged(pc);
  BCRCallElse(PCBCRPoissonSetUpSolver(pc), (void)PCReset_BCRPoisson(pc), BCRPreSolveEnds(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Application */

/* One solve with the fit, which nobody corrects, would be the solution of another operator */
static PetscErrorCode PCBCRPoissonRefuseFit(PC pc, PetscInt c, const char who[])
{
  const PC_BCRPoisson *bcr = (const PC_BCRPoisson *)pc->data;
  const BCROperator *op = &bcr->ops[c];
  const PetscInt *N = bcr->size, row = op->devrow, col = op->devcol;
  const char *prefix = ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "";

  PetscFunctionBegin;
  SETERRQ(PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
          "%s would give the solution of another operator: the matrix is not separable, and its fit (%s) is off by %g, "
          "relatively, at grid point %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT
          " (its coupling to %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT
          "). Iterate: -%sksp_type cg, gmres or bcrpoisson; or ask for the solution of a fit by its name, "
          "-%spc_bcrpoisson_fit %s",
          who, op->fit, (double)op->deviation, row % N[0], row / N[0] % N[1], row / (N[0] * N[1]), col % N[0],
          col / N[0] % N[1], col / (N[0] * N[1]), prefix, prefix, op->fit);
}

/* The answer of this KSP is what the user sees, and not a step of something that looks at its
   residual: it is no other solver's inner one, which stands one tab level deeper, or that of a SNES
   which solves linear problems. SNES gives itself as the context of the DM's operators (as
   PCTELESCOPE relies on). */
static PetscErrorCode PCBCRPoissonIsUsersKSP(KSP ksp, PetscBool *users)
{
  DM dm = NULL;
  SNES snes;
  KSP its;
  PetscInt level;
  const void *context = NULL;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetTabLevel((PetscObject)ksp, &level));
  *users = (PetscBool)(level == 0);
  if (*users) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPGetDM(ksp, &dm));
  PetscCall(DMKSPGetComputeOperators(dm, NULL, (void *)&context));
  if (!context || !PetscCheckPointer(context, PETSC_INT) || ((PetscObject)context)->classid != SNES_CLASSID)
    PetscFunctionReturn(PETSC_SUCCESS);
  snes = (SNES)context;
  PetscCall(SNESGetKSP(snes, &its));
  if (its == ksp) PetscCall(PetscObjectTypeCompare((PetscObject)snes, SNESKSPONLY, users));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPPREONLY, and KSPBCRPOISSON that computes no norm, do not look at what they return */
static PetscErrorCode PCPreSolve_BCRPoisson(PC pc, KSP ksp, Vec b, Vec x)
{
  const PetscInt c = PCBCRPoissonUnchosenFit(pc);
  PetscBool blind, users;
  KSPNormType norm;
  PC its;

  PetscFunctionBegin;
  (void)b, (void)x;
  if (c < 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPGetPC(ksp, &its));
  if (its != pc) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp, KSPPREONLY, &blind));
  if (!blind) {
    PetscCall(PetscObjectTypeCompare((PetscObject)ksp, KSPBCRPOISSON, &blind));
    PetscCall(KSPGetNormType(ksp, &norm));
    if (norm != KSP_NORM_NONE) blind = PETSC_FALSE;
  }
  if (!blind) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCBCRPoissonIsUsersKSP(ksp, &users));
  if (!users) PetscFunctionReturn(PETSC_SUCCESS);
  BCRPreSolveEnds(pc); /* PCPreSolve() has counted itself */
  PetscCall(PCBCRPoissonRefuseFit(pc, c, "A solve without iterations (KSPPREONLY)"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A NaN or Inf on the right-hand side reaches every unknown, so that looking at one of each
   component finds it at no cost. What a KSP then reports is its own affair (KSP_DIVERGED_NANORINF);
   with -ksp_error_if_not_converged this names the entry. */
static PetscErrorCode PCBCRPoissonCheckFinite(PC pc, const PetscScalar *f, const PetscScalar *u)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  const PetscInt *n = bcr->grid.n, first = bcr->n ? bcr->dof * BCRGridNumber(&bcr->grid, bcr->grid.lo) : 0;
  PetscInt middle, bad = bcr->n;
  PetscBool finite = PETSC_TRUE;
  double found;

  PetscFunctionBegin;
  middle = bcr->dof * (n[0] / 2 + n[0] * (n[1] / 2 + n[1] * (n[2] / 2)));
  for (PetscInt c = 0; c < bcr->dof && bcr->n && finite; ++c)
    finite = PetscLikely(!PetscIsInfOrNanScalar(u[middle + c])) ? PETSC_TRUE : PETSC_FALSE;
  if (finite && !(pc->erroriffailure && bcr->grid.size > 1)) PetscFunctionReturn(PETSC_SUCCESS);
  for (bad = 0; bad < bcr->n && !PetscIsInfOrNanScalar(f[bad]); ++bad) {}
  found = bad < bcr->n ? 2 : (finite ? 0 : 1);
  if (pc->erroriffailure) { /* on all ranks, or none */
    PetscInt entry = first + bad;

    PetscCall(BCRTakeFrom(PetscObjectComm((PetscObject)pc), found, &entry, sizeof(entry), &found));
    PetscCheck(found < 2, PetscObjectComm((PetscObject)pc), PETSC_ERR_FP,
               "Entry %" PetscInt_FMT " of the right-hand side is NaN or Inf: the solution is not finite", entry);
    PetscCheck(found < 1, PetscObjectComm((PetscObject)pc), PETSC_ERR_FP,
               "The solution overflows: the right-hand side or the operator is scaled too far from one for "
               "-pc_bcrpoisson_precision %s",
               PCBCRPoissonPrecisions[bcr->precision]);
  } else
    PetscCall(PetscInfo(
      pc,
      "The solution is not finite; first entry of the right-hand side on this rank that is NaN or Inf: %" PetscInt_FMT
      " of %" PetscInt_FMT "\n",
      bad, bcr->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The constant that the last solve removed. The device is asked for it, and waited for, only when
   somebody wants to know. */
static PetscErrorCode PCBCRPoissonUpdateRemoved(PC pc)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  BCRSolverInfo info;

  PetscFunctionBegin;
  if (bcr->solver && bcr->ops[0].singular) {
    PetscCall(BCRSolverGetInfo(bcr->solver, &info));
    bcr->removed = info.removed;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBCRPoissonSolve(PC pc, PetscBool transpose, PetscInt nrhs, const PetscScalar *f, PetscInt ldf,
                                        PetscScalar *u, PetscInt ldu)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(BCR_Solve, pc, 0, 0, 0));
  if (!bcr->slab) PetscCall(BCRSolverSolve(bcr->solver, PETSC_MEMTYPE_HOST, NULL, transpose, nrhs, f, ldf, u, ldu));
  else {
    const PetscInt n = bcr->dof * bcr->moves.nodes;

    for (PetscInt r = 0; r < nrhs; ++r) {
      PetscCall(BCRMovesTake(&bcr->moves, f + (size_t)r * ldf, bcr->slab));
      PetscCall(BCRSolverSolve(bcr->solver, PETSC_MEMTYPE_HOST, NULL, transpose, 1, bcr->slab, n, bcr->slab, n));
      PetscCall(BCRMovesGive(&bcr->moves, bcr->slab, u + (size_t)r * ldu));
    }
  }
  PetscCall(PetscLogFlops(bcr->info.flops * nrhs));
  PetscCall(PetscLogEventEnd(BCR_Solve, pc, 0, 0, 0));
  if (bcr->ops[0].singular) {
    PetscCall(PCBCRPoissonUpdateRemoved(pc));
    PetscCall(PetscInfo(pc, "Singular operator: removed a constant of size %g from the right-hand side\n",
                        (double)bcr->removed));
  }
  for (PetscInt r = 0; r < nrhs; ++r) PetscCall(PCBCRPoissonCheckFinite(pc, f + (size_t)r * ldf, u + (size_t)r * ldu));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSCBCR_HAVE_CUDA)
/* Vectors in device memory, on PETSc's stream. Nothing here waits for the device: whether the
   solution is finite is for the norms of the KSP to see. */
static PetscErrorCode PCBCRPoissonSolveDevice(PC pc, PetscBool transpose, PetscInt nrhs, const PetscScalar *f,
                                              PetscInt ldf, PetscScalar *u, PetscInt ldu)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  void *stream;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(BCR_Solve, pc, 0, 0, 0));
  PetscCall(BCRGetStream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  PetscCall(BCRSolverSolve(bcr->solver, PETSC_MEMTYPE_DEVICE, stream, transpose, nrhs, f, ldf, u, ldu));
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(bcr->info.flops * nrhs));
  PetscCall(PetscLogEventEnd(BCR_Solve, pc, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPSetErrorIfNotConverged(): one unknown of each component is looked at, as on the host, and the device waited for */
static PetscErrorCode PCBCRPoissonCheckFiniteDevice(PC pc, const PetscScalar *u, Vec x, Vec y)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  const PetscInt *n = bcr->grid.n;
  const PetscScalar *f, *v;
  PetscScalar one;
  PetscBool finite = PETSC_TRUE;
  void *stream;

  PetscFunctionBegin;
  if (!pc->erroriffailure || (!bcr->n && bcr->grid.size == 1)) PetscFunctionReturn(PETSC_SUCCESS);
  if (bcr->grid.size > 1) finite = PETSC_FALSE; /* what follows is for all ranks, or none */
  PetscCall(BCRGetStream(&stream));
  for (PetscInt c = 0; c < bcr->dof && finite; ++c) {
    PetscCall(BCRSolverFetch(stream, 1, u + bcr->dof * (n[0] / 2 + n[0] * (n[1] / 2 + n[1] * (n[2] / 2))) + c, &one));
    if (PetscIsInfOrNanScalar(one)) finite = PETSC_FALSE;
  }
  if (finite) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecGetArrayRead(x, &f));
  PetscCall(VecGetArrayRead(y, &v));
  PetscCall(PCBCRPoissonCheckFinite(pc, f, v));
  PetscCall(VecRestoreArrayRead(y, &v));
  PetscCall(VecRestoreArrayRead(x, &f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* auto: the plan moves, once, to where the vectors are. On several ranks the first vectors decide, if
   they are in the same place on all of them: to ask again would cost each application a message.
   Others are staged, by each rank for itself. */
static PetscErrorCode PCBCRPoissonFollow(PC pc, BCRVecPlace place)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  const PetscBool device = place == BCR_VECS_DEVICE ? PETSC_TRUE : PETSC_FALSE;
  PetscBool same = PETSC_TRUE;

  PetscFunctionBegin;
  if (bcr->backend != PCBCRPOISSON_BACKEND_AUTO || bcr->switched || bcr->followed || !bcr->possible)
    PetscFunctionReturn(PETSC_SUCCESS);
  if (bcr->grid.size > 1) {
    int mine[2] = {(int)place, -(int)place}, all[2];

    bcr->followed = PETSC_TRUE;
    PetscCallMPI(MPI_Allreduce(mine, all, 2, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)pc)));
    if (all[0] != -all[1]) same = PETSC_FALSE;
  }
  if (!same || place == BCR_VECS_MIXED || bcr->device == device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(
    PetscInfo(pc, "The vectors are in the memory of the %s: the plan moves there\n", device ? "device" : "host"));
  bcr->switched = PETSC_TRUE;
  bcr->device = device;
  BCRCallElse(PCBCRPoissonPlan(pc), PCBCRPoissonOperatorChanged(pc), (void)PCReset_BCRPoisson(pc));
  PetscCall(BCRSolverGetInfo(bcr->solver, &bcr->info));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

static PetscErrorCode PCBCRPoissonApplyVec(PC pc, PetscBool transpose, Vec x, Vec y)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  const PetscScalar *f;
  PetscScalar *u;

  PetscFunctionBegin;
  PetscCheck(bcr->solver, PetscObjectComm((PetscObject)pc), PETSC_ERR_ORDER,
             "PCBCRPOISSON is applied before it is set up: call PCSetUp() or KSPSetUp() first");
#if defined(PETSCBCR_HAVE_CUDA)
  if (bcr->device || bcr->backend == PCBCRPOISSON_BACKEND_AUTO) {
    const PetscScalar *solution;
    BCRVecPlace place;
    PetscBool there = PETSC_FALSE;

    PetscCall(BCRVecsGetArrays(x, y, &f, &u, &place));
    solution = u;
    PetscCall(PCBCRPoissonFollow(pc, place));
    if (place == BCR_VECS_DEVICE && bcr->device && !bcr->slab) {
      PetscCall(PCBCRPoissonSolveDevice(pc, transpose, 1, f, bcr->n, u, bcr->n));
      there = PETSC_TRUE;
    }
    PetscCall(BCRVecsRestoreArrays(x, y, &f, &u));
    if (there) PetscCall(PCBCRPoissonCheckFiniteDevice(pc, solution, x, y));
    if (there) PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  PetscCall(VecGetArrayRead(x, &f));
  PetscCall(VecGetArrayWrite(y, &u));
  PetscCall(PCBCRPoissonSolve(pc, transpose, 1, f, bcr->n, u, bcr->n));
  PetscCall(VecRestoreArrayWrite(y, &u));
  PetscCall(VecRestoreArrayRead(x, &f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool PCBCRPoissonRefines(const PC_BCRPoisson *bcr, PetscBool transpose)
{
  return (PetscBool)(bcr->grading > BCR_GRADED || (transpose && bcr->skewness > BCR_SKEWED));
}

/* y = M x, then y += M (x - A y) where rows are graded: M is linear, and symmetric if it was, all the same */
static PetscErrorCode PCBCRPoissonApplyRefined(PC pc, PetscBool transpose, Vec x, Vec y)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;

  PetscFunctionBegin;
  PetscCall(PCBCRPoissonApplyVec(pc, transpose, x, y));
  if (!PCBCRPoissonRefines(bcr, transpose)) PetscFunctionReturn(PETSC_SUCCESS);
  for (int k = 0; k < 2; ++k) /* few programs solve transposed systems: made when the first one is */
    if (!bcr->graded[k]) PetscCall(MatCreateVecs(pc->pmat, NULL, &bcr->graded[k]));
  if (transpose) PetscCall(MatMultTranspose(pc->pmat, y, bcr->graded[0]));
  else PetscCall(MatMult(pc->pmat, y, bcr->graded[0]));
  PetscCall(VecAYPX(bcr->graded[0], -1, x));
  PetscCall(PCBCRPoissonApplyVec(pc, transpose, bcr->graded[0], bcr->graded[1]));
  PetscCall(VecAXPY(y, 1, bcr->graded[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApply_BCRPoisson(PC pc, Vec x, Vec y)
{
  PetscFunctionBegin;
  BCRCallElse(PCBCRPoissonApplyRefined(pc, PETSC_FALSE, x, y), BCRPreSolveEnds(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApplyTranspose_BCRPoisson(PC pc, Vec x, Vec y)
{
  PetscFunctionBegin;
  BCRCallElse(PCBCRPoissonApplyRefined(pc, PETSC_TRUE, x, y), BCRPreSolveEnds(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBCRPoissonApplyMat(PC pc, PetscBool transpose, Mat X, Mat Y)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  const PetscScalar *f;
  PetscScalar *u;
  PetscInt ncols, ldf, ldu;
  const PetscBool refines = PCBCRPoissonRefines(bcr, transpose);

  PetscFunctionBegin;
  PetscCheck(bcr->solver, PetscObjectComm((PetscObject)pc), PETSC_ERR_ORDER,
             "PCBCRPOISSON is applied before it is set up: call PCSetUp() or KSPSetUp() first");
  PetscCall(MatGetSize(X, NULL, &ncols));
  for (PetscInt c = 0; c < ncols && refines; ++c) {
    Vec x, y;
    PetscErrorCode ierr;

    PetscCall(MatDenseGetColumnVecRead(X, c, &x));
    PetscCall(MatDenseGetColumnVecWrite(Y, c, &y));
    ierr = PCBCRPoissonApplyRefined(pc, transpose, x, y);
    /* PETSc would not destroy a dense matrix from which a column is taken out */
    PetscCall(MatDenseRestoreColumnVecWrite(Y, c, &y));
    PetscCall(MatDenseRestoreColumnVecRead(X, c, &x));
    PetscCall(ierr);
  }
  if (refines) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDenseGetLDA(X, &ldf));
  PetscCall(MatDenseGetLDA(Y, &ldu));
#if defined(PETSCBCR_HAVE_CUDA)
  if (bcr->device || bcr->backend == PCBCRPOISSON_BACKEND_AUTO) {
    PetscScalar *g; /* not const in all releases */
    PetscMemType mf, mu;
    BCRVecPlace place;
    PetscBool there = PETSC_FALSE;

    PetscCall(MatDenseGetArrayReadAndMemType(X, (void *)&g, &mf));
    PetscCall(MatDenseGetArrayWriteAndMemType(Y, &u, &mu));
    place = BCRMemPlace(mf, mu);
    PetscCall(PCBCRPoissonFollow(pc, place));
    if (place == BCR_VECS_DEVICE && bcr->device && !bcr->slab) {
      PetscCall(PCBCRPoissonSolveDevice(pc, transpose, ncols, g, ldf, u, ldu));
      there = PETSC_TRUE;
    }
    PetscCall(MatDenseRestoreArrayWriteAndMemType(Y, &u));
    PetscCall(MatDenseRestoreArrayReadAndMemType(X, (void *)&g));
    if (there) PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  PetscCall(MatDenseGetArrayRead(X, &f));
  PetscCall(MatDenseGetArrayWrite(Y, &u));
  PetscCall(PCBCRPoissonSolve(pc, transpose, ncols, f, ldf, u, ldu));
  PetscCall(MatDenseRestoreArrayWrite(Y, &u));
  PetscCall(MatDenseRestoreArrayRead(X, &f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPMatSolve() comes here without PCPreSolve(): KSPPREONLY cannot be told from block methods, which iterate */
static PetscErrorCode PCMatApply_BCRPoisson(PC pc, Mat X, Mat Y)
{
  const PetscInt c = PCBCRPoissonUnchosenFit(pc);
  PetscInt level;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetTabLevel((PetscObject)pc, &level));
  if (c >= 0 && level == 0 && !((PC_BCRPoisson *)pc->data)->refined)
    PetscCall(PCBCRPoissonRefuseFit(pc, c, "PCMatApply() for a KSP that may not iterate"));
  PetscCall(PCBCRPoissonApplyMat(pc, PETSC_FALSE, X, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if PETSC_VERSION_GE(3, 24, 0)
static PetscErrorCode PCMatApplyTranspose_BCRPoisson(PC pc, Mat X, Mat Y)
{
  PetscFunctionBegin;
  PetscCall(PCBCRPoissonApplyMat(pc, PETSC_TRUE, X, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* View */

/* Where the slabs are, what it costs to bring vectors there, and how a user does without */
static PetscErrorCode PCBCRPoissonViewRanks(PC pc, PetscViewer viewer)
{
  static const char xyz[] = "xyz";
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  const BCRGrid *g = &bcr->grid;
  const BCRMoves *m = &bcr->moves;
  const double bytes = 2 * (double)sizeof(PetscScalar) * (double)bcr->dof; /* there and back */
  PetscInt rows[2] = {-m->len, m->len}, all[2], axis = m->axis, general, cut = 0;
  PetscViewerFormat format;

  PetscFunctionBegin;
  if (g->size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Allreduce(rows, all, 2, MPIU_INT, MPI_MAX, g->comm));
  PetscCall(
    PetscViewerASCIIPrintf(viewer, "ranks: %d, slabs of %" PetscInt_FMT " to %" PetscInt_FMT " rows along %c%s\n",
                           (int)g->size, -all[0], all[1], xyz[m->axis], m->inplace ? ", as the DMDA has them" : ""));
  if (bcr->solver) {
    BCRSolverInfo info;

    PetscCall(BCRSolverGetInfo(bcr->solver, &info));
    if (info.transport[0]) PetscCall(PetscViewerASCIIPrintf(viewer, "transport: %s\n", info.transport));
    if (info.ranks[0])
      PetscCall(PetscViewerASCIIPrintf(viewer,
                                       "coupling: %s; the first rank sends %.0f bytes in %.0f messages in a solve\n",
                                       info.ranks, (double)info.bytes_sent, (double)info.messages));
    PetscCall(PetscViewerGetFormat(viewer, &format));
    for (const char *line = info.refused; *line && format == PETSC_VIEWER_ASCII_INFO_DETAIL;) {
      const size_t length = strcspn(line, "\n");
      char way[256];

      PetscCall(PetscStrncpy(way, line, PetscMin(length + 1, sizeof(way))));
      PetscCall(PetscViewerASCIIPrintf(viewer, "coupling: not by %s\n", way));
      line += length + (line[length] ? 1 : 0);
    }
  }
  PCBCRPoissonGeneralAxis(pc, &general);
  if (m->inplace && general >= 0 && general != m->axis)
    PetscCall(PetscViewerASCIIPrintf(
      viewer,
      "coupling: by the %" PetscInt_FMT " eigenvectors of the coefficients along %c, which set-up finds in the order "
      "of %g operations; a solve takes %g for each line between slabs\n",
      bcr->size[general], xyz[general], 10 * PetscPowReal((PetscReal)bcr->size[general], 3),
      8 * PetscSqr((double)bcr->size[general])));
  if (m->inplace) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt d = 0; d < g->dim; ++d)
    if (g->parts[d] > 1) ++cut;
  if (cut == 1)
    PetscCall(PetscViewerASCIIPrintf(
      viewer,
      "redistributed: coefficients vary along %c, and slabs of the DMDA as it is cut would need the %" PetscInt_FMT
      " eigenvectors of that axis, which cost more than to move vectors\n",
      xyz[general], bcr->size[general]));
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "redistributed: the DMDA is cut %" PetscInt_FMT " x %" PetscInt_FMT
                                   " x %" PetscInt_FMT ", each application brings its vectors to slabs and back: %.0f "
                                   "bytes between ranks, %.0f by the rank that sends most\n",
                                   g->parts[0], g->parts[1], g->parts[2], bytes * m->moved, bytes * m->most));
  for (PetscInt d = 0; d < g->dim; ++d)
    if (g->N[axis] < (PetscInt)g->size && g->N[d] > g->N[axis]) axis = d;
  if (g->N[axis] < (PetscInt)g->size)
    PetscCall(PetscViewerASCIIPrintf(
      viewer, "redistributed: with fewer ranks, at most %" PetscInt_FMT ", this could be avoided\n", g->N[axis]));
  else {
    PetscCall(PetscViewerASCIIPrintf(viewer, "redistributed: avoided by"));
    PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
    for (PetscInt d = 0; d < g->dim; ++d)
      PetscCall(
        PetscViewerASCIIPrintf(viewer, " -%sda_processors_%c %d", bcr->daprefix, xyz[d], d == axis ? (int)g->size : 1));
    PetscCall(PetscViewerASCIIPrintf(viewer, " (DMSetFromOptions()), or DMDASetNumProcs()\n"));
    PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCView_BCRPoisson(PC pc, PetscViewer viewer)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  BCRSolverInfo info;
  PetscBool ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerASCIIPrintf(viewer, "operator: from %s, fit %s\n",
                                   bcr->source == PCBCRPOISSON_OPERATOR_USER ? "the user" : "the matrix",
                                   PCBCRPoissonFits[bcr->fit]));
  if (!bcr->solver) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "not set up yet: the plan is made from the operator\n"));
    PetscCall(PetscViewerASCIIPrintf(viewer, "backend: %s\n", PCBCRPoissonBackends[bcr->backend]));
    PetscCall(PetscViewerASCIIPrintf(viewer, "precision: %s\n", PCBCRPoissonPrecisions[bcr->precision]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscViewerASCIIPushTab(viewer));
  for (PetscInt c = 0; c < bcr->dof; ++c) {
    if (bcr->dof > 1) PetscCall(PetscViewerASCIIPrintf(viewer, "component %" PetscInt_FMT ":\n", c));
    PetscCall(BCROperatorView(&bcr->ops[c], viewer));
  }
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscCall(PCBCRPoissonViewRanks(pc, viewer));
  PetscCall(PetscViewerASCIIPrintf(viewer, "plan: %s\n", bcr->info.core.plan));
  if (bcr->info.core.subproblems)
    PetscCall(PetscViewerASCIIPrintf(viewer, "tridiagonal sub-problems of a solve: %" PetscInt_FMT "\n",
                                     bcr->info.core.subproblems));
  PetscCall(PetscViewerASCIIPrintf(viewer, "backend: %s %s%s\n", bcr->device ? "cuda, device" : "cpu, instruction set",
                                   bcr->info.core.isa, bcr->backend == PCBCRPOISSON_BACKEND_AUTO ? " (auto)" : ""));
  if (bcr->nodevice)
    PetscCall(PetscViewerASCIIPrintf(
      viewer, "backend: each application brings the vectors to the host, as there is %s\n", bcr->nodevice));
  PetscCall(BCRSolverGetInfo(bcr->solver, &info));
  if (bcr->device) {
    if (!bcr->graph) PetscCall(PetscViewerASCIIPrintf(viewer, "launches: kernel by kernel, as asked for\n"));
    else if (!info.graph)
      PetscCall(PetscViewerASCIIPrintf(viewer, "launches: kernel by kernel, as the solve cannot be captured\n"));
    else if (!info.graphs)
      PetscCall(PetscViewerASCIIPrintf(
        viewer, "launches: as a CUDA graph from the second application to the same vectors on\n"));
    else
      PetscCall(PetscViewerASCIIPrintf(
        viewer, "launches: %" PetscInt_FMT " as CUDA graphs, the last one of %" PetscInt_FMT " nodes\n", info.graphs,
        info.nodes[0] + info.nodes[1] + info.nodes[2] + info.nodes[3]));
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "precision: %s\n", PCBCRPoissonPrecisions[bcr->precision]));
  if (bcr->tuned.fromfile)
    PetscCall(PetscViewerASCIIPrintf(viewer, "tune: %s, from %s: %s\n", bcr->tune ? "on" : "off", bcr->tunefile,
                                     bcr->tuned.what));
  else if (!bcr->tune) PetscCall(PetscViewerASCIIPrintf(viewer, "tune: off\n"));
  else if (!bcr->tuned.ntimed)
    PetscCall(PetscViewerASCIIPrintf(viewer, "tune: on, nothing to choose as the radix or schedule is given\n"));
  else
    PetscCall(PetscViewerASCIIPrintf(viewer, "tune: on, %" PetscInt_FMT " plans timed, fastest %s, %g ms\n",
                                     bcr->tuned.ntimed, bcr->tuned.what, 1e3 * bcr->tuned.seconds));
  { /* on the rank that has most of it */
    double memory[4] = {(double)bcr->info.workspace +
                          (bcr->slab ? (double)sizeof(PetscScalar) * (double)bcr->dof * (double)bcr->moves.nodes : 0),
                        (double)bcr->info.tables, 0, (double)info.copies};
    char copies[96] = "";

    memory[2] = memory[0] / ((double)PetscMax(bcr->n, 1) * sizeof(PetscScalar));
    if (bcr->grid.size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, memory, 4, MPI_DOUBLE, MPI_MAX, bcr->grid.comm));
    if (memory[3] > 0)
      PetscCall(PetscSNPrintf(copies, sizeof(copies), ", copies of vectors of the host %.0f bytes", memory[3]));
    PetscCall(PetscViewerASCIIPrintf(viewer, "memory%s: workspace %.0f bytes (%.2f vectors), tables %.0f bytes%s\n",
                                     bcr->grid.size > 1 ? " of a rank" : "", memory[0], memory[2], memory[1], copies));
  }
  PetscCall(PCBCRPoissonUpdateRemoved(pc));
  if (bcr->grading > BCR_GRADED)
    PetscCall(PetscViewerASCIIPrintf(
      viewer, "refined once in each application: diagonals along a grid line differ by a factor of %g\n",
      (double)bcr->grading));
  if (PCBCRPoissonUnchosenFit(pc) >= 0)
    PetscCall(PetscViewerASCIIPrintf(viewer, "preconditioner only: the operator is not the matrix, but a fit of it\n"));
  if (bcr->ops[0].singular)
    PetscCall(PetscViewerASCIIPrintf(
      viewer, "singular: solutions have zero mean; constant removed from the last right-hand side: %g\n",
      (double)bcr->removed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Options */

/* Reads "auto" or a list of radices of which each is at least 2 */
static PetscErrorCode PCBCRPoissonParseRadices(PC pc, const char option[], const char text[], PetscInt max, PetscInt *n,
                                               PetscInt radix[])
{
  const char *prefix = ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "";
  PetscBool automatic;
  const char *s = text;

  PetscFunctionBegin;
  *n = 0;
  PetscCall(PetscStrcasecmp(text, "auto", &automatic));
  if (automatic) PetscFunctionReturn(PETSC_SUCCESS);
  while (PETSC_TRUE) {
    char *end;
    long value = strtol(s, &end, 10);

    PetscCheck(end != s && (*end == ',' || !*end), PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
               "-%s%s %s: not a number%s: give `auto` or %s", prefix, option + 1, text, max > 1 ? " list" : "",
               max > 1 ? "the radix of each level, such as 8,16,32" : "a radix, such as 2, 4, 8 or 16");
    PetscCheck(value >= 2, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
               "-%s%s %s: a radix is at least 2: give `auto`, 2, 4, 8, ...", prefix, option + 1, text);
    PetscCheck(value <= BCR_MAX_RADIX, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
               "-%s%s %s: a radix is at most %d: one beyond the size of the grid is as good as any other", prefix,
               option + 1, text, BCR_MAX_RADIX);
    PetscCheck(*n<max, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
                  "-%s%s %s: more than %" PetscInt_FMT " level%s", prefix, option + 1, text, max, max> 1
                 ? "s"
                 : ": give -pc_bcrpoisson_schedule for a radix per level");
    radix[(*n)++] = (PetscInt)value;
    if (!*end) break;
    s = end + 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* NaN and infinity in a real option: newer PETScs refuse them in PetscOptionsReal(), with an error
   that does not name the option */
static PetscErrorCode PCBCRPoissonFiniteOption(PC pc, const char name[])
{
  PetscReal value = 0;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetReal(((PetscObject)pc)->options, ((PetscObject)pc)->prefix, name, &value, NULL));
  PetscCheck(!PetscIsInfOrNanReal(value), PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "-%s%s %g: it must be finite", ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "", name + 1,
             (double)value);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reads a list of ends */
static PetscErrorCode PCBCRPoissonParseEnds(PC pc, const char option[], const char text[], PetscInt *n,
                                            PCBCRPoissonEnd end[])
{
  const char *prefix = ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "";
  const char *s = text;

  PetscFunctionBegin;
  *n = 0;
  while (PETSC_TRUE) {
    char word[32];
    size_t length = strcspn(s, ",");
    PetscInt e = -1;
    PetscBool same = PETSC_FALSE;

    PetscCall(PetscStrncpy(word, s, PetscMin(length + 1, sizeof(word))));
    while (!same && ++e <= PCBCRPOISSON_PERIODIC) PetscCall(PetscStrcasecmp(word, PCBCRPoissonEnds[e], &same));
    PetscCheck(
      same, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
      "-%s%s %s: no end is called \"%s\": they are dirichlet, neumann, cell_neumann, cell_dirichlet and periodic",
      prefix, option + 1, text, word);
    PetscCheck(*n < 6, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
               "-%s%s %s: more than 6 ends: give low and high of x, y and z", prefix, option + 1, text);
    end[(*n)++] = (PCBCRPoissonEnd)e;
    if (!s[length]) break;
    s += length + 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The options below a stem: "-pc_bcrpoisson_" of the PC, "-ksp_bcrpoisson_" of KSPBCRPOISSON */
static PetscErrorCode PCBCRPoissonReadOptions(PC pc, const char stem[], BCROptionItems PetscOptionsObject)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  PetscBool flg, given, tune = bcr->tune, recursive = bcr->recursive, graph = bcr->graph;
  char name[64], text[256], now[32], path[PETSC_MAX_PATH_LEN];
  PetscInt n, radices[BCR_MAX_LEVELS], isa = bcr->isa, launch[BCR_LAUNCH];
  PCBCRPoissonBackend backend = bcr->backend;
  PCBCRPoissonTransport transport = bcr->transport;
  PCBCRPoissonPrecision precision = bcr->precision;
  PCBCRPoissonOperatorSource source = bcr->source;
  PCBCRPoissonFit fit = bcr->fit;
  PetscReal spacing[3], shift, scale;
  PCBCRPoissonEnd end[6];

#define BCROptionName(what) PetscSNPrintf(name, sizeof(name), "%s%s", stem, what)
  PetscFunctionBegin;
  PetscCall(PetscArraycpy(launch, bcr->launch, BCR_LAUNCH));
  PetscCall(BCROptionName("radix"));
  if (bcr->radix == PCBCRPOISSON_RADIX_AUTO) PetscCall(PetscStrncpy(now, "auto", sizeof(now)));
  else PetscCall(PetscSNPrintf(now, sizeof(now), "%" PetscInt_FMT, bcr->radix));
  PetscCall(PetscOptionsString(name, "Radix of the reduction: auto, 2, 4, 8, 16, ...", "PCBCRPoissonSetRadix", now,
                               text, sizeof(text), &flg));
  if (flg) {
    PetscCall(PCBCRPoissonParseRadices(pc, name, text, 1, &n, radices));
    PetscCall(PCBCRPoissonSetRadix(pc, n ? radices[0] : PCBCRPOISSON_RADIX_AUTO));
  }
  PetscCall(BCROptionName("schedule"));
  PetscCall(PetscOptionsString(name,
                               "Radix of each level, finest first, such as 8,16,32 (overrides the radix), or auto",
                               "PCBCRPoissonSetSchedule", "auto", text, sizeof(text), &flg));
  if (flg) {
    PetscCall(PCBCRPoissonParseRadices(pc, name, text, BCR_MAX_LEVELS, &n, radices));
    PetscCall(PCBCRPoissonSetSchedule(pc, n, radices));
  }
  PetscCall(BCROptionName("backend"));
  PetscCall(PetscOptionsEnum(name, "Where the work is done", "PCBCRPoissonSetBackend", PCBCRPoissonBackends,
                             (PetscEnum)backend, (PetscEnum *)&backend, &flg));
  if (flg) PetscCall(PCBCRPoissonSetBackend(pc, backend));
  PetscCall(BCROptionName("transport"));
  PetscCall(PetscOptionsEnum(name, "How data move between the GPUs of several ranks", "PCBCRPoissonSetTransport",
                             PCBCRPoissonTransports, (PetscEnum)transport, (PetscEnum *)&transport, &flg));
  if (flg) PetscCall(PCBCRPoissonSetTransport(pc, transport));
  PetscCall(BCROptionName("precision"));
  PetscCall(PetscOptionsEnum(name, "Precision of the work inside", "PCBCRPoissonSetPrecision", PCBCRPoissonPrecisions,
                             (PetscEnum)precision, (PetscEnum *)&precision, &flg));
  if (flg) PetscCall(PCBCRPoissonSetPrecision(pc, precision));
  PetscCall(BCROptionName("fit"));
  PetscCall(PetscOptionsEnum(name, "What to do with a matrix that is not separable", "PCBCRPoissonSetFit",
                             PCBCRPoissonFits, (PetscEnum)fit, (PetscEnum *)&fit, &flg));
  if (flg) PetscCall(PCBCRPoissonSetFit(pc, fit));
  PetscCall(BCROptionName("recursive"));
  PetscCall(PetscOptionsBool(name, "A given radix or schedule: recursion in three dimensions",
                             "PCBCRPoissonSetRecursive", recursive, &recursive, &flg));
  if (flg) PetscCall(PCBCRPoissonSetRecursive(pc, recursive));
  PetscCall(BCROptionName("tune"));
  PetscCall(PetscOptionsBool(name, "Time several plans at set-up and take the fastest", "PCBCRPoissonSetTune", tune,
                             &tune, &flg));
  if (flg) PetscCall(PCBCRPoissonSetTune(pc, tune));
  PetscCall(BCROptionName("tune_file"));
  PetscCall(PetscOptionsString(name, "File that keeps what the optimizer found", "PCBCRPoissonSetTuneFile",
                               bcr->tunefile ? bcr->tunefile : "", path, sizeof(path), &flg));
  if (flg) PetscCall(PCBCRPoissonSetTuneFile(pc, path));
  PetscCall(BCROptionName("graph"));
  PetscCall(PetscOptionsBool(name, "On a GPU launch the kernels of a solve as one CUDA graph", "PCBCRPoissonSetGraph",
                             graph, &graph, &flg));
  if (flg) PetscCall(PCBCRPoissonSetGraph(pc, graph));
  n = BCR_LAUNCH;
  PetscCall(BCROptionName("launch"));
  PetscCall(PetscOptionsIntArray(name, "Launch parameters of a GPU, 0: the default (developer, see BCRCoreOptions)",
                                 "None", launch, &n, &flg));
  if (flg) {
    PCBCRPoissonPlanChanged(pc);
    for (PetscInt i = 0; i < BCR_LAUNCH; ++i) bcr->launch[i] = i < n ? launch[i] : 0;
  }
  PetscCall(BCROptionName("isa"));
  PetscCall(PetscOptionsEList(name, "Instruction set, or the next lower one that the machine has (developer)", "None",
                              BCRInstructionSets, PETSC_STATIC_ARRAY_LENGTH(BCRInstructionSets),
                              BCRInstructionSets[bcr->isa], &isa, &flg));
  if (flg && isa != bcr->isa) {
    PCBCRPoissonPlanChanged(pc);
    bcr->isa = isa;
  }

  /* the user's operator; -help prints the arrays as they stand */
  given = PETSC_FALSE;
  PetscCall(PCBCRPoissonGetOperator(pc, NULL, spacing, end, &shift, &scale));
  n = 3;
  PetscCall(BCROptionName("spacing"));
  PetscCall(PetscOptionsRealArray(name, "Spacing of the user's operator along x,y,z, or one for all",
                                  "PCBCRPoissonSetOperator", spacing, &n, &flg));
  if (flg) {
    for (PetscInt i = 0; i < n; ++i) {
      PetscCheck(spacing[i] > 0 && !PetscIsInfOrNanReal(spacing[i]), PetscObjectComm((PetscObject)pc),
                 PETSC_ERR_ARG_OUTOFRANGE, "-%s%s: spacing %g of axis %c: it must be positive",
                 ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "", name + 1, (double)spacing[i],
                 (char)('x' + i));
      bcr->spacing[i] = spacing[i];
    }
    bcr->nspacing = n;
    bcr->dim = 0;
    given = PETSC_TRUE;
    PCBCRPoissonOperatorChanged(pc);
  }
  PetscCall(BCROptionName("ends"));
  PetscCall(PetscOptionsString(name,
                               "Ends of the user's operator, low and high of x,y,z, or one for all: dirichlet neumann "
                               "cell_neumann cell_dirichlet periodic",
                               "PCBCRPoissonSetOperator", "dirichlet", text, sizeof(text), &flg));
  if (flg) {
    PetscCall(PCBCRPoissonParseEnds(pc, name, text, &n, end));
    for (PetscInt i = 0; i < n; ++i) bcr->end[i] = end[i];
    bcr->nends = n;
    PCBCRPoissonOperatorChanged(pc);
  }
  PetscCall(BCROptionName("shift"));
  PetscCall(PCBCRPoissonFiniteOption(pc, name));
  PetscCall(PetscOptionsReal(name, "Shift of the user's operator: scale (-Laplacian + shift)",
                             "PCBCRPoissonSetOperator", shift, &shift, &flg));
  if (flg) {
    bcr->shift = shift;
    PCBCRPoissonOperatorChanged(pc);
  }
  PetscCall(BCROptionName("scale"));
  PetscCall(PCBCRPoissonFiniteOption(pc, name));
  PetscCall(PetscOptionsReal(name, "Scale of the user's operator: scale (-Laplacian + shift)",
                             "PCBCRPoissonSetOperator", scale, &scale, &flg));
  if (flg) {
    PetscCheck(scale != 0, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
               "-%s%s %g: it must be finite and not zero", ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "",
               name + 1, (double)scale);
    bcr->scale = scale;
    PCBCRPoissonOperatorChanged(pc);
  }
  PetscCall(BCROptionName("operator"));
  if (given) source = PCBCRPOISSON_OPERATOR_USER;
  PetscCall(PetscOptionsEnum(name, "Where the coefficients come from", "PCBCRPoissonSetOperatorSource",
                             PCBCRPoissonOperatorSources, (PetscEnum)source, (PetscEnum *)&source, &flg));
  if (flg || given) PetscCall(PCBCRPoissonSetOperatorSource(pc, source));
#undef BCROptionName
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Options that are wrong on one rank, which may have others than the rest, are an error on all */
static PetscErrorCode PCBCRPoissonSetFromOptions_BCRPoisson(PC pc, const char stem[], BCROptionItems PetscOptionsObject)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = PCBCRPoissonReadOptions(pc, stem, PetscOptionsObject);
  PetscCall(BCRFaultShare(PetscObjectComm((PetscObject)pc), ierr,
                          "has options of PCBCRPOISSON that are wrong, as its own message says"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetFromOptions_BCRPoisson(PC pc, BCROptionItems PetscOptionsObject)
{
  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "BCR Poisson options");
  PetscCall(PCBCRPoissonSetFromOptions_BCRPoisson(pc, "-pc_bcrpoisson_", PetscOptionsObject));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Setters and getters */

static PetscErrorCode PCBCRPoissonSetRadix_BCRPoisson(PC pc, PetscInt radix)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;

  PetscFunctionBegin;
  PetscCheck(radix >= 2 || radix == PCBCRPOISSON_RADIX_AUTO, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "Radix %" PetscInt_FMT ": it must be at least 2, or PCBCRPOISSON_RADIX_AUTO", radix);
  if (radix != bcr->radix) PCBCRPoissonPlanChanged(pc);
  bcr->radix = radix;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBCRPoissonGetRadix_BCRPoisson(PC pc, PetscInt *radix)
{
  PetscFunctionBegin;
  *radix = ((PC_BCRPoisson *)pc->data)->radix;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBCRPoissonSetSchedule_BCRPoisson(PC pc, PetscInt n, const PetscInt radix[])
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;

  PetscFunctionBegin;
  PetscCheck(n >= 0 && n <= BCR_MAX_LEVELS, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "A schedule has 0 (automatic) to %d levels, not %" PetscInt_FMT, BCR_MAX_LEVELS, n);
  for (PetscInt l = 0; l < n; ++l)
    PetscCheck(radix[l] >= 2, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
               "Level %" PetscInt_FMT " of the schedule has radix %" PetscInt_FMT ": it must be at least 2", l,
               radix[l]);
  if (n != bcr->nlevels) PCBCRPoissonPlanChanged(pc);
  for (PetscInt l = 0; l < n; ++l) {
    if (radix[l] != bcr->schedule[l]) PCBCRPoissonPlanChanged(pc);
    bcr->schedule[l] = radix[l];
  }
  bcr->nlevels = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBCRPoissonGetSchedule_BCRPoisson(PC pc, PetscInt *n, const PetscInt *radix[])
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;

  PetscFunctionBegin;
  if (n) *n = bcr->nlevels;
  if (radix) *radix = bcr->schedule;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBCRPoissonSetBackend_BCRPoisson(PC pc, PCBCRPoissonBackend backend)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;

  PetscFunctionBegin;
  if (backend != bcr->backend) PCBCRPoissonPlanChanged(pc);
  bcr->backend = backend;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBCRPoissonGetBackend_BCRPoisson(PC pc, PCBCRPoissonBackend *backend)
{
  PetscFunctionBegin;
  *backend = ((PC_BCRPoisson *)pc->data)->backend;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBCRPoissonSetTransport_BCRPoisson(PC pc, PCBCRPoissonTransport transport)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;

  PetscFunctionBegin;
  PetscCheck((int)transport >= 0 && transport <= PCBCRPOISSON_TRANSPORT_HOST, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE, "%d is no PCBCRPoissonTransport", (int)transport);
  if (transport != bcr->transport) PCBCRPoissonPlanChanged(pc);
  bcr->transport = transport;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBCRPoissonGetTransport_BCRPoisson(PC pc, PCBCRPoissonTransport *transport)
{
  PetscFunctionBegin;
  *transport = ((PC_BCRPoisson *)pc->data)->transport;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBCRPoissonSetPrecision_BCRPoisson(PC pc, PCBCRPoissonPrecision precision)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;

  PetscFunctionBegin;
  if (precision != bcr->precision) PCBCRPoissonPlanChanged(pc);
  bcr->precision = precision;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBCRPoissonGetPrecision_BCRPoisson(PC pc, PCBCRPoissonPrecision *precision)
{
  PetscFunctionBegin;
  *precision = ((PC_BCRPoisson *)pc->data)->precision;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBCRPoissonSetOperatorSource_BCRPoisson(PC pc, PCBCRPoissonOperatorSource source)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;

  PetscFunctionBegin;
  if (source != bcr->source) PCBCRPoissonOperatorChanged(pc);
  bcr->source = source;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBCRPoissonGetOperatorSource_BCRPoisson(PC pc, PCBCRPoissonOperatorSource *source)
{
  PetscFunctionBegin;
  *source = ((PC_BCRPoisson *)pc->data)->source;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBCRPoissonSetFit_BCRPoisson(PC pc, PCBCRPoissonFit fit)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;

  PetscFunctionBegin;
  if (fit != bcr->fit) PCBCRPoissonOperatorChanged(pc);
  bcr->fit = fit;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBCRPoissonGetFit_BCRPoisson(PC pc, PCBCRPoissonFit *fit)
{
  PetscFunctionBegin;
  *fit = ((PC_BCRPoisson *)pc->data)->fit;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBCRPoissonSetRecursive_BCRPoisson(PC pc, PetscBool recursive)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;

  PetscFunctionBegin;
  if (recursive != bcr->recursive) PCBCRPoissonPlanChanged(pc);
  bcr->recursive = recursive;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBCRPoissonGetRecursive_BCRPoisson(PC pc, PetscBool *recursive)
{
  PetscFunctionBegin;
  *recursive = ((PC_BCRPoisson *)pc->data)->recursive;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBCRPoissonSetTune_BCRPoisson(PC pc, PetscBool tune)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;

  PetscFunctionBegin;
  if (tune != bcr->tune) PCBCRPoissonPlanChanged(pc);
  bcr->tune = tune;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBCRPoissonGetTune_BCRPoisson(PC pc, PetscBool *tune)
{
  PetscFunctionBegin;
  *tune = ((PC_BCRPoisson *)pc->data)->tune;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBCRPoissonSetTuneFile_BCRPoisson(PC pc, const char name[])
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;

  PetscFunctionBegin;
  PCBCRPoissonPlanChanged(pc);
  PetscCall(PetscFree(bcr->tunefile));
  if (name && *name) PetscCall(PetscStrallocpy(name, &bcr->tunefile));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBCRPoissonGetTuneFile_BCRPoisson(PC pc, const char *name[])
{
  PetscFunctionBegin;
  *name = ((PC_BCRPoisson *)pc->data)->tunefile;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBCRPoissonSetGraph_BCRPoisson(PC pc, PetscBool graph)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;

  PetscFunctionBegin;
  if (graph != bcr->graph) PCBCRPoissonPlanChanged(pc);
  bcr->graph = graph;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBCRPoissonGetGraph_BCRPoisson(PC pc, PetscBool *graph)
{
  PetscFunctionBegin;
  *graph = ((PC_BCRPoisson *)pc->data)->graph;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBCRPoissonSetOperator_BCRPoisson(PC pc, PetscInt dim, const PetscReal spacing[],
                                                         const PCBCRPoissonEnd ends[], PetscReal shift, PetscReal scale)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;

  PetscFunctionBegin;
  PetscCheck(dim >= 1 && dim <= 3, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "Dimension %" PetscInt_FMT ": it must be 1, 2 or 3", dim);
  for (PetscInt d = 0; d < dim; ++d)
    PetscCheck(spacing[d] > 0 && !PetscIsInfOrNanReal(spacing[d]), PetscObjectComm((PetscObject)pc),
               PETSC_ERR_ARG_OUTOFRANGE, "Spacing %g of axis %c: it must be positive", (double)spacing[d],
               (char)('x' + d));
  for (PetscInt e = 0; e < 2 * dim && ends; ++e)
    PetscCheck((int)ends[e] >= 0 && ends[e] <= PCBCRPOISSON_PERIODIC, PetscObjectComm((PetscObject)pc),
               PETSC_ERR_ARG_OUTOFRANGE, "End %" PetscInt_FMT " is %d, which is no PCBCRPoissonEnd", e, (int)ends[e]);
  PetscCheck(!PetscIsInfOrNanReal(shift), PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "Shift %g: it must be finite", (double)shift);
  PetscCheck(scale != 0 && !PetscIsInfOrNanReal(scale), PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "Scale %g: it must be finite and not zero", (double)scale);
  bcr->dim = dim;
  bcr->nspacing = dim;
  bcr->nends = ends ? 2 * dim : 0;
  bcr->shift = shift;
  bcr->scale = scale;
  bcr->source = PCBCRPOISSON_OPERATOR_USER;
  for (PetscInt d = 0; d < dim; ++d) bcr->spacing[d] = spacing[d];
  for (PetscInt e = 0; e < bcr->nends; ++e) bcr->end[e] = ends[e];
  PCBCRPoissonOperatorChanged(pc);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBCRPoissonGetOperator_BCRPoisson(PC pc, PetscInt *dim, PetscReal spacing[],
                                                         PCBCRPoissonEnd ends[], PetscReal *shift, PetscReal *scale)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;

  PetscFunctionBegin;
  if (dim) *dim = bcr->dim ? bcr->dim : (bcr->nspacing > 1 ? bcr->nspacing : 0);
  for (PetscInt d = 0; d < 3 && spacing; ++d) spacing[d] = bcr->nspacing == 1 ? bcr->spacing[0] : bcr->spacing[d];
  for (PetscInt e = 0; e < 6 && ends; ++e)
    ends[e] = bcr->nends == 1 ? bcr->end[0] : (e < bcr->nends ? bcr->end[e] : PCBCRPOISSON_DIRICHLET);
  if (shift) *shift = bcr->shift;
  if (scale) *scale = bcr->scale;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBCRPoissonGetRemovedConstant_BCRPoisson(PC pc, PetscReal *removed)
{
  PetscFunctionBegin;
  PetscCall(PCBCRPoissonUpdateRemoved(pc));
  *removed = ((PC_BCRPoisson *)pc->data)->removed;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* for KSPBCRPOISSON, which is not told from other users of PCMatApply() */
static PetscErrorCode PCBCRPoissonSetRefined_BCRPoisson(PC pc, PetscBool refined)
{
  PetscFunctionBegin;
  ((PC_BCRPoisson *)pc->data)->refined = refined;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* For KSPBCRPOISSON: why refinement with this solver leaves a residual of that norm; nothing if
   this solver sees no reason */
static PetscErrorCode PCBCRPoissonExplain_BCRPoisson(PC pc, PetscReal norm, size_t length, char text[])
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  PetscInt N;

  PetscFunctionBegin;
  text[0] = 0;
  if (!bcr->solver) PetscFunctionReturn(PETSC_SUCCESS);
  if (bcr->source == PCBCRPOISSON_OPERATOR_USER) {
    PetscCall(PetscSNPrintf(
      text, length,
      "the tolerance is below rounding, or the matrix is not the operator that was described (-pc_bcrpoisson_operator "
      "user): mend the description, or use KSPCG or KSPGMRES with PCBCRPOISSON"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt c = 0; c < bcr->dof; ++c) {
    PetscBool exact;

    PetscCall(PetscStrcmp(bcr->ops[c].fit, "exact", &exact));
    if (exact) continue;
    PetscCall(PetscSNPrintf(text, length,
                            "the matrix is not separable, and the solver is of another one near it (fit %s, largest "
                            "deviation of an entry %g): use KSPCG or KSPGMRES with PCBCRPOISSON",
                            bcr->ops[c].fit, (double)bcr->ops[c].deviation));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PCBCRPoissonUpdateRemoved(pc));
  PetscCall(MatGetSize(pc->pmat, &N, NULL));
  if (bcr->ops[0].singular && 2 * bcr->removed * PetscSqrtReal((PetscReal)N) >= norm)
    PetscCall(
      PetscSNPrintf(text, length,
                    "the operator is singular and the right-hand side is not in its range, a constant of size %g was "
                    "removed from what is left of it: attach the null space to the matrix (MatSetNullSpace(), and "
                    "MatSetTransposeNullSpace() if that is another), or make the right-hand side consistent",
                    (double)bcr->removed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the methods that a PCBCRPOISSON carries; function NULL takes them off */
#define BCR_COMPOSE(pc, name, function) PetscObjectComposeFunction((PetscObject)(pc), name "_C", function)

static PetscErrorCode PCDestroy_BCRPoisson(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PCReset_BCRPoisson(pc));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonSetFromOptions", NULL));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonSetRefined", NULL));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonSetRadix", NULL));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonGetRadix", NULL));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonSetSchedule", NULL));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonGetSchedule", NULL));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonSetBackend", NULL));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonGetBackend", NULL));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonSetTransport", NULL));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonGetTransport", NULL));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonSetPrecision", NULL));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonGetPrecision", NULL));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonSetOperatorSource", NULL));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonGetOperatorSource", NULL));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonSetFit", NULL));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonGetFit", NULL));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonSetRecursive", NULL));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonGetRecursive", NULL));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonSetTune", NULL));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonGetTune", NULL));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonSetTuneFile", NULL));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonGetTuneFile", NULL));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonSetGraph", NULL));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonGetGraph", NULL));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonSetOperator", NULL));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonGetOperator", NULL));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonGetRemovedConstant", NULL));
  PetscCall(BCR_COMPOSE(pc, "BCRExplain", NULL));
  PetscCall(PetscFree(((PC_BCRPoisson *)pc->data)->tunefile));
  PetscCall(PetscFree(pc->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  PCBCRPOISSON - fast direct solver for separable elliptic problems on a `DMDA` by block cyclic reduction of any radix

  Options Database Keys:
+ -pc_bcrpoisson_radix (auto|2|4|8|16|...)                - radix of the reduction, see `PCBCRPoissonSetRadix()`
. -pc_bcrpoisson_schedule q0,q1,...                       - radix of each level, overrides the radix, see `PCBCRPoissonSetSchedule()`
. -pc_bcrpoisson_backend (auto|cpu|cuda)                  - where the work is done, see `PCBCRPoissonSetBackend()`
. -pc_bcrpoisson_transport (auto|mpi|nccl|host)           - how data move between the GPUs of several ranks, see `PCBCRPoissonSetTransport()`
. -pc_bcrpoisson_precision (double|single|mixed)          - precision of the work inside, see `PCBCRPoissonSetPrecision()`
. -pc_bcrpoisson_operator (matrix|user)                   - where the coefficients come from, see `PCBCRPoissonSetOperatorSource()`
. -pc_bcrpoisson_fit (auto|scaled|average|exact)          - what to do with a matrix that is not separable, see `PCBCRPoissonSetFit()`
. -pc_bcrpoisson_recursive (off|on)                       - recursion in three dimensions with a given radix or schedule, see `PCBCRPoissonSetRecursive()`
. -pc_bcrpoisson_tune (off|on)                            - time several plans at set-up and take the fastest, see `PCBCRPoissonSetTune()`
. -pc_bcrpoisson_tune_file name                           - file that keeps what was found, see `PCBCRPoissonSetTuneFile()`
. -pc_bcrpoisson_graph (on|off)                           - on a GPU as one CUDA graph, see `PCBCRPoissonSetGraph()`
. -pc_bcrpoisson_spacing hx,hy,hz                         - spacing of the user's operator, one for each axis or one for all; implies `-pc_bcrpoisson_operator user`
. -pc_bcrpoisson_ends xlow,xhigh,ylow,yhigh,zlow,zhigh    - its ends, each (dirichlet|neumann|cell_neumann|cell_dirichlet|periodic), or one for all
. -pc_bcrpoisson_shift c                                  - its shift
- -pc_bcrpoisson_scale s                                  - its scale

  Level: beginner

  Notes:
  The inverse, to rounding, of

      scale W (T_x + T_y + T_z + shift I)

  on a 1-, 2- or 3-dimensional `DMDA` of any size, where each T_d is the three-point difference
  operator along an axis (Dirichlet, Neumann or periodic ends, nodes or cells; one axis may have any
  tridiagonal) and W a diagonal of half weights at the ends. The operator is read out of the
  assembled preconditioning matrix, in which planes of rows that hold only a diagonal (Dirichlet
  rows that were kept) may take part. With `-ksp_type preonly` it is a direct solver; with a Krylov
  method it is a preconditioner for an operator that is near to one of this form.

  The `DMDA` is the one of `KSPSetDM()` or `PCSetDM()`, else the one that the matrix was created
  with by `DMCreateMatrix()`.

  Each component of a `DMDA` with several is solved on its own; it is an error if the matrix couples them.

  Singular operators (all ends Neumann or periodic, no shift): the constant is removed from the right-hand side, the
  solution has zero mean, and the size of what was removed is in `PCView()`, `PetscInfo()` and
  `PCBCRPoissonGetRemovedConstant()`. A Krylov method wants the null space on the matrix too, see
  `MatSetNullSpace()`.

  A NaN or Inf on the right-hand side makes the solution NaN, which Krylov methods report as
  `KSP_DIVERGED_NANORINF`; with `KSPSetErrorIfNotConverged()` it is an error that names the entry.

  When the values of the matrix change, set-up reads it again and keeps the plan; it is made anew
  only if the form of the operator changed.

  On several processes the grid is worked on in slabs along one axis, and each process sends two
  rows (planes) of it in an application. If the `DMDA` is cut along one axis only, whichever, that
  is how it lies and nothing moves (unless coefficients vary along another, long axis); else vectors
  are first brought to slabs, and back. `PCView()` says so, and which `-da_processors_` options
  avoid it. Solutions are those of one process to rounding. So do processes with GPUs (one for each,
  or shared), which exchange rows by `-pc_bcrpoisson_transport`; vectors that have to be brought to
  slabs go by way of the host, and `mixed` precision is double there.

  References:
  M. Myllykoski, T. Rossi, J. Toivanen, Fast Poisson solvers for graphics processing units, PARA 2012, LNCS 7782, 2013;
  P. Concus, G. H. Golub, Use of fast direct methods for the efficient numerical solution of
  nonseparable elliptic equations, SIAM J. Numer. Anal. 10, 1973 (`scaled` fit).

.seealso: `PCCreate()`, `PCSetType()`, `PCType`, `PC`, `KSPBCRPOISSON`, `PetscBCRInitializePackage()`, `PCBCRPoissonSetRadix()`, `PCBCRPoissonSetSchedule()`,
          `PCBCRPoissonSetBackend()`, `PCBCRPoissonSetPrecision()`,
          `PCBCRPoissonSetOperatorSource()`, `PCBCRPoissonSetOperator()`, `PCBCRPoissonSetFit()`,
          `PCBCRPoissonSetTune()`, `PCBCRPoissonGetRemovedConstant()`, `DMDACreate2d()`, `PCMG`
M*/
PetscErrorCode PCCreate_BCRPoisson(PC pc)
{
  PC_BCRPoisson *bcr;

  PetscFunctionBegin;
  PetscCall(PetscNew(&bcr));
  bcr->radix = PCBCRPOISSON_RADIX_AUTO;
  bcr->backend = PCBCRPOISSON_BACKEND_AUTO;
  bcr->transport = PCBCRPOISSON_TRANSPORT_AUTO;
  bcr->precision = sizeof(PetscReal) < sizeof(double) ? PCBCRPOISSON_PRECISION_SINGLE : PCBCRPOISSON_PRECISION_DOUBLE;
  bcr->source = PCBCRPOISSON_OPERATOR_MATRIX;
  bcr->fit = PCBCRPOISSON_FIT_AUTO;
  bcr->scale = 1;
  bcr->graph = PETSC_TRUE;
  pc->data = bcr;

  pc->ops->setup = PCSetUp_BCRPoisson;
  pc->ops->apply = PCApply_BCRPoisson;
  pc->ops->applytranspose = PCApplyTranspose_BCRPoisson;
  pc->ops->presolve = PCPreSolve_BCRPoisson;
  pc->ops->matapply = PCMatApply_BCRPoisson;
#if PETSC_VERSION_GE(3, 24, 0)
  pc->ops->matapplytranspose = PCMatApplyTranspose_BCRPoisson;
#endif
  pc->ops->setfromoptions = PCSetFromOptions_BCRPoisson;
  pc->ops->view = PCView_BCRPoisson;
  pc->ops->reset = PCReset_BCRPoisson;
  pc->ops->destroy = PCDestroy_BCRPoisson;

  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonSetFromOptions", PCBCRPoissonSetFromOptions_BCRPoisson));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonSetRefined", PCBCRPoissonSetRefined_BCRPoisson));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonSetRadix", PCBCRPoissonSetRadix_BCRPoisson));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonGetRadix", PCBCRPoissonGetRadix_BCRPoisson));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonSetSchedule", PCBCRPoissonSetSchedule_BCRPoisson));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonGetSchedule", PCBCRPoissonGetSchedule_BCRPoisson));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonSetBackend", PCBCRPoissonSetBackend_BCRPoisson));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonGetBackend", PCBCRPoissonGetBackend_BCRPoisson));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonSetTransport", PCBCRPoissonSetTransport_BCRPoisson));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonGetTransport", PCBCRPoissonGetTransport_BCRPoisson));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonSetPrecision", PCBCRPoissonSetPrecision_BCRPoisson));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonGetPrecision", PCBCRPoissonGetPrecision_BCRPoisson));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonSetOperatorSource", PCBCRPoissonSetOperatorSource_BCRPoisson));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonGetOperatorSource", PCBCRPoissonGetOperatorSource_BCRPoisson));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonSetFit", PCBCRPoissonSetFit_BCRPoisson));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonGetFit", PCBCRPoissonGetFit_BCRPoisson));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonSetRecursive", PCBCRPoissonSetRecursive_BCRPoisson));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonGetRecursive", PCBCRPoissonGetRecursive_BCRPoisson));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonSetTune", PCBCRPoissonSetTune_BCRPoisson));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonGetTune", PCBCRPoissonGetTune_BCRPoisson));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonSetTuneFile", PCBCRPoissonSetTuneFile_BCRPoisson));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonGetTuneFile", PCBCRPoissonGetTuneFile_BCRPoisson));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonSetGraph", PCBCRPoissonSetGraph_BCRPoisson));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonGetGraph", PCBCRPoissonGetGraph_BCRPoisson));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonSetOperator", PCBCRPoissonSetOperator_BCRPoisson));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonGetOperator", PCBCRPoissonGetOperator_BCRPoisson));
  PetscCall(BCR_COMPOSE(pc, "PCBCRPoissonGetRemovedConstant", PCBCRPoissonGetRemovedConstant_BCRPoisson));
  PetscCall(BCR_COMPOSE(pc, "BCRExplain", PCBCRPoissonExplain_BCRPoisson));
  PetscFunctionReturn(PETSC_SUCCESS);
}
