/*
  Block cyclic reduction on the host: carries out the steps of the plan, item by item. The work space is made at set-up.
*/
#include "reductionimpl.h"

/* An item of a step */
typedef struct {
  const BCRReductionStep *step;
  PetscInt k;
} Item;

/* Items of classes of few poles wait until there are group->nside of them, which are solved side by side */
typedef struct {
  const BCRGroup *group;
  PetscInt n;
  Item item[BCR_MAX_LANES];
} Queue;

typedef struct {
  BCRReduction red;
  PetscInt s; /* number of the shift */
  char *u;
  size_t size;    /* of a number of u */
  int io;         /* 1: u is double and the work space is not */
  PetscInt ld[2]; /* distance of lines, of planes in u */
  Queue queue;
} Solve;

/* -------- set-up -------- */

/* Where u and the work space may have different layouts or types, a group's sources are copied to the rows
   before those of its solutions */
static PetscInt copied_rows(BCRReduction red, const BCRGroup *g)
{
  return red->plan.single || red->dim == 3 ? g->ns + 2 : 0;
}

/* Rows of the work space that an item takes, or nside items together:
   classes: solutions' sum, ns right-hand sides, sum and difference of the separators beside; solutions take the places
   of right-hand sides, one row up. Side by side: right-hand sides of all, then one (reduction) or two rows for each.
   Poles: copies, then solutions */
static PetscInt group_rows(BCRReduction red, const BCRGroup *g)
{
  if (g->side) return g->nside * (g->ns + 2);
  return g->classes ? g->ns + 3 : copied_rows(red, g) + PetscMax(g->ns, 2);
}

PetscErrorCode BCRReductionSpace(BCRReduction red)
{
  static const double one[] = {1, 1, 1, -1};
  PetscInt nrows = 3, nptr = 3, nside = 1;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < red->plan.nsteps; i++) {
    const BCRReductionStep *step = &red->plan.step[i];
    const BCRGroup *g = step->group;

    nrows = PetscMax(nrows, group_rows(red, g));
    nptr = PetscMax(nptr, PetscMax(2 * step->nsrc, step->nout)); /* twice: sources may count twice */
    if (g->side) nside = PetscMax(nside, g->nside * g->ns);
  }
  if (red->inner) nrows++;
  PetscCall(BCRArenaGet(&red->space, nrows * red->rowbytes, &red->work));
  PetscCall(PetscMemzero(red->work, nrows * red->rowbytes)); /* what pads the rows takes part in sums */
  red->plane = red->work + (nrows - 1) * red->rowbytes;
  if (!red->inner) PetscCall(BCRArenaGet(&red->space, red->kernels->work(red->nx) * red->size, &red->kernelwork));
  PetscCall(BCRArenaGet(&red->lasting, nptr * sizeof(void *), &red->src));
  PetscCall(BCRArenaGet(&red->lasting, nptr * sizeof(void *), &red->dst));
  PetscCall(BCRArenaGet(&red->lasting, nside * sizeof(void *), &red->side_src));
  PetscCall(BCRArenaGet(&red->lasting, nside * sizeof(void *), &red->side_beside));
  PetscCall(BCRArenaGet(&red->lasting, nside * sizeof(void *), &red->side_dst));
  PetscCall(BCRArenaReal(&red->lasting, red->plan.single, 4, one, &red->one));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -------- rows -------- */

static char *row_u(const Solve *S, PetscInt row)
{
  return S->u + (size_t)row * S->ld[S->red->dim - 2] * S->size;
}

static char *row_work(const Solve *S, PetscInt row)
{
  return S->red->work + (size_t)row * S->red->rowbytes;
}

static const PetscInt *item_src(Item it)
{
  return it.step->src + (size_t)it.k * it.step->nsrc;
}

static const PetscInt *item_out(Item it)
{
  return it.step->out + (size_t)it.k * it.step->nout;
}

/* dst = (add ? dst : 0) + W src for rows or planes; srcu, dstu: they are u's, not the work space's. Moves
   the pointers in src and dst */
static void combine(Solve *S, PetscInt nsrc, PetscBool srcu, const void *src[], const void *W, PetscInt ldw,
                    PetscInt nout, PetscBool dstu, int add, void *dst[])
{
  BCRReduction red = S->red;

  for (PetscInt y = 0; y < red->ny; y++) {
    if (y) {
      for (PetscInt k = 0; k < nsrc; k++)
        src[k] = (const char *)src[k] + (srcu ? S->ld[0] * S->size : red->ldx * red->size);
      for (PetscInt k = 0; k < nout; k++) dst[k] = (char *)dst[k] + (dstu ? S->ld[0] * S->size : red->ldx * red->size);
    }
    red->kernels->rows(red->nx, (int)nsrc, srcu ? S->io : 0, src, W, ldw, (int)nout, dstu ? S->io : 0, add, dst);
  }
}

static void copy_rows(Solve *S, PetscInt n, PetscBool srcu, PetscBool dstu, const void *const src[], void *const dst[])
{
  for (PetscInt k = 0; k < n; k++) {
    const void *s = src[k];
    void *d = dst[k];

    combine(S, 1, srcu, &s, S->red->one, 1, 1, dstu, 0, &d);
  }
}

/* Adds row k of the work space to a row of u */
static void add_row(Solve *S, PetscInt k, PetscInt row)
{
  const void *src = row_work(S, k);
  void *dst = row_u(S, row);

  combine(S, 1, PETSC_FALSE, &src, S->red->one, 1, 1, PETSC_TRUE, 1, &dst);
}

/* -------- poles -------- */

/* A right-hand side of nsrc rows g, weighted by ws but for the first one if that has unit weight, and what its
   solutions are weighted with in each of nout rows. add: to what these have */
typedef struct {
  PetscInt nsrc;
  PetscBool unit;
  const void **g;
  const void *ws; /* NULL: one row of unit weight */
  PetscInt nout;
  PetscBool add;
  void **out;
  const void *wo;
} Poles;

/* Planes, one by one */
static PetscErrorCode poles_planes(Solve *S, const BCRPoleSet *set, const Poles *p)
{
  BCRReduction red = S->red;
  const PetscInt nws = p->ws ? p->nsrc - (p->unit ? 1 : 0) : 0;
  const PetscInt ld[2] = {red->ldx, red->ldx * red->ny};
  const void *plane = red->plane;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < set->np; j++) {
    if (!p->ws || p->unit) PetscCall(PetscMemcpy(red->plane, p->g[0], red->rowbytes));
    for (PetscInt y = 0; p->ws && y < red->ny; y++) {
      const void *gy[BCR_MAX_LANES];
      void *to = (char *)red->plane + y * red->ldx * red->size;

      for (PetscInt k = 0; k < nws; k += BCR_MAX_LANES) {
        const PetscInt n = PetscMin(nws - k, BCR_MAX_LANES);

        for (PetscInt i = 0; i < n; i++)
          gy[i] = (const char *)p->g[k + i + (p->unit ? 1 : 0)] + y * red->ldx * red->size;
        red->kernels->rows(red->nx, (int)n, 0, gy, (const char *)p->ws + ((size_t)j * nws + k) * red->size, n, 1, 0,
                           p->unit || k, &to);
      }
    }
    PetscCall(BCRReductionSolve(red->inner, S->s * red->plan.npoles + set->first + j,
                                red->plan.single ? BCR_SINGLE : BCR_DOUBLE, red->plane, ld, red->plane, ld));
    for (PetscInt k = 0; k < p->nout; k++)
      red->kernels->rows((ptrdiff_t)red->ldx * red->ny, 1, 0, &plane,
                         (const char *)p->wo + ((size_t)j * p->nout + k) * red->size, 1, 1, 0, p->add || j, &p->out[k]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All poles of a set. Rows are of the work space, or of u where that has the same type (two dimensions) */
static PetscErrorCode poles(Solve *S, const BCRPoleSet *set, const Poles *p)
{
  BCRReduction red = S->red;

  PetscFunctionBegin;
  if (red->inner) PetscCall(poles_planes(S, set, p));
  else
    red->kernels->solve(&red->line, &red->tab[set->number * red->nshift + S->s], (int)p->nsrc, p->unit ? 1 : 0, p->g,
                        p->ws, (int)p->nout, p->add, p->out, p->wo, red->kernelwork);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -------- classes -------- */

/* Right-hand sides of a separator's classes into work rows k0, k0 + 1, ... The weights of a group's two ends are
   equal up to (-1)^(c-1), which is the parity of its rows: sources mirror at the separator, and classes of both
   groups are one (paper 000's counts need that) */
static void reduce_sources(Solve *S, Item it, PetscInt k0)
{
  const BCRReductionStep *step = it.step;
  const BCRGroup *g = step->group;
  const PetscInt *row = item_src(it);
  PetscInt nsrc = 0;

  for (int k = 0; k < (step->twice ? 2 : 1); k++)
    for (PetscInt s = 0; s < step->nsrc; s++) S->red->src[nsrc++] = row_u(S, row[s]);
  for (PetscInt c = 0; c < g->ns; c++) S->red->dst[c] = row_work(S, k0 + c);
  combine(S, nsrc, PETSC_TRUE, S->red->src, g->W, g->ldw, g->ns, PETSC_FALSE, 0, S->red->dst);
}

/* Right-hand sides of a group's classes into work rows k0, k0 + 1, ...; of its separators the sum into row e0, for odd
   classes, and left less right into row e0 + 1, for even ones */
static void back_sources(Solve *S, Item it, PetscInt k0, PetscInt e0)
{
  const BCRReductionStep *step = it.step;
  const BCRGroup *g = step->group;
  const PetscInt *row = item_src(it), nsides = step->nsrc - g->ns;
  const void **src = S->red->src;
  void **dst = S->red->dst;

  for (PetscInt s = 0; s < g->ns; s++) {
    src[s] = row_u(S, row[s]);
    dst[s] = row_work(S, k0 + s);
  }
  combine(S, g->ns, PETSC_TRUE, src, g->W, g->ldw, g->ns, PETSC_FALSE, 0, dst);
  for (PetscInt k = 0; k < PetscMin(2, g->ns) && nsides; k++) {
    const PetscInt from = k ? (step->left ? 2 : 3) : 0; /* (1, -1), or -1 alone; (1, 1) */

    for (PetscInt s = 0; s < nsides; s++) src[s] = row_u(S, row[g->ns + s]);
    dst[0] = row_work(S, e0 + k);
    combine(S, nsides, PETSC_TRUE, src, (const char *)S->red->one + from * S->red->size, nsides, 1, PETSC_FALSE, 0,
            dst);
  }
}

/* A group's rows from the sums of its classes' solutions, which are in work rows k0, k0 + 1, ... */
static void back_rows(Solve *S, Item it, PetscInt k0)
{
  const BCRGroup *g = it.step->group;
  const PetscInt *row = item_out(it);
  const void **src = S->red->src;
  void **dst = S->red->dst;

  for (PetscInt s = 0; s < g->ns; s++) {
    src[s] = row_work(S, k0 + s);
    dst[s] = row_u(S, row[s]);
  }
  combine(S, g->ns, PETSC_FALSE, src, g->W, g->ldw, g->ns, PETSC_TRUE, 0, dst);
}

/* The classes of all items that wait. All of them have a separator beside their group, or (the last level) none has */
static void queue_run(Solve *S)
{
  BCRReduction red = S->red;
  Queue *q = &S->queue;
  const BCRGroup *g = q->group;
  const PetscBool back = (PetscBool)(q->n && BCRStepBack(q->item[0].step));
  const PetscBool beside = (PetscBool)(back && q->item[0].step->nsrc > g->ns);
  PetscInt n = 0, after; /* right-hand sides; the rows after those of nside groups */

  if (!q->n) return;
  after = g->nside * g->ns;
  for (PetscInt k = 0; k < q->n; k++) {
    if (back) back_sources(S, q->item[k], k * g->ns, after + 2 * k);
    else reduce_sources(S, q->item[k], k * g->ns);
    for (PetscInt c = 0; c < g->ns; c++, n++) {
      red->side_src[n] = row_work(S, n);
      red->side_beside[n] = row_work(S, after + 2 * k + c % 2);
      red->side_dst[n] = row_work(S, back ? n : after + k);
    }
  }
  red->kernels->segments(&red->line, &red->tab[g->side->number * red->nshift + S->s], (int)g->set->np, (int)n,
                         red->side_src, beside ? red->side_beside : NULL, g->side->back_src, red->side_dst,
                         back ? g->side->back_out : g->side->reduce_out, red->kernelwork);
  for (PetscInt k = 0; k < q->n; k++) {
    if (back) back_rows(S, q->item[k], k * g->ns);
    else add_row(S, after + k, item_out(q->item[k])[0]);
  }
  q->n = 0;
}

static void queue_add(Solve *S, Item it)
{
  Queue *q = &S->queue;

  q->group = it.step->group;
  q->item[q->n++] = it;
  if (q->n == q->group->nside) queue_run(S);
}

/* -------- steps -------- */

static PetscErrorCode reduce_classes(Solve *S, Item it)
{
  const BCRGroup *g = it.step->group;

  PetscFunctionBegin;
  reduce_sources(S, it, 1);
  for (PetscInt c = 0; c < g->ns; c++) {
    const void *rhs = row_work(S, c + 1);
    void *out = row_work(S, 0);
    const Poles p = {
      .nsrc = 1, .g = &rhs, .nout = 1, .add = (PetscBool)(c > 0), .out = &out, .wo = g->set[c].reduce_out};

    PetscCall(poles(S, &g->set[c], &p));
  }
  add_row(S, 0, item_out(it)[0]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode back_classes(Solve *S, Item it)
{
  const BCRGroup *g = it.step->group;
  const PetscBool beside = (PetscBool)(it.step->nsrc > g->ns);

  PetscFunctionBegin;
  back_sources(S, it, 1, g->ns + 1);
  for (PetscInt c = 0; c < g->ns; c++) { /* the sum of solutions takes the row before its right-hand side */
    const void *rhs[] = {row_work(S, c + 1), row_work(S, g->ns + 1 + c % 2)};
    void *out = row_work(S, c);
    const BCRPoleSet *set = &g->set[c];
    const Poles p = {.nsrc = beside ? 2 : 1,
                     .unit = beside,
                     .g = rhs,
                     .ws = beside ? set->back_src : NULL,
                     .nout = 1,
                     .out = &out,
                     .wo = set->back_out};

    PetscCall(poles(S, set, &p));
  }
  back_rows(S, it, 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A group's sources in the work type: in u itself, or copied to the first rows of the work space */
static const void **poles_sources(Solve *S, Item it)
{
  BCRReduction red = S->red;
  const PetscInt *row = item_src(it), n = it.step->nsrc;

  for (PetscInt s = 0; s < n; s++) {
    red->src[s] = row_u(S, row[s]);
    red->dst[s] = row_work(S, s);
  }
  if (S->io || red->inner) {
    copy_rows(S, n, PETSC_TRUE, PETSC_FALSE, red->src, red->dst);
    for (PetscInt s = 0; s < n; s++) red->src[s] = row_work(S, s);
  }
  return red->src;
}

static PetscErrorCode reduce_poles(Solve *S, Item it)
{
  const BCRReductionStep *step = it.step;
  const BCRPoleSet *set = step->group->set;
  const PetscInt *row = item_out(it), first = copied_rows(S->red, step->group);
  const void **src = poles_sources(S, it);
  const Poles p = {
    .nsrc = step->nsrc, .g = src, .ws = set->reduce_src, .nout = step->nout, .out = S->red->dst, .wo = set->reduce_out};

  PetscFunctionBegin;
  for (PetscInt k = 0; k < step->nout; k++) S->red->dst[k] = row_work(S, first + k);
  PetscCall(poles(S, set, &p));
  for (PetscInt k = 0; k < step->nout; k++) add_row(S, first + k, row[k]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode back_poles(Solve *S, Item it)
{
  const BCRReductionStep *step = it.step;
  const BCRPoleSet *set = step->group->set;
  const PetscInt *row = item_out(it), first = copied_rows(S->red, step->group);
  const void **src = poles_sources(S, it);
  void **dst = S->red->dst;
  const Poles p = {
    .nsrc = step->nsrc, .g = src, .ws = set->back_src, .nout = step->nout, .out = dst, .wo = set->back_out};

  PetscFunctionBegin;
  for (PetscInt k = 0; k < step->nout; k++) dst[k] = row_work(S, first + k);
  PetscCall(poles(S, set, &p));
  for (PetscInt k = 0; k < step->nout; k++) {
    src[k] = row_work(S, first + k);
    dst[k] = row_u(S, row[k]);
  }
  copy_rows(S, step->nout, PETSC_FALSE, PETSC_TRUE, src, dst);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode step_run(Solve *S, const BCRReductionStep *step)
{
  static PetscErrorCode (*const run[])(Solve *, Item) = {[BCR_STEP_REDUCE_CLASSES] = reduce_classes,
                                                         [BCR_STEP_REDUCE_POLES] = reduce_poles,
                                                         [BCR_STEP_BACK_CLASSES] = back_classes,
                                                         [BCR_STEP_BACK_POLES] = back_poles};

  PetscFunctionBegin;
  for (PetscInt k = 0; k < step->count; k++) {
    const Item it = {step, k};

    if (BCRStepClasses(step) && step->group->side) queue_add(S, it);
    else PetscCall(run[step->work](S, it));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Items of one kind of group wait for each other across steps of their level, as only outs of a level are sources of
   others. Steps between them that have no classes do not matter */
static PetscBool queue_waits(const Queue *q, const BCRReductionStep *step)
{
  if (!q->n || q->item[0].step->level != step->level || BCRStepBack(q->item[0].step) != BCRStepBack(step))
    return PETSC_FALSE;
  return (PetscBool)(!BCRStepClasses(step) || step->group == q->group);
}

static PetscErrorCode steps_run(Solve *S)
{
  const BCRReductionPlan *plan = &S->red->plan;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < plan->nsteps; i++) {
    if (!queue_waits(&S->queue, &plan->step[i])) queue_run(S);
    PetscCall(step_run(S, &plan->step[i]));
  }
  queue_run(S);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRReductionSolve(BCRReduction red, PetscInt s, BCRPrecision io, const void *f, const PetscInt ldf[],
                                 void *u, const PetscInt ldu[])
{
  const PetscInt nplanes = red->dim == 3 ? red->plan.n : 1, nlines = red->dim == 3 ? red->ny : red->plan.n;
  Solve S;

  PetscFunctionBegin;
  PetscCheck(io == BCR_DOUBLE || red->plan.single, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "Double work on single precision arrays");
  PetscCheck(s >= 0 && s < red->nshift, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Shift %" PetscInt_FMT " of %" PetscInt_FMT, s,
             red->nshift);
  S.red = red;
  S.s = s;
  S.u = (char *)u;
  S.size = io == BCR_SINGLE ? sizeof(float) : sizeof(double);
  S.io = io == BCR_DOUBLE && red->plan.single ? 1 : 0;
  S.ld[0] = ldu[0];
  S.ld[1] = red->dim == 3 ? ldu[1] : 0;
  S.queue.group = NULL;
  S.queue.n = 0;
  for (PetscInt k = 0; k < nplanes && f != u; k++)
    for (PetscInt j = 0; j < nlines; j++)
      PetscCall(PetscMemcpy((char *)u + ((size_t)j * ldu[0] + (k ? (size_t)k * ldu[1] : 0)) * S.size,
                            (const char *)f + ((size_t)j * ldf[0] + (k ? (size_t)k * ldf[1] : 0)) * S.size,
                            red->nx * S.size));
  PetscCall(steps_run(&S));
  PetscFunctionReturn(PETSC_SUCCESS);
}
