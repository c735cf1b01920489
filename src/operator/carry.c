#include "carryimpl.h"
#include "../base/agree.h"
#include <string.h>

/* ---- what goes where ---- */

static void block_box(const BCRGrid *g, PetscMPIInt p, BCRBlock *b)
{
  const PetscInt part[3] = {p % g->parts[0], p / g->parts[0] % g->parts[1], p / (g->parts[0] * g->parts[1])};

  for (PetscInt d = 0; d < 3; d++) {
    b->lo[d] = g->first[d][part[d]];
    b->n[d] = g->first[d][part[d] + 1] - b->lo[d];
  }
}

static void block_slab(const BCRGrid *g, PetscInt axis, const PetscInt first[], PetscMPIInt p, BCRBlock *b)
{
  for (PetscInt d = 0; d < 3; d++) {
    b->lo[d] = d == axis ? first[p] : 0;
    b->n[d] = d == axis ? first[p + 1] - first[p] : g->N[d];
  }
}

/* Nodes that both have */
static PetscInt block_meet(const BCRBlock *a, const BCRBlock *b, BCRBlock *c)
{
  PetscInt nodes = 1;

  for (PetscInt d = 0; d < 3; d++) {
    c->lo[d] = PetscMax(a->lo[d], b->lo[d]);
    c->n[d] = PetscMax(0, PetscMin(a->lo[d] + a->n[d], b->lo[d] + b->n[d]) - c->lo[d]);
    nodes *= c->n[d];
  }
  return nodes;
}

static PetscInt block_nodes(const BCRBlock *a)
{
  return a->n[0] * a->n[1] * a->n[2];
}

/* Part c, from an array over a to one over b */
static void block_copy(const BCRBlock *c, size_t bytes, const BCRBlock *a, const char *from, const BCRBlock *b,
                       char *to)
{
  size_t run = bytes * (size_t)c->n[0], sa[2], sb[2], oa, ob;
  PetscInt n[2] = {c->n[1], c->n[2]};

  sa[0] = bytes * (size_t)a->n[0];
  sa[1] = sa[0] * (size_t)a->n[1];
  sb[0] = bytes * (size_t)b->n[0];
  sb[1] = sb[0] * (size_t)b->n[1];
  oa = bytes * (size_t)(c->lo[0] - a->lo[0]) + sa[0] * (size_t)(c->lo[1] - a->lo[1]) +
       sa[1] * (size_t)(c->lo[2] - a->lo[2]);
  ob = bytes * (size_t)(c->lo[0] - b->lo[0]) + sb[0] * (size_t)(c->lo[1] - b->lo[1]) +
       sb[1] * (size_t)(c->lo[2] - b->lo[2]);
  if (sa[0] == run && sb[0] == run) { /* whole rows in both: one piece of each plane */
    run *= (size_t)n[0];
    n[0] = 1;
    if (sa[1] == run && sb[1] == run) {
      run *= (size_t)n[1];
      n[1] = 1;
    }
  }
  for (PetscInt k = 0; k < n[1]; k++)
    for (PetscInt j = 0; j < n[0]; j++)
      memcpy(to + ob + (size_t)j * sb[0] + (size_t)k * sb[1], from + oa + (size_t)j * sa[0] + (size_t)k * sa[1], run);
}

/* ---- set-up ---- */

/* Memory that all ranks of the node reach: the counts and the slab of each, or of the first of each team */
static PetscErrorCode carry_window(BCRCarry c, size_t bytes)
{
  const size_t head = COUNTS * BCR_NODE_LINE;
  char *base;

  PetscFunctionBegin;
  PetscCall(BCRNodeAllocate(c->node, head + bytes, &c->shared));
  c->info.refused = c->shared.refused;
  if (c->shared.window == MPI_WIN_NULL) PetscFunctionReturn(PETSC_SUCCESS);
  base = c->shared.part[c->node->local[c->rank]];
  memset(base, 0, head + (c->team ? 0 : bytes)); /* the first touch, by which memory is near a rank */
  c->memory = base + head;
  PetscCallMPI(MPI_Win_sync(c->shared.window)); /* all counts are zero when carry_fill() is done */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The slab of a rank that shares memory with this one, or its own; NULL: neither */
static char *carry_memory(BCRCarry c, PetscMPIInt p)
{
  if (p == c->rank) return c->memory;
  return BCRCarryReaches(c, c->shared.window != MPI_WIN_NULL ? PETSC_TRUE : PETSC_FALSE, p)
           ? c->shared.part[c->node->local[p]] + COUNTS * BCR_NODE_LINE
           : NULL;
}

/* Pieces of this rank's box (side 0) or slab (side 1), those of the ranks after it first, so that not all write to the same
   slab at a time. piece NULL: only how many */
static PetscInt carry_pieces(BCRCarry c, const BCRGrid *g, PetscInt axis, const PetscInt first[], int side,
                             BCRPiece piece[])
{
  PetscInt n = 0;

  for (PetscMPIInt k = 1; k <= g->size; k++) {
    BCRPiece p = {.rank = (g->rank + k) % g->size, .slab = c->slab};
    BCRBlock box = c->box;

    if (side) block_box(g, p.rank, &box);
    else block_slab(g, axis, first, p.rank, &p.slab);
    if (!block_meet(&box, &p.slab, &p.part)) continue;
    p.memory = carry_memory(c, p.rank);
    if (piece) piece[n] = p;
    n++;
  }
  return n;
}

/* Ranks of the node that read slabs which this rank writes to, and those that have them. want: [size], zeros */
static PetscErrorCode carry_before(BCRCarry c, const BCRGrid *g, PetscInt axis, const PetscInt first[],
                                   PetscBool want[])
{
  PetscFunctionBegin;
  if (c->shared.window == MPI_WIN_NULL) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt k = -1; k < c->nto; k++) {
    const PetscMPIInt q = k < 0 ? g->rank : c->to[k].rank;
    BCRBlock slab, box, part;

    if (!carry_memory(c, q)) continue;
    want[q] = PETSC_TRUE;
    block_slab(g, axis, first, q, &slab);
    for (PetscMPIInt r = 0; r < g->size; r++) {
      block_box(g, r, &box);
      if (!want[r] && carry_memory(c, r) && block_meet(&box, &slab, &part)) want[r] = PETSC_TRUE;
    }
  }
  want[g->rank] = PETSC_FALSE;
  for (PetscMPIInt r = 0; r < g->size; r++) c->nbefore += want[r] ? 1 : 0;
  PetscCall(PetscMalloc1(c->nbefore, &c->before));
  for (PetscMPIInt r = 0, k = 0; r < g->size; r++)
    if (want[r]) c->before[k++] = c->node->local[r];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Are all ranks of each team on one node? */
static PetscErrorCode carry_together(BCRCarry c, PetscMPIInt ranks, PetscMPIInt *together)
{
  const PetscMPIInt first = c->rank / ranks * ranks;
  PetscMPIInt mine = 1;

  PetscFunctionBegin;
  for (PetscMPIInt p = first; p < first + ranks; p++) mine = mine && c->node->local[p] != MPI_UNDEFINED;
  PetscCallMPI(MPI_Allreduce(&mine, together, 1, MPI_INT, MPI_MIN, c->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The ranks that share a slab meet in their lines of the window. *reach: they have one, on all ranks alike */
static PetscErrorCode carry_team(BCRCarry c, PetscInt axis, const PetscInt rows[], size_t bytes, PetscMPIInt ranks,
                                 PetscMPIInt *reach)
{
  const PetscMPIInt first = c->rank / ranks * ranks;
  PetscMPIInt mine = c->shared.window != MPI_WIN_NULL;
  size_t slab = bytes * (size_t)(rows[first + 1] - rows[first]);
  PetscInt a, b;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(&mine, reach, 1, MPI_INT, MPI_MIN, c->comm));
  if (!*reach) PetscFunctionReturn(PETSC_SUCCESS);
  c->team->rank = c->rank - first;
  c->team->size = ranks;
  c->team->comm = c->comm;
  c->team->tag = c->tag;
  c->team->axis = axis;
  c->start = rows[first];
  for (PetscMPIInt k = 0; k < ranks; k++)
    c->team->line[k] = c->shared.part[c->node->local[first + k]] + MET * BCR_NODE_LINE;
  c->memory = carry_memory(c, first);
  BCRTeamShare(c->team, 1 << 20, &a, &b); /* a piece each */
  memset(c->memory + slab / (1 << 20) * (size_t)a, 0,
         (b == 1 << 20 ? slab : slab / (1 << 20) * (size_t)b) - slab / (1 << 20) * (size_t)a);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Persistent messages, there and back */
static PetscErrorCode carry_messages(BCRCarry c, size_t bytes)
{
  PetscInt k = 0;

  PetscFunctionBegin;
  for (int side = 0; side < 2; side++)
    for (PetscInt i = 0; i < (side ? c->nfrom : c->nto); i++) c->nmessage += (side ? c->from : c->to)[i].memory ? 0 : 1;
  PetscCall(PetscMalloc2(c->nmessage, &c->there, c->nmessage, &c->back));
  for (PetscInt i = 0; i < c->nmessage; i++) c->there[i] = c->back[i] = MPI_REQUEST_NULL;
  for (int side = 0; side < 2; side++) {
    for (PetscInt i = 0; i < (side ? c->nfrom : c->nto); i++) {
      BCRPiece *p = &(side ? c->from : c->to)[i];
      PetscMPIInt count;

      if (p->memory) continue;
      PetscCall(PetscMPIIntCast(block_nodes(&p->part), &count));
      PetscCall(PetscMalloc1(bytes * (size_t)count, &p->packed));
      for (int back = 0; back < 2; back++) {
        MPI_Request *request = &(back ? c->back : c->there)[k];

        if (side == back) PetscCallMPI(MPI_Send_init(p->packed, count, c->type, p->rank, c->tag, c->comm, request));
        else PetscCallMPI(MPI_Recv_init(p->packed, count, c->type, p->rank, c->tag, c->comm, request));
      }
      k++;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What no other rank is needed for */
static PetscErrorCode carry_local(BCRCarry c, const BCRGrid *g, PetscInt axis, const PetscInt first[], size_t bytes)
{
  PetscBool *want;

  PetscFunctionBegin;
  if (c->shared.window == MPI_WIN_NULL) {
    PetscCall(PetscMalloc1(PetscMax(bytes * (size_t)block_nodes(&c->slab), 1), &c->memory));
    c->mine = PETSC_TRUE;
  }
  for (int side = 0; side < 2; side++) {
    PetscInt *n = side ? &c->nfrom : &c->nto;

    PetscCall(PetscMalloc1(carry_pieces(c, g, axis, first, side, NULL), side ? &c->from : &c->to));
    *n = carry_pieces(c, g, axis, first, side, side ? c->from : c->to);
  }
  PetscCall(PetscCalloc1(g->size, &want));
  PetscCall(carry_before(c, g, axis, first, want));
  PetscCall(PetscFree(want));
  PetscCall(carry_messages(c, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sums and maxima over all ranks; none goes on before all are here */
PetscErrorCode BCRCarryCount(BCRCarry c, PetscBool shares, BCRCarryInfo *info)
{
  double mine[4] = {0}, all[4];

  PetscFunctionBegin;
  for (PetscInt i = 0; i < c->nto; i++) {
    const double nodes = (double)block_nodes(&c->to[i].part);

    if (c->to[i].rank != c->rank) mine[0] += nodes;
    if (!BCRCarryReaches(c, shares, c->to[i].rank)) mine[1] += nodes;
  }
  PetscCallMPI(MPI_Allreduce(mine, all, 2, MPI_DOUBLE, MPI_SUM, c->comm));
  info->moved = all[0];
  info->bymessage = all[1];
  mine[1] = 0;
  for (int side = 0; side < 2; side++)
    for (PetscInt i = 0; i < (side ? c->nfrom : c->nto); i++)
      mine[1] += BCRCarryReaches(c, shares, (side ? c->from : c->to)[i].rank) ? 0 : 1;
  mine[2] = (double)c->node->ranks;
  mine[3] = info->refused ? 1 : 0;
  PetscCallMPI(MPI_Allreduce(mine, all, 4, MPI_DOUBLE, MPI_MAX, c->comm));
  info->most = all[0];
  info->messages = (PetscInt)all[1];
  info->ranks = (PetscMPIInt)all[2];
  if (all[3] > 0 && !info->refused) info->refused = "ranks of another node reach no memory of one another";
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode carry_fill(BCRCarry c, const BCRGrid *g, PetscInt axis, const PetscInt first[], PetscMPIInt team,
                                 PetscMPIInt *reach)
{
  const size_t bytes = (size_t)g->dof * sizeof(PetscScalar);
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscCommDuplicate(g->comm, &c->comm, &c->tag));
  c->rank = g->rank;
  block_box(g, g->rank, &c->box);
  block_slab(g, axis, first, g->rank, &c->slab);
  PetscCall(BCRNodeGet(c->comm, &c->node));
  if (team > 1) ierr = PetscNew(&c->team);
  if (!ierr && team > 1) ierr = PetscMalloc1(team, &c->team->line);
  PetscCall(BCRFaultShare(c->comm, ierr, BCR_NO_MEMORY));
  *reach = 1;
  if (team > 1) PetscCall(carry_together(c, team, reach));
  if (!*reach) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(carry_window(c, bytes * (size_t)block_nodes(&c->slab)));
  if (team > 1)
    PetscCall(carry_team(c, axis, first, bytes * (size_t)(g->N[0] * g->N[1] * g->N[2] / g->N[axis]), team, reach));
  if (!*reach) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Type_contiguous((PetscMPIInt)g->dof, MPIU_SCALAR, &c->type));
  PetscCallMPI(MPI_Type_commit(&c->type));
  PetscCall(BCRFaultShare(c->comm, carry_local(c, g, axis, first, bytes), BCR_NO_MEMORY));
  PetscCall(BCRCarryCount(c, c->shared.window != MPI_WIN_NULL ? PETSC_TRUE : PETSC_FALSE, &c->info));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCarryTogether(MPI_Comm outer, PetscBool *together)
{
  PetscMPIInt tag, size;
  MPI_Comm comm;
  BCRNode *node;

  PetscFunctionBegin;
  PetscCall(PetscCommDuplicate(outer, &comm, &tag));
  BCRCallElse(BCRNodeGet(comm, &node), (void)PetscCommDestroy(&comm));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  *together = node->ranks == size ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(PetscCommDestroy(&comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCarryCreate(const BCRGrid *grid, PetscInt axis, const PetscInt first[], PetscMPIInt team,
                              BCRCarry *carry)
{
  PetscMPIInt reach;
  BCRCarry c = NULL;

  PetscFunctionBegin;
  *carry = NULL;
  PetscCall(BCRFaultShare(grid->comm, PetscNew(&c), BCR_NO_MEMORY));
  c->comm = MPI_COMM_NULL;
  c->shared.window = MPI_WIN_NULL;
  c->type = MPI_DATATYPE_NULL;
  BCRCallElse(carry_fill(c, grid, axis, first, team, &reach), (void)BCRCarryDestroy(&c));
  if (!reach) PetscCall(BCRCarryDestroy(&c));
  *carry = c;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCarryDestroy(BCRCarry *carry)
{
  BCRCarry c = *carry;

  PetscFunctionBegin;
  if (!c) PetscFunctionReturn(PETSC_SUCCESS);
  if (BCR_HAVE_CUDA) PetscCall(BCRCarryDeviceDestroy(c));
  for (PetscInt i = 0; i < c->nmessage && c->there; i++) {
    if (c->there[i] != MPI_REQUEST_NULL) PetscCallMPI(MPI_Request_free(&c->there[i]));
    if (c->back[i] != MPI_REQUEST_NULL) PetscCallMPI(MPI_Request_free(&c->back[i]));
  }
  PetscCall(PetscFree2(c->there, c->back));
  for (PetscInt i = 0; i < c->nto && c->to; i++) PetscCall(PetscFree(c->to[i].packed));
  for (PetscInt i = 0; i < c->nfrom && c->from; i++) PetscCall(PetscFree(c->from[i].packed));
  PetscCall(PetscFree(c->to));
  PetscCall(PetscFree(c->from));
  PetscCall(PetscFree(c->before));
  if (c->mine) PetscCall(PetscFree(c->memory));
  PetscCall(BCRNodeFree(&c->shared));
  if (c->type != MPI_DATATYPE_NULL) PetscCallMPI(MPI_Type_free(&c->type));
  if (c->team) PetscCall(PetscFree(c->team->line));
  PetscCall(PetscFree(c->team));
  if (c->comm != MPI_COMM_NULL) PetscCall(PetscCommDestroy(&c->comm));
  PetscCall(PetscFree(*carry));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void BCRCarryTeamOwn(BCRCarry c, PetscInt axis)
{
  c->team->field = c->memory;
  c->team->first = c->box.lo[axis] - c->start;
  c->team->end = c->team->first + c->box.n[axis];
}

BCRTeam *BCRCarryTeam(BCRCarry c)
{
  return c->team;
}

void *BCRCarrySlab(BCRCarry c)
{
  return c->memory;
}

PetscErrorCode BCRCarryGetInfo(BCRCarry c, BCRCarryInfo *info)
{
  PetscFunctionBegin;
  if (BCR_HAVE_CUDA && c->device) PetscCall(BCRCarryDeviceGetInfo(c, info));
  else *info = c->info;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- moves ---- */

PetscErrorCode BCRCarryTell(BCRCarry c, int count)
{
  PetscFunctionBegin;
  if (c->shared.window == MPI_WIN_NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRNodeTell(&c->shared, c->node->local[c->rank], count, c->take));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCarryWait(BCRCarry c, PetscMPIInt local, int count, uint64_t take)
{
  PetscFunctionBegin;
  PetscCall(BCRTeamWait(c->comm, c->tag, c->shared.part[local] + count * BCR_NODE_LINE, take));
  PetscCallMPI(MPI_Win_sync(c->shared.window));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Messages, there or back: those that come are asked for, those that go are packed and sent. from: box or slab */
static PetscErrorCode carry_begin(BCRCarry c, int back, size_t bytes, const void *from)
{
  MPI_Request *request = back ? c->back : c->there;
  PetscInt k = 0;

  PetscFunctionBegin;
  for (int side = 0; side < 2; side++) {
    for (PetscInt i = 0; i < (side ? c->nfrom : c->nto); i++) {
      const BCRPiece *p = &(side ? c->from : c->to)[i];

      if (p->memory) continue;
      if (side == back) block_copy(&p->part, bytes, side ? &c->slab : &c->box, from, &p->part, p->packed);
      PetscCallMPI(MPI_Start(&request[k++]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode carry_end(BCRCarry c, int back, size_t bytes, void *to)
{
  PetscFunctionBegin;
  if (c->nmessage) PetscCallMPI(MPI_Waitall((PetscMPIInt)c->nmessage, back ? c->back : c->there, MPI_STATUSES_IGNORE));
  for (PetscInt i = 0; i < (back ? c->nto : c->nfrom); i++) {
    const BCRPiece *p = &(back ? c->to : c->from)[i];

    if (!p->memory) block_copy(&p->part, bytes, &p->part, p->packed, back ? &c->box : &c->slab, to);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCarryTake(BCRCarry c, size_t bytes, const void *box)
{
  PetscFunctionBegin;
  c->take++;
  PetscCall(carry_begin(c, 0, bytes, box));
  for (PetscInt k = 0; k < c->nbefore; k++) PetscCall(BCRCarryWait(c, c->before[k], DONE, c->take - 1));
  for (PetscInt i = 0; i < c->nto; i++) {
    const BCRPiece *p = &c->to[i];

    if (p->memory) block_copy(&p->part, bytes, &c->box, box, &p->slab, p->memory);
  }
  PetscCall(BCRCarryTell(c, PUSHED));
  PetscCall(carry_end(c, 0, bytes, c->memory));
  for (PetscInt i = 0; i < c->nfrom; i++) {
    const PetscMPIInt q = c->from[i].rank;

    if (c->from[i].memory && q != c->rank) PetscCall(BCRCarryWait(c, c->node->local[q], PUSHED, c->take));
  }
  PetscCall(BCRTeamMeet(c->team));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCarryGive(BCRCarry c, size_t bytes, void *box)
{
  PetscFunctionBegin;
  PetscCall(BCRTeamMeet(c->team));
  PetscCall(BCRCarryTell(c, READY));
  PetscCall(carry_begin(c, 1, bytes, c->memory));
  for (PetscInt i = c->nto; i-- > 0;) { /* this rank's own piece is the last of the list */
    const BCRPiece *p = &c->to[i];

    if (!p->memory) continue;
    if (p->rank != c->rank) PetscCall(BCRCarryWait(c, c->node->local[p->rank], READY, c->take));
    block_copy(&p->part, bytes, &p->slab, p->memory, &c->box, box);
  }
  PetscCall(carry_end(c, 1, bytes, box));
  PetscCall(BCRCarryTell(c, DONE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCarryRelease(BCRCarry c)
{
  PetscFunctionBegin;
  PetscCall(BCRTeamMeet(c->team));
  PetscCall(BCRCarryTell(c, READY));
  PetscCall(BCRCarryTell(c, DONE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
