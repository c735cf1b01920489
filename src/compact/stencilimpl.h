/* A stencil from the inside: what stencil.c sets up, and devstencil.c takes over to a device */
#pragma once

#include "stencil.h"
#include "../backend/cpu/cpu.h"

typedef struct { /* planes that travel together */
  PetscMPIInt rank;
  PetscInt plane, slot, planes; /* of my planes, from plane; or into the slots of my ghosts, from slot */
} BCRSegment;

struct _n_BCRStencil {
  PetscInt n, start, local, inner, outer, half, sign;
  /* ghost planes on either side; slot g holds point start - below + g, above ones follow */
  PetscInt below, above;
  PetscInt from, to; /* local rows that are inner rows on my own points */
  double c[4];       /* inner rows: c_0, c_1, ... */
  BCRBandRow *rows;  /* local rows before from and from to on, points counted from my first one */
  PetscInt nsend, nrecv, nself;
  BCRSegment *send, *self, *recv;
  PetscReal *out, *ghost; /* buffers: plane by plane, each outer times inner */
  MPI_Request *request;   /* nrecv receives, then nsend sends */
  const BCRCompactTable *table;
};
