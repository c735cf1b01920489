#include "shared.h"

PetscErrorCode BCRVecsOnDevice(PC pc, DM dm, PetscBool *device)
{
  VecType type[2];

  PetscFunctionBegin;
  PetscCall(MatGetVecType(pc->pmat, &type[0]));
  type[1] = type[0];
  if (dm) PetscCall(DMGetVecType(dm, &type[1]));
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

PetscErrorCode BCRApplyByColumns(PC pc, PetscBool transpose, Mat X, Mat Y,
                                 PetscErrorCode (*apply)(PC, PetscBool, Vec, Vec))
{
  PetscInt ncols;

  PetscFunctionBegin;
  PetscCall(MatGetSize(X, NULL, &ncols));
  for (PetscInt c = 0; c < ncols; ++c) {
    Vec x, y;
    PetscErrorCode ierr;

    PetscCall(MatDenseGetColumnVecRead(X, c, &x));
    PetscCall(MatDenseGetColumnVecWrite(Y, c, &y));
    ierr = (*apply)(pc, transpose, x, y);
    /* PETSc would not destroy a dense matrix from which a column is taken out */
    PetscCall(MatDenseRestoreColumnVecWrite(Y, c, &y));
    PetscCall(MatDenseRestoreColumnVecRead(X, c, &x));
    PetscCall(ierr);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
