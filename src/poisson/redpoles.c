/*
  Poles of block cyclic reduction and their weights (docs/method.md, section 3): the eigenpairs of a group's block at
  the rows of its level.
*/
#include "redplan.h"
#include "../base/modes.h"
#include <math.h>

#define BCR_PI 3.14159265358979323846 /* PETSC_PI is a float where PetscReal is */

/* sin(pi num/den), exact zeros and full relative accuracy near them */
static double sinpi_ratio(PetscInt64 num, PetscInt64 den)
{
  double sign = 1;

  num %= 2 * den;
  if (num < 0) num += 2 * den;
  if (num >= den) {
    num -= den;
    sign = -1;
  }
  if (2 * num > den) num = den - num;
  if (4 * num <= den) return sign * sin(BCR_PI * (double)num / (double)den);
  return sign * cos(BCR_PI * (double)(den - 2 * num) / (double)(2 * den));
}

static double cospi_ratio(PetscInt64 num, PetscInt64 den)
{
  return sinpi_ratio(2 * num + den, 2 * den);
}

/* Bytes of a weight */
static size_t weight_size(const BCRReductionPlan *plan)
{
  return plan->single ? sizeof(float) : sizeof(double);
}

/* Weights w[bundle][nw][lanes]: place of number k of nw of a pole */
static size_t weight_at(const BCRReductionPlan *plan, PetscInt nw, PetscInt pole, PetscInt k)
{
  return ((size_t)(pole / plan->lanes) * nw + k) * plan->lanes + pole % plan->lanes;
}

static void put(const BCRReductionPlan *plan, void *w, size_t i, double v)
{
  if (plan->single) ((float *)w)[i] = (float)v;
  else ((double *)w)[i] = v;
}

static void weight_set(const BCRReductionPlan *plan, void *w, PetscInt nw, PetscInt pole, PetscInt k, double v)
{
  put(plan, w, weight_at(plan, nw, pole, k), v);
}

double BCRPoleWeight(const BCRReductionPlan *plan, const void *w, PetscInt nw, PetscInt pole, PetscInt k)
{
  const size_t i = weight_at(plan, nw, pole, k);

  return plan->single ? (double)((const float *)w)[i] : ((const double *)w)[i];
}

static PetscErrorCode weights_create(BCRReductionPlan *plan, PetscInt np, PetscInt nw, void **w)
{
  const size_t bytes = weight_size(plan) * ((np + plan->lanes - 1) / plan->lanes) * plan->lanes * nw;

  PetscFunctionBegin;
  PetscCall(BCRArenaGet(&plan->arena, bytes, w));
  PetscCall(PetscMemzero(*w, bytes)); /* lanes without a pole weigh nothing */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A set of np poles that share one right-hand side */
static PetscErrorCode class_create(BCRReductionPlan *plan, PetscInt np, BCRPoleSet *p)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(p, sizeof(*p)));
  p->np = np;
  PetscCall(BCRArenaGet(&plan->arena, np * sizeof(double), &p->lambda));
  PetscCall(weights_create(plan, np, 1, &p->reduce_out));
  PetscCall(weights_create(plan, np, 1, &p->back_src));
  PetscCall(weights_create(plan, np, 1, &p->back_out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* m + 1 = q Q (picture in redplan.h): class c = 1 .. q-1 has those modes j of the block that are c or -c modulo 2q, Q of
   them. In the rows s Q of the level they are the same vector but for signs, sin(pi c s/q) */
PetscErrorCode BCRGroupClasses(BCRReductionPlan *plan, PetscInt Q, BCRGroup *g)
{
  const PetscInt m1 = g->m + 1, q = m1 / Q, copies = g->left || g->right ? 2 : 1;

  PetscFunctionBegin;
  g->nsets = g->ns;
  g->ldw = copies * g->ns;
  PetscCall(BCRArenaGet(&plan->arena, weight_size(plan) * g->ns * g->ldw, &g->W));
  PetscCall(BCRArenaGet(&plan->arena, g->nsets * sizeof(*g->set), &g->set));
  for (PetscInt c = 1; c < q; c++) {
    BCRPoleSet *p = &g->set[c - 1];

    for (PetscInt s = 1; s < q; s++)
      for (PetscInt k = 0; k < copies; k++)
        put(plan, g->W, (size_t)(c - 1) * g->ldw + (size_t)k * g->ns + s - 1, sinpi_ratio((PetscInt64)c * s, q));
    PetscCall(class_create(plan, Q, p));
    for (PetscInt l = 0; l < Q; l++) { /* j = c, 2q - c, 2q + c, 4q - c, ...: ascending, and with it lambda */
      const PetscInt64 j = l % 2 ? (PetscInt64)(l + 1) * q - c : (PetscInt64)l * q + c;
      const double sigma = l % 2 ? -1 : 1, sh = sinpi_ratio(j, 2 * (PetscInt64)m1), w1 = sinpi_ratio(j, m1);

      p->lambda[l] = 4 * sh * sh;
      weight_set(plan, p->reduce_out, 1, l, 0, plan->a * plan->scale * 2 / m1 * sigma * w1);
      weight_set(plan, p->back_src, 1, l, 0, plan->a * sigma * w1);
      weight_set(plan, p->back_out, 1, l, 0, plan->scale * 2 / m1);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Part of the lanes that poles side by side have to fill. Not measured apart */
#define SIDE_FILLED 17
#define SIDE_OF     20

/* Classes with fewer than lanes/2 poles each: as many groups at a time as it takes to fill that part of the lanes, if so
   many there are. A bundle holds `most` classes, pole j of its class c in lane c Q + j; the poles of the last class are
   repeated in the lanes that are left */
PetscErrorCode BCRGroupSideBySide(BCRReductionPlan *plan, PetscInt Q, PetscInt ngroups, BCRGroup *g)
{
  const PetscInt most = plan->lanes / Q; /* classes in a bundle */
  PetscInt nbundle;
  BCRPoleSet *p;

  PetscFunctionBegin;
  for (g->nside = 1;; g->nside++) {
    nbundle = (g->nside * g->ns + most - 1) / most;
    if (g->nside >= PetscMin(most, ngroups) || SIDE_OF * g->nside * g->ns >= SIDE_FILLED * nbundle * most) break;
  }
  PetscCall(BCRArenaGet(&plan->arena, sizeof(*p), &p));
  PetscCall(class_create(plan, nbundle * plan->lanes, p));
  g->side = p;
  for (PetscInt l = 0; l < p->np; l++) {
    const PetscInt in = l % plan->lanes, s = l / plan->lanes * most + PetscMin(in / Q, most - 1), j = in % Q;
    const BCRPoleSet *from = &g->set[s % g->ns];

    p->lambda[l] = from->lambda[j];
    weight_set(plan, p->reduce_out, 1, l, 0, BCRPoleWeight(plan, from->reduce_out, 1, j, 0));
    weight_set(plan, p->back_src, 1, l, 0, BCRPoleWeight(plan, from->back_src, 1, j, 0));
    weight_set(plan, p->back_out, 1, l, 0, BCRPoleWeight(plan, from->back_out, 1, j, 0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An axis of one row: nothing along it */
static PetscBool group_alone(const BCRGroup *g)
{
  return (PetscBool)(g->m == 1 && !g->left && !g->right);
}

/* Mode j of a block: lambda, its vector in the rows of the level, in the first and in the last row of the block, and the
   vector's norm, a sum of squares that end rows weigh in. used: a row of the level sees it. v: [ns + 2] */
static void block_mode(const BCRGroup *g, PetscInt Q, const BCRAxisModes *modes, PetscInt j, double v[], double *norm,
                       double *lambda, PetscBool *used)
{
  PetscInt64 num, den;

  *used = PETSC_FALSE;
  for (PetscInt s = 0; s < g->ns + 2; s++) {
    const PetscInt i = s < g->ns ? g->first + s * Q - (modes->periodic ? 0 : 1) : (s == g->ns ? 0 : g->m - 1);

    if (group_alone(g)) v[s] = 1;
    else v[s] = BCRAxisModesGetPhase(modes, j, i, &num, &den) ? sinpi_ratio(num, den) : cospi_ratio(num, den);
    if (s < g->ns && v[s] != 0) *used = PETSC_TRUE;
  }
  BCRAxisModesGetAngle(modes, j, &num, &den);
  *norm = group_alone(g) ? 1 : BCRAxisModesGetSquares(modes, j);
  *lambda = group_alone(g) ? 0 : sinpi_ratio(num, 2 * den);
  *lambda *= 4 * *lambda;
}

/* Weight of a row of the block in the analysis */
static double row_weight(const BCRGroup *g, const BCREnd end[2], PetscInt i)
{
  if (group_alone(g)) return 1;
  return (i == 0 ? BCREndGetRule(end[0]).weight : 1) * (i == g->m - 1 ? BCREndGetRule(end[1]).weight : 1);
}

/* v: work space for all eigenpairs, [m][ns + 3]: vector, as block_mode() has it, and norm */
static PetscErrorCode group_poles(BCRReductionPlan *plan, PetscInt Q, const BCREnd end[2], double coupleR, double v[],
                                  BCRGroup *g)
{
  const PetscInt ns = g->ns, nsides = (g->left ? 1 : 0) + (g->right ? 1 : 0);
  const double a = plan->a, scale = plan->scale;
  BCRAxisModes modes;
  BCRPoleSet *p;

  PetscFunctionBegin;
  (void)BCRAxisModesDescribe(g->m, end[0], end[1], &modes);
  g->nsets = 1;
  PetscCall(BCRArenaGet(&plan->arena, sizeof(*p), &p));
  PetscCall(PetscMemzero(p, sizeof(*p)));
  g->set = p;
  PetscCall(BCRArenaGet(&plan->arena, g->m * sizeof(double), &p->lambda));
  for (PetscInt j = 0; j < g->m; j++) {
    double *to = v + (size_t)p->np * (ns + 3);
    PetscBool used;

    block_mode(g, Q, &modes, j, to, &to[ns + 2], &p->lambda[p->np], &used);
    if (used) p->np++;
  }
  if (nsides) PetscCall(weights_create(plan, p->np, ns, &p->reduce_src));
  PetscCall(weights_create(plan, p->np, nsides, &p->reduce_out));
  PetscCall(weights_create(plan, p->np, ns + nsides, &p->back_src));
  PetscCall(weights_create(plan, p->np, ns, &p->back_out));
  for (PetscInt j = 0; j < p->np; j++) {
    const double *vj = v + (size_t)j * (ns + 3), norm = vj[ns + 2];
    PetscInt side = 0;

    for (PetscInt s = 0; s < ns; s++) {
      const double w = row_weight(g, end, g->first + s * Q - 1);

      if (nsides) weight_set(plan, p->reduce_src, ns, j, s, w * vj[s] / norm);
      weight_set(plan, p->back_src, ns + nsides, j, s, w * vj[s] / norm);
      weight_set(plan, p->back_out, ns, j, s, scale * vj[s]);
    }
    if (g->left) {
      weight_set(plan, p->reduce_out, nsides, j, side, a * scale * vj[ns]);
      weight_set(plan, p->back_src, ns + nsides, j, ns + side, a * vj[ns] / norm);
      side++;
    }
    if (g->right) {
      weight_set(plan, p->reduce_out, nsides, j, side, a * scale * coupleR * vj[ns + 1]);
      weight_set(plan, p->back_src, ns + nsides, j, ns + side, a * vj[ns + 1] / norm);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRGroupPoles(BCRReductionPlan *plan, PetscInt Q, const BCREnd end[2], double coupleR, BCRGroup *g)
{
  double *v;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1((size_t)g->m * (g->ns + 3), &v));
  BCRCallElse(group_poles(plan, Q, end, coupleR, v, g), (void)PetscFree(v));
  PetscCall(PetscFree(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}
