/*
  The steps of a block cyclic reduction, in order: the reduction from the first level on, then the back substitution
  from the last one on. Only this file says in which order rows are worked on, and what that costs.
*/
#include "redplan.h"

/* Goes through all items; twice, to count their rows and then with arrays for them */
typedef struct {
  const BCRReductionPlan *plan;
  BCRReductionStep *step; /* NULL: counts */
  PetscInt *src, *out;    /* NULL: counts */
  PetscInt nsteps;
  size_t nsrc, nout;
  BCRReductionStep now; /* the last step */
} Walk;

/* n rows, by apart; a ring's rows are numbered from 0 already */
static void walk_src(Walk *w, PetscInt row, PetscInt by, PetscInt n)
{
  for (PetscInt k = 0; k < n && w->src; k++) w->src[w->nsrc + k] = row + k * by - (w->plan->periodic ? 0 : 1);
  w->nsrc += n;
}

static void walk_out(Walk *w, PetscInt row, PetscInt by, PetscInt n)
{
  for (PetscInt k = 0; k < n && w->out; k++) w->out[w->nout + k] = row + k * by - (w->plan->periodic ? 0 : 1);
  w->nout += n;
}

/* One more item of the last step if it does the same, else the first one of a new step. Its rows come next */
static void walk_item(Walk *w, BCRStepWork work, PetscInt level, const BCRGroup *g, PetscBool left, PetscBool right,
                      PetscBool twice)
{
  BCRReductionStep *step = &w->now;
  const PetscInt nsides = (left ? 1 : 0) + (right ? 1 : 0);

  if (!w->nsteps || step->work != work || step->level != level || step->group != g || step->left != left ||
      step->right != right || step->twice != twice) {
    step->work = work;
    step->level = level;
    step->group = g;
    step->left = left;
    step->right = right;
    step->twice = twice;
    step->count = step->np = 0;
    for (PetscInt c = 0; c < g->nsets; c++) step->np += g->set[c].np;
    step->nsrc = work == BCR_STEP_REDUCE_CLASSES ? nsides * g->ns : g->ns + (BCRStepBack(step) ? nsides : 0);
    step->nout = work == BCR_STEP_REDUCE_CLASSES ? 1 : (BCRStepBack(step) ? g->ns : nsides);
    step->src = w->src ? w->src + w->nsrc : NULL;
    step->out = w->out ? w->out + w->nout : NULL;
    w->nsteps++;
  }
  step->count++;
  if (w->step) w->step[w->nsteps - 1] = *step;
}

static const BCRGroup *level_group(const BCRReductionLevel *lev, PetscInt k)
{
  if (k == lev->ngroups - 1) return lev->group[2];
  return lev->group[k ? 1 : 0];
}

/* Group k sends to the separators beside it, or takes its solution from them */
static void walk_group(Walk *w, BCRStepWork work, PetscInt level, PetscInt k)
{
  const BCRReductionLevel *lev = &w->plan->level[level];
  const BCRGroup *g = level_group(lev, k);
  const PetscInt ng = lev->ngroups, L = k * lev->Qn, R = k == ng - 1 ? 0 : L + lev->Qn, first = L + g->first;
  const PetscBool left = (PetscBool)(ng > 1 && (k || w->plan->periodic)),
                  right = (PetscBool)(ng > 1 && (k < ng - 1 || w->plan->periodic));

  walk_item(w, work, level, g, left, right, PETSC_FALSE);
  walk_src(w, first, lev->Q, g->ns);
  if (work == BCR_STEP_REDUCE_POLES) {
    if (left) walk_out(w, L, 0, 1);
    if (right) walk_out(w, R, 0, 1);
  } else {
    if (left) walk_src(w, L, 0, 1);
    if (right) walk_src(w, R, 0, 1);
    walk_out(w, first, lev->Q, g->ns);
  }
}

/* Separator i gets what the groups beside it send, those of the kind g: the left one lies below row `below` */
static void walk_separator(Walk *w, PetscInt level, const BCRGroup *g, PetscInt i, PetscInt below, PetscBool left,
                           PetscBool right)
{
  const PetscInt Q = w->plan->level[level].Q;

  walk_item(w, BCR_STEP_REDUCE_CLASSES, level, g, left, right,
            (PetscBool)(!right && i == w->plan->n && BCREndGetRule(w->plan->end[1]).inward == 2));
  if (left) walk_src(w, below - Q, -Q, g->ns);
  if (right) walk_src(w, i + Q, Q, g->ns);
  walk_out(w, i, 0, 1);
}

/* The last level keeps no row. All others: group after group, each with the separator on its left */
static void walk_reduce(Walk *w, PetscInt level)
{
  const BCRReductionLevel *lev = &w->plan->level[level];
  const PetscInt ng = lev->ngroups;

  if (ng == 1) return;
  for (PetscInt k = 0; k < ng; k++) {
    const BCRGroup *right = level_group(lev, k), *left = NULL;
    const PetscInt i = k * lev->Qn, below = k ? i : w->plan->n; /* row 0 of a ring comes after the last one, too */

    if (k || w->plan->periodic) left = level_group(lev, k ? k - 1 : ng - 1);
    if (right->ns && !right->classes) walk_group(w, BCR_STEP_REDUCE_POLES, level, k);
    if (!left) continue; /* row 0 lies beyond the end */
    if (left == right && left->classes) walk_separator(w, level, left, i, below, PETSC_TRUE, PETSC_TRUE);
    else {
      if (left->classes) walk_separator(w, level, left, i, below, PETSC_TRUE, PETSC_FALSE);
      if (right->classes) walk_separator(w, level, right, i, below, PETSC_FALSE, PETSC_TRUE);
    }
  }
}

static void walk_back(Walk *w, PetscInt level)
{
  const BCRReductionLevel *lev = &w->plan->level[level];

  for (PetscInt k = 0; k < lev->ngroups; k++) {
    const BCRGroup *g = level_group(lev, k);

    if (g->ns) walk_group(w, g->classes ? BCR_STEP_BACK_CLASSES : BCR_STEP_BACK_POLES, level, k);
  }
}

static void walk_levels(Walk *w)
{
  w->nsteps = 0;
  w->nsrc = w->nout = 0;
  for (PetscInt r = 0; r < w->plan->nlevels; r++) walk_reduce(w, r);
  for (PetscInt r = w->plan->nlevels - 1; r >= 0; r--) walk_back(w, r);
}

PetscErrorCode BCRReductionPlanSteps(BCRReductionPlan *plan)
{
  Walk w;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&w, sizeof(w)));
  w.plan = plan;
  walk_levels(&w);
  PetscCall(BCRArenaGet(&plan->arena, w.nsteps * sizeof(*w.step), &w.step));
  PetscCall(BCRArenaGet(&plan->arena, w.nsrc * sizeof(*w.src), &w.src));
  PetscCall(BCRArenaGet(&plan->arena, w.nout * sizeof(*w.out), &w.out));
  walk_levels(&w);
  plan->nsteps = w.nsteps;
  plan->step = w.step;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Pole l of set c among poles of a step of classes. ws: [nsrc], wo: [nout] */
static void class_weights(const BCRReductionPlan *plan, const BCRReductionStep *step, PetscInt c, PetscInt l,
                          double ws[], double wo[])
{
  const BCRGroup *g = step->group;
  const BCRPoleSet *p = &g->set[c];
  const double *W = (const double *)g->W + (size_t)c * g->ldw;
  PetscInt k = 0;

  if (step->work == BCR_STEP_REDUCE_CLASSES) {
    for (PetscInt s = 0; s < g->ns && step->left; s++) ws[k++] = step->twice ? 2 * W[s] : W[s];
    for (PetscInt s = 0; s < g->ns && step->right; s++) ws[k++] = W[s];
    wo[0] = BCRPoleWeight(plan, p->reduce_out, 1, l, 0);
    return;
  }
  for (PetscInt s = 0; s < g->ns; s++) {
    ws[k++] = W[s];
    wo[s] = W[s] * BCRPoleWeight(plan, p->back_out, 1, l, 0);
  }
  /* separators: their sum for odd classes (counted from 1), left less right for even ones */
  if (step->left) ws[k++] = BCRPoleWeight(plan, p->back_src, 1, l, 0);
  if (step->right) ws[k++] = (c % 2 ? -1 : 1) * BCRPoleWeight(plan, p->back_src, 1, l, 0);
}

PetscErrorCode BCRReductionStepWeights(const BCRReductionPlan *plan, const BCRReductionStep *step, double **lambda,
                                       double **wsrc, double **wout)
{
  const BCRGroup *g = step->group;
  const PetscBool back = BCRStepBack(step);

  PetscFunctionBegin;
  PetscCheck(!plan->single, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The plan has its weights in single precision");
  PetscCall(PetscMalloc3(step->np, lambda, (size_t)step->np * step->nsrc, wsrc, (size_t)step->np * step->nout, wout));
  for (PetscInt c = 0, j = 0; c < g->nsets; c++) {
    const BCRPoleSet *p = &g->set[c];

    for (PetscInt l = 0; l < p->np; l++, j++) {
      double *ws = *wsrc + (size_t)j * step->nsrc, *wo = *wout + (size_t)j * step->nout;

      (*lambda)[j] = p->lambda[l];
      if (BCRStepClasses(step)) class_weights(plan, step, c, l, ws, wo);
      else {
        for (PetscInt k = 0; k < step->nsrc; k++)
          ws[k] = BCRPoleWeight(plan, back ? p->back_src : p->reduce_src, step->nsrc, l, k);
        for (PetscInt k = 0; k < step->nout; k++)
          wo[k] = BCRPoleWeight(plan, back ? p->back_out : p->reduce_out, step->nout, l, k);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Flops for each unknown of a block row of an item, the solutions of its poles not counted. A term of a sum is 2 */
static double item_flops(const BCRReductionStep *step)
{
  const double ns = (double)step->group->ns, nsrc = (double)step->nsrc, nout = (double)step->nout,
               np = (double)step->np;

  switch (step->work) {
  case BCR_STEP_REDUCE_CLASSES: /* sums of classes, the solutions' sum, which is added to the separator */
    return 2 * (step->twice ? 2 * nsrc : nsrc) * ns + 2 * np + 2;
  case BCR_STEP_BACK_CLASSES: /* sums of classes and, for all odd and all even ones, of separators; sums of solutions */
    return 2 * ns * ns + 2 * PetscMin(2, ns) * (nsrc - ns) + (nsrc > ns ? 4 : 2) * np + 2 * ns * ns;
  case BCR_STEP_REDUCE_POLES:
    return np * (2 * nsrc + 2 * nout) + 2 * nout;
  case BCR_STEP_BACK_POLES:
    return np * (2 * nsrc + 2 * nout);
  }
  return 0;
}

BCRReductionCost BCRReductionPlanCost(const BCRReductionPlan *plan, PetscInt nrow, const BCRReductionCost *inner)
{
  BCRReductionCost cost = {0, 0, 0};

  for (PetscInt i = 0; i < plan->nsteps; i++) {
    const BCRReductionStep *step = &plan->step[i];
    const double count = (double)step->count, np = (double)step->np;

    cost.subproblems += count * np * (inner ? inner->subproblems : 1);
    cost.flops += count * (item_flops(step) * (double)nrow + np * (inner ? inner->flops : 5. * (double)nrow));
    cost.moved += count * ((double)step->nsrc + (double)step->nout * (BCRStepBack(step) ? 1 : 2)) * (double)nrow;
  }
  return cost;
}
