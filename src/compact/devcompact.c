/* compact.c on CUDA devices */
#include "../base/petscbcrimpl.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "compactimpl.h"
  #include "../tridiagonal/triimpl.h"

static void compact_pass_rows(const BCRBand *band, PetscInt from, PetscInt rows, BCRCudaCompactRow *to)
{
  for (PetscInt e = 0; e < rows; ++e) {
    BCRBandRow r;

    (void)BCRBandGetRow(band, from + e, &r);
    to[e].start = (int)r.start;
    to[e].points = (int)r.points;
    for (PetscInt k = 0; k < r.points; ++k) to[e].c[k] = r.c[k];
  }
}

PetscErrorCode BCRCompactFuse(BCRCompact c)
{
  const BCRTriOptions *options = &c->options;
  const PetscInt n = c->local, N = c->band.n, ends = PetscMax(c->s.half, c->s.closed);
  BCRCudaCompact *p = &c->pass;
  PetscMPIInt size, mine, all;
  BCRTriSpec spec;
  BCRTriRows rows;
  BCRTriScanLine line;
  double reach;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(c->comm, &size));
  if (N < 2 * BCR_CUDA_COMPACT_WIDTH || ends > BCR_CUDA_COMPACT_ENDS ||
      (options->method != BCR_TRI_AUTO && options->method != BCR_TRI_SCAN) || options->precision != BCR_TRI_DOUBLE)
    PetscFunctionReturn(PETSC_SUCCESS);
  if (size > 1 && (!options->transport || options->coupling == BCR_TRI_COUPLING_REDUCED))
    PetscFunctionReturn(PETSC_SUCCESS);
  p->inner = c->inner;
  p->n = n;
  p->outer = c->outer;
  p->single = sizeof(PetscReal) == sizeof(float) ? 1 : 0;
  p->half = (int)c->s.half;
  p->sign = (int)c->band.sign;
  p->periodic = c->band.periodic ? 1 : 0;
  p->h = p->t = (int)ends;
  for (PetscInt k = 0; k <= c->s.half; ++k) p->c[k] = c->band.inner.c[c->s.half + k];
  compact_pass_rows(&c->band, 0, ends, p->first);
  compact_pass_rows(&c->band, N - ends, ends, p->last);
  for (PetscInt e = 0; e < ends; ++e) p->last[e].start -= (int)(N - n);
  PetscCall(BCRCompactGetLines(c, 0, N, &spec, &rows));
  PetscCall(BCRTriScanSetLine(&spec, p->single, 0, ends, ends, &line));
  p->root = line.alpha;
  p->gamma = line.gamma;
  for (PetscInt e = 0; e < 2 * ends * (2 * ends + 2); ++e) p->G[e] = line.G[e];
  reach = BCRTriScanDecay(line.alpha, p->single);
  p->reach = (int)PetscMin(reach, 2. * BCR_CUDA_COMPACT_REACH);
  mine = size == 1 || n >= 2 * (p->reach + BCR_CUDA_COMPACT_WIDTH) ? 1 : 0;
  PetscCallMPI(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, c->comm));
  if (line.alpha != line.beta || reach > BCR_CUDA_COMPACT_REACH || !all) PetscFunctionReturn(PETSC_SUCCESS);
  c->fused = PETSC_TRUE;
  if (size > 1)
    PetscCall(BCRDevicePassCreate(c->comm, c->band.periodic, p, options->transport, options->stream, &c->ranks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCompactBeginDevice(BCRCompact c, void *stream, const PetscReal *f)
{
  PetscFunctionBegin;
  c->begun = PETSC_TRUE;
  if (c->ranks) PetscCall(BCRDevicePassBegin(c->ranks, stream, f));
  if (c->fused) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRDeviceStencilPack(c->drhs, stream, f));
  PetscCall(BCRDeviceStencilExchange(c->drhs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCompactCancelDevice(BCRCompact c)
{
  PetscFunctionBegin;
  c->begun = PETSC_FALSE; /* the messages are ordered on their stream */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCompactEndDevice(BCRCompact c, void *stream, const PetscReal *f, PetscReal *d)
{
  const PetscBool begun = c->begun;

  PetscFunctionBegin;
  c->begun = PETSC_FALSE;
  if (c->fused) {
    if (c->ranks && !begun) PetscCall(BCRDevicePassBegin(c->ranks, stream, f));
    if (c->ranks) PetscCall(BCRDevicePassEnd(c->ranks, stream, f, d));
    else PetscCallBCRCuda(BCRCudaCompactSolve(stream, &c->pass, f, d, NULL));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!begun) PetscCall(BCRDeviceStencilPack(c->drhs, stream, f));
  PetscCall(BCRDeviceStencilInner(c->drhs, stream, f, d));
  if (!begun) PetscCall(BCRDeviceStencilExchange(c->drhs));
  PetscCall(BCRDeviceStencilEdges(c->drhs, stream, f, d));
  PetscCall(BCRTriSolveDevice(c->lines, stream, d, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCompactApplyTransposeDevice(BCRCompact c, void *stream, const PetscReal *d, PetscReal *f)
{
  PetscFunctionBegin;
  if (!c->rhsT) {
    PetscCall(BCRCompactMakeTranspose(c));
    PetscCall(BCRDeviceStencilCreate(c->rhsT, c->options.transport, c->options.stream, &c->drhsT));
    PetscCall(BCRDeviceArenaGet(&c->space, (size_t)c->inner * (size_t)c->local * (size_t)c->outer * sizeof(PetscReal),
                                "a transposed derivative", &c->dwork));
  }
  PetscCall(BCRTriSolveDevice(c->linesT, stream, d, c->dwork));
  PetscCall(BCRDeviceStencilPack(c->drhsT, stream, c->dwork));
  PetscCall(BCRDeviceStencilInner(c->drhsT, stream, c->dwork, f));
  PetscCall(BCRDeviceStencilExchange(c->drhsT));
  PetscCall(BCRDeviceStencilEdges(c->drhsT, stream, c->dwork, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCompactGetPass(BCRCompact c, const BCRCudaCompact **pass)
{
  PetscFunctionBegin;
  *pass = c->fused && !c->ranks ? &c->pass : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCompactStage(BCRCompact c, void *stream, const PetscReal *f, PetscReal *d, PetscReal *stage[2])
{
  const size_t bytes = (size_t)c->inner * (size_t)c->local * (size_t)c->outer * sizeof(PetscReal);

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) {
    if (!c->stage[i]) PetscCall(BCRDeviceArenaGet(&c->space, bytes, "a copy of a vector of the host", &c->stage[i]));
    stage[i] = c->stage[i];
  }
  if (f && bytes) PetscCallBCRCuda(BCRCudaPut(stage[0], f, bytes, stream));
  if (d && bytes) PetscCallBCRCuda(BCRCudaGet(d, stage[1], bytes, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCompactGetInfoDevice(BCRCompact c, BCRCompactInfo *info)
{
  PetscFunctionBegin;
  info->workspace += c->space.bytes;
  if (c->ranks) {
    size_t room;

    PetscCall(BCRDevicePassGetInfo(c->ranks, &info->messages, &info->bytes_sent, &room));
    info->workspace += room;
    info->lines.bytes_sent = 0; /* they go with these */
  }
  if (c->fused)
    PetscCall(PetscSNPrintf(info->lines.what, sizeof(info->lines.what),
                            "with their right-hand side in one pass, ends reach %d rows", c->pass.reach));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCompactDestroyDevice(BCRCompact c)
{
  PetscFunctionBegin;
  PetscCall(BCRDeviceStencilDestroy(&c->drhs));
  PetscCall(BCRDevicePassDestroy(&c->ranks));
  PetscCall(BCRDeviceStencilDestroy(&c->drhsT));
  PetscCall(BCRDeviceArenaFree(&c->space));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
