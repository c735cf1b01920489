/*
  Moves between vectors on CUDA devices: the pieces of carry.c by kernels. Ranks of a node map the slabs of one another,
  where CUDA has them do so, and each stores its box there and fetches the solution, as ranks do on the host; that a rank
  has come so far is an event of its stream, for which the streams of others wait, and hosts tell one another no more than
  that it was recorded. All other pieces are packed, and go by the transport of the solver.
*/
#include "carryimpl.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "../base/agree.h"
  #include "../base/device.h"
  #include "../backend/cuda/carry.h"
  #include "../backend/cuda/transport.h"
  #include "../transport/transport.h"
  #include <string.h>

/* Which parts a kernel has */
typedef enum {
  PUSH,   /* take: of the box, to slabs and packed */
  UNPACK, /* what has come, to the slab */
  PACK,   /* give: what goes by messages */
  FETCH,  /* to the box, from slabs and what has come */
  LISTS
} List;

/* PUSHED and READY of the counts are events, too. DONE is for moves on the host alone, since each rank has one slab for what
   is taken and one for what is given: a rank stores in the first again when it has waited for READY of the solve that reads
   it, and a solve writes to the second again when it has waited for PUSHED of those who fetch from it, which is behind
   their fetching */
enum {
  EVENTS = 2
};

enum {
  BCR_CARRY_ALIGN = 512 /* as cudaMalloc() has it */
};

struct _n_BCRCarryDevice {
  BCRTransport transport;
  BCRDeviceArena arena;
  BCRStream stream;          /* the last one */
  PetscBool shares;          /* ranks of this node map the slabs of one another */
  PetscBool sends;           /* some rank of all has messages */
  PetscBool own;             /* the slab is an allocation of its own */
  char *slab[2];             /* what is taken, what is given: a solve in two dimensions copies where they are one */
  void *box;                 /* copy of a vector of the host, made for the first one */
  size_t unit, room;         /* bytes of a node; of the box */
  int word;                  /* bytes of what kernels copy */
  void *event[EVENTS];       /* this rank's */
  void **theirs;             /* [EVENTS * ranks of the node] those of others, mapped; or NULL */
  void **peer;               /* [ranks of the node] slabs of others, mapped, or NULL where nothing goes there */
  BCRCudaPart *parts[LISTS]; /* on the device */
  int n[LISTS], nmessage[2];
  ptrdiff_t most[LISTS];
  BCRMessage *message[2]; /* pieces of the box, of the slab, packed */
  BCRCarryInfo info;
};

/* What a rank tells the others of its node */
typedef struct {
  PetscMPIInt good;
  unsigned char slab[BCR_CUDA_HANDLE], event[EVENTS][BCR_CUDA_HANDLE];
} Told;

/* ---- set-up ---- */

/* The slab, and what others need to map it. Without a handle there is a slab all the same. No rank waits for another */
static PetscErrorCode device_slab(BCRCarry c, BCRCarryDevice d, size_t bytes, Told *told)
{
  int error = 0;

  PetscFunctionBegin;
  memset(told, 0, sizeof(*told));
  if (!d->shares) {
    PetscCall(BCRDeviceArenaGet(&d->arena, bytes, "slabs", &d->slab[0]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  error = BCRCudaShare(bytes, &d->slab[0], told->slab);
  PetscCheck(d->slab[0], PETSC_COMM_SELF, PETSC_ERR_MEM,
             "The CUDA device has no room for slabs of %zu bytes (CUDA says: %s)", bytes, BCRCudaErrorString(error));
  d->own = PETSC_TRUE;
  for (int k = 0; k < EVENTS && !error; k++) error = BCRCudaShareEvent(&d->event[k], told->event[k]);
  if (!error) error = BCRCudaPut(d->slab[0], &c->rank, sizeof(c->rank), d->stream); /* for the others to look at */
  if (error) d->info.refused = "CUDA gives no handle of its memory";
  told->good = error ? 0 : 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Slabs that this rank has pieces for, and the events of all. all: [ranks of the node] */
static PetscErrorCode device_map(BCRCarry c, BCRCarryDevice d, const Told all[])
{
  PetscFunctionBegin;
  for (PetscMPIInt q = 0; q < c->node->ranks; q++) {
    if (!all[q].good) PetscFunctionReturn(PETSC_ERR_GPU);
    if (q == c->node->local[c->rank]) continue;
    for (int k = 0; k < EVENTS; k++)
      if (BCRCudaShareEventOpen(all[q].event[k], &d->theirs[EVENTS * q + k])) PetscFunctionReturn(PETSC_ERR_GPU);
  }
  for (PetscInt i = 0; i < c->nto; i++) {
    const PetscMPIInt p = c->to[i].rank, q = c->node->local[p];
    PetscMPIInt seen = -1;

    if (p == c->rank || q == MPI_UNDEFINED) continue;
    if (BCRCudaShareOpen(all[q].slab, &d->peer[q]) || BCRCudaGet(&seen, d->peer[q], sizeof(seen), d->stream) ||
        seen != p)
      PetscFunctionReturn(PETSC_ERR_GPU);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nothing of other ranks is mapped any longer */
static PetscErrorCode device_unmap(BCRCarry c, BCRCarryDevice d)
{
  PetscFunctionBegin;
  for (PetscMPIInt q = 0; q < c->node->ranks; q++) {
    for (int k = 0; k < EVENTS && d->theirs; k++) PetscCallBCRCuda(BCRCudaEventDestroy(d->theirs[EVENTS * q + k]));
    if (d->peer) PetscCallBCRCuda(BCRCudaShareClose(d->peer[q]));
  }
  PetscCall(PetscFree2(d->theirs, d->peer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective on the node: slabs and events of all, or d->shares is taken back */
static PetscErrorCode device_share(BCRCarry c, BCRCarryDevice d, const Told *told)
{
  Told *all = NULL;
  PetscMPIInt good;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = PetscMalloc1(c->node->ranks, &all);
  if (!ierr) ierr = PetscCalloc2(EVENTS * c->node->ranks, &d->theirs, c->node->ranks, &d->peer);
  PetscCall(BCRFaultShare(c->node->comm, ierr, BCR_NO_MEMORY));
  PetscCallMPI(MPI_Allgather((void *)told, sizeof(*told), MPI_BYTE, all, sizeof(*told), MPI_BYTE, c->node->comm));
  good = device_map(c, d, all) == PETSC_SUCCESS ? 1 : 0; /* an answer, not an error */
  PetscCall(PetscFree(all));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, c->node->comm));
  if (good) PetscFunctionReturn(PETSC_SUCCESS);
  d->shares = PETSC_FALSE;
  if (!d->info.refused) d->info.refused = "CUDA does not map memory of one process in another here";
  PetscCall(device_unmap(c, d));
  PetscCallMPI(MPI_Barrier(c->node->comm)); /* before anyone gives up what others may have mapped */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static ptrdiff_t part_words(const BCRCarryDevice d, const BCRBlock *b)
{
  return (ptrdiff_t)(d->unit / (size_t)d->word) * b->n[0] * b->n[1] * b->n[2];
}

/* Of an array over a slab, the next of which begins behind it */
static size_t slab_bytes(const BCRCarryDevice d, const BCRBlock *slab)
{
  return ((size_t)part_words(d, slab) * (size_t)d->word + BCR_CARRY_ALIGN - 1) / BCR_CARRY_ALIGN * BCR_CARRY_ALIGN;
}

/* Part b of an array over a: where it begins there, and how far rows and planes are apart */
static void part_place(const BCRCarryDevice d, const BCRBlock *a, const BCRBlock *b, ptrdiff_t *at, ptrdiff_t stride[2])
{
  stride[0] = (ptrdiff_t)(d->unit / (size_t)d->word) * a->n[0];
  stride[1] = stride[0] * a->n[1];
  *at = (ptrdiff_t)(d->unit / (size_t)d->word) * (b->lo[0] - a->lo[0]) + stride[0] * (b->lo[1] - a->lo[1]) +
        stride[1] * (b->lo[2] - a->lo[2]);
}

/* b, from an array over one block to an array over another */
static void part_add(BCRCarryDevice d, BCRCudaPart *list[], List l, const BCRBlock *b, const BCRBlock *from,
                     const void *f, const BCRBlock *to, void *t)
{
  BCRCudaPart *p = &list[l][d->n[l]++];

  p->from = f;
  p->to = t;
  part_place(d, from, b, &p->fromat, p->fromstride);
  part_place(d, to, b, &p->toat, p->tostride);
  p->n[0] = (int)((PetscInt)(d->unit / (size_t)d->word) * b->n[0]);
  p->n[1] = (int)b->n[1];
  p->n[2] = (int)b->n[2];
  for (int k = 0; k < 2 && p->n[0] == p->fromstride[0] && p->n[0] == p->tostride[0]; k++) { /* whole rows in both */
    p->n[0] *= p->n[1];
    p->n[1] = p->n[2];
    p->n[2] = 1;
    p->fromstride[0] = p->fromstride[1];
    p->tostride[0] = p->tostride[1];
  }
  d->most[l] = PetscMax(d->most[l], part_words(d, b));
}

/* Messages, and what kernels do. list: room for all pieces. No rank waits for another */
static PetscErrorCode device_parts(BCRCarry c, BCRCarryDevice d, BCRCudaPart *list[])
{
  size_t bytes[2] = {0, 0};
  char *packed;

  PetscFunctionBegin;
  for (int side = 0; side < 2; side++) {
    const PetscInt n = side ? c->nfrom : c->nto;
    const BCRPiece *piece = side ? c->from : c->to;

    PetscCall(PetscMalloc1(n, &d->message[side]));
    for (PetscInt i = 0; i < n; i++)
      if (!BCRCarryReaches(c, d->shares, piece[i].rank))
        bytes[side] += (size_t)part_words(d, &piece[i].part) * (size_t)d->word;
  }
  PetscCall(BCRDeviceArenaGet(&d->arena, bytes[0] + bytes[1], "messages", &packed));
  for (int side = 0; side < 2; side++) {
    for (PetscInt i = 0; i < (side ? c->nfrom : c->nto); i++) {
      const BCRPiece *p = &(side ? c->from : c->to)[i];
      const BCRBlock *b = &p->part;

      if (BCRCarryReaches(c, d->shares, p->rank)) {
        char *slab = p->rank == c->rank ? d->slab[0] : (char *)d->peer[c->node->local[p->rank]];

        if (side) continue; /* the other rank does it */
        part_add(d, list, PUSH, b, &c->box, NULL, &p->slab, slab);
        part_add(d, list, FETCH, b, &p->slab, slab + slab_bytes(d, &p->slab), &c->box, NULL);
      } else {
        BCRMessage *m = &d->message[side][d->nmessage[side]++];

        m->rank = p->rank;
        m->p = packed;
        m->bytes = (size_t)part_words(d, b) * (size_t)d->word;
        packed += m->bytes;
        part_add(d, list, side ? PACK : PUSH, b, side ? &c->slab : &c->box, side ? d->slab[1] : NULL, b, m->p);
        part_add(d, list, side ? UNPACK : FETCH, b, b, m->p, side ? &c->slab : &c->box, side ? d->slab[0] : NULL);
      }
    }
  }
  for (int l = 0; l < LISTS; l++) {
    PetscCall(BCRDeviceArenaGet(&d->arena, (size_t)d->n[l] * sizeof(**list), "tables", &d->parts[l]));
    if (d->n[l]) PetscCallBCRCuda(BCRCudaPut(d->parts[l], list[l], (size_t)d->n[l] * sizeof(**list), d->stream));
  }
  PetscCall(BCRTransportReserve(d->transport, PetscMax(bytes[0], bytes[1]), PetscMax(bytes[0], bytes[1])));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_fill(BCRCarry c, BCRCarryDevice d, PetscBool maps)
{
  const PetscInt most = c->nto + c->nfrom;
  const size_t bytes = 2 * slab_bytes(d, &c->slab);
  BCRCudaPart *list[LISTS] = {NULL};
  BCRTransportInfo transport;
  PetscErrorCode ierr;
  Told told;

  PetscFunctionBegin;
  d->shares = maps && c->shared.window != MPI_WIN_NULL ? PETSC_TRUE : PETSC_FALSE; /* it has the counts */
  if (!maps) d->info.refused = "a transport was asked for";
  else if (c->node->ranks > 1 && !d->shares) d->info.refused = c->info.refused;
  PetscCall(BCRFaultShare(c->comm, device_slab(c, d, bytes, &told), BCR_NO_MEMORY));
  d->slab[1] = d->slab[0] + bytes / 2;
  if (d->shares) PetscCall(device_share(c, d, &told));
  ierr = PetscMalloc1(LISTS * most, &list[0]);
  for (int l = 1; l < LISTS && !ierr; l++) list[l] = list[0] + l * most;
  if (!ierr) ierr = device_parts(c, d, list);
  (void)PetscFree(list[0]);
  PetscCall(BCRFaultShare(c->comm, ierr, BCR_NO_MEMORY));
  PetscCall(BCRTransportGetInfo(d->transport, &transport));
  PetscCall(BCRCarryCount(c, d->shares, &d->info));
  d->info.device = BCRTransportName(transport.kind);
  d->info.bytes = d->arena.bytes + (d->own ? bytes : 0);
  d->sends = d->info.messages > 0 ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCarryDeviceCreate(BCRCarry c, size_t bytes, void *stream, void *transport, PetscBool maps)
{
  BCRCarryDevice d = NULL;

  PetscFunctionBegin;
  PetscCall(BCRCarryDeviceDestroy(c));
  PetscCall(BCRFaultShare(c->comm, PetscNew(&d), BCR_NO_MEMORY));
  c->device = d;
  d->transport = (BCRTransport)transport;
  PetscCall(BCRTransportReference(d->transport));
  d->stream = stream;
  d->unit = bytes;
  d->word = bytes % 8 ? 4 : 8;
  d->room = bytes * (size_t)(c->box.n[0] * c->box.n[1] * c->box.n[2]);
  BCRCallElse(device_fill(c, d, maps), (void)BCRCarryDeviceDestroy(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCarryDeviceDestroy(BCRCarry c)
{
  BCRCarryDevice d = c->device;

  PetscFunctionBegin;
  if (!d) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallBCRCuda(BCRCudaSynchronize(d->stream));
  if (d->shares) {
    PetscCall(device_unmap(c, d));
    PetscCallMPI(MPI_Barrier(c->node->comm));
  }
  for (int k = 0; k < EVENTS; k++) PetscCallBCRCuda(BCRCudaEventDestroy(d->event[k]));
  if (d->own) PetscCallBCRCuda(BCRCudaFree(d->slab[0]));
  for (int side = 0; side < 2; side++) PetscCall(PetscFree(d->message[side]));
  PetscCall(BCRDeviceArenaFree(&d->arena));
  PetscCall(BCRTransportDestroy(&d->transport));
  PetscCall(PetscFree(c->device));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCarryDeviceGetInfo(BCRCarry c, BCRCarryInfo *info)
{
  PetscFunctionBegin;
  *info = c->device->info;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void *BCRCarryDeviceSlab(BCRCarry c, PetscBool given)
{
  return c->device->slab[given];
}

/* ---- moves ---- */

static PetscErrorCode device_launch(const BCRCarryDevice d, List l, const void *from, void *to)
{
  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaCarry(d->stream, d->word, d->n[l], d->parts[l], d->most[l], l == FETCH, from, to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The stream goes on when the rank of that number on the node has come so far */
static PetscErrorCode device_wait(BCRCarry c, PetscMPIInt local, int count, uint64_t take)
{
  const BCRCarryDevice d = c->device;

  PetscFunctionBegin;
  if (!d->shares) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRCarryWait(c, local, count, take));
  PetscCallBCRCuda(BCRCudaStreamWait(d->stream, d->theirs[EVENTS * local + count]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The others are told in any case, that nobody waits for what will never come */
static PetscErrorCode device_tell(BCRCarry c, int count, PetscErrorCode mine)
{
  const BCRCarryDevice d = c->device;
  const int error = d->shares && count < EVENTS && !mine ? BCRCudaEventRecord(&d->event[count], d->stream) : 0;

  PetscFunctionBegin;
  PetscCall(BCRCarryTell(c, count));
  PetscCall(mine);
  PetscCallBCRCuda(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* back: of the slab to the box */
static PetscErrorCode device_exchange(BCRCarryDevice d, int back, PetscErrorCode mine)
{
  PetscFunctionBegin;
  if (!mine && d->sends)
    mine = BCRTransportExchange(d->transport, d->stream, d->nmessage[back], d->message[back], d->nmessage[1 - back],
                                d->message[1 - back]);
  PetscCall(d->sends ? BCRTransportAgree(d->transport, mine) : mine);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where a vector of the host has its copy */
static PetscErrorCode device_box(BCRCarryDevice d, PetscMemType where, void **box)
{
  PetscFunctionBegin;
  if (PetscMemTypeDevice(where)) PetscFunctionReturn(PETSC_SUCCESS);
  if (!d->box) PetscCall(BCRDeviceArenaGet(&d->arena, d->room, "a copy of a vector of the host", &d->box));
  *box = d->box;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_push(BCRCarry c, PetscMemType where, const void *box)
{
  const BCRCarryDevice d = c->device;
  void *there = (void *)box;

  PetscFunctionBegin;
  PetscCall(device_box(d, where, &there));
  if (there != box && d->room) PetscCallBCRCuda(BCRCudaPut(there, box, d->room, d->stream));
  PetscCall(device_launch(d, PUSH, there, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCarryDeviceTake(BCRCarry c, PetscMemType where, void *stream, const void *box)
{
  const BCRCarryDevice d = c->device;

  PetscFunctionBegin;
  if (stream != d->stream) PetscCallBCRCuda(BCRCudaSynchronize(d->stream)); /* the order above is that of one stream */
  d->stream = stream;
  c->take++;
  PetscCall(device_exchange(d, 0, device_tell(c, PUSHED, device_push(c, where, box))));
  PetscCall(device_launch(d, UNPACK, NULL, NULL));
  for (PetscInt i = 0; i < c->nfrom; i++) {
    const PetscMPIInt p = c->from[i].rank;

    if (p != c->rank && BCRCarryReaches(c, d->shares, p)) PetscCall(device_wait(c, c->node->local[p], PUSHED, c->take));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_fetch(BCRCarry c, PetscMemType where, void *box)
{
  const BCRCarryDevice d = c->device;
  void *there = box;

  PetscFunctionBegin;
  PetscCall(device_box(d, where, &there));
  for (PetscInt i = c->nto; i-- > 0;) {
    const PetscMPIInt p = c->to[i].rank;

    if (p != c->rank && BCRCarryReaches(c, d->shares, p)) PetscCall(device_wait(c, c->node->local[p], READY, c->take));
  }
  PetscCall(device_launch(d, FETCH, NULL, there));
  if (there != box && d->room) PetscCallBCRCuda(BCRCudaGet(box, there, d->room, d->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCarryDeviceGive(BCRCarry c, PetscMemType where, void *stream, void *box)
{
  const BCRCarryDevice d = c->device;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  d->stream = stream;
  ierr = device_tell(c, READY, PETSC_SUCCESS);
  if (!ierr) ierr = device_launch(d, PACK, NULL, NULL);
  ierr = device_exchange(d, 1, ierr);
  if (!ierr) ierr = device_fetch(c, where, box);
  PetscCall(device_tell(c, DONE, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
