/*
  Rows in any order over several ranks, without all of the graph on one of them: stars on boxes without rings.

  Distances count links along the shortest way, on a box the steps along all axes together. What is farthest from any
  node is a corner. From one of its neighbours, the next node along an axis, all nodes are nearer by one, but those of the
  face where this axis begins. The distance from this face is the number along the axis.

      distances from  0 . . .     less those from  . 1 . .     the face  0 . . .
      a corner        . . . .     its neighbour    . . . .               0 . . .
                      . . . .                      . . . .               0 . . .

  A rank finds distances in its own rows, then takes those of its neighbours' rows, until nothing changes.
*/
#include "findany.h"
#include <petscbt.h>

#define FAR PETSC_MAX_INT

/* As often are distances exchanged at most: ranks along a diagonal, if their rows are near one another on the grid; and as
   often is each row looked at, on average */
#define ROUNDS(size) (64 + 8 * (PetscInt)(size))
#define LOOKS        32

typedef struct {
  BCRAnyRows *A;
  BCRFound *found;
  PetscInt open;   /* rows that are to have nodes, on all ranks */
  PetscInt *near;  /* [n]: distances from the corner */
  PetscInt *away;  /* [n]: from something else */
  PetscInt *node;  /* [n]: in natural order, as far as axes are known */
  PetscInt *queue; /* [n]: rows whose neighbours are to be looked at, as a ring */
  PetscBT queued;
  PetscInt first, count; /* of the queue */
  double looks;          /* rows that were taken from it */
} Search;

static PetscErrorCode SearchDestroy(Search *s)
{
  PetscFunctionBegin;
  PetscCall(PetscFree4(s->near, s->away, s->node, s->queue));
  PetscCall(PetscBTDestroy(&s->queued));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SearchCreate(Search *s)
{
  const PetscInt n = s->A->R->n;

  PetscFunctionBegin;
  PetscCall(PetscMalloc4(n, &s->near, n, &s->away, n, &s->node, n, &s->queue));
  PetscCall(PetscBTCreate(n, &s->queued));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline void SearchPush(Search *s, PetscInt row)
{
  const PetscInt n = s->A->R->n, at = s->first + s->count;

  if (PetscBTLookupSet(s->queued, row)) return;
  s->queue[at < n ? at : at - n] = row;
  s->count++;
}

/* Distances of this rank's rows from those in the queue, along its own rows */
static void SearchOwn(Search *s, PetscInt d[])
{
  const BCRFindRows *R = s->A->R;

  while (s->count) {
    const PetscInt u = s->queue[s->first];

    s->first = s->first + 1 < R->n ? s->first + 1 : 0;
    s->count--;
    s->looks++;
    (void)PetscBTClear(s->queued, u);
    for (PetscInt k = R->i[0][u]; k < R->i[0][u + 1]; k++) {
      const PetscInt w = R->j[0][k];

      if (d[w] <= d[u] + 1 || s->A->place[w] != BCR_PLACE_OPEN || !BCRFindLink(R, 0, k)) continue;
      d[w] = d[u] + 1;
      SearchPush(s, w);
    }
  }
}

/* Collective. Distances from the rows where they are 0 on entry, on all ranks; others are FAR. ok: there was an end */
static PetscErrorCode SearchSpread(Search *s, PetscInt d[], PetscBool *ok)
{
  const BCRFindRows *R = s->A->R;
  PetscInt *ghost = s->A->ghost, round = 0;
  double all[2] = {1, 0}; /* rows that have changed; those that were looked at */

  PetscFunctionBegin;
  s->first = s->count = 0;
  s->looks = 0;
  for (PetscInt r = 0; r < R->n; r++)
    if (d[r] == 0) SearchPush(s, r);
  for (; all[0] > 0 && round < ROUNDS(R->size) && all[1] <= LOOKS * (double)s->open; round++) {
    SearchOwn(s, d);
    PetscCall(PetscSFBcastBegin(s->A->sf, MPIU_INT, d, ghost, MPI_REPLACE));
    PetscCall(PetscSFBcastEnd(s->A->sf, MPIU_INT, d, ghost, MPI_REPLACE));
    for (PetscInt r = 0; R->i[1] && r < R->n; r++) {
      const PetscInt before = d[r];

      if (s->A->place[r] != BCR_PLACE_OPEN) continue;
      for (PetscInt k = R->i[1][r]; k < R->i[1][r + 1]; k++)
        if (BCRFindLink(R, 1, k) && ghost[R->j[1][k]] < FAR) d[r] = PetscMin(d[r], ghost[R->j[1][k]] + 1);
      if (d[r] < before) SearchPush(s, r);
    }
    all[0] = (double)s->count;
    all[1] = s->looks;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, all, 2, MPI_DOUBLE, MPI_SUM, R->comm));
  }
  *ok = (PetscBool)(all[0] == 0);
  PetscCall(PetscInfo(R->block[0].mat, "distances%s: %" PetscInt_FMT " exchanges, each row looked at %g times\n",
                      *ok ? "" : " given up", round, all[1] / (double)s->open));
  while (s->count) (void)PetscBTClear(s->queued, s->queue[(s->first + --s->count) % R->n]);
  if (!*ok)
    PetscCall(PetscSNPrintf(s->found->why, sizeof(s->found->why),
                            "rows in any order over %d ranks, as row 0 (column 0) and %" PetscInt_FMT
                            " others: neighbours on the grid are on too many different ranks: give the grid with "
                            "-pc_bcrpoisson_grid, or number the rows so that those of a rank are near one another",
                            (int)R->size, R->N - 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. The first row behind row after whose distance is d; any: its distance is not */
static PetscErrorCode SearchFirst(const Search *s, const PetscInt d[], PetscInt distance, PetscInt after, PetscInt *row)
{
  const BCRFindRows *R = s->A->R;

  PetscFunctionBegin;
  *row = FAR;
  for (PetscInt r = 0; r < R->n && *row == FAR; r++)
    if (s->A->place[r] == BCR_PLACE_OPEN && d[r] == distance && R->first + r > after) *row = R->first + r;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, row, 1, MPIU_INT, MPI_MIN, R->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. The largest distance: FAR if there are rows that have none */
static PetscErrorCode SearchLargest(const Search *s, const PetscInt d[], PetscInt *largest)
{
  PetscFunctionBegin;
  *largest = 0;
  for (PetscInt r = 0; r < s->A->R->n; r++)
    if (s->A->place[r] == BCR_PLACE_OPEN) *largest = PetscMax(*largest, d[r]);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, largest, 1, MPIU_INT, MPI_MAX, s->A->R->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. Distances from one row */
static PetscErrorCode SearchFrom(Search *s, PetscInt row, PetscInt d[], PetscBool *ok)
{
  const BCRFindRows *R = s->A->R;

  PetscFunctionBegin;
  for (PetscInt r = 0; r < R->n; r++) d[r] = R->first + r == row ? 0 : FAR;
  PetscCall(SearchSpread(s, d, ok));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. A corner, with the distances from it, and its neighbours, the nearest by number first */
static PetscErrorCode SearchCorner(Search *s, PetscInt *corner, PetscInt *axes, PetscInt beside[3], PetscBool *ok)
{
  PetscInt start, farthest, next = -1;

  PetscFunctionBegin;
  for (PetscInt r = 0; r < s->A->R->n; r++) s->away[r] = 0;
  PetscCall(SearchFirst(s, s->away, 0, -1, &start));
  PetscCall(SearchFrom(s, start, s->away, ok));
  if (!*ok) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SearchLargest(s, s->away, &farthest));
  PetscCall(SearchFirst(s, s->away, farthest, -1, corner));
  *ok = (PetscBool)(farthest < FAR && farthest > 0);
  if (!*ok)
    PetscCall(PetscSNPrintf(s->found->why, sizeof(s->found->why),
                            "row %" PetscInt_FMT ", column %" PetscInt_FMT
                            ": no entries lead from one to the other, and over ranks in any order grids that are not "
                            "linked are not found: -pc_bcrpoisson_grid",
                            start, *corner));
  else PetscCall(SearchFrom(s, *corner, s->near, ok));
  for (*axes = 0; *ok; ++*axes) {
    PetscCall(SearchFirst(s, s->near, 1, next, &next));
    if (next == FAR) break;
    *ok = (PetscBool)(*axes < 3);
    if (*ok) beside[*axes] = next;
    else
      PetscCall(PetscSNPrintf(s->found->why, sizeof(s->found->why),
                              "row %" PetscInt_FMT " (column %" PetscInt_FMT
                              ") is the corner of a grid, but has more than 3 neighbours (rings, and stencils with "
                              "diagonals, are not found over ranks in any order: -pc_bcrpoisson_grid)",
                              *corner, next));
  }
  for (PetscInt a = 1; a < *axes && *ok; a++)
    for (PetscInt b = a; b > 0 && PetscAbsInt(beside[b] - *corner) < PetscAbsInt(beside[b - 1] - *corner); b--) {
      const PetscInt spare = beside[b];

      beside[b] = beside[b - 1];
      beside[b - 1] = spare;
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. Numbers along the axis from the corner to a node beside it, added to those of nodes; its nodes */
static PetscErrorCode SearchAxis(Search *s, PetscInt corner, PetscInt beside, PetscInt step, PetscInt *nodes,
                                 PetscBool *ok)
{
  const BCRFindRows *R = s->A->R;
  PetscInt odd = FAR, largest;

  PetscFunctionBegin;
  PetscCall(SearchFrom(s, beside, s->away, ok));
  if (!*ok) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt r = 0; r < R->n; r++) {
    if (s->A->place[r] == BCR_PLACE_OPEN && PetscAbsInt(s->away[r] - s->near[r]) != 1)
      odd = PetscMin(odd, R->first + r);
    s->away[r] = s->A->place[r] == BCR_PLACE_OPEN && s->away[r] > s->near[r] ? 0 : FAR;
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &odd, 1, MPIU_INT, MPI_MIN, R->comm));
  *ok = (PetscBool)(odd == FAR);
  if (*ok) PetscCall(SearchSpread(s, s->away, ok));
  else
    PetscCall(PetscSNPrintf(s->found->why, sizeof(s->found->why),
                            "row %" PetscInt_FMT " (column %" PetscInt_FMT ") is as near to row %" PetscInt_FMT
                            " as to the corner beside it, row %" PetscInt_FMT
                            " (rings, and stencils with diagonals, are not found over ranks in any order: "
                            "-pc_bcrpoisson_grid)",
                            odd, odd, beside, corner));
  if (!*ok) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SearchLargest(s, s->away, &largest));
  *nodes = largest + 1;
  *ok = (PetscBool)((PetscInt64)step * *nodes <= s->open);
  for (PetscInt r = 0; r < R->n && *ok; r++) s->node[r] += step * s->away[r];
  if (!*ok)
    PetscCall(PetscSNPrintf(s->found->why, sizeof(s->found->why),
                            "row %" PetscInt_FMT ", column %" PetscInt_FMT
                            ": a grid that begins there has more nodes than the matrix has rows for it, %" PetscInt_FMT,
                            corner, beside, s->open));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. ok: no two rows, of this rank or others, have the same node */
static PetscErrorCode SearchUnique(Search *s, PetscBool *ok)
{
  const BCRFindRows *R = s->A->R;
  const PetscInt *degree;
  PetscInt n = 0, own, twice = 0;
  PetscLayout layout;
  PetscSF sf;

  PetscFunctionBegin;
  for (PetscInt r = 0; r < R->n; r++)
    if (s->A->place[r] == BCR_PLACE_OPEN) s->queue[n++] = s->node[r];
  PetscCall(PetscLayoutCreate(R->comm, &layout));
  PetscCall(PetscLayoutSetSize(layout, s->open));
  PetscCall(PetscLayoutSetUp(layout));
  PetscCall(PetscLayoutGetLocalSize(layout, &own));
  PetscCall(PetscSFCreate(R->comm, &sf));
  PetscCall(PetscSFSetGraphLayout(sf, layout, n, NULL, PETSC_OWN_POINTER, s->queue));
  PetscCall(PetscSFComputeDegreeBegin(sf, &degree));
  PetscCall(PetscSFComputeDegreeEnd(sf, &degree));
  for (PetscInt k = 0; k < own; k++) twice += degree[k] != 1 ? 1 : 0;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &twice, 1, MPIU_INT, MPI_MAX, R->comm));
  PetscCall(PetscSFDestroy(&sf));
  PetscCall(PetscLayoutDestroy(&layout));
  *ok = (PetscBool)!twice;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* May there be an entry between these places? */
static PetscBool SearchBeside(const PetscInt N[3], PetscInt p, PetscInt q)
{
  PetscInt steps = 0;

  if (q < 0) return (PetscBool)(q != BCR_PLACE_OPEN);
  for (int d = 0; d < 3; d++) {
    steps += PetscAbsInt(p % N[d] - q % N[d]);
    p /= N[d];
    q /= N[d];
  }
  return (PetscBool)(steps <= 1);
}

/* Collective. Every entry of every row; place is what comes out */
static PetscErrorCode SearchCheck(Search *s, PetscBool *ok)
{
  const BCRFindRows *R = s->A->R;
  PetscInt *place = s->A->place, *ghost = s->A->ghost, wrong = FAR, column = 0;
  double largest;

  PetscFunctionBegin;
  for (PetscInt r = 0; r < R->n; r++)
    if (place[r] == BCR_PLACE_OPEN) place[r] = s->node[r];
  PetscCall(PetscSFBcastBegin(s->A->sf, MPIU_INT, place, ghost, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(s->A->sf, MPIU_INT, place, ghost, MPI_REPLACE));
  for (PetscInt r = 0; r < R->n && wrong == FAR; r++)
    for (int b = 0; b < 2 && R->i[b] && place[r] >= 0 && wrong == FAR; b++)
      for (PetscInt k = R->i[b][r]; k < R->i[b][r + 1] && wrong == FAR; k++) {
        if (!BCRFindLink(R, b, k) || SearchBeside(s->found->N, place[r], b ? ghost[R->j[1][k]] : place[R->j[0][k]]))
          continue;
        wrong = R->first + r;
        column = BCRFindColumn(R, b, k);
      }
  if (wrong < FAR)
    PetscCall(PetscSNPrintf(s->found->why, sizeof(s->found->why),
                            "row %" PetscInt_FMT ", column %" PetscInt_FMT
                            ": an entry between two that are not beside one another on a grid of %" PetscInt_FMT
                            " x %" PetscInt_FMT " x %" PetscInt_FMT " nodes, to which most would belong",
                            wrong, column, s->found->N[0], s->found->N[1], s->found->N[2]));
  PetscCall(BCRTakeFrom(R->comm, -(double)wrong, s->found->why, sizeof(s->found->why), &largest));
  *ok = (PetscBool)(largest <= -(double)FAR);
  s->found->fits = *ok ? s->found->fits : (PetscInt)-largest;
  s->found->reach = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SearchAll(Search *s, PetscBool *ok)
{
  PetscInt corner = 0, axes = 0, beside[3] = {0, 0, 0}, size = 1;

  PetscFunctionBegin;
  for (PetscInt r = 0; r < s->A->R->n; r++) {
    s->open += s->A->place[r] == BCR_PLACE_OPEN ? 1 : 0;
    s->node[r] = 0;
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &s->open, 1, MPIU_INT, MPI_SUM, s->A->R->comm));
  *ok = (PetscBool)(s->open > 0);
  if (*ok) PetscCall(SearchCorner(s, &corner, &axes, beside, ok));
  else
    PetscCall(PetscSNPrintf(s->found->why, sizeof(s->found->why),
                            "no row, nor row 0, has an entry in a column off the diagonal"));
  for (PetscInt d = 0; d < 3; d++) {
    PetscInt nodes = 1;

    if (d < axes && *ok) PetscCall(SearchAxis(s, corner, beside[d], size, &nodes, ok));
    size *= s->found->N[d] = nodes;
    s->found->ring[d] = PETSC_FALSE;
  }
  s->found->dim = axes;
  if (!*ok) PetscFunctionReturn(PETSC_SUCCESS);
  *ok = (PetscBool)(size == s->open);
  if (*ok) PetscCall(SearchUnique(s, ok));
  if (!*ok)
    PetscCall(PetscSNPrintf(s->found->why, sizeof(s->found->why),
                            "row %" PetscInt_FMT ", column %" PetscInt_FMT
                            ": a grid that begins there has %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT
                            " nodes, and the %" PetscInt_FMT " rows for it are not one at each",
                            corner, beside[0], s->found->N[0], s->found->N[1], s->found->N[2], s->open));
  else PetscCall(SearchCheck(s, ok));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFindByDistances(BCRAnyRows *A, BCRFound *found)
{
  Search s;
  PetscBool ok = PETSC_FALSE;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&s, sizeof(s)));
  s.A = A;
  s.found = found;
  ierr = SearchCreate(&s);
  ierr = BCRFaultShare(A->R->comm, ierr, BCR_NO_MEMORY);
  if (!ierr) ierr = SearchAll(&s, &ok);
  PetscCall(SearchDestroy(&s));
  PetscCall(ierr);
  found->order = ok ? BCR_FOUND_ANY : BCR_FOUND_NONE;
  found->dof = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}
