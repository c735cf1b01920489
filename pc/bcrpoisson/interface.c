/*
  The functions of PCBCRPOISSON for users. Each sets or gets what a line of the table in options.c says,
  if the PC is of this type.
*/
#include <petscbcr.h> /*I "petscbcr.h" I*/
#include "../options.h"

/* SUBMANSEC = PC */

/*@
  PCBCRPoissonSetRadix - sets the radix of the reduction in `PCBCRPOISSON`

  Logically Collective

  Input Parameters:
+ pc    - the preconditioner
- radix - block rows per group of a level, at least 2, or `PCBCRPOISSON_RADIX_AUTO`

  Options Database Key:
. -pc_bcrpoisson_radix (auto|2|4|8|16|...) - the radix

  Level: intermediate

  Notes:
  Each level of the reduction groups that many block rows and eliminates all but one of each group. With 2 and 4 it is
  the method of Myllykoski, Rossi and Toivanen (2013). A radix above the size of the grid is the
  Fourier method. The default takes the plan that is fastest.

  Solutions agree to rounding whatever the radix.

  Raises `PETSC_ERR_ARG_OUTOFRANGE` for any other value.

.seealso: `PCBCRPOISSON`, `PCBCRPoissonGetRadix()`, `PCBCRPoissonSetSchedule()`, `PCBCRPoissonSetTune()`
@*/
PetscErrorCode PCBCRPoissonSetRadix(PC pc, PetscInt radix)
{
  PetscFunctionBegin;
  PetscCall(BCROptionSet(pc, __func__, 1, &radix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonGetRadix - gets the radix that was asked for

  Not Collective

  Input Parameter:
. pc - the preconditioner

  Output Parameter:
. radix - the radix, or `PCBCRPOISSON_RADIX_AUTO`

  Level: intermediate

.seealso: `PCBCRPOISSON`, `PCBCRPoissonSetRadix()`
@*/
PetscErrorCode PCBCRPoissonGetRadix(PC pc, PetscInt *radix)
{
  PetscFunctionBegin;
  PetscCall(BCROptionGet(pc, __func__, NULL, radix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonSetSchedule - sets the radix of each level of the reduction in `PCBCRPOISSON`

  Logically Collective

  Input Parameters:
+ pc    - the preconditioner
. n     - number of levels, 0 for the automatic choice
- radix - array of `n`, the radix of each level, finest level first, each at least 2

  Options Database Key:
. -pc_bcrpoisson_schedule q0,q1,... - the schedule, or `auto`

  Level: advanced

  Notes:
  A schedule overrides the radix. Level r leaves every (q0 q1 ... qr)-th block row to the next.

  Raises `PETSC_ERR_ARG_OUTOFRANGE` for a radix below 2 or more than 64 levels.

.seealso: `PCBCRPOISSON`, `PCBCRPoissonGetSchedule()`, `PCBCRPoissonSetRadix()`
@*/
PetscErrorCode PCBCRPoissonSetSchedule(PC pc, PetscInt n, const PetscInt radix[])
{
  PetscFunctionBegin;
  PetscCall(BCROptionSet(pc, __func__, n, radix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  PCBCRPoissonGetSchedule - gets the schedule that was asked for

  Not Collective

  Input Parameter:
. pc - the preconditioner

  Output Parameters:
+ n     - number of levels, 0 if the schedule is the automatic one
- radix - array of `n`, owned by the preconditioner; may be `NULL`

  Level: advanced

.seealso: `PCBCRPOISSON`, `PCBCRPoissonSetSchedule()`
@*/
PetscErrorCode PCBCRPoissonGetSchedule(PC pc, PetscInt *n, const PetscInt *radix[])
{
  PetscFunctionBegin;
  PetscCall(BCROptionGet(pc, __func__, n, radix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonSetBackend - sets where `PCBCRPOISSON` does its work

  Logically Collective

  Input Parameters:
+ pc      - the preconditioner
- backend - `PCBCRPOISSON_BACKEND_AUTO`, `PCBCRPOISSON_BACKEND_CPU` or `PCBCRPOISSON_BACKEND_CUDA`

  Options Database Key:
. -pc_bcrpoisson_backend (auto|cpu|cuda) - the backend

  Level: intermediate

  Notes:
  A backend that this build of the library does not have is an error (`PETSC_ERR_SUP`) at set-up.

  Raises `PETSC_ERR_ARG_OUTOFRANGE` for any other value.

.seealso: `PCBCRPOISSON`, `PCBCRPoissonGetBackend()`, `PCBCRPoissonBackend`
@*/
PetscErrorCode PCBCRPoissonSetBackend(PC pc, PCBCRPoissonBackend backend)
{
  PetscFunctionBegin;
  PetscCall(BCROptionSet(pc, __func__, 1, &backend));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonGetBackend - gets where `PCBCRPOISSON` is asked to do its work

  Not Collective

  Input Parameter:
. pc - the preconditioner

  Output Parameter:
. backend - the backend

  Level: intermediate

.seealso: `PCBCRPOISSON`, `PCBCRPoissonSetBackend()`
@*/
PetscErrorCode PCBCRPoissonGetBackend(PC pc, PCBCRPoissonBackend *backend)
{
  PetscFunctionBegin;
  PetscCall(BCROptionGet(pc, __func__, NULL, backend));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonSetTransport - sets how `PCBCRPOISSON` on several ranks moves data between their GPUs

  Logically Collective

  Input Parameters:
+ pc        - the preconditioner
- transport - see `PCBCRPoissonTransport`

  Options Database Key:
. -pc_bcrpoisson_transport (auto|mpi|nccl|host) - the transport

  Level: advanced

  Notes:
  It is of no use on one rank, or where the work is done on the host. A transport that this build of
  the library, this MPI or this machine does not have is an error (`PETSC_ERR_SUP`) at set-up on
  every rank; `PCBCRPOISSON_TRANSPORT_AUTO` takes another one, and `PCView()` says why.

  Where vectors are brought to slabs and back, `PCBCRPOISSON_TRANSPORT_AUTO` has ranks of a node map the slabs of one
  another (CUDA IPC), if CUDA lets them; any other value has these messages go by that transport, too.

  Raises `PETSC_ERR_ARG_OUTOFRANGE` for any other value.

.seealso: `PCBCRPOISSON`, `PCBCRPoissonGetTransport()`, `PCBCRPoissonTransport`, `PCBCRPoissonSetBackend()`
@*/
PetscErrorCode PCBCRPoissonSetTransport(PC pc, PCBCRPoissonTransport transport)
{
  PetscFunctionBegin;
  PetscCall(BCROptionSet(pc, __func__, 1, &transport));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonGetTransport - gets how `PCBCRPOISSON` on several ranks is asked to move data between their GPUs

  Not Collective

  Input Parameter:
. pc - the preconditioner

  Output Parameter:
. transport - see `PCBCRPoissonTransport`

  Level: advanced

.seealso: `PCBCRPOISSON`, `PCBCRPoissonSetTransport()`
@*/
PetscErrorCode PCBCRPoissonGetTransport(PC pc, PCBCRPoissonTransport *transport)
{
  PetscFunctionBegin;
  PetscCall(BCROptionGet(pc, __func__, NULL, transport));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonSetPrecision - sets the precision of the work inside `PCBCRPOISSON`

  Logically Collective

  Input Parameters:
+ pc        - the preconditioner
- precision - `PCBCRPOISSON_PRECISION_DOUBLE`, `PCBCRPOISSON_PRECISION_SINGLE` or `PCBCRPOISSON_PRECISION_MIXED`

  Options Database Key:
. -pc_bcrpoisson_precision (double|single|mixed) - the precision

  Level: intermediate

  Notes:
  The default is double where `PetscReal` is, else single. Tables are computed in double in any
  case. A right-hand side that overflows in single is an error (`PETSC_ERR_FP`) with
  `KSPSetErrorIfNotConverged()`, else a solution that is not finite; `PCBCRPOISSON_PRECISION_MIXED`
  scales it.

  Raises `PETSC_ERR_ARG_OUTOFRANGE` for any other value.

.seealso: `PCBCRPOISSON`, `PCBCRPoissonGetPrecision()`, `PCBCRPoissonPrecision`
@*/
PetscErrorCode PCBCRPoissonSetPrecision(PC pc, PCBCRPoissonPrecision precision)
{
  PetscFunctionBegin;
  PetscCall(BCROptionSet(pc, __func__, 1, &precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonGetPrecision - gets the precision of the work inside `PCBCRPOISSON`

  Not Collective

  Input Parameter:
. pc - the preconditioner

  Output Parameter:
. precision - the precision

  Level: intermediate

.seealso: `PCBCRPOISSON`, `PCBCRPoissonSetPrecision()`
@*/
PetscErrorCode PCBCRPoissonGetPrecision(PC pc, PCBCRPoissonPrecision *precision)
{
  PetscFunctionBegin;
  PetscCall(BCROptionGet(pc, __func__, NULL, precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonSetOperatorSource - sets where `PCBCRPOISSON` takes the coefficients of the operator from

  Logically Collective

  Input Parameters:
+ pc     - the preconditioner
- source - `PCBCRPOISSON_OPERATOR_MATRIX` or `PCBCRPOISSON_OPERATOR_USER`

  Options Database Key:
. -pc_bcrpoisson_operator (matrix|user) - the source

  Level: intermediate

  Notes:
  `PCSetUp()` raises `PETSC_ERR_ORDER` for `PCBCRPOISSON_OPERATOR_USER` without an operator, and
  `PETSC_ERR_SUP` for `PCBCRPOISSON_OPERATOR_MATRIX` with a matrix that has no entries (`MATSHELL`).

  Raises `PETSC_ERR_ARG_OUTOFRANGE` for any other value.

.seealso: `PCBCRPOISSON`, `PCBCRPoissonGetOperatorSource()`, `PCBCRPoissonSetOperator()`, `PCBCRPoissonOperatorSource`
@*/
PetscErrorCode PCBCRPoissonSetOperatorSource(PC pc, PCBCRPoissonOperatorSource source)
{
  PetscFunctionBegin;
  PetscCall(BCROptionSet(pc, __func__, 1, &source));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonGetOperatorSource - gets where `PCBCRPOISSON` takes the coefficients of the operator from

  Not Collective

  Input Parameter:
. pc - the preconditioner

  Output Parameter:
. source - the source

  Level: intermediate

.seealso: `PCBCRPOISSON`, `PCBCRPoissonSetOperatorSource()`
@*/
PetscErrorCode PCBCRPoissonGetOperatorSource(PC pc, PCBCRPoissonOperatorSource *source)
{
  PetscFunctionBegin;
  PetscCall(BCROptionGet(pc, __func__, NULL, source));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonSetFit - sets what `PCBCRPOISSON` does with a matrix that is not separable

  Logically Collective

  Input Parameters:
+ pc  - the preconditioner
- fit - `PCBCRPOISSON_FIT_AUTO`, `PCBCRPOISSON_FIT_SCALED`, `PCBCRPOISSON_FIT_AVERAGE`, `PCBCRPOISSON_FIT_PROFILE`
        or `PCBCRPOISSON_FIT_EXACT`

  Options Database Key:
. -pc_bcrpoisson_fit (auto|scaled|average|profile|exact) - the fit

  Level: intermediate

  Notes:
  With `PCBCRPOISSON_FIT_AUTO`, the default, a fit is a preconditioner only: `PCPreSolve()` raises
  `PETSC_ERR_SUP` for a `KSPPREONLY` (or a `KSPBCRPOISSON` that computes no norm) that the user
  solves with, or a `SNESKSPONLY`, and so does `PCMatApply()`. Inner solvers may use it. With a fit
  that is chosen by its name its solution is what is asked for. With `KSPPREONLY` use
  `PCBCRPOISSON_FIT_EXACT`.

  `PCView()` says what the fit was and the largest deviation of an entry of the matrix from it,
  relative to the entry of the fit (to its diagonal where the fit has none). `PCSetUp()` raises
  `PETSC_ERR_SUP` with `PCBCRPOISSON_FIT_EXACT` for a matrix that is not separable, and with any fit
  for one that no fit helps: a wide stencil, coupled components, complex coefficients other than a
  constant shift and one phase for all couplings.

  Raises `PETSC_ERR_ARG_OUTOFRANGE` for any other value.

.seealso: `PCBCRPOISSON`, `PCBCRPoissonGetFit()`, `PCBCRPoissonFit`
@*/
PetscErrorCode PCBCRPoissonSetFit(PC pc, PCBCRPoissonFit fit)
{
  PetscFunctionBegin;
  PetscCall(BCROptionSet(pc, __func__, 1, &fit));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonGetFit - gets what `PCBCRPOISSON` does with a matrix that is not separable

  Not Collective

  Input Parameter:
. pc - the preconditioner

  Output Parameter:
. fit - the fit

  Level: intermediate

.seealso: `PCBCRPOISSON`, `PCBCRPoissonSetFit()`
@*/
PetscErrorCode PCBCRPoissonGetFit(PC pc, PCBCRPoissonFit *fit)
{
  PetscFunctionBegin;
  PetscCall(BCROptionGet(pc, __func__, NULL, fit));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonSetCapacitance - sets what `PCBCRPOISSON` does with a matrix of which some rows are not those of a separable
  operator: obstacles, coasts, materials, wells, pinned rows

  Logically Collective

  Input Parameters:
+ pc          - the preconditioner context
- capacitance - `PCBCRPOISSON_CAPACITANCE_AUTO`, `PCBCRPOISSON_CAPACITANCE_OFF` or `PCBCRPOISSON_CAPACITANCE_EXTENSION`

  Options Database Key:
. -pc_bcrpoisson_capacitance (auto|off|extension) - what to do with it

  Level: intermediate

  Notes:
  The operator is then the one that most rows have. With `m` rows that differ from it a solve is a direct one: two
  solves with the operator on the box, and as many as the iterations of a system of `m` numbers that has a small condition
  number, whatever the size of the grid, to rounding. What is learnt of that system is kept for the next right-hand side,
  see `PCBCRPoissonSetCapacitanceMaxRows()`; `PCView()` tells how many rows of which kind differ.

  A matrix of which more than an eighth of the rows differ is fitted, `PCBCRPoissonSetFit()`, as is any with
  `PCBCRPOISSON_CAPACITANCE_OFF` and where a fit has been chosen by name. Of stencils of 9 and 27 points, and of complex
  matrices, there are no fits: `PCSetUp()` raises `PETSC_ERR_SUP` then.

  With `PCBCRPOISSON_CAPACITANCE_EXTENSION` an application is one solve of the box with a right-hand side that is zero in
  the mask, without what the solution is there, and the right-hand side over the diagonal in the mask. It is symmetric if
  the box is, and positive definite, for `KSPCG` on a symmetric matrix; the number of iterations does not grow with the
  grid where there is no flux into the mask, and slowly where the solution is held there. `PCSetUp()`
  raises `PETSC_ERR_SUP` where rows differ by more than a mask.

  Raises `PETSC_ERR_ARG_OUTOFRANGE` for any other value.

  References:
. * - B. L. Buzbee, F. W. Dorr, J. A. George, G. H. Golub, The direct solution of the discrete Poisson equation on
     irregular regions, SIAM J. Numer. Anal. 8, 1971

.seealso: `PCBCRPOISSON`, `PCBCRPoissonGetCapacitance()`, `PCBCRPoissonCapacitance`, `PCBCRPoissonSetFit()`
@*/
PetscErrorCode PCBCRPoissonSetCapacitance(PC pc, PCBCRPoissonCapacitance capacitance)
{
  PetscFunctionBegin;
  PetscCall(BCROptionSet(pc, __func__, 1, &capacitance));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonGetCapacitance - gets what `PCBCRPOISSON` does with a matrix of which some rows are not those of a separable
  operator

  Not Collective

  Input Parameter:
. pc - the preconditioner

  Output Parameter:
. capacitance - what it does

  Level: intermediate

.seealso: `PCBCRPOISSON`, `PCBCRPoissonSetCapacitance()`
@*/
PetscErrorCode PCBCRPoissonGetCapacitance(PC pc, PCBCRPoissonCapacitance *capacitance)
{
  PetscFunctionBegin;
  PetscCall(BCROptionGet(pc, __func__, NULL, capacitance));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonSetCapacitanceMaxRows - sets how many directions `PCBCRPOISSON` keeps of the system of rows that differ

  Logically Collective

  Input Parameters:
+ pc   - the preconditioner context
- rows - directions at most, 2000 by default; at least 1

  Options Database Key:
. -pc_bcrpoisson_capacitance_max_rows rows - directions at most

  Level: advanced

  Notes:
  With `m` rows that differ, `k` directions take `2 m k` numbers. They serve all further right-hand sides; where all `m` are
  known a solve is two solves of the box. Where `m` is more than the limit, those of the first solves are kept, and one for
  each later right-hand side; when these are too many they are forgotten. No more than 32 are kept then where they take more
  memory than 8 vectors do.

  Raises `PETSC_ERR_ARG_OUTOFRANGE` for a number below 1.

.seealso: `PCBCRPOISSON`, `PCBCRPoissonSetCapacitance()`, `PCBCRPoissonGetCapacitanceMaxRows()`
@*/
PetscErrorCode PCBCRPoissonSetCapacitanceMaxRows(PC pc, PetscInt rows)
{
  PetscFunctionBegin;
  PetscCall(BCROptionSet(pc, __func__, 1, &rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonGetCapacitanceMaxRows - gets how many directions `PCBCRPOISSON` keeps of the system of rows that differ

  Not Collective

  Input Parameter:
. pc - the preconditioner

  Output Parameter:
. rows - directions at most

  Level: advanced

.seealso: `PCBCRPOISSON`, `PCBCRPoissonSetCapacitanceMaxRows()`
@*/
PetscErrorCode PCBCRPoissonGetCapacitanceMaxRows(PC pc, PetscInt *rows)
{
  PetscFunctionBegin;
  PetscCall(BCROptionGet(pc, __func__, NULL, rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonGetCapacitanceSolves - gets how many rows of the matrix of `PCBCRPOISSON` differ from its operator, and how
  many solves of the box the last application took

  Not Collective

  Input Parameter:
. pc - the preconditioner, set up

  Output Parameters:
+ rows   - rows that differ, on all ranks, those of a mask that touch nothing not counted; 0 if none does. Or `NULL`
- solves - solves of the box in the last application, 0 before the first one. Or `NULL`

  Level: advanced

.seealso: `PCBCRPOISSON`, `PCBCRPoissonSetCapacitance()`
@*/
PetscErrorCode PCBCRPoissonGetCapacitanceSolves(PC pc, PetscInt *rows, PetscInt *solves)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  if (rows) *rows = 0;
  if (solves) *solves = 0;
  PetscTryMethod(pc, "PCBCRPoissonGetCapacitanceSolves_C", (PC, PetscInt *, PetscInt *), (pc, rows, solves));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonSetRecursive - chooses how a given radix or schedule of `PCBCRPOISSON` treats three dimensions

  Logically Collective

  Input Parameters:
+ pc        - the preconditioner context
- recursive - `PETSC_TRUE` for the recursion of the paper: each sub-problem of the reduction along z is a two-dimensional shifted problem, itself
              solved by reduction along y; `PETSC_FALSE` (the default) for a transform along one
              axis and the reduction of each of its modes

  Options Database Key:
. -pc_bcrpoisson_recursive (off|on) - the recursion

  Level: advanced

  Note:
  Without a radix or a schedule, and in one or two dimensions, this has no effect.

  Reference:
  M. Myllykoski, T. Rossi and J. Toivanen, Fast Poisson solvers for graphics processing units, 2013, section 2.

.seealso: `PCBCRPOISSON`, `PCBCRPoissonGetRecursive()`, `PCBCRPoissonSetRadix()`, `PCBCRPoissonSetSchedule()`
@*/
PetscErrorCode PCBCRPoissonSetRecursive(PC pc, PetscBool recursive)
{
  PetscFunctionBegin;
  PetscCall(BCROptionSet(pc, __func__, 1, &recursive));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonGetRecursive - gets whether a given radix or schedule of `PCBCRPOISSON` is applied
  recursively in three dimensions

  Not Collective

  Input Parameter:
. pc - the preconditioner context

  Output Parameter:
. recursive - `PETSC_TRUE` if it is

  Level: advanced

.seealso: `PCBCRPOISSON`, `PCBCRPoissonSetRecursive()`
@*/
PetscErrorCode PCBCRPoissonGetRecursive(PC pc, PetscBool *recursive)
{
  PetscFunctionBegin;
  PetscCall(BCROptionGet(pc, __func__, NULL, recursive));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonSetTune - turns the parameter optimizer of `PCBCRPOISSON` on or off

  Logically Collective

  Input Parameters:
+ pc   - the preconditioner
- tune - `PETSC_TRUE` to time several plans at set-up and take the fastest

  Options Database Key:
. -pc_bcrpoisson_tune (off|on) - the optimizer

  Level: advanced

  Notes:
  For programs that solve many times: set-up costs as much as some twenty solves, once. It happens anew only when the
  form of the operator changes, not its values. On the host it has nothing to do where the radix or
  the schedule is given, on a GPU it times their launch parameters. `PCBCRPoissonSetTuneFile()`
  keeps what it found.

  Which plan is the fastest depends on the machine and its load, so that two runs need not agree in the last digits.

.seealso: `PCBCRPOISSON`, `PCBCRPoissonGetTune()`, `PCBCRPoissonSetRadix()`, `PCBCRPoissonSetSchedule()`
@*/
PetscErrorCode PCBCRPoissonSetTune(PC pc, PetscBool tune)
{
  PetscFunctionBegin;
  PetscCall(BCROptionSet(pc, __func__, 1, &tune));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonGetTune - gets whether the parameter optimizer of `PCBCRPOISSON` is on

  Not Collective

  Input Parameter:
. pc - the preconditioner

  Output Parameter:
. tune - `PETSC_TRUE` if it is

  Level: advanced

.seealso: `PCBCRPOISSON`, `PCBCRPoissonSetTune()`
@*/
PetscErrorCode PCBCRPoissonGetTune(PC pc, PetscBool *tune)
{
  PetscFunctionBegin;
  PetscCall(BCROptionGet(pc, __func__, NULL, tune));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonSetTuneFile - names the file in which the parameter optimizer of `PCBCRPOISSON` keeps what it found

  Logically Collective

  Input Parameters:
+ pc   - the preconditioner
- name - the file, NULL or empty for none

  Options Database Key:
. -pc_bcrpoisson_tune_file name - the file

  Level: advanced

  Notes:
  A line of text for each grid: what it was timed on (size, number of components, precision, device
  or instruction set, ranks), then the plan. Where the file has the grid at hand, nothing is timed;
  else, if `PCBCRPoissonSetTune()` is on, what was found is appended. Lines may be written and
  removed by hand.

.seealso: `PCBCRPOISSON`, `PCBCRPoissonGetTuneFile()`, `PCBCRPoissonSetTune()`
@*/
PetscErrorCode PCBCRPoissonSetTuneFile(PC pc, const char name[])
{
  PetscFunctionBegin;
  PetscCall(BCROptionSet(pc, __func__, 1, name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonGetTuneFile - gets the file in which the parameter optimizer of `PCBCRPOISSON` keeps what it found

  Not Collective

  Input Parameter:
. pc - the preconditioner

  Output Parameter:
. name - the file, NULL for none; not to be freed

  Level: advanced

.seealso: `PCBCRPOISSON`, `PCBCRPoissonSetTuneFile()`
@*/
PetscErrorCode PCBCRPoissonGetTuneFile(PC pc, const char *name[])
{
  PetscFunctionBegin;
  PetscCall(BCROptionGet(pc, __func__, NULL, name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonSetGraph - chooses how `PCBCRPOISSON` launches its kernels on a GPU

  Logically Collective

  Input Parameters:
+ pc    - the preconditioner
- graph - `PETSC_TRUE` (default): as one CUDA graph, from the second application to the same vectors on; `PETSC_FALSE`: one by one

  Options Database Key:
. -pc_bcrpoisson_graph (on|off) - as a CUDA graph

  Level: advanced

  Note:
  A graph is a few microseconds faster, which is a good part of the time on small grids. The
  solution is the same, bit by bit. Tools that look at single kernels may need `off`. Solves that
  cannot be captured are launched one by one in any case.

.seealso: `PCBCRPOISSON`, `PCBCRPoissonGetGraph()`, `PCBCRPoissonSetBackend()`
@*/
PetscErrorCode PCBCRPoissonSetGraph(PC pc, PetscBool graph)
{
  PetscFunctionBegin;
  PetscCall(BCROptionSet(pc, __func__, 1, &graph));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonGetGraph - gets whether `PCBCRPOISSON` launches its kernels on a GPU as a CUDA graph

  Not Collective

  Input Parameter:
. pc - the preconditioner

  Output Parameter:
. graph - `PETSC_TRUE` if so

  Level: advanced

.seealso: `PCBCRPOISSON`, `PCBCRPoissonSetGraph()`
@*/
PetscErrorCode PCBCRPoissonGetGraph(PC pc, PetscBool *graph)
{
  PetscFunctionBegin;
  PetscCall(BCROptionGet(pc, __func__, NULL, graph));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonSetOperator - describes the operator that `PCBCRPOISSON` solves with, in place of
  reading it from the matrix

  Logically Collective

  Input Parameters:
+ pc      - the preconditioner
. dim     - dimension of the grid, 1, 2 or 3, that of the `DMDA`
. spacing - array of `dim`, distance between neighbouring unknowns along each axis, in the unit of length of the problem
. ends    - array of 2 `dim`: low and high end of x, then of y, then of z; `NULL` for periodic along axes that are so in the `DMDA` and Dirichlet at all others
. shift   - shift, in 1/length^2; may be negative as long as the operator stays definite
- scale   - factor on everything, not zero

  Options Database Keys:
+ -pc_bcrpoisson_spacing hx,hy,hz         - the spacing
. -pc_bcrpoisson_ends low,high,...        - the ends, each (dirichlet|neumann|cell_neumann|cell_dirichlet|periodic)
. -pc_bcrpoisson_shift c                  - the shift
- -pc_bcrpoisson_scale s                  - the scale

  Level: intermediate

  Notes:
  For a matrix without entries, such as a `MATSHELL`. The operator is scale (T_x + T_y + T_z +
  shift), with T_d of rows (-1, 2, -1)/h_d^2 and first and last rows as in `PCBCRPoissonEnd`. It
  acts on every node of the `DMDA`, and on each component of one with several. Calls
  `PCBCRPoissonSetOperatorSource()` with `PCBCRPOISSON_OPERATOR_USER`.

  The `DMDA` has to be given with `KSPSetDM()`, `PCSetDM()` or `MatSetDM()`. It knows which axes are
  periodic: a single word in `-pc_bcrpoisson_ends` is for all other ends.

  When only the shift and the scale differ from one call to the next, set-up keeps the plan.

  Raises `PETSC_ERR_ARG_OUTOFRANGE` for another dimension, a spacing that is not positive, an end
  that does not exist, a shift that is not finite and a scale of zero; `PCSetUp()` raises
  `PETSC_ERR_ARG_INCOMP` where the `DMDA` has another dimension, an axis is periodic at one end
  only, or is periodic here and not in the `DMDA` or the other way round, and `PETSC_ERR_SUP` where
  the shift makes the operator indefinite and a radix is given.

  Example Usage:
.vb
  PetscReal       spacing[] = {1. / 128, 1. / 64};
  PCBCRPoissonEnd ends[]    = {PCBCRPOISSON_NEUMANN, PCBCRPOISSON_DIRICHLET, PCBCRPOISSON_PERIODIC, PCBCRPOISSON_PERIODIC};

  PCBCRPoissonSetOperator(pc, 2, spacing, ends, 0.0, 1.0);
.ve

.seealso: `PCBCRPOISSON`, `PCBCRPoissonGetOperator()`, `PCBCRPoissonSetOperatorAxis()`, `PCBCRPoissonSetOperatorRobin()`,
          `PCBCRPoissonSetOperatorSource()`, `PCBCRPoissonEnd`
@*/
PetscErrorCode PCBCRPoissonSetOperator(PC pc, PetscInt dim, const PetscReal spacing[], const PCBCRPoissonEnd ends[],
                                       PetscReal shift, PetscReal scale)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, dim, 2);
  BCRAssertPointer(spacing, 3);
  PetscValidLogicalCollectiveReal(pc, shift, 5);
  PetscValidLogicalCollectiveReal(pc, scale, 6);
  PetscTryMethod(pc, "PCBCRPoissonSetOperator_C",
                 (PC, PetscInt, const PetscReal[], const PCBCRPoissonEnd[], PetscReal, PetscReal),
                 (pc, dim, spacing, ends, shift, scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonGetOperator - gets what `PCBCRPoissonSetOperator()` or the options said

  Not Collective

  Input Parameter:
. pc - the preconditioner

  Output Parameters:
+ dim     - the dimension, 0 if it was not given
. spacing - array of 3
. ends    - array of 6
. shift   - the shift
- scale   - the scale

  Level: intermediate

  Note:
  Outputs that are not needed may be `NULL`. Ends that were not given are `PCBCRPOISSON_DIRICHLET`,
  also where the `DMDA` turns out to be periodic.

.seealso: `PCBCRPOISSON`, `PCBCRPoissonSetOperator()`
@*/
PetscErrorCode PCBCRPoissonGetOperator(PC pc, PetscInt *dim, PetscReal spacing[], PCBCRPoissonEnd ends[],
                                       PetscReal *shift, PetscReal *scale)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCBCRPoissonGetOperator_C",
                 (PC, PetscInt *, PetscReal[], PCBCRPoissonEnd[], PetscReal *, PetscReal *),
                 (pc, dim, spacing, ends, shift, scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonSetOperatorAxis - describes an axis of the operator that `PCBCRPOISSON` solves with, whose coefficients vary
  along it

  Logically Collective

  Input Parameters:
+ pc       - the preconditioner
. axis     - `DM_X`, `DM_Y` or `DM_Z`
. n        - number of rows, the nodes of the `DMDA` along the axis; 0: the axis is uniform again, as `PCBCRPoissonSetOperator()` says
. lower    - array of `n`: what row i has in column i - 1, not positive; in the first row 0, or the last column's where the axis is periodic
. diagonal - array of `n`: what it has on the diagonal
- upper    - array of `n`: what it has in column i + 1, not positive; in the last row 0, or the first column's where the axis is periodic

  Options Database Key:
. -pc_bcrpoisson_axes_file name - a text file with a line "axis y", say, and a line "lower diagonal upper" for each row

  Level: intermediate

  Notes:
  In scale (T_x + T_y + T_z + shift) the rows of T_axis are

      lower_i u_(i-1) + diagonal_i u_i + upper_i u_(i+1)

  with the conditions at its ends in the first and the last row. Axes without arrays are as `PCBCRPoissonSetOperator()` says, which
  also has shift and scale, and need not be called where all axes have arrays, for the shift 0 and the scale 1. The arrays
  are copied; each process gives all of the axis, the same. Calls `PCBCRPoissonSetOperatorSource()` with `PCBCRPOISSON_OPERATOR_USER`.

  Several axes may have arrays: one of them has the lines, the others are transformed by their eigenvectors, for which
  diag(h) T is symmetric with some h > 0. Without a matrix there is no refinement where sqrt(max h/min h) is beyond 30, as there is where an
  operator is read: `KSPBCRPOISSON` or another `KSP` does it.

  Raises `PETSC_ERR_ARG_OUTOFRANGE` for numbers that are not finite and for positive couplings; `PCSetUp()` raises `PETSC_ERR_ARG_SIZ` where the
  `DMDA` has another number of nodes along the axis, `PETSC_ERR_ARG_INCOMP` where it has no such axis, or is not periodic along it (`DM_BOUNDARY_PERIODIC`)
  and the first or last row is coupled to what is beyond it, `PETSC_ERR_ARG_NOTSAMETYPE` where processes have given different
  arrays, and `PETSC_ERR_SUP` where eigenvectors are out of reach: more than 2048 nodes along two axes with arrays,
  rows coupled one way only, sqrt(max h/min h) beyond 1e7.

  Example Usage:
.vb
  for (PetscInt i = 0; i < n; ++i) { // cells of widths h[i] between walls where u = 0
    lower[i]    = i > 0 ? -2 / (h[i] * (h[i] + h[i - 1])) : 0;
    upper[i]    = i < n - 1 ? -2 / (h[i] * (h[i] + h[i + 1])) : 0;
    diagonal[i] = -lower[i] - upper[i] + (i == 0 || i == n - 1 ? 2 / (h[i] * h[i]) : 0);
  }
  PCBCRPoissonSetOperatorAxis(pc, DM_Y, n, lower, diagonal, upper);
.ve

.seealso: `PCBCRPOISSON`, `PCBCRPoissonGetOperatorAxis()`, `PCBCRPoissonSetOperator()`, `PCBCRPoissonSetOperatorRobin()`
@*/
PetscErrorCode PCBCRPoissonSetOperatorAxis(PC pc, DMDirection axis, PetscInt n, const PetscReal lower[],
                                           const PetscReal diagonal[], const PetscReal upper[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, axis, 2);
  PetscValidLogicalCollectiveInt(pc, n, 3);
  if (n > 0) BCRAssertPointer(lower, 4);
  if (n > 0) BCRAssertPointer(diagonal, 5);
  if (n > 0) BCRAssertPointer(upper, 6);
  PetscTryMethod(pc, "PCBCRPoissonSetOperatorAxis_C",
                 (PC, DMDirection, PetscInt, const PetscReal[], const PetscReal[], const PetscReal[]),
                 (pc, axis, n, lower, diagonal, upper));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  PCBCRPoissonGetOperatorAxis - gets what `PCBCRPoissonSetOperatorAxis()` was given

  Not Collective

  Input Parameters:
+ pc   - the preconditioner
- axis - `DM_X`, `DM_Y` or `DM_Z`

  Output Parameters:
+ n        - number of rows, 0 for a uniform axis; may be `NULL`
. lower    - array of `n`, owned by the preconditioner; may be `NULL`
. diagonal - array of `n`, the same
- upper    - array of `n`, the same

  Level: intermediate

.seealso: `PCBCRPOISSON`, `PCBCRPoissonSetOperatorAxis()`
@*/
PetscErrorCode PCBCRPoissonGetOperatorAxis(PC pc, DMDirection axis, PetscInt *n, const PetscReal *lower[],
                                           const PetscReal *diagonal[], const PetscReal *upper[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCBCRPoissonGetOperatorAxis_C",
                 (PC, DMDirection, PetscInt *, const PetscReal *[], const PetscReal *[], const PetscReal *[]),
                 (pc, axis, n, lower, diagonal, upper));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonSetOperatorTimes - multiplies one axis of the operator that `PCBCRPOISSON` solves with by numbers along another

  Logically Collective

  Input Parameters:
+ pc    - the preconditioner
. along - `DM_X`, `DM_Y` or `DM_Z`: the axis that the numbers are along
. of    - another one: the axis that is multiplied
. n     - how many there are, the nodes of the `DMDA` along that axis; 0: none
- times - array of `n`, positive

  Options Database Key:
. -pc_bcrpoisson_axes_file name - a text file with a line "times x z", for numbers along x that multiply z, and a line for each

  Level: intermediate

  Notes:
  The operator is scale (T_x + T_y + T_z + shift), with times_i T_of in place of T_of in row i of `along`: cylinders (r along x, theta along y, z)
  are

      r (r u_r)_r + u_tt + r^2 u_zz

  with times = r^2 along x of z; layers are k(z) (u_xx + u_yy) + (k u_z)_z, divided by k. The numbers are copied; each process gives all, the same. The rest is described by
  `PCBCRPoissonSetOperator()` and `PCBCRPoissonSetOperatorAxis()`.

  Lines are along that axis, the two others are transformed: what the page of `PCBCRPoissonSetOperatorAxis()` says of several axes with arrays holds for these two.

  Raises `PETSC_ERR_ARG_OUTOFRANGE` for the same axis twice and for numbers that are not positive; `PCSetUp()` raises `PETSC_ERR_ARG_INCOMP` where the `DMDA` lacks one of the axes or has one node along it,
  `PETSC_ERR_ARG_SIZ` where it has another number of nodes, `PETSC_ERR_ARG_NOTSAMETYPE` where processes have given different numbers.

.seealso: `PCBCRPOISSON`, `PCBCRPoissonGetOperatorTimes()`, `PCBCRPoissonSetOperator()`, `PCBCRPoissonSetOperatorAxis()`
@*/
PetscErrorCode PCBCRPoissonSetOperatorTimes(PC pc, DMDirection along, DMDirection of, PetscInt n,
                                            const PetscReal times[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, along, 2);
  PetscValidLogicalCollectiveEnum(pc, of, 3);
  PetscValidLogicalCollectiveInt(pc, n, 4);
  if (n > 0) BCRAssertPointer(times, 5);
  PetscTryMethod(pc, "PCBCRPoissonSetOperatorTimes_C", (PC, DMDirection, DMDirection, PetscInt, const PetscReal[]),
                 (pc, along, of, n, times));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  PCBCRPoissonGetOperatorTimes - gets what `PCBCRPoissonSetOperatorTimes()` was given

  Not Collective

  Input Parameter:
. pc - the preconditioner

  Output Parameters:
+ along - the axis that the numbers are along; may be `NULL`, as all of these
. of    - the axis that is multiplied
. n     - how many there are, 0: none
- times - array of `n`, owned by the preconditioner

  Level: intermediate

.seealso: `PCBCRPOISSON`, `PCBCRPoissonSetOperatorTimes()`
@*/
PetscErrorCode PCBCRPoissonGetOperatorTimes(PC pc, DMDirection *along, DMDirection *of, PetscInt *n,
                                            const PetscReal *times[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCBCRPoissonGetOperatorTimes_C",
                 (PC, DMDirection *, DMDirection *, PetscInt *, const PetscReal *[]), (pc, along, of, n, times));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonSetOperatorRobin - makes Neumann ends of the operator of `PCBCRPoissonSetOperator()` Robin ends

  Logically Collective

  Input Parameters:
+ pc    - the preconditioner
. n     - number of values, twice the dimension of the `DMDA`, or 0 for no Robin ends
- robin - array of `n`, low and high end of x, then of y, then of z: b in u' + b u = 0, u' the derivative outward, in 1/length; 0 at all other ends

  Options Database Key:
. -pc_bcrpoisson_robin b,... - the values

  Level: intermediate

  Notes:
  For ends that are `PCBCRPOISSON_NEUMANN`, where the condition is at the last node (its row is (2 + 2 b h, -2)/h^2), or
  `PCBCRPOISSON_CELL_NEUMANN`, where it is on the face half a spacing beyond (1 + b h/(1 + b h/2), -1)/h^2. Negative values are allowed.
  The axis is then one whose coefficients vary, as with `PCBCRPoissonSetOperatorAxis()`, and what its page says of several of these holds.

  Raises `PETSC_ERR_ARG_OUTOFRANGE` for values that are not finite; `PCSetUp()` raises `PETSC_ERR_ARG_SIZ` for a number of values that is not twice the
  dimension, and `PETSC_ERR_ARG_INCOMP` for one that is not 0 at an end that is not Neumann (Dirichlet, or periodic in the `DMDA`, or of an axis that has arrays).

.seealso: `PCBCRPOISSON`, `PCBCRPoissonGetOperatorRobin()`, `PCBCRPoissonSetOperator()`, `PCBCRPoissonSetOperatorAxis()`, `PCBCRPoissonEnd`
@*/
PetscErrorCode PCBCRPoissonSetOperatorRobin(PC pc, PetscInt n, const PetscReal robin[])
{
  PetscFunctionBegin;
  PetscCall(BCROptionSet(pc, __func__, n, robin));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  PCBCRPoissonGetOperatorRobin - gets the values of `PCBCRPoissonSetOperatorRobin()`

  Not Collective

  Input Parameter:
. pc - the preconditioner

  Output Parameters:
+ n     - number of values, 0 if there are none
- robin - array of `n`, owned by the preconditioner; may be `NULL`

  Level: intermediate

.seealso: `PCBCRPOISSON`, `PCBCRPoissonSetOperatorRobin()`
@*/
PetscErrorCode PCBCRPoissonGetOperatorRobin(PC pc, PetscInt *n, const PetscReal *robin[])
{
  PetscFunctionBegin;
  PetscCall(BCROptionGet(pc, __func__, n, robin));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonSetOperatorMixed - adds products of axes to the operator of `PCBCRPoissonSetOperator()`

  Logically Collective

  Input Parameters:
+ pc    - the preconditioner
. n     - number of factors: one in two dimensions, four in three, or 0 for no products
- mixed - array of `n`: the factors of D_x D_y, then of D_x D_z, D_y D_z and D_x D_y D_z, in length^2 (the last in length^4)

  Options Database Key:
. -pc_bcrpoisson_mixed xy[,xz,yz,xyz] - the factors

  Level: advanced

  Notes:
  The operator is scale (D_x + D_y + D_z + shift + xy D_x D_y + ...) with D_d the negative second difference along axis d,
  (-1, 2, -1)/h_d^2 inside, and the ends that `PCBCRPoissonSetOperator()` says: constant 9- and 27-point stencils. Bilinear elements have
  xy = -(h_x^2 + h_y^2)/6, the compact scheme of fourth order ("Mehrstellen") -(h_x^2 + h_y^2)/12. It may be indefinite; modes whose
  eigenvalue is next to zero are an error, see `PCBCRPOISSON`.

  Raises `PETSC_ERR_ARG_OUTOFRANGE` for factors that are not finite or another number than 0, 1 and 4 of them; `PCSetUp()` raises `PETSC_ERR_ARG_SIZ`
  for a number that is not that of the dimension, and `PETSC_ERR_ARG_INCOMP` in one dimension, with axes that have arrays, Robin values or times, and
  with an imaginary shift.

.seealso: `PCBCRPOISSON`, `PCBCRPoissonGetOperatorMixed()`, `PCBCRPoissonSetOperator()`, `PCBCRPoissonSetOperatorShiftImaginary()`
@*/
PetscErrorCode PCBCRPoissonSetOperatorMixed(PC pc, PetscInt n, const PetscReal mixed[])
{
  PetscFunctionBegin;
  PetscCall(BCROptionSet(pc, __func__, n, mixed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  PCBCRPoissonGetOperatorMixed - gets the factors of `PCBCRPoissonSetOperatorMixed()`

  Not Collective

  Input Parameter:
. pc - the preconditioner

  Output Parameters:
+ n     - number of factors, 0 if there are none
- mixed - array of `n`, owned by the preconditioner; may be `NULL`

  Level: advanced

.seealso: `PCBCRPOISSON`, `PCBCRPoissonSetOperatorMixed()`
@*/
PetscErrorCode PCBCRPoissonGetOperatorMixed(PC pc, PetscInt *n, const PetscReal *mixed[])
{
  PetscFunctionBegin;
  PetscCall(BCROptionGet(pc, __func__, n, mixed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonSetOperatorShiftImaginary - sets the imaginary part of the shift of the operator of `PCBCRPoissonSetOperator()`

  Logically Collective

  Input Parameters:
+ pc  - the preconditioner
- tau - the imaginary part, in the unit of the shift; 0 by default

  Options Database Key:
. -pc_bcrpoisson_shift_imaginary tau - the imaginary part

  Level: advanced

  Notes:
  The operator is scale (-Laplacian + shift + i tau): damped waves, implicit steps of Schroedinger's equation, diffusion in the frequency domain.
  It is solved by complex lines on the host, also with arrays, Robin values and weights of rows, but not with periodic axes that have arrays or with times.

  Raises `PETSC_ERR_SUP` where PETSc has real scalars, unless `tau` is 0, and `PETSC_ERR_ARG_OUTOFRANGE` for a number that is not finite.

.seealso: `PCBCRPOISSON`, `PCBCRPoissonGetOperatorShiftImaginary()`, `PCBCRPoissonSetOperator()`
@*/
PetscErrorCode PCBCRPoissonSetOperatorShiftImaginary(PC pc, PetscReal tau)
{
  PetscFunctionBegin;
  PetscValidLogicalCollectiveReal(pc, tau, 2);
  PetscCall(BCROptionSet(pc, __func__, 1, &tau));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonGetOperatorShiftImaginary - gets the imaginary part of the shift of the operator of `PCBCRPoissonSetOperator()`

  Not Collective

  Input Parameter:
. pc - the preconditioner

  Output Parameter:
. tau - the imaginary part

  Level: advanced

.seealso: `PCBCRPOISSON`, `PCBCRPoissonSetOperatorShiftImaginary()`
@*/
PetscErrorCode PCBCRPoissonGetOperatorShiftImaginary(PC pc, PetscReal *tau)
{
  PetscFunctionBegin;
  PetscCall(BCROptionGet(pc, __func__, NULL, tau));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonGetRemovedConstant - gets the size of the constant that the last application of a
  singular `PCBCRPOISSON` removed

  Not Collective

  Input Parameter:
. pc - the preconditioner

  Output Parameter:
. removed - magnitude of the (weighted) mean of the right-hand side, in its unit; 0 if the operator is not singular

  Level: intermediate

  Note:
  A value beyond rounding says that the singular system had no solution; the one of the nearest
  system that has one was returned.

.seealso: `PCBCRPOISSON`, `MatSetNullSpace()`
@*/
PetscErrorCode PCBCRPoissonGetRemovedConstant(PC pc, PetscReal *removed)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  BCRAssertPointer(removed, 2);
  PetscUseMethod(pc, "PCBCRPoissonGetRemovedConstant_C", (PC, PetscReal *), (pc, removed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonSetGrid - says which grid the rows of a matrix without a `DMDA` are, for `PCBCRPOISSON`

  Logically Collective

  Input Parameters:
+ pc  - the preconditioner
. dim - number of axes, 1 to 3; 0: the grid is found in the matrix (the default)
- n   - array of `dim`, the number of nodes of each axis, x first

  Options Database Key:
. -pc_bcrpoisson_grid nx,ny,nz - the grid, or `auto`

  Level: intermediate

  Notes:
  Rows are in natural order, x fastest, wherever processes cut them, unless
  `PCBCRPoissonSetGridProcessors()` says that they are numbered as a `DMDA` numbers them. Where the matrix
  has k rows for each node, they are k components, which are interlaced.

  A `DMDA` of the `KSP`, `PC`, matrix or vectors comes first. Without any, and without this, set-up finds
  the grid in the nonzero pattern of the matrix.

  Raises `PETSC_ERR_ARG_OUTOFRANGE` for other dimensions and sizes below 1; set-up raises
  `PETSC_ERR_ARG_SIZ` if the matrix has no such number of rows.

.seealso: `PCBCRPOISSON`, `PCBCRPoissonGetGrid()`, `PCBCRPoissonSetGridProcessors()`
@*/
PetscErrorCode PCBCRPoissonSetGrid(PC pc, PetscInt dim, const PetscInt n[])
{
  PetscFunctionBegin;
  PetscCall(BCROptionSet(pc, __func__, dim, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  PCBCRPoissonGetGrid - gets the grid that was given to `PCBCRPOISSON` by `PCBCRPoissonSetGrid()`

  Not Collective

  Input Parameter:
. pc - the preconditioner

  Output Parameters:
+ dim - number of axes, 0 if no grid was given
- n   - array of `dim`, owned by the preconditioner; may be `NULL`

  Level: intermediate

.seealso: `PCBCRPOISSON`, `PCBCRPoissonSetGrid()`
@*/
PetscErrorCode PCBCRPoissonGetGrid(PC pc, PetscInt *dim, const PetscInt *n[])
{
  PetscFunctionBegin;
  PetscCall(BCROptionGet(pc, __func__, dim, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonSetGridProcessors - says that the rows of a matrix without a `DMDA` are numbered as those of one, for `PCBCRPOISSON`

  Logically Collective

  Input Parameters:
+ pc  - the preconditioner
. dim - number of axes, as many as `PCBCRPoissonSetGrid()` was given; 0: rows are in natural order (the default)
- p   - array of `dim`, the number of processes along each axis, x first

  Options Database Key:
. -pc_bcrpoisson_grid_processors px,py,pz - the processes, or `natural`

  Level: intermediate

  Notes:
  Process r has the box (r mod px, r/px mod py, r/(px py)), whose nodes it numbers x fastest; axes are shared out as
  `DMDACreate3d()` does it by itself. Used only with `PCBCRPoissonSetGrid()`.

  Raises `PETSC_ERR_ARG_OUTOFRANGE` for numbers below 1; set-up raises `PETSC_ERR_ARG_SIZ` if there are other
  numbers of axes or of processes, or more processes than nodes along an axis.

.seealso: `PCBCRPOISSON`, `PCBCRPoissonGetGridProcessors()`, `PCBCRPoissonSetGrid()`
@*/
PetscErrorCode PCBCRPoissonSetGridProcessors(PC pc, PetscInt dim, const PetscInt p[])
{
  PetscFunctionBegin;
  PetscCall(BCROptionSet(pc, __func__, dim, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  PCBCRPoissonGetGridProcessors - gets what was given to `PCBCRPOISSON` by `PCBCRPoissonSetGridProcessors()`

  Not Collective

  Input Parameter:
. pc - the preconditioner

  Output Parameters:
+ dim - number of axes, 0 if none were given
- p   - array of `dim`, owned by the preconditioner; may be `NULL`

  Level: intermediate

.seealso: `PCBCRPOISSON`, `PCBCRPoissonSetGridProcessors()`
@*/
PetscErrorCode PCBCRPoissonGetGridProcessors(PC pc, PetscInt *dim, const PetscInt *p[])
{
  PetscFunctionBegin;
  PetscCall(BCROptionGet(pc, __func__, dim, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonSetOtherwise - names the `PC` that stands in for `PCBCRPOISSON` where there is no grid or no operator of its kind

  Logically Collective

  Input Parameters:
+ pc   - the preconditioner
- type - type of that `PC`, `NULL` or empty for none (the default)

  Options Database Key:
. -pc_bcrpoisson_otherwise type - the type

  Level: intermediate

  Notes:
  For programs with several `KSP`s that share the options database: one solves a Poisson problem,
  another elasticity. Without it set-up of the other one ends with an error. Errors that say that a matrix
  is none of this solver's become that `PC`; others (NaN, options that contradict each other, no memory) stay what
  they are. `PCView()` and `PetscInfo()` say which `PC` works, and why. Its options have the prefix
  `otherwise_` behind the one of this `PC`.

.seealso: `PCBCRPOISSON`, `PCBCRPoissonGetOtherwise()`, `PCSetType()`
@*/
PetscErrorCode PCBCRPoissonSetOtherwise(PC pc, PCType type)
{
  PetscFunctionBegin;
  PetscCall(BCROptionSet(pc, __func__, 1, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCBCRPoissonGetOtherwise - gets the type of the `PC` that stands in for `PCBCRPOISSON` where it cannot work

  Not Collective

  Input Parameter:
. pc - the preconditioner

  Output Parameter:
. type - the type, `NULL` for none; not to be freed

  Level: intermediate

.seealso: `PCBCRPOISSON`, `PCBCRPoissonSetOtherwise()`
@*/
PetscErrorCode PCBCRPoissonGetOtherwise(PC pc, PCType *type)
{
  PetscFunctionBegin;
  PetscCall(BCROptionGet(pc, __func__, NULL, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}
