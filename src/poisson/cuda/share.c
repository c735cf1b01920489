/*
  Plan SPECTRAL on the devices of several ranks: each has rows along one axis, of all modes of the others. By an exchange it
  gets all rows of a share of these modes, along one of the other axes, and by another one the solutions there in its rows.

      rows of rank 0 | a | b | c |           share of rank 0 | a |    share of rank 1 | b |    ...
      rows of rank 1 | d | e | f |    ->                     | d |                    | e |
      rows of rank 2 | g | h | i |                           | g |                    | h |

  A piece is a box, packed as it lies in the share: there it is where it belongs, as rows that are exchanged come last in
  memory, unless they are along axis 0, which lies side by side for the transforms. What a rank keeps is copied.
*/
#include "../../base/petscbcrimpl.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "coreimpl.h"

/* Places are shared out by so many, a cache line, where they lie side by side */
  #define SHARE_UNIT 16

PetscErrorCode BCRDeviceShareCreate(BCRDeviceCore c, const BCRCoreShare *share)
{
  const BCRPlan p = c->plan;
  BCRDeviceShare *s;

  PetscFunctionBegin;
  PetscCall(PetscNew(&c->share));
  s = c->share;
  s->transport = (BCRTransport)share->transport;
  PetscCallMPI(MPI_Comm_size(share->comm, &s->size));
  PetscCallMPI(MPI_Comm_rank(share->comm, &s->rank));
  PetscCall(PetscMalloc3(s->size, &s->rows, s->size, &s->rowoff, s->size + 1, &s->first));
  PetscCall(PetscMalloc2(4 * s->size, &s->send, 4 * s->size, &s->recv));
  PetscCall(PetscArraycpy(s->rows, share->rows, s->size));
  PetscCall(PetscArraycpy(s->rowoff, share->rowoff, s->size));
  s->axis = p->along == 0 ? PetscMax(1, p->dim - 1) : p->along == p->dim - 1 ? p->along - 1 : p->dim - 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceShareDestroy(BCRDeviceCore c)
{
  BCRDeviceShare *s = c->share;

  PetscFunctionBegin;
  if (!s) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFree3(s->rows, s->rowoff, s->first));
  PetscCall(PetscFree2(s->send, s->recv));
  PetscCall(PetscFree(c->share));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* So many rows of rank q's share, as they are packed; elements */
static size_t share_box(BCRDeviceCore c, PetscInt rows, PetscMPIInt q, BCRCudaBox *box)
{
  const BCRDeviceShare *s = c->share;
  const PetscInt along = c->plan->along, order[3] = {0, along ? 3 - along : 1, along ? along : 2};
  ptrdiff_t size = 1;

  for (int d = 0; d < 3; d++) box->n[d] = c->nplaces[d];
  box->n[along] = (int)rows;
  box->n[s->axis] = (int)(s->first[q + 1] - s->first[q]);
  for (int i = 0; i < 3; i++) {
    box->stride[order[i]] = size;
    size *= box->n[order[i]];
    if (i == 0) size = (size + 15) / 16 * 16;
  }
  return (size_t)size;
}

PetscErrorCode BCRDeviceShareSpace(BCRDeviceCore c)
{
  BCRDeviceShare *s = c->share;
  BCRCudaSymbol *symbol = &c->symbol;
  const PetscInt unit = s->axis ? 1 : SHARE_UNIT, n = c->nplaces[s->axis], units = (n + unit - 1) / unit,
                 mine = s->rows[s->rank];
  size_t elements[2] = {0, 0}, bytes[2];
  BCRCudaBox box;

  PetscFunctionBegin;
  for (PetscMPIInt q = 0; q <= s->size; q++)
    s->first[q] = PetscMin(n, unit * (PetscInt)((PetscInt64)units * q / s->size));
  s->pin = 0;
  while (symbol->pin[s->axis] >= s->first[s->pin + 1]) s->pin++;
  (void)share_box(c, c->plan->n[c->plan->along], s->rank, &c->places[1].box);
  for (PetscMPIInt q = 0; q < s->size; q++) {
    if (q == s->rank) continue;
    elements[0] += share_box(c, mine, q, &box);
    elements[1] += share_box(c, s->rows[q], s->rank, &box);
  }
  for (int side = 0; side < 2; side++) {
    bytes[side] = elements[side] * c->size + 4 * (size_t)s->size * sizeof(double);
    s->piece[side] = NULL;
    if (side == 0 || c->plan->along == 0)
      PetscCall(BCRDeviceArenaGet(&c->space, bytes[side], "messages", &s->piece[side]));
  }
  PetscCall(BCRTransportReserve(s->transport, PetscMax(bytes[0], bytes[1]), PetscMax(bytes[0], bytes[1])));
  PetscCall(BCRDeviceArenaGet(&c->space, (size_t)s->size * sizeof(double), "sums", &s->sums));
  /* the symbol of the share */
  if (symbol->lambda[s->axis]) symbol->lambda[s->axis] += s->first[s->rank];
  if (symbol->norm[s->axis]) symbol->norm[s->axis] += s->first[s->rank];
  symbol->pin[s->axis] -= (int)s->first[s->rank];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A piece of an array: where it lies, and where it is packed, which is the same where `message` is */
typedef struct {
  void *at, *message;
  BCRCudaBox box; /* packed */
  size_t bytes;
} Piece;

/* side 0: of v, an array of rows here, rank q's share; 1: of v, an array of the share, rank q's rows. *used: bytes of pieces */
static Piece piece(BCRDeviceCore c, int side, PetscMPIInt q, void *v, const ptrdiff_t stride[3], size_t *used)
{
  const BCRDeviceShare *s = c->share;
  const PetscInt along = c->plan->along;
  Piece one;

  one.bytes = share_box(c, s->rows[side ? q : s->rank], side ? s->rank : q, &one.box) * c->size;
  one.at = (char *)v + (size_t)(side ? s->rowoff[q] * stride[along] : s->first[q] * stride[s->axis]) * c->size;
  one.message = s->piece[side] && q != s->rank ? (char *)s->piece[side] + *used : (char *)one.at;
  if (q != s->rank) *used += one.bytes;
  return one;
}

/* The pieces of that side as messages with all other ranks; packed, or taken from there, where they are to be sent or have come */
enum {
  PIECES_LIST,
  PIECES_PACK,
  PIECES_TAKE
};
static PetscErrorCode pieces(BCRDeviceCore c, BCRStream stream, int side, int what, void *v, const ptrdiff_t stride[3],
                             int *n, BCRMessage m[])
{
  const BCRDeviceShare *s = c->share;
  size_t used = 0;

  PetscFunctionBegin;
  *n = 0;
  for (PetscMPIInt q = 0; q < s->size; q++) {
    const Piece one = piece(c, side, q, v, stride, &used);

    if (q == s->rank || !one.bytes) continue;
    if (one.at != one.message && what == PIECES_PACK)
      PetscCallBCRCuda(BCRCudaScaleCopy(stream, one.box.n, c->single, one.at, stride, c->single, one.message,
                                        one.box.stride, NULL, NULL));
    if (one.at != one.message && what == PIECES_TAKE)
      PetscCallBCRCuda(BCRCudaScaleCopy(stream, one.box.n, c->single, one.message, one.box.stride, c->single, one.at,
                                        stride, NULL, NULL));
    m[*n].rank = q;
    m[*n].p = one.message;
    m[(*n)++].bytes = one.bytes;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers that go with them: count from each rank from <= q < end to all others, those of rank q at v + count q, or, where
   there is one such rank, at v */
static void numbers(BCRDeviceCore c, PetscMPIInt from, PetscMPIInt end, int count, double *v, int *nsend, int *nrecv)
{
  BCRDeviceShare *s = c->share;

  for (PetscMPIInt q = 0; q < s->size; q++) {
    const BCRMessage out = {q, v + (end - from > 1 ? count * s->rank : 0), (size_t)count * sizeof(double)},
                     in = {q, v + (end - from > 1 ? count * q : 0), (size_t)count * sizeof(double)};

    if (q == s->rank) continue;
    if (s->rank >= from && s->rank < end) s->send[(*nsend)++] = out;
    if (q >= from && q < end) s->recv[(*nrecv)++] = in;
  }
}

/* Of one box, real or imaginary parts: from `at` to `next`. numbered: with the numbers that go with them */
static PetscErrorCode exchange(BCRDeviceCore c, BCRStream stream, const BCRStage *stage, PetscBool numbered, void *at,
                               void *next)
{
  const BCRPlan p = c->plan;
  BCRDeviceShare *s = c->share;
  const int from = stage->back ? 1 : 0, to = 1 - from;
  const PetscBool left = numbered && stage->back && c->left && p->left_out ? PETSC_TRUE : PETSC_FALSE;
  /* rows here may be the caller's, where nothing but axis `along` is transformed */
  const ptrdiff_t *here = p->dim > 1 ? c->places[0].box.stride : p->stride, *there = c->places[1].box.stride;
  size_t used = 0;
  int nsend, nrecv;
  Piece own[2];

  PetscFunctionBegin;
  PetscCall(pieces(c, stream, from, PIECES_PACK, at, from ? there : here, &nsend, s->send));
  PetscCall(pieces(c, stream, to, PIECES_LIST, next, to ? there : here, &nrecv, s->recv));
  if (stage->back && p->singular) numbers(c, s->pin, s->pin + 1, 1, c->scalars, &nsend, &nrecv);
  if (left) numbers(c, 0, s->size, 3, BCRDeviceLeftSums(c), &nsend, &nrecv);
  PetscCall(BCRTransportExchange(s->transport, stream, nsend, s->send, nrecv, s->recv));
  PetscCall(pieces(c, stream, to, PIECES_TAKE, next, to ? there : here, &nrecv, s->recv));
  own[0] = piece(c, 0, s->rank, from ? next : at, here, &used);
  own[1] = piece(c, 1, s->rank, from ? at : next, there, &used);
  if (own[0].bytes)
    PetscCallBCRCuda(BCRCudaScaleCopy(stream, own[0].box.n, c->single, own[from].at, from ? there : here, c->single,
                                      own[to].at, to ? there : here, NULL, NULL));
  if (left) PetscCallBCRCuda(BCRCudaLeftLargest(stream, s->size, BCRDeviceLeftSums(c), p->symbol_size, c->left));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceShareExchange(BCRDeviceCore c, BCRStream stream, const BCRStage *stage, BCRDeviceWalk *w,
                                      void *u)
{
  void *next = !stage->back ? c->places[1].v[0] : c->plan->dim > 1 ? c->places[0].v[0] : u;

  PetscFunctionBegin;
  for (PetscInt part = 0; part < BCRDeviceParts(c); part++)
    PetscCall(exchange(c, stream, stage, part ? PETSC_FALSE : PETSC_TRUE, BCRDeviceSpectralPart(c, w->at, part),
                       BCRDeviceSpectralPart(c, next, part)));
  w->at = next;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceShareSum(BCRDeviceCore c, BCRStream stream, double *sum)
{
  BCRDeviceShare *s = c->share;
  int nsend = 0, nrecv = 0;

  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaCopy(s->sums + s->rank, sum, sizeof(double), stream));
  numbers(c, 0, s->size, 1, s->sums, &nsend, &nrecv);
  PetscCall(BCRTransportExchange(s->transport, stream, nsend, s->send, nrecv, s->recv));
  PetscCallBCRCuda(BCRCudaSumOf(stream, (int)s->size, s->sums, sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreGetExchange(BCRDeviceCore c, size_t *bytes, size_t *messages)
{
  const BCRDeviceShare *s = c->share;

  PetscFunctionBegin;
  *bytes = *messages = 0;
  for (PetscMPIInt q = 0; s && c->places[0].v[0] && q < s->size; q++) {
    for (int side = 0; side < 2; side++) {
      BCRCudaBox box;
      const size_t elements = q == s->rank ? 0 : share_box(c, s->rows[side ? q : s->rank], side ? s->rank : q, &box);

      *bytes += elements * c->size;
      *messages += elements > 0;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
