/*
  What numbers.h has for both tables: where they are, lists.
*/
#include "numbers.h"
#include "../base/agree.h"

PetscErrorCode BCRNumbersCreate(MPI_Comm comm, BCRSolver solver, PetscBool host, BCRNumbers *c)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(c, sizeof(*c)));
  c->solver = solver;
  c->be = host ? BCRBackendCpu() : solver->be;
  c->ops = c->be->flags & BCR_BACKEND_DEVICE ? BCRNumbersCuda() : BCRNumbersCpu();
  c->stream = solver->options.stream;
  c->comm = comm;
  PetscCallMPI(MPI_Comm_rank(comm, &c->rank));
  PetscCallMPI(MPI_Comm_size(comm, &c->size));
  BCRCallElse(BCRFaultShare(comm, c->ops->create(c), BCR_NO_MEMORY), (void)BCRNumbersDestroy(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRNumbersDestroy(BCRNumbers *c)
{
  PetscFunctionBegin;
  if (c->ops) PetscCall(c->ops->destroy(c));
  PetscCall(PetscMemzero(c, sizeof(*c)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRNumbersSum(const BCRNumbers *c, PetscInt n, PetscScalar sums[])
{
  PetscFunctionBegin;
  if (c->size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sums, (PetscMPIInt)n, MPIU_SCALAR, MPIU_SUM, c->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRNumbersAlloc(BCRNumbers *c, PetscInt n, const char what[], PetscScalar **v)
{
  PetscFunctionBegin;
  PetscCall(c->be->alloc((size_t)PetscMax(n, 1) * sizeof(PetscScalar), what, v));
  PetscCall(c->ops->set(c, n, 0, *v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRNumbersAllocReal(BCRNumbers *c, PetscInt n, const char what[], PetscReal **v)
{
  PetscFunctionBegin;
  PetscCall(c->be->alloc((size_t)PetscMax(n, 1) * sizeof(PetscReal), what, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscInt entries_of(const BCRSparse *A)
{
  return A->start ? A->start[A->rows] : A->rows;
}

/* key[k]: the column of entry k; row[k]: its row; order[k] = k */
static void entries_list(const BCRSparse *A, PetscInt key[], PetscInt row[], PetscInt order[])
{
  for (PetscInt i = 0; i < A->rows; i++) {
    const PetscInt first = A->start ? A->start[i] : i, end = A->start ? A->start[i + 1] : i + 1;

    for (PetscInt k = first; k < end; k++) {
      key[k] = A->from ? A->from[k] : k;
      row[k] = A->to ? A->to[i] : i;
      order[k] = k;
    }
  }
}

PetscErrorCode BCRSparseTranspose(const BCRSparse *A, BCRSparse *T)
{
  const PetscInt n = entries_of(A);
  PetscInt *key, *row, *order;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(T, sizeof(*T)));
  PetscCall(PetscMalloc1(n, &T->to));
  PetscCall(PetscMalloc1(n + 1, &T->start));
  PetscCall(PetscMalloc1(n, &T->from));
  if (A->value) PetscCall(PetscMalloc1(n, &T->value));
  PetscCall(PetscMalloc3(n, &key, n, &row, n, &order));
  entries_list(A, key, row, order);
  PetscCall(PetscSortIntWithArray(n, key, order));
  for (PetscInt k = 0; k < n; k++) {
    if (k == 0 || key[k] != key[k - 1]) {
      T->to[T->rows] = key[k];
      T->start[T->rows++] = k;
    }
    T->from[k] = row[order[k]];
    if (A->value) T->value[k] = A->value[order[k]];
  }
  T->start[T->rows] = n;
  PetscCall(PetscFree3(key, row, order));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSparseFree(BCRSparse *A)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(A->to));
  PetscCall(PetscFree(A->start));
  PetscCall(PetscFree(A->from));
  PetscCall(PetscFree(A->value));
  A->rows = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -------- entries of other ranks -------- */

typedef struct {
  PetscMPIInt *to, *tostart, *of,
    *ofstart; /* [size] how many entries go to each rank, and come from it; where they begin */
} Counts;

static PetscErrorCode ghosts_count(PetscLayout rows, PetscMPIInt size, PetscInt n, const PetscInt ghost[], Counts *c)
{
  PetscFunctionBegin;
  PetscCall(PetscArrayzero(c->of, size));
  for (PetscInt k = 0; k < n; k++) {
    PetscMPIInt owner;

    PetscCall(PetscLayoutFindOwner(rows, ghost[k], &owner));
    c->of[owner]++;
  }
  PetscCallMPI(MPI_Alltoall(c->of, 1, MPI_INT, c->to, 1, MPI_INT, rows->comm));
  c->tostart[0] = c->ofstart[0] = 0;
  for (PetscMPIInt q = 0; q + 1 < size; q++) {
    c->tostart[q + 1] = c->tostart[q] + c->to[q];
    c->ofstart[q + 1] = c->ofstart[q] + c->of[q];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The ranks with entries, and where these begin */
static PetscErrorCode ghosts_ranks(PetscMPIInt size, const PetscMPIInt count[], PetscInt *n, PetscMPIInt **rank,
                                   PetscInt **start)
{
  PetscInt at = 0;

  PetscFunctionBegin;
  for (PetscMPIInt q = 0; q < size; q++) *n += count[q] > 0;
  PetscCall(PetscMalloc1(*n, rank));
  PetscCall(PetscMalloc1(*n + 1, start));
  (*start)[0] = 0;
  for (PetscMPIInt q = 0; q < size; q++) {
    if (!count[q]) continue;
    (*rank)[at] = q;
    (*start)[at + 1] = (*start)[at] + count[q];
    at++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ghosts_fill(PetscLayout rows, PetscMPIInt size, PetscInt n, const PetscInt ghost[],
                                  const Counts *c, BCRGhosts *g)
{
  PetscInt first;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = ghosts_ranks(size, c->to, &g->nto, &g->to, &g->tostart);
  if (!ierr) ierr = ghosts_ranks(size, c->of, &g->nof, &g->of, &g->ofstart);
  if (!ierr) ierr = PetscMalloc1(c->tostart[size - 1] + c->to[size - 1], &g->wanted.from);
  PetscCall(BCRFaultShare(rows->comm, ierr, BCR_NO_MEMORY));
  g->wanted.rows = c->tostart[size - 1] + c->to[size - 1];
  PetscCallMPI(
    MPI_Alltoallv(ghost, c->of, c->ofstart, MPIU_INT, g->wanted.from, c->to, c->tostart, MPIU_INT, rows->comm));
  PetscCall(PetscLayoutGetRange(rows, &first, NULL));
  for (PetscInt k = 0; k < g->wanted.rows; k++) g->wanted.from[k] -= first;
  PetscCall(BCRFaultShare(rows->comm, BCRSparseTranspose(&g->wanted, &g->back), BCR_NO_MEMORY));
  PetscCall(PetscSFCreate(rows->comm, &g->sf));
  PetscCall(PetscSFSetGraphLayout(g->sf, rows, n, NULL, PETSC_COPY_VALUES, ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRGhostsCreate(PetscLayout rows, PetscInt n, const PetscInt ghost[], BCRGhosts *g)
{
  PetscMPIInt size, some = n > 0;
  PetscErrorCode ierr;
  Counts c;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(g, sizeof(*g)));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &some, 1, MPI_INT, MPI_MAX, rows->comm));
  if (!some) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_size(rows->comm, &size));
  PetscCall(BCRFaultShare(rows->comm, PetscMalloc4(size, &c.to, size, &c.tostart, size, &c.of, size, &c.ofstart),
                          BCR_NO_MEMORY));
  ierr = ghosts_count(rows, size, n, ghost, &c);
  if (!ierr) ierr = ghosts_fill(rows, size, n, ghost, &c, g);
  PetscCall(PetscFree4(c.to, c.tostart, c.of, c.ofstart));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRGhostsDestroy(BCRGhosts *g)
{
  PetscFunctionBegin;
  PetscCall(PetscSFDestroy(&g->sf));
  PetscCall(PetscFree(g->to));
  PetscCall(PetscFree(g->tostart));
  PetscCall(PetscFree(g->of));
  PetscCall(PetscFree(g->ofstart));
  PetscCall(BCRSparseFree(&g->wanted));
  PetscCall(BCRSparseFree(&g->back));
  PetscFunctionReturn(PETSC_SUCCESS);
}
