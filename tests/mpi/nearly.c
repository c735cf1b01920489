/*
  Rows that differ in a box that is nearly singular, where they make the matrix A regular: closed boxes with shifts down to 1e-12 of a
  coupling, and rows held, pinned by a well or with a link of one way. Fields of the box are larger than the solution by up to the
  inverse of the shift. KSPPREONLY, solves and transposed ones, in double and mixed precision: the residual of A is rounding's, and
  the solution that of LU.
  ranks: 1 2 3
  turns: 2
*/
#include "../petsc/testing.h"
#include "../rows.h"
#include <petscksp.h>

typedef enum {
  HELD,   /* a row and a column: 1 on the diagonal, no couplings */
  KEPT,   /* a row, whose column stays */
  WELL,   /* more on the diagonal */
  ONE_WAY /* no coupling to the node above, which has one to this node */
} Kind;

typedef struct {
  PetscInt dim, N[3];
  double shift;
  Kind kind;
} Box;

/* Node (4, 5, 2), and three others for those that are held */
static PetscBool Differs(const Box *x, const PetscInt ix[3])
{
  const PetscInt z = x->dim > 2 ? 2 : 0;

  if (ix[2] != z || ix[1] != 5) return PETSC_FALSE;
  return (PetscBool)(ix[0] == 4 || (x->kind != ONE_WAY && x->kind != WELL && ix[0] >= 6 && ix[0] < 9));
}

static void Row(const void *ctx, const PetscInt N[3], const PetscInt ix[3], MatStencil cols[7], PetscScalar v[7],
                PetscInt *m)
{
  const Box *x = (const Box *)ctx;
  const PetscReal a[3] = {1, 0.7, 1.3};
  const PetscBool differs = Differs(x, ix);

  cols[0] = (MatStencil){.i = ix[0], .j = ix[1], .k = ix[2]};
  v[0] = x->shift;
  *m = 1;
  for (PetscInt d = 0; d < x->dim; d++) {
    for (int s = -1; s <= 1; s += 2) {
      PetscInt at[3] = {ix[0], ix[1], ix[2]};
      PetscScalar link = -a[d];

      at[d] += s;
      if (at[d] < 0 || at[d] >= N[d]) continue;
      v[0] += a[d];
      if (differs && (x->kind == HELD || x->kind == KEPT)) link = 0;
      if (Differs(x, at) && x->kind == HELD) link = 0;
      if (differs && x->kind == ONE_WAY && d == 1 && s == 1) link = 0;
      cols[*m] = (MatStencil){.i = at[0], .j = at[1], .k = at[2]};
      v[(*m)++] = link;
    }
  }
  if (differs && x->kind == WELL) v[0] += 3;
  if (differs && (x->kind == HELD || x->kind == KEPT)) v[0] = 1;
}

static PetscErrorCode Run(const Box *x, PCBCRPoissonPrecision precision)
{
  const char *const names[] = {"held", "kept", "well", "one way"};
  const PetscBool single = (PetscBool)(sizeof(PetscReal) < sizeof(double));
  DM da;
  Mat A;
  Vec b, u;
  KSP ksp;
  PC pc;

  PetscFunctionBegin;
  PetscCall(TestRowsCreate(x->dim, x->N, PETSC_DECIDE, PETSC_FALSE, Row, x, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &u));
  PetscCall(TestKSPCreate(A, KSPPREONLY, &ksp, &pc));
  PetscCall(PCBCRPoissonSetPrecision(pc, precision));
  for (int solve = 0; solve < 4; solve++) {
    const PetscBool transpose = (PetscBool)(solve % 2);
    KSPConvergedReason reason;
    PetscReal error = 0, difference = 0;

    PetscCall(TestRandom(b));
    PetscCall(transpose ? KSPSolveTranspose(ksp, b, u) : KSPSolve(ksp, b, u));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(TestBackwardError(A, transpose, b, u, &error));
    PetscCall(TestAgainstReference(A, transpose, b, u, &difference));
    Check(reason > 0 &&
            error <= (single                                      ? 1e-5
                      : precision == PCBCRPOISSON_PRECISION_MIXED ? 1e-12
                                                                  : 1e-13) &&
            difference <= (single ? 1e-2 : 1e-11),
          "%d-D, shift %g, %s, %s, solve %d%s: reason %d, backward error %g, off LU's solution by %g", (int)x->dim,
          x->shift, names[x->kind], PCBCRPoissonPrecisions[precision], solve, transpose ? " (transposed)" : "",
          (int)reason, (double)error, (double)difference);
  }
  PetscCall(TestDestroy(&ksp, &b, &u, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const double shifts[] = {1e-3, 1e-6, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12};
  PetscMPIInt rank;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscBCRInitializePackage());
  for (PetscInt dim = 2; dim <= 3; dim++) {
    for (int s = 0; s < (int)PETSC_STATIC_ARRAY_LENGTH(shifts); s++) {
      for (int kind = HELD; kind <= ONE_WAY; kind++) {
        const Box x = {
          dim, {17, 11, dim > 2 ? 9 : 1},
           shifts[s], (Kind)kind
        };

        if (TestTurn()) PetscCall(Run(&x, PCBCRPOISSON_PRECISION_DOUBLE));
        if (TestTurn()) PetscCall(Run(&x, PCBCRPOISSON_PRECISION_MIXED));
      }
    }
  }
  PetscCall(PetscFinalize());
  return TestStatus(rank == 0, TestPassed, TestFailed);
}
