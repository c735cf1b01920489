static char help[] =
  "Separable operators, finite volumes on cells: axes that are all stretched towards Dirichlet walls (lines along one\n\
axis, eigenvectors of the others by products, beside dgemm's own speed), cylinders, Robin walls. PCBCRPOISSON, for them\n\
and for the uniform box of that size, beside CG with GAMG and, where PETSc has them, BoomerAMG and MUMPS.\n\
  -n2 <512>       unknowns along a stretched axis in two dimensions, 0: none\n\
  -n3 <64>        and in three\n\
  -ratio <50>     largest over smallest cell\n\
  -robin <0>      unknowns along an axis of a square with four Robin walls\n\
  -cylinder <>    cells along r, theta and z\n\
  -peers <1>      0: PCBCRPOISSON alone\n\
  -reps <5>       repetitions, of which the least time counts\n\
On one core; OPENBLAS_NUM_THREADS=1 or the like keeps the BLAS to it.\n\n";

#include "bench.h"
#include <petscblaslapack.h>
#include <math.h>

static PetscInt repetitions = 5;
static PetscBool with_box = PETSC_TRUE;

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

typedef enum {
  UNIFORM,   /* cells, Dirichlet walls */
  STRETCHED, /* the same, axes stretched towards both walls */
  CYLINDER,  /* cells along r, round a ring, along z with walls that are closed; r = 1 holds the solution */
  ROBIN      /* u_n + 3 u = 0 on all four walls, to first order */
} Kind;

static const char *const kinds[] = {"uniform box", "stretched", "cylinder", "Robin"};

/* The coupling of the cell at[] across the face on side s of axis d, wall: it is one */
static double Coupling(Kind kind, const PetscInt n[3], const double *const h[3], const PetscInt at[3], PetscInt d,
                       PetscInt s, PetscBool wall)
{
  const double dr = 1 / (double)n[0], r = ((double)at[0] + 0.5) * dr, face = r + (s ? 0.5 : -0.5) * dr;

  if (kind == CYLINDER) {
    const double dt = 2 * (double)PETSC_PI / (double)n[1], dz = 1 / (double)n[2];

    if (d == 0) return face * dt * dz / dr * (wall && s ? 2 : 1);
    if (d == 1) return dr * dz / (r * dt);
    return wall ? 0 : r * dr * dt / dz;
  }
  if (kind == STRETCHED) {
    double volume = 1;

    for (PetscInt e = 0; e < 3; e++) volume *= n[e] > 1 ? h[e][at[e]] : 1;
    return volume / h[d][at[d]] / (0.5 * (h[d][at[d]] + (wall ? 0 : h[d][at[d] + (s ? 1 : -1)])));
  }
  if (kind == ROBIN && wall) return 3 / (double)n[d];
  return wall ? 2 : 1;
}

/* The matrix row by row: MatSetValuesStencil() takes minutes for 256 x 256 x 256 cells */
static PetscErrorCode Assemble(DM da, Kind kind, double ratio, Mat *A)
{
  DMDALocalInfo info;
  DMBoundaryType b[3];
  PetscInt n[3], *first, *column, rows, count = 0;
  PetscScalar *value;
  double *h[3];

  PetscFunctionBegin;
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMDAGetInfo(da, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &b[0], &b[1], &b[2], NULL));
  n[0] = info.mx, n[1] = info.my, n[2] = info.mz;
  for (PetscInt d = 0; d < 3; d++) {
    PetscCall(PetscMalloc1(n[d], &h[d]));
    Widths(n[d], ratio, h[d]);
  }
  rows = n[0] * n[1] * n[2];
  PetscCall(PetscMalloc1(rows + 1, &first));
  PetscCall(PetscMalloc1((2 * info.dim + 1) * rows, &column));
  PetscCall(PetscMalloc1((2 * info.dim + 1) * rows, &value));
  for (PetscInt k = 0; k < n[2]; k++)
    for (PetscInt j = 0; j < n[1]; j++)
      for (PetscInt i = 0; i < n[0]; i++) {
        const PetscInt at[3] = {i, j, k}, stride[3] = {1, n[0], n[0] * n[1]}, row = i + stride[1] * j + stride[2] * k;
        double diagonal = 0;

        first[row] = count++; /* the diagonal, until columns are sorted */
        column[first[row]] = row;
        for (PetscInt d = 0; d < info.dim; d++)
          for (PetscInt s = 0; s < 2; s++) {
            const PetscInt to = at[d] + (s ? 1 : -1);
            const PetscBool out = (PetscBool)(to < 0 || to >= n[d]),
                            wall = (PetscBool)(out && b[d] != DM_BOUNDARY_PERIODIC);
            const double c = Coupling(kind, n, (const double *const *)h, at, d, s, wall);

            diagonal += c;
            if (wall) continue;
            column[count] = row + (to - at[d] - (out ? (s ? n[d] : -n[d]) : 0)) * stride[d];
            value[count++] = -c;
          }
        value[first[row]] = diagonal;
        PetscCall(PetscSortIntWithScalarArray(count - first[row], &column[first[row]], &value[first[row]]));
      }
  first[rows] = count;
  for (PetscInt d = 0; d < 3; d++) PetscCall(PetscFree(h[d]));
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, rows, rows, rows, rows));
  PetscCall(MatSetType(*A, MATSEQAIJ));
  PetscCall(MatSeqAIJSetPreallocationCSR(*A, first, column, value));
  PetscCall(PetscFree(first));
  PetscCall(PetscFree(column));
  PetscCall(PetscFree(value));
  PetscCall(MatSetDM(*A, da));
  PetscCall(MatSetOption(*A, MAT_SYMMETRIC, PETSC_TRUE));
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

/* First of all solves, the fastest of them, and what that leaves */
static PetscErrorCode Measure(Mat A, const char name[], KSPType type, PCType pctype, double copy, double box,
                              double flops, Vec b, Vec x, double *best)
{
  KSP ksp;
  PC pc;
  double start, setup, first = 0;
  char of[64] = "";
  Vec r;
  PetscReal norm[4];
  PetscInt its, count = repetitions;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, !strcmp(pctype, PCBCRPOISSON) ? "bcr_" : "peer_"));
  PetscCall(KSPSetType(ksp, type));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 200));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, pctype));
#if defined(PETSC_HAVE_MUMPS)
  if (!strcmp(pctype, PCCHOLESKY)) PetscCall(PCFactorSetMatSolverType(pc, MATSOLVERMUMPS));
#endif
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetFromOptions(ksp));
  start = BenchTime();
  PetscCall(KSPSetUp(ksp));
  setup = BenchTime() - start;
  *best = HUGE_VAL;
  if (strcmp(pctype, PCBCRPOISSON) != 0) count = PetscMin(count, 2);
  for (PetscInt i = 0; i < count; i++) {
    start = BenchTime();
    PetscCall(KSPSolve(ksp, b, x));
    *best = PetscMin(*best, BenchTime() - start);
    if (i == 0) first = *best;
  }
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1, b));
  PetscCall(VecNorm(r, NORM_INFINITY, &norm[0]));
  PetscCall(VecNorm(b, NORM_INFINITY, &norm[1]));
  PetscCall(VecNorm(x, NORM_INFINITY, &norm[2]));
  PetscCall(MatNorm(A, NORM_INFINITY, &norm[3]));
  if (flops > 0) {
    char *text;
    int applications;

    PetscCall(BenchViewText(ksp, &text));
    applications = strstr(text, "refined once") ? 2 : 1;
    free(text);
    (void)snprintf(of, sizeof(of), "%s, %.0f %% of dgemm's speed", applications > 1 ? ", refined" : "",
                   100 * applications * flops / *best);
  }
  printf(
    "  %-12s set-up %8.1f ms, solve %8.2f ms (the first %.2f), %7.1f copies, %.2f boxes%s, %d iterations, backward "
    "error %.1e\n",
    name, 1e3 * setup, 1e3 * *best, 1e3 * first, *best / copy, *best / (box > 0 ? box : *best), of, (int)its,
    (double)(norm[0] / (norm[1] + norm[2] * norm[3])));
  fflush(stdout);
  PetscCall(VecDestroy(&r));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Grid(Kind kind, PetscInt dim, const PetscInt n[3], double ratio, PetscBool peers)
{
  const DMBoundaryType none = DM_BOUNDARY_NONE, around = kind == CYLINDER ? DM_BOUNDARY_PERIODIC : none;
  double speed = 0, copy = HUGE_VAL, flops = 0, box = 0, time;
  DM da;
  Mat A;
  Vec b, x;

  PetscFunctionBegin;
  PetscCall(DMDACreate(PETSC_COMM_SELF, &da));
  PetscCall(DMSetDimension(da, dim));
  PetscCall(DMDASetSizes(da, n[0], n[1], dim == 3 ? n[2] : 1));
  PetscCall(DMDASetBoundaryType(da, none, around, none));
  PetscCall(DMDASetStencilType(da, DMDA_STENCIL_STAR));
  PetscCall(DMDASetStencilWidth(da, 1));
  PetscCall(DMDASetDof(da, 1));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecSetRandom(b, NULL));
  for (PetscInt r = 0; r < 3 * repetitions; r++) {
    const double start = BenchTime();

    PetscCall(VecCopy(b, x));
    copy = PetscMin(copy, BenchTime() - start);
  }
  printf("%s %d x %d x %d: copy %.3f ms", kinds[kind], (int)n[0], (int)n[1], dim == 3 ? (int)n[2] : 1, 1e3 * copy);
  if (kind == STRETCHED) { /* all axes but one are dense: two products each, an even and an odd half of either */
    PetscCall(Dgemm(n[0], &speed));
    printf(", dgemm %.1f Gflop/s", 1e-9 * speed);
    flops = 4 * (double)(dim - 1) * pow((double)n[0], (double)dim + 1) / speed;
  }
  printf("\n");
  if (with_box) {
    PetscCall(Assemble(da, UNIFORM, ratio, &A));
    PetscCall(Measure(A, "uniform box", KSPPREONLY, PCBCRPOISSON, copy, 0, 0, b, x, &box));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(Assemble(da, kind, ratio, &A));
  PetscCall(Measure(A, "bcrpoisson", KSPPREONLY, PCBCRPOISSON, copy, box, flops, b, x, &time));
  if (peers) {
    PetscCall(Measure(A, "cg + gamg", KSPCG, PCGAMG, copy, box, 0, b, x, &time));
#if defined(PETSC_HAVE_HYPRE)
    PetscCall(Measure(A, "cg + hypre", KSPCG, PCHYPRE, copy, box, 0, b, x, &time));
#endif
#if defined(PETSC_HAVE_MUMPS)
    if (dim == 2) PetscCall(Measure(A, "mumps", KSPPREONLY, PCCHOLESKY, copy, box, 0, b, x, &time));
#endif
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt n[2] = {512, 64}, robin = 0, cylinder[3] = {0, 0, 0}, three = 3;
  PetscReal ratio = 50;
  PetscBool peers = PETSC_TRUE;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-reps", &repetitions, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n2", &n[0], NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n3", &n[1], NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-robin", &robin, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-cylinder", cylinder, &three, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-ratio", &ratio, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-box", &with_box, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-peers", &peers, NULL));
  for (PetscInt d = 0; d < 2; d++)
    if (n[d]) PetscCall(Grid(STRETCHED, d + 2, (PetscInt[3]){n[d], n[d], n[d]}, (double)ratio, peers));
  if (robin) PetscCall(Grid(ROBIN, 2, (PetscInt[3]){robin, robin, 1}, 1, peers));
  if (cylinder[0] && cylinder[1] && cylinder[2]) PetscCall(Grid(CYLINDER, 3, cylinder, 1, peers));
  PetscCall(PetscFinalize());
  return 0;
}
