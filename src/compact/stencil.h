/*
  A banded operator along the lines of a field, over the ranks that share the lines: the right-hand
  sides of compact differences, and their transposes. No PETSc objects.

  The field is that of src/tridiagonal/tridiagonal.h: inner * local * outer reals on this rank,
  element (i, j, o) at i + inner*(j + local*o). Rows are the same stencil but for some at either end
  of the line, which have stencils of their own. Points on other ranks come in one message for each
  neighbour and side; requests and buffers are made once. Parts may be of any size: the neighbours
  of a rank are all that own a point it needs.
*/
#pragma once

#include "../base/petscbcrimpl.h"

#define BCR_BAND_WIDTH 16 /* points of a row, at most */

typedef struct {
  PetscInt start, points; /* of the line's points (inner rows: relative to the row) */
  double c[BCR_BAND_WIDTH];
} BCRBandRow;

typedef struct {
  PetscInt n; /* rows of the whole line */
  PetscBool periodic;
  PetscInt half;                   /* inner rows: 2 half + 1 points, with c[half + k] = sign c[half - k] */
  PetscInt sign;                   /* 1 or -1 */
  PetscInt nfirst, nlast;          /* rows of their own */
  BCRBandRow inner, *first, *last; /* last[0] is row n - nlast */
} BCRBand;

typedef struct _n_BCRStencil *BCRStencil;
/* collective over comm, the ranks along the lines in their order; band is copied */
PETSC_INTERN PetscErrorCode BCRStencilCreate(MPI_Comm comm, const BCRBand *band, PetscInt inner, PetscInt local,
                                             PetscInt outer, BCRStencil *stencil);
/* u = band f in steps, none of which allocates: pack and start messages; the rows that need nothing
   from others; wait; the other rows. The rows may be done for some of the lines, 0 <= from <= o <
   to <= outer, and after the wait in any order. */
PETSC_INTERN PetscErrorCode BCRStencilBegin(BCRStencil stencil, const PetscReal *f);
PETSC_INTERN PetscErrorCode BCRStencilInner(BCRStencil stencil, const PetscReal *f, PetscReal *u, PetscInt from,
                                            PetscInt to);
PETSC_INTERN PetscErrorCode BCRStencilWait(BCRStencil stencil);
PETSC_INTERN PetscErrorCode BCRStencilEdges(BCRStencil stencil, const PetscReal *f, PetscReal *u, PetscInt from,
                                            PetscInt to);
/* all rows of the lines from <= i < to of one o, after the wait: row j goes to u + j * (to - from) */
PETSC_INTERN PetscErrorCode BCRStencilColumns(BCRStencil stencil, const PetscReal *f, PetscInt o, PetscInt from,
                                              PetscInt to, PetscReal *u);
PETSC_INTERN PetscErrorCode BCRStencilGetInfo(BCRStencil stencil, PetscInt *messages, size_t *bytes_sent,
                                              size_t *workspace);
PETSC_INTERN PetscErrorCode BCRStencilDestroy(BCRStencil *stencil);

/* Row `row` of the band, its points counted from 0 (periodic: below 0 and beyond n too) */
PETSC_INTERN PetscErrorCode BCRBandGetRow(const BCRBand *band, PetscInt row, BCRBandRow *r);
PETSC_INTERN PetscErrorCode BCRBandTranspose(const BCRBand *band, BCRBand *transpose);
PETSC_INTERN PetscErrorCode BCRBandDestroy(BCRBand *band);
