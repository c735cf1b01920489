/*
  The few numbers of a capacitance system, and the few entries of fields that it has to do with, where they are: on the host, or
  on a CUDA device. Two tables of operations, BCRNumbersCpu() and BCRNumbersCuda(); the order in which a solve calls them is
  that of capacitance.c and directions.c, for both. Memory is that of the solver's backend (backend.h).

  On a device everything is launched on the stream; nothing waits but what gives numbers to the host.
*/
#pragma once

#include "backend.h"
#include <petscsf.h>

/* An array, and behind its first n numbers those of other ranks, ghost; NULL: there are none */
typedef struct {
  PetscScalar *v, *ghost;
  PetscInt n;
} BCRSpread;

/* A sparse matrix, lists of the host. y[to[i]] is a sum of value[k] x[from[k]] over k = start[i] .. start[i + 1] - 1 */
typedef struct {
  PetscInt rows;
  PetscInt *to;     /* [rows], no number twice; NULL: i */
  PetscInt *start;  /* [rows + 1]; NULL: k = i alone */
  PetscInt *from;   /* [start[rows]]; NULL: k */
  PetscReal *value; /* [start[rows]]; NULL: 1 */
  void *tables;     /* the operations' copy of them */
} BCRSparse;

/* y = (y) + alpha A x + beta d z, d >= 0, [rows] (NULL: 0) */
typedef struct {
  const BCRSparse *A;
  PetscReal alpha; /* 0: x may be anything, NaN as well */
  BCRSpread x, y;
  PetscBool add;
  PetscReal beta;
  const PetscReal *d;
  const PetscScalar *z;
  PetscReal *magnitude; /* [rows] sums of |value| |x|, or d |z| where that is more; or NULL */
} BCRSparseProduct;

/* Entries that rows of other ranks refer to. Those of this rank that others want stand in wanted, one rank behind another;
   those that this one wants, its ghosts, ascend in their numbers on all ranks, so that they are one rank behind another, too */
typedef struct {
  PetscSF sf;          /* roots: entries of all ranks; leaves: ghosts. NULL: no rank has any, and nothing else is set */
  PetscInt nto, nof;   /* ranks that want some of this one's entries; of which this one has ghosts */
  PetscMPIInt *to;     /* [nto] */
  PetscMPIInt *of;     /* [nof] */
  PetscInt *tostart;   /* [nto + 1] in wanted */
  PetscInt *ofstart;   /* [nof + 1] in ghosts */
  BCRSparse wanted;    /* from: [rows] */
  BCRSparse back;      /* its transpose */
  PetscScalar *packed; /* [wanted.rows] in the backend's memory, where that is not the host's */
} BCRGhosts;

typedef struct _BCRNumbersOps BCRNumbersOps;

/* Where they are */
typedef struct {
  const BCRNumbersOps *ops;
  const BCRBackend *be;
  BCRSolver solver;
  MPI_Comm comm;
  PetscMPIInt rank, size;
  void *stream; /* of a solve */
  void *work;   /* of the operations: partial sums */
} BCRNumbers;

/* Numbers of a system: those of this rank, where they are, and shared ones, the same on all ranks, on the host */
typedef struct {
  PetscScalar *v, *shared;
} BCRFew;

/* A block of k vectors, X: [k][n], and for products with it m vectors, y: [m][n] (m 0: one) */
typedef struct {
  PetscInt k;
  const PetscScalar *X, *y;
  PetscInt m;
} BCRBlock;
#define BCR_NUMBERS_BLOCKS 10 /* of one call, at most */

/* The end of a step: q = unit (q - what the blocks give with coefficients), which is kept as q1, z as z1; b -= y q; z = next b
   (next 0: z stays) */
typedef struct {
  PetscReal unit, next;
  PetscScalar y;
  PetscScalar *q, *z, *b, *q1, *z1;
} BCRStepEnd;

/* What a product q = K z is made of: q = d z + from y, y = M unit, unit = into z, whose other entries are zero */
typedef struct {
  const BCRSparse *into, *from;
  const PetscReal *d;
  PetscScalar *unit;
  BCRSpread y;
  PetscErrorCode (*box)(void *context); /* launches y = M unit on c->stream */
  void *context;
} BCRStepProduct;

/* Steps of directions.c that are launched at once: they go on as long as it is clear how. Directions are z, q: [k][n], of which the
   first `lead` ones and those from `old` on are looked at; b is looked at, too, where its norm is less than clean of `cleaned` */
typedef struct {
  PetscInt n, lead, old, k, steps;
  PetscBool fresh; /* unit = into z is not there, or anything has changed since the last call */
  PetscReal tol, norm, cleaned, size;
  PetscReal clean, again, zero, part; /* as in directions.c */
  PetscScalar *Q, *Z, *z, *q, *b;
} BCRAhead;
/* What a step has found */
typedef struct {
  PetscBool doubt;      /* nothing has been changed but q */
  PetscBool taken;      /* there is one more direction; b is smaller by its part */
  PetscBool next;       /* z is that for the next step */
  PetscBool clean;      /* b was made orthogonal to the directions */
  PetscReal q, b, norm; /* |q| behind the directions; |b| before and after */
  PetscReal size;       /* |K|^2, as far as it has been seen */
  PetscScalar y;        /* q^H b */
  const double *c, *e; /* [known] coefficients of q, and of b (clean), of BCR_PARTS doubles each; until the next call */
} BCRAheadStep;
#define BCR_NUMBERS_AHEAD 16 /* steps at a time, at most */

/* A number in such doubles */
static inline PetscScalar BCRNumberOf(const double parts[])
{
#if defined(PETSC_USE_COMPLEX)
  return PetscCMPLX((PetscReal)parts[0], (PetscReal)parts[1]);
#else
  return (PetscReal)parts[0];
#endif
}

struct _BCRNumbersOps {
  PetscMemType where;
  PetscErrorCode (*create)(BCRNumbers *c);
  PetscErrorCode (*destroy)(BCRNumbers *c);
  /* the operations' copies of n lists, which go together; tables_destroy before the lists change or go. Or NULL */
  PetscErrorCode (*tables)(BCRNumbers *c, PetscInt n, BCRSparse *const A[]);
  PetscErrorCode (*tables_destroy)(BCRSparse *A);
  PetscErrorCode (*product)(BCRNumbers *c, const BCRSparseProduct *p);
  /* x's ghosts from the ranks that have them; x += what is in ghosts here and on other ranks. Collective */
  PetscErrorCode (*fetch)(BCRNumbers *c, BCRGhosts *g, const BCRSpread *x);
  PetscErrorCode (*give)(BCRNumbers *c, BCRGhosts *g, const BCRSpread *x);
  /* launch(context), which changes c->stream and depends on nothing but the key, as often as the same key comes */
  PetscErrorCode (*run)(BCRNumbers *c, const void *key, size_t bytes, PetscErrorCode (*launch)(void *context),
                        void *context);

  PetscErrorCode (*copy)(BCRNumbers *c, PetscInt n, const PetscScalar *x, PetscScalar *y);
  PetscErrorCode (*set)(BCRNumbers *c, PetscInt n, PetscScalar alpha, PetscScalar *x);
  /* y = x times / over, of which neither need be one in itself; x may be y */
  PetscErrorCode (*scale)(BCRNumbers *c, PetscInt n, PetscReal times, PetscReal over, const PetscScalar *x,
                          PetscScalar *y);
  /* y += alpha x */
  PetscErrorCode (*add)(BCRNumbers *c, PetscInt n, PetscScalar alpha, const PetscScalar *x, PetscScalar *y);
  /* sums = X_j^H y of the blocks, [m][k] each, one behind another, of this rank, to the host; waits */
  PetscErrorCode (*dots)(BCRNumbers *c, PetscInt n, PetscInt nblocks, const BCRBlock blocks[], PetscScalar *sums);
  /* The same to where numbers are; nothing waits */
  PetscErrorCode (*dots_there)(BCRNumbers *c, PetscInt n, PetscInt nblocks, const BCRBlock blocks[], PetscScalar *sums);
  /* y += alpha sum of s_j X_j; s: coefficients of the blocks one behind another, on the host. m vectors y, with [m] such s */
  PetscErrorCode (*combine)(BCRNumbers *c, PetscInt n, PetscInt nblocks, const BCRBlock blocks[], PetscInt m,
                            PetscReal alpha, const PetscScalar *s, PetscScalar *y);
  /* Y = Y B + X A, of k vectors X and m vectors Y; A: [m][k], B: [m][m], upper triangular, on the host */
  PetscErrorCode (*mix)(BCRNumbers *c, PetscInt n, PetscInt k, const PetscScalar *X, const PetscScalar *A, PetscInt m,
                        const PetscScalar *B, PetscScalar *Y);
  PetscErrorCode (*step)(BCRNumbers *c, PetscInt n, PetscInt nblocks, const BCRBlock blocks[], const PetscScalar *s,
                         const BCRStepEnd *end);
  /* Or NULL. As many steps of a->steps as go on; found: [a->steps]; *most: directions that a step can look at, 0: no step can be
     launched ahead, of vectors of so many numbers. steps 0: prepares them. One rank; waits */
  PetscErrorCode (*ahead)(BCRNumbers *c, const BCRStepProduct *p, const BCRAhead *a, BCRAheadStep found[],
                          PetscInt *most);
  /* out[0] = {the largest of n numbers v >= 0, the sum of squares of these over it}, out[1] the same of |x|, to the host; waits.
     v, x: or NULL. NaN is in the sum */
  PetscErrorCode (*largest)(BCRNumbers *c, PetscInt n, const PetscReal *v, const PetscScalar *x, PetscReal out[2][2]);
  /* a component of a field, every dof-th number of it, and real numbers of its nodes: *sum = l^T x, to the host; x += alpha r.
     l, r: NULL: all one */
  PetscErrorCode (*nodes_sum)(BCRNumbers *c, PetscInt nodes, PetscInt dof, const PetscReal *l, const PetscScalar *x,
                              PetscScalar *sum);
  PetscErrorCode (*nodes_add)(BCRNumbers *c, PetscInt nodes, PetscInt dof, PetscScalar alpha, const PetscReal *r,
                              PetscScalar *x);
};

PETSC_INTERN const BCRNumbersOps *BCRNumbersCpu(void);
PETSC_INTERN const BCRNumbersOps *BCRNumbersCuda(void); /* NULL: not in this build */
/* Those of the solver's memory, or of the host. Collective */
PETSC_INTERN PetscErrorCode BCRNumbersCreate(MPI_Comm comm, BCRSolver solver, PetscBool host, BCRNumbers *c);
PETSC_INTERN PetscErrorCode BCRNumbersDestroy(BCRNumbers *c);
/* sums are those of all ranks. Collective */
PETSC_INTERN PetscErrorCode BCRNumbersSum(const BCRNumbers *c, PetscInt n, PetscScalar sums[]);
/* n numbers in that memory, zero; what: for the message where there is no room */
PETSC_INTERN PetscErrorCode BCRNumbersAlloc(BCRNumbers *c, PetscInt n, const char what[], PetscScalar **v);
PETSC_INTERN PetscErrorCode BCRNumbersAllocReal(BCRNumbers *c, PetscInt n, const char what[], PetscReal **v);
/* T = A^T, which is to be freed with BCRSparseFree() */
PETSC_INTERN PetscErrorCode BCRSparseTranspose(const BCRSparse *A, BCRSparse *T);
PETSC_INTERN PetscErrorCode BCRSparseFree(BCRSparse *A);
/* ghost: [n] numbers of entries on all ranks, of others, each once, ascending. Collective */
PETSC_INTERN PetscErrorCode BCRGhostsCreate(PetscLayout rows, PetscInt n, const PetscInt ghost[], BCRGhosts *g);
PETSC_INTERN PetscErrorCode BCRGhostsDestroy(BCRGhosts *g);
