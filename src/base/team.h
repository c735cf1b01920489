/*
  Ranks of a node that work on one array in memory which all of them reach, each on its share, and meet between the
  steps: what one has stored before a meeting the others load after it.
*/
#pragma once

#include "petscbcrimpl.h"
#include <stdint.h>

typedef struct {
  PetscMPIInt rank, size; /* in the team */
  MPI_Comm comm;          /* whose messages go on while a rank waits */
  PetscMPIInt tag;
  uint64_t met;
  void **line; /* [size] BCRTeamLine of each, which its own rank writes to */
  /* NULL: all work on one array. Else rows first .. end - 1 of it along this axis are those of a rank's own arrays, which
     what is in the field comes from and goes to */
  void *field;
  PetscInt axis, first, end;
} BCRTeam;

/* A line of the cache: how often a rank has come, and what it has of a sum, every other time */
typedef struct {
  uint64_t met;
  double part[2];
} BCRTeamLine;

/* Until *at has come to a value. Messages of other objects may be what the other rank waits for, so that they have to go
   on here; ranks may share a core */
PETSC_INTERN PetscErrorCode BCRTeamWait(MPI_Comm comm, PetscMPIInt tag, const void *at, uint64_t value);
/* Collective in the team; NULL: there is none */
PETSC_INTERN PetscErrorCode BCRTeamMeet(BCRTeam *team);

/* The same, and the sum over its ranks of what each has */
PETSC_INTERN PetscErrorCode BCRTeamSum(BCRTeam *team, double *sum);

/* Of n, this rank's share is *first .. *end - 1; team NULL: all */
static inline void BCRTeamShare(const BCRTeam *team, PetscInt n, PetscInt *first, PetscInt *end)
{
  *first = team ? (PetscInt)((PetscInt64)n * team->rank / team->size) : 0;
  *end = team ? (PetscInt)((PetscInt64)n * (team->rank + 1) / team->size) : n;
}
