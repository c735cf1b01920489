/* Lines as two recurrences by parts on a CUDA device: the methods pscheme and dc with the tables that tripscheme.c and
   tridc.c make. The kernels are src/backend/cuda/triparts.cu. */
#include "../base/petscbcrimpl.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "deviceimpl.h"
  #include "parts.h"

typedef struct {
  BCRCudaParts parts;
  BCRCudaEnds ends;
  PetscBool correct; /* ends to put right */
  int small;         /* the propagation in float, too */
  double *carry, *w; /* of the parts, [lines][parts]; of the ends, [lines][BCR_CUDA_ENDS + 1] */
} Parts;

static PetscErrorCode parts_put(BCRTriDevice d, const BCRTriSpec *s, const BCRPartsTables *T, BCRCudaParts *p)
{
  const size_t products = (size_t)T->parts * (size_t)d->sets;

  PetscFunctionBegin;
  p->inner = s->inner;
  p->n = s->n;
  p->outer = s->outer;
  p->sets = d->sets;
  p->rep = (int)s->rep;
  p->perline = s->perline ? 1 : 0;
  p->rows = T->rows;
  p->parts = T->parts;
  p->m = T->m;
  PetscCall(BCRTriDevicePutWork(d, T->entries, T->table[0], &p->sf));
  PetscCall(BCRTriDevicePutWork(d, T->entries, T->table[1], &p->sb));
  PetscCall(BCRTriDevicePutWork(d, T->entries, T->table[2], &p->cb));
  PetscCall(BCRTriDevicePut(d, products, T->product[0], &p->Sf));
  PetscCall(BCRTriDevicePut(d, products, T->product[1], &p->Sb));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode parts_put_ends(BCRTriDevice d, const BCRTriSpec *s, const BCRPartsTables *T, BCRCudaEnds *e)
{
  PetscFunctionBegin;
  e->inner = s->inner;
  e->n = s->n;
  e->outer = s->outer;
  e->sets = d->sets;
  e->rep = (int)s->rep;
  e->perline = s->perline ? 1 : 0;
  e->periodic = s->periodic ? 1 : 0;
  e->rows = T->rows;
  e->count = (int)T->count;
  e->columns = (int)T->columns;
  PetscCall(BCRTriDevicePut(d, T->nnumbers * (size_t)d->sets, T->numbers, &e->numbers));
  for (PetscInt k = 0; k < T->columns; k++) {
    const size_t length = (size_t)(T->to[k] - T->from[k]) * (size_t)d->sets;

    e->row[k] = T->row[k];
    e->from[k] = T->from[k];
    e->to[k] = T->to[k];
    if (length) PetscCall(BCRTriDevicePutWork(d, length, T->V[k], &e->V[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tables to the device, and workspace there */
static PetscErrorCode parts_copy(BCRTriDevice d, const BCRTriSpec *s, const BCRPartsTables *T, Parts *data)
{
  const size_t lines = (size_t)s->inner * (size_t)s->outer;

  PetscFunctionBegin;
  PetscCheck(BCR_PARTS_ENDS <= BCR_CUDA_ENDS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "More ends than the kernels take");
  PetscCall(parts_put(d, s, T, &data->parts));
  data->correct = T->ends;
  if (T->ends) PetscCall(parts_put_ends(d, s, T, &data->ends));
  PetscCall(
    BCRDeviceArenaGet(&d->space, lines * (size_t)T->parts * sizeof(double), "the carries of parts", &data->carry));
  if (T->ends)
    PetscCall(
      BCRDeviceArenaGet(&d->space, lines * (BCR_CUDA_ENDS + 1) * sizeof(double), "the ends of lines", &data->w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* make: the method's tables. T: as they were, without arrays */
static PetscErrorCode parts_create(BCRTriDevice d, const BCRTriSpec *s,
                                   PetscErrorCode (*make)(const BCRTriSpec *, const BCRTriOptions *, int,
                                                          BCRPartsTables *),
                                   BCRPartsTables *T)
{
  Parts *data;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscNew(&data));
  d->data = data;
  PetscCall(PetscMemzero(T, sizeof(*T)));
  ierr = make(s, &d->options, d->single, T);
  if (!ierr) ierr = parts_copy(d, s, T, data);
  PetscCall(BCRPartsTablesDestroy(T));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode pscheme_create(BCRTriDevice d, const BCRTriSpec *s)
{
  BCRPartsTables T;
  BCRCudaParts *p;

  PetscFunctionBegin;
  PetscCall(parts_create(d, s, BCRTriPSchemeTables, &T));
  p = &((Parts *)d->data)->parts;
  p->plain = d->options.variant == 1;
  d->info.flops = (s->periodic ? 11. : 9.) * s->inner * s->n * s->outer;
  PetscCall(PetscSNPrintf(d->info.what, sizeof(d->info.what),
                          "%s array, %" PetscInt_FMT " parts of %" PetscInt_FMT " rows%s",
                          p->plain ? "plain" : "rearranged", T.parts, T.m, T.grows ? ", in order (growth)" : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode dc_create(BCRTriDevice d, const BCRTriSpec *s)
{
  const PetscBool mixed = d->options.precision == BCR_TRI_MIXED ? PETSC_TRUE : PETSC_FALSE;
  BCRPartsTables T;
  Parts *data;

  PetscFunctionBegin;
  PetscCall(parts_create(d, s, BCRTriDCTables, &T));
  data = (Parts *)d->data;
  data->parts.constant = 1;
  data->small = d->single && !mixed;
  d->info.flops = ((T.parts == 1 ? 4. : 8.) + (data->correct ? 2. : 0.)) * s->inner * s->n * s->outer;
  PetscCall(PetscSNPrintf(d->info.what, sizeof(d->info.what), "A%d%s, array of %" PetscInt_FMT " x %" PetscInt_FMT,
                          d->options.variant == 1 ? 1 : 2, mixed ? "SD" : (d->single ? "S" : "D"), T.m, T.parts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode parts_solve(BCRTriDevice d, BCRStream stream, const PetscReal *f, PetscReal *u)
{
  const Parts *data = (const Parts *)d->data;

  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaPartsSolve(stream, &data->parts, d->single, d->io, data->small, f, u, data->carry));
  /* the parts have left the last row of a periodic line alone */
  if (data->correct) PetscCallBCRCuda(BCRCudaEndsSolve(stream, &data->ends, d->single, d->io, f, u, data->w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const BCRTriDeviceOps BCRTriDevicePScheme = {pscheme_create, parts_solve, NULL, NULL};
const BCRTriDeviceOps BCRTriDeviceDC = {dc_create, parts_solve, NULL, NULL};
#endif
