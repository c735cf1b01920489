/*
  Block cyclic reduction of a given radix or schedule on a CUDA device (docs/method.md, section 3).
*/
#pragma once

#include "reduction.h"
#include "../base/device.h"
#include "../backend/cuda/lines.h"
#include "../backend/cuda/reduction.h"

typedef struct {
  BCRReductionSpec reduction;
  const ptrdiff_t *stride; /* [dim] */
  PetscInt nboxes;         /* that a solve may take at once: planes of two dimensions; dim 3: 1 */
  PetscBool singular;      /* a solve may have the shift 0 of a singular operator */
  /* lines along axis 0, solved by elimination where they are periodic or have coefficients of their own */
  const BCRCudaLineRows *rows;
  int sharedbytes; /* of shared memory that a block has */
  /* launch parameters, 0: the fastest known */
  int threads;    /* that solve a line by scalar cyclic reduction */
  int sharedrows; /* of a line that are in shared memory */
  int terms;      /* of a sub-sum of solutions */
} BCRDeviceReductionSpec;

typedef struct _n_BCRDeviceReduction *BCRDeviceReduction;

/* Tables and workspace come from the two arenas and die with them */
PETSC_INTERN PetscErrorCode BCRDeviceReductionCreate(const BCRDeviceReductionSpec *spec, BCRStream stream,
                                                     BCRDeviceArena *tables, BCRDeviceArena *space,
                                                     BCRDeviceReduction *red);
/* In place. shift: [nboxes], on the device; pinned: the box with the shift 0 of a singular operator, -1: none is */
PETSC_INTERN PetscErrorCode BCRDeviceReductionSolve(BCRDeviceReduction red, BCRStream stream, void *u, PetscInt nboxes,
                                                    ptrdiff_t boxstride, const double *shift, PetscInt pinned);
/* of a solve of one box */
PETSC_INTERN BCRReductionCost BCRDeviceReductionGetCost(BCRDeviceReduction red);
PETSC_INTERN PetscErrorCode BCRDeviceReductionDestroy(BCRDeviceReduction *red);
