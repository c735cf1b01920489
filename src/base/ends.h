/*
  What the first and last rows of an axis can be. Plain C, no PETSc: for kernels of both backends, too.

  A uniform axis has rows (-a, 2a, -a). Beyond an end its solution goes on as its own image in a point
  near the end row, even (Neumann) or odd (Dirichlet) about it; everything else follows from that:

     x   [0]  [1]  [2] ...     distance 2: the node beyond the end row, x
       x [0]  [1]  [2] ...     distance 1: half a cell beyond it
         [0]  [1]  [2] ...     distance 0: the end row itself
*/
#pragma once

typedef enum {
  BCR_END_DIRICHLET,      /* node-centred, value beyond the end is zero: row (2a, -a) */
  BCR_END_NEUMANN,        /* node-centred, mirrored: row (2a, -2a) */
  BCR_END_CELL_NEUMANN,   /* cell-centred: row (a, -a) */
  BCR_END_CELL_DIRICHLET, /* cell-centred: row (3a, -a) */
  BCR_END_PERIODIC,       /* both ends of the axis */
  BCR_END_GENERAL         /* any other first row; the axis then carries lower/diag/upper */
} BCREnd;

/* End types that coefficients alone describe: all before it */
#define BCR_ENDS BCR_END_GENERAL

#if defined(__CUDACC__)
  #define BCR_END_BOTH __host__ __device__
#else
  #define BCR_END_BOTH
#endif

/* Where the solution is mirrored beyond an end */
typedef struct {
  int sign;     /* of the image: 1 even, -1 odd; 0: the end is no mirror */
  int distance; /* from the end row to the point, in halves of the mesh width */
} BCREndMirror;

/* The end row, in couplings a of the axis */
typedef struct {
  const char *name;
  double inward;   /* its coupling to the row beside it */
  double diagonal; /* what its diagonal has beside the 2 of the other rows */
  double excess;   /* sum of the row: how strongly the end holds the solution */
  /* its entry in the null vector of the transpose of a singular axis, of which others are 1: rows
     times that are symmetric */
  double weight;
  BCREndMirror mirror;
} BCREndRule;

BCR_END_BOTH static inline BCREndRule BCREndMakeRule(const char *name, double inward, double diagonal, double excess,
                                                     double weight, int sign, int distance)
{
  const BCREndMirror mirror = {sign, distance};
  const BCREndRule rule = {name, inward, diagonal, excess, weight, mirror};

  return rule;
}

/* The one table of end types. No default: the compiler names who forgot one */
BCR_END_BOTH static inline BCREndRule BCREndGetRule(BCREnd end)
{
  switch (end) { /* name, inward, diagonal, excess, weight, sign and distance of the mirror */
  case BCR_END_DIRICHLET:
    return BCREndMakeRule("Dirichlet", 1, 0, 1, 1, -1, 2);
  case BCR_END_NEUMANN:
    return BCREndMakeRule("Neumann", 2, 0, 0, 0.5, 1, 0);
  case BCR_END_CELL_NEUMANN:
    return BCREndMakeRule("cell Neumann", 1, -1, 0, 1, 1, 1);
  case BCR_END_CELL_DIRICHLET:
    return BCREndMakeRule("cell Dirichlet", 1, 1, 2, 1, -1, 1);
  case BCR_END_PERIODIC: /* a row as all others */
    return BCREndMakeRule("periodic", 1, 0, 0, 1, 0, 0);
  case BCR_END_GENERAL: /* nothing of its own: the coefficients of the axis have it */
    return BCREndMakeRule("general", 1, 0, 0, 1, 0, 0);
  }
  return BCREndMakeRule("unknown", 1, 0, 0, 1, 0, 0);
}

BCR_END_BOTH static inline double BCREndExcess(BCREnd end)
{
  return BCREndGetRule(end).excess;
}

BCR_END_BOTH static inline int BCREndIsPeriodic(BCREnd end)
{
  return end == BCR_END_PERIODIC;
}

BCR_END_BOTH static inline int BCREndIsGeneral(BCREnd end)
{
  return end == BCR_END_GENERAL;
}

/* The row is as all others, and the node beyond it has the value zero. So is a row beside a
   separator, whose value is in the right-hand side */
BCR_END_BOTH static inline int BCREndIsZero(BCREnd end)
{
  return end == BCR_END_DIRICHLET;
}

BCR_END_BOTH static inline BCREnd BCREndAtSeparator(void)
{
  return BCR_END_DIRICHLET;
}

/* The only row of an axis: nothing along it */
BCR_END_BOTH static inline BCREnd BCREndOfOne(void)
{
  return BCR_END_CELL_NEUMANN;
}

/* The end half a cell beyond its row, even or odd about it */
BCR_END_BOTH static inline BCREnd BCREndOfCell(int sign)
{
  return sign < 0 ? BCR_END_CELL_DIRICHLET : BCR_END_CELL_NEUMANN;
}
