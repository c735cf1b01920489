/*
  The reduced system over ranks: which systems are shared out, their rows to the owners, elimination
  there, and back. Those that neighbours can solve are in neighbours.c.
*/
#include "reducedimpl.h"
#include "../base/agree.h"
#include "../base/team.h"
#include <math.h>
#include <float.h>

/* Collective: an error on every rank if one has met one, that of the first system without a usable pivot */
static PetscErrorCode BCRReducedCheckPivot(BCRReduced r, const BCRReducedPivot *pivot)
{
  struct {
    double value;
    int rank;
  } mine, first;
  PetscInt64 where[2] = {pivot->owner, pivot->row};

  PetscFunctionBegin;
  mine.value = pivot->ierr ? -1 : (pivot->system < 0 ? DBL_MAX : (double)pivot->system);
  mine.rank = r->rank;
  PetscCallMPI(MPI_Allreduce(&mine, &first, 1, MPI_DOUBLE_INT, MPI_MINLOC, r->comm));
  if (first.value < 0) PetscCall(BCRFaultShare(r->comm, pivot->ierr, BCR_NO_MEMORY));
  if (first.value == DBL_MAX) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Bcast(where, 2, MPIU_INT64, first.rank, r->comm));
  SETERRQ(r->comm, PETSC_ERR_MAT_LU_ZRPVT,
          "The system that couples the ranks has no usable pivot in system (line or mode) %" PetscInt64_FMT
          ", row %" PetscInt64_FMT " of rank %d: it is singular to rounding, or needs row exchanges",
          (PetscInt64)first.value, where[1], (int)where[0]);
}

/* here and share, wherever they are */
static PetscErrorCode BCRReducedMemoryFree(BCRReduced r)
{
  PetscFunctionBegin;
  if (r->memory.window == MPI_WIN_NULL) {
    PetscCall(PetscFree(r->here));
    PetscCall(PetscFree(r->share));
  }
  r->here = r->share = NULL;
  PetscCall(BCRNodeFree(&r->memory));
  PetscCall(PetscFree(r->theirs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRReducedDestroy(BCRReduced *reduced)
{
  BCRReduced r = *reduced;

  PetscFunctionBegin;
  if (!r) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRNeighboursDestroy(r));
  PetscCall(BCRTransposeDestroy(&r->there));
  PetscCall(BCRTransposeDestroy(&r->back));
  PetscCall(BCRChainsDestroy(&r->chains));
  PetscCall(BCRReducedMemoryFree(r));
  PetscCall(PetscFree(r->there_rows));
  PetscCall(PetscFree(r->block));
  PetscCall(PetscFree(r->index));
  PetscCall(PetscFree(r->counts));
  if (r->comm != MPI_COMM_NULL) PetscCall(PetscCommDestroy(&r->comm));
  PetscCall(PetscFree(*reduced));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the ranks' rows, and that they agree on all else; all: [6*size] work */
static PetscErrorCode BCRReducedAgree(BCRReduced r, const BCRReducedSpec *spec, PetscInt64 *all)
{
  static const char *const names[] = {"rows", "number of systems", "periodic", "flags", "coupling", "eps"};
  PetscInt64 mine[6], rows = 0;
  const double eps = (double)spec->eps;

  PetscFunctionBegin;
  mine[0] = r->rows;
  mine[1] = r->nsys;
  mine[2] = r->periodic ? 1 : 0;
  mine[3] = r->flags;
  mine[4] = spec->coupling + (spec->memory ? 8 : 0);
  memcpy(&mine[5], &eps, sizeof(eps));
  PetscCallMPI(MPI_Allgather(mine, 6, MPIU_INT64, all, 6, MPIU_INT64, r->comm));
  for (PetscMPIInt p = 0; p < r->size; p++) {
    for (int k = 1; k < 6; k++) {
      PetscCheck(all[6 * p + k] == all[k], r->comm, PETSC_ERR_ARG_INCOMP,
                 "Ranks %d and 0 have a different %s of the systems across ranks: it must be the same on all ranks",
                 (int)p, names[k]);
    }
    r->counts[p] = (PetscInt)all[6 * p];
    rows += all[6 * p];
  }
  PetscCheck(rows <= PETSC_MPI_INT_MAX - 2 * (PetscInt64)r->size, r->comm, PETSC_ERR_ARG_OUTOFRANGE,
             "%" PetscInt64_FMT " rows over all ranks are too many", rows);
  r->total = (PetscInt)rows;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of this rank's share of n systems, and the way from and to the ranks that have them */
typedef struct {
  BCRTranspose t;
  /* own rows [4*n*rows] in the order of the messages; the share's rows [4*m]; own rows of all
     systems [4*nsys*rows] */
  double *here, *there, *coef;
  double *low, *diag, *up; /* of the share, [m] */
  double *cut, *need;      /* [m], [t.ns]: of BCRReducedDecide(), as the next two */
  PetscMPIInt *where;
  char *mine;
} BCRShareRows;

static PetscErrorCode BCRShareRowsDestroy(BCRShareRows *w)
{
  PetscFunctionBegin;
  PetscCall(BCRTransposeDestroy(&w->t));
  PetscCall(PetscFree3(w->here, w->there, w->coef));
  PetscCall(PetscFree3(w->low, w->diag, w->up));
  PetscCall(PetscFree4(w->cut, w->need, w->where, w->mine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* all that needs memory; no rank waits for another */
static PetscErrorCode BCRShareRowsRoom(BCRReduced r, PetscInt n, PetscBool decide, BCRShareRows *w)
{
  PetscInt *off = NULL;
  PetscErrorCode ierr;
  size_t m;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(r->size, &off));
  for (PetscMPIInt p = 0, o = 0; p < r->size; o += r->counts[p], p++) off[p] = o;
  ierr = BCRTransposeCreate(r->comm, n, r->counts, off, r->total, 4, &w->t);
  PetscCall(PetscFree(off));
  PetscCall(ierr);
  m = (size_t)w->t.ns * (size_t)r->total;
  PetscCall(PetscMalloc3(4 * (size_t)n * (size_t)r->rows, &w->here, 4 * m, &w->there,
                         4 * (size_t)r->nsys * (size_t)r->rows, &w->coef));
  PetscCall(PetscMalloc3(m, &w->low, m, &w->diag, m, &w->up));
  if (decide)
    PetscCall(
      PetscMalloc4(m, &w->cut, (size_t)w->t.ns, &w->need, (size_t)w->t.ns, &w->where, (size_t)w->t.ns, &w->mine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* collective; the n systems in index (NULL: all). After an error there is nothing to destroy */
static PetscErrorCode BCRShareRowsCreate(BCRReduced r, const BCRReducedSpec *spec, PetscInt n, const PetscInt *index,
                                         PetscBool decide, BCRShareRows *w)
{
  MPI_Request request;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(w, sizeof(*w)));
  BCRCallElse(BCRFaultShare(r->comm, BCRShareRowsRoom(r, n, decide, w), BCR_NO_MEMORY), (void)BCRShareRowsDestroy(w));
  for (size_t i = 0; i < (size_t)r->nsys * (size_t)r->rows; i++) {
    w->coef[4 * i] = spec->low[i];
    w->coef[4 * i + 1] = spec->diag[i];
    w->coef[4 * i + 2] = spec->up[i];
    w->coef[4 * i + 3] = 0;
  }
  BCRTransposePack(&w->t, 0, r->rows, r->nsys, index, w->coef, w->here);
  PetscCall(BCRTransposeBegin(&w->t, PETSC_FALSE, w->here, w->there, &request));
  PetscCallMPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (size_t i = 0; i < (size_t)w->t.ns * (size_t)r->total; i++) {
    w->low[i] = w->there[4 * i];
    w->diag[i] = w->there[4 * i + 1];
    w->up[i] = w->there[4 * i + 2];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  What neighbour coupling costs rank p in one system: the smallest cut that makes its pieces end on
  it or a neighbour. A cut between its own rows will do. Without one a piece must not go on at both
  ends; and if others want its last (first) value, they know the piece only if it does not go on at
  the other end. What is added to its last row is not known before it.
*/
static double BCRReducedNeed(PetscInt rows, size_t ns, const double *cut, double left, double right, PetscBool before,
                             PetscBool after, PetscBool add)
{
  double need = PetscMax(left, right);

  if (add) need = after ? 1 : left;
  else {
    if (!after) need = PetscMin(need, left);
    if (!before) need = PetscMin(need, right);
  }
  for (PetscInt i = 0; i + 1 < rows; i++) need = PetscMin(need, cut[(size_t)i * ns]);
  return need;
}

/* need[s]: of the systems of a share, the largest over ranks, where[s]: that rank */
static void BCRReducedNeeds(BCRReduced r, size_t ns, const double *cut, PetscBool periodic, double *need,
                            PetscMPIInt *where)
{
  PetscMPIInt first = -1, last = -1;

  for (PetscMPIInt p = 0; p < r->size; p++) {
    if (r->counts[p]) {
      if (first < 0) first = p;
      last = p;
    }
  }
  for (size_t s = 0; s < ns; s++) {
    need[s] = 0;
    where[s] = 0;
  }
  for (PetscInt p = 0, o = 0; p < r->size; o += r->counts[p], p++) {
    /* nobody is beyond the ends of an open line unless there are ranks without rows */
    const PetscBool later = (PetscBool)(r->periodic || p < r->size - 1), earlier = (PetscBool)(r->periodic || p > 0);
    const PetscBool before = (PetscBool)(later && (r->flags & BCR_REDUCED_BEFORE)),
                    after = (PetscBool)(earlier && (r->flags & BCR_REDUCED_AFTER)),
                    add = (PetscBool)(later && (r->flags & BCR_REDUCED_ADD));

    if (!r->counts[p]) continue;
    for (size_t s = 0; s < ns; s++) {
      const double left = p == first && !periodic ? 0 : cut[(size_t)(o ? o - 1 : r->total - 1) * ns + s],
                   right = p == last && !periodic ? 0 : cut[(size_t)(o + r->counts[p] - 1) * ns + s];
      const double e = BCRReducedNeed(r->counts[p], ns, cut + (size_t)o * ns + s, left, right, before, after, add);

      if (e > need[s]) {
        need[s] = e;
        where[s] = (PetscMPIInt)p;
      }
    }
  }
}

/* kind[s], s < nsys, on all ranks: 1 if neighbours can solve it; coef: then the coefficients of the
   own rows [4*(r*nsys + s)] with couplings cut set to 0, and which are cut (1: before, 2: after) */
static PetscErrorCode BCRReducedDecide(BCRReduced r, const BCRReducedSpec *spec, char *kind, double *coef)
{
  const double eps = (double)spec->eps;
  BCRShareRows w;
  double lost = 0;
  size_t ns, m;
  PetscBool periodic = r->periodic, loses = PETSC_FALSE;
  MPI_Request request;
  struct {
    double value;
    int rank;
  } worst, most = {0, 0};
  PetscInt64 at[2] = {0, 0};

  PetscFunctionBegin;
  PetscCall(BCRShareRowsCreate(r, spec, r->nsys, NULL, PETSC_TRUE, &w));
  ns = (size_t)w.t.ns;
  m = ns * (size_t)r->total;
  BCRChainsFold(r->total, w.t.ns, w.low, w.diag, w.up, &periodic);
  PetscCall(BCRChainsCuts(r->total, w.t.ns, w.low, w.diag, w.up, periodic, w.cut));
  BCRReducedNeeds(r, ns, w.cut, periodic, w.need, w.where);
  worst.value = 0;
  worst.rank = r->rank;
  for (size_t s = 0; s < ns; s++) {
    w.mine[s] = w.need[s] <= eps;
    if (!(w.need[s] <= worst.value)) {
      worst.value = w.need[s];
      at[0] = w.t.sysoff[r->rank] + (PetscInt64)s;
      at[1] = w.where[s];
    }
  }
  if (spec->coupling == BCR_TRI_COUPLING_NEIGHBOUR) {
    PetscCallMPI(MPI_Allreduce(&worst, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, r->comm));
    if (!(most.value <= eps)) {
      PetscCallMPI(MPI_Bcast(at, 2, MPIU_INT64, most.rank, r->comm));
      loses = PETSC_TRUE;
    }
  }
  /* cut, and back to the ranks */
  for (size_t i = 0; i < m; i++) {
    const size_t row = i / ns, s = i % ns, j = row ? i - ns : m - ns + s;
    int cuts = 0;

    if (w.cut[j] <= eps || (!row && !periodic)) cuts |= 1;
    if (w.cut[i] <= eps || (row == (size_t)r->total - 1 && !periodic)) cuts |= 2;
    if (w.mine[s]) lost = PetscMax(lost, w.cut[i] <= eps ? w.cut[i] : 0);
    w.there[4 * i] = cuts & 1 ? 0 : w.low[i];
    w.there[4 * i + 1] = w.diag[i];
    w.there[4 * i + 2] = cuts & 2 ? 0 : w.up[i];
    w.there[4 * i + 3] = cuts;
  }
  PetscCall(BCRTransposeBegin(&w.t, PETSC_TRUE, w.here, w.there, &request));
  PetscCallMPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  BCRTransposeUnpack(&w.t, 0, r->rows, r->nsys, NULL, w.here, coef);
  PetscCallMPI(MPI_Allgatherv(w.mine, w.t.nsys[r->rank], MPI_CHAR, kind, w.t.nsys, w.t.sysoff, MPI_CHAR, r->comm));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &lost, 1, MPI_DOUBLE, MPI_MAX, r->comm));
  r->info.lost = (PetscReal)lost;
  PetscCall(BCRShareRowsDestroy(&w));
  PetscCheck(!loses, r->comm, PETSC_ERR_ARG_OUTOFRANGE,
             "Coupling by neighbours alone would lose %.1f digits: system (line or mode) %" PetscInt64_FMT
             " couples through rank %d with relative size %.1e, above %.1e. Use coupling auto or reduced, or fewer "
             "ranks along the lines",
             PetscMin(log10(most.value / PetscMax(eps, DBL_EPSILON / 2)), -log10(PetscMax(eps, DBL_EPSILON / 2))),
             at[0], (int)at[1], most.value, eps);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* factors of the systems of this rank's share; rows of the exchange: what ranks add and the values
   before and after have places between */
static PetscErrorCode BCRReducedShareOut(BCRReduced r, const BCRReducedSpec *spec)
{
  const PetscInt pre = r->flags & (BCR_REDUCED_ADD | BCR_REDUCED_BEFORE) ? 1 : 0,
                 post = r->flags & BCR_REDUCED_AFTER ? 1 : 0;
  BCRShareRows w;
  PetscBool periodic = r->periodic;
  PetscInt bad[2] = {-1, -1}, row = 0, n = 0;
  BCRReducedPivot pivot = {PETSC_SUCCESS, -1, 0, 0};

  PetscFunctionBegin;
  PetscCall(BCRShareRowsCreate(r, spec, r->nshared, r->index, PETSC_FALSE, &w));
  BCRChainsFold(r->total, w.t.ns, w.low, w.diag, w.up, &periodic);
  pivot.ierr = BCRChainsCreate(r->total, w.t.ns, w.low, w.diag, w.up, periodic, &r->chains, bad);
  if (!pivot.ierr) pivot.ierr = PetscMalloc1(r->total, &r->there_rows);
  if (!pivot.ierr) pivot.ierr = PetscMalloc1(r->size + 1, &r->block);
  if (bad[0] >= 0) {
    pivot.system = bad[0] + w.t.sysoff[r->rank];
    if (r->index) pivot.system = r->index[pivot.system];
    pivot.row = bad[1];
    while (pivot.row >= r->counts[pivot.owner]) pivot.row -= r->counts[pivot.owner++];
  }
  PetscCall(BCRShareRowsDestroy(&w));
  PetscCall(BCRReducedCheckPivot(r, &pivot));

  for (PetscMPIInt p = 0; p < r->size; p++) {
    r->block[p] = n;
    n += pre;
    for (PetscInt i = 0; i < r->counts[p]; i++) r->there_rows[row++] = n++;
    n += post;
  }
  r->block[r->size] = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes of rank p for nvec values: here; share */
static void BCRReducedBytes(BCRReduced r, PetscInt nvec, PetscMPIInt p, size_t bytes[2])
{
  const PetscInt pre = r->flags & (BCR_REDUCED_ADD | BCR_REDUCED_BEFORE) ? 1 : 0,
                 post = r->flags & BCR_REDUCED_AFTER ? 1 : 0;
  PetscInt ns, off;

  BCRTransposeShare(r->nsys, r->size, p, &ns, &off);
  bytes[0] = (size_t)(r->counts[p] + pre + post) * (size_t)r->nsys;
  bytes[1] = (size_t)(r->total + (pre + post) * r->size) * (size_t)ns;
  for (int k = 0; k < 2; k++) /* whole lines */
    bytes[k] = (bytes[k] * (size_t)nvec * sizeof(double) + BCR_NODE_LINE - 1) / BCR_NODE_LINE * BCR_NODE_LINE;
}

/* Collective. Memory for nvec values, or r->node = NULL where there is none */
static PetscErrorCode BCRReducedMemory(BCRReduced r, PetscInt nvec)
{
  size_t bytes[2];
  char *mine;

  PetscFunctionBegin;
  PetscCall(BCRReducedMemoryFree(r));
  BCRReducedBytes(r, nvec, r->rank, bytes);
  PetscCall(BCRNodeAllocate(r->node, STEPS * BCR_NODE_LINE + bytes[0] + bytes[1], &r->memory));
  if (r->memory.window == MPI_WIN_NULL) {
    r->info.refused = r->memory.refused;
    r->node = NULL;
    PetscCall(BCRNodeFree(&r->memory));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  mine = r->memory.part[r->node->local[r->rank]];
  memset(mine, 0, STEPS * BCR_NODE_LINE + bytes[0] + bytes[1]);
  r->here = (double *)(mine + STEPS * BCR_NODE_LINE);
  r->share = (double *)(mine + STEPS * BCR_NODE_LINE + bytes[0]);
  r->memvec = nvec;
  r->solve = 0;
  PetscCallMPI(MPI_Win_sync(r->memory.window));
  PetscCallMPI(MPI_Barrier(r->comm)); /* all steps are zero */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where this rank loads from: rows of all ranks, and what they have solved for it */
static PetscErrorCode BCRReducedTheirs(BCRReduced r)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc1(2 * r->size, &r->theirs));
  for (PetscMPIInt p = 0; p < r->size; p++) {
    const char *part = r->memory.part[r->node->local[p]] + STEPS * BCR_NODE_LINE;
    size_t bytes[2];

    BCRReducedBytes(r, r->nvec, p, bytes);
    r->theirs[p] = (const double *)part;
    r->theirs[r->size + p] =
      (const double *)(part + bytes[0]) + (size_t)r->back.rowoff[r->rank] * (size_t)r->back.nsys[p] * (size_t)r->nvec;
  }
  r->info.loaded = r->there.bytes[1] + r->back.bytes[0];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRReducedTell(BCRReduced r, int step)
{
  PetscFunctionBegin;
  PetscCall(BCRNodeTell(&r->memory, r->node->local[r->rank], step, r->solve));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Until all ranks have come so far, those that this one loads nothing from, too: none of them then loads what it had
   stored before */
static PetscErrorCode BCRReducedWait(BCRReduced r, int step)
{
  PetscFunctionBegin;
  for (PetscMPIInt p = 0; p < r->node->ranks; p++)
    PetscCall(BCRTeamWait(r->comm, r->tags[0], r->memory.part[p] + step * BCR_NODE_LINE, r->solve));
  PetscCallMPI(MPI_Win_sync(r->memory.window));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* which systems are which, on all ranks */
static PetscErrorCode BCRReducedIndices(BCRReduced r, const char *kind)
{
  PetscInt k[2] = {0, 0};

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(r->nb.ns, &r->nb.index));
  PetscCall(PetscMalloc1(r->nshared, &r->index));
  for (PetscInt s = 0; s < r->nsys; s++) {
    if (kind[s]) r->nb.index[k[0]++] = s;
    else r->index[k[1]++] = s;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* all: [6*size], give: [2*size], kind: [nsys], coef: [4*nsys*rows], work of this rank */
static PetscErrorCode BCRReducedSetUp(BCRReduced r, const BCRReducedSpec *spec, PetscInt64 *all, PetscInt *give,
                                      char *kind, double *coef)
{
  PetscInt n = 0;

  PetscFunctionBegin;
  PetscCall(BCRReducedAgree(r, spec, all));
  if (spec->memory && spec->coupling == BCR_TRI_COUPLING_AUTO && r->size > 1 && r->nsys && r->total) {
    PetscCall(BCRNodeGet(r->comm, &r->node));
    if (r->node->ranks < r->size) r->node = NULL;
    else PetscCall(BCRReducedMemory(r, 1));
  }
  if (r->nsys && r->total) {
    PetscCall(PetscArrayzero(kind, r->nsys));
    if (spec->coupling != BCR_TRI_COUPLING_REDUCED && r->size > 1 && !r->node)
      PetscCall(BCRReducedDecide(r, spec, kind, coef));
    for (PetscInt s = 0; s < r->nsys; s++) n += kind[s];
    r->nb.ns = n;
    r->nshared = r->nsys - n;
    if (n && n < r->nsys) PetscCall(BCRFaultShare(r->comm, BCRReducedIndices(r, kind), BCR_NO_MEMORY));
    if (r->nshared) PetscCall(BCRReducedShareOut(r, spec));
    if (r->nb.ns) {
      BCRReducedPivot pivot = {PETSC_SUCCESS, -1, 0, 0};

      PetscCall(BCRNeighboursCreate(r, coef, give, &pivot));
      PetscCall(BCRReducedCheckPivot(r, &pivot));
    }
  }
  r->info.neighbour = r->nb.ns;
  r->info.shared = r->nshared;
  PetscCall(BCRReducedSetVectors(r, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRReducedCreate(MPI_Comm comm, const BCRReducedSpec *spec, BCRReduced *reduced)
{
  BCRReduced r = NULL;
  PetscInt64 *all = NULL;
  PetscInt *give = NULL;
  char *kind = NULL;
  double *coef = NULL;
  PetscMPIInt size;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *reduced = NULL;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  ierr = PetscNew(&r);
  if (!ierr) {
    r->comm = MPI_COMM_NULL;
    r->memory.window = MPI_WIN_NULL;
    r->request = MPI_REQUEST_NULL;
    ierr = PetscMalloc1(size, &r->counts);
  }
  if (!ierr)
    ierr = PetscMalloc4(6 * (size_t)size, &all, 2 * (size_t)size, &give, (size_t)spec->nsys, &kind,
                        4 * (size_t)spec->nsys * (size_t)spec->rows, &coef);
  ierr = BCRFaultShare(comm, ierr, BCR_NO_MEMORY);
  if (!ierr) {
    PetscCall(PetscCommDuplicate(comm, &r->comm, &r->tags[0]));
    for (int k = 1; k < 4; k++) PetscCall(PetscCommGetNewTag(r->comm, &r->tags[k]));
    PetscCallMPI(MPI_Comm_rank(r->comm, &r->rank));
    r->size = size;
    r->nsys = spec->nsys;
    r->rows = spec->rows;
    r->flags = spec->flags;
    r->periodic = spec->periodic;
    ierr = BCRReducedSetUp(r, spec, all, give, kind, coef);
  }
  PetscCall(PetscFree4(all, give, kind, coef));
  BCRCallElse(ierr, (void)BCRReducedDestroy(&r));
  *reduced = r;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* tables and buffers for nvec values; no rank waits for another */
static PetscErrorCode BCRReducedVectors(BCRReduced r, PetscInt nvec)
{
  const PetscInt add = r->flags & BCR_REDUCED_ADD ? 1 : 0, before = r->flags & BCR_REDUCED_BEFORE ? 1 : 0,
                 after = r->flags & BCR_REDUCED_AFTER ? 1 : 0;

  PetscFunctionBegin;
  r->nvec = nvec;
  r->info.bytes_sent = r->info.messages = r->info.loaded = r->info.workspace = 0;
  PetscCall(BCRTransposeDestroy(&r->there));
  PetscCall(BCRTransposeDestroy(&r->back));
  if (!r->node) PetscCall(BCRReducedMemoryFree(r));
  PetscCall(PetscFree(r->theirs));
  if (r->nshared) {
    PetscInt *rows = NULL, *off = NULL;
    PetscErrorCode ierr;
    size_t n[2];

    PetscCall(PetscMalloc2(r->size, &rows, r->size, &off));
    for (PetscMPIInt p = 0; p < r->size; p++) {
      rows[p] = r->counts[p] + add;
      off[p] = r->block[p] + (before && !add);
    }
    ierr = BCRTransposeCreate(r->comm, r->nshared, rows, off, r->block[r->size], nvec, &r->there);
    for (PetscMPIInt p = 0; p < r->size; p++) {
      rows[p] = r->counts[p] + before + after;
      off[p] = r->block[p] + (add && !before);
    }
    if (!ierr) ierr = BCRTransposeCreate(r->comm, r->nshared, rows, off, r->block[r->size], nvec, &r->back);
    PetscCall(PetscFree2(rows, off));
    PetscCall(ierr);
    n[0] = (size_t)PetscMax(r->there.mine, r->back.mine) * (size_t)r->nshared * (size_t)nvec;
    n[1] = (size_t)r->there.nrows * (size_t)r->there.ns * (size_t)nvec;
    if (r->node) PetscCall(BCRReducedTheirs(r));
    else {
      PetscCall(PetscCalloc1(n[0], &r->here));
      PetscCall(PetscCalloc1(n[1], &r->share));
      r->info.bytes_sent = r->there.bytes[0] + r->back.bytes[1];
      r->info.messages = r->there.messages[0] + r->back.messages[1];
    }
    r->info.workspace = (n[0] + n[1]) * sizeof(double) + r->chains.bytes;
  }
  PetscCall(BCRNeighboursSetVectors(r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRReducedSetVectors(BCRReduced r, PetscInt nvec)
{
  PetscFunctionBegin;
  if (r->nvec == nvec) PetscFunctionReturn(PETSC_SUCCESS);
  if (r->node && r->memvec != nvec) PetscCall(BCRReducedMemory(r, nvec));
  BCRCallElse(BCRFaultShare(r->comm, BCRReducedVectors(r, nvec), BCR_NO_MEMORY), r->nvec = 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRReducedSolveBegin(BCRReduced r, const double *g, const double *add)
{
  const PetscInt nadd = r->flags & BCR_REDUCED_ADD ? 1 : 0;

  PetscFunctionBegin;
  PetscCheck(!nadd == !add || !r->nsys, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "What ranks add is given with BCR_REDUCED_ADD, and only then");
  if (r->nshared) {
    if (add) BCRTransposePack(&r->there, 0, 1, r->nsys, r->index, add, r->here);
    BCRTransposePack(&r->there, nadd, r->rows, r->nsys, r->index, g, r->here);
    r->solve++;
    if (r->node) PetscCall(BCRReducedTell(r, SENT));
    else PetscCall(BCRTransposeBegin(&r->there, PETSC_FALSE, r->here, r->share, &r->request));
  }
  if (r->nb.ns) PetscCall(BCRNeighboursBegin(r, g, add));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* this rank's share: what ranks add to rows of others, elimination, and the values that others want
   next to their rows */
static PetscErrorCode BCRReducedShare(BCRReduced r)
{
  const PetscInt n = r->total;
  const size_t rowsize = (size_t)r->there.ns * (size_t)r->nvec;

  PetscFunctionBegin;
  if (!rowsize) PetscFunctionReturn(PETSC_SUCCESS);
  if (r->flags & BCR_REDUCED_ADD) {
    for (PetscInt p = 0, o = 0; p < r->size; o += r->counts[p], p++) {
      const PetscInt row = o ? o - 1 : (r->periodic ? n - 1 : -1);
      double *a = r->share + (size_t)r->block[p] * rowsize, *b;

      if (row < 0) continue;
      b = r->share + (size_t)r->there_rows[row] * rowsize;
      for (size_t s = 0; s < rowsize; s++) b[s] += a[s];
    }
  }
  PetscCall(BCRChainsSolve(&r->chains, r->nvec, r->there_rows, r->share));
  for (PetscInt p = 0, o = 0; p < r->size; o += r->counts[p], p++) {
    for (int k = 0; k < 2; k++) {
      const PetscInt next = o + r->counts[p];
      const PetscInt row = k ? (next < n ? next : (r->periodic ? 0 : -1)) : (o ? o - 1 : (r->periodic ? n - 1 : -1));
      double *a = r->share + (size_t)(k ? r->block[p + 1] - 1 : r->block[p]) * rowsize;

      if (!(r->flags & (k ? BCR_REDUCED_AFTER : BCR_REDUCED_BEFORE))) continue;
      if (row < 0) PetscCall(PetscArrayzero(a, rowsize));
      else PetscCall(PetscArraycpy(a, r->share + (size_t)r->there_rows[row] * rowsize, rowsize));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRReducedSolveEnd(BCRReduced r, double *x, double *before, double *after)
{
  const PetscInt pre = r->flags & BCR_REDUCED_BEFORE ? 1 : 0, post = r->flags & BCR_REDUCED_AFTER ? 1 : 0;
  const size_t n = (size_t)r->nsys * (size_t)r->nvec;

  PetscFunctionBegin;
  PetscCheck((pre || !before) && (post || !after), PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "Values before and after are had with BCR_REDUCED_BEFORE and BCR_REDUCED_AFTER");
  if (r->nshared) {
    if (r->node) {
      PetscCall(BCRReducedWait(r, SENT));
      BCRTransposeLoad(&r->there, r->theirs, r->share);
    } else PetscCallMPI(MPI_Wait(&r->request, MPI_STATUS_IGNORE));
    PetscCall(BCRReducedShare(r));
    if (r->node) PetscCall(BCRReducedTell(r, SOLVED));
    else PetscCall(BCRTransposeBegin(&r->back, PETSC_TRUE, r->here, r->share, &r->request));
  }
  if (r->nb.ns || !r->total) { /* while the shares travel back; neighbours leave what there is not */
    if (before) PetscCall(PetscArrayzero(before, n));
    if (after) PetscCall(PetscArrayzero(after, n));
    if (r->nb.ns) PetscCall(BCRNeighboursEnd(r, x, before, after));
  }
  if (r->nshared && r->node) {
    const double *const *block = r->theirs + r->size;

    PetscCall(BCRReducedWait(r, SOLVED));
    if (before) BCRTransposeUnpackFrom(&r->back, 0, 1, r->nsys, r->index, block, before);
    BCRTransposeUnpackFrom(&r->back, pre, r->rows, r->nsys, r->index, block, x);
    if (after) BCRTransposeUnpackFrom(&r->back, pre + r->rows, 1, r->nsys, r->index, block, after);
  } else if (r->nshared) {
    PetscCallMPI(MPI_Wait(&r->request, MPI_STATUS_IGNORE));
    if (before) BCRTransposeUnpack(&r->back, 0, 1, r->nsys, r->index, r->here, before);
    BCRTransposeUnpack(&r->back, pre, r->rows, r->nsys, r->index, r->here, x);
    if (after) BCRTransposeUnpack(&r->back, pre + r->rows, 1, r->nsys, r->index, r->here, after);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRReducedGetInfo(BCRReduced reduced, BCRReducedInfo *info)
{
  PetscFunctionBegin;
  *info = reduced->info;
  PetscFunctionReturn(PETSC_SUCCESS);
}
