#include "order.h"
#include <petscsf.h>

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

/* Collective. Numbers from the rows of the matrix to those of the grid, or to single rows: to[n] on this rank get what the
   count rows with numbers at[] among all of them have. Each of them is one of those */
static PetscErrorCode order_send(MPI_Comm comm, PetscInt count, const PetscInt at[], const PetscInt from[], PetscInt n,
                                 PetscInt to[])
{
  PetscLayout layout;
  PetscSF sf;

  PetscFunctionBegin;
  PetscCall(PetscLayoutCreateFromSizes(comm, n, PETSC_DECIDE, 1, &layout));
  PetscCall(PetscSFCreate(comm, &sf));
  PetscCall(PetscSFSetGraphLayout(sf, layout, count, NULL, PETSC_OWN_POINTER, at));
  PetscCall(PetscSFReduceBegin(sf, MPIU_INT, from, to, MPI_REPLACE));
  PetscCall(PetscSFReduceEnd(sf, MPIU_INT, from, to, MPI_REPLACE));
  PetscCall(PetscSFDestroy(&sf));
  PetscCall(PetscLayoutDestroy(&layout));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What each row of the grid, or single row, of this rank is in the matrix. n: how many there are; grid: which of the two */
static PetscErrorCode order_set(Mat P, const BCROrder *order, PetscInt n, PetscBool grid, IS *set)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)P);
  PetscInt first, last, count = 0, *mine = NULL, *at = NULL, *number = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(P, &first, &last));
  ierr = PetscMalloc2(last - first, &mine, last - first, &at);
  if (!ierr) ierr = PetscMalloc1(n, &number);
  BCRCallElse(BCRFaultShare(comm, ierr, BCR_NO_MEMORY), (void)PetscFree2(mine, at), (void)PetscFree(number));
  for (PetscInt r = first; r < last; r++) {
    const PetscInt row = order->row[r - first];

    if ((row >= 0) != grid) continue;
    mine[count] = r;
    at[count++] = grid ? row : BCR_SINGLE(row);
  }
  PetscCall(order_send(comm, count, at, mine, n, number));
  PetscCall(PetscFree2(mine, at));
  PetscCall(ISCreateGeneral(comm, n, number, PETSC_OWN_POINTER, set));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the columns of other ranks are: order->ghost. n of them, with these numbers */
static PetscErrorCode order_ghosts(Mat mat, PetscInt n, const PetscInt columns[], BCROrder *order)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)mat);
  PetscLayout layout;
  PetscSF sf;

  PetscFunctionBegin;
  BCRCallElse(BCRFaultShare(comm, PetscMalloc1(n, &order->ghost), BCR_NO_MEMORY), (void)0);
  PetscCall(MatGetLayouts(mat, &layout, NULL));
  PetscCall(PetscSFCreate(comm, &sf));
  PetscCall(PetscSFSetGraphLayout(sf, layout, n, NULL, PETSC_OWN_POINTER, columns));
  PetscCall(PetscSFBcastBegin(sf, MPIU_INT, order->row, order->ghost, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(sf, MPIU_INT, order->row, order->ghost, MPI_REPLACE));
  PetscCall(PetscSFDestroy(&sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries of row r in both blocks */
static PetscInt entries_of(const BCRBlock block[2], PetscInt r)
{
  PetscInt n = 0;

  for (int b = 0; b < 2 && block[b].mat; b++) n += block[b].i[r + 1] - block[b].i[r];
  return n;
}

/* Collective. The matrix on the grid, with room for the entries of its rows and without any: here, in columns of this rank, and
   there, of others, as many as there may be. [rows of this rank of the grid] */
static PetscErrorCode order_matrix(Mat like, const PetscInt room[], PetscInt here[], PetscInt there[], BCROrder *order)
{
  PetscInt n, all;
  MatType type;

  PetscFunctionBegin;
  PetscCall(VecGetSize(order->f, &all));
  PetscCall(VecGetLocalSize(order->f, &n));
  for (PetscInt r = 0; r < n; r++) {
    here[r] = PetscMin(room[r], n);
    there[r] = PetscMin(room[r], all - n);
  }
  PetscCall(MatGetType(like, &type));
  PetscCall(MatCreate(PetscObjectComm((PetscObject)like), &order->mat));
  PetscCall(MatSetSizes(order->mat, n, n, all, all));
  PetscCall(MatSetType(order->mat, type));
  PetscCall(MatSeqAIJSetPreallocation(order->mat, 0, here));
  PetscCall(MatMPIAIJSetPreallocation(order->mat, 0, here, 0, there));
  PetscCall(MatSetOption(order->mat, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(PetscObjectCompose((PetscObject)order->mat, BCR_ROW_NUMBERS, (PetscObject)order->rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode order_make(Mat mat, const BCRBlock block[2], BCROrder *order)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)mat);
  PetscInt n, count = 0, *mine = NULL, *at = NULL, *room = NULL, *here = NULL, *there = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(order->f, &n));
  ierr = PetscMalloc5(block[0].rows, &mine, block[0].rows, &at, n, &room, n, &here, n, &there);
  ierr = BCRFaultShare(comm, ierr, BCR_NO_MEMORY);
  for (PetscInt r = 0; r < block[0].rows && !ierr; r++) {
    if (order->row[r] < 0) continue;
    mine[count] = entries_of(block, r);
    at[count++] = order->row[r];
  }
  if (!ierr) ierr = order_send(comm, count, at, mine, n, room);
  if (!ierr) ierr = order_matrix(mat, room, here, there, order);
  PetscCall(PetscFree5(mine, at, room, here, there));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The entries of A_gg from those of the matrix; columns of A_gs are left out */
static PetscErrorCode order_fill(const BCRBlock block[2], BCROrder *order)
{
  PetscFunctionBegin;
  for (PetscInt r = 0; r < block[0].rows; r++) {
    if (order->row[r] < 0) continue;
    for (int b = 0; b < 2 && block[b].mat; b++) {
      for (PetscInt k = block[b].i[r]; k < block[b].i[r + 1]; k++) {
        const PetscInt column = b ? order->ghost[block[1].j[k]] : order->row[block[0].j[k]];

        if (column >= 0) PetscCall(MatSetValue(order->mat, order->row[r], column, block[b].a[k], INSERT_VALUES));
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

static PetscErrorCode order_update(Mat mat, const BCRBlock block[2], const PetscInt columns[], BCROrder *order)
{
  PetscInt n;

  PetscFunctionBegin;
  if (!order->mat) {
    if (block[1].mat) {
      PetscCall(MatGetSize(block[1].mat, NULL, &n));
      PetscCall(order_ghosts(mat, n, columns, order));
    }
    PetscCall(order_make(mat, block, order));
  }
  PetscCall(order_fill(block, order));
  if (order->single) PetscCall(order_inverse(mat, order));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCROrderUpdate(Mat mat, BCROrder *order)
{
  const PetscInt *columns;
  Mat own[2];
  BCRBlock block[2];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(BCRMatGetBlocks(mat, &own[0], &own[1], &columns));
  for (int b = 0; b < 2; b++) {
    PetscCall(BCRBlockOpen(own[b], &block[b]));
    PetscCall(BCRBlockFetch(&block[b]));
  }
  ierr = order_update(mat, block, columns, order);
  for (int b = 0; b < 2; b++) PetscCall(BCRBlockClose(&block[b]));
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
