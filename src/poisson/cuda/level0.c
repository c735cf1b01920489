/*
  Level 0 on a CUDA device (docs/method.md, section 4): tables, the way down to the separators, lines over them, and up;
  planes on chip by products.
*/
#include "../../base/petscbcrimpl.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "coreimpl.h"

static PetscErrorCode put_ints(BCRDeviceCore c, PetscInt n, const int v[], const int **p)
{
  void *q;

  PetscFunctionBegin;
  PetscCall(BCRDeviceArenaGet(&c->tables, (size_t)n * sizeof(int), "tables", &q));
  PetscCallBCRCuda(BCRCudaPut(q, v, (size_t)n * sizeof(int), c->stream));
  *p = (const int *)q;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What lines over the separators need where other ranks' rows go on: the mode in the modes' natural order, and its size,
   of each position of each plane */
static PetscErrorCode border_tables(BCRDeviceCore c)
{
  const BCRDeviceOrder *o = &c->roworder;
  const PetscInt nk = o->count, planes = c->plan->nplanes, all = nk * planes;
  int *of;
  double *gain;

  PetscFunctionBegin;
  c->border = NULL;
  if (!c->plan->open[0] && !c->plan->open[1]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc2(all, &of, all, &gain));
  for (PetscInt b = 0; b < planes; b++) {
    const PetscInt across = c->plan->across, mode = across >= 0 ? BCRDevicePlaneMode(c, b) : 0;
    const double plane = across >= 0 ? BCRDeviceGain(c, across, c->plan->acrossby, mode) : 1;

    for (PetscInt k = 0; k < nk; k++) {
      of[b * nk + k] = o->mode[k] < 0 ? -1 : o->mode[k] + (int)(c->plan->n[0] * mode);
      gain[b * nk + k] = o->gain[k] * plane;
    }
  }
  PetscCall(put_ints(c, all, of, &c->sep.of));
  PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, all, gain, &c->sep.factor));
  PetscCall(PetscFree2(of, gain));
  PetscCall(BCRDeviceArenaGet(&c->tables, (size_t)all * BCR_CUDA_SEP_BORDER * sizeof(double), "tables", &c->border));
  if (c->plan->open[0] && c->plan->dim == 2)
    PetscCall(BCRDeviceArenaGet(&c->space, (size_t)c->ldd * c->size, "the workspace", &c->level0.before));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Shifts and factors of the planes, lambda and norm of their lines' modes, to the device; tables of the lines */
static PetscErrorCode lines_tables(BCRDeviceCore c, BCRCudaSepRows *r, double coupling, const double lambda[],
                                   const double norm[], double **tab)
{
  const PetscInt planes = c->plan->nplanes, nk = r->nk;
  double *shifts, *scales;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(planes, &shifts, planes, &scales));
  for (PetscInt k = 0; k < planes; k++) {
    BCRDevicePlaneNumbers(c, k, &shifts[k], &scales[k]);
    scales[k] /= coupling;
  }
  PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, planes, shifts, &r->shift));
  PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, planes, scales, &r->scale));
  PetscCall(PetscFree2(shifts, scales));
  PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, nk, lambda, &r->lambda));
  PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, nk, norm, &r->norm));
  PetscCall(BCRDeviceArenaGet(&c->tables, (size_t)nk * BCR_CUDA_SEP_TAB * planes * sizeof(double), "tables", tab));
  r->planes = (int)planes;
  PetscCallBCRCuda(BCRCudaSepTables(c->stream, r, *tab));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What planes on chip add to the mean of a singular operator's solution, where other modes than the constant one do */
static PetscErrorCode product_mean(BCRDeviceCore c)
{
  const BCRPlan p = c->plan;
  const PetscInt axis[2] = {p->across, p->blocks};
  const size_t blocks = (size_t)BCRCudaBoxProductBlocks(&c->planes, &c->matrix[p->blocks]),
               bytes = blocks * (size_t)p->nplanes * sizeof(double);
  BCRCudaBoxMean *mean = &c->planesmean;
  const double *sums[2];
  char *nothing;

  PetscFunctionBegin;
  mean->weights = NULL;
  if (!p->singular || (BCRPlanAddsUp(&p->axis[axis[0]]) && BCRPlanAddsUp(&p->axis[axis[1]])))
    PetscFunctionReturn(PETSC_SUCCESS);
  for (int i = 0; i < 2; i++) {
    const PetscInt n = p->n[axis[i]];
    double *w;

    PetscCall(PetscMalloc1(n, &w));
    for (PetscInt k = 0; k < n; k++)
      w[k] = BCRDeviceModeSum(c, axis[i], i ? BCR_TRANSFORM_PRODUCT : p->acrossby, i ? k : BCRDevicePlaneMode(c, k));
    PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, n, w, &sums[i]));
    PetscCall(PetscFree(w));
  }
  mean->weights = sums[0];
  mean->modes = sums[1];
  mean->factor = 1 / ((double)p->n[0] * (double)p->n[1] * (double)p->n[2]);
  PetscCall(BCRDeviceArenaGet(&c->tables, bytes, "tables", &mean->sums));
  PetscCall(PetscMalloc1(bytes, &nothing));
  memset(nothing, BCR_CUDA_NOTHING, bytes);
  PetscCallBCRCuda(BCRCudaPut(mean->sums, nothing, bytes, c->stream));
  PetscCall(PetscFree(nothing));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceProductTables(BCRDeviceCore c)
{
  const BCRPlan p = c->plan;
  const BCRAxis *x = &p->axis[0], *z = &p->axis[p->blocks];
  BCRCudaSepRows r;
  double *tab;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&r, sizeof(r)));
  BCRPlanCudaProduct(p, &c->planes);
  r.n = (int)p->n[0];
  r.ring = BCREndIsPeriodic(x->end[0]);
  r.nk = (int)p->n[p->blocks];
  r.pin = c->planesmean.pin = -1;
  r.ax = z->a;
  r.ay = x->a;
  for (int e = 0; e < 2; e++) r.end[e] = x->end[e];
  if (p->singular) {
    r.pin = (int)p->constant[p->blocks];
    while (BCRDevicePlaneMode(c, r.pinplane) != p->constant[p->across]) r.pinplane++;
    c->planesmean.pin = r.pin;
    c->planesmean.plane = r.pinplane;
    c->planesmean.removed = c->scalars;
    c->planesmean.removedfactor =
      p->norm[p->blocks][r.pin] * (BCRDeviceAcrossDoubles(c) ? 0.5 : 1) * p->norm[p->across][p->constant[p->across]];
  }
  PetscCall(lines_tables(c, &r, x->a, p->lambda[p->blocks], p->norm[p->blocks], &tab));
  c->planes.tab = tab;
  PetscCall(product_mean(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Weights of the right-hand sides [h] in the sum of the rows of a group's solution, that of the constant mode along the row
   between separators that are zero, for unit coupling */
static void group_green(PetscInt h, BCREnd end, PetscBool high, double green[])
{
  double lambda[16], A[256], S[256];

  if (h < 1) return;
  BCRLevel0GroupModes(h, end, high, 16, lambda, A, S);
  for (PetscInt p = 0; p < h; p++) {
    green[p] = 0;
    for (PetscInt j = 0; j < h; j++) {
      double sum = 0;

      for (PetscInt q = 0; q < h; q++) sum += S[16 * q + j];
      green[p] += sum * A[16 * j + p] / lambda[j];
    }
  }
}

/* Where ends of the rows are nodes and mirrors: what each mode has in these columns, with a weight of 1/2. unit: of the
   constant mode's solution for a sum of 1/a over all unknowns */
static PetscErrorCode ends_tables(BCRDeviceCore c, double scale, double unit)
{
  const BCRPlan p = c->plan;
  const BCRAxis *x = &p->axis[0], *y = &p->axis[p->blocks];
  const BCRDeviceOrder *o = &c->roworder;
  const PetscInt nk = o->count;
  double *ends;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(3 * nk, &ends));
  for (PetscInt k = 0; k < nk; k++) {
    const int m = o->mode[k];
    const double delta = m > 0 ? x->a * p->lambda[0][m] / y->a : 0;
    const double both = m > 0 ? BCRDeviceEndsHalf(x, m) : 0;

    if (m <= 0) continue;
    ends[k] = both * unit / delta * o->norm[k] * o->gain[k] * p->norm[0][m];
    for (int e = 0; e < 2; e++) { /* the end row, of which the right-hand sides' sum has half */
      const double reach = (double)p->separators.gapend[e] * 2 * asinh(0.5 * sqrt(delta));

      if (BCREndGetRule(y->end[e]).weight < 1)
        ends[(1 + e) * nk + k] = 0.5 * both * unit * y->a / scale * o->gain[k] / cosh(reach);
    }
  }
  PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, 3 * nk, ends, &c->sep.ends));
  PetscCall(PetscFree(ends));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The numbers with which the lines know the sum of the solution, and the substitution back takes its mean to zero:
   docs/method.md, section 8. Rows of other ranks beyond an end: with which they add up this rank's rows, the row after among
   them; the one before is another rank's, of which half of the first group's rows are left */
static PetscErrorCode mean_tables(BCRDeviceCore c, const BCRPlanCudaShape *shape)
{
  const BCRPlan p = c->plan;
  const BCRLineRows *rows = &p->separators;
  const BCRAxis *y = &p->axis[p->blocks];
  const PetscBool ring = BCREndIsPeriodic(y->end[0]) ? PETSC_TRUE : PETSC_FALSE;
  const PetscInt n = rows->n, columns = shape->columns - 2 * c->level0.halo, tiles = (p->n[0] + columns - 1) / columns,
                 warps = shape->columns / shape->K / 32;
  const BCRDeviceOrder *o = &c->roworder;
  double *weights = c->sep.weights, green[3][16] = {{0}}, sum[3] = {0}, shift, scale;
  PetscInt constant = 0;
  size_t parts;

  PetscFunctionBegin;
  c->sep.ends = NULL;
  c->sep.parts = NULL;
  c->sep.rows = 0;
  c->level0.add = NULL;
  if (!BCRPlanMeanInLines(p) && !BCRPlanMeanOfRanks(p)) PetscFunctionReturn(PETSC_SUCCESS);
  while (o->mode[constant] != 0) constant++;
  BCRDevicePlaneNumbers(c, 0, &shift, &scale);
  c->sep.nsums = (int)(tiles * warps * (c->strips + (c->level0.g0 > 0) + (c->level0.g1 < p->ngroups)));
  PetscCall(BCRDeviceArenaGet(&c->tables, (size_t)c->sep.nsums * sizeof(double), "tables", &c->level0.sums));
  c->sep.sums = c->level0.sums;
  /* what a row of ones has in this mode after the lines is the factor behind its length */
  c->sep.sumfactor = scale / y->a / (double)p->n[0] * o->norm[constant] / (BCRDeviceRowsOwn(c) ? 0.5 : 1);
  for (int kind = 0; kind < 3; kind++) {
    const PetscInt h = kind ? rows->gapend[kind - 1] : rows->gap;

    group_green(h, kind == 0 || ring ? BCREndAtSeparator() : y->end[kind - 1], kind == 2 ? PETSC_TRUE : PETSC_FALSE,
                green[kind]);
    for (PetscInt i = 0; i < h; i++) sum[kind] += green[kind][i];
  }
  c->sep.sumones = (double)p->n[0] * (sum[1] + sum[2] + (double)(p->ngroups - 2) * sum[0]);
  /* half of the rows on either side, all of those at an end */
  for (PetscInt s = 0; s < n; s++) {
    const double before = s ? 0.5 * (double)rows->gap : (ring || p->open[0] ? 0.5 : 1) * (double)rows->gapend[0],
                 after = s < n - 1 ? 0.5 * (double)rows->gap : (p->open[1] ? 0.5 : 1) * (double)rows->gapend[1];

    weights[s == 0 ? 0 : (s == n - 1 ? 2 : 1)] = 1 + before + after;
  }
  if (ring) { /* n of them go round */
    weights[3] = 1 + 0.5 * (double)(rows->gaplast + rows->gapend[0]);
    weights[n > 2 ? 2 : 0] = 1 + 0.5 * (double)((n > 2 ? rows->gap : rows->gapend[0]) + rows->gaplast);
  } else weights[3] = 1 + 0.5 * (double)rows->gapend[1];
  weights[4] = 0.5 * (double)rows->gapend[0];
  if (BCREndGetRule(p->axis[0].end[0]).weight < 1 || BCREndGetRule(p->axis[0].end[1]).weight < 1)
    PetscCall(ends_tables(c, scale, c->sep.sumfactor));
  parts = (size_t)BCRCudaSepParts(&c->sep);
  PetscCall(BCRDeviceArenaGet(&c->tables, (parts + 1) * sizeof(double), "tables", &c->sep.parts));
  PetscCallBCRCuda(BCRCudaZero(c->sep.parts, (parts + 1) * sizeof(double), c->stream));
  /* of 1 in this mode of the separators; on several ranks BCRDeviceCoreBorderAdd() adds what all have together */
  c->level0.addfactor = (BCRDeviceRowsOwn(c) ? 0.5 : 1) / o->norm[constant];
  if (BCRPlanMeanInLines(p) && !c->sep.ends) c->sep.rows = (int)p->n[p->blocks];
  else if (BCRPlanMeanInLines(p)) {
    c->level0.add = c->sep.parts;
    c->level0.nadd = (int)parts;
    c->level0.addfactor /= -(double)p->n[p->blocks];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers of the groups' modes, for each plane and kind of group: level0.h. steps of l: doublings after
   which mu^K is below rounding */
static void group_table(BCRDeviceCore c, int K, double tab[], BCRCudaLevel0 *l)
{
  const BCRPlan p = c->plan;
  const BCRAxis *x = &p->axis[0], *y = &p->axis[p->blocks];
  const BCRLineRows *rows = &p->separators;
  const PetscBool ring = BCREndIsPeriodic(y->end[0]) ? PETSC_TRUE : PETSC_FALSE;
  const PetscInt Q = p->radix, M = BCR_CUDA_LEVEL0_MOST(Q), h[3] = {Q - 1, rows->gapend[0], rows->gapend[1]};
  const double rx = x->a / y->a, eps = c->single ? 4e-8 : 1e-16;

  for (PetscInt k = 0; k < p->nplanes; k++) {
    double shift, scale;

    BCRDevicePlaneNumbers(c, k, &shift, &scale);
    scale /= y->a;
    for (int kind = 0; kind < 3; kind++) {
      const BCREnd end = kind == 0 || ring ? BCREndAtSeparator() : y->end[kind - 1];
      double lambda[16], A[256] = {0}, S[256] = {0}, *v = tab + (k * 3 + kind) * BCR_CUDA_LEVEL0_TAB(M),
                         *share = v + BCR_CUDA_LEVEL0_SHARE(M), *out = v + BCR_CUDA_LEVEL0_OUT(M);

      v[BCR_CUDA_LEVEL0_INVERSE(M)] = 1 / scale;
      if (k == 0 && kind && p->singular)
        group_green(h[kind], end, kind == 2 ? PETSC_TRUE : PETSC_FALSE, v + BCR_CUDA_LEVEL0_GREEN(M));
      if (h[kind] < 1) continue;
      BCRLevel0GroupModes(h[kind], end, kind == 2 ? PETSC_TRUE : PETSC_FALSE, M, lambda, A, S);
      for (PetscInt j = 0; j < h[kind]; j++) {
        const double delta = (shift + y->a * lambda[j]) / x->a, mu = 1 / (1 + BCRRootGap(delta)), w = mu / rx;

        v[j] = mu;
        if (kind == 0) {
          for (int q = 0; q < 5 && pow(mu, K << q) > 0.1 * eps; q++) l->steps[j] = PetscMax(l->steps[j], q + 1);
          share[j] = 2. / Q * sin((j + 1) * M_PI / Q) * w;
          out[j] = 2. / Q * w * scale;
        } else {
          share[j] = S[j] * w;
          share[M + j] = S[M * (h[kind] - 1) + j] * w;
          for (PetscInt i = 0; i < h[kind]; i++) v[BCR_CUDA_LEVEL0_ENDS(M) + j] += 0.5 * S[M * i + j] * w;
          for (PetscInt i = 0; i < h[kind]; i++) {
            v[BCR_CUDA_LEVEL0_A(M) + M * j + i] = A[M * j + i];
            v[BCR_CUDA_LEVEL0_S(M) + M * i + j] = S[M * i + j] * w * scale;
          }
        }
      }
    }
  }
  for (int j = 0; j < Q - 1; j++) {
    l->mu[j] = tab[j];
    l->share[j] = tab[BCR_CUDA_LEVEL0_SHARE(M) + j];
    l->out[j] = tab[BCR_CUDA_LEVEL0_OUT(M) + j];
  }
  l->inverse = tab[BCR_CUDA_LEVEL0_INVERSE(M)];
}

/* Strips of regular groups: as many blocks as run at the same time, or times as many if a plane is as much as a block
   should have; each costs about two groups more */
static void strips_choose(BCRDeviceCore c, const BCRPlanCudaShape *shape, PetscBool whole)
{
  const BCRPlan p = c->plan;
  const BCRCudaLevel0 *l = &c->level0;
  const int asked = p->options.launch[BCR_LAUNCH_STRIPS];
  const PetscInt columns = shape->columns - 2 * l->halo, tiles = whole ? 1 : (p->n[0] + columns - 1) / columns,
                 groups = l->g1 - l->g0, other = p->ngroups - groups,
                 slots = asked > 0 ? asked * c->cuda.sms : shape->slots;
  const PetscInt want = PetscMax(1, (asked > 0 ? asked : shape->blocks) * c->cuda.sms / (tiles * p->nplanes) - other);
  const PetscInt most = 64; /* strips of a plane */
  PetscInt least = PETSC_INT_MAX;

  c->per = PetscMax(1, (groups + want - 1) / want);
  for (PetscInt m = 1; whole && m <= PetscMin(groups, most); m++) {
    const PetscInt per = (groups + m - 1) / m, all = (other + (groups + per - 1) / per) * p->nplanes,
                   work = (all + slots - 1) / slots * (per + 2);

    if (work < least) {
      least = work;
      c->per = per;
    }
  }
  if (c->kind == BCR_PLAN_LEVEL0_SMALL) c->per = 1;
  c->strips = (groups + c->per - 1) / c->per;
}

/* Which separator is the first of a strip, and gets what goes to `extra` besides */
static PetscErrorCode strips_tables(BCRDeviceCore c)
{
  const PetscInt ng = c->plan->ngroups;
  int *of;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(c->ndrows, &of));
  for (PetscInt i = 0; i < c->ndrows; i++) of[i] = -1;
  for (PetscInt b = 0; b < c->strips; b++) {
    const PetscInt g = c->level0.g0 + b * c->per;

    if (g > 0) of[g - 1] = (int)b;
    else if (c->level0.yperiodic) of[ng - 1] = (int)b;
  }
  if (c->level0.g1 < ng) of[ng - 2] = (int)c->strips;
  PetscCall(put_ints(c, c->ndrows, of, &c->extraof));
  PetscCall(PetscFree(of));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode level0_workspace(BCRDeviceCore c)
{
  const BCRPlan p = c->plan;
  const PetscBool whole = c->kind == BCR_PLAN_LEVEL0_ROWS ? PETSC_TRUE : PETSC_FALSE;
  size_t plane;

  PetscFunctionBegin;
  c->ldd = (p->n[0] + 16) / 16 * 16;
  if (c->ldd % 128 == 0) c->ldd += 16; /* rows that are a power of two apart meet in the caches */
  plane = (size_t)c->ldd * p->nplanes * c->size;
  PetscCall(BCRDeviceArenaGet(&c->space, plane * c->ndrows, "the workspace", &c->D));
  if (!BCRPlanCudaStays(p)) PetscCall(BCRDeviceArenaGet(&c->space, plane * c->ndrows, "the workspace", &c->D2));
  PetscCall(BCRDeviceArenaGet(&c->space, plane * (c->strips + 1), "the workspace", &c->extra));
  if (p->dim == 3 ? !whole : c->input)
    PetscCall(BCRDeviceArenaGet(&c->space, (size_t)p->n[0] * p->n[1] * p->n[2] * c->size, "the workspace", &c->work));
  c->level0.ldd = c->ldd;
  c->level0.dplane = (ptrdiff_t)c->ldd * c->ndrows;
  c->level0.eplane = (ptrdiff_t)c->ldd * (c->strips + 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lines over the separators, of the modes as the transform of the rows has them */
static PetscErrorCode separators_tables(BCRDeviceCore c)
{
  const BCRPlan p = c->plan;
  const BCRAxis *x = &p->axis[0], *y = &p->axis[p->blocks];
  const BCRDeviceOrder *o = &c->roworder;
  BCRCudaSepRows r;
  double *lambda, *norm;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&r, sizeof(r)));
  PetscCall(border_tables(c));
  r.nk = o->count;
  PetscCall(PetscMalloc2(r.nk, &lambda, r.nk, &norm));
  for (PetscInt k = 0; k < r.nk; k++) {
    const int m = o->mode[k];

    lambda[k] = p->lambda[0][PetscMax(m, 0)];
    norm[k] = m < 0 ? 0 : o->norm[k] * p->norm[0][m];
  }
  r.periodic = BCREndIsPeriodic(y->end[0]);
  r.n = (int)p->separators.n - r.periodic;
  for (int e = 0; e < 2; e++) {
    r.end[e] = y->end[e];
    r.gapend[e] = (int)p->separators.gapend[e];
  }
  r.gap = (int)p->radix - 1;
  r.gaplast = (int)p->separators.gaplast;
  r.pin = p->singular && !c->border ? 0 : -1; /* with an open end the line is not singular */
  r.ax = x->a;
  r.ay = y->a;
  r.border = c->border;
  PetscCall(lines_tables(c, &r, y->a, lambda, norm, &c->septab));
  PetscCall(PetscFree2(lambda, norm));
  c->sep.n = r.n;
  c->sep.nk = r.nk;
  c->sep.planes = r.planes;
  c->sep.periodic = r.periodic;
  c->sep.ld = c->ldd;
  c->sep.plane = c->level0.dplane;
  c->sep.tab = c->septab;
  c->sep.early = c->level0.early || c->kind == BCR_PLAN_LEVEL0_SMALL;
  c->sep.more = c->kind == BCR_PLAN_LEVEL0_SMALL ? (const char *)c->extra + (size_t)c->ldd * c->size : NULL;
  c->sep.pin = p->singular ? 0 : -1;
  c->sep.subfactor = (BCRDeviceRowsOwn(c) ? 0.5 : 1) * p->norm[0][0];
  c->sep.removedfactor =
    c->sep.subfactor * (p->dim == 3 ? (BCRDeviceAcrossDoubles(c) ? 0.5 : 1) * p->norm[p->across][0] : 1);
  c->sep.removed = c->scalars;
  c->sep.border = c->border;
  for (int e = 0; e < 2; e++) c->sep.open[e] = p->open[e];
  c->sep.total = 0;
  for (PetscInt i = 0; i < p->separators.n && p->singular; i++) {
    const double ones = BCRLineRowsOnes(&p->separators, i);

    c->sep.total += ones;
    c->sep.ones[i == 0 ? 0 : (i >= r.n ? 3 : (i == r.n - 1 ? 2 : 1))] = ones;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceLevel0Tables(BCRDeviceCore c)
{
  const BCRPlan p = c->plan;
  const PetscBool whole = c->kind == BCR_PLAN_LEVEL0_ROWS ? PETSC_TRUE : PETSC_FALSE;
  const PetscInt ntab = p->nplanes * 3 * BCR_CUDA_LEVEL0_TAB(BCR_CUDA_LEVEL0_MOST(p->radix));
  BCRCudaLevel0 *l = &c->level0;
  BCRPlanCudaShape shape;
  double *tab;

  PetscFunctionBegin;
  BCRPlanCudaLevel0(p, l, &shape);
  if (whole) (void)BCRCudaLevel0RowsPossible(l, c->single, c->cuda.sms, &shape.slots);
  PetscCall(PetscCalloc1(ntab, &tab));
  group_table(c, shape.K, tab, l);
  PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, c->single, ntab, tab, &l->tab));
  PetscCall(PetscFree(tab));
  c->ndrows = p->separators.n + (p->open[0] ? 1 : 0) + (p->open[1] ? 1 : 0);
  strips_choose(c, &shape, whole);
  l->per = (int)c->per;
  l->strips = (int)c->strips;
  PetscCall(strips_tables(c));
  PetscCall(level0_workspace(c));
  l->early = !p->open[0] && !p->open[1] &&
             (p->rowsby == BCR_TRANSFORM_SINE ? (p->separators.n * p->nplanes + 1) / 2 <= c->cuda.sms
                                              : p->rowsby == BCR_TRANSFORM_PRIME && p->dim == 2 &&
                                                  BCRCudaDstPrimeEarly(&c->prime, (int)c->ndrows, c->cuda.sms));
  l->sub = p->singular ? c->scalars + 1 : NULL;
  l->subfactor = 1;
  l->subplane = 0;
  PetscCall(separators_tables(c));
  PetscCall(mean_tables(c, &shape));
  if (BCRPlanMeanOfPlanes(p)) {
    PetscCall(BCRDeviceMeanTables(c, p->across, p->acrossby, BCRCudaLevel0RowsBlocks(l)));
    l->mean = c->planemean;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- solve ---- */

/* n rows of separators, apart elements from one to the next, in each plane */
static BCRCudaLines separator_lines(BCRDeviceCore c, PetscInt n, PetscInt apart)
{
  BCRCudaLines l;

  l.na = (int)n;
  l.nb = (int)c->plan->nplanes;
  l.sa = apart;
  l.sb = c->level0.dplane;
  l.s = 1;
  return l;
}

static PetscBool whole_rows(BCRDeviceCore c)
{
  return c->kind == BCR_PLAN_LEVEL0_ROWS ? PETSC_TRUE : PETSC_FALSE;
}

/* Where f is read and u written. The substitution back needs f to the end: one plane in place goes to the work array */
PetscErrorCode BCRDeviceLevel0Begin(BCRDeviceCore c, BCRStream stream, BCRDeviceWalk *w, void *u)
{
  const BCRPlan p = c->plan;

  PetscFunctionBegin;
  w->level0 = c->level0;
  w->level0.ldu = p->stride[p->blocks];
  w->level0.uplane = p->dim == 3 ? p->stride[p->across] : 0;
  if (p->dim == 3) { /* where the transform across planes puts f */
    w->level0.ldf = whole_rows(c) ? p->stride[p->blocks] : (ptrdiff_t)p->n[0] * (p->blocks == 1 ? 1 : p->n[1]);
    w->level0.fplane = whole_rows(c) ? p->stride[p->across] : (ptrdiff_t)p->n[0] * (p->across == 1 ? 1 : p->n[1]);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  w->level0.fplane = 0;
  if (w->at == u && c->kind != BCR_PLAN_LEVEL0_SMALL) {
    const int n[3] = {(int)p->n[0], (int)p->n[1], 1};
    const ptrdiff_t s[3] = {1, p->stride[1], 0}, packed[3] = {1, p->n[0], 0};

    if (!c->work)
      PetscCall(BCRDeviceArenaGet(&c->space, (size_t)p->n[0] * p->n[1] * c->size, "the workspace", &c->work));
    PetscCallBCRCuda(BCRCudaScaleCopy(stream, n, c->single, u, s, c->single, c->work, packed, NULL, NULL));
    w->at = c->work;
  }
  w->level0.ldf = c->work && w->at == c->work ? p->n[0] : p->stride[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceLevel0Reduce(BCRDeviceCore c, BCRStream stream, const BCRStage *stage, BCRDeviceWalk *w,
                                     void *u)
{
  PetscFunctionBegin;
  (void)stage;
  (void)u;
  if (c->kind == BCR_PLAN_LEVEL0_SMALL)
    PetscCallBCRCuda(
      BCRCudaLevel0SmallReduce(stream, &w->level0, c->single, c->cuda.sms, c->rowtable, w->at, c->D, c->extra));
  else if (whole_rows(c))
    PetscCallBCRCuda(BCRCudaLevel0RowsReduce(stream, &w->level0, c->single, w->at, c->D, c->extra));
  else PetscCallBCRCuda(BCRCudaLevel0Reduce(stream, &w->level0, c->single, w->at, c->D, c->extra));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Separators' solutions back into their rows of u: all but the last one are radix rows apart, that one often, too. The row
   before the first goes with the last launch */
static PetscErrorCode synthesis_to(BCRDeviceCore c, BCRStream stream, const BCRCudaLevel0 *l, void *u)
{
  const BCRPlan p = c->plan;
  const PetscInt nsep = p->separators.n + (p->open[1] ? 1 : 0), Q = l->radix;
  const PetscBool all = nsep < p->ngroups || l->hlast == Q - 1 ? PETSC_TRUE : PETSC_FALSE;
  void *S = BCRDeviceSeparators(c);
  BCRCudaLines sl = separator_lines(c, nsep, c->ldd), ul = sl;

  PetscFunctionBegin;
  ul.sa = Q * p->stride[p->blocks];
  ul.sb = l->uplane;
  for (int part = 0; part < (all ? 1 : 2); part++) {
    const size_t at = (size_t)(part ? nsep - 1 : 0),
                 row = part ? (size_t)(p->n[p->blocks] - 1) : (size_t)(Q - 1 - l->short0);
    const char *from = (char *)S + at * c->ldd * c->size;
    char *to = (char *)u + row * p->stride[p->blocks] * c->size;
    const int more = p->open[0] && (part || all);

    sl.na = ul.na = (int)(all ? nsep : (part ? 1 : nsep - 1));
    if (sl.na < 1) continue;
    if (BCRDeviceRowsOwn(c) && more) {
      sl.sb = (ptrdiff_t)(nsep - (PetscInt)at) * c->ldd;
      ul.sb = ((const char *)l->before - to) / (ptrdiff_t)c->size;
    }
    PetscCallBCRCuda(BCRDeviceTransformRows(c, stream, 1, &sl, from, &ul, to, NULL, BCRDeviceRowsOwn(c) ? more : 0));
    if (!BCRDeviceRowsOwn(c) && more) {
      sl.na = ul.na = 1;
      PetscCallBCRCuda(BCRDeviceTransformRows(c, stream, 1, &sl, (char *)S + (size_t)nsep * c->ldd * c->size, &ul,
                                              (void *)l->before, NULL, 0));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceLevel0Transform(BCRDeviceCore c, BCRStream stream, const BCRStage *stage, BCRDeviceWalk *w,
                                        void *u)
{
  const BCRCudaLines l = separator_lines(c, c->ndrows, c->ldd);
  void *S = BCRDeviceSeparators(c);

  PetscFunctionBegin;
  if (c->kind == BCR_PLAN_LEVEL0_SMALL) PetscFunctionReturn(PETSC_SUCCESS); /* level 0 and it are one kernel */
  if (!stage->back) PetscCallBCRCuda(BCRDeviceTransformRows(c, stream, 0, &l, c->D, &l, S, c->extra, 0));
  else if (whole_rows(c) || w->level0.add)
    PetscCallBCRCuda(BCRDeviceTransformRows(c, stream, 1, &l, S, &l, c->D, NULL, 0));
  else PetscCall(synthesis_to(c, stream, &w->level0, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceLevel0Lines(BCRDeviceCore c, BCRStream stream, const BCRStage *stage, BCRDeviceWalk *w, void *u)
{
  PetscFunctionBegin;
  (void)stage;
  (void)w;
  (void)u;
  PetscCallBCRCuda(BCRCudaSepSolve(stream, &c->sep, c->single, BCRDeviceSeparators(c)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceLevel0Back(BCRDeviceCore c, BCRStream stream, const BCRStage *stage, BCRDeviceWalk *w, void *u)
{
  PetscFunctionBegin;
  (void)stage;
  if (c->kind == BCR_PLAN_LEVEL0_SMALL)
    PetscCallBCRCuda(BCRCudaLevel0SmallBack(stream, &w->level0, c->single, c->cuda.sms, c->rowtable, c->D, w->at, u));
  else if (whole_rows(c)) PetscCallBCRCuda(BCRCudaLevel0RowsBack(stream, &w->level0, c->single, u, c->D));
  else PetscCallBCRCuda(BCRCudaLevel0Back(stream, &w->level0, c->single, w->at, u, w->level0.add ? c->D : NULL));
  w->at = u;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
