/*
  The passes of fit.c over a matrix whose values are on a CUDA device: nodes' numbers stay there,
  what a pass amounts to comes to the host in parts, one for each block of threads, and the row
  scales' inverses stay for the solver.
*/
#include "fitimpl.h"
#include "devscale.h"

#if defined(PETSCBCR_HAVE_CUDA)
  #include "readdevice.h"
  #include "../backend/cuda/fit.h"
  #include "../base/device.h"
  #include "../backend/cuda/cuda.h"

struct BCRFitDevice {
  BCRStream stream;
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

PetscErrorCode BCRFitDeviceClose(BCRFitData *F)
{
  PetscFunctionBegin;
  (void)BCRCudaFree(F->device->memory);
  PetscCall(PetscFree(F->device->parts));
  PetscCall(PetscFree(F->device));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFitDeviceOpen(BCRFitData *F, BCRFitSums *q)
{
  const BCRRows *A = F->A;
  const size_t field = (size_t)F->nodes * sizeof(double), partbytes = BCR_FIT_BLOCKS * BCR_FIT_PART;
  size_t faces = 0, bytes;
  BCRFitDevice *D;
  BCRCudaRows rows;
  char *place, *planes;
  int *flags, flag[BCR_CUDA_FIT_FLAGS], found = 0, error;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(q, sizeof(*q)));
  for (PetscInt d = 0; d < F->dim; d++)
    for (PetscInt s = 0; s < 2; s++)
      faces += F->op->axis[d].plane[s].present ? (size_t)(2 * BCRPlaneNodes(A, d, s)) * sizeof(PetscReal) : 0;
  faces = (faces + 255) / 256 * 256;
  bytes = partbytes + 256 + faces + (size_t)(2 + 2 * F->dim) * ((field + 255) / 256 * 256);
  PetscCall(PetscNew(&F->device));
  D = F->device;
  if (BCRCudaMalloc(bytes, &D->memory)) { /* no room: the host has */
    PetscCall(PetscFree(F->device));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscMalloc1(partbytes, &D->parts));
  PetscCall(BCRRowsArrays(A, &rows, &D->stream));
  D->fit.dim = (int)F->dim;
  D->fit.single = sizeof(PetscReal) == sizeof(float);
  D->fit.blocks = (int)PetscMax(1, PetscMin((F->nodes + 255) / 256, BCR_FIT_BLOCKS));
  D->rows.c = (int)F->c;
  D->rows.sign = F->sign;
  flags = (int *)(D->memory + partbytes);
  planes = place = D->memory + partbytes + 256;
  for (PetscInt d = 0; d < 3; d++) {
    D->fit.n[d] = (int)F->n[d];
    D->rows.b[d] = (int)F->b[d];
    for (PetscInt s = 0; s < 2; s++) {
      const BCRPlane *pl = &F->op->axis[d].plane[s];
      const size_t plane = d < F->dim && pl->present ? (size_t)BCRPlaneNodes(A, d, s) * sizeof(PetscReal) : 0;

      D->rows.present[d][s] = pl->present ? 1 : 0;
      D->rows.slope[d][s] = (double)pl->slope;
      D->rows.inv[d][s] = planes;
      D->rows.couplings[d][s] = planes + plane;
      planes += 2 * plane;
    }
  }
  place += faces;
  #define FIELD(x) x = (double *)place, place += (field + 255) / 256 * 256
  FIELD(D->fit.D);
  FIELD(D->fit.rest);
  for (PetscInt d = 0; d < F->dim; d++) {
    FIELD(D->fit.C[d]);
    FIELD(D->fit.low[d]);
  }
  #undef FIELD
  (void)BCRFitDeviceFit(F);
  error = BCRCudaZero(flags, 256 + faces, D->stream);
  if (!error) error = BCRCudaFitTake(D->stream, &rows, &D->rows, &D->fit, flags);
  if (!error) error = BCRCudaGet(flag, flags, sizeof(flag), D->stream);
  PetscCallBCRCuda(error);
  for (int k = 0; k < BCR_CUDA_FIT_FLAGS; k++) found |= flag[k] << k;
  if (found & BCR_CUDA_FIT_ODD) {
    PetscCall(BCRFitDeviceClose(F));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt d = 0; d < F->dim; d++) {
    for (PetscInt s = 0; s < 2; s++) {
      BCRPlane *pl = &F->op->axis[d].plane[s];
      const size_t plane = (size_t)BCRPlaneNodes(A, d, s) * sizeof(PetscReal);

      q->couple[d][s] = (PetscBool)((found & BCR_CUDA_FIT_PLANE << (2 * d + s)) != 0);
      if (!pl->present) continue;
      PetscCallBCRCuda(BCRCudaGet(pl->inv, D->rows.inv[d][s], plane, D->stream));
      PetscCallBCRCuda(BCRCudaGet(pl->couplings, D->rows.couplings[d][s], plane, D->stream));
    }
    PetscCall(BCRFitDeviceParts(
      D, BCRCudaFitEnds(D->stream, &D->fit, &D->rows, (int)d, (double(*)[BCR_CUDA_FIT_SUMS])D->memory),
      sizeof(double[BCR_CUDA_FIT_SUMS])));
    for (int b = 0; b < D->fit.blocks; b++) {
      const double *p = (const double *)D->parts + BCR_CUDA_FIT_SUMS * b;

      for (int s = 0; s < 2; s++) {
        for (int k = 0; k < 3; k++) q->link[d][s][k] += p[3 * s + k];
        for (int k = 0; k < 2; k++) q->side[d][s][k] += p[6 + 2 * s + k];
        q->sum[d][s] += p[10 + s];
        q->count[d][s] += (PetscInt)p[12 + s];
      }
      q->wraps[d] += p[14];
    }
  }
  q->total = found & BCR_CUDA_FIT_ANY ? 1 : 0;
  PetscCall(BCRFitDeviceParts(D, BCRCudaFitLeft(D->stream, &D->fit, NULL, (BCRCudaFitRange *)D->memory),
                              sizeof(BCRCudaFitRange)));
  q->left = BCRFitDeviceRange(D, 0, 1);
  PetscCallBCRCuda(BCRCudaFitJoin(D->stream, &D->fit, &D->rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFitDeviceDivide(BCRFitData *F, PetscInt d, PetscInt at, double by)
{
  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaFitDivide(F->device->stream, &F->device->fit, (int)d, (int)at, by));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFitDeviceMeans(BCRFitData *F, const double mean[3], BCRFitRange *scales, BCRFitRange link[3])
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

PetscErrorCode BCRFitDeviceLeft(BCRFitData *F, const double a[3], BCRFitRange *left)
{
  BCRFitDevice *D = F->device;
  const BCRCudaFitModel m = BCRFitDeviceModel(F, a, 0);

  PetscFunctionBegin;
  PetscCall(BCRFitDeviceParts(D, BCRCudaFitLeft(D->stream, BCRFitDeviceFit(F), &m, (BCRCudaFitRange *)D->memory),
                              sizeof(BCRCudaFitRange)));
  *left = BCRFitDeviceRange(D, 0, 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFitDeviceTotal(BCRFitData *F, const double a[3], BCRFitTotal *total)
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

PetscErrorCode BCRFitDeviceNull(BCRFitData *F, double *largest)
{
  BCRFitDevice *D = F->device;

  PetscFunctionBegin;
  PetscCall(
    BCRFitDeviceParts(D, BCRCudaFitNull(D->stream, &D->fit, (BCRCudaFitWorst *)D->memory), sizeof(BCRCudaFitWorst)));
  *largest = 0;
  for (int b = 0; b < D->fit.blocks; b++) *largest = PetscMax(*largest, ((const BCRCudaFitWorst *)D->parts)[b].worst);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFitDeviceDeviation(BCRFitData *F, const double a[3], double shift, double *worst, PetscInt *row,
                                     PetscInt *col)
{
  BCRFitDevice *D = F->device;
  const PetscInt *N = F->A->N, step[3] = {1, N[0], N[0] * N[1]};
  const BCRCudaFitModel m = BCRFitDeviceModel(F, a, shift);

  PetscFunctionBegin;
  PetscCall(BCRFitDeviceParts(D,
                              BCRCudaFitDeviation(D->stream, BCRFitDeviceFit(F), &m, (BCRCudaFitWorst(*)[4])D->memory),
                              4 * sizeof(BCRCudaFitWorst)));
  *worst = 0;
  *row = *col = 0;
  for (int d = 0; d < 4; d++) {
    BCRCudaFitWorst found = {0, 0};
    PetscInt i, line;

    for (int b = 0; b < D->fit.blocks; b++) {
      const BCRCudaFitWorst *p = (const BCRCudaFitWorst *)D->parts + 4 * b + d;

      if (p->worst > found.worst || (p->worst == found.worst && p->where < found.where)) found = *p;
    }
    if (found.worst <= *worst) continue;
    *worst = found.worst;
    i = (PetscInt)(found.where % F->n[0]);
    line = (PetscInt)(found.where / F->n[0] / (d < 3 ? 2 : 1));
    *row = *col = i + F->b[0] + step[1] * (line % F->n[1] + F->b[1]) + step[2] * (line / F->n[1] + F->b[2]);
    if (d == 3) continue;
    if (found.where / F->n[0] % 2) *col = *row - (F->n[d] - 1) * step[d];
    else {
      if (d) *row -= step[d];
      *col = *row + step[d];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFitDeviceScales(BCRFitData *F)
{
  BCRFitDevice *D = F->device;
  double *v;

  PetscFunctionBegin;
  PetscCall(BCRDeviceScaleCreate(F->nodes, &F->op->devscale, &v));
  if (F->op->devscale) {
    PetscCallBCRCuda(BCRCudaFitInverse(D->stream, &D->fit, v));
    PetscCallBCRCuda(BCRCudaSynchronize(D->stream)); /* for readers on any stream */
  } else {
    PetscCall(PetscMalloc1(F->nodes, &F->S));
    PetscCallBCRCuda(BCRCudaGet(F->S, D->fit.low[0], (size_t)F->nodes * sizeof(*F->S), D->stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
