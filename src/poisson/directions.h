/*
  Small systems K w = b whose directions are kept: generalised conjugate residuals (S. C. Eisenstat, H. C. Elman,
  M. H. Schultz, SIAM J. Numer. Anal. 20, 1983) on vectors of few numbers, for a K of which a product costs much more than
  all else. What earlier right-hand sides have taught of K is used first; once its whole space is known, none is needed.
*/
#pragma once

#include "../base/petscbcrimpl.h"

typedef struct {
  MPI_Comm comm;
  PetscInt n, most;  /* numbers of this rank; directions that are kept at most, the first ones */
  PetscInt k, room;  /* directions that are known, and for which there is memory */
  PetscScalar *p;    /* [room][n] directions */
  PetscScalar *q;    /* [room][n] K p, orthonormal */
  PetscScalar *dots; /* sums of a step */
  PetscReal size;    /* |K|^2, as far as it has been seen */
} BCRDirections;

/* q = K p, [n] each. Collective */
typedef PetscErrorCode (*BCRDirectionsProduct)(void *context, const PetscScalar *p, PetscScalar *q);

typedef struct {
  PetscInt products;
  PetscReal residual; /* 2-norm of b - K w */
  PetscBool reached;  /* it is at most the tolerance */
} BCRDirectionsResult;

/* n numbers on this rank, of all on the ranks of comm; most >= 1. Collective */
PETSC_INTERN PetscErrorCode BCRDirectionsCreate(MPI_Comm comm, PetscInt n, PetscInt most, BCRDirections *d);
PETSC_INTERN PetscErrorCode BCRDirectionsDestroy(BCRDirections *d);
/* w = K^-1 b to |b - K w| <= tol, in at most steps products; b becomes the residual. It ends early below 100 tol where no direction
   leads on: what is left is rounding's. Collective */
PETSC_INTERN PetscErrorCode BCRDirectionsSolve(BCRDirections *d, BCRDirectionsProduct product, void *context,
                                               PetscReal tol, PetscInt steps, PetscScalar *b, PetscScalar *w,
                                               BCRDirectionsResult *result);
