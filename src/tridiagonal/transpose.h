/*
  Rows here, systems there: every rank has a few rows of all systems, and gets all rows of its share
  of the systems. Shares are contiguous and of multiples of 8 systems as far as there are enough:
  whole cache lines, and fewer messages than ranks where there is little to share.

  Side of the rows, a block for each rank q, [sysoff[q]*mine ...]: row r of system s of the share at
  (sysoff[q]*mine + r*nsys[q] + s)*nvec. Side of the shares: row rowoff[p] + r, r < rows[p], at
  (row*ns + s)*nvec.
*/
#pragma once

#include "../base/petscbcrimpl.h"

typedef struct {
  MPI_Comm comm;
  PetscMPIInt rank, size;
  PetscInt total, ns, nvec, mine; /* systems, those of this rank's share, values for each, rows of this rank */
  PetscInt nrows;                 /* on the side of the shares, gaps included */
  PetscMPIInt *nsys, *sysoff;     /* shares of all ranks */
  PetscMPIInt *rows, *rowoff;
  PetscMPIInt *side, *share; /* counts of both sides without those to itself */
  MPI_Datatype types[2];     /* all rows of a system here; a row of all systems of the share */
  PetscBool typed;
  size_t bytes[2], messages[2]; /* sent to other ranks, forward and back */
} BCRTranspose;

/* nsys[p], sysoff[p]: share of rank p of total systems */
PETSC_INTERN void BCRTransposeShare(PetscInt total, PetscMPIInt size, PetscMPIInt p, PetscInt *nsys, PetscInt *sysoff);
/* rows, rowoff: [size], copied; nrows: rows the side of the shares has */
PETSC_INTERN PetscErrorCode BCRTransposeCreate(MPI_Comm comm, PetscInt total, const PetscInt *rows,
                                               const PetscInt *rowoff, PetscInt nrows, PetscInt nvec, BCRTranspose *t);
/* starts an exchange: forward (rows to shares) or back; here: side of the rows, there: side of the shares */
PETSC_INTERN PetscErrorCode BCRTransposeBegin(const BCRTranspose *t, PetscBool back, double *here, double *there,
                                              MPI_Request *request);
/* between g, row r of system index[s] (NULL: s) at (r*stride + index[s])*nvec, and the side of the
   rows, in which it is row first + r */
PETSC_INTERN void BCRTransposePack(const BCRTranspose *t, PetscInt first, PetscInt rows, PetscInt stride,
                                   const PetscInt *index, const double *g, double *here);
PETSC_INTERN void BCRTransposeUnpack(const BCRTranspose *t, PetscInt first, PetscInt rows, PetscInt stride,
                                     const PetscInt *index, const double *here, double *x);
/* Between ranks that load from the memory of one another, in place of messages: all rows of this rank's share, here[p]: the
   side of the rows of rank p; */
PETSC_INTERN void BCRTransposeLoad(const BCRTranspose *t, const double *const here[], double *there);
/* and as BCRTransposeUnpack(), block[q]: this rank's rows, at rowoff, on the side of the shares of rank q */
PETSC_INTERN void BCRTransposeUnpackFrom(const BCRTranspose *t, PetscInt first, PetscInt rows, PetscInt stride,
                                         const PetscInt *index, const double *const block[], double *x);
PETSC_INTERN PetscErrorCode BCRTransposeDestroy(BCRTranspose *t);
