/*
  Shared by the tests across ranks: a problem is assembled whole on every rank, as the tests on one
  rank do it, and its rows are then dealt out to a DMDA of any decomposition, by way of PETSc's own
  ordering (AO).
*/
#pragma once

#include "tests/petsc/testing.h"

/* The DMDA of the problem on comm, cut into parts[d] along each axis; lx: NULL or the sizes of the parts */
static inline PetscErrorCode TestCutDMDA(MPI_Comm comm, const TestProblem *p, const PetscInt parts[3],
                                         const PetscInt *const l[3], DM *da)
{
  DMBoundaryType b[3] = {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE};
  const PetscInt *x = l ? l[0] : NULL, *y = l ? l[1] : NULL, *z = l ? l[2] : NULL;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < p->dim; ++d) {
    if (p->ends[2 * d] == 'p') b[d] = DM_BOUNDARY_PERIODIC;
  }
  if (p->dim == 1) PetscCall(DMDACreate1d(comm, b[0], p->n[0], p->dof, 1, x, da));
  else if (p->dim == 2)
    PetscCall(DMDACreate2d(comm, b[0], b[1], p->corners != 0 ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR, p->n[0], p->n[1],
                           parts[0], parts[1], p->dof, 1, x, y, da));
  else
    PetscCall(DMDACreate3d(comm, b[0], b[1], b[2], DMDA_STENCIL_STAR, p->n[0], p->n[1], p->n[2], parts[0], parts[1],
                           parts[2], p->dof, 1, x, y, z, da));
  PetscCall(DMSetFromOptions(*da)); /* -dm_vec_type cuda -dm_mat_type aijcusparse: scripts/check-gpu */
  PetscCall(DMSetUp(*da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The next way to cut an axis each of the grid so that there are size parts in all; parts[0] == 0
   before the first. False: no more */
static inline PetscBool TestNextCut(const TestProblem *p, PetscInt size, PetscInt parts[3])
{
  if (!parts[0]) parts[0] = parts[1] = 1, parts[2] = 0;
  while (PETSC_TRUE) {
    PetscInt d = 2;

    while (d >= 0 && ++parts[d] > size) parts[d--] = 1;
    if (d < 0) return PETSC_FALSE;
    if (parts[0] * parts[1] * parts[2] != size) continue;
    for (d = 0; d < 3 && parts[d] <= (d < p->dim ? p->n[d] : 1); ++d) {}
    if (d == 3) return PETSC_TRUE;
  }
}

/* Natural numbers of the unknowns whose rows are here, in the order of the rows */
static inline PetscErrorCode TestNatural(DM da, PetscInt *n, PetscInt **natural)
{
  AO ao;
  Vec v;
  PetscInt first;

  PetscFunctionBegin;
  PetscCall(DMGetGlobalVector(da, &v));
  PetscCall(VecGetOwnershipRange(v, &first, n));
  PetscCall(DMRestoreGlobalVector(da, &v));
  *n -= first;
  PetscCall(PetscMalloc1(*n, natural));
  for (PetscInt i = 0; i < *n; ++i) (*natural)[i] = first + i;
  PetscCall(DMDAGetAO(da, &ao));
  PetscCall(AOPetscToApplication(ao, *n, *natural));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The whole matrix, which every rank has, dealt out to the DMDA. reuse: into *A, whose pattern has the room */
static inline PetscErrorCode TestDeal(DM da, Mat whole, PetscBool reuse, Mat *A)
{
  AO ao;
  PetscInt n, first, last, *natural;

  PetscFunctionBegin;
  if (!reuse) {
    PetscCall(DMCreateMatrix(da, A));
    PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  } else PetscCall(MatZeroEntries(*A));
  PetscCall(DMDAGetAO(da, &ao));
  PetscCall(TestNatural(da, &n, &natural));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt i = 0; i < n; ++i) {
    const PetscInt *columns;
    const PetscScalar *values;
    PetscInt entries, *there, row = first + i;

    PetscCall(MatGetRow(whole, natural[i], &entries, &columns, &values));
    PetscCall(PetscMalloc1(entries, &there));
    PetscCall(PetscArraycpy(there, columns, entries));
    PetscCall(AOApplicationToPetsc(ao, entries, there));
    PetscCall(MatSetValues(*A, 1, &row, entries, there, values, INSERT_VALUES));
    PetscCall(PetscFree(there));
    PetscCall(MatRestoreRow(whole, natural[i], &entries, &columns, &values));
  }
  PetscCall(PetscFree(natural));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A problem on all ranks, and on each of them alone */
/* A DMDA with a star stencil and one unknown a node, and its matrix, both of the types that options say
   (-dm_vec_type cuda -dm_mat_type aijcusparse: scripts/check-gpu) */
PETSC_UNUSED static PetscErrorCode TestStarCreate(PetscInt dim, const PetscInt n[3], const DMBoundaryType b[3], DM *da,
                                                  Mat *A)
{
  PetscFunctionBegin;
  PetscCall(DMDACreate(PETSC_COMM_WORLD, da));
  PetscCall(DMSetDimension(*da, dim));
  PetscCall(DMDASetSizes(*da, n[0], n[1], n[2]));
  PetscCall(DMDASetBoundaryType(*da, b[0], b[1], b[2]));
  PetscCall(DMDASetStencilType(*da, DMDA_STENCIL_STAR));
  PetscCall(DMDASetStencilWidth(*da, 1));
  PetscCall(DMDASetDof(*da, 1));
  PetscCall(DMSetFromOptions(*da));
  PetscCall(DMSetUp(*da));
  PetscCall(DMCreateMatrix(*da, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  const TestProblem *p;
  DM da1, da;
  Mat A1, A;
  Vec b1, x1, y1, b, x; /* y1: the solution of one rank */
  PetscInt n, *natural;
  char what[128];
} Case;

static inline PetscErrorCode CaseCreate(const TestProblem *p, Case *c)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(c, sizeof(*c)));
  c->p = p;
  PetscCall(TestMatrix(p, &c->da1, &c->A1));
  PetscCall(DMCreateGlobalVector(c->da1, &c->b1));
  PetscCall(VecDuplicate(c->b1, &c->x1));
  PetscCall(VecDuplicate(c->b1, &c->y1));
  PetscCall(TestRandom(c->b1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From here on the vectors and the matrix on all ranks are those of this decomposition */
static inline PetscErrorCode CaseCut(Case *c, MPI_Comm comm, const PetscInt parts[3], const PetscInt *const l[3])
{
  PetscFunctionBegin;
  PetscCall(TestDestroy(&c->A, &c->b, &c->x, &c->da));
  PetscCall(PetscFree(c->natural));
  PetscCall(TestCutDMDA(comm, c->p, parts, l, &c->da));
  PetscCall(TestNatural(c->da, &c->n, &c->natural));
  PetscCall(TestDeal(c->da, c->A1, PETSC_FALSE, &c->A));
  PetscCall(DMCreateGlobalVector(c->da, &c->b));
  PetscCall(VecDuplicate(c->b, &c->x));
  PetscCall(PetscSNPrintf(c->what, sizeof(c->what), "%d x %d x %d, ends %s, dof %d, cut %d x %d x %d", (int)c->p->n[0],
                          c->p->dim > 1 ? (int)c->p->n[1] : 1, c->p->dim > 2 ? (int)c->p->n[2] : 1, c->p->ends,
                          (int)c->p->dof, (int)parts[0], (int)parts[1], (int)parts[2]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode CaseDestroy(Case *c)
{
  PetscFunctionBegin;
  PetscCall(TestDestroy(&c->A, &c->A1, &c->b, &c->x, &c->b1, &c->x1, &c->y1, &c->da, &c->da1));
  PetscCall(PetscFree(c->natural));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* This rank's part of a vector that all have */
static inline PetscErrorCode CaseDeal(const Case *c, Vec whole, Vec v)
{
  const PetscScalar *from;
  PetscScalar *to;

  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(whole, &from));
  PetscCall(VecGetArray(v, &to));
  for (PetscInt i = 0; i < c->n; ++i) to[i] = from[c->natural[i]];
  PetscCall(VecRestoreArray(v, &to));
  PetscCall(VecRestoreArrayRead(whole, &from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* max |v - whole| / max |whole| over all ranks */
static inline PetscErrorCode CaseDifference(const Case *c, Vec v, Vec whole, PetscReal *difference)
{
  const PetscScalar *a, *b;
  double worst[2] = {0, 0};

  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(whole, &b));
  PetscCall(VecGetArrayRead(v, &a));
  for (PetscInt i = 0; i < c->n; ++i) {
    const PetscReal e = PetscAbsScalar(a[i] - b[c->natural[i]]);

    TestLargest(&worst[0], (double)e);
    TestLargest(&worst[1], (double)PetscAbsScalar(b[c->natural[i]]));
  }
  PetscCall(VecRestoreArrayRead(v, &a));
  PetscCall(VecRestoreArrayRead(whole, &b));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, worst, 2, MPI_DOUBLE, MPI_MAX, PetscObjectComm((PetscObject)v)));
  *difference = (PetscReal)(worst[1] > 0 ? worst[0] / worst[1] : worst[0]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode CasePC(DM da, Mat A, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(PCCreate(PetscObjectComm((PetscObject)A), pc));
  PetscCall(PCSetType(*pc, PCBCRPOISSON));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCSetDM(*pc, da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What all ranks found, as if one had; rank 0 prints */
static inline int TestEndAll(MPI_Comm comm)
{
  int mine[2] = {(int)TestPassed, (int)TestFailed}, all[2];
  PetscMPIInt rank;

  (void)MPI_Allreduce(mine, all, 2, MPI_INT, MPI_SUM, comm);
  (void)MPI_Comm_rank(comm, &rank);
  return TestStatus(rank == 0, all[0], all[1]);
}
