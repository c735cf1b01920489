/* thomas.c on a CUDA device: any lines by stored factors. The kernel is src/backend/cuda/trifactors.cu. */
#include "../base/petscbcrimpl.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "deviceimpl.h"

static PetscErrorCode thomas_create(BCRTriDevice d, const BCRTriSpec *s)
{
  const int ntables = s->periodic ? 5 : 3;
  BCRCudaFactors *F;
  double *table[5] = {NULL, NULL, NULL, NULL, NULL};
  size_t entries;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscNew(&F));
  d->data = F;
  PetscCall(BCRTriThomasRows(s, d->single, &F->nt, &F->nlast));
  entries = (size_t)(F->nt + F->nlast) * (size_t)d->sets;
  F->inner = s->inner;
  F->n = s->n;
  F->outer = s->outer;
  F->rep = (int)s->rep;
  F->sets = d->sets;
  F->perline = s->perline ? 1 : 0;
  F->periodic = s->periodic ? 1 : 0;
  {
    const void **to[5] = {&F->lower, &F->pivotinverse, &F->upper, &F->lastrow, &F->lastcolumn};

    for (int k = 0; k < ntables && !ierr; k++) ierr = PetscMalloc1(entries, &table[k]);
    if (!ierr) ierr = BCRTriThomasTables(s, d->single, F->nt, F->nlast, d->sets, table);
    for (int k = 0; k < ntables; k++) {
      if (!ierr) ierr = BCRTriDevicePutWork(d, entries, table[k], to[k]);
      PetscCall(PetscFree(table[k]));
    }
    PetscCall(ierr);
  }
  d->info.flops = (s->periodic ? 9. : 5.) * s->inner * s->n * s->outer;
  PetscCall(PetscSNPrintf(d->info.what, sizeof(d->info.what),
                          "stored factors, %" PetscInt_FMT " of %" PetscInt_FMT " rows tabled, interleaved",
                          (PetscInt)(F->nt + F->nlast), s->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode thomas_solve(BCRTriDevice d, BCRStream stream, const PetscReal *f, PetscReal *u)
{
  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaFactorsSolve(stream, (const BCRCudaFactors *)d->data, d->single, d->io, f, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const BCRTriDeviceOps BCRTriDeviceThomas = {thomas_create, thomas_solve, NULL, NULL};
#endif
