/* Compact derivatives along lines, see compact.h */
#include "compactimpl.h"
#include "../base/agree.h"

static void compact_band_row(const BCRCompactRow *r, double scale, BCRBandRow *b)
{
  b->start = r->start;
  b->points = r->points;
  for (PetscInt k = 0; k < r->points; ++k) b->c[k] = scale * r->c[k];
}

PetscErrorCode BCRCompactGetBand(const BCRCompactScheme *s, PetscInt n, PetscBool periodic, PetscReal h, BCRBand *band)
{
  const double scale = s->derivative == 1 ? 1 / (double)h : 1 / ((double)h * (double)h);

  PetscFunctionBegin;
  PetscCall(PetscMemzero(band, sizeof(*band)));
  band->n = n;
  band->periodic = periodic;
  band->half = s->half;
  band->sign = s->derivative == 1 ? -1 : 1;
  compact_band_row(&s->inner, scale, &band->inner);
  if (periodic) PetscFunctionReturn(PETSC_SUCCESS);
  band->nfirst = band->nlast = s->closed;
  PetscCall(PetscMalloc2(s->closed, &band->first, s->closed, &band->last));
  for (PetscInt r = 0; r < s->closed; ++r) {
    BCRCompactRow row;

    compact_band_row(&s->first[r], scale, &band->first[r]);
    PetscCall(BCRCompactGetRow(s, n, n - s->closed + r, &row));
    compact_band_row(&row, scale, &band->last[r]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes of a block of lines, which fits with what it is made from into a second-level cache; more, up to MOST, where
   that would be fewer than LINES lines: the line solver wants some side by side. None was measured apart */
#define COMPACT_BLOCK_BYTES (256 * 1024)
#define COMPACT_BLOCK_MOST  (2 << 20)
#define COMPACT_BLOCK_LINES 32

/* How many lines to solve at a time: `block` of outer, or of a stretch of inner where even one of
   outer is too much for the caches. Over several ranks all of them: each solve has its messages */
static PetscErrorCode compact_block(BCRCompact c)
{
  const double bytes = (double)c->local * sizeof(PetscReal), all = (double)c->inner * (double)c->outer * bytes;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(c->comm, &size));
  c->block = PetscMax(c->outer, 1);
  c->width = c->inner;
  if (size > 1 || c->options.device || all <= 2 * COMPACT_BLOCK_BYTES) PetscFunctionReturn(PETSC_SUCCESS);
  if ((double)c->inner * bytes <= COMPACT_BLOCK_MOST) {
    const PetscInt block = PetscMax(PetscMax((PetscInt)(COMPACT_BLOCK_BYTES / (bytes * (double)c->inner)), 1),
                                    (COMPACT_BLOCK_LINES + c->inner - 1) / c->inner);

    if ((double)block * (double)c->inner * bytes <= COMPACT_BLOCK_MOST) c->block = PetscMin(block, c->block);
  } else {
    const PetscInt width =
      PetscMax((PetscInt)(COMPACT_BLOCK_BYTES / bytes) / COMPACT_BLOCK_LINES, 1) * COMPACT_BLOCK_LINES;

    if (width < c->inner && (double)width * bytes <= COMPACT_BLOCK_MOST) {
      c->width = width;
      c->block = 1;
      PetscCall(PetscMalloc1((size_t)width * (size_t)c->local, &c->buffer));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCompactGetLines(BCRCompact c, PetscInt start, PetscInt local, BCRTriSpec *spec, BCRTriRows *rows)
{
  const PetscInt n = c->band.n, closed = c->s.closed;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(spec, sizeof(*spec)));
  PetscCall(PetscMemzero(rows, sizeof(*rows)));
  spec->inner = c->width;
  spec->n = local;
  spec->outer = c->block;
  spec->rep = c->rep;
  spec->periodic = c->band.periodic;
  spec->rows = rows;
  spec->nfirst = PetscMax(0, PetscMin(local, closed - start));
  spec->nlast = PetscMax(0, PetscMin(local, start + local - (n - closed)));
  rows->row[0] = (PetscReal)c->s.inner.low;
  rows->row[1] = 1;
  rows->row[2] = (PetscReal)c->s.inner.up;
  for (PetscInt i = 0; i < spec->nfirst + spec->nlast; ++i) {
    PetscReal *row = i < spec->nfirst ? rows->first[i] : rows->last[i - spec->nfirst];
    BCRCompactRow r;

    PetscCall(BCRCompactGetRow(&c->s, n, start + (i < spec->nfirst ? i : local - spec->nlast + i - spec->nfirst), &r));
    row[0] = (PetscReal)r.low;
    row[1] = 1;
    row[2] = (PetscReal)r.up;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The left-hand side: near-Toeplitz lines, of which this rank has the rows [start, start + local) */
static PetscErrorCode compact_lines(BCRCompact c)
{
  BCRTriSpec spec;
  BCRTriRows rows;

  PetscFunctionBegin;
  PetscCall(BCRCompactGetLines(c, c->start, c->local, &spec, &rows));
  if (BCR_HAVE_CUDA && c->options.device) PetscCall(BCRCompactFuse(c));
  PetscCall(BCRTriCreate(c->comm, &spec, &c->options, &c->lines));
  if (c->width < c->inner) spec.inner = c->inner % c->width;
  else spec.outer = c->outer % c->block;
  if (spec.inner && spec.outer) PetscCall(BCRTriCreate(c->comm, &spec, &c->options, &c->rest));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Its transpose has one more row of its own at either end: arrays */
static PetscErrorCode compact_lines_transpose(BCRCompact c)
{
  const PetscInt n = c->band.n;
  BCRTriOptions options = c->options;
  PetscReal *low = NULL, *diag = NULL, *up = NULL;
  BCRTriSpec spec;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&spec, sizeof(spec)));
  BCRCallElse(BCRFaultShare(c->comm, PetscMalloc3(c->local, &low, c->local, &diag, c->local, &up), BCR_NO_MEMORY),
              (void)PetscFree3(low, diag, up));
  for (PetscInt j = 0; j < c->local; ++j) {
    BCRCompactRow before, after;

    PetscCall(BCRCompactGetRow(&c->s, n, (c->start + j + n - 1) % n, &before));
    PetscCall(BCRCompactGetRow(&c->s, n, (c->start + j + 1) % n, &after));
    low[j] = (PetscReal)before.up;
    diag[j] = 1;
    up[j] = (PetscReal)after.low;
  }
  spec.inner = c->inner;
  spec.n = c->local;
  spec.outer = c->outer;
  spec.rep = c->rep;
  spec.periodic = c->band.periodic;
  spec.low = low;
  spec.diag = diag;
  spec.up = up;
  options.method = BCR_TRI_AUTO; /* a method for near-Toeplitz lines may be no method for these */
  BCRCallElse(BCRTriCreate(c->comm, &spec, &options, &c->linesT), (void)PetscFree3(low, diag, up));
  PetscCall(PetscFree3(low, diag, up));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode compact_setup(BCRCompact c, MPI_Comm comm, const BCRCompactScheme *s, const BCRCompactSpec *spec,
                                    const BCRTriOptions *options)
{
  PetscFunctionBegin;
  c->comm = comm;
  c->s = *s;
  c->inner = spec->inner;
  c->local = spec->local;
  c->outer = spec->outer;
  c->rep = spec->rep;
  c->options = *options;
  PetscCallMPI(MPI_Scan(&c->local, &c->start, 1, MPIU_INT, MPI_SUM, comm));
  c->start -= c->local;
  PetscCall(BCRFaultShare(comm, BCRCompactGetBand(s, spec->n, spec->periodic, spec->h, &c->band), BCR_NO_MEMORY));
  PetscCall(BCRStencilCreate(comm, &c->band, c->inner, c->local, c->outer, &c->rhs));
  PetscCall(compact_block(c));
  PetscCall(compact_lines(c));
  if (BCR_HAVE_CUDA && options->device && !c->fused)
    PetscCall(BCRDeviceStencilCreate(c->rhs, options->transport, options->stream, &c->drhs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCompactCreate(MPI_Comm comm, const BCRCompactScheme *s, const BCRCompactSpec *spec,
                                const BCRTriOptions *options, BCRCompact *compact)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *compact = NULL;
  BCRCallElse(BCRFaultShare(comm, PetscNew(compact), BCR_NO_MEMORY), (void)PetscFree(*compact));
  ierr = compact_setup(*compact, comm, s, spec, options);
  if (ierr) (void)BCRCompactDestroy(compact);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The transpose's stencil and lines; nothing is left of either after an error. *band: not a band
   yet, destroyed by the caller */
static PetscErrorCode compact_transpose_band(BCRCompact c, BCRBand *band)
{
  PetscFunctionBegin;
  PetscCall(BCRFaultShare(c->comm, BCRBandTranspose(&c->band, band), BCR_NO_MEMORY));
  PetscCall(BCRStencilCreate(c->comm, band, c->inner, c->local, c->outer, &c->rhsT));
  PetscCall(compact_lines_transpose(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCompactMakeTranspose(BCRCompact c)
{
  PetscErrorCode ierr;
  BCRBand band;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&band, sizeof(band)));
  ierr = compact_transpose_band(c, &band);
  PetscCall(BCRBandDestroy(&band));
  BCRCallElse(ierr, (void)BCRStencilDestroy(&c->rhsT));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCompactBegin(BCRCompact c, const PetscReal *f)
{
  PetscFunctionBegin;
  PetscCall(BCRStencilBegin(c->rhs, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lines that are whole on this rank: block by block, so that the right-hand side is still in the
   cache when the lines are solved */
static PetscErrorCode compact_blocks(BCRCompact c, const PetscReal *f, PetscReal *d)
{
  const PetscInt step = c->inner * c->local;

  PetscFunctionBegin;
  PetscCall(BCRStencilWait(c->rhs));
  for (PetscInt o = 0; o < c->outer; o += c->block) {
    const PetscInt to = PetscMin(o + c->block, c->outer);

    PetscCall(BCRStencilInner(c->rhs, f, d, o, to));
    PetscCall(BCRStencilEdges(c->rhs, f, d, o, to));
    PetscCall(BCRTriSolve(to - o == c->block ? c->lines : c->rest, d + (size_t)o * step, d + (size_t)o * step));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode compact_columns(BCRCompact c, const PetscReal *f, PetscReal *d)
{
  PetscFunctionBegin;
  PetscCall(BCRStencilWait(c->rhs));
  for (PetscInt o = 0; o < c->outer; ++o) {
    for (PetscInt i = 0; i < c->inner; i += c->width) {
      const PetscInt n = PetscMin(c->width, c->inner - i);

      PetscCall(BCRStencilColumns(c->rhs, f, o, i, i + n, c->buffer));
      PetscCall(BCRTriSolve(n == c->width ? c->lines : c->rest, c->buffer, c->buffer));
      for (PetscInt j = 0; j < c->local; ++j)
        PetscCall(PetscArraycpy(d + i + (size_t)c->inner * (j + (size_t)c->local * o), c->buffer + j * n, n));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCompactEnd(BCRCompact c, const PetscReal *f, PetscReal *d)
{
  PetscFunctionBegin;
  if (c->width < c->inner || c->block < c->outer) {
    PetscCall((c->width < c->inner ? compact_columns : compact_blocks)(c, f, d));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BCRStencilInner(c->rhs, f, d, 0, c->outer));
  PetscCall(BCRStencilWait(c->rhs));
  PetscCall(BCRStencilEdges(c->rhs, f, d, 0, c->outer));
  PetscCall(BCRTriSolve(c->lines, d, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCompactCancel(BCRCompact c)
{
  PetscFunctionBegin;
  PetscCall(BCRStencilWait(c->rhs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCompactApplyTranspose(BCRCompact c, const PetscReal *d, PetscReal *f)
{
  PetscFunctionBegin;
  if (!c->work)
    PetscCall(BCRFaultShare(c->comm,
                            PetscMalloc1(PetscMax((size_t)c->inner * (size_t)c->local * (size_t)c->outer, 1), &c->work),
                            BCR_NO_MEMORY));
  if (!c->rhsT) PetscCall(BCRCompactMakeTranspose(c));
  PetscCall(BCRTriSolve(c->linesT, d, c->work));
  PetscCall(BCRStencilBegin(c->rhsT, c->work));
  PetscCall(BCRStencilInner(c->rhsT, c->work, f, 0, c->outer));
  PetscCall(BCRStencilWait(c->rhsT));
  PetscCall(BCRStencilEdges(c->rhsT, c->work, f, 0, c->outer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCompactGetInfo(BCRCompact c, BCRCompactInfo *info)
{
  const double unknowns = (double)c->inner * (double)c->local * (double)c->outer;

  PetscFunctionBegin;
  PetscCall(BCRStencilGetInfo(c->rhs, &info->messages, &info->bytes_sent, &info->workspace));
  PetscCall(BCRTriGetInfo(c->lines, &info->lines));
  info->flops = (3. * (double)c->s.half + (c->s.derivative == 2 ? 1 : -1)) * unknowns +
                (c->inner && c->outer
                   ? info->lines.flops * ((double)c->outer / (double)c->block) * ((double)c->inner / (double)c->width)
                   : 0);
  if (c->work) info->workspace += (size_t)unknowns * sizeof(PetscReal);
  if (BCR_HAVE_CUDA && c->options.device) PetscCall(BCRCompactGetInfoDevice(c, info));
  if (c->buffer) info->workspace += (size_t)(c->width * c->local) * sizeof(PetscReal);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCompactDestroy(BCRCompact *compact)
{
  BCRCompact c = *compact;

  PetscFunctionBegin;
  if (!c) PetscFunctionReturn(PETSC_SUCCESS);
  if (BCR_HAVE_CUDA && c->options.device) PetscCall(BCRCompactDestroyDevice(c));
  PetscCall(BCRTriDestroy(&c->lines));
  PetscCall(BCRTriDestroy(&c->rest));
  PetscCall(BCRTriDestroy(&c->linesT));
  PetscCall(BCRStencilDestroy(&c->rhs));
  PetscCall(BCRStencilDestroy(&c->rhsT));
  PetscCall(BCRBandDestroy(&c->band));
  PetscCall(PetscFree(c->work));
  PetscCall(PetscFree(c->buffer));
  PetscCall(PetscFree(*compact));
  PetscFunctionReturn(PETSC_SUCCESS);
}
