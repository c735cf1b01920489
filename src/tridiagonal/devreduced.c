/* The reduced system over ranks on CUDA devices, see devreduced.h */
#include "../base/petscbcrimpl.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "devreduced.h"
  #include "reducedimpl.h"
  #include "../backend/cuda/lineranks.h"

struct _n_BCRDeviceReduced {
  BCRReduced r; /* not owned */
  BCRTransport transport;
  BCRDeviceArena tables, space;
  double *g, *array, *here, *share; /* g: a part of array where neighbours solve all systems */
  BCRCudaChains near, far;
  const int *nearindex, *farindex, *base, *step;
  int nsend[3], nrecv[3]; /* between neighbours; to the shares; back */
  BCRMessage *send[3], *recv[3];
  BCRTransportPlan plan[3];
};

static PetscErrorCode PutInts(BCRDeviceReduced d, BCRStream stream, PetscInt n, const PetscInt v[], const int **p)
{
  int *w;
  void *q;

  PetscFunctionBegin;
  *p = NULL;
  if (!v || !n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(n, &w));
  for (PetscInt i = 0; i < n; i++) w[i] = (int)v[i];
  PetscCall(BCRDeviceArenaGet(&d->tables, (size_t)n * sizeof(int), "the reduced system", &q));
  PetscCallBCRCuda(BCRCudaPut(q, w, (size_t)n * sizeof(int), stream));
  PetscCall(PetscFree(w));
  *p = (const int *)q;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PutChains(BCRDeviceReduced d, BCRStream stream, const BCRChains *c, const PetscInt rows[],
                                BCRCudaChains *to)
{
  const PetscInt n = c->n * (c->same ? 1 : c->ns);

  PetscFunctionBegin;
  to->n = c->n;
  to->ns = c->ns;
  to->nvec = (int)d->r->nvec;
  to->border = c->border ? 1 : 0;
  to->same = c->same ? 1 : 0;
  PetscCall(BCRDeviceArenaPut(&d->tables, stream, PETSC_FALSE, n, c->lower, &to->lower));
  PetscCall(BCRDeviceArenaPut(&d->tables, stream, PETSC_FALSE, n, c->pivotinverse, &to->pivotinverse));
  PetscCall(BCRDeviceArenaPut(&d->tables, stream, PETSC_FALSE, n, c->upper, &to->upper));
  PetscCall(BCRDeviceArenaPut(&d->tables, stream, PETSC_FALSE, n, c->borderrow, &to->borderrow));
  PetscCall(BCRDeviceArenaPut(&d->tables, stream, PETSC_FALSE, n, c->bordercolumn, &to->bordercolumn));
  PetscCall(PutInts(d, stream, c->n, rows, &to->row));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void Message(BCRMessage *m, PetscMPIInt rank, double *p, size_t n)
{
  m->rank = rank;
  m->p = p;
  m->bytes = n * sizeof(double);
}

/* Rows between neighbours. A transport has no tags: two messages between the same ranks go in the
   order of theirs on both sides */
static PetscErrorCode NearMessages(BCRDeviceReduced d)
{
  const BCRNeighbours *nb = &d->r->nb;
  const size_t rowsize = (size_t)nb->ns * (size_t)d->r->nvec;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(nb->nsend, &d->send[0], nb->nrecv, &d->recv[0]));
  for (int tag = 0; tag < 4; tag++) {
    for (PetscInt i = 0; i < nb->nsend; i++) {
      if (nb->send[i].tag == tag)
        Message(&d->send[0][d->nsend[0]++], nb->send[i].peer, d->array + (size_t)nb->send[i].row * rowsize,
                (size_t)nb->send[i].rows * rowsize);
    }
    for (PetscInt i = 0; i < nb->nrecv; i++) {
      if (nb->recv[i].tag == tag)
        Message(&d->recv[0][d->nrecv[0]++], nb->recv[i].peer, d->array + (size_t)nb->recv[i].row * rowsize,
                (size_t)nb->recv[i].rows * rowsize);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All rows of a share to its rank, and back: src/tridiagonal/transpose.h */
static PetscErrorCode FarMessages(BCRDeviceReduced d, BCRStream stream)
{
  const BCRReduced r = d->r;
  const BCRTranspose *t = &r->there;
  const size_t v = (size_t)r->nvec;
  PetscInt *base, *step;

  PetscFunctionBegin;
  for (int way = 1; way < 3; way++) {
    PetscCall(PetscMalloc2(t->size, &d->send[way], t->size, &d->recv[way]));
    for (PetscMPIInt q = 0; q < t->size; q++) {
      const size_t side = (size_t)t->nsys[q] * (size_t)t->mine * v, share = (size_t)t->rows[q] * (size_t)t->ns * v;
      double *h = d->here + (size_t)t->sysoff[q] * (size_t)t->mine * v,
             *s = d->share + (size_t)t->rowoff[q] * (size_t)t->ns * v;

      if (side) Message(way == 1 ? &d->send[1][d->nsend[1]++] : &d->recv[2][d->nrecv[2]++], q, h, side);
      if (share) Message(way == 1 ? &d->recv[1][d->nrecv[1]++] : &d->send[2][d->nsend[2]++], q, s, share);
    }
  }
  PetscCall(PetscMalloc2(r->nshared, &base, r->nshared, &step));
  for (PetscMPIInt q = 0; q < t->size; q++) {
    for (PetscInt s = 0; s < t->nsys[q]; s++) {
      base[t->sysoff[q] + s] = t->sysoff[q] * t->mine + s;
      step[t->sysoff[q] + s] = t->nsys[q];
    }
  }
  PetscCall(PutInts(d, stream, r->nshared, base, &d->base));
  PetscCall(PutInts(d, stream, r->nshared, step, &d->step));
  PetscCall(PetscFree2(base, step));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceReducedCreate(BCRReduced r, BCRTransport transport, BCRStream stream, BCRDeviceReduced *device)
{
  BCRDeviceReduced d;
  const size_t v = (size_t)r->nvec, own = (size_t)r->nsys * (size_t)r->rows * v;
  size_t bytes[2] = {0, 0};

  PetscFunctionBegin;
  PetscCheck(!r->flags, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "Reduced systems on devices have no values besides their rows");
  PetscCheck(
    (PetscInt64)r->nsys * PetscMax(r->total, 1) <= PETSC_MPI_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
    "%" PetscInt_FMT " systems of %" PetscInt_FMT " rows across ranks are too many for a device", r->nsys, r->total);
  PetscCall(PetscNew(&d));
  *device = d;
  d->r = r;
  d->transport = transport;
  if (r->nb.ns) {
    const size_t room = (size_t)r->nb.nrows * (size_t)r->nb.ns * v;

    PetscCall(BCRDeviceArenaGet(&d->space, room * sizeof(double), "the reduced system", &d->array));
    PetscCallBCRCuda(BCRCudaZero(d->array, room * sizeof(double), stream));
    PetscCall(PutChains(d, stream, &r->nb.chains, r->nb.rows, &d->near));
    PetscCall(PutInts(d, stream, r->nb.ns, r->nb.index, &d->nearindex));
    PetscCall(NearMessages(d));
  }
  if (r->nshared) {
    PetscCall(BCRDeviceArenaGet(&d->space, (size_t)r->there.mine * (size_t)r->nshared * v * sizeof(double),
                                "the reduced system", &d->here));
    PetscCall(BCRDeviceArenaGet(&d->space, (size_t)r->there.nrows * (size_t)r->there.ns * v * sizeof(double),
                                "the reduced system", &d->share));
    PetscCall(PutChains(d, stream, &r->chains, r->there_rows, &d->far));
    PetscCall(PutInts(d, stream, r->nshared, r->index, &d->farindex));
    PetscCall(FarMessages(d, stream));
  }
  if (r->nb.ns == r->nsys && !r->nb.index && d->array) d->g = d->array + (size_t)r->nb.first * (size_t)r->nb.ns * v;
  else PetscCall(BCRDeviceArenaGet(&d->space, own * sizeof(double), "the reduced system", &d->g));
  for (int way = 0; way < 3; way++) {
    size_t sum[2] = {0, 0};

    for (int i = 0; i < d->nsend[way]; i++) sum[0] += d->send[way][i].bytes;
    for (int i = 0; i < d->nrecv[way]; i++) sum[1] += d->recv[way][i].bytes;
    for (int i = 0; i < 2; i++) bytes[i] = PetscMax(bytes[i], sum[i]);
  }
  PetscCall(BCRTransportReserve(transport, bytes[0], bytes[1]));
  PetscCallBCRCuda(BCRCudaSynchronize(stream)); /* solves may be on another one */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceReducedGetArray(BCRDeviceReduced device, double **g)
{
  PetscFunctionBegin;
  *g = device->g;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceReducedNear(BCRDeviceReduced d, PetscBool *simple, BCRCudaChains *chains, PetscMPIInt *rank,
                                    PetscMPIInt peer[2], PetscInt take[2], PetscInt give[2])
{
  const BCRNeighbours *nb = &d->r->nb;

  PetscFunctionBegin;
  peer[0] = peer[1] = -1;
  take[0] = nb->before;
  take[1] = nb->after;
  give[0] = give[1] = 0;
  *chains = d->near;
  *rank = d->r->rank;
  *simple = !d->r->nshared && nb->ns == d->r->nsys && !nb->index && d->array && nb->own == 2 &&
                nb->first == nb->before && nb->before <= 2 && nb->after <= 2 && nb->nrows <= 4 &&
                nb->nrows == nb->before + 2 + nb->after && !nb->chains.border
              ? PETSC_TRUE
              : PETSC_FALSE;
  for (PetscInt i = 0; i < nb->nrecv && *simple; i++) peer[nb->recv[i].row ? 1 : 0] = nb->recv[i].peer;
  if (peer[0] == peer[1] && peer[0] >= 0 && (nb->before > 1 || nb->after > 1)) *simple = PETSC_FALSE;
  for (PetscInt i = 0; i < nb->nsend && *simple; i++) { /* the last row goes to the rank after; both to either */
    const int side =
      nb->send[i].rows > 1 ? (nb->send[i].peer == peer[0] ? 0 : 1) : (nb->send[i].row == nb->first ? 0 : 1);

    if (nb->send[i].rows > 2 || give[side] || nb->send[i].peer != peer[side] || nb->send[i].peer == d->r->rank)
      *simple = PETSC_FALSE;
    give[side] = nb->send[i].rows;
  }
  for (int side = 0; side < 2; side++) {
    if (!take[side] != !give[side]) *simple = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceReducedOpen(BCRDeviceReduced d)
{
  PetscFunctionBegin;
  for (int way = 0; way < 3; way++) {
    if (way ? d->r->nshared : d->r->nb.ns)
      PetscCall(
        BCRTransportPlanCreate(d->transport, d->nsend[way], d->send[way], d->nrecv[way], d->recv[way], &d->plan[way]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceReducedSolve(BCRDeviceReduced d, BCRStream stream)
{
  const BCRReduced r = d->r;
  double *own = d->array ? d->array + (size_t)r->nb.first * (size_t)r->nb.ns * (size_t)r->nvec : NULL;
  const PetscBool inside = d->g == own ? PETSC_TRUE : PETSC_FALSE; /* of the array */

  PetscFunctionBegin;
  if (r->nshared) {
    PetscCallBCRCuda(BCRCudaSystemsMove(stream, r->rows, r->nshared, r->nsys, (int)r->nvec, d->farindex, d->base,
                                        d->step, 0, d->g, d->here));
    PetscCall(BCRTransportPlanExchange(d->plan[1], stream));
  }
  if (r->nb.ns) {
    if (!inside)
      PetscCallBCRCuda(
        BCRCudaSystemsMove(stream, r->rows, r->nb.ns, r->nsys, (int)r->nvec, d->nearindex, NULL, NULL, 0, d->g, own));
    PetscCall(BCRTransportPlanExchange(d->plan[0], stream));
  }
  if (r->nshared) {
    PetscCallBCRCuda(BCRCudaChainsSolve(stream, &d->far, d->share));
    PetscCall(BCRTransportPlanExchange(d->plan[2], stream));
    PetscCallBCRCuda(BCRCudaSystemsMove(stream, r->rows, r->nshared, r->nsys, (int)r->nvec, d->farindex, d->base,
                                        d->step, 1, d->g, d->here));
  }
  if (r->nb.ns) {
    PetscCallBCRCuda(BCRCudaChainsSolve(stream, &d->near, d->array));
    if (!inside)
      PetscCallBCRCuda(
        BCRCudaSystemsMove(stream, r->rows, r->nb.ns, r->nsys, (int)r->nvec, d->nearindex, NULL, NULL, 1, d->g, own));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceReducedGetInfo(BCRDeviceReduced device, size_t *tables, size_t *workspace)
{
  PetscFunctionBegin;
  *tables = device->tables.bytes;
  *workspace = device->space.bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceReducedDestroy(BCRDeviceReduced *device)
{
  BCRDeviceReduced d = *device;

  PetscFunctionBegin;
  if (!d) PetscFunctionReturn(PETSC_SUCCESS);
  for (int way = 0; way < 3; way++) {
    PetscCall(BCRTransportPlanDestroy(&d->plan[way]));
    PetscCall(PetscFree2(d->send[way], d->recv[way]));
  }
  PetscCall(BCRDeviceArenaFree(&d->tables));
  PetscCall(BCRDeviceArenaFree(&d->space));
  PetscCall(PetscFree(*device));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
