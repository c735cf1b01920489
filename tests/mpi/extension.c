/*
  -pc_bcrpoisson_capacitance extension: of boxes with a mask in it CG takes the iterations that are promised (docs/method.md), of
  whatever grid where there is no flux into the mask, with a true residual that is as small as was asked for; the preconditioner is
  symmetric, x^H M y = (y^H M x)^*, and its own transpose, on any number of ranks; where rows differ by more than a mask, and where
  too many do, it is an error that names the option and the row. Whatever it was before, it may be chosen later.
  ranks: 1 2 3
*/
#include "../petsc/testing.h"
#include "../obstacles.h"
#include <petscksp.h>

/* The constant of the fluid alone */
static PetscErrorCode NullSpace(const Case *c, DM da, Mat A)
{
  PetscInt lo[3], n[3], at[3], first, N[3];
  MatNullSpace space;
  PetscScalar *a;
  Vec v;

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], &lo[2], &n[0], &n[1], &n[2]));
  PetscCall(DMDAGetInfo(da, NULL, &N[0], &N[1], &N[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(MatCreateVecs(A, &v, NULL));
  PetscCall(VecGetOwnershipRange(v, &first, NULL));
  PetscCall(VecGetArray(v, &a));
  for (PetscInt i = 0; i < n[0] * n[1] * n[2]; i++) {
    at[0] = lo[0] + i % n[0];
    at[1] = lo[1] + i / n[0] % n[1];
    at[2] = lo[2] + i / n[0] / n[1];
    a[i] = Inside(c, at) ? 0 : 1;
  }
  PetscCall(VecRestoreArray(v, &a));
  PetscCall(VecNormalize(v, NULL));
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_FALSE, 1, &v, &space));
  PetscCall(MatSetNullSpace(A, space));
  PetscCall(MatNullSpaceDestroy(&space));
  PetscCall(VecDestroy(&v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x^H M y = (y^H M x)^* = (M^T x^*)^T y */
static PetscErrorCode Symmetric(const Case *c, PC pc, Vec x)
{
  const PetscReal tol = 1000 * PETSC_MACHINE_EPSILON;
  PetscScalar one, other, third;
  PetscReal norm[2];
  Vec y, z;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecDuplicate(x, &z));
  PetscCall(TestUniformVec(x));
  PetscCall(TestUniformVec(y));
  PetscCall(PCApply(pc, y, z));
  PetscCall(VecNorm(z, NORM_2, &norm[0]));
  PetscCall(VecNorm(x, NORM_2, &norm[1]));
  PetscCall(VecDot(z, x, &one));
  PetscCall(PCApply(pc, x, z));
  PetscCall(VecDot(y, z, &other));
  PetscCall(VecConjugate(x));
  PetscCall(PCApplyTranspose(pc, x, z));
  PetscCall(VecTDot(z, y, &third));
  Check(norm[0] > 0 && PetscAbsScalar(one - other) <= tol * norm[0] * norm[1] &&
          PetscAbsScalar(one - third) <= tol * norm[0] * norm[1],
        "%dD what %d shape %d n %d: not symmetric by %g, transposed by %g", (int)c->dim, (int)c->what, (int)c->shape,
        (int)c->n, (double)(PetscAbsScalar(one - other) / norm[0] / norm[1]),
        (double)(PetscAbsScalar(one - third) / norm[0] / norm[1]));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* c->most: iterations of CG to 1e-8 */
static PetscErrorCode Run(const Case *c, PetscBool print)
{
  const PetscReal rtol = sizeof(PetscReal) == 4 ? (PetscReal)1e-4 : (PetscReal)1e-8;
  PetscReal norm[2];
  KSPConvergedReason reason;
  PetscInt its, solves;
  DM da;
  Mat A;
  Vec x, b, r;
  KSP ksp;
  PC pc;

  PetscFunctionBegin;
  PetscCall(Grid(c, PETSC_FALSE, &da, &A, &x, &b));
  if (c->closed && c->what == NEUMANN_MASK) PetscCall(NullSpace(c, da, A));
  PetscCall(VecDuplicate(x, &r));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, rtol, 0, PETSC_DEFAULT, 200));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCBCRPOISSON));
  if (c->dim == 3) PetscCall(KSPSetUp(ksp)); /* chosen later */
  PetscCall(PCBCRPoissonSetCapacitance(pc, PCBCRPOISSON_CAPACITANCE_EXTENSION));
  PetscCall(TestUniformVec(x));
  PetscCall(MatMult(A, x, b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1, b));
  PetscCall(VecNorm(r, NORM_2, &norm[0]));
  PetscCall(VecNorm(b, NORM_2, &norm[1]));
  PetscCall(PCBCRPoissonGetCapacitanceSolves(pc, NULL, &solves));
  Check(reason > 0 && norm[0] <= 2 * rtol * norm[1] && its <= c->most && solves == 1,
        "%dD what %d shape %d closed %d n %d: %s, %d iterations, bound %d, %d solves of the box in each, residual %g",
        (int)c->dim, (int)c->what, (int)c->shape, (int)c->closed, (int)c->n, KSPConvergedReasons[reason], (int)its,
        (int)c->most, (int)solves, (double)(norm[0] / norm[1]));
  if (print)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%dD what %d shape %d closed %d n %4d: %d iterations\n", (int)c->dim,
                          (int)c->what, (int)c->shape, (int)c->closed, (int)c->n, (int)its));
  PetscCall(Symmetric(c, pc, x));
  PetscCall(TestDestroy(&x, &b, &r, &ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is no mask is refused, with these words, and solved once the option is another one */
static PetscErrorCode Refused(const Case *c, const char *words)
{
  PetscReal error = 0;
  DM da;
  Mat A;
  Vec x, b;
  KSP ksp;
  PC pc;

  PetscFunctionBegin;
  PetscCall(Grid(c, PETSC_FALSE, &da, &A, &x, &b));
  PetscCall(TestKSPCreate(A, KSPPREONLY, &ksp, &pc));
  PetscCall(PCBCRPoissonSetCapacitance(pc, PCBCRPOISSON_CAPACITANCE_EXTENSION));
  CheckError(KSPSetUp(ksp), PETSC_ERR_SUP, "capacitance extension is for");
  CheckError(KSPSetUp(ksp), PETSC_ERR_SUP, words);
  PetscCall(PCBCRPoissonSetCapacitance(pc, PCBCRPOISSON_CAPACITANCE_AUTO));
  PetscCall(TestUniformVec(b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(TestBackwardError(A, PETSC_FALSE, b, x, &error));
  Check(error <= 500 * PETSC_MACHINE_EPSILON, "what %d, after an error: backward error %g", (int)c->what,
        (double)error);
  PetscCall(TestDestroy(&x, &b, &ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const PetscInt sizes[] = {63, 127, 255};
  /* most: at these sizes */
  static const struct {
    Case c;
    PetscInt most[3];
  } cases[] = {
    {{2, 0, NEUMANN_MASK, DISC, 1, PETSC_TRUE, 0},  {12, 12, 12}},
    {{2, 0, NEUMANN_MASK, DISC, 1, PETSC_FALSE, 0}, {12, 12, 12}},
    {{2, 0, NEUMANN_MASK, COAST, 1, PETSC_TRUE, 0}, {14, 14, 14}},
    {{2, 0, NEUMANN_MASK, ROUGH, 1, PETSC_TRUE, 0}, {26, 26, 26}},
    {{2, 0, ZEROED, DISC, 1, PETSC_FALSE, 0},       {19, 24, 32}},
    {{2, 0, ZEROED, COAST, 3, PETSC_FALSE, 0},      {19, 24, 32}},
    {{3, 0, NEUMANN_MASK, DISC, 1, PETSC_FALSE, 0}, {12, 12, 0} }
  };
  const Case material = {2, 31, MATERIAL, DISC, 10, PETSC_FALSE, 0}, wells = {2, 31, WELLS, DISC, 1, PETSC_FALSE, 0};
  PetscBool print = PETSC_FALSE;
  PetscMPIInt rank;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(TestSeed());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-print", &print, NULL));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases); i++)
    for (int k = 0; k < 3; k++) {
      Case c = cases[i].c;

      c.n = c.dim == 3 ? sizes[k] / 4 : sizes[k];
      c.most = cases[i].most[k];
      if (c.most) PetscCall(Run(&c, print));
    }
  PetscCall(Refused(&material, "differs otherwise"));
  PetscCall(Refused(&wells, "grid point"));
  PetscCall(PetscFinalize());
  return TestStatus(rank == 0, TestPassed, TestFailed);
}
