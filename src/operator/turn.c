/*
  Complex matrices as real ones with a phase for each row and an imaginary shift: turn.h.
*/
#include "turn.h"
#include "compare.h"
#include "differ.h"
#include "order.h"
#include "product.h"
#include <string.h>

#if defined(PETSC_USE_COMPLEX)

/* The blocks of a matrix of type AIJ with values that may be written */
typedef struct {
  Mat mat[2];
  const PetscInt *i[2], *j[2];
  PetscScalar *a[2];
  PetscInt rows, blocks;
} Blocks;

static PetscErrorCode blocks_open(Mat aij, Blocks *b)
{
  const PetscInt *columns;
  PetscBool done;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(b, sizeof(*b)));
  PetscCall(BCRMatGetBlocks(aij, &b->mat[0], &b->mat[1], &columns));
  b->blocks = b->mat[1] ? 2 : 1;
  for (PetscInt k = 0; k < b->blocks; k++) {
    PetscCall(MatGetRowIJ(b->mat[k], 0, PETSC_FALSE, PETSC_FALSE, &b->rows, &b->i[k], &b->j[k], &done));
    PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "A matrix that gives no access to its rows");
    PetscCall(MatSeqAIJGetArray(b->mat[k], &b->a[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode blocks_close(Blocks *b)
{
  PetscInt n;
  PetscBool done;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < b->blocks; k++) {
    PetscCall(MatSeqAIJRestoreArray(b->mat[k], &b->a[k]));
    PetscCall(MatRestoreRowIJ(b->mat[k], 0, PETSC_FALSE, PETSC_FALSE, &n, &b->i[k], &b->j[k], &done));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The larger part, which is the absolute value to a factor of 1.5: no square root, and no square that is no number */
static inline PetscReal size_of(PetscScalar v)
{
  return PetscMax(PetscAbsReal(PetscRealPart(v)), PetscAbsReal(PetscImaginaryPart(v)));
}

/* Has this rank an entry that is not real? */
static PetscErrorCode any_imaginary(Mat aij, int *any)
{
  const PetscInt *columns;
  Mat mat[2];

  PetscFunctionBegin;
  *any = 0;
  PetscCall(BCRMatGetBlocks(aij, &mat[0], &mat[1], &columns));
  for (int k = 0; k < 2 && mat[k]; k++) {
    BCRBlock block;

    PetscCall(BCRBlockOpen(mat[k], &block));
    PetscCall(BCRBlockFetch(&block));
    for (PetscInt p = 0; p < block.i[block.rows] && !*any; p++) *any = PetscImaginaryPart(block.a[p]) != 0;
    PetscCall(BCRBlockClose(&block));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -1 times the phase of a coupling as large as any, so that couplings become negative; 1 where it is real. Collective */
static PetscErrorCode find_phase(MPI_Comm comm, const Blocks *b, PetscScalar *phase)
{
  PetscScalar v = -1;
  double most = 0;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < b->blocks; k++) {
    const PetscInt *i = b->i[k], *j = b->j[k];
    const PetscScalar *a = b->a[k];

    for (PetscInt r = 0; r < b->rows; r++) {
      for (PetscInt p = i[r]; p < i[r + 1]; p++) {
        const double size = (double)size_of(a[p]);

        if ((k == 0 && j[p] == r) || !(size > most) || !(size <= DBL_MAX)) continue;
        most = size;
        v = a[p];
      }
    }
  }
  PetscCall(BCRTakeFrom(comm, most, &v, sizeof(v), NULL));
  *phase = PetscAbsReal(PetscImaginaryPart(v)) <= BCR_EPS * PetscAbsScalar(v) ? 1 : -v / PetscAbsScalar(v);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Row r becomes real, but for couplings of another phase */
static void turn_row(const Blocks *b, PetscInt r, PetscScalar phase, PetscReal *imag, PetscScalar *turn, int *shifted)
{
  PetscReal most = 0, most_coupling = 0, c, s;
  PetscScalar diagonal = 0;

  for (PetscInt k = 0; k < b->blocks; k++) {
    const PetscInt *j = b->j[k], end = b->i[k][r + 1];
    const PetscScalar *a = b->a[k];

    for (PetscInt p = b->i[k][r]; p < end; p++) {
      const PetscReal size = size_of(a[p]);

      most = PetscMax(most, size);
      if (k == 0 && j[p] == r) diagonal = a[p];
      else if (!(size <= most_coupling)) most_coupling = size; /* what is no number couples, too */
    }
  }
  if (most_coupling == 0) phase = PetscImaginaryPart(diagonal) == 0 ? 1 : diagonal / PetscAbsScalar(diagonal);
  *turn = phase;
  *imag = 0;
  c = PetscRealPart(phase);
  s = PetscImaginaryPart(phase);
  for (PetscInt k = 0; k < b->blocks; k++) {
    const PetscInt *j = b->j[k], end = b->i[k][r + 1];
    PetscScalar *a = b->a[k];

    for (PetscInt p = b->i[k][r]; p < end; p++) {
      const PetscReal re = PetscRealPart(a[p]), im = PetscImaginaryPart(a[p]), turned = c * im - s * re;
      const PetscBool own = (PetscBool)(k == 0 && j[p] == r);

      if (own) *imag = most_coupling == 0 ? 0 : turned;
      if (own || PetscAbsReal(turned) <= BCR_SAME_TOL * most) a[p] = c * re + s * im;
    }
  }
  if (PetscAbsReal(*imag) > BCR_SAME_TOL * most) *shifted = 1;
}

/* Collective */
static PetscErrorCode turn_rows(MPI_Comm comm, BCRTurn *t)
{
  PetscScalar phase = 1;
  int any[2] = {0, 0}; /* rows with a phase, with a shift */
  Blocks b;

  PetscFunctionBegin;
  PetscCall(BCRFaultShare(comm, blocks_open(t->real, &b), BCR_NO_MEMORY));
  BCRCallElse(BCRFaultShare(comm, PetscMalloc2(b.rows, &t->imag, b.rows, &t->turn), BCR_NO_MEMORY),
              (void)blocks_close(&b));
  BCRCallElse(find_phase(comm, &b, &phase), (void)blocks_close(&b));
  for (PetscInt r = 0; r < b.rows; r++) {
    turn_row(&b, r, phase, &t->imag[r], &t->turn[r], &any[1]);
    if (t->turn[r] != (PetscScalar)1) any[0] = 1;
  }
  PetscCall(blocks_close(&b));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, any, 2, MPI_INT, MPI_MAX, comm));
  t->turned = (PetscBool)any[0];
  t->shifted = (PetscBool)any[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTurnCreate(Mat P, BCRTurn *t)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)P);
  PetscObject numbers;
  int any;
  Mat aij;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(t, sizeof(*t)));
  PetscCall(BCRMatGetAIJ(P,
                         "the operator from: describe it with PCBCRPoissonSetOperator() or -pc_bcrpoisson_operator "
                         "user, or give an assembled preconditioning matrix",
                         &aij));
  BCRCallElse(BCRFaultShare(comm, any_imaginary(aij, &any), BCR_NO_MEMORY), (void)MatDestroy(&aij));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, comm));
  if (any) BCRCallElse(MatDuplicate(aij, MAT_COPY_VALUES, &t->real), (void)MatDestroy(&aij));
  PetscCall(MatDestroy(&aij));
  if (!any) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectQuery((PetscObject)P, BCR_ROW_NUMBERS, &numbers));
  if (numbers) PetscCall(PetscObjectCompose((PetscObject)t->real, BCR_ROW_NUMBERS, numbers));
  PetscCall(turn_rows(comm, t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the model has in the diagonal of a row, and its factor before the shift; 0: the row is a plane's.
   symbol: of products of axes, Shifts */
static double row_weight(const BCRRows *A, const BCROperator *op, const BCRModelAxis m[3], const PetscInt ix[3],
                         double symbol, double *diagonal)
{
  double in[7], w = (double)op->scale;

  for (int d = 0; d < 3; d++) {
    if (ix[d] < m[d].b || ix[d] >= m[d].b + m[d].n) return 0;
    w *= m[d].w[ix[d]];
  }
  if (op->product) *diagonal = w * symbol;
  else {
    BCRModelRow(op, m, ix, in);
    *diagonal = in[BCR_CENTRE];
  }
  if (op->left && op->rowscale) {
    const double s = (double)op->rowscale[BCRBoxNode(A, m, ix)];

    w *= s;
    *diagonal *= s;
  }
  return w;
}

static PetscErrorCode shift_fault(const PetscInt ix[3], double imag, double want, BCRFault *fault)
{
  PetscFunctionBegin;
  PetscCall(BCRFaultSet(
    fault, PETSC_ERR_SUP,
    "The preconditioning matrix is complex, and its diagonal at grid point %" PetscInt_FMT ",%" PetscInt_FMT
    ",%" PetscInt_FMT
    " has an imaginary part of %g where that of the other rows would be %g (all with the phase of the "
    "couplings taken out): complex operators are solved where couplings have one phase and the rest is a constant "
    "shift, or one for each plane that the matrix does not couple to others. Give a preconditioning matrix (second "
    "matrix of KSPSetOperators()) that is so, for example its mean",
    ix[0], ix[1], ix[2], imag, want));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is known of the nodes of this rank where rows differ (differ.h) */
enum {
  NODE_MASK = 1, /* its row is not the operator's, whatever the shift is */
  NODE_DIFFERS   /* its row is, but for real entries */
};

static PetscErrorCode note_differ(const BCRRows *A, const BCRDiffer differ, unsigned char **note)
{
  PetscInt ix[3];

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(PetscMax(A->nodes, 1), note));
  for (PetscInt i = 0; i < differ->m; i++) {
    BCRGridNaturalNode(&A->grid, differ->row[i], ix);
    (*note)[BCRNode(A, ix)] = NODE_DIFFERS;
  }
  for (PetscInt i = 0; i < differ->runs; i++) {
    BCRGridNaturalNode(&A->grid, differ->run[i], ix);
    (void)memset(*note + BCRNode(A, ix), NODE_MASK, (size_t)differ->length[i]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Shifts of the planes across an axis, or of the box (along < 0) */
typedef struct {
  PetscInt along, n;
  double *tau, *size; /* [n] and what they are measured by, the diagonal before them */
  double symbol; /* of products of axes, whose diagonals are not known here: a bound for them, over the rows' weights */
  PetscBool *known;    /* a row of this rank has told them */
  unsigned char *note; /* of this rank's nodes; NULL: no row differs */
} Shifts;

/* Loops over this rank's nodes. first: the first row of each plane that is the operator's tells its shift; else all but those of a
   mask are compared */
static PetscErrorCode compare_shift(const BCRTurn *t, const BCRRows *A, PetscInt c, const BCROperator *op,
                                    const BCRModelAxis m[3], PetscBool first, Shifts *shifts, BCRFault *fault)
{
  PetscInt ix[3], known = 0;

  PetscFunctionBegin;
  for (ix[2] = A->lo[2]; ix[2] < A->lo[2] + A->n[2]; ix[2]++) {
    for (ix[1] = A->lo[1]; ix[1] < A->lo[1] + A->n[1]; ix[1]++) {
      for (ix[0] = A->lo[0]; ix[0] < A->lo[0] + A->n[0] && !(first && known == shifts->n); ix[0]++) {
        const double imag = (double)t->imag[c + A->dof * BCRNode(A, ix)];
        const int what = shifts->note ? shifts->note[BCRNode(A, ix)] : 0;
        double diagonal = 0, want;
        const double w = row_weight(A, op, m, ix, shifts->symbol, &diagonal);
        const PetscInt k = shifts->along < 0 || w == 0 ? 0 : ix[shifts->along] - m[shifts->along].b;

        if (what == NODE_MASK || (first && what)) continue;
        if (first && w != 0 && !shifts->known[k]) {
          shifts->tau[k] = imag / w;
          shifts->size[k] = fabs(diagonal / w);
          shifts->known[k] = PETSC_TRUE;
          known++;
        }
        want = shifts->tau[k] * w;
        if (first || fabs(imag - want) <= BCR_SAME_TOL * (fabs(diagonal) + fabs(want))) continue;
        PetscCall(shift_fault(ix, imag, want, fault));
        PetscFunctionReturn(PETSC_SUCCESS);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What one rank has told of a plane all take. Collective */
static PetscErrorCode share_shifts(MPI_Comm comm, Shifts *s)
{
  PetscMPIInt rank, size, *owner;
  PetscErrorCode ierr = PetscMalloc1(s->n, &owner);

  PetscFunctionBegin;
  PetscCall(BCRFaultShare(comm, ierr, BCR_NO_MEMORY));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  for (PetscInt k = 0; k < s->n; k++) owner[k] = s->known[k] ? rank : size;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, owner, (PetscMPIInt)s->n, MPI_INT, MPI_MIN, comm));
  for (PetscInt k = 0; k < s->n; k++)
    if (owner[k] != rank) s->tau[k] = s->size[k] = 0;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, s->tau, (PetscMPIInt)s->n, MPI_DOUBLE, MPI_SUM, comm));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, s->size, (PetscMPIInt)s->n, MPI_DOUBLE, MPI_SUM, comm));
  PetscCall(PetscFree(owner));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of planes that are not coupled only where they have different ones */
static PetscErrorCode keep_shifts(const Shifts *s, BCROperator *op)
{
  PetscBool same = PETSC_TRUE;
  PetscInt most = 0;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < s->n; k++) {
    if (fabs(s->tau[k]) <= BCR_SUM_TOL * s->size[k]) s->tau[k] = 0;
    if (fabs(s->tau[k]) > fabs(s->tau[most])) most = k;
    if (fabs(s->tau[k] - s->tau[0]) > BCR_SAME_TOL * (s->size[k] + fabs(s->tau[0]))) same = PETSC_FALSE;
  }
  op->tau = (PetscReal)s->tau[same ? 0 : most];
  if (same) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(s->n, &op->axis[s->along].imag));
  for (PetscInt k = 0; k < s->n; k++) op->axis[s->along].imag[k] = (PetscReal)s->tau[k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode take_turn(const BCRTurn *t, const BCRRows *A, PetscInt c, BCROperator *op)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc1(PetscMax(A->nodes, 1), &op->turn));
  for (PetscInt i = 0; i < A->nodes; i++) op->turn[i] = t->turn[c + A->dof * i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective */
static PetscErrorCode find_shifts(const BCRTurn *t, const BCRRows *A, PetscInt c, const BCRModelAxis m[3], Shifts *s,
                                  BCROperator *op)
{
  BCRFault fault = {PETSC_SUCCESS, ""};

  PetscFunctionBegin;
  PetscCall(compare_shift(t, A, c, op, m, PETSC_TRUE, s, &fault));
  PetscCall(share_shifts(A->comm, s));
  PetscCall(compare_shift(t, A, c, op, m, PETSC_FALSE, s, &fault));
  PetscCall(BCRFaultAgree(A->comm, &fault));
  PetscCall(BCRFaultShare(A->comm, keep_shifts(s, op), BCR_NO_MEMORY));
  if (t->turned) PetscCall(BCRFaultShare(A->comm, take_turn(t, A, c, op), BCR_NO_MEMORY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTurnShift(const BCRTurn *t, const BCRRows *A, PetscInt c, BCROperator *op)
{
  Shifts s = {.along = BCRAxesApart(op->dim, op->axis),
              .symbol = PetscMax(fabs((double)op->shift), BCRProductBound(op->mixed))};
  BCRModelAxis m[3];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (!t->real) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(
    op->differ || !strcmp(op->fit, "exact"), A->comm, PETSC_ERR_SUP,
    "The preconditioning matrix is complex and not separable, and fits are made of real ones only: give a real "
    "preconditioning matrix (second matrix of KSPSetOperators()), or a separable one");
  PetscCall(BCRFaultShare(A->comm, BCRModelCreate(op, m), BCR_NO_MEMORY));
  s.n = s.along < 0 ? 1 : op->axis[s.along].n;
  ierr = BCRFaultShare(A->comm, PetscCalloc3(s.n, &s.tau, s.n, &s.size, s.n, &s.known), BCR_NO_MEMORY);
  if (!ierr)
    ierr = BCRFaultShare(A->comm, op->differ ? note_differ(A, op->differ, &s.note) : PETSC_SUCCESS, BCR_NO_MEMORY);
  if (!ierr) ierr = find_shifts(t, A, c, m, &s, op);
  PetscCall(PetscFree(s.note));
  PetscCall(PetscFree3(s.tau, s.size, s.known));
  PetscCall(BCRModelDestroy(m));
  PetscCall(ierr);
  /* rows of the mask have sums that are complex, and lists have real ones: its solution is zero */
  if (op->differ && op->tau != 0) op->differ->shores = op->differ->lifts = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTurnDestroy(BCRTurn *t)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&t->real));
  PetscCall(PetscFree2(t->imag, t->turn));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#else

PetscErrorCode BCRTurnCreate(Mat P, BCRTurn *t)
{
  PetscFunctionBegin;
  (void)P;
  PetscCall(PetscMemzero(t, sizeof(*t)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTurnShift(const BCRTurn *t, const BCRRows *A, PetscInt c, BCROperator *op)
{
  (void)t, (void)A, (void)c, (void)op;
  return PETSC_SUCCESS;
}

PetscErrorCode BCRTurnDestroy(BCRTurn *t)
{
  (void)t;
  return PETSC_SUCCESS;
}

#endif
