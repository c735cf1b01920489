/*
  Small systems K w = b whose directions are kept: generalised conjugate residuals (S. C. Eisenstat, H. C. Elman,
  M. H. Schultz, SIAM J. Numer. Anal. 20, 1983) on vectors of few numbers, for a K of which a product costs much more than
  all else. What earlier right-hand sides have taught of K is used first; once its whole space is known, none is needed.

      K Z = Q T,    Q orthonormal, T upper triangular:    w = Z T^-1 Q^H b

  What many directions cost in a step is kept small: those that are orthogonal to a new one are only the leading ones, of
  the first solves, and its own solve's. The others get to know it at the end of the solve, all at once.
*/
#pragma once

#include "../base/petscbcrimpl.h"

typedef struct {
  MPI_Comm comm;
  PetscInt n, shared, ld; /* numbers of this rank; numbers behind them, which all ranks have; n + shared */
  PetscInt most, few;     /* directions that are kept at most; solves that begin with no more make all theirs leading */
  PetscBool all;          /* all of a solve are kept; else those of later solves become one, which is its solution */
  PetscInt k, lead, room; /* directions that are known, leading ones of them, and for which there is memory */
  PetscScalar *z, *q;     /* [room][ld] */
  PetscScalar *t;         /* columns of T without what is below the diagonal: j begins at j (j + 1) / 2 */
  PetscScalar *y, *x;     /* [room] of this solve: Q^H b; scratch */
  PetscScalar *sums;      /* [2 room + few more] sums of a step */
  PetscReal size;         /* |K|^2, as far as it has been seen */
} BCRDirections;

/* q = K p, [n + shared] each; of the shared numbers of q this rank gives its part of a sum. Collective */
typedef PetscErrorCode (*BCRDirectionsProduct)(void *context, const PetscScalar *p, PetscScalar *q);

typedef struct {
  PetscInt products;
  PetscReal residual; /* 2-norm of b - K w */
  PetscBool reached;  /* it is at most the tolerance */
} BCRDirectionsResult;

/* n numbers on this rank, of all on the ranks of comm, and shared ones; most >= 1. Collective */
PETSC_INTERN PetscErrorCode BCRDirectionsCreate(MPI_Comm comm, PetscInt n, PetscInt shared, PetscInt most, PetscInt few,
                                                PetscBool all, BCRDirections *d);
PETSC_INTERN PetscErrorCode BCRDirectionsDestroy(BCRDirections *d);
/* None is known any more */
PETSC_INTERN void BCRDirectionsForget(BCRDirections *d);
/* K z is known from now on, if there is anything new in it; to be called between solves that made leading directions only. Collective */
PETSC_INTERN PetscErrorCode BCRDirectionsTeach(BCRDirections *d, BCRDirectionsProduct product, void *context,
                                               const PetscScalar *z);
/* w = K^-1 b to |b - K w| <= tol, in at most steps products; b becomes the residual. It ends early below 100 tol where no
   direction leads on: what is left is rounding's. A sum over the ranks for each product, and few more. Collective */
PETSC_INTERN PetscErrorCode BCRDirectionsSolve(BCRDirections *d, BCRDirectionsProduct product, void *context,
                                               PetscReal tol, PetscInt steps, PetscScalar *b, PetscScalar *w,
                                               BCRDirectionsResult *result);
