/*
  PCBCRPOISSON inside: options.c reads what the user wants, user.c makes an operator of it, setup.c a solver, apply.c
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
#include "../../src/operator/read.h"
#include "../../src/operator/moves.h"
#include "../../src/operator/turndevice.h"
#include "../../src/poisson/capacitance.h"
#include "../../src/poisson/tune.h"
#include "../../src/poisson/waves.h"

/* Transforms mix grid lines, and with them the rounding of their right-hand sides: rows that are so
   much smaller than others of their line (a penalty holds an end) would have no more than ten
   digits. One step of refinement gives them theirs (R. D. Skeel, Math. Comp. 35, 1980). */
#define BCR_GRADED 1e6
/* The same for one row that is so much larger than the others: its solution is a difference of numbers of theirs */
#define BCR_GRADED_ROW 30
/* The right-hand sides of transposed systems are divided by a diagonal that makes the axis
   symmetric: the same for how much it varies */
#define BCR_SKEWED 4

/* Pieces of the matrix that take their constant to zero: ponds.c */
typedef struct {
  PetscBool known;         /* they have been looked for */
  PetscInt n, *row, *rows; /* [n] the first row of each, and how many it has */
  PetscInt *piece;         /* [rows of this rank] in which it is, -1: none */
  PetscScalar *sum, *mean; /* [n] of the last right-hand side; scratch */
  Vec rhs;                 /* without them */
} BCRPonds;

/* Rows of a box stencil beside sides that are apart: their entries there, and what gathers vectors of both; beside
   NULL: there are none */
typedef struct {
  IS g, p; /* rows beside the sides, rows of these */
  Mat beside;
  Vec inverse, up, ug,
    f; /* up, ug: of the sides, of the rows beside them; f: the right-hand side without what the sides add */
  VecScatter top, tog;
} BCRSides;

typedef struct {
  BCROptionsOwner owner; /* first */

  /* what the user asks for: options.c */
  PetscInt radix; /* PCBCRPOISSON_RADIX_AUTO or at least 2 */
  PetscInt nlevels, schedule[BCR_MAX_LEVELS];
  PCBCRPoissonBackend backend;
  PCBCRPoissonTransport transport;
  PCBCRPoissonPrecision precision;
  PCBCRPoissonOperatorSource source;
  PCBCRPoissonFit fit;
  PCBCRPoissonCapacitance capacitance;
  PetscInt directions; /* kept of a capacitance system, at most */
  PetscBool tune, graph;
  char *tunefile;              /* or NULL */
  char *axesfile;              /* the file that axis and times below were read from, or NULL */
  PetscBool recursive;         /* three dimensions, given radix or schedule */
  PetscInt slabranks;          /* that share a slab; 0: automatic */
  PetscEnum isa;               /* index into BCRInstructionSets */
  PetscInt launch[BCR_LAUNCH]; /* launch parameters of a device, 0: the default (developer) */
  PetscInt dim;                /* of the user's operator; 0: that of the DMDA */
  PetscInt nspacing, nends;    /* how many of the following were given; one stands for all */
  PetscReal spacing[3];
  PCBCRPoissonEnd end[6];
  PetscReal shift, scale;
  PetscInt nrobin, naxis[3];
  PetscReal robin[6]; /* of its Neumann ends, [nrobin] */
  PetscInt nmixed;    /* products of its axes: xy, or xy, xz, yz, xyz */
  PetscReal mixed[4];
  PetscReal tau; /* imaginary part of its shift */
  PetscInt ntimes;
  DMDirection along, timed; /* numbers along an axis that another one is multiplied by, [ntimes], or NULL */
  PetscReal *times;
  PetscReal *axis[3];      /* its general axes, or NULL: lower, diagonal, upper, [naxis] each */
  BCRPlaceOptions placing; /* the grid of a matrix without a DMDA */
  BCROtherwise otherwise;  /* where there is no grid or no operator of ours */

  /* what set-up made of it */
  PetscBool replan;         /* a choice changed that the plan depends on */
  BCRPlace place;           /* which node of which grid each row is */
  const char *noteam;       /* why ranks share no slab; NULL: they may */
  BCRMoves moves;           /* from the boxes of the grid to the slabs that the solver has */
  PetscInt dof, size[3], n; /* components, nodes of the whole grid, unknowns on this rank */
  BCROperator *ops;
  BCRPattern pattern; /* what the reader remembers of the matrix */
  PCBCRPoissonOperatorSource opssource;
  BCRSolver solver;
  BCRCapacitance cap;   /* where rows of the matrix are not the operator's; NULL: all of them are */
  PetscReal *factor;    /* of each row of the right-hand side, in the solver's slabs, see factors.c; or NULL */
  PetscBool stagnated;  /* the system of rows that differ was not solved once: a fit, from the next set-up on */
  BCRPonds ponds;       /* looked for where it was not solved at first */
  PetscInt boxes;       /* solves of the box in the last application, where rows differ */
  PetscBool device;     /* the solver works on a CUDA device */
  const char *nodevice; /* why it does not, though the vectors are there */
  PetscBool possible;   /* every rank has a device */
  PetscBool followed;   /* several ranks: the first vectors have been looked at */
  /* auto: the backend was changed for vectors that came from elsewhere than the matrix said */
  PetscBool switched;
  BCRSolverInfo info;
  BCRTuned tuned;
  PetscReal removed;  /* largest constant removed in the last application */
  PetscReal skewness; /* of the diagonal that symmetrises a general axis */
  PetscReal grading;  /* largest over smallest diagonal along the lines of a general axis */
  PetscScalar *turn;  /* [n] complex matrices: what each row of the right-hand side is multiplied with first; or NULL */
  BCRTurnDevice turndevice; /* the same on the device, where the solver is there */
  PetscBool waves;          /* some component is not definite (src/poisson/waves.h) */
  /* the backward error of what is left out of the KSP's right-hand side, where it is more than rounding. spoil: the KSP
     would not see it */
  PetscReal told;
  PetscBool spoil;
  PetscBool product; /* a component is of products of axes */
  BCRSides sides;    /* and rows refer to sides that are apart */
  double condition;  /* of the eigenvectors of those that are transformed, with weights; 1: there are none */
  /* where that is beyond BCR_GRADED: each application is refined once, with these */
  Vec graded[2];
  PetscReal norm[2]; /* of the matrix, rows and columns; with which values */
  PetscObjectId normid[2];
  PetscObjectState normstate[2];
  PetscBool refined; /* the KSP that applies it to several vectors looks at their residuals */
} PC_BCRPoisson;

/* setup.c. Why devices have no way to solve this; NULL: they have */
/* axesfile.c: arrays of the user's operator. Rows lower, diagonal, upper of each axis, and the numbers of
   PCBCRPoissonSetOperatorTimes() */
typedef struct {
  PetscInt n[4];        /* rows of x, y, z, and numbers; 0: there are none */
  PetscReal *values[4]; /* [3 n], [3 n], [3 n], [n] */
  DMDirection along, of;
} BCRAxesFile;
PETSC_INTERN PetscErrorCode BCRAxesFileRead(PC pc, const char option[], const char name[], BCRAxesFile *file);
PETSC_INTERN PetscErrorCode BCRAxesFileFree(BCRAxesFile *file);
PETSC_INTERN const char *BCRPoissonHostOnly(const PC_BCRPoisson *bcr);

/* Rows differ by a mask, and the extension is asked for */
static inline PetscBool BCRPoissonExtends(const PC_BCRPoisson *bcr)
{
  return bcr->cap && bcr->capacitance == PCBCRPOISSON_CAPACITANCE_EXTENSION ? PETSC_TRUE : PETSC_FALSE;
}

/* options.c */
PETSC_INTERN const BCROptions BCRPoissonOptions;
/* setup.c */
PETSC_INTERN PetscErrorCode PCSetUp_BCRPoisson(PC pc);
PETSC_INTERN PetscErrorCode PCReset_BCRPoisson(PC pc);
/* Sets up with what these vectors say about the grid, if it takes that */
PETSC_INTERN PetscErrorCode BCRPoissonSetUpWith(PC pc, Vec b, Vec x);
PETSC_INTERN PetscErrorCode BCRPoissonPlan(PC pc);
/* The component whose operator is not its matrix, but a fit that nobody has chosen by name; -1: there is none */
PETSC_INTERN PetscInt BCRPoissonUnchosenFit(PC pc);
/* The axis along which coefficients vary, -1: none. Of several, or of components that have different ones, one that
   cannot be transformed (forced), else one that the grid is cut along, else the longest */
PETSC_INTERN PetscInt BCRPoissonGeneralAxis(PC pc, PetscBool *forced);
/* Has the user said what the matrix does to nothing (MatSetNullSpace(), MatSetTransposeNullSpace())? */
static inline PetscErrorCode BCRPoissonNullSpaceGiven(PC pc, PetscBool *given)
{
  MatNullSpace nullspace = NULL;

  PetscFunctionBegin;
  PetscCall(MatGetTransposeNullSpace(pc->mat, &nullspace));
  if (!nullspace) PetscCall(MatGetNullSpace(pc->mat, &nullspace));
  *given = nullspace ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
/* user.c, collective: the operator that the user describes, the same for each component */
PETSC_INTERN PetscErrorCode BCRPoissonUserOperator(PC pc);
/* rivals.c: where fits were chosen by their bounds, they are tried; plan(): the operators and a solver for them, once more.
   Collective */
PETSC_INTERN PetscErrorCode BCRPoissonCompareFits(PC pc, PetscErrorCode (*plan)(PC));
/* ponds.c: of the matrix, collective; removes the mean from v on each, sum[n] is what it was the mean of */
PETSC_INTERN PetscErrorCode BCRPondsFind(Mat A, BCRPonds *ponds);
PETSC_INTERN PetscErrorCode BCRPondsRemove(const BCRPonds *ponds, Vec v, PetscScalar sum[]);
PETSC_INTERN PetscErrorCode BCRPondsDestroy(BCRPonds *ponds);
/* factors.c, collective: takes row factors out of operators that were read; to the solver's slabs */
PETSC_INTERN PetscErrorCode BCRFactorsTake(PC pc);
PETSC_INTERN PetscErrorCode BCRFactorsMove(PC pc);
/* sides.c, collective: of the operators that were read; around a solve of x, or transposed, to y */
PETSC_INTERN PetscErrorCode BCRSidesSetUp(PC pc);
PETSC_INTERN PetscErrorCode BCRSidesTake(BCRSides *sides, Vec x);
PETSC_INTERN PetscErrorCode BCRSidesGive(BCRSides *sides, Vec y);
PETSC_INTERN PetscErrorCode BCRSidesDestroy(BCRSides *sides);
/* apply.c */
PETSC_INTERN PetscErrorCode PCApply_BCRPoisson(PC pc, Vec x, Vec y);
PETSC_INTERN PetscErrorCode PCApplyTranspose_BCRPoisson(PC pc, Vec x, Vec y);
PETSC_INTERN PetscErrorCode PCMatApply_BCRPoisson(PC pc, Mat X, Mat Y);
#if PETSC_VERSION_GE(3, 24, 0)
PETSC_INTERN PetscErrorCode PCMatApplyTranspose_BCRPoisson(PC pc, Mat X, Mat Y);
#endif
PETSC_INTERN PetscErrorCode PCPreSolve_BCRPoisson(PC pc, KSP ksp, Vec b, Vec x);
PETSC_INTERN PetscErrorCode PCPostSolve_BCRPoisson(PC pc, KSP ksp, Vec b, Vec x);
/* The matrix of the first component has a null space, one that is known: after set-up */
PETSC_INTERN PetscBool BCRPoissonSingular(PC pc);
/* The constant that the last solve removed, into the PC's data. The device is asked for it, and waited for, only when
   somebody wants to know. */
PETSC_INTERN PetscErrorCode BCRPoissonUpdateRemoved(PC pc);
/* view.c */
PETSC_INTERN PetscErrorCode PCView_BCRPoisson(PC pc, PetscViewer viewer);
/* For KSPBCRPOISSON: why refinement with this solver leaves a residual of that norm; nothing if
   this solver sees no reason */
PETSC_INTERN PetscErrorCode BCRPoissonExplain(PC pc, PetscReal norm, size_t length, char text[]);
