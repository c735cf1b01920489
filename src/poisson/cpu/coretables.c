/*
  Tables of the host's core: transforms, lines, planes, workspace.
*/
#include "coreimpl.h"
#include <unistd.h>

/* The means m of the rows (columns) of the solution, of weighted mean zero, from those of f less
   its mean: with unit coupling, slopes g_i = m_(i+1) - m_i fall by f_i from one to the next; the
   first one is known from a Neumann end, or from their sum being zero round a periodic axis. */
void BCRCoreLineMeans(const BCRAxis *y, const double *f, double mean, double *m)
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
size_t BCRCoreCacheBytes(size_t otherwise)
{
  long b = -1;

#if defined(_SC_LEVEL2_CACHE_SIZE)
  b = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
  return b > 0 ? (size_t)b : otherwise;
}

/* Whether level 0 asks for rows of f before it is there: where the box is larger than what the
   hardware's own prefetch keeps up with, so many second-level caches, or where lines are so short that it hardly begins,
   bytes. The latter limit came with commit b02a6b7 (63^3 0.97 of the time on an EPYC); neither was measured apart */
#define FAR_CACHES 4
#define FAR_LINE   2048
static PetscBool box_far(BCRCore c)
{
  const size_t line = (size_t)c->n[0] * (c->io == BCR_DOUBLE ? sizeof(double) : sizeof(float));

  return line < FAR_LINE || line * c->n[1] * c->nplane > FAR_CACHES * BCRCoreCacheBytes(1u << 20) ? PETSC_TRUE
                                                                                                  : PETSC_FALSE;
}

/* lines along axis y with any coefficients, shifts sigma[k], factors norm[k]; timed: what its numbers t multiply */
static PetscErrorCode gen_create(BCRCore c, const BCRAxis *y, double timed, PetscInt nk, const double *sigma,
                                 const double *norm, PetscInt pin, BCRLinesGen *g)
{
  double *l, *d, *u;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(y->n, &l, y->n, &d, y->n, &u));
  for (PetscInt i = 0; i < y->n; i++) {
    BCRAxisGetRow(y, i, &l[i], &d[i], &u[i]);
    d[i] -= l[i] + u[i];
    if (y->times) d[i] += (double)y->times[i] * timed;
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

/* Transforms that the plan has, once for all shifts; the modes by their axes' parts */
static PetscErrorCode tables_transforms(BCRCore c)
{
  const BCRPlan p = c->plan;
  const PetscInt part[3] = {0, p->blocks, p->across};
  const PetscBool rows =
    c->kind == BCR_PLAN_LEVEL0 || (c->kind == BCR_PLAN_FOURIER && c->lines == 1) ? PETSC_TRUE : PETSC_FALSE;
  const PetscBool all = c->kind == BCR_PLAN_SPECTRAL ? PETSC_TRUE : PETSC_FALSE,
                  needed[3] = {rows || all ? PETSC_TRUE : PETSC_FALSE,
                               all || (c->kind == BCR_PLAN_FOURIER && c->lines == 0) ? PETSC_TRUE : PETSC_FALSE,
                               c->dim == 3 && c->kind != BCR_PLAN_RECURSIVE ? PETSC_TRUE : PETSC_FALSE};

  PetscFunctionBegin;
  for (PetscInt i = 0; i < c->dim; i++) {
    const BCRAxis *a = &c->axis[i];

    c->lambda[i] = p->lambda[part[i]];
    c->norm[i] = p->norm[part[i]];
    c->eigen[i] = p->eigen[part[i]];
    if (needed[i] && !c->eigen[i] && !c->dtt[i])
      PetscCall(BCRDttCreate(a->n, a->end[0], a->end[1], c->single, &c->dtt[i]));
  }
  c->poles = NULL;
  if (c->kind == BCR_PLAN_POLES) {
    c->poles = p->poleslanes == c->cpu->lanes ? c->cpu : c->narrow;
    if (!c->dtt[1]) PetscCall(BCRDttCreate(p->poles.rows.n, p->poles.end[0], p->poles.end[1], c->single, &c->dtt[1]));
  }
  c->pinx = p->constant[0];
  c->piny = c->dim > 1 ? p->constant[p->blocks] : -1;
  c->pinz = c->dim > 2 ? p->constant[p->across] : -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The last unknown of a general ring, whose couplings to the others are c: c O^-1 of the open line O, and what its row is
   left with, a sum of excesses */
static PetscErrorCode tables_ring(BCRCore c, double shift)
{
  const BCRAxis *x = &c->axis[0];
  const PetscInt n = x->n - 1;
  double g = 0, den, low, diag, up;

  PetscFunctionBegin;
  PetscCall(BCRArenaGet(&c->space, n * sizeof(double), &c->round));
  for (PetscInt i = 0; i < n; i++) {
    g *= i ? (double)x->upper[i - 1] : 0;
    if (i == 0) g += (double)x->upper[n];
    if (i == n - 1) g += (double)x->lower[n];
    g *= c->pivot[i];
    c->round[i] = g;
  }
  for (PetscInt i = n - 2; i >= 0; i--) c->round[i] += (double)x->lower[i + 1] * c->pivot[i] * c->round[i + 1];
  BCRAxisGetRow(x, n, &low, &diag, &up);
  den = diag - low - up + shift;
  for (PetscInt i = 0; i < n; i++) {
    BCRAxisGetRow(x, i, &low, &diag, &up);
    den += c->round[i] * (diag - low - up + shift);
  }
  c->lineq = den > 0 && !c->singular ? 1 / den : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One line: pivots without cancellation, as in lines.c */
static PetscErrorCode tables_line(BCRCore c)
{
  const BCRAxis *x = &c->axis[0];
  const double shift = BCRPlanPlaneShift(c->plan, 0);
  const PetscInt n = c->n[0] - (BCRAxisIsPeriodic(x) ? 1 : 0);
  double num = 0, P = 1;

  PetscFunctionBegin;
  PetscCall(BCRArenaGet(&c->space, PetscMax(n, 1) * sizeof(double), &c->pivot));
  for (PetscInt i = 0; i < n; i++) {
    double rl, rd, ru, low, up;

    BCRAxisGetRow(x, i, &rl, &rd, &ru);
    low = i == 0 ? 0 : rl;
    up = i == n - 1 ? 0 : ru;
    num = (rd - rl - ru) + shift + (i == 0 ? rl : low * num / P) + (i == n - 1 ? ru : 0);
    P = up + num;
    c->pivot[i] = P != 0 ? 1 / P : 0;
    if (c->singular && i == n - 1 && !BCRAxisIsPeriodic(x)) c->pivot[i] = 0;
  }
  if (BCRAxisIsPeriodic(x) && axis_general(x)) PetscCall(tables_ring(c, shift));
  else if (BCRAxisIsPeriodic(
             x)) { /* first and last entry, the same, of (open line)^-1 of the excess of the row sums, the shift */
    double y = 0, den;

    for (PetscInt i = 0; i < n; i++) y = (shift + (i ? x->a * y : 0)) * c->pivot[i];
    den = n ? shift + x->a * (y + y) : shift;
    c->lineq = den > 0 && !c->singular ? 1 / den : 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode tables_reduction(BCRCore c)
{
  const PetscInt n = c->kind == BCR_PLAN_REDUCTION ? c->nplane : 1;
  double *shifts;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &shifts));
  for (PetscInt k = 0; k < n; k++)
    shifts[k] = c->kind == BCR_PLAN_REDUCTION ? BCRPlanPlaneShift(c->plan, k)
                                              : (c->singular ? 0 : c->plan->shift + c->plan->fixed);
  BCRCallElse(BCRReductionSetShifts(c->red, n, shifts), (void)PetscFree(shifts));
  PetscCall(PetscFree(shifts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the planes' kernels want of scratch, in elements, and rows of separators */
typedef struct {
  size_t level0, lines;
  PetscInt rows;
  double *delta, *norm; /* [longer of the first two axes] of the lines of one plane */
  PetscBool *alternates;
  BCRLevel0Modes modes[3]; /* of the groups, the same for all planes */
} Scratch;

/* A plane of level 0; its lines over the separators, or their poles */
static PetscErrorCode tables_level0(BCRCore c, PetscInt k, Scratch *s)
{
  const BCRAxis *x = &c->axis[0], *y = &c->axis[1];
  const BCRLineRows *rows = &c->plan->separators;
  const size_t ring = c->options.ring ? c->options.ring : BCRCoreCacheBytes(262144) / 4;
  BCRPlanePlan *p = &c->plane[k];
  double symbol[4];
  PetscBool ok;

  PetscFunctionBegin;
  BCRPlanPlaneSymbol(c->plan, k, symbol);
  p->general = PETSC_FALSE;
  p->scale = c->factor * BCRPlanPlaneNorm(c->plan, k) / (c->plan->product ? 1 : symbol[2]);
  PetscCall(BCRLevel0Create(x, y, c->border.open, rows, c->plan->ngroups, symbol, c->plan->product, p->scale, c->single,
                            (PetscInt)c->cpu->level0->lanes(), ring, &c->arena, s->modes, &p->shape, p->kind, &ok));
  PetscCheck(ok, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "The plan has level 0, but a group of plane %" PetscInt_FMT " is not definite", k);
  p->shape.far = box_far(c);
  if (c->poles) {
    const double *lambda, *norm;

    PetscCall(BCRDttGetModes(c->dtt[1], &lambda, &norm)); /* of the coarser axis */
    p->tab.n = rows->n;
    PetscCall(BCRPoleSumCreate(x, symbol, c->plan->product ? 1 : symbol[2], &c->plan->poles, lambda, norm, c->single,
                               c->poles->lanes, &c->arena, &p->sum, &p->line));
    s->lines = PetscMax(s->lines, c->poles->polesum->work(x->n));
  } else {
    for (PetscInt i = 0; i < x->n; i++) {
      const double l = c->lambda[0][i];
      const BCRModeLine line = BCRModeLineMake(symbol[0] + symbol[1] * l, symbol[2] + symbol[3] * l);

      s->delta[i] = line.delta;
      s->norm[i] =
        c->norm[0][i] * (c->plan->product ? 1 : symbol[2]) / line.a; /* which is not symbol[2] if that is tiny */
      s->alternates[i] = line.alternates;
    }
    PetscCall(BCRLinesTabCreate(rows, x->n, s->delta, s->norm, s->alternates, c->single,
                                (PetscInt)c->cpu->lines->strip(), &c->arena, &p->tab));
    s->lines = PetscMax(s->lines, c->cpu->lines->work(rows->n));
  }
  for (int e = 0; e < 2 && c->bordered; e++) {
    PetscCall(BCRArenaGet(&c->arena, x->n * sizeof(double), &p->tointerface[e]));
    for (PetscInt i = 0; i < x->n; i++) p->tointerface[e][i] = BCRLineRowsReach(rows, e, s->delta[i]);
  }
  s->level0 = PetscMax(s->level0, c->cpu->level0->work(&p->shape));
  s->rows = rows->n + (c->border.open[0] ? 1 : 0) + (c->border.open[1] ? 1 : 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A plane of transforms and lines: lines by tables where they are uniform and definite, else by elimination */
static PetscErrorCode tables_fourier(BCRCore c, PetscInt k, Scratch *s)
{
  const BCRAxis *line = &c->axis[c->lines], *across = &c->axis[1 - c->lines];
  const double *lambda = c->lambda[1 - c->lines], *norm = c->norm[1 - c->lines];
  const double shift = BCRPlanPlaneShift(c->plan, k), scale = BCRPlanPlaneNorm(c->plan, k);
  BCRPlanePlan *p = &c->plane[k];
  BCRLineRows rows = {
    line->n - (c->border.open[1] ? 1 : 0), {line->end[0], line->end[1]},
           {0,            0           },
           {0,            0           },
           {0,            0           },
           0, 0
  };
  PetscBool ok = PETSC_TRUE, tabled = axis_general(line) ? PETSC_FALSE : PETSC_TRUE;
  double a = (double)line->a, rest = 0;

  PetscFunctionBegin;
  if (!tabled && !c->bordered && !c->singular && !line->times && BCRPlanUniformInside(line, &a, &rest))
    tabled = BCRPlanEndRows(line, a, rest, &rows);
  for (PetscInt i = 0; i < across->n; i++) {
    s->delta[i] = shift + (tabled ? rest : 0) + across->a * lambda[i];
    s->norm[i] = norm[i] * scale * c->factor;
    if (s->delta[i] < 0 && !c->plan->indefinite) ok = PETSC_FALSE;
  }
  p->general = !ok || c->lines == 0 || !tabled || !(a > 0) ? PETSC_TRUE : PETSC_FALSE;
  for (PetscInt i = 0; i < across->n && p->general && tabled; i++)
    s->delta[i] -= rest; /* the lines' own rows have it */
  if (p->general) {
    const PetscInt pin = c->singular && (c->dim < 3 || c->lambda[2][k] == 0) ? (c->lines ? c->pinx : c->piny) : -1;

    PetscCall(
      gen_create(c, line, line->times ? BCRPlanPlaneTimed(c->plan, k) : 0, across->n, s->delta, s->norm, pin, &p->gen));
  } else {
    for (PetscInt i = 0; i < across->n; i++) {
      s->delta[i] /= a;
      s->norm[i] /= a;
    }
    PetscCall(BCRLinesTabCreate(&rows, across->n, s->delta, s->norm, NULL, c->single, (PetscInt)c->cpu->lines->strip(),
                                &c->arena, &p->tab));
  }
  s->lines = PetscMax(s->lines, c->lines ? c->cpu->lines->work(line->n) : c->cpu->lines->workx(line->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The means of a singular plane: coreplane.c, "Singular planes" */
static PetscErrorCode tables_means(BCRCore c)
{
  const BCRAxis *x = &c->axis[0], *y = &c->axis[1];
  double *e, symbol[4];

  PetscFunctionBegin;
  c->rowsum = c->column = NULL;
  c->corner = NULL;
  c->spare = NULL;
  if (!BCRPlanIsLevel0(c->kind) || !c->singular) PetscFunctionReturn(PETSC_SUCCESS);
  if (c->dim == 3 && !(BCRPlanAddsUp(x) && BCRPlanAddsUp(y) && BCRPlanAddsUp(&c->axis[2])))
    PetscFunctionReturn(PETSC_SUCCESS);
  BCRPlanPlaneSymbol(c->plan, PetscMax(c->pinz, 0), symbol);
  for (int d = 0; d < 2; d++) c->unit[d] = c->plan->product ? symbol[1 + d] : symbol[1 + d] / symbol[2];
  PetscCall(BCRArenaGet(&c->space, 2 * (size_t)y->n * sizeof(double), &c->rowsum));
  if (BCRPlanAddsUp(x) && BCRPlanAddsUp(y)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRArenaGet(&c->space, 8 * ((size_t)x->n + 15) * sizeof(double), &c->corner));
  PetscCall(BCRArenaGet(&c->space, x->n * sizeof(double), &c->column));
  if (c->plan->product) PetscCall(BCRArenaGet(&c->space, (size_t)c->ldd * sizeof(double), &c->spare));
  PetscCall(PetscMalloc1(x->n, &e));
  for (PetscInt i = 0; i < x->n; i++) e[i] = 1 / end_weight(x, i) - 1;
  BCRCoreLineMeans(x, e, (x->n - axis_weight(x)) / axis_weight(x), c->column);
  for (PetscInt i = 0; i < x->n; i++) c->column[i] *= end_weight(x, i);
  PetscCall(PetscFree(e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How far rows of separators are from one another */
static void tables_separators(BCRCore c, const Scratch *s)
{
  const ptrdiff_t line = 64 / (ptrdiff_t)(c->single ? sizeof(float) : sizeof(double));

  if (!BCRPlanIsLevel0(c->kind)) return;
  c->ldd = (c->plane[0].shape.nb * c->cpu->level0->lanes() + 31) / 16 * 16;
  if (c->ldd % 512 < 16) c->ldd += 16; /* rows that are a power of two apart meet in the caches */
  /* an odd number of cache lines: what is transformed at a time, a line of each row, spreads over
     all sets of the first cache */
  if (c->poles && c->ldd / line % 2 == 0) c->ldd += line;
  c->dplane = c->ldd * s->rows;
}

/* Separators and scratch. Nothing of the latter lasts longer than a call, but what level 0 keeps */
static PetscErrorCode tables_workspace(BCRCore c, const Scratch *s)
{
  const size_t size = c->single ? sizeof(float) : sizeof(double), pad = 64; /* kernels read a vector beyond the end */
  size_t separators = 0, keep = 0, work = s->lines;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < 3; i++) {
    if (c->dtt[i]) work = PetscMax(work, BCRDttWork(c->dtt[i], c->cpu->lanes));
    if (c->eigen[i]) work = PetscMax(work, BCREigenWork(c->eigen[i]));
  }
  if (BCRPlanIsLevel0(c->kind)) separators = (size_t)c->dplane * (c->bordered ? c->nplane : 1) + pad;
  PetscCall(tables_means(c));
  if (c->bordered) {
    for (int e = 0; e < 2; e++) {
      PetscCall(BCRArenaGet(&c->space, c->n[0] * sizeof(double), &c->edge[e]));
      PetscCall(PetscArrayzero(c->edge[e], c->n[0])); /* an end that is not open stays so */
    }
    PetscCall(BCRArenaGet(&c->space, 3 * ((size_t)c->n[1] + 2) * sizeof(double), &c->column));
  }
  if (c->poles) PetscCall(BCRArenaGet(&c->space, c->n[0] * sizeof(double), &c->line));
  PetscCall(BCRArenaGet(&c->space, (separators + pad) * size, &c->D));
  if (BCRPlanIsLevel0(c->kind)) keep = (c->cpu->level0->keep(&c->plane[0].shape) + 15) / 16 * 16;
  PetscCall(BCRArenaGet(&c->space, (PetscMax(s->level0, keep + work) + pad) * size, &c->work0));
  c->work = (char *)c->work0 + keep * size;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode tables_planes(BCRCore c, Scratch *s)
{
  PetscInt first, end;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(c->plane, c->nplane * sizeof(*c->plane)));
  BCRTeamShare(c->options.team, c->nplane, &first, &end);
  for (PetscInt k = 0; k < c->nplane; k++) {
    if (k && (k < first || k >= end)) continue; /* others of the team; the first has the shape of all */
    if (BCRPlanIsLevel0(c->kind)) PetscCall(tables_level0(c, k, s));
    else PetscCall(tables_fourier(c, k, s));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCoreTables(BCRCore c)
{
  const PetscInt n = PetscMax(c->dim > 0 ? c->n[0] : 1, c->dim > 1 ? c->n[1] : 1);
  Scratch s;

  PetscFunctionBegin;
  PetscCall(BCRArenaFree(&c->arena));
  PetscCall(BCRArenaFree(&c->space));
  c->D = c->work = c->work0 = NULL;
  if (c->kind != c->plan->kind) { /* another shift may have another plan; their transforms along y differ */
    for (PetscInt i = 0; i < 2; i++) PetscCall(BCRDttDestroy(&c->dtt[i]));
    c->kind = c->plan->kind;
  }
  PetscCall(tables_transforms(c));
  if (c->kind == BCR_PLAN_POINT) PetscFunctionReturn(PETSC_SUCCESS);
  if (c->kind == BCR_PLAN_LINE) {
    PetscCall(tables_line(c));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (c->kind == BCR_PLAN_SPECTRAL) {
    PetscCall(BCRSpectralTables(c));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscMemzero(&s, sizeof(s)));
  if (BCRPlanIsReduction(c->kind)) PetscCall(tables_reduction(c));
  else {
    PetscCall(PetscMalloc3(n, &s.delta, n, &s.norm, n, &s.alternates));
    BCRCallElse(tables_planes(c, &s), (void)PetscFree3(s.delta, s.norm, s.alternates));
    PetscCall(PetscFree3(s.delta, s.norm, s.alternates));
  }
  tables_separators(c, &s);
  PetscCall(BCRCoreEndsTables(c, s.modes, &s.lines));
  PetscCall(tables_workspace(c, &s));
  PetscFunctionReturn(PETSC_SUCCESS);
}
