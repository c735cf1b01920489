/*
  Constant stencils of 9 and 27 points as polynomials of the axes' T (operator.h): bilinear and trilinear elements,
  Mehrstellen, box averages. The coefficients are those of one row inside, the ends of each axis those that make the
  rows there the polynomial's, and then every row is compared, entry by entry.

      sample    the base row and those at the ends of each grid line through it, on all ranks
      planes    sides whose rows have nothing but a diagonal are dropped, whatever other rows have there
      choose    ends of axes of two unknowns, of which no row is inside, by trial; coefficients; ends of the other axes
      compare   all rows
*/
#include "productimpl.h"
#include "readdevice.h"

/* Rows that are asked where the one in the middle has nothing but a diagonal */
#define BCR_PRODUCT_ROWS 64

/* ---- rows ---- */

/* Place of a node among the entries of the row of node ix, -1: it is no neighbour */
static int product_slot(const BCRRows *A, const PetscInt ix[3], const PetscInt jx[3])
{
  int slot = 0;

  for (int d = 2; d >= 0; d--) {
    const PetscInt N = A->N[d];
    PetscInt off = jx[d] - ix[d];

    if (N > 2 && (off == N - 1 || off == 1 - N)) off = off > 0 ? -1 : 1;
    if (off < -1 || off > 1) return -1;
    slot = 3 * slot + (int)off + 1;
  }
  return slot;
}

void BCRProductNode(const BCRRows *A, const PetscInt ix[3], int slot, PetscInt jx[3])
{
  for (int d = 0, rest = slot; d < 3; d++, rest /= 3) jx[d] = (ix[d] + rest % 3 - 1 + A->N[d]) % A->N[d];
}

/* The entries of a row that are not zero. PETSC_FALSE: one of them is none of a real number to a neighbour */
PetscBool BCRProductRow(const BCRRows *A, PetscInt c, const PetscInt ix[3], double st[BCR_BOX])
{
  const PetscInt row = c + A->dof * BCRNode(A, ix);

  for (int k = 0; k < BCR_BOX; k++) st[k] = 0;
  for (int far = 0; far < (A->far.mat ? 2 : 1); far++) {
    const BCRBlock *B = far ? &A->far : &A->near;

    for (PetscInt p = B->i[row]; p < B->i[row + 1]; p++) {
      const PetscInt j = far ? A->ghost[B->j[p]] : B->j[p], n = j / A->dof;
      const double v = (double)PetscRealPart(B->a[p]);
      PetscInt jx[3];
      int slot;

      if (B->a[p] == (PetscScalar)0) continue;
      if (!(PetscAbs(v) <= DBL_MAX) || j % A->dof != c || PetscImaginaryPart(B->a[p]) != 0) return PETSC_FALSE;
      if (far) BCRGridNaturalNode(&A->grid, n, jx);
      else {
        jx[0] = A->lo[0] + n % A->n[0];
        jx[1] = A->lo[1] + n / A->n[0] % A->n[1];
        jx[2] = A->lo[2] + n / A->n[0] / A->n[1];
      }
      slot = product_slot(A, ix, jx);
      if (slot < 0) return PETSC_FALSE;
      st[slot] += v;
    }
  }
  return PETSC_TRUE;
}

/* ---- the model ---- */

/* The row of T of unit coupling: entries with the row before, its own, with the row behind; times the weight. unit:
   the same of the identity */
static void axis_row(const BCRProductAxis *x, BCRClass class, double T[3], double unit[3])
{
  const int s = class == BCR_LAST;
  const BCREndRule rule = BCREndGetRule(x->end[s]);
  const double w = class == BCR_INSIDE ? 1 : x->weight[s];

  unit[0] = unit[2] = 0;
  unit[1] = w;
  T[0] = T[2] = -w;
  T[1] = 2 * w;
  if (x->n == 1) T[0] = T[1] = T[2] = 0;
  else if (class != BCR_INSIDE && !BCREndIsPeriodic(x->end[s])) {
    T[2 * s] = 0;
    T[2 - 2 * s] = -w * rule.inward;
    T[1] = w * (2 + rule.diagonal);
  }
}

void BCRProductModel(const BCRProduct *m, const BCRClass class[3], double in[BCR_BOX])
{
  double T[3][2][3];

  for (int d = 0; d < 3; d++) axis_row(&m->axis[d], class[d], T[d][1], T[d][0]);
  for (int k = 0; k < BCR_BOX; k++) {
    in[k] = 0;
    for (int set = 0; set < BCR_SETS; set++)
      in[k] += m->mixed[set] * T[0][set & 1][k % 3] * T[1][set >> 1 & 1][k / 3 % 3] * T[2][set >> 2 & 1][k / 9];
  }
}

double BCRProductSum(const BCRProduct *m, const BCRClass class[3])
{
  double T[3][2][3], sum = 0;

  for (int d = 0; d < 3; d++) axis_row(&m->axis[d], class[d], T[d][1], T[d][0]);
  for (int set = 0; set < BCR_SETS; set++) {
    double product = m->mixed[set];

    for (int d = 0; d < 3; d++) {
      const double *t = T[d][set >> d & 1];

      product *= t[0] + t[1] + t[2];
    }
    sum += product;
  }
  return sum;
}

/* Entry k of a row of this class is that of a node of a dropped plane */
PetscBool BCRProductBeyond(const BCRProduct *m, const BCRClass class[3], int k)
{
  for (int d = 0, rest = k; d < 3; d++, rest /= 3) {
    const PetscBool first = class[d] == BCR_FIRST ? PETSC_TRUE : PETSC_FALSE,
                    last = class[d] == BCR_LAST || m->axis[d].n == 1 ? PETSC_TRUE : PETSC_FALSE;

    if ((rest % 3 == 0 && first && m->plane[d][0]) || (rest % 3 == 2 && last && m->plane[d][1])) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

/* Entries that are rounding of the row's diagonal are the same; else the deviation is relative to the model's entry,
   or to the diagonal where that is rounding. Notes the largest */
static void product_compare(BCRProduct *m, const PetscInt ix[3], const BCRClass class[3], const double st[BCR_BOX],
                            const double in[BCR_BOX])
{
  const PetscBool end =
    class[0] != BCR_INSIDE || class[1] != BCR_INSIDE || class[2] != BCR_INSIDE ? PETSC_TRUE : PETSC_FALSE;
  const double diagonal = PetscAbs(in[BCR_MIDDLE]), rounding = BCR_SUM_TOL * diagonal;
  double sum = 0;

  for (int k = 0; k < BCR_BOX; k++) {
    const double off = PetscAbs(st[k] - in[k]), dev = off / (PetscAbs(in[k]) > rounding ? PetscAbs(in[k]) : diagonal);
    PetscInt jx[3];

    if (end && BCRProductBeyond(m, class, k)) {
      m->sides = (PetscBool)(m->sides || st[k] != 0);
      continue;
    }
    sum += st[k];
    if (!(dev > m->dev) || (off <= rounding && PetscAbs(in[k]) <= rounding)) continue;
    BCRProductNode(m->A, ix, k, jx);
    m->dev = dev;
    m->devrow = BCRGridNatural(&m->A->grid, ix);
    m->devcol = BCRGridNatural(&m->A->grid, jx);
    m->have = st[k];
    m->want = in[k];
  }
  m->sum = PetscMax(m->sum, PetscAbs(sum) / diagonal);
}

/* ---- what the operator is, from a few rows ---- */

/* One row on all ranks: its entries, and what BCRProductRow() says. Collective */
static PetscErrorCode product_ask(const BCRProduct *m, const PetscInt ix[3], double st[BCR_BOX], PetscBool *good)
{
  double told[BCR_BOX + 1] = {0};

  PetscFunctionBegin;
  if (BCRGridHas(&m->A->grid, ix)) told[BCR_BOX] = BCRProductRow(m->A, m->c, ix, told) ? 1 : 0;
  if (m->A->grid.size > 1)
    PetscCallMPI(MPI_Bcast(told, BCR_BOX + 1, MPI_DOUBLE, BCRGridRank(&m->A->grid, ix), m->A->comm));
  PetscCall(PetscArraycpy(st, told, BCR_BOX));
  *good = told[BCR_BOX] != 0 ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a row of this rank is */
typedef enum {
  BCR_BOX_NONE,  /* another rank's */
  BCR_BOX_ALONE, /* nothing but a diagonal */
  BCR_BOX_STAR,
  BCR_BOX_MORE /* entries beside its star */
} BCRBoxKind;

static PetscErrorCode row_kind(const BCRRows *A, PetscInt c, const PetscInt ix[3], BCRBoxKind *kind)
{
  PetscInt row;

  PetscFunctionBegin;
  *kind = BCR_BOX_NONE;
  if (!BCRGridHas(&A->grid, ix)) PetscFunctionReturn(PETSC_SUCCESS);
  *kind = BCR_BOX_ALONE;
  row = c + A->dof * BCRNode(A, ix);
  for (int far = 0; far < (A->far.mat ? 2 : 1); far++) {
    const BCRBlock *B = far ? &A->far : &A->near;
    const PetscInt first = B->i[row];

    for (PetscInt p = first; p < B->i[row + 1]; p++) {
      const PetscInt j = far ? A->ghost[B->j[p]] : B->j[p];
      const int slot = far ? BCRSlotFar(A, ix, j / A->dof) : BCRSlot(A, ix, j / A->dof - row / A->dof);
      const PetscScalar *v = B->a ? B->a + first : BCRSampleRow(A, row);

      if (slot == BCR_CENTRE || *kind == BCR_BOX_MORE) continue;
      if (!v && slot < 0) { /* of a device, and not among the rows that have been brought from there */
        PetscCall(BCRRowsFetch(A));
        v = A->aa + first;
      }
      if (!v || v[p - first] != (PetscScalar)0) *kind = slot < 0 ? BCR_BOX_MORE : BCR_BOX_STAR;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows have entries beside their stars: that in the middle, or one of some if that has nothing but a diagonal. Else there is nothing
   here to do, and values may be on a device. Collective */
static PetscErrorCode product_wanted(const BCRRows *A, PetscInt c, PetscBool *wanted)
{
  const PetscInt middle[3] = {A->N[0] / 2, A->N[1] / 2, A->N[2] / 2}, from[3] = {0, 0, 0};
  BCRBoxKind kind, most;
  int some;

  PetscFunctionBegin;
  PetscCall(row_kind(A, c, middle, &most));
  some = (int)most;
  if (A->grid.size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &some, 1, MPI_INT, MPI_MAX, A->comm));
  if (some == BCR_BOX_ALONE) { /* an obstacle lies there */
    for (PetscInt k = 0; k < BCR_PRODUCT_ROWS; k++) {
      PetscInt ix[3];

      BCRSpreadNode(from, A->N, k, PETSC_FALSE, ix);
      PetscCall(row_kind(A, c, ix, &kind));
      some = PetscMax(some, (int)kind);
    }
    if (A->grid.size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &some, 1, MPI_INT, MPI_MAX, A->comm));
  }
  *wanted = some == BCR_BOX_MORE ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sides with nothing but diagonals in the middle are dropped; the box, and the rows of the sample. Collective */
static PetscErrorCode product_sample(BCRProduct *m, BCROperator *op, PetscBool *good)
{
  const BCRRows *A = m->A;
  PetscBool there;

  PetscFunctionBegin;
  *good = PETSC_TRUE;
  for (int d = 0; d < 3; d++) {
    m->axis[d].b = 0;
    m->axis[d].n = A->N[d];
    for (int s = 0; s < 2; s++) {
      BCRPlane *plane = &op->axis[d].plane[s];
      PetscInt ix[3] = {A->N[0] / 2, A->N[1] / 2, A->N[2] / 2};
      double st[BCR_BOX];

      PetscCall(PetscMemzero(plane, sizeof(*plane)));
      ix[d] = s ? A->N[d] - 1 : 0;
      if (A->N[d] < 3) continue;
      PetscCall(product_ask(m, ix, st, &there));
      plane->present = (PetscBool)(there && BCRProductAlone(st));
      if (!plane->present) continue;
      plane->inv0 = (PetscReal)(1 / st[BCR_MIDDLE]);
      m->plane[d][s] = PETSC_TRUE;
      m->axis[d].n--;
      m->axis[d].b += s ? 0 : 1;
    }
    if (m->axis[d].n < 1) *good = PETSC_FALSE;
  }
  for (int k = 0; k < 7 && *good; k++) {
    for (int d = 0; d < 3; d++) {
      const BCRProductAxis *x = &m->axis[d];

      m->at[k][d] = x->b + (x->n > 2 ? x->n / 2 : 0);
      if (k == 2 * d + 1) m->at[k][d] = x->b;
      if (k == 2 * d + 2) m->at[k][d] = x->b + x->n - 1;
    }
    PetscCall(product_ask(m, m->at[k], m->row[k], &there));
    *good = (PetscBool)(*good && there && m->row[k][BCR_MIDDLE] != 0);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The polynomial of the base row, whose ends of axes of two unknowns are given */
static void product_polynomial(BCRProduct *m)
{
  double e[BCR_BOX], weight = 1;

  for (int k = 0; k < BCR_BOX; k++) e[k] = m->row[0][k];
  for (int d = 0, step = 1; d < 3; d++, step *= 3) {
    const BCRProductAxis *x = &m->axis[d];
    const BCREndRule rule = BCREndGetRule(x->end[0]);
    const PetscBool first = x->n == 2 ? PETSC_TRUE : PETSC_FALSE;

    if (first) weight *= x->weight[0];
    for (int k = 0; k < BCR_BOX; k++) {
      double *c = &e[k]; /* with the row before; its own; behind: where the sets without and with this axis are to be */

      if (k / step % 3 != 0) continue;
      c[0] = x->n == 1 ? 0 : (first ? -c[2 * step] / rule.inward : -0.5 * (c[0] + c[2 * step]));
      c[step] -= (first ? 2 + rule.diagonal : 2) * c[0];
    }
  }
  for (int set = 0; set < BCR_SETS; set++)
    m->mixed[set] = e[(set & 1 ? 0 : 1) + 3 * (set & 2 ? 0 : 1) + 9 * (set & 4 ? 0 : 1)] / weight;
}

/* Whether row k of the sample is the model's */
static PetscBool product_fits(BCRProduct *m, int k)
{
  BCRClass class[3];
  double in[BCR_BOX];

  for (int d = 0; d < 3; d++) class[d] = BCRProductClass(&m->axis[d], m->at[k][d]);
  BCRProductModel(m, class, in);
  m->dev = 0;
  product_compare(m, m->at[k], class, m->row[k], in);
  return m->dev <= BCR_SAME_TOL ? PETSC_TRUE : PETSC_FALSE;
}

/* The ends of an axis with rows inside; PETSC_FALSE: there are none */
static PetscBool product_ends(BCRProduct *m, int d)
{
  BCRProductAxis *x = &m->axis[d];

  x->weight[0] = x->weight[1] = 1;
  x->end[0] = x->end[1] = BCR_END_PERIODIC;
  if (x->n == m->A->N[d] && product_fits(m, 2 * d + 1) && product_fits(m, 2 * d + 2)) return PETSC_TRUE;
  for (int s = 0; s < 2; s++) {
    PetscBool found = PETSC_FALSE;

    for (int half = 0; half < 2 && !found; half++) {
      for (int e = 0; e < BCR_ENDS && !found; e++) {
        x->end[s] = (BCREnd)e;
        x->weight[s] = half ? 0.5 : 1;
        found = (PetscBool)(!BCREndIsPeriodic(x->end[s]) && product_fits(m, 2 * d + 1 + s));
      }
    }
    if (!found) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/* Two unknowns: ends that are alike are those of cells, up to a multiple of the identity, and so are two rings. Those
   of elements have half rows */
static const struct {
  BCREnd end[2];
  double weight[2];
} pairs[] = {
  {{BCR_END_CELL_NEUMANN, BCR_END_CELL_NEUMANN},   {1, 1}  },
  {{BCR_END_DIRICHLET, BCR_END_CELL_NEUMANN},      {1, 1}  },
  {{BCR_END_CELL_NEUMANN, BCR_END_DIRICHLET},      {1, 1}  },
  {{BCR_END_DIRICHLET, BCR_END_NEUMANN},           {1, 1}  },
  {{BCR_END_NEUMANN, BCR_END_DIRICHLET},           {1, 1}  },
  {{BCR_END_DIRICHLET, BCR_END_NEUMANN},           {1, 0.5}},
  {{BCR_END_NEUMANN, BCR_END_DIRICHLET},           {0.5, 1}},
  {{BCR_END_CELL_DIRICHLET, BCR_END_CELL_NEUMANN}, {1, 1}  },
  {{BCR_END_CELL_NEUMANN, BCR_END_CELL_DIRICHLET}, {1, 1}  },
  {{BCR_END_CELL_DIRICHLET, BCR_END_DIRICHLET},    {1, 1}  },
  {{BCR_END_DIRICHLET, BCR_END_CELL_DIRICHLET},    {1, 1}  },
};
#define BCR_PRODUCT_PAIRS (PetscInt) PETSC_STATIC_ARRAY_LENGTH(pairs)

/* Ends and polynomial that have all rows of the sample; PETSC_FALSE: there are none. Axes of two unknowns have their
   ends tried */
PetscBool BCRProductChoose(BCRProduct *m)
{
  PetscInt tries = 1;

  for (int d = 0; d < 3; d++) tries *= m->axis[d].n == 2 ? BCR_PRODUCT_PAIRS : 1;
  for (PetscInt t = 0; t < tries; t++) {
    PetscBool good = PETSC_TRUE;
    PetscInt rest = t;

    for (int d = 0; d < 3; d++) {
      BCRProductAxis *x = &m->axis[d];

      for (int s = 0; s < 2; s++) {
        x->end[s] = x->n == 2 ? pairs[rest % BCR_PRODUCT_PAIRS].end[s] : BCREndOfOne();
        x->weight[s] = x->n == 2 ? pairs[rest % BCR_PRODUCT_PAIRS].weight[s] : 1;
      }
      if (x->n == 2) rest /= BCR_PRODUCT_PAIRS;
    }
    product_polynomial(m);
    good = product_fits(m, 0);
    for (int d = 0; d < 3 && good; d++) {
      if (m->axis[d].n == 2) good = product_fits(m, 2 * d + 2);
      if (m->axis[d].n > 2) good = product_ends(m, d);
    }
    if (good) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

/* ---- all rows ---- */

/* A row of a plane that is dropped: nothing but a diagonal. PETSC_FALSE: it has more */
static PetscErrorCode product_plane(BCRProduct *m, BCROperator *op, const PetscInt ix[3], const double st[BCR_BOX],
                                    PetscBool *good)
{
  PetscFunctionBegin;
  *good = BCRProductAlone(st);
  if (*good) PetscCall(BCRPlaneSetDiagonal(m->A, op, ix, (PetscReal)(1 / st[BCR_MIDDLE])));
  else {
    m->dev = PETSC_INFINITY;
    m->devrow = m->devcol = BCRGridNatural(&m->A->grid, ix);
    for (int k = 0; k < BCR_BOX; k++) {
      PetscInt jx[3];

      if (k == BCR_MIDDLE || st[k] == 0) continue;
      BCRProductNode(m->A, ix, k, jx);
      m->devcol = BCRGridNatural(&m->A->grid, jx);
      m->have = st[k];
      m->want = 0;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The row of node ix, inside its grid line and found to be the model's `in`: how many of the rows behind it are the same,
   with columns a node further on each. Up to node last - 1 */
PetscInt BCRProductRun(const BCRProduct *m, const PetscInt ix[3], PetscInt last, const double in[BCR_BOX])
{
  const BCRRows *A = m->A;
  const PetscInt row = BCRNode(A, ix), *ai = A->near.i, len = ai[row + 1] - ai[row],
                 n = PetscMin(last, A->lo[0] + A->n[0]) - 1 - ix[0];
  const double diagonal = PetscAbs(in[BCR_MIDDLE]), rounding = BCR_SUM_TOL * diagonal,
               limit = PetscMax(m->dev, BCR_SUM_TOL);
  double ref[BCR_BOX], tol[BCR_BOX];
  PetscInt count = 0;

  if (A->dof > 1 || len > BCR_BOX) return 0;
  for (PetscInt p = 0; p < len; p++) {
    const PetscInt node = A->near.j[ai[row] + p];
    const PetscInt jx[3] = {A->lo[0] + node % A->n[0], A->lo[1] + node / A->n[0] % A->n[1],
                            A->lo[2] + node / A->n[0] / A->n[1]};
    const int slot = product_slot(A, ix, jx);

    if (slot < 0) return 0;
    ref[p] = in[slot];
    tol[p] = PetscAbs(in[slot]) > rounding ? limit * PetscAbs(in[slot]) : rounding;
  }
  for (; count < n; count++) {
    const PetscInt r = row + count + 1, *j = A->near.j + ai[r];
    const PetscScalar *v = A->near.a + ai[r];
    PetscInt bad = (ai[r + 1] - ai[r]) ^ len;

    if (bad || (A->far.mat && A->far.i[r + 1] != A->far.i[r])) break;
    for (PetscInt p = 0; p < len; p++) bad |= (j[p] - j[p - len]) ^ 1;
    for (PetscInt p = 0; p < len; p++) bad |= !(PetscAbsScalar(v[p] - (PetscReal)ref[p]) <= (PetscReal)tol[p]);
    if (bad) break;
  }
  return count;
}

/* All rows of this rank; ends with the first one that is not the operator's */
static PetscErrorCode product_all(BCRProduct *m, BCROperator *op)
{
  const BCRRows *A = m->A;
  double model[BCR_BOX][BCR_BOX], st[BCR_BOX];
  PetscInt ix[3];

  PetscFunctionBegin;
  for (int k = 0; k < BCR_BOX; k++) {
    const BCRClass class[3] = {(BCRClass)(k % 3), (BCRClass)(k / 3 % 3), (BCRClass)(k / 9)};

    BCRProductModel(m, class, model[k]);
  }
  m->dev = m->sum = 0;
  m->sides = PETSC_FALSE;
  for (ix[2] = A->lo[2]; ix[2] < A->lo[2] + A->n[2]; ix[2]++) {
    for (ix[1] = A->lo[1]; ix[1] < A->lo[1] + A->n[1]; ix[1]++) {
      for (ix[0] = A->lo[0]; ix[0] < A->lo[0] + A->n[0]; ix[0]++) {
        PetscBool good = BCRProductRow(A, m->c, ix, st);
        /* entries of planes are not the model's */
        const PetscBool beside = (PetscBool)((m->plane[1][0] && ix[1] <= m->axis[1].b) ||
                                             (m->plane[1][1] && ix[1] >= m->axis[1].b + m->axis[1].n - 1) ||
                                             (m->plane[2][0] && ix[2] <= m->axis[2].b) ||
                                             (m->plane[2][1] && ix[2] >= m->axis[2].b + m->axis[2].n - 1));
        BCRClass class[3];
        int side[3];

        if (good && BCRPlanesOf(A, op, ix, side)) PetscCall(product_plane(m, op, ix, st, &good));
        else if (good) {
          for (int d = 0; d < 3; d++) class[d] = BCRProductClass(&m->axis[d], ix[d]);
          product_compare(m, ix, class, st, model[class[0] + 3 * class[1] + 9 * class[2]]);
          good = (PetscBool)(m->dev <= BCR_SAME_TOL);
          if (good && class[0] == BCR_INSIDE && !beside)
            ix[0] +=
              BCRProductRun(m, ix, m->axis[0].b + m->axis[0].n - 1, model[class[0] + 3 * class[1] + 9 * class[2]]);
        } else {
          m->dev = PETSC_INFINITY;
          m->devrow = m->devcol = BCRGridNatural(&A->grid, ix);
          m->have = m->want = st[BCR_MIDDLE];
        }
        if (!good) PetscFunctionReturn(PETSC_SUCCESS);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest deviation and row sum of all ranks. Collective */
static PetscErrorCode product_agree(BCRProduct *m)
{
  double mine[2] = {m->sum, m->sides ? 1 : 0}, all[2];
  struct {
    double dev, have, want;
    PetscInt row, col;
  } told = {m->dev, m->have, m->want, m->devrow, m->devcol};

  PetscFunctionBegin;
  if (m->A->grid.size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRTakeFrom(m->A->comm, PetscMin(m->dev, DBL_MAX), &told, sizeof(told), NULL));
  PetscCallMPI(MPI_Allreduce(mine, all, 2, MPI_DOUBLE, MPI_MAX, m->A->comm));
  m->sum = all[0];
  m->sides = all[1] > 0 ? PETSC_TRUE : PETSC_FALSE;
  m->dev = told.dev;
  m->have = told.have;
  m->want = told.want;
  m->devrow = told.row;
  m->devcol = told.col;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Units: the largest coefficient of a set with an axis, and the sign of the diagonal */
PetscErrorCode BCRProductWrite(const BCRProduct *m, BCROperator *op)
{
  double unit = 0;

  PetscFunctionBegin;
  for (int set = 1; set < BCR_SETS; set++) unit = PetscMax(unit, PetscAbs(m->mixed[set]));
  if (unit == 0) unit = PetscAbs(m->mixed[0]); /* one row is left */
  if (m->row[0][BCR_MIDDLE] < 0) unit = -unit;
  op->dim = m->A->dim;
  op->product = PETSC_TRUE;
  op->scale = (PetscReal)unit;
  op->shift =
    PetscAbs(m->mixed[0]) <= BCR_SUM_TOL * PetscAbs(m->row[0][BCR_MIDDLE]) ? 0 : (PetscReal)(m->mixed[0] / unit);
  op->mixed[0] = 0;
  for (int set = 1; set < BCR_SETS; set++) op->mixed[set] = (PetscReal)(m->mixed[set] / unit);
  for (int d = 0; d < 3; d++) {
    const BCRProductAxis *x = &m->axis[d];
    BCRAxis *ax = &op->axis[d];

    ax->n = x->n;
    ax->a = x->n > 1 ? 1 : 0;
    for (int s = 0; s < 2; s++) ax->end[s] = x->n > 1 ? x->end[s] : BCREndOfOne();
    if (x->weight[0] == 1 && x->weight[1] == 1) continue;
    PetscCall(PetscMalloc1(x->n, &ax->weight));
    for (PetscInt i = 0; i < x->n; i++) ax->weight[i] = 1;
    for (int s = 0; s < 2; s++) ax->weight[s ? x->n - 1 : 0] = (PetscReal)x->weight[s];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nothing of an attempt stays */
PetscErrorCode BCRProductClear(BCROperator *op)
{
  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    PetscCall(PetscFree(op->axis[d].weight));
    for (int s = 0; s < 2; s++) {
      PetscCall(PetscFree(op->axis[d].plane[s].inv));
      PetscCall(PetscMemzero(&op->axis[d].plane[s], sizeof(BCRPlane)));
    }
  }
  op->product = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRProductRead(BCRRows *A, PetscInt c, BCROperator *op, PetscBool *good)
{
  BCRProduct m;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  *good = PETSC_FALSE;
  if (A->dim < 2) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(product_wanted(A, c, good));
  A->box.wanted = *good;
  if (!*good) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRRowsFetch(A));
  PetscCall(PetscMemzero(&m, sizeof(m)));
  m.A = A;
  m.c = c;
  PetscCall(product_sample(&m, op, good));
  if (*good) {
    *good = BCRProductChoose(&m);
    if (*good) {
      ierr = BCRProductWrite(&m, op);
      if (!ierr) ierr = product_all(&m, op);
      PetscCall(BCRFaultShare(A->comm, ierr, BCR_NO_MEMORY));
      PetscCall(product_agree(&m));
      *good = (PetscBool)(m.dev <= BCR_SAME_TOL);
      /* what differs from a singular operator, though by less than a coefficient may, must not lift the singularity */
      if (*good && BCROperatorNeutral(op) && m.sum > BCR_NULL_TOL) *good = PETSC_FALSE;
    }
    if (!*good) {
      A->box.tried = PETSC_TRUE;
      A->box.row = c + A->dof * m.devrow;
      A->box.col = c + A->dof * m.devcol;
      A->box.have = m.have;
      A->box.want = m.want;
    }
  }
  if (!*good) {
    PetscCall(BCRProductClear(op));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscStrncpy(op->fit, "exact", sizeof(op->fit)));
  op->sides = m.sides;
  op->deviation = (PetscReal)m.dev;
  op->devrow = m.devrow;
  op->devcol = m.devcol;
  PetscFunctionReturn(PETSC_SUCCESS);
}
