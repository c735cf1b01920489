/*
  Batches of tridiagonal lines for src/tridiagonal and src/recurrence: tiles of lines whose lanes are solved side by side.

  A field holds inner * n * outer reals, (i, j, o) at i + inner*(j + n*o), j along the lines. Tiles, by BCRTriShape.kind:
    ACROSS  nv*BL neighbouring i of one o: rows of the tile are contiguous in memory (lines along y and z)
    ALONG   BL neighbouring o, all inner (few) i: memory is transposed on the way (lines along x); nv = inner
    LINE    one line at a time (few lines)
  In a tile's scratch row j is nv bundles of BL lanes: element (j, v, lane) at (j*nv + v)*BL + lane. BL is BCRCpuTable.bundle. Lanes
  that hold no line are zero. io: the field is of double (1) while the kernel's work type is float; else 0.
*/
#pragma once

#include <stddef.h>

enum {
  BCR_TRI_ACROSS,
  BCR_TRI_ALONG,
  BCR_TRI_LINE
};

#define BCR_TRI_NV 8 /* bundles in a row of a tile, at most */

typedef struct {
  ptrdiff_t inner, n, outer;
  int       kind, nv;
  ptrdiff_t across; /* ACROSS: tiles with the same o */
  ptrdiff_t tiles;
} BCRTriShape;

/* Stored factors: forward y_j = f_j - l_j y_{j-1}, backward u_j = p_j y_j - q_j u_{j+1}. Tables of the work type. One for all lines: row j
   has entry j for j < nt, entry nt - 1 while j < n - nlast, then nt + j - (n - nlast). One for each: tile after tile as in its
   scratch (LINE: line after line), nt = n, nlast = 0. Periodic: the last row is y = f_{n-1} - sum r_j y_j, and its unknown u_{n-1} enters row
   j < n - 1 with e_j. */
typedef struct {
  BCRTriShape shape;
  int         perline, periodic;
  ptrdiff_t   nt, nlast;
  const void *l, *p, *q, *r, *e;
} BCRTriFactors;

typedef struct {
  size_t (*work)(const BCRTriShape *);                                                                  /* elements of a tile's scratch, margins included */
  void (*pack)(const BCRTriShape *, int io, ptrdiff_t tile, const void *f, void *w);                    /* w: row 0 */
  void (*unpack)(const BCRTriShape *, int io, ptrdiff_t tile, const void *w, void *u);
  void (*factors)(const BCRTriFactors *, int io, const void *f, void *u, void *work);                   /* all tiles; u may be f */
} BCRTriTable;
