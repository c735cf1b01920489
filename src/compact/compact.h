/*
  A compact derivative along the lines of a field over ranks: stencil, then tridiagonal lines. No PETSc objects.
*/
#pragma once

#include "scheme.h"
#include "stencil.h"
#include "../tridiagonal/tridiagonal.h"
#include "../backend/cuda/compact.h"

/* the right-hand side stencils of a scheme on lines of n points with spacing h */
PETSC_INTERN PetscErrorCode BCRCompactGetBand(const BCRCompactScheme *s, PetscInt n, PetscBool periodic, PetscReal h,
                                              BCRBand *band);

typedef struct _n_BCRCompact *BCRCompact;
typedef struct {
  PetscInt n; /* points of the whole lines */
  PetscBool periodic;
  PetscReal h;                       /* from a point to the next */
  PetscInt inner, local, outer, rep; /* points of this rank, local of each line, as in BCRTriSpec */
} BCRCompactSpec;
/* Collective over comm, the ranks along the lines in their order */
PETSC_INTERN PetscErrorCode BCRCompactCreate(MPI_Comm comm, const BCRCompactScheme *s, const BCRCompactSpec *spec,
                                             const BCRTriOptions *options, BCRCompact *compact);
/* d = derivative of f, in two steps: start the messages; right-hand side and lines. Cancel instead
   of the second: wait for the messages. Nothing is allocated */
PETSC_INTERN PetscErrorCode BCRCompactBegin(BCRCompact compact, const PetscReal *f);
PETSC_INTERN PetscErrorCode BCRCompactEnd(BCRCompact compact, const PetscReal *f, PetscReal *d);
PETSC_INTERN PetscErrorCode BCRCompactCancel(BCRCompact compact);
/* the transpose, f = B^T A^-T d; its tables are made when it is called first */
PETSC_INTERN PetscErrorCode BCRCompactApplyTranspose(BCRCompact compact, const PetscReal *d, PetscReal *f);
/* The same where options->device is set, which take the place of those above: arrays of the device
   (BCRCompactStage() for others), d is not f; nothing is waited for but messages that do not go by
   NCCL. End without Begin does both. Cancel forgets a Begin. */
PETSC_INTERN PetscErrorCode BCRCompactBeginDevice(BCRCompact compact, void *stream, const PetscReal *f);
PETSC_INTERN PetscErrorCode BCRCompactEndDevice(BCRCompact compact, void *stream, const PetscReal *f, PetscReal *d);
PETSC_INTERN PetscErrorCode BCRCompactCancelDevice(BCRCompact compact);
PETSC_INTERN PetscErrorCode BCRCompactApplyTransposeDevice(BCRCompact compact, void *stream, const PetscReal *d,
                                                           PetscReal *f);
/* For tests and benches: right-hand side and lines in one pass over the field, where that is how it is done */
PETSC_INTERN PetscErrorCode BCRCompactGetPass(BCRCompact compact, const BCRCudaCompact **pass);
/* Two arrays of the device for fields of the host, which are brought there (f, or NULL) and back (d, or NULL); waits */
PETSC_INTERN PetscErrorCode BCRCompactStage(BCRCompact compact, void *stream, const PetscReal *f, PetscReal *d,
                                            PetscReal *stage[2]);

typedef struct {
  PetscInt messages; /* of the right-hand side, sent by this rank */
  size_t bytes_sent; /* right-hand side */
  size_t workspace;
  double flops;
  BCRTriInfo lines;
} BCRCompactInfo;
PETSC_INTERN PetscErrorCode BCRCompactGetInfo(BCRCompact compact, BCRCompactInfo *info);
PETSC_INTERN PetscErrorCode BCRCompactDestroy(BCRCompact *compact);
