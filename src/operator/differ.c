/*
  Reads an operator with rows that differ (differ.h) from a matrix of which most rows are multiples of those of an
  operator with uniform axes.

      model    the operator that most rows have (differmodel.c)
      survey   every row once: is it the operator's, which star else (few are different), the mask (differsurvey.c)
      fluid    rows beside it: factors of rows, links to the mask, rows that differ
      mask     its pieces (differmask.c). A piece that no row of the fluid has a column of keeps the operator's rows.
               All others have the Laplacian of the piece alone, so that the solution is zero there, with

                   sigma = (mean coupling) / t in two dimensions, 2 pi (mean coupling) / sqrt(t) in three,

               t the rows of the piece that the fluid has columns of, more on the diagonal of those rows: the piece
               alone is not singular, and the system of the rows that differ is one of the second kind (docs/method.md)
      write    the lists
*/
#include "differimpl.h"

/* What a row that differs has to have in its sum, of its largest entry, to hold the constant */
#define BCR_DIFFER_HOLDS 1e-3
/* The largest shift over the operator's size, times nodes, that is made good by residuals: one row
   that holds a constant has a smallest eigenvalue of about the inverse of the nodes */
#define BCR_DIFFER_SHIFT 1e-4

/* What is noted of a node */
#define BCR_NOTE_DIFFERS 1
#define BCR_NOTE_SHORE   2
#define BCR_NOTE_TOUCHED 4 /* a row of the mask: a row of the fluid in this box has a column of it */

PetscErrorCode BCRDifferDestroy(BCRDiffer *differ)
{
  BCRDiffer d = *differ;

  PetscFunctionBegin;
  if (!d) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFree4(d->row, d->start, d->col, d->value));
  PetscCall(PetscFree3(d->run, d->length, d->inverse));
  PetscCall(PetscFree3(d->linkrow, d->linkcol, d->linkvalue));
  PetscCall(PetscFree2(d->shore, d->shorevalue));
  PetscCall(PetscFree3(d->lift, d->liftlength, d->liftvalue));
  PetscCall(PetscFree(*differ));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- rows of the fluid ---- */

/* Of links that are missing, those that the diagonal still has: the solution there is held. gone: slots, in: the
   operator's row, more: what the diagonal has beside that row's */
static int BCRFluidHeld(const double in[7], double more, int gone)
{
  double least = PETSC_INFINITY;
  int held = 0;

  for (int free = gone;; free = (free - 1) & gone) { /* links without flux: all, some, none */
    double off = more;

    for (int k = 0; k < 6; k++) off -= free & 1 << k ? in[k] : 0;
    if (PetscAbs(off) < least) {
      least = PetscAbs(off);
      held = gone & ~free;
    }
    if (!free) return held;
  }
}

/* mask: slots that are nodes of the mask */
static void BCRFluidCompare(const BCRSurvey *S, int ends, int mask, BCRFluidRow *r)
{
  double mine = 0, its = 0, sum = 0, size;
  int gone = 0, lost = 0, off = 0; /* slots: missing in the mask; in the fluid; that differ */

  for (int k = 0; k < 6; k++) {
    if (r->st[k] != 0 && r->in[k] != 0) {
      mine += r->st[k];
      its += r->in[k];
    }
    if (r->st[k] != 0) r->kept |= mask & 1 << k;
    else if (r->in[k] != 0) *(mask & 1 << k ? &gone : &lost) |= 1 << k;
  }
  r->factor = its != 0 && mine / its > 0 && mine / its < PETSC_INFINITY ? mine / its : 1;
  if (PetscAbs(r->factor - 1) <= BCR_SAME_TOL || S->weighted) r->factor = 1;
  for (int k = 0; k < 7; k++) r->in[k] *= r->factor;
  size = PetscAbs(r->in[BCR_CENTRE]);
  r->back = BCRFluidHeld(r->in, r->st[BCR_CENTRE] - r->in[BCR_CENTRE], gone);
  for (int k = 0; k < 6; k++)
    if (r->back & 1 << k) r->st[k] = r->in[k];
  for (int k = 0; k < 7; k++) {
    const double d = r->st[k] - r->in[k], dev = d == 0 ? 0 : PetscAbs(d) / (r->in[k] != 0 ? PetscAbs(r->in[k]) : size);

    sum += d;
    if (!(dev <= BCR_SAME_TOL)) off |= 1 << k;
    if (!(dev > r->dev)) continue;
    r->dev = dev;
    r->slot = k;
  }
  /* a difference that is no more than rounding of coefficients must not lift a singularity */
  if (!off && S->neutral && !(PetscAbs(sum) <= BCR_NULL_TOL * size)) off = 1 << BCR_CENTRE;
  r->differs = (PetscBool)(off != 0);
  if (off == 1 << BCR_CENTRE) r->what = ends ? BCR_ROW_END : BCR_ROW_DIAGONAL;
  else if (gone != r->back || (lost && !ends)) r->what = BCR_ROW_LINKS;
  else r->what = ends ? BCR_ROW_END : BCR_ROW_STRENGTH;
}

/* A row of planes, whose diagonal is its own: st and in, and which columns it has of the mask */
static void BCRPlaneCompare(const BCROperator *op, const int side[3], int mask, BCRFluidRow *r)
{
  const double centre = r->st[BCR_CENTRE];
  const int planes = side[0] * side[0] + side[1] * side[1] + side[2] * side[2];

  r->factor = 1;
  r->in[BCR_CENTRE] = centre;
  r->what = BCR_ROW_END;
  for (int d = 0; d < 3; d++) {
    if (!side[d]) continue;
    r->in[2 * d + (side[d] < 0)] =
      -centre * (double)(planes == 1 ? op->axis[d].plane[side[d] > 0].slope : op->corner[BCRCornerPlace(side)][d]);
  }
  r->differs = (PetscBool)!BCRPlanesRowFits(op, side, r->st);
  for (int k = 0; k < 6; k++)
    if (PetscAbs(r->st[k]) > BCR_PLANE_TOL * PetscAbs(centre)) r->kept |= mask & 1 << k;
}

/* What the row has beside the operator's. A row of a matrix without flux keeps the constant: the difference of the
   diagonals is that of the links then, to the last digit, where it is small beside the diagonals */
static void BCRFluidMore(const BCRSurvey *S, const PetscInt ix[3], BCRFluidRow *r)
{
  PetscInt jx[3];
  double sum = 0;

  for (int k = 0; k < 7; k++) r->more[k] = r->st[k] - r->in[k];
  if (!S->neutral || !r->differs) return;
  for (int k = 0; k < 6; k++) {
    if (r->more[k] == 0) continue;
    BCRSurveyBeside(S, ix, k, jx);
    sum += r->more[k] * (S->kind[BCRSurveyNode(S, jx)] == BCR_NODE_PLANE ? BCRSurveySlope(S, jx) : 1);
  }
  if (PetscAbs(r->more[BCR_CENTRE] + sum) <= BCR_NULL_TOL * PetscAbs(r->in[BCR_CENTRE])) r->more[BCR_CENTRE] = -sum;
}

void BCRSurveyFluid(const BCRSurvey *S, const PetscInt ix[3], BCRFluidRow *r)
{
  PetscInt at[3];
  int side[3];

  memset(r, 0, sizeof(*r));
  BCRSurveyGrid(S, ix, at);
  BCRSurveyStar(S, ix, r->st);
  if (BCRPlanesOf(S->A, S->op, at, side)) BCRPlaneCompare(S->op, side, BCRSurveyMask(S, ix), r);
  else {
    BCRModelRow(S->op, S->m, at, r->in);
    BCRFluidCompare(S, BCRSurveyEnds(S, at), BCRSurveyMask(S, ix), r);
  }
  BCRFluidMore(S, ix, r);
}

/* What a row has beside the operator's: slots and values */
typedef struct {
  int n, slot[7];
  double value[7];
} BCRDifferEntries;

/* Nodes of the box, in a run along x, that differ or have links to the mask, and are alike */
typedef struct {
  PetscInt first, end;
  BCRDifferEntries beside;
  int kept; /* slots that are links, */
  double link[6];
  int shore; /* slots that are columns of the mask in A~, and what they have */
  double shorevalue;
} BCRDifferFound;

/* What the reader finds on this rank */
typedef struct {
  BCRSurvey S;
  PetscInt founds, room; /* of the fluid and of planes */
  BCRDifferFound *found;
  unsigned char *note; /* of the nodes of the box */
  PetscInt rims;       /* nodes of the box in the mask whose neighbours are not all. Arrays of these: */
  PetscInt *rim;
  unsigned char *touch; /* a row of the fluid, in any box, has a column of this row of the mask */
  PetscInt *touching;   /* rows of the whole piece that are touched */
  BCRDifferEntries *beside;
  PetscInt kinds[BCR_ROW_KINDS]; /* rows that differ */
  PetscInt m, entries, links, shores, pieces;
  PetscInt runs;   /* of the mask, at most */
  PetscBool shore; /* some rank has shores */
} BCRDifferReader;

/* Puts the row factor of n nodes of the box, from ix on along x; there are none as long as all are 1 */
static PetscErrorCode BCRDifferFactor(BCRDifferReader *R, const PetscInt ix[3], PetscInt n, double factor)
{
  BCROperator *op = R->S.op;
  PetscInt first, box = 1, at;

  PetscFunctionBegin;
  if (!op->rowscale) {
    for (PetscInt d = 0; d < 3; d++) box *= BCRInside(R->S.A, d, R->S.first[d], op->axis[d].n, &first);
    PetscCall(PetscMalloc1(PetscMax(box, 1), &op->rowscale));
    for (PetscInt i = 0; i < box; i++) op->rowscale[i] = 1;
  }
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  at = BCRBoxNode(R->S.A, R->S.m, ix);
  for (PetscInt i = 0; i < n; i++) op->rowscale[at + i] = (PetscReal)factor;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Differences of rounding are left out */
static void BCRFluidEntries(const BCRFluidRow *r, BCRDifferEntries *e)
{
  e->n = 0;
  for (int k = 0; k < 7; k++) {
    const double d = r->more[k];

    if (PetscAbs(d) <= 4 * BCR_EPS * PetscAbs(r->in[k])) continue;
    e->slot[e->n] = k;
    e->value[e->n++] = d;
  }
}

static int BCRBits(int bits)
{
  int n = 0;

  for (; bits; bits &= bits - 1) n++;
  return n;
}

/* Rows of the mask in this box that n rows of the fluid have columns of, which are alike */
static void BCRDifferNoteTouched(BCRDifferReader *R, const PetscInt ix[3], PetscInt n, int slots)
{
  const BCRRows *A = R->S.A;
  PetscInt jx[3], at[3] = {ix[0], ix[1], ix[2]};

  for (int k = 0; k < 6; k++) {
    for (at[0] = ix[0]; at[0] < ix[0] + n && slots & 1 << k; at[0]++) {
      BCRSurveyBeside(&R->S, at, k, jx);
      if (BCRGridHas(&A->grid, jx)) R->note[BCRNode(A, jx)] |= BCR_NOTE_TOUCHED;
    }
  }
}

/* n rows of the fluid, or of planes, from ix on along x, which are alike */
static PetscErrorCode BCRDifferNoteFluid(BCRDifferReader *R, const PetscInt ix[3], PetscInt n, const BCRFluidRow *r)
{
  BCRSurvey *S = &R->S;
  const PetscInt first = BCRNode(S->A, ix);
  BCRDifferFound *found;

  PetscFunctionBegin;
  if (!r->differs && r->dev > S->v.dev) BCRSurveyNote(S, ix, r->dev, r->slot);
  BCRDifferNoteTouched(R, ix, n, r->back | r->kept);
  if (!r->differs && !(r->kept | r->back)) PetscFunctionReturn(PETSC_SUCCESS);
  if (R->founds == R->room) {
    BCRDifferFound *more;

    R->room = PetscMax(256, 2 * R->room);
    PetscCall(PetscMalloc1(R->room, &more));
    PetscCall(PetscArraycpy(more, R->found, R->founds));
    PetscCall(PetscFree(R->found));
    R->found = more;
  }
  found = &R->found[R->founds++];
  found->first = first;
  found->end = first + n;
  found->kept = r->kept;
  memcpy(found->link, r->st, sizeof(found->link));
  found->shore = r->kept | r->back;
  found->shorevalue = 0;
  for (int k = 0; k < 6; k++) found->shorevalue += found->shore & 1 << k ? r->st[k] : 0;
  for (PetscInt i = first; i < first + n; i++)
    R->note[i] |= (found->shore ? BCR_NOTE_SHORE : 0) | (r->differs ? BCR_NOTE_DIFFERS : 0);
  R->links += n * BCRBits(r->kept);
  R->shores += found->shore ? n : 0;
  if (!r->differs) PetscFunctionReturn(PETSC_SUCCESS);
  BCRFluidEntries(r, &found->beside);
  R->kinds[r->what] += n;
  R->m += n;
  R->entries += n * found->beside.n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A row of planes. *fits = PETSC_FALSE: it is empty, and may not be */
static PetscErrorCode BCRDifferPlane(BCRDifferReader *R, const PetscInt ix[3], const BCRFluidRow *r, PetscBool *fits)
{
  const BCRSurvey *S = &R->S;
  int side[3];

  PetscFunctionBegin;
  if (r->st[BCR_CENTRE] == 0 && !BCRCheckEmpty(S->op, side, BCRPlanesOf(S->A, S->op, ix, side))) *fits = PETSC_FALSE;
  PetscCall(BCRPlaneSetDiagonal(S->A, S->op, ix, BCRPlaneInverse(r->st)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How many nodes from ix on along x, all in the rank's box, are of one kind and have rows that compare alike. slots:
   those of the first node in the mask */
static PetscInt BCRDifferAlike(const BCRSurvey *S, const PetscInt ix[3], const unsigned char slots[])
{
  const BCRRows *A = S->A;
  const PetscInt i = BCRSurveyNode(S, ix);
  PetscInt n = A->lo[0] + A->n[0] - ix[0];

  /* an end of the axis is alone */
  if (ix[0] <= S->first[0] || ix[0] >= S->last[0]) return 1;
  n = PetscMin(n, S->last[0] - ix[0]);
  n = BCRBytesAlike(S->code + i, n);
  n = BCRBytesAlike(S->kind + i, n);
  n = BCRBytesAlike(slots, n);
  if (S->kind[i] == BCR_NODE_MASK) return n;
  if (S->code[i] == 0) return slots[0] ? 1 : n; /* links are to be the matrix' to the last digit */
  return S->code[i] == BCR_STARS || !S->even ? 1 : n;
}

/* n nodes of the fluid, or of planes, whose rows compare alike */
static PetscErrorCode BCRDifferRun(BCRDifferReader *R, const PetscInt ix[3], PetscInt n, PetscBool *fits)
{
  const PetscInt i = BCRSurveyNode(&R->S, ix);
  PetscInt at[3] = {ix[0], ix[1], ix[2]};
  BCRFluidRow r;

  PetscFunctionBegin;
  BCRSurveyFluid(&R->S, ix, &r);
  PetscCall(BCRDifferNoteFluid(R, ix, n, &r));
  for (; at[0] < ix[0] + n && R->S.kind[i] == BCR_NODE_PLANE; at[0]++) PetscCall(BCRDifferPlane(R, at, &r, fits));
  if (r.factor != 1) PetscCall(BCRDifferFactor(R, ix, n, r.factor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All rows but those of the mask. *fits = PETSC_FALSE: there are empty rows that may not be. slots: scratch, [n[0]] */
static PetscErrorCode BCRDifferFluid(BCRDifferReader *R, unsigned char slots[], PetscBool *fits)
{
  BCRSurvey *S = &R->S;
  const BCRRows *A = S->A;
  const int every = (A->N[0] > 1 ? 3 : 0) | (A->N[1] > 1 ? 12 : 0) | (A->N[2] > 1 ? 48 : 0);
  PetscInt ix[3], n;

  PetscFunctionBegin;
  memset(slots, 0, (size_t)A->n[0]);
  for (ix[2] = A->lo[2]; ix[2] < A->lo[2] + A->n[2]; ix[2]++) {
    for (ix[1] = A->lo[1]; ix[1] < A->lo[1] + A->n[1]; ix[1]++) {
      ix[0] = A->lo[0];
      if (!(S->mask && BCRSurveyLineMask(S, ix, slots)) && !(S->line[BCRSurveyLine(S, ix)] & BCR_LINE_BUSY)) continue;
      for (; ix[0] < A->lo[0] + A->n[0]; ix[0] += n) {
        const PetscInt i = BCRSurveyNode(S, ix), o = ix[0] - A->lo[0];

        n = BCRDifferAlike(S, ix, slots + o);
        if (S->kind[i] != BCR_NODE_MASK) {
          if (S->code[i] || S->kind[i] || slots[o]) PetscCall(BCRDifferRun(R, ix, n, fits));
          continue;
        }
        R->runs += slots[o] != every || S->code[i] == BCR_STARS ? n : 1;
        for (PetscInt k = 0; k < n && slots[o] != every; k++) R->rim[R->rims++] = BCRNode(A, ix) + k;
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- rows of the mask ---- */

/* A row of the mask is in a column of the fluid's in another box */
static PetscBool BCRMaskTouched(const BCRSurvey *S, const PetscInt ix[3])
{
  PetscInt jx[3], at[3];
  BCRFluidRow r;

  for (int k = 0; k < 2 * (int)S->A->dim; k++) {
    if (S->A->N[k / 2] == 1) continue;
    BCRSurveyBeside(S, ix, k, jx);
    BCRSurveyGrid(S, jx, at);
    if (BCRGridHas(&S->A->grid, at) || S->kind[BCRSurveyNode(S, jx)] == BCR_NODE_MASK) continue;
    if (S->kind[BCRSurveyNode(S, jx)] == BCR_NODE_FLUID && !S->code[BCRSurveyNode(S, jx)]) { /* the operator's row */
      BCRModelRow(S->op, S->m, at, r.in);
      if (r.in[k ^ 1] != 0) return PETSC_TRUE;
      continue;
    }
    BCRSurveyFluid(S, jx, &r);
    if ((r.back | r.kept) & 1 << (k ^ 1)) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

/* Link k of a row of the mask, to node jx outside of it, as the piece alone has it. Where the two ways of a link
   differ (convection) it has the Neumann ends of the operator that a diagonal makes symmetric: A = D^-1 S D,
   S_ij^2 = A_ij A_ji. Those of A itself take twice the solves in a strong wind */
static double BCRMaskOut(const BCRSurvey *S, const PetscInt jx[3], int k, double link)
{
  double there[7];
  PetscInt at[3];

  if (!S->op->axis[k / 2].lower) return link;
  BCRSurveyGrid(S, jx, at);
  BCRModelRow(S->op, S->m, at, there);
  return there[k ^ 1] / link > 0 ? link * sqrt(there[k ^ 1] / link) : link;
}

/* Of a row of the mask in a piece that is touched; sigma: what its diagonal has more */
static void BCRMaskEntries(const BCRSurvey *S, const PetscInt ix[3], double sigma, BCRDifferEntries *e)
{
  double in[7], diagonal = sigma;
  PetscInt jx[3];

  e->n = 0;
  BCRModelRow(S->op, S->m, ix, in);
  for (int k = 0; k < 6; k++) {
    BCRNodeKind kind;

    if (in[k] == 0) continue;
    BCRSurveyBeside(S, ix, k, jx);
    kind = (BCRNodeKind)S->kind[BCRSurveyNode(S, jx)];
    if (kind == BCR_NODE_MASK) continue;
    e->slot[e->n] = k;
    e->value[e->n++] = -in[k];
    diagonal += kind == BCR_NODE_PLANE ? in[k] * BCRSurveySlope(S, jx) : BCRMaskOut(S, jx, k, in[k]);
  }
  if (diagonal == 0) return;
  e->slot[e->n] = BCR_CENTRE;
  e->value[e->n++] = diagonal;
}

/* What the diagonal of a row has more that is touched; touching: of its piece. In three dimensions a piece has what a
   ball of its size conducts to far away, about: with no more than one coupling, as in two, that mode is apart from all
   others and takes 4 to 6 steps more */
static double BCRMaskSigma(const BCROperator *op, PetscInt touching)
{
  double a = 0;
  int axes = 0;

  for (PetscInt d = 0; d < 3; d++) {
    const BCRAxis *ax = &op->axis[d];

    a += (double)ax->a;
    for (PetscInt i = 0; i < ax->n && ax->lower; i++) a += (double)(ax->lower[i] + ax->upper[i]) / (double)(2 * ax->n);
    axes += ax->n > 1;
  }
  a *= axes > 2 ? 2 * PETSC_PI * sqrt((double)touching) : 1;
  return (double)op->scale * a / axes / (double)touching;
}

/* Entries of a row at the rim of a piece that is touched; none of others */
static void BCRRimEntries(const BCRDifferReader *R, PetscInt r, BCRDifferEntries *e)
{
  const BCRModelAxis *m = R->S.m;
  PetscInt ix[3];
  double sigma = 0;

  e->n = 0;
  if (R->touching[r] == 0) return;
  BCRBoxNodeAt(R->S.A, R->rim[r], ix);
  if (R->touch[r]) sigma = BCRMaskSigma(R->S.op, R->touching[r]) * m[0].w[ix[0]] * m[1].w[ix[1]] * m[2].w[ix[2]];
  BCRMaskEntries(&R->S, ix, sigma, e);
}

/* Pieces, and rows of the mask that differ. Collective */
static PetscErrorCode BCRDifferMask(BCRDifferReader *R)
{
  const BCRSurvey *S = &R->S;
  PetscInt ix[3];
  PetscErrorCode ierr = PetscMalloc3(R->rims, &R->touch, R->rims, &R->touching, R->rims, &R->beside);

  PetscFunctionBegin;
  PetscCall(BCRFaultShare(S->A->comm, ierr, BCR_NO_MEMORY));
  for (PetscInt r = 0; r < R->rims; r++) {
    R->touch[r] = (R->note[R->rim[r]] & BCR_NOTE_TOUCHED) != 0;
    if (R->touch[r] || S->A->grid.size == 1) continue;
    BCRBoxNodeAt(S->A, R->rim[r], ix);
    R->touch[r] = BCRMaskTouched(S, ix);
  }
  PetscCall(BCRDifferPieces(S, R->runs, R->rims, R->rim, R->touch, R->touching, &R->pieces));
  for (PetscInt r = 0; r < R->rims; r++) {
    BCRRimEntries(R, r, &R->beside[r]);
    if (R->beside[r].n == 0) continue;
    R->note[R->rim[r]] |= BCR_NOTE_DIFFERS;
    R->kinds[BCR_ROW_BESIDE]++;
    R->m++;
    R->entries += R->beside[r].n;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the lists ---- */

static PetscErrorCode BCRDifferCreate(const BCRDifferReader *R, BCRDiffer *differ)
{
  BCRDiffer D;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(1, differ));
  D = *differ;
  D->m = R->m;
  D->masked = R->S.masked;
  D->links = R->links;
  PetscCall(PetscMalloc4(D->m, &D->row, D->m + 1, &D->start, R->entries, &D->col, R->entries, &D->value));
  PetscCall(PetscMalloc3(R->runs, &D->run, R->runs, &D->length, R->runs, &D->inverse));
  PetscCall(PetscMalloc3(D->links, &D->linkrow, D->links, &D->linkcol, D->links, &D->linkvalue));
  PetscCall(PetscMalloc2(R->shores, &D->shore, R->shores, &D->shorevalue));
  if (R->shore) PetscCall(PetscMalloc3(D->masked, &D->lift, D->masked, &D->liftlength, D->masked, &D->liftvalue));
  D->start[0] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The node in slot k of a node of the box, in natural order */
static PetscInt BCRDifferColumn(const BCRSurvey *S, const PetscInt ix[3], PetscInt node, int k)
{
  const PetscInt *N = S->A->N, d = k / 2, i = k < BCR_CENTRE ? ix[d] + (k % 2 ? 1 : -1) : 0;
  PetscInt jx[3], at[3];

  if (k == BCR_CENTRE) return node;
  if (i >= 0 && i < N[d]) return node + (i - ix[d]) * (d > 0 ? N[0] : 1) * (d > 1 ? N[1] : 1);
  BCRSurveyBeside(S, ix, k, jx);
  BCRSurveyGrid(S, jx, at);
  return BCRGridNatural(&S->A->grid, at);
}

/* Where the next entries of the lists go */
typedef struct {
  PetscInt m, links, rim, found;
} BCRDifferPlace;

/* n nodes of the mask from ix on along x, with row st; to the run before them, if that is of such rows on the same line */
static void BCRDifferWriteMask(const BCRSurvey *S, const PetscInt ix[3], PetscInt n, const double st[7], BCRDiffer D)
{
  const PetscInt node = BCRGridNatural(&S->A->grid, ix), last = D->runs - 1;
  const PetscReal inverse = (PetscReal)(1 / st[BCR_CENTRE]);

  if (ix[0] > 0 && last >= 0 && D->run[last] + D->length[last] == node && D->inverse[last] == inverse) {
    D->length[last] += n;
    return;
  }
  D->run[D->runs] = node;
  D->length[D->runs] = n;
  D->inverse[D->runs++] = inverse;
}

/* What the row of a node of the mask has in the sum: the operator's, in which axes without ends add up to zero to the last
   digit, and beside that */
static double BCRDifferSum(const BCRSurvey *S, const PetscInt ix[3], const BCRDifferEntries *beside)
{
  double sum = (double)S->op->shift, more = 0;

  for (PetscInt d = 0; d < 3; d++) {
    const BCRModelAxis *m = &S->m[d];

    sum += BCRModelTimes(S->m, d, ix) * (m->dg[ix[d]] - m->lo[ix[d]] - m->up[ix[d]]);
  }
  for (int k = 0; beside && k < beside->n; k++) more += (double)(PetscReal)beside->value[k];
  return (double)S->op->scale * S->m[0].w[ix[0]] * S->m[1].w[ix[1]] * S->m[2].w[ix[2]] * sum + more;
}

/* The sums of n rows of the mask from ix on along x, of one row where there is something beside the operator's */
static void BCRDifferWriteLift(const BCRSurvey *S, const PetscInt ix[3], PetscInt n, const BCRDifferEntries *beside,
                               BCRDiffer D)
{
  PetscInt at[3] = {ix[0], ix[1], ix[2]}, count;

  for (; at[0] < ix[0] + n; at[0] += count) {
    double sum = BCRDifferSum(S, at, beside);

    count = 1;
    if (S->even && at[0] > S->first[0] && at[0] < S->last[0]) count = PetscMin(ix[0] + n, S->last[0]) - at[0];
    if (sum == 0) continue;
    D->lift[D->lifts] = BCRGridNatural(&S->A->grid, at);
    D->liftlength[D->lifts] = count;
    D->liftvalue[D->lifts++] = (PetscReal)sum;
  }
}

/* What the lists have of one node, which is noted */
static void BCRDifferWriteNode(const BCRDifferReader *R, const PetscInt ix[3], BCRDiffer D, BCRDifferPlace *to)
{
  const BCRSurvey *S = &R->S;
  const PetscInt i = BCRNode(S->A, ix), node = BCRGridNatural(&S->A->grid, ix);
  const BCRDifferEntries *beside;

  if (S->kind[BCRSurveyNode(S, ix)] == BCR_NODE_MASK) {
    double st[7];

    BCRSurveyStar(S, ix, st);
    BCRDifferWriteMask(S, ix, 1, st, D);
    while (to->rim < R->rims && R->rim[to->rim] < i) to->rim++;
    beside = R->beside + to->rim;
    if (R->shore) BCRDifferWriteLift(S, ix, 1, R->note[i] & BCR_NOTE_DIFFERS ? beside : NULL, D);
  } else {
    const BCRDifferFound *found;

    while (R->found[to->found].end <= i) to->found++;
    found = R->found + to->found;
    beside = &found->beside;
    for (int k = 0; k < 6; k++) {
      if (!(found->kept & 1 << k)) continue;
      D->linkrow[to->links] = node;
      D->linkcol[to->links] = BCRDifferColumn(S, ix, node, k);
      D->linkvalue[to->links++] = (PetscReal)found->link[k];
    }
    if (found->shore) {
      D->shore[D->shores] = node;
      D->shorevalue[D->shores++] = (PetscReal)found->shorevalue;
    }
  }
  if (!(R->note[i] & BCR_NOTE_DIFFERS)) return;
  D->row[to->m] = node;
  D->start[to->m + 1] = D->start[to->m] + beside->n;
  for (int k = 0; k < beside->n; k++) {
    D->col[D->start[to->m] + k] = BCRDifferColumn(S, ix, node, beside->slot[k]);
    D->value[D->start[to->m] + k] = (PetscReal)beside->value[k];
  }
  to->m++;
}

/* Fills the lists of this rank */
static void BCRDifferWrite(const BCRDifferReader *R, BCRDiffer D)
{
  const BCRSurvey *S = &R->S;
  const BCRRows *A = S->A;
  BCRDifferPlace to = {0, 0, 0, 0};
  PetscInt ix[3], i = 0, n;
  double st[7];

  for (ix[2] = A->lo[2]; ix[2] < A->lo[2] + A->n[2]; ix[2]++) {
    for (ix[1] = A->lo[1]; ix[1] < A->lo[1] + A->n[1]; ix[1]++) {
      for (ix[0] = A->lo[0]; ix[0] < A->lo[0] + A->n[0]; ix[0] += n, i += n) {
        const PetscInt at = BCRSurveyNode(S, ix), rest = A->lo[0] + A->n[0] - ix[0];
        const PetscBool mask = (PetscBool)(S->masked && S->kind[at] == BCR_NODE_MASK);

        n = R->note[i] ? 1 : BCRBytesAlike(R->note + i, rest);
        if (S->masked) n = BCRBytesAlike(S->kind + at, n);
        if (mask) n = S->code[at] == BCR_STARS ? 1 : BCRBytesAlike(S->code + at, n);
        if (R->note[i]) BCRDifferWriteNode(R, ix, D, &to);
        else if (mask) {
          BCRSurveyStar(S, ix, st);
          BCRDifferWriteMask(S, ix, n, st, D);
          if (R->shore) BCRDifferWriteLift(S, ix, n, NULL, D);
        }
      }
    }
  }
}

/* What all ranks know alike. Collective */
PetscErrorCode BCRDifferCounts(const BCRRows *A, const PetscInt kinds[], PetscInt pieces, BCRDiffer D)
{
  static const char *const name[BCR_ROW_KINDS] = {"with missing links", "of another diagonal", "at ends",
                                                  "with links of another strength", NULL};
  PetscInt all[BCR_ROW_KINDS + 2];
  size_t used = 0;

  PetscFunctionBegin;
  PetscCall(PetscArraycpy(all, kinds, BCR_ROW_KINDS));
  all[BCR_ROW_KINDS] = D->m;
  all[BCR_ROW_KINDS + 1] = D->masked;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, all, BCR_ROW_KINDS + 2, MPIU_INT, MPI_SUM, A->comm));
  D->all = all[BCR_ROW_KINDS];
  D->allmasked = all[BCR_ROW_KINDS + 1];
  D->pieces = pieces;
  if (D->allmasked == 1) PetscCall(PetscSNPrintf(D->what, sizeof(D->what), "1 identity row"));
  else if (D->allmasked > 1)
    PetscCall(PetscSNPrintf(D->what, sizeof(D->what), "%" PetscInt_FMT " identity rows in %" PetscInt_FMT " piece%s",
                            D->allmasked, D->pieces, D->pieces == 1 ? "" : "s"));
  for (int k = 0; k < BCR_ROW_KINDS; k++) {
    if (all[k] == 0 || !name[k]) continue;
    PetscCall(PetscStrlen(D->what, &used));
    PetscCall(PetscSNPrintf(D->what + used, sizeof(D->what) - used, "%s%" PetscInt_FMT " %s", used ? ", " : "", all[k],
                            name[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same on all ranks: a number of which the largest counts. Collective */
static PetscErrorCode BCRDifferMost(const BCRRows *A, PetscInt *n)
{
  PetscFunctionBegin;
  if (A->grid.size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, n, 1, MPIU_INT, MPI_MAX, A->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A shift that is no more than coefficients may differ by is all that keeps the box from being
   singular, and its fields are as large as the inverse, which leaves no digits of the solution.
   Where rows that differ hold the constant the matrix is regular without that shift, too: it is
   that matrix which is solved then, by a border (docs/method.md), and the shift is made good by the
   residual of the matrix. Collective */
PetscErrorCode BCRDifferShift(const BCRRows *A, BCROperator *op)
{
  const BCRDiffer D = op->differ;
  const double nodes = (double)op->axis[0].n * (double)op->axis[1].n * (double)op->axis[2].n,
               near = (double)BCROperatorNearness(op);
  PetscInt holds = 0;
  size_t used;

  PetscFunctionBegin;
  if (op->shift == 0 || near > BCR_SAME_TOL || near * nodes > BCR_DIFFER_SHIFT) PetscFunctionReturn(PETSC_SUCCESS);
  for (int k = 0; k < 6; k++)
    if (op->axis[k / 2].plane[k % 2].present) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = 0; i < D->m && !holds; i++) {
    double sum = 0, largest = 0;

    for (PetscInt k = D->start[i]; k < D->start[i + 1]; k++) {
      sum += (double)D->value[k];
      largest = PetscMax(largest, PetscAbs((double)D->value[k]));
    }
    holds = PetscAbs(sum) > BCR_DIFFER_HOLDS * largest ? 1 : 0;
  }
  PetscCall(BCRDifferMost(A, &holds));
  if (!holds) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscStrlen(D->what, &used));
  PetscCall(
    PetscSNPrintf(D->what + used, sizeof(D->what) - used, "; shift %g by residuals", (double)(op->scale * op->shift)));
  D->shift = op->shift;
  op->shift = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Factors, deviation, and name of the operator. Collective */
static PetscErrorCode BCRDifferFinish(BCRDifferReader *R)
{
  const BCRRows *A = R->S.A;
  BCROperator *op = R->S.op;
  PetscInt scaled = op->rowscale ? 1 : 0;

  PetscFunctionBegin;
  PetscCall(BCRDifferMost(A, &scaled));
  op->left = (PetscBool)scaled;
  if (scaled) PetscCall(BCRFaultShare(A->comm, BCRDifferFactor(R, NULL, 0, 1), BCR_NO_MEMORY));
  if (R->S.rest > R->S.v.dev) R->S.v.dev = R->S.rest;
  PetscCall(BCRTakeFrom(A->comm, R->S.v.dev, &R->S.v, sizeof(R->S.v), NULL));
  op->deviation = (PetscReal)R->S.v.dev;
  op->devrow = R->S.v.row;
  op->devcol = R->S.v.col;
  PetscCall(PetscStrncpy(op->fit, "rows differ", sizeof(op->fit)));
  PetscCall(BCRDifferShift(A, op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *good = PETSC_FALSE: this is no matrix of the kind. Collective */
static PetscErrorCode BCRDifferTry(BCRDifferReader *R, BCRRows *A, PetscInt c, BCROperator *op, PetscBool *good)
{
  const PetscInt N = A->N[0] * A->N[1] * A->N[2], most = N / 8;
  PetscBool fits = PETSC_TRUE;
  PetscInt bad, count[3];
  unsigned char *slots = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(BCRSurveyOpen(&R->S, A, c, op));
  PetscCall(BCRDifferModel(&R->S, good));
  if (!*good) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRFaultShare(A->comm, BCRModelCreate(op, R->S.m), BCR_NO_MEMORY));
  PetscCall(BCRSurveyRows(&R->S));
  bad = R->S.bad;
  PetscCall(BCRDifferMost(A, &bad));
  *good = (PetscBool)!bad;
  if (bad) PetscFunctionReturn(PETSC_SUCCESS);
  ierr = PetscMalloc1(A->n[0], &slots);
  if (!ierr) ierr = PetscCalloc1(A->nodes, &R->note);
  if (!ierr) ierr = PetscMalloc1(R->S.masked, &R->rim);
  if (!ierr) ierr = BCRDifferFluid(R, slots, &fits);
  PetscCall(PetscFree(slots));
  PetscCall(BCRFaultShare(A->comm, ierr, BCR_NO_MEMORY));
  count[0] = R->S.masked;
  count[1] = fits ? R->m : N;
  count[2] = R->shores;
  if (A->grid.size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, count, 3, MPIU_INT, MPI_SUM, A->comm));
  R->shore = (PetscBool)(count[2] > 0);
  if (count[0] && count[1] <= most) {
    PetscCall(BCRDifferMask(R));
    count[1] = R->m;
    if (A->grid.size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &count[1], 1, MPIU_INT, MPI_SUM, A->comm));
  }
  *good = (PetscBool)(count[1] <= most);
  if (!*good) {
    PetscCall(PetscInfo(A->P,
                        "%" PetscInt_FMT " rows differ from the operator that most rows have, more than an eighth of "
                        "all %" PetscInt_FMT ": they are fitted\n",
                        count[1], N));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BCRFaultShare(A->comm, BCRDifferCreate(R, &op->differ), BCR_NO_MEMORY));
  BCRDifferWrite(R, op->differ);
  PetscCall(BCRDifferCounts(A, R->kinds, R->pieces, op->differ));
  PetscCall(BCRDifferFinish(R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Planes leave unknowns, and some axis has inner rows */
static PetscBool BCRDifferLong(const BCRRows *A, const BCROperator *op)
{
  PetscInt most = 0;

  for (PetscInt d = 0; d < 3; d++) {
    const PetscInt n = A->N[d] - (op->axis[d].plane[0].present ? 1 : 0) - (op->axis[d].plane[1].present ? 1 : 0);

    if (n < 1) return PETSC_FALSE;
    most = PetscMax(most, n);
  }
  return (PetscBool)(most > 2);
}

PetscErrorCode BCRDifferRead(BCRRows *A, PetscInt c, BCROperator *op, PetscBool *good)
{
  BCRDifferReader R;
  BCRPlane plane[6];
  PetscReal corner[27][3];
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  *good = PETSC_FALSE;
  if (!BCRDifferLong(A, op)) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt k = 0; k < 6; k++) plane[k] = op->axis[k / 2].plane[k % 2];
  PetscCall(PetscMemcpy(corner, op->corner, sizeof(corner)));
  PetscCall(BCRPlanesMost(A, c, op));
  PetscCall(PetscMemzero(&R, sizeof(R)));
  R.S.A = A;
  if (BCRDifferLong(A, op)) ierr = BCRDifferTry(&R, A, c, op, good);
  PetscCall(PetscFree(R.note));
  PetscCall(PetscFree(R.rim));
  PetscCall(PetscFree3(R.touch, R.touching, R.beside));
  PetscCall(PetscFree(R.found));
  PetscCall(BCRSurveyClose(&R.S));
  PetscCall(ierr);
  if (*good) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt k = 0; k < 6; k++) {
    PetscCall(PetscFree(op->axis[k / 2].plane[k % 2].inv));
    op->axis[k / 2].plane[k % 2] = plane[k];
  }
  PetscCall(PetscMemcpy(op->corner, corner, sizeof(corner)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
