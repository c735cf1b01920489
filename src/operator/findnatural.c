/*
  Natural order: the node of a row follows from its number, wherever ranks cut the rows. What is sought are the sizes of
  the axes, which are among the distances of columns from the diagonal.

  All distances are multiples of the number of interlaced components that are not coupled. In nodes, the size of the
  first axis is one of them, that of a plane another, or there are no further axes. Sizes that some distance cannot
  come from are refused without a look at the rows. Of several answers that with the fewest axes in one entry counts,
  of these the one with the fewest rings, then with the fewest axes, then with the longest last axis. (A diagonal matrix is a line of
  nodes without couplings.) Links may be missing anywhere: a node's place does not depend on them.
*/
#include "findimpl.h"

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
    box->node[3 * k + 2] = node / box->N[0] / box->N[1];
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

/* All sizes that the distances offer; sizes: distances in nodes that divide their number, ascending, and that number */
static PetscErrorCode NaturalTryAll(NaturalSearch *s, PetscInt count, const PetscInt sizes[])
{
  const PetscInt nodes = sizes[count - 1];

  PetscFunctionBegin;
  for (s->wanted = 1; s->wanted < 4 && s->best > 8 * (s->wanted - 1); s->wanted++) {
    PetscCall(NaturalTry(s, nodes, 1, 1));
    for (PetscInt i = 0; i < count - 1; i++) PetscCall(NaturalTry(s, sizes[i], nodes / sizes[i], 1));
    for (PetscInt i = 0; i < count - 1; i++) {
      for (PetscInt j = i + 1; j < count - 1; j++)
        if (sizes[j] % sizes[i] == 0) PetscCall(NaturalTry(s, sizes[i], sizes[j] / sizes[i], nodes / sizes[j]));
    }
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
                          count == 1 ? ", and no distance of a column from the diagonal divides their number" : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFindNatural(const BCRFindRows *R, PetscBool dropzeros, BCRFound *found)
{
  const BCRDistances *all = &R->all;
  NaturalSearch s = {.rows = R, .best = BCR_NO_GRID, .met = {.row = -1}};
  PetscInt dof = 0, count = 0, sizes[BCR_DISTANCES + 1];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  (void)dropzeros; /* R->a says it */
  if (all->count > BCR_DISTANCES) {
    PetscCall(PetscSNPrintf(found->why, sizeof(found->why),
                            "there are more than %d different distances of columns from the diagonal (up to row "
                            "%" PetscInt_FMT "): this is no natural order of a grid",
                            BCR_DISTANCES, all->row[BCR_DISTANCES]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt k = 0; k < all->count; k++) dof = BCRGcd(all->apart[k], dof);
  dof = PetscMax(dof, 1);
  if (R->N % dof) {
    PetscCall(PetscSNPrintf(found->why, sizeof(found->why),
                            "all columns lie multiples of %" PetscInt_FMT " from the diagonal, as row %" PetscInt_FMT
                            " and column %" PetscInt_FMT ", but the number of rows, %" PetscInt_FMT ", is none",
                            dof, all->row[0], all->column[0], R->N));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  s.box.dof = dof;
  s.box.start = R->first;
  ierr = PetscMalloc1(3 * R->ghosts, &s.box.node);
  PetscCall(BCRFaultShare(R->comm, ierr, BCR_NO_MEMORY));
  PetscCall(BCRFindSizes(all, dof, R->N / dof, &count, sizes));
  PetscCall(NaturalTryAll(&s, count, sizes));
  PetscCall(PetscFree(s.box.node));
  if (s.best == BCR_NO_GRID) {
    PetscCall(BCRFindTell(R, &s.met));
    PetscCall(NaturalWhy(&s, count, found));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  found->order = BCR_FOUND_NATURAL;
  found->dof = dof;
  found->reach = BCRFindReach(s.met.flags);
  found->dim = s.N[2] > 1 ? 3 : s.N[1] > 1 ? 2 : 1;
  for (int d = 0; d < 3; d++) {
    found->N[d] = s.N[d];
    found->parts[d] = 1;
    found->ring[d] = (PetscBool)((s.met.flags & BCR_STEP_RING(d)) != 0);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
