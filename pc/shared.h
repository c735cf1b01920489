/*
  What the PCs of this library do alike with PETSc's objects: arrays of a right-hand side
  and a solution wherever they are.
*/
#pragma once

#include "../src/base/stream.h"
#include <petsc/private/pcimpl.h>
#include <petscdm.h>

/* Whether vectors of the matrix, or of the DM (NULL: there is none), are on a device */
PETSC_INTERN PetscErrorCode BCRVecsOnDevice(PC pc, DM dm, PetscBool *device);

/* ncols right-hand sides, column c at f + c*ldf, and solutions, u + c*ldu: two vectors, or two dense matrices */
typedef struct {
  Vec x, y;
  Mat X, Y;
  PetscInt ncols, ldf, ldu;
  const PetscScalar *f;
  PetscScalar *u;
  BCRVecPlace place;
  enum {
    BCR_ARRAYS_ANYWHERE, /* f to read and u to write where they are, with no copy between host and device */
    BCR_ARRAYS_HOST,     /* the same on the host */
    BCR_ARRAYS_READ      /* f and u to read, on the host */
  } mode;
} BCRArrays;

PETSC_INTERN PetscErrorCode BCRArraysOfVecs(Vec x, Vec y, BCRArrays *arrays);
PETSC_INTERN PetscErrorCode BCRArraysOfMats(Mat X, Mat Y, BCRArrays *arrays);
/* f, u and place, until the other function. mode: one of the above */
PETSC_INTERN PetscErrorCode BCRArraysGet(BCRArrays *arrays, int mode);
PETSC_INTERN PetscErrorCode BCRArraysRestore(BCRArrays *arrays);
/* One column of X and Y after the other, as columns are vectors */
PETSC_INTERN PetscErrorCode BCRApplyByColumns(PC pc, PetscBool transpose, Mat X, Mat Y,
                                              PetscErrorCode (*apply)(PC, PetscBool, Vec, Vec));
