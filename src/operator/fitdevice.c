/*
  The passes of fits over a matrix whose values are on a CUDA device: nodes' numbers stay there,
  what a pass amounts to comes to the host in parts, one for each block of threads, and the row
  scales' inverses stay for the solver.
*/
#include "fitimpl.h"
#include "devscale.h"

#if defined(PETSCBCR_HAVE_CUDA)
  #include "readdevice.h"
  #include "../backend/cuda/fit.h"
  #include "../base/device.h"

struct BCRFitDevice {
  BCRStream stream;
  int found; /* flags of the pass over the matrix */
  BCRCudaFit fit;
  BCRCudaFitRows rows;
  char *memory; /* all of the device's; the parts first */
  char *parts;  /* as they come to the host */
};

  #define BCR_FIT_BLOCKS 528
  #define BCR_FIT_PART   (3 * sizeof(BCRCudaFitRange)) /* bytes at most */

/* The parts of a pass that has been begun */
static PetscErrorCode BCRFitDeviceParts(BCRFitDevice *D, int error, size_t size)
{
  PetscFunctionBegin;
  if (!error) error = BCRCudaGet(D->parts, D->memory, (size_t)D->fit.blocks * size, D->stream);
  PetscCallBCRCuda(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One of `several` ranges that each part has */
static BCRFitRange BCRFitDeviceRange(const BCRFitDevice *D, int which, int several)
{
  BCRFitRange sum = {0, 0, 0, 0, 0, 0, 0, 0};

  for (int b = 0; b < D->fit.blocks; b++) {
    const BCRCudaFitRange *p = (const BCRCudaFitRange *)D->parts + several * b + which;
    const BCRFitRange q = {p->lo, p->hi, p->ref, p->sum, p->square, p->count, p->lorow, p->hirow}, before = sum;

    BCRFitRangeJoin(&sum, &q);
    if (before.count == 0 || q.count == 0) continue; /* of equal ones the first: parts are not in order */
    if (q.lo == before.lo) sum.lorow = PetscMin(before.lorow, q.lorow);
    if (q.hi == before.hi) sum.hirow = PetscMin(before.hirow, q.hirow);
  }
  return sum;
}

/* What the device needs of F as it is now */
static const BCRCudaFit *BCRFitDeviceFit(BCRFitData *F)
{
  BCRCudaFit *fit = &F->device->fit;

  for (int d = 0; d < 3; d++) {
    fit->wrap[d] = F->wrap[d] ? 1 : 0;
    fit->half[d][0] = F->half[d][0];
    fit->half[d][1] = F->half[d][1];
  }
  fit->S = F->scaled ? (void *)fit->low[0] : NULL;
  return fit;
}

static PetscErrorCode BCRFitDeviceClose(BCRFitData *F)
{
  PetscFunctionBegin;
  (void)BCRCudaFree(F->device->memory);
  PetscCall(PetscFree(F->device->parts));
  PetscCall(PetscFree(F->device));
  PetscFunctionReturn(PETSC_SUCCESS);
}

  #define BCR_FIT_ROUND(bytes) (((bytes) + 255) / 256 * 256)

/* Bytes of a number for each node of a plane at this end, 0 where none is dropped */
static size_t BCRFitDevicePlane(const BCRFitData *F, PetscInt d, PetscInt s)
{
  return d < F->dim && F->op->axis[d].plane[s].present ? (size_t)BCRPlaneNodes(F->A, d, s) * sizeof(PetscReal) : 0;
}

/* What lies where in the device's memory: parts, flags, planes (so many bytes together), numbers of nodes */
static void BCRFitDevicePlace(BCRFitData *F, size_t planes, int **flags)
{
  BCRFitDevice *D = F->device;
  char *place = D->memory + BCR_FIT_BLOCKS * BCR_FIT_PART, *numbers = place + 256 + planes;

  *flags = (int *)place;
  place += 256;
  for (PetscInt d = 0; d < 3; d++) {
    for (PetscInt s = 0; s < 2; s++) {
      const size_t plane = BCRFitDevicePlane(F, d, s);

      D->rows.inv[d][s] = place;
      D->rows.couplings[d][s] = place + plane;
      place += 2 * plane;
    }
  }
  #define FIELD(x) x = (double *)numbers, numbers += BCR_FIT_ROUND((size_t)F->nodes * sizeof(double))
  FIELD(D->fit.D);
  FIELD(D->fit.rest);
  for (PetscInt d = 0; d < F->dim; d++) {
    FIELD(D->fit.C[d]);
    FIELD(D->fit.low[d]);
  }
  #undef FIELD
}

/* The sums over the ends of axis d */
static PetscErrorCode BCRFitDeviceEnds(BCRFitDevice *D, PetscInt d, BCRFitSums *q)
{
  PetscFunctionBegin;
  PetscCall(
    BCRFitDeviceParts(D, BCRCudaFitEnds(D->stream, &D->fit, &D->rows, (int)d, (double(*)[BCR_CUDA_FIT_SUMS])D->memory),
                      sizeof(double[BCR_CUDA_FIT_SUMS])));
  for (int b = 0; b < D->fit.blocks; b++) {
    const double *p = (const double *)D->parts + BCR_CUDA_FIT_SUMS * b;

    for (int s = 0; s < 2; s++) {
      for (int k = 0; k < 3; k++) q->link[d][s][k] += p[3 * s + k];
      for (int k = 0; k < 2; k++) q->side[d][s][k] += p[6 + 2 * s + k];
      q->sum[d][s] += p[10 + s];
      q->count[d][s] += p[12 + s];
    }
    q->wraps[d] += p[14];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRFitDeviceExtract(BCRFitData *F, BCRFitSums *q)
{
  BCRFitDevice *D = F->device;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(q, sizeof(*q)));
  for (PetscInt d = 0; d < F->dim; d++) {
    for (PetscInt s = 0; s < 2; s++) {
      const BCRPlane *pl = &F->op->axis[d].plane[s];
      const size_t plane = BCRFitDevicePlane(F, d, s);

      q->couple[d][s] = D->found & BCR_CUDA_FIT_PLANE << (2 * d + s) ? 1 : 0;
      if (!pl->present) continue;
      PetscCallBCRCuda(BCRCudaGet(pl->inv, D->rows.inv[d][s], plane, D->stream));
      PetscCallBCRCuda(BCRCudaGet(pl->couplings, D->rows.couplings[d][s], plane, D->stream));
    }
    PetscCall(BCRFitDeviceEnds(D, d, q));
  }
  q->total = D->found & BCR_CUDA_FIT_ANY ? 1 : 0;
  PetscCall(BCRFitDeviceParts(D, BCRCudaFitLeft(D->stream, &D->fit, NULL, (BCRCudaFitRange *)D->memory),
                              sizeof(BCRCudaFitRange)));
  q->left = BCRFitDeviceRange(D, 0, 1);
  PetscCallBCRCuda(BCRCudaFitJoin(D->stream, &D->fit, &D->rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRFitDeviceDivide(BCRFitData *F, PetscInt d, PetscInt at, double by)
{
  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaFitDivide(F->device->stream, &F->device->fit, (int)d, (int)at, by));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRFitDeviceMeans(BCRFitData *F, const double mean[3], BCRFitRange *scales, BCRFitRange link[3])
{
  BCRFitDevice *D = F->device;
  const BCRCudaFit *fit = BCRFitDeviceFit(F);

  PetscFunctionBegin;
  if (F->scaled) {
    PetscCall(BCRFitDeviceParts(D, BCRCudaFitScales(D->stream, fit, mean, (BCRCudaFitRange *)D->memory),
                                sizeof(BCRCudaFitRange)));
    *scales = BCRFitDeviceRange(D, 0, 1);
  }
  PetscCall(BCRFitDeviceParts(D, BCRCudaFitLinks(D->stream, fit, (BCRCudaFitRange(*)[3])D->memory),
                              3 * sizeof(BCRCudaFitRange)));
  for (int d = 0; d < 3; d++) link[d] = BCRFitDeviceRange(D, d, 3);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Diagonals of T as BCRFitDiagonal() has them */
static BCRCudaFitModel BCRFitDeviceModel(const BCRFitData *F, const double a[3], double shift)
{
  BCRCudaFitModel m = {
    {0,      0,      0     },
    {{0, 0}, {0, 0}, {0, 0}},
    {{1, 1}, {1, 1}, {1, 1}},
    shift
  };

  for (PetscInt d = 0; d < F->dim; d++) {
    if (F->n[d] < 2) continue;
    m.a[d] = a[d];
    for (PetscInt s = 0; s < 2; s++) {
      const BCREndRule rule = BCREndGetRule(F->op->axis[d].end[s]);

      m.edge[d][s] = rule.diagonal * a[d];
      m.null[d][s] = rule.weight;
    }
  }
  return m;
}

static PetscErrorCode BCRFitDeviceLeft(BCRFitData *F, const double a[3], BCRFitRange *left)
{
  BCRFitDevice *D = F->device;
  const BCRCudaFitModel m = BCRFitDeviceModel(F, a, 0);

  PetscFunctionBegin;
  PetscCall(BCRFitDeviceParts(D, BCRCudaFitLeft(D->stream, BCRFitDeviceFit(F), &m, (BCRCudaFitRange *)D->memory),
                              sizeof(BCRCudaFitRange)));
  *left = BCRFitDeviceRange(D, 0, 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRFitDeviceTotal(BCRFitData *F, const double a[3], BCRFitTotal *total)
{
  BCRFitDevice *D = F->device;
  const BCRCudaFitModel m = BCRFitDeviceModel(F, a, 0);

  PetscFunctionBegin;
  PetscCall(BCRFitDeviceParts(D, BCRCudaFitTotal(D->stream, BCRFitDeviceFit(F), &m, (BCRCudaFitRange *)D->memory),
                              sizeof(BCRCudaFitRange)));
  for (int b = 0; b < D->fit.blocks; b++) {
    const BCRCudaFitRange *p = (const BCRCudaFitRange *)D->parts + b;

    total->excess += p->sum;
    total->weight += p->square;
    total->lo = PetscMin(total->lo, p->lo);
    total->hi = PetscMax(total->hi, p->hi);
    total->count += p->count;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest |row sum| / |diagonal| says */
static PetscErrorCode BCRFitDeviceNull(BCRFitData *F, const BCRFitResult *r, PetscBool *null)
{
  BCRFitDevice *D = F->device;
  double largest = 0;

  PetscFunctionBegin;
  (void)r;
  PetscCall(
    BCRFitDeviceParts(D, BCRCudaFitNull(D->stream, &D->fit, (BCRCudaFitWorst *)D->memory), sizeof(BCRCudaFitWorst)));
  for (int b = 0; b < D->fit.blocks; b++) largest = PetscMax(largest, ((const BCRCudaFitWorst *)D->parts)[b].worst);
  *null = (PetscBool)(largest <= BCR_NULL_TOL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRFitDeviceDeviation(BCRFitData *F, const BCRFitResult *r, BCRFitWorst *worst)
{
  BCRFitDevice *D = F->device;
  const PetscInt *N = F->A->N, step[3] = {1, N[0], N[0] * N[1]};
  const BCRCudaFitModel m = BCRFitDeviceModel(F, r->a, r->shift);

  PetscFunctionBegin;
  PetscCall(BCRFitDeviceParts(D,
                              BCRCudaFitDeviation(D->stream, BCRFitDeviceFit(F), &m, (BCRCudaFitWorst(*)[4])D->memory),
                              4 * sizeof(BCRCudaFitWorst)));
  for (int d = 0; d < 4; d++) { /* links along each axis, diagonals */
    BCRCudaFitWorst found = {0, 0};
    PetscInt i, line;

    for (int b = 0; b < D->fit.blocks; b++) {
      const BCRCudaFitWorst *p = (const BCRCudaFitWorst *)D->parts + 4 * b + d;

      if (p->worst > found.worst || (p->worst == found.worst && p->where < found.where)) found = *p;
    }
    if (found.worst <= worst->worst) continue;
    worst->worst = found.worst;
    i = (PetscInt)(found.where % F->n[0]);
    line = (PetscInt)(found.where / F->n[0] / (d < 3 ? 2 : 1));
    worst->row = i + F->b[0] + step[1] * (line % F->n[1] + F->b[1]) + step[2] * (line / F->n[1] + F->b[2]);
    worst->col = worst->row;
    if (d == 3) continue;
    if (found.where / F->n[0] % 2) worst->col = worst->row - (F->n[d] - 1) * step[d];
    else {
      if (d) worst->row -= step[d];
      worst->col = worst->row + step[d];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* F->op->devscale from S; where the device has no room, the operator's rowscale */
static PetscErrorCode BCRFitDeviceScales(BCRFitData *F)
{
  BCRFitDevice *D = F->device;
  double *v;

  PetscFunctionBegin;
  if (!F->scaled) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRDeviceScaleCreate(F->nodes, &F->op->devscale, &v));
  if (F->op->devscale) {
    PetscCallBCRCuda(BCRCudaFitInverse(D->stream, &D->fit, v));
    PetscCallBCRCuda(BCRCudaSynchronize(D->stream)); /* for readers on any stream */
  } else {
    PetscCall(PetscMalloc1(F->nodes, &F->op->rowscale));
    PetscCallBCRCuda(
      BCRCudaGet(F->op->rowscale, D->fit.low[0], (size_t)F->nodes * sizeof(*F->op->rowscale), D->stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFitDeviceOpen(BCRFitData *F)
{
  static const BCRFitPasses passes = {BCRFitDeviceExtract,   BCRFitDeviceDivide, BCRFitDeviceMeans,
                                      BCRFitDeviceLeft,      BCRFitDeviceTotal,  BCRFitDeviceNull,
                                      BCRFitDeviceDeviation, BCRFitDeviceScales, BCRFitDeviceClose};
  size_t planes = 0, bytes;
  BCRFitDevice *D;
  BCRCudaRows rows;
  int *flags, flag[BCR_CUDA_FIT_FLAGS], error;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 6; d++) planes += 2 * BCRFitDevicePlane(F, d / 2, d % 2);
  planes = BCR_FIT_ROUND(planes);
  bytes = BCR_FIT_BLOCKS * BCR_FIT_PART + 256 + planes +
          (size_t)(2 + 2 * F->dim) * BCR_FIT_ROUND((size_t)F->nodes * sizeof(double));
  PetscCall(PetscNew(&F->device));
  D = F->device;
  if (BCRCudaMalloc(bytes, &D->memory)) { /* no room: the host has */
    PetscCall(PetscFree(F->device));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  F->passes = &passes;
  PetscCall(PetscMalloc1(BCR_FIT_BLOCKS * BCR_FIT_PART, &D->parts));
  PetscCall(BCRRowsArrays(F->A, &rows, &D->stream));
  BCRFitDevicePlace(F, planes, &flags);
  D->fit.dim = (int)F->dim;
  D->fit.single = sizeof(PetscReal) == sizeof(float);
  D->fit.blocks = (int)PetscMax(1, PetscMin((F->nodes + 255) / 256, BCR_FIT_BLOCKS));
  D->rows.c = (int)F->c;
  D->rows.sign = F->sign;
  for (PetscInt d = 0; d < 3; d++) {
    D->fit.n[d] = (int)F->n[d];
    D->rows.b[d] = (int)F->b[d];
    for (PetscInt s = 0; s < 2; s++) {
      D->rows.present[d][s] = F->op->axis[d].plane[s].present ? 1 : 0;
      D->rows.slope[d][s] = (double)F->op->axis[d].plane[s].slope;
    }
  }
  (void)BCRFitDeviceFit(F);
  error = BCRCudaZero(flags, 256 + planes, D->stream);
  if (!error) error = BCRCudaFitTake(D->stream, &rows, &D->rows, &D->fit, flags);
  if (!error) error = BCRCudaGet(flag, flags, sizeof(flag), D->stream);
  PetscCallBCRCuda(error);
  for (int k = 0; k < BCR_CUDA_FIT_FLAGS; k++) D->found |= flag[k] << k;
  if (D->found & BCR_CUDA_FIT_ODD) {
    F->passes = NULL;
    PetscCall(BCRFitDeviceClose(F));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

#else
PetscErrorCode BCRFitDeviceOpen(BCRFitData *F)
{
  (void)F;
  return PETSC_SUCCESS;
}
#endif
