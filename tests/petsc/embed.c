/*
  PCBCRPOISSON inside PETSc's compositions: as the solver of Krylov methods, coarse solver of PCMG,
  in the splits of PCFIELDSPLIT, the blocks of PCBJACOBI and PCASM, on the one rank that PCTELESCOPE
  leaves; where it cannot work, the error says why.

  ranks: 1 2
  quick: 1 2
*/
#include "testing.h"

static PetscErrorCode SolveWith(KSP ksp, Mat A, PetscInt most, const char what[])
{
  Vec b, x, r;
  PetscReal rn = 0, bn = 0;
  PetscInt its;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1, b));
  PetscCall(VecNorm(r, NORM_2, &rn));
  PetscCall(VecNorm(b, NORM_2, &bn));
  Check(reason > 0 && its <= most && rn <= (PetscReal)1e-4 * bn, "%s: %s, %d iterations (at most %d), residual %g",
        what, KSPConvergedReasons[reason], (int)its, (int)most, (double)(rn / bn));
  PetscCall(TestDestroy(&b, &x, &r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NewKSP(DM da, Mat A, const char prefix[], const char options[], KSP *ksp)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)A), ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, prefix));
  PetscCall(KSPSetTolerances(*ksp, (PetscReal)1e-6, 0, 1e5, 100));
  PetscCall(KSPSetOperators(*ksp, A, A));
  if (da) {
    PetscCall(KSPSetDM(*ksp, da));
    PetscCall(TestKSPSetDMInactive(*ksp));
  }
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An operator that it solves exactly: one iteration of anything */
static PetscErrorCode Krylov(void)
{
  TestProblem p = {
    .dim = 2, .n = {33, 20},
         .dof = 1, .ends = "dcdd", .a = {1,  2 },
         .scale = 1
  };
  const char *types[] = {KSPPREONLY,    KSPCG,     KSPGMRES, KSPFGMRES,    KSPLGMRES,    KSPBCGS,
                         KSPRICHARDSON, KSPMINRES, KSPTFQMR, KSPCHEBYSHEV, KSPBCRPOISSON};
  DM da;
  Mat A;

  PetscFunctionBegin;
  PetscCall(TestMatrix(&p, &da, &A));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); ++t) {
    KSP ksp;
    PC pc;

    for (PetscInt side = 0; side < 2; ++side) {
      const PetscBool right =
        (PetscBool)(!strcmp(types[t], KSPGMRES) || !strcmp(types[t], KSPFGMRES) || !strcmp(types[t], KSPBCRPOISSON));

      if (side && !right) continue;
      PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
      PetscCall(KSPSetOperators(ksp, A, A));
      PetscCall(KSPSetType(ksp, types[t]));
      PetscCall(KSPSetPCSide(ksp, side || !strcmp(types[t], KSPFGMRES) ? PC_RIGHT : PC_LEFT));
      PetscCall(KSPGetPC(ksp, &pc));
      PetscCall(PCSetType(pc, PCBCRPOISSON));
      PetscCall(SolveWith(ksp, A, !strcmp(types[t], KSPCHEBYSHEV) ? 30 : 2, types[t]));
      PetscCall(KSPDestroy(&ksp));
    }
  }
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The grid of any level, as ksp ex29 assembles it */
static PetscErrorCode LevelOperator(KSP ksp, Mat J, Mat P, void *ctx)
{
  TestProblem p = {.dim = 2, .dof = 1, .ends = "rrrr", .scale = 1, .row = 2};
  DM da;
  DMDALocalInfo info;

  PetscFunctionBegin;
  (void)J;
  (void)ctx;
  PetscCall(KSPGetDM(ksp, &da));
  PetscCall(DMDAGetLocalInfo(da, &info));
  p.n[0] = info.mx;
  p.n[1] = info.my;
  p.a[0] = (PetscReal)(info.mx - 1) / (PetscReal)(info.my - 1);
  p.a[1] = 1 / p.a[0];
  PetscCall(TestFill(&p, P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The coarse solver of multigrid: as many iterations as with LU there. Galerkin products have nine points: refused */
static PetscErrorCode Multigrid(void)
{
  const char *options[] = {
    "-mg0_pc_type mg -mg0_pc_mg_levels 3 -mg0_mg_coarse_ksp_type preonly -mg0_mg_coarse_pc_type lu",
    "-mg1_pc_type mg -mg1_pc_mg_levels 3 -mg1_mg_coarse_ksp_type preonly -mg1_mg_coarse_pc_type bcrpoisson",
    "-mg2_pc_type mg -mg2_pc_mg_levels 3 -mg2_mg_coarse_ksp_type bcrpoisson",
    "-mg3_pc_type mg -mg3_pc_mg_levels 3 -mg3_mg_coarse_ksp_type preonly -mg3_mg_coarse_pc_type bcrpoisson "
    "-mg3_pc_mg_galerkin both"};
  const char *prefix[] = {"mg0_", "mg1_", "mg2_", "mg3_"};
  PetscInt its[3] = {0, 0, 0};

  PetscFunctionBegin;
  for (PetscInt i = 0; i < 4; ++i) {
    DM da;
    KSP ksp;
    Vec x, b;
    KSPConvergedReason reason;

    PetscCall(DMDACreate2d(PETSC_COMM_SELF, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 65, 33, 1, 1, 1, 1,
                           NULL, NULL, &da));
    PetscCall(DMSetFromOptions(da)); /* -dm_vec_type cuda -dm_mat_type aijcusparse: scripts/check-gpu */
    PetscCall(DMSetUp(da));
    PetscCall(PetscOptionsInsertString(NULL, options[i]));
    PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
    PetscCall(KSPSetOptionsPrefix(ksp, prefix[i]));
    PetscCall(KSPSetDM(ksp, da));
    PetscCall(KSPSetComputeOperators(ksp, LevelOperator, NULL));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(DMCreateGlobalVector(da, &b));
    PetscCall(VecDuplicate(b, &x));
    PetscCall(VecSet(b, 1));
    if (i < 3) {
      PetscCall(KSPSolve(ksp, b, x));
      PetscCall(KSPGetConvergedReason(ksp, &reason));
      PetscCall(KSPGetIterationNumber(ksp, &its[i]));
      Check(reason > 0 && its[i] == its[0], "%s: %s, %d iterations, with LU %d", options[i],
            KSPConvergedReasons[reason], (int)its[i], (int)its[0]);
    } else CheckError(KSPSetUp(ksp), PETSC_ERR_SUP, "stencil");
    PetscCall(TestDestroy(&ksp, &b, &x, &da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two components, the first acts on the second: block Gauss-Seidel with the direct solver in each block is exact */
static PetscErrorCode Fieldsplit(void)
{
  TestProblem p = {
    .dim = 2, .n = {16, 17},
         .dof = 2, .ends = "dddd", .a = {1,  2 },
         .scale = 1, .contrast = 1
  };
  const char *options = "-fn_pc_type fieldsplit -fn_pc_fieldsplit_block_size 2 -fn_pc_fieldsplit_type multiplicative "
                        "-fn_fieldsplit_0_ksp_type preonly -fn_fieldsplit_0_pc_type bcrpoisson "
                        "-fn_fieldsplit_1_ksp_type preonly -fn_fieldsplit_1_pc_type bcrpoisson";
  DM da, one;
  Mat A;
  KSP ksp, *sub;
  PC pc;
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(TestMatrix(&p, &da, &A));
  for (PetscInt row = 1; row < 2 * 16 * 17; row += 2) PetscCall(MatSetValue(A, row, row - 1, -0.5, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(
    NewKSP(da, A, "fs_",
           "-fs_pc_type fieldsplit -fs_pc_fieldsplit_type multiplicative -fs_fieldsplit_0_ksp_type preonly "
           "-fs_fieldsplit_0_pc_type bcrpoisson -fs_fieldsplit_1_ksp_type preonly -fs_fieldsplit_1_pc_type bcrpoisson",
           &ksp));
  PetscCall(SolveWith(ksp, A, 1, "PCFIELDSPLIT with the DM"));
  PetscCall(KSPDestroy(&ksp));
  /* without the DM the blocks have none either: their grids are found, or they are given one */
  PetscCall(MatSetDM(A, NULL));
  PetscCall(NewKSP(NULL, A, "fn_", options, &ksp));
  PetscCall(SolveWith(ksp, A, 1, "PCFIELDSPLIT without the DM"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(NewKSP(NULL, A, "fn_", options, &ksp));
  p.dof = 1;
  PetscCall(TestDMDA(&p, &one));
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCFieldSplitGetSubKSP(pc, &n, &sub));
  for (PetscInt i = 0; i < n; ++i) {
    PetscCall(KSPSetDM(sub[i], one));
    PetscCall(TestKSPSetDMInactive(sub[i]));
  }
  PetscCall(PetscFree(sub));
  PetscCall(SolveWith(ksp, A, 1, "PCFIELDSPLIT with DMs of its own"));
  PetscCall(TestDestroy(&one, &ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One block on one rank is the matrix itself; several have no DM, and their grids are found */
static PetscErrorCode BlockJacobi(void)
{
  TestProblem p = {
    .dim = 2, .n = {16, 18},
         .dof = 1, .ends = "dddd", .a = {1,  2 },
         .scale = 1
  };
  DM da;
  Mat A;
  KSP ksp;

  PetscFunctionBegin;
  PetscCall(TestMatrix(&p, &da, &A));
  PetscCall(NewKSP(da, A, "bj_", "-bj_pc_type bjacobi -bj_sub_ksp_type preonly -bj_sub_pc_type bcrpoisson", &ksp));
  PetscCall(SolveWith(ksp, A, 1, "PCBJACOBI with one block"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(NewKSP(da, A, "bk_",
                   "-bk_pc_type bjacobi -bk_pc_bjacobi_blocks 2 -bk_sub_ksp_type preonly -bk_sub_pc_type bcrpoisson",
                   &ksp));
  PetscCall(SolveWith(ksp, A, 20, "PCBJACOBI with two blocks"));
  PetscCall(TestDestroy(&ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two ranks: a block for each of them, with the DMDA of its slab; overlapping blocks, whose DMDAs
   PETSc makes; PCTELESCOPE to one of them; and plain */
static PetscErrorCode TwoRanks(void)
{
  const PetscInt n = 16;
  DM da, slab;
  DMDALocalInfo info;
  Mat A;
  KSP ksp, *sub;
  PC pc;
  PetscInt its[2], nsub, first;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n * size, 1, size,
                         1, 1, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da)); /* -dm_vec_type cuda -dm_mat_type aijcusparse: scripts/check-gpu */
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(DMDAGetLocalInfo(da, &info));
  for (PetscInt j = info.ys; j < info.ys + info.ym; ++j) {
    for (PetscInt i = 0; i < n; ++i) {
      for (PetscInt c = 0; c < 5; ++c) {
        MatStencil row = {0}, col = {0};
        PetscScalar v = c ? -1 : 4;

        row.i = i;
        row.j = j;
        col.i = i + (c == 1) - (c == 2);
        col.j = j + (c == 3) - (c == 4);
        if (col.i >= 0 && col.i < n && col.j >= 0 && col.j < n * size)
          PetscCall(MatSetValuesStencil(A, 1, &row, 1, &col, &v, INSERT_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));

  PetscCall(NewKSP(da, A, "plain_", "-plain_ksp_type bcrpoisson", &ksp));
  /* its residuals end at 2e-6 */
  if (sizeof(PetscReal) < sizeof(double)) PetscCall(KSPSetTolerances(ksp, (PetscReal)1e-5, 0, 1e5, 100));
  PetscCall(SolveWith(ksp, A, 1, "KSPBCRPOISSON on all ranks"));
  PetscCall(KSPDestroy(&ksp));

  PetscCall(NewKSP(da, A, "r0_", "-r0_pc_type bjacobi -r0_sub_ksp_type preonly -r0_sub_pc_type lu", &ksp));
  PetscCall(SolveWith(ksp, A, 100, "PCBJACOBI, LU"));
  PetscCall(KSPGetIterationNumber(ksp, &its[0]));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(NewKSP(da, A, "r1_", "-r1_pc_type bjacobi -r1_sub_ksp_type preonly -r1_sub_pc_type bcrpoisson", &ksp));
  PetscCall(SolveWith(ksp, A, 100, "PCBJACOBI, grids found in the blocks"));
  PetscCall(KSPGetIterationNumber(ksp, &its[1]));
  Check(its[1] == its[0], "PCBJACOBI: %d iterations, with LU in the blocks %d", (int)its[1], (int)its[0]);
  PetscCall(DMDACreate2d(PETSC_COMM_SELF, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, info.ym, 1, 1, 1, 1,
                         NULL, NULL, &slab));
  PetscCall(DMSetFromOptions(slab)); /* -dm_vec_type cuda -dm_mat_type aijcusparse: scripts/check-gpu */
  PetscCall(DMSetUp(slab));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCBJacobiGetSubKSP(pc, &nsub, &first, &sub));
  PetscCall(KSPSetDM(sub[0], slab));
  PetscCall(TestKSPSetDMInactive(sub[0]));
  PetscCall(SolveWith(ksp, A, 100, "PCBJACOBI"));
  PetscCall(KSPGetIterationNumber(ksp, &its[1]));
  Check(its[1] == its[0], "PCBJACOBI: %d iterations, with LU in the blocks %d", (int)its[1], (int)its[0]);
  PetscCall(KSPDestroy(&ksp));
  PetscCall(DMDestroy(&slab));

  /* more than one subdomain per rank PETSc itself does not manage */
  PetscCall(DMDASetOverlap(da, 2, 2, 2));
  PetscCall(
    NewKSP(da, A, "a0_", "-a0_pc_type asm -a0_pc_asm_dm_subdomains -a0_sub_ksp_type preonly -a0_sub_pc_type lu", &ksp));
  PetscCall(SolveWith(ksp, A, 100, "PCASM, LU"));
  PetscCall(KSPGetIterationNumber(ksp, &its[0]));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(NewKSP(da, A, "a1_",
                   "-a1_pc_type asm -a1_pc_asm_dm_subdomains -a1_sub_ksp_type preonly -a1_sub_pc_type bcrpoisson",
                   &ksp));
  PetscCall(SolveWith(ksp, A, 100, "PCASM"));
  PetscCall(KSPGetIterationNumber(ksp, &its[1]));
  Check(its[1] == its[0] && its[0] > 1, "PCASM: %d iterations, with LU in the blocks %d", (int)its[1], (int)its[0]);
  PetscCall(KSPDestroy(&ksp));
  /* blocks that the graph of the matrix makes are slabs, whose grids are found */
  PetscCall(NewKSP(da, A, "a2_",
                   "-a2_pc_type asm -a2_pc_asm_overlap 2 -a2_sub_ksp_type preonly -a2_sub_pc_type bcrpoisson", &ksp));
  PetscCall(SolveWith(ksp, A, 100, "PCASM, grids found in the subdomains"));
  PetscCall(KSPDestroy(&ksp));

  PetscCall(NewKSP(da, A, "tl_",
                   "-tl_pc_type telescope -tl_pc_telescope_reduction_factor 2 -tl_telescope_ksp_type preonly "
                   "-tl_telescope_pc_type bcrpoisson",
                   &ksp));
  PetscCall(SolveWith(ksp, A, 1, "PCTELESCOPE"));
  PetscCall(TestDestroy(&ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt size;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size == 1) {
    PetscCall(Krylov());
    PetscCall(Multigrid());
    PetscCall(Fieldsplit());
    PetscCall(BlockJacobi());
  } else PetscCall(TwoRanks());
  PetscCall(PetscFinalize());
  return TestEnd();
}
