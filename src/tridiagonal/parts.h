/*
  Batches of lines as two recurrences, one forwards and one backwards, each by parts: what the
  P-scheme (paper 003) and the divide and conquer (paper 004) for tridiagonal lines share. The field
  is that of tridiagonal.h.

    forwards   y_j = sf_j y_{j-1} + f_j               j = 0, ..., rows-1
    backwards  u_j = sb_j u_{j+1} + cb_j y_j          j = rows-1, ..., 0

  Lanes. Where the lines have few neighbours (inner < BCR_PARTS_COLUMNS) a bundle has the parts of
  one line in its lanes, or all parts of several short lines: the rearranged array. Else its lanes
  are neighbouring lines, whose elements are neighbours in memory as they are, and the parts follow
  one another. Rows that are left over by equal parts are done in order.
*/
#pragma once

#include "triimpl.h"

#define BCR_PARTS_COLUMNS 8

typedef struct _n_BCRParts *BCRParts; /* tables are in the arena of the batch */

/* The coefficients of a line (line 0 where all lines have the same), rows numbers each */
typedef PetscErrorCode (*BCRPartsLine)(const void *context, PetscInt line, double *sf, double *sb, double *cb);
typedef struct {
  double sf, sb, cb;
} BCRPartsConstants;

/* rows: n, or fewer, of a line of the batch. parts: 0: near sqrt(rows/2). carry_double: the
   propagation of single work is done in double */
PETSC_INTERN PetscErrorCode BCRPartsCreate(BCRTriLocal t, PetscInt rows, PetscInt parts, PetscBool plain,
                                           PetscBool oneline, PetscBool carry_double, BCRParts *parts_);
PETSC_INTERN PetscErrorCode BCRPartsSetLines(BCRParts p, BCRPartsLine line, const void *context);
/* one, or one for each line (oneline) */
PETSC_INTERN PetscErrorCode BCRPartsSetConstants(BCRParts p, const BCRPartsConstants *constants);
PETSC_INTERN PetscErrorCode BCRPartsSolve(BCRParts p, const PetscReal *f, PetscReal *u); /* u may be f */
PETSC_INTERN PetscErrorCode BCRPartsGetSizes(BCRParts p, PetscInt *parts, PetscInt *length, PetscInt *growing);
PETSC_INTERN PetscErrorCode BCRPartsDestroy(BCRParts *p);
