/*
  Pieces of the mask, and how many rows of each a row of the fluid has a column of. A rank joins the runs of nodes
  along x in its own box; pieces that go on in another box are numbered over all ranks, and their nodes beside those
  boxes are told to all ranks, which join them alike.
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
  const BCRRows *A = S->A;
  PetscInt jx[3], at[3];

  for (int k = 0; k < 2 * (int)A->dim; k++) {
    if (ix[k / 2] != A->lo[k / 2] + (k % 2 ? A->n[k / 2] - 1 : 0)) continue;
    BCRSurveyBeside(S, ix, k, jx);
    BCRSurveyGrid(S, jx, at);
    if (A->N[k / 2] > 1 && !BCRGridHas(&A->grid, at) && S->kind[BCRSurveyNode(S, jx)] == BCR_NODE_MASK)
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

/* Collective. n, node, number: this rank's; numbers, before: how many this rank has, and ranks before it */
static PetscErrorCode BCRPieceTableGather(const BCRSurvey *S, PetscInt n, const PetscInt node[],
                                          const PetscInt number[], PetscInt numbers, PetscInt *before, BCRPieceTable *T)
{
  const BCRGrid *g = &S->A->grid;
  PetscMPIInt *counts = NULL, *starts = NULL, mine = 0;
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
  BCRCallElse(BCRFaultShare(g->comm, ierr, BCR_NO_MEMORY), (void)PetscFree2(counts, starts));
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

/* The mask of a rank's box, as runs of nodes along x, in natural order. Nodes are numbered within the box */
typedef struct {
  PetscInt runs;         /* at most as many as the mask has nodes. Arrays of that many: */
  PetscInt *begin, *end; /* first node, and one behind the last */
  PetscInt *parent;      /* runs that have been joined */
  PetscInt *number;      /* of a piece among those that go on elsewhere, -1: it does not */
  PetscInt *touching;
  PetscInt *first;     /* [lines + 1] of each line of the box, its first run */
  PetscInt *node, *of; /* [masked] nodes beside other boxes, in natural order, and the numbers of their pieces */
} BCRPieces;

static PetscErrorCode BCRPiecesDestroy(BCRPieces *P)
{
  PetscFunctionBegin;
  PetscCall(PetscFree5(P->begin, P->end, P->parent, P->number, P->touching));
  PetscCall(PetscFree3(P->first, P->node, P->of));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The runs */
static void BCRPiecesRuns(const BCRSurvey *S, BCRPieces *P)
{
  const BCRRows *A = S->A;
  PetscInt ix[3], line = 0;

  P->runs = 0;
  for (ix[2] = A->lo[2]; ix[2] < A->lo[2] + A->n[2]; ix[2]++) {
    for (ix[1] = A->lo[1]; ix[1] < A->lo[1] + A->n[1]; ix[1]++, line++) {
      const unsigned char *kind;

      ix[0] = A->lo[0];
      kind = S->kind + BCRSurveyNode(S, ix);
      P->first[line] = P->runs;
      if (!(S->line[BCRSurveyLine(S, ix)] & BCR_LINE_MASK)) continue;
      for (PetscInt i = 0, n; i < A->n[0]; i += n) {
        n = BCRBytesAlike(kind + i, A->n[0] - i);
        if (kind[i] != BCR_NODE_MASK) continue;
        P->begin[P->runs] = line * A->n[0] + i;
        P->end[P->runs++] = line * A->n[0] + i + n;
      }
    }
  }
  P->first[line] = P->runs;
}

/* The run of a node that has one; run: of a node before it */
static PetscInt BCRPiecesRun(const BCRPieces *P, PetscInt node, PetscInt run)
{
  while (P->end[run] <= node) run++;
  return run;
}

/* Joins runs of two lines that meet */
static void BCRPiecesMeet(BCRPieces *P, PetscInt n, PetscInt line, PetscInt other)
{
  PetscInt i = P->first[line], j = P->first[other];

  while (i < P->first[line + 1] && j < P->first[other + 1]) {
    const PetscInt b = P->begin[i] - line * n, e = P->end[i] - line * n, c = P->begin[j] - other * n,
                   f = P->end[j] - other * n;

    if (PetscMax(b, c) < PetscMin(e, f)) BCRJoin(P->parent, i, j);
    if (e < f) i++;
    else j++;
  }
}

/* Joins the runs of the box, around the ends of axes that are not cut, too */
static void BCRPiecesJoin(const BCRSurvey *S, BCRPieces *P)
{
  const BCRRows *A = S->A;
  const PetscInt n = A->n[0], ny = A->n[1], nz = A->n[2];
  PetscBool around[3];

  for (PetscInt d = 0; d < 3; d++)
    around[d] = (PetscBool)(BCRAxisIsPeriodic(&S->op->axis[d]) && A->n[d] == A->N[d] && A->N[d] > 1);
  for (PetscInt k = 0; k < P->runs; k++) P->parent[k] = k;
  for (PetscInt z = 0, line = 0; z < nz; z++) {
    for (PetscInt y = 0; y < ny; y++, line++) {
      const PetscInt last = P->first[line + 1] - 1;

      if (last < P->first[line]) continue;
      if (y > 0 || around[1]) BCRPiecesMeet(P, n, line, line - (y > 0 ? 1 : 1 - ny));
      if (z > 0 || around[2]) BCRPiecesMeet(P, n, line, line - (z > 0 ? ny : ny - ny * nz));
      if (around[0] && P->begin[P->first[line]] == line * n && P->end[last] == line * n + n)
        BCRJoin(P->parent, P->first[line], last);
    }
  }
}

/* Collective. The pieces of all ranks: *pieces, touching of this rank's own, in: within its box */
static PetscErrorCode BCRPiecesAcross(const BCRSurvey *S, BCRPieces *P, PetscInt *pieces, BCRPieceTable *T)
{
  const BCRRows *A = S->A;
  PetscInt n = 0, numbers = 0, before = 0, ix[3];

  PetscFunctionBegin;
  for (PetscInt r = 0; r < P->runs; r++) P->number[r] = -1;
  for (PetscInt r = 0; r < P->runs; r++) {
    for (PetscInt i = P->begin[r]; i < P->end[r]; i++) {
      const PetscInt k = BCRJoinFind(P->parent, r);

      BCRBoxNodeAt(A, i, ix);
      if (!BCRPieceCrosses(S, ix)) continue;
      if (P->number[k] < 0) P->number[k] = numbers++;
      P->node[n] = BCRGridNatural(&A->grid, ix);
      P->of[n++] = P->number[k];
    }
  }
  PetscCall(BCRPieceTableGather(S, n, P->node, P->of, numbers, &before, T));
  for (PetscInt k = 0; k < P->runs; k++)
    if (P->number[k] >= 0) T->touching[BCRJoinFind(T->parent, before + P->number[k])] += P->touching[k];
  for (PetscInt k = 0; k < T->numbers; k += PETSC_MPI_INT_MAX)
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, T->touching + k, (PetscMPIInt)PetscMin(PETSC_MPI_INT_MAX, T->numbers - k),
                               MPIU_INT, MPI_SUM, A->comm));
  *pieces -= numbers;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, pieces, 1, MPIU_INT, MPI_SUM, A->comm));
  for (PetscInt k = 0; k < T->numbers; k++) *pieces += T->parent[k] == k;
  for (PetscInt k = 0; k < P->runs; k++)
    if (P->number[k] >= 0) P->touching[k] = T->touching[BCRJoinFind(T->parent, before + P->number[k])];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDifferPieces(const BCRSurvey *S, PetscInt runs, PetscInt rims, const PetscInt rim[],
                               const unsigned char touch[], PetscInt touching[], PetscInt *pieces)
{
  const PetscInt most = S->masked;
  BCRPieces P = {0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL};
  BCRPieceTable T = {0, 0, NULL, NULL, NULL, NULL};
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = PetscMalloc5(runs, &P.begin, runs, &P.end, runs, &P.parent, runs, &P.number, runs, &P.touching);
  if (!ierr) ierr = PetscMalloc3(S->A->n[1] * S->A->n[2] + 1, &P.first, most, &P.node, most, &P.of);
  BCRCallElse(BCRFaultShare(S->A->comm, ierr, BCR_NO_MEMORY), (void)BCRPiecesDestroy(&P));
  BCRPiecesRuns(S, &P);
  BCRPiecesJoin(S, &P);
  *pieces = 0;
  for (PetscInt k = 0; k < P.runs; k++) {
    P.touching[k] = 0;
    *pieces += P.parent[k] == k;
  }
  for (PetscInt r = 0, run = 0; r < rims; r++) { /* in natural order, as runs are */
    run = BCRPiecesRun(&P, rim[r], run);
    P.touching[BCRJoinFind(P.parent, run)] += touch[r];
  }
  if (S->A->grid.size > 1) ierr = BCRPiecesAcross(S, &P, pieces, &T);
  for (PetscInt r = 0, run = 0; r < rims && !ierr; r++) {
    run = BCRPiecesRun(&P, rim[r], run);
    touching[r] = P.touching[BCRJoinFind(P.parent, run)];
  }
  PetscCall(BCRPieceTableDestroy(&T));
  PetscCall(BCRPiecesDestroy(&P));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
