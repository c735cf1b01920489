/*
  The rows of the nodes around a rank's box, from the ranks that have them. Fits want them: what
  they make of a coupling between two nodes takes the rows of both, and the scale of a node all
  couplings around it.
*/
#include "readimpl.h"

/* Node i of an axis of N that closes on itself */
static inline PetscInt BCRAround(PetscInt i, PetscInt N)
{
  return (i % N + N) % N;
}

PetscErrorCode BCRShellOpen(BCRRows *A, PetscInt width)
{
  const BCRGrid *g = &A->grid;
  PetscInt64 all = 1;
  PetscInt d, k, c, n, count = 0, *numbers = NULL, *rows;
  PetscInt o[3], ix[3];
  IS isrow = NULL, iscol = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (g->size == 1 || A->shellmat) PetscFunctionReturn(PETSC_SUCCESS);
  for (d = 0; d < 3; d++) {
    const PetscInt w = g->parts[d] > 1 ? width : 0;

    A->shelllo[d] = A->lo[d] - w;
    A->shelln[d] = A->nodes ? A->n[d] + 2 * w : 0; /* a rank with nothing needs nothing */
    all *= A->shelln[d];
  }
  ierr = PetscIntCast(all, &n);
  if (!ierr) ierr = PetscMalloc1(n, &A->shellrow);
  if (!ierr) ierr = PetscMalloc1(n, &numbers);
  BCRCallElse(BCRFaultShare(A->comm, ierr, BCR_NO_MEMORY), (void)PetscFree(numbers));
  for (k = 0, o[2] = 0; o[2] < A->shelln[2]; o[2]++) {
    for (o[1] = 0; o[1] < A->shelln[1]; o[1]++) {
      for (o[0] = 0; o[0] < A->shelln[0]; o[0]++, k++) {
        for (d = 0; d < 3; d++) ix[d] = A->shelllo[d] + o[d];
        A->shellrow[k] = -1;
        if (BCRGridHas(g, ix)) continue;
        for (d = 0; d < 3; d++) ix[d] = BCRAround(ix[d], A->N[d]);
        numbers[count++] = A->shellrow[k] = BCRGridNumber(g, ix);
      }
    }
  }
  PetscCall(PetscSortRemoveDupsInt(&count, numbers));
  for (k = 0; k < n; k++) {
    PetscInt at;

    if (A->shellrow[k] < 0) continue;
    PetscCall(PetscFindInt(A->shellrow[k], count, numbers, &at));
    A->shellrow[k] = A->dof * at;
  }
  PetscCall(MatGetSize(A->aij, NULL, &n));
  ierr = PetscMalloc1(A->dof * count, &rows);
  if (!ierr) {
    for (k = 0; k < count; k++)
      for (c = 0; c < A->dof; c++) rows[c + A->dof * k] = c + A->dof * numbers[k];
    ierr = ISCreateGeneral(PETSC_COMM_SELF, A->dof * count, rows, PETSC_OWN_POINTER, &isrow);
  }
  PetscCall(PetscFree(numbers));
  if (!ierr) ierr = ISCreateStride(PETSC_COMM_SELF, n, 0, 1, &iscol);
  ierr = BCRFaultShare(A->comm, ierr, BCR_NO_MEMORY);
  if (!ierr) ierr = MatCreateSubMatrices(A->aij, 1, &isrow, &iscol, MAT_INITIAL_MATRIX, &A->shellmat);
  PetscCall(ISDestroy(&iscol));
  PetscCall(ISDestroy(&isrow));
  PetscCall(ierr);
  PetscCall(BCRBlockOpen(A->shellmat[0], &A->shell));
  PetscCall(BCRBlockFetch(&A->shell));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRShellClose(BCRRows *A)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(A->shellrow));
  if (!A->shellmat) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRBlockClose(&A->shell));
  PetscCall(MatDestroySubMatrices(1, &A->shellmat));
  PetscFunctionReturn(PETSC_SUCCESS);
}
