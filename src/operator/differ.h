/*
  Rows that differ: those of a matrix A that are not the rows of its operator M^-1 (operator.h, planes and row factors
  in it), few of them. With the rows of a mask replaced,

      A~ = M^-1 + E G^T,

  E the columns of the identity of the m rows that differ, G^T (m rows, sparse) what they have beside the operator's.

  A mask are rows with nothing but a diagonal, d u = f: obstacles, land, electrodes. In A~ they have rows of the
  operator, or of their own Laplacian, that no fluid row hears of: the solution there is f/d whatever A~ says. Columns
  of the mask that fluid rows hold (links) go to the right-hand side; where such columns were zeroed, A~ has them back
  (its solution is zero in the mask).

        f f f f        f: fluid, M^-1's row
        f F F f        F: fluid with links missing: differs          (Neumann obstacle)
        F # # F        #: mask, M^-1's row                           (Dirichlet obstacle: F is M^-1's row, # differs)
        f F F f
*/
#pragma once

#include "operator.h"

/* Of one component, on this rank, which has the rows of its own box of the grid. Nodes are numbered in natural
   order over the whole grid, planes included, x fastest */
struct _n_BCRDiffer {
  PetscInt m;            /* rows that differ */
  PetscInt *row;         /* [m] nodes */
  PetscInt *start;       /* [m + 1] */
  PetscInt *col;         /* [start[m]] nodes */
  PetscReal *value;      /* [start[m]] entry of A~ less that of M^-1 */
  PetscInt masked;       /* rows of the mask, in: */
  PetscInt runs;         /* runs of nodes along x */
  PetscInt *run;         /* [runs] first nodes, ascending */
  PetscInt *length;      /* [runs] */
  PetscReal *inverse;    /* [runs] 1/d of each of their rows */
  PetscInt links;        /* entries of fluid rows in columns of the mask */
  PetscInt *linkrow;     /* [links] nodes */
  PetscInt *linkcol;     /* [links] nodes */
  PetscReal *linkvalue;  /* [links] the matrix' */
  PetscInt shores;       /* rows of the fluid whose rows of A~ have columns of the mask */
  PetscInt *shore;       /* [shores] nodes */
  PetscReal *shorevalue; /* [shores] the sum of those entries */
  PetscInt lifts; /* runs of nodes of the mask along x whose rows of A~ have another sum than 0 over the mask; none
                           where no rank has shores */
  PetscInt *lift; /* [lifts] first nodes */
  PetscInt *liftlength; /* [lifts] */
  PetscReal *liftvalue; /* [lifts] the sum, of each row */
  PetscReal shift;      /* of the matrix, that the operator does not have: see BCRDifferShift() */
  /* on all ranks together, for PCView: rows that differ, rows of the mask, pieces of it */
  PetscInt all, allmasked, pieces;
  char what[256]; /* kinds of rows and how many there are of each, in words */
};

PETSC_INTERN PetscErrorCode BCRDifferDestroy(BCRDiffer *differ);
