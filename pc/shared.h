/*
  What the PCs of this library do alike with PETSc's objects: which DMDA the rows belong to, and
  arrays of a right-hand side and a solution wherever they are.
*/
#pragma once

#include "../src/base/stream.h"
#include <petsc/private/pcimpl.h>

/* The DMDA that says what the rows of the matrix are: that of the PC, else that of the matrix.
   type: of the PC, for the error, which all ranks raise */
PETSC_INTERN PetscErrorCode BCRGetDMDA(PC pc, const char type[], DM *da);
/* Whether vectors of the matrix, or of the DM, are on a device */
PETSC_INTERN PetscErrorCode BCRVecsOnDevice(PC pc, DM da, PetscBool *device);

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
