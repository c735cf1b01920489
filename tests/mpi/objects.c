/*
  ranks: 1 2 3 4
  quick: 2

  The objects across ranks: communicators that are not PETSC_COMM_WORLD, several solvers alive at
  once, KSPBCRPOISSON, preconditioned Krylov methods, matrix types, no matrix at all, options, what
  PCView() says.
*/
#include "distribute.h"
#include <stdlib.h>

static PetscMPIInt rank, size;

static PetscReal Bound(void)
{
  return sizeof(PetscReal) < sizeof(double) ? (PetscReal)5e-4 : (PetscReal)1e-11;
}

static PetscReal Smooth(PetscReal x, PetscReal y, PetscReal z, void *ctx)
{
  (void)ctx;
  return PetscExpReal(PetscSinReal(6 * x) * PetscCosReal(5 * y) + z / 2);
}

/* The most nearly square cut of the first two axes */
static void SquareCut(PetscMPIInt ranks, PetscInt parts[3])
{
  parts[0] = 1;
  for (PetscInt m = 1; m * m <= (PetscInt)ranks; ++m)
    if ((PetscInt)ranks % m == 0) parts[0] = m;
  parts[1] = (PetscInt)ranks / parts[0];
  parts[2] = 1;
}

static PetscErrorCode CheckSolution(Case *c, const char *how)
{
  PetscReal difference;

  PetscFunctionBegin;
  PetscCall(CaseDifference(c, c->x, c->y1, &difference));
  Check(difference <= Bound(), "rank %d: %s, %s: differs from LU on one rank by %g", (int)rank, c->what, how,
        (double)difference);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y1 = A1^-1 b1 by LU, b = this rank's part of b1 */
static PetscErrorCode Reference(Case *c)
{
  KSP lu;

  PetscFunctionBegin;
  PetscCall(TestReference(c->A1, &lu));
  PetscCall(KSPSolve(lu, c->b1, c->y1));
  PetscCall(KSPDestroy(&lu));
  PetscCall(CaseDeal(c, c->b1, c->b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NewKSP(const Case *c, const char *type, KSP *ksp)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)c->A), ksp));
  PetscCall(KSPSetOperators(*ksp, c->A, c->A));
  PetscCall(KSPSetDM(*ksp, c->da));
  PetscCall(TestKSPSetDMInactive(*ksp));
  PetscCall(KSPSetType(*ksp, type));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCBCRPOISSON));
  PetscCall(
    KSPSetTolerances(*ksp, sizeof(PetscReal) < sizeof(double) ? 1e-5 : 1e-12, PETSC_DEFAULT, PETSC_DEFAULT, 200));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One PC for grids of one size that lie on the ranks in one way after another; several columns at
   once, in arrays whose columns are apart */
static PetscErrorCode Layouts(void)
{
  TestProblem p = {
    .dim = 2,
    .n = {16, 14},
    .dof = 2,
    .ends = "ddrn",
    .a = {1,  2 },
    .shift = 0.5,
    .scale = 1,
    .row = 2,
    .contrast = 0.5
  };
  Case c;
  PC pc;

  PetscFunctionBegin;
  PetscCall(CaseCreate(&p, &c));
  for (int k = 0; k < 4; ++k) {
    PetscInt parts[3] = {1, (PetscInt)size, 1}, l[3][8] = {{p.n[0]}, {p.n[1]}, {1}};
    const PetscInt *pl[3] = {l[0], l[1], l[2]};
    Mat B, X;

    if (k > 1) SquareCut(size, parts);
    for (PetscInt d = 0; d < 2; ++d) { /* the first rank, or the last one, has most of the rows */
      for (PetscInt q = 0; q < parts[d]; ++q) l[d][q] = 2;
      l[d][k % 2 ? 0 : parts[d] - 1] += p.n[d] - 2 * parts[d];
    }
    PetscCall(CaseCut(&c, PETSC_COMM_WORLD, parts, pl));
    if (!k) PetscCall(CasePC(c.da, c.A, &pc));
    PetscCall(PCReset(pc)); /* PETSc wants it where local sizes change */
    PetscCall(PCSetDM(pc, c.da));
    PetscCall(PCSetOperators(pc, c.A, c.A));
    PetscCall(Reference(&c));
    PetscCall(PCSetUp(pc));
    PetscCall(PCApply(pc, c.b, c.x));
    PetscCall(CheckSolution(&c, "another layout"));
    for (int side = 0; side < 2; ++side) {
      Mat *M = side ? &X : &B;

      PetscCall(MatCreate(PETSC_COMM_WORLD, M));
      PetscCall(MatSetSizes(*M, c.n, PETSC_DECIDE, PETSC_DETERMINE, 3));
      PetscCall(MatSetType(*M, MATDENSE));
      PetscCall(MatDenseSetLDA(*M, c.n + 1 + 2 * side));
      PetscCall(MatSetUp(*M));
      PetscCall(MatAssemblyBegin(*M, MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(*M, MAT_FINAL_ASSEMBLY));
    }
    for (PetscInt j = 0; j < 3; ++j) {
      Vec v;

      PetscCall(MatDenseGetColumnVecWrite(B, j, &v));
      PetscCall(VecCopy(c.b, v));
      PetscCall(VecScale(v, (PetscScalar)(PetscReal)(j + 1)));
      PetscCall(MatDenseRestoreColumnVecWrite(B, j, &v));
    }
    PetscCall(PCMatApply(pc, B, X));
    for (PetscInt j = 0; j < 3; ++j) {
      Vec v;

      PetscCall(MatDenseGetColumnVecRead(X, j, &v));
      PetscCall(VecCopy(v, c.x));
      PetscCall(VecScale(c.x, 1 / (PetscScalar)(PetscReal)(j + 1)));
      PetscCall(MatDenseRestoreColumnVecRead(X, j, &v));
      PetscCall(CheckSolution(&c, "a column of several"));
    }
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&X));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(CaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solvers on all ranks, on each half of them and on single ranks, alive together and used in turns */
static PetscErrorCode Communicators(void)
{
  TestProblem p[3] = {
    {.dim = 2,        .n = {12, 13}, .dof = 1,         .ends = "ddrn",   .a = {1, 2}, .shift = 0.5, .scale = 1,    .row = 2},
    {        .dim = 3, .n = {7, 6, 8},      .dof = 1, .ends = "ppccrd", .a = {1, 1.5, 1},  .shift = 1,  .scale = -1,      .row = 2        },
    { .dim = 2,       .n = {9, 11},      .dof = 2,    .ends = "cDdd",       .a = {1, 0.5},  .shift = 0,     .scale = 1, .row = 2,         .contrast = 1}
  };
  MPI_Comm comm[3] = {MPI_COMM_NULL, MPI_COMM_NULL, PETSC_COMM_SELF};
  Case c[3];
  PC pc[3];

  PetscFunctionBegin;
  /* all ranks in another order; the even and the odd ones */
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, 0, -(int)rank, &comm[0]));
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, (int)rank % 2, (int)rank, &comm[1]));
  for (int k = 0; k < 3; ++k) {
    PetscInt parts[3];
    PetscMPIInt ranks;

    PetscCallMPI(MPI_Comm_size(comm[k], &ranks));
    SquareCut(ranks, parts);
    PetscCall(CaseCreate(&p[k], &c[k]));
    PetscCall(CaseCut(&c[k], comm[k], parts, NULL));
    PetscCall(Reference(&c[k]));
    PetscCall(CasePC(c[k].da, c[k].A, &pc[k]));
    PetscCall(PCSetUp(pc[k]));
  }
  for (int turn = 0; turn < 3; ++turn) {
    for (int k = 2; k >= 0; --k) {
      PetscCall(VecSet(c[k].x, 0));
      PetscCall(PCApply(pc[k], c[k].b, c[k].x));
      PetscCall(CheckSolution(&c[k], "several solvers alive"));
    }
  }
  for (int k = 0; k < 3; ++k) {
    PetscCall(PCDestroy(&pc[k]));
    PetscCall(CaseDestroy(&c[k]));
  }
  PetscCallMPI(MPI_Comm_free(&comm[0]));
  PetscCallMPI(MPI_Comm_free(&comm[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Krylov(void)
{
  static const char *const types[] = {KSPBCRPOISSON, KSPPREONLY, KSPCG, KSPGMRES, KSPRICHARDSON};

  PetscFunctionBegin;
  for (PetscInt variable = 0; variable < 2; ++variable) {
    for (PetscInt dim = 2; dim <= 3; ++dim) {
      TestProblem p = {
        .dim = dim, .n = {13, 12, 9},
             .dof = 1, .ends = "ddccDd", .a = {1,  2,  1},
             .shift = 0.5, .scale = 1, .row = 2
      };
      Case c;
      PetscInt parts[3];

      if (variable) p.k = Smooth;
      SquareCut(size, parts);
      PetscCall(CaseCreate(&p, &c));
      PetscCall(CaseCut(&c, PETSC_COMM_WORLD, parts, NULL));
      PetscCall(Reference(&c));
      for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); ++t) {
        KSP ksp, one;
        PetscInt its, its1;
        KSPConvergedReason reason;
        PC pc;

        if (variable && t != 2 && t != 3) continue;
        PetscCall(NewKSP(&c, types[t], &ksp));
        PetscCall(KSPSolve(ksp, c.b, c.x));
        PetscCall(KSPGetConvergedReason(ksp, &reason));
        PetscCall(KSPGetIterationNumber(ksp, &its));
        Check(reason > 0, "rank %d: %s, KSP %s: reason %d", (int)rank, c.what, types[t], (int)reason);
        PetscCall(CheckSolution(&c, types[t]));
        /* as many iterations as on one rank */
        PetscCall(TestKSPCreate(c.A1, types[t], &one, &pc));
        PetscCall(
          KSPSetTolerances(one, sizeof(PetscReal) < sizeof(double) ? 1e-5 : 1e-12, PETSC_DEFAULT, PETSC_DEFAULT, 200));
        PetscCall(KSPSolve(one, c.b1, c.x1));
        PetscCall(KSPGetIterationNumber(one, &its1));
        Check(its - its1 <= 1 && its1 - its <= 1 && its <= (variable ? 40 : 3),
              "rank %d: %s, KSP %s: %d iterations, on one rank %d", (int)rank, c.what, types[t], (int)its, (int)its1);
        PetscCall(KSPDestroy(&one));
        PetscCall(KSPDestroy(&ksp));
      }
      PetscCall(CaseDestroy(&c));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The constant that is removed is that of the whole right-hand side, on every rank */
static PetscErrorCode Singular(void)
{
  static const char *const ends[] = {"ccccpp", "nnppcc", "ppppnn"};

  PetscFunctionBegin;
  for (size_t e = 0; e < PETSC_STATIC_ARRAY_LENGTH(ends); ++e) {
    for (PetscInt dim = 2; dim <= 3; ++dim) {
      TestProblem p = {
        .dim = dim, .n = {9, 8, 6},
             .dof = 1, .ends = ends[e], .a = {1, 2, 1},
             .shift = 0, .scale = 1, .row = 2
      };
      PetscInt parts[3] = {0, 0, 0};
      Case c;
      PC pc, one;

      PetscCall(CaseCreate(&p, &c));
      PetscCall(CasePC(c.da1, c.A1, &one));
      PetscCall(VecShift(c.b1, 3));
      PetscCall(PCApply(one, c.b1, c.y1));
      while (TestNextCut(&p, (PetscInt)size, parts)) {
        PetscReal removed, removed1, difference;

        PetscCall(CaseCut(&c, PETSC_COMM_WORLD, parts, NULL));
        PetscCall(CaseDeal(&c, c.b1, c.b));
        PetscCall(CasePC(c.da, c.A, &pc));
        PetscCall(PCApply(pc, c.b, c.x));
        PetscCall(CaseDifference(&c, c.x, c.y1, &difference));
        PetscCall(PCBCRPoissonGetRemovedConstant(pc, &removed));
        PetscCall(PCBCRPoissonGetRemovedConstant(one, &removed1));
        Check(difference <= Bound() * 10, "rank %d: %s: singular, differs from one rank by %g", (int)rank, c.what,
              (double)difference);
        Check(PetscAbsReal(removed - removed1) <= Bound() * 3, "rank %d: %s: removed %g, on one rank %g", (int)rank,
              c.what, (double)removed, (double)removed1);
        PetscCall(PCDestroy(&pc));
      }
      PetscCall(PCDestroy(&one));
      PetscCall(CaseDestroy(&c));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Formats of matrices, and none with the operator given */
static PetscErrorCode Matrices(void)
{
  static const char *const types[] = {MATMPIBAIJ, MATMPISBAIJ, MATSHELL};
  const PCBCRPoissonEnd ends[] = {PCBCRPOISSON_DIRICHLET, PCBCRPOISSON_DIRICHLET, PCBCRPOISSON_CELL_NEUMANN,
                                  PCBCRPOISSON_CELL_DIRICHLET};
  const PetscReal h[] = {1, 0.5};
  TestProblem p = {
    .dim = 2, .n = {10, 9},
         .dof = 1, .ends = "ddcD", .a = {1,  4},
         .shift = 0.5, .scale = 1, .row = 2
  };
  PetscInt parts[3] = {0, 0, 0};
  Case c;

  PetscFunctionBegin;
  PetscCall(CaseCreate(&p, &c));
  while (TestNextCut(&p, (PetscInt)size, parts)) {
    PetscCall(CaseCut(&c, PETSC_COMM_WORLD, parts, NULL));
    PetscCall(Reference(&c));
    for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); ++t) {
      Mat B;
      PC pc;

      if (t == 2) PetscCall(TestShell(c.A, &B));
      else {
        if (t == 1) PetscCall(MatSetOption(c.A, MAT_SYMMETRIC, PETSC_TRUE));
        if (size == 1) continue; /* tests/petsc has those of one rank */
        PetscCall(MatConvert(c.A, types[t], MAT_INITIAL_MATRIX, &B));
      }
      PetscCall(CasePC(c.da, B, &pc));
      if (t == 2) PetscCall(PCBCRPoissonSetOperator(pc, 2, h, ends, p.shift, p.scale));
      PetscCall(VecSet(c.x, 1));
      PetscCall(PCApply(pc, c.b, c.x));
      PetscCall(CheckSolution(&c, types[t]));
      PetscCall(PCDestroy(&pc));
      PetscCall(MatDestroy(&B));
    }
  }
  PetscCall(CaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Plans by options, the optimizer */
static PetscErrorCode Options(void)
{
  static const char *const options[] = {"-pc_bcrpoisson_radix 2",       "-pc_bcrpoisson_radix 8",
                                        "-pc_bcrpoisson_schedule 8,16", "-pc_bcrpoisson_tune on",
                                        "-pc_bcrpoisson_radix 1000",    "-pc_bcrpoisson_precision mixed"};
  TestProblem p = {
    .dim = 2, .n = {20, 37},
         .dof = 1, .ends = "ddrr", .a = {1,  2 },
         .shift = 0, .scale = 1, .row = 2
  };
  PetscInt parts[3] = {0, 0, 0};
  Case c;

  PetscFunctionBegin;
  PetscCall(CaseCreate(&p, &c));
  while (TestNextCut(&p, (PetscInt)size, parts)) {
    PetscCall(CaseCut(&c, PETSC_COMM_WORLD, parts, NULL));
    PetscCall(Reference(&c));
    for (size_t o = 0; o < PETSC_STATIC_ARRAY_LENGTH(options); ++o) {
      PC pc;
      PetscOptions db;

      PetscCall(PetscOptionsCreate(&db));
      PetscCall(PetscOptionsInsertString(db, options[o]));
      PetscCall(CasePC(c.da, c.A, &pc));
      PetscCall(PetscObjectSetOptions((PetscObject)pc, db));
      PetscCall(PCSetFromOptions(pc));
      PetscCall(PCApply(pc, c.b, c.x));
      PetscCall(CheckSolution(&c, options[o]));
      PetscCall(PCDestroy(&pc));
      PetscCall(PetscOptionsDestroy(&db));
    }
  }
  PetscCall(CaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What PCView() says about slabs; rank 0 has the text */
static PetscErrorCode View(void)
{
  TestProblem p = {
    .dim = 2, .n = {12, 13},
         .dof = 1, .ends = "ddcc", .a = {1,  4 },
         .shift = 0.5, .scale = 1, .row = 2
  };
  PetscInt parts[3] = {0, 0, 0};
  Case c;

  PetscFunctionBegin;
  if (size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CaseCreate(&p, &c));
  while (TestNextCut(&p, (PetscInt)size, parts)) {
    PC pc;
    PetscViewer viewer;
    FILE *file = rank ? NULL : tmpfile();
    char text[8192] = "", words[64];

    PetscCall(CaseCut(&c, PETSC_COMM_WORLD, parts, NULL));
    PetscCall(DMSetOptionsPrefix(c.da, "mine_"));
    PetscCall(CasePC(c.da, c.A, &pc));
    PetscCall(PCSetUp(pc));
    PetscCall(PetscViewerASCIIOpenWithFILE(PETSC_COMM_WORLD, file, &viewer));
    PetscCall(PetscViewerPushFormat(viewer, PETSC_VIEWER_ASCII_INFO_DETAIL));
    PetscCall(PCView(pc, viewer));
    PetscCall(PetscViewerPopFormat(viewer));
    PetscCall(PetscViewerDestroy(&viewer));
    if (!rank) {
      size_t length;

      (void)fflush(file);
      rewind(file);
      length = fread(text, 1, sizeof(text) - 1, file);
      text[length] = 0;
      (void)fclose(file);
      PetscCall(PetscSNPrintf(words, sizeof(words), "ranks: %d, slabs of", (int)size));
      Check(strstr(text, words), "PCView() lacks '%s':\n%s", words, text);
      if (parts[0] == size && p.n[1] < 2 * (PetscInt)size) /* slabs along x are solved twice, and it is said why */
        Check(strstr(text, "coupling: not by one pass"), "PCView() lacks why a rank solves twice:\n%s", text);
      if (parts[0] > 1 && parts[1] > 1) {
        Check(strstr(text, "redistributed: the DMDA is cut 2 x 2 x 1"), "PCView() lacks that vectors are moved:\n%s",
              text);
        Check(strstr(text, " -mine_da_processors_x 1 -mine_da_processors_y 4"), "PCView() lacks what avoids that:\n%s",
              text);
        /* each rank keeps one of the parts of 3 or 4 rows of its half of the columns: 6 x 7 and 6 x
           6 nodes, of which 6 x 4 .. remain */
        Check(strstr(text, "bytes between ranks"), "PCView() lacks what that costs:\n%s", text);
      } else if (parts[0] == size && p.n[1] >= 2 * (PetscInt)size) { /* turned, on one node */
        Check(strstr(text, "redistributed: slabs along x would be solved twice"),
              "PCView() lacks why vectors move:\n%s", text);
      } else
        Check(strstr(text, "as the DMDA has them") && !strstr(text, "redistributed"), "PCView() of slabs in place:\n%s",
              text);
    }
    PetscCall(PCDestroy(&pc));
  }
  PetscCall(CaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  int bad;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(Communicators());
  PetscCall(Layouts());
  PetscCall(Krylov());
  PetscCall(Singular());
  PetscCall(Matrices());
  PetscCall(Options());
  PetscCall(View());
  bad = TestEndAll(PETSC_COMM_WORLD);
  PetscCall(PetscFinalize());
  return bad;
}
