/*
  The numerical core on a CUDA device: it walks a plan (../plan.h) with the kernels of src/backend/cuda. See ../device.h and
  docs/method.md. What a stage of the plan launches is in the table of stage_launch(); a solve neither allocates, copies
  from or to the host, nor waits.
*/
#include "../../base/petscbcrimpl.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "coreimpl.h"

BCRCudaBox BCRDeviceCoreBox(BCRDeviceCore c)
{
  BCRCudaBox box;

  for (PetscInt d = 0; d < 3; d++) {
    box.n[d] = (int)c->plan->n[d];
    box.stride[d] = d < c->plan->dim ? c->plan->stride[d] : 0;
  }
  if (c->share) box.n[c->plan->along] = (int)c->share->rows[c->share->rank];
  return box;
}

/* ---- set-up ---- */

/* The device under the questions that plans ask */
static PetscErrorCode core_device(BCRDeviceCore c)
{
  BCRPlanCuda *q = &c->cuda;
  int major, minor, shared;

  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaDeviceName(c->name, sizeof(c->name), &major, &minor, &q->sms, &shared));
  q->shared = shared - BCR_CUDA_SHARED_RESERVED;
  PetscCallBCRCuda(BCRCudaDeviceCache(&q->cache));
  q->cache -= q->cache / 3; /* the rest is for what passes through */
  q->fft = BCRCudaFftPossible;
  q->sine = BCRCudaDstPossible;
  q->prime = BCRCudaDstPrimePlan;
  q->chirp = BCRCudaDstChirpPossible;
  q->convolve = BCRCudaDstConvolvePossible;
  q->rows = BCRCudaRowFftPlan;
  q->across = BCRCudaChirpAcrossPlan;
  q->product = BCRCudaProductsPlan;
  q->productacross = BCRCudaProductsAcross;
  q->longline = BCRCudaLongPlan;
  q->columns = BCRCudaBoxLength;
  q->box = BCRCudaBoxPossible;
  q->boxfits = BCRCudaBoxFits;
  q->boxranks = BCRCudaBoxRanksFits;
  q->boxproduct = BCRCudaBoxProductFits;
  q->ring = BCRCudaRingShape;
  q->ringlines = BCRCudaRingLinesPossible;
  q->split = BCRCudaSplitShape;
  q->shape = BCRCudaLevel0Shape;
  q->wholerows = BCRCudaLevel0RowsPossible;
  q->small = BCRCudaLevel0SmallPossible;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of the lines along axis d: excess of the row sums, couplings, weights of a mean. What closes a ring is apart */
PetscErrorCode BCRDeviceLinesRows(BCRDeviceCore c, PetscInt d)
{
  const BCRPlan p = c->plan;
  const PetscInt n = p->n[d];
  const BCRAxis *x = &p->axis[d];
  const PetscBool ring = p->dim > 0 && BCRAxisIsPeriodic(x) ? PETSC_TRUE : PETSC_FALSE;
  const PetscInt m = n - (ring ? 1 : 0);
  const double a = p->dim > 0 ? x->a : 0;
  double *low, *exc, *up, *w, *times = NULL;

  PetscFunctionBegin;
  PetscCall(PetscMalloc4(n, &low, n, &exc, n, &up, n, &w));
  for (PetscInt i = 0; i < n; i++) {
    low[i] = x->lower ? (double)x->lower[i] : a;
    up[i] = x->lower ? (double)x->upper[i] : a;
    exc[i] = x->lower ? x->diag[i] - low[i] - up[i] : 0;
    w[i] = x->weight ? x->weight[i] : 1;
  }
  c->rows.periodic = ring;
  if (ring) {
    c->rows.ring.first = low[0];
    c->rows.ring.last = up[m - 1];
    c->rows.ring.low = low[m];
    c->rows.ring.up = up[m];
  }
  if (m > 0) low[0] = up[m - 1] = 0;
  for (int e = 0; e < 2 && p->dim && !x->lower && !ring; e++) {
    const BCREndRule rule = BCREndGetRule(x->end[e]);
    const PetscInt i = e ? n - 1 : 0;

    exc[i] += rule.excess * a;
    *(e ? &low[i] : &up[i]) = rule.inward * a;
    w[i] *= rule.weight;
  }
  PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, n, low, &c->rows.low));
  PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, n, exc, &c->rows.excess));
  PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, n, up, &c->rows.up));
  PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, n, w, &c->rows.weight));
  PetscCall(PetscFree4(low, exc, up, w));
  if (!x->times || p->across < 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(n, &times));
  for (PetscInt i = 0; i < n; i++) times[i] = (double)x->times[i];
  PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, n, times, &c->rows.times));
  PetscCall(PetscFree(times));
  c->rows.timed = p->across > (p->line == 0 ? 1 : 0); /* of the other axes that which is transformed across */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Modes of the other axes, the lower one first */
static PetscErrorCode lines_modes(BCRDeviceCore c)
{
  const BCRPlan p = c->plan;
  PetscInt t = 0;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < p->dim; d++) {
    double *sigma;

    if (d == p->line) continue;
    PetscCall(PetscMalloc1(p->n[d], &sigma));
    for (PetscInt j = 0; j < p->n[d]; j++) sigma[j] = p->axis[d].a * p->lambda[d][j];
    PetscCall(
      BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, p->n[d], sigma, t ? &c->rows.shiftb : &c->rows.shifta));
    PetscCall(
      BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, p->n[d], p->norm[d], t ? &c->rows.normb : &c->rows.norma));
    PetscCall(PetscFree(sigma));
    if (p->singular) {
      *(t ? &c->rows.pinb : &c->rows.pina) = (int)p->constant[d];
      c->rows.removedfactor *= p->norm[d][p->constant[d]];
    }
    t++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tables of lines, which only numbers of depend on the shift and the factor */
static PetscErrorCode lines_tables(BCRDeviceCore c)
{
  const BCRPlan p = c->plan;
  const PetscBool reduction = BCRPlanIsReduction(c->kind);

  PetscFunctionBegin;
  if (!c->work && !reduction) {
    PetscCall(BCRDeviceArenaGet(&c->space, (size_t)p->n[0] * p->n[1] * p->n[2] * c->size, "the workspace", &c->work));
    PetscCall(BCRDeviceEigenSpace(c));
  }
  c->rows.n = (int)p->n[p->dim ? p->line : 0];
  c->rows.shift = p->singular ? 0 : p->shift + p->fixed;
  c->rows.factor = c->factor;
  c->rows.removed = c->scalars;
  if (!c->tables.n) {
    c->rows.pina = c->rows.pinb = p->singular ? 0 : -1;
    c->rows.removedfactor = 1;
    PetscCall(BCRDeviceLinesRows(c, c->plan->dim ? c->plan->line : 0));
    if (!reduction) PetscCall(lines_modes(c));
  }
  if (reduction) PetscCall(BCRDeviceReductionTables(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

double BCRDeviceEndsHalf(const BCRAxis *axis, PetscInt m)
{
  BCRAxisModes modes;
  double half = 0;

  (void)BCRAxisModesDescribe(axis->n, axis->end[0], axis->end[1], &modes);
  for (int e = 0; e < 2; e++) {
    PetscInt64 num, den;
    long double c, s;

    if (!(BCREndGetRule(axis->end[e]).weight < 1)) continue;
    (void)BCRAxisModesGetPhase(&modes, m, e ? axis->n - 1 : 0, &num, &den);
    BCRUnit(num, 2 * den, &c, &s);
    half += 0.5 * (double)c;
  }
  return half;
}

double BCRDeviceModeSum(BCRDeviceCore c, PetscInt d, BCRTransformKind by, PetscInt m)
{
  const BCRAxis *a = &c->plan->axis[d];
  const PetscInt constant = c->plan->constant[d];

  if (m == constant) return (double)a->n;
  return BCRDeviceEndsHalf(a, m) * BCRDeviceGain(c, d, by, m) / BCRDeviceGain(c, d, by, constant);
}

/* Weights of planes in the mean: what modes along axis d add up to, over what the constant does; blocks: of a plane */
PetscErrorCode BCRDeviceMeanTables(BCRDeviceCore c, PetscInt d, BCRTransformKind by, PetscInt blocks)
{
  const BCRPlan p = c->plan;
  const PetscInt n = p->n[d];
  const size_t bytes = (size_t)(n * blocks) * sizeof(double);
  BCRCudaPlaneMean *m = &c->planemean;
  double *w;
  void *count;

  PetscFunctionBegin;
  m->parts = (int)(n * blocks);
  m->all = (int)((n + 1) / 2 * blocks);
  m->factor = (double)n / ((double)p->n[0] * (double)p->n[1] * (double)p->n[2]);
  PetscCall(PetscCalloc1(n, &w));
  for (PetscInt k = 0; k < n; k += 2) w[k] = BCRDeviceModeSum(c, d, by, k) / (double)n;
  PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, n, w, &m->weight));
  PetscCall(PetscFree(w));
  PetscCall(BCRDeviceArenaGet(&c->tables, bytes, "tables", &m->part));
  PetscCallBCRCuda(BCRCudaZero(m->part, bytes, c->stream));
  PetscCall(BCRDeviceArenaGet(&c->tables, sizeof(int), "tables", &count));
  PetscCallBCRCuda(BCRCudaZero(count, sizeof(int), c->stream));
  m->count = (int *)count;
  m->mean = c->scalars + 2;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nothing of the tables stays */
static PetscErrorCode tables_free(BCRDeviceCore c)
{
  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaSynchronize(c->stream)); /* they may be in use */
  PetscCall(BCRDeviceReductionDestroy(&c->red));
  PetscCall(BCRDeviceArenaFree(&c->tables));
  PetscCall(BCRDeviceArenaFree(&c->space));
  c->work = c->ringmodes = NULL;
  PetscCall(PetscMemzero(&c->planemean, sizeof(c->planemean)));
  PetscCall(PetscArrayzero(c->places, 2));
  c->left = NULL;
  c->ringsums = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Everything that the shift or the factor goes into */
static PetscErrorCode core_tables(BCRDeviceCore c)
{
  PetscFunctionBegin;
  if (c->kind != c->plan->kind || BCRPlanIsLevel0(c->kind) || c->kind == BCR_PLAN_BOX_PRODUCT)
    PetscCall(tables_free(c));
  c->kind = c->plan->kind;
  switch (c->kind) {
  case BCR_PLAN_BOX:
  case BCR_PLAN_BOX_PASSES:
    if (!c->box) PetscCall(BCRDeviceBoxCreate(c->plan, c->stream, &c->box));
    if (BCRPlanMeanOfPlanes(c->plan) && !c->planemean.weight)
      PetscCall(BCRDeviceMeanTables(c, c->plan->box.across, BCR_TRANSFORM_COLUMNS, BCRDeviceBoxBlocks(c->box)));
    PetscCall(BCRDeviceBoxSetUp(c->box, c->factor, c->plan->singular ? c->scalars : NULL, &c->planemean));
    break;
  case BCR_PLAN_SPLIT:
  case BCR_PLAN_RING:
    PetscCall(BCRDeviceRingTables(c));
    break;
  case BCR_PLAN_BOX_PRODUCT:
    PetscCall(BCRDeviceProductTables(c));
    break;
  case BCR_PLAN_LEVEL0_SMALL:
  case BCR_PLAN_LEVEL0_ROWS:
  case BCR_PLAN_LEVEL0:
    PetscCall(BCRDeviceLevel0Tables(c));
    break;
  case BCR_PLAN_POINT:
  case BCR_PLAN_LINE:
  case BCR_PLAN_RECURSIVE:
  case BCR_PLAN_REDUCTION:
  case BCR_PLAN_FOURIER:
    PetscCall(lines_tables(c));
    break;
  case BCR_PLAN_SPECTRAL:
    PetscCall(BCRDeviceSpectralTables(c));
    break;
  case BCR_PLAN_POLES:
  case BCR_PLAN_NONE:
  case BCR_PLAN_KINDS:
    break;
  }
  c->stale = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode core_create(const BCRPlanSpec *spec, BCRStream stream, BCRDeviceCore *core)
{
  const size_t nscalars = (BCR_CUDA_PARTIALS + 8) * sizeof(double);
  BCRPlanLimits limits;
  BCRDeviceCore c;

  PetscFunctionBegin;
  PetscCall(PetscNew(core));
  c = *core;
  c->factor = 1;
  c->single = spec->options->precision == BCR_DOUBLE ? PETSC_FALSE : PETSC_TRUE;
  c->size = c->single ? sizeof(float) : sizeof(double);
  c->stream = stream;
  c->stale = PETSC_TRUE;
  PetscCall(core_device(c));
  BCRPlanLimitsCuda(&c->cuda, &limits);
  PetscCall(BCRPlanCreate(spec, &limits, &c->plan));
  PetscCall(BCRDeviceArenaGet(&c->fixedtables, nscalars, "sums", &c->scalars));
  PetscCallBCRCuda(BCRCudaZero(c->scalars, nscalars, stream));
  PetscCall(BCRDeviceTransformsCreate(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without interfaces; mixed, waves, share, pair: of plan SPECTRAL */
static PetscErrorCode core_create_alone(PetscInt dim, const BCRAxis axis[], const PetscReal mixed[], PetscBool waves,
                                        PetscReal shift, PetscBool singular, const PetscInt stride[],
                                        const BCRCoreOptions *options, const BCRCoreShare *share,
                                        const BCRCorePair *pair, BCRStream stream, BCRDeviceCore *core)
{
  const BCRPlanSpec spec = {.dim = dim,
                            .axis = axis,
                            .stride = stride,
                            .shift = shift,
                            .singular = singular,
                            .io = options->precision == BCR_DOUBLE ? BCR_DOUBLE : BCR_SINGLE,
                            .options = options,
                            .along = share ? share->axis : -1,
                            .mixed = mixed,
                            .waves = waves,
                            .tau = pair ? pair->tau : 0};

  PetscFunctionBegin;
  PetscCall(core_create(&spec, stream, core));
  if (pair) (*core)->part = pair->part;
  if (share) PetscCall(BCRDeviceShareCreate(*core, share));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreCreate(PetscInt dim, const BCRAxis axis[], PetscReal shift, PetscBool singular,
                                   const PetscInt stride[], const BCRCoreOptions *options, BCRStream stream,
                                   BCRDeviceCore *core)
{
  PetscFunctionBegin;
  PetscCall(
    core_create_alone(dim, axis, NULL, PETSC_FALSE, shift, singular, stride, options, NULL, NULL, stream, core));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreCreateSpectral(PetscInt dim, const BCRAxis axis[], const PetscReal mixed[], PetscReal shift,
                                           PetscBool singular, const PetscInt stride[], const BCRCoreOptions *options,
                                           const BCRCoreShare *share, const BCRCorePair *pair, BCRStream stream,
                                           BCRDeviceCore *core)
{
  PetscFunctionBegin;
  PetscCall(core_create_alone(dim, axis, mixed, mixed ? PETSC_FALSE : PETSC_TRUE, shift, singular, stride, options,
                              share, pair, stream, core));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreCreateBorder(PetscInt dim, const BCRAxis axis[], PetscReal shift, PetscBool singular,
                                         const PetscInt stride[], const BCRCoreOptions *options, PetscInt along,
                                         const PetscBool open[2], BCRStream stream, BCRDeviceCore *core)
{
  const BCRPlanSpec spec = {
    .dim = dim,
    .axis = axis,
    .stride = stride,
    .shift = shift,
    .singular = singular,
    .io = options->precision == BCR_DOUBLE ? BCR_DOUBLE : BCR_SINGLE,
    .options = options,
    .along = along,
    .open = {open[0], open[1]}
  };

  PetscFunctionBegin;
  *core = NULL;
  for (PetscInt d = 0; d < dim; d++) {
    if (axis[d].n == 1) PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (dim < 2 || along < 1 || axis[along].n < 4) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(core_create(&spec, stream, core));
  if (!BCRPlanCudaBorder((*core)->plan)) PetscCall(BCRDeviceCoreDestroy(core)); /* whatever the shift */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreSetUp(BCRDeviceCore c)
{
  PetscFunctionBegin;
  if (c->stale) PetscCall(core_tables(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreSetShift(BCRDeviceCore c, PetscReal shift)
{
  PetscFunctionBegin;
  PetscCall(BCRPlanSetShift(c->plan, shift));
  c->stale = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreSetFactor(BCRDeviceCore c, PetscReal factor)
{
  PetscFunctionBegin;
  if (c->factor != factor) c->stale = PETSC_TRUE;
  c->factor = factor;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreReserveInput(BCRDeviceCore c)
{
  PetscFunctionBegin;
  c->input = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreGetInput(BCRDeviceCore c, void **f)
{
  PetscFunctionBegin;
  if (c->stale) PetscCall(core_tables(c));
  *f = c->input && BCRPlanIsLevel0(c->kind) && c->plan->dim == 2 ? c->work : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreDestroy(BCRDeviceCore *core)
{
  BCRDeviceCore c = *core;

  PetscFunctionBegin;
  if (!c) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRDeviceTransformsDestroy(c));
  PetscCall(BCRDeviceReductionDestroy(&c->red));
  PetscCall(BCRDeviceBoxDestroy(&c->box));
  PetscCall(BCRDeviceShareDestroy(c));
  PetscCall(BCRDeviceArenaFree(&c->fixedtables));
  PetscCall(BCRDeviceArenaFree(&c->tables));
  PetscCall(BCRDeviceArenaFree(&c->space));
  PetscCall(BCRPlanDestroy(&c->plan));
  PetscCall(PetscFree(*core));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- stages ---- */

/* The transform across planes: from f to u, or packed to the work array where level 0 is not in place; back in u */
static PetscErrorCode stage_across(BCRDeviceCore c, BCRStream stream, const BCRStage *stage, BCRDeviceWalk *w, void *u)
{
  const BCRPlan p = c->plan;
  const ptrdiff_t packed[3] = {1, p->n[0], (ptrdiff_t)p->n[0] * p->n[1]};
  const PetscBool work = c->kind == BCR_PLAN_LEVEL0 && !stage->back ? PETSC_TRUE : PETSC_FALSE;
  const BCRCudaLines from = BCRDeviceLinesAlong(c, p->across, p->stride),
                     to = BCRDeviceLinesAlong(c, p->across, work ? packed : p->stride);
  void *g = work ? c->work : u;

  PetscFunctionBegin;
  PetscCallBCRCuda(BCRDeviceTransformAcross(c, stream, stage->back, &from, w->at, &to, g));
  w->at = g;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode box_across(BCRDeviceCore c, BCRStream stream, const BCRStage *stage, BCRDeviceWalk *w, void *u)
{
  PetscFunctionBegin;
  PetscCall(BCRDeviceBoxColumns(c->box, stream, w->at, u, BCRDeviceColumnsMean(c, stage->back)));
  w->at = u;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode stage_planes(BCRDeviceCore c, BCRStream stream, const BCRStage *stage, BCRDeviceWalk *w, void *u)
{
  PetscFunctionBegin;
  (void)stage;
  (void)w;
  if (c->kind == BCR_PLAN_BOX_PRODUCT)
    PetscCallBCRCuda(BCRCudaBoxProduct(stream, &c->planes, &c->matrix[c->plan->blocks], &c->planesmean, c->single, u));
  else PetscCall(BCRDeviceBoxPlanes(c->box, stream, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* FOURIER: transforms are out of place, between u and the packed work array; the last one ends in u */
static PetscErrorCode stage_transform(BCRDeviceCore c, BCRStream stream, const BCRStage *stage, BCRDeviceWalk *w,
                                      void *u)
{
  const ptrdiff_t packed[3] = {1, c->plan->n[0], (ptrdiff_t)c->plan->n[0] * c->plan->n[1]};
  const PetscBool back = w->at == c->work ? PETSC_TRUE : PETSC_FALSE;
  const BCRCudaLines from = BCRDeviceLinesAlong(c, stage->axis, back ? packed : c->plan->stride),
                     to = BCRDeviceLinesAlong(c, stage->axis, back ? c->plan->stride : packed);
  void *g = back ? u : c->work;

  PetscFunctionBegin;
  PetscCallBCRCuda(BCRDeviceTransform(c, stream, stage->axis, stage->back, &from, w->at, &to, g));
  w->at = g;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lines where they are; the other array holds factors */
static PetscErrorCode stage_lines(BCRDeviceCore c, BCRStream stream, const BCRStage *stage, BCRDeviceWalk *w, void *u)
{
  const PetscInt d = c->plan->dim ? c->plan->line : 0;
  const ptrdiff_t packed[3] = {1, c->plan->n[0], (ptrdiff_t)c->plan->n[0] * c->plan->n[1]};
  const PetscBool work = w->at == c->work ? PETSC_TRUE : PETSC_FALSE;
  const BCRCudaLines here = BCRDeviceLinesAlong(c, d, work ? packed : c->plan->stride),
                     other = BCRDeviceLinesAlong(c, d, work ? c->plan->stride : packed);

  PetscFunctionBegin;
  (void)stage;
  if (!work && w->at != u) { /* one line */
    const BCRCudaBox box = BCRDeviceCoreBox(c);

    PetscCallBCRCuda(
      BCRCudaScaleCopy(stream, box.n, c->single, w->at, box.stride, c->single, u, box.stride, NULL, NULL));
    w->at = u;
  }
  PetscCallBCRCuda(BCRCudaLineSolve(stream, &c->rows, c->single, &here, (void *)w->at, &other, work ? u : c->work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool BCRDeviceCoreMean(BCRDeviceCore c, BCRCudaBox *box, size_t *at)
{
  const PetscInt i = BCRDeviceStageFind(c, BCR_STAGE_MEAN, PETSC_FALSE),
                 d = i < c->plan->nstages ? c->plan->stage[i].axis : -1;
  PetscInt k = 0;

  *box = BCRDeviceCoreBox(c);
  *at = 0;
  if (d < 0 || c->kind == BCR_PLAN_FOURIER || BCRPlanMeanOfPlanes(c->plan)) return PETSC_FALSE;
  while (BCRDevicePlaneMode(c, k) != c->plan->constant[d]) k++;
  box->n[d] = 1;
  *at = (size_t)k * (size_t)c->plan->stride[d] * c->size;
  return PETSC_TRUE;
}

static PetscErrorCode stage_mean(BCRDeviceCore c, BCRStream stream, const BCRStage *stage, BCRDeviceWalk *w, void *u)
{
  double *sum = c->scalars + 2, n = 1;
  PetscBool some;
  BCRCudaBox box;
  size_t at;
  void *v;

  PetscFunctionBegin;
  if (BCRPlanMeanOfPlanes(c->plan)) { /* by transforms of columns, where these are the way back */
    if (BCRDeviceColumnsMean(c, PETSC_TRUE)) PetscFunctionReturn(PETSC_SUCCESS);
    box = BCRDeviceCoreBox(c);
    box.n[stage->axis] = 1;
    PetscCallBCRCuda(BCRCudaAddValue(stream, &box, c->single, u, u, c->planemean.mean, -1));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (c->kind == BCR_PLAN_FOURIER &&
      stage->axis >= 0) { /* the line of the constant modes, before it is transformed back */
    const PetscBool work = w->at == c->work ? PETSC_TRUE : PETSC_FALSE;
    ptrdiff_t stride = 1;

    box = BCRDeviceCoreBox(c);
    at = 0;
    for (PetscInt d = 0; d < c->plan->dim; d++) {
      if (work) box.stride[d] = stride;
      stride *= c->plan->n[d];
      if (d == stage->axis) continue;
      at += (size_t)c->plan->constant[d] * (size_t)box.stride[d] * c->size;
      box.n[d] = 1;
    }
    v = (char *)w->at + at;
  } else {
    (void)BCRDeviceCoreMean(c, &box, &at);
    v = (char *)u + at;
  }
  for (int d = 0; d < 3; d++) n *= c->share ? (double)c->plan->n[d] : box.n[d];
  some = box.n[0] && box.n[1] && box.n[2] ? PETSC_TRUE : PETSC_FALSE;
  if (some) PetscCallBCRCuda(BCRCudaSum(stream, &box, c->single, v, NULL, c->scalars + 8, sum));
  else PetscCallBCRCuda(BCRCudaZero(sum, sizeof(double), stream));
  if (c->share) PetscCall(BCRDeviceShareSum(c, stream, sum));
  if (some) PetscCallBCRCuda(BCRCudaAddValue(stream, &box, c->single, v, v, sum, -1 / n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What launches a stage of this plan */
static BCRDeviceLaunch *stage_launch(BCRDeviceCore c, BCRStageKind kind)
{
  const PetscBool level0 = BCRPlanIsLevel0(c->kind);

  switch (kind) {
  case BCR_STAGE_ACROSS:
    if (BCRPlanIsReduction(c->kind)) return BCRDeviceReductionAcross;
    return c->kind == BCR_PLAN_BOX || c->kind == BCR_PLAN_BOX_PASSES ? box_across : stage_across;
  case BCR_STAGE_REDUCE:
    return BCRDeviceLevel0Reduce;
  case BCR_STAGE_TRANSFORM:
    if (c->kind == BCR_PLAN_SPECTRAL) return BCRDeviceSpectralTransform;
    return level0 ? BCRDeviceLevel0Transform : stage_transform;
  case BCR_STAGE_LINES:
    if (BCRPlanIsRing(c->kind)) return BCRDeviceRingLines;
    return level0 ? BCRDeviceLevel0Lines : stage_lines;
  case BCR_STAGE_PLANES:
    return stage_planes;
  case BCR_STAGE_RING:
    return BCRDeviceRingPlanes;
  case BCR_STAGE_BACK:
    return BCRDeviceLevel0Back;
  case BCR_STAGE_REDUCTION:
    return BCRDeviceReductionStage;
  case BCR_STAGE_MEAN:
    return stage_mean;
  case BCR_STAGE_DIVIDE:
    return BCRDeviceSpectralDivide;
  case BCR_STAGE_EXCHANGE:
    return BCRDeviceShareExchange;
  case BCR_STAGE_POLES: /* of the host */
  case BCR_STAGES:
    break;
  }
  return NULL;
}

PetscErrorCode BCRDeviceCoreStages(BCRDeviceCore c, BCRStream stream, PetscInt first, PetscInt end, BCRDeviceWalk *w,
                                   void *u)
{
  PetscFunctionBegin;
  for (PetscInt i = first; i < end; i++) {
    const BCRStage *stage = &c->plan->stage[i];

    BCRCudaRangeBegin(BCRPlanStageName(stage->kind));
    PetscCall((*stage_launch(c, stage->kind))(c, stream, stage, w, u));
    BCRCudaRangeEnd();
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreSolve(BCRDeviceCore c, BCRStream stream, const void *f, void *u)
{
  BCRDeviceWalk w;

  PetscFunctionBegin;
  if (c->stale) PetscCall(core_tables(c));
  PetscCheck(c->kind != BCR_PLAN_NONE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No plan for a solve");
  w.at = f;
  if (BCRPlanIsLevel0(c->kind)) PetscCall(BCRDeviceLevel0Begin(c, stream, &w, u));
  if (BCRPlanIsReduction(c->kind)) PetscCall(BCRDeviceReductionBegin(c, stream, &w, u));
  PetscCall(BCRDeviceCoreStages(c, stream, 0, c->plan->nstages, &w, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreGetRemoved(BCRDeviceCore c, const double **removed)
{
  PetscFunctionBegin;
  *removed = c->plan->singular ? c->scalars : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreGetPlan(BCRDeviceCore c, BCRPlan *plan)
{
  PetscFunctionBegin;
  *plan = c->plan;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreGetInfo(BCRDeviceCore c, BCRCoreInfo *info)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(info, sizeof(*info)));
  info->workspace = c->space.bytes;
  info->tables = c->tables.bytes + c->fixedtables.bytes + (c->box ? BCRDeviceBoxTables(c->box) : 0);
  PetscCall(PetscStrncpy(info->isa, c->name, sizeof(info->isa)));
  PetscCall(BCRPlanDescribe(c->plan, info));
  if (c->left) {
    double left[2];

    PetscCallBCRCuda(BCRCudaGet(left, c->left, sizeof(left), c->stream));
    info->removed = left[0];
    info->backward = left[1];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
