/*
  Numbers along the axes of rows in any order over several ranks: a wave through their links, from a corner on.
  finddistances.c says where it begins, and whether what comes out is a grid.
*/
#pragma once

#include "findany.h"
#include <petscbt.h>

#define BCR_WAVE_FAR    PETSC_MAX_INT
#define BCR_WAVE_CLOSED (-2) /* of rows without a node: below all distances by more than one */

/* A row: its distance from the corner, BCR_WAVE_FAR where none is known, and its numbers along the axes, -1 as long as
   it has not been looked at */
typedef struct {
  PetscInt near, at[3];
} BCRWavePoint;

typedef struct {
  const BCRAnyRows *A;
  BCRWavePoint *own, *ghost; /* [n], [ghosts] */
  PetscInt open;             /* rows that are to have nodes, on all ranks */
  PetscInt corner, axes;     /* of the wave under way; */
  PetscInt beside[3];        /* the corner's neighbours, the next nodes along the axes */
  PetscInt width;            /* so many distances are gone through between two exchanges */
  double looks;              /* rows that were looked at */

  PetscInt *queue, first, count; /* [n], a ring: rows to be looked at */
  PetscBT queued;                /* [n] */

  PetscInt *in, *inrow;  /* [ghosts + 1]: the rows of this rank with links to each ghost */
  PetscInt *out, *outto; /* [n + 1]: where each row is a ghost, [][2]: rank, place among those of that rank */
  PetscMPIInt *wanted;   /* [size + 1]: the first ghost that is each rank's */
  PetscMPIInt *given;    /* [size + 1]: the same of what is sent to it */
  PetscInt *dirty, used; /* [room]: rows with news for other ranks, which are so many messages */
  PetscInt dirtied;
  PetscBT isdirty;           /* [n] */
  PetscInt room;             /* messages of an exchange at most */
  PetscInt *sent, *received; /* [room][5] */
  PetscMPIInt *start;        /* [size + 1] */
  MPI_Request *request;      /* [size] */
  PetscMPIInt tag;
} BCRWave;

/* Collective. What it returns on one rank alone it has told the others */
PETSC_INTERN PetscErrorCode BCRWaveCreate(const BCRAnyRows *A, BCRWave *wave);
PETSC_INTERN PetscErrorCode BCRWaveDestroy(BCRWave *wave);
/* Collective. own and ghost from corner, axes and beside. ok: it came to an end */
PETSC_INTERN PetscErrorCode BCRWaveRun(BCRWave *wave, PetscBool *ok);
