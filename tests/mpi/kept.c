/*
  Directions of rows that differ are kept: a second random right-hand side takes no more solves
  of the box than the first, and once there were as many as there are rows, m, every one takes two,
  whatever it is; with
  -pc_bcrpoisson_capacitance_max_rows less than m it takes more; other values of the matrix begin
  anew. All to rounding. Also where all directions take more memory than eight vectors: two
  materials in three dimensions.
  -print: the numbers
  ranks: 1 3
*/
#include "../petsc/testing.h"
#include "../obstacles.h"
#include <petscksp.h>

static PetscBool print = PETSC_FALSE;

/* One solve: random, or of one source and one sink. The solves of the box that it takes */
static PetscErrorCode Solve(const Case *c, Mat A, KSP ksp, Vec b, Vec x, PetscBool source, PetscInt *rows,
                            PetscInt *solves)
{
  const PetscReal bound = sizeof(PetscReal) == 4 ? (PetscReal)1e-5 : (PetscReal)1e-13;
  KSPConvergedReason reason;
  PetscReal error = 0;
  PetscInt n;
  PC pc;

  PetscFunctionBegin;
  if (source) {
    PetscCall(VecSet(b, 0));
    PetscCall(VecGetSize(b, &n));
    PetscCall(VecSetValue(b, n - c->n / 2, 1, INSERT_VALUES)); /* by one end, where there is no mask */
    PetscCall(VecSetValue(b, c->n / 3, -1, INSERT_VALUES));    /* and by the other */
    PetscCall(VecAssemblyBegin(b));
    PetscCall(VecAssemblyEnd(b));
  } else {
    PetscCall(TestUniformVec(x));
    PetscCall(MatMult(A, x, b));
  }
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCBCRPoissonGetCapacitanceSolves(pc, rows, solves));
  PetscCall(TestBackwardError(A, PETSC_FALSE, b, x, &error));
  Check(reason > 0 && error <= bound, "%d-D, what %d: reason %d, backward error %g", (int)c->dim, c->what, (int)reason,
        (double)error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(const Case *c, PetscBool few)
{
  PetscInt rows, first, second, solves, borders = c->closed ? 1 : 0;
  Vec x, b;
  KSP ksp;
  PC pc;
  DM da;
  Mat A;

  PetscFunctionBegin;
  PetscCall(Grid(c, PETSC_FALSE, &da, &A, &x, &b));
  PetscCall(TestKSPCreate(A, KSPPREONLY, &ksp, &pc));
  if (few) PetscCall(PCBCRPoissonSetCapacitanceMaxRows(pc, 10));
  PetscCall(Solve(c, A, ksp, b, x, PETSC_FALSE, &rows, &first));
  PetscCall(Solve(c, A, ksp, b, x, PETSC_FALSE, &rows, &second));
  /* with fewer directions than a solve makes none of a stiff system is spared, and what rounding leaves of the known ones is solved
     for once more */
  Check(few && c->jump > 100 ? second <= first + first / 3 : second <= first,
        "%d-D, what %d, jump %g: %d solves, then %d", (int)c->dim, c->what, c->jump, (int)first, (int)second);
  for (PetscInt k = 2; k < rows + borders; k++) PetscCall(Solve(c, A, ksp, b, x, PETSC_FALSE, &rows, &solves));
  for (int source = 0; source < 2; source++) {
    PetscCall(Solve(c, A, ksp, b, x, (PetscBool)source, &rows, &solves));
    if (print)
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d-D, what %d, few %d: %d rows; %d, %d, ..., %d solves\n", (int)c->dim,
                            c->what, (int)few, (int)rows, (int)first, (int)second, (int)solves));
    Check(few ? solves > 2 : solves <= c->most,
          "%d-D, what %d, few %d, of %d rows all have been asked, but there are %d solves", (int)c->dim, c->what,
          (int)few, (int)rows, (int)solves);
  }
  PetscCall(MatScale(A, 3));
  PetscCall(Solve(c, A, ksp, b, x, PETSC_FALSE, &rows, &solves));
  Check(solves <= first + first / 4 + 1, "%d-D, what %d, other values: %d solves, %d", (int)c->dim, c->what,
        (int)solves, (int)first);
  PetscCall(TestDestroy(&x, &b, &ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  /* the last number: solves of the box once all directions are known. Materials have fields of which
     some lose a digit more, which takes another one */
  const Case cases[] = {
    {2, 31, NEUMANN_MASK, DISC, 1,    PETSC_TRUE,  2},
    {2, 31, NEUMANN_MASK, DISC, 1,    PETSC_FALSE, 2},
    {2, 31, KEPT,         DISC, 1,    PETSC_FALSE, 2},
    {2, 31, ZEROED,       DISC, 1,    PETSC_TRUE,  2},
    {2, 31, WELLS,        DISC, 1,    PETSC_TRUE,  2},
    {3, 11, NEUMANN_MASK, DISC, 1,    PETSC_FALSE, 2},
    {3, 11, KEPT,         DISC, 1,    PETSC_TRUE,  2},
    {3, 13, KEPT,         DISC, 1,    PETSC_FALSE, 2},
    {3, 13, NEUMANN_MASK, DISC, 1,    PETSC_TRUE,  2},
    {2, 63, MATERIAL,     DISC, 10,   PETSC_FALSE, 3},
    {3, 17, MATERIAL,     DISC, 10,   PETSC_FALSE, 2},
    {2, 63, MATERIAL,     DISC, 1000, PETSC_FALSE, 3}
  };
  PetscMPIInt rank;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(TestSeed());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-print", &print, NULL));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases); i++)
    for (int few = 0; few < 2; few++)
      if (!few || cases[i].what != WELLS) PetscCall(Run(&cases[i], (PetscBool)few));
  PetscCall(PetscFinalize());
  return TestStatus(rank == 0, TestPassed, TestFailed);
}
