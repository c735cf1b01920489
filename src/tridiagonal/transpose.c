#include "transpose.h"

/* Systems are shared out by multiples of so many, a cache line of doubles, so that loops over them run in whole
   vectors. Not measured apart */
#define BCR_SHARE 8

void BCRTransposeShare(PetscInt total, PetscMPIInt size, PetscMPIInt p, PetscInt *nsys, PetscInt *sysoff)
{
  const PetscInt64 units = ((PetscInt64)total + BCR_SHARE - 1) / BCR_SHARE;
  const PetscInt64 first = PetscMin(BCR_SHARE * (units * p / size), total),
                   last = PetscMin(BCR_SHARE * (units * (p + 1) / size), total);

  *nsys = (PetscInt)(last - first);
  *sysoff = (PetscInt)first;
}

PetscErrorCode BCRTransposeCreate(MPI_Comm comm, PetscInt total, const PetscInt *rows, const PetscInt *rowoff,
                                  PetscInt nrows, PetscInt nvec, BCRTranspose *t)
{
  PetscMPIInt n[2];

  PetscFunctionBegin;
  PetscCall(PetscMemzero(t, sizeof(*t)));
  t->comm = comm;
  PetscCallMPI(MPI_Comm_rank(comm, &t->rank));
  PetscCallMPI(MPI_Comm_size(comm, &t->size));
  t->total = total;
  t->nvec = nvec;
  t->nrows = nrows;
  PetscCall(PetscMalloc6(t->size, &t->nsys, t->size, &t->sysoff, t->size, &t->rows, t->size, &t->rowoff, t->size,
                         &t->side, t->size, &t->share));
  for (PetscMPIInt p = 0; p < t->size; p++) {
    PetscInt ns, off;

    BCRTransposeShare(total, t->size, p, &ns, &off);
    PetscCall(PetscMPIIntCast(ns, &t->nsys[p]));
    PetscCall(PetscMPIIntCast(off, &t->sysoff[p]));
    PetscCall(PetscMPIIntCast(rows[p], &t->rows[p]));
    PetscCall(PetscMPIIntCast(rowoff[p], &t->rowoff[p]));
  }
  t->mine = rows[t->rank];
  t->ns = t->nsys[t->rank];
  /* counts and offsets of the messages are in whole rows and systems: they fit 32 bits where their bytes do not */
  PetscCheck((PetscInt64)t->mine * nvec <= PETSC_MPI_INT_MAX && (PetscInt64)t->ns * nvec <= PETSC_MPI_INT_MAX,
             PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "%" PetscInt_FMT " rows or %" PetscInt_FMT " systems of %" PetscInt_FMT
             " values: too many for MPI on one rank",
             t->mine, t->ns, nvec);
  n[0] = (PetscMPIInt)(t->mine * nvec);
  n[1] = (PetscMPIInt)(t->ns * nvec);
  for (PetscMPIInt p = 0; p < t->size; p++) {
    t->side[p] = p != t->rank && t->mine ? t->nsys[p] : 0;
    t->share[p] = p != t->rank && t->ns ? t->rows[p] : 0;
    t->bytes[0] += (size_t)t->side[p] * (size_t)n[0] * sizeof(double);
    t->bytes[1] += (size_t)t->share[p] * (size_t)n[1] * sizeof(double);
    t->messages[0] += t->side[p] > 0;
    t->messages[1] += t->share[p] > 0;
  }
  if (t->size > 1) {
    t->typed = PETSC_TRUE;
    for (int k = 0; k < 2; k++) {
      PetscCallMPI(MPI_Type_contiguous(n[k], MPI_DOUBLE, &t->types[k]));
      PetscCallMPI(MPI_Type_commit(&t->types[k]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTransposeBegin(const BCRTranspose *t, PetscBool back, double *here, double *there,
                                 MPI_Request *request)
{
  const size_t nself = (size_t)t->mine * (size_t)t->ns * (size_t)t->nvec;
  double *h = here + (size_t)t->sysoff[t->rank] * (size_t)t->mine * (size_t)t->nvec,
         *o = there + (size_t)t->rowoff[t->rank] * (size_t)t->ns * (size_t)t->nvec;

  PetscFunctionBegin;
  *request = MPI_REQUEST_NULL;
  if (t->size > 1) {
    if (back)
      PetscCallMPI(MPI_Ialltoallv(there, t->share, t->rowoff, t->types[1], here, t->side, t->sysoff, t->types[0],
                                  t->comm, request));
    else
      PetscCallMPI(MPI_Ialltoallv(here, t->side, t->sysoff, t->types[0], there, t->share, t->rowoff, t->types[1],
                                  t->comm, request));
  }
  if (nself) PetscCall(PetscArraycpy(back ? h : o, back ? o : h, nself)); /* a message to itself */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline void BCRCopy(size_t nvec, const double *restrict a, double *restrict b)
{
  for (size_t v = 0; v < nvec; v++) b[v] = a[v];
}

void BCRTransposePack(const BCRTranspose *t, PetscInt first, PetscInt rows, PetscInt stride, const PetscInt *index,
                      const double *g, double *here)
{
  const size_t nvec = (size_t)t->nvec;

  for (PetscMPIInt q = 0; q < t->size; q++) {
    for (PetscInt r = 0; r < rows && t->nsys[q]; r++) {
      double *b = here + ((size_t)t->sysoff[q] * (size_t)t->mine + (size_t)(first + r) * (size_t)t->nsys[q]) * nvec;
      const double *a = g + (size_t)r * (size_t)stride * nvec;

      if (!index) memcpy(b, a + (size_t)t->sysoff[q] * nvec, (size_t)t->nsys[q] * nvec * sizeof(double));
      else
        for (PetscInt s = 0; s < t->nsys[q]; s++)
          BCRCopy(nvec, a + (size_t)index[t->sysoff[q] + s] * nvec, b + (size_t)s * nvec);
    }
  }
}

/* block NULL: in here */
static void unpack(const BCRTranspose *t, PetscInt first, PetscInt rows, PetscInt stride, const PetscInt *index,
                   const double *const *block, const double *here, double *x)
{
  const size_t nvec = (size_t)t->nvec;

  for (PetscMPIInt q = 0; q < t->size; q++) {
    const double *from = block ? block[q] : here + (size_t)t->sysoff[q] * (size_t)t->mine * nvec;

    for (PetscInt r = 0; r < rows && t->nsys[q]; r++) {
      const double *b = from + (size_t)(first + r) * (size_t)t->nsys[q] * nvec;
      double *a = x + (size_t)r * (size_t)stride * nvec;

      if (!index) memcpy(a + (size_t)t->sysoff[q] * nvec, b, (size_t)t->nsys[q] * nvec * sizeof(double));
      else
        for (PetscInt s = 0; s < t->nsys[q]; s++)
          BCRCopy(nvec, b + (size_t)s * nvec, a + (size_t)index[t->sysoff[q] + s] * nvec);
    }
  }
}

void BCRTransposeUnpack(const BCRTranspose *t, PetscInt first, PetscInt rows, PetscInt stride, const PetscInt *index,
                        const double *here, double *x)
{
  unpack(t, first, rows, stride, index, NULL, here, x);
}

void BCRTransposeLoad(const BCRTranspose *t, const double *const here[], double *there)
{
  for (PetscMPIInt p = 0; p < t->size; p++) {
    const size_t row = (size_t)t->ns * (size_t)t->nvec;

    if (row && t->rows[p])
      memcpy(there + (size_t)t->rowoff[p] * row,
             here[p] + (size_t)t->sysoff[t->rank] * (size_t)t->rows[p] * (size_t)t->nvec,
             (size_t)t->rows[p] * row * sizeof(double));
  }
}

void BCRTransposeUnpackFrom(const BCRTranspose *t, PetscInt first, PetscInt rows, PetscInt stride,
                            const PetscInt *index, const double *const block[], double *x)
{
  unpack(t, first, rows, stride, index, block, NULL, x);
}

PetscErrorCode BCRTransposeDestroy(BCRTranspose *t)
{
  PetscFunctionBegin;
  if (t->typed) {
    for (int k = 0; k < 2; k++) PetscCallMPI(MPI_Type_free(&t->types[k]));
  }
  PetscCall(PetscFree6(t->nsys, t->sysoff, t->rows, t->rowoff, t->side, t->share));
  PetscCall(PetscMemzero(t, sizeof(*t)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
