/*
  Ranks of one computer, and memory that all of them reach: windows of MPI-3, in which what a rank stores is what others
  load.
*/
#pragma once

#include "petscbcrimpl.h"
#include <stdint.h>

/* Of a communicator; for all that ranks of a computer do with one another */
typedef struct {
  MPI_Comm comm; /* of this computer */
  PetscMPIInt ranks;
  PetscMPIInt *local; /* number there of each rank of the whole communicator, MPI_UNDEFINED: elsewhere */
} BCRNode;

typedef struct {
  MPI_Win window;      /* MPI_WIN_NULL: there is none, */
  const char *refused; /* why; NULL: this rank has a computer of its own */
  char **part;         /* [ranks of the node] where the memory of each begins */
} BCRNodeMemory;

/* Collective. *node is the communicator's, comm: of a PETSc object */
PETSC_INTERN PetscErrorCode BCRNodeGet(MPI_Comm comm, BCRNode **node);
/* Collective on the node. So many bytes of each rank, near it, zeros. A window or none on all of its ranks */
PETSC_INTERN PetscErrorCode BCRNodeAllocate(const BCRNode *node, size_t bytes, BCRNodeMemory *memory);
PETSC_INTERN PetscErrorCode BCRNodeFree(BCRNodeMemory *memory);
/* Bytes of a line of the cache, or of two that come together: what one rank writes and others wait for has such a one */
#define BCR_NODE_LINE 128
/* What the rank local has stored before is there for all that see this number in that line of its memory (BCRTeamWait()) */
PETSC_INTERN PetscErrorCode BCRNodeTell(const BCRNodeMemory *memory, PetscMPIInt local, int line, uint64_t number);
