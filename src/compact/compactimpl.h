/* A compact derivative from the inside: compact.c, and devcompact.c for what is on devices */
#pragma once

#include "compact.h"
#include "devpass.h"
#include "devstencil.h"

struct _n_BCRCompact {
  MPI_Comm comm;
  BCRCompactScheme s;
  BCRBand band;
  PetscInt inner, local, outer, rep, start;
  BCRTriOptions options;
  BCRStencil rhs, rhsT;
  PetscInt block, width; /* lines solved at a time: of outer; of inner */
  PetscReal *buffer;     /* width lines, where they are not all of inner */
  BCRTri lines, rest, linesT;
  PetscReal *work; /* transposes */

  BCRDeviceArena space; /* on a device: work, staging */
  BCRDeviceStencil drhs, drhsT;
  PetscReal *dwork, *stage[2];
  PetscBool begun, fused; /* fused: right-hand side and lines in one pass */
  BCRCudaCompact pass;
  BCRDevicePass ranks; /* of it over several */
};

/* The left-hand side of the rows [start, start + local), as lines; rows: spec->rows */
PETSC_INTERN PetscErrorCode BCRCompactGetLines(BCRCompact compact, PetscInt start, PetscInt local, BCRTriSpec *spec,
                                               BCRTriRows *rows);
PETSC_INTERN PetscErrorCode BCRCompactMakeTranspose(BCRCompact compact);
/* On devices: one pass for right-hand side and lines, if the lines, or each rank's parts of them, are not too short and
   nobody has asked for another method. Collective */
PETSC_INTERN PetscErrorCode BCRCompactFuse(BCRCompact compact);
PETSC_INTERN PetscErrorCode BCRCompactGetInfoDevice(BCRCompact compact, BCRCompactInfo *info); /* adds to it */
PETSC_INTERN PetscErrorCode BCRCompactDestroyDevice(BCRCompact compact);
