/*
  Small systems K w = b whose directions are kept: generalised conjugate residuals (S. C. Eisenstat, H. C. Elman,
  M. H. Schultz, SIAM J. Numer. Anal. 20, 1983) on vectors of few numbers, for a K of which a product costs much more than
  all else. What earlier right-hand sides have taught of K is used first; once its whole space is known, none is needed.

      K Z = Q T,    Q orthonormal, T upper triangular:    w = Z T^-1 Q^H b

  What many directions cost in a step is kept small: those that are orthogonal to a new one are only the leading ones, of
  the first solves, and its own solve's. The others get to know it at the end of the solve, all at once. Once fewer are unknown
  than there are leading ones, all are orthogonal to a new one, and the solve ends with the last of them.
*/
#pragma once

#include "numbers.h"

typedef struct {
  BCRNumbers *c;          /* where they are */
  PetscInt n, shared;     /* numbers of this rank; those that all ranks have */
  const PetscScalar *R;   /* [shared][n] rows of K that give the shared ones, conjugate */
  PetscInt most, few;     /* directions that are kept at most; solves that begin with no more make all theirs leading */
  PetscReal zero;         /* a direction that K makes smaller than this, times |K|, is one that it takes to zero */
  PetscBool all;          /* all of a solve are kept; else those of later solves become one, which is its solution */
  PetscInt k, lead, room; /* directions that are known, leading ones of them, and for which there is memory */
  PetscScalar *z, *q;     /* [room][n] */
  PetscScalar *zs, *qs;   /* [room][shared], on the host as all that follows */
  PetscScalar *t;         /* columns of T without what is below the diagonal: j begins at j (j + 1) / 2 */
  PetscScalar *y, *x;     /* [room] of this solve: Q^H b; scratch */
  PetscScalar *sums;      /* [2 room + few more] sums of a step */
  PetscReal size;         /* |K|^2, as far as it has been seen */
  BCRFew newz, newq;      /* of a step, where they are each time */
  const BCRStepProduct *parts; /* of the product, for steps that are launched ahead; NULL: none are */
  PetscInt looks;              /* directions that such a step can look at */
  PetscInt usual;              /* products of the last solve */
} BCRDirections;

/* q = K p but for the shared numbers of q. Collective */
typedef PetscErrorCode (*BCRDirectionsProduct)(void *context, const BCRFew *p, PetscScalar *q);

typedef struct {
  PetscInt products;
  PetscReal residual; /* 2-norm of b - K w */
  PetscBool reached;  /* it is at most the tolerance */
} BCRDirectionsResult;

/* n numbers on this rank, of all on those of c, which must outlive it as R must, and shared ones; most >= 1. stretch >= 1: K may
   make a direction longer than others by that factor. Collective */
PETSC_INTERN PetscErrorCode BCRDirectionsCreate(BCRNumbers *c, PetscInt n, PetscInt shared, const PetscScalar *R,
                                                PetscInt most, PetscInt few, PetscBool all, PetscReal stretch,
                                                BCRDirections *d);
PETSC_INTERN PetscErrorCode BCRDirectionsDestroy(BCRDirections *d);
/* Solves may launch steps ahead (on one rank, without shared numbers), if the operations have these: prepares them. parts are to
   stay; its unit is to be clear in solves */
PETSC_INTERN PetscErrorCode BCRDirectionsAhead(BCRDirections *d, const BCRStepProduct *parts);
/* None is known any more */
PETSC_INTERN void BCRDirectionsForget(BCRDirections *d);
/* K z is known from now on, if there is anything new in it; to be called between solves that made leading directions only. Collective */
PETSC_INTERN PetscErrorCode BCRDirectionsTeach(BCRDirections *d, BCRDirectionsProduct product, void *context,
                                               const BCRFew *z);
/* w = K^-1 b to |b - K w| <= tol, in at most steps products; b, whose norm is given, becomes the residual. It ends early below
   100 tol where no direction leads on: what is left is rounding's. A sum over the ranks for each product, and few more.
   Collective */
PETSC_INTERN PetscErrorCode BCRDirectionsSolve(BCRDirections *d, BCRDirectionsProduct product, void *context,
                                               PetscReal tol, PetscInt steps, const BCRFew *b, PetscReal norm,
                                               const BCRFew *w, BCRDirectionsResult *result);
