/*
  Rows in any order over several ranks, without all of the graph on one of them: stars on boxes without rings.

  Distances count links along the shortest way, on a box the steps along all axes together. A node with the fewest links
  is a corner, and its neighbours are the next nodes along the axes. Any other node has one neighbour that is nearer to
  the corner if it is on an edge, one step farther along it than that one; else several, and along each axis it is as far
  as the farthest of these.

      distances from  0 1 2 3     numbers of  0,0 1,0 2,0 3,0
      a corner        1 2 3 4     nodes       0,1 1,1 2,1 3,1      1,1 has both from 1,0 and 0,1
                      2 3 4 5                 0,2 1,2 2,2 3,2

  Every entry is then one step along one axis. Where every node has all of its neighbours no two rows have the same one:
  there is a row at each neighbour of each node that has a row, so at all of them, and they are as many as the rows.
*/
#include "findwave.h"

#define FAR BCR_WAVE_FAR

#define STAR 6 /* links of a node at most */

/* Collective. The corner: the first row of those with the fewest links, but for rows with none. why: there is none, or a
   row with too many */
static PetscErrorCode SearchCorner(BCRWave *w, char why[], size_t room, PetscBool *ok)
{
  const BCRFindRows *R = w->A->R;
  const PetscInt *place = w->A->place, *ghost = w->A->ghost;
  const PetscBool all = (PetscBool)(R->N == w->open && !R->dropzeros); /* entries beside the diagonal are links */
  PetscInt least = FAR, fewest, first[2] = {FAR, FAR};                 /* rows with the fewest, and with too many */

  PetscFunctionBegin;
  for (PetscInt r = 0; r < R->n; r++) {
    PetscInt entries = R->i[0][r + 1] - R->i[0][r], links = 0;

    if (R->i[1]) entries += R->i[1][r + 1] - R->i[1][r];
    if (place[r] != BCR_PLACE_OPEN || (all && entries - 1 >= least && entries - 1 <= STAR)) continue;
    for (int b = 0; b < 2 && R->i[b]; b++)
      for (PetscInt k = R->i[b][r]; k < R->i[b][r + 1]; k++) {
        const PetscInt c = R->j[b][k];

        if ((b ? ghost[c] : place[c]) == BCR_PLACE_OPEN && (b || c != r) && BCRFindLink(R, b, k)) links++;
      }
    if (links > STAR && first[1] == FAR) first[1] = R->first + r;
    if (links == 0 || links >= least) continue;
    least = links;
    first[0] = R->first + r;
  }
  PetscCallMPI(MPI_Allreduce(&least, &fewest, 1, MPIU_INT, MPI_MIN, R->comm));
  if (least > fewest) first[0] = FAR;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, first, 2, MPIU_INT, MPI_MIN, R->comm));
  w->corner = first[0];
  *ok = (PetscBool)(first[0] < FAR && first[1] == FAR);
  if (first[1] < FAR)
    PetscCall(PetscSNPrintf(why, room,
                            "row %" PetscInt_FMT " (column %" PetscInt_FMT
                            ") has more than %d neighbours (stencils with diagonals are not found over ranks in any "
                            "order: -pc_bcrpoisson_grid)",
                            first[1], first[1], STAR));
  else if (!*ok) PetscCall(PetscSNPrintf(why, room, "no row, nor row 0, has an entry in a column off the diagonal"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. The corner's neighbours, the nearest by number first; why: it is none */
static PetscErrorCode SearchBeside(BCRWave *w, char why[], size_t room, PetscBool *ok)
{
  const BCRFindRows *R = w->A->R;
  const PetscInt r = w->corner - R->first;
  PetscInt found[5] = {-1, -1, -1, -1, 0}; /* neighbours, and how many */

  PetscFunctionBegin;
  if (r >= 0 && r < R->n)
    for (int b = 0; b < 2 && R->i[b]; b++)
      for (PetscInt k = R->i[b][r]; k < R->i[b][r + 1] && found[4] < 4; k++) {
        PetscInt c = R->j[b][k], at = found[4];

        if ((b ? w->A->ghost[c] : w->A->place[c]) != BCR_PLACE_OPEN || (!b && c == r) || !BCRFindLink(R, b, k))
          continue;
        c = BCRFindColumn(R, b, k);
        for (; at > 0 && PetscAbsInt(c - w->corner) < PetscAbsInt(found[at - 1] - w->corner); at--)
          found[at] = found[at - 1];
        found[at] = c;
        found[4]++;
      }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, found, 5, MPIU_INT, MPI_MAX, R->comm));
  *ok = (PetscBool)(found[4] <= 3);
  if (!*ok)
    PetscCall(PetscSNPrintf(why, room,
                            "row %" PetscInt_FMT " (column %" PetscInt_FMT
                            ") is the corner of a grid, but has more than 3 neighbours (rings, and stencils with "
                            "diagonals, are not found over ranks in any order: -pc_bcrpoisson_grid)",
                            w->corner, found[3]));
  w->axes = PetscMin(found[4], 3);
  for (int d = 0; d < 3; d++) w->beside[d] = found[d];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What rows and entries show; of all ranks together the largest of each number */
typedef struct {
  PetscInt lost, even,
    wrong;                  /* less the first row that was not reached, with a neighbour as far as itself, with an entry
                                 that is more than a step */
  PetscInt last[3], end[3]; /* of each axis the last number, less the first one with no neighbour behind it */
  PetscInt before;          /* 1: a row has a neighbour less, and not because it is the first one of an axis */
  PetscInt farthest;        /* distance */
} Shown;

/* What the links of a row to one block are: bit d, a step down along axis d, bit 3 + d, one up; same: one leads to a row
   that is as far; wrong: one is no step. Distances are the sums of the numbers */
static inline unsigned SearchSteps(const BCRFindRows *R, int b, PetscInt row, const BCRWavePoint *here,
                                   const BCRWavePoint points[], unsigned *same, unsigned *wrong)
{
  const PetscInt end = R->i[b][row + 1], *j = R->j[b];
  const PetscScalar *a = R->a[b];
  unsigned steps = 0;

  for (PetscInt k = R->i[b][row]; k < end; k++) {
    const BCRWavePoint *there = &points[j[k]];
    const PetscInt up = there->near - here->near;
    const unsigned axes = (unsigned)(here->at[0] != there->at[0]) | (unsigned)(here->at[1] != there->at[1]) << 1 |
                          (unsigned)(here->at[2] != there->at[2]) << 2;

    if (there->near == BCR_WAVE_CLOSED || there == here || (a && a[k] == (PetscScalar)0)) continue;
    steps |= axes << (up > 0 ? 3 : 0);
    *same |= up == 0;
    *wrong |= (axes & (axes - 1)) | (unsigned)(up != 1 && up != -1);
  }
  return steps;
}

/* The column of the first link of a row that is no step; the row itself, if it has none */
static PetscInt SearchColumn(const BCRWave *w, PetscInt row)
{
  const BCRFindRows *R = w->A->R;

  for (int b = 0; b < 2 && R->i[b]; b++)
    for (PetscInt k = R->i[b][row]; k < R->i[b][row + 1]; k++) {
      const BCRWavePoint *there = (b ? w->ghost : w->own) + R->j[b][k];
      PetscInt steps = 0;

      for (int d = 0; d < 3; d++) steps += PetscAbsInt(there->at[d] - w->own[row].at[d]);
      if (there->near != BCR_WAVE_CLOSED && BCRFindLink(R, b, k) && steps > 1) return BCRFindColumn(R, b, k);
    }
  return R->first + row;
}

/* Every entry of every row; column: of the first one that is no step */
static void SearchLook(const BCRWave *w, Shown *shown, PetscInt *column)
{
  const BCRFindRows *R = w->A->R;

  *shown = (Shown){
    -FAR, -FAR, -FAR, {0,    0,    0   },
       {-FAR, -FAR, -FAR},
       0, 0
  };
  for (PetscInt r = 0; r < R->n; r++) {
    const BCRWavePoint *here = &w->own[r];
    unsigned steps, same = 0, wrong = here->near != here->at[0] + here->at[1] + here->at[2];

    if (here->near == BCR_WAVE_CLOSED) continue;
    if (here->near == FAR) {
      shown->lost = PetscMax(shown->lost, -(R->first + r));
      continue;
    }
    steps = SearchSteps(R, 0, r, here, w->own, &same, &wrong);
    if (R->i[1] && R->i[1][r + 1] > R->i[1][r]) steps |= SearchSteps(R, 1, r, here, w->ghost, &same, &wrong);
    if (same) shown->even = PetscMax(shown->even, -(R->first + r));
    if (wrong && shown->wrong == -FAR) {
      shown->wrong = -(R->first + r);
      *column = SearchColumn(w, r);
    }
    for (int d = 0; d < 3; d++) {
      shown->last[d] = PetscMax(shown->last[d], here->at[d]);
      if (!(steps >> (3 + d) & 1)) shown->end[d] = PetscMax(shown->end[d], -here->at[d]);
      shown->before |= (PetscInt)(~steps >> d & 1) & (here->at[d] > 0);
    }
    shown->farthest = PetscMax(shown->farthest, here->near);
  }
}

/* Collective. ok: no two rows, of this rank or others, have the same node */
static PetscErrorCode SearchUnique(const BCRWave *w, const PetscInt N[3], PetscBool *ok)
{
  const BCRFindRows *R = w->A->R;
  const PetscInt *degree;
  PetscInt n = 0, own, twice = 0;
  PetscLayout layout;
  PetscSF sf;

  PetscFunctionBegin;
  for (PetscInt r = 0; r < R->n; r++) {
    const PetscInt *at = w->own[r].at;

    if (w->own[r].near != BCR_WAVE_CLOSED) w->queue[n++] = at[0] + N[0] * (at[1] + N[1] * at[2]);
  }
  PetscCall(PetscLayoutCreate(R->comm, &layout));
  PetscCall(PetscLayoutSetSize(layout, w->open));
  PetscCall(PetscLayoutSetUp(layout));
  PetscCall(PetscLayoutGetLocalSize(layout, &own));
  PetscCall(PetscSFCreate(R->comm, &sf));
  PetscCall(PetscSFSetGraphLayout(sf, layout, n, NULL, PETSC_OWN_POINTER, w->queue));
  PetscCall(PetscSFComputeDegreeBegin(sf, &degree));
  PetscCall(PetscSFComputeDegreeEnd(sf, &degree));
  for (PetscInt k = 0; k < own; k++) twice += degree[k] != 1 ? 1 : 0;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &twice, 1, MPIU_INT, MPI_MAX, R->comm));
  PetscCall(PetscSFDestroy(&sf));
  PetscCall(PetscLayoutDestroy(&layout));
  *ok = (PetscBool)!twice;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. Is what a wave has left a grid? again: no, but it may be one from another corner. largest: on all ranks */
static PetscErrorCode SearchCheck(const BCRWave *w, BCRFound *found, PetscBool *ok, PetscBool *again, Shown *largest)
{
  const BCRFindRows *R = w->A->R;
  PetscInt wrong = 0, *N = found->N;
  PetscBool whole;
  Shown shown;
  char *why = found->why;

  PetscFunctionBegin;
  SearchLook(w, &shown, &wrong);
  PetscCallMPI(
    MPI_Allreduce(&shown, largest, (PetscMPIInt)(sizeof(shown) / sizeof(PetscInt)), MPIU_INT, MPI_MAX, R->comm));
  whole = (PetscBool)!largest->before;
  for (int d = 0; d < 3; d++) {
    N[d] = largest->last[d] + 1;
    whole = (PetscBool)(whole && -largest->end[d] == largest->last[d]);
  }
  *ok = *again = PETSC_FALSE;
  if (largest->lost > -FAR)
    PetscCall(PetscSNPrintf(why, sizeof(found->why),
                            "row %" PetscInt_FMT ", column %" PetscInt_FMT
                            ": no entries lead from one to the other, and over ranks in any order grids that are not "
                            "linked are not found: -pc_bcrpoisson_grid",
                            w->corner, -largest->lost));
  else if (largest->even > -FAR)
    PetscCall(PetscSNPrintf(why, sizeof(found->why),
                            "row %" PetscInt_FMT " (column %" PetscInt_FMT
                            ") is as near to the corner, row %" PetscInt_FMT
                            ", as a neighbour of it (rings, and stencils with diagonals, are not found over ranks in "
                            "any order: -pc_bcrpoisson_grid)",
                            -largest->even, -largest->even, w->corner));
  else if ((double)N[0] * (double)N[1] * (double)N[2] != (double)w->open) {
    *again = PETSC_TRUE;
    PetscCall(PetscSNPrintf(why, sizeof(found->why),
                            "row %" PetscInt_FMT ", column %" PetscInt_FMT
                            ": a grid that begins there has %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT
                            " nodes, and the matrix has %" PetscInt_FMT " rows for it",
                            w->corner, w->beside[0], N[0], N[1], N[2], w->open));
  } else if (largest->wrong > -FAR) {
    double priority;

    *again = PETSC_TRUE;
    found->fits = -largest->wrong;
    PetscCall(PetscSNPrintf(why, sizeof(found->why),
                            "row %" PetscInt_FMT ", column %" PetscInt_FMT
                            ": an entry between two that are not beside one another on a grid of %" PetscInt_FMT
                            " x %" PetscInt_FMT " x %" PetscInt_FMT " nodes, to which most would belong",
                            -shown.wrong, wrong, N[0], N[1], N[2]));
    PetscCall(BCRTakeFrom(R->comm, (double)shown.wrong, why, sizeof(found->why), &priority));
  } else {
    *ok = whole;
    if (!whole) PetscCall(SearchUnique(w, N, ok));
    *again = (PetscBool) !*ok;
    if (*again)
      PetscCall(PetscSNPrintf(why, sizeof(found->why),
                              "row %" PetscInt_FMT ", column %" PetscInt_FMT
                              ": a grid that begins there has %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT
                              " nodes, and the %" PetscInt_FMT " rows for it are not one at each",
                              w->corner, w->beside[0], N[0], N[1], N[2], w->open));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. Once from the row with the fewest links, and, where that was a node within the grid that lacks some, from
   the farthest one from it */
static PetscErrorCode SearchAll(BCRWave *w, BCRFound *found, PetscBool *ok)
{
  const BCRFindRows *R = w->A->R;
  PetscBool again = PETSC_TRUE;
  Shown shown;

  PetscFunctionBegin;
  PetscCall(PetscSFBcastBegin(w->A->sf, MPIU_INT, w->A->place, w->A->ghost, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(w->A->sf, MPIU_INT, w->A->place, w->A->ghost, MPI_REPLACE));
  PetscCall(SearchCorner(w, found->why, sizeof(found->why), ok));
  for (int k = 0; k < 2 && again && (k || *ok); k++) {
    if (k) {
      PetscInt row = FAR;

      for (PetscInt r = 0; r < R->n && row == FAR; r++)
        if (w->own[r].near == shown.farthest) row = R->first + r;
      PetscCallMPI(MPI_Allreduce(&row, &w->corner, 1, MPIU_INT, MPI_MIN, R->comm));
    }
    again = PETSC_FALSE;
    PetscCall(SearchBeside(w, found->why, sizeof(found->why), ok));
    if (!*ok) break;
    PetscCall(BCRWaveRun(w, ok));
    if (*ok) PetscCall(SearchCheck(w, found, ok, &again, &shown));
    else
      PetscCall(PetscSNPrintf(found->why, sizeof(found->why),
                              "rows in any order over %d ranks, as row 0 (column 0) and %" PetscInt_FMT
                              " others: neighbours on the grid are on too many different ranks: give the grid with "
                              "-pc_bcrpoisson_grid, or number the rows so that those of a rank are near one another",
                              (int)R->size, R->N - 1));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFindByDistances(BCRAnyRows *A, BCRFound *found)
{
  const BCRFindRows *R = A->R;
  PetscBool ok = PETSC_FALSE;
  BCRWave w;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = BCRWaveCreate(A, &w);
  if (!ierr) ierr = SearchAll(&w, found, &ok);
  for (PetscInt r = 0; r < R->n && ok; r++) {
    const PetscInt *at = w.own[r].at;

    if (A->place[r] == BCR_PLACE_OPEN) A->place[r] = at[0] + found->N[0] * (at[1] + found->N[1] * at[2]);
  }
  for (int d = 0; d < 3; d++) found->ring[d] = PETSC_FALSE;
  found->dim = w.axes;
  found->reach = 1;
  PetscCall(BCRWaveDestroy(&w));
  PetscCall(ierr);
  found->order = ok ? BCR_FOUND_ANY : BCR_FOUND_NONE;
  found->dof = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}
