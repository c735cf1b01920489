/*
  Application of PCBCRPOISSON to vectors and blocks of them, on the host or on the device.
*/
#include "bcrpoisson.h"
#include <petscsnes.h>

/* One solve with the fit, which nobody corrects, would be the solution of another operator */
static PetscErrorCode refuse_fit(PC pc, PetscInt c, const char who[])
{
  const PC_BCRPoisson *bcr = (const PC_BCRPoisson *)pc->data;
  const BCROperator *op = &bcr->ops[c];
  const PetscInt *N = bcr->size, row = op->devrow, col = op->devcol;

  PetscFunctionBegin;
  SETERRQ(PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
          "%s would give the solution of another operator: the matrix is not separable, and its fit (%s) is off by %g, "
          "relatively, at grid point %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT
          " (its coupling to %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT
          "). Iterate: -%sksp_type cg, gmres or bcrpoisson; or ask for the solution of a fit by its name, "
          "-%spc_bcrpoisson_fit %s",
          who, op->fit, (double)op->deviation, row % N[0], row / N[0] % N[1], row / (N[0] * N[1]), col % N[0],
          col / N[0] % N[1], col / (N[0] * N[1]), BCRPrefix(pc), BCRPrefix(pc), op->fit);
}

/* The answer of this KSP is what the user sees, and not a step of something that looks at its
   residual: it is no other solver's inner one, which stands one tab level deeper, or that of a SNES
   which solves linear problems. SNES gives itself as the context of the DM's operators (as
   PCTELESCOPE relies on). */
static PetscErrorCode is_users_ksp(KSP ksp, PetscBool *users)
{
  DM dm = NULL;
  SNES snes;
  KSP its;
  PetscInt level;
  const void *context = NULL;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetTabLevel((PetscObject)ksp, &level));
  *users = (PetscBool)(level == 0);
  if (*users) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPGetDM(ksp, &dm));
  PetscCall(DMKSPGetComputeOperators(dm, NULL, (void *)&context));
  if (!context || !PetscCheckPointer(context, PETSC_INT) || ((PetscObject)context)->classid != SNES_CLASSID)
    PetscFunctionReturn(PETSC_SUCCESS);
  snes = (SNES)context;
  PetscCall(SNESGetKSP(snes, &its));
  if (its == ksp) PetscCall(PetscObjectTypeCompare((PetscObject)snes, SNESKSPONLY, users));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode apply_any(PC pc, PetscBool transpose, Vec x, Vec y);

/* Modes that are left out leave their part of the right-hand side where it is, and a KSP that looks at preconditioned
   residuals, or at none, would not see it. What a solve of all of it leaves is found here, and where that is more than
   rounding applications fail for this right-hand side (KSP_DIVERGED_PC_FAILED); not where the user has said what is in
   the null space */
static PetscErrorCode check_left(PC pc, KSP ksp, Vec b)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  BCRSolverInfo info;
  PetscBool looks, given = PETSC_FALSE;
  Vec y;
  PC its;

  PetscFunctionBegin;
  bcr->told = 0;
  if (!bcr->waves || bcr->otherwise.pc || bcr->info.left == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPGetPC(ksp, &its));
  if (its != pc) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRPoissonNullSpaceGiven(pc, &given));
  if (given) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecDuplicate(b, &y));
  BCRCallElse(apply_any(pc, PETSC_FALSE, b, y), (void)VecDestroy(&y)); /* residuals of refinement are rounding */
  PetscCall(VecDestroy(&y));
  PetscCall(BCRSolverGetInfo(bcr->solver, &info));
  if (info.lefterror <= BCR_WAVES_TOLD) PetscFunctionReturn(PETSC_SUCCESS);
  bcr->told = (PetscReal)info.lefterror;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp, &looks, KSPPREONLY, KSPBCRPOISSON, ""));
  bcr->spoil = looks ? PETSC_FALSE : PETSC_TRUE;
  PetscCall(
    PetscInfo(pc,
              "The operator is numerically singular: %g of its modes are left out, and the right-hand side has "
              "%g of its size in these, so that solutions have a backward error of %g: this solve fails. Attach "
              "the null space to the matrix (MatSetNullSpace()) if that part is not wanted\n",
              info.left, info.leftpart, info.lefterror));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPPREONLY, and KSPBCRPOISSON that computes no norm, do not look at what they return */
PetscErrorCode PCPreSolve_BCRPoisson(PC pc, KSP ksp, Vec b, Vec x)
{
  PetscInt c;
  PetscBool blind, users;
  KSPNormType norm;
  PC its;

  PetscFunctionBegin;
  if (!pc->setupcalled)
    PetscCall(PCSetUp(pc)); /* a KSP with new vectors for the same matrix leaves that to PCApply() */
  PetscCall(BCRPoissonSetUpWith(pc, b, x));
  PetscCall(BCROtherwisePreSolve(pc, &((PC_BCRPoisson *)pc->data)->otherwise, ksp));
  PetscCall(check_left(pc, ksp, b));
  c = BCRPoissonUnchosenFit(pc);
  if (c < 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPGetPC(ksp, &its));
  if (its != pc) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp, KSPPREONLY, &blind));
  if (!blind) {
    PetscCall(PetscObjectTypeCompare((PetscObject)ksp, KSPBCRPOISSON, &blind));
    PetscCall(KSPGetNormType(ksp, &norm));
    if (norm != KSP_NORM_NONE) blind = PETSC_FALSE;
  }
  if (!blind) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(is_users_ksp(ksp, &users));
  if (!users) PetscFunctionReturn(PETSC_SUCCESS);
  BCRPreSolveEnds(pc); /* PCPreSolve() has counted itself */
  PetscCall(refuse_fit(pc, c, "A solve without iterations (KSPPREONLY)"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCPostSolve_BCRPoisson(PC pc, KSP ksp, Vec b, Vec x)
{
  PetscFunctionBegin;
  (void)b;
  (void)x;
  if (((PC_BCRPoisson *)pc->data)->told > 0) pc->failedreason = PC_NOERROR; /* for the next right-hand side */
  ((PC_BCRPoisson *)pc->data)->told = 0;
  PetscCall(BCROtherwisePostSolve(pc, &((PC_BCRPoisson *)pc->data)->otherwise, ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A NaN or Inf on the right-hand side reaches every unknown, so that looking at one of each
   component finds it at no cost. What a KSP then reports is its own affair (KSP_DIVERGED_NANORINF);
   with -ksp_error_if_not_converged this names the entry. */
static PetscErrorCode check_finite(PC pc, const PetscScalar *f, const PetscScalar *u)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  const PetscInt *n = bcr->place.grid.n;
  PetscInt middle, bad;
  PetscBool finite = PETSC_TRUE;
  double found;

  PetscFunctionBegin;
  middle = bcr->dof * (n[0] / 2 + n[0] * (n[1] / 2 + n[1] * (n[2] / 2)));
  for (PetscInt c = 0; c < bcr->dof && bcr->n && finite; ++c)
    finite = PetscLikely(!PetscIsInfOrNanScalar(u[middle + c])) ? PETSC_TRUE : PETSC_FALSE;
  if (finite && !(pc->erroriffailure && bcr->place.grid.size > 1)) PetscFunctionReturn(PETSC_SUCCESS);
  for (bad = 0; bad < bcr->n && !PetscIsInfOrNanScalar(f[bad]); ++bad) {}
  found = bad < bcr->n ? 2 : (finite ? 0 : 1);
  if (pc->erroriffailure) { /* on all ranks, or none */
    PetscInt entry;

    PetscCall(BCRPlaceRow(&bcr->place, bad, &entry));
    PetscCall(BCRTakeFrom(PetscObjectComm((PetscObject)pc), found, &entry, sizeof(entry), &found));
    PetscCheck(found < 2, PetscObjectComm((PetscObject)pc), PETSC_ERR_FP,
               "Entry %" PetscInt_FMT " of the right-hand side is NaN or Inf: the solution is not finite", entry);
    PetscCheck(found < 1, PetscObjectComm((PetscObject)pc), PETSC_ERR_FP,
               "The solution overflows: the right-hand side or the operator is scaled too far from one for "
               "-pc_bcrpoisson_precision %s",
               PCBCRPoissonPrecisions[bcr->precision]);
  } else
    PetscCall(PetscInfo(
      pc,
      "The solution is not finite; first entry of the right-hand side on this rank that is NaN or Inf: %" PetscInt_FMT
      " of %" PetscInt_FMT "\n",
      bad, bcr->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool BCRPoissonSingular(PC pc)
{
  const PC_BCRPoisson *bcr = (const PC_BCRPoisson *)pc->data;

  return (PetscBool)(bcr->ops[0].singular && !BCRPoissonExtends(bcr) &&
                     !(bcr->cap && BCRCapacitanceIsRegular(bcr->cap)));
}

PetscErrorCode BCRPoissonUpdateRemoved(PC pc)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  BCRSolverInfo info;

  PetscFunctionBegin;
  if (bcr->solver && BCRPoissonSingular(pc)) {
    PetscCall(BCRSolverGetInfo(bcr->solver, &info));
    bcr->removed = info.removed;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In the solver's slabs, with the rows that differ */
static PetscErrorCode solve_slab(PC pc, PetscMemType where, void *stream, PetscBool transpose, const PetscScalar *f,
                                 PetscScalar *u)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  const PetscInt n = bcr->moves.slab ? bcr->dof * bcr->moves.nodes : bcr->n;
  BCRCapacitanceInfo info;

  PetscFunctionBegin;
  if (!bcr->cap) {
    PetscCall(BCRSolverSolve(bcr->solver, where, stream, transpose, 1, f, n, u, n));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (BCRPoissonExtends(bcr)) {
    PetscCall(BCRCapacitanceExtend(bcr->cap, where, stream, transpose, f, u));
    bcr->boxes = 1;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BCRCapacitanceSolve(bcr->cap, where, stream, transpose, f, u));
  PetscCall(BCRCapacitanceGetInfo(bcr->cap, &info));
  bcr->boxes += info.solves;
  PetscCall(PetscInfo(pc,
                      "%" PetscInt_FMT " rows differ: %" PetscInt_FMT " solves of the box, %" PetscInt_FMT
                      " directions known, residual %g of rounding\n",
                      info.rows, info.solves, info.known, (double)info.residual));
  if (bcr->device) PetscCall(PetscLogGpuFlops(bcr->info.flops * (info.solves - 1)));
  else PetscCall(PetscLogFlops(bcr->info.flops * (info.solves - 1)));
  pc->failedreason = info.reached || PetscIsInfOrNanReal(info.residual) ? PC_NOERROR : PC_SUBPC_ERROR;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By way of the solver's slabs, on the device where it has the solver */
static PetscErrorCode solve_moved(PC pc, PetscMemType where, void *stream, PetscBool transpose, const PetscScalar *f,
                                  PetscScalar *u)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;

  PetscFunctionBegin;
  if (BCR_HAVE_CUDA && bcr->device) {
    PetscScalar *rhs = (PetscScalar *)BCRCarryDeviceSlab(bcr->moves.carry, PETSC_FALSE),
                *solution = (PetscScalar *)BCRCarryDeviceSlab(bcr->moves.carry, PETSC_TRUE);

    PetscCall(BCRCarryDeviceTake(bcr->moves.carry, where, stream, f));
    PetscCall(solve_slab(pc, PETSC_MEMTYPE_DEVICE, stream, transpose, rhs, solution));
    PetscCall(BCRCarryDeviceGive(bcr->moves.carry, where, stream, u));
  } else {
    PetscCall(BCRMovesTake(&bcr->moves, f));
    PetscCall(solve_slab(pc, PETSC_MEMTYPE_HOST, NULL, transpose, bcr->moves.slab, bcr->moves.slab));
    PetscCall(BCRMovesGive(&bcr->moves, u));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* u may be f */
static void turn_rows(const PC_BCRPoisson *bcr, const PetscScalar *f, PetscScalar *u)
{
  for (PetscInt i = 0; i < bcr->n; ++i) u[i] = bcr->turn[i] * f[i];
}

static PetscErrorCode solve(PC pc, PetscBool transpose, PetscInt nrhs, const PetscScalar *f, PetscInt ldf,
                            PetscScalar *u, PetscInt ldu)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  void *stream = NULL;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(BCR_Solve, pc, 0, 0, 0));
  if (bcr->device && bcr->moves.slab) PetscCall(BCRGetStream(&stream));
  for (PetscInt r = 0; r < nrhs && bcr->turn && !transpose; ++r)
    turn_rows(bcr, f + (size_t)r * ldf, u + (size_t)r * ldu);
  if (bcr->turn && !transpose) {
    f = u;
    ldf = ldu;
  }
  if (!bcr->moves.slab && !bcr->cap)
    PetscCall(BCRSolverSolve(bcr->solver, PETSC_MEMTYPE_HOST, NULL, transpose, nrhs, f, ldf, u, ldu));
  for (PetscInt r = 0; r < nrhs && (bcr->moves.slab || bcr->cap); ++r) {
    const PetscScalar *fr = f + (size_t)r * ldf;
    PetscScalar *ur = u + (size_t)r * ldu;

    if (bcr->moves.slab) PetscCall(solve_moved(pc, PETSC_MEMTYPE_HOST, stream, transpose, fr, ur));
    else PetscCall(solve_slab(pc, PETSC_MEMTYPE_HOST, NULL, transpose, fr, ur));
  }
  for (PetscInt r = 0; r < nrhs && bcr->turn && transpose; ++r)
    turn_rows(bcr, u + (size_t)r * ldu, u + (size_t)r * ldu);
  PetscCall(PetscLogFlops(bcr->info.flops * nrhs));
  PetscCall(PetscLogEventEnd(BCR_Solve, pc, 0, 0, 0));
  if (BCRPoissonSingular(pc)) {
    PetscCall(BCRPoissonUpdateRemoved(pc));
    PetscCall(PetscInfo(pc, "Singular operator: removed a constant of size %g from the right-hand side\n",
                        (double)bcr->removed));
  }
  for (PetscInt r = 0; r < nrhs; ++r) PetscCall(check_finite(pc, f + (size_t)r * ldf, u + (size_t)r * ldu));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors in device memory, on PETSc's stream. Nothing here waits for the device, but where rows differ for the numbers of their
   system: whether the solution is finite is for the norms of the KSP to see. */
static PetscErrorCode solve_device(PC pc, PetscBool transpose, PetscInt nrhs, const PetscScalar *f, PetscInt ldf,
                                   PetscScalar *u, PetscInt ldu)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  void *stream;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(BCR_Solve, pc, 0, 0, 0));
  PetscCall(BCRGetStream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  for (PetscInt r = 0; r < nrhs && BCR_HAVE_CUDA && bcr->turn && !transpose; ++r)
    PetscCall(BCRTurnDeviceApply(bcr->turndevice, stream, f + (size_t)r * ldf, u + (size_t)r * ldu));
  if (bcr->turn && !transpose) {
    f = u;
    ldf = ldu;
  }
  if (!bcr->cap && !bcr->moves.slab)
    PetscCall(BCRSolverSolve(bcr->solver, PETSC_MEMTYPE_DEVICE, stream, transpose, nrhs, f, ldf, u, ldu));
  for (PetscInt r = 0; r < nrhs && (bcr->moves.slab || bcr->cap); ++r) {
    const PetscScalar *fr = f + (size_t)r * ldf;
    PetscScalar *ur = u + (size_t)r * ldu;

    if (bcr->moves.slab) PetscCall(solve_moved(pc, PETSC_MEMTYPE_DEVICE, stream, transpose, fr, ur));
    else PetscCall(solve_slab(pc, PETSC_MEMTYPE_DEVICE, stream, transpose, fr, ur));
  }
  for (PetscInt r = 0; r < nrhs && BCR_HAVE_CUDA && bcr->turn && transpose; ++r)
    PetscCall(BCRTurnDeviceApply(bcr->turndevice, stream, u + (size_t)r * ldu, u + (size_t)r * ldu));
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(bcr->info.flops * nrhs));
  PetscCall(PetscLogEventEnd(BCR_Solve, pc, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPSetErrorIfNotConverged(): one unknown of each component is looked at, as on the host, and the
   device waited for. a->u: on the device, restored */
static PetscErrorCode check_finite_device(PC pc, BCRArrays *a)
{
  const PC_BCRPoisson *bcr = (const PC_BCRPoisson *)pc->data;
  const PetscInt *n = bcr->place.grid.n, middle = bcr->dof * (n[0] / 2 + n[0] * (n[1] / 2 + n[1] * (n[2] / 2)));
  PetscScalar one;
  PetscBool finite = PETSC_TRUE;
  PetscErrorCode ierr;
  void *stream;

  PetscFunctionBegin;
  if (!pc->erroriffailure || (!bcr->n && bcr->place.grid.size == 1)) PetscFunctionReturn(PETSC_SUCCESS);
  if (bcr->place.grid.size > 1) finite = PETSC_FALSE; /* what follows is for all ranks, or none */
  PetscCall(BCRGetStream(&stream));
  for (PetscInt c = 0; c < bcr->dof && finite; ++c) {
    PetscCall(BCRFetch(stream, sizeof(one), a->u + middle + c, &one));
    if (PetscIsInfOrNanScalar(one)) finite = PETSC_FALSE;
  }
  if (finite) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRArraysGet(a, BCR_ARRAYS_READ));
  ierr = check_finite(pc, a->f, a->u);
  PetscCall(BCRArraysRestore(a));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* auto: the plan moves, once, to where the vectors are. On several ranks the first vectors decide, if
   they are in the same place on all of them: to ask again would cost each application a message.
   Others are staged, by each rank for itself. */
static PetscErrorCode follow(PC pc, BCRVecPlace place)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  const PetscBool device = place == BCR_VECS_DEVICE ? PETSC_TRUE : PETSC_FALSE;
  PetscBool same = PETSC_TRUE;

  PetscFunctionBegin;
  if (bcr->backend != PCBCRPOISSON_BACKEND_AUTO || bcr->switched || bcr->followed || !bcr->possible)
    PetscFunctionReturn(PETSC_SUCCESS);
  if (BCRPoissonHostOnly(bcr)) PetscFunctionReturn(PETSC_SUCCESS); /* what a device does not solve with */
  if (bcr->place.grid.size > 1) {
    int mine[2] = {(int)place, -(int)place}, all[2];

    bcr->followed = PETSC_TRUE;
    PetscCallMPI(MPI_Allreduce(mine, all, 2, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)pc)));
    if (all[0] != -all[1]) same = PETSC_FALSE;
  }
  if (!same || place == BCR_VECS_MIXED || bcr->device == device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(
    PetscInfo(pc, "The vectors are in the memory of the %s: the plan moves there\n", device ? "device" : "host"));
  bcr->switched = PETSC_TRUE;
  bcr->device = device;
  BCRCallElse(BCRPoissonPlan(pc), BCROptionsChanged(pc, PETSC_FALSE), (void)PCReset_BCRPoisson(pc));
  PetscCall(BCRSolverGetInfo(bcr->solver, &bcr->info));
  PetscFunctionReturn(PETSC_SUCCESS);
}
/* Solves on the device where f and u are there and may stay, else on the host; arrays->place says which it was */
static PetscErrorCode solve_arrays(PC pc, PetscBool transpose, BCRArrays *a)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCheck(bcr->solver, PetscObjectComm((PetscObject)pc), PETSC_ERR_ORDER,
             "PCBCRPOISSON is applied before it is set up: call PCSetUp() or KSPSetUp() first");
  PetscCall(
    BCRArraysGet(a, bcr->device || bcr->backend == PCBCRPOISSON_BACKEND_AUTO ? BCR_ARRAYS_ANYWHERE : BCR_ARRAYS_HOST));
  PetscCall(follow(pc, a->place));
  if (a->place == BCR_VECS_MIXED || (a->place == BCR_VECS_DEVICE && !bcr->device)) {
    PetscCall(BCRArraysRestore(a));
    PetscCall(BCRArraysGet(a, BCR_ARRAYS_HOST));
  }
  if (a->place == BCR_VECS_DEVICE) ierr = solve_device(pc, transpose, a->ncols, a->f, a->ldf, a->u, a->ldu);
  else ierr = solve(pc, transpose, a->ncols, a->f, a->ldf, a->u, a->ldu);
  PetscCall(BCRArraysRestore(a));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode apply_in_order(PC pc, PetscBool transpose, Vec x, Vec y)
{
  BCRSides *sides = &((PC_BCRPoisson *)pc->data)->sides;
  BCRArrays arrays;

  PetscFunctionBegin;
  if (sides->beside && !transpose) PetscCall(BCRSidesTake(sides, x));
  PetscCall(BCRArraysOfVecs(sides->beside && !transpose ? sides->f : x, y, &arrays));
  PetscCall(solve_arrays(pc, transpose, &arrays));
  if (sides->beside && transpose) PetscCall(BCRSidesGive(sides, y));
  if (arrays.place == BCR_VECS_DEVICE) PetscCall(check_finite_device(pc, &arrays));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode apply_vec(PC pc, PetscBool transpose, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(BCRPlaceApply(pc, &((PC_BCRPoisson *)pc->data)->place, transpose, x, y, apply_in_order));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without the means of the right-hand side on the ponds, and of the solution */
static PetscErrorCode apply_without_ponds(PC pc, PetscBool transpose, Vec x, Vec y)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  BCRPonds *ponds = &bcr->ponds;

  PetscFunctionBegin;
  PetscCall(VecCopy(x, ponds->rhs));
  PetscCall(BCRPondsRemove(ponds, ponds->rhs, ponds->sum));
  for (PetscInt k = 0; k < ponds->n; ++k)
    PetscCall(PetscInfo(pc,
                        "Pond %" PetscInt_FMT " of %" PetscInt_FMT ", %" PetscInt_FMT " rows from %" PetscInt_FMT
                        " on: the right-hand side has the sum %g there, which should vanish; its mean is removed\n",
                        k + 1, ponds->n, ponds->rows[k], ponds->row[k], (double)PetscAbsScalar(ponds->sum[k])));
  PetscCall(apply_vec(pc, transpose, ponds->rhs, y));
  if (!pc->failedreason) PetscCall(BCRPondsRemove(ponds, y, ponds->mean));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A system of rows that differ that is not solved may be one without a solution, for this right-hand side: then ponds are looked
   for. Else a fit is what comes next */
static PetscErrorCode apply_any(PC pc, PetscBool transpose, Vec x, Vec y)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;

  PetscFunctionBegin;
  if (!bcr->ponds.n) PetscCall(apply_vec(pc, transpose, x, y));
  if (bcr->cap && pc->failedreason && !bcr->ponds.known) PetscCall(BCRPondsFind(pc->pmat, &bcr->ponds));
  if (bcr->ponds.n) PetscCall(apply_without_ponds(pc, transpose, x, y));
  if (!bcr->cap || !pc->failedreason) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(pc, "The system of the rows that differ is not solved: this solve fails%s\n",
                      bcr->fit == PCBCRPOISSON_FIT_AUTO ? ", the next one sets up with a fit" : ""));
  if (bcr->fit != PCBCRPOISSON_FIT_AUTO) PetscFunctionReturn(PETSC_SUCCESS);
  bcr->stagnated = PETSC_TRUE;
  BCROptionsChanged(pc, PETSC_FALSE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The extension is no solution, and what refinement makes of it no simple preconditioner */
static PetscBool refines_once(const PC_BCRPoisson *bcr, PetscBool transpose)
{
  if (BCRPoissonExtends(bcr)) return PETSC_FALSE;
  return (PetscBool)(bcr->grading > BCR_GRADED || bcr->condition > BCR_CONDITION_REFINE ||
                     (transpose && bcr->skewness > BCR_SKEWED));
}

/* There are rows that differ, and some are much larger than others, or the last solve has lost digits to a box that is nearly
   singular, which the matrix is not */
static PetscBool loses_digits(const PC_BCRPoisson *bcr)
{
  BCRCapacitanceInfo info = {.grading = 0};

  if (bcr->cap && !BCRPoissonExtends(bcr)) (void)BCRCapacitanceGetInfo(bcr->cap, &info);
  for (PetscInt c = 0; c < bcr->dof && bcr->cap; ++c)
    if (bcr->ops[c].differ && bcr->ops[c].differ->shift != 0) info.lost = PETSC_TRUE;
  return (PetscBool)(info.grading > BCR_GRADED_ROW || info.lost);
}

/* Largest sum of a column of the matrix, or of a row. PETSc takes it on the host, in more time than a solve on a device: once for
   the same values */
static PetscErrorCode norm_of(PC pc, PetscBool columns, PetscReal *norm)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  PetscObjectState state;

  PetscFunctionBegin;
  PetscCall(PetscObjectStateGet((PetscObject)pc->pmat, &state));
  if (bcr->normid[columns] != ((PetscObject)pc->pmat)->id || bcr->normstate[columns] != state) {
    PetscCall(MatNorm(pc->pmat, columns ? NORM_1 : NORM_INFINITY, &bcr->norm[columns]));
    bcr->normid[columns] = ((PetscObject)pc->pmat)->id;
    bcr->normstate[columns] = state;
  }
  *norm = bcr->norm[columns];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* r = x - A y; *small: it is rounding's, of the largest sizes */
static PetscErrorCode residual_of(PC pc, PetscBool transpose, Vec x, Vec y, Vec r, PetscBool *small)
{
  PetscReal norm[4];

  PetscFunctionBegin;
  if (transpose) PetscCall(MatMultTranspose(pc->pmat, y, r));
  else PetscCall(MatMult(pc->pmat, y, r));
  PetscCall(VecAYPX(r, -1, x));
  if (!small) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecNorm(r, NORM_INFINITY, &norm[0]));
  PetscCall(VecNorm(y, NORM_INFINITY, &norm[1]));
  PetscCall(VecNorm(x, NORM_INFINITY, &norm[2]));
  PetscCall(norm_of(pc, transpose, &norm[3]));
  *small = (PetscBool)(norm[0] <= 16 * PETSC_MACHINE_EPSILON * (norm[3] * norm[1] + norm[2]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = M x, then y += M (x - A y) where rows are graded, or eigenvectors are ill-conditioned: M is linear, and
   symmetric if it was, all the same. Where rows that differ have lost digits it is done as often as they need it */
static PetscErrorCode apply_refined(PC pc, PetscBool transpose, Vec x, Vec y)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  PetscBool lost, small = PETSC_FALSE;
  int steps;

  PetscFunctionBegin;
  bcr->boxes = 0;
  PetscCall(apply_any(pc, transpose, x, y));
  lost = loses_digits(bcr);
  steps = lost ? 3 : refines_once(bcr, transpose) ? 1 : 0;
  for (int k = 0; k < 2 && steps; ++k) /* few programs solve transposed systems: made when the first one is */
    if (!bcr->graded[k]) PetscCall(MatCreateVecs(pc->pmat, NULL, &bcr->graded[k]));
  for (int s = 0; s < steps; ++s) {
    if (bcr->cap && pc->failedreason) break; /* on all ranks */
    PetscCall(residual_of(pc, transpose, x, y, bcr->graded[0], lost ? &small : NULL));
    if (small) break;
    PetscCall(apply_any(pc, transpose, bcr->graded[0], bcr->graded[1]));
    PetscCall(VecAXPY(y, 1, bcr->graded[1]));
  }
  if (bcr->told > 0) {
    pc->failedreason = PC_SUBPC_ERROR;
    if (bcr->spoil)
      PetscCall(VecSet(y, PETSC_INFINITY)); /* Krylov methods look at failures where norms are not finite */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCApply_BCRPoisson(PC pc, Vec x, Vec y)
{
  PC other;

  PetscFunctionBegin;
  PetscCall(BCRPoissonSetUpWith(pc, x, y));
  other = ((PC_BCRPoisson *)pc->data)->otherwise.pc;
  BCRCallElse(other ? PCApply(other, x, y) : apply_refined(pc, PETSC_FALSE, x, y), BCRPreSolveEnds(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCApplyTranspose_BCRPoisson(PC pc, Vec x, Vec y)
{
  PC other;

  PetscFunctionBegin;
  PetscCall(BCRPoissonSetUpWith(pc, x, y));
  other = ((PC_BCRPoisson *)pc->data)->otherwise.pc;
  BCRCallElse(other ? PCApplyTranspose(other, x, y) : apply_refined(pc, PETSC_TRUE, x, y), BCRPreSolveEnds(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode apply_mat(PC pc, PetscBool transpose, Mat X, Mat Y)
{
  PC_BCRPoisson *bcr = (PC_BCRPoisson *)pc->data;
  BCRArrays arrays;

  PetscFunctionBegin;
  if (bcr->place.ordered || bcr->cap || bcr->sides.beside || refines_once(bcr, transpose)) {
    PetscCall(BCRApplyByColumns(pc, transpose, X, Y, apply_refined));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BCRArraysOfMats(X, Y, &arrays));
  PetscCall(solve_arrays(pc, transpose, &arrays));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPMatSolve() comes here without PCPreSolve(): KSPPREONLY cannot be told from block methods, which iterate */
PetscErrorCode PCMatApply_BCRPoisson(PC pc, Mat X, Mat Y)
{
  const PC_BCRPoisson *bcr = (const PC_BCRPoisson *)pc->data;
  PetscInt level, c;

  PetscFunctionBegin;
  PetscCall(BCRPoissonSetUpWith(pc, NULL, NULL));
  if (bcr->otherwise.pc) {
    PetscCall(PCMatApply(bcr->otherwise.pc, X, Y));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  c = BCRPoissonUnchosenFit(pc);
  PetscCall(PetscObjectGetTabLevel((PetscObject)pc, &level));
  if (c >= 0 && level == 0 && !bcr->refined)
    PetscCall(refuse_fit(pc, c, "PCMatApply() for a KSP that may not iterate"));
  PetscCall(apply_mat(pc, PETSC_FALSE, X, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if PETSC_VERSION_GE(3, 24, 0)
PetscErrorCode PCMatApplyTranspose_BCRPoisson(PC pc, Mat X, Mat Y)
{
  PC other;

  PetscFunctionBegin;
  PetscCall(BCRPoissonSetUpWith(pc, NULL, NULL));
  other = ((PC_BCRPoisson *)pc->data)->otherwise.pc;
  PetscCall(other ? PCMatApplyTranspose(other, X, Y) : apply_mat(pc, PETSC_TRUE, X, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
