/*
  Level 0 of complex boxes: pairs.h.

  Block rows go through groups as they are. Separators, one row of eight, are taken apart: row s of D has its real parts
  from s ldd on and the imaginary ones half a row behind, so that both are rows for the transform, and put together again.
*/
#include "coreimpl.h"
#include "../pairs.h"
#include <complex.h>
#include <string.h>

#define BATCH BCR_WAVES_BATCH

/* Rows of separators are coupled by about the distance'th power of their inverse pivots, which has to be a number */
#define PAIRS_MOST 1e10

typedef struct {
  BCRLevel0Shape shape;
  BCRLevel0Kind kind[3];
  double scale;
  BCRLinesTab tab;      /* tau = 0 */
  BCRWavesModes *modes; /* [batches] else: of lines whose neighbours are coupled by one */
  int *pivot;           /* [batches] */
} PairsPlane;

struct _n_BCRPairs {
  PetscInt dim, n[3]; /* along rows, block rows, across */
  BCRAxis axis[3];
  char label[3];
  double shift, tau, factor;
  ptrdiff_t ld[3]; /* numbers between neighbours */
  const BCRCpuTable *cpu;
  BCRDtt dtt[2]; /* along rows, across */
  const double *lambda[2], *norm[2];
  BCRLineRows rows;
  PetscInt ng, nplane;
  PairsPlane *plane;
  size_t ring;
  double *D, *work0, *work, *row; /* row: [2 n[0]] */
  double *ones, *zeros;           /* [separators] */
  ptrdiff_t ldd, step;
  BCRArena arena, space;
};

/* What h eliminated rows beyond a row leave of its diagonal beyond delta (1 + shares), and the share of either side:
   gaps_row() of lines.c for a complex delta */
static void gap_row(PetscInt h, double inward, double beta, double complex delta, double complex *extra,
                    double complex *share)
{
  double complex r = 0, num = beta, y = 0;

  *extra = beta;
  *share = 0;
  for (PetscInt i = 0; i < h; i++) {
    y = 1 + y * r;
    num = delta + (i ? num * r : beta);
    r = 1 / ((i ? 1 : inward) + num);
    *extra *= r;
    *share = y * r;
  }
}

static void gap_end(const BCRLineRows *rows, int e, double complex delta, double complex *extra, double complex *share)
{
  const BCREnd end = rows->end[e];

  if (BCREndIsGeneral(end)) gap_row(rows->gapend[e], rows->inward[e], rows->excess[e], delta, extra, share);
  else gap_row(rows->gapend[e], BCREndGetRule(end).inward, BCREndExcess(end), delta, extra, share);
}

/* Lines over the separators of plane k, each over the coupling of its rows */
static PetscErrorCode lines_complex(BCRPairs p, double shift, PairsPlane *plane)
{
  const PetscInt nx = p->n[0], batches = (nx + BATCH - 1) / BATCH;
  const BCRLineRows *rows = &p->rows;
  const double a = (double)p->axis[1].a;

  PetscFunctionBegin;
  PetscCall(BCRArenaGet(&p->arena, (size_t)batches * sizeof(*plane->modes), &plane->modes));
  PetscCall(BCRArenaGet(&p->arena, (size_t)batches * sizeof(*plane->pivot), &plane->pivot));
  for (PetscInt q = 0; q < batches; q++) {
    BCRWavesModes *m = &plane->modes[q];

    plane->pivot[q] = 0;
    for (PetscInt l = 0; l < BATCH; l++) {
      const PetscInt k = PetscMin(q * BATCH + l, nx - 1);
      const double complex delta = (shift + (double)p->axis[0].a * p->lambda[0][k]) / a + p->tau / a * _Complex_I;
      double complex t, share, extra[2], endshare[2], d[3], scale;

      gap_row(rows->gap, 1, BCREndExcess(BCREndAtSeparator()), delta, &t, &share);
      for (int e = 0; e < 2; e++) gap_end(rows, e, delta, &extra[e], &endshare[e]);
      d[0] = (delta * (1 + endshare[0] + share) + extra[0] + t) / t;
      d[1] = (delta * (1 + share + share) + t + t) / t;
      d[2] = (delta * (1 + share + endshare[1]) + t + extra[1]) / t;
      scale = p->norm[0][k] / t;
      for (int row = 0; row < 3; row++) {
        m->re[row][l] = creal(d[row]);
        m->im[row][l] = cimag(d[row]);
        if (cabs(d[row]) < (row == 1 ? 2 : 1)) plane->pivot[q] = 1; /* not dominant by rows */
      }
      m->scale[0][l] = creal(scale);
      m->scale[1][l] = cimag(scale);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode lines_real(BCRPairs p, double shift, PairsPlane *plane)
{
  const PetscInt nx = p->n[0];
  const double a = (double)p->axis[1].a;
  double *delta;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(nx, &delta));
  for (PetscInt k = 0; k < nx; k++) delta[k] = (shift + (double)p->axis[0].a * p->lambda[0][k]) / a;
  BCRCallElse(BCRLinesTabCreate(&p->rows, nx, delta, p->norm[0], NULL, PETSC_FALSE, (PetscInt)p->cpu->lines->strip(),
                                &p->arena, &plane->tab),
              (void)PetscFree(delta));
  PetscCall(PetscFree(delta));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double plane_shift(BCRPairs p, PetscInt k)
{
  return p->shift + (p->dim > 2 ? (double)p->axis[2].a * p->lambda[1][k] : 0);
}

/* All that depends on the factor */
static PetscErrorCode pairs_tables(BCRPairs p, double factor)
{
  const PetscInt lanes = (PetscInt)p->cpu->level0->lanes();
  BCRLevel0Modes modes[3];
  size_t level0 = 0, keep, work = PetscMax(p->cpu->lines->work(p->rows.n), p->cpu->waves->work(p->rows.n));

  PetscFunctionBegin;
  PetscCall(BCRArenaFree(&p->arena));
  PetscCall(BCRArenaFree(&p->space));
  PetscCall(PetscMemzero(modes, sizeof(modes)));
  for (PetscInt k = 0; k < p->nplane; k++) {
    PairsPlane *plane = &p->plane[k];

    plane->scale = factor * (p->dim > 2 ? p->norm[1][k] : 1) / (double)p->axis[1].a;
    PetscCall(BCRLevel0CreatePairs(&p->axis[0], &p->axis[1], &p->rows, p->ng, plane_shift(p, k), p->tau, plane->scale,
                                   lanes, p->ring, &p->arena, modes, &plane->shape, plane->kind));
    if (p->tau == 0) PetscCall(lines_real(p, plane_shift(p, k), plane));
    else PetscCall(lines_complex(p, plane_shift(p, k), plane));
    level0 = PetscMax(level0, p->cpu->level0->work(&plane->shape));
  }
  /* half a row: an odd number of cache lines, so that rows spread over all sets of the caches */
  p->ldd = 2 * ((p->n[0] + 8 + 7) / 8 * 8);
  if (p->ldd % 32 == 0) p->ldd += 16;
  for (int d = 0; d < 2; d++)
    if (p->dtt[d]) work = PetscMax(work, BCRDttWork(p->dtt[d], p->cpu->lanes));
  keep = (p->cpu->level0->keep(&p->plane[0].shape) + 15) / 16 * 16;
  PetscCall(BCRArenaGet(&p->space, ((size_t)(p->ldd * p->rows.n) + 64) * sizeof(double), &p->D));
  PetscCall(BCRArenaGet(&p->space, (PetscMax(level0, keep + work) + 64) * sizeof(double), &p->work0));
  p->work = p->work0 + keep;
  PetscCall(BCRArenaGet(&p->space, ((size_t)p->ldd + 64) * sizeof(double), &p->row));
  PetscCall(BCRArenaGet(&p->space, (size_t)p->rows.n * sizeof(double), &p->ones));
  PetscCall(BCRArenaGet(&p->space, (size_t)p->rows.n * sizeof(double), &p->zeros));
  for (PetscInt s = 0; s < p->rows.n; s++) {
    p->ones[s] = 1;
    p->zeros[s] = 0;
  }
  p->factor = factor;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double smallest(PetscInt n, const double v[])
{
  double least = v[0];

  for (PetscInt i = 1; i < n; i++) least = PetscMin(least, v[i]);
  return least;
}

/* Eigenvalues of groups have a positive real part, or an imaginary one, with the margin that plan.c has for operators of
   either sign, so that no pivot is small, and lines over the separators are no rings that are complex or not definite */
static PetscBool pairs_possible(BCRPairs p)
{
  const double a = (double)p->axis[1].a, mode = (double)p->axis[0].a * smallest(p->n[0], p->lambda[0]),
               least = p->shift + (p->dim > 2 ? (double)p->axis[2].a * smallest(p->n[2], p->lambda[1]) : 0);

  if (BCREndIsPeriodic(p->axis[1].end[0]) && (p->tau != 0 || least + mode < 0)) return PETSC_FALSE;
  if (hypot(p->shift, p->tau) + 4 * (double)p->axis[0].a > PAIRS_MOST * a) return PETSC_FALSE;
  if (p->dim > 2 && (double)p->axis[2].a > PAIRS_MOST * a) return PETSC_FALSE;
  for (int kind = 0; kind < 3; kind++) {
    double values[8], A[64], S[64];
    const PetscInt h = BCRLevel0KindModes(&p->rows, 8, kind, 8, values, A, S);

    for (PetscInt j = 0; j < h; j++) {
      const double value = PetscMax(least + a * values[j], 0);

      if (!(4 * hypot(value, p->tau) >= a * values[j])) return PETSC_FALSE;
    }
  }
  return PETSC_TRUE;
}

static PetscErrorCode pairs_fill(BCRPairs p, PetscInt dim, const BCRAxis axis[], const PetscInt stride[],
                                 const BCRCoreOptions *options, PetscBool *possible)
{
  static const char xyz[] = "xyz";
  const PetscBool open[2] = {PETSC_FALSE, PETSC_FALSE};
  const PetscInt role[3] = {0, dim > 2 ? 2 : 1, 1};
  BCRPlanLimits limits;

  PetscFunctionBegin;
  *possible = PETSC_FALSE;
  BCRPlanLimitsHost(options->isa, PETSC_FALSE, &limits);
  if (dim < 2 || options->plain || options->radix || options->nlevels || options->team)
    PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt d = 0; d < dim; d++)
    if (axis[d].lower || axis[d].n < 2 || !(axis[d].a > 0)) PetscFunctionReturn(PETSC_SUCCESS);
  p->dim = dim;
  for (PetscInt i = 0; i < dim; i++) {
    p->axis[i] = axis[role[i]];
    p->n[i] = p->axis[i].n;
    p->ld[i] = 2 * (ptrdiff_t)stride[role[i]];
    p->label[i] = xyz[role[i]];
  }
  if (BCREndIsPeriodic(p->axis[0].end[0]) || p->n[0] < limits.row || p->n[1] < PetscMax(limits.rows, 16))
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRLevel0Rows(&p->axis[1], 8, open, &p->rows, &p->ng));
  for (PetscInt i = 0; i < dim; i += 2) {
    PetscCall(BCRDttCreate(p->n[i], p->axis[i].end[0], p->axis[i].end[1], PETSC_FALSE, &p->dtt[i / 2]));
    PetscCall(BCRDttGetModes(p->dtt[i / 2], &p->lambda[i / 2], &p->norm[i / 2]));
  }
  if (!pairs_possible(p)) PetscFunctionReturn(PETSC_SUCCESS);
  p->cpu = BCRCpuGetTable(options->isa, 0);
  p->ring = options->ring ? options->ring : BCRCoreCacheBytes(262144) / 4;
  p->step = PetscMax(p->cpu->lanes * BCRDttLines(p->dtt[0]) / 2, 2);
  p->nplane = dim > 2 ? p->n[2] : 1;
  PetscCall(PetscCalloc1(p->nplane, &p->plane));
  PetscCall(pairs_tables(p, 1));
  *possible = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPairsCreate(PetscInt dim, const BCRAxis axis[], double shift, double tau, const PetscInt stride[],
                              const BCRCoreOptions *options, BCRPairs *pairs)
{
  PetscBool possible;
  BCRPairs p;

  PetscFunctionBegin;
  *pairs = NULL;
  PetscCall(PetscNew(&p));
  p->shift = shift;
  p->tau = tau;
  BCRCallElse(pairs_fill(p, dim, axis, stride, options, &possible), (void)BCRPairsDestroy(&p));
  if (!possible) PetscCall(BCRPairsDestroy(&p));
  *pairs = p;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPairsDestroy(BCRPairs *pairs)
{
  BCRPairs p = *pairs;

  PetscFunctionBegin;
  if (!p) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 2; d++) PetscCall(BCRDttDestroy(&p->dtt[d]));
  PetscCall(BCRArenaFree(&p->arena));
  PetscCall(BCRArenaFree(&p->space));
  PetscCall(PetscFree(p->plane));
  PetscCall(PetscFree(*pairs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPairsGetInfo(BCRPairs p, BCRPairsInfo *info)
{
  const double total = (double)p->n[0] * p->n[1] * (p->dim > 2 ? p->n[2] : 1);
  const char *across = "";
  char first[64] = "";

  PetscFunctionBegin;
  if (p->dim > 2) {
    (void)PetscSNPrintf(first, sizeof(first), "transform along %c, planes with ", p->label[2]);
    across = first;
  }
  info->tables = p->arena.bytes;
  info->workspace = p->space.bytes;
  info->flops = 2 * 40 * total + 2 * BCRDttFlops(p->dtt[0]) * 2 * (double)p->rows.n * p->nplane;
  if (p->dim > 2) info->flops += 4 * BCRDttFlops(p->dtt[1]) * total / p->n[2];
  for (int d = 0; d < 2; d++)
    if (p->dtt[d]) info->tables += BCRDttTableBytes(p->dtt[d]);
  PetscCall(PetscSNPrintf(info->plan, sizeof(info->plan),
                          "%sblock rows along %c: radix 8 in physical space, of complex numbers, then %" PetscInt_FMT
                          " separators transformed along %c, a %sline for each mode",
                          across, p->label[1], p->rows.n, p->label[0], p->tau != 0 ? "complex " : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- solves ---- */

/* Separators s .. s + count - 1, to modes by their parts (0) or back */
static void separators_transform(BCRPairs p, int direction, ptrdiff_t s, ptrdiff_t count)
{
  const BCRFieldsTable *fields = p->cpu->fields;
  const ptrdiff_t n = p->n[0], half = p->ldd / 2;
  double *D = p->D + s * p->ldd;

  if (count <= 0) return;
  for (ptrdiff_t r = 0; r < count && !direction; r++) {
    double *d = D + r * p->ldd;

    memcpy(p->row, d, 2 * (size_t)n * sizeof(double));
    fields->part(n, p->row, d, d + half);
  }
  p->cpu->dtt.rows(p->dtt[0], direction, 0, 2 * count, D, half, D, half, p->work);
  for (ptrdiff_t r = 0; r < count && direction; r++) {
    double *d = D + r * p->ldd;

    fields->join(n, d, d + half, p->row);
    memcpy(d, p->row, 2 * (size_t)n * sizeof(double));
  }
}

static void separators_solve(BCRPairs p, const PairsPlane *plane)
{
  const BCRWavesLine line = {p->rows.n, p->ones, p->zeros, p->ones};
  const ptrdiff_t half = p->ldd / 2;

  if (p->tau == 0) {
    for (int k = 0; k < 2; k++) p->cpu->lines->tabled(&plane->tab, 0, p->D + k * half, p->ldd, p->work);
    return;
  }
  for (PetscInt k = 0, q = 0; k < p->n[0]; k += BATCH, q++)
    p->cpu->waves->pair(&line, plane->pivot[q], &plane->modes[q], p->D + k, p->D + half + k, p->ldd, p->work);
}

static void plane_solve(BCRPairs p, const PairsPlane *plane, const double *f, double *u)
{
  const BCRLevel0Table *level0 = p->cpu->level0;
  const BCRLevel0Shape *sh = &plane->shape;
  const ptrdiff_t ld = p->ld[1], ng = sh->ng, nsep = p->rows.n;
  BCRLevel0Args args = {.sepscale = plane->scale};
  ptrdiff_t done = 0, end = nsep; /* separators done .. end - 1 are still modes */

  level0->start(sh, p->work0);
  for (ptrdiff_t g = 0; g < ng; g += p->step) { /* separators are transformed while they are in the cache */
    const ptrdiff_t g1 = PetscMin(g + p->step, ng), ready = g1 == ng ? nsep : g1 - 1,
                    count = g1 == ng ? ready - done : (ready - done) / p->step * p->step;

    level0->reduce(sh, plane->kind, g, g1, &args, f, ld, p->D, p->ldd, p->work0);
    separators_transform(p, 0, done, count);
    done += count;
  }
  separators_solve(p, plane);
  if (sh->yperiodic) { /* the first group needs the last separator */
    end = nsep - 1;
    separators_transform(p, 1, end, 1);
  }
  args.ahead = p->step;
  for (ptrdiff_t g1 = ng; g1 > 0; g1 -= p->step) {
    const ptrdiff_t g = PetscMax(g1 - p->step, 0), s = PetscMax(g - 1, 0);

    separators_transform(p, 1, s, end - s);
    end = PetscMin(end, s);
    level0->back(sh, plane->kind, g, g1, &args, f, ld, u, ld, p->D, p->ldd, p->work0);
  }
}

/* A transform across planes, of whole rows at a time */
static void transform_across(BCRPairs p, int direction, const double *f, double *u)
{
  for (PetscInt j = 0; j < p->n[1]; j++)
    p->cpu->dtt.cols(p->dtt[1], direction, 0, 2 * (ptrdiff_t)p->n[0], f + j * p->ld[1], p->ld[2], u + j * p->ld[1],
                     p->ld[2], p->work);
}

PetscErrorCode BCRPairsSolve(BCRPairs p, double factor, const double *f, double *u)
{
  PetscFunctionBegin;
  if (factor != p->factor) PetscCall(pairs_tables(p, factor));
  if (p->dim == 2) plane_solve(p, &p->plane[0], f, u);
  else {
    transform_across(p, 0, f, u);
    for (PetscInt k = 0; k < p->nplane; k++) plane_solve(p, &p->plane[k], u + k * p->ld[2], u + k * p->ld[2]);
    transform_across(p, 1, u, u);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
