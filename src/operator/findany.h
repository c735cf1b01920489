/*
  The grid of rows in any order: findany.c finds it in the graph that the matrix is, where one rank has all of it;
  findranks.c says which rows are to be found at all, and brings rows of several ranks together.
*/
#pragma once

#include "findimpl.h"

/* A row that is to be given a node, and has none yet; beside BCR_PLACE_ALONE and BCR_PLACE_EMPTY */
#define BCR_PLACE_OPEN (-3)

/* The pattern of all rows: row r refers to columns j[i[r]] .. j[i[r + 1] - 1], in no order, itself among them or not */
typedef struct {
  PetscInt n;
  const PetscInt *i, *j;
  PetscInt *place; /* [n] in: BCR_PLACE_OPEN, _ALONE or _EMPTY; out: as in BCRFound, if there is a grid */
} BCRLinks;

/* Not collective. Fills in found but for place, alone and empty; or why and fits alone */
PETSC_INTERN PetscErrorCode BCRFindLinks(const BCRLinks *links, BCRFound *found);
