/*
  Block cyclic reduction of any radix and schedule for any size (docs/method.md, section 3; paper 000 for radix 2 and
  4), as a solver of one two-dimensional shifted problem  (Tx (+) Ty + shift) u = f  on arrays, and of the
  three-dimensional one by recursion (paper 000: the sub-problems are two-dimensional shifted problems that are solved
  in the same way).
*/
#pragma once

#include "core.h"

typedef struct {
  PetscInt dim;        /* 2 or 3; lines lie along axis 0, block rows along axis dim - 1 */
  const BCRAxis *axis; /* [dim] */
  /* Radices of the levels along axis dim - 1. Their product exceeds its number of rows; the last level may be ragged */
  PetscInt nlevels;
  const PetscInt *schedule; /* [nlevels] */
  /* dim 3: those along axis 1, for the recursion */
  PetscInt ninner;
  const PetscInt *inner; /* [ninner] */
  PetscBool single;      /* works in single precision */
} BCRReductionSpec;

/* What a solve needs, whoever does it (redsteps.c) */
typedef struct {
  double subproblems; /* tridiagonal lines */
  double flops;
  double moved; /* numbers of u that the steps read and write */
} BCRReductionCost;

typedef struct _n_BCRReduction *BCRReduction;

/* isa: as in BCRCoreOptions */
PETSC_INTERN PetscErrorCode BCRReductionCreate(const BCRReductionSpec *spec, int isa, BCRReduction *red);
/* Tables for nshift shifts, of which a solve takes one */
PETSC_INTERN PetscErrorCode BCRReductionSetShifts(BCRReduction red, PetscInt nshift, const double shift[]);
/* With shift number s. ldf, ldu: distances [0] of lines, [1] of planes in f and u; io: precision of f and u, which may
   be the same array. Allocates nothing */
PETSC_INTERN PetscErrorCode BCRReductionSolve(BCRReduction red, PetscInt s, BCRPrecision io, const void *f,
                                              const PetscInt ldf[], void *u, const PetscInt ldu[]);
/* workspace, tables: in bytes */
PETSC_INTERN PetscErrorCode BCRReductionGetInfo(BCRReduction red, BCRReductionCost *cost, size_t *workspace,
                                                size_t *tables);
/* Class c = 1 .. q-1 of the full groups of a level, as paper 000 writes them: theta = 2 - lambda, weights of the
   solutions in what a left row gets, (5), and of the row's own right-hand side in the back substitution, (6). *np: 0
   where the level has no full groups; arrays of *np, or NULL */
PETSC_INTERN PetscErrorCode BCRReductionGetPoles(BCRReduction red, PetscInt level, PetscInt c, PetscInt *np,
                                                 double theta[], double wreduce[], double wback[]);
PETSC_INTERN PetscErrorCode BCRReductionDestroy(BCRReduction *red);

/* The spec of the planes that a recursion in three dimensions solves */
PETSC_INTERN BCRReductionSpec BCRReductionSpecInner(const BCRReductionSpec *spec);
/* The schedule that a radix and a size ask for: radix, radix, ..., then what the last level needs (paper 000: a radix-2
   level closes an odd power) */
PETSC_INTERN PetscErrorCode BCRScheduleFromRadix(PetscInt radix, PetscInt n, PetscInt *nlevels, PetscInt schedule[]);
