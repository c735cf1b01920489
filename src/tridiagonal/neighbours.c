/*
  Systems of the reduced system over ranks that fall into pieces on one rank or two neighbours: rows
  next to a boundary between ranks go to the other side, and both sides eliminate. See BCRNeighbours
  in reducedimpl.h.
*/
#include "reducedimpl.h"
#include "../base/agree.h"

/* tags: rows of the rank before a boundary; of the rank after it; what ranks without rows add, for
   the rank before; and for the others */
enum {
  BCR_TAG_BEFORE,
  BCR_TAG_AFTER,
  BCR_TAG_ADD_BEFORE,
  BCR_TAG_ADD_AFTER
};

/* the ranks of a boundary: p before it, q after it (-1: none), and n without rows from first on, around the ends */
typedef struct {
  PetscMPIInt p, q, first, n;
} BCRGroup;

/* the boundary after (back false) or before a rank; ranks without rows: the one they are in */
static BCRGroup BCRGroupFind(BCRReduced r, PetscBool back)
{
  const PetscInt *counts = r->counts;
  BCRGroup g;
  PetscMPIInt size = r->size, p = r->rank, q;

  if (!counts[p] || back) {
    do p = p ? p - 1 : (r->periodic ? size - 1 : -1);
    while (p >= 0 && !counts[p]);
  }
  q = p; /* -1 begins before rank 0 */
  g.n = -1;
  do {
    q = q + 1 < size ? q + 1 : (r->periodic ? 0 : -1);
    g.n++;
    if (!g.n) g.first = q;
  } while (q >= 0 && !counts[q]);
  g.p = p;
  g.q = q;
  return g;
}

static void BCRRowsMessageAdd(BCRRowsMessage *list, PetscInt *n, PetscMPIInt peer, int tag, PetscInt row, PetscInt rows)
{
  if (!rows) return;
  list[*n].peer = peer;
  list[*n].tag = (PetscMPIInt)tag;
  list[*n].row = row;
  list[*n].rows = rows;
  (*n)++;
}

/* rows of the piece that ends (back) or begins at the boundary of a rank, of its own rows [4*ns] */
static PetscInt BCRPiece(PetscInt rows, size_t stride, const double *coef, PetscBool back, PetscBool wanted)
{
  const int into = back ? 1 : 2, out = back ? 2 : 1; /* bits: couplings cut */
  PetscInt n;

  if (!rows) return 0;
  if (((int)coef[4 * (back ? (size_t)(rows - 1) * stride : 0) + 3] & out) && !wanted) return 0;
  for (n = 1; n < rows; n++) {
    if ((int)coef[4 * (size_t)(back ? rows - n : n - 1) * stride + 3] & into) break;
  }
  return n;
}

/* what goes where, from the rows that the ranks of both boundaries give */
static PetscErrorCode BCRNeighboursMessages(BCRReduced r, const PetscInt *give)
{
  BCRNeighbours *nb = &r->nb;
  const PetscInt add = r->flags & BCR_REDUCED_ADD ? 1 : 0;
  const PetscBool want = r->flags & (BCR_REDUCED_BEFORE | BCR_REDUCED_AFTER) ? PETSC_TRUE : PETSC_FALSE;
  /* the same for ranks without rows */
  const BCRGroup l = BCRGroupFind(r, PETSC_TRUE), g = BCRGroupFind(r, PETSC_FALSE);
  PetscInt n = 0, afterrows;

  PetscFunctionBegin;
  nb->own = r->rows;
  nb->before = l.p >= 0 && (r->rows || want) ? give[2 * l.p] : 0;
  nb->after = g.q >= 0 && (r->rows || want) ? give[2 * g.q + 1] : 0;
  n = nb->before;
  nb->addbefore = nb->addafter = -1;
  if (add) nb->addbefore = n++;
  nb->first = n;
  n += nb->own;
  if (add) nb->addafter = n++;
  afterrows = n;
  n += nb->after;
  nb->left = n;
  nb->nleft = 0;
  nb->nright = 0;
  PetscCall(PetscMalloc2(2 * (size_t)r->size + 4, &nb->send, 2 * (size_t)r->size + 4, &nb->recv));
  nb->nsend = nb->nrecv = 0;
#define BCRSend(peer, tag, row, rows) BCRRowsMessageAdd(nb->send, &nb->nsend, peer, tag, row, rows)
#define BCRRecv(peer, tag, row, rows) BCRRowsMessageAdd(nb->recv, &nb->nrecv, peer, tag, row, rows)
#define BCREach(g, e, i)              for (PetscMPIInt i = 0, e = (g).first; i < (g).n; i++, e = e + 1 < r->size ? e + 1 : 0)
  /* what the rank after a boundary adds stands right before its rows, and goes with them */
  if (r->rows) {
    const PetscInt mine = give[2 * r->rank], first = add + give[2 * r->rank + 1];

    if (g.q >= 0) {
      BCRSend(g.q, BCR_TAG_BEFORE, nb->first + nb->own - mine, mine);
      BCRRecv(g.q, BCR_TAG_AFTER, afterrows - add, add + nb->after);
    }
    if (l.p >= 0) {
      BCRSend(l.p, BCR_TAG_AFTER, nb->first - add, first);
      BCRRecv(l.p, BCR_TAG_BEFORE, 0, nb->before);
    }
    if (want) {
      BCREach(g, e, i) BCRSend(e, BCR_TAG_BEFORE, nb->first + nb->own - mine, mine);
      BCREach(l, e, i) BCRSend(e, BCR_TAG_AFTER, nb->first - add, first);
    }
    if (add && nb->before) {
      BCREach(l, e, i) BCRRecv(e, BCR_TAG_ADD_AFTER, nb->left + nb->nleft++, 1);
    }
    nb->right = nb->left + nb->nleft;
    if (add) {
      BCREach(g, e, i) BCRRecv(e, BCR_TAG_ADD_BEFORE, nb->right + nb->nright++, 1);
    }
  } else {
    /* others than the rank before solve for its rows */
    const PetscInt needed = add && l.p >= 0 && give[2 * l.p] ? 1 : 0;

    if (want) {
      if (l.p >= 0) BCRRecv(l.p, BCR_TAG_BEFORE, 0, nb->before);
      if (g.q >= 0) BCRRecv(g.q, BCR_TAG_AFTER, afterrows - add, add + nb->after);
    }
    if (l.p >= 0) BCRSend(l.p, BCR_TAG_ADD_BEFORE, nb->addbefore, add);
    if (g.q >= 0) BCRSend(g.q, BCR_TAG_ADD_AFTER, nb->addbefore, needed);
    if (want && needed) {
      BCREach(g, e, i)
      {
        if (e == r->rank) continue;
        BCRSend(e, BCR_TAG_ADD_AFTER, nb->addbefore, 1);
        BCRRecv(e, BCR_TAG_ADD_AFTER, nb->left + nb->nleft++, 1);
      }
    }
    nb->right = nb->left + nb->nleft;
  }
  nb->nrows = nb->right + nb->nright;
  PetscCall(PetscMalloc1((size_t)(nb->nrecv + nb->nsend) + 1, &nb->requests));
  for (PetscInt i = 0; i < nb->nrecv + nb->nsend; i++) nb->requests[i] = MPI_REQUEST_NULL;
  PetscCall(PetscMalloc1((size_t)(nb->before + nb->own + nb->after) + 1, &nb->rows));
  n = 0;
  for (PetscInt i = 0; i < nb->before; i++) nb->rows[n++] = i;
  for (PetscInt i = 0; i < nb->own; i++) nb->rows[n++] = nb->first + i;
  for (PetscInt i = 0; i < nb->after; i++) nb->rows[n++] = afterrows + i;
#undef BCRSend
#undef BCRRecv
#undef BCREach
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* messages to itself: one rank alone has rows of a periodic line */
static PetscErrorCode BCRNeighboursSelf(BCRReduced r, size_t rowsize, double *array)
{
  const BCRNeighbours *nb = &r->nb;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < nb->nsend; i++) {
    if (nb->send[i].peer != r->rank) continue;
    for (PetscInt j = 0; j < nb->nrecv; j++) {
      if (nb->recv[j].peer == r->rank && nb->recv[j].tag == nb->send[i].tag)
        PetscCall(PetscArraymove(array + (size_t)nb->recv[j].row * rowsize, array + (size_t)nb->send[i].row * rowsize,
                                 (size_t)nb->send[i].rows * rowsize));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* persistent requests of all messages, of rows of `type` */
static PetscErrorCode BCRNeighboursRequests(BCRReduced r, size_t rowsize, MPI_Datatype type, double *array)
{
  BCRNeighbours *nb = &r->nb;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < nb->nrecv + nb->nsend; i++) {
    const BCRRowsMessage *m = i < nb->nrecv ? &nb->recv[i] : &nb->send[i - nb->nrecv];

    if (nb->requests[i] != MPI_REQUEST_NULL) PetscCallMPI(MPI_Request_free(&nb->requests[i]));
    nb->requests[i] = MPI_REQUEST_NULL;
    if (m->peer == r->rank || !array) continue;
    if (i < nb->nrecv)
      PetscCallMPI(MPI_Recv_init(array + (size_t)m->row * rowsize, (PetscMPIInt)m->rows, type, m->peer, r->tags[m->tag],
                                 r->comm, &nb->requests[i]));
    else
      PetscCallMPI(MPI_Send_init(array + (size_t)m->row * rowsize, (PetscMPIInt)m->rows, type, m->peer, r->tags[m->tag],
                                 r->comm, &nb->requests[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRNeighboursStart(BCRReduced r)
{
  BCRNeighbours *nb = &r->nb;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < nb->nrecv + nb->nsend; i++) {
    if (nb->requests[i] != MPI_REQUEST_NULL) PetscCallMPI(MPI_Start(&nb->requests[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRNeighboursWait(BCRReduced r)
{
  BCRNeighbours *nb = &r->nb;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < nb->nrecv + nb->nsend; i++) {
    if (nb->requests[i] != MPI_REQUEST_NULL) PetscCallMPI(MPI_Wait(&nb->requests[i], MPI_STATUS_IGNORE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Work of BCRNeighboursCreate(): array [4*ns*nrows], the others [ns*n], n rows of the pieces; no
   rank waits for another */
static PetscErrorCode BCRNeighboursRoom(BCRReduced r, const PetscInt *give, PetscMPIInt *len, double **array,
                                        double **low, double **diag, double **up)
{
  const BCRNeighbours *nb = &r->nb;
  size_t m;

  PetscFunctionBegin;
  PetscCall(PetscMPIIntCast(4 * (PetscInt64)nb->ns, len));
  PetscCall(BCRNeighboursMessages(r, give));
  m = (size_t)nb->ns * (size_t)(nb->before + nb->own + nb->after);
  PetscCall(PetscCalloc1(4 * (size_t)nb->ns * (size_t)nb->nrows, array));
  PetscCall(PetscMalloc3(m, low, m, diag, m, up));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRNeighboursCreate(BCRReduced r, const double *coef, PetscInt *give, BCRReducedPivot *pivot)
{
  BCRNeighbours *nb = &r->nb;
  const size_t ns = (size_t)nb->ns, nsys = (size_t)r->nsys;
  PetscInt mine[2] = {0, 0}, n, bad[2] = {-1, -1};
  PetscMPIInt len;
  PetscBool open = PETSC_FALSE;
  double *array = NULL, *low = NULL, *diag = NULL, *up = NULL;
  MPI_Datatype type;

  PetscFunctionBegin;
  /* the rows that others need, the most of all systems */
  for (size_t k = 0; k < ns; k++) {
    const size_t s = nb->index ? (size_t)nb->index[k] : k;

    mine[0] = PetscMax(
      mine[0], BCRPiece(r->rows, nsys, coef + 4 * s, PETSC_TRUE, (PetscBool)((r->flags & BCR_REDUCED_BEFORE) != 0)));
    mine[1] = PetscMax(
      mine[1], BCRPiece(r->rows, nsys, coef + 4 * s, PETSC_FALSE, (PetscBool)((r->flags & BCR_REDUCED_AFTER) != 0)));
  }
  PetscCallMPI(MPI_Allgather(mine, 2, MPIU_INT, give, 2, MPIU_INT, r->comm));
  BCRCallElse(BCRFaultShare(r->comm, BCRNeighboursRoom(r, give, &len, &array, &low, &diag, &up), BCR_NO_MEMORY),
              (void)PetscFree(array), (void)PetscFree3(low, diag, up));

  /* their coefficients */
  PetscCallMPI(MPI_Type_contiguous(len, MPI_DOUBLE, &type));
  PetscCallMPI(MPI_Type_commit(&type));
  for (PetscInt i = 0; i < nb->own; i++)
    for (size_t k = 0; k < ns; k++)
      PetscCall(PetscArraycpy(array + 4 * ((size_t)(nb->first + i) * ns + k),
                              coef + 4 * ((size_t)i * nsys + (nb->index ? (size_t)nb->index[k] : k)), 4));
  PetscCall(BCRNeighboursRequests(r, 4 * ns, type, array));
  PetscCall(BCRNeighboursStart(r));
  PetscCall(BCRNeighboursSelf(r, 4 * ns, array));
  PetscCall(BCRNeighboursWait(r));
  PetscCall(BCRNeighboursRequests(r, 4 * ns, type, NULL));
  PetscCallMPI(MPI_Type_free(&type));

  /* rows of other ranks that are not of the pieces at the boundaries stand alone, as u = g: nobody uses them */
  n = nb->before + nb->own + nb->after;
  for (size_t k = 0; k < ns; k++) {
    const size_t after = (size_t)(n - nb->after);
    const PetscInt use[2] = {
      BCRPiece(nb->before, ns, array + 4 * k, PETSC_TRUE, (PetscBool)((r->flags & BCR_REDUCED_BEFORE) != 0)),
      nb->after ? BCRPiece(nb->after, ns, array + 4 * ((size_t)nb->rows[after] * ns + k), PETSC_FALSE,
                           (PetscBool)((r->flags & BCR_REDUCED_AFTER) != 0))
                : 0};

    for (PetscInt i = 0; i < n; i++) {
      const PetscBool alone = (PetscBool)(i < nb->before - use[0] || i >= (PetscInt)after + use[1]);
      const double *c = array + 4 * ((size_t)nb->rows[i] * ns + k);

      low[(size_t)i * ns + k] = alone ? 0 : c[0];
      diag[(size_t)i * ns + k] = alone ? 1 : c[1];
      up[(size_t)i * ns + k] = alone ? 0 : c[2];
    }
  }
  BCRChainsFold(n, nb->ns, low, diag, up, &open);
  pivot->ierr = BCRChainsCreate(n, nb->ns, low, diag, up, PETSC_FALSE, &nb->chains, bad);
  pivot->system = bad[0];
  if (bad[0] >= 0) {
    const BCRGroup l = BCRGroupFind(r, PETSC_TRUE), g = BCRGroupFind(r, PETSC_FALSE);

    if (nb->index) pivot->system = nb->index[bad[0]];
    pivot->owner = r->rank;
    pivot->row = bad[1] - nb->before;
    if (pivot->row < 0) {
      pivot->owner = l.p;
      pivot->row += r->counts[l.p];
    } else if (pivot->row >= nb->own) {
      pivot->owner = g.q;
      pivot->row -= nb->own;
    }
  }
  PetscCall(PetscFree3(low, diag, up));
  PetscCall(PetscFree(array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRNeighboursSetVectors(BCRReduced r)
{
  BCRNeighbours *nb = &r->nb;
  const size_t rowsize = (size_t)nb->ns * (size_t)r->nvec;
  MPI_Datatype type;
  PetscMPIInt len;

  PetscFunctionBegin;
  if (!nb->ns) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRNeighboursRequests(r, rowsize, MPI_DOUBLE, NULL));
  PetscCall(PetscFree(nb->array));
  PetscCall(PetscCalloc1(rowsize * (size_t)nb->nrows, &nb->array));
  PetscCall(PetscMPIIntCast((PetscInt64)nb->ns * r->nvec, &len));
  PetscCallMPI(MPI_Type_contiguous(len, MPI_DOUBLE, &type));
  PetscCallMPI(MPI_Type_commit(&type));
  PetscCall(BCRNeighboursRequests(r, rowsize, type, nb->array));
  PetscCallMPI(MPI_Type_free(&type)); /* the requests keep what they need of it */
  for (PetscInt i = 0; i < nb->nsend; i++) {
    if (nb->send[i].peer == r->rank) continue;
    r->info.messages++;
    r->info.bytes_sent += (size_t)nb->send[i].rows * rowsize * sizeof(double);
  }
  r->info.workspace += nb->chains.bytes + rowsize * (size_t)nb->nrows * sizeof(double);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* rows between what the caller has and the array */
static void BCRNeighboursCopy(BCRReduced r, PetscInt rows, double *x, double *array, PetscBool in)
{
  const BCRNeighbours *nb = &r->nb;
  const size_t nvec = (size_t)r->nvec, rowsize = (size_t)nb->ns * nvec;

  for (PetscInt i = 0; i < rows; i++) {
    double *a = x + (size_t)i * (size_t)r->nsys * nvec, *b = array + (size_t)i * rowsize;

    if (!nb->index) memcpy(in ? b : a, in ? a : b, rowsize * sizeof(double));
    else
      for (size_t k = 0; k < (size_t)nb->ns; k++) {
        double *c = a + (size_t)nb->index[k] * nvec, *e = b + k * nvec;

        for (size_t v = 0; v < nvec; v++) {
          if (in) e[v] = c[v];
          else c[v] = e[v];
        }
      }
  }
}

PetscErrorCode BCRNeighboursBegin(BCRReduced r, const double *g, const double *add)
{
  BCRNeighbours *nb = &r->nb;
  const size_t rowsize = (size_t)nb->ns * (size_t)r->nvec;

  PetscFunctionBegin;
  BCRNeighboursCopy(r, nb->own, (double *)g, nb->array + (size_t)nb->first * rowsize, PETSC_TRUE);
  if (nb->addbefore >= 0)
    BCRNeighboursCopy(r, 1, (double *)add, nb->array + (size_t)nb->addbefore * rowsize, PETSC_TRUE);
  PetscCall(BCRNeighboursStart(r));
  PetscCall(BCRNeighboursSelf(r, rowsize, nb->array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRNeighboursEnd(BCRReduced r, double *x, double *before, double *after)
{
  BCRNeighbours *nb = &r->nb;
  const size_t rowsize = (size_t)nb->ns * (size_t)r->nvec;
  double *array = nb->array;

  PetscFunctionBegin;
  PetscCall(BCRNeighboursWait(r));
#define BCRAdd(to, from) \
  for (size_t s_ = 0; s_ < rowsize; s_++) array[(size_t)(to)*rowsize + s_] += array[(size_t)(from)*rowsize + s_]
  if (nb->addbefore >= 0) {
    if (nb->before) { /* the last row of the rank before */
      BCRAdd(nb->before - 1, nb->addbefore);
      for (PetscInt i = 0; i < nb->nleft; i++) BCRAdd(nb->before - 1, nb->left + i);
      if (!nb->own) BCRAdd(nb->before - 1, nb->addafter);
    }
    if (nb->own) {
      BCRAdd(nb->first + nb->own - 1, nb->addafter);
      for (PetscInt i = 0; i < nb->nright; i++) BCRAdd(nb->first + nb->own - 1, nb->right + i);
    }
  }
#undef BCRAdd
  PetscCall(BCRChainsSolve(&nb->chains, r->nvec, nb->rows, array));
  BCRNeighboursCopy(r, nb->own, x, array + (size_t)nb->first * rowsize, PETSC_FALSE);
  if (before && nb->before) BCRNeighboursCopy(r, 1, before, array + (size_t)(nb->before - 1) * rowsize, PETSC_FALSE);
  if (after && nb->after)
    BCRNeighboursCopy(r, 1, after, array + (size_t)nb->rows[nb->before + nb->own] * rowsize, PETSC_FALSE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRNeighboursDestroy(BCRReduced r)
{
  BCRNeighbours *nb = &r->nb;

  PetscFunctionBegin;
  if (nb->requests) PetscCall(BCRNeighboursRequests(r, 0, MPI_DOUBLE, NULL));
  PetscCall(BCRChainsDestroy(&nb->chains));
  PetscCall(PetscFree(nb->requests));
  PetscCall(PetscFree2(nb->send, nb->recv));
  PetscCall(PetscFree(nb->rows));
  PetscCall(PetscFree(nb->array));
  PetscCall(PetscFree(nb->index));
  PetscFunctionReturn(PETSC_SUCCESS);
}
