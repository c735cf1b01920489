/* One rank's batch of tridiagonal lines: its method, tiles, mixed precision. */
#include "triimpl.h"
#include <math.h>
#include <stdio.h>

#if defined(PETSC_USE_REAL___FLOAT128) || defined(PETSC_USE_REAL___FP16)
  #error "petscbcr works in double and single precision"
#endif

/* Bytes of a tile's scratch: more does not stay in a cache that a core has to itself; and where tiles of so few and so
   long lines are not worth it. Neither was measured apart */
#define TILE_BYTES (4 << 20)
#define LINE_BYTES (64 << 20)
/* numbers within 2^-62, 2^62 have products and quotients in single precision */
#define RANGE 62

static const BCRTriOps *const methods[] = {
  [BCR_TRI_SCAN] = &BCRTriScanOps, [BCR_TRI_CR] = &BCRTriCROps,      [BCR_TRI_PSCHEME] = &BCRTriPScheme,
  [BCR_TRI_DC] = &BCRTriDC,        [BCR_TRI_THOMAS] = &BCRTriThomas,
};

/* Tiles. Lanes across when there are enough of them side by side, along otherwise */
static void tri_shape(BCRTriLocal local)
{
  const BCRTriSpec *spec = &local->spec;
  BCRTriShape *s = &local->shape;
  const size_t size = local->single ? sizeof(float) : sizeof(double);
  const PetscInt bl = local->cpu->bundle;

  s->inner = spec->inner;
  s->n = spec->n;
  s->outer = spec->outer;
  if (spec->inner * spec->outer < 3 || ((size_t)spec->n * bl * size > LINE_BYTES && spec->inner * spec->outer < bl)) {
    s->kind = BCR_TRI_LINE;
    s->nv = 1;
    s->tiles = spec->inner * spec->outer;
  } else if (spec->inner < bl && spec->inner <= BCR_TRI_NV && (spec->outer >= spec->inner || spec->inner == 1)) {
    s->kind = BCR_TRI_ALONG;
    s->nv = (int)spec->inner;
    s->tiles = (spec->outer + bl - 1) / bl;
  } else {
    s->kind = BCR_TRI_ACROSS;
    s->nv = 8;
    while (s->nv > 1 && ((size_t)spec->n * s->nv * bl * size > TILE_BYTES || spec->inner <= bl * (s->nv / 2)))
      s->nv /= 2;
    s->across = (spec->inner + s->nv * bl - 1) / (s->nv * bl);
    s->tiles = s->across * spec->outer;
  }
}

/* r = f - A u in PetscReal */
static void tri_residual(BCRTriLocal t, const PetscReal *f, const PetscReal *u, PetscReal *r)
{
  const BCRTriSpec *s = &t->spec;

  for (PetscInt o = 0; o < s->outer; o++)
    for (PetscInt j = 0; j < s->n; j++) {
      const size_t base = (size_t)s->inner * (j + (size_t)s->n * o),
                   before = (size_t)s->inner * ((j ? j : s->n) - 1 + (size_t)s->n * o),
                   after = (size_t)s->inner * ((j + 1) % s->n + (size_t)s->n * o);
      double row[3] = {0, 0, 0};

      if (!s->perline) BCRTriGetRow(s, 0, j, row);
      for (PetscInt i = 0; i < s->inner; i++) {
        if (s->perline) BCRTriGetRow(s, BCRTriLineOf(s, i, o), j, row);
        r[base + i] =
          (PetscReal)(f[base + i] - (row[0] * u[before + i] + row[1] * u[base + i] + row[2] * u[after + i]));
      }
    }
}

/* A power of two that brings right-hand sides into the middle of the range of single precision; 1:
   they are there, as mostly, or nothing helps */
static PetscReal tri_scale(const BCRTriLocal t, const PetscReal *f)
{
  const size_t size = (size_t)t->spec.inner * (size_t)t->spec.n * (size_t)t->spec.outer;
  PetscReal most[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  int e;

  for (size_t i = 0; i < size; i++) most[i % 8] = PetscMax(most[i % 8], PetscAbsReal(f[i]));
  for (int k = 1; k < 8; k++) most[0] = PetscMax(most[0], most[k]);
  if (!(most[0] > 0 && most[0] <= PETSC_MAX_REAL)) return 1;
  (void)frexp((double)most[0], &e);
  return e >= -RANGE && e <= RANGE ? 1 : (PetscReal)ldexp(1, -e);
}

static PetscErrorCode tri_solve_mixed(BCRTriLocal t, const PetscReal *f, PetscReal *u, PetscInt corrections)
{
  const size_t size = (size_t)t->spec.inner * t->spec.n * t->spec.outer;
  const PetscReal scale = tri_scale(t, f);

  PetscFunctionBegin;
  if (f == u || scale != 1) {
    for (size_t i = 0; i < size; i++) t->copy[i] = scale * f[i];
    f = t->copy;
  }
  PetscCall(t->inner->ops->solve(t->inner, f, u));
  for (PetscInt k = 0; k < corrections; k++) {
    tri_residual(t, f, u, t->res);
    PetscCall(t->inner->ops->solve(t->inner, t->res, t->cor));
    for (size_t i = 0; i < size; i++) u[i] += t->cor[i];
  }
  for (size_t i = 0; i < size && scale != 1; i++) u[i] /= scale;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Single precision on fields of double: as they are, where float has numbers of that size */
static PetscErrorCode tri_solve_single(BCRTriLocal t, const PetscReal *f, PetscReal *u)
{
  const size_t size = (size_t)t->spec.inner * t->spec.n * t->spec.outer;
  const PetscReal scale = tri_scale(t, f);

  PetscFunctionBegin;
  if (scale == 1) PetscCall(t->ops->solve(t, f, u));
  else {
    for (size_t i = 0; i < size; i++) u[i] = scale * f[i];
    PetscCall(t->ops->solve(t, u, u));
    for (size_t i = 0; i < size; i++) u[i] /= scale;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether rows are far enough from the ends of the range of single precision for a correction there */
static PetscBool tri_in_range(const BCRTriSpec *s, PetscInt lines)
{
  for (PetscInt l = 0; l < lines; l++) {
    for (PetscInt j = 0; j < s->n; j++) {
      double row[3];
      int e;

      if (s->rows && j > s->nfirst && j < s->n - s->nlast - 1) j = s->n - s->nlast - 1; /* all the same */
      BCRTriGetRow(s, l, j, row);
      (void)frexp(BCRTriRowSize(row), &e);
      if (e < -RANGE || e > RANGE) return PETSC_FALSE;
    }
  }
  return PETSC_TRUE;
}

/* Mixed: keeps the operator, and finds with a random right-hand side how many corrections reach
   double precision; -1: none do */
static PetscErrorCode tri_create_mixed(BCRTriLocal t)
{
  const BCRTriSpec *s = &t->spec;
  const size_t size = (size_t)s->inner * s->n * s->outer;
  const PetscInt lines = s->perline ? t->lines : 1;
  unsigned long long state = 88172645463325252ULL;
  double best = 0;
  BCRTriOptions options = t->options;
  PetscReal *f, *u;

  PetscFunctionBegin;
  options.precision = BCR_TRI_SINGLE;
  t->corrections = -1;
  if (!tri_in_range(s, lines)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRTriLocalCreate(s, &options, &t->inner));
  PetscCall(PetscMalloc3(size, &t->res, size, &t->cor, size, &t->copy));
  if (s->rows) {
    PetscCall(PetscMalloc1(lines, &t->rows));
    PetscCall(PetscArraycpy(t->rows, s->rows, lines));
    t->spec.rows = t->rows;
  } else {
    PetscCall(
      PetscMalloc3((size_t)lines * s->n, &t->low, (size_t)lines * s->n, &t->diag, (size_t)lines * s->n, &t->up));
    PetscCall(PetscArraycpy(t->low, s->low, (size_t)lines * s->n));
    PetscCall(PetscArraycpy(t->diag, s->diag, (size_t)lines * s->n));
    PetscCall(PetscArraycpy(t->up, s->up, (size_t)lines * s->n));
    t->spec.low = t->low;
    t->spec.diag = t->diag;
    t->spec.up = t->up;
  }
  PetscCall(PetscMalloc2(size, &f, size, &u));
  for (size_t i = 0; i < size; i++) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    f[i] = (PetscReal)((double)(state >> 11) / 4503599627370496.0 - 1);
  }
  for (PetscInt o = 0; o < s->outer; o++) /* of the size of their rows */
    for (PetscInt j = 0; j < s->n; j++)
      for (PetscInt i = 0; i < s->inner; i++) {
        double row[3];

        BCRTriGetRow(s, s->perline ? BCRTriLineOf(s, i, o) : 0, j, row);
        f[(size_t)i + (size_t)s->inner * ((size_t)j + (size_t)s->n * (size_t)o)] *= (PetscReal)BCRTriRowSize(row);
      }
  PetscCall(tri_solve_mixed(t, f, u, 0));
  for (PetscInt k = 1; k <= 4; k++) {
    double error = 0, normu = 0; /* |r| of a row over the row's size and the largest |u| */

    tri_residual(t, f, u, t->res);
    PetscCall(t->inner->ops->solve(t->inner, t->res, t->cor));
    for (size_t i = 0; i < size; i++) u[i] += t->cor[i];
    tri_residual(t, f, u, t->res);
    for (size_t i = 0; i < size; i++) normu = PetscMax(normu, fabs((double)u[i]));
    for (PetscInt o = 0; o < s->outer; o++)
      for (PetscInt j = 0; j < s->n; j++)
        for (PetscInt i = 0; i < s->inner; i++) {
          double row[3], e;

          BCRTriGetRow(s, s->perline ? BCRTriLineOf(s, i, o) : 0, j, row);
          e = fabs((double)t->res[(size_t)i + (size_t)s->inner * ((size_t)j + (size_t)s->n * (size_t)o)]) /
              (BCRTriRowSize(row) * (1 + normu));
          if (!(e <= error)) error = e;
        }
    /* no gain from the last one */
    if (!(error == error) || (k > 1 && error > 0.5 * best && error > 2 * PETSC_MACHINE_EPSILON)) break;
    best = error;
    if (error <= 20 * PETSC_MACHINE_EPSILON) {
      t->corrections = PetscMax(2, k); /* one more for right-hand sides worse than this one */
      if (error <= 2 * PETSC_MACHINE_EPSILON) break;
    }
  }
  PetscCall(PetscFree2(f, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode tri_free_mixed(BCRTriLocal t)
{
  PetscFunctionBegin;
  PetscCall(BCRTriLocalDestroy(&t->inner));
  PetscCall(PetscFree(t->rows));
  PetscCall(PetscFree3(t->low, t->diag, t->up));
  PetscCall(PetscFree3(t->res, t->cor, t->copy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* whether single precision would be slower than double on fields of double */
static PetscBool precision_wasted(const BCRTriLocal t)
{
  const BCRTriSpec *s = &t->spec;

  if (PetscDefined(USE_REAL_SINGLE) || t->options.precision != BCR_TRI_SINGLE || t->options.device) return PETSC_FALSE;
  if (t->options.method != BCR_TRI_SCAN && t->options.method != BCR_TRI_THOMAS) return PETSC_FALSE;
  return (PetscBool)(s->outer > s->inner && s->inner * s->n < BCRCpuGetTable(t->options.isa, 1)->bundle);
}

PetscErrorCode BCRTriLocalCreate(const BCRTriSpec *spec, const BCRTriOptions *options, BCRTriLocal *local)
{
  BCRTriLocal t;

  PetscFunctionBegin;
  PetscCall(BCRTriCheck(spec));
  PetscCall(PetscNew(&t));
  *local = t;
  t->spec = *spec;
  t->options = *options;
  t->lines = spec->inner / spec->rep * spec->outer;
  t->options.method = BCRTriChoose(spec, options->method);
  PetscCheck((size_t)t->options.method < PETSC_STATIC_ARRAY_LENGTH(methods) && methods[t->options.method],
             PETSC_COMM_SELF, PETSC_ERR_SUP, "Method %d for lines", (int)t->options.method);
  t->ops = methods[t->options.method];
  if (!PetscDefined(USE_REAL_SINGLE) && options->precision == BCR_TRI_MIXED && t->options.method != BCR_TRI_DC &&
      t->lines && spec->n) {
    PetscCall(tri_create_mixed(t));
    if (t->corrections < 0) {
      PetscCall(tri_free_mixed(t));
      t->spec = *spec;
    }
  }
  t->single = PetscDefined(USE_REAL_SINGLE) || options->precision == BCR_TRI_SINGLE ? 1 : 0;
  /* its own: A2SD of paper 004 */
  if (options->precision == BCR_TRI_MIXED && t->options.method == BCR_TRI_DC) t->single = 1;
  /* lines along x that do not fill a vector of floats: half of its lanes would be idle, and memory is that of double */
  if (precision_wasted(t)) t->single = 0;
  t->io = t->single && !PetscDefined(USE_REAL_SINGLE) ? 1 : 0;
  t->cpu = BCRCpuGetTable(options->isa, t->single);
  t->info.method = t->options.method;
  if (t->inner) {
    t->info = t->inner->info;
    t->info.workspace += 3 * sizeof(PetscReal) * (size_t)spec->inner * spec->n * spec->outer;
    PetscCall(PetscSNPrintf(t->info.what + strlen(t->info.what), sizeof(t->info.what) - strlen(t->info.what),
                            ", %" PetscInt_FMT " corrections in double", t->corrections));
  } else if (t->lines && spec->n) {
    tri_shape(t);
    PetscCall(t->ops->create(t));
    if (!t->work) {
      const size_t bytes = t->cpu->tri->work(&t->shape) * (t->single ? sizeof(float) : sizeof(double));

      t->info.tables = t->arena.bytes;
      PetscCall(BCRArenaGet(&t->arena, bytes, &t->work));
      t->info.workspace = bytes;
    }
    if (precision_wasted(t))
      PetscCall(PetscStrlcat(t->info.what, ", in double: lines too short for single", sizeof(t->info.what)));
    if (options->precision == BCR_TRI_MIXED && !t->single)
      PetscCall(PetscStrlcat(t->info.what, ", all in double: too ill-conditioned for single, or beyond its range",
                             sizeof(t->info.what)));
  }
  if (!t->inner) {
    t->spec.rows = NULL;
    t->spec.low = t->spec.diag = t->spec.up = NULL;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTriLocalSolve(BCRTriLocal t, const PetscReal *f, PetscReal *u)
{
  PetscFunctionBegin;
  if (!t->lines || !t->spec.n) PetscFunctionReturn(PETSC_SUCCESS);
  if (t->inner) PetscCall(tri_solve_mixed(t, f, u, t->corrections));
  else if (t->io) PetscCall(tri_solve_single(t, f, u));
  else PetscCall(t->ops->solve(t, f, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTriLocalGetInfo(BCRTriLocal local, BCRTriInfo *info)
{
  PetscFunctionBegin;
  *info = local->info;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTriLocalDestroy(BCRTriLocal *local)
{
  PetscFunctionBegin;
  if (!*local) PetscFunctionReturn(PETSC_SUCCESS);
  if ((*local)->ops && (*local)->ops->destroy && (*local)->data) PetscCall((*local)->ops->destroy(*local));
  PetscCall(tri_free_mixed(*local));
  PetscCall(BCRArenaFree(&(*local)->arena));
  PetscCall(PetscFree(*local));
  PetscFunctionReturn(PETSC_SUCCESS);
}
