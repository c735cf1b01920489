/*
  The rows of an assembled matrix on a DMDA as lines need them: every rank looks at its own rows; what the columns of
  other ranks are on the grid follows from the sizes of the boxes.
*/
#pragma once

#include "aij.h"
#include "linesimpl.h"

/* Rows of this rank: the columns it owns and, on several ranks, the others */
typedef struct {
  BCRLines lines; /* layout */
  Mat aij;
  BCRBlock own, other;
  PetscBool converted;
  const PetscInt *ai, *aj, *bi, *bj, *column; /* column: of the grid, for the columns of b */
  const PetscScalar *aa, *ba;
  PetscInt first; /* global number of this rank's first row */
  PetscInt stride[3];
  PetscInt margin; /* points at either end of a line along x that are in no run */
  PetscBool clean; /* no run has anything where nothing should be: that has been looked at */
  PetscInt *place; /* x, y, z, component of each column of b */
  /* [7 k]: BCRGridRow.star of row k, kept from one pass for the next where rows are wide, else NULL; a NaN on the diagonal: the
     row holds more than these, or nothing, and is looked at again */
  PetscReal *star;
} BCRDistRows;

/* One row, by the neighbours of its grid point: slot 2 d + s along axis d, s = 0 below, 1 above; 6 the diagonal */
#define BCR_LINES_DIAGONAL 6
typedef struct {
  double star[7];
  double wrap[3]; /* what of star goes around the ends of the axis, absolute */
  /* largest: on the line of axis d but no neighbour; off all lines; other components; imaginary */
  double far[3], outside, couple, imag;
  PetscInt farcol[3], couplecol, imagcol, nancol; /* where; nancol -1: all finite */
} BCRGridRow;

#define BCR_LINES_ENTRIES 125 /* of a row in a run, at most: all of the 5 x 5 x 5 nodes around */

/* Rows of lines: arrays of one number for each unknown, in the order of the vector's array */
typedef struct {
  PetscReal *low, *diag, *up;
} BCRLinesArrays;

static inline BCRLinesArrays BCRLinesArraysFrom(BCRLinesArrays rows, size_t k)
{
  return (BCRLinesArrays){rows.low + k, rows.diag + k, rows.up + k};
}

/* Rows of one pattern, in the order of the matrix: what the entries of each are */
typedef struct {
  PetscInt entries, star[7]; /* places in a row of what BCRGridRow.star has, -1: not there */
  PetscInt rest, none[BCR_LINES_ENTRIES];
} BCRLinesRun;

/* What a read finds apart from the rows. What is wrong is in fault, on the ranks that see it. */
typedef struct {
  double dropped;
  PetscBool wraps; /* there are couplings around the ends of the axis */
  BCRFault fault;
} BCRLinesFound;

PETSC_INTERN PetscErrorCode BCRDistRowsOpen(const BCRGrid *grid, Mat P, BCRLines lines, BCRDistRows *A);
PETSC_INTERN PetscErrorCode BCRDistRowsClose(BCRDistRows *A);
/* Makes room for star where the rows of this rank are wide enough for it to be worth while; every row has to be kept then */
PETSC_INTERN PetscErrorCode BCRDistRowsStarCreate(BCRDistRows *A);
/* star: that of this row */
PETSC_INTERN void BCRGridRowKeep(const BCRGridRow *row, PetscReal star[]);
/* The row of component c at point at of this rank's box; ix is that point on the grid */
PETSC_INTERN void BCRGridRowGet(const BCRDistRows *A, const PetscInt at[3], const PetscInt ix[3], PetscInt c,
                                BCRGridRow *row);
/* The points but A->margin at either end of a line along x of this rank's box, of which first is the
   first row: rows of the same pattern, without columns of other ranks. Returns how many entries each
   has, 0: they are not such rows. *known keeps the answer for as long as the pattern of the matrix
   is the same. */
PETSC_INTERN PetscInt BCRDistRowsRun(const BCRDistRows *A, PetscInt first, unsigned char *known);
#if !defined(PETSC_USE_COMPLEX)
/* What the entries of the rows of a run are, all of whose points have neighbours on either side */
PETSC_INTERN void BCRDistRowsRunOpen(const BCRDistRows *A, const PetscInt at[3], PetscInt first, PetscInt entries,
                                     BCRLinesRun *run);
/* n rows have nothing where nothing should be; PETSC_FALSE also for too few rows to tell */
PETSC_INTERN PetscBool BCRLinesNothing(const BCRLinesRun *run, const PetscReal *v, PetscInt n);
#endif
/* The row of component c at point at of the box, which is unknown k, along axis */
PETSC_INTERN void BCRDistRowsGetRow(const BCRDistRows *A, const PetscInt at[3], const PetscInt ix[3], PetscInt k,
                                    PetscInt c, PetscInt axis, BCRLinesArrays row, BCRLinesFound *found);
/* The rows of the line along x of the box through at[1], at[2], in the order of the vector's array */
PETSC_INTERN void BCRDistRowsGetLine(const BCRDistRows *A, PetscInt at[3], PetscInt ix[3], PetscInt axis,
                                     BCRLinesArrays rows, BCRLinesFound *found);

#define BCRForBoxLines(lines, at, ix) \
  for (at[2] = 0, ix[2] = (lines)->start[2]; at[2] < (lines)->size[2]; ++at[2], ++ix[2]) \
    for (at[1] = 0, ix[1] = (lines)->start[1]; at[1] < (lines)->size[1]; ++at[1], ++ix[1])
