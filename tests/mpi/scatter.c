/*
  Rows that differ where the operator is not definite (Helmholtz): obstacles, wells and a pinned row among waves of six points and
  more. KSPPREONLY solves the matrix directly, twice, transposed and with other values, with a residual of rounding and the
  solution of PETSc's LU. Where the box without these rows is singular, and the matrix is not, a Krylov method that says that it has
  converged is right.
  -backend cuda: vectors and matrices on the CUDA devices that the ranks have, or share
  -print: the numbers
  ranks: 1 2 3
*/
#include "../petsc/testing.h"
#include "../obstacles.h"
#include "../../src/poisson/solver.h"
#include <petscksp.h>

typedef struct {
  Case c;
  PetscReal k2; /* less on the diagonal, where couplings are 1 */
} Wave;

static PetscBool device, print = PETSC_FALSE;

/* The backward error, and how far LU's solution is, on the host */
static PetscErrorCode Compare(Mat A, PetscBool transpose, Vec b, Vec x, PetscReal *error, PetscReal *difference)
{
  Vec f, u;
  Mat S;

  PetscFunctionBegin;
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &S));
  PetscCall(MatCreateVecs(S, &u, &f));
  PetscCall(VecCopy(b, f));
  PetscCall(VecCopy(x, u));
  PetscCall(TestBackwardError(S, transpose, f, u, error));
  PetscCall(TestAgainstReference(S, transpose, f, u, difference));
  PetscCall(VecDestroy(&f));
  PetscCall(VecDestroy(&u));
  PetscCall(MatDestroy(&S));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(const Wave *w)
{
  const PetscReal bound = sizeof(PetscReal) == 4 ? (PetscReal)1e-5 : (PetscReal)1e-12;
  PetscReal error, difference;
  KSPConvergedReason reason;
  PetscInt rows, solves;
  Vec x, b;
  KSP ksp;
  PC pc;
  DM da;
  Mat A;

  PetscFunctionBegin;
  PetscCall(Grid(&w->c, device, &da, &A, &x, &b));
  PetscCall(MatShift(A, -w->k2));
  PetscCall(TestKSPCreate(A, KSPPREONLY, &ksp, &pc));
  for (int k = 0; k < 4; k++) {
    const PetscBool transpose = (PetscBool)(k == 2);

    if (k == 3) PetscCall(MatScale(A, -2));
    PetscCall(TestUniformVec(b));
    PetscCall(transpose ? KSPSolveTranspose(ksp, b, x) : KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(PCBCRPoissonGetCapacitanceSolves(pc, &rows, &solves));
    PetscCall(Compare(A, transpose, b, x, &error, &difference));
    if (print)
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d-D %d, what %d, k2 %g, solve %d: %d rows, %d solves, %g, %g\n",
                            (int)w->c.dim, (int)w->c.n, (int)w->c.what, (double)w->k2, k, (int)rows, (int)solves,
                            (double)error, (double)difference));
    Check(reason > 0 && rows > 0 && error <= bound && difference <= 1e3 * bound && (transpose || solves <= w->c.most),
          "%d-D %d, what %d, k2 %g, solve %d: reason %d, %d rows, %d solves, backward error %g, difference %g",
          (int)w->c.dim, (int)w->c.n, (int)w->c.what, (double)w->k2, k, (int)reason, (int)rows, (int)solves,
          (double)error, (double)difference);
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* k2 is an eigenvalue of the empty box */
static PetscErrorCode Resonance(void)
{
  const Case c = {2, 15, KEPT, DISC, 1, PETSC_FALSE, 0};
  KSPConvergedReason reason;
  PetscReal error;
  PetscInt rows, solves;
  Vec x, b;
  KSP ksp;
  PC pc;
  DM da;
  Mat A;

  PetscFunctionBegin;
  PetscCall(Grid(&c, device, &da, &A, &x, &b));
  PetscCall(MatShift(A, -2 * (2 - 2 * PetscCosReal(3 * PETSC_PI / (c.n + 1)))));
  PetscCall(TestKSPCreate(A, KSPGMRES, &ksp, &pc));
  PetscCall(KSPSetTolerances(ksp, sizeof(PetscReal) == 4 ? (PetscReal)1e-4 : (PetscReal)1e-10, 0, PETSC_DEFAULT, 300));
  PetscCall(TestUniformVec(b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(PCBCRPoissonGetCapacitanceSolves(pc, &rows, &solves));
  PetscCall(TestBackwardError(A, PETSC_FALSE, b, x, &error));
  Check(rows == 0, "a singular box is one to solve the matrix with: %d rows", (int)rows);
  Check(reason < 0 || error <= (sizeof(PetscReal) == 4 ? 1e-2 : 1e-7), "resonance: reason %d, backward error %g",
        (int)reason, (double)error);
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const Wave waves[] = {
    {{2, 31, KEPT, DISC, 1, PETSC_FALSE, 40},            0.05},
    {{2, 47, KEPT, DISC, 1, PETSC_FALSE, 60},            0.5 },
    {{2, 47, ZEROED, DISC, 1, PETSC_TRUE, 60},           0.3 },
    {{2, 47, NEUMANN_MASK, DISC, 1, PETSC_TRUE, 60},     0.3 },
    {{2, 64, NEUMANN_MASK, TWELVE, 1, PETSC_FALSE, 100}, 0.2 },
    {{2, 31, WELLS, DISC, 1, PETSC_TRUE, 10},            0.4 },
    {{2, 31, PINNED, DISC, 1, PETSC_FALSE, 4},           0.4 },
    {{3, 13, KEPT, DISC, 1, PETSC_FALSE, 60},            0.9 },
    {{3, 13, NEUMANN_MASK, DISC, 1, PETSC_TRUE, 60},     0.7 }
  };
  char backend[8] = "cpu";
  PetscMPIInt rank;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(TestSeed());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-print", &print, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-backend", backend, sizeof(backend), NULL));
  PetscCall(PetscStrcmp(backend, "cuda", &device));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(waves) && (!device || BCRSolverHaveDevice(NULL)); i++)
    PetscCall(Run(&waves[i]));
  if (!device) PetscCall(Resonance());
  PetscCall(PetscFinalize());
  return TestStatus(rank == 0, TestPassed, TestFailed);
}
