/*
  What stays of the operator that was read last time.
*/
#include "readimpl.h"

/* Numbers that differ by no more than this, relatively, are the same to rounding */
#define BCR_KEEP_TOL (16 * BCR_EPS)

static PetscBool BCRKeepNear(PetscReal old, PetscReal now, double size)
{
  return (PetscBool) !(PetscAbsReal(now - old) > BCR_KEEP_TOL * size);
}

/* rest: the diagonal of a row of the matrix less that of a general axis, which is what is left of it
   and no better known */
static PetscBool BCRKeepAxis(const BCRAxis *o, const BCRAxis *n, double rest)
{
  if (o->n != n->n || o->end[0] != n->end[0] || o->end[1] != n->end[1] || !o->lower != !n->lower ||
      !o->weight != !n->weight || !o->times != !n->times || !o->imag != !n->imag ||
      !BCRKeepNear(o->a, n->a, PetscAbsReal(o->a)))
    return PETSC_FALSE;
  for (PetscInt s = 0; s < 2; s++) {
    const BCRPlane *p = &o->plane[s], *q = &n->plane[s];

    if (p->present != q->present || p->couple != q->couple ||
        !BCRKeepNear(p->slope, q->slope, PetscMax(1, PetscAbsReal(p->slope))))
      return PETSC_FALSE;
  }
  for (PetscInt i = 0; i < n->n; i++) {
    if (n->lower &&
        (!BCRKeepNear(o->lower[i], n->lower[i], o->lower[i]) || !BCRKeepNear(o->upper[i], n->upper[i], o->upper[i]) ||
         !BCRKeepNear(o->diag[i], n->diag[i], PetscAbsReal(o->diag[i]) + rest)))
      return PETSC_FALSE;
    if (n->weight && !BCRKeepNear(o->weight[i], n->weight[i], o->weight[i])) return PETSC_FALSE;
    if (n->times && !BCRKeepNear(o->times[i], n->times[i], o->times[i])) return PETSC_FALSE;
    if (n->imag && !BCRKeepNear(o->imag[i], n->imag[i], PetscAbsReal(o->imag[i]) + rest)) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

PetscErrorCode BCROperatorKeep(const BCROperator *old, BCROperator *op, PetscBool *same)
{
  double rest = PetscAbsReal(old->shift);

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++) rest += 2 * (double)old->axis[d].a;
  *same = (PetscBool)(old->dim == op->dim && old->singular == op->singular && old->waves == op->waves &&
                      old->tau == op->tau && old->left == op->left && BCROperatorScaled(old) == BCROperatorScaled(op) &&
                      old->product == op->product);
  for (PetscInt m = 0; m < 8 && *same; m++) *same = BCRKeepNear(old->mixed[m], op->mixed[m], 1);
  for (PetscInt d = 0; d < 3 && *same; d++) {
    double others = rest;

    for (PetscInt e = 0; e < 3; e++)
      others += e != d && old->axis[e].lower ? (double)PetscAbsReal(BCRAxisLeast(&old->axis[e])) : 0;
    *same = BCRKeepAxis(&old->axis[d], &op->axis[d], others);
  }
  for (PetscInt d = 0; d < 3 && *same; d++) {
    const BCRAxis *o = &old->axis[d];
    BCRAxis *n = &op->axis[d];

    for (PetscInt s = 0; s < 2; s++) {
      n->plane[s].slope = o->plane[s].slope;
      if (BCRKeepNear(o->plane[s].coupling, n->plane[s].coupling, o->plane[s].coupling))
        n->plane[s].coupling = o->plane[s].coupling;
    }
    n->a = o->a;
    if (op->product) PetscCall(PetscArraycpy(op->mixed, old->mixed, 8));
    if (n->lower) {
      PetscCall(PetscArraycpy(n->lower, o->lower, n->n));
      PetscCall(PetscArraycpy(n->diag, o->diag, n->n));
      PetscCall(PetscArraycpy(n->upper, o->upper, n->n));
    }
    if (n->weight) PetscCall(PetscArraycpy(n->weight, o->weight, n->n));
    if (n->times) PetscCall(PetscArraycpy(n->times, o->times, n->n));
    if (n->imag) PetscCall(PetscArraycpy(n->imag, o->imag, n->n));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
