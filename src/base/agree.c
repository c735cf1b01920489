#include "agree.h"
#include <stdarg.h>

PetscErrorCode BCRFaultSet(BCRFault *fault, PetscErrorCode code, const char format[], ...)
{
  va_list arguments;

  PetscFunctionBegin;
  if (fault->code) PetscFunctionReturn(PETSC_SUCCESS); /* the first counts */
  fault->code = code;
  va_start(arguments, format);
  PetscCall(PetscVSNPrintf(fault->text, sizeof(fault->text), format, NULL, arguments));
  va_end(arguments);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTakeFrom(MPI_Comm comm, double priority, void *data, size_t bytes, double *largest)
{
  struct {
    double priority;
    int rank;
  } mine, best;
  PetscMPIInt size, rank;

  PetscFunctionBegin;
  if (largest) *largest = priority;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  if (size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  mine.priority = priority;
  mine.rank = (int)rank;
  PetscCallMPI(MPI_Allreduce(&mine, &best, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm));
  if (data) PetscCallMPI(MPI_Bcast(data, (PetscMPIInt)bytes, MPI_BYTE, (PetscMPIInt)best.rank, comm));
  if (largest) *largest = best.priority;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* an error handler */
static PetscErrorCode fault_catch(MPI_Comm comm, int line, const char *function, const char *file, PetscErrorCode code,
                                  PetscErrorType type, const char *message, void *ctx)
{
  (void)comm;
  (void)line;
  (void)function;
  (void)file;
  if (type == PETSC_ERROR_INITIAL) (void)BCRFaultSet((BCRFault *)ctx, code, "%s", message ? message : "");
  return code;
}

PetscErrorCode BCRFaultCatchBegin(BCRFault *fault)
{
  PetscFunctionBegin;
  PetscCall(PetscPushErrorHandler(fault_catch, fault));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFaultCatchEnd(BCRFault *fault, PetscErrorCode ierr)
{
  PetscFunctionBegin;
  PetscCall(PetscPopErrorHandler());
  if (ierr) PetscCall(BCRFaultSet(fault, ierr, "%s", ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFaultAgreeAmong(MPI_Comm comm, const BCRFault *fault, const char which[])
{
  struct {
    int rank;
    BCRFault fault;
  } told;
  PetscMPIInt size, rank, any, mine = fault->code ? 1 : 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  if (size == 1) {
    PetscCheck(!fault->code, comm, fault->code, "%s", fault->text);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallMPI(MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, comm));
  if (!any) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  told.rank = (int)rank;
  told.fault = *fault;
  PetscCall(BCRTakeFrom(comm, (double)mine, &told, sizeof(told), NULL));
  PetscCheck(!which, comm, told.fault.code, "Rank %d of the %d %s: %s", told.rank, (int)size, which, told.fault.text);
  SETERRQ(comm, told.fault.code, "Rank %d: %s", told.rank, told.fault.text);
}

PetscErrorCode BCRFaultAgree(MPI_Comm comm, const BCRFault *fault)
{
  PetscFunctionBegin;
  PetscCall(BCRFaultAgreeAmong(comm, fault, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFaultShare(MPI_Comm comm, PetscErrorCode mine, const char what[])
{
  PetscMPIInt size, rank, any, failed = mine ? 1 : 0;
  struct {
    int rank, code;
  } told;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  if (size > 1) {
    PetscCallMPI(MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, comm));
    if (!any) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCallMPI(MPI_Comm_rank(comm, &rank));
    told.rank = (int)rank;
    told.code = (int)mine;
    PetscCall(BCRTakeFrom(comm, (double)failed, &told, sizeof(told), NULL));
    PetscCheck(mine, PETSC_COMM_SELF, (PetscErrorCode)told.code, "Rank %d %s", told.rank, what);
  }
  PetscCall(mine);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSame(MPI_Comm comm, const char of[], PetscInt n, const char *const names[], const double mine[])
{
  double first[32];
  BCRFault fault = {PETSC_SUCCESS, ""};
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  if (size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(n <= 32, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " numbers to compare", n);
  PetscCall(PetscArraycpy(first, mine, n));
  PetscCallMPI(MPI_Bcast(first, (PetscMPIInt)n, MPI_DOUBLE, 0, comm));
  for (PetscInt k = 0; k < n; k++) {
    const int both = isnan(mine[k]) && isnan(first[k]); /* a NaN is the same as another */

    if (!both && mine[k] != first[k])
      PetscCall(BCRFaultSet(&fault, PETSC_ERR_ARG_NOTSAMETYPE,
                            "%s%s differs from that of rank 0: give the same on every rank", of, names[k]));
  }
  PetscCall(BCRFaultAgree(comm, &fault));
  PetscFunctionReturn(PETSC_SUCCESS);
}
