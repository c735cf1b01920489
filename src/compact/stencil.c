/* Banded operators along lines over ranks, see stencil.h */
#include "stencilimpl.h"
#include "../base/agree.h"

/* Points of the rows [start, start + local) that are below start and beyond its end */
static PetscErrorCode stencil_ghosts(const BCRBand *band, PetscInt start, PetscInt local, PetscInt ghosts[2])
{
  PetscFunctionBegin;
  ghosts[0] = ghosts[1] = 0;
  for (PetscInt j = 0; j < local; ++j) {
    BCRBandRow r;

    if (j >= band->half && j < local - band->half && start + j >= band->nfirst && start + j < band->n - band->nlast)
      continue;
    PetscCall(BCRBandGetRow(band, start + j, &r));
    ghosts[0] = PetscMax(ghosts[0], start - r.start);
    ghosts[1] = PetscMax(ghosts[1], r.start + r.points - start - local);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The segments that rank `to` receives and rank `from` (negative: any) owns, in the order of the
   slots of `to`; list NULL: how many */
static PetscInt stencil_segments(const BCRBand *band, PetscMPIInt size, const PetscInt starts[],
                                 const PetscInt ghosts[], PetscMPIInt to, PetscMPIInt from, BCRSegment list[])
{
  const PetscInt start = starts[to], end = starts[to + 1], below = ghosts[2 * to], above = ghosts[2 * to + 1];
  PetscInt count = 0, last = -2;
  PetscMPIInt before = -1;

  for (PetscInt slot = 0; slot < below + above; ++slot) {
    const PetscInt point = slot < below ? start - below + slot : end + slot - below,
                   p = ((point % band->n) + band->n) % band->n;
    PetscMPIInt owner = 0;

    while (owner < size - 1 && p >= starts[owner + 1]) ++owner;
    if (slot == 0 || slot == below || owner != before || p != last + 1) {
      if (from < 0 || owner == from) {
        if (list) {
          list[count].rank = from < 0 ? owner : to;
          list[count].plane = p - starts[owner];
          list[count].slot = slot;
          list[count].planes = 0;
        }
        ++count;
      }
    }
    if (list && (from < 0 || owner == from)) ++list[count - 1].planes;
    before = owner;
    last = p;
  }
  return count;
}

#define STENCIL_TAG 4711

static PetscErrorCode stencil_messages(MPI_Comm comm, BCRStencil s, const BCRBand *band, const PetscInt starts[],
                                       const PetscInt ghosts[])
{
  const PetscInt plane = s->inner * s->outer;
  PetscMPIInt size, rank;
  PetscInt nrecv, nsend = 0, planes = 0;
  BCRSegment *recv;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  nrecv = stencil_segments(band, size, starts, ghosts, rank, -1, NULL);
  for (PetscMPIInt q = 0; q < size; ++q) {
    if (q != rank) nsend += stencil_segments(band, size, starts, ghosts, q, rank, NULL);
  }
  PetscCall(PetscMalloc1(nrecv, &recv));
  BCRCallElse(PetscMalloc4(nsend, &s->send, nrecv, &s->self, nrecv, &s->recv, nsend + nrecv, &s->request),
              (void)PetscFree(recv));
  for (PetscInt i = 0; i < nsend + nrecv; ++i) s->request[i] = MPI_REQUEST_NULL;
  (void)stencil_segments(band, size, starts, ghosts, rank, -1, recv);
  for (PetscMPIInt q = 0; q < size; ++q) {
    if (q != rank) s->nsend += stencil_segments(band, size, starts, ghosts, q, rank, s->send + s->nsend);
  }
  for (PetscInt i = 0; i < s->nsend; ++i) planes += s->send[i].planes;
  BCRCallElse(PetscMalloc2(planes * plane, &s->out, (s->below + s->above) * plane, &s->ghost), (void)PetscFree(recv));
  for (PetscInt i = 0; i < nrecv; ++i) {
    PetscMPIInt count;

    if (recv[i].rank == rank) {
      s->self[s->nself++] = recv[i];
      continue;
    }
    s->recv[s->nrecv] = recv[i];
    PetscCall(PetscMPIIntCast(recv[i].planes * plane, &count));
    PetscCallMPI(MPI_Recv_init(s->ghost + recv[i].slot * plane, count, MPIU_REAL, recv[i].rank,
                               STENCIL_TAG + (PetscMPIInt)recv[i].slot, comm, &s->request[s->nrecv++]));
  }
  planes = 0;
  for (PetscInt i = 0; i < s->nsend; ++i) {
    PetscMPIInt count;

    PetscCall(PetscMPIIntCast(s->send[i].planes * plane, &count));
    PetscCallMPI(MPI_Send_init(s->out + planes * plane, count, MPIU_REAL, s->send[i].rank,
                               STENCIL_TAG + (PetscMPIInt)s->send[i].slot, comm, &s->request[s->nrecv + i]));
    planes += s->send[i].planes;
  }
  PetscCall(PetscFree(recv));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the rows at the ends of the lines */
static PetscErrorCode stencil_rows(BCRStencil s, const BCRBand *band)
{
  PetscInt edge = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(s->local - (s->to - s->from), &s->rows));
  for (PetscInt j = 0; j < s->local; ++j) {
    if (j == s->from) j = s->to;
    if (j >= s->local) break;
    PetscCall(BCRBandGetRow(band, s->start + j, &s->rows[edge]));
    s->rows[edge++].start -= s->start;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRStencilCreate(MPI_Comm comm, const BCRBand *band, PetscInt inner, PetscInt local, PetscInt outer,
                                BCRStencil *stencil)
{
  BCRStencil s = NULL;
  PetscMPIInt size, rank;
  PetscInt *starts = NULL, *ghosts = NULL, mine[2];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *stencil = NULL;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  ierr = PetscNew(&s);
  if (!ierr) ierr = PetscMalloc2(size + 1, &starts, 2 * size, &ghosts);
  ierr = BCRFaultShare(comm, ierr, BCR_NO_MEMORY);
  *stencil = s; /* the caller's to destroy, whatever fails */
  BCRCallElse(ierr, (void)PetscFree2(starts, ghosts));
  starts[0] = 0;
  PetscCallMPI(MPI_Allgather(&local, 1, MPIU_INT, starts + 1, 1, MPIU_INT, comm));
  for (PetscMPIInt q = 0; q < size; ++q) starts[q + 1] += starts[q];
  PetscCheck(starts[size] == band->n, comm, PETSC_ERR_PLIB,
             "The ranks have %" PetscInt_FMT " points of lines of %" PetscInt_FMT, starts[size], band->n);
  PetscCall(stencil_ghosts(band, starts[rank], local, mine));
  PetscCallMPI(MPI_Allgather(mine, 2, MPIU_INT, ghosts, 2, MPIU_INT, comm));

  s->n = band->n;
  s->start = starts[rank];
  s->local = local;
  s->inner = inner;
  s->outer = outer;
  s->half = band->half;
  s->sign = band->sign;
  s->below = mine[0];
  s->above = mine[1];
  s->table = BCRCpuGetTable(-1, sizeof(PetscReal) == sizeof(float))->compact;
  for (PetscInt k = 0; k <= s->half; ++k) s->c[k] = band->inner.c[s->half + k];
  s->from = PetscMin(local, PetscMax(s->half, band->periodic ? 0 : band->nfirst - s->start));
  s->to = PetscMax(s->from, PetscMin(local - s->half, band->periodic ? local : band->n - band->nlast - s->start));
  ierr = stencil_rows(s, band);
  if (!ierr) ierr = stencil_messages(comm, s, band, starts, ghosts);
  PetscCall(PetscFree2(starts, ghosts));
  PetscCall(BCRFaultShare(comm, ierr, BCR_NO_MEMORY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* planes of the field, one after the other */
static void stencil_pack(BCRStencil s, const PetscReal *f, PetscInt first, PetscInt planes, PetscReal *buffer)
{
  const PetscInt inner = s->inner, step = s->inner * s->local;

  for (PetscInt p = first; p < first + planes; ++p) {
    const PetscReal *from = f + p * inner;

    if (inner == 1) {
      for (PetscInt o = 0; o < s->outer; ++o) *buffer++ = from[o * step];
    } else {
      for (PetscInt o = 0; o < s->outer; ++o) {
        for (PetscInt i = 0; i < inner; ++i) *buffer++ = from[o * step + i];
      }
    }
  }
}

PetscErrorCode BCRStencilBegin(BCRStencil s, const PetscReal *f)
{
  const PetscInt plane = s->inner * s->outer;
  PetscReal *out = s->out;

  PetscFunctionBegin;
  if (s->nrecv) PetscCallMPI(MPI_Startall((PetscMPIInt)s->nrecv, s->request));
  for (PetscInt i = 0; i < s->nsend; ++i) {
    stencil_pack(s, f, s->send[i].plane, s->send[i].planes, out);
    PetscCallMPI(MPI_Start(&s->request[s->nrecv + i]));
    out += s->send[i].planes * plane;
  }
  for (PetscInt i = 0; i < s->nself; ++i)
    stencil_pack(s, f, s->self[i].plane, s->self[i].planes, s->ghost + s->self[i].slot * plane);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reals of a row that are done for all rows of a line before the next ones: the rows of a stencil, 4 KiB each, stay in
   the first-level cache. Not measured apart */
#define STENCIL_BLOCK 512

PetscErrorCode BCRStencilInner(BCRStencil s, const PetscReal *f, PetscReal *u, PetscInt from, PetscInt to)
{
  const PetscInt inner = s->inner, step = s->inner * s->local;

  PetscFunctionBegin;
  if (s->to == s->from) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt o = from; o < to; ++o) {
    const PetscInt at = o * step + s->from * inner;

    if (inner < 2 * STENCIL_BLOCK)
      s->table->stencil((s->to - s->from) * inner, inner, (int)s->half, (int)s->sign, s->c, f + at, u + at);
    else {
      for (PetscInt i = 0; i < inner; i += STENCIL_BLOCK) {
        const PetscInt n = PetscMin(STENCIL_BLOCK, inner - i);

        for (PetscInt j = 0; j < s->to - s->from; ++j)
          s->table->stencil(n, inner, (int)s->half, (int)s->sign, s->c, f + at + i + j * inner, u + at + i + j * inner);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRStencilWait(BCRStencil s)
{
  PetscFunctionBegin;
  if (s->nrecv + s->nsend)
    PetscCallMPI(MPI_Waitall((PetscMPIInt)(s->nrecv + s->nsend), s->request, MPI_STATUSES_IGNORE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the points of an edge row are, and how far it is from one o to the next */
static void stencil_points(BCRStencil s, const BCRBandRow *r, const PetscReal *f, const PetscReal *point[],
                           PetscInt by[], PetscReal c[])
{
  const PetscInt inner = s->inner, step = s->inner * s->local, plane = s->inner * s->outer;

  for (PetscInt k = 0; k < r->points; ++k) {
    const PetscInt p = r->start + k;

    c[k] = (PetscReal)r->c[k];
    if (p >= 0 && p < s->local) {
      point[k] = f + p * inner;
      by[k] = step;
    } else {
      point[k] = s->ghost + (p < 0 ? s->below + p : s->below + p - s->local) * plane;
      by[k] = inner;
    }
  }
}

PetscErrorCode BCRStencilEdges(BCRStencil s, const PetscReal *f, PetscReal *u, PetscInt from, PetscInt to)
{
  const PetscInt inner = s->inner, step = s->inner * s->local;
  PetscInt edge = 0;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < s->local; ++j) {
    const BCRBandRow *r;
    const PetscReal *point[BCR_BAND_WIDTH];
    PetscInt by[BCR_BAND_WIDTH];
    PetscReal c[BCR_BAND_WIDTH];

    if (j == s->from) j = s->to;
    if (j >= s->local) break;
    r = &s->rows[edge++];
    stencil_points(s, r, f, point, by, c);
    for (PetscInt o = from; o < to; ++o) {
      PetscReal *v = u + o * step + j * inner;

      for (PetscInt i = 0; i < inner; ++i) {
        PetscReal sum = 0;

        for (PetscInt k = 0; k < r->points; ++k) sum += c[k] * point[k][o * by[k] + i];
        v[i] = sum;
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRStencilColumns(BCRStencil s, const PetscReal *f, PetscInt o, PetscInt from, PetscInt to, PetscReal *u)
{
  const PetscInt inner = s->inner, n = to - from;
  PetscInt edge = 0;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < s->local; ++j) {
    PetscReal *v = u + j * n;

    if (j >= s->from && j < s->to)
      s->table->stencil(n, inner, (int)s->half, (int)s->sign, s->c, f + (o * s->local + j) * inner + from, v);
    else {
      const BCRBandRow *r = &s->rows[edge++];
      const PetscReal *point[BCR_BAND_WIDTH];
      PetscInt by[BCR_BAND_WIDTH];
      PetscReal c[BCR_BAND_WIDTH];

      stencil_points(s, r, f, point, by, c);
      for (PetscInt i = 0; i < n; ++i) v[i] = 0;
      for (PetscInt k = 0; k < r->points; ++k) {
        const PetscReal *p = point[k] + o * by[k] + from;

        for (PetscInt i = 0; i < n; ++i) v[i] += c[k] * p[i];
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRStencilGetInfo(BCRStencil s, PetscInt *messages, size_t *bytes_sent, size_t *workspace)
{
  PetscInt planes = 0;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < s->nsend; ++i) planes += s->send[i].planes;
  *messages = s->nsend;
  *bytes_sent = (size_t)(planes * s->inner * s->outer) * sizeof(PetscReal);
  *workspace = (size_t)((planes + s->below + s->above) * s->inner * s->outer) * sizeof(PetscReal);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRStencilDestroy(BCRStencil *stencil)
{
  BCRStencil s = *stencil;

  PetscFunctionBegin;
  if (!s) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = 0; s->request && i < s->nrecv + s->nsend; ++i) {
    if (s->request[i] != MPI_REQUEST_NULL) PetscCallMPI(MPI_Request_free(&s->request[i]));
  }
  PetscCall(PetscFree4(s->send, s->self, s->recv, s->request));
  PetscCall(PetscFree2(s->out, s->ghost));
  PetscCall(PetscFree(s->rows));
  PetscCall(PetscFree(*stencil));
  PetscFunctionReturn(PETSC_SUCCESS);
}
