/*
  Between the operator as it is read from a matrix and the numerical core.

  With A = scale W K, K = Tx (+) Ty (+) Tz + shift, and for the fit 'scaled' A = scale S W K S, the box's unknowns are

      u = S^-1 K^-1 W^-1 S^-1 g / scale             g: right-hand side after the planes (planes.c)

  and, since K^T = H K H^-1 with the diagonal H = Hx x Hy x Hz that symmetrises each axis (h = 1/2
  at a mirrored end, else 1 on a uniform axis), those of the transpose

      u = S^-1 W^-1 H K^-1 H^-1 S^-1 g / scale.

  Where A = scale S W K (rows scaled, 'left'), the first S^-1 falls away, and the last in the transpose.

  The core applies 1/scale at no cost. Where nothing else is left it gets the caller's vectors; with
  planes or factors, one pass prepares the right-hand side in u and the core works in place. Complex
  scalars, interleaved components and vectors of another precision than the core's go through one
  box of work space, one real field at a time.
*/
#include "solverimpl.h"
#include "../base/agree.h"
#include "../operator/devscale.h"
#include <petsctime.h>
#include <string.h>
#include "../backend/cpu/cpu.h"

#if defined(PETSC_USE_COMPLEX)
  #define BCR_PARTS 2
#else
  #define BCR_PARTS 1
#endif
#if defined(PETSC_USE_REAL_SINGLE)
  #define BCR_IO BCR_SINGLE
#elif defined(PETSC_USE_REAL_DOUBLE)
  #define BCR_IO BCR_DOUBLE
#else
  #error "petscbcr needs a PETSc whose PetscReal is single or double"
#endif

static PetscErrorCode BCRCopyArray(PetscInt n, const PetscReal *from, PetscReal **to)
{
  PetscFunctionBegin;
  *to = NULL;
  if (from) {
    PetscCall(PetscMalloc1(n, to));
    PetscCall(PetscArraycpy(*to, from, n));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A copy of the values has no arrays yet */
static void BCRAxisForget(BCRAxis *x)
{
  x->lower = x->diag = x->upper = x->weight = NULL;
  for (int s = 0; s < 2; s++) x->plane[s].inv = x->plane[s].couplings = NULL;
}

static PetscErrorCode BCRAxisRelease(BCRAxis *x)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(x->lower));
  PetscCall(PetscFree(x->diag));
  PetscCall(PetscFree(x->upper));
  PetscCall(PetscFree(x->weight));
  for (int s = 0; s < 2; s++) {
    PetscCall(PetscFree(x->plane[s].inv));
    PetscCall(PetscFree(x->plane[s].couplings));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCROperatorRelease(BCROperator *op)
{
  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) PetscCall(BCRAxisRelease(&op->axis[d]));
  PetscCall(PetscFree(op->rowscale));
  PetscCall(BCRDeviceScaleDestroy(&op->devscale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscInt BCRAxisExtent(const BCRAxis *x)
{
  return x->n + (x->plane[0].present ? 1 : 0) + (x->plane[1].present ? 1 : 0);
}

/* The copy has rowscale inverted, unset axes trivial, and rowscale in the memory that c->op has
   already, if any. With slabs it is that of the rank's slab, and c->whole the whole axis */
static PetscErrorCode BCRComponentCopy(const BCRSlabs *slabs, PetscBool device, const BCROperator *from,
                                       BCRComponent *c)
{
  BCROperator *to = &c->op;
  PetscReal *rowscale = to->rowscale;
  PetscInt N[3], box = 1;

  PetscFunctionBegin;
  PetscCall(BCRDeviceScaleDestroy(&to->devscale));
  *to = *from;
  to->rowscale = rowscale;
  to->devscale = NULL;
  to->apart = NULL;                                        /* BCRComponentSetApart() has the list */
  for (int d = 0; d < 3; d++) BCRAxisForget(&to->axis[d]); /* so that it can be released whatever fails below */
  c->slab = -1;
  c->first = 0;
  if (slabs->comm != MPI_COMM_NULL) {
    BCRAxis *x = &to->axis[slabs->axis];
    const PetscInt low = x->plane[0].present ? 1 : 0, last = PetscMin(slabs->start + slabs->len, low + x->n);

    c->slab = slabs->axis;
    c->first = PetscMin(PetscMax(slabs->start, low) - low, x->n);
    c->whole = *x;
    PetscCall(BCRCopyArray(x->n, from->axis[slabs->axis].lower, &c->whole.lower));
    PetscCall(BCRCopyArray(x->n, from->axis[slabs->axis].diag, &c->whole.diag));
    PetscCall(BCRCopyArray(x->n, from->axis[slabs->axis].upper, &c->whole.upper));
    PetscCall(BCRCopyArray(x->n, from->axis[slabs->axis].weight, &c->whole.weight));
    if (slabs->start > 0 || !slabs->len) x->plane[0].present = PETSC_FALSE;
    if (slabs->start + slabs->len < slabs->total || !slabs->len) x->plane[1].present = PETSC_FALSE;
    x->n = PetscMax(0, last - c->first - low);
  }
  for (int d = 0; d < 3; d++) {
    if (d >= from->dim) {
      PetscCall(PetscMemzero(&to->axis[d], sizeof(BCRAxis)));
      to->axis[d].n = 1;
    }
    N[d] = BCRAxisExtent(&to->axis[d]);
    box *= to->axis[d].n;
  }
  for (int d = 0; d < from->dim; d++) {
    const BCRAxis *x = &from->axis[d];
    BCRAxis *y = &to->axis[d];
    const PetscInt first = d == c->slab ? c->first : 0;

    PetscCall(BCRCopyArray(y->n, x->lower ? x->lower + first : NULL, &y->lower));
    PetscCall(BCRCopyArray(y->n, x->diag ? x->diag + first : NULL, &y->diag));
    PetscCall(BCRCopyArray(y->n, x->upper ? x->upper + first : NULL, &y->upper));
    PetscCall(BCRCopyArray(y->n, x->weight ? x->weight + first : NULL, &y->weight));
    for (int s = 0; s < 2; s++) {
      const PetscInt nodes = N[0] * N[1] * N[2] / PetscMax(N[d], 1);

      if (y->plane[s].present) {
        PetscCall(BCRCopyArray(nodes, x->plane[s].inv, &y->plane[s].inv));
        PetscCall(BCRCopyArray(nodes, x->plane[s].couplings, &y->plane[s].couplings));
      } else PetscCall(PetscMemzero(&y->plane[s], sizeof(BCRPlane)));
    }
  }
  if (from->rowscale || (from->devscale && !device)) {
    if (!to->rowscale) PetscCall(PetscMalloc1(box, &to->rowscale));
    if (!from->rowscale) PetscCall(BCRDeviceScaleGet(from->devscale, to->rowscale));
    else
      for (PetscInt i = 0; i < box; i++) to->rowscale[i] = 1 / from->rowscale[i];
  } else {
    PetscCall(PetscFree(to->rowscale));
    PetscCall(BCRDeviceScaleShare(from->devscale, &to->devscale));
  }
  if (!(((1 << to->owner[0]) | (1 << to->owner[1]) | (1 << to->owner[2])) == 7)) {
    for (int d = 0; d < 3; d++) to->owner[d] = d;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRComponentSetApart(const BCROperator *from, BCRComponent *c)
{
  const PetscInt n[3] = {c->op.axis[0].n, c->op.axis[1].n, c->op.axis[2].n}, box = n[0] * n[1] * n[2];
  PetscInt count = 0;

  PetscFunctionBegin;
  PetscCall(PetscFree3(c->apartat, c->apartinv, c->apartwork));
  c->napart = 0;
  for (PetscInt i = 0; i < box && from->apart; i++) count += from->apart[i] != 0 ? 1 : 0;
  if (!count) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc3(count, &c->apartat, count, &c->apartinv, count, &c->apartwork));
  for (PetscInt i = 0; i < box; i++) {
    if (from->apart[i] == 0) continue;
    c->apartat[c->napart] =
      c->start + i % n[0] * c->stride[0] + i / n[0] % n[1] * c->stride[1] + i / n[0] / n[1] * c->stride[2];
    c->apartinv[c->napart++] = from->apart[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRFactorsSet(PetscInt n, const double v[], BCRFactors *f, PetscBool *any)
{
  PetscFunctionBegin;
  if (!f->v) PetscCall(PetscMalloc1(n, &f->v));
  PetscCall(PetscArraycpy(f->v, v, n));
  f->head = f->tail = 0;
  while (f->head < n && v[f->head] != 1) f->head++;
  while (f->head + f->tail < n && v[n - 1 - f->tail] != 1) f->tail++;
  for (PetscInt i = f->head; i < n - f->tail; i++) {
    if (v[i] != 1) f->head = n - f->tail;
  }
  if (f->head || f->tail) *any = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* scales beyond this, or below its inverse, are not left to single precision */
#define BCR_SINGLE_LEAST 1e-18

/* pre and post: W^-1 and 1; transposed H^-1 and H W^-1 */
static PetscErrorCode BCRComponentSetWeights(BCRComponent *c, BCRPrecision precision)
{
  /* 1/scale, where single precision does not reach it: right-hand sides are brought to the box's
     units before they become single */
  double unit = 1;

  PetscFunctionBegin;
  c->badaxis = -1;
  c->factor = 1 / c->op.scale;
  if (precision == BCR_SINGLE && sizeof(PetscReal) > sizeof(float) &&
      !(PetscAbsReal(c->factor) > BCR_SINGLE_LEAST && PetscAbsReal(c->factor) < 1 / BCR_SINGLE_LEAST)) {
    unit = 1 / (double)c->op.scale;
    c->factor = 1;
  }
  for (int t = 0; t < 2; t++) c->prescale[t] = c->postscale[t] = c->weighted[t] = PETSC_FALSE;
  for (int d = 0; d < 3; d++) {
    const BCRAxis *x = BCRComponentAxis(c, d);
    const PetscInt n = x->n, here = c->op.axis[d].n, first = d == c->slab ? c->first : 0;
    double *h, *v;

    PetscCall(PetscMalloc2(n, &h, n, &v));
    for (PetscInt i = 0; i < n; i++) h[i] = n > 1 && !x->lower ? BCRAxisGetEndWeight(x, i) : 1;
    if (x->lower) {
      /* (H T H^-1)^T = T: h_i upper_i / h_{i+1} = lower_{i+1} */
      for (PetscInt i = 0; i + 1 < n; i++) {
        const double up = x->upper[i], lo = x->lower[i + 1];

        if (up * lo > 0) h[i + 1] = up == lo ? h[i] : h[i] * (up / lo);
        else {
          h[i + 1] = h[i];
          if (up != 0 || lo != 0) {
            c->badaxis = d;
            c->badrow = i;
          }
        }
      }
    }
    for (int t = 0; t < 2; t++) {
      for (PetscInt i = 0; i < n; i++) {
        v[i] = 1 / (t ? h[i] : (x->weight ? (double)x->weight[i] : 1.));
        if (v[i] != 1) c->weighted[t] = PETSC_TRUE;
        if (d == 0) v[i] *= unit;
      }
      BCRCallElse(BCRFactorsSet(here, v + first, &c->pre[t][d], &c->prescale[t]), (void)PetscFree2(h, v));
      for (PetscInt i = 0; i < n; i++) v[i] = t ? h[i] / (x->weight ? (double)x->weight[i] : 1.) : 1;
      BCRCallElse(BCRFactorsSet(here, v + first, &c->post[t][d], &c->postscale[t]), (void)PetscFree2(h, v));
    }
    PetscCall(PetscFree2(h, v));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What follows from c->op and may change with it */
static PetscErrorCode BCRComponentSetUp(BCRComponent *c, BCRPrecision precision)
{
  PetscFunctionBegin;
  PetscCheck(c->op.scale != 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "The operator is zero: its scale is 0");
  PetscCall(BCRComponentSetWeights(c, precision));
  c->onesremoved[0] = c->onesremoved[1] = 0;
  PetscCall(BCRPlanesSetUp(c));
  if (precision == BCR_MIXED && c->core >= 0) PetscCall(BCRRefineSetUp(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool BCRSameArray(PetscInt n, const PetscReal *a, const PetscReal *b)
{
  if (!a || !b) return a == b ? PETSC_TRUE : PETSC_FALSE;
  return memcmp(a, b, sizeof(PetscReal) * (size_t)n) ? PETSC_FALSE : PETSC_TRUE;
}

/* Both can be solved by one core */
PetscBool BCRSameCore(const BCRComponent *a, const BCRComponent *b)
{
  if (a->op.shift != b->op.shift || a->op.scale != b->op.scale || a->op.singular != b->op.singular) return PETSC_FALSE;
  for (int d = 0; d < 3; d++) {
    const BCRAxis *x = BCRComponentAxis(a, d), *y = BCRComponentAxis(b, d);

    /* other rows of the box on this rank */
    if (d == a->slab && x->plane[0].present != y->plane[0].present) return PETSC_FALSE;

    if (x->n != y->n || x->end[0] != y->end[0] || x->end[1] != y->end[1] || (x->n > 1 && x->a != y->a))
      return PETSC_FALSE;
    if (!BCRSameArray(x->n, x->lower, y->lower) || !BCRSameArray(x->n, x->diag, y->diag) ||
        !BCRSameArray(x->n, x->upper, y->upper))
      return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

static PetscErrorCode BCRSolverSetFactors(BCRSolver s)
{
  PetscFunctionBegin;
  if (s->device) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt m = 0; m < s->dof; m++) {
    const BCRComponent *c = &s->comp[m];

    if (c->core < 0) continue;
    PetscCall(
      BCRRanksSetFactor(s->core[c->core], s->options.core.precision == BCR_MIXED ? (PetscReal)c->norm : c->factor));
    if (s->fallback[c->core]) PetscCall(BCRRanksSetFactor(s->fallback[c->core], 1 / c->op.scale));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSolverShare(BCRSolver s, PetscErrorCode ierr, const char what[])
{
  PetscFunctionBegin;
  if (s->slabs.comm != MPI_COMM_NULL) PetscCall(BCRFaultShare(s->slabs.comm, ierr, what));
  else PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRSolverArrays(BCRSolver s, const BCROperator ops[])
{
  PetscFunctionBegin;
  PetscCall(PetscCalloc1(s->dof, &s->comp));
  PetscCall(PetscCalloc2(s->dof, &s->core, s->dof, &s->fallback));
  for (PetscInt m = 0; m < s->dof; m++)
    PetscCheck(ops[m].dim >= 1 && ops[m].dim <= 3, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "An operator of dimension %" PetscInt_FMT, ops[m].dim);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRSolverComponents(BCRSolver s, const BCROperator ops[])
{
  PetscFunctionBegin;
  for (PetscInt m = 0; m < s->dof; m++) {
    BCRComponent *c = &s->comp[m];
    PetscInt n = 1;

    PetscCall(BCRComponentCopy(&s->slabs, s->options.device, &ops[m], c));
    for (int d = 0; d < 3; d++) {
      c->N[d] = BCRAxisExtent(&c->op.axis[d]);
      PetscCheck(c->N[d] > 0 || d == c->slab, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "No nodes along %c", 'x' + d);
      PetscCheck(c->N[d] == s->comp[0].N[d], PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
                 "Component %" PetscInt_FMT " has %" PetscInt_FMT " nodes along %c, component 0 has %" PetscInt_FMT, m,
                 c->N[d], 'x' + d, s->comp[0].N[d]);
      c->stride[d] = n;
      n *= c->N[d];
      if (c->op.axis[d].plane[0].present) c->start += c->stride[d];
      if (BCRComponentAxis(c, d)->n == 0) c->core = -1;
    }
    PetscCall(BCRComponentSetApart(&ops[m], c));
    PetscCall(BCRComponentSetUp(c, s->options.core.precision));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Strides of a box of elements of size bytes, its rows not a multiple of 1 KB apart unless its
   numbers are too large for more */
void BCRSolverStrides(const PetscInt n[3], size_t size, PetscInt *ldy, PetscInt *ldz)
{
  const PetscInt more = n[0] && ((size_t)n[0] * size) % 1024 == 0 ? (PetscInt)(64 / size) : 0;

  *ldy = n[0] + more;
  if ((double)*ldy * (double)n[1] * (double)PetscMax(n[2], 1) > (double)PETSC_MAX_INT) *ldy = n[0];
  *ldz = *ldy * n[1];
}

/* The caller's layout, or one box of the core's precision */
static PetscErrorCode BCRSolverLayout(BCRSolver s)
{
  const BCRPrecision precision = s->options.core.precision;
  PetscInt n[3] = {0, 0, 0};

  PetscFunctionBegin;
  s->stagesize = precision == BCR_DOUBLE ? 8 : 4;
  s->staged =
    s->dof * BCR_PARTS > 1 || precision == BCR_MIXED || s->stagesize > sizeof(PetscReal) ? PETSC_TRUE : PETSC_FALSE;
  for (PetscInt m = 0; m < s->dof; m++) {
    for (int d = 0; d < 3; d++) n[d] = PetscMax(n[d], s->comp[m].op.axis[d].n);
  }
  s->ldy = s->comp[0].stride[1];
  s->ldz = s->comp[0].stride[2];
  if (s->staged) BCRSolverStrides(n, s->stagesize, &s->ldy, &s->ldz);
  for (PetscInt m = 0; m < s->dof && s->staged; m++) {
    const BCRComponent *c = &s->comp[m];
    const size_t bytes = (size_t)s->ldz * (size_t)c->op.axis[2].n * s->stagesize;

    if (c->core >= 0 && bytes > s->stagebytes) s->stagebytes = bytes;
  }
  if (s->stagebytes) PetscCall(PetscMalloc(s->stagebytes, &s->stage));
  PetscCall(PetscMalloc1(PetscMax(n[0], 1), &s->line));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The components, then what solves them. moved: operators that the caller frees, whatever fails */
static PetscErrorCode BCRSolverFill(BCRSolver s, const BCROperator ops[], const BCRSlab *slab, BCROperator **moved)
{
  const PetscInt dof = s->dof;
  const PetscBool mixed = s->options.core.precision == BCR_MIXED ? PETSC_TRUE : PETSC_FALSE;
  PetscInt stride[3];
  BCRCoreOptions core = s->options.core;
  BCRPrecision io = BCR_IO;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = BCRSolverArrays(s, ops);
  if (slab) PetscCall(BCRFaultShare(slab->comm, ierr, BCR_NO_MEMORY));
  else PetscCall(ierr);
  PetscCall(BCRSlabsCreate(slab, dof, ops, &s->slabs));
  ierr = BCRSlabsMoveOperators(&s->slabs, dof, ops, moved);
  if (!ierr) ierr = BCRSolverComponents(s, *moved ? *moved : ops);
  if (!ierr && !s->options.device) ierr = BCRSolverLayout(s);
  PetscCall(BCRSolverShare(s, ierr, BCR_NO_MEMORY));
  if (s->options.device) {
#if defined(PETSCBCR_HAVE_CUDA)
    PetscCall(BCRDeviceSolverCreate(s));
    PetscFunctionReturn(PETSC_SUCCESS);
#else
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_SUP,
            "This petscbcr was built without a CUDA backend: use -pc_bcrpoisson_backend cpu or auto");
#endif
  }
  if (s->staged) io = s->stagesize == 4 ? BCR_SINGLE : BCR_DOUBLE;
  if (mixed) core.precision = BCR_SINGLE;
  stride[0] = 1;
  stride[1] = s->ldy;
  stride[2] = s->ldz;
  for (PetscInt m = 0; m < dof; m++) {
    BCRComponent *c = &s->comp[m];
    BCRAxis axis[3];

    if (c->core < 0) continue;
    c->core = -1;
    for (PetscInt l = 0; l < m && c->core < 0; l++) {
      if (s->comp[l].core >= 0 && BCRSameCore(&s->comp[l], c)) c->core = s->comp[l].core;
    }
    if (c->core >= 0) continue;
    for (int d = 0; d < 3; d++) {
      axis[d] = *BCRComponentAxis(c, d);
      axis[d].weight = NULL;
      if (axis[d].n == 1) axis[d].a = 0;
      PetscCall(PetscMemzero(axis[d].plane, sizeof(axis[d].plane)));
    }
    PetscCall(BCRRanksCreate(s->slabs.comm, PetscMax(0, c->slab), c->first, c->op.axis[PetscMax(0, c->slab)].n,
                             c->op.dim, axis, c->op.shift, c->op.singular, stride, io, &core, mixed,
                             &s->core[s->ncore]));
    c->core = s->ncore++;
  }
  PetscCall(BCRSolverShare(s, BCRSolverSetFactors(s), BCR_NO_MEMORY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSolverCreate(PetscInt dof, const BCROperator ops[], const BCRSolverOptions *options,
                               const BCRSlab *slab, BCRSolver *solver)
{
  BCRSolver s = NULL;
  BCROperator *moved = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *solver = NULL; /* until it is whole */
  PetscCheck(dof > 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "%" PetscInt_FMT " components; there must be at least one", dof);
  ierr = PetscNew(&s);
  if (slab) ierr = BCRFaultShare(slab->comm, ierr, BCR_NO_MEMORY);
  BCRCallElse(ierr, (void)PetscFree(s));
  s->options = *options;
  s->dof = dof;
  s->fields = BCRCpuFields(options->core.isa, BCR_IO == BCR_SINGLE);
  s->slabs.comm = MPI_COMM_NULL;
  ierr = BCRSolverFill(s, ops, slab, &moved);
  PetscCall(BCRSlabsFreeOperators(&s->slabs, dof, &moved));
  BCRCallElse(ierr, (void)BCRSolverDestroy(&s));
  s->whole = PETSC_TRUE;
  *solver = s;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSolverDestroy(BCRSolver *solver)
{
  BCRSolver s = *solver;

  PetscFunctionBegin;
  if (!s) PetscFunctionReturn(PETSC_SUCCESS);
#if defined(PETSCBCR_HAVE_CUDA)
  PetscCall(BCRDeviceSolverDestroy(s));
#endif
  for (PetscInt m = 0; m < s->dof && s->comp; m++) {
    BCRComponent *c = &s->comp[m];

    PetscCall(BCROperatorRelease(&c->op));
    PetscCall(BCRAxisRelease(&c->whole));
    PetscCall(PetscFree(c->edge));
    PetscCall(PetscFree3(c->apartat, c->apartinv, c->apartwork));
    for (int d = 0; d < 3; d++) {
      for (int t = 0; t < 2; t++) {
        PetscCall(PetscFree(c->pre[t][d].v));
        PetscCall(PetscFree(c->post[t][d].v));
      }
      PetscCall(PetscFree3(c->lower[d], c->diag[d], c->upper[d]));
    }
    for (int t = 0; t < 2; t++) PetscCall(PetscFree(c->ones[t]));
  }
  for (PetscInt m = 0; m < s->dof && s->core; m++) {
    if (s->core[m]) PetscCall(BCRRanksDestroy(&s->core[m]));
    if (s->fallback[m]) PetscCall(BCRRanksDestroy(&s->fallback[m]));
  }
  PetscCall(PetscFree2(s->core, s->fallback));
  PetscCall(PetscFree(s->comp));
  PetscCall(PetscFree(s->stage));
  PetscCall(PetscFree(s->accum));
  PetscCall(PetscFree(s->line));
  PetscCall(BCRSlabsDestroy(&s->slabs));
  PetscCall(PetscFree(*solver));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* new = gamma old to rounding, the sizes of the entries given by largest */
static PetscBool BCRProportional(PetscReal value, PetscReal gamma, PetscReal old, PetscReal largest)
{
  return PetscAbsReal(value - gamma * old) <= 8 * PETSC_MACHINE_EPSILON * largest ? PETSC_TRUE : PETSC_FALSE;
}

/* The new operator's T is gamma times that of the core, gamma > 0 */
static PetscBool BCRSameShape(const BCRComponent *c, const BCROperator *op, PetscReal *gamma)
{
  const BCROperator *old = &c->op;
  PetscBool known = PETSC_FALSE;

  *gamma = 1;
  if (op->dim != old->dim || op->singular != old->singular) return PETSC_FALSE;
  for (int d = 0; d < op->dim; d++) {
    const BCRAxis *x = &op->axis[d], *y = BCRComponentAxis(c, d);

    if (x->n != y->n || x->end[0] != y->end[0] || x->end[1] != y->end[1] || !x->lower != !y->lower) return PETSC_FALSE;
    for (int s = 0; s < 2; s++) {
      if (x->plane[s].present != y->plane[s].present) return PETSC_FALSE;
    }
    if (x->n < 1 || (x->n == 1 && !x->lower)) continue;
    if (x->lower) {
      PetscReal largest = 0;
      PetscInt at = 0;

      for (PetscInt i = 0; i < x->n; i++) {
        if (PetscAbsReal(y->diag[i]) > PetscAbsReal(y->diag[at])) at = i;
        largest = PetscMax(largest, PetscAbsReal(x->diag[i]));
      }
      if (!known && y->diag[at] != 0) {
        *gamma = x->diag[at] / y->diag[at];
        known = PETSC_TRUE;
      }
      for (PetscInt i = 0; i < x->n; i++) {
        if (!BCRProportional(x->lower[i], *gamma, y->lower[i], largest) ||
            !BCRProportional(x->diag[i], *gamma, y->diag[i], largest) ||
            !BCRProportional(x->upper[i], *gamma, y->upper[i], largest))
          return PETSC_FALSE;
      }
    } else {
      if (!known && y->a != 0) {
        *gamma = x->a / y->a;
        known = PETSC_TRUE;
      }
      if (!BCRProportional(x->a, *gamma, y->a, PetscAbsReal(x->a))) return PETSC_FALSE;
    }
  }
  return *gamma > 0 && !PetscIsInfOrNanReal(*gamma) ? PETSC_TRUE : PETSC_FALSE;
}

/* The copies keep the axes that the cores know: scale' (T' + shift') = scale' gamma (T +
   shift'/gamma). before: the axes of the copy until now, to be released whatever fails. *shifted:
   the cores need another shift */
static PetscErrorCode BCRComponentUpdate(BCRSolver s, const BCROperator *op, BCRComponent *c, BCRAxis before[4],
                                         PetscBool *shifted)
{
  const PetscReal shift = c->op.shift;
  PetscReal gamma;

  PetscFunctionBegin;
  (void)BCRSameShape(c, op, &gamma);
  for (int d = 0; d < 4; d++) {
    BCRAxis *x = d < 3 ? &c->op.axis[d] : &c->whole;

    before[d] = *x;
    BCRAxisForget(x);
  }
  PetscCall(BCRComponentCopy(&s->slabs, s->options.device, op, c));
  for (int d = 0; d < 4; d++) {
    BCRAxis *x = d < 3 ? &c->op.axis[d] : &c->whole, *y = &before[d];
    PetscReal *swap;

    x->a = (d == c->slab ? before[3].n : x->n) > 1 ? y->a : x->a / gamma;
    swap = x->lower, x->lower = y->lower, y->lower = swap;
    swap = x->diag, x->diag = y->diag, y->diag = swap;
    swap = x->upper, x->upper = y->upper, y->upper = swap;
    for (int e = 0; e < 2 && gamma != 1; e++) {
      BCRPlane *plane = &x->plane[e];
      const PetscInt nodes = d < 3 ? c->N[0] * c->N[1] * c->N[2] / PetscMax(c->N[d], 1) : 0;

      plane->coupling /= gamma;
      for (PetscInt q = 0; q < nodes && plane->couplings; q++) plane->couplings[q] /= gamma;
    }
  }
  c->op.scale *= gamma;
  c->op.shift /= gamma;
  PetscCall(BCRComponentSetApart(op, c));
  *shifted = c->core >= 0 && c->op.shift != shift && !s->device ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(BCRComponentSetUp(c, s->options.core.precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSolverUpdate(BCRSolver s, const BCROperator ops[], PetscBool *done)
{
  BCROperator *moved = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  PetscCheck(s->whole, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
             "The last change of this solver has failed: create another one");
  for (PetscInt m = 0; m < s->dof; m++) {
    PetscReal gamma;

    if (!BCRSameShape(&s->comp[m], &ops[m], &gamma)) PetscFunctionReturn(PETSC_SUCCESS);
    for (PetscInt l = 0; l < m; l++) { /* components that share a core have to stay alike */
      PetscReal other;

      if (s->comp[l].core != s->comp[m].core || s->comp[m].core < 0) continue;
      (void)BCRSameShape(&s->comp[l], &ops[l], &other);
      if (gamma != other || ops[l].shift != ops[m].shift || ops[l].scale != ops[m].scale)
        PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  s->whole = PETSC_FALSE; /* until all has changed */
  ierr = BCRSolverShare(s, BCRSlabsMoveOperators(&s->slabs, s->dof, ops, &moved), BCR_NO_MEMORY);
  if (moved) ops = moved;
  for (PetscInt m = 0; m < s->dof && !ierr; m++) {
    BCRComponent *c = &s->comp[m];
    PetscBool shifted = PETSC_FALSE;
    BCRAxis before[4];

    PetscCall(PetscMemzero(before, sizeof(before)));
    ierr = BCRSolverShare(s, BCRComponentUpdate(s, &ops[m], c, before, &shifted), BCR_NO_MEMORY);
    for (int d = 0; d < 4; d++) PetscCall(BCRAxisRelease(&before[d]));
    if (!ierr && shifted) ierr = BCRRanksSetShift(s->core[c->core], c->op.shift);
    if (!ierr && shifted && s->fallback[c->core]) ierr = BCRRanksSetShift(s->fallback[c->core], c->op.shift);
  }
  PetscCall(BCRSlabsFreeOperators(&s->slabs, s->dof, &moved));
  PetscCall(ierr);
#if defined(PETSCBCR_HAVE_CUDA)
  if (s->device) PetscCall(BCRDeviceSolverUpdate(s));
#endif
  PetscCall(BCRSolverShare(s, BCRSolverSetFactors(s), BCR_NO_MEMORY));
  *done = s->whole = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The right-hand side of the box is not just f */
PetscBool BCRPassMustPrepare(const BCRPass *p)
{
  return p->moves || p->c->prescale[p->transpose] || BCRComponentScale(p->c, p->transpose, PETSC_FALSE) ? PETSC_TRUE
                                                                                                        : PETSC_FALSE;
}

static PetscReal *BCRPassRow(const BCRPass *p, PetscInt j, PetscInt k)
{
  return p->u + p->es * (p->c->start + j * p->c->stride[1] + k * p->c->stride[2]);
}

/* line = line * cyz * fx, leaving alone what is multiplied by one */
static void BCRScaleLine(PetscInt n, double cyz, const BCRFactors *fx, double *restrict line)
{
  const double *restrict v = fx->v;

  if (fx->head + fx->tail == n) {
    for (PetscInt i = 0; i < n; i++) line[i] *= cyz * v[i];
  } else {
    if (cyz != 1) {
      for (PetscInt i = 0; i < n; i++) line[i] *= cyz;
    }
    for (PetscInt i = 0; i < fx->head; i++) line[i] *= v[i];
    for (PetscInt i = n - fx->tail; i < n; i++) line[i] *= v[i];
  }
}

void BCRPassRowIn(const BCRPass *p, PetscInt j, PetscInt k, double line[])
{
  const BCRComponent *c = p->c;
  const BCRFactors *w = c->pre[p->transpose];
  const PetscInt n = c->op.axis[0].n, es = p->es;
  const PetscReal *all = BCRComponentScale(c, p->transpose, PETSC_FALSE),
                  *f = p->f + es * (c->start + j * c->stride[1] + k * c->stride[2]);

  if (es == 1 && sizeof(PetscReal) == sizeof(double)) {
    if (n > 0 && (const void *)f != (const void *)line) memcpy(line, f, sizeof(double) * (size_t)n);
  } else {
    for (PetscInt i = 0; i < n; i++) line[i] = (double)f[i * es];
  }
  if (c->prescale[p->transpose]) BCRScaleLine(n, w[1].v[j] * w[2].v[k], &w[0], line);
  if (all) {
    const PetscReal *restrict scale = all + n * (j + c->op.axis[1].n * k);

    for (PetscInt i = 0; i < n; i++) line[i] *= (double)scale[i];
  }
  if (p->moves) BCRPlanesMove(p, j, k, line);
}

/* line is scratch afterwards */
void BCRPassRowOut(const BCRPass *p, PetscInt j, PetscInt k, double line[])
{
  const BCRComponent *c = p->c;
  const BCRFactors *w = c->post[p->transpose];
  const PetscInt n = c->op.axis[0].n, es = p->es;
  const PetscReal *all = BCRComponentScale(c, p->transpose, PETSC_TRUE);
  PetscReal *u = BCRPassRow(p, j, k);

  if (c->postscale[p->transpose]) BCRScaleLine(n, w[1].v[j] * w[2].v[k], &w[0], line);
  if (all) {
    const PetscReal *restrict scale = all + n * (j + c->op.axis[1].n * k);

    for (PetscInt i = 0; i < n; i++) line[i] *= (double)scale[i];
  }
  if (es == 1 && sizeof(PetscReal) == sizeof(double)) {
    if (n > 0 && (const void *)u != (const void *)line) memcpy(u, line, sizeof(double) * (size_t)n);
  } else {
    for (PetscInt i = 0; i < n; i++) u[i * es] = (PetscReal)line[i];
  }
}

/* Rows of arrays of size bytes an element, by way of a row of double */
static void BCRPassIn(BCRSolver s, const BCRPass *p, size_t size, void *to, PetscInt ldy, PetscInt ldz)
{
  const PetscInt n = p->c->op.axis[0].n;

  for (PetscInt k = 0; k < p->c->op.axis[2].n; k++) {
    for (PetscInt j = 0; j < p->c->op.axis[1].n; j++) {
      const PetscInt at = j * ldy + k * ldz;

      if (size == 8) BCRPassRowIn(p, j, k, (double *)to + at);
      else {
        float *row = (float *)to + at;

        BCRPassRowIn(p, j, k, s->line);
        for (PetscInt i = 0; i < n; i++) row[i] = (float)s->line[i];
      }
    }
  }
}

static void BCRPassOut(BCRSolver s, const BCRPass *p, size_t size, void *from, PetscInt ldy, PetscInt ldz)
{
  const PetscInt n = p->c->op.axis[0].n;

  for (PetscInt k = 0; k < p->c->op.axis[2].n; k++) {
    for (PetscInt j = 0; j < p->c->op.axis[1].n; j++) {
      const PetscInt at = j * ldy + k * ldz;

      if (size == 8) BCRPassRowOut(p, j, k, (double *)from + at);
      else {
        const float *row = (const float *)from + at;

        for (PetscInt i = 0; i < n; i++) s->line[i] = (double)row[i];
        BCRPassRowOut(p, j, k, s->line);
      }
    }
  }
}

/* One real field */
static PetscErrorCode BCRPassSolve(BCRSolver s, BCRPass *p, PetscReal *removed)
{
  const BCRComponent *c = p->c;
  PetscReal *box = p->u + c->start * p->es;
  const PetscBool after =
    c->postscale[p->transpose] || BCRComponentScale(c, p->transpose, PETSC_TRUE) ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  *removed = 0;
  p->moves = PETSC_FALSE;
  BCRPassApartBefore(p);
  if (c->nface || c->nedge) BCRPlanesBefore(p);
  if (c->core >= 0) {
    if (s->options.core.precision == BCR_MIXED) {
      PetscInt ld[2] = {c->stride[1], c->stride[2]};
      PetscReal *v = box;

      if (p->es > 1 || p->f == p->u) { /* f is needed to the end */
        size_t bytes;

        if (p->es > 1) {
          ld[0] = s->ldy;
          ld[1] = s->ldz;
        }
        bytes = (size_t)ld[1] * (size_t)c->op.axis[2].n * sizeof(PetscReal);
        if (bytes > s->accumbytes) {
          PetscCall(PetscFree(s->accum));
          PetscCall(PetscMalloc(bytes, &s->accum));
          s->accumbytes = bytes;
        }
        v = s->accum;
      }
      PetscCall(BCRRefineSolve(s, p, v, ld, removed));
      if (after || v != box) BCRPassOut(s, p, sizeof(PetscReal), v, ld[0], ld[1]);
    } else if (s->staged) {
      BCRPassIn(s, p, s->stagesize, s->stage, s->ldy, s->ldz);
      PetscCall(BCRRanksSolve(s->core[c->core], s->stage, s->stage, removed));
      BCRPassOut(s, p, s->stagesize, s->stage, s->ldy, s->ldz);
    } else {
      const PetscReal *f = p->f + c->start;

      if (BCRPassMustPrepare(p)) {
        BCRPassIn(s, p, sizeof(PetscReal), box, s->ldy, s->ldz);
        f = box;
      }
      PetscCall(BCRRanksSolve(s->core[c->core], f, box, removed));
      if (after) BCRPassOut(s, p, sizeof(PetscReal), box, s->ldy, s->ldz);
    }
  }
  BCRPassApartAfter(p);
  if (c->nface || c->nedge) BCRPlanesAfter(p);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRComponentOnesRhs(const BCRComponent *c, PetscInt transpose, PetscReal f[])
{
  const PetscInt *n = c->N, nx = c->op.axis[0].n, ny = c->op.axis[1].n;
  PetscReal *scale = NULL; /* inverted */

  PetscFunctionBegin;
  if (BCRComponentScaled(c, transpose, PETSC_FALSE)) {
    scale = c->op.rowscale;
    if (!scale) {
      PetscCall(PetscMalloc1(PetscMax(1, nx * ny * c->op.axis[2].n), &scale));
      BCRCallElse(BCRDeviceScaleGet(c->op.devscale, scale), (void)PetscFree(scale));
    }
  }
  PetscCall(PetscArrayzero(f, n[0] * n[1] * n[2]));
  for (PetscInt k = 0; k < c->op.axis[2].n; k++) {
    for (PetscInt j = 0; j < ny; j++) {
      PetscReal *row = f + c->start + j * c->stride[1] + k * c->stride[2];

      for (PetscInt i = 0; i < nx; i++) row[i] = scale ? 1 / scale[i + nx * (j + ny * k)] : 1;
    }
  }
  for (PetscInt b = 0; b < c->napart; b++) f[c->apartat[b]] = 0;
  if (scale != c->op.rowscale) PetscCall(PetscFree(scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRPassOnesBegin(BCRComponent *c, PetscInt transpose, PetscReal **f)
{
  const PetscInt n = PetscMax(1, c->N[0] * c->N[1] * c->N[2]);

  PetscFunctionBegin;
  if (!c->ones[transpose]) PetscCall(PetscMalloc1(n, &c->ones[transpose]));
  PetscCall(PetscMalloc1(n, f));
  PetscCall(BCRComponentOnesRhs(c, transpose, *f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* u less its part that comes from a constant in f; *removed becomes that constant */
static PetscErrorCode BCRPassOnes(BCRSolver s, BCRComponent *c, const BCRPass *p, PetscReal *removed)
{
  const PetscInt n = c->N[0] * c->N[1] * c->N[2], t = p->transpose;

  PetscFunctionBegin;
  if (c->onesremoved[t] == 0) {
    BCRPass q = *p;
    PetscReal *f = NULL, m;
    const PetscErrorCode ierr = BCRPassOnesBegin(c, t, &f);

    BCRCallElse(BCRSolverShare(s, ierr, "has no memory for the solution of a constant right-hand side"),
                (void)PetscFree(f));
    q.es = 1;
    q.f = f;
    q.u = c->ones[t];
    BCRCallElse(BCRPassSolve(s, &q, &m), (void)PetscFree(f));
    PetscCall(PetscFree(f));
    c->onesremoved[t] = (double)m;
  }
  *removed = (PetscReal)((double)*removed / c->onesremoved[t]);
  for (PetscInt i = 0; i < n; i++) p->u[i * p->es] -= *removed * c->ones[t][i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSolverSolve(BCRSolver s, PetscBool transpose, PetscInt nrhs, const PetscScalar *f, PetscInt ldf,
                              PetscScalar *u, PetscInt ldu)
{
  PetscFunctionBegin;
  PetscCheck(s->whole, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
             "The last change of this solver has failed: create another one");
  s->removed = 0;
  for (PetscInt m = 0; m < s->dof && transpose; m++) {
    const BCRComponent *c = &s->comp[m];

    PetscCheck(c->badaxis < 0, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "The transpose along %c cannot be solved: the entries that couple rows %" PetscInt_FMT
               " and %" PetscInt_FMT " of this axis do not have the same sign",
               'x' + (int)c->badaxis, c->badrow, c->badrow + 1);
  }
#if defined(PETSCBCR_HAVE_CUDA)
  if (s->device) {
    PetscCall(BCRDeviceSolverStage(s, transpose, nrhs, f, ldf, u, ldu));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  for (PetscInt r = 0; r < nrhs; r++) {
    const PetscScalar *fr = f + r * ldf;
    PetscScalar *ur = u + r * ldu;

    PetscCall(BCRSlabsIn(&s->slabs, &fr, &ur));
    for (PetscInt m = 0; m < s->dof; m++) {
      PetscReal removed[2] = {0, 0};

      for (int part = 0; part < BCR_PARTS; part++) {
        BCRPass p;

        p.c = &s->comp[m];
        p.transpose = transpose ? 1 : 0;
        p.es = s->dof * BCR_PARTS;
        p.f = (const PetscReal *)(fr + m) + part;
        p.u = (PetscReal *)(ur + m) + part;
        PetscCall(BCRPassSolve(s, &p, &removed[part]));
        if (BCRComponentOnes(p.c, p.transpose)) PetscCall(BCRPassOnes(s, &s->comp[m], &p, &removed[part]));
      }
      s->removed = PetscMax(s->removed, PetscSqrtReal(removed[0] * removed[0] + removed[1] * removed[1]));
    }
    PetscCall(BCRSlabsOut(&s->slabs, u + r * ldu));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSolverTime(BCRSolver s, PetscInt n, const PetscScalar *f, PetscScalar *u, PetscInt repeat,
                             double *seconds)
{
  PetscLogDouble start, stop;

  PetscFunctionBegin;
#if defined(PETSCBCR_HAVE_CUDA)
  if (s->device) {
    PetscCall(BCRDeviceSolverTime(s, n, f, repeat, seconds));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  *seconds = PETSC_MAX_REAL;
  for (PetscInt i = -1; i < repeat; ++i) {
    PetscCall(PetscTime(&start));
    PetscCall(BCRSolverSolve(s, PETSC_FALSE, 1, f, n, u, n));
    PetscCall(PetscTime(&stop));
    if (i >= 0) *seconds = PetscMin(*seconds, stop - start);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSolverMachine(const BCRSolverOptions *options, size_t length, char name[])
{
  PetscFunctionBegin;
#if defined(PETSCBCR_HAVE_CUDA)
  if (options->device) {
    PetscCall(BCRDeviceSolverMachine(length, name));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  PetscCall(PetscStrncpy(name, BCRCpuGetTable(options->core.isa, options->core.precision != BCR_DOUBLE)->isa, length));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSolverGetInfo(BCRSolver s, BCRSolverInfo *info)
{
  const double solves = s->options.core.precision == BCR_MIXED ? 3 : 1; /* as a rule, see refine.c */

  PetscFunctionBegin;
  PetscCall(PetscMemzero(info, sizeof(*info)));
  info->workspace = s->stagebytes + s->accumbytes + sizeof(double) * (size_t)s->comp[0].op.axis[0].n;
  for (PetscInt m = 0; m < s->dof; m++) {
    const BCRComponent *c = &s->comp[m];
    size_t box = 1;
    double per = 0; /* operations for each unknown */

    for (int d = 0; d < 3; d++) {
      const BCRAxis *x = &c->op.axis[d];

      box *= (size_t)x->n;
      info->tables += (size_t)x->n * (4 * sizeof(double) + (x->lower ? 3 * sizeof(PetscReal) : 0) +
                                      (c->lower[d] ? 3 * sizeof(double) : 0));
      for (int e = 0; e < 2; e++) {
        const size_t nodes = (size_t)(c->N[0] * c->N[1] * c->N[2] / PetscMax(c->N[d], 1));

        if (x->plane[e].inv) info->tables += nodes * sizeof(PetscReal);
        if (x->plane[e].couplings) info->tables += nodes * sizeof(PetscReal);
      }
    }
    info->tables += (size_t)c->nedge * sizeof(BCREdge);
    for (int t = 0; t < 2; t++) {
      if (c->ones[t]) info->workspace += (size_t)(c->N[0] * c->N[1] * c->N[2]) * sizeof(PetscReal);
    }
    if (BCROperatorScaled(&c->op)) {
      info->workspace += box * sizeof(PetscReal);
      per += c->op.left ? 1 : 2;
    }
    if (c->prescale[0]) per += 1;
    if (solves > 1) per += (solves - 1) * (4 * c->op.dim + 6);
    info->flops += BCR_PARTS * per * (double)box;
    if (c->core >= 0 && !s->device) {
      BCRRanksInfo core;

      PetscCall(BCRRanksGetInfo(s->core[c->core], &core));
      info->flops += BCR_PARTS * solves * core.flops;
      info->bytes_sent += (size_t)(BCR_PARTS * solves) * core.bytes_sent;
      info->messages += (size_t)(BCR_PARTS * solves) * core.messages;
      if (m == 0) {
        info->core = core.core;
        PetscCall(PetscStrncpy(info->ranks, core.what, sizeof(info->ranks)));
      }
    }
  }
  for (PetscInt m = 0; m < s->ncore && !s->device; m++) {
    for (int which = 0; which < 2; which++) {
      BCRRanksInfo core;

      if (which && !s->fallback[m]) continue;
      PetscCall(BCRRanksGetInfo(which ? s->fallback[m] : s->core[m], &core));
      info->workspace += core.workspace;
      info->tables += core.tables;
    }
  }
  info->removed = s->removed;
#if defined(PETSCBCR_HAVE_CUDA)
  if (s->device) PetscCall(BCRDeviceSolverGetInfo(s, info));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if !defined(PETSCBCR_HAVE_CUDA)
PetscErrorCode BCRSolverSolveDevice(BCRSolver s, void *stream, PetscBool transpose, PetscInt nrhs, const PetscScalar *f,
                                    PetscInt ldf, PetscScalar *u, PetscInt ldu)
{
  (void)s, (void)stream, (void)transpose, (void)nrhs, (void)f, (void)ldf, (void)u, (void)ldu;
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_SUP, "This petscbcr was built without a CUDA backend");
}

PetscBool BCRSolverHaveDevice(const char **why)
{
  if (why) *why = "this petscbcr was built without a CUDA backend";
  return PETSC_FALSE;
}
#endif
