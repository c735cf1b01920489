/*
  Compact finite differences as numbers: tridiagonal left-hand sides, right-hand side stencils,
  closures at the ends. No PETSc objects.

  Row j of a line, spacing 1:   low d_{j-1} + d_j + up d_{j+1} = sum_k c_k f_{start+k}

  (paper 002, (1.1) with beta = 0; Lele, J. Comput. Phys. 103, 1992). Divide by h or h^2 for another spacing.
*/
#pragma once

#include "../base/petscbcrimpl.h"
#include <petscbcr.h>

#define BCR_COMPACT_HALF  3 /* widest inner stencil: 2*3 + 1 points */
#define BCR_COMPACT_ROWS  3 /* closed rows at an end, at most */
#define BCR_COMPACT_WIDTH 8 /* points of a closed row, at most */

/* one row; its stencil starts at point `start` of the line, or relative to the row for the inner rows */
typedef struct {
  double low, up;
  PetscInt start, points, order;
  double c[BCR_COMPACT_WIDTH];
} BCRCompactRow;

typedef struct {
  PetscInt derivative, half;             /* first or second; points on either side of an inner row */
  PetscInt closed;                       /* rows at either end that are not inner rows; 0: periodic */
  PetscInt closure;                      /* smallest order of a closed row */
  PetscInt minimum;                      /* points a line needs */
  BCRCompactRow inner;                   /* start is -half */
  BCRCompactRow first[BCR_COMPACT_ROWS]; /* rows 0, 1, ...; the last rows are their mirror images */
} BCRCompactScheme;

/* closure: order of the closed rows, PETSC_DECIDE for the default; periodic: none are needed.
   Errors say which orders there are. */
PETSC_INTERN PetscErrorCode BCRCompactGetScheme(MatCompactScheme scheme, PetscInt derivative, PetscInt closure,
                                                PetscBool periodic, BCRCompactScheme *s);
/* Row `row` of a line of n points, with `start` counted from point 0 (periodic: it may be below 0 or beyond n) */
PETSC_INTERN PetscErrorCode BCRCompactGetRow(const BCRCompactScheme *s, PetscInt n, PetscInt row, BCRCompactRow *r);
