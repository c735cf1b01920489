/*
  Matrices of boxes with something in them, as programs assemble them on a DMDA: for tests and benches of rows that differ.
*/
#pragma once

#include <math.h>
#include "rows.h"
#include <string.h>

typedef enum {
  NONE,
  NEUMANN_MASK, /* links to the mask are gone, with what they have on the diagonal */
  KEPT,         /* identity rows in the mask; its columns stay */
  ZEROED,       /* its columns are zeroed, the diagonals stay */
  MATERIAL,     /* faces have harmonic means */
  WELLS,        /* more on some diagonals */
  PINNED        /* one identity row, its column kept */
} What;

typedef enum {
  DISC,
  COAST,
  ROUGH, /* a coast with islands */
  TWELVE,
  RING /* a wall around a pond */
} Shape;

typedef struct {
  PetscInt dim, n;
  What what;
  Shape shape;
  double jump;      /* of materials; the value of identity rows */
  PetscBool closed; /* all walls without flux, else Dirichlet */
  PetscInt most;    /* solves of the box to rounding, at most, for the first right-hand side */
} Case;

static PetscBool Inside(const Case *c, const PetscInt ix[3])
{
  double x[3], r2 = 0;

  for (int d = 0; d < 3; d++) {
    x[d] = d < c->dim ? (ix[d] + .5) / (double)c->n : .5;
    r2 += (x[d] - (d == 0 ? .45 : .5)) * (x[d] - (d == 0 ? .45 : .5));
  }
  if (c->shape == RING) return r2 < .3 * .3 && r2 > .2 * .2 ? PETSC_TRUE : PETSC_FALSE;
  if (c->shape == DISC) return r2 < .2 * .2 ? PETSC_TRUE : PETSC_FALSE;
  if (c->shape == COAST) return x[1] < .25 + .1 * sin(6.3 * x[0]) ? PETSC_TRUE : PETSC_FALSE;
  if (c->shape == ROUGH) {
    if (x[1] < .3 + .1 * sin(6.3 * x[0]) + .05 * sin(19 * x[0] + 1) + .03 * sin(57 * x[0])) return PETSC_TRUE;
    return sin(25 * x[0] + 2) * sin(23 * x[1] + 1) > .8 && x[1] > .5 ? PETSC_TRUE : PETSC_FALSE;
  }
  for (int k = 0; k < 12; k++) {
    const double cx = .13 + .245 * (k % 4), cy = .2 + .3 * (k / 4);

    if ((x[0] - cx) * (x[0] - cx) + (x[1] - cy) * (x[1] - cy) < .06 * .06) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

/* The row of a node: columns and values */
static void Row(const void *ctx, const PetscInt N[3], const PetscInt ix[3], MatStencil cols[7], PetscScalar v[7],
                PetscInt *m)
{
  const Case *c = (const Case *)ctx;
  const PetscBool mask = c->what >= NEUMANN_MASK && c->what <= ZEROED, in = Inside(c, ix);
  const double a = 1;
  double diag = 0;

  *m = 1;
  memset(cols, 0, 7 * sizeof(MatStencil));
  for (int d = 0; d < c->dim; d++) {
    for (int s = -1; s <= 1; s += 2) {
      PetscInt jx[3] = {ix[0], ix[1], ix[2]};
      double link = a;

      jx[d] += s;
      if (jx[d] < 0 || jx[d] >= N[d]) {
        diag += c->closed ? 0 : a;
        continue;
      }
      if (c->what == MATERIAL) {
        const double k = in ? c->jump : 1, l = Inside(c, jx) ? c->jump : 1;

        link = 2 * k * l / (k + l) * a;
      }
      if (mask && Inside(c, jx) && c->what == NEUMANN_MASK) continue;
      diag += link;
      if (mask && Inside(c, jx) && c->what == ZEROED) continue;
      cols[*m].i = jx[0];
      cols[*m].j = jx[1];
      cols[*m].k = jx[2];
      v[(*m)++] = -link;
    }
  }
  cols[0].i = ix[0];
  cols[0].j = ix[1];
  cols[0].k = ix[2];
  if (c->what == WELLS)
    for (int k = 0; k < 5; k++)
      if (ix[0] == (k + 1) * N[0] / 7 && ix[1] == (3 * k + 2) % 7 * N[1] / 7 && ix[2] == N[2] / 2)
        diag += 10. * (k + 1);
  v[0] = diag;
  if (c->what == PINNED && ix[0] == N[0] / 3 && ix[1] == N[1] / 2 && ix[2] == N[2] / 2) {
    *m = 1;
    v[0] = c->jump;
  }
  if (mask && in) {
    *m = 1;
    v[0] = c->jump;
  }
}

/* Its matrix, and vectors */
PETSC_UNUSED static PetscErrorCode Grid(const Case *c, PetscBool device, DM *da, Mat *A, Vec *x, Vec *b)
{
  const PetscInt N[3] = {c->n, c->n, c->dim > 2 ? c->n : 1};

  PetscFunctionBegin;
  PetscCall(TestRowsCreate(c->dim, N, PETSC_DECIDE, device, Row, c, da, A));
  PetscCall(MatCreateVecs(*A, x, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A is singular: a closed box in which nothing holds the solution */
PETSC_UNUSED static PetscBool Singular(const Case *c)
{
  return (c->closed || c->shape == RING) && (c->what == NEUMANN_MASK || c->what == MATERIAL) ? PETSC_TRUE : PETSC_FALSE;
}
