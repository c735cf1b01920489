/*
  What carry.c, which has the moves of the host, and carrydevice.c, which has those of devices, share: what goes where,
  and how far each rank has come.
*/
#pragma once

#include "carry.h"
#include "../base/node.h"

typedef struct _n_BCRCarryDevice *BCRCarryDevice;

/* Nodes lo .. lo + n - 1 of each axis */
typedef struct {
  PetscInt lo[3], n[3];
} BCRBlock;

/* What a rank's box and another's slab have in common */
typedef struct {
  PetscMPIInt rank;
  BCRBlock part, slab; /* slab: the whole of it */
  char *memory;        /* of the slab or, in `from`, of the rank's; NULL: by messages */
  char *packed;        /* else: the part by itself */
} BCRPiece;

/* Which take each rank has come to, a line of a cache for each count: only its own rank writes to it */
enum {
  PUSHED, /* its box is in the slabs */
  READY,  /* what is to go back is in its slab */
  DONE,   /* it has what it wants of all slabs, and has done with its own */
  MET,    /* how often its team has met */
  COUNTS
};

struct _n_BCRCarry {
  MPI_Comm comm;
  BCRNode *node;
  BCRNodeMemory shared; /* COUNTS lines and the slab of each rank of the node, or of the first of each team */
  MPI_Datatype type;    /* all that a vector has for a node */
  PetscMPIInt tag, rank;
  BCRBlock box, slab;
  char *memory;   /* this rank's slab, or its team's */
  PetscInt start; /* of the team's slab */
  BCRTeam *team;  /* the ranks that share it; NULL: this one alone */
  PetscBool mine;
  uint64_t take; /* takes until now */
  PetscInt nto, nfrom, nbefore, nmessage;
  BCRPiece *to, *from;       /* of this rank's box, in slabs of others; of this rank's slab, in boxes of others */
  PetscMPIInt *before;       /* on the node: whoever reads slabs that this rank writes to, and those who have them */
  MPI_Request *there, *back; /* [nmessage] those of `to` first, which are sends there and receives back */
  BCRCarryInfo info;
  BCRCarryDevice device; /* vectors of devices; NULL: there is none */
};

/* The slab of a rank lies where this rank reaches it. shares: ranks of a node reach those of one another */
static inline PetscBool BCRCarryReaches(BCRCarry c, PetscBool shares, PetscMPIInt p)
{
  return (PetscBool)(p == c->rank || (shares && c->node->local[p] != MPI_UNDEFINED));
}
/* Collective. What moves and how, all of info but why windows were refused */
PETSC_INTERN PetscErrorCode BCRCarryCount(BCRCarry c, PetscBool shares, BCRCarryInfo *info);
/* This rank has come so far in its present take */
PETSC_INTERN PetscErrorCode BCRCarryTell(BCRCarry c, int count);
/* Until a rank of the node, by its number there, has come so far */
PETSC_INTERN PetscErrorCode BCRCarryWait(BCRCarry c, PetscMPIInt local, int count, uint64_t take);
