#include "directions.h"
#include "../base/agree.h"

/* Of one solve, beyond those that are kept */
#define BCR_DIRECTIONS_MORE 128
/* A direction that K makes smaller than this, times |K|, is one that a singular K takes to zero, and rounding: solutions would
   have any amount of it */
#define BCR_DIRECTIONS_ZERO ((PetscReal)1e-6)
/* Where it makes one longer than all others, it is their size that counts, as far as there are digits left */
#define BCR_DIRECTIONS_STRETCH ((PetscReal)(sizeof(PetscReal) < 8 ? 10 : 1e6))
/* What is left is rounding's, in units of the tolerance, where nothing leads on */
#define BCR_DIRECTIONS_ENOUGH 100
/* Of a product, what has to be left of it behind the known directions */
#define BCR_DIRECTIONS_PART ((PetscReal)0.01)
/* What is subtracted leaves rounding of all that there was: it is done again where less than this is left */
#define BCR_DIRECTIONS_AGAIN ((PetscReal)0.5)
/* Directions of a solve are kept as long as rounding grows by no more than this where all of them at once are made orthogonal to
   those that they have not met: else solutions of all directions would be inexact, and take one or two fields more */
#define BCR_DIRECTIONS_GROWN ((PetscReal)3)
/* Of the steps that are expected, those that are launched at once */
#define BCR_DIRECTIONS_AHEAD ((PetscReal)0.75)
/* Those that are expected at first, over those of the solve before */
#define BCR_DIRECTIONS_USUAL ((PetscReal)1.15)
/* Numbers of a step beside the products with directions: |q|^2, q^H b, |z|^2, |b|^2 */
#define BCR_DIRECTIONS_NUMBERS 4

PetscErrorCode BCRDirectionsCreate(BCRNumbers *c, PetscInt n, PetscInt shared, const PetscScalar *R, PetscInt most,
                                   PetscInt few, PetscBool all, PetscReal stretch, BCRDirections *d)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(d, sizeof(*d)));
  d->c = c;
  d->n = n;
  d->shared = shared;
  d->R = R;
  d->most = most;
  d->few = few;
  d->all = all;
  d->zero = BCR_DIRECTIONS_ZERO / PetscMin(stretch, BCR_DIRECTIONS_STRETCH);
  ierr = BCRNumbersAlloc(c, n, "directions", &d->newz.v);
  if (!ierr) ierr = BCRNumbersAlloc(c, n, "directions", &d->newq.v);
  if (!ierr) ierr = PetscCalloc2(shared, &d->newz.shared, shared, &d->newq.shared);
  PetscCall(BCRFaultShare(c->comm, ierr, BCR_NO_MEMORY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDirectionsDestroy(BCRDirections *d)
{
  PetscFunctionBegin;
  if (!d->c) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(d->c->be->free(d->z));
  PetscCall(d->c->be->free(d->q));
  PetscCall(d->c->be->free(d->newz.v));
  PetscCall(d->c->be->free(d->newq.v));
  PetscCall(PetscFree2(d->newz.shared, d->newq.shared));
  PetscCall(PetscFree2(d->zs, d->qs));
  PetscCall(PetscFree(d->t));
  PetscCall(PetscFree3(d->y, d->x, d->sums));
  PetscCall(PetscMemzero(d, sizeof(*d)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void BCRDirectionsForget(BCRDirections *d)
{
  d->k = d->lead = 0;
}

/* -------- memory -------- */

static inline BCRFew direction_z(const BCRDirections *d, PetscInt j)
{
  return (BCRFew){d->z + (size_t)j * (size_t)d->n, d->zs + j * d->shared};
}

static inline BCRFew direction_q(const BCRDirections *d, PetscInt j)
{
  return (BCRFew){d->q + (size_t)j * (size_t)d->n, d->qs + j * d->shared};
}

static inline size_t column_start(PetscInt j)
{
  return (size_t)j * (size_t)(j + 1) / 2;
}

static inline PetscScalar *column(const BCRDirections *d, PetscInt j)
{
  return d->t + column_start(j);
}

static PetscErrorCode larger(BCRDirections *d, PetscInt room, PetscScalar **v)
{
  PetscScalar *more = NULL;

  PetscFunctionBegin;
  PetscCall(d->c->be->alloc(PetscMax((size_t)room * (size_t)d->n, 1) * sizeof(PetscScalar), "directions", &more));
  PetscCall(d->c->ops->copy(d->c, d->k * d->n, *v, more));
  PetscCall(d->c->be->free(*v));
  *v = more;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode enlarge(BCRDirections *d, PetscInt room)
{
  PetscScalar *y, *x, *sums, *zs, *qs, *t;

  PetscFunctionBegin;
  PetscCall(larger(d, room, &d->z));
  PetscCall(larger(d, room, &d->q));
  PetscCall(PetscMalloc2(room * d->shared, &zs, room * d->shared, &qs));
  PetscCall(PetscArraycpy(zs, d->zs, d->k * d->shared));
  PetscCall(PetscArraycpy(qs, d->qs, d->k * d->shared));
  PetscCall(PetscFree2(d->zs, d->qs));
  d->zs = zs;
  d->qs = qs;
  PetscCall(PetscMalloc1(column_start(room), &t));
  PetscCall(PetscArraycpy(t, d->t, column_start(d->k)));
  PetscCall(PetscFree(d->t));
  d->t = t;
  PetscCall(PetscMalloc3(room, &y, room, &x, 2 * room + BCR_DIRECTIONS_NUMBERS + d->shared, &sums));
  PetscCall(PetscArraycpy(y, d->y, d->k));
  PetscCall(PetscFree3(d->y, d->x, d->sums));
  d->y = y;
  d->x = x;
  d->sums = sums;
  d->room = room;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Memory for one more direction */
static PetscErrorCode make_room(BCRDirections *d)
{
  PetscFunctionBegin;
  if (d->k < d->room) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRFaultShare(d->c->comm, enlarge(d, PetscMin(d->most + BCR_DIRECTIONS_MORE, PetscMax(32, 2 * d->room))),
                          BCR_NO_MEMORY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -------- vectors -------- */

/* By 4 sums, which do not wait for each other */
static PetscScalar dot(PetscInt n, const PetscScalar *x, const PetscScalar *y)
{
  PetscScalar s[4] = {0, 0, 0, 0};
  PetscInt i = 0;

  for (; i + 4 <= n; i += 4)
    for (int k = 0; k < 4; k++) s[k] += PetscConj(x[i + k]) * y[i + k];
  for (; i < n; i++) s[0] += PetscConj(x[i]) * y[i];
  return (s[0] + s[1]) + (s[2] + s[3]);
}

/* What the shared numbers add to a sum of products */
static PetscScalar shared(const BCRDirections *d, const BCRFew *x, const BCRFew *y)
{
  return dot(d->shared, x->shared, y->shared);
}

/* Y[m] += alpha X[k] c[k][m]. Shared numbers are to be the same on all ranks to the last digit, as it depends on them who takes
   part in what: BLAS, whose order of additions depends on where a number stands, has this rank's own */
static PetscErrorCode combine(const BCRDirections *d, PetscInt k, const BCRFew *X, PetscInt m, PetscReal alpha,
                              const PetscScalar *c, const BCRFew *Y)
{
  const BCRBlock block = {k, X->v, NULL, 0};

  PetscFunctionBegin;
  PetscCall(d->c->ops->combine(d->c, d->n, 1, &block, m, alpha, c, Y->v));
  for (PetscInt l = 0; l < m && d->shared; l++)
    for (PetscInt j = 0; j < k; j++)
      for (PetscInt i = 0; i < d->shared; i++)
        Y->shared[l * d->shared + i] += alpha * X->shared[j * d->shared + i] * c[l * k + j];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = x times / over */
static PetscErrorCode scale(const BCRDirections *d, PetscReal times, PetscReal over, const BCRFew *x, const BCRFew *y)
{
  PetscFunctionBegin;
  PetscCall(d->c->ops->scale(d->c, d->n, times, over, x->v, y->v));
  for (PetscInt i = 0; i < d->shared; i++) y->shared[i] = x->shared[i] * times / over;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode copy(const BCRDirections *d, const BCRFew *x, const BCRFew *y)
{
  PetscFunctionBegin;
  PetscCall(d->c->ops->copy(d->c, d->n, x->v, y->v));
  PetscCall(PetscArraycpy(y->shared, x->shared, d->shared));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode zero(const BCRDirections *d, const BCRFew *x)
{
  PetscFunctionBegin;
  PetscCall(d->c->ops->set(d->c, d->n, 0, x->v));
  PetscCall(PetscArrayzero(x->shared, d->shared));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products of the blocks, of this rank's own numbers without the shared ones, summed over all ranks. Collective */
static PetscErrorCode products_of(const BCRDirections *d, PetscInt nblocks, const BCRBlock blocks[], PetscScalar *s)
{
  PetscInt n = 0;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < nblocks; l++) n += blocks[l].k * PetscMax(blocks[l].m, 1);
  PetscCall(d->c->ops->dots(d->c, d->n, nblocks, blocks, s));
  PetscCall(BCRNumbersSum(d->c, n, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* |b|. Collective */
static PetscErrorCode norm_of(const BCRDirections *d, const BCRFew *b, PetscReal *norm)
{
  const BCRBlock block = {1, b->v, b->v, 0};
  PetscScalar s;

  PetscFunctionBegin;
  PetscCall(products_of(d, 1, &block, &s));
  *norm = PetscSqrtReal(PetscRealPart(s + shared(d, b, b)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -------- the known directions -------- */

/* y = what the known directions have of b, which keeps the rest; *norm: of b, becomes that of the rest. Collective */
static PetscErrorCode project(BCRDirections *d, const BCRFew *b, PetscReal *norm)
{
  const BCRFew Q = direction_q(d, 0);
  PetscReal left = 0, whole = 0;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < d->k; j++) d->y[j] = 0;
  for (int pass = 0; pass < 2 && d->k; pass++) {
    const BCRBlock blocks[] = {
      {d->k, Q.v,  b->v, 0},
      {1,    b->v, b->v, 0}
    };
    PetscScalar *c = d->sums;

    PetscCall(products_of(d, 2, blocks, c));
    whole = left = PetscRealPart(c[d->k] + shared(d, b, b));
    for (PetscInt j = 0; j < d->k; j++) {
      const BCRFew q = direction_q(d, j);

      c[j] += shared(d, &q, b);
      d->y[j] += c[j];
      left -= PetscRealPart(c[j] * PetscConj(c[j]));
    }
    PetscCall(combine(d, d->k, &Q, 1, -1, c, b));
    if (left > PetscSqr(BCR_DIRECTIONS_AGAIN) * whole) break;
  }
  if (left > PetscSqr(BCR_DIRECTIONS_AGAIN) * whole) *norm = PetscSqrtReal(left);
  else if (d->k) PetscCall(norm_of(d, b, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x = T^-1 x */
static void solve_triangle(const BCRDirections *d, PetscScalar *x)
{
  for (PetscInt j = d->k - 1; j >= 0; j--) {
    const PetscScalar *t = column(d, j);

    x[j] /= t[j];
    for (PetscInt i = 0; i < j; i++) x[i] -= t[i] * x[j];
  }
}

/* w += Z T^-1 y; y = 0 */
static PetscErrorCode collect(BCRDirections *d, const BCRFew *w)
{
  const BCRFew Z = direction_z(d, 0);

  PetscFunctionBegin;
  if (!d->k) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscArraycpy(d->x, d->y, d->k));
  solve_triangle(d, d->x);
  PetscCall(combine(d, d->k, &Z, 1, 1, d->x, w));
  PetscCall(PetscArrayzero(d->y, d->k));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -------- one more direction -------- */

/* Where the next direction comes from: the next one of these where what a source gives does not lead on, as when the
   residual is a combination of directions (K of which it is orthogonal to). Any vector will do, in the end */
typedef enum {
  BCR_FROM_RESIDUAL,
  BCR_FROM_PRODUCT, /* the last one */
  BCR_FROM_NOWHERE
} BCRSource;

/* z, its shared numbers the same on all ranks */
static PetscErrorCode choose(const BCRDirections *d, BCRSource source, const BCRFew *b, PetscReal norm)
{
  uint32_t state = 2463534242u + 7919u * (uint32_t)d->k; /* numbers without a pattern, the same each time */
  PetscScalar *v;

  PetscFunctionBegin;
  if (source == BCR_FROM_RESIDUAL) PetscCall(scale(d, 1, norm, b, &d->newz));
  if (source == BCR_FROM_PRODUCT) {
    const BCRFew last = direction_q(d, PetscMax(d->k, 1) - 1);

    PetscCall(copy(d, d->k ? &last : b, &d->newz));
  }
  if (source != BCR_FROM_NOWHERE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(d->n + d->shared, &v));
  for (PetscInt i = d->n + d->shared - 1; i >= 0; i--) {
    state = state * 1664525u + 1013904223u;
    v[i] = state / 4294967296. - .5;
  }
  PetscCall(d->c->be->put(d->c->stream, d->newz.v, v, (size_t)d->n * sizeof(*v)));
  PetscCall(PetscArraycpy(d->newz.shared, v + d->n, d->shared));
  PetscCall(PetscFree(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  PetscReal q, z, b, part; /* norms; of the product, what is left of it behind the directions. 0: nothing */
  PetscScalar y;           /* q^H b */
} BCRStep;

/* The directions that a new one is made orthogonal to, as two blocks: the leading ones, and those of its own solve, from old on */
typedef struct {
  PetscInt lead, old, n; /* n: of both */
} Known;

static void known_blocks(const BCRDirections *d, const Known *known, const PetscScalar *x, BCRBlock blocks[2])
{
  blocks[0] = (BCRBlock){known->lead, d->q, x, 0};
  blocks[1] = (BCRBlock){d->k - known->old, direction_q(d, known->old).v, x, 0};
}

/* The number of direction j of both blocks */
static PetscInt known_at(const Known *known, PetscInt j)
{
  return j < known->lead ? j : known->old + j - known->lead;
}

/* x -= what the blocks give with coefficients c, of the shared numbers */
static void known_subtract_shared(const BCRDirections *d, const Known *known, const PetscScalar *c, const BCRFew *x)
{
  for (PetscInt j = 0; j < known->n && d->shared; j++) {
    const BCRFew q = direction_q(d, known_at(known, j));

    for (PetscInt i = 0; i < d->shared; i++) x->shared[i] -= c[j] * q.shared[i];
  }
}

static PetscErrorCode known_subtract(const BCRDirections *d, const Known *known, const PetscScalar *c, const BCRFew *x)
{
  BCRBlock blocks[2];

  PetscFunctionBegin;
  known_blocks(d, known, NULL, blocks);
  PetscCall(d->c->ops->combine(d->c, d->n, 2, blocks, 1, -1, c, x->v));
  known_subtract_shared(d, known, c, x);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sums of a pass: with c the products of q with the known directions, e those of b (clean), s of the vectors among themselves,
   and the shared numbers of K z (first). Collective */
static PetscErrorCode pass_sums(BCRDirections *d, const Known *known, PetscBool clean, PetscBool first, const BCRFew *b,
                                PetscScalar *c)
{
  const PetscScalar *z = d->newz.v, *q = d->newq.v;
  const BCRBlock pairs[] = {
    {1, q,    q,    0},
    {1, q,    b->v, 0},
    {1, z,    z,    0},
    {1, b->v, b->v, 0}
  };
  BCRBlock blocks[BCR_NUMBERS_BLOCKS];
  PetscInt n = 2;

  PetscFunctionBegin;
  known_blocks(d, known, q, blocks);
  if (clean) known_blocks(d, known, b->v, blocks + 2), n = 4;
  for (int k = 0; k < BCR_DIRECTIONS_NUMBERS; k++) blocks[n++] = pairs[k];
  if (first && d->shared) blocks[n++] = (BCRBlock){d->shared, d->R, z, 0};
  PetscCall(products_of(d, n, blocks, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* K z, in q, is made orthogonal to these directions, again where little is left of it: column d->k of T, and q, from which the
   last coefficients, d->sums, are still to be subtracted. A sum over the ranks each time, which is also that of the shared
   numbers. b is orthogonal to them already, or with clean made so once more, as it has become so much smaller than its rounding
   was. It sees what K does to z, for the size of K. Collective */
static PetscErrorCode orthogonal(BCRDirections *d, const Known *known, PetscBool clean, const BCRFew *b, BCRStep *step)
{
  const BCRFew *z = &d->newz, *q = &d->newq;
  PetscScalar *c = d->sums, *e = c + known->n, *t = column(d, d->k);
  PetscReal whole = 0, before, after;

  PetscFunctionBegin;
  step->part = 0;
  PetscCall(PetscArrayzero(t, d->k + 1));
  for (int pass = 0; pass < 3; pass++) {
    const PetscInt ne = clean && pass == 0 ? known->n : 0;
    const PetscScalar *s = e + ne;

    PetscCall(pass_sums(d, known, (PetscBool)(ne > 0), (PetscBool)(pass == 0), b, c));
    for (PetscInt i = 0; i < d->shared && pass == 0; i++) q->shared[i] = s[BCR_DIRECTIONS_NUMBERS + i];
    before = after = PetscRealPart(s[0] + shared(d, q, q));
    step->z = PetscSqrtReal(PetscRealPart(s[2] + shared(d, z, z)));
    step->b = PetscRealPart(s[3] + shared(d, b, b));
    step->y = s[1] + shared(d, q, b);
    if (pass == 0) {
      whole = before;
      d->size = PetscMax(d->size, before / PetscSqr(step->z));
    }
    for (PetscInt j = 0; j < known->n; j++) {
      const PetscInt at = known_at(known, j);
      const BCRFew mine = direction_q(d, at);

      c[j] += shared(d, &mine, q);
      t[at] += c[j];
      after -= PetscRealPart(c[j] * PetscConj(c[j]));
      if (j >= ne) continue;
      e[j] += shared(d, &mine, b);
      d->y[at] += e[j];
      step->y -= PetscConj(c[j]) * e[j];
      step->b -= PetscRealPart(e[j] * PetscConj(e[j]));
    }
    if (ne) PetscCall(known_subtract(d, known, e, b));
    step->b = PetscSqrtReal(PetscMax(step->b, 0));
    step->q = PetscSqrtReal(PetscMax(after, 0));
    if (after > PetscSqr(BCR_DIRECTIONS_AGAIN) * before) {
      step->part = PetscSqrtReal(after / whole);
      break;
    }
    if (pass < 2) PetscCall(known_subtract(d, known, c, q));
  }
  t[d->k] = step->q;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* z, of which little more than what is known has come, without that: z - Z T^-1 t, with norm 1 */
static PetscErrorCode without_known(BCRDirections *d)
{
  const BCRFew Z = direction_z(d, 0);
  PetscReal norm = 0;

  PetscFunctionBegin;
  PetscCall(PetscArraycpy(d->x, column(d, d->k), d->k));
  solve_triangle(d, d->x);
  PetscCall(combine(d, d->k, &Z, 1, -1, d->x, &d->newz));
  PetscCall(norm_of(d, &d->newz, &norm));
  PetscCall(scale(d, 1, norm, &d->newz, &d->newz));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One more direction, of newz. Where little of its product is left, q = K z has lost digits, and is computed again for what makes
   it a direction. *kept: it is one, once take() has put it behind the known ones. Collective */
static PetscErrorCode direction(BCRDirections *d, const Known *known, BCRDirectionsProduct product, void *context,
                                PetscBool clean, const BCRFew *b, PetscInt *products, BCRStep *step, PetscBool *kept)
{
  PetscFunctionBegin;
  for (int again = 0; again < 2; again++) {
    PetscCall((*product)(context, &d->newz, d->newq.v));
    ++*products;
    PetscCall(orthogonal(d, known, (PetscBool)(clean && !again), b, step));
    if (again || step->part >= BCR_DIRECTIONS_PART || !(step->part > PetscSqrtReal(PETSC_MACHINE_EPSILON))) break;
    PetscCall(without_known(d));
  }
  /* nothing new, or rounding of what K takes to zero, or NaN */
  *kept = (PetscBool)(step->part >= BCR_DIRECTIONS_PART && PetscSqr(step->q) > PetscSqr(d->zero * step->z) * d->size);
  step->y /= step->q;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The direction that has been found becomes one of the known ones, and b -= y q. next: z = next b then, if it is not 0 */
static PetscErrorCode take(BCRDirections *d, const Known *known, const BCRStep *step, PetscReal next, const BCRFew *b)
{
  const BCRFew z1 = direction_z(d, d->k), q1 = direction_q(d, d->k), *z = &d->newz, *q = &d->newq;
  const BCRStepEnd end = {1 / step->q, next, step->y, q->v, z->v, b->v, q1.v, z1.v};
  BCRBlock blocks[2];

  PetscFunctionBegin;
  known_blocks(d, known, NULL, blocks);
  PetscCall(d->c->ops->step(d->c, d->n, 2, blocks, d->sums, &end));
  known_subtract_shared(d, known, d->sums, q);
  for (PetscInt i = 0; i < d->shared; i++) {
    q1.shared[i] = q->shared[i] * end.unit;
    z1.shared[i] = z->shared[i];
    b->shared[i] -= step->y * q1.shared[i];
    if (next != 0) z->shared[i] = next * b->shared[i];
  }
  d->y[d->k++] = step->y;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -------- steps that are launched ahead -------- */

PetscErrorCode BCRDirectionsAhead(BCRDirections *d, const BCRStepProduct *parts)
{
  const BCRAhead none = {.n = d->n, .fresh = PETSC_TRUE, .z = d->newz.v};

  PetscFunctionBegin;
  if (!d->c->ops->ahead || d->c->size > 1 || d->shared) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(d->c->ops->ahead(d->c, parts, &none, NULL, &d->looks));
  d->parts = d->looks ? parts : NULL;
  PetscCall(make_room(d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How a solve goes on */
typedef struct {
  PetscReal norm, cleaned; /* of b; what it was when b was last made orthogonal to the directions */
  PetscBool exact;         /* norm is a difference of numbers that are not much larger */
  PetscBool chosen;        /* z is there */
  PetscBool doubt;         /* the next step is not one to be launched ahead */
  PetscBool ahead;         /* the last steps were launched ahead, and nothing has been changed since */
  PetscReal rate;          /* of the norm in such a step; 0: not known */
  PetscInt doubts;         /* there have been some */
  BCRSource source;
  BCRStep step;
} Progress;

/* b has lost y q: what is left of it, and where the next direction comes from */
static void progress(Progress *p)
{
  const PetscReal y = PetscAbsScalar(p->step.y), left = PetscSqr(p->step.b) - PetscSqr(y);

  p->source = y < BCR_DIRECTIONS_PART * p->step.b ? BCR_FROM_PRODUCT : BCR_FROM_RESIDUAL;
  p->exact = (PetscBool)(left > PetscSqr(BCR_DIRECTIONS_PART * p->step.b));
  p->norm = PetscSqrtReal(PetscMax(left, 0));
}

/* How many steps there will be for certain, or almost: one that is not needed costs a product, fewer than there could be a wait */
static PetscInt ahead_steps(const BCRDirections *d, const Progress *p, PetscReal tol)
{
  PetscReal steps = p->doubts ? 2 : d->usual > 0 ? BCR_DIRECTIONS_USUAL * (PetscReal)d->usual : 8;

  if (p->rate > 0 && p->rate < 1 && tol > 0) steps = PetscLogReal(tol / p->norm) / PetscLogReal(p->rate);
  return PetscMax(1, PetscMin(BCR_NUMBERS_AHEAD, (PetscInt)(BCR_DIRECTIONS_AHEAD * steps)));
}

/* Some steps, as far as it is clear how they go on */
static PetscErrorCode ahead(BCRDirections *d, const Known *known, PetscReal tol, PetscInt most, const BCRFew *b,
                            Progress *p, PetscInt *products)
{
  BCRAheadStep found[BCR_NUMBERS_AHEAD];
  BCRAhead a = {.n = d->n,
                .lead = known->lead,
                .old = known->old,
                .k = d->k,
                .fresh = p->ahead ? PETSC_FALSE : PETSC_TRUE,
                .tol = tol,
                .norm = p->norm,
                .cleaned = p->cleaned,
                .size = d->size,
                .clean = PETSC_SQRT_MACHINE_EPSILON,
                .again = BCR_DIRECTIONS_AGAIN,
                .zero = d->zero,
                .part = BCR_DIRECTIONS_PART,
                .Q = d->q,
                .Z = d->z,
                .z = d->newz.v,
                .q = d->newq.v,
                .b = b->v};
  const PetscReal norm = p->norm;
  PetscInt room, s;

  PetscFunctionBegin;
  a.steps = PetscMin(PetscMin(most, d->room - d->k), ahead_steps(d, p, tol));
  PetscCall(d->c->ops->ahead(d->c, d->parts, &a, found, &room));
  for (s = 0; s < a.steps && found[s].taken; s++) {
    const PetscInt n = known->n + s;
    PetscScalar *t = column(d, d->k);

    if (found[s].clean) p->cleaned = p->norm;
    PetscCall(PetscArrayzero(t, d->k));
    for (PetscInt j = 0; j < n; j++) {
      const PetscInt at = known_at(known, j);

      t[at] = BCRNumberOf(found[s].c + BCR_PARTS * j);
      if (found[s].clean) d->y[at] += BCRNumberOf(found[s].e + BCR_PARTS * j);
    }
    t[d->k] = found[s].q;
    d->size = found[s].size;
    d->y[d->k++] = found[s].y;
    p->step.q = found[s].q;
    p->step.b = found[s].b;
    p->step.y = found[s].y;
    progress(p);
    p->norm = found[s].norm;
    p->chosen = found[s].next;
  }
  *products += s;
  if (s > 0) p->rate = PetscPowReal(p->norm / norm, (PetscReal)1 / (PetscReal)s);
  p->doubt = (PetscBool)(s < a.steps && found[s].doubt);
  if (p->doubt) {
    p->rate = 0;
    p->doubts++;
  }
  p->ahead = (PetscBool)(s == a.steps && p->chosen);
  PetscCheck(s > 0 || p->doubt, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A step that was launched ahead has found nothing");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDirectionsTeach(BCRDirections *d, BCRDirectionsProduct product, void *context, const BCRFew *z)
{
  const Known known = {d->k, d->k, d->k};
  BCRStep step;
  BCRFew b;

  PetscFunctionBegin;
  if (d->k == d->most) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(make_room(d));
  PetscCall(copy(d, z, &d->newz));
  PetscCall((*product)(context, z, d->newq.v));
  b = direction_z(d, d->k); /* of no use */
  PetscCall(copy(d, z, &b));
  PetscCall(orthogonal(d, &known, PETSC_FALSE, &b, &step));
  if (!(step.part >= BCR_DIRECTIONS_PART)) PetscFunctionReturn(PETSC_SUCCESS);
  step.y = 0;
  PetscCall(take(d, &known, &step, 0, &d->newz));
  d->lead = d->k;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -------- the end of a solve: its directions and those before it -------- */

/* Those of this solve, from old on, with which it has the coefficients y, become one. Where that is one too many, those that are
   not leading are forgotten first: what is solved now is likely to be like what comes next */
static PetscErrorCode become_one(BCRDirections *d, PetscInt *old, const PetscScalar y[])
{
  const PetscInt own = d->k - *old, at = *old < d->most ? *old : d->lead;
  const BCRFew Z = direction_z(d, 0), Q = direction_q(d, *old), z1 = direction_z(d, at), q1 = direction_q(d, at);
  PetscReal size = 0;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < own; j++) size += PetscRealPart(y[j] * PetscConj(y[j]));
  if (!(size > 0) || at >= d->most) { /* or NaN, or leading ones are all that there may be */
    d->k = *old;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscArrayzero(d->x, *old));
  for (PetscInt j = 0; j < own; j++) d->x[*old + j] = y[j] / PetscSqrtReal(size);
  PetscCall(zero(d, &d->newz));
  PetscCall(zero(d, &d->newq));
  PetscCall(combine(d, own, &Q, 1, 1, d->x + *old, &d->newq));
  solve_triangle(d, d->x);
  PetscCall(combine(d, d->k, &Z, 1, 1, d->x, &d->newz));
  PetscCall(copy(d, &d->newz, &z1));
  PetscCall(copy(d, &d->newq, &q1));
  PetscCall(PetscArrayzero(column(d, at), at));
  column(d, at)[at] = 1;
  *old = at;
  d->k = at + 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* S, upper triangular, S^H S = H, both [m][m] by columns and in the same place: as many columns as leave more than a small part of
   H's diagonal, which is 1 where nothing is known */
static PetscInt cholesky(PetscInt m, PetscScalar *H)
{
  for (PetscInt j = 0; j < m; j++) {
    PetscScalar *h = H + j * m;

    for (PetscInt i = 0; i <= j; i++) {
      h[i] -= dot(i, H + i * m, h);
      if (i < j) h[i] /= PetscRealPart(H[i * m + i]);
    }
    if (!(PetscRealPart(h[j]) > PetscSqr(BCR_DIRECTIONS_PART))) return j;
    h[j] = PetscSqrtReal(PetscRealPart(h[j]));
  }
  return m;
}

/* B, [good][good], the first columns of S^-1, and A = -C B, [good][between]. S: [own][own], upper triangular. How many columns there
   are before one by which rounding would grow too much: good, or B and A are not done */
static PetscInt mixture(PetscInt between, const PetscScalar *C, PetscInt own, PetscInt good, const PetscScalar *S,
                        PetscScalar *A, PetscScalar *B)
{
  for (PetscInt j = 0; j < good; j++) {
    PetscScalar *x = B + j * good, *a = A + j * between;

    for (PetscInt i = 0; i < good; i++) x[i] = i == j;
    for (PetscInt l = j; l >= 0; l--) {
      x[l] /= S[l * own + l];
      if (!(PetscAbsScalar(x[l]) <= BCR_DIRECTIONS_GROWN)) return j;
      for (PetscInt i = 0; i < l; i++) x[i] -= S[l * own + i] * x[l];
    }
    for (PetscInt i = 0; i < between; i++) a[i] = 0;
    for (PetscInt l = 0; l <= j; l++)
      for (PetscInt i = 0; i < between; i++) a[i] -= C[l * between + i] * x[l];
  }
  return good;
}

/* The directions from old on, orthonormal and orthogonal to the leading ones, are made so to those between: with C their products
   with these, Q' = (Q - Q_between C) S^-1, S^H S = 1 - C^H C. C, A: [own][between], S, B: [own][own]. Collective */
static PetscErrorCode join(BCRDirections *d, PetscInt old, PetscScalar *C, PetscScalar *S, PetscScalar *A,
                           PetscScalar *B)
{
  const PetscInt lead = d->lead, between = old - lead, own = d->k - old, many = d->shared;
  const BCRFew q = direction_q(d, old), known = direction_q(d, lead);
  const BCRBlock products = {between, known.v, q.v, own};
  PetscInt good, most;

  PetscFunctionBegin;
  PetscCall(products_of(d, 1, &products, C));
  for (PetscInt j = 0; j < own; j++) {
    for (PetscInt i = 0; i < between && many; i++) {
      const BCRFew x = direction_q(d, lead + i), y = direction_q(d, old + j);

      C[j * between + i] += shared(d, &x, &y);
    }
    for (PetscInt i = 0; i <= j; i++) S[j * own + i] = (i == j) - dot(between, C + i * between, C + j * between);
  }
  most = cholesky(own, S);
  while ((good = mixture(between, C, own, most, S, A, B)) < most) most = good;
  PetscCall(d->c->ops->mix(d->c, d->n, between, known.v, A, good, B, q.v));
  for (PetscInt j = good - 1; j >= 0; j--) {
    PetscScalar *t = column(d, old + j), *of = t + old;

    for (PetscInt i = 0; i < many; i++) { /* the last ones first, as others need only those before them */
      PetscScalar sum = 0;

      for (PetscInt l = 0; l <= j; l++) sum += B[j * good + l] * q.shared[l * many + i];
      for (PetscInt l = 0; l < between; l++) sum += A[j * between + l] * known.shared[l * many + i];
      q.shared[j * many + i] = sum;
    }
    for (PetscInt l = 0; l <= j; l++) /* T between: C t */
      for (PetscInt i = 0; i < between; i++) t[lead + i] += C[l * between + i] * of[l];
    for (PetscInt i = 0; i <= j; i++) { /* S t, in place: row i needs those behind it */
      of[i] *= S[i * own + i];
      for (PetscInt l = i + 1; l <= j; l++) of[i] += S[l * own + i] * of[l];
    }
  }
  d->k = old + good;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is kept of a solve that began with old directions; y: coefficients of its own. Collective */
static PetscErrorCode keep(BCRDirections *d, PetscInt old, const PetscScalar y[])
{
  const PetscInt own = d->k - old, columns = d->all ? own : 1;
  PetscScalar *C = NULL, *S = NULL, *A = NULL, *B = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (d->lead == old && old <= d->few) d->lead = PetscMin(d->k, d->most);
  else if (own && (old < d->most || !d->all)) {
    ierr = PetscMalloc4(columns * (old - d->lead), &C, columns * columns, &S, columns * (old - d->lead), &A,
                        columns * columns, &B);
    PetscCall(BCRFaultShare(d->c->comm, ierr, BCR_NO_MEMORY));
    if (!d->all) PetscCall(become_one(d, &old, y));
    if (old > d->lead) PetscCall(join(d, old, C, S, A, B));
    PetscCall(PetscFree4(C, S, A, B));
  }
  d->k = PetscMin(d->k, d->most);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -------- a solve -------- */

/* One step; *end: it leads nowhere, or what is left is rounding's. Collective */
static PetscErrorCode one_step(BCRDirections *d, const Known *known, BCRDirectionsProduct product, void *context,
                               PetscReal tol, const BCRFew *b, Progress *p, PetscInt *products, PetscBool *end)
{
  const PetscBool clean = (PetscBool)(p->norm < PETSC_SQRT_MACHINE_EPSILON * p->cleaned);
  PetscBool kept = PETSC_FALSE;

  PetscFunctionBegin;
  *end = PETSC_FALSE;
  if (clean) p->cleaned = p->norm;
  PetscCall(direction(d, known, product, context, clean, b, products, &p->step, &kept));
  p->chosen = p->doubt = p->ahead = PETSC_FALSE;
  if (!kept) {
    *end = (PetscBool)(p->source == BCR_FROM_NOWHERE || p->norm <= BCR_DIRECTIONS_ENOUGH * tol ||
                       PetscIsInfOrNanReal(p->step.q));
    p->source = (BCRSource)(p->source + 1);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  progress(p);
  p->chosen = (PetscBool)(p->exact && p->source == BCR_FROM_RESIDUAL);
  PetscCall(take(d, known, &p->step, p->chosen ? 1 / p->norm : 0, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDirectionsSolve(BCRDirections *d, BCRDirectionsProduct product, void *context, PetscReal tol,
                                  PetscInt steps, const BCRFew *b, PetscReal norm, const BCRFew *w,
                                  BCRDirectionsResult *result)
{
  /* Where fewer are left than a solve makes, new ones are orthogonal to all: that many products are enough */
  const PetscInt old = d->k, lead = d->all && d->most - old <= d->lead ? old : PetscMin(d->lead, old);
  Progress p = {.norm = norm, .exact = PETSC_TRUE, .source = BCR_FROM_RESIDUAL};
  PetscBool end = PETSC_FALSE;

  PetscFunctionBegin;
  result->products = 0;
  PetscCall(zero(d, w));
  PetscCall(project(d, b, &p.norm));
  p.cleaned = p.norm;
  while (!end) {
    Known known = {lead, old, 0};

    if (!p.exact) {
      PetscCall(norm_of(d, b, &p.norm));
      p.exact = PETSC_TRUE;
      p.ahead = PETSC_FALSE;
    }
    if (p.norm <= tol || result->products >= steps || PetscIsInfOrNanReal(p.norm)) break;
    if (d->k == d->most + BCR_DIRECTIONS_MORE) { /* goes on without those that are its own */
      PetscCall(collect(d, w));
      d->k = d->most;
      p.ahead = PETSC_FALSE;
    }
    if (d->k == d->room) p.ahead = PETSC_FALSE;
    PetscCall(make_room(d));
    known.n = known.lead + d->k - old;
    if (!p.chosen) PetscCall(choose(d, p.source, b, p.norm));
    p.chosen = PETSC_TRUE;
    if (d->parts && p.source == BCR_FROM_RESIDUAL && !p.doubt && known.n + BCR_NUMBERS_AHEAD <= d->looks)
      PetscCall(ahead(d, &known, tol, steps - result->products, b, &p, &result->products));
    else PetscCall(one_step(d, &known, product, context, tol, b, &p, &result->products, &end));
    if (p.source == BCR_FROM_PRODUCT && p.norm <= BCR_DIRECTIONS_ENOUGH * tol) break;
  }
  if (!p.exact) PetscCall(norm_of(d, b, &p.norm));
  d->usual = result->products;
  result->residual = p.norm;
  result->reached = (PetscBool)(p.norm <= tol);
  if (d->k > old) PetscCall(PetscArraycpy(d->sums, d->y + old, d->k - old));
  PetscCall(collect(d, w));
  PetscCall(keep(d, old, d->sums));
  PetscFunctionReturn(PETSC_SUCCESS);
}
