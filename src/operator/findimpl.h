/*
  What the ways to find the grid of a matrix share: the pattern of this rank's rows, the distances of columns from the
  diagonal, and the check of every entry against a box of nodes.
*/
#pragma once

#include "aij.h"
#include "find.h"

/* Distances |column - row| that differ, in the order of the rows that have them first */
#define BCR_DISTANCES 64
typedef struct {
  PetscInt count;                    /* BCR_DISTANCES + 1: there are more, and the last one is the first too many */
  PetscInt apart[BCR_DISTANCES + 1]; /* 1 and more: the diagonal is none */
  PetscInt row[BCR_DISTANCES + 1], column[BCR_DISTANCES + 1]; /* global numbers: the first row with it */
  unsigned char slot[256];                                    /* where a distance is found: 1 + its index, or 0 */
} BCRDistances;

static inline unsigned BCRDistancesSlot(PetscInt apart)
{
  return (unsigned)((uint64_t)apart * UINT64_C(0x9e3779b97f4a7c15) >> 56);
}

static inline PetscInt BCRGcd(PetscInt a, PetscInt b)
{
  while (b) {
    const PetscInt c = a % b;

    a = b;
    b = c;
  }
  return a;
}

/* The index of a distance, -1 if it is none of them */
static inline int BCRDistancesIndex(const BCRDistances *list, PetscInt apart)
{
  unsigned s = BCRDistancesSlot(apart);

  while (list->slot[s] && list->apart[list->slot[s] - 1] != apart) s = (s + 1) % 256;
  return (int)list->slot[s] - 1;
}

/*
  The rows of this rank as PETSc has them, not copied: entry k of block b, b = 0 (columns of this rank) or 1 (of others),
  lies in row first + r where i[b][r] <= k < i[b][r + 1]. Columns are in no order that one may count on.
*/
typedef struct {
  MPI_Comm comm;
  PetscMPIInt size, rank;
  PetscInt N;             /* rows of the matrix */
  PetscInt first, n;      /* rows of this rank */
  const PetscInt *starts; /* [size + 1]: the first row of each rank */
  const PetscInt *i[2], *j[2];
  PetscInt ghosts;
  const PetscInt *ghost;   /* [ghosts]: global columns of block 1, ascending */
  PetscBool dropzeros;     /* explicit zeros are no links */
  const PetscScalar *a[2]; /* values where that is so, else NULL */
  BCRDistances near, all;  /* of block 0, on this rank; of both, on all ranks */
  BCRBlock block[2];       /* values: once they have been asked for */
} BCRFindRows;

/* P: of type AIJ */
PETSC_INTERN PetscErrorCode BCRFindRowsOpen(Mat P, BCRFindRows *rows);
PETSC_INTERN PetscErrorCode BCRFindRowsDropZeros(BCRFindRows *rows, PetscBool drop);
PETSC_INTERN PetscErrorCode BCRFindRowsClose(BCRFindRows *rows);

/* The global column of entry k of block b, and whether it counts */
static inline PetscInt BCRFindColumn(const BCRFindRows *R, int b, PetscInt k)
{
  return b ? R->ghost[R->j[1][k]] : R->first + R->j[0][k];
}
static inline PetscBool BCRFindLink(const BCRFindRows *R, int b, PetscInt k)
{
  return (PetscBool)(!R->a[b] || R->a[b][k] != (PetscScalar)0);
}

/* Row r (local) is row r - back moved by back columns, entry by entry, and both have columns of this rank only. Rows may
   be the same and not be found so: then they are looked at entry by entry */
static inline PetscBool BCRFindRepeats(const BCRFindRows *R, PetscInt r, PetscInt back)
{
  const PetscInt *i = R->i[0], *far = R->i[1], s = i[r], n = i[r + 1] - s, move = i[r - back] - s;
  const PetscInt *now = R->j[0] + s;
  PetscInt differ = 0;

  if (i[r - back + 1] - i[r - back] != n) return PETSC_FALSE;
  if (far && (far[r + 1] != far[r] || far[r - back + 1] != far[r - back])) return PETSC_FALSE;
  for (PetscInt k = 0; k < n; k++) differ |= now[k] ^ (now[k + move] + back);
  if (R->a[0] && !differ) {
    const PetscScalar *a = R->a[0] + s;

    for (PetscInt k = 0; k < n; k++) differ |= (a[k] == (PetscScalar)0) ^ (a[k + move] == (PetscScalar)0);
  }
  return (PetscBool)!differ;
}

/* A box of a grid whose nodes the rows of this rank run through, x fastest, several times if they are more; the nodes of
   columns of other ranks */
typedef struct {
  PetscInt dof, N[3]; /* of the grid */
  PetscInt lo[3], n[3];
  PetscInt start; /* component + dof * node in the box of this rank's first row */
  PetscInt *node; /* [ghosts][3] */
} BCRFindBox;

/* What a check has met; flags: those of BCR_STEP_* of all entries */
#define BCR_STEP_RING(d) (1 << (d)) /* an entry goes around the ends of axis d */
#define BCR_STEP_SPAN(s) (8 << (s)) /* an entry spans s axes: 0 to 3 */
typedef struct {
  PetscInt row, column; /* the first entry that couples no neighbours; row == rows of the matrix: none */
  PetscInt flags;
} BCRFindMet;
static inline PetscInt BCRFindReach(PetscInt flags)
{
  return (flags & BCR_STEP_SPAN(3)) ? 3 : (flags & BCR_STEP_SPAN(2)) ? 2 : 1;
}
/* The less, the simpler the grid: by reach, then by rings. Patterns of small or wide stencils are those of several grids:
   a line of three nodes with all entries is a ring, one with entries two nodes away a band of squares, four nodes are
   2 x 2 with diagonals */
#define BCR_NO_GRID 32
static inline PetscInt BCRFindComplexity(PetscInt flags)
{
  return 8 * (BCRFindReach(flags) - 1) + (flags & 1) + (flags >> 1 & 1) + (flags >> 2 & 1);
}

/* What each distance is from each kind of node of a box (first, last, neither along each axis): flags, 0: no neighbour */
typedef unsigned char BCRFindTable[64][2 * BCR_DISTANCES];
PETSC_INTERN void BCRFindTableFill(const BCRDistances *list, const BCRFindBox *box, BCRFindTable table);
/* The most axes that an entry spans at least in this box, by the distances alone; 4: one of them is no step, and met is
   the first row that has it */
PETSC_INTERN PetscInt BCRFindScreen(const BCRDistances *list, const BCRFindBox *box, BCRFindMet *met);
/* Candidates for sizes, added to sizes[*count]: distances in nodes that divide nodes, ascending, then nodes */
PETSC_INTERN PetscErrorCode BCRFindSizes(const BCRDistances *list, PetscInt dof, PetscInt nodes, PetscInt *count,
                                         PetscInt sizes[]);
/* Collective. Every entry against the box; list has the distances in block 0. met->row is known on all ranks,
   met->column where this row is */
PETSC_INTERN PetscErrorCode BCRFindCheck(const BCRFindRows *rows, const BCRDistances *list, const BCRFindBox *box,
                                         BCRFindMet *met);
/* Collective. The column of the first contradiction on all ranks */
PETSC_INTERN PetscErrorCode BCRFindTell(const BCRFindRows *rows, BCRFindMet *met);

/*
  The ways, each of which leaves found->order as it is (BCR_FOUND_NONE), with why and fits, or fills in found. Collective;
  what is found, and why not, is the same on all ranks.
  A way that returns an error on one rank alone has told the others (BCRFaultShare()).
*/
PETSC_INTERN PetscErrorCode BCRFindNatural(const BCRFindRows *rows, BCRFound *found);
PETSC_INTERN PetscErrorCode BCRFindBoxes(const BCRFindRows *rows, BCRFound *found);
PETSC_INTERN PetscErrorCode BCRFindAny(const BCRFindRows *rows, BCRFound *found);
