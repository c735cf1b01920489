/*
  Problems (tests/unit/problem.h) in slabs on several ranks, for tests of solvers.
*/
#pragma once

#include "../unit/problem.h"

static PetscMPIInt rank, size;

/* Rows start[q] .. start[q + 1] - 1 for rank q */
static void Cut(PetscInt N, int how, PetscInt start[])
{
  start[0] = 0;
  for (int q = 0; q < size; q++) {
    const PetscInt left = N - start[q];
    PetscInt len = 0;

    switch (how) {
    case 0: /* as DMDA does */
      len = N / size + (q < N % size ? 1 : 0);
      break;
    case 1: /* single rows first */
      len = PetscMin(left, 1);
      break;
    case 2: /* single rows last */
      len = PetscMax(0, left - (size - 1 - q));
      if (q < size - 1 && len > left) len = left;
      break;
    default: /* any, with empty ranks */
      len = Pick(3) ? Pick((int)(2 * left / (size - q)) + 2) : Pick(2);
      len = PetscMin(len, left);
    }
    start[q + 1] = q == size - 1 ? N : start[q] + len;
  }
}

/* The part of a field of node values on a box of extents e that has rows first .. first + len - 1 along axis d */
static PetscReal *Part(const PetscReal *v, const PetscInt e[], int d, PetscInt first, PetscInt len)
{
  PetscReal *w;
  PetscInt n = 0, c[3];

  if (!v) return NULL;
  w = malloc(sizeof(PetscReal) * (size_t)(e[0] * e[1] * e[2] / PetscMax(1, e[d]) * len + 1));
  for (c[2] = d == 2 ? first : 0; c[2] < (d == 2 ? first + len : e[2]); c[2]++) {
    for (c[1] = d == 1 ? first : 0; c[1] < (d == 1 ? first + len : e[1]); c[1]++) {
      for (c[0] = d == 0 ? first : 0; c[0] < (d == 0 ? first + len : e[0]); c[0]++)
        w[n++] = v[c[0] + e[0] * (c[1] + e[1] * c[2])];
    }
  }
  return w;
}

/* The operator with the node values of this rank's slab */
static void OperatorPart(const Problem *p, int axis, PetscInt start, PetscInt len, BCROperator *op)
{
  const PetscInt low = p->line[axis].low, first = PetscMax(start, low), last = PetscMin(start + len, low + p->n[axis]);

  *op = p->op;
  op->rowscale = Part(p->op.rowscale, p->n, axis, first - low, PetscMax(0, last - first));
  for (int d = 0; d < 3; d++) {
    for (int s = 0; s < 2; s++) {
      BCRPlane *plane = &op->axis[d].plane[s];
      PetscInt e[3] = {p->N[0], p->N[1], p->N[2]};
      const PetscBool here = d != axis || (s ? start + len == p->N[d] : start == 0) ? PETSC_TRUE : PETSC_FALSE;

      e[d] = 1;
      plane->inv = here && len ? Part(plane->inv, e, axis, d == axis ? 0 : start, d == axis ? 1 : len) : NULL;
      if (plane->inv) {
        PetscInt q = 0, nodes = e[0] * e[1] * e[2] / (d == axis ? 1 : PetscMax(1, e[axis])) * (d == axis ? 1 : len);

        while (q < nodes && plane->inv[q] == plane->inv0) q++;
        if (q == nodes) {
          free(plane->inv);
          plane->inv = NULL;
        }
      }
      plane->couplings =
        here && len ? Part(plane->couplings, e, axis, d == axis ? 0 : start, d == axis ? 1 : len) : NULL;
    }
  }
}
static void OperatorPartFree(BCROperator *op)
{
  free(op->rowscale);
  for (int d = 0; d < 3; d++) {
    for (int s = 0; s < 2; s++) {
      free(op->axis[d].plane[s].inv);
      free(op->axis[d].plane[s].couplings);
    }
  }
}

/* from the slab to the whole (put) or the other way; ranks' parts are summed up elsewhere */
static void Copy(const PetscInt N[], PetscInt dof, int axis, PetscInt start, PetscInt len, PetscBool put,
                 PetscScalar *whole, PetscScalar *part)
{
  PetscInt n = 0, c[3];

  for (c[2] = axis == 2 ? start : 0; c[2] < (axis == 2 ? start + len : N[2]); c[2]++) {
    for (c[1] = axis == 1 ? start : 0; c[1] < (axis == 1 ? start + len : N[1]); c[1]++) {
      for (c[0] = axis == 0 ? start : 0; c[0] < (axis == 0 ? start + len : N[0]); c[0]++) {
        for (PetscInt m = 0; m < dof; m++, n++) {
          PetscScalar *w = whole + m + dof * (c[0] + N[0] * (c[1] + N[1] * c[2]));

          if (put) *w = part[n];
          else part[n] = *w;
        }
      }
    }
  }
}
