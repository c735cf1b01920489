/*
  The rows of an assembled matrix on a DMDA: each as the star of its grid point, and what is wrong with one that has no
  such form.
*/
#include "order.h"
#include "readdevice.h"
#include "wide.h"

PetscErrorCode BCRRowsFetch(const BCRRows *rows)
{
  BCRRows *A = (BCRRows *)rows; /* what it says stays what it is */

  PetscFunctionBegin;
  PetscCall(BCRBlockFetch(&A->near));
  A->aa = A->near.a;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRowsOpen(const BCRGrid *grid, Mat P, PetscBool full, PetscBool fitted, BCRRows *A)
{
  PetscBool only = PETSC_FALSE;
  PetscInt d, k, n;
  const PetscInt *columns;
  Mat near, far;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(A, sizeof(*A)));
  A->comm = PetscObjectComm((PetscObject)P);
  A->grid = *grid;
  A->P = P;
  A->dim = A->grid.dim;
  A->dof = A->grid.dof;
  A->nodes = 1;
  for (d = 0; d < 3; d++) {
    A->N[d] = A->grid.N[d];
    A->lo[d] = A->grid.lo[d];
    A->n[d] = A->grid.n[d];
    A->stride[d] = A->nodes;
    A->nodes *= A->n[d];
  }
  PetscCall(BCRGridCheckMatrix(&A->grid, P));
  PetscCall(BCRMatGetAIJ(P,
                         "the operator from: describe it with PCBCRPoissonSetOperator() or -pc_bcrpoisson_operator "
                         "user, or give an assembled preconditioning matrix",
                         &A->aij));
  PetscCall(BCRMatGetBlocks(A->aij, &near, &far, &columns));
  PetscCall(BCRBlockOpen(near, &A->near));
  A->ai = A->near.i;
  A->aj = A->near.j;
  A->full = full;
  PetscCall(BCRRowsDevice(near, &A->grid, fitted, &A->device, &only));
  if (only && !full) { /* where values are here as well, kernels leave empty rows to the host */
    A->full = BCRRowsFull(A);
    A->device = only = A->full;
  }
  if (!only) PetscCall(BCRBlockFetch(&A->near));
  A->aa = A->near.a;
  if (A->grid.size > 1) {
    PetscCall(BCRBlockOpen(far, &A->far));
    PetscCall(BCRBlockFetch(&A->far));
    PetscCall(MatGetSize(far, NULL, &n));
    PetscCall(PetscMalloc1(n, &A->ghost));
    for (k = 0; k < n; k++) {
      PetscInt node[3];

      BCRGridNode(&A->grid, columns[k] / A->dof, node);
      A->ghost[k] = columns[k] % A->dof + A->dof * BCRGridNatural(&A->grid, node);
    }
  }
  PetscCall(PetscObjectQuery((PetscObject)P, BCR_ROW_NUMBERS, (PetscObject *)&A->numbers));
  if (only) PetscCall(BCRSampleTake(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRowsClose(BCRRows *A)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < A->sample.nmemory; k++) PetscCall(PetscFree(A->sample.memory[k]));
  PetscCall(BCRShellClose(A));
  PetscCall(BCRBlockClose(&A->near));
  PetscCall(BCRBlockClose(&A->far));
  PetscCall(PetscFree(A->ghost));
  PetscCall(MatDestroy(&A->aij));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The entries of a row in one block, and how to tell what a column is */
typedef struct {
  const BCRBlock *block;
  PetscInt row;
  enum {
    BCR_NEAR,
    BCR_FAR,
    BCR_SHELL
  } kind;
} BCRRowPart;

/* The blocks that hold the row of component c at node ix, which is in the box or in the shell */
static int BCRRowParts(const BCRRows *A, PetscInt c, const PetscInt ix[3], BCRRowPart part[2])
{
  /* a node may be in the shell twice, seen from both ends of a periodic axis: ix is where the box
     has it */
  if (A->shellmat) {
    PetscInt d, o[3];

    for (d = 0; d < 3; d++) o[d] = ix[d] - A->shelllo[d];
    for (d = 0; d < 3 && o[d] >= 0 && o[d] < A->shelln[d]; d++) {}
    if (d == 3 && A->shellrow[o[0] + A->shelln[0] * (o[1] + A->shelln[1] * o[2])] >= 0) {
      part[0].block = &A->shell;
      part[0].row = c + A->shellrow[o[0] + A->shelln[0] * (o[1] + A->shelln[1] * o[2])];
      part[0].kind = BCR_SHELL;
      return 1;
    }
  }
  part[0].block = &A->near;
  part[1].block = &A->far;
  part[0].row = part[1].row = c + A->dof * BCRNode(A, ix);
  part[0].kind = BCR_NEAR;
  part[1].kind = BCR_FAR;
  return A->far.mat ? 2 : 1;
}

/* The values of a row of a block, which are on the host (BCRRowsFetch()), or have been brought there */
static const PetscScalar *BCRRowValues(const BCRRows *A, const BCRRowPart *part)
{
  return part->block->a ? part->block->a + part->block->i[part->row] : BCRSampleRow(A, part->row);
}

/* Component and node (in natural order) of column j of a block */
static PetscInt BCRColumn(const BCRRows *A, const BCRRowPart *part, PetscInt j)
{
  PetscInt node[3], n = j / A->dof;

  if (part->kind == BCR_FAR) return A->ghost[j];
  if (part->kind == BCR_SHELL) BCRGridNode(&A->grid, n, node);
  else {
    if (A->grid.size == 1) return j;
    node[0] = A->lo[0] + n % A->n[0];
    node[1] = A->lo[1] + n / A->n[0] % A->n[1];
    node[2] = A->lo[2] + n / A->n[0] / A->n[1];
  }
  return j % A->dof + A->dof * BCRGridNatural(&A->grid, node);
}

/* The star of a row of one component with real entries in the box alone, at its node and beside it: what most rows
   are. PETSC_FALSE: it is none of these, and st is of no use */
static PetscBool BCRRowPlain(const BCRRows *A, const PetscInt ix[3], PetscInt node, double st[7])
{
  const BCRBlock *B = &A->near;
  PetscInt delta[6] = {0, 0, 0, 0, 0, 0}; /* to the neighbour in each slot; 0: there is none in the box */

  if (!B->a || A->dof > 1) return PETSC_FALSE;
  for (PetscInt d = 0; d < A->dim; d++) {
    const PetscInt o = ix[d] - A->lo[d];

    if (o < 0 || o >= A->n[d]) return PETSC_FALSE;
    if (o > 0) delta[2 * d] = -A->stride[d];
    if (o < A->n[d] - 1) delta[2 * d + 1] = A->stride[d];
  }
  if (A->far.mat && A->far.i[node + 1] > A->far.i[node]) return PETSC_FALSE;
  for (PetscInt p = B->i[node]; p < B->i[node + 1]; p++) {
    const PetscInt to = B->j[p] - node;
    const double v = (double)PetscRealPart(B->a[p]);
    int slot = BCR_CENTRE;

    if (to != 0)
      for (slot = 0; slot < BCR_CENTRE && delta[slot] != to;) slot++;
    if ((to != 0 && slot == BCR_CENTRE) || !(PetscAbs(v) <= DBL_MAX) || PetscImaginaryPart(B->a[p]) != 0)
      return PETSC_FALSE;
    st[slot] += v;
  }
  return (PetscBool)(st[BCR_CENTRE] != 0);
}

/* The row of component c at node ix, by value: st[] its star, *rest the largest of what the model
   has no place for (within tolerance when the row is good), *col the column at fault or of *rest, c
   + dof (node in natural order) */
BCRRowState BCRRowGet(const BCRRows *A, PetscInt c, const PetscInt at[3], double st[7], double *rest, PetscInt *col)
{
  PetscInt ix[3], d, p, k, node, row, colimag, colout, colcouple;
  double imag = 0, out = 0, couple = 0, size = 0;
  BCRRowPart part[2];
  int parts = BCRRowParts(A, c, at, part), b;

  /* the shell goes around */
  for (d = 0; d < 3; d++) ix[d] = at[d] < 0 ? at[d] + A->N[d] : (at[d] >= A->N[d] ? at[d] - A->N[d] : at[d]);
  node = BCRGridNatural(&A->grid, ix);
  row = colimag = colout = colcouple = c + A->dof * node;
  for (k = 0; k < 7; k++) st[k] = 0;
  *rest = 0;
  *col = row;
  if (part[0].kind == BCR_NEAR && BCRRowPlain(A, at, part[0].row, st)) return BCR_ROW_GOOD;
  for (k = 0; k < 7; k++) st[k] = 0;
  for (b = 0; b < parts; b++) {
    const BCRBlock *B = part[b].block;
    const PetscInt here = part[b].kind == BCR_NEAR ? part[b].row / A->dof : 0, first = B->i[part[b].row],
                   n = B->i[part[b].row + 1] - first;
    const PetscScalar *values = BCRRowValues(A, &part[b]);

    for (p = 0; (p = BCRSkipZeros(values, p, n)) < n; p++) {
      const PetscInt j = B->j[first + p];
      const double v = (double)PetscRealPart(values[p]), m = PetscAbs(v);
      PetscInt to;
      int slot;

      if (!(m <= DBL_MAX)) {
        *col = BCRColumn(A, &part[b], j);
        return BCR_ROW_NAN;
      }
#if defined(PETSC_USE_COMPLEX)
      {
        const double w = PetscAbs((double)PetscImaginaryPart(values[p]));

        if (!(w <= DBL_MAX)) {
          *col = BCRColumn(A, &part[b], j);
          return BCR_ROW_NAN;
        }
        if (w > imag) {
          imag = w;
          colimag = BCRColumn(A, &part[b], j);
        }
      }
#endif
      to = part[b].kind == BCR_NEAR ? j : BCRColumn(A, &part[b], j);
      if (A->dof > 1 && to % A->dof != c) {
        if (m > couple) {
          couple = m;
          colcouple = BCRColumn(A, &part[b], j);
        }
        continue;
      }
      to = A->dof > 1 ? to / A->dof : to;
      slot = part[b].kind == BCR_NEAR ? BCRSlot(A, ix, to - here) : BCRSlotFar(A, ix, to);
      if (slot >= 0) st[slot] += v;
      else if (m > out) {
        out = m;
        colout = BCRColumn(A, &part[b], j);
      }
    }
  }
  for (k = 0; k < 7; k++) size = PetscMax(size, PetscAbs(st[k]));
  if (out > 0 || couple > 0 || imag > 0) {
    *rest = PetscMax(out, PetscMax(couple, imag));
    *col = *rest == out ? colout : (*rest == couple ? colcouple : colimag);
    if (imag > BCR_SAME_TOL * size) {
      *col = colimag;
      return BCR_ROW_IMAGINARY;
    }
    if (out > BCR_SAME_TOL * size) {
      *col = colout;
      return BCR_ROW_STENCIL;
    }
    if (couple > BCR_SAME_TOL * size) {
      *col = colcouple;
      return BCR_ROW_COUPLED;
    }
  }
  if (st[BCR_CENTRE] == 0) {
    *col = row;
    return size > 0 || *rest > 0 ? BCR_ROW_ZERO : BCR_ROW_EMPTY;
  }
  return BCR_ROW_GOOD;
}

/* The number of a row or column in the matrix */
static PetscInt BCRMatrixNumber(const BCRRows *A, PetscInt natural)
{
  PetscInt node[3];

  BCRGridNaturalNode(&A->grid, natural / A->dof, node);
  return natural % A->dof + A->dof * BCRGridNumber(&A->grid, node);
}

/* Several ranks: the numbers in the rows of this rank make stars in natural order over the whole
   grid, in which the DMDA does not number its nodes */
static PetscBool BCRRowsNatural(const BCRRows *A)
{
  PetscInt ix[3], at[3];

  if (A->grid.parts[0] * (A->dim > 2 ? A->grid.parts[1] : 1) == 1) return PETSC_FALSE; /* both orders are the same */
  for (ix[2] = A->lo[2]; ix[2] < A->lo[2] + A->n[2]; ix[2]++) {
    for (ix[1] = A->lo[1]; ix[1] < A->lo[1] + A->n[1]; ix[1]++) {
      for (ix[0] = A->lo[0]; ix[0] < A->lo[0] + A->n[0]; ix[0]++) {
        BCRGridNaturalNode(&A->grid, BCRGridNumber(&A->grid, ix), at);
        for (PetscInt c = 0; c < A->dof; c++) {
          BCRRowPart part[2];
          const int parts = BCRRowParts(A, c, ix, part);

          for (int b = 0; b < parts; b++) {
            const BCRBlock *B = part[b].block;
            const PetscScalar *values = BCRRowValues(A, &part[b]);

            for (PetscInt p = B->i[part[b].row]; p < B->i[part[b].row + 1]; p++, values++) {
              const PetscInt number = BCRMatrixNumber(A, BCRColumn(A, &part[b], B->j[p]));

              if (*values != 0 && (number % A->dof != c || BCRSlotFar(A, at, number / A->dof) < 0)) return PETSC_FALSE;
            }
          }
        }
      }
    }
  }
  return PETSC_TRUE;
}

/* "column 12", in the numbers of the user's matrix; "the column of grid point 0,1,2" where another rank knows the number */
static PetscErrorCode BCRNumberText(const BCRRows *A, const char what[], PetscInt natural, size_t size, char text[])
{
  const PetscInt *numbers;
  PetscInt number = BCRMatrixNumber(A, natural), first, last, node[3];

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A->P, &first, &last));
  if (A->numbers && (number < first || number >= last)) {
    BCRGridNaturalNode(&A->grid, natural / A->dof, node);
    PetscCall(PetscSNPrintf(text, size, "the %s of grid point %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT, what,
                            node[0], node[1], node[2]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (A->numbers) {
    PetscCall(ISGetIndices(A->numbers, &numbers));
    number = numbers[number - first];
    PetscCall(ISRestoreIndices(A->numbers, &numbers));
  }
  PetscCall(PetscSNPrintf(text, size, "%s %" PetscInt_FMT, what, number));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a box stencil would have to be, and where it is not */
static PetscErrorCode BCRBoxText(const BCRRows *A, size_t size, char text[])
{
  char row[96], column[96];

  PetscFunctionBegin;
  text[0] = 0;
  if (!A->box.tried) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRNumberText(A, "row", A->box.row, sizeof(row), row));
  PetscCall(BCRNumberText(A, "column", A->box.col, sizeof(column), column));
  PetscCall(PetscSNPrintf(text, size,
                          " unless it is constant, the same when an axis is reflected, and has the ends of elements or "
                          "cells, as that of bilinear elements: %s, %s holds %.16g where such a stencil has %.16g",
                          row, column, A->box.have, A->box.want));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRowFault(const BCRRows *A, BCRRowState state, PetscInt c, const PetscInt ix[3], PetscInt col,
                           BCRFault *fault)
{
  PetscInt p;
  PetscScalar v = 0;
  BCRRowPart part[2];
  const int parts = BCRRowParts(A, c, ix, part);
  int b;
  char row[96], column[96], where[320], box[512];

  PetscFunctionBegin;
  for (b = 0; b < parts; b++) {
    const BCRBlock *B = part[b].block;
    const PetscScalar *values = BCRRowValues(A, &part[b]);

    for (p = B->i[part[b].row]; p < B->i[part[b].row + 1]; p++, values++)
      if (BCRColumn(A, &part[b], B->j[p]) == col) v = *values;
  }
  PetscCall(BCRNumberText(A, "row", c + A->dof * BCRGridNatural(&A->grid, ix), sizeof(row), row));
  PetscCall(BCRNumberText(A, "column", col, sizeof(column), column));
  PetscCall(PetscSNPrintf(where, sizeof(where),
                          "%s (grid point %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT "%s), %s", row, ix[0],
                          ix[1], ix[2], A->dof > 1 ? " of a component" : "", column));
  switch (state) {
  case BCR_ROW_GOOD:
    break;
  case BCR_ROW_NAN:
    PetscCall(BCRFaultSet(
      fault, PETSC_ERR_FP,
      "The preconditioning matrix holds NaN or Inf in %s: check the coefficients it is assembled from", where));
    break;
  case BCR_ROW_IMAGINARY:
    PetscCall(BCRFaultSet(fault, PETSC_ERR_SUP,
                          "The preconditioning matrix is complex: its %g + %g i in %s (the phase of other couplings "
                          "taken out) is not real. "
                          "This solver needs couplings of one phase and a constant shift. Give such a preconditioning "
                          "matrix (second matrix "
                          "of KSPSetOperators()), for example one with mean coefficients",
                          (double)PetscRealPart(v), (double)PetscImaginaryPart(v), where));
    break;
  case BCR_ROW_STENCIL:
    if (BCRRowsNatural(A)) {
      PetscCall(BCRFaultSet(
        fault, PETSC_ERR_ARG_INCOMP,
        "The preconditioning matrix holds %g in %s, which is no neighbour there, but its rows make sense in natural "
        "order over the whole grid: the DMDA numbers its nodes box after box. Create the matrix with DMCreateMatrix() "
        "and set it with MatSetValuesStencil() or local numbers, or bring natural numbers to the DMDA's with "
        "DMDAGetAO() and AOApplicationToPetsc(), or let the DMDA cut only its last axis",
        (double)PetscRealPart(v), where));
      break;
    }
    PetscCall(BCRBoxText(A, sizeof(box), box));
    PetscCall(BCRFaultSet(fault, PETSC_ERR_SUP,
                          "The preconditioning matrix holds %g in %s, which is outside the %s-point star of the grid "
                          "point: a box or wide stencil does not fit this solver%s. Give a preconditioning matrix "
                          "(second matrix of KSPSetOperators()) with the %s-point stencil",
                          (double)PetscRealPart(v), where, A->dim == 3 ? "7" : (A->dim == 2 ? "5" : "3"), box,
                          A->dim == 3 ? "7" : (A->dim == 2 ? "5" : "3")));
    break;
  case BCR_ROW_COUPLED:
    PetscCall(BCRFaultSet(fault, PETSC_ERR_SUP,
                          "The preconditioning matrix couples component %" PetscInt_FMT " to component %" PetscInt_FMT
                          ": %g in %s. This solver takes components one by one: give a preconditioning matrix without "
                          "that coupling, or use PCFIELDSPLIT with this solver for the blocks",
                          c, col % A->dof, (double)PetscRealPart(v), where));
    break;
  case BCR_ROW_ZERO:
  case BCR_ROW_EMPTY:
    PetscCall(
      BCRFaultSet(fault, PETSC_ERR_ARG_WRONG,
                  "The diagonal of the preconditioning matrix is zero or missing in %s: no unknown is determined by "
                  "that row. Assemble every row, or put 1 on the diagonal of rows that are not in use",
                  where));
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRowCheck(const BCRRows *A, PetscInt c, const PetscInt ix[3], PetscBool empty, double st[7],
                           BCRFault *fault)
{
  double rest;
  PetscInt col;
  BCRRowState state;

  PetscFunctionBegin;
  if (!A->aa && !BCRSampleRow(A, c + A->dof * BCRNode(A, ix))) PetscCall(BCRRowsFetch(A));
  state = BCRRowGet(A, c, ix, st, &rest, &col);
  if (state != BCR_ROW_GOOD && !(empty && state == BCR_ROW_EMPTY)) PetscCall(BCRRowFault(A, state, c, ix, col, fault));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRowAsk(const BCRRows *A, PetscInt c, const PetscInt ix[3], PetscBool empty, double st[7])
{
  struct {
    double st[7];
    BCRFault fault;
  } told;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&told, sizeof(told)));
  if (BCRGridHas(&A->grid, ix)) PetscCall(BCRRowCheck(A, c, ix, empty, told.st, &told.fault));
  if (A->grid.size > 1) PetscCallMPI(MPI_Bcast(told.st, 7, MPI_DOUBLE, BCRGridRank(&A->grid, ix), A->comm));
  PetscCall(BCRFaultAgree(A->comm, &told.fault));
  PetscCall(PetscArraycpy(st, told.st, 7));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRowsNull(const BCRRows *A, PetscInt c, const BCROperator *op, PetscBool ends, PetscBool *null)
{
  PetscInt ix[3], d, b[3], e[3];
  int zero = 1;

  PetscFunctionBegin;
  PetscCall(BCRRowsFetch(A));
  for (d = 0; d < 3; d++) { /* the box: rows b .. e - 1 of each axis */
    b[d] = op->axis[d].plane[0].present ? 1 : 0;
    e[d] = A->N[d] - (op->axis[d].plane[1].present ? 1 : 0);
  }
  for (ix[2] = PetscMax(A->lo[2], b[2]); ix[2] < PetscMin(A->lo[2] + A->n[2], e[2]) && zero; ix[2]++) {
    for (ix[1] = PetscMax(A->lo[1], b[1]); ix[1] < PetscMin(A->lo[1] + A->n[1], e[1]) && zero; ix[1]++) {
      for (ix[0] = PetscMax(A->lo[0], b[0]); ix[0] < PetscMin(A->lo[0] + A->n[0], e[0]) && zero; ix[0]++) {
        double st[7], rest, sum;
        PetscInt col;
        PetscBool inside = PETSC_TRUE;

        for (d = 0; d < A->dim; d++)
          inside = (PetscBool)(inside && (e[d] - b[d] <= 2 || (ix[d] > b[d] && ix[d] < e[d] - 1)));
        if (ends && inside) {
          ix[0] = PetscMax(ix[0], PetscMin(A->lo[0] + A->n[0], e[0] - 1) - 1); /* to the last row of the line */
          continue;
        }
        if (BCRRowGet(A, c, ix, st, &rest, &col) != BCR_ROW_GOOD) zero = 0;
        sum = st[BCR_CENTRE];
        for (d = 0; d < 3; d++) {
          sum += st[2 * d] * (ix[d] == b[d] && b[d] ? (double)op->axis[d].plane[0].slope : 1);
          sum += st[2 * d + 1] * (ix[d] == e[d] - 1 && e[d] < A->N[d] ? (double)op->axis[d].plane[1].slope : 1);
        }
        if (!(PetscMax(PetscAbs(sum), rest) <= BCR_NULL_TOL * PetscAbs(st[BCR_CENTRE]))) zero = 0;
      }
    }
  }
  if (A->grid.size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &zero, 1, MPI_INT, MPI_MIN, A->comm));
  *null = (PetscBool)zero;
  PetscFunctionReturn(PETSC_SUCCESS);
}
