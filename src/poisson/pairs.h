/*
  Boxes of complex numbers as they lie in memory, real and imaginary part side by side, by level 0 (level0.h, "Pairs") and
  complex lines over the separators: (Tx (+) Ty (+) Tz + shift + i tau) u = f on uniform axes, on the host, on one rank, in
  double precision. docs/method.md, section 17.
*/
#pragma once

#include "core.h"

typedef struct _n_BCRPairs *BCRPairs;

typedef struct {
  char plan[256]; /* in words */
  size_t workspace, tables;
  double flops;
} BCRPairsInfo;

/* stride[d]: complex numbers between neighbours of f and u, stride[0] = 1. *pairs = NULL: they are not for this box, which
   is one where the shift leaves a group of rows that is hardly definite and has hardly an imaginary part, or a ring, or small */
PETSC_INTERN PetscErrorCode BCRPairsCreate(PetscInt dim, const BCRAxis axis[], double shift, double tau,
                                           const PetscInt stride[], const BCRCoreOptions *options, BCRPairs *pairs);
/* u = factor (...)^-1 f; u may be f. Another factor than that of the last solve costs the tables */
PETSC_INTERN PetscErrorCode BCRPairsSolve(BCRPairs pairs, double factor, const double *f, double *u);
PETSC_INTERN PetscErrorCode BCRPairsGetInfo(BCRPairs pairs, BCRPairsInfo *info);
PETSC_INTERN PetscErrorCode BCRPairsDestroy(BCRPairs *pairs);
