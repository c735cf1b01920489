/*
  Right-hand side and lines of a compact derivative in one pass over the field, lines that are cut
  by ranks with CUDA devices.

  The recurrences' roots are small: what is carried over from one rank to the next comes from the
  next rows alone, y from the last rows of the rank before, u from the first of the one behind and
  from y before it. Each rank sends these two sums of its own rows, and with them the planes that
  the others' stencils want: one message to each neighbour and nothing else.
*/
#pragma once

#include "../base/petscbcrimpl.h"
#include "../backend/cuda/compact.h"
#include "../transport/transport.h"

typedef struct _n_BCRDevicePass *BCRDevicePass;
/* Every rank has rows of its own beyond what the roots reach, in the order of the ranks. pass:
   those of this rank; where it has neighbours it is cut there, its ends are what is left */
PETSC_INTERN PetscErrorCode BCRDevicePassCreate(MPI_Comm comm, PetscBool periodic, BCRCudaCompact *pass,
                                                BCRTransport transport, BCRStream stream, BCRDevicePass *device);
/* The exchange, on a stream of its own; the host may wait in it. Where the kernel exchanges, nothing */
PETSC_INTERN PetscErrorCode BCRDevicePassBegin(BCRDevicePass device, BCRStream stream, const PetscReal *f);
/* After that the derivative of the same f */
PETSC_INTERN PetscErrorCode BCRDevicePassEnd(BCRDevicePass device, BCRStream stream, const PetscReal *f, PetscReal *u);
PETSC_INTERN PetscErrorCode BCRDevicePassGetInfo(BCRDevicePass device, PetscInt *messages, size_t *bytes_sent,
                                                 size_t *workspace);
PETSC_INTERN PetscErrorCode BCRDevicePassDestroy(BCRDevicePass *device);
