#pragma once

#include "reduced.h"
#include "chains.h"
#include "transpose.h"
#include "../base/node.h"

/*
  Systems with neighbours alone. The rows of a boundary between two ranks with rows, p before and q
  after it, concern a group of ranks: p, q, and the ranks without rows between them. Each gets the
  rows it needs of the pieces next to the boundary and solves them itself. One array holds, in this
  order and in rows of all these systems: `before` rows of the rank before, what this rank adds to
  the last of these, its own rows, what is added to the last of its own by the rank after, `after`
  rows of the rank after, and what ranks without rows add.
*/
typedef struct {
  PetscMPIInt peer, tag;
  PetscInt row, rows; /* in the array */
} BCRRowsMessage;

typedef struct {
  PetscInt ns, *index; /* systems, and their numbers; NULL: all */
  /* rows from the ranks before and after, of this rank, and where those begin */
  PetscInt before, after, own, first;
  PetscInt addbefore, addafter, nrows; /* rows for what is added, or -1; rows of the array */
  PetscInt left, nleft, right, nright; /* what ranks without rows add on both sides */
  PetscInt nsend, nrecv;
  BCRRowsMessage *send, *recv;
  MPI_Request *requests; /* recv, send */
  BCRChains chains;
  PetscInt *rows; /* of the chains, in the array */
  double *array;
} BCRNeighbours;

struct _n_BCRReduced {
  MPI_Comm comm;
  PetscMPIInt rank, size, tags[4];
  PetscInt nsys, rows, flags, nvec, total; /* total: rows of a system on all ranks */
  PetscBool periodic;
  PetscInt *counts;         /* rows of all ranks */
  PetscInt nshared, *index; /* systems shared out, and their numbers; NULL: all */
  BCRTranspose there, back;
  PetscInt *there_rows, *block; /* rows of the chains, and blocks of the ranks, on the side of the shares */
  BCRChains chains;
  double *here, *share;
  MPI_Request request;
  /* Ranks that load from one another: [SENT], [SOLVED] of each, a line of the cache each, then here and share */
  BCRNode *node; /* NULL: messages */
  BCRNodeMemory memory;
  PetscInt memvec;       /* values that it is for */
  uint64_t solve;        /* solves begun */
  const double **theirs; /* [2 size] here of all, what they have solved for this rank */
  BCRNeighbours nb;
  BCRReducedInfo info;
};

/* How far each rank has come in a solve */
enum {
  SENT,   /* its rows are in its memory */
  SOLVED, /* its share is */
  STEPS
};

/* What elimination on this rank has met: an error, or a pivot that cannot be used */
typedef struct {
  PetscErrorCode ierr;
  PetscInt system, row; /* system -1: none; row of rank owner */
  PetscMPIInt owner;
} BCRReducedPivot;

/* Collective. coef: [rows][nsys][4] low, diag, up, and which of them are cut (1: low, 2: up); give: [2*size] work */
PETSC_INTERN PetscErrorCode BCRNeighboursCreate(BCRReduced r, const double *coef, PetscInt *give,
                                                BCRReducedPivot *pivot);
PETSC_INTERN PetscErrorCode BCRNeighboursSetVectors(BCRReduced r);
PETSC_INTERN PetscErrorCode BCRNeighboursBegin(BCRReduced r, const double *g, const double *add);
PETSC_INTERN PetscErrorCode BCRNeighboursEnd(BCRReduced r, double *x, double *before, double *after);
PETSC_INTERN PetscErrorCode BCRNeighboursDestroy(BCRReduced r);
