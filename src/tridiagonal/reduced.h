/*
  The reduced system over ranks: nsys tridiagonal systems whose rows are spread over the ranks of a
  communicator, a few rows of each system on each rank. Lines across ranks (Mattor's method, paper
  002 section 3.3) leave two rows per rank, Poisson slabs (docs/ranks.md) one row per rank boundary,
  and both come here. Nothing is gathered to one rank: systems that couple far are shared out among
  the ranks (one all-to-all of their rows, and one back); a system whose couplings fall below eps
  often enough for its pieces to lie on one rank or two neighbours needs a message to each neighbour
  only. Which is which is decided per system at set-up from the coefficients.

  Row r of this rank (0 <= r < rows) of system s: low[r*nsys+s] x_before + diag[r*nsys+s] x +
  up[r*nsys+s] x_after = g[r*nsys+s]. x_before of the first row lies on the nearest rank before that
  has rows, and so on; periodic: the ends meet.
*/
#pragma once

#include "tridiagonal.h"

typedef struct _n_BCRReduced *BCRReduced;

/* what a solve takes and gives besides the own rows: every bit costs one more value per system in the messages */
/* gives the value before the first row, also on ranks without rows (the nearest row before) */
#define BCR_REDUCED_BEFORE 1
#define BCR_REDUCED_AFTER  2 /* gives the value after the last row, likewise */
/* takes what this rank adds to the right-hand side of the nearest row before its own */
#define BCR_REDUCED_ADD 4

typedef struct {
  PetscInt neighbour;          /* systems solved with neighbours alone, on all ranks of comm */
  PetscInt shared;             /* systems shared out */
  PetscReal lost;              /* largest relative effect of a coupling left out, BCRChainsCuts() */
  size_t bytes_sent, messages; /* by this rank in one solve, to other ranks */
  size_t loaded;               /* bytes that this rank loads from memory of others in one solve */
  const char *refused;         /* why not, where that was wanted and all are on one computer; NULL */
  size_t workspace;            /* bytes: tables and buffers */
} BCRReducedInfo;

/* The systems. rows may differ from rank to rank and be 0, all else is the same on all ranks */
typedef struct {
  PetscInt nsys, rows;
  const double *low, *diag, *up; /* [rows][nsys], read in BCRReducedCreate() only */
  PetscBool periodic;
  PetscInt flags; /* BCR_REDUCED_BEFORE, ... */
  PetscReal eps;  /* couplings whose effect is below eps, relative, may be left out; 0: only those that are 0 */
  /* AUTO: by eps; NEIGHBOUR: an error where that would lose more than eps, with the digits; REDUCED: share all out */
  BCRTriCoupling coupling;
  /* AUTO, all ranks on one computer whose MPI has windows: all are shared out through memory that the ranks share */
  PetscBool memory;
} BCRReducedSpec;
/* Collective. What differs between ranks, and an unusable pivot (PETSC_ERR_MAT_LU_ZRPVT), is an error on every rank */
PETSC_INTERN PetscErrorCode BCRReducedCreate(MPI_Comm comm, const BCRReducedSpec *spec, BCRReduced *reduced);
/* nvec: values per system (2 for complex scalars, more for several right-hand sides; default 1), collective, allocates
   the buffers. g[(r*nsys + s)*nvec + v], add[s*nvec + v] (with BCR_REDUCED_ADD, else NULL). Begin starts the exchange;
   x as g; before and after (NULL without the flags): [s*nvec + v], 0 where a system that is not periodic has no such
   row. Begin and End are collective. */
PETSC_INTERN PetscErrorCode BCRReducedSetVectors(BCRReduced reduced, PetscInt nvec);
PETSC_INTERN PetscErrorCode BCRReducedSolveBegin(BCRReduced reduced, const double *g, const double *add);
PETSC_INTERN PetscErrorCode BCRReducedSolveEnd(BCRReduced reduced, double *x, double *before, double *after);
PETSC_INTERN PetscErrorCode BCRReducedGetInfo(BCRReduced reduced, BCRReducedInfo *info);
PETSC_INTERN PetscErrorCode BCRReducedDestroy(BCRReduced *reduced);
