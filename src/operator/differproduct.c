/*
  Reads an operator with rows that differ (differ.h) from a matrix of which most rows are those of a constant stencil of
  9 or 27 points (productread.c), or multiples of them.

      vote     the row that most of some rows inside have, and those that most rows of each side have: the model
      look     every row once: the model's, another one, of the mask (nothing but a diagonal), of a dropped plane
      pieces   of the mask, which all ranks know as runs of nodes along x
      fluid    rows that are not the model's, or beside the mask: factors, links, what they have beside the model
      mask     its rows beside the fluid, as differ.c has them: those of a piece that a row of the fluid has a column of
               lose their links to the fluid, with what these have on the diagonal, and get sigma more
*/
#include "differimpl.h"
#include "productimpl.h"
#include "readdevice.h"

#define BCR_PRODUCT_INSIDE 256 /* rows that are asked for the inside, and for each side */
#define BCR_PRODUCT_SIDE   64

/* What a node is, and whether a node of the mask is beside it */
enum {
  BCR_IS_MODEL, /* the model's row */
  BCR_IS_OTHER,
  BCR_IS_MASK,
  BCR_IS_PLANE,
  BCR_IS_KIND = 3,
  BCR_IS_BESIDE
};

/* An entry of a list: of a row of A~ beside the model's, of a link, or in col 0 what a shore row has */
typedef struct {
  PetscInt row, col; /* nodes in natural order */
  PetscReal value;
} BCRListed;

typedef enum {
  BCR_LIST_DIFFERS,
  BCR_LIST_LINKS,
  BCR_LIST_SHORES,
  BCR_LISTS
} BCRList;

typedef struct {
  BCRProduct m;
  BCROperator *op;
  double model[BCR_BOX][BCR_BOX], sum[BCR_BOX]; /* rows by class, and their sums */
  double limit;                                 /* rows that deviate by no more are the model's */
  PetscBool neutral, bad;                       /* bad: there is a row that no such matrix has */
  BCRFault fault;                               /* ... or no matrix */
  unsigned char *kind;                          /* [nodes] */
  PetscInt masked;
  /* the mask of all ranks: runs along x, ascending, and of which piece each is; pieces: has a row of the fluid a column
     there, and how many rows have neighbours in the fluid */
  PetscInt runs, *run, *length, *piece, pieces, *touched, *rims;
  PetscSegBuffer list[BCR_LISTS];
  PetscInt entries[BCR_LISTS];         /* of these */
  PetscInt rows, kinds[BCR_ROW_KINDS]; /* rows that differ */
} BCRReader;

static PetscErrorCode reader_close(BCRReader *R)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(R->kind));
  PetscCall(PetscFree3(R->run, R->length, R->piece));
  PetscCall(PetscFree2(R->touched, R->rims));
  for (int k = 0; k < BCR_LISTS; k++) PetscCall(PetscSegBufferDestroy(&R->list[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode list_add(BCRReader *R, BCRList list, PetscInt row, PetscInt col, double value)
{
  BCRListed *e;

  PetscFunctionBegin;
  PetscCall(PetscSegBufferGet(R->list[list], 1, (void *)&e));
  *e = (BCRListed){row, col, (PetscReal)value};
  R->entries[list]++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the model ---- */

/* Node k of those that are asked for the inside (which 0) or a side (1 + 2 d + s) */
static void vote_node(const BCRProduct *m, int which, PetscInt k, PetscInt ix[3])
{
  PetscInt from[3], to[3];

  for (int d = 0; d < 3; d++) {
    const BCRProductAxis *x = &m->axis[d];
    const int inside = x->n > 2;

    from[d] = x->b + inside;
    to[d] = x->n > 2 ? x->b + x->n - 1 : x->b + 1;
    if (which > 0 && (which - 1) / 2 == d) {
      from[d] = which % 2 ? x->b : x->b + x->n - 1;
      to[d] = from[d] + 1;
    }
  }
  BCRSpreadNode(from, to, k, PETSC_FALSE, ix);
}

static PetscBool rows_alike(const double a[BCR_BOX], const double b[BCR_BOX])
{
  const double rounding = BCR_SUM_TOL * PetscAbs(a[BCR_MIDDLE]);

  for (int k = 0; k < BCR_BOX; k++)
    if (!(PetscAbs(a[k] - b[k]) <= BCR_SAME_TOL * PetscAbs(a[k]) + rounding)) return PETSC_FALSE;
  return PETSC_TRUE;
}

/* The row that most of n have which are there and more than a diagonal; n: none is. *lone: all that are there are
   nothing but a diagonal */
static PetscInt vote_most(PetscInt n, double (*row)[BCR_BOX + 1], PetscBool *lone)
{
  PetscInt best = n, most = 0, there = 0, alone = 0;

  for (PetscInt i = 0; i < n; i++) {
    PetscInt count = 0;

    if (row[i][BCR_BOX] == 0) continue;
    there++;
    if (BCRProductAlone(row[i])) {
      alone++;
      continue;
    }
    for (PetscInt j = 0; j < n; j++) count += row[j][BCR_BOX] != 0 && rows_alike(row[i], row[j]);
    if (count <= most) continue;
    most = count;
    best = i;
  }
  *lone = (PetscBool)(there > 0 && alone == there);
  return best;
}

/* Asks n rows, row[n] and whether they are there, on all ranks. Collective */
static PetscErrorCode vote_ask(const BCRProduct *m, int which, PetscInt n, double (*row)[BCR_BOX + 1])
{
  PetscFunctionBegin;
  PetscCall(PetscArrayzero(&row[0][0], n * (BCR_BOX + 1)));
  for (PetscInt k = 0; k < n; k++) {
    PetscInt ix[3];

    vote_node(m, which, k, ix);
    if (!BCRGridHas(&m->A->grid, ix)) continue;
    if (BCRProductRow(m->A, m->c, ix, row[k])) row[k][BCR_BOX] = 1;
    else PetscCall(PetscArrayzero(row[k], BCR_BOX + 1));
  }
  if (m->A->grid.size > 1)
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, row, (PetscMPIInt)(n * (BCR_BOX + 1)), MPI_DOUBLE, MPI_SUM, m->A->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sides that are dropped: those of which all rows that are asked have nothing but a diagonal. Collective */
static PetscErrorCode vote_planes(BCRProduct *m, double (*row)[BCR_BOX + 1])
{
  PetscBool lone[3][2];

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    m->axis[d].b = 0;
    m->axis[d].n = m->A->N[d];
  }
  for (int k = 0; k < 6; k++) {
    lone[k / 2][k % 2] = PETSC_FALSE;
    if (m->A->N[k / 2] < 3) continue;
    PetscCall(vote_ask(m, 1 + k, BCR_PRODUCT_SIDE, row));
    (void)vote_most(BCR_PRODUCT_SIDE, row, &lone[k / 2][k % 2]);
  }
  for (int d = 0; d < 3; d++)
    for (int s = 0; s < 2; s++) {
      m->plane[d][s] = lone[d][s];
      if (lone[d][s]) m->axis[d].n--;
      if (lone[d][s] && !s) m->axis[d].b++;
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows that BCRProductChoose() takes for those of the base node and of the ends. Collective */
static PetscErrorCode vote_rows(BCRProduct *m, double (*row)[BCR_BOX + 1], PetscBool *good)
{
  PetscFunctionBegin;
  *good = PETSC_TRUE;
  for (int d = 0; d < 3; d++)
    if (m->axis[d].n < 1) *good = PETSC_FALSE;
  for (int k = 0; k < 7 && *good; k++) {
    const PetscInt n = k ? BCR_PRODUCT_SIDE : BCR_PRODUCT_INSIDE;
    PetscInt best;
    PetscBool lone;

    PetscCall(vote_ask(m, k, n, row));
    best = vote_most(n, row, &lone);
    *good = (PetscBool)(best < n);
    if (!*good) break;
    vote_node(m, k, best, m->at[k]);
    PetscCall(PetscArraycpy(m->row[k], row[best], BCR_BOX));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective */
static PetscErrorCode find_model(BCRReader *R, PetscBool *good)
{
  BCRProduct *m = &R->m;
  double(*row)[BCR_BOX + 1] = NULL;

  PetscFunctionBegin;
  PetscCall(BCRFaultShare(m->A->comm, PetscMalloc1(BCR_PRODUCT_INSIDE, &row), BCR_NO_MEMORY));
  PetscCall(vote_planes(m, row));
  PetscCall(vote_rows(m, row, good));
  PetscCall(PetscFree(row));
  *good = (PetscBool)(*good && BCRProductChoose(m));
  if (!*good) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 3; d++)
    for (int s = 0; s < 2; s++) {
      BCRPlane *plane = &R->op->axis[d].plane[s];

      PetscCall(PetscMemzero(plane, sizeof(*plane)));
      plane->present = m->plane[d][s];
      plane->inv0 = 1; /* a diagonal for each node, where they are others */
    }
  PetscCall(BCRFaultShare(m->A->comm, BCRProductWrite(m, R->op), BCR_NO_MEMORY));
  R->neutral = BCROperatorNeutral(R->op);
  R->limit = R->neutral ? BCR_NULL_TOL / 8 : BCR_SAME_TOL;
  for (int k = 0; k < BCR_BOX; k++) {
    const BCRClass class[3] = {(BCRClass)(k % 3), (BCRClass)(k / 3 % 3), (BCRClass)(k / 9)};

    BCRProductModel(m, class, R->model[k]);
    R->sum[k] = BCRProductSum(m, class);
  }
  m->dev = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int class_at(const BCRProduct *m, const PetscInt ix[3], BCRClass class[3])
{
  for (int d = 0; d < 3; d++) class[d] = BCRProductClass(&m->axis[d], ix[d]);
  return (int)class[0] + 3 * (int)class[1] + 9 * (int)class[2];
}

/* The row of the weights of W, of a class */
static double weight_at(const BCRProduct *m, const BCRClass class[3])
{
  double w = 1;

  for (int d = 0; d < 3; d++) w *= class[d] == BCR_INSIDE ? 1 : m->axis[d].weight[class[d] == BCR_LAST];
  return w;
}

/* ---- every row ---- */

/* Entries of dropped planes are not the model's: they go elsewhere (op->sides) */
static void without_sides(BCRReader *R, const BCRClass class[3], double st[BCR_BOX])
{
  for (int k = 0; k < BCR_BOX; k++) {
    if (st[k] == 0 || !BCRProductBeyond(&R->m, class, k)) continue;
    R->m.sides = PETSC_TRUE;
    st[k] = 0;
  }
}

/* The largest deviation of a row, where entries that are both rounding of the diagonal are the same; of which entry */
static double row_deviation(const double st[BCR_BOX], const double in[BCR_BOX], int *slot)
{
  const double diagonal = PetscAbs(in[BCR_MIDDLE]), rounding = BCR_SUM_TOL * diagonal;
  double most = 0;

  for (int k = 0; k < BCR_BOX; k++) {
    const double off = PetscAbs(st[k] - in[k]), dev = off / (PetscAbs(in[k]) > rounding ? PetscAbs(in[k]) : diagonal);

    if (!(dev > most) || (off <= rounding && PetscAbs(in[k]) <= rounding)) continue;
    most = dev;
    *slot = k;
  }
  return most;
}

static void note_deviation(BCRReader *R, const PetscInt ix[3], double dev, int slot)
{
  PetscInt jx[3];

  if (!(dev > R->m.dev)) return;
  BCRProductNode(R->m.A, ix, slot, jx);
  R->m.dev = dev;
  R->m.devrow = BCRGridNatural(&R->m.A->grid, ix);
  R->m.devcol = BCRGridNatural(&R->m.A->grid, jx);
}

static PetscErrorCode look_at_bad(BCRReader *R, const PetscInt ix[3])
{
  double st[7], rest;
  PetscInt col;

  PetscFunctionBegin;
  R->bad = PETSC_TRUE;
  if (BCRRowGet(R->m.A, R->m.c, ix, st, &rest, &col) == BCR_ROW_NAN)
    PetscCall(BCRRowFault(R->m.A, BCR_ROW_NAN, R->m.c, ix, col, &R->fault));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One row. *behind: how many rows behind it are the model's, too */
static PetscErrorCode look_at(BCRReader *R, const PetscInt ix[3], PetscInt *behind)
{
  const BCRRows *A = R->m.A;
  unsigned char *kind = &R->kind[BCRNode(A, ix)];
  double st[BCR_BOX], dev;
  BCRClass class[3];
  int side[3], slot = 0, at;

  PetscFunctionBegin;
  *behind = 0;
  if (!BCRProductRow(A, R->m.c, ix, st)) PetscCall(look_at_bad(R, ix));
  else if (BCRPlanesOf(A, R->op, ix, side)) {
    *kind = BCR_IS_PLANE;
    if (!BCRProductAlone(st)) R->bad = PETSC_TRUE;
    else PetscCall(BCRPlaneSetDiagonal(A, R->op, ix, (PetscReal)(1 / st[BCR_MIDDLE])));
  } else if (BCRProductAlone(st)) {
    *kind = BCR_IS_MASK;
    R->masked++;
  } else if (st[BCR_MIDDLE] == 0) R->bad = PETSC_TRUE;
  else {
    PetscBool sides = R->m.sides;

    at = class_at(&R->m, ix, class);
    without_sides(R, class, st);
    sides = (PetscBool)(sides != R->m.sides);
    dev = row_deviation(st, R->model[at], &slot);
    *kind = dev <= R->limit ? BCR_IS_MODEL : BCR_IS_OTHER;
    if (*kind == BCR_IS_OTHER) PetscFunctionReturn(PETSC_SUCCESS);
    note_deviation(R, ix, dev, slot);
    if (at % 3 == BCR_INSIDE && at / 3 % 3 == BCR_INSIDE && (at / 9 == BCR_INSIDE || A->N[2] == 1) && !sides)
      *behind = BCRProductRun(&R->m, ix, R->m.axis[0].b + R->m.axis[0].n - 1, R->model[at]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode look_at_all(BCRReader *R)
{
  const BCRRows *A = R->m.A;
  PetscInt ix[3], behind;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(A->nodes, &R->kind));
  for (ix[2] = A->lo[2]; ix[2] < A->lo[2] + A->n[2]; ix[2]++)
    for (ix[1] = A->lo[1]; ix[1] < A->lo[1] + A->n[1]; ix[1]++)
      for (ix[0] = A->lo[0]; ix[0] < A->lo[0] + A->n[0] && !R->bad; ix[0] += 1 + behind)
        PetscCall(look_at(R, ix, &behind));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the mask of all ranks ---- */

static PetscBool is_mask(const BCRReader *R, const PetscInt ix[3])
{
  return (PetscBool)((R->kind[BCRNode(R->m.A, ix)] & BCR_IS_KIND) == BCR_IS_MASK);
}

/* Runs of this rank, in pairs run[], length[]; NULL: their number only */
static PetscInt own_runs(const BCRReader *R, PetscInt run[], PetscInt length[])
{
  const BCRRows *A = R->m.A;
  PetscInt ix[3], n = 0;

  for (ix[2] = A->lo[2]; ix[2] < A->lo[2] + A->n[2]; ix[2]++)
    for (ix[1] = A->lo[1]; ix[1] < A->lo[1] + A->n[1]; ix[1]++) {
      PetscBool before = PETSC_FALSE;

      for (ix[0] = A->lo[0]; ix[0] < A->lo[0] + A->n[0]; ix[0]++) {
        const PetscBool mask = is_mask(R, ix);

        if (mask && !before) {
          if (run) run[n] = BCRGridNatural(&A->grid, ix);
          if (run) length[n] = 0;
          n++;
        }
        if (mask && run) length[n - 1]++;
        before = mask;
      }
    }
  return n;
}

/* Collective */
static PetscErrorCode gather_runs(BCRReader *R)
{
  const BCRRows *A = R->m.A;
  PetscMPIInt size = A->grid.size, *count = NULL, *first = NULL, mine = 0;
  PetscInt *run = NULL, *length = NULL, n = own_runs(R, NULL, NULL);
  PetscInt64 all = 0;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = PetscMPIIntCast(n, &mine);
  if (!ierr) ierr = PetscMalloc4(size, &count, size + 1, &first, n, &run, n, &length);
  BCRCallElse(BCRFaultShare(A->comm, ierr, BCR_NO_MEMORY), (void)PetscFree4(count, first, run, length));
  (void)own_runs(R, run, length);
  PetscCallMPI(MPI_Allgather(&mine, 1, MPI_INT, count, 1, MPI_INT, A->comm));
  for (PetscMPIInt p = 0; p < size; p++) {
    first[p] = (PetscMPIInt)all;
    all += count[p];
  }
  ierr = all > PETSC_MPI_INT_MAX ? PETSC_ERR_MEM : PetscMalloc3(all, &R->run, all, &R->length, all, &R->piece);
  BCRCallElse(BCRFaultShare(A->comm, ierr, BCR_NO_MEMORY), (void)PetscFree4(count, first, run, length));
  R->runs = (PetscInt)all;
  PetscCallMPI(MPI_Allgatherv(run, mine, MPIU_INT, R->run, count, first, MPIU_INT, A->comm));
  PetscCallMPI(MPI_Allgatherv(length, mine, MPIU_INT, R->length, count, first, MPIU_INT, A->comm));
  PetscCall(PetscFree4(count, first, run, length));
  PetscCall(PetscSortIntWithArray(R->runs, R->run, R->length));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first run that ends behind this node */
static PetscInt run_from(const BCRReader *R, PetscInt node)
{
  PetscInt low = 0, high = R->runs;

  while (low < high) {
    const PetscInt middle = (low + high) / 2;

    if (R->run[middle] + R->length[middle] <= node) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* The run that a node is in, -1: it is not of the mask */
static PetscInt run_of(const BCRReader *R, PetscInt node)
{
  const PetscInt r = run_from(R, node);

  return r < R->runs && R->run[r] <= node ? r : -1;
}

/* The line in the direction k % 3 - 1, k / 3 - 1 along y, z of that of node ix, around the ends. PETSC_FALSE: there is none */
static PetscBool line_beside(const BCRRows *A, const PetscInt ix[3], int k, PetscInt *y, PetscInt *z)
{
  *y = ix[1] + k % 3 - 1;
  *z = ix[2] + k / 3 - 1;
  if ((A->N[1] == 1 && *y != 0) || (A->N[2] == 1 && *z != 0)) return PETSC_FALSE;
  *y = (*y + A->N[1]) % A->N[1];
  *z = (*z + A->N[2]) % A->N[2];
  return PETSC_TRUE;
}

static PetscInt piece_of(PetscInt piece[], PetscInt r)
{
  while (piece[r] != r) r = piece[r] = piece[piece[r]];
  return r;
}

static void join_runs(BCRReader *R, PetscInt r, PetscInt from, PetscInt to)
{
  for (PetscInt q = run_from(R, from); q < R->runs && R->run[q] <= to; q++) {
    const PetscInt a = piece_of(R->piece, r), b = piece_of(R->piece, q);

    R->piece[PetscMax(a, b)] = PetscMin(a, b);
  }
}

/* Nodes x of this rank on a line are beside the mask */
static void mark_beside(BCRReader *R, PetscInt from, PetscInt to, PetscInt y, PetscInt z)
{
  const BCRRows *A = R->m.A;
  const PetscInt ix[3] = {A->lo[0], y, z};

  if (A->n[0] == 0 || !BCRGridHas(&A->grid, ix)) return;
  for (PetscInt x = PetscMax(from, A->lo[0]); x <= PetscMin(to, A->lo[0] + A->n[0] - 1); x++)
    R->kind[BCRNode(A, (PetscInt[]){x, y, z})] |= BCR_IS_BESIDE;
}

/* Pieces by their runs, and the nodes beside them; nodes are neighbours where a row of 27 points has both, around the ends as
   well. Collective */
static PetscErrorCode find_pieces(BCRReader *R)
{
  const BCRRows *A = R->m.A;
  PetscInt ix[3];

  PetscFunctionBegin;
  PetscCall(gather_runs(R));
  for (PetscInt r = 0; r < R->runs; r++) R->piece[r] = r;
  for (PetscInt r = 0; r < R->runs; r++) {
    BCRGridNaturalNode(&A->grid, R->run[r], ix);
    for (int k = 0; k < 9; k++) {
      const PetscInt from = ix[0] - 1, to = ix[0] + R->length[r], last = A->N[0] - 1;
      PetscInt y, z, line;

      if (!line_beside(A, ix, k, &y, &z)) continue;
      line = BCRGridNatural(&A->grid, (PetscInt[]){0, y, z});
      join_runs(R, r, line + PetscMax(from, 0), line + PetscMin(to, last));
      mark_beside(R, from, to, y, z);
      if (from < 0) join_runs(R, r, line + last, line + last);
      if (from < 0) mark_beside(R, last, last, y, z);
      if (to > last) join_runs(R, r, line, line);
      if (to > last) mark_beside(R, 0, 0, y, z);
    }
  }
  for (PetscInt r = 0; r < R->runs; r++) R->piece[r] = piece_of(R->piece, r);
  for (PetscInt r = 0; r < R->runs; r++) R->piece[r] = R->piece[r] == r ? R->pieces++ : R->piece[R->piece[r]];
  PetscCall(BCRFaultShare(A->comm, PetscCalloc2(R->pieces, &R->touched, R->pieces, &R->rims), BCR_NO_MEMORY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- rows of the fluid ---- */

/* A row of the fluid beside the model's */
typedef struct {
  double st[BCR_BOX], in[BCR_BOX]; /* the matrix' with columns put back; the model's times factor */
  double factor;
  int kept, back,
    lost;   /* slots: columns of the mask that the row has, that are put back; links to the fluid that it lacks */
  int gone; /* slots: columns of the mask that the row lacks */
} BCRBoxRow;

/* What nodes of a row are of the mask */
static int mask_slots(const BCRReader *R, const PetscInt ix[3], const double st[BCR_BOX], const double in[BCR_BOX])
{
  const BCRRows *A = R->m.A;
  PetscInt jx[3];
  int slots = 0;

  for (int k = 0; k < BCR_BOX; k++) {
    if (k == BCR_MIDDLE || (st[k] == 0 && in[k] == 0)) continue;
    BCRProductNode(A, ix, k, jx);
    if (run_of(R, BCRGridNatural(&A->grid, jx)) >= 0) slots |= 1 << k;
  }
  return slots;
}

/* The columns of the mask, and the factor: of a row that has none, what its couplings are beside the model's */
static void fluid_row(BCRReader *R, const PetscInt ix[3], BCRBoxRow *r)
{
  const BCRProduct *m = &R->m;
  double mine = 0, its = 0, size, rounding;
  BCRClass class[3];
  const int at = class_at(m, ix, class);
  int mask = 0;

  (void)BCRProductRow(m->A, m->c, ix, r->st);
  without_sides(R, class, r->st);
  (void)memcpy(r->in, R->model[at], sizeof(r->in));
  r->kept = r->back = r->lost = r->gone = 0;
  r->factor = 1;
  size = PetscAbs(r->in[BCR_MIDDLE]);
  rounding = BCR_SUM_TOL * size;
  if (R->kind[BCRNode(m->A, ix)] & BCR_IS_BESIDE) mask = mask_slots(R, ix, r->st, r->in);
  for (int k = 0; k < BCR_BOX; k++) {
    const int bit = 1 << k;

    if (k == BCR_MIDDLE) continue;
    if (r->st[k] != 0) r->kept |= mask & bit;
    else if (PetscAbs(r->in[k]) > rounding) *(mask & bit ? &r->gone : &r->lost) |= bit;
    if (r->st[k] == 0 || PetscAbs(r->in[k]) <= rounding) continue;
    mine += r->st[k];
    its += r->in[k];
  }
  if (!mask && its != 0 && mine / its > 0 && mine / its < PETSC_INFINITY) r->factor = mine / its;
  if (PetscAbs(r->factor - 1) <= BCR_SAME_TOL) r->factor = 1;
  for (int k = 0; k < BCR_BOX; k++) r->in[k] *= r->factor;
  /* a diagonal that still has what the columns had holds the solution at zero there */
  if (PetscAbs(r->st[BCR_MIDDLE] - r->in[BCR_MIDDLE]) <= BCR_SAME_TOL * size) r->back = r->gone;
  for (int k = 0; k < BCR_BOX; k++)
    if (r->back & 1 << k) r->st[k] = r->in[k];
}

/* What the row has beside the model's, more[]. PETSC_FALSE: nothing. In a matrix that keeps the constant the difference of the
   diagonals is that of the links, to the last digit */
static PetscBool fluid_more(BCRReader *R, const PetscInt ix[3], const BCRBoxRow *r, double more[BCR_BOX])
{
  const double size = PetscAbs(r->in[BCR_MIDDLE]);
  double sum = 0, dev;
  int slot = 0;

  for (int k = 0; k < BCR_BOX; k++) {
    more[k] = r->st[k] - r->in[k];
    sum += more[k];
  }
  dev = row_deviation(r->st, r->in, &slot);
  /* a difference that is no more than rounding of coefficients must not lift a singularity */
  if (dev <= BCR_SAME_TOL && !(R->neutral && !(PetscAbs(sum) <= BCR_NULL_TOL * size))) {
    note_deviation(R, ix, dev, slot);
    return PETSC_FALSE;
  }
  if (R->neutral && PetscAbs(sum) <= BCR_NULL_TOL * size) more[BCR_MIDDLE] -= sum;
  for (int k = 0; k < BCR_BOX; k++) /* what is rounding of coefficients is left out */
    if (PetscAbs(more[k]) <= PetscAbs(r->in[k]) * (k == BCR_MIDDLE ? 4 * BCR_EPS : BCR_SUM_TOL) ||
        (k != BCR_MIDDLE && PetscMax(PetscAbs(r->in[k]), PetscAbs(r->st[k])) <= BCR_SUM_TOL * size))
      more[k] = 0;
  return PETSC_TRUE;
}

static int fluid_kind(const BCRReader *R, const PetscInt ix[3], const BCRBoxRow *r, const double more[BCR_BOX])
{
  PetscBool ends = PETSC_FALSE, diagonal = PETSC_TRUE;

  for (int d = 0; d < 3; d++) {
    const BCRProductAxis *x = &R->m.axis[d];

    ends = (PetscBool)(ends || (x->n > 1 && BCRProductClass(x, ix[d]) != BCR_INSIDE));
  }
  for (int k = 0; k < BCR_BOX; k++)
    diagonal = (PetscBool)(diagonal && (k == BCR_MIDDLE || PetscAbs(more[k]) <= BCR_SAME_TOL * PetscAbs(r->in[k])));
  if (diagonal) return ends ? BCR_ROW_END : BCR_ROW_DIAGONAL;
  if (r->gone != r->back || (r->lost && !ends)) return BCR_ROW_LINKS;
  return ends ? BCR_ROW_END : BCR_ROW_STRENGTH;
}

/* Puts the factor of a row of the box, which lies inside of dropped planes; there are none as long as all are 1 */
static PetscErrorCode put_factor(BCRReader *R, const PetscInt ix[3], double factor)
{
  const BCRRows *A = R->m.A;
  PetscInt at = 0, box = 1;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    const BCRProductAxis *x = &R->m.axis[d];
    const PetscInt first = PetscMax(A->lo[d], x->b), end = PetscMin(A->lo[d] + A->n[d], x->b + x->n);

    at += ix ? box * (ix[d] - first) : 0;
    box *= PetscMax(end - first, 0);
  }
  if (!R->op->rowscale) {
    PetscCall(PetscMalloc1(PetscMax(box, 1), &R->op->rowscale));
    for (PetscInt i = 0; i < box; i++) R->op->rowscale[i] = 1;
  }
  if (ix) R->op->rowscale[at] = (PetscReal)factor;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The entries of a row that differs */
static PetscErrorCode list_row(BCRReader *R, const PetscInt ix[3], int what, const double more[BCR_BOX])
{
  const BCRRows *A = R->m.A;
  const PetscInt node = BCRGridNatural(&A->grid, ix);

  PetscFunctionBegin;
  R->rows++;
  R->kinds[what]++;
  for (int k = 0; k < BCR_BOX; k++) {
    PetscInt jx[3];

    if (more[k] == 0) continue;
    BCRProductNode(A, ix, k, jx);
    PetscCall(list_add(R, BCR_LIST_DIFFERS, node, BCRGridNatural(&A->grid, jx), more[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Its columns of the mask */
static PetscErrorCode list_links(BCRReader *R, const PetscInt ix[3], const BCRBoxRow *r)
{
  const BCRRows *A = R->m.A;
  const PetscInt node = BCRGridNatural(&A->grid, ix);
  double sum = 0;

  PetscFunctionBegin;
  for (int k = 0; k < BCR_BOX; k++) {
    PetscInt jx[3], to;

    if (!((r->kept | r->back) & 1 << k)) continue;
    BCRProductNode(A, ix, k, jx);
    to = BCRGridNatural(&A->grid, jx);
    R->touched[R->piece[run_of(R, to)]] = 1;
    sum += r->st[k];
    if (r->kept & 1 << k) PetscCall(list_add(R, BCR_LIST_LINKS, node, to, r->st[k]));
  }
  if (r->kept | r->back) PetscCall(list_add(R, BCR_LIST_SHORES, node, 0, sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ends where more rows differ than may: most */
static PetscErrorCode look_at_fluid(BCRReader *R, PetscInt most)
{
  const BCRRows *A = R->m.A;
  PetscInt ix[3];

  PetscFunctionBegin;
  for (ix[2] = A->lo[2]; ix[2] < A->lo[2] + A->n[2]; ix[2]++)
    for (ix[1] = A->lo[1]; ix[1] < A->lo[1] + A->n[1]; ix[1]++)
      for (ix[0] = A->lo[0]; ix[0] < A->lo[0] + A->n[0] && R->rows <= most; ix[0]++) {
        const int kind = R->kind[BCRNode(A, ix)];
        double more[BCR_BOX];
        BCRBoxRow r;

        if ((kind & BCR_IS_KIND) >= BCR_IS_MASK || kind == BCR_IS_MODEL) continue;
        fluid_row(R, ix, &r);
        if (fluid_more(R, ix, &r, more)) PetscCall(list_row(R, ix, fluid_kind(R, ix, &r, more), more));
        if (r.factor != 1) PetscCall(put_factor(R, ix, r.factor));
        PetscCall(list_links(R, ix, &r));
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- rows of the mask ---- */

/* The couplings of a row of the mask to nodes outside of it, more[] = - them. Returns how many there are */
static int mask_out(const BCRReader *R, const PetscInt ix[3], double more[BCR_BOX])
{
  BCRClass class[3];
  const double *in = R->model[class_at(&R->m, ix, class)];
  const int mask = mask_slots(R, ix, in, in);
  int n = 0;

  for (int k = 0; k < BCR_BOX; k++) {
    const PetscBool out = (PetscBool)(k != BCR_MIDDLE && in[k] != 0 && !(mask & 1 << k));

    more[k] = out ? -in[k] : 0;
    n += out;
  }
  return n;
}

/* Runs over the rows of the mask beside the fluid: they are counted, or listed */
static PetscErrorCode look_at_mask(BCRReader *R, PetscBool list)
{
  const BCRRows *A = R->m.A;
  const double *base = R->model[BCR_MIDDLE];
  PetscInt ix[3];
  double a = 0; /* of couplings, the mean along an axis */
  int axes = 0;

  PetscFunctionBegin;
  for (int k = 0; k < BCR_BOX; k++) a -= k == BCR_MIDDLE ? 0 : base[k];
  for (int d = 0; d < 3; d++) axes += R->m.axis[d].n > 1;
  for (ix[2] = A->lo[2]; ix[2] < A->lo[2] + A->n[2]; ix[2]++)
    for (ix[1] = A->lo[1]; ix[1] < A->lo[1] + A->n[1]; ix[1]++)
      for (ix[0] = A->lo[0]; ix[0] < A->lo[0] + A->n[0]; ix[0]++) {
        double more[BCR_BOX], sum = 0;
        BCRClass class[3];
        PetscInt piece;

        if (!is_mask(R, ix) || !mask_out(R, ix, more)) continue;
        piece = R->piece[run_of(R, BCRGridNatural(&A->grid, ix))];
        if (!list) R->rims[piece]++;
        if (!list || !R->touched[piece]) continue;
        (void)class_at(&R->m, ix, class);
        for (int k = 0; k < BCR_BOX; k++) sum -= more[k];
        more[BCR_MIDDLE] = sum + weight_at(&R->m, class) * a / (2 * axes) / (double)R->rims[piece] *
                                   (axes > 2 ? 2 * PETSC_PI * sqrt((double)R->rims[piece]) : 1);
        PetscCall(list_row(R, ix, BCR_ROW_BESIDE, more));
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the lists ---- */

/* What the entries of A~ in the mask add up to, of each row of this rank: the model's, and those that were listed */
static PetscErrorCode mask_sums(const BCRReader *R, PetscInt n, const BCRListed *differs, PetscReal **sums)
{
  const BCRRows *A = R->m.A;
  PetscInt ix[3];

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(PetscMax(A->nodes, 1), sums));
  for (ix[2] = A->lo[2]; ix[2] < A->lo[2] + A->n[2]; ix[2]++)
    for (ix[1] = A->lo[1]; ix[1] < A->lo[1] + A->n[1]; ix[1]++)
      for (ix[0] = A->lo[0]; ix[0] < A->lo[0] + A->n[0]; ix[0]++) {
        BCRClass class[3];

        if (is_mask(R, ix)) (*sums)[BCRNode(A, ix)] = (PetscReal)R->sum[class_at(&R->m, ix, class)];
      }
  for (PetscInt k = 0; k < n; k++) {
    BCRGridNaturalNode(&A->grid, differs[k].row, ix);
    if (is_mask(R, ix)) (*sums)[BCRNode(A, ix)] += differs[k].value;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The mask's rows with their diagonals, and their sums where there are shores */
static PetscErrorCode write_mask(const BCRReader *R, PetscBool shore, PetscInt n, const BCRListed *differs, BCRDiffer D)
{
  const BCRRows *A = R->m.A;
  double st[BCR_BOX];
  PetscReal *sums = NULL;
  PetscInt ix[3];

  PetscFunctionBegin;
  D->masked = R->masked;
  PetscCall(PetscMalloc3(R->masked, &D->run, R->masked, &D->length, R->masked, &D->inverse));
  if (shore) PetscCall(PetscMalloc3(R->masked, &D->lift, R->masked, &D->liftlength, R->masked, &D->liftvalue));
  if (shore) PetscCall(mask_sums(R, n, differs, &sums));
  for (ix[2] = A->lo[2]; ix[2] < A->lo[2] + A->n[2]; ix[2]++)
    for (ix[1] = A->lo[1]; ix[1] < A->lo[1] + A->n[1]; ix[1]++)
      for (ix[0] = A->lo[0]; ix[0] < A->lo[0] + A->n[0]; ix[0]++) {
        const PetscInt node = BCRGridNatural(&A->grid, ix), last = D->runs - 1;
        PetscReal inverse;

        if (!is_mask(R, ix)) continue;
        (void)BCRProductRow(A, R->m.c, ix, st);
        inverse = (PetscReal)(1 / st[BCR_MIDDLE]);
        if (ix[0] > 0 && last >= 0 && D->run[last] + D->length[last] == node && D->inverse[last] == inverse)
          D->length[last]++;
        else {
          D->run[D->runs] = node;
          D->length[D->runs] = 1;
          D->inverse[D->runs++] = inverse;
        }
        if (!shore || sums[BCRNode(A, ix)] == 0) continue;
        D->lift[D->lifts] = node;
        D->liftlength[D->lifts] = 1;
        D->liftvalue[D->lifts++] = sums[BCRNode(A, ix)];
      }
  PetscCall(PetscFree(sums));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_lists(BCRReader *R, PetscBool shore)
{
  const PetscInt *n = R->entries;
  BCRListed *e[BCR_LISTS];
  BCRDiffer D;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(1, &R->op->differ));
  D = R->op->differ;
  for (int k = 0; k < BCR_LISTS; k++) PetscCall(PetscSegBufferExtractInPlace(R->list[k], (void *)&e[k]));
  PetscCall(PetscMalloc4(R->rows, &D->row, R->rows + 1, &D->start, n[0], &D->col, n[0], &D->value));
  PetscCall(PetscMalloc3(n[1], &D->linkrow, n[1], &D->linkcol, n[1], &D->linkvalue));
  PetscCall(PetscMalloc2(n[2], &D->shore, n[2], &D->shorevalue));
  D->start[0] = 0;
  for (PetscInt k = 0; k < n[0]; k++) { /* the entries of a row lie side by side */
    if (k == 0 || e[0][k].row != e[0][k - 1].row) D->row[D->m++] = e[0][k].row;
    D->col[k] = e[0][k].col;
    D->value[k] = e[0][k].value;
    D->start[D->m] = k + 1;
  }
  for (D->links = 0; D->links < n[1]; D->links++) {
    D->linkrow[D->links] = e[1][D->links].row;
    D->linkcol[D->links] = e[1][D->links].col;
    D->linkvalue[D->links] = e[1][D->links].value;
  }
  for (D->shores = 0; D->shores < n[2]; D->shores++) {
    D->shore[D->shores] = e[2][D->shores].row;
    D->shorevalue[D->shores] = e[2][D->shores].value;
  }
  PetscCall(write_mask(R, shore, n[0], e[0], D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Factors, deviation, names. Collective */
static PetscErrorCode finish(BCRReader *R)
{
  const BCRRows *A = R->m.A;
  BCROperator *op = R->op;
  struct {
    double dev;
    PetscInt row, col;
  } v = {R->m.dev, R->m.devrow, R->m.devcol};
  PetscInt some[2] = {op->rowscale ? 1 : 0, R->m.sides ? 1 : 0};

  PetscFunctionBegin;
  if (A->grid.size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, some, 2, MPIU_INT, MPI_MAX, A->comm));
  op->left = some[0] ? PETSC_TRUE : PETSC_FALSE;
  op->sides = some[1] ? PETSC_TRUE : PETSC_FALSE;
  if (op->left) PetscCall(BCRFaultShare(A->comm, put_factor(R, NULL, 1), BCR_NO_MEMORY));
  PetscCall(BCRTakeFrom(A->comm, v.dev, &v, sizeof(v), NULL));
  op->deviation = (PetscReal)v.dev;
  op->devrow = v.row;
  op->devcol = v.col;
  PetscCall(PetscStrncpy(op->fit, "rows differ", sizeof(op->fit)));
  PetscCall(BCRDifferCounts(A, R->kinds, R->pieces, op->differ));
  PetscCall(BCRDifferShift(A, op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective */
static PetscErrorCode read_rows(BCRReader *R, PetscBool *good)
{
  const BCRRows *A = R->m.A;
  const PetscInt N = A->N[0] * A->N[1] * A->N[2], most = N / 8;
  PetscInt count[2];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(find_model(R, good));
  if (!*good) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRFaultShare(A->comm, look_at_all(R), BCR_NO_MEMORY));
  PetscCall(BCRFaultAgree(A->comm, &R->fault));
  count[0] = R->bad ? 1 : 0;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, count, 1, MPIU_INT, MPI_MAX, A->comm));
  *good = (PetscBool)(count[0] == 0);
  if (!*good) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(find_pieces(R));
  ierr = look_at_fluid(R, most);
  if (!ierr) ierr = look_at_mask(R, PETSC_FALSE);
  PetscCall(BCRFaultShare(A->comm, ierr, BCR_NO_MEMORY));
  if (R->pieces > 0 && A->grid.size > 1) {
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, R->touched, (PetscMPIInt)R->pieces, MPIU_INT, MPI_MAX, A->comm));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, R->rims, (PetscMPIInt)R->pieces, MPIU_INT, MPI_SUM, A->comm));
  }
  PetscCall(BCRFaultShare(A->comm, look_at_mask(R, PETSC_TRUE), BCR_NO_MEMORY));
  count[0] = R->rows;
  count[1] = 0;
  for (PetscInt p = 0; p < R->pieces; p++) count[1] += R->touched[p];
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, count, 1, MPIU_INT, MPI_SUM, A->comm));
  *good = (PetscBool)(count[0] <= most);
  if (!*good) {
    PetscCall(PetscInfo(A->P,
                        "%" PetscInt_FMT
                        " rows differ from the box stencil that most rows have, more than an eighth of "
                        "all %" PetscInt_FMT "\n",
                        count[0], N));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BCRFaultShare(A->comm, write_lists(R, (PetscBool)(count[1] > 0)), BCR_NO_MEMORY));
  PetscCall(finish(R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDifferProduct(BCRRows *A, PetscInt c, BCROperator *op, PetscBool *good)
{
  BCRReader R;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  *good = PETSC_FALSE;
  if (!A->box.wanted) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMemzero(&R, sizeof(R)));
  R.m.A = A;
  R.m.c = c;
  R.op = op;
  for (int k = 0; k < BCR_LISTS && !ierr; k++) ierr = PetscSegBufferCreate(sizeof(BCRListed), 256, &R.list[k]);
  ierr = BCRFaultShare(A->comm, ierr, BCR_NO_MEMORY);
  if (!ierr) ierr = read_rows(&R, good);
  PetscCall(reader_close(&R));
  PetscCall(ierr);
  if (*good) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFree(op->rowscale));
  PetscCall(BCRProductClear(op));
  PetscFunctionReturn(PETSC_SUCCESS);
}
