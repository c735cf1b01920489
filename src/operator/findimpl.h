/*
  What the ways to find the grid of a matrix share: the pattern of this rank's rows, the distances of columns from the
  diagonal, and the check of every entry against a box of nodes.
*/
#pragma once

#include "find.h"

/* Distances |column - row| that differ, in the order in which rows have them first */
#define BCR_DISTANCES 64
typedef struct {
  PetscInt count; /* BCR_DISTANCES + 1: there are more, and the last one is the first too many */
  PetscInt apart[BCR_DISTANCES + 1]; /* 1 and more: the diagonal is none */
  PetscInt row[BCR_DISTANCES + 1], column[BCR_DISTANCES + 1]; /* global numbers: the first row with it */
} BCRDistances;

/*
  The rows of this rank as PETSc has them, not copied: entry k of block b, b = 0 (columns of this rank) or 1 (of others),
  lies in row first + r where i[b][r] <= k < i[b][r + 1]. Columns are in no order that one may count on.
*/
typedef struct {
  MPI_Comm comm;
  PetscMPIInt size, rank;
  PetscInt N;             /* rows of the matrix */
  PetscInt first, n;      /* rows of this rank */
  const PetscInt *starts; /* [size + 1]: the first row of each rank */
  const PetscInt *i[2], *j[2];
  PetscInt ghosts;
  const PetscInt *ghost;   /* [ghosts]: global columns of block 1, ascending */
  const PetscScalar *a[2]; /* explicit zeros are no links; NULL: they are */
  BCRDistances near, all;  /* of block 0, on this rank; of both, on all ranks */
  Mat block[2];            /* NULL: there is none, and i[b] is NULL too */
} BCRFindRows;

/* The global column of entry k of block b, and whether it counts */
static inline PetscInt BCRFindColumn(const BCRFindRows *R, int b, PetscInt k)
{
  return b ? R->ghost[R->j[1][k]] : R->first + R->j[0][k];
}
static inline PetscBool BCRFindLink(const BCRFindRows *R, int b, PetscInt k)
{
  return (PetscBool)(!R->a[b] || R->a[b][k] != (PetscScalar)0);
}

/*
  The ways, each of which leaves found->order as it is (BCR_FOUND_NONE), with why and fits, or fills in found. Collective;
  what is found, and why not, is the same on all ranks. dropzeros says what rows->a does: explicit zeros are left out.
  A way that returns an error on one rank alone has told the others (BCRFaultShare()).
*/
PETSC_INTERN PetscErrorCode BCRFindNatural(const BCRFindRows *rows, PetscBool dropzeros, BCRFound *found);
PETSC_INTERN PetscErrorCode BCRFindBoxes(const BCRFindRows *rows, PetscBool dropzeros, BCRFound *found);
PETSC_INTERN PetscErrorCode BCRFindAny(const BCRFindRows *rows, PetscBool dropzeros, BCRFound *found);
