/*
  Matrices whose rows a function knows, on the nodes of a box. For tests and bench/obstacle.c.
*/
#pragma once

#include <petscdmda.h>

/* The row of node ix of N[]: *m columns and values, the diagonal first. cols[0] is that node with its component already */
typedef void (*TestRow)(const void *ctx, const PetscInt N[3], const PetscInt ix[3], MatStencil cols[7],
                        PetscScalar v[7], PetscInt *m);

/* The rows of a matrix of the DMDA; values of one column are added */
PETSC_UNUSED static PetscErrorCode TestRowsFill(DM da, TestRow row, const void *ctx, Mat A)
{
  PetscInt N[3], lo[3], n[3], ix[3], dof;

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(da, NULL, &N[0], &N[1], &N[2], NULL, NULL, NULL, &dof, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], &lo[2], &n[0], &n[1], &n[2]));
  PetscCall(MatZeroEntries(A));
  for (ix[2] = lo[2]; ix[2] < lo[2] + n[2]; ix[2]++)
    for (ix[1] = lo[1]; ix[1] < lo[1] + n[1]; ix[1]++)
      for (ix[0] = lo[0]; ix[0] < lo[0] + n[0]; ix[0]++)
        for (PetscInt c = 0; c < dof; c++) {
          MatStencil cols[7] = {
            {.i = ix[0], .j = ix[1], .k = ix[2], .c = c}
          };
          PetscScalar v[7];
          PetscInt m;

          row(ctx, N, ix, cols, v, &m);
          PetscCall(MatSetValuesStencil(A, 1, cols, m, cols, v, ADD_VALUES));
        }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On a DMDA with a star stencil, no axis of which is a ring. deep: ranks along z, or PETSC_DECIDE; device: vectors and the matrix are on a CUDA device */
PETSC_UNUSED static PetscErrorCode TestRowsCreate(PetscInt dim, const PetscInt N[3], PetscInt deep, PetscBool device,
                                                  TestRow row, const void *ctx, DM *da, Mat *A)
{
  const DMBoundaryType none = DM_BOUNDARY_NONE;

  PetscFunctionBegin;
  if (dim == 2)
    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, none, none, DMDA_STENCIL_STAR, N[0], N[1], PETSC_DECIDE, PETSC_DECIDE, 1,
                           1, NULL, NULL, da));
  else
    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, none, none, none, DMDA_STENCIL_STAR, N[0], N[1], N[2], PETSC_DECIDE,
                           PETSC_DECIDE, deep, 1, 1, NULL, NULL, NULL, da));
  if (device) {
    PetscCall(DMSetVecType(*da, VECCUDA));
    PetscCall(DMSetMatType(*da, MATAIJCUSPARSE));
  }
  PetscCall(DMSetUp(*da));
  PetscCall(DMCreateMatrix(*da, A));
  PetscCall(TestRowsFill(*da, row, ctx, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}
