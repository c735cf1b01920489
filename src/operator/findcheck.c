/*
  Every entry of a matrix against a box of nodes that its rows are said to run through.

  What a distance between row and column is depends on the row's node only through whether this is the first, the last
  or another one along each axis. A small table says it, so that rows cost a look into it for each entry, and those
  that are the row before moved by one a comparison.
*/
#include "findimpl.h"

/* Ends that a step of d nodes needs: bit 0: not the first node of the axis, 1: not the last; the step around a ring: 2:
   the first, 3: the last. -1: no step of this axis; *around: around its ends */
static int StepNeeds(PetscInt d, PetscInt n, PetscBool whole, PetscBool *around)
{
  *around = (PetscBool)(whole && n > 2 && PetscAbs(d) == n - 1);
  if (d == 0) return 0;
  if (*around) return d > 0 ? 4 : 8;
  if (n < 2 || PetscAbs(d) > 1) return -1;
  return d < 0 ? 1 : 2;
}

/* kind: bit 0: the first node, bit 1: the last */
static PetscBool StepMay(int needs, int kind)
{
  if ((needs & 1) && (kind & 1)) return PETSC_FALSE;
  if ((needs & 2) && (kind & 2)) return PETSC_FALSE;
  if ((needs & 4) && !(kind & 1)) return PETSC_FALSE;
  if ((needs & 8) && !(kind & 2)) return PETSC_FALSE;
  return PETSC_TRUE;
}

/* The step of d[] nodes, from all kinds of nodes that may take it */
static void TableStep(const BCRDistances *list, const BCRFindBox *box, const PetscInt d[3], BCRFindTable table)
{
  const PetscInt apart = box->dof * (d[0] + box->n[0] * (d[1] + box->n[1] * d[2]));
  const int at = BCRDistancesIndex(list, PetscAbs(apart));
  int needs[3], flags = 0, span = 0;

  if (apart == 0 || at < 0) return;
  for (int e = 0; e < 3; e++) {
    PetscBool around;

    needs[e] = StepNeeds(d[e], box->n[e], (PetscBool)(box->n[e] == box->N[e]), &around);
    if (needs[e] < 0) return;
    if (around) flags |= BCR_STEP_RING(e);
    if (d[e]) span++;
  }
  flags |= BCR_STEP_SPAN(span);
  for (int kind = 0; kind < 64; kind++) {
    if (StepMay(needs[0], kind & 3) && StepMay(needs[1], kind >> 2 & 3) && StepMay(needs[2], kind >> 4))
      table[kind][2 * at + (apart < 0)] = (unsigned char)flags;
  }
}

void BCRFindTableFill(const BCRDistances *list, const BCRFindBox *box, BCRFindTable table)
{
  PetscInt steps[3][5], count[3], d[3];

  (void)memset(table, 0, sizeof(BCRFindTable));
  for (int e = 0; e < 3; e++) {
    const PetscInt n = box->n[e];

    count[e] = 0;
    steps[e][count[e]++] = 0;
    if (n > 1) steps[e][count[e]++] = 1, steps[e][count[e]++] = -1;
    if (n > 2) steps[e][count[e]++] = n - 1, steps[e][count[e]++] = 1 - n;
  }
  for (PetscInt k = 0; k < count[2]; k++) {
    for (PetscInt j = 0; j < count[1]; j++) {
      for (PetscInt i = 0; i < count[0]; i++) {
        d[0] = steps[0][i], d[1] = steps[1][j], d[2] = steps[2][k];
        TableStep(list, box, d, table);
      }
    }
  }
}

PetscInt BCRFindScreen(const BCRDistances *list, const BCRFindBox *box, BCRFindMet *met)
{
  BCRFindTable table;
  PetscInt widest = 1;

  met->row = PETSC_MAX_INT;
  BCRFindTableFill(list, box, table);
  for (PetscInt k = 0; k < list->count; k++) {
    PetscInt least = 4;

    for (int kind = 0; kind < 64; kind++)
      for (PetscInt e = 2 * k; e < 2 * k + 2; e++)
        if (table[kind][e]) least = PetscMin(least, BCRFindReach(table[kind][e]));
    widest = PetscMax(widest, least);
    if (least < 4 || list->row[k] >= met->row) continue;
    met->row = list->row[k];
    met->column = list->column[k];
  }
  return widest;
}

PetscErrorCode BCRFindSizes(const BCRDistances *list, PetscInt dof, PetscInt nodes, PetscInt *count, PetscInt sizes[])
{
  const PetscInt from = *count;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < list->count; k++) {
    const PetscInt size = list->apart[k] / dof;

    if (size > 1 && size < nodes && nodes % size == 0) sizes[(*count)++] = size;
  }
  PetscCall(PetscSortInt(*count - from, sizes + from));
  sizes[(*count)++] = nodes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Flags of the step from node x to y, both of the whole grid; 0: they are no neighbours */
static int StepBetween(const PetscInt N[3], const PetscInt x[3], const PetscInt y[3])
{
  int flags = 0, span = 0;

  for (int e = 0; e < 3; e++) {
    const PetscInt d = y[e] - x[e];
    PetscBool around;

    if (StepNeeds(d, N[e], PETSC_TRUE, &around) < 0) return 0;
    if (around) flags |= BCR_STEP_RING(e);
    if (d) span++;
  }
  return flags | BCR_STEP_SPAN(span);
}

/* The entries of row r, whose node is x (in the box) of this kind. PETSC_FALSE: met has the one that is none */
static PetscBool CheckRow(const BCRFindRows *R, const BCRDistances *list, const BCRFindBox *box,
                          const unsigned char allowed[], PetscInt r, const PetscInt x[3], BCRFindMet *met)
{
  const PetscInt y[3] = {box->lo[0] + x[0], box->lo[1] + x[1], box->lo[2] + x[2]};
  PetscInt bad = PETSC_MAX_INT;

  for (PetscInt k = R->i[0][r]; k < R->i[0][r + 1]; k++) {
    const PetscInt apart = R->j[0][k] - r;
    int flags = BCR_STEP_SPAN(0);

    if (apart == 0 || !BCRFindLink(R, 0, k)) continue;
    flags = allowed[2 * BCRDistancesIndex(list, PetscAbs(apart)) + (apart < 0)];
    if (!flags) bad = PetscMin(bad, BCRFindColumn(R, 0, k));
    met->flags |= flags;
  }
  for (PetscInt k = R->i[1] ? R->i[1][r] : 0; k < (R->i[1] ? R->i[1][r + 1] : 0); k++) {
    int flags;

    if (!BCRFindLink(R, 1, k)) continue;
    flags = StepBetween(box->N, y, box->node + 3 * R->j[1][k]);
    if (!flags) bad = PetscMin(bad, BCRFindColumn(R, 1, k));
    met->flags |= flags;
  }
  if (bad == PETSC_MAX_INT) return PETSC_TRUE;
  met->row = R->first + r;
  met->column = bad;
  return PETSC_FALSE;
}

/* The kind of a line of nodes along x: which ends of the other axes it lies at */
static int LineKind(const PetscInt n[3], const PetscInt x[3])
{
  return (x[1] == 0) << 2 | (x[1] == n[1] - 1) << 3 | (x[2] == 0) << 4 | (x[2] == n[2] - 1) << 5;
}

/* Rows from to end of this rank, to the first contradiction. Those that repeat the row before, or that of the line before,
   at a node of the same kind, need no look */
static void CheckRows(const BCRFindRows *R, const BCRDistances *list, const BCRFindBox *box, BCRFindTable table,
                      PetscInt from, PetscInt end, BCRFindMet *met)
{
  const PetscInt *n = box->n, node = (box->start + from) / box->dof, line = box->dof * n[0];
  PetscInt c = (box->start + from) % box->dof, x[3] = {node % n[0], node / n[0] % n[1], node / n[0] / n[1] % n[2]};
  int before = -1, linebefore = -1, linekind = LineKind(n, x);

  for (PetscInt r = from; r < end; r++) {
    const int kind = (x[0] == 0) | (x[0] == n[0] - 1) << 1 | linekind;

    if ((kind != before || !BCRFindRepeats(R, r, 1)) &&
        (linekind != linebefore || r < line || !BCRFindRepeats(R, r, line)) &&
        !CheckRow(R, list, box, table[kind], r, x, met))
      return;
    before = kind;
    if (++c < box->dof) continue;
    c = 0;
    if (++x[0] < n[0]) continue;
    x[0] = 0;
    if (++x[1] == n[1]) x[1] = 0, x[2] = x[2] + 1 < n[2] ? x[2] + 1 : 0;
    linebefore = linekind;
    linekind = LineKind(n, x);
  }
}

/* met of all ranks: the first row, all flags */
static PetscErrorCode CheckShare(const BCRFindRows *R, BCRFindMet *met)
{
  PetscInt all[8] = {-met->row, 0};

  PetscFunctionBegin;
  if (R->size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  for (int k = 0; k < 7; k++) all[1 + k] = met->flags >> k & 1;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, all, 8, MPIU_INT, MPI_MAX, R->comm));
  met->row = -all[0];
  for (int k = 0; k < 7; k++) met->flags |= all[1 + k] << k;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFindCheck(const BCRFindRows *R, const BCRDistances *list, const BCRFindBox *box, BCRFindMet *met)
{
  BCRFindTable table;
  PetscInt soon = 16;

  PetscFunctionBegin;
  met->row = R->N;
  met->column = PETSC_MAX_INT;
  met->flags = 0;
  BCRFindTableFill(list, box, table);
  /* a wrong box mostly shows within a few times the largest distance */
  for (PetscInt k = 0; k < list->count; k++) soon = PetscMax(soon, list->apart[k]);
  soon = soon < R->n / 4 ? 4 * soon : R->n;
  CheckRows(R, list, box, table, 0, soon, met);
  PetscCall(CheckShare(R, met));
  if (met->row < R->N) PetscFunctionReturn(PETSC_SUCCESS);
  CheckRows(R, list, box, table, soon, R->n, met);
  PetscCall(CheckShare(R, met));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFindTell(const BCRFindRows *R, BCRFindMet *met)
{
  PetscFunctionBegin;
  if (R->size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  if (met->row < R->first || met->row >= R->first + R->n) met->column = PETSC_MAX_INT;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &met->column, 1, MPIU_INT, MPI_MIN, R->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}
