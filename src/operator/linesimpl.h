/*
  Shared by the files of the reader of lines.
*/
#pragma once

#include "lines.h"
#include "../base/agree.h"
#include <float.h>

#if defined(PETSC_USE_REAL_SINGLE)
  #define BCR_LINES_EPS 1.2e-7
#else
  #define BCR_LINES_EPS 2.3e-16
#endif
/* Rows that differ by less than this, relative to their largest entry, are the same row: what this
   adds to a backward error stays below 1e-14 */
#define BCR_LINES_SAME (16 * BCR_LINES_EPS)
/* Entries below this, relative to the largest of their row, are nothing that the matrix says about the problem */
#define BCR_LINES_NOTHING (4 * BCR_LINES_EPS)
/* A line whose row sums are all below this has the constant in its null space */
#define BCR_LINES_SINGULAR (8 * BCR_LINES_EPS)

/* Place of row j of line l in arrays of one real for each unknown */
static inline size_t BCRLinesAt(const BCRTriSpec *s, PetscInt l, PetscInt j)
{
  const PetscInt inner = s->inner / s->rep, o = l / inner;

  return (size_t)(l - o * inner) + (size_t)inner * ((size_t)j + (size_t)s->n * (size_t)o);
}

/* Row j of line l as it is stored; couplings beyond the ends of a line that is not periodic may be anything */
static inline void BCRLinesGetRow(const BCRTriSpec *s, PetscInt l, PetscInt j, PetscReal row[3])
{
  if (s->rows) {
    const BCRTriRows *r = &s->rows[s->perline ? l : 0];
    const PetscReal *from =
      j < s->nfirst ? r->first[j] : (j >= s->n - s->nlast ? r->last[j - (s->n - s->nlast)] : r->row);

    for (PetscInt d = 0; d < 3; ++d) row[d] = from[d];
  } else {
    const size_t at = s->perline ? BCRLinesAt(s, l, j) : (size_t)j;

    row[0] = s->low[at];
    row[1] = s->diag[at];
    row[2] = s->up[at];
  }
}

/* BCRLinesCreate() in two steps: without the communicator, and that; the one of old is taken over
   where it is the same */
PETSC_INTERN PetscErrorCode BCRLinesLayout(const BCRGrid *grid, PetscInt axis, BCRLines *lines);
PETSC_INTERN PetscErrorCode BCRLinesConnect(BCRLines lines, BCRLines old);
PETSC_INTERN PetscErrorCode BCRLinesFreeSpec(BCRLines lines);
/* Finds out how little describes the lines whose rows are in low, diag and up (one real for each
   unknown of this rank; taken over), and makes that lines->spec. Collective. */
PETSC_INTERN PetscErrorCode BCRLinesRecognise(BCRLines lines, PetscReal *low, PetscReal *diag, PetscReal *up);
/* The same from what is needed of lines that are near-Toeplitz but for BCR_TRI_EDGE rows at each
   end at most: row[3*l], that in the middle of line l; first[3*(BCR_TRI_EDGE*l + e)], row e, and
   last, row N - BCR_TRI_EDGE + e, where this rank has them; spec->periodic is known. Collective. */
PETSC_INTERN PetscErrorCode BCRLinesKeepRows(BCRLines lines, const PetscReal row[], const PetscReal first[],
                                             const PetscReal last[]);
/* row[3*l] from the rank that has the middle of the lines to all of them. Collective on along. */
PETSC_INTERN PetscErrorCode BCRLinesMiddle(BCRLines lines, PetscReal row[]);
/* The other way round: arrays to be freed with PetscFree() */
PETSC_INTERN PetscErrorCode BCRLinesExpand(BCRLines lines, PetscReal **low, PetscReal **diag, PetscReal **up);
/* A line whose row sums all vanish cannot be solved: fault names the first one. Methods need not find out by themselves.
   Collective. */
PETSC_INTERN PetscErrorCode BCRLinesCheckSingular(BCRLines lines, BCRFault *fault);
/* Whether some row of this rank is not diagonally dominant, so that elimination
   without pivoting may lose digits */
PETSC_INTERN PetscBool BCRLinesMayGrow(BCRLines lines);
/* Solves for a random right-hand side and looks at the residual: fault names the first line that is not solved to the
   precision of the work. Collective. */
PETSC_INTERN PetscErrorCode BCRLinesProbe(BCRLines lines, BCRTri tri, const BCRTriOptions *options, BCRFault *fault);
/* linesdevice.c. Frees lines->transport */
PETSC_INTERN PetscErrorCode BCRLinesTransportDestroy(BCRLines lines);
/* options->device: on the device where the vectors are there on every rank; the same on all ranks. Collective. */
PETSC_INTERN PetscErrorCode BCRLinesFollow(BCRLines lines, Vec f, Vec u, BCRTriOptions *options);
/* A solve where the vectors are; *done is unset if one of them is not on the device */
PETSC_INTERN PetscErrorCode BCRLinesSolveDevice(BCRTri tri, Vec f, Vec u, PetscBool *done);
