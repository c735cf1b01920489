/*
  Level 0 of the default plan: level0*.cu. Conventions: cuda.h.
*/
#pragma once

#include "cuda.h"
#include "../../base/ends.h"
#include "planemean.h"

#if defined(__cplusplus)
extern "C" {
#endif

/*
  Rows (of blocks), groups and separators are those of src/backend/cpu/level0.h. Here 27 rows with radix 8 between two
  Neumann ends (beside a Dirichlet end a group of 7 rows is regular, too), and what a kernel's blocks have of them where
  per is 1:

      row      0 .. 6  | 7 | 8 .. 14 |15 |16 .. 22 |23 |24 .. 26
               group 0   s0  group 1   s1  group 2   s2  group 3
      kind     1: first      0: regular    0: regular    2: last, 1 to 8 rows
                             g0 = 1        g1 - 1 = 2
      blocks   one for it    strip 0       strip 1       one for it

  A block has a tile of columns of its groups, and columns more on either side, its halo, from where the recurrences
  along the row begin:

      columns    ...|  halo  |   tile   |  halo  |...
*/

/* level0*.cu: level 0 of the default plan, of radix 8 or, where couplings along the row are not the
   stronger ones, 4 (a row fits one tile, all groups are regular) or 16 (single precision). Tables
   for each plane and kind of group (0 regular, 1 first, 2 last), in the work type:
   BCR_CUDA_LEVEL0_TAB(m) numbers, m = BCR_CUDA_LEVEL0_MOST(radix) the most rows of a group; m of
   them each: mu, weights of the modes in what the separator on the left gets, on the right
   (regular: unused), scale of the solution (regular); then the matrices of analysis and synthesis,
   m x m, of groups that are not regular; the inverse of the scale that separators in u have;
   weights of the rows and of the modes of such groups in `sums` */
#define BCR_CUDA_LEVEL0_MOST(radix) ((radix) > 8 ? 16 : 8)
#define BCR_CUDA_LEVEL0_SHARE(m)    (m)
#define BCR_CUDA_LEVEL0_OUT(m)      (3 * (m))
#define BCR_CUDA_LEVEL0_A(m)        (4 * (m))
#define BCR_CUDA_LEVEL0_S(m)        ((4 + (m)) * (m))
#define BCR_CUDA_LEVEL0_INVERSE(m)  ((4 + 2 * (m)) * (m))
#define BCR_CUDA_LEVEL0_GREEN(m)    ((5 + 2 * (m)) * (m))
#define BCR_CUDA_LEVEL0_ENDS(m)     ((6 + 2 * (m)) * (m))
#define BCR_CUDA_LEVEL0_TAB(m)      ((7 + 2 * (m)) * (m))
#define BCR_CUDA_LEVEL0_MODES       15 /* of a regular group, at most */
/* Unknowns of a row that radix 4 takes, at most. Rows of 511 and 1023 were timed on an H200 (commit 18db7f0): a row
   then is one tile of BCR_LEVEL0_RADIX4_256x5, which has 1280 columns with its halo */
#define BCR_CUDA_LEVEL0_SMALL 1100
typedef struct {
  int nx, planes, ng, yperiodic, radix;
  /* rows of another rank go on at that end; the last row of the last group is a separator then */
  int open[2];
  int short0; /* 1: the first group has six rows */
  int hlast;  /* rows of the last group */
  /* 1: the row behind the last group, which is the last one, is a separator (not of whole rows) */
  int sepend;
  /* regular groups g0 .. g1 - 1, in strips of per; of the others there is one at most at either end */
  int g0, g1, per, strips;
  BCREndMirror mirror[2]; /* of the ends along the row, none: it is periodic */
  int halo;               /* columns */
  /* regular groups: doublings after which mu^K is below rounding, for each mode */
  int steps[BCR_CUDA_LEVEL0_MODES];
  /* numbers of f, u, D from row to row (ld..) and from plane to plane; eplane: of the strips' first contributions */
  ptrdiff_t ldf, fplane, ldu, uplane, ldd, dplane, eplane;
  const void *tab; /* [plane][kind][BCR_CUDA_LEVEL0_TAB(m)] */
  /* a single plane's: regular groups, as in tab */
  double mu[BCR_CUDA_LEVEL0_MODES], share[BCR_CUDA_LEVEL0_MODES], out[BCR_CUDA_LEVEL0_MODES], inverse;
  /* device: subfactor times it is subtracted from f in the back substitution; NULL: nothing */
  const double *sub;
  double subfactor;
  int subplane;
  /* device, elimination of one plane with radix 8: a number for each warp of each block, together the sum of f with weights
     p (8 - p)/2 in row p = 1, 2, ... of a regular group, those of the tables in others. A column that is a node and a mirror
     has half of that, and half of what there is of the solution between separators that are zero. NULL: not wanted */
  double *sums;
  BCRCudaPlaneMean mean; /* substitution of whole rows, by BCRCudaLevel0RowsBlocks() blocks of a plane */
  /* device, substitution: the solution gets addfactor times the sum of these nadd numbers. NULL: nothing */
  const double *add;
  int nadd;
  double addfactor;
  int shape;          /* BCR_LEVEL0_128x7, ... */
  const void *before; /* open[0]: solution in the row before the first, where separators are in u */
  int early;          /* the transforms that follow, or came before, have a multiprocessor each */
} BCRCudaLevel0;
/* The kernels of level0.cuh: threads of a block x columns of a thread; radix 8 unless it is named */
enum {
  BCR_LEVEL0_128x7,
  BCR_LEVEL0_64x7,
  BCR_LEVEL0_256x5,
  BCR_LEVEL0_RADIX4_256x5,
  BCR_LEVEL0_RADIX4_128x5,
  BCR_LEVEL0_256x7, /* single precision, as those of radix 16 */
  BCR_LEVEL0_RADIX16_384x5,
  BCR_LEVEL0_RADIX16_320x5
};
/* sets shape, from nx, halo, ng, planes, radix: columns of a thread and of a tile, halos included,
   and blocks that a multiprocessor runs at a time */
BCR_CUDA_API void BCRCudaLevel0Shape(BCRCudaLevel0 *p, int single, int sms, int *K, int *columns, int *blocks);
/* D: right-hand sides of separators; what the first separator of strip b (b = strips: that of the
   last group) gets besides goes to row b of extra. open[0]: what the row before the first gets goes
   to the row of D behind the separators' */
BCR_CUDA_API int BCRCudaLevel0Reduce(BCRStream stream, const BCRCudaLevel0 *p, int single, const void *f, void *D,
                                     void *extra);
/* separators' solutions are in u or, where something is added to them, in D as their right-hand sides (else NULL), from
   where they come to u */
BCR_CUDA_API int BCRCudaLevel0Back(BCRStream stream, const BCRCudaLevel0 *p, int single, const void *f, void *u,
                                   const void *D);

/* level0small.cu: level 0 of regular groups with the sine transform of the separators (dst.cu,
   whose table it takes), where a block has whole rows between Dirichlet ends: D gets the modes of
   the separators' right-hand sides but for what the group after separator s adds, which is row s +
   1 of extra. Back from the modes of their solutions in D, u may be f */
BCR_CUDA_API int BCRCudaLevel0SmallPossible(const BCRCudaLevel0 *p, int single, int shared);
BCR_CUDA_API int BCRCudaLevel0SmallReduce(BCRStream stream, const BCRCudaLevel0 *p, int single, int sms,
                                          const void *table, const void *f, void *D, void *extra);
BCR_CUDA_API int BCRCudaLevel0SmallBack(BCRStream stream, const BCRCudaLevel0 *p, int single, int sms,
                                        const void *table, const void *D, const void *f, void *u);

/* level0rows*.cu: the same where a block has whole rows between Dirichlet ends, in place: f is u,
   separators stay in D. slots: blocks that the device runs at a time */
BCR_CUDA_API int BCRCudaLevel0RowsPossible(const BCRCudaLevel0 *p, int single, int sms, int *slots);
BCR_CUDA_API int BCRCudaLevel0RowsReduce(BCRStream stream, const BCRCudaLevel0 *p, int single, const void *f, void *D,
                                         void *extra);
BCR_CUDA_API int BCRCudaLevel0RowsBack(BCRStream stream, const BCRCudaLevel0 *p, int single, void *u, void *D);
BCR_CUDA_API int BCRCudaLevel0RowsBlocks(const BCRCudaLevel0 *p); /* of a plane */

#if defined(__cplusplus)
}
#endif
