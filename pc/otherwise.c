#include "otherwise.h"
#include "../src/base/agree.h"

static PetscErrorCode stand_in(PC pc, BCROtherwise *o)
{
  PetscFunctionBegin;
  PetscCall(
    PetscInfo(pc, "PC %s instead of %s: %s\n", o->type, ((const BCROptionsOwner *)pc->data)->options->type, o->reason));
  PetscCall(PCCreate(PetscObjectComm((PetscObject)pc), &o->pc));
  PetscCall(PetscObjectIncrementTabLevel((PetscObject)o->pc, (PetscObject)pc, 1));
  PetscCall(PCSetOptionsPrefix(o->pc, ((PetscObject)pc)->prefix));
  PetscCall(PCAppendOptionsPrefix(o->pc, "otherwise_"));
  if (pc->dm) PetscCall(PCSetDM(o->pc, pc->dm));
  PetscCall(PCSetOperators(o->pc, pc->mat, pc->pmat));
  PetscCall(PCSetType(o->pc, o->type));
  PetscCall(PCSetFromOptions(o->pc));
  PetscCall(PCSetUp(o->pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCROtherwiseSetUp(PC pc, BCROtherwise *o, PetscBool vecs, Vec b, Vec x,
                                 PetscErrorCode (*set_up)(PC, PetscBool, Vec, Vec), PetscErrorCode (*reset)(PC))
{
  BCRFault fault = {PETSC_SUCCESS, ""};
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PCDestroy(&o->pc));
  if (!o->type) {
    PetscCall((*set_up)(pc, vecs, b, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BCRFaultCatchBegin(&fault));
  ierr = (*set_up)(pc, vecs, b, x);
  PetscCall(BCRFaultCatchEnd(&fault, ierr));
  if (!fault.code) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(fault.code == PETSC_ERR_SUP || fault.code == PETSC_ERR_ARG_WRONG || fault.code == PETSC_ERR_ARG_INCOMP ||
               fault.code == PETSC_ERR_MAT_LU_ZRPVT,
             PetscObjectComm((PetscObject)pc), fault.code, "%s", fault.text);
  PetscCall((*reset)(pc));
  PetscCall(PetscStrncpy(o->reason, fault.text, sizeof(o->reason)));
  PetscCall(stand_in(pc, o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCEISENSTAT puts a matrix of its own in place of the operator, which KSPSolve() takes from its PC */
PetscErrorCode BCROtherwisePreSolve(PC pc, BCROtherwise *o, KSP ksp)
{
  PetscFunctionBegin;
  if (!o->pc) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCPreSolve(o->pc, ksp));
  pc->mat = o->pc->mat;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCROtherwisePostSolve(PC pc, BCROtherwise *o, KSP ksp)
{
  PetscFunctionBegin;
  if (!o->pc) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCPostSolve(o->pc, ksp));
  pc->mat = o->pc->mat;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCROtherwiseView(const BCROtherwise *o, PetscViewer viewer)
{
  PetscFunctionBegin;
  if (!o->pc) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerASCIIPrintf(viewer, "otherwise: another PC stands in, as %s\n", o->reason));
  PetscCall(PetscViewerASCIIPushTab(viewer));
  PetscCall(PCView(o->pc, viewer));
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}
