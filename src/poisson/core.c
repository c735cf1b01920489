/*
  The numerical core: which plan solves a box, its tables, and the solve. See core.h and docs/method.md.

  Plans of a plane (x, y), one for each shift of a batch:
    LEVEL0    level 0 in physical space, the separators transformed along x, a line over the separators for each mode; or, where the separators
              are an axis of their own, transformed along y, and sums over poles along x (across.c)
    FOURIERX  transform along x, lines along y
    FOURIERY  transform along y, lines along x (a general x axis)
    REDUCTION block cyclic reduction with a given schedule (reduction.h)
  Three dimensions: transform along a third axis, a plane for each of its modes. That axis is y
  where it can be: the planes (x, z) then have whole rows of memory for their rows, and the lines of
  the transform lie in one page after the other.
*/
#include "tables.h"
#include "reduction.h"
#include <string.h>
#include <unistd.h>

typedef enum {
  PLAN_NONE, /* one unknown */
  PLAN_LINE,
  PLAN_LEVEL0,
  PLAN_FOURIERX,
  PLAN_FOURIERY,
  PLAN_REDUCTION,
  PLAN_RECURSIVE /* three-dimensional reduction by recursion */
} BCRPlanKind;

typedef struct { /* of one plane */
  BCRLevel0Shape shape;
  BCRLevel0Kind kind[3];
  double scale;
  BCRLinesTab tab;
  BCRLinesGen gen;
  BCRPoleSum sum;
  BCRPoleLine line;
  PetscBool general;
  /* bordered, level 0: couplings of the first and the last separator to the interfaces, for unit
     coupling */
  double *reach[2];
} BCRPlanePlan;

struct _n_BCRCore {
  PetscInt dim, dim0; /* without axes of one unknown; as created */
  PetscInt n[3];
  /* x, y or z: in the plans the first axis has unit stride, the second one is along the blocks, the
     third is transformed */
  char label[3];
  /* outer: of f and u where those have no unit stride; packed then holds the box */
  ptrdiff_t stride[3], outer[3];
  void *packed;
  PetscBool unpacked;          /* inside the solve of the packed box */
  BCRAxis axis[3];             /* the axes that are left; arrays owned */
  double shift, fixed, factor; /* fixed: what the axes of one unknown add */
  PetscBool singular, single;  /* single: work type */
  BCRPrecision io;
  BCRCoreOptions options;
  const BCRCpuTable *cpu, *narrow; /* narrow: of vectors half as long, for a few lines */
  BCRPlanKind kind;
  PetscInt nplane;
  BCRPlanePlan *plane;
  BCRDtt dtt[3];
  /* PLAN_LEVEL0: dtt[1] transforms the separators along y, these sum over poles; NULL: dtt[0] along
     x */
  const BCRCpuTable *poles;
  BCRAcross across; /* then */
  BCRReduction red;
  BCRArena arena;         /* tables */
  BCRArena space;         /* work arrays */
  void *D, *work, *work0; /* separators, transforms and lines, level 0 */
  ptrdiff_t ldd;
  double *pivot; /* PLAN_LINE: 1/P */
  /* PLAN_LEVEL0, singular: means of the rows of f and of u; NULL where the mean of u is not known
     from them */
  double *rowsum;
  void *corner; /* rows of a group; NULL where all weights are one */
  double endsum;
  PetscBool bordered; /* core.h */
  BCRCoreBorder border;
  ptrdiff_t dplane;          /* elements of D for one plane: bordered cores keep all */
  double *line;              /* across: of the constant mode */
  double *edge[2], *column;  /* bordered; singular and not: w v of plane_sums() */
  double lineq;              /* periodic line: norm of the last unknown */
  PetscInt pinx, piny, pinz; /* positions of the constant modes of a singular operator */
  BCRCoreInfo info;
};

static inline PetscBool axis_general(const BCRAxis *a)
{
  return a->lower ? PETSC_TRUE : PETSC_FALSE;
}
/* null vector of the transpose of a singular axis */
static inline double end_weight(const BCRAxis *a, PetscInt i)
{
  return a->weight ? (double)a->weight[i] : BCRAxisGetEndWeight(a, i);
}
/* plain sums along the axis are zero for every mode but the constant: both the axis and its transpose have
   the constant in their null spaces */
static inline PetscBool axis_sums(const BCRAxis *a)
{
  const BCREndRule low = BCREndGetRule(a->end[0]), high = BCREndGetRule(a->end[1]);

  return !a->lower && low.excess == 0 && high.excess == 0 && low.weight == 1 && high.weight == 1 ? PETSC_TRUE
                                                                                                 : PETSC_FALSE;
}

static double axis_weight(const BCRAxis *x)
{
  return x->n - (1 - end_weight(x, 0)) - (1 - end_weight(x, x->n - 1));
}

/* The means m of the rows (columns) of the solution, of weighted mean zero, from those of f less
   its mean: with unit coupling, slopes g_i = m_(i+1) - m_i fall by f_i from one to the next; the
   first one is known from a Neumann end, or from their sum being zero round a periodic axis. */
static void line_solution(const BCRAxis *y, const double *f, double mean, double *m)
{
  double g = 0, sum = 0;

  if (BCRAxisIsPeriodic(y)) {
    for (PetscInt i = 0; i < y->n; i++) sum += g -= f[i] - mean;
    g = -sum / y->n;
  }
  sum = 0;
  m[0] = 0;
  for (PetscInt i = 0; i < y->n - 1; i++) {
    g -= (f[i] - mean) * end_weight(y, i);
    m[i + 1] = m[i] + g;
    sum += end_weight(y, i + 1) * m[i + 1];
  }
  for (PetscInt i = 0; i < y->n; i++) m[i] -= sum / axis_weight(y);
}

/* Bytes of the second-level cache, otherwise where the system does not say */
static size_t cache_bytes(size_t otherwise)
{
  long b = -1;

#if defined(_SC_LEVEL2_CACHE_SIZE)
  b = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
  return b > 0 ? (size_t)b : otherwise;
}

/* Whether level 0 asks for rows of f before it is there: where the box is larger than what the
   hardware's own prefetch keeps up with, or where lines are so short that it hardly begins */
static PetscBool box_far(BCRCore c)
{
  const size_t line = (size_t)c->n[0] * (c->io == BCR_DOUBLE ? sizeof(double) : sizeof(float));

  return line < 2048 || line * c->n[1] * c->nplane > 4 * cache_bytes(1u << 20) ? PETSC_TRUE : PETSC_FALSE;
}

/* lines along axis y with any coefficients, shifts sigma[k], factors norm[k] */
static PetscErrorCode gen_create(BCRCore c, const BCRAxis *y, PetscInt nk, const double *sigma, const double *norm,
                                 PetscInt pin, BCRLinesGen *g)
{
  double *l, *d, *u;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(y->n, &l, y->n, &d, y->n, &u));
  for (PetscInt i = 0; i < y->n; i++) {
    BCRAxisGetRow(y, i, &l[i], &d[i], &u[i]);
    d[i] -= l[i] + u[i];
  }
  g->n = y->n - (c->border.open[1] ? 1 : 0);
  g->nk = nk;
  g->periodic = BCRAxisIsPeriodic(y);
  g->pin = pin;
  ierr = BCRArenaReal(&c->arena, c->single, y->n, l, &g->lower);
  if (!ierr) ierr = BCRArenaReal(&c->arena, c->single, y->n, d, &g->exc);
  if (!ierr) ierr = BCRArenaReal(&c->arena, c->single, y->n, u, &g->upper);
  PetscCall(PetscFree3(l, d, u));
  PetscCall(ierr);
  PetscCall(BCRArenaReal(&c->arena, c->single, nk, sigma, &g->sigma));
  PetscCall(BCRArenaReal(&c->arena, c->single, nk, norm, &g->scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The kernels of sums over poles where the separators of level 0 are transformed along y; NULL:
   along x. For whole planes alone: those of a box, and the rows between two interfaces, are few and
   transformed while they are in the cache. One mode costs what as many as there are lanes do, so
   that half as many have to be there */
static const BCRCpuTable *separators_across(BCRCore c, double shift)
{
  const BCRCpuTable *poles;
  PetscInt modes;

  if (c->kind != PLAN_LEVEL0 || c->dim != 2 || c->bordered || c->options.separators == 1 ||
      !BCRAcrossRows(&c->axis[0], &c->axis[1], shift, &c->across))
    return NULL;
  modes = c->across.rows.n;
  poles = 2 * modes > c->cpu->lanes ? c->cpu : c->narrow;
  return c->options.separators == 2 || 2 * modes >= poles->lanes ? poles : NULL;
}

/* Everything that depends on the shift. d, w: as long as the longer of the first two axes */
static PetscErrorCode core_tables_with(BCRCore c, double d[], double w[])
{
  const BCRAxis *x = &c->axis[0], *y = &c->axis[1], *z = &c->axis[2];
  const double *lx = NULL, *nx = NULL, *ly = NULL, *ny = NULL, *lz = NULL, *nz = NULL;
  const double shift = c->singular ? 0 : c->shift + c->fixed;
  const PetscInt n0 = c->dim > 0 ? x->n : 0, n1 = c->dim > 1 ? y->n : 0;
  size_t work = 0, work0 = 0, keep = 0, dsize = 0, lines = 0;
  ptrdiff_t strip = c->cpu->lines->strip(), lanes = c->cpu->level0->lanes();
  const size_t ring = c->options.ring ? c->options.ring : cache_bytes(262144) / 4;
  PetscInt mostkeep = 0;

  PetscFunctionBegin;
  PetscCall(BCRArenaFree(&c->arena));
  PetscCall(BCRArenaFree(&c->space));
  c->D = c->work = c->work0 = NULL;
  c->poles = separators_across(c, shift);
  if (c->poles && !c->dtt[1])
    PetscCall(BCRDttCreate(c->across.rows.n, c->across.end[0], c->across.end[1], c->single, &c->dtt[1]));
  if ((c->kind == PLAN_LEVEL0 || c->kind == PLAN_FOURIERX) && !c->poles && !c->dtt[0])
    PetscCall(BCRDttCreate(x->n, x->end[0], x->end[1], c->single, &c->dtt[0]));
  for (PetscInt i = 0; i < 3; i++) {
    const double **l = i == 0 ? &lx : (i == 1 ? &ly : &lz), **n = i == 0 ? &nx : (i == 1 ? &ny : &nz);

    if (c->dtt[i]) {
      PetscCall(BCRDttGetModes(c->dtt[i], l, n));
      work = PetscMax(work, BCRDttWork(c->dtt[i], c->cpu->lanes));
    }
  }
  c->pinx = c->piny = c->pinz = -1;
  if (c->singular) {
    if (lx) c->pinx = BCRAxisModesFindConstant(n0, lx);
    if (ly) c->piny = BCRAxisModesFindConstant(c->poles ? c->across.rows.n : n1, ly);
    if (lz) c->pinz = BCRAxisModesFindConstant(z->n, lz);
  }
  if (c->kind == PLAN_LINE) {
    double num = 0, P = 1, cprev = 0, upprev = 0;
    const PetscInt n = n0 - (BCRAxisIsPeriodic(x) ? 1 : 0);

    PetscCall(BCRArenaGet(&c->space, PetscMax(n, 1) * sizeof(double), &c->pivot));
    for (PetscInt i = 0; i < n; i++) {
      double low, diag, up;

      BCRAxisGetRow(x, i, &low, &diag, &up);
      if (i == 0) low = 0;
      if (i == n - 1) up = 0;
      if (axis_general(x)) P = diag + shift - low * upprev * cprev;
      else { /* as in lines.c: pivots without cancellation */ double rl, rd, ru;

        BCRAxisGetRow(x, i, &rl, &rd, &ru);
        num = (rd - rl - ru) + shift + (i == 0 ? rl : low * num / P) + (i == n - 1 ? ru : 0);
        P = up + num;
      }
      upprev = up;
      c->pivot[i] = P != 0 ? 1 / P : 0;
      if (c->singular && i == n - 1 && !BCRAxisIsPeriodic(x)) c->pivot[i] = 0;
      cprev = c->pivot[i];
    }
    /* v0, v1: first and last entry of (open line)^-1 of the excess of the row sums, here the shift
       */
    if (BCRAxisIsPeriodic(x)) {
      double y0 = 0, y1 = 0, den;

      for (PetscInt i = 0; i < n; i++) y1 = (shift + (i ? x->a * y1 : 0)) * c->pivot[i];
      y0 = y1; /* symmetric */
      den = n ? shift + x->a * (y0 + y1) : shift;
      c->lineq = den > 0 && !c->singular ? 1 / den : 0;
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (c->kind == PLAN_NONE) PetscFunctionReturn(PETSC_SUCCESS);

  if (c->kind == PLAN_REDUCTION || c->kind == PLAN_RECURSIVE) {
    double *shifts;

    PetscCall(PetscMalloc1(c->nplane, &shifts));
    for (PetscInt k = 0; k < c->nplane; k++) shifts[k] = shift + (lz ? z->a * lz[k] : 0);
    BCRCallElse(BCRReductionSetShifts(c->red, c->nplane, shifts), (void)PetscFree(shifts));
    PetscCall(PetscFree(shifts));
  } else {
    const BCRAxis *line = c->kind == PLAN_FOURIERY ? x : y; /* along the lines; the other axis is transformed */
    const PetscInt nk = c->kind == PLAN_FOURIERY ? n1 : n0;
    const PetscBool far = box_far(c);
    BCRLevel0Modes modes[3] = {
      {PETSC_FALSE, {0}, {0}, {0}}
    };
    const double *lk = c->kind == PLAN_FOURIERY ? ly : lx, *nrm = c->kind == PLAN_FOURIERY ? ny : nx,
                 ak = c->kind == PLAN_FOURIERY ? y->a : x->a;

    for (PetscInt k = 0; k < c->nplane; k++) {
      BCRPlanePlan *p = &c->plane[k];
      const double sh = shift + (lz ? z->a * lz[k] : 0), nzk = lz ? nz[k] : 1;
      PetscBool ok = PETSC_TRUE;

      p->general = PETSC_FALSE;
      if (c->kind == PLAN_LEVEL0) {
        BCRLineRows rows;
        PetscInt ng;

        p->scale = c->factor * nzk / y->a;
        if (c->poles) {
          rows = c->across.rows;
          ng = c->across.ng;
        } else PetscCall(BCRLevel0Rows(y, 8, c->border.open, &rows, &ng));
        PetscCall(BCRLevel0Create(x, y, c->border.open, &rows, ng, sh, p->scale, c->single, (PetscInt)lanes, ring,
                                  &c->arena, modes, &p->shape, p->kind, &ok));
        if (!ok) break;
        p->shape.far = far;
        if (c->poles) {
          p->tab.n = rows.n;
          PetscCall(
            BCRPoleSumCreate(x, y, sh, &c->across, ly, ny, c->single, c->poles->lanes, &c->arena, &p->sum, &p->line));
        } else {
          for (PetscInt i = 0; i < n0; i++) {
            d[i] = (sh + x->a * lx[i]) / y->a;
            w[i] = nx[i];
          }
          for (PetscInt i = 0; i < n0; i++) ok = ok && d[i] >= 0 ? PETSC_TRUE : PETSC_FALSE;
          if (!ok) break;
          PetscCall(BCRLinesTabCreate(&rows, n0, d, w, c->single, (PetscInt)strip, &c->arena, &p->tab));
        }
        for (int e = 0; e < 2 && c->bordered; e++) {
          PetscCall(BCRArenaGet(&c->arena, n0 * sizeof(double), &p->reach[e]));
          for (PetscInt i = 0; i < n0; i++) p->reach[e][i] = BCRLineRowsReach(&rows, e, d[i]);
        }
        work0 = PetscMax(work0, c->cpu->level0->work(&p->shape));
        lines = PetscMax(lines, c->poles ? c->poles->polesum->work(x->n) : c->cpu->lines->work(rows.n));
        mostkeep = rows.n + (c->border.open[0] ? 1 : 0) + (c->border.open[1] ? 1 : 0);
      } else {
        for (PetscInt i = 0; i < nk; i++) {
          d[i] = sh + ak * lk[i];
          w[i] = nrm[i] * nzk * c->factor;
          if (d[i] < 0) ok = PETSC_FALSE;
        }
        if (ok && c->kind == PLAN_FOURIERX && !axis_general(line) && line->a > 0) {
          BCRLineRows rows = {
            line->n - (c->border.open[1] ? 1 : 0), {line->end[0], line->end[1]},
                   {0,            0           },
                   0, 0
          };

          for (PetscInt i = 0; i < nk; i++) {
            d[i] /= line->a;
            w[i] /= line->a;
          }
          PetscCall(BCRLinesTabCreate(&rows, nk, d, w, c->single, (PetscInt)strip, &c->arena, &p->tab));
        } else {
          const PetscInt pin = c->singular && (!lz || lz[k] == 0) ? (c->kind == PLAN_FOURIERY ? c->piny : c->pinx) : -1;

          p->general = PETSC_TRUE;
          PetscCall(gen_create(c, line, nk, d, w, pin, &p->gen));
        }
        lines =
          PetscMax(lines, c->kind == PLAN_FOURIERY ? c->cpu->lines->workx(line->n) : c->cpu->lines->work(line->n));
      }
    }
    if (c->kind == PLAN_LEVEL0) {
      PetscBool ok = PETSC_TRUE;

      /* a negative shift that leaves a group's line without a decay of its own */
      for (PetscInt k = 0; k < c->nplane; k++)
        if (!c->plane[k].tab.tab && !c->plane[k].sum.tab) ok = PETSC_FALSE;
      if (!ok) {
        c->kind = PLAN_FOURIERX;
        PetscCall(PetscMemzero(c->plane, c->nplane * sizeof(*c->plane)));
        PetscCall(core_tables_with(c, d, w));
        PetscFunctionReturn(PETSC_SUCCESS);
      }
    }
  }
  if (c->kind == PLAN_LEVEL0) {
    c->ldd = (c->plane[0].shape.nb * lanes + 31) / 16 * 16;
    if (c->ldd % 512 < 16) c->ldd += 16;
    /* an odd number of cache lines: what is transformed at a time, a line of each row, spreads over
       all sets of the first cache */
    if (c->poles) {
      const ptrdiff_t line = 64 / (c->single ? sizeof(float) : sizeof(double));

      if (c->ldd / line % 2 == 0) c->ldd += line;
    }
    c->dplane = c->ldd * mostkeep;
    dsize = (size_t)c->dplane * (c->bordered ? c->nplane : 1) + 64;
  }
  c->rowsum = c->column = NULL;
  c->corner = NULL;
  if (c->kind == PLAN_LEVEL0 && c->singular && (c->dim < 3 || (axis_sums(x) && axis_sums(y) && axis_sums(z)))) {
    PetscCall(BCRArenaGet(&c->space, 2 * (size_t)n1 * sizeof(double), &c->rowsum));
    if (!axis_sums(x) || !axis_sums(y)) {
      double *e;

      PetscCall(BCRArenaGet(&c->space, 8 * ((size_t)n0 + 15) * sizeof(double), &c->corner));
      PetscCall(BCRArenaGet(&c->space, n0 * sizeof(double), &c->column));
      PetscCall(PetscMalloc1(n0, &e));
      for (PetscInt i = 0; i < n0; i++) e[i] = 1 / end_weight(x, i) - 1;
      line_solution(x, e, (n0 - axis_weight(x)) / axis_weight(x), c->column);
      for (PetscInt i = 0; i < n0; i++) c->column[i] *= end_weight(x, i);
      PetscCall(PetscFree(e));
    }
  }
  if (c->bordered) {
    PetscCall(BCRArenaGet(&c->space, n0 * sizeof(double), &c->edge[0]));
    PetscCall(BCRArenaGet(&c->space, n0 * sizeof(double), &c->edge[1]));
    PetscCall(BCRArenaGet(&c->space, 3 * ((size_t)n1 + 2) * sizeof(double), &c->column));
  }
  if (c->poles) PetscCall(BCRArenaGet(&c->space, n0 * sizeof(double), &c->line));
  work = PetscMax(work, lines);
  PetscCall(BCRArenaGet(&c->space, (dsize + 64) * (c->single ? sizeof(float) : sizeof(double)), &c->D));
  if (c->kind == PLAN_LEVEL0) keep = (c->cpu->level0->keep(&c->plane[0].shape) + 15) / 16 * 16;
  PetscCall(BCRArenaGet(&c->space, (PetscMax(work0, keep + work) + 64) * (c->single ? sizeof(float) : sizeof(double)),
                        &c->work0));
  /* nothing of either lasts longer than a call, but what is kept */
  c->work = (char *)c->work0 + keep * (c->single ? sizeof(float) : sizeof(double));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode core_tables(BCRCore c)
{
  const PetscInt n = PetscMax(c->dim > 0 ? c->n[0] : 1, c->dim > 1 ? c->n[1] : 1);
  double *d, *w;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(n, &d, n, &w));
  ierr = core_tables_with(c, d, w);
  PetscCall(PetscFree2(d, w));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCoreAxisCreate(const BCRAxis *axis, PetscBool singular, BCRAxis *a)
{
  const PetscInt n = axis->n;

  PetscFunctionBegin;
  *a = *axis;
  a->lower = a->diag = a->upper = a->weight = NULL;
  if (!axis->lower) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc3(n, &a->lower, n, &a->diag, n, &a->upper));
  PetscCall(PetscArraycpy(a->lower, axis->lower, n));
  PetscCall(PetscArraycpy(a->diag, axis->diag, n));
  PetscCall(PetscArraycpy(a->upper, axis->upper, n));
  if (singular) {
    /* sums of rows vanish to rounding of the whole operator, which may be large beside the
       couplings of this axis: exactly, then */
    for (PetscInt k = 0; k < n; k++) a->diag[k] = a->lower[k] + a->upper[k];
    PetscCall(PetscMalloc1(n, &a->weight));
    a->weight[0] = 1;
    for (PetscInt k = 1; k < n; k++)
      a->weight[k] = a->weight[k - 1] * (a->lower[k] > 0 ? a->upper[k - 1] / a->lower[k] : 1);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCoreAxisDestroy(BCRAxis *a)
{
  PetscFunctionBegin;
  PetscCall(PetscFree3(a->lower, a->diag, a->upper));
  PetscCall(PetscFree(a->weight));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode core_fill(BCRCore c, PetscInt dim, const BCRAxis axis[], PetscReal shift, PetscBool singular,
                                const PetscInt stride[], BCRPrecision io, const BCRCoreOptions *options,
                                const BCRCoreBorder *border)
{
  PetscInt ngeneral = 0;
  char label;
  PetscBool single = options->precision == BCR_DOUBLE ? PETSC_FALSE : PETSC_TRUE;

  PetscFunctionBegin;
  PetscCheck(io == BCR_DOUBLE || single, PETSC_COMM_SELF, PETSC_ERR_SUP, "Double work on single precision arrays");
  c->dim0 = dim;
  c->shift = shift;
  c->factor = 1;
  c->singular = singular;
  c->single = single;
  c->io = io;
  c->options = *options;
  c->cpu = BCRCpuGetTable(options->isa, single);
  c->narrow = c->cpu;
  for (int isa = 1; isa >= 0 && 2 * c->narrow->lanes > c->cpu->lanes; isa--) c->narrow = BCRCpuGetTable(isa, single);
  if (border) {
    c->bordered = PETSC_TRUE;
    c->border = *border;
  }
  for (PetscInt i = 0; i < dim; i++) {
    BCRAxis *a = &c->axis[c->dim];
    const PetscInt n = axis[i].n;

    PetscCheck(n > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Empty axis %" PetscInt_FMT, i);
    if (n == 1) { /* nothing along it; a general axis of one unknown has its diagonal */
      if (axis[i].lower) c->fixed += axis[i].diag[0];
      continue;
    }
    PetscCall(BCRCoreAxisCreate(&axis[i], singular, a));
    if (a->lower) {
      ngeneral++;
    } else
      PetscCheck(!BCREndIsGeneral(a->end[0]) && !BCREndIsGeneral(a->end[1]), PETSC_COMM_SELF, PETSC_ERR_PLIB,
                 "General end without coefficients on axis %" PetscInt_FMT, i);
    c->label[c->dim] = "xyz"[i];
    c->n[c->dim] = n;
    c->stride[c->dim++] = stride[i];
  }
  PetscCheck(ngeneral <= 1, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "Two axes with general coefficients: only one can be solved directly");
  for (PetscInt i = 0; i < 3; i++) c->outer[i] = c->stride[i];
  /* an axis of one unknown between dropped planes came first: the lanes need neighbours in memory
     */
  if (c->dim > 1 && c->stride[0] != 1) {
    ptrdiff_t size = 1;

    for (PetscInt i = 0; i < c->dim; i++) {
      c->stride[i] = size;
      size *= c->n[i];
    }
    PetscCall(PetscMalloc1(size * (io == BCR_DOUBLE ? sizeof(double) : sizeof(float)), (char **)&c->packed));
  }
  if (border
        ? c->dim == 3 && border->axis == 2
        : c->dim == 3 && !axis_general(&c->axis[1]) && !(options->recursive && (options->nlevels || options->radix))) {
    const BCRAxis a = c->axis[1];
    const PetscInt n = c->n[1];
    const ptrdiff_t s = c->stride[1], o = c->outer[1];

    c->axis[1] = c->axis[2];
    c->n[1] = c->n[2];
    c->stride[1] = c->stride[2];
    c->outer[1] = c->outer[2];
    c->axis[2] = a;
    c->n[2] = n;
    c->stride[2] = s;
    c->outer[2] = o;
    label = c->label[1];
    c->label[1] = c->label[2];
    c->label[2] = label;
  }
  c->nplane = 1;
  if (c->dim == 0) c->kind = PLAN_NONE;
  else if (c->dim == 1) c->kind = PLAN_LINE;
  else {
    const BCRAxis *x = &c->axis[0], *y = &c->axis[1];

    if (options->nlevels || options->radix) {
      PetscInt nlevels = options->nlevels, schedule[BCR_MAX_LEVELS], ninner, inner[BCR_MAX_LEVELS];

      c->kind = c->dim == 3 && options->recursive ? PLAN_RECURSIVE : PLAN_REDUCTION;
      PetscCall(PetscArraycpy(schedule, options->schedule, nlevels));
      if (!nlevels)
        PetscCall(BCRScheduleFromRadix(options->radix, c->n[c->kind == PLAN_RECURSIVE ? 2 : 1], &nlevels, schedule));
      ninner = nlevels;
      PetscCall(PetscArraycpy(inner, schedule, nlevels));
      if (c->kind == PLAN_RECURSIVE && options->radix)
        PetscCall(BCRScheduleFromRadix(options->radix, c->n[1], &ninner, inner));
      PetscCall(BCRReductionCreate(c->kind == PLAN_RECURSIVE ? 3 : 2, c->axis, nlevels, schedule, ninner, inner, single,
                                   options->isa, &c->red));
      c->info.nlevels = nlevels;
      PetscCall(PetscArraycpy(c->info.schedule, schedule, nlevels));
    } else if (axis_general(x)) c->kind = PLAN_FOURIERY;
    else if (!axis_general(y) && x->a > 0 && y->a > 0 && x->n >= 16 && y->n >= 12) c->kind = PLAN_LEVEL0;
    else c->kind = PLAN_FOURIERX;
    if (c->kind == PLAN_FOURIERY) PetscCall(BCRDttCreate(y->n, y->end[0], y->end[1], single, &c->dtt[1]));
    if (c->dim == 3 && c->kind != PLAN_RECURSIVE) {
      c->nplane = c->n[2];
      PetscCall(BCRDttCreate(c->n[2], c->axis[2].end[0], c->axis[2].end[1], single, &c->dtt[2]));
    }
  }
  PetscCall(PetscCalloc1(c->nplane, &c->plane));
  PetscCall(core_tables(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode core_create(PetscInt dim, const BCRAxis axis[], PetscReal shift, PetscBool singular,
                                  const PetscInt stride[], BCRPrecision io, const BCRCoreOptions *options,
                                  const BCRCoreBorder *border, BCRCore *core)
{
  BCRCore c;

  PetscFunctionBegin;
  *core = NULL;
  PetscCall(PetscNew(&c));
  BCRCallElse(core_fill(c, dim, axis, shift, singular, stride, io, options, border), (void)BCRCoreDestroy(&c));
  *core = c;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCoreCreate(PetscInt dim, const BCRAxis axis[], PetscReal shift, PetscBool singular,
                             const PetscInt stride[], BCRPrecision io, const BCRCoreOptions *options, BCRCore *core)
{
  PetscFunctionBegin;
  PetscCall(core_create(dim, axis, shift, singular, stride, io, options, NULL, core));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows along x that can be transformed, and a third axis that can, too; enough rows to eliminate */
PetscErrorCode BCRCoreCreateBorder(PetscInt dim, const BCRAxis axis[], PetscReal shift, const PetscInt stride[],
                                   BCRPrecision io, const BCRCoreOptions *options, const BCRCoreBorder *border,
                                   BCRCore *core)
{
  PetscFunctionBegin;
  *core = NULL;
  if (border->axis == 0 || options->radix || options->nlevels || axis[0].n == 1 || axis[border->axis].n < 3)
    PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt d = 0; d < dim; d++) {
    if (d != border->axis && axis[d].lower) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(core_create(dim, axis, shift, PETSC_FALSE, stride, io, options, border, core));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCoreSetShift(BCRCore core, PetscReal shift)
{
  PetscFunctionBegin;
  core->shift = shift;
  PetscCall(PetscMemzero(core->plane, core->nplane * sizeof(*core->plane)));
  PetscCall(core_tables(core));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCoreSetFactor(BCRCore core, PetscReal factor)
{
  PetscFunctionBegin;
  if (core->factor == factor) PetscFunctionReturn(PETSC_SUCCESS);
  core->factor = factor;
  if (core->kind != PLAN_LINE && core->kind != PLAN_NONE && core->kind != PLAN_REDUCTION &&
      core->kind != PLAN_RECURSIVE) {
    PetscCall(PetscMemzero(core->plane, core->nplane * sizeof(*core->plane)));
    PetscCall(core_tables(core));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCoreDestroy(BCRCore *core)
{
  BCRCore c = *core;

  PetscFunctionBegin;
  if (!c) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = 0; i < 3; i++) {
    PetscCall(BCRDttDestroy(&c->dtt[i]));
    PetscCall(BCRCoreAxisDestroy(&c->axis[i]));
  }
  PetscCall(BCRReductionDestroy(&c->red));
  PetscCall(BCRArenaFree(&c->arena));
  PetscCall(BCRArenaFree(&c->space));
  PetscCall(PetscFree(c->packed));
  PetscCall(PetscFree(c->plane));
  PetscCall(PetscFree(*core));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline double get(BCRPrecision io, const void *f, ptrdiff_t i)
{
  return io == BCR_DOUBLE ? ((const double *)f)[i] : ((const float *)f)[i];
}
static inline void set(BCRPrecision io, void *f, ptrdiff_t i, double v)
{
  if (io == BCR_DOUBLE) ((double *)f)[i] = v;
  else ((float *)f)[i] = (float)v;
}
static inline void *at(BCRPrecision io, const void *f, ptrdiff_t i)
{
  return (char *)f + i * (io == BCR_DOUBLE ? sizeof(double) : sizeof(float));
}

/* the sum of the row that begins with element o */
static double row_sum(BCRCore c, const void *u, ptrdiff_t o)
{
  const ptrdiff_t s = c->stride[0];
  double sum = 0;

  if (s == 1) return BCRCpuFields(c->options.isa, c->io == BCR_SINGLE)->sum(c->n[0], at(c->io, u, o), NULL, NULL);
  for (PetscInt i = 0; i < c->n[0]; i++) sum += get(c->io, u, o + i * s);
  return sum;
}

/* u_i += v over the box */
static void box_add(BCRCore c, void *u, double v)
{
  for (PetscInt k = 0; k < (c->dim > 2 ? c->n[2] : 1); k++)
    for (PetscInt j = 0; j < (c->dim > 1 ? c->n[1] : 1); j++) {
      const ptrdiff_t o = (c->dim > 2 ? k * c->stride[2] : 0) + (c->dim > 1 ? j * c->stride[1] : 0), s = c->stride[0];

      if (c->io == BCR_DOUBLE && s == 1) {
        double *p = (double *)u + o;
        for (PetscInt i = 0; i < c->n[0]; i++) p[i] += v;
      } else
        for (PetscInt i = 0; i < c->n[0]; i++) set(c->io, u, o + i * s, get(c->io, u, o + i * s) + v);
    }
}

static void plane_scale(BCRCore c, void *u, double v)
{
  for (PetscInt j = 0; j < c->n[1] && v != 1; j++)
    for (PetscInt i = 0; i < c->n[0]; i++) set(c->io, u, j * c->stride[1] + i, v * get(c->io, u, j * c->stride[1] + i));
}
static void box_scale(BCRCore c, void *u, double v)
{
  for (PetscInt k = 0; k < (c->dim > 2 ? c->n[2] : 1); k++)
    plane_scale(c, at(c->io, u, c->dim > 2 ? k * c->stride[2] : 0), v);
}

/* mean over the box, with half weights at node-centred Neumann ends if weighted */
static double box_mean(BCRCore c, const void *u, PetscBool weighted)
{
  double sum = 0, total = 0;

  for (PetscInt k = 0; k < (c->dim > 2 ? c->n[2] : 1); k++)
    for (PetscInt j = 0; j < (c->dim > 1 ? c->n[1] : 1); j++) {
      const ptrdiff_t o = (c->dim > 2 ? k * c->stride[2] : 0) + (c->dim > 1 ? j * c->stride[1] : 0), s = c->stride[0];
      double w = 1, row = row_sum(c, u, o), nrow = c->n[0];
      if (weighted) {
        if (c->dim > 2) w *= end_weight(&c->axis[2], k);
        if (c->dim > 1) w *= end_weight(&c->axis[1], j);
        if (c->axis[0].weight) {
          row = nrow = 0;
          for (PetscInt i = 0; i < c->n[0]; i++) {
            row += c->axis[0].weight[i] * get(c->io, u, o + i * s);
            nrow += c->axis[0].weight[i];
          }
        } else
          for (int e = 0; e < 2; e++) {
            const PetscInt k0 = e ? c->n[0] - 1 : 0;
            const double we = end_weight(&c->axis[0], k0);

            row -= (1 - we) * get(c->io, u, o + k0 * s);
            nrow -= 1 - we;
          }
      }
      sum += w * row;
      total += w * nrow;
    }
  return sum / total;
}

/* one line along a strided axis */
static void solve_line(BCRCore c, const void *f, void *u)
{
  const BCRAxis *x = &c->axis[0];
  const ptrdiff_t s = c->stride[0];
  const PetscBool p = BCRAxisIsPeriodic(x);
  const PetscInt n = x->n - (p ? 1 : 0);
  const double a = x->a;
  double y = 0, last = 0, low, diag, up;

  if (p) { /* u_last from the first and the last entry of (open line)^-1 f */
    double y0 = 0, y1 = 0;

    for (PetscInt i = 0; i < n; i++) y1 = (get(c->io, f, i * s) + (i ? a * y1 : 0)) * c->pivot[i];
    for (PetscInt i = n - 1; i >= 0; i--) y0 = (get(c->io, f, i * s) + (i < n - 1 ? a * y0 : 0)) * c->pivot[n - 1 - i];
    last = c->lineq * (get(c->io, f, n * s) + (n ? a * (y0 + y1) : 0));
  }
  for (PetscInt i = 0; i < n; i++) {
    BCRAxisGetRow(x, i, &low, &diag, &up);
    y = (get(c->io, f, i * s) + (i ? low * y : 0) + (p && i == 0 ? a * last : 0) + (p && i == n - 1 ? a * last : 0)) *
        c->pivot[i];
    set(c->io, u, i * s, y);
  }
  for (PetscInt i = n - 2; i >= 0; i--) {
    BCRAxisGetRow(x, i, &low, &diag, &up);
    y = get(c->io, u, i * s) + up * c->pivot[i] * y;
    set(c->io, u, i * s, y);
  }
  if (p) set(c->io, u, n * s, last);
  if (c->factor != 1)
    for (PetscInt i = 0; i < x->n; i++) set(c->io, u, i * s, c->factor * get(c->io, u, i * s));
}

/*
  Singular planes. With the weights w of both axes (1/2 at node-centred Neumann ends), the weighted
  means of the rows of f, less that of all of f, are the right-hand side of a one-dimensional
  problem for the means r_j of the rows of the solution whose weighted mean is zero; so are those of
  the columns, c_i. The plain mean of that solution is then known from its ends: with e = 1 - w,

    sum_ij u = W_y sum_i e_i c_i + W_x sum_j e_j r_j + sum_ij e_i e_j u_ij,      sum_i e_i c_i = sum_i w_i v_i C_i

  where C are the columns' means of f and v is what c would be for e/w: no column's mean is needed
  by itself. Where w = 1 everywhere, it is zero.
*/
/* rows j0 .. j1 - 1 of f, which have just been read: their means, and their share in sum_i e_i c_i.
   summed: c->rowsum has their sums */
static void plane_sums(BCRCore c, PetscBool summed, const void *f, ptrdiff_t j0, ptrdiff_t j1)
{
  const BCRFieldsTable *fields = BCRCpuFields(c->options.isa, c->io == BCR_SINGLE);
  const BCRAxis *x = &c->axis[0], *y = &c->axis[1];
  const PetscInt n = x->n;
  const double Wx = axis_weight(x), left = 1 - end_weight(x, 0), right = 1 - end_weight(x, n - 1), *v = c->column;

  for (ptrdiff_t j = j0; j < j1; j++) {
    const ptrdiff_t o = j * c->stride[1];
    double ends = 0;
    const double row = summed ? c->rowsum[j] : fields->sum(n, at(c->io, f, o), v, &ends);

    c->rowsum[j] = (row - left * get(c->io, f, o) - right * get(c->io, f, o + n - 1)) / Wx;
    c->endsum += end_weight(y, j) * ends;
  }
}

/* transforms rows of D, the last few of them in shorter vectors if they would fill less than half of the long ones */
static void transform_rows(BCRCore c, int direction, ptrdiff_t count, void *D)
{
  const ptrdiff_t full = c->cpu->lanes * BCRDttLines(c->dtt[0]), rest = count % full,
                  few = 2 * rest <= full && c->narrow != c->cpu ? rest : 0;
  char *last = (char *)D + (count - few) * c->ldd * (c->single ? sizeof(float) : sizeof(double));

  if (count > few) c->cpu->dtt.rows(c->dtt[0], direction, 0, count - few, D, c->ldd, D, c->ldd, c->work);
  if (few > 0) c->narrow->dtt.rows(c->dtt[0], direction, 0, few, last, c->ldd, last, c->ldd, c->work);
}

/* The lines over a plane's separators D. singular: the plane of the constant mode; norm: what its
   mean is multiplied by; *sub: what is to be subtracted from f */
static void solve_separators(BCRCore c, const BCRPlanePlan *p, PetscBool singular, double norm, void *D, double *sub,
                             PetscReal *removed)
{
  const BCRPrecision pd = c->single ? BCR_SINGLE : BCR_DOUBLE;
  const ptrdiff_t nsep = p->tab.n, ng = p->shape.ng;

  if (singular) { /* take the constant out of f: known from, and removed in, the constant mode of the separators */
    const double *lambda, *nrm;
    BCRLineRows rows;
    PetscInt n;
    double sum = 0, ones = 0, per;

    (void)!BCRDttGetModes(c->dtt[0], &lambda, &nrm);
    (void)!BCRLevel0Rows(&c->axis[1], 8, c->border.open, &rows, &n);
    per = 1 / nrm[c->pinx];
    for (ptrdiff_t s = 0; s < nsep; s++) {
      sum += get(pd, D, s * c->ldd + c->pinx);
      ones += per * BCRLineRowsOnes(&rows, s);
    }
    *sub = sum / ones;
    for (ptrdiff_t s = 0; s < nsep; s++)
      set(pd, D, s * c->ldd + c->pinx, get(pd, D, s * c->ldd + c->pinx) - *sub * per * BCRLineRowsOnes(&rows, s));
    if (removed) *removed = *sub * norm;
  }
  c->cpu->lines->tabled(&p->tab, 0, D, c->ldd, c->work);
  if (singular && c->rowsum) { /* the constant mode again, with the constant that makes the weighted mean of u zero */
    line_solution(&c->axis[1], c->rowsum, *sub, c->rowsum + c->n[1]);
    for (ptrdiff_t s = 0; s < nsep; s++) {
      const ptrdiff_t row = s + 1 < ng ? p->shape.row[s + 1] - 1 : c->n[1] - 1;

      set(pd, D, s * c->ldd + c->pinx, c->rowsum[c->n[1] + row]);
    }
  }
}

/* groups that are worked on at a time, so that their separators fill the vectors of the transform */
static ptrdiff_t group_step(BCRCore c)
{
  return PetscMax(c->cpu->lanes * BCRDttLines(c->dtt[0]), 2);
}

/* u of the ends of the first and of the last row: their groups are substituted back aside. e: what
   the corner counts in the plain sum */
static double plane_corners(BCRCore c, const BCRPlanePlan *p, BCRLevel0Args *args, const void *f, ptrdiff_t g)
{
  const BCRLevel0Shape *sh = &p->shape;
  const ptrdiff_t row = g ? c->n[1] - 1 : 0, ld = (c->n[0] + 15) / 16 * 16;
  const PetscInt n = c->n[0];

  c->cpu->level0->back(sh, p->kind, g, g + 1, args, f, c->stride[1], at(c->io, c->corner, -sh->row[g] * ld), ld, c->D,
                       c->ldd, c->work0);
  return (1 - end_weight(&c->axis[1], row)) *
         ((1 - end_weight(&c->axis[0], 0)) * get(c->io, c->corner, (row - sh->row[g]) * ld) +
          (1 - end_weight(&c->axis[0], n - 1)) * get(c->io, c->corner, (row - sh->row[g]) * ld + n - 1));
}

/* The plain mean of the solution, by its ends; the first and the last separator are no modes any more */
static double plane_mean(BCRCore c, const BCRPlanePlan *p, BCRLevel0Args *args, const void *f)
{
  const BCRAxis *x = &c->axis[0], *y = &c->axis[1];
  double *m = c->rowsum + y->n, sum = (double)y->a / (double)x->a * c->endsum;

  for (int e = 0; e < 2; e++) {
    sum += (1 - end_weight(y, e ? y->n - 1 : 0)) * axis_weight(x) * m[e ? y->n - 1 : 0];
    sum += plane_corners(c, p, args, f, e ? p->shape.ng - 1 : 0) / p->scale;
  }
  return sum / ((double)x->n * y->n);
}

/* v added to separator s, in the constant mode where it is modes */
static void separator_add(BCRCore c, ptrdiff_t s, PetscBool modes, double v)
{
  const BCRPrecision pd = c->single ? BCR_SINGLE : BCR_DOUBLE;

  if (modes) set(pd, c->D, s * c->ldd + c->pinx, get(pd, c->D, s * c->ldd + c->pinx) + v);
  else if (c->single)
    for (PetscInt i = 0; i < c->n[0]; i++) ((float *)c->D)[s * c->ldd + i] += (float)v;
  else
    for (PetscInt i = 0; i < c->n[0]; i++) ((double *)c->D)[s * c->ldd + i] += v;
}

/* Substitution back into all groups, from the last one, whose rows of f the cache still has;
   separators first .. end - 1 are still modes */
static void back_groups(BCRCore c, const BCRPlanePlan *p, BCRLevel0Args *args, const void *f, void *u, void *D,
                        ptrdiff_t first, ptrdiff_t end)
{
  const BCRPrecision pd = c->single ? BCR_SINGLE : BCR_DOUBLE;
  const ptrdiff_t ld = c->stride[1], step = group_step(c);

  args->ahead = step; /* the separators that will be transformed next */
  for (ptrdiff_t g1 = p->shape.ng; g1 > 0; g1 -= step) {
    const ptrdiff_t g = PetscMax(g1 - step, 0), s = PetscMax(g - 1, first);

    if (end > s) transform_rows(c, 1, end - s, at(pd, D, s * c->ldd));
    end = PetscMin(end, s);
    c->cpu->level0->back(&p->shape, p->kind, g, g1, args, f, ld, u, ld, D, c->ldd, c->work0);
  }
}

/* The constant mode along y of a plane whose separators are modes: its first pole by elimination,
   and, in a singular plane, the constants of f and u. There, what f sends to the separators adds up
   to its own weighted sum, that of ones to 8 for each of them. *sub: what is to be subtracted from
   f */
static void solve_poles(BCRCore c, const BCRPlanePlan *p, PetscBool singular, double *sub)
{
  const BCRPrecision pd = c->single ? BCR_SINGLE : BCR_DOUBLE;
  const BCRAxis *x = &c->axis[0];
  const BCRLevel0Shape *sh = &p->shape;
  const ptrdiff_t nsep = p->tab.n;
  void *D = at(pd, c->D, PetscMax(p->line.row, 0) * c->ldd);
  double *v = c->line, mean = 0, shift = 0;

  for (PetscInt i = 0; i < x->n && p->line.row >= 0; i++) v[i] = get(pd, D, i);
  if (singular) {
    for (PetscInt i = 0; i < x->n; i++) mean += end_weight(x, i) * v[i];
    mean /= axis_weight(x);
    *sub = mean / (BCR_POLES * (double)nsep);
    for (PetscInt i = 0; i < x->n; i++) set(pd, D, i, v[i] -= mean);
  }
  if (p->line.row >= 0) BCRPoleLineSolve(&p->line, v);
  c->poles->polesum->solve(&p->sum, c->D, c->ldd, c->work);
  for (PetscInt i = 0; i < x->n && p->line.row >= 0; i++) v[i] += get(pd, D, i);
  /* the means of the rows of u, which are known, in the place of the constant that the line has
     left open */
  if (singular) {
    line_solution(&c->axis[1], c->rowsum, *sub, c->rowsum + c->n[1]);
    for (ptrdiff_t s = 0; s < nsep; s++)
      shift += c->rowsum[c->n[1] + (s + 1 < sh->ng ? sh->row[s + 1] - 1 : c->n[1] - 1)];
    shift /= (double)nsep;
    for (PetscInt i = 0; i < x->n; i++) shift -= end_weight(x, i) * v[i] / axis_weight(x);
  }
  for (PetscInt i = 0; i < x->n && p->line.row >= 0; i++) set(pd, D, i, v[i] + shift);
}

/* a plane by level 0 and sums over poles of the separators' modes along y */
static void solve_across(BCRCore c, const BCRPlanePlan *p, PetscBool singular, const void *f, void *u,
                         PetscReal *removed)
{
  const BCRCpuTable *cpu = c->cpu;
  const BCRLevel0Shape *sh = &p->shape;
  /* plane_sums() finds the rows in the cache */
  const ptrdiff_t ld = c->stride[1], n = c->n[0], step = singular ? 8 : sh->ng;
  BCRLevel0Args args = {.io = c->single && c->io == BCR_DOUBLE ? 1 : 0, .sepscale = p->scale, .ahead = 1};

  cpu->level0->start(sh, c->work0);
  c->endsum = 0;
  if (singular && !c->column && !c->single) args.rowsum = c->rowsum;
  for (ptrdiff_t g = 0; g < sh->ng; g += step) {
    const ptrdiff_t g1 = PetscMin(g + step, sh->ng);

    cpu->level0->reduce(sh, p->kind, g, g1, &args, f, ld, c->D, c->ldd, c->work0);
    if (singular)
      plane_sums(c, args.rowsum ? PETSC_TRUE : PETSC_FALSE, f, sh->row[g], g1 < sh->ng ? sh->row[g1] : c->n[1]);
  }
  cpu->dtt.cols(c->dtt[1], 0, 0, n, c->D, c->ldd, c->D, c->ldd, c->work);
  solve_poles(c, p, singular, &args.sub);
  if (singular && removed) *removed = (PetscReal)args.sub;
  cpu->dtt.cols(c->dtt[1], 1, 0, n, c->D, c->ldd, c->D, c->ldd, c->work);
  if (singular && c->corner) {
    const double mean = plane_mean(c, p, &args, f);

    for (ptrdiff_t s = 0; s < p->tab.n; s++) separator_add(c, s, PETSC_FALSE, -mean);
  }
  cpu->level0->back(sh, p->kind, 0, sh->ng, &args, f, ld, u, ld, c->D, c->ldd, c->work0);
}

/* a plane by level 0 and lines over the separators */
static void solve_level0(BCRCore c, const BCRPlanePlan *p, PetscBool singular, double norm, const void *f, void *u,
                         PetscReal *removed)
{
  const BCRCpuTable *cpu = c->cpu;
  const BCRLevel0Shape *sh = &p->shape;
  const ptrdiff_t ld = c->stride[1], ng = sh->ng, nsep = p->tab.n, step = group_step(c);
  const BCRPrecision pd = c->single ? BCR_SINGLE : BCR_DOUBLE;
  const PetscBool mean = singular && c->corner ? PETSC_TRUE : PETSC_FALSE;
  BCRLevel0Args args = {.io = c->single && c->io == BCR_DOUBLE ? 1 : 0, .sepscale = p->scale};
  ptrdiff_t done = 0, end = nsep; /* separators done .. end - 1 are still modes */
  double sum;

  cpu->level0->start(sh, c->work0);
  c->endsum = 0;
  if (singular && c->rowsum && !c->column && !c->single) args.rowsum = c->rowsum;
  for (ptrdiff_t g = 0; g < ng; g += step) { /* the separators are transformed while they are in the cache */
    const ptrdiff_t g1 = PetscMin(g + step, ng), ready = g1 == ng ? nsep : g1 - 1,
                    count = g1 == ng ? ready - done : (ready - done) / step * step;

    cpu->level0->reduce(sh, p->kind, g, g1, &args, f, ld, c->D, c->ldd, c->work0);
    if (singular && c->rowsum)
      plane_sums(c, args.rowsum ? PETSC_TRUE : PETSC_FALSE, f, sh->row[g], g1 < ng ? sh->row[g1] : c->n[1]);
    if (count > 0) transform_rows(c, 0, count, at(pd, c->D, done * c->ldd));
    done += PetscMax(count, 0);
  }
  solve_separators(c, p, singular, norm, c->D, &args.sub, removed);
  done = 0;
  if (sh->yperiodic || (mean && nsep > 1)) { /* the first group needs the last separator */
    end = nsep - 1;
    transform_rows(c, 1, 1, at(pd, c->D, end * c->ldd));
  }
  if (mean) {
    transform_rows(c, 1, 1, c->D);
    done = 1;
    sum = plane_mean(c, p, &args, f);
    for (ptrdiff_t s = 0; s < nsep; s++) separator_add(c, s, s > 0 && s < nsep - 1 ? PETSC_TRUE : PETSC_FALSE, -sum);
  }
  back_groups(c, p, &args, f, u, c->D, done, end);
}

/* the singular line of a Fourier plan: take the weighted mean of its right-hand side out; elements at u + s*inc */
static void project_line(BCRCore c, const BCRAxis *line, void *u, ptrdiff_t inc, double *mean)
{
  double sum = 0, total = 0;

  for (PetscInt s = 0; s < line->n; s++) {
    const double w = end_weight(line, s);

    sum += w * get(c->io, u, s * inc);
    total += w;
  }
  *mean = sum / total;
  for (PetscInt s = 0; s < line->n; s++) set(c->io, u, s * inc, get(c->io, u, s * inc) - *mean);
}

/* Level 0 and the lines over the separators but those of other ranks and to them; D's rows:
   separators, the own interface row, the first group's part of the one before */
static void border_level0_begin(BCRCore c, PetscInt k, PetscBool singular, const void *f, double *left, double *own)
{
  const BCRPlanePlan *p = &c->plane[k];
  const BCRCpuTable *cpu = c->cpu;
  const BCRLevel0Shape *sh = &p->shape;
  const ptrdiff_t ld = c->stride[1], ng = sh->ng, nsep = p->tab.n, step = group_step(c),
                  rows = nsep + (c->border.open[1] ? 1 : 0) + (c->border.open[0] ? 1 : 0);
  const size_t sz = c->single ? sizeof(float) : sizeof(double);
  const BCRPrecision pd = c->single ? BCR_SINGLE : BCR_DOUBLE;
  char *D = (char *)c->D + k * c->dplane * sz;
  BCRLevel0Args args = {.io = c->single && c->io == BCR_DOUBLE ? 1 : 0, .sepscale = p->scale};
  ptrdiff_t done = 0;
  const double *nrm;

  (void)!BCRDttGetModes(c->dtt[0], NULL, &nrm);
  cpu->level0->start(sh, c->work0);
  for (ptrdiff_t g = 0; g < ng; g += step) {
    const ptrdiff_t g1 = PetscMin(g + step, ng), ready = g1 == ng ? rows : g1 - 1,
                    count = g1 == ng ? ready - done : (ready - done) / step * step;

    cpu->level0->reduce(sh, p->kind, g, g1, &args, f, ld, D, c->ldd, c->work0);
    if (count > 0) transform_rows(c, 0, count, D + done * c->ldd * sz);
    done += PetscMax(count, 0);
  }
  for (ptrdiff_t s = 0; s < nsep && singular; s++) c->column[s] = get(pd, D, s * c->ldd + c->border.constant % c->n[0]);
  cpu->lines->tabled(&p->tab, 0, D, c->ldd, c->work);
  for (PetscInt i = 0; i < c->n[0]; i++) {
    if (c->border.open[0])
      left[i] =
        p->scale * c->border.meet[0] * (nrm[i] * get(pd, D, sh->left * c->ldd + i) + p->reach[0][i] * get(pd, D, i));
    if (c->border.open[1])
      own[i] = p->scale * c->border.meet[1] *
               (nrm[i] * get(pd, D, nsep * c->ldd + i) + p->reach[1][i] * get(pd, D, (nsep - 1) * c->ldd + i));
  }
}

static void border_level0_end(BCRCore c, PetscInt k, PetscBool singular, double mean, const void *f, void *u,
                              const double *before, const double *x)
{
  const BCRPlanePlan *p = &c->plane[k];
  const BCRCpuTable *cpu = c->cpu;
  const BCRLevel0Shape *sh = &p->shape;
  const ptrdiff_t nsep = p->tab.n;
  const size_t sz = c->single ? sizeof(float) : sizeof(double);
  const BCRPrecision pd = c->single ? BCR_SINGLE : BCR_DOUBLE;
  char *D = (char *)c->D + k * c->dplane * sz;
  BCRLevel0Args args = {
    .io = c->single && c->io == BCR_DOUBLE ? 1 : 0, .sepscale = p->scale, .sub = singular ? mean : 0};
  const double *nrm;

  (void)!BCRDttGetModes(c->dtt[0], NULL, &nrm);
  for (PetscInt i = 0; i < c->n[0]; i++) {
    c->edge[0][i] = c->border.open[0] ? p->reach[0][i] * before[i] / (p->scale * nrm[i]) : 0;
    c->edge[1][i] = c->border.open[1] ? p->reach[1][i] * x[i] / (p->scale * nrm[i]) : 0;
    if (c->border.open[0]) set(pd, D, sh->left * c->ldd + i, before[i] / p->scale);
    if (c->border.open[1]) set(pd, D, nsep * c->ldd + i, x[i] / p->scale);
  }
  cpu->lines->border(&p->tab, NULL, 0, c->edge[0], c->edge[1], D, c->ldd, c->work);
  if (singular) {
    const PetscInt i = c->border.constant % c->n[0];
    BCRLineRows line;
    PetscInt n;

    (void)!BCRLevel0Rows(&c->axis[1], 8, c->border.open, &line, &n);
    for (ptrdiff_t s = 0; s < nsep; s++) c->column[s] = nrm[i] * c->column[s] - mean * BCRLineRowsOnes(&line, s);
    c->column[0] += nrm[i] * c->edge[0][i];
    c->column[nsep - 1] += nrm[i] * c->edge[1][i];
    BCRLineRowsSolve(&line, c->column, c->column + nsep);
    for (ptrdiff_t s = 0; s < nsep; s++) set(pd, D, s * c->ldd + i, c->column[s]);
  }
  if (sh->left >= 0) transform_rows(c, 1, 1, D + sh->left * c->ldd * sz);
  back_groups(c, p, &args, f, u, D, 0, nsep + (c->border.open[1] ? 1 : 0));
}

static void solve_plane(BCRCore c, PetscInt k, PetscBool singular, double norm, const void *f, void *u,
                        PetscReal *removed)
{
  const BCRPlanePlan *p = &c->plane[k];
  const ptrdiff_t ld = c->stride[1];
  const int io = c->single && c->io == BCR_DOUBLE ? 1 : 0;
  const double *lambda, *nrm;
  double mean;

  switch (c->kind) {
  case PLAN_LEVEL0:
    if (c->poles) solve_across(c, p, singular, f, u, removed);
    else solve_level0(c, p, singular, norm, f, u, removed);
    break;
  case PLAN_FOURIERX:
    c->cpu->dtt.rows(c->dtt[0], 0, io, c->n[1], f, ld, u, ld, c->work);
    if (singular) {
      project_line(c, &c->axis[1], at(c->io, u, c->pinx), ld, &mean);
      (void)!BCRDttGetModes(c->dtt[0], &lambda, &nrm);
      if (removed) *removed = mean * nrm[c->pinx] * norm;
    }
    if (p->general) c->cpu->lines->general(&p->gen, io, u, ld, c->work);
    else c->cpu->lines->tabled(&p->tab, io, u, ld, c->work);
    c->cpu->dtt.rows(c->dtt[0], 1, io, c->n[1], u, ld, u, ld, c->work);
    break;
  case PLAN_FOURIERY:
    c->cpu->dtt.cols(c->dtt[1], 0, io, c->n[0], f, ld, u, ld, c->work);
    if (singular) {
      project_line(c, &c->axis[0], at(c->io, u, c->piny * ld), 1, &mean);
      (void)!BCRDttGetModes(c->dtt[1], &lambda, &nrm);
      if (removed) *removed = mean * nrm[c->piny] * norm;
    }
    c->cpu->lines->generalx(&p->gen, io, u, ld, c->work);
    c->cpu->dtt.cols(c->dtt[1], 1, io, c->n[0], u, ld, u, ld, c->work);
    break;
  default:
    break;
  }
}

/* Bytes of the next layer that come nearer while one is transformed. In place the next one replaces
   the last; from f to u there are two of each, which pushed each other out where they had no more
   room than they need */
static ptrdiff_t layer_ahead(ptrdiff_t bytes, PetscBool inplace)
{
  return inplace || 8 * (size_t)bytes <= cache_bytes(1u << 20) ? bytes : 0;
}

/* a transform along z or y of all lines of the box; axis: which */
static void transform_cols(BCRCore c, PetscInt axis, int direction, const void *f, void *u)
{
  const int io = c->single && c->io == BCR_DOUBLE ? 1 : 0;
  const PetscInt other = axis == 2 ? 1 : 2, n = c->n[0], nother = c->dim > other ? c->n[other] : 1;
  const ptrdiff_t so = c->stride[other], s = c->stride[axis],
                  size = c->io == BCR_DOUBLE ? sizeof(double) : sizeof(float);
  const ptrdiff_t bytes = ((c->n[axis] - 1) * s + n) * size,
                  ahead = s < so ? layer_ahead(bytes, f == u ? PETSC_TRUE : PETSC_FALSE) : 0;

  if (axis == 2 && so == n) { /* whole planes are contiguous */
    c->cpu->dtt.cols(c->dtt[axis], direction, io, (ptrdiff_t)n * c->n[1], f, s, u, s, c->work);
    return;
  }
  for (PetscInt j = 0; j < nother; j++) {
    const char *fj = (const char *)at(c->io, f, j * so);
    char *uj = (char *)at(c->io, u, j * so);
    const BCRDttAhead next = {fj + so * size, j + 1 < nother ? ahead : 0};

    /* memory in order first: a transform from f to u would touch both in short pieces */
    if (f != u && s == n) memcpy(uj, fj, bytes);
    else if (f != u) {
      for (PetscInt k = 0; k < c->n[axis]; k++) memcpy(uj + k * s * size, fj + k * s * size, n * size);
    }
    c->cpu->dtt.layer(c->dtt[axis], direction, io, n, uj, s, uj, s, &next, c->work);
  }
}

/* Doubles that are solved in single precision, a box whose layers are whole pieces of memory:
   between the two transforms u has floats, packed at its beginning, and no pass but the outer ones
   moves doubles. The floats of a layer end before the doubles of the next one begin */
static inline PetscBool solves_in_halves(BCRCore c, const void *f, const void *u)
{
  return f != u && c->single && c->io == BCR_DOUBLE && c->stride[2] == c->n[0] && c->stride[1] == c->n[0] * c->n[2]
           ? PETSC_TRUE
           : PETSC_FALSE;
}

static void transform_to_floats(BCRCore c, const double *f, float *u)
{
  const BCRFieldsTable *fields = BCRCpuFields(c->options.isa, 0);
  const ptrdiff_t layer = c->stride[1], ahead = layer_ahead(layer * sizeof(double), PETSC_FALSE);

  for (PetscInt j = 0; j < c->n[1]; j++) {
    const BCRDttAhead next = {f + (j + 1) * layer, j + 1 < c->n[1] ? ahead : 0};

    (void)fields->begin(layer, 1, f + j * layer, u + j * layer);
    c->cpu->dtt.layer(c->dtt[2], 0, 0, c->n[0], u + j * layer, c->n[0], u + j * layer, c->n[0], &next, c->work);
  }
}

static void transform_from_floats(BCRCore c, float *f, double *u)
{
  const BCRFieldsTable *fields = BCRCpuFields(c->options.isa, 0);
  const ptrdiff_t layer = c->stride[1];

  for (PetscInt j = c->n[1] - 1; j >= 0; j--) {
    const BCRDttAhead next = {f + PetscMax(j - 1, 0) * layer, j ? layer * (ptrdiff_t)sizeof(float) : 0};

    c->cpu->dtt.layer(c->dtt[2], 1, 0, c->n[0], f + j * layer, c->n[0], f + j * layer, c->n[0], &next, c->work);
    /* the first layer overlaps itself: its upper half, the upper half of the rest, ... */
    for (ptrdiff_t end = layer, first = 0; end > 1; end = first) {
      if (j == 0) first = (end + 1) / 2;
      fields->add(end - first, 0, 1, f + j * layer + first, u + j * layer + first);
    }
  }
  u[0] = (double)*f;
}

PetscErrorCode BCRCoreSolve(BCRCore c, const void *f, void *u, PetscReal *removed)
{
  const double *lz, *nz;
  double mean;
  PetscBool fix = c->singular;

  PetscFunctionBegin;
  if (removed) *removed = 0;
  if (c->packed && !c->unpacked) {
    for (int back = 0; back < 2; back++) {
      for (PetscInt k = 0; k < (c->dim > 2 ? c->n[2] : 1); k++)
        for (PetscInt j = 0; j < c->n[1]; j++)
          for (PetscInt i = 0; i < c->n[0]; i++) {
            const ptrdiff_t o = i * c->outer[0] + j * c->outer[1] + (c->dim > 2 ? k * c->outer[2] : 0),
                            q = i + j * c->stride[1] + (c->dim > 2 ? k * c->stride[2] : 0);

            if (back) set(c->io, u, o, get(c->io, c->packed, q));
            else set(c->io, c->packed, q, get(c->io, f, o));
          }
      if (!back) {
        c->unpacked = PETSC_TRUE;
        PetscCall(BCRCoreSolve(c, c->packed, c->packed, removed));
        c->unpacked = PETSC_FALSE;
      }
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  switch (c->kind) {
  case PLAN_NONE:
    if (c->singular) {
      if (removed) *removed = (PetscReal)get(c->io, f, 0);
      set(c->io, u, 0, 0);
    } else set(c->io, u, 0, c->factor * get(c->io, f, 0) / (c->shift + c->fixed));
    fix = PETSC_FALSE;
    break;
  case PLAN_LINE:
    if (c->singular) {
      mean = box_mean(c, f, PETSC_TRUE);
      if (removed) *removed = (PetscReal)mean;
      for (PetscInt i = 0; i < c->n[0]; i++) set(c->io, u, i * c->stride[0], get(c->io, f, i * c->stride[0]) - mean);
      f = u;
    }
    solve_line(c, f, u);
    break;
  case PLAN_REDUCTION:
  case PLAN_RECURSIVE: {
    PetscInt ld[2];

    ld[0] = (PetscInt)c->stride[1];
    ld[1] = c->dim > 2 ? (PetscInt)c->stride[2] : 0;
    if (c->singular) { /* as a pass of its own */
      mean = box_mean(c, f, PETSC_TRUE);
      if (removed) *removed = (PetscReal)mean;
      if (f != u)
        for (PetscInt k = 0; k < (c->dim > 2 ? c->n[2] : 1); k++)
          for (PetscInt j = 0; j < c->n[1]; j++)
            PetscCall(PetscMemcpy(at(c->io, u, j * c->stride[1] + (c->dim > 2 ? k * c->stride[2] : 0)),
                                  at(c->io, f, j * c->stride[1] + (c->dim > 2 ? k * c->stride[2] : 0)),
                                  c->n[0] * (c->io == BCR_DOUBLE ? sizeof(double) : sizeof(float))));
      box_add(c, u, -mean);
      f = u;
    }
    if (c->kind == PLAN_RECURSIVE || c->dim == 2) PetscCall(BCRReductionSolve(c->red, 0, c->io, f, ld, u, ld));
    else {
      PetscCall(BCRDttGetModes(c->dtt[2], &lz, &nz));
      transform_cols(c, 2, 0, f, u);
      for (PetscInt k = 0; k < c->n[2]; k++) {
        PetscCall(
          BCRReductionSolve(c->red, k, c->io, at(c->io, u, k * c->stride[2]), ld, at(c->io, u, k * c->stride[2]), ld));
        plane_scale(c, at(c->io, u, k * c->stride[2]), c->factor * nz[k]);
      }
      transform_cols(c, 2, 1, u, u);
    }
    if (c->kind == PLAN_RECURSIVE || c->dim == 2) box_scale(c, u, c->factor);
    break;
  }
  default:
    if (c->dim == 2) solve_plane(c, 0, c->singular, 1, f, u, removed);
    else {
      const PetscBool halves = solves_in_halves(c, f, u);

      PetscCall(BCRDttGetModes(c->dtt[2], &lz, &nz));
      if (halves) {
        transform_to_floats(c, (const double *)f, (float *)u);
        c->io = BCR_SINGLE;
      } else transform_cols(c, 2, 0, f, u);
      for (PetscInt k = 0; k < c->n[2]; k++)
        solve_plane(c, k, c->singular && k == c->pinz ? PETSC_TRUE : PETSC_FALSE, nz[k], at(c->io, u, k * c->stride[2]),
                    at(c->io, u, k * c->stride[2]), removed);
      if (halves) {
        c->io = BCR_DOUBLE;
        transform_from_floats(c, (float *)u, (double *)u);
      } else transform_cols(c, 2, 1, u, u);
    }
  }
  if (fix && !(c->kind == PLAN_LEVEL0 && c->rowsum)) box_add(c, u, -box_mean(c, u, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the same for the plan without level 0, on u */
static void border_fourier_begin(BCRCore c, PetscInt k, PetscBool singular, double norm, const void *f, void *u,
                                 double *left, double *own)
{
  const BCRPlanePlan *p = &c->plane[k];
  const ptrdiff_t ld = c->stride[1], n = c->n[1] - (c->border.open[1] ? 1 : 0);
  const int io = c->single && c->io == BCR_DOUBLE ? 1 : 0;
  const double *nrm;

  (void)!BCRDttGetModes(c->dtt[0], NULL, &nrm);
  c->cpu->dtt.rows(c->dtt[0], 0, io, c->n[1], f, ld, u, ld, c->work);
  for (ptrdiff_t s = 0; s < n && singular; s++) c->column[s] = get(c->io, u, s * ld + c->border.constant % c->n[0]);
  if (p->general) c->cpu->lines->general(&p->gen, io, u, ld, c->work);
  else c->cpu->lines->tabled(&p->tab, io, u, ld, c->work);
  for (PetscInt i = 0; i < c->n[0]; i++) {
    if (c->border.open[0]) left[i] = c->border.meet[0] * get(c->io, u, i);
    if (c->border.open[1])
      own[i] =
        nrm[i] * norm * c->factor * get(c->io, u, n * ld + i) + c->border.meet[1] * get(c->io, u, (n - 1) * ld + i);
  }
}

static void border_fourier_end(BCRCore c, PetscInt k, PetscBool singular, double norm, double mean, void *u,
                               const double *before, const double *x)
{
  const BCRPlanePlan *p = &c->plane[k];
  const ptrdiff_t ld = c->stride[1], n = c->n[1] - (c->border.open[1] ? 1 : 0);
  const int io = c->single && c->io == BCR_DOUBLE ? 1 : 0;
  const double *nrm;

  (void)!BCRDttGetModes(c->dtt[0], NULL, &nrm);
  for (PetscInt i = 0; i < c->n[0]; i++) {
    /* axis[1].a is in the tables' norm and divides the couplings, too */
    const double unit = p->general ? 1 : nrm[i] * norm * c->factor;

    c->edge[0][i] = c->border.open[0] ? c->border.reach[0] * before[i] / unit : 0;
    c->edge[1][i] = c->border.open[1] ? c->border.reach[1] * x[i] / unit : 0;
  }
  c->cpu->lines->border(p->general ? NULL : &p->tab, p->general ? &p->gen : NULL, io, c->edge[0], c->edge[1], u, ld,
                        c->work);
  if (singular) { /* pivots as in lines.c */
    const PetscInt i = c->border.constant % c->n[0];
    double *g = c->column, *b = c->column + n, num = 0, P = 1, low, diag, up;

    for (ptrdiff_t s = 0; s < n; s++) {
      BCRAxisGetRow(&c->axis[1], s, &low, &diag, &up);
      if (s == 0 && c->border.open[0]) low = c->border.reach[0]; /* a Dirichlet end has it in its diagonal alone */
      g[s] = c->factor * (nrm[i] * norm * g[s] - mean);
      if (s == 0 && c->border.open[0]) g[s] += c->border.reach[0] * before[i];
      if (s == n - 1 && c->border.open[1]) g[s] += c->border.reach[1] * x[i];
      if (s) g[s] += low * g[s - 1];
      num = (diag - low - up) + (s ? low * num / P : low);
      P = up + num;
      g[s] /= P;
      b[s] = up / P;
    }
    for (ptrdiff_t s = n - 2; s >= 0; s--) g[s] += b[s] * g[s + 1];
    for (ptrdiff_t s = 0; s < n; s++) set(c->io, u, s * ld + i, g[s]);
  }
  for (PetscInt i = 0; i < c->n[0] && c->border.open[1]; i++) set(c->io, u, n * ld + i, x[i]);
  c->cpu->dtt.rows(c->dtt[0], 1, io, c->n[1], u, ld, u, ld, c->work);
}

PetscErrorCode BCRCoreBorderBegin(BCRCore c, PetscInt k0, PetscInt k1, const void *f, void *u, double left[],
                                  double own[])
{
  const double *nz = NULL;

  PetscFunctionBegin;
  if (c->dim == 3) {
    PetscCall(BCRDttGetModes(c->dtt[2], NULL, &nz));
    if (k0 == 0) transform_cols(c, 2, 0, f, u);
    f = u;
  }
  for (PetscInt k = k0; k < k1; k++) {
    const PetscBool singular = c->border.constant >= 0 && k == c->border.constant / c->n[0] ? PETSC_TRUE : PETSC_FALSE;
    const ptrdiff_t o = c->dim == 3 ? k * c->stride[2] : 0;

    if (c->kind == PLAN_LEVEL0)
      border_level0_begin(c, k, singular, at(c->io, f, o), left + k * c->n[0], own + k * c->n[0]);
    else
      border_fourier_begin(c, k, singular, nz ? nz[k] : 1, at(c->io, f, o), at(c->io, u, o), left + k * c->n[0],
                           own + k * c->n[0]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCoreBorderEnd(BCRCore c, PetscInt k0, PetscInt k1, const void *f, void *u, const double before[],
                                const double x[], double mean)
{
  const double *nz = NULL;

  PetscFunctionBegin;
  if (c->dim == 3) {
    PetscCall(BCRDttGetModes(c->dtt[2], NULL, &nz));
    f = u;
  }
  for (PetscInt k = k0; k < k1; k++) {
    const PetscBool singular = c->border.constant >= 0 && k == c->border.constant / c->n[0] ? PETSC_TRUE : PETSC_FALSE;
    const ptrdiff_t o = c->dim == 3 ? k * c->stride[2] : 0;

    if (c->kind == PLAN_LEVEL0)
      border_level0_end(c, k, singular, mean / (nz ? nz[k] : 1), at(c->io, f, o), at(c->io, u, o), before + k * c->n[0],
                        x + k * c->n[0]);
    else
      border_fourier_end(c, k, singular, nz ? nz[k] : 1, mean, at(c->io, u, o), before + k * c->n[0], x + k * c->n[0]);
  }
  if (c->dim == 3 && k1 == c->nplane) transform_cols(c, 2, 1, u, u);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCoreGetInfo(BCRCore c, BCRCoreInfo *info)
{
  double unknowns = 1;
  char pre[64] = "";

  PetscFunctionBegin;
  *info = c->info;
  if (c->dim == 3) PetscCall(PetscSNPrintf(pre, sizeof(pre), "transform along %c, planes with ", c->label[2]));
  for (PetscInt i = 0; i < c->dim; i++) unknowns *= (double)c->n[i];
  info->workspace = c->space.bytes;
  info->tables = c->arena.bytes;
  PetscCall(PetscStrncpy(info->isa, c->cpu->isa, sizeof(info->isa)));
  for (PetscInt i = 0; i < 3; i++)
    if (c->dtt[i]) info->tables += BCRDttTableBytes(c->dtt[i]);
  switch (c->kind) {
  case PLAN_NONE:
    PetscCall(PetscStrncpy(info->plan, "one unknown", sizeof(info->plan)));
    info->flops = 1;
    break;
  case PLAN_LINE:
    PetscCall(PetscStrncpy(info->plan, "one tridiagonal line", sizeof(info->plan)));
    info->flops = 5 * unknowns;
    break;
  case PLAN_LEVEL0: {
    const double nsep = (double)c->plane[0].tab.n, sep = nsep * c->n[0];

    PetscCall(PetscSNPrintf(
      info->plan, sizeof(info->plan),
      "%sblock rows along %c: radix 8 in physical space, then %d separators transformed along %c, %s for each mode",
      pre, c->label[1], (int)nsep, c->label[c->poles ? 1 : 0], c->poles ? "the poles' lines" : "a line"));
    info->nlevels = 2;
    info->schedule[0] = 8;
    info->schedule[1] = (PetscInt)nsep + 1;
    /* level 0 down 20 + 7*4 + 14 and up 24 + 7*5 + 9 for each 8 unknowns of a column; transforms
       and lines on the separators */
    info->flops = unknowns / 8 * 130 + (c->dim == 3 ? (double)c->n[2] : 1) *
                                         (c->poles ? 2. * c->n[0] * BCRDttFlops(c->dtt[1]) + (8. * BCR_POLES + 2) * sep
                                                   : 2 * nsep * BCRDttFlops(c->dtt[0]) + 5 * sep);
    break;
  }
  case PLAN_FOURIERX:
    PetscCall(PetscSNPrintf(info->plan, sizeof(info->plan), "%stransform along %c, %s lines along %c", pre, c->label[0],
                            c->plane[0].general ? "general tridiagonal" : "tridiagonal", c->label[1]));
    info->flops = unknowns * 5 + 2 * unknowns / c->n[0] * BCRDttFlops(c->dtt[0]);
    break;
  case PLAN_FOURIERY:
    PetscCall(PetscSNPrintf(info->plan, sizeof(info->plan), "%stransform along %c, general tridiagonal lines along %c",
                            pre, c->label[1], c->label[0]));
    info->flops = unknowns * 9 + 2 * unknowns / c->n[1] * BCRDttFlops(c->dtt[1]);
    break;
  case PLAN_REDUCTION:
  case PLAN_RECURSIVE: {
    PetscInt sub;
    size_t w, t;
    double fl;

    PetscCall(BCRReductionGetInfo(c->red, &sub, &w, &t, &fl));
    PetscCall(PetscSNPrintf(info->plan, sizeof(info->plan), "%sblock cyclic reduction along %c%s",
                            c->kind == PLAN_REDUCTION ? pre : "", c->label[c->kind == PLAN_RECURSIVE ? 2 : 1],
                            c->kind == PLAN_RECURSIVE ? ", its sub-problems by reduction along the axis before" : ""));
    info->subproblems = sub;
    info->workspace += w;
    info->tables += t;
    info->flops = fl * (c->kind == PLAN_REDUCTION ? (double)c->nplane : 1);
    break;
  }
  }
  if (c->dim == 3 && c->dtt[2]) info->flops += 2 * unknowns / c->n[2] * BCRDttFlops(c->dtt[2]);
  PetscFunctionReturn(PETSC_SUCCESS);
}
