/*
  Three dimensions with planes that a CUDA device transforms through its second-level cache (plan RING), of every pair of
  ends that it takes, across z or y: through KSPSolve(), with every end across them, kept boundary rows, coefficients that
  vary along z, singular operators, each precision, and a second solve of the same KSP. Asserted are the equations,
  with PETSc's MatMult(), the mean of singular solutions, and on a device (-pc_bcrpoisson_backend cuda) the plan.

  quick: 1
*/
#include "testing.h"

static PetscReal VaryZ(PetscReal x, PetscReal y, PetscReal z, void *ctx)
{
  (void)x, (void)y, (void)ctx;
  return 1 + z * z;
}

static const TestProblem problems[] = {
  {3, {128, 192, 6},  1, "ppppcc", {1, 1, 1},   0,   1,  1, 0, 0,   NULL,  NULL},
  {3, {192, 128, 5},  1, "cccccc", {1, 2, 0.5}, 0,   -3, 1, 0, 0,   NULL,  NULL},
  {3, {128, 128, 7},  1, "pppppp", {1, 1, 1},   0,   1,  1, 0, 0,   NULL,  NULL},
  {3, {128, 128, 7},  1, "ppccnn", {1, 1, 1},   0,   1,  1, 0, 0,   NULL,  NULL},
  {3, {128, 128, 19}, 1, "ccpprr", {1, 1, 1},   0,   2,  1, 0, 0,   NULL,  NULL},
  {3, {128, 128, 18}, 1, "ccccsr", {1, 1, 1},   0.1, 1,  3, 0, 0,   NULL,  NULL},
  {3, {128, 192, 8},  1, "DDppdc", {1, 1, 1},   0,   1,  1, 0, 0,   NULL,  NULL},
  {3, {320, 128, 4},  1, "ccDDnD", {1, 1, 1},   10,  1,  1, 0, 0,   NULL,  NULL},
  {3, {128, 128, 20}, 1, "ppppdd", {1, 1, 1},   0,   1,  1, 0, 0,   VaryZ, NULL},
  {3, {128, 128, 20}, 1, "ccppcc", {1, 1, 1},   0,   1,  1, 0, 0,   VaryZ, NULL},
  {3, {129, 65, 9},   1, "nnnnnn", {1, 1, 1},   0,   1,  1, 0, 0,   NULL,  NULL},
  {3, {65, 128, 6},   1, "nnpppp", {1, 1, 1},   0,   1,  1, 0, 0,   NULL,  NULL},
  {3, {128, 97, 20},  1, "ccnncc", {1, 1, 1},   0,   1,  1, 0, 0,   VaryZ, NULL},
  {3, {127, 129, 5},  1, "ddnndd", {1, 1, 1},   0,   1,  1, 0, 0,   NULL,  NULL},
  {3, {128, 96, 7},   1, "dnndcc", {1, 1, 1},   0,   1,  1, 0, 0,   NULL,  NULL},
  {3, {96, 128, 6},   1, "cDDcpp", {1, 1, 1},   0,   1,  1, 0, 0,   NULL,  NULL},
  {3, {128, 7, 192},  1, "ppcccc", {1, 1, 1},   0,   1,  1, 0, 0,   NULL,  NULL},
  {3, {64, 9, 129},   1, "cDddnn", {1, 1, 1},   0,   1,  1, 0, 0,   NULL,  NULL},
  {3, {128, 128, 6},  2, "ppppcd", {1, 1, 1},   0,   1,  1, 0, 0.5, NULL,  NULL}
};

/* Whether constants are in the null space */
static PetscBool Singular(const TestProblem *p)
{
  return p->shift == 0 && !strpbrk(p->ends, "dDr") ? PETSC_TRUE : PETSC_FALSE;
}

/* f loses its mean, in which nodes at a Neumann end have half of the weight of others */
static PetscErrorCode RemoveMean(const TestProblem *p, Vec f)
{
  PetscInt n;
  PetscScalar sum, size;
  Vec w;

  PetscFunctionBegin;
  PetscCall(VecGetSize(f, &n));
  PetscCall(VecDuplicate(f, &w));
  PetscCall(VecSet(w, 1));
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt at[3] = {i % p->n[0], i / p->n[0] % p->n[1], i / (p->n[0] * p->n[1])};
    PetscReal weight = 1;

    for (int d = 0; d < 3; d++)
      if ((at[d] == 0 && p->ends[2 * d] == 'n') || (at[d] == p->n[d] - 1 && p->ends[2 * d + 1] == 'n')) weight /= 2;
    PetscCall(VecSetValue(w, i, weight, INSERT_VALUES));
  }
  PetscCall(VecAssemblyBegin(w));
  PetscCall(VecAssemblyEnd(w));
  PetscCall(VecDot(f, w, &sum));
  PetscCall(VecSum(w, &size));
  PetscCall(VecShift(f, -sum / size));
  PetscCall(VecDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solved(const TestProblem *p, Mat A, Vec b, Vec x, PetscReal bound, const char what[])
{
  PetscReal error = 0, size = 0;
  PetscScalar sum;
  PetscInt n;
  Vec f;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(b, &f));
  PetscCall(VecCopy(b, f));
  if (Singular(p)) {
    PetscCall(RemoveMean(p, f));
    PetscCall(VecSum(x, &sum));
    PetscCall(VecGetSize(x, &n));
    PetscCall(VecNorm(x, NORM_INFINITY, &size));
    Check(PetscAbsScalar(sum) <= bound * size * (PetscReal)n, "%s: the solution's mean is %g of %g", what,
          (double)(PetscAbsScalar(sum) / (PetscReal)n), (double)size);
  }
  PetscCall(TestBackwardError(A, PETSC_FALSE, f, x, &error));
  Check(error <= bound, "%s: backward error %g", what, (double)error);
  PetscCall(VecDestroy(&f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(const TestProblem *p, const char precision[], PetscBool device)
{
  const PetscReal bound = strcmp(precision, "single") ? TestBackwardBound() : PetscMax(TestBackwardBound(), 5e-7);
  char *text, what[64];
  KSP ksp;
  PC pc;
  DM da;
  Mat A;
  Vec b, x;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s, %d x %d x %d, %s", p->ends, (int)p->n[0], (int)p->n[1], (int)p->n[2],
                          precision));
  PetscCall(PetscOptionsSetValue(NULL, "-pc_bcrpoisson_precision", precision));
  PetscCall(TestMatrix(p, &da, &A));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetDM(ksp, da));
  PetscCall(TestKSPSetDMInactive(ksp));
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCBCRPOISSON));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(MatCreateVecs(A, &x, &b));
  for (int again = 0; again < 2; again++) {
    PetscCall(TestRandom(b));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(Solved(p, A, b, x, bound, what));
  }
  PetscCall(TestViewText((PetscObject)pc, &text));
  /* components lie between one another, so that planes are not in one piece */
  Check(!device || p->dof > 1 || strstr(text, "of planes"), "%s: not by transforms of planes: %s", what, text);
  free(text);
  PetscCall(TestDestroy(&b, &x, &ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const char *const precisions[] = {"double", "single", "mixed"};
  char backend[16] = "";
  PetscInt first = 0, last = (PetscInt)PETSC_STATIC_ARRAY_LENGTH(problems);

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-pc_bcrpoisson_backend", backend, sizeof(backend), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-first", &first, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-last", &last, NULL));
  for (PetscInt i = first; i < last; i++) /* every precision with every third problem, all of them on a device */
    for (PetscInt k = 0; k < 3; k++)
      if (!strcmp(backend, "cuda") || i % 3 == k)
        PetscCall(Solve(&problems[i], precisions[k], !strcmp(backend, "cuda") ? PETSC_TRUE : PETSC_FALSE));
  PetscCall(PetscOptionsClearValue(NULL, "-pc_bcrpoisson_precision"));
  PetscCall(PetscFinalize());
  return TestEnd();
}
