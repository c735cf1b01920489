/*
  The passes of a fit over the numbers of all nodes.
*/
#include "fithost.h"
#include "fit_kernels.h"
#include "threads.h"

/* Runs the parts, each with F as it is now, by threads if there are several */
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

/* Couplings below and above the nodes first .. first + count of a grid line along x, for axis d.
   Those beyond the ends of the axis: around them if it is periodic, the only one there is of two
   nodes, else in proportion to the next two */
static void BCRFitBeside(const BCRFitData *F, const PetscInt o[3], PetscInt first, PetscInt count, PetscInt d,
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
        const double c = C[at < 0 ? 0 : n - 2], next = n > 2 ? C[at < 0 ? 1 : n - 3] : c;

        F->x[i] = n == 2 ? c : c * PetscMin(4.0, PetscMax(0.25, next > 0 ? c / next : 1.0));
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

      for (i = 0; i < count; i++)
        F->ghost[i] = c[i] * PetscMin(4.0, PetscMax(0.25, next[i] > 0 ? c[i] / next[i] : 1.0));
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
  const double smallest = 1e-4;
  PetscInt d, i, axes = 0;

  for (i = 0; i < count; i++) F->line[i] = 0;
  for (d = 0; d < F->dim; d++) {
    const PetscInt u = d == 0 ? 1 : 0, v = d == 2 ? 1 : 2;
    const double *below, *above;

    if (F->n[d] < 2 || mean[d] <= 0) continue;
    axes++;
    BCRFitBeside(F, o, first, count, d, &below, &above);
    BCRFitScaleLine(count, below, above, 1 / (mean[d] * (u ? BCRFitWeight(F, u, o[u]) : 1) * BCRFitWeight(F, v, o[v])),
                    u ? F->ones : F->iwx + first - F->so[0], smallest, F->line);
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

/* Couplings that end at this rank's nodes of a grid line as the fit sees them, c / (s s w), into q:
   those along axis d from below, or (around) from the last nodes of a periodic axis to the first.
   Returns how many; *node: where the first of them comes from along x */
static PetscInt BCRFitLinks(const BCRFitData *F, const PetscInt o[3], PetscInt d, PetscBool around, double *q,
                            PetscInt *node)
{
  const PetscInt u = d == 0 ? 1 : 0, v = d == 2 ? 1 : 2, n = F->n[d], st = F->stride[d], last = F->lo[0] + F->own[0];
  const PetscInt begin = d ? F->lo[0] : (around ? n - 1 : PetscMax(F->lo[0], 1) - 1),
                 count = d ? F->own[0] : (around ? (last == n && F->own[0] ? 1 : 0) : last - 1 - begin);
  PetscInt from, to, i;
  double f;
  const double *iw = u ? F->ones : F->iwx + F->lo[0] - F->so[0];

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
  const double *iwx = F->iwx + F->lo[0] - F->so[0];
  PetscInt i;

  for (i = 0; i < n; i++) t[i] = BCRFitDiagonal(F, 0, F->lo[0] + i, a) + tyz;
  if (F->S && w == 1 && F->half[0][0] == 1 && F->half[0][1] == 1) BCRFitRestLine(n, F->D + row, F->S + row, t, p);
  else
    for (i = 0; i < n; i++)
      p[i] = F->D[row + i] * iwx[i] / (w * (F->S ? (double)F->S[row + i] * (double)F->S[row + i] : 1)) - t[i];
}

/* The scales of the nodes that this rank's links have at an end: its own, and those one away along axes that are cut */
static void BCRFitScaled(const BCRFitData *F, PetscInt d, PetscInt *begin, PetscInt *end)
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

/* Row scales (with mean), then the couplings: mean along each axis, and the largest quotient over
   all links after division by that mean */
PetscErrorCode BCRFitMeans(BCRFitData *F, const double mean[3], BCRFitRange *scales, BCRFitResult *r)
{
  PetscInt d, t;
  double l = PETSC_MAX_REAL, h = 0;

  PetscFunctionBegin;
#if defined(PETSCBCR_HAVE_CUDA)
  if (F->device) PetscCall(BCRFitDeviceMeans(F, mean, scales, r->link));
#endif
  for (t = 0; t < F->parts; t++) F->part[t].mean = mean;
  if (F->S && (F->A->grid.size > 1 || F->parts > 1)) BCRFitRun(F, BCRFitScalesPart);
  if (!F->device) BCRFitRun(F, BCRFitMeansPart);
  for (t = 0; t < F->parts; t++) {
    for (d = 0; d < 3; d++) BCRFitRangeJoin(&r->link[d], &F->part[t].link[d]);
    if (scales) BCRFitRangeJoin(scales, &F->part[t].scales);
  }
  for (d = 0; d < 3; d++) r->near[d] = r->link[d];
  PetscCall(BCRFitRangeAgree(F->A->comm, 3, r->link));
  if (scales) PetscCall(BCRFitRangeAgree(F->A->comm, 1, scales));
  r->spread = 1;
  for (d = 0; d < 3; d++) {
    r->mean[d] = BCRFitRangeMean(&r->link[d]);
    if (d >= F->dim || F->n[d] < 2 || r->mean[d] == 0) continue;
    l = PetscMin(l, r->link[d].lo / r->mean[d]);
    h = PetscMax(h, r->link[d].hi / r->mean[d]);
  }
  if (h > 0) r->spread = l > 0 ? h / l : PETSC_INFINITY;
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
    (PetscBool)(F->op->axis[0].end[0] == BCR_END_NEUMANN || F->op->axis[0].end[1] == BCR_END_NEUMANN);

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

/* BCRFitTotal of this part's rows: the weights are 1/2 in the rows of node-centred Neumann ends. A
   row apart, as if it had the diagonal of T and no couplings, adds that, and once more what its
   neighbours lose. */
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
      for (i = 0; i < F->own[0] && F->apart; i++)
        if (F->apart[at + i]) F->line[i] = 2 * F->x[i];
      for (i = 0; i < F->own[0]; i++) F->line[i] += F->x[i];
      l = BCRFitRangeLine(F->own[0], F->line, size);
      for (i = 0; i < F->own[0]; i++) excess += size - F->x[i];
      excess += l.sum;
      weight = (double)F->own[0];
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

PetscErrorCode BCRFitTotals(BCRFitData *F, BCRFitResult *r)
{
  const PetscMPIInt size = F->A->grid.size;
  BCRFitTotal *all, mine = {0, 0, PETSC_INFINITY, -PETSC_INFINITY, 0}, sum = mine;

  PetscFunctionBegin;
#if defined(PETSCBCR_HAVE_CUDA)
  if (F->device) PetscCall(BCRFitDeviceTotal(F, r->a, &mine));
#endif
  for (PetscInt t = 0; t < F->parts; t++) F->part[t].a = r->a;
  if (!F->device) BCRFitRun(F, BCRFitTotalPart);
  PetscCall(BCRFaultShare(F->A->comm, PetscMalloc1(size, &all), BCR_NO_MEMORY));
  for (PetscInt t = 0; t < F->parts; t++) BCRFitTotalJoin(&mine, &F->part[t].total);
  PetscCallMPI(MPI_Allgather(&mine, sizeof(mine), MPI_BYTE, all, sizeof(mine), MPI_BYTE, F->A->comm));
  for (PetscInt p = 0; p < (PetscInt)size; p++) BCRFitTotalJoin(&sum, &all[p]); /* in this order on every rank */
  PetscCall(PetscFree(all));
  r->total = sum;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is left over the inside of the box, where all weights are one: D / s^2 - T, or without scales the row sum */
PetscErrorCode BCRFitLeft(BCRFitData *F, BCRFitResult *r)
{
  PetscFunctionBegin;
  memset(&r->left, 0, sizeof(r->left));
#if defined(PETSCBCR_HAVE_CUDA)
  if (F->device) PetscCall(BCRFitDeviceLeft(F, r->a, &r->left));
#endif
  for (PetscInt t = 0; t < F->parts; t++) F->part[t].a = r->a;
  if (!F->device) BCRFitRun(F, BCRFitLeftPart);
  for (PetscInt t = 0; t < F->parts; t++) BCRFitRangeJoin(&r->left, &F->part[t].left);
  r->nearleft = r->left;
  PetscCall(BCRFitRangeAgree(F->A->comm, 1, &r->left));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest relative deviation of the matrix from the fit, and where: the extremes that have been
   met, and the diagonals at the ends */
PetscErrorCode BCRFitDeviation(BCRFitData *F, const BCRFitResult *r)
{
  const BCRRows *A = F->A;
  BCROperator *op = F->op;
  PetscInt o[3] = {0, 0, 0}, d, i, k, m, two = 0, node, first;
  const PetscInt n0 = F->own[0], count = BCRFitInsideLine(F, &first);
  double worst = 0;
  BCRFitRange left = r->nearleft;
  struct {
    double worst;
    PetscInt row, col;
  } found = {0, 0, 0};

  PetscFunctionBegin;
#if defined(PETSCBCR_HAVE_CUDA)
  if (F->device) {
    PetscCall(BCRFitDeviceDeviation(F, r->a, r->shift, &worst, &op->devrow, &op->devcol));
    op->deviation = (PetscReal)worst;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
#define NODE(i) ((i) + F->b[0] + A->N[0] * (o[1] + F->b[1] + A->N[1] * (o[2] + F->b[2])))
  for (d = 0; d < F->dim; d++) {
    const PetscInt step = d == 0 ? 1 : (d == 1 ? A->N[0] : A->N[0] * A->N[1]);

    if (F->n[d] == 2) two = 1;
    if (F->n[d] < 2 || r->a[d] == 0 || r->near[d].count == 0) continue;
    for (k = 0; k < 2; k++) {
      const PetscInt row = k ? r->near[d].hirow : r->near[d].lorow;

      if (PetscAbs((k ? r->near[d].hi : r->near[d].lo) / r->a[d] - 1) <= worst) continue;
      o[1] = row % F->n[1];
      o[2] = row / F->n[1];
      for (m = 0; m < 2; m++) {
        const PetscInt n = BCRFitLinks(F, o, d, (PetscBool)(m == 1), F->line, &node), last = (F->n[d] - 1) * step;

        for (i = 0; i < n; i++) {
          const double dev = PetscAbs(F->line[i] / r->a[d] - 1);

          if (dev <= worst) continue;
          worst = dev;
          found.row = NODE(node + i) - (d && !m ? step : 0);
          found.col = found.row + (m ? -last : step);
        }
      }
    }
  }
  if (!F->S) { /* without scales that was row sums */
    memset(&left, 0, sizeof(left));
    for (o[2] = F->lo[2]; o[2] < F->lo[2] + F->own[2]; o[2]++)
      for (o[1] = F->lo[1]; o[1] < F->lo[1] + F->own[1]; o[1]++)
        if (BCRFitInside(F, o, 0)) BCRFitRangeAdd(&left, count, F->D + BCRFitAt(F, first, o), 1, o[1] + F->n[1] * o[2]);
  }
  for (o[2] = F->lo[2]; o[2] < F->lo[2] + F->own[2]; o[2]++) {
    for (o[1] = F->lo[1]; o[1] < F->lo[1] + F->own[1] && n0 > 0; o[1]++) {
      const PetscInt row = o[1] + F->n[1] * o[2];
      const PetscBool all = (PetscBool)(two || row == left.lorow || row == left.hirow || !BCRFitInside(F, o, 0));

      if (!all && (F->n[0] < 2 || F->wrap[0])) continue;
      if (all) BCRFitRest(F, o, r->a, F->x, F->line);
      for (i = 0; i < n0; i += all ? 1 : PetscMax(n0 - 1, 1)) {
        double dev, t;

        if (!all) { /* one node only, at an end */
          const PetscInt at = BCRFitAt(F, F->lo[0] + i, o);

          if (F->lo[0] + i > 0 && F->lo[0] + i < F->n[0] - 1) continue;
          F->x[i] = BCRFitDiagonal(F, 0, F->lo[0] + i, r->a) + BCRFitDiagonal(F, 1, o[1], r->a) +
                    BCRFitDiagonal(F, 2, o[2], r->a);
          F->line[i] =
            F->D[at] * F->iwx[F->lo[0] + i - F->so[0]] / (F->S ? (double)F->S[at] * (double)F->S[at] : 1) - F->x[i];
        }
        t = PetscAbs(F->x[i] + r->shift);
        dev = PetscAbs(F->line[i] - r->shift) / t;
        if (dev <= worst) continue;
        worst = dev;
        found.row = found.col = NODE(F->lo[0] + i);
      }
    }
  }
#undef NODE
  found.worst = worst;
  PetscCall(BCRTakeFrom(A->comm, worst, &found, sizeof(found), NULL));
  op->deviation = (PetscReal)found.worst;
  op->devrow = found.row;
  op->devcol = found.col;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix, in average, is a fit whose shift is zero: does it have that null vector? Inside the
   box row sums are known from the pass over the matrix */
PetscErrorCode BCRFitNull(BCRFitData *F, const BCRFitResult *r, PetscBool *null)
{
  const double inside = PetscMax(PetscAbs(r->left.lo), PetscAbs(r->left.hi));

  PetscFunctionBegin;
#if defined(PETSCBCR_HAVE_CUDA)
  if (F->device) {
    double largest;

    PetscCall(BCRFitDeviceNull(F, &largest));
    *null = (PetscBool)(largest <= BCR_NULL_TOL);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  PetscCall(
    BCRRowsNull(F->A, F->c, F->op, (PetscBool)(r->left.count > 0 && inside <= BCR_NULL_TOL * r->total.lo), null));
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
    PetscCall(PetscMalloc3(F->sn[0] + 1, &p->x, F->sn[0], &p->line, F->sn[0], &p->ghost));
    if (t > 0) PetscCall(PetscMalloc1(F->stride[F->split], &p->below));
    if (t > 0 && t == F->parts - 1) PetscCall(PetscMalloc1(F->stride[F->split], &p->around));
  }
  F->x = F->part[0].x; /* what is not split works with those of the first */
  F->line = F->part[0].line;
  F->ghost = F->part[0].ghost;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the fit works with, on a device with the sums of its first pass */
PetscErrorCode BCRFitMemory(BCRFitData *F, BCRFitSums *sums)
{
  PetscFunctionBegin;
  (void)sums;
  PetscCall(PetscMalloc2(F->sn[0], &F->ones, F->sn[0], &F->iwx));
#if defined(PETSCBCR_HAVE_CUDA)
  if (F->A->device && !F->host) PetscCall(BCRFitDeviceOpen(F, sums));
#endif
  if (!F->device) {
    PetscCall(BCRRowsFetch(F->A));
    PetscCall(BCRFitSplit(F));
    PetscCall(PetscMalloc1(F->nodes, &F->D));
  }
  for (PetscInt d = 0; d < F->dim; d++) {
    const PetscInt slice = F->n[d] > 1 && F->nodes ? F->nodes / F->sn[d] : 0;

    if (F->n[d] < 2 || F->device) continue;
    PetscCall(PetscMalloc1(F->nodes, &F->C[d]));
    /* beyond the last nodes, where nothing may be written */
    for (PetscInt i = 0; i < slice; i++)
      F->C[d][(F->sn[d] - 1) * F->stride[d] + i % F->stride[d] + i / F->stride[d] * F->stride[d] * F->sn[d]] = 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
