/*
  Plan SPECTRAL on a CUDA device: transforms along all axes and a division by the symbol, for products of axes and for
  operators of either sign. Rows go to the work array, whose places of modes may be more than the modes, and back; the other
  axes are transformed there. Complex numbers are two such arrays, which the division alone couples.
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
  PetscCall(PetscMalloc2(c->nplaces[d], &lambda, c->nplaces[d], &norm));
  for (int k = 0; k < c->nplaces[d]; k++) {
    const int m = mode ? mode[k] : k;

    lambda[k] = p->lambda[d][PetscMax(m, 0)];
    norm[k] = m < 0 ? 0
                    : p->norm[d][m] * (o         ? o->norm[k]
                                       : doubles ? 0.5 / BCRDeviceGain(c, d, p->transform[d], m)
                                                 : 1);
    if (!p->singular || m < 0 || m != (int)p->constant[d]) continue;
    s->pin[d] = k;
    /* what the way there makes of it: with the way back and the norm one, and only the way back halves modes of ends */
    s->removedfactor *= p->norm[d][m] * (o ? o->norm[k] * o->gain[k] : doubles ? 0.5 : 1);
  }
  PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, c->nplaces[d], lambda, &s->lambda[d]));
  PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, c->nplaces[d], norm, &s->norm[d]));
  PetscCall(PetscFree2(lambda, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A transform that is not in place, so that there are two work arrays */
static PetscBool moves(BCRPlan p, PetscInt d)
{
  return (d > 0 || p->along == 0) && (p->transform[d] == BCR_TRANSFORM_DENSE || p->transform[d] == BCR_TRANSFORM_EIGEN)
           ? PETSC_TRUE
           : PETSC_FALSE;
}

/* By the axes alone */
static PetscErrorCode spectral_space(BCRDeviceCore c)
{
  const BCRPlan p = c->plan;
  const PetscInt last = BCRPlanSpectralLast(p);
  BCRCudaBox *here = &c->places[0].box;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++) here->n[d] = c->nplaces[d] = (int)p->n[d];
  if (c->roworder.mode) here->n[0] = c->nplaces[0] = (int)c->roworder.count;
  if (c->share) here->n[last] = (int)c->share->rows[c->share->rank];
  here->stride[0] = 1;
  here->stride[1] = (here->n[0] + 15) / 16 * 16;
  if (p->dim > 1 && here->stride[1] % 128 == 0) here->stride[1] += 16; /* as for separators in level0.c */
  here->stride[2] = here->stride[1] * here->n[1];
  for (PetscInt d = 0; d < 3; d++) c->symbol.pin[d] = p->singular && d >= p->dim ? 0 : -1;
  c->symbol.removedfactor = 1;
  for (PetscInt d = 0; d < p->dim; d++) PetscCall(places_tables(c, d));
  if (c->share) PetscCall(BCRDeviceShareSpace(c));
  for (int k = 0; k < (c->share ? 2 : 1); k++) {
    const BCRCudaBox *box = &c->places[k].box;
    const ptrdiff_t places = PetscMax(box->n[2] * box->stride[2], box->n[1] * box->stride[1]);
    const size_t bytes = (size_t)(BCRDeviceParts(c) * places) * c->size;

    c->places[k].part = places;
    PetscCall(BCRDeviceArenaGet(&c->space, PetscMax(bytes, c->size), "the workspace", &c->places[k].v[0]));
    for (PetscInt d = 0; d < p->dim; d++)
      if (moves(p, d) && (!c->share || (d == last) == (k == 1)) && !c->places[k].v[1])
        PetscCall(BCRDeviceArenaGet(&c->space, PetscMax(bytes, c->size), "the workspace", &c->places[k].v[1]));
  }
  PetscCall(BCRDeviceEigenSpace(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceSpectralTables(BCRDeviceCore c)
{
  const BCRPlan p = c->plan;
  BCRCudaSymbol *s = &c->symbol;

  PetscFunctionBegin;
  if (!c->places[0].v[0]) PetscCall(spectral_space(c));
  for (int set = 0; set < BCR_SETS; set++) s->c[set] = p->mixed[set];
  s->c[0] = p->singular ? 0 : p->shift + p->fixed;
  s->factor = c->factor;
  s->tau = p->tau;
  s->tol = p->tol;
  s->removed = c->scalars;
  if ((p->waves || p->tau != 0) && p->left_out && !c->left)
    PetscCall(BCRDeviceArenaGet(
      &c->space, (2 + 3 * BCR_CUDA_PARTIALS + 3 * (c->share ? c->share->size : 1)) * sizeof(double), "sums", &c->left));
  PetscCall(BCRDeviceCoreForget(c, c->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreForget(BCRDeviceCore c, BCRStream stream)
{
  PetscFunctionBegin;
  if (c->left) PetscCallBCRCuda(BCRCudaZero(c->left, 2 * sizeof(double), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which places an array has, NULL: it is the caller's */
static BCRDevicePlaces *places_of(BCRDeviceCore c, const void *v)
{
  for (int k = 0; k < 2; k++)
    if (v == c->places[k].v[0] || (v == c->places[k].v[1] && c->places[k].v[1])) return &c->places[k];
  return NULL;
}

void *BCRDeviceSpectralPart(BCRDeviceCore c, const void *v, PetscInt part)
{
  const BCRDevicePlaces *of = places_of(c, v);

  return (char *)v + (size_t)(part * (of ? of->part : c->part)) * c->size;
}

/* In two dimensions both parts go in one launch, as if they were planes; numbers that are not side by side are packed, one box
   at a time */
static PetscBool parts_together(BCRDeviceCore c)
{
  return BCRDeviceParts(c) > 1 && c->plan->dim < 3 && c->plan->stride[0] == 1 ? PETSC_TRUE : PETSC_FALSE;
}

/* Of all places along axis d, of that array */
static BCRCudaLines place_lines(BCRDeviceCore c, PetscInt d, const void *v)
{
  const BCRDevicePlaces *of = places_of(c, v);
  const int *n = of ? of->box.n : c->places[0].box.n;
  BCRCudaLines l = BCRDeviceLinesAlong(c, d, of ? of->box.stride : c->plan->stride);

  l.na = n[d == 0 ? 1 : 0];
  l.nb = n[d == 2 ? 1 : 2];
  if (parts_together(c)) {
    l.nb = 2;
    l.sb = of ? of->part : c->part;
  }
  return l;
}

/* Where a stage puts what it makes of that array */
static void *place_next(BCRDeviceCore c, const BCRStage *stage, const void *v, void *u)
{
  const BCRPlan p = c->plan;
  const BCRStage *next = stage + 1;
  BCRDevicePlaces *of = places_of(c, v);

  if (next == p->stage + p->nstages || next->kind == BCR_STAGE_MEAN) return u;
  if (!of) return c->places[0].v[0];
  return moves(p, stage->axis) ? of->v[v == of->v[0] ? 1 : 0] : (void *)v;
}

PetscErrorCode BCRDeviceSpectralTransform(BCRDeviceCore c, BCRStream stream, const BCRStage *stage, BCRDeviceWalk *w,
                                          void *u)
{
  const PetscInt d = stage->axis;
  void *next = place_next(c, stage, w->at, u);
  const BCRCudaLines from = place_lines(c, d, w->at), to = place_lines(c, d, next);
  const PetscBool none =
    (ptrdiff_t)from.na * from.nb > 0 ? PETSC_FALSE : PETSC_TRUE; /* a rank may have no rows, or no share */

  PetscFunctionBegin;
  for (PetscInt part = 0; part < (parts_together(c) ? 1 : BCRDeviceParts(c)) && !none; part++) {
    const void *v = BCRDeviceSpectralPart(c, w->at, part);
    void *g = BCRDeviceSpectralPart(c, next, part);

    if (d == 0 && c->roworder.mode)
      PetscCallBCRCuda(BCRDeviceTransformRows(c, stream, stage->back, &from, v, &to, g, NULL, 0));
    else PetscCallBCRCuda(BCRDeviceTransform(c, stream, d, stage->back, &from, v, &to, g));
  }
  w->at = next;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceSpectralDivide(BCRDeviceCore c, BCRStream stream, const BCRStage *stage, BCRDeviceWalk *w,
                                       void *u)
{
  const BCRPlan p = c->plan;
  const PetscInt d = stage->axis;
  const BCRCudaBox *box = &c->places[c->share ? 1 : 0].box;
  const PetscBool empty = (ptrdiff_t)box->n[0] * box->n[1] * box->n[2] > 0 ? PETSC_FALSE : PETSC_TRUE;
  double *sums = c->left && p->left_out ? BCRDeviceLeftSums(c) : NULL;
  void *imaginary;

  PetscFunctionBegin;
  if (BCRPlanDividesWithin(p)) {
    void *g = place_next(c, stage, w->at, u);
    const BCRCudaLines from = place_lines(c, d, w->at), to = place_lines(c, d, g);
    const PetscBool again =
      BCREndIsZero(p->axis[d].end[0]) && BCREndIsZero(p->axis[d].end[1]) ? PETSC_TRUE : PETSC_FALSE;

    if (!empty)
      PetscCallBCRCuda(BCRCudaFftDivide(stream, &c->modes[d], again, &c->symbol, (int)d, c->single, c->cuda.shared,
                                        &from, w->at, &to, g));
    w->at = g;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (sums && c->share) sums += 3 * c->share->rank;
  if (sums && empty) PetscCallBCRCuda(BCRCudaZero(sums, 3 * sizeof(double), stream));
  if (empty) PetscFunctionReturn(PETSC_SUCCESS);
  imaginary = BCRDeviceParts(c) > 1 ? BCRDeviceSpectralPart(c, w->at, 1) : NULL;
  if (sums) PetscCallBCRCuda(BCRCudaLeftSums(stream, box, &c->symbol, c->single, w->at, imaginary, c->left + 2, sums));
  if (sums && !c->share) PetscCallBCRCuda(BCRCudaLeftLargest(stream, 1, sums, p->symbol_size, c->left));
  PetscCallBCRCuda(BCRCudaDivide(stream, box, &c->symbol, c->single, (void *)w->at, imaginary));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
