/*
  The components of a solver: what stands between the operator as it is read from a matrix and the box that a core solves.

  With A = scale W K, K = Tx (+) Ty (+) Tz + shift, and for the fit 'scaled' A = scale S W K S, the box's unknowns are

      u = S^-1 K^-1 W^-1 S^-1 g / scale             g: right-hand side after the planes (planes.c)

  and, since K^T = H K H^-1 with the diagonal H = Hx x Hy x Hz that symmetrises each axis (h = 1/2
  at a mirrored end, else 1 on a uniform axis), those of the transpose

      u = S^-1 W^-1 H K^-1 H^-1 S^-1 g / scale.

  Where A = scale S W K (rows scaled, 'left'), the first S^-1 falls away, and the last in the transpose.
  The core applies 1/scale at no cost.
*/
#include "solverimpl.h"
#include "../operator/devscale.h"
#include <string.h>

#if !defined(PETSC_USE_REAL_SINGLE) && !defined(PETSC_USE_REAL_DOUBLE)
  #error "petscbcr needs a PETSc whose PetscReal is single or double"
#endif

static PetscErrorCode copy_array(PetscInt n, const PetscReal *from, PetscReal **to)
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
static void axis_forget(BCRAxis *x)
{
  x->lower = x->diag = x->upper = x->weight = x->times = x->imag = NULL;
  for (int s = 0; s < 2; s++) x->plane[s].inv = x->plane[s].couplings = NULL;
}

static PetscErrorCode axis_release(BCRAxis *x)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(x->lower));
  PetscCall(PetscFree(x->diag));
  PetscCall(PetscFree(x->upper));
  PetscCall(PetscFree(x->weight));
  PetscCall(PetscFree(x->times));
  PetscCall(PetscFree(x->imag));
  for (int s = 0; s < 2; s++) {
    PetscCall(PetscFree(x->plane[s].inv));
    PetscCall(PetscFree(x->plane[s].couplings));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode operator_release(BCROperator *op)
{
  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) PetscCall(axis_release(&op->axis[d]));
  PetscCall(PetscFree(op->rowscale));
  PetscCall(BCRDeviceScaleDestroy(&op->devscale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscInt axis_extent(const BCRAxis *x)
{
  return x->n + (x->plane[0].present ? 1 : 0) + (x->plane[1].present ? 1 : 0);
}

/* The copy has rowscale inverted, unset axes trivial, and rowscale in the memory that c->op has
   already, if any. With slabs it is that of the rank's slab, and c->whole the whole axis */
static PetscErrorCode component_copy(BCRSolver s, const BCROperator *from, BCRComponent *c)
{
  const BCRSlabs *slabs = &s->slabs;
  BCROperator *to = &c->op;
  PetscReal *rowscale = to->rowscale;
  PetscInt N[3], box = 1;

  PetscFunctionBegin;
  PetscCall(BCRDeviceScaleDestroy(&to->devscale));
  *to = *from;
  to->rowscale = rowscale;
  to->devscale = NULL;
  to->apart = NULL;                                      /* component_apart() has the list */
  to->turn = NULL;                                       /* the caller's affair */
  for (int d = 0; d < 3; d++) axis_forget(&to->axis[d]); /* so that it can be released whatever fails below */
  c->slab = -1;
  c->first = 0;
  if (slabs->comm != MPI_COMM_NULL) {
    BCRAxis *x = &to->axis[slabs->axis];
    const PetscInt low = x->plane[0].present ? 1 : 0, last = PetscMin(slabs->start + slabs->len, low + x->n);

    c->slab = slabs->axis;
    c->first = PetscMin(PetscMax(slabs->start, low) - low, x->n);
    c->whole = *x;
    PetscCall(copy_array(x->n, from->axis[slabs->axis].lower, &c->whole.lower));
    PetscCall(copy_array(x->n, from->axis[slabs->axis].diag, &c->whole.diag));
    PetscCall(copy_array(x->n, from->axis[slabs->axis].upper, &c->whole.upper));
    PetscCall(copy_array(x->n, from->axis[slabs->axis].weight, &c->whole.weight));
    PetscCall(copy_array(x->n, from->axis[slabs->axis].times, &c->whole.times));
    PetscCall(copy_array(x->n, from->axis[slabs->axis].imag, &c->whole.imag));
    if (slabs->start > 0 || !slabs->len) x->plane[0].present = PETSC_FALSE;
    if (slabs->start + slabs->len < slabs->total || !slabs->len) x->plane[1].present = PETSC_FALSE;
    x->n = PetscMax(0, last - c->first - low);
  }
  for (int d = 0; d < 3; d++) {
    if (d >= from->dim) {
      PetscCall(PetscMemzero(&to->axis[d], sizeof(BCRAxis)));
      to->axis[d].n = 1;
    }
    N[d] = axis_extent(&to->axis[d]);
    box *= to->axis[d].n;
  }
  for (int d = 0; d < from->dim; d++) {
    const BCRAxis *x = &from->axis[d];
    BCRAxis *y = &to->axis[d];
    const PetscInt first = d == c->slab ? c->first : 0;

    PetscCall(copy_array(y->n, x->lower ? x->lower + first : NULL, &y->lower));
    PetscCall(copy_array(y->n, x->diag ? x->diag + first : NULL, &y->diag));
    PetscCall(copy_array(y->n, x->upper ? x->upper + first : NULL, &y->upper));
    PetscCall(copy_array(y->n, x->weight ? x->weight + first : NULL, &y->weight));
    PetscCall(copy_array(y->n, x->times ? x->times + first : NULL, &y->times));
    PetscCall(copy_array(y->n, x->imag ? x->imag + first : NULL, &y->imag));
    for (int e = 0; e < 2; e++) {
      const PetscInt nodes = N[0] * N[1] * N[2] / PetscMax(N[d], 1);

      if (y->plane[e].present) {
        PetscCall(copy_array(nodes, x->plane[e].inv, &y->plane[e].inv));
        PetscCall(copy_array(nodes, x->plane[e].couplings, &y->plane[e].couplings));
      } else PetscCall(PetscMemzero(&y->plane[e], sizeof(BCRPlane)));
    }
  }
  if (from->rowscale || (from->devscale && !s->options.device)) {
    if (!to->rowscale) PetscCall(PetscMalloc1(box, &to->rowscale));
    if (!from->rowscale) PetscCall(BCRDeviceScaleGet(from->devscale, to->rowscale));
    else
      for (PetscInt i = 0; i < box; i++) to->rowscale[i] = 1 / from->rowscale[i];
  } else {
    PetscCall(PetscFree(to->rowscale));
    PetscCall(BCRDeviceScaleShare(from->devscale, &to->devscale));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode component_apart(const BCROperator *from, BCRComponent *c)
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

static PetscErrorCode factors_set(PetscInt n, const double v[], BCRFactors *f, PetscBool *any)
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
static PetscErrorCode component_weights(BCRComponent *c, BCRPrecision precision)
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
    PetscInt bad;
    double *h, *v;

    PetscCall(PetscMalloc2(n, &h, n, &v));
    for (PetscInt i = 0; i < n; i++) h[i] = n > 1 && !x->lower ? BCRAxisGetEndWeight(x, i) : 1;
    if (x->lower && n > 0 && !BCRAxisSymmetriser(x, h, &bad)) { /* (H T H^-1)^T = T */
      c->badaxis = d;
      c->badrow = bad;
    }
    for (int t = 0; t < 2; t++) {
      for (PetscInt i = 0; i < n; i++) {
        v[i] = 1 / (t ? h[i] : (x->weight ? (double)x->weight[i] : 1.));
        if (v[i] != 1) c->weighted[t] = PETSC_TRUE;
        if (d == 0) v[i] *= unit;
      }
      BCRCallElse(factors_set(here, v + first, &c->pre[t][d], &c->prescale[t]), (void)PetscFree2(h, v));
      for (PetscInt i = 0; i < n; i++) v[i] = t ? h[i] / (x->weight ? (double)x->weight[i] : 1.) : 1;
      BCRCallElse(factors_set(here, v + first, &c->post[t][d], &c->postscale[t]), (void)PetscFree2(h, v));
    }
    PetscCall(PetscFree2(h, v));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What follows from c->op and may change with it */
static PetscErrorCode component_setup(BCRComponent *c, BCRPrecision precision)
{
  PetscFunctionBegin;
  PetscCheck(c->op.scale != 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "The operator is zero: its scale is 0");
  PetscCall(component_weights(c, precision));
  c->onesremoved[0] = c->onesremoved[1] = 0;
  PetscCall(BCRPlanesSetUp(c));
  if (precision == BCR_MIXED && c->core >= 0 && !c->op.waves) PetscCall(BCRRefineSetUp(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool same_array(PetscInt n, const PetscReal *a, const PetscReal *b)
{
  if (!a || !b) return a == b ? PETSC_TRUE : PETSC_FALSE;
  return memcmp(a, b, sizeof(PetscReal) * (size_t)n) ? PETSC_FALSE : PETSC_TRUE;
}

PetscBool BCRComponentSameCore(const BCRComponent *a, const BCRComponent *b)
{
  if (a->op.shift != b->op.shift || a->op.scale != b->op.scale || a->op.singular != b->op.singular) return PETSC_FALSE;
  if (a->op.waves != b->op.waves || a->op.tau != b->op.tau) return PETSC_FALSE;
  if (a->op.product != b->op.product || !same_array(8, a->op.mixed, b->op.mixed)) return PETSC_FALSE;
  for (int d = 0; d < 3; d++) {
    const BCRAxis *x = BCRComponentAxis(a, d), *y = BCRComponentAxis(b, d);

    /* other rows of the box on this rank */
    if (d == a->slab && x->plane[0].present != y->plane[0].present) return PETSC_FALSE;

    if (x->n != y->n || x->end[0] != y->end[0] || x->end[1] != y->end[1] || (x->n > 1 && x->a != y->a))
      return PETSC_FALSE;
    if (!same_array(x->n, x->lower, y->lower) || !same_array(x->n, x->diag, y->diag) ||
        !same_array(x->n, x->upper, y->upper) || !same_array(x->n, x->times, y->times) ||
        !same_array(x->n, x->imag, y->imag))
      return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

PetscErrorCode BCRComponentsCreate(BCRSolver s, const BCROperator ops[])
{
  PetscFunctionBegin;
  for (PetscInt m = 0; m < s->dof; m++) {
    BCRComponent *c = &s->comp[m];
    PetscInt n = 1;

    PetscCall(component_copy(s, &ops[m], c));
    for (int d = 0; d < 3; d++) {
      c->N[d] = axis_extent(&c->op.axis[d]);
      PetscCheck(c->N[d] > 0 || d == c->slab, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "No nodes along %c", 'x' + d);
      PetscCheck(c->N[d] == s->comp[0].N[d], PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
                 "Component %" PetscInt_FMT " has %" PetscInt_FMT " nodes along %c, component 0 has %" PetscInt_FMT, m,
                 c->N[d], 'x' + d, s->comp[0].N[d]);
      c->stride[d] = n;
      n *= c->N[d];
      if (c->op.axis[d].plane[0].present) c->start += c->stride[d];
      if (BCRComponentAxis(c, d)->n == 0) c->core = -1;
    }
    PetscCall(component_apart(&ops[m], c));
    PetscCall(component_setup(c, s->precision));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* new = gamma old to rounding, the sizes of the entries given by largest */
static PetscBool proportional(PetscReal value, PetscReal gamma, PetscReal old, PetscReal largest)
{
  return PetscAbsReal(value - gamma * old) <= 8 * PETSC_MACHINE_EPSILON * largest ? PETSC_TRUE : PETSC_FALSE;
}

PetscBool BCRComponentSameShape(const BCRComponent *c, const BCROperator *op, PetscReal *gamma)
{
  const BCROperator *old = &c->op;
  PetscBool known = PETSC_FALSE;

  *gamma = 1;
  if (op->dim != old->dim || op->singular != old->singular || op->product != old->product) return PETSC_FALSE;
  if (op->waves || old->waves) return PETSC_FALSE; /* little of such a solver would last */
  for (int m = 0; m < 8; m++)
    if (PetscAbsReal(op->mixed[m] - old->mixed[m]) > 8 * PETSC_MACHINE_EPSILON) return PETSC_FALSE;
  for (int d = 0; d < op->dim; d++) {
    const BCRAxis *x = &op->axis[d], *y = BCRComponentAxis(c, d);

    if (x->n != y->n || x->end[0] != y->end[0] || x->end[1] != y->end[1] || !x->lower != !y->lower ||
        !x->times != !y->times)
      return PETSC_FALSE;
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
        if (!proportional(x->lower[i], *gamma, y->lower[i], largest) ||
            !proportional(x->diag[i], *gamma, y->diag[i], largest) ||
            !proportional(x->upper[i], *gamma, y->upper[i], largest) ||
            (x->times && !proportional(x->times[i], 1, y->times[i], x->times[i])))
          return PETSC_FALSE;
      }
    } else {
      if (!known && y->a != 0) {
        *gamma = x->a / y->a;
        known = PETSC_TRUE;
      }
      if (!proportional(x->a, *gamma, y->a, PetscAbsReal(x->a))) return PETSC_FALSE;
    }
  }
  return *gamma > 0 && !PetscIsInfOrNanReal(*gamma) ? PETSC_TRUE : PETSC_FALSE;
}

/* before: the axes of the copy until now, to be released whatever fails */
static PetscErrorCode component_change(BCRSolver s, const BCROperator *op, BCRComponent *c, BCRAxis before[4])
{
  PetscReal gamma;

  PetscFunctionBegin;
  (void)BCRComponentSameShape(c, op, &gamma);
  for (int d = 0; d < 4; d++) {
    BCRAxis *x = d < 3 ? &c->op.axis[d] : &c->whole;

    before[d] = *x;
    axis_forget(x);
  }
  PetscCall(component_copy(s, op, c));
  for (int d = 0; d < 4; d++) {
    BCRAxis *x = d < 3 ? &c->op.axis[d] : &c->whole, *y = &before[d];
    PetscReal *swap;

    x->a = (d == c->slab ? before[3].n : x->n) > 1 ? y->a : x->a / gamma;
    swap = x->lower, x->lower = y->lower, y->lower = swap;
    swap = x->diag, x->diag = y->diag, y->diag = swap;
    swap = x->upper, x->upper = y->upper, y->upper = swap;
    swap = x->times, x->times = y->times, y->times = swap;
    for (int e = 0; e < 2 && gamma != 1; e++) {
      BCRPlane *plane = &x->plane[e];
      const PetscInt nodes = d < 3 ? c->N[0] * c->N[1] * c->N[2] / PetscMax(c->N[d], 1) : 0;

      plane->coupling /= gamma;
      for (PetscInt q = 0; q < nodes && plane->couplings; q++) plane->couplings[q] /= gamma;
    }
  }
  c->op.scale *= gamma;
  c->op.shift /= gamma;
  PetscCall(component_apart(op, c));
  PetscCall(component_setup(c, s->precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The copies keep the axes that the cores know: scale' (T' + shift') = scale' gamma (T + shift'/gamma) */
PetscErrorCode BCRComponentUpdate(BCRSolver s, const BCROperator *op, BCRComponent *c)
{
  const PetscReal shift = c->op.shift;
  BCRAxis before[4];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(before, sizeof(before)));
  ierr = component_change(s, op, c, before);
  for (int d = 0; d < 4; d++) PetscCall(axis_release(&before[d]));
  PetscCall(ierr);
  c->shifted = c->core >= 0 && c->op.shift != shift ? PETSC_TRUE : PETSC_FALSE;
  if (c->shifted) c->untried = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRComponentRelease(BCRComponent *c)
{
  PetscFunctionBegin;
  PetscCall(operator_release(&c->op));
  PetscCall(axis_release(&c->whole));
  PetscCall(PetscFree(c->edge));
  PetscCall(PetscFree(c->link));
  PetscCall(PetscFree3(c->apartat, c->apartinv, c->apartwork));
  for (int d = 0; d < 3; d++) {
    for (int t = 0; t < 2; t++) {
      PetscCall(PetscFree(c->pre[t][d].v));
      PetscCall(PetscFree(c->post[t][d].v));
    }
    PetscCall(PetscFree3(c->lower[d], c->diag[d], c->upper[d]));
  }
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
