/*
  Plans RING and SPLIT on a CUDA device: planes through the second-level cache, or with their second transform in two
  parts (src/backend/cuda/ring.h), lines across them by tables, or (RING) by elimination. Lines by tables may go on on other
  ranks.
*/
#include "../../base/petscbcrimpl.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "coreimpl.h"

/* What depends on the axes alone, and the ring */
static PetscErrorCode ring_create(BCRDeviceCore c)
{
  const BCRPlan p = c->plan;
  BCRCudaRing r;

  PetscFunctionBegin;
  PetscCheck(BCRPlanCudaRing(p, p->kind == BCR_PLAN_SPLIT ? PETSC_TRUE : PETSC_FALSE, &r), PETSC_COMM_SELF,
             PETSC_ERR_PLIB, "Planes had kernels when the plan was made");
  for (int d = 0; d < 2; d++) {
    const int n = BCRCudaRingRoots(&r, c->single, d, NULL);
    double *w;

    if (c->ring.axis[d].len == r.axis[d].len && c->ring.split.N1 == r.split.N1)
      r.axis[d].roots = c->ring.axis[d].roots; /* of another shift */
    if (r.axis[d].roots) continue;
    PetscCall(PetscMalloc1(2 * n, &w));
    (void)BCRCudaRingRoots(&r, c->single, d, w);
    PetscCall(BCRDeviceArenaPut(&c->fixedtables, c->stream, c->single, 2 * n, w, &r.axis[d].roots));
    PetscCall(PetscFree(w));
  }
  if (!r.split.N1)
    PetscCall(BCRDeviceArenaGet(&c->space, BCRCudaRingBytes(&r, c->single), "planes in the cache", &r.ring));
  PetscCall(BCRDeviceArenaGet(&c->space, (size_t)BCRCudaRingCounts(&r) * sizeof(int), "counters", &r.count));
  PetscCallBCRCuda(BCRCudaRingClear(c->stream, &r));
  c->ring = r;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static size_t ring_plane(BCRDeviceCore c) /* modes of a plane */
{
  return 2 * (size_t)c->ring.columns * c->ring.column;
}

/* What each mode of the planes adds to its line, with the shift, as they lie in u */
static PetscErrorCode ring_modes(BCRDeviceCore c, double **sigma)
{
  const BCRPlan p = c->plan;
  const double *w[2];

  PetscFunctionBegin;
  for (PetscInt e = 0; e < 2; e++) {
    const PetscInt d = p->ring.axis[e], n = p->n[d];
    const PetscBool periodic = BCREndIsPeriodic(p->axis[d].end[0]) ? PETSC_TRUE : PETSC_FALSE;
    double *s;

    PetscCall(PetscMalloc1(n, &s));
    for (PetscInt i = 0; i < n; i++) { /* modes of periodic axes are 1, c1, s1, c2, s2, ... */
      const PetscInt mode = periodic ? PetscMin(PetscMax(2 * i - 1, 0), n - 1) : i;

      s[i] = p->axis[d].a * p->lambda[d][mode] + (e || p->singular ? 0 : p->shift + p->fixed);
    }
    PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, n, s, &w[e]));
    PetscCall(PetscFree(s));
  }
  PetscCall(BCRDeviceArenaGet(&c->tables, ring_plane(c) * sizeof(double), "tables", sigma));
  PetscCallBCRCuda(BCRCudaRingModes(c->stream, &c->ring, w[0], w[1], *sigma));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lines by tables; removed: as in BCRCudaRingLines */
static PetscErrorCode ring_lines(BCRDeviceCore c, const double *sigma, double removed)
{
  const BCRAxis *z = &c->plan->axis[c->plan->ring.axis[2]];
  const size_t plane = ring_plane(c);
  BCRCudaRingLines *l = &c->ringlines;
  void *tab, *mode;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(l, sizeof(*l)));
  l->n = (int)z->n;
  for (int e = 0; e < 2; e++) {
    l->end[e] = z->end[e];
    l->open[e] = c->plan->open[e];
  }
  l->pin = c->plan->singular;
  l->removed = c->scalars;
  l->removedfactor = removed;
  for (int d = 0; d < 2; d++)
    if (c->ring.axis[d].ends == BCR_CUDA_RING_COSINES && l->pin && !l->open[0] && !l->open[1]) l->sums = c->ringsums;
  if (l->open[0] || l->open[1]) {
    l->gain = removed * c->factor;
    l->back = z->a / l->gain;
    PetscCall(BCRDeviceArenaGet(&c->tables, plane * sizeof(int), "tables", &mode));
    PetscCallBCRCuda(BCRCudaRingNumbers(c->stream, &c->ring, (int *)mode));
    l->mode = (const int *)mode;
  }
  PetscCall(BCRDeviceArenaGet(&c->tables, (l->mode ? BCR_CUDA_RING_TABLE : 5) * plane * c->size, "tables", &tab));
  PetscCallBCRCuda(BCRCudaRingTable(c->stream, l, c->single, (ptrdiff_t)plane, z->a, sigma, tab));
  l->tab = tab;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceRingTables(BCRDeviceCore c)
{
  const BCRPlan p = c->plan;
  const PetscInt nz = p->n[p->ring.axis[2]];
  const BCRAxis *z = &p->axis[p->ring.axis[2]];
  const double a = p->general ? 1 : z->a;
  double *sigma, removed = a / c->factor;

  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaSynchronize(c->stream)); /* the tables may be in use */
  PetscCall(BCRDeviceArenaFree(&c->tables));
  if (c->space.n && (c->ringalong != p->ring.axis[2] || (c->ring.split.N1 != 0) != (p->kind == BCR_PLAN_SPLIT))) {
    /* another shift, other planes */
    PetscCall(BCRDeviceArenaFree(&c->space));
    c->work = c->ringmodes = NULL;
    c->ringsums = NULL;
  }
  c->ringalong = p->ring.axis[2];
  if (!c->space.n) PetscCall(ring_create(c));
  PetscCall(ring_modes(c, &sigma));
  c->ring.scale = c->factor / a;
  for (int d = 0; d < 2; d++) { /* transforms there and back are so many times too large */
    c->ring.scale /= BCRCudaRingFactor(&c->ring.axis[d]);
    if (c->ring.axis[d].ends == BCR_CUDA_RING_COSINES) removed /= 2; /* wave 0 counts by half in the solution */
  }
  if (c->ring.apart && !c->ringmodes) { /* places that no mode has stay zero: lines by elimination go there, too */
    PetscCall(BCRDeviceArenaGet(&c->space, ring_plane(c) * (size_t)nz * c->size, "modes", &c->ringmodes));
    PetscCallBCRCuda(BCRCudaZero(c->ringmodes, ring_plane(c) * (size_t)nz * c->size, c->stream));
  }
  if (p->general && !c->work)
    PetscCall(BCRDeviceArenaGet(&c->space, ring_plane(c) * (size_t)nz * c->size, "the workspace", &c->work));
  if (p->singular && !c->ringsums)
    PetscCall(BCRDeviceArenaGet(&c->space, (size_t)BCRCudaRingSums(&c->ring, c->single) * sizeof(double), "sums",
                                &c->ringsums));
  if (p->general) {
    PetscCall(PetscMemzero(&c->rows, sizeof(c->rows)));
    c->rows.n = (int)nz;
    c->rows.shifta = sigma;
    c->rows.factor = 1;
    c->rows.pina = c->rows.pinb = p->singular ? 0 : -1;
    c->rows.removed = c->scalars;
    c->rows.removedfactor = removed;
    PetscCall(BCRDeviceLinesRows(c, p->ring.axis[2]));
  } else PetscCall(ring_lines(c, sigma, removed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void *BCRDeviceRingModes(BCRDeviceCore c, void *u)
{
  return c->ring.apart ? c->ringmodes : u;
}

PetscErrorCode BCRDeviceRingPlanes(BCRDeviceCore c, BCRStream stream, const BCRStage *stage, BCRDeviceWalk *w, void *u)
{
  void *modes = BCRDeviceRingModes(c, u);

  PetscFunctionBegin;
  if (stage->back) PetscCallBCRCuda(BCRCudaRingBackward(stream, &c->ring, c->single, modes, u));
  else PetscCallBCRCuda(BCRCudaRingForward(stream, &c->ring, c->single, w->at, modes));
  w->at = u;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscInt BCRDeviceRingLayout(BCRDeviceCore c)
{
  const PetscInt most = 4096; /* more than there are columns of an item */
  BCRCudaRing r;

  if (!BCRPlanIsRing(c->plan->kind)) return 0;
  return BCRPlanCudaRing(c->plan, c->plan->kind == BCR_PLAN_SPLIT ? PETSC_TRUE : PETSC_FALSE, &r)
           ? 1 + r.split.N1 * most + r.split.columns
           : 0;
}

PetscErrorCode BCRDeviceRingExclude(BCRDeviceCore c, PetscBool all)
{
  PetscFunctionBegin;
  if (all) PetscCall(BCRPlanExclude(c->plan, BCR_PLAN_RING));
  PetscCall(BCRPlanExclude(c->plan, BCR_PLAN_SPLIT));
  c->stale = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceRingLines(BCRDeviceCore c, BCRStream stream, const BCRStage *stage, BCRDeviceWalk *w, void *u)
{
  const int plane = (int)ring_plane(c);
  const BCRCudaLines lines = {plane, 1, 1, 0, c->ring.modes}, other = {plane, 1, 1, 0, plane};
  void *modes = BCRDeviceRingModes(c, u);
  const PetscBool general = c->plan->general;
  PetscBool mean = c->plan->singular;

  PetscFunctionBegin;
  (void)stage;
  (void)w;
  if (general) {
    PetscCallBCRCuda(BCRCudaLineSolve(stream, &c->rows, c->single, &lines, modes, &other, c->work));
    PetscCallBCRCuda(BCRCudaRingClear(stream, &c->ring));
  } else {
    PetscCallBCRCuda(BCRCudaRingSolve(stream, &c->ring, &c->ringlines, c->single, modes));
    /* that of mode (0, 0) is gone, which is all but for waves whose nodes do not have the sum 0 */
    if (!c->ringlines.sums) mean = PETSC_FALSE;
  }
  if (mean)
    PetscCallBCRCuda(BCRCudaRingMean(stream, &c->ring, general ? NULL : &c->ringlines, c->single, modes, c->ringsums));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
