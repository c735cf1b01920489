/*
  Three dimensions on a CUDA device with sine transforms along two axes and lines along the third: a plan of device.c
  (docs/method.md, section 7) for Dirichlet ends and n + 1 = 128, 256 or 512 along the transformed axes.
*/
#pragma once

#include "device.h"

typedef struct _n_BCRDeviceBox *BCRDeviceBox;

/* *box = NULL: not for these axes. lambda, norm: eigenvalues and factors of each axis' transform
   (kept by the caller) */
PETSC_INTERN PetscErrorCode BCRDeviceBoxCreate(PetscInt dim, const BCRAxis axis[], double *const lambda[],
                                               double *const norm[], const ptrdiff_t stride[], PetscBool single,
                                               BCRStream stream, BCRDeviceBox *box);
/* whether planes are solved on chip, else they are gone over twice */
PETSC_INTERN PetscBool BCRDeviceBoxOnChip(BCRDeviceBox box);
/* for a shift and a factor of the solution; *ok = PETSC_FALSE: not for this shift */
PETSC_INTERN PetscErrorCode BCRDeviceBoxSetUp(BCRDeviceBox box, double shift, double factor, PetscBool *ok);
PETSC_INTERN PetscErrorCode BCRDeviceBoxSolve(BCRDeviceBox box, BCRStream stream, const void *f, void *u);
/* A box that goes on at the open ends of axis along on other ranks, as BCRDeviceCoreCreateBorder()
   has it; a: coupling of rows along it */
PETSC_INTERN PetscErrorCode BCRDeviceBoxCreateBorder(const BCRAxis axis[], double *const lambda[], double *const norm[],
                                                     const ptrdiff_t stride[], PetscBool single, PetscInt along,
                                                     const PetscBool open[2], BCRStream stream, BCRDeviceBox *box);
PETSC_INTERN PetscErrorCode BCRDeviceBoxBorderBegin(BCRDeviceBox box, BCRStream stream, const void *f, void *u,
                                                    double *own, double *left);
PETSC_INTERN PetscErrorCode BCRDeviceBoxBorderEnd(BCRDeviceBox box, BCRStream stream, void *u, const double *own,
                                                  const double *before);
/* The same with the reduced systems in it, BCRDeviceCoreBorderLines(). w: what goes between ranks
   is stored there and waited for, or NULL; then planes can stay on chip */
PETSC_INTERN PetscErrorCode BCRDeviceBoxReducedBegin(BCRDeviceBox box, BCRStream stream, const void *f, void *u,
                                                     double *own, double *left, const BCRCudaBorderRows *rows, int part,
                                                     const BCRCudaWindow *w);
PETSC_INTERN PetscErrorCode BCRDeviceBoxReducedPlanes(BCRDeviceBox box, BCRStream stream, void *u,
                                                      const BCRCudaBorderRows *rows, const double *received, int part,
                                                      const BCRCudaWindow *w);
PETSC_INTERN PetscErrorCode BCRDeviceBoxReducedEnd(BCRDeviceBox box, BCRStream stream, void *u);
PETSC_INTERN PetscErrorCode BCRDeviceBoxDestroy(BCRDeviceBox *box);
/* plan, workspace, tables, flops */
PETSC_INTERN PetscErrorCode BCRDeviceBoxGetInfo(BCRDeviceBox box, const char label[], BCRCoreInfo *info);
