/*
  What the files of the solver share: component.c, planes.c (set-up of components), solver.c (of cores,
  workspace), pass.c (the order of a solve), refine.c (mixed precision), backend.h and its two tables.
  A pass is the solve of one real field: one component, one of its real and imaginary part, of one
  right-hand side. Its vectors are PetscReal arrays whose nodes are nodestride apart.
*/
#pragma once

#include "solver.h"
#include "ranks.h"
#include "waves.h"

#if defined(PETSC_USE_COMPLEX)
  #define BCR_PARTS 2
#else
  #define BCR_PARTS 1
#endif
#define BCR_REAL_SINGLE (sizeof(PetscReal) == sizeof(float) ? PETSC_TRUE : PETSC_FALSE)
#define BCR_SLOTS       32 /* right-hand sides whose removed constants are kept */

typedef struct _BCRBackend BCRBackend; /* backend.h */

/* One real field over a box, in the backend's memory */
typedef struct {
  void *v;             /* its first node */
  PetscBool single;    /* floats, else doubles */
  ptrdiff_t stride[3]; /* elements between neighbours along each axis */
} BCRField;

/* The part of a dropped plane that lies beside box rows: its n[0] x n[1] nodes, lower axis fastest */
typedef struct {
  const BCRPlane *plane;
  PetscInt axis, side;
  PetscInt at, stride[2];  /* node numbers in the whole grid */
  PetscInt q, qstride[2];  /* numbers in the plane's own arrays */
  PetscInt n[2], other[2]; /* sizes, the axes they belong to */
  PetscInt inward;         /* from a node to its neighbour in the box */
  PetscBool couple;        /* box rows hold couplings to it */
  /* transposed: the plane's coupling times the weight of the box row beside it; over the row scale there */
  double back;
  PetscBool backscaled;
} BCRFace;

/* What a face adds to the right-hand side of the box in the rows beside it, node `end` along the
   face's axis: factor [couplings] [weights: those of the axes, before the solve] [scaled: the row
   scale there] times what its nodes have */
typedef struct {
  const BCRFace *face;
  PetscInt end;
  double factor;
  const PetscReal *couplings; /* [nodes of the plane], NULL: none */
  PetscBool weights, scaled;
} BCRFaceTerm;

/* A node of two or three planes (or of a plane whose neighbour is the opposite plane), which is worked on by itself:
   u[at] = inv f[at], and for each of its links u[at] += slope u[from] */
typedef struct {
  PetscInt at;
  PetscReal inv;
} BCREdge;
typedef struct {
  PetscInt at, from;
  PetscReal slope;
} BCRLink;
/* Groups of links that do not depend on one another, each behind those that it depends on: 6 planes of the node + 3 (the
   neighbour is the opposite plane) + the axis */
#define BCR_LINK_GROUPS 24

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
  PetscInt nface, nedge, nlink;
  BCRFace face[6];
  PetscInt nterm[2]; /* [transpose] */
  BCRFaceTerm term[2][6];
  BCREdge *edge;
  BCRLink *link;
  PetscInt linkstart[BCR_LINK_GROUPS + 1]; /* first link of each group */
  /* [transpose][axis]: K^-1 stands between them, see BCRComponentSetWeights() */
  BCRFactors pre[2][3], post[2][3];
  PetscBool prescale[2], postscale[2];   /* on this rank */
  PetscBool weighted[2];                 /* prescale on some rank */
  PetscReal factor;                      /* 1/scale, which the core multiplies with, or 1 where pre has that */
  PetscInt badaxis, badrow;              /* badaxis >= 0: no diagonal similarity gives the transpose of that axis */
  double *lower[3], *diag[3], *upper[3]; /* refine.c: rows of scale*T */
  /* slabs along x: lower of the first and upper of the last node, which lower and upper do not have then */
  double beyond[2];
  PetscInt napart, *apartat;       /* rows apart: nodes of the whole grid, */
  PetscReal *apartinv, *apartwork; /* 1 over their diagonals, and, in a solve, their solution */
  /* [transpose]: see BCRComponentOnes(); the nodes of the rank's part of the grid, in the backend's memory */
  PetscReal *ones[2];
  double onesremoved[2]; /* 0: ones is not set */
  PetscBool shifted;     /* the last update has brought another shift, which the cores have to be told, */
  PetscBool untried;     /* and which mixed precision has to be tried with, as one that is new */
  void *tables;          /* the backend's */
  /* mixed precision: corrections where their number is fixed; -1: in double from the start */
  PetscInt ncorrect;
  PetscBool wantdouble; /* a core in double is wanted */
  double norm;          /* bound on the largest row sum of |scale (T + shift)| */
} BCRComponent;

/* slab.c. A plane of boundary rows that is all that a rank has is solved by the rank that has the row next to it. */
typedef struct {
  MPI_Comm comm; /* MPI_COMM_NULL: no slabs */
  PetscMPIInt tag;
  PetscInt axis, total; /* rows along axis on all ranks */
  PetscInt start, len;  /* as the solver works */
  PetscInt glen;        /* of the caller's arrays */
  PetscBool moves;      /* some rank hands a row to another */
  /* this rank's only row goes to rank to; rows come from[0] at the low, from[1] at the high end; -1: none */
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
  const BCRBackend *be;
  void *state; /* the backend's */
  /* not so after an error in the middle of BCRSolverUpdate(): nothing but destroying it is left */
  PetscBool whole;
  BCRPrecision precision; /* options.core.precision, or what the backend can of it on these ranks */
  PetscBool mixed;        /* it is BCR_MIXED */
  PetscInt dof;
  BCRComponent *comp;
  PetscInt ncore;
  BCRRanks *core, *fallback; /* [ncore]; fallback: in double, for what single precision cannot correct; or NULL */
  BCRWaves *waves;           /* [ncore] in place of both, where operators are not definite */
  BCRPairs *pairs;           /* [ncore] complex vectors are solved as they are by these, if not NULL */
  double *wavesbox[2];       /* boxes for their right-hand sides, where the caller's vector is none; or NULL */
  /* the cores work on stage, one box, not on the caller's vectors; mixed precision: correction, and
     residual where the core has no array for it */
  PetscBool staged;
  BCRField stage;
  ptrdiff_t stagepart; /* elements from its real parts to imaginary ones, where a core couples both */
  /* mixed precision: the sum of the corrections, where the caller's vector cannot hold it; made when
     first needed unless sums */
  PetscBool sums; /* it never can */
  BCRField sum;
  size_t bytes;      /* of the workspace that BCRSolverArray() has given */
  PetscInt ncorrect; /* corrections of the last solve */
  /* constants that passes removed, [BCR_SLOTS][dof][BCR_PARTS], in the backend's memory; slots: right-hand
     sides of the last solve; earlier: the largest of solves before that belong to it */
  double *removed;
  PetscInt slots;
  PetscReal earlier;
  PetscScalar *copy, *hostcopy; /* a vector in the backend's memory, of the host's; on the host, of the backend's */
  size_t copies;
  BCRSlabs slabs;
};

/* the axis on all ranks together */
static inline const BCRAxis *BCRComponentAxis(const BCRComponent *c, int d)
{
  return d == c->slab ? &c->whole : &c->op.axis[d];
}

typedef struct {
  BCRSolver s;
  BCRComponent *c;
  PetscInt transpose;
  const PetscReal *f; /* in the backend's memory, as u */
  PetscReal *u;
  /* node numbers times this may be more than a PetscInt holds: parts of complex numbers are two of each */
  ptrdiff_t nodestride;
  PetscBool moves; /* some plane node adds to the box's right-hand side */
  void *stream;
  double *removed; /* the constant that the core removes, in the backend's memory */
} BCRPass;

/* A singular operator whose right-hand side has factors of the axes, W^-1 (transposed H^-1): what the core removes is a
   constant behind these, in terms of f no constant. That makes u = M f unsymmetric where A is symmetric (half rows).
   With ones the solution for f = 1 (S where rows are scaled) and m(f) what is removed, M f - m(f)/m(1) ones is the
   solution for f less the constant m(f)/m(1). */
static inline PetscBool BCRComponentOnes(const BCRComponent *c, PetscInt transpose)
{
  return c->op.singular && c->core >= 0 && c->weighted[transpose] ? PETSC_TRUE : PETSC_FALSE;
}

/* component.c */
PETSC_INTERN PetscErrorCode BCRComponentsCreate(BCRSolver s, const BCROperator ops[]);
PETSC_INTERN PetscErrorCode BCRComponentRelease(BCRComponent *c);
/* Both can be solved by one core */
PETSC_INTERN PetscBool BCRComponentSameCore(const BCRComponent *a, const BCRComponent *b);
/* The new operator's T is gamma times that of the core, gamma > 0 */
PETSC_INTERN PetscBool BCRComponentSameShape(const BCRComponent *c, const BCROperator *op, PetscReal *gamma);
/* op: of the same shape. Sets c->shifted */
PETSC_INTERN PetscErrorCode BCRComponentUpdate(BCRSolver s, const BCROperator *op, BCRComponent *c);
/* the right-hand side of BCRComponentOnes(), on the host, at all nodes of the rank */
PETSC_INTERN PetscErrorCode BCRComponentOnesRhs(const BCRComponent *c, PetscInt transpose, PetscReal f[]);
/* nodes of this rank, dropped planes included, and of the box */
static inline size_t BCRComponentNodes(const BCRComponent *c)
{
  return (size_t)c->N[0] * (size_t)c->N[1] * (size_t)c->N[2];
}
static inline size_t BCRComponentBox(const BCRComponent *c)
{
  return (size_t)c->op.axis[0].n * (size_t)c->op.axis[1].n * (size_t)c->op.axis[2].n;
}

/* of the box on all ranks */
static inline double BCRComponentUnknowns(const BCRComponent *c)
{
  return (double)BCRComponentAxis(c, 0)->n * (double)BCRComponentAxis(c, 1)->n * (double)BCRComponentAxis(c, 2)->n;
}

/* Factors 1/S before and after the solve; A = S B has them at one end only */
static inline PetscBool BCRComponentScaled(const BCRComponent *c, PetscInt transpose, PetscBool after)
{
  return BCROperatorScaled(&c->op) && !(c->op.left && (transpose != 0) != after) ? PETSC_TRUE : PETSC_FALSE;
}

/* The right-hand side of the box is not just f */
static inline PetscBool BCRPassMustPrepare(const BCRPass *p)
{
  return p->moves || p->c->prescale[p->transpose] || BCRComponentScaled(p->c, p->transpose, PETSC_FALSE) ? PETSC_TRUE
                                                                                                         : PETSC_FALSE;
}

/* Complex vectors, that the host solves as they are; both parts of a pass */
PETSC_INTERN PetscErrorCode BCRPassPairs(const BCRPass p[]);

/* The host solves the box of an operator that is not definite by BCRWaves, a device by a core */
PETSC_INTERN PetscBool BCRComponentWaves(BCRSolver s, const BCRComponent *c);
/* On a device, by a core that couples real and imaginary parts */
PETSC_INTERN PetscBool BCRComponentCoupled(BCRSolver s, const BCRComponent *c);

/* planes.c */
PETSC_INTERN PetscErrorCode BCRPlanesSetUp(BCRComponent *c);
PETSC_INTERN PetscErrorCode
BCRPlanesBegin(BCRPass *p); /* what the planes' rows can say before the box is known, into u */
PETSC_INTERN PetscErrorCode BCRPlanesEnd(const BCRPass *p); /* the rest of the planes' rows */

/* solver.c, collective: an error of a rank's own steps becomes one of all ranks that have slabs;
   "Rank r <what>" on the others */
PETSC_INTERN PetscErrorCode BCRSolverShare(BCRSolver s, PetscErrorCode ierr, const char what[]);
/* Strides of a box of elements of size bytes; rows that would be a multiple of 1 KB apart get pad bytes more, unless
   numbers then are too large */
PETSC_INTERN void BCRSolverStrides(const PetscInt n[3], size_t size, size_t pad, PetscInt *ldy, PetscInt *ldz);
/* workspace of the backend, which lives as long as the solver */
PETSC_INTERN PetscErrorCode BCRSolverArray(BCRSolver s, size_t bytes, const char what[], void *p);
/* What solves of one kind need besides, once: transposed ones, those in place. Collective */
/* A core of component c in double, where corrections have failed for a right-hand side and set-up has made none. Collective */
PETSC_INTERN PetscErrorCode BCRSolverFallback(BCRSolver s, const BCRComponent *c);
PETSC_INTERN PetscErrorCode BCRSolverReserve(BCRSolver s, void *stream, PetscInt transpose, PetscBool inplace);

/* pass.c */
PETSC_INTERN PetscErrorCode BCRPassSolve(BCRPass *p); /* one real field */
/* Real and imaginary part, p[BCR_PARTS], of an operator that is not definite, on the host */
PETSC_INTERN PetscErrorCode BCRPassWaves(BCRPass p[]);
/* or has a complex shift, on a device */
PETSC_INTERN PetscErrorCode BCRPassCoupled(BCRPass p[]);
PETSC_INTERN PetscErrorCode BCRPassRemoved(BCRSolver s, void *stream, PetscReal *largest);

/* where mixed precision sums: in the box of u, or in s->sum */
PETSC_INTERN void BCRPassSum(const BCRPass *p, BCRField *v);

/* refine.c. Rows of the box, and a bound on its norm */
PETSC_INTERN PetscErrorCode BCRRefineSetUp(BCRComponent *c);
/* v = K^-1 g in mixed precision, with the right-hand side of the pass. *good: to the precision of double */
PETSC_INTERN PetscErrorCode BCRRefineSolve(const BCRPass *p, const BCRField *v, PetscBool *good);
/* sets c->ncorrect, by a trial; collective */
PETSC_INTERN PetscErrorCode BCRRefineTrial(BCRSolver s, BCRComponent *c);
