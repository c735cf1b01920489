/*
  What fits work on, what their passes amount to, and the passes: on the host (fitextract.c, fitpasses.c), or on the
  device that the matrix is on (fitdevice.c). fit.c calls passes, passes call range arithmetic (fitrange.h).
*/
#pragma once

#include "readimpl.h"
#include "fitrange.h"
#include <stddef.h>

/* Nodes of other ranks that a fit's arrays have on either side of the rank's box, along axes that are cut */
#define BCR_FIT_BESIDE 2

typedef struct BCRFitData BCRFitData;
typedef struct BCRFitPasses BCRFitPasses;
typedef struct BCRFitPart BCRFitPart;
typedef struct BCRFitDevice BCRFitDevice;

/* What is summed up in the pass over the matrix, for each end of each axis. Numbers only, which are joined as one
   array */
typedef struct {
  double link[3][2][3]; /* the link at the end: the entry in the end row, that in the row beside it; the next link */
  double side[3][2][2]; /* couplings along the end, and one row further in */
  double sum[3][2], count[3][2]; /* row sums at the end, of so many rows */
  double couple[3][2];           /* > 0: something couples to that plane */
  double wraps[3];               /* what is beyond the ends of the axis */
  double total;                  /* of |couplings|; 0: nothing is coupled */
  BCRFitRange left;              /* row sums inside */
} BCRFitSums;
#define BCR_FIT_SUMS ((int)(offsetof(BCRFitSums, left) / sizeof(double)))

struct BCRFitData {
  const BCRRows *A;
  PetscInt c, dim, n[3], b[3]; /* the box of unknowns: sizes, the first one's place in the grid */
  PetscInt lo[3], own[3];      /* this rank's part of it */
  /* what the arrays have: that part and two more nodes on either side along axes that are cut;
     around the ends too */
  PetscInt begin[3], size[3], stride[3], nodes;
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
  PetscBool compared; /* the bounds of all fits are nearly what they were when that which auto prefers was chosen */
  BCRFitSums sums;    /* of all ranks */
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
  const BCRFitPasses *passes;
  BCRFitDevice *device; /* has D, C and S; NULL: they are here */
};

/* A fit and what it is judged by: couplings divided by weights and scales, what is left on the diagonal inside */
typedef struct {
  BCRFitRange link[3], left;
  BCRFitTotal total;
  BCRFitRange near[3], nearleft;                   /* of this rank */
  double mean[3], spread, a[3], shift, bound, own; /* own: the bound, before it is compared with that of another fit */
  PetscBool there;
  PetscBool null; /* the shift is zero as the matrix has that null vector */
} BCRFitResult;

static inline double BCRFitWeight(const BCRFitData *F, PetscInt d, PetscInt i)
{
  if (i < 0 || i >= F->n[d]) i += i < 0 ? F->n[d] : -F->n[d];
  return i == 0 ? F->half[d][0] * (F->n[d] == 1 ? F->half[d][1] : 1) : (i == F->n[d] - 1 ? F->half[d][1] : 1);
}

/* Where the arrays have node o */
static inline PetscInt BCRFitAt(const BCRFitData *F, PetscInt i, const PetscInt o[3])
{
  return i - F->begin[0] + F->stride[1] * (o[1] - F->begin[1]) + F->stride[2] * (o[2] - F->begin[2]);
}

/* Node i of axis d, beyond its ends too, as the arrays have it if the axis is periodic */
static inline PetscInt BCRFitAround(const BCRFitData *F, PetscInt d, PetscInt i)
{
  return i < F->begin[d] ? i + F->n[d] : (i >= F->begin[d] + F->size[d] ? i - F->n[d] : i);
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

/* The largest relative deviation of the matrix from a fit, and where: nodes in natural order */
typedef struct {
  double worst;
  PetscInt row, col;
} BCRFitWorst;

/* The entry at row and column becomes the worst if it is off by more */
static inline void BCRFitWorstOf(BCRFitWorst *w, double deviation, PetscInt row, PetscInt col)
{
  if (deviation <= w->worst) return;
  w->worst = deviation;
  w->row = row;
  w->col = col;
}

/* The passes over this rank's nodes. Ranges and sums are those of this rank */
struct BCRFitPasses {
  /* Over the matrix: D, C, what planes hold, and the sums. Collective: a row that is no good is an error on all ranks */
  PetscErrorCode (*extract)(BCRFitData *F, BCRFitSums *sums);
  /* Couplings from layer `at` of axis d, as the arrays have it */
  PetscErrorCode (*divide)(BCRFitData *F, PetscInt d, PetscInt at, double by);
  /* Row scales S from the mean couplings, and their squares' range (F->scaled only, else mean and scales may be NULL);
     then the couplings along each axis as the fit sees them, c / (s s w) */
  PetscErrorCode (*means)(BCRFitData *F, const double mean[3], BCRFitRange *scales, BCRFitRange link[3]);
  /* What is left inside the box, where all weights are one: D / s^2 - T, or without scales the row sum; a: couplings */
  PetscErrorCode (*left)(BCRFitData *F, const double a[3], BCRFitRange *left);
  PetscErrorCode (*total)(BCRFitData *F, const double a[3], BCRFitTotal *total); /* joined to what total has */
  /* The matrix, in average, is a fit whose shift is zero: does it have that null vector? Collective */
  PetscErrorCode (*null)(BCRFitData *F, const BCRFitResult *r, PetscBool *null);
  PetscErrorCode (*deviation)(BCRFitData *F, const BCRFitResult *r, BCRFitWorst *found);
  /* Row scales, if there are any, to the operator */
  PetscErrorCode (*scales)(BCRFitData *F);
  PetscErrorCode (*close)(BCRFitData *F);
};

PETSC_INTERN PetscErrorCode BCRFitHostOpen(BCRFitData *F);
/* F->passes == NULL on return: there is no device, it has no room, or there is a row that the host has to look at */
PETSC_INTERN PetscErrorCode BCRFitDeviceOpen(BCRFitData *F);

/* fitends.c. The pass over the matrix, and what it says about the ends of the axes. left: what is left on the
   diagonals inside, over all ranks, its extremes' places are this rank's; near: that of this rank. Collective. Again:
   what is left inside is this, as rows apart do not count */
PETSC_INTERN PetscErrorCode BCRFitEnds(BCRFitData *F, BCRFitRange *left, BCRFitRange *near);
PETSC_INTERN void BCRFitEndsAgain(BCRFitData *F, const BCRFitRange *left);

/* fitapart.c, for passes on the host. Whether there may be rows apart; finds them (F->apart), *any: there are some, and
   other rows, too; takes them out of the box. The last two are collective */
PETSC_INTERN PetscBool BCRFitMayBeApart(const BCRFitData *F, const BCRFitResult *r);
PETSC_INTERN PetscErrorCode BCRFitApart(BCRFitData *F, const double a[3], PetscBool *any);
PETSC_INTERN PetscErrorCode BCRFitSetApart(BCRFitData *F);

/* fitprofile.c, for passes on the host: the fit whose coefficients vary along one axis */
typedef struct {
  PetscInt axis, n; /* -1: there is none; its layers */
  double *weight, *link,
    *rest;                    /* [n]: of a layer; mean coupling to the next; mean of what rows have beside couplings */
  double a[3], spread, bound; /* couplings of the other axes; as those of a BCRFitResult */
  BCRFitWorst worst;          /* of this rank */
} BCRFitProfile;
/* The axis whose bound is the smallest. null: the matrix has the constant as null vector. Collective */
PETSC_INTERN PetscErrorCode BCRFitProfileTry(BCRFitData *F, PetscBool null, BCRFitProfile *best);
/* Its axes, in units of the matrix, to the operator */
PETSC_INTERN PetscErrorCode BCRFitProfileTake(BCRFitData *F, const BCRFitProfile *P);
PETSC_INTERN PetscErrorCode BCRFitProfileDestroy(BCRFitProfile *P);

/* fitstretched.c, for passes on the host: the scaled fit with stretched axes. Arrays of n numbers, those of the layers of
   nodes across axis d from first[d] on */
typedef struct {
  PetscBool there, general[3], weighted[3], solvable; /* general: a stretched axis; weighted: and W is not one */
  PetscInt axes, first[3], n, dense; /* axes of more than one node; dense: unknowns along axes that are transformed by
                                        their eigenvectors */
  double *tau, *link, *diag, *weight, *v;    /* link: of T, without what half rows have in it; a uniform axis has one */
  double a[3], all[3], shift, spread, bound; /* all: sum of v^2 */
  double *log;                               /* 4 rows of stride numbers, for work */
  PetscInt stride;
  PetscReal *S;      /* stored nodes: row scales that have W, but for half rows */
  BCRFitWorst worst; /* of this rank */
} BCRFitStretch;
/* bound: infinite if there is none. Rows apart are rows as others here. Collective */
PETSC_INTERN PetscErrorCode BCRFitStretchTry(BCRFitData *F, BCRFitStretch *P);
/* Its axes, shift and scales, in units of the matrix, to the operator and F */
PETSC_INTERN PetscErrorCode BCRFitStretchTake(BCRFitData *F, const BCRFitStretch *P);
PETSC_INTERN PetscErrorCode BCRFitStretchDestroy(BCRFitStretch *P);
