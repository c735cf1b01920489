/*
  Batches of lines that tests of one rank have in common (tri.c, tridevice.c): kinds of
  coefficients, layouts, ends; the backward error of a line
*/
#pragma once

#include "../../src/tridiagonal/triimpl.h"
#include "tests/check.h"
#include <math.h>

static double number(void)
{
  return 2 * TestUniform() - 1;
}

typedef enum {
  KIND_DOMINANT, /* interior dominant, end rows anything dominant */
  KIND_TWO,      /* -1, 2, -1 */
  KIND_NEARTWO,  /* 2 + 1e-7 */
  KIND_SKEW,     /* couplings of unequal size and sign */
  KIND_COMPACT,  /* Pade: 1/4, 1, 1/4 with end rows 1, 2 (not dominant there) */
  KIND_ONESIDED, /* low = 0 or up = 0 */
  KIND_WEAK      /* d = 1.9: not dominant, LAPACK pivots */
} Kind;
static const char *const kinds[] = {"dominant", "two", "neartwo", "skew", "compact", "onesided", "weak"};
static const char *const methodnames[] = {"auto", "scan", "cr", "pscheme", "dc", "thomas"};

typedef struct {
  PetscInt inner, n, outer, rep;
  Kind kind;
  int general, perline, periodic, edges;
} Shape;

static BCRTriRows *rows;
static PetscReal *low, *diag, *up;

static void fill(Kind kind, PetscReal c[3])
{
  const double s = 1 + 0.5 * number();

  switch (kind) {
  case KIND_DOMINANT:
    c[0] = c[2] = (PetscReal)-s;
    c[1] = (PetscReal)(s * (2.05 + fabs(number())));
    break;
  case KIND_TWO:
    c[0] = c[2] = -1;
    c[1] = 2;
    break;
  case KIND_NEARTWO:
    c[0] = c[2] = -1;
    c[1] = (PetscReal)(2 + 1e-7);
    break;
  case KIND_SKEW:
    c[0] = (PetscReal)number();
    c[2] = (PetscReal)number();
    c[1] = (PetscReal)((fabs(c[0]) + fabs(c[2])) * 1.1 + 0.1) * (number() < 0 ? -1 : 1);
    break;
  case KIND_COMPACT:
    c[0] = c[2] = (PetscReal)0.25;
    c[1] = 1;
    break;
  case KIND_ONESIDED:
    c[0] = number() < 0 ? 0 : (PetscReal)number();
    c[2] = c[0] == 0 ? (PetscReal)number() : 0;
    c[1] = (PetscReal)1.5;
    break;
  case KIND_WEAK:
    c[0] = c[2] = -1;
    c[1] = (PetscReal)1.9;
    break;
  }
}

/* Its lines go with unmake() */
static PetscErrorCode make(const Shape *c, BCRTriSpec *spec)
{
  const PetscInt lines = c->perline ? c->inner / c->rep * c->outer : 1;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(spec, sizeof(*spec)));
  spec->inner = c->inner;
  spec->n = c->n;
  spec->outer = c->outer;
  spec->rep = c->rep;
  spec->periodic = (PetscBool)c->periodic;
  spec->perline = (PetscBool)c->perline;
  if (c->general) {
    const size_t total = (size_t)lines * c->n;

    PetscCall(PetscMalloc3(total, &low, total, &diag, total, &up));
    for (size_t i = 0; i < total; i++) {
      PetscReal r[3];

      fill(c->kind, r);
      low[i] = r[0];
      diag[i] = r[1];
      up[i] = r[2];
    }
    spec->low = low;
    spec->diag = diag;
    spec->up = up;
  } else {
    spec->nfirst = PetscMin(c->edges, c->n / 2);
    spec->nlast = PetscMin(c->edges, c->n - spec->nfirst);
    PetscCall(PetscMalloc1(lines, &rows));
    for (PetscInt l = 0; l < lines; l++) {
      fill(c->kind, rows[l].row);
      for (int k = 0; k < BCR_TRI_EDGE; k++) {
        fill(c->kind == KIND_COMPACT ? KIND_COMPACT : KIND_DOMINANT, rows[l].first[k]);
        fill(c->kind == KIND_COMPACT ? KIND_COMPACT : KIND_DOMINANT, rows[l].last[k]);
      }
      if (c->kind == KIND_COMPACT && !c->periodic && c->n > 4) {
        rows[l].first[0][2] = 2;
        rows[l].last[PetscMax(spec->nlast, 1) - 1][0] = 2;
      }
    }
    spec->rows = rows;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode unmake(const Shape *c)
{
  PetscFunctionBegin;
  if (c->general) PetscCall(PetscFree3(low, diag, up));
  else PetscCall(PetscFree(rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* max|f - A u| / (||A|| max|u| + max|f|) of a line, in long double where the machine has it */
static double backward(const BCRTriSpec *spec, PetscInt line, const PetscReal *f, const PetscReal *u)
{
  const PetscInt n = spec->n;
  double row[3], nr = 0, nu = 0, nf = 0, na = 0;

  for (PetscInt j = 0; j < n; j++) {
    long double r = f[j];

    BCRTriGetRow(spec, line, j, row);
    r -= (long double)row[0] * u[(j + n - 1) % n] + (long double)row[1] * u[j] + (long double)row[2] * u[(j + 1) % n];
    TestLargest(&nr, fabs((double)r));
    nu = PetscMax(nu, fabs((double)u[j]));
    nf = PetscMax(nf, fabs((double)f[j]));
    na = PetscMax(na, fabs(row[0]) + fabs(row[1]) + fabs(row[2]));
  }
  return nr / (na * nu + nf);
}
