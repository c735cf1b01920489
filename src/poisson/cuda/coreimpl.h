/*
  The core on a CUDA device: what its files share. core.c makes it and walks the plan's stages, transforms.c has the
  transforms, eigen.c those of general axes, spectral.c plan SPECTRAL and share.c its exchanges, level0.c level 0, reduction.c block cyclic reduction, border.c rows that go on on other ranks, box.c planes
  on chip, ring.c planes through the second-level cache.
*/
#pragma once

#include "../device.h"
#include "box.h"
#include "../plancuda.h"
#include "../devreduction.h"
#include "../../backend/cuda/fields.h"
#include "../../backend/cuda/lines.h"
#include "../../backend/cuda/ring.h"
#include "../../backend/cuda/seplines.h"
#include "../../backend/cuda/spectral.h"
#include "../../transport/transport.h"

/* Modes as a transform has them. Position k has gain[k] times mode mode[k] (-1: nothing, which must be 0 on the way back);
   there and back, a mode has to be multiplied by norm[k] times its own norm. Host arrays */
typedef struct {
  PetscInt count;
  int *mode;           /* [count] */
  double *gain, *norm; /* [count] */
} BCRDeviceOrder;

/* Transforms of general axes. matrix: analysis, synthesis, on the device, of the work type; bytes, workspace: of
   products; packed: a box, where numbers along axis 0 are not side by side in those of the caller */
typedef struct {
  void *handle; /* NULL: there are none */
  size_t bytes;
  const void *matrix[3][2];
  void *workspace, *packed;
} BCRDeviceEigen;

/* Transforms of lines that are neighbours in memory: BCR_TRANSFORM_ROWS, BCR_TRANSFORM_COLUMNS, BCR_TRANSFORM_ACROSS */
typedef struct {
  BCRCudaBoxPass columns;
  BCRCudaRowFft rows;
  BCRCudaChirpAcross chirp;
  int *mode; /* [n] mode that a place has; NULL: its number. Host */
} BCRDeviceAcross;

/* Plan SPECTRAL: an array of places of modes. v[1]: where transforms go that are not in place, NULL: there are none. Complex
   numbers: imaginary parts are `part` elements behind real ones */
typedef struct {
  BCRCudaBox box;
  void *v[2];
  ptrdiff_t part;
} BCRDevicePlaces;

/* Plan SPECTRAL on several ranks: each has rows rowoff[q] .. rowoff[q] + rows[q] - 1 along the plan's axis `along`, of all
   modes, and places first[q] .. first[q + 1] - 1 of modes along `axis`, all rows of them, which are exchanged by pieces */
typedef struct {
  BCRTransport transport;
  PetscMPIInt size, rank, pin; /* pin: who has the constant of a singular operator */
  PetscInt axis, *rows, *rowoff, *first;
  BCRMessage *send, *recv; /* [size + 3 size] */
  void *piece[2];          /* of rows here; of rows that come from others, where they do not lie in one piece there */
  double *sums;            /* [size], device */
} BCRDeviceShare;

struct _n_BCRDeviceCore {
  BCRPlan plan;
  BCRPlanKind kind; /* plan->kind, of the tables */
  BCRPlanCuda cuda;
  PetscBool single, stale, input; /* input: work is where right-hand sides are made */
  ptrdiff_t part;                 /* BCRCorePair; 0: numbers are real */
  size_t size;                    /* of an element */
  double factor;
  char name[64];
  BCRStream stream; /* of set-up */
  /* tables that depend on the axes alone; on the shift and the factor; workspace */
  BCRDeviceArena fixedtables, tables, space;
  void *work;      /* a box, packed */
  double *scalars; /* device: removed, mean, partial sums */

  /* transforms */
  BCRCudaModes modes[3];
  BCRCudaProducts matrix[3];
  BCRCudaLong longline[3];
  BCRCudaDstPrime prime; /* of the rows, as plan->rowsby says: plan or table */
  BCRCudaRowFft rowfft;
  const void *rowtable;
  BCRDeviceOrder roworder;
  BCRDeviceAcross across[3]; /* along plan->across as plan->acrossby says; SPECTRAL: along others than rows */
  BCRDeviceEigen eigen;

  /* FOURIER, LINE, POINT */
  BCRCudaLineRows rows;

  /* LEVEL0... */
  BCRCudaLevel0 level0;
  BCRCudaSepLines sep;
  PetscInt strips, per; /* strips of per regular groups */
  /* rows of D: separators, of them the row that others go on from, and the one before the first */
  PetscInt ndrows, ldd;
  void *D, *D2, *extra; /* separators; D2: where their transform is not in place; what strips' first separators get */
  const int *extraof;
  double *septab, *border; /* border: BCRCudaSepLines */
  BCRCudaBoxPlanes planes; /* BOX_PRODUCT */
  BCRCudaBoxMean planesmean;

  BCRDeviceBox box; /* BOX, BOX_PASSES */

  BCRCudaPlaneMean planemean; /* BCRPlanMeanOfPlanes() */

  /* RING, SPLIT */
  BCRCudaRing ring;
  BCRCudaRingLines ringlines;
  PetscInt ringalong; /* axis of the lines */
  void *ringmodes;    /* where they are apart */
  double *ringsums;
  BCRCudaRingWaves ringwaves; /* where there are such lines; its matrices are in c->fixedtables */
  PetscInt ringwavesalong;    /* axis of these */

  /* SPECTRAL */
  BCRCudaSymbol symbol;
  int nplaces[3];            /* of modes along each axis */
  BCRDevicePlaces places[2]; /* of this rank's rows; where there are several ranks, of its share of the modes */
  BCRDeviceShare *share;     /* NULL: the box is whole here */
  double *left; /* device: what is left out, BCRCudaLeftLargest(); partial sums; those of each rank. NULL: nothing is */

  /* REDUCTION, RECURSIVE */
  BCRDeviceReduction red;
  double *redshift, *redscale[3]; /* device: [boxes] shifts; [n] factors of the right-hand side */
  const double *redweight[3];     /* [n] of a mean */
  double redtotal;
};

/* transforms.c: tables by the plan; at set-up once */
PETSC_INTERN PetscErrorCode BCRDeviceTransformsCreate(BCRDeviceCore c);
PETSC_INTERN PetscErrorCode BCRDeviceTransformsDestroy(BCRDeviceCore c);
/* of lines along axis d; more rows of one more plane, extra: BCRCudaDst() */
PETSC_INTERN int BCRDeviceTransform(BCRDeviceCore c, BCRStream stream, PetscInt d, int synthesis,
                                    const BCRCudaLines *fl, const void *f, const BCRCudaLines *ul, void *u);
PETSC_INTERN int BCRDeviceTransformRows(BCRDeviceCore c, BCRStream stream, int synthesis, const BCRCudaLines *fl,
                                        const void *f, const BCRCudaLines *ul, void *u, const void *extra, int more);
PETSC_INTERN int BCRDeviceTransformAcross(BCRDeviceCore c, BCRStream stream, int synthesis, const BCRCudaLines *fl,
                                          const void *f, const BCRCudaLines *ul, void *u);
/* eigen.c: matrices, at set-up once; workspace in c->space; of lines along axis d, from the caller's array to a packed one
   or back */
PETSC_INTERN PetscErrorCode BCRDeviceEigenCreate(BCRDeviceCore c);
PETSC_INTERN PetscErrorCode BCRDeviceEigenSpace(BCRDeviceCore c);
PETSC_INTERN PetscErrorCode BCRDeviceEigenDestroy(BCRDeviceCore c);
PETSC_INTERN int BCRDeviceEigenApply(BCRDeviceCore c, BCRStream stream, PetscInt d, int synthesis,
                                     const BCRCudaLines *fl, const void *f, const BCRCudaLines *ul, void *u);
/* rows have a transform of their own, which takes one more plane */
static inline PetscBool BCRDeviceRowsOwn(BCRDeviceCore c)
{
  return c->plan->rowsby != c->plan->transform[0] ? PETSC_TRUE : PETSC_FALSE;
}
/* mode across planes that plane k has */
static inline PetscInt BCRDevicePlaneMode(BCRDeviceCore c, PetscInt k)
{
  const int *mode = c->across[c->plan->across].mode;

  return mode ? mode[k] : k;
}
/* a transform of lines that are neighbours in memory is twice too large, there and back */
static inline PetscBool BCRDeviceDoubles(BCRTransformKind by)
{
  return by == BCR_TRANSFORM_ROWS || by == BCR_TRANSFORM_COLUMNS || by == BCR_TRANSFORM_ACROSS ? PETSC_TRUE
                                                                                               : PETSC_FALSE;
}
static inline PetscBool BCRDeviceAcrossDoubles(BCRDeviceCore c)
{
  return BCRDeviceDoubles(c->plan->acrossby);
}
/* what the way back makes of a mode along axis d; the way there doubles modes of both ends, too */
static inline double BCRDeviceGain(BCRDeviceCore c, PetscInt d, BCRTransformKind by, PetscInt mode)
{
  const PetscBool ends = by == BCR_TRANSFORM_COLUMNS && c->modes[d].cosine && (mode == 0 || mode == c->modes[d].P)
                           ? PETSC_TRUE
                           : PETSC_FALSE;

  return BCRDeviceDoubles(by) && !ends ? 2 : 1;
}
/* Plane k: its shift, and by what its solution is to be multiplied */
static inline void BCRDevicePlaneNumbers(BCRDeviceCore c, PetscInt k, double *shift, double *scale)
{
  const PetscInt across = c->plan->across, mode = across >= 0 ? BCRDevicePlaneMode(c, k) : 0;

  *shift = BCRPlanPlaneShift(c->plan, mode);
  *scale = c->factor * BCRPlanPlaneNorm(c->plan, mode);
  if (BCRDeviceAcrossDoubles(c)) *scale *= 0.5 / BCRDeviceGain(c, across, c->plan->acrossby, mode);
}

/* what the transform of columns takes out of the first mode on the way back, or NULL */
static inline const double *BCRDeviceColumnsMean(BCRDeviceCore c, PetscBool back)
{
  return back && BCRPlanMeanOfPlanes(c->plan) && (c->kind == BCR_PLAN_BOX || c->plan->acrossby == BCR_TRANSFORM_COLUMNS)
           ? c->planemean.mean
           : NULL;
}

/* The lines along axis d of an array with such strides */
PETSC_INTERN BCRCudaLines BCRDeviceLinesAlong(BCRDeviceCore c, PetscInt d, const ptrdiff_t stride[3]);
/* the box as the kernels take it */
PETSC_INTERN BCRCudaBox BCRDeviceCoreBox(BCRDeviceCore c);

/* A solve on its way: where the right-hand side, or what has become of it, lies: f, the work array or u */
typedef struct {
  const void *at;
  BCRCudaLevel0 level0; /* with the strides of this f and u */
} BCRDeviceWalk;
/* launches a stage of the plan */
typedef PetscErrorCode BCRDeviceLaunch(BCRDeviceCore c, BCRStream stream, const BCRStage *stage, BCRDeviceWalk *walk,
                                       void *u);
PETSC_INTERN PetscErrorCode BCRDeviceCoreStages(BCRDeviceCore c, BCRStream stream, PetscInt first, PetscInt end,
                                                BCRDeviceWalk *walk, void *u);
/* number of the first stage of that kind and direction */
static inline PetscInt BCRDeviceStageFind(BCRDeviceCore c, BCRStageKind kind, PetscBool back)
{
  PetscInt i = 0;

  while (i < c->plan->nstages && !(c->plan->stage[i].kind == kind && c->plan->stage[i].back == back)) i++;
  return i;
}

/* level0.c */
PETSC_INTERN PetscErrorCode BCRDeviceLevel0Tables(BCRDeviceCore c);
PETSC_INTERN PetscErrorCode BCRDeviceProductTables(BCRDeviceCore c); /* BOX_PRODUCT */
PETSC_INTERN PetscErrorCode BCRDeviceLevel0Begin(BCRDeviceCore c, BCRStream stream, BCRDeviceWalk *walk, void *u);
PETSC_INTERN BCRDeviceLaunch BCRDeviceLevel0Reduce, BCRDeviceLevel0Transform, BCRDeviceLevel0Lines, BCRDeviceLevel0Back;
/* where the separators are transformed */
static inline void *BCRDeviceSeparators(BCRDeviceCore c)
{
  return BCRPlanCudaStays(c->plan) ? c->D : c->D2;
}

/* spectral.c */
PETSC_INTERN PetscErrorCode BCRDeviceSpectralTables(BCRDeviceCore c);
PETSC_INTERN BCRDeviceLaunch BCRDeviceSpectralTransform, BCRDeviceSpectralDivide;
/* Boxes of a field: complex numbers have two */
static inline PetscInt BCRDeviceParts(BCRDeviceCore c)
{
  return c->plan->tau != 0 ? 2 : 1;
}
/* That part of an array of the caller, or of places */
PETSC_INTERN void *BCRDeviceSpectralPart(BCRDeviceCore c, const void *v, PetscInt part);

/* share.c: of several ranks, after the plan; rows here for rows of the share, and back; a number becomes the sum of all ranks' */
PETSC_INTERN PetscErrorCode BCRDeviceShareCreate(BCRDeviceCore c, const BCRCoreShare *share);
PETSC_INTERN PetscErrorCode BCRDeviceShareDestroy(BCRDeviceCore c);
PETSC_INTERN PetscErrorCode BCRDeviceShareSpace(BCRDeviceCore c);
PETSC_INTERN BCRDeviceLaunch BCRDeviceShareExchange;
PETSC_INTERN PetscErrorCode BCRDeviceShareSum(BCRDeviceCore c, BCRStream stream, double *sum);
static inline double *BCRDeviceLeftSums(BCRDeviceCore c)
{
  return c->left + 2 + 3 * BCR_CUDA_PARTIALS;
}

/* ring.c */
PETSC_INTERN PetscErrorCode BCRDeviceRingTables(BCRDeviceCore c);
PETSC_INTERN BCRDeviceLaunch BCRDeviceRingPlanes, BCRDeviceRingLines;
PETSC_INTERN void *BCRDeviceRingModes(BCRDeviceCore c, void *u); /* where modes are, u the solution's place */
PETSC_INTERN PetscErrorCode BCRDeviceMeanTables(BCRDeviceCore c, PetscInt d, BCRTransformKind by, PetscInt blocks);
/* core.c: half of what mode m of an axis has at ends that are nodes and mirrors: its sum over all nodes, but for the constant,
   as with half of these it is zero */
PETSC_INTERN double BCRDeviceEndsHalf(const BCRAxis *axis, PetscInt m);
/* and what mode m along axis d adds up to after the way back, over what that makes of the constant */
PETSC_INTERN double BCRDeviceModeSum(BCRDeviceCore c, PetscInt d, BCRTransformKind by, PetscInt m);
/* core.c: c->rows for the lines along axis d, without modes */
PETSC_INTERN PetscErrorCode BCRDeviceLinesRows(BCRDeviceCore c, PetscInt d);

/* reduction.c */
PETSC_INTERN PetscErrorCode BCRDeviceReductionTables(BCRDeviceCore c);
PETSC_INTERN BCRDeviceLaunch BCRDeviceReductionStage, BCRDeviceReductionAcross;
/* f, less its weighted mean where the operator is singular, in u */
PETSC_INTERN PetscErrorCode BCRDeviceReductionBegin(BCRDeviceCore c, BCRStream stream, BCRDeviceWalk *walk, void *u);
