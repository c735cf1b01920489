/*
  Rows in any order over several ranks, without all of the graph on one of them: stars on boxes without rings.

  Distances count links along the shortest way, on a box the steps along all axes together. What is farthest from any
  node is a corner. Its neighbours are the next nodes along the axes. Any other node has one neighbour that is nearer
  to the corner if it is on an edge, one step farther along it than that one; else several, and along each axis it is
  as far as the farthest of these.

      distances from  0 1 2 3     numbers of  0,0 1,0 2,0 3,0
      a corner        1 2 3 4     nodes       0,1 1,1 2,1 3,1      1,1 has both from 1,0 and 0,1
                      2 3 4 5                 0,2 1,2 2,2 3,2

  A rank finds distances, and then numbers, in its own rows, then takes those of its neighbours' rows, until nothing
  changes.
*/
#include "findany.h"
#include <petscbt.h>

#define FAR PETSC_MAX_INT

/* As often are distances exchanged at most: ranks along a diagonal, if their rows are near one another on the grid;
   and as often is each row looked at, on average */
#define ROUNDS(size) (64 + 8 * (PetscInt)(size))
#define LOOKS        32

typedef struct {
  BCRAnyRows *A;
  BCRFound *found;
  PetscInt open;  /* rows that are to have nodes, on all ranks */
  PetscInt *near; /* [n]: distances from the corner */
  PetscInt *node; /* [n]: distances from any node; then the nodes in natural order */
  PetscInt *at;   /* [n][3]: numbers along the axes, as far as they are known */
  PetscInt
    *ghost;     /* [ghosts][3]: those of rows of other ranks; before that, [ghosts], their distances from the corner */
  PetscBT edge; /* [n]: one neighbour is nearer to the corner */
  PetscInt *queue; /* [n]: rows whose neighbours are to be looked at, as a ring */
  PetscBT queued;
  PetscInt first, count; /* of the queue */
  double looks;          /* rows that were taken from it */
} Search;

static PetscErrorCode SearchDestroy(Search *s)
{
  PetscFunctionBegin;
  PetscCall(PetscFree5(s->near, s->node, s->at, s->ghost, s->queue));
  PetscCall(PetscBTDestroy(&s->queued));
  PetscCall(PetscBTDestroy(&s->edge));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SearchCreate(Search *s)
{
  const PetscInt n = s->A->R->n;

  PetscFunctionBegin;
  PetscCall(PetscMalloc5(n, &s->near, n, &s->node, 3 * n, &s->at, 3 * s->A->R->ghosts, &s->ghost, n, &s->queue));
  PetscCall(PetscBTCreate(n, &s->queued));
  PetscCall(PetscBTCreate(n, &s->edge));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline void SearchPush(Search *s, PetscInt row)
{
  const PetscInt n = s->A->R->n, at = s->first + s->count;

  if (PetscBTLookupSet(s->queued, row)) return;
  s->queue[at < n ? at : at - n] = row;
  s->count++;
}

static inline PetscInt SearchPop(Search *s)
{
  const PetscInt u = s->queue[s->first];

  s->first = s->first + 1 < s->A->R->n ? s->first + 1 : 0;
  s->count--;
  s->looks++;
  (void)PetscBTClear(s->queued, u);
  return u;
}

/* Distances of this rank's rows from those in the queue, along its own rows */
static void SearchOwn(Search *s, PetscInt d[])
{
  const BCRFindRows *R = s->A->R;

  while (s->count) {
    const PetscInt u = SearchPop(s);

    for (PetscInt k = R->i[0][u]; k < R->i[0][u + 1]; k++) {
      const PetscInt w = R->j[0][k];

      if (d[w] <= d[u] + 1 || s->A->place[w] != BCR_PLACE_OPEN || !BCRFindLink(R, 0, k)) continue;
      d[w] = d[u] + 1;
      SearchPush(s, w);
    }
  }
}

/* Collective. After so many exchanges: is there more to do? ok: nothing has changed; else, at the end, it is given
   up, and told */
static PetscErrorCode SearchGoes(Search *s, PetscInt round, PetscBool *more, PetscBool *ok)
{
  const BCRFindRows *R = s->A->R;
  double all[2] = {(double)s->count, s->looks};

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, all, 2, MPI_DOUBLE, MPI_SUM, R->comm));
  *ok = (PetscBool)(all[0] == 0);
  *more = (PetscBool)(!*ok && round < ROUNDS(R->size) && all[1] <= LOOKS * (double)s->open);
  if (*more) PetscFunctionReturn(PETSC_SUCCESS);
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

/* Collective. Distances from the rows where they are 0 on entry, on all ranks; others are FAR. ok: there was an end */
static PetscErrorCode SearchSpread(Search *s, PetscInt d[], PetscBool *ok)
{
  const BCRFindRows *R = s->A->R;
  PetscInt *ghost = s->A->ghost, round = 0;
  PetscBool more = PETSC_TRUE;

  PetscFunctionBegin;
  s->first = s->count = 0;
  s->looks = 0;
  for (PetscInt r = 0; r < R->n; r++)
    if (d[r] == 0) SearchPush(s, r);
  while (more) {
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
    PetscCall(SearchGoes(s, ++round, &more, ok));
  }
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
  for (PetscInt r = 0; r < s->A->R->n; r++) s->node[r] = 0;
  PetscCall(SearchFirst(s, s->node, 0, -1, &start));
  PetscCall(SearchFrom(s, start, s->node, ok));
  if (!*ok) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SearchLargest(s, s->node, &farthest));
  PetscCall(SearchFirst(s, s->node, farthest, -1, corner));
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

/* Row w of this rank is next to one that is nearer to the corner, with these numbers */
static inline void SearchTake(Search *s, PetscInt w, const PetscInt from[3])
{
  const PetscInt farther = PetscBTLookup(s->edge, w) ? 1 : 0;
  PetscInt *at = s->at + 3 * w, changed = 0;

  for (PetscInt d = 0; d < 3; d++) {
    const PetscInt t = PetscMax(at[d], from[d] + (farther & (from[d] != 0)));

    changed |= t ^ at[d];
    at[d] = t;
  }
  if (changed) SearchPush(s, w);
}

/* Rows with one neighbour that is nearer to the corner; odd: the first row of this rank with a neighbour as far as
   itself. ghost has the distances of rows of other ranks */
static void SearchEdges(Search *s, const PetscInt ghost[], PetscInt *odd)
{
  const BCRFindRows *R = s->A->R;

  *odd = FAR;
  for (PetscInt r = 0; r < R->n; r++) {
    const PetscInt here = s->near[r];
    PetscInt nearer = 0, same = 0;

    for (int b = 0; b < 2 && R->i[b] && here < FAR; b++) /* rows without a node are at no distance */
      for (PetscInt k = R->i[b][r]; k < R->i[b][r + 1]; k++) {
        const PetscInt c = R->j[b][k], d = b ? ghost[c] : s->near[c];

        if (!BCRFindLink(R, b, k)) continue;
        nearer += d < here;
        same += (d == here) & (b == 1 || c != r);
      }
    if (same && *odd == FAR) *odd = R->first + r;
    if (nearer == 1 && s->near[r] > 1) (void)PetscBTSet(s->edge, r);
  }
}

/* Collective. Numbers along the axes from the corner through its neighbours, which s->at has on entry */
static PetscErrorCode SearchNumbers(Search *s, PetscBool *ok)
{
  const BCRFindRows *R = s->A->R;
  const PetscInt *far = s->A->ghost; /* distances of these rows */
  PetscInt round = 0;
  PetscBool more = PETSC_TRUE;
  MPI_Datatype three;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Type_contiguous(3, MPIU_INT, &three));
  PetscCallMPI(MPI_Type_commit(&three));
  s->first = s->count = 0;
  s->looks = 0;
  for (PetscInt r = 0; r < R->n; r++)
    if (s->A->place[r] == BCR_PLACE_OPEN && s->near[r] == 1) SearchPush(s, r);
  while (more) {
    while (s->count) {
      const PetscInt u = SearchPop(s);

      for (PetscInt k = R->i[0][u]; k < R->i[0][u + 1]; k++)
        if (s->A->place[R->j[0][k]] == BCR_PLACE_OPEN && s->near[R->j[0][k]] > s->near[u] && BCRFindLink(R, 0, k))
          SearchTake(s, R->j[0][k], s->at + 3 * u);
    }
    PetscCall(PetscSFBcastBegin(s->A->sf, three, s->at, s->ghost, MPI_REPLACE));
    PetscCall(PetscSFBcastEnd(s->A->sf, three, s->at, s->ghost, MPI_REPLACE));
    for (PetscInt r = 0; R->i[1] && r < R->n; r++)
      for (PetscInt k = R->i[1][r]; k < R->i[1][r + 1] && s->A->place[r] == BCR_PLACE_OPEN; k++)
        if (far[R->j[1][k]] < s->near[r] && BCRFindLink(R, 1, k)) SearchTake(s, r, s->ghost + 3 * R->j[1][k]);
    PetscCall(SearchGoes(s, ++round, &more, ok));
  }
  PetscCallMPI(MPI_Type_free(&three));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. The sizes of the axes, and the node of each row */
static PetscErrorCode SearchNodes(Search *s, PetscInt corner, PetscInt axes, const PetscInt beside[], PetscBool *ok)
{
  const BCRFindRows *R = s->A->R;
  PetscInt odd, *N = s->found->N;
  double size;

  PetscFunctionBegin;
  PetscCall(PetscSFBcastBegin(s->A->sf, MPIU_INT, s->near, s->A->ghost, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(s->A->sf, MPIU_INT, s->near, s->A->ghost, MPI_REPLACE));
  SearchEdges(s, s->A->ghost, &odd);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &odd, 1, MPIU_INT, MPI_MIN, R->comm));
  *ok = (PetscBool)(odd == FAR);
  if (!*ok) {
    PetscCall(
      PetscSNPrintf(s->found->why, sizeof(s->found->why),
                    "row %" PetscInt_FMT " (column %" PetscInt_FMT ") is as near to the corner, row %" PetscInt_FMT
                    ", as a neighbour of it (rings, and stencils with diagonals, are not found over ranks in any "
                    "order: -pc_bcrpoisson_grid)",
                    odd, odd, corner));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscArrayzero(s->at, 3 * R->n));
  for (PetscInt d = 0; d < axes; d++)
    if (beside[d] >= R->first && beside[d] < R->first + R->n) s->at[3 * (beside[d] - R->first) + d] = 1;
  PetscCall(SearchNumbers(s, ok));
  if (!*ok) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt d = 0; d < 3; d++) N[d] = 1;
  for (PetscInt r = 0; r < R->n; r++)
    for (PetscInt d = 0; d < 3 && s->A->place[r] == BCR_PLACE_OPEN; d++) N[d] = PetscMax(N[d], s->at[3 * r + d] + 1);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, N, 3, MPIU_INT, MPI_MAX, R->comm));
  size = (double)N[0] * (double)N[1] * (double)N[2];
  *ok = (PetscBool)(size == (double)s->open);
  if (!*ok)
    PetscCall(PetscSNPrintf(s->found->why, sizeof(s->found->why),
                            "row %" PetscInt_FMT ", column %" PetscInt_FMT
                            ": a grid that begins there has %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT
                            " nodes, and the matrix has %" PetscInt_FMT " rows for it",
                            corner, beside[0], N[0], N[1], N[2], s->open));
  for (PetscInt r = 0; r < R->n && *ok; r++)
    s->node[r] = s->at[3 * r] + N[0] * (s->at[3 * r + 1] + N[1] * s->at[3 * r + 2]);
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

/* Collective. Every entry of every row, by the numbers along the axes; place is what comes out */
static PetscErrorCode SearchCheck(Search *s, PetscBool *ok)
{
  const BCRFindRows *R = s->A->R;
  PetscInt *place = s->A->place, wrong = FAR, column = 0;
  double largest;

  PetscFunctionBegin;
  for (PetscInt r = 0; r < R->n && wrong == FAR; r++)
    for (int b = 0; b < 2 && R->i[b] && place[r] == BCR_PLACE_OPEN && wrong == FAR; b++)
      for (PetscInt k = R->i[b][r]; k < R->i[b][r + 1] && wrong == FAR; k++) {
        const PetscInt c = R->j[b][k], *here = s->at + 3 * r, *there = b ? s->ghost + 3 * c : s->at + 3 * c;
        PetscInt steps = 0;

        /* rows without a node have no distance */
        if ((b ? s->A->ghost[c] : s->near[c]) == FAR || !BCRFindLink(R, b, k)) continue;
        for (int d = 0; d < 3; d++) steps += PetscAbsInt(here[d] - there[d]);
        if (steps <= 1) continue;
        wrong = R->first + r;
        column = BCRFindColumn(R, b, k);
      }
  for (PetscInt r = 0; r < R->n; r++)
    if (place[r] == BCR_PLACE_OPEN) place[r] = s->node[r];
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
  PetscInt corner = 0, axes = 0, beside[3] = {0, 0, 0};

  PetscFunctionBegin;
  for (PetscInt r = 0; r < s->A->R->n; r++) s->open += s->A->place[r] == BCR_PLACE_OPEN ? 1 : 0;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &s->open, 1, MPIU_INT, MPI_SUM, s->A->R->comm));
  *ok = (PetscBool)(s->open > 0);
  if (*ok) PetscCall(SearchCorner(s, &corner, &axes, beside, ok));
  else
    PetscCall(PetscSNPrintf(s->found->why, sizeof(s->found->why),
                            "no row, nor row 0, has an entry in a column off the diagonal"));
  if (*ok) PetscCall(SearchNodes(s, corner, axes, beside, ok));
  if (!*ok) PetscFunctionReturn(PETSC_SUCCESS);
  s->found->dim = axes;
  for (PetscInt d = 0; d < 3; d++) s->found->ring[d] = PETSC_FALSE;
  PetscCall(SearchUnique(s, ok));
  if (*ok) PetscCall(SearchCheck(s, ok));
  else
    PetscCall(PetscSNPrintf(s->found->why, sizeof(s->found->why),
                            "row %" PetscInt_FMT ", column %" PetscInt_FMT
                            ": a grid that begins there has %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT
                            " nodes, and the %" PetscInt_FMT " rows for it are not one at each",
                            corner, beside[0], s->found->N[0], s->found->N[1], s->found->N[2], s->open));
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
