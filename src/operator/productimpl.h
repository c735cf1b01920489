/*
  Shared by the files that read products of axes: productread.c (all rows are those of one), differproduct.c (most are).
*/
#pragma once

#include "compare.h"
#include "product.h"

#define BCR_BOX    27
#define BCR_MIDDLE 13 /* the diagonal among the entries of a row: 9 (z + 1) + 3 (y + 1) + x + 1, by their distances */

/* The rows of an axis by their class: the first, those inside, the last */
typedef enum {
  BCR_FIRST,
  BCR_INSIDE,
  BCR_LAST
} BCRClass;

typedef struct {
  PetscInt b, n; /* first unknown, and how many */
  BCREnd end[2];
  double weight[2]; /* of the first and the last row */
} BCRProductAxis;

typedef struct {
  const BCRRows *A;
  PetscInt c;
  BCRProductAxis axis[3];
  double mixed[BCR_SETS]; /* in units of the matrix */
  /* of the base row and the two ends of the grid lines through it: is it there, and its entries */
  PetscInt at[7][3];
  double row[7][BCR_BOX];
  double dev; /* the largest deviation so far */
  PetscInt devrow, devcol;
  double have, want, sum; /* the entry; the largest sum of a row over its diagonal */
  PetscBool plane[3][2];  /* sides that are dropped */
  PetscBool sides;        /* a row of the box has an entry there */
} BCRProduct;

/* A row has nothing but a diagonal */
static inline PetscBool BCRProductAlone(const double st[BCR_BOX])
{
  for (int k = 0; k < BCR_BOX; k++)
    if (k != BCR_MIDDLE && st[k] != 0) return PETSC_FALSE;
  return st[BCR_MIDDLE] != 0 ? PETSC_TRUE : PETSC_FALSE;
}

static inline BCRClass BCRProductClass(const BCRProductAxis *x, PetscInt i)
{
  return i == x->b ? BCR_FIRST : (i == x->b + x->n - 1 ? BCR_LAST : BCR_INSIDE);
}

/* The entries of a row of this rank that are not zero. PETSC_FALSE: one of them is none of a real number to a neighbour */
PETSC_INTERN PetscBool BCRProductRow(const BCRRows *A, PetscInt c, const PetscInt ix[3], double st[BCR_BOX]);
/* The node whose entry slot is in the row of ix, around the ends of the grid */
PETSC_INTERN void BCRProductNode(const BCRRows *A, const PetscInt ix[3], int slot, PetscInt jx[3]);
/* The model's row of a class */
PETSC_INTERN void BCRProductModel(const BCRProduct *m, const BCRClass class[3], double in[BCR_BOX]);
/* What its entries add up to: exactly zero where those of T do */
PETSC_INTERN double BCRProductSum(const BCRProduct *m, const BCRClass class[3]);
/* Entry k of a row of this class is that of a node of a dropped plane */
PETSC_INTERN PetscBool BCRProductBeyond(const BCRProduct *m, const BCRClass class[3], int k);
/* Ends and polynomial that have all rows of the sample m->row; PETSC_FALSE: there are none */
PETSC_INTERN PetscBool BCRProductChoose(BCRProduct *m);
/* How many of the rows behind that of node ix, inside its grid line and the model's `in`, are the same, up to node last - 1 */
PETSC_INTERN PetscInt BCRProductRun(const BCRProduct *m, const PetscInt ix[3], PetscInt last, const double in[BCR_BOX]);
/* The axes, their products, shift and scale */
PETSC_INTERN PetscErrorCode BCRProductWrite(const BCRProduct *m, BCROperator *op);
/* Nothing of an attempt stays */
PETSC_INTERN PetscErrorCode BCRProductClear(BCROperator *op);
