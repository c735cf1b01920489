/*
  The host's core: what its files share. core.c makes it, coretables.c has its tables, coresolve.c and coreplane.c solve,
  coreborder.c solves where rows go on on other ranks.
*/
#pragma once

#include "../plan.h"
#include "../reduction.h"
#include "../../tridiagonal/transpose.h"

typedef struct { /* of one plane */
  BCRLevel0Shape shape;
  BCRLevel0Kind kind[3];
  double scale;
  BCRLinesTab tab;
  BCRLinesGen gen;
  BCRPoleSum sum;
  BCRPoleLine line;
  PetscBool general;
  /* bordered, level 0: couplings of the first and the last separator to the interfaces, for unit coupling */
  double *tointerface[2];
} BCRPlanePlan;

/* SPECTRAL: corespectral.c. Part `last` of the axes is transformed, divided and transformed back last; on several ranks each has
   whole lines along it for a share of the modes of the others, columns first .. first + count - 1 */
typedef struct {
  PetscInt last, first, count, strip; /* strip: columns that go through these three steps at a time */
  void *shift, *slope, *norm;         /* [count] symbol of a column: shift + slope lambda; norm of its modes */
  void *lambda, *rownorm;             /* [n of last] */
  PetscInt pin;                       /* column with the constant mode of a singular operator, -1: none here */
  PetscMPIInt pinrank;
  PetscBool shared;
  BCRTranspose t;
  double *here, *there, *row;
} BCRSpectral;

/* FOURIER and LEVEL0 with ends of rows that are no mirrors: coreends.c */
typedef struct {
  int n, end[2];                /* ends that differ, 0: none; which */
  double *trace[2], *source[2]; /* [n of rows] of each mode: what g_a^T has of it; what e_a is in it */
  BCREigen eigen;               /* of the lines' axis */
  double *mu;                   /* [n of lines] its eigenvalues */
  double *inverse;              /* [planes][n of lines][2][2] (I + K)^-1 */
  double *z;                    /* [2][n of lines] */
  double *strip;                /* FOURIER: lines of some modes */
  /* LEVEL0: eigenpairs of the groups of a kind; what is left of mode j of a group and mode k of the rows at 8 times
     row j, [planes][kinds][8][n of rows], and output scales, [planes][kinds][8] */
  BCRLevel0Modes modes[3];
  double *inverses, *scales;
  double *columns, *sources; /* BCRLevel0Args */
  double *traces;            /* [2][separators], as D */
  double *sums;              /* [2][separators][8] for groups inside, and [2][2][8] for those at the ends */
} BCRCoreEnds;

struct _n_BCRCore {
  BCRPlan plan;
  BCRPlanKind kind; /* plan->kind */
  /* The plan's axes by their parts: rows, blocks, across. Arrays of axis belong to the plan */
  PetscInt dim, n[3], lines; /* lines: FOURIER: part of the axis that they are along, 0 or 1 */
  BCRAxis axis[3];
  const double *lambda[3], *norm[3]; /* [n[i]] */
  /* between neighbours. outer: of f and u where those have no unit stride; packed then holds the box */
  ptrdiff_t stride[3], outer[3];
  void *packed;
  double factor;
  PetscBool singular, single; /* single: work type */
  BCRPrecision io;
  BCRCoreOptions options;
  const BCRCpuTable *cpu, *narrow; /* narrow: of vectors half as long, for a few lines */
  PetscInt nplane;
  BCRPlanePlan *plane; /* [nplane] */
  BCRDtt dtt[3];
  BCREigen eigen[3];        /* the plan's, by parts: in place of dtt */
  const BCRCpuTable *poles; /* POLES: their kernels; dtt[1] transforms the separators along y */
  BCRReduction red;
  BCRArena arena;         /* tables */
  BCRArena space;         /* work arrays */
  void *D, *work, *work0; /* separators, transforms and lines, level 0 */
  ptrdiff_t ldd;
  double *pivot; /* LINE: 1/P */
  double *round; /* LINE, a general ring: [n - 1], its product with f is what the last unknown gets of the other rows */
  /* LEVEL0, POLES, singular: means of the rows of f and of u; NULL where the mean of u is not known from them */
  double *rowsum;
  void *corner;   /* rows of a group; NULL where all weights are one */
  void *spare;    /* products of axes: the separators of these groups, before they are coupled to their rows */
  double unit[2]; /* couplings along x and y of a singular plane, in the unit of its separators */
  double endsum;
  PetscBool bordered; /* core.h */
  BCRCoreBorder border;
  ptrdiff_t dplane;         /* elements of D for one plane: bordered cores keep all */
  double *line;             /* POLES: of the constant mode */
  double *edge[2], *column; /* bordered; singular and not: w v of plane_sums() */
  double lineq;             /* periodic line: norm of the last unknown */
  BCRSpectral spectral;
  BCRCoreEnds ends;
  PetscInt pinx, piny, pinz; /* positions of the constant modes of a singular operator */
};

static inline PetscBool axis_general(const BCRAxis *a)
{
  return a->lower ? PETSC_TRUE : PETSC_FALSE;
}
/* null vector of the transpose of a singular axis */
static inline double end_weight(const BCRAxis *a, PetscInt i)
{
  return a->weight ? (double)a->weight[i] : BCRAxisGetEndWeight(a, i);
}
static inline double axis_weight(const BCRAxis *x)
{
  return x->n - (1 - end_weight(x, 0)) - (1 - end_weight(x, x->n - 1));
}

/* The means m of the rows (columns) of the solution, of weighted mean zero, from those of f less its mean */
PETSC_INTERN void BCRCoreLineMeans(const BCRAxis *y, const double *f, double mean, double *m);
/* bytes of the second-level cache, otherwise where the system does not say */
PETSC_INTERN size_t BCRCoreCacheBytes(size_t otherwise);

/* coretables.c: everything that depends on the shift and the factor */
PETSC_INTERN PetscErrorCode BCRCoreTables(BCRCore c);

/* coreplane.c: plane k. singular: it has the constant mode; norm: of the plane's mode */
PETSC_INTERN void BCRCorePlaneSolve(BCRCore c, PetscInt k, PetscBool singular, double norm, const void *f, void *u,
                                    PetscReal *removed);
/* groups that are worked on at a time, so that their separators fill the vectors of the transform; POLES, whose
   transform is that of all, looks at rows as long as the cache has them */
static inline ptrdiff_t core_group_step(BCRCore c)
{
  return c->kind == BCR_PLAN_POLES ? 8 : PetscMax(c->cpu->lanes * BCRDttLines(c->dtt[0]), 2);
}
/* transforms rows of D, the last few of them in shorter vectors if they would fill less than half of the long ones */
PETSC_INTERN void BCRCoreTransformRows(BCRCore c, int direction, ptrdiff_t count, void *D);
/* substitution back into all groups; separators first .. end - 1 are still modes */
PETSC_INTERN void BCRCoreBackGroups(BCRCore c, const BCRPlanePlan *p, BCRLevel0Args *args, const void *f, void *u,
                                    void *D, ptrdiff_t first, ptrdiff_t end);
/* corespectral.c */
PETSC_INTERN PetscErrorCode BCRSpectralCreate(BCRCore c, const BCRCoreShare *share);
PETSC_INTERN PetscErrorCode BCRSpectralTables(BCRCore c);
PETSC_INTERN PetscErrorCode BCRSpectralSolve(BCRCore c, const void *f, void *u, PetscReal *removed);
PETSC_INTERN PetscErrorCode BCRSpectralDestroy(BCRCore c);
/* coreends.c: tables of all planes, modes of groups; *work: numbers of scratch, at least; lines of a plane's modes in
   place, whose solutions are multiplied by scale and norms; separators' right-hand sides in modes, which get what the
   ends leave out */
PETSC_INTERN PetscErrorCode BCRCoreEndsTables(BCRCore c, const BCRLevel0Modes modes[3], size_t *work);
PETSC_INTERN void BCRCoreEndsSeparators(BCRCore c, PetscInt plane, void *D);
PETSC_INTERN PetscErrorCode BCRCoreEndsDestroy(BCRCore c);
PETSC_INTERN void BCRCoreEndsLines(BCRCore c, PetscInt plane, double scale, double *u, ptrdiff_t ld);
/* coresolve.c: a transform along role 1 or 2 of all lines of the box */
PETSC_INTERN void BCRCoreTransformLayers(BCRCore c, PetscInt axis, int direction, const void *f, void *u);

static inline double get(BCRPrecision io, const void *f, ptrdiff_t i)
{
  return io == BCR_DOUBLE ? ((const double *)f)[i] : ((const float *)f)[i];
}
static inline void set(BCRPrecision io, void *f, ptrdiff_t i, double v)
{
  if (io == BCR_DOUBLE) ((double *)f)[i] = v;
  else ((float *)f)[i] = (float)v;
}
static inline void *at(BCRPrecision io, const void *f, ptrdiff_t i)
{
  return (char *)f + i * (io == BCR_DOUBLE ? sizeof(double) : sizeof(float));
}
