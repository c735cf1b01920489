/*
  The numerical core: solves (Tx (+) Ty (+) Tz + shift) u = f for real arrays on a box. No PETSc objects.
  src/poisson/solver.c puts scaling, weights, dropped planes, complex scalars, components and mixed precision around it.
*/
#pragma once

#include "../operator/operator.h"
#include "../base/team.h"

typedef enum {
  BCR_DOUBLE,
  BCR_SINGLE,
  BCR_MIXED /* solver.c only: single inside, corrected in double */
} BCRPrecision;

#define BCR_MAX_LEVELS 64

/* What is run. One name for each way in which a box is solved; a backend has some of them, in its order of preference */
typedef enum {
  BCR_PLAN_NONE,      /* rows of other ranks go on, and no way takes them */
  BCR_PLAN_POINT,     /* one unknown */
  BCR_PLAN_LINE,      /* one tridiagonal line */
  BCR_PLAN_RECURSIVE, /* three dimensions by the recursion of paper 000 */
  BCR_PLAN_REDUCTION, /* block cyclic reduction with a given schedule, in three dimensions for each mode along `across` */
  BCR_PLAN_BOX,       /* planes of modes on chip: sine or cosine transform, a line for each mode, and back */
  BCR_PLAN_SPLIT, /* transforms of planes, that along y in two parts, of which the other is with the lines across them */
  BCR_PLAN_RING,  /* planes transformed both ways through the second-level cache, a line across them for each mode */
  BCR_PLAN_BOX_PRODUCT,  /* BOX by products on the tensor cores */
  BCR_PLAN_LEVEL0_SMALL, /* level 0 and the transform of the separators in one kernel */
  BCR_PLAN_LEVEL0_ROWS,  /* level 0 of whole rows, in place */
  BCR_PLAN_POLES,        /* level 0, the separators transformed along `blocks`, sums over poles along axis 0 */
  BCR_PLAN_LEVEL0,       /* level 0, the separators transformed along axis 0, a line over them for each mode */
  BCR_PLAN_BOX_PASSES,   /* BOX whose planes do not stay on chip */
  BCR_PLAN_FOURIER,      /* transforms along all axes but one, a line along that for each mode */
  BCR_PLAN_SPECTRAL,     /* products of axes, if not by level 0: transforms along all axes, a division by the symbol */
  BCR_PLAN_KINDS
} BCRPlanKind;

/* launch parameters of a device that the optimizer tries (paper 000, section 3.2); 0: the default */
enum {
  BCR_LAUNCH_GROUP, /* given radix: threads of a work group that solves a line, a power of two from 32 to 1024 */
  /* given radix: rows of a line that are in shared memory, the others are reduced in global memory */
  BCR_LAUNCH_SHARED,
  BCR_LAUNCH_SUM,    /* given radix: terms of a sub-sum */
  BCR_LAUNCH_STRIPS, /* level 0: blocks for each multiprocessor that the rows are cut for */
  BCR_LAUNCH
};

typedef struct {
  PetscInt radix;   /* 0: automatic */
  PetscInt nlevels; /* 0: automatic, else the radix of every level follows */
  PetscInt schedule[BCR_MAX_LEVELS];
  BCRPrecision precision; /* BCR_DOUBLE or BCR_SINGLE for the core */
  /* three dimensions with a given radix or schedule: recursion of paper 000 instead of a transform along one axis */
  PetscBool recursive;
  int isa;                /* -1: the best this machine has; 0 base, 1 AVX2, 2 AVX-512 (tests) */
  int launch[BCR_LAUNCH]; /* device */
  PetscBool plain;        /* device: transforms and lines only, no level 0 (tests) */
  /* bytes of what level 0 keeps of a line; 0: a quarter of the second-level cache (less: more tiles, tests) */
  size_t ring;
  /* device: 16: level 0 of radix 16 wherever that can be, however small the plane (tests) */
  int level0;
  /* level 0: which axis they are transformed along. 0: the faster one, 1: x, 2: across, along y,
     wherever that can be (tests) */
  int separators;
  /* host, three dimensions, no general axes: ranks that solve together, each with a core of its own: lines across planes,
     then planes, are shared out. f and u are one array that all reach, or each rank's rows of it. NULL: there are none */
  BCRTeam *team;
} BCRCoreOptions;

typedef struct _n_BCRCore *BCRCore;
typedef struct _n_BCRPlan *BCRPlan; /* plan.h */

/* axes: the box; stride[d]: distance in elements between neighbours along axis d in f and u (stride[0] = 1).
   io: precision of f and u (BCR_DOUBLE or BCR_SINGLE), the same for both. */
PETSC_INTERN PetscErrorCode BCRCoreCreate(PetscInt dim, const BCRAxis axis[], PetscReal shift, PetscBool singular,
                                          const PetscInt stride[], BCRPrecision io, const BCRCoreOptions *options,
                                          BCRCore *core);
/* Rows along an axis on several ranks: those of rank p are rowoff[p] .. rowoff[p] + rows[p] - 1 */
typedef struct {
  MPI_Comm comm;
  PetscInt axis;
  const PetscInt *rows, *rowoff; /* [ranks] */
  void *transport;               /* device: the BCRTransport of comm, used as long as the core lives */
} BCRCoreShare;
/* Complex numbers on a device, in plan SPECTRAL: f and u are a box of real parts and, `part` elements behind it, one of imaginary
   parts, and the shift has the imaginary part tau */
typedef struct {
  double tau;
  ptrdiff_t part;
} BCRCorePair;
/* Products of axes, mixed[8] of operator.h; axes have a = 1. share NULL: the box is whole here, else axes are whole, and f and u
   this rank's rows. Then this and SetShift() are collective after all ranks have got there, and Solve() is collective */
PETSC_INTERN PetscErrorCode BCRCoreCreateProduct(PetscInt dim, const BCRAxis axis[], const PetscReal mixed[],
                                                 PetscReal shift, PetscBool singular, const PetscInt stride[],
                                                 BCRPrecision io, const BCRCoreOptions *options,
                                                 const BCRCoreShare *share, BCRCore *core);
/* An operator of either sign on uniform axes, in double precision, no modes left out: level 0 where its groups are definite by
   themselves, else transforms and lines. *core = NULL: neither has it */
PETSC_INTERN PetscErrorCode BCRCoreCreateIndefinite(PetscInt dim, const BCRAxis axis[], PetscReal shift,
                                                    const PetscInt stride[], const BCRCoreOptions *options,
                                                    BCRCore *core);
/* What this rank sends to others in a solve; 0 where the box is whole here */
PETSC_INTERN PetscErrorCode BCRCoreGetExchange(BCRCore core, size_t *bytes, size_t *messages);
/* u may be f. singular: the (weighted) mean of f is removed, *removed is that mean (with its sign), u has zero mean */
PETSC_INTERN PetscErrorCode BCRCoreSolve(BCRCore core, const void *f, void *u, PetscReal *removed);
/* new shift, everything else as before */
PETSC_INTERN PetscErrorCode BCRCoreSetShift(BCRCore core, PetscReal shift);
/* u = factor * (T + shift)^-1 f from now on; costs nothing in the solve */
PETSC_INTERN PetscErrorCode BCRCoreSetFactor(BCRCore core, PetscReal factor);
PETSC_INTERN PetscErrorCode BCRCoreDestroy(BCRCore *core);

/* A core whose block rows go on on other ranks (ranks.c): modes are those of the other axes, the lower one fastest. The
   rows of the axis that is cut, o eliminated here, I interface rows:

      rank before      this rank           rank after
      ... o  o  I    | o  o  o ... o  I  | o  o ...
                |      `- eliminated -'  |
            previous                 interface

   The couplings are tointerface[0] from the first row o to the I before it and frominterface[0] back, tointerface[1] from
   the last row o to the I behind it and frominterface[1] back */
typedef struct {
  /* the block rows' axis; axes[axis] has this rank's rows, general coefficients with the couplings
     beyond, Dirichlet ends where open */
  PetscInt axis;
  /* rows of other ranks before the first, after the last row. The last row is an interface row
     then: it stays, all others are eliminated */
  PetscBool open[2];
  /* what the first row has as coupling to the interface row before it, and the row before the last to the last row */
  double tointerface[2];
  /* what the interface row before has as coupling to the first row, and the last row to the row before it */
  double frominterface[2];
  PetscInt constant; /* mode whose mean is removed from the right-hand side; -1: none */
} BCRCoreBorder;
/* *core = NULL: no plan for such rows */
PETSC_INTERN PetscErrorCode BCRCoreCreateBorder(PetscInt dim, const BCRAxis axis[], PetscReal shift,
                                                const PetscInt stride[], BCRPrecision io, const BCRCoreOptions *options,
                                                const BCRCoreBorder *border, BCRCore *core);
/* Eliminates all rows but the last one (all, if it is not open). previous, interface: the modes of the
   right-hand sides, times norm and factor, that the interface rows before and at the end of this
   rank get; set where open. f must stay (it may be u). In three dimensions for the modes k0 to k1 -
   1 of the higher of the other axes, in order, each once, after BCRCoreBorderStart(); the k1 of one call is the k0 of the
   next one. All modes or, in a team, a share of them; else 0 and 1. The arrays are whole. */
PETSC_INTERN PetscErrorCode BCRCoreBorderStart(BCRCore core, const void *f, void *u);
PETSC_INTERN PetscErrorCode BCRCoreBorderBegin(BCRCore core, PetscInt k0, PetscInt k1, const void *f, void *u,
                                               double previous[], double interface[]);
/* The solution from those of the interface rows (modes times norm), but for its synthesis along the higher of the other axes
   in three dimensions: BCRCoreBorderFinish(). mean: of the right-hand side, to be taken out, which is known in the part
   that has the constant mode */
PETSC_INTERN PetscErrorCode BCRCoreBorderEnd(BCRCore core, PetscInt k0, PetscInt k1, const void *f, void *u,
                                             const double before[], const double x[], double mean);
/* Before that: the sum of the solution, where it is that of the plane of the constant mode alone. False: it is not */
PETSC_INTERN PetscBool BCRCoreBorderSum(BCRCore core, const void *u, double *sum);
/* less: is subtracted from the solution; 0 where there is no such sum */
PETSC_INTERN PetscErrorCode BCRCoreBorderFinish(BCRCore core, double less, void *u);

typedef struct {
  BCRPlanKind kind;
  char plan[256]; /* one line: the schedule and the axis order in words */
  PetscInt nlevels;
  PetscInt schedule[BCR_MAX_LEVELS];
  /* tridiagonal sub-problems of a solve per block line, paper 000 (17), (18); 0 where the plan has none */
  PetscInt subproblems;
  size_t workspace; /* bytes that live as long as the core: work arrays */
  size_t tables;    /* bytes of tables */
  double flops;     /* of one solve */
  double bytes;     /* of one solve: memory that its stages read and write */
  char isa[64];     /* instruction set, or the name of the CUDA device */
  /* products of axes: the smallest absolute value of the symbol but that of the constant of a singular operator, and what that is
     small or large against; modes where it is negative; modes that are left out, as it is next to zero there */
  double symbol_min, symbol_size;
  PetscInt64 negative, left_out;
  /* of operators of either sign, what was left out of right-hand sides since they were forgotten: BCRWavesInfo */
  double removed, backward;
} BCRCoreInfo;
PETSC_INTERN PetscErrorCode BCRCoreGetInfo(BCRCore core, BCRCoreInfo *info);
/* how the core solves; it stays the core's */
PETSC_INTERN PetscErrorCode BCRCoreGetPlan(BCRCore core, BCRPlan *plan);
