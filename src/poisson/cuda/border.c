/*
  The core on a CUDA device where rows go on on other ranks (../device.h, BCRDeviceCoreCreateBorder()): the stages of the
  plan up to the lines, what goes between ranks, and the stages behind.
*/
#include "../../base/petscbcrimpl.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "coreimpl.h"

static PetscBool on_chip(BCRDeviceCore c)
{
  return c->kind == BCR_PLAN_BOX || c->kind == BCR_PLAN_BOX_PASSES ? PETSC_TRUE : PETSC_FALSE;
}

PetscErrorCode BCRDeviceCoreBorder(BCRDeviceCore c, PetscBool *possible, PetscBool *reduces)
{
  PetscFunctionBegin;
  PetscCall(BCRDeviceCoreSetUp(c));
  *possible = on_chip(c) || BCRPlanIsRing(c->kind) || BCRPlanIsLevel0(c->kind) ? PETSC_TRUE : PETSC_FALSE;
  *reduces = *possible;
  if (!c->plan->singular) PetscFunctionReturn(PETSC_SUCCESS);
  if (!BCRPlanMeanOfRanks(c->plan)) *reduces = PETSC_FALSE;
  for (int d = 0; BCRPlanIsRing(c->kind) && d < 2; d++) /* all modes have a part in the sum */
    if (c->ring.axis[d].ends == BCR_CUDA_RING_COSINES) *reduces = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreBorderBegin(BCRDeviceCore c, BCRStream stream, const void *f, void *u, double *interface,
                                        double *previous, const BCRCudaBorderRows *rows, int part,
                                        const BCRCudaWindow *w)
{
  const BCRPlan p = c->plan;
  BCRDeviceWalk walk;

  PetscFunctionBegin;
  if (on_chip(c)) {
    if (rows) PetscCall(BCRDeviceBoxReducedBegin(c->box, stream, f, u, interface, previous, rows, part, w));
    else PetscCall(BCRDeviceBoxBorderBegin(c->box, stream, f, u, interface, previous));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  walk.at = f;
  if (BCRPlanIsRing(c->kind)) {
    PetscCall(BCRDeviceCoreStages(c, stream, 0, BCRDeviceStageFind(c, BCR_STAGE_LINES, PETSC_FALSE), &walk, u));
    if (!w)
      PetscCallBCRCuda(BCRCudaRingBorderEnds(stream, &c->ring, &c->ringlines, c->single, BCRDeviceRingModes(c, u),
                                             interface, previous));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BCRDeviceLevel0Begin(c, stream, &walk, u));
  PetscCall(BCRDeviceCoreStages(c, stream, 0, BCRDeviceStageFind(c, BCR_STAGE_LINES, PETSC_FALSE), &walk, u));
  if (!w)
    PetscCallBCRCuda(
      BCRCudaSepEnds(stream, &c->sep, c->single, BCRDeviceSeparators(c), p->axis[p->blocks].a, interface, previous));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Back from the separators' solutions, to which factor * *sum comes (NULL: nothing), as BCRDeviceCoreBorderAdd() has it; f
   is where BCRDeviceLevel0Begin() has put it */
static PetscErrorCode border_end(BCRDeviceCore c, BCRStream stream, const void *f, void *u, const double *mean,
                                 const double *sum, double factor)
{
  const BCRPlan p = c->plan;
  const PetscInt mean_stage = BCRDeviceStageFind(c, BCR_STAGE_MEAN, PETSC_FALSE); /* the ranks' matter */
  BCRDeviceWalk w;

  PetscFunctionBegin;
  if (BCRPlanIsRing(c->kind)) {
    w.at = u;
    PetscCall(
      BCRDeviceCoreStages(c, stream, BCRDeviceStageFind(c, BCR_STAGE_LINES, PETSC_FALSE) + 1, p->nstages, &w, u));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  w.level0 = c->level0;
  w.level0.ldu = p->stride[p->blocks];
  w.level0.sub = mean;
  w.level0.subfactor = c->sep.subfactor / c->sep.removedfactor;
  w.level0.add = sum;
  w.level0.nadd = 1;
  w.level0.addfactor *= factor;
  w.level0.fplane = w.level0.uplane = p->dim == 3 ? p->stride[p->across] : 0;
  w.at = p->dim == 3 ? u : (f == u ? c->work : f);
  w.level0.ldf = p->dim == 3 ? w.level0.ldu : (c->work && w.at == c->work ? p->n[0] : p->stride[1]);
  PetscCall(BCRDeviceCoreStages(c, stream, BCRDeviceStageFind(c, BCR_STAGE_LINES, PETSC_FALSE) + 1, mean_stage, &w, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The lines, over the separators where there are some, with solutions in rows of other ranks */
static PetscErrorCode border_lines(BCRDeviceCore c, BCRStream stream, void *u, const double *interface,
                                   const double *before, const double *mean)
{
  PetscFunctionBegin;
  if (BCRPlanIsRing(c->kind)) {
    PetscCallBCRCuda(BCRCudaRingSolveGiven(stream, &c->ring, &c->ringlines, c->single, BCRDeviceRingModes(c, u),
                                           interface, before, mean));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  c->sep.after = interface;
  c->sep.before = before;
  c->sep.removed = (double *)mean;
  PetscCallBCRCuda(BCRCudaSepSolve(stream, &c->sep, c->single, BCRDeviceSeparators(c)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreBorderEnd(BCRDeviceCore c, BCRStream stream, const void *f, void *u,
                                      const double *interface, const double *before, const double *mean)
{
  PetscFunctionBegin;
  if (on_chip(c)) {
    PetscCall(BCRDeviceBoxBorderEnd(c->box, stream, u, interface, before));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(border_lines(c, stream, u, interface, before, mean));
  PetscCall(border_end(c, stream, f, u, mean, NULL, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool BCRDeviceCoreMeanOfRanks(BCRDeviceCore c)
{
  return BCRPlanMeanOfRanks(c->plan);
}

PetscErrorCode BCRDeviceCoreBorderSum(BCRDeviceCore c, BCRStream stream, void *u, const double *interface,
                                      const double *before, const double *mean, double *sum)
{
  PetscFunctionBegin;
  PetscCall(border_lines(c, stream, u, interface, before, mean));
  if (BCRPlanIsRing(c->kind))
    PetscCallBCRCuda(BCRCudaRingSum(stream, &c->ring, c->single, BCRDeviceRingModes(c, u), c->ringsums, sum));
  else PetscCallBCRCuda(BCRCudaSepSum(stream, &c->sep, sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreBorderAdd(BCRDeviceCore c, BCRStream stream, const void *f, void *u, const double *mean,
                                      const double *sum, double factor)
{
  PetscFunctionBegin;
  if (BCRPlanIsRing(c->kind))
    PetscCallBCRCuda(BCRCudaRingAdd(stream, &c->ring, c->single, BCRDeviceRingModes(c, u), sum, factor));
  PetscCall(border_end(c, stream, f, u, mean, sum, factor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreBorderFinish(BCRDeviceCore c, BCRStream stream, void *u)
{
  BCRDeviceWalk w = {.at = u};

  PetscFunctionBegin;
  PetscCall(
    BCRDeviceCoreStages(c, stream, BCRDeviceStageFind(c, BCR_STAGE_MEAN, PETSC_FALSE) + 1, c->plan->nstages, &w, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreBorderLines(BCRDeviceCore c, BCRStream stream, void *u, const BCRCudaBorderRows *rows,
                                        const double *received, int part, const BCRCudaWindow *w)
{
  const BCRPlan p = c->plan;

  PetscFunctionBegin;
  if (on_chip(c)) PetscCall(BCRDeviceBoxReducedPlanes(c->box, stream, u, rows, received, part, w));
  else if (BCRPlanIsRing(c->kind))
    PetscCallBCRCuda(BCRCudaRingSolveReduced(stream, &c->ring, &c->ringlines, c->single, BCRDeviceRingModes(c, u), rows,
                                             received, part, w));
  else {
    if (p->singular) c->sep.removed = c->scalars;
    PetscCallBCRCuda(BCRCudaSepSolveReduced(stream, &c->sep, c->single, BCRDeviceSeparators(c), rows, received, part,
                                            p->axis[p->blocks].a, w));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreBorderBack(BCRDeviceCore c, BCRStream stream, const void *f, void *u)
{
  PetscFunctionBegin;
  if (on_chip(c)) PetscCall(BCRDeviceBoxReducedEnd(c->box, stream, u));
  else if (c->plan->singular && !BCRPlanIsRing(c->kind))
    PetscCall(border_end(c, stream, f, u, c->scalars, c->sep.parts + BCRCudaSepParts(&c->sep), 1));
  else PetscCall(border_end(c, stream, f, u, NULL, NULL, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
