/*
  Poisson across ranks, see ranks.h and docs/ranks.md.

  Rows along the slabs' axis, for one mode of the other axes with eigenvalue L (shift included):

      (e_i + L + low_i + up_i) u_i - low_i u_(i-1) - up_i u_(i+1) = f_i

  with e_i the row's excess, 0 inside a uniform axis. The rows between two interfaces are a block B
  with B 1 = e + L + low_first e_1 + up_last e_m, so with w = B^-1 (e + L) and the corner entries
  t_right = (B^-1)_(m,1) low_first, t_left = (B^-1)_(1,m) up_last the elimination leaves the
  interface row i with

      low' = low_i t_right(block before)      up' = up_i t_left(block after)
      diag' = e_i + L + low_i w_m(block before) + up_i w_1(block after) + low' + up'

  sums of positive terms (docs/method.md, section 5, does the same for separators). The right-hand
  side gains low_i v_m(before) + up_i v_1(after), v the blocks' own solutions.
*/
#include "ranks.h"
#include "tables.h"
#include "../tridiagonal/reduced.h"
#include "../base/agree.h"
#include <math.h>
#include <string.h>

#define BCR_RANKS_PART 2048 /* modes from which on a plane's are sent in two parts */

struct _n_BCRRanks {
  MPI_Comm comm;
  PetscMPIInt rank, size, tag, halotag;
  PetscInt axis, dim, n, first, m; /* n: rows along the axis on all ranks */
  BCRAxis x[3];                    /* of the whole box; arrays owned */
  PetscInt nother, other[2], no[2];
  PetscInt stride[3];
  double shift, factor;
  PetscBool singular;
  BCRPrecision io;
  BCRCoreOptions options;
  BCRSlabRows p;
  BCRModes modes;
  PetscInt nmodes, constant;
  const double *lambda, *norm;
  BCRCore core; /* the rows between interfaces */
  /* and the interface row: one pass of the core, else two solves of the rows between */
  PetscBool bordered;
  double single; /* what a single row between interfaces has along the axis */
  /* the modes go out in parts, so that one part is on its way while the next is worked on */
  PetscInt nparted, parted[3];
  BCRReduced reduced[2];
  BCRArena space;
  double *own, *left, *x0, *before;
  void *w; /* the second local solve */
  size_t wbytes;
  /* interface rows of the constant mode, and what right-hand sides of ones become there */
  double *clow, *cup, *cones, *cweight;
  double *cgather, *cg, *cx;
  double cmine[2];
  PetscReal *halo[2], *halosend[2];
  MPI_Request halorequest[4];
  int nhalo;
};

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
  double sum = 0;

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
      sum += part;
    }
  }
  return sum;
}

/* An error of this rank's own steps becomes one of all ranks */
static PetscErrorCode ranks_share(BCRRanks r, PetscErrorCode ierr, const char what[])
{
  PetscFunctionBegin;
  if (r->size > 1) PetscCall(BCRFaultShare(r->comm, ierr, what));
  else PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Everything that depends on the shift but the core */
static PetscErrorCode ranks_tables(BCRRanks r)
{
  const PetscInt rows = r->p.mine >= 0 && r->p.part[r->p.mine].has ? 1 : 0;
  BCRReducedSpec spec = {.rows = rows,
                         .periodic = r->p.periodic,
                         .flags = BCR_REDUCED_BEFORE | BCR_REDUCED_ADD,
                         .eps = r->options.precision == BCR_DOUBLE ? 1e-17 : 1e-9,
                         .coupling = BCR_TRI_COUPLING_AUTO};
  double *low = NULL, *diag = NULL, *up = NULL;

  PetscFunctionBegin;
  BCRCallElse(ranks_share(r, PetscMalloc3(r->nmodes, &low, r->nmodes, &diag, r->nmodes, &up), BCR_NO_MEMORY),
              (void)PetscFree3(low, diag, up));
  for (PetscInt k = 0; k < r->nmodes && rows; k++) {
    if (k == r->constant) { /* solved by every rank, see constant_mode() */
      low[k] = up[k] = 0;
      diag[k] = 1;
      continue;
    }
    BCRSlabRowsInterface(&r->p, r->p.mine, r->shift + r->lambda[k], &low[k], &diag[k], &up[k], NULL);
    low[k] = -low[k];
    up[k] = -up[k];
  }
  for (PetscInt c = 0; c < r->nparted; c++) {
    const PetscInt k = r->parted[c] * r->no[0];

    PetscCall(BCRReducedDestroy(&r->reduced[c]));
    spec.nsys = r->parted[c + 1] * r->no[0] - k;
    spec.low = low + k;
    spec.diag = diag + k;
    spec.up = up + k;
    BCRCallElse(BCRReducedCreate(r->comm, &spec, &r->reduced[c]), (void)PetscFree3(low, diag, up));
  }
  PetscCall(PetscFree3(low, diag, up));
  for (PetscInt p = 0; p < r->p.ninterface && r->constant >= 0; p++) {
    double d;

    BCRSlabRowsInterface(&r->p, p, 0, &r->clow[p], &d, &r->cup[p], &r->cones[p]);
    r->cweight[p] = r->p.weight[r->p.part[p].first + r->p.part[p].interior];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The caller's shift for a core that sees a single row as no axis at all */
static PetscReal core_shift(BCRRanks r)
{
  return (PetscReal)(r->shift + r->single);
}

static PetscErrorCode core_create(BCRRanks r)
{
  const BCRSlabPart *mine = &r->p.part[r->p.mine];
  const PetscInt interior = mine->interior;
  PetscReal *zero = NULL;
  BCRAxis axes[3];

  PetscFunctionBegin;
  if (!interior) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt d = 0; d < r->dim; d++) axes[d] = r->x[d];
  if (r->p.nparts > 1) {
    BCRAxis *a = &axes[r->axis];
    const PetscInt first = mine->first, last = mine->first + interior - 1;
    BCRCoreBorder border;

    a->n = mine->m;
    if (a->lower) {
      a->lower += first;
      a->diag += first;
      a->upper += first;
    }
    border.axis = r->axis;
    border.open[0] = r->p.prev >= 0 ? PETSC_TRUE : PETSC_FALSE;
    border.open[1] = mine->has;
    for (int s = 0; s < 2; s++) {
      if (border.open[s] && !a->lower) a->end[s] = BCREndAtSeparator();
    }
    border.reach[0] = border.open[0] ? r->p.low[first] : 0;
    border.reach[1] = border.open[1] ? r->p.up[last] : 0;
    border.meet[0] = border.open[0] ? r->p.up[r->p.part[r->p.prev].first + r->p.part[r->p.prev].interior] : 0;
    border.meet[1] = border.open[1] ? r->p.low[last + 1] : 0;
    border.constant = r->constant;
    PetscCall(BCRCoreCreateBorder(r->dim, axes, (PetscReal)r->shift, r->stride, r->io, &r->options, &border, &r->core));
    if (r->core) {
      r->bordered = PETSC_TRUE;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    axes[r->axis] = r->x[r->axis];
  }
  if (r->p.nparts > 1) PetscCall(BCRSlabRowsAxis(&r->p, &axes[r->axis], &zero, &r->single));
  BCRCallElse(BCRCoreCreate(r->dim, axes, core_shift(r), r->p.nparts > 1 ? PETSC_FALSE : r->singular, r->stride, r->io,
                            &r->options, &r->core),
              (void)PetscFree(zero));
  PetscCall(PetscFree(zero));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies of the axes' coefficients */
static PetscErrorCode ranks_axes(BCRRanks r, const BCRAxis axes[])
{
  PetscFunctionBegin;
  for (PetscInt d = 0; d < r->dim; d++) {
    const PetscInt n = axes[d].n;

    if (!axes[d].lower) continue;
    PetscCall(PetscMalloc3(n, &r->x[d].lower, n, &r->x[d].diag, n, &r->x[d].upper));
    PetscCall(PetscArraycpy(r->x[d].lower, axes[d].lower, n));
    PetscCall(PetscArraycpy(r->x[d].diag, axes[d].diag, n));
    PetscCall(PetscArraycpy(r->x[d].upper, axes[d].upper, n));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* This rank's core and work space, no rank waiting for another */
static PetscErrorCode ranks_local(BCRRanks r, PetscBool halo)
{
  BCRAxis other[2];
  PetscInt ninterface = r->p.ninterface;
  PetscMPIInt count;
  size_t size = 1;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < r->nother; i++) other[i] = r->x[r->other[i]];
  if (r->p.nparts > 1) {
    PetscCall(PetscMPIIntCast((PetscInt64)r->no[0] * r->no[1], &count)); /* a row of the slab is one message */
    PetscCall(BCRModesCreate(r->nother, other, r->singular, r->options.isa, &r->modes));
    PetscCall(BCRModesGet(r->modes, &r->nmodes, &r->lambda, &r->norm, &r->constant));
  }
  if (r->p.mine >= 0) PetscCall(core_create(r));
  if (r->p.nparts == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRArenaGet(&r->space, r->nmodes * sizeof(double), &r->own));
  PetscCall(BCRArenaGet(&r->space, r->nmodes * sizeof(double), &r->left));
  PetscCall(BCRArenaGet(&r->space, r->nmodes * sizeof(double), &r->x0));
  PetscCall(BCRArenaGet(&r->space, r->nmodes * sizeof(double), &r->before));
  PetscCall(BCRArenaGet(&r->space, (6 * (size_t)ninterface + 2 * (size_t)r->size) * sizeof(double), &r->clow));
  r->cup = r->clow + ninterface;
  r->cones = r->cup + ninterface;
  r->cweight = r->cones + ninterface;
  r->cx = r->cweight + ninterface;
  r->cg = r->cx + ninterface;
  r->cgather = r->cg + ninterface;
  for (int i = 0; i < 2 && halo; i++) {
    PetscCall(BCRArenaGet(&r->space, r->nmodes * sizeof(PetscReal), &r->halo[i]));
    PetscCall(BCRArenaGet(&r->space, r->nmodes * sizeof(PetscReal), &r->halosend[i]));
  }
  if (r->core && !r->bordered) {
    for (PetscInt d = 0; d < r->dim; d++)
      size += (size_t)r->stride[d] * (size_t)((d == r->axis ? r->p.part[r->p.mine].interior : r->x[d].n) - 1);
    r->wbytes = size * (r->io == BCR_DOUBLE ? sizeof(double) : sizeof(float));
    PetscCall(BCRArenaGet(&r->space, r->wbytes, &r->w));
  }
  PetscCall(PetscArrayzero(r->left, r->nmodes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ranks_fill(BCRRanks r, MPI_Comm comm, PetscInt axis, PetscInt first, PetscInt m, PetscInt dim,
                                 const BCRAxis axes[], PetscReal shift, PetscBool singular, const PetscInt stride[],
                                 BCRPrecision io, const BCRCoreOptions *options, PetscBool halo)
{
  PetscFunctionBegin;
  r->comm = MPI_COMM_NULL;
  r->size = 1;
  if (comm != MPI_COMM_NULL) {
    PetscCall(PetscCommDuplicate(comm, &r->comm, &r->tag));
    PetscCall(PetscCommGetNewTag(r->comm, &r->halotag));
    PetscCallMPI(MPI_Comm_rank(r->comm, &r->rank));
    PetscCallMPI(MPI_Comm_size(r->comm, &r->size));
  }
  r->axis = axis;
  r->dim = dim;
  r->n = axes[axis].n;
  r->first = first;
  r->m = m;
  r->shift = singular ? 0 : shift;
  r->factor = 1;
  r->singular = singular;
  r->io = io;
  r->options = *options;
  r->no[0] = r->no[1] = 1;
  for (PetscInt d = 0; d < dim; d++) {
    const PetscInt n = axes[d].n;

    r->stride[d] = stride[d];
    r->x[d] = axes[d];
    r->x[d].lower = r->x[d].diag = r->x[d].upper = r->x[d].weight = NULL;
    if (d != axis) {
      r->other[r->nother] = d;
      r->no[r->nother++] = n;
    }
  }
  PetscCall(ranks_share(r, ranks_axes(r, axes), BCR_NO_MEMORY));
  PetscCall(BCRSlabRowsCreate(r->comm, axis, first, m, &r->x[axis], &r->p));
  /* a schedule that is too short there, say */
  PetscCall(ranks_share(r, ranks_local(r, halo), "has no plan for its rows, as its own message says"));
  if (r->p.nparts == 1) PetscFunctionReturn(PETSC_SUCCESS);
  r->nparted = r->no[1] > 1 && r->nmodes >= BCR_RANKS_PART ? 2 : 1;
  r->parted[1] = r->no[1] / 2;
  r->parted[r->nparted] = r->no[1];
  PetscCall(ranks_tables(r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRanksCreate(MPI_Comm comm, PetscInt axis, PetscInt first, PetscInt m, PetscInt dim,
                              const BCRAxis axes[], PetscReal shift, PetscBool singular, const PetscInt stride[],
                              BCRPrecision io, const BCRCoreOptions *options, PetscBool halo, BCRRanks *ranks)
{
  BCRRanks r = NULL;
  PetscErrorCode ierr = PetscNew(&r);

  PetscFunctionBegin;
  *ranks = NULL;
  if (comm != MPI_COMM_NULL) ierr = BCRFaultShare(comm, ierr, BCR_NO_MEMORY);
  if (!ierr) ierr = ranks_fill(r, comm, axis, first, m, dim, axes, shift, singular, stride, io, options, halo);
  BCRCallElse(ierr, (void)BCRRanksDestroy(&r));
  *ranks = r;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRanksSetShift(BCRRanks r, PetscReal shift)
{
  PetscFunctionBegin;
  r->shift = r->singular ? 0 : shift;
  PetscCall(ranks_share(r, r->core ? BCRCoreSetShift(r->core, core_shift(r)) : PETSC_SUCCESS, BCR_NO_MEMORY));
  if (r->p.nparts > 1) PetscCall(ranks_tables(r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRanksSetFactor(BCRRanks r, PetscReal factor)
{
  PetscFunctionBegin;
  r->factor = factor;
  if (r->core) PetscCall(BCRCoreSetFactor(r->core, factor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRanksDestroy(BCRRanks *ranks)
{
  BCRRanks r = *ranks;

  PetscFunctionBegin;
  if (!r) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRCoreDestroy(&r->core));
  for (int c = 0; c < 2; c++) PetscCall(BCRReducedDestroy(&r->reduced[c]));
  PetscCall(BCRModesDestroy(&r->modes));
  for (PetscInt d = 0; d < 3; d++) PetscCall(PetscFree3(r->x[d].lower, r->x[d].diag, r->x[d].upper));
  PetscCall(BCRSlabRowsDestroy(&r->p));
  PetscCall(BCRArenaFree(&r->space));
  if (r->comm != MPI_COMM_NULL) PetscCall(PetscCommDestroy(&r->comm));
  PetscCall(PetscFree(*ranks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The constant mode of a singular operator: all interface rows are known to all. The weighted mean
   of the right-hand side is taken out; the solution is fixed up to a constant. With d_p = up'_p
   (x_(p+1) - x_p), the rows say d_p = low'_p/up'_(p-1) d_(p-1) - g_p. */
static void constant_mode(BCRRanks r, double *mean)
{
  const PetscInt n = r->p.ninterface;
  double sum = 0, ones = 0, d = 0, rate = 0, total = 0;

  for (PetscInt p = 0; p < n; p++) {
    r->cg[p] = r->cgather[2 * r->p.part[p].rank] + r->cgather[2 * r->p.part[(p + 1) % r->p.nparts].rank + 1];
    sum += r->cweight[p] * r->cg[p];
    ones += r->cweight[p] * r->cones[p];
  }
  *mean = sum / ones;
  /* round a periodic axis the steps add up to zero: what d before the first row does that */
  for (int pass = r->p.periodic ? 0 : 1; pass < 2; pass++) {
    double x = 0, f = pass && r->p.periodic ? -total / rate : 0;

    for (PetscInt p = 0; p < n; p++) {
      r->cx[p] = x;
      d = (p ? r->clow[p] * d : f) - (r->cg[p] - *mean * r->cones[p]);
      d = p + 1 < n || r->p.periodic ? d / r->cup[p] : 0;
      x += d;
      rate += 1 / r->cup[p];
    }
    total = x;
  }
}

PetscErrorCode BCRRanksSolve(BCRRanks r, const void *f, void *u, PetscReal *removed)
{
  const BCRSlabPart *mine = r->p.mine >= 0 ? &r->p.part[r->p.mine] : NULL;
  const PetscInt in = mine ? mine->interior : 0;
  MPI_Request gather = MPI_REQUEST_NULL;
  double mean = 0;

  PetscFunctionBegin;
  if (removed) *removed = 0;
  if (r->p.nparts == 1) {
    PetscReal rem = 0;

    if (r->core) PetscCall(BCRCoreSolve(r->core, f, u, &rem));
    if (r->singular && r->size > 1) PetscCallMPI(MPI_Bcast(&rem, 1, MPIU_REAL, r->p.part[0].rank, r->comm));
    if (removed) *removed = rem;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (mine && !r->bordered) {
    if (mine->has) row_get(r, f, in, 0, r->factor, r->own); /* before it may be overwritten */
    if (in) PetscCall(BCRCoreSolve(r->core, f, u, NULL));
    if (r->p.prev >= 0 && in) {
      const BCRSlabPart *p = &r->p.part[r->p.prev];

      row_get(r, u, 0, 0, r->p.up[p->first + p->interior], r->left);
      PetscCall(BCRModesApply(r->modes, 0, r->left));
      for (PetscInt k = 0; k < r->nmodes; k++) r->left[k] *= r->norm[k];
    }
    if (mine->has) {
      if (in) row_get(r, u, in - 1, 1, r->p.low[mine->first + in], r->own);
      PetscCall(BCRModesApply(r->modes, 0, r->own));
      for (PetscInt k = 0; k < r->nmodes; k++) r->own[k] *= r->norm[k];
    }
  }
  for (PetscInt c = 0; c < r->nparted; c++) {
    const PetscInt k0 = r->parted[c] * r->no[0], k1 = r->parted[c + 1] * r->no[0];

    if (r->bordered) PetscCall(BCRCoreBorderBegin(r->core, r->parted[c], r->parted[c + 1], f, u, r->left, r->own));
    if (r->constant >= k0 && r->constant < k1) {
      r->cmine[0] = mine && mine->has ? r->own[r->constant] : 0;
      r->cmine[1] = r->left[r->constant];
      if (mine && mine->has) r->own[r->constant] = 0;
      r->left[r->constant] = 0;
      PetscCallMPI(MPI_Iallgather(r->cmine, 2, MPI_DOUBLE, r->cgather, 2, MPI_DOUBLE, r->comm, &gather));
    }
    PetscCall(BCRReducedSolveBegin(r->reduced[c], r->own + k0, r->left + k0));
  }
  for (PetscInt c = 0; c < r->nparted; c++) {
    const PetscInt k0 = r->parted[c] * r->no[0], k1 = r->parted[c + 1] * r->no[0];

    PetscCall(BCRReducedSolveEnd(r->reduced[c], r->x0 + k0, r->before + k0, NULL));
    if (r->constant >= k0 && r->constant < k1) {
      PetscCallMPI(MPI_Wait(&gather, MPI_STATUS_IGNORE));
      constant_mode(r, &mean);
      if (mine && mine->has) r->x0[r->constant] = r->cx[r->p.mine];
      if (r->p.prev >= 0) r->before[r->constant] = r->cx[r->p.prev];
      mean /= r->factor;
      if (removed) *removed = (PetscReal)mean;
    }
    if (r->bordered) PetscCall(BCRCoreBorderEnd(r->core, r->parted[c], r->parted[c + 1], f, u, r->before, r->x0, mean));
  }
  if (mine && !r->bordered) {
    if (in) PetscCall(PetscMemzero(r->w, r->wbytes));
    if (r->p.prev >= 0 && in) {
      PetscCall(BCRModesApply(r->modes, 1, r->before));
      row_set(r, r->w, 0, 0, r->p.low[mine->first] / r->factor, r->before);
    }
    if (mine->has) {
      PetscCall(BCRModesApply(r->modes, 1, r->x0));
      row_set(r, u, in, 0, 1, r->x0);
    }
    if (in) { /* what the interfaces add */
      if (mine->has) row_set(r, r->w, in - 1, 1, r->p.up[mine->first + in - 1] / r->factor, r->x0);
      if (mean != 0) (void)box_add(r, in, r->w, NULL, -mean);
      PetscCall(BCRCoreSolve(r->core, r->w, r->w, NULL));
      (void)box_add(r, in, u, r->w, 0);
    }
  }
  if (r->singular) { /* zero mean */
    double sum[2] = {0, 0};

    sum[0] = box_add(r, r->m, u, NULL, 0);
    PetscCallMPI(MPI_Allreduce(sum, sum + 1, 1, MPI_DOUBLE, MPI_SUM, r->comm));
    (void)box_add(r, r->m, u, NULL, -sum[1] / ((double)r->nmodes * (double)r->n));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRanksHaloBegin(BCRRanks r, const PetscReal *v, const PetscInt stride[])
{
  PetscFunctionBegin;
  r->nhalo = 0;
  if (r->p.mine < 0 || r->p.nparts == 1) PetscFunctionReturn(PETSC_SUCCESS);
  for (int s = 0; s < 2; s++) { /* 0: with the rank before */
    const PetscInt to = s ? r->p.next : r->p.prev, j = s ? r->m - 1 : 0;

    if (to < 0) continue;
    for (PetscInt i1 = 0; i1 < r->no[1]; i1++) {
      for (PetscInt i0 = 0; i0 < r->no[0]; i0++)
        r->halosend[s][i0 + r->no[0] * i1] =
          v[(ptrdiff_t)j * stride[r->axis] + (r->nother > 0 ? (ptrdiff_t)i0 * stride[r->other[0]] : 0) +
            (r->nother > 1 ? (ptrdiff_t)i1 * stride[r->other[1]] : 0)];
    }
    PetscCallMPI(MPI_Irecv(r->halo[s], (PetscMPIInt)(r->no[0] * r->no[1]), MPIU_REAL, r->p.part[to].rank,
                           s ? r->halotag : r->tag, r->comm, &r->halorequest[r->nhalo++]));
    PetscCallMPI(MPI_Isend(r->halosend[s], (PetscMPIInt)(r->no[0] * r->no[1]), MPIU_REAL, r->p.part[to].rank,
                           s ? r->tag : r->halotag, r->comm, &r->halorequest[r->nhalo++]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRanksHaloEnd(BCRRanks r, const PetscReal *halo[2])
{
  PetscFunctionBegin;
  halo[0] = r->p.prev >= 0 ? r->halo[0] : NULL;
  halo[1] = r->p.next >= 0 ? r->halo[1] : NULL;
  if (r->nhalo) PetscCallMPI(MPI_Waitall(r->nhalo, r->halorequest, MPI_STATUSES_IGNORE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRanksSum(BCRRanks r, MPI_Op op, int n, double v[])
{
  PetscFunctionBegin;
  if (r->size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, v, n, MPI_DOUBLE, op, r->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRanksGetInfo(BCRRanks r, BCRRanksInfo *info)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(info, sizeof(*info)));
  if (r->core) {
    PetscCall(BCRCoreGetInfo(r->core, &info->core));
    info->workspace = info->core.workspace;
    info->tables = info->core.tables;
    info->flops = (r->p.nparts > 1 && !r->bordered ? 2 : 1) * info->core.flops;
  }
  info->workspace += r->space.bytes;
  info->tables += 4 * sizeof(double) * (size_t)r->n;
  if (r->comm == MPI_COMM_NULL) info->what[0] = 0;
  else if (r->p.nparts == 1)
    PetscCall(PetscSNPrintf(info->what, sizeof(info->what), "rank %d has all rows along %c", r->p.part[0].rank,
                            'x' + (int)r->axis));
  else {
    BCRReducedInfo reduced = {0};
    size_t tables;
    double flops;

    for (PetscInt c = 0; c < r->nparted; c++) {
      BCRReducedInfo part;

      PetscCall(BCRReducedGetInfo(r->reduced[c], &part));
      reduced.neighbour += part.neighbour;
      reduced.shared += part.shared;
      reduced.bytes_sent += part.bytes_sent;
      reduced.messages += part.messages;
      reduced.workspace += part.workspace;
    }
    PetscCall(BCRModesBytes(r->modes, &tables, &flops));
    info->tables += tables;
    info->workspace += reduced.workspace;
    if (!r->bordered) info->flops += (double)(2 * (r->p.prev >= 0) + 2 * (r->p.next >= 0)) * flops;
    info->bytes_sent = reduced.bytes_sent;
    info->messages = reduced.messages;
    PetscCall(PetscSNPrintf(info->what, sizeof(info->what),
                            "slabs along %c on %" PetscInt_FMT " ranks, %" PetscInt_FMT " interface %s; %" PetscInt_FMT
                            " modes coupled by neighbours alone, %" PetscInt_FMT " shared out",
                            'x' + (int)r->axis, r->p.nparts, r->p.ninterface, r->dim == 3 ? "planes" : "rows",
                            reduced.neighbour, reduced.shared));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
