/*
  The grid of rows in any order: findany.c finds it in the graph that the matrix is, where one rank has all of it,
  with findalike.c where nodes are linked to the same ones;
  findranks.c says which rows are to be found at all, and brings rows of several ranks together; before that
  findsample.c sees in a few of them whether they may be a grid; where these are too many, finddistances.c finds it
  over the ranks.
*/
#pragma once

#include "findimpl.h"
#include <petscsf.h>

/* A row that is to be given a node, and has none yet; beside BCR_PLACE_ALONE and BCR_PLACE_EMPTY */
#define BCR_PLACE_OPEN (-3)

#define BCR_ANY_MOST 26 /* links of a node, diagonals of the box with it */
#define BCR_ANY_WIDE "row %" PetscInt_FMT " (column %" PetscInt_FMT ") has more than the %d neighbours of a grid point"

/* The pattern of all rows: row r refers to columns j[i[r]] .. j[i[r + 1] - 1], in no order, itself among them or not */
typedef struct {
  PetscInt n;
  const PetscInt *i, *j;
  PetscInt *place;      /* [n] in: BCR_PLACE_OPEN, _ALONE or _EMPTY; out: as in BCRFound, if there is a grid */
  const PetscScalar *a; /* values of these columns, or NULL */
  PetscBool *asked;     /* set where values would have been of use, and a is NULL; else NULL */
} BCRLinks;

/* Not collective. Fills in found but for place, alone and empty; or why and fits alone */
PETSC_INTERN PetscErrorCode BCRFindLinks(const BCRLinks *links, BCRFound *found);
/* The same of box stencils with axes of two nodes or rings of three; links are those of both rows. rows: that are
   to have nodes; ok: it is such a grid; order is left as it is */
PETSC_INTERN PetscErrorCode BCRFindAlike(const BCRLinks *links, PetscInt rows, BCRFound *found, PetscBool *ok);

/*
  Values decide which rows are by themselves, whether explicit zeros are links or not: rows with a diagonal alone, and
  such without anything. The latter are of no use to a grid unless others refer to them.
*/
typedef struct {
  const BCRFindRows *R;
  PetscInt *place; /* [n] */
  PetscInt *ghost; /* [ghosts], for what is known of the rows behind columns of other ranks */
  PetscSF sf;      /* from rows to ghosts; NULL on one rank */
  PetscInt zeros;  /* rows by themselves which hold explicit zeros */
} BCRAnyRows;

/* Collective. Tells in why what rows here and there show, if they cannot be those of a grid, else nothing */
PETSC_INTERN PetscErrorCode BCRFindSample(const BCRFindRows *rows, BCRFound *found);
/* Collective. Without all of the graph on one rank: stars without rings; place and found as of BCRFindLinks() */
PETSC_INTERN PetscErrorCode BCRFindByDistances(BCRAnyRows *rows, BCRFound *found);
/* Collective. BCRFindAny() where up to so many rows are gathered on one rank */
PETSC_INTERN PetscErrorCode BCRFindAnyUpTo(PetscInt gathered, const BCRFindRows *rows, BCRFound *found);
