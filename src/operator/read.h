/*
  From an assembled matrix on a DMDA to the separable operator of src/operator/operator.h
  (docs/method.md, section "operator"), and what else makes, shows and bounds such operators.
*/
#pragma once

#include "grid.h"
#include "operator.h"
#include <petscmat.h>
#include <stdint.h>

/* What to do with a matrix that is not separable; the order is that of the public PCBCRPoissonFit */
typedef enum {
  BCR_FIT_AUTO,
  BCR_FIT_SCALED,
  BCR_FIT_AVERAGE,
  BCR_FIT_PROFILE,
  BCR_FIT_EXACT,
  /* of scaled: what it may be (BCROperator.taken) */
  BCR_FIT_UNIFORM,
  BCR_FIT_STRETCHED
} BCRFit;

/* Remembers a nonzero pattern: which column indices have been checked, so that reading the same
   matrix again looks at the values only */
typedef struct {
  PetscBool known;
  PetscObjectId id;
  PetscObjectState state;
  uint64_t boxes;   /* identifies the rows that have been checked; 0: none */
  PetscBool full;   /* no row is empty */
  PetscBool fitted; /* no operator was the matrix */
  PetscBool differ; /* the caller's: rows of a matrix may differ from the operator (differ.h) */
  PetscBool one;    /* the caller's: one general axis at most, as block cyclic reduction has them */
  PetscBool star;   /* the caller's: no products of axes */
  PetscBool
    device; /* the caller's: on CUDA devices; of several ranks: no general axis is a ring, or multiplies another */
} BCRPattern;

/* Allocates one operator for each component. Errors for what no fit can help (NaN, wider stencils,
   coupled components, zero diagonal, indefinite operators); what is not separable is fitted or
   refused as fit says. */
PETSC_INTERN PetscErrorCode BCROperatorRead(DM da, Mat P, BCRFit fit, PetscInt *dof, BCROperator **ops);
/* The same with memory: pattern (zeroed before the first call) and the operators read last time
   (*ops == NULL: none). Coefficients that differ from the last ones by rounding keep their old
   values, so that *same == PETSC_TRUE says that the T of every component is bit for bit what it
   was: only scale, shift, what planes hold, and rowscale may differ. */
PETSC_INTERN PetscErrorCode BCROperatorReadUpdate(const BCRGrid *grid, Mat P, BCRFit fit, BCRPattern *pattern,
                                                  PetscInt *dof, BCROperator **ops, PetscBool *same);
PETSC_INTERN PetscErrorCode BCROperatorDestroy(PetscInt dof, BCROperator **ops);

/* An operator from its coefficients: n[d] unknowns, a = coupling[d], both ends of axis d in end[2*d], end[2*d+1] */
PETSC_INTERN PetscErrorCode BCROperatorCreateUser(PetscInt dim, const PetscInt n[], const PetscReal coupling[],
                                                  const BCREnd end[], PetscReal shift, PetscReal scale,
                                                  BCROperator **op);
/* An axis of a user's operator: general, by arrays as BCRAxis has them, or, where they are NULL, uniform, with `extra` on
   its first and last diagonal besides, in the unit of the couplings */
typedef struct {
  const PetscReal *lower, *diag, *upper;
  PetscReal extra[2];
  const PetscReal *times; /* numbers along this axis that another one, timed, is multiplied by; NULL: none */
  PetscInt timed;
} BCRUserAxis;
/* What it has beside its axes and its shift */
typedef struct {
  PetscReal
    mixed[8]; /* of the products of axes, bit d of a set is axis d: mixed prod_{d in set} coupling_d T_d; those of sets
                         of two and three axes count, and want uniform axes without `extra` */
  PetscReal tau; /* complex scalars: the imaginary part of the shift */
} BCRUserTerms;
/* The same with dim axes that may be general; the smallest sum of their rows is in the shift then */
PETSC_INTERN PetscErrorCode BCROperatorCreateAxes(PetscInt dim, const PetscInt n[], const PetscReal coupling[],
                                                  const BCREnd end[], const BCRUserAxis axis[],
                                                  const BCRUserTerms *terms, PetscReal shift, PetscReal scale,
                                                  BCROperator **op);
/* Makes axis d general: rows -lower_i u_{i-1} + diag_i u_i - upper_i u_{i+1}, arrays copied; weight may be NULL. A
   periodic axis of three and more unknowns is a ring then. Whether the operator is definite is for
   BCROperatorCheckDefinite() to say */
PETSC_INTERN PetscErrorCode BCROperatorUserSetAxis(BCROperator *op, PetscInt d, const PetscReal lower[],
                                                   const PetscReal diag[], const PetscReal upper[],
                                                   const PetscReal weight[]);

PETSC_INTERN PetscErrorCode BCROperatorView(const BCROperator *op, PetscViewer viewer);
/* The smallest eigenvalue of Tx (+) Ty (+) Tz + shift: scale, weights and row scales are not in it.
   1 for an empty box */
PETSC_INTERN PetscErrorCode BCROperatorLowestEigenvalue(const BCROperator *op, PetscReal *lo);
/* How much the diagonal H varies that symmetrises a general axis (H T H^-1 symmetric in the
   squares, src/poisson/component.c); 1: no general axis */
PETSC_INTERN PetscReal BCROperatorSkewness(const BCROperator *op);
/* There are ways to solve with the operator though it is not definite, whose rows are not all those of the matrix */
PETSC_INTERN PetscBool BCROperatorCanWave(const BCROperator *op);
/* PETSC_ERR_SUP unless the operator is definite, singular by Neumann and periodic ends alone (which it flags), or one of either
   sign that is the matrix, but for rows that differ (which it flags, too) */
PETSC_INTERN PetscErrorCode BCROperatorCheckDefinite(BCROperator *op);
