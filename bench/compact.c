static char help[] =
  "Times compact derivatives along each axis of an n x n x n grid against a copy of the field; on any number of ranks, times are those of the slowest.\n\
  -n <64,128,256>  sizes\n\
  -dof <1>         components of a point\n\
  -reps <9>        repetitions, at least 5\n\
  -csv <file>      adds the results to this file\n\
  Options -mat_compact_... act on every matrix.\n\n";

#include "bench.h"

#define MAX_SIZES 8
#define MAX_REPS  1000

static PetscMPIInt rank, size;
static PetscInt repetitions = 9, dof = 1;
static FILE *csv;

/* derivatives of f, timed; n of them: PetscBCRCompactGradient() */
typedef struct {
  const char *name, *axis, *solver;
  PetscInt n;
  PetscBool gradient;
  Mat D[3];
  double t[MAX_REPS], c[MAX_REPS];
} Case;

static PetscErrorCode Copy(Vec f, Vec d)
{
  const PetscScalar *a;
  PetscScalar *b;
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(f, &n));
  PetscCall(VecGetArrayRead(f, &a));
  PetscCall(VecGetArray(d, &b));
  memcpy(b, a, sizeof(PetscScalar) * (size_t)n);
  PetscCall(VecRestoreArray(d, &b));
  PetscCall(VecRestoreArrayRead(f, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Derive(Case *p, Vec f, Vec d[])
{
  PetscFunctionBegin;
  if (p->gradient) PetscCall(PetscBCRCompactGradient(p->n, p->D, f, d));
  else {
    for (PetscInt i = 0; i < p->n; ++i) PetscCall(MatMult(p->D[i], f, d[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* max |d/dx x - 1|, max |d2/dx2 x^2 - 2|, along the axis of a grid with ends: what rounding does */
static PetscErrorCode Check(DM da, PetscInt axis, PetscInt m, PetscReal h, Mat D, Vec f, Vec d, double *error)
{
  DMDALocalInfo info;
  PetscScalar *a;
  PetscReal off;

  PetscFunctionBegin;
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(VecGetArray(f, &a));
  for (PetscInt k = 0; k < info.zm; ++k) {
    for (PetscInt j = 0; j < info.ym; ++j) {
      for (PetscInt i = 0; i < info.xm; ++i) {
        const PetscReal x = h * (PetscReal)(axis == 0 ? info.xs + i : (axis == 1 ? info.ys + j : info.zs + k));

        for (PetscInt c = 0; c < dof; ++c) a[c + dof * (i + info.xm * (j + info.ym * k))] = m == 1 ? x : x * x;
      }
    }
  }
  PetscCall(VecRestoreArray(f, &a));
  PetscCall(MatMult(D, f, d));
  PetscCall(VecShift(d, -m));
  PetscCall(VecNorm(d, NORM_INFINITY, &off));
  *error = (double)off;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Row(Case *p, const char *scheme, PetscInt n, double setup, double error)
{
  BenchRow r;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&r, sizeof(r)));
  r.program = "compact";
  r.name = p->name;
  r.precision = sizeof(PetscReal) == sizeof(double) ? "double" : "single";
  r.solver = scheme;
  r.axis = p->axis;
  r.ranks = size;
  r.dim = 3;
  for (PetscInt d = 0; d < 3; ++d) r.n[d] = n;
  r.iterations = p->n;
  r.setup = setup;
  r.residual = error;
  r.first = NAN;
  BenchStatistics(repetitions, p->t, &r.time, &r.mintime);
  BenchStatistics(repetitions, p->c, &r.copy, &r.mincopy);
  if (rank == 0) {
    BenchWriteRow(csv, &r);
    printf("%-22s %-8s %-4s %5d^3  %9.3f ms  /copy %6.2f (minima %6.2f)  per derivative %6.2f\n", r.name, scheme,
           r.axis, (int)n, 1e3 * r.time, r.time / r.copy, r.mintime / r.mincopy, r.time / r.copy / (double)p->n);
    fflush(stdout);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(PetscInt n, MatCompactScheme scheme, PetscInt m, PetscBool periodic)
{
  const DMBoundaryType b = periodic ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE;
  const PetscReal h = 1 / (PetscReal)n;
  const char *const names[] = {"first_closed",    "first_periodic", "second_closed",
                               "second_periodic", "three_products", "gradient"};
  Case *cases;
  DM da;
  Vec f, d[3];
  PetscRandom random;
  double setup[3], error[3], start = 0;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(5, &cases));
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, b, b, b, DMDA_STENCIL_STAR, n, n, n, PETSC_DECIDE, PETSC_DECIDE,
                         PETSC_DECIDE, dof, 1, NULL, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateGlobalVector(da, &f));
  for (PetscInt a = 0; a < 3; ++a) {
    Mat D;

    PetscCall(VecDuplicate(f, &d[a]));
    PetscCall(MatCreateCompactDerivative(da, (DMDirection)a, scheme, m, h, &D));
    PetscCall(MatSetFromOptions(D));
    PetscCall(VecSet(f, 1));
    PetscCall(BenchClockStart(&start));
    PetscCall(MatMult(D, f, d[a])); /* sets up */
    PetscCall(BenchClockRead(start, &setup[a]));
    error[a] = NAN;
    if (!periodic) PetscCall(Check(da, a, m, h, D, f, d[a], &error[a]));
    cases[a].name = names[(periodic ? 1 : 0) + 2 * (m - 1)];
    cases[a].axis = a == 0 ? "x" : (a == 1 ? "y" : "z");
    cases[a].n = 1;
    cases[a].D[0] = cases[3].D[a] = cases[4].D[a] = D;
  }
  for (PetscInt i = 3; i < 5; ++i) {
    cases[i].name = names[i + 1];
    cases[i].axis = "xyz";
    cases[i].n = 3;
    cases[i].gradient = (PetscBool)(i == 4);
  }
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  PetscCall(VecSetRandom(f, random));
  PetscCall(PetscRandomDestroy(&random));
  for (PetscInt r = 0; r < repetitions; ++r) {
    for (PetscInt i = 0; i < (m == 1 ? 5 : 3); ++i) {
      PetscCall(Copy(f, d[0]));
      PetscCall(BenchClockStart(&start));
      PetscCall(Copy(f, d[0]));
      PetscCall(BenchClockRead(start, &cases[i].c[r]));
      PetscCall(BenchClockStart(&start));
      PetscCall(Derive(&cases[i], f, d));
      PetscCall(BenchClockRead(start, &cases[i].t[r]));
    }
  }
  for (PetscInt i = 0; i < (m == 1 ? 5 : 3); ++i)
    PetscCall(Row(&cases[i], MatCompactSchemes[scheme], n, i < 3 ? setup[i] : setup[0] + setup[1] + setup[2],
                  i < 3 ? error[i] : NAN));
  for (PetscInt a = 0; a < 3; ++a) {
    PetscCall(MatDestroy(&cases[a].D[0]));
    PetscCall(VecDestroy(&d[a]));
  }
  PetscCall(VecDestroy(&f));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFree(cases));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt n[MAX_SIZES] = {64, 128, 256}, sizes = MAX_SIZES;

  PetscBool given;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscBCRInitializePackage());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-n", n, &sizes, &given));
  if (!given) sizes = 3;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dof", &dof, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-reps", &repetitions, NULL));
  repetitions = PetscMin(PetscMax(repetitions, 5), MAX_REPS);
  if (rank == 0)
    PetscCall(BenchOpen(
      "setup_ms: plan and first product; residual: max |d/dx x - 1| or |d2/dx2 x^2 - 2|; iterations: derivatives",
      &csv));
  for (PetscInt s = 0; s < sizes; ++s) {
    for (PetscInt scheme = 0; scheme <= MAT_COMPACT_SPECTRAL; ++scheme) {
      for (PetscInt k = 0; k < 4; ++k) {
        if (scheme != MAT_COMPACT_LELE6 && k) continue; /* the others are for comparison of the schemes */
        PetscCall(Run(n[s], (MatCompactScheme)scheme, 1 + k / 2, (PetscBool)(k % 2)));
      }
    }
  }
  if (csv) fclose(csv);
  PetscCall(PetscFinalize());
  return 0;
}
