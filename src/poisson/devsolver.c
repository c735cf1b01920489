/*
  solver.c and planes.c for vectors in device memory: the same passes, with a kernel in place of
  each loop. The components (operators, faces, factors) are those that solver.c sets up; this file
  has copies of their tables on the device.
*/
#include "../base/petscbcrimpl.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "solverimpl.h"
  #include "../operator/devscale.h"
  #include "devranks.h"
  #include "../base/agree.h"
  #include <stdlib.h>

  #if defined(PETSC_USE_COMPLEX)
    #define BCR_PARTS 2
  #else
    #define BCR_PARTS 1
  #endif
  #define BCR_REAL_SINGLE (sizeof(PetscReal) == sizeof(float))
  #define BCR_SLOTS       32 /* right-hand sides whose removed constants are kept */

typedef struct {
  BCRDeviceArena arena;
  const double *w[2][2][3]; /* [before, after][transpose][axis] */
  const double *rowscale;
  const double *weight[3];
  BCRCudaFace face[6];
  BCRCudaEdge *edge, *apart;
  double *apartwork;       /* what rows apart have in a pass */
  const double *row[3][3]; /* mixed precision: [low, diag, up][axis] of scale T */
  /* corrections after the first solve; -1: single precision is not enough, in double from the start
     */
  PetscInt ncorrect;
  /* [transpose], BCRComponentOnes(): the solution, and what is removed, of f = 1; NULL: not made */
  PetscReal *ones[2];
  double onesremoved[2];
} BCRDeviceComponent;

struct _n_BCRDeviceSolver {
  BCRStream stream; /* of set-up, and of vectors from the host */
  BCRDeviceComponent *comp;
  PetscInt ncore;
  BCRTransport transport; /* several ranks; else NULL */
  BCRDeviceRanks *core;
  BCRDeviceRanks *fallback; /* in double, of components whose ncorrect is -1 */
  PetscBool single, staged; /* work type; the cores work on stage */
  PetscBool mixed;
  /* mixed precision: the solution where that of the caller cannot be used; made when needed */
  double *v;
  double *scalars;    /* 3 */
  PetscInt stride[3]; /* of the cores' arrays */
  BCRDeviceArena space;
  void *stage;
  double *removed;        /* device: of the last passes, BCR_SLOTS x dof x BCR_PARTS */
  PetscInt slots;         /* right-hand sides of the last solve */
  PetscReal earlier;      /* largest constant removed by solves before that, which belong to it */
  BCRDeviceArena vectors; /* copies of vectors of the host */
  PetscScalar *vector;
  BCRDeviceGraphs graphs;
  PetscBool windows; /* kernels store in other ranks' memory */
};

/* those with one neighbour one behind another, as BCRCudaEdgeSlope() wants them */
static int compare_edges(const void *a, const void *b)
{
  const BCRCudaEdge *x = (const BCRCudaEdge *)a, *y = (const BCRCudaEdge *)b;

  if (x->from != y->from) return x->from < y->from ? -1 : 1;
  return (x->at > y->at) - (x->at < y->at);
}

static PetscErrorCode put_real(BCRDeviceArena *arena, BCRStream stream, PetscInt n, const PetscReal v[],
                               const double **p)
{
  double *w;

  PetscFunctionBegin;
  *p = NULL;
  if (!v) PetscFunctionReturn(PETSC_SUCCESS);
  if (!BCR_REAL_SINGLE) {
    /* as it is: row scales are a vector long */
    PetscCall(BCRDeviceArenaPut(arena, stream, PETSC_FALSE, n, (const double *)v, p));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscMalloc1(PetscMax(n, 1), &w));
  for (PetscInt i = 0; i < n; i++) w[i] = (double)v[i];
  PetscCall(BCRDeviceArenaPut(arena, stream, PETSC_FALSE, n, w, p));
  PetscCall(PetscFree(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tables of a component */
static PetscErrorCode component_tables(BCRSolver s, PetscInt m)
{
  const BCRComponent *c = &s->comp[m];
  BCRDeviceComponent *d = &s->device->comp[m];
  BCRStream st = s->device->stream;
  PetscInt box = 1;

  PetscFunctionBegin;
  PetscCall(BCRDeviceArenaFree(&d->arena));
  PetscCall(PetscMemzero(d, sizeof(*d)));
  for (int x = 0; x < 3; x++) box *= c->op.axis[x].n;
  for (int t = 0; t < 2; t++) {
    for (int x = 0; x < 3; x++) {
      const PetscInt n = c->op.axis[x].n;

      /* before: planes take single entries of them even where they are all one */
      PetscCall(BCRDeviceArenaPut(&d->arena, st, PETSC_FALSE, n, n ? c->pre[t][x].v : NULL, &d->w[0][t][x]));
      if (c->postscale[t])
        PetscCall(BCRDeviceArenaPut(&d->arena, st, PETSC_FALSE, n, n ? c->post[t][x].v : NULL, &d->w[1][t][x]));
    }
  }
  for (int x = 0; x < 3; x++) PetscCall(put_real(&d->arena, st, c->op.axis[x].n, c->op.axis[x].weight, &d->weight[x]));
  if (c->op.devscale) d->rowscale = BCRDeviceScaleArray(c->op.devscale);
  else PetscCall(put_real(&d->arena, st, box, c->op.rowscale, &d->rowscale));
  for (PetscInt b = 0; b < c->nface; b++) {
    const BCRFace *f = &c->face[b];
    BCRCudaFace *g = &d->face[b];
    const PetscInt nodes = c->N[0] * c->N[1] * c->N[2] / PetscMax(c->N[f->axis], 1);

    g->at = f->at;
    g->q = f->q;
    g->inward = f->inward;
    g->inv0 = (double)f->plane->inv0;
    g->slope = (double)f->plane->slope;
    for (int o = 0; o < 2; o++) {
      g->stride[o] = f->stride[o];
      g->qstride[o] = f->qstride[o];
      g->n[o] = (int)f->n[o];
    }
    PetscCall(put_real(&d->arena, st, nodes, f->plane->inv, &g->inv));
    PetscCall(put_real(&d->arena, st, nodes, f->plane->couplings, &g->couplings));
  }
  if (c->napart) {
    BCRCudaEdge *e;

    PetscCall(PetscCalloc1(c->napart, &e));
    for (PetscInt b = 0; b < c->napart; b++) {
      e[b].at = c->apartat[b];
      e[b].inv = (double)c->apartinv[b];
    }
    PetscCall(BCRDeviceArenaGet(&d->arena, (size_t)c->napart * sizeof(*e), "tables", &d->apart));
    PetscCall(BCRDeviceArenaGet(&d->arena, (size_t)c->napart * sizeof(double), "tables", &d->apartwork));
    PetscCallBCRCuda(BCRCudaPut(d->apart, e, (size_t)c->napart * sizeof(*e), st));
    PetscCall(PetscFree(e));
  }
  if (c->nedge) {
    BCRCudaEdge *e;

    PetscCall(PetscMalloc1(c->nedge, &e));
    for (PetscInt b = 0; b < c->nedge; b++) {
      e[b].at = c->edge[b].at;
      e[b].from = c->edge[b].from;
      e[b].inv = (double)c->edge[b].inv;
      e[b].slope = (double)c->edge[b].slope;
    }
    for (int key = 2; key < 8; key++)
      qsort(e + c->edgestart[key], (size_t)(c->edgestart[key + 1] - c->edgestart[key]), sizeof(*e), compare_edges);
    PetscCall(BCRDeviceArenaGet(&d->arena, (size_t)c->nedge * sizeof(*e), "tables", &d->edge));
    PetscCallBCRCuda(BCRCudaPut(d->edge, e, (size_t)c->nedge * sizeof(*e), st));
    PetscCall(PetscFree(e));
  }
  if (s->device->mixed && c->core >= 0) {
    for (int x = 0; x < 3; x++) {
      PetscCall(BCRDeviceArenaPut(&d->arena, st, PETSC_FALSE, c->op.axis[x].n, c->lower[x], &d->row[0][x]));
      PetscCall(BCRDeviceArenaPut(&d->arena, st, PETSC_FALSE, c->op.axis[x].n, c->diag[x], &d->row[1][x]));
      PetscCall(BCRDeviceArenaPut(&d->arena, st, PETSC_FALSE, c->op.axis[x].n, c->upper[x], &d->row[2][x]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode box_create(BCRSolver s, double **p, const char what[])
{
  struct _n_BCRDeviceSolver *d = s->device;
  size_t box = 0;

  PetscFunctionBegin;
  if (*p) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt m = 0; m < s->dof; m++) {
    const BCRAxis *x = s->comp[m].op.axis;

    box = PetscMax(box, (size_t)x[0].n * x[1].n * x[2].n);
  }
  PetscCall(BCRDeviceArenaGet(&d->space, box * sizeof(double), what, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* made: right-hand sides are made for the core, not the caller's */
static PetscErrorCode core_create(BCRSolver s, const BCRComponent *c, BCRPrecision precision, const PetscInt stride[],
                                  double factor, PetscBool made, BCRDeviceRanks *core)
{
  BCRCoreOptions with = s->options.core;
  PetscInt slab = PetscMax(0, c->slab);
  BCRAxis axis[3];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  with.precision = precision;
  for (int x = 0; x < 3; x++) {
    axis[x] = *BCRComponentAxis(c, x);
    axis[x].weight = NULL;
    if (axis[x].n == 1) axis[x].a = 0;
    PetscCall(PetscMemzero(axis[x].plane, sizeof(axis[x].plane)));
  }
  PetscCall(BCRDeviceRanksCreate(s->slabs.comm, s->device->transport, slab, c->first, c->op.axis[slab].n, c->op.dim,
                                 axis, c->op.shift, c->op.singular, stride, &with, s->device->stream, core));
  PetscCall(BCRDeviceRanksSetFactor(*core, (PetscReal)factor));
  if (made || c->prescale[0] || c->prescale[1] || BCROperatorScaled(&c->op) || c->nface)
    PetscCall(BCRDeviceRanksReserveInput(*core));
  ierr = BCRDeviceRanksSetUp(*core);
  PetscCall(BCRSolverShare(s, ierr, "cannot solve for its rows on its device, as its own message says"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Mixed precision (refine.c): v = 0, r = g; repeat e = K^-1 r in single, v += e, r = g - K v in
  double. The host must not wait for the residual, so that the number of corrections is fixed:
  set-up counts what a trial needs, and adds one. error: of each step, for that trial; else NULL.
*/
static PetscErrorCode refine_solve(BCRSolver s, PetscInt m, PetscInt ncorrect, BCRStream st, const BCRCudaRefineRhs *g,
                                   const BCRCudaBox *vb, double *v, double *error)
{
  struct _n_BCRDeviceSolver *ds = s->device;
  const BCRComponent *c = &s->comp[m];
  BCRDeviceComponent *d = &ds->comp[m];
  BCRDeviceRanks core = ds->core[c->core];
  const double inverse = 1 / (c->norm * (double)c->op.scale), *removed;
  const ptrdiff_t es[3] = {1, ds->stride[1], ds->stride[2]}, packed[3] = {1, vb->n[0], (ptrdiff_t)vb->n[0] * vb->n[1]},
                  *rs;
  float *r, *e = (float *)ds->stage;
  void *in;
  double parts[3][64], sum[3] = {0, 0, 0}, *dparts = ds->scalars + 4;
  BCRCudaBox rb = *vb;

  PetscFunctionBegin;
  PetscCall(BCRDeviceRanksGetInput(core, &in));
  r = in ? (float *)in : e;
  rs = in ? packed : es;
  for (int x = 0; x < 3; x++) rb.stride[x] = rs[x];
  PetscCall(BCRDeviceRanksGetRemoved(core, &removed));
  PetscCallBCRCuda(BCRCudaRefineBegin(st, g, r, rs, ds->scalars));
  if (error) PetscCallBCRCuda(BCRCudaSumSquares(st, &rb, 1, r, 64, dparts));
  for (PetscInt it = 0; it <= ncorrect; it++) {
    PetscCall(BCRDeviceRanksSolve(core, st, r, e));
    PetscCallBCRCuda(BCRCudaRefineCorrect(st, vb, e, es, v, inverse, it > 0, removed, ds->scalars));
    if (it == ncorrect && !error) break;
    PetscCallBCRCuda(BCRCudaResidual(st, g, vb, v, r, rs, d->row[0], d->row[1], d->row[2],
                                     (double)c->op.scale * (double)c->op.shift, ds->scalars));
    if (error) {
      double rscale;

      PetscCallBCRCuda(BCRCudaSumSquares(st, &rb, 1, r, 64, dparts + 64));
      PetscCallBCRCuda(BCRCudaSumSquares(st, vb, 0, v, 64, dparts + 128));
      PetscCallBCRCuda(BCRCudaGet(parts, dparts, sizeof(parts), st));
      PetscCallBCRCuda(BCRCudaGet(&rscale, ds->scalars, sizeof(double), st));
      for (int q = 0; q < 3; q++) {
        sum[q] = 0;
        for (int i = 0; i < 64; i++) sum[q] += parts[q][i];
      }
      error[it] = sqrt(sum[1]) / (fabs(rscale * c->norm * (double)c->op.scale) * sqrt(sum[2]) + sqrt(sum[0]));
    }
  }
  if (c->op.singular) { /* corrections have means of their own, to single precision */
    PetscCallBCRCuda(BCRCudaSum(st, vb, 0, v, NULL, ds->scalars + 4, ds->scalars + 3));
    PetscCallBCRCuda(BCRCudaAddValue(st, vb, 0, v, v, ds->scalars + 3, -1. / ((double)vb->n[0] * vb->n[1] * vb->n[2])));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How many corrections component m needs */
static PetscErrorCode refine_count(BCRSolver s, PetscInt m)
{
  struct _n_BCRDeviceSolver *ds = s->device;
  const BCRComponent *c = &s->comp[m];
  BCRDeviceComponent *d = &ds->comp[m];
  BCRDeviceArena arena;
  BCRCudaRefineRhs rhs;
  BCRCudaBox box;
  const long n = (long)c->op.axis[0].n * c->op.axis[1].n * c->op.axis[2].n;
  double *g, *v, error[9], best = 1;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&arena, sizeof(arena)));
  for (int x = 0; x < 3; x++) {
    box.n[x] = (int)c->op.axis[x].n;
    box.stride[x] = x ? box.stride[x - 1] * box.n[x - 1] : 1;
  }
  PetscCall(BCRDeviceArenaGet(&arena, (size_t)n * sizeof(double), "a trial of mixed precision", &g));
  PetscCall(BCRDeviceArenaGet(&arena, (size_t)n * sizeof(double), "a trial of mixed precision", &v));
  PetscCallBCRCuda(BCRCudaTrial(ds->stream, n, fabs((double)c->op.scale), g)); /* for a solution that can be squared */
  PetscCall(PetscMemzero(&rhs, sizeof(rhs)));
  rhs.box = box;
  rhs.f = g;
  PetscCall(refine_solve(s, m, 8, ds->stream, &rhs, &box, v, error));
  d->ncorrect = -1;
  for (int it = 0; it < 9; it++) {
    if (!(error[it] < best)) break;
    if (it > 0 && BCRRefineSlow(error[it], best)) { /* double precision from the start */
      best = error[it];
      break;
    }
    best = error[it];
    if (best <= 1e-15) {
      d->ncorrect = it + 1;
      break;
    }
    if (best <= 2e-15) d->ncorrect = it + 2; /* as far as double goes, if it does not get any better */
  }
  PetscCall(BCRDeviceArenaFree(&arena));
  if (d->ncorrect < 0) {
    PetscCall(PetscInfo(
      NULL, "Corrections of the single-precision solve do not converge (to %g); solving in double precision\n", best));
    if (!ds->fallback[c->core]) {
      PetscInt stride[3];

      for (int x = 0; x < 3; x++) stride[x] = x ? stride[x - 1] * box.n[x - 1] : 1;
      PetscCall(core_create(s, c, BCR_DOUBLE, stride, 1 / c->op.scale, PETSC_TRUE, &ds->fallback[c->core]));
    }
    PetscCall(box_create(s, &ds->v, "the solution in double precision"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a rank does on its own: tables of the components, workspace */
static PetscErrorCode solver_create(BCRSolver s)
{
  struct _n_BCRDeviceSolver *d = s->device;
  PetscInt nx = 0, ny = 0, nz = 0;
  const char *why;

  PetscFunctionBegin;
  PetscCheck(BCRDeviceAvailable(&why), PETSC_COMM_SELF, PETSC_ERR_GPU,
             "-pc_bcrpoisson_backend cuda: this machine has no CUDA device to run on (%s): use -pc_bcrpoisson_backend "
             "cpu or auto",
             why);
  PetscCall(PetscCalloc3(s->dof, &d->comp, s->dof, &d->core, s->dof, &d->fallback));
  for (PetscInt m = 0; m < s->dof; m++) {
    nx = PetscMax(nx, s->comp[m].op.axis[0].n);
    ny = PetscMax(ny, s->comp[m].op.axis[1].n);
    nz = PetscMax(nz, s->comp[m].op.axis[2].n);
    PetscCall(component_tables(s, m));
  }
  d->stride[0] = 1;
  d->stride[1] = d->staged ? nx : s->comp[0].stride[1];
  d->stride[2] = d->staged ? nx * ny : s->comp[0].stride[2];
  if (d->staged && nx && ny && nz)
    PetscCall(BCRDeviceArenaGet(&d->space, (size_t)nx * ny * nz * (d->single ? sizeof(float) : sizeof(double)),
                                "the workspace", &d->stage));
  PetscCall(BCRDeviceArenaGet(&d->space, BCR_SLOTS * (size_t)s->dof * BCR_PARTS * sizeof(double), "sums", &d->removed));
  PetscCallBCRCuda(BCRCudaZero(d->removed, BCR_SLOTS * (size_t)s->dof * BCR_PARTS * sizeof(double), d->stream));
  if (d->mixed) PetscCall(BCRDeviceArenaGet(&d->space, (4 + BCR_CUDA_PARTIALS) * sizeof(double), "sums", &d->scalars));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ones_create(BCRSolver s, PetscInt transpose, BCRStream stream);

PetscErrorCode BCRDeviceSolverCreate(BCRSolver s)
{
  struct _n_BCRDeviceSolver *d;
  BCRPrecision precision = s->options.core.precision;
  PetscMPIInt size = 1;
  PetscErrorCode ierr;
  PetscBool window, kernels;

  PetscFunctionBegin;
  if (s->slabs.comm != MPI_COMM_NULL) PetscCallMPI(MPI_Comm_size(s->slabs.comm, &size));
  if (size > 1 && precision == BCR_MIXED) precision = BCR_DOUBLE; /* corrections need a sum over all ranks each */
  PetscCall(PetscNew(&d));
  s->device = d;
  d->stream = s->options.stream;
  d->graphs.off = s->options.plainlaunch;
  d->mixed = precision == BCR_MIXED ? PETSC_TRUE : PETSC_FALSE;
  d->single = precision == BCR_DOUBLE ? PETSC_FALSE : PETSC_TRUE;
  d->staged = s->dof * BCR_PARTS > 1 || d->single != BCR_REAL_SINGLE || d->mixed ? PETSC_TRUE : PETSC_FALSE;
  ierr = solver_create(s);
  if (size > 1) {
    PetscCall(BCRFaultShare(s->slabs.comm, ierr, "cannot use its device, as its own message says"));
    PetscCall(BCRTransportCreate(s->slabs.comm, "pc_bcrpoisson_transport", (BCRTransportKind)s->options.transport,
                                 s->options.gpuaware, &d->transport));
  } else PetscCall(ierr);
  for (PetscInt m = 0; m < s->dof; m++) {
    BCRComponent *c = &s->comp[m];

    if (c->core < 0) continue;
    c->core = -1;
    for (PetscInt l = 0; l < m && c->core < 0; l++) {
      if (s->comp[l].core >= 0 && BCRSameCore(&s->comp[l], c)) c->core = s->comp[l].core;
    }
    if (c->core >= 0) continue;
    PetscCall(core_create(s, c, d->single ? BCR_SINGLE : BCR_DOUBLE, d->stride, d->mixed ? c->norm : c->factor,
                          d->staged, &d->core[d->ncore]));
    c->core = d->ncore++;
    PetscCall(BCRDeviceRanksKernels(d->core[c->core], &window, &kernels));
    if (window) d->windows = PETSC_TRUE;
    if (!kernels) d->graphs.off = PETSC_TRUE;
  }
  for (PetscInt m = 0; m < s->dof && d->mixed; m++) {
    if (s->comp[m].core >= 0) PetscCall(refine_count(s, m));
  }
  PetscCall(ones_create(s, 0, d->stream));
  PetscCallBCRCuda(BCRCudaSynchronize(d->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode solver_update(BCRSolver s)
{
  struct _n_BCRDeviceSolver *d = s->device;

  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaSynchronize(d->stream)); /* the tables may be in use */
  PetscCall(BCRDeviceGraphsReset(&d->graphs));
  for (PetscInt m = 0; m < s->dof; m++) {
    const BCRComponent *c = &s->comp[m];

    PetscCall(component_tables(s, m));
    if (c->core < 0) continue;
    PetscCall(BCRDeviceRanksSetShift(d->core[c->core], c->op.shift));
    PetscCall(BCRDeviceRanksSetFactor(d->core[c->core], d->mixed ? (PetscReal)c->norm : c->factor));
    if (d->fallback[c->core]) {
      PetscCall(BCRDeviceRanksSetShift(d->fallback[c->core], c->op.shift));
      PetscCall(BCRDeviceRanksSetFactor(d->fallback[c->core], 1 / c->op.scale));
      PetscCall(BCRDeviceRanksSetUp(d->fallback[c->core]));
    }
    PetscCall(BCRDeviceRanksSetUp(d->core[c->core]));
    if (d->mixed) PetscCall(refine_count(s, m));
  }
  PetscCall(ones_create(s, 0, d->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceSolverUpdate(BCRSolver s)
{
  const PetscErrorCode ierr = solver_update(s);

  PetscFunctionBegin;
  PetscCall(BCRSolverShare(s, ierr, "cannot use its device, as its own message says"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceSolverDestroy(BCRSolver s)
{
  struct _n_BCRDeviceSolver *d = s->device;

  PetscFunctionBegin;
  if (!d) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt m = 0; m < s->dof && d->comp; m++) PetscCall(BCRDeviceArenaFree(&d->comp[m].arena));
  for (PetscInt m = 0; m < s->dof && d->core; m++) {
    PetscCall(BCRDeviceRanksDestroy(&d->core[m]));
    PetscCall(BCRDeviceRanksDestroy(&d->fallback[m]));
  }
  PetscCall(PetscFree3(d->comp, d->core, d->fallback));
  PetscCall(BCRTransportDestroy(&d->transport));
  PetscCall(BCRDeviceGraphsDestroy(&d->graphs));
  PetscCall(BCRDeviceArenaFree(&d->space));
  PetscCall(BCRDeviceArenaFree(&d->vectors));
  PetscCall(PetscFree(s->device));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Before the box is known; see planes.c for what each step is */
static PetscErrorCode planes_before(const BCRPass *p, BCRDeviceComponent *d, BCRStream st, PetscBool *moves)
{
  const BCRComponent *c = p->c;

  PetscFunctionBegin;
  *moves = PETSC_FALSE;
  for (PetscInt b = 0; b < c->nface; b++) {
    PetscCallBCRCuda(BCRCudaFaceBegin(st, &d->face[b], BCR_REAL_SINGLE, p->es, p->f, p->u, !p->transpose));
    if (c->core >= 0 && (p->transpose ? c->face[b].plane->slope != 0 : c->face[b].couple)) *moves = PETSC_TRUE;
  }
  PetscCallBCRCuda(BCRCudaEdgeBegin(st, (int)c->nedge, d->edge, BCR_REAL_SINGLE, p->es, p->f, p->u, !p->transpose));
  for (int key = 7; key >= 2 && p->transpose && c->nedge; key--)
    PetscCallBCRCuda(BCRCudaEdgeSlope(st, (int)(c->edgestart[key + 1] - c->edgestart[key]), d->edge + c->edgestart[key],
                                      BCR_REAL_SINGLE, p->es, p->u, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The faces' part of the box's right-hand side */
static void planes_terms(const BCRPass *p, const BCRDeviceComponent *d, int *nterm, BCRCudaFaceTerm term[6])
{
  const BCRComponent *c = p->c;

  *nterm = 0;
  for (PetscInt b = 0; b < c->nface; b++) {
    const BCRFace *f = &c->face[b];
    const PetscBool entries = !p->transpose && f->plane->couplings ? PETSC_TRUE : PETSC_FALSE,
                    weights = p->transpose || entries ? PETSC_TRUE : PETSC_FALSE;
    const PetscInt n[3] = {c->op.axis[0].n, c->op.axis[1].n, c->op.axis[2].n}, end = f->side ? n[f->axis] - 1 : 0;
    const ptrdiff_t packed[3] = {1, n[0], (ptrdiff_t)n[0] * n[1]};
    /* none where the coupling has S, as in A = S B */
    const PetscBool all = BCRComponentScaled(c, p->transpose, PETSC_FALSE) && !(c->op.left && !f->plane->couplings)
                            ? PETSC_TRUE
                            : PETSC_FALSE;
    BCRCudaFaceTerm *t = &term[*nterm];

    if ((p->transpose ? f->plane->slope == 0 : !f->couple) || d->face[b].n[0] < 1 || d->face[b].n[1] < 1) continue;
    t->face = d->face[b];
    t->axis = (int)f->axis;
    t->end = (int)end;
    t->use_couplings = entries;
    t->factor =
      p->transpose ? (double)f->plane->slope : (double)c->op.scale * (entries ? 1 : (double)f->plane->coupling);
    if (weights) t->factor *= c->pre[p->transpose][f->axis].v[end];
    for (int o = 0; o < 2; o++) {
      t->other[o] = (int)f->other[o];
      t->alls[o] = packed[f->other[o]];
    }
    t->w0 = weights ? d->w[0][p->transpose][f->other[0]] : NULL;
    t->w1 = weights ? d->w[0][p->transpose][f->other[1]] : NULL;
    t->all = all ? d->rowscale : NULL;
    t->all0 = end * packed[f->axis];
    (*nterm)++;
  }
}

/* added to t, of strides ts */
static PetscErrorCode planes_move(const BCRPass *p, BCRDeviceComponent *d, BCRStream st, PetscBool t_single, void *t,
                                  const ptrdiff_t ts[3])
{
  BCRCudaFaceTerm term[6];
  int nterm;

  PetscFunctionBegin;
  planes_terms(p, d, &nterm, term);
  for (int q = 0; q < nterm; q++)
    PetscCallBCRCuda(BCRCudaFaceMove(st, &term[q], BCR_REAL_SINGLE, p->es, p->u, t_single, t, ts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode planes_after(const BCRPass *p, BCRDeviceComponent *d, BCRStream st)
{
  const BCRComponent *c = p->c;

  PetscFunctionBegin;
  for (PetscInt b = 0; b < c->nface; b++) {
    const BCRFace *f = &c->face[b];

    if (!p->transpose) {
      if (f->plane->slope != 0) PetscCallBCRCuda(BCRCudaFaceSlope(st, &d->face[b], BCR_REAL_SINGLE, p->es, p->u));
    } else {
      const BCRAxis *a = &c->op.axis[f->axis];
      const PetscInt n[3] = {c->op.axis[0].n, c->op.axis[1].n, c->op.axis[2].n}, end = f->side ? n[f->axis] - 1 : 0,
                     o0 = f->other[0], o1 = f->other[1];
      const ptrdiff_t packed[3] = {1, n[0], (ptrdiff_t)n[0] * n[1]}, as[2] = {packed[o0], packed[o1]};
      const PetscBool all =
        f->couple && c->op.left && BCROperatorScaled(&c->op) && !f->plane->couplings ? PETSC_TRUE : PETSC_FALSE;
      const double w = f->couple && a->weight ? (double)a->weight[end] : 1.;

      PetscCallBCRCuda(BCRCudaFaceEnd(st, &d->face[b], BCR_REAL_SINGLE, p->es, p->u, f->couple,
                                      (double)f->plane->coupling * w, (double)c->op.scale, d->weight[o0], d->weight[o1],
                                      all ? d->rowscale : NULL, end * packed[f->axis], as));
    }
  }
  if (p->transpose) PetscCallBCRCuda(BCRCudaEdgeScale(st, (int)c->nedge, d->edge, BCR_REAL_SINGLE, p->es, p->u));
  for (int key = 2; key < 8 && !p->transpose && c->nedge; key++)
    PetscCallBCRCuda(BCRCudaEdgeSlope(st, (int)(c->edgestart[key + 1] - c->edgestart[key]), d->edge + c->edgestart[key],
                                      BCR_REAL_SINGLE, p->es, p->u, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The box of a pass in mixed precision */
static PetscErrorCode pass_mixed(BCRSolver s, PetscInt m, const BCRPass *p, BCRStream st, PetscBool moves,
                                 double *removed)
{
  struct _n_BCRDeviceSolver *ds = s->device;
  BCRDeviceComponent *d = &ds->comp[m];
  const BCRComponent *c = p->c;
  PetscReal *u = p->u + c->start * p->es;
  const int n[3] = {(int)c->op.axis[0].n, (int)c->op.axis[1].n, (int)c->op.axis[2].n};
  const ptrdiff_t vs[3] = {p->es, p->es * c->stride[1], p->es * c->stride[2]},
                  packed[3] = {1, n[0], (ptrdiff_t)n[0] * n[1]};
  const double *const *pre = c->prescale[p->transpose] ? d->w[0][p->transpose] : NULL, *const *post =
                                                                                         c->postscale[p->transpose]
                                                                                           ? d->w[1][p->transpose]
                                                                                           : NULL;
  const double *all[2], *mean;
  BCRCudaRefineRhs g;
  BCRCudaBox vb;
  double *v;

  PetscFunctionBegin;
  for (int after = 0; after < 2; after++)
    all[after] = BCRComponentScaled(c, p->transpose, after ? PETSC_TRUE : PETSC_FALSE) ? d->rowscale : NULL;
  PetscCall(PetscMemzero(&g, sizeof(g)));
  g.single = BCR_REAL_SINGLE;
  g.f = p->f + c->start * p->es;
  g.u = p->u;
  g.es = p->es;
  g.all = all[0];
  for (int x = 0; x < 3; x++) {
    g.box.n[x] = vb.n[x] = n[x];
    g.box.stride[x] = vb.stride[x] = vs[x];
    g.w[x] = pre ? pre[x] : NULL;
  }
  if (moves) planes_terms(p, d, &g.nface, g.face);
  if (d->ncorrect < 0) {
    void *in;

    PetscCall(BCRDeviceRanksGetInput(ds->fallback[c->core], &in));
    if (!in) in = ds->v;
    PetscCallBCRCuda(BCRCudaScaleCopy(st, n, g.single, g.f, vs, 0, in, packed, pre, all[0]));
    if (moves) PetscCall(planes_move(p, d, st, PETSC_FALSE, in, packed));
    PetscCall(BCRDeviceRanksSolve(ds->fallback[c->core], st, in, ds->v));
    PetscCall(BCRDeviceRanksGetRemoved(ds->fallback[c->core], &mean));
    v = ds->v;
  } else {
    if (BCR_REAL_SINGLE || p->f == p->u) {
      PetscCall(box_create(s, &ds->v, "the solution in double precision"));
      v = ds->v;
    } else v = (double *)u;
    for (int x = 0; x < 3 && v == ds->v; x++) vb.stride[x] = packed[x];
    PetscCall(refine_solve(s, m, d->ncorrect, st, &g, &vb, v, NULL));
    mean = c->op.singular ? ds->scalars + 1 : NULL;
  }
  if (v == ds->v || post || all[1])
    PetscCallBCRCuda(BCRCudaScaleCopy(st, n, 0, v, v == ds->v ? packed : vs, BCR_REAL_SINGLE, u, vs, post, all[1]));
  if (mean && removed) PetscCallBCRCuda(BCRCudaScaleValue(st, mean, 1, removed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One real field; what the core removes is a constant behind the factors of the axes */
static PetscErrorCode pass_core(BCRSolver s, PetscInt m, BCRPass *p, BCRStream st, double *removed)
{
  struct _n_BCRDeviceSolver *ds = s->device;
  BCRDeviceComponent *d = &ds->comp[m];
  const BCRComponent *c = p->c;
  const double *all[2];
  const PetscReal *f = p->f + c->start * p->es;
  PetscReal *box = p->u + c->start * p->es;
  const int n[3] = {(int)c->op.axis[0].n, (int)c->op.axis[1].n, (int)c->op.axis[2].n};
  const ptrdiff_t vs[3] = {p->es, p->es * c->stride[1], p->es * c->stride[2]},
                  cs[3] = {ds->stride[0], ds->stride[1], ds->stride[2]};
  const double *const *pre = c->prescale[p->transpose] ? d->w[0][p->transpose] : NULL, *const *post =
                                                                                         c->postscale[p->transpose]
                                                                                           ? d->w[1][p->transpose]
                                                                                           : NULL;
  /* of the box; they may all be on other ranks */
  const PetscBool rows = n[0] && n[1] && n[2] ? PETSC_TRUE : PETSC_FALSE;
  PetscBool moves = PETSC_FALSE;

  PetscFunctionBegin;
  for (int after = 0; after < 2; after++)
    all[after] = BCRComponentScaled(c, p->transpose, after ? PETSC_TRUE : PETSC_FALSE) ? d->rowscale : NULL;
  PetscCallBCRCuda(BCRCudaApartBegin(st, (int)c->napart, d->apart, BCR_REAL_SINGLE, p->es, p->f, d->apartwork));
  if (c->nface || c->nedge) PetscCall(planes_before(p, d, st, &moves));
  if (c->core >= 0) {
    BCRDeviceRanks core = ds->core[c->core];
    const double *mean;
    void *v = ds->staged ? ds->stage : (void *)box;

    if (ds->mixed) {
      PetscCall(pass_mixed(s, m, p, st, moves, removed));
      PetscCallBCRCuda(BCRCudaApartEnd(st, (int)c->napart, d->apart, BCR_REAL_SINGLE, p->es, d->apartwork, p->u));
      if (c->nface || c->nedge) PetscCall(planes_after(p, d, st));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    if (ds->staged || moves || pre || all[0]) {
      const ptrdiff_t packed[3] = {1, n[0], (ptrdiff_t)n[0] * n[1]};
      const ptrdiff_t *is;
      void *in;

      PetscCall(BCRDeviceRanksGetInput(core, &in));
      is = in ? packed : cs;
      if (!in) in = v;
      if (rows) PetscCallBCRCuda(BCRCudaScaleCopy(st, n, BCR_REAL_SINGLE, f, vs, ds->single, in, is, pre, all[0]));
      if (moves) PetscCall(planes_move(p, d, st, ds->single, in, is));
      PetscCall(BCRDeviceRanksSolve(core, st, in, v));
    } else PetscCall(BCRDeviceRanksSolve(core, st, f, v));
    if (rows && (ds->staged || post || all[1]))
      PetscCallBCRCuda(BCRCudaScaleCopy(st, n, ds->single, v, cs, BCR_REAL_SINGLE, box, vs, post, all[1]));
    PetscCall(BCRDeviceRanksGetRemoved(core, &mean));
    if (mean && removed) PetscCallBCRCuda(BCRCudaScaleValue(st, mean, 1, removed));
  }
  PetscCallBCRCuda(BCRCudaApartEnd(st, (int)c->napart, d->apart, BCR_REAL_SINGLE, p->es, d->apartwork, p->u));
  if (c->nface || c->nedge) PetscCall(planes_after(p, d, st));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One real field */
static PetscErrorCode pass_solve(BCRSolver s, PetscInt m, BCRPass *p, BCRStream st, double *removed)
{
  const BCRComponent *c = p->c;
  const BCRDeviceComponent *d = &s->device->comp[m];
  BCRCudaBox box;
  ptrdiff_t packed[3];

  PetscFunctionBegin;
  PetscCall(pass_core(s, m, p, st, removed));
  if (!d->ones[p->transpose]) PetscFunctionReturn(PETSC_SUCCESS);
  for (int x = 0; x < 3; x++) {
    box.n[x] = (int)c->N[x];
    packed[x] = c->stride[x];
    box.stride[x] = p->es * c->stride[x];
  }
  if (box.n[0] && box.n[1] && box.n[2])
    PetscCallBCRCuda(BCRCudaAddScaled(st, &box, BCR_REAL_SINGLE, d->ones[p->transpose], packed, p->u, removed,
                                      -1 / d->onesremoved[p->transpose]));
  PetscCallBCRCuda(BCRCudaScaleValue(st, removed, 1 / d->onesremoved[p->transpose], removed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ones_begin(const BCRComponent *c, PetscInt transpose, BCRStream st, BCRDeviceArena *arena,
                                 BCRDeviceArena *scratch, PetscReal **f, PetscReal **there, PetscReal **ones)
{
  const PetscInt n = PetscMax(1, c->N[0] * c->N[1] * c->N[2]);

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, f));
  PetscCall(BCRComponentOnesRhs(c, transpose, *f));
  PetscCall(BCRDeviceArenaGet(arena, (size_t)n * sizeof(PetscReal), "tables", ones));
  PetscCall(BCRDeviceArenaGet(scratch, (size_t)n * sizeof(PetscReal), "a right-hand side of ones", there));
  PetscCallBCRCuda(BCRCudaPut(*there, *f, (size_t)n * sizeof(PetscReal), st));
  PetscCallBCRCuda(BCRCudaSynchronize(st));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solutions for f = 1 of components that need them; waits for them */
static PetscErrorCode ones_create(BCRSolver s, PetscInt transpose, BCRStream st)
{
  struct _n_BCRDeviceSolver *ds = s->device;

  PetscFunctionBegin;
  for (PetscInt m = 0; m < s->dof; m++) {
    const BCRComponent *c = &s->comp[m];
    BCRDeviceComponent *d = &ds->comp[m];
    BCRDeviceArena arena = {NULL, 0, 0, 0};
    PetscReal *f = NULL, *there = NULL, *ones = NULL;
    PetscErrorCode ierr;
    BCRPass p;

    if (!BCRComponentOnes(c, transpose) || d->ones[transpose]) continue;
    ierr = ones_begin(c, transpose, st, &d->arena, &arena, &f, &there, &ones);
    PetscCall(PetscFree(f));
    BCRCallElse(BCRSolverShare(s, ierr, "has no memory for the solution of a constant right-hand side"),
                (void)BCRDeviceArenaFree(&arena));
    p.c = c;
    p.transpose = transpose;
    p.es = 1;
    p.f = there;
    p.u = ones;
    if (ds->windows) PetscCall(BCRTransportWindowBegin(ds->transport, 0, 0));
    PetscCall(pass_core(s, m, &p, st, ds->removed + m * BCR_PARTS));
    PetscCallBCRCuda(BCRCudaGet(&d->onesremoved[transpose], ds->removed + m * BCR_PARTS, sizeof(double), st));
    d->ones[transpose] = ones;
    PetscCall(BCRDeviceArenaFree(&arena));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a solve is, and with it the key of its graph: no padding, as it is compared byte by byte */
typedef struct {
  const PetscScalar *f;
  PetscScalar *u;
  PetscInt64 transpose, nrhs, ldf, ldu;
} BCRDeviceCall;

typedef struct {
  BCRSolver s;
  BCRDeviceCall call;
} BCRDeviceLaunch;

static PetscErrorCode solve_launch(void *context, BCRStream stream)
{
  const BCRDeviceLaunch *l = (const BCRDeviceLaunch *)context;
  BCRSolver s = l->s;

  PetscFunctionBegin;
  for (PetscInt r = 0; r < l->call.nrhs; r++) {
    for (PetscInt m = 0; m < s->dof; m++) {
      for (int part = 0; part < BCR_PARTS; part++) {
        BCRPass p;

        p.c = &s->comp[m];
        p.transpose = (PetscInt)l->call.transpose;
        p.es = s->dof * BCR_PARTS;
        p.f = (const PetscReal *)(l->call.f + (size_t)r * l->call.ldf + m) + part;
        p.u = (PetscReal *)(l->call.u + (size_t)r * l->call.ldu + m) + part;
        PetscCall(pass_solve(s, m, &p, stream, s->device->removed + ((r % BCR_SLOTS) * s->dof + m) * BCR_PARTS + part));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode solver_launch(BCRSolver s, BCRStream stream, PetscBool transpose, PetscInt nrhs,
                                    const PetscScalar *f, PetscInt ldf, PetscScalar *u, PetscInt ldu)
{
  BCRDeviceLaunch l = {
    s, {f, u, transpose ? 1 : 0, nrhs, ldf, ldu}
  };

  PetscFunctionBegin;
  for (PetscInt m = 0; m < s->dof && transpose; m++) {
    const BCRComponent *c = &s->comp[m];

    PetscCheck(c->badaxis < 0, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "The transpose along %c cannot be solved: the entries that couple rows %" PetscInt_FMT
               " and %" PetscInt_FMT " of this axis do not have the same sign",
               'x' + (int)c->badaxis, c->badrow, c->badrow + 1);
  }
  PetscCall(ones_create(s, l.call.transpose ? 1 : 0, stream));
  if (s->device->windows) PetscCall(BCRTransportWindowBegin(s->device->transport, 0, 0));
  s->device->slots = PetscMin(nrhs, BCR_SLOTS);
  if (nrhs > BCR_SLOTS) PetscCall(solve_launch(&l, stream)); /* a graph of that many would not be any faster */
  else PetscCall(BCRDeviceGraphsRun(&s->device->graphs, stream, &l.call, sizeof(l.call), solve_launch, &l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode solver_solve(BCRSolver s, BCRStream stream, PetscBool transpose, PetscInt nrhs,
                                   const PetscScalar *f, PetscInt ldf, PetscScalar *u, PetscInt ldu)
{
  const PetscErrorCode ierr = solver_launch(s, stream, transpose, nrhs, f, ldf, u, ldu);

  PetscFunctionBegin;
  PetscCall(BCRTransportAgree(s->device->transport, ierr)); /* nobody waits for what will never come */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest constant that a pass of the last solve removed; waits for it */
static PetscErrorCode removed_largest(BCRSolver s, PetscReal *largest)
{
  struct _n_BCRDeviceSolver *d = s->device;

  PetscFunctionBegin;
  *largest = d->earlier;
  for (PetscInt m = 0; m < s->dof; m++) {
    if (s->comp[m].core < 0 || !s->comp[m].op.singular) continue;
    for (PetscInt r = 0; r < d->slots; r++) {
      double removed[BCR_PARTS];
      PetscReal sum = 0;

      PetscCallBCRCuda(BCRCudaGet(removed, d->removed + (r * s->dof + m) * BCR_PARTS, sizeof(removed), d->stream));
      for (int part = 0; part < BCR_PARTS; part++) sum += (PetscReal)(removed[part] * removed[part]);
      *largest = PetscMax(*largest, PetscSqrtReal(sum));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceSolverStage(BCRSolver s, PetscBool transpose, PetscInt nrhs, const PetscScalar *f, PetscInt ldf,
                                    PetscScalar *u, PetscInt ldu)
{
  struct _n_BCRDeviceSolver *d = s->device;
  const BCRComponent *c = &s->comp[0];
  const size_t n = (size_t)s->dof * c->N[0] * c->N[1] * c->N[2], bytes = n * sizeof(PetscScalar);
  PetscReal earlier = 0;

  PetscFunctionBegin;
  if (!d->vector) PetscCall(BCRDeviceArenaGet(&d->vectors, bytes, "a copy of a vector of the host", &d->vector));
  d->earlier = 0;
  for (PetscInt r = 0; r < nrhs; r++) {
    const PetscScalar *fr = f + (size_t)r * ldf;
    PetscScalar *ur = u + (size_t)r * ldu;

    PetscCall(BCRSlabsIn(&s->slabs, &fr, &ur));
    if (n) PetscCallBCRCuda(BCRCudaPut(d->vector, fr, bytes, d->stream));
    PetscCall(solver_solve(s, d->stream, transpose, 1, d->vector, (PetscInt)n, d->vector, (PetscInt)n));
    if (n) PetscCallBCRCuda(BCRCudaGet(ur, d->vector, bytes, d->stream));
    PetscCall(BCRSlabsOut(&s->slabs, u + (size_t)r * ldu));
    if (r + 1 < nrhs) PetscCall(removed_largest(s, &earlier));
    d->earlier = earlier;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors of the device of which a rank hands its only row to another one (slab.c): by way of the host */
static PetscErrorCode solver_solve_moved(BCRSolver s, BCRStream stream, PetscBool transpose, PetscInt nrhs,
                                         const PetscScalar *f, PetscInt ldf, PetscScalar *u, PetscInt ldu)
{
  const size_t n = (size_t)s->slabs.inner * s->slabs.glen * s->slabs.outer, bytes = n * sizeof(PetscScalar);
  PetscScalar *v;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n * (size_t)nrhs, &v));
  for (PetscInt r = 0; r < nrhs && n; r++)
    PetscCallBCRCuda(BCRCudaGet(v + (size_t)r * n, f + (size_t)r * ldf, bytes, stream));
  PetscCall(BCRDeviceSolverStage(s, transpose, nrhs, v, (PetscInt)n, v, (PetscInt)n));
  for (PetscInt r = 0; r < nrhs && n; r++)
    PetscCallBCRCuda(BCRCudaPut(u + (size_t)r * ldu, v + (size_t)r * n, bytes, stream));
  PetscCall(PetscFree(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSolverSolveDevice(BCRSolver s, void *stream, PetscBool transpose, PetscInt nrhs, const PetscScalar *f,
                                    PetscInt ldf, PetscScalar *u, PetscInt ldu)
{
  const BCRSlabs *slabs = &s->slabs;

  PetscFunctionBegin;
  PetscCheck(s->device, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The solver was made for the host");
  if (slabs->comm != MPI_COMM_NULL && (slabs->to >= 0 || slabs->from[0] >= 0 || slabs->from[1] >= 0))
    PetscCall(solver_solve_moved(s, stream, transpose, nrhs, f, ldf, u, ldu));
  else {
    s->device->earlier = 0;
    PetscCall(solver_solve(s, stream, transpose, nrhs, f, ldf, u, ldu));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  BCRSolver s;
  PetscScalar *f, *u;
  PetscInt n;
} TimedSolve;

static int timed_solve(void *context)
{
  TimedSolve *t = (TimedSolve *)context;

  /* 999: unknown */
  return BCRSolverSolveDevice(t->s, t->s->device->stream, PETSC_FALSE, 1, t->f, t->n, t->u, t->n) ? 999 : 0;
}

PetscErrorCode BCRDeviceSolverTime(BCRSolver s, PetscInt n, const PetscScalar *f, PetscInt repeat, double *seconds)
{
  struct _n_BCRDeviceSolver *d = s->device;
  BCRDeviceArena arena = {NULL, 0, 0, 0};
  TimedSolve t = {s, NULL, NULL, n};

  PetscFunctionBegin;
  PetscCall(BCRDeviceArenaGet(&arena, (size_t)n * sizeof(PetscScalar), "a vector of the optimizer", &t.f));
  PetscCall(BCRDeviceArenaGet(&arena, (size_t)n * sizeof(PetscScalar), "a vector of the optimizer", &t.u));
  PetscCallBCRCuda(BCRCudaPut(t.f, f, (size_t)n * sizeof(PetscScalar), d->stream));
  for (int i = 0; i < 2; i++) PetscCall(BCRSolverSolveDevice(s, d->stream, PETSC_FALSE, 1, t.f, n, t.u, n));
  PetscCallBCRCuda(BCRCudaSynchronize(d->stream));
  PetscCallBCRCuda(BCRCudaTime(d->stream, timed_solve, &t, (int)repeat, seconds));
  PetscCall(BCRDeviceGraphsReset(&d->graphs)); /* these vectors go */
  PetscCall(BCRDeviceArenaFree(&arena));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceSolverMachine(size_t length, char name[])
{
  int major, minor, sms, shared;

  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaDeviceName(name, length, &major, &minor, &sms, &shared));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceSolverGetInfo(BCRSolver s, BCRSolverInfo *info)
{
  struct _n_BCRDeviceSolver *d = s->device;

  PetscFunctionBegin;
  info->workspace = d->space.bytes;
  info->copies = d->vectors.bytes;
  info->graph = d->graphs.failed || d->graphs.off ? PETSC_FALSE : PETSC_TRUE;
  info->graphs = d->graphs.launched;
  for (int i = 0; i < 4; i++) info->nodes[i] = d->graphs.nodes[i];
  if (d->transport) {
    BCRTransportInfo transport;

    PetscCall(BCRTransportGetInfo(d->transport, &transport));
    PetscCall(PetscSNPrintf(info->transport, sizeof(info->transport), "%s%s%s", BCRTransportName(transport.kind),
                            transport.why[0] ? ", as " : "", transport.why));
  }
  for (PetscInt m = 0; m < s->dof; m++) {
    const BCRComponent *c = &s->comp[m];
    BCRRanksInfo core;

    info->tables += d->comp[m].arena.bytes + BCRDeviceScaleBytes(c->op.devscale);
    if (c->core < 0) continue;
    PetscCall(BCRDeviceRanksGetInfo(d->core[c->core], &core));
    info->flops += BCR_PARTS * core.flops;
    info->bytes_sent += BCR_PARTS * core.bytes_sent;
    info->messages += BCR_PARTS * core.messages;
    if (m == 0) {
      info->core = core.core;
      PetscCall(PetscStrncpy(info->ranks, core.what, sizeof(info->ranks)));
    }
  }
  PetscCall(removed_largest(s, &info->removed));
  for (PetscInt m = 0; m < d->ncore; m++) {
    BCRRanksInfo core;

    PetscCall(BCRDeviceRanksGetInfo(d->core[m], &core));
    info->workspace += core.workspace;
    info->tables += core.tables;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool BCRSolverHaveDevice(const char **why)
{
  return BCRDeviceAvailable(why);
}
#endif
