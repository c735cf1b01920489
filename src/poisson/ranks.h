/*
  The box of a core whose block rows are spread over ranks: slabs along one axis. docs/ranks.md.

  The last row of each rank but the last is an interface row (periodic axes: of the last rank too).
  What lies between two interfaces is eliminated by a rank on its own; in the eigenbasis of the
  other axes the interface rows then are one tridiagonal system over the ranks for each mode
  (src/tridiagonal/reduced.h).
*/
#pragma once

#include "core.h"

typedef struct { /* a rank that has rows */
  PetscMPIInt rank;
  PetscInt first, m;
  PetscInt interior; /* rows but the interface row */
  PetscBool has;     /* an interface row */
} BCRSlabPart;

/* slabrows.c: the rows of the slabs' axis and who has them. Row i is (excess + low + up) u_i - low
   u_(i-1) - up u_(i+1) */
typedef struct {
  PetscInt n; /* rows on all ranks */
  PetscBool uniform, periodic;
  double *low, *up, *excess, *weight; /* weight: null vector of the transpose */
  PetscInt nparts, mine, prev, next;  /* -1: none */
  BCRSlabPart *part;
  PetscInt ninterface; /* of part 0, 1, ... */
} BCRSlabRows;
/* collective; x: the whole axis, with arrays that it does not keep */
PETSC_INTERN PetscErrorCode BCRSlabRowsCreate(MPI_Comm comm, PetscInt axis, PetscInt first, PetscInt m,
                                              const BCRAxis *x, BCRSlabRows *parts);
/* the whole axis becomes that of the rows between the interfaces of this rank; zero: an array to be
   freed with it; single: what a single row has along the axis, which then is none */
PETSC_INTERN PetscErrorCode BCRSlabRowsAxis(const BCRSlabRows *parts, BCRAxis *axis, PetscReal **zero, double *single);
/* the row of the interface of part p for a mode; ones (or NULL): what a right-hand side of ones becomes */
PETSC_INTERN void BCRSlabRowsInterface(const BCRSlabRows *parts, PetscInt p, double lambda, double *low, double *diag,
                                       double *up, double *ones);
PETSC_INTERN PetscErrorCode BCRSlabRowsDestroy(BCRSlabRows *parts);

typedef struct _n_BCRRanks *BCRRanks;

typedef struct {
  BCRCoreInfo core;            /* of this rank's core */
  char what[256];              /* how the ranks are coupled, in words */
  size_t bytes_sent, messages; /* by this rank in one solve */
  size_t workspace, tables;
  double flops;
} BCRRanksInfo;

/* Collective. axes: of the whole box, the same on all ranks; rows first .. first + m - 1 along axis
   are on this rank (m may be 0; ranks in order). stride: of f and u on this rank, elements,
   stride[0] = 1; singular, io, options: as in BCRCoreCreate(). halo: the calls below will be used.
   comm MPI_COMM_NULL: no ranks, just a core, and nothing here communicates. */
PETSC_INTERN PetscErrorCode BCRRanksCreate(MPI_Comm comm, PetscInt axis, PetscInt first, PetscInt m, PetscInt dim,
                                           const BCRAxis axes[], PetscReal shift, PetscBool singular,
                                           const PetscInt stride[], BCRPrecision io, const BCRCoreOptions *options,
                                           PetscBool halo, BCRRanks *ranks);
/* Collective; f and u: the rank's part of the box; u may be f. *removed is the same on all ranks */
PETSC_INTERN PetscErrorCode BCRRanksSolve(BCRRanks ranks, const void *f, void *u, PetscReal *removed);
PETSC_INTERN PetscErrorCode BCRRanksSetShift(BCRRanks ranks, PetscReal shift); /* collective */
PETSC_INTERN PetscErrorCode BCRRanksSetFactor(BCRRanks ranks, PetscReal factor);
PETSC_INTERN PetscErrorCode BCRRanksGetInfo(BCRRanks ranks, BCRRanksInfo *info);
/* of this rank's core, whose it stays; NULL: it has none */
PETSC_INTERN PetscErrorCode BCRRanksGetPlan(BCRRanks ranks, BCRPlan *plan);
PETSC_INTERN PetscErrorCode BCRRanksDestroy(BCRRanks *ranks);

/* The rows of v next to this rank's part of the box, packed (lower axis fastest): from the rank
   before (0) and after (1), NULL where the box ends. stride: of v. Collective over the ranks that
   have rows */
PETSC_INTERN PetscErrorCode BCRRanksHaloBegin(BCRRanks ranks, const PetscReal *v, const PetscInt stride[]);
PETSC_INTERN PetscErrorCode BCRRanksHaloEnd(BCRRanks ranks, const PetscReal *halo[2]);
/* MPI_Allreduce() in place over all ranks, where there are several */
PETSC_INTERN PetscErrorCode BCRRanksSum(BCRRanks ranks, MPI_Op op, int n, double v[]);

/*
  modes.c: the eigenbasis of the axes along an interface, for one row or plane at a time. Uniform
  axes by their transforms, a general one by its eigenvectors. Mode number i0 + n[0]*i1, as the
  nodes of the interface, the lower axis fastest.
*/
typedef struct _n_BCRModes *BCRModes;

/* axes: n of them, 0 to 2; one unknown: nothing is transformed. singular: the constant is an
   eigenvector of every axis */
PETSC_INTERN PetscErrorCode BCRModesCreate(PetscInt n, const BCRAxis axes[], PetscBool singular, int isa,
                                           BCRModes *modes);
/* size; eigenvalue and norm (synthesis of norm times analysis is the identity) of each mode;
   constant: number of the constant mode, -1: none */
PETSC_INTERN PetscErrorCode BCRModesGet(BCRModes modes, PetscInt *size, const double **lambda, const double **norm,
                                        PetscInt *constant);
/* direction: 0 analysis, 1 synthesis; in place */
PETSC_INTERN PetscErrorCode BCRModesApply(BCRModes modes, int direction, double v[]);
/* a general axis: analysis and synthesis, entry j of mode k at n k + j in both */
PETSC_INTERN PetscErrorCode BCRModesGetMatrices(BCRModes modes, PetscInt axis, const double **to, const double **from);
PETSC_INTERN PetscErrorCode BCRModesBytes(BCRModes modes, size_t *tables, double *flops);
PETSC_INTERN PetscErrorCode BCRModesDestroy(BCRModes *modes);
