/*
  Plans: how a box is solved, decided from its axes, the options and what a backend can do. Data alone: no device, no
  MPI, no kernel, so that both backends have one place where a decision is taken and a plan can be made anywhere.

      axis `blocks`
        ^   . . . . . . . .   last row     Rows lie along axis 0. Level 0 eliminates groups of radix - 1 rows (.) in
        |   o o o o o o o o   separator    physical space. What is left, the separators (o), is transformed along
        |   . . . . . . . .                axis 0, and for each mode a tridiagonal line along `blocks` goes over the
        |   . . . . . . . .   a group      separators. In three dimensions the box is transformed along axis `across`
        |   . . . . . . . .                first and last, and all of that is a plane for each of its modes.
        +---------------> axis 0

  core.c (host) and device.c (CUDA) walk a plan with their kernels.
*/
#pragma once

#include "core.h"
#include "tables.h"
#include "reduction.h"
#include "eigen.h"
#include "../operator/product.h"

extern PETSC_VISIBILITY_INTERNAL const char *const BCRPlanKinds[]; /* names of BCRPlanKind */

/* By what a transform along an axis is done. The host has one way; those of a CUDA device are
   where src/backend/cuda has them */
typedef enum {
  BCR_TRANSFORM_NONE,
  BCR_TRANSFORM_HOST,     /* dtt.h, any ends and lengths */
  BCR_TRANSFORM_SINE,     /* dst.cu */
  BCR_TRANSFORM_ROWS,     /* rowfft.cu */
  BCR_TRANSFORM_PRODUCT,  /* product.cu, with a stored matrix on the tensor cores */
  BCR_TRANSFORM_PRIME,    /* dstprime.cu */
  BCR_TRANSFORM_CHIRP,    /* dst.cu, one convolution */
  BCR_TRANSFORM_CONVOLVE, /* dst.cu, two or three convolutions */
  BCR_TRANSFORM_FFT,      /* fft.cu */
  BCR_TRANSFORM_COLUMNS,  /* box.cu */
  BCR_TRANSFORM_ACROSS,   /* chirpacross.cu, one convolution */
  BCR_TRANSFORM_LONG,     /* longline.cu, one convolution through memory */
  BCR_TRANSFORM_DENSE,    /* dense.cu, a product with a matrix that is not stored */
  BCR_TRANSFORM_EIGEN     /* eigen.h, products with stored eigenvectors of a general axis */
} BCRTransformKind;
extern PETSC_VISIBILITY_INTERNAL const char *const BCRTransformKinds[];

/* A plan is a list of stages; each reads and writes memory once, or stays on chip (no bytes) */
typedef enum {
  BCR_STAGE_ACROSS,    /* transform along `across` */
  BCR_STAGE_REDUCE,    /* level 0: right-hand sides of the separators */
  BCR_STAGE_TRANSFORM, /* transform of the separators, or of everything, along `axis` */
  BCR_STAGE_LINES,     /* tridiagonal lines */
  BCR_STAGE_POLES,     /* sums over poles */
  BCR_STAGE_PLANES,    /* planes of modes: transform, lines, transform */
  BCR_STAGE_RING,      /* planes, transformed along two axes through the second-level cache */
  BCR_STAGE_BACK,      /* level 0: substitution back into the groups */
  BCR_STAGE_REDUCTION, /* block cyclic reduction of all planes */
  BCR_STAGE_MEAN,      /* the mean of a singular operator's solution; axis >= 0: that of the plane of the constant mode
                          along it, or (FOURIER) of that mode's line along it, before it is transformed back */
  BCR_STAGE_DIVIDE,    /* SPECTRAL: modes over the symbol */
  BCR_STAGE_EXCHANGE,  /* SPECTRAL: rows of all modes for all rows of some, or back */
  BCR_STAGES
} BCRStageKind;

typedef struct {
  BCRStageKind kind;
  PetscInt axis;       /* along which, -1: none */
  PetscBool back;      /* a transform: synthesis */
  double bytes, flops; /* of one solve: memory read and written, floating point operations */
} BCRStage;

typedef struct _BCRPlanLimits BCRPlanLimits;

/* One way of a backend. whynot: NULL where the plan's axes and shift can be solved that way, else the reason in words. It
   may set what depends on the way: rows, radix, separators, decay */
typedef struct {
  BCRPlanKind kind;
  const char *(*whynot)(BCRPlan plan);
} BCRPlanWay;

/* What a backend can do */
struct _BCRPlanLimits {
  const char *name;
  PetscInt nways;
  const BCRPlanWay *way;           /* [nways] in order of preference */
  PetscInt row;                    /* level 0: least unknowns of a row */
  PetscInt rows, openrows;         /* level 0: least rows along `blocks`; where rows of other ranks go on */
  PetscInt lanes, narrow;          /* host: lanes of the vectors of the kernels, and of shorter ones for a few lines */
  const struct _BCRPlanCuda *cuda; /* plancuda.h; NULL: not a CUDA device */
};
/* The host's, with kernels of that instruction set (-1: the best) */
PETSC_INTERN void BCRPlanLimitsHost(int isa, PetscBool single, BCRPlanLimits *limits);
/* kernels of vectors half as long at most, for a few lines; the same where there are none */
PETSC_INTERN const BCRCpuTable *BCRPlanNarrowHost(int isa, PetscBool single);

typedef struct {
  PetscInt dim;
  const BCRAxis *axis;    /* [dim] */
  const PetscInt *stride; /* [dim] elements from one unknown to the next, of f and u */
  PetscReal shift;
  PetscBool singular;
  BCRPrecision io; /* of f and u */
  const BCRCoreOptions *options;
  PetscInt along;         /* axis whose rows go on on other ranks, -1: none */
  PetscBool open[2];      /* at its low, high end */
  const PetscReal *mixed; /* products of axes: coefficients of operator.h; along is then shared out. NULL: none */
  PetscBool waves;        /* the sum of the axes and the shift, of either sign, for plan SPECTRAL */
  double tau;             /* waves on a device: imaginary part of the shift */
  PetscBool indefinite;   /* the same on the host, for plan LEVEL0, FOURIER with tables of uniform lines, or none */
} BCRPlanSpec;

struct _n_BCRPlan {
  BCRPlanLimits limits;
  BCRCoreOptions options;
  PetscBool single; /* work type */

  /* the box: axes of more than one unknown, in the order of memory */
  PetscInt dim;
  PetscInt n[3]; /* 1 beyond dim */
  ptrdiff_t stride[3];
  char label[3];       /* x, y or z */
  BCRAxis axis[3];     /* copies; weights of a singular one */
  double shift, fixed; /* fixed: what the axes of one unknown add */
  double tau;          /* imaginary part of the shift: fields are pairs, real and imaginary part */
  PetscBool product;   /* mixed[], sets of the plan's axes; axes of no lines */
  PetscBool waves;     /* product, whose sets are the axes themselves */
  /* lines, over the separators or all rows, may be of either sign; of products as their symbol is */
  PetscBool indefinite;
  double mixed[BCR_SETS];
  PetscBool singular;          /* the constant is in the null space */
  double *lambda[3], *norm[3]; /* [n] modes of the axes but general lines: eigenvalues for unit coupling, norms */
  BCREigen eigen[3];           /* general axes that are transformed, whose coupling a is 1 here */
  struct {
    PetscBool
      there; /* axis 0 is uniform but for its end rows, and what stands here is the uniform one: cpu/coreends.c */
    double row[2][2]; /* what its first and its last row have beside that, and beside it in the row inside */
  } ends;
  struct { /* host: the block rows' axis is general, but uniform between end rows that do not lower the others */
    PetscBool there;
    double a, rest; /* its coupling, and what its diagonal has beside 2 a */
  } inside;
  PetscInt constant[3]; /* number of the constant mode of each axis, -1: none, or not singular */
  PetscInt along;       /* axis whose rows go on, -1: none */
  PetscBool open[2];

  /* the axes' parts */
  PetscInt blocks, across; /* see above; -1 where there is none */
  PetscInt line;           /* FOURIER, REDUCTION: of the lines */
  PetscInt nplanes;        /* modes along `across`, or 1 */

  /* what is run, for the present shift */
  BCRPlanKind kind;
  BCRTransformKind transform[3]; /* along each axis, of any lines */
  BCRTransformKind rowsby;       /* of the separators along axis 0 */
  BCRTransformKind acrossby;     /* along `across` */
  BCRLineRows separators;        /* level 0: as rows of a line */
  PetscInt radix, ngroups;       /* level 0 */
  BCRAcross poles;               /* POLES */
  PetscInt poleslanes;           /* POLES: lanes of the vectors of their kernels */
  double decay;                  /* level 0: largest factor by which lines of a group decay along a row */
  PetscBool general;             /* FOURIER, RING: lines by elimination with any coefficients */
  PetscInt nlevels, schedule[BCR_MAX_LEVELS], ninner, inner[BCR_MAX_LEVELS]; /* REDUCTION; inner: of a recursion */
  BCRReductionCost reduction; /* REDUCTION: of a plane, from its steps, which the backend has: zeros before */
  struct {
    PetscBool asked, found;     /* which depends on the axes alone */
    int kind, across, in, line; /* axes: transformed first and last, in the planes, of the lines */
    PetscBool stays;            /* planes stay on chip while ranks exchange */
  } box;                        /* BOX, BOX_PASSES */
  struct {
    PetscBool asked[2], fits[2]; /* planes of axes 0 and 1, or 0 and 2: whether there are kernels */
    PetscInt axis[3];            /* of the planes, of the lines; SPLIT: 0, 1, 2 */
    PetscInt waves;              /* RING, of products: lines that are neither positive nor negative */
  } ring;                        /* RING, SPLIT */
  struct {
    PetscBool asked, fits;
  } split;                            /* SPLIT */
  PetscBool excluded[BCR_PLAN_KINDS]; /* other ranks have no such plan */

  /* SPECTRAL: core.h; modes whose symbol is not above tol in absolute value are left out */
  double symbol_min, symbol_size, tol;
  PetscInt64 negative, left_out;

  PetscInt nstages;
  BCRStage stage[12];
  const char *refused[BCR_PLAN_KINDS]; /* why not, of each way that comes before that of the plan; else NULL */
};

PETSC_INTERN PetscErrorCode BCRPlanCreate(const BCRPlanSpec *spec, const BCRPlanLimits *limits, BCRPlan *plan);
/* Choose anew: a shift may make a way possible or impossible */
PETSC_INTERN PetscErrorCode BCRPlanSetShift(BCRPlan plan, PetscReal shift);
/* The same, not by that way from now on */
PETSC_INTERN PetscErrorCode BCRPlanExclude(BCRPlan plan, BCRPlanKind kind);
PETSC_INTERN PetscErrorCode BCRPlanDestroy(BCRPlan *plan);
/* text, kind, schedule, flops and bytes of a solve; what the backend knows besides (workspace, tables, isa) stays */
PETSC_INTERN PetscErrorCode BCRPlanDescribe(BCRPlan plan, BCRCoreInfo *info);
/* axes, modes, stages, and each way that was refused with the reason; not collective: prefix is put before each line */
PETSC_INTERN PetscErrorCode BCRPlanView(BCRPlan plan, PetscViewer viewer);

/* eigenvalues for unit coupling, and norms, of the modes of a uniform axis; [n] */
PETSC_INTERN PetscErrorCode BCRPlanModes(PetscInt n, const BCREnd end[2], double lambda[], double norm[]);
/* REDUCTION, RECURSIVE: axes by their parts, rows first */
PETSC_INTERN BCRReductionSpec BCRPlanReductionSpec(BCRPlan plan, const BCRAxis axis[]);

PETSC_INTERN const char *BCRPlanStageName(BCRStageKind kind);

/* Whether the kernels of the lines see to the mean of a singular operator's solution, on a device */
PETSC_INTERN PetscBool BCRPlanMeanInLines(BCRPlan plan);
/* The same of rows that go on on other ranks: the lines know their part of the sum */
PETSC_INTERN PetscBool BCRPlanMeanOfRanks(BCRPlan plan);
/* The mean is that of the planes of even modes along `across`, before they are transformed back */
PETSC_INTERN PetscBool BCRPlanMeanOfPlanes(BCRPlan plan);
/* Plane k of the modes along `across`: what is added to the operator of the other axes, and the norm of the mode */
PETSC_INTERN double BCRPlanPlaneShift(BCRPlan plan, PetscInt k);
/* The same with the two axes: coefficients of 1, T of the rows, T of the block rows and their product, in unit coupling */
PETSC_INTERN void BCRPlanPlaneSymbol(BCRPlan plan, PetscInt k, double c[4]);
/* Where the lines have numbers t: what they multiply, which is not in that shift then */
PETSC_INTERN double BCRPlanPlaneTimed(BCRPlan plan, PetscInt k);
/* The rows inside of a general axis are those of a uniform one with that coupling, to rounding, and rest more on the diagonal */
PETSC_INTERN PetscBool BCRPlanUniformInside(const BCRAxis *axis, double *a, double *rest);
/* and its end rows, in that coupling, do not lower the others: rows has them */
PETSC_INTERN PetscBool BCRPlanEndRows(const BCRAxis *axis, double a, double rest, BCRLineRows *rows);
PETSC_INTERN double BCRPlanPlaneNorm(BCRPlan plan, PetscInt k);

/* Plain sums along the axis are zero for every mode but the constant: both the axis and its transpose have the constant in
   their null spaces */
static inline PetscBool BCRPlanAddsUp(const BCRAxis *a)
{
  const BCREndRule low = BCREndGetRule(a->end[0]), high = BCREndGetRule(a->end[1]);

  return !a->lower && low.excess == 0 && high.excess == 0 && low.weight == 1 && high.weight == 1 ? PETSC_TRUE
                                                                                                 : PETSC_FALSE;
}

static inline PetscBool BCRPlanIsLevel0(BCRPlanKind kind)
{
  return kind == BCR_PLAN_LEVEL0 || kind == BCR_PLAN_POLES || kind == BCR_PLAN_LEVEL0_SMALL ||
             kind == BCR_PLAN_LEVEL0_ROWS
           ? PETSC_TRUE
           : PETSC_FALSE;
}
/* planes of two axes, and lines across them (src/backend/cuda/ring.h) */
static inline PetscBool BCRPlanIsRing(BCRPlanKind kind)
{
  return kind == BCR_PLAN_RING || kind == BCR_PLAN_SPLIT ? PETSC_TRUE : PETSC_FALSE;
}
/* SPECTRAL on a device: the last axis is transformed, divided and transformed back in one pass. Not where somebody wants
   to know what was left out */
PETSC_INTERN PetscBool BCRPlanDividesWithin(BCRPlan plan);
/* SPECTRAL: the axis that is transformed last, the ranks' or that of the largest stride */
static inline PetscInt BCRPlanSpectralLast(BCRPlan p)
{
  return p->along >= 0 ? p->along : p->dim - 1;
}
static inline PetscBool BCRPlanIsReduction(BCRPlanKind kind)
{
  return kind == BCR_PLAN_REDUCTION || kind == BCR_PLAN_RECURSIVE ? PETSC_TRUE : PETSC_FALSE;
}

/* Reasons that backends share */
PETSC_INTERN const char *BCRPlanWhyNotPoint(BCRPlan plan);
PETSC_INTERN const char *BCRPlanWhyNotLine(BCRPlan plan);
PETSC_INTERN const char *BCRPlanWhyNotRecursive(BCRPlan plan);
PETSC_INTERN const char *BCRPlanWhyNotReduction(BCRPlan plan);
PETSC_INTERN const char *BCRPlanWhyNotFourier(BCRPlan plan);
PETSC_INTERN const char *BCRPlanWhyNotSpectral(BCRPlan plan);
/* Level 0 by the axes and sizes alone; by the shift, for its groups, which sets decay, and for lines over separators */
PETSC_INTERN const char *BCRPlanWhyNotLevel0Sizes(BCRPlan plan);
PETSC_INTERN const char *BCRPlanWhyNotLevel0Groups(BCRPlan plan);
PETSC_INTERN const char *BCRPlanWhyNotLevel0Lines(BCRPlan plan);
