/*
  Grid lines of a DMDA along one axis, and their tridiagonal systems: read from an assembled matrix,
  or given by a few rows. What comes out is the description that src/tridiagonal/tridiagonal.h
  solves. Any number of ranks in any direction.

  The unknowns of a rank are a box in natural order, so the local array of a global vector is a
  field of that header as it stands. The ranks that share a line are those with the same place in
  the other directions; they have a communicator of their own.
*/
#pragma once

#include "grid.h"
#include "../tridiagonal/tridiagonal.h"
#include "../transport/transport.h"
#include <petscmat.h>

#define BCR_LINES_ANY_AXIS (-1)
/* that are kept of a line while it is read, at most */
#define BCR_LINES_NUMBERS (6 * BCR_TRI_EDGE)

typedef struct _n_BCRLines *BCRLines;
struct _n_BCRLines {
  MPI_Comm comm;                    /* of the grid; not owned */
  MPI_Comm along;                   /* the ranks of the lines that this rank has a part of, in order; owned */
  PetscObjectId id;                 /* of the grid */
  PetscInt procs[3];                /* ranks of the grid, by axis */
  PetscMPIInt ranks;                /* in along */
  PetscInt dim, dof, axis;          /* axis 0, 1, 2 */
  PetscInt N[3], start[3], size[3]; /* grid points: of the grid, and this rank's box */
  /* this rank has a part of; components count; BCR_LINES_NUMBERS times as many fit an MPI count */
  PetscInt nlines;
  BCRTriSpec spec; /* its arrays are owned */
  /* largest sum of |entries| outside the line, of a row, over that row's |diagonal|; all ranks */
  PetscReal dropped;
  /* mean |coupling| along each axis over the mean |diagonal|; 0 unless the axis was to be found */
  PetscReal strength[3];
  PetscBool chosen; /* the axis was found in the matrix */

  /* of solvers on devices, of several ranks */
  BCRTransport transport; /* of along; owned */
  BCRTransportKind kind;  /* as asked for */

  /* of the reader: what is known of the pattern of the matrix */
  PetscObjectId mat;
  PetscObjectState pattern;
  unsigned char *runs; /* for each line along x of the box; owned */
};

/* Layout alone. axis: 0, 1, 2; an error on a DMDA that has fewer dimensions. Collective. */
PETSC_INTERN PetscErrorCode BCRLinesCreate(const BCRGrid *grid, PetscInt axis, BCRLines *lines);
/* Layout and coefficients from P. axis may be BCR_LINES_ANY_AXIS: the one of the strongest coupling
   (x of a DMDA in 1-D). Whatever the matrix couples across lines is left out; in 1-D there must be
   nothing of the kind. *lines: NULL, or what was read last time, which is replaced and whose
   communicator is kept; NULL after an error. Errors are raised on all ranks. Collective. */
PETSC_INTERN PetscErrorCode BCRLinesRead(const BCRGrid *grid, Mat P, PetscInt axis, BCRLines *lines);
/* The same coefficients on all lines: row, and up to BCR_TRI_EDGE others at each end of the whole
   line, (low, diag, up) each */
PETSC_INTERN PetscErrorCode BCRLinesSetRows(BCRLines lines, PetscBool periodic, PetscInt nfirst,
                                            const PetscReal first[], const PetscReal row[], PetscInt nlast,
                                            const PetscReal last[]);
/* The transposed systems; *symmetric: they are the same, and *transposed is NULL then. Collective. */
PETSC_INTERN PetscErrorCode BCRLinesTranspose(BCRLines lines, BCRLines *transposed, PetscBool *symmetric);
/* Names local line l: "along y through x = 3, z = 5" */
PETSC_INTERN PetscErrorCode BCRLinesName(BCRLines lines, PetscInt l, size_t length, char name[]);
/* What kind of coefficients these are, in a line of a view */
PETSC_INTERN PetscErrorCode BCRLinesView(BCRLines lines, PetscViewer viewer);
PETSC_INTERN PetscErrorCode BCRLinesDestroy(BCRLines *lines);
/* What the ranks of along are connected by, if options say that the work is done on devices:
   options->transport. Collective. */
PETSC_INTERN PetscErrorCode BCRLinesTransport(BCRLines lines, const char option[], BCRTransportKind kind,
                                              PetscBool aware, BCRTriOptions *options);
/* The solver of these lines. What goes wrong on any rank is an error on all of them, and names the
   line by its place on the grid. Collective. */
PETSC_INTERN PetscErrorCode BCRLinesSolver(BCRLines lines, const BCRTriOptions *options, BCRTri *tri);
/* The same for several right-hand sides, of one field each, one after the other; lines has been
   through BCRLinesSolver(). NULL: the lines of this rank differ, one set of tables cannot serve
   them, or so many are beyond the range of an index. Collective. */
PETSC_INTERN PetscErrorCode BCRLinesSolverMany(BCRLines lines, const BCRTriOptions *options, PetscInt columns,
                                               BCRTri *tri);
/* If code is an error on any rank, the same error with the message of the first such rank on all of
   them. Collective. */
PETSC_INTERN PetscErrorCode BCRErrorAgree(MPI_Comm comm, PetscErrorCode code, const char message[]);

#define BCR_MESSAGE_LENGTH 768
