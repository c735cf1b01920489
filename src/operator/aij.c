#include "aij.h"

PetscErrorCode BCRMatHasRows(Mat P, PetscBool *has)
{
  PetscBool bare, symmetric;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)P, &bare, MATSHELL, MATMFFD, MATSCATTER, MATPYTHON, ""));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)P, &symmetric, MATSEQSBAIJ, MATMPISBAIJ, MATIS, MATNEST, ""));
  PetscCall(MatHasOperation(P, MATOP_GET_ROW, has));
  *has = (PetscBool)(!bare && (*has || symmetric));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRMatGetAIJ(Mat P, const char way[], Mat *aij)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)P);
  PetscBool flg;
  PetscMPIInt size;
  MatType type;

  PetscFunctionBegin;
  *aij = NULL;
  PetscCall(MatAssembled(P, &flg));
  PetscCheck(flg, comm, PETSC_ERR_ARG_WRONGSTATE,
             "The preconditioning matrix is not assembled: call MatAssemblyBegin() and MatAssemblyEnd()");
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)P, &flg, MATSEQAIJ, MATMPIAIJ, ""));
  if (flg) {
    PetscCall(PetscObjectReference((PetscObject)P));
    *aij = P;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatGetType(P, &type));
  PetscCall(BCRMatHasRows(P, &flg));
  PetscCheck(flg, comm, PETSC_ERR_SUP, "A matrix of type %s has no rows to read %s", type, way);
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)P, &flg, MATMPIBAIJ, MATMPISBAIJ, ""));
  PetscCall(MatConvert(P, flg || size > 1 ? MATMPIAIJ : MATSEQAIJ, MAT_INITIAL_MATRIX, aij));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRMatGetBlocks(Mat aij, Mat *own, Mat *other, const PetscInt **columns)
{
  PetscBool mpi;

  PetscFunctionBegin;
  *own = aij;
  *other = NULL;
  *columns = NULL;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)aij, MATMPIAIJ, &mpi));
  if (mpi) PetscCall(MatMPIAIJGetSeqAIJ(aij, own, other, columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRBlockOpen(Mat mat, BCRBlock *block)
{
  PetscBool done;
  MatType type;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(block, sizeof(*block)));
  if (!mat) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetRowIJ(mat, 0, PETSC_FALSE, PETSC_FALSE, &block->rows, &block->i, &block->j, &done));
  PetscCall(MatGetType(mat, &type));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "A matrix of type %s gives no access to its rows", type);
  block->mat = mat;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRBlockFetch(const BCRBlock *block)
{
  PetscFunctionBegin;
  /* what it says stays what it is */
  if (block->mat && !block->a) PetscCall(MatSeqAIJGetArrayRead(block->mat, &((BCRBlock *)block)->a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRBlockClose(BCRBlock *block)
{
  PetscBool done;

  PetscFunctionBegin;
  if (!block->mat) PetscFunctionReturn(PETSC_SUCCESS);
  if (block->a) PetscCall(MatSeqAIJRestoreArrayRead(block->mat, &block->a));
  PetscCall(MatRestoreRowIJ(block->mat, 0, PETSC_FALSE, PETSC_FALSE, &block->rows, &block->i, &block->j, &done));
  block->mat = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}
