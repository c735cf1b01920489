/*
  Obstacles, coasts, materials, wells and pinned rows, as programs write them: a solve with KSPPREONLY is a solution to rounding of
  the matrix (true residual; on one rank, small grids, against LAPACK), in as many solves of the box as CAPABILITIES promises
  whatever the grid, fewer for further right-hand sides. Real and complex, all ends, one and several ranks.
  -backend cuda: vectors and matrices on the CUDA devices that the ranks have, or share.
  ranks: 1 2 3 5
  turns: 2
*/
#include "../petsc/testing.h"
#include "../obstacles.h"
#include <petscbcr.h>
#include <petscksp.h>
#include "../../src/poisson/solver.h"

static PetscBool device; /* -backend cuda */

static void CheckCase(PetscBool good, const Case *c, const char *what, double value, double bound)
{
  Check(good, "%dD %d what %d shape %d jump %g closed %d: %s %g, bound %g", (int)c->dim, (int)c->n, (int)c->what,
        (int)c->shape, c->jump, (int)c->closed, what, value, bound);
}

/* A solver that knows nothing yet, and a solution of one sign: M f~ may be much larger than it */
static PetscErrorCode RunOneSigned(const Case *c, Mat A, Vec x, Vec b, PetscInt *solves)
{
  PetscReal norm;
  KSP ksp;
  PC pc;

  PetscFunctionBegin;
  PetscCall(TestKSPCreate(A, KSPPREONLY, &ksp, &pc));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(TestUniformVec(x));
  PetscCall(VecShift(x, 1));
  PetscCall(MatMult(A, x, b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(PCBCRPoissonGetCapacitanceSolves(pc, NULL, solves));
  PetscCall(TestBackwardError(A, PETSC_FALSE, b, x, &norm));
  CheckCase((PetscBool)(norm <= (sizeof(PetscReal) == 4 ? 1e-5 : 1e-13)), c, "backward error, a solution of one sign",
            (double)norm, 1e-13);
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where there is a mask: the same with a shift, and then with rows of any size as well */
static PetscErrorCode RunOtherRows(const Case *c, Mat A, Vec x, Vec b)
{
  PetscInt solves;

  PetscFunctionBegin;
  if (c->what < NEUMANN_MASK || c->what > ZEROED || c->n > 63) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatShift(A, 0.01));
  PetscCall(RunOneSigned(c, A, x, b, &solves));
  PetscCall(TestUniformVec(x));
  PetscCall(VecShift(x, 2));
  if (PetscDefined(USE_COMPLEX)) PetscCall(VecRealPart(x));
  PetscCall(MatDiagonalScale(A, x, NULL));
  PetscCall(RunOneSigned(c, A, x, b, &solves));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(const Case *c, PetscBool print)
{
  const PetscInt n = c->n, first = 4;    /* right-hand sides; one more, of a solution of one sign */
  const PetscInt fresh = n > 63 ? 4 : 1; /* solvers that know nothing: there, one of some ten solves takes one more */
  PetscInt rows, solves, counts[6] = {0};
  PetscReal norm = 0, worst = 0;
  const double bound = sizeof(PetscReal) == 4 ? 1e-5 : 1e-13;
  KSPConvergedReason reason;
  Vec x, b;
  KSP ksp;
  PC pc;
  DM da;
  Mat A;

  PetscFunctionBegin;
  PetscCall(Grid(c, device, &da, &A, &x, &b));
  PetscCall(TestKSPCreate(A, KSPPREONLY, &ksp, &pc));
  PetscCall(KSPSetFromOptions(ksp));
  for (PetscInt k = 0; k <= first; k++) {
    PetscCall(TestUniformVec(Singular(c) || k == first ? x : b));
    if (k == first) PetscCall(VecShift(x, 2));
    if (Singular(c) || k == first) PetscCall(MatMult(A, x, b));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(PCBCRPoissonGetCapacitanceSolves(pc, &rows, &solves));
    counts[k] = solves;
    PetscCall(TestBackwardError(A, PETSC_FALSE, b, x, &norm));
    CheckCase((PetscBool)(reason > 0), c, "converged reason", reason, 1);
    CheckCase((PetscBool)(norm <= bound), c, "backward error", (double)norm, bound);
    worst = PetscMax(worst, norm);
  }
  CheckCase((PetscBool)(rows > 0 && solves > 0), c, "no rows differ", (double)rows, 1);
  CheckCase((PetscBool)(counts[0] <= c->most), c, "solves", (double)counts[0], (double)c->most);
  CheckCase((PetscBool)(counts[first - 1] <= counts[0] + counts[0] / 4 + 1), c, "solves of a further right-hand side",
            (double)counts[first - 1], (double)counts[0]);
  CheckCase((PetscBool)(counts[first] <= counts[0] + counts[0] / 4 + 1), c, "solves for a solution of one sign",
            (double)counts[first], (double)counts[0]);
  for (PetscInt k = 0; k < fresh; k++) {
    PetscCall(RunOneSigned(c, A, x, b, &solves));
    counts[first + 1] += solves;
  }
  CheckCase((PetscBool)(counts[first + 1] <= fresh * c->most + fresh / 2), c, "solves, solutions of one sign",
            (double)counts[first + 1], (double)(fresh * c->most));
  for (int again = 0; again < 2 && !Singular(c); again++) { /* transposed, and with other values of the same plan */
    if (again) PetscCall(MatScale(A, 2));
    PetscCall(TestUniformVec(b));
    PetscCall(again ? KSPSolve(ksp, b, x) : KSPSolveTranspose(ksp, b, x));
    PetscCall(TestBackwardError(A, (PetscBool)!again, b, x, &norm));
    CheckCase((PetscBool)(norm <= bound), c, again ? "backward error, twice the matrix" : "backward error, transposed",
              (double)norm, bound);
  }
  PetscCall(RunOtherRows(c, A, x, b));
  if (print)
    PetscCall(PetscPrintf(
      PETSC_COMM_WORLD,
      "%dD %4d what %d shape %d jump %-6g closed %d: rows %5d solves %3d %3d %3d %3d, %3d, %3d error %.1e\n",
      (int)c->dim, (int)n, (int)c->what, (int)c->shape, c->jump, (int)c->closed, (int)rows, (int)counts[0],
      (int)counts[1], (int)counts[2], (int)counts[3], (int)counts[4], (int)(counts[5] / fresh), (double)worst));
  PetscCall(TestDestroy(&x, &b, &ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Case cases[] = {
    {2, 63,  NEUMANN_MASK, DISC,   1,    PETSC_TRUE,  22},
    {2, 63,  NEUMANN_MASK, DISC,   1,    PETSC_FALSE, 22},
    {2, 63,  NEUMANN_MASK, COAST,  1,    PETSC_TRUE,  24},
    {2, 63,  NEUMANN_MASK, ROUGH,  1,    PETSC_TRUE,  42},
    {2, 63,  NEUMANN_MASK, TWELVE, 1,    PETSC_TRUE,  42},
    {2, 63,  KEPT,         DISC,   1,    PETSC_FALSE, 22},
    {2, 63,  KEPT,         DISC,   1,    PETSC_TRUE,  24},
    {2, 63,  ZEROED,       DISC,   1e14, PETSC_FALSE, 22},
    {2, 63,  ZEROED,       COAST,  1,    PETSC_FALSE, 24},
    {2, 63,  KEPT,         ROUGH,  1,    PETSC_FALSE, 42},
    {2, 63,  KEPT,         TWELVE, 1,    PETSC_FALSE, 42},
    {2, 63,  MATERIAL,     DISC,   10,   PETSC_FALSE, 40},
    {2, 63,  MATERIAL,     DISC,   1e3,  PETSC_FALSE, 70},
    {2, 63,  MATERIAL,     DISC,   1e6,  PETSC_FALSE, 70},
    {2, 63,  MATERIAL,     DISC,   1e-6, PETSC_FALSE, 70},
    {2, 63,  MATERIAL,     DISC,   1e3,  PETSC_TRUE,  70},
    {2, 63,  WELLS,        DISC,   1,    PETSC_FALSE, 8 },
    {2, 63,  WELLS,        DISC,   1,    PETSC_TRUE,  8 },
    {2, 63,  PINNED,       DISC,   1,    PETSC_TRUE,  2 },
    {2, 63,  NEUMANN_MASK, RING,   1,    PETSC_TRUE,  42},
    {2, 63,  NEUMANN_MASK, RING,   1,    PETSC_FALSE, 42},
    {2, 63,  KEPT,         RING,   1,    PETSC_FALSE, 42},
    {2, 127, KEPT,         DISC,   1,    PETSC_FALSE, 22},
    {2, 255, KEPT,         DISC,   1,    PETSC_FALSE, 22},
    {2, 511, KEPT,         DISC,   1,    PETSC_FALSE, 22},
    {2, 255, ZEROED,       DISC,   1,    PETSC_FALSE, 22},
    {2, 511, KEPT,         TWELVE, 1,    PETSC_FALSE, 42},
    {3, 31,  NEUMANN_MASK, DISC,   1,    PETSC_TRUE,  32},
    {3, 31,  KEPT,         DISC,   1,    PETSC_FALSE, 32},
    {3, 31,  MATERIAL,     DISC,   1e3,  PETSC_FALSE, 70}
  };
  PetscInt n = 0;
  PetscBool print = PETSC_FALSE;
  PetscInt only = -1;
  char backend[8] = "cpu";
  PetscMPIInt rank;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(TestSeed());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-only", &only, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-print", &print, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-backend", backend, sizeof(backend), NULL));
  PetscCall(PetscStrcmp(backend, "cuda", &device));
  for (size_t i = 0; (!device || BCRSolverHaveDevice(NULL)) && i < PETSC_STATIC_ARRAY_LENGTH(cases); i++) {
    if (!TestTurn() || (only >= 0 && only != (PetscInt)i)) continue;
    if (n) cases[i].n = cases[i].dim == 2 ? n : n / 4;
    PetscCall(Run(&cases[i], print));
  }
  PetscCall(PetscFinalize());
  return TestStatus(rank == 0, TestPassed, TestFailed);
}
