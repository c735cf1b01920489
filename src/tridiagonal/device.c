/* One rank's batch of lines on a CUDA device: its method, fields of the host. The methods are in dev*.c. */
#include "../base/petscbcrimpl.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "deviceimpl.h"

static const BCRTriDeviceOps *const methods[] = {
  [BCR_TRI_SCAN] = &BCRTriDeviceScan, [BCR_TRI_CR] = &BCRTriDeviceCR,         [BCR_TRI_PSCHEME] = &BCRTriDevicePScheme,
  [BCR_TRI_DC] = &BCRTriDeviceDC,     [BCR_TRI_THOMAS] = &BCRTriDeviceThomas,
};

PetscErrorCode BCRTriDeviceCreate(const BCRTriSpec *spec, const BCRTriOptions *options, BCRTriDevice *device)
{
  const PetscBool real_single = PetscDefined(USE_REAL_SINGLE) ? PETSC_TRUE : PETSC_FALSE;
  BCRTriDevice d;
  int major, minor, sms;

  PetscFunctionBegin;
  PetscCall(BCRTriCheck(spec));
  PetscCall(PetscNew(&d));
  *device = d;
  d->spec = *spec;
  d->options = *options;
  d->stream = options->stream;
  d->sets = BCRTriSets(spec);
  d->options.method = d->info.method = BCRTriChoose(spec, options->method);
  PetscCheck((size_t)d->options.method < PETSC_STATIC_ARRAY_LENGTH(methods) && methods[d->options.method],
             PETSC_COMM_SELF, PETSC_ERR_SUP, "Method %d for lines", (int)d->options.method);
  d->ops = methods[d->options.method];
  /* mixed: all in double, but for that of dc */
  d->single = real_single || options->precision == BCR_TRI_SINGLE ||
                  (options->precision == BCR_TRI_MIXED && d->options.method == BCR_TRI_DC)
                ? 1
                : 0;
  d->io = d->single && !real_single ? 1 : 0;
  PetscCallBCRCuda(BCRCudaDeviceName(d->info.device, sizeof(d->info.device), &major, &minor, &sms, &d->shared));
  if (spec->inner && spec->outer && spec->n) PetscCall(d->ops->create(d, spec));
  d->info.tables = d->tables.bytes;
  d->info.workspace = d->space.bytes;
  d->spec.rows = NULL;
  d->spec.low = d->spec.diag = d->spec.up = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTriDeviceSolve(BCRTriDevice d, BCRStream stream, const PetscReal *f, PetscReal *u)
{
  PetscFunctionBegin;
  if (d->data) PetscCall(d->ops->solve(d, stream, f, u)); /* else there are no lines */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool BCRTriDeviceWaits(BCRTriDevice d)
{
  return d->data && d->ops->waits ? d->ops->waits(d) : PETSC_FALSE;
}

PetscErrorCode BCRTriDeviceSolveRanks(BCRTriDevice d, const BCRCudaScanRanks *ranks, BCRStream stream,
                                      const PetscReal *f, PetscReal *u)
{
  PetscFunctionBegin;
  PetscCall(d->ops->solve_ranks(d, ranks, stream, f, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTriDeviceSolveHost(BCRTriDevice d, const PetscReal *f, PetscReal *u)
{
  const size_t bytes = (size_t)d->spec.inner * (size_t)d->spec.n * (size_t)d->spec.outer * sizeof(PetscReal);

  PetscFunctionBegin;
  if (!bytes) PetscFunctionReturn(PETSC_SUCCESS);
  if (!d->stage) PetscCall(BCRDeviceArenaGet(&d->staging, bytes, "a copy of a vector of the host", &d->stage));
  PetscCallBCRCuda(BCRCudaPut(d->stage, f, bytes, d->stream));
  PetscCall(BCRTriDeviceSolve(d, d->stream, d->stage, d->stage));
  PetscCallBCRCuda(BCRCudaGet(u, d->stage, bytes, d->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTriDeviceGetInfo(BCRTriDevice device, BCRTriInfo *info)
{
  PetscFunctionBegin;
  *info = device->info;
  info->workspace += device->staging.bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTriDeviceDestroy(BCRTriDevice *device)
{
  BCRTriDevice d = *device;

  PetscFunctionBegin;
  if (!d) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRDeviceArenaFree(&d->tables));
  PetscCall(BCRDeviceArenaFree(&d->space));
  PetscCall(BCRDeviceArenaFree(&d->staging));
  PetscCall(PetscFree(d->data));
  PetscCall(PetscFree(*device));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
