/*
  PetscBCRLines: lines with constant coefficients, without a matrix.
*/
#include "../base/agree.h"
#include "../base/log.h"
#include "linesimpl.h"
#include <petsc/private/petscimpl.h>
#include <petscbcr.h> /*I "petscbcr.h" I*/
#include <petscviewer.h>

/* SUBMANSEC = PC */

struct _n_PetscBCRLines {
  DM da;
  PetscLayout map; /* of its global vectors */
  BCRLines lines;
  BCRTriOptions options;
  BCRTri tri; /* NULL: the next solve makes it */
};

/*@C
  PetscBCRLinesCreate - describes tridiagonal systems with constant coefficients on all grid lines
  of one axis of a `DMDA`

  Collective

  Input Parameters:
+ da     - the `DMDA`, in 1, 2 or 3 dimensions, with any number of components, on any number of processes in any direction
. axis   - `DM_X`, `DM_Y` or `DM_Z`
. nfirst - number of rows at the first end of a line that differ from the others, 0 to 3
. first  - their coefficients: (low, diag, up) of row 0, then of row 1 and so on, 3 `nfirst` numbers; `NULL` if there are none
. row    - (low, diag, up) of all other rows: low u_{j-1} + diag u_j + up u_{j+1} = f_j
. nlast  - number of rows at the last end that differ, 0 to 3
- last   - their coefficients: the last row comes last; `NULL` if there are none

  Output Parameter:
. lines - the systems

  Level: intermediate

  Notes:
  Low of the first row and up of the last row of a line are not used, unless the axis is periodic
  (`DM_BOUNDARY_PERIODIC`): then the line closes on itself with them.

  All lines and all components have the same coefficients. For others there is `PCNEATO`, which
  reads them from a matrix.

  The solver is set up by the first `PetscBCRLinesSolve()`. Each process has to give the same coefficients.

  Raises `PETSC_ERR_ARG_OUTOFRANGE` for an axis that the `DMDA` does not have or too many rows,
  `PETSC_ERR_ARG_SIZ` if the ends overlap, `PETSC_ERR_FP` for NaN or Inf.

  Reference:
  near-Toeplitz systems and their coupling over ranks as in chapters 2 and 3 of the thesis on NEATO, see `PCNEATO`.

.seealso: `PetscBCRLinesSolve()`, `PetscBCRLinesSetMethod()`, `PetscBCRLinesSetCoupling()`, `PetscBCRLinesSetPrecision()`, `PetscBCRLinesView()`, `PetscBCRLinesDestroy()`, `PCNEATO`
@*/
PetscErrorCode PetscBCRLinesCreate(DM da, DMDirection axis, PetscInt nfirst, const PetscReal first[],
                                   const PetscReal row[], PetscInt nlast, const PetscReal last[], PetscBCRLines *lines)
{
  BCRGrid grid;
  BCRLines made;
  PetscErrorCode ierr;
  Vec v;
  PetscLayout map;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(da, DM_CLASSID, 1);
  if (nfirst > 0) BCRAssertPointer(first, 4);
  BCRAssertPointer(row, 5);
  if (nlast > 0) BCRAssertPointer(last, 7);
  BCRAssertPointer(lines, 8);
  PetscCall(PetscBCRInitializePackage());
  PetscCall(PetscBCRCiteNeato());
  *lines = NULL;
  {
    static const char *const names[] = {"axis", "number of first rows", "number of last rows"};
    const double mine[] = {(double)axis, (double)nfirst, (double)nlast};

    PetscCall(BCRSame(PetscObjectComm((PetscObject)da), "PetscBCRLinesCreate(): the ", 3, names, mine));
  }
  PetscCheck(nfirst >= 0 && nfirst <= BCR_TRI_EDGE, PetscObjectComm((PetscObject)da), PETSC_ERR_ARG_OUTOFRANGE,
             "%" PetscInt_FMT " rows at the first end: 0 to %d may differ from the others", nfirst, BCR_TRI_EDGE);
  PetscCheck(nlast >= 0 && nlast <= BCR_TRI_EDGE, PetscObjectComm((PetscObject)da), PETSC_ERR_ARG_OUTOFRANGE,
             "%" PetscInt_FMT " rows at the last end: 0 to %d may differ from the others", nlast, BCR_TRI_EDGE);
  {
    const char *names[3 * (1 + 2 * BCR_TRI_EDGE)];
    double mine[3 * (1 + 2 * BCR_TRI_EDGE)];
    PetscInt n = 0;

    for (PetscInt i = 0; i < 3; ++i, ++n) mine[n] = (double)row[i], names[n] = "row";
    for (PetscInt i = 0; i < 3 * nfirst; ++i, ++n) mine[n] = (double)first[i], names[n] = "first rows";
    for (PetscInt i = 0; i < 3 * nlast; ++i, ++n) mine[n] = (double)last[i], names[n] = "last rows";
    PetscCall(
      BCRSame(PetscObjectComm((PetscObject)da), "PetscBCRLinesCreate(): a coefficient of the ", n, names, mine));
  }
  for (PetscInt i = 0; i < 3 * (1 + PetscMax(nfirst, 0) + PetscMax(nlast, 0)); ++i) {
    const PetscInt at = i - 3 * PetscMax(nfirst, 0);
    const PetscReal value = at < 0 ? first[i] : (at < 3 ? row[at] : last[at - 3]);

    PetscCheck(!PetscIsInfOrNanReal(value), PetscObjectComm((PetscObject)da), PETSC_ERR_FP,
               "Coefficient %" PetscInt_FMT " of %s is NaN or Inf", at < 0 ? i : (at < 3 ? at : at - 3),
               at < 0 ? "the first rows" : (at < 3 ? "the row" : "the last rows"));
  }
  PetscCall(BCRGridCreate(da, PetscObjectComm((PetscObject)da), &grid));
  BCRCallElse(BCRLinesCreate(&grid, (PetscInt)axis, &made), (void)BCRGridDestroy(&grid));
  ierr = BCRLinesSetRows(made, grid.periodic[(int)axis], nfirst, first, row, nlast, last);
  PetscCall(BCRGridDestroy(&grid));
  if (!ierr) ierr = PetscNew(lines);
  BCRCallElse(BCRFaultShare(PetscObjectComm((PetscObject)da), ierr, BCR_NO_MEMORY), (void)BCRLinesDestroy(&made),
              (void)PetscFree(*lines));
  (*lines)->lines = made;
  (*lines)->options.isa = -1;
  (*lines)->options.precision = BCR_TRI_DOUBLE;
  (*lines)->da = da;
  PetscCall(DMGetGlobalVector(da, &v));
  PetscCall(VecGetLayout(v, &map));
  PetscCall(PetscLayoutReference(map, &(*lines)->map));
  PetscCall(DMRestoreGlobalVector(da, &v));
  PetscCall(PetscObjectReference((PetscObject)da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  PetscBCRLinesSetMethod - sets how lines are solved

  Logically Collective

  Input Parameters:
+ lines  - the systems
- method - see `PCNeatoMethod`

  Level: intermediate

.seealso: `PetscBCRLinesCreate()`, `PCNeatoMethod`, `PCNeatoSetMethod()`
@*/
PetscErrorCode PetscBCRLinesSetMethod(PetscBCRLines lines, PCNeatoMethod method)
{
  PetscFunctionBegin;
  BCRAssertPointer(lines, 1);
  PetscCheck((int)method >= 0 && method <= PCNEATO_METHOD_THOMAS, lines->lines->comm, PETSC_ERR_ARG_OUTOFRANGE,
             "Method %d is no PCNeatoMethod", (int)method);
  PetscCall(BCRTriDestroy(&lines->tri));
  lines->options.method = (BCRTriMethod)method;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  PetscBCRLinesSetCoupling - sets how ranks that share a line are coupled

  Logically Collective

  Input Parameters:
+ lines    - the systems
- coupling - see `PCNeatoCoupling`

  Level: intermediate

.seealso: `PetscBCRLinesCreate()`, `PCNeatoCoupling`, `PCNeatoSetCoupling()`
@*/
PetscErrorCode PetscBCRLinesSetCoupling(PetscBCRLines lines, PCNeatoCoupling coupling)
{
  PetscFunctionBegin;
  BCRAssertPointer(lines, 1);
  PetscCheck((int)coupling >= 0 && coupling <= PCNEATO_COUPLING_REDUCED, lines->lines->comm, PETSC_ERR_ARG_OUTOFRANGE,
             "Coupling %d is no PCNeatoCoupling", (int)coupling);
  PetscCall(BCRTriDestroy(&lines->tri));
  lines->options.coupling = (BCRTriCoupling)coupling;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  PetscBCRLinesSetPrecision - sets the precision of the work inside

  Logically Collective

  Input Parameters:
+ lines     - the systems
- precision - see `PCNeatoPrecision`

  Level: intermediate

.seealso: `PetscBCRLinesCreate()`, `PCNeatoPrecision`, `PCNeatoSetPrecision()`
@*/
PetscErrorCode PetscBCRLinesSetPrecision(PetscBCRLines lines, PCNeatoPrecision precision)
{
  PetscFunctionBegin;
  BCRAssertPointer(lines, 1);
  PetscCheck((int)precision >= 0 && precision <= PCNEATO_PRECISION_MIXED, lines->lines->comm, PETSC_ERR_ARG_OUTOFRANGE,
             "Precision %d is no PCNeatoPrecision", (int)precision);
  PetscCall(BCRTriDestroy(&lines->tri));
  lines->options.precision = (BCRTriPrecision)precision;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On the host */
static PetscErrorCode PetscBCRLinesSolveHost(PetscBCRLines lines, Vec f, Vec u)
{
  const PetscScalar *b;
  PetscScalar *x;
  BCRTriInfo info;

  PetscFunctionBegin;
  if (f == u) {
    PetscCall(VecGetArray(u, &x));
    PetscCall(BCRTriSolve(lines->tri, (const PetscReal *)x, (PetscReal *)x));
    PetscCall(VecRestoreArray(u, &x));
  } else {
    PetscCall(VecGetArrayRead(f, &b));
    PetscCall(VecGetArrayWrite(u, &x));
    PetscCall(BCRTriSolve(lines->tri, (const PetscReal *)b, (PetscReal *)x));
    PetscCall(VecRestoreArrayWrite(u, &x));
    PetscCall(VecRestoreArrayRead(f, &b));
  }
  PetscCall(BCRTriGetInfo(lines->tri, &info));
  PetscCall(PetscLogFlops(info.flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  PetscBCRLinesSolve - solves all lines

  Collective

  Input Parameters:
+ lines - the systems
- f     - right-hand sides, a global vector of the `DMDA`

  Output Parameter:
. u - solutions, a global vector of the `DMDA`; may be `f`

  Level: intermediate

  Notes:
  The first call sets the solver up: on the CUDA device if its vectors are there (`VECCUDA`) on
  every process, else on the host. Vectors that are elsewhere later are copied. Processes with
  devices exchange as `PCNEATO` does with `PCNEATO_TRANSPORT_AUTO`.

  Raises `PETSC_ERR_MAT_LU_ZRPVT` if the lines are singular, `PETSC_ERR_ARG_SIZ` for a vector that
  is not of the `DMDA`. A NaN or Inf in `f` makes its line NaN.

.seealso: `PetscBCRLinesCreate()`, `PetscBCRLinesDestroy()`, `PCNEATO`
@*/
PetscErrorCode PetscBCRLinesSolve(PetscBCRLines lines, Vec f, Vec u)
{
  PetscLayout map[2];
  PetscBool same[2], done = PETSC_FALSE;

  PetscFunctionBegin;
  BCRAssertPointer(lines, 1);
  PetscValidHeaderSpecific(f, VEC_CLASSID, 2);
  PetscValidHeaderSpecific(u, VEC_CLASSID, 3);
  PetscCall(VecGetLayout(f, &map[0]));
  PetscCall(VecGetLayout(u, &map[1]));
  /* sizes of all ranks: the same answer on each */
  for (int i = 0; i < 2; ++i) PetscCall(PetscLayoutCompare(lines->map, map[i], &same[i]));
  PetscCheck(same[0] && same[1], lines->lines->comm, PETSC_ERR_ARG_SIZ,
             "The %s is no vector of the DMDA: it has local size %" PetscInt_FMT " of %" PetscInt_FMT
             " on this rank, the DMDA has %" PetscInt_FMT " of %" PetscInt_FMT ". Make it with DMCreateGlobalVector()",
             same[0] ? "solution" : "right-hand side", map[same[0] ? 1 : 0]->n, map[same[0] ? 1 : 0]->N, lines->map->n,
             lines->map->N);
  if (!lines->tri) {
    static const char *const names[] = {"method", "coupling", "precision"};
    const double mine[] = {(double)lines->options.method, (double)lines->options.coupling,
                           (double)lines->options.precision};

    PetscCall(BCRSame(lines->lines->comm, "PetscBCRLines: the ", 3, names, mine));
    PetscCall(PetscLogEventBegin(BCR_SetUp, f, u, 0, 0));
    PetscCall(BCRLinesFollow(lines->lines, f, u, &lines->options));
    PetscCall(BCRLinesSolver(lines->lines, &lines->options, &lines->tri));
    PetscCall(PetscLogEventEnd(BCR_SetUp, f, u, 0, 0));
  }
  PetscCall(PetscLogEventBegin(BCR_Solve, f, u, 0, 0));
  if (lines->options.device) PetscCall(BCRLinesSolveDevice(lines->tri, f, u, &done));
  if (!done) PetscCall(PetscBCRLinesSolveHost(lines, f, u));
  PetscCall(PetscLogEventEnd(BCR_Solve, f, u, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  PetscBCRLinesView - prints what the lines are and, once they have been solved, how

  Collective

  Input Parameters:
+ lines  - the systems
- viewer - an ASCII viewer, or `NULL` for standard output

  Level: intermediate

.seealso: `PetscBCRLinesCreate()`
@*/
PetscErrorCode PetscBCRLinesView(PetscBCRLines lines, PetscViewer viewer)
{
  BCRTriInfo info;
  PetscBool ascii;

  PetscFunctionBegin;
  BCRAssertPointer(lines, 1);
  if (!viewer) PetscCall(PetscViewerASCIIGetStdout(lines->lines->comm, &viewer));
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRLinesView(lines->lines, viewer));
  if (!lines->tri) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRTriGetInfo(lines->tri, &info));
  PetscCall(PetscViewerASCIIPrintf(viewer, "method: %s%s%s\n", PCNeatoMethods[info.method], info.what[0] ? ", " : "",
                                   info.what));
  PetscCall(
    PetscViewerASCIIPrintf(viewer, "backend: %s%s\n", lines->options.device ? "cuda, device " : "cpu", info.device));
  if (info.transport[0]) PetscCall(PetscViewerASCIIPrintf(viewer, "transport: %s\n", info.transport));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  PetscBCRLinesDestroy - frees what `PetscBCRLinesCreate()` made

  Collective

  Input Parameter:
. lines - the systems; set to `NULL`

  Level: intermediate

.seealso: `PetscBCRLinesCreate()`
@*/
PetscErrorCode PetscBCRLinesDestroy(PetscBCRLines *lines)
{
  PetscFunctionBegin;
  if (!*lines) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRTriDestroy(&(*lines)->tri));
  PetscCall(BCRLinesDestroy(&(*lines)->lines));
  PetscCall(DMDestroy(&(*lines)->da));
  PetscCall(PetscLayoutDestroy(&(*lines)->map));
  PetscCall(PetscFree(*lines));
  PetscFunctionReturn(PETSC_SUCCESS);
}
