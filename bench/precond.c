static char help[] =
  "Times PCBCRPOISSON as a preconditioner for operators that are not separable, beside multigrid and hypre.\n\
  -n <65,129,257,513,1025>  nodes along each side of the square\n\
  -cases <all>     names of cases, see bench/README.md\n\
  -rtol <1e-8>     reduction of the residual that ends a linear solve\n\
  -reps <3>        solves of each case\n\
  -csv <file>      adds the results to this file\n\n";

#include "bench.h"
#include <petscsnes.h>

typedef enum {
  CASE_NODES, /* -div(k grad u), nodes, rows of the boundary nodes are diagonal */
  /* as ksp tutorial ex29 with -rho: every row is scaled with its own node's rho, so the matrix is
     not symmetric */
  CASE_EX29,
  CASE_EX50, /* cells, no flux through the boundary, as ksp tutorial ex50, with a smooth k */
  CASE_BRATU /* Newton on -laplace u = 6 exp(u), as snes tutorial ex5 */
} CaseKind;

typedef enum {
  K_SIN,
  K_XY,
  K_EXP,
  K_JUMP10,
  K_JUMP1000,
  K_RHO,
  K_COS
} Coefficient;

typedef struct {
  const char *name, *ksp;
  CaseKind kind;
  Coefficient k;
} Case;

static const Case cases[] = {
  {"1+100xy",       "cg",    CASE_NODES, K_XY      },
  {"exp(2sin*sin)", "cg",    CASE_NODES, K_SIN     },
  {"exp(6x)",       "cg",    CASE_NODES, K_EXP     },
  {"jump_10",       "cg",    CASE_NODES, K_JUMP10  },
  {"jump_1000",     "cg",    CASE_NODES, K_JUMP1000},
  {"ex29_rho_10",   "gmres", CASE_EX29,  K_RHO     },
  {"ex50_smooth",   "cg",    CASE_EX50,  K_COS     },
  {"ex5_bratu_6",   "cg",    CASE_BRATU, K_XY      },
};

static const struct {
  const char *name, *options;
} solvers[] = {
  {"bcrpoisson/average", "-pc_type bcrpoisson -pc_bcrpoisson_fit average"},
  {"bcrpoisson/scaled",  "-pc_type bcrpoisson -pc_bcrpoisson_fit scaled" },
  {"bcrpoisson/auto",    "-pc_type bcrpoisson -pc_bcrpoisson_fit auto"   },
  {"mg",                 "-pc_type mg"                                   },
#if defined(PETSC_HAVE_HYPRE)
  {"hypre",              "-pc_type hypre -pc_hypre_type boomeramg"       },
#endif
};

static PetscReal K(Coefficient k, PetscReal x, PetscReal y)
{
  const PetscBool inside = (PetscBool)(x > 0.25 && x < 0.75 && y > 0.25 && y < 0.75),
                  third = (PetscBool)(x > 1 / 3. && x < 2 / 3. && y > 1 / 3. && y < 2 / 3.);

  switch (k) {
  case K_SIN:
    return PetscExpReal(2 * PetscSinReal(2 * PETSC_PI * x) * PetscSinReal(2 * PETSC_PI * y));
  case K_XY:
    return 1 + 100 * x * y;
  case K_EXP:
    return PetscExpReal(6 * x);
  case K_JUMP10:
    return inside ? 10 : 1;
  case K_JUMP1000:
    return inside ? 1000 : 1;
  case K_RHO:
    return third ? 10 : 1;
  case K_COS:
    return 1 + 0.9 * PetscCosReal(PETSC_PI * x) * PetscCosReal(2 * PETSC_PI * y);
  }
  return 1;
}

/* The matrix on the DMDA, times h^2; a random right-hand side that is zero on the boundary */
static PetscErrorCode Assemble(const Case *c, DM da, Mat A, Vec f)
{
  const PetscInt side[4][2] = {
    {-1, 0 },
    {1,  0 },
    {0,  -1},
    {0,  1 }
  };
  const PetscBool cells = (PetscBool)(c->kind == CASE_EX50);
  PetscInt n;
  PetscReal h;
  PetscScalar *rhs;
  PetscRandom random;

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(da, NULL, &n, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  h = 1. / (cells ? n : n - 1);
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetInterval(random, -1, 1));
  PetscCall(PetscRandomSeed(random));
  PetscCall(VecSetRandom(f, random));
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(VecGetArray(f, &rhs));
  for (PetscInt j = 0; j < n; ++j) {
    for (PetscInt i = 0; i < n; ++i) {
      const PetscInt row = i + n * j;
      const PetscReal x = (cells ? i + 0.5 : i) * h, y = (cells ? j + 0.5 : j) * h;
      const PetscBool edge = (PetscBool)(!cells && (!i || !j || i == n - 1 || j == n - 1));
      PetscInt cols[5], count = 1;
      PetscScalar values[5];

      cols[0] = row;
      values[0] = edge ? 4 * K(c->k, x, y) : 0;
      if (edge) rhs[row] = 0;
      for (PetscInt s = 0; s < 4 && !edge; ++s) {
        const PetscInt ni = i + side[s][0], nj = j + side[s][1];
        const PetscReal k =
          c->kind == CASE_EX29 ? K(c->k, x, y) : K(c->k, x + 0.5 * h * side[s][0], y + 0.5 * h * side[s][1]);

        if (ni < 0 || nj < 0 || ni >= n || nj >= n) continue; /* no flux */
        values[0] += k;
        if (c->kind == CASE_NODES && (!ni || !nj || ni == n - 1 || nj == n - 1)) continue; /* known value: symmetric */
        cols[count] = ni + n * nj;
        values[count++] = -k;
      }
      PetscCall(MatSetValues(A, 1, &row, count, cols, values, INSERT_VALUES));
    }
  }
  PetscCall(VecRestoreArray(f, &rhs));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  if (cells) {
    MatNullSpace constant;

    PetscCall(MatNullSpaceCreate(PETSC_COMM_SELF, PETSC_TRUE, 0, NULL, &constant));
    PetscCall(MatSetNullSpace(A, constant));
    PetscCall(MatNullSpaceRemove(constant, f));
    PetscCall(MatNullSpaceDestroy(&constant));
  }
  if (c->kind != CASE_EX29) PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bratu: F(u) = -laplace u - 6 exp(u), times h^2; u = 0 on the boundary */

static PetscErrorCode BratuFunction(SNES snes, Vec u, Vec F, void *ctx)
{
  const PetscScalar *v;
  PetscScalar *r;
  DM da;
  PetscInt n;

  PetscFunctionBegin;
  (void)ctx;
  PetscCall(SNESGetDM(snes, &da));
  PetscCall(DMDAGetInfo(da, NULL, &n, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(VecGetArrayRead(u, &v));
  PetscCall(VecGetArrayWrite(F, &r));
  for (PetscInt j = 0; j < n; ++j) {
    for (PetscInt i = 0; i < n; ++i) {
      const PetscInt q = i + n * j;

      if (!i || !j || i == n - 1 || j == n - 1) r[q] = 4 * v[q];
      else
        r[q] = 4 * v[q] - (i > 1 ? v[q - 1] : 0) - (i < n - 2 ? v[q + 1] : 0) - (j > 1 ? v[q - n] : 0) -
               (j < n - 2 ? v[q + n] : 0) - 6 * PetscExpScalar(v[q]) / PetscSqr(n - 1.);
    }
  }
  PetscCall(VecRestoreArrayWrite(F, &r));
  PetscCall(VecRestoreArrayRead(u, &v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BratuJacobian(SNES snes, Vec u, Mat J, Mat P, void *ctx)
{
  const PetscScalar *v;
  DM da;
  PetscInt n;

  PetscFunctionBegin;
  (void)ctx;
  (void)J;
  PetscCall(SNESGetDM(snes, &da));
  PetscCall(DMDAGetInfo(da, NULL, &n, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(VecGetArrayRead(u, &v));
  for (PetscInt j = 0; j < n; ++j) {
    for (PetscInt i = 0; i < n; ++i) {
      const PetscInt row = i + n * j;
      const PetscBool edge = (PetscBool)(!i || !j || i == n - 1 || j == n - 1);
      PetscInt cols[5], count = 1;
      PetscScalar values[5];

      cols[0] = row;
      values[0] = edge ? 4 : 4 - 6 * PetscExpScalar(v[row]) / PetscSqr(n - 1.);
      if (!edge) {
        if (i > 1) cols[count++] = row - 1;
        if (i < n - 2) cols[count++] = row + 1;
        if (j > 1) cols[count++] = row - n;
        if (j < n - 2) cols[count++] = row + n;
        for (PetscInt k = 1; k < count; ++k) values[k] = -1;
      }
      PetscCall(MatSetValues(P, 1, &row, count, cols, values, INSERT_VALUES));
    }
  }
  PetscCall(VecRestoreArrayRead(u, &v));
  PetscCall(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Options of a solver while a KSP or SNES reads its own */
static PetscErrorCode Options(const Case *c, PetscInt n, PetscInt s, PetscReal rtol, char text[], size_t size)
{
  PetscInt levels = 1;

  PetscFunctionBegin;
  while (n > 5) {
    n = c->kind == CASE_EX50 ? n / 2 : (n + 1) / 2;
    ++levels;
  }
  PetscCall(PetscSNPrintf(text, size,
                          "%s -ksp_type %s -ksp_rtol %g -ksp_max_it 500 -ksp_norm_type unpreconditioned %s "
                          "-pc_mg_levels %d -pc_mg_galerkin both -mg_coarse_pc_type %s -snes_rtol 1e-8",
                          solvers[s].options, c->ksp, (double)rtol,
                          !strcmp(c->ksp, "gmres") ? "-ksp_pc_side right -ksp_gmres_restart 100" : "", (int)levels,
                          c->kind == CASE_EX50 ? "svd" : "lu"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunCase(const Case *c, PetscInt n, PetscInt reps, PetscReal rtol, FILE *csv)
{
  DM da;
  Mat A;
  Vec f, u, r;
  PetscReal normA;
  PetscOptions options;

  PetscFunctionBegin;
  PetscCall(DMDACreate2d(PETSC_COMM_SELF, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n, 1, 1, 1, 1, NULL,
                         NULL, &da));
  if (c->kind == CASE_EX50) PetscCall(DMDASetInterpolationType(da, DMDA_Q0));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(DMCreateGlobalVector(da, &f));
  PetscCall(VecDuplicate(f, &u));
  PetscCall(VecDuplicate(f, &r));
  if (c->kind != CASE_BRATU) {
    PetscCall(Assemble(c, da, A, f));
    PetscCall(MatNorm(A, NORM_INFINITY, &normA));
  }
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(solvers); ++s) {
    double time[64], setup[64], copy[64], unused;
    char text[1024];
    KSP ksp = NULL;
    PC pc;
    SNES snes = NULL;
    PetscInt newton = 0;
    PetscBool good = PETSC_TRUE;
    PetscScalar *from, *to;
    KSPConvergedReason reason;
    BenchRow row = {
      .program = "precond",
      .name = c->name,
      .precision = sizeof(PetscReal) == 4 ? "single" : "double",
      .dim = 2,
      .n = {n, n, 1},
      .setup = NAN,
      .residual = NAN
    };

    PetscCall(Options(c, n, (PetscInt)s, rtol, text, sizeof(text)));
    PetscCall(PetscOptionsCreate(&options));
    PetscCall(PetscOptionsInsertString(options, text));
    PetscCall(PetscOptionsPush(options));
    for (PetscInt k = 0; k < reps; ++k) {
      double start;

      PetscCall(VecGetArray(f, &from));
      PetscCall(VecGetArray(r, &to));
      start = BenchTime();
      memcpy(to, from, sizeof(PetscScalar) * (size_t)n * n);
      copy[k] = BenchTime() - start;
      PetscCall(VecRestoreArray(f, &from));
      PetscCall(VecRestoreArray(r, &to));
      PetscCall(VecSet(u, 0));
      if (c->kind == CASE_BRATU) { /* set-ups are part of every Newton step */
        SNESConvergedReason why;

        PetscCall(SNESCreate(PETSC_COMM_SELF, &snes));
        PetscCall(SNESSetDM(snes, da));
        PetscCall(SNESSetFunction(snes, r, BratuFunction, NULL));
        PetscCall(SNESSetJacobian(snes, A, A, BratuJacobian, NULL));
        PetscCall(SNESSetFromOptions(snes));
        start = BenchTime();
        PetscCall(SNESSolve(snes, NULL, u));
        time[k] = BenchTime() - start;
        PetscCall(SNESGetLinearSolveIterations(snes, &row.iterations));
        PetscCall(SNESGetIterationNumber(snes, &newton));
        PetscCall(SNESGetConvergedReason(snes, &why));
        if (why < 0) good = PETSC_FALSE;
        PetscCall(SNESDestroy(&snes));
      } else {
        PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
        PetscCall(KSPSetOperators(ksp, A, A));
        PetscCall(KSPGetPC(ksp, &pc));
        PetscCall(PCSetDM(pc, da));
        PetscCall(KSPSetFromOptions(ksp));
        start = BenchTime();
        PetscCall(KSPSetUp(ksp));
        setup[k] = BenchTime() - start;
        start = BenchTime();
        PetscCall(KSPSolve(ksp, f, u));
        time[k] = BenchTime() - start;
        PetscCall(KSPGetIterationNumber(ksp, &row.iterations));
        PetscCall(KSPGetConvergedReason(ksp, &reason));
        if (reason < 0) good = PETSC_FALSE;
        PetscCall(KSPDestroy(&ksp));
      }
      if (!k) row.first = time[0];
    }
    PetscCall(PetscOptionsPop());
    PetscCall(PetscOptionsDestroy(&options));
    if (c->kind != CASE_BRATU) {
      PetscCall(BenchBackwardError(A, normA, f, u, r, &row.residual));
      BenchStatistics(reps, setup, &row.setup, &unused);
    }
    BenchStatistics(reps, time, &row.time, &row.mintime);
    BenchStatistics(reps, copy, &row.copy, &row.mincopy);
    row.solver = solvers[s].name;
    printf("%-14s %5d %-6s %-19s %5d%s %9.2f %9.2f", c->name, (int)n, c->kind == CASE_BRATU ? "newton" : c->ksp,
           row.solver, (int)row.iterations, good ? " " : "!", 1e3 * row.setup, 1e3 * row.time);
    if (c->kind == CASE_BRATU) printf("  %d Newton steps, set-ups included\n", (int)newton);
    else printf("  %8.1e\n", row.residual);
    fflush(stdout);
    BenchWriteRow(csv, &row);
  }
  PetscCall(VecDestroy(&f));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt sizes[16] = {65, 129, 257, 513, 1025}, nsizes = 16, reps = 3, nwanted = 16;
  PetscReal rtol = 1e-8;
  PetscMPIInt ranks;
  PetscBool given, some;
  char *wanted[16];
  FILE *csv;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  PetscCheck(ranks == 1, PETSC_COMM_WORLD, PETSC_ERR_WRONG_MPI_SIZE, "This program runs on one process");
  PetscCall(PetscBCRInitializePackage());
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-n", sizes, &nsizes, &given));
  if (!given) nsizes = 5;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-reps", &reps, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-rtol", &rtol, NULL));
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-cases", wanted, &nwanted, &some));
  reps = PetscMin(PetscMax(reps, 1), 64);
  PetscCall(BenchOpen("linear solves to an unpreconditioned residual reduced by -rtol; MG: Galerkin, Chebyshev and "
                      "SOR; !: did not converge",
                      &csv));
  printf("\n%-14s %5s %-6s %-19s %5s  %9s %9s  %8s\n", "case", "n", "method", "preconditioner", "its", "set-up ms",
         "solve ms", "residual");
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases); ++i) {
    PetscBool run = (PetscBool)!some;

    for (PetscInt k = 0; some && k < nwanted && !run; ++k) PetscCall(PetscStrcmp(wanted[k], cases[i].name, &run));
    for (PetscInt k = 0; k < nsizes && run; ++k)
      PetscCall(RunCase(&cases[i], cases[i].kind == CASE_EX50 ? sizes[k] - 1 : sizes[k], reps, rtol, csv));
  }
  for (PetscInt k = 0; some && k < nwanted; ++k) PetscCall(PetscFree(wanted[k]));
  if (csv) fclose(csv);
  PetscCall(PetscFinalize());
  return 0;
}
