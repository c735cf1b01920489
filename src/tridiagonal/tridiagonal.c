/*
  Batches of lines over the ranks of a communicator: what PC, KSP, compact derivatives and the public calls use. One rank: BCRTriLocal.
*/
#include "tridiagonal.h"

struct _n_BCRTri {
  MPI_Comm    comm;
  PetscMPIInt rank, size;
  BCRTriLocal local;
};

PetscErrorCode BCRTriCreate(MPI_Comm comm, const BCRTriSpec *spec, const BCRTriOptions *options, BCRTri *tri)
{
  BCRTri t;

  PetscFunctionBegin;
  *tri = NULL;
  PetscCall(PetscNew(&t));
  t->comm = comm;
  PetscCallMPI(MPI_Comm_rank(comm, &t->rank));
  PetscCallMPI(MPI_Comm_size(comm, &t->size));
  if (t->size > 1) {
    PetscCall(PetscFree(t));
    SETERRQ(comm, PETSC_ERR_SUP, "Lines across ranks: not yet");
  }
  PetscCall(BCRTriLocalCreate(spec, options, &t->local));
  *tri = t;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTriSolve(BCRTri tri, const PetscReal *f, PetscReal *u)
{
  PetscFunctionBegin;
  PetscCall(BCRTriLocalSolve(tri->local, f, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTriGetInfo(BCRTri tri, BCRTriInfo *info)
{
  PetscFunctionBegin;
  PetscCall(BCRTriLocalGetInfo(tri->local, info));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTriDestroy(BCRTri *tri)
{
  PetscFunctionBegin;
  if (!*tri) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRTriLocalDestroy(&(*tri)->local));
  PetscCall(PetscFree(*tri));
  PetscFunctionReturn(PETSC_SUCCESS);
}
