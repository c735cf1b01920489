/*
  Shared by the files that make the passes of fits over a matrix on the host.
*/
#pragma once

#include "fitimpl.h"

/* What a thread does of the work: F with its part of this rank's nodes, and what comes of it. Parts
   write to nodes of their own alone: what two of them have between them is kept apart (below,
   around) until all are done */
struct BCRFitPart {
  BCRFitData F;
  PetscInt first, last; /* along F.split */
  double *x, *line, *ghost, *below, *around;
  const double *mean; /* of the axes, if scales are wanted */
  const double *a;    /* couplings of the fit */
  BCRFitSums sums;
  BCRFitRange scales, link[3], left;
  BCRFitTotal total;
  BCRRowState state; /* of a row that is no good, if any: its node and the column at fault */
  PetscInt ix[3], col;
};

/* The null vector of the transpose of T, in the row of node i of axis d */
static inline double BCRFitNullWeight(const BCRFitData *F, PetscInt d, PetscInt i)
{
  const BCRAxis *ax = &F->op->axis[d];

  return ax->n > 1 ? BCRAxisGetEndWeight(ax, i) : 1;
}

/* Diagonal of T at node i of axis d without the shift */
static inline double BCRFitDiagonal(const BCRFitData *F, PetscInt d, PetscInt i, const double a[3])
{
  const BCRAxis *ax = &F->op->axis[d];
  double t = 2 * a[d];
  PetscInt s;

  if (ax->n < 2) return 0;
  for (s = 0; s < 2; s++) {
    if (i != (s ? ax->n - 1 : 0)) continue;
    t += BCREndGetRule(ax->end[s]).diagonal * a[d];
  }
  return t;
}

static inline double BCRFitModelDiagonal(const BCRFitData *F, const PetscInt o[3], const double a[3])
{
  return BCRFitDiagonal(F, 0, o[0], a) + BCRFitDiagonal(F, 1, o[1], a) + BCRFitDiagonal(F, 2, o[2], a);
}

static inline double BCRFitRowWeight(const BCRFitData *F, const PetscInt o[3])
{
  return BCRFitWeight(F, 0, o[0]) * BCRFitWeight(F, 1, o[1]) * BCRFitWeight(F, 2, o[2]);
}

/* The coupling beyond an end, in proportion to the next two, but within a factor of 4 */
static inline double BCRFitBeyond(double last, double next)
{
  return last * PetscMin(4.0, PetscMax(0.25, next > 0 ? last / next : 1.0));
}

/* A row is apart if its couplings are less than its diagonal over this, and that is out of proportion by more than this */
#define BCR_FIT_APART 8.0

/* Runs the parts, each with F as it is now, by threads if there are several */
PETSC_INTERN void BCRFitRun(BCRFitData *F, void (*run)(void *));
/* Nodes of the grid whose rows this rank can look at: its own, planes and all, and those of the shell that the arrays
   hold */
PETSC_INTERN void BCRFitRows(const BCRFitData *F, PetscInt begin[3], PetscInt end[3]);
PETSC_INTERN PetscErrorCode BCRFitHostExtract(BCRFitData *F, BCRFitSums *sums);

/* fitpasses.c. Couplings below and above the nodes first .. first + count of a grid line along x, for axis d. Those beyond
   the ends of the axis: around them if it is periodic, the only one there is of two nodes, else in proportion to the
   next two */
PETSC_INTERN void BCRFitBeside(const BCRFitData *F, const PetscInt o[3], PetscInt first, PetscInt count, PetscInt d,
                               const double **below, const double **above);
/* Couplings that end at this rank's nodes of a grid line as the fit sees them, c / (s s w), into q: those along axis d
   from below, or (around) from the last nodes of a periodic axis to the first. Returns how many; *node: where the first
   of them comes from along x */
PETSC_INTERN PetscInt BCRFitLinks(const BCRFitData *F, const PetscInt o[3], PetscInt d, PetscBool around, double *q,
                                  PetscInt *node);
/* The scales of the nodes that this rank's links have at an end: its own, and those one away along axes that are cut */
PETSC_INTERN void BCRFitScaled(const BCRFitData *F, PetscInt d, PetscInt *begin, PetscInt *end);
/* Number in natural order of node (i, o[1], o[2]) of the box */
PETSC_INTERN PetscInt BCRFitNatural(const BCRFitData *F, PetscInt i, const PetscInt o[3]);
