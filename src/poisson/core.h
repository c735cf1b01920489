/*
  The numerical core: solves (Tx (+) Ty (+) Tz + shift) u = f for real arrays on a box. No PETSc objects.
  src/poisson/solver.c puts scaling, weights, dropped planes, complex scalars, components and mixed precision around it.
*/
#pragma once

#include "../operator/operator.h"

typedef enum {
  BCR_DOUBLE,
  BCR_SINGLE,
  BCR_MIXED /* solver.c only: single inside, corrected in double */
} BCRPrecision;

#define BCR_MAX_LEVELS 64

typedef struct {
  PetscInt     radix;                    /* 0: automatic */
  PetscInt     nlevels;                  /* 0: automatic, else the radix of every level follows */
  PetscInt     schedule[BCR_MAX_LEVELS];
  BCRPrecision precision;                /* BCR_DOUBLE or BCR_SINGLE for the core */
  PetscBool    recursive;                /* three dimensions with a given radix or schedule: recursion of paper 000 instead of a transform along one axis */
  int          isa;                      /* -1: the best this machine has; 0 base, 1 AVX2, 2 AVX-512 (tests) */
} BCRCoreOptions;

typedef struct _n_BCRCore *BCRCore;

/* axes: the box; stride[d]: distance in elements between neighbours along axis d in f and u (stride[0] = 1).
   io: precision of f and u (BCR_DOUBLE or BCR_SINGLE), the same for both. */
PETSC_INTERN PetscErrorCode BCRCoreCreate(PetscInt dim, const BCRAxis axis[], PetscReal shift, PetscBool singular, const PetscInt stride[], BCRPrecision io, const BCRCoreOptions *options, BCRCore *core);
/* u may be f. singular: the (weighted) mean of f is removed, *removed is that mean (with its sign), u has zero mean */
PETSC_INTERN PetscErrorCode BCRCoreSolve(BCRCore core, const void *f, void *u, PetscReal *removed);
/* new shift, everything else as before */
PETSC_INTERN PetscErrorCode BCRCoreSetShift(BCRCore core, PetscReal shift);
/* u = factor * (T + shift)^-1 f from now on; costs nothing in the solve */
PETSC_INTERN PetscErrorCode BCRCoreSetFactor(BCRCore core, PetscReal factor);
PETSC_INTERN PetscErrorCode BCRCoreDestroy(BCRCore *core);

typedef struct {
  char      plan[256];     /* one line: the schedule and the axis order in words */
  PetscInt  nlevels;
  PetscInt  schedule[BCR_MAX_LEVELS];
  PetscInt  subproblems;   /* tridiagonal sub-problems of a solve per block line, paper 000 (17), (18); 0 where the plan has none */
  size_t    workspace;     /* bytes that live as long as the core: work arrays */
  size_t    tables;        /* bytes of tables */
  double    flops;         /* of one solve */
  char      isa[64];       /* instruction set, or the name of the CUDA device */
} BCRCoreInfo;
PETSC_INTERN PetscErrorCode BCRCoreGetInfo(BCRCore core, BCRCoreInfo *info);
