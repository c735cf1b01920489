/*
  Natural order: the node of a row follows from its number, wherever ranks cut the rows. What is sought are the sizes of
  the axes, which are among the distances of columns from the diagonal.

  The interlaced components that are not coupled are so many that all distances, and the number of rows, are multiples
  of it. In nodes, the size of the first axis is one of the distances, that of a plane another, or there are no further
  axes. Sizes that some distance cannot come from are refused without a look at the rows. Of several answers that with
  the fewest axes in one entry counts, of these the one with the fewest rings, then with the fewest axes, then with the
  longest last axis. (A diagonal matrix is a line of nodes without couplings.) Links may be missing anywhere: a node's
  place does not depend on them. Where they are missing so that the matrix is equal grids one after the other, these are
  components that are not interlaced; if there are many, the last axis counts them.
*/
#include "findimpl.h"

#define NATURAL_COMPONENTS 8    /* so many equal grids one after the other are components */
#define NATURAL_DIVISORS   4096 /* divisors of a number of nodes, so many at most; of numbers below 2^31 there are 1536 */

/* Sizes that are looked at, and the best so far */
typedef struct {
  const BCRFindRows *rows;
  BCRFindBox box;
  BCRFindMet met;  /* of the box that is best so far; row == rows->N: it fits */
  PetscInt N[3];   /* its sizes */
  PetscInt best;   /* its complexity */
  PetscInt wanted; /* boxes in which an entry spans at least this many axes are looked at now */
} NaturalSearch;

/* The nodes of the columns of other ranks */
static void NaturalGhosts(const BCRFindRows *R, BCRFindBox *box)
{
  for (PetscInt k = 0; k < R->ghosts; k++) {
    const PetscInt node = R->ghost[k] / box->dof;

    box->node[3 * k] = node % box->N[0];
    box->node[3 * k + 1] = node / box->N[0] % box->N[1];
    box->node[3 * k + 2] = node / box->N[0] / box->N[1] % box->N[2];
  }
}

static PetscErrorCode NaturalTry(NaturalSearch *s, PetscInt nx, PetscInt ny, PetscInt nz)
{
  const PetscInt N[3] = {nx, ny, nz};
  PetscInt least, mine = BCR_NO_GRID;
  BCRFindMet met;

  PetscFunctionBegin;
  PetscCall(PetscArraycpy(s->box.N, N, 3));
  PetscCall(PetscArraycpy(s->box.n, N, 3));
  least = BCRFindScreen(&s->rows->all, &s->box, &met);
  if (least == 4 ? s->wanted > 1 : least != s->wanted) PetscFunctionReturn(PETSC_SUCCESS);
  if (least < 4) {
    NaturalGhosts(s->rows, &s->box);
    PetscCall(BCRFindCheck(s->rows, &s->rows->all, &s->box, &met));
    if (met.row == s->rows->N) mine = BCRFindComplexity(met.flags);
  }
  /* no answer yet: the one that fits the most rows, for the message */
  if (s->best == BCR_NO_GRID ? met.row > s->met.row : mine < s->best) {
    s->met = met;
    s->best = mine;
    PetscCall(PetscArraycpy(s->N, N, 3));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* No entry of this rank's rows couples rows before row b with those from b on; widest: the largest distance */
static PetscBool NaturalIsCut(const BCRFindRows *R, PetscInt b, PetscInt widest)
{
  for (PetscInt t = 0; t < 2 * widest; t++) { /* from b outwards */
    const PetscInt row = t % 2 ? b + t / 2 : b - 1 - t / 2, r = row - R->first;

    if (r < 0 || r >= R->n) continue;
    for (int block = 0; block < 2 && R->i[block]; block++)
      for (PetscInt k = R->i[block][r]; k < R->i[block][r + 1]; k++)
        if (BCRFindLink(R, block, k) && (BCRFindColumn(R, block, k) < b) != (row < b)) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/* Collective. Several equal grids one after the other: the nodes of one, or all of them. What divides the number of nodes
   is looked at, from the smallest on, and mostly dies in the first row beside a cut */
static PetscErrorCode NaturalOne(const NaturalSearch *s, PetscInt nodes, PetscInt *one)
{
  const BCRFindRows *R = s->rows;
  PetscInt widest = 0, count = 0, size[NATURAL_DIVISORS];
  unsigned char cut[NATURAL_DIVISORS];

  PetscFunctionBegin;
  *one = nodes;
  for (PetscInt k = 0; k < R->all.count; k++) widest = PetscMax(widest, R->all.apart[k]);
  if (!widest) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt d = 1; d <= nodes / d && count < NATURAL_DIVISORS - 1; d++) {
    if (nodes % d) continue;
    if (d * s->box.dof > widest && d < nodes) size[count++] = d;
    if (d > 1 && nodes / d > d && nodes / d * s->box.dof > widest) size[count++] = nodes / d;
  }
  if (!count) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSortInt(count, size));
  for (PetscInt c = 0; c < count; c++) {
    const PetscInt rows = size[c] * s->box.dof;
    PetscInt b = PetscMax(rows, (R->first - widest) / rows * rows);

    cut[c] = 1;
    for (; cut[c] && b < PetscMin(R->first + R->n + widest, R->N); b += rows) cut[c] = NaturalIsCut(R, b, widest);
  }
  if (R->size > 1)
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, cut, (PetscMPIInt)count, MPI_UNSIGNED_CHAR, MPI_MIN, R->comm));
  for (PetscInt c = count - 1; c >= 0; c--)
    if (cut[c]) *one = size[c];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. All sizes of a grid of so many nodes that sizes[] offer: distances in nodes, ascending */
static PetscErrorCode NaturalTryAll(NaturalSearch *s, PetscInt nodes, PetscInt count, const PetscInt sizes[])
{
  PetscFunctionBegin;
  for (s->wanted = 1; s->wanted < 4 && s->best > 8 * (s->wanted - 1); s->wanted++) {
    PetscCall(NaturalTry(s, nodes, 1, 1));
    for (PetscInt i = 0; i < count; i++)
      if (nodes % sizes[i] == 0 && sizes[i] < nodes) PetscCall(NaturalTry(s, sizes[i], nodes / sizes[i], 1));
    for (PetscInt i = 0; i < count; i++) {
      for (PetscInt j = i + 1; j < count; j++)
        if (sizes[j] % sizes[i] == 0 && nodes % sizes[j] == 0 && sizes[j] < nodes)
          PetscCall(NaturalTry(s, sizes[i], sizes[j] / sizes[i], nodes / sizes[j]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. Equal grids of so many nodes, one after the other: components if they are few, else the last axis counts
   them, and has no couplings */
static PetscErrorCode NaturalTryEqual(NaturalSearch *s, PetscInt one, PetscInt nodes, PetscInt count,
                                      const PetscInt sizes[])
{
  PetscFunctionBegin;
  if (nodes / one <= NATURAL_COMPONENTS) {
    PetscCall(NaturalTryAll(s, one, count, sizes));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (s->wanted = 1; s->wanted < 3 && s->best > 8 * (s->wanted - 1); s->wanted++) {
    PetscCall(NaturalTry(s, one, nodes / one, 1));
    for (PetscInt i = 0; i < count; i++)
      if (sizes[i] < one && one % sizes[i] == 0) PetscCall(NaturalTry(s, sizes[i], one / sizes[i], nodes / one));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NaturalWhy(const NaturalSearch *s, PetscInt count, BCRFound *found)
{
  const PetscInt *N = s->N;
  char as[96];

  PetscFunctionBegin;
  if (N[1] == 1) PetscCall(PetscSNPrintf(as, sizeof(as), "a line of %" PetscInt_FMT, N[0]));
  else if (N[2] == 1) PetscCall(PetscSNPrintf(as, sizeof(as), "%" PetscInt_FMT " x %" PetscInt_FMT, N[0], N[1]));
  else
    PetscCall(
      PetscSNPrintf(as, sizeof(as), "%" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT, N[0], N[1], N[2]));
  found->fits = s->met.row;
  PetscCall(PetscSNPrintf(found->why, sizeof(found->why),
                          "in natural order row %" PetscInt_FMT " couples to column %" PetscInt_FMT
                          ", which is no neighbour on %s nodes%s",
                          s->met.row, s->met.column, as,
                          count == 0 ? ", and no distance of a column from the diagonal divides their number" : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Grids one after the other have the nodes of one of them, their components side by side */
static PetscErrorCode NaturalPlaces(const NaturalSearch *s, PetscInt one, BCRFound *found)
{
  const BCRFindRows *R = s->rows;
  const PetscInt dof = found->dof, all = R->N / one;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = PetscMalloc1(R->n, &found->place);
  PetscCall(BCRFaultShare(R->comm, ierr, BCR_NO_MEMORY));
  for (PetscInt r = 0; r < R->n; r++) {
    const PetscInt row = R->first + r, node = row / dof;

    found->place[r] = row % dof + dof * (node / one) + all * (node % one);
  }
  found->dof = all;
  found->order = BCR_FOUND_ANY;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NaturalFill(const NaturalSearch *s, BCRFound *found)
{
  const PetscInt one = s->N[0] * s->N[1] * s->N[2];

  PetscFunctionBegin;
  found->dof = s->box.dof;
  found->reach = BCRFindReach(s->met.flags);
  found->dim = s->N[2] > 1 ? 3 : s->N[1] > 1 ? 2 : 1;
  for (int d = 0; d < 3; d++) {
    found->N[d] = s->N[d];
    found->parts[d] = 1;
    found->ring[d] = (PetscBool)((s->met.flags & BCR_STEP_RING(d)) != 0);
  }
  if (one * found->dof < s->rows->N) PetscCall(NaturalPlaces(s, one, found));
  else found->order = BCR_FOUND_NATURAL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFindNatural(const BCRFindRows *R, BCRFound *found)
{
  const BCRDistances *all = &R->all;
  NaturalSearch s = {.rows = R, .best = BCR_NO_GRID, .met = {.row = -1}};
  PetscInt dof = 0, one, nodes, count = 0, sizes[BCR_DISTANCES + 1];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (all->count > BCR_DISTANCES) {
    PetscCall(PetscSNPrintf(found->why, sizeof(found->why),
                            "there are more than %d different distances of columns from the diagonal (up to row "
                            "%" PetscInt_FMT "): this is no natural order of a grid",
                            BCR_DISTANCES, all->row[BCR_DISTANCES]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt k = 0; k < all->count; k++) dof = BCRGcd(all->apart[k], dof);
  dof = all->count ? BCRGcd(R->N, dof) : 1;
  s.box.dof = dof;
  s.box.start = R->first;
  ierr = PetscMalloc1(3 * R->ghosts, &s.box.node);
  PetscCall(BCRFaultShare(R->comm, ierr, BCR_NO_MEMORY));
  nodes = R->N / dof;
  PetscCall(BCRFindSizes(all, dof, nodes, &count, sizes));
  count--; /* without the number of nodes */
  PetscCall(NaturalOne(&s, nodes, &one));
  if (one < nodes) PetscCall(NaturalTryEqual(&s, one, nodes, count, sizes));
  if (s.best == BCR_NO_GRID) {
    s.met.row = -1;
    PetscCall(NaturalTryAll(&s, nodes, count, sizes));
  }
  PetscCall(PetscFree(s.box.node));
  if (s.best == BCR_NO_GRID) {
    PetscCall(BCRFindTell(R, &s.met));
    PetscCall(NaturalWhy(&s, count, found));
  } else PetscCall(NaturalFill(&s, found));
  PetscFunctionReturn(PETSC_SUCCESS);
}
