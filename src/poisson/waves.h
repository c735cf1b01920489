/*
  The box of an operator of either sign, or with a complex shift (Helmholtz): (Tx (+) Ty (+) Tz + shift + i tau) u = f on
  the host (on a CUDA device plan SPECTRAL has it), with

      level 0 as of a definite box, with pivoting in the lines over the separators      where its groups are definite,
      transforms along all axes but one, a tridiagonal line with pivoting along that for each mode      or
      transforms along all axes, a division by the eigenvalue of each mode:

  the last where the line is periodic, for products of axes, and where eigenvalues are zero to BCR_MODES_LEAST: such modes are left out of
  right-hand side and solution, and what was left out is told. Planes that are not coupled (BCRAxesApart()) have their own
  eigenvalues, without a transform across them, and each is measured by its own size. On ranks lines are along the slabs' axis, and whole lines
  are brought together on one rank: elimination inside slabs would meet blocks that are singular though the box is not.
*/
#pragma once

#include "pairs.h"
#include "../operator/product.h"

/* What is left out of a right-hand side is told as an error of the solution where its backward error is larger */
#define BCR_WAVES_TOLD (4096 * PETSC_MACHINE_EPSILON)

typedef struct _n_BCRWaves *BCRWaves;

typedef struct {
  MPI_Comm comm;          /* MPI_COMM_NULL: no ranks */
  PetscInt axis;          /* of the slabs */
  PetscInt first, m;      /* rows of this rank along it; m may be 0 */
  PetscInt dim;           /* 1 to 3 */
  const BCRAxis *axes;    /* [dim], of the whole box, without planes and weights */
  const PetscReal *mixed; /* products of axes with a complex shift, as in BCRCoreCreateProduct(); NULL: none */
  double shift, tau;
  const BCRCoreOptions *options;
  BCRPairs
    *pairs; /* vectors are boxes of complex numbers: gets what solves them as they are, or NULL; NULL: they are not */
} BCRWavesSpec;

typedef struct {
  double negative; /* modes whose eigenvalue has a negative real part, but those that are left out */
  double least;    /* smallest |eigenvalue|, over the operator's size */
  double left;     /* modes that are left out */
  double
    removed; /* of right-hand sides since BCRWavesForget(), the largest part that was left out, relative to all of it */
  double backward;  /* and what it is as a backward error */
  char plan[256];   /* in words */
  size_t workspace; /* bytes */
  size_t tables;
  double flops; /* of one solve of a pair (tau != 0), or of one field */
  size_t sent;  /* bytes to other ranks in one such solve, */
  size_t messages;
} BCRWavesInfo;

/* Collective, as all but GetInfo and Destroy. With *pairs, the caller's from then on, there is no BCRWavesSolve() */
PETSC_INTERN PetscErrorCode BCRWavesCreate(const BCRWavesSpec *spec, BCRWaves *waves);
/* u = factor (...)^-1 f: u[0] + i u[1], packed boxes of this rank, lower axes first; the second is NULL where tau is zero.
   u may be f */
PETSC_INTERN PetscErrorCode BCRWavesSolve(BCRWaves waves, double factor, const double *const f[2], double *const u[2]);
PETSC_INTERN PetscErrorCode BCRWavesForget(BCRWaves waves);
PETSC_INTERN PetscErrorCode BCRWavesGetInfo(BCRWaves waves, BCRWavesInfo *info);
PETSC_INTERN PetscErrorCode BCRWavesDestroy(BCRWaves *waves);
