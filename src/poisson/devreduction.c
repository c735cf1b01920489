/*
  Block cyclic reduction of a given radix or schedule on a device: the steps of reduction.c, all
  items of one at a time, three kernels for each (paper 000, section 3.2). In three dimensions a
  solution of a step is a plane, which a reduction of its own solves.
*/
#include "../base/petscbcrimpl.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "device.h"
  #include "reduction.h"

struct _n_BCRDeviceReduction {
  PetscBool single;
  size_t size;
  int nx, n1, nb;      /* a row is nx x n1 unknowns; boxes that there is room for */
  ptrdiff_t s[3];      /* distances: along x, the second axis of a row (three dimensions), rows */
  ptrdiff_t g1, gline; /* of solutions */
  PetscInt nsteps;
  BCRCudaStep *step;
  int *terms;            /* of the sub-sums of each step */
  BCRCudaLineRows *rows; /* of each step, for lines that scalar cyclic reduction does not do */
  PetscInt *pin;         /* of each step: its singular solution, -1: none */
  double a, scale;
  int end[2], width, shared; /* width 0: rows has them */
  BCRDeviceReduction inner;
  PetscInt chunk; /* planes it solves at a time; or lines that work has room for, for each box */
  double *shifts; /* of all planes of a step */
  void *G, *parts, *work;
  PetscInt subproblems;
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

/* A step's tables on the device */
static PetscErrorCode step_put(BCRDeviceReduction red, const BCRReductionStep *st, PetscBool singular,
                               const BCRCudaLineRows *rows, BCRStream stream, BCRDeviceArena *tables, PetscInt i)
{
  BCRCudaStep *d = &red->step[i];
  const PetscInt lines = st->count * st->np;
  int *v;

  PetscFunctionBegin;
  d->count = (int)st->count;
  d->nsrc = (int)st->nsrc;
  d->np = (int)st->np;
  d->nout = (int)st->nout;
  d->add = !st->back;
  red->pin[i] = -1;
  PetscCall(PetscMalloc1(st->count * PetscMax(st->nsrc, st->nout), &v));
  for (int side = 0; side < 2; side++) {
    const PetscInt m = st->count * (side ? st->nout : st->nsrc);
    const PetscInt *from = side ? st->out : st->src;
    int *to;

    for (PetscInt k = 0; k < m; k++) v[k] = (int)from[k];
    PetscCall(BCRDeviceArenaGet(tables, (size_t)m * sizeof(int), "tables", &to));
    PetscCallBCRCuda(BCRCudaPut(to, v, (size_t)m * sizeof(int), stream));
    if (side) d->out = to;
    else d->src = to;
  }
  PetscCall(PetscFree(v));
  PetscCall(BCRDeviceArenaPut(tables, stream, PETSC_FALSE, st->np, st->lambda, &d->lambda));
  PetscCall(BCRDeviceArenaPut(tables, stream, red->single, st->np * st->nsrc, st->wsrc, &d->wsrc));
  PetscCall(BCRDeviceArenaPut(tables, stream, red->single, st->np * st->nout, st->wout, &d->wout));
  for (PetscInt k = 0; k < lines && singular; k++)
    if (st->lambda[k % st->np] == 0) red->pin[i] = k;
  if (!red->inner && !red->width) { /* lines of any kind, all items at once, the shift of each in siga */
    BCRCudaLineRows *r = &red->rows[i];
    double *sig;

    *r = *rows;
    r->shift = 0;
    r->factor = 1 / red->scale;
    r->norma = r->normb = NULL;
    r->removed = NULL;
    r->removedfactor = 0;
    PetscCall(PetscMalloc1(lines, &sig));
    for (PetscInt k = 0; k < lines; k++) sig[k] = red->a * st->lambda[k % st->np];
    PetscCall(BCRDeviceArenaPut(tables, stream, PETSC_FALSE, lines, sig, &r->siga));
    PetscCall(PetscFree(sig));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceReductionCreate(PetscInt dim, const BCRAxis axis[], const ptrdiff_t stride[], PetscInt nb,
                                        PetscInt nlevels, const PetscInt schedule[], PetscInt ninner,
                                        const PetscInt inner[], PetscBool single, const int launch[], int shared,
                                        PetscBool singular, const BCRCudaLineRows *rows, BCRStream stream,
                                        BCRDeviceArena *tables, BCRDeviceArena *space, BCRDeviceReduction *reduction)
{
  const BCRAxis *x = &axis[0], *y = &axis[dim - 1];
  BCRDeviceReduction red;
  BCRReduction plan;
  BCRReductionStep *steps;
  BCRAxis outer[2];
  size_t nrows = 1, nparts = 1;
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(PetscNew(&red));
  *reduction = red;
  red->single = single;
  red->size = single ? sizeof(float) : sizeof(double);
  red->nx = (int)x->n;
  red->n1 = dim == 3 ? (int)axis[1].n : 1;
  red->nb = (int)nb;
  red->s[0] = stride[0];
  red->s[1] = dim == 3 ? stride[1] : 0;
  red->s[2] = stride[dim - 1];
  red->a = (double)y->a;
  for (int e = 0; e < 2; e++) { /* others have their rows */
    red->end[e] = BCREndGetRule(x->end[e]).mirror.sign ? x->end[e] : BCREndAtSeparator();
  }
  /* the steps depend on the block axis alone; with one unknown along the other one the weights have
     no scale of lines in them */
  outer[0] = *x;
  outer[1] = *y;
  if (dim == 3) {
    PetscCall(PetscMemzero(&outer[0], sizeof(outer[0])));
    outer[0].n = 1;
  }
  PetscCall(BCRReductionCreate(2, outer, nlevels, schedule, 0, NULL, PETSC_FALSE, -1, &plan));
  PetscCall(BCRReductionGetSteps(plan, &red->scale, &n, &steps));
  PetscCall(BCRReductionDestroy(&plan));
  red->nsteps = n;
  PetscCall(PetscCalloc4(n, &red->step, n, &red->rows, n, &red->pin, n, &red->terms));
  if (dim == 3) {
    red->g1 = x->n;
    red->gline = (ptrdiff_t)x->n * axis[1].n;
  } else {
    red->gline = (x->n + 3) / 4 * 4;
    if (!x->lower && !BCREndIsPeriodic(x->end[0]) && x->n > 1 && x->a > 0) {
      default_shape(x->n, schedule[0], &red->width, &red->shared);
      if (launch[BCR_LAUNCH_GROUP] > 0) red->width = launch[BCR_LAUNCH_GROUP];
      if (launch[BCR_LAUNCH_SHARED] > 0) red->shared = launch[BCR_LAUNCH_SHARED];
      PetscCheck(!BCRCudaLinesCyclicShape(red->nx, single, shared, red->width, &red->shared, &red->gline),
                 PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
                 "-pc_bcrpoisson_launch %d,%d: the first number, threads of a work group, must be a power of two from "
                 "32 to 1024, and a few rows for each of them must fit the shared memory of a block (%d bytes)",
                 launch[BCR_LAUNCH_GROUP], launch[BCR_LAUNCH_SHARED], shared);
    }
    red->g1 = red->gline;
  }
  for (PetscInt i = 0; i < n; i++) {
    const BCRReductionStep *st = &steps[i];
    PetscInt sums;

    /* so many terms that the sub-sums of a step take an eighth of the box at most */
    red->terms[i] = (int)PetscMax(launch[BCR_LAUNCH_SUM] > 0 ? launch[BCR_LAUNCH_SUM] : 16, 8 * st->nout);
    sums = (st->np + red->terms[i] - 1) / red->terms[i];
    nrows = PetscMax(nrows, (size_t)st->count * (size_t)st->np);
    if (sums > 1) nparts = PetscMax(nparts, (size_t)(sums * st->count) * (size_t)st->nout);
    red->subproblems += st->count * st->np;
  }
  PetscCall(BCRDeviceArenaGet(space, nrows * (size_t)nb * (size_t)red->gline * red->size, "the workspace", &red->G));
  PetscCall(
    BCRDeviceArenaGet(space, nparts * (size_t)nb * (size_t)red->gline * red->size, "the workspace", &red->parts));
  red->chunk = (PetscInt)PetscMax(nrows / 4, 1);
  if (dim == 3) {
    const ptrdiff_t packed[2] = {1, x->n};

    PetscCall(BCRDeviceReductionCreate(2, axis, packed, red->chunk, ninner, inner, 0, NULL, single, launch, shared,
                                       singular, rows, stream, tables, space, &red->inner));
    PetscCall(BCRDeviceArenaGet(tables, nrows * (size_t)nb * sizeof(double), "tables", &red->shifts));
    red->subproblems *= red->inner->subproblems;
  } else if (!red->width)
    PetscCall(BCRDeviceArenaGet(space, (size_t)red->chunk * (size_t)nb * (size_t)red->gline * red->size,
                                "the workspace", &red->work));
  for (PetscInt i = 0; i < n; i++) PetscCall(step_put(red, &steps[i], singular, rows, stream, tables, i));
  PetscCall(BCRReductionFreeSteps(&n, &steps));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceReductionDestroy(BCRDeviceReduction *reduction)
{
  BCRDeviceReduction red = *reduction;

  PetscFunctionBegin;
  if (!red) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRDeviceReductionDestroy(&red->inner));
  PetscCall(PetscFree4(red->step, red->rows, red->pin, red->terms));
  PetscCall(PetscFree(*reduction));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscInt BCRDeviceReductionSubproblems(BCRDeviceReduction red)
{
  return red->subproblems;
}

/* In place. shift: of each box, on the device; pinned: box with the shift 0 of a singular operator,
   -1: none of these */
PetscErrorCode BCRDeviceReductionSolve(BCRDeviceReduction red, BCRStream stream, void *u, PetscInt nb,
                                       ptrdiff_t boxstride, const double *shift, PetscInt pinned)
{
  BCRCudaPlanes p;
  const int single = red->single;

  PetscFunctionBegin;
  p.n0 = red->nx;
  p.n1 = red->n1;
  p.nb = (int)nb;
  p.s0 = red->s[0];
  p.s1 = red->s[1];
  p.sr = red->s[2];
  p.sb = boxstride;
  for (PetscInt i = 0; i < red->nsteps; i++) {
    const BCRCudaStep *st = &red->step[i];
    const PetscInt lines = (PetscInt)st->count * st->np;

    PetscCallBCRCuda(BCRCudaStepForm(stream, st, &p, single, u, red->G, red->g1, red->gline));
    if (red->inner) {
      PetscCallBCRCuda(BCRCudaStepShifts(stream, st, (int)nb, shift, red->a, red->shifts));
      for (PetscInt k = 0; k < lines; k += red->chunk) {
        const PetscInt m = PetscMin(red->chunk, lines - k);

        PetscCall(BCRDeviceReductionSolve(
          red->inner, stream, (char *)red->G + (size_t)k * (size_t)red->gline * red->size, m, red->gline,
          red->shifts + k, pinned == 0 && red->pin[i] >= k && red->pin[i] < k + m ? red->pin[i] - k : -1));
      }
    } else if (red->width)
      PetscCallBCRCuda(BCRCudaLinesCyclic(stream, st, (int)nb, red->nx, red->scale, red->a, shift, red->end[0],
                                          red->end[1], single, red->G, red->gline, red->width, red->shared));
    else {
      for (PetscInt k = 0; k < lines; k += red->chunk) {
        const PetscInt m = PetscMin(red->chunk, lines - k);
        BCRCudaLineRows r = red->rows[i];
        BCRCudaLines l, w;

        r.siga += k;
        r.sigb = shift;
        r.pina = r.pinb = -1;
        if (pinned >= 0 && red->pin[i] >= k && red->pin[i] < k + m) {
          r.pina = (int)(red->pin[i] - k);
          r.pinb = (int)pinned;
        }
        l.na = w.na = (int)m;
        l.nb = w.nb = (int)nb;
        l.s = w.s = 1;
        l.sa = w.sa = red->gline;
        l.sb = lines * red->gline;
        w.sb = red->chunk * red->gline;
        PetscCallBCRCuda(BCRCudaLineSolve(stream, &r, single, &l,
                                          (char *)red->G + (size_t)k * (size_t)red->gline * red->size, &w, red->work));
      }
    }
    PetscCallBCRCuda(BCRCudaStepSum(stream, st, &p, single, red->G, red->g1, red->gline, red->terms[i], red->parts, u));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
