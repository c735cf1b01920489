/*
  Launches of a solve as a CUDA graph.
*/
#pragma once

#include "device.h"

/* Solves as CUDA graphs, one for each of the last few arguments (pointers, mostly) that they came with */
#define BCR_DEVICE_GRAPHS 4
typedef struct {
  BCRStream side; /* for capturing */
  PetscBool off, failed;
  long clock;
  PetscInt launched; /* how many solves were graphs */
  int nodes[4];      /* of the last graph: kernels, memory set, copies on the device, anything else */
  struct {
    char key[64];
    size_t bytes;
    long used;
    PetscBool ready;
    void *exec;
  } graph[BCR_DEVICE_GRAPHS];
} BCRDeviceGraphs;
/* what launch(context, stream) launches, which depends on nothing but the key (and on what
   BCRDeviceGraphsReset() is called after) */
PETSC_INTERN PetscErrorCode BCRDeviceGraphsRun(BCRDeviceGraphs *graphs, BCRStream stream, const void *key, size_t bytes,
                                               PetscErrorCode (*launch)(void *context, BCRStream stream),
                                               void *context);
PETSC_INTERN PetscErrorCode BCRDeviceGraphsReset(BCRDeviceGraphs *graphs);
PETSC_INTERN PetscErrorCode BCRDeviceGraphsDestroy(BCRDeviceGraphs *graphs);
