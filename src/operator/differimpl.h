/*
  Shared by the files that read an operator with rows that differ: differ.c, differmodel.c (the operator that most rows
  have; of general axes differprofile.c, differcross.c), differsurvey.c (which rows are this operator's, and what the
  others are), differmask.c (pieces of the mask).
*/
#pragma once

#include "compare.h"
#include "differ.h"

#define BCR_STARS       255  /* different rows that are kept; a matrix whose rows are all different has more */
#define BCR_STAR_PLACES 1024 /* of their hash table: a power of two */
#define BCR_BESIDE \
  2 /* what a mask's row is depends on the rows beside it, and what those are on the nodes beside them */

/* How a row differs */
enum {
  BCR_ROW_LINKS,    /* it has no link where the operator has one */
  BCR_ROW_DIAGONAL, /* nothing but its diagonal */
  BCR_ROW_END,      /* at an end of an axis */
  BCR_ROW_STRENGTH, /* links of another strength */
  BCR_ROW_BESIDE,   /* of the mask, beside the fluid */
  BCR_ROW_KINDS
};

/* What a node is */
typedef enum {
  BCR_NODE_FLUID,
  BCR_NODE_MASK, /* its row has nothing but a diagonal */
  BCR_NODE_PLANE /* in a dropped plane */
} BCRNodeKind;

/* How many of n bytes are the first one, from that on */
static inline PetscInt BCRBytesAlike(const unsigned char *p, PetscInt n)
{
  const uint64_t like = 0x0101010101010101u * p[0];
  PetscInt i = 0;
  uint64_t word;

  for (; i + 8 <= n; i += 8) {
    memcpy(&word, p + i, sizeof(word));
    if (word != like) break;
  }
  while (i < n && p[i] == p[0]) i++;
  return i;
}

/* Node i of the rank's box */
static inline void BCRBoxNodeAt(const BCRRows *A, PetscInt i, PetscInt ix[3])
{
  ix[0] = A->lo[0] + i % A->n[0];
  ix[1] = A->lo[1] + i / A->n[0] % A->n[1];
  ix[2] = A->lo[2] + i / A->n[0] / A->n[1];
}

/* What a grid line has */
#define BCR_LINE_BUSY 1 /* rows that are not the operator's */
#define BCR_LINE_MASK 2 /* rows of the mask */

/* All rows of a component on this rank, and those up to BCR_BESIDE nodes away along axes that are cut */
typedef struct {
  BCRRows *A;
  PetscInt c;
  BCROperator *op;
  PetscInt lo[3], n[3], stride[3], nodes; /* the nodes here: of the rank's box and beside it */
  PetscInt first[3], last[3];             /* of the operator's box, in the whole grid */
  BCRModelAxis m[3];
  PetscBool neutral;   /* the operator has the constant in its null space */
  PetscBool weighted;  /* the operator's axes have weights: rows have no factors then */
  PetscBool even;      /* the operator has the same in all rows of a line but those at its ends */
  double limit;        /* rows that deviate by no more, relatively, are the operator's */
  unsigned char *code; /* [nodes] 0: the operator's row; else of which star it is; BCR_STARS: of one that is not kept */
  unsigned char *kind; /* [nodes] BCRNodeKind */
  unsigned char *line; /* [n[1] n[2]] of the grid line, BCR_LINE_... */
  double star[BCR_STARS][7];
  PetscInt stars;
  short place[BCR_STAR_PLACES]; /* hash table: number of the star, 0: free */
  PetscInt masked;              /* rows of the mask in the rank's box */
  PetscBool mask;               /* there are some, or beside it */
  PetscBool bad;                /* there is a row that no operator has */
  double rest;                  /* the largest entry that no star has a place for, over the diagonal */
  BCRVerdict v;                 /* what rows that do not differ deviate by */
} BCRSurvey;

/* Number of a node among those of the survey */
static inline PetscInt BCRSurveyNode(const BCRSurvey *S, const PetscInt ix[3])
{
  return ix[0] - S->lo[0] + S->stride[1] * (ix[1] - S->lo[1]) + S->stride[2] * (ix[2] - S->lo[2]);
}

/* The node that slot k of node ix is, around the ends of axes that are not cut */
static inline void BCRSurveyBeside(const BCRSurvey *S, const PetscInt ix[3], int k, PetscInt jx[3])
{
  const PetscInt d = k / 2, N = S->A->N[d];

  for (PetscInt t = 0; t < 3; t++) jx[t] = ix[t];
  jx[d] += k % 2 ? 1 : -1;
  if (S->A->grid.parts[d] == 1) jx[d] += jx[d] < 0 ? N : (jx[d] == N ? -N : 0);
}

/* The same node in the whole grid: the survey goes around its ends */
static inline void BCRSurveyGrid(const BCRSurvey *S, const PetscInt ix[3], PetscInt jx[3])
{
  for (PetscInt t = 0; t < 3; t++) {
    const PetscInt N = S->A->N[t];

    jx[t] = ix[t] >= 0 && ix[t] < N ? ix[t] : (ix[t] + N * BCR_BESIDE) % N;
  }
}

/* The slope of the plane that a node is in, which is beside the box */
static inline double BCRSurveySlope(const BCRSurvey *S, const PetscInt ix[3])
{
  int side[3];
  PetscInt at[3];

  BCRSurveyGrid(S, ix, at);
  (void)BCRPlanesOf(S->A, S->op, at, side);
  for (int d = 0; d < 3; d++)
    if (side[d]) return (double)S->op->axis[d].plane[side[d] > 0].slope;
  return 0;
}

/* Which of the axes' ends a node of the operator's box is at: bit 2 d + s; an axis of one unknown has none */
static inline int BCRSurveyEnds(const BCRSurvey *S, const PetscInt at[3])
{
  int ends = 0;

  for (int d = 0; d < 3; d++) {
    if (S->last[d] == S->first[d]) continue;
    ends |= at[d] == S->first[d] ? 1 << (2 * d) : (at[d] == S->last[d] ? 2 << (2 * d) : 0);
  }
  return ends;
}

/* The line of node ix, among those of the survey */
static inline PetscInt BCRSurveyLine(const BCRSurvey *S, const PetscInt ix[3])
{
  return ix[1] - S->lo[1] + S->n[1] * (ix[2] - S->lo[2]);
}

/* The operator has the same on axis d at nodes i and i - 1, and both are in the box, and have both
   neighbours on this rank */
static inline PetscBool BCRSurveyEven(const BCRSurvey *S, PetscInt d, PetscInt i)
{
  const BCRModelAxis *m = &S->m[d];

  return (PetscBool)(i >= S->A->lo[d] + 2 && i < S->A->lo[d] + S->A->n[d] - 1 && i > S->first[d] && i <= S->last[d] &&
                     m->lo[i] == m->lo[i - 1] && m->up[i] == m->up[i - 1] && m->dg[i] == m->dg[i - 1] &&
                     m->w[i] == m->w[i - 1] && (!m->times || m->times[i] == m->times[i - 1]));
}

/* Pairs of words that a line has in BCRCudaRowsSurvey() */
static inline PetscInt BCRSurveyWords(const BCRSurvey *S)
{
  return (S->A->n[0] + 31) / 32;
}

/* differdevice.c. What the device says of each row, words[] of BCRCudaRowsSurvey(); NULL: nothing.
   Not collective: there is one rank */
PETSC_INTERN PetscErrorCode BCRSurveyDevice(BCRSurvey *S, uint32_t **words);
#if defined(PETSCBCR_HAVE_CUDA)
  #include "../backend/cuda/rows.h"
/* The same of a matrix that is there */
PETSC_INTERN PetscErrorCode BCRSurveyAsk(BCRSurvey *S, const BCRCudaRows *rows, BCRStream stream, uint32_t **words);
#endif
/* differsurvey.c. Takes the sizes of A and of the planes of op. Collective */
PETSC_INTERN PetscErrorCode BCRSurveyOpen(BCRSurvey *S, BCRRows *A, PetscInt c, BCROperator *op);
PETSC_INTERN PetscErrorCode BCRSurveyClose(BCRSurvey *S);
/* All rows, once there is an operator: codes, kinds, lines, the mask. Collective */
PETSC_INTERN PetscErrorCode BCRSurveyRows(BCRSurvey *S);
/* The same in two steps, on one rank: what rows are compared with, and the rows, of which words[]
   say something */
PETSC_INTERN PetscErrorCode BCRSurveyBegin(BCRSurvey *S);
PETSC_INTERN void BCRSurveyTake(BCRSurvey *S, const uint32_t words[]);
/* The row of a node */
PETSC_INTERN void BCRSurveyStar(const BCRSurvey *S, const PetscInt ix[3], double st[7]);
/* Which star this is; BCR_STARS: there is no room for more */
PETSC_INTERN unsigned char BCRSurveyCode(BCRSurvey *S, const double st[7]);
/* Notes the largest deviation so far of rows that do not differ: of this slot of node ix */
PETSC_INTERN void BCRSurveyNote(BCRSurvey *S, const PetscInt ix[3], double dev, int slot);
/* Which slots of a node are nodes of the mask */
PETSC_INTERN int BCRSurveyMask(const BCRSurvey *S, const PetscInt ix[3]);
/* The same of the nodes of the rank's box in the line through ix, slots[A->n[0]]. PETSC_FALSE: none of any of them */
PETSC_INTERN PetscBool BCRSurveyLineMask(const BCRSurvey *S, const PetscInt ix[3], unsigned char slots[]);
/* A row of the fluid beside the operator's, differ.c */
typedef struct {
  double st[7];      /* the matrix', with columns of the mask put back */
  double in[7];      /* the operator's, times: */
  double more[7];    /* st less in */
  double factor;     /* of the row */
  int back, kept;    /* slots that are columns of the mask: put back; that the matrix has */
  PetscBool differs; /* st is not in */
  int what;          /* how, for PCView */
  double dev;        /* where it is, the largest relative deviation, */
  int slot;          /* and of which slot */
} BCRFluidRow;

/* Of a node of the fluid, or in planes */
PETSC_INTERN void BCRSurveyFluid(const BCRSurvey *S, const PetscInt ix[3], BCRFluidRow *r);
/* The sum of what couples a row */
static inline double BCRStarSum(const double st[7])
{
  return -(st[0] + st[1] + st[2] + st[3] + st[4] + st[5]);
}

/* What most rows are, by Boyer and Moore's vote */
typedef struct {
  double star[7];
  double lead;  /* of this candidate over all others; 0: there are as many of those */
  double most;  /* rows that are this very star, as far as they were counted together; 0: there are no rows */
  double votes; /* of all rows that have one */
} BCRVote;

/* So many rows have star st, of which most were counted together */
PETSC_INTERN void BCRVoteFor(BCRVote *v, const double st[7], double rows, double most);
/* n votes of all ranks. Collective */
PETSC_INTERN PetscErrorCode BCRVotesAgree(MPI_Comm comm, PetscMPIInt size, PetscInt n, BCRVote vote[]);
/* Ends of sides where there is no fluid, which any will do for: the operator is singular where its matrix may be, or
   the system of the rows that differ would be */
PETSC_INTERN void BCRDifferUnknown(BCROperator *op, PetscBool unknown[3][2]);
/* differprofile.c. As BCRDifferModel(), where one axis is general or some have two unknowns. Collective */
PETSC_INTERN PetscErrorCode BCRDifferProfile(BCRSurvey *S, PetscBool *good);
/* differcross.c. The same, where several axes are general. Collective */
PETSC_INTERN PetscErrorCode BCRDifferCross(BCRSurvey *S, PetscBool *good);
/* differmodel.c. The axes, shift and scale that most rows have; planes are given. *good = PETSC_FALSE: none that
   this library has. Collective */
PETSC_INTERN PetscErrorCode BCRDifferModel(BCRSurvey *S, PetscBool *good);
/* differmask.c. Pieces of the mask, which has at most so many runs along x. rim: nodes of the rank's box in the
   mask whose neighbours are not all; touch: of these, 1: a row of the fluid has a column of this row of the mask;
   touching: of these, how many such rows the whole piece has. Collective */
PETSC_INTERN PetscErrorCode BCRDifferPieces(const BCRSurvey *S, PetscInt runs, PetscInt rims, const PetscInt rim[],
                                            const unsigned char touch[], PetscInt touching[], PetscInt *pieces);
/* differ.c. Of lists that are filled: what all ranks know alike, kinds[BCR_ROW_KINDS] of rows of this one. Collective */
PETSC_INTERN PetscErrorCode BCRDifferCounts(const BCRRows *A, const PetscInt kinds[], PetscInt pieces, BCRDiffer D);
/* A shift that is all but zero is made good by residuals, see there. Collective */
PETSC_INTERN PetscErrorCode BCRDifferShift(const BCRRows *A, BCROperator *op);
