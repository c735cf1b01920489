/*
  One rank's batch of lines on a CUDA device from the inside: what a method there fills.

  A method is a table of operations, as BCRTriOps is on the host. create() reads spec (the arrays are
  the caller's: valid in create() only), copies the tables that the method's host file makes to
  d->tables and keeps a structure of its own in d->data, which is freed with the batch; solve()
  launches on the stream and does nothing else.
*/
#pragma once

#include "device.h"

typedef struct {
  PetscErrorCode (*create)(BCRTriDevice, const BCRTriSpec *spec);
  PetscErrorCode (*solve)(BCRTriDevice, BCRStream, const PetscReal *f, PetscReal *u);
  /* lines that go on on other ranks, in one kernel that waits for them; NULL: none */
  PetscBool (*waits)(BCRTriDevice);
  PetscErrorCode (*solve_ranks)(BCRTriDevice, const BCRCudaScanRanks *ranks, BCRStream, const PetscReal *f,
                                PetscReal *u);
} BCRTriDeviceOps;

PETSC_INTERN const BCRTriDeviceOps BCRTriDeviceScan, BCRTriDeviceCR, BCRTriDevicePScheme, BCRTriDeviceDC,
  BCRTriDeviceThomas;

struct _n_BCRTriDevice {
  const BCRTriDeviceOps *ops;
  BCRTriSpec spec;       /* after create without the arrays */
  BCRTriOptions options; /* method: the one used */
  BCRTriInfo info;
  PetscInt sets;    /* of coefficients: 1 or one for each line */
  int single, io;   /* work in float; on fields of double */
  int shared;       /* bytes of shared memory that a block can have */
  BCRStream stream; /* of set-up, and of fields of the host */
  BCRDeviceArena tables, space, staging;
  PetscReal *stage; /* a field of the host */
  void *data;       /* the method's */
};

/* n numbers to the device: in the work type, or in double */
static inline PetscErrorCode BCRTriDevicePutWork(BCRTriDevice d, size_t n, const double v[], const void *p)
{
  PetscFunctionBegin;
  PetscCall(BCRDeviceArenaPut(&d->tables, d->stream, (PetscBool)d->single, (PetscInt)n, v, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode BCRTriDevicePut(BCRTriDevice d, size_t n, const double v[], const void *p)
{
  PetscFunctionBegin;
  PetscCall(BCRDeviceArenaPut(&d->tables, d->stream, PETSC_FALSE, (PetscInt)n, v, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}
