/* cr.c on a CUDA device: near-Toeplitz lines by cyclic reduction. The kernels are src/backend/cuda/tricr.cu. */
#include "../base/petscbcrimpl.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "deviceimpl.h"
  #include <math.h>

  /* shared memory of a block that the CUDA runtime keeps for itself */
  #define RUNTIME_SHARED 1024

enum { /* options->memory */
  MEMORY_AUTO,
  MEMORY_SHARED,
  MEMORY_GLOBAL
};

typedef struct {
  BCRCudaCR cr;
  int global; /* lines in global memory */
} CR;

static PetscErrorCode cr_put(BCRTriDevice d, const BCRTriSpec *s, BCRTriCRTables *t, BCRCudaCR *c)
{
  const size_t sets = (size_t)d->sets;

  PetscFunctionBegin;
  for (PetscInt e = 0; e < t->entries; e++) /* are reciprocal diagonals in reach of the work type? */
    for (PetscInt l = 0; l < d->sets; l++)
      PetscCall(BCRTriRange(s, d->single, l, 0, HUGE_VAL, &t->table[(size_t)(5 * e + 4) * sets + (size_t)l]));
  PetscCall(BCRTriDevicePut(d, (size_t)t->entries * 5 * sets, t->table, &c->table));
  if (s->periodic) {
    PetscCall(BCRTriDevicePut(d, 3 * sets, t->border, &c->border));
    if (s->n > 1) PetscCall(BCRTriDevicePut(d, (size_t)(s->n - 1) * sets, t->z, &c->z));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cr_create(BCRTriDevice d, const BCRTriSpec *s)
{
  CR *data;
  BCRCudaCR *c;
  BCRTriCRTables t;
  PetscBool fits;

  PetscFunctionBegin;
  PetscCall(BCRTriNeedDominant(s, "cr"));
  PetscCall(PetscNew(&data));
  d->data = data;
  c = &data->cr;
  PetscCall(BCRTriCRMake(s, d->sets, &t));
  c->inner = s->inner;
  c->n = s->n;
  c->outer = s->outer;
  c->sets = d->sets;
  c->rep = (int)s->rep;
  c->perline = s->perline ? 1 : 0;
  c->periodic = s->periodic ? 1 : 0;
  c->levels = (int)t.levels;
  c->shared = d->shared - RUNTIME_SHARED;
  for (PetscInt r = 0; r < PetscMin(t.levels, BCR_CUDA_CR_LEVELS); r++) {
    c->level[r].rows = t.level[r][0];
    c->level[r].first = t.level[r][1];
    c->level[r].last = t.level[r][2];
    c->level[r].offset = t.level[r][3];
  }
  BCRCallElse(cr_put(d, s, &t, c), (void)PetscFree3(t.table, t.border, t.z));
  PetscCall(PetscFree3(t.table, t.border, t.z));
  PetscCheck(t.levels <= BCR_CUDA_CR_LEVELS, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "Method cr on a CUDA device has lines of fewer than 2^%d rows: use method scan", BCR_CUDA_CR_LEVELS);
  fits = BCRCudaCRShared(c, d->single) ? PETSC_TRUE : PETSC_FALSE;
  PetscCheck(d->options.memory != MEMORY_SHARED || fits, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "Method cr: a line of %" PetscInt_FMT
             " rows does not fit into the shared memory of a block (%d bytes): use -pc_neato_memory global or auto",
             s->n, c->shared);
  data->global = d->options.memory == MEMORY_GLOBAL || !fits;
  d->info.flops = (s->periodic ? 11. : 9.) * s->inner * s->n * s->outer;
  PetscCall(PetscSNPrintf(d->info.what, sizeof(d->info.what),
                          "cyclic reduction in %s memory, %" PetscInt_FMT " levels, %" PetscInt_FMT " numbers tabled",
                          data->global ? "global" : "shared", t.levels, 5 * t.entries));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cr_solve(BCRTriDevice d, BCRStream stream, const PetscReal *f, PetscReal *u)
{
  const CR *data = (const CR *)d->data;

  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaCRSolve(stream, &data->cr, data->global, d->single, d->io, f, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const BCRTriDeviceOps BCRTriDeviceCR = {cr_create, cr_solve, NULL, NULL};
#endif
