/*
  Plan SPECTRAL on a CUDA device: transforms along all axes and a division by the symbol, for products of axes and for
  operators of either sign. Rows go to the work array, whose places of modes may be more than the modes, and back; the other
  axes are transformed there.
*/
#include "../../base/petscbcrimpl.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "coreimpl.h"

/* Eigenvalues and norms of the places of modes along axis d, and the place of the constant */
static PetscErrorCode places_tables(BCRDeviceCore c, PetscInt d)
{
  const BCRPlan p = c->plan;
  const BCRDeviceOrder *o = d == 0 && c->roworder.mode ? &c->roworder : NULL;
  const PetscBool doubles = d > 0 ? BCRDeviceDoubles(p->transform[d]) : PETSC_FALSE;
  const int *mode = o ? o->mode : c->across[d].mode;
  BCRCudaSymbol *s = &c->symbol;
  double *lambda, *norm;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(c->places[d], &lambda, c->places[d], &norm));
  for (int k = 0; k < c->places[d]; k++) {
    const int m = mode ? mode[k] : k;

    lambda[k] = p->lambda[d][PetscMax(m, 0)];
    norm[k] = m < 0 ? 0 : p->norm[d][m] * (o ? o->norm[k] : doubles ? 0.25 : 1);
    if (!p->singular || m < 0 || m != (int)p->constant[d]) continue;
    s->pin[d] = k;
    /* what the way there makes of it: with the way back and the norm one, and only the way back halves modes of ends */
    s->removedfactor *= p->norm[d][m] * (o ? o->norm[k] * o->gain[k] : doubles ? 0.5 : 1);
  }
  PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, c->places[d], lambda, &s->lambda[d]));
  PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, c->places[d], norm, &s->norm[d]));
  PetscCall(PetscFree2(lambda, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A transform that is not in place, so that there are two work arrays */
static PetscBool moves(BCRPlan p, PetscInt d)
{
  return d > 0 && (p->transform[d] == BCR_TRANSFORM_DENSE || p->transform[d] == BCR_TRANSFORM_EIGEN) ? PETSC_TRUE
                                                                                                     : PETSC_FALSE;
}

/* By the axes alone */
static PetscErrorCode spectral_space(BCRDeviceCore c)
{
  const BCRPlan p = c->plan;
  size_t bytes;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++) c->places[d] = (int)p->n[d];
  if (c->roworder.mode) c->places[0] = (int)c->roworder.count;
  c->placestride[0] = 1;
  c->placestride[1] = (c->places[0] + 15) / 16 * 16;
  if (p->dim > 1 && c->placestride[1] % 128 == 0) c->placestride[1] += 16; /* as for separators in level0.c */
  c->placestride[2] = c->placestride[1] * c->places[1];
  bytes = (size_t)c->placestride[2] * (size_t)c->places[2] * c->size;
  PetscCall(BCRDeviceArenaGet(&c->space, bytes, "the workspace", &c->work));
  for (PetscInt d = 0; d < p->dim; d++)
    if (moves(p, d) && !c->other) PetscCall(BCRDeviceArenaGet(&c->space, bytes, "the workspace", &c->other));
  PetscCall(BCRDeviceEigenSpace(c));
  for (PetscInt d = 0; d < 3; d++) c->symbol.pin[d] = p->singular && d >= p->dim ? 0 : -1;
  c->symbol.removedfactor = 1;
  for (PetscInt d = 0; d < p->dim; d++) PetscCall(places_tables(c, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceSpectralTables(BCRDeviceCore c)
{
  const BCRPlan p = c->plan;
  BCRCudaSymbol *s = &c->symbol;

  PetscFunctionBegin;
  if (!c->work) PetscCall(spectral_space(c));
  for (int set = 0; set < BCR_SETS; set++) s->c[set] = p->mixed[set];
  s->c[0] = p->singular ? 0 : p->shift + p->fixed;
  s->factor = c->factor;
  s->tol = p->tol;
  s->removed = c->scalars;
  if (p->waves && p->left_out && !c->left)
    PetscCall(BCRDeviceArenaGet(&c->space, (2 + 3 * BCR_CUDA_PARTIALS) * sizeof(double), "sums", &c->left));
  PetscCall(BCRDeviceCoreForget(c, c->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreForget(BCRDeviceCore c, BCRStream stream)
{
  PetscFunctionBegin;
  if (c->left) PetscCallBCRCuda(BCRCudaZero(c->left, 2 * sizeof(double), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of all places along axis d, of an array with these distances */
static BCRCudaLines place_lines(BCRDeviceCore c, PetscInt d, const ptrdiff_t stride[3])
{
  BCRCudaLines l = BCRDeviceLinesAlong(c, d, stride);

  if (d > 0) l.na = c->places[0];
  return l;
}

/* Whether that is the caller's array */
static const ptrdiff_t *stride_of(BCRDeviceCore c, const void *v)
{
  return v == c->work || v == c->other ? c->placestride : c->plan->stride;
}

PetscErrorCode BCRDeviceSpectralTransform(BCRDeviceCore c, BCRStream stream, const BCRStage *stage, BCRDeviceWalk *w,
                                          void *u)
{
  const PetscInt d = stage->axis;
  void *g = d == 0 ? (stage->back ? u : c->work) : moves(c->plan, d) && w->at == c->work ? c->other : (void *)w->at;
  BCRCudaLines from, to;

  PetscFunctionBegin;
  if (moves(c->plan, d) && w->at == c->other) g = c->work;
  from = place_lines(c, d, stride_of(c, w->at));
  to = place_lines(c, d, stride_of(c, g));
  if (d == 0 && c->roworder.mode)
    PetscCallBCRCuda(BCRDeviceTransformRows(c, stream, stage->back, &from, w->at, &to, g, NULL, 0));
  else PetscCallBCRCuda(BCRDeviceTransform(c, stream, d, stage->back, &from, w->at, &to, g));
  w->at = g;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceSpectralDivide(BCRDeviceCore c, BCRStream stream, const BCRStage *stage, BCRDeviceWalk *w,
                                       void *u)
{
  const BCRPlan p = c->plan;
  const PetscInt d = stage->axis;
  BCRCudaBox box;

  PetscFunctionBegin;
  if (BCRPlanDividesWithin(p)) {
    void *g = p->dim == 1 ? u : (void *)w->at;
    const BCRCudaLines from = place_lines(c, d, stride_of(c, w->at)), to = place_lines(c, d, stride_of(c, g));
    const PetscBool again =
      BCREndIsZero(p->axis[d].end[0]) && BCREndIsZero(p->axis[d].end[1]) ? PETSC_TRUE : PETSC_FALSE;

    PetscCallBCRCuda(BCRCudaFftDivide(stream, &c->modes[d], again, &c->symbol, (int)d, c->single, c->cuda.shared, &from,
                                      w->at, &to, g));
    w->at = g;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt e = 0; e < 3; e++) {
    box.n[e] = c->places[e];
    box.stride[e] = c->placestride[e];
  }
  if (c->left && p->left_out)
    PetscCallBCRCuda(BCRCudaLeftOut(stream, &box, &c->symbol, c->single, w->at, p->symbol_size, c->left + 2, c->left));
  PetscCallBCRCuda(BCRCudaDivide(stream, &box, &c->symbol, c->single, (void *)w->at));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
