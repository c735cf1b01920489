static char help[] =
  "Helmholtz on the unit square or cube between Dirichlet walls: PCBCRPOISSON for the definite box, for one that is indefinite and, with\n\
complex scalars, for one with a complex shift; beside it GMRES with GAMG, and BoomerAMG and MUMPS where PETSc has them.\n\
  -n <1023>       unknowns along an axis\n\
  -dim <2>        or 3\n\
  -waves <20.3>   waves across the square\n\
  -damping <0.5>  of the complex shift, k^2 (1 - i damping)\n\
  -reps <5>       repetitions, of which the least time counts\n\
  -peers <1>      0: PCBCRPOISSON alone\n\
On one core, or on one device (-dm_vec_type cuda -dm_mat_type aijcusparse), where 20 solves are timed together.\n\n";

#define BENCH_ANY_SCALARS
#include "bench.h"
#include <math.h>

static PetscInt repetitions = 5;
static PetscBool device; /* vectors are there */

static PetscErrorCode Assemble(DM da, PetscScalar shift, Mat *A)
{
  DMDALocalInfo info;

  PetscFunctionBegin;
  PetscCall(DMCreateMatrix(da, A));
  PetscCall(DMDAGetLocalInfo(da, &info));
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++)
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++)
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
        const MatStencil row = {.i = i, .j = j, .k = k};
        MatStencil columns[7];
        PetscScalar values[7] = {(PetscReal)(2 * info.dim) + shift, -1, -1, -1, -1, -1, -1};
        PetscInt count = 1;

        columns[0] = row;
        for (int s = 0; s < 2 * info.dim; s++) {
          const PetscInt x = i + (s == 0) - (s == 1), y = j + (s == 2) - (s == 3), z = k + (s == 4) - (s == 5);

          if (x < 0 || y < 0 || z < 0 || x >= info.mx || y >= info.my || z >= info.mz) continue;
          columns[count] = row;
          columns[count].i = x;
          columns[count].j = y;
          columns[count++].k = z;
        }
        PetscCall(MatSetValuesStencil(*A, 1, &row, count, columns, values, INSERT_VALUES));
      }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *best: the least time of a solve. other: what that is told in, and its name */
static PetscErrorCode Measure(Mat A, const char name[], KSPType type, PCType pctype, double copy, double box, Vec b,
                              Vec x, double *best)
{
  KSPConvergedReason reason;
  PetscInt its, most = 200, count = repetitions;
  PetscReal norm[4];
  double start, setup;
  char times[32] = "";
  KSP ksp;
  PC pc;
  Vec r;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetType(ksp, type));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, most));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, pctype));
  if (!strcmp(pctype, PCLU)) PetscCall(PCFactorSetMatSolverType(pc, MATSOLVERMUMPS));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetFromOptions(ksp));
  start = BenchTime();
  PetscCall(KSPSetUp(ksp));
  setup = BenchTime() - start;
  *best = HUGE_VAL;
  if (device) PetscCall(KSPSolve(ksp, b, x)); /* the first one makes its graph */
  for (PetscInt i = 0; i < count; i++) {
    const int many = device && strcmp(type, KSPGMRES) ? 20 : 1;

    if (device) PetscCall(BenchWait());
    start = BenchTime();
    for (int s = 0; s < many; s++) PetscCall(KSPSolve(ksp, b, x));
    if (device) PetscCall(BenchWait());
    *best = PetscMin(*best, (BenchTime() - start) / many);
    if (!strcmp(type, KSPGMRES)) count = 1;
  }
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1, b));
  PetscCall(VecNorm(r, NORM_INFINITY, &norm[0]));
  PetscCall(VecNorm(x, NORM_INFINITY, &norm[1]));
  PetscCall(VecNorm(b, NORM_INFINITY, &norm[2]));
  PetscCall(MatNorm(A, NORM_INFINITY, &norm[3]));
  if (box > 0) (void)snprintf(times, sizeof(times), ", %.2f boxes", *best / box);
  printf("%-34s set-up %9.1f ms, solve %10.3f ms, %7.1f copies%s, %d iterations (%s), backward error %.1e\n", name,
         1e3 * setup, 1e3 * *best, *best / copy, times, (int)its, KSPConvergedReasons[reason],
         (double)(norm[0] / (norm[3] * norm[1] + norm[2])));
  fflush(stdout);
  PetscCall(VecDestroy(&r));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const char *const names[] = {"definite", "indefinite", "complex"};
  PetscInt n = 1023, dim = 2, peers = 1;
  PetscReal waves = (PetscReal)20.3, damping = (PetscReal)0.5;
  PetscScalar shift[3] = {0, 0, 0};
  double box = 0, copy = HUGE_VAL, time = 0;
  DM da;
  Vec b, x;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-reps", &repetitions, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dim", &dim, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-peers", &peers, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-waves", &waves, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-damping", &damping, NULL));
  shift[1] = -PetscSqr(2 * PETSC_PI * waves / (PetscReal)(n + 1));
#if defined(PETSC_USE_COMPLEX)
  shift[2] = shift[1] * (1 - PETSC_i * damping);
#endif
  PetscCall(DMDACreate(PETSC_COMM_SELF, &da));
  PetscCall(DMSetDimension(da, dim));
  PetscCall(DMDASetSizes(da, n, n, dim > 2 ? n : 1));
  PetscCall(DMDASetDof(da, 1));
  PetscCall(DMDASetStencilType(da, DMDA_STENCIL_STAR));
  PetscCall(DMDASetStencilWidth(da, 1));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)b, &device, VECSEQCUDA, VECMPICUDA, ""));
  for (PetscInt r = 0; r < 3 * repetitions; r++) {
    const int many = device ? 20 : 1;
    double start;

    PetscCall(VecCopy(b, x));
    if (device) PetscCall(BenchWait());
    start = BenchTime();
    for (int s = 0; s < many; s++) PetscCall(VecCopy(s % 2 ? x : b, s % 2 ? b : x));
    if (device) PetscCall(BenchWait());
    copy = PetscMin(copy, (BenchTime() - start) / many);
  }
  printf("%d^%d, %s scalars, %.4g waves: copy %.4f ms\n", (int)n, (int)dim,
         PetscDefined(USE_COMPLEX) ? "complex" : "real", (double)waves, 1e3 * copy);
  for (int k = 0; k < (PetscDefined(USE_COMPLEX) ? 3 : 2); k++) {
    char name[64];
    Mat A;

    PetscCall(Assemble(da, shift[k], &A));
    (void)snprintf(name, sizeof(name), "%s, bcrpoisson", names[k]);
    PetscCall(Measure(A, name, KSPPREONLY, PCBCRPOISSON, copy, box, b, x, &time));
    if (k == 0) box = time;
    if (peers && k) {
      (void)snprintf(name, sizeof(name), "%s, gmres + gamg", names[k]);
      PetscCall(Measure(A, name, KSPGMRES, PCGAMG, copy, box, b, x, &time));
#if defined(PETSC_HAVE_HYPRE)
      (void)snprintf(name, sizeof(name), "%s, gmres + hypre", names[k]);
      PetscCall(Measure(A, name, KSPGMRES, PCHYPRE, copy, box, b, x, &time));
#endif
#if defined(PETSC_HAVE_MUMPS)
      (void)snprintf(name, sizeof(name), "%s, mumps", names[k]);
      PetscCall(Measure(A, name, KSPPREONLY, PCLU, copy, box, b, x, &time));
#endif
    }
    PetscCall(MatDestroy(&A));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFinalize());
  return 0;
}
