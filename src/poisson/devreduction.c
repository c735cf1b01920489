/*
  Block cyclic reduction of a given radix or schedule on a device: carries out the steps of redsteps.c, all items of
  one at a time, by three kernels for each (paper 000, section 3.2): right-hand sides, lines, sums of solutions. In
  three dimensions the solution for a pole is a plane, which a reduction of its own solves.
*/
#include "../base/petscbcrimpl.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "devreduction.h"
  #include "redplan.h"

typedef struct {
  BCRCudaStep cuda;
  PetscInt lines;       /* right-hand sides of a box: count np */
  int terms;            /* of a sub-sum of solutions */
  BCRCudaLineRows rows; /* where lines are solved by elimination */
  PetscInt pin;         /* the right-hand side that is of a singular line where the shift is 0; -1: none */
} DeviceStep;

struct _n_BCRDeviceReduction {
  PetscBool single;
  size_t size;
  int nx, n1;          /* a block row is nx x n1 unknowns */
  ptrdiff_t stride[3]; /* along x, along the second axis of a block row (three dimensions), of block rows */
  ptrdiff_t g1, gline; /* solutions: distance of rows of nx, of solutions */
  PetscInt nsteps;
  DeviceStep *step; /* [nsteps] */
  double a, scale;
  int end[2];
  int threads; /* that solve a line by scalar cyclic reduction; 0: lines are solved by elimination */
  int sharedrows;
  BCRDeviceReduction inner;
  PetscInt chunk; /* solutions of each box at a time: planes that inner takes, or lines that work has room for */
  double *shifts; /* device: of all planes of a step */
  void *G, *parts, *work;
  BCRReductionCost cost;
};

/* Threads of the group that solves a line, and rows of it in shared memory (0: as many as have
   room), where nobody asks for other numbers: the fastest on an H200 (bench/results/h200_tune.csv,
   h200_radix.csv), by rows of a line */
static void default_shape(PetscInt n, PetscInt radix, int *width, int *rows)
{
  static const struct {
    PetscInt n;
    int radix2, other, rows;
  } table[] = {
    {63,   32,  32,  0  },
    {127,  64,  64,  0  },
    {383,  128, 128, 0  },
    {1535, 256, 128, 0  },
    {2047, 128, 128, 0  },
    {3071, 128, 128, 512},
    {6143, 256, 128, 0  }
  };

  *width = 256;
  *rows = 0;
  for (size_t i = PETSC_STATIC_ARRAY_LENGTH(table); i-- > 0 && n <= table[i].n;) {
    *width = radix == 2 ? table[i].radix2 : table[i].other;
    *rows = table[i].rows;
  }
}

/* How lines are solved, and how solutions lie in the workspace */
static PetscErrorCode lines_shape(BCRDeviceReduction red, const BCRDeviceReductionSpec *spec)
{
  const BCRAxis *x = &spec->reduction.axis[0];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) /* of a periodic or general axis: elimination has its rows */
    red->end[k] = BCREndGetRule(x->end[k]).mirror.sign ? x->end[k] : BCREndAtSeparator();
  red->g1 = x->n;
  red->gline = (ptrdiff_t)x->n * red->n1;
  if (spec->reduction.dim == 3) PetscFunctionReturn(PETSC_SUCCESS);
  red->gline = (x->n + 3) / 4 * 4;
  if (BCRReductionUniformLines(x) && !BCREndIsPeriodic(x->end[0])) {
    default_shape(x->n, spec->reduction.schedule[0], &red->threads, &red->sharedrows);
    if (spec->threads > 0) red->threads = spec->threads;
    if (spec->sharedrows > 0) red->sharedrows = spec->sharedrows;
    PetscCheck(
      !BCRCudaLinesCyclicShape(red->nx, red->single, spec->sharedbytes, red->threads, &red->sharedrows, &red->gline),
      PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
      "-pc_bcrpoisson_launch %d,%d: the first number, threads of a work group, must be a power of two from "
      "32 to 1024, and a few rows for each of them must fit the shared memory of a block (%d bytes)",
      spec->threads, spec->sharedrows, spec->sharedbytes);
  }
  red->g1 = red->gline;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode rows_put(BCRDeviceArena *tables, BCRStream stream, PetscInt n, const PetscInt row[],
                               const int **p)
{
  int *v, *to;

  PetscFunctionBegin;
  PetscCall(BCRDeviceArenaGet(tables, (size_t)n * sizeof(int), "tables", &to));
  PetscCall(PetscMalloc1(n, &v));
  for (PetscInt k = 0; k < n; k++) v[k] = (int)row[k];
  PetscCallBCRCuda(BCRCudaPut(to, v, (size_t)n * sizeof(int), stream));
  PetscCall(PetscFree(v));
  *p = to;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A step's tables on the device */
static PetscErrorCode step_put(BCRDeviceReduction red, const BCRDeviceReductionSpec *spec, const BCRReductionPlan *plan,
                               const BCRReductionStep *step, BCRStream stream, BCRDeviceArena *tables, DeviceStep *d)
{
  double *lambda, *wsrc, *wout;

  PetscFunctionBegin;
  d->cuda.count = (int)step->count;
  d->cuda.nsrc = (int)step->nsrc;
  d->cuda.np = (int)step->np;
  d->cuda.nout = (int)step->nout;
  d->cuda.add = !BCRStepBack(step);
  d->lines = step->count * step->np;
  /* so many terms that the sub-sums of a step take an eighth of the box at most */
  d->terms = (int)PetscMax(spec->terms > 0 ? spec->terms : 16, 8 * step->nout);
  PetscCall(rows_put(tables, stream, step->count * step->nsrc, step->src, &d->cuda.src));
  PetscCall(rows_put(tables, stream, step->count * step->nout, step->out, &d->cuda.out));
  PetscCall(BCRReductionStepWeights(plan, step, &lambda, &wsrc, &wout));
  PetscCall(BCRDeviceArenaPut(tables, stream, PETSC_FALSE, step->np, lambda, &d->cuda.lambda));
  PetscCall(BCRDeviceArenaPut(tables, stream, red->single, step->np * step->nsrc, wsrc, &d->cuda.wsrc));
  PetscCall(BCRDeviceArenaPut(tables, stream, red->single, step->np * step->nout, wout, &d->cuda.wout));
  d->pin = -1;
  for (PetscInt k = 0; k < d->lines && spec->singular; k++)
    if (lambda[k % step->np] == 0) d->pin = k;
  if (spec->reduction.dim == 2 && !red->threads) { /* all items at once, the shift of each line in shifta */
    BCRCudaLineRows *r = &d->rows;
    double *sig;

    *r = *spec->rows;
    r->shift = 0;
    r->factor = 1 / red->scale;
    r->norma = r->normb = NULL;
    r->removed = NULL;
    r->removedfactor = 0;
    PetscCall(PetscMalloc1(d->lines, &sig));
    for (PetscInt k = 0; k < d->lines; k++) sig[k] = red->a * lambda[k % step->np];
    PetscCall(BCRDeviceArenaPut(tables, stream, PETSC_FALSE, d->lines, sig, &r->shifta));
    PetscCall(PetscFree(sig));
  }
  PetscCall(PetscFree3(lambda, wsrc, wout));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Room for the solutions of the largest step of all boxes, and for the sub-sums of them */
static PetscErrorCode space_create(BCRDeviceReduction red, const BCRDeviceReductionSpec *spec, BCRStream stream,
                                   BCRDeviceArena *tables, BCRDeviceArena *space)
{
  const size_t row = (size_t)spec->nboxes * (size_t)red->gline * red->size; /* one for each box */
  size_t nlines = 1, nparts = 1;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < red->nsteps; i++) {
    const DeviceStep *d = &red->step[i];
    const int sums = (d->cuda.np + d->terms - 1) / d->terms;

    nlines = PetscMax(nlines, (size_t)d->lines);
    if (sums > 1) nparts = PetscMax(nparts, (size_t)sums * (size_t)d->cuda.count * (size_t)d->cuda.nout);
  }
  PetscCall(BCRDeviceArenaGet(space, nlines * row, "the workspace", &red->G));
  PetscCall(BCRDeviceArenaGet(space, nparts * row, "the workspace", &red->parts));
  red->chunk = (PetscInt)PetscMax(nlines / 4, 1);
  if (spec->reduction.dim == 3) {
    const ptrdiff_t packed[2] = {1, red->nx};
    BCRDeviceReductionSpec inner = *spec;

    inner.reduction = BCRReductionSpecInner(&spec->reduction);
    inner.stride = packed;
    inner.nboxes = red->chunk;
    PetscCall(BCRDeviceReductionCreate(&inner, stream, tables, space, &red->inner));
    PetscCall(BCRDeviceArenaGet(tables, nlines * (size_t)spec->nboxes * sizeof(double), "tables", &red->shifts));
  } else if (!red->threads) PetscCall(BCRDeviceArenaGet(space, (size_t)red->chunk * row, "the workspace", &red->work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode reduction_fill(BCRDeviceReduction red, const BCRDeviceReductionSpec *spec,
                                     const BCRReductionPlan *plan, BCRStream stream, BCRDeviceArena *tables,
                                     BCRDeviceArena *space)
{
  const BCRReductionSpec *r = &spec->reduction;

  PetscFunctionBegin;
  red->single = r->single;
  red->size = r->single ? sizeof(float) : sizeof(double);
  red->nx = (int)r->axis[0].n;
  red->n1 = r->dim == 3 ? (int)r->axis[1].n : 1;
  red->stride[0] = spec->stride[0];
  red->stride[1] = r->dim == 3 ? spec->stride[1] : 0;
  red->stride[2] = spec->stride[r->dim - 1];
  red->a = plan->a;
  red->scale = plan->scale;
  PetscCall(lines_shape(red, spec));
  red->nsteps = plan->nsteps;
  PetscCall(PetscCalloc1(red->nsteps, &red->step));
  for (PetscInt i = 0; i < red->nsteps; i++)
    PetscCall(step_put(red, spec, plan, &plan->step[i], stream, tables, &red->step[i]));
  PetscCall(space_create(red, spec, stream, tables, space));
  red->cost = BCRReductionPlanCost(plan, (PetscInt)red->nx * red->n1, red->inner ? &red->inner->cost : NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceReductionCreate(const BCRDeviceReductionSpec *spec, BCRStream stream, BCRDeviceArena *tables,
                                        BCRDeviceArena *space, BCRDeviceReduction *reduction)
{
  BCRReductionPlan plan;

  PetscFunctionBegin;
  PetscCall(PetscNew(reduction));
  PetscCall(BCRReductionPlanCreate(&spec->reduction, PETSC_FALSE, 1, &plan));
  BCRCallElse(reduction_fill(*reduction, spec, &plan, stream, tables, space), (void)BCRReductionPlanFree(&plan));
  PetscCall(BCRReductionPlanFree(&plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceReductionDestroy(BCRDeviceReduction *reduction)
{
  BCRDeviceReduction red = *reduction;

  PetscFunctionBegin;
  if (!red) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRDeviceReductionDestroy(&red->inner));
  PetscCall(PetscFree(red->step));
  PetscCall(PetscFree(*reduction));
  PetscFunctionReturn(PETSC_SUCCESS);
}

BCRReductionCost BCRDeviceReductionGetCost(BCRDeviceReduction red)
{
  return red->cost;
}

/* Solutions of a step, a box's lines k0 to k0 + m - 1 of them are at G + k0 gline. pinned: as in a solve */
static PetscErrorCode lines_eliminate(BCRDeviceReduction red, BCRStream stream, const DeviceStep *step, PetscInt k0,
                                      PetscInt m, PetscInt nb, const double *shift, PetscInt pinned)
{
  BCRCudaLineRows r = step->rows;
  BCRCudaLines l, w;

  PetscFunctionBegin;
  r.shifta += k0;
  r.shiftb = shift;
  r.pina = r.pinb = -1;
  if (pinned >= 0 && step->pin >= k0 && step->pin < k0 + m) {
    r.pina = (int)(step->pin - k0);
    r.pinb = (int)pinned;
  }
  l.na = w.na = (int)m;
  l.nb = w.nb = (int)nb;
  l.s = w.s = 1;
  l.sa = w.sa = red->gline;
  l.sb = step->lines * red->gline;
  w.sb = red->chunk * red->gline;
  PetscCallBCRCuda(BCRCudaLineSolve(stream, &r, red->single, &l,
                                    (char *)red->G + (size_t)k0 * (size_t)red->gline * red->size, &w, red->work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode step_solve(BCRDeviceReduction red, BCRStream stream, const DeviceStep *step, PetscInt nb,
                                 const double *shift, PetscInt pinned)
{
  PetscFunctionBegin;
  if (red->threads) {
    PetscCallBCRCuda(BCRCudaLinesCyclic(stream, &step->cuda, (int)nb, red->nx, red->scale, red->a, shift, red->end[0],
                                        red->end[1], red->single, red->G, red->gline, red->threads, red->sharedrows));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (red->inner) PetscCallBCRCuda(BCRCudaStepShifts(stream, &step->cuda, (int)nb, shift, red->a, red->shifts));
  for (PetscInt k = 0; k < step->lines; k += red->chunk) {
    const PetscInt m = PetscMin(red->chunk, step->lines - k);
    const PetscBool pin = (PetscBool)(pinned == 0 && step->pin >= k && step->pin < k + m);

    if (red->inner)
      PetscCall(BCRDeviceReductionSolve(red->inner, stream, (char *)red->G + (size_t)k * (size_t)red->gline * red->size,
                                        m, red->gline, red->shifts + k, pin ? step->pin - k : -1));
    else PetscCall(lines_eliminate(red, stream, step, k, m, nb, shift, pinned));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceReductionSolve(BCRDeviceReduction red, BCRStream stream, void *u, PetscInt nb,
                                       ptrdiff_t boxstride, const double *shift, PetscInt pinned)
{
  const int single = red->single;
  BCRCudaPlanes p;

  PetscFunctionBegin;
  p.n0 = red->nx;
  p.n1 = red->n1;
  p.nb = (int)nb;
  p.stride0 = red->stride[0];
  p.stride1 = red->stride[1];
  p.rowstride = red->stride[2];
  p.boxstride = boxstride;
  for (PetscInt i = 0; i < red->nsteps; i++) {
    const DeviceStep *step = &red->step[i];

    PetscCallBCRCuda(BCRCudaStepForm(stream, &step->cuda, &p, single, u, red->G, red->g1, red->gline));
    PetscCall(step_solve(red, stream, step, nb, shift, pinned));
    PetscCallBCRCuda(
      BCRCudaStepSum(stream, &step->cuda, &p, single, red->G, red->g1, red->gline, step->terms, red->parts, u));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
