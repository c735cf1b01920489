/*
  Boxes of which programs take land away in the plain ways of PETSc: MatZeroRows(), MatZeroRowsColumns() and their forms for
  stencils, with what u is on land, on a DMDA and without one. By options alone, -pc_type bcrpoisson (args below): the solve is a
  direct one, as no fit is allowed, of at most two iterations, and the answer is that of LU.
  ranks: 1 3
  args: -pc_type bcrpoisson -pc_bcrpoisson_fit exact -ksp_max_it 2
*/
#include "../petsc/testing.h"
#include <petscksp.h>

static PetscMPIInt Rank;

/* A hill and, along one side, a coast that is not straight */
static PetscBool Land(const PetscInt n[3], const PetscInt at[3])
{
  const PetscReal x = (PetscReal)at[0] / (PetscReal)n[0], y = (PetscReal)at[1] / (PetscReal)n[1],
                  z = n[2] > 1 ? (PetscReal)at[2] / (PetscReal)n[2] : (PetscReal)0.5;
  const PetscReal r2 = (x - (PetscReal)0.6) * (x - (PetscReal)0.6) + (y - (PetscReal)0.5) * (y - (PetscReal)0.5) +
                       (z - (PetscReal)0.5) * (z - (PetscReal)0.5);

  return r2 < (PetscReal)0.02 || (n[2] == 1 && x < (PetscReal)0.1 + (PetscReal)0.05 * PetscSinReal(9 * y))
           ? PETSC_TRUE
           : PETSC_FALSE;
}

/* The rows of this rank, in the order of PETSc's examples: natural numbers, or those of the DMDA */
static PetscErrorCode Box(const PetscInt n[3], DM da, Mat A)
{
  const PetscInt step[3] = {1, n[0], n[0] * n[1]};
  PetscInt first, last, lo[3], m[3];

  PetscFunctionBegin;
  if (da) PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], &lo[2], &m[0], &m[1], &m[2]));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt row = first; row < last; row++) {
    PetscInt at[3] = {row % n[0], row / step[1] % n[1], row / step[2]}, k = row - first;
    PetscScalar diag = 0, link = -1;

    if (da) {
      at[0] = lo[0] + k % m[0];
      at[1] = lo[1] + k / m[0] % m[1];
      at[2] = lo[2] + k / (m[0] * m[1]);
    }
    for (PetscInt d = 0; d < 3; d++) {
      for (PetscInt side = -1; side < 2 && n[d] > 1; side += 2) {
        PetscInt there[3] = {at[0], at[1], at[2]};

        there[d] += side;
        diag += 1;
        if (there[d] < 0 || there[d] == n[d]) continue;
        if (da) {
          const MatStencil i = {.i = at[0], .j = at[1], .k = at[2]}, j = {.i = there[0], .j = there[1], .k = there[2]};

          PetscCall(MatSetValuesStencil(A, 1, &i, 1, &j, &link, INSERT_VALUES));
        } else PetscCall(MatSetValue(A, row, row + side * step[d], link, INSERT_VALUES));
      }
    }
    PetscCall(MatSetValue(A, row, row, diag, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes the land out of A; b gets what u is there */
static PetscErrorCode TakeLand(const PetscInt n[3], DM da, PetscBool columns, PetscScalar value, Mat A, Vec u, Vec b)
{
  PetscInt first, last, rows = 0, lo[3], m[3], *numbers;
  MatStencil *nodes;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  PetscCall(PetscMalloc2(last - first, &numbers, last - first, &nodes));
  if (da) PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], &lo[2], &m[0], &m[1], &m[2]));
  for (PetscInt row = first; row < last; row++) {
    PetscInt at[3] = {row % n[0], row / n[0] % n[1], row / (n[0] * n[1])}, k = row - first;

    if (da) {
      at[0] = lo[0] + k % m[0];
      at[1] = lo[1] + k / m[0] % m[1];
      at[2] = lo[2] + k / (m[0] * m[1]);
    }
    if (!Land(n, at)) continue;
    numbers[rows] = row;
    nodes[rows++] = (MatStencil){.i = at[0], .j = at[1], .k = at[2]};
  }
  if (da && columns) PetscCall(MatZeroRowsColumnsStencil(A, rows, nodes, value, u, b));
  else if (da) PetscCall(MatZeroRowsStencil(A, rows, nodes, value, u, b));
  else if (columns) PetscCall(MatZeroRowsColumns(A, rows, numbers, value, u, b));
  else PetscCall(MatZeroRows(A, rows, numbers, value, u, b));
  PetscCall(PetscFree2(numbers, nodes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(const PetscInt n[3], PetscBool managed, PetscBool columns, PetscScalar value)
{
  const double bound = sizeof(PetscReal) == 4 ? 1e-4 : 1e-11;
  PetscInt its, rows, solves;
  PetscReal norms[2];
  DM da = NULL;
  Mat A;
  Vec u, b, exact;
  KSP ksp, lu;
  PC pc;

  PetscFunctionBegin;
  if (managed) {
    if (n[2] == 1)
      PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n[0], n[1],
                             PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, &da));
    else
      PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR,
                             n[0], n[1], n[2], PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, &da));
    PetscCall(DMSetUp(da));
    PetscCall(DMCreateMatrix(da, &A));
  } else
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n[0] * n[1] * n[2], n[0] * n[1] * n[2], 7,
                           NULL, 7, NULL, &A));
  PetscCall(Box(n, da, A));
  PetscCall(MatCreateVecs(A, &u, &b));
  PetscCall(VecDuplicate(u, &exact));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(VecSetRandom(u, NULL));
  PetscCall(TakeLand(n, da, columns, value, A, u, b));

  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetTolerances(ksp, sizeof(PetscReal) == 4 ? 1e-5 : 1e-12, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, u));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCBCRPoissonGetCapacitanceSolves(pc, &rows, &solves));

  PetscCall(TestReference(A, &lu));
  PetscCall(KSPSolve(lu, b, exact));
  PetscCall(VecNorm(exact, NORM_INFINITY, &norms[0]));
  PetscCall(VecAXPY(u, -1, exact));
  PetscCall(VecNorm(u, NORM_INFINITY, &norms[1]));
  if (Rank == 0) {
    Check(its <= 2 && rows > 0 && norms[1] <= bound * norms[0],
          "%d x %d x %d, DMDA %d, columns %d, value %g: %d iterations, %d rows differ, difference from LU %g of %g",
          (int)n[0], (int)n[1], (int)n[2], managed, columns, (double)PetscRealPart(value), (int)its, (int)rows,
          (double)norms[1], (double)norms[0]);
  }
  PetscCall(TestDestroy(&lu, &ksp, &u, &b, &exact, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt grids[2][3] = {
    {33, 26, 1 },
    {10, 9,  11}
  };

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &Rank));
  for (PetscInt grid = 0; grid < 2; grid++) {
    for (PetscInt managed = 0; managed < 2; managed++) {
      for (PetscInt columns = 0; columns < 2; columns++) {
        PetscCall(Run(grids[grid], (PetscBool)managed, (PetscBool)columns, managed ? 1 : (PetscReal)-1e-3));
      }
    }
  }
  PetscCall(PetscFinalize());
  return Rank == 0 ? TestEnd() : 0;
}
