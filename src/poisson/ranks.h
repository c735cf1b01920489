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
  double *times;                      /* t of the axis, or NULL */
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
/* the row of the interface of part p for a mode, timed: what t multiplies; ones (or NULL): what a right-hand side of ones becomes */
PETSC_INTERN void BCRSlabRowsInterface(const BCRSlabRows *parts, PetscInt p, double lambda, double timed, double *low,
                                       double *diag, double *up, double *ones);
PETSC_INTERN PetscErrorCode BCRSlabRowsDestroy(BCRSlabRows *parts);

/* low, up, the right-hand side that ones become, and the weight of each interface row, for the constant
   mode: c[4][ninterface] */
PETSC_INTERN void BCRSlabRowsConstant(const BCRSlabRows *parts, double c[]);
/* Whether a part between two interfaces hands on more than eps, relative, of one interface's value to the
   other for a mode (shift included). Uniform axes: mu^m with m rows of the thinnest part and the interface,
   mu the decay from row to row. General ones: always PETSC_TRUE, as only the elimination of all rows tells */
PETSC_INTERN PetscBool BCRSlabRowsReach(const BCRSlabRows *parts, double lambda, double eps);

typedef struct _n_BCRRanks *BCRRanks;

/* What eliminates the rows of a rank between its interfaces. A rank chooses for itself, the interfaces do not see it */
typedef enum {
  BCR_PASS_LINES, /* one pass of the core, whose lines or planes solve the reduced systems, too */
  BCR_PASS_ONE,   /* one pass of the core, which stops where the interfaces' values are needed */
  BCR_PASS_TWO,   /* two solves by the core: with the interface rows 0, then with what these add */
  BCR_PASSES
} BCRRanksPass;

/* Who solves the reduced systems of the interface rows, and how their right-hand sides get
   there. The same on all ranks */
typedef enum {
  BCR_COUPLING_NONE,    /* one rank has all rows */
  BCR_COUPLING_WINDOW,  /* device: each part solves all; kernels store and take the numbers in one another's memory */
  BCR_COUPLING_GATHER,  /* device: each part solves all after one exchange of messages */
  BCR_COUPLING_SHARED,  /* device: the modes are shared out evenly, an exchange there and one back */
  BCR_COUPLING_REDUCED, /* host: src/tridiagonal/reduced.h, neighbours alone where that is exact, else shared out */
  BCR_COUPLING_MODES,   /* within the core, of products of axes */
  BCR_COUPLINGS
} BCRRanksCoupling;

/* How a rank solves: the pairs that exist, in order of preference */
typedef enum {
  BCR_RANKS_ALONE,
  BCR_RANKS_LINES_WINDOW,
  BCR_RANKS_LINES_GATHER,
  BCR_RANKS_ONE_WINDOW,
  BCR_RANKS_ONE_GATHER,
  BCR_RANKS_ONE_SHARED,
  BCR_RANKS_ONE_REDUCED,
  BCR_RANKS_TWO_WINDOW,
  BCR_RANKS_TWO_GATHER,
  BCR_RANKS_TWO_SHARED,
  BCR_RANKS_TWO_REDUCED,
  BCR_RANKS_MODES, /* products of axes: rows of all modes are exchanged for all rows of some modes, and back */
  BCR_RANKS_WAYS
} BCRRanksWay;

typedef struct {
  BCRCoreInfo core; /* of this rank's core */
  BCRRanksWay way;
  PetscBool onepass;           /* several ranks have rows, and this one goes through its own once */
  char what[256];              /* how the ranks are coupled, in words */
  char refused[2048];          /* the ways before that one, each with the reason why not, a line each */
  size_t bytes_sent, messages; /* by this rank in one solve */
  size_t workspace, tables;
  double flops;
} BCRRanksInfo;

/* The box on all ranks, and this rank's part of it */
typedef struct {
  MPI_Comm comm;          /* MPI_COMM_NULL: no ranks, just a core, and nothing communicates */
  PetscInt axis;          /* of the slabs */
  PetscInt first, m;      /* rows first .. first + m - 1 along axis are on this rank; m may be 0; ranks in order */
  PetscInt dim;           /* 1 to 3 */
  const BCRAxis *axes;    /* [dim], of the whole box, the same on all ranks */
  const PetscReal *mixed; /* products of axes, as in BCRCoreCreateProduct(); NULL: none. Copied */
  PetscBool waves;        /* device: as in BCRDeviceCoreCreateSpectral() */
  BCRCorePair pair;       /* device, waves: complex numbers, of the rank's part of the box; tau = 0: real ones */
  PetscReal shift;
  PetscBool singular;     /* as in BCRCoreCreate(), like io and options */
  const PetscInt *stride; /* [dim], of f and u on this rank, elements; stride[0] = 1 */
  BCRPrecision io;        /* host */
  const BCRCoreOptions *options;
  PetscBool halo;  /* host: BCRRanksHaloBegin() will be called */
  void *stream;    /* device: of set-up */
  void *transport; /* device: the BCRTransport of comm, used as long as the ranks live */
} BCRRanksSpec;

/* Who carries out the steps: the host with MPI, or the device of each rank with a transport */
typedef struct _BCRRanksOps BCRRanksOps;
PETSC_INTERN const BCRRanksOps *BCRRanksCpu(void);
PETSC_INTERN const BCRRanksOps *BCRRanksCuda(void); /* it and what is said to be of devices: builds with CUDA */

/* Collective, as all but GetInfo and Destroy */
PETSC_INTERN PetscErrorCode BCRRanksCreate(const BCRRanksOps *ops, const BCRRanksSpec *spec, BCRRanks *ranks);
/* tables, after creation and after a new shift or factor; else the next solve makes them. The host makes them at once */
PETSC_INTERN PetscErrorCode BCRRanksSetUp(BCRRanks ranks);
/* f and u: the rank's part of the box, in the memory of who carries it out, on a device of the work type; u may be f.
   stream: of a device */
PETSC_INTERN PetscErrorCode BCRRanksSolve(BCRRanks ranks, void *stream, const void *f, void *u);
/* what the last solve removed, the same on all ranks, a number in that memory; NULL where the operator is not singular */
PETSC_INTERN PetscErrorCode BCRRanksGetRemoved(BCRRanks ranks, const double **removed);
PETSC_INTERN PetscErrorCode BCRRanksSetShift(BCRRanks ranks, PetscReal shift);
PETSC_INTERN PetscErrorCode BCRRanksSetFactor(BCRRanks ranks, PetscReal factor);
PETSC_INTERN PetscErrorCode BCRRanksGetInfo(BCRRanks ranks, BCRRanksInfo *info);
/* of this rank's core, whose it stays; NULL: it has none */
PETSC_INTERN PetscErrorCode BCRRanksGetPlan(BCRRanks ranks, BCRPlan *plan);
PETSC_INTERN PetscErrorCode BCRRanksDestroy(BCRRanks *ranks);

/* Host. The rows of v next to this rank's part of the box, packed (lower axis fastest): from the rank before (0) and
   after (1), NULL where the box ends. stride: of v. Collective over the ranks that have rows */
PETSC_INTERN PetscErrorCode BCRRanksHaloBegin(BCRRanks ranks, const PetscReal *v, const PetscInt stride[]);
PETSC_INTERN PetscErrorCode BCRRanksHaloEnd(BCRRanks ranks, const PetscReal *halo[2]);
/* MPI_Allreduce() in place over all ranks, where there are several */
PETSC_INTERN PetscErrorCode BCRRanksSum(BCRRanks ranks, MPI_Op op, int n, double v[]);

/* Device: as BCRDeviceCoreForget() */
PETSC_INTERN PetscErrorCode BCRRanksForget(BCRRanks ranks, void *stream);
/* Device, no ranks: as BCRDeviceCoreReserveInput() and BCRDeviceCoreGetInput(); none on several ranks */
PETSC_INTERN PetscErrorCode BCRRanksReserveInput(BCRRanks ranks);
PETSC_INTERN PetscErrorCode BCRRanksGetInput(BCRRanks ranks, void **f);
/* Device. BCRRanksSolve(), and how long its steps took on several ranks, each by itself: until the exchange, the
   exchange (with more than a few parts, of both, and the reduced systems between them), the reduced systems, the rest.
   Where the lines or planes between the interfaces solve these systems they are the third, with the exchange where they
   have it in them, too, which then comes once more by itself. Waits */
enum {
  BCR_RANK_STAGES = 4
};
PETSC_INTERN PetscErrorCode BCRRanksStages(BCRRanks ranks, void *stream, const void *f, void *u, double seconds[]);
/* Device. window: what is sent at first goes by a window; kernels: a solve is kernels alone, and may be a graph */
PETSC_INTERN PetscErrorCode BCRRanksKernels(BCRRanks ranks, PetscBool *window, PetscBool *kernels);

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
/* The eigenvalues of axis i of them */
PETSC_INTERN PetscErrorCode BCRModesGetAxis(BCRModes modes, PetscInt i, const double **lambda);
PETSC_INTERN PetscErrorCode BCRModesGetMatrices(BCRModes modes, PetscInt axis, const double **to, const double **from);
PETSC_INTERN PetscErrorCode BCRModesBytes(BCRModes modes, size_t *tables, double *flops);
PETSC_INTERN PetscErrorCode BCRModesDestroy(BCRModes *modes);
