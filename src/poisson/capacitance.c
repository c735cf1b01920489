/*
  Solves with rows that differ: capacitance.h has what is done. capentries.c makes the lists.
*/
#include "capimpl.h"

/* -------- fields and numbers -------- */

static BCRSpread field_spread(const BCRCapacitance cap, const PetscScalar *x)
{
  return (BCRSpread){(PetscScalar *)x, cap->ghost, cap->n};
}

static BCRSpread list_spread(const PetscScalar *x)
{
  return (BCRSpread){(PetscScalar *)x, NULL, PETSC_MAX_INT};
}

/* g = G^T x + beta one g0, or with E^T; and how large the terms of the first are, magnitude[m], or NULL. Collective */
static PetscErrorCode from(BCRCapacitance cap, PetscBool transpose, const PetscScalar *x, PetscReal beta,
                           const PetscScalar *g0, PetscScalar *g, PetscReal *magnitude)
{
  const BCRSparseProduct p = {.A = &cap->from[transpose],
                              .alpha = 1,
                              .x = field_spread(cap, x),
                              .y = list_spread(g),
                              .beta = beta,
                              .d = g0 ? cap->ones : NULL,
                              .z = g0,
                              .magnitude = magnitude};

  PetscFunctionBegin;
  if (!transpose && cap->exchange.sf) PetscCall(cap->c.ops->fetch(&cap->c, &cap->exchange, &p.x));
  PetscCall(cap->c.ops->product(&cap->c, &p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x = (x) + alpha E w, or with G. Where it is not added, entries that it has none for stay. Collective */
static PetscErrorCode into(BCRCapacitance cap, PetscBool transpose, PetscReal alpha, const PetscScalar *w,
                           PetscBool add, PetscScalar *x)
{
  const BCRSparseProduct p = {
    .A = &cap->into[transpose], .alpha = alpha, .x = list_spread(w), .y = field_spread(cap, x), .add = add};

  PetscFunctionBegin;
  if (transpose) PetscCall(cap->c.ops->set(&cap->c, cap->ghosts, 0, cap->ghost));
  PetscCall(cap->c.ops->product(&cap->c, &p));
  if (transpose && cap->exchange.sf) PetscCall(cap->c.ops->give(&cap->c, &cap->exchange, &p.y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Other ranks add to entries that this one has nothing in */
static PetscBool unit_sums(const BCRCapacitance cap, PetscBool transpose)
{
  return (PetscBool)(transpose && cap->exchange.sf);
}

/* unit is zero but where into_unit() puts numbers */
static PetscErrorCode clear_unit(BCRCapacitance cap, PetscBool transpose)
{
  PetscFunctionBegin;
  if (unit_sums(cap, transpose) || cap->last != (int)transpose)
    PetscCall(cap->c.ops->set(&cap->c, cap->n, 0, cap->unit));
  cap->last = (int)transpose;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* unit = E w, or G w, and no more, once it is cleared. Collective */
static PetscErrorCode into_unit(BCRCapacitance cap, PetscBool transpose, const PetscScalar *w)
{
  PetscFunctionBegin;
  PetscCall(into(cap, transpose, 1, w, unit_sums(cap, transpose), cap->unit));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -------- the mask -------- */

/* y = (y) + alpha A x, fields or the mask's own numbers */
static PetscErrorCode mask_product(BCRCapacitance cap, const BCRSparse *A, PetscReal alpha, BCRSpread x, PetscBool add,
                                   BCRSpread y)
{
  const BCRSparseProduct p = {.A = A, .alpha = alpha, .x = x, .y = y, .add = add};

  PetscFunctionBegin;
  PetscCall(cap->c.ops->product(&cap->c, &p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* f~, for which the solution of A~ in the mask is zero, becomes that for which it is a number c all over the mask of a component.
   Rows of the fluid with columns of the mask have the sum 0 then: else values of one sign in the mask were a layer of sources
   around it, M f~ as much larger than u as there are nodes across the box, and the solution a difference of such numbers. Collective */
static PetscErrorCode mask_lift(BCRCapacitance cap, PetscScalar *rhs)
{
  const BCRBlock shares = {cap->dof, cap->shares, cap->beside, 0};
  const BCRSpread x = field_spread(cap, rhs);

  PetscFunctionBegin;
  PetscCall(mask_product(cap, &cap->rim, 1, x, PETSC_FALSE, list_spread(cap->beside)));
  if (cap->c.size > 1) {
    PetscCall(cap->c.ops->dots(&cap->c, cap->shores, 1, &shares, cap->sums));
    PetscCall(BCRNumbersSum(&cap->c, cap->dof, cap->sums));
    PetscCall(cap->c.be->put(cap->c.stream, cap->level, cap->sums, (size_t)cap->dof * sizeof(PetscScalar)));
  } else PetscCall(cap->c.ops->dots_there(&cap->c, cap->shores, 1, &shares, cap->level));
  PetscCall(mask_product(cap, &cap->lift, 1, list_spread(cap->level), PETSC_TRUE, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What mask_begin() launches; no padding, as it is the key of its graph, too */
typedef struct {
  PetscScalar *rhs;
  PetscInt64 transpose;
} MaskKey;

typedef struct {
  BCRCapacitance cap;
  MaskKey key;
} MaskLaunch;

static PetscErrorCode mask_launch(void *context)
{
  const MaskLaunch *l = (const MaskLaunch *)context;
  const BCRCapacitance cap = l->cap;
  const PetscBool transpose = l->key.transpose ? PETSC_TRUE : PETSC_FALSE;
  PetscScalar *rhs = l->key.rhs;
  const BCRSpread x = field_spread(cap, rhs), inside = list_spread(cap->inside);

  PetscFunctionBegin;
  PetscCall(mask_product(cap, &cap->masks[transpose], 1, x, PETSC_FALSE, inside));
  if (!transpose && cap->linked) {
    PetscCall(mask_product(cap, &cap->back[0], 1, inside, PETSC_FALSE, x));
    if (cap->exchange.sf) PetscCall(cap->c.ops->fetch(&cap->c, &cap->exchange, &x));
    PetscCall(mask_product(cap, &cap->links[0], -1, x, PETSC_TRUE, x));
  }
  PetscCall(mask_product(cap, &cap->back[0], 0, inside, PETSC_FALSE, x));
  if (!transpose && cap->shore) PetscCall(mask_lift(cap, rhs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = x with the factors of rows */
static PetscErrorCode with_factors(BCRCapacitance cap, const PetscScalar *x, PetscScalar *y)
{
  PetscFunctionBegin;
  PetscCall(mask_product(cap, &cap->factors, 1, list_spread(x), PETSC_FALSE, list_spread(y)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* rhs = f~. What the mask's solution is, or its right-hand side for the transpose, goes to cap->inside. Collective */
static PetscErrorCode mask_begin(BCRCapacitance cap, PetscBool transpose, const PetscScalar *f, PetscScalar *rhs)
{
  MaskLaunch launch = {
    cap, {rhs, transpose ? 1 : 0}
  };

  PetscFunctionBegin;
  if (f != rhs && cap->factors.rows && !transpose) PetscCall(with_factors(cap, f, rhs));
  else if (f != rhs) PetscCall(cap->c.ops->copy(&cap->c, cap->n, f, rhs));
  PetscCall(cap->c.ops->run(&cap->c, &launch.key, sizeof(launch.key), mask_launch, &launch));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The mask's part of u. Collective */
static PetscErrorCode mask_end(BCRCapacitance cap, PetscBool transpose, PetscScalar *u)
{
  const BCRSpread x = field_spread(cap, u);

  PetscFunctionBegin;
  PetscCall(mask_product(cap, &cap->back[0], 1, list_spread(cap->inside), PETSC_FALSE, x));
  if (!transpose) PetscFunctionReturn(PETSC_SUCCESS);
  if (cap->linked) { /* u = (f - links^T u of the fluid) / d */
    PetscCall(cap->c.ops->set(&cap->c, cap->ghosts, 0, cap->ghost));
    PetscCall(mask_product(cap, &cap->links[1], -1, x, PETSC_TRUE, x));
    if (cap->exchange.sf) PetscCall(cap->c.ops->give(&cap->c, &cap->exchange, &x));
  }
  PetscCall(mask_product(cap, &cap->back[1], 1, x, PETSC_FALSE, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -------- borders: components whose operator is singular, and whose matrix is not -------- */

/* The border's vectors for this direction: what M^-1 (or its transpose) takes to zero, and what its range is orthogonal to */
static const PetscReal *border_null(const BCRBorder *b, PetscBool transpose)
{
  return transpose ? b->left : b->right;
}

static const PetscReal *border_range(const BCRBorder *b, PetscBool transpose)
{
  return transpose ? b->right : b->left;
}

/* sums[b] = l^T rhs of each border, in the unit of its row. Collective */
static PetscErrorCode border_sums(BCRCapacitance cap, PetscBool transpose)
{
  PetscFunctionBegin;
  for (PetscInt b = 0; b < cap->borders; b++)
    PetscCall(cap->c.ops->nodes_sum(&cap->c, cap->n / cap->dof, cap->dof, border_range(&cap->border[b], transpose),
                                    cap->rhs + cap->border[b].component, &cap->sums[b]));
  PetscCall(BCRNumbersSum(&cap->c, cap->borders, cap->sums));
  for (PetscInt b = 0; b < cap->borders; b++) cap->sums[b] *= cap->border[b].unit[!transpose];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -------- the system -------- */

typedef struct {
  BCRCapacitance cap;
  PetscBool transpose;
  PetscBool zeros; /* the m numbers of p are zeros, and so is M E p: on all ranks */
  PetscScalar *y;  /* scratch, [n]; NULL where n is 0 */
} Product;

static PetscErrorCode solve_box(BCRCapacitance cap, PetscBool transpose, const PetscScalar *f, PetscScalar *u)
{
  PetscFunctionBegin;
  PetscCall(BCRSolverSolve(cap->solver, cap->c.ops->where, cap->c.stream, transpose, 1, f, cap->n, u, cap->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a product launches, q = p + G^T M E p; no padding, as it is the key of its graph, too */
typedef struct {
  const PetscScalar *p;
  PetscScalar *q, *y;
  PetscInt64 transpose;
} LaunchKey;

typedef struct {
  BCRCapacitance cap;
  LaunchKey key;
} Launch;

static PetscErrorCode product_launch(void *context)
{
  const Launch *l = (const Launch *)context;
  const PetscBool transpose = l->key.transpose ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(into_unit(l->cap, transpose, l->key.p));
  PetscCall(solve_box(l->cap, transpose, l->cap->unit, l->key.y));
  PetscCall(from(l->cap, transpose, l->key.y, 1, l->key.p, l->key.q, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* q = p + G^T M E p - w0 G^T r. w0 are the shared numbers of p. Collective */
static PetscErrorCode product(void *context, const BCRFew *p, PetscScalar *q)
{
  const Product *k = (const Product *)context;
  BCRCapacitance cap = k->cap;
  const BCRBlock terms = {cap->borders, cap->terms[k->transpose], NULL, 0};
  Launch launch = {
    cap, {p->v, q, k->y, k->transpose ? 1 : 0}
  };

  PetscFunctionBegin;
  if (!k->zeros) {
    PetscCall(clear_unit(cap, k->transpose));
    PetscCall(cap->c.ops->run(&cap->c, &launch.key, sizeof(launch.key), product_launch, &launch));
  } else {
    const BCRSparseProduct one = {
      .A = &cap->from[1], .x = list_spread(p->v), .y = list_spread(q), .beta = 1, .d = cap->ones, .z = p->v};

    PetscCall(cap->c.ops->product(&cap->c, &one));
  }
  if (cap->borders) PetscCall(cap->c.ops->combine(&cap->c, cap->m, 1, &terms, 1, -1, p->shared, q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode box_launch(void *context)
{
  const BCRCapacitance cap = (BCRCapacitance)context;

  return solve_box(cap, PETSC_FALSE, cap->unit, cap->field);
}

static PetscErrorCode box_launch_transposed(void *context)
{
  const BCRCapacitance cap = (BCRCapacitance)context;

  return solve_box(cap, PETSC_TRUE, cap->unit, cap->field);
}

/* Steps that are launched ahead, and all else of a solve: with a field of its own no graph depends on the caller's vectors, and they
   are made now. Where there is no room for it none is. On one rank */
static PetscErrorCode ahead_create(BCRCapacitance cap, PetscBool transpose)
{
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  if (!cap->c.ops->ahead || cap->c.size > 1 || cap->borders || !cap->m) PetscFunctionReturn(PETSC_SUCCESS);
  if (!cap->field) {
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = BCRNumbersAlloc(&cap->c, cap->n, "the capacitance system", &cap->field);
    PetscCall(PetscPopErrorHandler());
  }
  if (ierr) PetscFunctionReturn(PETSC_SUCCESS);
  cap->step[transpose] = (BCRStepProduct){.into = &cap->into[transpose],
                                          .from = &cap->from[transpose],
                                          .d = cap->ones,
                                          .unit = cap->unit,
                                          .y = field_spread(cap, cap->field),
                                          .box = transpose ? box_launch_transposed : box_launch,
                                          .context = cap};
  PetscCall(clear_unit(cap, transpose));
  PetscCall(BCRDirectionsAhead(&cap->directions[transpose], &cap->step[transpose]));
  for (int k = 0; k < 2; k++) { /* the second time it becomes a graph; what is in there does not matter */
    PetscCall(mask_begin(cap, transpose, cap->rhs, cap->rhs));
    PetscCall(solve_box(cap, transpose, cap->rhs, cap->field));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* u = M (f~ - E w) + w0 r, rhs with the change of w, if there is any. Collective */
static PetscErrorCode field(BCRCapacitance cap, PetscBool transpose, PetscBool changed, PetscScalar *u)
{
  PetscFunctionBegin;
  if (changed) PetscCall(into(cap, transpose, -1, cap->change.v, PETSC_TRUE, cap->rhs));
  PetscCall(solve_box(cap, transpose, cap->rhs, u));
  cap->info.solves++;
  for (PetscInt b = 0; b < cap->borders; b++) {
    const BCRBorder *border = &cap->border[b];
    const PetscScalar w0 = cap->w.shared[b] * border->unit[transpose];

    if (w0 != (PetscScalar)0)
      PetscCall(cap->c.ops->nodes_add(&cap->c, cap->n / cap->dof, cap->dof, w0, border_null(border, transpose),
                                      u + border->component));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* b = G^T u - w, what is left of the system by the field itself, and of the borders, these over cap->size; its 2-norm over that,
   and what rounding leaves of it. fresh: the size becomes that of the largest of the terms, as squares of others may be none.
   Collective */
static PetscErrorCode residual(BCRCapacitance cap, PetscBool transpose, PetscBool fresh, PetscScalar *u,
                               PetscReal *norm, PetscReal *rounding)
{
  PetscReal own[2][2], sum[2], largest;

  PetscFunctionBegin;
  PetscCall(from(cap, transpose, u, -1, cap->w.v, cap->b.v, cap->magnitude));
  if (cap->borders) PetscCall(border_sums(cap, transpose));
  PetscCall(cap->c.ops->largest(&cap->c, cap->m, cap->magnitude, cap->b.v, own));
  if (fresh) {
    largest = own[0][0];
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPIU_REAL, MPIU_MAX, cap->comm));
    cap->size = largest > 0 && !PetscIsInfOrNanReal(largest) ? largest : 1;
  }
  for (int k = 0; k < 2; k++) sum[k] = own[k][1] * (own[k][0] > 0 ? PetscSqr(own[k][0] / cap->size) : 1);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPIU_REAL, MPIU_SUM, cap->comm));
  for (PetscInt b = 0; b < cap->borders; b++) {
    cap->b.shared[b] = cap->sums[b] / cap->size;
    sum[0] += PetscSqr(cap->border[b].magnitude / cap->size);
    sum[1] += PetscRealPart(cap->b.shared[b] * PetscConj(cap->b.shared[b]));
  }
  *norm = PetscSqrtReal(sum[1]);
  *rounding = cap->eps * PetscSqrtReal(sum[0]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* w, so that the borders' rows hold and else of the least norm. Where that is all of w (a pinned row), what is left is w0, of which
   K is known without a solve. Then the field and what is left of the system, as residual() has it. Collective */
static PetscErrorCode begin(BCRCapacitance cap, PetscBool transpose, PetscScalar *u, PetscReal *norm,
                            PetscReal *rounding)
{
  const BCRBlock terms = {cap->borders, cap->terms[!transpose], NULL, 0}; /* real numbers */
  Product context = {cap, transpose, PETSC_TRUE, NULL};
  BCRDirections *directions = &cap->directions[transpose];

  PetscFunctionBegin;
  if (cap->borders) PetscCall(cap->c.ops->set(&cap->c, cap->m, 0, cap->change.v));
  PetscCall(PetscArrayzero(cap->change.shared, cap->borders));
  for (PetscInt b = 0; b < cap->borders && cap->info.rows == cap->borders && directions->k < cap->borders; b++) {
    cap->change.shared[b] = 1;
    PetscCall(BCRDirectionsTeach(directions, product, &context, &cap->change));
    cap->change.shared[b] = 0;
  }
  if (cap->borders) PetscCall(border_sums(cap, transpose));
  for (PetscInt b = 0; b < cap->borders; b++) {
    cap->border[b].magnitude = PetscAbsScalar(cap->sums[b]);
    cap->sums[b] /= PetscSqr(cap->border[b].norm);
  }
  if (cap->borders) PetscCall(cap->c.ops->combine(&cap->c, cap->m, 1, &terms, 1, 1, cap->sums, cap->change.v));
  if (cap->borders) PetscCall(cap->c.ops->copy(&cap->c, cap->m, cap->change.v, cap->w.v));
  else PetscCall(cap->c.ops->set(&cap->c, cap->m, 0, cap->w.v));
  PetscCall(PetscArraycpy(cap->w.shared, cap->change.shared, cap->borders));
  PetscCall(field(cap, transpose, (PetscBool)(cap->borders > 0), u));
  PetscCall(residual(cap, transpose, PETSC_TRUE, u, norm, rounding));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What rounding leaves of the residual where u is large, though not in the rows that differ. Collective */
static PetscErrorCode rounding_of_field(BCRCapacitance cap, PetscBool transpose, const PetscScalar *u,
                                        PetscReal *rounding)
{
  const PetscReal entry = transpose ? cap->entry : 1;
  PetscReal own[2][2];

  PetscFunctionBegin;
  PetscCall(cap->c.ops->largest(&cap->c, cap->n, NULL, u, own));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &own[1][0], 1, MPIU_REAL, MPIU_MAX, cap->comm));
  *rounding =
    PetscMax(*rounding, cap->eps * PetscSqrtReal((PetscReal)cap->info.rows) * own[1][0] * (entry / cap->size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* w += its change, which is in the unit of b */
static PetscErrorCode add_change(BCRCapacitance cap)
{
  PetscFunctionBegin;
  PetscCall(cap->c.ops->scale(&cap->c, cap->m, cap->size, 1, cap->change.v, cap->change.v));
  PetscCall(cap->c.ops->add(&cap->c, cap->m, 1, cap->change.v, cap->w.v));
  for (PetscInt b = 0; b < cap->borders; b++) cap->w.shared[b] += cap->change.shared[b] *= cap->size;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode transposes_fill(BCRCapacitance cap)
{
  BCRSparse *of[] = {&cap->from[0], &cap->links[0]}, *to[] = {&cap->into[1], &cap->links[1]};

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    if (cap->c.ops->tables_destroy) PetscCall(cap->c.ops->tables_destroy(to[k])); /* of a try without memory */
    PetscCall(BCRSparseFree(to[k]));
    PetscCall(BCRSparseTranspose(of[k], to[k]));
  }
  if (cap->c.ops->tables) PetscCall(cap->c.ops->tables(&cap->c, 2, to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lists that only transposed solves have need of. Collective */
static PetscErrorCode transposes_create(BCRCapacitance cap)
{
  PetscFunctionBegin;
  if (cap->transposes) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRFaultShare(cap->comm, transposes_fill(cap), BCR_NO_MEMORY));
  PetscCall(ahead_create(cap, PETSC_TRUE));
  cap->transposes = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is left of the rows that differ is measured, at no cost, in the field itself, against what rounding leaves of the field
   before the system is solved (rounding) and of the solution (own). Where it is more, as directions of an earlier right-hand side
   were not exact enough or as the solution is a difference of larger numbers, it is solved for once more; where it is much more, a
   second time from the beginning, without them */
static PetscErrorCode solve(BCRCapacitance cap, PetscBool transpose, const PetscScalar *f, PetscScalar *u)
{
  PetscScalar *y = cap->field ? cap->field : u;
  Product context = {cap, transpose, PETSC_FALSE, y};
  BCRDirections *directions = &cap->directions[transpose];
  BCRDirectionsResult result;
  PetscReal rounding = 0, tol, left = 0, own = 0, again = 0, size;
  PetscInt old;

  PetscFunctionBegin;
  if (transpose) PetscCall(transposes_create(cap));
  if (cap->alone[transpose]) BCRDirectionsForget(directions);
  old = directions->k;
  PetscCall(mask_begin(cap, transpose, f, cap->rhs));
  PetscCall(begin(cap, transpose, y, &left, &rounding));
  tol = cap->asked * rounding;
  cap->info.reached = (PetscBool)(left <= tol);
  for (int round = 0; round < 3 && !cap->info.reached && !PetscIsInfOrNanReal(left); round++) {
    if (round == 2 && !old) break;
    if (round == 2) { /* from the beginning */
      BCRDirectionsForget(directions);
      PetscCall(into(cap, transpose, 1, cap->w.v, PETSC_TRUE, cap->rhs));
      size = cap->size;
      PetscCall(begin(cap, transpose, y, &left, &again));
      rounding = PetscMin(again, rounding * (size / cap->size)); /* what was left in w adds to it, and is no reason */
      tol = cap->asked * rounding;
    }
    PetscCall(clear_unit(cap, transpose));
    PetscCall(cap->c.ops->scale(&cap->c, cap->m, 1, cap->size, cap->b.v, cap->b.v));
    PetscCall(BCRDirectionsSolve(directions, product, &context, tol, BCR_CAPACITANCE_STEPS, &cap->b, left, &cap->change,
                                 &result));
    cap->info.solves += result.products;
    PetscCall(add_change(cap));
    PetscCall(field(cap, transpose, PETSC_TRUE, y));
    PetscCall(residual(cap, transpose, PETSC_FALSE, y, &left, &own));
    /* a stiff system may have a solution that is larger than all before it where it is transposed, and waves near a resonance
       of the matrix have one; much larger is one of none */
    again =
      transpose || cap->waves ? PetscMax(rounding, PetscMin(own, rounding / PETSC_SQRT_MACHINE_EPSILON)) : rounding;
    cap->info.reached = (PetscBool)(left <= BCR_CAPACITANCE_ENOUGH * again);
    if (!cap->info.reached && result.products == BCR_CAPACITANCE_STEPS && !old)
      break; /* nothing else would do better */
    if (!cap->info.reached || round || cap->info.rows == cap->borders || left <= BCR_CAPACITANCE_FINE * own) continue;
    PetscCall(rounding_of_field(cap, transpose, y, &own));
    cap->info.reached = (PetscBool)(left <= BCR_CAPACITANCE_FINE * own);
    tol = BCR_CAPACITANCE_FINE / 3 * own;
  }
  /* a box that is nearly singular has fields larger than the solution, and leaves of it what rounding leaves of them */
  cap->info.lost = (PetscBool)(cap->info.reached && own > 0 && left > BCR_CAPACITANCE_FINE * own);
  if (cap->info.lost) {
    PetscCall(rounding_of_field(cap, transpose, y, &own));
    cap->info.lost = (PetscBool)(left > BCR_CAPACITANCE_FINE * own);
  }
  if (y != u) PetscCall(cap->c.ops->copy(&cap->c, cap->n, y, u));
  PetscCall(mask_end(cap, transpose, u));
  if (cap->factors.rows && transpose) PetscCall(with_factors(cap, u, u));
  if (!cap->info.reached) BCRDirectionsForget(directions); /* of a system that has no solution they may be anything */
  cap->info.known = directions->k;
  cap->info.residual = rounding > 0 ? left / rounding : left;
  if (!cap->info.reached && !PetscIsInfOrNanReal(left)) /* no solution, as KSPCheckSolve() has it */
    PetscCall(cap->c.ops->set(&cap->c, cap->n, (PetscScalar)PETSC_INFINITY, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -------- the extension by zero -------- */

static PetscErrorCode extend(BCRCapacitance cap, PetscBool transpose, const PetscScalar *f, PetscScalar *u)
{
  const BCRSpread inside = list_spread(cap->inside);

  PetscFunctionBegin;
  PetscCall(mask_product(cap, &cap->masks[0], 1, field_spread(cap, f), PETSC_FALSE, inside));
  PetscCall(cap->c.ops->copy(&cap->c, cap->n, f, cap->rhs));
  PetscCall(mask_product(cap, &cap->back[0], 0, inside, PETSC_FALSE, field_spread(cap, cap->rhs)));
  PetscCall(solve_box(cap, transpose, cap->rhs, u));
  cap->info.solves++;
  PetscCall(mask_product(cap, &cap->back[0], 1, inside, PETSC_FALSE, field_spread(cap, u)));
  cap->info.reached = PETSC_TRUE;
  cap->info.lost = PETSC_FALSE;
  cap->info.residual = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCapacitanceBeyondMask(BCRCapacitance cap, PetscInt *row)
{
  const BCRSparse *G = &cap->from[0];
  PetscScalar *in, *ghost;

  PetscFunctionBegin;
  PetscCall(BCRFaultShare(cap->comm, PetscCalloc2(cap->n, &in, cap->ghosts, &ghost), BCR_NO_MEMORY));
  for (PetscInt i = 0; i < cap->masked; i++) in[cap->mask[i]] = 1;
  if (cap->exchange.sf) {
    PetscCall(PetscSFBcastBegin(cap->exchange.sf, MPIU_SCALAR, in, ghost, MPI_REPLACE));
    PetscCall(PetscSFBcastEnd(cap->exchange.sf, MPIU_SCALAR, in, ghost, MPI_REPLACE));
  }
  *row = -1;
  for (PetscInt i = 0; i < cap->m && *row < 0; i++) {
    const PetscBool mine = (PetscBool)(in[cap->row[i]] != (PetscScalar)0);
    PetscBool some = mine, others = PETSC_FALSE;

    for (PetscInt k = G->start[i]; k < G->start[i + 1]; k++) {
      const PetscInt col = G->from[k];

      if ((col < cap->n ? in[col] : ghost[col - cap->n]) != (PetscScalar)0) some = PETSC_TRUE;
      else if (col != cap->row[i] && !mine) others = PETSC_TRUE;
    }
    if (!some || others) *row = cap->row[i];
  }
  PetscCall(PetscFree2(in, ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -------- where vectors are -------- */

/* solve(f) = u, where the numbers are, of vectors in any memory; u may be f */
static PetscErrorCode
solve_there(BCRCapacitance cap, PetscMemType where, void *stream, PetscBool transpose, const PetscScalar *f,
            PetscScalar *u, PetscErrorCode (*solve)(BCRCapacitance, PetscBool, const PetscScalar *, PetscScalar *))
{
  const BCRBackend *be = cap->c.be;
  const size_t bytes = (size_t)cap->n * sizeof(PetscScalar);
  const PetscBool device = PetscMemTypeHost(cap->c.ops->where) ? PETSC_FALSE : PETSC_TRUE,
                  staged = (PetscBool)(device && PetscMemTypeHost(where));

  PetscFunctionBegin;
  PetscCheck(device || PetscMemTypeHost(where), PETSC_COMM_SELF, PETSC_ERR_PLIB, "The solver was made for the host");
  cap->info.solves = 0;
  cap->c.stream = staged ? cap->solver->options.stream : stream;
  if (staged) {
    if (!cap->vector)
      PetscCall(BCRFaultShare(
        cap->comm, BCRNumbersAlloc(&cap->c, cap->n, "a copy of a vector of the host", &cap->vector), BCR_NO_MEMORY));
    PetscCall(be->put(cap->c.stream, cap->vector, f, bytes));
    PetscCall((*solve)(cap, transpose, cap->vector, cap->vector));
    PetscCall(be->get(cap->c.stream, u, cap->vector, bytes));
  } else PetscCall((*solve)(cap, transpose, f, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCapacitanceSolve(BCRCapacitance cap, PetscMemType where, void *stream, PetscBool transpose,
                                   const PetscScalar *f, PetscScalar *u)
{
  return solve_there(cap, where, stream, transpose, f, u, solve);
}

PetscErrorCode BCRCapacitanceExtend(BCRCapacitance cap, PetscMemType where, void *stream, PetscBool transpose,
                                    const PetscScalar *f, PetscScalar *u)
{
  return solve_there(cap, where, stream, transpose, f, u, extend);
}

PetscBool BCRCapacitanceIsRegular(BCRCapacitance cap)
{
  return cap->borders > 0 ? PETSC_TRUE : PETSC_FALSE;
}

PetscErrorCode BCRCapacitanceGetInfo(BCRCapacitance cap, BCRCapacitanceInfo *info)
{
  PetscFunctionBegin;
  *info = cap->info;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -------- creation -------- */

/* The factor of the operator's row at a node of its box, which is on this rank of the layout, and those behind it
   along x; NULL: all are 1 */
static const PetscReal *row_factors(const BCROperator *op, const BCRGrid *g, const PetscInt ix[3])
{
  PetscInt box = 0, size = 1;

  if (!op->rowscale) return NULL;
  for (int d = 0; d < 3; d++) {
    const BCRAxis *x = &op->axis[d];
    const PetscInt low = x->plane[0].present ? 1 : 0, first = PetscMax(g->lo[d], low);

    box += size * (ix[d] - first);
    size *= PetscMin(g->lo[d] + g->n[d], low + x->n) - first;
  }
  return op->rowscale + box;
}

static PetscReal row_factor(const BCROperator *op, const BCRGrid *g, const PetscInt ix[3])
{
  const PetscReal *factor = row_factors(op, g, ix);

  return factor ? *factor : 1;
}

/* The left null vector of an axis without its weights, [n] */
static PetscErrorCode null_axis(const BCRAxis *x, PetscReal **left)
{
  double *l;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(PetscMax(x->n, 1), left));
  PetscCall(PetscMalloc1(PetscMax(x->n, 1), &l));
  for (PetscInt i = 0; i < x->n; i++) l[i] = BCRAxisGetEndWeight(x, i);
  if (x->lower && x->n > 0) BCRCallElse(BCRAxisLeftNull(x, l), (void)PetscFree(l));
  for (PetscInt i = 0; i < x->n; i++) (*left)[i] = (PetscReal)l[i];
  PetscCall(PetscFree(l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Right and left null vector of the operator at the node ix of the layout, for the left one (or NULL) one of this rank's; axis: the
   left ones of the axes */
static void null_at(const BCROperator *op, const BCRGrid *g, PetscReal *const axis[3], const PetscInt ix[3],
                    PetscReal *right, PetscReal *left)
{
  int side[3], planes = 0, across = 0;
  PetscInt at = 0, size = 1;
  PetscReal weight = 1, ends = 1;

  for (int d = 0; d < 3; d++) {
    const BCRAxis *x = &op->axis[d];
    const PetscInt low = x->plane[0].present ? 1 : 0,
                   i = PetscMin(PetscMax(ix[d] - low, 0), PetscMax(x->n - 1, 0)); /* the nearest in the box */

    side[d] = low && ix[d] == 0 ? -1 : (x->plane[1].present && ix[d] == g->N[d] - 1 ? 1 : 0);
    if (side[d]) across = d;
    planes += side[d] != 0;
    ends *= x->n > 0 ? axis[d][i] : 1;
    weight *= x->weight ? x->weight[i] : 1;
  }
  if (!planes) {
    *right = 1;
    if (left) *left = ends / (weight * row_factor(op, g, ix));
    return;
  }
  *right = 0;
  if (left) *left = 0;
  if (planes > 1) { /* through the planes of fewer axes that the row refers to; no row of the box refers to it */
    for (int d = 0; d < 3; d++) {
      PetscInt inward[3] = {ix[0], ix[1], ix[2]};
      PetscReal r;

      if (!side[d] || op->corner[BCRCornerPlace(side)][d] == 0) continue;
      inward[d] -= side[d];
      null_at(op, g, axis, inward, &r, NULL);
      *right += op->corner[BCRCornerPlace(side)][d] * r;
    }
    return;
  }
  for (int d = 0; d < 3; d++) { /* the node's number in the plane */
    if (d == across) continue;
    at += size * (ix[d] - g->lo[d]);
    size *= g->n[d];
  }
  {
    const BCRPlane *plane = &op->axis[across].plane[side[across] > 0];

    *right = plane->slope;
    if (left && plane->couple && !plane->couplings)
      *left = ends * op->scale * plane->coupling * (plane->inv ? plane->inv[at] : plane->inv0);
  }
}

/* The same of the nodes of this rank along x from ix on, the first one */
static void null_line(const BCROperator *op, const BCRGrid *g, PetscReal *const axis[3], const PetscInt ix[3],
                      PetscReal right[], PetscReal left[])
{
  const BCRAxis *x = &op->axis[0];
  const PetscInt low = x->plane[0].present ? 1 : 0;
  const PetscInt at[3] = {PetscMax(ix[0], low), ix[1], ix[2]};
  PetscInt end = PetscMin(ix[0] + g->n[0], low + x->n);
  PetscReal across = 1;

  for (int d = 1; d < 3; d++) {
    const BCRAxis *y = &op->axis[d];
    const PetscInt i = ix[d] - (y->plane[0].present ? 1 : 0);

    if (i < 0 || i >= y->n) end = ix[0]; /* in a plane: node by node */
    else across *= axis[d][i] / (y->weight ? y->weight[i] : 1);
  }
  if (end > at[0]) {
    const PetscReal *factor = row_factors(op, g, at), *one = axis[0] + at[0] - low;
    PetscReal *l = left + at[0] - ix[0], *r = right + at[0] - ix[0];
    const PetscInt n = end - at[0];

    for (PetscInt i = 0; i < n; i++) r[i] = 1;
    for (PetscInt i = 0; i < n; i++) l[i] = across * one[i];
    for (PetscInt i = 0; i < n && x->weight; i++) l[i] /= x->weight[at[0] - low + i];
    for (PetscInt i = 0; i < n && factor; i++) l[i] /= factor[i];
  }
  for (PetscInt i = ix[0]; i < ix[0] + g->n[0]; i++) {
    if (i == at[0] && end > i) i = end;
    if (i < ix[0] + g->n[0]) null_at(op, g, axis, (PetscInt[]){i, ix[1], ix[2]}, &right[i - ix[0]], &left[i - ix[0]]);
  }
}

/* That line has what the one before it along y has */
static PetscBool null_repeats(const BCROperator *op, PetscReal *const axis[3], PetscInt y)
{
  const BCRAxis *x = &op->axis[1];
  const PetscInt i = y - (x->plane[0].present ? 1 : 0);

  for (int d = 0; d < 3; d += 2)
    if (op->axis[d].plane[0].present || op->axis[d].plane[1].present) return PETSC_FALSE;
  return (PetscBool)(!op->rowscale && i > 0 && i < x->n && axis[1][i] == axis[1][i - 1] &&
                     (!x->weight || x->weight[i] == x->weight[i - 1]));
}

/* The diagonal of the operator's row at node ix of the layout, about: of the box inside */
static PetscReal row_size(const BCROperator *op, const BCRGrid *g, const PetscInt ix[3])
{
  PetscReal diag = PetscAbsReal(op->shift), weight = 1;

  for (int set = 1; set < 8 && op->product; set++) /* 2 along each axis of the set */
    diag += PetscAbsReal(op->mixed[set]) * (PetscReal)(1 << ((set & 1) + (set >> 1 & 1) + (set >> 2)));
  for (int d = 0; d < op->dim; d++) {
    const BCRAxis *x = &op->axis[d];
    const PetscInt i = ix[d] - (x->plane[0].present ? 1 : 0);

    if (i < 0 || i >= x->n) return 1; /* in a plane: a row like any other there */
    if (!op->product) diag += PetscAbsReal(x->lower ? x->diag[i] : 2 * x->a);
    weight *= x->weight ? x->weight[i] : 1;
  }
  return PetscAbsReal(op->scale) * diag * weight * row_factor(op, g, ix);
}

/* Rows and unknowns of the system get sizes near one, of whatever size those of the matrix are: with s the largest entry of a row
   of G^T and d the operator's diagonal there, G^T is divided by s, and w by s or, where that is much more, by some d: 1 in K is
   d/s there */
static void rows_scale(BCRCapacitance cap, const BCRGrid *g, const BCROperator ops[])
{
  const BCRSparse *G = &cap->from[0];

  for (PetscInt i = 0; i < cap->m; i++) {
    const PetscInt c = cap->row[i] % cap->dof, node = cap->row[i] / cap->dof;
    const PetscInt ix[3] = {g->lo[0] + node % g->n[0], g->lo[1] + node / g->n[0] % g->n[1],
                            g->lo[2] + node / g->n[0] / g->n[1]};
    const PetscReal diag = row_size(&ops[c], g, ix);
    PetscReal s = 0;

    for (PetscInt k = G->start[i]; k < G->start[i + 1]; k++) s = PetscMax(s, PetscAbsReal(G->value[k]));
    for (PetscInt k = G->start[i]; k < G->start[i + 1] && s > 0; k++) G->value[k] /= s;
    cap->info.grading = PetscMax(cap->info.grading, s / diag);
    cap->one[i] = s > 0 ? PetscMin(1, BCR_CAPACITANCE_LARGE * diag / s) : 1;
    cap->scale[i] = s * cap->one[i];
    cap->entry = PetscMax(cap->entry, cap->scale[i]);
  }
}

/* The null vectors have nothing but ones on this rank. axis: the left ones of the axes */
static PetscBool null_plain(const BCROperator *op, PetscReal *const axis[3])
{
  PetscBool plain = op->rowscale ? PETSC_FALSE : PETSC_TRUE;

  for (int d = 0; d < 3; d++) {
    const BCRAxis *x = &op->axis[d];

    if (x->plane[0].present || x->plane[1].present || x->weight) return PETSC_FALSE;
    for (PetscInt i = 0; i < x->n; i++) plain = (PetscBool)(plain && axis[d][i] == 1);
  }
  return plain;
}

/* What the null vectors of an operator are made of */
typedef struct {
  const BCROperator *op;
  const BCRGrid *layout;
  PetscReal *axis[3]; /* the left ones of the axes */
  PetscBool plain;    /* they are ones */
} Nulls;

static PetscErrorCode nulls_destroy(Nulls *nulls)
{
  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) PetscCall(PetscFree(nulls->axis[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode nulls_create(const BCROperator *op, const BCRGrid *layout, Nulls *nulls)
{
  PetscFunctionBegin;
  *nulls = (Nulls){.op = op, .layout = layout};
  for (int d = 0; d < 3; d++) BCRCallElse(null_axis(&op->axis[d], &nulls->axis[d]), (void)nulls_destroy(nulls));
  nulls->plain = null_plain(op, nulls->axis);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The vectors of border b, at all nodes, unless they are ones */
static PetscErrorCode border_vectors(BCRCapacitance cap, Nulls *nulls, BCRBorder *b)
{
  const PetscInt *n = nulls->layout->n, *lo = nulls->layout->lo, nodes = n[0] * n[1] * n[2];

  PetscFunctionBegin;
  if (nulls->plain) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRNumbersAllocReal(&cap->c, nodes, "null vectors", &b->right));
  PetscCall(BCRNumbersAllocReal(&cap->c, nodes, "null vectors", &b->left));
  for (PetscInt k = 0; k < n[2]; k++)
    for (PetscInt j = 0; j < n[1]; j++) {
      const PetscInt ix[3] = {lo[0], lo[1] + j, lo[2] + k}, at = n[0] * (j + n[1] * k);

      if (j > 0 && null_repeats(nulls->op, nulls->axis, ix[1])) {
        PetscCall(PetscArraycpy(b->right + at, b->right + at - n[0], n[0]));
        PetscCall(PetscArraycpy(b->left + at, b->left + at - n[0], n[0]));
      } else null_line(nulls->op, nulls->layout, nulls->axis, ix, b->right + at, b->left + at);
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One entry of these, whether they are there or not */
static PetscReal null_entry(const Nulls *nulls, const BCRBorder *b, PetscBool transpose, PetscInt node)
{
  const PetscInt *n = nulls->layout->n, *lo = nulls->layout->lo;
  const PetscReal *v = border_null(b, transpose);
  PetscReal right = 1, left = 1;

  if (v) return v[node];
  if (!nulls->plain)
    null_at(nulls->op, nulls->layout, nulls->axis,
            (PetscInt[]){lo[0] + node % n[0], lo[1] + node / n[0] % n[1], lo[2] + node / n[0] / n[1]}, &right, &left);
  return transpose ? left : right;
}

/* Puts the border's null vector to cap->unit, or zeros, where G^T or E^T refer to it; where other ranks do, too, everywhere */
static void border_put(BCRCapacitance cap, const Nulls *nulls, const BCRBorder *b, PetscBool transpose, PetscBool there)
{
  const PetscInt dof = cap->dof, c = b->component;
  const BCRSparse *G = &cap->from[0];

  if (cap->exchange.sf && !transpose)
    for (PetscInt i = 0; i < cap->n / dof; i++) cap->unit[c + dof * i] = there ? null_entry(nulls, b, transpose, i) : 0;
  else if (transpose)
    for (PetscInt i = 0; i < cap->m; i++) {
      if (cap->row[i] % dof == c)
        cap->unit[cap->row[i]] = there ? null_entry(nulls, b, transpose, cap->row[i] / dof) : 0;
    }
  else
    for (PetscInt k = 0; k < G->start[cap->m]; k++)
      if (G->from[k] % dof == c) cap->unit[G->from[k]] = there ? null_entry(nulls, b, transpose, G->from[k] / dof) : 0;
}

/* What the border has in the system: G^T r in a solve, E^T l in a transposed one, in units in which they are 1, terms[2]. The
   other one of the two is its row. *regular: neither is zero, so that the constant is the matrix' no more. Collective */
static PetscErrorCode border_terms(BCRCapacitance cap, const Nulls *nulls, BCRBorder *b, PetscScalar *terms[2],
                                   PetscBool *regular)
{
  PetscFunctionBegin;
  *regular = PETSC_TRUE;
  for (int t = 0; t < 2; t++) {
    PetscReal largest[2] = {0, 0}, sum = 0; /* of the terms, of what they are sums of */

    border_put(cap, nulls, b, (PetscBool)t, PETSC_TRUE);
    PetscCall(from(cap, (PetscBool)t, cap->unit, 0, NULL, terms[t], cap->magnitude));
    border_put(cap, nulls, b, (PetscBool)t, PETSC_FALSE);
    for (PetscInt i = 0; i < cap->m; i++) {
      largest[0] = PetscMax(largest[0], PetscAbsScalar(terms[t][i]));
      largest[1] = PetscMax(largest[1], cap->magnitude[i]);
    }
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, largest, 2, MPIU_REAL, MPIU_MAX, cap->comm));
    *regular = (PetscBool)(*regular && largest[0] > 256 * PETSC_MACHINE_EPSILON * largest[1]);
    if (!*regular) break;
    for (PetscInt i = 0; i < cap->m; i++) sum += PetscSqr(PetscAbsScalar(terms[t][i]) / largest[0]);
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPIU_REAL, MPIU_SUM, cap->comm));
    b->unit[t] = 1 / largest[0] / PetscSqrtReal(sum);
    for (PetscInt i = 0; i < cap->m; i++) terms[t][i] *= b->unit[t];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The border's numbers are as large as what G^T M E has of the size of its row: else the system would be close to singular. One
   solve of the box; u: scratch, [n]. Collective */
static PetscErrorCode border_scale(BCRCapacitance cap, BCRBorder *b, PetscScalar *terms[2], PetscScalar *u)
{
  PetscReal largest = 0;

  PetscFunctionBegin;
  PetscCall(clear_unit(cap, PETSC_FALSE));
  for (PetscInt i = 0; i < cap->m; i++) cap->w.v[i] = PetscConj(terms[1][i]);
  PetscCall(into_unit(cap, PETSC_FALSE, cap->w.v));
  PetscCall(solve_box(cap, PETSC_FALSE, cap->unit, u));
  PetscCall(from(cap, PETSC_FALSE, u, 0, NULL, cap->b.v, NULL));
  PetscCall(PetscArrayzero(cap->w.v, cap->m));
  PetscCall(into_unit(cap, PETSC_FALSE, cap->w.v)); /* zero again */
  for (PetscInt i = 0; i < cap->m; i++) largest = PetscMax(largest, PetscAbsScalar(cap->b.v[i]));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPIU_REAL, MPIU_MAX, cap->comm));
  if (PetscIsInfOrNanReal(largest)) largest = 1;
  for (int t = 0; t < 2; t++) {
    b->unit[t] *= PetscMax(1, largest);
    for (PetscInt i = 0; i < cap->m; i++) terms[t][i] *= PetscMax(1, largest);
  }
  b->norm = PetscMax(1, largest);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode border_destroy(BCRCapacitance cap, BCRBorder *b)
{
  PetscFunctionBegin;
  PetscCall(cap->c.be->free(b->right));
  PetscCall(cap->c.be->free(b->left));
  b->right = b->left = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* That of one component. Vectors are made once it is known to be one, or where other ranks refer to them. Collective */
static PetscErrorCode border_create(BCRCapacitance cap, Nulls *nulls, BCRBorder *b)
{
  PetscScalar *terms[2] = {cap->terms[0] + cap->borders * cap->m, cap->terms[1] + cap->borders * cap->m};
  const PetscBool first = cap->exchange.sf ? PETSC_TRUE : PETSC_FALSE;
  PetscBool regular;

  PetscFunctionBegin;
  if (first || cap->dof > 1) PetscCall(clear_unit(cap, PETSC_FALSE)); /* of entries that the border has not */
  if (first) PetscCall(BCRFaultShare(cap->comm, border_vectors(cap, nulls, b), BCR_NO_MEMORY));
  PetscCall(border_terms(cap, nulls, b, terms, &regular));
  if (!regular) {
    PetscCall(border_destroy(cap, b));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  cap->borders++; /* for its destruction */
  if (!first) PetscCall(BCRFaultShare(cap->comm, border_vectors(cap, nulls, b), BCR_NO_MEMORY));
  PetscCall(border_scale(cap, b, terms, cap->rhs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On the host */
static PetscErrorCode borders_create(BCRCapacitance cap, const BCRGrid *layout, const BCROperator ops[])
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = PetscCalloc1(cap->dof, &cap->border);
  for (int t = 0; t < 2; t++) {
    if (!ierr) ierr = BCRNumbersAlloc(&cap->c, cap->dof * cap->m, "borders", &cap->terms[t]);
  }
  PetscCall(BCRFaultShare(cap->comm, ierr, BCR_NO_MEMORY));
  for (PetscInt c = 0; c < cap->dof; c++) {
    BCRBorder *b = &cap->border[cap->borders];
    Nulls nulls;

    if (!ops[c].singular || !ops[c].differ) continue;
    b->component = c;
    PetscCall(BCRFaultShare(cap->comm, nulls_create(&ops[c], layout, &nulls), BCR_NO_MEMORY));
    BCRCallElse(border_create(cap, &nulls, b), (void)nulls_destroy(&nulls));
    PetscCall(nulls_destroy(&nulls));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode arrays_destroy(BCRCapacitance cap)
{
  PetscFunctionBegin;
  PetscCall(cap->c.be->free(cap->arrays));
  PetscCall(cap->c.be->free(cap->vector));
  PetscCall(cap->c.be->free(cap->field));
  cap->arrays = cap->vector = cap->field = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One piece of memory for all, as it takes long to get one */
static PetscErrorCode arrays_create(BCRCapacitance cap)
{
  const struct {
    PetscScalar **v;
    PetscInt n;
  } arrays[] = {
    {&cap->b.v,                       cap->m                   }, /* which begin with zeros */
    {&cap->w.v,                       cap->m                   },
    {&cap->change.v,                  cap->m                   },
    {&cap->ghost,                     cap->ghosts              },
    {&cap->exchange.packed,           cap->exchange.wanted.rows},
    {&cap->shares,                    cap->dof * cap->shores   },
    {&cap->beside,                    cap->shores              },
    {&cap->level,                     cap->dof                 },
    {(PetscScalar **)&cap->magnitude, cap->m                   },
    {(PetscScalar **)&cap->ones,      cap->m                   },
    {&cap->rhs,                       cap->n                   }, /* which are written before anything is read there */
    {&cap->unit,                      cap->n                   },
    {&cap->inside,                    cap->masked              }
  };
  const size_t count = PETSC_STATIC_ARRAY_LENGTH(arrays), zeros = count - 3;
  const PetscInt unit = 64 / (PetscInt)sizeof(PetscScalar);
  PetscInt at[PETSC_STATIC_ARRAY_LENGTH(arrays) + 1] = {0};

  PetscFunctionBegin;
  for (size_t k = 0; k < count; k++) at[k + 1] = at[k] + (PetscMax(arrays[k].n, 1) + unit - 1) / unit * unit;
  PetscCall(cap->c.be->alloc((size_t)at[count] * sizeof(PetscScalar), "the capacitance system", &cap->arrays));
  for (size_t k = 0; k < count; k++) *arrays[k].v = cap->arrays + at[k];
  PetscCall(cap->c.ops->set(&cap->c, at[zeros], 0, cap->arrays));
  PetscCall(cap->c.be->put(cap->c.stream, cap->ones, cap->one, (size_t)cap->m * sizeof(PetscReal)));
  if (cap->shore)
    PetscCall(
      cap->c.be->put(cap->c.stream, cap->shares, cap->share, (size_t)(cap->dof * cap->shores) * sizeof(PetscScalar)));
  cap->last = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lists of what capentries.c has */
static void lists_create(BCRCapacitance cap)
{
  cap->into[0] = (BCRSparse){.rows = cap->m, .to = cap->row, .value = cap->scale};
  cap->from[1] = (BCRSparse){.rows = cap->m, .from = cap->row, .value = cap->scale};
  cap->masks[0] = (BCRSparse){.rows = cap->masked, .from = cap->mask, .value = cap->inverse};
  cap->masks[1] = (BCRSparse){.rows = cap->masked, .from = cap->mask};
  cap->back[0] = (BCRSparse){.rows = cap->masked, .to = cap->mask};
  cap->rim = (BCRSparse){.rows = cap->shores, .from = cap->lift.to};
  cap->back[1] = (BCRSparse){.rows = cap->masked, .to = cap->mask, .from = cap->mask, .value = cap->inverse};
}

enum {
  LISTS = 15
};

static void lists_of(BCRCapacitance cap, BCRSparse *list[LISTS])
{
  BCRSparse *pairs[] = {cap->from, cap->into, cap->masks, cap->back, cap->links};

  for (int k = 0; k < 10; k++) list[k] = pairs[k / 2] + k % 2;
  list[10] = &cap->exchange.wanted;
  list[11] = &cap->exchange.back;
  list[12] = &cap->lift;
  list[13] = &cap->rim;
  list[14] = &cap->factors;
}

/* An array, and its copy in other memory */
typedef struct {
  void **array, *there;
  size_t bytes;
} Moved;

static PetscErrorCode moved_create(const BCRNumbers *c, PetscInt n, Moved v[])
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) {
    PetscCall(c->be->alloc(PetscMax(v[k].bytes, 1), "the capacitance system", &v[k].there));
    if (*v[k].array) PetscCall(c->be->put(c->stream, v[k].there, *v[k].array, v[k].bytes));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Null vectors and terms of borders get the memory of c, which becomes that of the system; or all stays as it is, and c goes */
static PetscErrorCode move_borders(BCRCapacitance cap, BCRNumbers *c)
{
  const size_t nodes = (size_t)(cap->n / cap->dof) * sizeof(PetscReal);
  PetscInt n = 0;
  PetscErrorCode ierr;
  Moved *v;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(2 * cap->borders + 2, &v));
  for (PetscInt b = 0; b < cap->borders; b++) {
    if (!cap->border[b].right) continue;
    v[n++] = (Moved){(void **)&cap->border[b].right, NULL, nodes};
    v[n++] = (Moved){(void **)&cap->border[b].left, NULL, nodes};
  }
  for (int t = 0; t < 2; t++)
    v[n++] = (Moved){(void **)&cap->terms[t], NULL, (size_t)(cap->borders * cap->m) * sizeof(PetscScalar)};
  ierr = moved_create(c, n, v);
  for (PetscInt k = 0; k < n; k++) {
    PetscCall(ierr ? c->be->free(v[k].there) : cap->c.be->free(*v[k].array));
    if (!ierr) *v[k].array = v[k].there;
  }
  PetscCall(PetscFree(v));
  PetscCall(BCRNumbersDestroy(ierr ? c : &cap->c));
  PetscCall(ierr);
  cap->c = *c;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Everything, to where the solver works */
static PetscErrorCode move_all(BCRCapacitance cap, BCRNumbers *c)
{
  BCRSparse *list[LISTS];

  PetscFunctionBegin;
  PetscCall(arrays_destroy(cap));
  PetscCall(move_borders(cap, c));
  PetscCall(arrays_create(cap));
  lists_of(cap, list);
  PetscCall(cap->c.ops->tables(&cap->c, LISTS, list));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode fill(BCRCapacitance cap, const BCRGrid *layout, const BCROperator ops[], const PetscReal factor[],
                           PetscInt most)
{
  PetscReal largest[2], stretch = 1;
  PetscInt all[3], few;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(BCRNumbersCreate(cap->comm, cap->solver, PETSC_TRUE, &cap->c));
  PetscCall(BCRCapacitanceEntries(cap, layout, ops));
  rows_scale(cap, layout, ops);
  lists_create(cap);
  if (factor) cap->factors = (BCRSparse){.rows = cap->n, .value = (PetscReal *)factor};
  ierr = arrays_create(cap);
  if (!ierr)
    ierr = PetscMalloc4(cap->dof, &cap->b.shared, cap->dof, &cap->w.shared, cap->dof, &cap->change.shared, cap->dof,
                        &cap->sums);
  PetscCall(BCRFaultShare(cap->comm, ierr, BCR_NO_MEMORY));
  largest[0] = cap->info.grading;
  largest[1] = cap->entry;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, largest, 2, MPIU_REAL, MPIU_MAX, cap->comm));
  cap->info.grading = largest[0];
  cap->entry = largest[1];
  if (most) PetscCall(borders_create(cap, layout, ops));
  if (cap->solver->be->flags & BCR_BACKEND_DEVICE) {
    BCRNumbers c;

    PetscCall(BCRNumbersCreate(cap->comm, cap->solver, PETSC_FALSE, &c));
    PetscCall(BCRFaultShare(cap->comm, move_all(cap, &c), BCR_NO_MEMORY));
  }
  cap->info.solves = 0; /* of applications */
  all[0] = cap->m;
  all[1] = cap->masked;
  all[2] = cap->n;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, all, 3, MPIU_INT, MPI_SUM, cap->comm));
  cap->info.rows = all[0];
  cap->asked = BCR_CAPACITANCE_ROUNDING;
  for (PetscInt c = 0; c < cap->dof && cap->shore; c++)
    if (ops[c].differ && ops[c].differ->pieces > 1)
      cap->asked = PetscMin(cap->asked, BCR_CAPACITANCE_PIECES *
                                          PetscSqrtReal((PetscReal)ops[c].differ->pieces / (PetscReal)cap->info.rows));
  cap->info.masked = all[1];
  /* where not all can be kept, no more than take the memory of some vectors */
  cap->info.most = all[0] + cap->borders;
  if (cap->info.most > most)
    cap->info.most =
      PetscMin(most, PetscMax(BCR_CAPACITANCE_FEW, BCR_CAPACITANCE_VECTORS * all[2] / (2 * PetscMax(all[0], 1))));
  cap->info.most = PetscMax(1, cap->info.most);
  few = all[2] / (BCR_CAPACITANCE_SHARE * PetscMax(all[0], 1));
  /* without its shift the box has a constant in its null space, of which each node has a share */
  for (PetscInt c = 0; c < cap->dof; c++) {
    const PetscReal near = BCROperatorNearness(&ops[c]) * (PetscReal)(all[2] / cap->dof);

    if (near > 0) stretch = PetscMax(stretch, 1 / near);
  }
  for (int t = 0; t < 2; t++)
    PetscCall(BCRDirectionsCreate(&cap->c, cap->m, cap->borders, cap->terms[!t], cap->info.most, few,
                                  (PetscBool)(cap->info.most == all[0] + cap->borders), stretch, &cap->directions[t]));
  if (most) PetscCall(ahead_create(cap, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCapacitanceCreate(const BCRGrid *layout, PetscInt dof, const BCROperator ops[], BCRSolver solver,
                                    const PetscReal factor[], PetscInt most, PetscReal eps, BCRCapacitance *capacitance)
{
  BCRCapacitance cap = NULL;
  PetscErrorCode ierr;
  PetscBool differ = PETSC_FALSE;

  PetscFunctionBegin;
  *capacitance = NULL;
  for (PetscInt c = 0; c < dof; c++) differ = (PetscBool)(differ || ops[c].differ);
  if (!differ) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRFaultShare(layout->comm, PetscNew(&cap), BCR_NO_MEMORY));
  for (PetscInt c = 0; c < dof; c++) cap->waves = (PetscBool)(cap->waves || ops[c].waves);
  cap->comm = layout->comm;
  cap->rank = layout->rank;
  cap->dof = dof;
  cap->n = dof * layout->n[0] * layout->n[1] * layout->n[2];
  cap->solver = solver;
  cap->eps = eps;
  ierr = fill(cap, layout, ops, factor, most);
  BCRCallElse(ierr, (void)BCRCapacitanceDestroy(&cap));
  *capacitance = cap;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCapacitanceDestroy(BCRCapacitance *capacitance)
{
  BCRCapacitance cap = *capacitance;
  BCRSparse *list[LISTS];

  PetscFunctionBegin;
  if (!cap) PetscFunctionReturn(PETSC_SUCCESS);
  lists_of(cap, list);
  for (int k = 0; k < LISTS && cap->c.ops; k++)
    if (cap->c.ops->tables_destroy) PetscCall(cap->c.ops->tables_destroy(list[k]));
  for (int t = 0; t < 2; t++) PetscCall(BCRDirectionsDestroy(&cap->directions[t]));
  if (cap->c.ops) {
    PetscCall(arrays_destroy(cap));
    for (PetscInt b = 0; b < cap->borders; b++) PetscCall(border_destroy(cap, &cap->border[b]));
    for (int t = 0; t < 2; t++) PetscCall(cap->c.be->free(cap->terms[t]));
  }
  for (int t = 0; t < 2; t++) PetscCall(BCRSparseFree(&cap->links[t]));
  PetscCall(BCRSparseFree(&cap->lift));
  PetscCall(PetscFree(cap->share));
  PetscCall(BCRSparseFree(&cap->from[0]));
  PetscCall(BCRSparseFree(&cap->into[1]));
  PetscCall(BCRGhostsDestroy(&cap->exchange));
  PetscCall(BCRNumbersDestroy(&cap->c));
  PetscCall(PetscFree(cap->border));
  PetscCall(PetscFree4(cap->b.shared, cap->w.shared, cap->change.shared, cap->sums));
  PetscCall(PetscFree(cap->row));
  PetscCall(PetscFree2(cap->scale, cap->one));
  PetscCall(PetscFree2(cap->mask, cap->inverse));
  PetscCall(PetscFree(*capacitance));
  PetscFunctionReturn(PETSC_SUCCESS);
}
