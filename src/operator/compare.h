/*
  Shared by the files that compare every row of the matrix with an operator: compare.c, row by row, and run.c, whole runs
  of rows.
*/
#pragma once

#include "readimpl.h"

typedef struct {
  double dev; /* largest relative deviation, and where (component, nodes in natural order) */
  PetscInt comp, row, col;
  BCRRowState state; /* of the first bad row, with its component, column, node */
  PetscInt badix[3];
  PetscBool wrongplane; /* a row of a dropped plane is not what its plane says */
  PetscBool other;      /* the row that ended the comparison is no multiple of the operator's */
} BCRVerdict;

typedef struct {
  const BCRRows *A;
  PetscInt dof;
  BCROperator *ops;
  BCRModelAxis (*m)[3];
  PetscBool *skip; /* components that are not compared */
  BCRVerdict v;
  PetscErrorCode error; /* of this rank alone, until the ranks agree */
  PetscBool regular;    /* all columns that the fast loop relies on are as it expects */
  uint64_t boxes;       /* what rows that loop runs over */
} BCRCheck;

/* What axis d is multiplied by in a row */
static inline double BCRModelTimes(const BCRModelAxis m[3], PetscInt d, const PetscInt ix[3])
{
  for (PetscInt e = 0; e < 3; e++)
    if (m[e].times && m[e].timed == d) return m[e].times[ix[e]];
  return 1;
}

/* What the model has in a row: in[] the star, returns its weight */
static inline void BCRModelRow(const BCROperator *op, const BCRModelAxis m[3], const PetscInt ix[3], double in[7])
{
  const double w = (double)op->scale * m[0].w[ix[0]] * m[1].w[ix[1]] * m[2].w[ix[2]];
  int d;

  in[BCR_CENTRE] = (double)op->shift;
  for (d = 0; d < 3; d++) {
    const double t = BCRModelTimes(m, d, ix);

    in[2 * d] = -w * t * m[d].lo[ix[d]];
    in[2 * d + 1] = -w * t * m[d].up[ix[d]];
    in[BCR_CENTRE] += t * m[d].dg[ix[d]];
  }
  in[BCR_CENTRE] *= w;
}

/* The unknowns of axis d that this rank has, planes left out: the first node, and how many */
static inline PetscInt BCRInside(const BCRRows *A, PetscInt d, PetscInt b, PetscInt n, PetscInt *first)
{
  *first = PetscMax(A->lo[d], b);
  return PetscMax(0, PetscMin(A->lo[d] + A->n[d], b + n) - *first);
}

/* Number of a node among this rank's unknowns */
static inline PetscInt BCRBoxNode(const BCRRows *A, const BCRModelAxis m[3], const PetscInt ix[3])
{
  PetscInt first[3];
  const PetscInt n0 = BCRInside(A, 0, m[0].b, m[0].n, &first[0]), n1 = BCRInside(A, 1, m[1].b, m[1].n, &first[1]);

  (void)BCRInside(A, 2, m[2].b, m[2].n, &first[2]);
  return ix[0] - first[0] + n0 * (ix[1] - first[1] + n1 * (ix[2] - first[2]));
}

/* A node of a plane has 1/d = inv */
PETSC_INTERN PetscErrorCode BCRPlaneSetDiagonal(const BCRRows *A, BCROperator *op, const PetscInt ix[3], PetscReal inv);
/* An empty row may be one of planes that nothing refers to */
PETSC_INTERN PetscBool BCRCheckEmpty(const BCROperator *op, const int side[3], int planes);
/* All rows of this rank. known: boxes that the columns have been checked for, 0: none yet */
PETSC_INTERN PetscErrorCode BCRCheckAll(BCRCheck *ck, uint64_t known);
/* Some rows of this rank, spread over its box: *wrong as below. Most matrices with something in the box are found out
   by these */
PETSC_INTERN PetscErrorCode BCRCheckSpread(BCRCheck *ck, PetscBool *wrong);
/* Of a matrix whose values are on a device, the rows that have been brought from there: *wrong, one
   of them is not the model's, and the others need not be looked at */
PETSC_INTERN PetscErrorCode BCRCheckSample(BCRCheck *ck, PetscBool *wrong);
/* The ranks agree on what counts: a row that nothing can be done with, a plane that is none, the largest deviation.
   Collective */
PETSC_INTERN PetscErrorCode BCRCheckAgree(BCRCheck *ck);
