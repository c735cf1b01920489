/*
  The numerical core on the host: it walks a plan (plan.h) with the kernels of src/backend/cpu. See core.h and
  docs/method.md.

  The plan's axes take their parts: rows, which have unit stride and lie in the lanes of vectors; block rows; across.
*/
#include "coreimpl.h"

/* lanes need neighbours in memory: an axis of one unknown between dropped planes may have come first */
static PetscErrorCode core_pack(BCRCore c)
{
  ptrdiff_t size = 1;

  PetscFunctionBegin;
  if (c->dim < 2 || c->stride[0] == 1) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = 0; i < c->dim; i++) {
    const PetscInt part[3] = {0, c->plan->blocks, c->plan->across};

    for (PetscInt j = 0; j < c->dim; j++) /* in the order of memory */
      if (part[j] == i) {
        c->stride[j] = size;
        size *= c->n[j];
      }
  }
  PetscCall(PetscMalloc1(size * (c->io == BCR_DOUBLE ? sizeof(double) : sizeof(float)), (char **)&c->packed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode core_fill(BCRCore c, const BCRPlanSpec *spec, const BCRCoreBorder *border,
                                const BCRCoreShare *share)
{
  const BCRCoreOptions *options = spec->options;
  BCRPlanLimits limits;
  BCRPlan p;

  PetscFunctionBegin;
  c->single = options->precision == BCR_DOUBLE ? PETSC_FALSE : PETSC_TRUE;
  PetscCheck(spec->io == BCR_DOUBLE || c->single, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "Double work on single precision arrays");
  BCRPlanLimitsHost(options->isa, c->single, &limits);
  PetscCall(BCRPlanCreate(spec, &limits, &c->plan));
  p = c->plan;
  if (spec->indefinite && p->kind == BCR_PLAN_NONE) PetscFunctionReturn(PETSC_SUCCESS);
  c->factor = 1;
  c->singular = spec->singular;
  c->io = spec->io;
  c->options = *options;
  c->cpu = BCRCpuGetTable(options->isa, c->single);
  c->narrow = BCRPlanNarrowHost(options->isa, c->single);
  if (border) {
    c->bordered = PETSC_TRUE;
    c->border = *border;
  }
  c->dim = p->dim;
  for (PetscInt i = 0; i < p->dim; i++) {
    const PetscInt part[3] = {0, p->blocks, p->across}, d = part[i];

    c->axis[i] = p->axis[d];
    c->n[i] = p->n[d];
    c->stride[i] = c->outer[i] = p->stride[d];
  }
  if (p->product) PetscCall(BCRSpectralCreate(c, share));
  c->lines = p->line == 0 && p->dim > 1 ? 0 : 1;
  c->nplane = p->kind == BCR_PLAN_RECURSIVE ? 1 : p->nplanes;
  PetscCall(core_pack(c));
  if (BCRPlanIsReduction(p->kind)) {
    const BCRReductionSpec reduction = BCRPlanReductionSpec(p, c->axis);

    PetscCall(BCRReductionCreate(&reduction, options->isa, &c->red));
  }
  PetscCall(PetscCalloc1(c->nplane, &c->plane));
  PetscCall(BCRCoreTables(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode core_create(const BCRPlanSpec *spec, const BCRCoreBorder *border, const BCRCoreShare *share,
                                  BCRCore *core)
{
  BCRCore c;

  PetscFunctionBegin;
  *core = NULL;
  PetscCall(PetscNew(&c));
  BCRCallElse(core_fill(c, spec, border, share), (void)BCRCoreDestroy(&c));
  *core = c;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCoreCreate(PetscInt dim, const BCRAxis axis[], PetscReal shift, PetscBool singular,
                             const PetscInt stride[], BCRPrecision io, const BCRCoreOptions *options, BCRCore *core)
{
  const BCRPlanSpec spec = {.dim = dim,
                            .axis = axis,
                            .stride = stride,
                            .shift = shift,
                            .singular = singular,
                            .io = io,
                            .options = options,
                            .along = options->team ? options->team->axis : -1};

  PetscFunctionBegin;
  PetscCall(core_create(&spec, NULL, NULL, core));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCoreCreateProduct(PetscInt dim, const BCRAxis axis[], const PetscReal mixed[], PetscReal shift,
                                    PetscBool singular, const PetscInt stride[], BCRPrecision io,
                                    const BCRCoreOptions *options, const BCRCoreShare *share, BCRCore *core)
{
  const BCRPlanSpec spec = {.dim = dim,
                            .axis = axis,
                            .stride = stride,
                            .shift = shift,
                            .singular = singular,
                            .io = io,
                            .options = options,
                            .along = share ? share->axis : -1,
                            .mixed = mixed};

  PetscFunctionBegin;
  PetscCall(core_create(&spec, NULL, share, core));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCoreCreateIndefinite(PetscInt dim, const BCRAxis axis[], PetscReal shift, const PetscInt stride[],
                                       const BCRCoreOptions *options, BCRCore *core)
{
  const BCRPlanSpec spec = {.dim = dim,
                            .axis = axis,
                            .stride = stride,
                            .shift = shift,
                            .io = BCR_DOUBLE,
                            .options = options,
                            .along = -1,
                            .indefinite = PETSC_TRUE};

  PetscFunctionBegin;
  PetscCall(core_create(&spec, NULL, NULL, core));
  if ((*core)->plan->kind == BCR_PLAN_NONE) PetscCall(BCRCoreDestroy(core));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows along x that can be transformed, and a third axis that can, too; enough rows to eliminate */
PetscErrorCode BCRCoreCreateBorder(PetscInt dim, const BCRAxis axis[], PetscReal shift, const PetscInt stride[],
                                   BCRPrecision io, const BCRCoreOptions *options, const BCRCoreBorder *border,
                                   BCRCore *core)
{
  const BCRPlanSpec spec = {
    .dim = dim,
    .axis = axis,
    .stride = stride,
    .shift = shift,
    .io = io,
    .options = options,
    .along = border->axis,
    .open = {border->open[0], border->open[1]}
  };

  PetscFunctionBegin;
  *core = NULL;
  if (border->axis == 0 || options->radix || options->nlevels || axis[0].n == 1 || axis[border->axis].n < 3)
    PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt d = 0; d < dim; d++) {
    if (d != border->axis && axis[d].lower) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(core_create(&spec, border, NULL, core));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCoreSetShift(BCRCore core, PetscReal shift)
{
  PetscFunctionBegin;
  PetscCall(BCRPlanSetShift(core->plan, shift));
  PetscCall(BCRCoreTables(core));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCoreSetFactor(BCRCore core, PetscReal factor)
{
  PetscFunctionBegin;
  if (core->factor == factor) PetscFunctionReturn(PETSC_SUCCESS);
  core->factor = factor;
  /* the others multiply by it */
  if (BCRPlanIsLevel0(core->kind) || core->kind == BCR_PLAN_FOURIER) PetscCall(BCRCoreTables(core));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCoreDestroy(BCRCore *core)
{
  BCRCore c = *core;

  PetscFunctionBegin;
  if (!c) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = 0; i < 3; i++) PetscCall(BCRDttDestroy(&c->dtt[i]));
  PetscCall(BCRSpectralDestroy(c));
  PetscCall(BCRCoreEndsDestroy(c));
  PetscCall(BCRReductionDestroy(&c->red));
  PetscCall(BCRArenaFree(&c->arena));
  PetscCall(BCRArenaFree(&c->space));
  PetscCall(PetscFree(c->packed));
  PetscCall(PetscFree(c->plane));
  PetscCall(BCRPlanDestroy(&c->plan));
  PetscCall(PetscFree(*core));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCoreGetPlan(BCRCore c, BCRPlan *plan)
{
  PetscFunctionBegin;
  *plan = c->plan;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCoreGetInfo(BCRCore c, BCRCoreInfo *info)
{
  size_t workspace = 0, tables = 0;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(info, sizeof(*info)));
  if (c->red) PetscCall(BCRReductionGetInfo(c->red, &c->plan->reduction, &workspace, &tables));
  info->workspace = c->space.bytes + workspace;
  info->tables = c->arena.bytes + tables;
  for (PetscInt i = 0; i < 3; i++) {
    if (c->dtt[i]) info->tables += BCRDttTableBytes(c->dtt[i]);
    if (c->eigen[i]) info->tables += BCREigenBytes(c->eigen[i]);
  }
  if (c->ends.eigen) info->tables += BCREigenBytes(c->ends.eigen);
  PetscCall(PetscStrncpy(info->isa, c->cpu->isa, sizeof(info->isa)));
  PetscCall(BCRPlanDescribe(c->plan, info));
  PetscFunctionReturn(PETSC_SUCCESS);
}
