/*
  Plans RING and SPLIT on a CUDA device: planes through the second-level cache, or with their second transform in two
  parts (src/backend/cuda/ring.h), lines along axis 2 by tables, or (RING) by elimination.
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
    const int n = BCRCudaRingRoots(&r, c->single, r.axis[d].len, NULL);
    double *w;

    r.axis[d].roots = c->ring.axis[d].roots;
    if (r.axis[d].roots) continue;
    PetscCall(PetscMalloc1(2 * n, &w));
    (void)BCRCudaRingRoots(&r, c->single, r.axis[d].len, w);
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

/* What each mode of the planes adds to its line, with the shift, as they lie in u */
static PetscErrorCode ring_modes(BCRDeviceCore c, double **sigma)
{
  const BCRPlan p = c->plan;
  const double *w[2];

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 2; d++) {
    const BCRAxis *a = &p->axis[d];
    const PetscBool periodic = BCREndIsPeriodic(a->end[0]) ? PETSC_TRUE : PETSC_FALSE;
    double *s;

    PetscCall(PetscMalloc1(p->n[d], &s));
    for (PetscInt i = 0; i < p->n[d]; i++) { /* modes of periodic axes are 1, c1, s1, c2, s2, ... */
      const PetscInt mode = periodic ? PetscMin(PetscMax(2 * i - 1, 0), p->n[d] - 1) : i;

      s[i] = a->a * p->lambda[d][mode] + (d || p->singular ? 0 : p->shift + p->fixed);
    }
    PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, p->n[d], s, &w[d]));
    PetscCall(PetscFree(s));
  }
  PetscCall(
    BCRDeviceArenaGet(&c->tables, (size_t)c->ring.axis[0].len * c->ring.axis[1].len * sizeof(double), "tables", sigma));
  PetscCallBCRCuda(BCRCudaRingModes(c->stream, &c->ring, w[0], w[1], *sigma));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceRingTables(BCRDeviceCore c)
{
  const BCRPlan p = c->plan;
  const BCRAxis *z = &p->axis[2];
  PetscInt modes;
  double *sigma;

  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaSynchronize(c->stream)); /* the tables may be in use */
  PetscCall(BCRDeviceArenaFree(&c->tables));
  if (!c->space.n) PetscCall(ring_create(c));
  PetscCall(ring_modes(c, &sigma));
  modes = (PetscInt)c->ring.axis[0].len * c->ring.axis[1].len;
  c->ring.scale = c->factor / (p->general ? 1 : z->a);
  for (int d = 0; d < 2; d++) { /* transforms there and back are so many times too large */
    const BCRCudaRingAxis *a = &c->ring.axis[d];

    c->ring.scale /= a->ends == BCR_CUDA_RING_NODE ? 0.5 * a->len : a->len;
  }
  if (!c->work && (p->general || c->ring.apart))
    PetscCall(BCRDeviceArenaGet(&c->space, (size_t)modes * p->n[2] * c->size, "the workspace", &c->work));
  if (p->general) {
    PetscCall(PetscMemzero(&c->rows, sizeof(c->rows)));
    c->rows.n = (int)p->n[2];
    c->rows.shifta = sigma;
    c->rows.factor = 1;
    c->rows.pina = c->rows.pinb = p->singular ? 0 : -1;
    c->rows.removed = c->scalars;
    c->rows.removedfactor = 1 / c->factor;
    PetscCall(BCRDeviceLinesRows(c));
  } else {
    BCRCudaRingLines *l = &c->ringlines;
    void *tab;

    l->n = (int)p->n[2];
    for (int e = 0; e < 2; e++) l->end[e] = z->end[e];
    l->pin = p->singular;
    l->removed = c->scalars;
    l->removedfactor = z->a / c->factor;
    PetscCall(BCRDeviceArenaGet(&c->tables, 5 * (size_t)modes * c->size, "tables", &tab));
    PetscCallBCRCuda(BCRCudaRingTable(c->stream, l, c->single, modes, z->a, sigma, tab));
    l->tab = tab;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceRingPlanes(BCRDeviceCore c, BCRStream stream, const BCRStage *stage, BCRDeviceWalk *w, void *u)
{
  void *modes = c->ring.apart ? c->work : u;

  PetscFunctionBegin;
  if (stage->back) PetscCallBCRCuda(BCRCudaRingBackward(stream, &c->ring, c->single, modes, u));
  else PetscCallBCRCuda(BCRCudaRingForward(stream, &c->ring, c->single, w->at, modes));
  w->at = u;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceRingLines(BCRDeviceCore c, BCRStream stream, const BCRStage *stage, BCRDeviceWalk *w, void *u)
{
  const int modes = c->ring.axis[0].n * c->ring.axis[1].n;
  const BCRCudaLines lines = {modes, 1, 1, 0, c->ring.uplane}, other = {modes, 1, 1, 0, modes};

  PetscFunctionBegin;
  (void)stage;
  (void)w;
  if (!c->plan->general) {
    PetscCallBCRCuda(BCRCudaRingSolve(stream, &c->ring, &c->ringlines, c->single, c->ring.apart ? c->work : u));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallBCRCuda(BCRCudaLineSolve(stream, &c->rows, c->single, &lines, u, &other, c->work));
  if (c->plan->singular) PetscCallBCRCuda(BCRCudaRingMean(stream, &c->ring, c->single, u));
  PetscCallBCRCuda(BCRCudaRingClear(stream, &c->ring));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
