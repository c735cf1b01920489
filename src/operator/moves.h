/*
  From the boxes of a DMDA to slabs, which is how src/poisson has the grid on several ranks: each
  rank some rows of one axis, whole across the others, the ranks in order.
*/
#pragma once

#include "carry.h"
#include "operator.h"

typedef struct {
  PetscInt axis, start, len; /* rows start .. start + len of the axis are here */
  PetscInt n[3], nodes;      /* the slab */
  PetscBool inplace; /* the DMDA's own boxes are such slabs, or the rows that a rank has of its team's: nothing moves */
  BCRCarry carry;    /* else */
  PetscScalar *slab; /* where vectors are brought to, not in place */
  PetscBool nested;  /* the rows of each part of the boxes are those of the ranks that have it */
  size_t unit;       /* bytes of a node of a vector */
  /* in place: what a team works on is in memory of its own, which vectors come to and go from by transforms */
  PetscMPIInt wanted; /* ranks that were to share a slab */
  BCRTeam *team;      /* ranks that share a slab, the carry's; NULL: each has its own */
  MPI_Comm across;    /* then: the ranks with this one's number in their teams, a slab each; else MPI_COMM_NULL */
} BCRMoves;

/* The axis to cut, and whether the boxes are such slabs. general: the axis along which coefficients
   vary, -1: none; forced: it must be cut; device: vectors live on one; twice: slabs along x would be solved twice. The same
   on all ranks. Collective */
PETSC_INTERN PetscErrorCode BCRMovesChoose(const BCRGrid *grid, PetscInt general, PetscBool forced, PetscBool device,
                                           PetscBool twice, PetscInt *axis, PetscBool *inplace);
/* How many ranks are to share a slab, where they can: a divisor of their number, 1: none do. wanted: as many, or the next
   lower number that there is; 0: whatever is best */
PETSC_INTERN PetscMPIInt BCRMovesTeam(const BCRGrid *grid, PetscInt axis, PetscBool inplace, PetscInt wanted);
/* Collective. team: from BCRMovesTeam(); fewer ranks share a slab if not all of them reach the memory of one another */
PETSC_INTERN PetscErrorCode BCRMovesCreate(const BCRGrid *grid, PetscInt axis, PetscBool inplace, PetscMPIInt team,
                                           BCRMoves *moves);
PETSC_INTERN PetscErrorCode BCRMovesDestroy(BCRMoves *moves);
/* Not in place: why slabs along that axis, how vectors get there. The same on all ranks */
PETSC_INTERN PetscErrorCode BCRMovesDescribe(const BCRGrid *grid, const BCRMoves *moves, PetscInt general,
                                             size_t length, char why[], char how[]);
/* Collective. Vectors, not in place: box to slab, slab to box; or nothing goes back, when what is in the slab is no longer
   wanted */
PETSC_INTERN PetscErrorCode BCRMovesTake(const BCRMoves *moves, const PetscScalar *box);
PETSC_INTERN PetscErrorCode BCRMovesGive(const BCRMoves *moves, PetscScalar *box);
PETSC_INTERN PetscErrorCode BCRMovesRelease(const BCRMoves *moves);
/* What an operator has for single nodes (rowscale, the planes' inv and couplings), from arrays over
   the box to arrays over the slab. Not in place */
PETSC_INTERN PetscErrorCode BCRMovesTakeOperator(const BCRGrid *grid, const BCRMoves *moves, BCROperator *op);
