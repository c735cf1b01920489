/*
  Ponds: pieces of the graph of a matrix whose rows all have sum zero, so that the matrix takes the constant of each to zero. A
  right-hand side that has one has no solution; what is solved then is the equation without these constants, as where the
  whole box is singular: on each pond the mean of the right-hand side is removed, and that of the solution is zero. Where the rows of a
  pond are not symmetric its left null vector is another one, which is not looked for: the solve fails.
*/
#include "bcrpoisson.h"
#include <petscsf.h>

/* Rows of the matrix on this rank, and what is known of the rows of others that they refer to */
typedef struct {
  Mat A;
  PetscInt first, n;
  PetscInt ghosts, *ghost; /* columns of other ranks, ascending */
  PetscSF sf;
  PetscInt *parent;        /* [n] rows that are joined */
  PetscInt *label, *there; /* [n] of the row that is the parent: the least row of the piece, so far; [ghosts] */
  unsigned char *null;     /* [n] of a parent: all of these rows have sum zero */
  PetscInt pieces, *of[3]; /* candidates on all ranks: their labels, rows, and whether they are none, -1 */
} Graph;

static PetscInt find(PetscInt parent[], PetscInt i)
{
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

PetscErrorCode BCRPondsDestroy(BCRPonds *ponds)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(ponds->piece));
  PetscCall(PetscFree4(ponds->row, ponds->rows, ponds->sum, ponds->mean));
  PetscCall(VecDestroy(&ponds->rhs));
  PetscCall(PetscMemzero(ponds, sizeof(*ponds)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode graph_destroy(Graph *g)
{
  PetscFunctionBegin;
  PetscCall(PetscSFDestroy(&g->sf));
  PetscCall(PetscFree(g->ghost));
  PetscCall(PetscFree(g->there));
  PetscCall(PetscFree3(g->parent, g->label, g->null));
  for (int k = 0; k < 3; k++) PetscCall(PetscFree(g->of[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of this rank that refer to one another are joined, and those of others that they refer to noted */
static PetscErrorCode graph_local(Graph *g)
{
  PetscInt room = 0, at = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(g->n, &g->parent, g->n, &g->label, g->n, &g->null));
  for (PetscInt i = 0; i < g->n; i++) g->parent[i] = i;
  for (int count = 1; count >= 0; count--) {
    for (PetscInt i = 0; i < g->n; i++) {
      const PetscInt *col;
      const PetscScalar *v;
      PetscInt k;

      PetscCall(MatGetRow(g->A, i + g->first, &k, &col, &v));
      for (PetscInt j = 0; j < k; j++) {
        const PetscInt l = col[j] - g->first;

        if (v[j] == (PetscScalar)0) continue;
        if (l >= 0 && l < g->n) {
          const PetscInt a = find(g->parent, i), b = find(g->parent, l);

          g->parent[PetscMax(a, b)] = PetscMin(a, b);
        } else if (count) room++;
        else g->ghost[at++] = col[j];
      }
      PetscCall(MatRestoreRow(g->A, i + g->first, &k, &col, &v));
    }
    if (count) PetscCall(PetscMalloc1(PetscMax(room, 1), &g->ghost));
  }
  PetscCall(PetscSortRemoveDupsInt(&at, g->ghost));
  g->ghosts = at;
  PetscCall(PetscMalloc1(PetscMax(at, 1), &g->there));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One look at all rows: *changed, a label has become less as that of a neighbour on another rank is. With the sums of rows as well */
static PetscErrorCode graph_look(Graph *g, PetscMPIInt *changed)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < g->n; i++) {
    const PetscInt p = find(g->parent, i);
    const PetscInt *col;
    const PetscScalar *v;
    PetscInt k, at;
    PetscScalar sum = 0;
    PetscReal size = 0;

    PetscCall(MatGetRow(g->A, i + g->first, &k, &col, &v));
    for (PetscInt j = 0; j < k; j++) {
      sum += v[j];
      size += PetscAbsScalar(v[j]);
      if (v[j] == (PetscScalar)0 || (col[j] >= g->first && col[j] < g->first + g->n)) continue;
      PetscCall(PetscFindInt(col[j], g->ghosts, g->ghost, &at));
      if (g->there[at] >= g->label[p]) continue;
      g->label[p] = g->there[at];
      *changed = 1;
    }
    if (!(PetscAbsScalar(sum) <= 64 * PETSC_MACHINE_EPSILON * size)) g->null[p] = 0;
    PetscCall(MatRestoreRow(g->A, i + g->first, &k, &col, &v));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Labels that ranks agree on. Collective */
static PetscErrorCode graph_join(Graph *g)
{
  PetscInt *mine = NULL;
  PetscMPIInt changed = 1;
  PetscLayout rows;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < g->n; i++) {
    g->label[i] = g->first + find(g->parent, i);
    g->null[i] = 1;
  }
  PetscCall(MatGetLayouts(g->A, &rows, NULL));
  PetscCall(PetscSFCreate(rows->comm, &g->sf));
  PetscCall(PetscSFSetGraphLayout(g->sf, rows, g->ghosts, NULL, PETSC_COPY_VALUES, g->ghost));
  PetscCall(BCRFaultShare(rows->comm, PetscMalloc1(PetscMax(g->n, 1), &mine), BCR_NO_MEMORY));
  while (changed) {
    changed = 0;
    for (PetscInt i = 0; i < g->n; i++) mine[i] = g->label[find(g->parent, i)];
    PetscCall(PetscSFBcastBegin(g->sf, MPIU_INT, mine, g->there, MPI_REPLACE));
    PetscCall(PetscSFBcastEnd(g->sf, MPIU_INT, mine, g->there, MPI_REPLACE));
    PetscCall(graph_look(g, &changed));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &changed, 1, MPI_INT, MPI_MAX, rows->comm));
  }
  PetscCall(PetscFree(mine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The pieces of all ranks, in the order of their labels, but those of single rows, of which a mask has many. Collective */
static PetscErrorCode graph_pieces(Graph *g, PetscInt *of[3])
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)g->A);
  PetscMPIInt size, mine = 0, *counts = NULL, *starts = NULL;
  PetscInt *here[3] = {NULL, NULL, NULL}, *rows = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  ierr = PetscCalloc1(PetscMax(g->n, 1), &rows);
  if (!ierr) ierr = PetscMalloc2(size, &counts, size, &starts);
  for (int k = 0; k < 3 && !ierr; k++) ierr = PetscMalloc1(PetscMax(g->n, 1), &here[k]);
  PetscCall(BCRFaultShare(comm, ierr, BCR_NO_MEMORY));
  for (PetscInt i = 0; i < g->n; i++) rows[find(g->parent, i)]++;
  for (PetscInt i = 0; i < g->n; i++) {
    if (g->parent[i] != i || (rows[i] == 1 && !g->null[i])) continue;
    here[0][mine] = g->label[i];
    here[1][mine] = rows[i];
    here[2][mine++] = g->null[i] ? 0 : -1;
  }
  PetscCallMPI(MPI_Allgather(&mine, 1, MPI_INT, counts, 1, MPI_INT, comm));
  for (PetscMPIInt p = 0; p < size; p++) {
    starts[p] = (PetscMPIInt)g->pieces;
    g->pieces += counts[p];
  }
  for (int k = 0; k < 3 && !ierr; k++) ierr = PetscMalloc1(PetscMax(g->pieces, 1), &of[k]);
  PetscCall(BCRFaultShare(comm, ierr, BCR_NO_MEMORY));
  for (int k = 0; k < 3; k++) {
    PetscCallMPI(MPI_Allgatherv(here[k], mine, MPIU_INT, of[k], counts, starts, MPIU_INT, comm));
    PetscCall(PetscFree(here[k]));
  }
  PetscCall(PetscFree2(counts, starts));
  PetscCall(PetscFree(rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of pieces those that are ponds, and which of them each row is in */
static PetscErrorCode ponds_fill(Graph *g, BCRPonds *ponds)
{
  PetscInt *label = g->of[0], *rows = g->of[1], *bad = g->of[2], n = 0;

  PetscFunctionBegin;
  PetscCall(PetscSortIntWithArrayPair(g->pieces, label, rows, bad));
  for (PetscInt k = 0; k < g->pieces; k++) { /* parts on several ranks follow one another */
    if (n && label[n - 1] == label[k]) {
      rows[n - 1] += rows[k];
      bad[n - 1] += bad[k];
      continue;
    }
    label[n] = label[k];
    rows[n] = rows[k];
    bad[n++] = bad[k];
  }
  for (PetscInt k = 0; k < n; k++) {
    if (bad[k]) continue;
    label[ponds->n] = label[k];
    rows[ponds->n++] = rows[k];
  }
  PetscCall(PetscMalloc4(ponds->n, &ponds->row, ponds->n, &ponds->rows, ponds->n, &ponds->sum, ponds->n, &ponds->mean));
  PetscCall(PetscArraycpy(ponds->row, label, ponds->n));
  PetscCall(PetscArraycpy(ponds->rows, rows, ponds->n));
  PetscCall(PetscMalloc1(PetscMax(g->n, 1), &ponds->piece));
  for (PetscInt i = 0; i < g->n; i++) {
    PetscInt at;

    PetscCall(PetscFindInt(g->label[find(g->parent, i)], ponds->n, ponds->row, &at));
    ponds->piece[i] = at >= 0 ? at : -1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ponds_find(Graph *g, BCRPonds *ponds)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)g->A);

  PetscFunctionBegin;
  PetscCall(BCRFaultShare(comm, graph_local(g), BCR_NO_MEMORY));
  PetscCall(graph_join(g));
  PetscCall(graph_pieces(g, g->of));
  PetscCall(BCRFaultShare(comm, ponds_fill(g, ponds), BCR_NO_MEMORY));
  PetscCall(MatCreateVecs(g->A, NULL, &ponds->rhs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPondsFind(Mat A, BCRPonds *ponds)
{
  Graph g;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(BCRPondsDestroy(ponds));
  PetscCall(PetscMemzero(&g, sizeof(g)));
  g.A = A;
  PetscCall(MatGetOwnershipRange(A, &g.first, &g.n));
  g.n -= g.first;
  ierr = ponds_find(&g, ponds);
  PetscCall(graph_destroy(&g));
  PetscCall(ierr);
  ponds->known = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPondsRemove(const BCRPonds *ponds, Vec v, PetscScalar sum[])
{
  PetscScalar *a;
  PetscInt n;

  PetscFunctionBegin;
  if (!ponds->n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(VecGetArray(v, &a));
  PetscCall(PetscArrayzero(sum, ponds->n));
  for (PetscInt i = 0; i < n; i++)
    if (ponds->piece[i] >= 0) sum[ponds->piece[i]] += a[i];
  PetscCallMPI(
    MPI_Allreduce(MPI_IN_PLACE, sum, (PetscMPIInt)ponds->n, MPIU_SCALAR, MPIU_SUM, PetscObjectComm((PetscObject)v)));
  for (PetscInt i = 0; i < n; i++)
    if (ponds->piece[i] >= 0) a[i] -= sum[ponds->piece[i]] / (PetscReal)ponds->rows[ponds->piece[i]];
  PetscCall(VecRestoreArray(v, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}
