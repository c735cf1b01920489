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

/* What each row of this rank is: order->row */
static PetscErrorCode order_numbers(Mat P, const BCRFound *found, const BCRGrid *grid, BCROrder *order)
{
  PetscInt first, last, singles = 0, before;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(P, &first, &last));
  BCRCallElse(BCRFaultShare(grid->comm, PetscMalloc1(last - first, &order->row), BCR_NO_MEMORY), (void)0);
  for (PetscInt r = first; r < last && found->place; r++) singles += found->place[r - first] < 0 ? 1 : 0;
  PetscCallMPI(MPI_Scan(&singles, &before, 1, MPIU_INT, MPI_SUM, grid->comm));
  before -= singles;
  for (PetscInt r = first; r < last; r++) {
    const PetscInt place = found->place ? found->place[r - first] : r;
    PetscInt node[3];

    if (place < 0) order->row[r - first] = BCR_SINGLE(before++);
    else {
      BCRGridNaturalNode(grid, place / grid->dof, node);
      order->row[r - first] = place % grid->dof + grid->dof * BCRGridNumber(grid, node);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What each row of the grid, or single row, of this rank is in the matrix. n: how many there are; grid: which of the two */
static PetscErrorCode order_set(Mat P, const BCROrder *order, PetscInt n, PetscBool grid, IS *set)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)P);
  PetscInt first, last, count = 0, *mine = NULL, *to = NULL, *number = NULL;
  PetscLayout layout;
  PetscSF sf;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(P, &first, &last));
  ierr = PetscMalloc2(last - first, &mine, last - first, &to);
  if (!ierr) ierr = PetscMalloc1(n, &number);
  BCRCallElse(BCRFaultShare(comm, ierr, BCR_NO_MEMORY), (void)PetscFree2(mine, to), (void)PetscFree(number));
  for (PetscInt r = first; r < last; r++) {
    const PetscInt at = order->row[r - first];

    if ((at >= 0) != grid) continue;
    mine[count] = r;
    to[count++] = grid ? at : BCR_SINGLE(at);
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
  PetscCall(ISCreateGeneral(comm, n, number, PETSC_OWN_POINTER, set));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The blocks of a matrix of type AIJ: columns of this rank and, on several, of others */
static PetscErrorCode order_blocks(Mat mat, Mat block[2], const PetscInt **ghost)
{
  PetscBool mpi;

  PetscFunctionBegin;
  block[0] = mat;
  block[1] = NULL;
  *ghost = NULL;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)mat, MATMPIAIJ, &mpi));
  if (mpi) PetscCall(MatMPIAIJGetSeqAIJ(mat, &block[0], &block[1], ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the columns of other ranks are: order->ghost */
static PetscErrorCode order_ghosts(Mat mat, BCROrder *order)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)mat);
  const PetscInt *ghost;
  PetscInt n = 0;
  PetscLayout layout;
  PetscSF sf;
  Mat block[2];

  PetscFunctionBegin;
  PetscCall(order_blocks(mat, block, &ghost));
  if (!block[1]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetSize(block[1], NULL, &n));
  BCRCallElse(BCRFaultShare(comm, PetscMalloc1(n, &order->ghost), BCR_NO_MEMORY), (void)0);
  PetscCall(MatGetLayouts(mat, &layout, NULL));
  PetscCall(PetscSFCreate(comm, &sf));
  PetscCall(PetscSFSetGraphLayout(sf, layout, n, NULL, PETSC_OWN_POINTER, ghost));
  PetscCall(PetscSFBcastBegin(sf, MPIU_INT, order->row, order->ghost, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(sf, MPIU_INT, order->row, order->ghost, MPI_REPLACE));
  PetscCall(PetscSFDestroy(&sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of both blocks, open */
typedef struct {
  PetscInt rows;
  const PetscInt *i[2], *j[2];
  const PetscScalar *a[2];
} Blocks;

static PetscErrorCode blocks_open(const Mat block[2], Blocks *b)
{
  PetscBool done;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(b, sizeof(*b)));
  for (int k = 0; k < 2; k++) {
    if (!block[k]) continue;
    PetscCall(MatGetRowIJ(block[k], 0, PETSC_FALSE, PETSC_FALSE, &b->rows, &b->i[k], &b->j[k], &done));
    PetscCall(MatSeqAIJGetArrayRead(block[k], &b->a[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode blocks_close(const Mat block[2], Blocks *b)
{
  PetscBool done;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    if (!block[k]) continue;
    PetscCall(MatSeqAIJRestoreArrayRead(block[k], &b->a[k]));
    PetscCall(MatRestoreRowIJ(block[k], 0, PETSC_FALSE, PETSC_FALSE, &b->rows, &b->i[k], &b->j[k], &done));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entry k of a block: the column of A_gg, negative if it is one of A_gs */
static PetscInt order_column(const BCROrder *order, const Blocks *b, int block, PetscInt k)
{
  return block ? order->ghost[b->j[1][k]] : order->row[b->j[0][k]];
}

/* Room for as many entries as each row of the grid has, wherever they are: [grid rows of this rank] */
static PetscErrorCode order_room(Mat mat, const Blocks *b, BCROrder *order, PetscInt n, PetscInt room[])
{
  PetscInt *mine = NULL, *to = NULL, count = 0;
  PetscLayout layout;
  PetscSF sf;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(room, n));
  PetscCall(PetscMalloc2(b->rows, &mine, b->rows, &to));
  for (PetscInt r = 0; r < b->rows; r++) {
    if (order->row[r] < 0) continue;
    mine[count] = b->i[0][r + 1] - b->i[0][r] + (b->i[1] ? b->i[1][r + 1] - b->i[1][r] : 0);
    to[count++] = order->row[r];
  }
  PetscCall(VecGetLayout(order->f, &layout));
  PetscCall(PetscSFCreate(PetscObjectComm((PetscObject)mat), &sf));
  PetscCall(PetscSFSetGraphLayout(sf, layout, count, NULL, PETSC_OWN_POINTER, to));
  PetscCall(PetscSFReduceBegin(sf, MPIU_INT, mine, room, MPI_REPLACE));
  PetscCall(PetscSFReduceEnd(sf, MPIU_INT, mine, room, MPI_REPLACE));
  PetscCall(PetscSFDestroy(&sf));
  PetscCall(PetscFree2(mine, to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An empty matrix on the grid; room: of each row, wherever its columns are */
static PetscErrorCode order_matrix(Mat like, Vec f, const PetscInt room[], Mat *made)
{
  PetscInt n, all, *here, *there; /* no more than there are columns of this rank, and of others */
  MatType type;

  PetscFunctionBegin;
  PetscCall(VecGetSize(f, &all));
  PetscCall(VecGetLocalSize(f, &n));
  PetscCall(PetscMalloc2(n, &here, n, &there));
  for (PetscInt r = 0; r < n; r++) {
    here[r] = PetscMin(room[r], n);
    there[r] = PetscMin(room[r], all - n);
  }
  PetscCall(MatGetType(like, &type));
  PetscCall(MatCreate(PetscObjectComm((PetscObject)like), made));
  PetscCall(MatSetSizes(*made, n, n, all, all));
  PetscCall(MatSetType(*made, type));
  PetscCall(MatSeqAIJSetPreallocation(*made, 0, here));
  PetscCall(MatMPIAIJSetPreallocation(*made, 0, here, 0, there));
  PetscCall(MatSetOption(*made, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(PetscFree2(here, there));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The entries of A_gg from those of mat */
static PetscErrorCode order_fill(const Blocks *b, BCROrder *order)
{
  PetscFunctionBegin;
  for (PetscInt r = 0; r < b->rows; r++) {
    if (order->row[r] < 0) continue;
    for (int block = 0; block < 2 && b->i[block]; block++) {
      for (PetscInt k = b->i[block][r]; k < b->i[block][r + 1]; k++) {
        const PetscInt column = order_column(order, b, block, k);

        if (column >= 0) PetscCall(MatSetValue(order->mat, order->row[r], column, b->a[block][k], INSERT_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(order->mat, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(order->mat, MAT_FINAL_ASSEMBLY));
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

static PetscErrorCode order_update(Mat mat, const Blocks *b, BCROrder *order)
{
  PetscInt n, *room;

  PetscFunctionBegin;
  if (!order->mat) {
    PetscCall(order_ghosts(mat, order));
    PetscCall(VecGetLocalSize(order->f, &n));
    PetscCall(PetscMalloc1(n, &room));
    BCRCallElse(order_room(mat, b, order, n, room), (void)PetscFree(room));
    PetscCall(order_matrix(mat, order->f, room, &order->mat));
    PetscCall(PetscFree(room));
    PetscCall(PetscObjectCompose((PetscObject)order->mat, BCR_ROW_NUMBERS, (PetscObject)order->rows));
  }
  PetscCall(order_fill(b, order));
  if (order->single) PetscCall(order_inverse(mat, order));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCROrderUpdate(Mat mat, BCROrder *order)
{
  const PetscInt *ghost;
  Blocks b;
  Mat block[2];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(order_blocks(mat, block, &ghost));
  PetscCall(blocks_open(block, &b));
  ierr = order_update(mat, &b, order);
  PetscCall(blocks_close(block, &b));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode order_create(Mat P, Mat mat, const BCRFound *found, const BCRGrid *grid, BCROrder *order)
{
  const PetscInt n = grid->dof * grid->n[0] * grid->n[1] * grid->n[2];
  PetscInt singles = 0, first, last;
  VecType type;
  Vec x;

  PetscFunctionBegin;
  PetscCall(order_numbers(P, found, grid, order));
  PetscCall(order_set(P, order, n, PETSC_TRUE, &order->rows));
  PetscCall(MatGetVecType(P, &type));
  PetscCall(VecCreate(grid->comm, &order->f));
  PetscCall(VecSetSizes(order->f, n, PETSC_DETERMINE));
  PetscCall(VecSetType(order->f, type));
  PetscCall(VecDuplicate(order->f, &order->u));
  PetscCall(MatCreateVecs(P, NULL, &x));
  PetscCall(VecScatterCreate(x, order->rows, order->f, NULL, &order->grid));
  order->singles = found->alone + found->empty;
  if (order->singles) {
    PetscCall(MatGetOwnershipRange(P, &first, &last));
    for (PetscInt r = 0; r < last - first; r++) singles += order->row[r] < 0 ? 1 : 0;
    PetscCall(order_set(P, order, singles, PETSC_FALSE, &order->single));
    PetscCall(VecCreate(grid->comm, &order->us));
    PetscCall(VecSetSizes(order->us, singles, PETSC_DETERMINE));
    PetscCall(VecSetType(order->us, type));
    PetscCall(VecDuplicate(order->us, &order->inverse));
    PetscCall(VecScatterCreate(x, order->single, order->us, NULL, &order->alone));
    PetscCall(VecDuplicate(x, &order->part));
    PetscCall(VecDuplicate(x, &order->product));
    PetscCall(PetscObjectReference((PetscObject)P));
    order->P = P;
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
  PetscCall(PetscFree(order->row));
  PetscCall(PetscFree(order->ghost));
  PetscCall(ISDestroy(&order->rows));
  PetscCall(VecScatterDestroy(&order->grid));
  PetscCall(ISDestroy(&order->single));
  PetscCall(VecScatterDestroy(&order->alone));
  PetscCall(MatDestroy(&order->P));
  PetscCall(VecDestroy(&order->part));
  PetscCall(VecDestroy(&order->product));
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

/* part becomes x less the product of P, or its transpose, with part */
static PetscErrorCode order_subtract(BCROrder *order, PetscBool transpose, Vec x)
{
  PetscFunctionBegin;
  if (transpose) PetscCall(MatMultTranspose(order->P, order->part, order->product));
  else PetscCall(MatMult(order->P, order->part, order->product));
  PetscCall(VecCopy(x, order->part));
  PetscCall(VecAXPY(order->part, -1, order->product));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCROrderTake(BCROrder *order, PetscBool transpose, Vec x, Vec y)
{
  PetscFunctionBegin;
  if (!order->single || transpose) {
    PetscCall(scatter(order->grid, x, order->f, SCATTER_FORWARD));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(scatter(order->alone, x, order->us, SCATTER_FORWARD));
  PetscCall(VecPointwiseMult(order->us, order->us, order->inverse));
  PetscCall(scatter(order->alone, order->us, y, SCATTER_REVERSE));
  PetscCall(VecSet(order->part, 0));
  PetscCall(scatter(order->alone, order->us, order->part, SCATTER_REVERSE));
  PetscCall(order_subtract(order, PETSC_FALSE, x));
  PetscCall(scatter(order->grid, order->part, order->f, SCATTER_FORWARD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCROrderGive(BCROrder *order, PetscBool transpose, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(scatter(order->grid, order->u, y, SCATTER_REVERSE));
  if (!order->single || !transpose) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecSet(order->part, 0));
  PetscCall(scatter(order->grid, order->u, order->part, SCATTER_REVERSE));
  PetscCall(order_subtract(order, PETSC_TRUE, x));
  PetscCall(scatter(order->alone, order->part, order->us, SCATTER_FORWARD));
  PetscCall(VecPointwiseMult(order->us, order->us, order->inverse));
  PetscCall(scatter(order->alone, order->us, y, SCATTER_REVERSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
