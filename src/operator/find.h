/*
  The grid of an assembled matrix that comes without a DMDA, found in its nonzero pattern.

  A matrix is a grid's where its rows can be given nodes of a box of N[0] x N[1] x N[2] nodes so that every entry couples
  a node to itself or to one within a step along each axis (around the ends of an axis that is a ring). What is found has
  been checked entry by entry; what is no grid is told with the row and the column where the first contradiction lies.
*/
#pragma once

#include "../base/agree.h"
#include <petscmat.h>

typedef enum {
  BCR_FOUND_NONE,    /* no grid: why says where the first contradiction lies */
  BCR_FOUND_NATURAL, /* row r is component r % dof of node r / dof in natural order, wherever ranks cut the rows */
  BCR_FOUND_BOXES,   /* rows are numbered as a DMDA of parts[0] x parts[1] x parts[2] ranks numbers them */
  BCR_FOUND_ANY      /* place says it row by row */
} BCRFoundOrder;

/* A row that place gives no node */
#define BCR_PLACE_ALONE (-1) /* it holds a diagonal only, and is solved by itself */
#define BCR_PLACE_EMPTY (-2) /* neither the row nor its column holds anything: u = 0 there */

typedef struct {
  BCRFoundOrder order;
  /* components, which are interlaced and not coupled; axes; nodes of each axis, x fastest, 1 beyond dim; ring: entries go
     around its ends */
  PetscInt dof, dim, N[3];
  PetscBool ring[3];
  PetscInt reach; /* axes that one entry spans at most: 1 in stars, 2 in 9- and 19-point, 3 in 27-point stencils */
  /* BOXES: parts[d] numbers of nodes, as lx, ly, lz of DMDACreate3d(); else 1 and NULL */
  PetscInt parts[3], *widths[3];
  /* ANY: for each row of this rank, component + dof * node in natural order, or one of the above; else NULL */
  PetscInt *place;
  PetscInt alone, empty; /* ANY: rows without a node, on all ranks together */
  PetscBool alike;       /* ANY: there are rows with the same neighbours, whose nodes might be exchanged */
  PetscBool zeros;       /* explicit zeros were left out: look again when values change, in the same pattern too */
  char why[256];         /* NONE */
  PetscInt fits;         /* NONE: rows before the contradiction in why; the more, the nearer it is to a grid */
} BCRFound;

/* Collective. P is of type AIJ, assembled, and square with one layout of rows and columns. Explicit zeros are left out of
   the pattern only where there is no grid with them. That there is no grid is no error */
PETSC_INTERN PetscErrorCode BCRGridFind(Mat P, BCRFound *found);
PETSC_INTERN PetscErrorCode BCRFoundDestroy(BCRFound *found);
