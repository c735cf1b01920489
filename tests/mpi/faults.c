/*
  Matrices that are near to a singular operator, or to one of another size, without being it: a
  Krylov method that says it has converged has to be right, within few iterations, and one solve
  without iterations is refused.

  ranks: 1 2 3
  quick: 1

  Each case is a cell-centred Laplacian, all ends Neumann or periodic (-1/h^2 for each neighbour),
  which something small makes regular; its solution is held against that of PETSc's LU, and its
  residual taken anew.
*/
#include "../petsc/testing.h"
#include "../check.h"
#include <petscdmda.h>
#include <petscts.h>

typedef enum {
  CORNER_IDENTITY, /* row and column of a corner those of the identity */
  CORNER_ROW,      /* the row only */
  INSIDE_IDENTITY, /* row and column of a cell inside */
  INSIDE_OPPOSITE, /* the same, of the sign that the rest of the matrix does not have */
  CORNER_DOUBLED,  /* twice the diagonal of a corner */
  CORNER_HUGE,     /* 1e10 on the diagonal of a corner */
  INSIDE_HUGE,     /* 1e8 on that of a cell inside */
  ROBIN,           /* du/dn + c u = 0 on the ends of two axes, c not the same along them, which would be separable */
  WALL_CELL,       /* Dirichlet on one cell of a wall */
  PENALTY_SOFT,    /* 1e8 on the diagonals of the walls of two axes */
  PENALTY_HARD,    /* 1e12 */
  NEARLY_SINGULAR, /* 1e-11 of the diagonal of one cell, which is less than a coefficient may differ by */
  CASES
} Case;

static const char *const names[] = {"corner row and column of the identity",
                                    "corner row of the identity",
                                    "row and column of the identity inside",
                                    "the same with the other sign",
                                    "corner doubled",
                                    "1e10 on a corner",
                                    "1e8 on a cell inside",
                                    "convective walls",
                                    "one cell of a wall held",
                                    "walls with a penalty of 1e8",
                                    "walls with a penalty of 1e12",
                                    "1e-11 of one diagonal"};

/* -scale times the Laplacian of n cells (1/h = n[0]), and what the case does to it */
static PetscErrorCode Assemble(Case what, PetscInt dim, const PetscInt n[3], PetscBool periodic, PetscReal scale,
                               DM *da, Mat *A)
{
  const DMBoundaryType b = periodic ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE;
  DMDALocalInfo info;
  MatStencil row, col[7];
  PetscScalar v[7];
  PetscInt at[3];

  PetscFunctionBegin;
  if (dim == 2)
    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, b, b, DMDA_STENCIL_STAR, n[0], n[1], PETSC_DECIDE, PETSC_DECIDE, 1, 1,
                           NULL, NULL, da));
  else
    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, b, b, b, DMDA_STENCIL_STAR, n[0], n[1], n[2], PETSC_DECIDE, PETSC_DECIDE,
                           PETSC_DECIDE, 1, 1, NULL, NULL, NULL, da));
  PetscCall(DMSetFromOptions(*da));
  PetscCall(DMSetUp(*da));
  PetscCall(DMCreateMatrix(*da, A));
  PetscCall(DMDAGetLocalInfo(*da, &info));
  for (PetscInt d = 0; d < 3; d++)
    at[d] = what == INSIDE_IDENTITY || what == INSIDE_OPPOSITE || what == INSIDE_HUGE ? n[d] / 2 : 0;
  if (what == WALL_CELL) at[1] = n[1] / 3;
#define IS(i, j, k) \
  (((i) + n[0]) % n[0] == at[0] && ((j) + n[1]) % n[1] == at[1] && (dim == 2 || ((k) + n[2]) % n[2] == at[2]))
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++) {
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
        const PetscReal h2 = (PetscReal)(n[0] * n[0]);
        PetscInt m = 1;
        PetscReal diag = 0;
        const PetscBool own = (PetscBool)IS(i, j, k),
                        identity =
                          (PetscBool)(what == CORNER_IDENTITY || what == INSIDE_IDENTITY || what == INSIDE_OPPOSITE);

        row.c = 0, row.i = i, row.j = j, row.k = k;
        col[0] = row;
        for (PetscInt d = 0; d < dim; d++) {
          for (PetscInt s = -1; s < 2; s += 2) {
            PetscInt to[3] = {i, j, k};

            to[d] += s;
            if (!periodic && (to[d] < 0 || to[d] >= n[d])) {
              if (what == ROBIN && d < 2) diag += (PetscReal)0.1 * (PetscReal)(n[0] * (1 + (i + j + k) % 3));
              if ((what == PENALTY_SOFT || what == PENALTY_HARD) && d < 2)
                diag = what == PENALTY_SOFT ? (PetscReal)1e8 : (PetscReal)1e12;
              if (what == WALL_CELL && own && d == 0) diag += 2 * h2;
              continue;
            }
            diag += h2;
            col[m] = row, col[m].i = to[0], col[m].j = to[1], col[m].k = to[2];
            v[m] = (own && (identity || what == CORNER_ROW)) || (identity && IS(to[0], to[1], to[2])) ? 0 : -scale * h2;
            m++;
          }
        }
        if (own && (what == CORNER_DOUBLED)) diag *= 2;
        if (own && (what == CORNER_HUGE)) diag += (PetscReal)1e10;
        if (own && (what == INSIDE_HUGE)) diag += (PetscReal)1e8;
        if (own && (what == NEARLY_SINGULAR)) diag *= 1 + (PetscReal)1e-11;
        v[0] = scale * diag;
        if (own && (identity || what == CORNER_ROW)) v[0] = what == INSIDE_OPPOSITE && scale > 0 ? -1 : 1;
        PetscCall(MatSetValuesStencil(*A, 1, &row, m, col, v, INSERT_VALUES));
      }
    }
  }
#undef IS
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* |b - A x| / (|A| |x| + |b|), largest norms */
static PetscErrorCode Residual(Mat A, Vec b, Vec x, PetscReal *residual)
{
  Vec r;
  PetscReal norm[3];

  PetscFunctionBegin;
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1, b));
  PetscCall(VecNorm(r, NORM_INFINITY, residual));
  PetscCall(VecNorm(b, NORM_INFINITY, &norm[0]));
  PetscCall(VecNorm(x, NORM_INFINITY, &norm[1]));
  PetscCall(MatNorm(A, NORM_INFINITY, &norm[2]));
  *residual /= norm[0] + norm[1] * norm[2];
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LU(Mat A, Vec b, Vec x)
{
  KSP lu;

  PetscFunctionBegin;
  PetscCall(TestReference(A, &lu));
  PetscCall(KSPSolve(lu, b, x));
  PetscCall(KSPDestroy(&lu));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One row differs from the operator: solved directly */
static PetscErrorCode Direct(Case what, Mat A, Vec b, Vec x, Vec ref)
{
  KSP ksp;
  PC pc;
  KSPConvergedReason reason;
  PetscReal residual, error = 0;
  PetscInt rows, solves;

  PetscFunctionBegin;
  PetscCall(TestKSPCreate(A, KSPPREONLY, &ksp, &pc));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PCBCRPoissonGetCapacitanceSolves(pc, &rows, NULL));
  Check((rows == 0) == (what == ROBIN || what == PENALTY_SOFT || what == PENALTY_HARD || what == NEARLY_SINGULAR),
        "%s: %d rows differ", names[what], (int)rows);
  for (int again = 0; again < 3 && rows; again++) {
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(Residual(A, b, x, &residual));
    PetscCall(TestDifference(x, ref, &error));
    PetscCall(PCBCRPoissonGetCapacitanceSolves(pc, &rows, &solves));
    Check(reason > 0 && rows > 0 && solves <= 12 && residual < 1e-13 && error < (what == NEARLY_SINGULAR ? 0.05 : 1e-8),
          "%s, direct: %s, %d rows, %d solves, residual %g, differs by %g from LU", names[what],
          KSPConvergedReasons[reason], (int)rows, (int)solves, (double)residual, (double)error);
  }
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(Case what, PetscInt dim, PetscBool periodic, PetscReal scale, PetscInt *most)
{
  static const PetscInt grids[2][3] = {
    {20, 16, 1},
    {10, 9,  8}
  };
  static const KSPType types[] = {KSPCG, KSPGMRES, KSPBCGS, KSPFGMRES};
  static const PCBCRPoissonFit fits[] = {PCBCRPOISSON_FIT_AUTO, PCBCRPOISSON_FIT_SCALED, PCBCRPOISSON_FIT_AVERAGE};
  DM da;
  Mat A;
  Vec b, x, ref;

  PetscFunctionBegin;
  PetscCall(Assemble(what, dim, grids[dim - 2], periodic, scale, &da, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &ref));
  PetscCall(TestRandom(b));
  PetscCall(LU(A, b, ref));
  PetscCall(Direct(what, A, b, x, ref));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
    for (size_t f = 0; f < PETSC_STATIC_ARRAY_LENGTH(fits); f++) {
      KSP ksp;
      PC pc;
      KSPConvergedReason reason;
      PetscReal residual, error = 0;
      PetscInt its;

      /* not symmetric, or of both signs */
      if (t == 0 && (what == CORNER_ROW || what == INSIDE_OPPOSITE ||
                     ((what == INSIDE_IDENTITY || what == CORNER_IDENTITY) && scale < 0)))
        continue;
      PetscCall(TestKSPCreate(A, types[t], &ksp, &pc));
      PetscCall(KSPSetTolerances(ksp, 1e-10, 0, 1e10, 200));
      PetscCall(PCBCRPoissonSetFit(pc, fits[f]));
      PetscCall(PCBCRPoissonSetCapacitance(pc, PCBCRPOISSON_CAPACITANCE_OFF));
      PetscCall(KSPSolve(ksp, b, x));
      PetscCall(KSPGetConvergedReason(ksp, &reason));
      PetscCall(KSPGetIterationNumber(ksp, &its));
      PetscCall(Residual(A, b, x, &residual));
      PetscCall(TestDifference(x, ref, &error));
      *most = PetscMax(*most, its);
      Check(reason > 0 && residual < 1e-9 && error < (what == NEARLY_SINGULAR ? 0.05 : 1e-5),
            "%s, %d-D%s, scale %g: %s, fit %s: %s after %d iterations, residual %g, differs by %g from LU", names[what],
            (int)dim, periodic ? ", periodic" : "", (double)scale, types[t], PCBCRPoissonFits[fits[f]],
            KSPConvergedReasons[reason], (int)its, (double)residual, (double)error);
      if (t == 0 && f == 0) { /* one solve is not the solution */
        PetscCall(KSPSetType(ksp, KSPPREONLY));
        for (PetscInt again = 0; again < 4; again++) CheckError(KSPSolve(ksp, b, x), PETSC_ERR_SUP, "KSPPREONLY");
        PetscCall(PCBCRPoissonSetFit(pc, PCBCRPOISSON_FIT_AVERAGE)); /* but what was asked for */
        PetscCall(KSPSolve(ksp, b, x));
        PetscCall(PCBCRPoissonSetFit(pc, PCBCRPOISSON_FIT_AUTO));
        PetscCall(KSPSetType(ksp, KSPBCRPOISSON));
        PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
        CheckError(KSPSolve(ksp, b, x), PETSC_ERR_SUP, "KSPPREONLY");
      }
      PetscCall(KSPDestroy(&ksp));
    }
  }
  PetscCall(TestDestroy(&b, &x, &ref, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Row sums are zero, but rows 1 and 2 of x are coupled one way, or not at all: the null space is
   not the constant alone, or not that of the transpose */
static PetscErrorCode OneWay(void)
{
  PetscFunctionBegin;
  for (int kind = 0; kind < 2; kind++) {
    for (int g = 0; g < 2; g++) {
      const PetscInt n[2] = {g ? 9 : 3, g ? 6 : 1};
      DM da;
      Mat A;
      Vec b, x, u;
      KSP ksp;
      PC pc;
      DMDALocalInfo info;

      PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n[0], n[1],
                             PETSC_DECIDE, 1, 1, 1, NULL, NULL, &da));
      PetscCall(DMSetFromOptions(da));
      PetscCall(DMSetUp(da));
      PetscCall(DMCreateMatrix(da, &A));
      PetscCall(DMDAGetLocalInfo(da, &info));
      for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
        for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
          MatStencil row = {0, j, i, 0}, col[5] = {row, row, row, row, row};
          PetscScalar v[5] = {0};
          PetscInt m = 1;

          for (PetscInt q = 0; q < 4; q++) {
            const PetscInt to[2] = {i + (q == 0) - (q == 1), j + (q == 2) - (q == 3)};
            PetscReal a = (PetscReal)1.5;

            if (to[0] < 0 || to[0] >= n[0] || to[1] < 0 || to[1] >= n[1]) continue;
            if ((i == 1 && q == 0) || (kind && i == 2 && q == 1)) a = 0;
            col[m].i = to[0];
            col[m].j = to[1];
            v[m++] = -a;
            v[0] += a;
          }
          PetscCall(MatSetValuesStencil(A, 1, &row, m, col, v, INSERT_VALUES));
        }
      }
      PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
      PetscCall(MatCreateVecs(A, &x, &b));
      PetscCall(TestRandom(b));
      PetscCall(TestKSPCreate(A, KSPPREONLY, &ksp, &pc));
      if (kind && !g) { /* the last row and its column are empty then: u = 0 there */
        const PetscScalar *v;

        PetscCall(KSPSolve(ksp, b, x));
        PetscCall(VecGetArrayRead(x, &v));
        for (PetscInt i = info.xs; i < info.xs + info.xm; i++)
          Check(i < 2 ? !PetscIsInfOrNanScalar(v[i - info.xs]) : v[i - info.xs] == (PetscScalar)0,
                "row %d beside an empty one, or empty: %g", (int)i, (double)PetscRealPart(v[i - info.xs]));
        PetscCall(VecRestoreArrayRead(x, &v));
      } else if (kind) { /* two parts, each with a null vector: right-hand sides with a part in one of them are told */
        KSPConvergedReason reason;
        PetscReal residual;

        PetscCall(KSPSolve(ksp, b, x));
        PetscCall(KSPGetConvergedReason(ksp, &reason));
        Check(reason < 0, "two singular parts, a right-hand side of neither range: reason %d", (int)reason);
        PetscCall(VecDuplicate(b, &u));
        PetscCall(TestRandom(u));
        PetscCall(MatMult(A, u, b));
        PetscCall(VecDestroy(&u));
        PetscCall(KSPSolve(ksp, b, x));
        PetscCall(KSPGetConvergedReason(ksp, &reason));
        PetscCall(Residual(A, b, x, &residual));
        Check(reason > 0 && residual < 1e-13, "two singular parts: reason %d, backward error %g", (int)reason,
              (double)residual);
      } else CheckError(KSPSolve(ksp, b, x), -1, "singular");
      PetscCall(TestDestroy(&ksp, &b, &x, &A, &da));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows -a, 2 a + 2 b + c, ... of a star with couplings a along x and b along y, all times scale;
   big: added to the diagonal of the first node of each line along x */
static PetscErrorCode Star(PetscInt nx, PetscInt ny, PetscReal a, PetscReal b, PetscReal c, PetscReal scale,
                           PetscReal big, DM *da, Mat *A)
{
  DMDALocalInfo info;

  PetscFunctionBegin;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, nx, ny, PETSC_DECIDE,
                         PETSC_DECIDE, 1, 1, NULL, NULL, da));
  PetscCall(DMSetFromOptions(*da));
  PetscCall(DMSetUp(*da));
  PetscCall(DMCreateMatrix(*da, A));
  PetscCall(DMDAGetLocalInfo(*da, &info));
  for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
    for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
      MatStencil row = {0, j, i, 0}, col[5] = {row, row, row, row, row};
      PetscScalar v[5];
      PetscInt m = 1;

      v[0] = scale * (2 * a + 2 * b + c) + (i == 0 ? big : 0);
      for (PetscInt q = 0; q < 4; q++) {
        const PetscInt to[2] = {i + (q == 0) - (q == 1), j + (q == 2) - (q == 3)};

        if (to[0] < 0 || to[0] >= nx || to[1] < 0 || to[1] >= ny) continue;
        col[m].i = to[0];
        col[m].j = to[1];
        v[m++] = -scale * (q < 2 ? a : b);
      }
      PetscCall(MatSetValuesStencil(*A, 1, &row, m, col, v, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers far from one: a penalty, whole matrices times powers of ten, couplings of very different
   size. The right-hand side is a product with the matrix */
static PetscErrorCode Sizes(void)
{
  static const struct {
    PetscReal a, b, c, scale, big;
    const char *pc, *options;
  } cases[] = {
    {1, 0,      2, 1,      1e30, "neato",      "auto"   },
    {1, 0,      2, 1,      1e30, "neato",      "thomas" },
    {1, 0,      2, 1,      1e30, "neato",      "scan"   },
    {1, 0,      2, 1e30,   0,    "neato",      "auto"   },
    {1, 0,      2, 1e-30,  0,    "neato",      "thomas" },
    {1, 0,      2, 1e200,  0,    "neato",      "scan"   },
    {1, 0,      2, 1e-200, 0,    "neato",      "auto"   },
    {1, 0,      2, 1e200,  0,    "neato",      "cr"     },
    {1, 0,      2, 1e-200, 0,    "neato",      "pscheme"},
    {1, 0,      2, 1e-200, 0,    "neato",      "dc"     },
    {1, 1e-35,  1, 1,      0,    "bcrpoisson", "double" },
    {1, 1e35,   1, 1,      0,    "bcrpoisson", "double" },
    {1, 1e-100, 0, 1,      0,    "bcrpoisson", "double" },
    {1, 1e160,  0, 1,      0,    "bcrpoisson", "double" },
    {1, 2,      0, 1e200,  0,    "bcrpoisson", "double" },
    {1, 2,      0, 1e-200, 0,    "bcrpoisson", "mixed"  },
    {1, 2,      0, 1e200,  0,    "bcrpoisson", "single" },
    {1, 2,      0, 1e-200, 0,    "bcrpoisson", "single" },
 /* 2e-9 of the diagonal tells this end of x from a Dirichlet one */
    {1, 3e6,    0, 1,      1e-2, "bcrpoisson", "double" },
    {1, 3e6,    0, 1,      1e-4, "bcrpoisson", "double" },
    {1, 2,      0, 1,      1e8,  "bcrpoisson", "double" },
    {1, 2,      0, 1,      1e12, "bcrpoisson", "double" },
    {1, 2,      0, 1,      1e30, "bcrpoisson", "double" }
  };

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++) {
    for (int g = 0; g < 2; g++) {
      const PetscInt nx = g ? 131 : 19, ny = g ? 6 : 15;
      const PetscBool single = (PetscBool)!strcmp(cases[k].options, "single");
      DM da;
      Mat A;
      Vec b, x, u;
      KSP ksp;
      PC pc;
      PetscReal residual, error = 0;

      PetscCall(Star(nx, ny, cases[k].a, cases[k].b, cases[k].c, cases[k].scale, cases[k].big, &da, &A));
      PetscCall(MatCreateVecs(A, &x, &b));
      PetscCall(VecDuplicate(x, &u));
      PetscCall(TestRandom(u));
      PetscCall(MatMult(A, u, b));
      PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
      PetscCall(KSPSetOptionsPrefix(ksp, "sizes_"));
      PetscCall(PetscOptionsSetValue(
        NULL, !strcmp(cases[k].pc, "neato") ? "-sizes_pc_neato_method" : "-sizes_pc_bcrpoisson_precision",
        cases[k].options));
      PetscCall(KSPSetOperators(ksp, A, A));
      PetscCall(KSPSetType(ksp, KSPPREONLY));
      PetscCall(KSPGetPC(ksp, &pc));
      PetscCall(PCSetType(pc, cases[k].pc));
      PetscCall(KSPSetFromOptions(ksp));
      PetscCall(KSPSolve(ksp, b, x));
      PetscCall(Residual(A, b, x, &residual));
      PetscCall(TestDifference(x, u, &error));
      Check(residual < (single ? 5e-7 : 1e-14) && error < (single ? 1e-3 : 1e-9),
            "%s %s, couplings %g and %g, scale %g, penalty %g, %d x %d: backward error %g, solution off by %g",
            cases[k].pc, cases[k].options, (double)cases[k].a, (double)cases[k].b, (double)cases[k].scale,
            (double)cases[k].big, (int)nx, (int)ny, (double)residual, (double)error);
      PetscCall(PetscOptionsClearValue(NULL, !strcmp(cases[k].pc, "neato") ? "-sizes_pc_neato_method"
                                                                           : "-sizes_pc_bcrpoisson_precision"));
      PetscCall(TestDestroy(&ksp, &b, &x, &u, &A, &da));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  Mat A;
  Vec b;
} Linear;

static PetscErrorCode Function(SNES snes, Vec x, Vec f, void *ctx)
{
  const Linear *linear = (const Linear *)ctx;

  PetscFunctionBegin;
  (void)snes;
  PetscCall(MatMult(linear->A, x, f));
  PetscCall(VecAXPY(f, -1, linear->b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Jacobian(SNES snes, Vec x, Mat J, Mat P, void *ctx)
{
  PetscFunctionBegin;
  (void)snes, (void)x, (void)ctx;
  PetscCall(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY));
  (void)J;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Preonly(KSP ksp)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCBCRPOISSON));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPPREONLY with a fit inside other solvers: what looks at residuals may have it, what takes its
   answer for the solution may not */
static PetscErrorCode Inside(void)
{
  static const PetscInt n[3] = {20, 16, 1};
  DM da;
  Linear linear;
  Vec x, ref, f;
  KSP ksp, inner;
  PC pc;
  SNES snes;
  TS ts;
  Mat B, X;
  PetscInt local;
  PetscReal error = 0;

  PetscFunctionBegin;
  PetscCall(Assemble(ROBIN, 2, n, PETSC_FALSE, 1, &da, &linear.A));
  PetscCall(DMCreateGlobalVector(da, &linear.b));
  PetscCall(VecDuplicate(linear.b, &x));
  PetscCall(VecDuplicate(linear.b, &ref));
  PetscCall(VecDuplicate(linear.b, &f));
  PetscCall(TestRandom(linear.b));
  PetscCall(LU(linear.A, linear.b, ref));

  for (int newton = 0; newton < 2; newton++) {
    PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
    PetscCall(SNESSetDM(snes, da));
    PetscCall(SNESSetType(snes, newton ? SNESNEWTONLS : SNESKSPONLY));
    PetscCall(SNESSetFunction(snes, f, Function, &linear));
    PetscCall(SNESSetJacobian(snes, linear.A, linear.A, Jacobian, &linear));
    PetscCall(SNESSetTolerances(snes, 0, 1e-12, 0, 60, 1000));
    PetscCall(SNESGetKSP(snes, &ksp));
    PetscCall(Preonly(ksp));
    PetscCall(VecSet(x, 0));
    if (newton) {
      SNESConvergedReason reason;

      PetscCall(SNESSolve(snes, NULL, x));
      PetscCall(SNESGetConvergedReason(snes, &reason));
      PetscCall(TestDifference(x, ref, &error));
      Check(reason > 0 && error < 1e-8, "Newton's steps by a fit: %s, differs by %g from LU",
            SNESConvergedReasons[reason], (double)error);
    } else CheckError(SNESSolve(snes, NULL, x), PETSC_ERR_SUP, "KSPPREONLY");
    PetscCall(SNESDestroy(&snes));
  }

  PetscCall(TSCreate(PETSC_COMM_WORLD, &ts));
  PetscCall(TSSetDM(ts, da));
  PetscCall(TSSetProblemType(ts, TS_LINEAR));
  PetscCall(TSSetType(ts, TSBEULER));
  PetscCall(TSSetRHSFunction(ts, NULL, TSComputeRHSFunctionLinear, NULL));
  PetscCall(MatScale(linear.A, -1));
  PetscCall(TSSetRHSJacobian(ts, linear.A, linear.A, TSComputeRHSJacobianConstant, NULL));
  PetscCall(TSSetTimeStep(ts, 1));
  PetscCall(TSSetMaxSteps(ts, 1));
  PetscCall(TSSetExactFinalTime(ts, TS_EXACTFINALTIME_STEPOVER));
  PetscCall(TSGetSNES(ts, &snes));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(Preonly(ksp));
  PetscCall(VecCopy(linear.b, x));
  CheckError(TSSolve(ts, x), PETSC_ERR_SUP, "KSPPREONLY");
  PetscCall(TSDestroy(&ts));
  PetscCall(MatDestroy(&linear.A)); /* TS has changed it */
  PetscCall(DMDestroy(&da));
  PetscCall(Assemble(ROBIN, 2, n, PETSC_FALSE, 1, &da, &linear.A));

  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, linear.A, linear.A));
  PetscCall(KSPSetType(ksp, KSPFGMRES));
  PetscCall(KSPSetTolerances(ksp, 1e-10, 0, 1e10, 100));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCKSP));
  PetscCall(PCKSPGetKSP(pc, &inner));
  PetscCall(Preonly(inner));
  PetscCall(KSPSolve(ksp, linear.b, x));
  PetscCall(TestDifference(x, ref, &error));
  Check(error < 1e-8, "PCKSP by a fit: differs by %g from LU", (double)error);
  PetscCall(KSPDestroy(&ksp));

  PetscCall(VecGetLocalSize(x, &local));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, local, PETSC_DECIDE, PETSC_DETERMINE, 3, NULL, &B));
  PetscCall(MatSetRandom(B, NULL));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
  for (int refined = 0; refined < 2; refined++) {
    Mat R;
    PetscReal norm[2];

    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, linear.A, linear.A));
    PetscCall(Preonly(ksp));
    if (refined) PetscCall(KSPSetType(ksp, KSPBCRPOISSON));
    PetscCall(KSPSetTolerances(ksp, 1e-10, 0, 1e10, 100));
    if (refined) {
      PetscCall(KSPMatSolve(ksp, B, X));
      PetscCall(MatMatMult(linear.A, X, MAT_INITIAL_MATRIX, 1, &R));
      PetscCall(MatAXPY(R, -1, B, SAME_NONZERO_PATTERN));
      PetscCall(MatNorm(R, NORM_FROBENIUS, &norm[0]));
      PetscCall(MatNorm(B, NORM_FROBENIUS, &norm[1]));
      Check(norm[0] <= 1e-9 * norm[1], "KSPMatSolve() with refinement: residual %g", (double)(norm[0] / norm[1]));
      PetscCall(MatDestroy(&R));
    } else CheckError(KSPMatSolve(ksp, B, X), PETSC_ERR_SUP, "PCMatApply()");
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(TestDestroy(&B, &X, &f, &ref, &x, &linear.b, &linear.A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  for (int what = 0; what < CASES; what++) {
    for (PetscInt dim = 2; dim < 4; dim++) {
      for (int periodic = 0;
           periodic < (what == ROBIN || what == WALL_CELL || what == PENALTY_SOFT || what == PENALTY_HARD ? 1 : 2);
           periodic++) {
        PetscInt most = 0;

        /* the cases are of numbers that single precision does not tell apart */
        if (sizeof(PetscReal) < sizeof(double)) continue;
        for (int sign = 0; sign < 2; sign++)
          PetscCall(Solve((Case)what, dim, (PetscBool)periodic, sign ? -1 : 1, &most));
        PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, %d-D%s: at most %d iterations\n", names[what], (int)dim,
                              periodic ? ", periodic" : "", (int)most));
      }
    }
  }
  if (sizeof(PetscReal) == sizeof(double)) {
    PetscCall(Inside());
    PetscCall(OneWay());
    PetscCall(Sizes());
  }
  PetscCall(PetscFinalize());
  return TestEnd();
}
