/*
  The grid of a matrix: its pattern is opened, distances of columns from the diagonal are collected, and the ways are
  tried one after the other.
*/
#include "findimpl.h"
#include "grid.h"

/* In this order. last: not where another one, with or without explicit zeros, finds a star with all links, nor in
   matrices of many rows where another one finds any grid, unless nodes of that may be exchanged */
static const struct {
  const char *name;
  PetscErrorCode (*find)(const BCRFindRows *, BCRFound *);
  PetscBool last;
} ways[] = {
  {"natural order",                  BCRFindNatural, PETSC_FALSE},
  {"the order of a DMDA over ranks", BCRFindBoxes,   PETSC_FALSE},
  {"any order",                      BCRFindAny,     PETSC_TRUE },
};

PetscErrorCode BCRFindRowsOpen(Mat P, BCRFindRows *R)
{
  Mat mat[2];

  PetscFunctionBegin;
  PetscCall(PetscMemzero(R, sizeof(*R)));
  R->comm = PetscObjectComm((PetscObject)P);
  PetscCallMPI(MPI_Comm_size(R->comm, &R->size));
  PetscCallMPI(MPI_Comm_rank(R->comm, &R->rank));
  PetscCall(MatGetSize(P, &R->N, NULL));
  PetscCall(MatGetOwnershipRanges(P, &R->starts));
  R->first = R->starts[R->rank];
  R->n = R->starts[R->rank + 1] - R->first;
  PetscCall(BCRMatGetBlocks(P, &mat[0], &mat[1], &R->ghost));
  if (mat[1]) PetscCall(MatGetSize(mat[1], NULL, &R->ghosts));
  for (int b = 0; b < 2; b++) {
    PetscCall(BCRBlockOpen(mat[b], &R->block[b]));
    R->i[b] = R->block[b].i;
    R->j[b] = R->block[b].j;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFindRowsClose(BCRFindRows *R)
{
  PetscFunctionBegin;
  for (int b = 0; b < 2; b++) PetscCall(BCRBlockClose(&R->block[b]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFindRowsDropZeros(BCRFindRows *R, PetscBool drop)
{
  PetscFunctionBegin;
  R->dropzeros = drop;
  for (int b = 0; b < 2; b++) {
    if (drop) PetscCall(BCRBlockFetch(&R->block[b]));
    R->a[b] = drop ? R->block[b].a : NULL;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. Whether there are explicit zeros */
static PetscErrorCode RowsZeros(BCRFindRows *R, PetscBool *any)
{
  PetscInt zeros = 0;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  for (int b = 0; b < 2 && !ierr; b++) ierr = BCRBlockFetch(&R->block[b]);
  PetscCall(BCRFaultShare(R->comm, ierr, "could not bring the values of the matrix to the host"));
  for (int b = 0; b < 2 && !zeros; b++) {
    const PetscInt end = R->i[b] ? R->i[b][R->n] : 0;

    for (PetscInt k = 0; k < end && !zeros; k++) zeros = R->block[b].a[k] == (PetscScalar)0;
  }
  if (R->size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &zeros, 1, MPIU_INT, MPI_MAX, R->comm));
  *any = (PetscBool)(zeros > 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void DistancesAdd(BCRDistances *list, PetscInt apart, PetscInt row, PetscInt column)
{
  const int at = BCRDistancesIndex(list, apart);
  unsigned s = BCRDistancesSlot(apart);

  if (at >= 0) {
    if (list->row[at] == row) list->column[at] = PetscMin(list->column[at], column);
    return;
  }
  while (list->slot[s]) s = (s + 1) % 256;
  list->apart[list->count] = apart;
  list->row[list->count] = row;
  list->column[list->count] = column;
  list->slot[s] = (unsigned char)++list->count;
}

/* Of two lists the distances that come first, by row and then by distance: the same in whatever order lists are merged,
   and the same as those of one list of all rows */
static void DistancesMerge(const BCRDistances *a, const BCRDistances *b, BCRDistances *all)
{
  PetscInt i = 0, j = 0;

  (void)memset(all, 0, sizeof(*all));
  while ((i < a->count || j < b->count) && all->count <= BCR_DISTANCES) {
    PetscBool take = (PetscBool)(j >= b->count);

    if (i < a->count && j < b->count)
      take = (PetscBool)(a->row[i] < b->row[j] || (a->row[i] == b->row[j] && a->apart[i] <= b->apart[j]));
    if (take) DistancesAdd(all, a->apart[i], a->row[i], a->column[i]), i++;
    else DistancesAdd(all, b->apart[j], b->row[j], b->column[j]), j++;
  }
}

/* an MPI_User_function */
static void MPIAPI distances_merge(void *in, void *inout, int *count, MPI_Datatype *type)
{
  (void)type;
  for (int k = 0; k < *count; k++) {
    const BCRDistances mine = ((BCRDistances *)inout)[k];

    DistancesMerge(&mine, (BCRDistances *)in + k, (BCRDistances *)inout + k);
  }
}

/* Distances of one row are in ascending order, as those of one list of all blocks would be */
static void DistancesSort(BCRDistances *list)
{
  for (PetscInt k = 1; k < list->count; k++) {
    const PetscInt apart = list->apart[k], row = list->row[k], column = list->column[k];
    PetscInt l = k;

    for (; l > 0 && list->row[l - 1] == row && list->apart[l - 1] > apart; l--) {
      list->apart[l] = list->apart[l - 1];
      list->column[l] = list->column[l - 1];
    }
    list->apart[l] = apart;
    list->column[l] = column;
  }
  (void)memset(list->slot, 0, sizeof(list->slot));
  for (PetscInt k = 0; k < list->count; k++) {
    unsigned s = BCRDistancesSlot(list->apart[k]);

    while (list->slot[s]) s = (s + 1) % 256;
    list->slot[s] = (unsigned char)(k + 1);
  }
}

/* Those of block b, as far as they are few */
static void DistancesOfBlock(const BCRFindRows *R, int b, BCRDistances *list)
{
  (void)memset(list, 0, sizeof(*list));
  for (PetscInt r = 0; R->i[b] && r < R->n; r++) {
    const PetscInt row = R->first + r;

    if (b == 0 && r > 0 && BCRFindRepeats(R, r, 1)) continue;
    for (PetscInt k = R->i[b][r]; k < R->i[b][r + 1]; k++) {
      const PetscInt column = BCRFindColumn(R, b, k), apart = PetscAbs(column - row);

      if (apart == 0 || !BCRFindLink(R, b, k)) continue;
      DistancesAdd(list, apart, row, column);
      if (list->count > BCR_DISTANCES) break;
    }
    if (list->count > BCR_DISTANCES) break;
  }
  DistancesSort(list);
}

/* Collective */
static PetscErrorCode DistancesCollect(BCRFindRows *R)
{
  BCRDistances far;
  MPI_Datatype type;
  MPI_Op op;

  PetscFunctionBegin;
  DistancesOfBlock(R, 0, &R->near);
  DistancesOfBlock(R, 1, &far);
  DistancesMerge(&R->near, &far, &R->all);
  if (R->size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Type_contiguous((PetscMPIInt)sizeof(BCRDistances), MPI_BYTE, &type));
  PetscCallMPI(MPI_Type_commit(&type));
  PetscCallMPI(MPI_Op_create(distances_merge, 1, &op));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &R->all, 1, type, op, R->comm));
  PetscCallMPI(MPI_Op_free(&op));
  PetscCallMPI(MPI_Type_free(&type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A few numbers in any order may be those of some star in natural order with some of its links: one in which every
   link is there that does not lead to a row with a diagonal alone is worth more then. Beyond so many rows that does
   not happen, and is not looked for */
#define BCR_FEW_ROWS 4096
#define BCR_REACHES  4 /* what an axis more in the reach of a stencil is worth in rings */

/* Collective. Entries beside the diagonal of all rows, links[N]; NULL of many rows */
static PetscErrorCode CountLinks(const BCRFindRows *R, PetscInt **links)
{
  PetscFunctionBegin;
  *links = NULL;
  if (R->N > BCR_FEW_ROWS) PetscFunctionReturn(PETSC_SUCCESS);
  BCRCallElse(BCRFaultShare(R->comm, PetscCalloc1(R->N, links), BCR_NO_MEMORY), (void)PetscFree(*links));
  for (int b = 0; b < 2; b++) {
    for (PetscInt r = 0; R->i[b] && r < R->n; r++)
      for (PetscInt k = R->i[b][r]; k < R->i[b][r + 1]; k++)
        if (BCRFindColumn(R, b, k) != R->first + r && BCRFindLink(R, b, k)) ++(*links)[R->first + r];
  }
  if (R->size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, *links, (PetscMPIInt)R->N, MPIU_INT, MPI_SUM, R->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Not collective. The entry of this rank's row r in a global column */
static PetscScalar RowValue(const BCRFindRows *R, PetscInt r, PetscInt column)
{
  for (int b = 0; b < 2; b++)
    for (PetscInt k = R->i[b] ? R->i[b][r] : 0; k < (R->i[b] ? R->i[b][r + 1] : 0); k++)
      if (BCRFindColumn(R, b, k) == column) return R->block[b].a[k];
  return 0;
}

/* The number of the row s nodes from one along an axis; -1: there is none */
static PetscInt RowBeside(const BCRGrid *grid, PetscInt row, PetscInt d, PetscInt s)
{
  PetscInt node[3];

  BCRGridNode(grid, row / grid->dof, node);
  node[d] += s;
  if (grid->periodic[d]) node[d] = (node[d] + grid->N[d]) % grid->N[d];
  if (node[d] < 0 || node[d] >= grid->N[d]) return -1;
  return row % grid->dof + grid->dof * BCRGridNumber(grid, node);
}

/* The same on all ranks. Does a row of a star lack a link that leads to a row with links? */
static PetscBool LinksMissing(const BCRFindRows *R, const PetscInt links[], const BCRGrid *grid)
{
  for (PetscInt row = 0; row < R->N; row++) {
    PetscInt least = 0; /* links that have to be there */

    if (!links[row]) continue;
    for (PetscInt d = 0; d < grid->dim; d++) {
      for (PetscInt s = -1; s < 2; s += 2) {
        const PetscInt to = RowBeside(grid, row, d, s);

        if (to >= 0 && links[to]) least++;
      }
    }
    if (links[row] < least) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

/* Collective. Is one of the axes a ring of four with couplings or diagonals that differ? It may be 2 x 2 nodes */
static PetscErrorCode RingsUneven(const BCRFindRows *R, const BCRGrid *grid, PetscBool *uneven)
{
  const PetscReal rounding = (PetscReal)1e3 * PETSC_MACHINE_EPSILON;
  PetscInt any = 0;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  *uneven = PETSC_FALSE;
  for (PetscInt d = 0; d < 3; d++) any += grid->periodic[d] && grid->N[d] == 4 ? 1 : 0;
  if (!any) PetscFunctionReturn(PETSC_SUCCESS);
  for (int b = 0; b < 2 && !ierr; b++) ierr = BCRBlockFetch(&R->block[b]);
  PetscCall(BCRFaultShare(R->comm, ierr, "could not bring the values of the matrix to the host"));
  any = 0;
  for (PetscInt r = 0; r < R->n; r++)
    for (PetscInt d = 0; d < 3; d++) {
      const PetscInt row = R->first + r;
      PetscScalar ahead, back, own = 0;
      PetscInt next;

      if (!grid->periodic[d] || grid->N[d] != 4) continue;
      next = RowBeside(grid, row, d, 1);
      ahead = RowValue(R, r, next);
      back = RowValue(R, r, RowBeside(grid, row, d, -1));
      if (next >= R->first && next < R->first + R->n)
        own = RowValue(R, r, row) - RowValue(R, next - R->first, next); /* on other ranks couplings have to do */
      any |= PetscAbsScalar(ahead - back) > rounding * PetscAbsScalar(ahead) ||
             PetscAbsScalar(own) > rounding * PetscAbsScalar(RowValue(R, r, row));
    }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPIU_INT, MPI_MAX, R->comm));
  *uneven = (PetscBool)(any > 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As BCRFindComplexity(), and above all with links that are missing, or nodes that may be exchanged. Of few rows,
   stars in natural order or box after box are looked at closer: links[N] */
static PetscErrorCode Complexity(const BCRFindRows *R, const PetscInt links[], const BCRFound *found,
                                 PetscInt *complexity)
{
  static const PetscInt one[3] = {1, 1, 1};
  const PetscInt *const widths[3] = {found->widths[0], found->widths[1], found->widths[2]};
  PetscBool missing = PETSC_FALSE, uneven = PETSC_FALSE;
  BCRGrid grid;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *complexity = BCR_NO_GRID;
  if (!found->order) PetscFunctionReturn(PETSC_SUCCESS);
  if (links && found->reach == 1 && found->order != BCR_FOUND_ANY) {
    PetscCall(BCRGridCreateBoxes(R->comm, 0, found->dim, found->dof, found->N, found->ring,
                                 found->order == BCR_FOUND_BOXES ? found->parts : one, widths, &grid));
    missing = LinksMissing(R, links, &grid);
    ierr = RingsUneven(R, &grid, &uneven);
    PetscCall(BCRGridDestroy(&grid));
    PetscCall(ierr);
  }
  for (PetscInt d = 0; d < 3 && found->order == BCR_FOUND_ANY; d++) /* it has been looked at as one of 2 x 2 */
    if (found->ring[d] && found->N[d] == 4) uneven = PETSC_TRUE;
  *complexity = (missing || found->alike ? BCR_NO_GRID / 2 : 0) + BCR_REACHES * (found->reach - 1 + (uneven ? 1 : 0)) +
                found->ring[0] + found->ring[1] + found->ring[2];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the ways have found so far */
typedef struct {
  BCRFound found;
  PetscInt complexity;
} Best;

/* The ways that come last, or the others: what is simpler than the best is the best; where none has found a grid it
   has the reason of the way that came furthest, of several the most general */
static PetscErrorCode FindWays(const BCRFindRows *R, const PetscInt links[], PetscBool last, Best *best)
{
  BCRFound *found = &best->found;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(ways); k++) {
    BCRFound mine;
    PetscInt its;
    PetscBool better;

    if (ways[k].last != last || best->complexity == 0) continue;
    if (last && (best->complexity < BCR_REACHES || (found->order && !found->alike && !links))) continue;
    PetscCall(PetscMemzero(&mine, sizeof(mine)));
    PetscCall(ways[k].find(R, &mine));
    PetscCall(PetscInfo(R->block[0].mat, "%s%s: %s\n", ways[k].name, R->dropzeros ? ", without explicit zeros" : "",
                        mine.order ? "a grid" : mine.why));
    BCRCallElse(Complexity(R, links, &mine, &its), (void)BCRFoundDestroy(&mine));
    if (mine.order || found->order) better = (PetscBool)(its < best->complexity);
    else better = (PetscBool)(mine.why[0] && (!found->why[0] || mine.fits >= found->fits));
    if (better) {
      PetscCall(BCRFoundDestroy(found));
      *found = mine;
      found->zeros = (PetscBool)(found->zeros || R->dropzeros);
      best->complexity = its;
    } else PetscCall(BCRFoundDestroy(&mine));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FindOnce(BCRFindRows *R, PetscBool dropzeros, PetscBool last, Best *best)
{
  PetscInt *links;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (best->complexity == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRFindRowsDropZeros(R, dropzeros));
  if (!last) PetscCall(DistancesCollect(R));
  PetscCall(CountLinks(R, &links));
  ierr = FindWays(R, links, last, best);
  PetscCall(PetscFree(links));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ways in any order cost more than the others do without explicit zeros */
static PetscErrorCode FindBest(BCRFindRows *R, Best *best)
{
  PetscBool zeros = PETSC_FALSE;

  PetscFunctionBegin;
  if (R->N == 0) {
    PetscCall(PetscStrncpy(best->found.why, "the matrix has no rows", sizeof(best->found.why)));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(FindOnce(R, PETSC_FALSE, PETSC_FALSE, best));
  if (best->complexity == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(RowsZeros(R, &zeros));
  if (zeros) PetscCall(FindOnce(R, PETSC_TRUE, PETSC_FALSE, best));
  PetscCall(FindOnce(R, PETSC_FALSE, PETSC_TRUE, best));
  if (zeros) PetscCall(FindOnce(R, PETSC_TRUE, PETSC_TRUE, best));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRGridFind(Mat P, BCRFound *found)
{
  Best best = {.complexity = BCR_NO_GRID};
  BCRFindRows rows;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(BCRFindRowsOpen(P, &rows));
  ierr = FindBest(&rows, &best);
  PetscCall(BCRFindRowsClose(&rows));
  if (ierr) (void)BCRFoundDestroy(&best.found);
  *found = best.found;
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFoundDestroy(BCRFound *found)
{
  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) PetscCall(PetscFree(found->widths[d]));
  PetscCall(PetscFree(found->place));
  PetscCall(PetscMemzero(found, sizeof(*found)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
