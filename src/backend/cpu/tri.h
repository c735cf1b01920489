/*
  Batches of tridiagonal lines for src/tridiagonal and src/recurrence: tiles of lines whose lanes
  are solved side by side.

  A field holds inner * n * outer numbers, (i, j, o) at i + inner*(j + n*o), j along the lines. Tiles,
  by BCRTriShape.kind:
    ACROSS  nv*BL neighbouring i of one o: rows of the tile are contiguous in memory (lines along y and z)
    ALONG   BL neighbouring o, all inner (few) i: memory is transposed on the way (lines along x); nv = inner
    LINE    one line at a time (few lines)
  In a tile's scratch row j is nv bundles of BL lanes: element (j, v, lane) at (j*nv + v)*BL + lane.
  BL is BCRCpuTable.bundle. Lanes that hold no line are zero. Fields are of PetscReal, scratch and tables of the work
  type.
*/
#pragma once

#include <stddef.h>

enum {
  BCR_TRI_ACROSS,
  BCR_TRI_ALONG,
  BCR_TRI_LINE
};

/* Neither was measured apart; bench/results/cpu_lines.csv has the times of lines with both */
#define BCR_TRI_NV       8  /* bundles in a row of a tile, at most */
#define BCR_TRI_LAG_ROWS 32 /* rows of a block, BCRTriScan.lag: a diagonal of 4 couplings reaches so far */

typedef struct {
  ptrdiff_t inner, n, outer;
  int kind, nv;
  ptrdiff_t across; /* ACROSS: tiles with the same o */
  ptrdiff_t tiles;
} BCRTriShape;

/* Stored factors: forward y_j = f_j - lower_j y_{j-1}, backward u_j = pivotinverse_j y_j - upper_j u_{j+1}. Tables are
   of the work type, [nt + nlast]. One for all lines: row j has entry j for j < nt, entry nt - 1 while j < n - nlast,
   then nt + j - (n - nlast). One for each: tile after tile as in its scratch (LINE: line after line), nt = n, nlast =
   0. Periodic: the last row is y = f_{n-1} - sum lastrow_j y_j, and its unknown u_{n-1} enters row j < n - 1 with
   lastcolumn_j. */
typedef struct {
  BCRTriShape shape;
  int perline, periodic, stream; /* stream: write u past the caches */
  ptrdiff_t nt, nlast;
  const void *lower, *pivotinverse, *upper, *lastrow, *lastcolumn; /* the last two of periodic lines */
} BCRTriFactors;

/* Two constant recurrences and corrections at the ends (src/tridiagonal/scan.c). Interior rows h <=
   j < n - t: forward y_j = gamma f_j + alpha y_{j-1} from y_{h-1} = 0, backward u_j = y_j + d
   alpha^{j-h+1} + beta u_{j+1} from u_{n-t} = e. All unknowns of the ends come from G: x_0..x_{h-2}
   = u_0..u_{h-2}, x_{h-1} = d, x_h.. = u_{n-t}..u_{n-1}, times (f_0..f_{h-1}, f_{n-t}..f_{n-1}, s,
   y_{n-t-1}), with s = sum beta^{j-h} y_j, what u_h would be with d = e = 0. Powers are tabled in
   blocks of BL rows from row 0 on: in block b >= 1 first[b] * inside[r], in block 0 zero[r]. Tables
   of one entry for all lines, or tile after tile, entry after entry, lane after lane. */
typedef struct {
  ptrdiff_t blocks;                  /* from here on the powers are negligible */
  const void *zero, *first, *inside; /* BL, blocks, BL entries */
} BCRTriPowers;

typedef struct {
  BCRTriShape shape;
  int perline, h, t;
  const void *abc;   /* alpha, beta, gamma */
  const void *G;     /* (h + t) x (h + t + 2), by rows */
  const void *uh;    /* u_h = s + uh[0] d + uh[1] e */
  BCRTriPowers a, b; /* of alpha (d's) and of beta (s') */
  /* > 0: where u_h differs from what G took it to be by more than check, relative, correct the line */
  double check;
  int stream; /* write u past the caches */

  /* one for all: rows after which all powers are negligible, blocks of BCR_TRI_LAG_ROWS in which
     that is; 0: other kernels (trilag_kernels.h) */
  ptrdiff_t reach, lag;
  const void *weights; /* powers of beta, BCR_TRI_LAG_ROWS + 1 */
} BCRTriScan;

typedef struct {
  size_t (*scanwork)(const BCRTriScan *); /* elements, with lag */
  /* elements of a tile's scratch, margins included */
  size_t (*work)(const BCRTriShape *);
  void (*pack)(const BCRTriShape *, ptrdiff_t tile, const void *f, void *w); /* w: row 0 */
  void (*unpack)(const BCRTriShape *, ptrdiff_t tile, const void *w, void *u);
  void (*factors)(const BCRTriFactors *, const void *f, void *u, void *work); /* all tiles; u may be f */
  void (*scan)(const BCRTriScan *, const void *f, void *u, void *work);
} BCRTriTable;
