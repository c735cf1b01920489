#include "order.h"
#include <petscsf.h>

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

/* For each row of this rank's box the number of the row of the matrix that has its place. No rank waits for another after
   an error */
static PetscErrorCode order_rows(Mat P, const BCRFound *found, const BCRGrid *grid, PetscInt n, PetscInt number[])
{
  const MPI_Comm comm = grid->comm;
  PetscInt first, last, count = 0, *mine = NULL, *to = NULL;
  PetscLayout layout;
  PetscSF sf;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(P, &first, &last));
  ierr = PetscMalloc2(last - first, &mine, last - first, &to);
  BCRCallElse(BCRFaultShare(comm, ierr, BCR_NO_MEMORY), (void)PetscFree2(mine, to));
  for (PetscInt r = first; r < last; r++) {
    const PetscInt place = found->place ? found->place[r - first] : r;
    PetscInt node[3];

    if (place < 0) continue;
    BCRGridNaturalNode(grid, place / grid->dof, node);
    mine[count] = r;
    to[count++] = place % grid->dof + grid->dof * BCRGridNumber(grid, node);
  }
  PetscCall(PetscLayoutCreate(comm, &layout));
  PetscCall(PetscLayoutSetBlockSize(layout, 1));
  PetscCall(PetscLayoutSetLocalSize(layout, n));
  PetscCall(PetscLayoutSetUp(layout));
  PetscCall(PetscSFCreate(comm, &sf));
  PetscCall(PetscSFSetGraphLayout(sf, layout, count, NULL, PETSC_OWN_POINTER, to));
  PetscCall(PetscSFReduceBegin(sf, MPIU_INT, mine, number, MPI_REPLACE));
  PetscCall(PetscSFReduceEnd(sf, MPIU_INT, mine, number, MPI_REPLACE));
  PetscCall(PetscSFDestroy(&sf));
  PetscCall(PetscLayoutDestroy(&layout));
  PetscCall(PetscFree2(mine, to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows without a node */
static PetscErrorCode order_singles(Mat P, const BCRFound *found, BCROrder *order)
{
  PetscInt first, last, count = 0, *mine;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(P, &first, &last));
  for (PetscInt r = first; r < last; r++) count += found->place[r - first] < 0 ? 1 : 0;
  PetscCall(PetscMalloc1(count, &mine));
  count = 0;
  for (PetscInt r = first; r < last; r++)
    if (found->place[r - first] < 0) mine[count++] = r;
  PetscCall(ISCreateGeneral(PetscObjectComm((PetscObject)P), count, mine, PETSC_OWN_POINTER, &order->single));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* D^-1: of the diagonal, 0 where the row is empty */
static PetscErrorCode order_inverse(Mat mat, BCROrder *order)
{
  const PetscInt *number;
  PetscInt n;
  PetscScalar *inverse;
  Vec diagonal;
  BCRFault fault = {PETSC_SUCCESS, ""};

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(mat, NULL, &diagonal));
  PetscCall(MatGetDiagonal(mat, diagonal));
  PetscCall(VecScatterBegin(order->alone, diagonal, order->inverse, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(order->alone, diagonal, order->inverse, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecDestroy(&diagonal));
  PetscCall(ISGetLocalSize(order->single, &n));
  PetscCall(ISGetIndices(order->single, &number));
  PetscCall(VecGetArray(order->inverse, &inverse));
  for (PetscInt k = 0; k < n; k++) {
    if (PetscIsInfOrNanScalar(inverse[k]))
      PetscCall(BCRFaultSet(&fault, PETSC_ERR_FP,
                            "The preconditioning matrix holds NaN or Inf in row %" PetscInt_FMT
                            ", column %" PetscInt_FMT ": check the coefficients it is assembled from",
                            number[k], number[k]));
    if (inverse[k] != (PetscScalar)0) inverse[k] = (PetscScalar)1 / inverse[k];
  }
  PetscCall(VecRestoreArray(order->inverse, &inverse));
  PetscCall(ISRestoreIndices(order->single, &number));
  PetscCall(BCRFaultAgree(PetscObjectComm((PetscObject)mat), &fault));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCROrderUpdate(Mat mat, BCROrder *order)
{
  MatReuse reuse = MAT_INITIAL_MATRIX;
  PetscMPIInt size;

  PetscFunctionBegin;
  /* PETSc 3.18 puts values into wrong columns when it reuses a matrix of several ranks, rows of which stayed where they were in
     another order (MatCreateSubMatrix_MPIAIJ_SameRowColDist()) */
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)mat), &size));
  if (size == 1 && order->mat) reuse = MAT_REUSE_MATRIX;
  else {
    PetscCall(MatDestroy(&order->mat));
    PetscCall(MatDestroy(&order->coupling));
  }
  PetscCall(MatCreateSubMatrix(mat, order->rows, order->rows, reuse, &order->mat));
  PetscCall(PetscObjectCompose((PetscObject)order->mat, BCR_ROW_NUMBERS, (PetscObject)order->rows));
  if (order->single) {
    PetscCall(MatCreateSubMatrix(mat, order->rows, order->single, reuse, &order->coupling));
    PetscCall(order_inverse(mat, order));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode order_create(Mat P, Mat mat, const BCRFound *found, const BCRGrid *grid, BCROrder *order)
{
  const MPI_Comm comm = grid->comm;
  const PetscInt n = grid->dof * grid->n[0] * grid->n[1] * grid->n[2];
  PetscInt *number = NULL, local, all;
  VecType type;
  Vec x;

  PetscFunctionBegin;
  BCRCallElse(BCRFaultShare(comm, PetscMalloc1(n, &number), BCR_NO_MEMORY), (void)PetscFree(number));
  BCRCallElse(order_rows(P, found, grid, n, number), (void)PetscFree(number));
  PetscCall(ISCreateGeneral(comm, n, number, PETSC_OWN_POINTER, &order->rows));
  PetscCall(MatGetVecType(P, &type));
  PetscCall(VecCreate(comm, &order->f));
  PetscCall(VecSetSizes(order->f, n, PETSC_DETERMINE));
  PetscCall(VecSetType(order->f, type));
  PetscCall(VecDuplicate(order->f, &order->u));
  PetscCall(MatCreateVecs(P, NULL, &x));
  PetscCall(VecScatterCreate(x, order->rows, order->f, NULL, &order->grid));
  order->singles = found->alone + found->empty;
  if (order->singles) {
    PetscCall(order_singles(P, found, order));
    PetscCall(ISGetLocalSize(order->single, &local));
    PetscCall(ISGetSize(order->single, &all));
    PetscCall(VecCreate(comm, &order->us));
    PetscCall(VecSetSizes(order->us, local, all));
    PetscCall(VecSetType(order->us, type));
    PetscCall(VecDuplicate(order->us, &order->fs));
    PetscCall(VecDuplicate(order->us, &order->inverse));
    PetscCall(VecScatterCreate(x, order->single, order->us, NULL, &order->alone));
  }
  PetscCall(VecDestroy(&x));
  if (mat) PetscCall(BCROrderUpdate(mat, order));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCROrderCreate(Mat P, Mat mat, const BCRFound *found, const BCRGrid *grid, BCROrder *order)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(order, sizeof(*order)));
  BCRCallElse(order_create(P, mat, found, grid, order), (void)BCROrderDestroy(order));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCROrderDestroy(BCROrder *order)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&order->mat));
  PetscCall(VecDestroy(&order->f));
  PetscCall(VecDestroy(&order->u));
  PetscCall(ISDestroy(&order->rows));
  PetscCall(VecScatterDestroy(&order->grid));
  PetscCall(ISDestroy(&order->single));
  PetscCall(VecScatterDestroy(&order->alone));
  PetscCall(MatDestroy(&order->coupling));
  PetscCall(VecDestroy(&order->fs));
  PetscCall(VecDestroy(&order->us));
  PetscCall(VecDestroy(&order->inverse));
  PetscCall(PetscMemzero(order, sizeof(*order)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode scatter(VecScatter between, Vec from, Vec to, ScatterMode mode)
{
  PetscFunctionBegin;
  PetscCall(VecScatterBegin(between, from, to, INSERT_VALUES, mode));
  PetscCall(VecScatterEnd(between, from, to, INSERT_VALUES, mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCROrderTake(BCROrder *order, PetscBool transpose, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(scatter(order->grid, x, order->f, SCATTER_FORWARD));
  if (!order->single || transpose) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(scatter(order->alone, x, order->us, SCATTER_FORWARD));
  PetscCall(VecPointwiseMult(order->us, order->us, order->inverse));
  PetscCall(scatter(order->alone, order->us, y, SCATTER_REVERSE));
  PetscCall(MatMult(order->coupling, order->us, order->u));
  PetscCall(VecAXPY(order->f, -1, order->u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCROrderGive(BCROrder *order, PetscBool transpose, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(scatter(order->grid, order->u, y, SCATTER_REVERSE));
  if (!order->single || !transpose) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(scatter(order->alone, x, order->fs, SCATTER_FORWARD));
  PetscCall(MatMultTranspose(order->coupling, order->u, order->us));
  PetscCall(VecAYPX(order->us, -1, order->fs));
  PetscCall(VecPointwiseMult(order->us, order->us, order->inverse));
  PetscCall(scatter(order->alone, order->us, y, SCATTER_REVERSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
