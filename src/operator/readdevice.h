/*
  Shared by read.c and readdevice.c: matrices whose values are on a CUDA device.
*/
#pragma once

#include "readimpl.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "../backend/cuda/cuda.h"
#endif

/* The values of a row of the box that has been brought to the host, or NULL */
PETSC_INTERN const PetscScalar *BCRSampleRow(const BCRRows *A, PetscInt row);
#if defined(PETSCBCR_HAVE_CUDA)
/* Whether the values of a matrix are on the device, or (bring) are better brought there; *only: there alone */
PETSC_INTERN PetscErrorCode BCRRowsDevice(Mat mat, const BCRGrid *grid, PetscBool bring, PetscBool *there,
                                          PetscBool *only);
/* Brings rows to the host, where values are on the device alone: those that BCRPlaneGuess() and
   BCRAxesRead() look at; those of BCRPlanesSearch() */
PETSC_INTERN PetscErrorCode BCRSampleTake(BCRRows *A);
PETSC_INTERN PetscErrorCode BCRSampleTakeFaces(const BCRRows *A, const BCROperator *op);
/* The same search where the values are. *done: rows of a present plane that fit none (wrong) and
   what nodes were met (seen), as BCRPlanesSearch() has them; else the host has to look at the rows
   */
PETSC_INTERN PetscErrorCode BCRFacesSearch(const BCRRows *A, PetscInt c, const BCROperator *op, PetscBool *done,
                                           int wrong[6], int seen[8][8]);
/* The arrays of the device, and the stream to work on; what PETSc has begun to do with them is done */
PETSC_INTERN PetscErrorCode BCRRowsArrays(const BCRRows *A, BCRCudaRows *rows, BCRStream *stream);
/* Compares every row with the operators, whose axes are m. *good: the operators are the matrix,
   with nothing to be noted in them, to *deviation, met in component comp, row and column of nodes
   in natural order; else look again on the host */
PETSC_INTERN PetscErrorCode BCRSampleCompare(const BCRRows *A, const BCROperator ops[], BCRModelAxis (*m)[3],
                                             const PetscBool skip[], PetscBool *good, double *deviation, PetscInt *comp,
                                             PetscInt *row, PetscInt *col);
#endif
