/*
  Block cyclic reduction on the host: what reduction.c (creation), redlines.c (tables of a shift) and redhost.c (a
  solve) share.
*/
#pragma once

#include "redplan.h"
#include "../backend/cpu/poles.h"

#define BCR_MAX_LANES 16

/* A row of the work space is a block row: a line of nx unknowns or, in three dimensions, a plane of ny lines */
struct _n_BCRReduction {
  BCRReductionPlan plan;
  const BCRPolesTable *kernels;
  size_t size; /* of a number of the work type */
  PetscInt dim, nx, ny;
  PetscInt ldx; /* distance of lines in the work space */
  size_t rowbytes;
  /* two dimensions: lines, and how each set of poles has them for each shift */
  BCRAxis x; /* its coefficients, if general, are the object's own */
  BCRPolesLine line;
  PetscInt nshift;
  BCRPolesTab *tab; /* [nsets][nshift] */
  /* three dimensions: planes, shift s and pole j (of npoles) have shift s npoles + j there */
  BCRReduction inner;
  BCRArena lasting, space, tables; /* what no shift changes; rows of the work space; tables of the shifts */
  char *work;                      /* rows */
  void *plane;                     /* three dimensions: of a pole */
  void *kernelwork;
  const void **src; /* pointers to rows for a call of a kernel */
  void **dst;
  const void **side_src, **side_beside; /* the same for groups side by side */
  void **side_dst;
  void *one; /* weights 1, 1, 1, -1: copies, sum and difference of two rows */
};

/* redhost.c: rows, pointers, weights that a solve needs */
PETSC_INTERN PetscErrorCode BCRReductionSpace(BCRReduction red);
