/*
  From the operator as the reader gives it (scale, row weights, dropped planes, symmetric row
  scaling, complex scalars, several components, mixed precision, transposes) to the numerical core
  and back. Vectors are plain PetscScalar arrays in the natural ordering of the whole local box of
  the DMDA, dropped planes included: index = c + dof*(i + Nx*(j + Ny*k)), N_d = n_d + dropped
  planes.
*/
#pragma once

#include <petscviewer.h>
#include "core.h"
#include <petscdevicetypes.h>

typedef struct _n_BCRSolver *BCRSolver;

typedef struct {
  BCRCoreOptions core;   /* core.precision: BCR_DOUBLE, BCR_SINGLE or BCR_MIXED */
  PetscBool device;      /* on the CUDA device that is current */
  void *stream;          /* for what set-up does there */
  PetscBool plainlaunch; /* there: no CUDA graphs */
  PetscBool inplace;     /* solves in place will come (mixed precision keeps a vector for them) */
  int transport;         /* several ranks with devices: a BCRTransportKind (src/transport/transport.h) */
  PetscBool gpuaware;    /* MPI takes pointers of the device */
} BCRSolverOptions;

/* Slabs: rows start .. start + len - 1 of the whole box (dropped planes included) along axis are on
   this rank; the ranks of comm hold them in order, all of them; len may be 0 */
typedef struct {
  MPI_Comm comm;
  PetscInt axis, start, len;
} BCRSlab;

/* ops: dof operators, copied (deeply). slab NULL: one process has all. With slabs creation, solves and updates
   are collective; the operators' axes, shift, scale and planes are those of the whole box, the same on every
   rank, but what they have for each node (rowscale, inv and couplings of planes) is that of the rank's slab,
   numbered in the slab's own box: rowscale over the box rows that are on this rank; inv and couplings of a plane
   across the slabs' axis only on the rank that has it. The arrays of a solve are the rank's slab, in its natural
   ordering. *solver is NULL after an error. */
PETSC_INTERN PetscErrorCode BCRSolverCreate(PetscInt dof, const BCROperator ops[], const BCRSolverOptions *options,
                                            const BCRSlab *slab, BCRSolver *solver);
/* nrhs right-hand sides, column r at f + r*ldf, u + r*ldu; u may be f. where: the memory that they
   are in; in that of the device that the solver was created for it launches on the stream, and
   returns before it is done. Nothing is allocated, but by the first solve of a kind that has to be
   known before: transposed ones of singular operators, those in place in mixed precision (options),
   those of vectors that are not in the solver's memory, the first one in mixed precision that corrections fail for. */
PETSC_INTERN PetscErrorCode BCRSolverSolve(BCRSolver solver, PetscMemType where, void *stream, PetscBool transpose,
                                           PetscInt nrhs, const PetscScalar *f, PetscInt ldf, PetscScalar *u,
                                           PetscInt ldu);
/* Is there a device? *why (or NULL): what stands in the way */
PETSC_INTERN PetscBool BCRSolverHaveDevice(const char **why);
/* The fastest of so many solves, after two: f on the host, of n scalars; on a device the vectors are
   there while the clock runs */
PETSC_INTERN PetscErrorCode BCRSolverTime(BCRSolver solver, PetscInt n, const PetscScalar *f, PetscInt repeat,
                                          double *seconds);
/* What such a solver would run on: the device's name, or the instruction set */
PETSC_INTERN PetscErrorCode BCRSolverMachine(const BCRSolverOptions *options, size_t length, char name[]);
/* Takes new operators of the same shape (sizes, ends, planes). *done = PETSC_FALSE: more than
   scale, shift, plane or row scales changed, nothing was done, create anew. After an error the
   solver is to be destroyed; its solves fail. */
PETSC_INTERN PetscErrorCode BCRSolverUpdate(BCRSolver solver, const BCROperator ops[], PetscBool *done);
PETSC_INTERN PetscErrorCode BCRSolverDestroy(BCRSolver *solver);

typedef struct {
  BCRCoreInfo core; /* of the first component */
  size_t workspace; /* bytes, the cores' included, tables apart */
  size_t tables;
  /* device: of vectors of the host, made by the first solve with such vectors; no workspace */
  size_t copies;
  double flops;     /* of one solve with one right-hand side */
  PetscInt doubles; /* mixed precision: components that corrections would not do for, solved in double */
  /* singular operators: size of the constant that the last solve removed from the right-hand side */
  PetscReal removed;
  /* operators that are not definite (waves.h), of all components: modes whose eigenvalue has a negative real part, the
     smallest |eigenvalue| over the operator's size, modes that are left out; of the last right-hand sides, how much of
     them these had, and what that is as a backward error */
  PetscBool waves;
  double negative, least, left, leftpart, lefterror;
  char transport[384]; /* several ranks with devices: how messages go, in words */
  char ranks[256];     /* slabs: how the ranks are coupled, in words; empty without slabs */
  PetscBool onepass;   /* slabs on several ranks: this one goes through its rows once, not in two solves */
  char refused[2048];  /* slabs: the ways that this rank would rather solve, each with why not, a line each */
  /* device: solves are CUDA graphs from the second one on; how many were, and of what the last one consists */
  PetscBool graph;
  PetscInt graphs, nodes[4];   /* kernels, memory set, copies on the device, anything else */
  size_t bytes_sent, messages; /* slabs: by this rank in one solve with one right-hand side */
} BCRSolverInfo;
PETSC_INTERN PetscErrorCode BCRSolverGetInfo(BCRSolver solver, BCRSolverInfo *info);
/* Plans of the cores on this rank: axes, stages, ways that were refused and why. viewer: of this rank by itself */
PETSC_INTERN PetscErrorCode BCRSolverViewPlan(BCRSolver solver, PetscViewer viewer);
/* How ranks with devices exchange, a BCRTransport of the solver; NULL: one rank. Of a solver on a device, with a CUDA
   backend */
PETSC_INTERN PetscErrorCode BCRSolverTransport(BCRSolver s, void *transport);
