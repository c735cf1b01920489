/* ranks: 1 2 */
static char help[] =
  "The boundary value problem of paper 004 (Stpiczynski and Potiopa, 2010), -u'' = f on (0,1), u'(0) = 0, u(1) = 0, by divide and conquer.\n\
Prints the relative errors ||u - exact||_2 / ||u||_2 of both test problems of the paper on finer and finer grids, and the order.\n\
  -sizes <1024,4096,16384,65536,262144>  unknowns\n\
  -pc_neato_method, -pc_neato_variant, -pc_neato_precision, -pc_neato_parts, -ksp_view, ...\n\
The names of the paper: A2D is the default, A1D -pc_neato_variant sequential, A2S and A2SD -pc_neato_precision single and mixed.\n\n";

/*
    mpicc bvp.c `pkg-config --cflags --libs petscbcr` -lm
    ./a.out
*/
#include <petscbcr.h>

#define MAX_SIZES 32

/* problems (12) and (13) */
static PetscReal Source(int problem, PetscReal x)
{
  if (problem == 0) return PETSC_PI * PETSC_PI / 4 * PetscCosReal(PETSC_PI / 2 * x);
  return 20000 * PetscExpReal(-100 * x * x) * (1 - 200 * x * x);
}

static PetscReal Exact(int problem, PetscReal x)
{
  if (problem == 0) return PetscCosReal(PETSC_PI / 2 * x);
  return 100 * (PetscExpReal(-100 * x * x) - PetscExpReal((PetscReal)-100));
}

/* Nodes x_i = i h, h = 1/n, i < n: row (1, -1) with half the right-hand side at x = 0, rows (-1, 2,
   -1), and u = 0 behind the last one */
static PetscErrorCode Solve(PetscInt n, PetscReal error[2])
{
  const PetscReal h = 1 / (PetscReal)n;
  DM da;
  Mat A;
  KSP ksp;
  PC pc;
  Vec b, u, e;
  PetscInt first, count;

  PetscFunctionBeginUser;
  PetscCall(DMDACreate1d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, n, 1, 1, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(DMDAGetCorners(da, &first, NULL, NULL, &count, NULL, NULL));
  for (PetscInt i = first; i < first + count; ++i) {
    if (i > 0) PetscCall(MatSetValue(A, i, i - 1, -1, INSERT_VALUES));
    PetscCall(MatSetValue(A, i, i, i > 0 ? 2 : 1, INSERT_VALUES));
    if (i < n - 1) PetscCall(MatSetValue(A, i, i + 1, -1, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));

  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPPREONLY)); /* one solve is the solution */
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetDM(pc, da));
  PetscCall(PCSetType(pc, PCNEATO));
  PetscCall(PCNeatoSetMethod(pc, PCNEATO_METHOD_DC));
  PetscCall(KSPSetFromOptions(ksp));

  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &u));
  PetscCall(VecDuplicate(b, &e));
  for (int problem = 0; problem < 2; ++problem) {
    PetscReal ne, nu;

    for (PetscInt i = first; i < first + count; ++i) {
      const PetscReal x = h * (PetscReal)i;

      PetscCall(VecSetValue(b, i, (i > 0 ? 1 : (PetscReal)0.5) * h * h * Source(problem, x), INSERT_VALUES));
      PetscCall(VecSetValue(e, i, Exact(problem, x), INSERT_VALUES));
    }
    PetscCall(VecAssemblyBegin(b));
    PetscCall(VecAssemblyEnd(b));
    PetscCall(VecAssemblyBegin(e));
    PetscCall(VecAssemblyEnd(e));
    PetscCall(KSPSolve(ksp, b, u));
    PetscCall(VecNorm(e, NORM_2, &nu));
    PetscCall(VecAXPY(e, -1, u));
    PetscCall(VecNorm(e, NORM_2, &ne));
    error[problem] = ne / nu;
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&e));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  PetscInt sizes[MAX_SIZES] = {1024, 4096, 16384, 65536, 262144}, count = 5, given = MAX_SIZES;
  PetscReal before[2] = {0, 0};
  PetscBool set;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-sizes", sizes, &given, &set));
  if (set) count = given;
  PetscCall(
    PetscPrintf(PETSC_COMM_WORLD, "%10s  %12s %6s  %12s %6s\n", "n", "cos(pi x/2)", "order", "exp(-100x^2)", "order"));
  for (PetscInt k = 0; k < count; ++k) {
    PetscReal error[2], order[2] = {0, 0};

    PetscCall(Solve(sizes[k], error));
    for (int i = 0; i < 2; ++i) {
      if (k && error[i] > 0)
        order[i] = PetscLogReal(before[i] / error[i]) / PetscLogReal((PetscReal)sizes[k] / (PetscReal)sizes[k - 1]);
      before[i] = error[i];
    }
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%10" PetscInt_FMT, sizes[k]));
    for (int i = 0; i < 2; ++i) {
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %12.3e ", (double)error[i]));
      if (k) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%6.2f", (double)order[i]));
      else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%6s", "-"));
    }
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
    if (k == 1 && !set) { /* beyond that the rounding of a lower precision would show */
      for (int i = 0; i < 2; ++i)
        PetscCheck(PetscAbsReal(order[i] - 2) < (PetscReal)0.05 || error[i] > (PetscReal)1e-7 ||
                     sizeof(PetscReal) < sizeof(double),
                   PETSC_COMM_WORLD, PETSC_ERR_PLIB, "The errors do not fall with the second order");
    }
  }
  PetscCall(PetscFinalize());
  return 0;
}
