/*
  Rows of a box stencil that refer to sides of the grid whose rows have nothing but a diagonal: with g for the box
  and p for those rows, A = [A_gg A_gp; 0 D], and

      u_p = D^-1 f_p,  A_gg u_g = f_g - A_gp u_p;     transposed:  A_gg^T u_g = f_g,  u_p = D^-1 (f_p - A_gp^T u_g).

  The solver has the sides as planes apart, u_p = D^-1 f_p both ways; this is what is around it. A_gp has the rows
  beside the sides.
*/
#include "bcrpoisson.h"

PetscErrorCode BCRSidesDestroy(BCRSides *s)
{
  PetscFunctionBegin;
  PetscCall(ISDestroy(&s->g));
  PetscCall(ISDestroy(&s->p));
  PetscCall(MatDestroy(&s->beside));
  PetscCall(VecDestroy(&s->inverse));
  PetscCall(VecDestroy(&s->up));
  PetscCall(VecDestroy(&s->ug));
  PetscCall(VecDestroy(&s->f));
  PetscCall(VecScatterDestroy(&s->top));
  PetscCall(VecScatterDestroy(&s->tog));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a node is: in a plane, beside one, or neither */
static int node_kind(const BCRGrid *g, const BCROperator *op, const PetscInt ix[3])
{
  PetscBool in = PETSC_FALSE, beside = PETSC_FALSE;

  for (PetscInt d = 0; d < 3; ++d)
    for (int s = 0; s < 2; ++s) {
      const PetscInt off = s ? g->N[d] - 1 - ix[d] : ix[d];

      if (!op->axis[d].plane[s].present) continue;
      in = (PetscBool)(in || off == 0);
      beside = (PetscBool)(beside || off == 1);
    }
  return in ? 2 : beside ? 1 : 0;
}

/* The rows of this rank that are of a kind, in operators with sides */
static PetscErrorCode rows_of(const PC_BCRPoisson *bcr, Mat A, int kind, IS *rows)
{
  const BCRGrid *g = &bcr->place.grid;
  PetscInt first, ix[3], n = 0, count = 0, *list = NULL;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &first, NULL));
  for (int fill = 0; fill < 2; ++fill) {
    PetscInt row = first;

    if (fill) PetscCall(BCRFaultShare(g->comm, PetscMalloc1(count, &list), BCR_NO_MEMORY));
    for (ix[2] = g->lo[2]; ix[2] < g->lo[2] + g->n[2]; ++ix[2])
      for (ix[1] = g->lo[1]; ix[1] < g->lo[1] + g->n[1]; ++ix[1])
        for (ix[0] = g->lo[0]; ix[0] < g->lo[0] + g->n[0]; ++ix[0])
          for (PetscInt c = 0; c < bcr->dof; ++c, ++row) {
            if (!bcr->ops[c].sides || node_kind(g, &bcr->ops[c], ix) != kind) continue;
            if (fill) list[n++] = row;
            else count++;
          }
  }
  PetscCall(ISCreateGeneral(PetscObjectComm((PetscObject)A), count, list, PETSC_OWN_POINTER, rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSidesSetUp(PC pc)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  BCRSides *s = &bcr->sides;
  Mat A = bcr->place.mat;
  PetscBool any = PETSC_FALSE;
  Vec diagonal;

  PetscFunctionBegin;
  PetscCall(BCRSidesDestroy(s));
  for (PetscInt c = 0; c < bcr->dof; ++c) any = (PetscBool)(any || bcr->ops[c].sides);
  if (!any) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(rows_of(bcr, A, 1, &s->g));
  PetscCall(rows_of(bcr, A, 2, &s->p));
  PetscCall(MatCreateSubMatrix(A, s->g, s->p, MAT_INITIAL_MATRIX, &s->beside));
  PetscCall(MatCreateVecs(s->beside, &s->up, &s->ug));
  PetscCall(VecDuplicate(s->up, &s->inverse));
  PetscCall(MatCreateVecs(A, NULL, &s->f));
  PetscCall(VecScatterCreate(s->f, s->p, s->up, NULL, &s->top));
  PetscCall(VecScatterCreate(s->f, s->g, s->ug, NULL, &s->tog));
  PetscCall(VecDuplicate(s->f, &diagonal));
  PetscCall(MatGetDiagonal(A, diagonal));
  PetscCall(VecScatterBegin(s->top, diagonal, s->inverse, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(s->top, diagonal, s->inverse, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecReciprocal(s->inverse));
  PetscCall(VecDestroy(&diagonal));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x without what the sides add to it, in s->f */
PetscErrorCode BCRSidesTake(BCRSides *s, Vec x)
{
  PetscFunctionBegin;
  PetscCall(VecCopy(x, s->f));
  PetscCall(VecScatterBegin(s->top, x, s->up, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(s->top, x, s->up, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecPointwiseMult(s->up, s->up, s->inverse));
  PetscCall(MatMult(s->beside, s->up, s->ug));
  PetscCall(VecScale(s->ug, -1));
  PetscCall(VecScatterBegin(s->tog, s->ug, s->f, ADD_VALUES, SCATTER_REVERSE));
  PetscCall(VecScatterEnd(s->tog, s->ug, s->f, ADD_VALUES, SCATTER_REVERSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Transposed: what the solution of the box adds to that of the sides */
PetscErrorCode BCRSidesGive(BCRSides *s, Vec y)
{
  PetscFunctionBegin;
  PetscCall(VecScatterBegin(s->tog, y, s->ug, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(s->tog, y, s->ug, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(MatMultTranspose(s->beside, s->ug, s->up));
  PetscCall(VecPointwiseMult(s->up, s->up, s->inverse));
  PetscCall(VecScale(s->up, -1));
  PetscCall(VecScatterBegin(s->top, s->up, y, ADD_VALUES, SCATTER_REVERSE));
  PetscCall(VecScatterEnd(s->top, s->up, y, ADD_VALUES, SCATTER_REVERSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
