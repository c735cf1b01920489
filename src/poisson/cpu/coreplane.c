/*
  A plane of the host's core: level 0 with lines over the separators or sums over their poles, or transforms and lines.
*/
#include "coreimpl.h"
#include <string.h>

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

/* From their sums: the means of the rows of u, in the unit of the separators */
static void plane_means(BCRCore c, double sub)
{
  const PetscInt n = c->n[1];

  BCRCoreLineMeans(&c->axis[1], c->rowsum, sub, c->rowsum + n);
  for (PetscInt j = 0; j < n && c->unit[1] != 1; j++) c->rowsum[n + j] /= c->unit[1];
}

/* transforms rows of D, the last few of them in shorter vectors if they would fill less than half of the long ones */
void BCRCoreTransformRows(BCRCore c, int direction, ptrdiff_t count, void *D)
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
    const BCRLineRows *rows = &c->plan->separators;
    const double per = 1 / c->norm[0][c->pinx];
    double sum = 0, ones = 0;

    for (ptrdiff_t s = 0; s < nsep; s++) {
      sum += get(pd, D, s * c->ldd + c->pinx);
      ones += per * BCRLineRowsOnes(rows, s);
    }
    *sub = sum / ones;
    for (ptrdiff_t s = 0; s < nsep; s++)
      set(pd, D, s * c->ldd + c->pinx, get(pd, D, s * c->ldd + c->pinx) - *sub * per * BCRLineRowsOnes(rows, s));
    if (removed) *removed = *sub * norm;
  }
  c->cpu->lines->tabled(&p->tab, 0, D, c->ldd, c->work);
  if (singular && c->rowsum) { /* the constant mode again, with the constant that makes the weighted mean of u zero */
    plane_means(c, *sub);
    for (ptrdiff_t s = 0; s < nsep; s++) {
      const ptrdiff_t row = s + 1 < ng ? p->shape.row[s + 1] - 1 : c->n[1] - 1;

      set(pd, D, s * c->ldd + c->pinx, c->rowsum[c->n[1] + row]);
    }
  }
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
  const BCRLevel0Shape *sh = &p->shape;
  const size_t row = (size_t)c->ldd * (c->single ? sizeof(float) : sizeof(double));
  const BCRPrecision pd = c->single ? BCR_SINGLE : BCR_DOUBLE;
  double *m = c->rowsum + y->n, sum = c->endsum / c->unit[0];

  for (int e = 0; e < 2; e++) {
    /* the group's separator; on a ring of rows corners count nothing */
    void *D = at(pd, c->D, e ? (p->tab.n - 1) * c->ldd : 0);

    if (sh->coupled) {
      memcpy(c->spare, D, row);
      c->cpu->level0->couple(sh, args, NULL, NULL, D, c->work0);
    }
    sum += (1 - end_weight(y, e ? y->n - 1 : 0)) * axis_weight(x) * m[e ? y->n - 1 : 0];
    sum += plane_corners(c, p, args, f, e ? sh->ng - 1 : 0) / p->scale;
    if (sh->coupled) memcpy(D, c->spare, row);
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

/* Products of axes, whose rows are coupled to separators s0 .. s1 - 1 by more than a number. f: what groups send to them
   becomes their right-hand sides; u: their solutions, what they send to groups */
static void separators_couple(BCRCore c, const BCRPlanePlan *p, const BCRLevel0Args *args, ptrdiff_t s0, ptrdiff_t s1,
                              const void *f, void *u, void *D)
{
  const BCRLevel0Shape *sh = &p->shape;
  const BCRPrecision pd = c->single ? BCR_SINGLE : BCR_DOUBLE;

  for (ptrdiff_t s = s0; s < s1 && sh->coupled; s++) {
    const ptrdiff_t o = (s + 1 < sh->ng ? sh->row[s + 1] - 1 : c->n[1] - 1) * c->stride[1];

    c->cpu->level0->couple(sh, args, f ? at(c->io, f, o) : NULL, u ? at(c->io, u, o) : NULL, at(pd, D, s * c->ldd),
                           c->work0);
  }
}

/* Substitution back into all groups, from the last one, whose rows of f the cache still has;
   separators first .. end - 1 are still modes, or what they send to groups is not known yet */
void BCRCoreBackGroups(BCRCore c, const BCRPlanePlan *p, BCRLevel0Args *args, const void *f, void *u, void *D,
                       ptrdiff_t first, ptrdiff_t end)
{
  const BCRPrecision pd = c->single ? BCR_SINGLE : BCR_DOUBLE;
  const ptrdiff_t ld = c->stride[1], step = core_group_step(c);

  args->ahead = step; /* the separators that will be transformed next */
  for (ptrdiff_t g1 = p->shape.ng; g1 > 0; g1 -= step) {
    const ptrdiff_t g = PetscMax(g1 - step, 0), s = PetscMax(g - 1, first);

    if (end > s && c->kind == BCR_PLAN_LEVEL0) BCRCoreTransformRows(c, 1, end - s, at(pd, D, s * c->ldd));
    separators_couple(c, p, args, s, end, NULL, u, D);
    end = PetscMin(end, s);
    c->cpu->level0->back(&p->shape, p->kind, g, g1, args, f, ld, u, ld, D, c->ldd, c->work0);
  }
}

/* The constant mode along y of a plane whose separators are modes: its first pole by elimination, and, in a singular
   plane, the constants of f and u. There, what f sends to the separators adds up to its own weighted sum, that of ones
   to 8 for each of them. *sub: what is to be subtracted from f */
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
  /* the means of the rows of u, which are known, in the place of the constant that the line has left open */
  if (singular) {
    plane_means(c, *sub);
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
  const ptrdiff_t ld = c->stride[1], n = c->n[0], step = singular || sh->coupled ? core_group_step(c) : sh->ng;
  BCRLevel0Args args = {.io = c->single && c->io == BCR_DOUBLE ? 1 : 0, .sepscale = p->scale, .ahead = 1};

  cpu->level0->start(sh, c->work0);
  c->endsum = 0;
  if (singular && !c->column && !c->single && !sh->coupled) args.rowsum = c->rowsum;
  for (ptrdiff_t g = 0; g < sh->ng; g += step) {
    const ptrdiff_t g1 = PetscMin(g + step, sh->ng);

    cpu->level0->reduce(sh, p->kind, g, g1, &args, f, ld, c->D, c->ldd, c->work0);
    if (singular)
      plane_sums(c, args.rowsum ? PETSC_TRUE : PETSC_FALSE, f, sh->row[g], g1 < sh->ng ? sh->row[g1] : c->n[1]);
    separators_couple(c, p, &args, PetscMax(g - 1, 0), g1 < sh->ng ? g1 - 1 : p->tab.n, f, NULL, c->D);
  }
  cpu->dtt.cols(c->dtt[1], 0, 0, n, c->D, c->ldd, c->D, c->ldd, c->work);
  solve_poles(c, p, singular, &args.sub);
  if (singular && removed) *removed = (PetscReal)args.sub;
  cpu->dtt.cols(c->dtt[1], 1, 0, n, c->D, c->ldd, c->D, c->ldd, c->work);
  if (singular && c->corner) {
    const double mean = plane_mean(c, p, &args, f);

    for (ptrdiff_t s = 0; s < p->tab.n; s++) separator_add(c, s, PETSC_FALSE, -mean);
  }
  if (sh->coupled) BCRCoreBackGroups(c, p, &args, f, u, c->D, 0, p->tab.n);
  else cpu->level0->back(sh, p->kind, 0, sh->ng, &args, f, ld, u, ld, c->D, c->ldd, c->work0);
}

/* a plane by level 0 and lines over the separators */
static void solve_level0(BCRCore c, const BCRPlanePlan *p, PetscBool singular, double norm, const void *f, void *u,
                         PetscReal *removed)
{
  const BCRCpuTable *cpu = c->cpu;
  const BCRLevel0Shape *sh = &p->shape;
  const ptrdiff_t ld = c->stride[1], ng = sh->ng, nsep = p->tab.n, step = core_group_step(c);
  const BCRPrecision pd = c->single ? BCR_SINGLE : BCR_DOUBLE;
  const PetscBool mean = singular && c->corner ? PETSC_TRUE : PETSC_FALSE;
  BCRLevel0Args args = {.io = c->single && c->io == BCR_DOUBLE ? 1 : 0,
                        .sepscale = p->scale,
                        .columns = c->ends.columns,
                        .sources = c->ends.sources};
  ptrdiff_t done = 0, coupled = 0, end = nsep; /* separators done .. end - 1 are still modes */
  double sum;

  cpu->level0->start(sh, c->work0);
  c->endsum = 0;
  if (singular && c->rowsum && !c->column && !c->single && !sh->coupled) args.rowsum = c->rowsum;
  for (ptrdiff_t g = 0; g < ng; g += step) { /* the separators are transformed while they are in the cache */
    const ptrdiff_t g1 = PetscMin(g + step, ng), ready = g1 == ng ? nsep : g1 - 1,
                    count = g1 == ng ? ready - done : (ready - done) / step * step;

    cpu->level0->reduce(sh, p->kind, g, g1, &args, f, ld, c->D, c->ldd, c->work0);
    if (singular && c->rowsum)
      plane_sums(c, args.rowsum ? PETSC_TRUE : PETSC_FALSE, f, sh->row[g], g1 < ng ? sh->row[g1] : c->n[1]);
    separators_couple(c, p, &args, coupled, ready, f, NULL, c->D);
    coupled = ready;
    if (count > 0) BCRCoreTransformRows(c, 0, count, at(pd, c->D, done * c->ldd));
    done += PetscMax(count, 0);
  }
  if (c->ends.n) BCRCoreEndsSeparators(c, (PetscInt)(p - c->plane), c->D);
  solve_separators(c, p, singular, norm, c->D, &args.sub, removed);
  done = 0;
  if (sh->yperiodic || (mean && nsep > 1)) { /* the first group needs the last separator */
    end = nsep - 1;
    BCRCoreTransformRows(c, 1, 1, at(pd, c->D, end * c->ldd));
  }
  if (mean) {
    BCRCoreTransformRows(c, 1, 1, c->D);
    done = 1;
    sum = plane_mean(c, p, &args, f);
    for (ptrdiff_t s = 0; s < nsep; s++) separator_add(c, s, s > 0 && s < nsep - 1 ? PETSC_TRUE : PETSC_FALSE, -sum);
  }
  separators_couple(c, p, &args, 0, done, NULL, u, c->D);
  separators_couple(c, p, &args, end, nsep, NULL, u, c->D);
  BCRCoreBackGroups(c, p, &args, f, u, c->D, done, end);
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

/* A transform of count lines along part 0, which are rows, or part 1, which are columns */
static void transform_lines(BCRCore c, PetscInt part, int direction, int io, ptrdiff_t count, const void *f, void *u)
{
  const ptrdiff_t ld = c->stride[1];

  if (c->eigen[part]) (part ? BCREigenCols : BCREigenRows)(c->eigen[part], direction, io, count, f, ld, u, ld, c->work);
  else (part ? c->cpu->dtt.cols : c->cpu->dtt.rows)(c->dtt[part], direction, io, count, f, ld, u, ld, c->work);
}

void BCRCorePlaneSolve(BCRCore c, PetscInt k, PetscBool singular, double norm, const void *f, void *u,
                       PetscReal *removed)
{
  const BCRPlanePlan *p = &c->plane[k];
  const ptrdiff_t ld = c->stride[1];
  const int io = c->single && c->io == BCR_DOUBLE ? 1 : 0;
  double mean;

  if (c->kind == BCR_PLAN_POLES) solve_across(c, p, singular, f, u, removed);
  else if (c->kind == BCR_PLAN_LEVEL0) solve_level0(c, p, singular, norm, f, u, removed);
  else if (c->lines == 1) { /* transforms along the rows, lines across them */
    transform_lines(c, 0, 0, io, c->n[1], f, u);
    if (singular) {
      project_line(c, &c->axis[1], at(c->io, u, c->pinx), ld, &mean);
      if (removed) *removed = mean * c->norm[0][c->pinx] * norm;
    }
    if (c->ends.n) BCRCoreEndsLines(c, k, c->factor * norm, (double *)u, ld);
    else if (p->general) c->cpu->lines->general(&p->gen, io, u, ld, c->work);
    else c->cpu->lines->tabled(&p->tab, io, u, ld, c->work);
    transform_lines(c, 0, 1, io, c->n[1], u, u);
  } else {
    transform_lines(c, 1, 0, io, c->n[0], f, u);
    if (singular) {
      project_line(c, &c->axis[0], at(c->io, u, c->piny * ld), 1, &mean);
      if (removed) *removed = mean * c->norm[1][c->piny] * norm;
    }
    c->cpu->lines->generalx(&p->gen, io, u, ld, c->work);
    transform_lines(c, 1, 1, io, c->n[0], u, u);
  }
}
