/*
  Pieces of the mask, and how many rows of each a row of the fluid has a column of. A rank joins the nodes of its own box;
  pieces that go on in another box are numbered over all ranks, and their nodes beside those boxes are told to all, which
  join them alike.
*/
#include "differimpl.h"

/* The piece that i belongs to */
static PetscInt BCRJoinFind(PetscInt parent[], PetscInt i)
{
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

static void BCRJoin(PetscInt parent[], PetscInt i, PetscInt j)
{
  i = BCRJoinFind(parent, i);
  j = BCRJoinFind(parent, j);
  parent[PetscMax(i, j)] = PetscMin(i, j);
}

/* The axes of the operator have a neighbour of node ix (of the grid) at the high end of axis d */
static PetscBool BCRPieceNext(const BCRSurvey *S, const PetscInt ix[3], PetscInt d, PetscInt jx[3])
{
  for (PetscInt t = 0; t < 3; t++) jx[t] = ix[t];
  if (S->first[d] == S->last[d]) return PETSC_FALSE;
  jx[d] = ix[d] < S->last[d] ? ix[d] + 1 : S->first[d];
  return (PetscBool)(ix[d] < S->last[d] || BCREndIsPeriodic(S->op->axis[d].end[1]));
}

/* A node of the mask has a neighbour in the mask of another rank */
static PetscBool BCRPieceCrosses(const BCRSurvey *S, const PetscInt ix[3])
{
  PetscInt jx[3], at[3];

  for (int k = 0; k < 2 * (int)S->A->dim; k++) {
    BCRSurveyBeside(S, ix, k, jx);
    BCRSurveyGrid(S, jx, at);
    if (S->A->N[k / 2] > 1 && !BCRGridHas(&S->A->grid, at) && S->kind[BCRSurveyNode(S, jx)] == BCR_NODE_MASK)
      return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

/* Nodes of all ranks beside the boxes of others, and numbers over all ranks of the pieces that they belong to */
typedef struct {
  PetscInt n, numbers;     /* nodes, and numbers */
  PetscInt *node, *number; /* [n] sorted by node */
  PetscInt *parent;        /* [numbers] of pieces that have been joined */
  PetscInt *touching;      /* [numbers] of the joined piece, where it is the parent */
} BCRPieceTable;

static PetscErrorCode BCRPieceTableDestroy(BCRPieceTable *T)
{
  PetscFunctionBegin;
  PetscCall(PetscFree2(T->node, T->number));
  PetscCall(PetscFree2(T->parent, T->touching));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. n, node, number: this rank's; numbers: that pieces of this rank have; before: that ranks before it have */
static PetscErrorCode BCRPieceTableGather(const BCRSurvey *S, PetscInt n, const PetscInt node[],
                                          const PetscInt number[], PetscInt numbers, PetscInt *before, BCRPieceTable *T)
{
  const BCRGrid *g = &S->A->grid;
  PetscMPIInt *counts = NULL, *starts, mine = 0;
  PetscInt sum[2] = {n, numbers}, upto = 0;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Scan(&numbers, &upto, 1, MPIU_INT, MPI_SUM, g->comm));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPIU_INT, MPI_SUM, g->comm));
  *before = upto - numbers;
  T->n = sum[0];
  T->numbers = sum[1];
  if (T->numbers == 0) PetscFunctionReturn(PETSC_SUCCESS);
  ierr = PetscMPIIntCast(n, &mine);
  if (!ierr) ierr = PetscMalloc2(T->n, &T->node, T->n, &T->number);
  if (!ierr) ierr = PetscCalloc2(T->numbers, &T->parent, T->numbers, &T->touching);
  if (!ierr) ierr = PetscMalloc2(g->size, &counts, g->size, &starts);
  if (ierr) (void)PetscFree2(counts, starts);
  PetscCall(BCRFaultShare(g->comm, ierr, BCR_NO_MEMORY));
  PetscCallMPI(MPI_Allgather(&mine, 1, MPI_INT, counts, 1, MPI_INT, g->comm));
  starts[0] = 0;
  for (PetscMPIInt p = 1; p < g->size; p++) starts[p] = starts[p - 1] + counts[p - 1];
  PetscCallMPI(MPI_Allgatherv(node, mine, MPIU_INT, T->node, counts, starts, MPIU_INT, g->comm));
  PetscCallMPI(MPI_Allgatherv(number, mine, MPIU_INT, T->number, counts, starts, MPIU_INT, g->comm));
  for (PetscInt p = 0, at = 0; p < g->size; p++) { /* numbers of a rank begin where those before it end */
    PetscInt most = -1;

    for (PetscInt i = starts[p]; i < starts[p] + counts[p]; i++) most = PetscMax(most, T->number[i]);
    for (PetscInt i = starts[p]; i < starts[p] + counts[p]; i++) T->number[i] += at;
    at += most + 1;
  }
  PetscCall(PetscFree2(counts, starts));
  for (PetscInt i = 0; i < T->numbers; i++) T->parent[i] = i;
  PetscCall(PetscSortIntWithArray(T->n, T->node, T->number));
  for (PetscInt i = 0; i < T->n; i++) {
    PetscInt ix[3], jx[3], at;

    BCRGridNaturalNode(g, T->node[i], ix);
    for (PetscInt d = 0; d < 3; d++) {
      if (!BCRPieceNext(S, ix, d, jx)) continue;
      PetscCall(PetscFindInt(BCRGridNatural(g, jx), T->n, T->node, &at));
      if (at >= 0) BCRJoin(T->parent, T->number[i], T->number[at]);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* parent: of the nodes of the rank's box, joined within it; -1: not of the mask */
static void BCRPiecesJoin(const BCRSurvey *S, PetscInt parent[])
{
  const BCRRows *A = S->A;
  PetscInt ix[3], jx[3];

  for (int pass = 0; pass < 2; pass++) {
    for (ix[2] = A->lo[2]; ix[2] < A->lo[2] + A->n[2]; ix[2]++) {
      for (ix[1] = A->lo[1]; ix[1] < A->lo[1] + A->n[1]; ix[1]++) {
        for (ix[0] = A->lo[0]; ix[0] < A->lo[0] + A->n[0]; ix[0]++) {
          const PetscInt i = BCRNode(A, ix);

          if (pass == 0) parent[i] = S->kind[BCRSurveyNode(S, ix)] == BCR_NODE_MASK ? i : -1;
          for (PetscInt d = 0; d < 3 && pass && parent[i] >= 0; d++)
            if (BCRPieceNext(S, ix, d, jx) && BCRGridHas(&A->grid, jx) && parent[BCRNode(A, jx)] >= 0)
              BCRJoin(parent, i, BCRNode(A, jx));
        }
      }
    }
  }
}

/* Work space of a rank, arrays of the nodes of its box */
typedef struct {
  PetscInt *parent;    /* of its piece, joined within the box; -1: not of the mask */
  PetscInt *number;    /* where that is itself: of its piece among those that go on elsewhere, -1: it does not */
  PetscInt *node, *of; /* nodes beside other boxes, in natural order, and the numbers of their pieces */
} BCRPieces;

/* Collective. The pieces of all ranks: *pieces, and touching (as that of BCRDifferPieces(), in: of the piece within this
   rank's box, where the node is its own parent) over all ranks */
static PetscErrorCode BCRPiecesAcross(const BCRSurvey *S, BCRPieces *P, PetscInt touching[], PetscInt *pieces,
                                      BCRPieceTable *T)
{
  const BCRRows *A = S->A;
  PetscInt n = 0, numbers = 0, before = 0, ix[3];

  PetscFunctionBegin;
  for (PetscInt i = 0; i < A->nodes; i++) P->number[i] = -1;
  for (PetscInt i = 0; i < A->nodes; i++) {
    if (P->parent[i] < 0) continue;
    ix[0] = A->lo[0] + i % A->n[0];
    ix[1] = A->lo[1] + i / A->n[0] % A->n[1];
    ix[2] = A->lo[2] + i / A->n[0] / A->n[1];
    if (!BCRPieceCrosses(S, ix)) continue;
    if (P->number[P->parent[i]] < 0) P->number[P->parent[i]] = numbers++;
    P->node[n] = BCRGridNatural(&A->grid, ix);
    P->of[n++] = P->number[P->parent[i]];
  }
  PetscCall(BCRPieceTableGather(S, n, P->node, P->of, numbers, &before, T));
  for (PetscInt i = 0; i < A->nodes; i++)
    if (P->number[i] >= 0) T->touching[BCRJoinFind(T->parent, before + P->number[i])] += touching[i];
  for (PetscInt k = 0; k < T->numbers; k += PETSC_MPI_INT_MAX)
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, T->touching + k, (PetscMPIInt)PetscMin(PETSC_MPI_INT_MAX, T->numbers - k),
                               MPIU_INT, MPI_SUM, A->comm));
  *pieces -= numbers;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, pieces, 1, MPIU_INT, MPI_SUM, A->comm));
  for (PetscInt k = 0; k < T->numbers; k++) *pieces += T->parent[k] == k;
  for (PetscInt i = 0; i < A->nodes; i++)
    if (P->number[i] >= 0) touching[i] = T->touching[BCRJoinFind(T->parent, before + P->number[i])];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDifferPieces(const BCRSurvey *S, const unsigned char touch[], PetscInt touching[], PetscInt *pieces)
{
  const BCRRows *A = S->A;
  BCRPieces P = {NULL, NULL, NULL, NULL};
  BCRPieceTable T = {0, 0, NULL, NULL, NULL, NULL};
  PetscErrorCode ierr = PetscMalloc4(A->nodes, &P.parent, A->nodes, &P.number, A->nodes, &P.node, A->nodes, &P.of);

  PetscFunctionBegin;
  PetscCall(BCRFaultShare(A->comm, ierr, BCR_NO_MEMORY));
  BCRPiecesJoin(S, P.parent);
  *pieces = 0;
  for (PetscInt i = 0; i < A->nodes; i++) touching[i] = 0;
  for (PetscInt i = 0; i < A->nodes; i++) {
    if (P.parent[i] < 0) continue;
    P.parent[i] = BCRJoinFind(P.parent, i);
    *pieces += P.parent[i] == i;
    touching[P.parent[i]] += touch[i];
  }
  if (A->grid.size > 1) ierr = BCRPiecesAcross(S, &P, touching, pieces, &T);
  for (PetscInt i = 0; i < A->nodes && !ierr; i++)
    if (P.parent[i] >= 0) touching[i] = touching[P.parent[i]];
  PetscCall(BCRPieceTableDestroy(&T));
  PetscCall(PetscFree4(P.parent, P.number, P.node, P.of));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
