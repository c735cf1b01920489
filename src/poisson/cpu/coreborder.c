/*
  The host's core where block rows go on on other ranks (core.h, BCRCoreBorder). border.h of src/backend/cuda has a
  picture of parts, interface rows and the row before.
*/
#include "coreimpl.h"

/* Separators of plane k, then the own interface row, then what the first group sends to the row before */
static void *border_rows(BCRCore c, PetscInt k)
{
  return at(c->single ? BCR_SINGLE : BCR_DOUBLE, c->D, k * c->dplane);
}

/* Planes whose rows of D are transformed together: a slab has few in each, which would fill part of the vectors. At most
   an eighth of the second-level cache, so that they, and the rows of f beside them, stay there */
static PetscInt border_batch(BCRCore c)
{
  const ptrdiff_t full = c->cpu->lanes * BCRDttLines(c->dtt[0]), rows = c->dplane / c->ldd,
                  room = (ptrdiff_t)BCRCoreCacheBytes(1u << 20) / 8 /
                         (c->dplane * (c->single ? (ptrdiff_t)sizeof(float) : (ptrdiff_t)sizeof(double)));
  ptrdiff_t batch = 1;

  while (batch < c->nplane && (batch * rows) % full && batch < room) batch++;
  return (PetscInt)batch;
}

/* Level 0 of a plane; its rows of D are transformed where `transform`, while they are in the cache */
static void border_reduce(BCRCore c, PetscInt k, PetscBool transform, const void *f)
{
  const BCRPlanePlan *p = &c->plane[k];
  const BCRLevel0Shape *sh = &p->shape;
  const ptrdiff_t ng = sh->ng, step = transform ? core_group_step(c) : ng, rows = c->dplane / c->ldd;
  const BCRLevel0Args args = {.io = c->single && c->io == BCR_DOUBLE ? 1 : 0, .sepscale = p->scale};
  char *D = (char *)border_rows(c, k);
  ptrdiff_t done = 0;

  c->cpu->level0->start(sh, c->work0);
  for (ptrdiff_t g = 0; g < ng; g += step) {
    const ptrdiff_t g1 = PetscMin(g + step, ng), ready = g1 == ng ? rows : g1 - 1,
                    count = g1 == ng ? ready - done : (ready - done) / step * step;

    c->cpu->level0->reduce(sh, p->kind, g, g1, &args, f, c->stride[1], D, c->ldd, c->work0);
    if (!transform) continue;
    if (count > 0) BCRCoreTransformRows(c, 0, count, at(c->single ? BCR_SINGLE : BCR_DOUBLE, D, done * c->ldd));
    done += PetscMax(count, 0);
  }
}

/* The lines over the separators but those of other ranks and to them, and what they leave in the interface rows */
static void border_level0_begin(BCRCore c, PetscInt k, PetscBool singular, double *previous, double *interface)
{
  const BCRPlanePlan *p = &c->plane[k];
  const BCRLinesTable *lines = c->cpu->lines;
  const ptrdiff_t nsep = p->tab.n;
  const BCRPrecision pd = c->single ? BCR_SINGLE : BCR_DOUBLE;
  const double *nrm = c->norm[0];
  void *D = border_rows(c, k);

  for (ptrdiff_t s = 0; s < nsep && singular; s++) c->column[s] = get(pd, D, s * c->ldd + c->border.constant % c->n[0]);
  lines->tabled(&p->tab, 0, D, c->ldd, c->work);
  if (c->border.open[0]) {
    const double factor = p->scale * c->border.frominterface[0];

    lines->leave(c->n[0], 0, factor, nrm, at(pd, D, p->shape.left * c->ldd), factor, p->tointerface[0], D, previous);
  }
  if (c->border.open[1]) {
    const double factor = p->scale * c->border.frominterface[1];

    lines->leave(c->n[0], 0, factor, nrm, at(pd, D, nsep * c->ldd), factor, p->tointerface[1],
                 at(pd, D, (nsep - 1) * c->ldd), interface);
  }
}

/* The separators, still modes, with what the interfaces add, and the interface rows beside them */
static void border_level0_end(BCRCore c, PetscInt k, PetscBool singular, double mean, const double *before,
                              const double *x)
{
  const BCRPlanePlan *p = &c->plane[k];
  const BCRLinesTable *lines = c->cpu->lines;
  const ptrdiff_t nsep = p->tab.n;
  const BCRPrecision pd = c->single ? BCR_SINGLE : BCR_DOUBLE;
  const double *nrm = c->norm[0], unit = 1 / p->scale;
  void *D = border_rows(c, k);

  if (c->border.open[0])
    lines->enter(c->n[0], 0, unit, p->tointerface[0], nrm, unit, before, c->edge[0], at(pd, D, p->shape.left * c->ldd));
  if (c->border.open[1])
    lines->enter(c->n[0], 0, unit, p->tointerface[1], nrm, unit, x, c->edge[1], at(pd, D, nsep * c->ldd));
  lines->border(&p->tab, NULL, 0, c->edge[0], c->edge[1], D, c->ldd, c->work);
  if (singular) {
    const PetscInt i = c->border.constant % c->n[0];
    const BCRLineRows *line = &c->plan->separators;

    for (ptrdiff_t s = 0; s < nsep; s++) c->column[s] = nrm[i] * c->column[s] - mean * BCRLineRowsOnes(line, s);
    c->column[0] += nrm[i] * c->edge[0][i];
    c->column[nsep - 1] += nrm[i] * c->edge[1][i];
    BCRLineRowsSolve(line, c->column, c->column + nsep);
    for (ptrdiff_t s = 0; s < nsep; s++) set(pd, D, s * c->ldd + i, c->column[s]);
  }
}

/* Substitution back into the groups of a plane; its rows of D are transformed on the way where `transform` */
static void border_back(BCRCore c, PetscInt k, PetscBool transform, double sub, const void *f, void *u)
{
  const BCRPlanePlan *p = &c->plane[k];
  const BCRPrecision pd = c->single ? BCR_SINGLE : BCR_DOUBLE;
  BCRLevel0Args args = {.io = c->single && c->io == BCR_DOUBLE ? 1 : 0, .sepscale = p->scale, .sub = sub};
  void *D = border_rows(c, k);

  if (transform && p->shape.left >= 0) BCRCoreTransformRows(c, 1, 1, at(pd, D, p->shape.left * c->ldd));
  BCRCoreBackGroups(c, p, &args, f, u, D, 0, transform ? p->tab.n + (c->border.open[1] ? 1 : 0) : 0);
}

/* the same for the plan without level 0, on u */
static void border_fourier_begin(BCRCore c, PetscInt k, PetscBool singular, double norm, const void *f, void *u,
                                 double *previous, double *interface)
{
  const BCRPlanePlan *p = &c->plane[k];
  const ptrdiff_t ld = c->stride[1], n = c->n[1] - (c->border.open[1] ? 1 : 0);
  const int io = c->single && c->io == BCR_DOUBLE ? 1 : 0;
  const double *nrm = c->norm[0];

  c->cpu->dtt.rows(c->dtt[0], 0, io, c->n[1], f, ld, u, ld, c->work);
  for (ptrdiff_t s = 0; s < n && singular; s++) c->column[s] = get(c->io, u, s * ld + c->border.constant % c->n[0]);
  if (p->general) c->cpu->lines->general(&p->gen, io, u, ld, c->work);
  else c->cpu->lines->tabled(&p->tab, io, u, ld, c->work);
  if (c->border.open[0])
    c->cpu->lines->leave(c->n[0], io, 0, NULL, NULL, c->border.frominterface[0], NULL, u, previous);
  if (c->border.open[1])
    c->cpu->lines->leave(c->n[0], io, norm * c->factor, nrm, at(c->io, u, n * ld), c->border.frominterface[1], NULL,
                         at(c->io, u, (n - 1) * ld), interface);
}

static void border_fourier_end(BCRCore c, PetscInt k, PetscBool singular, double norm, double mean, void *u,
                               const double *before, const double *x)
{
  const BCRPlanePlan *p = &c->plane[k];
  const ptrdiff_t ld = c->stride[1], n = c->n[1] - (c->border.open[1] ? 1 : 0);
  const int io = c->single && c->io == BCR_DOUBLE ? 1 : 0;
  const double *nrm = c->norm[0];

  for (int e = 0; e < 2; e++) {
    /* axis[1].a is in the tables' norm and divides the couplings, too */
    const double unit = p->general ? 1 : norm * c->factor;

    if (c->border.open[e])
      c->cpu->lines->enter(c->n[0], io, c->border.tointerface[e] / unit, NULL, p->general ? NULL : nrm, 1,
                           e ? x : before, c->edge[e], e ? at(c->io, u, n * ld) : NULL);
  }
  c->cpu->lines->border(p->general ? NULL : &p->tab, p->general ? &p->gen : NULL, io, c->edge[0], c->edge[1], u, ld,
                        c->work);
  if (singular) { /* pivots as in lines.c */
    const PetscInt i = c->border.constant % c->n[0];
    double *g = c->column, *b = c->column + n, num = 0, P = 1, low, diag, up;

    for (ptrdiff_t s = 0; s < n; s++) {
      BCRAxisGetRow(&c->axis[1], s, &low, &diag, &up);
      if (s == 0 && c->border.open[0])
        low = c->border.tointerface[0]; /* a Dirichlet end has it in its diagonal alone */
      g[s] = c->factor * (nrm[i] * norm * g[s] - mean);
      if (s == 0 && c->border.open[0]) g[s] += c->border.tointerface[0] * before[i];
      if (s == n - 1 && c->border.open[1]) g[s] += c->border.tointerface[1] * x[i];
      if (s) g[s] += low * g[s - 1];
      num = (diag - low - up) + (s ? low * num / P : low);
      P = up + num;
      g[s] /= P;
      b[s] = up / P;
    }
    for (ptrdiff_t s = n - 2; s >= 0; s--) g[s] += b[s] * g[s + 1];
    for (ptrdiff_t s = 0; s < n; s++) set(c->io, u, s * ld + i, g[s]);
  }
  c->cpu->dtt.rows(c->dtt[0], 1, io, c->n[1], u, ld, u, ld, c->work);
}

/* Does plane k have the constant mode of a singular operator? */
static PetscBool border_singular(BCRCore c, PetscInt k)
{
  return c->border.constant >= 0 && k == c->border.constant / c->n[0] ? PETSC_TRUE : PETSC_FALSE;
}

static ptrdiff_t border_plane(BCRCore c, PetscInt k)
{
  return c->dim == 3 ? k * c->stride[2] : 0;
}

PetscErrorCode BCRCoreBorderStart(BCRCore c, const void *f, void *u)
{
  PetscFunctionBegin;
  if (c->dim < 3) PetscFunctionReturn(PETSC_SUCCESS);
  BCRCoreTransformLayers(c, 2, 0, f, u);
  PetscCall(BCRTeamMeet(c->options.team));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCoreBorderBegin(BCRCore c, PetscInt k0, PetscInt k1, const void *f, void *u, double previous[],
                                  double interface[])
{
  const PetscInt n = c->n[0], batch = c->kind == BCR_PLAN_LEVEL0 ? border_batch(c) : 1;

  PetscFunctionBegin;
  if (c->options.team && c->options.team->field) u = c->options.team->field;
  if (c->dim == 3) f = u;
  for (PetscInt k = k0; k < k1 && c->kind != BCR_PLAN_LEVEL0; k++)
    border_fourier_begin(c, k, border_singular(c, k), c->dim == 3 ? c->norm[2][k] : 1, at(c->io, f, border_plane(c, k)),
                         at(c->io, u, border_plane(c, k)), previous + k * n, interface + k * n);
  for (PetscInt k = k0; k < k1 && c->kind == BCR_PLAN_LEVEL0; k += batch) {
    const PetscInt end = PetscMin(k + batch, k1);

    for (PetscInt i = k; i < end; i++) border_reduce(c, i, (PetscBool)(batch == 1), at(c->io, f, border_plane(c, i)));
    if (batch > 1) BCRCoreTransformRows(c, 0, (end - k) * (c->dplane / c->ldd), border_rows(c, k));
    for (PetscInt i = k; i < end; i++)
      border_level0_begin(c, i, border_singular(c, i), previous + i * n, interface + i * n);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCoreBorderEnd(BCRCore c, PetscInt k0, PetscInt k1, const void *f, void *u, const double before[],
                                const double x[], double mean)
{
  const double *nz = c->dim == 3 ? c->norm[2] : NULL;
  const PetscInt n = c->n[0], batch = c->kind == BCR_PLAN_LEVEL0 ? border_batch(c) : 1;

  PetscFunctionBegin;
  if (c->options.team && c->options.team->field) u = c->options.team->field;
  if (c->dim == 3) f = u;
  for (PetscInt k = k0; k < k1 && c->kind != BCR_PLAN_LEVEL0; k++)
    border_fourier_end(c, k, border_singular(c, k), nz ? nz[k] : 1, mean, at(c->io, u, border_plane(c, k)),
                       before + k * n, x + k * n);
  for (PetscInt k = k0; k < k1 && c->kind == BCR_PLAN_LEVEL0; k += batch) {
    const PetscInt end = PetscMin(k + batch, k1);

    for (PetscInt i = k; i < end; i++)
      border_level0_end(c, i, border_singular(c, i), mean / (nz ? nz[i] : 1), before + i * n, x + i * n);
    if (batch > 1) BCRCoreTransformRows(c, 1, (end - k) * (c->dplane / c->ldd), border_rows(c, k));
    for (PetscInt i = k; i < end; i++)
      border_back(c, i, (PetscBool)(batch == 1), border_singular(c, i) ? mean / (nz ? nz[i] : 1) : 0,
                  at(c->io, f, border_plane(c, i)), at(c->io, u, border_plane(c, i)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All other modes across the planes add up to zero */
PetscBool BCRCoreBorderSum(BCRCore c, const void *u, double *sum)
{
  const BCRFieldsTable *fields = BCRCpuFields(c->options.isa, c->io == BCR_SINGLE);
  const PetscBool known =
    c->dim == 3 && c->border.constant >= 0 && BCRPlanAddsUp(&c->axis[2]) ? PETSC_TRUE : PETSC_FALSE;

  *sum = 0;
  for (PetscInt j = 0; j < c->n[1] && known; j++)
    *sum +=
      fields->sum(c->n[0], at(c->io, u, border_plane(c, c->border.constant / c->n[0]) + j * c->stride[1]), NULL, NULL);
  if (known) *sum *= (double)c->n[2];
  return known;
}

PetscErrorCode BCRCoreBorderFinish(BCRCore c, double less, void *u)
{
  PetscFunctionBegin;
  for (PetscInt j = 0; j < c->n[1] && less != 0; j++) {
    void *row = at(c->io, u, border_plane(c, c->border.constant / c->n[0]) + j * c->stride[1]);

    for (PetscInt i = 0; i < c->n[0]; i++) set(c->io, row, i, get(c->io, row, i) - less);
  }
  if (c->dim < 3) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRTeamMeet(c->options.team));
  BCRCoreTransformLayers(c, 2, 1, u, u);
  PetscFunctionReturn(PETSC_SUCCESS);
}
