static char help[] =
  "Counts iterations of CG with multigrid for an anisotropic problem: PCNEATO as smoother beside Jacobi and SOR, with full and semi-coarsening;\n\
and of CG with these as preconditioners on their own.\n\
  -n <65,129,257>          nodes along each side of the square, 2^k + 1\n\
  -eps <1,0.1,0.01,0.001,0.0001>  the problem is -eps u_xx - u_yy = f\n\
  -rtol <1e-8>             reduction of the residual that ends a solve\n\
  -csv <file>              adds the results to this file\n\n";

#include "bench.h"

/* Which axes are halved from level to level */
static const struct {
  const char *name, *options;
} coarsenings[] = {
  {"full",        ""              }, /* both */
  {"semi_weak",   "-da_refine_y 1"}, /* x alone, along which the coupling is weak */
  {"semi_strong", "-da_refine_x 1"}, /* y alone */
};

/* Inside Chebyshev iteration, which finds the damping by itself */
static const struct {
  const char *name, *options;
} smoothers[] = {
  {"jacobi",  "-pc_type jacobi"                },
  {"sor",     "-pc_type sor"                   },
  {"neato_x", "-pc_type neato -pc_neato_axis x"},
  {"neato_y", "-pc_type neato -pc_neato_axis y"},
  {"neato",   "-pc_type neato"                 }, /* the axis of the strongest coupling, on each level */
};

/* Dirichlet: rows of the boundary hold a diagonal only, and nothing couples to them */
static PetscErrorCode Assemble(PetscInt n, PetscReal eps, Mat A, Vec f)
{
  const PetscReal scale = (PetscReal)(n - 1) * (n - 1);
  PetscRandom random;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < n; ++j) {
    for (PetscInt i = 0; i < n; ++i) {
      const PetscInt row = i + n * j, at[4] = {row - 1, row + 1, row - n, row + n};
      const PetscBool kept[4] = {(PetscBool)(i > 1), (PetscBool)(i < n - 2), (PetscBool)(j > 1),
                                 (PetscBool)(j < n - 2)};
      const PetscBool edge = (PetscBool)(i == 0 || j == 0 || i == n - 1 || j == n - 1);

      PetscCall(MatSetValue(A, row, row, 2 * (1 + eps) * scale, INSERT_VALUES));
      for (PetscInt k = 0; k < 4 && !edge; ++k) {
        if (kept[k]) PetscCall(MatSetValue(A, row, at[k], -(k < 2 ? eps : 1) * scale, INSERT_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetInterval(random, -1, 1));
  PetscCall(VecSetRandom(f, random));
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One solve with the options in text; its < 0: not within 1000 iterations */
static PetscErrorCode Solve(PetscInt n, PetscReal eps, const char text[], PetscInt *its, double *residual)
{
  DM da;
  Mat A;
  Vec f, u, r;
  KSP ksp;
  PC pc;
  PetscReal normA;
  PetscOptions options;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(PetscOptionsCreate(&options));
  PetscCall(PetscOptionsInsertString(options, text));
  PetscCall(PetscOptionsPush(options));
  PetscCall(DMDACreate2d(PETSC_COMM_SELF, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n, 1, 1, 1, 1, NULL,
                         NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(DMCreateGlobalVector(da, &f));
  PetscCall(VecDuplicate(f, &u));
  PetscCall(VecDuplicate(f, &r));
  PetscCall(Assemble(n, eps, A, f));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetDM(pc, da));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, f, u));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  if (reason < 0) *its = -1;
  PetscCall(MatNorm(A, NORM_INFINITY, &normA));
  PetscCall(BenchBackwardError(A, normA, f, u, r, residual));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&f));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscOptionsPop());
  PetscCall(PetscOptionsDestroy(&options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt sizes[16] = {65, 129, 257}, nsizes = 16, neps = 16;
  PetscReal rtol = 1e-8, eps[16] = {1, 0.1, 0.01, 0.001, 0.0001};
  PetscMPIInt ranks;
  PetscBool given;
  FILE *csv;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  PetscCheck(ranks == 1, PETSC_COMM_WORLD, PETSC_ERR_WRONG_MPI_SIZE, "This program runs on one process");
  PetscCall(PetscBCRInitializePackage());
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-n", sizes, &nsizes, &given));
  if (!given) nsizes = 3;
  PetscCall(PetscOptionsGetRealArray(NULL, NULL, "-eps", eps, &neps, &given));
  if (!given) neps = 5;
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-rtol", &rtol, NULL));
  PetscCall(BenchOpen(
    "-eps u_xx - u_yy; CG to an unpreconditioned residual reduced by -rtol; mg: V-cycle, Galerkin, 2 Chebyshev steps "
    "before and after, 5 nodes on the coarsest level along halved axes, LU there; iterations -1: more than 1000",
    &csv));
  printf("\n%5s %-8s %-12s", "n", "eps", "coarsening");
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(smoothers); ++s) printf(" %9s", smoothers[s].name);
  printf("\n");
  for (PetscInt k = 0; k < nsizes; ++k) {
    PetscInt levels = 1;

    for (PetscInt m = sizes[k]; m > 5; m = (m + 1) / 2) ++levels;
    for (PetscInt e = 0; e < neps; ++e) {
      for (size_t c = 0; c <= PETSC_STATIC_ARRAY_LENGTH(coarsenings); ++c) {
        const PetscBool alone = (PetscBool)(c == PETSC_STATIC_ARRAY_LENGTH(coarsenings)); /* no multigrid */

        printf("%5d %-8g %-12s", (int)sizes[k], (double)eps[e], alone ? "no multigrid" : coarsenings[c].name);
        for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(smoothers); ++s) {
          char text[1024], level[256] = "", name[64], solver[64];
          BenchRow row = {
            .program = "smoother",
            .precision = sizeof(PetscReal) == 4 ? "single" : "double",
            .dim = 2,
            .n = {sizes[k], sizes[k], 1},
            .time = NAN,
            .copy = NAN,
            .setup = NAN,
            .mintime = NAN,
            .mincopy = NAN,
            .first = NAN
          };
          const char *from = smoothers[s].options;
          size_t at = 0;

          for (; *from; ++from) { /* options of a level: -mg_levels_pc_type ... */
            PetscCheck(at + 12 < sizeof(level), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Options too long");
            level[at++] = *from;
            if (*from == '-') {
              PetscCall(PetscStrncpy(level + at, "mg_levels_", sizeof(level) - at));
              at += 10;
            }
          }
          PetscCall(PetscSNPrintf(text, sizeof(text),
                                  "-ksp_type cg -ksp_rtol %g -ksp_max_it 1000 -ksp_norm_type unpreconditioned %s%s "
                                  "-pc_mg_levels %d -pc_mg_galerkin both -mg_coarse_pc_type lu %s",
                                  (double)rtol, alone ? smoothers[s].options : "-pc_type mg ", alone ? "" : level,
                                  (int)levels, alone ? "" : coarsenings[c].options));
          PetscCall(Solve(sizes[k], eps[e], text, &row.iterations, &row.residual));
          PetscCall(PetscSNPrintf(name, sizeof(name), "eps_%g", (double)eps[e]));
          PetscCall(PetscSNPrintf(solver, sizeof(solver), "%s/%s", alone ? "cg" : "cg+mg", smoothers[s].name));
          if (!alone) {
            PetscCall(PetscStrlcat(name, "/", sizeof(name)));
            PetscCall(PetscStrlcat(name, coarsenings[c].name, sizeof(name)));
          }
          row.name = name;
          row.solver = solver;
          printf(" %9d", (int)row.iterations);
          fflush(stdout);
          BenchWriteRow(csv, &row);
        }
        printf("\n");
      }
    }
  }
  if (csv) fclose(csv);
  PetscCall(PetscFinalize());
  return 0;
}
