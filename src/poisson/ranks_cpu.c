/*
  Poisson across ranks on the host: the steps of ranks.c with MPI. A core (core.h) eliminates the rows of a rank, the
  interfaces' rows are systems over the ranks (src/tridiagonal/reduced.h). A plane's modes from BCR_RANKS_BATCH on go out
  in two batches, one of which is on its way while the other is worked on.
*/
#include "ranksimpl.h"
#include "../tridiagonal/reduced.h"
#include "../base/agree.h"
#include "../base/arena.h"

/* From so many modes on those of a plane go out in two batches. Not measured apart */
#define BCR_RANKS_BATCH 2048

typedef struct {
  BCRModes modes;
  BCRReduced reduced[2]; /* of each batch */
  BCRArena space;
  /* [nmodes]: right-hand sides of this part's interface row and, what this rank adds, of the previous part's; solutions
     x and before there */
  double *interface, *previous, *x, *before;
  void *w; /* two solves: right-hand side and solution of the second */
  size_t wbytes;
  /* The constant mode of a singular operator, interface rows of all parts [ninterface]: couplings, ones and weights of
     BCRSlabRowsConstant(), right-hand side g, solution x; what each rank adds to two of them [size][2], and this one */
  struct {
    double *low, *up, *ones, *weight, *g, *x, *gathered, mine[2];
    MPI_Request request;
  } constantmode;
  double mean;    /* of the right-hand side, times factor until it is known on all ranks */
  double removed; /* by the last solve */
  PetscReal *halo[2], *halosend[2];
  PetscMPIInt halotag;
  MPI_Request halorequest[4];
  int nhalo;
} HostRanks;

static HostRanks *state(BCRRanks r)
{
  return (HostRanks *)r->state;
}

/* Rows and the box */

static inline double get(BCRPrecision io, const void *f, ptrdiff_t i)
{
  return io == BCR_DOUBLE ? ((const double *)f)[i] : ((const float *)f)[i];
}
static inline void set(BCRPrecision io, void *f, ptrdiff_t i, double v)
{
  if (io == BCR_DOUBLE) ((double *)f)[i] = v;
  else ((float *)f)[i] = (float)v;
}

/* v = c v + a (row j of f) */
static void row_get(BCRRanks r, const void *f, PetscInt j, double c, double a, double v[])
{
  for (PetscInt i1 = 0; i1 < r->no[1]; i1++) {
    const ptrdiff_t o =
                      (ptrdiff_t)j * r->stride[r->axis] + (r->nother > 1 ? (ptrdiff_t)i1 * r->stride[r->other[1]] : 0),
                    s = r->nother > 0 ? r->stride[r->other[0]] : 1;

    for (PetscInt i0 = 0; i0 < r->no[0]; i0++) {
      double *p = v + i0 + r->no[0] * i1;

      *p = (c != 0 ? c * *p : 0) + a * get(r->io, f, o + i0 * s);
    }
  }
}
/* row j of u = c (row j of u) + a v */
static void row_set(BCRRanks r, void *u, PetscInt j, double c, double a, const double v[])
{
  for (PetscInt i1 = 0; i1 < r->no[1]; i1++) {
    const ptrdiff_t o =
                      (ptrdiff_t)j * r->stride[r->axis] + (r->nother > 1 ? (ptrdiff_t)i1 * r->stride[r->other[1]] : 0),
                    s = r->nother > 0 ? r->stride[r->other[0]] : 1;

    for (PetscInt i0 = 0; i0 < r->no[0]; i0++)
      set(r->io, u, o + i0 * s,
          (c != 0 ? c * get(r->io, u, o + i0 * s) : 0) + (a != 0 ? a * v[i0 + r->no[0] * i1] : 0));
  }
}

/* u += w + c over the first rows rows (w NULL: none) in the order of memory; returns the sum of u */
static double box_add(BCRRanks r, PetscInt rows, void *u, const void *w, double c)
{
  PetscInt n[3] = {1, 1, 1};
  double sum = 0, lost = 0; /* by roundings of sum, whose parts may be much larger than it is in the end */

  for (PetscInt d = 0; d < r->dim; d++) n[d] = d == r->axis ? rows : r->x[d].n;
  for (PetscInt k = 0; k < n[2]; k++) {
    for (PetscInt j = 0; j < n[1]; j++) {
      const ptrdiff_t o =
        (r->dim > 1 ? (ptrdiff_t)j * r->stride[1] : 0) + (r->dim > 2 ? (ptrdiff_t)k * r->stride[2] : 0);
      double part = 0;

      if (r->io == BCR_DOUBLE) {
        double *p = (double *)u + o;
        const double *q = w ? (const double *)w + o : NULL;

        for (PetscInt i = 0; i < n[0]; i++) {
          if (w || c != 0) p[i] += (q ? q[i] : 0) + c;
          part += p[i];
        }
      } else {
        float *p = (float *)u + o;
        const float *q = w ? (const float *)w + o : NULL;

        for (PetscInt i = 0; i < n[0]; i++) {
          if (w || c != 0) p[i] = (float)(p[i] + (double)(q ? q[i] : 0) + c);
          part += p[i];
        }
      }
      {
        const double more = sum + part;

        lost += fabs(sum) > fabs(part) ? (sum - more) + part : (part - more) + sum;
        sum = more;
      }
    }
  }
  return sum + lost;
}

/* Set-up */

static PetscErrorCode host_create(BCRRanks r)
{
  HostRanks *h;

  PetscFunctionBegin;
  PetscCall(PetscNew(&h));
  r->state = h;
  h->constantmode.request = MPI_REQUEST_NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode host_modes(BCRRanks r)
{
  HostRanks *h = state(r);
  BCRAxis other[2];
  PetscMPIInt count;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < r->nother; i++) other[i] = r->x[r->other[i]];
  PetscCall(PetscMPIIntCast((PetscInt64)r->no[0] * r->no[1], &count)); /* a row of the slab is one message */
  PetscCall(BCRModesCreate(r->nother, other, r->singular, r->options.isa, &h->modes));
  PetscCall(BCRModesGet(h->modes, &r->nmodes, &r->lambda, &r->norm, &r->constant));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode host_core_create(BCRRanks r, const BCRAxis axes[], const BCRCoreBorder *border, PetscReal shift,
                                       PetscBool singular, void **core, const char **why)
{
  PetscFunctionBegin;
  if (r->product)
    PetscCall(BCRCoreCreateProduct(r->dim, axes, r->mixed, shift, singular, r->stride, r->io, &r->options,
                                   BCRRanksGetShare(r), (BCRCore *)core));
  else if (border) {
    PetscCall(BCRCoreCreateBorder(r->dim, axes, shift, r->stride, r->io, &r->options, border, (BCRCore *)core));
    if (!*core) *why = "the core has no plan for block rows that go on on other ranks";
  } else PetscCall(BCRCoreCreate(r->dim, axes, shift, singular, r->stride, r->io, &r->options, (BCRCore *)core));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode host_core_shift(void *core, PetscReal shift)
{
  PetscFunctionBegin;
  PetscCall(BCRCoreSetShift((BCRCore)core, shift));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode host_core_factor(void *core, PetscReal factor)
{
  PetscFunctionBegin;
  PetscCall(BCRCoreSetFactor((BCRCore)core, factor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode host_core_plan(void *core, BCRPlan *plan)
{
  PetscFunctionBegin;
  PetscCall(BCRCoreGetPlan((BCRCore)core, plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode host_core_info(void *core, BCRCoreInfo *info)
{
  PetscFunctionBegin;
  PetscCall(BCRCoreGetInfo((BCRCore)core, info));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode host_core_destroy(void **core)
{
  PetscFunctionBegin;
  PetscCall(BCRCoreDestroy((BCRCore *)core));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode host_local(BCRRanks r)
{
  const PetscInt ninterface = r->p.ninterface;
  const size_t row = (size_t)r->nmodes * sizeof(double);
  HostRanks *h = state(r);
  size_t size = 1;

  PetscFunctionBegin;
  if (r->p.nparts == 1 || r->product) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRArenaGet(&h->space, row, &h->interface));
  PetscCall(BCRArenaGet(&h->space, row, &h->previous));
  PetscCall(BCRArenaGet(&h->space, row, &h->x));
  PetscCall(BCRArenaGet(&h->space, row, &h->before));
  PetscCall(
    BCRArenaGet(&h->space, (6 * (size_t)ninterface + 2 * (size_t)r->size) * sizeof(double), &h->constantmode.low));
  h->constantmode.up = h->constantmode.low + ninterface;
  h->constantmode.ones = h->constantmode.up + ninterface;
  h->constantmode.weight = h->constantmode.ones + ninterface;
  h->constantmode.x = h->constantmode.weight + ninterface;
  h->constantmode.g = h->constantmode.x + ninterface;
  h->constantmode.gathered = h->constantmode.g + ninterface;
  for (int i = 0; i < 2 && r->halo; i++) {
    PetscCall(BCRArenaGet(&h->space, r->nmodes * sizeof(PetscReal), &h->halo[i]));
    PetscCall(BCRArenaGet(&h->space, r->nmodes * sizeof(PetscReal), &h->halosend[i]));
  }
  if (r->core && r->nopass[BCR_PASS_ONE]) {
    for (PetscInt d = 0; d < r->dim; d++)
      size += (size_t)r->stride[d] * (size_t)((d == r->axis ? BCRRanksMine(r)->interior : r->x[d].n) - 1);
    h->wbytes = size * (r->io == BCR_DOUBLE ? sizeof(double) : sizeof(float));
    PetscCall(BCRArenaGet(&h->space, h->wbytes, &h->w));
  }
  PetscCall(PetscArrayzero(h->previous, r->nmodes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode host_connect(BCRRanks r)
{
  PetscInt first, end;

  PetscFunctionBegin;
  PetscCall(PetscCommGetNewTag(r->comm, &state(r)->halotag));
  BCRTeamShare(r->options.team, r->no[1], &first, &end);
  r->nbatch = end - first > 1 && (end - first) * r->no[0] >= BCR_RANKS_BATCH ? 2 : 1;
  r->batch[0] = first;
  r->batch[1] = first + (end - first) / r->nbatch;
  r->batch[2] = end;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The systems of the interface rows */
static PetscErrorCode host_tables(BCRRanks r)
{
  HostRanks *h = state(r);
  BCRReducedSpec spec = {.rows = r->p.mine >= 0 && BCRRanksMine(r)->has ? 1 : 0,
                         .periodic = r->p.periodic,
                         .flags = BCR_REDUCED_BEFORE | BCR_REDUCED_ADD,
                         .eps = (PetscReal)BCRRanksEps(r),
                         .coupling = BCR_TRI_COUPLING_AUTO};
  const PetscInt timed = r->p.times && r->other[1] == r->x[r->axis].timed ? 1 : 0; /* of the other axes: */
  const double *lambda[2];
  double *low = NULL, *diag = NULL, *up = NULL;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < 2; i++) PetscCall(BCRModesGetAxis(h->modes, i, &lambda[i]));
  BCRCallElse(BCRRanksShare(r, PetscMalloc3(r->nmodes, &low, r->nmodes, &diag, r->nmodes, &up), BCR_NO_MEMORY),
              (void)PetscFree3(low, diag, up));
  for (PetscInt k = r->batch[0] * r->no[0]; k < r->batch[r->nbatch] * r->no[0] && spec.rows; k++) {
    PetscInt mode[2];

    if (k == r->constant) { /* solved by every rank, see constant_mode() */
      low[k] = up[k] = 0;
      diag[k] = 1;
      continue;
    }
    mode[0] = k % r->no[0];
    mode[1] = k / r->no[0];
    if (r->p.times)
      BCRSlabRowsInterface(&r->p, r->p.mine, r->shift + lambda[1 - timed][mode[1 - timed]], lambda[timed][mode[timed]],
                           &low[k], &diag[k], &up[k], NULL);
    else BCRSlabRowsInterface(&r->p, r->p.mine, r->shift + r->lambda[k], 0, &low[k], &diag[k], &up[k], NULL);
    low[k] = -low[k];
    up[k] = -up[k];
  }
  for (PetscInt b = 0; b < r->nbatch; b++) {
    const PetscInt k = r->batch[b] * r->no[0];

    PetscCall(BCRReducedDestroy(&h->reduced[b]));
    spec.nsys = r->batch[b + 1] * r->no[0] - k;
    spec.low = low + k;
    spec.diag = diag + k;
    spec.up = up + k;
    BCRCallElse(BCRReducedCreate(r->comm, &spec, &h->reduced[b]), (void)PetscFree3(low, diag, up));
  }
  PetscCall(PetscFree3(low, diag, up));
  if (r->constant >= 0) BCRSlabRowsConstant(&r->p, h->constantmode.low);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solve */

static PetscErrorCode host_alone(BCRRanks r, void *stream, const void *f, void *u)
{
  PetscReal removed = 0;

  PetscFunctionBegin;
  (void)stream;
  if (r->core) PetscCall(BCRCoreSolve((BCRCore)r->core, f, u, &removed));
  if (r->singular && r->size > 1 && r->p.nparts == 1)
    PetscCallMPI(MPI_Bcast(&removed, 1, MPIU_REAL, r->p.part[0].rank, r->comm));
  state(r)->removed = (double)removed;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* to modes, times norm */
static PetscErrorCode analyze(BCRRanks r, double v[])
{
  PetscFunctionBegin;
  PetscCall(BCRModesApply(state(r)->modes, 0, v));
  for (PetscInt k = 0; k < r->nmodes; k++) v[k] *= r->norm[k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two solves: the rows between the interfaces, as if the interface rows were 0, and what is left of the right-hand
   sides of the own interface row and for the one before */
static PetscErrorCode two_begin(BCRRanks r, const void *f, void *u)
{
  const BCRSlabPart *mine = BCRRanksMine(r), *before = BCRRanksBefore(r);
  const PetscInt in = mine->interior;
  HostRanks *h = state(r);

  PetscFunctionBegin;
  if (mine->has) row_get(r, f, in, 0, r->factor, h->interface); /* before it may be overwritten */
  if (in) PetscCall(BCRCoreSolve((BCRCore)r->core, f, u, NULL));
  if (before && in) {
    row_get(r, u, 0, 0, r->p.up[before->first + before->interior], h->previous);
    PetscCall(analyze(r, h->previous));
  }
  if (mine->has) {
    if (in) row_get(r, u, in - 1, 1, r->p.low[mine->first + in], h->interface);
    PetscCall(analyze(r, h->interface));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The interface row's solution, and the rows between once more with what the interfaces add */
static PetscErrorCode two_end(BCRRanks r, void *u)
{
  const BCRSlabPart *mine = BCRRanksMine(r);
  const PetscInt in = mine->interior;
  HostRanks *h = state(r);

  PetscFunctionBegin;
  if (in) PetscCall(PetscMemzero(h->w, h->wbytes));
  if (r->p.prev >= 0 && in) {
    PetscCall(BCRModesApply(h->modes, 1, h->before));
    row_set(r, h->w, 0, 0, r->p.low[mine->first] / r->factor, h->before);
  }
  if (mine->has) {
    PetscCall(BCRModesApply(h->modes, 1, h->x));
    row_set(r, u, in, 0, 1, h->x);
  }
  if (!in) PetscFunctionReturn(PETSC_SUCCESS);
  if (mine->has) row_set(r, h->w, in - 1, 1, r->p.up[mine->first + in - 1] / r->factor, h->x);
  if (h->mean != 0) (void)box_add(r, in, h->w, NULL, -h->mean);
  PetscCall(BCRCoreSolve((BCRCore)r->core, h->w, h->w, NULL));
  (void)box_add(r, in, u, h->w, 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode host_eliminate(BCRRanks r, void *stream, PetscInt b, const void *f, void *u)
{
  HostRanks *h = state(r);

  PetscFunctionBegin;
  (void)stream;
  if (b == 0) h->mean = h->removed = 0;
  if (r->p.mine < 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (r->pass == BCR_PASS_ONE && b == 0) PetscCall(BCRCoreBorderStart((BCRCore)r->core, f, u));
  if (r->pass == BCR_PASS_ONE)
    PetscCall(BCRCoreBorderBegin((BCRCore)r->core, r->batch[b], r->batch[b + 1], f, u, h->previous, h->interface));
  else if (b == 0) PetscCall(two_begin(r, f, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool has_constant(BCRRanks r, PetscInt b)
{
  return r->constant >= r->batch[b] * r->no[0] && r->constant < r->batch[b + 1] * r->no[0] ? PETSC_TRUE : PETSC_FALSE;
}

static PetscErrorCode host_exchange(BCRRanks r, void *stream, PetscInt b)
{
  const PetscInt k0 = r->batch[b] * r->no[0];
  HostRanks *h = state(r);

  PetscFunctionBegin;
  (void)stream;
  if (has_constant(r, b)) {
    const PetscBool has = r->p.mine >= 0 ? BCRRanksMine(r)->has : PETSC_FALSE;

    h->constantmode.mine[0] = has ? h->interface[r->constant] : 0;
    h->constantmode.mine[1] = h->previous[r->constant];
    if (has) h->interface[r->constant] = 0;
    h->previous[r->constant] = 0;
    PetscCallMPI(MPI_Iallgather(h->constantmode.mine, 2, MPI_DOUBLE, h->constantmode.gathered, 2, MPI_DOUBLE, r->comm,
                                &h->constantmode.request));
  }
  PetscCall(BCRReducedSolveBegin(h->reduced[b], h->interface + k0, h->previous + k0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The constant mode of a singular operator: all interface rows are known to all. The weighted mean
   of the right-hand side is taken out; the solution is fixed up to a constant. With d_p = up'_p
   (x_(p+1) - x_p), the rows say d_p = low'_p/up'_(p-1) d_(p-1) - g_p. */
static void constant_mode(BCRRanks r, double *mean)
{
  HostRanks *h = state(r);
  const double *low = h->constantmode.low, *up = h->constantmode.up, *one = h->constantmode.ones,
               *weight = h->constantmode.weight, *gathered = h->constantmode.gathered;
  double *g = h->constantmode.g;
  const PetscInt n = r->p.ninterface;
  double sum = 0, ones = 0, d = 0, rate = 0, total = 0;

  for (PetscInt p = 0; p < n; p++) {
    g[p] = gathered[2 * r->p.part[p].rank] + gathered[2 * r->p.part[(p + 1) % r->p.nparts].rank + 1];
    sum += weight[p] * g[p];
    ones += weight[p] * one[p];
  }
  *mean = sum / ones;
  /* round a periodic axis the steps add up to zero: what flux into the first row does that. rate: what they add up to
     for a flux of one more, step of p-th */
  for (int pass = r->p.periodic ? 0 : 1; pass < 2; pass++) {
    double x = 0, f = pass && r->p.periodic ? -total / rate : 0, step = 1;

    for (PetscInt p = 0; p < n; p++) {
      h->constantmode.x[p] = x;
      d = (p ? low[p] * d : f) - (g[p] - *mean * one[p]);
      d = p + 1 < n || r->p.periodic ? d / up[p] : 0;
      x += d;
      step = p + 1 < n || r->p.periodic ? (p ? low[p] * step : step) / up[p] : 0;
      rate += step;
    }
    total = x;
  }
}

static PetscErrorCode host_reduce(BCRRanks r, void *stream, PetscInt b, void *u)
{
  const PetscInt k0 = r->batch[b] * r->no[0];
  HostRanks *h = state(r);

  PetscFunctionBegin;
  (void)stream, (void)u;
  PetscCall(BCRReducedSolveEnd(h->reduced[b], h->x + k0, h->before + k0, NULL));
  if (has_constant(r, b)) {
    PetscCallMPI(MPI_Wait(&h->constantmode.request, MPI_STATUS_IGNORE));
    constant_mode(r, &h->mean);
    if (r->p.mine >= 0 && BCRRanksMine(r)->has) h->x[r->constant] = h->constantmode.x[r->p.mine];
    if (r->p.prev >= 0) h->before[r->constant] = h->constantmode.x[r->p.prev];
    h->mean /= r->factor;
    h->removed = h->mean;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode host_back(BCRRanks r, void *stream, PetscInt b, const void *f, void *u)
{
  HostRanks *h = state(r);

  PetscFunctionBegin;
  (void)stream;
  if (r->p.mine < 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (r->pass == BCR_PASS_ONE) {
    double sum;

    PetscCall(BCRCoreBorderEnd((BCRCore)r->core, r->batch[b], r->batch[b + 1], f, u, h->before, h->x, h->mean));
    if (b == r->nbatch - 1 && !(r->singular && BCRCoreBorderSum((BCRCore)r->core, u, &sum)))
      PetscCall(BCRCoreBorderFinish((BCRCore)r->core, 0, u));
  } else if (b == r->nbatch - 1) PetscCall(two_end(r, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sum is known from a plane before the last transform, or from all of the solution */
static PetscErrorCode host_zero_mean(BCRRanks r, void *stream, void *u)
{
  const PetscInt rows = r->p.mine >= 0 ? BCRRanksMine(r)->m : 0;
  double sum[2] = {0, 0}, mean;
  PetscBool plane = PETSC_FALSE;

  PetscFunctionBegin;
  (void)stream;
  if (rows && r->pass == BCR_PASS_ONE && !r->product) plane = BCRCoreBorderSum((BCRCore)r->core, u, &sum[0]);
  if (!plane) sum[0] = box_add(r, rows, u, NULL, 0);
  PetscCallMPI(MPI_Allreduce(sum, sum + 1, 1, MPI_DOUBLE, MPI_SUM, r->comm));
  mean = sum[1] / ((double)r->nmodes * (double)r->p.n);
  if (plane) PetscCall(BCRCoreBorderFinish((BCRCore)r->core, mean, u));
  else (void)box_add(r, rows, u, NULL, -mean);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode host_removed(BCRRanks r, const double **removed)
{
  PetscFunctionBegin;
  *removed = r->singular ? &state(r)->removed : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What mixed precision needs besides */

PetscErrorCode BCRRanksHaloBegin(BCRRanks r, const PetscReal *v, const PetscInt stride[])
{
  HostRanks *h = state(r);

  PetscFunctionBegin;
  h->nhalo = 0;
  if (r->p.mine < 0 || r->p.nparts == 1) PetscFunctionReturn(PETSC_SUCCESS);
  for (int s = 0; s < 2; s++) { /* 0: with the rank before */
    const PetscInt to = s ? r->p.next : r->p.prev, j = s ? BCRRanksMine(r)->m - 1 : 0;

    if (to < 0) continue;
    for (PetscInt i1 = 0; i1 < r->no[1]; i1++) {
      for (PetscInt i0 = 0; i0 < r->no[0]; i0++)
        h->halosend[s][i0 + r->no[0] * i1] =
          v[(ptrdiff_t)j * stride[r->axis] + (r->nother > 0 ? (ptrdiff_t)i0 * stride[r->other[0]] : 0) +
            (r->nother > 1 ? (ptrdiff_t)i1 * stride[r->other[1]] : 0)];
    }
    PetscCallMPI(MPI_Irecv(h->halo[s], (PetscMPIInt)(r->no[0] * r->no[1]), MPIU_REAL, r->p.part[to].rank,
                           s ? h->halotag : r->tag, r->comm, &h->halorequest[h->nhalo++]));
    PetscCallMPI(MPI_Isend(h->halosend[s], (PetscMPIInt)(r->no[0] * r->no[1]), MPIU_REAL, r->p.part[to].rank,
                           s ? r->tag : h->halotag, r->comm, &h->halorequest[h->nhalo++]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRanksHaloEnd(BCRRanks r, const PetscReal *halo[2])
{
  HostRanks *h = state(r);

  PetscFunctionBegin;
  halo[0] = r->p.prev >= 0 ? h->halo[0] : NULL;
  halo[1] = r->p.next >= 0 ? h->halo[1] : NULL;
  if (h->nhalo) PetscCallMPI(MPI_Waitall(h->nhalo, h->halorequest, MPI_STATUSES_IGNORE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRanksSum(BCRRanks r, MPI_Op op, int n, double v[])
{
  PetscFunctionBegin;
  if (r->size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, v, n, MPI_DOUBLE, op, r->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode host_info(BCRRanks r, BCRRanksInfo *info, size_t length, char coupling[])
{
  HostRanks *h = state(r);
  PetscInt neighbour = 0, shared = 0;
  size_t tables;
  double flops;

  PetscFunctionBegin;
  info->workspace += h->space.bytes;
  info->tables += 4 * sizeof(double) * (size_t)r->p.n;
  if (r->product && r->p.nparts > 1)
    PetscCall(BCRCoreGetExchange((BCRCore)r->core, &info->bytes_sent, &info->messages));
  if (r->p.nparts == 1 || r->product) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt b = 0; b < r->nbatch; b++) {
    BCRReducedInfo part;

    PetscCall(BCRReducedGetInfo(h->reduced[b], &part));
    neighbour += part.neighbour;
    shared += part.shared;
    info->bytes_sent += part.bytes_sent;
    info->messages += part.messages;
    info->workspace += part.workspace;
  }
  PetscCall(BCRModesBytes(h->modes, &tables, &flops));
  info->tables += tables;
  if (r->pass == BCR_PASS_TWO) info->flops += (double)(2 * (r->p.prev >= 0) + 2 * (r->p.next >= 0)) * flops;
  PetscCall(PetscSNPrintf(coupling, length,
                          "%" PetscInt_FMT " modes coupled by neighbours alone, %" PetscInt_FMT " shared out",
                          neighbour, shared));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode host_destroy(BCRRanks r)
{
  HostRanks *h = state(r);

  PetscFunctionBegin;
  for (int b = 0; b < 2; b++) PetscCall(BCRReducedDestroy(&h->reduced[b]));
  PetscCall(BCRModesDestroy(&h->modes));
  PetscCall(BCRArenaFree(&h->space));
  PetscCall(PetscFree(r->state));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const BCRRanksOps *BCRRanksCpu(void)
{
  static const BCRRanksOps ops = {
    .failed = "has no plan for its rows, as its own message says",
    .couplings = 1u << BCR_COUPLING_REDUCED,
    .create = host_create,
    .modes = host_modes,
    .core_create = host_core_create,
    .core_shift = host_core_shift,
    .core_factor = host_core_factor,
    .core_plan = host_core_plan,
    .core_info = host_core_info,
    .core_destroy = host_core_destroy,
    .local = host_local,
    .connect = host_connect,
    .tables = host_tables,
    .alone = host_alone,
    .eliminate = host_eliminate,
    .exchange = host_exchange,
    .reduce = host_reduce,
    .back = host_back,
    .zero_mean = host_zero_mean,
    .removed = host_removed,
    .info = host_info,
    .destroy = host_destroy,
  };

  return &ops;
}
