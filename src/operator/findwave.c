/*
  A wave through the links of rows in any order over several ranks: each row takes its distance from the corner and its
  numbers along the axes from its neighbours that are nearer, and has those that are farther look at it.

  Between two exchanges a rank goes on through as many distances as come before ways are likely to lead to other ranks:
  one in a random order, many where a rank's rows are near one another. Rows that were reached on a way that was not the
  shortest, or before all neighbours that are nearer, are looked at again. Each exchange has what is new alone.
*/
#include "findwave.h"

/* As often is each row looked at, on average, on any rank. Exchanges: one for each distance at worst, of boxes some of
   whose axes are 400 times as long as others; what is longer, in a random order, is given up */
#define LOOKS        32
#define ROUNDS(w)    (64 + 8 * (double)(w)->A->R->size + 20 * PetscSqrtReal((double)(w)->open))
#define MOST_ROOM    (1 << 24)
#define MESSAGE      5 /* numbers of a message: place, distance, numbers along the axes */
#define WIDTH(links) ((links) / 8)

PetscErrorCode BCRWaveDestroy(BCRWave *w)
{
  PetscFunctionBegin;
  PetscCall(PetscFree3(w->own, w->ghost, w->queue));
  PetscCall(PetscFree2(w->in, w->inrow));
  PetscCall(PetscFree2(w->out, w->outto));
  PetscCall(PetscFree4(w->wanted, w->given, w->start, w->request));
  PetscCall(PetscFree3(w->dirty, w->sent, w->received));
  PetscCall(PetscBTDestroy(&w->queued));
  PetscCall(PetscBTDestroy(&w->isdirty));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. Which ghosts are whose, and how many of this rank's rows are those of others; roots: which these are, in
   the order of their messages */
static PetscErrorCode WaveRanks(BCRWave *w, PetscInt **roots)
{
  const BCRFindRows *R = w->A->R;
  PetscInt *asked = NULL, c = 0;
  PetscMPIInt *counts = NULL, *back = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *roots = NULL;
  ierr = PetscMalloc4(R->size + 1, &w->wanted, R->size + 1, &w->given, R->size + 1, &w->start, R->size, &w->request);
  if (!ierr) ierr = PetscMalloc3(R->ghosts, &asked, R->size, &counts, R->size, &back);
  BCRCallElse(BCRFaultShare(R->comm, ierr, BCR_NO_MEMORY), (void)PetscFree3(asked, counts, back));
  for (PetscMPIInt p = 0; p < R->size; p++) {
    w->wanted[p] = (PetscMPIInt)c;
    for (; c < R->ghosts && R->ghost[c] < R->starts[p + 1]; c++) asked[c] = R->ghost[c] - R->starts[p];
    counts[p] = (PetscMPIInt)c - w->wanted[p];
  }
  w->wanted[R->size] = (PetscMPIInt)c;
  PetscCallMPI(MPI_Alltoall(counts, 1, MPI_INT, back, 1, MPI_INT, R->comm));
  w->given[0] = 0;
  for (PetscMPIInt p = 0; p < R->size; p++) w->given[p + 1] = w->given[p] + back[p];
  ierr = BCRFaultShare(R->comm, PetscMalloc1(w->given[R->size], roots), BCR_NO_MEMORY);
  if (!ierr) PetscCallMPI(MPI_Alltoallv(asked, counts, w->wanted, MPIU_INT, *roots, back, w->given, MPIU_INT, R->comm));
  PetscCall(PetscFree3(asked, counts, back));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* first[n + 1] from how many there are of each, in first[1] ... first[n]; then first[k] is where the next one of k goes,
   and Ends() makes it the first one again */
static void Begins(PetscInt n, PetscInt first[])
{
  for (PetscInt k = 0; k < n; k++) first[k + 1] += first[k];
}
static void Ends(PetscInt n, PetscInt first[])
{
  for (PetscInt k = n; k > 0; k--) first[k] = first[k - 1];
  first[0] = 0;
}

/* Rows by the ghosts that they have links to, ghosts of other ranks by the rows that they are */
static PetscErrorCode WaveLinks(BCRWave *w, const PetscInt roots[])
{
  const BCRFindRows *R = w->A->R;
  const PetscInt entries = R->i[1] ? R->i[1][R->n] : 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(R->ghosts + 1, &w->in, entries, &w->inrow));
  PetscCall(PetscMalloc2(R->n + 1, &w->out, 2 * w->given[R->size], &w->outto));
  PetscCall(PetscArrayzero(w->in, R->ghosts + 1));
  for (PetscInt k = 0; k < entries; k++) w->in[R->j[1][k] + 1] += BCRFindLink(R, 1, k) ? 1 : 0;
  Begins(R->ghosts, w->in);
  for (PetscInt r = 0; r < R->n && entries; r++)
    for (PetscInt k = R->i[1][r]; k < R->i[1][r + 1]; k++)
      if (BCRFindLink(R, 1, k)) w->inrow[w->in[R->j[1][k]]++] = r;
  Ends(R->ghosts, w->in);
  PetscCall(PetscArrayzero(w->out, R->n + 1));
  for (PetscInt e = 0; e < w->given[R->size]; e++) w->out[roots[e] + 1]++;
  Begins(R->n, w->out);
  for (PetscMPIInt p = 0; p < R->size; p++)
    for (PetscInt e = w->given[p]; e < w->given[p + 1]; e++) {
      PetscInt *to = w->outto + 2 * w->out[roots[e]]++;

      to[0] = p;
      to[1] = e - w->given[p];
    }
  Ends(R->n, w->out);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. width, and room for the messages of an exchange */
static PetscErrorCode WaveRoom(BCRWave *w)
{
  const BCRFindRows *R = w->A->R;
  double links[2] = {(double)R->i[0][R->n] + w->in[R->ghosts], (double)w->in[R->ghosts]};
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, links, 2, MPI_DOUBLE, MPI_SUM, R->comm));
  w->width = links[1] > 0 ? (PetscInt)PetscMax(1., PetscMin(WIDTH(links[0] / links[1]), 1e9)) : 1000000000;
  w->room = PetscMin(PetscMin(w->given[R->size], 4096 + w->given[R->size] / 8), MOST_ROOM) + R->size;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &w->room, 1, MPIU_INT, MPI_MAX, R->comm));
  ierr = PetscMalloc3(w->room, &w->dirty, MESSAGE * w->room, &w->sent, MESSAGE * w->room, &w->received);
  PetscCall(BCRFaultShare(R->comm, ierr, BCR_NO_MEMORY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRWaveCreate(const BCRAnyRows *A, BCRWave *w)
{
  const BCRFindRows *R = A->R;
  PetscInt *roots = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(w, sizeof(*w)));
  w->A = A;
  for (PetscInt r = 0; r < R->n; r++) w->open += A->place[r] == BCR_PLACE_OPEN ? 1 : 0;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &w->open, 1, MPIU_INT, MPI_SUM, R->comm));
  PetscCall(PetscCommGetNewTag(R->comm, &w->tag));
  ierr = PetscMalloc3(R->n, &w->own, R->ghosts, &w->ghost, R->n, &w->queue);
  if (!ierr) ierr = PetscBTCreate(R->n, &w->queued);
  if (!ierr) ierr = PetscBTCreate(R->n, &w->isdirty);
  PetscCall(BCRFaultShare(R->comm, ierr, BCR_NO_MEMORY));
  ierr = WaveRanks(w, &roots);
  if (!ierr) ierr = BCRFaultShare(R->comm, WaveLinks(w, roots), BCR_NO_MEMORY);
  if (!ierr) ierr = WaveRoom(w);
  PetscCall(PetscFree(roots));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline void WavePush(BCRWave *w, PetscInt row)
{
  const PetscInt n = w->A->R->n, at = w->first + w->count;

  if (PetscBTLookupSet(w->queued, row)) return;
  w->queue[at < n ? at : at - n] = row;
  w->count++;
}

static inline PetscInt WavePop(BCRWave *w)
{
  const PetscInt row = w->queue[w->first];

  w->first = w->first + 1 < w->A->R->n ? w->first + 1 : 0;
  w->count--;
  (void)PetscBTClear(w->queued, row);
  return row;
}

/* A row of this rank has a neighbour at this distance, which is new. One that waits has not been looked at yet */
static inline void WaveReach(BCRWave *w, BCRWavePoint own[], PetscInt row, PetscInt near)
{
  BCRWavePoint *p = &own[row];

  if (p->near <= near || (p->near == near + 1 && p->at[0] < 0)) return;
  if (p->near > near + 1) {
    p->near = near + 1;
    p->at[0] = -1;
  }
  WavePush(w, row);
}

/* What a row, at this distance, takes from its links of one block; how many of these are nearer. Without branches:
   which of the links are is not to be foretold */
static inline PetscInt WaveNumbers(const BCRFindRows *R, int b, PetscInt row, PetscInt near,
                                   const BCRWavePoint points[], PetscInt at[3])
{
  const PetscInt end = R->i[b][row + 1], *j = R->j[b];
  const PetscScalar *a = R->a[b];
  PetscInt count = 0, x = 0, y = 0, z = 0;

  for (PetscInt k = R->i[b][row]; k < end; k++) {
    const BCRWavePoint *p = &points[j[k]];
    const PetscInt nearer = (p->near == near - 1) & (!a || a[k] != (PetscScalar)0), all = -nearer;

    x = PetscMax(x, p->at[0] & all);
    y = PetscMax(y, p->at[1] & all);
    z = PetscMax(z, p->at[2] & all);
    count += nearer;
  }
  at[0] = PetscMax(at[0], x);
  at[1] = PetscMax(at[1], y);
  at[2] = PetscMax(at[2], z);
  return count;
}

static inline void WaveLook(BCRWave *w, PetscInt row)
{
  const BCRFindRows *R = w->A->R;
  const PetscInt end = R->i[0][row + 1], *j = R->j[0];
  const PetscScalar *a = R->a[0];
  BCRWavePoint *own = w->own, *p = &own[row];
  const PetscInt near = p->near;
  PetscInt at[3] = {0, 0, 0}, count;

  w->looks++;
  count = WaveNumbers(R, 0, row, near, own, at);
  if (R->i[1] && R->i[1][row + 1] > R->i[1][row]) count += WaveNumbers(R, 1, row, near, w->ghost, at);
  if (near > 1)
    for (int d = 0; d < 3; d++) at[d] += (count == 1) & (at[d] != 0);
  else if (near == 1)
    for (PetscInt d = 0; d < w->axes; d++) at[d] = w->beside[d] == R->first + row;
  if (at[0] == p->at[0] && at[1] == p->at[1] && at[2] == p->at[2]) return;
  for (int d = 0; d < 3; d++) p->at[d] = at[d];
  for (PetscInt k = R->i[0][row]; k < end; k++)
    if (!a || a[k] != (PetscScalar)0) WaveReach(w, own, j[k], near);
  if (w->out[row + 1] == w->out[row] || PetscBTLookupSet(w->isdirty, row)) return;
  w->dirty[w->dirtied++] = row;
  w->used += w->out[row + 1] - w->out[row];
}

/* What rows some way ahead in the queue need is asked for: where rows lie anywhere each of it is a cache miss */
static inline void WaveAhead(const BCRWave *w)
{
  const BCRFindRows *R = w->A->R;
  const PetscInt *i = R->i[0], *j = R->j[0];
  PetscInt rows[3]; /* the nearest first */

  if (w->count < 24) return;
  for (PetscInt q = 0; q < 3; q++) {
    const PetscInt at = w->first + 8 * q + 7;

    rows[q] = w->queue[at < R->n ? at : at - R->n];
  }
  __builtin_prefetch(i + rows[2], 0, 3);
  __builtin_prefetch(w->own + rows[2], 1, 3);
  __builtin_prefetch(w->out + rows[2], 0, 3);
  __builtin_prefetch(j + i[rows[1]], 0, 3);
  __builtin_prefetch(j + i[rows[1] + 1] - 1, 0, 3);
  for (PetscInt k = i[rows[0]]; k < i[rows[0] + 1]; k++) __builtin_prefetch(w->own + j[k], 1, 3);
}

/* Rows of this rank up to a distance, as long as there is room for what is to be told of one more; farther ones wait */
static void WaveOwn(BCRWave *w, PetscInt most)
{
  PetscInt waiting = 0; /* at the end of the queue */

  while (w->count > waiting && w->used + w->A->R->size <= w->room) {
    const PetscInt row = WavePop(w);

    WaveAhead(w);
    if (w->own[row].near > most) {
      WavePush(w, row);
      waiting++;
    } else {
      WaveLook(w, row);
      waiting = 0;
    }
  }
}

/* What is new on other ranks */
static void WaveTake(BCRWave *w, PetscMPIInt from, PetscInt count)
{
  for (PetscInt m = 0; m < count; m++) {
    const PetscInt *news = w->received + MESSAGE * m, c = w->wanted[from] + news[0];

    w->ghost[c].near = news[1];
    for (int d = 0; d < 3; d++) w->ghost[c].at[d] = news[2 + d];
    for (PetscInt k = w->in[c]; k < w->in[c + 1]; k++) WaveReach(w, w->own, w->inrow[k], news[1]);
  }
}

/* Collective */
static PetscErrorCode WaveExchange(BCRWave *w)
{
  const BCRFindRows *R = w->A->R;
  PetscMPIInt *start = w->start, requests = 0;

  PetscFunctionBegin;
  for (PetscMPIInt p = 0; p <= R->size; p++) start[p] = 0;
  for (PetscInt m = 0; m < w->dirtied; m++)
    for (PetscInt e = w->out[w->dirty[m]]; e < w->out[w->dirty[m] + 1]; e++) start[w->outto[2 * e] + 1]++;
  for (PetscMPIInt p = 0; p < R->size; p++) start[p + 1] += start[p];
  for (PetscInt m = 0; m < w->dirtied; m++) {
    const PetscInt row = w->dirty[m];

    for (PetscInt e = w->out[row]; e < w->out[row + 1]; e++) {
      PetscInt *news = w->sent + MESSAGE * start[w->outto[2 * e]]++;

      news[0] = w->outto[2 * e + 1];
      news[1] = w->own[row].near;
      for (int d = 0; d < 3; d++) news[2 + d] = w->own[row].at[d];
    }
    (void)PetscBTClear(w->isdirty, row);
  }
  w->dirtied = w->used = 0;
  for (PetscMPIInt p = 0; p < R->size; p++) {
    const PetscMPIInt first = p ? start[p - 1] : 0;

    if (w->given[p + 1] == w->given[p]) continue;
    PetscCallMPI(MPI_Isend(w->sent + MESSAGE * first, MESSAGE * (start[p] - first), MPIU_INT, p, w->tag, R->comm,
                           &w->request[requests++]));
  }
  for (PetscMPIInt p = 0; p < R->size; p++) {
    MPI_Status status;
    PetscMPIInt numbers;

    if (w->wanted[p + 1] == w->wanted[p]) continue;
    PetscCallMPI(MPI_Recv(w->received, (PetscMPIInt)(MESSAGE * w->room), MPIU_INT, p, w->tag, R->comm, &status));
    PetscCallMPI(MPI_Get_count(&status, MPIU_INT, &numbers));
    WaveTake(w, p, numbers / MESSAGE);
  }
  PetscCallMPI(MPI_Waitall(requests, w->request, MPI_STATUSES_IGNORE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. No row is reached yet but the corner */
static PetscErrorCode WaveBegin(BCRWave *w)
{
  const BCRFindRows *R = w->A->R;
  const PetscInt *place = w->A->place, corner = w->corner - R->first;

  PetscFunctionBegin;
  w->first = w->count = 0;
  w->looks = 0;
  for (PetscInt r = 0; r < R->n; r++)
    w->own[r] = (BCRWavePoint){
      place[r] == BCR_PLACE_OPEN ? BCR_WAVE_FAR : BCR_WAVE_CLOSED, {-1, -1, -1}
    };
  for (PetscInt c = 0; c < R->ghosts; c++)
    w->ghost[c] = (BCRWavePoint){
      w->A->ghost[c] == BCR_PLACE_OPEN ? BCR_WAVE_FAR : BCR_WAVE_CLOSED, {-1, -1, -1}
    };
  if (corner >= 0 && corner < R->n) {
    w->own[corner].near = 0;
    WavePush(w, corner);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRWaveRun(BCRWave *w, PetscBool *ok)
{
  const BCRFindRows *R = w->A->R;
  PetscInt most = w->width - 1, rounds = 0;
  PetscBool more = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(WaveBegin(w));
  while (more) {
    double all[2] = {-(double)BCR_WAVE_FAR, 0}; /* the nearest row that waits, looks at a row */

    WaveOwn(w, most);
    PetscCall(WaveExchange(w));
    for (PetscInt q = 0; q < w->count; q++)
      all[0] = PetscMax(all[0], -(double)w->own[w->queue[(w->first + q) % R->n]].near);
    all[1] = w->looks / (double)(R->n + 1);
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, all, 2, MPI_DOUBLE, MPI_MAX, R->comm));
    *ok = (PetscBool)(all[0] == -(double)BCR_WAVE_FAR);
    more = (PetscBool)(!*ok && ++rounds < ROUNDS(w) && all[1] <= LOOKS);
    if (more) {
      const PetscInt next = (PetscInt)-all[0];

      most = next < BCR_WAVE_FAR - w->width ? next + w->width - 1 : BCR_WAVE_FAR;
    } else
      PetscCall(PetscInfo(R->block[0].mat,
                          "distances%s: %" PetscInt_FMT " exchanges, of %" PetscInt_FMT
                          " distances each; a row is looked at up to %g times\n",
                          *ok ? "" : " given up", rounds, w->width, all[1]));
  }
  while (w->count) (void)WavePop(w);
  PetscFunctionReturn(PETSC_SUCCESS);
}
