/*
  KSPBCRPOISSON that does not converge says why: in KSPView(), and in the error of KSPSetErrorIfNotConverged().

  quick: 1
*/
#include "testing.h"

static PetscReal Jump(PetscReal x, PetscReal y, PetscReal z, void *ctx)
{
  (void)z;
  (void)ctx;
  return x > (PetscReal)0.4 && y < (PetscReal)0.7 ? 50 : 1;
}

int main(int argc, char **argv)
{
  enum {
    INCONSISTENT,
    CONSISTENT,
    JUMP,
    ROUNDING,
    OTHER,
    USER,
    CASES
  };
  static const char *const words[] = {"the right-hand side is not in its range, a constant of size 3.",
                                      NULL,
                                      "the matrix is not separable",
                                      "the tolerance is below rounding",
                                      "the preconditioning matrix, which is not the operator",
                                      "not the operator that was described"};
  int bad;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  for (int i = 0; i < CASES; ++i) {
    TestProblem p =
                  {
                    .dim = 2,
                    .n = {12, 9},
                    .dof = 1,
                    .ends = i <= CONSISTENT ? "cccc" : "ddnc",
                    .a = {1,  3},
                    .shift = i <= CONSISTENT ? 0 : 0.5,
                    .scale = 1,
                    .k = i == JUMP ? Jump : NULL
    },
                q = p;
    const PetscReal spacing[] = {1, 1};
    const PCBCRPoissonEnd ends[] = {PCBCRPOISSON_DIRICHLET, PCBCRPOISSON_DIRICHLET, PCBCRPOISSON_NEUMANN,
                                    PCBCRPOISSON_CELL_NEUMANN};
    const PetscReal rtol =
      i == ROUNDING ? (PetscReal)1e-30 : (sizeof(PetscReal) < sizeof(double) ? (PetscReal)1e-4 : (PetscReal)1e-9);
    KSPConvergedReason reason;
    char *text;
    DM da, other;
    Mat A, P, B, X;
    KSP ksp;
    PC pc;
    Vec b, x, column;
    PetscScalar sum;
    PetscInt n;

    PetscCall(TestMatrix(&p, &da, &A));
    q.a[0] = (PetscReal)0.1; /* less than half of the operator: refinement diverges */
    PetscCall(TestMatrix(&q, &other, &P));
    PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
    PetscCall(KSPSetType(ksp, KSPBCRPOISSON));
    PetscCall(KSPSetOperators(ksp, A, i == OTHER ? P : A));
    PetscCall(KSPSetTolerances(ksp, rtol, 0, 1e4, 1000));
    PetscCall(KSPGetPC(ksp, &pc));
    if (i == USER) {
      PetscCall(PCBCRPoissonSetOperatorSource(pc, PCBCRPOISSON_OPERATOR_USER));
      PetscCall(PCBCRPoissonSetOperator(pc, 2, spacing, ends, 0.5, 1)); /* the matrix has 3 along y */
    }
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(TestRandom(b));
    PetscCall(VecGetSize(b, &n));
    PetscCall(VecSum(b, &sum));
    PetscCall(VecShift(b, -sum / (PetscReal)n));
    if (i == INCONSISTENT) PetscCall(VecShift(b, 3));
    PetscCall(MatCreateDense(PETSC_COMM_SELF, n, 2, n, 2, NULL, &B));
    PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
    for (PetscInt k = 0; k < 2; ++k) {
      PetscCall(MatDenseGetColumnVecWrite(B, k, &column));
      PetscCall(VecCopy(b, column));
      PetscCall(MatDenseRestoreColumnVecWrite(B, k, &column));
    }
    for (int block = 0; block < 2; ++block) {
      PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_FALSE));
      if (block) PetscCall(KSPMatSolve(ksp, B, X));
      else PetscCall(KSPSolve(ksp, b, x));
      PetscCall(KSPGetConvergedReason(ksp, &reason));
      PetscCall(TestViewText((PetscObject)ksp, &text));
      if (words[i]) {
        Check(reason == KSP_DIVERGED_BREAKDOWN || reason == KSP_DIVERGED_DTOL, "case %d, block %d: %s", i, block,
              KSPConvergedReasons[reason]);
        Check(strstr(text, "not converged: ") && strstr(text, words[i]), "case %d, block %d: the view lacks '%s':\n%s",
              i, block, words[i], text);
        PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
        if (block) CheckError(KSPMatSolve(ksp, B, X), PETSC_ERR_NOT_CONVERGED, words[i]);
        else CheckError(KSPSolve(ksp, b, x), PETSC_ERR_NOT_CONVERGED, words[i]);
      } else
        Check(reason > 0 && !strstr(text, "not converged"), "case %d, block %d: %s, view\n%s", i, block,
              KSPConvergedReasons[reason], text);
      free(text);
    }
    PetscCall(TestDestroy(&B, &X, &b, &x, &ksp, &A, &P, &da, &other));
  }
  bad = TestEnd();
  PetscCall(PetscFinalize());
  return bad;
}
