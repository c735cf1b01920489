/*
  Row factors of a matrix with rows that differ (two materials): A~ = S (B + S^-1 E G^T), so that S^-1 is applied once to the
  right-hand side, to the solution where it is the transpose (capacitance.c), and the many solves of the box are without it. Not
  for singular operators, where what is removed is a constant of f.
*/
#include "bcrpoisson.h"
#include <string.h>

static PetscBool factor_out(const PC_BCRPoisson *bcr, PetscInt c)
{
  const BCROperator *op = &bcr->ops[c];

  for (int d = 0; d < 3; ++d)
    if (op->axis[d].plane[0].present || op->axis[d].plane[1].present) return PETSC_FALSE;
  return (PetscBool)(op->differ && op->left && op->rowscale && !op->devscale && !op->apart && !op->singular &&
                     bcr->capacitance != PCBCRPOISSON_CAPACITANCE_EXTENSION);
}

/* How many of n numbers are the first one, from that on: blocks that are what they are one number further are of one number */
static PetscInt alike(PetscInt n, const PetscReal s[])
{
  enum {
    BLOCK = 64
  };
  PetscInt i = 1;

  while (i + BLOCK <= n && !memcmp(s + i, s + i - 1, BLOCK * sizeof(*s))) i += BLOCK;
  while (i < n && s[i] == s[0]) ++i;
  return i;
}

/* The lists of component c over the factors of their rows, and what f is multiplied with; rows of a mask are as they are */
static void take_out(PC_BCRPoisson *bcr, PetscInt c)
{
  const BCRGrid *g = &bcr->place.grid;
  const PetscReal *s = bcr->ops[c].rowscale;
  const PetscInt dof = bcr->dof, n = bcr->n / dof;
  PetscReal *to = bcr->factor + c;
  const PetscBool in_place = dof == 1 ? PETSC_TRUE : PETSC_FALSE;
  BCRDiffer x = bcr->ops[c].differ;
  PetscInt ix[3];

#define NUMBER(node) \
  (BCRGridNaturalNode(g, node, ix), ix[0] - g->lo[0] + g->n[0] * (ix[1] - g->lo[1] + g->n[1] * (ix[2] - g->lo[2])))
  for (PetscInt i = 0; i < x->m; ++i)
    for (PetscInt k = x->start[i], at = NUMBER(x->row[i]); k < x->start[i + 1]; ++k) x->value[k] /= s[at];
  for (PetscInt i = 0; i < x->links; ++i) x->linkvalue[i] /= s[NUMBER(x->linkrow[i])];
  for (PetscInt i = 0; i < x->shores; ++i) x->shorevalue[i] /= s[NUMBER(x->shore[i])];
  for (PetscInt i = 0, end; i < n; i = end) { /* few are different */
    const PetscReal inverse = 1 / s[i];

    end = i + alike(n - i, s + i);
    for (PetscInt k = i; k < end && !(in_place && inverse == 1); ++k) to[dof * k] = inverse;
  }
  for (PetscInt i = 0; i < x->runs; ++i)
    for (PetscInt k = 0, at = NUMBER(x->run[i]); k < x->length[i]; ++k) bcr->factor[c + bcr->dof * (at + k)] = 1;
#undef NUMBER
}

PetscErrorCode BCRFactorsTake(PC pc)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  PetscBool some = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscFree(bcr->factor));
  for (PetscInt c = 0; c < bcr->dof; ++c) some = (PetscBool)(some || factor_out(bcr, c));
  if (!some) PetscFunctionReturn(PETSC_SUCCESS);
  if (bcr->dof == 1) { /* they take the place of the operator's */
    bcr->factor = bcr->ops[0].rowscale;
    take_out(bcr, 0);
    bcr->ops[0].rowscale = NULL;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BCRFaultShare(bcr->place.grid.comm, PetscMalloc1(PetscMax(bcr->n, 1), &bcr->factor), BCR_NO_MEMORY));
  for (PetscInt c = 0; c < bcr->dof; ++c) {
    if (factor_out(bcr, c)) take_out(bcr, c);
    else
      for (PetscInt i = c; i < bcr->n; i += bcr->dof) bcr->factor[i] = 1;
    if (factor_out(bcr, c)) PetscCall(PetscFree(bcr->ops[c].rowscale));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFactorsMove(PC pc)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  const PetscInt n = bcr->dof * bcr->moves.nodes;
  PetscReal *moved = NULL;
  PetscScalar *v = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (!bcr->factor || bcr->moves.inplace) PetscFunctionReturn(PETSC_SUCCESS);
  ierr = PetscMalloc1(PetscMax(n, 1), &moved);
  if (!ierr) ierr = PetscMalloc1(PetscMax(bcr->n, 1), &v);
  BCRCallElse(BCRFaultShare(bcr->place.grid.comm, ierr, BCR_NO_MEMORY), (void)PetscFree(moved));
  for (PetscInt i = 0; i < bcr->n; ++i) v[i] = bcr->factor[i];
  PetscCall(BCRMovesTake(&bcr->moves, v));
  for (PetscInt i = 0; i < n; ++i) moved[i] = PetscRealPart(bcr->moves.slab[i]);
  PetscCall(BCRMovesRelease(&bcr->moves));
  PetscCall(PetscFree(v));
  PetscCall(PetscFree(bcr->factor));
  bcr->factor = moved;
  PetscFunctionReturn(PETSC_SUCCESS);
}
