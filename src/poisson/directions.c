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
/* What is subtracted leaves rounding of all that there was: it is done again where less than this is left */
#define BCR_DIRECTIONS_AGAIN ((PetscReal)0.5)
/* Numbers of a step beside the products with directions: |q|^2, q^H b, |z|^2, |b|^2 */
#define BCR_DIRECTIONS_NUMBERS 4

PetscErrorCode BCRDirectionsCreate(MPI_Comm comm, PetscInt n, PetscInt shared, PetscInt most, PetscInt few,
                                   PetscBool all, BCRDirections *d)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(d, sizeof(*d)));
  d->comm = comm;
  d->n = n;
  d->shared = shared;
  d->ld = n + shared;
  d->most = most;
  d->few = few;
  d->all = all;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDirectionsDestroy(BCRDirections *d)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(d->z));
  PetscCall(PetscFree(d->q));
  PetscCall(PetscFree(d->t));
  PetscCall(PetscFree3(d->y, d->x, d->sums));
  d->k = d->lead = d->room = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void BCRDirectionsForget(BCRDirections *d)
{
  d->k = d->lead = 0;
}

/* -------- memory -------- */

static inline PetscScalar *vector(const BCRDirections *d, PetscScalar *v, PetscInt j)
{
  return v + (size_t)j * (size_t)d->ld;
}

static inline size_t column_start(PetscInt j)
{
  return (size_t)j * (size_t)(j + 1) / 2;
}

static inline PetscScalar *column(const BCRDirections *d, PetscInt j)
{
  return d->t + column_start(j);
}

static PetscErrorCode larger(size_t known, size_t room, PetscScalar **v)
{
  PetscScalar *more;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(PetscMax(room, 1), &more));
  PetscCall(PetscArraycpy(more, *v, known));
  PetscCall(PetscFree(*v));
  *v = more;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode enlarge(BCRDirections *d, PetscInt room)
{
  const size_t ld = (size_t)d->ld, known = (size_t)d->k * ld;
  PetscScalar *y, *x, *sums;

  PetscFunctionBegin;
  PetscCall(larger(known, (size_t)room * ld, &d->z));
  PetscCall(larger(known, (size_t)room * ld, &d->q));
  PetscCall(larger(column_start(d->k), column_start(room), &d->t));
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
  PetscCall(BCRFaultShare(d->comm, enlarge(d, PetscMin(d->most + BCR_DIRECTIONS_MORE, PetscMax(32, 2 * d->room))),
                          BCR_NO_MEMORY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -------- what is done with the numbers of this rank -------- */

static PetscScalar dot(PetscInt n, const PetscScalar *x, const PetscScalar *y)
{
  PetscScalar s = 0;

  for (PetscInt i = 0; i < n; i++) s += PetscConj(x[i]) * y[i];
  return s;
}

/* s[k][m] = X[k]^H Y[m] of this rank's own numbers, without the shared ones */
static void products_of(const BCRDirections *d, PetscInt k, const PetscScalar *X, PetscInt m, const PetscScalar *Y,
                        PetscScalar *s)
{
  const PetscBLASInt n = (PetscBLASInt)d->n, ld = (PetscBLASInt)PetscMax(d->ld, 1), one = 1, kb = (PetscBLASInt)k,
                     mb = (PetscBLASInt)m;
  const PetscScalar alpha = 1, beta = 0;

  if (n == 0)
    for (PetscInt i = 0; i < k * m; i++) s[i] = 0;
  else if (k && m == 1) BLASgemv_("C", &n, &kb, &alpha, X, &ld, Y, &one, &beta, s, &one);
  else if (k && m) BLASgemm_("C", "N", &kb, &mb, &n, &alpha, X, &ld, Y, &ld, &beta, s, &kb);
}

/* Y[m] += alpha X[k] c[k][m]. Shared numbers are to be the same on all ranks to the last digit, as it depends on them who takes
   part in what: BLAS, whose order of additions depends on where a number stands, has this rank's own */
static void combine(const BCRDirections *d, PetscInt k, const PetscScalar *X, PetscInt m, PetscScalar alpha,
                    const PetscScalar *c, PetscScalar *Y)
{
  const PetscBLASInt n = (PetscBLASInt)d->n, ld = (PetscBLASInt)PetscMax(d->ld, 1), one = 1, kb = (PetscBLASInt)k,
                     mb = (PetscBLASInt)m;
  const PetscScalar beta = 1;

  if (n && k && m == 1) BLASgemv_("N", &n, &kb, &alpha, X, &ld, c, &one, &beta, Y, &one);
  else if (n && k && m) BLASgemm_("N", "N", &n, &mb, &kb, &alpha, X, &ld, c, &kb, &beta, Y, &ld);
  for (PetscInt l = 0; l < m && d->shared; l++)
    for (PetscInt j = 0; j < k; j++)
      for (PetscInt i = d->n; i < d->ld; i++)
        Y[(size_t)l * d->ld + i] += alpha * X[(size_t)j * d->ld + i] * c[l * k + j];
}

/* -------- sums over all ranks -------- */

static PetscErrorCode sum(const BCRDirections *d, PetscInt n, PetscScalar v[])
{
  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, v, (PetscMPIInt)n, MPIU_SCALAR, MPIU_SUM, d->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the shared numbers add to a sum of products */
static PetscScalar shared(const BCRDirections *d, const PetscScalar *x, const PetscScalar *y)
{
  return dot(d->shared, x + d->n, y + d->n);
}

/* |b|. Collective */
static PetscErrorCode norm_of(const BCRDirections *d, const PetscScalar *b, PetscReal *norm)
{
  PetscScalar s = dot(d->n, b, b);

  PetscFunctionBegin;
  PetscCall(sum(d, 1, &s));
  *norm = PetscSqrtReal(PetscRealPart(s + shared(d, b, b)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -------- the known directions -------- */

/* y = what the known directions have of b, which keeps the rest; *norm: of the rest. Collective */
static PetscErrorCode project(BCRDirections *d, PetscScalar *b, PetscReal *norm)
{
  PetscReal left = 0, whole;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < d->k; j++) d->y[j] = 0;
  for (int pass = 0; pass < 2 && d->k; pass++) {
    PetscScalar *c = d->sums;

    products_of(d, d->k, d->q, 1, b, c);
    c[d->k] = dot(d->n, b, b);
    PetscCall(sum(d, d->k + 1, c));
    whole = left = PetscRealPart(c[d->k] + shared(d, b, b));
    for (PetscInt j = 0; j < d->k; j++) {
      c[j] += shared(d, vector(d, d->q, j), b);
      d->y[j] += c[j];
      left -= PetscRealPart(c[j] * PetscConj(c[j]));
    }
    combine(d, d->k, d->q, 1, -1, c, b);
    if (left > PetscSqr(BCR_DIRECTIONS_AGAIN) * whole) break;
  }
  PetscCall(norm_of(d, b, norm));
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
static PetscErrorCode collect(BCRDirections *d, PetscScalar *w)
{
  PetscFunctionBegin;
  if (d->k) PetscCall(PetscArraycpy(d->x, d->y, d->k));
  solve_triangle(d, d->x);
  combine(d, d->k, d->z, 1, 1, d->x, w);
  if (d->k) PetscCall(PetscArrayzero(d->y, d->k));
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
static void choose(const BCRDirections *d, BCRSource source, const PetscScalar *b, PetscReal norm, PetscScalar *z)
{
  const PetscScalar *last = d->k ? vector(d, d->q, d->k - 1) : b;
  uint32_t state = 2463534242u + 7919u * (uint32_t)d->k; /* numbers without a pattern, the same each time */

  for (PetscInt i = d->ld - 1; i >= 0; i--) {
    state = state * 1664525u + 1013904223u;
    z[i] =
      source == BCR_FROM_RESIDUAL ? b[i] / norm : (source == BCR_FROM_PRODUCT ? last[i] : state / 4294967296. - .5);
  }
}

typedef struct {
  PetscReal q, z, b, part; /* norms; of the product, what is left of it behind the directions. 0: nothing */
  PetscScalar y;           /* q^H b */
} BCRStep;

/* The directions that a new one is made orthogonal to, as two blocks: the leading ones, and those of its own solve, from old on */
static void products_in_step(const BCRDirections *d, PetscInt lead, PetscInt old, const PetscScalar *x, PetscScalar *c)
{
  products_of(d, lead, d->q, 1, x, c);
  products_of(d, d->k - old, vector(d, d->q, old), 1, x, c + lead);
}

static void subtract_in_step(const BCRDirections *d, PetscInt lead, PetscInt old, const PetscScalar *c, PetscScalar *x)
{
  combine(d, lead, d->q, 1, -1, c, x);
  combine(d, d->k - old, vector(d, d->q, old), 1, -1, c + lead, x);
}

/* K z, in q, is made orthogonal to these directions, again where little is left of it: column d->k of T, and q. A sum over the
   ranks each time, which is also that of the shared numbers. b is orthogonal to them already, or with clean made so once more, as
   it has become so much smaller than its rounding was. It sees what K does to z, for the size of K. Collective */
static PetscErrorCode orthogonal(BCRDirections *d, PetscInt old, PetscBool clean, const PetscScalar *z, PetscScalar *q,
                                 PetscScalar *b, BCRStep *step)
{
  const PetscInt lead = PetscMin(d->lead, old), n = lead + d->k - old;
  PetscScalar *c = d->sums, *e = c + n, *t = column(d, d->k);
  PetscReal whole = 0, before, after;

  PetscFunctionBegin;
  step->part = 0;
  PetscCall(PetscArrayzero(t, d->k + 1));
  for (int pass = 0; pass < 3; pass++) {
    const PetscInt ne = clean && pass == 0 ? n : 0, ns = pass == 0 ? d->shared : 0;
    PetscScalar *s = e + ne;

    products_in_step(d, lead, old, q, c);
    if (ne) products_in_step(d, lead, old, b, e);
    s[0] = dot(d->n, q, q);
    s[1] = dot(d->n, q, b);
    s[2] = dot(d->n, z, z);
    s[3] = dot(d->n, b, b);
    for (PetscInt i = 0; i < ns; i++) s[BCR_DIRECTIONS_NUMBERS + i] = q[d->n + i];
    PetscCall(sum(d, n + ne + BCR_DIRECTIONS_NUMBERS + ns, c));
    for (PetscInt i = 0; i < ns; i++) q[d->n + i] = s[BCR_DIRECTIONS_NUMBERS + i];
    before = after = PetscRealPart(s[0] + shared(d, q, q));
    step->z = PetscSqrtReal(PetscRealPart(s[2] + shared(d, z, z)));
    step->b = PetscRealPart(s[3] + shared(d, b, b));
    step->y = s[1] + shared(d, q, b);
    if (pass == 0) {
      whole = before;
      d->size = PetscMax(d->size, before / PetscSqr(step->z));
    }
    for (PetscInt j = 0; j < n; j++) {
      const PetscInt at = j < lead ? j : old + j - lead;

      c[j] += shared(d, vector(d, d->q, at), q);
      t[at] += c[j];
      after -= PetscRealPart(c[j] * PetscConj(c[j]));
      if (j >= ne) continue;
      e[j] += shared(d, vector(d, d->q, at), b);
      d->y[at] += e[j];
      step->y -= PetscConj(c[j]) * e[j];
      step->b -= PetscRealPart(e[j] * PetscConj(e[j]));
    }
    subtract_in_step(d, lead, old, c, q);
    if (ne) subtract_in_step(d, lead, old, e, b);
    step->b = PetscSqrtReal(PetscMax(step->b, 0));
    step->q = PetscSqrtReal(PetscMax(after, 0));
    if (after > PetscSqr(BCR_DIRECTIONS_AGAIN) * before) {
      step->part = PetscSqrtReal(after / whole);
      break;
    }
  }
  t[d->k] = step->q;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* z, of which little more than what is known has come, without that: z - Z T^-1 t, with norm 1 */
static PetscErrorCode without_known(BCRDirections *d, PetscScalar *z)
{
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(PetscArraycpy(d->x, column(d, d->k), d->k));
  solve_triangle(d, d->x);
  combine(d, d->k, d->z, 1, -1, d->x, z);
  PetscCall(norm_of(d, z, &norm));
  for (PetscInt i = 0; i < d->ld; i++) z[i] /= norm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One more direction, behind the known ones, from source. Where little of its product is left, q = K z has lost digits, and is
   computed again for what makes it a direction. *kept: it is one. Collective */
static PetscErrorCode direction(BCRDirections *d, PetscInt old, BCRDirectionsProduct product, void *context,
                                BCRSource source, PetscBool clean, PetscScalar *b, PetscReal norm, PetscInt *products,
                                BCRStep *step, PetscBool *kept)
{
  PetscScalar *z = vector(d, d->z, d->k), *q = vector(d, d->q, d->k);

  PetscFunctionBegin;
  choose(d, source, b, norm, z);
  for (int again = 0; again < 2; again++) {
    PetscCall((*product)(context, z, q));
    ++*products;
    PetscCall(orthogonal(d, old, (PetscBool)(clean && !again), z, q, b, step));
    if (again || step->part >= BCR_DIRECTIONS_PART || !(step->part > PetscSqrtReal(PETSC_MACHINE_EPSILON))) break;
    PetscCall(without_known(d, z));
  }
  /* nothing new, or rounding of what K takes to zero, or NaN */
  *kept = (PetscBool)(step->part >= BCR_DIRECTIONS_PART &&
                      PetscSqr(step->q) > PetscSqr(BCR_DIRECTIONS_ZERO * step->z) * d->size);
  if (!*kept) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = 0; i < d->ld; i++) q[i] /= step->q;
  step->y /= step->q;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDirectionsTeach(BCRDirections *d, BCRDirectionsProduct product, void *context, const PetscScalar *z)
{
  PetscScalar *q;
  BCRStep step;

  PetscFunctionBegin;
  if (d->k == d->most) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(make_room(d));
  q = vector(d, d->q, d->k);
  PetscCall(PetscArraycpy(vector(d, d->z, d->k), z, d->ld));
  PetscCall((*product)(context, z, q));
  PetscCall(orthogonal(d, d->k, PETSC_FALSE, z, q, vector(d, d->z, d->k), &step));
  if (!(step.part >= BCR_DIRECTIONS_PART)) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = 0; i < d->ld; i++) q[i] /= step.q;
  d->lead = ++d->k;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -------- the end of a solve: its directions and those before it -------- */

/* Those of this solve, from old on, with which it has the coefficients y, become one. Where that is one too many, those that are
   not leading are forgotten first: what is solved now is likely to be like what comes next. work: [2][ld] */
static PetscErrorCode become_one(BCRDirections *d, PetscInt *old, const PetscScalar y[], PetscScalar *work)
{
  const PetscInt own = d->k - *old, at = *old < d->most ? *old : d->lead;
  PetscReal size = 0;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < own; j++) size += PetscRealPart(y[j] * PetscConj(y[j]));
  if (!(size > 0) || at >= d->most) { /* or NaN, or leading ones are all that there may be */
    d->k = *old;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscArrayzero(d->x, *old));
  for (PetscInt j = 0; j < own; j++) d->x[*old + j] = y[j] / PetscSqrtReal(size);
  PetscCall(PetscArrayzero(work, 2 * d->ld));
  combine(d, own, vector(d, d->q, *old), 1, 1, d->x + *old, work + d->ld);
  solve_triangle(d, d->x);
  combine(d, d->k, d->z, 1, 1, d->x, work);
  PetscCall(PetscArraycpy(vector(d, d->z, at), work, d->ld));
  PetscCall(PetscArraycpy(vector(d, d->q, at), work + d->ld, d->ld));
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

/* The directions from old on, orthonormal and orthogonal to the leading ones, are made so to those between: with C their products
   with these, Q' = (Q - Q_between C) S^-1, S^H S = 1 - C^H C. C: [own][between], S: [own][own]. Collective */
static PetscErrorCode join(BCRDirections *d, PetscInt old, PetscScalar *C, PetscScalar *S)
{
  const PetscInt lead = d->lead, between = old - lead, own = d->k - old;
  PetscScalar *q = vector(d, d->q, old), *known = vector(d, d->q, lead);
  PetscInt good;

  PetscFunctionBegin;
  products_of(d, between, known, own, q, C);
  PetscCall(sum(d, between * own, C));
  for (PetscInt j = 0; j < own; j++) {
    for (PetscInt i = 0; i < between; i++) C[j * between + i] += shared(d, vector(d, known, i), vector(d, q, j));
    for (PetscInt i = 0; i <= j; i++) S[j * own + i] = (i == j) - dot(between, C + i * between, C + j * between);
  }
  good = cholesky(own, S);
  combine(d, between, known, good, -1, C, q);
  for (PetscInt j = 0; j < good; j++) {
    PetscScalar *t = column(d, old + j), *of = t + old;

    combine(d, j, q, 1, -1, S + j * own, vector(d, q, j));
    for (PetscInt i = 0; i < d->ld; i++) vector(d, q, j)[i] /= S[j * own + j];
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
  PetscScalar *C = NULL, *S = NULL, *work = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (d->lead == old && old <= d->few) d->lead = PetscMin(d->k, d->most);
  else if (own && (old < d->most || !d->all)) {
    ierr = PetscMalloc3(columns * (old - d->lead), &C, columns * columns, &S, 2 * d->ld, &work);
    PetscCall(BCRFaultShare(d->comm, ierr, BCR_NO_MEMORY));
    if (!d->all) PetscCall(become_one(d, &old, y, work));
    if (old > d->lead) PetscCall(join(d, old, C, S));
    PetscCall(PetscFree3(C, S, work));
  }
  d->k = PetscMin(d->k, d->most);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -------- a solve -------- */

/* b -= y q with the direction behind the known ones, which is one of them then; *norm: of b then. *exact: it is no difference of
   numbers that are much larger */
static void take(BCRDirections *d, const BCRStep *step, PetscScalar *b, PetscReal *norm, PetscBool *exact)
{
  const PetscScalar *q = vector(d, d->q, d->k);
  const PetscReal whole = PetscSqr(step->b), left = whole - PetscRealPart(step->y * PetscConj(step->y));

  for (PetscInt i = 0; i < d->ld; i++) b[i] -= step->y * q[i];
  d->y[d->k++] = step->y;
  *exact = (PetscBool)(left > PetscSqr(BCR_DIRECTIONS_PART) * whole);
  *norm = PetscSqrtReal(PetscMax(left, 0));
}

PetscErrorCode BCRDirectionsSolve(BCRDirections *d, BCRDirectionsProduct product, void *context, PetscReal tol,
                                  PetscInt steps, PetscScalar *b, PetscScalar *w, BCRDirectionsResult *result)
{
  const PetscInt old = d->k;
  PetscReal norm, cleaned; /* cleaned: what it was when b was last made orthogonal to the directions */
  PetscBool measured = PETSC_TRUE, exact = PETSC_TRUE, kept = PETSC_FALSE,
            clean; /* norm is that of b itself; see take() */
  BCRSource source = BCR_FROM_RESIDUAL;
  BCRStep step = {0, 0, 0, 0, 0};

  PetscFunctionBegin;
  result->products = 0;
  PetscCall(PetscArrayzero(w, d->ld));
  PetscCall(project(d, b, &norm));
  cleaned = norm;
  while (PETSC_TRUE) {
    if (!exact || (!measured && (norm <= tol || PetscIsInfOrNanReal(norm)))) {
      PetscCall(norm_of(d, b, &norm));
      measured = exact = PETSC_TRUE;
    }
    if (norm <= tol || result->products >= steps || PetscIsInfOrNanReal(norm)) break;
    if (d->k == d->most + BCR_DIRECTIONS_MORE) { /* goes on without those that are its own */
      PetscCall(collect(d, w));
      d->k = d->most;
    }
    PetscCall(make_room(d));
    clean = (PetscBool)(norm < PETSC_SQRT_MACHINE_EPSILON * cleaned);
    if (clean) cleaned = norm;
    PetscCall(direction(d, old, product, context, source, clean, b, norm, &result->products, &step, &kept));
    if (!kept) {
      if (source == BCR_FROM_NOWHERE || norm <= BCR_DIRECTIONS_ENOUGH * tol || PetscIsInfOrNanReal(step.q)) break;
      source = (BCRSource)(source + 1);
      continue;
    }
    source = PetscAbsScalar(step.y) < 0.01 * step.b ? BCR_FROM_PRODUCT : BCR_FROM_RESIDUAL;
    take(d, &step, b, &norm, &exact);
    measured = PETSC_FALSE;
    if (source == BCR_FROM_PRODUCT && norm <= BCR_DIRECTIONS_ENOUGH * tol) break;
  }
  if (!measured) PetscCall(norm_of(d, b, &norm));
  result->residual = norm;
  result->reached = (PetscBool)(norm <= tol);
  PetscCall(PetscArraycpy(d->sums, d->y + old, d->k - old));
  PetscCall(collect(d, w));
  PetscCall(keep(d, old, d->sums));
  PetscFunctionReturn(PETSC_SUCCESS);
}
