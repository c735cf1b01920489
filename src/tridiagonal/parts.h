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

/* What a device has in place of that: equal parts, the last one with fewer rows, and what puts right the ends of
   lines after the recurrences; for all sets of coefficients side by side, in double. Entry e of set l is at
   e*sets + l unless said otherwise */
#define BCR_PARTS_ENDS (2 * BCR_TRI_EDGE + 2) /* rows and columns, at most */
typedef struct {
  PetscInt rows, parts, m; /* rows that take part; parts of m rows */
  PetscBool grows;         /* one part, since the products of more would grow */
  /* sf, sb, cb: one number of each set where they are constant; else of row i of part q at i*parts*sets + (inner == 1 ?
     q + parts*l : l + sets*q) */
  size_t entries;
  double *table[3];
  double *product[2]; /* of sf and sb over a part: [parts][sets] */
  /* ends, if there are any to put right: u -= V w. count rows differ from those of the recurrences; columns of V: as
     many, or the one of the last unknown (count 0). Column k has the rows [from, to) */
  PetscBool ends;
  PetscInt count, columns, row[BCR_PARTS_ENDS], from[BCR_PARTS_ENDS], to[BCR_PARTS_ENDS];
  double *V[BCR_PARTS_ENDS]; /* [to - from][sets] */
  size_t nnumbers;
  double *numbers; /* [nnumbers][sets]: as BCRCudaEnds has them */
} BCRPartsTables;
/* Cuts the rows into `parts`, 0: near sqrt(rows/2), and makes room for the coefficients and products */
PETSC_INTERN PetscErrorCode BCRPartsTablesCut(const BCRTriSpec *spec, PetscInt rows, PetscInt parts, PetscBool constant,
                                              BCRPartsTables *T);
PETSC_INTERN PetscErrorCode BCRPartsTablesDestroy(BCRPartsTables *T); /* after an error, too */
/* Those of pscheme and of dc; T: zeros. single: the kernels work in float */
PETSC_INTERN PetscErrorCode BCRTriPSchemeTables(const BCRTriSpec *spec, const BCRTriOptions *options, int single,
                                                BCRPartsTables *T);
PETSC_INTERN PetscErrorCode BCRTriDCTables(const BCRTriSpec *spec, const BCRTriOptions *options, int single,
                                           BCRPartsTables *T);
