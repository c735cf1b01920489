#include "directions.h"
#include "../base/agree.h"
#include <petscblaslapack.h>

/* Of one solve, beyond those that are kept */
#define BCR_DIRECTIONS_MORE 128
/* A direction that K makes smaller than this, times |K|, is one that a singular K takes to zero, and rounding: solutions would
   have any amount of it */
#define BCR_DIRECTIONS_ZERO ((PetscReal)1e-6)
/* What is left is rounding's, in units of the tolerance, where nothing leads on */
#define BCR_DIRECTIONS_ENOUGH 100
/* Of a product, what has to be left of it behind the known directions */
#define BCR_DIRECTIONS_PART ((PetscReal)0.01)

PetscErrorCode BCRDirectionsCreate(MPI_Comm comm, PetscInt n, PetscInt most, BCRDirections *d)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(d, sizeof(*d)));
  d->comm = comm;
  d->n = n;
  d->most = most;
  PetscCall(BCRFaultShare(comm, PetscMalloc1(most + BCR_DIRECTIONS_MORE + 3, &d->dots), BCR_NO_MEMORY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDirectionsDestroy(BCRDirections *d)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(d->p));
  PetscCall(PetscFree(d->q));
  PetscCall(PetscFree(d->dots));
  d->k = d->room = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode larger(PetscInt known, size_t room, PetscInt n, PetscScalar **v)
{
  PetscScalar *more;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(PetscMax(room * (size_t)n, 1), &more));
  PetscCall(PetscArraycpy(more, *v, (size_t)known * (size_t)n));
  PetscCall(PetscFree(*v));
  *v = more;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Memory for one more direction; a solve that needs too many goes on without those that are its own */
static PetscErrorCode make_room(BCRDirections *d)
{
  PetscErrorCode ierr;
  PetscInt room;

  PetscFunctionBegin;
  if (d->k == d->most + BCR_DIRECTIONS_MORE) d->k = d->most;
  if (d->k < d->room) PetscFunctionReturn(PETSC_SUCCESS);
  room = PetscMin(d->most + BCR_DIRECTIONS_MORE, PetscMax(32, 2 * d->room));
  ierr = larger(d->k, (size_t)room, d->n, &d->p);
  if (!ierr) ierr = larger(d->k, (size_t)room, d->n, &d->q);
  PetscCall(BCRFaultShare(d->comm, ierr, BCR_NO_MEMORY));
  d->room = room;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode sum(const BCRDirections *d, PetscInt n, PetscScalar v[])
{
  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, v, (PetscMPIInt)n, MPIU_SCALAR, MPIU_SUM, d->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = alpha B x + beta y, or with the conjugate transpose of B: [k][n], of which the rows are the vectors */
static void times(const BCRDirections *d, PetscBool dots, const PetscScalar *B, PetscScalar alpha, const PetscScalar *x,
                  PetscScalar beta, PetscScalar *y)
{
  const PetscBLASInt n = (PetscBLASInt)d->n, k = (PetscBLASInt)d->k, one = 1, ld = n > 0 ? n : 1;

  if (n == 0 || k == 0) {
    for (PetscInt i = 0; dots && i < d->k; i++) y[i] *= beta;
    return;
  }
  BLASgemv_(dots ? "C" : "N", &n, &k, &alpha, B, &ld, x, &one, &beta, y, &one);
}

static PetscScalar dot(PetscInt n, const PetscScalar *x, const PetscScalar *y)
{
  PetscScalar s = 0;

  for (PetscInt i = 0; i < n; i++) s += PetscConj(x[i]) * y[i];
  return s;
}

/* w = what the known directions have of b, which keeps the rest */
static PetscErrorCode project(BCRDirections *d, PetscScalar *b, PetscScalar *w)
{
  PetscFunctionBegin;
  PetscCall(PetscArrayzero(w, d->n));
  for (int pass = 0; pass < 2 && d->k; pass++) { /* twice: the first leaves rounding of all of b */
    times(d, PETSC_TRUE, d->q, 1, b, 0, d->dots);
    PetscCall(sum(d, d->k, d->dots));
    times(d, PETSC_FALSE, d->q, -1, d->dots, 1, b);
    times(d, PETSC_FALSE, d->p, 1, d->dots, 1, w);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* q and p, behind the known directions, are made orthogonal to those (q), again where little is left of it. *part: of |q|
   that is left, 0: nothing. It sees what K does to p, for the size of K */
static PetscErrorCode orthogonal(BCRDirections *d, PetscScalar *p, PetscScalar *q, PetscReal *part)
{
  PetscReal whole = 0, before, after;

  PetscFunctionBegin;
  *part = 0;
  for (int pass = 0; pass < 3; pass++) {
    times(d, PETSC_TRUE, d->q, 1, q, 0, d->dots);
    d->dots[d->k] = dot(d->n, q, q);
    d->dots[d->k + 1] = dot(d->n, p, p);
    PetscCall(sum(d, d->k + 2, d->dots));
    before = after = PetscRealPart(d->dots[d->k]);
    if (pass == 0) {
      whole = before;
      d->size = PetscMax(d->size, before / PetscRealPart(d->dots[d->k + 1]));
    }
    for (PetscInt i = 0; i < d->k; i++) after -= PetscRealPart(d->dots[i] * PetscConj(d->dots[i]));
    times(d, PETSC_FALSE, d->q, -1, d->dots, 1, q);
    times(d, PETSC_FALSE, d->p, -1, d->dots, 1, p);
    if (after > 0.25 * before) {
      *part = PetscSqrtReal(after / whole);
      break;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the next direction comes from: the next one of these where what a source gives does not lead on, as when the
   residual is a combination of directions (K of which it is orthogonal to). Any vector will do, in the end */
typedef enum {
  BCR_FROM_RESIDUAL,
  BCR_FROM_PRODUCT, /* the last one */
  BCR_FROM_NOWHERE
} BCRSource;

static void choose(const BCRDirections *d, BCRSource source, const PetscScalar *b, PetscScalar *p)
{
  const PetscScalar *last = d->k ? d->q + (size_t)(d->k - 1) * (size_t)d->n : b;
  uint32_t state = 2463534242u + 7919u * (uint32_t)d->k; /* numbers without a pattern, the same each time */

  for (PetscInt i = 0; i < d->n; i++) {
    state = state * 1664525u + 1013904223u;
    p[i] = source == BCR_FROM_RESIDUAL ? b[i] : (source == BCR_FROM_PRODUCT ? last[i] : state / 4294967296. - .5);
  }
}

/* One more direction, behind the known ones, from source. Where little of its product is left, q = K p has lost digits, and is
   computed again. s[0] = |q|^2, s[1] = q^H b; *kept: it is one */
static PetscErrorCode direction(BCRDirections *d, BCRDirectionsProduct product, void *context, BCRSource source,
                                const PetscScalar *b, PetscScalar s[3], PetscInt *products, PetscBool *kept)
{
  PetscScalar *p = d->p + (size_t)d->k * (size_t)d->n, *q = d->q + (size_t)d->k * (size_t)d->n;
  PetscReal part = 0;

  PetscFunctionBegin;
  choose(d, source, b, p);
  for (int again = 0; again < 2; again++) {
    PetscCall((*product)(context, p, q));
    ++*products;
    PetscCall(orthogonal(d, p, q, &part));
    s[0] = dot(d->n, q, q);
    s[1] = dot(d->n, q, b);
    s[2] = dot(d->n, p, p);
    PetscCall(sum(d, 3, s));
    if (part >= BCR_DIRECTIONS_PART || !(part > PetscSqrtReal(PETSC_MACHINE_EPSILON))) break;
    for (PetscInt i = 0; i < d->n; i++) p[i] /= PetscSqrtReal(PetscRealPart(s[2]));
  }
  /* nothing new, or rounding of what K takes to zero, or NaN */
  *kept = (PetscBool)(part >= BCR_DIRECTIONS_PART &&
                      PetscRealPart(s[0]) > PetscSqr(BCR_DIRECTIONS_ZERO) * d->size * PetscRealPart(s[2]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDirectionsSolve(BCRDirections *d, BCRDirectionsProduct product, void *context, PetscReal tol,
                                  PetscInt steps, PetscScalar *b, PetscScalar *w, BCRDirectionsResult *result)
{
  PetscReal norm;
  BCRSource source = BCR_FROM_RESIDUAL;

  PetscFunctionBegin;
  result->products = 0;
  PetscCall(project(d, b, w));
  while (PETSC_TRUE) {
    const PetscInt n = d->n;
    PetscScalar *p, *q, s[3] = {dot(n, b, b), 0, 0};
    PetscBool kept = PETSC_FALSE;

    PetscCall(sum(d, 1, s));
    result->residual = norm = PetscSqrtReal(PetscRealPart(s[0]));
    result->reached = (PetscBool)(norm <= tol);
    if (result->reached || result->products >= steps || PetscIsInfOrNanReal(norm)) break;
    PetscCall(make_room(d));
    p = d->p + (size_t)d->k * (size_t)n;
    q = d->q + (size_t)d->k * (size_t)n;
    PetscCall(direction(d, product, context, source, b, s, &result->products, &kept));
    if (!kept) {
      if (source == BCR_FROM_NOWHERE || norm <= BCR_DIRECTIONS_ENOUGH * tol || PetscIsInfOrNanScalar(s[0])) break;
      source = (BCRSource)(source + 1);
      continue;
    }
    s[2] = 1 / PetscSqrtReal(PetscRealPart(s[0]));
    for (PetscInt i = 0; i < n; i++) {
      p[i] *= s[2];
      q[i] *= s[2];
    }
    s[1] *= s[2];
    for (PetscInt i = 0; i < n; i++) {
      w[i] += s[1] * p[i];
      b[i] -= s[1] * q[i];
    }
    d->k++;
    source = PetscAbsScalar(s[1]) < 0.01 * norm ? BCR_FROM_PRODUCT : BCR_FROM_RESIDUAL;
    if (source == BCR_FROM_PRODUCT && norm <= BCR_DIRECTIONS_ENOUGH * tol) break;
  }
  d->k = PetscMin(d->k, d->most);
  PetscFunctionReturn(PETSC_SUCCESS);
}
