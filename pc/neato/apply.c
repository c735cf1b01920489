/*
  Application of PCNEATO to vectors and blocks of them, on the host or on the device.
*/
#include "neato.h"

/* The solver, or the one of the transposed lines */
static PetscErrorCode get_solver(PC pc, PetscBool transpose, BCRTri *tri)
{
  PC_Neato *neato = (PC_Neato *)pc->data;

  PetscFunctionBegin;
  if (transpose && !neato->transposed) {
    BCRLines lines;

    PetscCall(PetscLogEventBegin(BCR_SetUp, pc, 0, 0, 0));
    PetscCall(BCRLinesTranspose(neato->lines, &lines, &neato->symmetric));
    if (!neato->symmetric) {
      BCRTriOptions options = neato->options;

      /* three rows of their own at an end are four in the transpose, which not all methods take */
      if (neato->lines->spec.rows && !lines->spec.rows) options.method = BCR_TRI_AUTO;
      BCRCallElse(BCRLinesSolver(lines, &options, &neato->transpose), (void)BCRLinesDestroy(&lines));
      PetscCall(BCRLinesDestroy(&lines));
    }
    neato->transposed = PETSC_TRUE;
    PetscCall(PetscLogEventEnd(BCR_SetUp, pc, 0, 0, 0));
  }
  *tri = transpose && !neato->symmetric ? neato->transpose : neato->tri;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One column. Collective */
static PetscErrorCode check_finite(PC pc, const PetscScalar *f, const PetscScalar *u)
{
  PC_Neato *neato = (PC_Neato *)pc->data;
  const PetscInt n = neato->lines->nlines * neato->lines->spec.n;
  PetscInt bad = 0, badf = 0;
  char message[256] = "";

  PetscFunctionBegin;
  while (bad < n && !PetscIsInfOrNanScalar(u[bad])) ++bad;
  while (bad < n && badf < n && !PetscIsInfOrNanScalar(f[badf])) ++badf;
  if (bad < n && badf < n) {
    PetscInt row, rest = badf / neato->lines->dof, at[3];

    PetscCall(BCRPlaceRow(&neato->place, badf, &row));
    for (PetscInt d = 0; d < 3; ++d) {
      at[d] = neato->lines->start[d] + rest % neato->lines->size[d];
      rest /= neato->lines->size[d];
    }
    PetscCall(PetscSNPrintf(message, sizeof(message),
                            "Entry %" PetscInt_FMT " of the right-hand side (grid point %" PetscInt_FMT
                            ",%" PetscInt_FMT ",%" PetscInt_FMT ") is NaN or Inf: its line has no solution",
                            row, at[0], at[1], at[2]));
  } else if (bad < n && neato->lines->ranks == 1)
    PetscCall(PetscSNPrintf(
      message, sizeof(message),
      "The solution overflows: the right-hand side or the matrix is scaled too far from one for -pc_neato_precision %s",
      PCNeatoPrecisions[neato->precision]));
  PetscCall(BCRErrorAgree(PetscObjectComm((PetscObject)pc), message[0] ? PETSC_ERR_FP : PETSC_SUCCESS, message));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A NaN or Inf on the right-hand side is the business of the KSP (KSP_DIVERGED_NANORINF), unless it
   is to be an error at once: that names the entry. Where all ranks have a vector on the device its
   norm tells, and the vector stays there; blocks on the device are not looked at. */
static PetscErrorCode check_solution(PC pc, BCRArrays *a)
{
  const PC_Neato *neato = (const PC_Neato *)pc->data;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  if (!pc->erroriffailure) PetscFunctionReturn(PETSC_SUCCESS);
  if (neato->options.device) {
    PetscMPIInt mine = a->place == BCR_VECS_DEVICE ? 1 : 0, all;
    PetscReal norm = 0;

    PetscCallMPI(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)pc)));
    if (all && a->y) PetscCall(VecNorm(a->y, NORM_1, &norm)); /* a sum: MPI_MAX may lose a NaN */
    if (all && !PetscIsInfOrNanReal(norm)) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BCRArraysGet(a, BCR_ARRAYS_READ));
  for (PetscInt c = 0; c < a->ncols && !ierr; ++c)
    ierr = check_finite(pc, a->f + (size_t)c * (size_t)a->ldf, a->u + (size_t)c * (size_t)a->ldu);
  PetscCall(BCRArraysRestore(a));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* auto: the solver moves, once, to where the vectors are. Not on several ranks, which would have to agree */
static PetscErrorCode follow(PC pc, BCRVecPlace place)
{
  PC_Neato *neato = (PC_Neato *)pc->data;
  const PetscBool device = place == BCR_VECS_DEVICE ? PETSC_TRUE : PETSC_FALSE;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  if (size > 1 || neato->backend != PCNEATO_BACKEND_AUTO || place == BCR_VECS_MIXED ||
      neato->options.device == device || neato->switched || (device && !BCRTriDevicePossible(&neato->options, NULL)))
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(
    PetscInfo(pc, "The vectors are in the memory of the %s: the lines move there\n", device ? "device" : "host"));
  PetscCall(BCRNeatoResetSolvers(neato));
  neato->switched = PETSC_TRUE;
  neato->options.device = device;
  if (device) PetscCall(BCRGetStream(&neato->options.stream));
  PetscCall(PetscLogEventBegin(BCR_SetUp, pc, 0, 0, 0));
  PetscCall(BCRNeatoMakeSolver(pc));
  PetscCall(PetscLogEventEnd(BCR_SetUp, pc, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One column after the other, on the host. Complex numbers are two reals side by side, the
   coefficients are real: see rep in src/tridiagonal/tridiagonal.h */
static PetscErrorCode solve(PC pc, BCRTri tri, const BCRArrays *a)
{
  const PC_Neato *neato = (const PC_Neato *)pc->data;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(BCR_Solve, pc, 0, 0, 0));
  for (PetscInt c = 0; c < a->ncols; ++c) {
    const PetscScalar *f = a->f + (size_t)c * (size_t)a->ldf;
    PetscScalar *u = a->u + (size_t)c * (size_t)a->ldu;

    PetscCall(BCRTriSolve(tri, (const PetscReal *)f, (PetscReal *)u));
  }
  PetscCall(PetscLogFlops(neato->info.flops * (double)a->ncols));
  PetscCall(PetscLogEventEnd(BCR_Solve, pc, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors in device memory, on PETSc's stream. Nothing here waits for the device: whether the
   solution is finite is for the norms of the KSP to see. */
static PetscErrorCode solve_device(PC pc, BCRTri tri, const BCRArrays *a)
{
  void *stream;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(BCR_Solve, pc, 0, 0, 0));
  PetscCall(BCRGetStream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  for (PetscInt c = 0; c < a->ncols; ++c) {
    const PetscScalar *f = a->f + (size_t)c * (size_t)a->ldf;
    PetscScalar *u = a->u + (size_t)c * (size_t)a->ldu;

    PetscCall(BCRTriSolveDevice(tri, stream, (const PetscReal *)f, (PetscReal *)u));
  }
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(((const PC_Neato *)pc->data)->info.flops * (double)a->ncols));
  PetscCall(PetscLogEventEnd(BCR_Solve, pc, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Several right-hand sides are one batch: the exchanges between ranks are one, and few long lines
   become many that are solved side by side. room: for all columns, where they do not follow one
   another */
static PetscErrorCode solve_batch(PC pc, const BCRArrays *a, PetscScalar *room)
{
  const PC_Neato *neato = (const PC_Neato *)pc->data;
  const PetscInt m = neato->lines->nlines * neato->lines->spec.n;
  const PetscScalar *f = room ? room : a->f;
  PetscScalar *u = room ? room : a->u;
  BCRTriInfo info;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(BCR_Solve, pc, 0, 0, 0));
  for (PetscInt c = 0; c < a->ncols && room; ++c)
    PetscCall(PetscArraycpy(room + (size_t)c * (size_t)m, a->f + (size_t)c * (size_t)a->ldf, m));
  PetscCall(BCRTriSolve(neato->many, (const PetscReal *)f, (PetscReal *)u));
  for (PetscInt c = 0; c < a->ncols && room; ++c)
    PetscCall(PetscArraycpy(a->u + (size_t)c * (size_t)a->ldu, room + (size_t)c * (size_t)m, m));
  PetscCall(BCRTriGetInfo(neato->many, &info));
  PetscCall(PetscLogFlops(info.flops));
  PetscCall(PetscLogEventEnd(BCR_Solve, pc, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A batch where there is a solver of so many, else one column after the other; on the host */
static PetscErrorCode solve_host(PC pc, BCRTri tri, const BCRArrays *a)
{
  const PC_Neato *neato = (const PC_Neato *)pc->data;
  const PetscInt m = neato->lines->nlines * neato->lines->spec.n;
  const PetscBool batch = (PetscBool)(a->ncols > 1 && neato->many && tri == neato->tri);
  PetscScalar *room = NULL;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  if (batch && (a->ldf != m || a->ldu != m)) ierr = PetscMalloc1((size_t)m * (size_t)a->ncols, &room);
  /* with devices some ranks may not come here */
  if (a->ncols > 1 && !neato->options.device) ierr = BCRFaultShare(neato->lines->comm, ierr, BCR_NO_MEMORY);
  if (!ierr) ierr = batch ? solve_batch(pc, a, room) : solve(pc, tri, a);
  BCRCallElse(ierr, (void)PetscFree(room));
  PetscCall(PetscFree(room));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On the device where f and u are there and the solver is, else on the host; a->place says which it was */
static PetscErrorCode solve_arrays(PC pc, PetscBool transpose, BCRArrays *a)
{
  const PC_Neato *neato = (const PC_Neato *)pc->data;
  BCRTri tri = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(BCRArraysGet(a, neato->options.device || neato->backend == PCNEATO_BACKEND_AUTO ? BCR_ARRAYS_ANYWHERE
                                                                                            : BCR_ARRAYS_HOST));
  ierr = follow(pc, a->place);
  if (!ierr) ierr = get_solver(pc, transpose, &tri);
  if (!ierr && (a->place == BCR_VECS_MIXED || (a->place == BCR_VECS_DEVICE && !neato->options.device))) {
    PetscCall(BCRArraysRestore(a));
    PetscCall(BCRArraysGet(a, BCR_ARRAYS_HOST));
  }
  if (!ierr) ierr = a->place == BCR_VECS_DEVICE ? solve_device(pc, tri, a) : solve_host(pc, tri, a);
  PetscCall(BCRArraysRestore(a));
  PetscCall(ierr);
  PetscCall(check_solution(pc, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* b, x: vectors that are at hand */
static PetscErrorCode check_set_up(PC pc, Vec b, Vec x)
{
  PetscFunctionBegin;
  PetscCall(BCRNeatoSetUpWith(pc, b, x));
  PetscCheck(((PC_Neato *)pc->data)->tri || ((PC_Neato *)pc->data)->otherwise.pc, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ORDER, "PCNEATO is applied before it is set up: call PCSetUp() or KSPSetUp() first");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode apply_in_order(PC pc, PetscBool transpose, Vec x, Vec y)
{
  BCRArrays arrays;

  PetscFunctionBegin;
  PetscCall(BCRArraysOfVecs(x, y, &arrays));
  PetscCall(solve_arrays(pc, transpose, &arrays));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode apply_vec(PC pc, PetscBool transpose, Vec x, Vec y)
{
  PC other;

  PetscFunctionBegin;
  PetscCall(check_set_up(pc, x, y));
  other = ((PC_Neato *)pc->data)->otherwise.pc;
  if (other) PetscCall(transpose ? PCApplyTranspose(other, x, y) : PCApply(other, x, y));
  else PetscCall(BCRPlaceApply(pc, &((PC_Neato *)pc->data)->place, transpose, x, y, apply_in_order));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCApply_Neato(PC pc, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(apply_vec(pc, PETSC_FALSE, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCApplyTranspose_Neato(PC pc, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(apply_vec(pc, PETSC_TRUE, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solver of so many right-hand sides at once; none for mixed precision, which keeps fields of
   its own, and on devices across ranks */
static PetscErrorCode make_batch(PC pc, PetscInt ncols)
{
  PC_Neato *neato = (PC_Neato *)pc->data;

  PetscFunctionBegin;
  if (ncols == neato->columns) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(BCR_SetUp, pc, 0, 0, 0));
  PetscCall(BCRTriDestroy(&neato->many));
  if (ncols > 1 && !neato->options.transport && neato->precision != PCNEATO_PRECISION_MIXED)
    PetscCall(BCRLinesSolverMany(neato->lines, &neato->options, ncols, &neato->many));
  neato->columns = ncols;
  PetscCall(PetscLogEventEnd(BCR_SetUp, pc, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode apply_mat(PC pc, PetscBool transpose, Mat X, Mat Y)
{
  const PC_Neato *neato = (const PC_Neato *)pc->data;
  BCRArrays arrays;

  PetscFunctionBegin;
  PetscCall(check_set_up(pc, NULL, NULL)); /* dense matrices have no DM */
  if (neato->place.ordered || neato->otherwise.pc) {
    PetscCall(BCRApplyByColumns(pc, transpose, X, Y, apply_vec));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BCRArraysOfMats(X, Y, &arrays));
  PetscCall(make_batch(pc, arrays.ncols));
  PetscCall(solve_arrays(pc, transpose, &arrays));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCPreSolve_Neato(PC pc, KSP ksp, Vec b, Vec x)
{
  PetscFunctionBegin;
  PetscCall(BCRNeatoSetUpWith(pc, b, x));
  PetscCall(BCROtherwisePreSolve(pc, &((PC_Neato *)pc->data)->otherwise, ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCPostSolve_Neato(PC pc, KSP ksp, Vec b, Vec x)
{
  PetscFunctionBegin;
  (void)b;
  (void)x;
  PetscCall(BCROtherwisePostSolve(pc, &((PC_Neato *)pc->data)->otherwise, ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCMatApply_Neato(PC pc, Mat X, Mat Y)
{
  PetscFunctionBegin;
  PetscCall(apply_mat(pc, PETSC_FALSE, X, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if PETSC_VERSION_GE(3, 24, 0)
PetscErrorCode PCMatApplyTranspose_Neato(PC pc, Mat X, Mat Y)
{
  PetscFunctionBegin;
  PetscCall(apply_mat(pc, PETSC_TRUE, X, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
