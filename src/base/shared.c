#include "shared.h"

typedef struct _n_Entry *Entry;
struct _n_Entry {
  Entry next;
  PetscErrorCode (*destroy)(void *);
  void *data;
};

/* The one static: under which number MPI keeps the entries of a communicator */
static PetscMPIInt keyval = MPI_KEYVAL_INVALID;

static int MPIAPI shared_delete(MPI_Comm comm, int key, void *attribute, void *extra)
{
  PetscErrorCode ierr = PETSC_SUCCESS;

  (void)comm;
  (void)key;
  (void)extra;
  for (Entry e = (Entry)attribute, next; e && !ierr; e = next) {
    next = e->next;
    ierr = e->destroy(e->data);
    if (!ierr) ierr = PetscFree(e->data);
    if (!ierr) ierr = PetscFree(e);
  }
  return ierr ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static PetscErrorCode shared_finalize(void)
{
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_delete_attr(PETSC_COMM_SELF, keyval)); /* others go with their communicators */
  PetscCallMPI(MPI_Comm_free_keyval(&keyval));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCommGetShared(MPI_Comm comm, size_t bytes, PetscErrorCode (*destroy)(void *), void *data)
{
  Entry first = NULL, e;
  PetscMPIInt found;

  PetscFunctionBegin;
  if (keyval == MPI_KEYVAL_INVALID) {
    PetscCallMPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, shared_delete, &keyval, NULL));
    PetscCallMPI(MPI_Comm_set_attr(PETSC_COMM_SELF, keyval, NULL)); /* for shared_finalize() to delete */
    PetscCall(PetscRegisterFinalize(shared_finalize));
  }
  PetscCallMPI(MPI_Comm_get_attr(comm, keyval, &first, &found));
  if (!found) first = NULL;
  for (e = first; e && e->destroy != destroy;) e = e->next;
  if (!e) {
    PetscCall(PetscNew(&e));
    e->destroy = destroy;
    BCRCallElse(PetscCalloc(bytes, &e->data), (void)PetscFree(e));
    if (first) { /* behind the first one, which the attribute is */
      e->next = first->next;
      first->next = e;
    } else PetscCallMPI(MPI_Comm_set_attr(comm, keyval, e));
  }
  *(void **)data = e->data;
  PetscFunctionReturn(PETSC_SUCCESS);
}
