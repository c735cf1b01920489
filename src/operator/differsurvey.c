/*
  Every row of the matrix once, beside an operator: which rows are the operator's, and of the others which star each
  is (few are different), and which are of the mask. A row that repeats the one before it, on its line or on the line
  before that, to the last bit, is what that one is; such rows are compared at the speed of memory, whole lines
  together.
*/
#include "differimpl.h"
#include "run.h"

#define BCR_SURVEY_ENTRIES 32768 /* entries of lines that are compared together: they stay in a cache */

PetscErrorCode BCRSurveyOpen(BCRSurvey *S, BCRRows *A, PetscInt c, BCROperator *op)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(S, sizeof(*S)));
  S->A = A;
  S->c = c;
  S->op = op;
  S->nodes = 1;
  S->stars = 1; /* 0 is the operator's row */
  for (PetscInt d = 0; d < 3; d++) {
    const PetscInt beside = A->grid.parts[d] > 1 ? BCR_BESIDE : 0;

    S->lo[d] = A->lo[d] - beside;
    S->n[d] = A->nodes ? A->n[d] + 2 * beside : 0;
    S->stride[d] = S->nodes;
    S->nodes *= S->n[d];
    S->first[d] = op->axis[d].plane[0].present ? 1 : 0;
    S->last[d] = A->N[d] - 1 - (op->axis[d].plane[1].present ? 1 : 0);
  }
  PetscCall(BCRRowsFetch(A));
  ierr = PetscCalloc3(S->nodes, &S->code, S->nodes, &S->kind, S->n[1] * S->n[2], &S->line);
  PetscCall(BCRFaultShare(A->comm, ierr, BCR_NO_MEMORY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSurveyClose(BCRSurvey *S)
{
  PetscFunctionBegin;
  PetscCall(BCRModelDestroy(S->m));
  PetscCall(PetscFree3(S->code, S->kind, S->line));
  PetscCall(BCRShellClose(S->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void BCRSurveyStar(const BCRSurvey *S, const PetscInt ix[3], double st[7])
{
  const int code = S->code[BCRSurveyNode(S, ix)];
  double rest;
  PetscInt col;

  if (code > 0 && code < BCR_STARS) memcpy(st, S->star[code], sizeof(S->star[code]));
  else (void)BCRRowGet(S->A, S->c, ix, st, &rest, &col);
}

unsigned char BCRSurveyCode(BCRSurvey *S, const double st[7])
{
  uint64_t h = 1469598103934665603u;
  PetscInt at;

  for (int k = 0; k < 7; k++) {
    uint64_t bits;

    memcpy(&bits, &st[k], sizeof(bits));
    h = (h ^ bits ^ bits >> 32) * 1099511628211u;
  }
  for (at = (PetscInt)((h >> 32) % BCR_STAR_PLACES); S->place[at]; at = (at + 1) % BCR_STAR_PLACES)
    if (!memcmp(S->star[S->place[at]], st, 7 * sizeof(double))) return (unsigned char)S->place[at];
  if (S->stars == BCR_STARS) return BCR_STARS;
  memcpy(S->star[S->stars], st, sizeof(S->star[0]));
  S->place[at] = (short)S->stars;
  return (unsigned char)S->stars++;
}

/* ---- row by row ---- */

void BCRSurveyNote(BCRSurvey *S, const PetscInt ix[3], double dev, int slot)
{
  PetscInt jx[3] = {ix[0], ix[1], ix[2]}, at[3];

  if (slot < BCR_CENTRE) BCRSurveyBeside(S, ix, slot, jx);
  BCRSurveyGrid(S, jx, at);
  S->v.dev = dev;
  S->v.row = BCRGridNatural(&S->A->grid, ix);
  S->v.col = BCRGridNatural(&S->A->grid, at);
}

/* The row st of node ix is the operator's, but for what is noted */
static PetscBool BCRSurveyModel(BCRSurvey *S, const PetscInt ix[3], const double st[7])
{
  double in[7], most = 0;
  PetscInt at[3];
  int slot = 0;

  BCRSurveyGrid(S, ix, at);
  BCRModelRow(S->op, S->m, at, in);
  for (int k = 0; k < 7; k++) {
    const double d = st[k] - in[k], dev = d == 0 ? 0 : PetscAbs(d) / PetscAbs(in[k] != 0 ? in[k] : in[BCR_CENTRE]);

    if (!(dev <= S->limit)) return PETSC_FALSE;
    if (dev > most) {
      most = dev;
      slot = k;
    }
  }
  if (most > S->v.dev && BCRGridHas(&S->A->grid, ix)) BCRSurveyNote(S, ix, most, slot);
  return PETSC_TRUE;
}

/* One row: its star, and what its node is */
static void BCRSurveyRow(BCRSurvey *S, const PetscInt ix[3])
{
  const PetscInt i = BCRSurveyNode(S, ix);
  double st[7], rest;
  PetscInt col, at[3];
  int side[3], planes;
  PetscBool lone = PETSC_TRUE;
  BCRRowState state = BCRRowGet(S->A, S->c, ix, st, &rest, &col);

  BCRSurveyGrid(S, ix, at);
  planes = BCRPlanesOf(S->A, S->op, at, side);
  if (state != BCR_ROW_GOOD && !(planes && state == BCR_ROW_EMPTY)) {
    S->bad = PETSC_TRUE;
    return;
  }
  for (int k = 0; k < 6; k++) {
    st[k] += 0.0; /* no -0 */
    if (PetscAbs(st[k]) > BCR_PLANE_TOL * PetscAbs(st[BCR_CENTRE])) lone = PETSC_FALSE;
  }
  if (rest > S->rest * PetscAbs(st[BCR_CENTRE])) S->rest = rest / PetscAbs(st[BCR_CENTRE]);
  S->kind[i] = planes ? BCR_NODE_PLANE : (lone ? BCR_NODE_MASK : BCR_NODE_FLUID);
  if (planes || lone || !BCRSurveyModel(S, ix, st)) S->code[i] = BCRSurveyCode(S, st);
}

/* ---- rows that repeat others ---- */

/* A row of another component may differ: the row of node ix of the box repeats that of the node before it */
static PetscBool BCRSurveySame(const BCRSurvey *S, const PetscInt ix[3])
{
  const BCRRows *A = S->A;
  const PetscInt row = S->c + A->dof * BCRNode(A, ix), like = row - A->dof, n = A->ai[row + 1] - A->ai[row];
  const PetscInt *j = A->aj + A->ai[row], *k = A->aj + A->ai[like];
  const PetscScalar *v = A->aa + A->ai[row], *w = A->aa + A->ai[like];
  PetscInt bad = 0;

  if (A->ai[like + 1] - A->ai[like] != n || (A->far.mat && A->far.i[row + 1] != A->far.i[like])) return PETSC_FALSE;
  for (PetscInt i = 0; i < n; i++) bad |= (j[i] - k[i] != A->dof) | !(v[i] == w[i]);
  return bad ? PETSC_FALSE : PETSC_TRUE;
}

/* Nodes i .. i + n - 1 of the survey are what those `back` before them are, n <= back; back == 1: what that one is */
static void BCRSurveyCopy(BCRSurvey *S, PetscInt i, PetscInt back, PetscInt n)
{
  if (back == 1) {
    memset(S->code + i, S->code[i - 1], (size_t)n);
    memset(S->kind + i, S->kind[i - 1], (size_t)n);
  } else {
    memcpy(S->code + i, S->code + i - back, (size_t)n);
    memcpy(S->kind + i, S->kind + i - back, (size_t)n);
  }
}

/* The nodes of the rank's box in a line. even: nodes along x of which this and the one before have the same in the
   operator, first and last; known: the first ones that repeat those of the line before */
static void BCRSurveyInside(BCRSurvey *S, const PetscInt line[3], const PetscInt even[2], PetscInt known)
{
  const BCRRows *A = S->A;
  const PetscInt end = A->lo[0] + A->n[0];
  const PetscBool above = BCRSurveyEven(S, 1, line[1]);
  PetscInt ix[3] = {A->lo[0], line[1], line[2]}, n;

  if (known) BCRSurveyCopy(S, BCRSurveyNode(S, ix), S->stride[1], known);
  for (ix[0] += known; ix[0] < end && !S->bad; ix[0] += n) {
    const PetscInt i = BCRSurveyNode(S, ix), node = BCRNode(A, ix);
    const PetscBool beside = (PetscBool)(ix[0] >= even[0] && ix[0] <= even[1]);

    n = beside ? BCRRowsRepeat(A, node, 1, even[1] + 1 - ix[0]) : 0;
    if (n) BCRSurveyCopy(S, i, 1, n);
    else if (above && (n = BCRRowsRepeat(A, node, A->stride[1], end - ix[0])) > 0) BCRSurveyCopy(S, i, S->stride[1], n);
    else {
      if (beside && A->dof > 1 && BCRSurveySame(S, ix)) BCRSurveyCopy(S, i, 1, 1);
      else BCRSurveyRow(S, ix);
      n = 1;
    }
  }
}

/* What a line has, once its nodes are known; rows of the mask are counted */
static void BCRSurveyLineHas(BCRSurvey *S, const PetscInt ix[3], PetscBool mine)
{
  const BCRRows *A = S->A;
  const PetscInt start[3] = {S->lo[0], ix[1], ix[2]}, at = BCRSurveyNode(S, start), from = at + A->lo[0] - S->lo[0];
  const unsigned char *code = S->code + at, *kind = S->kind + at, *own = S->kind + from;
  unsigned char *line = &S->line[BCRSurveyLine(S, ix)];
  PetscInt masked = 0;
  int any = 0;

  for (PetscInt i = 0; i < S->n[0]; i++) any |= code[i] | kind[i];
  if (any) *line = BCR_LINE_BUSY;
  if (!any || !memchr(kind, BCR_NODE_MASK, (size_t)S->n[0])) return;
  *line |= BCR_LINE_MASK;
  S->mask = PETSC_TRUE;
  for (PetscInt i = 0; i < A->n[0] && mine; i++) masked += own[i] == BCR_NODE_MASK;
  S->masked += masked;
}

/* A line, row by row where it is another rank's; known as above */
static void BCRSurveyOne(BCRSurvey *S, const PetscInt line[3], PetscBool mine, const PetscInt even[2], PetscInt known)
{
  const BCRRows *A = S->A;
  PetscInt ix[3] = {S->lo[0], line[1], line[2]};

  for (; ix[0] < S->lo[0] + S->n[0] && !S->bad; ix[0]++) {
    if (mine && ix[0] == A->lo[0]) ix[0] += A->n[0];
    if (ix[0] < S->lo[0] + S->n[0]) BCRSurveyRow(S, ix);
  }
  if (mine) BCRSurveyInside(S, line, even, known);
  BCRSurveyLineHas(S, line, mine);
}

/* n lines from ix on repeat the one before them */
static void BCRSurveyCopyLines(BCRSurvey *S, const PetscInt ix[3], PetscInt n)
{
  PetscInt jx[3] = {S->lo[0], ix[1], ix[2]};

  for (; jx[1] < ix[1] + n; jx[1]++) {
    const PetscInt line = BCRSurveyLine(S, jx);

    if (!S->line[line - 1]) continue; /* all zero */
    BCRSurveyCopy(S, BCRSurveyNode(S, jx), S->stride[1], S->n[0]);
    BCRSurveyLineHas(S, jx, PETSC_TRUE);
  }
}

PetscErrorCode BCRSurveyBegin(BCRSurvey *S)
{
  PetscFunctionBegin;
  S->limit = S->neutral ? BCR_NULL_TOL / 8 : BCR_SAME_TOL;
  S->even = (PetscBool)(!S->op->axis[0].lower && !S->op->axis[0].weight);
  PetscCall(BCRShellOpen(S->A, BCR_BESIDE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSurveyRows(BCRSurvey *S)
{
  const BCRRows *A = S->A;
  const PetscInt most = PetscMax(1, BCR_SURVEY_ENTRIES / (8 * PetscMax(A->n[0], 1) * A->dof)); /* lines */
  PetscInt ix[3], even[2] = {A->lo[0], A->lo[0] + A->n[0] - 1};
  uint32_t *words;

  PetscFunctionBegin;
  PetscCall(BCRSurveyBegin(S));
  PetscCall(BCRSurveyDevice(S, &words));
  if (words) {
    BCRSurveyTake(S, words);
    PetscCall(PetscFree(words));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  while (even[0] <= even[1] && !BCRSurveyEven(S, 0, even[0])) even[0]++;
  for (PetscInt i = even[0]; i <= even[1]; i++)
    if (!BCRSurveyEven(S, 0, i)) even[1] = i - 1;
  for (ix[2] = S->lo[2]; ix[2] < S->lo[2] + S->n[2] && !S->bad; ix[2]++) {
    for (ix[1] = S->lo[1]; ix[1] < S->lo[1] + S->n[1] && !S->bad;) {
      const PetscInt at[3] = {A->lo[0], ix[1], ix[2]};
      const PetscBool mine = BCRGridHas(&A->grid, at);
      PetscInt n = 0, lines;

      while (mine && S->n[0] == A->n[0] && n < most && BCRSurveyEven(S, 1, ix[1] + n)) n++;
      if (n) n = BCRRowsRepeat(A, BCRNode(A, at), A->stride[1], n * A->stride[1]);
      lines = n / A->stride[1];
      if (lines) {
        BCRSurveyCopyLines(S, ix, lines);
        ix[1] += lines;
      } else {
        BCRSurveyOne(S, ix, mine, even, n);
        ix[1]++;
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- rows of which a device has said something ---- */

/* How many of the lowest bits are set, one after the other */
static int BCRSurveyOnes(uint32_t bits)
{
  int n = 0;

  for (; bits & 1; bits >>= 1) n++;
  return n;
}

/* 32 nodes of a line from ix on: those that repeat others, in runs, and those to look at */
static void BCRSurveyTakeSome(BCRSurvey *S, PetscInt ix[3], uint32_t low, uint32_t high)
{
  const PetscInt first = ix[0];
  int n;

  for (int k = 0; k < 32 && (low | high) >> k && !S->bad; k += n) {
    const uint32_t beside = (low & ~high) >> k, above = (high & ~low) >> k;

    ix[0] = first + k;
    if (beside & 1) BCRSurveyCopy(S, BCRSurveyNode(S, ix), 1, n = BCRSurveyOnes(beside));
    else if (above & 1) BCRSurveyCopy(S, BCRSurveyNode(S, ix), S->stride[1], n = BCRSurveyOnes(above));
    else {
      if (low >> k & 1) BCRSurveyRow(S, ix);
      n = 1;
    }
  }
}

void BCRSurveyTake(BCRSurvey *S, const uint32_t words[])
{
  const BCRRows *A = S->A;
  const PetscInt wide = BCRSurveyWords(S);
  PetscInt ix[3];

  for (ix[2] = 0; ix[2] < A->N[2]; ix[2]++)
    for (ix[1] = 0; ix[1] < A->N[1] && !S->bad; ix[1]++) {
      PetscBool any = PETSC_FALSE;

      for (PetscInt w = 0; w < wide; w++, words += 2) {
        if (!(words[0] | words[1])) continue;
        ix[0] = 32 * w;
        BCRSurveyTakeSome(S, ix, words[0], words[1]);
        any = PETSC_TRUE;
      }
      if (any) BCRSurveyLineHas(S, ix, PETSC_TRUE);
    }
}

/* ---- neighbours ---- */

int BCRSurveyMask(const BCRSurvey *S, const PetscInt ix[3])
{
  const unsigned char *here = S->kind + BCRSurveyNode(S, ix);
  PetscInt jx[3];
  int slots = 0;

  for (int k = 0; k < 2 * (int)S->A->dim; k++) {
    const int d = k / 2;

    if (S->A->N[d] == 1) continue;
    if (ix[d] > S->lo[d] && ix[d] < S->lo[d] + S->n[d] - 1)
      slots |= (k % 2 ? here[S->stride[d]] : here[-S->stride[d]]) == BCR_NODE_MASK ? 1 << k : 0;
    else {
      BCRSurveyBeside(S, ix, k, jx);
      slots |= S->kind[BCRSurveyNode(S, jx)] == BCR_NODE_MASK ? 1 << k : 0;
    }
  }
  return slots;
}

PetscBool BCRSurveyLineMask(const BCRSurvey *S, const PetscInt line[3], unsigned char slots[])
{
  const BCRRows *A = S->A;
  const PetscInt n = A->n[0], last = n - 1;
  PetscInt ix[3] = {A->lo[0], line[1], line[2]}, jx[3];
  PetscBool any = PETSC_FALSE;

  if (S->line[BCRSurveyLine(S, ix)] & BCR_LINE_MASK && A->N[0] > 1) {
    const unsigned char *here = S->kind + BCRSurveyNode(S, ix);

    any = PETSC_TRUE;
    for (PetscInt i = 1; i < last; i++)
      slots[i] = (unsigned char)((here[i - 1] == BCR_NODE_MASK) | (here[i + 1] == BCR_NODE_MASK) << 1);
    for (PetscInt i = 0; i < n; i += PetscMax(last, 1)) {
      ix[0] = A->lo[0] + i;
      slots[i] = (unsigned char)(BCRSurveyMask(S, ix) & 3);
    }
    ix[0] = A->lo[0];
  } else memset(slots, 0, (size_t)n);
  for (int k = 2; k < 2 * (int)A->dim; k++) {
    const unsigned char *there;

    if (A->N[k / 2] == 1) continue;
    BCRSurveyBeside(S, ix, k, jx);
    if (!(S->line[BCRSurveyLine(S, jx)] & BCR_LINE_MASK)) continue;
    any = PETSC_TRUE;
    there = S->kind + BCRSurveyNode(S, jx);
    for (PetscInt i = 0; i < n; i++) slots[i] |= (unsigned char)((there[i] == BCR_NODE_MASK) << k);
  }
  return any;
}
