/*
  What solver.c, planes.c and refine.c share. A pass is the solve of one real field: one component,
  one of its real and imaginary part, of one right-hand side. Its vectors are PetscReal arrays whose
  nodes are es apart.
*/
#pragma once

#include "solver.h"
#include "ranks.h"
#include "../backend/cpu/fields.h"

/* The part of a dropped plane that lies beside box rows: its n[0] x n[1] nodes, lower axis fastest */
typedef struct {
  const BCRPlane *plane;
  PetscInt axis, side;
  PetscInt at, stride[2];  /* node numbers in the whole grid */
  PetscInt q, qstride[2];  /* numbers in the plane's own arrays */
  PetscInt n[2], other[2]; /* sizes, the axes they belong to */
  PetscInt inward;         /* from a node to its neighbour in the box */
  PetscBool couple;        /* box rows hold couplings to it */
} BCRFace;

/* A node of two or three planes (or of a plane whose neighbour is the opposite plane):  u[at] = inv
   f[at] + slope u[from] */
typedef struct {
  PetscInt at, from;
  PetscReal inv, slope;
} BCREdge;

/* Factors along one axis, and how many at either end differ from one (all of them, when those inside do) */
typedef struct {
  double *v;
  PetscInt head, tail;
} BCRFactors;

typedef struct {
  /* a copy, rowscale inverted, or devscale where the solver is on a device; see BCRSolverUpdate()
     for how its axes and scale stand after a change. With slabs: of this rank's slab */
  BCROperator op;
  /* the slabs' axis (-1: none), and number in the whole box of this rank's first row along it */
  PetscInt slab, first;
  BCRAxis whole;                   /* the slabs' axis as it is on all ranks together; planes without arrays */
  PetscInt N[3], stride[3], start; /* the whole grid; the box's first node */
  PetscInt core;                   /* which of the solver's cores; -1: the box is empty */
  PetscInt nface, nedge;
  BCRFace face[6];
  BCREdge *edge;         /* those that depend on others behind them */
  PetscInt edgestart[9]; /* first edge of each group of edges that do not depend on one another */
  /* [transpose][axis]: K^-1 stands between them, see BCRComponentSetWeights() */
  BCRFactors pre[2][3], post[2][3];
  PetscBool prescale[2], postscale[2];   /* on this rank */
  PetscBool weighted[2];                 /* prescale on some rank */
  PetscReal factor;                      /* what the core multiplies with: 1/scale, or 1 where pre has that */
  PetscInt badaxis, badrow;              /* badaxis >= 0: no diagonal similarity gives the transpose of that axis */
  double *lower[3], *diag[3], *upper[3]; /* refine.c: rows of scale*T */
  /* slabs along x: lower of the first and upper of the last node, which lower and upper do not have
     then */
  double beyond[2];
  PetscInt napart, *apartat;       /* rows apart: nodes of the whole grid, */
  PetscReal *apartinv, *apartwork; /* 1 over their diagonals, and, in a solve, their solution */
  /* [transpose]: see BCRComponentOnes(); the nodes of the rank's part of the grid */
  PetscReal *ones[2];
  double onesremoved[2]; /* 0: ones is not set */
  double norm;           /* bound on the largest row sum of |scale (T + shift)| */
} BCRComponent;

/* slab.c. A plane of boundary rows that is all that a rank has is solved by the rank that has the row next to it. */
typedef struct {
  MPI_Comm comm; /* MPI_COMM_NULL: no slabs */
  PetscMPIInt tag;
  PetscInt axis, total; /* rows along axis on all ranks */
  PetscInt start, len;  /* as the solver works */
  PetscInt glen;        /* of the caller's arrays */
  PetscBool moves;      /* some rank hands a row to another */
  /* this rank's only row goes to rank to; rows come from[0] at the low, from[1] at the high end;
     -1: none */
  PetscMPIInt to, from[2];
  PetscInt inner, outer;    /* scalars before and after the axis in a vector */
  PetscScalar *f, *u, *row; /* with the rows of others */
} BCRSlabs;
PETSC_INTERN PetscErrorCode BCRSlabsCreate(const BCRSlab *slab, PetscInt dof, const BCROperator ops[], BCRSlabs *slabs);
/* operators of the slab as the solver works, in place of ops; nothing is done where no row moves.
   To be freed with BCRSlabsFreeOperators() */
PETSC_INTERN PetscErrorCode BCRSlabsMoveOperators(BCRSlabs *slabs, PetscInt dof, const BCROperator ops[],
                                                  BCROperator **moved);
PETSC_INTERN PetscErrorCode BCRSlabsFreeOperators(BCRSlabs *slabs, PetscInt dof, BCROperator **moved);
/* the arrays to work on instead */
PETSC_INTERN PetscErrorCode BCRSlabsIn(BCRSlabs *slabs, const PetscScalar **f, PetscScalar **u);
PETSC_INTERN PetscErrorCode BCRSlabsOut(BCRSlabs *slabs, PetscScalar *u);
PETSC_INTERN PetscErrorCode BCRSlabsDestroy(BCRSlabs *slabs);

struct _n_BCRSolver {
  BCRSolverOptions options;
  /* not so after an error in the middle of BCRSolverUpdate(): nothing but destroying it is left */
  PetscBool whole;
  PetscInt dof;
  BCRComponent *comp;
  PetscInt ncore;
  BCRRanks *core, *fallback; /* fallback: double, for what single cannot correct; made when needed */
  PetscBool staged;          /* the cores work on stage, not on the caller's vectors */
  size_t stagesize;          /* of an element: 4 or 8 */
  PetscInt ldy, ldz;         /* of the cores' arrays, in elements */
  void *stage;               /* one box; mixed precision: residual and correction */
  /* mixed precision where the caller's vector cannot hold the sum of the corrections */
  PetscReal *accum;
  double *line; /* one row */
  size_t stagebytes, accumbytes;
  PetscInt ncorrect; /* corrections of the last solve */
  PetscReal removed;
  const BCRFieldsTable *fields;
  struct _n_BCRDeviceSolver *device; /* devsolver.c: cores and tables on a CUDA device, in place of core and stage */
  BCRSlabs slabs;
};

/* the axis on all ranks together */
static inline const BCRAxis *BCRComponentAxis(const BCRComponent *c, int d)
{
  return d == c->slab ? &c->whole : &c->op.axis[d];
}

typedef struct {
  const BCRComponent *c;
  PetscInt transpose;
  const PetscReal *f;
  PetscReal *u;
  /* node numbers times this may be more than a PetscInt holds: parts of complex numbers are two of
     each */
  ptrdiff_t es;
  PetscBool moves; /* some plane node adds to the box's right-hand side */
} BCRPass;

/* A singular operator whose right-hand side has factors of the axes, W^-1 (transposed H^-1): what
   the core removes is a constant behind these, in terms of f no constant. That makes u = M f
   unsymmetric where A is symmetric (half rows). With ones the solution for f = 1 (S where rows are
   scaled) and m(f) what is removed, M f - m(f)/m(1) ones is the solution for f less the constant
   m(f)/m(1). */
static inline PetscBool BCRComponentOnes(const BCRComponent *c, PetscInt transpose)
{
  return c->op.singular && c->core >= 0 && c->weighted[transpose] ? PETSC_TRUE : PETSC_FALSE;
}
/* solver.c: that right-hand side, at all nodes of the rank */
PETSC_INTERN PetscErrorCode BCRComponentOnesRhs(const BCRComponent *c, PetscInt transpose, PetscReal f[]);

/* solver.c, collective: an error of a rank's own steps becomes one of all ranks that have slabs;
   "Rank r <what>" on the others */
PETSC_INTERN PetscErrorCode BCRSolverShare(BCRSolver s, PetscErrorCode ierr, const char what[]);

/* Factors 1/S before and after the solve; A = S B has them at one end only */
static inline PetscBool BCRComponentScaled(const BCRComponent *c, PetscInt transpose, PetscBool after)
{
  return BCROperatorScaled(&c->op) && !(c->op.left && (transpose != 0) != after) ? PETSC_TRUE : PETSC_FALSE;
}

/* NULL: none, or on the device */
static inline const PetscReal *BCRComponentScale(const BCRComponent *c, PetscInt transpose, PetscBool after)
{
  return BCRComponentScaled(c, transpose, after) ? c->op.rowscale : NULL;
}

/* Rows apart, before a pass (f may be u), and behind the solution of the box */
static inline void BCRPassApartBefore(const BCRPass *p)
{
  for (PetscInt k = 0; k < p->c->napart; k++) p->c->apartwork[k] = p->c->apartinv[k] * p->f[p->c->apartat[k] * p->es];
}

static inline void BCRPassApartAfter(const BCRPass *p)
{
  for (PetscInt k = 0; k < p->c->napart; k++) p->u[p->c->apartat[k] * p->es] = p->c->apartwork[k];
}

/* planes.c */
PETSC_INTERN PetscErrorCode BCRPlanesSetUp(BCRComponent *c);
PETSC_INTERN void BCRPlanesBefore(BCRPass *p); /* what the planes' rows can say before the box is known, into u */
/* adds the planes' part to row (j, k) of the box's right-hand side */
PETSC_INTERN void BCRPlanesMove(const BCRPass *p, PetscInt j, PetscInt k, double line[]);
PETSC_INTERN void BCRPlanesAfter(const BCRPass *p); /* the rest of the planes' rows */

/* solver.c */
PETSC_INTERN void BCRSolverStrides(const PetscInt n[3], size_t size, PetscInt *ldy, PetscInt *ldz);
PETSC_INTERN PetscBool BCRPassMustPrepare(const BCRPass *p);
/* row (j, k) of the core's right-hand side */
PETSC_INTERN void BCRPassRowIn(const BCRPass *p, PetscInt j, PetscInt k, double line[]);
/* and of its solution into u; line is overwritten */
PETSC_INTERN void BCRPassRowOut(const BCRPass *p, PetscInt j, PetscInt k, double line[]);

/* Near to singular a correction gains little more than a digit, long before rounding, and what is
   left is in few rows: then the norm of the residual says too little of single rows, and
   corrections go on to rounding, or the solve to double precision */
static inline PetscBool BCRRefineSlow(double error, double before)
{
  return error > 1e-14 && error > 0.05 * before ? PETSC_TRUE : PETSC_FALSE;
}

/* refine.c: solves K v = (what BCRPassRowIn gives), v with leading dimensions ldv[0] (rows), ldv[1] (planes) */
PETSC_INTERN PetscErrorCode BCRRefineSetUp(BCRComponent *c);
PETSC_INTERN PetscErrorCode BCRRefineSolve(BCRSolver s, const BCRPass *p, PetscReal *v, const PetscInt ldv[],
                                           PetscReal *removed);

/* devsolver.c; the components of the solver are set up, stride: of the caller's vectors */
#if defined(PETSCBCR_HAVE_CUDA)
PETSC_INTERN PetscErrorCode BCRDeviceSolverCreate(BCRSolver s);
PETSC_INTERN PetscErrorCode BCRDeviceSolverUpdate(BCRSolver s); /* the components have new values */
PETSC_INTERN PetscErrorCode BCRDeviceSolverDestroy(BCRSolver s);
/* vectors on the host */
PETSC_INTERN PetscErrorCode BCRDeviceSolverStage(BCRSolver s, PetscBool transpose, PetscInt nrhs, const PetscScalar *f,
                                                 PetscInt ldf, PetscScalar *u, PetscInt ldu);
/* f on the host */
PETSC_INTERN PetscErrorCode BCRDeviceSolverTime(BCRSolver s, PetscInt n, const PetscScalar *f, PetscInt repeat,
                                                double *seconds);
PETSC_INTERN PetscErrorCode BCRDeviceSolverMachine(size_t length, char name[]);
PETSC_INTERN PetscErrorCode BCRDeviceSolverGetInfo(BCRSolver s, BCRSolverInfo *info);
#endif
PETSC_INTERN PetscBool BCRSameCore(const BCRComponent *a, const BCRComponent *b);
