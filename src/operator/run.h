/*
  Runs: rows of one pattern along a grid line, which are compared with the operator at the speed of memory.
*/
#pragma once

#include "compare.h"
#include "run_kernels.h"

#if defined(PETSC_USE_COMPLEX)
  #define BCR_PARTS 2
#else
  #define BCR_PARTS 1
#endif
#define BCR_RUN_NODES 16   /* nodes in a block */
#define BCR_RUN_OFF   (-2) /* an entry that is not compared */
#define BCR_RUN_ZERO \
  (-3) /* one that must be zero to the last digit, as the model's row has a factor that is not known */

/* What the line buffers are good for: nothing in them changes from line to line while this stays as it is */
typedef struct {
  double dev;
  PetscInt entries;
  int8_t slot[BCR_RUN_MAX]; /* of the star; -1: the model has nothing there; or BCR_RUN_OFF, _ZERO */
} BCRRunKey;

/* What the entries of a line are compared with */
typedef struct {
  PetscReal *ref, *tol; /* one array of malloc(): several threads may want theirs */
  size_t size, len;     /* len: entries until they repeat */
  BCRRunKey key;
  double *factors; /* of the other axes, 6 for each component */
  PetscBool valid;
} BCRRunLine;

/* kinds of lines that are remembered: those at the sides of a plane and the ones inside are three
   */
#define BCR_RUN_KINDS  4
#define BCR_BLOCK_LINE 1024 /* entries of a line up to which lines are compared together, */
/* and of all those: if they turn out different, they are in a cache when they are compared one by
   one */
#define BCR_BLOCK_ENTRIES 8192
/* in vain, one after the other, until no more are made: end rows that differ in rounding from line
   to line */
#define BCR_BLOCK_TRIES 16

typedef struct {
  PetscInt i0, i1;                       /* nodes of a grid line that every component has in its interior along x */
  PetscBool uniform;                     /* nothing of the model varies there */
  BCRRunLine line[BCR_RUN_KINDS], whole; /* whole: of a line with its end rows */
  int now, next;                         /* of the line before, -1: none; that is replaced */
  double *newfactors;
  int tries;      /* to compare lines together that are left */
  PetscBool kept; /* the line is of the kind of the line before */
  PetscInt like;  /* first node of that line if its end rows, too, have been compared; -1 else */
  PetscInt
    known; /* the node whose entries' places in the star are in seen, -1: none; sides: the ends of axes it is at */
  int sides;
  int8_t seen[BCR_RUN_MAX];
} BCRRun;

PETSC_INTERN PetscErrorCode BCRRunCreate(BCRCheck *ck, BCRRun *run);
PETSC_INTERN PetscErrorCode BCRRunDestroy(BCRRun *run);
/* The rows of nodes i0..i1 of the line through ix, all components: *same says that they are the
   model's. *fast = PETSC_FALSE: their pattern is not regular, nothing was done. No PETSc function
   is called: threads do it side by side. */
PETSC_INTERN void BCRRunCompare(BCRCheck *ck, BCRRun *run, const PetscInt line[3], const PetscBool active[],
                                PetscBool checkcolumns, PetscBool *fast, PetscBool *same);
/* Which components have something to compare in the line through ix: *some, *all; *near: no row of
   it has entries in another block, but zeros */
PETSC_INTERN void BCRLineActive(const BCRCheck *ck, const BCRRun *run, const PetscInt ix[3], PetscBool active[],
                                PetscBool *some, PetscBool *all, PetscBool *near);
/* The row of a node has the entries of the row of node like, a constant further on */
PETSC_INTERN PetscBool BCRRowsAlike(const BCRRows *A, PetscInt node, PetscInt like);
/* How many of n nodes of the box from `node` on have rows, all components, that are those of the nodes `back` before
   them, to the last bit, columns moved along, up to the first that has not. Rows with entries in other ranks' columns
   have not */
PETSC_INTERN PetscInt BCRRowsRepeat(const BCRRows *A, PetscInt node, PetscInt back, PetscInt n);
/* A line whose end rows are as good as those of another one if their entries are the same: no
   neighbour of it lies round a corner or on another rank, and nothing is kept for each row */
PETSC_INTERN PetscBool BCRLineInside(const BCRCheck *ck, const PetscInt ix[3]);
/* The lines behind the one through ix, all of whose rows are the model's, in its plane, as long as
   the model has there what it has in that line: their columns are those of the line before a
   constant further on, their values the model's, in end rows exactly those of that line. Returns
   how many lines are so; the next one is to be looked at by itself. */
PETSC_INTERN PetscInt BCRRunBlock(const BCRCheck *ck, BCRRun *run, const PetscInt line[3], PetscBool checkcolumns);
