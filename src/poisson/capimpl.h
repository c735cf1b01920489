/*
  Shared by the files of the capacitance system: capacitance.c, capentries.c.
*/
#pragma once

#include "capacitance.h"
#include "directions.h"
#include "../base/agree.h"

/* The residual that is asked for, in units of what rounding leaves of the system's right-hand side */
#define BCR_CAPACITANCE_ROUNDING 6
/* The same where a Dirichlet mask has several pieces, times the square root of the rows of one. The level of a piece is off by the
   sum of what is left of its rows, as sigma of all of them together is that of one link; it is in these sums that the last of the
   residual is, and its 2-norm sees them over that root */
#define BCR_CAPACITANCE_PIECES ((PetscReal)12)
/* That with which a solve is none that failed, in the same unit, of the field itself */
#define BCR_CAPACITANCE_ENOUGH 1000
/* The same in units of what rounding leaves of the solution, if that is less */
#define BCR_CAPACITANCE_FINE  33
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
  PetscReal *right,
    *left; /* [nodes of this rank] null vectors r and l of the operator, planes in them; NULL: both are all one */
  PetscReal unit[2], norm; /* units of the border's terms unit[0] G^T r and unit[1] E^T l, and their 2-norm in these */
  PetscReal magnitude;     /* of its row of the right-hand side */
} BCRBorder;

/* Entries of vectors are numbered as on this rank, [n], and behind them those of other ranks that its rows refer to, [ghosts].
   Lists are the host's, with tables of them where the numbers are; so are numbers, fields, and null vectors */
struct _n_BCRCapacitance {
  MPI_Comm comm;
  PetscMPIInt rank;
  BCRSolver solver;
  BCRNumbers c;
  PetscReal eps;   /* relative accuracy of the solver's numbers */
  PetscReal asked; /* of the residual, in units of its rounding: BCR_CAPACITANCE_ROUNDING, or less */
  PetscInt dof, n, ghosts;
  BCRGhosts exchange;
  PetscInt m;       /* rows that differ */
  PetscInt *row;    /* [m] */
  PetscReal *scale; /* [m] entries of E, */
  PetscReal entry;  /* the largest of them on all ranks; that of G is 1 */
  PetscReal *one;   /* [m] and of what stands for 1 in 1 + G^T M E: rows are scaled */
  /* from fields to numbers: G^T, E^T; and back: E, G */
  BCRSparse from[2], into[2];
  BCRSparse factors; /* of rows, all of them or none */
  PetscInt masked, *mask;
  PetscReal *inverse; /* [masked] 1/d */
  BCRSparse masks[2]; /* the mask's entries of a field over d, or [1] as they are */
  BCRSparse back[2];  /* its entries of a field from those, over d of themselves */
  BCRSparse links[2]; /* of the mask's columns, and transposed */
  PetscBool linked;   /* some rank has links */
  PetscBool shore;    /* some rank has rows of the fluid with columns of the mask in A~. Then: */
  PetscInt shores;    /* of these on this rank */
  BCRSparse lift;     /* what A~ makes of a 1 in all of a component's mask: in these rows, then in the mask */
  BCRSparse rim;      /* a field's entries in these rows */
  PetscScalar *share; /* [dof][shores] of each of these entries in the component's level, on the host */
  PetscScalar *shares, *beside, *level; /* the same where the numbers are; [shores]; [dof] */
  PetscInt borders;
  BCRBorder *border;           /* [borders], their numbers w0 are shared ones of the system */
  PetscScalar *terms[2];       /* [borders][m] */
  BCRDirections directions[2]; /* of solves, of transposed ones */
  PetscBool alone[2];          /* the system is so stiff that each is solved by itself */
  BCRStepProduct step[2];      /* of steps that are launched ahead, */
  PetscScalar *field;          /* [n] their M E z, and what all solves of the box give there; NULL: none is */
  PetscScalar *arrays;         /* memory of those behind this */
  PetscReal *ones;             /* [m] one, where the numbers are */
  PetscScalar *rhs, *unit;     /* [n] f~; what a product is of, zero but where its kind, last, has numbers */
  int last;                    /* PetscBool, -1: anything may be in it */
  PetscBool waves;             /* the operator has eigenvalues of both signs */
  PetscBool transposes;        /* into[1] and links[1] are there, which the first transposed solve makes */
  PetscScalar *vector;         /* [n] a solve of vectors that are not where the numbers are; made by the first one */
  BCRFew b, w, change;         /* [m], [borders] */
  PetscScalar *sums;           /* [borders], on the host */
  PetscReal *magnitude;        /* [m] */
  PetscReal size;              /* of b's numbers, whose unit it is */
  PetscScalar *ghost, *inside; /* [ghosts], [masked] */
  BCRCapacitanceInfo info;
};

/* capentries.c: the lists of the operators, brought to the ranks that have the rows, from row to linked. Collective */
PETSC_INTERN PetscErrorCode BCRCapacitanceEntries(BCRCapacitance cap, const BCRGrid *layout, const BCROperator ops[]);
