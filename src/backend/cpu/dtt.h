/*
  Batched discrete trigonometric transforms: the eigenvectors of a uniform axis
  (src/operator/operator.h) with unit coupling,

      T = tridiag(-1, 2, -1), first and last row by end type.

  synthesis  x_i = sum_j phi_j(i) X_j        phi_j: the eigenvector of T for lambda[j]
  analysis   X_j = sum_i w_i phi_j(i) x_i    w_i = 1/2 at a node-centred Neumann end, else 1

  Both are unnormalised: synthesis(norm[j] * analysis(x)_j) = x. lambda, norm and phi_j of all pairs of
  ends: src/base/modes.h.
*/
#pragma once

#include "../../base/petscbcrimpl.h"
#include "../../base/modes.h"

typedef struct _n_BCRDtt *BCRDtt;

/* tables for one axis; single != 0: float tables */
PETSC_INTERN PetscErrorCode BCRDttCreate(PetscInt n, BCREnd left, BCREnd right, PetscBool single, BCRDtt *dtt);
PETSC_INTERN PetscErrorCode BCRDttDestroy(BCRDtt *dtt);
/* n entries each, always double */
PETSC_INTERN PetscErrorCode BCRDttGetModes(BCRDtt dtt, const double **lambda, const double **norm);
/* of one line, one direction */
PETSC_INTERN double BCRDttFlops(BCRDtt dtt);
PETSC_INTERN size_t BCRDttTableBytes(BCRDtt dtt);
/* elements (of the work type) of scratch that Rows and Cols need for a machine with vectors of
   lanes lanes; 64-byte aligned */
PETSC_INTERN int BCRDttLines(BCRDtt dtt); /* lines that are transformed at a time, in numbers of lanes */
PETSC_INTERN size_t BCRDttWork(BCRDtt dtt, int lanes);

/* The kernels, once for each instruction set and precision (suffix _d0 _d1 _d2 _f0 _f1 _f2). io: 0
   f and u have the work type, 1 they are double while the work type is float. u may be f.
   direction: 0 analysis, 1 synthesis.

   Rows: count lines, each contiguous (n elements), line l at l*ldf in f, l*ldu in u; several lines
   at a time in the lanes. Cols: count lines, line l at offset l, its elements ldf (ldu) apart;
   neighbouring lines in the lanes. */
typedef void (*BCRDttKernel)(BCRDtt dtt, int direction, int io, ptrdiff_t count, const void *f, ptrdiff_t ldf, void *u,
                             ptrdiff_t ldu, void *work);

/* Memory that comes into the second-level cache meanwhile */
typedef struct {
  const void *next;
  ptrdiff_t bytes;
} BCRDttAhead;

/* Cols, a few lines at a time */
typedef void (*BCRDttLayerKernel)(BCRDtt dtt, int direction, int io, ptrdiff_t count, const void *f, ptrdiff_t ldf,
                                  void *u, ptrdiff_t ldu, const BCRDttAhead *ahead, void *work);

typedef struct {
  BCRDttKernel rows, cols;
  BCRDttLayerKernel layer;
} BCRDttTable;
