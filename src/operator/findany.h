/*
  The grid of rows in any order, by the links of the graph that the matrix is: findany.c finds it where one rank has the
  whole graph, findranks.c brings it there.
*/
#pragma once

#include "findimpl.h"

/* A row that is to be given a node, and has none yet; behind BCR_PLACE_ALONE and BCR_PLACE_EMPTY */
#define BCR_PLACE_OPEN (-3)

/* The pattern of all rows, j[i[r]] .. j[i[r + 1] - 1] those that row r refers to, in no order, itself among them or not */
typedef struct {
  PetscInt n;
  const PetscInt *i, *j;
  PetscInt *place; /* [n] in: BCR_PLACE_OPEN, _ALONE or _EMPTY; out: as in BCRFound, if there is a grid */
} BCRGraphOf;

/* Not collective. Sets found but for place, alone and empty */
PETSC_INTERN PetscErrorCode BCRFindGraph(BCRGraphOf *graph, BCRFound *found);
