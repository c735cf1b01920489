/*
  Three dimensions on a CUDA device with sine transforms along two axes and lines along the third: plans BOX and BOX_PASSES
  (docs/method.md, section 7), for Dirichlet ends and n + 1 = 128, 256 or 512 along the transformed axes; planes on chip also
  with cosine transforms, for node-centred Neumann ends and n - 1 = 128 or 256.
*/
#pragma once

#include "../device.h"
#include "../plancuda.h"

typedef struct _n_BCRDeviceBox *BCRDeviceBox;

/* By the plan, which the caller keeps */
PETSC_INTERN PetscErrorCode BCRDeviceBoxCreate(BCRPlan plan, BCRStream stream, BCRDeviceBox *box);
/* tables for the plan's shift and a factor of the solution; of a singular operator, else NULL: BCRCudaBoxPlanes */
PETSC_INTERN PetscErrorCode BCRDeviceBoxSetUp(BCRDeviceBox box, double factor, double *removed,
                                              const BCRCudaPlaneMean *mean);
PETSC_INTERN PetscInt BCRDeviceBoxBlocks(BCRDeviceBox box); /* of a plane, BCRCudaBoxBlocks() */
/* the stages: the transform first and last (mean: BCRCudaBoxPass), the planes in place */
PETSC_INTERN PetscErrorCode BCRDeviceBoxColumns(BCRDeviceBox box, BCRStream stream, const void *f, void *u,
                                                const double *mean);
PETSC_INTERN PetscErrorCode BCRDeviceBoxPlanes(BCRDeviceBox box, BCRStream stream, void *u);
/* A box that goes on at open ends on other ranks, as BCRDeviceCoreCreateBorder() has it */
PETSC_INTERN PetscErrorCode BCRDeviceBoxBorderBegin(BCRDeviceBox box, BCRStream stream, const void *f, void *u,
                                                    double *interface, double *previous);
PETSC_INTERN PetscErrorCode BCRDeviceBoxBorderEnd(BCRDeviceBox box, BCRStream stream, void *u, const double *interface,
                                                  const double *before);
/* The same with the reduced systems in it, BCRDeviceCoreBorderLines(). w: what goes between ranks
   is stored there and waited for, or NULL; then planes can stay on chip */
PETSC_INTERN PetscErrorCode BCRDeviceBoxReducedBegin(BCRDeviceBox box, BCRStream stream, const void *f, void *u,
                                                     double *interface, double *previous, const BCRCudaBorderRows *rows,
                                                     int part, const BCRCudaWindow *w);
PETSC_INTERN PetscErrorCode BCRDeviceBoxReducedPlanes(BCRDeviceBox box, BCRStream stream, void *u,
                                                      const BCRCudaBorderRows *rows, const double *received, int part,
                                                      const BCRCudaWindow *w);
PETSC_INTERN PetscErrorCode BCRDeviceBoxReducedEnd(BCRDeviceBox box, BCRStream stream, void *u);
PETSC_INTERN PetscErrorCode BCRDeviceBoxDestroy(BCRDeviceBox *box);
PETSC_INTERN size_t BCRDeviceBoxTables(BCRDeviceBox box); /* bytes */
