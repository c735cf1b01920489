/*
  Three dimensions by planes that go through the second-level cache: ring*.cu. Conventions: cuda.h.
*/
#pragma once

#include "border.h"
#include "../../base/ends.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* Transforms along x and y, lines along z in three passes over memory; x is contiguous, y and z are the two other axes in
   either order. One kernel transforms planes both ways: its tasks are some rows, whose transform goes to a ring of planes
   that stays in the second-level cache, or some columns, which are taken from there. A plane of modes has `columns`
   columns of `column` complex numbers, of which each is two real modes (BCRCudaRingModes()). Modes are where the solution
   will be if there are as many as numbers, and planes of it are one piece; else they need memory of their own (apart).

   Ends of an axis: */
typedef enum {
  BCR_CUDA_RING_PERIODIC,
  BCR_CUDA_RING_CELL,       /* two cell-centred ones of a kind */
  BCR_CUDA_RING_SINES,      /* two node-centred Dirichlet ones: n + 1 intervals */
  BCR_CUDA_RING_COSINES,    /* two node-centred Neumann ones: n - 1 intervals */
  BCR_CUDA_RING_CELL_MIXED, /* cell-centred Neumann and Dirichlet */
  BCR_CUDA_RING_NODE_MIXED  /* node-centred Neumann and Dirichlet: n intervals */
} BCRCudaRingEnds;
/* An axis as the kernels take it: */
typedef struct {
  BCRCudaRingEnds ends;
  int odd;           /* cell-centred: Dirichlet; mixed: Dirichlet comes first */
  int n, len;        /* numbers; length of the transform: n, n + 1 between SINES, n - 1 between COSINES */
  int each;          /* numbers of a thread */
  int lines;         /* lines that a block transforms at a time, a power of two */
  const void *roots; /* BCRCudaRingRoots(), in the work type */
} BCRCudaRingAxis;
typedef struct {
  BCRCudaRingAxis axis[2];
  int nz, threads, planes, ahead; /* threads of a block; planes of the ring, and that rows are ahead of columns */
  ptrdiff_t frow, urow;           /* numbers from row to row of f and u */
  ptrdiff_t fplane, uplane;       /* and from plane to plane */
  int columns, column;            /* of modes */
  int apart;                      /* modes are not where the solution will be; given if they must not be */
  ptrdiff_t modes; /* numbers from plane to plane of modes, at least 2 columns column: where they are apart
                                     BCRCudaRingShape() says how many */
  double scale;    /* of the modes */
  void *ring;      /* BCRCudaRingBytes() */
  int *count;      /* BCRCudaRingCounts() numbers; zero, as every solve leaves them for the next one */
  /* The transform along y divided between planes and lines (split.cuh), without a ring; N1 0: not
     so. Columns of an item; segments of a block, blocks of a cluster, clusters */
  struct {
    int N1, columns, segments, cluster, clusters;
  } split;
} BCRCudaRing;
/* Lines along z, one for each mode: n rows of unit coupling between two ends or round (ends BCR_END_...). Those of the
   singular mode (pin, the first one) lose the mean of the right-hand side, which times removedfactor goes to removed,
   and of the solution. sums: if given, of the solution over its nodes, one of each block (BCRCudaRingLinesBlocks()); not of
   lines that go on.

   over: the table has one number more, which multiplies the solution (BCRCudaRingTable() with slopes).

   At an open end they go on on other ranks; the last row is an interface row if the high end is open. Number i of a plane of
   modes is of mode mode[i] of the interfaces (-1: of none), whose right-hand sides are gain times those of the lines, and
   whose solutions times `back` are theirs */
typedef struct {
  int n, end[2], pin, open[2], over;
  const void *tab; /* BCRCudaRingTable(), in the work type: [BCR_CUDA_RING_TABLE][modes of a plane] */
  double removedfactor, *removed, *sums;
  const int *mode;
  double gain, back;
} BCRCudaRingLines;
enum {
  BCR_CUDA_RING_TABLE = 9, /* open ends; 5 without, and over */
  BCR_CUDA_RING_OVER = 6,
  BCR_CUDA_RING_WAVES_MOST = 512 /* rows of lines of waves */
};
/* Lines sigma + slope T that are of neither sign, by the eigenvectors of T: where the table has what changes nothing, so
   that the lines can be solved after them. Not of a divided transform */
typedef struct {
  int n, half[2];              /* rows; an end counts half */
  const double *analysis;      /* [row][mode], ends that count half with their weight */
  const double *synthesis;     /* [mode][row], with the norms of the modes */
  const double *lambda;        /* [mode] */
  const double *sigma, *slope; /* of each mode of a plane */
  double a;                    /* of the table */
  int *list;                   /* how many there are, and which, of the modes of a plane */
} BCRCudaRingWaves;

/* Whether there are kernels for planes of these sizes and of the ends that ring has, and the shape of their blocks; the
   ring must be at most `cache` bytes, shared memory of a block at most `shared` */
BCR_CUDA_API int BCRCudaRingShape(const int n[3], int single, int sms, size_t cache, int shared, BCRCudaRing *ring);
/* The same for a divided transform: not of node-centred ends, and lines that segments of its kernels have room for. Modes
   are apart */
BCR_CUDA_API int BCRCudaSplitShape(const int n[3], int single, BCRCudaRing *ring);
BCR_CUDA_API size_t BCRCudaRingBytes(const BCRCudaRing *ring, int single);
BCR_CUDA_API int BCRCudaRingCounts(const BCRCudaRing *ring);
/* for transforms along axis d: how many complex numbers, and these, as pairs of doubles, if w is given */
BCR_CUDA_API int BCRCudaRingRoots(const BCRCudaRing *ring, int single, int d, double *w);
/* what the transforms there and back multiply an axis with */
BCR_CUDA_API double BCRCudaRingFactor(const BCRCudaRingAxis *axis);
/* sigma[2 columns column]: c[0] + c[1] x[i] + (c[2] + c[3] x[i]) y[j] of each mode of a plane, where x and y are of the cosines (odd ends: of mode n - 1 -
   i), of the sines, of the waves of mixed ends in their order, or, periodic, of the waves 0 to n/2 */
BCR_CUDA_API int BCRCudaRingModes(BCRStream stream, const BCRCudaRing *ring, const double *x, const double *y,
                                  const double c[4], double *sigma);
/* mode[2 columns column]: i + n j, as BCRAxisModes numbers the modes of the axes, n those of x; -1: of none */
BCR_CUDA_API int BCRCudaRingNumbers(BCRStream stream, const BCRCudaRing *ring, int *mode);
/* From sigma/a, a the coupling along z. slope: lines a^-1 (sigma + slope T) of any sign in place of it (over); of those
   that are neither positive nor negative, if there are any (waves), BCRCudaRingWaves has the solution */
BCR_CUDA_API int BCRCudaRingTable(BCRStream stream, const BCRCudaRingLines *lines, int single, ptrdiff_t modes,
                                  double a, const double *sigma, const double *slope, int waves, void *tab);
/* list; and the solutions of these lines, before BCRCudaRingSolve() */
BCR_CUDA_API int BCRCudaRingWavesList(BCRStream stream, const BCRCudaRingLines *lines, const BCRCudaRingWaves *waves,
                                      ptrdiff_t modes);
BCR_CUDA_API int BCRCudaRingWavesSolve(BCRStream stream, const BCRCudaRing *ring, const BCRCudaRingWaves *waves,
                                       int single, void *w);
/* to modes w, which may be f where they are not apart */
BCR_CUDA_API int BCRCudaRingForward(BCRStream stream, const BCRCudaRing *ring, int single, const void *f, void *w);
BCR_CUDA_API int BCRCudaRingSolve(BCRStream stream, const BCRCudaRing *ring, const BCRCudaRingLines *lines, int single,
                                  void *w);
BCR_CUDA_API int BCRCudaRingBackward(BCRStream stream, const BCRCudaRing *ring, int single, const void *w, void *u);
/* Open ends. Ends: right-hand sides of the own interface row, of mode m at interface[-m], and of the one before, that are
   left when the rows between are eliminated. Given: the lines with the solutions of both; a singular right-hand side loses
   *mean, times removedfactor, and nothing of the solution. Reduced: with the reduced systems (BCRCudaSepSolveReduced());
   with a window also the exchange, and of a singular operator both means */
BCR_CUDA_API int BCRCudaRingBorderEnds(BCRStream stream, const BCRCudaRing *ring, const BCRCudaRingLines *lines,
                                       int single, void *w, double *interface, double *previous);
BCR_CUDA_API int BCRCudaRingSolveGiven(BCRStream stream, const BCRCudaRing *ring, const BCRCudaRingLines *lines,
                                       int single, void *w, const double *after, const double *before,
                                       const double *mean);
BCR_CUDA_API int BCRCudaRingSolveReduced(BCRStream stream, const BCRCudaRing *ring, const BCRCudaRingLines *lines,
                                         int single, void *w, const BCRCudaBorderRows *rows, const double *received,
                                         int part, const BCRCudaWindow *window);
/* where BCRCudaRingSolve() does not solve the lines: counts */
BCR_CUDA_API int BCRCudaRingClear(BCRStream stream, const BCRCudaRing *ring);
/* The solution of a singular problem loses its mean, in mode (0, 0): what BCRCudaRingSolve() leaves to be done where an
   axis has COSINES (sums: BCRCudaRingSums() numbers), and of other solvers of the lines (sums may be NULL but for COSINES).
   lines: NULL, or those that have left their sums there */
BCR_CUDA_API int BCRCudaRingSums(const BCRCudaRing *ring, int single);
BCR_CUDA_API int BCRCudaRingMean(BCRStream stream, const BCRCudaRing *ring, const BCRCudaRingLines *lines, int single,
                                 void *w, double *sums);
BCR_CUDA_API int BCRCudaRingLinesBlocks(const BCRCudaRing *ring, int n, int single);
/* The same of lines that go on: the sum over this rank's planes, in units of mode (0, 0); factor *sum comes to that mode */
BCR_CUDA_API int BCRCudaRingSum(BCRStream stream, const BCRCudaRing *ring, int single, void *w, double *sums,
                                double *sum);
BCR_CUDA_API int BCRCudaRingAdd(BCRStream stream, const BCRCudaRing *ring, int single, void *w, const double *sum,
                                double factor);
BCR_CUDA_API int BCRCudaRingLinesPossible(int n, int single); /* BCRCudaRingSolve() */

#if defined(__cplusplus)
}
#endif
