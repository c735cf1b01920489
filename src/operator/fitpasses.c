/*
  The passes of a fit over the numbers of all nodes, on the host: each in parts, by threads if there are several.
*/
#include "fithost.h"
#include "fit_kernels.h"
#include "threads.h"

void BCRFitRun(BCRFitData *F, void (*run)(void *))
{
  void *ctx[BCR_THREADS_MOST];

  for (PetscInt t = 0; t < F->parts; t++) {
    BCRFitPart *p = &F->part[t];

    p->F = *F;
    if (F->parts > 1) {
      p->F.lo[F->split] = p->first;
      p->F.own[F->split] = p->last - p->first;
    }
    p->F.x = p->x;
    p->F.line = p->line;
    p->F.ghost = p->ghost;
    p->F.below = p->below;
    p->F.around = p->around;
    ctx[t] = p;
  }
  BCRThreadsRun(F->parts, run, ctx);
}

void BCRFitBeside(const BCRFitData *F, const PetscInt o[3], PetscInt first, PetscInt count, PetscInt d,
                  const double **below, const double **above)
{
  const PetscInt n = F->n[d], st = F->stride[d];
  const double *C = F->C[d] + BCRFitAt(F, 0, o); /* node i of the line at i */
  PetscInt i, s;

  if (d == 0) {
    for (i = 0; i <= count; i++) {
      const PetscInt at = first + i - 1; /* the link from here on */

      if (at >= 0 && at < n - 1) F->x[i] = C[at];
      else if (F->wrap[d]) F->x[i] = C[BCRFitAround(F, d, at)];
      else {
        const double c = C[at < 0 ? 0 : n - 2];

        F->x[i] = n == 2 ? c : BCRFitBeyond(c, C[at < 0 ? 1 : n - 3]);
      }
    }
    *below = F->x;
    *above = F->x + 1;
    return;
  }
  C += first;
  *below = C - (o[d] ? st : 0);
  *above = C;
  if (n == 2) {
    *below = *above = C - o[d] * st;
    return;
  }
  for (s = 0; s < 2; s++) {
    if (o[d] != (s ? n - 1 : 0)) continue;
    if (F->wrap[d]) {
      if (!s) *below = C + (BCRFitAround(F, d, -1) - o[d]) * st;
    } else {
      const double *c = s ? C - st : C, *next = s ? C - 2 * st : C + st;

      for (i = 0; i < count; i++) F->ghost[i] = BCRFitBeyond(c[i], next[i]);
      if (s) *above = F->ghost;
      else *below = F->ghost;
    }
  }
}

/* s^2 of the nodes first .. first + count: along each axis the geometric mean of the two couplings
   beside the node over the mean of the axis; then the mean over the axes */
static void BCRFitScales(const BCRFitData *F, const PetscInt o[3], PetscInt first, PetscInt count, const double mean[3],
                         PetscReal *S, BCRFitRange *range)
{
  const double smallest = 1e-4; /* of the mean: couplings that vanish leave a scale that can be divided by */
  PetscInt d, i, axes = 0;

  for (i = 0; i < count; i++) F->line[i] = 0;
  for (d = 0; d < F->dim; d++) {
    const PetscInt u = d == 0 ? 1 : 0, v = d == 2 ? 1 : 2;
    const double *below, *above;

    if (F->n[d] < 2 || mean[d] <= 0) continue;
    axes++;
    BCRFitBeside(F, o, first, count, d, &below, &above);
    BCRFitScaleLine(count, below, above, 1 / (mean[d] * (u ? BCRFitWeight(F, u, o[u]) : 1) * BCRFitWeight(F, v, o[v])),
                    u ? F->ones : F->iwx + first - F->begin[0], smallest, F->line);
  }
  for (i = 0; i < count && axes == 0; i++) F->line[i] = 1;
  axes = PetscMax(axes, 1);
  BCRFitRangeAdd(range, count, F->line, 1.0 / (double)axes, 0);
  BCRFitRootLine(count, F->line, 1.0 / (double)axes, S);
}

/* From a node to the one that its link along axis d, or around, ends at */
static inline PetscInt BCRFitLinkStep(const BCRFitData *F, PetscInt d, PetscBool around)
{
  return around ? (BCRFitAround(F, d, F->n[d]) - (F->n[d] - 1)) * F->stride[d] : F->stride[d];
}

PetscInt BCRFitLinks(const BCRFitData *F, const PetscInt o[3], PetscInt d, PetscBool around, double *q, PetscInt *node)
{
  const PetscInt u = d == 0 ? 1 : 0, v = d == 2 ? 1 : 2, n = F->n[d], st = F->stride[d], last = F->lo[0] + F->own[0];
  const PetscInt begin = d ? F->lo[0] : (around ? n - 1 : PetscMax(F->lo[0], 1) - 1),
                 count = d ? F->own[0] : (around ? (last == n && F->own[0] ? 1 : 0) : last - 1 - begin);
  PetscInt from, to, i;
  double f;
  const double *iw = u ? F->ones : F->iwx + F->lo[0] - F->begin[0];

  *node = begin;
  if (n < 2 || count < 1 || (around ? !F->wrap[d] || (d && o[d] < n - 1) : d && o[d] == 0)) return 0;
  from = BCRFitAt(F, begin, o) - (d && !around ? st : 0);
  to = from + BCRFitLinkStep(F, d, around);
  f = 1 / ((u ? BCRFitWeight(F, u, o[u]) : 1) * BCRFitWeight(F, v, o[v]));
  if (F->S) BCRFitQuotientLine(count, F->C[d] + from, f, iw, F->S + from, F->S + to, q);
  else
    for (i = 0; i < count; i++) q[i] = F->C[d][from + i] * f * iw[i];
  return count;
}

/* Of `count` numbers x of a line those of nodes that are not apart, and whose neighbours `step` on
   are not, go to the front. Returns how many */
static PetscInt BCRFitCompress(const BCRFitData *F, PetscInt at, PetscInt step, PetscInt count, double *x)
{
  PetscInt i, n = 0;

  if (!F->apart) return count;
  for (i = 0; i < count; i++)
    if (!F->apart[at + i] && !F->apart[at + i + step]) x[n++] = x[i];
  return n;
}

/* What is left on the diagonals of this rank's nodes of a grid line in the end, D / (s^2 w) - T */
static void BCRFitRest(const BCRFitData *F, const PetscInt o[3], const double a[3], double *t, double *p)
{
  const PetscInt row = BCRFitAt(F, F->lo[0], o), n = F->own[0];
  const double tyz = BCRFitDiagonal(F, 1, o[1], a) + BCRFitDiagonal(F, 2, o[2], a),
               w = BCRFitWeight(F, 1, o[1]) * BCRFitWeight(F, 2, o[2]);
  const double *iwx = F->iwx + F->lo[0] - F->begin[0];
  PetscInt i;

  for (i = 0; i < n; i++) t[i] = BCRFitDiagonal(F, 0, F->lo[0] + i, a) + tyz;
  if (F->S && w == 1 && F->half[0][0] == 1 && F->half[0][1] == 1) BCRFitRestLine(n, F->D + row, F->S + row, t, p);
  else
    for (i = 0; i < n; i++)
      p[i] = F->D[row + i] * iwx[i] / (w * (F->S ? (double)F->S[row + i] * (double)F->S[row + i] : 1)) - t[i];
}

void BCRFitScaled(const BCRFitData *F, PetscInt d, PetscInt *begin, PetscInt *end)
{
  const PetscInt more = F->A->grid.parts[d] > 1 ? 1 : 0, low = F->wrap[d] && F->image[d] ? -1 : 0, high = F->n[d] - low;

  *begin = PetscMax(F->lo[d] - more, low);
  *end = PetscMin(F->lo[d] + F->own[d] + more, high);
}

/* Row scales of the nodes that the links of this part have at an end, if those of others are among them */
static void BCRFitScalesPart(void *ctx)
{
  BCRFitPart *p = (BCRFitPart *)ctx;
  const BCRFitData *F = &p->F;
  PetscInt o[3] = {0, 0, 0}, begin[3], end[3], d;

  memset(&p->scales, 0, sizeof(p->scales));
  for (d = 0; d < 3; d++) BCRFitScaled(F, d, &begin[d], &end[d]);
  if (F->own[0] < 1 || F->own[1] < 1 || F->own[2] < 1) return;
  for (o[2] = begin[2]; o[2] < end[2]; o[2]++)
    for (o[1] = begin[1]; o[1] < end[1]; o[1]++)
      BCRFitScales(F, o, begin[0], end[0] - begin[0], p->mean, F->S + BCRFitAt(F, begin[0], o), &p->scales);
}

/* Row scales, if this part has all that its links need, and the couplings */
static void BCRFitMeansPart(void *ctx)
{
  BCRFitPart *p = (BCRFitPart *)ctx;
  const BCRFitData *F = &p->F;
  PetscInt o[3] = {0, 0, 0}, d, k, node;
  const PetscBool alone = (PetscBool)(F->A->grid.size == 1 && F->parts == 1);

  memset(p->link, 0, sizeof(p->link));
  if (alone) memset(&p->scales, 0, sizeof(p->scales));
  if (F->own[0] < 1) return;
  for (o[2] = F->lo[2]; o[2] < F->lo[2] + F->own[2]; o[2]++) {
    for (o[1] = F->lo[1]; o[1] < F->lo[1] + F->own[1]; o[1]++) {
      const PetscInt row = o[1] + F->n[1] * o[2];

      if (F->S && alone) BCRFitScales(F, o, 0, F->n[0], p->mean, F->S + BCRFitAt(F, 0, o), &p->scales);
      for (d = 0; d < F->dim; d++) {
        const PetscBool plain = (PetscBool)(!F->S && !F->apart && d == 0);

        if (plain && F->n[0] > 1) {
          const PetscInt first = PetscMax(F->lo[0], 1);

          BCRFitRangeAdd(&p->link[d], F->lo[0] + F->own[0] - first, F->C[d] + BCRFitAt(F, first - 1, o),
                         1 / (BCRFitWeight(F, 1, o[1]) * BCRFitWeight(F, 2, o[2])), row);
        }
        for (PetscInt around = plain ? 1 : 0; around < (F->wrap[d] ? 2 : 1); around++) {
          k = BCRFitLinks(F, o, d, (PetscBool)around, F->line, &node);
          k = BCRFitCompress(F, BCRFitAt(F, node, o) - (d && !around ? F->stride[d] : 0),
                             BCRFitLinkStep(F, d, (PetscBool)around), k, F->line);
          BCRFitRangeAdd(&p->link[d], k, F->line, 1, row);
        }
      }
    }
  }
}

static PetscErrorCode BCRFitHostMeans(BCRFitData *F, const double mean[3], BCRFitRange *scales, BCRFitRange link[3])
{
  PetscFunctionBegin;
  for (PetscInt t = 0; t < F->parts; t++) F->part[t].mean = mean;
  if (F->S && (F->A->grid.size > 1 || F->parts > 1)) BCRFitRun(F, BCRFitScalesPart);
  BCRFitRun(F, BCRFitMeansPart);
  for (PetscInt t = 0; t < F->parts; t++) {
    for (PetscInt d = 0; d < 3; d++) BCRFitRangeJoin(&link[d], &F->part[t].link[d]);
    if (scales) BCRFitRangeJoin(scales, &F->part[t].scales);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* This rank's nodes along x that are inside the box */
static PetscInt BCRFitInsideLine(const BCRFitData *F, PetscInt *first)
{
  const PetscInt cut = F->n[0] > 2 && !F->wrap[0] ? 1 : 0;

  *first = PetscMax(F->lo[0], cut);
  return PetscMin(F->lo[0] + F->own[0], F->n[0] - cut) - *first;
}

static void BCRFitLeftPart(void *ctx)
{
  BCRFitPart *p = (BCRFitPart *)ctx;
  const BCRFitData *F = &p->F;
  PetscInt o[3] = {0, 0, 0}, d, i, first;
  const PetscInt count = BCRFitInsideLine(F, &first);

  memset(&p->left, 0, sizeof(p->left));
  for (o[2] = F->lo[2]; o[2] < F->lo[2] + F->own[2]; o[2]++) {
    for (o[1] = F->lo[1]; o[1] < F->lo[1] + F->own[1]; o[1]++) {
      if (!BCRFitInside(F, o, 0)) continue;
      BCRFitRest(F, o, p->a, F->x, F->line);
      /* the two couplings of each axis in place of T's; of two nodes, the one there is */
      for (d = 0; d < F->dim && !F->S; d++) {
        const double *below, *above, two = F->n[d] > 2 ? 1 : 0;

        if (F->n[d] < 2) continue;
        BCRFitBeside(F, o, F->lo[0], F->own[0], d, &below, &above);
        for (i = 0; i < F->own[0]; i++) F->line[i] += p->a[d] - below[i] + two * (p->a[d] - above[i]);
      }
      BCRFitRangeAdd(&p->left, BCRFitCompress(F, BCRFitAt(F, first, o), 0, count, F->line + first - F->lo[0]),
                     F->line + first - F->lo[0], 1, o[1] + F->n[1] * o[2]);
    }
  }
}

/* Of the couplings along an axis the mean is that of T, and they add nothing, but where the null
   vector of the transpose is not one: at the sides of other axes */
static void BCRFitTotalLinks(const BCRFitData *F, const PetscInt o[3], const double a[3], BCRFitTotal *q)
{
  const PetscBool ends =
    (PetscBool)(BCREndGetRule(F->op->axis[0].end[0]).weight != 1 || BCREndGetRule(F->op->axis[0].end[1]).weight != 1);

  for (PetscInt d = 0; d < F->dim; d++) {
    const double h = (d == 1 ? 1 : BCRFitNullWeight(F, 1, o[1])) * (d == 2 ? 1 : BCRFitNullWeight(F, 2, o[2]));

    if (h == 1 && !(d && ends)) continue;
    for (PetscInt around = 0; around < (F->wrap[d] ? 2 : 1); around++) {
      PetscInt node;
      const PetscInt n = BCRFitLinks(F, o, d, (PetscBool)around, F->line, &node);
      const PetscInt at = BCRFitAt(F, node, o) - (d && !around ? F->stride[d] : 0),
                     step = BCRFitLinkStep(F, d, (PetscBool)around);

      for (PetscInt i = 0; i < n; i++) {
        if (F->apart && (F->apart[at + i] || F->apart[at + i + step])) continue;
        q->excess -= 2 * (h * (d ? BCRFitNullWeight(F, 0, node + i) : 1) - 1) * (F->line[i] - a[d]);
      }
    }
  }
}

/* The couplings that T has of a row apart, in storage at `at`, to other rows apart */
static double BCRFitApartLinks(const BCRFitData *F, const PetscInt o[3], PetscInt at, const double a[3])
{
  double sum = 0;

  for (PetscInt d = 0; d < F->dim; d++)
    for (int s = -1; s <= 1; s += 2) {
      const PetscInt there = BCRFitAround(F, d, o[d] + s) - o[d];

      if (F->n[d] < 2 || (!F->wrap[d] && (o[d] + s < 0 || o[d] + s >= F->n[d]))) continue;
      if (F->apart[at + there * F->stride[d]]) sum += a[d];
    }
  return sum;
}

/* BCRFitTotal of this part's rows: the weights are 1/2 in the rows of node-centred Neumann ends. A
   row apart has no weight, and adds what other rows have of T's couplings to it. */
static void BCRFitTotalPart(void *ctx)
{
  BCRFitPart *p = (BCRFitPart *)ctx;
  const BCRFitData *F = &p->F;
  const double size = 2 * (p->a[0] + p->a[1] + p->a[2]);
  BCRFitTotal *q = &p->total;
  PetscInt o[3] = {0, 0, 0}, i;

  memset(q, 0, sizeof(*q));
  q->lo = PETSC_INFINITY;
  q->hi = -PETSC_INFINITY;
  if (F->own[0] < 1) return;
  for (o[2] = F->lo[2]; o[2] < F->lo[2] + F->own[2]; o[2]++) {
    for (o[1] = F->lo[1]; o[1] < F->lo[1] + F->own[1]; o[1]++) {
      const double h = BCRFitNullWeight(F, 1, o[1]) * BCRFitNullWeight(F, 2, o[2]);
      const PetscInt at = BCRFitAt(F, F->lo[0], o);
      double excess = 0, weight = 0;
      BCRFitLineRange l;

      BCRFitRest(F, o, p->a, F->x, F->line);
      weight = (double)F->own[0];
      for (i = 0; i < F->own[0] && F->apart; i++) {
        const PetscInt q3[3] = {F->lo[0] + i, o[1], o[2]};

        if (!F->apart[at + i]) continue;
        F->line[i] = F->x[i] - BCRFitApartLinks(F, q3, at + i, p->a);
        weight--;
      }
      for (i = 0; i < F->own[0]; i++) F->line[i] += F->x[i];
      l = BCRFitRangeLine(F->own[0], F->line, size);
      for (i = 0; i < F->own[0]; i++) excess += size - F->x[i];
      excess += l.sum;
      for (i = 0; i < F->own[0]; i += PetscMax(F->own[0] - 1, 1)) {
        const double less = 1 - BCRFitNullWeight(F, 0, F->lo[0] + i);

        excess -= less * (F->line[i] - F->x[i]);
        weight -= less;
      }
      q->excess += h * excess;
      q->weight += h * weight;
      BCRFitTotalLinks(F, o, p->a, q);
      q->lo = PetscMin(q->lo, l.lo);
      q->hi = PetscMax(q->hi, l.hi);
      q->count += (double)F->own[0];
    }
  }
}

static PetscErrorCode BCRFitHostTotal(BCRFitData *F, const double a[3], BCRFitTotal *total)
{
  PetscFunctionBegin;
  for (PetscInt t = 0; t < F->parts; t++) F->part[t].a = a;
  BCRFitRun(F, BCRFitTotalPart);
  for (PetscInt t = 0; t < F->parts; t++) BCRFitTotalJoin(total, &F->part[t].total);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRFitHostLeft(BCRFitData *F, const double a[3], BCRFitRange *left)
{
  PetscFunctionBegin;
  for (PetscInt t = 0; t < F->parts; t++) F->part[t].a = a;
  BCRFitRun(F, BCRFitLeftPart);
  for (PetscInt t = 0; t < F->parts; t++) BCRFitRangeJoin(left, &F->part[t].left);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscInt BCRFitNatural(const BCRFitData *F, PetscInt i, const PetscInt o[3])
{
  const PetscInt *N = F->A->N, *b = F->b;

  return i + b[0] + N[0] * (o[1] + b[1] + N[1] * (o[2] + b[2]));
}

/* Of couplings: in the grid lines where the extremes have been met */
static void BCRFitDeviationLinks(const BCRFitData *F, const BCRFitResult *r, PetscInt d, BCRFitWorst *found)
{
  const BCRFitRange *near = &r->near[d];
  const PetscInt *N = F->A->N, step = d == 0 ? 1 : (d == 1 ? N[0] : N[0] * N[1]), last = (F->n[d] - 1) * step;

  if (F->n[d] < 2 || r->a[d] == 0 || near->count == 0) return;
  for (int k = 0; k < 2; k++) {
    const PetscInt row = k ? near->hirow : near->lorow, o[3] = {0, row % F->n[1], row / F->n[1]};

    if (PetscAbs((k ? near->hi : near->lo) / r->a[d] - 1) <= found->worst) continue;
    for (int around = 0; around < 2; around++) {
      PetscInt node;
      const PetscInt n = BCRFitLinks(F, o, d, (PetscBool)around, F->line, &node);

      for (PetscInt i = 0; i < n; i++) {
        const double dev = PetscAbs(F->line[i] / r->a[d] - 1);

        if (dev <= found->worst) continue;
        found->worst = dev;
        found->row = BCRFitNatural(F, node + i, o) - (d && !around ? step : 0);
        found->col = found->row + (around ? -last : step);
      }
    }
  }
}

/* The diagonal of T at node i of this rank's part of a grid line, and what is left there */
static void BCRFitRestOne(const BCRFitData *F, const PetscInt o[3], const double a[3], PetscInt i, double *t, double *p)
{
  const PetscInt at = BCRFitAt(F, F->lo[0] + i, o), q[3] = {F->lo[0] + i, o[1], o[2]};
  const double S = F->S ? (double)F->S[at] : 1;

  *t = BCRFitModelDiagonal(F, q, a);
  *p = F->D[at] * F->iwx[F->lo[0] + i - F->begin[0]] / (S * S) - *t;
}

/* Of diagonals: in the grid lines where the extremes have been met, and at the ends of the axes */
static void BCRFitDeviationDiagonals(const BCRFitData *F, const BCRFitResult *r, BCRFitWorst *found)
{
  PetscInt o[3] = {0, 0, 0}, first;
  const PetscInt n0 = F->own[0], count = BCRFitInsideLine(F, &first);
  PetscBool two = PETSC_FALSE; /* unknowns along an axis: every line has both ends of it */
  BCRFitRange left = r->nearleft;

  if (n0 < 1) return;
  for (PetscInt d = 0; d < F->dim; d++) two = (PetscBool)(two || F->n[d] == 2);
  if (!F->S) { /* without scales that was row sums */
    memset(&left, 0, sizeof(left));
    for (o[2] = F->lo[2]; o[2] < F->lo[2] + F->own[2]; o[2]++)
      for (o[1] = F->lo[1]; o[1] < F->lo[1] + F->own[1]; o[1]++)
        if (BCRFitInside(F, o, 0)) BCRFitRangeAdd(&left, count, F->D + BCRFitAt(F, first, o), 1, o[1] + F->n[1] * o[2]);
  }
  for (o[2] = F->lo[2]; o[2] < F->lo[2] + F->own[2]; o[2]++) {
    for (o[1] = F->lo[1]; o[1] < F->lo[1] + F->own[1]; o[1]++) {
      const PetscInt row = o[1] + F->n[1] * o[2];
      const PetscBool all = (PetscBool)(two || row == left.lorow || row == left.hirow || !BCRFitInside(F, o, 0));

      if (!all && (F->n[0] < 2 || F->wrap[0])) continue;
      if (all) BCRFitRest(F, o, r->a, F->x, F->line);
      for (PetscInt i = 0; i < n0; i += all ? 1 : PetscMax(n0 - 1, 1)) {
        double dev;

        if (!all && F->lo[0] + i > 0 && F->lo[0] + i < F->n[0] - 1) continue; /* an end of this rank's part only */
        if (!all) BCRFitRestOne(F, o, r->a, i, &F->x[i], &F->line[i]);
        dev = PetscAbs(F->line[i] - r->shift) / PetscAbs(F->x[i] + r->shift);
        if (dev <= found->worst) continue;
        found->worst = dev;
        found->row = found->col = BCRFitNatural(F, F->lo[0] + i, o);
      }
    }
  }
}

static PetscErrorCode BCRFitHostDeviation(BCRFitData *F, const BCRFitResult *r, BCRFitWorst *found)
{
  PetscFunctionBegin;
  for (PetscInt d = 0; d < F->dim; d++) BCRFitDeviationLinks(F, r, d, found);
  BCRFitDeviationDiagonals(F, r, found);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Inside the box row sums are known from the pass over the matrix */
static PetscErrorCode BCRFitHostNull(BCRFitData *F, const BCRFitResult *r, PetscBool *null)
{
  const double inside = PetscMax(PetscAbs(r->left.lo), PetscAbs(r->left.hi));

  PetscFunctionBegin;
  PetscCall(
    BCRRowsNull(F->A, F->c, F->op, (PetscBool)(r->left.count > 0 && inside <= BCR_NULL_TOL * r->total.lo), null));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRFitHostDivide(BCRFitData *F, PetscInt d, PetscInt at, double by)
{
  const PetscInt u = d == 0 ? 1 : 0, v = d == 2 ? 1 : 2;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < F->size[v]; j++)
    for (PetscInt i = 0; i < F->size[u]; i++) F->C[d][at * F->stride[d] + i * F->stride[u] + j * F->stride[v]] /= by;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The scales of this rank's unknowns: all of S on one rank */
static PetscErrorCode BCRFitHostScales(BCRFitData *F)
{
  const PetscInt *own = F->own;
  PetscInt o[3] = {F->lo[0], 0, 0};

  PetscFunctionBegin;
  if (!F->S) PetscFunctionReturn(PETSC_SUCCESS);
  if (F->A->grid.size == 1) {
    F->op->rowscale = F->S;
    F->S = NULL;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscMalloc1(PetscMax(own[0] * own[1] * own[2], 1), &F->op->rowscale));
  for (PetscInt k = 0; k < own[2] && own[0] > 0; k++) {
    for (PetscInt j = 0; j < own[1]; j++) {
      o[1] = F->lo[1] + j;
      o[2] = F->lo[2] + k;
      PetscCall(PetscArraycpy(F->op->rowscale + own[0] * (j + own[1] * k), F->S + BCRFitAt(F, o[0], o), own[0]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRFitHostClose(BCRFitData *F)
{
  PetscFunctionBegin;
  for (PetscInt t = 0; t < F->parts && F->part; t++) {
    PetscCall(PetscFree3(F->part[t].x, F->part[t].line, F->part[t].ghost));
    PetscCall(PetscFree(F->part[t].below));
    PetscCall(PetscFree(F->part[t].around));
  }
  PetscCall(PetscFree(F->part));
  PetscCall(PetscFree(F->D));
  PetscCall(PetscFree(F->S));
  PetscCall(PetscFree(F->apart));
  for (PetscInt d = 0; d < 3; d++) PetscCall(PetscFree(F->C[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Parts of this rank's nodes, each a thread's: of the slowest axis, where one rank has all and the matrix is large */
static PetscErrorCode BCRFitSplit(BCRFitData *F)
{
  const PetscInt least = 8; /* no part but the first and last has rows that BCRFitRow() counts apart */
  const BCRRows *A = F->A;

  PetscFunctionBegin;
  F->split = F->dim - 1;
  F->parts = 1;
  if (A->grid.size == 1 && F->dim > 1) {
    PetscCall(BCRThreadsNumber(A->near.mat, (size_t)A->ai[A->dof * A->nodes] * sizeof(PetscScalar), &F->parts));
    F->parts = PetscMax(1, PetscMin(F->parts, F->n[F->split] / least));
  }
  PetscCall(PetscCalloc1(F->parts, &F->part));
  for (PetscInt t = 0; t < F->parts; t++) {
    BCRFitPart *p = &F->part[t];

    p->first = (PetscInt)((PetscInt64)F->n[F->split] * t / F->parts);
    p->last = (PetscInt)((PetscInt64)F->n[F->split] * (t + 1) / F->parts);
    PetscCall(PetscMalloc3(F->size[0] + 1, &p->x, F->size[0], &p->line, F->size[0], &p->ghost));
    if (t > 0) PetscCall(PetscMalloc1(F->stride[F->split], &p->below));
    if (t > 0 && t == F->parts - 1) PetscCall(PetscMalloc1(F->stride[F->split], &p->around));
  }
  F->x = F->part[0].x; /* what is not split works with those of the first */
  F->line = F->part[0].line;
  F->ghost = F->part[0].ghost;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFitHostOpen(BCRFitData *F)
{
  static const BCRFitPasses passes = {BCRFitHostExtract,   BCRFitHostDivide, BCRFitHostMeans,
                                      BCRFitHostLeft,      BCRFitHostTotal,  BCRFitHostNull,
                                      BCRFitHostDeviation, BCRFitHostScales, BCRFitHostClose};

  PetscFunctionBegin;
  F->passes = &passes;
  PetscCall(BCRRowsFetch(F->A));
  PetscCall(BCRFitSplit(F));
  PetscCall(PetscMalloc1(F->nodes, &F->D));
  for (PetscInt d = 0; d < F->dim; d++) {
    const PetscInt layer = F->nodes ? F->nodes / F->size[d] : 0, st = F->stride[d];

    if (F->n[d] < 2) continue;
    PetscCall(PetscMalloc1(F->nodes, &F->C[d]));
    /* beyond the last nodes, where nothing may be written */
    for (PetscInt i = 0; i < layer; i++) F->C[d][(F->size[d] - 1) * st + i % st + i / st * st * F->size[d]] = 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
