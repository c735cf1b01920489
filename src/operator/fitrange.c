#include "fitrange.h"
#include "fit_kernels.h"
#include "../base/agree.h"

void BCRFitRangeAdd(BCRFitRange *r, PetscInt n, const double *x, double f, PetscInt row)
{
  BCRFitLineRange l;

  if (n < 1) return;
  if (r->count == 0) {
    r->lo = PETSC_INFINITY;
    r->hi = -PETSC_INFINITY;
    r->ref = x[0] * f;
  }
  l = BCRFitRangeLine(n, x, r->ref / f);
  if (l.lo * f < r->lo) {
    r->lo = l.lo * f;
    r->lorow = row;
  }
  if (l.hi * f > r->hi) {
    r->hi = l.hi * f;
    r->hirow = row;
  }
  r->sum += l.sum * f;
  r->square += l.square * f * f;
  r->count += (double)n;
}

void BCRFitRangeJoin(BCRFitRange *sum, const BCRFitRange *q)
{
  double e;

  if (q->count == 0) return;
  if (sum->count == 0) {
    *sum = *q;
    return;
  }
  if (q->lo < sum->lo) {
    sum->lo = q->lo;
    sum->lorow = q->lorow;
  }
  if (q->hi > sum->hi) {
    sum->hi = q->hi;
    sum->hirow = q->hirow;
  }
  e = q->ref - sum->ref;
  sum->sum += q->sum + q->count * e;
  sum->square += q->square + e * (2 * q->sum + q->count * e);
  sum->count += q->count;
}

PetscErrorCode BCRFitRangeAgree(MPI_Comm comm, PetscInt n, BCRFitRange r[])
{
  PetscMPIInt size;
  BCRFitRange *all;
  PetscInt i;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  if (size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRFaultShare(comm, PetscMalloc1(n * (PetscInt)size, &all), BCR_NO_MEMORY));
  PetscCallMPI(MPI_Allgather(r, (PetscMPIInt)(n * (PetscInt)sizeof(*r)), MPI_BYTE, all,
                             (PetscMPIInt)(n * (PetscInt)sizeof(*r)), MPI_BYTE, comm));
  for (i = 0; i < n; i++) {
    BCRFitRange sum = {0, 0, 0, 0, 0, 0, 0, 0};

    /* in this order on every rank, so that all get the same numbers */
    for (PetscInt p = 0; p < (PetscInt)size; p++) BCRFitRangeJoin(&sum, &all[i + n * p]);
    sum.lorow = r[i].lorow;
    sum.hirow = r[i].hirow;
    r[i] = sum;
  }
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

double BCRFitRangeMean(const BCRFitRange *r)
{
  return r->lo == r->hi || r->count == 0 ? r->lo : r->ref + r->sum / r->count;
}

double BCRFitRangeDistance(const BCRFitRange *r, double c)
{
  const double m = r->sum / r->count, e = r->ref - c;

  return r->lo == r->hi ? PetscAbs(r->lo - c) : sqrt(PetscMax(0.0, r->square / r->count + e * (2 * m + e)));
}

void BCRFitTotalJoin(BCRFitTotal *sum, const BCRFitTotal *q)
{
  sum->lo = PetscMin(sum->lo, q->lo);
  sum->hi = PetscMax(sum->hi, q->hi);
  sum->excess += q->excess;
  sum->weight += q->weight;
  sum->count += q->count;
}
