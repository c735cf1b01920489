/*
  A block cyclic reduction on the host: creation and view. Which rows are worked on in which order: redgroups.c,
  redpoles.c, redsteps.c. The lines of a shift: redlines.c. A solve: redhost.c.
*/
#include "reductionimpl.h"

BCRReductionSpec BCRReductionSpecInner(const BCRReductionSpec *spec)
{
  BCRReductionSpec inner = *spec;

  inner.dim = 2;
  inner.nlevels = spec->ninner;
  inner.schedule = spec->inner;
  inner.ninner = 0;
  inner.inner = NULL;
  return inner;
}

/* Coefficients of general lines. An axis of one unknown or without coupling is zero: its rows are in the shift */
static PetscErrorCode lines_general_create(BCRReduction red, const BCRAxis *x)
{
  PetscReal *lower, *diag, *upper;
  double *v;

  PetscFunctionBegin;
  PetscCall(BCRArenaGet(&red->lasting, 3 * (size_t)x->n * sizeof(PetscReal), &lower));
  PetscCall(PetscArrayzero(lower, 3 * x->n));
  diag = lower + x->n;
  upper = diag + x->n;
  if (x->lower) {
    PetscCall(PetscArraycpy(lower, x->lower, x->n));
    PetscCall(PetscArraycpy(diag, x->diag, x->n));
    PetscCall(PetscArraycpy(upper, x->upper, x->n));
    lower[0] = upper[x->n - 1] = 0;
  }
  red->x.lower = lower;
  red->x.diag = diag;
  red->x.upper = upper;
  PetscCall(PetscMalloc1(x->n, &v));
  for (int side = 0; side < 2; side++) {
    for (PetscInt i = 0; i < x->n; i++) v[i] = (double)(side ? upper : lower)[i];
    BCRCallElse(BCRArenaReal(&red->lasting, red->plan.single, x->n, v, side ? &red->line.upper : &red->line.lower),
                (void)PetscFree(v));
  }
  PetscCall(PetscFree(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode lines_create(BCRReduction red, const BCRAxis *x)
{
  PetscFunctionBegin;
  red->x = *x;
  red->line.n = x->n;
  red->line.general = !BCRReductionUniformLines(x);
  red->line.periodic = !red->line.general && BCREndIsPeriodic(x->end[0]);
  red->line.first = BCREndGetRule(x->end[0]).weight;
  red->line.last = BCREndGetRule(x->end[1]).weight;
  if (red->line.general) PetscCall(lines_general_create(red, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode reduction_fill(BCRReduction red, const BCRReductionSpec *spec, int isa)
{
  const PetscBool planes = (PetscBool)(spec->dim == 3);

  PetscFunctionBegin;
  PetscCheck(spec->dim == 2 || planes, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Reduction in %" PetscInt_FMT " dimensions",
             spec->dim);
  red->dim = spec->dim;
  red->size = spec->single ? sizeof(float) : sizeof(double);
  red->nx = spec->axis[0].n;
  red->ny = planes ? spec->axis[1].n : 1;
  red->ldx = (red->nx + BCR_MAX_LANES - 1) / BCR_MAX_LANES * BCR_MAX_LANES;
  red->rowbytes = (size_t)red->ldx * red->ny * red->size;
  red->kernels = BCRCpuPoles(isa, spec->single);
  PetscCall(BCRReductionPlanCreate(spec, spec->single, planes ? 1 : red->kernels->lanes(), &red->plan));
  if (planes) {
    const BCRReductionSpec inner = BCRReductionSpecInner(spec);

    PetscCall(BCRReductionCreate(&inner, isa, &red->inner));
  } else PetscCall(lines_create(red, &spec->axis[0]));
  PetscCall(BCRReductionSpace(red));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRReductionCreate(const BCRReductionSpec *spec, int isa, BCRReduction *reduction)
{
  BCRReduction red;

  PetscFunctionBegin;
  *reduction = NULL;
  PetscCall(PetscNew(&red));
  BCRCallElse(reduction_fill(red, spec, isa), (void)BCRReductionDestroy(&red));
  *reduction = red;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRReductionDestroy(BCRReduction *reduction)
{
  BCRReduction red = *reduction;

  PetscFunctionBegin;
  if (!red) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRReductionDestroy(&red->inner));
  PetscCall(BCRReductionPlanFree(&red->plan));
  PetscCall(BCRArenaFree(&red->lasting));
  PetscCall(BCRArenaFree(&red->space));
  PetscCall(BCRArenaFree(&red->tables));
  PetscCall(PetscFree(*reduction));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRReductionGetInfo(BCRReduction red, BCRReductionCost *cost, size_t *workspace, size_t *tables)
{
  BCRReductionCost inner;
  size_t w = 0, t = 0;

  PetscFunctionBegin;
  if (red->inner) PetscCall(BCRReductionGetInfo(red->inner, &inner, &w, &t));
  if (cost) *cost = BCRReductionPlanCost(&red->plan, red->nx * red->ny, red->inner ? &inner : NULL);
  if (workspace) *workspace = w + red->space.bytes;
  if (tables) *tables = t + red->plan.arena.bytes + red->lasting.bytes + red->tables.bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRReductionGetPoles(BCRReduction red, PetscInt level, PetscInt c, PetscInt *np, double theta[],
                                    double wreduce[], double wback[])
{
  const BCRReductionPlan *plan = &red->plan;
  const BCRGroup *g = NULL;
  const BCRPoleSet *p;

  PetscFunctionBegin;
  *np = 0;
  if (level < 0 || level >= plan->nlevels) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt k = 0; k < 3 && !(g && g->classes); k++) g = plan->level[level].group[k];
  if (!g || !g->classes || c < 1 || c > g->nsets) PetscFunctionReturn(PETSC_SUCCESS);
  p = &g->set[c - 1];
  *np = p->np;
  for (PetscInt j = 0; j < p->np; j++) {
    if (theta) theta[j] = 2 - p->lambda[j];
    if (wreduce) wreduce[j] = BCRPoleWeight(plan, p->reduce_out, 1, j, 0) / (plan->a * plan->scale);
    if (wback) wback[j] = BCRPoleWeight(plan, p->back_out, 1, j, 0) / plan->scale;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
