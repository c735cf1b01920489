/*
  PCBCRPOISSON as a preconditioner for variable coefficients: each fit where it is meant for, `auto`
  choosing well, iterations independent of the mesh, solutions those of LU.

  quick: 1
*/
#include "testing.h"
#include <unistd.h>

static PetscReal Smooth(PetscReal x, PetscReal y, PetscReal z, void *ctx)
{
  (void)z;
  (void)ctx;
  return PetscExpReal(2 * PetscSinReal(2 * PETSC_PI * x) * PetscSinReal(2 * PETSC_PI * y));
}

static PetscReal Product(PetscReal x, PetscReal y, PetscReal z, void *ctx)
{
  (void)z;
  (void)ctx;
  return 1 + 100 * x * y;
}

static PetscReal Exponential(PetscReal x, PetscReal y, PetscReal z, void *ctx)
{
  (void)y;
  (void)z;
  (void)ctx;
  return PetscExpReal(6 * x);
}

static PetscReal Jump(PetscReal x, PetscReal y, PetscReal z, void *ctx)
{
  (void)z;
  return PetscAbsReal(x - (PetscReal)0.5) < (PetscReal)0.25 && PetscAbsReal(y - (PetscReal)0.5) < (PetscReal)0.25
           ? *(PetscReal *)ctx
           : 1;
}

static PetscReal Ball(PetscReal x, PetscReal y, PetscReal z, void *ctx)
{
  (void)ctx;
  return 1 + 4 * PetscExpReal(
                   -8 * (PetscSqr(x - (PetscReal)0.4) + PetscSqr(y - (PetscReal)0.6) + PetscSqr(z - (PetscReal)0.5)));
}

static PetscReal Tolerance(void)
{
  return sizeof(PetscReal) < sizeof(double) ? (PetscReal)1e-5 : (PetscReal)1e-8;
}

/* Iterations of a Krylov method to the tolerance; its solution against LU */
static PetscErrorCode Iterations(const TestProblem *p, KSPType type, PCBCRPoissonFit fit, PetscInt *its)
{
  DM da;
  Mat A;
  KSP ksp, lu;
  PC pc;
  Vec b, x, ref;
  PetscReal difference = 0;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(TestMatrix(p, &da, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &ref));
  PetscCall(TestRandom(b));
  PetscCall(TestKSPCreate(A, type, &ksp, &pc));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSetTolerances(ksp, Tolerance(), 0, 1e5, 500));
  PetscCall(PCBCRPoissonSetFit(pc, fit));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(TestReference(A, &lu));
  PetscCall(KSPSolve(lu, b, ref));
  PetscCall(TestDifference(x, ref, &difference));
  Check(reason > 0 && difference <= Tolerance() * 1e4, "%s, %d unknowns along x, fit %s: %s, differs by %g from LU",
        type, (int)p->n[0], PCBCRPoissonFits[fit], KSPConvergedReasons[reason], (double)difference);
  PetscCall(TestDestroy(&b, &x, &ref, &ksp, &lu, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Layers across the axis ctx[0] of strengths 1 and ctx[1], which vary by the part ctx[2] along the others */
static PetscReal Strata(PetscReal x, PetscReal y, PetscReal z, void *ctx)
{
  const PetscReal *c = (const PetscReal *)ctx, at[3] = {x, y, z};
  const int g = (int)c[0];
  const PetscReal across = at[g], along = at[g ? 0 : 1];

  return (PetscFloorReal(8 * across) == 2 * PetscFloorReal(4 * across) ? 1 : c[1]) *
         (1 + c[2] * PetscSinReal(2 * PETSC_PI * along) * PetscCosReal(3 * across));
}

/* Strata: the mean profile is what they have in common, and auto finds it. Their number is that of the layers' strength
   along themselves, whatever the grid and the jumps are */
static PetscErrorCode Layers(void)
{
  static const struct {
    PetscReal c[3];
    PetscInt dim, most; /* iterations with the profile */
    const char *ends;
  } cases[] = {
    {{1, 5000, 0.3},           2, 12, "dddd"  },
    {{0, 5000, 0.3},           2, 12, "ccDc"  },
    {{1, 1000, 0.3},           2, 12, "ppdc"  },
    {{1, 10, 0.8},             2, 32, "dddd"  },
    {{2, 5000, 0.3},           3, 12, "ppdDcc"},
    {{1, (PetscReal)1e5, 0.3}, 3, 12, "dcccpp"}
  };

  PetscFunctionBegin;
  for (size_t c = 0; c < PETSC_STATIC_ARRAY_LENGTH(cases); ++c) {
    static const PCBCRPoissonFit all[] = {PCBCRPOISSON_FIT_AVERAGE, PCBCRPOISSON_FIT_SCALED, PCBCRPOISSON_FIT_PROFILE,
                                          PCBCRPOISSON_FIT_AUTO};
    PetscInt its[4];
    PetscReal ctx[3] = {cases[c].c[0], cases[c].c[1], cases[c].c[2]};
    const PetscInt n = cases[c].dim == 2 ? 40 : 16;
    TestProblem p = {
      .dim = cases[c].dim,
      .n = {n, n - 3, n + 2},
      .dof = 1,
      .ends = cases[c].ends,
      .a = {1, 1,     1    },
      .scale = 1,
      .k = Strata,
      .ctx = ctx
    };

    if (p.dim == 2) p.n[2] = 1;
    for (int f = 0; f < 4; ++f) PetscCall(Iterations(&p, KSPCG, all[f], &its[f]));
    Check(its[2] <= cases[c].most, "strata 1 : %g, ends %s: %d iterations with the profile", (double)ctx[1], p.ends,
          (int)its[2]);
    Check(its[3] <= PetscMin(PetscMin(its[0], its[2]), its[1]) + 1,
          "strata 1 : %g, ends %s: auto takes %d iterations, average %d, scaled %d, profile %d", (double)ctx[1], p.ends,
          (int)its[3], (int)its[0], (int)its[1], (int)its[2]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Coefficients(void)
{
  PetscReal ten = 10, thousand = 1000;
  const struct {
    const char *name;
    PetscReal (*k)(PetscReal, PetscReal, PetscReal, void *);
    void *ctx;
    PetscInt most[2]; /* average, scaled */
  } cases[] = {
    {"exp(2 sin sin)", Smooth,      NULL,      {90, 16} },
    {"1 + 100 x y",    Product,     NULL,      {120, 10}},
    {"exp(6 x)",       Exponential, NULL,      {250, 2} },
    {"jump of 10",     Jump,        &ten,      {18, 80} },
    {"jump of 1000",   Jump,        &thousand, {25, 400}}
  };

  PetscFunctionBegin;
  for (size_t c = 0; c < PETSC_STATIC_ARRAY_LENGTH(cases); ++c) {
    PetscInt its[2][3];

    for (PetscInt mesh = 0; mesh < 2; ++mesh) {
      const PetscInt n = mesh ? 63 : 31;
      TestProblem p = {
        .dim = 2, .n = {n, n},
             .dof = 1, .ends = "dddd", .a = {1, 1},
             .scale = 1, .k = cases[c].k, .ctx = cases[c].ctx
      };

      PetscCall(Iterations(&p, KSPCG, PCBCRPOISSON_FIT_AVERAGE, &its[mesh][0]));
      PetscCall(Iterations(&p, KSPCG, PCBCRPOISSON_FIT_SCALED, &its[mesh][1]));
      PetscCall(Iterations(&p, KSPCG, PCBCRPOISSON_FIT_AUTO, &its[mesh][2]));
      for (PetscInt fit = 0; fit < 2; ++fit)
        Check(its[mesh][fit] <= cases[c].most[fit], "%s, n = %d, fit %s: %d iterations, more than %d", cases[c].name,
              (int)n, fit ? "scaled" : "average", (int)its[mesh][fit], (int)cases[c].most[fit]);
      Check(its[mesh][2] <= PetscMin(its[mesh][0], its[mesh][1]) + 1,
            "%s, n = %d: auto takes %d iterations, average %d, scaled %d", cases[c].name, (int)n, (int)its[mesh][2],
            (int)its[mesh][0], (int)its[mesh][1]);
    }
    Check(its[1][2] <= its[0][2] + 3, "%s: %d iterations with n = 31, %d with 63", cases[c].name, (int)its[0][2],
          (int)its[1][2]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Other ends, signs, shifts, dimensions, and Krylov methods */
static PetscErrorCode Forms(void)
{
  const TestProblem problems[] = {
    {.dim = 2, .n = {40, 33}, .dof = 1,    .ends = "ccdd",        .a = {1, 1},      .shift = 0.01,  .scale = -3,   .k = Ball},
    {.dim = 2,        .n = {40, 33},              .dof = 1,     .ends = "ppcd",     .a = {2, 1},   .scale = 1e6,  .k = Smooth},
    {.dim = 3,        .n = {15, 12, 13},              .dof = 1, .ends = "dddddd", .a = {1, 1, 1}, .scale = 1, .k = Ball   },
    {.dim = 1,        .n = {100},              .dof = 1,        .ends = "dd",        .a = {1},     .scale = 1,    .k = Ball}
  };
  const char *types[] = {KSPCG, KSPGMRES, KSPFGMRES, KSPBCGS};

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(problems); ++i) {
    for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); ++t) {
      PetscInt its;

      PetscCall(Iterations(&problems[i], types[t], PCBCRPOISSON_FIT_AUTO, &its));
      Check(its <= 20, "%s, ends %s: %d iterations", types[t], problems[i].ends, (int)its);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The Bratu problem, -Laplace u = lambda exp(u), with Dirichlet rows kept, as snes ex5 assembles
   it: Newton, the matrix new in each step */
typedef struct {
  PetscReal lambda;
} Bratu;

static PetscErrorCode BratuFunction(SNES snes, Vec X, Vec F, void *ctx)
{
  DM da;
  DMDALocalInfo info;
  Vec local;
  const PetscScalar **x;
  PetscScalar **f;
  PetscReal h2;

  PetscFunctionBegin;
  PetscCall(SNESGetDM(snes, &da));
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMGetLocalVector(da, &local));
  PetscCall(DMGlobalToLocal(da, X, INSERT_VALUES, local));
  PetscCall(DMDAVecGetArrayRead(da, local, &x));
  PetscCall(DMDAVecGetArray(da, F, &f));
  h2 = 1 / PetscSqr((PetscReal)(info.mx - 1));
  for (PetscInt j = 0; j < info.my; ++j) {
    for (PetscInt i = 0; i < info.mx; ++i) {
      if (i == 0 || j == 0 || i == info.mx - 1 || j == info.my - 1) f[j][i] = 4 * x[j][i];
      else
        f[j][i] = 4 * x[j][i] - (i > 1 ? x[j][i - 1] : 0) - (i < info.mx - 2 ? x[j][i + 1] : 0) -
                  (j > 1 ? x[j - 1][i] : 0) - (j < info.my - 2 ? x[j + 1][i] : 0) -
                  h2 * ((Bratu *)ctx)->lambda * PetscExpScalar(x[j][i]);
    }
  }
  PetscCall(DMDAVecRestoreArray(da, F, &f));
  PetscCall(DMDAVecRestoreArrayRead(da, local, &x));
  PetscCall(DMRestoreLocalVector(da, &local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BratuJacobian(SNES snes, Vec X, Mat J, Mat P, void *ctx)
{
  DM da;
  DMDALocalInfo info;
  const PetscScalar *x;
  PetscReal h2;

  PetscFunctionBegin;
  (void)J;
  PetscCall(SNESGetDM(snes, &da));
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(VecGetArrayRead(X, &x));
  h2 = 1 / PetscSqr((PetscReal)(info.mx - 1));
  for (PetscInt j = 0; j < info.my; ++j) {
    for (PetscInt i = 0; i < info.mx; ++i) {
      const PetscInt row = i + info.mx * j, step[] = {-1, 1, -info.mx, info.mx};
      const PetscBool there[] = {(PetscBool)(i > 1), (PetscBool)(i < info.mx - 2), (PetscBool)(j > 1),
                                 (PetscBool)(j < info.my - 2)},
                      edge = (PetscBool)(i == 0 || j == 0 || i == info.mx - 1 || j == info.my - 1);

      PetscCall(
        MatSetValue(P, row, row, edge ? 4 : 4 - h2 * ((Bratu *)ctx)->lambda * PetscExpScalar(x[row]), INSERT_VALUES));
      for (PetscInt s = 0; s < 4 && !edge; ++s) {
        if (there[s]) PetscCall(MatSetValue(P, row, row + step[s], -1, INSERT_VALUES));
      }
    }
  }
  PetscCall(VecRestoreArrayRead(X, &x));
  PetscCall(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Newton(void)
{
  PetscInt per[2] = {0, 0};

  PetscFunctionBegin;
  for (PetscInt mesh = 0; mesh < 2; ++mesh) {
    Bratu bratu = {6};
    const PetscInt n = mesh ? 65 : 33;
    DM da;
    SNES snes;
    KSP ksp;
    PC pc;
    Vec x;
    Mat J;
    PetscInt its, linear;
    PetscReal largest;
    SNESConvergedReason reason;

    PetscCall(DMDACreate2d(PETSC_COMM_SELF, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n, 1, 1, 1, 1,
                           NULL, NULL, &da));
    PetscCall(DMSetFromOptions(da)); /* -dm_vec_type cuda -dm_mat_type aijcusparse: scripts/check-gpu */
    PetscCall(DMSetUp(da));
    PetscCall(DMCreateGlobalVector(da, &x));
    PetscCall(DMCreateMatrix(da, &J));
    PetscCall(SNESCreate(PETSC_COMM_SELF, &snes));
    PetscCall(SNESSetDM(snes, da));
    PetscCall(SNESSetFunction(snes, NULL, BratuFunction, &bratu));
    PetscCall(SNESSetJacobian(snes, J, J, BratuJacobian, &bratu));
    PetscCall(SNESGetKSP(snes, &ksp));
    PetscCall(KSPSetType(ksp, KSPCG));
    PetscCall(KSPSetTolerances(ksp, Tolerance(), 0, 1e5, 100));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCBCRPOISSON));
    PetscCall(VecSet(x, 0));
    PetscCall(SNESSolve(snes, NULL, x));
    PetscCall(SNESGetConvergedReason(snes, &reason));
    PetscCall(SNESGetIterationNumber(snes, &its));
    PetscCall(SNESGetLinearSolveIterations(snes, &linear));
    PetscCall(VecNorm(x, NORM_INFINITY, &largest));
    /* the lower branch has its maximum at 0.79 for lambda = 6 */
    Check(reason > 0 && largest > (PetscReal)0.7 && largest < (PetscReal)0.9, "Bratu, n = %d: %s, largest u %g", (int)n,
          SNESConvergedReasons[reason], (double)largest);
    per[mesh] = its ? linear / its : 1000;
    Check(per[mesh] <= 10, "Bratu, n = %d: %d linear iterations in %d Newton steps", (int)n, (int)linear, (int)its);
    PetscCall(TestDestroy(&snes, &J, &x, &da));
  }
  Check(per[1] <= per[0] + 1, "Bratu: %d iterations per Newton step with n = 33, %d with 65", (int)per[0], (int)per[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of an axis stretched by ratio towards the middle of 0 .. 1: 2 / (h_i (h_i + h_(i+1))), or
   (finite volumes) 1 / h_i */
static void Stretched(PetscInt n, double ratio, PetscBool divided, double *low, double *up)
{
  double sum = 0, h[257];

  for (PetscInt i = 0; i <= n; i++) sum += h[i] = exp(log(ratio) * (1 - fabs(2 * (double)i / (double)n - 1)));
  for (PetscInt i = 0; i <= n; i++) h[i] /= sum;
  for (PetscInt i = 0; i < n; i++) {
    const double v = divided ? 0.5 * (h[i] + h[i + 1]) : 1;

    low[i] = 1 / (h[i] * v);
    up[i] = 1 / (h[i + 1] * v);
  }
}

/* Lines of a file */
static PetscErrorCode CountLines(const char name[], PetscInt *lines)
{
  FILE *file = fopen(name, "r");
  int c;

  PetscFunctionBegin;
  *lines = 0;
  PetscCheck(file, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "%s", name);
  while ((c = fgetc(file)) != EOF) *lines += c == '\n';
  (void)fclose(file);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The steps by which auto tries its fits take no options of the user: one reason is printed for one solve */
static PetscErrorCode Silent(void)
{
  const TestProblem p = {
    .dim = 2, .n = {31, 31},
         .dof = 1, .ends = "dddd", .a = {1,  1 },
         .scale = 1, .k = Smooth
  };
  char name[] = "reasons.XXXXXX", options[128];
  const int fd = mkstemp(name);
  PetscInt lines, its;

  PetscFunctionBegin;
  PetscCheck(fd >= 0, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "mkstemp()");
  (void)close(fd);
  PetscCall(PetscSNPrintf(options, sizeof(options), "-ksp_converged_reason ascii:%s::append", name));
  PetscCall(TestOptions(options, PETSC_TRUE));
  PetscCall(Iterations(&p, KSPGMRES, PCBCRPOISSON_FIT_AUTO, &its));
  PetscCall(TestOptions(options, PETSC_FALSE));
  PetscCall(CountLines(name, &lines));
  Check(lines == 1 && its > 4, "%d reasons of one solve of %d iterations", (int)lines, (int)its);
  (void)unlink(name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* auto takes the fit with fewer iterations, or nearly so: both axes stretched, a square of another coefficient, both */
static PetscErrorCode Auto(void)
{
  static const struct {
    PetscInt n;
    double stretch, jump;
    PetscBool divided, smooth;
  } cases[] = {
    {32, 29, 1,    PETSC_TRUE,  PETSC_FALSE},
    {64, 29, 1,    PETSC_TRUE,  PETSC_FALSE},
    {64, 29, 1,    PETSC_FALSE, PETSC_FALSE},
    {64, 5,  1,    PETSC_TRUE,  PETSC_FALSE},
    {64, 29, 1,    PETSC_TRUE,  PETSC_TRUE },
    {64, 29, 1,    PETSC_FALSE, PETSC_TRUE },
    {64, 29, 10,   PETSC_FALSE, PETSC_TRUE },
    {10, 1,  1000, PETSC_TRUE,  PETSC_FALSE},
    {18, 1,  100,  PETSC_TRUE,  PETSC_FALSE},
    {40, 1,  10,   PETSC_TRUE,  PETSC_FALSE},
    {40, 1,  1000, PETSC_TRUE,  PETSC_FALSE}
  };

  PetscFunctionBegin;
  for (size_t c = 0; c < PETSC_STATIC_ARRAY_LENGTH(cases); c++) {
    const PetscInt n = cases[c].n;
    double low[256], up[256];
    PetscInt its[3];
    DM da;
    Mat A;
    Vec b, x;

    PetscCall(DMDACreate2d(PETSC_COMM_SELF, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n, 1, 1, 1, 1,
                           NULL, NULL, &da));
    PetscCall(DMSetUp(da));
    PetscCall(DMCreateMatrix(da, &A));
    Stretched(n, cases[c].stretch, cases[c].divided, low, up);
    for (PetscInt j = 0; j < n; j++) {
      for (PetscInt i = 0; i < n; i++) {
        const double link[4] = {low[i], up[i], low[j], up[j]};
        const PetscInt to[4][2] = {
          {i - 1, j    },
          {i + 1, j    },
          {i,     j - 1},
          {i,     j + 1}
        };
        MatStencil row = {0, j, i, 0}, col[5];
        PetscScalar v[5];
        PetscInt m = 1;
        double diagonal = 0;

#define IN(i, j) \
  (fabs(((i) + 0.5) / (double)n - 0.5) < 0.25 && fabs(((j) + 0.5) / (double)n - 0.5) < 0.25 ? cases[c].jump : 1)
        for (PetscInt q = 0; q < 4; q++) {
          const double k = cases[c].smooth
                             ? exp(sin(2 * 3.14159 * (double)i / (double)n) * sin(2 * 3.14159 * (double)j / (double)n))
                             : 1,
                       a = IN(i, j), e = IN(to[q][0], to[q][1]), v_ = link[q] * k * 2 * a * e / (a + e);

          diagonal += v_;
          if (to[q][0] < 0 || to[q][1] < 0 || to[q][0] >= n || to[q][1] >= n) continue;
          col[m] = row, col[m].i = to[q][0], col[m].j = to[q][1];
          v[m++] = (PetscScalar)-v_;
        }
#undef IN
        col[0] = row;
        v[0] = (PetscScalar)diagonal;
        PetscCall(MatSetValuesStencil(A, 1, &row, m, col, v, INSERT_VALUES));
      }
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(TestRandom(b));
    for (int f = 0; f < 3; f++) {
      KSP ksp;
      PC pc;
      KSPConvergedReason reason;

      PetscCall(TestKSPCreate(A, KSPGMRES, &ksp, &pc));
      PetscCall(KSPGMRESSetRestart(ksp, 400));
      PetscCall(KSPSetTolerances(ksp, Tolerance(), 0, 1e8, 400));
      PetscCall(PCBCRPoissonSetFit(pc, f == 0 ? PCBCRPOISSON_FIT_AUTO
                                              : (f == 1 ? PCBCRPOISSON_FIT_SCALED : PCBCRPOISSON_FIT_AVERAGE)));
      PetscCall(KSPSolve(ksp, b, x));
      PetscCall(KSPGetConvergedReason(ksp, &reason));
      PetscCall(KSPGetIterationNumber(ksp, &its[f]));
      Check(f > 0 || reason > 0, "%d^2, stretched 1 : %g, jump %g, fit %d: %s", (int)n, cases[c].stretch, cases[c].jump,
            f, KSPConvergedReasons[reason]);
      PetscCall(KSPDestroy(&ksp));
    }
    Check(its[0] <= PetscMin(its[1], its[2]) + PetscMin(its[1], its[2]) / 4 + 2,
          "%d^2, stretched 1 : %g, jump %g: auto takes %d iterations, scaled %d, average %d", (int)n, cases[c].stretch,
          cases[c].jump, (int)its[0], (int)its[1], (int)its[2]);
    PetscCall(TestDestroy(&b, &x, &A, &da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(Coefficients());
  PetscCall(Layers());
  PetscCall(Forms());
  PetscCall(Newton());
  PetscCall(Silent());
  if (sizeof(PetscReal) == sizeof(double)) PetscCall(Auto());
  PetscCall(PetscFinalize());
  return TestEnd();
}
