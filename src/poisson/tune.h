/*
  Parameter optimizer (paper 000, section 3.2): times whole solves on the grid at hand with several
  plans and launch parameters, keeps the fastest, and keeps what it found in a file.
*/
#pragma once

#include "solver.h"

typedef struct {
  PetscInt ntimed; /* candidates timed; 0: nothing to choose, or known from the file */
  PetscBool fromfile;
  double seconds; /* of the fastest, when it was timed */
  char what[160]; /* the fastest, in words */
} BCRTuned;

/*
  Creates the solver that options ask for, with what the optimizer finds, or the file has, in the
  place of what options leave open. Collective on comm if there are slabs. timeit: time candidates
  where the file does not have the grid; else options are taken as they are then.
*/
PETSC_INTERN PetscErrorCode BCRSolverTune(MPI_Comm comm, PetscInt dof, const BCROperator ops[], const PetscInt size[],
                                          const BCRSolverOptions *options, const BCRSlab *slab, const char file[],
                                          PetscBool timeit, BCRSolver *solver, BCRTuned *tuned);
