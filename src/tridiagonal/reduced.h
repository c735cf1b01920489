/*
  The reduced system over ranks: nsys tridiagonal systems whose rows are spread over the ranks of a communicator, a few rows of each
  system on each rank. Lines across ranks (Mattor's method, paper 002 section 3.3) leave two rows per rank, Poisson slabs (DESIGN 7)
  one row per rank boundary, and both come here. Nothing is gathered to one rank: systems that couple far are shared out among the ranks
  (one all-to-all of their rows, and one back); a system, or a stretch of one, whose couplings are below rounding needs at most its
  neighbours. Which is which is decided per system at set-up from the coefficients and eps.

  Row r of this rank (0 <= r < rows) of system s: low[r*nsys+s] x_before + diag[r*nsys+s] x + up[r*nsys+s] x_after = g[r*nsys+s].
  x_before of the first row lies on the nearest rank before that has rows, and so on; periodic: the ends meet.
*/
#pragma once

#include "tridiagonal.h"

typedef struct _n_BCRReduced *BCRReduced;

typedef struct {
  PetscInt  neighbour; /* systems solved with neighbours alone, on all ranks of comm */
  PetscInt  shared;    /* systems shared out */
  PetscReal lost;      /* largest relative coupling left out */
  size_t    bytes_sent, messages; /* by this rank in one solve */
  size_t    workspace;
} BCRReducedInfo;

/* collective; rows may differ from rank to rank and be 0. eps: couplings whose effect is below eps relative may be left out; 0: none.
   coupling: AUTO by eps; NEIGHBOUR: an error where that would lose more than eps, with the digits; REDUCED: share all out. */
PETSC_INTERN PetscErrorCode BCRReducedCreate(MPI_Comm comm, PetscInt nsys, PetscInt rows, const double *low, const double *diag, const double *up, PetscBool periodic, PetscReal eps, BCRTriCoupling coupling, BCRReduced *reduced);
/* nvec: values per system (2 for complex scalars, more for several right-hand sides; at most the nvec of BCRReducedSetVectors, default 1),
   g[(r*nsys + s)*nvec + v]. Begin starts the exchange and may return before it is over; x as g; before and after (or NULL): the
   values x_before of the first row and x_after of the last row, [s*nvec + v], also on ranks without rows (nearest rows before and after). */
PETSC_INTERN PetscErrorCode BCRReducedSetVectors(BCRReduced reduced, PetscInt nvec);
PETSC_INTERN PetscErrorCode BCRReducedSolveBegin(BCRReduced reduced, const double *g);
PETSC_INTERN PetscErrorCode BCRReducedSolveEnd(BCRReduced reduced, double *x, double *before, double *after);
PETSC_INTERN PetscErrorCode BCRReducedGetInfo(BCRReduced reduced, BCRReducedInfo *info);
PETSC_INTERN PetscErrorCode BCRReducedDestroy(BCRReduced *reduced);
