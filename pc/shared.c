#include "shared.h"
#include "../src/base/agree.h"
#include <petscdmda.h>

PetscErrorCode BCRGetDMDA(PC pc, const char type[], DM *da)
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
                          "%s needs a DMDA, but %s%s%s: give it with KSPSetDM() or PCSetDM(), or create the matrix "
                          "with DMCreateMatrix()",
                          type, found ? "the DM is of type " : "neither the PC nor its matrix has a DM",
                          found ? found : "", found ? "" : " (sub-matrices of a block preconditioner have none)"));
  PetscCall(BCRFaultAgree(PetscObjectComm((PetscObject)pc), &fault));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRVecsOnDevice(PC pc, DM da, PetscBool *device)
{
  VecType type[2];

  PetscFunctionBegin;
  PetscCall(MatGetVecType(pc->pmat, &type[0]));
  PetscCall(DMGetVecType(da, &type[1]));
  PetscCall(BCRTypesOnDevice(type[0], type[1], device));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRArraysOfVecs(Vec x, Vec y, BCRArrays *arrays)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(arrays, sizeof(*arrays)));
  arrays->x = x;
  arrays->y = y;
  arrays->ncols = 1;
  PetscCall(VecGetLocalSize(x, &arrays->ldf));
  arrays->ldu = arrays->ldf;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRArraysOfMats(Mat X, Mat Y, BCRArrays *arrays)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(arrays, sizeof(*arrays)));
  arrays->X = X;
  arrays->Y = Y;
  PetscCall(MatGetSize(X, NULL, &arrays->ncols));
  PetscCall(MatDenseGetLDA(X, &arrays->ldf));
  PetscCall(MatDenseGetLDA(Y, &arrays->ldu));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode arrays_get_host(BCRArrays *a)
{
  PetscFunctionBegin;
  a->place = BCR_VECS_HOST;
  if (a->x) {
    PetscCall(VecGetArrayRead(a->x, &a->f));
    if (a->mode == BCR_ARRAYS_READ) PetscCall(VecGetArrayRead(a->y, (const PetscScalar **)&a->u));
    else PetscCall(VecGetArrayWrite(a->y, &a->u));
  } else {
    PetscCall(MatDenseGetArrayRead(a->X, &a->f));
    if (a->mode == BCR_ARRAYS_READ) PetscCall(MatDenseGetArrayRead(a->Y, (const PetscScalar **)&a->u));
    else PetscCall(MatDenseGetArrayWrite(a->Y, &a->u));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode arrays_restore_host(const BCRArrays *a)
{
  const PetscScalar *f = a->f;
  PetscScalar *u = a->u;

  PetscFunctionBegin;
  if (a->x) {
    if (a->mode == BCR_ARRAYS_READ) PetscCall(VecRestoreArrayRead(a->y, (const PetscScalar **)&u));
    else PetscCall(VecRestoreArrayWrite(a->y, &u));
    PetscCall(VecRestoreArrayRead(a->x, &f));
  } else {
    if (a->mode == BCR_ARRAYS_READ) PetscCall(MatDenseRestoreArrayRead(a->Y, (const PetscScalar **)&u));
    else PetscCall(MatDenseRestoreArrayWrite(a->Y, &u));
    PetscCall(MatDenseRestoreArrayRead(a->X, &f));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSCBCR_HAVE_CUDA)
static PetscErrorCode arrays_get_anywhere(BCRArrays *a)
{
  PetscMemType mf, mu;
  PetscScalar *f; /* of matrices not const in all releases */

  PetscFunctionBegin;
  if (a->x) PetscCall(BCRVecsGetArrays(a->x, a->y, &a->f, &a->u, &a->place));
  else {
    PetscCall(MatDenseGetArrayReadAndMemType(a->X, (void *)&f, &mf));
    PetscCall(MatDenseGetArrayWriteAndMemType(a->Y, &a->u, &mu));
    a->f = f;
    a->place = BCRMemPlace(mf, mu);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode arrays_restore_anywhere(const BCRArrays *a)
{
  PetscScalar *f = (PetscScalar *)a->f, *u = a->u;

  PetscFunctionBegin;
  if (a->x) PetscCall(BCRVecsRestoreArrays(a->x, a->y, (const PetscScalar **)&f, &u));
  else {
    PetscCall(MatDenseRestoreArrayWriteAndMemType(a->Y, &u));
    PetscCall(MatDenseRestoreArrayReadAndMemType(a->X, (void *)&f));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#else /* all are on the host */
static PetscErrorCode arrays_get_anywhere(BCRArrays *a)
{
  return arrays_get_host(a);
}

static PetscErrorCode arrays_restore_anywhere(const BCRArrays *a)
{
  return arrays_restore_host(a);
}
#endif

PetscErrorCode BCRArraysGet(BCRArrays *a, int mode)
{
  PetscFunctionBegin;
  a->mode = mode;
  if (mode == BCR_ARRAYS_ANYWHERE) PetscCall(arrays_get_anywhere(a));
  else PetscCall(arrays_get_host(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRArraysRestore(BCRArrays *a)
{
  PetscFunctionBegin;
  if (a->mode == BCR_ARRAYS_ANYWHERE) PetscCall(arrays_restore_anywhere(a));
  else PetscCall(arrays_restore_host(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}
