/*
  Shared by the files of the reader.
*/
#pragma once

#include "read.h"
#include <float.h>

/* Entries that differ by less than this, relatively, are the same coefficient: programs compute spacings from coordinates, which
   costs a digit for every factor of ten in the number of points. A row sum below BCR_SUM_TOL of the diagonal is rounding. */
#if defined(PETSC_USE_REAL_SINGLE)
  #define BCR_SAME_TOL  1e-5
  #define BCR_EPS       1.2e-7
  #define BCR_PLANE_TOL 1e-7
#else
  #define BCR_SAME_TOL  1e-10
  #define BCR_EPS       2.3e-16
  #define BCR_PLANE_TOL 1e-14
#endif
#define BCR_SUM_TOL (16 * BCR_EPS)

#define BCR_CENTRE 6 /* the row of a grid point: slot 2*d+s its neighbour along axis d, s = 0 low, 1 high; 6 the diagonal */

/* The matrix in compressed rows, on the whole grid */
typedef struct {
  Mat                P, local; /* local: what the arrays belong to; owned when it is not P and own is set */
  PetscBool          own;
  PetscInt           dim, dof, N[3], stride[3], nodes; /* in nodes, x fastest */
  const PetscInt    *ai, *aj;
  const PetscScalar *aa;
} BCRRows;

/* Why a row cannot belong to any operator of this library */
typedef enum {
  BCR_ROW_GOOD,
  BCR_ROW_NAN,
  BCR_ROW_IMAGINARY,
  BCR_ROW_STENCIL,
  BCR_ROW_COUPLED,
  BCR_ROW_ZERO
} BCRRowState;

/* An axis of the model over the full grid, planes included, as the matrix would hold it: -scale w lo, -scale w up, scale w (sum dg + shift) */
typedef struct {
  PetscInt N, b, n;
  double  *lo, *up, *dg, *w;
} BCRModelAxis;

static inline PetscInt BCRFull(const BCRAxis *ax)
{
  return ax->n + (ax->plane[0].present ? 1 : 0) + (ax->plane[1].present ? 1 : 0);
}

/* Number of a node within the plane across axis d */
static inline PetscInt BCRPlaneNode(const PetscInt N[3], PetscInt d, const PetscInt ix[3])
{
  return d == 0 ? ix[1] + N[1] * ix[2] : (d == 1 ? ix[0] + N[0] * ix[2] : ix[0] + N[0] * ix[1]);
}

/* slot of the node at distance delta from node ix, -1: not a neighbour */
static inline int BCRSlot(const BCRRows *A, const PetscInt ix[3], PetscInt delta)
{
  PetscInt d;

  if (delta == 0) return BCR_CENTRE;
  for (d = 0; d < A->dim; d++) {
    const PetscInt st = A->stride[d], N = A->N[d];

    if (delta == st && ix[d] < N - 1) return (int)(2 * d + 1);
    if (delta == -st && ix[d] > 0) return (int)(2 * d);
    if (N > 2) { /* around the ends of a periodic axis */
      if (delta == st * (N - 1) && ix[d] == 0) return (int)(2 * d);
      if (delta == -st * (N - 1) && ix[d] == N - 1) return (int)(2 * d + 1);
    }
  }
  return -1;
}

PETSC_INTERN
BCRRowState BCRRowGet(const BCRRows *A, PetscInt c, const PetscInt ix[3], double st[7], double *rest, PetscInt *col);
PETSC_INTERN
PetscErrorCode BCRRowError(const BCRRows *A, BCRRowState state, PetscInt c, const PetscInt ix[3], PetscInt col);
PETSC_INTERN
PetscErrorCode BCRFitRead(const BCRRows *A, PetscInt c, BCRFit fit, BCROperator *op);
PETSC_INTERN
PetscErrorCode BCROperatorReset(BCROperator *op);
PETSC_INTERN
PetscErrorCode BCRModelCreate(const BCROperator *op, BCRModelAxis m[3]);
PETSC_INTERN
PetscErrorCode BCRModelDestroy(BCRModelAxis m[3]);
PETSC_INTERN
double BCRAxisUniformLowest(PetscInt n, BCREnd low, BCREnd high);
PETSC_INTERN
PetscErrorCode BCRAxisLowest(const BCRAxis *ax, PetscReal *lo);
