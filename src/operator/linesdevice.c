/*
  Lines whose work is done on CUDA devices: what connects these, and vectors that are there. Builds without CUDA have the
  functions, too: nothing is on a device there.
*/
#include "linesimpl.h"

#if defined(PETSCBCR_HAVE_CUDA)
  #include "../base/stream.h"
  #include <petscdevice.h>

PetscErrorCode BCRLinesTransport(BCRLines lines, const char option[], BCRTransportKind kind, PetscBool aware,
                                 BCRTriOptions *options)
{
  PetscFunctionBegin;
  options->transport = NULL;
  if (!options->device || lines->ranks == 1) PetscFunctionReturn(PETSC_SUCCESS);
  if (!lines->transport || lines->kind != kind) {
    BCRFault fault = {PETSC_SUCCESS, ""};
    PetscErrorCode ierr;

    PetscCall(BCRTransportDestroy(&lines->transport));
    PetscCall(BCRFaultCatchBegin(&fault));
    ierr = BCRTransportCreate(lines->along, option, kind, aware, &lines->transport);
    PetscCall(BCRFaultCatchEnd(&fault, ierr));
    if (ierr) PetscCall(BCRTransportDestroy(&lines->transport));
    else fault.code = PETSC_SUCCESS;
    PetscCall(BCRFaultAgree(lines->comm, &fault));
    lines->kind = kind;
  }
  options->transport = lines->transport;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRLinesTransportDestroy(BCRLines lines)
{
  PetscFunctionBegin;
  PetscCall(BCRTransportDestroy(&lines->transport));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRLinesFollow(BCRLines lines, Vec f, Vec u, BCRTriOptions *options)
{
  VecType type[2];
  PetscBool of[2];
  PetscMPIInt mine, all;

  PetscFunctionBegin;
  options->device = PETSC_FALSE;
  PetscCall(VecGetType(f, &type[0]));
  PetscCall(VecGetType(u, &type[1]));
  for (int i = 0; i < 2; ++i) PetscCall(BCRTypesOnDevice(type[i], NULL, &of[i]));
  mine = of[0] && of[1] && BCRTriDevicePossible(options, NULL) ? 1 : 0;
  PetscCallMPI(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, lines->comm));
  options->device = all ? PETSC_TRUE : PETSC_FALSE;
  if (options->device) PetscCall(BCRGetStream(&options->stream));
  PetscCall(BCRLinesTransport(lines, "pc_neato_transport", BCR_TRANSPORT_AUTO, BCRGpuAwareMPI(), options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRLinesSolveDevice(BCRTri tri, Vec f, Vec u, PetscBool *done)
{
  const PetscScalar *b;
  PetscScalar *x;
  BCRVecPlace place;
  BCRTriInfo info;
  void *stream;

  PetscFunctionBegin;
  PetscCall(BCRVecsGetArrays(f, u, &b, &x, &place));
  *done = (PetscBool)(place == BCR_VECS_DEVICE);
  if (*done) {
    PetscCall(BCRTriGetInfo(tri, &info));
    PetscCall(BCRGetStream(&stream));
    PetscCall(PetscLogGpuTimeBegin());
    PetscCall(BCRTriSolveDevice(tri, stream, (const PetscReal *)b, (PetscReal *)x));
    PetscCall(PetscLogGpuTimeEnd());
    PetscCall(PetscLogGpuFlops(info.flops));
  }
  PetscCall(BCRVecsRestoreArrays(f, u, &b, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#else

PetscErrorCode BCRLinesTransport(BCRLines lines, const char option[], BCRTransportKind kind, PetscBool aware,
                                 BCRTriOptions *options)
{
  (void)lines, (void)option, (void)kind, (void)aware;
  options->transport = NULL;
  return PETSC_SUCCESS;
}

PetscErrorCode BCRLinesTransportDestroy(BCRLines lines)
{
  (void)lines;
  return PETSC_SUCCESS;
}

PetscErrorCode BCRLinesFollow(BCRLines lines, Vec f, Vec u, BCRTriOptions *options)
{
  (void)lines, (void)f, (void)u;
  options->device = PETSC_FALSE;
  return PETSC_SUCCESS;
}

PetscErrorCode BCRLinesSolveDevice(BCRTri tri, Vec f, Vec u, PetscBool *done)
{
  (void)tri, (void)f, (void)u;
  *done = PETSC_FALSE;
  return PETSC_SUCCESS;
}
#endif
