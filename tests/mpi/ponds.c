/*
  Systems of rows that differ that have no solution, or none that can be found. Ponds (pieces of
  fluid that no flux leaves, each with a constant of its own) with a right-hand side whose sums
  there do not vanish: the answer is that of the equation without these constants, against LU of A
  + sum v v^T, v the ponds' normalised constants; again, and for right-hand sides that have a
  solution;
  -info has each pond with its rows and its sum.
  Systems whose steps come to an end before the solution: the solve fails, KSPPREONLY then says
  that it would be that of a fit, and CG goes on with it.
  ranks: 1 2 3
*/
#include "../petsc/testing.h"
#include <unistd.h>
#include "../obstacles.h"
#include <petscksp.h>

/* The ponds' constants: of the fluid around the ring in a closed box, and within it */
static PetscErrorCode Constants(const Case *c, DM da, Vec x, PetscInt *n, Vec v[2])
{
  PetscInt lo[3], size[3], N[3];

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], &lo[2], &size[0], &size[1], &size[2]));
  PetscCall(DMDAGetInfo(da, NULL, &N[0], &N[1], &N[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  *n = 0;
  for (int within = c->closed ? 0 : 1; within < (c->shape == RING ? 2 : 1); within++) {
    PetscScalar *a;

    PetscCall(VecDuplicate(x, &v[*n]));
    PetscCall(VecGetArray(v[*n], &a));
    for (PetscInt i = 0; i < size[0] * size[1]; i++) {
      const PetscInt at[3] = {lo[0] + i % size[0], lo[1] + i / size[0], 0};
      const double p = (at[0] + .5) / (double)c->n - .45, q = (at[1] + .5) / (double)c->n - .5;
      const int in = c->shape == RING && p * p + q * q < .25 * .25;

      a[i] = !Inside(c, at) && in == within ? 1 : 0;
    }
    PetscCall(VecRestoreArray(v[*n], &a));
    PetscCall(VecNormalize(v[(*n)++], NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ref = A^+ b, but for the constants: those of b and ref are removed */
static PetscErrorCode Reference(Mat A, PetscInt n, Vec v[], Vec b, Vec ref)
{
  PetscInt first, last, N;
  KSP lu;
  Mat D;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(
    MatCreateAIJ(PETSC_COMM_WORLD, last - first, last - first, N, N, last - first, NULL, N - last + first, NULL, &D));
  for (PetscInt k = 0; k <= n; k++) {
    VecScatter all;
    Vec whole = NULL;
    const PetscScalar *w = NULL, *mine = NULL;

    if (k < n) {
      PetscCall(VecScatterCreateToAll(v[k], &all, &whole));
      PetscCall(VecScatterBegin(all, v[k], whole, INSERT_VALUES, SCATTER_FORWARD));
      PetscCall(VecScatterEnd(all, v[k], whole, INSERT_VALUES, SCATTER_FORWARD));
      PetscCall(VecScatterDestroy(&all));
      PetscCall(VecGetArrayRead(whole, &w));
      PetscCall(VecGetArrayRead(v[k], &mine));
    }
    for (PetscInt i = first; i < last; i++) {
      const PetscInt *col;
      const PetscScalar *a;
      PetscInt m;

      if (k == n) {
        PetscCall(MatGetRow(A, i, &m, &col, &a));
        PetscCall(MatSetValues(D, 1, &i, m, col, a, ADD_VALUES));
        PetscCall(MatRestoreRow(A, i, &m, &col, &a));
      } else
        for (PetscInt j = 0; j < N; j++)
          if (w[i] != (PetscScalar)0 && w[j] != (PetscScalar)0)
            PetscCall(MatSetValue(D, i, j, w[i] * w[j], ADD_VALUES));
    }
    if (k == n) break;
    PetscCall(VecRestoreArrayRead(v[k], &mine));
    PetscCall(VecRestoreArrayRead(whole, &w));
    PetscCall(VecDestroy(&whole));
  }
  PetscCall(MatAssemblyBegin(D, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(D, MAT_FINAL_ASSEMBLY));
  PetscCall(TestReference(D, &lu));
  PetscCall(KSPSolve(lu, b, ref));
  PetscCall(KSPDestroy(&lu));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Remove(PetscInt n, Vec v[], Vec x)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) {
    PetscScalar s;

    PetscCall(VecDot(x, v[k], &s));
    PetscCall(VecAXPY(x, -s, v[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is said of ponds by -info, on the first rank: of each its rows, and the sum of the
   right-hand side there */
static PetscErrorCode Said(const char *file, PetscInt n, Vec v[], Vec b, PetscInt *ponds)
{
  PetscReal root[2], sum[2];
  PetscMPIInt rank;
  char *line = NULL;
  size_t room = 0;
  FILE *f;

  PetscFunctionBegin;
  *ponds = 0;
  for (PetscInt k = 0; k < n; k++) {
    PetscScalar dot;

    PetscCall(VecNorm(v[k], NORM_1, &root[k])); /* of so many rows the root */
    PetscCall(VecDot(b, v[k], &dot));
    sum[k] = PetscAbsScalar(dot) * root[k];
  }
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (rank || !(f = fopen(file, "r"))) PetscFunctionReturn(PETSC_SUCCESS);
  while (getline(&line, &room, f) >= 0) {
    const char *says = strstr(line, "Pond ");
    int of[2], rows, from;
    double is;

    if (!says) continue;
    if (sscanf(says, "Pond %d of %d, %d rows from %d on: the right-hand side has the sum %lg", &of[0], &of[1], &rows,
               &from, &is) == 5)
      for (PetscInt k = 0; k < n; k++)
        if (rows == (int)(root[k] * root[k] + .5) && PetscAbsReal((PetscReal)is - sum[k]) <= 1e-4 * sum[k]) (*ponds)++;
  }
  free(line);
  (void)fclose(f);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same solve with what it says in a file */
static PetscErrorCode Report(const Case *c, KSP ksp, Vec b, Vec x, PetscInt n, Vec v[])
{
  char name[] = "/tmp/bcr-ponds-XXXXXX", file[64];
  const int fd = mkstemp(name);
  PetscInt ponds;
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (fd >= 0) (void)close(fd);
  (void)snprintf(file, sizeof(file), "%s.%d", name, (int)rank);
  PetscCall(PetscInfoSetFile(name, "w"));
  PetscCall(PetscInfoAllow(PETSC_TRUE));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(PetscInfoAllow(PETSC_FALSE));
  {
    char *open = NULL;
    FILE *f = NULL;

    PetscCall(PetscInfoGetFile(&open, &f));
    if (f) (void)fflush(f);
    PetscCall(PetscFree(open));
  }
  PetscCall(Said(file, n, v, b, &ponds));
  Check(rank || ponds == n, "shape %d closed %d: -info reports %d of %d ponds", (int)c->shape, (int)c->closed,
        (int)ponds, (int)n);
  (void)remove(file);
  (void)remove(name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Ponds(const Case *c)
{
  const PetscReal bound = sizeof(PetscReal) == 4 ? (PetscReal)1e-3 : (PetscReal)1e-11;
  KSPConvergedReason reason;
  PetscReal error = 0;
  PetscInt n = 0;
  DM da;
  Mat A;
  Vec x, b, p, ref, v[2];
  KSP ksp;
  PC pc;

  PetscFunctionBegin;
  PetscCall(Grid(c, PETSC_FALSE, &da, &A, &x, &b));
  PetscCall(Constants(c, da, x, &n, v));
  PetscCall(VecDuplicate(b, &p));
  PetscCall(VecDuplicate(b, &ref));
  PetscCall(TestKSPCreate(A, KSPPREONLY, &ksp, &pc));
  PetscCall(KSPSetFromOptions(ksp));
  for (int k = 0; k < 4; k++) {
    PetscCall(TestUniformVec(b));
    PetscCall(VecCopy(b, p));
    PetscCall(Remove(n, v, p));
    if (k % 2) PetscCall(VecCopy(p, b)); /* one that has a solution */
    PetscCall(Reference(A, n, v, p, ref));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(Remove(n, v, x));
    PetscCall(Remove(n, v, ref));
    PetscCall(TestDifference(x, ref, &error));
#if defined(PETSC_USE_INFO)
    if (k == 0 && c->shape == RING) PetscCall(Report(c, ksp, b, x, n, v));
#endif
    Check(reason > 0 && error <= bound, "shape %d closed %d, solve %d: %s, differs by %g from LU", (int)c->shape,
          (int)c->closed, k, KSPConvergedReasons[reason], (double)error);
  }
  for (PetscInt k = 0; k < n; k++) PetscCall(VecDestroy(&v[k]));
  PetscCall(TestDestroy(&x, &b, &p, &ref, &ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A pond whose rows are not symmetric, with a right-hand side that has no solution: a failure, not a solution; what comes then is a
   fit, refused without iterations, and good enough with them */
static PetscErrorCode Fails(const Case *c)
{
  KSPConvergedReason reason;
  PetscReal norm[2], largest;
  PetscScalar *a;
  PetscInt n, rows = 0;
  DM da;
  Mat A;
  Vec x, b, scale;
  KSP ksp;
  PC pc;

  PetscFunctionBegin;
  PetscCall(Grid(c, PETSC_FALSE, &da, &A, &x, &b));
  PetscCall(VecDuplicate(x, &scale));
  PetscCall(VecGetLocalSize(scale, &n));
  PetscCall(VecGetArray(scale, &a));
  for (PetscInt i = 0; i < n; i++) a[i] = 1 + TestUniform();
  PetscCall(VecRestoreArray(scale, &a));
  PetscCall(MatDiagonalScale(A, scale, NULL));
  PetscCall(TestKSPCreate(A, KSPPREONLY, &ksp, &pc));
  PetscCall(TestUniformVec(b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(VecNorm(x, NORM_INFINITY, &largest));
  PetscCall(PCBCRPoissonGetCapacitanceSolves(pc, &rows, NULL));
  Check(rows > 0 && (reason == KSP_DIVERGED_PC_FAILED || PetscIsInfOrNanReal(largest)),
        "no solution, but %s, of size %g; %d rows differ", KSPConvergedReasons[reason], (double)largest, (int)rows);
  CheckError(KSPSolve(ksp, b, x), PETSC_ERR_SUP, "would give the solution of another operator");
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPSetTolerances(ksp, (PetscReal)1e-6, 0, PETSC_DEFAULT, 500));
  PetscCall(KSPGMRESSetRestart(ksp, 100));
  PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
  PetscCall(TestUniformVec(x));
  PetscCall(MatMult(A, x, b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(MatMult(A, x, scale));
  PetscCall(VecAYPX(scale, -1, b));
  PetscCall(VecNorm(scale, NORM_2, &norm[0]));
  PetscCall(VecNorm(b, NORM_2, &norm[1]));
  PetscCall(PCBCRPoissonGetCapacitanceSolves(pc, &rows, NULL));
  Check(reason > 0 && norm[0] <= 3e-6 * norm[1], "with a fit: %s, residual %g", KSPConvergedReasons[reason],
        (double)(norm[0] / norm[1]));
  PetscCall(TestDestroy(&x, &b, &scale, &ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const Case cases[] = {
    {2, 23, NEUMANN_MASK, DISC, 1, PETSC_TRUE,  0},
    {2, 23, NEUMANN_MASK, RING, 1, PETSC_TRUE,  0},
    {2, 23, NEUMANN_MASK, RING, 1, PETSC_FALSE, 0}
  };
  PetscMPIInt rank;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(TestSeed());
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases); i++) PetscCall(Ponds(&cases[i]));
  PetscCall(Fails(&cases[2]));
  PetscCall(PetscFinalize());
  return TestStatus(rank == 0, TestPassed, TestFailed);
}
