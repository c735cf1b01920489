#include "team.h"
#include <sched.h>

PetscErrorCode BCRTeamWait(MPI_Comm comm, PetscMPIInt tag, const void *at, uint64_t value)
{
  int flag, turns = 0;

  PetscFunctionBegin;
  while (__atomic_load_n((const uint64_t *)at, __ATOMIC_ACQUIRE) < value) {
    if (turns++ < 1000) continue;
    PetscCallMPI(MPI_Iprobe(MPI_ANY_SOURCE, tag, comm, &flag, MPI_STATUS_IGNORE));
    (void)sched_yield();
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTeamMeet(BCRTeam *team)
{
  PetscFunctionBegin;
  if (!team) PetscFunctionReturn(PETSC_SUCCESS);
  team->met++;
  __atomic_store_n(&((BCRTeamLine *)team->line[team->rank])->met, team->met, __ATOMIC_RELEASE);
  for (PetscMPIInt k = 0; k < team->size; k++) PetscCall(BCRTeamWait(team->comm, team->tag, team->line[k], team->met));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTeamSum(BCRTeam *team, double *sum)
{
  PetscFunctionBegin;
  if (!team) PetscFunctionReturn(PETSC_SUCCESS);
  /* the other part may still be read by whoever has not come here again */
  ((BCRTeamLine *)team->line[team->rank])->part[(team->met + 1) % 2] = *sum;
  PetscCall(BCRTeamMeet(team));
  *sum = 0;
  for (PetscMPIInt k = 0; k < team->size; k++) *sum += ((const BCRTeamLine *)team->line[k])->part[team->met % 2];
  PetscFunctionReturn(PETSC_SUCCESS);
}
