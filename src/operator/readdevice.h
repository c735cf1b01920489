/*
  Passes of the reader over matrices whose values are on a CUDA device (A->device). In builds without CUDA there are none:
  the functions are there, and find nothing.
*/
#pragma once

#include "compare.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "../backend/cuda/rows.h"
/* The arrays of the device, and the stream to work on; what PETSc has begun to do with them is done */
PETSC_INTERN PetscErrorCode BCRRowsArrays(const BCRRows *A, BCRCudaRows *rows, BCRStream *stream);
/* Fills the tables of the models' axes, and models that refer to them where they will be, from `place` on */
PETSC_INTERN PetscErrorCode BCRSampleModels(const BCRCheck *ck, double *table, BCRCudaRowsModel model[],
                                            const char *place);
#endif

/* Whether the values of a matrix are on the device, or (bring) are better brought there; *only: there alone */
PETSC_INTERN PetscErrorCode BCRRowsDevice(Mat mat, const BCRGrid *grid, PetscBool bring, PetscBool *there,
                                          PetscBool *only);
/* No row is empty: asked for where the same matrix may be read on a device next time, else false */
PETSC_INTERN PetscBool BCRRowsFull(const BCRRows *A);
/* Brings rows to the host, where values are on the device alone: those that BCRPlanesGuess() and
   BCRAxesRead() look at; those of BCRPlanesSearch(); those of the grid lines through a node */
PETSC_INTERN PetscErrorCode BCRSampleTake(BCRRows *A);
PETSC_INTERN PetscErrorCode BCRSampleTakeFaces(const BCRRows *A, const BCROperator *op);
PETSC_INTERN PetscErrorCode BCRSampleTakeLines(const BCRRows *A, const PetscInt at[3]);
/* The values of a row of the box that has been brought to the host, or NULL */
PETSC_INTERN const PetscScalar *BCRSampleRow(const BCRRows *A, PetscInt row);
/* The search of BCRPlanesSearch() where the values are. *done: whether a row of a present plane is not as the planes say
   (wrong); else the host has to look at the rows */
PETSC_INTERN PetscErrorCode BCRFacesSearch(const BCRRows *A, PetscInt c, const BCROperator *op, PetscBool *done,
                                           int wrong[6]);
/* Compares every row with the operators. *good: the operators are the matrix, with nothing to be noted in them, and
   ck->v has the largest deviation; else look again on the host, which has the lines through the worst row now, if a
   deviation is all that is wrong */
PETSC_INTERN PetscErrorCode BCRSampleCompare(BCRCheck *ck, PetscBool *good);
