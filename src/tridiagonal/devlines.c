/* Lines across ranks on CUDA devices, see devlines.h */
#include "../base/petscbcrimpl.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "devlines.h"
  #include "../backend/cuda/lineranks.h"
  #include "../backend/cuda/border.h"
  #include "../backend/cuda/transport.h"

struct _n_BCRTriDeviceRanks {
  BCRTriDevice local;
  BCRDeviceReduced reduced;
  BCRTransport transport; /* not owned */
  BCRDeviceArena tables, staging;
  BCRCudaRanks p;
  PetscBool early;
  double *g;
  BCRStream stream; /* of set-up, and of fields of the host */
  BCRCudaSide side; /* of the exchange */
  PetscReal *stage;
  double out[2];             /* couplings out of the rank */
  BCRTransportWindow window; /* or NULL */
  BCRCudaRanksWindow waits;
  BCRCudaScanRanks scan;
  PetscBool whole; /* window: the kernel that solves the lines does all of it, by `scan` */
  size_t sent[2];  /* bytes and messages of a solve, then */
};

static PetscErrorCode Put(BCRTriDeviceRanks d, PetscInt n, const PetscReal v[], const void **p)
{
  void *q;

  PetscFunctionBegin;
  *p = NULL;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRDeviceArenaGet(&d->tables, (size_t)n * sizeof(PetscReal), "the responses of lines", &q));
  PetscCallBCRCuda(BCRCudaPut(q, v, (size_t)n * sizeof(PetscReal), d->stream));
  *p = q;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTriDeviceRanksCreate(const BCRTriRanksTables *t, BCRTriDevice local, BCRReduced reduced,
                                       BCRTransport transport, BCRStream stream, BCRTriDeviceRanks *ranks)
{
  BCRTriDeviceRanks d;

  PetscFunctionBegin;
  PetscCall(PetscNew(&d));
  *ranks = d;
  d->local = local;
  d->transport = transport;
  d->stream = stream;
  d->early = t->early;
  d->p.inner = t->inner;
  d->p.n = t->n;
  d->p.outer = t->outer;
  d->p.rep = (int)t->rep;
  d->p.perline = t->sets > 1 ? 1 : 0;
  d->p.single = sizeof(PetscReal) == sizeof(float) ? 1 : 0;
  d->out[0] = (double)t->low;
  d->out[1] = (double)t->up;
  d->p.nfirst = t->nfirst;
  d->p.nlast = t->nlast;
  d->p.mfirst = t->mfirst;
  d->p.mlast = t->mlast;
  PetscCall(Put(d, t->sets * t->nfirst, t->wfirst, &d->p.wfirst));
  PetscCall(Put(d, t->sets * t->nlast, t->wlast, &d->p.wlast));
  PetscCall(Put(d, t->sets * t->mfirst, t->vfirst, &d->p.vfirst));
  PetscCall(Put(d, t->sets * t->mlast, t->vlast, &d->p.vlast));
  if (local) PetscCall(BCRDeviceArenaPut(&d->tables, stream, PETSC_FALSE, 4 * t->sets, t->schur, &d->p.schur));
  PetscCall(BCRDeviceReducedCreate(reduced, transport, stream, &d->reduced));
  PetscCall(BCRDeviceReducedGetArray(d->reduced, &d->g));
  PetscCallBCRCuda(BCRCudaSideCreate(&d->side));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Do more rows than these kernels have weights for make what an end of a line is without the rows beyond? */
static PetscBool Far(BCRTriDeviceRanks d)
{
  return !d->early || PetscMax(d->p.mfirst, d->p.mlast) > BCR_CUDA_SCAN_WEIGHTS ? PETSC_TRUE : PETSC_FALSE;
}

/* What the kernel of the lines needs to know of the other ranks */
static PetscErrorCode Scan(BCRTriDeviceRanks d, const PetscInt take[2], const PetscInt give[2])
{
  const BCRCudaChains *c = &d->waits.chain;
  BCRCudaScanRanks *r = &d->scan;
  /* rows of a rank */
  const PetscBool both = take[0] > 1 || take[1] > 1 || give[0] > 1 || give[1] > 1 ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  r->n = (int)c->n;
  r->begin = (int)take[0];
  r->late = both || d->p.inner == 1 || Far(d) ? 1 : 0;
  r->give[0] = (int)give[0];
  r->give[1] = (int)give[1];
  r->mfirst = (int)d->p.mfirst;
  r->mlast = (int)d->p.mlast;
  r->vfirst = d->p.vfirst;
  r->vlast = d->p.vlast;
  r->low = d->out[0];
  r->up = d->out[1];
  r->columns = d->p.inner * d->p.outer;
  r->slot = 4 * r->columns;
  r->mine = d->waits.mine;
  r->before = d->waits.before;
  r->after = d->waits.after;
  r->turn = d->waits.turn;
  PetscCallBCRCuda(BCRCudaGet(r->schur, d->p.schur, 4 * sizeof(double), d->stream));
  PetscCallBCRCuda(BCRCudaGet(r->lower, c->lower, (size_t)c->n * sizeof(double), d->stream));
  PetscCallBCRCuda(BCRCudaGet(r->pivotinverse, c->pivotinverse, (size_t)c->n * sizeof(double), d->stream));
  PetscCallBCRCuda(BCRCudaGet(r->upper, c->upper, (size_t)(c->n - 1) * sizeof(double), d->stream));
  r->lower[0] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTriDeviceRanksOpen(BCRTriDeviceRanks d)
{
  const size_t columns = (size_t)d->p.inner * (size_t)d->p.outer;
  PetscMPIInt rank, peer[2];
  PetscInt take[2], give[2];
  PetscBool neighbours, ends; /* ends: the kernel that corrects them can wait for the other ranks */
  void **base;

  PetscFunctionBegin;
  PetscCall(BCRDeviceReducedNear(d->reduced, &neighbours, &d->waits.chain, &rank, peer, take, give));
  if (!d->local || !columns) neighbours = PETSC_FALSE;
  d->whole = neighbours && d->waits.chain.same && BCRTriDeviceWaits(d->local) ? PETSC_TRUE : PETSC_FALSE;
  ends = neighbours && PetscMax(PetscMax(take[0], take[1]), PetscMax(give[0], give[1])) <= 1 && d->early &&
             BCRCudaRanksWaits(&d->p)
           ? PETSC_TRUE
           : PETSC_FALSE;
  /* contiguous lines: each block would wait, and that takes longer than to correct the ends afterwards */
  if (d->p.inner == 1 && ends && !Far(d)) d->whole = PETSC_FALSE;
  PetscCall(BCRTransportWindowCreate(d->transport, d->whole, 12 * columns * sizeof(double), BCR_CUDA_NOTHING,
                                     &d->window, &base, &d->waits.turn));
  if (!d->window) {
    d->whole = PETSC_FALSE;
    PetscCall(BCRTransportWindowCreate(d->transport, ends, 8 * columns * sizeof(double), BCR_CUDA_NOTHING, &d->window,
                                       &base, &d->waits.turn));
  }
  if (!d->window) {
    PetscCall(BCRDeviceReducedOpen(d->reduced));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  d->waits.slot = (ptrdiff_t)(4 * columns);
  d->waits.mine = (double *)base[rank];
  d->waits.before = peer[0] >= 0 ? (double *)base[peer[0]] : NULL;
  d->waits.after = peer[1] >= 0 ? (double *)base[peer[1]] : NULL;
  for (int side = 0; side < 2; side++) {
    if (peer[side] < 0) continue;
    d->sent[0] += (size_t)give[side] * columns * sizeof(double);
    d->sent[1]++;
  }
  if (d->whole) PetscCall(Scan(d, take, give));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(BCRTriDeviceRanks d, BCRStream stream, const PetscReal *f, PetscReal *u)
{
  /* the exchange does not need the local solution */
  const PetscBool beside = d->early || d->p.n < 2 ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  if (d->window) PetscCall(BCRTransportWindowBegin(d->transport, d->sent[0], d->sent[1]));
  if (d->whole) {
    PetscCall(BCRTriDeviceSolveRanks(d->local, &d->scan, stream, f, u));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!beside) { /* all in order */
    PetscCall(BCRTriDeviceSolve(d->local, stream, f, u));
    PetscCallBCRCuda(BCRCudaRanksEnds(stream, &d->p, u, d->g));
    PetscCall(BCRDeviceReducedSolve(d->reduced, stream));
    PetscCallBCRCuda(BCRCudaRanksCorrect(stream, &d->p, d->g, u, NULL));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallBCRCuda(BCRCudaSideBegin(&d->side, stream));
  PetscCallBCRCuda(BCRCudaRanksGather(d->side.stream, &d->p, f, d->g, d->window ? &d->waits : NULL));
  if (d->local) {
    if (f == u) PetscCallBCRCuda(BCRCudaSideEnd(&d->side, stream)); /* what has been read may be overwritten */
    PetscCall(BCRTriDeviceSolve(d->local, stream, f, u));
  }
  /* what other ranks store, and the other stream, is waited for in the last kernel, so that f has
     been read when it ends */
  if (d->window) {
    PetscCallBCRCuda(BCRCudaRanksCorrect(stream, &d->p, d->g, u, &d->waits));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  /* the host may wait in it: what can run meanwhile has been launched */
  PetscCall(BCRDeviceReducedSolve(d->reduced, d->side.stream));
  PetscCallBCRCuda(BCRCudaSideEnd(&d->side, stream));
  PetscCallBCRCuda(BCRCudaRanksCorrect(stream, &d->p, d->g, u, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTriDeviceRanksSolve(BCRTriDeviceRanks d, BCRStream stream, const PetscReal *f, PetscReal *u)
{
  const PetscErrorCode ierr = Solve(d, stream, f, u);

  PetscFunctionBegin;
  PetscCall(BCRTransportAgree(d->transport, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTriDeviceRanksSolveHost(BCRTriDeviceRanks d, const PetscReal *f, PetscReal *u)
{
  const size_t bytes = (size_t)d->p.inner * (size_t)d->p.n * (size_t)d->p.outer * sizeof(PetscReal);

  PetscFunctionBegin;
  if (!d->stage) PetscCall(BCRDeviceArenaGet(&d->staging, bytes, "a copy of a vector of the host", &d->stage));
  if (bytes) PetscCallBCRCuda(BCRCudaPut(d->stage, f, bytes, d->stream));
  PetscCall(BCRTriDeviceRanksSolve(d, d->stream, d->stage, d->stage));
  if (bytes) PetscCallBCRCuda(BCRCudaGet(u, d->stage, bytes, d->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTriDeviceRanksGetInfo(BCRTriDeviceRanks d, size_t *tables, size_t *workspace)
{
  PetscFunctionBegin;
  PetscCall(BCRDeviceReducedGetInfo(d->reduced, tables, workspace));
  *tables += d->tables.bytes;
  *workspace += d->staging.bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTriDeviceRanksDestroy(BCRTriDeviceRanks *ranks)
{
  BCRTriDeviceRanks d = *ranks;

  PetscFunctionBegin;
  if (!d) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRTransportWindowDestroy(&d->window));
  PetscCall(BCRDeviceReducedDestroy(&d->reduced));
  PetscCallBCRCuda(BCRCudaSideDestroy(&d->side));
  PetscCall(BCRDeviceArenaFree(&d->tables));
  PetscCall(BCRDeviceArenaFree(&d->staging));
  PetscCall(PetscFree(*ranks));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
