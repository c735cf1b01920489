/*
  The host's core where block rows go on on other ranks (core.h, BCRCoreBorder). border.h of src/backend/cuda has a
  picture of parts, interface rows and the row before.
*/
#include "coreimpl.h"

/* Level 0 and the lines over the separators but those of other ranks and to them; D's rows:
   separators, the own interface row, the first group's part of the one before */
static void border_level0_begin(BCRCore c, PetscInt k, PetscBool singular, const void *f, double *previous,
                                double *interface)
{
  const BCRPlanePlan *p = &c->plane[k];
  const BCRCpuTable *cpu = c->cpu;
  const BCRLevel0Shape *sh = &p->shape;
  const ptrdiff_t ld = c->stride[1], ng = sh->ng, nsep = p->tab.n, step = core_group_step(c),
                  rows = nsep + (c->border.open[1] ? 1 : 0) + (c->border.open[0] ? 1 : 0);
  const size_t sz = c->single ? sizeof(float) : sizeof(double);
  const BCRPrecision pd = c->single ? BCR_SINGLE : BCR_DOUBLE;
  char *D = (char *)c->D + k * c->dplane * sz;
  BCRLevel0Args args = {.io = c->single && c->io == BCR_DOUBLE ? 1 : 0, .sepscale = p->scale};
  ptrdiff_t done = 0;
  const double *nrm = c->norm[0];

  cpu->level0->start(sh, c->work0);
  for (ptrdiff_t g = 0; g < ng; g += step) {
    const ptrdiff_t g1 = PetscMin(g + step, ng), ready = g1 == ng ? rows : g1 - 1,
                    count = g1 == ng ? ready - done : (ready - done) / step * step;

    cpu->level0->reduce(sh, p->kind, g, g1, &args, f, ld, D, c->ldd, c->work0);
    if (count > 0) BCRCoreTransformRows(c, 0, count, D + done * c->ldd * sz);
    done += PetscMax(count, 0);
  }
  for (ptrdiff_t s = 0; s < nsep && singular; s++) c->column[s] = get(pd, D, s * c->ldd + c->border.constant % c->n[0]);
  cpu->lines->tabled(&p->tab, 0, D, c->ldd, c->work);
  for (PetscInt i = 0; i < c->n[0]; i++) {
    if (c->border.open[0])
      previous[i] = p->scale * c->border.frominterface[0] *
                    (nrm[i] * get(pd, D, sh->left * c->ldd + i) + p->tointerface[0][i] * get(pd, D, i));
    if (c->border.open[1])
      interface[i] =
        p->scale * c->border.frominterface[1] *
        (nrm[i] * get(pd, D, nsep * c->ldd + i) + p->tointerface[1][i] * get(pd, D, (nsep - 1) * c->ldd + i));
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
  const double *nrm = c->norm[0];

  for (PetscInt i = 0; i < c->n[0]; i++) {
    c->edge[0][i] = c->border.open[0] ? p->tointerface[0][i] * before[i] / (p->scale * nrm[i]) : 0;
    c->edge[1][i] = c->border.open[1] ? p->tointerface[1][i] * x[i] / (p->scale * nrm[i]) : 0;
    if (c->border.open[0]) set(pd, D, sh->left * c->ldd + i, before[i] / p->scale);
    if (c->border.open[1]) set(pd, D, nsep * c->ldd + i, x[i] / p->scale);
  }
  cpu->lines->border(&p->tab, NULL, 0, c->edge[0], c->edge[1], D, c->ldd, c->work);
  if (singular) {
    const PetscInt i = c->border.constant % c->n[0];
    const BCRLineRows *line = &c->plan->separators;

    for (ptrdiff_t s = 0; s < nsep; s++) c->column[s] = nrm[i] * c->column[s] - mean * BCRLineRowsOnes(line, s);
    c->column[0] += nrm[i] * c->edge[0][i];
    c->column[nsep - 1] += nrm[i] * c->edge[1][i];
    BCRLineRowsSolve(line, c->column, c->column + nsep);
    for (ptrdiff_t s = 0; s < nsep; s++) set(pd, D, s * c->ldd + i, c->column[s]);
  }
  if (sh->left >= 0) BCRCoreTransformRows(c, 1, 1, D + sh->left * c->ldd * sz);
  BCRCoreBackGroups(c, p, &args, f, u, D, 0, nsep + (c->border.open[1] ? 1 : 0));
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
  for (PetscInt i = 0; i < c->n[0]; i++) {
    if (c->border.open[0]) previous[i] = c->border.frominterface[0] * get(c->io, u, i);
    if (c->border.open[1])
      interface[i] = nrm[i] * norm * c->factor * get(c->io, u, n * ld + i) +
                     c->border.frominterface[1] * get(c->io, u, (n - 1) * ld + i);
  }
}

static void border_fourier_end(BCRCore c, PetscInt k, PetscBool singular, double norm, double mean, void *u,
                               const double *before, const double *x)
{
  const BCRPlanePlan *p = &c->plane[k];
  const ptrdiff_t ld = c->stride[1], n = c->n[1] - (c->border.open[1] ? 1 : 0);
  const int io = c->single && c->io == BCR_DOUBLE ? 1 : 0;
  const double *nrm = c->norm[0];

  for (PetscInt i = 0; i < c->n[0]; i++) {
    /* axis[1].a is in the tables' norm and divides the couplings, too */
    const double unit = p->general ? 1 : nrm[i] * norm * c->factor;

    c->edge[0][i] = c->border.open[0] ? c->border.tointerface[0] * before[i] / unit : 0;
    c->edge[1][i] = c->border.open[1] ? c->border.tointerface[1] * x[i] / unit : 0;
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
  for (PetscInt i = 0; i < c->n[0] && c->border.open[1]; i++) set(c->io, u, n * ld + i, x[i]);
  c->cpu->dtt.rows(c->dtt[0], 1, io, c->n[1], u, ld, u, ld, c->work);
}

PetscErrorCode BCRCoreBorderBegin(BCRCore c, PetscInt k0, PetscInt k1, const void *f, void *u, double previous[],
                                  double interface[])
{
  const double *nz = c->dim == 3 ? c->norm[2] : NULL;

  PetscFunctionBegin;
  if (c->dim == 3) {
    if (k0 == 0) BCRCoreTransformLayers(c, 2, 0, f, u);
    f = u;
  }
  for (PetscInt k = k0; k < k1; k++) {
    const PetscBool singular = c->border.constant >= 0 && k == c->border.constant / c->n[0] ? PETSC_TRUE : PETSC_FALSE;
    const ptrdiff_t o = c->dim == 3 ? k * c->stride[2] : 0;

    if (c->kind == BCR_PLAN_LEVEL0)
      border_level0_begin(c, k, singular, at(c->io, f, o), previous + k * c->n[0], interface + k * c->n[0]);
    else
      border_fourier_begin(c, k, singular, nz ? nz[k] : 1, at(c->io, f, o), at(c->io, u, o), previous + k * c->n[0],
                           interface + k * c->n[0]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCoreBorderEnd(BCRCore c, PetscInt k0, PetscInt k1, const void *f, void *u, const double before[],
                                const double x[], double mean)
{
  const double *nz = c->dim == 3 ? c->norm[2] : NULL;

  PetscFunctionBegin;
  if (c->dim == 3) {
    f = u;
  }
  for (PetscInt k = k0; k < k1; k++) {
    const PetscBool singular = c->border.constant >= 0 && k == c->border.constant / c->n[0] ? PETSC_TRUE : PETSC_FALSE;
    const ptrdiff_t o = c->dim == 3 ? k * c->stride[2] : 0;

    if (c->kind == BCR_PLAN_LEVEL0)
      border_level0_end(c, k, singular, mean / (nz ? nz[k] : 1), at(c->io, f, o), at(c->io, u, o), before + k * c->n[0],
                        x + k * c->n[0]);
    else
      border_fourier_end(c, k, singular, nz ? nz[k] : 1, mean, at(c->io, u, o), before + k * c->n[0], x + k * c->n[0]);
  }
  if (c->dim == 3 && k1 == c->nplane) BCRCoreTransformLayers(c, 2, 1, u, u);
  PetscFunctionReturn(PETSC_SUCCESS);
}
