/*
  Block cyclic reduction of any radix and schedule for any size (docs/method.md, section 3; paper
  000 for radix 2 and 4),
  as a solver of one two-dimensional shifted problem  (Tx (+) Ty + shift) u = f  on arrays, and of the three-dimensional one by
  recursion (paper 000: the sub-problems are two-dimensional shifted problems solved the same way).
*/
#pragma once

#include "core.h"

typedef struct _n_BCRReduction *BCRReduction;

/* dim 2 or 3, lines along axis 0, blocks along axis dim-1. nlevels radices, the product exceeds n
   of the block axis; a last level may be ragged. inner (dim 3): schedule along axis 1 for the
   recursion. single: float work, io as in BCRCoreCreate */
PETSC_INTERN PetscErrorCode BCRReductionCreate(PetscInt dim, const BCRAxis axis[], PetscInt nlevels,
                                               const PetscInt schedule[], PetscInt ninner, const PetscInt inner[],
                                               PetscBool single, int isa, BCRReduction *red);
/* tables for one shift; a batch of shifts shares one BCRReduction when nshift > 1 (shift s is used
   by calling Solve with that s) */
PETSC_INTERN PetscErrorCode BCRReductionSetShifts(BCRReduction red, PetscInt nshift, const double shift[]);
/* ld[0]: between lines, ld[1]: between planes */
PETSC_INTERN PetscErrorCode BCRReductionSolve(BCRReduction red, PetscInt s, BCRPrecision io, const void *f,
                                              const PetscInt ldf[], void *u, const PetscInt ldu[]);
PETSC_INTERN PetscErrorCode BCRReductionGetInfo(BCRReduction red, PetscInt *subproblems, size_t *workspace,
                                                size_t *tables, double *flops);
/* Class c = 1 .. q-1 of the full groups of a level, as paper 000 writes them: theta = 2 - lambda,
   weights of the solutions in what a left row gets, (5), and of the row's own right-hand side in
   the back substitution, (6). *np: 0 where the level has no full groups; arrays of *np, or NULL */
PETSC_INTERN PetscErrorCode BCRReductionGetPoles(BCRReduction red, PetscInt level, PetscInt c, PetscInt *np,
                                                 double theta[], double wreduce[], double wback[]);
/* The whole solve as a list of steps, for a backend that does all items of one at a time: item k
   takes sum_s wsrc[p][s] (row src[k][s]) for its right-hand sides p, solves with D + lambda[p] a,
   and adds sum_p wout[p][o] (solution p) to row out[k][o], or sets it (back substitution). Rows of
   a periodic axis and of any other are numbered from 0. D and a times scale, which is in the
   weights. */
typedef struct {
  PetscBool back;
  PetscInt level, count, nsrc, np, nout;
  PetscInt *src, *out;
  double *lambda, *wsrc, *wout;
} BCRReductionStep;
PETSC_INTERN PetscErrorCode BCRReductionGetSteps(BCRReduction red, double *scale, PetscInt *nsteps,
                                                 BCRReductionStep **steps);
PETSC_INTERN PetscErrorCode BCRReductionFreeSteps(PetscInt *nsteps, BCRReductionStep **steps);
PETSC_INTERN PetscErrorCode BCRReductionDestroy(BCRReduction *red);
/* The schedule that a radix and a size ask for: radix, radix, ..., then what the last level needs
   (paper 000: a radix-2 level closes an odd power) */
PETSC_INTERN PetscErrorCode BCRScheduleFromRadix(PetscInt radix, PetscInt n, PetscInt *nlevels, PetscInt schedule[]);
