/*
  The order of a DMDA: each rank has a box of the grid, and numbers its nodes x fastest.

  What is known of the boxes are their numbers of nodes, and of one of them, the base, candidates for its sizes: the
  distances of its columns from the diagonal. For each way to lay the ranks out as m x n x p, the widths of the other
  parts of each axis follow from the boxes in line with the base, and all numbers of nodes must be products of them.
  Then every rank checks its rows.
*/
#include "findimpl.h"
#include "grid.h"

typedef struct {
  const BCRFindRows *rows;
  PetscInt dof, *nodes; /* [size]: nodes of each rank */
  PetscMPIInt base;
  BCRDistances list; /* of the base */
  BCRFindBox box;
  BCRGrid grid;   /* that is looked at now */
  BCRFindMet met; /* of the best so far */
  PetscInt best;  /* its complexity */
  PetscInt N[3], parts[3];
  PetscInt *widths; /* [parts[0] + parts[1] + parts[2]] */
} BoxesSearch;

/* The distances of the base's columns are steps in l[0] x l[1] x l[2] nodes */
static PetscBool BoxesScreen(const BoxesSearch *s, const PetscInt l[3])
{
  BCRFindBox box = {.dof = s->dof};
  BCRFindMet met;

  for (int d = 0; d < 3; d++) {
    box.n[d] = l[d];
    box.N[d] = s->grid.parts[d] == 1 ? l[d] : 0; /* 0: not all of the axis */
  }
  return (PetscBool)(BCRFindScreen(&s->list, &box, &met) < 4);
}

/* The grid whose base has lx x ly x lz nodes, if the numbers of nodes allow it */
static PetscBool BoxesGrid(BoxesSearch *s, const PetscInt l[3])
{
  BCRGrid *g = &s->grid;
  const PetscInt m = g->parts[0], n = g->parts[1];
  const PetscInt at[3] = {s->base % m, s->base / m % n, s->base / m / n};
  const PetscInt stride[3] = {1, m, m * n}, across[3] = {l[1] * l[2], l[0] * l[2], l[0] * l[1]};

  for (int d = 0; d < 3; d++) {
    g->first[d][0] = 0;
    for (PetscInt p = 0; p < g->parts[d]; p++) {
      const PetscInt nodes = s->nodes[s->base + (p - at[d]) * stride[d]];

      if (nodes % across[d]) return PETSC_FALSE;
      g->first[d][p + 1] = g->first[d][p] + nodes / across[d];
    }
    g->N[d] = g->first[d][g->parts[d]];
  }
  for (PetscInt r = 0; r < s->rows->size; r++) {
    const PetscInt p[3] = {r % m, r / m % n, r / m / n};
    PetscInt nodes = 1;

    for (int d = 0; d < 3; d++) nodes *= g->first[d][p[d] + 1] - g->first[d][p[d]];
    if (nodes != s->nodes[r]) return PETSC_FALSE;
  }
  g->dim = g->N[2] > 1 ? 3 : g->N[1] > 1 ? 2 : 1;
  return PETSC_TRUE;
}

/* Are these boxes the slabs that natural order has, too? BCRFindNatural() has looked at those */
static PetscBool BoxesNatural(const BCRGrid *g)
{
  PetscInt last = 2;

  while (last > 0 && g->N[last] == 1) last--;
  for (PetscInt d = 0; d < last; d++)
    if (g->parts[d] > 1) return PETSC_FALSE;
  return PETSC_TRUE;
}

/* Widths of the parts, to remember */
static PetscErrorCode BoxesKeep(BoxesSearch *s, const BCRFindMet *met, PetscInt complexity)
{
  const BCRGrid *g = &s->grid;
  PetscInt *w = s->widths;

  PetscFunctionBegin;
  s->met = *met;
  s->best = complexity;
  PetscCall(PetscArraycpy(s->N, g->N, 3));
  PetscCall(PetscArraycpy(s->parts, g->parts, 3));
  for (int d = 0; d < 3; d++)
    for (PetscInt p = 0; p < g->parts[d]; p++) *w++ = g->first[d][p + 1] - g->first[d][p];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. The base has lx x ly x lz nodes */
static PetscErrorCode BoxesTry(BoxesSearch *s, const PetscInt l[3])
{
  const BCRFindRows *R = s->rows;
  BCRGrid *g = &s->grid;
  PetscInt mine = BCR_NO_GRID, rest = R->rank;
  BCRFindMet met;

  PetscFunctionBegin;
  if (s->best == 0 || !BoxesScreen(s, l) || !BoxesGrid(s, l)) PetscFunctionReturn(PETSC_SUCCESS);
  /* an axis of one node before others is one more name for a grid with fewer axes */
  if (g->N[0] * g->N[1] * g->N[2] > 1 && (g->N[0] == 1 || (g->N[1] == 1 && g->N[2] > 1)))
    PetscFunctionReturn(PETSC_SUCCESS);
  if (BoxesNatural(g)) PetscFunctionReturn(PETSC_SUCCESS);
  s->box.dof = s->dof;
  s->box.start = 0;
  for (int d = 0; d < 3; d++) {
    const PetscInt p = rest % g->parts[d];

    rest /= g->parts[d];
    s->box.N[d] = g->N[d];
    s->box.lo[d] = g->first[d][p];
    s->box.n[d] = g->first[d][p + 1] - g->first[d][p];
  }
  for (PetscInt k = 0; k < R->ghosts; k++) BCRGridNode(g, R->ghost[k] / s->dof, s->box.node + 3 * k);
  PetscCall(BCRFindCheck(R, &R->near, &s->box, &met));
  if (met.row == R->N) mine = BCRFindComplexity(met.flags);
  if (s->best == BCR_NO_GRID ? met.row > s->met.row : mine < s->best) PetscCall(BoxesKeep(s, &met, mine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. sizes: distances of the base, in nodes, that divide its number of nodes, and this number; 1 at the
   front */
static PetscErrorCode BoxesTryAll(BoxesSearch *s, PetscInt count, const PetscInt sizes[])
{
  const PetscMPIInt size = s->rows->size;
  const PetscInt nodes = sizes[count - 1];
  PetscInt *parts = s->grid.parts;

  PetscFunctionBegin;
  for (parts[2] = 1; parts[2] <= size; parts[2]++) {
    if (size % parts[2]) continue;
    for (parts[1] = 1; parts[1] <= size / parts[2]; parts[1]++) {
      if (size / parts[2] % parts[1]) continue;
      parts[0] = size / parts[2] / parts[1];
      for (PetscInt i = 0; i < count; i++) {
        for (PetscInt j = i; j < count; j++) {
          const PetscInt l[3] = {sizes[i], sizes[j] / sizes[i], nodes / sizes[j]};

          if (sizes[j] % sizes[i] == 0) PetscCall(BoxesTry(s, l));
        }
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. The components, whose number all distances and numbers of rows are multiples of; nodes of each rank.
   *may: all ranks have some */
static PetscErrorCode BoxesNodes(BoxesSearch *s, PetscBool *may)
{
  const BCRFindRows *R = s->rows;
  PetscInt dof = R->n;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < R->near.count; k++) dof = BCRGcd(R->near.apart[k], dof);
  for (PetscInt r = 0; r < R->n && dof != 1; r++) {
    for (PetscInt k = R->i[1][r]; k < R->i[1][r + 1] && dof != 1; k++)
      if (BCRFindLink(R, 1, k)) dof = BCRGcd(PetscAbs(BCRFindColumn(R, 1, k) - R->first - r), dof);
  }
  PetscCallMPI(MPI_Allgather(&dof, 1, MPIU_INT, s->nodes, 1, MPIU_INT, R->comm));
  for (PetscMPIInt p = 0; p < R->size; p++) dof = BCRGcd(s->nodes[p], dof);
  s->dof = dof;
  *may = PETSC_TRUE;
  for (PetscMPIInt p = 0; p < R->size; p++) {
    s->nodes[p] = (R->starts[p + 1] - R->starts[p]) / dof;
    if (!s->nodes[p]) *may = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. The box to begin with: the rank whose rows have the most distances; its list. *may: no rank has too
   many */
static PetscErrorCode BoxesBase(BoxesSearch *s, PetscBool *may)
{
  const BCRFindRows *R = s->rows;
  double most;

  PetscFunctionBegin;
  s->base = R->rank;
  s->list = R->near;
  PetscCall(BCRTakeFrom(R->comm, (double)R->near.count, &s->list, sizeof(s->list), &most));
  PetscCall(BCRTakeFrom(R->comm, (double)R->near.count, &s->base, sizeof(s->base), NULL));
  *may = (PetscBool)(most <= BCR_DISTANCES);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BoxesFill(BoxesSearch *s, BCRFound *found)
{
  const PetscInt *w = s->widths;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  found->dof = s->dof;
  found->reach = BCRFindReach(s->met.flags);
  found->dim = s->N[2] > 1 ? 3 : s->N[1] > 1 ? 2 : 1;
  for (int d = 0; d < 3 && !ierr; d++) {
    found->N[d] = s->N[d];
    found->parts[d] = s->parts[d];
    found->ring[d] = (PetscBool)((s->met.flags & BCR_STEP_RING(d)) != 0);
    ierr = PetscMalloc1(s->parts[d], &found->widths[d]);
    if (ierr) break;
    PetscCall(PetscArraycpy(found->widths[d], w, s->parts[d]));
    w += s->parts[d];
  }
  PetscCall(BCRFaultShare(s->rows->comm, ierr, BCR_NO_MEMORY));
  found->order = BCR_FOUND_BOXES;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BoxesWhy(BoxesSearch *s, BCRFound *found)
{
  PetscFunctionBegin;
  if (s->met.row < 0) {
    found->fits = -1;
    PetscCall(PetscSNPrintf(found->why, sizeof(found->why),
                            "the rows of the %d ranks are not those of boxes whose sizes are distances of columns from "
                            "the diagonal",
                            s->rows->size));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BCRFindTell(s->rows, &s->met));
  found->fits = s->met.row;
  PetscCall(PetscSNPrintf(found->why, sizeof(found->why),
                          "in the order of a DMDA on %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT
                          " ranks row %" PetscInt_FMT " couples to column %" PetscInt_FMT
                          ", which is no neighbour on %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT " nodes",
                          s->parts[0], s->parts[1], s->parts[2], s->met.row, s->met.column, s->N[0], s->N[1], s->N[2]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BoxesSearchAll(BoxesSearch *s)
{
  PetscInt count = 0, sizes[BCR_DISTANCES + 2];

  PetscFunctionBegin;
  sizes[count++] = 1;
  PetscCall(BCRFindSizes(&s->list, s->dof, s->nodes[s->base], &count, sizes));
  PetscCall(BoxesTryAll(s, count, sizes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFindBoxes(const BCRFindRows *R, BCRFound *found)
{
  const PetscInt size = R->size;
  BoxesSearch s = {.rows = R, .best = BCR_NO_GRID, .met = {.row = -1}};
  PetscBool may = PETSC_FALSE;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (size == 1) PetscFunctionReturn(PETSC_SUCCESS); /* this is natural order then */
  PetscCall(BoxesBase(&s, &may));
  if (!may) PetscFunctionReturn(PETSC_SUCCESS);
  ierr = PetscMalloc6(size, &s.nodes, 3 * R->ghosts, &s.box.node, size + 2, &s.widths, size + 1, &s.grid.first[0],
                      size + 1, &s.grid.first[1], size + 1, &s.grid.first[2]);
  PetscCall(BCRFaultShare(R->comm, ierr, BCR_NO_MEMORY));
  PetscCall(BoxesNodes(&s, &may));
  if (may) PetscCall(BoxesSearchAll(&s));
  if (s.best < BCR_NO_GRID) PetscCall(BoxesFill(&s, found));
  else PetscCall(BoxesWhy(&s, found));
  PetscCall(PetscFree6(s.nodes, s.box.node, s.widths, s.grid.first[0], s.grid.first[1], s.grid.first[2]));
  PetscFunctionReturn(PETSC_SUCCESS);
}
