/*
  Shared by the files of the capacitance system: capacitance.c, capentries.c.
*/
#pragma once

#include "capacitance.h"
#include "directions.h"
#include "../base/agree.h"
#include <petscsf.h>

/* The residual that is asked for, in units of what rounding leaves of the system's right-hand side; and that with which a solve
   is none that failed, of the field itself */
#define BCR_CAPACITANCE_ROUNDING 6
#define BCR_CAPACITANCE_ENOUGH   1000
/* The same in units of what rounding leaves of the solution, if that is less */
#define BCR_CAPACITANCE_FINE  30
#define BCR_CAPACITANCE_STEPS 300 /* products at most */
#define BCR_CAPACITANCE_LARGE 100 /* entries of that many of the operator's diagonals are large */
/* Directions that are kept: at most what as many vectors take, but these few */
#define BCR_CAPACITANCE_VECTORS 8
#define BCR_CAPACITANCE_FEW     32
/* Those of earlier solves that a step looks at have at most one in so many of the numbers of a vector */
#define BCR_CAPACITANCE_SHARE 4

/* A component whose operator is singular and whose matrix is regular. For solves [0] and transposed ones [1] */
typedef struct {
  PetscInt component;
  PetscReal *right, *left; /* [nodes of this rank] null vectors r and l of the operator, planes in them */
  PetscScalar *terms[2];   /* [m] unit[0] G^T r, unit[1] E^T l */
  PetscReal unit[2], norm; /* their units, and 2-norm in these */
} BCRBorder;

/* Entries of vectors are numbered as on this rank, [n], and behind them those of other ranks that its rows refer to, [ghosts] */
struct _n_BCRCapacitance {
  MPI_Comm comm;
  PetscMPIInt rank;
  BCRSolver solver;
  PetscReal eps; /* relative accuracy of the solver's numbers */
  PetscInt dof, n, ghosts;
  PetscSF sf;       /* roots: entries of all ranks; leaves: ghost. NULL: no rank has ghosts */
  PetscInt m;       /* rows that differ */
  PetscInt numbers; /* of the system: m, and the borders', which all ranks have */
  PetscInt *row;    /* [m] */
  PetscInt *start;  /* [m + 1] */
  PetscInt *col;    /* [start[m]] */
  PetscReal *value; /* [start[m]] of G^T */
  PetscReal *scale; /* [m] entries of E, */
  PetscReal *one;   /* [m] and of what stands for 1 in 1 + G^T M E: rows are scaled */
  PetscInt masked, *mask;
  PetscReal *inverse; /* [masked] 1/d */
  PetscInt links, *linkrow, *linkcol;
  PetscReal *linkvalue; /* [links] */
  PetscBool linked;     /* some rank has links */
  PetscInt borders;
  BCRBorder *border;           /* [borders], their numbers w0 are behind the m */
  BCRDirections directions[2]; /* of solves, of transposed ones */
  PetscBool alone[2];          /* the system is so stiff that each is solved by itself */
  PetscScalar *rhs, *unit;     /* [n] f~; zero between products */
  PetscScalar *b, *w, *change; /* [m + borders] */
  PetscScalar *sums;           /* [2 borders] */
  PetscReal *magnitude;        /* [m + borders] */
  PetscReal size;              /* of b's numbers, whose unit it is */
  PetscScalar *ghost, *inside; /* [ghosts], [masked] */
  BCRCapacitanceInfo info;
};

/* capentries.c: the lists of the operators, brought to the ranks that have the rows, from row to linked. Collective */
PETSC_INTERN PetscErrorCode BCRCapacitanceEntries(BCRCapacitance cap, const BCRGrid *layout, const BCROperator ops[]);
