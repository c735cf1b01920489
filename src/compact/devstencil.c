/* Banded operators along lines over ranks with CUDA devices, see devstencil.h */
#include "devstencil.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "stencilimpl.h"
  #include "../backend/cuda/compact.h"
  #include "../backend/cuda/lineranks.h"
  #include "../backend/cuda/transport.h"

struct _n_BCRDeviceStencil {
  BCRStencil s;
  BCRTransport transport;
  BCRDeviceArena arena;
  BCRCudaStencil p;
  PetscReal *out, *ghost;
  BCRMessage *send, *recv;
  BCRCudaSide side; /* of the exchange, over ranks */
};

PetscErrorCode BCRDeviceStencilCreate(BCRStencil s, BCRTransport transport, BCRStream stream, BCRDeviceStencil *device)
{
  const PetscInt edges = s->local - (s->to - s->from), plane = s->inner * s->outer;
  BCRDeviceStencil d;
  PetscInt planes = 0;
  double *weights;
  int *points;
  void *q;

  PetscFunctionBegin;
  PetscCall(PetscNew(&d));
  *device = d;
  d->s = s;
  d->transport = transport;
  d->p.inner = s->inner;
  d->p.n = s->local;
  d->p.outer = s->outer;
  d->p.from = s->from;
  d->p.to = s->to;
  d->p.single = sizeof(PetscReal) == sizeof(float) ? 1 : 0;
  d->p.half = (int)s->half;
  d->p.sign = (int)s->sign;
  d->p.edges = (int)edges;
  d->p.width = BCR_BAND_WIDTH;
  d->p.below = (int)s->below;
  for (int k = 0; k < 4; k++) d->p.c[k] = s->c[k];
  PetscCall(PetscMalloc2(2 * edges, &points, edges * BCR_BAND_WIDTH, &weights));
  for (PetscInt e = 0; e < edges; e++) {
    points[e] = (int)s->rows[e].start;
    points[edges + e] = (int)s->rows[e].points;
    for (PetscInt k = 0; k < BCR_BAND_WIDTH; k++)
      weights[e * BCR_BAND_WIDTH + k] = k < s->rows[e].points ? s->rows[e].c[k] : 0;
  }
  PetscCall(BCRDeviceArenaPut(&d->arena, stream, PETSC_FALSE, edges * BCR_BAND_WIDTH, weights, &d->p.weights));
  PetscCall(BCRDeviceArenaGet(&d->arena, 2 * (size_t)edges * sizeof(int), "the rows of a stencil", &q));
  PetscCallBCRCuda(BCRCudaPut(q, points, 2 * (size_t)edges * sizeof(int), stream));
  d->p.start = (const int *)q;
  d->p.points = d->p.start + edges;
  PetscCall(PetscFree2(points, weights));

  for (PetscInt i = 0; i < s->nsend; i++) planes += s->send[i].planes;
  PetscCall(BCRDeviceArenaGet(&d->arena, (size_t)planes * (size_t)plane * sizeof(PetscReal), "planes for other ranks",
                              &d->out));
  PetscCall(BCRDeviceArenaGet(&d->arena, (size_t)(s->below + s->above) * (size_t)plane * sizeof(PetscReal),
                              "planes of other ranks", &d->ghost));
  PetscCall(PetscMalloc2(s->nsend, &d->send, s->nrecv, &d->recv));
  planes = 0;
  for (PetscInt i = 0; i < s->nsend; i++) {
    d->send[i].rank = s->send[i].rank;
    d->send[i].p = d->out + planes * plane;
    d->send[i].bytes = (size_t)s->send[i].planes * (size_t)plane * sizeof(PetscReal);
    planes += s->send[i].planes;
  }
  for (PetscInt i = 0; i < s->nrecv; i++) {
    d->recv[i].rank = s->recv[i].rank;
    d->recv[i].p = d->ghost + s->recv[i].slot * plane;
    d->recv[i].bytes = (size_t)s->recv[i].planes * (size_t)plane * sizeof(PetscReal);
  }
  if (transport) {
    PetscCall(BCRTransportReserve(transport, (size_t)planes * (size_t)plane * sizeof(PetscReal),
                                  (size_t)(s->below + s->above) * (size_t)plane * sizeof(PetscReal)));
    PetscCallBCRCuda(BCRCudaSideCreate(&d->side));
  }
  PetscCallBCRCuda(BCRCudaSynchronize(stream)); /* products may be on another one */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceStencilPack(BCRDeviceStencil d, BCRStream stream, const PetscReal *f)
{
  const BCRStencil s = d->s;
  const PetscInt plane = s->inner * s->outer;

  PetscFunctionBegin;
  if (d->side.stream) {
    PetscCallBCRCuda(BCRCudaSideBegin(&d->side, stream));
    stream = d->side.stream;
  }
  for (PetscInt i = 0; i < s->nsend; i++)
    PetscCallBCRCuda(BCRCudaStencilPack(stream, &d->p, f, s->send[i].plane, s->send[i].planes, d->send[i].p));
  for (PetscInt i = 0; i < s->nself; i++)
    PetscCallBCRCuda(
      BCRCudaStencilPack(stream, &d->p, f, s->self[i].plane, s->self[i].planes, d->ghost + s->self[i].slot * plane));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceStencilExchange(BCRDeviceStencil d)
{
  const PetscErrorCode ierr = d->transport ? BCRTransportExchange(d->transport, d->side.stream, (int)d->s->nsend,
                                                                  d->send, (int)d->s->nrecv, d->recv)
                                           : PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(BCRTransportAgree(d->transport, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceStencilInner(BCRDeviceStencil d, BCRStream stream, const PetscReal *f, PetscReal *u)
{
  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaStencilInner(stream, &d->p, f, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceStencilEdges(BCRDeviceStencil d, BCRStream stream, const PetscReal *f, PetscReal *u)
{
  PetscFunctionBegin;
  if (d->side.stream) PetscCallBCRCuda(BCRCudaSideEnd(&d->side, stream));
  PetscCallBCRCuda(BCRCudaStencilEdges(stream, &d->p, f, d->ghost, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceStencilDestroy(BCRDeviceStencil *device)
{
  BCRDeviceStencil d = *device;

  PetscFunctionBegin;
  if (!d) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallBCRCuda(BCRCudaSideDestroy(&d->side));
  PetscCall(BCRDeviceArenaFree(&d->arena));
  PetscCall(PetscFree2(d->send, d->recv));
  PetscCall(PetscFree(*device));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
