/*
  The lists of a capacitance system: entries of the rows that differ, rows of the mask, links to it, from the ranks whose
  boxes of the grid have the rows to those whose slabs do.
*/
#include "capimpl.h"
#include <stdlib.h>

typedef enum {
  DIFFERS,
  MASKED,
  LINKED,
  SHORE,
  LIFTED,
  KINDS
} EntryKind;

/* row, col: numbers of vectors of the layout on all ranks. Of the mask, and of what its rows add up to, a run of rows along x, as
   many as col says, each a component's next one */
typedef struct {
  PetscInt kind, row, col;
  PetscReal value;
} Entry;

static int entry_compare(const void *a, const void *b)
{
  const Entry *x = (const Entry *)a, *y = (const Entry *)b;

  if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
  if (x->row != y->row) return x->row < y->row ? -1 : 1;
  return x->col < y->col ? -1 : x->col > y->col;
}

/* By kind and row. Lists of one component that come from one rank are so as they are */
static void entries_order(PetscInt n, Entry *e)
{
  for (PetscInt k = 1; k < n; k++) {
    if (e[k - 1].kind < e[k].kind || (e[k - 1].kind == e[k].kind && e[k - 1].row <= e[k].row)) continue;
    qsort(e, (size_t)n, sizeof(Entry), entry_compare);
    return;
  }
}

/* Numbers of component c at nodes of the layout. The last node that was asked for, and those behind it on its line
   that the same rank has, have numbers without a division */
typedef struct {
  const BCRGrid *layout;
  PetscInt dof, c, first, end, number;
} Numbering;

static PetscInt number_of(Numbering *N, PetscInt node)
{
  const BCRGrid *g = N->layout;

  if (node < N->first || node >= N->end) {
    PetscInt ix[3], part = 0;

    N->first = node;
    if (g->size == 1) { /* all of them */
      N->first = N->number = 0;
      N->end = g->N[0] * g->N[1] * g->N[2];
    } else {
      BCRGridNaturalNode(g, node, ix);
      while (g->first[0][part + 1] <= ix[0]) part++;
      N->end = node + g->first[0][part + 1] - ix[0];
      N->number = BCRGridNumber(g, ix);
    }
  }
  return N->c + N->dof * (N->number + node - N->first);
}

/* The run of nodes that begins at node, in as many entries as ranks have parts of it */
static PetscInt run_entries(Numbering *N, EntryKind kind, PetscInt node, PetscInt length, PetscReal value, Entry *e)
{
  PetscInt count = 0, n;

  for (; length > 0; length -= n, node += n) {
    const PetscInt row = number_of(N, node);

    n = PetscMin(length, N->end - node);
    e[count++] = (Entry){kind, row, n, value};
  }
  return count;
}

static PetscErrorCode entries_collect(const BCRGrid *layout, PetscInt dof, const BCROperator ops[], PetscInt *n,
                                      Entry **entries)
{
  PetscInt at = 0, room = 0;

  PetscFunctionBegin;
  *n = 0;
  for (PetscInt c = 0; c < dof; c++) {
    const BCRDiffer x = ops[c].differ;

    if (x) room += (x->m ? x->start[x->m] : 0) + (x->runs + x->lifts) * layout->parts[0] + x->links + x->shores;
  }
  PetscCall(PetscMalloc1(PetscMax(room, 1), entries));
  for (PetscInt c = 0; c < dof; c++) {
    const BCRDiffer x = ops[c].differ;
    Entry *e = *entries;
    Numbering rows = {layout, dof, c, 0, 0, 0}, cols = rows;

    if (!x) continue;
    for (PetscInt i = 0; i < x->m; i++)
      for (PetscInt k = x->start[i]; k < x->start[i + 1]; k++)
        e[at++] = (Entry){DIFFERS, number_of(&rows, x->row[i]), number_of(&cols, x->col[k]), x->value[k]};
    for (PetscInt i = 0; i < x->runs; i++)
      at += run_entries(&rows, MASKED, x->run[i], x->length[i], x->inverse[i], e + at);
    for (PetscInt i = 0; i < x->links; i++)
      e[at++] = (Entry){LINKED, number_of(&rows, x->linkrow[i]), number_of(&cols, x->linkcol[i]), x->linkvalue[i]};
    for (PetscInt i = 0; i < x->shores; i++)
      e[at++] = (Entry){SHORE, number_of(&rows, x->shore[i]), 1, x->shorevalue[i]};
    for (PetscInt i = 0; i < x->lifts; i++)
      at += run_entries(&rows, LIFTED, x->lift[i], x->liftlength[i], x->liftvalue[i], e + at);
  }
  *n = at;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sorts entries by the rank that has their row. count: how many go to each, where those begin, and the same of what comes,
   [4][size]. Collective */
static PetscErrorCode entries_sort(PetscLayout rows, PetscMPIInt size, PetscInt n, const Entry *e, Entry *sorted,
                                   PetscMPIInt *count)
{
  PetscMPIInt *to = count, *tos = count + size, *of = count + 2 * size, *ofs = count + 3 * size;
  PetscMPIInt owner;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(to, size));
  for (PetscInt k = 0; k < n; k++) {
    PetscCall(PetscLayoutFindOwner(rows, e[k].row, &owner));
    to[owner]++;
  }
  PetscCallMPI(MPI_Alltoall(to, 1, MPI_INT, of, 1, MPI_INT, rows->comm));
  tos[0] = ofs[0] = 0;
  for (PetscMPIInt p = 0; p + 1 < size; p++) {
    tos[p + 1] = tos[p] + to[p];
    ofs[p + 1] = ofs[p] + of[p];
  }
  for (PetscInt k = 0; k < n; k++) {
    PetscCall(PetscLayoutFindOwner(rows, e[k].row, &owner));
    sorted[tos[owner]++] = e[k];
  }
  for (PetscMPIInt p = 0; p < size; p++) tos[p] -= to[p];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* To the ranks that have the rows. Collective */
static PetscErrorCode entries_send(PetscLayout rows, PetscInt *n, Entry **entries)
{
  PetscMPIInt size, *count = NULL;
  PetscErrorCode ierr;
  Entry *sorted = NULL, *here = NULL;
  PetscInt got = 0;
  MPI_Datatype type;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(rows->comm, &size));
  if (size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  ierr = PetscMalloc2(4 * size, &count, *n, &sorted);
  ierr = BCRFaultShare(rows->comm, ierr, BCR_NO_MEMORY);
  if (!ierr) ierr = entries_sort(rows, size, *n, *entries, sorted, count);
  for (PetscMPIInt p = 0; p < size && !ierr; p++) got += count[2 * size + p];
  if (!ierr) ierr = BCRFaultShare(rows->comm, PetscMalloc1(PetscMax(got, 1), &here), BCR_NO_MEMORY);
  BCRCallElse(ierr, (void)PetscFree2(count, sorted), (void)PetscFree(here));
  PetscCallMPI(MPI_Type_contiguous((PetscMPIInt)sizeof(Entry), MPI_BYTE, &type));
  PetscCallMPI(MPI_Type_commit(&type));
  PetscCallMPI(
    MPI_Alltoallv(sorted, count, count + size, type, here, count + 2 * size, count + 3 * size, type, rows->comm));
  PetscCallMPI(MPI_Type_free(&type));
  PetscCall(PetscFree2(count, sorted));
  PetscCall(PetscFree(*entries));
  *entries = here;
  *n = got;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers of the columns of other ranks, each once, ascending, and how to get what they have. Collective */
static PetscErrorCode make_ghosts(BCRCapacitance cap, PetscLayout rows, PetscInt n, const Entry *e, PetscInt **ghost)
{
  PetscInt first, last, at = 0;

  PetscFunctionBegin;
  PetscCall(PetscLayoutGetRange(rows, &first, &last));
  BCRCallElse(BCRFaultShare(cap->comm, PetscMalloc1(PetscMax(n, 1), ghost), BCR_NO_MEMORY), (void)0);
  for (PetscInt k = 0; k < n; k++)
    if ((e[k].kind == DIFFERS || e[k].kind == LINKED) && (e[k].col < first || e[k].col >= last))
      (*ghost)[at++] = e[k].col;
  PetscCall(PetscSortRemoveDupsInt(&at, *ghost));
  cap->ghosts = at;
  PetscCall(BCRGhostsCreate(rows, at, *ghost, &cap->exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where this rank has an entry of that number on all ranks */
static PetscErrorCode make_col(BCRCapacitance cap, PetscInt first, const PetscInt *ghost, PetscInt number,
                               PetscInt *col)
{
  PetscFunctionBegin;
  *col = number - first;
  if (*col >= 0 && *col < cap->n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFindInt(number, cap->ghosts, ghost, col));
  *col += cap->n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of n entries: to[i], or row[i], is what they are */
static PetscErrorCode make_rows(BCRCapacitance cap, PetscInt first, PetscInt n, const Entry *e, const PetscInt *ghost,
                                PetscInt **row, BCRSparse *A)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) A->rows += k == 0 || e[k].row != e[k - 1].row;
  PetscCall(PetscMalloc1(A->rows, row));
  PetscCall(PetscMalloc1(A->rows + 1, &A->start));
  PetscCall(PetscMalloc1(n, &A->from));
  PetscCall(PetscMalloc1(n, &A->value));
  for (PetscInt k = 0, i = 0; k < n; k++) {
    if (k == 0 || e[k].row != e[k - 1].row) {
      (*row)[i] = e[k].row - first;
      A->start[i++] = k;
    }
    PetscCall(make_col(cap, first, ghost, e[k].col, &A->from[k]));
    A->value[k] = e[k].value;
  }
  A->start[A->rows] = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* lift: A~ 1, 1 that of the mask of each component, in rows of the fluid and then in the mask, from the entries of those; share:
   what gives the mean -(f~, 1)/(A~ 1, 1) over the first ones. Collective */
static PetscErrorCode make_lift(BCRCapacitance cap, PetscInt first, PetscInt shores, PetscInt n, const Entry *e)
{
  BCRSparse *A = &cap->lift;
  PetscReal *sums; /* of each component: of A~ 1 on the shore, of its sizes */
  PetscErrorCode ierr;

  PetscFunctionBegin;
  cap->shores = shores;
  for (PetscInt k = 0; k < n; k++) A->rows += e[k].col;
  ierr = PetscCalloc1(2 * cap->dof, &sums);
  if (!ierr) ierr = PetscMalloc1(A->rows, &A->to);
  if (!ierr) ierr = PetscMalloc1(A->rows, &A->from);
  if (!ierr) ierr = PetscMalloc1(A->rows, &A->value);
  if (!ierr) ierr = PetscCalloc1(cap->dof * shores, &cap->share);
  BCRCallElse(BCRFaultShare(cap->comm, ierr, BCR_NO_MEMORY), (void)PetscFree(sums));
  for (PetscInt k = 0, at = 0; k < n; k++)
    for (PetscInt i = 0; i < e[k].col; i++, at++) {
      A->to[at] = e[k].row - first + cap->dof * i;
      A->from[at] = A->to[at] % cap->dof;
      A->value[at] = e[k].value;
    }
  for (PetscInt i = 0; i < shores; i++) {
    sums[2 * A->from[i]] += A->value[i];
    sums[2 * A->from[i] + 1] += PetscAbsReal(A->value[i]);
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sums, (PetscMPIInt)(2 * cap->dof), MPIU_REAL, MPIU_SUM, cap->comm));
  for (PetscInt i = 0; i < shores; i++) {
    const PetscInt c = A->from[i];

    if (PetscAbsReal(sums[2 * c]) > sums[2 * c + 1] / 2) cap->share[c * shores + i] = -1 / sums[2 * c];
  }
  PetscCall(PetscFree(sums));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The lists from the entries of this rank, in the order of their kinds and rows */
static PetscErrorCode make_lists(BCRCapacitance cap, PetscInt first, const PetscInt count[KINDS], const Entry *e,
                                 const PetscInt *ghost)
{
  const Entry *mask = e + count[DIFFERS], *links = mask + count[MASKED];

  PetscFunctionBegin;
  PetscCall(make_rows(cap, first, count[DIFFERS], e, ghost, &cap->row, &cap->from[0]));
  PetscCall(make_rows(cap, first, count[LINKED], links, ghost, &cap->links[0].to, &cap->links[0]));
  cap->m = cap->from[0].rows;
  for (PetscInt k = 0; k < count[MASKED]; k++) cap->masked += mask[k].col;
  PetscCall(PetscMalloc2(cap->m, &cap->scale, cap->m, &cap->one));
  PetscCall(PetscMalloc2(cap->masked, &cap->mask, cap->masked, &cap->inverse));
  for (PetscInt k = 0, at = 0; k < count[MASKED]; at += mask[k++].col) {
    const PetscInt row = mask[k].row - first, dof = cap->dof, rows = mask[k].col;
    PetscInt *to = cap->mask + at;
    PetscReal *inverse = cap->inverse + at;

    for (PetscInt i = 0; i < rows; i++) to[i] = row + dof * i;
    for (PetscInt i = 0; i < rows; i++) inverse[i] = mask[k].value;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCapacitanceEntries(BCRCapacitance cap, const BCRGrid *layout, const BCROperator ops[])
{
  PetscInt n = 0, first, count[KINDS] = {0}, *ghost = NULL;
  PetscMPIInt some[2];
  PetscLayout rows;
  Entry *e = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscLayoutCreateFromSizes(cap->comm, cap->n, PETSC_DECIDE, 1, &rows));
  PetscCall(PetscLayoutGetRange(rows, &first, NULL));
  ierr = entries_collect(layout, cap->dof, ops, &n, &e);
  ierr = BCRFaultShare(cap->comm, ierr, BCR_NO_MEMORY);
  if (!ierr) ierr = entries_send(rows, &n, &e);
  if (!ierr) {
    entries_order(n, e);
    for (PetscInt k = 0; k < n; k++) count[e[k].kind]++;
    ierr = make_ghosts(cap, rows, n, e, &ghost);
  }
  if (!ierr) ierr = BCRFaultShare(cap->comm, make_lists(cap, first, count, e, ghost), BCR_NO_MEMORY);
  some[0] = cap->links[0].rows > 0;
  some[1] = count[SHORE] > 0;
  if (!ierr) {
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, some, 2, MPI_INT, MPI_MAX, cap->comm));
    cap->linked = (PetscBool)some[0];
    cap->shore = (PetscBool)some[1];
    if (cap->shore)
      ierr = make_lift(cap, first, count[SHORE], count[SHORE] + count[LIFTED], e + n - count[SHORE] - count[LIFTED]);
  }
  PetscCall(PetscFree(ghost));
  PetscCall(PetscFree(e));
  PetscCall(PetscLayoutDestroy(&rows));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
