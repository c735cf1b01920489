/*
  Row factors of a matrix with rows that differ (two materials): A~ = S (B + S^-1 E G^T), so that S^-1 is applied once to the
  right-hand side, to the solution where it is the transpose, and the many solves of the box are without it. On the host: a
  device has its factors where vectors are read. Not for singular operators, where what is removed is a constant of f.
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

/* The factors take the place of the operator's */
static PetscBool factors_in_place(const PC_BCRPoisson *bcr)
{
  return (PetscBool)(bcr->dof == 1 && !PetscDefined(USE_COMPLEX));
}

/* The lists of component c over the factors of their rows, and what f is multiplied with; rows of a mask are as they are */
static void take_out(PC_BCRPoisson *bcr, PetscInt c)
{
  const BCRGrid *g = &bcr->place.grid;
  const PetscReal *s = bcr->ops[c].rowscale;
  const PetscInt dof = bcr->dof, n = bcr->n / dof;
  PetscScalar *to = bcr->factor + c;
  const PetscBool in_place = factors_in_place(bcr);
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
  if (bcr->backend != PCBCRPOISSON_BACKEND_CPU && PetscDefined(HAVE_CUDA)) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt c = 0; c < bcr->dof; ++c) some = (PetscBool)(some || factor_out(bcr, c));
  if (!some) PetscFunctionReturn(PETSC_SUCCESS);
  if (factors_in_place(bcr)) {
    bcr->factor = (PetscScalar *)bcr->ops[0].rowscale;
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
  const size_t n = (size_t)bcr->dof * (size_t)bcr->moves.nodes;
  PetscScalar *moved = NULL;

  PetscFunctionBegin;
  if (!bcr->factor || bcr->moves.inplace) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRFaultShare(bcr->place.grid.comm, PetscMalloc1(PetscMax(n, 1), &moved), BCR_NO_MEMORY));
  PetscCall(BCRMovesTake(&bcr->moves, bcr->factor));
  PetscCall(PetscArraycpy(moved, bcr->moves.slab, n));
  PetscCall(BCRMovesRelease(&bcr->moves));
  PetscCall(PetscFree(bcr->factor));
  bcr->factor = moved;
  PetscFunctionReturn(PETSC_SUCCESS);
}
