/*
  Numbers of nodes from the boxes of a grid to slabs and back. Ranks of one node share memory: each copies what it has
  into the slabs of others, and later what it wants out of them. Between nodes, and where the MPI has no shared memory,
  persistent messages.
*/
#pragma once

#include "grid.h"

typedef struct _n_BCRCarry *BCRCarry;

typedef struct {
  double moved, most;  /* nodes that change their rank: all together, and those of the rank that sends most */
  double bymessage;    /* of all, by messages */
  PetscInt messages;   /* of the rank that sends most, there and back */
  PetscMPIInt ranks;   /* the most of one node */
  const char *refused; /* why there is none, NULL: there is, or each rank has a computer of its own */
} BCRCarryInfo;

/* Collective. Rank p has rows first[p] .. first[p + 1] - 1 of the axis, whole across the others */
PETSC_INTERN PetscErrorCode BCRCarryCreate(const BCRGrid *grid, PetscInt axis, const PetscInt first[], BCRCarry *carry);
PETSC_INTERN PetscErrorCode BCRCarryDestroy(BCRCarry *carry);
/* This rank's slab, of as many bytes for a node as a vector of the grid has */
PETSC_INTERN void *BCRCarrySlab(BCRCarry carry);
PETSC_INTERN PetscErrorCode BCRCarryGetInfo(BCRCarry carry, BCRCarryInfo *info);
/* Collective. Box to slab, bytes for a node: at most a vector's. After it, when this rank has done with its slab: one of
   the other two */
PETSC_INTERN PetscErrorCode BCRCarryTake(BCRCarry carry, size_t bytes, const void *box);
/* Collective. Slab to box */
PETSC_INTERN PetscErrorCode BCRCarryGive(BCRCarry carry, size_t bytes, void *box);
/* Nothing goes back */
PETSC_INTERN PetscErrorCode BCRCarryRelease(BCRCarry carry);
