/*
  ranks: 1 2 3
  turns: 2
  quick: 2

  Fits of div k grad on grids that are stretched along two or three axes, with k that varies smoothly, finite volumes and rows
  divided by their cells: iterations of the fit scaled depend on k alone, not on the grid nor on the ranks, and auto takes
  it. Cells that shrink to both ends or to one of them, or are random; Dirichlet, Neumann and periodic ends. Solutions are
  compared with those that right-hand sides were made from.
*/
#include "distribute.h"
#include <petscbcr.h>
#include <petscksp.h>

typedef enum {
  BOTH,  /* ends have small cells */
  ONE,   /* has */
  RANDOM /* cells */
} Grading;

typedef struct {
  PetscInt dim, n[3];
  double ratio[3]; /* of the largest to the smallest cell along each axis */
  double contrast; /* of k */
  const char *ends;
  Grading grading;
  PetscBool divided; /* by the cells, else finite volumes */
  PetscInt most;     /* iterations with fit scaled */
} Graded;

/* Sizes of the cells of an axis of length 1, and their middles */
static void Cells(const Graded *g, PetscInt d, double h[], double x[])
{
  const PetscInt n = d < g->dim ? g->n[d] : 1;
  unsigned seed = 17 + (unsigned)d;
  double sum = 0;

  for (PetscInt i = 0; i < n; i++) {
    double t = n > 1 ? (double)i / (double)(n - 1) : 0;

    seed = seed * 1103515245u + 12345u;
    if (g->grading == BOTH) t = 1 - fabs(2 * t - 1);
    if (g->grading == RANDOM) t = (double)(seed >> 8 & 0xffff) / 65535;
    h[i] = d < g->dim ? pow(g->ratio[d], t) : 1;
    sum += h[i];
  }
  for (PetscInt i = 0; i < n; i++) {
    h[i] /= sum;
    x[i] = h[i] / 2 + (i ? x[i - 1] + h[i - 1] / 2 : 0);
  }
}

static double K(const Graded *g, const double x[3])
{
  return exp(0.5 * log(g->contrast) * sin(2 * (double)PETSC_PI * x[0]) * cos(2 * (double)PETSC_PI * x[1] + x[2]));
}

static PetscErrorCode Matrix(const Graded *g, DM *da, Mat *A)
{
  DMBoundaryType b[3] = {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE};
  PetscInt first[3], count[3], at[3];
  double *h[3], *x[3];

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++) {
    PetscCall(PetscMalloc2(g->n[d], &h[d], g->n[d], &x[d]));
    Cells(g, d, h[d], x[d]);
    if (d < g->dim && g->ends[2 * d] == 'p') b[d] = DM_BOUNDARY_PERIODIC;
  }
  PetscCall(TestStarCreate(g->dim, g->n, b, da, A));
  PetscCall(DMDAGetCorners(*da, &first[0], &first[1], &first[2], &count[0], &count[1], &count[2]));
  for (at[2] = first[2]; at[2] < first[2] + count[2]; at[2]++)
    for (at[1] = first[1]; at[1] < first[1] + count[1]; at[1]++)
      for (at[0] = first[0]; at[0] < first[0] + count[0]; at[0]++) {
        const double cell = h[0][at[0]] * h[1][at[1]] * h[2][at[2]];
        const MatStencil row = {at[2], at[1], at[0], 0};
        MatStencil col[7];
        PetscScalar v[7];
        PetscInt m = 1;
        double diagonal = 0;

        for (PetscInt e = 0; e < 2 * g->dim; e++) {
          const PetscInt d = e / 2, to[3] = {at[0] + (d == 0) * (e % 2 * 2 - 1), at[1] + (d == 1) * (e % 2 * 2 - 1),
                                             at[2] + (d == 2) * (e % 2 * 2 - 1)};
          const PetscBool out = (PetscBool)(g->ends[2 * d] != 'p' && (to[d] < 0 || to[d] >= g->n[d]));
          double face[3] = {x[0][at[0]], x[1][at[1]], x[2][at[2]]}, half = h[d][at[d]] / 2, link;

          if (out && g->ends[e] == 'n') continue;
          face[d] += e % 2 ? half : -half;
          link = K(g, face) * (g->divided ? 1 : cell) /
                 (h[d][at[d]] * (half + (out ? 0 : h[d][(to[d] + g->n[d]) % g->n[d]] / 2)));
          diagonal += link;
          if (out) continue;
          col[m].i = to[0], col[m].j = to[1], col[m].k = to[2], col[m].c = 0;
          v[m++] = (PetscScalar)-link;
        }
        col[0] = row;
        v[0] = (PetscScalar)diagonal;
        PetscCall(MatSetValuesStencil(*A, 1, &row, m, col, v, INSERT_VALUES));
      }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  for (PetscInt d = 0; d < 3; d++) PetscCall(PetscFree2(h[d], x[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations to 1e-8 of CG, or of GMRES where rows were divided. The error in the norm of A, or the residual */
static PetscErrorCode Iterations(const Graded *g, DM da, Mat A, PCBCRPoissonFit fit, PetscInt *its)
{
  PetscBool singular = PETSC_TRUE;
  KSPConvergedReason reason;
  PetscScalar product[2];
  PetscReal norm[2];
  Vec exact, x, b;
  KSP ksp;
  PC pc;

  PetscFunctionBegin;
  for (PetscInt e = 0; e < 2 * g->dim; e++) singular = (PetscBool)(singular && g->ends[e] != 'd');
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &exact));
  PetscCall(TestRandom(exact));
  PetscCall(MatMult(A, exact, b));
  if (singular) {
    MatNullSpace constant;

    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &constant));
    PetscCall(MatSetNullSpace(A, constant));
    PetscCall(MatNullSpaceDestroy(&constant));
  }
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, g->divided ? KSPGMRES : KSPCG));
  PetscCall(KSPGMRESSetRestart(ksp, 300));
  if (g->divided) PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
  PetscCall(KSPSetTolerances(ksp, 1e-8, 0, 1e10, 300));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCBCRPOISSON));
  PetscCall(PCSetDM(pc, da));
  PetscCall(PCBCRPoissonSetFit(pc, fit));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  if (fit != PCBCRPOISSON_FIT_AVERAGE) {
    Vec r;

    PetscCall(VecDuplicate(b, &r));
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAYPX(r, -1, b));
    PetscCall(VecDot(b, exact, &product[1]));
    PetscCall(VecAXPY(exact, -1, x));
    PetscCall(VecDot(r, exact, &product[0])); /* r = A (exact - x) */
    PetscCall(VecNorm(r, NORM_2, &norm[0]));
    PetscCall(VecNorm(b, NORM_2, &norm[1]));
    Check(reason > 0 &&
            (g->divided ? norm[0] <= 1e-7 * norm[1] : PetscAbsScalar(product[0]) <= 1e-13 * PetscAbsScalar(product[1])),
          "%d x %d x %d, stretched %g %g %g, contrast %g, ends %s, fit %s: %s after %d, error^2 %g, residual %g",
          (int)g->n[0], (int)g->n[1], (int)g->n[2], g->ratio[0], g->ratio[1], g->ratio[2], g->contrast, g->ends,
          PCBCRPoissonFits[fit], KSPConvergedReasons[reason], (int)*its,
          (double)PetscAbsScalar(product[0] / product[1]), (double)(norm[0] / norm[1]));
    PetscCall(VecDestroy(&r));
  }
  PetscCall(TestDestroy(&exact, &x, &b, &ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y^T M x = x^T (M^T y) */
static PetscErrorCode Transposed(const Graded *g, DM da, Mat A)
{
  PetscScalar product[2];
  PetscReal norm[2];
  Vec x, y, u, v;
  PC pc;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(x, &u));
  PetscCall(VecDuplicate(x, &v));
  PetscCall(TestRandom(x));
  PetscCall(TestRandom(y));
  PetscCall(CasePC(da, A, &pc));
  PetscCall(PCBCRPoissonSetFit(pc, PCBCRPOISSON_FIT_SCALED));
  PetscCall(PCApply(pc, x, u));
  PetscCall(PCApplyTranspose(pc, y, v));
  PetscCall(VecTDot(y, u, &product[0]));
  PetscCall(VecTDot(x, v, &product[1]));
  PetscCall(VecNorm(y, NORM_2, &norm[0]));
  PetscCall(VecNorm(u, NORM_2, &norm[1]));
  Check(PetscAbsScalar(product[0] - product[1]) <= 1e-11 * norm[0] * norm[1],
        "%d x %d x %d, ends %s: y M x = %g, x M^T y = %g", (int)g->n[0], (int)g->n[1], (int)g->n[2], g->ends,
        (double)PetscRealPart(product[0]), (double)PetscRealPart(product[1]));
  PetscCall(TestDestroy(&pc, &x, &y, &u, &v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The three fits */
static PetscErrorCode Run(const Graded *g, PetscInt *scaled)
{
  PetscInt its[3];
  DM da;
  Mat A;

  PetscFunctionBegin;
  PetscCall(Matrix(g, &da, &A));
  PetscCall(Iterations(g, da, A, PCBCRPOISSON_FIT_AVERAGE, &its[0]));
  PetscCall(Iterations(g, da, A, PCBCRPOISSON_FIT_SCALED, &its[1]));
  PetscCall(Iterations(g, da, A, PCBCRPOISSON_FIT_AUTO, &its[2]));
  Check(its[1] <= g->most && its[2] <= PetscMin(its[0], its[1]) + 2,
        "%d x %d x %d, stretched %g %g %g (%d), contrast %g, ends %s%s: average %d, scaled %d (at most %d), auto %d",
        (int)g->n[0], (int)g->n[1], (int)g->n[2], g->ratio[0], g->ratio[1], g->ratio[2], (int)g->grading, g->contrast,
        g->ends, g->divided ? ", divided" : "", (int)its[0], (int)its[1], (int)g->most, (int)its[2]);
  if (g->divided) PetscCall(Transposed(g, da, A));
  *scaled = its[1];
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sizes, stretching, k: the iterations are those of k */
static PetscErrorCode Sizes(void)
{
  static const PetscInt sizes[3] = {31, 64, 97};
  static const double ratios[] = {10, 100, 1000}, contrasts[] = {10, 100};

  PetscFunctionBegin;
  for (int c = 0; c < 2; c++) {
    PetscInt low = PETSC_MAX_INT, high = 0;

    for (int r = 0; r < 3; r++) {
      if (!TestTurn()) continue;
      for (int s = 0; s < 3; s++) {
        const Graded g = {
          .dim = 2,
          .n = {sizes[s],  sizes[s] + 5,        1},
          .ratio = {ratios[r], ratios[(r + c) % 3], 1},
          .contrast = contrasts[c],
          .ends = "dddd",
          .divided = (PetscBool)((r + s) % 2),
          .most = c ? 16 : 12
        };
        PetscInt its;

        PetscCall(Run(&g, &its));
        if (g.divided) continue; /* residuals, much of which is in few rows */
        low = PetscMin(low, its);
        high = PetscMax(high, its);
      }
    }
    if (high)
      Check(high <= low + 3, "contrast %g: %d to %d iterations with fit scaled", contrasts[c], (int)low, (int)high);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Forms(void)
{
  static const Graded cases[] = {
    {2, {40, 37, 1},  {100, 100, 1},   10,  "nnnn",   BOTH,   PETSC_FALSE, 18},
    {2, {40, 37, 1},  {100, 100, 1},   10,  "nnnn",   BOTH,   PETSC_TRUE,  20},
    {2, {40, 37, 1},  {100, 1, 1},     10,  "ndnn",   BOTH,   PETSC_FALSE, 18},
    {2, {40, 37, 1},  {1, 1000, 1},    10,  "ppdd",   BOTH,   PETSC_FALSE, 14},
    {2, {40, 37, 1},  {1, 1000, 1},    10,  "ppnd",   BOTH,   PETSC_TRUE,  18},
    {2, {40, 37, 1},  {100, 1000, 1},  10,  "dndn",   ONE,    PETSC_FALSE, 18},
    {2, {48, 51, 1},  {100, 100, 1},   10,  "dddd",   RANDOM, PETSC_FALSE, 14},
    {2, {48, 51, 1},  {100, 100, 1},   100, "ddnd",   RANDOM, PETSC_TRUE,  26},
    {2, {5, 3, 1},    {100, 100, 1},   10,  "dddd",   BOTH,   PETSC_FALSE, 18},
    {2, {2, 16, 1},   {10, 100, 1},    10,  "dddd",   ONE,    PETSC_FALSE, 18},
    {3, {12, 15, 17}, {100, 100, 1},   10,  "dddddd", BOTH,   PETSC_FALSE, 13},
    {3, {12, 15, 17}, {100, 10, 1000}, 10,  "dddddd", BOTH,   PETSC_TRUE,  13},
    {3, {16, 8, 13},  {1, 1, 100},     10,  "ppddnn", BOTH,   PETSC_FALSE, 18},
    {3, {16, 13, 16}, {1, 100, 100},   10,  "ppnnnn", ONE,    PETSC_FALSE, 20},
 /* stretched round a periodic axis, too */
    {2, {40, 37, 1},  {100, 1, 1},     10,  "ppdd",   BOTH,   PETSC_FALSE, 13},
    {2, {40, 37, 1},  {1000, 100, 1},  10,  "ppdd",   BOTH,   PETSC_FALSE, 13},
    {2, {40, 37, 1},  {100, 1000, 1},  100, "ddpp",   RANDOM, PETSC_FALSE, 19},
    {2, {64, 61, 1},  {100, 100, 1},   10,  "pppp",   BOTH,   PETSC_FALSE, 14},
    {2, {40, 37, 1},  {100, 100, 1},   10,  "ppnd",   ONE,    PETSC_TRUE,  15},
    {2, {5, 37, 1},   {10, 100, 1},    10,  "ppnn",   ONE,    PETSC_FALSE, 25},
    {2, {3, 37, 1},   {10, 100, 1},    10,  "ppnn",   ONE,    PETSC_FALSE, 25},
    {3, {12, 15, 17}, {100, 10, 100},  10,  "ppppdd", BOTH,   PETSC_FALSE, 15},
    {3, {12, 15, 17}, {1, 100, 1000},  10,  "ddppnn", RANDOM, PETSC_TRUE,  15},
  };

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases); i++) {
    PetscInt its;

    if (TestTurn()) PetscCall(Run(&cases[i], &its));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  int bad;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  if (sizeof(PetscReal) == sizeof(double)) {
    PetscCall(Sizes());
    PetscCall(Forms());
  }
  bad = TestEndAll(PETSC_COMM_WORLD);
  PetscCall(PetscFinalize());
  return bad;
}
