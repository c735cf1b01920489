/*
  Shared by the files of the reader.
*/
#pragma once

#include "read.h"
#include "aij.h"
#include "grid.h"
#include <float.h>

/* Entries that differ by less than this, relatively, are the same coefficient: programs compute
   spacings from coordinates, which costs a digit for every factor of ten in the number of points. A
   row sum below BCR_SUM_TOL of the diagonal is rounding. */
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
/* An operator is singular where the sum of each row, its null vector put in, is below this of the row's diagonal */
#define BCR_NULL_TOL (256 * BCR_EPS)

/* the row of a grid point: slot 2*d+s its neighbour along axis d, s = 0 low, 1 high; 6 the diagonal
   */
#define BCR_CENTRE 6

/* Why the operator of its grid lines is not taken for a component of the matrix, to be put behind a message; or "" */
typedef struct {
  PetscInt c;
  char text[512];
} BCRWhy;

/* Rows whose values have been brought to the host, of a matrix whose values are on a device: those
   of n boxes of nodes */
/* rows elsewhere than in the middle of the grid, at most: base rows of axes (BCRAxesRead()), the worst of a comparison */
#define BCR_SAMPLE_MORE 5
/* lines along each axis, corners and the middles of edges, the faces of the grid, lines through those base rows */
#define BCR_SAMPLE_BOXES (53 + 3 * BCR_SAMPLE_MORE)
typedef struct {
  PetscInt n, first[BCR_SAMPLE_BOXES][3], count[BCR_SAMPLE_BOXES][3], width[BCR_SAMPLE_BOXES];
  PetscScalar *values[BCR_SAMPLE_BOXES]; /* row r (nodes x fastest, all components of each) of a box at r width */
  PetscInt more, nmemory;                /* base rows with lines of their own; arrays of memory */
  PetscScalar *memory[2 + BCR_SAMPLE_MORE];
  PetscBool faces; /* those of planes that were guessed */
} BCRSample;

/* The rows of the nodes of this rank's box. On one rank the box is the grid, and natural numbers
   are those of the matrix. ai, aj, aa: the entries that couple nodes of the box, columns numbered
   like its rows, c + dof (node within the box); far: those to nodes of other ranks, on several
   ranks only; column j is the component and node (in natural order) ghost[j]. Rows of nodes beside
   the box (shell): see BCRShellOpen() */
typedef struct {
  Mat P, aij;   /* aij: P, or a copy of it in that format that is owned */
  BCRGrid grid; /* its arrays are borrowed */
  MPI_Comm comm;
  PetscInt dim, dof, N[3];                /* of the whole grid, in nodes, x fastest */
  PetscInt lo[3], n[3], stride[3], nodes; /* the box */
  BCRBlock near, far, shell;
  const PetscInt *ai, *aj;
  const PetscScalar *aa;
  PetscInt *ghost;
  /* the matrix is a copy of a user's, in the order of the grid: the user's number of each row of this rank, for messages; NULL:
     it is not */
  IS numbers;
  /* the box with its surroundings: where a node's rows begin in shell, -1: in the box */
  PetscInt shelllo[3], shelln[3], *shellrow;
  Mat *shellmat;
  PetscBool full;    /* no row is empty; asked for where values are on a device alone, else as it was known */
  PetscBool several; /* more than one axis may be general */
  PetscBool rings;   /* general axes may be periodic, or multiply another where several may be general */
  PetscBool one;     /* a fit has no general axis but x */
  PetscBool
    shifted; /* rows have a shift that is not in them, the same of all (turn.h): one line gets no weights for it */
  BCRWhy *why;
  struct { /* box stencils that are no products of axes: an entry that shows it, numbers as those of ghost */
    PetscBool wanted, tried; /* rows have entries beside their star; there was one to try */
    PetscInt row, col;
    double have, want;
  } box;
  PetscBool device; /* the values are on a CUDA device. aa, near.a: NULL while they are not on the host, too */
  BCRSample sample;
} BCRRows;

/* Why a row cannot belong to any operator of this library */
typedef enum {
  BCR_ROW_GOOD,
  BCR_ROW_NAN,
  BCR_ROW_IMAGINARY,
  BCR_ROW_STENCIL,
  BCR_ROW_COUPLED,
  BCR_ROW_ZERO,
  BCR_ROW_EMPTY /* nothing but zeros, if that */
} BCRRowState;

/* An axis of the model over the full grid, planes included, as the matrix would hold it: -scale w
   lo, -scale w up, scale w (sum dg + shift) */
typedef struct {
  PetscInt N, b, n;
  double *lo, *up, *dg, *w;
  double *times; /* NULL, or what axis timed is multiplied by in the rows of this one */
  PetscInt timed;
} BCRModelAxis;

static inline PetscInt BCRFull(const BCRAxis *ax)
{
  return ax->n + (ax->plane[0].present ? 1 : 0) + (ax->plane[1].present ? 1 : 0);
}

/* Number of a node among those of the box that lie in a plane across axis d, and how many those are */
static inline PetscInt BCRPlaneNode(const BCRRows *A, PetscInt d, const PetscInt ix[3])
{
  const PetscInt i = ix[0] - A->lo[0], j = ix[1] - A->lo[1], k = ix[2] - A->lo[2];

  return d == 0 ? j + A->n[1] * k : (d == 1 ? i + A->n[0] * k : i + A->n[0] * j);
}

static inline PetscInt BCRPlaneNodes(const BCRRows *A, PetscInt d, PetscInt s)
{
  const PetscInt at = s ? A->N[d] - 1 : 0;

  if (at < A->lo[d] || at >= A->lo[d] + A->n[d]) return 0;
  return (d == 0 ? 1 : A->n[0]) * (d == 1 ? 1 : A->n[1]) * (d == 2 ? 1 : A->n[2]);
}

/* Number of a node of the box within it */
static inline PetscInt BCRNode(const BCRRows *A, const PetscInt ix[3])
{
  return ix[0] - A->lo[0] + A->stride[1] * (ix[1] - A->lo[1]) + A->stride[2] * (ix[2] - A->lo[2]);
}

/* Slot of the node of the box at distance delta from its node ix, -1: not a neighbour */
static inline int BCRSlot(const BCRRows *A, const PetscInt ix[3], PetscInt delta)
{
  PetscInt d;

  if (delta == 0) return BCR_CENTRE;
  for (d = 0; d < A->dim; d++) {
    const PetscInt st = A->stride[d], n = A->n[d], o = ix[d] - A->lo[d];

    if (delta == st && o < n - 1) return (int)(2 * d + 1);
    if (delta == -st && o > 0) return (int)(2 * d);
    if (n > 2 && n == A->N[d]) { /* around the ends of a periodic axis */
      if (delta == st * (n - 1) && o == 0) return (int)(2 * d);
      if (delta == -st * (n - 1) && o == n - 1) return (int)(2 * d + 1);
    }
  }
  return -1;
}

/* The same for any node of the grid, to in natural order */
static inline int BCRSlotFar(const BCRRows *A, const PetscInt ix[3], PetscInt to)
{
  PetscInt jx[3], d;
  int slot = -1;

  BCRGridNaturalNode(&A->grid, to, jx);
  for (d = 0; d < 3; d++) {
    const PetscInt N = A->N[d], off = jx[d] - ix[d];

    if (off == 0) continue;
    if (slot >= 0) return -1;
    if (off == 1 || (N > 2 && off == 1 - N)) slot = (int)(2 * d + 1);
    else if (off == -1 || (N > 2 && off == N - 1)) slot = (int)(2 * d);
    else return -1;
  }
  return slot < 0 ? BCR_CENTRE : slot;
}

/* full: this matrix has been read before, and has no empty rows; fitted: it was no operator then.
   Products with it, for which it goes to its device, are needed then, and it is read there */
PETSC_INTERN PetscErrorCode BCRRowsOpen(const BCRGrid *grid, Mat P, PetscBool full, PetscBool fitted, BCRRows *A);
PETSC_INTERN PetscErrorCode BCRRowsClose(BCRRows *A);
/* the values of all rows come to the host, if they are not there */
PETSC_INTERN PetscErrorCode BCRRowsFetch(const BCRRows *rows);
PETSC_INTERN BCRRowState BCRRowGet(const BCRRows *A, PetscInt c, const PetscInt ix[3], double st[7], double *rest,
                                   PetscInt *col);
/* says what is wrong with a row of the box */
PETSC_INTERN PetscErrorCode BCRRowFault(const BCRRows *A, BCRRowState state, PetscInt c, const PetscInt ix[3],
                                        PetscInt col, BCRFault *fault);
/* A row of the box; *fault says what is wrong with it. empty: that there is nothing in it is not */
PETSC_INTERN PetscErrorCode BCRRowCheck(const BCRRows *A, PetscInt c, const PetscInt ix[3], PetscBool empty,
                                        double st[7], BCRFault *fault);
/* Any row of the grid, on all ranks. Collective */
PETSC_INTERN PetscErrorCode BCRRowAsk(const BCRRows *A, PetscInt c, const PetscInt ix[3], PetscBool empty,
                                      double st[7]);
/* 1 over the diagonal of a row of a plane; 0 of an empty row, whose unknown is zero then */
static inline PetscReal BCRPlaneInverse(const double st[7])
{
  return st[BCR_CENTRE] != 0 ? (PetscReal)(1.0 / st[BCR_CENTRE]) : 0;
}
/* planesread.c. The planes that a node is in: side[d] -1 low, 1 high, 0 none. Returns how many */
static inline int BCRPlanesOf(const BCRRows *A, const BCROperator *op, const PetscInt ix[3], int side[3])
{
  int planes = 0;

  for (PetscInt d = 0; d < 3; d++) {
    const BCRPlane *pl = op->axis[d].plane;

    side[d] = pl[0].present && ix[d] == 0 ? -1 : (pl[1].present && ix[d] == A->N[d] - 1 ? 1 : 0);
    planes += side[d] != 0;
  }
  return planes;
}
/* A row of such a node is as the planes say, but for its diagonal */
PETSC_INTERN PetscBool BCRPlanesRowFits(const BCROperator *op, const int side[3], const double st[7]);
/* Node k of some that are spread over the nodes from[] .. to[] - 1, without a pattern that a matrix might have, too:
   those of a sequence of low discrepancy. all: every node, one after the other */
PETSC_INTERN void BCRSpreadNode(const PetscInt from[3], const PetscInt to[3], PetscInt k, PetscBool all,
                                PetscInt ix[3]);
/* productread.c. The operator of constant box stencils, if that is what the rows have: *good. Else nothing is in op, and A->box
   says why not. Collective */
PETSC_INTERN PetscErrorCode BCRProductRead(BCRRows *A, PetscInt c, BCROperator *op, PetscBool *good);
/* Guesses the planes, each from one row in its middle, and rows where planes meet from one row each. Collective */
PETSC_INTERN PetscErrorCode BCRPlanesGuess(const BCRRows *A, PetscInt c, BCROperator *op);
/* Drops every plane with a row that is not as the planes say. Collective */
PETSC_INTERN PetscErrorCode BCRPlanesSearch(const BCRRows *A, PetscInt c, BCROperator *op);
/* Planes that most rows of a side are of: with a slope, rows apart that have nothing but a diagonal; without, all rows but
   those where the side meets others. Collective */
PETSC_INTERN PetscErrorCode BCRPlanesMost(const BCRRows *A, PetscInt c, BCROperator *op);
/* Counts the empty rows; an error if anything refers to one. Collective */
PETSC_INTERN PetscErrorCode BCRPlanesEmpty(const BCRRows *A, PetscInt c, BCROperator *op);
/* axesread.c. Everything of the operator but the planes, which are given, from one grid line along each axis.
   *good = PETSC_FALSE: these lines are not those of a separable operator of this library. Collective */
PETSC_INTERN PetscErrorCode BCRAxesRead(const BCRRows *A, PetscInt c, BCROperator *op, PetscBool *good);
/* The same from rows that are given, alike on all ranks: row i of the box's unknowns along axis d; lines meet in node
   base of each axis, the first of an axis of one or two; NULL: n / 2. Collective */
typedef void (*BCRAxesRow)(void *ctx, PetscInt d, PetscInt i, double st[7]);
PETSC_INTERN PetscErrorCode BCRAxesFrom(const BCRRows *A, const PetscInt base[3], BCROperator *op, BCRAxesRow row,
                                        void *ctx, PetscBool *good);
/* Collective. From here on BCRRowGet() also knows the rows of nodes up to width away from the box
   along axes that are cut, going around the ends of the grid: nodes -width .. N + width of an axis.
   Nothing to do on one rank. */
PETSC_INTERN PetscErrorCode BCRShellOpen(BCRRows *A, PetscInt width);
PETSC_INTERN PetscErrorCode BCRShellClose(BCRRows *A);
/* Takes the old value of everything that is the same to rounding, so that later stages see at once that T has not
   changed: *same */
PETSC_INTERN PetscErrorCode BCROperatorKeep(const BCROperator *old, BCROperator *op, PetscBool *same);
PETSC_INTERN PetscErrorCode BCRFitRead(BCRRows *A, PetscInt c, BCRFit fit, BCROperator *op);
/* differ.c. The operator that most rows have, with those that differ in op->differ; planes are given, and have been searched.
   *good = PETSC_FALSE: most rows have no such operator. Collective */
PETSC_INTERN PetscErrorCode BCRDifferRead(BCRRows *A, PetscInt c, BCROperator *op, PetscBool *good);
/* differproduct.c. The same of constant box stencils, which BCRProductRead() has tried. Collective */
PETSC_INTERN PetscErrorCode BCRDifferProduct(BCRRows *A, PetscInt c, BCROperator *op, PetscBool *good);
PETSC_INTERN PetscErrorCode BCROperatorReset(BCROperator *op);
PETSC_INTERN PetscErrorCode BCRModelCreate(const BCROperator *op, BCRModelAxis m[3]);
PETSC_INTERN PetscErrorCode BCRModelDestroy(BCRModelAxis m[3]);
/* K 1 = 0: a shift of zero, and no end of an axis holds the solution fixed */
PETSC_INTERN PetscBool BCROperatorNeutral(const BCROperator *op);
/* Collective. *null: the matrix has a null vector, one in the box (whose axes, ends and planes op
   has) and the slope of a dropped plane there: the sums of all rows of the box vanish to rounding;
   ends: those next to the ends of the box only */
PETSC_INTERN PetscErrorCode BCRRowsNull(const BCRRows *A, PetscInt c, const BCROperator *op, PetscBool ends,
                                        PetscBool *null);
PETSC_INTERN double BCRAxisUniformLowest(PetscInt n, BCREnd low, BCREnd high);
