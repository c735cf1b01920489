/*
  Creation, change and end of a solver: its components (component.c), their cores, workspace. What a solve does: pass.c.
*/
#include "backend.h"
#include "plan.h"
#include "../base/agree.h"
#include "../backend/cpu/cpu.h"
#include "../operator/devscale.h"

PetscErrorCode BCRSolverShare(BCRSolver s, PetscErrorCode ierr, const char what[])
{
  PetscFunctionBegin;
  if (s->slabs.comm != MPI_COMM_NULL) PetscCall(BCRFaultShare(s->slabs.comm, ierr, what));
  else PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSolverArray(BCRSolver s, size_t bytes, const char what[], void *p)
{
  PetscFunctionBegin;
  if (bytes) PetscCall(s->be->alloc(bytes, what, p));
  s->bytes += bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void BCRSolverStrides(const PetscInt n[3], size_t size, size_t pad, PetscInt *ldy, PetscInt *ldz)
{
  const PetscInt more = n[0] && ((size_t)n[0] * size) % 1024 == 0 ? (PetscInt)(pad / size) : 0;

  *ldy = n[0] + more;
  if ((double)*ldy * (double)n[1] * (double)PetscMax(n[2], 1) > (double)PETSC_MAX_INT) *ldy = n[0];
  *ldz = *ldy * n[1];
}

static PetscErrorCode solver_arrays(BCRSolver s, const BCROperator ops[])
{
  PetscFunctionBegin;
  PetscCall(PetscCalloc1(s->dof, &s->comp));
  PetscCall(PetscCalloc4(s->dof, &s->core, s->dof, &s->fallback, s->dof, &s->waves, s->dof, &s->pairs));
  for (PetscInt m = 0; m < s->dof; m++)
    PetscCheck(ops[m].dim >= 1 && ops[m].dim <= 3, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "An operator of dimension %" PetscInt_FMT, ops[m].dim);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* rows of an array with the strides of field x that the largest box needs */
static size_t field_bytes(BCRSolver s, const BCRField *x)
{
  size_t bytes = 0;

  for (PetscInt m = 0; m < s->dof; m++) {
    const BCRComponent *c = &s->comp[m];

    if (c->core >= 0)
      bytes =
        PetscMax(bytes, (size_t)x->stride[2] * (size_t)c->op.axis[2].n * (x->single ? sizeof(float) : sizeof(double)));
  }
  return bytes;
}

/* The caller's layout, or one box of the core's precision */
static PetscErrorCode solver_layout(BCRSolver s)
{
  const PetscBool real = BCR_REAL_SINGLE, single = s->precision == BCR_DOUBLE ? PETSC_FALSE : PETSC_TRUE;
  const PetscBool converts = s->be->flags & BCR_BACKEND_CONVERTS && !real ? PETSC_TRUE : PETSC_FALSE;
  const BCRComponent *c = &s->comp[0];
  PetscInt n[3] = {0, 0, 0}, ldy, ldz;
  PetscBool coupled = PETSC_FALSE;

  PetscFunctionBegin;
  s->staged = s->dof * BCR_PARTS > 1 || s->mixed || (single != real && !converts) ? PETSC_TRUE : PETSC_FALSE;
  s->sums =
    s->mixed && (s->dof * BCR_PARTS > 1 || (real && s->be->flags & BCR_BACKEND_SUMS_DOUBLE)) ? PETSC_TRUE : PETSC_FALSE;
  for (PetscInt m = 0; m < s->dof; m++) {
    for (int d = 0; d < 3; d++) n[d] = PetscMax(n[d], s->comp[m].op.axis[d].n);
  }
  ldy = c->stride[1];
  ldz = c->stride[2];
  if (s->staged) BCRSolverStrides(n, single ? sizeof(float) : sizeof(double), s->be->pad, &ldy, &ldz);
  s->stage.single = s->staged ? single : real;
  s->stage.stride[0] = s->sum.stride[0] = 1;
  s->stage.stride[1] = ldy;
  s->stage.stride[2] = ldz;
  s->sum.single = real && !(s->be->flags & BCR_BACKEND_SUMS_DOUBLE) ? PETSC_TRUE : PETSC_FALSE;
  s->sum.stride[1] = s->sums ? ldy : c->stride[1];
  s->sum.stride[2] = s->sums ? ldz : c->stride[2];
  for (PetscInt m = 0; m < s->dof; m++) coupled = (PetscBool)(coupled || BCRComponentCoupled(s, &s->comp[m]));
  s->stagepart = (ptrdiff_t)(field_bytes(s, &s->stage) / (s->stage.single ? sizeof(float) : sizeof(double)));
  if (s->staged)
    PetscCall(BCRSolverArray(s, (coupled ? 2 : 1) * field_bytes(s, &s->stage), "the workspace", &s->stage.v));
  if (s->mixed && (s->sums || s->options.inplace))
    PetscCall(BCRSolverArray(s, field_bytes(s, &s->sum), "the solution in double precision", &s->sum.v));
  PetscCall(
    BCRSolverArray(s, BCR_SLOTS * (size_t)s->dof * BCR_PARTS * sizeof(double), "removed constants", &s->removed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solution for f = 1 and what is removed of it; waits for it */
static PetscErrorCode ones_create(BCRSolver s, void *stream, BCRComponent *c, PetscInt transpose)
{
  const size_t n = PetscMax(1, BCRComponentNodes(c)), bytes = n * sizeof(PetscReal);
  PetscReal *f = NULL, *there = NULL;
  PetscErrorCode ierr;
  BCRPass p;

  PetscFunctionBegin;
  ierr = PetscMalloc1(n, &f);
  if (!ierr) ierr = BCRComponentOnesRhs(c, transpose, f);
  if (!ierr && !c->ones[transpose]) ierr = BCRSolverArray(s, bytes, "tables", &c->ones[transpose]);
  if (!ierr) ierr = s->be->alloc(bytes, "a right-hand side of ones", &there);
  if (!ierr) ierr = s->be->put(stream, there, f, bytes);
  PetscCall(PetscFree(f));
  ierr = BCRSolverShare(s, ierr, "has no memory for the solution of a constant right-hand side");
  if (!ierr && s->be->ready) ierr = s->be->ready(s);
  if (!ierr) {
    p.s = s;
    p.c = c;
    p.transpose = transpose;
    p.nodestride = 1;
    p.f = there;
    p.u = c->ones[transpose];
    p.stream = stream;
    p.removed = s->removed;
    ierr = BCRPassSolve(&p);
  }
  if (!ierr) ierr = s->be->get(stream, &c->onesremoved[transpose], s->removed, sizeof(double));
  PetscCall(s->be->free(there));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSolverReserve(BCRSolver s, void *stream, PetscInt transpose, PetscBool inplace)
{
  PetscFunctionBegin;
  if (inplace && s->mixed && !s->sum.v)
    PetscCall(BCRSolverArray(s, field_bytes(s, &s->sum), "the solution in double precision", &s->sum.v));
  for (PetscInt m = 0; m < s->dof; m++) {
    BCRComponent *c = &s->comp[m];

    if (BCRComponentOnes(c, transpose) && c->onesremoved[transpose] == 0)
      PetscCall(ones_create(s, stream, c, transpose));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The axes of the box of component c as cores have them, which know neither weights nor planes of boundary rows */
static PetscErrorCode core_axes(const BCRComponent *c, BCRAxis axis[3])
{
  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    axis[d] = *BCRComponentAxis(c, d);
    axis[d].weight = NULL;
    if (axis[d].n == 1) axis[d].a = 0;
    PetscCall(PetscMemzero(axis[d].plane, sizeof(axis[d].plane)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A core of component c, all but its set-up: in double after corrections that would not
   do, else of the work precision */
static PetscErrorCode core_create(BCRSolver s, const BCRComponent *c, PetscBool fallback, BCRRanks *core)
{
  const BCRField *x = fallback ? &s->sum : &s->stage;
  const PetscInt slab = PetscMax(0, c->slab);
  const PetscBool made =
    s->staged || c->prescale[0] || c->prescale[1] || BCROperatorScaled(&c->op) || c->nface ? PETSC_TRUE : PETSC_FALSE;
  BCRCoreOptions options = s->options.core;
  PetscInt stride[3];
  BCRAxis axis[3];
  BCRRanksSpec spec = {
    .comm = s->slabs.comm,
    .axis = slab,
    .first = c->first,
    .m = c->op.axis[slab].n,
    .dim = c->op.dim,
    .axes = axis,
    .mixed = c->op.product ? c->op.mixed : NULL,
    .waves = c->op.waves && !c->op.product ? PETSC_TRUE : PETSC_FALSE,
    .pair = {(double)c->op.tau, s->stagepart},
    .shift = c->op.shift,
    .singular = c->op.singular,
    .stride = stride,
    .io = !fallback && x->single ? BCR_SINGLE : BCR_DOUBLE,
    .options = &options,
    .halo = s->mixed && !fallback ? PETSC_TRUE : PETSC_FALSE
  };

  PetscFunctionBegin;
  options.precision = fallback ? BCR_DOUBLE : (s->mixed ? BCR_SINGLE : s->precision);
  for (int d = 0; d < 3; d++) stride[d] = (PetscInt)x->stride[d];
  PetscCall(core_axes(c, axis));
  PetscCall(s->be->core_create(s, &spec, made, core));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool BCRComponentWaves(BCRSolver s, const BCRComponent *c)
{
  return c->op.waves && !s->be->core_forget ? PETSC_TRUE : PETSC_FALSE;
}

PetscBool BCRComponentCoupled(BCRSolver s, const BCRComponent *c)
{
  return c->op.waves && c->op.tau != 0 && s->be->core_forget ? PETSC_TRUE : PETSC_FALSE;
}

/* The caller's vectors are the box of component c, with nothing to be done before or after it */
static PetscBool component_bare(BCRSolver s, const BCRComponent *c)
{
  if (s->dof > 1 || BCR_PARTS == 1 || BCR_REAL_SINGLE || s->be->flags & BCR_BACKEND_DEVICE) return PETSC_FALSE;
  if (s->slabs.comm != MPI_COMM_NULL || BCRComponentBox(c) != BCRComponentNodes(c)) return PETSC_FALSE;
  for (int t = 0; t < 2; t++)
    if (c->prescale[t] || c->postscale[t]) return PETSC_FALSE;
  return BCROperatorScaled(&c->op) || c->napart ? PETSC_FALSE : PETSC_TRUE;
}

/* Beside the core of component c, which is definite */
static PetscErrorCode pairs_create(BCRSolver s, const BCRComponent *c)
{
  PetscInt stride[3];

  PetscFunctionBegin;
  PetscCall(BCRPairsDestroy(&s->pairs[c->core]));
  if (s->precision != BCR_DOUBLE || c->op.singular || c->op.product || !component_bare(s, c))
    PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 3; d++) stride[d] = c->stride[d];
  PetscCall(
    BCRPairsCreate(c->op.dim, c->op.axis, (double)c->op.shift, 0, stride, &s->options.core, &s->pairs[c->core]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In its place, where component c is not definite */
static PetscErrorCode waves_create(BCRSolver s, const BCRComponent *c, BCRWaves *waves, BCRPairs *pairs)
{
  const PetscInt slab = PetscMax(0, c->slab);
  BCRAxis axis[3];
  const BCRWavesSpec spec = {.comm = s->slabs.comm,
                             .axis = slab,
                             .first = c->first,
                             .m = c->op.axis[slab].n,
                             .dim = c->op.dim,
                             .axes = axis,
                             .mixed = c->op.product ? c->op.mixed : NULL,
                             .shift = (double)c->op.shift,
                             .tau = (double)c->op.tau,
                             .options = &s->options.core,
                             .pairs = component_bare(s, c) ? pairs : NULL};

  PetscFunctionBegin;
  PetscCall(core_axes(c, axis));
  PetscCall(BCRWavesCreate(&spec, waves));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Boxes of their right-hand sides, where the caller's vectors are not such boxes */
static PetscErrorCode waves_boxes(BCRSolver s)
{
  size_t most = 0;

  PetscFunctionBegin;
  for (PetscInt m = 0; m < s->dof; m++) {
    const BCRComponent *c = &s->comp[m];

    if (!BCRComponentWaves(s, c) || c->core < 0) continue;
    if (s->dof * BCR_PARTS > 1 || BCR_REAL_SINGLE || BCRComponentBox(c) != BCRComponentNodes(c))
      most = PetscMax(most, BCRComponentBox(c) + 64);
  }
  for (int k = 0; k < BCR_PARTS && most; k++)
    PetscCall(BCRSolverArray(s, most * sizeof(double), "the workspace", &s->wavesbox[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Factors and tables of the cores of component c */
static PetscErrorCode core_setup(BCRSolver s, const BCRComponent *c)
{
  BCRRanks core = s->core[c->core], fallback = s->fallback[c->core];

  PetscFunctionBegin;
  if (core) PetscCall(pairs_create(s, c));
  if (!core) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRRanksSetFactor(core, s->mixed ? (PetscReal)c->norm : c->factor));
  PetscCall(BCRRanksSetUp(core));
  if (fallback) {
    PetscCall(BCRRanksSetFactor(fallback, 1 / c->op.scale));
    PetscCall(BCRRanksSetUp(fallback));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of a box that an error is about, in words */
#define BCR_NO_TABLES "cannot make the tables of its rows, as its own message says"

PetscErrorCode BCRSolverFallback(BCRSolver s, const BCRComponent *c)
{
  BCRRanks *core = &s->fallback[c->core];

  PetscFunctionBegin;
  PetscCall(PetscInfo(NULL,
                      "Corrections of the single-precision solve do not converge for this right-hand side; solving "
                      "such ones in double precision\n"));
  PetscCall(core_create(s, c, PETSC_TRUE, core));
  PetscCall(BCRRanksSetFactor(*core, 1 / c->op.scale));
  PetscCall(BCRSolverShare(s, BCRRanksSetUp(*core), BCR_NO_TABLES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One for each kind of component */
static PetscErrorCode solver_cores(BCRSolver s)
{
  PetscFunctionBegin;
  for (PetscInt m = 0; m < s->dof; m++) {
    BCRComponent *c = &s->comp[m];

    if (c->core < 0) continue;
    c->core = -1;
    c->untried = PETSC_TRUE;
    for (PetscInt l = 0; l < m && c->core < 0; l++) {
      if (s->comp[l].core >= 0 && BCRComponentSameCore(&s->comp[l], c)) c->core = s->comp[l].core;
    }
    if (c->core >= 0) continue;
    if (BCRComponentWaves(s, c)) PetscCall(waves_create(s, c, &s->waves[s->ncore], &s->pairs[s->ncore]));
    else PetscCall(core_create(s, c, PETSC_FALSE, &s->core[s->ncore]));
    c->core = s->ncore++;
    PetscCall(BCRSolverShare(s, core_setup(s, c), BCR_NO_TABLES));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is found out by solves: corrections in mixed precision, with a core in double where they do not do; what a
   constant right-hand side becomes */
static PetscErrorCode solver_trials(BCRSolver s)
{
  PetscFunctionBegin;
  for (PetscInt m = 0; m < s->dof && s->mixed; m++) {
    BCRComponent *c = &s->comp[m];

    if (c->core < 0 || !c->untried || c->op.waves) continue;
    PetscCall(BCRRefineTrial(s, c));
    c->untried = PETSC_FALSE;
    if (!c->wantdouble || s->fallback[c->core]) continue;
    PetscCall(core_create(s, c, PETSC_TRUE, &s->fallback[c->core]));
    PetscCall(BCRSolverShare(s, core_setup(s, c), BCR_NO_TABLES));
  }
  PetscCall(BCRSolverReserve(s, s->options.stream, 0, PETSC_FALSE));
  if (s->be->settle) PetscCall(s->be->settle(s)); /* solves may be on another stream */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode solver_tables(BCRSolver s)
{
  PetscFunctionBegin;
  for (PetscInt m = 0; m < s->dof && s->be->tables; m++) PetscCall(s->be->tables(s, &s->comp[m]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a rank does on its own; moved: operators that the caller frees, whatever fails */
static PetscErrorCode solver_create(BCRSolver s, const BCROperator ops[], BCROperator **moved)
{
  PetscFunctionBegin;
  PetscCall(BCRSlabsMoveOperators(&s->slabs, s->dof, ops, moved));
  PetscCall(BCRComponentsCreate(s, *moved ? *moved : ops));
  PetscCall(s->be->create(s));
  PetscCall(solver_tables(s));
  PetscCall(solver_layout(s));
  PetscCall(waves_boxes(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode solver_fill(BCRSolver s, const BCROperator ops[], const BCRSlab *slab, BCROperator **moved)
{
  PetscMPIInt size = 1;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  s->be = s->options.device ? BCRBackendCuda() : BCRBackendCpu();
  PetscCheck(s->be, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "This petscbcr was built without a CUDA backend: use -pc_bcrpoisson_backend cpu or auto");
  ierr = solver_arrays(s, ops);
  if (slab) PetscCall(BCRFaultShare(slab->comm, ierr, BCR_NO_MEMORY));
  else PetscCall(ierr);
  PetscCall(BCRSlabsCreate(slab, s->dof, ops, &s->slabs));
  if (slab) PetscCallMPI(MPI_Comm_size(s->slabs.comm, &size));
  s->precision = s->options.core.precision;
  /* corrections would need a sum over all ranks each */
  if (size > 1 && s->precision == BCR_MIXED && s->be->flags & BCR_BACKEND_ASYNC) s->precision = BCR_DOUBLE;
  /* products of axes have no residual in double of their own, residuals of single precision no numbers along an axis */
  for (PetscInt m = 0; m < s->dof; m++)
    if ((s->precision == BCR_MIXED && (ops[m].product || BCRAxesTimes(ops[m].dim, ops[m].axis) >= 0)) ||
        (ops[m].waves && s->be->core_forget))
      s->precision = BCR_DOUBLE;
  s->mixed = s->precision == BCR_MIXED ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(BCRSolverShare(s, solver_create(s, ops, moved), BCR_NO_MEMORY));
  if (s->be->connect) PetscCall(s->be->connect(s));
  PetscCall(solver_cores(s));
  PetscCall(solver_trials(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSolverCreate(PetscInt dof, const BCROperator ops[], const BCRSolverOptions *options,
                               const BCRSlab *slab, BCRSolver *solver)
{
  BCRSolver s = NULL;
  BCROperator *moved = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *solver = NULL; /* until it is whole */
  PetscCheck(dof > 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "%" PetscInt_FMT " components; there must be at least one", dof);
  ierr = PetscNew(&s);
  if (slab) ierr = BCRFaultShare(slab->comm, ierr, BCR_NO_MEMORY);
  BCRCallElse(ierr, (void)PetscFree(s));
  s->options = *options;
  s->dof = dof;
  s->slabs.comm = MPI_COMM_NULL;
  ierr = solver_fill(s, ops, slab, &moved);
  PetscCall(BCRSlabsFreeOperators(&s->slabs, dof, &moved));
  BCRCallElse(ierr, (void)BCRSolverDestroy(&s));
  s->whole = PETSC_TRUE;
  *solver = s;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSolverDestroy(BCRSolver *solver)
{
  BCRSolver s = *solver;

  PetscFunctionBegin;
  if (!s) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt m = 0; m < s->dof && s->core; m++) {
    PetscCall(BCRRanksDestroy(&s->core[m]));
    PetscCall(BCRRanksDestroy(&s->fallback[m]));
    PetscCall(BCRWavesDestroy(&s->waves[m]));
    PetscCall(BCRPairsDestroy(&s->pairs[m]));
  }
  PetscCall(PetscFree4(s->core, s->fallback, s->waves, s->pairs));
  for (PetscInt m = 0; m < s->dof && s->comp; m++) {
    BCRComponent *c = &s->comp[m];

    if (s->be->tables_destroy) PetscCall(s->be->tables_destroy(c));
    for (int t = 0; t < 2; t++) PetscCall(s->be->free(c->ones[t]));
    PetscCall(BCRComponentRelease(c));
  }
  PetscCall(PetscFree(s->comp));
  if (s->be) {
    PetscCall(s->be->free(s->stage.v));
    PetscCall(s->be->free(s->sum.v));
    for (int k = 0; k < 2; k++) PetscCall(s->be->free(s->wavesbox[k]));
    PetscCall(s->be->free(s->removed));
    PetscCall(s->be->free(s->copy));
    PetscCall(s->be->destroy(s));
  }
  PetscCall(PetscFree(s->hostcopy));
  PetscCall(BCRSlabsDestroy(&s->slabs));
  PetscCall(PetscFree(*solver));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a rank does on its own */
static PetscErrorCode update_components(BCRSolver s, const BCROperator ops[])
{
  PetscFunctionBegin;
  if (s->be->settle) PetscCall(s->be->settle(s));
  for (PetscInt m = 0; m < s->dof; m++) PetscCall(BCRComponentUpdate(s, &ops[m], &s->comp[m]));
  PetscCall(solver_tables(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode update_cores(BCRSolver s)
{
  PetscFunctionBegin;
  for (PetscInt m = 0; m < s->dof; m++) {
    const BCRComponent *c = &s->comp[m];

    if (c->core < 0 || !c->shifted) continue;
    PetscCall(BCRRanksSetShift(s->core[c->core], c->op.shift));
    if (s->fallback[c->core]) PetscCall(BCRRanksSetShift(s->fallback[c->core], c->op.shift));
  }
  for (PetscInt m = 0; m < s->dof; m++) {
    if (s->comp[m].core >= 0) PetscCall(core_setup(s, &s->comp[m]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Plans whose rows have ends apart (plan.h) stand on an operator with other ends, which a lower shift may make indefinite */
static PetscBool shift_lower(BCRSolver s, const BCRComponent *c, const BCROperator *op, PetscReal gamma)
{
  return !(s->be->flags & BCR_BACKEND_DEVICE) && op->axis[0].lower && (op->axis[1].lower || op->axis[2].lower) &&
             op->shift / gamma < c->op.shift
           ? PETSC_TRUE
           : PETSC_FALSE;
}

PetscErrorCode BCRSolverUpdate(BCRSolver s, const BCROperator ops[], PetscBool *done)
{
  BCROperator *moved = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  PetscCheck(s->whole, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
             "The last change of this solver has failed: create another one");
  for (PetscInt m = 0; m < s->dof; m++) {
    PetscReal gamma;

    if (!BCRComponentSameShape(&s->comp[m], &ops[m], &gamma) || shift_lower(s, &s->comp[m], &ops[m], gamma))
      PetscFunctionReturn(PETSC_SUCCESS);
    for (PetscInt l = 0; l < m; l++) { /* components that share a core have to stay alike */
      PetscReal other;

      if (s->comp[l].core != s->comp[m].core || s->comp[m].core < 0) continue;
      (void)BCRComponentSameShape(&s->comp[l], &ops[l], &other);
      if (gamma != other || ops[l].shift != ops[m].shift || ops[l].scale != ops[m].scale)
        PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  s->whole = PETSC_FALSE; /* until all has changed */
  ierr = BCRSolverShare(s, BCRSlabsMoveOperators(&s->slabs, s->dof, ops, &moved), BCR_NO_MEMORY);
  if (!ierr) ierr = BCRSolverShare(s, update_components(s, moved ? moved : ops), BCR_NO_MEMORY);
  PetscCall(BCRSlabsFreeOperators(&s->slabs, s->dof, &moved));
  PetscCall(ierr);
  PetscCall(BCRSolverShare(s, update_cores(s), BCR_NO_TABLES));
  PetscCall(solver_trials(s));
  *done = s->whole = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool BCRSolverHaveDevice(const char **why)
{
  const BCRBackend *be = BCRBackendCuda();

  if (be) return be->available(why);
  if (why) *why = "this petscbcr was built without a CUDA backend";
  return PETSC_FALSE;
}

PetscErrorCode BCRSolverMachine(const BCRSolverOptions *options, size_t length, char name[])
{
  const BCRBackend *be = options->device ? BCRBackendCuda() : BCRBackendCpu();

  PetscFunctionBegin;
  PetscCheck(be, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The name of a device in a build without a CUDA backend");
  PetscCall(be->machine(options, length, name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  BCRSolver s;
  PetscMemType where;
  PetscScalar *f, *u;
  PetscInt n;
} Timed;

static int timed_solve(void *context)
{
  Timed *t = (Timed *)context;

  /* 999: unknown */
  return BCRSolverSolve(t->s, t->where, t->s->options.stream, PETSC_FALSE, 1, t->f, t->n, t->u, t->n) ? 999 : 0;
}

PetscErrorCode BCRSolverTime(BCRSolver s, PetscInt n, const PetscScalar *f, PetscInt repeat, double *seconds)
{
  const BCRBackend *be = s->be;
  const size_t bytes = (size_t)n * sizeof(PetscScalar);
  Timed t = {s, be->flags & BCR_BACKEND_DEVICE ? PETSC_MEMTYPE_DEVICE : PETSC_MEMTYPE_HOST, NULL, NULL, n};
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = be->alloc(bytes, "a vector of the optimizer", &t.f);
  if (!ierr) ierr = be->alloc(bytes, "a vector of the optimizer", &t.u);
  if (!ierr) ierr = be->put(s->options.stream, t.f, f, bytes);
  for (int i = 0; i < 2 && !ierr; i++)
    ierr = BCRSolverSolve(s, t.where, s->options.stream, PETSC_FALSE, 1, t.f, n, t.u, n);
  if (!ierr) ierr = be->time(s->options.stream, timed_solve, &t, repeat, seconds);
  if (!ierr && be->settle) ierr = be->settle(s); /* these vectors go */
  PetscCall(be->free(t.f));
  PetscCall(be->free(t.u));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tables and operations of a component, but for its core */
static void component_info(BCRSolver s, const BCRComponent *c, double solves, BCRSolverInfo *info)
{
  const double box = (double)BCRComponentBox(c);
  double per = 0; /* operations for each unknown */

  for (int d = 0; d < 3; d++) {
    const BCRAxis *x = &c->op.axis[d];
    const size_t nodes = BCRComponentNodes(c) / (size_t)PetscMax(c->N[d], 1);

    info->tables += (size_t)x->n * (4 * sizeof(double) + (x->lower ? 3 * sizeof(PetscReal) : 0) +
                                    (c->lower[d] ? 3 * sizeof(double) : 0));
    for (int e = 0; e < 2; e++)
      info->tables += nodes * sizeof(PetscReal) * ((x->plane[e].inv ? 1 : 0) + (x->plane[e].couplings ? 1 : 0));
  }
  info->tables += (size_t)c->nedge * sizeof(BCREdge) + (size_t)c->nlink * sizeof(BCRLink);
  if (c->op.rowscale) info->workspace += BCRComponentBox(c) * sizeof(PetscReal);
  if (BCROperatorScaled(&c->op)) per += c->op.left ? 1 : 2;
  if (c->prescale[0]) per += 1;
  if (solves > 1) per += (solves - 1) * (4 * c->op.dim + 6);
  info->flops += BCR_PARTS * per * box;
  if (s->mixed && c->ncorrect < 0) info->doubles++;
}

PetscErrorCode BCRSolverViewPlan(BCRSolver s, PetscViewer viewer)
{
  PetscFunctionBegin;
  for (PetscInt m = 0; m < 2 * s->ncore; m++) {
    BCRRanks core = m % 2 ? s->fallback[m / 2] : s->core[m / 2];
    BCRPlan plan = NULL;

    BCRRanksInfo info;

    if (!core) continue;
    PetscCall(BCRRanksGetPlan(core, &plan));
    if (plan) PetscCall(BCRPlanView(plan, viewer));
    PetscCall(BCRRanksGetInfo(core, &info));
    if (info.what[0]) PetscCall(PetscViewerASCIIPrintf(viewer, "ranks: %s\n", info.what));
    if (info.refused[0]) PetscCall(PetscViewerASCIIPrintf(viewer, "not by\n%s\n", info.refused));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Signs and sizes of eigenvalues of one more component */
static void waves_signs(BCRSolverInfo *info, double negative, double left, double least, double removed,
                        double backward)
{
  info->waves = PETSC_TRUE;
  info->negative += negative;
  info->left += left;
  info->least = info->least > 0 ? PetscMin(info->least, least) : least;
  info->leftpart = PetscMax(info->leftpart, removed);
  info->lefterror = PetscMax(info->lefterror, backward);
}

/* Of component m */
static PetscErrorCode waves_info(BCRSolver s, PetscInt m, BCRSolverInfo *info)
{
  const double parts = s->comp[m].op.tau != 0 || s->pairs[s->comp[m].core] ? 1 : BCR_PARTS;
  BCRWavesInfo of;

  PetscFunctionBegin;
  PetscCall(BCRWavesGetInfo(s->waves[s->comp[m].core], &of));
  info->flops += parts * of.flops;
  info->bytes_sent += (size_t)parts * of.sent;
  info->messages += (size_t)parts * of.messages;
  waves_signs(info, of.negative, of.left, of.least, of.removed, of.backward);
  if (m > 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscStrncpy(info->core.plan, of.plan, sizeof(info->core.plan)));
  PetscCall(PetscStrncpy(info->core.isa, BCRCpuGetTable(s->options.core.isa, 0)->isa, sizeof(info->core.isa)));
  if (s->slabs.comm != MPI_COMM_NULL)
    PetscCall(PetscStrncpy(info->ranks, "whole lines across the slabs are brought to one rank each, and back",
                           sizeof(info->ranks)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSolverGetInfo(BCRSolver s, BCRSolverInfo *info)
{
  PetscInt64 left_out = 0;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(info, sizeof(*info)));
  info->workspace = s->bytes;
  info->copies = s->copies;
  for (PetscInt m = 0; m < s->dof; m++) {
    const BCRComponent *c = &s->comp[m];
    const PetscBool direct = !s->mixed || c->ncorrect < 0 || c->op.waves ? PETSC_TRUE : PETSC_FALSE;
    const double solves = direct ? 1 : (s->be->flags & BCR_BACKEND_ASYNC ? c->ncorrect + 1 : 3); /* 3: as a rule */
    BCRRanksInfo core;

    component_info(s, c, solves, info);
    if (c->core < 0) continue;
    if (BCRComponentWaves(s, c)) {
      PetscCall(waves_info(s, m, info));
      continue;
    }
    PetscCall(BCRRanksGetInfo(s->mixed && direct ? s->fallback[c->core] : s->core[c->core], &core));
    info->flops += BCR_PARTS * solves * core.flops;
    info->bytes_sent += (size_t)(BCR_PARTS * solves) * core.bytes_sent;
    info->messages += (size_t)(BCR_PARTS * solves) * core.messages;
    if (c->op.waves)
      waves_signs(info, (double)core.core.negative, (double)core.core.left_out,
                  core.core.symbol_min / core.core.symbol_size, core.core.removed, core.core.backward);
    else left_out += core.core.left_out;
    if (m > 0) continue;
    info->core = core.core;
    if (s->pairs[c->core]) {
      BCRPairsInfo of;

      PetscCall(BCRPairsGetInfo(s->pairs[c->core], &of));
      PetscCall(PetscStrncpy(info->core.plan, of.plan, sizeof(info->core.plan)));
      info->workspace += of.workspace;
      info->tables += of.tables;
    }
    PetscCall(PetscStrncpy(info->ranks, core.what, sizeof(info->ranks)));
    PetscCall(PetscStrncpy(info->refused, core.refused, sizeof(info->refused)));
    info->onepass = core.onepass;
  }
  info->core.left_out = left_out;
  for (PetscInt m = 0; m < 2 * s->ncore; m++) {
    BCRRanks core = m % 2 ? s->fallback[m / 2] : s->core[m / 2];
    BCRRanksInfo of;

    if (!core) continue;
    PetscCall(BCRRanksGetInfo(core, &of));
    info->workspace += of.workspace;
    info->tables += of.tables;
  }
  for (PetscInt k = 0; k < s->ncore; k++) {
    BCRWavesInfo of;

    if (!s->waves[k]) continue;
    PetscCall(BCRWavesGetInfo(s->waves[k], &of));
    info->workspace += of.workspace;
    info->tables += of.tables;
  }
  PetscCall(BCRPassRemoved(s, s->options.stream, &info->removed));
  PetscCall(s->be->info(s, info));
  PetscFunctionReturn(PETSC_SUCCESS);
}
