/*
  The functions of PCNEATO for users. Each sets or gets what a line of the table in options.c says,
  if the PC is of this type.
*/
#include <petscbcr.h> /*I "petscbcr.h" I*/
#include "../options.h"

/* SUBMANSEC = PC */

/*@
  PCNeatoSetAxis - sets the axis along which `PCNEATO` solves the grid lines

  Logically Collective

  Input Parameters:
+ pc   - the preconditioner
- axis - `PCNEATO_AXIS_AUTO`, `PCNEATO_AXIS_X`, `PCNEATO_AXIS_Y` or `PCNEATO_AXIS_Z`

  Options Database Key:
. -pc_neato_axis (x|y|z|auto) - the axis

  Level: intermediate

  Notes:
  The automatic choice is the axis with the largest sum of couplings in the matrix, the one that a
  point smoother handles worst; equal axes count in the order x, y, z.

  An axis that the `DMDA` does not have is an error (`PETSC_ERR_ARG_OUTOFRANGE`) at set-up.

  Raises `PETSC_ERR_ARG_OUTOFRANGE` for any other value.

.seealso: `PCNEATO`, `PCNeatoGetAxis()`, `PCNeatoAxis`
@*/
PetscErrorCode PCNeatoSetAxis(PC pc, PCNeatoAxis axis)
{
  PetscFunctionBegin;
  PetscCall(BCROptionSet(pc, __func__, 1, &axis));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCNeatoGetAxis - gets the axis along which `PCNEATO` solves the grid lines, as asked for

  Not Collective

  Input Parameter:
. pc - the preconditioner

  Output Parameter:
. axis - `PCNEATO_AXIS_AUTO`, `PCNEATO_AXIS_X`, `PCNEATO_AXIS_Y` or `PCNEATO_AXIS_Z`

  Level: intermediate

.seealso: `PCNEATO`, `PCNeatoSetAxis()`, `PCNeatoAxis`
@*/
PetscErrorCode PCNeatoGetAxis(PC pc, PCNeatoAxis *axis)
{
  PetscFunctionBegin;
  PetscCall(BCROptionGet(pc, __func__, NULL, axis));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCNeatoSetMethod - sets the method by which `PCNEATO` solves a line

  Logically Collective

  Input Parameters:
+ pc     - the preconditioner
- method - see `PCNeatoMethod`

  Options Database Key:
. -pc_neato_method (auto|scan|cr|pscheme|dc|thomas) - the method

  Level: intermediate

  Notes:
  A method that cannot solve the lines in the matrix is an error at set-up that names the line and a
  method that can. Solutions agree to rounding whatever the method.

  On the CPU `scan` leaves lines to `thomas` where that is as fast or more accurate: rows at or near
  the limit of diagonal dominance, lines of up to 64 rows. `PCView()` has the method used.

  Raises `PETSC_ERR_ARG_OUTOFRANGE` for any other value.

.seealso: `PCNEATO`, `PCNeatoGetMethod()`, `PCNeatoMethod`
@*/
PetscErrorCode PCNeatoSetMethod(PC pc, PCNeatoMethod method)
{
  PetscFunctionBegin;
  PetscCall(BCROptionSet(pc, __func__, 1, &method));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCNeatoGetMethod - gets the method by which `PCNEATO` solves a line, as asked for

  Not Collective

  Input Parameter:
. pc - the preconditioner

  Output Parameter:
. method - see `PCNeatoMethod`

  Level: intermediate

.seealso: `PCNEATO`, `PCNeatoSetMethod()`, `PCNeatoMethod`
@*/
PetscErrorCode PCNeatoGetMethod(PC pc, PCNeatoMethod *method)
{
  PetscFunctionBegin;
  PetscCall(BCROptionGet(pc, __func__, NULL, method));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCNeatoSetVariant - sets the form of the methods `pscheme` and `dc` of `PCNEATO`

  Logically Collective

  Input Parameters:
+ pc      - the preconditioner
- variant - see `PCNeatoVariant`

  Options Database Key:
. -pc_neato_variant (auto|rearranged|plain|parallel|sequential) - the variant

  Level: advanced

  Notes:
  `rearranged` and `plain` belong to `pscheme`, `parallel` and `sequential` to `dc`: with another
  method they are an error (`PETSC_ERR_ARG_INCOMP`) at set-up.

  Raises `PETSC_ERR_ARG_OUTOFRANGE` for any other value.

.seealso: `PCNEATO`, `PCNeatoGetVariant()`, `PCNeatoVariant`
@*/
PetscErrorCode PCNeatoSetVariant(PC pc, PCNeatoVariant variant)
{
  PetscFunctionBegin;
  PetscCall(BCROptionSet(pc, __func__, 1, &variant));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCNeatoGetVariant - gets the form of the methods `pscheme` and `dc` of `PCNEATO`, as asked for

  Not Collective

  Input Parameter:
. pc - the preconditioner

  Output Parameter:
. variant - see `PCNeatoVariant`

  Level: advanced

.seealso: `PCNEATO`, `PCNeatoSetVariant()`, `PCNeatoVariant`
@*/
PetscErrorCode PCNeatoGetVariant(PC pc, PCNeatoVariant *variant)
{
  PetscFunctionBegin;
  PetscCall(BCROptionGet(pc, __func__, NULL, variant));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCNeatoSetParts - sets the number of parts of a line in the methods `pscheme` and `dc` of `PCNEATO`

  Logically Collective

  Input Parameters:
+ pc    - the preconditioner
- parts - 1 or more, or 0 for the automatic choice

  Options Database Key:
. -pc_neato_parts n - the parts

  Level: advanced

  Notes:
  The automatic choice is near the square root of half the number of unknowns of a line, where the
  work of the parts and between the parts is least.

  Raises `PETSC_ERR_ARG_OUTOFRANGE` for any other value.

.seealso: `PCNEATO`, `PCNeatoGetParts()`
@*/
PetscErrorCode PCNeatoSetParts(PC pc, PetscInt parts)
{
  PetscFunctionBegin;
  PetscCall(BCROptionSet(pc, __func__, 1, &parts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCNeatoGetParts - gets the number of parts of a line in the methods `pscheme` and `dc` of `PCNEATO`, as asked for

  Not Collective

  Input Parameter:
. pc - the preconditioner

  Output Parameter:
. parts - 1 or more, or 0 for the automatic choice

  Level: advanced

.seealso: `PCNEATO`, `PCNeatoSetParts()`
@*/
PetscErrorCode PCNeatoGetParts(PC pc, PetscInt *parts)
{
  PetscFunctionBegin;
  PetscCall(BCROptionGet(pc, __func__, NULL, parts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCNeatoSetMemory - sets the memory of a GPU in which the method `cr` of `PCNEATO` works

  Logically Collective

  Input Parameters:
+ pc     - the preconditioner
- memory - see `PCNeatoMemory`

  Options Database Key:
. -pc_neato_memory (auto|shared|global) - the memory

  Level: advanced

  Notes:
  Without effect on the CPU.

  Raises `PETSC_ERR_ARG_OUTOFRANGE` for any other value.

.seealso: `PCNEATO`, `PCNeatoGetMemory()`, `PCNeatoMemory`
@*/
PetscErrorCode PCNeatoSetMemory(PC pc, PCNeatoMemory memory)
{
  PetscFunctionBegin;
  PetscCall(BCROptionSet(pc, __func__, 1, &memory));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCNeatoGetMemory - gets the memory of a GPU in which the method `cr` of `PCNEATO` works, as asked for

  Not Collective

  Input Parameter:
. pc - the preconditioner

  Output Parameter:
. memory - see `PCNeatoMemory`

  Level: advanced

.seealso: `PCNEATO`, `PCNeatoSetMemory()`, `PCNeatoMemory`
@*/
PetscErrorCode PCNeatoGetMemory(PC pc, PCNeatoMemory *memory)
{
  PetscFunctionBegin;
  PetscCall(BCROptionGet(pc, __func__, NULL, memory));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCNeatoSetCoupling - sets the coupling of ranks that share a line in `PCNEATO`

  Logically Collective

  Input Parameters:
+ pc       - the preconditioner
- coupling - see `PCNeatoCoupling`

  Options Database Key:
. -pc_neato_coupling (auto|neighbour|reduced) - the coupling

  Level: intermediate

  Notes:
  `neighbour` where it would leave out more than rounding is an error at set-up that says how many digits it would lose.

  Raises `PETSC_ERR_ARG_OUTOFRANGE` for any other value.

.seealso: `PCNEATO`, `PCNeatoGetCoupling()`, `PCNeatoCoupling`
@*/
PetscErrorCode PCNeatoSetCoupling(PC pc, PCNeatoCoupling coupling)
{
  PetscFunctionBegin;
  PetscCall(BCROptionSet(pc, __func__, 1, &coupling));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCNeatoGetCoupling - gets the coupling of ranks that share a line in `PCNEATO`, as asked for

  Not Collective

  Input Parameter:
. pc - the preconditioner

  Output Parameter:
. coupling - see `PCNeatoCoupling`

  Level: intermediate

.seealso: `PCNEATO`, `PCNeatoSetCoupling()`, `PCNeatoCoupling`
@*/
PetscErrorCode PCNeatoGetCoupling(PC pc, PCNeatoCoupling *coupling)
{
  PetscFunctionBegin;
  PetscCall(BCROptionGet(pc, __func__, NULL, coupling));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCNeatoSetTransport - sets the transport of data between the ranks of a line in `PCNEATO`

  Logically Collective

  Input Parameters:
+ pc        - the preconditioner
- transport - see `PCNeatoTransport`

  Options Database Key:
. -pc_neato_transport (auto|mpi|nccl|host) - the transport

  Level: advanced

  Notes:
  It is of use where the work is done on the CUDA devices of several ranks that share lines
  (`PCNeatoSetBackend()`); the host has MPI. One that this build of the library, this MPI or this
  machine does not have is an error (`PETSC_ERR_SUP`) at set-up on every rank;
  `PCNEATO_TRANSPORT_AUTO` takes another one, and `PCView()` says why.

  With `nccl` the host waits for nothing. Where the responses of lines are short, exchange and
  reduced system are on a stream of their own beside the rank's own rows.

  Raises `PETSC_ERR_ARG_OUTOFRANGE` for any other value.

.seealso: `PCNEATO`, `PCNeatoGetTransport()`, `PCNeatoTransport`
@*/
PetscErrorCode PCNeatoSetTransport(PC pc, PCNeatoTransport transport)
{
  PetscFunctionBegin;
  PetscCall(BCROptionSet(pc, __func__, 1, &transport));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCNeatoGetTransport - gets the transport of data between the ranks of a line in `PCNEATO`, as asked for

  Not Collective

  Input Parameter:
. pc - the preconditioner

  Output Parameter:
. transport - see `PCNeatoTransport`

  Level: advanced

.seealso: `PCNEATO`, `PCNeatoSetTransport()`, `PCNeatoTransport`
@*/
PetscErrorCode PCNeatoGetTransport(PC pc, PCNeatoTransport *transport)
{
  PetscFunctionBegin;
  PetscCall(BCROptionGet(pc, __func__, NULL, transport));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCNeatoSetBackend - sets the place where `PCNEATO` does its work

  Logically Collective

  Input Parameters:
+ pc      - the preconditioner
- backend - see `PCNeatoBackend`

  Options Database Key:
. -pc_neato_backend (auto|cpu|cuda) - the backend

  Level: intermediate

  Notes:
  `PCNEATO_BACKEND_AUTO` works where the vectors are: on the CUDA device if those of the matrix or
  of the `DMDA` are there (`-dm_vec_type cuda`), and moves once if the first vectors are elsewhere.
  `PCNEATO_BACKEND_CUDA` also takes vectors of the host, by copies. On several ranks it works on the
  devices if all ranks have one, and stays there: vectors that a rank has on the host are copied.
  For lines that are cut by ranks see `PCNeatoSetTransport()`. Precision `mixed` works in double
  there (but for `dc`), as memory limits the speed of lines.

  `PETSC_ERR_SUP` at set-up where there is no device, or this build of the library has no CUDA backend.

  Raises `PETSC_ERR_ARG_OUTOFRANGE` for any other value.

.seealso: `PCNEATO`, `PCNeatoGetBackend()`, `PCNeatoBackend`
@*/
PetscErrorCode PCNeatoSetBackend(PC pc, PCNeatoBackend backend)
{
  PetscFunctionBegin;
  PetscCall(BCROptionSet(pc, __func__, 1, &backend));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCNeatoGetBackend - gets the place where `PCNEATO` does its work, as asked for

  Not Collective

  Input Parameter:
. pc - the preconditioner

  Output Parameter:
. backend - see `PCNeatoBackend`

  Level: intermediate

.seealso: `PCNEATO`, `PCNeatoSetBackend()`, `PCNeatoBackend`
@*/
PetscErrorCode PCNeatoGetBackend(PC pc, PCNeatoBackend *backend)
{
  PetscFunctionBegin;
  PetscCall(BCROptionGet(pc, __func__, NULL, backend));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCNeatoSetPrecision - sets the precision of the work inside `PCNEATO`

  Logically Collective

  Input Parameters:
+ pc        - the preconditioner
- precision - see `PCNeatoPrecision`

  Options Database Key:
. -pc_neato_precision (double|single|mixed) - the precision

  Level: intermediate

  Notes:
  The vectors keep theirs. The default is `double`, or `single` where `PetscReal` is.

  With vectors of double, `single` moves as much memory as `double` and saves arithmetic alone.
  Lines larger than the caches take the same time within a tenth on a CPU; lines along x of fewer
  rows than a vector has floats (16 with AVX-512) are solved in double, which is faster for them,
  and `PCView()` says so.

  Raises `PETSC_ERR_ARG_OUTOFRANGE` for any other value.

.seealso: `PCNEATO`, `PCNeatoGetPrecision()`, `PCNeatoPrecision`
@*/
PetscErrorCode PCNeatoSetPrecision(PC pc, PCNeatoPrecision precision)
{
  PetscFunctionBegin;
  PetscCall(BCROptionSet(pc, __func__, 1, &precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCNeatoGetPrecision - gets the precision of the work inside `PCNEATO`, as asked for

  Not Collective

  Input Parameter:
. pc - the preconditioner

  Output Parameter:
. precision - see `PCNeatoPrecision`

  Level: intermediate

.seealso: `PCNEATO`, `PCNeatoSetPrecision()`, `PCNeatoPrecision`
@*/
PetscErrorCode PCNeatoGetPrecision(PC pc, PCNeatoPrecision *precision)
{
  PetscFunctionBegin;
  PetscCall(BCROptionGet(pc, __func__, NULL, precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCNeatoSetGrid - says which grid the rows of a matrix without a `DMDA` are, for `PCNEATO`

  Logically Collective

  Input Parameters:
+ pc  - the preconditioner
. dim - number of axes, 1 to 3; 0: the grid is found in the matrix (the default)
- n   - array of `dim`, the number of nodes of each axis, x first

  Options Database Key:
. -pc_neato_grid nx,ny,nz - the grid, or `auto`

  Level: intermediate

  Notes:
  Rows are in natural order, x fastest, wherever processes cut them, unless
  `PCNeatoSetGridProcessors()` says that they are numbered as a `DMDA` numbers them. Where the matrix
  has k rows for each node, they are k components, which are interlaced.

  A `DMDA` of the `KSP`, `PC`, matrix or vectors comes first. Without any, and without this, set-up finds
  the grid in the nonzero pattern of the matrix.

  Raises `PETSC_ERR_ARG_OUTOFRANGE` for other dimensions and sizes below 1; set-up raises
  `PETSC_ERR_ARG_SIZ` if the matrix has no such number of rows.

.seealso: `PCNEATO`, `PCNeatoGetGrid()`, `PCNeatoSetGridProcessors()`
@*/
PetscErrorCode PCNeatoSetGrid(PC pc, PetscInt dim, const PetscInt n[])
{
  PetscFunctionBegin;
  PetscCall(BCROptionSet(pc, __func__, dim, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  PCNeatoGetGrid - gets the grid that was given to `PCNEATO` by `PCNeatoSetGrid()`

  Not Collective

  Input Parameter:
. pc - the preconditioner

  Output Parameters:
+ dim - number of axes, 0 if no grid was given
- n   - array of `dim`, owned by the preconditioner; may be `NULL`

  Level: intermediate

.seealso: `PCNEATO`, `PCNeatoSetGrid()`
@*/
PetscErrorCode PCNeatoGetGrid(PC pc, PetscInt *dim, const PetscInt *n[])
{
  PetscFunctionBegin;
  PetscCall(BCROptionGet(pc, __func__, dim, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCNeatoSetGridProcessors - says that the rows of a matrix without a `DMDA` are numbered as those of one, for `PCNEATO`

  Logically Collective

  Input Parameters:
+ pc  - the preconditioner
. dim - number of axes, as many as `PCNeatoSetGrid()` was given; 0: rows are in natural order (the default)
- p   - array of `dim`, the number of processes along each axis, x first

  Options Database Key:
. -pc_neato_grid_processors px,py,pz - the processes, or `natural`

  Level: intermediate

  Notes:
  Process r has the box (r mod px, r/px mod py, r/(px py)), whose nodes it numbers x fastest; axes are shared out as
  `DMDACreate3d()` does it by itself. Used only with `PCNeatoSetGrid()`.

  Raises `PETSC_ERR_ARG_OUTOFRANGE` for numbers below 1; set-up raises `PETSC_ERR_ARG_SIZ` if there are other
  numbers of axes or of processes, or more processes than nodes along an axis.

.seealso: `PCNEATO`, `PCNeatoGetGridProcessors()`, `PCNeatoSetGrid()`
@*/
PetscErrorCode PCNeatoSetGridProcessors(PC pc, PetscInt dim, const PetscInt p[])
{
  PetscFunctionBegin;
  PetscCall(BCROptionSet(pc, __func__, dim, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  PCNeatoGetGridProcessors - gets what was given to `PCNEATO` by `PCNeatoSetGridProcessors()`

  Not Collective

  Input Parameter:
. pc - the preconditioner

  Output Parameters:
+ dim - number of axes, 0 if none were given
- p   - array of `dim`, owned by the preconditioner; may be `NULL`

  Level: intermediate

.seealso: `PCNEATO`, `PCNeatoSetGridProcessors()`
@*/
PetscErrorCode PCNeatoGetGridProcessors(PC pc, PetscInt *dim, const PetscInt *p[])
{
  PetscFunctionBegin;
  PetscCall(BCROptionGet(pc, __func__, dim, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCNeatoSetOtherwise - names the `PC` that stands in for `PCNEATO` where there is no grid or there are no lines of its kind

  Logically Collective

  Input Parameters:
+ pc   - the preconditioner
- type - type of that `PC`, `NULL` or empty for none (the default)

  Options Database Key:
. -pc_neato_otherwise type - the type

  Level: intermediate

  Notes:
  For programs with several `KSP`s that share the options database. Errors of set-up that say that a matrix is none of this
  solver's - no grid, entries that are no neighbours, lines without a unique solution - become that `PC`; others stay what
  they are. `PCView()` and `PetscInfo()` say which `PC` works, and why. Its options have the prefix
  `otherwise_` behind the one of this `PC`.

.seealso: `PCNEATO`, `PCNeatoGetOtherwise()`, `PCSetType()`
@*/
PetscErrorCode PCNeatoSetOtherwise(PC pc, PCType type)
{
  PetscFunctionBegin;
  PetscCall(BCROptionSet(pc, __func__, 1, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCNeatoGetOtherwise - gets the type of the `PC` that stands in for `PCNEATO` where it cannot work

  Not Collective

  Input Parameter:
. pc - the preconditioner

  Output Parameter:
. type - the type, `NULL` for none; not to be freed

  Level: intermediate

.seealso: `PCNEATO`, `PCNeatoSetOtherwise()`
@*/
PetscErrorCode PCNeatoGetOtherwise(PC pc, PCType *type)
{
  PetscFunctionBegin;
  PetscCall(BCROptionGet(pc, __func__, NULL, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}
