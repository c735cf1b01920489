#include "node.h"
#include "agree.h"
#include "shared.h"
#include <string.h>

static PetscErrorCode node_destroy(void *shared)
{
  BCRNode *node = (BCRNode *)shared;

  PetscFunctionBegin;
  if (node->local) PetscCallMPI(MPI_Comm_free(&node->comm));
  PetscCall(PetscFree(node->local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. all: [size], work; local: [size], kept */
static PetscErrorCode node_fill(MPI_Comm comm, PetscMPIInt size, PetscMPIInt all[], PetscMPIInt local[], BCRNode *node)
{
  MPI_Group group[2];
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node->comm));
  node->local = local;
  PetscCallMPI(MPI_Comm_set_errhandler(node->comm, MPI_ERRORS_RETURN)); /* of windows */
  PetscCallMPI(MPI_Comm_size(node->comm, &node->ranks));
  for (PetscMPIInt p = 0; p < size; p++) all[p] = p;
  PetscCallMPI(MPI_Comm_group(comm, &group[0]));
  PetscCallMPI(MPI_Comm_group(node->comm, &group[1]));
  PetscCallMPI(MPI_Group_translate_ranks(group[0], size, all, group[1], node->local));
  for (int k = 0; k < 2; k++) PetscCallMPI(MPI_Group_free(&group[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRNodeGet(MPI_Comm comm, BCRNode **node)
{
  PetscMPIInt *all = NULL, *local = NULL, size;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *node = NULL;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  ierr = BCRCommGetShared(comm, sizeof(**node), node_destroy, node);
  if (!ierr) ierr = PetscMalloc1(size, &all);
  if (!ierr && !(*node)->local) ierr = PetscMalloc1(size, &local);
  ierr = BCRFaultShare(comm, ierr, BCR_NO_MEMORY);
  if (!ierr && !(*node)->local) {
    ierr = node_fill(comm, size, all, local, *node);
    local = NULL;
  }
  PetscCall(PetscFree(all));
  PetscCall(PetscFree(local));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRNodeAllocate(const BCRNode *node, size_t bytes, BCRNodeMemory *memory)
{
  PetscMPIInt ok, some, *model = NULL, flag = 0;
  MPI_Info info;
  char *base = NULL;

  PetscFunctionBegin;
  memory->window = MPI_WIN_NULL;
  memory->refused = NULL;
  memory->part = NULL;
  if (node->ranks == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRFaultShare(node->comm, PetscMalloc1(node->ranks, &memory->part), BCR_NO_MEMORY));
  PetscCallMPI(MPI_Info_create(&info));
  PetscCallMPI(MPI_Info_set(info, "alloc_shared_noncontig", "true")); /* each part near the rank that has it */
  ok = MPI_Win_allocate_shared((MPI_Aint)bytes, 1, info, node->comm, &base, &memory->window) == MPI_SUCCESS;
  PetscCallMPI(MPI_Info_free(&info));
  PetscCallMPI(MPI_Allreduce(&ok, &some, 1, MPI_INT, MPI_MIN, node->comm));
  if (!some) { /* a window that some ranks have cannot be freed by them alone */
    memory->window = MPI_WIN_NULL;
    memory->refused = "the MPI refused a window of shared memory";
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallMPI(MPI_Win_get_attr(memory->window, MPI_WIN_MODEL, &model, &flag));
  if (!flag || *model != MPI_WIN_UNIFIED) {
    PetscCallMPI(MPI_Win_free(&memory->window));
    memory->refused = "what a rank stores in a window of this MPI is not what others load";
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallMPI(MPI_Win_lock_all(MPI_MODE_NOCHECK, memory->window));
  for (PetscMPIInt p = 0; p < node->ranks; p++) {
    MPI_Aint there;
    int unit;

    PetscCallMPI(MPI_Win_shared_query(memory->window, p, &there, &unit, &memory->part[p]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRNodeFree(BCRNodeMemory *memory)
{
  PetscFunctionBegin;
  if (memory->window != MPI_WIN_NULL) {
    PetscCallMPI(MPI_Win_unlock_all(memory->window));
    PetscCallMPI(MPI_Win_free(&memory->window));
  }
  PetscCall(PetscFree(memory->part));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRNodeTell(const BCRNodeMemory *memory, PetscMPIInt local, int line, uint64_t number)
{
  PetscFunctionBegin;
  PetscCallMPI(MPI_Win_sync(memory->window));
  __atomic_store_n((uint64_t *)(memory->part[local] + line * BCR_NODE_LINE), number, __ATOMIC_RELEASE);
  PetscFunctionReturn(PETSC_SUCCESS);
}
