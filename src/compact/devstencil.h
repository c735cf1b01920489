/*
  A banded operator over ranks whose fields are on CUDA devices: stencil.h there, with the same rows
  and messages, these by a BCRTransport.
*/
#pragma once

#include "stencil.h"
#include "../base/device.h"
#include "../transport/transport.h"

typedef struct _n_BCRDeviceStencil *BCRDeviceStencil;
/* stencil: not owned, used as long as this lives; transport: of the same ranks, NULL on one */
PETSC_INTERN PetscErrorCode BCRDeviceStencilCreate(BCRStencil stencil, BCRTransport transport, BCRStream stream,
                                                   BCRDeviceStencil *device);
/* u = band f in steps: planes for others are packed; sent, which is where the host may wait; the
   rows that need nothing from others, before or after that; the other rows. Planes go on a stream
   of their own. u is not f */
PETSC_INTERN PetscErrorCode BCRDeviceStencilPack(BCRDeviceStencil device, BCRStream stream, const PetscReal *f);
PETSC_INTERN PetscErrorCode BCRDeviceStencilExchange(BCRDeviceStencil device);
PETSC_INTERN PetscErrorCode BCRDeviceStencilInner(BCRDeviceStencil device, BCRStream stream, const PetscReal *f,
                                                  PetscReal *u);
PETSC_INTERN PetscErrorCode BCRDeviceStencilEdges(BCRDeviceStencil device, BCRStream stream, const PetscReal *f,
                                                  PetscReal *u);
PETSC_INTERN PetscErrorCode BCRDeviceStencilDestroy(BCRDeviceStencil *device);
