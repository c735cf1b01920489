/*
  From the operator as the reader gives it (scale, row weights, dropped planes, symmetric row scaling, complex scalars, several
  components, mixed precision, transposes) to the numerical core and back. Vectors are plain PetscScalar arrays in the natural
  ordering of the whole local box of the DMDA, dropped planes included: index = c + dof*(i + Nx*(j + Ny*k)), N_d = n_d + dropped planes.
*/
#pragma once

#include "core.h"

typedef struct _n_BCRSolver *BCRSolver;

typedef struct {
  BCRCoreOptions core;      /* core.precision: BCR_DOUBLE, BCR_SINGLE or BCR_MIXED */
} BCRSolverOptions;

/* ops: dof operators, copied (deeply) */
PETSC_INTERN PetscErrorCode BCRSolverCreate(PetscInt dof, const BCROperator ops[], const BCRSolverOptions *options, BCRSolver *solver);
/* nrhs right-hand sides, column r at f + r*ldf, u + r*ldu; u may be f */
PETSC_INTERN PetscErrorCode BCRSolverSolve(BCRSolver solver, PetscBool transpose, PetscInt nrhs, const PetscScalar *f, PetscInt ldf, PetscScalar *u, PetscInt ldu);
/* Takes new operators of the same shape (sizes, ends, planes). *done = PETSC_FALSE: more than scale, shift, plane or row scales
   changed, nothing was done, create anew. */
PETSC_INTERN PetscErrorCode BCRSolverUpdate(BCRSolver solver, const BCROperator ops[], PetscBool *done);
PETSC_INTERN PetscErrorCode BCRSolverDestroy(BCRSolver *solver);

typedef struct {
  BCRCoreInfo core;      /* of the first component */
  size_t      workspace; /* bytes, the cores' included, tables apart */
  size_t      tables;
  double      flops;     /* of one solve with one right-hand side */
  PetscReal   removed;   /* singular operators: size of the constant that the last solve removed from the right-hand side */
} BCRSolverInfo;
PETSC_INTERN PetscErrorCode BCRSolverGetInfo(BCRSolver solver, BCRSolverInfo *info);
