/*
  Block cyclic reduction of a core on a CUDA device: what is around ../devreduction.c, the transform across planes, factors
  and the mean of a singular operator.
*/
#include "../../base/petscbcrimpl.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "coreimpl.h"

/* planes that are transformed at a time where that is out of place */
static PetscInt planes_at_a_time(BCRDeviceCore c)
{
  return PetscMax(1, c->plan->n[2] / 4);
}

/* the transform across planes works in place */
static PetscBool across_stays(BCRDeviceCore c)
{
  return BCRPlanCudaFft(c->plan, c->modes[c->plan->across].P);
}

static PetscErrorCode reduction_create(BCRDeviceCore c)
{
  const BCRPlan p = c->plan;
  const PetscInt part[3] = {0, p->kind == BCR_PLAN_RECURSIVE ? 1 : p->blocks, 2},
                 nboxes = p->kind == BCR_PLAN_RECURSIVE ? 1 : p->nplanes;
  const BCRAxis axis[3] = {p->axis[0], p->axis[part[1]], p->axis[2]};
  const ptrdiff_t stride[3] = {p->stride[0], p->stride[part[1]], p->stride[2]};
  BCRDeviceReductionSpec spec;
  double *v;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&spec, sizeof(spec)));
  spec.reduction = BCRPlanReductionSpec(p, axis);
  spec.stride = stride;
  spec.nboxes = nboxes;
  spec.singular = p->singular;
  spec.rows = &c->rows;
  spec.sharedbytes = c->cuda.shared;
  spec.threads = p->options.launch[BCR_LAUNCH_GROUP];
  spec.sharedrows = p->options.launch[BCR_LAUNCH_SHARED];
  spec.terms = p->options.launch[BCR_LAUNCH_SUM];
  PetscCall(BCRDeviceReductionCreate(&spec, c->stream, &c->tables, &c->space, &c->red));
  p->reduction = BCRDeviceReductionGetCost(c->red);
  PetscCall(BCRDeviceArenaGet(&c->tables, (size_t)nboxes * sizeof(double), "tables", &c->redshift));
  c->redtotal = 1;
  for (PetscInt d = 0; d < 3; d++) {
    const PetscInt n = p->n[d];
    double sum = 0;

    PetscCall(PetscMalloc1(n, &v));
    for (PetscInt i = 0; i < n; i++) v[i] = 1;
    PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, n, v, &c->redscale[d]));
    for (PetscInt i = 0; i < n && d < p->dim; i++) {
      v[i] = p->axis[d].weight ? (double)p->axis[d].weight[i] : BCRAxisGetEndWeight(&p->axis[d], i);
    }
    for (PetscInt i = 0; i < n; i++) sum += v[i];
    c->redtotal *= sum;
    PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, n, v, &c->redweight[d]));
    PetscCall(PetscFree(v));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceReductionTables(BCRDeviceCore c)
{
  const BCRPlan p = c->plan;
  const PetscBool planes = p->kind == BCR_PLAN_REDUCTION && p->across >= 0 ? PETSC_TRUE : PETSC_FALSE;
  const PetscInt nboxes = planes ? p->nplanes : 1, d = planes ? p->across : 1;
  double *v;

  PetscFunctionBegin;
  if (!c->red) PetscCall(reduction_create(c));
  if (!c->work && planes && !across_stays(c))
    PetscCall(BCRDeviceArenaGet(&c->space, (size_t)p->n[0] * p->n[1] * planes_at_a_time(c) * c->size, "the workspace",
                                &c->work));
  PetscCall(PetscMalloc1(p->n[d], &v));
  for (PetscInt j = 0; j < nboxes; j++)
    v[j] = planes ? BCRPlanPlaneShift(p, j) : (p->singular ? 0 : p->shift + p->fixed);
  PetscCallBCRCuda(BCRCudaPut(c->redshift, v, (size_t)nboxes * sizeof(double), c->stream));
  for (PetscInt j = 0; j < p->n[d]; j++) v[j] = c->factor * (planes ? p->norm[d][j] : 1);
  PetscCallBCRCuda(BCRCudaPut(c->redscale[d], v, (size_t)p->n[d] * sizeof(double), c->stream));
  PetscCall(PetscFree(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceReductionBegin(BCRDeviceCore c, BCRStream stream, BCRDeviceWalk *w, void *u)
{
  const BCRCudaBox box = BCRDeviceCoreBox(c);

  PetscFunctionBegin;
  if (c->plan->singular) {
    PetscCallBCRCuda(BCRCudaSum(stream, &box, c->single, w->at, c->redweight, c->scalars + 8, c->scalars + 2));
    PetscCallBCRCuda(BCRCudaScaleValue(stream, c->scalars + 2, 1 / c->redtotal, c->scalars));
    PetscCallBCRCuda(BCRCudaAddValue(stream, &box, c->single, w->at, u, c->scalars, -1));
  } else if (w->at != u)
    PetscCallBCRCuda(
      BCRCudaScaleCopy(stream, box.n, c->single, w->at, box.stride, c->single, u, box.stride, NULL, NULL));
  w->at = u;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceReductionAcross(BCRDeviceCore c, BCRStream stream, const BCRStage *stage, BCRDeviceWalk *w,
                                        void *u)
{
  const BCRPlan p = c->plan;
  const ptrdiff_t packed[3] = {1, p->n[0], (ptrdiff_t)p->n[0] * p->n[1]};
  const BCRCudaBox box = BCRDeviceCoreBox(c);
  const PetscInt most = planes_at_a_time(c);
  BCRCudaLines l = BCRDeviceLinesAlong(c, 1, p->stride), work = BCRDeviceLinesAlong(c, 1, packed);

  PetscFunctionBegin;
  (void)w;
  if (across_stays(c)) {
    PetscCallBCRCuda(BCRDeviceTransform(c, stream, 1, stage->back, &l, u, &l, u));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt k = 0; k < p->n[2]; k += most) {
    const int m[3] = {box.n[0], box.n[1], (int)PetscMin(most, p->n[2] - k)};
    void *at = (char *)u + (size_t)k * box.stride[2] * c->size;

    l.nb = work.nb = m[2];
    PetscCallBCRCuda(BCRDeviceTransform(c, stream, 1, stage->back, &l, at, &work, c->work));
    PetscCallBCRCuda(BCRCudaScaleCopy(stream, m, c->single, c->work, packed, c->single, at, box.stride, NULL, NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceReductionStage(BCRDeviceCore c, BCRStream stream, const BCRStage *stage, BCRDeviceWalk *w,
                                       void *u)
{
  const BCRPlan p = c->plan;
  const PetscBool planes = p->kind == BCR_PLAN_REDUCTION && p->across >= 0 ? PETSC_TRUE : PETSC_FALSE;
  const double *scale[3] = {c->redscale[0], c->redscale[1], c->redscale[2]};
  const BCRCudaBox box = BCRDeviceCoreBox(c);

  PetscFunctionBegin;
  (void)stage;
  (void)w;
  if (planes || c->factor != 1)
    PetscCallBCRCuda(BCRCudaScaleCopy(stream, box.n, c->single, u, box.stride, c->single, u, box.stride, scale, NULL));
  PetscCall(BCRDeviceReductionSolve(c->red, stream, u, planes ? p->nplanes : 1, planes ? p->stride[p->across] : 0,
                                    c->redshift, p->singular ? 0 : -1));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
