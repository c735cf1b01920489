/*
  Where vectors are, and on which stream PETSc works: for what can work on a CUDA device.
*/
#pragma once

#include "petscbcrimpl.h"
#include <petscvec.h>

/* The stream on which PETSc works, NULL (the default one) where it has none */
PETSC_INTERN PetscErrorCode BCRGetStream(void **stream);
/* The same, where work on the CUDA device begins: a rank gets its device, if there are several */
PETSC_INTERN PetscErrorCode BCRStartDevice(void **stream);
/* Numbers from the memory of the device, waiting for the stream */
PETSC_INTERN PetscErrorCode BCRFetch(void *stream, size_t bytes, const void *there, void *here);
/* MPI takes pointers of the device (-use_gpu_aware_mpi) */
PETSC_INTERN PetscBool BCRGpuAwareMPI(void);
/* Whether one of two types of vectors (or NULL) is of a device */
PETSC_INTERN PetscErrorCode BCRTypesOnDevice(VecType a, VecType b, PetscBool *device);

typedef enum {
  BCR_VECS_HOST,
  BCR_VECS_DEVICE,
  BCR_VECS_MIXED
} BCRVecPlace;
/* With a CUDA backend: */
/* Of two arrays */
PETSC_INTERN BCRVecPlace BCRMemPlace(PetscMemType f, PetscMemType u);
/* Arrays to read x and to write y where they are, with no copy between host and device on the way to place */
PETSC_INTERN PetscErrorCode BCRVecsGetArrays(Vec x, Vec y, const PetscScalar **f, PetscScalar **u, BCRVecPlace *place);
PETSC_INTERN PetscErrorCode BCRVecsRestoreArrays(Vec x, Vec y, const PetscScalar **f, PetscScalar **u);
