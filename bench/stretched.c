static char help[] =
  "Grids stretched towards walls along every axis: finite volumes, tanh spacings, Dirichlet walls. PCBCRPOISSON\n\
(lines along one axis, eigenvectors of the others by products) beside dgemm's own speed, and CG with GAMG.\n\
  -n2 <512>       unknowns along an axis in two dimensions, 0: none\n\
  -n3 <64>        and in three\n\
  -ratio <50>     largest over smallest cell\n\
  -reps <5>       repetitions, of which the least time counts\n\
On one core; OPENBLAS_NUM_THREADS=1 or the like keeps the BLAS to it.\n\n";

#include "bench.h"
#include <petscblaslapack.h>
#include <math.h>

static PetscInt repetitions = 5;

/* Widths of n cells of an axis of length 1 */
static void Widths(PetscInt n, double ratio, double h[])
{
  double sum = 0;

  for (PetscInt i = 0; i < n; i++) {
    const double t = 2 * ((double)i + 0.5) / (double)n - 1;

    sum += h[i] = 1 / (1 + (ratio - 1) * t * t);
  }
  for (PetscInt i = 0; i < n; i++) h[i] /= sum;
}

static PetscErrorCode Assemble(DM da, double ratio, Mat *A)
{
  DMDALocalInfo info;
  double *h;

  PetscFunctionBegin;
  PetscCall(DMCreateMatrix(da, A));
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(PetscMalloc1(info.mx, &h));
  Widths(info.mx, ratio, h);
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++)
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++)
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
        const PetscInt at[3] = {i, j, k};
        MatStencil row = {.i = i, .j = j, .k = k}, columns[7];
        PetscScalar values[7];
        double volume = 1, diagonal = 0;
        PetscInt count = 1;

        for (PetscInt d = 0; d < info.dim; d++) volume *= h[at[d]];
        for (PetscInt d = 0; d < info.dim; d++)
          for (PetscInt s = -1; s <= 1; s += 2) {
            const PetscInt to = at[d] + s;
            const PetscBool wall = (PetscBool)(to < 0 || to >= info.mx);
            const double c = volume / h[at[d]] / (0.5 * (h[at[d]] + (wall ? 0 : h[to])));

            diagonal += c;
            if (wall) continue;
            columns[count] = row;
            *(d == 0 ? &columns[count].i : (d == 1 ? &columns[count].j : &columns[count].k)) = to;
            values[count++] = -c;
          }
        columns[0] = row;
        values[0] = diagonal;
        PetscCall(MatSetValuesStencil(*A, 1, &row, count, columns, values, INSERT_VALUES));
      }
  PetscCall(PetscFree(h));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Flops a second of dgemm with matrices of n x n */
static PetscErrorCode Dgemm(PetscInt n, double *speed)
{
  const PetscScalar one = 1, zero = 0;
  PetscScalar *a, *b, *c;
  PetscBLASInt m;
  double least = HUGE_VAL;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(n, &m));
  PetscCall(PetscMalloc3(n * n, &a, n * n, &b, n * n, &c));
  for (PetscInt i = 0; i < n * n; i++) a[i] = b[i] = (PetscScalar)(i % 7);
  for (PetscInt r = 0; r < 3 * repetitions; r++) {
    const double start = BenchTime();

    PetscCallBLAS("BLASgemm", BLASgemm_("N", "N", &m, &m, &m, &one, a, &m, b, &m, &zero, c, &m));
    least = PetscMin(least, BenchTime() - start);
  }
  *speed = 2. * (double)n * (double)n * (double)n / least;
  PetscCall(PetscFree3(a, b, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  double setup, solve, residual;
  PetscInt iterations;
} Times;

static PetscErrorCode Measure(Mat A, KSPType type, PCType pctype, Vec b, Vec x, Times *t)
{
  KSP ksp;
  PC pc;
  double start;
  Vec r;
  PetscReal norm[2];

  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, !strcmp(pctype, PCBCRPOISSON) ? "bcr_" : "gamg_"));
  PetscCall(KSPSetType(ksp, type));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 1000));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, pctype));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetFromOptions(ksp));
  start = BenchTime();
  PetscCall(KSPSetUp(ksp));
  t->setup = BenchTime() - start;
  t->solve = HUGE_VAL;
  for (PetscInt i = 0; i < repetitions; i++) {
    start = BenchTime();
    PetscCall(KSPSolve(ksp, b, x));
    t->solve = PetscMin(t->solve, BenchTime() - start);
  }
  PetscCall(KSPGetIterationNumber(ksp, &t->iterations));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1, b));
  PetscCall(VecNorm(r, NORM_2, &norm[0]));
  PetscCall(VecNorm(b, NORM_2, &norm[1]));
  t->residual = (double)(norm[0] / norm[1]);
  PetscCall(VecDestroy(&r));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Grid(PetscInt dim, PetscInt n, double ratio)
{
  const double N = pow((double)n, (double)dim), flops = 4 * (double)(dim - 1) * (double)n * N;
  const DMBoundaryType none = DM_BOUNDARY_NONE;
  double speed = 0, copy = HUGE_VAL;
  Times bcr, gamg;
  DM da;
  Mat A;
  Vec b, x;

  PetscFunctionBegin;
  if (dim == 2)
    PetscCall(DMDACreate2d(PETSC_COMM_SELF, none, none, DMDA_STENCIL_STAR, n, n, 1, 1, 1, 1, NULL, NULL, &da));
  else
    PetscCall(DMDACreate3d(PETSC_COMM_SELF, none, none, none, DMDA_STENCIL_STAR, n, n, n, 1, 1, 1, 1, 1, NULL, NULL,
                           NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(Assemble(da, ratio, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(Dgemm(n, &speed));
  for (PetscInt r = 0; r < 3 * repetitions; r++) {
    const double start = BenchTime();

    PetscCall(VecCopy(b, x));
    copy = PetscMin(copy, BenchTime() - start);
  }
  PetscCall(Measure(A, KSPPREONLY, PCBCRPOISSON, b, x, &bcr));
  PetscCall(Measure(A, KSPCG, PCGAMG, b, x, &gamg));
  printf("%d^%d: copy %.3f ms, dgemm %.1f Gflop/s\n", (int)n, (int)dim, 1e3 * copy, 1e-9 * speed);
  printf("  bcrpoisson  set-up %8.1f ms, solve %8.2f ms, %6.1f copies, %.0f %% of dgemm's speed, residual %.1e\n",
         1e3 * bcr.setup, 1e3 * bcr.solve, bcr.solve / copy, 100 * flops / bcr.solve / speed, bcr.residual);
  printf("  cg + gamg   set-up %8.1f ms, solve %8.2f ms, %6.1f copies, %d iterations, residual %.1e\n",
         1e3 * gamg.setup, 1e3 * gamg.solve, gamg.solve / copy, (int)gamg.iterations, gamg.residual);
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt n[2] = {512, 64};
  PetscReal ratio = 50;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-reps", &repetitions, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n2", &n[0], NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n3", &n[1], NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-ratio", &ratio, NULL));
  for (PetscInt d = 0; d < 2; d++)
    if (n[d]) PetscCall(Grid(d + 2, n[d], (double)ratio));
  PetscCall(PetscFinalize());
  return 0;
}
