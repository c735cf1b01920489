/*
  Matrices of which some rows are not the operator's (operator/differ.h): a solver of M^-1 for all rows, and a system of
  as many numbers as rows differ (a capacitance system; docs/method.md, section "rows that differ"),

      A~ = M^-1 + E G^T,    (1 + G^T M E) w = G^T M f~,    u = M (f~ - E w),

  solved by directions that are kept from one right-hand side to the next (directions.h). A step costs one solve with M.
  The residual of that system is that of u, in the rows that differ: f~ - A~ u = -E (G^T M f~ - (1 + G^T M E) w).

  Where M^-1 is singular with null vectors r and l, M^-1 r = 0 and l^T M^-1 = 0, and G^T r is not zero, A~ is regular:

      u = M (f~ - E w) + w0 r,   l^T (f~ - E w) = 0:   one number and one row more.
*/
#pragma once

#include "solver.h"
#include "../operator/differ.h"
#include "../operator/grid.h"

typedef struct _n_BCRCapacitance *BCRCapacitance;

/* Vectors are those of the solver, with rows on ranks as in layout (its slabs; on one rank the grid). ops: of dof
   components; their rows that differ may be on any rank, all else is on those of layout. factor: what rows of the matrix are
   multiplied with to be those of the operators, [numbers of a vector], on the host, or NULL: nothing; most: directions that are
   kept at most, 0: only BCRCapacitanceExtend() is asked for; eps: relative accuracy of the solver. Solver and factor must
   outlive it. Collective; *cap is NULL after an error, and where no operator has rows that differ */
PETSC_INTERN PetscErrorCode BCRCapacitanceCreate(const BCRGrid *layout, PetscInt dof, const BCROperator ops[],
                                                 BCRSolver solver, const PetscReal factor[], PetscInt most,
                                                 PetscReal eps, BCRCapacitance *cap);
PETSC_INTERN PetscErrorCode BCRCapacitanceDestroy(BCRCapacitance *cap);
/* One right-hand side; u may be f. where: the memory that they are in, as in BCRSolverSolve(). On a device the host waits for the
   few numbers of some steps at a time. Collective */
PETSC_INTERN PetscErrorCode BCRCapacitanceSolve(BCRCapacitance cap, PetscMemType where, void *stream,
                                                PetscBool transpose, const PetscScalar *f, PetscScalar *u);

/* u = R M R f + (1 - R) f/d, R: without the mask, whose diagonal is d. Symmetric where M is; u may be f. Collective */
PETSC_INTERN PetscErrorCode BCRCapacitanceExtend(BCRCapacitance cap, PetscMemType where, void *stream,
                                                 PetscBool transpose, const PetscScalar *f, PetscScalar *u);
/* Of the rows that differ, those that do so by more than columns of a mask, or what these have on the diagonal: the first one on
   this rank, in the order of its vectors, -1: none. Collective */
PETSC_INTERN PetscErrorCode BCRCapacitanceBeyondMask(BCRCapacitance cap, PetscInt *row);

/* Some singular operator is regular with its rows that differ */
PETSC_INTERN PetscBool BCRCapacitanceIsRegular(BCRCapacitance cap);

typedef struct {
  PetscInt rows, masked; /* on all ranks */
  PetscInt solves;       /* of M, in the last solve */
  PetscInt known, most;  /* directions */
  PetscReal residual;    /* of the last solve, over what rounding leaves */
  PetscReal grading;     /* the largest entry of a row that differs, over the operator's diagonal there */
  PetscBool reached;     /* the last solve is one to rounding */
  PetscBool lost;        /* ... of its first field, but its solution, which is smaller by far, has fewer digits */
} BCRCapacitanceInfo;
PETSC_INTERN PetscErrorCode BCRCapacitanceGetInfo(BCRCapacitance cap, BCRCapacitanceInfo *info);
