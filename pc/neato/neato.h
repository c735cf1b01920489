/*
  PCNEATO inside: options.c reads what the user wants, setup.c makes a solver of the lines, apply.c
  solves, view.c says what there is; interface.c has the users' functions.
*/
#pragma once

#include <petscbcr.h>
#include "../options.h"
#include "../otherwise.h"
#include "../place.h"
#include "../shared.h"
#include "../../src/base/agree.h"
#include "../../src/register.h"
#include "../../src/operator/lines.h"

typedef struct {
  BCROptionsOwner owner; /* first */

  /* what the user asks for: options.c */
  PCNeatoAxis axis;
  PCNeatoMethod method;
  PCNeatoVariant variant;
  PetscInt parts; /* 0: automatic */
  PCNeatoMemory memory;
  PCNeatoCoupling coupling;
  PCNeatoTransport transport;
  PCNeatoBackend backend;
  PCNeatoPrecision precision;
  BCRPlaceOptions placing; /* the grid of a matrix without a DMDA */
  BCROtherwise otherwise;  /* where there is no grid, or there are no lines of ours */
  PetscEnum isa;           /* index into BCRInstructionSets */

  /* what set-up made of it */
  BCRPlace place; /* which node of which grid each row is */
  BCRTriOptions options;
  BCRLines lines;
  BCRTri tri;
  BCRTriInfo info;
  PetscBool switched;              /* backend auto: the solver has moved to where the vectors are */
  PetscBool transposed, symmetric; /* known; and then the same lines */
  BCRTri transpose;                /* made when first applied */
  PetscInt columns;                /* of the last PCMatApply() */
  BCRTri many;                     /* solves that many right-hand sides at once; NULL: one by one */
} PC_Neato;

/* options.c */
PETSC_INTERN const BCROptions BCRNeatoOptions;
/* setup.c */
PETSC_INTERN PetscErrorCode PCSetUp_Neato(PC pc);
PETSC_INTERN PetscErrorCode PCReset_Neato(PC pc);
/* Sets up with what these vectors say about the grid, if it takes that */
PETSC_INTERN PetscErrorCode BCRNeatoSetUpWith(PC pc, Vec b, Vec x);
/* The solver of the lines where neato->options say */
PETSC_INTERN PetscErrorCode BCRNeatoMakeSolver(PC pc);
PETSC_INTERN PetscErrorCode BCRNeatoResetSolvers(PC_Neato *neato);
/* apply.c */
PETSC_INTERN PetscErrorCode PCApply_Neato(PC pc, Vec x, Vec y);
PETSC_INTERN PetscErrorCode PCApplyTranspose_Neato(PC pc, Vec x, Vec y);
PETSC_INTERN PetscErrorCode PCMatApply_Neato(PC pc, Mat X, Mat Y);
#if PETSC_VERSION_GE(3, 24, 0)
PETSC_INTERN PetscErrorCode PCMatApplyTranspose_Neato(PC pc, Mat X, Mat Y);
#endif
PETSC_INTERN PetscErrorCode PCPreSolve_Neato(PC pc, KSP ksp, Vec b, Vec x);
PETSC_INTERN PetscErrorCode PCPostSolve_Neato(PC pc, KSP ksp, Vec b, Vec x);
/* view.c */
PETSC_INTERN PetscErrorCode PCView_Neato(PC pc, PetscViewer viewer);
