/*
  Levels and groups of a block cyclic reduction: which rows a level keeps, which it eliminates together, and which
  groups are alike. redplan.h has a picture of them.
*/
#include "redplan.h"

/* Radix after radix until the product exceeds n. Radix 4 with n = 2^k - 1, k odd: the last level is what is left, radix
   2 (paper 000, end of 2.2, "one radix-2 BCR back substitution step") */
PetscErrorCode BCRScheduleFromRadix(PetscInt radix, PetscInt n, PetscInt *nlevels, PetscInt schedule[])
{
  PetscInt Q = 1, k = 0;

  PetscFunctionBegin;
  PetscCheck(radix >= 2, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Radix %" PetscInt_FMT ": must be 2 or more",
             radix);
  while (Q <= n) {
    PetscInt q = radix;

    /* a last level of fewer rows than the radix: n + 1 = q Q leaves a full group of a smaller radix */
    if (n / Q + 1 < radix) q = n / Q + 1;
    PetscCheck(k < BCR_MAX_LEVELS, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "More than %d levels", BCR_MAX_LEVELS);
    schedule[k++] = q;
    if (q > n / Q) break;
    Q *= q;
  }
  *nlevels = k;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode spec_check(const BCRReductionSpec *spec)
{
  const BCRAxis *y = &spec->axis[spec->dim - 1];
  const char label = spec->dim == 3 ? 'z' : 'y';

  PetscFunctionBegin;
  PetscCheck(!y->lower, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "Block cyclic reduction needs constant coefficients along axis %c, the one of the blocks. Leave radix and "
             "schedule at auto: the automatic schedule handles it",
             label);
  PetscCheck(spec->nlevels > 0 && spec->nlevels <= BCR_MAX_LEVELS, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "%" PetscInt_FMT " levels, must be 1 to %d", spec->nlevels, BCR_MAX_LEVELS);
  for (PetscInt r = 0; r < spec->nlevels; r++)
    PetscCheck(spec->schedule[r] >= 2, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "Radix %" PetscInt_FMT " on level %" PetscInt_FMT " of the schedule: must be 2 or more",
               spec->schedule[r], r);
  for (PetscInt r = 0, Q = 1; Q <= y->n; Q = spec->schedule[r] > y->n / Q ? y->n + 1 : Q * spec->schedule[r], r++)
    PetscCheck(r < spec->nlevels, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "The product of the schedule's radices is %" PetscInt_FMT ", must exceed the %" PetscInt_FMT
               " rows along axis %c",
               Q, y->n, label);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first number beyond the rows */
static PetscInt plan_beyond(const BCRReductionPlan *plan)
{
  return plan->periodic ? plan->n : plan->n + 1;
}

/* The kind of a group between L and R. whole: it is the only one of its level; nalike: groups of this kind */
static PetscErrorCode group_create(BCRReductionPlan *plan, PetscInt Q, PetscInt L, PetscInt R, PetscBool whole,
                                   PetscInt nalike, BCRGroup **group)
{
  const PetscBool low = (PetscBool)(L == 0), high = (PetscBool)(R == plan_beyond(plan));
  const BCREnd end[2] = {low && !plan->periodic ? plan->end[0] : BCREndAtSeparator(),
                         high && !plan->periodic ? plan->end[1] : BCREndAtSeparator()};
  BCRGroup *g;

  PetscFunctionBegin;
  PetscCall(BCRArenaGet(&plan->arena, sizeof(*g), &g));
  PetscCall(PetscMemzero(g, sizeof(*g)));
  *group = g;
  if (whole && plan->periodic) { /* the ring, row 0 among its rows */
    g->m = plan->n;
    g->ns = (plan->n + Q - 1) / Q;
    PetscCall(BCRGroupPoles(plan, Q, plan->end, 1, g));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  g->m = R - L - 1;
  g->ns = g->m / Q;
  g->first = Q;
  if (!g->ns) PetscFunctionReturn(PETSC_SUCCESS);
  g->left = (PetscBool)(plan->periodic || !low);
  g->right = (PetscBool)(plan->periodic || !high);
  g->classes = (PetscBool)(plan->n > 1 && BCREndIsZero(end[0]) && BCREndIsZero(end[1]) && (g->m + 1) % Q == 0);
  if (g->classes) {
    PetscCall(BCRGroupClasses(plan, Q, g));
    if (2 * Q <= plan->lanes) PetscCall(BCRGroupSideBySide(plan, Q, nalike, g));
  } else PetscCall(BCRGroupPoles(plan, Q, end, R == plan->n && g->right ? BCREndGetRule(plan->end[1]).inward : 1, g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode level_groups(BCRReductionPlan *plan, BCRReductionLevel *lev)
{
  const PetscInt beyond = plan_beyond(plan), ng = lev->ngroups, L = (ng - 1) * lev->Qn; /* L of the last group */
  BCRGroup **g = lev->group;

  PetscFunctionBegin;
  if (ng == 1) {
    PetscCall(group_create(plan, lev->Q, 0, beyond, PETSC_TRUE, 1, &g[2]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(group_create(plan, lev->Q, 0, lev->Qn, PETSC_FALSE, ng, &g[0]));
  if (g[0]->classes) g[1] = g[0];
  else if (ng > 2) PetscCall(group_create(plan, lev->Q, lev->Qn, 2 * lev->Qn, PETSC_FALSE, ng, &g[1]));
  if (g[1] && beyond - L == lev->Qn && (plan->periodic || BCREndIsZero(plan->end[1]))) g[2] = g[1];
  else PetscCall(group_create(plan, lev->Q, L, beyond, PETSC_FALSE, 1, &g[2]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode plan_levels(BCRReductionPlan *plan, PetscInt nlevels, const PetscInt schedule[])
{
  const PetscInt beyond = plan_beyond(plan);

  PetscFunctionBegin;
  for (PetscInt r = 0, Q = 1; r < nlevels && Q < beyond; r++) {
    BCRReductionLevel *lev = &plan->level[plan->nlevels++];

    lev->Q = Q;
    lev->Qn = schedule[r] > (beyond - 1) / Q ? beyond : Q * schedule[r]; /* no overflow, and nothing beyond the end */
    lev->ngroups = lev->Qn >= beyond ? 1 : (beyond - 1) / lev->Qn + 1;
    PetscCall(level_groups(plan, lev));
    Q = lev->Qn;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers the sets of poles, those of a kind of group once. set: [nsets], NULL: only counts them */
static void plan_sets(BCRReductionPlan *plan, BCRPoleSet *set[])
{
  plan->nsets = plan->npoles = 0;
  for (PetscInt r = 0; r < plan->nlevels; r++)
    for (PetscInt k = 0; k < 3; k++) {
      BCRGroup *g = plan->level[r].group[k];

      if (!g || (k && g == plan->level[r].group[k - 1])) continue;
      for (PetscInt c = 0; c < (g->side ? 1 : g->nsets); c++) {
        BCRPoleSet *p = g->side ? g->side : &g->set[c];

        p->number = plan->nsets;
        p->first = plan->npoles;
        if (set) set[plan->nsets] = p;
        plan->nsets++;
        plan->npoles += p->np;
      }
    }
}

PetscBool BCRReductionUniformLines(const BCRAxis *x)
{
  return (PetscBool)(!x->lower && x->n > 1 && x->a > 0);
}

static PetscErrorCode plan_fill(const BCRReductionSpec *spec, PetscBool single, PetscInt lanes, BCRReductionPlan *plan)
{
  const BCRAxis *x = &spec->axis[0], *y = &spec->axis[spec->dim - 1];

  PetscFunctionBegin;
  PetscCall(spec_check(spec));
  plan->n = y->n;
  for (int k = 0; k < 2; k++) plan->end[k] = y->n > 1 ? y->end[k] : BCREndAtSeparator(); /* one row has no ends */
  plan->periodic = (PetscBool)BCREndIsPeriodic(plan->end[0]);
  plan->a = (double)y->a;
  plan->scale = spec->dim == 2 && BCRReductionUniformLines(x) ? 1 / (double)x->a : 1;
  plan->single = single;
  plan->lanes = lanes;
  PetscCall(plan_levels(plan, spec->nlevels, spec->schedule));
  plan_sets(plan, NULL);
  PetscCall(BCRArenaGet(&plan->arena, plan->nsets * sizeof(*plan->set), &plan->set));
  plan_sets(plan, plan->set);
  PetscCall(BCRReductionPlanSteps(plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRReductionPlanCreate(const BCRReductionSpec *spec, PetscBool single, PetscInt lanes,
                                      BCRReductionPlan *plan)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(plan, sizeof(*plan)));
  BCRCallElse(plan_fill(spec, single, lanes, plan), (void)BCRReductionPlanFree(plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRReductionPlanFree(BCRReductionPlan *plan)
{
  PetscFunctionBegin;
  PetscCall(BCRArenaFree(&plan->arena));
  PetscFunctionReturn(PETSC_SUCCESS);
}
