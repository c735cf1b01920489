/*
  MatCreateCompactDerivative() and what acts on such a Mat: a MATSHELL whose context holds the plan (compact.h).
*/
#include <petsc/private/petscimpl.h>
#include <petscbcr.h> /*I "petscbcr.h" I*/
#include <petscdevice.h>
#include "compact.h"
#include "../base/agree.h"
#include "../base/log.h"
#include "../base/stream.h"
#include "../transport/transport.h"

/* SUBMANSEC = Mat */

const char *const MatCompactSchemes[] = {"pade4", "lele6", "spectral", "MatCompactScheme", "MAT_COMPACT_", NULL};

typedef struct {
  DM dm;
  DMDirection axis;
  MatCompactScheme scheme;
  PetscInt derivative, closure;
  PetscReal h;
  PetscInt n; /* points along the axis */
  PetscBool periodic;
  BCRTriOptions options;
  MPI_Comm comm; /* the ranks along the axis; this Mat's own */
  BCRCompactScheme s;
  BCRCompact plan;
  double flops;
  Vec begun; /* whose planes are on their way already; compared, never used */
  PCNeatoTransport kind;
  BCRTransport transport; /* of comm, where the work is done on devices */
} MatCompact;

static PetscErrorCode MatCompactReset(MatCompact *c)
{
  PetscFunctionBegin;
  PetscCall(BCRCompactDestroy(&c->plan));
  if (BCR_HAVE_CUDA) PetscCall(BCRTransportDestroy(&c->transport));
  if (c->comm != MPI_COMM_NULL) PetscCallMPI(MPI_Comm_free(&c->comm));
  c->comm = MPI_COMM_NULL;
  c->begun = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCompactDestroy(MatCompact *c)
{
  PetscFunctionBegin;
  PetscCall(MatCompactReset(c));
  PetscCall(DMDestroy(&c->dm));
  PetscCall(PetscFree(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The argument is the context in PETSc before 3.23, since then a pointer to it */
static PetscErrorCode MatCompactContextDestroy(void *ctx)
{
  PetscFunctionBegin;
  PetscCall(MatCompactDestroy(PETSC_VERSION_LT(3, 23, 0) ? (MatCompact *)ctx : *(MatCompact **)ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On the devices if the vectors of the DMDA are there, and every rank has one. The same on all ranks */
static PetscErrorCode MatCompactChoose(Mat A, MatCompact *c)
{
  VecType type;
  PetscBool cuda;
  PetscMPIInt mine, all, size;
  PetscErrorCode ierr;
  char option[96];

  PetscFunctionBegin;
  c->options.device = PETSC_FALSE;
  c->options.transport = NULL;
  if (!BCR_HAVE_CUDA) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMGetVecType(c->dm, &type));
  PetscCall(BCRTypesOnDevice(type, NULL, &cuda));
  if (!cuda) PetscFunctionReturn(PETSC_SUCCESS);
  mine = BCRTriDevicePossible(&c->options, NULL) ? 1 : 0;
  PetscCallMPI(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)A)));
  if (!all) PetscFunctionReturn(PETSC_SUCCESS);
  c->options.device = PETSC_TRUE;
  PetscCall(BCRGetStream(&c->options.stream));
  PetscCallMPI(MPI_Comm_size(c->comm, &size));
  if (BCR_HAVE_CUDA && size > 1) {
    PetscCall(PetscSNPrintf(option, sizeof(option), "%smat_compact_transport",
                            ((PetscObject)A)->prefix ? ((PetscObject)A)->prefix : ""));
    ierr = BCRTransportCreate(c->comm, option, (BCRTransportKind)c->kind, BCRGpuAwareMPI(), &c->transport);
    PetscCall(
      BCRFaultShare(PetscObjectComm((PetscObject)A), ierr, "cannot use its transport, as its own message says"));
    c->options.transport = c->transport;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ranks have the same options: what follows from them is decided by each for itself */
static PetscErrorCode MatCompactCheckSame(Mat A, const MatCompact *c)
{
  static const char *const names[] = {"scheme", "closure", "method", "coupling", "transport"};
  const double mine[] = {(double)c->scheme, (double)c->closure, (double)c->options.method, (double)c->options.coupling,
                         (double)c->kind};
  char of[96];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(of, sizeof(of), "-%smat_compact_", ((PetscObject)A)->prefix ? ((PetscObject)A)->prefix : ""));
  PetscCall(BCRSame(PetscObjectComm((PetscObject)A), of, 5, names, mine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A setter has another value. On several ranks every call counts: what is the same as before here
   may be new on another rank */
static PetscErrorCode MatCompactChanging(Mat A, MatCompact *c, PetscBool other)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  if (other || size > 1) PetscCall(MatCompactReset(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Plan and communicator, once; again after a change of scheme, closure or options */
static PetscErrorCode MatCompactSetUp(Mat A, MatCompact *c)
{
  const PetscInt a = (PetscInt)c->axis;
  PetscInt m[3], procs[3], at[3], dof;
  BCRCompactSpec spec;
  PetscMPIInt rank;
  BCRCompactInfo info;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (c->plan) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCompactReset(c)); /* what a set-up that failed has left */
  PetscCall(MatCompactCheckSame(A, c));
  PetscCall(PetscLogEventBegin(BCR_SetUp, A, 0, 0, 0));
  PetscCall(BCRCompactGetScheme(c->scheme, c->derivative, c->closure, c->periodic, &c->s));
  PetscCheck(c->n >= c->s.minimum, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_SIZ,
             "The %s scheme needs %" PetscInt_FMT " points along the axis%s, but the DMDA has %" PetscInt_FMT
             " along %s: take more points%s",
             MatCompactSchemes[c->scheme], c->s.minimum, c->periodic ? "" : " with its boundary closures", c->n,
             a == 0 ? "x" : (a == 1 ? "y" : "z"),
             c->scheme == MAT_COMPACT_PADE4 ? "" : ", or another scheme (-mat_compact_scheme pade4)");
  PetscCall(
    DMDAGetInfo(c->dm, NULL, NULL, NULL, NULL, &procs[0], &procs[1], &procs[2], &dof, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(c->dm, NULL, NULL, NULL, &m[0], &m[1], &m[2]));
  /* ranks of a DMDA go along x, then y, then z */
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)c->dm), &rank));
  at[0] = rank % procs[0];
  at[1] = (rank / procs[0]) % procs[1];
  at[2] = rank / (procs[0] * procs[1]);
  PetscCallMPI(MPI_Comm_split(PetscObjectComm((PetscObject)c->dm),
                              (int)(rank - at[a] * (a == 0 ? 1 : (a == 1 ? procs[0] : procs[0] * procs[1]))),
                              (int)at[a], &c->comm));
  PetscCall(MatCompactChoose(A, c));
  spec.n = c->n;
  spec.periodic = c->periodic;
  spec.h = c->h;
  spec.rep = PetscDefined(USE_COMPLEX) ? 2 : 1;
  spec.inner = spec.rep * dof * (a > 0 ? m[0] : 1) * (a > 1 ? m[1] : 1);
  spec.local = m[a];
  spec.outer = (a < 1 ? m[1] : 1) * (a < 2 ? m[2] : 1);
  ierr = BCRCompactCreate(c->comm, &c->s, &spec, &c->options, &c->plan);
  /* ranks of other lines may have theirs */
  BCRCallElse(BCRFaultShare(PetscObjectComm((PetscObject)A), ierr, BCR_NO_MEMORY), (void)BCRCompactDestroy(&c->plan));
  PetscCall(BCRCompactGetInfo(c->plan, &info));
  c->flops = info.flops;
  PetscCall(PetscBCRCiteNeato());
  PetscCall(PetscLogEventEnd(BCR_SetUp, A, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A plan on the device. Vectors that this rank has on the host are brought there and back: what it
   sends and receives is the same */
static PetscErrorCode MatCompactDevice(MatCompact *c, PetscBool transpose, Vec x, Vec y)
{
  const PetscScalar *f;
  PetscScalar *d;
  PetscReal *stage[2];
  const PetscReal *from;
  PetscReal *to;
  BCRVecPlace place;
  void *stream;

  PetscFunctionBegin;
  if (!BCR_HAVE_CUDA) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRGetStream(&stream));
  PetscCall(BCRVecsGetArrays(x, y, &f, &d, &place));
  if (place != BCR_VECS_DEVICE) {
    PetscCall(BCRVecsRestoreArrays(x, y, &f, &d));
    PetscCall(VecGetArrayRead(x, &f));
    PetscCall(VecGetArrayWrite(y, &d));
    PetscCall(BCRCompactStage(c->plan, stream, (const PetscReal *)f, NULL, stage));
    from = stage[0];
    to = stage[1];
  } else {
    from = (const PetscReal *)f;
    to = (PetscReal *)d;
    PetscCall(PetscLogGpuTimeBegin());
  }
  if (transpose) PetscCall(BCRCompactApplyTransposeDevice(c->plan, stream, from, to));
  else {
    if (c->begun && c->begun != x) PetscCall(BCRCompactCancelDevice(c->plan)); /* planes of another vector */
    c->begun = NULL;
    PetscCall(BCRCompactEndDevice(c->plan, stream, from, to));
  }
  if (place != BCR_VECS_DEVICE) {
    PetscCall(BCRCompactStage(c->plan, stream, NULL, (PetscReal *)d, stage));
    PetscCall(VecRestoreArrayWrite(y, &d));
    PetscCall(VecRestoreArrayRead(x, &f));
  } else {
    PetscCall(PetscLogGpuTimeEnd());
    PetscCall(BCRVecsRestoreArrays(x, y, &f, &d));
  }
  PetscCall(PetscLogGpuFlops(c->flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCompactBeginDevice(MatCompact *c, Vec x)
{
  const PetscScalar *f;
  PetscReal *stage[2];
  PetscMemType type;
  void *stream;

  PetscFunctionBegin;
  if (!BCR_HAVE_CUDA) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRGetStream(&stream));
  PetscCall(VecGetArrayReadAndMemType(x, &f, &type));
  if (PetscMemTypeCUDA(type)) {
    PetscCall(BCRCompactBeginDevice(c->plan, stream, (const PetscReal *)f));
    PetscCall(VecRestoreArrayReadAndMemType(x, &f));
  } else {
    PetscCall(VecRestoreArrayReadAndMemType(x, &f));
    PetscCall(VecGetArrayRead(x, &f));
    PetscCall(BCRCompactStage(c->plan, stream, (const PetscReal *)f, NULL, stage));
    PetscCall(BCRCompactBeginDevice(c->plan, stream, stage[0]));
    PetscCall(VecRestoreArrayRead(x, &f));
  }
  c->begun = x;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMult_Compact(Mat A, Vec x, Vec y)
{
  MatCompact *c;
  const PetscScalar *f;
  PetscScalar *d;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &c));
  PetscCall(MatCompactSetUp(A, c));
  if (BCR_HAVE_CUDA && c->options.device) {
    PetscCall(MatCompactDevice(c, PETSC_FALSE, x, y));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecGetArrayRead(x, &f));
  PetscCall(VecGetArrayWrite(y, &d));
  if (c->begun && c->begun != x) PetscCall(BCRCompactCancel(c->plan)); /* planes of another vector */
  if (c->begun != x) PetscCall(BCRCompactBegin(c->plan, (const PetscReal *)f));
  c->begun = NULL;
  PetscCall(BCRCompactEnd(c->plan, (const PetscReal *)f, (PetscReal *)d));
  PetscCall(VecRestoreArrayWrite(y, &d));
  PetscCall(VecRestoreArrayRead(x, &f));
  PetscCall(PetscLogFlops(c->flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTranspose_Compact(Mat A, Vec x, Vec y)
{
  MatCompact *c;
  const PetscScalar *d;
  PetscScalar *f;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &c));
  PetscCall(MatCompactSetUp(A, c));
  if (BCR_HAVE_CUDA && c->options.device) {
    PetscCall(MatCompactDevice(c, PETSC_TRUE, x, y));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecGetArrayRead(x, &d));
  PetscCall(VecGetArrayWrite(y, &f));
  PetscCall(BCRCompactApplyTranspose(c->plan, (const PetscReal *)d, (PetscReal *)f));
  PetscCall(VecRestoreArrayWrite(y, &f));
  PetscCall(VecRestoreArrayRead(x, &d));
  PetscCall(PetscLogFlops(c->flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCreateVecs_Compact(Mat A, Vec *right, Vec *left)
{
  MatCompact *c;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &c));
  if (right) PetscCall(DMCreateGlobalVector(c->dm, right));
  if (left) PetscCall(DMCreateGlobalVector(c->dm, left));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatView_Compact(Mat A, PetscViewer viewer)
{
  MatCompact *c;
  PetscBool ascii;
  BCRCompactInfo info;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatShellGetContext(A, &c));
  PetscCall(MatCompactSetUp(A, c));
  PetscCall(BCRCompactGetInfo(c->plan, &info));
  PetscCall(PetscViewerASCIIPrintf(
    viewer, "compact finite differences: %s derivative along %c, spacing %g, %" PetscInt_FMT " points%s\n",
    c->derivative == 1 ? "first" : "second", "xyz"[(int)c->axis], (double)c -> h, c -> n,
    c -> periodic ? ", periodic" : ""));
  PetscCall(PetscViewerASCIIPrintf(
    viewer, "scheme %s: order %" PetscInt_FMT ", %" PetscInt_FMT " points, left-hand side (%g, 1, %g)\n",
    MatCompactSchemes[c->scheme], c->s.inner.order, c->s.inner.points, c->s.inner.low, c->s.inner.up));
  for (PetscInt r = 0; r < c->s.closed; ++r) {
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "row %" PetscInt_FMT " from either end: order %" PetscInt_FMT ", %" PetscInt_FMT
                                     " points, left-hand side (%g, 1, %g)\n",
                                     r, c->s.first[r].order, c->s.first[r].points, c->s.first[r].low,
                                     c->s.first[r].up));
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "lines: %s\n", info.lines.what));
  PetscCall(
    PetscViewerASCIIPrintf(viewer, "backend: %s%s\n", c->options.device ? "cuda, device " : "cpu", info.lines.device));
  if (info.lines.transport[0]) PetscCall(PetscViewerASCIIPrintf(viewer, "transport: %s\n", info.lines.transport));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetFromOptions_Compact(Mat A, BCROptionItems PetscOptionsObject)
{
  MatCompact *c;
  PetscInt closure;
  PetscEnum value;
  PetscBool set, setclosure;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &c));
  PetscOptionsHeadBegin(PetscOptionsObject, "Compact finite differences");
  value = (PetscEnum)c->scheme;
  PetscCall(PetscOptionsEnum("-mat_compact_scheme", "Compact scheme", "MatCompactDerivativeSetScheme",
                             MatCompactSchemes, value, &value, &set));
  PetscCall(PetscOptionsInt("-mat_compact_closure", "Order of the rows at the ends", "MatCompactDerivativeSetClosure",
                            c->closure, &closure, &setclosure));
  /* that of before may be none of the new scheme */
  if (set && setclosure) PetscCall(MatCompactDerivativeSetClosure(A, PETSC_DECIDE));
  if (set) PetscCall(MatCompactDerivativeSetScheme(A, (MatCompactScheme)value));
  if (setclosure) PetscCall(MatCompactDerivativeSetClosure(A, closure));
  value = (PetscEnum)c->options.method;
  PetscCall(PetscOptionsEnum("-mat_compact_method", "How the lines are solved", "MatCompactDerivativeSetMethod",
                             PCNeatoMethods, value, &value, &set));
  if (set) PetscCall(MatCompactDerivativeSetMethod(A, (PCNeatoMethod)value));
  value = (PetscEnum)c->options.coupling;
  PetscCall(PetscOptionsEnum("-mat_compact_coupling", "How ranks are coupled", "MatCompactDerivativeSetCoupling",
                             PCNeatoCouplings, value, &value, &set));
  if (set) PetscCall(MatCompactDerivativeSetCoupling(A, (PCNeatoCoupling)value));
  value = (PetscEnum)c->kind;
  PetscCall(PetscOptionsEnum("-mat_compact_transport", "How data move between the GPUs of ranks",
                             "MatCompactDerivativeSetTransport", PCNeatoTransports, value, &value, &set));
  if (set) PetscCall(MatCompactDerivativeSetTransport(A, (PCNeatoTransport)value));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The context of a Mat of ours, or an error that says what it should be */
static PetscErrorCode MatCompactGet(Mat A, PetscInt arg, MatCompact **c)
{
  void *mult = NULL;
  PetscBool shell = PETSC_FALSE;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, arg);
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSHELL, &shell));
  if (shell) PetscCall(MatShellGetOperation(A, MATOP_MULT, (void *)&mult));
  PetscCheck(mult == (void *)MatMult_Compact, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG,
             "Argument %" PetscInt_FMT " is no matrix of MatCreateCompactDerivative(), but one of type %s", arg,
             ((PetscObject)A)->type_name ? ((PetscObject)A)->type_name : "not set");
  PetscCall(MatShellGetContext(A, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatCreateCompactDerivative - creates a matrix whose product with a vector is a derivative along
  one axis of a `DMDA`, by compact finite differences

  Collective

  Input Parameters:
+ dm         - a `DMDA`, 1-, 2- or 3-dimensional, any number of components, any number of ranks along any axis
. axis       - `DM_X`, `DM_Y` or `DM_Z`
. scheme     - `MAT_COMPACT_PADE4`, `MAT_COMPACT_LELE6` or `MAT_COMPACT_SPECTRAL`
. derivative - 1 or 2, the order of the derivative
- h          - distance of neighbouring points, in the unit of length of the derivative; the length of the axis over its number of points where it is periodic

  Output Parameter:
. A - the matrix, a `MATSHELL` of the size of the global vectors of `dm`

  Options Database Keys (of `MatSetFromOptions()`, with the options prefix of the `Mat`):
+ -mat_compact_scheme <pade4,lele6,spectral>                - `MatCompactDerivativeSetScheme()`
. -mat_compact_closure <3..6>                               - `MatCompactDerivativeSetClosure()`
. -mat_compact_method <auto,scan,cr,pscheme,dc,thomas>      - `MatCompactDerivativeSetMethod()`
. -mat_compact_coupling <auto,neighbour,reduced>            - `MatCompactDerivativeSetCoupling()`
- -mat_compact_transport <auto,mpi,nccl,host>               - `MatCompactDerivativeSetTransport()`

  Level: beginner

  Notes:
  With d the derivative of f at the points of a line, `MatMult()` solves

    alpha d_{j-1} + d_j + alpha d_{j+1} = sum_k c_k f_{j+k}

  where the right-hand side has 3, 5 or 7 points. Along an axis of `DM_BOUNDARY_PERIODIC` this holds
  for all rows; else the first and last one, two or three rows are one-sided, see
  `MatCompactDerivativeSetClosure()`. Every line, component and, with complex scalars, real and
  imaginary part is a derivative of its own.

  The work is done on the CUDA devices if the vectors of the `DMDA` are there (`-dm_vec_type cuda`)
  and every rank has one: right-hand side and lines in one pass over the field where a rank has
  whole lines. Vectors that a rank has on the host are copied then.

  `MatMult()` exchanges 1 to 3 planes with the neighbours along the axis, and the two numbers per
  line that a distributed line solve needs. Plan, messages and buffers are made once, when they are
  first needed. `MatMultTranspose()` is there too. `MatView()` tells scheme, ends and orders. A NaN
  in f makes its whole line NaN.

  Raises `PETSC_ERR_ARG_WRONG` for another `DM` than a `DMDA` and for an axis with mirrored or
  twisted ends, `PETSC_ERR_ARG_OUTOFRANGE` for an axis that the `DMDA` has not, a derivative other
  than 1 and 2, or h that is not a positive number, and, when it is first used, `PETSC_ERR_ARG_SIZ`
  where the axis has too few points for the scheme.

  References:
  Trikuta Srinath, A novel approach to evaluating compact finite differences and similar tridiagonal
  schemes on GPU-accelerated clusters, thesis, Clemson University, 2015, (1.1) to (1.4), where (1.3)
  and (1.4) lack a 2 in the denominator; Lele, J. Comput. Phys. 103, 1992.

.seealso: `MatCompactScheme`, `MatCompactDerivativeSetScheme()`, `MatCompactDerivativeSetClosure()`, `PetscBCRCompactGradient()`, `DMDACreate3d()`
@*/
PetscErrorCode MatCreateCompactDerivative(DM dm, DMDirection axis, MatCompactScheme scheme, PetscInt derivative,
                                          PetscReal h, Mat *A)
{
  MatCompact *c = NULL;
  PetscBool da;
  PetscInt dim, n[3], m[3], rows;
  PetscInt64 reals;
  BCRFault fault = {PETSC_SUCCESS, ""};
  PetscErrorCode ierr;
  DMBoundaryType b[3];
  BCRCompactScheme s;
  VecType type;
  Vec v;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(dm, DM_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(dm, axis, 2);
  PetscValidLogicalCollectiveEnum(dm, scheme, 3);
  PetscValidLogicalCollectiveInt(dm, derivative, 4);
  BCRAssertPointer(A, 6);
  {
    static const char *const names[] = {"axis", "scheme", "derivative", "spacing"};
    const double mine[] = {(double)axis, (double)scheme, (double)derivative, (double)h};

    PetscCall(BCRSame(PetscObjectComm((PetscObject)dm), "MatCreateCompactDerivative(): the ", 4, names, mine));
  }
  PetscCheck(h > 0 && !PetscIsInfOrNanReal(h), PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "Spacing %g: the distance of neighbouring points is a positive number", (double)h);
  PetscValidLogicalCollectiveReal(dm, h, 5);
  PetscCall(PetscBCRInitializePackage());
  PetscCall(PetscObjectTypeCompare((PetscObject)dm, DMDA, &da));
  PetscCheck(da, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_WRONG,
             "Compact derivatives are along an axis of a DMDA, but this DM is of type %s",
             ((PetscObject)dm)->type_name ? ((PetscObject)dm)->type_name : "not set");
  PetscCall(DMSetUp(dm));
  PetscCall(DMDAGetInfo(dm, &dim, &n[0], &n[1], &n[2], NULL, NULL, NULL, NULL, NULL, &b[0], &b[1], &b[2], NULL));
  PetscCheck((int)axis >= 0 && (PetscInt)axis < dim, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
             "Axis %d: the DMDA has the axes 0 (x) to %" PetscInt_FMT, (int)axis, dim - 1);
  PetscCheck(b[axis] == DM_BOUNDARY_NONE || b[axis] == DM_BOUNDARY_GHOSTED || b[axis] == DM_BOUNDARY_PERIODIC,
             PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_WRONG,
             "Axis %c has DM_BOUNDARY_%s: compact derivatives are for DM_BOUNDARY_NONE, _GHOSTED and _PERIODIC",
             "xyz"[axis], DMBoundaryTypes[b[axis]]);
  PetscCall(BCRCompactGetScheme(scheme, derivative, PETSC_DECIDE, PETSC_FALSE, &s)); /* are there such? */

  BCRCallElse(BCRFaultShare(PetscObjectComm((PetscObject)dm), PetscNew(&c), BCR_NO_MEMORY), (void)PetscFree(c));
  c->axis = axis;
  c->scheme = scheme;
  c->derivative = derivative;
  c->closure = PETSC_DECIDE;
  c->h = h;
  c->n = n[axis];
  c->periodic = (PetscBool)(b[axis] == DM_BOUNDARY_PERIODIC);
  c->comm = MPI_COMM_NULL;
  c->options.isa = -1;
  PetscCall(PetscObjectReference((PetscObject)dm));
  c->dm = dm;
  PetscCall(DMGetGlobalVector(dm, &v));
  PetscCall(VecGetLocalSize(v, &rows));
  PetscCall(DMRestoreGlobalVector(dm, &v));
  PetscCall(DMDAGetCorners(dm, NULL, NULL, NULL, &m[0], &m[1], &m[2]));
  reals = (PetscInt64)rows * (PetscInt64)(sizeof(PetscScalar) / sizeof(PetscReal));
  if (reals > PETSC_MAX_INT || (m[axis] && 2 * BCR_BAND_WIDTH * (reals / m[axis]) > PETSC_MPI_INT_MAX))
    PetscCall(BCRFaultSet(
      &fault, PETSC_ERR_ARG_OUTOFRANGE,
      "%" PetscInt_FMT " unknowns on a rank, %" PetscInt_FMT
      " of them along the axis, are too many for compact derivatives: use more ranks, or a PETSc with 64-bit indices",
      rows, m[axis]));
  ierr = BCRFaultAgree(PetscObjectComm((PetscObject)dm), &fault);
  if (ierr) PetscCall(MatCompactDestroy(c));
  PetscCall(ierr);
  PetscCall(MatCreateShell(PetscObjectComm((PetscObject)dm), rows, rows, PETSC_DETERMINE, PETSC_DETERMINE, c, A));
  /* functions by way of void *: their types differ between releases of PETSc */
  PetscCall(MatShellSetContextDestroy(*A, (void *)MatCompactContextDestroy));
  PetscCall(DMGetVecType(dm, &type));
  PetscCall(MatShellSetVecType(*A, type));
  PetscCall(MatShellSetOperation(*A, MATOP_MULT, (void *)MatMult_Compact));
  PetscCall(MatShellSetOperation(*A, MATOP_MULT_TRANSPOSE, (void *)MatMultTranspose_Compact));
  PetscCall(MatShellSetOperation(*A, MATOP_CREATE_VECS, (void *)MatCreateVecs_Compact));
  PetscCall(MatShellSetOperation(*A, MATOP_VIEW, (void *)MatView_Compact));
  PetscCall(MatShellSetOperation(*A, MATOP_SET_FROM_OPTIONS, (void *)MatSetFromOptions_Compact));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatCompactDerivativeSetScheme - sets the scheme of a matrix of `MatCreateCompactDerivative()`

  Logically Collective

  Input Parameters:
+ A      - the matrix
- scheme - `MAT_COMPACT_PADE4`, `MAT_COMPACT_LELE6` or `MAT_COMPACT_SPECTRAL`

  Options Database Key:
. -mat_compact_scheme <pade4,lele6,spectral> - the scheme

  Level: intermediate

.seealso: `MatCreateCompactDerivative()`, `MatCompactDerivativeGetScheme()`, `MatCompactScheme`
@*/
PetscErrorCode MatCompactDerivativeSetScheme(Mat A, MatCompactScheme scheme)
{
  MatCompact *c;
  BCRCompactScheme s;

  PetscFunctionBegin;
  PetscCall(MatCompactGet(A, 1, &c));
  PetscValidLogicalCollectiveEnum(A, scheme, 2);
  PetscCheck((int)scheme >= 0 && scheme <= MAT_COMPACT_SPECTRAL, PetscObjectComm((PetscObject)A),
             PETSC_ERR_ARG_OUTOFRANGE, "Compact scheme %d does not exist", (int)scheme);
  PetscCall(BCRCompactGetScheme(scheme, c->derivative, c->closure, c->periodic, &s)); /* is there such a closure? */
  PetscCall(MatCompactChanging(A, c, (PetscBool)(scheme != c->scheme)));
  c->scheme = scheme;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatCompactDerivativeGetScheme - gets the scheme of a matrix of `MatCreateCompactDerivative()`

  Not Collective

  Input Parameter:
. A - the matrix

  Output Parameter:
. scheme - the scheme

  Level: intermediate

.seealso: `MatCreateCompactDerivative()`, `MatCompactDerivativeSetScheme()`
@*/
PetscErrorCode MatCompactDerivativeGetScheme(Mat A, MatCompactScheme *scheme)
{
  MatCompact *c;

  PetscFunctionBegin;
  PetscCall(MatCompactGet(A, 1, &c));
  BCRAssertPointer(scheme, 2);
  *scheme = c->scheme;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatCompactDerivativeSetClosure - sets the order of the rows at the ends of an axis that is not periodic

  Logically Collective

  Input Parameters:
+ A     - a matrix of `MatCreateCompactDerivative()`
- order - 3 or 4; 5 and 6 too for `MAT_COMPACT_LELE6` and `MAT_COMPACT_SPECTRAL`; `PETSC_DECIDE`: 3 for the first, 4 for the second derivative

  Options Database Key:
. -mat_compact_closure <3..6> - the order

  Level: intermediate

  Notes:
  An order that the scheme does not have is an error (`PETSC_ERR_ARG_OUTOFRANGE`), unless the axis
  is periodic, where it is not used: set the scheme first.

  It is the order of the first and last row. The rows next to them are of order 4, or of `order`
  where that is more, and the third ones of the 7-point scheme of order 6. The derivative is of
  order `order` in the maximum norm; the error of the ends decays by a third to a half from row to
  row.

  With the first derivative, 3 is the order to take for time steps: the eigenvalues of -d/dx with a
  value given at one end then are in the left half-plane, while with orders 4 to 6 some are on the
  right of the axis, by up to 0.2/h for order 6. For the second derivative all of them are stable
  with values given at both ends. Higher orders are for derivatives of given data.

.seealso: `MatCreateCompactDerivative()`, `MatCompactDerivativeGetClosure()`
@*/
PetscErrorCode MatCompactDerivativeSetClosure(Mat A, PetscInt order)
{
  MatCompact *c;
  BCRCompactScheme s;

  PetscFunctionBegin;
  PetscCall(MatCompactGet(A, 1, &c));
  PetscValidLogicalCollectiveInt(A, order, 2);
  PetscCheck(order == PETSC_DECIDE || order == PETSC_DEFAULT || (order >= 3 && order <= 6),
             PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE,
             "Boundary closure of order %" PetscInt_FMT ": there are orders 3 to 6", order);
  if (order == PETSC_DEFAULT) order = PETSC_DECIDE;
  PetscCall(BCRCompactGetScheme(c->scheme, c->derivative, order, c->periodic, &s)); /* is there such a one? */
  PetscCall(MatCompactChanging(A, c, (PetscBool)(order != c->closure)));
  c->closure = order;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatCompactDerivativeGetClosure - gets the order of the rows at the ends

  Not Collective

  Input Parameter:
. A - a matrix of `MatCreateCompactDerivative()`

  Output Parameter:
. order - the order; `PETSC_DECIDE` for the default

  Level: intermediate

.seealso: `MatCreateCompactDerivative()`, `MatCompactDerivativeSetClosure()`
@*/
PetscErrorCode MatCompactDerivativeGetClosure(Mat A, PetscInt *order)
{
  MatCompact *c;

  PetscFunctionBegin;
  PetscCall(MatCompactGet(A, 1, &c));
  BCRAssertPointer(order, 2);
  *order = c->closure;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatCompactDerivativeSetMethod - sets how a compact derivative solves its tridiagonal lines

  Logically Collective

  Input Parameters:
+ A      - a matrix of `MatCreateCompactDerivative()`
- method - one of `PCNeatoMethod`

  Options Database Key:
. -mat_compact_method <auto,scan,cr,pscheme,dc,thomas> - the method

  Level: advanced

  Note:
  The transpose has general lines and leaves the choice to the library.

.seealso: `MatCreateCompactDerivative()`, `MatCompactDerivativeGetMethod()`, `PCNeatoMethod`
@*/
PetscErrorCode MatCompactDerivativeSetMethod(Mat A, PCNeatoMethod method)
{
  MatCompact *c;

  PetscFunctionBegin;
  PetscCall(MatCompactGet(A, 1, &c));
  PetscValidLogicalCollectiveEnum(A, method, 2);
  PetscCheck((int)method >= 0 && method <= PCNEATO_METHOD_THOMAS, PetscObjectComm((PetscObject)A),
             PETSC_ERR_ARG_OUTOFRANGE, "There is no PCNeatoMethod %d", (int)method);
  PetscCall(MatCompactChanging(A, c, (PetscBool)((BCRTriMethod)method != c->options.method)));
  c->options.method = (BCRTriMethod)method;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatCompactDerivativeGetMethod - gets how a compact derivative solves its tridiagonal lines

  Not Collective

  Input Parameter:
. A - a matrix of `MatCreateCompactDerivative()`

  Output Parameter:
. method - what was set

  Level: advanced

.seealso: `MatCreateCompactDerivative()`, `MatCompactDerivativeSetMethod()`
@*/
PetscErrorCode MatCompactDerivativeGetMethod(Mat A, PCNeatoMethod *method)
{
  MatCompact *c;

  PetscFunctionBegin;
  PetscCall(MatCompactGet(A, 1, &c));
  BCRAssertPointer(method, 2);
  *method = (PCNeatoMethod)c->options.method;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatCompactDerivativeSetCoupling - sets how a compact derivative puts lines together over ranks

  Logically Collective

  Input Parameters:
+ A        - a matrix of `MatCreateCompactDerivative()`
- coupling - one of `PCNeatoCoupling`

  Options Database Key:
. -mat_compact_coupling <auto,neighbour,reduced> - the coupling

  Level: advanced

  Note:
  `neighbour` is an error at set-up where it would lose digits.

.seealso: `MatCreateCompactDerivative()`, `MatCompactDerivativeGetCoupling()`, `PCNeatoCoupling`
@*/
PetscErrorCode MatCompactDerivativeSetCoupling(Mat A, PCNeatoCoupling coupling)
{
  MatCompact *c;

  PetscFunctionBegin;
  PetscCall(MatCompactGet(A, 1, &c));
  PetscValidLogicalCollectiveEnum(A, coupling, 2);
  PetscCheck((int)coupling >= 0 && coupling <= PCNEATO_COUPLING_REDUCED, PetscObjectComm((PetscObject)A),
             PETSC_ERR_ARG_OUTOFRANGE, "There is no PCNeatoCoupling %d", (int)coupling);
  PetscCall(MatCompactChanging(A, c, (PetscBool)((BCRTriCoupling)coupling != c->options.coupling)));
  c->options.coupling = (BCRTriCoupling)coupling;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatCompactDerivativeGetCoupling - gets how a compact derivative puts lines together over ranks

  Not Collective

  Input Parameter:
. A - a matrix of `MatCreateCompactDerivative()`

  Output Parameter:
. coupling - what was set

  Level: advanced

.seealso: `MatCreateCompactDerivative()`, `MatCompactDerivativeSetCoupling()`
@*/
PetscErrorCode MatCompactDerivativeGetCoupling(Mat A, PCNeatoCoupling *coupling)
{
  MatCompact *c;

  PetscFunctionBegin;
  PetscCall(MatCompactGet(A, 1, &c));
  BCRAssertPointer(coupling, 2);
  *coupling = (PCNeatoCoupling)c->options.coupling;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatCompactDerivativeSetTransport - sets how a compact derivative moves data between the GPUs of ranks that share lines

  Logically Collective

  Input Parameters:
+ A         - a matrix of `MatCreateCompactDerivative()`
- transport - one of `PCNeatoTransport`

  Options Database Key:
. -mat_compact_transport <auto,mpi,nccl,host> - the transport

  Level: advanced

  Note:
  One that this build of the library, this MPI or this machine does not have is an error
  (`PETSC_ERR_SUP`) on every rank when the matrix is first used on devices; `MatView()` tells which
  one it is.

.seealso: `MatCreateCompactDerivative()`, `MatCompactDerivativeGetTransport()`, `PCNeatoTransport`
@*/
PetscErrorCode MatCompactDerivativeSetTransport(Mat A, PCNeatoTransport transport)
{
  MatCompact *c;

  PetscFunctionBegin;
  PetscCall(MatCompactGet(A, 1, &c));
  PetscValidLogicalCollectiveEnum(A, transport, 2);
  PetscCheck((int)transport >= 0 && transport <= PCNEATO_TRANSPORT_HOST, PetscObjectComm((PetscObject)A),
             PETSC_ERR_ARG_OUTOFRANGE, "There is no PCNeatoTransport %d", (int)transport);
  PetscCall(MatCompactChanging(A, c, (PetscBool)(transport != c->kind)));
  c->kind = transport;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatCompactDerivativeGetTransport - gets how a compact derivative is asked to move data between the
  GPUs of ranks that share lines

  Not Collective

  Input Parameter:
. A - a matrix of `MatCreateCompactDerivative()`

  Output Parameter:
. transport - what was set

  Level: advanced

.seealso: `MatCreateCompactDerivative()`, `MatCompactDerivativeSetTransport()`
@*/
PetscErrorCode MatCompactDerivativeGetTransport(Mat A, PCNeatoTransport *transport)
{
  MatCompact *c;

  PetscFunctionBegin;
  PetscCall(MatCompactGet(A, 1, &c));
  BCRAssertPointer(transport, 2);
  *transport = c->kind;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PetscBCRCompactGradient - several derivatives of one field: as `MatMult()` with each matrix, with
  the messages of all axes on their way at once

  Collective

  Input Parameters:
+ n - number of matrices
. D - matrices of `MatCreateCompactDerivative()` on the same `DMDA`, often one for each axis, in any order
- f - the field, a global vector of the `DMDA`

  Output Parameter:
. d - n vectors: d[i] = D[i] f

  Level: intermediate

  Note:
  The planes that the right-hand sides of all axes need are sent before the first of them is
  computed, so that the neighbours along all axes are waited for once, and behind work. A field of
  another size than a matrix and a d[i] that is f are errors (`PETSC_ERR_ARG_SIZ`, `PETSC_ERR_ARG_IDN`).

.seealso: `MatCreateCompactDerivative()`
@*/
PetscErrorCode PetscBCRCompactGradient(PetscInt n, const Mat D[], Vec f, Vec d[])
{
  const PetscScalar *v;

  PetscFunctionBegin;
  PetscCheck(n >= 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%" PetscInt_FMT " matrices", n);
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  BCRAssertPointer(D, 2);
  PetscValidHeaderSpecific(f, VEC_CLASSID, 3);
  BCRAssertPointer(d, 4);
  for (PetscInt i = 0; i < n; ++i) {
    MatCompact *c;
    PetscInt rows, mine;

    PetscCall(MatCompactGet(D[i], 2, &c));
    PetscValidHeaderSpecific(d[i], VEC_CLASSID, 4);
    PetscCall(MatGetLocalSize(D[i], &rows, NULL));
    PetscCall(VecGetLocalSize(f, &mine));
    PetscCheck(rows == mine, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
               "Matrix %" PetscInt_FMT " has %" PetscInt_FMT " rows on this rank, the field %" PetscInt_FMT, i, rows,
               mine);
    PetscCheck(d[i] != f, PetscObjectComm((PetscObject)f), PETSC_ERR_ARG_IDN,
               "Derivative %" PetscInt_FMT " and field are the same vector", i);
    PetscCall(MatCompactSetUp(D[i], c));
  }
  for (PetscInt i = 0; i < n; ++i) {
    MatCompact *c;

    PetscCall(MatShellGetContext(D[i], &c));
    if (c->begun) continue; /* a matrix that is there twice */
    if (BCR_HAVE_CUDA && c->options.device) {
      PetscCall(MatCompactBeginDevice(c, f));
      continue;
    }
    PetscCall(VecGetArrayRead(f, &v));
    PetscCall(BCRCompactBegin(c->plan, (const PetscReal *)v));
    PetscCall(VecRestoreArrayRead(f, &v));
    c->begun = f;
  }
  for (PetscInt i = 0; i < n; ++i) PetscCall(MatMult(D[i], f, d[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}
