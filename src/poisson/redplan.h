/*
  Block cyclic reduction as data (docs/method.md, section 3): levels, groups of rows, their poles and weights, and the
  steps that a solve consists of, in order. redhost.c and devreduction.c carry the steps out.

  Block rows are numbered from 1 to n, 0 and n + 1 lie beyond the ends of their axis; those of a periodic axis from 0 to
  n - 1, and row 0 stays to the last level, which closes the ring. A level of radix q finds the multiples of Q, keeps
  those of Qn = q Q, its separators, and eliminates the others, group by group. Q = 2 and q = 3:

      row    0   1   2   3   4   5   6   7   8   9  10  11  12
             |   .   o   .   o   .   |   .   o   .   o   .   |
             L <------ group ------> R
                                     L <------ group ------> R

      |  separators L and R beside a group; there is none where L or R lies beyond an end
      o  rows of the level: the sources of the group's right-hand sides, and its solutions
      .  rows that earlier levels have eliminated; they belong to the block of the group all the same

  Poles are the eigenvalues of a group's block, which is tridiag(-1, 2, -1) of all m rows between L and R. Between two
  separators (or Dirichlet ends) q Q = m + 1 as a rule, and sin(j s pi/q) depends on j only modulo 2q and up to sign:
  the poles fall into classes 1 to q - 1, and those of one class have the same right-hand side. Other groups (an end
  of another type in them, a last one of another length, a ring) have one set of poles, each with weights of its own.
*/
#pragma once

#include "reduction.h"
#include "../base/arena.h"

/* Poles whose right-hand sides are sums of the same rows. A group's right-hand sides are sums of its sources; its
   solutions, weighted and summed, go to its outs. Weights are stored as [bundle of plan->lanes poles][number of
   weights of a pole][lane], in the plan's precision; nsides is the number of separators beside the group */
typedef struct {
  PetscInt np;
  PetscInt number;  /* of this set in the plan */
  PetscInt first;   /* number of its first pole in the plan */
  double *lambda;   /* [np], for unit coupling */
  void *reduce_src; /* classes: NULL, the class' sum of rows has weight one; else ns weights */
  void *reduce_out; /* classes: 1; else nsides */
  void *back_src;   /* classes: 1, that of the separators; else ns + nsides */
  void *back_out;   /* classes: 1; else ns */
} BCRPoleSet;

/* A kind of group: groups that are alike share one */
typedef struct {
  PetscInt m;  /* rows of its block */
  PetscInt ns; /* rows of the level: L + first, L + first + Q, ... */
  PetscInt first;
  PetscBool left, right; /* the separators L and R exist */
  PetscBool classes;
  PetscInt nsets;  /* classes: ns; else 1 */
  BCRPoleSet *set; /* [nsets] */
  /* classes: sin(c s pi/q), c and s from 1 to ns, at (c - 1) ldw + s - 1, in the plan's precision; where there are
     separators ldw = 2 ns, and each row stands there twice: a separator has two groups beside it */
  PetscInt ldw;
  void *W;
  /* classes of so few poles that a bundle has room for several: those of nside groups side by side. The tables of lines
     are made for this set then, and not for those above */
  PetscInt nside;
  BCRPoleSet *side;
} BCRGroup;

typedef struct {
  PetscInt Q, Qn, ngroups;
  BCRGroup *group[3]; /* kinds of the first group, of those between, of the last one; they may be the same */
} BCRReductionLevel;

/* What a step does. Reduction of classes: an item is a separator, which gets what the groups beside it send; all other
   steps: an item is a group */
typedef enum {
  BCR_STEP_REDUCE_CLASSES,
  BCR_STEP_REDUCE_POLES,
  BCR_STEP_BACK_CLASSES,
  BCR_STEP_BACK_POLES
} BCRStepWork;

/* Items that do the same with different rows. An item has np poles p; their right-hand sides are sums of its sources,
   they are solved with  D + a lambda[p],  and sums of their solutions are added to its outs (reduction) or take their
   place (back substitution). BCRReductionStepWeights() has all weights; classes are sums that need fewer operations */
typedef struct {
  BCRStepWork work;
  PetscInt level;
  const BCRGroup *group;
  PetscBool left, right; /* which groups beside the separator, or which separators beside the group, are sources */
  PetscBool twice;       /* a node-centred Neumann row sees the group on its left on its right, too */
  PetscInt count, nsrc, nout, np;
  /* row numbers from 0. Sources of a separator: the rows of its left group from the separator outwards, then those of
     its right group; of a group: its rows, in the back substitution then L and R */
  PetscInt *src; /* [count][nsrc] */
  PetscInt *out; /* [count][nout] */
} BCRReductionStep;

typedef struct {
  PetscInt n; /* block rows */
  PetscBool periodic;
  BCREnd end[2];
  double a;       /* coupling of block rows */
  double scale;   /* what lines are multiplied with; the weights of solutions have it */
  PetscInt lanes; /* how weights are stored */
  PetscBool single;
  PetscInt nlevels, nsets, npoles, nsteps;
  BCRReductionLevel level[BCR_MAX_LEVELS];
  BCRPoleSet **set;       /* [nsets], those that lines have tables for */
  BCRReductionStep *step; /* [nsteps] */
  BCRArena arena;
} BCRReductionPlan;

static inline PetscBool BCRStepBack(const BCRReductionStep *step)
{
  return (PetscBool)(step->work == BCR_STEP_BACK_CLASSES || step->work == BCR_STEP_BACK_POLES);
}

static inline PetscBool BCRStepClasses(const BCRReductionStep *step)
{
  return (PetscBool)(step->work == BCR_STEP_REDUCE_CLASSES || step->work == BCR_STEP_BACK_CLASSES);
}

/* redgroups.c. The plan, zero before, along axis dim - 1 of the spec. single, lanes: how it stores weights */
PETSC_INTERN PetscErrorCode BCRReductionPlanCreate(const BCRReductionSpec *spec, PetscBool single, PetscInt lanes,
                                                   BCRReductionPlan *plan);
PETSC_INTERN PetscErrorCode BCRReductionPlanFree(BCRReductionPlan *plan);
/* Lines along x have constant coefficients and a coupling to be divided by */
PETSC_INTERN PetscBool BCRReductionUniformLines(const BCRAxis *x);

/* redpoles.c: the poles of a group whose rows and separators are known */
PETSC_INTERN PetscErrorCode BCRGroupClasses(BCRReductionPlan *plan, PetscInt Q, BCRGroup *group);
/* end: of the block; coupleR: coupling of separator R to the block, in a */
PETSC_INTERN PetscErrorCode BCRGroupPoles(BCRReductionPlan *plan, PetscInt Q, const BCREnd end[2], double coupleR,
                                          BCRGroup *group);
/* classes of up to ngroups groups side by side */
PETSC_INTERN PetscErrorCode BCRGroupSideBySide(BCRReductionPlan *plan, PetscInt Q, PetscInt ngroups, BCRGroup *group);
/* weight k of nw of a pole */
PETSC_INTERN double BCRPoleWeight(const BCRReductionPlan *plan, const void *weights, PetscInt nw, PetscInt pole,
                                  PetscInt k);

/* redsteps.c */
PETSC_INTERN PetscErrorCode BCRReductionPlanSteps(BCRReductionPlan *plan);
/* lambda[np], wsrc[np][nsrc], wout[np][nout] of a step of a plan in double; free them with PetscFree3() */
PETSC_INTERN PetscErrorCode BCRReductionStepWeights(const BCRReductionPlan *plan, const BCRReductionStep *step,
                                                    double **lambda, double **wsrc, double **wout);
/* Of a solve. nrow: unknowns of a block row; inner: of the solution for one pole, where that is
   a plane; NULL: it is a line */
PETSC_INTERN BCRReductionCost BCRReductionPlanCost(const BCRReductionPlan *plan, PetscInt nrow,
                                                   const BCRReductionCost *inner);
