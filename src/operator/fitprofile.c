/*
  The fit whose coefficients vary along one axis g, as their means over the layers of nodes across it do (docs/method.md,
  section "operator"): strata, a stretched axis, with what differs along the other axes averaged,

      A ~ W ( T_g (+) sum over the other axes e of a_e T_e ),     w_g,i = mean of the couplings within layer i / sum of a_e,

  with the means of the couplings from layer to layer, c_i, and of what the rows have beside their couplings, r_i, in

      (w_g T_g u)_i = (c_(i-1) + c_i + r_i) u_i - c_(i-1) u_(i-1) - c_i u_(i+1).

  It is exact where the matrix is that; the means are over the nodes of the box that have neighbours on all sides along
  the other axes.
*/
#include "fithost.h"
#include <math.h>

/* Sums over the layers, [n] each; in one piece, to be agreed on as such */
typedef struct {
  double *within[3], *links[3]; /* couplings within a layer, along each axis, and how many there are */
  double *up, *ups;             /* to the next layer */
  double *rest, *rests;
} BCRFitLayers;
#define BCR_FIT_LAYERS 10

/* What the row of the first and last layer has of the link to the next: 2 at node-centred Neumann ends that are no half
   rows */
static double BCRFitInward(const BCRFitData *F, PetscInt g, PetscInt s)
{
  return F->half[g][s] < 1 ? 1 : BCREndGetRule(F->op->axis[g].end[s]).inward;
}

/* Diagonals of this rank's nodes of a grid line less their couplings, in F->line. *first, returned count: those that
   have neighbours on all sides along the other axes */
static PetscInt BCRFitProfileRest(const BCRFitData *F, const BCRFitProfile *P, const PetscInt o[3], PetscInt *first)
{
  const PetscInt g = P->axis, at = BCRFitAt(F, F->lo[0], o), n = F->own[0], cut = g && F->n[0] > 2 && !F->wrap[0];

  *first = PetscMax(F->lo[0], cut);
  if (!BCRFitInside(F, (PetscInt[3]){1, g == 1 ? 1 : o[1], g == 2 ? 1 : o[2]}, 0)) return 0;
  for (PetscInt i = 0; i < n; i++) F->line[i] = F->D[at + i];
  for (PetscInt d = 0; d < F->dim; d++) {
    const double *below, *above;

    if (F->n[d] < 2) continue;
    BCRFitBeside(F, o, F->lo[0], n, d, &below, &above);
    for (PetscInt i = 0; i < n; i++) {
      const PetscInt layer = d ? o[d] : F->lo[0] + i;
      const PetscBool low = (PetscBool)(d == g && layer == 0), high = (PetscBool)(d == g && layer == F->n[d] - 1);

      F->line[i] -= (low ? 0 : (high ? BCRFitInward(F, g, 1) : 1) * below[i]) +
                    (high ? 0 : (low ? BCRFitInward(F, g, 0) : 1) * above[i]);
    }
  }
  return PetscMin(F->lo[0] + n, F->n[0] - cut) - *first;
}

/* Calls visit() with each of this rank's grid lines along x */
static void BCRFitProfileLines(const BCRFitData *F, const BCRFitProfile *P, void *context,
                               void (*visit)(const BCRFitData *, const BCRFitProfile *, const PetscInt o[3], void *))
{
  PetscInt o[3] = {0, 0, 0};

  for (o[2] = F->lo[2]; o[2] < F->lo[2] + F->own[2] && F->own[0] > 0; o[2]++)
    for (o[1] = F->lo[1]; o[1] < F->lo[1] + F->own[1]; o[1]++) visit(F, P, o, context);
}

static void BCRFitLayersLine(const BCRFitData *F, const BCRFitProfile *P, const PetscInt o[3], void *context)
{
  const PetscInt g = P->axis;
  BCRFitLayers *L = (BCRFitLayers *)context;
  PetscInt first, count;

  for (PetscInt d = 0; d < F->dim; d++)
    for (int around = 0; around < (F->wrap[d] ? 2 : 1); around++) {
      PetscInt node;
      const PetscInt k = BCRFitLinks(F, o, d, (PetscBool)around, F->line, &node);

      for (PetscInt i = 0; i < k; i++) {
        const PetscInt layer = (g ? o[g] - (d == g) : node + i);

        if (d == g) {
          L->up[layer] += F->line[i];
          L->ups[layer]++;
        } else {
          L->within[d][layer] += F->line[i] * BCRFitWeight(F, g, layer);
          L->links[d][layer]++;
        }
      }
    }
  count = BCRFitProfileRest(F, P, o, &first);
  for (PetscInt i = 0; i < count; i++) {
    const PetscInt layer = g ? o[g] : first + i;

    L->rest[layer] += F->line[first - F->lo[0] + i];
    L->rests[layer]++;
  }
}

/* The means of the layers. *good: there are such in every layer, and nothing vanishes */
static PetscErrorCode BCRFitProfileMeans(const BCRFitData *F, PetscBool null, BCRFitProfile *P, PetscBool *good)
{
  const PetscInt n = P->n, g = P->axis;
  const MPI_Comm comm = F->A->comm;
  PetscReal most = 0;
  double *sums, all = 0;
  BCRFitLayers L;

  PetscFunctionBegin;
  PetscCall(BCRFaultShare(comm, PetscCalloc1(BCR_FIT_LAYERS * n, &sums), BCR_NO_MEMORY));
  for (PetscInt d = 0; d < 3; d++) {
    L.within[d] = sums + d * n;
    L.links[d] = sums + (3 + d) * n;
  }
  L.up = sums + 6 * n;
  L.ups = sums + 7 * n;
  L.rest = sums + 8 * n;
  L.rests = sums + 9 * n;
  BCRFitProfileLines(F, P, &L, BCRFitLayersLine);
  if (F->A->grid.size > 1) { /* once, and told to all: the same last digits everywhere */
    PetscCallMPI(MPI_Reduce(F->A->grid.rank ? (void *)sums : MPI_IN_PLACE, sums, (PetscMPIInt)(BCR_FIT_LAYERS * n),
                            MPI_DOUBLE, MPI_SUM, 0, comm));
    PetscCallMPI(MPI_Bcast(sums, (PetscMPIInt)(BCR_FIT_LAYERS * n), MPI_DOUBLE, 0, comm));
  }
  *good = PETSC_TRUE;
  for (PetscInt d = 0; d < 3; d++) {
    double sum = 0, count = 0;

    P->a[d] = 0;
    if (d == g) continue;
    for (PetscInt i = 0; i < n; i++) {
      sum += L.within[d][i];
      count += L.links[d][i];
    }
    if (count > 0) P->a[d] = sum / count;
    if (F->n[d] > 1 && !(P->a[d] > 0)) *good = PETSC_FALSE;
    all += P->a[d];
  }
  for (PetscInt i = 0; i < n; i++) {
    P->weight[i] = 0;
    for (PetscInt d = 0; d < 3; d++)
      if (L.links[d][i] > 0) P->weight[i] += L.within[d][i] / L.links[d][i] / all;
    P->link[i] = L.ups[i] > 0 ? L.up[i] / L.ups[i] : 0;
    P->rest[i] = null || !(L.rests[i] > 0) ? 0 : L.rest[i] / L.rests[i];
    if (i == 0 || i == n - 1) P->rest[i] = PetscMax(P->rest[i], 0); /* links that are not what the end type says */
    if (!(P->weight[i] > 0 && P->weight[i] < PETSC_INFINITY) || (i < n - 1 && !(P->link[i] > 0)) ||
        !(PetscAbs(P->rest[i]) < PETSC_INFINITY))
      *good = PETSC_FALSE;
    most = PetscMax(most, (PetscReal)(P->link[i] + PetscAbs(P->rest[i])));
  }
  for (PetscInt i = 0; i < n; i++)
    if (PetscAbs(P->rest[i]) <= BCR_SUM_TOL * most) P->rest[i] = 0; /* rounding of a sum that vanishes */
  PetscCall(PetscFree(sums));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Row i of w_g T_g */
static void BCRFitProfileRow(const BCRFitData *F, const BCRFitProfile *P, PetscInt i, double *low, double *diag,
                             double *up)
{
  *low = i ? (i == P->n - 1 ? BCRFitInward(F, P->axis, 1) : 1) * P->link[i - 1] : 0;
  *up = i < P->n - 1 ? (i ? 1 : BCRFitInward(F, P->axis, 0)) * P->link[i] : 0;
  *diag = *low + *up + P->rest[i];
}

/* T_g */
static PetscErrorCode BCRFitProfileAxis(const BCRFitData *F, const BCRFitProfile *P, BCRAxis *ax)
{
  const PetscInt n = P->n;

  PetscFunctionBegin;
  ax->n = n;
  ax->a = 0;
  ax->end[0] = ax->end[1] = BCR_END_GENERAL;
  PetscCall(PetscMalloc1(n, &ax->lower));
  PetscCall(PetscMalloc1(n, &ax->diag));
  PetscCall(PetscMalloc1(n, &ax->upper));
  PetscCall(PetscMalloc1(n, &ax->weight));
  for (PetscInt i = 0; i < n; i++) {
    double low, diag, up;

    BCRFitProfileRow(F, P, i, &low, &diag, &up);
    ax->lower[i] = (PetscReal)(low / P->weight[i]);
    ax->diag[i] = (PetscReal)(diag / P->weight[i]);
    ax->upper[i] = (PetscReal)(up / P->weight[i]);
    ax->weight[i] = (PetscReal)P->weight[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRFitProfileAxisDestroy(BCRAxis *ax)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(ax->lower));
  PetscCall(PetscFree(ax->diag));
  PetscCall(PetscFree(ax->upper));
  PetscCall(PetscFree(ax->weight));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a rank's nodes are off by */
typedef struct {
  double lo, hi, square, count;
  BCRFitWorst worst;
} BCRFitOff;

/* What is left on a diagonal of the first or last layer is a coupling to what is beyond, as that of the layer is */
static PetscBool BCRFitProfileBeyond(const BCRFitProfile *P, PetscInt layer, double rest)
{
  const double mean = P->rest[layer], far = 64;

  return (PetscBool)(mean > 1e-3 * P->link[layer ? layer - 1 : 0] && rest * far > mean && rest < far * mean);
}

static void BCRFitProfileOff(const BCRFitData *F, const BCRFitProfile *P, const PetscInt o[3], void *context)
{
  const PetscInt g = P->axis, *N = F->A->N;
  BCRFitOff *f = (BCRFitOff *)context;
  PetscInt first, count;

  for (PetscInt d = 0; d < F->dim; d++) {
    const PetscInt step = d == 0 ? 1 : (d == 1 ? N[0] : N[0] * N[1]);

    for (int around = 0; around < (F->wrap[d] ? 2 : 1); around++) {
      PetscInt node;
      const PetscInt k = BCRFitLinks(F, o, d, (PetscBool)around, F->line, &node);

      for (PetscInt i = 0; i < k; i++) {
        const PetscInt layer = g ? o[g] - (d == g) : node + i,
                       row = BCRFitNatural(F, node + i, o) - (d && !around ? step : 0);
        const double q =
          d == g ? F->line[i] / P->link[layer] : F->line[i] * BCRFitWeight(F, g, layer) / (P->a[d] * P->weight[layer]);

        f->lo = PetscMin(f->lo, q);
        f->hi = PetscMax(f->hi, q);
        BCRFitWorstOf(&f->worst, PetscAbs(q - 1), row, row + (around ? -(F->n[d] - 1) * step : step));
      }
    }
  }
  for (PetscInt i = 0; i < F->own[0]; i++) {
    const PetscInt q[3] = {F->lo[0] + i, o[1], o[2]}, layer = q[g], row = BCRFitNatural(F, q[0], o);
    double low, diag, up, rest = 0, w = 1;

    BCRFitProfileRow(F, P, layer, &low, &diag, &up);
    for (PetscInt d = 0; d < F->dim; d++) {
      if (d == g) continue;
      rest += BCRFitDiagonal(F, d, q[d], P->a);
      w *= BCRFitWeight(F, d, q[d]);
    }
    diag += P->weight[layer] * rest;
    if (diag > 0) BCRFitWorstOf(&f->worst, PetscAbs(F->D[BCRFitAt(F, q[0], o)] / (w * diag) - 1), row, row);
  }
  count = BCRFitProfileRest(F, P, o, &first);
  for (PetscInt i = 0; i < count; i++) {
    const PetscInt layer = g ? o[g] : first + i;
    const double rest = F->line[first - F->lo[0] + i], x = (rest - P->rest[layer]) / P->weight[layer];

    f->count++;
    if ((layer == 0 || layer == P->n - 1) && BCRFitProfileBeyond(P, layer, rest)) {
      f->lo = PetscMin(f->lo, rest / P->rest[layer]);
      f->hi = PetscMax(f->hi, rest / P->rest[layer]);
    } else f->square += x * x;
  }
}

/* The smallest eigenvalue of T, and of one that is singular the next, estimated. *good: it is definite, or singular as it
   should be */
static PetscErrorCode BCRFitProfileLowest(const BCRFitData *F, const BCRFitProfile *P, PetscBool null, double *low,
                                          PetscBool *good)
{
  BCRAxis ax = {0};
  PetscReal x;
  double size = 0, next = PETSC_MAX_REAL;

  PetscFunctionBegin;
  BCRCallElse(BCRFitProfileAxis(F, P, &ax), (void)BCRFitProfileAxisDestroy(&ax));
  BCRCallElse(BCRAxisLowest(&ax, &x), (void)BCRFitProfileAxisDestroy(&ax));
  *low = (double)x;
  for (PetscInt i = 0; i < P->n; i++) size = PetscMax(size, (double)ax.diag[i]);
  for (PetscInt i = 0; i + 1 < P->n; i++) {
    const double s = sin(0.5 * (double)PETSC_PI / (double)P->n);

    next = PetscMin(next, 4 * s * s * (double)PetscMin(ax.upper[i], ax.lower[i + 1]));
  }
  PetscCall(BCRFitProfileAxisDestroy(&ax));
  for (PetscInt d = 0; d < F->dim; d++) {
    BCRAxis e = F->op->axis[d];
    const double s = sin((double)PETSC_PI / (F->wrap[d] ? 1 : 2) / (double)F->n[d]);

    if (d == P->axis || F->n[d] < 2) continue;
    e.a = (PetscReal)P->a[d];
    PetscCall(BCRAxisLowest(&e, &x));
    *low += (double)x;
    next = PetscMin(next, 4 * s * s * P->a[d]);
    size += 4 * P->a[d];
  }
  *good = (PetscBool)(null ? PetscAbs(*low) <= BCR_SUM_TOL * size : *low > BCR_SUM_TOL * size);
  if (null) *low = next;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Along this axis. *good: there is such a fit */
static PetscErrorCode BCRFitProfileAlong(const BCRFitData *F, PetscBool null, BCRFitProfile *P, PetscBool *good)
{
  const MPI_Comm comm = F->A->comm;
  BCRFitOff f = {
    PETSC_MAX_REAL, 0, 0, 0, {0, 0, 0}
  };
  double low = 0;

  PetscFunctionBegin;
  P->bound = PETSC_INFINITY;
  PetscCall(BCRFitProfileMeans(F, null, P, good));
  if (!*good) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRFaultShare(comm, BCRFitProfileLowest(F, P, null, &low, good), BCR_NO_MEMORY));
  if (!*good) PetscFunctionReturn(PETSC_SUCCESS);
  BCRFitProfileLines(F, P, &f, BCRFitProfileOff);
  if (F->A->grid.size > 1) {
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &f.lo, 1, MPI_DOUBLE, MPI_MIN, comm));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &f.hi, 1, MPI_DOUBLE, MPI_MAX, comm));
    PetscCallMPI(
      MPI_Reduce(F->A->grid.rank ? (void *)&f.square : MPI_IN_PLACE, &f.square, 2, MPI_DOUBLE, MPI_SUM, 0, comm));
    PetscCallMPI(MPI_Bcast(&f.square, 2, MPI_DOUBLE, 0, comm));
  }
  P->worst = f.worst;
  P->spread = f.lo > 0 ? f.hi / f.lo : PETSC_INFINITY;
  P->bound = P->spread * (1 + (f.count > 0 ? sqrt(f.square / f.count) : 0) / low);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFitProfileTry(BCRFitData *F, PetscBool null, BCRFitProfile *best)
{
  PetscReal *S = F->S;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(best, sizeof(*best)));
  best->axis = -1;
  best->bound = PETSC_INFINITY;
  if (F->device || F->apart) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt g = 0; g < F->dim; g++) {
    BCRFitProfile P = {.axis = g, .n = F->n[g]};
    PetscBool fits = (PetscBool)(F->n[g] > 2 && !F->wrap[g] && !(F->A->one && g > 0)), better = PETSC_FALSE;

    for (PetscInt d = 0; d < F->dim; d++) fits = (PetscBool)(fits && (d == g || F->n[d] > 2));
    if (!fits || F->dim < 2) continue;
    PetscCall(BCRFaultShare(F->A->comm, PetscMalloc3(P.n, &P.weight, P.n, &P.link, P.n, &P.rest), BCR_NO_MEMORY));
    F->S = NULL; /* the couplings themselves */
    BCRCallElse(BCRFitProfileAlong(F, null, &P, &better), F->S = S);
    F->S = S;
    better = (PetscBool)(better && (best->axis < 0 || P.bound < best->bound));
    if (better) PetscCall(BCRFitProfileDestroy(best));
    if (better) *best = P;
    else PetscCall(BCRFitProfileDestroy(&P));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFitProfileTake(BCRFitData *F, const BCRFitProfile *P)
{
  BCROperator *op = F->op;
  BCRAxis *ax = &op->axis[P->axis];

  PetscFunctionBegin;
  op->shift = 0;
  for (PetscInt d = 0; d < 3; d++) op->axis[d].a = (PetscReal)P->a[d];
  PetscCall(BCRFitProfileAxis(F, P, ax));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFitProfileDestroy(BCRFitProfile *P)
{
  PetscFunctionBegin;
  PetscCall(PetscFree3(P->weight, P->link, P->rest));
  PetscFunctionReturn(PETSC_SUCCESS);
}
