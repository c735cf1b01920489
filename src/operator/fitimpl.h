/*
  Shared by fit.c and fitdevice.c: what fits work on, and what their passes amount to.
*/
#pragma once

#include "readimpl.h"
#include "fitrange.h"

typedef struct BCRFitPart BCRFitPart;
typedef struct BCRFitDevice BCRFitDevice;

typedef struct {
  const BCRRows *A;
  PetscInt c, dim, n[3], b[3]; /* the box of unknowns: sizes, the first one's place in the grid */
  PetscInt lo[3], own[3];      /* this rank's part of it */
  /* what the arrays have: that part and two more nodes on either side along axes that are cut;
     around the ends too */
  PetscInt so[3], sn[3], stride[3], nodes;
  PetscBool image[3]; /* ... that is, nodes -1 and n stand for n - 1 and 0 */
  BCROperator *op;
  double sign;
  double *D; /* diagonal, dropped planes with a slope taken in */
  /* coupling of each node to the next along the axis (the first, where the axis is periodic) */
  double *C[3];
  PetscReal *S;       /* row scales, where they are here */
  PetscBool scaled;   /* there are row scales */
  char *apart;        /* stored nodes: 1 for rows apart (BCRFitApart()); NULL: there are none */
  PetscBool host;     /* the passes are made on the host, wherever the matrix is */
  double half[3][2];  /* weight of the first and last row: 1 or 0.5 */
  double ratio[3][2]; /* of the two entries of the link at this end, seen from the end */
  double extra[3][2]; /* row sum at this end over the coupling there */
  PetscBool wrap[3];
  double *ones, *iwx;       /* a grid line each, stored nodes: ones; 1 over the weights along x */
  double *x, *line, *ghost; /* the same, for work; a part's own, as are below and around */
  /* a part's links below its first nodes and above the last ones of all, where another part has the
     arrays' place for them; NULL: none */
  double *below, *around;
  PetscInt split, parts; /* the axis that the work is split along, into how many parts */
  BCRFitPart *part;
  BCRFitDevice *device; /* has D, C and S; NULL: they are here */
} BCRFitData;

/* A fit and what it is judged by: couplings divided by weights and scales, what is left on the diagonal inside */
typedef struct {
  BCRFitRange link[3], left;
  BCRFitTotal total;
  BCRFitRange near[3], nearleft; /* of this rank */
  double mean[3], spread, a[3], shift, bound;
} BCRFitResult;

/* What is summed up in the pass over the matrix: the links at the ends (the entry in the end row,
   that in the row beside it, the next link), couplings along the end and one row further in, row
   sums at the ends and inside */
typedef struct {
  double link[3][2][3], side[3][2][2], sum[3][2], wraps[3], total;
  PetscInt count[3][2];
  PetscBool couple[3][2]; /* something couples to that plane */
  BCRFitRange left;
} BCRFitSums;

static inline double BCRFitWeight(const BCRFitData *F, PetscInt d, PetscInt i)
{
  if (i < 0 || i >= F->n[d]) i += i < 0 ? F->n[d] : -F->n[d];
  return i == 0 ? F->half[d][0] * (F->n[d] == 1 ? F->half[d][1] : 1) : (i == F->n[d] - 1 ? F->half[d][1] : 1);
}

/* Where the arrays have node o */
static inline PetscInt BCRFitAt(const BCRFitData *F, PetscInt i, const PetscInt o[3])
{
  return i - F->so[0] + F->stride[1] * (o[1] - F->so[1]) + F->stride[2] * (o[2] - F->so[2]);
}

/* Node i of axis d, beyond its ends too, as the arrays have it if the axis is periodic */
static inline PetscInt BCRFitAround(const BCRFitData *F, PetscInt d, PetscInt i)
{
  return i < F->so[d] ? i + F->n[d] : (i >= F->so[d] + F->sn[d] ? i - F->n[d] : i);
}

static inline PetscBool BCRFitOwns(const BCRFitData *F, const PetscInt o[3])
{
  PetscInt d;

  for (d = 0; d < 3; d++)
    if (o[d] < F->lo[d] || o[d] >= F->lo[d] + F->own[d]) return PETSC_FALSE;
  return PETSC_TRUE;
}

/* Nodes of the box that have a neighbour in it on all sides, of axes long enough to have such
   nodes; skip: an axis that does not count */
static inline PetscBool BCRFitInside(const BCRFitData *F, const PetscInt ix[3], PetscInt skip)
{
  PetscInt d;

  for (d = 0; d < F->dim; d++)
    if (d != skip && F->n[d] > 2 && !F->wrap[d] && (ix[d] == 0 || ix[d] == F->n[d] - 1)) return PETSC_FALSE;
  return PETSC_TRUE;
}


#if defined(PETSCBCR_HAVE_CUDA)
/* The passes of fit.c on the device that the matrix is on. Open: BCRFitExtract()'s; F->device ==
   NULL on return: there is a row that the host has to look at */
PETSC_INTERN PetscErrorCode BCRFitDeviceOpen(BCRFitData *F, BCRFitSums *q);
PETSC_INTERN PetscErrorCode BCRFitDeviceClose(BCRFitData *F);
PETSC_INTERN PetscErrorCode BCRFitDeviceDivide(BCRFitData *F, PetscInt d, PetscInt at, double by);
PETSC_INTERN PetscErrorCode BCRFitDeviceMeans(BCRFitData *F, const double mean[3], BCRFitRange *scales,
                                              BCRFitRange link[3]);
PETSC_INTERN PetscErrorCode BCRFitDeviceLeft(BCRFitData *F, const double a[3], BCRFitRange *left);
PETSC_INTERN PetscErrorCode BCRFitDeviceTotal(BCRFitData *F, const double a[3], BCRFitTotal *total);
PETSC_INTERN PetscErrorCode BCRFitDeviceNull(BCRFitData *F, double *largest); /* the largest |row sum| / |diagonal| */
PETSC_INTERN PetscErrorCode BCRFitDeviceDeviation(BCRFitData *F, const double a[3], double shift, double *worst,
                                                  PetscInt *row, PetscInt *col);
/* F->op->devscale from S; where the device has no room, F->S */
PETSC_INTERN PetscErrorCode BCRFitDeviceScales(BCRFitData *F);
#endif
