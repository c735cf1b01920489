/*
  Poisson across ranks on CUDA devices. The method is that of ranks.c: in one pass, where the core
  has a plan for that (BCRDeviceCoreCreateBorder()), or by two solves: the rows between the
  interfaces with Dirichlet ends, the interfaces, the rows once more with what the interfaces add.
  Rows beside interfaces are transformed on the device then, in double.

  Few parts (BCR_CUDA_GATHER): a part sends its interface row's right-hand sides to the next part,
  what the row before gets to the part before, and both to all others for the modes that reach
  across a part; then it solves all reduced systems: one exchange. In a part's 2 nmodes numbers the
  interface row's come first, the last mode first, so that what goes to another part is in one
  piece. More parts: the modes are shared out in order, as many to each rank as to any other: a rank
  sends to another, of the modes that the other one has, these two, and gets the solutions in the
  two rows back, and the mean that a singular operator's right-hand side loses (0 from all but the
  rank that has the constant mode).
*/
#include "../base/petscbcrimpl.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "devranks.h"
  #include "tables.h"
  #include "../base/agree.h"
  #include "../backend/cuda/border.h"
  #include "../backend/cuda/transport.h"

typedef struct { /* eigenbasis of an axis along the interfaces */
  PetscInt n, constant;
  BCRDeviceModes uniform; /* transforms */
  const double *M[2];     /* a general axis: analysis, synthesis, (i, j) at i + n j */
  double *lambda, *norm;
} BCRBorderAxis;

struct _n_BCRDeviceRanks {
  MPI_Comm comm;
  PetscMPIInt rank, size, tag;
  BCRTransport transport;
  PetscInt axis, dim;
  PetscInt nother, other[2], no[2];
  ptrdiff_t step; /* elements from row to row */
  double shift, factor, single;
  PetscBool singular, stale, float_;
  size_t size_of;
  BCRSlabRows p;
  BCRDeviceCore core; /* the rows between interfaces; in one pass the interface row, too */
  BCRCoreOptions options;
  BCRAxis axes[3]; /* one pass: uniform ones, for two solves where a shift does not allow it */
  BCRStream stream;
  BCRBorderAxis modes[2];
  /* modes first[q] .. first[q+1] - 1 are part q's; share: how many this rank has */
  PetscInt nmodes, constant, *first, share;
  BCRDeviceArena tables, space;
  BCRCudaRow row;
  BCRCudaBox box, interior;
  void *w;
  /* one pass of the core, else two solves of the rows between */
  PetscBool bordered;
  PetscBool gather; /* few parts */
  /* and the core solves the reduced systems */
  PetscBool reduces;
  /* lines: rows beside interfaces; rowmodes: own interface row, and what the row before gets, or
     before; a mean */
  double *lines[2], *rowmodes, *sent[2], *received[2], *work, *scalars, *sums;
  BCRCudaBorderRows rows;
  BCRCudaBorderTab tab;
  double *inverse; /* = rows.inverse */
  const double *lambda, *norm;
  const int *dfirst;
  BCRMessage *send[3], *recv[3];
  int nsend[3], nrecv[3];
  BCRTransportWindow window; /* few parts: what is sent is stored where it is needed, or NULL */
  BCRCudaWindow own;
  void *marks[BCR_RANK_STAGES + 1]; /* events between stages of a solve, where they are asked for */
  int nmarks;                       /* -1: they are not */
};

enum { /* scalars */
  REMOVED,
  MEAN,
  SUM,
  PARTIAL
};

static PetscErrorCode border_axis(BCRDeviceRanks r, const BCRAxis *x, BCRBorderAxis *a)
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
      PetscCall(BCRDeviceArenaPut(&r->tables, r->stream, PETSC_FALSE, n * n, t, &a->M[0]));
      PetscCall(BCRDeviceArenaPut(&r->tables, r->stream, PETSC_FALSE, n * n, from, &a->M[1]));
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

/* lines[i] by way of lines[2 + i]: two arrays of nlines rows each, the result is in *v */
static PetscErrorCode border_transform(BCRDeviceRanks r, BCRStream stream, int synthesis, PetscInt nlines, double **v,
                                       double **w)
{
  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) {
    const BCRBorderAxis *a = &r->modes[i];
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

static PetscErrorCode core_create(BCRDeviceRanks r, const BCRAxis whole[], PetscBool border)
{
  const BCRSlabPart *mine = &r->p.part[r->p.mine];
  PetscInt stride[3];
  BCRAxis axes[3];
  PetscReal *zero = NULL;

  PetscFunctionBegin;
  if (!mine->interior) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt d = 0; d < r->dim; d++) {
    axes[d] = whole[d];
    stride[d] = (PetscInt)r->box.stride[d];
    if (whole[d].lower) border = PETSC_FALSE;
  }
  if (border && r->p.nparts > 1) {
    const PetscBool open[2] = {r->p.prev >= 0 ? PETSC_TRUE : PETSC_FALSE, mine->has};

    for (PetscInt d = 0; d < r->dim; d++) r->axes[d] = whole[d];
    axes[r->axis].n = mine->m;
    for (int e = 0; e < 2; e++) {
      if (open[e]) axes[r->axis].end[e] = BCREndAtSeparator();
    }
    PetscCall(BCRDeviceCoreCreateBorder(r->dim, axes, (PetscReal)r->shift, r->singular, stride, &r->options, r->axis,
                                        open, r->stream, &r->core));
    r->bordered = r->core ? PETSC_TRUE : PETSC_FALSE;
    if (r->core) PetscFunctionReturn(PETSC_SUCCESS);
    axes[r->axis] = whole[r->axis];
  }
  if (r->p.nparts > 1) PetscCall(BCRSlabRowsAxis(&r->p, &axes[r->axis], &zero, &r->single));
  PetscCall(BCRDeviceCoreCreate(r->dim, axes, (PetscReal)(r->shift + r->single),
                                r->p.nparts > 1 ? PETSC_FALSE : r->singular, stride, &r->options, r->stream, &r->core));
  PetscCall(PetscFree(zero));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void message(BCRDeviceRanks r, int which, PetscBool sent, PetscMPIInt rank, double *p, PetscInt n)
{
  BCRMessage *m = sent ? &r->send[which][r->nsend[which]++] : &r->recv[which][r->nrecv[which]++];

  m->rank = rank;
  m->p = p;
  m->bytes = (size_t)n * sizeof(double);
}

/* How many modes, the first ones, are coupled across a part between two interfaces: the others'
   corner entries mu^m are below rounding */
static PetscInt coupled_modes(BCRDeviceRanks r)
{
  PetscInt least = PETSC_MAX_INT;

  for (PetscInt p = 0; p < r->p.nparts; p++) {
    if ((p > 0 || r->p.periodic) && r->p.part[p].has) least = PetscMin(least, r->p.part[p].interior + 1);
  }
  if (least == PETSC_MAX_INT) return 0;
  for (PetscInt k = r->nmodes; k > 0 && r->p.uniform; k--) {
    const double lambda = r->shift + r->modes[0].lambda[(k - 1) % r->no[0]] + r->modes[1].lambda[(k - 1) / r->no[0]],
                 delta = lambda / r->p.low[r->p.n / 2];

    if (!(delta > 0) || (double)least * log1p(BCRRootGap(delta)) < 42) return k;
  }
  return r->p.uniform ? 0 : r->nmodes;
}

/* What part p sends to part q */
static void gather_message(BCRDeviceRanks r, PetscBool sent, PetscInt p, PetscInt q, PetscInt coupled)
{
  const PetscInt n = r->nmodes, np = r->p.nparts;
  const PetscBool left = p > 0 || r->p.periodic ? PETSC_TRUE : PETSC_FALSE, own = r->p.part[p].has;
  const PetscInt begin = own ? (q == (p + 1) % np ? 0 : n - coupled) : n,
                 end = left ? (p == (q + 1) % np ? 2 * n : n + coupled) : n;

  if (end > begin) message(r, 0, sent, r->p.part[sent ? q : p].rank, r->received[0] + 2 * n * p + begin, end - begin);
}

/* Who sends what to whom: right-hand sides, solutions, sums */
static PetscErrorCode border_messages(BCRDeviceRanks r)
{
  const PetscInt np = r->p.nparts, mine = r->p.mine, share = r->share, coupled = coupled_modes(r);
  PetscMPIInt next = 0;
  PetscInt owner = 0;

  PetscFunctionBegin;
  for (int i = 0; i < 3; i++) r->nsend[i] = r->nrecv[i] = 0;
  r->own.coupled = (int)coupled;
  /* of the constant mode, if the modes are shared out */
  while (owner < np - 1 && r->constant >= r->first[owner + 1]) owner++;
  for (int i = 0; i < 3 && !r->send[i]; i++)
    PetscCall(PetscMalloc2(np + r->size, &r->send[i], np + r->size, &r->recv[i]));
  for (PetscInt q = 0; q < np && mine >= 0; q++) {
    const PetscMPIInt to = r->p.part[q].rank;
    const PetscInt n = r->first[q + 1] - r->first[q];

    if (!r->gather) {
      message(r, 0, PETSC_TRUE, to, r->sent[0] + 2 * r->first[q], 2 * n);
      message(r, 0, PETSC_FALSE, to, r->received[0] + 2 * share * q, 2 * share);
      message(r, 1, PETSC_TRUE, to, r->sent[1] + (2 * share + 1) * q, 2 * share + 1);
      message(r, 1, PETSC_FALSE, to, r->received[1] + 2 * r->first[q] + q, 2 * n + 1);
    } else if (q != mine) {
      gather_message(r, PETSC_TRUE, mine, q, coupled);
      gather_message(r, PETSC_FALSE, q, mine, coupled);
    }
    message(r, 2, PETSC_TRUE, to, r->scalars + SUM, 1);
    message(r, 2, PETSC_FALSE, to, r->sums + q, 1);
  }
  if (r->singular) { /* ranks without rows are told what was removed */
    if (mine < 0) message(r, 1, PETSC_FALSE, r->p.part[owner].rank, r->scalars + MEAN, 1);
    for (PetscMPIInt q = 0; q < r->size && mine == owner; q++) {
      if (next < np && r->p.part[next].rank == q) {
        next++;
        continue;
      }
      message(r, 1, PETSC_TRUE, q, r->gather ? r->rowmodes + 2 * r->nmodes : r->sent[1] + 2 * share, 1);
    }
  }
  if (r->gather)
    PetscCall(BCRTransportReserve(r->transport, (size_t)(2 * r->nmodes * np + r->size) * sizeof(double),
                                  (size_t)(2 * r->nmodes + 1) * np * sizeof(double)));
  else
    PetscCall(BCRTransportReserve(
      r->transport, (size_t)(2 * share + 1) * (np + r->size) * sizeof(double) + 2 * (size_t)r->nmodes * sizeof(double),
      (size_t)(2 * r->nmodes + 2 * share * np + np) * sizeof(double)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All that is local to a rank */
static PetscErrorCode ranks_create(BCRDeviceRanks r, const BCRAxis axes[])
{
  const PetscInt np = r->p.nparts, mine = r->p.mine;

  PetscFunctionBegin;
  if (mine >= 0) PetscCall(core_create(r, axes, PETSC_TRUE));
  PetscCall(BCRDeviceArenaGet(&r->space, (PARTIAL + BCR_CUDA_PARTIALS) * sizeof(double), "sums", &r->scalars));
  PetscCallBCRCuda(BCRCudaZero(r->scalars, (PARTIAL + BCR_CUDA_PARTIALS) * sizeof(double), r->stream));
  PetscCall(PetscMalloc1(np + 1, &r->first));
  r->nmodes = r->no[0] * r->no[1];
  for (PetscInt q = 0; q <= np; q++) r->first[q] = (PetscInt)((PetscInt64)r->nmodes * q / np);
  r->gather = np <= BCR_CUDA_GATHER ? PETSC_TRUE : PETSC_FALSE;
  r->share = mine < 0 ? 0 : (r->gather ? r->nmodes : r->first[mine + 1] - r->first[mine]);
  r->constant = -1;
  if (np == 1) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = 0; i < 2; i++) {
    BCRAxis none;

    PetscCall(PetscMemzero(&none, sizeof(none)));
    none.n = 1;
    PetscCall(border_axis(r, i < r->nother ? &axes[r->other[i]] : &none, &r->modes[i]));
  }
  if (r->singular) r->constant = r->modes[0].constant + r->no[0] * r->modes[1].constant;
  if (mine >= 0) {
    const PetscInt n = r->share, ni = r->p.ninterface;
    PetscInt *at;
    double *lambda, *norm;

    PetscCall(PetscMalloc2(r->nmodes, &lambda, r->nmodes, &norm));
    for (PetscInt k1 = 0; k1 < r->no[1]; k1++) {
      for (PetscInt k0 = 0; k0 < r->no[0]; k0++) {
        lambda[k0 + r->no[0] * k1] = r->modes[0].lambda[k0] + r->modes[1].lambda[k1];
        norm[k0 + r->no[0] * k1] = r->modes[0].norm[k0] * r->modes[1].norm[k1];
      }
    }
    PetscCall(BCRDeviceArenaPut(&r->tables, r->stream, PETSC_FALSE, r->nmodes, lambda, &r->lambda));
    PetscCall(BCRDeviceArenaPut(&r->tables, r->stream, PETSC_FALSE, r->nmodes, norm, &r->norm));
    PetscCall(PetscFree2(lambda, norm));
    PetscCall(put_ints(&r->tables, r->stream, np + 1, r->first, &r->dfirst));
    PetscCall(PetscMalloc1(np, &at));
    for (PetscInt q = 0; q < np; q++) at[q] = r->p.part[q].first;
    PetscCall(put_ints(&r->tables, r->stream, np, at, &r->tab.first));
    for (PetscInt q = 0; q < np; q++) at[q] = r->p.part[q].interior;
    PetscCall(put_ints(&r->tables, r->stream, np, at, &r->tab.interior));
    PetscCall(PetscFree(at));
    PetscCall(BCRDeviceArenaPut(&r->tables, r->stream, PETSC_FALSE, r->p.n, r->p.low, &r->tab.low));
    PetscCall(BCRDeviceArenaPut(&r->tables, r->stream, PETSC_FALSE, r->p.n, r->p.up, &r->tab.up));
    PetscCall(BCRDeviceArenaPut(&r->tables, r->stream, PETSC_FALSE, r->p.n, r->p.excess, &r->tab.excess));
    r->tab.n = (int)n;
    r->tab.k0 = r->gather ? 0 : (int)r->first[mine];
    r->tab.nrow = (int)ni;
    r->tab.nparts = (int)np;
    r->tab.periodic = r->p.periodic;
    r->tab.uniform = r->p.uniform;
    r->tab.constant = (int)r->constant;
    r->tab.lambda = r->lambda;
    for (int i = 0; i < 7; i++)
      PetscCall(BCRDeviceArenaGet(&r->tables, (size_t)PetscMax(1, n * (i < 4 ? ni : 1)) * sizeof(double), "tables",
                                  &r->tab.t[i]));
    r->rows.n = r->tab.n;
    r->rows.k0 = r->tab.k0;
    r->rows.nrow = r->tab.nrow;
    r->rows.nparts = r->tab.nparts;
    r->rows.periodic = r->tab.periodic;
    r->rows.constant = r->tab.constant;
    r->rows.low = r->tab.t[0];
    r->rows.up = r->tab.t[1];
    r->rows.inv = r->tab.t[2];
    r->rows.q = r->tab.t[3];
    r->rows.den = r->tab.t[4];
    r->rows.lowlast = r->tab.t[5];
    r->rows.uplast = r->tab.t[6];
    if (r->singular) {
      double *c, d;

      PetscCall(PetscMalloc1(4 * ni, &c));
      for (PetscInt p = 0; p < ni; p++) {
        BCRSlabRowsInterface(&r->p, p, 0, &c[p], &d, &c[ni + p], &c[2 * ni + p]);
        c[3 * ni + p] = r->p.weight[r->p.part[p].first + r->p.part[p].interior];
      }
      PetscCall(BCRDeviceArenaPut(&r->tables, r->stream, PETSC_FALSE, 4 * ni, c, &r->rows.clow));
      r->rows.cup = r->rows.clow + ni;
      r->rows.cones = r->rows.clow + 2 * ni;
      r->rows.cweight = r->rows.clow + 3 * ni;
      PetscCall(PetscFree(c));
    }
    if (r->gather && !r->singular) {
      PetscCall(BCRDeviceArenaGet(&r->tables, 2 * (size_t)n * ni * sizeof(double), "tables", &r->inverse));
      r->rows.inverse = r->inverse;
    }
    PetscCall(
      BCRDeviceArenaGet(&r->space, (2 * (size_t)r->nmodes + 1) * sizeof(double), "rows of interfaces", &r->rowmodes));
    PetscCall(
      BCRDeviceArenaGet(&r->space, 2 * (size_t)PetscMax(1, n) * np * sizeof(double), "messages", &r->received[0]));
    PetscCallBCRCuda(BCRCudaZero(r->received[0], 2 * (size_t)PetscMax(1, n) * np * sizeof(double), r->stream));
    if (!r->gather) {
      PetscCall(BCRDeviceArenaGet(&r->space, 2 * (size_t)r->nmodes * sizeof(double), "messages", &r->sent[0]));
      PetscCall(BCRDeviceArenaGet(&r->space, (2 * (size_t)n + 1) * np * sizeof(double), "messages", &r->sent[1]));
      PetscCallBCRCuda(BCRCudaZero(r->sent[1], (2 * (size_t)n + 1) * np * sizeof(double), r->stream));
      PetscCall(
        BCRDeviceArenaGet(&r->space, (2 * (size_t)r->nmodes + np) * sizeof(double), "messages", &r->received[1]));
    }
    PetscCall(BCRDeviceArenaGet(&r->space, (size_t)PetscMax(1, n) * ni * sizeof(double), "reduced systems", &r->work));
    PetscCall(BCRDeviceArenaGet(&r->space, (size_t)np * sizeof(double), "sums", &r->sums));
  }
  r->stale = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Interfaces in one another's memory. All ranks */
static PetscErrorCode ranks_window(BCRDeviceRanks r)
{
  const PetscInt np = r->p.nparts;
  const size_t slot = 2 * (size_t)r->nmodes * np;
  void **base;

  PetscFunctionBegin;
  if (np == 1 || !r->gather) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRTransportWindowCreate(r->transport, PETSC_TRUE, 2 * (slot + (size_t)np) * sizeof(double),
                                     BCR_CUDA_NOTHING, &r->window, &base, &r->own.turn));
  if (!r->window) PetscFunctionReturn(PETSC_SUCCESS);
  r->own.n = (int)r->nmodes;
  r->own.parts = (int)np;
  r->own.mine = (int)r->p.mine;
  r->own.periodic = r->p.periodic;
  r->own.slot = (ptrdiff_t)slot;
  for (PetscInt q = 0; q < np; q++) r->own.to[q] = (double *)base[r->p.part[q].rank];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceRanksCreate(MPI_Comm comm, BCRTransport transport, PetscInt axis, PetscInt first, PetscInt m,
                                    PetscInt dim, const BCRAxis axes[], PetscReal shift, PetscBool singular,
                                    const PetscInt stride[], const BCRCoreOptions *options, BCRStream stream,
                                    BCRDeviceRanks *ranks)
{
  BCRDeviceRanks r;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscNew(&r));
  *ranks = r;
  r->comm = MPI_COMM_NULL;
  r->size = 1;
  r->transport = transport;
  r->axis = axis;
  r->dim = dim;
  r->shift = singular ? 0 : (double)shift;
  r->factor = 1;
  r->singular = singular;
  r->float_ = options->precision == BCR_DOUBLE ? PETSC_FALSE : PETSC_TRUE;
  r->size_of = r->float_ ? sizeof(float) : sizeof(double);
  r->stream = stream;
  r->options = *options;
  r->nmarks = -1;
  r->no[0] = r->no[1] = 1;
  if (comm == MPI_COMM_NULL) {
    PetscCall(BCRDeviceCoreCreate(dim, axes, shift, singular, stride, options, stream, &r->core));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscCommDuplicate(comm, &r->comm, &r->tag));
  PetscCallMPI(MPI_Comm_rank(r->comm, &r->rank));
  PetscCallMPI(MPI_Comm_size(r->comm, &r->size));
  PetscCall(BCRSlabRowsCreate(r->comm, axis, first, m, &axes[axis], &r->p));
  for (PetscInt d = 0; d < 3; d++) {
    r->box.n[d] = d < dim ? (int)axes[d].n : 1;
    r->box.stride[d] = d < dim ? stride[d] : 0;
    if (d < dim && d != axis) {
      r->other[r->nother] = d;
      r->no[r->nother++] = axes[d].n;
    }
  }
  r->box.n[axis] = (int)m;
  r->interior = r->box;
  r->interior.n[axis] = r->p.mine >= 0 ? (int)r->p.part[r->p.mine].interior : 0;
  r->row.n0 = (int)r->no[0];
  r->row.n1 = (int)r->no[1];
  r->row.s0 = r->nother > 0 ? stride[r->other[0]] : 1;
  r->row.s1 = r->nother > 1 ? stride[r->other[1]] : 0;
  r->step = stride[axis];
  ierr = ranks_create(r, axes);
  PetscCall(BCRFaultShare(r->comm, ierr, "cannot solve for its rows on its device, as its own message says"));
  PetscCall(ranks_window(r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One pass of the core or two, and what that takes; the first may become impossible for another shift */
static PetscErrorCode ranks_passes(BCRDeviceRanks r)
{
  PetscBool possible = r->bordered, reduces = PETSC_FALSE;
  size_t elements = 1;

  PetscFunctionBegin;
  if (r->bordered) PetscCall(BCRDeviceCoreBorder(r->core, &possible, &reduces));
  if (r->bordered && !possible) {
    r->bordered = PETSC_FALSE;
    PetscCall(BCRDeviceCoreDestroy(&r->core));
    PetscCall(core_create(r, r->axes, PETSC_FALSE));
    PetscCall(BCRDeviceCoreSetFactor(r->core, (PetscReal)r->factor));
    PetscCall(BCRDeviceCoreSetUp(r->core));
    reduces = PETSC_FALSE;
  }
  r->reduces = r->gather ? reduces : PETSC_FALSE;
  if (r->bordered || r->lines[0]) PetscFunctionReturn(PETSC_SUCCESS);
  if (r->core) {
    for (PetscInt d = 0; d < 3; d++) elements += (size_t)r->box.stride[d] * (size_t)(r->interior.n[d] - 1);
    PetscCall(BCRDeviceArenaGet(&r->space, elements * r->size_of, "the workspace", &r->w));
  }
  for (int i = 0; i < 2; i++)
    PetscCall(BCRDeviceArenaGet(&r->space, 2 * (size_t)r->nmodes * sizeof(double), "rows of interfaces", &r->lines[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceRanksSetUp(BCRDeviceRanks r)
{
  PetscFunctionBegin;
  if (r->core) PetscCall(BCRDeviceCoreSetUp(r->core));
  if (r->p.nparts > 1 && r->stale) PetscCall(border_messages(r));
  if (r->p.nparts > 1 && r->p.mine >= 0 && r->stale) {
    PetscCall(ranks_passes(r));
    r->tab.shift = r->shift;
    PetscCallBCRCuda(BCRCudaBorderTables(r->stream, &r->tab));
    if (r->inverse) PetscCallBCRCuda(BCRCudaBorderInverse(r->stream, &r->rows, (int)r->p.mine, r->inverse));
    PetscCallBCRCuda(BCRCudaSynchronize(r->stream)); /* solves may be on another stream */
  }
  r->stale = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceRanksReserveInput(BCRDeviceRanks r)
{
  PetscFunctionBegin;
  if (r->comm == MPI_COMM_NULL) PetscCall(BCRDeviceCoreReserveInput(r->core));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceRanksGetInput(BCRDeviceRanks r, void **f)
{
  PetscFunctionBegin;
  *f = NULL;
  if (r->comm == MPI_COMM_NULL) PetscCall(BCRDeviceCoreGetInput(r->core, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceRanksSetShift(BCRDeviceRanks r, PetscReal shift)
{
  PetscFunctionBegin;
  r->shift = r->singular ? 0 : (double)shift;
  if (r->core) PetscCall(BCRDeviceCoreSetShift(r->core, (PetscReal)(shift + (PetscReal)r->single)));
  if (r->p.nparts > 1) r->stale = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceRanksSetFactor(BCRDeviceRanks r, PetscReal factor)
{
  PetscFunctionBegin;
  r->factor = (double)factor;
  if (r->p.nparts > 1) r->stale = PETSC_TRUE; /* the core's arrays are made anew */
  if (r->core) PetscCall(BCRDeviceCoreSetFactor(r->core, factor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceRanksGetRemoved(BCRDeviceRanks r, const double **removed)
{
  PetscFunctionBegin;
  if (r->comm == MPI_COMM_NULL) PetscCall(BCRDeviceCoreGetRemoved(r->core, removed));
  else *removed = r->singular ? r->scalars + REMOVED : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One rank has all rows; the others want to know what it removed */
static PetscErrorCode solve_alone(BCRDeviceRanks r, BCRStream stream, const void *f, void *u)
{
  const PetscMPIInt from = r->p.part[0].rank;

  PetscFunctionBegin;
  if (r->core) PetscCall(BCRDeviceCoreSolve(r->core, stream, f, u));
  if (r->singular) {
    BCRMessage m = {from, r->scalars + REMOVED, sizeof(double)};

    if (r->rank == from) {
      const double *removed;

      PetscCall(BCRDeviceCoreGetRemoved(r->core, &removed));
      PetscCallBCRCuda(BCRCudaScaleValue(stream, removed, 1, r->scalars + REMOVED));
      for (PetscMPIInt q = 0; q < r->size; q++) {
        m.rank = q;
        if (q != from) PetscCall(BCRTransportExchange(r->transport, stream, 1, &m, 0, NULL));
      }
    } else PetscCall(BCRTransportExchange(r->transport, stream, 0, NULL, 1, &m));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A stage ends */
static PetscErrorCode mark(BCRDeviceRanks r, BCRStream stream)
{
  PetscFunctionBegin;
  if (r->nmarks >= 0 && r->nmarks <= BCR_RANK_STAGES) PetscCallBCRCuda(BCRCudaMark(&r->marks[r->nmarks++], stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode exchange(BCRDeviceRanks r, BCRStream stream, int which)
{
  PetscFunctionBegin;
  PetscCall(
    BCRTransportExchange(r->transport, stream, r->nsend[which], r->send[which], r->nrecv[which], r->recv[which]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two solves: the rows between the interfaces, as if the interface rows were 0; modes of the
   right-hand sides of the own one, and of what the one before gets */
static PetscErrorCode passes_begin(BCRDeviceRanks r, BCRStream stream, const void *f, void *u, double *own,
                                   double *left)
{
  const BCRSlabPart *mine = &r->p.part[r->p.mine], *prev = r->p.prev >= 0 ? &r->p.part[r->p.prev] : NULL;
  const PetscInt in = mine->interior;
  const ptrdiff_t step = r->step * (ptrdiff_t)r->size_of; /* bytes from row to row */
  double *v = r->lines[0], *t = r->lines[1];

  PetscFunctionBegin;
  /* before it may be overwritten */
  if (mine->has)
    PetscCallBCRCuda(BCRCudaRowGet(stream, &r->row, r->float_, (const char *)f + in * step, 0, r->factor, v));
  else PetscCallBCRCuda(BCRCudaZero(v, (size_t)r->nmodes * sizeof(double), stream));
  if (in) {
    PetscCallBCRCuda(BCRCudaScaleCopy(stream, r->interior.n, r->float_, f, r->interior.stride, r->float_, r->w,
                                      r->interior.stride, NULL, NULL));
    PetscCall(BCRDeviceCoreSolve(r->core, stream, r->w, u));
    if (mine->has)
      PetscCallBCRCuda(
        BCRCudaRowGet(stream, &r->row, r->float_, (const char *)u + (in - 1) * step, 1, r->p.low[mine->first + in], v));
  }
  if (prev && in)
    PetscCallBCRCuda(
      BCRCudaRowGet(stream, &r->row, r->float_, u, 0, r->p.up[prev->first + prev->interior], v + r->nmodes));
  else PetscCallBCRCuda(BCRCudaZero(v + r->nmodes, (size_t)r->nmodes * sizeof(double), stream));
  PetscCall(border_transform(r, stream, 0, 2, &v, &t));
  PetscCallBCRCuda(BCRCudaCopy(own, v, (size_t)r->nmodes * sizeof(double), stream));
  PetscCallBCRCuda(BCRCudaCopy(left, v + r->nmodes, (size_t)r->nmodes * sizeof(double), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* and again with what the interfaces add; x: modes of the own interface row, then of the one before */
static PetscErrorCode passes_end(BCRDeviceRanks r, BCRStream stream, void *u, const double *x)
{
  const BCRSlabPart *mine = &r->p.part[r->p.mine];
  const PetscInt in = mine->interior;
  const ptrdiff_t step = r->step * (ptrdiff_t)r->size_of;
  double *v = r->lines[0], *t = r->lines[1];

  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaCopy(v, x, 2 * (size_t)r->nmodes * sizeof(double), stream));
  PetscCall(border_transform(r, stream, 1, 2, &v, &t));
  if (in) {
    if (r->p.prev >= 0)
      PetscCallBCRCuda(
        BCRCudaRowSet(stream, &r->row, r->float_, r->w, 1, r->p.low[mine->first] / r->factor, v + r->nmodes));
    if (mine->has)
      PetscCallBCRCuda(BCRCudaRowSet(stream, &r->row, r->float_, (char *)r->w + (in - 1) * step, 1,
                                     r->p.up[mine->first + in - 1] / r->factor, v));
    if (r->singular)
      PetscCallBCRCuda(BCRCudaAddValue(stream, &r->interior, r->float_, r->w, r->w, r->scalars + REMOVED, -1));
    PetscCall(BCRDeviceCoreSolve(r->core, stream, r->w, u));
  }
  if (mine->has) PetscCallBCRCuda(BCRCudaRowSet(stream, &r->row, r->float_, (char *)u + in * step, 0, 1, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceRanksSolve(BCRDeviceRanks r, BCRStream stream, const void *f, void *u)
{
  const BCRSlabPart *mine = r->p.mine >= 0 ? &r->p.part[r->p.mine] : NULL;
  const BCRCudaWindow *later = NULL; /* the lines exchange */
  double *x;

  PetscFunctionBegin;
  if (r->comm == MPI_COMM_NULL) {
    PetscCall(BCRDeviceCoreSolve(r->core, stream, f, u));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (r->p.nparts == 1) {
    PetscCall(solve_alone(r, stream, f, u));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BCRDeviceRanksSetUp(r));
  if (!mine) {
    PetscCall(exchange(r, stream, 1));
    if (r->singular)
      PetscCallBCRCuda(BCRCudaScaleValue(stream, r->scalars + MEAN, 1 / r->factor, r->scalars + REMOVED));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  x = r->rowmodes;
  PetscCall(mark(r, stream));
  if (r->gather) {
    double *to = r->received[0] + 2 * r->nmodes * r->p.mine;
    const BCRCudaWindow *w = r->window ? &r->own : NULL;

    if (r->reduces) later = w;
    if (r->bordered)
      PetscCall(BCRDeviceCoreBorderBegin(r->core, stream, f, u, to + r->nmodes - 1, to + r->nmodes,
                                         r->reduces ? &r->rows : NULL, (int)r->p.mine, later));
    else {
      PetscCall(passes_begin(r, stream, f, u, x, x + r->nmodes));
      PetscCallBCRCuda(BCRCudaBorderPack(stream, 1, (int)r->nmodes, NULL, r->norm, x, 1, x + r->nmodes, to));
    }
    if (w && !later) PetscCallBCRCuda(BCRCudaWindowPut(stream, w, r->received[0]));
    PetscCall(mark(r, stream));
    if (!w) PetscCall(exchange(r, stream, 0));
    else if (!later) PetscCallBCRCuda(BCRCudaWindowTake(stream, w, r->received[0]));
    PetscCall(mark(r, stream));
    if (r->reduces)
      PetscCall(BCRDeviceCoreBorderLines(r->core, stream, u, &r->rows, r->received[0], (int)r->p.mine, later));
    else PetscCallBCRCuda(BCRCudaBorderSolve(stream, &r->rows, r->received[0], r->work, (int)r->p.mine, x));
    if (r->singular) {
      PetscCallBCRCuda(BCRCudaScaleValue(stream, x + 2 * r->nmodes, 1 / r->factor, r->scalars + REMOVED));
      if (r->size > r->p.nparts) PetscCall(exchange(r, stream, 1));
    }
  } else {
    if (r->bordered)
      PetscCall(
        BCRDeviceCoreBorderBegin(r->core, stream, f, u, x + r->nmodes - 1, x + r->nmodes, NULL, (int)r->p.mine, NULL));
    else PetscCall(passes_begin(r, stream, f, u, x, x + r->nmodes));
    PetscCallBCRCuda(BCRCudaBorderPack(stream, (int)r->p.nparts, (int)r->nmodes, r->dfirst,
                                       r->bordered ? NULL : r->norm, r->bordered ? x + r->nmodes - 1 : x,
                                       r->bordered ? -1 : 1, x + r->nmodes, r->sent[0]));
    PetscCall(mark(r, stream));
    PetscCall(exchange(r, stream, 0));
    PetscCallBCRCuda(BCRCudaBorderSolve(stream, &r->rows, r->received[0], r->work, -1, r->sent[1]));
    PetscCall(exchange(r, stream, 1));
    PetscCall(mark(r, stream));
    PetscCallBCRCuda(BCRCudaBorderUnpack(stream, (int)r->p.nparts, (int)r->nmodes, r->dfirst, r->received[1], x,
                                         x + r->nmodes, r->scalars + MEAN));
    if (r->singular)
      PetscCallBCRCuda(BCRCudaScaleValue(stream, r->scalars + MEAN, 1 / r->factor, r->scalars + REMOVED));
  }
  PetscCall(mark(r, stream));
  if (r->reduces) PetscCall(BCRDeviceCoreBorderBack(r->core, stream, f, u));
  else if (r->bordered)
    PetscCall(
      BCRDeviceCoreBorderEnd(r->core, stream, f, u, x, x + r->nmodes, r->singular ? r->scalars + REMOVED : NULL));
  else PetscCall(passes_end(r, stream, u, x));
  if (r->singular) { /* zero mean */
    PetscCallBCRCuda(BCRCudaSum(stream, &r->box, r->float_, u, NULL, r->scalars + PARTIAL, r->scalars + SUM));
    if (r->window) PetscCallBCRCuda(BCRCudaWindowSum(stream, &r->own, r->scalars + SUM));
    else {
      PetscCall(exchange(r, stream, 2));
      PetscCallBCRCuda(BCRCudaSumOf(stream, (int)r->p.nparts, r->sums, r->scalars + SUM));
    }
    PetscCallBCRCuda(
      BCRCudaAddValue(stream, &r->box, r->float_, u, u, r->scalars + SUM, -1. / ((double)r->nmodes * (double)r->p.n)));
  }
  PetscCall(mark(r, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceRanksStages(BCRDeviceRanks r, BCRStream stream, const void *f, void *u, double seconds[])
{
  PetscFunctionBegin;
  r->nmarks = 0;
  PetscCall(BCRDeviceRanksSolve(r, stream, f, u));
  for (int i = 0; i < BCR_RANK_STAGES; i++) {
    seconds[i] = 0;
    if (i + 1 < r->nmarks) PetscCallBCRCuda(BCRCudaMarkTime(r->marks[i], r->marks[i + 1], &seconds[i]));
  }
  r->nmarks = -1;
  for (int i = 0; i < 2 && r->window && r->p.mine >= 0; i++) { /* by itself; the first one brings the ranks together */
    PetscCallBCRCuda(BCRCudaMark(&r->marks[0], stream));
    PetscCallBCRCuda(BCRCudaWindowPut(stream, &r->own, r->received[0]));
    PetscCallBCRCuda(BCRCudaWindowTake(stream, &r->own, r->received[0]));
    PetscCallBCRCuda(BCRCudaMark(&r->marks[1], stream));
    PetscCallBCRCuda(BCRCudaMarkTime(r->marks[0], r->marks[1], &seconds[1]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceRanksKernels(BCRDeviceRanks r, PetscBool *window, PetscBool *kernels)
{
  PetscFunctionBegin;
  *window = r->window ? PETSC_TRUE : PETSC_FALSE;
  /* ranks without rows get a message */
  *kernels =
    r->comm == MPI_COMM_NULL || (r->window && !(r->singular && r->size > r->p.nparts)) ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceRanksGetInfo(BCRDeviceRanks r, BCRRanksInfo *info)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(info, sizeof(*info)));
  if (r->core) {
    PetscCall(BCRDeviceCoreGetInfo(r->core, &info->core));
    info->workspace = info->core.workspace;
    info->tables = info->core.tables;
    info->flops = (r->p.nparts > 1 && !r->bordered ? 2 : 1) * info->core.flops;
  }
  info->workspace += r->space.bytes;
  info->tables += r->tables.bytes + r->modes[0].uniform.arena.bytes + r->modes[1].uniform.arena.bytes;
  if (r->comm == MPI_COMM_NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (r->p.nparts == 1) {
    PetscCall(PetscSNPrintf(info->what, sizeof(info->what), "rank %d has all rows along %c", r->p.part[0].rank,
                            'x' + (int)r->axis));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (int i = 0; i < (r->singular ? 3 : 2); i++) {
    for (int j = 0; j < r->nsend[i]; j++) {
      if (r->send[i][j].rank == r->rank || !r->send[i][j].bytes) continue;
      info->bytes_sent += r->send[i][j].bytes;
      info->messages++;
    }
  }
  PetscCall(PetscSNPrintf(info->what, sizeof(info->what),
                          "slabs along %c on %" PetscInt_FMT " ranks, %" PetscInt_FMT " interface %s; %" PetscInt_FMT
                          " modes shared out%s",
                          'x' + (int)r->axis, r->p.nparts, r->p.ninterface, r->dim == 3 ? "planes" : "rows", r->nmodes,
                          r->bordered ? "; one pass" : "; two solves"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceRanksDestroy(BCRDeviceRanks *ranks)
{
  BCRDeviceRanks r = *ranks;

  PetscFunctionBegin;
  if (!r) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRTransportWindowDestroy(&r->window));
  PetscCall(BCRDeviceCoreDestroy(&r->core));
  for (int i = 0; i <= BCR_RANK_STAGES; i++) PetscCallBCRCuda(BCRCudaMarkForget(r->marks[i]));
  for (int i = 0; i < 2; i++) {
    PetscCall(BCRDeviceModesDestroy(&r->modes[i].uniform));
    PetscCall(PetscFree2(r->modes[i].lambda, r->modes[i].norm));
  }
  for (int i = 0; i < 3; i++) PetscCall(PetscFree2(r->send[i], r->recv[i]));
  PetscCall(PetscFree(r->first));
  PetscCall(BCRDeviceArenaFree(&r->tables));
  PetscCall(BCRDeviceArenaFree(&r->space));
  PetscCall(BCRSlabRowsDestroy(&r->p));
  if (r->comm != MPI_COMM_NULL) PetscCall(PetscCommDestroy(&r->comm));
  PetscCall(PetscFree(*ranks));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
