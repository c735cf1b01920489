#include "../../base/petscbcrimpl.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "box.h"

struct _n_BCRDeviceBox {
  BCRPlan plan;
  BCRStream stream; /* of set-up */
  BCRDeviceArena fixedtables, tables;
  BCRCudaBoxPass pass;
  BCRCudaBoxPlanes planes;
};

PetscErrorCode BCRDeviceBoxCreate(BCRPlan plan, BCRStream stream, BCRDeviceBox *box)
{
  BCRDeviceBox b;

  PetscFunctionBegin;
  PetscCall(PetscNew(box));
  b = *box;
  b->plan = plan;
  b->stream = stream;
  BCRPlanCudaBox(plan, &b->pass, &b->planes);
  for (int pass = 0; pass < 2; pass++) {
    const int N = pass ? b->pass.N : b->planes.N, n = BCRCudaBoxRoots(N, NULL);
    double *w;

    PetscCall(PetscMalloc1(2 * n, &w));
    (void)BCRCudaBoxRoots(N, w);
    PetscCall(
      BCRDeviceArenaPut(&b->fixedtables, stream, plan->single, 2 * n, w, pass ? &b->pass.roots : &b->planes.roots));
    PetscCall(PetscFree(w));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscInt BCRDeviceBoxBlocks(BCRDeviceBox b)
{
  return BCRCudaBoxBlocks(&b->planes);
}

/* The way back of a cosine transform doubles all but the modes of both ends */
static double box_norm(int even, PetscInt k, int N, double norm)
{
  return norm * (even && (k == 0 || k == N) ? 0.5 : 0.25);
}

PetscErrorCode BCRDeviceBoxSetUp(BCRDeviceBox b, double factor, double *removed, const BCRCudaPlaneMean *mean)
{
  const BCRPlan p = b->plan;
  const BCRAxis *x = &p->axis[p->box.in], *y = &p->axis[p->box.across], *z = &p->axis[p->box.line];
  const double *lambda = p->lambda[p->box.across], *norm = p->norm[p->box.across];
  const double base = p->singular ? 0 : p->shift + p->fixed;
  const PetscInt nk = x->n, planes = y->n;
  double *shifts, *scales, *norms, *tab;
  BCRCudaSepRows r;

  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaSynchronize(b->stream)); /* the tables may be in use */
  PetscCall(BCRDeviceArenaFree(&b->tables));
  PetscCall(PetscMemzero(&r, sizeof(r)));
  PetscCall(PetscMalloc2(planes, &shifts, planes, &scales));
  for (PetscInt k = 0; k < planes; k++) {
    shifts[k] = base + y->a * lambda[k];
    scales[k] = factor * box_norm(b->pass.even, k, b->pass.N, norm[k]) / z->a;
  }
  PetscCall(BCRDeviceArenaPut(&b->tables, b->stream, PETSC_FALSE, planes, shifts, &r.shift));
  PetscCall(BCRDeviceArenaPut(&b->tables, b->stream, PETSC_FALSE, planes, scales, &r.scale));
  PetscCall(PetscFree2(shifts, scales));
  PetscCall(BCRDeviceArenaPut(&b->tables, b->stream, PETSC_FALSE, nk, p->lambda[p->box.in], &r.lambda));
  PetscCall(PetscMalloc1(nk, &norms));
  for (PetscInt k = 0; k < nk; k++) norms[k] = box_norm(b->planes.even, k, b->planes.N, p->norm[p->box.in][k]);
  PetscCall(BCRDeviceArenaPut(&b->tables, b->stream, PETSC_FALSE, nk, norms, &r.norm));
  PetscCall(PetscFree(norms));
  PetscCall(BCRDeviceArenaGet(&b->tables, (size_t)nk * BCR_CUDA_SEP_TAB * planes * sizeof(double), "tables", &tab));
  if (b->planes.kind == BCR_CUDA_BOX_MARCH)
    PetscCall(BCRDeviceArenaGet(&b->tables, (size_t)2 * nk * planes * sizeof(double), "tables", &b->planes.ends));
  if (b->planes.open[0] || b->planes.open[1]) {
    PetscCall(
      BCRDeviceArenaGet(&b->tables, (size_t)nk * BCR_CUDA_SEP_BORDER * planes * sizeof(double), "tables", &r.border));
    b->planes.border = r.border;
    b->planes.a = z->a;
  }
  r.n = b->planes.n;
  r.ring = BCREndIsPeriodic(z->end[0]);
  for (int e = 0; e < 2; e++) r.end[e] = z->end[e];
  r.nk = (int)nk;
  r.planes = (int)planes;
  r.pin = p->singular ? 0 : -1;
  b->planes.removed = removed;
  b->planes.removedfactor = 0.25 * norm[0] * p->norm[p->box.in][0]; /* two transforms, each times two */
  b->planes.mean = *mean;
  r.ax = x->a;
  r.ay = z->a;
  b->planes.tab = tab;
  PetscCallBCRCuda(BCRCudaSepTables(b->stream, &r, tab));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceBoxColumns(BCRDeviceBox b, BCRStream stream, const void *f, void *u, const double *mean)
{
  BCRCudaBoxPass p = b->pass;

  PetscFunctionBegin;
  p.mean = mean;
  PetscCallBCRCuda(BCRCudaBoxColumns(stream, &p, b->plan->single, f, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceBoxPlanes(BCRDeviceBox b, BCRStream stream, void *u)
{
  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaBoxSolve(stream, &b->planes, b->plan->single, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceBoxBorderBegin(BCRDeviceBox b, BCRStream stream, const void *f, void *u, double *interface,
                                       double *previous)
{
  PetscFunctionBegin;
  b->planes.interface = interface;
  b->planes.previous = previous;
  PetscCallBCRCuda(BCRCudaBoxColumns(stream, &b->pass, b->plan->single, f, u));
  PetscCallBCRCuda(BCRCudaBoxHalf(stream, &b->planes, 0, b->plan->single, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceBoxBorderEnd(BCRDeviceBox b, BCRStream stream, void *u, const double *interface,
                                     const double *before)
{
  PetscFunctionBegin;
  b->planes.after = interface;
  b->planes.before = before;
  PetscCallBCRCuda(BCRCudaBoxHalf(stream, &b->planes, 1, b->plan->single, u));
  PetscCallBCRCuda(BCRCudaBoxColumns(stream, &b->pass, b->plan->single, u, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceBoxReducedBegin(BCRDeviceBox b, BCRStream stream, const void *f, void *u, double *interface,
                                        double *previous, const BCRCudaBorderRows *rows, int part,
                                        const BCRCudaWindow *w)
{
  PetscFunctionBegin;
  b->planes.interface = interface;
  b->planes.previous = previous;
  PetscCallBCRCuda(BCRCudaBoxColumns(stream, &b->pass, b->plan->single, f, u));
  if (!(b->plan->box.stays && w))
    PetscCallBCRCuda(BCRCudaBoxHalfReduced(stream, &b->planes, 0, b->plan->single, u, rows, NULL, part, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceBoxReducedPlanes(BCRDeviceBox b, BCRStream stream, void *u, const BCRCudaBorderRows *rows,
                                         const double *received, int part, const BCRCudaWindow *w)
{
  PetscFunctionBegin;
  if (b->plan->box.stays && w) PetscCallBCRCuda(BCRCudaBoxRanks(stream, &b->planes, b->plan->single, u, rows, part, w));
  else PetscCallBCRCuda(BCRCudaBoxHalfReduced(stream, &b->planes, 1, b->plan->single, u, rows, received, part, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceBoxReducedEnd(BCRDeviceBox b, BCRStream stream, void *u)
{
  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaBoxColumns(stream, &b->pass, b->plan->single, u, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceBoxDestroy(BCRDeviceBox *box)
{
  PetscFunctionBegin;
  if (!*box) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRDeviceArenaFree(&(*box)->fixedtables));
  PetscCall(BCRDeviceArenaFree(&(*box)->tables));
  PetscCall(PetscFree(*box));
  PetscFunctionReturn(PETSC_SUCCESS);
}

size_t BCRDeviceBoxTables(BCRDeviceBox b)
{
  return b->tables.bytes + b->fixedtables.bytes;
}
#endif
