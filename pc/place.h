/*
  Which node of which grid each row of a PC's matrix is: the grid, where it came from, and the rows in its order.
*/
#pragma once

#include "options.h"
#include "../src/operator/order.h"

/* -pc_bcrpoisson_grid and _grid_processors, and those of PCNEATO */
typedef struct {
  PetscInt dim, N[3];        /* dim 0: not given */
  PetscInt nparts, parts[3]; /* nparts 0: not given */
} BCRPlaceOptions;

/* Their lines of an option table; `placing` is a field of the PC's data */
/* clang-format off */
#define BCR_PLACE_OPTIONS(data, class) \
  {"grid", "Nodes of the grid along x,y,z of a matrix without a DMDA, or auto: found in the matrix", BCR_OPTION_INT, \
   offsetof(data, placing.N), 0, NULL, 0, BCR_OPTION_METHODS(class, Grid), .max = 3, \
   .count = offsetof(data, placing.dim), .none = "auto", .parse = BCRPlaceParseGrid, .check = BCRPlaceCheck}, \
  {"grid_processors", "Ranks along x,y,z that number the rows of -..._grid box after box, as a DMDA does, or natural: none", \
   BCR_OPTION_INT, offsetof(data, placing.parts), 0, NULL, 0, BCR_OPTION_METHODS(class, GridProcessors), .max = 3, \
   .count = offsetof(data, placing.nparts), .none = "natural", .parse = BCRPlaceParseProcessors, \
   .check = BCRPlaceCheck}
/* clang-format on */
PETSC_INTERN PetscErrorCode BCRPlaceParseGrid(PC pc, const char option[], const char text[], PetscInt *n, void *values);
PETSC_INTERN PetscErrorCode BCRPlaceParseProcessors(PC pc, const char option[], const char text[], PetscInt *n,
                                                    void *values);
PETSC_INTERN PetscErrorCode BCRPlaceCheck(PC pc, const char option[], PetscInt n, const void *values);

typedef struct {
  BCRGrid grid;
  DM dm;          /* of the grid, referenced; NULL: it comes from an option, or was found in the matrix */
  PetscBool vecs; /* the DM was the vectors' */
  PetscBool none; /* there is no grid: why says it */
  char why[256];
  char misfit[128];  /* a DM with a grid of another size than the matrix: which, and the sizes; empty: there is none */
  Mat mat;           /* rows in the order of the grid, referenced; NULL: nobody asked for them */
  PetscBool ordered; /* they lie otherwise in the PC's matrix, as order says */
  BCROrder order;
  /* without a DM: the matrix, the pattern and the options with which this was found */
  PetscObjectId id;
  PetscObjectState pattern, values;
  PetscBool zeros; /* explicit zeros were left out: other values may be those of another grid */
  BCRPlaceOptions options;
  char text[160]; /* the grid and where it came from */
} BCRPlace;

/* Collective. read: rows will be read; full: every rank needs a node; b, x: vectors that are at hand, or NULL. *place: zeroed,
   or what the last call made; *same: its grid is what it was. That there is no grid is no error: place->none */
PETSC_INTERN PetscErrorCode BCRPlaceFind(PC pc, const BCRPlaceOptions *options, PetscBool read, PetscBool full, Vec b,
                                         Vec x, BCRPlace *place, PetscBool *same);
PETSC_INTERN PetscErrorCode BCRPlaceDestroy(BCRPlace *place);
/* Collective. The error that there is no grid */
PETSC_INTERN PetscErrorCode BCRPlaceRefuse(PC pc, const BCRPlace *place);
PETSC_INTERN PetscErrorCode BCRPlaceView(const BCRPlace *place, PetscViewer viewer);
/* *anew: these vectors may say what the grid is, where nothing else does or it was only found in the matrix */
PETSC_INTERN PetscErrorCode BCRPlaceLook(const BCRPlace *place, Vec b, Vec x, PetscBool *anew);
/* The number of row `local` of this rank of the grid in the PC's matrix */
PETSC_INTERN PetscErrorCode BCRPlaceRow(const BCRPlace *place, PetscInt local, PetscInt *row);
/* Collective. What a PC does to vectors of the grid, to those of its matrix */
PETSC_INTERN PetscErrorCode BCRPlaceApply(PC pc, BCRPlace *place, PetscBool transpose, Vec x, Vec y,
                                          PetscErrorCode (*apply)(PC, PetscBool, Vec, Vec));
