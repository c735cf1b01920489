/*
  Complex matrices as real ones with a phase for each row and an imaginary shift: turn.h.
*/
#include "turn.h"
#include "compare.h"
#include "differ.h"
#include "order.h"
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

/* -1 times the phase of the largest coupling, so that couplings become negative; 1 where it is real. Collective */
static PetscErrorCode find_phase(MPI_Comm comm, const Blocks *b, PetscScalar *phase)
{
  PetscScalar v = -1;
  double most = 0;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < b->blocks; k++) {
    for (PetscInt r = 0; r < b->rows; r++) {
      for (PetscInt p = b->i[k][r]; p < b->i[k][r + 1]; p++) {
        const double size = (double)PetscAbsScalar(b->a[k][p]);

        if ((k == 0 && b->j[k][p] == r) || !(size > most) || !(size <= DBL_MAX)) continue;
        most = size;
        v = b->a[k][p];
      }
    }
  }
  PetscCall(BCRTakeFrom(comm, most, &v, sizeof(v), NULL));
  *phase = PetscAbsReal(PetscImaginaryPart(v)) <= BCR_EPS * PetscAbsScalar(v) ? 1 : -v / PetscAbsScalar(v);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Row r becomes real, but for couplings of another phase */
static void turn_row(const Blocks *b, PetscInt r, PetscScalar phase, PetscReal *imag, PetscScalar *turn)
{
  PetscReal most = 0;
  PetscScalar diagonal = 0;
  PetscBool coupled = PETSC_FALSE;

  for (PetscInt k = 0; k < b->blocks; k++) {
    for (PetscInt p = b->i[k][r]; p < b->i[k][r + 1]; p++) {
      most = PetscMax(most, PetscAbsScalar(b->a[k][p]));
      if (k == 0 && b->j[k][p] == r) diagonal = b->a[k][p];
      else if (b->a[k][p] != 0) coupled = PETSC_TRUE;
    }
  }
  if (!coupled) phase = PetscImaginaryPart(diagonal) == 0 ? 1 : diagonal / PetscAbsScalar(diagonal);
  *turn = phase;
  *imag = 0;
  for (PetscInt k = 0; k < b->blocks; k++) {
    for (PetscInt p = b->i[k][r]; p < b->i[k][r + 1]; p++) {
      const PetscScalar v = PetscConj(phase) * b->a[k][p];
      const PetscBool own = (PetscBool)(k == 0 && b->j[k][p] == r);

      if (own) *imag = coupled ? PetscImaginaryPart(v) : 0;
      if (own || PetscAbsReal(PetscImaginaryPart(v)) <= BCR_SAME_TOL * most) b->a[k][p] = PetscRealPart(v);
    }
  }
}

/* Collective */
static PetscErrorCode turn_rows(MPI_Comm comm, BCRTurn *t)
{
  PetscScalar phase = 1;
  int turned = 0;
  Blocks b;

  PetscFunctionBegin;
  PetscCall(BCRFaultShare(comm, blocks_open(t->real, &b), BCR_NO_MEMORY));
  BCRCallElse(BCRFaultShare(comm, PetscMalloc2(b.rows, &t->imag, b.rows, &t->turn), BCR_NO_MEMORY),
              (void)blocks_close(&b));
  BCRCallElse(find_phase(comm, &b, &phase), (void)blocks_close(&b));
  for (PetscInt r = 0; r < b.rows; r++) {
    turn_row(&b, r, phase, &t->imag[r], &t->turn[r]);
    if (t->turn[r] != (PetscScalar)1) turned = 1;
  }
  PetscCall(blocks_close(&b));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &turned, 1, MPI_INT, MPI_MAX, comm));
  t->turned = (PetscBool)turned;
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

/* What the model has in the diagonal of a row, and its factor before the shift; 0: the row is a plane's */
static double row_weight(const BCRRows *A, const BCROperator *op, const BCRModelAxis m[3], const PetscInt ix[3],
                         double *diagonal)
{
  double in[7], w = (double)op->scale;

  for (int d = 0; d < 3; d++) {
    if (ix[d] < m[d].b || ix[d] >= m[d].b + m[d].n) return 0;
    w *= m[d].w[ix[d]];
  }
  BCRModelRow(op, m, ix, in);
  *diagonal = in[BCR_CENTRE];
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
    "shift. Give a preconditioning matrix (second matrix of KSPSetOperators()) that is so, for example its mean",
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

/* Loops over this rank's nodes. first: only the first row of the box that is the operator's, whose tau is taken; else all but those
   of a mask, which are compared. note: of the nodes, or NULL */
static PetscErrorCode compare_shift(const BCRTurn *t, const BCRRows *A, PetscInt c, const BCROperator *op,
                                    const BCRModelAxis m[3], const unsigned char *note, PetscBool first, double *tau,
                                    double *size, BCRFault *fault)
{
  PetscInt ix[3];

  PetscFunctionBegin;
  for (ix[2] = A->lo[2]; ix[2] < A->lo[2] + A->n[2]; ix[2]++) {
    for (ix[1] = A->lo[1]; ix[1] < A->lo[1] + A->n[1]; ix[1]++) {
      for (ix[0] = A->lo[0]; ix[0] < A->lo[0] + A->n[0]; ix[0]++) {
        const double imag = (double)t->imag[c + A->dof * BCRNode(A, ix)];
        const int what = note ? note[BCRNode(A, ix)] : 0;
        double diagonal = 0;
        const double w = row_weight(A, op, m, ix, &diagonal);

        if (what == NODE_MASK || (first && what)) continue;
        if (first && w != 0) {
          *tau = imag / w;
          *size = fabs(diagonal / w);
          PetscFunctionReturn(PETSC_SUCCESS);
        }
        if (first || fabs(imag - *tau * w) <= BCR_SAME_TOL * (fabs(diagonal) + fabs(*tau * w))) continue;
        PetscCall(shift_fault(ix, imag, *tau * w, fault));
        PetscFunctionReturn(PETSC_SUCCESS);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode take_turn(const BCRTurn *t, const BCRRows *A, PetscInt c, BCROperator *op)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc1(PetscMax(A->nodes, 1), &op->turn));
  for (PetscInt i = 0; i < A->nodes; i++) op->turn[i] = t->turn[c + A->dof * i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTurnShift(const BCRTurn *t, const BCRRows *A, PetscInt c, BCROperator *op)
{
  BCRFault fault = {PETSC_SUCCESS, ""};
  double told[2] = {0, 0};
  unsigned char *note = NULL;
  BCRModelAxis m[3];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (!t->real) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(
    op->differ || !strcmp(op->fit, "exact"), A->comm, PETSC_ERR_SUP,
    "The preconditioning matrix is complex and not separable, and fits are made of real ones only: give a real "
    "preconditioning matrix (second matrix of KSPSetOperators()), or a separable one");
  PetscCall(BCRFaultShare(A->comm, BCRModelCreate(op, m), BCR_NO_MEMORY));
  ierr = BCRFaultShare(A->comm, op->differ ? note_differ(A, op->differ, &note) : PETSC_SUCCESS, BCR_NO_MEMORY);
  if (!ierr) ierr = compare_shift(t, A, c, op, m, note, PETSC_TRUE, &told[0], &told[1], &fault);
  if (!ierr) ierr = BCRTakeFrom(A->comm, told[1], told, sizeof(told), NULL);
  if (!ierr) ierr = compare_shift(t, A, c, op, m, note, PETSC_FALSE, &told[0], &told[1], &fault);
  PetscCall(PetscFree(note));
  PetscCall(BCRModelDestroy(m));
  PetscCall(ierr);
  PetscCall(BCRFaultAgree(A->comm, &fault));
  op->tau = fabs(told[0]) <= BCR_SUM_TOL * told[1] ? 0 : (PetscReal)told[0];
  /* rows of the mask have sums that are complex, and lists have real ones: its solution is zero */
  if (op->differ && op->tau != 0) op->differ->shores = op->differ->lifts = 0;
  if (t->turned) PetscCall(BCRFaultShare(A->comm, take_turn(t, A, c, op), BCR_NO_MEMORY));
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
