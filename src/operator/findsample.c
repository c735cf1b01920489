/*
  Rows in any order: before all of them are looked at, and most often brought to one rank, a few are, with their neighbours. What is no
  grid at all, such as random rows, is refused there; what may be one is not judged.

      a---w      Of three neighbours of a grid point v two, a and b, are along different axes, or are linked themselves: the
      |   |      pair is a square. Among the links of a star at most 3 pairs are none, the two ways along each axis; in N rows
      v---b      of w random columns each pair is one with a chance of w^2 / N.

  Rows with a diagonal alone may be nodes or not: three neighbours of a row count where they are such that have links, squares
  with any neighbours. Where links are those of one of their two rows at random, a quarter of the squares is left.
*/
#include "findany.h"

#define SAMPLES 128
#define LEAST   32 /* so many samples have three neighbours, or nothing is refused */
#define RARE    32 /* grids have a square in at least one of so many pairs */

/* A row as one message has it, PetscInts only */
typedef struct {
  PetscInt row;
  PetscInt open;  /* 1: some value off the diagonal is not zero, so that it is a node of any grid */
  PetscInt links; /* BCR_ANY_MOST + 1: at least so many */
  PetscInt column[BCR_ANY_MOST + 1];
} SampleRow;

typedef struct {
  SampleRow *row;    /* [SAMPLES]; without links: there is none in that part of the rows */
  PetscInt beside;   /* their columns: how many differ */
  PetscInt *column;  /* [beside], ascending */
  SampleRow *behind; /* [beside]: the rows of these numbers */
} Samples;

static void SampleRead(const BCRFindRows *R, PetscInt r, SampleRow *s)
{
  (void)memset(s, 0, sizeof(*s));
  s->row = R->first + r;
  for (int b = 0; b < 2 && R->i[b]; b++)
    for (PetscInt k = R->i[b][r]; k < R->i[b][r + 1]; k++) {
      const PetscInt column = BCRFindColumn(R, b, k);

      if (column == s->row) continue;
      if (R->block[b].a[k] != (PetscScalar)0) s->open = 1;
      if (BCRFindLink(R, b, k) && s->links <= BCR_ANY_MOST) s->column[s->links++] = column;
    }
}

/* Collective. What each rank has filled in, and the others have left zero */
static PetscErrorCode SampleShare(const BCRFindRows *R, PetscInt n, SampleRow rows[])
{
  const PetscMPIInt count = (PetscMPIInt)(n * (PetscInt)(sizeof(SampleRow) / sizeof(PetscInt)));

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, rows, count, MPIU_INT, MPI_SUM, R->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. From each of SAMPLES parts of all rows the first one with links, if that is on the rank where the part begins */
static PetscErrorCode SampleChoose(const BCRFindRows *R, Samples *S)
{
  PetscFunctionBegin;
  for (PetscInt s = 0; s < SAMPLES; s++) {
    PetscInt r = (PetscInt)(s * (PetscInt64)R->N / SAMPLES) - R->first;
    const PetscInt end = PetscMin((PetscInt)((s + 1) * (PetscInt64)R->N / SAMPLES) - R->first, R->n);

    for (; r >= 0 && r < end && !S->row[s].open; r++) SampleRead(R, r, S->row + s);
    if (!S->row[s].open) S->row[s].links = 0;
  }
  PetscCall(SampleShare(R, SAMPLES, S->row));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. The rows of their neighbours, wherever they are */
static PetscErrorCode SampleNeighbours(const BCRFindRows *R, Samples *S)
{
  PetscFunctionBegin;
  for (PetscInt s = 0; s < SAMPLES; s++)
    for (PetscInt k = 0; k < S->row[s].links; k++) S->column[S->beside++] = S->row[s].column[k];
  PetscCall(PetscSortRemoveDupsInt(&S->beside, S->column));
  for (PetscInt k = 0; k < S->beside; k++) {
    const PetscInt r = S->column[k] - R->first;

    if (r >= 0 && r < R->n) SampleRead(R, r, S->behind + k);
  }
  PetscCall(SampleShare(R, S->beside, S->behind));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Are neighbours a and b of v linked, or both to another one? */
static PetscBool SampleSquare(const SampleRow *v, const SampleRow *a, const SampleRow *b)
{
  for (PetscInt k = 0; k < a->links; k++)
    if (a->column[k] == b->row) return PETSC_TRUE;
  for (PetscInt l = 0; l < b->links; l++) {
    if (b->column[l] == a->row) return PETSC_TRUE;
    for (PetscInt k = 0; k < a->links; k++)
      if (a->column[k] == b->column[l] && a->column[k] != v->row) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

/* Adds up pairs among neighbours of v that are nodes, and squares among all; none where these are fewer than three, or any of
   the rows is too long. wide: it is no row of a grid, since more neighbours are nodes than any grid point has */
static PetscErrorCode SampleCount(const Samples *S, const SampleRow *v, PetscInt *pairs, PetscInt *squares,
                                  PetscBool *wide)
{
  const SampleRow *beside[BCR_ANY_MOST + 1];
  PetscInt open = 0, at;
  PetscBool cut = (PetscBool)(v->links > BCR_ANY_MOST);

  PetscFunctionBegin;
  for (PetscInt k = 0; k < v->links; k++) {
    PetscCall(PetscFindInt(v->column[k], S->beside, S->column, &at));
    beside[k] = S->behind + at;
    open += beside[k]->open;
    cut = (PetscBool)(cut || beside[k]->links > BCR_ANY_MOST);
  }
  *wide = (PetscBool)(open > BCR_ANY_MOST);
  if (cut || open < 3) PetscFunctionReturn(PETSC_SUCCESS);
  *pairs = open * (open - 1) / 2;
  for (PetscInt a = 0; a < v->links; a++)
    for (PetscInt b = 0; b < a; b++) *squares += SampleSquare(v, beside[a], beside[b]) ? 1 : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same on all ranks */
static PetscErrorCode SampleJudge(const Samples *S, BCRFound *found)
{
  const SampleRow *first = NULL; /* that has no squares */
  PetscInt pairs = 0, squares = 0, tried = 0;

  PetscFunctionBegin;
  for (PetscInt s = 0; s < SAMPLES; s++) {
    const SampleRow *v = S->row + s;
    PetscInt p = 0, q = 0;
    PetscBool wide = PETSC_FALSE;

    PetscCall(SampleCount(S, v, &p, &q, &wide));
    if (wide) {
      PetscCall(PetscSNPrintf(found->why, sizeof(found->why), BCR_ANY_WIDE, v->row, v->column[0], BCR_ANY_MOST));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    if (!p) continue;
    if (!q && !first) first = v;
    pairs += p;
    squares += q;
    tried++;
  }
  if (tried < LEAST || !first || squares >= pairs / RARE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSNPrintf(
    found->why, sizeof(found->why),
    "row %" PetscInt_FMT " (column %" PetscInt_FMT
    "): no two of its neighbours have another one in common, as two of any three have on a grid; of "
    "%" PetscInt_FMT " pairs of neighbours of %" PetscInt_FMT " rows here and there %" PetscInt_FMT " have",
    first->row, first->column[0], pairs, tried, squares));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFindSample(const BCRFindRows *R, BCRFound *found)
{
  const PetscInt most = SAMPLES * (BCR_ANY_MOST + 1);
  Samples S = {.beside = 0};
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  for (int b = 0; b < 2 && !ierr; b++) ierr = BCRBlockFetch(&R->block[b]);
  if (!ierr) ierr = PetscCalloc3(SAMPLES, &S.row, most, &S.column, most, &S.behind);
  ierr = BCRFaultShare(R->comm, ierr, BCR_NO_MEMORY);
  if (!ierr) ierr = SampleChoose(R, &S);
  if (!ierr) ierr = SampleNeighbours(R, &S);
  if (!ierr) ierr = SampleJudge(&S, found);
  PetscCall(PetscFree3(S.row, S.column, S.behind));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
