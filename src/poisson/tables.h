/*
  Tables of the default plan, all computed in double once for each matrix: lines over block rows or
  separators (lines.c) and level 0 in physical space (level0.c). Kernels get them in the work type.
*/
#pragma once

#include "core.h"
#include "../base/arena.h"
#include "../base/modes.h"
#include "../backend/cpu/cpu.h"
#include <math.h>

/* Rows of a line in the eigenbasis of the other axes: block rows (every gap 0), or separators with gap eliminated rows
   between neighbours. An end gap of 0 means that the first (last) row itself has the end type. */
typedef struct {
  PetscInt n; /* rows, the last unknown of a periodic line included */
  BCREnd end[2];
  /* general ends of open lines: sum of that row, its coupling to the next, in unit coupling */
  double excess[2], inward[2];
  /* eliminated rows beyond the first and the last row; periodic: gapend[0] lies between the last and the first row */
  PetscInt gapend[2];
  PetscInt gap;     /* between neighbours inside */
  PetscInt gaplast; /* periodic: between the last but one and the last row */
} BCRLineRows;

/* What the end is of 4a - T when every other unknown of the axis changes its sign: an image half a cell away changes its
   sign, too */
static inline BCREnd BCREndAlternate(BCREnd end)
{
  const BCREndMirror mirror = BCREndGetRule(end).mirror;

  return mirror.distance == 1 ? BCREndOfCell(-mirror.sign) : end;
}

/* A line shift + slope T as a (T + delta). Where slope is negative it is a (T' + delta) with T' = 4 - T, which is such an
   axis when every other unknown changes its sign (BCREndAlternate()). delta > 0: it is definite. There is a slope, if
   only below rounding of the shift, so that decays and pivots of the line have values */
typedef struct {
  double a, delta;
  PetscBool alternates;
} BCRModeLine;
static inline BCRModeLine BCRModeLineMake(double shift, double slope)
{
  const double a = PetscMax(fabs(slope), 1e-17 * fabs(shift));
  const BCRModeLine line = {a, (slope < 0 ? shift + 4 * slope : shift) / a, slope < 0 ? PETSC_TRUE : PETSC_FALSE};

  return line;
}

/* delta[k]: eigenvalue of the block row minus 2 - unit block coupling - for mode k; below 0 only in open lines in double
   precision whose ends are no mirrored rows, and where eliminated rows are definite by themselves. norm: the factor of
   the mode's solution. alternates: those whose block rows change their signs in turn (BCRModeLine);
   NULL: none. single: the kernel's precision. strip: modes in a strip */
PETSC_INTERN PetscErrorCode BCRLinesTabCreate(const BCRLineRows *rows, PetscInt nk, const double *delta,
                                              const double *norm, const PetscBool *alternates, PetscBool single,
                                              PetscInt strip, BCRArena *arena, BCRLinesTab *tab);
/* what the line of a singular mode (delta = 0) makes of a right-hand side of ones: 1 + the eliminated rows' shares */
PETSC_INTERN double BCRLineRowsOnes(const BCRLineRows *rows, PetscInt s);

/* Couplings of the first and the last row to what lies beyond their end gaps, for unit coupling */
PETSC_INTERN double BCRLineRowsReach(const BCRLineRows *rows, int end, double delta);
/* Solves the open line of the mode with delta = 0 in place, for a unit norm; work: n numbers */
PETSC_INTERN void BCRLineRowsSolve(const BCRLineRows *rows, double g[], double work[]);

/* The groups of level 0 of that radix (picture: src/backend/cpu/level0.h): separators as rows of a line (gapend: rows of the first and
   the last group), number of groups. open: rows of other ranks go on at that end; the last row of
   the axis is then a separator itself, but not a row of the line */
PETSC_INTERN PetscErrorCode BCRLevel0Rows(const BCRAxis *y, PetscInt radix, const PetscBool open[2], BCRLineRows *rows,
                                          PetscInt *ngroups);
/* Eigenpairs of a group of h <= ld rows with one end (docs/method.md, section 4): synthesis S, row
   p at ld p, analysis A = S^-1, row j at ld j; ld at most 16 */
PETSC_INTERN void BCRLevel0GroupModes(PetscInt h, BCREnd end, PetscBool high, PetscInt ld, double lambda[], double A[],
                                      double S[]);
/* The same of the groups inside (kind 0), the first (1) and the last one (2), whose ends may be general; returns their
   rows */
PETSC_INTERN PetscInt BCRLevel0KindModes(const BCRLineRows *rows, PetscInt radix, int kind, PetscInt ld,
                                         double lambda[], double A[], double S[]);
/* What v has to be multiplied by to be the solution of a group's mode with that line: kernels do so with their output */
PETSC_INTERN double BCRLevel0OutputScale(const BCRModeLine *line, double unit);
/* Of the groups of one kind, the same for every shift; to begin with, zeros */
typedef struct {
  PetscBool known;
  double lambda[8], A[64], S[64];
} BCRLevel0Modes;
/* Level 0 of c[0] + c[1] T_x + c[2] T_y + c[3] T_x T_y, both of unit coupling. coupled: rows of a group are coupled to
   separators by c[2] + c[3] T_x, else by c[2], by which all is divided. rows, ng: of the groups. scale: of what is written
   to u. lanes: the kernels' BL. cache: bytes that the ring may take. modes: kept from one shift to the next. *possible:
   PETSC_FALSE where a group's lines are not definite on their own. */
PETSC_INTERN PetscErrorCode BCRLevel0Create(const BCRAxis *x, const BCRAxis *y, const PetscBool open[2],
                                            const BCRLineRows *rows, PetscInt ng, const double c[4], PetscBool coupled,
                                            double scale, PetscBool single, PetscInt lanes, size_t cache,
                                            BCRArena *arena, BCRLevel0Modes modes[3], BCRLevel0Shape *shape,
                                            BCRLevel0Kind kinds[3], PetscBool *possible);
/* The same of pairs (level0.h), of T_x a_x + T_y a_y + shift + i tau, open rows along x and y whole, in double precision. Lines of
   groups have to have a positive real part; block rows have unit coupling between groups and separators */
PETSC_INTERN PetscErrorCode BCRLevel0CreatePairs(const BCRAxis *x, const BCRAxis *y, const BCRLineRows *rows,
                                                 PetscInt ng, double shift, double tau, double scale, PetscInt lanes,
                                                 size_t cache, BCRArena *arena, BCRLevel0Modes modes[3],
                                                 BCRLevel0Shape *shape, BCRLevel0Kind kinds[3]);

/* Separators that are transformed across, along y (across.c): the nodes of a coarser axis */
typedef struct {
  BCRLineRows rows; /* the separators, with groups of 7 rows between them and of 7, 4 or 3 at the ends */
  PetscInt ng;      /* groups */
  BCREnd end[2];    /* of the coarser axis, which rows.n nodes has */
  PetscInt den;     /* the angles of its modes are multiples of pi/den */
} BCRAcross;
/* c: as level 0 has it. PETSC_FALSE where the separators cannot be such nodes, or where lines along x decay too slowly
   for the parallel form */
PETSC_INTERN PetscBool BCRAcrossRows(const BCRAxis *x, const BCRAxis *y, const double c[4], BCRAcross *across);
/* The line of the constant mode's first pole, which decays along x by the shift alone, if at all: by elimination */
typedef struct {
  PetscInt n, row; /* row: which mode; -1: none is constant */
  PetscBool ring;
  /* up, low: of the first and the last row; last: inverse pivot of a ring's last unknown */
  double scale, up, low, last;
  const double *inv;
} BCRPoleLine;
PETSC_INTERN void BCRPoleLineSolve(const BCRPoleLine *line, double v[]);
/* The sums over poles along x for the coarser axis' modes; lambda, norm: of their transform. lanes: the kernel's */
PETSC_INTERN PetscErrorCode BCRPoleSumCreate(const BCRAxis *x, const double c[4], double unit, const BCRAcross *across,
                                             const double lambda[], const double norm[], PetscBool single,
                                             PetscInt lanes, BCRArena *arena, BCRPoleSum *sum, BCRPoleLine *line);
