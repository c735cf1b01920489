/*
  PCNEATO as the smoother of PCMG on an anisotropic problem, with full and semi-coarsening, beside
  Jacobi and SOR; and PCCOMPOSITE of the lines of two axes.

  quick: 1
*/
#include "testing.h"

/* GMRES iterations for -eps u_xx - u_yy with the options; -1: did not converge */
static PetscErrorCode Solve(PetscInt n, PetscReal eps, const char options[], PetscInt *its)
{
  TestProblem p = {
    .dim = 2,
    .n = {n,   n},
    .dof = 1,
    .ends = "rrrr",
    .a = {eps, 1},
    .scale = (PetscReal)(n * n),
    .row = (PetscReal)(2 * n * n)
  };
  DM da;
  Mat A;
  Vec b, x, y;
  KSP ksp, lu;
  PetscReal difference = 0;
  PetscOptions own;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(PetscOptionsCreate(&own));
  PetscCall(PetscOptionsInsertString(own, options));
  PetscCall(PetscOptionsPush(own));
  PetscCall(DMDACreate2d(PETSC_COMM_SELF, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n, 1, 1, 1, 1, NULL,
                         NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(TestFill(&p, A));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &y));
  PetscCall(TestRandom(b));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetDM(ksp, da));
  PetscCall(TestKSPSetDMInactive(ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetTolerances(ksp, sizeof(PetscReal) < sizeof(double) ? (PetscReal)1e-4 : (PetscReal)1e-8, PETSC_DEFAULT,
                             PETSC_DEFAULT, 300));
  PetscCall(KSPSetType(ksp, KSPFGMRES));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(TestReference(A, &lu));
  PetscCall(KSPSolve(lu, b, y));
  PetscCall(TestDifference(x, y, &difference));
  Check(reason > 0, "%s: %s", options, KSPConvergedReasons[reason]);
  Check(difference < (sizeof(PetscReal) < sizeof(double) ? 5e-2 : 1e-5), "%s: off LU by %g", options,
        (double)difference);
  if (reason < 0) *its = -1;
  PetscCall(TestDestroy(&lu, &ksp, &b, &x, &y, &A, &da));
  PetscCall(PetscOptionsPop());
  PetscCall(PetscOptionsDestroy(&own));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *const smoothers[] = {"-mg_levels_pc_type neato", "-mg_levels_pc_type neato -mg_levels_pc_neato_axis y",
                                   "-mg_levels_pc_type jacobi", "-mg_levels_pc_type sor"};
  const char *const coarsening[] = {"", "-da_refine_y 1", "-da_refine_x 1"};
  char text[512];
  PetscInt its[3][4], one[2];

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  for (PetscInt c = 0; c < 3; ++c) {
    for (PetscInt s = 0; s < 4; ++s) {
      PetscCall(PetscSNPrintf(text, sizeof(text),
                              "-pc_type mg -pc_mg_levels 4 -pc_mg_galerkin both -mg_coarse_pc_type lu %s %s",
                              smoothers[s], coarsening[c]));
      PetscCall(Solve(33, (PetscReal)1e-3, text, &its[c][s]));
    }
    Check(its[c][0] <= 12, "coarsening '%s': %d iterations with lines along the automatic axis", coarsening[c],
          (int)its[c][0]);
    Check(its[c][1] <= 12, "coarsening '%s': %d iterations with lines along y", coarsening[c], (int)its[c][1]);
    if (c < 2)
      Check(its[c][2] > 2 * its[c][0] && its[c][3] > its[c][0],
            "coarsening '%s': %d iterations with lines, %d with Jacobi, %d with SOR", coarsening[c], (int)its[c][0],
            (int)its[c][2], (int)its[c][3]);
  }
  PetscCall(Solve(17, 1,
                  "-pc_type composite -pc_composite_type multiplicative -pc_composite_pcs neato,neato "
                  "-sub_0_pc_neato_axis x -sub_1_pc_neato_axis y",
                  &one[0]));
  PetscCall(Solve(17, 1, "-pc_type neato -pc_neato_axis x", &one[1]));
  Check(one[0] < one[1], "%d iterations with the lines of both axes in turn, %d with those of x", (int)one[0],
        (int)one[1]);
  PetscCall(PetscFinalize());
  return TestEnd();
}
