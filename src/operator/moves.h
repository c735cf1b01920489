/*
  From the boxes of a DMDA to slabs, which is how src/poisson has the grid on several ranks: each
  rank some rows of one axis, whole across the others, the ranks in order.
*/
#pragma once

#include "grid.h"
#include "operator.h"
#include <petscsf.h>

typedef struct {
  PetscInt axis, start, len; /* rows start .. start + len of the axis are here */
  PetscInt n[3], nodes;      /* the slab */
  PetscBool inplace;         /* the DMDA's own boxes are such slabs: nothing moves */
  PetscSF sf;                /* else: roots the nodes of the box, leaves those of the slab in natural order */
  MPI_Datatype unit;         /* a node of a vector */
  double moved, most;        /* nodes that change their rank: all together, and those of the rank that sends most */
} BCRMoves;

/* The axis to cut, and whether the boxes are such slabs. general: the axis along which coefficients
   vary, -1: none; forced: it must be cut; device: vectors live on one. The same on all ranks */
PETSC_INTERN void BCRMovesChoose(const BCRGrid *grid, PetscInt general, PetscBool forced, PetscBool device,
                                 PetscInt *axis, PetscBool *inplace);
/* Collective */
PETSC_INTERN PetscErrorCode BCRMovesCreate(const BCRGrid *grid, PetscInt axis, PetscBool inplace, BCRMoves *moves);
PETSC_INTERN PetscErrorCode BCRMovesDestroy(BCRMoves *moves);
/* Vectors, not in place: box to slab, slab to box */
PETSC_INTERN PetscErrorCode BCRMovesTake(const BCRMoves *moves, const PetscScalar *box, PetscScalar *slab);
PETSC_INTERN PetscErrorCode BCRMovesGive(const BCRMoves *moves, const PetscScalar *slab, PetscScalar *box);
/* What an operator has for single nodes (rowscale, the planes' inv and couplings), from arrays over
   the box to arrays over the slab. Not in place */
PETSC_INTERN PetscErrorCode BCRMovesTakeOperator(const BCRGrid *grid, const BCRMoves *moves, BCROperator *op);
