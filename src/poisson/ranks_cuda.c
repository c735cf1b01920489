/*
  Poisson across ranks on CUDA devices: the steps of ranks.c with kernels and a BCRTransport. In two solves rows beside
  interfaces are transformed on the device, in double.

  Products of axes, and operators of either sign, exchange within their cores: cuda/share.c.

  Each part solves all reduced systems (BCR_COUPLING_WINDOW, BCR_COUPLING_GATHER): a part sends its interface row's
  right-hand sides to the next part, what the row before gets to the part before, and both to all others for the modes
  that reach across a part. One exchange. In a part's 2 nmodes numbers the interface row's come first, the last mode
  first, so that what goes to another part is in one piece.

  The modes are shared out (BCR_COUPLING_SHARED) in order, as many to each rank as to any other: a rank sends to another,
  of the modes that the other one has, these two, and gets the solutions in the two rows back, and the mean that a
  singular operator's right-hand side loses (0 from all but the rank that has the constant mode).
*/
#include "../base/petscbcrimpl.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "ranksimpl.h"
  #include "device.h"
  #include "tables.h"
  #include "../backend/cuda/border.h"
  #include "../backend/cuda/fields.h"
  #include "../backend/cuda/transport.h"
  #include "../transport/transport.h"

typedef struct { /* eigenbasis of an axis along the interfaces */
  PetscInt n, constant;
  BCRDeviceModes uniform; /* transforms */
  const double *M[2];     /* a general axis: analysis, synthesis, (i, j) at i + n j */
  double *lambda, *norm;  /* [n] */
} BorderAxis;

enum {        /* exchanges of messages */
  TO_PARTS,   /* right-hand sides */
  FROM_PARTS, /* shared out: solutions; and what was removed to ranks without rows */
  SUMS,
  EXCHANGES
};

typedef struct {
  ptrdiff_t step; /* elements from row to row */
  PetscBool single;
  size_t bytes; /* of a number */
  BorderAxis modes[2];
  double *lambda, *norm; /* [nmodes], on the host */
  /* modes first[q] .. first[q+1] - 1 are part q's where they are shared out; share: how many this rank solves */
  PetscInt *first, share;
  BCRDeviceArena tables, space;
  BCRCudaRow row;
  BCRCudaBox box, interior;
  void *w;             /* two solves: right-hand sides */
  PetscBool meanplane; /* the mean of a solution is that of the plane of its constant mode */
  PetscBool meanlines; /* it is known to the lines */
  /* lines: rows beside interfaces [2][nmodes]; rowmodes: own interface row [nmodes], what the row before gets or is
     [nmodes], a mean; sent, received: of TO_PARTS and FROM_PARTS; sums: of each part */
  double *lines[2], *rowmodes, *sent[2], *received[2], *work, *scalars, *sums;
  BCRCudaBorderRows rows;
  BCRCudaBorderTab tab;
  double *inverse; /* rows.inverse where that is used */
  const double *devnorm;
  const int *devfirst;
  BCRMessage *send[EXCHANGES], *recv[EXCHANGES];
  int nsend[EXCHANGES], nrecv[EXCHANGES];
  BCRTransportWindow window; /* what is sent is stored where it is needed, or NULL */
  BCRCudaWindow numbers;
  void *marks[BCR_RANK_STAGES + 1]; /* events between steps of a solve, where they are asked for */
  int nmarks;                       /* -1: they are not */
} DeviceRanks;

enum { /* scalars */
  REMOVED,
  MEAN,
  SUM,
  PARTIAL
};

static DeviceRanks *state(BCRRanks r)
{
  return (DeviceRanks *)r->state;
}

/* each part solves all reduced systems */
static PetscBool solves_all(BCRRanks r)
{
  return r->p.nparts <= BCR_CUDA_GATHER ? PETSC_TRUE : PETSC_FALSE;
}

/* Set-up */

static PetscErrorCode device_create(BCRRanks r)
{
  DeviceRanks *d;

  PetscFunctionBegin;
  PetscCall(PetscNew(&d));
  r->state = d;
  d->single = r->options.precision == BCR_DOUBLE ? PETSC_FALSE : PETSC_TRUE;
  d->bytes = d->single ? sizeof(float) : sizeof(double);
  d->nmarks = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode border_axis(BCRRanks r, const BCRAxis *x, BorderAxis *a)
{
  const PetscInt n = x->n;

  PetscFunctionBegin;
  a->n = n;
  a->constant = r->singular ? 0 : -1;
  PetscCall(PetscMalloc2(n, &a->lambda, n, &a->norm));
  a->lambda[0] = 0;
  a->norm[0] = 1;
  if (x->lower) {
    BCRModes modes;
    const double *lambda, *norm;
    const double *to, *from;

    PetscCall(BCRModesCreate(1, x, r->singular, -1, &modes));
    PetscCall(BCRModesGet(modes, NULL, &lambda, &norm, &a->constant));
    PetscCall(PetscArraycpy(a->lambda, lambda, n));
    PetscCall(PetscArraycpy(a->norm, norm, n));
    PetscCall(BCRModesGetMatrices(modes, 0, &to, &from)); /* to: mode k at n k, that is (j, k) at j + n k */
    if (n > 1) {
      double *t;

      PetscCall(PetscMalloc1((size_t)n * n, &t));
      for (PetscInt k = 0; k < n; k++) {
        for (PetscInt j = 0; j < n; j++) t[k + n * j] = to[k * n + j];
      }
      PetscCall(BCRDeviceArenaPut(&state(r)->tables, r->stream, PETSC_FALSE, n * n, t, &a->M[0]));
      PetscCall(BCRDeviceArenaPut(&state(r)->tables, r->stream, PETSC_FALSE, n * n, from, &a->M[1]));
      PetscCall(PetscFree(t));
    }
    PetscCall(BCRModesDestroy(&modes));
  } else if (n > 1) {
    PetscCall(BCRDeviceModesCreate(n, x->end, r->stream, &a->uniform, a->lambda, a->norm));
    for (PetscInt k = 0; k < n; k++) {
      if (r->singular && a->lambda[k] == 0) a->constant = k;
      a->lambda[k] *= (double)x->a;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_modes(BCRRanks r)
{
  DeviceRanks *d = state(r);

  PetscFunctionBegin;
  for (PetscInt i = 0; i < 2; i++) {
    const BCRAxis none = {.n = 1};

    PetscCall(border_axis(r, i < r->nother ? &r->x[r->other[i]] : &none, &d->modes[i]));
  }
  if (r->singular) r->constant = d->modes[0].constant + r->no[0] * d->modes[1].constant;
  PetscCall(PetscMalloc2(r->nmodes, &d->lambda, r->nmodes, &d->norm));
  for (PetscInt k1 = 0; k1 < r->no[1]; k1++) {
    for (PetscInt k0 = 0; k0 < r->no[0]; k0++) {
      d->lambda[k0 + r->no[0] * k1] = d->modes[0].lambda[k0] + d->modes[1].lambda[k1];
      d->norm[k0 + r->no[0] * k1] = d->modes[0].norm[k0] * d->modes[1].norm[k1];
    }
  }
  r->lambda = d->lambda;
  r->norm = d->norm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* lines[i] by way of lines[2 + i]: two arrays of nlines rows each, the result is in *v */
static PetscErrorCode border_transform(BCRRanks r, BCRStream stream, int synthesis, PetscInt nlines, double **v,
                                       double **w)
{
  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) {
    const BorderAxis *a = &state(r)->modes[i];
    BCRCudaLines l;
    double *swap;

    if (a->n < 2) continue;
    l.na = (int)(i ? r->no[0] : r->no[1]);
    l.sa = i ? 1 : r->no[0];
    l.nb = (int)nlines;
    l.sb = r->nmodes;
    l.s = i ? r->no[0] : 1;
    if (a->M[0]) PetscCallBCRCuda(BCRCudaMatrix(stream, (int)a->n, a->M[synthesis], &l, *v, *w));
    else PetscCall(BCRDeviceModesApply(&a->uniform, stream, synthesis, &l, *v, *w));
    swap = *v, *v = *w, *w = swap;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode put_ints(BCRDeviceArena *arena, BCRStream stream, PetscInt n, const PetscInt v[], const int **p)
{
  int *w;
  void *q;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &w));
  for (PetscInt i = 0; i < n; i++) w[i] = (int)v[i];
  PetscCall(BCRDeviceArenaGet(arena, (size_t)n * sizeof(int), "tables", &q));
  PetscCallBCRCuda(BCRCudaPut(q, w, (size_t)n * sizeof(int), stream));
  PetscCall(PetscFree(w));
  *p = (const int *)q;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_core_create(BCRRanks r, const BCRAxis axes[], const BCRCoreBorder *border, PetscReal shift,
                                         PetscBool singular, void **core, const char **why)
{
  BCRDeviceCore *c = (BCRDeviceCore *)core;

  PetscFunctionBegin;
  if (r->product) {
    PetscCall(BCRDeviceCoreCreateSpectral(r->dim, axes, r->waves ? NULL : r->mixed, shift, singular, r->stride,
                                          &r->options, BCRRanksGetShare(r), r->pair.tau != 0 ? &r->pair : NULL,
                                          r->stream, c));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!border) {
    PetscCall(BCRDeviceCoreCreate(r->dim, axes, shift, singular, r->stride, &r->options, r->stream, c));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  /* the host's level 0 has tables of general axes along the slabs, and a plan without level 0 that takes both kinds */
  *why = "level 0 and planes on chip of a device take uniform axes alone";
  for (PetscInt d = 0; d < r->dim; d++) {
    if (axes[d].lower) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BCRDeviceCoreCreateBorder(r->dim, axes, shift, singular, r->stride, &r->options, border->axis, border->open,
                                      r->stream, c));
  *why = *core ? NULL : "the device has no level 0 and no planes on chip for this box";
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_core_shift(void *core, PetscReal shift)
{
  PetscFunctionBegin;
  PetscCall(BCRDeviceCoreSetShift((BCRDeviceCore)core, shift));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_core_factor(void *core, PetscReal factor)
{
  PetscFunctionBegin;
  PetscCall(BCRDeviceCoreSetFactor((BCRDeviceCore)core, factor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_core_setup(void *core)
{
  PetscFunctionBegin;
  PetscCall(BCRDeviceCoreSetUp((BCRDeviceCore)core));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_core_passes(void *core, const char *nopass[])
{
  PetscBool possible, reduces;

  PetscFunctionBegin;
  PetscCall(BCRDeviceCoreBorder((BCRDeviceCore)core, &possible, &reduces));
  nopass[BCR_PASS_ONE] = possible ? NULL : "with this shift level 0 has not forgotten a row soon enough";
  nopass[BCR_PASS_LINES] = reduces ? NULL : "the constant mode of a singular operator is not one of a core's lines";
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ranks whose layouts differ do without them, one plan after the other, until all have the same one */
static PetscErrorCode device_agree(BCRRanks r)
{
  PetscFunctionBegin;
  while (PETSC_TRUE) {
    PetscInt layout = 0, range[2]; /* least, and the negative of the most */

    if (r->core && !r->nopass[BCR_PASS_ONE]) layout = BCRDeviceRingLayout((BCRDeviceCore)r->core);
    range[0] = r->p.mine < 0 ? PETSC_MAX_INT : layout;
    range[1] = r->p.mine < 0 ? 0 : -layout;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, range, 2, MPIU_INT, MPI_MIN, r->comm));
    if (range[0] == -range[1]) break;
    if (layout) PetscCall(BCRDeviceRingExclude((BCRDeviceCore)r->core, range[0] == 0 ? PETSC_TRUE : PETSC_FALSE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_core_plan(void *core, BCRPlan *plan)
{
  PetscFunctionBegin;
  PetscCall(BCRDeviceCoreGetPlan((BCRDeviceCore)core, plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_core_info(void *core, BCRCoreInfo *info)
{
  PetscFunctionBegin;
  PetscCall(BCRDeviceCoreGetInfo((BCRDeviceCore)core, info));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_core_destroy(void **core)
{
  PetscFunctionBegin;
  PetscCall(BCRDeviceCoreDestroy((BCRDeviceCore *)core));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tables of the reduced systems that this rank solves: what does not depend on the shift */
static PetscErrorCode local_systems(BCRRanks r)
{
  const PetscInt np = r->p.nparts, ni = r->p.ninterface;
  DeviceRanks *d = state(r);
  const PetscInt n = d->share;
  BCRCudaBorderTab *t = &d->tab;
  PetscInt *at;

  PetscFunctionBegin;
  PetscCall(BCRDeviceArenaPut(&d->tables, r->stream, PETSC_FALSE, r->nmodes, r->lambda, &t->lambda));
  PetscCall(BCRDeviceArenaPut(&d->tables, r->stream, PETSC_FALSE, r->nmodes, r->norm, &d->devnorm));
  PetscCall(put_ints(&d->tables, r->stream, np + 1, d->first, &d->devfirst));
  PetscCall(PetscMalloc1(np, &at));
  for (PetscInt q = 0; q < np; q++) at[q] = r->p.part[q].first;
  PetscCall(put_ints(&d->tables, r->stream, np, at, &t->first));
  for (PetscInt q = 0; q < np; q++) at[q] = r->p.part[q].interior;
  PetscCall(put_ints(&d->tables, r->stream, np, at, &t->interior));
  PetscCall(PetscFree(at));
  PetscCall(BCRDeviceArenaPut(&d->tables, r->stream, PETSC_FALSE, r->p.n, r->p.low, &t->low));
  PetscCall(BCRDeviceArenaPut(&d->tables, r->stream, PETSC_FALSE, r->p.n, r->p.up, &t->up));
  PetscCall(BCRDeviceArenaPut(&d->tables, r->stream, PETSC_FALSE, r->p.n, r->p.excess, &t->excess));
  t->n = (int)n;
  t->firstmode = solves_all(r) ? 0 : (int)d->first[r->p.mine];
  t->nrow = (int)ni;
  t->nparts = (int)np;
  t->periodic = r->p.periodic;
  t->uniform = r->p.uniform;
  t->constant = (int)r->constant;
  for (int i = 0; i < BCR_BORDER_TABLES; i++)
    PetscCall(BCRDeviceArenaGet(&d->tables, (size_t)PetscMax(1, n * (i < BCR_BORDER_LAST ? ni : 1)) * sizeof(double),
                                "tables", &t->table[i]));
  d->rows.n = t->n;
  d->rows.firstmode = t->firstmode;
  d->rows.nrow = t->nrow;
  d->rows.nparts = t->nparts;
  d->rows.periodic = t->periodic;
  d->rows.constant = t->constant;
  d->rows.low = t->table[BCR_BORDER_LOW];
  d->rows.up = t->table[BCR_BORDER_UP];
  d->rows.pivotinverse = t->table[BCR_BORDER_PIVOT];
  d->rows.fromlast = t->table[BCR_BORDER_FROMLAST];
  d->rows.lastinverse = t->table[BCR_BORDER_LAST];
  d->rows.lowlast = t->table[BCR_BORDER_LOWLAST];
  d->rows.uplast = t->table[BCR_BORDER_UPLAST];
  if (r->singular) {
    double *c;

    PetscCall(PetscMalloc1(4 * ni, &c));
    BCRSlabRowsConstant(&r->p, c);
    PetscCall(BCRDeviceArenaPut(&d->tables, r->stream, PETSC_FALSE, 4 * ni, c, &d->rows.constantmode.low));
    d->rows.constantmode.up = d->rows.constantmode.low + ni;
    d->rows.constantmode.ones = d->rows.constantmode.low + 2 * ni;
    d->rows.constantmode.weight = d->rows.constantmode.low + 3 * ni;
    d->rows.constantmode.rows = (double)r->p.n;
    for (PetscInt i = 0; i < r->p.n; i++) d->rows.constantmode.total += r->p.weight[i];
    PetscCall(PetscFree(c));
  }
  if (solves_all(r))
    PetscCall(BCRDeviceArenaGet(&d->tables, 2 * (size_t)n * ni * sizeof(double), "tables", &d->inverse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode local_arrays(BCRRanks r)
{
  const PetscInt np = r->p.nparts, ni = r->p.ninterface;
  DeviceRanks *d = state(r);
  const size_t n = (size_t)d->share, one = PetscMax(1, n), number = sizeof(double);

  PetscFunctionBegin;
  PetscCall(BCRDeviceArenaGet(&d->space, (2 * (size_t)r->nmodes + 1) * number, "rows of interfaces", &d->rowmodes));
  PetscCall(BCRDeviceArenaGet(&d->space, 2 * one * np * number, "messages", &d->received[0]));
  PetscCallBCRCuda(BCRCudaZero(d->received[0], 2 * one * np * number, r->stream));
  if (!solves_all(r)) {
    PetscCall(BCRDeviceArenaGet(&d->space, 2 * (size_t)r->nmodes * number, "messages", &d->sent[0]));
    PetscCall(BCRDeviceArenaGet(&d->space, (2 * n + 1) * np * number, "messages", &d->sent[1]));
    PetscCallBCRCuda(BCRCudaZero(d->sent[1], (2 * n + 1) * np * number, r->stream));
    PetscCall(BCRDeviceArenaGet(&d->space, (2 * (size_t)r->nmodes + np) * number, "messages", &d->received[1]));
  }
  PetscCall(BCRDeviceArenaGet(&d->space, one * ni * number, "reduced systems", &d->work));
  PetscCall(BCRDeviceArenaGet(&d->space, (size_t)np * number, "sums", &d->sums));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_local(BCRRanks r)
{
  const PetscInt np = r->p.nparts, mine = r->p.mine;
  DeviceRanks *d = state(r);

  PetscFunctionBegin;
  if (r->comm == MPI_COMM_NULL) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = 0; i < 3; i++) {
    d->box.n[i] = i < r->dim ? (int)r->x[i].n : 1;
    d->box.stride[i] = i < r->dim ? r->stride[i] : 0;
  }
  d->box.n[r->axis] = mine >= 0 ? (int)BCRRanksMine(r)->m : 0;
  d->interior = d->box;
  d->interior.n[r->axis] = mine >= 0 ? (int)BCRRanksMine(r)->interior : 0;
  d->row.n0 = (int)r->no[0];
  d->row.n1 = (int)r->no[1];
  d->row.stride0 = r->nother > 0 ? r->stride[r->other[0]] : 1;
  d->row.stride1 = r->nother > 1 ? r->stride[r->other[1]] : 0;
  d->step = r->stride[r->axis];
  PetscCall(BCRDeviceArenaGet(&d->space, (PARTIAL + BCR_CUDA_PARTIALS) * sizeof(double), "sums", &d->scalars));
  PetscCallBCRCuda(BCRCudaZero(d->scalars, (PARTIAL + BCR_CUDA_PARTIALS) * sizeof(double), r->stream));
  if (np == 1 || r->product) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(np + 1, &d->first));
  for (PetscInt q = 0; q <= np; q++) d->first[q] = (PetscInt)((PetscInt64)r->nmodes * q / np);
  d->share = mine < 0 ? 0 : (solves_all(r) ? r->nmodes : d->first[mine + 1] - d->first[mine]);
  if (mine < 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(local_systems(r));
  PetscCall(local_arrays(r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A singular operator: the mean of the solution is that of planes of the constant mode if all ranks have such planes, or
   known to lines. Its shift, and so its plan, is the same for good */
static PetscErrorCode mean_plane(BCRRanks r)
{
  DeviceRanks *d = state(r);
  PetscMPIInt has[2] = {1, 1}; /* such planes, such lines */
  BCRCudaBox box;
  size_t at;

  PetscFunctionBegin;
  if (!r->singular) PetscFunctionReturn(PETSC_SUCCESS);
  if (r->p.mine >= 0) {
    has[0] = r->core && BCRDeviceCoreMean((BCRDeviceCore)r->core, &box, &at) ? 1 : 0;
    has[1] = r->core && BCRDeviceCoreMeanOfRanks((BCRDeviceCore)r->core) ? 1 : 0;
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, has, 2, MPI_INT, MPI_MIN, r->comm));
  d->meanplane = has[0] ? PETSC_TRUE : PETSC_FALSE;
  d->meanlines = has[1] ? PETSC_TRUE : PETSC_FALSE;
  if (!d->meanlines) r->nolines = "not all ranks have lines that know their part in the mean of the solution";
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Interfaces in one another's memory, if there may be: all ranks find the same */
static PetscErrorCode device_connect(BCRRanks r)
{
  const PetscInt np = r->p.nparts;
  const size_t slot = 2 * (size_t)r->nmodes * np;
  DeviceRanks *d = state(r);
  void **base;

  PetscFunctionBegin;
  PetscCall(mean_plane(r));
  if (!solves_all(r)) {
    r->nocoupling[BCR_COUPLING_WINDOW] = r->nocoupling[BCR_COUPLING_GATHER] =
      "with more than 8 parts (BCR_CUDA_GATHER) each would solve too many systems";
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  r->nocoupling[BCR_COUPLING_SHARED] =
    "up to 8 parts (BCR_CUDA_GATHER) solve all systems, one exchange in place of two";
  PetscCall(BCRTransportWindowCreate((BCRTransport)r->transport, PETSC_TRUE, 2 * (slot + (size_t)np) * sizeof(double),
                                     BCR_CUDA_NOTHING, &d->window, &base, &d->numbers.turn));
  if (!d->window) {
    r->nocoupling[BCR_COUPLING_WINDOW] = "the transport has no window (those of NCCL 2.28 and later, on one host)";
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  d->numbers.n = (int)r->nmodes;
  d->numbers.parts = (int)np;
  d->numbers.mine = (int)r->p.mine;
  d->numbers.periodic = r->p.periodic;
  d->numbers.slot = (ptrdiff_t)slot;
  for (PetscInt q = 0; q < np; q++) d->numbers.to[q] = (double *)base[r->p.part[q].rank];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void message(DeviceRanks *d, int which, PetscBool sent, PetscMPIInt rank, double *p, PetscInt n)
{
  BCRMessage *m = sent ? &d->send[which][d->nsend[which]++] : &d->recv[which][d->nrecv[which]++];

  m->rank = rank;
  m->p = p;
  m->bytes = (size_t)n * sizeof(double);
}

/* How many modes, the first ones, reach across a part; asked only where each part solves all */
static PetscInt coupled_modes(BCRRanks r)
{
  PetscInt k = solves_all(r) ? r->nmodes : 0;

  while (k > 0 && !BCRSlabRowsReach(&r->p, r->shift + r->lambda[k - 1], BCRRanksEps(r))) k--;
  return k;
}

/* What part p sends to part q where each solves all systems */
static void gather_message(BCRRanks r, PetscBool sent, PetscInt p, PetscInt q, PetscInt coupled)
{
  const PetscInt n = r->nmodes, np = r->p.nparts;
  const PetscBool left = p > 0 || r->p.periodic ? PETSC_TRUE : PETSC_FALSE, own = r->p.part[p].has;
  const PetscInt begin = own ? (q == (p + 1) % np ? 0 : n - coupled) : n,
                 end = left ? (p == (q + 1) % np ? 2 * n : n + coupled) : n;
  DeviceRanks *d = state(r);

  if (end > begin)
    message(d, TO_PARTS, sent, r->p.part[sent ? q : p].rank, d->received[0] + 2 * n * p + begin, end - begin);
}

/* Ranks without rows are told what was removed, by part owner */
static void removed_messages(BCRRanks r, PetscInt owner)
{
  DeviceRanks *d = state(r);
  PetscInt next = 0;

  if (r->p.mine < 0) message(d, FROM_PARTS, PETSC_FALSE, r->p.part[owner].rank, d->scalars + MEAN, 1);
  for (PetscMPIInt q = 0; q < r->size && r->p.mine == owner; q++) {
    if (next < r->p.nparts && r->p.part[next].rank == q) {
      next++;
      continue;
    }
    message(d, FROM_PARTS, PETSC_TRUE, q, solves_all(r) ? d->rowmodes + 2 * r->nmodes : d->sent[1] + 2 * d->share, 1);
  }
}

/* Who sends what to whom */
static PetscErrorCode border_messages(BCRRanks r)
{
  DeviceRanks *d = state(r);
  const PetscInt np = r->p.nparts, mine = r->p.mine, share = d->share, coupled = coupled_modes(r);
  const size_t modes = 2 * (size_t)r->nmodes, shares = 2 * (size_t)share + 1, number = sizeof(double);
  PetscInt owner = 0; /* of the constant mode, if the modes are shared out */

  PetscFunctionBegin;
  for (int i = 0; i < EXCHANGES; i++) d->nsend[i] = d->nrecv[i] = 0;
  d->numbers.coupled = (int)coupled;
  while (owner < np - 1 && r->constant >= d->first[owner + 1]) owner++;
  for (int i = 0; i < EXCHANGES && !d->send[i]; i++)
    PetscCall(PetscMalloc2(np + r->size, &d->send[i], np + r->size, &d->recv[i]));
  for (PetscInt q = 0; q < np && mine >= 0; q++) {
    const PetscMPIInt to = r->p.part[q].rank;
    const PetscInt n = d->first[q + 1] - d->first[q];

    if (!solves_all(r)) {
      message(d, TO_PARTS, PETSC_TRUE, to, d->sent[0] + 2 * d->first[q], 2 * n);
      message(d, TO_PARTS, PETSC_FALSE, to, d->received[0] + 2 * share * q, 2 * share);
      message(d, FROM_PARTS, PETSC_TRUE, to, d->sent[1] + (2 * share + 1) * q, 2 * share + 1);
      message(d, FROM_PARTS, PETSC_FALSE, to, d->received[1] + 2 * d->first[q] + q, 2 * n + 1);
    } else if (q != mine) {
      gather_message(r, PETSC_TRUE, mine, q, coupled);
      gather_message(r, PETSC_FALSE, q, mine, coupled);
    }
    message(d, SUMS, PETSC_TRUE, to, d->scalars + SUM, 1);
    message(d, SUMS, PETSC_FALSE, to, d->sums + q, 1);
  }
  if (r->singular) removed_messages(r, owner);
  if (solves_all(r))
    PetscCall(
      BCRTransportReserve((BCRTransport)r->transport, (modes * np + r->size) * number, (modes + 1) * np * number));
  else
    PetscCall(BCRTransportReserve((BCRTransport)r->transport, (shares * (np + r->size) + modes) * number,
                                  (modes + 2 * (size_t)share * np + np) * number));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays of two solves, which another shift may make necessary later */
static PetscErrorCode two_arrays(BCRRanks r)
{
  DeviceRanks *d = state(r);
  size_t elements = 1;

  PetscFunctionBegin;
  if (d->lines[0]) PetscFunctionReturn(PETSC_SUCCESS);
  if (r->core) {
    for (PetscInt i = 0; i < 3; i++) elements += (size_t)d->box.stride[i] * (size_t)(d->interior.n[i] - 1);
    PetscCall(BCRDeviceArenaGet(&d->space, elements * d->bytes, "the workspace", &d->w));
  }
  for (int i = 0; i < 2; i++)
    PetscCall(BCRDeviceArenaGet(&d->space, 2 * (size_t)r->nmodes * sizeof(double), "rows of interfaces", &d->lines[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_tables(BCRRanks r)
{
  DeviceRanks *d = state(r);

  PetscFunctionBegin;
  PetscCheck(!(d->meanplane || d->meanlines) || r->p.mine < 0 || r->pass != BCR_PASS_TWO, PETSC_COMM_SELF,
             PETSC_ERR_PLIB, "A plan that knows the mean of its solution is not solved in one pass");
  PetscCall(border_messages(r));
  if (r->p.mine < 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (r->pass == BCR_PASS_TWO) PetscCall(two_arrays(r));
  d->tab.shift = r->shift;
  PetscCallBCRCuda(BCRCudaBorderTables(r->stream, &d->tab));
  /* BCRCudaBorderSolve() finds the mean of a singular right-hand side by elimination */
  d->rows.inverse = r->singular && r->pass != BCR_PASS_LINES ? NULL : d->inverse;
  if (d->rows.inverse) PetscCallBCRCuda(BCRCudaBorderInverse(r->stream, &d->rows, (int)r->p.mine, d->inverse));
  PetscCallBCRCuda(BCRCudaSynchronize(r->stream)); /* solves may be on another stream */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solve */

static PetscErrorCode exchange(BCRRanks r, BCRStream stream, int which)
{
  DeviceRanks *d = state(r);

  PetscFunctionBegin;
  PetscCall(BCRTransportExchange((BCRTransport)r->transport, stream, d->nsend[which], d->send[which], d->nrecv[which],
                                 d->recv[which]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *scalars: removed = mean / factor */
static PetscErrorCode set_removed(BCRRanks r, BCRStream stream, const double *mean)
{
  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaScaleValue(stream, mean, 1 / r->factor, state(r)->scalars + REMOVED));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_alone(BCRRanks r, void *stream, const void *f, void *u)
{
  const PetscMPIInt from = r->p.part[0].rank;
  DeviceRanks *d = state(r);

  PetscFunctionBegin;
  if (r->core) PetscCall(BCRDeviceCoreSolve((BCRDeviceCore)r->core, stream, f, u));
  if (r->singular && r->comm != MPI_COMM_NULL && r->p.nparts == 1) { /* else the cores tell one another */
    BCRMessage m = {from, d->scalars + REMOVED, sizeof(double)};

    if (r->rank == from) {
      const double *removed;

      PetscCall(BCRDeviceCoreGetRemoved((BCRDeviceCore)r->core, &removed));
      PetscCallBCRCuda(BCRCudaScaleValue(stream, removed, 1, d->scalars + REMOVED));
      for (PetscMPIInt q = 0; q < r->size; q++) {
        m.rank = q;
        if (q != from) PetscCall(BCRTransportExchange((BCRTransport)r->transport, stream, 1, &m, 0, NULL));
      }
    } else PetscCall(BCRTransportExchange((BCRTransport)r->transport, stream, 0, NULL, 1, &m));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_mark(BCRRanks r, void *stream)
{
  DeviceRanks *d = state(r);

  PetscFunctionBegin;
  if (r->p.mine >= 0 && d->nmarks >= 0 && d->nmarks <= BCR_RANK_STAGES)
    PetscCallBCRCuda(BCRCudaMark(&d->marks[d->nmarks++], stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two solves: the rows between the interfaces, as if the interface rows were 0; modes of the
   right-hand sides of the own one, and of what the one before gets */
static PetscErrorCode two_begin(BCRRanks r, BCRStream stream, const void *f, void *u, double *interface,
                                double *previous)
{
  const BCRSlabPart *mine = BCRRanksMine(r), *prev = BCRRanksBefore(r);
  DeviceRanks *d = state(r);
  const PetscInt in = mine->interior;
  const ptrdiff_t step = d->step * (ptrdiff_t)d->bytes; /* bytes from row to row */
  double *v = d->lines[0], *t = d->lines[1];

  PetscFunctionBegin;
  /* before it may be overwritten */
  if (mine->has)
    PetscCallBCRCuda(BCRCudaRowGet(stream, &d->row, d->single, (const char *)f + in * step, 0, r->factor, v));
  else PetscCallBCRCuda(BCRCudaZero(v, (size_t)r->nmodes * sizeof(double), stream));
  if (in) {
    PetscCallBCRCuda(BCRCudaScaleCopy(stream, d->interior.n, d->single, f, d->interior.stride, d->single, d->w,
                                      d->interior.stride, NULL, NULL));
    PetscCall(BCRDeviceCoreSolve((BCRDeviceCore)r->core, stream, d->w, u));
    if (mine->has)
      PetscCallBCRCuda(
        BCRCudaRowGet(stream, &d->row, d->single, (const char *)u + (in - 1) * step, 1, r->p.low[mine->first + in], v));
  }
  if (prev && in)
    PetscCallBCRCuda(
      BCRCudaRowGet(stream, &d->row, d->single, u, 0, r->p.up[prev->first + prev->interior], v + r->nmodes));
  else PetscCallBCRCuda(BCRCudaZero(v + r->nmodes, (size_t)r->nmodes * sizeof(double), stream));
  PetscCall(border_transform(r, stream, 0, 2, &v, &t));
  PetscCallBCRCuda(BCRCudaCopy(interface, v, (size_t)r->nmodes * sizeof(double), stream));
  PetscCallBCRCuda(BCRCudaCopy(previous, v + r->nmodes, (size_t)r->nmodes * sizeof(double), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* and again with what the interfaces add; x: modes of the own interface row, then of the one before */
static PetscErrorCode two_end(BCRRanks r, BCRStream stream, void *u, const double *x)
{
  const BCRSlabPart *mine = BCRRanksMine(r);
  DeviceRanks *d = state(r);
  const PetscInt in = mine->interior;
  const ptrdiff_t step = d->step * (ptrdiff_t)d->bytes;
  double *v = d->lines[0], *t = d->lines[1];

  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaCopy(v, x, 2 * (size_t)r->nmodes * sizeof(double), stream));
  PetscCall(border_transform(r, stream, 1, 2, &v, &t));
  if (in) {
    if (r->p.prev >= 0)
      PetscCallBCRCuda(
        BCRCudaRowSet(stream, &d->row, d->single, d->w, 1, r->p.low[mine->first] / r->factor, v + r->nmodes));
    if (mine->has)
      PetscCallBCRCuda(BCRCudaRowSet(stream, &d->row, d->single, (char *)d->w + (in - 1) * step, 1,
                                     r->p.up[mine->first + in - 1] / r->factor, v));
    if (r->singular)
      PetscCallBCRCuda(BCRCudaAddValue(stream, &d->interior, d->single, d->w, d->w, d->scalars + REMOVED, -1));
    PetscCall(BCRDeviceCoreSolve((BCRDeviceCore)r->core, stream, d->w, u));
  }
  if (mine->has) PetscCallBCRCuda(BCRCudaRowSet(stream, &d->row, d->single, (char *)u + in * step, 0, 1, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* interface and previous of what is sent, one after the other, from where the core or two solves put it */
static PetscErrorCode device_eliminate(BCRRanks r, void *stream, PetscInt batch, const void *f, void *u)
{
  DeviceRanks *d = state(r);
  const PetscBool all = solves_all(r), one = r->pass == BCR_PASS_TWO ? PETSC_FALSE : PETSC_TRUE;
  const PetscInt n = r->nmodes, mine = r->p.mine;
  const BCRCudaBorderRows *rows = r->pass == BCR_PASS_LINES ? &d->rows : NULL;
  const BCRCudaWindow *within = r->way == BCR_RANKS_LINES_WINDOW ? &d->numbers : NULL;
  double *to;

  PetscFunctionBegin;
  (void)batch;
  if (mine < 0) PetscFunctionReturn(PETSC_SUCCESS);
  to = all ? d->received[0] + 2 * n * mine : d->rowmodes; /* one pass: mode m of the own row at to[n - 1 - m] */
  if (one)
    PetscCall(
      BCRDeviceCoreBorderBegin((BCRDeviceCore)r->core, stream, f, u, to + n - 1, to + n, rows, (int)mine, within));
  else PetscCall(two_begin(r, stream, f, u, d->rowmodes, d->rowmodes + n));
  if (!all)
    PetscCallBCRCuda(BCRCudaBorderPack(stream, (int)r->p.nparts, (int)n, d->devfirst, one ? NULL : d->devnorm,
                                       one ? to + n - 1 : to, one ? -1 : 1, to + n, d->sent[0]));
  else if (!one)
    PetscCallBCRCuda(BCRCudaBorderPack(stream, 1, (int)n, NULL, d->devnorm, d->rowmodes, 1, d->rowmodes + n, to));
  if (r->coupling == BCR_COUPLING_WINDOW && !within)
    PetscCallBCRCuda(BCRCudaWindowPut(stream, &d->numbers, d->received[0]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_exchange(BCRRanks r, void *stream, PetscInt batch)
{
  DeviceRanks *d = state(r);

  PetscFunctionBegin;
  (void)batch;
  if (r->p.mine < 0) PetscFunctionReturn(PETSC_SUCCESS);
  switch (r->coupling) {
  case BCR_COUPLING_WINDOW:
    if (r->pass != BCR_PASS_LINES) PetscCallBCRCuda(BCRCudaWindowTake(stream, &d->numbers, d->received[0]));
    break;
  case BCR_COUPLING_SHARED:
    PetscCall(exchange(r, stream, TO_PARTS));
    PetscCallBCRCuda(BCRCudaBorderSolve(stream, &d->rows, d->received[0], d->work, -1, d->sent[1]));
    PetscCall(exchange(r, stream, FROM_PARTS));
    break;
  default:
    PetscCall(exchange(r, stream, TO_PARTS));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_reduce(BCRRanks r, void *stream, PetscInt batch, void *u)
{
  DeviceRanks *d = state(r);
  const int mine = (int)r->p.mine;
  double *x = d->rowmodes;

  PetscFunctionBegin;
  (void)batch;
  if (mine < 0) {
    PetscCall(exchange(r, stream, FROM_PARTS));
    if (r->singular) PetscCall(set_removed(r, stream, d->scalars + MEAN));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (r->coupling == BCR_COUPLING_SHARED) {
    PetscCallBCRCuda(BCRCudaBorderUnpack(stream, (int)r->p.nparts, (int)r->nmodes, d->devfirst, d->received[1], x,
                                         x + r->nmodes, d->scalars + MEAN));
    if (r->singular) PetscCall(set_removed(r, stream, d->scalars + MEAN));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (r->pass == BCR_PASS_LINES)
    PetscCall(BCRDeviceCoreBorderLines((BCRDeviceCore)r->core, stream, u, &d->rows, d->received[0], mine,
                                       r->coupling == BCR_COUPLING_WINDOW ? &d->numbers : NULL));
  else PetscCallBCRCuda(BCRCudaBorderSolve(stream, &d->rows, d->received[0], d->work, mine, x));
  if (r->singular && r->pass != BCR_PASS_LINES) {
    PetscCall(set_removed(r, stream, x + 2 * r->nmodes));
    if (r->size > r->p.nparts) PetscCall(exchange(r, stream, FROM_PARTS));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of what each part has in its scalars[SUM], the same on all of them */
static PetscErrorCode sum_parts(BCRRanks r, BCRStream stream)
{
  DeviceRanks *d = state(r);

  PetscFunctionBegin;
  if (d->window) PetscCallBCRCuda(BCRCudaWindowSum(stream, &d->numbers, d->scalars + SUM));
  else {
    PetscCall(exchange(r, stream, SUMS));
    PetscCallBCRCuda(BCRCudaSumOf(stream, (int)r->p.nparts, d->sums, d->scalars + SUM));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_back(BCRRanks r, void *stream, PetscInt batch, const void *f, void *u)
{
  DeviceRanks *d = state(r);
  BCRDeviceCore core = (BCRDeviceCore)r->core;
  const double *x = d->rowmodes;

  PetscFunctionBegin;
  (void)batch;
  if (r->p.mine < 0) PetscFunctionReturn(PETSC_SUCCESS);
  switch (r->pass) {
  case BCR_PASS_LINES:
    PetscCall(BCRDeviceCoreBorderBack(core, stream, f, u));
    break;
  case BCR_PASS_ONE:
    if (d->meanlines) {
      PetscCall(BCRDeviceCoreBorderSum(core, stream, u, x, x + r->nmodes, d->scalars + REMOVED, d->scalars + SUM));
      PetscCall(sum_parts(r, stream));
      PetscCall(
        BCRDeviceCoreBorderAdd(core, stream, f, u, d->scalars + REMOVED, d->scalars + SUM, -1. / (double)r->p.n));
      break;
    }
    PetscCall(BCRDeviceCoreBorderEnd(core, stream, f, u, x, x + r->nmodes, r->singular ? d->scalars + REMOVED : NULL));
    if (!d->meanplane) PetscCall(BCRDeviceCoreBorderFinish(core, stream, u));
    break;
  default:
    PetscCall(two_end(r, stream, u, x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_zero_mean(BCRRanks r, void *stream, void *u)
{
  DeviceRanks *d = state(r);
  BCRCudaBox box = d->box;
  double n = (double)r->nmodes * (double)r->p.n;
  size_t at = 0;
  void *v;

  PetscFunctionBegin;
  /* lines, or cores of products, have done it */
  if (r->p.mine < 0 || r->product || d->meanlines) PetscFunctionReturn(PETSC_SUCCESS);
  if (d->meanplane) {
    (void)BCRDeviceCoreMean((BCRDeviceCore)r->core, &box, &at);
    n *= (double)box.n[0] * box.n[1] * box.n[2] / ((double)d->box.n[0] * d->box.n[1] * d->box.n[2]);
  }
  v = (char *)u + at;
  PetscCallBCRCuda(BCRCudaSum(stream, &box, d->single, v, NULL, d->scalars + PARTIAL, d->scalars + SUM));
  PetscCall(sum_parts(r, stream));
  PetscCallBCRCuda(BCRCudaAddValue(stream, &box, d->single, v, v, d->scalars + SUM, -1. / n));
  if (d->meanplane) PetscCall(BCRDeviceCoreBorderFinish((BCRDeviceCore)r->core, stream, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_removed(BCRRanks r, const double **removed)
{
  PetscFunctionBegin;
  if (r->comm == MPI_COMM_NULL || (r->product && r->p.nparts > 1) ||
      (r->singular && r->p.nparts > 1 && r->pass == BCR_PASS_LINES))
    PetscCall(BCRDeviceCoreGetRemoved((BCRDeviceCore)r->core, removed));
  else *removed = r->singular ? state(r)->scalars + REMOVED : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_info(BCRRanks r, BCRRanksInfo *info, size_t length, char coupling[])
{
  DeviceRanks *d = state(r);

  PetscFunctionBegin;
  info->workspace += d->space.bytes;
  info->tables += d->tables.bytes + d->modes[0].uniform.arena.bytes + d->modes[1].uniform.arena.bytes;
  if (r->p.nparts == 1) PetscFunctionReturn(PETSC_SUCCESS);
  if (r->product) {
    PetscCall(BCRDeviceCoreGetExchange((BCRDeviceCore)r->core, &info->bytes_sent, &info->messages));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (int i = 0; i < (r->singular ? EXCHANGES : SUMS); i++) {
    for (int j = 0; j < d->nsend[i]; j++) {
      if (d->send[i][j].rank == r->rank || !d->send[i][j].bytes) continue;
      info->bytes_sent += d->send[i][j].bytes;
      info->messages++;
    }
  }
  PetscCall(PetscSNPrintf(coupling, length, "%" PetscInt_FMT " modes %s", r->nmodes,
                          solves_all(r) ? "solved by each rank" : "shared out"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_destroy(BCRRanks r)
{
  DeviceRanks *d = state(r);

  PetscFunctionBegin;
  PetscCall(BCRTransportWindowDestroy(&d->window));
  for (int i = 0; i <= BCR_RANK_STAGES; i++) PetscCallBCRCuda(BCRCudaMarkForget(d->marks[i]));
  for (int i = 0; i < 2; i++) {
    PetscCall(BCRDeviceModesDestroy(&d->modes[i].uniform));
    PetscCall(PetscFree2(d->modes[i].lambda, d->modes[i].norm));
  }
  PetscCall(PetscFree2(d->lambda, d->norm));
  for (int i = 0; i < EXCHANGES; i++) PetscCall(PetscFree2(d->send[i], d->recv[i]));
  PetscCall(PetscFree(d->first));
  PetscCall(BCRDeviceArenaFree(&d->tables));
  PetscCall(BCRDeviceArenaFree(&d->space));
  PetscCall(PetscFree(r->state));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of devices alone */

PetscErrorCode BCRRanksForget(BCRRanks r, void *stream)
{
  PetscFunctionBegin;
  if (r->core) PetscCall(BCRDeviceCoreForget((BCRDeviceCore)r->core, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRanksReserveInput(BCRRanks r)
{
  PetscFunctionBegin;
  if (r->comm == MPI_COMM_NULL) PetscCall(BCRDeviceCoreReserveInput((BCRDeviceCore)r->core));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRanksGetInput(BCRRanks r, void **f)
{
  PetscFunctionBegin;
  *f = NULL;
  if (r->comm == MPI_COMM_NULL) PetscCall(BCRDeviceCoreGetInput((BCRDeviceCore)r->core, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRanksKernels(BCRRanks r, PetscBool *window, PetscBool *kernels)
{
  PetscFunctionBegin;
  *window = state(r)->window ? PETSC_TRUE : PETSC_FALSE;
  /* ranks without rows get a message */
  *kernels =
    r->comm == MPI_COMM_NULL || (*window && !(r->singular && r->size > r->p.nparts)) ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRanksStages(BCRRanks r, void *stream, const void *f, void *u, double seconds[])
{
  DeviceRanks *d = state(r);

  PetscFunctionBegin;
  d->nmarks = 0;
  PetscCall(BCRRanksSolve(r, stream, f, u));
  for (int i = 0; i < BCR_RANK_STAGES; i++) {
    seconds[i] = 0;
    if (i + 1 < d->nmarks) PetscCallBCRCuda(BCRCudaMarkTime(d->marks[i], d->marks[i + 1], &seconds[i]));
  }
  d->nmarks = -1;
  for (int i = 0; i < 2 && d->window && r->p.mine >= 0; i++) { /* by itself; the first one brings the ranks together */
    PetscCallBCRCuda(BCRCudaMark(&d->marks[0], stream));
    PetscCallBCRCuda(BCRCudaWindowPut(stream, &d->numbers, d->received[0]));
    PetscCallBCRCuda(BCRCudaWindowTake(stream, &d->numbers, d->received[0]));
    PetscCallBCRCuda(BCRCudaMark(&d->marks[1], stream));
    PetscCallBCRCuda(BCRCudaMarkTime(d->marks[0], d->marks[1], &seconds[1]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

const BCRRanksOps *BCRRanksCuda(void)
{
  static const BCRRanksOps ops = {
    .failed = "cannot solve for its rows on its device, as its own message says",
    .async = PETSC_TRUE,
    .couplings = 1u << BCR_COUPLING_WINDOW | 1u << BCR_COUPLING_GATHER | 1u << BCR_COUPLING_SHARED,
    .create = device_create,
    .modes = device_modes,
    .core_create = device_core_create,
    .core_shift = device_core_shift,
    .core_factor = device_core_factor,
    .core_setup = device_core_setup,
    .core_passes = device_core_passes,
    .agree = device_agree,
    .core_plan = device_core_plan,
    .core_info = device_core_info,
    .core_destroy = device_core_destroy,
    .local = device_local,
    .connect = device_connect,
    .tables = device_tables,
    .alone = device_alone,
    .eliminate = device_eliminate,
    .exchange = device_exchange,
    .reduce = device_reduce,
    .back = device_back,
    .zero_mean = device_zero_mean,
    .mark = device_mark,
    .removed = device_removed,
    .info = device_info,
    .destroy = device_destroy,
  };

  return &ops;
}
#endif
