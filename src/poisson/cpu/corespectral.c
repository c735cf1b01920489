/*
  Products of axes on the host that level 0 does not take: transforms along all axes and a division by the symbol. On
  several ranks, whose rows are cut along one axis, that axis is the last: the modes of the others are exchanged, so that
  each rank has whole lines along it for a share of them.

      f -> transforms along the other axes -> [rows to shares]
        -> transform along the last, division, transform back -> [shares to rows] -> back -> u
*/
#include "coreimpl.h"
#include "../../base/agree.h"

/* Columns go through the last axis in strips that take so much of the second-level cache at most */
#define STRIP_SHARE 8
/* and are multiples of so many elements, two cache lines */
#define STRIP_UNIT 16

/* The parts of the axes but the last, that of neighbours in memory first */
static PetscInt other_parts(BCRCore c, PetscInt part[2])
{
  PetscInt n = 0;

  for (PetscInt i = 0; i < c->dim; i++)
    if (i != c->spectral.last) part[n++] = i;
  if (n == 2 && c->stride[part[1]] < c->stride[part[0]]) {
    const PetscInt swap = part[0];

    part[0] = part[1];
    part[1] = swap;
  }
  return n;
}

static PetscInt other_columns(BCRCore c)
{
  PetscInt part[2], columns = 1;
  const PetscInt n = other_parts(c, part);

  for (PetscInt i = 0; i < n; i++) columns *= c->axis[part[i]].n;
  return columns;
}

PetscErrorCode BCRSpectralCreate(BCRCore c, const BCRCoreShare *share)
{
  const BCRPlan p = c->plan;
  const PetscInt last = p->dim ? BCRPlanSpectralLast(p) : 0;
  BCRSpectral *s = &c->spectral;
  PetscMPIInt size, rank;

  PetscFunctionBegin;
  s->last = last == 0 ? 0 : (last == p->blocks ? 1 : 2);
  s->pin = -1;
  if (!share || p->along < 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_size(share->comm, &size));
  PetscCallMPI(MPI_Comm_rank(share->comm, &rank));
  s->shared = PETSC_TRUE;
  PetscCall(BCRTransposeCreate(share->comm, other_columns(c), share->rows, share->rowoff, c->n[s->last], 1, &s->t));
  c->n[s->last] = share->rows[rank];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCoreGetExchange(BCRCore c, size_t *bytes, size_t *messages)
{
  const BCRTranspose *t = &c->spectral.t; /* zeros where there is none */

  PetscFunctionBegin;
  *bytes = t->bytes[0] + t->bytes[1];
  *messages = t->messages[0] + t->messages[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSpectralDestroy(BCRCore c)
{
  PetscFunctionBegin;
  if (c->spectral.shared) PetscCall(BCRTransposeDestroy(&c->spectral.t));
  c->spectral.shared = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The polynomial of the last axis that the modes of the others leave, and their norm; where the constant is. columns:
   shift, slope, norm */
static void columns_fold(BCRCore c, double *columns[3])
{
  const BCRPlan p = c->plan;
  const PetscInt axis[3] = {0, p->blocks, p->across}, pin[3] = {c->pinx, c->piny, c->pinz};
  BCRSpectral *s = &c->spectral;
  PetscInt part[2], n = other_parts(c, part), at = 0;
  double mixed[BCR_SETS];

  for (int set = 0; set < BCR_SETS; set++) mixed[set] = p->mixed[set];
  mixed[0] = c->singular ? 0 : p->shift + p->fixed;
  if (n > 0) at = pin[part[0]];
  if (n > 1) at += c->axis[part[0]].n * pin[part[1]];
  s->pin = c->singular && at >= s->first && at < s->first + s->count ? at - s->first : -1;
  for (PetscInt q = 0; q < s->count; q++) {
    const PetscInt k = s->first + q, k0 = n > 0 ? k % c->axis[part[0]].n : 0, k1 = n > 1 ? k / c->axis[part[0]].n : 0;
    double l[3] = {0, 0, 0};

    if (n > 0) l[axis[part[0]]] = c->lambda[part[0]][k0];
    if (n > 1) l[axis[part[1]]] = c->lambda[part[1]][k1];
    columns[0][q] = BCRProductSymbol(mixed, l[0], l[1], l[2]);
    columns[1][q] = BCRProductSlope(mixed, (int)axis[s->last], l);
    columns[2][q] = (n > 0 ? c->norm[part[0]][k0] : 1) * (n > 1 ? c->norm[part[1]][k1] : 1);
  }
}

/* What exchanges take: this rank's rows of all modes, all rows of its share, a row */
static PetscErrorCode tables_exchange(BCRCore c)
{
  BCRSpectral *s = &c->spectral;
  const size_t total = (size_t)s->t.total, mine = (size_t)s->t.mine, rows = (size_t)s->t.nrows;

  PetscFunctionBegin;
  PetscCall(BCRArenaGet(&c->space, PetscMax(1, total * mine) * sizeof(double), &s->here));
  PetscCall(BCRArenaGet(&c->space, (rows * (size_t)s->count + 64) * sizeof(double), &s->there));
  PetscCall(BCRArenaGet(&c->space, total * sizeof(double), &s->row));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSpectralTables(BCRCore c)
{
  BCRSpectral *s = &c->spectral;
  const size_t size = c->single ? sizeof(float) : sizeof(double), pad = 64;
  const PetscInt rows = c->axis[s->last].n;
  const size_t line =
    (size_t)rows * (s->shared ? sizeof(double) : (c->io == BCR_DOUBLE ? sizeof(double) : sizeof(float)));
  double *columns[3];
  size_t work = 0;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  s->first = s->shared ? s->t.sysoff[s->t.rank] : 0;
  s->count = s->shared ? s->t.ns : other_columns(c);
  s->strip = PetscMax(1, (PetscInt)(BCRCoreCacheBytes(1u << 20) / STRIP_SHARE / line / STRIP_UNIT)) * STRIP_UNIT;
  PetscCall(PetscMalloc3(s->count, &columns[0], s->count, &columns[1], s->count, &columns[2]));
  columns_fold(c, columns);
  ierr = BCRArenaReal(&c->arena, c->single, s->count, columns[0], &s->shift);
  if (!ierr) ierr = BCRArenaReal(&c->arena, c->single, s->count, columns[1], &s->slope);
  if (!ierr) ierr = BCRArenaReal(&c->arena, c->single, s->count, columns[2], &s->norm);
  PetscCall(PetscFree3(columns[0], columns[1], columns[2]));
  PetscCall(ierr);
  PetscCall(BCRArenaReal(&c->arena, c->single, rows, c->lambda[s->last], &s->lambda));
  PetscCall(BCRArenaReal(&c->arena, c->single, rows, c->norm[s->last], &s->rownorm));
  for (PetscInt i = 0; i < c->dim; i++) work = PetscMax(work, BCRDttWork(c->dtt[i], c->cpu->lanes));
  PetscCall(BCRArenaGet(&c->space, (work + pad) * size, &c->work));
  if (s->shared) PetscCall(tables_exchange(c));
  s->pinrank = 0;
  for (PetscMPIInt q = 0; s->shared && c->singular && q < s->t.size; q++) {
    PetscInt part[2], n = other_parts(c, part);
    const PetscInt pin[3] = {c->pinx, c->piny, c->pinz},
                   at = (n > 0 ? pin[part[0]] : 0) + (n > 1 ? c->axis[part[0]].n * pin[part[1]] : 0);

    if (at >= s->t.sysoff[q] && at < s->t.sysoff[q] + s->t.nsys[q]) s->pinrank = q;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Transforms along the axes but the last one, of this rank's part: planes of two axes while they are in the cache.
   back: synthesis */
static void transform_others(BCRCore c, PetscBool back, const void *f, void *u)
{
  const int io = c->single && c->io == BCR_DOUBLE ? 1 : 0, direction = back ? 1 : 0;
  const PetscInt last = c->spectral.last, nplane = c->dim < 3 || last == 0 ? 1 : c->n[last];
  const ptrdiff_t plane = nplane > 1 ? c->stride[last] : 0;
  PetscInt part[2];
  const PetscInt n = other_parts(c, part);

  for (PetscInt k = 0; k < nplane; k++) {
    const void *from = at(c->io, f, k * plane);
    void *to = at(c->io, u, k * plane);

    for (PetscInt i = 0; i < n; i++) {
      const PetscInt a = part[back ? n - 1 - i : i], b = n > 1 ? part[back ? i : n - 1 - i] : last; /* b: another one */

      if (a == 0) c->cpu->dtt.rows(c->dtt[0], direction, io, c->n[b], from, c->stride[b], to, c->stride[b], c->work);
      for (PetscInt j = 0; j < (b > 0 ? c->n[b] : 1) && a > 0; j++) { /* b > 0: neighbours lie along the last axis */
        const ptrdiff_t o = b > 0 ? j * c->stride[b] : 0;

        c->cpu->dtt.cols(c->dtt[a], direction, io, c->n[0], at(c->io, from, o), c->stride[a], at(c->io, to, o),
                         c->stride[a], c->work);
      }
      from = to;
    }
  }
}

/* The last axis: columns q .. q + count - 1, neighbours in memory, rows ld apart */
static void solve_columns(BCRCore c, PetscInt q, PetscInt count, int io, void *u, ptrdiff_t ld, double *removed)
{
  const BCRSpectral *s = &c->spectral;
  const BCRPrecision of = io || !c->single ? BCR_DOUBLE : BCR_SINGLE, work = c->single ? BCR_SINGLE : BCR_DOUBLE;
  const PetscInt rows = c->axis[s->last].n, pin[3] = {c->pinx, c->piny, c->pinz};

  for (PetscInt i = 0; i < count; i += s->strip) {
    const PetscInt n = PetscMin(s->strip, count - i), k = q + i;
    void *v = at(of, u, i);

    c->cpu->dtt.cols(c->dtt[s->last], 0, io, n, v, ld, v, ld, c->work);
    if (s->pin >= k && s->pin < k + n)
      *removed =
        get(of, v, pin[s->last] * ld + s->pin - k) * get(work, s->norm, s->pin) * get(work, s->rownorm, pin[s->last]);
    c->cpu->divide(n, rows, io, v, ld, at(work, s->shift, k), at(work, s->slope, k), at(work, s->norm, k), s->lambda,
                   s->rownorm, c->factor, c->plan->tol);
    c->cpu->dtt.cols(c->dtt[s->last], 1, io, n, v, ld, v, ld, c->work);
  }
}

/* A row of modes between u and the rows that are exchanged */
static void row_move(BCRCore c, PetscInt r, PetscBool back, void *u)
{
  const BCRSpectral *s = &c->spectral;
  PetscInt part[2];
  const PetscInt n = other_parts(c, part), n0 = n > 0 ? c->n[part[0]] : 1, n1 = n > 1 ? c->n[part[1]] : 1;
  const ptrdiff_t s0 = n > 0 ? c->stride[part[0]] : 0, s1 = n > 1 ? c->stride[part[1]] : 0, o = r * c->stride[s->last];

  if (back) BCRTransposeUnpack(&s->t, r, 1, s->t.total, NULL, s->here, s->row);
  for (PetscInt j = 0; j < n1; j++)
    for (PetscInt i = 0; i < n0; i++) {
      if (back) set(c->io, u, o + j * s1 + i * s0, s->row[i + n0 * j]);
      else s->row[i + n0 * j] = get(c->io, u, o + j * s1 + i * s0);
    }
  if (!back) BCRTransposePack(&s->t, r, 1, s->t.total, NULL, s->row, s->here);
}

/* The last axis on several ranks */
static PetscErrorCode solve_shared(BCRCore c, void *u, double *removed)
{
  BCRSpectral *s = &c->spectral;
  MPI_Request request;

  PetscFunctionBegin;
  for (PetscInt r = 0; r < s->t.mine; r++) row_move(c, r, PETSC_FALSE, u);
  PetscCall(BCRTransposeBegin(&s->t, PETSC_FALSE, s->here, s->there, &request));
  PetscCallMPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  if (s->count) solve_columns(c, 0, s->count, c->single ? 1 : 0, s->there, s->count, removed);
  PetscCall(BCRTransposeBegin(&s->t, PETSC_TRUE, s->here, s->there, &request));
  PetscCallMPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (PetscInt r = 0; r < s->t.mine; r++) row_move(c, r, PETSC_TRUE, u);
  if (c->singular) PetscCallMPI(MPI_Bcast(removed, 1, MPI_DOUBLE, s->pinrank, s->t.comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSpectralSolve(BCRCore c, const void *f, void *u, PetscReal *removed)
{
  BCRSpectral *s = &c->spectral;
  const int io = c->single && c->io == BCR_DOUBLE ? 1 : 0;
  const PetscInt middle = 3 - s->last; /* three dimensions: the part that is neither rows nor the last */
  double mean = 0;

  PetscFunctionBegin;
  if (c->n[s->last] && c->dim > 1) transform_others(c, PETSC_FALSE, f, u);
  else if (c->n[s->last] && f != u)
    for (PetscInt i = 0; i < c->n[0]; i++) set(c->io, u, i * c->stride[0], get(c->io, f, i * c->stride[0]));
  if (s->shared) PetscCall(solve_shared(c, u, &mean));
  else if (c->dim < 3) solve_columns(c, 0, s->count, io, u, c->stride[s->last], &mean);
  else
    for (PetscInt j = 0; j < c->n[middle]; j++)
      solve_columns(c, j * c->n[0], c->n[0], io, at(c->io, u, j * c->stride[middle]), c->stride[s->last], &mean);
  if (c->n[s->last] && c->dim > 1) transform_others(c, PETSC_TRUE, u, u);
  if (removed && c->singular) *removed = (PetscReal)mean;
  PetscFunctionReturn(PETSC_SUCCESS);
}
