/*
  Set-up of PCNEATO: from the options, the DMDA and the matrix to lines and a solver of them.
*/
#include "neato.h"

PetscErrorCode BCRNeatoResetSolvers(PC_Neato *neato)
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

PetscErrorCode PCReset_Neato(PC pc)
{
  PC_Neato *neato = (PC_Neato *)pc->data;

  PetscFunctionBegin;
  PetscCall(BCRNeatoResetSolvers(neato));
  PetscCall(BCRLinesDestroy(&neato->lines));
  PetscCall(BCRPlaceDestroy(&neato->place));
  PetscCall(PCDestroy(&neato->otherwise.pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool have_nccl(const char **why)
{
#if defined(PETSCBCR_HAVE_CUDA)
  return BCRTransportHaveNccl(why);
#else
  *why = "this petscbcr was built without CUDA";
  return PETSC_FALSE;
#endif
}

/* What this build has not, and what does not go together */
static PetscErrorCode check_options(PC pc)
{
  PC_Neato *neato = (PC_Neato *)pc->data;
  const char *prefix = BCRPrefix(pc);
  const PetscBool pscheme =
    (PetscBool)(neato->variant == PCNEATO_VARIANT_REARRANGED || neato->variant == PCNEATO_VARIANT_PLAIN);
  const PetscBool dc =
    (PetscBool)(neato->variant == PCNEATO_VARIANT_PARALLEL || neato->variant == PCNEATO_VARIANT_SEQUENTIAL);

  PetscFunctionBegin;
  if (neato->transport == PCNEATO_TRANSPORT_NCCL) {
    const char *why = NULL;
    const PetscBool there = have_nccl(&why);
    char message[BCR_MESSAGE_LENGTH] = "";

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
static PetscErrorCode choose_backend(PC pc)
{
  PC_Neato *neato = (PC_Neato *)pc->data;
  const char *prefix = BCRPrefix(pc), *why = NULL;
  PetscBool cuda;
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
    PetscCall(BCRVecsOnDevice(pc, neato->place.dm, &cuda));
    if (cuda) {
      PetscMPIInt mine = BCRTriDevicePossible(&neato->options, NULL) ? 1 : 0, all;

      PetscCallMPI(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)pc)));
      neato->options.device = all ? PETSC_TRUE : PETSC_FALSE;
    }
  }
  if (neato->options.device) PetscCall(BCRGetStream(&neato->options.stream));
  PetscCall(PetscSNPrintf(option, sizeof(option), "%spc_neato_transport", prefix));
  PetscCall(
    BCRLinesTransport(neato->lines, option, (BCRTransportKind)neato->transport, BCRGpuAwareMPI(), &neato->options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode solver_options(PC pc)
{
  PC_Neato *neato = (PC_Neato *)pc->data;
  BCRTriOptions *o = &neato->options;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(o, sizeof(*o)));
  o->method = (BCRTriMethod)neato->method;
  o->coupling = (BCRTriCoupling)neato->coupling;
  o->precision = (BCRTriPrecision)neato->precision;
  o->parts = neato->parts;
  o->variant = neato->variant == PCNEATO_VARIANT_PLAIN || neato->variant == PCNEATO_VARIANT_SEQUENTIAL ? 1 : 0;
  o->isa = (int)neato->isa - 1;
  o->memory = (int)neato->memory;
  PetscCall(choose_backend(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRNeatoMakeSolver(PC pc)
{
  PC_Neato *neato = (PC_Neato *)pc->data;

  PetscFunctionBegin;
  PetscCall(BCRLinesSolver(neato->lines, &neato->options, &neato->tri));
  PetscCall(BCRTriGetInfo(neato->tri, &neato->info));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* vecs: there is nothing to wait for any more; b, x: vectors that are at hand, or NULL */
static PetscErrorCode set_up(PC pc, PetscBool vecs, Vec b, Vec x)
{
  PC_Neato *neato = (PC_Neato *)pc->data;
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(PetscBCRCiteNeato());
  PetscCall(BCRNeatoResetSolvers(neato));
  PetscCall(BCRPlaceFind(pc, &neato->placing, PETSC_TRUE, PETSC_TRUE, b, x, &neato->place, &same));
  if (neato->place.none && !vecs) PetscFunctionReturn(PETSC_SUCCESS); /* the first vectors may have one */
  if (neato->place.none) PetscCall(BCRPlaceRefuse(pc, &neato->place));

  PetscCall(PetscLogEventBegin(BCR_Read, pc, pc->pmat, 0, 0));
  PetscCall(BCRLinesRead(&neato->place.grid, neato->place.mat,
                         neato->axis == PCNEATO_AXIS_AUTO ? BCR_LINES_ANY_AXIS : (PetscInt)neato->axis - 1,
                         &neato->lines));
  PetscCall(PetscLogEventEnd(BCR_Read, pc, pc->pmat, 0, 0));

  PetscCall(PetscLogEventBegin(BCR_SetUp, pc, 0, 0, 0));
  neato->switched = PETSC_FALSE;
  PetscCall(solver_options(pc));
  PetscCall(BCRNeatoMakeSolver(pc));
  PetscCall(PetscLogEventEnd(BCR_SetUp, pc, 0, 0, 0));
  PetscCall(PetscInfo(pc, "Lines along %c, method %s, %s\n", (char)('x' + neato->lines->axis),
                      PCNeatoMethods[neato->info.method], neato->info.what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode set_up_or_stand_in(PC pc, PetscBool vecs, Vec b, Vec x)
{
  PC_Neato *neato = (PC_Neato *)pc->data;

  PetscFunctionBegin;
  /* until this has succeeded: else the next solve would find a matrix that it takes for known, and
     no solver */
  BCROptionsChanged(pc, PETSC_FALSE);
  PetscCall(BCROptionsCheckSame(pc));
  PetscCall(check_options(pc));
  PetscCall(BCROtherwiseSetUp(pc, &neato->otherwise, vecs, b, x, set_up, PCReset_Neato));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSetUp_Neato(PC pc)
{
  PetscFunctionBegin;
  BCRCallElse(set_up_or_stand_in(pc, PETSC_FALSE, NULL, NULL), BCRPreSolveEnds(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRNeatoSetUpWith(PC pc, Vec b, Vec x)
{
  PetscBool anew;

  PetscFunctionBegin;
  PetscCall(BCRPlaceLook(&((PC_Neato *)pc->data)->place, b, x, &anew));
  if (!anew) PetscFunctionReturn(PETSC_SUCCESS);
  BCRCallElse(set_up_or_stand_in(pc, PETSC_TRUE, b, x), BCROptionsChanged(pc, PETSC_FALSE), BCRPreSolveEnds(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}
