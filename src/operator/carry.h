/*
  Numbers of nodes from the boxes of a grid to slabs and back. Ranks of one node share memory: each copies what it has
  into the slabs of others, and later what it wants out of them. Between nodes, and where the MPI has no shared memory,
  persistent messages. Between vectors on devices the same with memory of devices that ranks map (carrydevice.c).
*/
#pragma once

#include "grid.h"
#include "../base/team.h"

typedef struct _n_BCRCarry *BCRCarry;

typedef struct {
  double moved, most;  /* nodes that change their rank: all together, and those of the rank that sends most */
  double bymessage;    /* of all, by messages */
  PetscInt messages;   /* of the rank that sends most, there and back */
  PetscMPIInt ranks;   /* the most of one node */
  const char *refused; /* why there is none, NULL: there is, or each rank has a computer of its own */
  const char *device;  /* between vectors of devices: the transport of messages; NULL: between those of the host */
  size_t bytes;        /* device: of both slabs and of packed messages, on this rank */
} BCRCarryInfo;

/* Collective: are all ranks on one node? */
PETSC_INTERN PetscErrorCode BCRCarryTogether(MPI_Comm comm, PetscBool *together);
/* Collective. Rank p has rows first[p] .. first[p + 1] - 1 of the axis, whole across the others. team: so many ranks one
   after the other share the slab that the first of them has; the others have no rows. *carry = NULL: not all of a team
   reach it */
PETSC_INTERN PetscErrorCode BCRCarryCreate(const BCRGrid *grid, PetscInt axis, const PetscInt first[], PetscMPIInt team,
                                           BCRCarry *carry);
/* What comes and goes are the rows of its box, all whole, which the team's slab has along the slabs' axis; nothing is
   taken or given */
PETSC_INTERN void BCRCarryTeamOwn(BCRCarry carry, PetscInt axis);
/* NULL: each rank has a slab of its own. As long as the carry lives */
PETSC_INTERN BCRTeam *BCRCarryTeam(BCRCarry carry);
PETSC_INTERN PetscErrorCode BCRCarryDestroy(BCRCarry *carry);
/* This rank's slab on the host, or its team's, of as many bytes for a node as a vector of the grid has */
PETSC_INTERN void *BCRCarrySlab(BCRCarry carry);
PETSC_INTERN PetscErrorCode BCRCarryGetInfo(BCRCarry carry, BCRCarryInfo *info);
/* Collective. Box to slab, bytes for a node: at most a vector's. After it, when this rank has done with its slab: one of
   the other two, which wait for the rest of the team */
PETSC_INTERN PetscErrorCode BCRCarryTake(BCRCarry carry, size_t bytes, const void *box);
/* Collective. Slab to box */
PETSC_INTERN PetscErrorCode BCRCarryGive(BCRCarry carry, size_t bytes, void *box);
/* Nothing goes back */
PETSC_INTERN PetscErrorCode BCRCarryRelease(BCRCarry carry);

/* With a CUDA backend, carrydevice.c: the same between vectors on devices, whose slabs are there. Collective; again, with
   another transport; transport: a BCRTransport of the grid's ranks, which is kept. maps: ranks of a node map the slabs of
   one another where CUDA lets them (else all goes by the transport) */
PETSC_INTERN PetscErrorCode BCRCarryDeviceCreate(BCRCarry carry, size_t bytes, void *stream, void *transport,
                                                 PetscBool maps);
PETSC_INTERN PetscErrorCode BCRCarryDeviceDestroy(BCRCarry carry); /* collective, as BCRCarryDestroy() */
PETSC_INTERN PetscErrorCode BCRCarryDeviceGetInfo(BCRCarry carry, BCRCarryInfo *info);
/* What is taken comes to the first; what is given is to be in the second, so that no solve is in place */
PETSC_INTERN void *BCRCarryDeviceSlab(BCRCarry carry, PetscBool given);
/* Launched on the stream, which goes on with what is there; where: the memory that the box is in, on each rank as it is */
PETSC_INTERN PetscErrorCode BCRCarryDeviceTake(BCRCarry carry, PetscMemType where, void *stream, const void *box);
PETSC_INTERN PetscErrorCode BCRCarryDeviceGive(BCRCarry carry, PetscMemType where, void *stream, void *box);
