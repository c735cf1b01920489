/*
  Rows in any order, over ranks: which of them need a node, and the pattern of all of them on one rank.
*/
#include "findany.h"

/* So many rows, with so many entries each, are gathered on one rank: half a gigabyte of 32-bit numbers */
#define GATHER_ROWS    4000000
#define GATHER_ENTRIES 27

/* Of more than so many rows stars are found over the ranks first */
#define SPREAD_ROWS 10000

/* So many are looked at as they are: whatever they turn out to be takes no time */
#define FEW_ROWS 4096

static PetscErrorCode RowsDestroy(BCRAnyRows *A)
{
  PetscFunctionBegin;
  PetscCall(PetscSFDestroy(&A->sf));
  PetscCall(PetscFree(A->ghost));
  PetscCall(PetscFree(A->place));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective */
static PetscErrorCode RowsCreate(const BCRFindRows *R, BCRAnyRows *A)
{
  PetscLayout layout;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  for (int b = 0; b < 2 && !ierr; b++) ierr = BCRBlockFetch(&R->block[b]);
  if (!ierr) ierr = PetscMalloc1(R->n, &A->place);
  if (!ierr) ierr = PetscMalloc1(R->ghosts, &A->ghost);
  PetscCall(BCRFaultShare(R->comm, ierr, BCR_NO_MEMORY));
  if (R->size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLayoutCreate(R->comm, &layout));
  PetscCall(PetscLayoutSetLocalSize(layout, R->n));
  PetscCall(PetscLayoutSetUp(layout));
  PetscCall(PetscSFCreate(R->comm, &A->sf));
  PetscCall(PetscSFSetGraphLayout(A->sf, layout, R->ghosts, NULL, PETSC_OWN_POINTER, R->ghost));
  PetscCall(PetscLayoutDestroy(&layout));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* This rank's rows by themselves, each from what it holds: the first entry off the diagonal most often tells */
static void RowsClassify(BCRAnyRows *A)
{
  const BCRFindRows *R = A->R;

  for (PetscInt r = 0; r < R->n; r++) {
    PetscBool diagonal = PETSC_FALSE, zeros = PETSC_FALSE;
    PetscInt place = BCR_PLACE_EMPTY;

    for (int b = 0; b < 2 && R->i[b] && place == BCR_PLACE_EMPTY; b++)
      for (PetscInt k = R->i[b][r]; k < R->i[b][r + 1] && place == BCR_PLACE_EMPTY; k++) {
        const PetscBool own = (PetscBool)(b == 0 && R->j[0][k] == r);

        if (R->block[b].a[k] == (PetscScalar)0) zeros = (PetscBool)(zeros || !own);
        else if (own) diagonal = PETSC_TRUE;
        else place = BCR_PLACE_OPEN;
      }
    A->place[r] = place == BCR_PLACE_EMPTY && diagonal ? BCR_PLACE_ALONE : place;
    if (place != BCR_PLACE_OPEN && zeros) A->zeros++;
  }
}

/* Collective. Empty rows that others refer to are to have a node */
static PetscErrorCode RowsEmpty(BCRAnyRows *A)
{
  const BCRFindRows *R = A->R;
  PetscInt any = 0;

  PetscFunctionBegin;
  for (PetscInt r = 0; r < R->n && !any; r++) any = A->place[r] == BCR_PLACE_EMPTY;
  if (A->sf) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPIU_INT, MPI_MAX, R->comm));
  if (!any) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt c = 0; c < R->ghosts; c++) A->ghost[c] = BCR_PLACE_OPEN;
  for (PetscInt r = 0; r < R->n; r++)
    for (int b = 0; b < 2 && R->i[b] && A->place[r] == BCR_PLACE_OPEN; b++)
      for (PetscInt k = R->i[b][r]; k < R->i[b][r + 1]; k++)
        if (R->block[b].a[k] != (PetscScalar)0) {
          if (b) A->ghost[R->j[1][k]] = 0;
          else if (A->place[R->j[0][k]] == BCR_PLACE_EMPTY) A->place[R->j[0][k]] = 0; /* not OPEN: its row is empty */
        }
  if (A->sf) {
    PetscInt *referred = NULL;

    BCRCallElse(BCRFaultShare(R->comm, PetscMalloc1(R->n, &referred), BCR_NO_MEMORY), (void)PetscFree(referred));
    for (PetscInt r = 0; r < R->n; r++) referred[r] = BCR_PLACE_OPEN;
    PetscCall(PetscSFReduceBegin(A->sf, MPIU_INT, A->ghost, referred, MPI_MAX));
    PetscCall(PetscSFReduceEnd(A->sf, MPIU_INT, A->ghost, referred, MPI_MAX));
    for (PetscInt r = 0; r < R->n; r++)
      if (referred[r] == 0 && A->place[r] == BCR_PLACE_EMPTY) A->place[r] = 0;
    PetscCall(PetscFree(referred));
  }
  for (PetscInt r = 0; r < R->n; r++)
    if (A->place[r] == 0) A->place[r] = BCR_PLACE_OPEN;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of one rank, or of all ranks on rank 0 */
typedef struct {
  PetscInt n, *i, *j, *place;
  PetscScalar *a;                              /* values of the columns, if they were asked for */
  PetscMPIInt *entries, *first, *rows, *start; /* of each rank */
} AnyAll;

static PetscErrorCode AllDestroy(AnyAll *all)
{
  PetscFunctionBegin;
  PetscCall(PetscFree4(all->entries, all->first, all->rows, all->start));
  PetscCall(PetscFree3(all->i, all->j, all->place));
  PetscCall(PetscFree(all->a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* This rank's rows as global columns that count, one row after the other; i[r + 1] is how many row r has. values:
   theirs, too */
static PetscErrorCode AllPack(const BCRFindRows *R, PetscBool values, AnyAll *mine)
{
  PetscInt entries = 0, q = 0;

  PetscFunctionBegin;
  mine->n = R->n;
  for (int b = 0; b < 2 && R->i[b]; b++)
    for (PetscInt k = 0; k < R->i[b][R->n]; k++) entries += BCRFindLink(R, b, k) ? 1 : 0;
  PetscCall(PetscMalloc3(R->n + 1, &mine->i, entries, &mine->j, 1, &mine->place));
  if (values) PetscCall(PetscMalloc1(entries, &mine->a));
  mine->i[0] = 0;
  for (PetscInt r = 0; r < R->n; r++) {
    const PetscInt start = q;

    for (int b = 0; b < 2 && R->i[b]; b++)
      for (PetscInt k = R->i[b][r]; k < R->i[b][r + 1]; k++)
        if (BCRFindLink(R, b, k)) {
          if (values) mine->a[q] = R->block[b].a[k];
          mine->j[q++] = BCRFindColumn(R, b, k);
        }
    mine->i[r + 1] = q - start;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Memory for what ranks have, where and on the first one for all of it. entries: of all ranks */
static PetscErrorCode AllCreate(const BCRFindRows *R, PetscInt64 entries, PetscBool values, AnyAll *all)
{
  PetscFunctionBegin;
  all->n = R->rank ? 0 : R->N;
  PetscCall(PetscMalloc4(R->size, &all->entries, R->size, &all->first, R->size, &all->rows, R->size, &all->start));
  PetscCall(PetscMalloc3(all->n + 1, &all->i, R->rank ? 1 : (PetscInt)entries, &all->j, all->n + 1, &all->place));
  if (values) PetscCall(PetscMalloc1(R->rank ? 1 : (PetscInt)entries, &all->a));
  for (PetscMPIInt p = 0; p < R->size; p++) {
    all->rows[p] = (PetscMPIInt)(R->starts[p + 1] - R->starts[p]);
    all->start[p] = (PetscMPIInt)R->starts[p];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. mine of all ranks, with the places of their rows, on rank 0 */
static PetscErrorCode AllGather(const BCRAnyRows *A, const AnyAll *mine, AnyAll *all)
{
  const BCRFindRows *R = A->R;
  PetscInt count = 0;
  PetscMPIInt sent;

  PetscFunctionBegin;
  for (PetscInt r = 0; r < R->n; r++) count += mine->i[r + 1];
  sent = (PetscMPIInt)count;
  PetscCallMPI(MPI_Gather(&sent, 1, MPI_INT, all->entries, 1, MPI_INT, 0, R->comm));
  for (PetscMPIInt p = 0, next = 0; p < R->size && !R->rank; next += all->entries[p++]) all->first[p] = next;
  PetscCallMPI(MPI_Gatherv(mine->j, sent, MPIU_INT, all->j, all->entries, all->first, MPIU_INT, 0, R->comm));
  if (mine->a)
    PetscCallMPI(MPI_Gatherv(mine->a, sent, MPIU_SCALAR, all->a, all->entries, all->first, MPIU_SCALAR, 0, R->comm));
  PetscCallMPI(
    MPI_Gatherv(mine->i + 1, (PetscMPIInt)R->n, MPIU_INT, all->i + 1, all->rows, all->start, MPIU_INT, 0, R->comm));
  PetscCallMPI(
    MPI_Gatherv(A->place, (PetscMPIInt)R->n, MPIU_INT, all->place, all->rows, all->start, MPIU_INT, 0, R->comm));
  all->i[0] = 0;
  for (PetscInt r = 0; r < all->n; r++) all->i[r + 1] += all->i[r];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. The grid of all rows, found on rank 0, from the pattern or with values. *asked: these would have been
   of use */
static PetscErrorCode FindGatheredWith(BCRAnyRows *A, PetscInt64 entries, PetscBool values, PetscBool *asked,
                                       BCRFound *found)
{
  const BCRFindRows *R = A->R;
  AnyAll mine, all;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *asked = PETSC_FALSE;
  PetscCall(PetscMemzero(&mine, sizeof(mine)));
  PetscCall(PetscMemzero(&all, sizeof(all)));
  ierr = AllPack(R, values, &mine);
  if (!ierr) ierr = AllCreate(R, entries, values, &all);
  ierr = BCRFaultShare(R->comm, ierr, BCR_NO_MEMORY);
  if (!ierr) ierr = AllGather(A, &mine, &all);
  if (!ierr) {
    const BCRLinks links = {all.n, all.i, all.j, all.place, all.a, asked};

    if (!R->rank) ierr = BCRFindLinks(&links, found);
    ierr = BCRFaultShare(R->comm, ierr, BCR_NO_MEMORY);
  }
  if (!ierr) PetscCallMPI(MPI_Bcast(asked, (PetscMPIInt)sizeof(*asked), MPI_BYTE, 0, R->comm));
  if (!ierr && !*asked) {
    PetscCallMPI(MPI_Bcast(found, (PetscMPIInt)sizeof(*found), MPI_BYTE, 0, R->comm));
    PetscCallMPI(
      MPI_Scatterv(all.place, all.rows, all.start, MPIU_INT, A->place, (PetscMPIInt)R->n, MPIU_INT, 0, R->comm));
  }
  PetscCall(AllDestroy(&all));
  PetscCall(AllDestroy(&mine));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. Values are gathered only where it takes them */
static PetscErrorCode FindGathered(BCRAnyRows *A, BCRFound *found)
{
  const BCRFindRows *R = A->R;
  PetscInt64 entries = R->i[0][R->n] + (R->i[1] ? R->i[1][R->n] : 0);
  const BCRFound none = *found;
  PetscBool again = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &entries, 1, MPIU_INT64, MPI_SUM, R->comm));
  if (entries > (PetscInt64)GATHER_ROWS * GATHER_ENTRIES) {
    PetscCall(PetscSNPrintf(found->why, sizeof(found->why),
                            "row 0 (column 0) and %" PetscInt_FMT
                            " others have more entries than one rank gathers to find a grid: give it with "
                            "-pc_bcrpoisson_grid",
                            R->N - 1));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt values = 0; values < 2 && again; values++) {
    *found = none;
    PetscCall(FindGatheredWith(A, entries, (PetscBool)values, &again, found));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One rank: the matrix as it is, unless it has explicit zeros that are no links: then a copy, with values where it
   takes them */
static PetscErrorCode FindAlone(BCRAnyRows *A, BCRFound *found)
{
  const BCRFindRows *R = A->R;
  const BCRFound none = *found;
  PetscBool again = PETSC_TRUE;

  PetscFunctionBegin;
  for (PetscInt values = 0; values < 2 && again; values++) {
    BCRLinks links = {R->n, R->i[0], R->j[0], A->place, R->block[0].a, &again};
    AnyAll mine;

    if (values) { /* places are as they were */
      A->zeros = 0;
      RowsClassify(A);
      PetscCall(RowsEmpty(A));
    }
    *found = none;
    again = PETSC_FALSE;
    PetscCall(PetscMemzero(&mine, sizeof(mine)));
    if (R->dropzeros) {
      BCRCallElse(AllPack(R, (PetscBool)values, &mine), (void)AllDestroy(&mine));
      for (PetscInt r = 0; r < R->n; r++) mine.i[r + 1] += mine.i[r];
      links.i = mine.i;
      links.j = mine.j;
      links.a = mine.a;
    }
    BCRCallElse(BCRFindLinks(&links, found), (void)AllDestroy(&mine));
    PetscCall(AllDestroy(&mine));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. What found has beside the box: the places, and how many rows have none */
static PetscErrorCode FindFinish(BCRAnyRows *A, BCRFound *found)
{
  PetscInt count[3] = {0, 0, A->zeros};

  PetscFunctionBegin;
  for (PetscInt r = 0; r < A->R->n; r++) {
    count[0] += A->place[r] == BCR_PLACE_ALONE ? 1 : 0;
    count[1] += A->place[r] == BCR_PLACE_EMPTY ? 1 : 0;
  }
  if (A->sf) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, count, 3, MPIU_INT, MPI_SUM, A->R->comm));
  found->zeros = (PetscBool)(found->zeros || count[2]);
  if (!found->order) PetscFunctionReturn(PETSC_SUCCESS);
  found->why[0] = 0;
  found->fits = 0;
  for (int d = 0; d < 3; d++) found->parts[d] = 1;
  found->alone = count[0];
  found->empty = count[1];
  found->place = A->place;
  A->place = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. Up to so many rows are gathered. Stars, of more than a few rows, are found without: in less time, and it is
   not one rank that has all the work. Of axes with two nodes values have to say whether two of them are a ring of four */
static PetscErrorCode FindSpread(BCRAnyRows *A, PetscInt rows, BCRFound *found)
{
  const BCRFindRows *R = A->R;
  const BCRFound none = *found;

  PetscFunctionBegin;
  if (R->N > PetscMin(rows, SPREAD_ROWS)) {
    PetscBool two = PETSC_FALSE;

    PetscCall(BCRFindByDistances(A, found));
    for (int d = 0; d < 3; d++) two = (PetscBool)(two || found->N[d] == 2);
    if ((found->order && !two) || R->N > rows) PetscFunctionReturn(PETSC_SUCCESS);
    *found = none;
    A->zeros = 0;
    RowsClassify(A);
    PetscCall(RowsEmpty(A));
  }
  PetscCall(FindGathered(A, found));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFindAnyUpTo(PetscInt rows, const BCRFindRows *R, BCRFound *found)
{
  BCRAnyRows A;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (R->N > FEW_ROWS) {
    PetscCall(BCRFindSample(R, found));
    if (found->why[0]) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscMemzero(&A, sizeof(A)));
  A.R = R;
  found->fits = -1;
  ierr = RowsCreate(R, &A);
  if (!ierr) {
    RowsClassify(&A);
    ierr = RowsEmpty(&A);
  }
  if (!ierr) {
    if (R->size == 1) ierr = FindAlone(&A, found);
    else ierr = FindSpread(&A, rows, found);
  }
  if (!ierr) ierr = FindFinish(&A, found);
  PetscCall(RowsDestroy(&A));
  PetscCall(ierr);
  found->fits = PetscMax(found->fits, 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFindAny(const BCRFindRows *R, BCRFound *found)
{
  PetscFunctionBegin;
  PetscCall(BCRFindAnyUpTo(GATHER_ROWS, R, found));
  PetscFunctionReturn(PETSC_SUCCESS);
}
