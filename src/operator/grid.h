/*
  How the nodes of a structured grid lie on ranks, as a DMDA has them.

  Each axis is cut into parts; rank p has the parts (p % m, p/m % n, p/(m n)) of the three axes, a
  box. Matrices and vectors number the nodes box after box, x fastest within each, so that number
  and node follow from one another by a formula; no table is needed.
*/
#pragma once

#include "../base/agree.h"
#include <petscdmda.h>

typedef struct {
  MPI_Comm comm;
  PetscMPIInt size, rank;
  PetscObjectId id;        /* two grids with the same one are the same */
  PetscInt dim, dof, N[3]; /* of the whole grid, in nodes */
  PetscBool periodic[3];
  PetscBool isda; /* it is that of a DMDA, for messages */
  PetscInt parts[3];
  PetscInt *first[3];   /* where each part of an axis begins, parts + 1 numbers */
  PetscInt lo[3], n[3]; /* this rank's box: first node, sizes */
} BCRGrid;

/* Collective. comm: that of the objects that live on the grid, which must be the DMDA's own or one like it */
PETSC_INTERN PetscErrorCode BCRGridCreate(DM da, MPI_Comm comm, BCRGrid *grid);
/* Collective. The same without a DMDA, N[d] nodes along axis d < dim in parts[d] parts of widths[d][] nodes, some of which may
   be 0. id: of the object that the grid was found in */
PETSC_INTERN PetscErrorCode BCRGridCreateBoxes(MPI_Comm comm, PetscObjectId id, PetscInt dim, PetscInt dof,
                                               const PetscInt N[], const PetscBool periodic[], const PetscInt parts[],
                                               const PetscInt *const widths[], BCRGrid *grid);
PETSC_INTERN PetscErrorCode BCRGridDestroy(BCRGrid *grid);
/* Collective. The rows and columns that each rank has must be those of its box, or every column
   would mean another node */
PETSC_INTERN PetscErrorCode BCRGridCheckMatrix(const BCRGrid *grid, Mat P);
/* The number that PETSc gives to a node, and back; the rank of a node */
PETSC_INTERN PetscInt BCRGridNumber(const BCRGrid *grid, const PetscInt node[3]);
PETSC_INTERN void BCRGridNode(const BCRGrid *grid, PetscInt number, PetscInt node[3]);
PETSC_INTERN PetscMPIInt BCRGridRank(const BCRGrid *grid, const PetscInt node[3]);

static inline PetscBool BCRGridHas(const BCRGrid *g, const PetscInt node[3])
{
  int d;

  for (d = 0; d < 3; d++)
    if (node[d] < g->lo[d] || node[d] >= g->lo[d] + g->n[d]) return PETSC_FALSE;
  return PETSC_TRUE;
}

/* Number of a node in natural order over the whole grid, and back */
static inline PetscInt BCRGridNatural(const BCRGrid *g, const PetscInt node[3])
{
  return node[0] + g->N[0] * (node[1] + g->N[1] * node[2]);
}

static inline void BCRGridNaturalNode(const BCRGrid *g, PetscInt number, PetscInt node[3])
{
  node[0] = number % g->N[0];
  node[1] = number / g->N[0] % g->N[1];
  node[2] = number / g->N[0] / g->N[1];
}
