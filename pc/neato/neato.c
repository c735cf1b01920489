/*
  PCNEATO: what PETSc sees of the line solver. Options, view, DM and Vec handling; lines are read in
  src/operator, solved in src/tridiagonal.
*/
#include <petscbcr.h>
#include <petscdevice.h>
#include <petsc/private/pcimpl.h> /*I "petscbcr.h" I*/
#include "../../src/base/agree.h"
#include "../../src/register.h"
#include "../../src/operator/lines.h"
#include "../../src/base/stream.h"

const char *const PCNeatoAxes[] = {"auto", "x", "y", "z", "PCNeatoAxis", "PCNEATO_AXIS_", NULL};
const char *const PCNeatoMethods[] = {
  "auto", "scan", "cr", "pscheme", "dc", "thomas", "PCNeatoMethod", "PCNEATO_METHOD_", NULL};
const char *const PCNeatoVariants[] = {"auto",           "rearranged",       "plain", "parallel", "sequential",
                                       "PCNeatoVariant", "PCNEATO_VARIANT_", NULL};
const char *const PCNeatoMemories[] = {"auto", "shared", "global", "PCNeatoMemory", "PCNEATO_MEMORY_", NULL};
const char *const PCNeatoCouplings[] = {"auto", "neighbour", "reduced", "PCNeatoCoupling", "PCNEATO_COUPLING_", NULL};
const char *const PCNeatoTransports[] = {"auto", "mpi", "nccl", "host", "PCNeatoTransport", "PCNEATO_TRANSPORT_", NULL};
const char *const PCNeatoBackends[] = {"auto", "cpu", "cuda", "PCNeatoBackend", "PCNEATO_BACKEND_", NULL};
const char *const PCNeatoPrecisions[] = {"double", "single", "mixed", "PCNeatoPrecision", "PCNEATO_PRECISION_", NULL};

/* of -pc_neato_isa, a developer's option: numbered from -1 as in BCRTriOptions */
static const char *const BCRInstructionSets[] = {"auto", "baseline", "avx2", "avx512"};

typedef struct {
  /* what the user asks for */
  PCNeatoAxis axis;
  PCNeatoMethod method;
  PCNeatoVariant variant;
  PetscInt parts; /* 0: automatic */
  PCNeatoMemory memory;
  PCNeatoCoupling coupling;
  PCNeatoTransport transport;
  PCNeatoBackend backend;
  PCNeatoPrecision precision;
  PetscInt isa; /* index into BCRInstructionSets */

  /* what set-up made of it */
  BCRTriOptions options;
  BCRLines lines;
  BCRTri tri;
  BCRTriInfo info;
  PetscBool switched;              /* backend auto: the solver has moved to where the vectors are */
  PetscBool transposed, symmetric; /* known; and then the same lines */
  BCRTri transpose;                /* made when first applied */
  PetscInt columns;                /* of the last PCMatApply() */
  BCRTri many;                     /* solves that many right-hand sides at once; NULL: one by one */
} PC_Neato;

/* The next PCSetUp() has to run although the matrix is the same */
static void PCNeatoChanged(PC pc)
{
  pc->setupcalled = PETSC_FALSE;
}

/* A setter. On several ranks every call counts: what is the same as before here may be new on
   another rank, and all are to set up, or to say that they differ */
static void PCNeatoChanging(PC pc, PetscBool other)
{
  PetscMPIInt size;

  if (MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size) || size > 1 || other) PCNeatoChanged(pc);
}

static PetscErrorCode PCNeatoResetSolvers(PC_Neato *neato)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(&neato->info, sizeof(neato->info)));
  PetscCall(BCRTriDestroy(&neato->tri));
  PetscCall(BCRTriDestroy(&neato->transpose));
  PetscCall(BCRTriDestroy(&neato->many));
  neato->columns = 0;
  neato->transposed = neato->symmetric = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCReset_Neato(PC pc)
{
  PC_Neato *neato = (PC_Neato *)pc->data;

  PetscFunctionBegin;
  PetscCall(PCNeatoResetSolvers(neato));
  PetscCall(BCRLinesDestroy(&neato->lines));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Set-up */

/* The DMDA that says what the rows of the matrix are: that of the PC, else that of the matrix */
static PetscErrorCode PCNeatoGetDMDA(PC pc, DM *da)
{
  DM dm[2] = {NULL, NULL};
  const char *found = NULL;
  PetscBool isda = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PCGetDM(pc, &dm[0]));
  PetscCall(MatGetDM(pc->pmat, &dm[1]));
  for (PetscInt i = 0; i < 2 && !isda; ++i) {
    if (!dm[i]) continue;
    if (!found) PetscCall(DMGetType(dm[i], &found));
    PetscCall(PetscObjectTypeCompare((PetscObject)dm[i], DMDA, &isda));
    *da = dm[i];
  }
  PetscCheck(isda, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_WRONG,
             "PCNEATO needs a DMDA, but %s%s%s: give it with KSPSetDM() or PCSetDM(), or create the matrix with "
             "DMCreateMatrix()",
             found ? "the DM is of type " : "neither the PC nor its matrix has a DM", found ? found : "",
             found ? "" : " (sub-matrices of a block preconditioner have none)");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ranks have the same options: what follows from them is decided by each for itself */
static PetscErrorCode PCNeatoCheckSame(PC pc)
{
  static const char *const names[] = {"axis",     "method",    "variant", "parts",    "memory",
                                      "coupling", "transport", "backend", "precision"};
  const PC_Neato *neato = (PC_Neato *)pc->data;
  const double mine[] = {(double)neato->axis,      (double)neato->method,  (double)neato->variant,
                         (double)neato->parts,     (double)neato->memory,  (double)neato->coupling,
                         (double)neato->transport, (double)neato->backend, (double)neato->precision};
  char of[96];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(of, sizeof(of), "-%spc_neato_", ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : ""));
  PetscCall(BCRSame(PetscObjectComm((PetscObject)pc), of, (PetscInt)PETSC_STATIC_ARRAY_LENGTH(names), names, mine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What this build has not, and what does not go together */
static PetscErrorCode PCNeatoCheckOptions(PC pc)
{
  PC_Neato *neato = (PC_Neato *)pc->data;
  const char *prefix = ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "";
  const PetscBool pscheme =
    (PetscBool)(neato->variant == PCNEATO_VARIANT_REARRANGED || neato->variant == PCNEATO_VARIANT_PLAIN);
  const PetscBool dc =
    (PetscBool)(neato->variant == PCNEATO_VARIANT_PARALLEL || neato->variant == PCNEATO_VARIANT_SEQUENTIAL);

  PetscFunctionBegin;
  if (neato->transport == PCNEATO_TRANSPORT_NCCL) {
    const char *why = "this petscbcr was built without CUDA";
    PetscBool there;
    char message[BCR_MESSAGE_LENGTH] = "";

#if defined(PETSCBCR_HAVE_CUDA)
    there = BCRTransportHaveNccl(&why);
#else
    there = PETSC_FALSE;
#endif
    if (!there)
      PetscCall(PetscSNPrintf(
        message, sizeof(message),
        "-%spc_neato_transport nccl: there is no NCCL here (%s): use -%spc_neato_transport mpi, host or auto", prefix,
        why, prefix));
    PetscCall(BCRErrorAgree(PetscObjectComm((PetscObject)pc), there ? PETSC_SUCCESS : PETSC_ERR_SUP, message));
  }
  PetscCheck(!pscheme || neato->method == PCNEATO_METHOD_PSCHEME, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_INCOMP, "-%spc_neato_variant %s is one of -%spc_neato_method pscheme, the method is %s",
             prefix, PCNeatoVariants[neato->variant], prefix, PCNeatoMethods[neato->method]);
  PetscCheck(!dc || neato->method == PCNEATO_METHOD_DC, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_INCOMP,
             "-%spc_neato_variant %s is one of -%spc_neato_method dc, the method is %s", prefix,
             PCNeatoVariants[neato->variant], prefix, PCNeatoMethods[neato->method]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where to work: as asked, else where the vectors of the matrix and of the DM live, if every rank
   has a device then. The same on all ranks. */
static PetscErrorCode PCNeatoChooseBackend(PC pc, DM da)
{
  PC_Neato *neato = (PC_Neato *)pc->data;
  const char *prefix = ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "", *why = NULL;
  VecType type[2];
  PetscBool cuda, aware = PETSC_FALSE;
  char option[96];

  PetscFunctionBegin;
  neato->options.device = PETSC_FALSE;
  if (neato->backend == PCNEATO_BACKEND_CUDA) {
    char message[BCR_MESSAGE_LENGTH] = "";
    PetscMPIInt bad;

    bad = BCRTriDevicePossible(&neato->options, &why) ? 0 : 1;
    if (bad)
      PetscCall(PetscSNPrintf(message, sizeof(message),
                              "-%spc_neato_backend cuda cannot be used here (%s): use -%spc_neato_backend cpu or auto",
                              prefix, why, prefix));
    PetscCall(BCRErrorAgree(PetscObjectComm((PetscObject)pc), bad ? PETSC_ERR_SUP : PETSC_SUCCESS, message));
    neato->options.device = PETSC_TRUE;
  } else if (neato->backend == PCNEATO_BACKEND_AUTO) {
    PetscCall(MatGetVecType(pc->pmat, &type[0]));
    PetscCall(DMGetVecType(da, &type[1]));
    PetscCall(BCRTypesOnDevice(type[0], type[1], &cuda));
    if (cuda) {
      PetscMPIInt mine = BCRTriDevicePossible(&neato->options, NULL) ? 1 : 0, all;

      PetscCallMPI(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)pc)));
      neato->options.device = all ? PETSC_TRUE : PETSC_FALSE;
    }
  }
  if (neato->options.device) PetscCall(BCRGetStream(&neato->options.stream));
#if defined(PETSCBCR_HAVE_CUDA)
  aware = use_gpu_aware_mpi;
#endif
  PetscCall(PetscSNPrintf(option, sizeof(option), "%spc_neato_transport", prefix));
  PetscCall(BCRLinesTransport(neato->lines, option, (BCRTransportKind)neato->transport, aware, &neato->options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCNeatoSetUp(PC pc)
{
  PC_Neato *neato = (PC_Neato *)pc->data;
  DM da = NULL;
  BCRTriOptions *o = &neato->options;

  PetscFunctionBegin;
  PetscCall(PetscBCRCiteNeato());
  PetscCall(PCNeatoResetSolvers(neato));
  /* until this has succeeded: else the next solve would find a matrix that it takes for known, and
     no solver */
  PCNeatoChanged(pc);
  PetscCall(PCNeatoCheckSame(pc));
  PetscCall(PCNeatoCheckOptions(pc));
  PetscCall(PCNeatoGetDMDA(pc, &da));
  PetscCall(PetscLogEventBegin(BCR_Read, pc, pc->pmat, 0, 0));
  PetscCall(BCRLinesRead(
    da, pc->pmat, neato->axis == PCNEATO_AXIS_AUTO ? BCR_LINES_ANY_AXIS : (PetscInt)neato->axis - 1, &neato->lines));
  PetscCall(PetscLogEventEnd(BCR_Read, pc, pc->pmat, 0, 0));

  PetscCall(PetscLogEventBegin(BCR_SetUp, pc, 0, 0, 0));
  PetscCall(PetscMemzero(o, sizeof(*o)));
  o->method = (BCRTriMethod)neato->method;
  o->coupling = (BCRTriCoupling)neato->coupling;
  o->precision = (BCRTriPrecision)neato->precision;
  o->parts = neato->parts;
  o->variant = neato->variant == PCNEATO_VARIANT_PLAIN || neato->variant == PCNEATO_VARIANT_SEQUENTIAL ? 1 : 0;
  o->isa = (int)neato->isa - 1;
  o->memory = (int)neato->memory;
  neato->switched = PETSC_FALSE;
  PetscCall(PCNeatoChooseBackend(pc, da));
  PetscCall(BCRLinesSolver(neato->lines, o, &neato->tri));
  PetscCall(BCRTriGetInfo(neato->tri, &neato->info));
  PetscCall(PetscLogEventEnd(BCR_SetUp, pc, 0, 0, 0));
  PetscCall(PetscInfo(pc, "Lines along %c, method %s, %s\n", (char)('x' + neato->lines->axis),
                      PCNeatoMethods[neato->info.method], neato->info.what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetUp_Neato(PC pc)
{
  PetscFunctionBegin;
  BCRCallElse(PCNeatoSetUp(pc), BCRPreSolveEnds(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Application */

/* The solver, or the one of the transposed lines */
static PetscErrorCode PCNeatoGetSolver(PC pc, PetscBool transpose, BCRTri *tri)
{
  PC_Neato *neato = (PC_Neato *)pc->data;

  PetscFunctionBegin;
  PetscCheck(neato->tri, PetscObjectComm((PetscObject)pc), PETSC_ERR_ORDER,
             "PCNEATO is applied before it is set up: call PCSetUp() or KSPSetUp() first");
  if (transpose && !neato->transposed) {
    BCRLines lines;

    PetscCall(PetscLogEventBegin(BCR_SetUp, pc, 0, 0, 0));
    PetscCall(BCRLinesTranspose(neato->lines, &lines, &neato->symmetric));
    if (!neato->symmetric) {
      BCRTriOptions options = neato->options;

      /* three rows of their own at an end are four in the transpose, which not all methods take */
      if (neato->lines->spec.rows && !lines->spec.rows) options.method = BCR_TRI_AUTO;
      BCRCallElse(BCRLinesSolver(lines, &options, &neato->transpose), (void)BCRLinesDestroy(&lines));
      PetscCall(BCRLinesDestroy(&lines));
    }
    neato->transposed = PETSC_TRUE;
    PetscCall(PetscLogEventEnd(BCR_SetUp, pc, 0, 0, 0));
  }
  *tri = transpose && !neato->symmetric ? neato->transpose : neato->tri;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A NaN or Inf on the right-hand side is the business of the KSP (KSP_DIVERGED_NANORINF), unless it
   is to be an error at once: that names the entry */
static PetscErrorCode PCNeatoCheckFinite(PC pc, const PetscScalar *f, const PetscScalar *u)
{
  PC_Neato *neato = (PC_Neato *)pc->data;
  const PetscInt n = neato->lines->nlines * neato->lines->spec.n;
  PetscInt bad = 0, badf = 0;
  char message[256] = "";

  PetscFunctionBegin;
  if (!pc->erroriffailure) PetscFunctionReturn(PETSC_SUCCESS);
  while (bad < n && !PetscIsInfOrNanScalar(u[bad])) ++bad;
  while (bad < n && badf < n && !PetscIsInfOrNanScalar(f[badf])) ++badf;
  if (bad < n && badf < n) {
    PetscInt first, rest = badf / neato->lines->dof, at[3];

    PetscCall(MatGetOwnershipRange(pc->pmat, &first, NULL));
    for (PetscInt d = 0; d < 3; ++d) {
      at[d] = neato->lines->start[d] + rest % neato->lines->size[d];
      rest /= neato->lines->size[d];
    }
    PetscCall(PetscSNPrintf(message, sizeof(message),
                            "Entry %" PetscInt_FMT " of the right-hand side (grid point %" PetscInt_FMT
                            ",%" PetscInt_FMT ",%" PetscInt_FMT ") is NaN or Inf: its line has no solution",
                            first + badf, at[0], at[1], at[2]));
  } else if (bad < n && neato->lines->ranks == 1)
    PetscCall(PetscSNPrintf(
      message, sizeof(message),
      "The solution overflows: the right-hand side or the matrix is scaled too far from one for -pc_neato_precision %s",
      PCNeatoPrecisions[neato->precision]));
  PetscCall(BCRErrorAgree(PetscObjectComm((PetscObject)pc), message[0] ? PETSC_ERR_FP : PETSC_SUCCESS, message));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Complex numbers are two reals side by side, the coefficients are real: see rep in src/tridiagonal/tridiagonal.h */
static PetscErrorCode PCNeatoSolve(PC pc, BCRTri tri, const PetscScalar *f, PetscScalar *u)
{
  PC_Neato *neato = (PC_Neato *)pc->data;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(BCR_Solve, pc, 0, 0, 0));
  PetscCall(BCRTriSolve(tri, (const PetscReal *)f, (PetscReal *)u));
  PetscCall(PetscLogFlops(neato->info.flops));
  PetscCall(PetscLogEventEnd(BCR_Solve, pc, 0, 0, 0));
  PetscCall(PCNeatoCheckFinite(pc, f, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSCBCR_HAVE_CUDA)
/* auto: the solver moves, once, to where the vectors are. Not on several ranks, which would have to agree */
static PetscErrorCode PCNeatoFollow(PC pc, BCRVecPlace place)
{
  PC_Neato *neato = (PC_Neato *)pc->data;
  const PetscBool device = place == BCR_VECS_DEVICE ? PETSC_TRUE : PETSC_FALSE;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  if (size > 1 || !neato->tri || neato->backend != PCNEATO_BACKEND_AUTO || place == BCR_VECS_MIXED ||
      neato->options.device == device || neato->switched || (device && !BCRTriDevicePossible(&neato->options, NULL)))
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(
    PetscInfo(pc, "The vectors are in the memory of the %s: the lines move there\n", device ? "device" : "host"));
  PetscCall(PCNeatoResetSolvers(neato));
  neato->switched = PETSC_TRUE;
  neato->options.device = device;
  if (device) PetscCall(BCRGetStream(&neato->options.stream));
  PetscCall(PetscLogEventBegin(BCR_SetUp, pc, 0, 0, 0));
  PetscCall(BCRLinesSolver(neato->lines, &neato->options, &neato->tri));
  PetscCall(BCRTriGetInfo(neato->tri, &neato->info));
  PetscCall(PetscLogEventEnd(BCR_SetUp, pc, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors in device memory, on PETSc's stream. Nothing here waits for the device: whether the
   solution is finite is for the norms of the KSP to see. */
static PetscErrorCode PCNeatoSolveDevice(PC pc, BCRTri tri, PetscInt ncols, const PetscScalar *f, PetscInt ldf,
                                         PetscScalar *u, PetscInt ldu)
{
  PC_Neato *neato = (PC_Neato *)pc->data;
  void *stream;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(BCR_Solve, pc, 0, 0, 0));
  PetscCall(BCRGetStream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  for (PetscInt c = 0; c < ncols; ++c)
    PetscCall(BCRTriSolveDevice(tri, stream, (const PetscReal *)(f + (size_t)c * (size_t)ldf),
                                (PetscReal *)(u + (size_t)c * (size_t)ldu)));
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(neato->info.flops * (double)ncols));
  PetscCall(PetscLogEventEnd(BCR_Solve, pc, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

static PetscErrorCode PCNeatoApplyVec(PC pc, PetscBool transpose, Vec x, Vec y)
{
  BCRTri tri = NULL;
  const PetscScalar *f;
  PetscScalar *u;

  PetscFunctionBegin;
#if defined(PETSCBCR_HAVE_CUDA)
  {
    PC_Neato *neato = (PC_Neato *)pc->data;

    if (neato->options.device || (neato->backend == PCNEATO_BACKEND_AUTO && neato->tri)) {
      BCRVecPlace place;
      PetscBool there = PETSC_FALSE;

      PetscCall(BCRVecsGetArrays(x, y, &f, &u, &place));
      PetscCall(PCNeatoFollow(pc, place));
      if (place == BCR_VECS_DEVICE && neato->options.device) {
        PetscCall(PCNeatoGetSolver(pc, transpose, &tri));
        PetscCall(PCNeatoSolveDevice(pc, tri, 1, f, 0, u, 0));
        there = PETSC_TRUE;
      }
      PetscCall(BCRVecsRestoreArrays(x, y, &f, &u));
      if (pc->erroriffailure && neato->options.device) { /* it may be told at once, by all ranks in the same way */
        PetscMPIInt mine = there ? 1 : 0, all = mine;
        PetscReal norm = 0;

        PetscCallMPI(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)pc)));
        if (all) PetscCall(VecNorm(y, NORM_1, &norm)); /* a sum: MPI_MAX may lose a NaN */
        if (there && (!all || PetscIsInfOrNanReal(norm))) {
          PetscCall(VecGetArrayRead(x, &f));
          PetscCall(VecGetArrayRead(y, (const PetscScalar **)&u));
          PetscCall(PCNeatoCheckFinite(pc, f, u));
          PetscCall(VecRestoreArrayRead(y, (const PetscScalar **)&u));
          PetscCall(VecRestoreArrayRead(x, &f));
        }
      }
      if (there) PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
#endif
  PetscCall(PCNeatoGetSolver(pc, transpose, &tri));
  PetscCall(VecGetArrayRead(x, &f));
  PetscCall(VecGetArrayWrite(y, &u));
  PetscCall(PCNeatoSolve(pc, tri, f, u));
  PetscCall(VecRestoreArrayWrite(y, &u));
  PetscCall(VecRestoreArrayRead(x, &f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApply_Neato(PC pc, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(PCNeatoApplyVec(pc, PETSC_FALSE, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApplyTranspose_Neato(PC pc, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(PCNeatoApplyVec(pc, PETSC_TRUE, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Several right-hand sides are one batch: the exchanges between ranks are one, and few long lines
   become many that are solved side by side. room: for all columns, where they do not follow one
   another */
static PetscErrorCode PCNeatoSolveMany(PC pc, PetscInt ncols, const PetscScalar *f, PetscInt ldf, PetscScalar *u,
                                       PetscInt ldu, PetscScalar *room)
{
  PC_Neato *neato = (PC_Neato *)pc->data;
  const PetscInt m = neato->lines->nlines * neato->lines->spec.n;
  PetscScalar *all = u;
  BCRTriInfo info;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(BCR_Solve, pc, 0, 0, 0));
  if (ldf != m || ldu != m) { /* columns have to follow one another */
    all = room;
    for (PetscInt c = 0; c < ncols; ++c)
      PetscCall(PetscArraycpy(all + (size_t)c * (size_t)m, f + (size_t)c * (size_t)ldf, m));
    f = all;
  }
  PetscCall(BCRTriSolve(neato->many, (const PetscReal *)f, (PetscReal *)all));
  if (all != u) {
    for (PetscInt c = 0; c < ncols; ++c)
      PetscCall(PetscArraycpy(u + (size_t)c * (size_t)ldu, all + (size_t)c * (size_t)m, m));
  }
  PetscCall(BCRTriGetInfo(neato->many, &info));
  PetscCall(PetscLogFlops(info.flops));
  PetscCall(PetscLogEventEnd(BCR_Solve, pc, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCNeatoApplyMat(PC pc, PetscBool transpose, Mat X, Mat Y)
{
  PC_Neato *neato = (PC_Neato *)pc->data;
  BCRTri tri = NULL;
  const PetscScalar *f;
  PetscScalar *u, *room = NULL;
  PetscInt ncols, ldf, ldu, m;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PCNeatoGetSolver(pc, transpose, &tri));
  PetscCall(MatGetSize(X, NULL, &ncols));
  if (ncols != neato->columns) {
    PetscCall(PetscLogEventBegin(BCR_SetUp, pc, 0, 0, 0));
    PetscCall(BCRTriDestroy(&neato->many));
    if (ncols > 1 && !neato->options.transport && neato->precision != PCNEATO_PRECISION_MIXED)
      /* mixed keeps fields of its own; on devices across ranks columns go one by one */
      PetscCall(BCRLinesSolverMany(neato->lines, &neato->options, ncols, &neato->many));
    neato->columns = ncols;
    PetscCall(PetscLogEventEnd(BCR_SetUp, pc, 0, 0, 0));
  }
  PetscCall(MatDenseGetLDA(X, &ldf));
  PetscCall(MatDenseGetLDA(Y, &ldu));
#if defined(PETSCBCR_HAVE_CUDA)
  {
    PC_Neato *neato = (PC_Neato *)pc->data;

    if (neato->options.device || (neato->backend == PCNEATO_BACKEND_AUTO && neato->tri)) {
      PetscScalar *g; /* not const in all releases */
      PetscMemType mf, mu;
      PetscBool there;

      PetscCall(MatDenseGetArrayReadAndMemType(X, (void *)&g, &mf));
      PetscCall(MatDenseGetArrayWriteAndMemType(Y, &u, &mu));
      there = PetscMemTypeCUDA(mf) && PetscMemTypeCUDA(mu) ? PETSC_TRUE : PETSC_FALSE;
      PetscCall(PCNeatoFollow(
        pc, there ? BCR_VECS_DEVICE : (PetscMemTypeHost(mf) && PetscMemTypeHost(mu) ? BCR_VECS_HOST : BCR_VECS_MIXED)));
      if (there && neato->options.device) {
        PetscCall(PCNeatoGetSolver(pc, transpose, &tri));
        PetscCall(PCNeatoSolveDevice(pc, tri, ncols, g, ldf, u, ldu));
      } else there = PETSC_FALSE;
      PetscCall(MatDenseRestoreArrayWriteAndMemType(Y, &u));
      PetscCall(MatDenseRestoreArrayReadAndMemType(X, (void *)&g));
      if (there) PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(PCNeatoGetSolver(pc, transpose, &tri)); /* it may have moved */
  }
#endif
  m = neato->lines->nlines * neato->lines->spec.n;
  if (neato->many && tri == neato->tri && (ldf != m || ldu != m)) ierr = PetscMalloc1((size_t)m * (size_t)ncols, &room);
  /* with devices some ranks may not come here */
  if (ncols > 1 && !neato->options.device) ierr = BCRFaultShare(neato->lines->comm, ierr, BCR_NO_MEMORY);
  BCRCallElse(ierr, (void)PetscFree(room));
  PetscCall(MatDenseGetArrayRead(X, &f));
  PetscCall(MatDenseGetArrayWrite(Y, &u));
  if (neato->many && tri == neato->tri) {
    PetscCall(PCNeatoSolveMany(pc, ncols, f, ldf, u, ldu, room));
    PetscCall(PetscFree(room));
    for (PetscInt c = 0; c < ncols; ++c)
      PetscCall(PCNeatoCheckFinite(pc, f + (size_t)c * (size_t)ldf, u + (size_t)c * (size_t)ldu));
  } else if (neato->options.transport) { /* other ranks may have theirs on the device */
    for (PetscInt c = 0; c < ncols; ++c)
      PetscCall(
        BCRTriSolve(tri, (const PetscReal *)(f + (size_t)c * (size_t)ldf), (PetscReal *)(u + (size_t)c * (size_t)ldu)));
  } else {
    for (PetscInt c = 0; c < ncols; ++c)
      PetscCall(PCNeatoSolve(pc, tri, f + (size_t)c * (size_t)ldf, u + (size_t)c * (size_t)ldu));
  }
  PetscCall(MatDenseRestoreArrayWrite(Y, &u));
  PetscCall(MatDenseRestoreArrayRead(X, &f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCMatApply_Neato(PC pc, Mat X, Mat Y)
{
  PetscFunctionBegin;
  PetscCall(PCNeatoApplyMat(pc, PETSC_FALSE, X, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if PETSC_VERSION_GE(3, 24, 0)
static PetscErrorCode PCMatApplyTranspose_Neato(PC pc, Mat X, Mat Y)
{
  PetscFunctionBegin;
  PetscCall(PCNeatoApplyMat(pc, PETSC_TRUE, X, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* View */

static PetscErrorCode PCView_Neato(PC pc, PetscViewer viewer)
{
  PC_Neato *neato = (PC_Neato *)pc->data;
  PetscBool ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  if (neato->tri) {
    const BCRTriInfo *info = &neato->info;

    PetscCall(BCRLinesView(neato->lines, viewer));
    PetscCall(PetscViewerASCIIPrintf(viewer, "method: %s%s%s%s\n", PCNeatoMethods[info->method],
                                     neato->method == PCNEATO_METHOD_AUTO ? " (auto)" : "", info->what[0] ? ", " : "",
                                     info->what));
    if (neato->lines->ranks > 1) {
      PetscCall(PetscViewerASCIIPrintf(
        viewer,
        "coupling: %s%s, %" PetscInt_FMT " lines of this rank through the reduced system, largest part left out %g\n",
        PCNeatoCouplings[info->coupling], neato->coupling == PCNEATO_COUPLING_AUTO ? " (auto)" : "", info->reduced,
        (double)info->lost));
    }
  } else {
    PetscCall(PetscViewerASCIIPrintf(viewer, "not set up yet: lines are read from the matrix\n"));
    PetscCall(PetscViewerASCIIPrintf(viewer, "axis: %s\n", PCNeatoAxes[neato->axis]));
    PetscCall(PetscViewerASCIIPrintf(viewer, "method: %s\n", PCNeatoMethods[neato->method]));
    PetscCall(PetscViewerASCIIPrintf(viewer, "coupling: %s\n", PCNeatoCouplings[neato->coupling]));
  }
  if (neato->variant != PCNEATO_VARIANT_AUTO)
    PetscCall(PetscViewerASCIIPrintf(viewer, "variant: %s\n", PCNeatoVariants[neato->variant]));
  if (neato->parts) PetscCall(PetscViewerASCIIPrintf(viewer, "parts of a line: %" PetscInt_FMT "\n", neato->parts));
  PetscCall(PetscViewerASCIIPrintf(
    viewer, "backend: %s%s%s, memory of a GPU: %s\n", neato->tri && neato->options.device ? "cuda, device " : "",
    neato->tri ? (neato->options.device ? neato->info.device : "cpu") : PCNeatoBackends[neato->backend],
    neato->tri && neato->backend == PCNEATO_BACKEND_AUTO ? " (auto)" : "", PCNeatoMemories[neato->memory]));
  if (neato->info.transport[0]) PetscCall(PetscViewerASCIIPrintf(viewer, "transport: %s\n", neato->info.transport));
  else if (!neato->tri || neato->lines->ranks > 1)
    PetscCall(PetscViewerASCIIPrintf(
      viewer, "transport: %s%s\n",
      neato->tri && neato->transport == PCNEATO_TRANSPORT_AUTO ? "mpi" : PCNeatoTransports[neato->transport],
      neato->tri && neato->transport == PCNEATO_TRANSPORT_AUTO ? " (auto)" : ""));
  PetscCall(PetscViewerASCIIPrintf(viewer, "precision: %s\n", PCNeatoPrecisions[neato->precision]));
  if (neato->tri)
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "memory of this rank: workspace %" PetscInt64_FMT " bytes, tables %" PetscInt64_FMT
                                     " bytes; sent in a solve: %" PetscInt64_FMT " bytes\n",
                                     (PetscInt64)neato->info.workspace, (PetscInt64)neato->info.tables,
                                     (PetscInt64)neato->info.bytes_sent));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Options */

/* The options below a stem: "-pc_neato_" of the PC, "-ksp_neato_" of KSPNEATO */
static PetscErrorCode PCNeatoSetFromOptions_Neato(PC pc, const char stem[], BCROptionItems PetscOptionsObject)
{
  PC_Neato *neato = (PC_Neato *)pc->data;
  PetscBool flg;
  char name[64];
  PetscInt parts = neato->parts, isa = neato->isa;
  PCNeatoAxis axis = neato->axis;
  PCNeatoMethod method = neato->method;
  PCNeatoVariant variant = neato->variant;
  PCNeatoMemory memory = neato->memory;
  PCNeatoCoupling coupling = neato->coupling;
  PCNeatoTransport transport = neato->transport;
  PCNeatoBackend backend = neato->backend;
  PCNeatoPrecision precision = neato->precision;

#define BCROptionName(what) PetscSNPrintf(name, sizeof(name), "%s%s", stem, what)
  PetscFunctionBegin;
  PetscCall(BCROptionName("axis"));
  PetscCall(PetscOptionsEnum(name, "Axis of the lines", "PCNeatoSetAxis", PCNeatoAxes, (PetscEnum)axis,
                             (PetscEnum *)&axis, &flg));
  if (flg) PetscCall(PCNeatoSetAxis(pc, axis));
  PetscCall(BCROptionName("method"));
  PetscCall(PetscOptionsEnum(name, "How a line is solved", "PCNeatoSetMethod", PCNeatoMethods, (PetscEnum)method,
                             (PetscEnum *)&method, &flg));
  if (flg) PetscCall(PCNeatoSetMethod(pc, method));
  PetscCall(BCROptionName("variant"));
  PetscCall(PetscOptionsEnum(name, "Form of pscheme (rearranged, plain) or dc (parallel, sequential)",
                             "PCNeatoSetVariant", PCNeatoVariants, (PetscEnum)variant, (PetscEnum *)&variant, &flg));
  if (flg) PetscCall(PCNeatoSetVariant(pc, variant));
  PetscCall(BCROptionName("parts"));
  PetscCall(
    PetscOptionsInt(name, "Parts of a line in pscheme and dc, 0: automatic", "PCNeatoSetParts", parts, &parts, &flg));
  if (flg) {
    PetscCheck(parts >= 0, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
               "-%s%s %" PetscInt_FMT ": give 1 or more, or 0 for the automatic choice",
               ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "", name + 1, parts);
    PetscCall(PCNeatoSetParts(pc, parts));
  }
  PetscCall(BCROptionName("memory"));
  PetscCall(PetscOptionsEnum(name, "Memory of a GPU that cr works in", "PCNeatoSetMemory", PCNeatoMemories,
                             (PetscEnum)memory, (PetscEnum *)&memory, &flg));
  if (flg) PetscCall(PCNeatoSetMemory(pc, memory));
  PetscCall(BCROptionName("coupling"));
  PetscCall(PetscOptionsEnum(name, "How ranks that share a line are coupled", "PCNeatoSetCoupling", PCNeatoCouplings,
                             (PetscEnum)coupling, (PetscEnum *)&coupling, &flg));
  if (flg) PetscCall(PCNeatoSetCoupling(pc, coupling));
  PetscCall(BCROptionName("transport"));
  PetscCall(PetscOptionsEnum(name, "How data move between ranks", "PCNeatoSetTransport", PCNeatoTransports,
                             (PetscEnum)transport, (PetscEnum *)&transport, &flg));
  if (flg) PetscCall(PCNeatoSetTransport(pc, transport));
  PetscCall(BCROptionName("backend"));
  PetscCall(PetscOptionsEnum(name, "Where the work is done", "PCNeatoSetBackend", PCNeatoBackends, (PetscEnum)backend,
                             (PetscEnum *)&backend, &flg));
  if (flg) PetscCall(PCNeatoSetBackend(pc, backend));
  PetscCall(BCROptionName("precision"));
  PetscCall(PetscOptionsEnum(name, "Precision of the work inside", "PCNeatoSetPrecision", PCNeatoPrecisions,
                             (PetscEnum)precision, (PetscEnum *)&precision, &flg));
  if (flg) PetscCall(PCNeatoSetPrecision(pc, precision));
  PetscCall(BCROptionName("isa"));
  PetscCall(PetscOptionsEList(name, "Instruction set, or the next lower one that the machine has (developer)", "None",
                              BCRInstructionSets, PETSC_STATIC_ARRAY_LENGTH(BCRInstructionSets),
                              BCRInstructionSets[neato->isa], &isa, &flg));
  if (flg && isa != neato->isa) {
    PCNeatoChanged(pc);
    neato->isa = isa;
  }
#undef BCROptionName
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetFromOptions_Neato(PC pc, BCROptionItems PetscOptionsObject)
{
  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "NEATO options");
  PetscCall(PCNeatoSetFromOptions_Neato(pc, "-pc_neato_", PetscOptionsObject));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Setters and getters */

static PetscErrorCode PCNeatoSetAxis_Neato(PC pc, PCNeatoAxis axis)
{
  PC_Neato *neato = (PC_Neato *)pc->data;

  PetscFunctionBegin;
  PetscCheck((int)axis >= 0 && axis <= PCNEATO_AXIS_Z, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "%d is no PCNeatoAxis", (int)axis);
  PCNeatoChanging(pc, (PetscBool)(axis != neato->axis));
  neato->axis = axis;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCNeatoGetAxis_Neato(PC pc, PCNeatoAxis *axis)
{
  PetscFunctionBegin;
  *axis = ((PC_Neato *)pc->data)->axis;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCNeatoSetMethod_Neato(PC pc, PCNeatoMethod method)
{
  PC_Neato *neato = (PC_Neato *)pc->data;

  PetscFunctionBegin;
  PetscCheck((int)method >= 0 && method <= PCNEATO_METHOD_THOMAS, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE, "%d is no PCNeatoMethod", (int)method);
  PCNeatoChanging(pc, (PetscBool)(method != neato->method));
  neato->method = method;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCNeatoGetMethod_Neato(PC pc, PCNeatoMethod *method)
{
  PetscFunctionBegin;
  *method = ((PC_Neato *)pc->data)->method;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCNeatoSetVariant_Neato(PC pc, PCNeatoVariant variant)
{
  PC_Neato *neato = (PC_Neato *)pc->data;

  PetscFunctionBegin;
  PetscCheck((int)variant >= 0 && variant <= PCNEATO_VARIANT_SEQUENTIAL, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE, "%d is no PCNeatoVariant", (int)variant);
  PCNeatoChanging(pc, (PetscBool)(variant != neato->variant));
  neato->variant = variant;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCNeatoGetVariant_Neato(PC pc, PCNeatoVariant *variant)
{
  PetscFunctionBegin;
  *variant = ((PC_Neato *)pc->data)->variant;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCNeatoSetMemory_Neato(PC pc, PCNeatoMemory memory)
{
  PC_Neato *neato = (PC_Neato *)pc->data;

  PetscFunctionBegin;
  PetscCheck((int)memory >= 0 && memory <= PCNEATO_MEMORY_GLOBAL, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE, "%d is no PCNeatoMemory", (int)memory);
  PCNeatoChanging(pc, (PetscBool)(memory != neato->memory));
  neato->memory = memory;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCNeatoGetMemory_Neato(PC pc, PCNeatoMemory *memory)
{
  PetscFunctionBegin;
  *memory = ((PC_Neato *)pc->data)->memory;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCNeatoSetCoupling_Neato(PC pc, PCNeatoCoupling coupling)
{
  PC_Neato *neato = (PC_Neato *)pc->data;

  PetscFunctionBegin;
  PetscCheck((int)coupling >= 0 && coupling <= PCNEATO_COUPLING_REDUCED, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE, "%d is no PCNeatoCoupling", (int)coupling);
  PCNeatoChanging(pc, (PetscBool)(coupling != neato->coupling));
  neato->coupling = coupling;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCNeatoGetCoupling_Neato(PC pc, PCNeatoCoupling *coupling)
{
  PetscFunctionBegin;
  *coupling = ((PC_Neato *)pc->data)->coupling;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCNeatoSetTransport_Neato(PC pc, PCNeatoTransport transport)
{
  PC_Neato *neato = (PC_Neato *)pc->data;

  PetscFunctionBegin;
  PetscCheck((int)transport >= 0 && transport <= PCNEATO_TRANSPORT_HOST, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE, "%d is no PCNeatoTransport", (int)transport);
  PCNeatoChanging(pc, (PetscBool)(transport != neato->transport));
  neato->transport = transport;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCNeatoGetTransport_Neato(PC pc, PCNeatoTransport *transport)
{
  PetscFunctionBegin;
  *transport = ((PC_Neato *)pc->data)->transport;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCNeatoSetBackend_Neato(PC pc, PCNeatoBackend backend)
{
  PC_Neato *neato = (PC_Neato *)pc->data;

  PetscFunctionBegin;
  PetscCheck((int)backend >= 0 && backend <= PCNEATO_BACKEND_CUDA, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE, "%d is no PCNeatoBackend", (int)backend);
  PCNeatoChanging(pc, (PetscBool)(backend != neato->backend));
  neato->backend = backend;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCNeatoGetBackend_Neato(PC pc, PCNeatoBackend *backend)
{
  PetscFunctionBegin;
  *backend = ((PC_Neato *)pc->data)->backend;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCNeatoSetPrecision_Neato(PC pc, PCNeatoPrecision precision)
{
  PC_Neato *neato = (PC_Neato *)pc->data;

  PetscFunctionBegin;
  PetscCheck((int)precision >= 0 && precision <= PCNEATO_PRECISION_MIXED, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE, "%d is no PCNeatoPrecision", (int)precision);
  PCNeatoChanging(pc, (PetscBool)(precision != neato->precision));
  neato->precision = precision;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCNeatoGetPrecision_Neato(PC pc, PCNeatoPrecision *precision)
{
  PetscFunctionBegin;
  *precision = ((PC_Neato *)pc->data)->precision;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCNeatoSetParts_Neato(PC pc, PetscInt parts)
{
  PC_Neato *neato = (PC_Neato *)pc->data;

  PetscFunctionBegin;
  PetscCheck(parts >= 0, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "%" PetscInt_FMT " parts of a line: give 1 or more, or 0 for the automatic choice", parts);
  PCNeatoChanging(pc, (PetscBool)(parts != neato->parts));
  neato->parts = parts;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCNeatoGetParts_Neato(PC pc, PetscInt *parts)
{
  PetscFunctionBegin;
  *parts = ((PC_Neato *)pc->data)->parts;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the methods that a PCNEATO carries; function NULL takes them off */
#define NEATO_COMPOSE(pc, name, function) PetscObjectComposeFunction((PetscObject)(pc), name "_C", function)

static PetscErrorCode PCDestroy_Neato(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PCReset_Neato(pc));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoSetFromOptions", NULL));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoSetAxis", NULL));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoGetAxis", NULL));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoSetMethod", NULL));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoGetMethod", NULL));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoSetVariant", NULL));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoGetVariant", NULL));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoSetParts", NULL));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoGetParts", NULL));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoSetMemory", NULL));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoGetMemory", NULL));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoSetCoupling", NULL));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoGetCoupling", NULL));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoSetTransport", NULL));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoGetTransport", NULL));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoSetBackend", NULL));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoGetBackend", NULL));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoSetPrecision", NULL));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoGetPrecision", NULL));
  PetscCall(PetscFree(pc->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  PCNEATO - solves every grid line of one axis of a `DMDA` as a tridiagonal system: a direct solver
  in one dimension, else a line preconditioner

  Options Database Keys:
+ -pc_neato_axis (auto|x|y|z)                                  - axis of the lines, see `PCNeatoSetAxis()`
. -pc_neato_method (auto|scan|cr|pscheme|dc|thomas)            - how a line is solved, see `PCNeatoSetMethod()`
. -pc_neato_variant (auto|rearranged|plain|parallel|sequential) - form of `pscheme` or `dc`, see `PCNeatoSetVariant()`
. -pc_neato_parts n                                            - parts of a line in `pscheme` and `dc`, see `PCNeatoSetParts()`
. -pc_neato_memory (auto|shared|global)                        - memory of a GPU that `cr` works in, see `PCNeatoSetMemory()`
. -pc_neato_coupling (auto|neighbour|reduced)                  - how ranks that share a line are coupled, see `PCNeatoSetCoupling()`
. -pc_neato_transport (auto|mpi|nccl|host)                     - how data move between ranks, see `PCNeatoSetTransport()`
. -pc_neato_backend (auto|cpu|cuda)                            - where the work is done, see `PCNeatoSetBackend()`
- -pc_neato_precision (double|single|mixed)                    - precision of the work inside, see `PCNeatoSetPrecision()`

  Level: beginner

  Notes:
  The lines are read out of the assembled preconditioning matrix on a 1-, 2- or 3-dimensional
  `DMDA`: row by row the entries of the two neighbours along the axis, and the full diagonal. In one
  dimension that has to be the whole matrix, and this is a direct solver. In two and three
  dimensions the couplings across the lines are left out (line Jacobi): use it as a preconditioner
  of a Krylov method, or as the smoother of `PCMG` for problems whose coupling along one axis is
  much stronger than along the others, with coarsening along the other axes.

  Rows that are the same along a line but for up to three at each end (near-Toeplitz lines), and
  lines that are all the same, are recognised and cost less memory traffic. Any other coefficients
  work too, as long as the lines can be solved without pivoting. Axes may be periodic.

  The `DMDA` is the one of `KSPSetDM()` or `PCSetDM()`, else the one that the matrix was created
  with by `DMCreateMatrix()`. It may be distributed in any way, along the lines too; each component
  is solved on its own, and it is an error if the matrix couples them.

  `PCMatApply()` (`KSPMatSolve()`) solves all its right-hand sides as one batch, unless coefficients
  differ from line to line or the precision is mixed.

  A line without a unique solution is an error at set-up that names the line
  (`PETSC_ERR_MAT_LU_ZRPVT`): a zero pivot, or all row sums zero as with Neumann or periodic ends
  and no shift. For such problems in one dimension use `PCBCRPOISSON`.

  A NaN or Inf on the right-hand side makes the solution of its line NaN, which Krylov methods
  report as `KSP_DIVERGED_NANORINF`; with `KSPSetErrorIfNotConverged()` it is an error that names
  the entry.

  References:
  A. T. Srinath, A novel approach to evaluating compact finite differences and similar tridiagonal
  schemes on GPU-accelerated clusters, thesis, Clemson University, 2015 (`cr`, and lines over
  several ranks); A. Wakatani, Implementation and evaluation of recurrence equation solvers on GPGPU
  systems using rearrangement of array configurations, 2012 (`pscheme`); P. Stpiczynski, J. Potiopa,
  Solving a kind of BVP for ODEs on heterogeneous CPU + CUDA-enabled GPU systems, 2010 (`dc`).

.seealso: `PCCreate()`, `PCSetType()`, `PCType`, `PC`, `KSPNEATO`, `PCBCRPOISSON`, `PetscBCRLinesCreate()`, `PetscBCRInitializePackage()`, `PCNeatoSetAxis()`, `PCNeatoSetMethod()`,
          `PCNeatoSetVariant()`, `PCNeatoSetParts()`, `PCNeatoSetMemory()`, `PCNeatoSetCoupling()`,
          `PCNeatoSetTransport()`, `PCNeatoSetBackend()`, `PCNeatoSetPrecision()`, `PCMG`
M*/
PetscErrorCode PCCreate_Neato(PC pc)
{
  PC_Neato *neato;

  PetscFunctionBegin;
  PetscCall(PetscNew(&neato));
  neato->precision = sizeof(PetscReal) < sizeof(double) ? PCNEATO_PRECISION_SINGLE : PCNEATO_PRECISION_DOUBLE;
  pc->data = neato;

  pc->ops->setup = PCSetUp_Neato;
  pc->ops->apply = PCApply_Neato;
  pc->ops->applytranspose = PCApplyTranspose_Neato;
  pc->ops->matapply = PCMatApply_Neato;
#if PETSC_VERSION_GE(3, 24, 0)
  pc->ops->matapplytranspose = PCMatApplyTranspose_Neato;
#endif
  pc->ops->setfromoptions = PCSetFromOptions_Neato;
  pc->ops->view = PCView_Neato;
  pc->ops->reset = PCReset_Neato;
  pc->ops->destroy = PCDestroy_Neato;

  PetscCall(NEATO_COMPOSE(pc, "PCNeatoSetFromOptions", PCNeatoSetFromOptions_Neato));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoSetAxis", PCNeatoSetAxis_Neato));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoGetAxis", PCNeatoGetAxis_Neato));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoSetMethod", PCNeatoSetMethod_Neato));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoGetMethod", PCNeatoGetMethod_Neato));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoSetVariant", PCNeatoSetVariant_Neato));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoGetVariant", PCNeatoGetVariant_Neato));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoSetParts", PCNeatoSetParts_Neato));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoGetParts", PCNeatoGetParts_Neato));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoSetMemory", PCNeatoSetMemory_Neato));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoGetMemory", PCNeatoGetMemory_Neato));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoSetCoupling", PCNeatoSetCoupling_Neato));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoGetCoupling", PCNeatoGetCoupling_Neato));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoSetTransport", PCNeatoSetTransport_Neato));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoGetTransport", PCNeatoGetTransport_Neato));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoSetBackend", PCNeatoSetBackend_Neato));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoGetBackend", PCNeatoGetBackend_Neato));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoSetPrecision", PCNeatoSetPrecision_Neato));
  PetscCall(NEATO_COMPOSE(pc, "PCNeatoGetPrecision", PCNeatoGetPrecision_Neato));
  PetscFunctionReturn(PETSC_SUCCESS);
}
