/*
  Solves with rows that differ: capacitance.h has what is done. capentries.c makes the lists.
*/
#include "capimpl.h"

/* -------- the sparse products -------- */

/* What other ranks have of x, to ghost. Collective */
static PetscErrorCode fetch(BCRCapacitance cap, const PetscScalar *x)
{
  PetscFunctionBegin;
  if (!cap->sf) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSFBcastBegin(cap->sf, MPIU_SCALAR, x, cap->ghost, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(cap->sf, MPIU_SCALAR, x, cap->ghost, MPI_REPLACE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x += what is in ghost for this and other ranks. Collective */
static PetscErrorCode give(BCRCapacitance cap, PetscScalar *x)
{
  PetscFunctionBegin;
  if (!cap->sf) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSFReduceBegin(cap->sf, MPIU_SCALAR, cap->ghost, x, MPIU_SUM));
  PetscCall(PetscSFReduceEnd(cap->sf, MPIU_SCALAR, cap->ghost, x, MPIU_SUM));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscScalar *entry(BCRCapacitance cap, PetscScalar *x, PetscInt col)
{
  return col < cap->n ? x + col : cap->ghost + (col - cap->n);
}

/* g = G^T x, and how large its terms are, magnitude[m], or NULL. Collective */
static PetscErrorCode rows_of(BCRCapacitance cap, PetscScalar *x, PetscScalar *g, PetscReal *magnitude)
{
  PetscFunctionBegin;
  PetscCall(fetch(cap, x));
  for (PetscInt i = 0; i < cap->m; i++) {
    PetscScalar sum = 0;
    PetscReal size = 0;

    for (PetscInt k = cap->start[i]; k < cap->start[i + 1]; k++) {
      const PetscScalar term = cap->value[k] * *entry(cap, x, cap->col[k]);

      sum += term;
      size += PetscAbsScalar(term);
    }
    g[i] = sum;
    if (magnitude) magnitude[i] = size;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x += alpha G w. Collective */
static PetscErrorCode columns_of(BCRCapacitance cap, PetscScalar alpha, const PetscScalar *w, PetscScalar *x)
{
  PetscFunctionBegin;
  PetscCall(PetscArrayzero(cap->ghost, cap->ghosts));
  for (PetscInt i = 0; i < cap->m; i++)
    for (PetscInt k = cap->start[i]; k < cap->start[i + 1]; k++)
      *entry(cap, x, cap->col[k]) += alpha * cap->value[k] * w[i];
  PetscCall(give(cap, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x += alpha E w, or alpha G w for the transpose */
static PetscErrorCode into(BCRCapacitance cap, PetscBool transpose, PetscScalar alpha, const PetscScalar *w,
                           PetscScalar *x)
{
  PetscFunctionBegin;
  if (transpose) PetscCall(columns_of(cap, alpha, w, x));
  else
    for (PetscInt i = 0; i < cap->m; i++) x[cap->row[i]] += alpha * cap->scale[i] * w[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* g = G^T x, or E^T x */
static PetscErrorCode from(BCRCapacitance cap, PetscBool transpose, PetscScalar *x, PetscScalar *g,
                           PetscReal *magnitude)
{
  PetscFunctionBegin;
  if (!transpose) PetscCall(rows_of(cap, x, g, magnitude));
  for (PetscInt i = 0; i < cap->m && transpose; i++) {
    g[i] = cap->scale[i] * x[cap->row[i]];
    if (magnitude) magnitude[i] = PetscAbsScalar(g[i]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -------- the mask -------- */

/* rhs = f~. What the mask's solution is, or its right-hand side for the transpose, goes to cap->inside. Collective */
static PetscErrorCode mask_begin(BCRCapacitance cap, PetscBool transpose, const PetscScalar *f, PetscScalar *rhs)
{
  PetscFunctionBegin;
  PetscCall(PetscArraycpy(rhs, f, cap->n));
  for (PetscInt i = 0; i < cap->masked; i++) {
    cap->inside[i] = rhs[cap->mask[i]] * (transpose ? 1 : cap->inverse[i]);
    rhs[cap->mask[i]] = cap->inside[i];
  }
  if (!transpose && cap->linked) {
    PetscCall(fetch(cap, rhs));
    for (PetscInt k = 0; k < cap->links; k++)
      rhs[cap->linkrow[k]] -= cap->linkvalue[k] * *entry(cap, rhs, cap->linkcol[k]);
  }
  for (PetscInt i = 0; i < cap->masked; i++) rhs[cap->mask[i]] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The mask's part of u. Collective */
static PetscErrorCode mask_end(BCRCapacitance cap, PetscBool transpose, PetscScalar *u)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < cap->masked; i++) u[cap->mask[i]] = cap->inside[i];
  if (!transpose) PetscFunctionReturn(PETSC_SUCCESS);
  if (cap->linked) { /* u = (f - links^T u of the fluid) / d */
    PetscCall(PetscArrayzero(cap->ghost, cap->ghosts));
    for (PetscInt k = 0; k < cap->links; k++) *entry(cap, u, cap->linkcol[k]) -= cap->linkvalue[k] * u[cap->linkrow[k]];
    PetscCall(give(cap, u));
  }
  for (PetscInt i = 0; i < cap->masked; i++) u[cap->mask[i]] *= cap->inverse[i];
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

/* sums[b] = l^T x of each border. Collective */
static PetscErrorCode border_sums(BCRCapacitance cap, PetscBool transpose, const PetscScalar *x)
{
  const PetscInt nodes = cap->n / cap->dof;

  PetscFunctionBegin;
  for (PetscInt b = 0; b < cap->borders; b++) {
    const PetscReal *l = border_range(&cap->border[b], transpose);

    cap->sums[b] = 0;
    for (PetscInt i = 0; i < nodes; i++) cap->sums[b] += l[i] * x[cap->border[b].component + cap->dof * i];
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, cap->sums, (PetscMPIInt)cap->borders, MPIU_SCALAR, MPIU_SUM, cap->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -------- the system -------- */

typedef struct {
  BCRCapacitance cap;
  PetscBool transpose;
  PetscScalar *y; /* scratch, [n]. NULL: the m numbers are zeros, and so is M E p */
} Product;

static PetscErrorCode solve_box(BCRCapacitance cap, PetscBool transpose, const PetscScalar *f, PetscScalar *u)
{
  PetscFunctionBegin;
  PetscCall(BCRSolverSolve(cap->solver, PETSC_MEMTYPE_HOST, NULL, transpose, 1, f, cap->n, u, cap->n));
  cap->info.solves++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* q = p + G^T M E p - w0 G^T r, and this rank's part of the borders' l^T E p. w0 stands behind the m of p. Collective */
static PetscErrorCode product(void *context, const PetscScalar *p, PetscScalar *q)
{
  const Product *k = (const Product *)context;
  BCRCapacitance cap = k->cap;
  const PetscBool transpose = k->transpose;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(q, cap->numbers));
  if (k->y) {
    PetscCall(into(cap, transpose, 1, p, cap->unit));
    PetscCall(solve_box(cap, transpose, cap->unit, k->y));
    if (transpose) PetscCall(PetscArrayzero(cap->unit, cap->n));
    for (PetscInt i = 0; i < cap->m && !transpose; i++) cap->unit[cap->row[i]] = 0;
    PetscCall(from(cap, transpose, k->y, q, NULL));
  }
  for (PetscInt i = 0; i < cap->m; i++) q[i] += cap->one[i] * p[i];
  for (PetscInt b = 0; b < cap->borders; b++) {
    const PetscScalar *r = cap->border[b].terms[transpose], *l = cap->border[b].terms[!transpose];

    for (PetscInt i = 0; i < cap->m; i++) {
      q[i] -= p[cap->m + b] * r[i];
      q[cap->m + b] += l[i] * p[i];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* u = M (f~ - E w) + w0 r, rhs with the change of w. Collective */
static PetscErrorCode field(BCRCapacitance cap, PetscBool transpose, PetscScalar *u)
{
  const PetscInt nodes = cap->n / cap->dof;

  PetscFunctionBegin;
  PetscCall(into(cap, transpose, -1, cap->change, cap->rhs));
  PetscCall(solve_box(cap, transpose, cap->rhs, u));
  for (PetscInt b = 0; b < cap->borders; b++) {
    const BCRBorder *border = &cap->border[b];
    const PetscScalar w0 = cap->w[cap->m + b] * border->unit[transpose];
    const PetscReal *r = border_null(border, transpose);

    for (PetscInt i = 0; i < nodes && w0 != (PetscScalar)0; i++) u[border->component + cap->dof * i] += w0 * r[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* b = G^T u - w, what is left of the system by the field itself, and of the borders, over cap->size; its 2-norm, and what rounding
   leaves of it. fresh: the size becomes that of the largest of the terms, as squares of others may be none. Collective */
static PetscErrorCode residual(BCRCapacitance cap, PetscBool transpose, PetscBool fresh, PetscScalar *u,
                               PetscReal *norm, PetscReal *rounding)
{
  PetscReal sum[2] = {0, 0}, largest = 0;

  PetscFunctionBegin;
  PetscCall(from(cap, transpose, u, cap->b, cap->magnitude));
  if (cap->borders) PetscCall(border_sums(cap, transpose, cap->rhs));
  for (PetscInt i = 0; i < cap->m; i++) {
    cap->b[i] -= cap->one[i] * cap->w[i];
    cap->magnitude[i] = PetscMax(cap->magnitude[i], cap->one[i] * PetscAbsScalar(cap->w[i]));
    largest = PetscMax(largest, cap->magnitude[i]);
  }
  if (fresh) {
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPIU_REAL, MPIU_MAX, cap->comm));
    cap->size = largest > 0 && !PetscIsInfOrNanReal(largest) ? largest : 1;
  }
  for (PetscInt b = 0; b < cap->borders; b++)
    cap->b[cap->m + b] = cap->sums[b] * cap->border[b].unit[!transpose] / cap->size;
  for (PetscInt i = 0; i < cap->m; i++) {
    cap->b[i] /= cap->size;
    sum[0] += PetscRealPart(cap->b[i] * PetscConj(cap->b[i]));
    sum[1] += PetscSqr(cap->magnitude[i] / cap->size);
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPIU_REAL, MPIU_SUM, cap->comm));
  for (PetscInt i = cap->m; i < cap->numbers; i++) {
    sum[0] += PetscRealPart(cap->b[i] * PetscConj(cap->b[i]));
    sum[1] += PetscSqr(cap->magnitude[i] / cap->size);
  }
  *norm = PetscSqrtReal(sum[0]);
  *rounding = cap->eps * PetscSqrtReal(sum[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* w, so that the borders' rows hold and else of the least norm. Where that is all of w (a pinned row), what is left is w0, of which
   K is known without a solve. Then the field and what is left of the system, as residual() has it. Collective */
static PetscErrorCode begin(BCRCapacitance cap, PetscBool transpose, PetscScalar *u, PetscReal *norm,
                            PetscReal *rounding)
{
  Product context = {cap, transpose, NULL};
  BCRDirections *directions = &cap->directions[transpose];

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(cap->change, cap->numbers));
  for (PetscInt b = 0; b < cap->borders && cap->info.rows == cap->borders && directions->k < cap->borders; b++) {
    cap->change[cap->m + b] = 1;
    PetscCall(BCRDirectionsTeach(directions, product, &context, cap->change));
    cap->change[cap->m + b] = 0;
  }
  if (cap->borders) PetscCall(border_sums(cap, transpose, cap->rhs));
  for (PetscInt b = 0; b < cap->borders; b++) {
    const BCRBorder *border = &cap->border[b];
    const PetscScalar *l = border->terms[!transpose], sum = cap->sums[b] * border->unit[!transpose];

    for (PetscInt i = 0; i < cap->m; i++) cap->change[i] += PetscConj(l[i]) * (sum / PetscSqr(border->norm));
    cap->magnitude[cap->m + b] = PetscAbsScalar(sum);
  }
  PetscCall(PetscArraycpy(cap->w, cap->change, cap->numbers));
  PetscCall(field(cap, transpose, u));
  PetscCall(residual(cap, transpose, PETSC_TRUE, u, norm, rounding));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What rounding leaves of the residual where u is large, though not in the rows that differ. Collective */
static PetscErrorCode rounding_of_field(BCRCapacitance cap, const PetscScalar *u, PetscReal *rounding)
{
  PetscReal largest = 0;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < cap->n; i++) largest = PetscMax(largest, PetscAbsScalar(u[i]));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPIU_REAL, MPIU_MAX, cap->comm));
  *rounding = PetscMax(*rounding, cap->eps * PetscSqrtReal((PetscReal)cap->info.rows) * largest / cap->size);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is left of the rows that differ is measured, at no cost, in the field itself, against what rounding leaves of the field
   before the system is solved (rounding) and of the solution (own). Where it is more, as directions of an earlier right-hand side
   were not exact enough or as the solution is a difference of larger numbers, it is solved for once more; where it is much more, a
   second time from the beginning, without them */
PetscErrorCode BCRCapacitanceSolve(BCRCapacitance cap, PetscBool transpose, const PetscScalar *f, PetscScalar *u)
{
  Product context = {cap, transpose, u};
  BCRDirections *directions = &cap->directions[transpose];
  BCRDirectionsResult result;
  PetscReal rounding = 0, tol, left = 0, own = 0, size;
  PetscInt old;

  PetscFunctionBegin;
  cap->info.solves = 0;
  if (cap->alone[transpose]) BCRDirectionsForget(directions);
  old = directions->k;
  PetscCall(mask_begin(cap, transpose, f, cap->rhs));
  PetscCall(begin(cap, transpose, u, &left, &rounding));
  tol = BCR_CAPACITANCE_ROUNDING * rounding;
  cap->info.reached = (PetscBool)(left <= tol);
  for (int round = 0; round < 3 && !cap->info.reached && !PetscIsInfOrNanReal(left); round++) {
    if (round == 2 && !old) break;
    if (round == 2) { /* from the beginning */
      PetscReal again;

      BCRDirectionsForget(directions);
      PetscCall(into(cap, transpose, 1, cap->w, cap->rhs));
      size = cap->size;
      PetscCall(begin(cap, transpose, u, &left, &again));
      rounding = PetscMin(again, rounding * (size / cap->size)); /* what was left in w adds to it, and is no reason */
      tol = BCR_CAPACITANCE_ROUNDING * rounding;
    }
    PetscCall(
      BCRDirectionsSolve(directions, product, &context, tol, BCR_CAPACITANCE_STEPS, cap->b, cap->change, &result));
    for (PetscInt i = 0; i < cap->numbers; i++) cap->w[i] += cap->change[i] *= cap->size;
    PetscCall(field(cap, transpose, u));
    PetscCall(residual(cap, transpose, PETSC_FALSE, u, &left, &own));
    cap->info.reached = (PetscBool)(left <= BCR_CAPACITANCE_ENOUGH * rounding);
    if (!cap->info.reached && result.products == BCR_CAPACITANCE_STEPS && !old)
      break; /* nothing else would do better */
    if (!cap->info.reached || round || left <= BCR_CAPACITANCE_FINE * own) continue;
    PetscCall(rounding_of_field(cap, u, &own));
    cap->info.reached = (PetscBool)(left <= BCR_CAPACITANCE_FINE * own);
    tol = BCR_CAPACITANCE_FINE / 3 * own;
  }
  PetscCall(mask_end(cap, transpose, u));
  if (!cap->info.reached) BCRDirectionsForget(directions); /* of a system that has no solution they may be anything */
  cap->info.known = directions->k;
  cap->info.residual = rounding > 0 ? left / rounding : left;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -------- the extension by zero -------- */

PetscErrorCode BCRCapacitanceExtend(BCRCapacitance cap, PetscBool transpose, const PetscScalar *f, PetscScalar *u)
{
  PetscFunctionBegin;
  cap->info.solves = 0;
  PetscCall(PetscArraycpy(cap->rhs, f, cap->n));
  for (PetscInt i = 0; i < cap->masked; i++) {
    cap->inside[i] = f[cap->mask[i]] * cap->inverse[i];
    cap->rhs[cap->mask[i]] = 0;
  }
  PetscCall(solve_box(cap, transpose, cap->rhs, u));
  for (PetscInt i = 0; i < cap->masked; i++) u[cap->mask[i]] = cap->inside[i];
  cap->info.reached = PETSC_TRUE;
  cap->info.residual = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCapacitanceBeyondMask(BCRCapacitance cap, PetscInt *row)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < cap->masked; i++) cap->unit[cap->mask[i]] = 1;
  PetscCall(fetch(cap, cap->unit));
  *row = -1;
  for (PetscInt i = 0; i < cap->m && *row < 0; i++) {
    PetscBool in = (PetscBool)(cap->unit[cap->row[i]] != (PetscScalar)0), some = in, others = PETSC_FALSE;

    for (PetscInt k = cap->start[i]; k < cap->start[i + 1]; k++) {
      if (*entry(cap, cap->unit, cap->col[k]) != (PetscScalar)0) some = PETSC_TRUE;
      else if (cap->col[k] != cap->row[i] && !in) others = PETSC_TRUE;
    }
    if (!some || others) *row = cap->row[i];
  }
  for (PetscInt i = 0; i < cap->masked; i++) cap->unit[cap->mask[i]] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
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

/* The factor of the operator's row at a node of its box, which is on this rank of the layout */
static PetscReal row_factor(const BCROperator *op, const BCRGrid *g, const PetscInt ix[3])
{
  PetscInt box = 0, size = 1;

  if (!op->rowscale) return 1;
  for (int d = 0; d < 3; d++) {
    const BCRAxis *x = &op->axis[d];
    const PetscInt low = x->plane[0].present ? 1 : 0, first = PetscMax(g->lo[d], low);

    box += size * (ix[d] - first);
    size *= PetscMin(g->lo[d] + g->n[d], low + x->n) - first;
  }
  return op->rowscale[box];
}

/* Right and left null vector of the operator at the node ix of the layout */
static void null_at(const BCROperator *op, const BCRGrid *g, const PetscInt ix[3], PetscReal *right, PetscReal *left)
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
    ends *= (PetscReal)BCRAxisGetEndWeight(x, i);
    weight *= x->weight ? x->weight[i] : 1;
  }
  if (!planes) {
    *right = 1;
    *left = ends / (weight * row_factor(op, g, ix));
    return;
  }
  *right = *left = 0;
  if (planes > 1) { /* through the planes of fewer axes that the row refers to; no row of the box refers to it */
    for (int d = 0; d < 3; d++) {
      PetscInt inward[3] = {ix[0], ix[1], ix[2]};
      PetscReal r, l;

      if (!side[d] || op->corner[BCRCornerPlace(side)][d] == 0) continue;
      inward[d] -= side[d];
      null_at(op, g, inward, &r, &l);
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
    if (plane->couple && !plane->couplings)
      *left = ends * op->scale * plane->coupling * (plane->inv ? plane->inv[at] : plane->inv0);
  }
}

/* The diagonal of the operator's row at node ix of the layout, about: of the box inside */
static PetscReal row_size(const BCROperator *op, const BCRGrid *g, const PetscInt ix[3])
{
  PetscReal diag = PetscAbsReal(op->shift);

  for (int d = 0; d < op->dim; d++) {
    const BCRAxis *x = &op->axis[d];
    const PetscInt i = ix[d] - (x->plane[0].present ? 1 : 0);

    if (i < 0 || i >= x->n) return 1; /* in a plane: a row like any other there */
    diag += PetscAbsReal(x->lower ? x->diag[i] : 2 * x->a);
  }
  return PetscAbsReal(op->scale) * diag * row_factor(op, g, ix);
}

/* Rows and unknowns of the system get sizes near one, of whatever size those of the matrix are: with s the largest entry of a row
   of G^T and d the operator's diagonal there, G^T is divided by s, and w by s or, where that is much more, by some d: 1 in K is
   d/s there */
static void rows_scale(BCRCapacitance cap, const BCRGrid *g, const BCROperator ops[])
{
  for (PetscInt i = 0; i < cap->m; i++) {
    const PetscInt c = cap->row[i] % cap->dof, node = cap->row[i] / cap->dof;
    const PetscInt ix[3] = {g->lo[0] + node % g->n[0], g->lo[1] + node / g->n[0] % g->n[1],
                            g->lo[2] + node / g->n[0] / g->n[1]};
    const PetscReal diag = row_size(&ops[c], g, ix);
    PetscReal s = 0;

    for (PetscInt k = cap->start[i]; k < cap->start[i + 1]; k++) s = PetscMax(s, PetscAbsReal(cap->value[k]));
    for (PetscInt k = cap->start[i]; k < cap->start[i + 1] && s > 0; k++) cap->value[k] /= s;
    cap->info.grading = PetscMax(cap->info.grading, s / diag);
    cap->one[i] = s > 0 ? PetscMin(1, BCR_CAPACITANCE_LARGE * diag / s) : 1;
    cap->scale[i] = s * cap->one[i];
  }
}

/* The vectors of border b. Collective */
static PetscErrorCode border_vectors(BCRCapacitance cap, const BCRGrid *layout, const BCROperator *op, BCRBorder *b)
{
  const PetscInt *n = layout->n;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = PetscMalloc2(n[0] * n[1] * n[2], &b->right, n[0] * n[1] * n[2], &b->left);
  if (!ierr) ierr = PetscMalloc2(cap->m, &b->terms[0], cap->m, &b->terms[1]);
  PetscCall(BCRFaultShare(cap->comm, ierr, BCR_NO_MEMORY));
  for (PetscInt k = 0, at = 0; k < n[2]; k++)
    for (PetscInt j = 0; j < n[1]; j++)
      for (PetscInt i = 0; i < n[0]; i++, at++) {
        const PetscInt ix[3] = {layout->lo[0] + i, layout->lo[1] + j, layout->lo[2] + k};

        null_at(op, layout, ix, &b->right[at], &b->left[at]);
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the border has in the system: G^T r in a solve, E^T l in a transposed one, in units in which they are 1. The other one of
   the two is its row. *regular: neither is zero, so that the constant is the matrix' no more. Collective */
static PetscErrorCode border_terms(BCRCapacitance cap, BCRBorder *b, PetscBool *regular)
{
  const PetscInt nodes = cap->n / cap->dof;

  PetscFunctionBegin;
  *regular = PETSC_TRUE;
  for (int t = 0; t < 2; t++) {
    const PetscReal *r = border_null(b, (PetscBool)t);
    PetscReal largest[2] = {0, 0}, sum = 0; /* of the terms, of what they are sums of */

    for (PetscInt i = 0; i < nodes; i++) cap->unit[b->component + cap->dof * i] = r[i];
    PetscCall(from(cap, (PetscBool)t, cap->unit, b->terms[t], cap->magnitude));
    for (PetscInt i = 0; i < nodes; i++) cap->unit[b->component + cap->dof * i] = 0;
    for (PetscInt i = 0; i < cap->m; i++) {
      largest[0] = PetscMax(largest[0], PetscAbsScalar(b->terms[t][i]));
      largest[1] = PetscMax(largest[1], cap->magnitude[i]);
    }
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, largest, 2, MPIU_REAL, MPIU_MAX, cap->comm));
    *regular = (PetscBool)(*regular && largest[0] > 256 * PETSC_MACHINE_EPSILON * largest[1]);
    if (!*regular) break;
    for (PetscInt i = 0; i < cap->m; i++) sum += PetscSqr(PetscAbsScalar(b->terms[t][i]) / largest[0]);
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPIU_REAL, MPIU_SUM, cap->comm));
    b->unit[t] = 1 / largest[0] / PetscSqrtReal(sum);
    for (PetscInt i = 0; i < cap->m; i++) b->terms[t][i] *= b->unit[t];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The border's numbers are as large as what G^T M E has of the size of its row: else the system would be close to singular. One
   solve of the box; u: scratch, [n]. Collective */
static PetscErrorCode border_scale(BCRCapacitance cap, BCRBorder *b, PetscScalar *u)
{
  PetscReal largest = 0;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < cap->m; i++) cap->w[i] = PetscConj(b->terms[1][i]);
  PetscCall(into(cap, PETSC_FALSE, 1, cap->w, cap->unit));
  PetscCall(solve_box(cap, PETSC_FALSE, cap->unit, u));
  PetscCall(PetscArrayzero(cap->unit, cap->n));
  PetscCall(from(cap, PETSC_FALSE, u, cap->b, NULL));
  for (PetscInt i = 0; i < cap->m; i++) largest = PetscMax(largest, PetscAbsScalar(cap->b[i]));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPIU_REAL, MPIU_MAX, cap->comm));
  if (PetscIsInfOrNanReal(largest)) largest = 1;
  for (int t = 0; t < 2; t++) {
    b->unit[t] *= PetscMax(1, largest);
    for (PetscInt i = 0; i < cap->m; i++) b->terms[t][i] *= PetscMax(1, largest);
  }
  b->norm = PetscMax(1, largest);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode border_destroy(BCRBorder *b)
{
  PetscFunctionBegin;
  PetscCall(PetscFree2(b->right, b->left));
  PetscCall(PetscFree2(b->terms[0], b->terms[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode borders_create(BCRCapacitance cap, const BCRGrid *layout, const BCROperator ops[])
{
  PetscFunctionBegin;
  PetscCall(BCRFaultShare(cap->comm, PetscCalloc1(cap->dof, &cap->border), BCR_NO_MEMORY));
  for (PetscInt c = 0; c < cap->dof; c++) {
    BCRBorder *b = &cap->border[cap->borders];
    PetscBool regular;

    if (!ops[c].singular || !ops[c].differ) continue;
    b->component = c;
    PetscCall(border_vectors(cap, layout, &ops[c], b));
    PetscCall(border_terms(cap, b, &regular));
    if (regular) {
      cap->borders++; /* for its destruction */
      PetscCall(border_scale(cap, b, cap->rhs));
    } else PetscCall(border_destroy(b));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode arrays_create(BCRCapacitance cap)
{
  const PetscInt numbers = cap->m + cap->dof;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(cap->n, &cap->rhs));
  PetscCall(PetscCalloc1(cap->n, &cap->unit));
  PetscCall(PetscMalloc5(numbers, &cap->b, numbers, &cap->w, numbers, &cap->change, numbers, &cap->magnitude,
                         2 * cap->dof, &cap->sums));
  PetscCall(PetscMalloc2(cap->ghosts, &cap->ghost, cap->masked, &cap->inside));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode fill(BCRCapacitance cap, const BCRGrid *layout, const BCROperator ops[], PetscInt most)
{
  PetscInt all[3], few;

  PetscFunctionBegin;
  PetscCall(BCRCapacitanceEntries(cap, layout, ops));
  PetscCall(BCRFaultShare(cap->comm, arrays_create(cap), BCR_NO_MEMORY));
  rows_scale(cap, layout, ops);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &cap->info.grading, 1, MPIU_REAL, MPIU_MAX, cap->comm));
  if (most) PetscCall(borders_create(cap, layout, ops));
  cap->info.solves = 0; /* of applications */
  cap->numbers = cap->m + cap->borders;
  all[0] = cap->m;
  all[1] = cap->masked;
  all[2] = cap->n;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, all, 3, MPIU_INT, MPI_SUM, cap->comm));
  cap->info.rows = all[0];
  cap->info.masked = all[1];
  /* not all of many rows: directions would take more memory than some vectors do */
  cap->info.most =
    PetscMin(most, PetscMax(BCR_CAPACITANCE_FEW, BCR_CAPACITANCE_VECTORS * all[2] / (2 * PetscMax(all[0], 1))));
  cap->info.most = PetscMax(1, PetscMin(cap->info.most, all[0] + cap->borders));
  few = all[2] / (BCR_CAPACITANCE_SHARE * PetscMax(all[0], 1));
  for (int t = 0; t < 2; t++)
    PetscCall(BCRDirectionsCreate(cap->comm, cap->m, cap->borders, cap->info.most, few,
                                  (PetscBool)(cap->info.most == all[0] + cap->borders), &cap->directions[t]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCapacitanceCreate(const BCRGrid *layout, PetscInt dof, const BCROperator ops[], BCRSolver solver,
                                    PetscInt most, PetscReal eps, BCRCapacitance *capacitance)
{
  BCRCapacitance cap = NULL;
  PetscErrorCode ierr;
  PetscBool differ = PETSC_FALSE;

  PetscFunctionBegin;
  *capacitance = NULL;
  for (PetscInt c = 0; c < dof; c++) differ = (PetscBool)(differ || ops[c].differ);
  if (!differ) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRFaultShare(layout->comm, PetscNew(&cap), BCR_NO_MEMORY));
  cap->comm = layout->comm;
  cap->rank = layout->rank;
  cap->dof = dof;
  cap->n = dof * layout->n[0] * layout->n[1] * layout->n[2];
  cap->solver = solver;
  cap->eps = eps;
  ierr = fill(cap, layout, ops, most);
  BCRCallElse(ierr, (void)BCRCapacitanceDestroy(&cap));
  *capacitance = cap;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCapacitanceDestroy(BCRCapacitance *capacitance)
{
  BCRCapacitance cap = *capacitance;

  PetscFunctionBegin;
  if (!cap) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt b = 0; b < cap->borders; b++) PetscCall(border_destroy(&cap->border[b]));
  PetscCall(PetscFree(cap->border));
  for (int t = 0; t < 2; t++) PetscCall(BCRDirectionsDestroy(&cap->directions[t]));
  PetscCall(PetscSFDestroy(&cap->sf));
  PetscCall(PetscFree4(cap->row, cap->start, cap->scale, cap->one));
  PetscCall(PetscFree2(cap->col, cap->value));
  PetscCall(PetscFree2(cap->mask, cap->inverse));
  PetscCall(PetscFree3(cap->linkrow, cap->linkcol, cap->linkvalue));
  PetscCall(PetscFree(cap->rhs));
  PetscCall(PetscFree(cap->unit));
  PetscCall(PetscFree5(cap->b, cap->w, cap->change, cap->magnitude, cap->sums));
  PetscCall(PetscFree2(cap->ghost, cap->inside));
  PetscCall(PetscFree(*capacitance));
  PetscFunctionReturn(PETSC_SUCCESS);
}
