/*
  Reads the separable operator out of a matrix: planes to drop are guessed from a few rows, the
  coefficients of each axis from the rows of one grid line along it, and then every row of the
  matrix is compared with what was read, at the speed of memory. Only when that fails are planes
  searched row by row; then A = S B with B such an operator and S any positive diagonal is tried,
  each row's s being that of its diagonal; and what is still not separable goes to fit.c.
*/
#include "readimpl.h"
#include "readdevice.h"
#include "run.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "threads.h"
#endif

/* ---- the matrix ---- */

/* values: they come to the host, too */
static PetscErrorCode BCRBlockOpen(Mat mat, PetscBool values, BCRBlock *B)
{
  PetscBool flg;
  MatType type;

  PetscFunctionBegin;
  PetscCall(MatGetRowIJ(mat, 0, PETSC_FALSE, PETSC_FALSE, &B->rows, &B->i, &B->j, &flg));
  PetscCall(MatGetType(mat, &type));
  PetscCheck(flg, PETSC_COMM_SELF, PETSC_ERR_SUP, "A matrix of type %s gives no access to its rows", type);
  if (values) PetscCall(MatSeqAIJGetArrayRead(mat, &B->a));
  B->mat = mat;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRBlockClose(BCRBlock *B)
{
  PetscBool flg;

  PetscFunctionBegin;
  if (!B->mat) PetscFunctionReturn(PETSC_SUCCESS);
  if (B->a) PetscCall(MatSeqAIJRestoreArrayRead(B->mat, &B->a));
  PetscCall(MatRestoreRowIJ(B->mat, 0, PETSC_FALSE, PETSC_FALSE, &B->rows, &B->i, &B->j, &flg));
  B->mat = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRowsFetch(const BCRRows *rows)
{
  BCRRows *A = (BCRRows *)rows; /* what it says stays what it is */

  PetscFunctionBegin;
  if (A->aa || !A->device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatSeqAIJGetArrayRead(A->near.mat, &A->near.a));
  A->aa = A->near.a;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* again: this matrix has been read before, and has no empty rows; fitted: it was no operator then.
   Products with it, for which it goes to its device, are needed then, and it is read there */
static PetscErrorCode BCRRowsOpen(DM da, Mat P, PetscBool again, PetscBool fitted, BCRRows *A)
{
  PetscBool isda, flg, only = PETSC_FALSE;
  PetscInt d, k, n;
  const PetscInt *columns = NULL;
  Mat near, far = NULL;
  MatType type;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(A, sizeof(*A)));
  A->comm = PetscObjectComm((PetscObject)P);
  PetscCall(PetscObjectTypeCompare((PetscObject)da, DMDA, &isda));
  PetscCheck(isda, A->comm, PETSC_ERR_ARG_WRONG, "The DM is not a DMDA: this solver works on structured grids only");
  PetscCall(BCRGridCreate(da, A->comm, &A->grid));
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
  PetscCall(MatAssembled(P, &flg));
  PetscCheck(flg, A->comm, PETSC_ERR_ARG_WRONGSTATE,
             "The preconditioning matrix is not assembled: call MatAssemblyBegin() and MatAssemblyEnd()");
  PetscCall(MatGetType(P, &type));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)P, &flg, MATSEQAIJ, MATMPIAIJ, ""));
  if (flg) {
    PetscCall(PetscObjectReference((PetscObject)P));
    A->aij = P;
  } else {
    PetscBool sbaij, bare;

    PetscCall(PetscObjectTypeCompareAny((PetscObject)P, &bare, MATSHELL, MATMFFD, MATSCATTER, MATPYTHON, ""));
    PetscCall(PetscObjectTypeCompareAny((PetscObject)P, &sbaij, MATSEQSBAIJ, MATMPISBAIJ, MATIS, MATNEST, ""));
    PetscCall(MatHasOperation(P, MATOP_GET_ROW, &flg));
    PetscCheck(!bare && (flg || sbaij), A->comm, PETSC_ERR_SUP,
               "A matrix of type %s has no rows to read the operator from: describe it with PCBCRPoissonSetOperator() "
               "or -pc_bcrpoisson_operator user, or give an assembled preconditioning matrix",
               type);
    PetscCall(PetscObjectTypeCompareAny((PetscObject)P, &flg, MATMPIBAIJ, MATMPISBAIJ, ""));
    PetscCall(MatConvert(P, flg || A->grid.size > 1 ? MATMPIAIJ : MATSEQAIJ, MAT_INITIAL_MATRIX, &A->aij));
  }
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A->aij, MATMPIAIJ, &flg));
  if (flg) PetscCall(MatMPIAIJGetSeqAIJ(A->aij, &near, &far, &columns));
  else near = A->aij;
#if defined(PETSCBCR_HAVE_CUDA)
  if (again) PetscCall(BCRRowsDevice(near, &A->grid, fitted, &A->device, &only));
#else
  (void)again;
  (void)fitted;
#endif
  PetscCall(BCRBlockOpen(near, (PetscBool)!only, &A->near));
  A->ai = A->near.i;
  A->aj = A->near.j;
  A->aa = A->near.a;
  if (A->grid.size > 1) {
    PetscCall(BCRBlockOpen(far, PETSC_TRUE, &A->far));
    PetscCall(MatGetSize(far, NULL, &n));
    PetscCall(PetscMalloc1(n, &A->ghost));
    for (k = 0; k < n; k++) {
      PetscInt node[3];

      BCRGridNode(&A->grid, columns[k] / A->dof, node);
      A->ghost[k] = columns[k] % A->dof + A->dof * BCRGridNatural(&A->grid, node);
    }
  }
#if defined(PETSCBCR_HAVE_CUDA)
  if (only) PetscCall(BCRSampleTake(A));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRRowsClose(BCRRows *A)
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(PetscFree(A->sample.memory[k]));
  PetscCall(BCRShellClose(A));
  PetscCall(BCRBlockClose(&A->near));
  PetscCall(BCRBlockClose(&A->far));
  PetscCall(PetscFree(A->ghost));
  PetscCall(MatDestroy(&A->aij));
  PetscCall(BCRGridDestroy(&A->grid));
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

/* The values of a row of a block */
static const PetscScalar *BCRRowValues(const BCRRows *A, const BCRRowPart *part)
{
  const PetscScalar *v = part->block->a || part->kind != BCR_NEAR ? NULL : BCRSampleRow(A, part->row);

  if (v) return v;
  if (!part->block->a) PetscCallAbort(PETSC_COMM_SELF, BCRRowsFetch(A));
  return part->block->a + part->block->i[part->row];
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
  for (b = 0; b < parts; b++) {
    const BCRBlock *B = part[b].block;
    const PetscInt here = part[b].kind == BCR_NEAR ? part[b].row / A->dof : 0;
    const PetscScalar *values = BCRRowValues(A, &part[b]);

    for (p = B->i[part[b].row]; p < B->i[part[b].row + 1]; p++, values++) {
      const PetscInt j = B->j[p];
      const double v = (double)PetscRealPart(*values), m = PetscAbs(v);
      PetscInt to;
      int slot;

      if (!(m <= DBL_MAX)) {
        *col = BCRColumn(A, &part[b], j);
        return BCR_ROW_NAN;
      }
#if defined(PETSC_USE_COMPLEX)
      {
        const double w = PetscAbs((double)PetscImaginaryPart(*values));

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
    return BCR_ROW_ZERO;
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

PetscErrorCode BCRRowFault(const BCRRows *A, BCRRowState state, PetscInt c, const PetscInt ix[3], PetscInt col,
                           BCRFault *fault)
{
  PetscInt p;
  PetscScalar v = 0;
  BCRRowPart part[2];
  const int parts = BCRRowParts(A, c, ix, part);
  int b;
  char where[160];

  PetscFunctionBegin;
  for (b = 0; b < parts; b++) {
    const BCRBlock *B = part[b].block;
    const PetscScalar *values = BCRRowValues(A, &part[b]);

    for (p = B->i[part[b].row]; p < B->i[part[b].row + 1]; p++, values++)
      if (BCRColumn(A, &part[b], B->j[p]) == col) v = *values;
  }
  PetscCall(PetscSNPrintf(where, sizeof(where),
                          "row %" PetscInt_FMT " (grid point %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT
                          "%s), column %" PetscInt_FMT,
                          BCRMatrixNumber(A, c + A->dof * BCRGridNatural(&A->grid, ix)), ix[0], ix[1], ix[2],
                          A->dof > 1 ? " of a component" : "", BCRMatrixNumber(A, col)));
  switch (state) {
  case BCR_ROW_GOOD:
    break;
  case BCR_ROW_NAN:
    PetscCall(BCRFaultSet(
      fault, PETSC_ERR_FP,
      "The preconditioning matrix holds NaN or Inf in %s: check the coefficients it is assembled from", where));
    break;
  case BCR_ROW_IMAGINARY:
    PetscCall(BCRFaultSet(
      fault, PETSC_ERR_SUP,
      "The preconditioning matrix holds %g + %g i in %s: this solver needs real coefficients. Give a real "
      "preconditioning matrix (second matrix of KSPSetOperators()), for example without the imaginary shift",
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
    PetscCall(BCRFaultSet(fault, PETSC_ERR_SUP,
                          "The preconditioning matrix holds %g in %s, which is outside the %s-point star of the grid "
                          "point: a box or wide stencil does not fit this solver. Give a preconditioning matrix "
                          "(second matrix of KSPSetOperators()) with the %s-point stencil",
                          (double)PetscRealPart(v), where, A->dim == 3 ? "7" : (A->dim == 2 ? "5" : "3"),
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
    PetscCall(
      BCRFaultSet(fault, PETSC_ERR_ARG_WRONG,
                  "The diagonal of the preconditioning matrix is zero or missing in %s: no unknown is determined by "
                  "that row. Assemble every row, or put 1 on the diagonal of rows that are not in use",
                  where));
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A row of the box; *fault says what is wrong with it */
static PetscErrorCode BCRRowCheck(const BCRRows *A, PetscInt c, const PetscInt ix[3], double st[7], BCRFault *fault)
{
  double rest;
  PetscInt col;
  BCRRowState state = BCRRowGet(A, c, ix, st, &rest, &col);

  PetscFunctionBegin;
  if (state != BCR_ROW_GOOD) PetscCall(BCRRowFault(A, state, c, ix, col, fault));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Any row of the grid, on all ranks */
static PetscErrorCode BCRRowAsk(const BCRRows *A, PetscInt c, const PetscInt ix[3], double st[7])
{
  struct {
    double st[7];
    BCRFault fault;
  } told;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&told, sizeof(told)));
  if (BCRGridHas(&A->grid, ix)) PetscCall(BCRRowCheck(A, c, ix, told.st, &told.fault));
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

/* ---- planes of identity-like rows ---- */

/* 1: nothing but a diagonal; 2: a diagonal and a coupling inward from end s of axis d; 0: neither */
static int BCRPlaneRow(const double st[7], PetscInt d, PetscInt s, double *slope)
{
  const int inward = (int)(2 * d + 1 - s);
  const double tol = BCR_PLANE_TOL * PetscAbs(st[BCR_CENTRE]);
  int k;

  for (k = 0; k < 6; k++)
    if (k != inward && PetscAbs(st[k]) > tol) return 0;
  *slope = 0;
  if (PetscAbs(st[inward]) <= tol) return 1;
  *slope = -st[inward] / st[BCR_CENTRE];
  return 2;
}

static PetscBool BCRPlaneRowFits(const double st[7], PetscInt d, PetscInt s, const BCRPlane *pl)
{
  double slope;
  const int kind = BCRPlaneRow(st, d, s, &slope);

  if (kind == 0) return PETSC_FALSE;
  if (pl->slope == 0) return (PetscBool)(kind == 1);
  return (PetscBool)(kind == 2 && PetscAbs(slope - (double)pl->slope) <= BCR_SAME_TOL * PetscMax(1.0, PetscAbs(slope)));
}

/* Looks at one row in the middle of the plane. Rows with a coupling inward make a plane only where
   the rows beside them are coupled along the plane; else they are an ordinary end of their lines.
   */
static PetscErrorCode BCRPlaneGuess(const BCRRows *A, PetscInt c, PetscInt d, PetscInt s, BCRPlane *pl)
{
  PetscInt ix[3], t;
  double st[7], slope;
  int kind, k;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(pl, sizeof(*pl)));
  if (A->N[d] < 2) PetscFunctionReturn(PETSC_SUCCESS);
  for (t = 0; t < 3; t++) ix[t] = A->N[t] / 2;
  ix[d] = s ? A->N[d] - 1 : 0;
  PetscCall(BCRRowAsk(A, c, ix, st));
  kind = BCRPlaneRow(st, d, s, &slope);
  if (kind == 0) PetscFunctionReturn(PETSC_SUCCESS);
  pl->inv0 = (PetscReal)(1.0 / st[BCR_CENTRE]);
  pl->slope = (PetscReal)slope;
  if (kind == 1) pl->present = PETSC_TRUE;
  else if (A->N[d] > 2) {
    ix[d] += s ? -1 : 1;
    PetscCall(BCRRowAsk(A, c, ix, st));
    for (k = 0; k < 6; k++)
      if (k / 2 != d && PetscAbs(st[k]) > BCR_PLANE_TOL * PetscAbs(st[BCR_CENTRE])) pl->present = PETSC_TRUE;
    /* the row beside it lies in a plane of another axis */
    if (BCRPlaneRow(st, d, s, &slope) == 1) pl->present = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Drops from the guess every plane with a row that fits neither it nor another plane through the
   same node, and finds out which axis owns such nodes */
static PetscErrorCode BCRPlanesSearch(const BCRRows *A, PetscInt c, BCROperator *op)
{
  static const PetscInt order[6][3] = {
    {0, 1, 2},
    {0, 2, 1},
    {1, 0, 2},
    {1, 2, 0},
    {2, 0, 1},
    {2, 1, 0}
  };
  int seen[8][8], wrongs[6];
  PetscBool again, sloped = PETSC_FALSE, there = PETSC_FALSE;
  PetscInt d, s, t, k, o;
  BCRFault fault = {PETSC_SUCCESS, ""};

  PetscFunctionBegin;
  for (again = PETSC_TRUE; again;) {
    again = PETSC_FALSE;
    PetscCall(PetscMemzero(seen, sizeof(seen)));
    PetscCall(PetscMemzero(wrongs, sizeof(wrongs)));
#if defined(PETSCBCR_HAVE_CUDA)
    PetscCall(BCRFacesSearch(A, c, op, &there, wrongs, seen));
    if (!there) PetscCall(BCRSampleTakeFaces(A, op));
#endif
    for (d = 0; d < A->dim && !again; d++) {
      for (s = 0; s < 2 && !again; s++) {
        BCRPlane *pl = &op->axis[d].plane[s];
        PetscInt ix[3], u = d == 0 ? 1 : 0, v = d == 2 ? 1 : 2;
        PetscBool here;
        int wrong = wrongs[2 * d + s];

        if (!pl->present) continue;
        if (pl->slope != 0) sloped = PETSC_TRUE;
        ix[d] = s ? A->N[d] - 1 : 0;
        here = (PetscBool)(!there && ix[d] >= A->lo[d] && ix[d] < A->lo[d] + A->n[d]);
        for (ix[v] = A->lo[v]; ix[v] < A->lo[v] + A->n[v] && here && !wrong; ix[v]++) {
          for (ix[u] = A->lo[u]; ix[u] < A->lo[u] + A->n[u] && !wrong; ix[u]++) {
            double st[7];
            int in = 0, fits = 0;

            PetscCall(BCRRowCheck(A, c, ix, st, &fault));
            if (fault.code) wrong = 2;
            for (t = 0; t < A->dim; t++) {
              for (k = 0; k < 2; k++) {
                const BCRPlane *other = &op->axis[t].plane[k];

                if (!other->present || ix[t] != (k ? A->N[t] - 1 : 0)) continue;
                in |= 1 << t;
                if (BCRPlaneRowFits(st, t, k, other)) fits |= 1 << t;
              }
            }
            if (!fits) wrong = PetscMax(wrong, 1);
            else seen[in][fits] = 1;
          }
        }
        if (A->grid.size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, A->comm));
        if (wrong == 2) PetscCall(BCRFaultAgree(A->comm, &fault));
        if (wrong) {
          PetscCall(PetscMemzero(pl, sizeof(*pl)));
          again = PETSC_TRUE;
        }
      }
    }
  }
  if (A->grid.size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, seen, 64, MPI_INT, MPI_MAX, A->comm));
  for (o = 0; o < (sloped ? 6 : 1); o++) {
    PetscBool good = PETSC_TRUE;
    PetscInt in, fits;

    for (in = 1; in < 8; in++) {
      for (t = 0; t < 2 && !(in & (1 << order[o][t])); t++) {}
      for (fits = 1; fits < 8; fits++)
        if (seen[in][fits] && !(fits & (1 << order[o][t]))) good = PETSC_FALSE;
    }
    if (good) {
      for (t = 0; t < 3; t++) op->owner[t] = order[o][t];
      break;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the axes ---- */

typedef struct {
  BCREnd end[2];
  double a, first; /* first: diagonal of the first row */
} BCRPair;

/* What the diagonal of an end row may differ by from that of an end type, a: the coupling of the
   axis, noise: what diagonals inside the line differ by, tol: BCR_SAME_TOL of the whole diagonal.
   An axis that is coupled weakly beside another one has its ends told apart as long as the diagonal
   has digits for them. */
static double BCREndTolerance(double a, double tol, double noise)
{
  return PetscMin(0.25 * a,
                  PetscMin(tol, PetscMax(BCR_SAME_TOL * a, PetscMax(4 * noise, 4 * BCR_SUM_TOL / BCR_SAME_TOL * tol))));
}

/* Two unknowns: which pairs of ends give [d -q0; -q1 d+delta] up to a multiple of the identity */
static int BCRPairs(double q0, double q1, double delta, double tol, BCRPair list[16])
{
  static const BCREnd ends[16][2] = {
    {BCR_END_DIRICHLET,      BCR_END_DIRICHLET     },
    {BCR_END_CELL_NEUMANN,   BCR_END_CELL_NEUMANN  },
    {BCR_END_CELL_DIRICHLET, BCR_END_CELL_DIRICHLET},
    {BCR_END_DIRICHLET,      BCR_END_CELL_NEUMANN  },
    {BCR_END_CELL_NEUMANN,   BCR_END_DIRICHLET     },
    {BCR_END_DIRICHLET,      BCR_END_CELL_DIRICHLET},
    {BCR_END_CELL_DIRICHLET, BCR_END_DIRICHLET     },
    {BCR_END_CELL_NEUMANN,   BCR_END_CELL_DIRICHLET},
    {BCR_END_CELL_DIRICHLET, BCR_END_CELL_NEUMANN  },
    {BCR_END_NEUMANN,        BCR_END_DIRICHLET     },
    {BCR_END_DIRICHLET,      BCR_END_NEUMANN       },
    {BCR_END_NEUMANN,        BCR_END_CELL_NEUMANN  },
    {BCR_END_CELL_NEUMANN,   BCR_END_NEUMANN       },
    {BCR_END_NEUMANN,        BCR_END_CELL_DIRICHLET},
    {BCR_END_CELL_DIRICHLET, BCR_END_NEUMANN       },
    {BCR_END_NEUMANN,        BCR_END_NEUMANN       }
  };
  int k, s, n = 0;

  for (k = 0; k < 16; k++) {
    double a[2], t[2];

    for (s = 0; s < 2; s++) {
      const BCREndRule rule = BCREndGetRule(ends[k][s]);

      a[s] = (s ? q1 : q0) / rule.inward;
      t[s] = 2 + rule.diagonal;
    }
    if (k == 15 && n) break; /* two Neumann ends are two cell Neumann ends with twice the coupling */
    if (PetscAbs(a[0] - a[1]) > BCR_SAME_TOL * PetscMax(PetscAbs(a[0]), PetscAbs(a[1]))) continue;
    if (PetscAbs((t[1] - t[0]) * a[0] - delta) > (a[0] > 0 ? BCREndTolerance(a[0], tol, 0) : tol)) continue;
    list[n].end[0] = ends[k][0];
    list[n].end[1] = ends[k][1];
    list[n].a = a[0];
    list[n].first = t[0] * a[0];
    n++;
  }
  return n;
}

/* One axis as its grid line through the base row has it, in units of the matrix, signs turned so
   that couplings are positive */
typedef struct {
  PetscInt n;
  double (*st)[7]; /* rows of the line */
  /* weight; what is left of the row divided by it; dg: diagonal less that of the base row */
  double *w, *lo, *up, *dg;
  double out[2], slope[2]; /* coupling to the dropped plane, and its slope */
  PetscBool wrap, general;
  BCREnd end[2];
  double a, first; /* uniform: coupling, diagonal of the base row that belongs to this axis */
  int npairs;
  BCRPair pairs[16];
} BCRLine;

/* Fills lo, up, dg from st and w; false: a weight is impossible */
static void BCRLineDivide(BCRLine *L, PetscInt d, PetscInt base, double centre)
{
  PetscInt i, s;
  double cor = 0;

  for (i = 0; i < L->n; i++) {
    L->lo[i] = L->st[i][2 * d] / L->w[i];
    L->up[i] = L->st[i][2 * d + 1] / L->w[i];
    L->dg[i] = L->st[i][BCR_CENTRE] / L->w[i] - centre;
  }
  L->wrap = PETSC_FALSE;
  for (s = 0; s < 2; s++) {
    const PetscInt e = s ? L->n - 1 : 0;

    L->out[s] = s ? L->up[e] : L->lo[e];
    if (L->slope[s] != 0) {
      L->dg[e] -= L->out[s] * L->slope[s];
      if (e == base) cor += L->out[s] * L->slope[s];
    }
  }
  for (i = 0; i < L->n; i++) L->dg[i] += cor; /* base row: 0 */
}

/* The least of the row sums of a line, of its inner rows where there are any */
static double BCRLineLeast(const BCRLine *L)
{
  const PetscInt first = L->n > 2 ? 1 : 0;
  double least = PETSC_MAX_REAL;

  for (PetscInt i = first; i < L->n - first; i++)
    least = PetscMin(least, L->dg[i] - (i ? L->lo[i] : 0) - (i < L->n - 1 ? L->up[i] : 0));
  return least;
}

/* The end type with this row: its coupling, and what its diagonal has beside 2 a, to within t; PETSC_FALSE: there is none */
static PetscBool BCRLineEnd(double in, double r, double a, double t, BCREnd *end)
{
  for (int e = 0; e < BCR_ENDS; e++) {
    const BCREndRule rule = BCREndGetRule((BCREnd)e);

    *end = (BCREnd)e;
    if (!BCREndIsPeriodic(*end) && PetscAbs(in - rule.inward * a) <= rule.inward * BCR_SAME_TOL * a &&
        PetscAbs(r - rule.diagonal * a) <= t)
      return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

/* Names the ends of an axis that is uniform, tol for differences of diagonals; PETSC_FALSE: it is not */
static PetscBool BCRLineUniform(BCRLine *L, const PetscBool plane[2], double tol)
{
  const PetscInt n = L->n;
  PetscInt i, s;
  double lo = PETSC_MAX_REAL, hi = -PETSC_MAX_REAL, sum = 0, noise = 0;

  if (n == 2) {
    L->npairs = BCRPairs(L->up[0], L->lo[1], L->dg[1] - L->dg[0], tol, L->pairs);
    return (PetscBool)(L->npairs > 0);
  }
  for (i = 1; i < n - 1; i++) {
    lo = PetscMin(lo, PetscMin(L->lo[i], L->up[i]));
    hi = PetscMax(hi, PetscMax(L->lo[i], L->up[i]));
    /* of differences, or rounding adds up on long lines */
    sum += 0.5 * ((L->lo[i] - L->up[1]) + (L->up[i] - L->up[1]));
    noise = PetscMax(noise, PetscAbs(L->dg[i]));
  }
  if (!(noise <= tol)) return PETSC_FALSE;
  if (hi - lo > BCR_SAME_TOL * hi) return PETSC_FALSE;
  L->a = hi == lo ? hi : L->up[1] + sum / (double)(n - 2);
  L->first = 2 * L->a;
  if (!plane[0] && !plane[1] && (L->out[0] != 0 || L->out[1] != 0)) {
    for (s = 0; s < 2; s++) {
      const PetscInt e = s ? n - 1 : 0;

      if (PetscAbs(L->out[s] - L->a) > BCR_SAME_TOL * L->a ||
          PetscAbs((s ? L->lo[e] : L->up[e]) - L->a) > BCR_SAME_TOL * L->a || PetscAbs(L->dg[e]) > tol)
        return PETSC_FALSE;
      L->end[s] = BCR_END_PERIODIC;
    }
    L->wrap = PETSC_TRUE;
    return PETSC_TRUE;
  }
  for (s = 0; s < 2; s++) {
    const PetscInt e = s ? n - 1 : 0;
    const double in = s ? L->lo[e] : L->up[e], r = L->dg[e], t = L->a > 0 ? BCREndTolerance(L->a, tol, noise) : tol;

    if (!BCRLineEnd(in, r, L->a, t, &L->end[s])) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

static PetscErrorCode BCRLineDestroyAll(BCRLine L[3])
{
  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++) PetscCall(PetscFree5(L[d].st, L[d].w, L[d].lo, L[d].up, L[d].dg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Everything of the operator but the planes, which are given, from one grid line along each axis.
   *good = PETSC_FALSE: these lines are not those of a separable operator of this library */
#define BCR_LINE_ROWS 0x4000000 /* of 7 numbers each, in one message: an MPI count is an int */

static PetscErrorCode BCRLinesRead(const BCRRows *A, PetscInt c, BCROperator *op, PetscBool *good)
{
  static const char xyz[] = "xyz";
  BCRLine L[3];
  PetscInt b[3], base[3], ix[3], d, i, s, t, general = -1;
  int k, pick[3] = {0, 0, 0}, best[3] = {0, 0, 0};
  double centre, sign = 0, bestscore = PETSC_MAX_REAL, tol, unit = 0, shift, rest, size;
  double c0[7];
  PetscBool empty = PETSC_FALSE;
  BCRFault fault = {PETSC_SUCCESS, ""};
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *good = PETSC_FALSE;
  op->dim = A->dim;
  PetscCall(PetscMemzero(L, sizeof(L)));
  for (d = 0; d < 3; d++) {
    BCRAxis *ax = &op->axis[d];

    b[d] = ax->plane[0].present ? 1 : 0;
    L[d].n = A->N[d] - b[d] - (ax->plane[1].present ? 1 : 0);
    ax->n = L[d].n;
    ax->a = 0;
    ax->end[0] = ax->end[1] = BCREndOfOne();
    PetscCall(PetscFree(ax->lower));
    PetscCall(PetscFree(ax->diag));
    PetscCall(PetscFree(ax->upper));
    PetscCall(PetscFree(ax->weight));
    if (L[d].n == 0) {
      PetscCheck(ax->plane[0].slope == 0 && ax->plane[1].slope == 0, A->comm, PETSC_ERR_SUP,
                 "The two grid points along %c hold rows that couple them to each other only: too few points for such "
                 "end rows, use at least three",
                 xyz[d]);
      empty = PETSC_TRUE;
    }
    base[d] = L[d].n > 2 ? L[d].n / 2 : 0;
  }
  op->shift = op->scale = 1;
  op->singular = PETSC_FALSE;
  if (empty) {
    *good = PETSC_TRUE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (d = 0, ierr = PETSC_SUCCESS; d < 3 && !ierr; d++)
    ierr = PetscMalloc5(L[d].n, &L[d].st, L[d].n, &L[d].w, L[d].n, &L[d].lo, L[d].n, &L[d].up, L[d].n, &L[d].dg);
  BCRCallElse(BCRFaultShare(A->comm, ierr, BCR_NO_MEMORY), (void)BCRLineDestroyAll(L));
  for (d = 0; d < 3; d++) {
    for (t = 0; t < 3; t++) ix[t] = b[t] + base[t];
    PetscCall(PetscMemzero(L[d].st, sizeof(*L[d].st) * (size_t)L[d].n));
    for (i = 0; i < L[d].n && !fault.code; i++) {
      ix[d] = b[d] + i;
      if (BCRGridHas(&A->grid, ix)) PetscCall(BCRRowCheck(A, c, ix, L[d].st[i], &fault));
    }
    for (i = 0; A->grid.size > 1 && i < L[d].n; i += BCR_LINE_ROWS) /* one rank has it, the others zero */
      PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, L[d].st[i], (PetscMPIInt)(7 * PetscMin(BCR_LINE_ROWS, L[d].n - i)),
                                 MPI_DOUBLE, MPI_SUM, A->comm));
    L[d].slope[0] = op->axis[d].plane[0].slope;
    L[d].slope[1] = op->axis[d].plane[1].slope;
  }
  BCRCallElse(BCRFaultAgree(A->comm, &fault), (void)BCRLineDestroyAll(L));
  /* the sign: that which makes couplings positive here; without any, the diagonal positive */
  for (k = 0; k < 7; k++) c0[k] = L[0].st[base[0]][k];
  for (k = 0; k < 6; k++) sign -= c0[k];
  if (sign == 0) sign = c0[BCR_CENTRE];
  sign = sign < 0 ? -1 : 1;
  for (d = 0; d < 3; d++) {
    for (i = 0; i < L[d].n; i++) {
      for (k = 0; k < 6; k++) L[d].st[i][k] = L[d].st[i][k] == 0 ? 0 : -sign * L[d].st[i][k];
      L[d].st[i][BCR_CENTRE] *= sign;
    }
  }
  for (k = 0; k < 6; k++) {
    c0[k] = c0[k] == 0 ? 0 : -sign * c0[k];
    if (c0[k] < 0) goto done; /* fit.c says what is wrong with it */
  }
  centre = c0[BCR_CENTRE] * sign;
  tol = BCR_SAME_TOL * PetscAbs(centre);

  for (d = 0; d < 3; d++) {
    BCRLine *l = &L[d];
    const PetscBool plane[2] = {op->axis[d].plane[0].present, op->axis[d].plane[1].present};
    int tangent = -1;

    for (i = 0; i < l->n; i++) l->w[i] = 1;
    l->end[0] = l->end[1] = BCREndOfOne();
    if (l->n > 1) {
      for (k = 0; k < 6; k++)
        if (k / 2 != d && c0[k] > 0 && (tangent < 0 || c0[k] > c0[tangent])) tangent = k;
      for (i = 0; i < l->n && tangent >= 0; i++) {
        l->w[i] = l->st[i][tangent] / c0[tangent];
        if (!(l->w[i] > 0)) goto done;
        if (PetscAbs(l->w[i] - 1) <= BCR_SAME_TOL) l->w[i] = 1;
        if ((i == 0 || i == l->n - 1) && PetscAbs(l->w[i] - 0.5) <= BCR_SAME_TOL) l->w[i] = 0.5;
      }
    }
    BCRLineDivide(l, d, base[d], centre);
    if (l->n == 1) l->first = 0;
    else if (!BCRLineUniform(l, plane, tol)) {
      l->general = PETSC_TRUE;
      /* nothing along the line tells the weights: perhaps half weights at Neumann ends */
      for (k = 1; k < 4 && tangent < 0 && l->general; k++) {
        l->w[0] = k & 1 ? 0.5 : 1;
        l->w[l->n - 1] = k & 2 ? 0.5 : 1;
        BCRLineDivide(l, d, base[d], l->st[base[d]][BCR_CENTRE] / l->w[base[d]]);
        if (BCRLineUniform(l, plane, tol)) l->general = PETSC_FALSE;
        if (l->n == 2 && !l->general) { /* the base row is the first */
          centre *= 1 / l->w[0];
          c0[BCR_CENTRE] *= 1 / l->w[0];
        }
      }
      if (l->general) {
        /* or all diagonals alike, where that makes it uniform or the rows are of very different
           size */
        if (tangent < 0) {
          double lo = PETSC_MAX_REAL, hi = 0;

          for (i = 0; i < l->n; i++) {
            l->w[i] = l->st[i][BCR_CENTRE] / l->st[base[d]][BCR_CENTRE];
            lo = PetscMin(lo, l->w[i]);
            hi = PetscMax(hi, l->w[i]);
            if (PetscAbs(l->w[i] - 1) <= BCR_SAME_TOL) l->w[i] = 1;
          }
          if (lo > 0) {
            BCRLineDivide(l, d, base[d], centre);
            if (BCRLineUniform(l, plane, tol)) l->general = PETSC_FALSE;
          }
          if (l->general && !(lo > 0 && hi > 1000 * lo)) {
            for (i = 0; i < l->n; i++) l->w[i] = 1;
            BCRLineDivide(l, d, base[d], centre);
          }
        }
      }
      if (l->general) {
        if (general >= 0 || ((l->out[0] != 0 && !plane[0]) || (l->out[1] != 0 && !plane[1]))) goto done;
        for (i = 0; i < l->n; i++)
          if (l->lo[i] < 0 || l->up[i] < 0) goto done;
        general = d;
      }
    }
  }

  /* with two unknowns along an axis its ends are known up to what the shift can take: choose so
     that the shift vanishes, or is positive with plain names */
  centre = c0[BCR_CENTRE] * sign;
  for (d = 0, rest = centre; d < 3; d++) {
    for (s = 0; s < 2; s++) {
      const PetscInt e = s ? L[d].n - 1 : 0;

      if (base[d] == e && d != general) rest -= L[d].out[s] * L[d].slope[s];
    }
    if (L[d].n > 2 && !L[d].general) rest -= L[d].first;
    if (L[d].n > 2 || L[d].general || L[d].n == 1) L[d].npairs = 1;
  }
  size = PetscAbs(centre);
  if (general >= 0) { /* what its rows have is not in the base row alone */
    BCRLineDivide(&L[general], general, -1, 0);
    rest += BCRLineLeast(&L[general]) - centre;
    for (i = 0; i < L[general].n; i++) size = PetscMax(size, PetscAbs(L[general].dg[i]));
  }
  for (pick[0] = 0; pick[0] < L[0].npairs; pick[0]++) {
    for (pick[1] = 0; pick[1] < L[1].npairs; pick[1]++) {
      for (pick[2] = 0; pick[2] < L[2].npairs; pick[2]++) {
        double score = 0, left = rest;

        for (d = 0; d < 3; d++) {
          if (L[d].n == 2 && !L[d].general) left -= L[d].pairs[pick[d]].first;
          score += pick[d];
        }
        if (PetscAbs(left) > BCR_SUM_TOL * size) score += left > 0 ? 1000 : 2000;
        if (score < bestscore) {
          bestscore = score;
          for (d = 0; d < 3; d++) best[d] = pick[d];
        }
      }
    }
  }
  shift = rest;
  for (d = 0; d < 3; d++) {
    if (L[d].n == 2 && !L[d].general) {
      const BCRPair *p = &L[d].pairs[best[d]];

      L[d].a = p->a;
      L[d].first = p->first;
      L[d].end[0] = p->end[0];
      L[d].end[1] = p->end[1];
      shift -= p->first;
    }
    if (!L[d].general && L[d].n > 1) unit = PetscMax(unit, L[d].a);
  }
  if (general >= 0) { /* the shift is the smallest row sum of the line, with the couplings to dropped planes */
    BCRLine *l = &L[general];
    double other = 0;

    /* diagonals less what the other axes have, not by differences to the base row: that one may be
       so large that little is left of others */
    for (d = 0; d < 3; d++) {
      for (s = 0; s < 2 && d != general; s++)
        if (base[d] == (s ? L[d].n - 1 : 0)) other += L[d].out[s] * L[d].slope[s];
      if (d != general && L[d].n > 1) other += L[d].first;
    }
    BCRLineDivide(l, general, -1, other); /* no base row */
    shift = BCRLineLeast(l);
    for (s = 0; s < 2; s++) { /* T ends with the box */
      if (s) l->up[l->n - 1] = 0;
      else l->lo[0] = 0;
    }
    if (PetscAbs(shift) <= BCR_SUM_TOL * size) shift = 0;
    for (i = 0; i < l->n; i++) l->dg[i] -= shift;
    if (unit == 0)
      for (i = 0; i < l->n; i++) unit = PetscMax(unit, PetscMax(l->lo[i], l->up[i]));
  } else if (PetscAbs(shift) <= BCR_SUM_TOL * PetscAbs(centre)) shift = 0;
  if (unit == 0) unit = PetscAbs(shift);
  if (unit == 0) unit = PetscAbs(centre);

  op->scale = (PetscReal)(sign * unit);
  op->shift = (PetscReal)(shift / unit);
  for (d = 0; d < 3; d++) {
    BCRAxis *ax = &op->axis[d];
    BCRLine *l = &L[d];
    PetscBool weighted = PETSC_FALSE;

    ax->end[0] = l->end[0];
    ax->end[1] = l->end[1];
    if (l->n > 1) ax->a = (PetscReal)(l->a / unit);
    for (s = 0; s < 2; s++) {
      BCRPlane *pl = &ax->plane[s];

      pl->coupling = 0;
      if (pl->present)
        pl->coupling =
          (PetscReal)(!l->general && l->n > 1 && PetscAbs(l->out[s] - l->a) <= BCR_SAME_TOL * l->a ? l->a / unit
                                                                                                   : l->out[s] / unit);
      pl->couple = (PetscBool)(pl->coupling != 0);
      if (l->n == 1 && pl->couple) ax->a = pl->coupling;
    }
    if (l->general) {
      ax->a = 0;
      ax->end[0] = ax->end[1] = BCR_END_GENERAL;
      BCRCallElse(PetscMalloc1(l->n, &ax->lower), (void)BCRLineDestroyAll(L));
      BCRCallElse(PetscMalloc1(l->n, &ax->diag), (void)BCRLineDestroyAll(L));
      BCRCallElse(PetscMalloc1(l->n, &ax->upper), (void)BCRLineDestroyAll(L));
      for (i = 0; i < l->n; i++) {
        ax->lower[i] = (PetscReal)(l->lo[i] / unit);
        ax->diag[i] = (PetscReal)(l->dg[i] / unit);
        ax->upper[i] = (PetscReal)(l->up[i] / unit);
      }
    }
    for (i = 0; i < l->n; i++) weighted = (PetscBool)(weighted || l->w[i] != 1);
    if (weighted) {
      BCRCallElse(PetscMalloc1(l->n, &ax->weight), (void)BCRLineDestroyAll(L));
      for (i = 0; i < l->n; i++) ax->weight[i] = (PetscReal)l->w[i];
    }
  }
  *good = PETSC_TRUE;

done:
  PetscCall(BCRLineDestroyAll(L));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- comparing every row with the model ---- */

typedef struct {
  double dev; /* largest relative deviation, and where (component, nodes in natural order) */
  PetscInt comp, row, col;
  BCRRowState state; /* of the first bad row, with its component, column, node */
  PetscInt badix[3];
  PetscBool wrongplane; /* a row of a dropped plane is not what its plane says */
} BCRVerdict;

typedef struct {
  const BCRRows *A;
  PetscInt dof;
  BCROperator *ops;
  BCRModelAxis (*m)[3];
  PetscBool *skip; /* components that are not compared */
  BCRVerdict v;
  PetscErrorCode error; /* of this rank alone, until the ranks agree */
  PetscBool regular;    /* all columns that the fast loop relies on are as it expects */
  uint64_t boxes;       /* what rows that loop runs over */
} BCRCheck;

/* What the model has in a row: in[] the star, returns its weight */
static inline void BCRModelRow(const BCROperator *op, const BCRModelAxis m[3], const PetscInt ix[3], double in[7])
{
  const double w = (double)op->scale * m[0].w[ix[0]] * m[1].w[ix[1]] * m[2].w[ix[2]];
  int d;

  in[BCR_CENTRE] = (double)op->shift;
  for (d = 0; d < 3; d++) {
    in[2 * d] = -w * m[d].lo[ix[d]];
    in[2 * d + 1] = -w * m[d].up[ix[d]];
    in[BCR_CENTRE] += m[d].dg[ix[d]];
  }
  in[BCR_CENTRE] *= w;
}

/* The unknowns of axis d that this rank has, planes left out: the first node, and how many */
static inline PetscInt BCRInside(const BCRRows *A, PetscInt d, PetscInt b, PetscInt n, PetscInt *first)
{
  *first = PetscMax(A->lo[d], b);
  return PetscMax(0, PetscMin(A->lo[d] + A->n[d], b + n) - *first);
}

/* Number of a node among this rank's unknowns */
static inline PetscInt BCRBoxNode(const BCRRows *A, const BCRModelAxis m[3], const PetscInt ix[3])
{
  PetscInt first[3];
  const PetscInt n0 = BCRInside(A, 0, m[0].b, m[0].n, &first[0]), n1 = BCRInside(A, 1, m[1].b, m[1].n, &first[1]);

  (void)BCRInside(A, 2, m[2].b, m[2].n, &first[2]);
  return ix[0] - first[0] + n0 * (ix[1] - first[1] + n1 * (ix[2] - first[2]));
}

static PetscErrorCode BCRPlaneSetDiagonal(const BCRRows *A, BCROperator *op, const PetscInt ix[3], double diagonal)
{
  const PetscReal inv = (PetscReal)(1.0 / diagonal);
  PetscInt d, s, i;

  PetscFunctionBegin;
  for (d = 0; d < A->dim; d++) {
    for (s = 0; s < 2; s++) {
      BCRPlane *pl = &op->axis[d].plane[s];

      if (!pl->present || ix[d] != (s ? A->N[d] - 1 : 0)) continue;
      if (!pl->inv && inv != pl->inv0) {
        const PetscInt n = BCRPlaneNodes(A, d, s);

        PetscCall(PetscMalloc1(n, &pl->inv));
        for (i = 0; i < n; i++) pl->inv[i] = pl->inv0;
      }
      if (pl->inv) pl->inv[BCRPlaneNode(A, d, ix)] = inv;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One row, entry by entry. *stop: the comparison need not go on */
static PetscErrorCode BCRCheckRow(BCRCheck *ck, PetscInt c, const PetscInt ix[3], PetscBool *stop)
{
  const BCRRows *A = ck->A;
  BCROperator *op = &ck->ops[c];
  const BCRModelAxis *m = ck->m[c];
  double st[7], in[7], rest, dev;
  PetscInt col, d, t, s;
  int k;
  BCRRowState state = BCRRowGet(A, c, ix, st, &rest, &col);

  PetscFunctionBegin;
  if (state != BCR_ROW_GOOD) {
    ck->v.state = state;
    ck->v.comp = c;
    ck->v.col = col;
    for (d = 0; d < 3; d++) ck->v.badix[d] = ix[d];
    *stop = PETSC_TRUE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (ck->skip[c]) PetscFunctionReturn(PETSC_SUCCESS);
  for (t = 0; t < 3; t++) { /* in a plane that has been dropped? the axis that owns the node decides */
    d = op->owner[t];
    if (ix[d] >= m[d].b && ix[d] < m[d].b + m[d].n) continue;
    s = ix[d] < m[d].b ? 0 : 1;
    if (!BCRPlaneRowFits(st, d, s, &op->axis[d].plane[s])) {
      ck->v.wrongplane = PETSC_TRUE;
      ck->v.comp = c;
      *stop = PETSC_TRUE;
    } else PetscCall(BCRPlaneSetDiagonal(A, op, ix, st[BCR_CENTRE]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  BCRModelRow(op, m, ix, in);
  if (op->left) {
    const PetscReal s = (PetscReal)(st[BCR_CENTRE] / in[BCR_CENTRE]);

    if (!(s > 0)) { /* NaN: the model has no diagonal here */
      ck->v.dev = PETSC_INFINITY;
      ck->v.comp = c;
      *stop = PETSC_TRUE;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    op->rowscale[BCRBoxNode(A, m, ix)] = s;
    for (k = 0; k < 7; k++) in[k] *= (double)s;
  }
  for (k = 0; k < 7; k++) {
    const double scale = in[k] != 0 ? PetscAbs((double)(PetscReal)in[k]) : PetscAbs(in[BCR_CENTRE]);

    dev = PetscAbs(st[k] - (double)(PetscReal)in[k]) / scale;
    if (dev > ck->v.dev) {
      PetscInt jx[3] = {ix[0], ix[1], ix[2]};

      if (k < 6) {
        const PetscInt e = k / 2, N = A->N[e];
        jx[e] += k % 2 ? (ix[e] < N - 1 ? 1 : 1 - N) : (ix[e] > 0 ? -1 : N - 1);
      }
      ck->v.dev = dev;
      ck->v.comp = c;
      ck->v.row = BCRGridNatural(&A->grid, ix);
      ck->v.col = BCRGridNatural(&A->grid, jx);
    }
  }
  dev = rest / PetscAbs(in[BCR_CENTRE]);
  if (dev > ck->v.dev) {
    ck->v.dev = dev;
    ck->v.comp = c;
    ck->v.row = BCRGridNatural(&A->grid, ix);
    ck->v.col = (col - col % A->dof) / A->dof;
  }
  if (ck->v.dev > BCR_SAME_TOL) *stop = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- comparing a run of rows with the same pattern ---- */

#if defined(PETSC_USE_COMPLEX)
  #define BCR_PARTS 2
#else
  #define BCR_PARTS 1
#endif
#define BCR_RUN_NODES 16 /* nodes in a block: every length is a multiple of 16 */
/* entries of a node, all its components together; more than that go row by row */
#define BCR_RUN_MAX 256

/* What the line buffers are good for: nothing in them changes from line to line while this stays as it is */
typedef struct {
  double dev;
  PetscInt entries;
  int8_t slot[BCR_RUN_MAX]; /* -1: the model has nothing there, -2: not compared */
} BCRRunKey;

/* What the entries of a line are compared with */
typedef struct {
  PetscReal *ref, *tol; /* one array of malloc(): several threads may want theirs */
  size_t size, len;     /* len: entries until they repeat */
  BCRRunKey key;
  double *factors; /* of the other axes, 6 for each component */
  PetscBool valid;
} BCRRunLine;

/* kinds of lines that are remembered: those at the sides of a plane and the ones inside are three
   */
#define BCR_RUN_KINDS  4
#define BCR_BLOCK_LINE 1024 /* entries of a line up to which lines are compared together, */
/* and of all those: if they turn out different, they are in a cache when they are compared one by
   one */
#define BCR_BLOCK_ENTRIES 8192
/* in vain, one after the other, until no more are made: end rows that differ in rounding from line
   to line */
#define BCR_BLOCK_TRIES 16

typedef struct {
  PetscInt i0, i1;                       /* nodes of a grid line that every component has in its interior along x */
  PetscBool uniform;                     /* nothing of the model varies there */
  BCRRunLine line[BCR_RUN_KINDS], whole; /* whole: of a line with its end rows */
  int now, next;                         /* of the line before, -1: none; that is replaced */
  double *newfactors;
  int tries;      /* to compare lines together that are left */
  PetscBool kept; /* the line is of the kind of the line before */
  PetscInt like;  /* first node of that line if its end rows, too, have been compared; -1 else */
} BCRRun;

static PetscErrorCode BCRRunCreate(BCRCheck *ck, BCRRun *run)
{
  PetscInt c, i;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(run, sizeof(*run)));
  /* the ends of a periodic line have columns in another order, and other ranks may have their
     neighbours */
  run->i0 = ck->A->lo[0] + 1;
  run->i1 = ck->A->lo[0] + ck->A->n[0] - 2;
  run->uniform = PETSC_TRUE;
  run->like = -1;
  run->now = -1;
  run->tries = BCR_BLOCK_TRIES;
  for (c = 0; c < ck->dof; c++) {
    const BCRModelAxis *m = &ck->m[c][0];

    if (ck->skip[c]) continue;
    run->i0 = PetscMax(run->i0, m->b + 1);
    run->i1 = PetscMin(run->i1, m->b + m->n - 2);
  }
  for (c = 0; c < ck->dof; c++) {
    const BCRModelAxis *m = &ck->m[c][0];

    if (ck->skip[c]) continue;
    for (i = run->i0 + 1; i <= run->i1; i++)
      if (m->lo[i] != m->lo[run->i0] || m->up[i] != m->up[run->i0] || m->dg[i] != m->dg[run->i0] ||
          m->w[i] != m->w[run->i0])
        run->uniform = PETSC_FALSE;
  }
  PetscCall(PetscCalloc1(6 * ck->dof * (BCR_RUN_KINDS + 1), &run->newfactors));
  for (i = 0; i < BCR_RUN_KINDS; i++) run->line[i].factors = run->newfactors + 6 * ck->dof * (i + 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRRunDestroy(BCRRun *run)
{
  PetscFunctionBegin;
  for (int i = 0; i < BCR_RUN_KINDS; i++) free(run->line[i].ref);
  free(run->whole.ref);
  PetscCall(PetscFree(run->newfactors));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of component c there when the operator has row scales: finds them, *same as below. Sides
   of the comparisons are in units of the model, so that a row's scale is one division. */
static void BCRRunLeft(BCRCheck *ck, const BCRRun *run, PetscInt c, const PetscInt line[3], PetscBool *same)
{
  const BCRRows *A = ck->A;
  const BCROperator *op = &ck->ops[c];
  const BCRModelAxis *m = ck->m[c];
  const PetscInt ix[3] = {run->i0, line[1], line[2]}, dof = ck->dof, node = BCRNode(A, ix), row = c + dof * node,
                 count = run->i1 - run->i0 + 1;
  const PetscInt E = A->ai[dof * (node + 1)] - A->ai[dof * node], R = A->ai[row + 1] - A->ai[row];
  const PetscScalar *v = A->aa + A->ai[row];
  const double limit = PetscMax(ck->v.dev, 2 * BCR_EPS) * (1 + 1e-6);
  PetscReal *scale = op->rowscale + BCRBoxNode(A, m, ix);
  PetscInt at[BCR_CENTRE + 1] = {0}, none[BCR_RUN_MAX], nnone = 0, p, i;
  double in[7], rest;
  int slots[6], nslots = 0, k, bad = 0;

  for (p = 0; p < R; p++) {
    const PetscInt j = A->aj[A->ai[row] + p];

    k = dof == 1 ? BCRSlot(A, ix, j - node) : (j % dof == c ? BCRSlot(A, ix, j / dof - node) : -1);
    if (k >= 0) {
      at[k] = p;
      if (k != BCR_CENTRE) slots[nslots++] = k;
    } else none[nnone++] = p;
  }
  BCRModelRow(op, m, ix, in);
  rest = in[BCR_CENTRE] - (double)op->scale * m[0].dg[ix[0]];
  for (i = 0; i < count; i++, v += E) {
    const double centre = (double)PetscRealPart(v[at[BCR_CENTRE]]);
    double s, inv, t;

    if (!run->uniform) {
      in[0] = -(double)op->scale * m[0].lo[ix[0] + i];
      in[1] = -(double)op->scale * m[0].up[ix[0] + i];
      in[BCR_CENTRE] = rest + (double)op->scale * m[0].dg[ix[0] + i];
    }
    s = centre / in[BCR_CENTRE];
    inv = 1 / s;
    scale[i] = (PetscReal)s;
    bad |= !(s > 0);
    for (p = 0; p < nslots; p++) {
      k = slots[p];
      bad |= !(PetscAbs((double)PetscRealPart(v[at[k]]) * inv - in[k]) <=
               limit * PetscAbs(in[k] != 0 ? in[k] : in[BCR_CENTRE]));
    }
    t = limit * PetscAbs(centre);
    for (p = 0; p < nnone; p++) bad |= !(PetscAbs((double)PetscRealPart(v[none[p]])) <= t);
#if defined(PETSC_USE_COMPLEX)
    for (p = 0; p < R; p++) bad |= !(PetscAbs((double)PetscImaginaryPart(v[p])) <= t);
#endif
  }
  if (bad) *same = PETSC_FALSE;
}

/* Room for len entries; PETSC_FALSE: there is none */
static PetscBool BCRRunLineRoom(BCRRunLine *l, size_t len)
{
  l->valid = PETSC_FALSE;
  if (len > l->size || !l->ref) {
    free(l->ref);
    l->size = len + (size_t)(8 * BCR_RUN_NODES * BCR_PARTS);
    l->ref = (PetscReal *)malloc(2 * (l->size + BCR_RUN_PAD) * sizeof(PetscReal));
    if (!l->ref) {
      l->size = 0;
      return PETSC_FALSE;
    }
    l->tol = l->ref + l->size + BCR_RUN_PAD;
  }
  return PETSC_TRUE;
}

static void BCRRunLineRepeat(BCRRunLine *l, size_t len)
{
  for (size_t i = 0; i < BCR_RUN_PAD; i++) {
    l->ref[len + i] = l->ref[i];
    l->tol[len + i] = l->tol[i];
  }
  l->len = len;
  l->valid = PETSC_TRUE;
}

/* The rows of nodes i0..i1 of the line through ix, all components: *same says that they are the
   model's. *fast = PETSC_FALSE: their pattern is not regular, nothing was done. No PETSc function
   is called: threads do it side by side. */
static void BCRRunCompare(BCRCheck *ck, BCRRun *run, const PetscInt line[3], const PetscBool active[],
                          PetscBool checkcolumns, PetscBool *fast, PetscBool *same)
{
  const BCRRows *A = ck->A;
  PetscInt ix[3] = {run->i0, line[1], line[2]}, c, p, i, block;
  const PetscInt dof = ck->dof, node = BCRNode(A, ix), count = run->i1 - run->i0 + 1;
  const PetscInt first = A->ai[dof * node], E = A->ai[dof * (node + 1)] - first;
  size_t len;
  BCRRunKey key;
  PetscBool plain = PETSC_FALSE;
  int kind;

  *fast = PETSC_FALSE;
  *same = PETSC_FALSE;
  run->kept = PETSC_FALSE;
  if (E > BCR_RUN_MAX || E < dof || A->ai[dof * (node + count)] - first != (PetscInt64)E * count) return;
  if (checkcolumns) {
    if (!BCRRunColumns(A->ai + dof * node, (size_t)(dof * count + 1), (size_t)dof, E)) return;
    if (!BCRRunColumns(A->aj + first, (size_t)E * (size_t)count, (size_t)E, dof)) return;
  }
  *fast = PETSC_TRUE;
  key.dev = ck->v.dev;
  key.entries = E;
  for (c = 0; c < dof; c++) {
    const PetscInt row = c + dof * node;
    const BCRModelAxis *m = ck->m[c];
    double *f = run->newfactors + 6 * c;
    const PetscBool off = (PetscBool)(ck->skip[c] || !active[c] || ck->ops[c].left);
    int has = 0;

    for (p = A->ai[row]; p < A->ai[row + 1]; p++) {
      const PetscInt j = A->aj[p];

      const int k = dof == 1 ? BCRSlot(A, ix, j - node) : (j % dof == c ? BCRSlot(A, ix, j / dof - node) : -1);

      key.slot[p - first] = (int8_t)(off ? -2 : k);
      if (k >= 0) has |= 1 << k;
    }
    if (ck->skip[c]) f[0] = f[1] = f[2] = f[3] = f[4] = f[5] = 0;
    else {
      f[0] = (double)ck->ops[c].scale * m[1].w[ix[1]] * m[2].w[ix[2]];
      f[1] = m[1].lo[ix[1]];
      f[2] = m[1].up[ix[1]];
      f[3] = m[2].lo[ix[2]];
      f[4] = m[2].up[ix[2]];
      f[5] = m[1].dg[ix[1]] + m[2].dg[ix[2]] + (double)ck->ops[c].shift;
      if (active[c] && (has & 1 << BCR_CENTRE) == 0) *fast = PETSC_FALSE;
      /* entries that the model has are missing */
      if (active[c] && ((m[0].n > 1 && (has & 3) != 3) || (f[1] != 0 && !(has & 4)) || (f[2] != 0 && !(has & 8)) ||
                        (f[3] != 0 && !(has & 16)) || (f[4] != 0 && !(has & 32))))
        *fast = PETSC_FALSE;
    }
    if (!off) plain = PETSC_TRUE;
  }
  if (!*fast) return;
  *same = PETSC_TRUE;
  for (c = 0; c < dof && *same; c++)
    if (active[c] && ck->ops[c].left) BCRRunLeft(ck, run, c, line, same);
  if (!plain || !*same) return;
  block = run->uniform ? BCR_RUN_NODES : count;
  len = (size_t)block * (size_t)E * BCR_PARTS;
  for (kind = 0; kind < BCR_RUN_KINDS; kind++) {
    const BCRRunLine *l = &run->line[kind];

    if (l->valid && key.dev == l->key.dev && E == l->key.entries && !memcmp(key.slot, l->key.slot, (size_t)E) &&
        !memcmp(l->factors, run->newfactors, sizeof(double) * 6 * (size_t)dof))
      break;
  }
  run->kept = (PetscBool)(kind < BCR_RUN_KINDS && kind == run->now);
  if (kind == BCR_RUN_KINDS) {
    const double limit = PetscMax(ck->v.dev, 2 * BCR_EPS) * (1 + 1e-6);
    BCRRunLine *l = &run->line[kind = run->next];

    run->next = (run->next + 1) % BCR_RUN_KINDS;
    run->now = -1;
    if (!BCRRunLineRoom(l, len)) { /* row by row, then */
      *fast = *same = PETSC_FALSE;
      return;
    }
    for (i = 0; i < block; i++) {
      PetscReal *ref = l->ref + (size_t)i * (size_t)E * BCR_PARTS, *tol = l->tol + (size_t)i * (size_t)E * BCR_PARTS;
      double in[8];

      ix[0] = run->i0 + (run->uniform ? 0 : i);
      for (c = 0; c < dof; c++) {
        const PetscInt row = c + dof * node;
        double diagonal;

        if (!ck->skip[c] && active[c]) {
          BCRModelRow(&ck->ops[c], ck->m[c], ix, in);
          diagonal = PetscAbs(in[BCR_CENTRE]);
        } else diagonal = 0;
        for (p = A->ai[row] - first; p < A->ai[row + 1] - first; p++) {
          const int k = key.slot[p];
          const double r = k >= 0 ? in[k] : 0;

          ref[BCR_PARTS * p] = (PetscReal)r;
          tol[BCR_PARTS * p] = k == -2 ? PETSC_MAX_REAL : (PetscReal)(limit * (r != 0 ? PetscAbs(r) : diagonal));
#if defined(PETSC_USE_COMPLEX)
          ref[2 * p + 1] = 0;
          tol[2 * p + 1] = k == -2 ? PETSC_MAX_REAL : (PetscReal)(limit * diagonal);
#endif
        }
      }
    }
    BCRRunLineRepeat(l, len);
    l->key = key;
    memcpy(l->factors, run->newfactors, sizeof(double) * 6 * (size_t)dof);
  }
  run->now = kind;
  *same = BCRRunSame((const PetscReal *)(A->aa + first), (size_t)count * (size_t)E * BCR_PARTS, run->line[kind].ref,
                     run->line[kind].tol, len);
}

/* Which components have something to compare in the line through ix: *some, *all; *near: no row of
   it has entries in another block */
static void BCRLineActive(const BCRCheck *ck, const BCRRun *run, const PetscInt ix[3], PetscBool active[],
                          PetscBool *some, PetscBool *all, PetscBool *near)
{
  const BCRRows *A = ck->A;

  *some = PETSC_FALSE;
  *all = *near = PETSC_TRUE;
  for (PetscInt c = 0; c < ck->dof; c++) {
    active[c] = (PetscBool)!ck->skip[c];
    for (PetscInt d = 1; d < 3; d++)
      active[c] = (PetscBool)(active[c] && ix[d] >= ck->m[c][d].b && ix[d] < ck->m[c][d].b + ck->m[c][d].n);
    if (active[c]) *some = PETSC_TRUE;
    else *all = PETSC_FALSE;
  }
  if (A->far.mat && run->i1 >= run->i0) {
    const PetscInt at[3] = {run->i0, ix[1], ix[2]}, row = A->dof * BCRNode(A, at);

    *near = (PetscBool)(A->far.i[row] == A->far.i[row + A->dof * (run->i1 - run->i0 + 1)]);
  }
}

#if defined(PETSCBCR_HAVE_CUDA)
/* The lines first .. last - 1 of the rank's box, by one of several threads: which of them are the
   model's, with no deviation but rounding. Ends with the first that is not: the matrix is none that
   gains by threads. */
typedef struct {
  BCRCheck ck;
  BCRRun run;
  PetscBool *active, columns;
  PetscInt first, last;
  char *good; /* of all lines: 1 where it is, 2 where what it was compared with is that of the line before, too */
  int *stop;  /* all threads' */
} BCRLines;

static void BCRLinesCompare(void *ctx)
{
  BCRLines *L = (BCRLines *)ctx;
  const BCRRows *A = L->ck.A;

  for (PetscInt line = L->first; line < L->last && !__atomic_load_n(L->stop, __ATOMIC_RELAXED); line++) {
    const PetscInt ix[3] = {0, A->lo[1] + line % A->n[1], A->lo[2] + line / A->n[1]};
    PetscBool some, all, near, fast, same;

    BCRLineActive(&L->ck, &L->run, ix, L->active, &some, &all, &near);
    if (!some || !near) continue;
    BCRRunCompare(&L->ck, &L->run, ix, L->active, L->columns, &fast, &same);
    L->good[line] = (char)(!fast || !same ? 0 : (L->run.kept ? 2 : 1));
    if (!fast || !same) __atomic_store_n(L->stop, 1, __ATOMIC_RELAXED);
  }
}

/* Looks through the lines by several threads where the process is the host of a device and the
   matrix is large: one core reads at a fraction of the memory's speed. good[]: lines that need not
   be compared again. */
static PetscErrorCode BCRCheckLines(const BCRCheck *ck, PetscBool columns, char good[])
{
  const BCRRows *A = ck->A;
  const PetscInt lines = A->n[1] * A->n[2];
  BCRLines *part;
  void **ctx = NULL;
  PetscBool *active = NULL;
  PetscInt threads;
  PetscErrorCode ierr;
  int stop = 0;

  PetscFunctionBegin;
  PetscCall(BCRThreadsNumber(A->near.mat, (size_t)A->ai[A->dof * A->nodes] * sizeof(PetscScalar), &threads));
  threads = PetscMin(threads, lines);
  if (threads < 2) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCalloc1(threads, &part));
  ierr = PetscMalloc2(threads, &ctx, threads * ck->dof, &active);
  for (PetscInt t = 0; t < threads && !ierr; t++) {
    BCRLines *L = &part[t];

    L->ck = *ck;
    ierr = BCRRunCreate(&L->ck, &L->run);
    L->active = active + t * ck->dof;
    L->columns = columns;
    L->first = (PetscInt)((PetscInt64)lines * t / threads);
    L->last = (PetscInt)((PetscInt64)lines * (t + 1) / threads);
    L->good = good;
    L->stop = &stop;
    ctx[t] = L;
  }
  if (!ierr && part[0].run.i1 - part[0].run.i0 + 1 > BCR_RUN_NODES) BCRThreadsRun(threads, BCRLinesCompare, ctx);
  for (PetscInt t = 0; t < threads; t++) PetscCall(BCRRunDestroy(&part[t].run));
  PetscCall(PetscFree2(ctx, active));
  PetscCall(PetscFree(part));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* Row of node with the entries of the row of node like, a constant further on */
static PetscBool BCRRowsAlike(const BCRRows *A, PetscInt node, PetscInt like)
{
  const PetscInt n = A->ai[node + 1] - A->ai[node], *j = A->aj + A->ai[node], *k = A->aj + A->ai[like];
  const PetscScalar *v = A->aa + A->ai[node], *w = A->aa + A->ai[like];
  PetscInt i, bad = 0;

  if (A->ai[like + 1] - A->ai[like] != n) return PETSC_FALSE;
  for (i = 0; i < n; i++) bad |= (j[i] - k[i] != node - like) | !(v[i] == w[i]);
  return bad ? PETSC_FALSE : PETSC_TRUE;
}

/* A line whose end rows are as good as those of another one if their entries are the same: no
   neighbour of it lies round a corner or on another rank, and nothing is kept for each row */
static PetscBool BCRLineInside(const BCRCheck *ck, const PetscInt ix[3])
{
  const BCRRows *A = ck->A;
  PetscInt d;

  if (ck->dof > 1 || ck->ops[0].left || A->far.mat || ck->m[0][0].b > A->lo[0] ||
      ck->m[0][0].b + ck->m[0][0].n < A->lo[0] + A->n[0])
    return PETSC_FALSE;
  for (d = 1; d < A->dim; d++)
    if (ix[d] <= A->lo[d] || ix[d] >= A->lo[d] + A->n[d] - 1) return PETSC_FALSE;
  return PETSC_TRUE;
}

/* The lines behind the one through ix, all of whose rows are the model's, in its plane, as long as
   the model has there what it has in that line: their columns are those of the line before a
   constant further on, their values the model's, in end rows exactly those of that line. Returns
   how many lines are so; the next one is to be looked at by itself. */
static PetscInt BCRRunBlock(const BCRCheck *ck, BCRRun *run, const PetscInt line[3], PetscBool checkcolumns)
{
  const BCRRows *A = ck->A;
  const BCRModelAxis *m = &ck->m[0][1];
  const BCRRunLine *inner = &run->line[run->now];
  /* the line at the end is none that is inside */
  const PetscInt n0 = A->n[0], here = line[1], last = PetscMin(A->lo[1] + A->n[1] - 1, m->b + m->n);
  const PetscInt ix[3] = {A->lo[0], line[1], line[2]}, node = BCRNode(A, ix), E = A->ai[node + n0] - A->ai[node];
  const PetscReal *v = (const PetscReal *)(A->aa + A->ai[node]);
  const size_t len = (size_t)E * BCR_PARTS, s0 = (size_t)(A->ai[node + run->i0 - A->lo[0]] - A->ai[node]) * BCR_PARTS,
               s1 = (size_t)(A->ai[node + run->i1 + 1 - A->lo[0]] - A->ai[node]) * BCR_PARTS;
  PetscInt done = 0, l;
  size_t i, k;

  if (E > BCR_BLOCK_LINE || here + 1 >= last || run->tries == 0 || !BCRRunLineRoom(&run->whole, len)) return 0;
  for (i = 0; i < len; i++) {
    run->whole.ref[i] = v[i];
    run->whole.tol[i] = 0;
  }
  for (i = s0; i < s1; i += k) {
    k = PetscMin(inner->len, s1 - i);
    memcpy(run->whole.ref + i, inner->ref, k * sizeof(PetscReal));
    memcpy(run->whole.tol + i, inner->tol, k * sizeof(PetscReal));
  }
  BCRRunLineRepeat(&run->whole, len);
  for (;;) {
    const PetscInt first = node + done * n0,
                   most = PetscMin(last - 1 - here - done, PetscMax(BCR_BLOCK_ENTRIES / E, 1));
    const PetscInt *j = A->aj + A->ai[first];
    PetscInt count = 0;

    for (l = here + done + 1; count < most && m->lo[l] == m->lo[here] && m->up[l] == m->up[here] &&
                              m->dg[l] == m->dg[here] && m->w[l] == m->w[here];
         l++)
      count++;
    if (count == 0) break;
    if (checkcolumns) {
      if (!BCRRunColumns(A->ai + first, (size_t)(n0 * (count + 1) + 1), (size_t)n0, E) ||
          !BCRRunColumns(j, (size_t)(E * (count + 1)), (size_t)E, n0))
        break;
    } else { /* known for all but the end rows */
      for (l = 1; l <= count; l++) {
        const PetscInt *ai = A->ai + first + l * n0;
        PetscInt bad = 0, p;

        for (p = 0; p <= n0; p++) {
          if (p == run->i0 - A->lo[0] + 1) p = run->i1 - A->lo[0];
          bad |= ai[p] - ai[p - n0] - E;
        }
        if (bad) break;
        for (p = 0; p < E; p++) {
          if (p == (PetscInt)s0 / BCR_PARTS) p = (PetscInt)s1 / BCR_PARTS;
          bad |= j[l * E + p] - j[(l - 1) * E + p] - n0;
        }
        if (bad) break;
      }
      if (l <= count) break;
    }
    if (!BCRRunSame((const PetscReal *)(A->aa + A->ai[first + n0]), (size_t)count * len, run->whole.ref, run->whole.tol,
                    len))
      break;
    done += count;
  }
  run->tries = done > 0 ? BCR_BLOCK_TRIES : run->tries - 1;
  return done;
}

/* known: boxes that the columns have been checked for, 0: none yet. active: of the components,
   good: of the rank's lines, zero */
static PetscErrorCode BCRCheckRun(BCRCheck *ck, BCRRun *run, uint64_t known, PetscBool active[], char good[])
{
  const BCRRows *A = ck->A;
  PetscInt ix[3], c, d, like;
  PetscBool stop = PETSC_FALSE, columns;

  PetscFunctionBegin;
  ck->boxes = 1469598103934665603u; /* FNV hash */
  for (c = 0; c < ck->dof; c++) {
    for (d = 0; d < 3; d++) {
      const uint64_t b = ck->skip[c] ? 2 : (uint64_t)ck->m[c][d].b, n = ck->skip[c] ? 0 : (uint64_t)ck->m[c][d].n;

      ck->boxes = (ck->boxes ^ b) * 1099511628211u;
      ck->boxes = (ck->boxes ^ n) * 1099511628211u;
    }
  }
  columns = (PetscBool)(ck->boxes != known);
  ck->regular = PETSC_TRUE;
#if defined(PETSCBCR_HAVE_CUDA)
  PetscCall(BCRCheckLines(ck, columns, good));
#endif
  for (ix[2] = A->lo[2]; ix[2] < A->lo[2] + A->n[2] && !stop; ix[2]++) {
    for (ix[1] = A->lo[1]; ix[1] < A->lo[1] + A->n[1] && !stop; ix[1]++) {
      PetscInt i0 = run->i0, i1 = run->i1; /* these go fast */
      const char known = good[ix[1] - A->lo[1] + A->n[1] * (ix[2] - A->lo[2])];
      PetscBool some, all, near, fast = (PetscBool)(known != 0), same = fast, ends;

      BCRLineActive(ck, run, ix, active, &some, &all, &near);
      if (known) { /* its buffers were those of a thread */
        run->now = -1;
        run->kept = (PetscBool)(known == 2);
      } else if (some && near && i1 - i0 + 1 > BCR_RUN_NODES) BCRRunCompare(ck, run, ix, active, columns, &fast, &same);
      if (!fast && some && near && i1 >= i0) ck->regular = PETSC_FALSE;
      ix[0] = A->lo[0];
      ends = (PetscBool)(same && all && BCRLineInside(ck, ix));
      like = ends && run->kept && run->like >= 0 ? BCRNode(A, ix) - run->like : 0;
      for (ix[0] = A->lo[0]; ix[0] < A->lo[0] + A->n[0] && !stop; ix[0]++) {
        if (same && ix[0] == i0 && all) {
          ix[0] = i1;
          continue;
        }
        for (c = 0; c < ck->dof && !stop; c++) {
          if (same && active[c] && ix[0] >= i0 && ix[0] <= i1) continue;
          if (like && BCRRowsAlike(A, BCRNode(A, ix), BCRNode(A, ix) - like)) continue;
          PetscCall(BCRCheckRow(ck, c, ix, &stop));
        }
      }
      ix[0] = A->lo[0];
      if (ends && !stop && run->now >= 0 && ix[1] + 1 < A->lo[1] + A->n[1] &&
          !good[ix[1] + 1 - A->lo[1] + A->n[1] * (ix[2] - A->lo[2])])
        ix[1] += BCRRunBlock(ck, run, ix, columns);
      run->like = ends ? BCRNode(A, ix) : -1;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRCheckAll(BCRCheck *ck, uint64_t known)
{
  PetscBool *active = NULL;
  char *good = NULL;
  BCRRun run;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&ck->v, sizeof(ck->v)));
  PetscCall(BCRRunCreate(ck, &run));
  ierr = PetscMalloc1(ck->dof, &active);
  if (!ierr) ierr = PetscCalloc1(PetscMax(ck->A->n[1] * ck->A->n[2], 1), &good);
  if (!ierr) ierr = BCRCheckRun(ck, &run, known, active, good);
  PetscCall(BCRRunDestroy(&run));
  PetscCall(PetscFree(good));
  PetscCall(PetscFree(active));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSCBCR_HAVE_CUDA)
/* Of a matrix whose values are on a device, the rows that have been brought from there: *wrong, one
   of them is not the model's, and the others need not be looked at */
static PetscErrorCode BCRCheckSample(BCRCheck *ck, PetscBool *wrong)
{
  const BCRSample *S = &ck->A->sample;
  PetscBool stop = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&ck->v, sizeof(ck->v)));
  for (PetscInt b = 0; b < S->n && !stop; b++) {
    const PetscInt *n = S->count[b];

    for (PetscInt q = 0; q < n[0] * n[1] * n[2] && !stop; q++) {
      const PetscInt ix[3] = {S->first[b][0] + q % n[0], S->first[b][1] + q / n[0] % n[1],
                              S->first[b][2] + q / n[0] / n[1]};

      for (PetscInt c = 0; c < ck->dof && !stop; c++) PetscCall(BCRCheckRow(ck, c, ix, &stop));
    }
  }
  *wrong = (PetscBool)(stop && ck->v.state == BCR_ROW_GOOD);
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* The ranks agree on what counts: a row that nothing can be done with, a plane that is none, the largest deviation */
static PetscErrorCode BCRCheckAgree(BCRCheck *ck)
{
  const BCRVerdict *v = &ck->v;
  BCRFault fault = {PETSC_SUCCESS, ""};

  PetscFunctionBegin;
  PetscCall(BCRFaultShare(ck->A->comm, ck->error, BCR_NO_MEMORY));
  if (v->state != BCR_ROW_GOOD) PetscCall(BCRRowFault(ck->A, v->state, v->comp, v->badix, v->col, &fault));
  PetscCall(BCRFaultAgree(ck->A->comm, &fault));
  PetscCall(
    BCRTakeFrom(ck->A->comm, v->wrongplane ? PETSC_INFINITY : PetscMin(v->dev, DBL_MAX), &ck->v, sizeof(ck->v), NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the whole ---- */

/* Takes the old value of everything that is the same to rounding, so that later stages see at once
   that T has not changed */
static PetscErrorCode BCROperatorKeep(const BCROperator *old, BCROperator *op, PetscBool *same)
{
  const double tol = 16 * BCR_EPS;
  /* the diagonal of a row of the matrix less that of a general axis, which is what is left of it
     and no better known */
  double rest = PetscAbsReal(old->shift);
  PetscInt d, s, i;

  PetscFunctionBegin;
  *same = PETSC_FALSE;
  for (d = 0; d < 3; d++) rest += 2 * (double)old->axis[d].a;
  if (old->dim != op->dim || old->singular != op->singular || BCROperatorScaled(old) != BCROperatorScaled(op) ||
      old->left != op->left)
    PetscFunctionReturn(PETSC_SUCCESS);
  for (d = 0; d < 3; d++) {
    const BCRAxis *o = &old->axis[d], *n = &op->axis[d];

    if (o->n != n->n || o->end[0] != n->end[0] || o->end[1] != n->end[1] || !o->lower != !n->lower ||
        !o->weight != !n->weight)
      PetscFunctionReturn(PETSC_SUCCESS);
    for (s = 0; s < 2; s++)
      if (o->plane[s].present != n->plane[s].present || o->plane[s].couple != n->plane[s].couple ||
          PetscAbsReal(o->plane[s].slope - n->plane[s].slope) > tol * PetscMax(1, PetscAbsReal(o->plane[s].slope)))
        PetscFunctionReturn(PETSC_SUCCESS);
    if (PetscAbsReal(o->a - n->a) > tol * PetscAbsReal(o->a)) PetscFunctionReturn(PETSC_SUCCESS);
    for (i = 0; i < n->n; i++) {
      if (n->lower && (PetscAbsReal(n->lower[i] - o->lower[i]) > tol * o->lower[i] ||
                       PetscAbsReal(n->upper[i] - o->upper[i]) > tol * o->upper[i] ||
                       PetscAbsReal(n->diag[i] - o->diag[i]) > tol * (PetscAbsReal(o->diag[i]) + rest)))
        PetscFunctionReturn(PETSC_SUCCESS);
      if (n->weight && PetscAbsReal(n->weight[i] - o->weight[i]) > tol * o->weight[i])
        PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  for (d = 0; d < 3; d++) {
    const BCRAxis *o = &old->axis[d];
    BCRAxis *n = &op->axis[d];

    for (s = 0; s < 2; s++) n->plane[s].slope = o->plane[s].slope;
    for (s = 0; s < 2; s++)
      if (PetscAbsReal(n->plane[s].coupling - o->plane[s].coupling) <= tol * o->plane[s].coupling)
        n->plane[s].coupling = o->plane[s].coupling;
    n->a = o->a;
    if (n->lower) {
      PetscCall(PetscArraycpy(n->lower, o->lower, n->n));
      PetscCall(PetscArraycpy(n->diag, o->diag, n->n));
      PetscCall(PetscArraycpy(n->upper, o->upper, n->n));
    }
    if (n->weight) PetscCall(PetscArraycpy(n->weight, o->weight, n->n));
  }
  *same = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

enum {
  BCR_GUESSED,  /* planes from a row each */
  BCR_SEARCHED, /* planes looked at row by row */
  BCR_LEFT,     /* rows scaled */
  BCR_FITTED
};

static PetscErrorCode BCRStageFit(BCROperator *op, PetscInt *stage)
{
  PetscFunctionBegin;
  *stage = BCR_FITTED;
  op->left = PETSC_FALSE;
  for (PetscInt d = 0; d < 6; d++) PetscCall(PetscFree(op->axis[d / 2].plane[d % 2].inv));
  PetscCall(PetscFree(op->rowscale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What to try after a comparison has failed; *lines: op holds what the grid lines have */
static PetscErrorCode BCRStageNext(const BCRRows *A, PetscInt c, BCROperator *op, PetscInt *stage, PetscBool *lines)
{
  PetscInt d;

  PetscFunctionBegin;
  for (d = 0; d < 6; d++) PetscCall(PetscFree(op->axis[d / 2].plane[d % 2].inv));
  if (*stage == BCR_GUESSED) {
    PetscBool before[6], changed = PETSC_FALSE;

    *stage = BCR_SEARCHED;
    for (d = 0; d < 6; d++) before[d] = op->axis[d / 2].plane[d % 2].present;
    PetscCall(BCRPlanesSearch(A, c, op));
    for (d = 0; d < 3; d++) changed = (PetscBool)(changed || op->owner[d] != d);
    for (d = 0; d < 6; d++) changed = (PetscBool)(changed || before[d] != op->axis[d / 2].plane[d % 2].present);
    if (changed) {
      PetscCall(BCRLinesRead(A, c, op, lines));
      if (*lines) PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  if (*stage == BCR_SEARCHED && *lines) {
    PetscInt box, first, b[3];

    for (d = 0, box = 1; d < 3; d++) {
      b[d] = op->axis[d].plane[0].present ? 1 : 0;
      box *= BCRInside(A, d, b[d], op->axis[d].n, &first);
    }
    if (op->axis[0].n > 0 && op->axis[1].n > 0 && op->axis[2].n > 0) {
      *stage = BCR_LEFT;
      op->left = PETSC_TRUE;
      for (d = 0; d < 3; d++) PetscCall(PetscFree(op->axis[d].weight)); /* they go into the row scales */
      PetscCall(PetscMalloc1(PetscMax(box, 1), &op->rowscale));         /* there on all ranks, or on none */
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  PetscCall(BCRStageFit(op, stage));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *boxes: what the columns are known to be right for; on return what they have been found right for; 0: nothing */
static PetscErrorCode BCRReadAll(BCRRows *A, BCRFit fit, BCROperator ops[], PetscInt stage[], BCRModelAxis (*m)[3],
                                 PetscBool skip[], PetscBool lines[], uint64_t *boxes)
{
  PetscInt c, d, s, dof = A->dof;
  PetscBool there = PETSC_FALSE; /* compared where it is, and the same */
#if defined(PETSCBCR_HAVE_CUDA)
  PetscBool first = PETSC_TRUE;
#endif
  BCRCheck ck;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&ck, sizeof(ck)));
  ck.A = A;
  ck.dof = dof;
  ck.ops = ops;
  ck.m = m;
  ck.skip = skip;
  for (c = 0; c < dof; c++) {
    for (d = 0; d < 3; d++) {
      ops[c].owner[d] = d;
      for (s = 0; s < 2; s++) PetscCall(BCRPlaneGuess(A, c, d, s, &ops[c].axis[d].plane[s]));
    }
    PetscCall(BCRFaultShare(A->comm, BCRLinesRead(A, c, &ops[c], &lines[c]), BCR_NO_MEMORY));
    /* searching the planes may help */
    if (!lines[c]) PetscCall(BCRFaultShare(A->comm, BCRStageNext(A, c, &ops[c], &stage[c], &lines[c]), BCR_NO_MEMORY));
  }
  for (;;) {
    PetscBool compare = PETSC_FALSE, wrong = PETSC_FALSE;

    for (c = 0; c < dof; c++) {
      skip[c] = (PetscBool)(stage[c] == BCR_FITTED);
      compare = (PetscBool)(compare || !skip[c]);
    }
    if (!compare) break;
    for (c = 0; c < dof && !ck.error; c++)
      if (!skip[c]) ck.error = BCRModelCreate(&ops[c], m[c]);
    PetscCall(BCRFaultShare(A->comm, ck.error, BCR_NO_MEMORY));
#if defined(PETSCBCR_HAVE_CUDA)
    if (A->device && first) {
      PetscCall(PetscMemzero(&ck.v, sizeof(ck.v)));
      PetscCall(BCRSampleCompare(A, ops, m, skip, &there, &ck.v.dev, &ck.v.comp, &ck.v.row, &ck.v.col));
      first = PETSC_FALSE;
    }
    if (!there && A->device && !A->aa) PetscCall(BCRCheckSample(&ck, &wrong));
    if (!there && !wrong) PetscCall(BCRRowsFetch(A));
#endif
    if (!there && !wrong) ck.error = BCRCheckAll(&ck, *boxes);
    for (c = 0; c < dof; c++)
      if (!skip[c]) PetscCall(BCRModelDestroy(m[c]));
    if (!there && !wrong) PetscCall(BCRCheckAgree(&ck));
    if (there || (!wrong && !ck.v.wrongplane && ck.v.dev <= BCR_SAME_TOL)) {
      PetscBool again = PETSC_FALSE;

      /* what differs from a singular operator, though by less than a coefficient may, must not lift the singularity */
      for (c = 0; c < dof && 8 * ck.v.dev > BCR_NULL_TOL; c++) {
        PetscBool null = PETSC_FALSE;

        if (skip[c] || !BCROperatorNeutral(&ops[c])) continue;
        PetscCall(BCRRowsNull(A, c, &ops[c], PETSC_FALSE, &null));
        if (null) continue;
        again = PETSC_TRUE;
        PetscCall(BCRStageFit(&ops[c], &stage[c]));
      }
      if (again) {
        there = PETSC_FALSE;
        continue;
      }
      if (!there) *boxes = ck.regular ? ck.boxes : 0;
      break;
    }
    PetscCall(BCRFaultShare(A->comm, BCRStageNext(A, ck.v.comp, &ops[ck.v.comp], &stage[ck.v.comp], &lines[ck.v.comp]),
                            BCR_NO_MEMORY));
  }
  for (c = 0; c < dof; c++) {
    if (stage[c] == BCR_FITTED) PetscCall(BCRFaultShare(A->comm, BCRFitRead(A, c, fit, &ops[c]), BCR_NO_MEMORY));
    else {
      PetscCall(PetscStrncpy(ops[c].fit, "exact", sizeof(ops[c].fit)));
      ops[c].deviation = c == ck.v.comp ? (PetscReal)ck.v.dev : 0;
      ops[c].devrow = c == ck.v.comp ? ck.v.row : 0;
      ops[c].devcol = c == ck.v.comp ? ck.v.col : 0;
    }
    PetscCall(BCRFaultShare(A->comm, BCROperatorCheckDefinite(&ops[c]), BCR_NO_MEMORY));
  }
  for (c = 0; c < dof; c++) {
    int varies[6];

    for (d = 0; d < 6; d++) varies[d] = ops[c].axis[d / 2].plane[d % 2].inv != NULL;
    if (A->grid.size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, varies, 6, MPI_INT, MPI_MAX, A->comm));
    for (d = 0; d < 6; d++) ops[c].axis[d / 2].plane[d % 2].varies = (PetscBool)varies[d];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCROperatorReadUpdate(DM da, Mat P, BCRFit fit, BCRPattern *pattern, PetscInt *dof, BCROperator **ops,
                                     PetscBool *same)
{
  BCRRows A;
  BCROperator *fresh = NULL;
  PetscObjectId id;
  PetscObjectState state;
  uint64_t boxes = 0;
  PetscBool keep, all, *skip, *lines, again;
  PetscInt c, *stage;
  BCRModelAxis(*m)[3] = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetId((PetscObject)P, &id));
  PetscCall(MatGetNonzeroState(P, &state));
  again = (PetscBool)(pattern && pattern->known && pattern->id == id && pattern->state == state);
  if (again) boxes = pattern->boxes;
  ierr = BCRRowsOpen(da, P, (PetscBool)(again && pattern->full), (PetscBool)(again && pattern->fitted), &A);
  if (!ierr) ierr = PetscCalloc1(A.dof, &fresh);
  if (!ierr) ierr = PetscCalloc4(A.dof, &stage, A.dof, &m, A.dof, &skip, A.dof, &lines);
  ierr = BCRFaultShare(PetscObjectComm((PetscObject)P), ierr, BCR_NO_MEMORY);
  if (!ierr) ierr = BCRReadAll(&A, fit, fresh, stage, m, skip, lines, &boxes);
  if (m) {
    for (c = 0; c < A.dof; c++) PetscCall(BCRModelDestroy(m[c]));
    PetscCall(PetscFree4(stage, m, skip, lines));
  }
#if defined(PETSCBCR_HAVE_CUDA)
  if (pattern && !again && !ierr) {
    const PetscInt rows = A.dof * A.nodes;

    for (c = 0; c < rows && A.ai[c + 1] > A.ai[c]; c++) {}
    pattern->full = (PetscBool)(c == rows);
  }
#endif
  PetscCall(BCRRowsClose(&A));
  if (ierr) PetscCall(BCROperatorDestroy(A.dof, &fresh));
  PetscCall(ierr);
  if (pattern) {
    pattern->known = PETSC_TRUE;
    pattern->id = id;
    pattern->state = state;
    pattern->boxes = boxes;
    for (c = 0, pattern->fitted = PETSC_FALSE; c < A.dof; c++)
      pattern->fitted = (PetscBool)(pattern->fitted || strcmp(fresh[c].fit, "exact"));
  }
  all = (PetscBool)(*ops && *dof == A.dof);
  if (all)
    for (c = 0; c < A.dof; c++) {
      PetscCall(BCROperatorKeep(&(*ops)[c], &fresh[c], &keep));
      all = (PetscBool)(all && keep);
    }
  if (*ops) PetscCall(BCROperatorDestroy(*dof, ops));
  *dof = A.dof;
  *ops = fresh;
  if (same) *same = all;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCROperatorRead(DM da, Mat P, BCRFit fit, PetscInt *dof, BCROperator **ops)
{
  PetscFunctionBegin;
  *ops = NULL;
  *dof = 0;
  PetscCall(BCROperatorReadUpdate(da, P, fit, NULL, dof, ops, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}
